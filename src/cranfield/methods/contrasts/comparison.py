"""Which systems differ: ranking, intervals, groups and pairs, under the test asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args, overload

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError, say_p, say_percent, there_are, visible
from cranfield.methods.contrasts.anova import check_size, check_table
from cranfield.methods.contrasts.assumptions import (
    constant_differences,
    nothing_to_tell,
    one_error_term,
    too_few_topics,
    unpaired_loses,
)
from cranfield.methods.contrasts.clusters import DesignEffect, RobustPairs, TopicDesign, check_robust_test, design_of
from cranfield.methods.contrasts.corrections import correction, covered
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing, Verdicts, by_bootstrap, by_max_t, by_student
from cranfield.methods.contrasts.estimates import GREATER, TWO_SIDED, WITHIN, Estimate
from cranfield.methods.contrasts.pair_tests import FAMILY, ONE_THRESHOLD, RESAMPLED, decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, chosen_pairs
from cranfield.methods.contrasts.ranking import MARGINAL, Standing, letters, standing
from cranfield.methods.contrasts.tested_pairs import (
    HolmT,
    PairColumns,
    PairedFacts,
    TestedPairs,
    decided_pairs,
    named_facts,
    pairs_by_holm,
)
from cranfield.methods.contrasts.tukey import ErrorTerm, Intervals, standard_error_reach
from cranfield.methods.contrasts.unpaired import UNPAIRED_TESTS, UnpairedMeans
from cranfield.methods.names import TEST_TITLES, AllPairsTestName, fix_for_test
from cranfield.runtime.random import Seed, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.frames import make_frame
from cranfield.scores.quality import range_of
from cranfield.scores.selection import REMEDY, check_balance
from cranfield.scores.stored import (
    Matrix,
    OrderedMatrix,
    StoredMatrix,
    columns,
    ordered,
    some_rows,
    system_means,
    whole,
)
from cranfield.scores.table import averaging
from cranfield.stats.family import DEFAULT_TEST
from cranfield.stats.pairs import pair_count
from cranfield.stats.tails import effect_size_interval, t_critical, wilson_ends
from cranfield.types import Array, Progress

__all__ = ["ALL_TESTS", "FAMILY", "Comparison", "check_test", "compare", "pair_p_values"]


ALL_TESTS: tuple[str, ...] = get_args(AllPairsTestName)
ONE_ERROR = ("tukey", "dunnett", "tukey-permutation")  # one error term for all pairs
ONE_SIDED = ("t", "bootstrap", "max-t", "unpaired")
SIGNED = ("sign", "permutation")  # whose p is a share of 2ⁿ patterns of signs
MOST_PAIRS = 2_000_000  # that are kept in memory
HELD_PAIRS = 20_000  # kept in memory also under the default test, which needs none of them
MOST_LETTERED = 500  # systems
LISTED_PAIRS, LISTED_SYSTEMS = 20_000, 200  # in tables and JSON, unless all pairs are asked for
ROWS_AT_ONCE = 20_000
CHARTED_PAIRS = 6  # with a baseline, whose differences on every topic are kept for a chart
NAMED_TOPICS = 200  # more names cannot be shown


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
    effect_size = PairColumn("Every difference over its ``denominator``.")
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

    @property
    def relative_difference(self) -> Array:
        """The difference relative to the mean of the second system; nan if that is not above 0."""
        return self._relative(self.difference, self.second)

    def _relative(self, difference: Array, second: Array) -> Array:
        base = self.means[second]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(base > 0, difference / base, np.nan)

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
        if len(self.pairs) <= LISTED_PAIRS or self.baselines:
            return min(len(self.pairs), LISTED_PAIRS)
        return pair_count(LISTED_SYSTEMS)

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
        return self.found._relative(self.pairs.difference, self.pairs.second)

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


def compare(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    baseline: str | Sequence[str] = (),
    one_sided: bool = False,
    equivalence: float | None = None,
    non_inferiority: float | None = None,
    lower_is_better: bool = False,
    resamples: int | None = None,
    seed: int = 1,
    label: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare all systems of a table, or all systems with some baselines.

    Where topics have clusters, strata or weights, pairs are tested by t with robust standard errors and Holm's
    correction, and no other test is run.

    Parameters
    ----------
    test
        A test of pairs: ``t`` (the default), ``wilcoxon``, ``sign``, ``bootstrap``, ``permutation``; or of all pairs
        together: ``max-t`` (each pair with its own standard error, topics resampled), ``tukey`` (topics as blocks, one
        error term), ``tukey-permutation`` (Tukey by permutation within topics), ``dunnett`` (each candidate with a
        baseline, topics as blocks). For systems on topics of their own, where scores are missing: ``unpaired`` (Welch's
        t) and ``tukey-kramer``.
    correct
        For the tests of pairs, and for equivalence and non-inferiority under them: ``holm`` (default),
        ``hochberg``, ``bh``, ``by`` or ``none``. The other tests need none.
    alpha
        The family-wise error rate.
    baseline
        The system, or the systems, that the others are compared with; differences are candidate less baseline. With
        several the family is all comparisons with any of them.
    one_sided
        Whether to test only if candidates are better than the baseline, by t, bootstrap, max-t or unpaired.
    equivalence
        A margin: pairs shown to differ by less are equivalent (two one-sided t tests at α, Holm over pairs).
    non_inferiority
        A margin: candidates shown to be worse than the baseline by less, if at all, are non-inferior (one-sided t test
        at α, Holm over pairs).
    lower_is_better
        Whether lower scores are better, as for latency and cost.
    resamples
        Permutations or resamples, 10,000 unless given; refused for a test that draws none.
    label
        Name of the comparison, by default the measure; it also names the random stream.

    Returns
    -------
    Comparison
        The ranking, the intervals and every pair.

    Examples
    --------
    Five wins of five give Wilcoxon's test its smallest p, 2 / 2⁵:

    >>> scores = {"old": [0.1, 0.2, 0.3, 0.4, 0.5], "new": [0.2, 0.4, 0.6, 0.8, 1.0]}
    >>> values = np.array([scores["old"], scores["new"]]).T[np.newaxis, :, :, np.newaxis]
    >>> table = ScoreTable(("AP",), tuple("12345"), ("old", "new"), values)
    >>> compare(table, test="wilcoxon").p_value.tolist()
    [0.0625]
    """
    if not 0 < alpha < 1:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a probability; 0.05 is usual.")
    if lower_is_better:
        same: dict[str, Any] = {"measure": measure, "test": test, "correct": correct, "alpha": alpha, "seed": seed}
        same |= {"baseline": baseline, "equivalence": equivalence, "non_inferiority": non_inferiority}
        same["one_sided"] = one_sided
        same |= {"resamples": resamples, "label": label, "progress": progress}
        return _turned(compare(table.replaced(values=-table.values), **same))
    baselines = baseline_names(baseline)
    if non_inferiority is not None and not baselines:
        raise RequestError("non-inferiority is to a baseline, and none is named", fix="Name it with `baseline`.")
    design = design_of(table) if table.has_roles else None
    if design is not None:
        design.check(table.topics)
        if test is None or test in TEST_TITLES:
            check_robust_test(test)
    test = test or DEFAULT_TEST
    check_test(test, correct, baselines)
    if one_sided:
        _check_one_sided(test, baselines)
    if resamples is not None and test not in RESAMPLED:
        raise NoEffectError(
            f"a number of resamples has no effect on the test {test}",
            parameter="resamples",
            fix=f"Leave it out, or choose one of: {', '.join(RESAMPLED)}.",
        )
    scores = _checked(table, measure, test)
    means, is_share = _means(scores, design, test), _is_share(scores)
    order = np.argsort(-means, kind="stable")
    names = tuple(table.systems[at] for at in order.tolist())
    count = pair_count(len(names)) if not baselines else len(_contrasts(names, baselines))
    label = label or measure or table.measures[0]
    asked = _Asked(
        test=test,
        correct=correct or ("none" if count == 1 else "holm"),  # one pair is no family
        alpha=alpha,
        drawing=Drawing(
            resamples=resamples or RESAMPLES, seed=sequence(seed, "compare", test, label), progress=progress
        ),
        margins={"equivalence": equivalence, "non_inferiority": non_inferiority},
        shows=GREATER if one_sided else TWO_SIDED,
    )
    if design is not None:
        robust = RobustPairs(whole(scores)[:, order], _contrasts(names, baselines), design)
        found = robust_comparison(robust, names, asked)
    elif test in UNPAIRED_TESTS:
        found = _unpaired(UnpairedMeans(whole(scores)[:, order], _contrasts(names, baselines)), names, asked)
    elif not baselines and asked.keeps_no_pair(count):
        found = _on_demand(ordered(scores, order), names, asked)
    else:
        _check_size(count, asked)
        found = _held(Pairs(ordered(scores, order), _contrasts(names, baselines)), names, asked)
    return Comparison(
        measure=label,
        test=test,
        correct="none" if test in FAMILY else asked.correct,
        alpha=alpha,
        topics=len(scores),
        systems=names,
        denominator="sd within systems" if test in UNPAIRED_TESTS else "sd of the differences",
        baselines=baselines,
        seed=seed if found.get("resamples") else None,
        is_mcnemar=test == "sign" and is_share,
        is_share=is_share,
        one_sided=one_sided,
        by_topic=None if test in UNPAIRED_TESTS else _by_topic(table, scores, order, _contrasts(names, baselines, 1)),
        **{**found, "warnings": tuple(each for each in found["warnings"] if each)},
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Asked:
    """How pairs are to be decided."""

    test: str
    correct: str
    alpha: float
    drawing: Drawing
    margins: dict[str, float | None]
    shows: str = TWO_SIDED

    def keeps_no_pair(self, pairs: int) -> bool:
        """Whether nothing is kept of a pair, as there are many."""
        has_one_test = not any(self.margins.values()) and self.shows == TWO_SIDED
        return has_one_test and self.test == "t" and self.correct == "holm" and pairs > HELD_PAIRS

    def shown(self, estimate: Estimate) -> dict[str, Verdicts | None]:
        """What the margins show, by each pair's own standard error; nothing where none is named."""
        kinds = {"equivalence": WITHIN, "non_inferiority": GREATER}
        correct = "holm" if self.correct == "none" and len(estimate.value) > 1 and self.test in FAMILY else self.correct
        return {
            name: None
            if margin is None
            else by_student(estimate, correct=correct, alpha=self.alpha, shows=kinds[name], margin=margin)
            for name, margin in self.margins.items()
        }


def _contrasts(names: tuple[str, ...], baselines: tuple[str, ...], most: int | None = None) -> Contrasts:
    """All pairs of systems, or their pairs with baselines; of all pairs perhaps only the first."""
    place = {name: at for at, name in enumerate(names)}
    unknown = [name for name in baselines if name not in place]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(names))
    if most is not None and not baselines:
        return Contrasts(np.array([0]), np.array([1]))
    return chosen_pairs(len(names), [place[baseline] for baseline in baselines])


