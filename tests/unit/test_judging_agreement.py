"""Agreement of grades and of orders, what a judge does to differences, and which systems it favours."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cranfield.errors import InputError, RequestError
from cranfield.methods.design.spreads import effective_topics
from cranfield.methods.judging import (
    GradeAgreement,
    JudgedScores,
    MatchedGrades,
    check_sample,
    cohen_kappa,
    difference_correlation,
    draw_topics,
    drift,
    favour,
    grade_agreement,
    match_grades,
    order_agreement,
    rank_biased_overlap,
)
from cranfield.stats.kendall import tau_ap
from judged_population import made_population
from sizes import margin, sized

Array = npt.NDArray[Any]

# τ, mean score, median r and κ of the four judges of TREC Deep Learning 2019, nDCG@10; people's mean is .6204.
DL19 = {
    "llama3-70b-4prompts": (0.8679, 0.8058, 0.7305, 0.167),
    "flan-t5-large-4prompts": (0.9039, 0.6510, 0.5053, 0.227),
    "llama3-8b-baseline": (0.8911, 0.8008, 0.6178, 0.128),
    "llama3-8b-generated-query": (0.7477, 0.7686, 0.4681, 0.124),
}


@pytest.fixture(scope="session")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("judge_error_rates")


@pytest.fixture(scope="session")
def dl19(script: ModuleType, shared: Path) -> Any:
    return script.read_population(shared)


@pytest.fixture(scope="session", params=["made", pytest.param("dl19", marks=pytest.mark.proof)])
def population(request: pytest.FixtureRequest, script: ModuleType) -> Any:
    """Scores drawn to be like those of Deep Learning 2019; in `make proof` the real ones too."""
    return request.getfixturevalue("dl19") if request.param == "dl19" else made_population(script)


def everywhere(population: Any, judge: str) -> JudgedScores:
    return JudgedScores(human=population.human, judge=population.judges[judge], rows=np.arange(len(population.human)))


# --- grades


def judgments(path: Path) -> list[tuple[str, str, float]]:
    """Topic, document and grade of every judgment."""
    rows = [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    return [(topic, document, float(grade)) for topic, _, document, grade in rows]


def agreement(human: Any, judge: Any, topic: Any) -> GradeAgreement:
    return grade_agreement(MatchedGrades(human=np.array(human), judge=np.array(judge), topic=np.array(topic)))


def test_dl19_order_means_correlation_and_kappa(dl19: Any, shared: Path) -> None:
    for judge in DL19:
        assert_agreement_as_published(dl19, shared / "data" / "dl19", judge)


def assert_agreement_as_published(dl19: Any, folder: Path, judge: str) -> None:
    tau, mean, r, kappa = DL19[judge]
    scores = everywhere(dl19, judge)
    order = order_agreement(scores.human.mean(axis=0), scores.judge.mean(axis=0))
    assert order.tau == pytest.approx(tau, abs=5e-5)
    assert scores.judge.mean() == pytest.approx(mean, abs=5e-5)
    assert scores.human.mean() == pytest.approx(0.6204, abs=5e-5)
    found = difference_correlation(scores)
    assert found.median.value == pytest.approx(r, abs=5e-5)
    assert found.median.lower < r < found.median.upper
    matched = match_grades(judgments(folder / "qrels.txt.gz"), judgments(folder / "judges" / f"{judge}.txt.gz"))
    grades = grade_agreement(matched)  # all four grades, as they are
    assert grades.kappa.value == pytest.approx(kappa, abs=5e-4)
    assert (grades.documents, grades.topics, grades.only_human, grades.only_judge) == (9260, 43, 0, 0)
    assert grades.confusion.sum() == 9260
    assert grades.linear_kappa.value < grades.quadratic_kappa.value


def test_documents_that_one_label_set_has_are_counted_and_left_out() -> None:
    human = [("1", "5", 0), ("1", "6", 1), ("2", "5", 2)]
    judge = [("2", "5", 0.5), ("1", "6", 1), ("3", "5", 1), ("3", "9", 1)]
    found = match_grades(human, judge)
    assert found.human.tolist() == [1, 2]
    assert found.judge.tolist() == [1.0, 0.5]
    assert found.topic.tolist() == ["1", "2"]
    assert (found.only_human, found.only_judge) == (1, 2)
    some = match_grades(human, judge, {"1", "3"})
    assert (some.human.tolist(), some.only_human, some.only_judge) == ([1], 1, 2)
    with pytest.raises(InputError, match="no document of a topic in common"):
        match_grades([("1", "1", 1)], [("2", "2", 2)])


def test_kappa_of_cohen_1960_by_hand() -> None:
    # Observed agreement .7, by chance .58 · .6 + .42 · .4 = .516: κ = .184 / .484.
    table = np.array([[44, 14], [16, 26]])
    assert float(cohen_kappa(table, np.arange(2))) == pytest.approx(0.184 / 0.484)


def test_intervals_of_kappa_are_over_topics() -> None:
    rng = np.random.default_rng(1)
    inside = {"topics": 0, "documents": 0}
    for _ in range(150):
        right = np.repeat(rng.beta(1, 1, 25), 40)  # a judge that knows some topics better than others
        human = rng.integers(0, 2, 1000)
        judge = np.where(rng.random(1000) < right, human, 1 - human)
        for kind, topic in (("topics", np.arange(1000) // 40), ("documents", np.arange(1000))):
            found = agreement(human, judge, topic).kappa
            inside[kind] += found.lower <= 0.0 <= found.upper  # half of the grades are right by chance: κ is 0
    assert inside["topics"] / 150 > 0.9
    assert inside["documents"] / 150 < 0.7


def test_equal_labels_agree_fully_and_constant_ones_have_no_kappa() -> None:
    grades, topic = np.array([0, 1, 2, 1]), np.array([1, 1, 2, 2])
    found = agreement(grades, grades, topic)
    assert (found.kappa.value, found.ordinal_alpha.value, found.same) == (1.0, 1.0, 1.0)
    constant = agreement(np.ones(4), np.ones(4), topic)
    assert np.isnan(constant.kappa.value)
    with pytest.raises(InputError, match="different grades"):
        agreement(np.linspace(0, 1, 300), np.linspace(0, 1, 300), np.arange(300))


@pytest.mark.parametrize(
    ("human", "judge", "differ"),
    [([0, 1, 2, 3], [0, 1, 3, 3], False), ([0, 1, 1, 1], [0, 1, 2, 3], True), ([0, 1, 2, 2], [0, 0.5, 1.5, 2], True)],
)
def test_scales_differ_by_their_ends_or_by_grades_between(human: list[int], judge: list[float], differ: bool) -> None:
    assert agreement(human, judge, [1, 1, 2, 2]).scales_differ is differ


# --- orders


def test_rank_biased_overlap_of_the_example_of_webber_et_al_2010() -> None:
    # Figure 5: the average overlap of abcdefg and zcavwxy is 0, 0, .222, .292, .313, .317, .312 at depths 1 … 7.
    average = np.array([0, 0, 0.222, 0.292, 0.313, 0.317, 0.312])
    agreement = np.diff(np.r_[0, average * np.arange(1, 8)])
    items = "abcdefgvwxyz"
    a, b = (
        np.array([7.0 - order.index(i) if i in order else np.nan for i in items]) for order in ("abcdefg", "zcavwxy")
    )
    for p in (0.5, 0.9, 0.98):
        expected = p**7 * agreement[-1] + (1 - p) / p * (agreement * p ** np.arange(1, 8)).sum()
        assert rank_biased_overlap(a, b, persistence=p) == pytest.approx(expected, abs=0.005)
    other = np.array([2.0, 5, 4, 3, 1])  # 1 2 3 4 5 against 2 3 4 1 5: .828
    assert rank_biased_overlap(np.arange(5.0, 0, -1), other) == pytest.approx(0.828, abs=5e-4)


def test_tied_systems_share_a_rank_in_rank_biased_overlap() -> None:
    # (1 2) 3 against 1 (2 3): the agreement is 2/3, 4/5 and 1.
    a, b = np.array([2.0, 2, 1]), np.array([3.0, 1, 1])
    p = 0.9
    assert rank_biased_overlap(a, b) == pytest.approx(p**3 + (1 - p) / p * (p * 2 / 3 + p**2 * 4 / 5 + p**3))


def test_tau_ap_of_an_exchange_at_the_top_and_at_the_bottom() -> None:
    # Yilmaz, Aslam and Robertson (2008): of m items, exchanging the first two costs 2/(m − 1), the last two 2/(m − 1)².
    truth = np.arange(8.0, 0, -1)
    for at, cost in ((0, 2 / 7), (6, 2 / 49)):
        other = truth.copy()
        other[[at, at + 1]] = other[[at + 1, at]]
        assert order_agreement(truth, other).tau_ap == pytest.approx(1 - cost)
        assert tau_ap(other, truth) == pytest.approx(1 - cost)


# --- correlation


def test_effective_topics_are_what_the_variance_says() -> None:
    n, whole, r = 8, 200, 0.8
    rng = np.random.default_rng(2)
    e = rng.normal(size=(20_000, whole))
    d = r * e[:, :n] + np.sqrt(1 - r**2) * rng.normal(size=(20_000, n))
    centred = e[:, :n] - e[:, :n].mean(axis=1, keepdims=True)
    slope = (d * centred).sum(axis=1) / np.square(centred).sum(axis=1)
    estimate = d.mean(axis=1) + slope * (e.mean(axis=1) - e[:, :n].mean(axis=1))
    assert 1 / estimate.var() == pytest.approx(float(effective_topics(n, whole, r)), rel=0.03)


def test_the_correlation_of_every_pair_is_pearsons(population: Any) -> None:
    scores = everywhere(population, "llama3-8b-baseline").chosen(np.arange(6))
    found = difference_correlation(scores)
    first, second = np.triu_indices(6, k=1)
    d, e = (each[:, first] - each[:, second] for each in (scores.human, scores.judge))
    expected = [np.corrcoef(d[:, at], e[:, at])[0, 1] for at in range(15)]
    np.testing.assert_allclose(found.of_pairs, expected, atol=1e-12)
    left_out = []
    for topic in range(43):
        rest = np.delete(np.arange(43), topic)
        left_out.append(np.median([np.corrcoef(d[rest, at], e[rest, at])[0, 1] for at in range(15)]))
    error = np.sqrt(42 / 43 * np.square(np.array(left_out) - np.mean(left_out)).sum())
    assert found.median.standard_error == pytest.approx(error, rel=1e-9)


def test_a_constant_judge_has_no_correlation() -> None:
    rng = np.random.default_rng(1)
    scores = JudgedScores(human=rng.random((5, 3)), judge=np.full((8, 3), 0.5), rows=np.arange(5))
    with pytest.raises(InputError, match="no pair of systems varies"):
        difference_correlation(scores)


# --- favour


def teams(systems: tuple[str, ...]) -> tuple[list[str], Array]:
    names = ["idst", "TUW19", "bm25", "srchvrs", "ICT", "UNH", "runid"]
    number = [next((at for at, name in enumerate(names) if each.startswith(name)), len(names)) for each in systems]
    return names, np.array(number)


@pytest.mark.parametrize("judge", DL19)
def test_a_judge_that_favours_one_team_is_named(population: Any, judge: str) -> None:
    names, groups = teams(population.systems)
    mine = groups == 0  # idst
    scores = population.judges[judge] + 0.05 * mine
    biased = JudgedScores(human=population.human, judge=scores, rows=np.arange(43))
    by_team = favour(biased, question="departure", groups=groups, resamples=1999)
    assert by_team.favoured[0], names[0]
    assert by_team.lower[0] > 0
    assert favour(biased, question="departure", resamples=1999).favoured[mine].any()


@pytest.mark.parametrize("judge", DL19)
def test_honest_judges_favour_no_system_beyond_a_curve_of_quality(population: Any, judge: str) -> None:
    found = favour(everywhere(population, judge), question="departure", resamples=1999)
    assert not found.favoured.any()


@pytest.mark.proof
def test_three_of_four_judges_distort_comparisons_in_favour_of_lexical_systems(dl19: Any) -> None:
    lexical = np.array(["bm25" in name for name in dl19.systems])
    named = {judge: favour(everywhere(dl19, judge), question="shift", resamples=1999) for judge in DL19}
    assert not named["flan-t5-large-4prompts"].favoured.any()
    for judge in ("llama3-70b-4prompts", "llama3-8b-baseline", "llama3-8b-generated-query"):
        assert named[judge].favoured[lexical].any()
        assert not named[judge].disfavoured[lexical & (dl19.human.mean(axis=0) > 0.2)].any()


def test_a_judge_that_is_lenient_to_all_alike_favours_nobody(population: Any) -> None:
    rng = np.random.default_rng(4)
    human = population.human
    lenient = human + 0.2 + rng.normal(0, 0.02, (43, 1))  # by topic, the same for all systems
    found = favour(JudgedScores(human=human, judge=lenient, rows=np.arange(43)), question="shift", resamples=199)
    assert np.abs(found.value).max() < 1e-12
    assert (found.p_value == 1).all()


@pytest.mark.parametrize("question", ["shift", "departure"])
def test_the_error_rate_of_a_judge_that_favours_none(script: ModuleType, population: Any, question: str) -> None:
    raised = np.array([name.startswith("idst") for name in population.systems])
    tables = sized(20, 60)
    error, _, found = script.favour_rates(
        population.human,
        population.judges["llama3-70b-4prompts"],
        question,
        topics=43,
        tables=tables,
        seed=1,
        raised=raised,
    )
    assert error <= 0.06 + margin(0.05, tables, errors=2)
    assert found > 0.5


def test_departures_are_from_a_fit_to_the_others() -> None:
    rng = np.random.default_rng(8)
    human = rng.random((30, 1)) * 0.1 + np.linspace(0.2, 0.8, 12)
    scores = JudgedScores(
        human=human, judge=0.3 + 0.9 * human - 0.2 * human**2 + rng.normal(0, 0.01, human.shape), rows=np.arange(30)
    )
    x, y = human.mean(axis=0), scores.judge.mean(axis=0)
    rest = np.delete(np.arange(12), [2, 5])
    fit = np.polynomial.Polynomial.fit(x[rest], y[rest], 2)
    groups = np.where(np.isin(np.arange(12), [2, 5]), 0, 1)
    expected = (y[[2, 5]] - fit(x[[2, 5]])).mean()
    found = favour(scores, question="departure", groups=groups, resamples=99)
    assert found.value[0] == pytest.approx(expected, abs=1e-9)
    assert np.isnan(found.value[1])  # nobody is left to fit a curve to
    with pytest.raises(RequestError, match="no question «cubic»"):
        favour(scores, question="cubic")


# --- drift


def test_drift_is_the_change_of_means_and_of_r_by_hand(population: Any) -> None:
    earlier, later = (everywhere(population, name) for name in ("llama3-70b-4prompts", "flan-t5-large-4prompts"))
    found = drift(earlier, later)
    assert found.mean.value == pytest.approx(later.judge.mean() - earlier.judge.mean(), abs=1e-12)
    assert found.mean.lower < found.mean.value < found.mean.upper
    change = (later.judge - earlier.judge).mean(axis=1)
    assert found.mean.standard_error == pytest.approx(change.std(ddof=1) / np.sqrt(43), rel=1e-12)
    correlations = [difference_correlation(scores).median.value for scores in (earlier, later)]
    assert (found.earlier_correlation, found.later_correlation) == pytest.approx(correlations, abs=1e-12)
    same = drift(earlier, earlier)
    assert (same.mean.value, same.p_value) == (0.0, 1.0)


@pytest.mark.proof
def test_drift_between_two_judges_of_dl19(dl19: Any) -> None:
    found = drift(*(everywhere(dl19, name) for name in ("llama3-70b-4prompts", "flan-t5-large-4prompts")))
    assert found.mean.value == pytest.approx(0.6510 - 0.8058, abs=1e-4)
    assert found.mean.upper < 0
    assert found.p_value < 1e-6
    assert (found.earlier_correlation, found.later_correlation) == pytest.approx((0.7305, 0.5053), abs=1e-4)


def test_drift_of_other_topics_is_refused() -> None:
    few, more = (JudgedScores(human=np.ones((4, 2)), judge=np.ones((n, 2)), rows=np.arange(4)) for n in (4, 5))
    with pytest.raises(InputError, match="same topics and systems"):
        drift(few, more)


# --- drawing topics


def test_a_draw_is_random_and_reproducible_and_stratified_in_proportion() -> None:
    means = np.random.default_rng(1).random(43)
    assert draw_topics(means, 10, seed=1).tolist() == draw_topics(means, 10, seed=1).tolist()
    assert draw_topics(means, 10, seed=1).tolist() != draw_topics(means, 10, seed=2).tolist()
    strata = np.array_split(np.argsort(means), 5)
    drawn, taken = np.zeros(43), np.zeros(5)
    for seed in range(600):
        chosen = draw_topics(means, 12, stratify=True, seed=seed)
        assert len(set(chosen.tolist())) == 12
        counts = [np.isin(part, chosen).sum() for part in strata]
        assert set(counts) <= {2, 3}  # 12 of 43: 2.2 or 2.5 of each fifth
        drawn[chosen] += 1
        taken += counts
    # Every topic is as likely as any other.
    np.testing.assert_allclose(taken / 600, [12 * len(part) / 43 for part in strata], atol=0.1)
    np.testing.assert_allclose(drawn / 600, 12 / 43, atol=5 * np.sqrt(0.28 * 0.72 / 600))
    with pytest.raises(RequestError, match="cannot be drawn"):
        draw_topics(means, 44)


def test_topics_that_are_no_random_sample_are_noticed_and_random_ones_are_not() -> None:
    from scipy import stats

    means = np.random.default_rng(3).beta(2, 2, 200)
    low = np.argsort(means)[:20]
    found = check_sample(means, low)
    assert found.p_value < 1e-4
    assert found.mean < found.other_mean
    expected = stats.ttest_ind(means[low], np.delete(means, low), equal_var=False).pvalue
    assert found.p_value == pytest.approx(expected)
    small = [check_sample(means, draw_topics(means, 20, seed=seed)).p_value <= 0.05 for seed in range(400)]
    assert np.mean(small) < 0.08
    assert check_sample(means, np.arange(200)).p_value == 1.0
