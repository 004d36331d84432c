"""The pairs of a comparison: held in memory where they are few, else computed when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from scipy import special

from cranfield.methods.contrasts.anova import TINY
from cranfield.methods.contrasts.decisions import Verdicts
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, is_among, pair_count, pair_place, pairs_at
from cranfield.methods.contrasts.ranking import HeldT, PairedT, PairwiseT
from cranfield.methods.contrasts.thresholds import Threshold, significant_count
from cranfield.scores.stored import Matrix, fold, some_rows, whole
from cranfield.stats.tails import t_critical
from cranfield.types import Array

SAME_T = 1e-9  # of t: that of near-identical systems, from products of scores, is known no better
_RUN = 16  # pairs in the order of |t| that share a place in memory


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
    approximate: Array

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

    @property
    def significant_pairs(self) -> int: ...

    @property
    def matrix(self) -> PairwiseT:
        """t of every two systems, which ranks and the best follow from."""


@dataclass(frozen=True, eq=False)
class HeldPairs:
    """Pairs whose numbers are all in memory, with the estimates that they were decided from."""

    columns: PairColumns
    systems: int
    alpha: float
    estimate: Estimate

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

    @property
    def significant_pairs(self) -> int:
        return int((self.columns.p_adjusted <= self.alpha).sum())

    @property
    def matrix(self) -> PairwiseT:
        return HeldT(self.estimate, self.systems)


def held_pairs(
    contrasts: Contrasts,
    systems: int,
    estimate: Estimate,
    verdicts: Verdicts,
    *,
    effect_size: Array,
    wins: tuple[Array, Array, Array],
    approximate: Array | None = None,
) -> HeldPairs:
    """The columns of pairs that were estimated and decided; ``wins`` with ties and losses."""
    columns = PairColumns(
        place=np.arange(len(contrasts)),
        first=contrasts.first,
        second=contrasts.second,
        difference=estimate.value,
        standard_error=estimate.standard_error,
        lower=verdicts.lower,
        upper=verdicts.upper,
        effect_size=effect_size,
        p_value=verdicts.p_value,
        p_adjusted=verdicts.p_adjusted,
        wins=wins[0],
        ties=wins[1],
        losses=wins[2],
        approximate=np.zeros(len(contrasts), bool) if approximate is None else approximate,
    )
    return HeldPairs(columns, systems, verdicts.alpha, estimate)


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

    @property
    def significant_pairs(self) -> int:
        return self.pairs.significant_pairs

    @property
    def matrix(self) -> PairwiseT:
        return self.pairs.matrix


def _turned(pairs: PairColumns) -> PairColumns:
    ends = {"lower": pairs.upper, "upper": pairs.lower}
    named = ("difference", "effect_size", "lower", "upper")
    return replace(pairs, **{name: _with_other_sign(name, ends.get(name, getattr(pairs, name))) for name in named})


def _with_other_sign(name: str, column: Array) -> Array:
    return 0.0 - column if name in ("difference", "effect_size", "lower", "upper") else column


_BLOCK = 1_000_000  # scores at a time
_FACTS = (
    "effect_size",
    "wins",
    "ties",
    "losses",
    "approximate",
)  # columns for which scores are looked at, topic by topic


class Rule(Protocol):
    """What decides about any pair without a place in memory for each."""

    @property
    def significant_pairs(self) -> int: ...

    def verdicts(self, pairs: Pairs, places: Array) -> dict[str, Array]:
        """Standard errors, p before and after the correction, and the ends of intervals."""


@dataclass(frozen=True, eq=False)
class PairsOnDemand:
    """All pairs of the systems, best first; nothing is stored for a pair but what its rule needs."""

    scores: Matrix
    rule: Rule

    def __len__(self) -> int:
        return pair_count(self._systems)

    @property
    def _systems(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def _pairs(self) -> Pairs:
        none = np.empty(0, np.int64)
        return Pairs(self.scores, Contrasts(none, none))

    def part(self, start: int, stop: int) -> PairColumns:
        return self._columns(np.arange(start, min(stop, len(self))))

    def among_best(self, systems: int) -> PairColumns:
        best = all_pairs(min(systems, self._systems))
        return self._columns(pair_place(best.first, best.second, self._systems))

    def with_system(self, rank: int) -> PairColumns:
        others = np.delete(np.arange(self._systems), rank)
        return self._columns(pair_place(np.full(len(others), rank), others, self._systems))

    def column(self, name: str) -> Array:
        return self._facts[name] if name in _FACTS else self._verdicts[name]

    @property
    def significant_pairs(self) -> int:
        return self.rule.significant_pairs

    @property
    def matrix(self) -> PairwiseT:
        return PairedT(whole(self.scores))

    def _columns(self, places: Array) -> PairColumns:
        return PairColumns(**self._verdicts_at(places), **self._facts_at(places))

    def _verdicts_at(self, places: Array) -> dict[str, Array]:
        pairs = self._pairs.chosen(pairs_at(places, self._systems))
        found = {"place": places, "first": pairs.first, "second": pairs.second, "difference": pairs.difference}
        return found | self.rule.verdicts(pairs, places)

    def _facts_at(self, places: Array) -> dict[str, Array]:
        pairs = self._pairs.chosen(pairs_at(places, self._systems))
        wins, ties, losses = pairs.wins
        counts = {"wins": wins, "ties": ties, "losses": losses}
        return {"effect_size": effect_size(pairs), **counts, "approximate": pairs.approximate}

    @cached_property
    def _verdicts(self) -> dict[str, Array]:
        return self._verdicts_at(np.arange(len(self)))

    @cached_property
    def _facts(self) -> dict[str, Array]:
        return self._facts_at(np.arange(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """Without columns of all pairs, which are computed again where they are asked for."""
        return {name: value for name, value in vars(self).items() if name not in ("_verdicts", "_facts", "_pairs")}


@dataclass(frozen=True, eq=False)
class ThresholdRule:
    """One difference decides about all pairs: Tukey's tests. Nothing is claimed of the ``unvarying`` pairs."""

    threshold: Threshold
    alpha: float
    unvarying: UnvaryingPairs

    @cached_property
    def significant_pairs(self) -> int:
        return significant_count(self.threshold, self.alpha, self.unvarying.places)

    def verdicts(self, pairs: Pairs, places: Array) -> dict[str, Array]:
        vary, margin = ~self.unvarying.has(places), self.threshold.margin
        p_value = np.where(vary, np.maximum(self.threshold.p_value(pairs.first, pairs.second), TINY), 1.0)
        return {
            "standard_error": np.full(len(places), np.sqrt(2 * self.threshold.variance / pairs.topics)),
            "lower": np.where(vary, pairs.difference - margin, np.nan),
            "upper": np.where(vary, pairs.difference + margin, np.nan),
            "p_value": p_value,
            "p_adjusted": p_value,
        }