def _means(scores: Array | StoredMatrix, design: TopicDesign | None, test: str) -> Array:
    if design is not None:
        return np.asarray(design.shares @ whole(scores))
    if test in UNPAIRED_TESTS:
        return np.asarray(np.nanmean(whole(scores), axis=0))
    return system_means(scores)


def _by_topic(table: ScoreTable, scores: Array | StoredMatrix, order: Array, contrasts: Contrasts) -> TopicScores:
    """The scores on every topic of the first pairs; those in a file are left there until they are asked for."""
    systems = order[np.concatenate([contrasts.first[:CHARTED_PAIRS], contrasts.second[:CHARTED_PAIRS]])]
    kept = columns(scores, systems) if isinstance(scores, np.ndarray) else OrderedMatrix(scores, systems)
    return TopicScores(topics=table.topics if len(scores) <= NAMED_TOPICS else (), scores=kept)


def _is_share(scores: Matrix) -> bool:
    """Whether all scores are 0 or 1, or all of these with the other sign."""
    part = some_rows(scores, 0, 1)  # which says nearly always that they are not
    return any(bool(np.isin(part, (0, one)).all() and np.isin(whole(scores), (0, one)).all()) for one in (1, -1))


def _turned(found: Comparison) -> Comparison:
    """A comparison of scores of which every sign was changed, as one of the scores themselves."""
    return replace(
        found,
        means=0.0 - found.means,
        pairs=replace(found.pairs, is_turned=True),
        equivalence=None if found.equivalence is None else found.equivalence.turned(),
        non_inferiority=None if found.non_inferiority is None else found.non_inferiority.turned(),
        lower_is_better=True,
        by_topic=None if found.by_topic is None else replace(found.by_topic, scores=-whole(found.by_topic.scores)),
        bootstrap_ends=None if (ends := found.bootstrap_ends) is None else (-ends[1], -ends[0]),
    )


