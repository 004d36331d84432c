"""Which systems differ: ranking, intervals, groups and pairs, under the test asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError, say_p, say_percent, there_are, visible
from cranfield.methods.comparison.anova import check_size, check_table
from cranfield.methods.comparison.assumptions import (
    constant_differences,
    nothing_to_tell,
    one_error_term,
    too_few_resamples,
    too_few_topics,
    too_many_differences,
    too_many_pairs,
    unpaired_loses,
)
from cranfield.methods.comparison.clusters import DesignEffect, check_robust_test, design_of, robust_pairs
from cranfield.methods.comparison.families import (
    FAMILY,
    ONE_THRESHOLD,
    RESAMPLED,
    Pairs,
    Verdicts,
    find_threshold,
    judge,
    percent,
)
from cranfield.methods.comparison.pairwise import MarginTest, correction
from cranfield.methods.comparison.pairwise import equivalence as show_equivalence
from cranfield.methods.comparison.pairwise import non_inferiority as show_non_inferiority
from cranfield.methods.comparison.tested_pairs import (
    HeldPairs,
    PairColumns,
    PairsOnDemand,
    TestedPairs,
    TurnedPairs,
    adjacent_groups,
    effect_size,
    no_unvarying_pairs,
    unvarying_pairs,
)
from cranfield.methods.comparison.thresholds import pair_count, pairs_at
from cranfield.methods.comparison.tukey import ErrorTerm, Intervals, standard_error_reach
from cranfield.methods.names import TEST_TITLES, AllPairsTestName, fix_for_test
from cranfield.runtime.random import Seed, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.frames import make_frame
from cranfield.scores.selection import REMEDY, check_balance
from cranfield.scores.stored import Matrix, OrderedMatrix, StoredMatrix, columns, ordered, system_means, whole
from cranfield.stats.family import DEFAULT_TEST
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress

__all__ = ["ALL_TESTS", "FAMILY", "Comparison", "check_test", "compare", "pair_p_values"]


ALL_TESTS: tuple[str, ...] = get_args(AllPairsTestName)
ONE_ERROR = ("tukey", "dunnett", "tukey-permutation")  # one error term for all pairs
SIGNED = ("sign", "permutation")  # whose p is a share of 2ⁿ patterns of signs
MOST_PAIRS = 2_000_000  # that are measured each by its own error
HELD_PAIRS = 20_000  # kept in memory even where one threshold decides about all of them
HELD_DIFFERENCES = 10_000_000  # topics × pairs that are looked at for them
LISTED_PAIRS, LISTED_SYSTEMS = 20_000, 200  # in tables and JSON, unless all pairs are asked for
ROWS_AT_ONCE = 20_000
RESAMPLES = 10_000
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

    Of many pairs under a test with one threshold (Tukey's tests), ``pairs`` computes the numbers when they are asked
    for; the arrays of all pairs are then made at their first use. ``labels`` says which labels were used, where they
    are not all of one kind; ``design_effect`` what clusters, strata and weights do, where topics have any. With
    ``lower_is_better`` the best system has the lowest mean, so that better minus worse is below 0, and a win is a topic
    with a lower score. ``is_mcnemar`` says that the test is McNemar's exact test: the sign test of scores of 0 and 1.
    ``by_topic`` has the differences on every topic of the best system from the second, or of the best candidates from
    the baseline.
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
    equivalence: MarginTest | None = None
    non_inferiority: MarginTest | None = None
    baselines: tuple[str, ...] = ()
    seed: int | None = None
    resamples: int | None = None
    warnings: tuple[Caution, ...] = ()
    labels: LabelsUsed | None = None
    design_effect: DesignEffect | None = None
    lower_is_better: bool = False
    is_mcnemar: bool = False
    by_topic: TopicScores | None = None

    @property
    def first(self) -> Array:
        """The first system of every pair, by rank."""
        return self.pairs.column("first")

    @property
    def second(self) -> Array:
        """The second system of every pair, by rank."""
        return self.pairs.column("second")

    @property
    def difference(self) -> Array:
        """The mean of the first system minus that of the second."""
        return self.pairs.column("difference")

    @property
    def standard_error(self) -> Array:
        """The standard error of every difference."""
        return self.pairs.column("standard_error")

    @property
    def lower(self) -> Array:
        """The lower ends of the intervals of differences."""
        return self.pairs.column("lower")

    @property
    def upper(self) -> Array:
        """The upper ends of the intervals of differences."""
        return self.pairs.column("upper")

    @property
    def effect_size(self) -> Array:
        """Every difference over its ``denominator``."""
        return self.pairs.column("effect_size")

    @property
    def p_value(self) -> Array:
        """p of every pair, before the correction."""
        return self.pairs.column("p_value")

    @property
    def p_adjusted(self) -> Array:
        """p of every pair, adjusted for all of them."""
        return self.pairs.column("p_adjusted")

    @property
    def wins(self) -> Array:
        """Topics on which the first system of a pair is better."""
        return self.pairs.column("wins")

    @property
    def ties(self) -> Array:
        """Topics on which both systems of a pair score the same."""
        return self.pairs.column("ties")

    @property
    def losses(self) -> Array:
        """Topics on which the first system of a pair is worse."""
        return self.pairs.column("losses")

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

    @property
    def top_group(self) -> tuple[str, ...]:
        """The best system and those not significantly different from it; empty with baselines."""
        if self.baselines:
            return ()
        return (self.systems[0], *(self.systems[at] for at in self.pairs.not_different(0).tolist()))

    def groups(self) -> list[tuple[int, int]]:
        """Return maximal groups of adjacent ranks of which no two differ, as (first, last) positions."""
        return adjacent_groups(self.pairs.last_better)

    def summary(self) -> str:
        """Return a sentence with the number of significant pairs and the top group."""
        found = f"{self.significant_pairs:,} of {len(self.pairs):,} pairs differ significantly"
        return visible(f"{found}; {self._about_the_best()}.")

    def _about_the_best(self) -> str:
        if self.baselines:  # nothing is known about other pairs
            return f"only pairs with {', '.join(self.baselines)} were tested"
        best, rest = self.systems[0], len(self.top_group) - 1
        if rest == len(self.systems) - 1:
            return f"no system is significantly different from {best}"
        others = f"{rest} other system{'s are' if rest != 1 else ' is'} not significantly different from {best}"
        return others if rest else f"{best} differs significantly from all others"

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
            "p_value": p_value,
            "p_adjusted": p_value if pairs.p_adjusted is pairs.p_value else pairs.p_adjusted.tolist(),
            "significant": self._significant.tolist(),
            "wins": pairs.wins.tolist(),
            "ties": pairs.ties.tolist(),
            "losses": pairs.losses.tolist(),
            **self._margins(),
            **({"verdict": list(self.verdicts())} if self.found.baselines else {}),
        }

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
        if pairs.lower[at] == pairs.lower[at]:
            kind = found.interval.partition(" (")[0]
            interval = f", {kind} interval [{pairs.lower[at]:+.4f}, {pairs.upper[at]:+.4f}]"
        else:
            interval = ", no interval as the differences do not vary"
        counted = (("win", "wins", pairs.wins), ("tie", "ties", pairs.ties), ("loss", "losses", pairs.losses))
        counts = ", ".join(f"{each[at]:,} {one if each[at] == 1 else many}" for one, many, each in counted)
        verdict = "differs significantly" if significant else "does not differ significantly"
        return (
            f"{candidate} {verdict} from {baseline} in {found.measure}: {float(pairs.difference[at]):+.4f}{relative}"
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
        baseline, topics as blocks), ``unpaired`` (one-way Tukey, which ignores that topics are shared).
    correct
        For the tests of pairs, and for equivalence and non-inferiority under them: ``holm`` (default), ``bh`` or
        ``none``. The other tests need none.
    alpha
        The family-wise error rate.
    baseline
        The system, or the systems, that the others are compared with; differences are candidate less baseline. With
        several the family is all comparisons with any of them.
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
        asked: dict[str, Any] = {"measure": measure, "test": test, "correct": correct, "alpha": alpha, "seed": seed}
        asked |= {"baseline": baseline, "equivalence": equivalence, "non_inferiority": non_inferiority}
        asked |= {"resamples": resamples, "label": label, "progress": progress}
        return _turned(compare(table.replaced(values=-table.values), **asked))
    baselines = baseline_names(baseline)
    if non_inferiority is not None and not baselines:
        raise RequestError("non-inferiority is to a baseline, and none is named", fix="Name it with `baseline`.")
    named = test is not None
    design = design_of(table) if table.has_roles else None
    if design is not None:
        design.check(table.topics)
        if test is None or test in TEST_TITLES:
            check_robust_test(test)
            test = DEFAULT_TEST
    test = test or DEFAULT_TEST
    check_test(test, correct, baselines)
    scores = _checked(table, measure)
    means = system_means(scores) if design is None else design.shares @ whole(scores)
    order = np.argsort(-means, kind="stable")
    names = tuple(table.systems[at] for at in order.tolist())
    which = _baseline_pairs(names, baselines) if baselines else None
    count = pair_count(len(names)) if which is None else len(which[0])
    aloud = None
    if count > MOST_PAIRS:
        named = named or design is not None
        _check_size(count, test, named=named, has_margin=equivalence is not None or non_inferiority is not None)
        if not named:
            aloud, test = too_many_pairs(count, MOST_PAIRS), "tukey"
    elif not named and count * len(scores) > HELD_DIFFERENCES:
        aloud, test = too_many_differences(count, len(scores)), "tukey"
    if resamples is not None and test not in RESAMPLED:
        raise NoEffectError(
            f"a number of resamples has no effect on the test {test}",
            parameter="resamples",
            fix=f"Leave it out, or choose one of: {', '.join(RESAMPLED)}.",
        )
    resamples = resamples or RESAMPLES
    label = label or measure or table.measures[0]
    stream = sequence(seed, "compare", test, label)
    correct = correct or ("none" if count == 1 else None)  # one pair is no family
    margins = {"equivalence": equivalence, "non_inferiority": non_inferiority}
    drawn: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": stream, "progress": progress}
    many = count > HELD_PAIRS or count * len(scores) > HELD_DIFFERENCES
    if design is not None:
        pairs = np.triu_indices(len(names), k=1) if which is None else which
        more: dict[str, Any] = {"correct": correct or "holm", "alpha": alpha, "margins": margins}
        found = robust_pairs(whole(scores)[:, order], names, pairs, design, **more)
    elif which is None and test in ONE_THRESHOLD and many and not any(margins.values()):
        found = _on_demand(Pairs(ordered(scores, order), *np.empty((2, 0), np.int64)), names, test, **drawn)
    else:
        first, second = np.triu_indices(len(names), k=1) if which is None else which
        found = _held(
            Pairs(ordered(scores, order), first, second), names, test, correct=correct, margins=margins, **drawn
        )
    return Comparison(
        measure=label,
        test=test,
        correct="none" if test in FAMILY else (correct or "holm"),
        alpha=alpha,
        topics=len(scores),
        systems=names,
        denominator="sd within systems" if test == "unpaired" else "sd of the differences",
        baselines=baselines,
        seed=seed if test in RESAMPLED else None,
        resamples=resamples if test in RESAMPLED else None,
        is_mcnemar=test == "sign" and _is_passes(whole(scores)),
        by_topic=_by_topic(table, scores, order, which),
        **{**found, "warnings": tuple(each for each in (aloud, *found["warnings"]) if each)},
    )


def _by_topic(
    table: ScoreTable, scores: Array | StoredMatrix, order: Array, which: tuple[Array, Array] | None
) -> TopicScores:
    """The scores on every topic of the first pairs; those in a file are left there until they are asked for."""
    first, second = (np.array([0]), np.array([1])) if which is None else which
    systems = order[np.concatenate([first[:CHARTED_PAIRS], second[:CHARTED_PAIRS]])]
    kept = columns(scores, systems) if isinstance(scores, np.ndarray) else OrderedMatrix(scores, systems)
    return TopicScores(topics=table.topics if len(scores) <= NAMED_TOPICS else (), scores=kept)


def _is_passes(scores: Array) -> bool:
    """Whether all scores are 0 or 1, or all of these with the other sign."""
    return any(bool(np.isin(scores, (0, one)).all()) for one in (1, -1))


def _turned(found: Comparison) -> Comparison:
    """A comparison of scores of which every sign was changed, as one of the scores themselves."""
    return replace(
        found,
        means=0.0 - found.means,
        pairs=TurnedPairs(found.pairs),
        equivalence=None if found.equivalence is None else found.equivalence.turned(),
        non_inferiority=None if found.non_inferiority is None else found.non_inferiority.turned(),
        lower_is_better=True,
        by_topic=None if found.by_topic is None else replace(found.by_topic, scores=-whole(found.by_topic.scores)),
    )


def _held(
    pairs: Pairs,
    names: tuple[str, ...],
    test: str,
    *,
    correct: str | None,
    margins: dict[str, float | None],
    alpha: float,
    resamples: int,
    **drawn: Any,
) -> dict[str, Any]:
    """What a comparison has of pairs that are tested and kept one by one."""
    found = judge(pairs, test, correct=correct, alpha=alpha, resamples=resamples, **drawn)
    wins, ties, losses = pairs.wins
    columns = PairColumns(
        place=np.arange(len(pairs.first)),
        first=pairs.first,
        second=pairs.second,
        difference=pairs.difference,
        standard_error=found.standard_error,
        lower=found.lower,
        upper=found.upper,
        effect_size=effect_size(pairs, _within(pairs, test)),
        p_value=found.p_value,
        p_adjusted=found.p_adjusted,
        wins=wins,
        ties=ties,
        losses=losses,
    )
    corrected = "none" if test in FAMILY else (correct or "holm")
    return {
        "means": pairs.means,
        "intervals": _intervals(pairs, found.half_width, alpha),
        "pairs": HeldPairs(columns, len(names), alpha),
        "interval": found.interval,
        "equivalence": _margin(pairs, show_equivalence, margins["equivalence"], correct=correct or "holm", alpha=alpha),
        "non_inferiority": _margin(
            pairs, show_non_inferiority, margins["non_inferiority"], correct=correct or "holm", alpha=alpha
        ),
        "warnings": _cautions(pairs, names, test, corrected, alpha, resamples, found),
    }


def _on_demand(
    pairs: Pairs, names: tuple[str, ...], test: str, *, alpha: float, resamples: int, **drawn: Any
) -> dict[str, Any]:
    """The same of pairs that are not kept, under a test with one threshold."""
    unvarying = no_unvarying_pairs(len(names)) if test == "unpaired" else unvarying_pairs(pairs)
    threshold = find_threshold(pairs, test, alpha=alpha, resamples=resamples, **drawn)
    tested = PairsOnDemand(pairs.scores, threshold, alpha, unvarying, _within(pairs, test))
    return {
        "means": pairs.means,
        "intervals": _intervals(pairs, threshold.margin / 2, alpha),
        "pairs": tested,
        "interval": f"simultaneous {percent(alpha)}",
        "warnings": _cautions_on_demand(pairs, names, test, alpha, resamples, tested),
    }


def _within(pairs: Pairs, test: str) -> float | None:
    """The sd within systems, where effect sizes are relative to it."""
    return float(np.sqrt(pairs.squares.within_systems)) if test == "unpaired" else None


def pair_p_values(
    scores: Array, *, test: str = "tukey", correct: str | None = None, alpha: float = 0.05, resamples: int, seed: Seed
) -> Array:
    """Adjusted p of all pairs of the systems of a topics × systems table, in the order of ``np.triu_indices``."""
    check_test(test, correct)
    check_table(scores[:, :, np.newaxis])
    pairs = Pairs(scores, *np.triu_indices(scores.shape[1], k=1))
    return judge(
        pairs, test, correct=correct, alpha=alpha, resamples=resamples, seed=sequence(seed, "pairs", test)
    ).p_adjusted


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


def _checked(table: ScoreTable, measure: str | None) -> Array | StoredMatrix:
    scores = table.matrix(measure)
    if scores.ndim != 2:
        raise RequestError("this table has several scores for each topic and system (shards)", fix=REMEDY)
    check_balance(table, measure)
    check_size(*scores.shape)
    return scores


def _baseline_pairs(names: tuple[str, ...], baselines: tuple[str, ...]) -> tuple[Array, Array]:
    """All candidates with each baseline, which is second.

    Two baselines are one pair, and the one named first is its baseline.
    """
    place, rank = ({name: at for at, name in enumerate(each)} for each in (names, baselines))
    unknown = [name for name in baselines if name not in place]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(names))
    listed = [
        (at, place[baseline])
        for number, baseline in enumerate(baselines)
        for at, name in enumerate(names)
        if rank.get(name, len(names)) > number
    ]
    if not listed:
        raise RequestError("every system is a baseline", fix="Leave out `baseline` to compare all pairs.")
    first, second = np.array(listed).T
    return first, second


def _check_size(pairs: int, test: str, *, named: bool, has_margin: bool) -> None:
    """Refuse what needs the own error of each of too many pairs, where it was asked for."""
    what = "equivalence and non-inferiority measure" if has_margin else f"{test} measures"
    if has_margin or (named and test not in (*ONE_THRESHOLD, "dunnett")):
        raise RequestError(
            f"{what} every pair by its own error, and {pairs:,} are more than {MOST_PAIRS:,}",
            fix="Compare fewer systems, name a baseline, or "
            + ("leave out the margin." if has_margin else 'use `test="tukey"`.'),
        )


def _margin(
    pairs: Pairs, show: Callable[..., MarginTest], margin: float | None, *, correct: str, alpha: float
) -> MarginTest | None:
    """What a margin shows, by each pair's own standard error; nothing where none is named."""
    if margin is None:
        return None
    error = pairs.sd / np.sqrt(pairs.topics)
    return show(pairs.difference, error, pairs.topics - 1, margin=margin, correct=correct, alpha=alpha)


