"""Comparisons: what is claimed, with which interval, and how often it is wrong."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import cranfield
from cranfield import RequestError, ScoreTable, read_scores
from cranfield.methods.contrasts import assumptions, comparing, resampling
from cranfield.methods.contrasts.assumptions import box_epsilon
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare, pair_p_values
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.resampling import LEAST_VARIANCE, Studentised, critical_value, exceeded, resampled_p
from cranfield.methods.contrasts.unpaired import UNPAIRED_TESTS
from cranfield.methods.names import TestName
from cranfield.rendering.comparison_document import compare_document
from cranfield.runtime import threads
from cranfield.runtime.random import generator, sequence
from cranfield.stats.studentized import dunnett_critical
from sizes import margin, sized

Array = npt.NDArray[Any]


def table_of(values: Array, measures: tuple[str, ...] = ("x",)) -> ScoreTable:
    stacked = values[np.newaxis] if values.ndim == 2 else values
    _, topics, systems = stacked.shape
    names = tuple(f"s{at}" for at in range(systems))
    return ScoreTable(measures, tuple(map(str, range(topics))), names, stacked[..., np.newaxis])


def count_for(test: str, count: int = 99) -> int | None:
    """Resamples for a test that draws some."""
    return count if test in RESAMPLED else None


def drawn(rng: np.random.Generator, number: int) -> Array:
    """Tables of many kinds: normal, with ties, 0/1, with pairs that do not vary."""
    topics, systems = int(rng.integers(3, 31)), int(rng.integers(2, 9))
    means = rng.normal(0, rng.choice([0.0, 0.3, 1.5]), systems)
    scores = rng.normal(size=(topics, 1)) + rng.normal(means, 1.0, (topics, systems))
    if number % 4 == 1:
        return np.asarray(np.round(scores))
    if number % 4 == 2:
        return np.asarray(scores > 0, float)
    if number % 4 == 3:
        scores[:, -1] = scores[:, 0] + (0.1 if number % 8 == 3 else 0.0)
    return np.asarray(scores)


def agree(found: Comparison) -> bool:
    excluded = (found.lower > 0) | (found.upper < 0)
    return found.interval.startswith("unadjusted") or bool((excluded == found.significant).all())


CORRECTED = [
    (test, correct) for test in ("t", "unpaired", "bootstrap") for correct in ("holm", "hochberg", "bh", "by", "none")
] + [(test, correct) for test in ("wilcoxon", "sign", "permutation") for correct in ("holm", "bh", "none")]
BY_THEMSELVES = [(test, None) for test in ("max-t", "tukey", "tukey-permutation", "tukey-kramer", "dunnett")]


@pytest.mark.parametrize(("test", "correct"), [*CORRECTED, *BY_THEMSELVES])
def test_an_interval_excludes_0_exactly_when_the_pair_is_significant(test: str, correct: str | None) -> None:
    rng = np.random.default_rng(20)
    significant = 0
    for number in range(sized(50, 200)):
        scores = drawn(rng, number)
        baselines = ["s0", "s1"][: 1 + number % 2] if test == "dunnett" or number % 5 == 0 else []
        if scores.shape[1] <= len(baselines):
            baselines = baselines[:1]
        found = compare(
            table_of(scores), test=test, correct=correct, baseline=baselines, resamples=count_for(test), seed=number
        )
        assert agree(found), (number, found.lower, found.upper, found.p_adjusted)
        significant += found.significant_pairs
    assert significant  # both sides were seen
    assert found.interval.startswith("unadjusted") == (test in ("wilcoxon", "sign", "permutation"))


@pytest.mark.parametrize("correct", ["holm", "hochberg", "bh", "by", "none"])
def test_the_level_that_is_said_is_that_of_the_intervals(correct: str) -> None:
    scores = np.random.default_rng(3).normal([0, 0, 0.3, 0.6, 1], size=(30, 5))
    found = compare(table_of(scores), test="t", correct=correct)
    assert 0 < found.significant_pairs < 10
    reach = (found.upper - found.difference) / found.standard_error
    confidence = 1 - 2 * stats.t.sf(reach[0], 29)
    assert float(found.interval.partition(" %")[0]) == pytest.approx(100 * confidence, abs=0.006)


def test_the_interval_is_said_with_its_level_in_the_title_and_in_a_sentence() -> None:
    scores = np.random.default_rng(3).normal(size=(30, 4)) * 0.1
    document = compare_document(compare(table_of(scores), test="t"), {})
    assert document.tables[1].title == "x: pairs, 99.17 % intervals (level of Holm's last step)"
    assert "Low and high of differences are 99.17 % intervals (level of Holm's last step): they" in document.notes


def test_the_critical_value_and_p_come_from_the_same_resample() -> None:
    largest = np.sort(np.random.default_rng(1).integers(0, 12, 199).astype(float))  # with many ties
    for alpha in (0.001, 0.01, 0.05, 0.1, 0.29):
        critical = critical_value(largest, alpha)
        for observed in np.arange(0.0, 13.0, 0.5):
            assert (observed > critical) == (resampled_p(largest, np.array(observed)) <= alpha)


# --- family-wise error


def with_variants(rng: np.random.Generator, topics: int, count: int) -> Array:
    family = rng.normal(size=(topics, 1)) + 0.2 * rng.normal(size=(topics, count))
    return np.asarray(rng.normal(size=(topics, 1)) + np.hstack([family, rng.normal(size=(topics, 2))]))


def family_error(draw: Callable[[np.random.Generator], Array], test: str, tables: int = 300) -> float:
    rng = np.random.default_rng(31)
    wrong = 0
    for number in range(tables):
        wrong += bool((pair_p_values(draw(rng), test=test, resamples=199, seed=number) <= 0.05).any())
    return wrong / tables


@pytest.mark.parametrize(("topics", "systems"), [(3, 10), (5, 10), (8, 40), (12, 10)])
def test_max_t_holds_alpha_with_few_topics(topics: int, systems: int) -> None:
    tables, wrong = sized(150, 1000), 0
    for number in range(tables):
        scores = np.random.default_rng((topics, systems, number)).normal(size=(topics, systems))
        found = compare(table_of(scores), test="max-t", resamples=199, seed=number)
        wrong += bool(found.significant.any())
        assert agree(found)
    assert wrong / tables <= 0.05 + margin(0.05, tables, 3)


@pytest.mark.parametrize("count", [8, 18])
def test_max_t_holds_alpha_among_variants_of_one_system_and_tukey_does_not(count: int) -> None:
    assert family_error(lambda rng: with_variants(rng, 50, count), "max-t") <= 0.07
    assert family_error(lambda rng: with_variants(rng, 50, count), "tukey") > 0.1


@pytest.fixture(scope="module")
def best(kept: Path) -> Array:
    """TREC-8's best 60 runs, made equal."""
    scores = read_scores(kept / "data" / "trec8" / "scores" / "map.csv").of(None)
    chosen = scores[:, np.argsort(-scores.mean(axis=0), kind="stable")[:60]]
    return np.asarray(chosen - chosen.mean(axis=0))


