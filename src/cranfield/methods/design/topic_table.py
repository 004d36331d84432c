"""A small table of numbers of topics, for a page or a workbook that has no power function of its own."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.methods.design.formulas import METHODS, Design
from cranfield.methods.design.goals import Goal, claim
from cranfield.methods.design.solver import solve
from cranfield.methods.design.spreads import Sd
from cranfield.stats.family import FAMILIES
from cranfield.types import Array

FEWEST, MOST = 5, 100_000
"""Numbers of topics between which the table answers."""
SYSTEMS = (2, 3, 5, 10, 20, 50, 100)
POWERS = (0.7, 0.8, 0.9, 0.95)
DIGITS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicTable:
    """How many topics a goal takes, for some numbers of systems and some powers.

    ``ratios[systems][power]`` has, for every number n of ``topics``, the largest (sd / goal)² for which n topics are
    enough. n is nearly linear in it, the more so the larger n is: every n up to 40 has a place, and a line between
    neighbours is within a thousandth of a topic.
    """

    kind: str
    test: str
    alpha: float
    systems: tuple[int, ...]
    powers: tuple[float, ...]
    topics: tuple[int, ...]
    ratios: tuple[tuple[tuple[float, ...], ...], ...]

    def needed(self, *, systems: int, power: float, ratio: float) -> int | None:
        """The smallest number of topics for a square of sd over goal, None where the table ends before it.

        >>> tabulate("difference", systems=10).needed(systems=10, power=0.8, ratio=9.0)
        157
        """
        row = self.ratios[self.systems.index(systems)][self.powers.index(power)]
        at = bisect_left(row, ratio)
        if at == len(row):
            return None
        if at == 0:
            return self.topics[0]
        (low, high), (few, many) = row[at - 1 : at + 1], self.topics[at - 1 : at + 1]
        return math.ceil(few + (ratio - low) / (high - low) * (many - few))

    @property
    def claims(self) -> list[str]:
        """What n topics do, for every number of systems, in which {difference} and {power} are to be filled in."""
        return [self._claim(systems) for systems in self.systems]

    def _claim(self, systems: int) -> str:
        test = "t" if systems == 2 and self.test in FAMILIES else self.test
        said = {self.kind: f"{{{self.kind}}}", "power": "{power}"}
        return claim(self.kind, test, {**said, "alpha": self.alpha, "systems": systems})

    def to_dict(self) -> Mapping[str, Any]:
        """What a page needs of it."""
        names = ("systems", "powers", "topics", "ratios", "claims")
        return {name: getattr(self, name) for name in names}


def tabulate(kind: str, *, test: str = "", systems: int = 10, alpha: float = 0.05, power: float = 0.8) -> TopicTable:
    """Let the solver compute the table of a goal, for these and some other numbers of systems and powers.

    An expected width depends on neither, and has one row.
    """
    test, expected = test or next(iter(METHODS[kind])), kind == "width"
    counts = (systems,) if expected else tuple(sorted({*SYSTEMS, systems}))
    powers = (power,) if expected else tuple(sorted({*POWERS, power}))
    m, least, n = np.ix_(np.array(counts, float), np.array(powers), np.array([*_places()], float))
    designs = Design(topics=n, systems=m, test=test, alpha=alpha, spread=Sd(sd=1.0))
    detected = np.broadcast_to(
        solve(designs, Goal(kind, at_least=None if expected else least), kind), (len(counts), len(powers), n.size)
    )
    known = np.isfinite(detected).all(axis=(0, 1))  # Sakai's approximation is undefined for very few topics
    return TopicTable(
        kind=kind,
        test=test,
        alpha=alpha,
        systems=counts,
        powers=powers,
        topics=tuple(int(each) for each in n.ravel()[known]),
        ratios=_rounded(1 / np.square(detected[..., known])),
    )


def _places() -> Iterator[int]:
    """Every n up to 40, and from there steps that grow as the line between two of them gets better."""
    yield from range(FEWEST, 40)
    n = 40.0
    while n < MOST:
        yield round(n)
        n *= 1 + 0.006 * math.sqrt(n)
    yield MOST


def _rounded(ratios: Array) -> tuple[tuple[tuple[float, ...], ...], ...]:
    return tuple(tuple(tuple(float(f"{each:.{DIGITS}g}") for each in row) for row in rows) for rows in ratios)
