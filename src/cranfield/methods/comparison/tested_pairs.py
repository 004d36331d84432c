"""The pairs of a comparison: held in memory where they are few, else computed when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from cranfield.methods.comparison.anova import TINY
from cranfield.methods.comparison.families import Pairs
from cranfield.methods.comparison.thresholds import (
    SortedVerdicts,
    Threshold,
    is_among,
    pair_count,
    pair_place,
    pairs_at,
    sorted_verdicts,
)
from cranfield.scores.stored import Matrix, fold, some_rows
from cranfield.types import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PairColumns:
    """Some pairs of a comparison, one array per column; ``place`` is that of the pair among all pairs."""

    place: Array
    first: Array
    second: Array
    difference: Array
    standard_error: Array
    lower: Array
    upper: Array
    effect_size: Array
    p_value: Array
    p_adjusted: Array
    wins: Array
    ties: Array
    losses: Array

    def __len__(self) -> int:
        return len(self.place)

    def chosen(self, places: Array | slice) -> PairColumns:
        return PairColumns(**{name: column[places] for name, column in vars(self).items()})


class TestedPairs(Protocol):
    """All pairs of systems that were tested; systems go by their rank, from 0."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> Array:
        """One column of all pairs."""

    def part(self, start: int, stop: int) -> PairColumns:
        """The pairs from one place to before another."""

    def among_best(self, systems: int) -> PairColumns:
        """The pairs of two of the best systems."""

    def with_system(self, rank: int) -> PairColumns:
        """The pairs of one system."""

    def not_different(self, rank: int) -> Array:
        """The other systems that are not significantly different from one."""

    @property
    def significant_pairs(self) -> int: ...

    @property
    def last_better(self) -> Array:
        """Of each system, the last of the better systems from which it differs significantly; −1 if there is none."""


@dataclass(frozen=True, eq=False)
class HeldPairs:
    """Pairs whose numbers are all in memory."""

    columns: PairColumns
    systems: int
    alpha: float

    def __len__(self) -> int:
        return len(self.columns)

    def column(self, name: str) -> Array:
        return np.asarray(getattr(self.columns, name))

    def part(self, start: int, stop: int) -> PairColumns:
        return self.columns.chosen(slice(start, stop))

    def among_best(self, systems: int) -> PairColumns:
        return self.columns.chosen(np.flatnonzero(np.maximum(self.columns.first, self.columns.second) < systems))

    def with_system(self, rank: int) -> PairColumns:
        return self.columns.chosen(np.flatnonzero((self.columns.first == rank) | (self.columns.second == rank)))

    def not_different(self, rank: int) -> Array:
        mine = self.with_system(rank)
        return _others(mine.first, mine.second, rank)[~(mine.p_adjusted <= self.alpha)]

    @property
    def _significant(self) -> Array:
        return np.asarray(self.columns.p_adjusted <= self.alpha)

    @property
    def significant_pairs(self) -> int:
        return int(self._significant.sum())

    @cached_property
    def last_better(self) -> Array:
        first, second = (each[self._significant] for each in (self.columns.first, self.columns.second))
        last = np.full(self.systems, -1)
        np.maximum.at(last, second, np.where(first < second, first, -1))
        return last


@dataclass(frozen=True, eq=False)
class TurnedPairs:
    """Pairs of scores whose sign was changed to compare them, as pairs of the scores themselves."""

    pairs: TestedPairs

    def __len__(self) -> int:
        return len(self.pairs)

    def column(self, name: str) -> Array:
        other = {"lower": "upper", "upper": "lower"}.get(name, name)
        return _with_other_sign(name, self.pairs.column(other))

    def part(self, start: int, stop: int) -> PairColumns:
        return _turned(self.pairs.part(start, stop))

    def among_best(self, systems: int) -> PairColumns:
        return _turned(self.pairs.among_best(systems))

    def with_system(self, rank: int) -> PairColumns:
        return _turned(self.pairs.with_system(rank))

    def not_different(self, rank: int) -> Array:
        return self.pairs.not_different(rank)

    @property
    def significant_pairs(self) -> int:
        return self.pairs.significant_pairs

    @property
    def last_better(self) -> Array:
        return self.pairs.last_better


def _turned(pairs: PairColumns) -> PairColumns:
    ends = {"lower": pairs.upper, "upper": pairs.lower}
    named = ("difference", "effect_size", "lower", "upper")
    return replace(pairs, **{name: _with_other_sign(name, ends.get(name, getattr(pairs, name))) for name in named})


def _with_other_sign(name: str, column: Array) -> Array:
    return 0.0 - column if name in ("difference", "effect_size", "lower", "upper") else column


