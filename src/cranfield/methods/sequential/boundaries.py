"""Boundaries for looking several times: when to stop so that all looks together err with probability α.

Between looks the statistic moves as a Brownian motion would: with t_k the share of the topics at look k and Z_k the
standardised mean, B_k = Z_k·√t_k has independent increments of variance t_k − t_{k−1}. The density of paths that have
not stopped is carried from look to look by numerical integration (Armitage, McPherson & Rowe 1969), with
Gauss–Legendre nodes between the boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from cranfield.errors import RequestError
from cranfield.stats.roots import crossing
from cranfield.types import Array

Numbers = Sequence[float] | Array

FARTHEST = 12.0  # in standard deviations: a boundary beyond is never met
_PANEL = 3.0  # width of a panel of 16 nodes, in units of √(t_k − t_{k−1}), the width of what is integrated


@dataclass(frozen=True, eq=False)
class Crossing:
    """The probability of first meeting the boundary at each look, above and below."""

    above: Array
    below: Array

    @property
    def either(self) -> Array:
        return np.asarray(self.above + self.below)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The density of B at nodes between the boundaries, for paths that have not stopped; ``weight`` has it times dx."""

    time: float
    node: Array
    weight: Array


_START = _Paths(0.0, np.zeros(1), np.ones(1))


def _normal_tail(x: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtr(-x))


def _leaving(paths: _Paths, time: float, bound: float, drift: float) -> tuple[float, float]:
    """How likely a path that has not stopped is beyond ± ``bound``·√time at the next look, above and below."""
    spread, centre = np.sqrt(time - paths.time), paths.node + drift * (time - paths.time)
    edge = bound * np.sqrt(time)
    above = paths.weight @ _normal_tail((edge - centre) / spread)
    return float(above), float(paths.weight @ _normal_tail((edge + centre) / spread))


