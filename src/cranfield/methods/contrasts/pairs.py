"""Which differences of systems are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.errors import RequestError
from cranfield.stats.pairs import every_pair, pairs_at
from cranfield.types import Array

ROUNDING = 2.5e-10


def rounding(low: float, high: float) -> float:
    """By how much scores between these may be off by rounding: two that are no farther apart are equal.

    A billionth of their range is four times as much: differences that vary by no more are constant.

    >>> rounding(0.0, 4.0), rounding(1e6, 1e6)
    (1e-09, 1e-06)
    """
    return max(ROUNDING * (high - low), 1e-12 * max(high, -low))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences of systems, the score of ``first`` minus ``factor`` times that of ``second``.

    ``is_complete`` says that they are all pairs of the systems, in their order.
    """

    first: Array
    second: Array
    factor: float = 1.0
    is_complete: bool = False

    def __len__(self) -> int:
        return len(self.first)

    def some(self, places: Array | slice) -> Contrasts:
        """The contrasts at some places."""
        return Contrasts(self.first[places], self.second[places], self.factor)

    def of(self, values: Array) -> Array:
        """The contrasts of a table whose last axis is the systems."""
        first, second = np.take(values, self.first, axis=-1), np.take(values, self.second, axis=-1)
        return np.asarray(first - (second if self.factor == 1 else self.factor * second))


def all_pairs(systems: int) -> Contrasts:
    """Every two systems, in the order of ``stats.pairs``.

    >>> found = all_pairs(3)
    >>> found.first.tolist(), found.second.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    return Contrasts(*every_pair(systems), is_complete=True)


def against(systems: int, baselines: Sequence[int]) -> Contrasts:
    """All other systems minus each baseline; two baselines are one pair, and the one named first is its baseline.

    >>> found = against(3, [2, 0])
    >>> found.first.tolist(), found.second.tolist()
    ([0, 1, 1], [2, 2, 0])
    """
    rank = {baseline: number for number, baseline in reversed([*enumerate(baselines)])}
    pairs = [
        (system, baseline)
        for number, baseline in enumerate(baselines)
        for system in range(systems)
        if rank.get(system, systems) > number
    ]
    if not pairs:
        raise RequestError("every system is a baseline", fix="Leave out `baseline` to compare all pairs.")
    first, second = np.array(pairs).T
    return Contrasts(first, second)


def chosen_pairs(systems: int, baselines: Sequence[int] = ()) -> Contrasts:
    """All pairs or, where there are baselines, the pairs with them."""
    return against(systems, baselines) if len(baselines) else all_pairs(systems)


def contrasts_at(places: Array, systems: int) -> Contrasts:
    """The pairs at some places of the order of all pairs."""
    return Contrasts(*pairs_at(places, systems))
