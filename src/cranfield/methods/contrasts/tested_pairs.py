"""The pairs of a comparison: columns that are held in memory, or computed for the pairs that are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import special

from cranfield.methods.contrasts.decisions import Verdicts
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, contrasts_at
from cranfield.methods.contrasts.ranking import HeldT, PairedT, PairwiseT
from cranfield.stats.pairs import pair_count, pair_place
from cranfield.stats.tails import TINY, t_critical
from cranfield.types import Array

SAME_T = 1e-9  # of t: that of near-identical systems, from products of scores, is known no better
_BLOCK = 1_000_000  # pairs at a time
_RUN = 16  # pairs in the order of |t| that share a place in memory
DECIDED = ("difference", "standard_error", "lower", "upper", "p_value", "p_adjusted")
FACTS = ("effect_size", "wins", "ties", "losses", "approximate")
_SIGNED = ("difference", "effect_size", "lower", "upper")


class Columns(Protocol):
    """Some of the columns of all pairs."""

    def of(self, pairs: Contrasts, places: Array) -> dict[str, Array]:
        """The columns of some pairs."""


class Decisions(Columns, Protocol):
    """What was decided about all pairs: standard errors, p-values and intervals."""

    @property
    def significant_pairs(self) -> int: ...


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Some pairs of a comparison, one array per column, computed when one is asked for.

    ``place`` is that of the pair among all pairs; the other columns are ``first``, ``second``, those in ``DECIDED`` and
    those in ``FACTS``.
    """

    place: Array
    pairs: Contrasts
    decisions: Decisions
    source: Columns
    is_turned: bool

    def __len__(self) -> int:
        return len(self.place)

    @property
    def first(self) -> Array:
        return self.pairs.first

    @property
    def second(self) -> Array:
        return self.pairs.second

    @cached_property
    def _decided(self) -> dict[str, Array]:
        return self.decisions.of(self.pairs, self.place)

    @cached_property
    def _facts(self) -> dict[str, Array]:
        return self.source.of(self.pairs, self.place)

    def __getattr__(self, name: str) -> Array:
        if name not in DECIDED + FACTS:
            raise AttributeError(name)
        columns = self._decided if name in DECIDED else self._facts
        if not self.is_turned or name not in _SIGNED:
            return columns[name]
        return 0.0 - columns[{"lower": "upper", "upper": "lower"}.get(name, name)]


@dataclass(frozen=True, eq=False)
class TestedPairs:
    """All pairs that were tested; systems go by their rank, from 0.

    ``contrasts`` is None where they are all pairs of the systems, too many to keep. ``matrix`` is t of every
    two systems, which ranks and the best follow from. With ``is_turned`` every sign was changed to compare the scores.
    """

    systems: int
    contrasts: Contrasts | None
    decisions: Decisions
    facts: Columns
    matrix: PairwiseT
    is_turned: bool = False

    def __len__(self) -> int:
        return pair_count(self.systems) if self.contrasts is None else len(self.contrasts)

    @property
    def is_held(self) -> bool:
        """Whether all columns are in memory."""
        return isinstance(self.facts, Held)

    @property
    def significant_pairs(self) -> int:
        return self.decisions.significant_pairs

    def column(self, name: str) -> Array:
        """One column of all pairs."""
        return np.asarray(getattr(self.part(0, len(self)), name))

    def part(self, start: int, stop: int) -> PairColumns:
        """The pairs from one place to before another."""
        return self._at(np.arange(start, min(stop, len(self))))

    def among_best(self, systems: int) -> PairColumns:
        """The pairs of two of the best systems."""
        if self.contrasts is not None:
            worse = np.maximum(self.contrasts.first, self.contrasts.second)
            return self._at(np.flatnonzero(worse < systems))
        best = all_pairs(min(systems, self.systems))
        return self._at(pair_place(best.first, best.second, self.systems))

    def with_system(self, rank: int) -> PairColumns:
        """The pairs of one system."""
        if self.contrasts is not None:
            return self._at(np.flatnonzero((self.contrasts.first == rank) | (self.contrasts.second == rank)))
        others = np.delete(np.arange(self.systems), rank)
        return self._at(pair_place(np.full(len(others), rank), others, self.systems))

    def _at(self, places: Array) -> PairColumns:
        pairs = contrasts_at(places, self.systems) if self.contrasts is None else self.contrasts.some(places)
        return PairColumns(places, pairs, self.decisions, self.facts, self.is_turned)


@dataclass(frozen=True, eq=False)
class Held:
    """Columns in memory."""

    columns: Mapping[str, Array]
    alpha: float

    def of(self, pairs: Contrasts, places: Array) -> dict[str, Array]:
        lie_together = len(places) and places[-1] - places[0] == len(places) - 1  # and are not copied
        some = slice(int(places[0]), int(places[-1]) + 1) if lie_together else places
        return {name: column[some] for name, column in self.columns.items()}

    @property
    def significant_pairs(self) -> int:
        return int((self.columns["p_adjusted"] <= self.alpha).sum())


