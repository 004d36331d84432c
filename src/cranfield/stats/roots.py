"""The one search: where a monotone function of one number crosses a target, on whole arrays at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.types import Array

Function = Callable[[Array, Array], Array]
"""f(x, index): the value at x of the cells whose positions are ``index``."""


def smallest_integer(
    reached: Callable[[Array, Array], Array], guess: Array, *, lowest: int, highest: int
) -> tuple[Array, Array]:
    """The smallest whole number in [lowest, highest] at which ``reached`` is true, and whether there is one.

    ``reached(n, index)`` must be false below some n and true from there on. The search walks out from ``guess`` in
    doubling steps and then halves, so a guess that is off by a few costs a few looks. Where nothing in the range
    reaches, the answer is ``highest``.
    """
    above = np.clip(np.ceil(guess), lowest, highest).astype(np.int64)  # a number known, in the end, to reach
    below = np.full_like(above, lowest - 1)  # one known not to
    _walk_up(reached, above, below, highest)
    reaching = np.ones(len(above), bool)
    at_end = np.flatnonzero(above == highest)
    reaching[at_end] = reached(above[at_end], at_end)
    _walk_down(reached, above, below, reaching, lowest)
    _halve(reached, above, below, reaching)
    return above, reaching


def _walk_up(reached: Callable[[Array, Array], Array], above: Array, below: Array, highest: int) -> None:
    todo, step = np.arange(len(above)), 1
    while len(todo):
        todo = todo[above[todo] < highest]
        todo = todo[~reached(above[todo], todo)]
        below[todo] = above[todo]
        above[todo] = np.minimum(above[todo] + step, highest)
        step *= 4


def _walk_down(
    reached: Callable[[Array, Array], Array], above: Array, below: Array, reaching: Array, lowest: int
) -> None:
    todo, step = np.flatnonzero(reaching & (below < lowest) & (above > lowest)), 1
    while len(todo):
        lower = np.maximum(above[todo] - step, lowest)
        good = reached(lower, todo)
        below[todo[~good]] = lower[~good]
        above[todo[good]] = lower[good]
        todo = todo[good & (lower > lowest)]
        step *= 4


def _halve(reached: Callable[[Array, Array], Array], above: Array, below: Array, reaching: Array) -> None:
    todo = np.flatnonzero(reaching & (above - below > 1))
    while len(todo):
        middle = (above[todo] + below[todo]) // 2
        good = reached(middle, todo)
        above[todo[good]] = middle[good]
        below[todo[~good]] = middle[~good]
        todo = todo[above[todo] - below[todo] > 1]


def crossing(function: Function, target: Array, low: Array, high: Array, *, rounds: int = 200) -> Array:
    """x in [low, high] with function(x) = target, for a function that only rises or only falls; nan where none is.

    Bisection on the scale of the logarithm while the ends are far apart; from there inverse quadratic interpolation
    where the last three points allow it and bisection where they do not (Chandrupatla's rule). Of the two
    neighbouring numbers it ends on, the answer is the one at which the target is reached or passed.
    """
    low, high = low.astype(float).copy(), high.astype(float).copy()
    index = np.arange(len(low))
    at_low, at_high = function(low, index) - target, function(high, index) - target
    rising = at_high >= at_low
    there = np.where(rising, (at_low <= 0) & (at_high >= 0), (at_high <= 0) & (at_low >= 0))
    todo = np.flatnonzero(there)
    # The newest point, the end across the target from it, and the point before; what the function misses by at each.
    new, across, old = high.copy(), low.copy(), low.copy()
    miss_new, miss_across, miss_old = at_high.copy(), at_low.copy(), at_low.copy()
    step = np.full(len(low), 0.5)
    for _ in range(rounds):
        if not len(todo):
            break
        wide = _is_wide(new[todo], across[todo])
        x = np.where(wide, _geometric(new[todo], across[todo]), new[todo] + step[todo] * (across[todo] - new[todo]))
        miss = function(x, todo) - target[todo]
        same = (miss >= 0) == (miss_new[todo] >= 0)
        stay, turn = todo[same], todo[~same]
        old[stay], miss_old[stay] = new[stay], miss_new[stay]
        old[turn], miss_old[turn] = across[turn], miss_across[turn]
        across[turn], miss_across[turn] = new[turn], miss_new[turn]
        new[todo], miss_new[todo] = x, miss
        least = np.spacing(np.maximum(np.abs(new[todo]), np.abs(across[todo]))) / np.abs(across[todo] - new[todo])
        step[todo] = _next_step(
            new[todo], across[todo], old[todo], miss_new[todo], miss_across[todo], miss_old[todo], least
        )
        todo = todo[least < 0.75]
    reached = (miss_new >= 0) == rising
    return np.where(there, np.where(reached, new, across), np.nan)


def _next_step(a: Array, b: Array, c: Array, at_a: Array, at_b: Array, at_c: Array, least: Array) -> Array:
    """How far to go from a towards b, as a share of the way; a half where interpolation is not to be trusted."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        quadratic = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        quadratic += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return np.clip(np.where(smooth & np.isfinite(quadratic), quadratic, 0.5), least, np.maximum(1 - least, least))


def _is_wide(one: Array, other: Array) -> Array:
    low, high = np.minimum(one, other), np.maximum(one, other)
    return np.asarray((low > 0) & (high > 4 * low))


def _geometric(one: Array, other: Array) -> Array:
    return np.asarray(np.sqrt(np.abs(one)) * np.sqrt(np.abs(other)))
