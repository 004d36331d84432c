"""Differences and verdicts from human labels on some topics and a judge's labels on all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.decisions import Drawing, by_max_t, by_student
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs
from cranfield.methods.contrasts.resampling import LEAST_VARIANCE, Studentised, exceeded, streams
from cranfield.methods.judging import (
    ESTIMATORS,
    JudgedScores,
    average_judge,
    best_combination,
    compare_judged,
    estimate_means,
    estimate_pairs,
    rogan_gladen,
)
from cranfield.methods.judging.estimators import JudgedPairs
from cranfield.methods.names import ESTIMATOR_TITLES
from cranfield.runtime.random import generator, sequence
from judged_population import made_population
from sizes import margin, sized

Array = npt.NDArray[Any]


@pytest.fixture(scope="session")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("judge_error_rates")


@pytest.fixture(scope="session")
def dl19(script: ModuleType, shared: Path) -> Any:
    """Scores of TREC Deep Learning 2019 under human labels and under four judges' labels."""
    return script.read_population(shared)


@pytest.fixture(scope="session", params=["made", pytest.param("dl19", marks=pytest.mark.proof)])
def population(request: pytest.FixtureRequest, script: ModuleType) -> Any:
    """Scores drawn to be like those of Deep Learning 2019; in `make proof` the real ones too."""
    return request.getfixturevalue("dl19") if request.param == "dl19" else made_population(script)


def drawn(n: int = 12, whole: int = 40, systems: int = 5, seed: int = 1, noise: float = 0.1) -> JudgedScores:
    rng = np.random.default_rng(seed)
    human = rng.normal(0.5, 0.15, (whole, 1)) + rng.normal(0, 0.15, (whole, systems)) + 0.03 * np.arange(systems)
    scores = 0.3 + 0.6 * human + rng.normal(0, noise, human.shape)
    rows = rng.permutation(whole)[:n]
    return JudgedScores(human=human[rows], judge=scores, rows=rows)


# --- estimators


def test_the_regression_is_cochrans_formula_pair_by_pair() -> None:
    scores = drawn()
    found = estimate_pairs(scores)
    n, whole = scores.topics, scores.judged_topics
    for at, (a, b) in enumerate(zip(*np.triu_indices(5, k=1), strict=True)):
        d = scores.human[:, a] - scores.human[:, b]
        everywhere = scores.judge[:, a] - scores.judge[:, b]
        e = everywhere[scores.rows]
        slope, start = np.polyfit(e, d, 1)
        squares, gap = np.square(e - e.mean()).sum(), everywhere.mean() - e.mean()
        residual = np.square(d - start - slope * e).sum() / (n - 2)
        variance = residual * (1 / n + gap**2 / squares) + slope**2 * everywhere.var(ddof=1) / whole
        assert found.value[at] == pytest.approx(d.mean() + slope * gap, abs=1e-13)
        assert found.standard_error[at] == pytest.approx(np.sqrt(variance), abs=1e-13)
        assert found.slope[at] == pytest.approx(slope, abs=1e-12)
    assert found.df.tolist() == [n - 2.0] * 10
    lower, upper = found.interval(0.1)
    assert np.allclose(upper - lower, -2 * special.stdtrit(n - 2, 0.05) * found.standard_error)


def test_means_are_estimated_as_differences_from_a_system_that_scores_nothing() -> None:
    scores = drawn()
    with_zero = JudgedScores(
        human=np.column_stack([scores.human, np.zeros(12)]),
        judge=np.column_stack([scores.judge, np.zeros(40)]),
        rows=scores.rows,
    )
    for name in ESTIMATORS:
        means = estimate_means(scores, name)
        pairs = estimate_pairs(with_zero, name, Contrasts(np.arange(5), np.full(5, 5)))
        np.testing.assert_allclose(means.value, pairs.value, atol=1e-13)
        np.testing.assert_allclose(means.standard_error, pairs.standard_error, atol=1e-13)