def ten_of(best: Array, rng: np.random.Generator, topics: int = 50) -> Array:
    return np.asarray(best[rng.integers(0, 50, topics)][:, rng.choice(60, 10, replace=False)])


def test_max_t_holds_alpha_among_ten_of_trec8s_best_60(best: Array) -> None:
    assert family_error(lambda rng: ten_of(best, rng), "max-t", tables=400) <= 0.07


def doubted(draw: Callable[[np.random.Generator], Array], test: str = "tukey") -> float:
    rng = np.random.default_rng(5)
    baselines = ["s0"] if test == "dunnett" else []
    tables = [compare(table_of(draw(rng)), test=test, baseline=baselines, resamples=count_for(test)) for _ in range(60)]
    return float(np.mean([any(each.slug == "one-error-term" for each in found.warnings) for found in tables]))


@pytest.mark.parametrize("test", ["tukey", "dunnett", "tukey-permutation"])
def test_one_error_term_is_doubted_where_it_does_not_fit(test: str) -> None:
    assert doubted(lambda rng: with_variants(rng, 50, 8), test) == 1.0
    assert doubted(lambda rng: with_variants(rng, 20, 18), test) == 1.0


def test_tukey_is_doubted_among_ten_of_trec8s_best_60(best: Array) -> None:
    assert doubted(lambda rng: ten_of(best, rng)) >= 0.95


def test_what_takes_hours_to_check_is_said_to_be_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).normal(size=(30, 5))
    assert assumptions.one_error_term(scores, None, "Tukey's test") is None
    monkeypatch.setattr(assumptions, "MOST_PRODUCTS", 30 * 5 * 5 - 1)
    said = assumptions.one_error_term(scores, None, "Tukey's test")
    assert said is not None
    assert "was not checked: with 30 topics and 5 systems" in said.what