def adjacent_groups(last_better: Array) -> list[tuple[int, int]]:
    """Maximal groups of adjacent ranks of which no two differ, as (first, last) positions.

    >>> adjacent_groups(np.array([-1, -1, 0, 1]))
    [(0, 1), (1, 2), (2, 3)]
    """
    groups: list[tuple[int, int]] = []
    last, differ = 0, last_better.tolist()
    for start in range(len(differ)):
        last = max(last, start)
        while last + 1 < len(differ) and differ[last + 1] < start:
            last += 1
        if not groups or last > groups[-1][1]:
            groups.append((start, last))
    return groups


_BLOCK = 1_000_000  # scores at a time
_FACTS = ("effect_size", "wins", "ties", "losses")  # columns for which scores are looked at, topic by topic


@dataclass(frozen=True, eq=False)
class PairsOnDemand:
    """All pairs of the systems, best first, under a test with one threshold; nothing is stored for a pair.

    Nothing is claimed of the ``unvarying`` pairs. ``within`` is the sd within systems, where effect sizes are relative
    to it.
    """

    scores: Matrix
    threshold: Threshold
    alpha: float
    unvarying: UnvaryingPairs
    within: float | None = None

    def __len__(self) -> int:
        return pair_count(self._systems)

    @property
    def _systems(self) -> int:
        return len(self.threshold.means)

    @cached_property
    def _pairs(self) -> Pairs:
        none = np.empty(0, np.int64)
        return Pairs(self.scores, none, none)

    @property
    def _claims(self) -> bool:
        """Whether there is an error to measure differences by."""
        return self.within is None or self.within > 0

    def part(self, start: int, stop: int) -> PairColumns:
        return self._columns(np.arange(start, min(stop, len(self))))

    def among_best(self, systems: int) -> PairColumns:
        first, second = np.triu_indices(min(systems, self._systems), k=1)
        return self._columns(pair_place(first, second, self._systems))

    def with_system(self, rank: int) -> PairColumns:
        return self._columns(self._places_of(rank))

    def not_different(self, rank: int) -> Array:
        mine = self._verdicts_at(self._places_of(rank))
        return _others(mine["first"], mine["second"], rank)[~(mine["p_adjusted"] <= self.alpha)]

    def _places_of(self, rank: int) -> Array:
        others = np.delete(np.arange(self._systems), rank)
        return pair_place(np.full(len(others), rank), others, self._systems)

    def column(self, name: str) -> Array:
        return self._facts[name] if name in _FACTS else self._verdicts[name]

    @property
    def significant_pairs(self) -> int:
        return self._sorted.significant_pairs

    @property
    def last_better(self) -> Array:
        return self._sorted.last_better

    @property
    def better_and_worse(self) -> tuple[Array, Array]:
        """How many systems are significantly better than each, and how many worse."""
        return self._sorted.better, self._sorted.worse

    @cached_property
    def _sorted(self) -> SortedVerdicts:
        if not self._claims:
            none = np.zeros(self._systems, np.int64)
            return SortedVerdicts(0, none - 1, none, none)
        return sorted_verdicts(self.threshold, self.alpha, self.unvarying.places)

    def _columns(self, places: Array) -> PairColumns:
        return PairColumns(**self._verdicts_at(places), **self._facts_at(places))

    def _verdicts_at(self, places: Array) -> dict[str, Array]:
        first, second = pairs_at(places, self._systems)
        pairs, margin = self._pairs.chosen(first, second), self.threshold.margin
        vary = ~self.unvarying.has(places) if self._claims else np.zeros(len(places), bool)
        p_value = np.where(vary, np.maximum(self.threshold.p_value(first, second), TINY), 1.0)
        return {
            "place": places,
            "first": first,
            "second": second,
            "difference": pairs.difference,
            "standard_error": pairs.pooled(self.threshold.variance),
            "lower": np.where(vary, pairs.difference - margin, np.nan),
            "upper": np.where(vary, pairs.difference + margin, np.nan),
            "p_value": p_value,
            "p_adjusted": p_value,
        }

    def _facts_at(self, places: Array) -> dict[str, Array]:
        pairs = self._pairs.chosen(*pairs_at(places, self._systems))
        wins, ties, losses = pairs.wins
        return {"effect_size": effect_size(pairs, self.within), "wins": wins, "ties": ties, "losses": losses}

    @cached_property
    def _verdicts(self) -> dict[str, Array]:
        return self._verdicts_at(np.arange(len(self)))

    @cached_property
    def _facts(self) -> dict[str, Array]:
        return self._facts_at(np.arange(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """Without columns of all pairs, which are computed again where they are asked for."""
        return {name: value for name, value in vars(self).items() if name not in ("_verdicts", "_facts", "_pairs")}


def _others(first: Array, second: Array, rank: int) -> Array:
    return np.where(first == rank, second, first)


def effect_size(pairs: Pairs, within: float | None = None) -> Array:
    """The differences over the sds of the pairs' differences, or over the sd ``within`` systems."""
    sd = pairs.sd if within is None else np.full(len(pairs.first), within)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sd > 0, pairs.difference / sd, np.nan)


@dataclass(frozen=True, eq=False)
class UnvaryingPairs:
    """Pairs of systems whose differences do not vary: those of equal ``copies``, and those at ``places``, in order.

    ``copies`` has a number for every system, the same for systems with the same scores. Their means are equal, so that
    no verdict depends on them.
    """

    copies: Array
    places: Array

    def has(self, places: Array) -> Array:
        """Which of some pairs are among them."""
        first, second = pairs_at(places, len(self.copies))
        return np.asarray((self.copies[first] == self.copies[second]) | is_among(places, self.places))


def no_unvarying_pairs(systems: int) -> UnvaryingPairs:
    return UnvaryingPairs(np.arange(systems), np.empty(0, np.int64))


def unvarying_pairs(pairs: Pairs) -> UnvaryingPairs:
    """Find all pairs of systems whose differences do not vary.

    The scores of such a pair are equal but for a constant. So are then any weighted sums of their differences from the
    first topic, and only pairs with nearly the same sum are looked at; systems with the same scores are looked at once.
    """
    n, m = pairs.scores.shape
    scale = sum(float(np.abs(_weights(start, min(start + _BLOCK, n))).sum()) for start in range(0, n, _BLOCK))
    sums = fold(_weighted_sums, pairs.scores, some_rows(pairs.scores, 0, 1), scale)
    wide = 5 * pairs.tiny + 8 * n * float(np.finfo(float).eps) * pairs.largest  # with rounding
    copies = _copies(pairs.scores, _close(sums, wide))
    _, once = np.unique(copies, return_index=True)
    order = np.argsort(sums[once], kind="stable")
    ends = np.searchsorted(sums[once][order], sums[once][order] + wide, side="right")
    near = ends - np.arange(len(order)) - 1
    found = [
        pair_place(*_of_copies(first[alike], second[alike], copies), m)
        for first, second in _neighbours(once[order], near, pairs.at_once)
        if (alike := pairs.chosen(first, second).sd == 0).any()
    ]
    return UnvaryingPairs(copies, np.sort(np.concatenate(found)) if found else np.empty(0, np.int64))


def _close(sums: Array, wide: float) -> Array:
    """Those with another that is not farther than ``wide``."""
    order = np.argsort(sums, kind="stable")
    near = np.diff(sums[order]) <= wide
    return np.sort(order[np.append(near, False) | np.append(False, near)])


def _copies(scores: Matrix, suspects: Array) -> Array:
    """A number for every system, the same for those of the suspects that have the same scores."""
    copies = np.arange(scores.shape[1])
    if len(suspects):
        seen: dict[bytes, int] = {}
        marks = fold(_column_marks, scores, suspects, combine=_mixed)
        copies[suspects] = [
            seen.setdefault(mark.tobytes(), at) for mark, at in zip(marks, suspects.tolist(), strict=True)
        ]
    return np.asarray(np.unique(copies, return_inverse=True)[1])


def _column_marks(block: Array, _: int, systems: Array) -> Array:
    """128 bits of some systems, the same for the same scores."""
    columns = np.ascontiguousarray(block[:, systems].T)
    marks = b"".join(blake2b(column.data, digest_size=16).digest() for column in columns)
    return np.frombuffer(marks, np.uint64).reshape(len(columns), 2)


def _mixed(one: Array, other: Array) -> Array:
    return np.asarray(one * np.uint64(0x9E3779B97F4A7C15) + other)  # modulo 2⁶⁴


def _weights(start: int, stop: int) -> Array:
    """Weights of topics, of which no pattern of topics cancels."""
    return np.asarray(np.modf(np.arange(start + 1, stop + 1) * (np.sqrt(5) - 1) / 2)[0] - 0.5)


def _weighted_sums(block: Array, start: int, first: Array, scale: float) -> Array:
    return np.asarray(_weights(start, start + len(block)) / scale @ (block - first))


def _of_copies(first: Array, second: Array, copies: Array) -> tuple[Array, Array]:
    """The pairs of all systems that have the scores of some pairs."""
    members, sizes = np.argsort(copies, kind="stable"), np.bincount(copies)
    begins = np.cumsum(sizes) - sizes
    a, b = copies[first], copies[second]
    count = sizes[a] * sizes[b]
    a, b = np.repeat(a, count), np.repeat(b, count)
    number = np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count)
    return members[begins[a] + number // sizes[b]], members[begins[b] + number % sizes[b]]


def _neighbours(order: Array, near: Array, at_once: int) -> Iterator[tuple[Array, Array]]:
    """Every place of the ``order`` with as many after it as are ``near``, about ``at_once`` pairs at a time."""
    places = np.flatnonzero(near)
    parts = np.cumsum(near[places]) // at_once
    for part in np.unique(parts).tolist():
        mine = places[parts == part]
        first = np.repeat(mine, near[mine])
        begins = np.repeat(np.cumsum(near[mine]) - near[mine], near[mine])
        second = first + np.arange(len(first)) - begins + 1
        yield order[first], order[second]