@dataclass(frozen=True, eq=False)
class HolmRule:
    """Paired t of every pair with Holm's correction: the |t| of all pairs are kept in order, and nothing else."""

    scores: Array
    alpha: float

    @property
    def _count(self) -> int:
        return pair_count(self.scores.shape[1])

    @cached_property
    def _negative_t(self) -> Array:
        """−|t| of all pairs, in order; 0 where there is no error to measure by."""
        matrix, found, done = PairedT(self.scores), np.empty(self._count), 0
        systems, step = matrix.systems, max(1, _BLOCK // matrix.systems)
        for start in range(0, systems, step):
            rows = slice(start, min(start + step, systems))
            t = -np.abs(np.nan_to_num(matrix.rows(rows), posinf=0.0, neginf=0.0))
            above = t[np.arange(rows.start, rows.stop)[:, np.newaxis] < np.arange(systems)]
            found[done : done + len(above)] = above
            done += len(above)
        found.sort()
        return found

    @property
    def _df(self) -> int:
        return len(self.scores) - 1

    def _beyond(self, level: float) -> int:
        """How many pairs are significant at a level."""
        return int(np.searchsorted(self._negative_t, -float(t_critical(level / 2, self._df)), side="right"))

    @cached_property
    def significant_pairs(self) -> int:
        """How many Holm's correction rejects: the first number at whose level no more are significant."""
        rejected, found = -1, 0
        while found > rejected and found < self._count:
            rejected, found = found, self._beyond(self.alpha / (self._count - found))
        return found

    @property
    def level(self) -> float:
        """That of Holm's last step, at which unadjusted intervals decide."""
        return self.alpha / max(self._count - self.significant_pairs, 1)

    @cached_property
    def _highest(self) -> Array:
        """The adjusted p at the end of every run of ``_RUN`` pairs in the order of |t|."""
        found = np.empty(-(-self._count // _RUN))
        for start in range(0, self._count, step := _RUN * (_BLOCK // _RUN)):
            part = self._stepped(np.arange(start, min(start + step, self._count)))
            ends = np.maximum.reduceat(part, np.arange(0, len(part), _RUN))
            found[start // _RUN : start // _RUN + len(ends)] = ends
        return np.maximum.accumulate(found)

    def _stepped(self, order: Array) -> Array:
        return np.asarray(2 * special.stdtr(self._df, self._negative_t[order]) * (self._count - order))

    def _adjusted(self, t: Array) -> Array:
        """Holm's adjusted p: the largest of p times the number of pairs that remain, over all larger |t|."""
        place = np.searchsorted(self._negative_t, -t * (1 + SAME_T), side="left")  # how many are larger
        run = place // _RUN
        before = np.where(run > 0, self._highest[np.maximum(run - 1, 0)], 0.0)
        within = run[:, np.newaxis] * _RUN + np.arange(_RUN)
        stepped = np.where(within < place[:, np.newaxis], self._stepped(np.minimum(within, self._count - 1)), 0.0)
        own = 2 * special.stdtr(self._df, -t) * np.maximum(self._count - place, 1)
        return np.asarray(np.minimum(np.maximum(own, np.maximum(before, stepped.max(axis=1))), 1.0))

    def verdicts(self, pairs: Pairs, places: Array) -> dict[str, Array]:
        estimate = pairs.fit()
        lower, upper = estimate.ends(t_critical(self.level / 2, self._df))
        p_adjusted = np.where(estimate.is_tested, np.maximum(self._adjusted(np.abs(estimate.t)), TINY), 1.0)
        return {
            "standard_error": estimate.standard_error,
            "lower": lower,
            "upper": upper,
            "p_value": estimate.p(),
            "p_adjusted": p_adjusted,
        }


def effect_size(pairs: Pairs) -> Array:
    """The differences over the sds of the pairs' differences."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pairs.sd > 0, pairs.difference / pairs.sd, np.nan)


@dataclass(frozen=True, eq=False)
class UnvaryingPairs:
    """Pairs of systems whose differences do not vary: those of equal ``copies``, and those at ``places``, in order.

    ``copies`` has a number for every system, the same for systems with the same scores. Their means are equal, so that
    no verdict depends on them.
    """

    copies: Array
    places: Array

    @property
    def contrasts(self) -> Contrasts:
        """The pairs at ``places``."""
        return pairs_at(self.places, len(self.copies))

    def has(self, places: Array) -> Array:
        """Which of some pairs are among them."""
        pairs = pairs_at(places, len(self.copies))
        return np.asarray((self.copies[pairs.first] == self.copies[pairs.second]) | is_among(places, self.places))


def unvarying_pairs(pairs: Pairs) -> UnvaryingPairs:
    """Find all pairs of systems whose differences do not vary.

    The scores of such a pair are equal but for a constant. So are then any weighted sums of their differences from the
    first topic, and only pairs with nearly the same sum are looked at; systems with the same scores are looked at once.
    """
    n, m = pairs.scores.shape
    scale = sum(float(np.abs(_weights(start, min(start + _BLOCK, n))).sum()) for start in range(0, n, _BLOCK))
    sums = fold(_weighted_sums, pairs.scores, some_rows(pairs.scores, 0, 1), scale)
    wide = 5 * pairs.tiny + 8 * n * float(np.finfo(float).eps) * max(map(abs, pairs.ends))  # with rounding
    copies = _copies(pairs.scores, _close(sums, wide))
    _, once = np.unique(copies, return_index=True)
    order = np.argsort(sums[once], kind="stable")
    ends = np.searchsorted(sums[once][order], sums[once][order] + wide, side="right")
    near = ends - np.arange(len(order)) - 1
    found = [
        pair_place(*_of_copies(first[alike], second[alike], copies), m)
        for first, second in _neighbours(once[order], near, pairs.at_once)
        if (alike := pairs.chosen(Contrasts(first, second)).sd == 0).any()
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