def test_human_and_judge_alone_are_paired_t_tests() -> None:
    scores = drawn()
    for name, table in (("human", scores.human), ("judge", scores.judge)):
        found = estimate_pairs(scores, name)
        alone = by_student(Pairs(table, all_pairs(5)).fit(), correct="none", alpha=0.05)
        np.testing.assert_allclose(found.p_value, alone.p_value, rtol=1e-9)
        np.testing.assert_allclose(found.interval(0.05), (alone.lower, alone.upper), atol=1e-12)


def test_with_human_labels_everywhere_every_estimate_but_the_judges_is_the_human_mean() -> None:
    scores = drawn(n=40)
    human = estimate_pairs(scores, "human")
    for name in ("regression", "ppi"):
        np.testing.assert_allclose(estimate_pairs(scores, name).value, human.value, atol=1e-13)
    assert estimate_pairs(scores, "ppi").fallback.all()  # no other topic to learn from
    np.testing.assert_allclose(estimate_pairs(scores).standard_error, human.standard_error, rtol=0.05)


def test_a_judge_constant_on_a_pair_falls_back_to_human_labels_for_that_pair_alone() -> None:
    scores = drawn()
    table = scores.judge.copy()
    table[scores.rows, 1] = table[scores.rows, 0] + 0.1  # constant where people labelled, not elsewhere
    mixed = JudgedScores(human=scores.human, judge=table, rows=scores.rows)
    for name in ("regression", "ppi"):
        found, human = estimate_pairs(mixed, name), estimate_pairs(mixed, "human")
        assert found.fallback.tolist() == [True] + [False] * 9
        for column in ("value", "standard_error", "df"):
            assert getattr(found, column)[0] == getattr(human, column)[0]
        assert (found.value[1:] != human.value[1:]).sum() >= 8  # λ of one pair is 0
    constant = JudgedScores(human=scores.human, judge=np.full((40, 5), 0.3), rows=scores.rows)
    assert estimate_pairs(constant).fallback.all()


def test_resamples_of_a_pair_on_which_the_judge_is_constant_are_those_of_human_labels() -> None:
    scores = drawn()
    table = scores.judge.copy()
    table[:, 1] = table[:, 0] + 0.1
    pairs = JudgedPairs(replace(scores, judge=table), all_pairs(5))
    people = Pairs(scores.human, all_pairs(5))
    first = pairs.redrawn(pairs.draw(generator(4), 50), np.array([0]))
    np.testing.assert_allclose(first, people.redrawn(people.draw(generator(4), 50), np.array([0])), atol=1e-12)


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_a_constant_judge_is_noticed_whatever_the_baseline_is_multiplied_by(factor: float) -> None:
    scores = replace(drawn(), judge=np.full((40, 5), 0.4))
    first, second = np.triu_indices(5, k=1)
    assert estimate_pairs(scores, "regression", Contrasts(first, second, factor)).fallback.all()


def test_near_duplicates_lose_no_digits() -> None:
    scores = drawn()
    rng = np.random.default_rng(5)
    human, table = scores.human.copy(), scores.judge.copy()
    human[:, 1] = human[:, 0] + 1e-7 * rng.normal(size=12)
    table[:, 1] = table[:, 0] + 1e-7 * rng.normal(size=40)
    close = JudgedScores(human=human, judge=table, rows=scores.rows)
    d, e = human[:, 0] - human[:, 1], (table[:, 0] - table[:, 1])[scores.rows]
    assert estimate_pairs(close).slope[0] == pytest.approx(np.polyfit(e, d, 1)[0], rel=1e-6)


def test_systems_with_the_same_scores_are_claimed_nothing_of() -> None:
    scores = drawn().chosen(np.array([0, 0, 1]))
    found = compare_judged(scores, test="max-t", resamples=199)
    same = np.flatnonzero(found.standard_error == 0)
    assert len(same) == 1
    assert found.p_adjusted[same].tolist() == [1.0]
    assert np.isnan(found.lower[same]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 1, 2, 2])}, "each once"),
        ({"rows": np.array([0, 1, 2, 9])}, "each once"),
        ({"judge": np.ones((6, 3))}, "same systems"),
        ({"human": np.array([[0.1, np.nan]] * 4)}, "missing"),
        ({"human": np.ones((2, 2)), "rows": np.arange(2)}, "at least 3 are required"),
    ],
)
def test_scores_that_do_not_fit_are_refused(change: dict[str, Array], message: str) -> None:
    fitting: dict[str, Array] = {"human": np.eye(4, 2), "judge": np.eye(6, 2), "rows": np.arange(4)}
    with pytest.raises(InputError, match=message):
        JudgedScores(**{**fitting, **change})


