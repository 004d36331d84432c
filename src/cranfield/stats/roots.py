"""The one search: where a monotone function of one number crosses a target, on whole arrays at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
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

    Bisection on the scale of the logarithm while the ends are far apart, then to the last bit.
    """
    low, high = low.astype(float).copy(), high.astype(float).copy()
    index = np.arange(len(low))
    at_low, at_high = function(low, index), function(high, index)
    rising = at_high >= at_low
    there = np.where(rising, (at_low <= target) & (target <= at_high), (at_high <= target) & (target <= at_low))
    todo = np.flatnonzero(there)
    for _ in range(rounds):
        if not len(todo):
            break
        middle = _between(low[todo], high[todo])
        past = (function(middle, todo) >= target[todo]) == rising[todo]
        high[todo[past]], low[todo[~past]] = middle[past], middle[~past]
        todo = todo[np.nextafter(low[todo], np.inf) < high[todo]]
    return np.where(there, high, np.nan)


def _between(low: Array, high: Array) -> Array:
    wide = (low > 0) & (high > 4 * low)
    middle = low + (high - low) / 2
    return np.where(wide, np.sqrt(np.where(wide, low, 1.0)) * np.sqrt(np.where(wide, high, 1.0)), middle)