def _held(pairs: Pairs, names: tuple[str, ...], asked: _Asked) -> dict[str, Any]:
    """What a comparison has of pairs that are tested and kept one by one."""
    test = asked.test
    levels: dict[str, Any] = {"alpha": asked.alpha, "drawing": asked.drawing}
    found = decide(pairs, test, correct=asked.correct, shows=asked.shows, **levels)
    estimate = pairs.fit()
    facts: Any = PairedFacts(pairs)
    if pairs.are_few:
        facts = named_facts(pairs.effect_size, pairs.wins, pairs.approximate)
    has_one_error = test in (*ONE_THRESHOLD, "dunnett")
    pooled = (
        np.full(len(pairs.contrasts), np.sqrt(2 * pairs.squares.residual / pairs.topics)) if has_one_error else None
    )
    tested = decided_pairs(pairs.contrasts, len(names), estimate, found, facts=facts, standard_error=pooled)
    half_width = float("nan")
    if test in ONE_THRESHOLD:
        half_width = float(np.nanmax((found.upper - found.lower) / 4)) if pairs.sd.any() else float("nan")
    return {
        "means": pairs.means,
        "intervals": _intervals(pairs, half_width, asked.alpha),
        "pairs": tested,
        "interval": found.interval,
        "resamples": asked.drawing.resamples if test == "tukey-permutation" else found.resamples,
        "bootstrap_ends": _bootstrapped_means(pairs, **levels) if test == "bootstrap" else None,
        "warnings": _cautions(pairs, names, asked),
        **asked.shown(estimate),
    }