@dataclass(frozen=True, eq=False)
class PairedFacts:
    """What is said of pairs on shared topics besides the test."""

    pairs: Pairs

    def of(self, pairs: Contrasts, places: Array) -> dict[str, Array]:
        chosen = self.pairs.chosen(pairs)
        return named_facts(chosen.effect_size, chosen.wins, chosen.approximate)


def named_facts(
    effect_size: Array, wins: tuple[Array, Array, Array], approximate: Array | None = None
) -> dict[str, Array]:
    """Columns of pairs besides the test; ``wins`` with ties and losses."""
    marks = np.zeros(len(effect_size), bool) if approximate is None else approximate
    return dict(zip(FACTS, (effect_size, *wins, marks), strict=True))


def decided_pairs(
    contrasts: Contrasts,
    systems: int,
    estimate: Estimate,
    verdicts: Verdicts,
    *,
    facts: Mapping[str, Array] | PairedFacts,
    standard_error: Array | None = None,
) -> TestedPairs:
    """Pairs that were estimated and decided; ``standard_error`` is that of the test, if not each pair's own."""
    columns = {
        "difference": estimate.value,
        "standard_error": estimate.standard_error if standard_error is None else standard_error,
        "lower": verdicts.lower,
        "upper": verdicts.upper,
        "p_value": verdicts.p_value,
        "p_adjusted": verdicts.p_adjusted,
    }
    rest = facts if isinstance(facts, PairedFacts) else Held(facts, verdicts.alpha)
    return TestedPairs(systems, contrasts, Held(columns, verdicts.alpha), rest, HeldT(estimate, systems))


@dataclass(frozen=True, eq=False)
class HolmT:
    """Paired t of every pair with Holm's correction: the |t| of all pairs are kept in order, and nothing else."""

    pairs: Pairs
    alpha: float

    @cached_property
    def matrix(self) -> PairedT:
        return PairedT(self.pairs.held)

    @property
    def _count(self) -> int:
        return pair_count(self.matrix.systems)

    @property
    def _negative_t(self) -> Array:
        return self._looked_at[0]

    @property
    def constant(self) -> Contrasts:
        """Pairs with the same difference on every topic, other than 0: their standard error is 0."""
        unvarying = contrasts_at(self._looked_at[1], self.matrix.systems)
        return unvarying.some(np.abs(unvarying.of(self.pairs.means)) > self.pairs.tiny)

    @cached_property
    def _looked_at(self) -> tuple[Array, Array]:
        """−|t| of all pairs in order, 0 where there is no error to measure by; and the places of these pairs."""
        systems, values, unvarying, done = self.matrix.systems, np.empty(self._count), [], 0
        for rows, t in self.matrix.rows_of_all():
            part = t[np.arange(rows.start, rows.stop)[:, np.newaxis] < np.arange(systems)]
            unvarying.append(np.flatnonzero(np.isnan(part)) + done)
            values[done : done + len(part)] = -np.abs(np.nan_to_num(part))
            done += len(part)
        values.sort()
        return values, np.concatenate(unvarying)

    @property
    def _df(self) -> int:
        return self.pairs.topics - 1

    def _beyond(self, level: float) -> int:
        """How many pairs are significant at a level."""
        return int(np.searchsorted(self._negative_t, -float(t_critical(level / 2, self._df)), side="right"))

    @cached_property
    def significant_pairs(self) -> int:
        """How many Holm's correction rejects: the first number at whose level no more are significant."""
        before, rejected = -1, 0
        while rejected > before and rejected < self._count:
            before, rejected = rejected, self._beyond(self.alpha / (self._count - rejected))
        return rejected

    @property
    def level(self) -> float:
        """That of Holm's last step, at which unadjusted intervals decide."""
        return self.alpha / max(self._count - self.significant_pairs, 1)

    @cached_property
    def _highest(self) -> Array:
        """The adjusted p at the end of every run of ``_RUN`` pairs in the order of |t|."""
        highest = np.empty(-(-self._count // _RUN))
        for start in range(0, self._count, step := _RUN * (_BLOCK // _RUN)):
            part = self._stepped(np.arange(start, min(start + step, self._count)))
            ends = np.maximum.reduceat(part, np.arange(0, len(part), _RUN))
            highest[start // _RUN : start // _RUN + len(ends)] = ends
        return np.maximum.accumulate(highest)

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

    def of(self, pairs: Contrasts, places: Array) -> dict[str, Array]:
        estimate = self.pairs.chosen(pairs).fit()
        lower, upper = estimate.ends(t_critical(self.level / 2, self._df))
        p_adjusted = np.where(estimate.is_tested, np.maximum(self._adjusted(np.abs(estimate.t)), TINY), 1.0)
        return {
            "difference": estimate.value,
            "standard_error": estimate.standard_error,
            "lower": lower,
            "upper": upper,
            "p_value": estimate.p(),
            "p_adjusted": p_adjusted,
        }
