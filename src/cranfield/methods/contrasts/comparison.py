"""The result of a comparison: ranking, intervals, letters and pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from cranfield.errors import Caution, say_p, say_percent, visible
from cranfield.methods.contrasts.clusters import DesignEffect
from cranfield.methods.contrasts.decisions import Verdicts
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.ranking import MARGINAL, Standing, letters, standing
from cranfield.methods.contrasts.tested_pairs import PairColumns, TestedPairs
from cranfield.methods.contrasts.tukey import Intervals
from cranfield.methods.contrasts.unpaired import UNPAIRED_TESTS
from cranfield.scores.frames import make_frame
from cranfield.scores.quality import range_of
from cranfield.scores.stored import Matrix, whole
from cranfield.scores.table import averaging
from cranfield.stats.tails import effect_size_interval, wilson_ends
from cranfield.types import Array

MOST_LETTERED = 500  # systems
LISTED_PAIRS, LISTED_SYSTEMS = 20_000, 200  # in tables and JSON, unless all pairs are asked for
ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True)
class LabelsUsed:
    """Which labels a comparison rests on: those of people on its topics, and of a judge on ``judged_topics``.

    ``fallback`` is the number of pairs on which the judge does not vary, and which rest on human labels alone.
    """

    judge: str
    estimator: str
    judged_topics: int
    fallback: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicScores:
    """The scores of the first pairs on every topic: those of their first systems, then those of their second ones.

    ``topics`` are the names of the topics, unless they are too many to be shown.
    """

    topics: tuple[str, ...]
    scores: Matrix

    @property
    def differences(self) -> Array:
        """Topics × pairs: the score of the first system minus that of the second."""
        first, second = np.hsplit(whole(self.scores), 2)
        return np.asarray(first - second)


class PairColumn:
    """One column of all pairs of a comparison."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, comparison: None, owner: type) -> PairColumn: ...

    @overload
    def __get__(self, comparison: Comparison, owner: type) -> Array: ...

    def __get__(self, comparison: Comparison | None, owner: type) -> PairColumn | Array:
        return self if comparison is None else comparison.pairs.column(self.name)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The result of a comparison: systems, best first, and pairs as indices into them.

    ``difference`` is the mean of ``first`` minus that of ``second``: better minus worse, or with baselines candidate
    minus baseline. ``standard_error`` is that of the test: common to all pairs (Tukey's tests and Dunnett's) or of the
    pair. ``effect_size`` is the difference divided by the sd of the pair's differences (d_z); for the unpaired test by
    the sd of scores within systems (see ``denominator``). ``lower`` and ``upper`` exclude 0 exactly when the pair is
    significant, unless ``interval`` calls them unadjusted; they are nan for pairs whose differences do not vary.
    ``intervals`` has half-widths of intervals around means: Tukey's, which do not overlap exactly if two systems differ
    (nan if the test has none); ANOVA's; that of the standard error.

    Of many pairs, or many topics, ``pairs`` computes numbers for the pairs that are asked for. ``labels`` says which
    labels were used, where they are not all of one kind; ``design_effect`` what clusters, strata and weights do, where
    topics have any. With ``lower_is_better`` the best system has the lowest mean, so that better minus worse is below
    0, and a win is a topic with a lower score. ``is_mcnemar`` says that the test is McNemar's exact test: the sign test
    of scores of 0 and 1. ``by_topic`` has the differences on every topic of the best system from the second, or of the
    best candidates from the baseline. ``is_share`` says that all scores are 0 or 1, so that means are shares;
    ``bootstrap_ends`` are those of the intervals of single means by that test. With ``one_sided`` only candidates that
    are better than the baseline are significant.
    """

    measure: str
    test: str
    correct: str
    alpha: float
    topics: int
    systems: tuple[str, ...]
    means: Array
    intervals: Intervals
    pairs: TestedPairs
    interval: str
    denominator: str
    equivalence: Verdicts | None = None
    non_inferiority: Verdicts | None = None
    baselines: tuple[str, ...] = ()
    seed: int | None = None
    resamples: int | None = None
    warnings: tuple[Caution, ...] = ()
    labels: LabelsUsed | None = None
    design_effect: DesignEffect | None = None
    lower_is_better: bool = False
    is_mcnemar: bool = False
    by_topic: TopicScores | None = None
    is_share: bool = False
    bootstrap_ends: tuple[Array, Array] | None = None
    one_sided: bool = False

    first = PairColumn("The first system of every pair, by rank.")
    second = PairColumn("The second system of every pair, by rank.")
    difference = PairColumn("The mean of the first system minus that of the second.")
    standard_error = PairColumn("The standard error of every difference.")
    lower = PairColumn("The lower ends of the intervals of differences.")
    upper = PairColumn("The upper ends of the intervals of differences.")
    effect_size = PairColumn("Every difference over its denominator.")
    p_value = PairColumn("p of every pair, before the correction.")
    p_adjusted = PairColumn("p of every pair, adjusted for all of them.")
    wins = PairColumn("Topics on which the first system of a pair is better.")
    ties = PairColumn("Topics on which both systems of a pair score the same.")
    losses = PairColumn("Topics on which the first system of a pair is worse.")

    @property
    def half_width(self) -> float:
        """Half-width of intervals around means that decide about pairs; nan if the test has none."""
        return self.intervals.tukey

    @property
    def significant(self) -> Array:
        return np.asarray(self.p_adjusted <= self.alpha)

    @property
    def significant_pairs(self) -> int:
        return self.pairs.significant_pairs

    @cached_property
    def standing(self) -> Standing:
        """Of every system, whether it may be the best, and its ranks by the tests of its own pairs, by t."""
        return standing(self.pairs.matrix, self.alpha)

    @cached_property
    def simultaneous_ranks(self) -> tuple[Array, Array]:
        """The lowest and the highest rank of every system that the verdicts about all pairs leave together."""
        m = len(self.systems)
        better, worse = np.zeros((2, m), np.int64)
        for pairs in self.parts():
            marked = pairs.p_adjusted <= self.alpha
            up = (pairs.difference[marked] > 0) != self.lower_is_better
            first, second = pairs.first[marked], pairs.second[marked]
            np.add.at(better, np.where(up, second, first), 1)
            np.add.at(worse, np.where(up, first, second), 1)
        return 1 + better, m - worse

    def ranks(self, kind: str = MARGINAL) -> tuple[Array, Array]:
        """The lowest and the highest rank of every system, each by itself or all together."""
        found = self.standing if kind == MARGINAL else None
        return self.simultaneous_ranks if found is None else (found.rank_lower, found.rank_upper)

    @property
    def top_group(self) -> tuple[str, ...]:
        """The systems that may be the best, with confidence 1 − α; empty with baselines."""
        if self.baselines:
            return ()
        return tuple(name for name, stays in zip(self.systems, self.standing.may_be_best, strict=True) if stays)

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Letters of systems, of which two share one exactly when their pair is not significant; empty for too many."""
        if self.baselines or len(self.systems) > MOST_LETTERED:
            return ()
        return letters(all_pairs(len(self.systems)), self.significant, len(self.systems))

    @cached_property
    def mean_interval(self) -> tuple[Array, Array]:
        """Ends of the 100(1 − α) % interval of every single mean, within the range of the measure.

        By Student's t, by the bootstrap where that is the test, and Wilson's for the share of topics that pass.
        """
        if self.is_share and self.design_effect is None:
            return wilson_ends(np.clip(self.means, 0.0, 1.0), self.topics, self.alpha)
        reach = self.intervals.standard_error
        lower, upper = self.bootstrap_ends or (self.means - reach, self.means + reach)
        low, high = range_of(self.measure.rpartition(": ")[2]) or (-np.inf, np.inf)
        if self.means.min() < low or self.means.max() > high:  # logarithms, or scores on another scale
            return lower, upper
        return np.maximum(lower, low), np.minimum(upper, high)

    @property
    def is_geometric(self) -> bool:
        """Whether the scores that were compared are logarithms, whose means are shown as geometric means."""
        return averaging(self.measure) == "geometric"

    def ranking(self) -> dict[str, Sequence[Any]]:
        """Columns, one row per system: rank, mean with its interval, possible ranks, and letters.

        The interval is that of the test, where it has one around means; else that of the single mean. Where scores are
        logarithms, the geometric mean and its interval take their place.
        """
        lower, upper = self.mean_interval
        if self.half_width == self.half_width:
            lower, upper = self.means - self.half_width, self.means + self.half_width
        shown = np.exp if self.is_geometric else np.asarray
        return {
            "measure": [self.measure] * len(self.systems),
            "rank": range(1, len(self.systems) + 1),
            "system": self.systems,
            "score": shown(self.means).tolist(),
            "lower": shown(lower).tolist(),
            "upper": shown(upper).tolist(),
            "interval_standard_error": self.intervals.standard_error.tolist(),
            **self._standing_columns,
        }

    @property
    def _standing_columns(self) -> dict[str, Sequence[Any]]:
        """What all pairs say about the order; with baselines nothing."""
        if self.baselines:
            return {}
        names = ("rank_lower", "rank_upper", "may_be_best")
        columns: dict[str, Sequence[Any]] = {name: getattr(self.standing, name).tolist() for name in names}
        return columns | ({"letters": self.letters} if self.letters else {})

    def summary(self) -> str:
        """Return sentences: which systems may be the best, and the number of significant pairs with their family."""
        count, total = self.significant_pairs, len(self.pairs)
        tests = f"the {total:,} pairs with {', '.join(self.baselines)}" if self.baselines else f"all {total:,} pairs"
        one = count == 1
        shown = f"show{'s' * one} that the system is better" if self.one_sided else f"differ{'s' * one} significantly"
        found = f"{count:,} of {tests} {shown}"
        return visible(f"{found}." if self.baselines else f"{self._about_the_best()} {found}.")

    def _about_the_best(self) -> str:
        best, m = self.top_group, len(self.systems)
        lead = f"With {100 * (1 - self.alpha):.4g} % confidence the best of these {m:,} systems is"
        if len(best) == 1:
            return f"{lead} {best[0]}."
        return f"{lead} one of {len(best):,}." if len(best) < m else "Any of these systems may be the best."

    def verdict(self, at: int) -> str:
        """Return the result of one pair in a sentence."""
        return next(_Rows(self, self.pairs.part(at, at + 1)).verdicts())

    def parts(self, start: int = 0, stop: int | None = None) -> Iterator[PairColumns]:
        """Yield the pairs from one place among all pairs to before another, some thousands at a time."""
        end = len(self.pairs) if stop is None else min(stop, len(self.pairs))
        for begin in range(start, end, ROWS_AT_ONCE):
            yield self.pairs.part(begin, min(begin + ROWS_AT_ONCE, end))

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield one row per pair, from one place among all pairs to before another."""
        for pairs in self.parts(start, stop):
            yield from self.rows_of(pairs)

    def rows_of(self, pairs: PairColumns) -> list[dict[str, Any]]:
        """One row per pair of some that ``pairs`` gave, such as those of one system or of the best ones."""
        columns = self.columns_of(pairs)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def columns_of(self, pairs: PairColumns) -> dict[str, list[Any]]:
        """The same as columns."""
        return _Rows(self, pairs).columns()

    @property
    def listed(self) -> PairColumns:
        """The pairs that tables and JSON list: all up to 20,000, else those of the best 200 systems.

        With baselines, the first 20,000.
        """
        if len(self.pairs) <= LISTED_PAIRS or self.baselines:
            return self.pairs.part(0, LISTED_PAIRS)
        return self.pairs.among_best(LISTED_SYSTEMS)

    @property
    def listed_count(self) -> int:
        """The number of pairs that are listed."""
        return len(self.listed)

    def to_frame(self, backend: str = "pandas", *, all_pairs: bool = False) -> Any:
        """Return the pairs that are ``listed``, or all of them, as a data frame."""
        return make_frame(self.columns_of(self.pairs.part(0, len(self.pairs)) if all_pairs else self.listed), backend)

    def to_dict(self, *, all_pairs: bool = False) -> list[dict[str, Any]]:
        """One row per pair that is ``listed``, or per pair."""
        return list(self.rows()) if all_pairs else self.rows_of(self.listed)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some pairs of a comparison as rows: the words of JSON and CSV, and Python's own numbers."""

    found: Comparison
    pairs: PairColumns

    def columns(self) -> dict[str, list[Any]]:
        pairs = self.pairs
        p_value = pairs.p_value.tolist()
        return {
            "system_a": self._names(pairs.first),
            "system_b": self._names(pairs.second),
            "difference": pairs.difference.tolist(),
            "relative_difference": self._relative.tolist(),
            "lower": pairs.lower.tolist(),
            "upper": pairs.upper.tolist(),
            "standard_error": pairs.standard_error.tolist(),
            "effect_size": pairs.effect_size.tolist(),
            **self._effect_interval,
            "p_value": p_value,
            "p_adjusted": p_value if pairs.p_adjusted is pairs.p_value else pairs.p_adjusted.tolist(),
            "significant": self._significant.tolist(),
            "wins": pairs.wins.tolist(),
            "ties": pairs.ties.tolist(),
            "losses": pairs.losses.tolist(),
            "approximate": pairs.approximate.tolist(),
            **self._margins(),
            **({"verdict": list(self.verdicts())} if self.found.baselines else {}),
        }

    @property
    def _effect_interval(self) -> dict[str, list[Any]]:
        """The interval of d_z on topics that are independent; nothing is known of another one."""
        found, effect = self.found, self.pairs.effect_size
        if found.design_effect is not None or found.test in UNPAIRED_TESTS:
            effect = np.full(len(effect), np.nan)
        lower, upper = effect_size_interval(effect, found.topics, found.alpha)
        return {"effect_size_lower": lower.tolist(), "effect_size_upper": upper.tolist()}

    def _names(self, ranks: Array) -> list[str]:
        return [self.found.systems[at] for at in ranks.tolist()]

    @property
    def _relative(self) -> Array:
        """The differences relative to the means of the second systems; nan if those are not above 0."""
        base = self.found.means[self.pairs.second]
        return np.asarray(np.divide(self.pairs.difference, base, out=np.full(len(base), np.nan), where=base > 0))

    @property
    def _significant(self) -> Array:
        return np.asarray(self.pairs.p_adjusted <= self.found.alpha)

    def _margins(self) -> dict[str, list[Any]]:
        columns: dict[str, Array] = {}
        if (equal := self.found.equivalence) is not None:
            columns |= {
                "p_equivalent": equal.p_adjusted,
                "equivalent": equal.shown,
                "equivalence_lower": equal.lower,
                "equivalence_upper": equal.upper,
            }
        if (good := self.found.non_inferiority) is not None:
            columns |= {
                "p_non_inferior": good.p_adjusted,
                "non_inferior": good.shown,
                **(
                    {"non_inferiority_upper": good.upper}
                    if self.found.lower_is_better
                    else {"non_inferiority_lower": good.lower}
                ),
            }
        return {name: column[self.pairs.place].tolist() for name, column in columns.items()}

    def verdicts(self) -> Iterator[str]:
        """The result of every pair in a sentence."""
        relative, significant = self._relative.tolist(), self._significant.tolist()
        for at in range(len(self.pairs)):
            yield visible(self._verdict(at, relative[at], significant=significant[at]))

    def _verdict(self, at: int, share: float, *, significant: bool) -> str:
        found, pairs = self.found, self.pairs
        candidate, baseline = found.systems[pairs.first[at]], found.systems[pairs.second[at]]
        relative = f" ({say_percent(share, 1, '+')})" if share == share else ""
        lower, upper = float(pairs.lower[at]), float(pairs.upper[at])
        if lower == lower:
            kind = found.interval.partition(" (")[0]
            ends = f"[{lower:+.4f}, {upper:+.4f}]"
            if found.one_sided:
                ends = f"up to {upper:+.4f}" if found.lower_is_better else f"from {lower:+.4f}"
            interval = f", {kind} interval {ends}"
        else:
            interval = ", no interval as the differences do not vary"
        counted = (("win", "wins", pairs.wins), ("tie", "ties", pairs.ties), ("loss", "losses", pairs.losses))
        counts = ", ".join(f"{each[at]:,} {one if each[at] == 1 else many}" for one, many, each in counted)
        verdict = "differs significantly from" if significant else "does not differ significantly from"
        if found.one_sided:
            verdict = f"is {'' if significant else 'not '}significantly better than"
        return (
            f"{candidate} {verdict} {baseline} in {found.measure}: {float(pairs.difference[at]):+.4f}{relative}"
            f"{interval}, {say_p(float(pairs.p_adjusted[at]))}; {counts} on {found.topics:,} topics."
        )