def test_every_estimator_has_a_title_and_others_are_refused() -> None:
    assert tuple(ESTIMATORS) == tuple(ESTIMATOR_TITLES)
    with pytest.raises(RequestError, match="no estimator «magic»"):
        estimate_pairs(drawn(), "magic")
    with pytest.raises(RequestError, match="no test «tukey»"):
        compare_judged(drawn(), test="tukey")


# --- verdicts


@pytest.mark.parametrize("test", ["t", "max-t"])
def test_verdicts_intervals_letters_and_the_top_group_agree(test: str) -> None:
    scores = drawn(n=25, systems=8, noise=0.03)
    names = tuple(f"s{at}" for at in range(8))
    found = compare_judged(scores, names=names, test=test, resamples=499)
    apart = (found.lower > 0) | (found.upper < 0)
    assert apart.tolist() == found.significant.tolist()
    assert 0 < found.significant.sum() < 28
    assert (np.diff(found.means) <= 0).all()
    for a, b, differ in zip(found.first, found.second, found.significant, strict=True):
        assert bool(set(found.letters[a].split()) & set(found.letters[b].split())) != differ
    seen = estimate_pairs(scores)
    signed = dict(zip(zip(*np.triu_indices(8, k=1), strict=True), seen.t, strict=True))
    reach = -special.stdtrit(scores.topics - 2, 0.05 / 7)  # one-sided, against each of the others
    beaten = {b if t > 0 else a for (a, b), t in signed.items() if abs(t) >= reach}
    assert 1 < 8 - len(beaten) < 8
    assert set(found.top_group) == {name for at, name in enumerate(names) if at not in beaten}


def test_means_have_the_average_of_each_systems_differences() -> None:
    scores, names = drawn(n=20), tuple("abcde")
    for estimator in ESTIMATORS:
        found = compare_judged(scores, names=names, estimator=estimator)
        means = dict(zip(found.systems, found.means, strict=True))
        gaps = dict.fromkeys(names, 0.0)
        for a, b, gap in zip(*np.triu_indices(5, k=1), estimate_pairs(scores, estimator).value, strict=True):
            gaps[names[a]] += gap / 5
            gaps[names[b]] -= gap / 5
        centre = estimate_means(scores, estimator).value.mean()
        assert means == pytest.approx({name: centre + gap for name, gap in gaps.items()}, abs=1e-12)
    pair = compare_judged(scores.chosen(np.array([3, 1])))
    assert pair.means[0] - pair.means[1] == pytest.approx(pair.difference[0], abs=1e-13)


def test_the_same_seed_gives_the_same_verdicts_on_any_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = drawn(n=25)
    one, two = (compare_judged(scores, test="max-t", resamples=600, seed=3) for _ in range(2))
    monkeypatch.setattr("cranfield.runtime.threads.available_workers", lambda: 1)
    alone = compare_judged(scores, test="max-t", resamples=600, seed=3)
    assert one.p_adjusted.tolist() == two.p_adjusted.tolist() == alone.p_adjusted.tolist()
    assert one.lower.tolist() == alone.lower.tolist()
    other = compare_judged(scores, test="max-t", resamples=600, seed=4)
    assert other.p_adjusted.tolist() != one.p_adjusted.tolist()


def test_max_t_is_the_largest_t_of_redrawn_topics() -> None:
    scores = drawn()
    pairs = JudgedPairs(scores, all_pairs(5))
    seen = pairs.fit()
    rng = generator(sequence(9, 0))
    mine = rng.multinomial(12, np.full(12, 1 / 12), size=40)
    rest = rng.multinomial(28, np.full(28, 1 / 28), size=40)
    others = np.setdiff1d(np.arange(40), scores.rows)
    expected = []
    for a, b in zip(mine, rest, strict=True):
        judged = np.r_[np.repeat(scores.rows, a), np.repeat(others, b)]
        again = JudgedScores(
            human=np.repeat(scores.human, a, axis=0), judge=scores.judge[judged], rows=np.arange(scores.topics)
        )
        found = estimate_pairs(again)
        error = np.maximum(found.standard_error, np.sqrt(LEAST_VARIANCE) * seen.standard_error)
        expected.append((np.abs(found.value - seen.value) / error).max())
    again_and_again = Studentised(pairs, seen, np.abs(seen.t))
    largest = exceeded(again_and_again, np.arange(10), streams(40), 9).largest
    np.testing.assert_allclose(largest, expected, rtol=1e-9)