@pytest.mark.parametrize("topics", [20, 50, 100])
def test_one_error_term_is_not_doubted_where_it_fits(topics: int) -> None:
    assert doubted(lambda rng: rng.normal(size=(topics, 1)) + rng.normal(size=(topics, 10))) < 0.1


def test_boxs_epsilon_by_hand() -> None:
    rng = np.random.default_rng(2)
    assert box_epsilon(rng.normal(size=(4000, 6)))[0] == pytest.approx(1.0, abs=0.02)
    # Two groups of three copies: one contrast has all the variance, and there are five.
    twins = np.repeat(rng.normal(size=(2000, 2)), 3, axis=1) + 1e-6 * rng.normal(size=(2000, 6))
    assert box_epsilon(twins)[0] == pytest.approx(0.2, abs=1e-3)
    assert box_epsilon(rng.normal(size=(30, 2))) == (1.0, 1.0)


# --- max-t


def test_max_t_is_the_same_on_any_number_of_workers_and_differs_with_the_seed() -> None:
    table = table_of(np.random.default_rng(3).normal(0, 1, (20, 6)))

    def p_values(seed: int, workers: int) -> list[float]:
        with threads.on(threads.Threads(workers)):
            return compare(table, test="max-t", resamples=1100, seed=seed).p_adjusted.tolist()  # type: ignore[no-any-return]

    assert p_values(1, 1) == p_values(1, 4)
    assert p_values(1, 1) != p_values(2, 1)


