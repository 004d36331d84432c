"""Which systems differ, under the test that is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError, there_are
from cranfield.methods.contrasts.assumptions import (
    check_size,
    check_table,
    constant_differences,
    nothing_to_tell,
    one_error_term,
    too_few_topics,
    unpaired_loses,
)
from cranfield.methods.contrasts.clusters import RobustPairs, TopicDesign, check_robust_test, design_of
from cranfield.methods.contrasts.comparison import Comparison, TopicScores
from cranfield.methods.contrasts.corrections import correction, covered
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing, Verdicts, by_student
from cranfield.methods.contrasts.estimates import GREATER, TWO_SIDED, WITHIN, Estimate, Estimator
from cranfield.methods.contrasts.pair_tests import FAMILY, ONE_THRESHOLD, RESAMPLED, decide, estimator_of
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, chosen_pairs
from cranfield.methods.contrasts.tested_pairs import HolmT, PairedFacts, TestedPairs, decided_pairs, named_facts
from cranfield.methods.contrasts.tukey import ErrorTerm, Intervals, standard_error_reach
from cranfield.methods.contrasts.unpaired import UNPAIRED_TESTS, UnpairedMeans
from cranfield.methods.names import TEST_TITLES, AllPairsTestName, fix_for_test
from cranfield.runtime.random import Seed, sequence
from cranfield.scores import ScoreTable
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
from cranfield.stats.family import DEFAULT_TEST
from cranfield.stats.pairs import pair_count
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress

ALL_TESTS: tuple[str, ...] = get_args(AllPairsTestName)
ONE_ERROR = ("tukey", "dunnett", "tukey-permutation")  # one error term for all pairs
ONE_SIDED = ("t", "bootstrap", "max-t", "unpaired")
SIGNED = ("sign", "permutation")  # whose p is a share of 2ⁿ patterns of signs
MOST_PAIRS = 2_000_000  # that are kept in memory
MOST_DIFFERENCES = 50_000_000  # topics × pairs, which take less time than reading the scores
CHARTED_PAIRS = 6  # with a baseline, whose differences on every topic are kept for a chart
NAMED_TOPICS = 200  # more names cannot be shown


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
        table = table.replaced(values=-table.values)
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
    drawing = Drawing()
    if test in RESAMPLED:  # no other test has a seed
        stream = sequence(seed, "compare", test, label)
        drawing = Drawing(resamples=resamples or RESAMPLES, seed=stream, progress=progress)
    options = Options(
        test=test,
        correct=correct or ("none" if count == 1 else "holm"),  # one pair is no family
        alpha=alpha,
        drawing=drawing,
        margins={"equivalence": equivalence, "non_inferiority": non_inferiority},
        shows=GREATER if one_sided else TWO_SIDED,
    )
    if design is not None:
        robust = RobustPairs(whole(scores)[:, order], _contrasts(names, baselines), design)
        found = robust_comparison(robust, names, options)
    elif test in UNPAIRED_TESTS:
        found = _unpaired(UnpairedMeans(whole(scores)[:, order], _contrasts(names, baselines)), names, options)
    elif not baselines and options.keeps_no_pair(count):
        found = _on_demand(ordered(scores, order), names, options)
    else:
        _check_size(count, options)
        found = _held(Pairs(ordered(scores, order), _contrasts(names, baselines)), names, options)
    comparison = Comparison(
        measure=label,
        test=test,
        correct="none" if test in FAMILY else options.correct,
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
    return _turned(comparison) if lower_is_better else comparison


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
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
        return has_one_test and self.test == "t" and self.correct == "holm" and pairs > MOST_PAIRS

    def decide(self, estimator: Estimator | UnpairedMeans) -> Verdicts:
        """The verdicts of the test."""
        asked: dict[str, Any] = {"correct": self.correct, "alpha": self.alpha, "shows": self.shows}
        return decide(estimator, self.test, drawing=self.drawing, **asked)

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
    """The scores on every topic of the first pairs; those in a file are left there until they are options for."""
    systems = order[np.concatenate([contrasts.first[:CHARTED_PAIRS], contrasts.second[:CHARTED_PAIRS]])]
    kept = columns(scores, systems) if isinstance(scores, np.ndarray) else OrderedMatrix(scores, systems)
    return TopicScores(topics=table.topics if len(scores) <= NAMED_TOPICS else (), scores=kept)


def _is_share(scores: Matrix) -> bool:
    """Whether all scores are 0 or 1, or all of these with the other sign."""
    part = some_rows(scores, 0, 1)  # which says nearly always that they are not
    return any(_has_only(part, one) and _has_only(whole(scores), one) for one in (1, -1))


def _has_only(scores: Array, one: int) -> bool:
    return bool(((scores == 0) | (scores == one)).all())


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


def _held(pairs: Pairs, names: tuple[str, ...], options: Options) -> dict[str, Any]:
    """What a comparison has of pairs that are tested and kept one by one."""
    test, found, estimate = options.test, options.decide(pairs), pairs.fit()
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
        "intervals": _intervals(pairs, half_width, options.alpha),
        "pairs": tested,
        "interval": found.interval,
        "resamples": found.resamples,
        "bootstrap_ends": _bootstrapped_means(pairs, options) if test == "bootstrap" else None,
        "warnings": _cautions(pairs, names, options),
        **options.shown(estimate),
    }


def _bootstrapped_means(pairs: Pairs, options: Options) -> tuple[Array, Array]:
    """Ends of the intervals of single means: those of contrasts with a system that has 0 everywhere."""
    scores = np.column_stack([pairs.held, np.zeros(pairs.topics)])
    zero = scores.shape[1] - 1
    own = Pairs(scores, Contrasts(np.arange(zero), np.full(zero, zero)))
    found = replace(options, correct="none", shows=TWO_SIDED).decide(own)
    return np.where(own.sd > 0, found.lower, own.difference), np.where(own.sd > 0, found.upper, own.difference)


def _on_demand(scores: Matrix, names: tuple[str, ...], options: Options) -> dict[str, Any]:
    """The same of too many pairs to keep, by t with Holm's correction."""
    pairs = Pairs(scores, Contrasts(*np.empty((2, 0), np.int64)))
    decided = HolmT(pairs, options.alpha)
    nothing, constant = nothing_to_tell(scores), decided.constant
    every = np.ones(len(constant), bool)
    return {
        "means": pairs.means,
        "intervals": _intervals(pairs, float("nan"), options.alpha),
        "pairs": TestedPairs(len(names), None, decided, PairedFacts(pairs), decided.matrix),
        "interval": f"{covered(decided.level)} (level of Holm's last step)",
        "resamples": None,
        "warnings": [nothing, None if nothing else constant_differences(every, names, constant.first, constant.second)],
    }