def _staying(paths: _Paths, time: float, bound: float, drift: float) -> _Paths:
    """The paths that are within ± ``bound`` at the next look."""
    step = time - paths.time
    spread, centre = np.sqrt(step), paths.node + drift * step
    edge = min(bound, FARTHEST) * np.sqrt(time) + (abs(drift) * time if bound > FARTHEST else 0.0)
    low, high = max(-edge, centre.min() - 9 * spread), min(edge, centre.max() + 9 * spread)
    if high <= low:
        return _Paths(time, np.zeros(1), np.zeros(1))
    node, weight = panels(low, high, _PANEL * spread)
    kernel = np.exp(-(((node[:, np.newaxis] - centre) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
    return _Paths(time, node, kernel @ paths.weight * weight)


def panels(low: float, high: float, width: float) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights on panels of at most ``width``."""
    x, w = _legendre()
    edges = np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
    half = np.diff(edges)[:, np.newaxis] / 2
    return np.asarray(edges[:-1, np.newaxis] + half * (x + 1)).ravel(), np.asarray(half * w).ravel()


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(16)


def crossing_probabilities(times: Numbers, bounds: Numbers, *, drift: float = 0.0) -> Crossing:
    """When the boundary ± ``bounds`` (for Z) is first met, for a mean of ``drift`` standard errors at time 1.

    >>> found = crossing_probabilities([0.5, 1.0], [2.178, 2.178])  # Pocock's constant for two looks
    >>> round(float(found.either.sum()), 4)
    0.05
    """
    paths, above, below = _START, [], []
    for time, bound in zip(_checked(times), bounds, strict=True):
        up, down = _leaving(paths, time, bound, drift)
        above.append(up)
        below.append(down)
        paths = _staying(paths, time, bound, drift)
    return Crossing(np.array(above), np.array(below))


def _checked(times: Numbers) -> list[float]:
    found = [float(time) for time in times]
    if not found or found[0] <= 0 or any(b <= a for a, b in pairwise(found)):
        raise RequestError(
            f"looks at {', '.join(f'{time:g}' for time in found) or 'nothing'} cannot be made",
            fix="Looks come at growing shares of the topics, such as 0.25, 0.5, 0.75, 1.",
        )
    return found


# --- how much of α may be spent by each look


def pocock_spending(times: Array, alpha: float) -> Array:
    """α·log(1 + (e − 1)·t): about evenly, as Pocock's constant boundary does (Lan & DeMets 1983)."""
    return np.asarray(alpha * np.log1p((np.e - 1) * np.minimum(times, 1.0)))


def obrien_fleming_spending(times: Array, alpha: float) -> Array:
    """2 − 2Φ(z/√t) on each side, z at a quarter of α: hardly anything early (Lan & DeMets 1983)."""
    from scipy import special

    z = -special.ndtri(alpha / 4)
    return np.asarray(4 * special.ndtr(-z / np.sqrt(np.minimum(times, 1.0))))


SPENDING: dict[str, Callable[[Array, float], Array]] = {
    "obrien-fleming": obrien_fleming_spending,
    "pocock": pocock_spending,
}


def spending_bounds(times: Numbers, spent: Numbers) -> Array:
    """Boundaries for |Z| with which α is spent as said: ``spent`` is the total after each look.

    >>> fifths = np.arange(1, 6) / 5
    >>> spending_bounds(fifths, obrien_fleming_spending(fifths, 0.05)).round(3).tolist()
    [4.877, 3.357, 2.68, 2.29, 2.031]
    """
    paths, bounds, before = _START, [], 0.0
    for time, total in zip(_checked(times), spent, strict=True):
        bound = _bound_for(paths, time, max(float(total) - before, 0.0))
        bounds.append(bound)
        paths = _staying(paths, time, bound, 0.0)
        before = max(before, float(total))
    return np.array(bounds)


def _bound_for(paths: _Paths, time: float, wanted: float) -> float:
    """The boundary that so much probability crosses; one beyond all paths where there is nothing to spend."""

    def crossed(bound: Array, _: Array) -> Array:
        return np.array([sum(_leaving(paths, time, float(each), 0.0)) for each in bound])

    found = crossing(crossed, np.array([wanted]), np.array([1e-9]), np.array([FARTHEST]), rounds=60)[0]
    return float(found) if found == found else np.inf


# --- boundaries of one shape, for looks at even distances


def pocock_constant(looks: int, alpha: float = 0.05) -> float:
    """The one boundary for |Z| at every look.

    >>> round(pocock_constant(5), 3)  # Pocock 1977
    2.413
    """
    return _constant(looks, alpha, np.ones(looks))


def obrien_fleming_constant(looks: int, alpha: float = 0.05) -> float:
    """C with boundaries C·√(K/k) for |Z| at look k of K.

    >>> round(obrien_fleming_constant(5), 3)  # O'Brien & Fleming 1979
    2.04
    """
    return _constant(looks, alpha, np.sqrt(looks / np.arange(1, looks + 1)))


def _constant(looks: int, alpha: float, shape: Array) -> float:
    times = np.arange(1, looks + 1) / looks

    def spent(constant: Array, _: Array) -> Array:
        return np.array([crossing_probabilities(times, c * shape).either.sum() for c in constant.tolist()])

    from scipy import special

    least, most = -special.ndtri(alpha / 2), -special.ndtri(alpha / 2 / looks)  # one look, and Bonferroni's bound
    return float(crossing(spent, np.array([alpha]), np.array([least - 1e-9]), np.array([most + 1e-9]), rounds=40)[0])


# --- what a boundary costs


def drift_for_power(times: Numbers, bounds: Numbers, power: float) -> float:
    """The mean, in standard errors at time 1, that is found with probability ``power``."""

    def found(drift: Array, _: Array) -> Array:
        return np.array([crossing_probabilities(times, bounds, drift=each).either.sum() for each in drift.tolist()])

    return float(crossing(found, np.array([power]), np.array([1e-6]), np.array([20.0]), rounds=50)[0])


def expected_time(times: Numbers, bounds: Numbers, *, drift: float = 0.0) -> float:
    """When looking stops on average: at the boundary, or at the last look."""
    stopped = crossing_probabilities(times, bounds, drift=drift).either
    stopped[-1] += 1 - stopped.sum()
    return float(stopped @ np.asarray(times, float))
