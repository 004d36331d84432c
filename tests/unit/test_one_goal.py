"""One default goal: wherever none is named, every question plans for the same difference, and finds the same n."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import by_flags
import cranfield as cf
from cranfield.errors import RequestError
from cranfield.methods.design import Goal, default_goal, solve
from cranfield.methods.design.goals import Scale, check_scale, default_difference, scale_of
from cranfield.questions import MODULES, find_question
from cranfield.rendering.report_sections import make_report

Ask = Callable[[Any, Any], Any]


def _size(runs: Any, scores: Any) -> Any:
    return cf.size(scores).to_dict()["rows"][0]["topics"]


def _power(runs: Any, scores: Any) -> Any:
    """The fewest topics at which the card's own difference has its power."""
    card = cf.power(scores).cards[0]
    n = int(solve(card.designs(), Goal("difference", card.difference, card.power)))
    powers = [each.achieved_power for each in cf.power(scores, topics=[n - 1, n]).cards]
    assert powers[0] < 0.8 <= powers[1]
    return n


def _pilot(runs: Any, scores: Any) -> Any:
    return int(by_flags.pilot(runs, leave_out=0, topics=10, trials=2).study.get("AP").topics)


def _budget(runs: Any, scores: Any) -> Any:
    study: Any = cf.budget(runs, depths=[10]).study
    return study.of("AP")[-1].topics


def _reliability(runs: Any, scores: Any) -> Any:
    found = by_flags.reliability(scores, trials=10, resamples=100).to_dict()["rows"]
    row = next(row for row in found if "topics_for_difference" in row)
    return row["topics_for_difference"]


def _verify(runs: Any, scores: Any) -> Any:
    return by_flags.verify(scores, collections=250, search=False).verifications[0].design.topics


def _report(runs: Any, scores: Any) -> Any:
    return int(cf.report(scores, section=["size"]).findings["size"]["sizes"][0].size.topics.flat[0])


def _study_plans(runs: Any, scores: Any) -> Any:
    """The goal of a study is of one pair: its n is that of `size` for a pair with the same sd."""
    sd = cf.size(scores).pilot[0].estimate.difference_variance ** 0.5
    (first,) = (each.first for each in cf.study_plans(sd=sd).prospects if each.plan == "fixed")
    return _as_of_a_pair(first, scores)


def _study_new(runs: Any, scores: Any) -> Any:
    sd = cf.size(scores).pilot[0].estimate.difference_variance ** 0.5
    with TemporaryDirectory() as folder:
        first = by_flags.study_new(f"{folder}/mine.study", sd=sd, plan="fixed").expected.first
    return _as_of_a_pair(first, scores)


def _study_trial(runs: Any, scores: Any) -> Any:
    sd = cf.size(scores).pilot[0].estimate.difference_variance ** 0.5
    return _as_of_a_pair(cf.study_trial(sd=sd, trial_size=30).to_dict()["rows"][0]["needed"], scores)


def _study_past(runs: Any, scores: Any) -> Any:
    """The topics for the mean sd of the pairs."""
    row = cf.study_past(scores).to_dict()["rows"][0]
    assert row["topics"] == cf.size(difference=0.05, sd=row["sd"], test="t").topics[0]
    return _size(runs, scores)


def _as_of_a_pair(topics: int, scores: Any) -> int:
    """The n of all pairs, where that of a pair is the one that `size` finds."""
    rows = {row["test"]: row for row in cf.size(scores).to_dict()["rows"] if row["estimate"] == "residual"}
    assert topics == rows["t"]["topics"]
    return int(rows["holm"]["topics"])


def _page(runs: Any, scores: Any) -> Any:
    """What the calculator of the report's page starts with."""
    report = make_report(cf.report(scores, section=["size"]))
    (start,) = report.starts
    ratio = 2 * start.variances["residual"][0] / start.difference**2
    assert report.topic_table is not None
    return report.topic_table("difference").needed(systems=start.systems, power=start.power, ratio=ratio)


QUESTIONS: dict[str, Ask] = {
    "size": _size,
    "power": _power,
    "pilot": _pilot,
    "budget": _budget,
    "reliability": _reliability,
    "verify": _verify,
    "report": _report,
    "page": _page,
    "study_plans": _study_plans,
    "study_new": _study_new,
    "study_trial": _study_trial,
    "study_past": _study_past,
}
"""Every question with a goal that may be left out, and where its answer has n."""


def topics_of(runs: Any, names: list[str]) -> dict[str, int]:
    scores = cf.score(runs, measure="AP").table
    return {name: QUESTIONS[name](runs, scores) for name in names}


def test_every_question_finds_one_n_on_the_demo(example: Path) -> None:
    runs = cf.read_collection(example / "runs", example / "qrels.txt", teams=example / "teams.tsv")
    assert set(topics_of(runs, list(QUESTIONS)).values()) == {98}


@pytest.mark.proof
def test_every_question_finds_one_n_on_trec8(shared: Path) -> None:
    folder = shared / "data" / "trec8"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    scores = cf.read_scores(folder / "scores" / "map.csv", measure="AP")
    named = [name for name in QUESTIONS if name not in ("pilot", "budget", "verify")]
    assert {name: QUESTIONS[name](None, scores) for name in named} == dict.fromkeys(named, 324)