@pytest.mark.parametrize(
    ("n", "named", "at_once"), [(13, "", 0), (700, "", 0), (700, "WEIGHTS", 10_000), (700, "BLOCK", 4_000)]
)
def test_max_t_by_hand(n: int, named: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest |t| of the pairs that remain, resample by resample, without blocks or stacks."""
    if named:
        monkeypatch.setattr(resampling, named, at_once)
    scores = np.random.default_rng(4).normal(size=(n, 9))
    pairs = Pairs(scores, all_pairs(9))
    gaps = scores[:, pairs.first] - scores[:, pairs.second]
    centred = gaps - gaps.mean(axis=0)
    observed = np.abs(gaps.mean(axis=0)) / gaps.std(axis=0, ddof=1) * np.sqrt(n)
    places = np.argsort(observed)
    ours = exceeded(Studentised(pairs, pairs.fit(), observed), places, [(0, 60)], 7, together=True)
    weights = generator(sequence(7, 0)).multinomial(n, np.full(n, 1 / n), size=60)
    theirs = []
    for weight in weights:
        sample = np.repeat(centred, weight, axis=0)
        variance = np.maximum(sample.var(axis=0), LEAST_VARIANCE * centred.var(axis=0))
        theirs.append(np.abs(sample.mean(axis=0) / np.sqrt(variance / (n - 1))))
    largest = np.maximum.accumulate(np.array(theirs)[:, places], axis=1)
    np.testing.assert_allclose(ours.largest, largest[:, -1], rtol=1e-12)
    np.testing.assert_array_equal(ours.counts, (largest >= observed[places]).sum(axis=0))


def test_each_step_of_max_t_is_the_smaller_of_the_bootstraps_p_and_bonferronis() -> None:
    scores = np.random.default_rng(15).normal([0, 0.1, 0.5, 0.7, 1.0], [1, 1, 1, 2, 1], (40, 5))
    found = compare(table_of(scores), test="max-t", resamples=4000)
    order = np.argsort(found.p_value)
    rest = 10 - np.arange(10)  # the pairs that remain at every step
    assert (np.diff(found.p_adjusted[order]) >= 0).all()
    assert (found.p_adjusted[order] <= np.maximum.accumulate(np.minimum(rest * found.p_value[order], 1)) + 1e-12).all()
    by_t = compare(table_of(scores), test="t", correct="none")
    np.testing.assert_array_equal(found.p_value, by_t.p_value)  # before the steps it is Student's


@pytest.mark.parametrize("test", ["max-t", "bootstrap", "permutation"])
def test_more_is_drawn_only_where_a_verdict_depends_on_the_seed(test: str) -> None:
    noise = np.random.default_rng(1).normal(0, 1, (30, 2))
    gap = noise[:, 0] - noise[:, 1]
    gap -= gap.mean()
    error = gap.std(ddof=1) / np.sqrt(30)
    resamples = {}
    for p_value in (1e-4, 0.052, 0.5):
        scores = np.stack([gap + error * stats.t.isf(p_value / 2, 29), np.zeros(30)], axis=1)
        resamples[p_value] = compare(table_of(scores), test=test, resamples=200).resamples
    assert resamples[1e-4] == resamples[0.5] == 200
    assert 400 <= resamples[0.052] <= 16 * 200  # type: ignore[operator]


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_a_correction_for_many_pairs_gets_the_resamples_it_needs(test: str) -> None:
    scores = np.random.default_rng(1).normal(np.arange(8) * 3, 0.1, (30, 8))
    found = compare(table_of(scores), test=test, resamples=50)
    assert found.significant.all()  # 50 resamples give no p below .0196, and the least of 28 has to be below .0018
    assert found.resamples is not None
    assert 28 / 0.05 - 1 <= found.resamples <= 4 * 28 / 0.05


def test_two_measures_do_not_share_their_resamples() -> None:
    scores = np.random.default_rng(5).normal(0, 1, (20, 4))
    table = table_of(np.stack([scores, scores]), ("a", "b"))
    one, two = (compare(table, measure=name, test="bootstrap", resamples=499).p_value for name in "ab")
    assert (one != two).any()
    np.testing.assert_allclose(one, two, atol=0.1)


def test_near_copies_do_not_make_every_critical_value_infinite() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal([0, 0, 2.0], 1.0, size=(40, 3))
    scores[:, 1] = scores[:, 0]
    scores[0, 1] += 0.5  # one topic of 40: a third of all resamples leave it out
    found = compare(table_of(scores), test="max-t", resamples=999)
    assert np.isfinite(found.upper).all()
    assert found.significant_pairs == 2


def test_too_many_pairs_are_tested_by_t_and_holm_and_by_no_test_that_needs_each_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(np.random.default_rng(1).normal(size=(10, 4)))
    few = compare(table)
    monkeypatch.setattr(comparing, "MOST_PAIRS", 5)
    found = compare(table)
    assert (found.test, found.correct, found.warnings) == ("t", "holm", ())
    np.testing.assert_allclose(found.p_adjusted, few.p_adjusted, rtol=1e-12)
    with pytest.raises(RequestError, match="6 are more than 5"):
        compare(table, test="max-t")
    assert compare(table, test="max-t", baseline=["s0"], resamples=99).test == "max-t"


def test_trec8_by_tukey_is_as_published(kept: Path) -> None:
    found = compare(read_scores(kept / "data" / "trec8" / "scores" / "map.csv"), test="tukey")
    with_best = found.pairs.with_system(0)
    as_good = 1 + int((with_best.p_adjusted > found.alpha).sum())
    assert (found.significant_pairs, len(found.first), as_good) == (3423, 8256, 7)


# --- baselines


def test_the_default_is_t_corrected_by_holm_also_with_a_baseline() -> None:
    table = table_of(np.random.default_rng(1).normal(size=(20, 4)))
    assert (compare(table).test, compare(table).correct) == ("t", "holm")
    found = compare(table, baseline=["s2"])
    assert (found.test, found.correct) == ("t", "holm")
    assert [row["system_b"] for row in found.to_dict()] == ["s2"] * 3


def test_dunnett_has_the_residual_and_its_own_critical_value() -> None:
    scores = np.random.default_rng(2).normal([0, 0.5, 1.0, 0.2], 1.0, size=(25, 4))
    found = compare(table_of(scores), baseline=["s0"], test="dunnett")
    rest = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    error = np.sqrt(2 * (rest**2).sum() / (24 * 3) / 25)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-10)
    reach = dunnett_critical(0.05, 3, 72) * error
    np.testing.assert_allclose(found.upper - found.difference, reach, rtol=1e-10)
    means = dict(zip(("s0", "s1", "s2", "s3"), scores.mean(axis=0), strict=True))
    for row in found.to_dict():
        assert row["difference"] == pytest.approx(means[row["system_a"]] - means["s0"])  # candidate less baseline


def test_several_baselines_share_alpha() -> None:
    table = table_of(np.random.default_rng(2).normal([0, 0.5, 1.0, 0.2], 1.0, size=(25, 4)))
    one, both = (compare(table, baseline=names, test="dunnett") for names in (["s0"], ["s0", "s1"]))
    assert len(both.first) == 5  # 3 with s0, and 2 more with s1
    mine = [at for at, row in enumerate(both.to_dict()) if row["system_b"] == "s0"]
    np.testing.assert_allclose(both.p_adjusted[mine], np.minimum(2 * one.p_adjusted, 1), rtol=1e-9)
    assert (both.upper - both.lower)[mine[0]] > (one.upper - one.lower)[0]


def test_dunnett_holds_alpha_over_all_baselines() -> None:
    rng, wrong = np.random.default_rng(8), 0
    for _ in range(600):
        scores = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6))
        wrong += bool(compare(table_of(scores), baseline=["s0", "s3"], test="dunnett").significant.any())
    assert 0.02 < wrong / 600 < 0.07


def test_max_t_with_a_baseline_looks_at_its_pairs_only() -> None:
    table = table_of(np.random.default_rng(9).normal(size=(30, 12)))
    some, every = (compare(table, test="max-t", baseline=names, resamples=999) for names in (["s0"], []))
    assert len(some.first) == 11
    assert (some.upper - some.difference)[0] / some.standard_error[0] < (every.upper - every.difference)[
        0
    ] / every.standard_error[0]


def test_tukey_with_a_baseline_keeps_its_family() -> None:
    table = table_of(np.random.default_rng(9).normal(size=(30, 5)))
    some, every = (compare(table, test="tukey", baseline=names) for names in (["s0"], []))
    p_values = {frozenset((row["system_a"], row["system_b"])): row["p_adjusted"] for row in every.to_dict()}
    for row in some.to_dict():
        assert row["p_adjusted"] == p_values[frozenset((row["system_a"], row["system_b"]))]


def test_a_verdict_says_everything_in_one_sentence() -> None:
    scores = np.array([[0.5, 0.6], [0.4, 0.5], [0.3, 0.3], [0.2, 0.4], [0.6, 0.55], [0.1, 0.3]])
    found = compare(table_of(scores, ("AP",)), baseline=["s0"])
    (row,) = found.to_dict()
    assert (row["wins"], row["ties"], row["losses"]) == (4, 1, 1)
    assert row["relative_difference"] == pytest.approx(scores.mean(axis=0)[1] / scores.mean(axis=0)[0] - 1)
    for part in (
        "s1 does not differ significantly from s0 in AP",
        "+0.0917 (+26.2 %)",
        ", 95 % interval [",
        f"p = {row['p_adjusted']:.4f}",
        "4 wins, 1 tie, 1 loss on 6 topics",
    ):
        assert part in row["verdict"]


# --- effect sizes, constant differences, margins


@pytest.mark.parametrize("test", [*ALL_TESTS, "dunnett"])
def test_the_effect_size_is_d_z_and_the_standard_error_is_one(test: str) -> None:
    scores = np.random.default_rng(3).normal([0.0, 0.4, 0.9], [1.0, 1.0, 2.0], size=(30, 3))
    found = compare(
        table_of(scores), test=test, baseline=["s0"] if test == "dunnett" else [], resamples=count_for(test)
    )
    names = [int(name[1:]) for name in found.systems]
    gaps = scores[:, names][:, found.first] - scores[:, names][:, found.second]
    if test in UNPAIRED_TESTS:
        own = scores.var(axis=0, ddof=1)[names]
        within = np.sqrt(own.mean())
        np.testing.assert_allclose(found.effect_size, gaps.mean(axis=0) / within)
        assert found.denominator == "sd within systems"
        alone = np.sqrt((own[found.first] + own[found.second]) / 30)
        np.testing.assert_allclose(found.standard_error, alone if test == "unpaired" else within * np.sqrt(2 / 30))
        return
    np.testing.assert_allclose(found.effect_size, gaps.mean(axis=0) / gaps.std(axis=0, ddof=1))
    if test in ("tukey", "dunnett", "tukey-permutation"):
        assert np.ptp(found.standard_error) == 0
    else:
        np.testing.assert_allclose(found.standard_error, gaps.std(axis=0, ddof=1) / np.sqrt(30))


@pytest.mark.parametrize("test", [*(test for test in ALL_TESTS if test not in UNPAIRED_TESTS), "dunnett"])
@pytest.mark.parametrize("shift", [0.1, 1 / 3])
def test_differences_that_do_not_vary_are_not_called_significant(test: str, shift: float) -> None:
    rng = np.random.default_rng(4)
    scores = rng.uniform(0, 1, (30, 3))
    scores[:, 1] = scores[:, 0] + shift  # the same everywhere but for rounding
    baselines = ["s0"] if test == "dunnett" else []
    found = compare(table_of(scores), test=test, baseline=baselines, resamples=count_for(test, 199), equivalence=0.5)
    (row,) = [row for row in found.to_dict() if {row["system_a"], row["system_b"]} == {"s0", "s1"}]
    assert (row["p_adjusted"], row["significant"], row["equivalent"]) == (1.0, False, False)
    assert np.isnan([row["lower"], row["upper"], row["effect_size"]]).all()
    assert "constant-differences" in [caution.slug for caution in found.warnings]


def test_equivalence_and_its_interval_agree_after_holm() -> None:
    rng = np.random.default_rng(6)
    for number in range(100):
        scores = drawn(rng, 4 * number)
        found = compare(table_of(scores), test="tukey", equivalence=0.8).equivalence
        assert found is not None
        inside = (found.lower > -0.8) & (found.upper < 0.8)
        np.testing.assert_array_equal(inside, found.shown)


def test_non_inferiority_and_its_bound_agree_after_holm() -> None:
    rng = np.random.default_rng(7)
    shown = 0
    for number in range(100):
        found = compare(table_of(drawn(rng, 4 * number)), baseline=["s0"], non_inferiority=0.8)
        margin = found.non_inferiority
        assert margin is not None
        np.testing.assert_array_equal(margin.lower > -0.8, margin.shown)
        assert [row["non_inferior"] for row in found.to_dict()] == margin.shown.tolist()
        shown += int(margin.shown.sum())
    assert shown


def test_tost_errs_in_alpha_at_the_margin() -> None:
    rng, wrong = np.random.default_rng(12), 0
    for _ in range(800):
        scores = rng.normal([0.0, 0.5], 0.5, size=(60, 2))  # differ by just the margin
        found = compare(table_of(scores), test="t", equivalence=0.5).equivalence
        assert found is not None
        wrong += bool(found.shown[0])
    assert 0.03 < wrong / 800 < 0.07


# --- documents and charts


def test_with_several_measures_every_sentence_names_its_measure() -> None:
    rng = np.random.default_rng(1)
    constant = rng.normal(size=(12, 3))
    constant[:, 1] = constant[:, 0] + 1
    table = table_of(np.stack([rng.normal(size=(12, 3)), constant]), ("AP", "nDCG"))
    found = [compare(table, measure=name, baseline=["s0"], equivalence=0.5) for name in table.measures]
    document = compare_document(found, {})
    assert all(line.startswith(("AP: ", "nDCG: ")) for line in document.sentence.split("\n"))
    assert all(
        " in AP: " in line or " in nDCG: " in line
        for line in document.sentence.split("\n")
        if " losses" in line or " loss " in line
    )
    (caution,) = [each for each in document.warnings if each.slug == "constant-differences"]
    assert str(caution).startswith("nDCG: ")


@pytest.mark.parametrize("test", [*ALL_TESTS, "dunnett"])
def test_families_are_those_that_need_no_correction(test: str) -> None:
    table, baselines = table_of(np.random.default_rng(1).normal(size=(12, 3))), ["s0"] if test == "dunnett" else []
    found = compare(table, test=test, baseline=baselines, resamples=count_for(test))
    assert found.correct == ("none" if test in FAMILY else "holm")
    if test in FAMILY:
        with pytest.raises(RequestError, match="controls the family-wise error rate itself"):
            compare(table, test=test, correct="holm", baseline=baselines)


def test_the_script_of_error_rates_prints_a_table() -> None:
    path = Path(__file__).parents[2] / "scripts" / "error_rates.py"
    spec = importlib.util.spec_from_file_location("error_rates", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    results = {"equal": {topics: script.rates(script.equal, topics, 4, 1) for topics in (10, 20)}}
    head, _, row = script.markdown(results, 1).split("\n")
    assert head.count("|") == row.count("|") == 9
    assert script.rates(script.equal, 10, 4, 1) == results["equal"][10]
    assert len(script.populations(None)) == 5


def test_a_number_of_resamples_without_effect_is_refused() -> None:
    scores = np.random.default_rng(3).normal(size=(10, 4))
    with pytest.raises(RequestError, match="no effect on the test tukey"):
        compare(table_of(scores), test="tukey", resamples=500)
    assert compare(table_of(scores), test="tukey").resamples is None
    assert compare(table_of(scores), test="max-t", resamples=500).resamples is None  # below 20 topics none is drawn
    assert compare(table_of(np.vstack([scores] * 2)), test="max-t", resamples=500).resamples == 500


def test_two_systems_are_tested_as_they_are_planned_for() -> None:
    scores = np.random.default_rng(4).normal([0.0, 0.5], size=(12, 2))
    found, t = compare(table_of(scores)), compare(table_of(scores), test="t", correct="none")
    assert (found.test, found.interval) == ("t", "95 %")
    assert found.p_adjusted.tolist() == t.p_adjusted.tolist()


def test_holm_is_a_correction_and_not_a_test() -> None:
    scores = table_of(np.random.default_rng(2).random((10, 13)))
    with pytest.raises(RequestError) as refused:
        cranfield.compare(scores, test="holm")  # type: ignore[arg-type]
    assert refused.value.fix == 'Use `test="t"` with `correct="holm"`.'
    with pytest.raises(RequestError) as refused:
        compare(scores, test="holm")
    assert refused.value.fix == 'Use `test="t"` with `correct="holm"`.'


def test_of_many_names_some_are_listed_and_the_rest_counted() -> None:
    scores = table_of(np.random.default_rng(2).random((10, 13)))
    with pytest.raises(RequestError, match="no system «bm26»") as refused:
        compare(scores, baseline="bm26")
    assert refused.value.fix.endswith(" and 3 more.")


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.5, 0.5, 0.5], "Any of these systems may be the best. 0 of all 3 pairs differ significantly."),
        (
            [0.5, 0.5, 0.1],
            "With 95 % confidence the best of these 3 systems is one of 2. 2 of all 3 pairs differ significantly.",
        ),
        ([0.9, 0.5, 0.1], "With 95 % confidence the best of these 3 systems is s0. 3 of all 3 pairs"),
    ],
)
def test_the_summary_says_which_may_be_the_best_and_how_many_pairs_differ(means: list[float], said: str) -> None:
    scores = np.random.default_rng(8).normal(means, 0.05, (30, len(means)))
    assert compare(table_of(scores)).summary().startswith(said)


def test_the_summary_of_a_baseline_speaks_of_its_pairs_and_not_of_the_best() -> None:
    scores = np.random.default_rng(8).normal([0.9, 0.5, 0.1], 0.05, (30, 3))
    found = compare(table_of(scores), baseline="s1")
    assert found.summary() == "2 of the 2 pairs with s1 differ significantly."
    assert (found.top_group, found.letters) == ((), ())


def scores_of(values: Array) -> dict[str, dict[str, float]]:
    return {
        f"s{at}": {f"q{row}": float(score) for row, score in enumerate(column)} for at, column in enumerate(values.T)
    }


def test_pairs_and_ranking_are_tables_by_name() -> None:
    rng = np.random.default_rng(5)
    found = cranfield.compare(scores_of(rng.normal([0.0, 0.1, 0.6], 1.0, (30, 3))))
    pairs, ranking = found.pairs.to_frame(), found.ranking.to_frame()
    assert list(ranking.system) == list(found.comparisons["score"].systems)
    assert list(pairs.columns) == list(found.to_dict()["pairs"][0])
    rows = [{name: None if value != value else value for name, value in row.items()} for row in found.pairs.to_dict()]
    assert rows == found.to_dict()["pairs"]
    first = pairs.iloc[0]
    t, df = first.difference / first.standard_error, 29
    assert first.p_value == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-12)
    for end, share in (("lower", 0.975), ("upper", 0.025)):
        noncentrality = first[f"effect_size_{end}"] * np.sqrt(30)
        assert stats.nct.cdf(t, df, noncentrality) == pytest.approx(share, abs=1e-7)


def test_the_interval_of_many_effect_sizes_is_that_of_few() -> None:
    from cranfield.stats.tails import effect_size_interval

    effects = np.random.default_rng(3).normal(0, 2, 12_000)
    many = np.array(effect_size_interval(effects, 40, 0.05))
    few = np.array(effect_size_interval(effects[:500], 40, 0.05))
    np.testing.assert_allclose(many[:, :500], few, rtol=1e-6, atol=1e-7)


def test_the_interval_of_an_effect_size_covers_it() -> None:
    rng = np.random.default_rng(8)
    drawn = rng.normal(0.4, 1.0, (sized(4000, 40_000), 15))
    from cranfield.stats.tails import effect_size_interval

    lower, upper = effect_size_interval(drawn.mean(axis=1) / drawn.std(axis=1, ddof=1), 15, 0.1)
    covered = ((lower <= 0.4) & (upper >= 0.4)).mean()
    assert covered == pytest.approx(0.9, abs=margin(0.9, len(drawn)))


@pytest.mark.parametrize("test", ["t", "bootstrap", "max-t", "unpaired"])
def test_a_one_sided_test_shows_only_what_is_better_than_the_baseline(test: TestName) -> None:
    scores = np.random.default_rng(9).normal([0.0, 0.8, -0.8], 1.0, (40, 3))
    found = cranfield.compare(
        scores_of(scores), baseline="s0", test=test, one_sided=True, resampling={"resamples": count_for(test, 999)}
    )
    shown = {row["system_a"]: row for row in found.pairs.to_dict()}
    assert shown["s1"]["significant"]
    assert not shown["s2"]["significant"]
    assert shown["s1"]["lower"] > 0
    turned = cranfield.compare(
        scores_of(-scores),
        baseline="s0",
        test=test,
        one_sided=True,
        lower_is_better=True,
        resampling={"resamples": count_for(test, 999)},
    )
    again = {row["system_a"]: row for row in turned.pairs.to_dict()}
    assert {name: row["significant"] for name, row in again.items()} == {
        name: row["significant"] for name, row in shown.items()
    }
    assert again["s1"]["upper"] == pytest.approx(-shown["s1"]["lower"])


def test_a_one_sided_test_needs_a_baseline_and_a_mean() -> None:
    scores = scores_of(np.random.default_rng(1).normal(size=(20, 3)))
    with pytest.raises(RequestError, match="has no effect without `baseline`"):
        cranfield.compare(scores, one_sided=True)
    with pytest.raises(RequestError, match="has two sides"):
        cranfield.compare(scores, one_sided=True, baseline="s0", test="wilcoxon")


def test_one_sided_p_is_half_of_the_two_sided_where_the_candidate_is_better() -> None:
    scores = scores_of(np.random.default_rng(4).normal([0.0, 0.5], 1.0, (25, 2)))
    one, two = (cranfield.compare(scores, baseline="s0", one_sided=each).pairs["p_value"][0] for each in (True, False))
    assert one == pytest.approx(two / 2, rel=1e-12)


def test_intervals_of_shares_are_wilsons_and_stay_in_the_range_of_the_measure() -> None:
    from statsmodels.stats.proportion import proportion_confint

    passes = np.zeros((30, 2))
    passes[0, 0] = 1.0
    rows = cranfield.compare(scores_of(passes)).ranking
    lower, upper = proportion_confint(1, 30, method="wilson")
    assert rows["lower"][0] == pytest.approx(lower, rel=1e-12)
    assert rows["upper"][0] == pytest.approx(upper, rel=1e-12)
    assert rows["lower"][1] == 0
    values = np.full((12, 2), 0.001)
    values[0] = [0.9, 0.8]
    table = ScoreTable(("AP",), tuple(map(str, range(12))), ("a", "b"), values[np.newaxis, :, :, np.newaxis])
    assert compare(table).mean_interval[0].tolist() == [0.0, 0.0]


def test_the_bootstrap_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(12)
    table = table_of(rng.exponential(1.0, (40, 60)))
    lower, upper = compare(table, test="bootstrap", correct="none", baseline="s0", resamples=999).mean_interval
    student = compare(table, baseline="s0").mean_interval
    assert 0.85 <= ((lower <= 1.0) & (upper >= 1.0)).mean() <= 1.0
    assert (lower <= student[0] + 1e-12).all()


def test_pairs_that_no_test_of_means_fits_are_marked() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=50)
    outlier = base + rng.normal(0, 0.1, 50)
    outlier[7] += 30.0  # one topic decides
    equal = base.copy()
    equal[:12] += rng.normal(0.5, 0.3, 12)  # the same on 38 of 50 topics
    values = np.column_stack([base, base + rng.normal(0, 0.01, 50), outlier, equal, rng.normal(size=50)])
    rows = cranfield.compare(scores_of(values), baseline="s0").pairs.to_dict()
    assert {row["system_a"]: row["approximate"] for row in rows} == {"s1": True, "s2": True, "s3": True, "s4": False}


def test_differences_that_vary_by_a_billionth_of_the_range_are_constant() -> None:
    rng = np.random.default_rng(6)
    base = rng.random(30)
    for noise, claimed in ((1e-10, False), (1e-7, True)):
        values = np.column_stack([base, base + 0.1 + rng.uniform(-noise, noise, 30), rng.random(30)])
        found = cranfield.compare(scores_of(values), baseline="s0").pairs.to_dict()
        assert next(row["significant"] for row in found if row["system_a"] == "s1") is claimed
