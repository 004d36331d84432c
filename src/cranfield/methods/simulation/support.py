"""What values a measure can take: tenths, reciprocals, or any number between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import RequestError
from cranfield.measures import parse_measure
from cranfield.types import Array

PRINTED = 5.1e-5  # scores printed with four decimals are off by up to half a unit of the last
DEEPEST = 1000  # ranks a list is usually cut at
MOST_POINTS = 10_000  # beyond, steps and reciprocals are too fine to matter
FINEST = 20  # the finest steps that are taken for steps in scores whose measure is unknown


@dataclass(frozen=True, eq=False)
class Support:
    """The values a score may have.

    ``points`` are all of them where they can be listed, ``steps`` a scale on which neighbours are alike; otherwise
    they fill the interval from ``lowest`` to ``highest``. ``atoms`` are the values that have a share of their own,
    whatever the rest is like: a system that fails on a topic scores 0 however well it does on others.
    """

    name: str
    lowest: float
    highest: float
    points: Array | None = None
    steps: Array | None = None
    atoms: tuple[float, ...] = ()
    parts: int = 0
    """k where the points are 0, 1/k, …, 1."""

    def snap(self, scores: Array) -> Array:
        """The scores themselves, or, in a list of points, the nearest of them; for what was rounded when printed."""
        if self.points is None:
            return scores
        edges = (self.points[1:] + self.points[:-1]) / 2
        return np.asarray(self.points[np.searchsorted(edges, scores)])

    def holds(self, scores: Array) -> bool:
        """Whether all scores are in it, to four decimals."""
        inside = (scores >= self.lowest) & (scores <= self.highest)
        return bool((inside & (np.abs(self.snap(scores) - scores) <= PRINTED)).all())


def steps_of(parts: int) -> Support:
    """0, 1/k, …, 1: precision at k."""
    points = np.arange(parts + 1) / parts
    return Support(f"multiples of 1/{parts}", 0.0, 1.0, points, np.arange(parts + 1.0), (0.0,), parts)


def reciprocals(deepest: int) -> Support:
    """1, 1/2, 1/3, … and 0: the reciprocal of a rank."""
    ranks = np.arange(deepest, 0, -1)
    points = np.concatenate([[0.0], 1.0 / ranks])
    return Support("reciprocals", 0.0, 1.0, points, np.concatenate([[np.inf], np.log(ranks)]), (0.0,))


def bounded(lowest: float = 0.0, highest: float = 1.0) -> Support:
    """Any number between the bounds, which themselves have a share of their own."""
    return Support(f"from {lowest:g} to {highest:g}", lowest, highest, atoms=(lowest, highest))


def unbounded() -> Support:
    return Support("any number", -np.inf, np.inf)


def support_of(measure: str, scores: Array) -> Support:
    """The support of a measure by its name; where the name says nothing, by the scores themselves.

    >>> support_of("P@10", np.array([0.1, 0.7])).name, support_of("RR", np.array([1.0, 0.3333])).name
    ('multiples of 1/10', 'reciprocals')
    """
    found = _named(measure, scores)
    return found if found is not None and found.holds(scores) else _seen(scores)


def _named(measure: str, scores: Array) -> Support | None:
    try:
        known = parse_measure(measure)
    except RequestError:
        return None
    if known.kind.name == "P" and known.k is not None and known.k <= MOST_POINTS:
        return steps_of(known.k)
    if known.kind.name == "RR":
        least = float(scores[scores > 1 / MOST_POINTS].min(initial=1.0))
        return reciprocals(min(known.k or max(DEEPEST, round(1 / least)), MOST_POINTS))
    return bounded(known.kind.lowest, known.kind.highest)


def _seen(scores: Array) -> Support:
    if scores.min() < 0 or scores.max() > 1:
        return unbounded()
    for parts in range(1, FINEST + 1):
        if np.abs(scores * parts - np.round(scores * parts)).max() < 1e-9:
            return steps_of(parts)
    return bounded()