def test_every_question_with_an_optional_goal_is_in_the_list() -> None:
    """None has a difference that must be given; `study_edit` leaves the goal as it is, `study_simulate` has its own."""
    known = {name: signature(find_question(name).function).parameters.get("difference") for name in MODULES}
    differences = {name: parameter for name, parameter in known.items() if parameter is not None}
    assert all(parameter.default is None for parameter in differences.values())
    assert set(differences) - {"study_edit", "study_simulate"} == set(QUESTIONS) - {"reliability", "page"}


@pytest.mark.parametrize(
    ("measure", "low", "high", "limits", "difference"),
    [
        ("AP", 0.01, 0.8, (0.0, 1.0), 0.05),
        ("DCG", 0.0, 14.2, (0.0, float("inf")), 0.71),
        ("percent", 3.0, 98.0, None, 4.8),
        ("grade", 1.0, 5.0, None, 0.2),
        ("accuracy", 0.2, 0.9, None, 0.05),
    ],
)
def test_the_default_difference_follows_the_scale(
    measure: str, low: float, high: float, limits: tuple[float, float] | None, difference: float
) -> None:
    scale = scale_of(measure, low, high, limits)
    assert default_difference(scale) == pytest.approx(difference)
    assert default_goal([scale]).value == pytest.approx(difference)


def test_scores_on_another_scale_are_planned_for_on_that_scale() -> None:
    rng = np.random.default_rng(3)
    plain = rng.uniform(0, 1, (30, 1)) * 0.5 + rng.uniform(0, 0.5, (30, 4))
    names = tuple(map(str, range(30))), tuple("abcd")
    tables = [cf.ScoreTable(("quality",), *names, (plain * times)[np.newaxis, :, :, np.newaxis]) for times in (1, 100)]
    small, large = (cf.size(table) for table in tables)
    assert (small.warnings, [each.slug for each in large.warnings]) == ((), ["default-goal"])
    assert "5 % of the range of the scores of quality" in large.warnings[0].what
    span = 100 * (plain.max() - plain.min())
    assert large.to_dict()["rows"][0]["difference"] == pytest.approx(0.05 * span, rel=0.05)
    power = cf.power(tables[1]).cards[0]
    assert power.difference == large.to_dict()["rows"][0]["difference"]


def test_a_request_on_another_scale_says_what_was_probably_meant() -> None:
    (said,) = cf.size(difference=5, sd=0.15).warnings
    assert said.slug == "goal-out-of-scale"
    assert "33 times the standard deviation 0.15" in said.what
    assert "difference=0.05" in said.fix
    (said,) = cf.power(topics=50, difference=5, sd=0.15).warnings
    assert said.slug == "goal-out-of-scale"
    assert not cf.size(difference=0.05, sd=0.15).warnings
    with pytest.raises(RequestError, match=r"larger than a scale from 0 to 1") as error:
        check_scale("difference", [5.0], (), Scale())
    assert "difference=0.05" in error.value.fix
    with pytest.raises(RequestError, match="`power` cannot be 80") as error:
        cf.size(difference=0.05, sd=0.15, power=80)
    assert "For 80 %, write 0.8." in error.value.fix


def test_a_difference_larger_than_the_scale_of_a_pilot_is_refused() -> None:
    rng = np.random.default_rng(4)
    scores = {name: {str(topic): float(value) for topic, value in enumerate(rng.random(20))} for name in "abc"}
    for ask in (cf.size, cf.power, cf.verify):
        with pytest.raises(RequestError, match="larger than a scale from 0 to 1"):
            ask(scores, difference=5)


@pytest.mark.parametrize("estimate", ["residual", "within", "one-way", "two-way", "percentile"])
def test_any_estimate_of_the_variance_can_be_planned_with(estimate: Any) -> None:
    rng = np.random.default_rng(5)
    topics = rng.random(30)
    scores = {name: {str(at): float((value + rng.random()) / 2) for at, value in enumerate(topics)} for name in "abcd"}
    variance = next(row["variance"] for row in cf.variance(scores).to_dict()["rows"] if row["method"] == estimate)
    rows = by_flags.size(scores, estimate=estimate, test="holm").to_dict()["rows"]
    assert [row["estimate"] for row in rows] == [estimate]
    assert rows[0]["sd"] == pytest.approx((2 * variance) ** 0.5)
    assert by_flags.power(scores, estimate=estimate).cards[0].sd == pytest.approx((2 * variance) ** 0.5)
    shared = estimate in ("residual", "percentile")
    methods = {row["method"] for row in by_flags.size(scores, estimate=estimate, min_range=0.1).to_dict()["rows"]}
    assert methods == ({"blocked"} if shared else {"exact", "sakai"})


def test_topics_are_given_for_the_median_the_mean_and_the_95th_percentile_of_pairs() -> None:
    rng = np.random.default_rng(6)
    scores = {
        name: {str(at): float(0.5 + 0.05 * (1 + place) * value) for at, value in enumerate(rng.normal(size=40))}
        for place, name in enumerate("abcde")
    }
    rows = {row["estimate"]: row for row in cf.size(scores, test="holm").to_dict()["rows"]}
    assert list(rows) == ["residual", "median pair", "mean pair", "percentile"]
    sds = [
        np.std([scores[a][str(at)] - scores[b][str(at)] for at in range(40)], ddof=1)
        for place, a in enumerate("abcde")
        for b in "abcde"[place + 1 :]
    ]
    assert rows["median pair"]["sd"] == pytest.approx(float(np.median(sds)))
    assert rows["mean pair"]["sd"] == pytest.approx(float(np.mean(sds)))
    for row in rows.values():
        assert row["topics_lower"] <= row["topics"] <= row["topics_upper"]