def test_one_pair_is_tested_by_t_and_baselines_by_their_own_pairs() -> None:
    scores = drawn(n=25)
    pair = compare_judged(scores.chosen(np.array([0, 1])))
    assert (pair.test, pair.correct, pair.interval) == ("t", "none", "95 %")
    assert pair.p_adjusted[0] == pair.p_value[0]
    against = compare_judged(scores, baselines=[2], test="max-t", resamples=499)
    place = against.systems.index("2")
    assert against.second.tolist() == [place] * 4
    assert against.top_group == ()
    every = compare_judged(scores, test="max-t", resamples=499)
    same = [
        int(np.flatnonzero((every.first == min(a, place)) & (every.second == max(a, place)))[0]) for a in against.first
    ]
    assert (against.p_adjusted <= every.p_adjusted[same]).all()
    assert (against.p_adjusted < every.p_adjusted[same]).any()
    assert (against.upper - against.lower).max() < (every.upper - every.lower)[same].max()


def test_labels_of_one_kind_are_compared_as_compare_does() -> None:
    scores = drawn(n=25)
    for name, table in (("human", scores.human), ("judge", scores.judge)):
        found = compare_judged(scores, estimator=name, test="max-t", resamples=499)
        pairs = Pairs(table[:, [int(each) for each in found.systems]], all_pairs(5))
        drawing = Drawing(resamples=499, seed=sequence(1, "judges", "max-t", name))
        expected = by_max_t(pairs, pairs.fit(), alpha=0.05, drawing=drawing)
        np.testing.assert_array_equal(found.p_adjusted, expected.p_adjusted)
        np.testing.assert_allclose(found.lower, expected.lower)
        assert found.topics == len(table)


def test_holm_is_the_correction_of_the_pairs_p() -> None:
    found = compare_judged(drawn(n=25, noise=0.03))
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    expected = multitest.multipletests(found.p_value, method="holm")[1]
    np.testing.assert_allclose(found.p_adjusted, expected)


# --- the real judges: what METHODS promises


def test_coverage_is_that_of_human_labels_at_less_width(script: ModuleType) -> None:
    """On a population that is drawn, whose first judge is the best one: its intervals are the shortest."""
    made, draws = made_population(script), sized(300, 2000)
    found = {
        name: script.coverage(made.human, judge, topics=15, judged=200, draws=draws, seed=1)
        for name, judge in made.judges.items()
    }
    for rates in found.values():
        assert rates["human"][0] == pytest.approx(0.95, abs=0.025)
        assert rates["regression"][0] >= rates["human"][0] - 0.02
        assert rates["judge"][0] < rates["human"][0]  # whose intervals are about another quantity
        assert rates["regression"][1] < 1
    best, second = (found[name]["regression"][1] for name in ("llama3-70b-4prompts", "flan-t5-large-4prompts"))
    assert best < second


@pytest.mark.proof
@pytest.mark.parametrize(
    ("judge_name", "alone", "width"),
    [
        ("llama3-70b-4prompts", 0.29, 0.75),
        ("flan-t5-large-4prompts", 0.61, 0.87),
        ("llama3-8b-baseline", 0.14, 0.85),
        ("llama3-8b-generated-query", 0.17, 0.93),
    ],
)
def test_coverage_on_dl19_is_that_of_human_labels_at_less_width(
    script: ModuleType, dl19: Any, judge_name: str, alone: float, width: float
) -> None:
    found = script.coverage(dl19.human, dl19.judges[judge_name], topics=15, judged=200, draws=600, seed=1)
    assert found["regression"][0] >= found["human"][0] - 0.01
    assert found["human"][0] == pytest.approx(0.938, abs=0.02)
    assert found["judge"][0] == pytest.approx(alone, abs=0.02)
    assert found["regression"][1] == pytest.approx(width, abs=0.02)
    assert found["ppi"][0] < found["regression"][0]


