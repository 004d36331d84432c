"""Levels for t tests at several looks, exact for normal differences of unknown variance.

t after n topics is a function of the angle between the differences and the vector of ones: with a its cosine,
t = a·√(n − 1)/√(1 − a²). For normal differences without a mean, direction and length are independent, so a moves from
look to look as a Markov chain: when m topics are added to n,

    a' = (√(n·B)·a + √(m·(1 − B))·c) / √(n + m),

where B, the first topics' share of the squared length, is Beta(n/2, m/2) and c is the cosine for m topics alone. The
density of studies that have not stopped is carried along as for the normal boundaries, so that each look's level spends
what it should however few topics there are. Taking the normal boundary's level for t instead (Pocock 1977) errs with
.053 in place of .05 for five looks at 6 to 30 topics.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.methods.sequential.boundaries import FARTHEST, panels, spending_bounds
from cranfield.stats.roots import crossing
from cranfield.types import Array, ArrayLike

CLOSEST = 4  # topics between looks: with fewer, the density of c has corners that quadrature does not follow
_SHARES = 20  # nodes for B


def t_levels(topics: ArrayLike, spent: ArrayLike) -> Array:
    """The two-sided p at which t stops at each look, when so much of α may have been spent by then.

    >>> t_levels([30], [0.05]).round(4).tolist()
    [0.05]
    >>> t_levels([25, 50, 75, 100], 0.05 * np.log1p((np.e - 1) * np.arange(1, 5) / 4)).round(4).tolist()
    [0.0179, 0.0175, 0.0179, 0.0184]
    """
    looks, totals = np.asarray(topics, np.int64), np.maximum.accumulate(np.asarray(spent, float))
    normal = normal_levels(spending_bounds(looks / looks[-1], totals))
    if looks[0] < CLOSEST or (np.diff(looks) < CLOSEST).any():
        return normal
    return _exact(tuple(looks.tolist()), tuple(totals.tolist()), tuple(normal.tolist()))


def normal_levels(bounds: Array) -> Array:
    """Two-sided p of a normal statistic on the boundary."""
    from scipy import special

    return np.asarray(2 * special.ndtr(-bounds))


@lru_cache(maxsize=512)
def _exact(looks: tuple[int, ...], totals: tuple[float, ...], normal: tuple[float, ...]) -> Array:
    levels, node, mass = [totals[0]], np.zeros(0), np.zeros(0)
    for at, n in enumerate(looks):
        if at == 0:
            node, mass = _first(n, levels[0])
            continue
        before = looks[at - 1]
        levels.append(_level(node, mass, before, n, totals[at] - totals[at - 1], normal[at]))
        if at + 1 < len(looks):
            node, mass = _next(node, mass, before, n, levels[-1])
    found = np.array(levels)
    found.flags.writeable = False
    return found


def _cosine(level: float, n: int) -> float:
    """The cosine at which t has this two-sided p; all but 1 where nothing may be spent."""
    from scipy import special

    if not level > 0:
        return float(min(FARTHEST / np.sqrt(n), 1 - 1e-12))
    t = float(-special.stdtrit(n - 1, level / 2))
    return float(t / np.sqrt(n - 1 + t * t))


def _density(c: Array, n: int) -> Array:
    """The density of the cosine for n topics: (1 − c²)^((n − 3)/2) / B(1/2, (n − 1)/2)."""
    from scipy import special

    inside = np.abs(c) < 1
    square = np.where(inside, np.square(c), 0.0)
    return np.where(inside, np.exp((n - 3) / 2 * np.log1p(-square) - special.betaln(0.5, (n - 1) / 2)), 0.0)


def _tail(c: Array, n: int) -> Array:
    """P(cosine ≥ c): that of t."""
    from scipy import special

    near = np.clip(c, -1 + 1e-15, 1 - 1e-15)
    return np.asarray(special.stdtr(n - 1, -near * np.sqrt(n - 1) / np.sqrt(1 - np.square(near))))


def _first(n: int, level: float) -> tuple[Array, Array]:
    edge = min(_cosine(level, n), FARTHEST / np.sqrt(n))
    node, weight = panels(-edge, edge, 2.0 / np.sqrt(n))
    return node, _density(node, n) * weight


def _shares(n: int, m: int) -> tuple[Array, Array]:
    """Nodes and weights for B."""
    from scipy import special

    low, high = special.betaincinv(n / 2, m / 2, 1e-12), 1 - special.betaincinv(m / 2, n / 2, 1e-12)
    x, w = np.polynomial.legendre.leggauss(_SHARES)
    b = low + (high - low) * (x + 1) / 2
    log_density = (n / 2 - 1) * np.log(b) + (m / 2 - 1) * np.log1p(-b) - special.betaln(n / 2, m / 2)
    weight = w * np.exp(log_density)
    return b, weight / weight.sum()


def _level(node: Array, mass: Array, before: int, n: int, wanted: float, normal: float) -> float:
    """The level at which so much more is spent at this look."""
    if not wanted > 0:
        return 0.0
    m = n - before
    b, weight = _shares(before, m)
    old, new = np.sqrt(before * b) * node[:, np.newaxis], np.sqrt(m * (1 - b))

    def leaving(logs: Array, _: Array) -> Array:
        edges = [np.sqrt(n) * _cosine(float(np.exp(each)), n) for each in logs.tolist()]
        return np.array([mass @ ((_tail((e - old) / new, m) + _tail((e + old) / new, m)) @ weight) for e in edges])

    for reach in (0.25, 5.0):  # not far from the normal boundary's level, unless topics are very few
        ends = np.array([np.log(normal) - reach]), np.array([min(np.log(normal) + reach / 5, -1e-9)])
        found = crossing(leaving, np.array([wanted]), *ends, rounds=20)[0]
        if found == found:
            return float(np.exp(found))
    return normal


def _next(node: Array, mass: Array, before: int, n: int, level: float) -> tuple[Array, Array]:
    """The studies that go on after this look."""
    m = n - before
    edge = min(_cosine(level, n), FARTHEST / np.sqrt(n))
    place, width = panels(-edge, edge, 2.5 * np.sqrt(m) / n)
    density = np.zeros(len(place))
    for share, weight in zip(*_shares(before, m), strict=True):
        scale = np.sqrt(m * (1 - share))
        c = (np.sqrt(n) * place[:, np.newaxis] - np.sqrt(before * share) * node) / scale
        density += weight * np.sqrt(n) / scale * (_density(c, m) @ mass)
    return place, density * width