def _bootstrapped_means(pairs: Pairs, **levels: Any) -> tuple[Array, Array]:
    """Ends of the intervals of single means: those of contrasts with a system that has 0 everywhere."""
    scores = np.column_stack([pairs.held, np.zeros(pairs.topics)])
    zero = scores.shape[1] - 1
    own = Pairs(scores, Contrasts(np.arange(zero), np.full(zero, zero)))
    found = by_bootstrap(own, own.fit(), correct="none", **levels)
    return np.where(own.sd > 0, found.lower, own.difference), np.where(own.sd > 0, found.upper, own.difference)


def _on_demand(scores: Matrix, names: tuple[str, ...], asked: _Asked) -> dict[str, Any]:
    """The same of so many pairs that none is kept, by t with Holm's correction."""
    pairs = Pairs(scores, Contrasts(*np.empty((2, 0), np.int64)))
    decided = HolmT(pairs, asked.alpha)
    nothing, constant = nothing_to_tell(scores), decided.constant
    every = np.ones(len(constant), bool)
    return {
        "means": pairs.means,
        "intervals": _intervals(pairs, float("nan"), asked.alpha),
        "pairs": pairs_by_holm(decided),
        "interval": f"{covered(decided.level)} (level of Holm's last step)",
        "resamples": None,
        "warnings": [nothing, None if nothing else constant_differences(every, names, constant.first, constant.second)],
    }


