"""What every result should be read with because of the scores it is made of: one list of rules for every question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError, say_percent
from cranfield.measures import parse_measure
from cranfield.scores.stored import Matrix, Totals, columns, fold, totals
from cranfield.scores.table import ScoreTable
from cranfield.stats.pairs import every_pair
from cranfield.stats.tails import t_critical
from cranfield.types import Array

SLUGS = (
    "few-topics",
    "score-out-of-range",
    "floor-or-ceiling",
    "near-duplicates",
    "zero-differences",
    "skewed-differences",
    "decisive-topic",
)
"""Every caution about a table, in the order in which they are said."""

FEW_TOPICS = 20
SKEW = 0.25  # |g| / √n of a pair's differences
ZEROS = 0.5  # share of topics on which a pair has equal scores
DUPLICATE = 0.99  # correlation of two systems' scores over topics
FEWEST = 10  # topics below which correlation, skew and the weight of one topic are chance
BOUND_SHARE = 0.3
AT_BOUND = 1e-9  # that near a score is at it
ALPHA = 0.05
ROUNDED = 5.1e-5  # scores printed with four decimals may lie outside by half a unit of the last
MOST_SYSTEMS, MOST_CELLS = 200, 10_000_000  # systems whose pairs are looked at: 19,900; and topics × systems²


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The scores of the best systems, topics × systems with the best system first, and what their pairs look like."""

    measure: str
    table: ScoreTable
    systems: tuple[str, ...]
    scores: Array
    whole: int  # systems there are

    @classmethod
    def of(cls, table: ScoreTable, measure: str, scores: Matrix, sums: Totals) -> _Pairs:
        most = max(2, min(MOST_SYSTEMS, math.isqrt(MOST_CELLS // max(1, len(scores)))))
        order = np.argsort(-sums.sums / len(scores), kind="stable")[:most]
        names = tuple(table.systems[at] for at in order.tolist())
        return cls(measure, table, names, columns(scores, order), len(table.systems))

    @property
    def count(self) -> int:
        """How many topics."""
        return len(self.scores)

    @cached_property
    def which(self) -> tuple[Array, Array]:
        """The two systems of each pair."""
        return every_pair(len(self.systems))

    @cached_property
    def _centred(self) -> Array:
        return np.asarray(self.scores - self.scores.mean(axis=0))

    @cached_property
    def _squares(self) -> Array:
        return np.asarray(self._centred.T @ self._centred)

    @cached_property
    def squares(self) -> Array:
        """Σ(d − d̄)² of each pair; 0 where rounding leaves nothing else."""
        first, second = self.which
        own = self._squares.diagonal()
        found = own[first] + own[second] - 2 * self._squares[first, second]
        return np.where(found > 1e-12 * (own[first] + own[second]), found, 0.0)

    @cached_property
    def skews(self) -> Array:
        """g = m₃ / m₂^1.5 of each pair's differences, from sums over topics of a²b; nan for a constant difference."""
        first, second = self.which
        mixed = np.square(self._centred).T @ self._centred
        cubes = mixed.diagonal()
        third = cubes[first] - 3 * mixed[first, second] + 3 * mixed[second, first] - cubes[second]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(third / self.count / (self.squares / self.count) ** 1.5)

    @cached_property
    def correlations(self) -> Array:
        """The correlation of each pair's scores over topics; 1 for equal scores, nan for constant scores."""
        first, second = self.which
        own = np.sqrt(self._squares.diagonal())
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self._squares[first, second] / (own[first] * own[second])
        return np.where(self.zeros == self.count, 1.0, found)

    @cached_property
    def zeros(self) -> Array:
        """Topics on which each pair has equal scores."""
        rounded = self.scores.round(12)
        equal = [
            np.count_nonzero(rounded[:, at, np.newaxis] == rounded[:, at + 1 :], axis=0)
            for at in range(len(self.systems) - 1)
        ]
        return np.concatenate(equal)

    def name(self, at: int, join: str = " and ") -> str:
        return join.join(self.systems[int(index[at])] for index in self.which)

    def among(self) -> str:
        """Which pairs were looked at, where it was not all of them."""
        return f" among the best {len(self.systems):,} systems" if len(self.systems) < self.whole else ""

    def counted(self, chosen: Array) -> str:
        """How many pairs a caution is about."""
        total = len(chosen)
        if total == 1:
            return f"{self.name(0)}"
        pairs = f"{int(chosen.sum()):,} of {total:,} pairs of systems"
        return f"{pairs}{self.among()}"


def table_cautions(table: ScoreTable, measure: str | None = None) -> tuple[Caution, ...]:
    """What any result from these scores should be read with, in a fixed order; at most one caution of a kind.

    Parameters
    ----------
    table
        A complete table; shards are averaged. One with missing scores gets no cautions, as no question takes it.
    measure
        The measure looked at; the only one where none is named.

    Returns
    -------
    tuple of Caution
        Those of `SLUGS` that apply.

    Examples
    --------
    >>> rows = [("AP", str(topic), system, 0.25) for topic in range(1, 13) for system in "ab"]
    >>> [caution.slug for caution in table_cautions(ScoreTable.from_rows(rows), "AP")]
    ['few-topics', 'near-duplicates', 'zero-differences']
    """
    name = measure or table.measures[0]
    values = table.matrix(measure)
    scores = values.mean(axis=2) if isinstance(values, np.ndarray) and values.ndim == 3 else values
    sums = totals(scores) if scores.size else None
    if sums is None or np.isnan(sums.low):
        return ()
    found = [_few_topics(len(scores)), _out_of_range(table, name, scores, sums), _bounds(name, scores, sums)]
    pairs = _Pairs.of(table, name, scores, sums)
    if len(pairs.systems) > 1 and pairs.count > 2:
        found += [rule(pairs) for rule in PAIR_RULES]
    return tuple(caution for caution in found if caution is not None)


def table_warnings(tables: Mapping[str, ScoreTable]) -> tuple[Caution, ...]:
    """Everything a result from these tables should be read with: what reading them gave, then their cautions.

    This is the one place where the two come together; the commands, the page and the report all call it.
    """
    found: list[Caution] = []
    for name, table in tables.items():
        where = f"{name}: " if len(tables) > 1 else ""
        found += table.warnings
        for measure in table.measures:
            found += (replace(each, what=where + each.what) for each in table_cautions(table, measure))
    return tuple(dict.fromkeys([*found, *_same_topics(tables)]))


def _same_topics(tables: Mapping[str, ScoreTable]) -> list[Caution]:
    """Say so where several tables, which count as collections of their own, have the same topics and systems."""
    alike: dict[Any, list[str]] = {}
    for name, table in tables.items() if len(tables) > 1 else ():
        alike.setdefault((frozenset(table.topics), frozenset(table.systems)), []).append(name)
    return [
        Caution(
            "same-topics",
            f"{', '.join(names)} have the same topics and systems, and are treated as collections with different "
            "topics: what combines them counts every topic several times",
            "If they are measures on the same topics, give one table with a column for the measure.",
        )
        for names in alike.values()
        if len(names) > 1
    ]


def _few_topics(topics: int) -> Caution | None:
    if topics >= FEW_TOPICS:
        return None
    counted = f"only {topics} topics" if topics > 1 else "only one topic"
    return Caution(
        "few-topics",
        f"{counted}: with fewer than {FEW_TOPICS}, the assumptions of the tests cannot be checked",
        "Add topics.",
    )


@lru_cache(1000)  # an unknown name is compared with all the others for a suggestion that is not shown here
def range_of(measure: str) -> tuple[float, float] | None:
    """Lowest and highest score of a measure of the catalogue."""
    try:
        kind = parse_measure(measure).kind
    except RequestError:
        return None
    return kind.lowest, kind.highest


def _out_of_range(table: ScoreTable, measure: str, scores: Matrix, extremes: Totals) -> Caution | None:
    limits = range_of(measure)
    if limits is None:
        return None
    low, high = limits[0] - ROUNDED, limits[1] + ROUNDED
    if low <= extremes.low and extremes.high <= high:
        return None
    outside: _Outside = fold(_outside, scores, low, high, combine=_Outside.__add__)
    topic, system, score = outside.first[0]
    verb = "lies" if outside.count == 1 else "lie"
    return Caution(
        "score-out-of-range",
        f"{measure}: {outside.count:,} of {scores.size:,} scores {verb} outside the measure's range from {limits[0]:g} "
        f"to {limits[1]:g} (topic {table.topics[topic]}, system {table.systems[system]}: {score:g})",
        "Check that these are scores of this measure, on its own scale.",
    )


@dataclass(frozen=True)
class _Outside:
    """Scores outside a range: how many, and the first of them with its topic and system."""

    count: int
    first: tuple[tuple[int, int, float], ...]

    def __add__(self, other: _Outside) -> _Outside:
        return _Outside(self.count + other.count, (*self.first, *other.first)[:1])


def _outside(block: Array, start: int, low: float, high: float) -> _Outside:
    cells = np.argwhere((block < low) | (block > high))
    first = tuple((start + topic, system, float(block[topic, system])) for topic, system in cells[:1].tolist())
    return _Outside(len(cells), first)


def _bounds(measure: str, scores: Matrix, extremes: Totals) -> Caution | None:
    """Whether many scores are the lowest or the highest there can be."""
    limits = range_of(measure) or ((0.0, 1.0) if extremes.low >= 0 and extremes.high <= 1 else None)
    if limits is None:
        return None
    bounds = {f"{word} {bound:g}": bound for word, bound in zip(("minimum", "maximum"), limits, strict=True)}
    reached = (extremes.low - AT_BOUND, extremes.high + AT_BOUND)
    bounds = {word: bound for word, bound in bounds.items() if reached[0] < bound < reached[1]}
    if not bounds:
        return None
    counts = fold(_counts_at, scores, tuple(bounds.values()))
    shares = {word: count / scores.size for word, count in zip(bounds, counts.tolist(), strict=True)}
    said = [
        f"{say_percent(share)} of the scores are at the {word}" for word, share in shares.items() if share > BOUND_SHARE
    ]
    if not said:
        return None
    return Caution(
        "floor-or-ceiling",
        f"{measure}: {' and '.join(said)}, where systems cannot differ further",
        "Use other topics, or another measure, without floor and ceiling effects.",
    )


def _counts_at(block: Array, _: int, bounds: tuple[float, ...]) -> Array:
    """How many scores are at each bound."""
    return np.array(
        [np.count_nonzero((block > bound - AT_BOUND) & (block < bound + AT_BOUND)) for bound in bounds]
    )  # without copies of the scores


def _near_duplicates(pairs: _Pairs) -> Caution | None:
    alike = pairs.correlations > DUPLICATE if pairs.count >= FEWEST else pairs.zeros == pairs.count
    if not alike.any():
        return None
    at = int(np.argmax(np.where(alike, pairs.correlations, -1.0)))
    least = math.floor(1e4 * pairs.correlations[at]) / 1e4  # never rounded up to 1
    some = f": {pairs.name(at)}" if alike.sum() == 1 else f", most of all {pairs.name(at)}"
    counted = "two systems" if alike.sum() == 1 else f"{int(alike.sum()):,} pairs of systems{pairs.among()}"
    return Caution(
        "near-duplicates",
        f"{pairs.measure}: {counted} have nearly the same scores{some} (r = {least:.4g})",
        "Keep one of each: no test guarantees its error rate for two such systems.",
    )


def _zero_differences(pairs: _Pairs) -> Caution | None:
    chosen = pairs.zeros > ZEROS * pairs.count
    if not chosen.any():
        return None
    at = int(np.argmax(pairs.zeros))
    verb = "have" if len(chosen) == 1 or chosen.sum() > 1 else "has"
    most = "" if len(chosen) == 1 else f"; most: {pairs.name(at)}, {say_percent(pairs.zeros[at] / pairs.count)}"
    share = say_percent(pairs.zeros[at] / pairs.count) if len(chosen) == 1 else "more than half"
    return Caution(
        "zero-differences",
        f"{pairs.measure}: {pairs.counted(chosen)} {verb} equal scores on {share} of the topics{most}",
        "The result depends on few topics: report wins and losses with the mean.",
    )


def _skewed_differences(pairs: _Pairs) -> Caution | None:
    size = np.where(np.isfinite(pairs.skews), np.abs(pairs.skews) / math.sqrt(pairs.count), 0.0)
    chosen = size > SKEW
    if pairs.count < FEWEST or not chosen.any():
        return None
    at = int(np.argmax(size))
    verb = "have" if len(chosen) == 1 or chosen.sum() > 1 else "has"
    most = "" if len(chosen) == 1 else f"most: {pairs.name(at)}, "
    return Caution(
        "skewed-differences",
        f"{pairs.measure}: {pairs.counted(chosen)} {verb} skewed differences "
        f"(|g|/√n > {SKEW:g}; {most}g = {pairs.skews[at]:.2f} on {pairs.count:,} topics)",
        "p-values and intervals of such pairs are approximate; add topics.",
    )


def _decisive_topic(pairs: _Pairs) -> Caution | None:
    """Whether leaving out one topic turns the paired t-test of the two best systems, at α = .05."""
    n, differences = pairs.count, pairs.scores[:, 0] - pairs.scores[:, 1]
    if n < FEWEST:
        return None
    mean = differences.mean()
    away = differences - mean
    parts = np.square(away)
    total = parts.sum()
    before = bool(_significant(mean, total / (n - 1), n))
    means = mean - away / (n - 1)  # without each topic, as are the sums of squares
    squares = np.maximum(total - parts * n / (n - 1), 0.0)
    turned = _significant(means, squares / (n - 2), n - 1) != before
    if not turned.any():
        return None
    topic = pairs.table.topics[int(np.argmax(np.where(turned, np.abs(away), -1.0)))]
    others = int(turned.sum()) - 1
    same = f"; the same holds for {others:,} other topic{'s' * (others > 1)}" if others else ""
    first, second = pairs.systems[:2]
    verdict = "no longer differs" if before else "differs"
    return Caution(
        "decisive-topic",
        f"{pairs.measure}: without topic {topic}, the best system {first} {verdict} significantly from the second, "
        f"{second} (paired t, α = {ALPHA:g}{same})",
        "Inspect that topic before drawing a conclusion.",
    )


def _significant(mean: Any, variance: Any, n: int) -> Array:
    """The verdict of the paired t-test; a constant difference is not called significant."""
    critical = float(t_critical(ALPHA / 2, n - 1))
    return np.asarray((variance > 1e-24) & (np.abs(mean) > critical * np.sqrt(variance / n)))


PAIR_RULES: tuple[Callable[[_Pairs], Caution | None], ...] = (
    _near_duplicates,
    _zero_differences,
    _skewed_differences,
    _decisive_topic,
)