def robust_comparison(robust: RobustPairs, names: tuple[str, ...], options: Options) -> dict[str, Any]:
    """The same by t with robust standard errors, or where topics are independent and count the same by max-t."""
    found, estimate = options.decide(robust), robust.fit()
    facts = named_facts(robust.effect_size, robust.wins)
    tested = decided_pairs(robust.contrasts, len(names), estimate, found, facts=facts)
    return {
        "means": robust.design.shares @ robust.values,
        "intervals": Intervals(float("nan"), float("nan"), robust.own_reach(options.alpha)),
        "pairs": tested,
        "interval": found.interval,
        "resamples": found.resamples,
        "design_effect": robust.effect,
        "warnings": robust.cautions(names),
        **options.shown(estimate),
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
    options = Options(test=test, correct=correct, alpha=alpha, drawing=drawing, margins={})
    found = robust_comparison(robust, names, options)
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


def _unpaired(unpaired: UnpairedMeans, names: tuple[str, ...], options: Options) -> dict[str, Any]:
    """The same of systems that had topics of their own."""
    found, estimate = options.decide(unpaired), unpaired.fit()
    error = unpaired.pooled().standard_error if options.test == "tukey-kramer" else None
    facts = named_facts(unpaired.effect_size, unpaired.wins)
    tested = decided_pairs(unpaired.contrasts, len(names), estimate, found, facts=facts, standard_error=error)
    own = np.sqrt(unpaired.squares / (unpaired.counts - 1) / unpaired.counts)
    cautions = []
    if np.isfinite(unpaired.scores).all():
        cautions.append(nothing_to_tell(unpaired.scores))
        shared = by_student(
            Pairs(unpaired.scores, unpaired.contrasts).fit(), correct=options.correct, alpha=options.alpha
        )
        cautions.append(unpaired_loses(int(found.shown.sum()), int(shared.shown.sum())))
    return {
        "means": unpaired.means,
        "intervals": Intervals(float("nan"), float("nan"), t_critical(options.alpha / 2, unpaired.counts - 1) * own),
        "pairs": tested,
        "interval": found.interval,
        "warnings": cautions,
        **options.shown(estimate),
    }


def holm_last_level(scores: Matrix, alpha: float) -> float | None:
    """The two-sided level of Holm's last step on a table, at which any other pair is decided; None of large tables.

    Planning takes the level of the first step, as nothing is known of what will be rejected before.
    """
    if scores.shape[0] * pair_count(scores.shape[1]) > MOST_DIFFERENCES:
        return None
    return by_student(Pairs(scores, all_pairs(scores.shape[1])).fit(), correct="holm", alpha=alpha).level


def pair_p_values(
    scores: Array, *, test: str, correct: str | None = None, alpha: float = 0.05, resamples: int, seed: Seed
) -> Array:
    """Adjusted p of all pairs of the systems of a topics × systems table, in the order of ``all_pairs``."""
    check_test(test, correct)
    check_table(scores[:, :, np.newaxis])
    drawing = Drawing(resamples=resamples, seed=sequence(seed, "pairs", test))
    estimator = estimator_of(test, scores, all_pairs(scores.shape[1]))
    return decide(estimator, test, correct=correct or "holm", alpha=alpha, drawing=drawing).p_adjusted


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


def _check_size(pairs: int, options: Options) -> None:
    """Refuse to keep too many pairs."""
    if pairs <= MOST_PAIRS:
        return
    has_margin = any(options.margins.values())
    what = "equivalence and non-inferiority keep" if has_margin else f"{options.test} keeps"
    rest = "leave out the margin." if has_margin else 'use `test="t"` with Holm\'s correction.'
    raise RequestError(
        f"{what} every pair in memory, and {pairs:,} are more than {MOST_PAIRS:,}",
        fix=f"Compare fewer systems, name a baseline, or {rest}",
    )


def _intervals(pairs: Pairs, half_width: float, alpha: float) -> Intervals:
    """The interval of the test, ANOVA's and the standard error's, around means."""
    n, m = pairs.scores.shape
    error = ErrorTerm(pairs.squares.residual, (m - 1) * (n - 1), n)
    own = standard_error_reach(pairs.scores, alpha=alpha, sd=pairs.own_sd)
    return Intervals(half_width, error.reach(alpha), own)


def _cautions(pairs: Pairs, names: tuple[str, ...], options: Options) -> list[Caution | None]:
    """Return the warnings."""
    nothing, test = nothing_to_tell(pairs.scores), options.test
    corrected = "none" if test in FAMILY else options.correct
    return [
        nothing,
        None if nothing else constant_differences(pairs.constant, names, pairs.first, pairs.second),
        one_error_term(pairs.scores, pairs.sd, test) if test in ONE_ERROR else None,
        too_few_topics(pairs.topics, len(pairs.contrasts), corrected, options.alpha) if test in SIGNED else None,
    ]