def robust_comparison(robust: RobustPairs, names: tuple[str, ...], asked: _Asked) -> dict[str, Any]:
    """The same by t with robust standard errors, or where topics are independent and count the same by max-t."""
    estimate = robust.fit()
    if asked.test == "max-t":
        found = by_max_t(robust, estimate, alpha=asked.alpha, drawing=asked.drawing)
    else:
        found = by_student(estimate, correct=asked.correct, alpha=asked.alpha, shows=asked.shows)
    facts = named_facts(robust.effect_size, robust.wins)
    tested = decided_pairs(robust.contrasts, len(names), estimate, found, facts=facts)
    return {
        "means": robust.design.shares @ robust.values,
        "intervals": Intervals(float("nan"), float("nan"), robust.own_reach(asked.alpha)),
        "pairs": tested,
        "interval": found.interval,
        "resamples": found.resamples,
        "design_effect": robust.effect,
        "warnings": robust.cautions(names),
        **asked.shown(estimate),
    }


def compare_incomplete(
    values: Array,
    means: Array,
    systems: Sequence[str],
    design: TopicDesign,
    *,
    measure: str,
    test: str | None,
    correct: str | None,
    alpha: float,
    fewest: int,
    drawing: Drawing,
) -> Comparison:
    """All pairs of systems in the order of given means, each on the topics that both have; by t, or by max-t.

    ``values`` are topics × systems, nan where a score is missing; max-t needs topics that are independent and count the
    same. p before the correction remains that of Student's t.
    """
    test = test or DEFAULT_TEST
    by_largest = test == "max-t" and design.is_plain
    if not by_largest:
        check_robust_test(test)
    check_test(test, correct)
    order = np.argsort(-means, kind="stable")
    names = tuple(systems[at] for at in order.tolist())
    contrasts = all_pairs(len(names))
    robust = RobustPairs(values[:, order], contrasts, design, fewest)
    correct = correct or ("none" if len(contrasts) == 1 else "holm")
    asked = _Asked(test=test, correct=correct, alpha=alpha, drawing=drawing, margins={})
    found = robust_comparison(robust, names, asked)
    return Comparison(
        measure=measure,
        test=test,
        correct="none" if by_largest else correct,
        alpha=alpha,
        topics=len(values),
        systems=names,
        denominator="sd of the differences",
        **{**found, "means": means[order], "warnings": tuple(each for each in found["warnings"] if each)},
    )


def _unpaired(unpaired: UnpairedMeans, names: tuple[str, ...], asked: _Asked) -> dict[str, Any]:
    """The same of systems that had topics of their own."""
    estimate = unpaired.fit()
    if asked.test == "tukey-kramer":
        found = unpaired.tukey_kramer(asked.alpha)
    else:
        found = by_student(estimate, correct=asked.correct, alpha=asked.alpha, shows=asked.shows)
    error = unpaired.pooled().standard_error if asked.test == "tukey-kramer" else None
    facts = named_facts(unpaired.effect_size, unpaired.wins)
    tested = decided_pairs(unpaired.contrasts, len(names), estimate, found, facts=facts, standard_error=error)
    own = np.sqrt(unpaired.squares / (unpaired.counts - 1) / unpaired.counts)
    cautions = []
    if np.isfinite(unpaired.scores).all():
        cautions.append(nothing_to_tell(unpaired.scores))
        shared = by_student(Pairs(unpaired.scores, unpaired.contrasts).fit(), correct=asked.correct, alpha=asked.alpha)
        cautions.append(unpaired_loses(int(found.shown.sum()), int(shared.shown.sum())))
    return {
        "means": unpaired.means,
        "intervals": Intervals(float("nan"), float("nan"), t_critical(asked.alpha / 2, unpaired.counts - 1) * own),
        "pairs": tested,
        "interval": found.interval,
        "warnings": cautions,
        **asked.shown(estimate),
    }


def pair_p_values(
    scores: Array, *, test: str = "tukey", correct: str | None = None, alpha: float = 0.05, resamples: int, seed: Seed
) -> Array:
    """Adjusted p of all pairs of the systems of a topics × systems table, in the order of ``all_pairs``."""
    check_test(test, correct)
    check_table(scores[:, :, np.newaxis])
    drawing = Drawing(resamples=resamples, seed=sequence(seed, "pairs", test))
    pairs = Pairs(scores, all_pairs(scores.shape[1]))
    return decide(pairs, test, correct=correct or "holm", alpha=alpha, drawing=drawing).p_adjusted