@pytest.mark.parametrize("null", ["permuted", "permuted together"])
@pytest.mark.parametrize(("test", "tables"), [("t", sized(60, 150)), ("max-t", sized(6, 12))])
def test_the_family_error_of_equal_systems_is_held(
    script: ModuleType, population: Any, null: str, test: str, tables: int
) -> None:
    options = {"topics": 15, "judged": 200, "tables": tables, "seed": 5}
    equal = script.equal_tables(population, "llama3-70b-4prompts", null, **options)
    assert script.family_error(equal, "regression", test) <= 0.05 + margin(0.05, tables, errors=3)


def test_more_pairs_are_found_with_the_judge_than_without(population: Any) -> None:
    found = {"regression": 0, "human": 0}
    for seed in range(10):
        chosen = np.random.default_rng(seed).integers(0, 43, 200)
        scores = JudgedScores(
            human=population.human[chosen[:15]],
            judge=population.judges["llama3-70b-4prompts"][chosen],
            rows=np.arange(15),
        )
        for name in found:
            found[name] += int(compare_judged(scores, estimator=name).significant.sum())
    assert found["regression"] > 1.5 * found["human"]


# --- several judges


def test_the_best_combination_takes_no_part_of_a_topic_from_its_own_labels() -> None:
    scores, other = drawn(n=20, seed=1), drawn(n=20, seed=1, noise=0.5)
    found = best_combination([scores, other], seed=2)
    changed = scores.human.copy()
    changed[4] += np.array([0.5, -0.4, 0.3, 0.9, 0.1])
    again = best_combination([replace(each, human=changed) for each in (scores, other)], seed=2)
    assert (found.scores.judge[scores.rows[4]] == again.scores.judge[scores.rows[4]]).all()
    assert (found.scores.judge != again.scores.judge).any()
    assert found.weights[0] > found.weights[1]  # the one with less noise
    np.testing.assert_allclose(average_judge([scores, other]).scores.judge, (scores.judge + other.judge) / 2)


def test_the_combination_is_no_worse_than_the_average_and_covers(script: ModuleType, population: Any) -> None:
    rates = {
        name: script.combination_coverage(population, combine, topics=15, judged=200, draws=sized(20, 60), seed=1)
        for name, combine in script.COMBINATIONS.items()
    }
    for coverage, width in rates.values():
        assert coverage > 0.90
        assert width < 0.87


# --- passes and failures


def test_rogan_gladen_covers_the_true_share_and_its_judge_alone_does_not() -> None:
    rng, inside, alone = np.random.default_rng(1), 0, 0
    for _ in range(400):
        passes = (rng.random((300, 3)) < np.array([0.3, 0.5, 0.7])).astype(float)
        wrong = rng.random((300, 3))
        judged = np.where(passes == 1, wrong < 0.9, wrong < 0.25).astype(float)
        found = rogan_gladen(JudgedScores(human=passes[:60], judge=judged, rows=np.arange(60)))
        lower, upper = found.interval()
        inside += int(lower[0] <= 0.3 <= upper[0])
        reach = 2 * np.sqrt(judged[:, 0].var() / 300)
        alone += int(abs(judged[:, 0].mean() - 0.3) <= reach)
    assert 0.91 <= inside / 400 <= 0.98
    assert alone / 400 < 0.1


def test_rogan_gladen_refuses_scores_that_are_no_passes_and_a_judge_of_chance_has_no_answer() -> None:
    with pytest.raises(InputError, match="neither 0 nor 1"):
        rogan_gladen(drawn())
    table = np.array([[0.0], [0], [1], [1]] * 3)
    blind = JudgedScores(human=table, judge=np.array([[0.0], [1], [0], [1]] * 3), rows=np.arange(12))
    assert np.isnan(rogan_gladen(blind).value).all()
    with pytest.raises(InputError, match="all the same"):
        rogan_gladen(JudgedScores(human=np.ones((4, 1)), judge=np.ones((5, 1)), rows=np.arange(4)))