def _intervals(pairs: Pairs, half_width: float, alpha: float) -> Intervals:
    """The interval of the test, ANOVA's and the standard error's, around means."""
    n, m = pairs.scores.shape
    within = ErrorTerm(pairs.squares.residual, (m - 1) * (n - 1), n)
    reach = float(t_critical(alpha / 2, within.df)) * within.standard_error  # FS19 Eq. 5
    return Intervals(half_width, reach, standard_error_reach(pairs.scores, alpha=alpha))


def _cautions(
    pairs: Pairs, names: tuple[str, ...], test: str, correct: str, alpha: float, resamples: int, found: Verdicts
) -> list[Caution | None]:
    """Return the warnings."""
    nothing = nothing_to_tell(pairs.scores)
    constant = pairs.constant & (test != "unpaired")  # which does not look at differences
    cautions = [
        nothing,
        None if nothing else constant_differences(constant, names, pairs.first, pairs.second),
        one_error_term(pairs.scores, pairs.sd, test) if test in ONE_ERROR else None,
        too_few_resamples(resamples, len(pairs.first), correct, alpha) if test in RESAMPLED else None,
        too_few_topics(pairs.topics, len(pairs.first), correct, alpha) if test in SIGNED else None,
    ]
    if test == "unpaired":
        blocked = judge(pairs, "tukey", alpha=alpha, resamples=resamples, seed=0)
        cautions.append(unpaired_loses(*(int((each.p_adjusted <= alpha).sum()) for each in (found, blocked))))
    return cautions


def _cautions_on_demand(
    pairs: Pairs, names: tuple[str, ...], test: str, alpha: float, resamples: int, tested: PairsOnDemand
) -> list[Caution | None]:
    """Return the warnings where pairs are not kept."""
    nothing = nothing_to_tell(pairs.scores)
    cautions = [
        nothing,
        None if nothing else _constant_on_demand(pairs, names, tested.unvarying.places),
        one_error_term(pairs.scores, None, test) if test in ONE_ERROR else None,
        too_few_resamples(resamples, len(tested), "none", alpha) if test in RESAMPLED else None,
    ]
    if test == "unpaired":
        threshold = find_threshold(pairs, "tukey", alpha=alpha, resamples=0, seed=0)
        blocked = PairsOnDemand(pairs.scores, threshold, alpha, unvarying_pairs(pairs))
        cautions.append(unpaired_loses(tested.significant_pairs, blocked.significant_pairs))
    return cautions


def _constant_on_demand(pairs: Pairs, names: tuple[str, ...], places: Array) -> Caution | None:
    chosen = pairs.chosen(*pairs_at(places, len(names)))
    return constant_differences(chosen.constant, names, chosen.first, chosen.second)