def baseline_names(baseline: str | Sequence[str]) -> tuple[str, ...]:
    """The names of one baseline or of several, each once.

    >>> baseline_names("bm25"), baseline_names(["bm25", "dpr", "bm25"])
    (('bm25',), ('bm25', 'dpr'))
    """
    return (baseline,) if isinstance(baseline, str) else tuple(dict.fromkeys(baseline))


def check_test(test: str, correct: str | None, baselines: Sequence[str] = ()) -> None:
    """Refuse tests and corrections that do not exist, or do not go together."""
    if test not in TEST_TITLES:
        raise RequestError(f"there is no test «{test}»", fix=fix_for_test(test, TEST_TITLES))
    if test == "dunnett" and not baselines:
        raise RequestError(
            "Dunnett's test compares systems with a baseline, and none is named",
            fix="Name it with `baseline`, or choose a test of all pairs: t or tukey.",
        )
    if test in FAMILY and correct not in (None, "none"):
        raise RequestError(f"{test} controls the family-wise error rate itself", fix="Leave out the correction.")
    if correct is not None:
        correction(correct)


def _check_one_sided(test: str, baselines: Sequence[str]) -> None:
    if not baselines:
        raise RequestError(
            "a one-sided test is about systems that are better than a baseline, and none is named",
            fix="Name it with `baseline`.",
        )
    if test not in ONE_SIDED:
        raise RequestError(f"the test {test} has two sides", fix=f"Choose one of: {', '.join(ONE_SIDED)}.")


def _checked(table: ScoreTable, measure: str | None, test: str) -> Array | StoredMatrix:
    scores = table.matrix(measure)
    if scores.ndim != 2:
        raise RequestError("this table has several scores for each topic and system (shards)", fix=REMEDY)
    if test not in UNPAIRED_TESTS:
        check_balance(table, measure)
    check_size(*scores.shape)
    return scores


def _check_size(pairs: int, asked: _Asked) -> None:
    """Refuse to keep too many pairs."""
    if pairs <= MOST_PAIRS:
        return
    has_margin = any(asked.margins.values())
    what = "equivalence and non-inferiority keep" if has_margin else f"{asked.test} keeps"
    rest = "leave out the margin." if has_margin else 'use `test="t"` with Holm\'s correction.'
    raise RequestError(
        f"{what} every pair in memory, and {pairs:,} are more than {MOST_PAIRS:,}",
        fix=f"Compare fewer systems, name a baseline, or {rest}",
    )


def _intervals(pairs: Pairs, half_width: float, alpha: float) -> Intervals:
    """The interval of the test, ANOVA's and the standard error's, around means."""
    n, m = pairs.scores.shape
    # Of all pairs the mean variance is twice the residual, and is known already.
    residual = (
        float(np.square(pairs.sd).mean()) / 2 if len(pairs.contrasts) == pair_count(m) else pairs.squares.residual
    )
    within = ErrorTerm(residual, (m - 1) * (n - 1), n)
    reach = float(t_critical(alpha / 2, within.df)) * within.standard_error  # FS19 Eq. 5
    return Intervals(half_width, reach, standard_error_reach(pairs.scores, alpha=alpha))


def _cautions(pairs: Pairs, names: tuple[str, ...], asked: _Asked) -> list[Caution | None]:
    """Return the warnings."""
    nothing, test = nothing_to_tell(pairs.scores), asked.test
    corrected = "none" if test in FAMILY else asked.correct
    return [
        nothing,
        None if nothing else constant_differences(pairs.constant, names, pairs.first, pairs.second),
        one_error_term(pairs.scores, pairs.sd, test) if test in ONE_ERROR else None,
        too_few_topics(pairs.topics, len(pairs.contrasts), corrected, asked.alpha) if test in SIGNED else None,
    ]
