"""What human labels are worth among a judge's, and both questions about the systems that it favours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.methods.design.spreads import effective_topics
from cranfield.methods.judging import JudgedScores, difference_correlation
from cranfield.types import Array
from sizes import sized

DL19 = ("llama3-70b-4prompts", "flan-t5-large-4prompts", "llama3-8b-baseline", "llama3-8b-generated-query")


@pytest.fixture(scope="module")
def population(load_script: Callable[[str], ModuleType], shared: Path) -> Any:
    return load_script("judge_error_rates").read_population(shared)


def variance_ratio(human: Array, judge: Array, topics: int, draws: int) -> float:
    """Of the mean of human labels over that of the regression, n of all topics drawn; the median over pairs.

    All topics are a sample as well, which adds s²/N to both variances.
    """
    first, second = np.triu_indices(human.shape[1], k=1)
    d, e = human[:, first] - human[:, second], judge[:, first] - judge[:, second]
    vary = e.std(axis=0) > 0
    d, e = d[:, vary], e[:, vary]
    rng, total = np.random.default_rng(3), len(human)
    alone, adjusted = np.empty((2, draws, d.shape[1]))
    for draw in range(draws):
        rows = rng.choice(total, topics, replace=False)
        mine, beside = d[rows], e[rows] - e[rows].mean(axis=0)
        squares = np.square(beside).sum(axis=0)
        slope = np.divide((mine * beside).sum(axis=0), squares, out=np.zeros_like(squares), where=squares > 1e-10)
        alone[draw] = mine.mean(axis=0)
        adjusted[draw] = alone[draw] + slope * (e.mean(axis=0) - e[rows].mean(axis=0))
    whole = d.var(axis=0, ddof=1) / total
    return float(np.median((alone.var(axis=0) + whole) / (adjusted.var(axis=0) + whole)))


@pytest.mark.parametrize("judge", DL19)
@pytest.mark.parametrize("topics", [5, 10, 25])
def test_effective_topics_of_samples_are_those_of_the_simulated_variances(
    population: Any, judge: str, topics: int
) -> None:
    human, scores = population.human, population.judges[judge]
    truth = variance_ratio(human, scores, topics, sized(2000, 6000))
    rng, reported = np.random.default_rng(1), []
    for _ in range(sized(20, 400) if topics > 5 else sized(200, 600)):
        rows = np.sort(rng.choice(len(human), topics, replace=False))
        found = difference_correlation(JudgedScores(human=human[rows], judge=scores, rows=rows))
        least, worth, most = found.effective_topics[1], found.effective_topics[0], found.effective_topics[2]
        assert least <= worth <= most
        reported.append(worth / topics)
    assert np.mean(reported) == pytest.approx(truth, rel=0.1)


def test_a_judge_of_the_same_topics_adds_nothing_and_says_so() -> None:
    assert float(effective_topics(7, 7, 0.9)) == 7
    human, judge = scores(20, 20)
    found = cf.judges(human, judge={"model": judge})
    assert found.assessment is not None
    assert found.assessment.of("model").correlation.effective_topics == (20.0, 20.0, 20.0)
    assert "so that its labels add nothing" in found.summary()


def scores(topics: int, judged: int, systems: int = 4, noise: float = 0.1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Human scores of some of the topics, and a judge's of all."""
    rng = np.random.default_rng(5)
    human = rng.uniform(size=(judged, systems))
    judge = human + rng.normal(0, noise, human.shape)
    named = [
        {f"s{at}": {str(topic): float(table[topic, at]) for topic in range(count)} for at in range(systems)}
        for table, count in ((human, topics), (judge, judged))
    ]
    return named[0], named[1]


def test_worth_is_said_of_the_topics_in_the_file_and_of_others_where_asked() -> None:
    human, judge = scores(20, 80)
    plain, more = cf.judges(human, judge={"model": judge}), cf.judges(human, judge={"model": judge}, topics=[200])
    assert [row["judged_topics"] for row in plain.to_dict()["worth"]] == [80]
    assert [row["judged_topics"] for row in more.to_dict()["worth"]] == [80, 200]
    assert plain.assessment is not None
    worth = plain.assessment.of("model").correlation.effective_topics[0]
    assert plain.to_dict()["worth"][0]["effective_topics"] == worth
    for found in (plain, more):
        assert f"20 topics with human labels among 80 that it labels are worth {worth:.1f} with" in found.summary()


def test_both_questions_about_favour_are_answered_by_name() -> None:
    human, judge = scores(40, 40, systems=9, noise=0.02)
    judge["s3"] = {topic: value + 0.3 for topic, value in judge["s3"].items()}
    found = cf.judges(human, judge={"model": judge})
    rows = found.to_dict()["favour"]
    assert [row["question"] for row in rows] == ["shift"] * 9 + ["departure"] * 9
    assert [row["system"] for row in rows if row["significant"] and row["favour"] > 0.1] == ["s3", "s3"]
    assert "Shift: it favours 1 system (s3)" in found.summary()
    assert "Departure: it favours 1 system (s3)" in found.summary()


def test_a_judge_that_is_lenient_to_good_systems_shifts_them_and_departs_from_no_curve() -> None:
    rng = np.random.default_rng(2)
    human = rng.normal(0, 0.02, (60, 9)) + np.linspace(0.2, 0.8, 9)
    judge = 0.3 + human**2 + rng.normal(0, 0.02, human.shape)
    named = [
        {f"s{at}": {str(topic): float(value) for topic, value in enumerate(table[:, at])} for at in range(9)}
        for table in (human, judge)
    ]
    (row,) = cf.judges(named[0], judge={"model": named[1]}).to_dict()["rows"]
    assert row["favoured_by_shift"] + row["disfavoured_by_shift"] > 4
    assert row["favoured_by_departure"] + row["disfavoured_by_departure"] == 0


def test_departure_is_not_asked_of_fewer_than_8_systems() -> None:
    human, judge = scores(30, 30, systems=7)
    rows = cf.judges(human, judge={"model": judge}).to_dict()["favour"]
    assert {row["question"] for row in rows} == {"shift"}
