"""Topics for people and for a judge: the cheapest designs, what they promise, and that simulation confirms it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError
from cranfield.methods.design import Judged
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.labels import plan_labels
from cranfield.methods.judging import JudgedScores, difference_correlation, estimate_pairs
from cranfield.methods.judging.two_phase_stopping import stopped
from cranfield.methods.verification import PlannedDesign, verify
from cranfield.stats.family import holm_level
from designs import (
    Cheapest,
    card_for_budget,
    design_for_power,
    design_for_width,
    judged_detectable,
    judged_power,
    judged_width,
    power_for_difference,
    size_for_difference,
    size_for_width,
)
from sizes import examples_of

TEN_TO_ONE = Costs(topic=10, judged_topic=0.1)
JUDGE: dict[str, Any] = {"human_cost": 10, "judge_cost": 0.1}
FLAGS = ("--human-cost", "10", "--judge-cost", "0.1")


def cheaper(costs: Costs, cost: float) -> tuple[np.ndarray, np.ndarray]:
    """All n and N that cost less than ``cost``."""
    most = int(cost / costs.topic), int(cost / costs.judged_topic)
    n, whole = np.meshgrid(np.arange(Judged.fewest, most[0] + 1), np.arange(Judged.fewest, most[1] + 1), indexing="ij")
    less = (n <= whole) & (costs.topic * n + costs.judged_topic * whole < cost - 1e-9)
    return n[less], whole[less]


@pytest.mark.parametrize(
    ("effect", "r", "human", "judge"),
    [
        (0.5, 0.9, 10, 0.5),
        (0.5, 0.6, 10, 0.5),
        (0.5, 0.6, 1, 0.3),
        (0.45, 0.75, 3, 1),
        (0.6, 0.5, 5, 0.25),
        (0.8, 0.95, 2, 1),
        (0.5, 0.3, 10, 0.5),
        (0.5, 0.8, 1, 1),
        (1.2, 0.97, 10, 0.5),
    ],
)
def test_no_design_of_the_whole_grid_is_cheaper(effect: float, r: float, human: float, judge: float) -> None:
    costs = Costs(topic=human, judged_topic=judge)
    design = design_for_power(effect, 1.0, r, costs)
    n, whole = cheaper(costs, design.cost)
    assert len(n)
    assert (judged_power(n, whole, effect, 1.0, r) < 0.8).all()
    assert design.human_topics is not None
    alone = np.arange(2.0, design.human_topics)
    assert (power_for_difference(topics=alone, effect_size=effect) < 0.8).all()
    assert design.achieved >= 0.8


def test_no_design_of_the_whole_grid_is_cheaper_for_a_width() -> None:
    costs = Costs(topic=10, judged_topic=0.5)
    design = design_for_width(0.7, 1.0, 0.8, costs)
    assert design.judge_pays
    assert design.achieved <= 0.7
    n, whole = cheaper(costs, design.cost)
    assert (judged_width(n, whole, 1.0, 0.8) > 0.7).all()


def test_no_design_that_a_budget_pays_for_detects_less() -> None:
    costs = Costs(topic=10, judged_topic=0.5)
    card = card_for_budget(300, 1.0, 0.8, costs)
    n, whole = cheaper(costs, 300 + 1e-6)
    assert card.cost <= 300
    assert (judged_power(n, whole, card.detectable_difference * (1 - 1e-9), 1.0, 0.8) < 0.8).all()
    assert float(judged_detectable(card.topics, card.judged_topics, 1.0, 0.8)) == card.detectable_difference
    assert card.human is not None
    assert card.detectable_difference < card.human.detectable_difference
    assert card.judge_pays


RS = st.floats(0.0, 0.97)
EFFECTS = st.floats(0.2, 1.5)


@settings(max_examples=examples_of(40), deadline=None)
@given(RS, EFFECTS, st.floats(0.005, 2.0))
def test_a_design_reaches_its_power_and_never_costs_more_than_people_alone(r: float, effect: float, c: float) -> None:
    design = design_for_power(effect, 1.0, r, Costs(topic=1, judged_topic=c))
    assert design.topics is not None
    assert design.human_topics is not None
    assert design.achieved >= 0.8
    assert design.cost <= design.human_cost
    assert design.judged_topics >= design.topics if design.judge_pays else design.judged_topics == 0
    if design.judge_pays:
        assert design.topics < design.human_topics
        assert judged_power(design.topics, design.judged_topics - 1, effect, 1.0, r) < 0.8 or (
            design.judged_topics == design.topics
        )


@settings(max_examples=examples_of(25), deadline=None)
@given(RS, RS, EFFECTS)
def test_a_larger_r_never_costs_more(one: float, other: float, effect: float) -> None:
    low, high = sorted((one, other))
    costs = [design_for_power(effect, 1.0, r, TEN_TO_ONE).cost for r in (low, high)]
    assert costs[1] <= costs[0] + 1e-9


@pytest.mark.parametrize("r", [0.0, 0.05])
def test_a_judge_that_knows_nothing_labels_nothing(r: float) -> None:
    design = design_for_power(0.05, 0.15, r, TEN_TO_ONE)
    assert (design.judge_pays, design.topics, design.judged_topics, design.cost) == (False, 73, 0, 730)


@pytest.mark.parametrize("r", [0.4, 0.6, 0.9])
def test_with_many_topics_the_share_for_people_is_the_published_one(r: float) -> None:
    design = design_for_power(0.002, 0.15, r, TEN_TO_ONE)
    assert design.topics is not None
    share = design.topics / design.judged_topics
    assert share == pytest.approx(float(np.sqrt((1 - r**2) / r**2 * 0.1 / 10)), rel=0.01)


def test_r_and_minus_r_are_worth_the_same() -> None:
    assert design_for_power(0.05, 0.15, -0.6, TEN_TO_ONE) == design_for_power(0.05, 0.15, 0.6, TEN_TO_ONE)


@pytest.mark.parametrize(
    ("n", "whole", "effect", "r"), [(8, 16, 1.0, 0.3), (10, 40, 0.8, 0.6), (7, 60, 0.7, 0.9), (30, 300, 0.45, 0.6)]
)
def test_power_and_width_are_those_of_the_estimator(n: int, whole: int, effect: float, r: float) -> None:
    """40,000 draws of the regression estimator itself; with few topics the slope's own error shows."""
    from cranfield.methods.verification.batch_tests import LabelledScores
    from cranfield.methods.verification.populations import JudgedNormalWorld

    world = JudgedNormalWorld(systems=2, sd=np.sqrt(0.5), correlation=r)
    rng, hits, width = np.random.default_rng(7), 0.0, 0.0
    for _ in range(20):
        human, judge = world.scores(rng, rng, world.cast(rng, 2000), n, whole)
        estimate = LabelledScores(human + np.array([effect, 0.0]), judge).estimate()
        lower, upper = estimate.interval()
        hits += float((estimate.p_value <= 0.05).mean()) / 20
        width += float((upper - lower).mean()) / 20
    assert float(judged_power(n, whole, effect, 1.0, r)) == pytest.approx(hits, abs=0.012)
    assert float(judged_width(n, whole, 1.0, r)) == pytest.approx(width, rel=0.012)


def test_a_pair_of_several_systems_has_the_level_of_the_family() -> None:
    found = by_flags.size(difference=0.05, sd=0.15, systems=10, judge_correlation=0.6, **JUDGE)
    by_test = {row["test"]: row for row in found.to_dict()["rows"]}
    assert list(by_test) == ["holm", "t"]  # as comparisons with a judge do
    level = float(holm_level(0.05, 10))
    row = by_test["holm"]
    assert row["achieved_power"] == pytest.approx(
        float(judged_power(row["topics"], row["judged_topics"], 0.05, 0.15, 0.6, level))
    )
    assert row["human_topics"] == cf.size(difference=0.05, sd=0.15, systems=10).topics[0] == 157
    named = by_flags.size(difference=0.05, sd=0.15, systems=10, test="max-t", judge_correlation=0.6, **JUDGE)
    assert named.topics[0] is not None
    assert named.topics[0] < row["topics"]
    assert not named.warnings


def test_a_judge_pays_where_people_alone_cost_more_by_the_same_test() -> None:
    asked: dict[str, Any] = {"difference": 0.05, "sd": 0.15, "systems": 10, "judge_correlation": 0.3, **JUDGE}
    row = by_flags.size(**asked).to_dict()["rows"][0]
    assert (row["judge_pays"], row["test"], row["human_topics"]) == (True, "holm", 157)
    assert 1500 < row["cost"] < row["human_topics_cost"] == 1570


def test_max_t_with_few_topics_has_a_warning() -> None:
    found = by_flags.size(difference=0.15, sd=0.15, systems=5, test="max-t", judge_correlation=0.6, **JUDGE)
    assert [each.slug for each in found.warnings] == ["max-t-few-topics"]


def test_given_the_judged_topics_the_fewest_people_are_found() -> None:
    design = design_for_power(0.05, 0.15, 0.6, Costs(topic=1, judged_topic=np.nan), judged_topics=200)
    assert design.topics is not None
    powers = [float(judged_power(n, 200, 0.05, 0.15, 0.6)) for n in (design.topics - 1, design.topics)]
    assert powers[0] < 0.8 <= powers[1]
    few = design_for_power(0.05, 0.15, 0.6, Costs(topic=1, judged_topic=np.nan), judged_topics=40)
    assert (few.judge_pays, few.topics, few.judged_topics) == (False, 73, 0)


def test_an_estimated_r_gives_a_range_of_designs() -> None:
    size = size_for_difference(difference=0.05, sd=0.15)
    row = plan_labels([size], [0.6], TEN_TO_ONE, ends=[(0.4, 0.75)])[0].to_dict()[0]
    low, high = (design_for_power(0.05, 0.15, r, TEN_TO_ONE) for r in (0.75, 0.4))
    assert (row["topics_lower"], row["topics_upper"]) == (low.topics, high.topics)
    assert row["cost_lower"] == low.cost < row["cost"] < row["cost_upper"] == high.cost
    across = plan_labels([size], [0.3], TEN_TO_ONE, ends=[(-0.2, 0.6)])[0].to_dict()[0]
    assert (across["topics_upper"], across["judged_topics_upper"]) == (73, 0)  # a judge with r = 0 is worth nothing


def test_a_pilot_gives_a_range_by_its_variance(example: Path) -> None:
    found = by_flags.size(
        f"{example}/runs", qrels=f"{example}/qrels.txt", difference=0.05, test="t", judge_correlation=0.6, **JUDGE
    )
    row = found.to_dict()["rows"][0]
    assert row["topics_lower"] < row["topics"] < row["topics_upper"]
    assert row["human_topics"] == found.sizes[0].topics
    assert "reflecting the uncertainty" in found.summary()


def test_the_sentence_has_both_numbers_and_both_costs() -> None:
    text = by_flags.size(difference=0.05, sd=0.15, judge_correlation=0.6, **JUDGE).summary()
    assert text.startswith("52 topics labelled by people among 335 labelled by the model detect a difference of 0.05 ")
    assert "at a cost of 553.5 (regression estimator" in text
    assert text.endswith("r = 0.6); people alone need 73 topics, 730.")
    text = by_flags.size(difference=0.05, sd=0.15, judge_correlation=0.1, **JUDGE).summary()
    assert text.startswith("The labels of a model with r = 0.1 do not pay: 73 topics labelled by people alone")


def test_r_is_shown_with_four_digits() -> None:
    asked: dict[str, Any] = {"sd": 0.15, "judge_correlation": 0.668282}
    assert "; r = 0.6683)" in by_flags.size(difference=0.05, **asked, **JUDGE).summary()
    card = by_flags.power(topics=50, judged_topics=200, **asked).document()
    assert "; r = 0.6683)" in card.answer
    assert card.tables[0].title.endswith("r = 0.6683")


def test_lists_of_r_make_a_table(tmp_path: Path) -> None:
    chart = tmp_path / "curve.svg"
    rows = printed("size", "--width", "0.1", "--sd", "0.15", "--judge-correlation", "0.3:0.9:0.3", *FLAGS)["rows"]
    assert [row["judge_correlation"] for row in rows] == [0.3, 0.6, 0.9]
    assert all(row["achieved_width"] <= 0.1 for row in rows)
    assert rows[0]["human_topics"] == int(size_for_width(width=0.1, sd=0.15).topics)
    shown = run(
        "size", "--width", "0.1", "--sd", "0.15", "--judge-correlation", "0.3,0.6", *FLAGS, "--plot", str(chart)
    )
    assert shown.exit_code == 0, shown.output
    assert "correlation r of human and model differences" in chart.read_text()
    assert max(map(len, shown.stdout.splitlines()[1:])) <= 80


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def printed(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


PAIR = {"difference": 0.05, "sd": 0.15}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"min_range": 0.1, "systems": 10, "variance": 0.05, "judge_correlation": 0.6, **JUDGE}, "min_range"),
        ({"equivalence": 0.1, "judge_correlation": 0.6, **JUDGE}, "equivalence"),
        ({"non_inferiority": 0.1, "judge_correlation": 0.6, **JUDGE}, "non_inferiority"),
        ({"sensitivity": 0.1, "sd": 0.2, "judge_correlation": 0.6, **JUDGE}, "sensitivity"),
        ({**PAIR, "min_range": 0.1, "systems": 4, "judge_correlation": 0.6, **JUDGE}, "min_range"),
        ({**PAIR, "unpaired": True, "judge_correlation": 0.6, **JUDGE}, "unpaired"),
        ({**PAIR, "assurance": 0.8, "judge_correlation": 0.6, **JUDGE}, "assurance"),
        ({"width": 0.1, "sd": 0.1, "probability": 0.9, "judge_correlation": 0.6, **JUDGE}, "probability"),
        ({**PAIR, "systems": 5, "test": "dunnett", "judge_correlation": 0.6, **JUDGE}, "dunnett"),
        ({**PAIR, "systems": 5, "test": "tukey", "judge_correlation": 0.6, **JUDGE}, "tukey"),
        ({**PAIR, "method": "normal", "judge_correlation": 0.6, **JUDGE}, "normal"),
        ({**PAIR, **JUDGE}, "has no effect without `judge"),
        ({**PAIR, "judged_topics": 100}, "has no effect without `judge"),
        ({**PAIR, "judge_correlation": 0.6}, "what the labels of the model cost"),
        ({**PAIR, "judge_correlation": 0.6, "human_cost": 10}, "has no effect without `judge_cost`"),
        ({**PAIR, "judge_correlation": 1.0, **JUDGE}, "`judge_correlation` cannot be 1"),
        ({**PAIR, "judge_correlation": 0.6, "judge_cost": 0.0}, "must be above 0"),
        ({"difference": "0.01:1:0.0001", "sd": 0.15, "judge_correlation": 0.6, **JUDGE}, "cells"),
    ],
)
def test_what_makes_no_sense_with_a_judge_is_refused(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=what):
        by_flags.size(**asked)


def test_power_of_topics_among_judged_ones() -> None:
    card = cf.power(topics=30, judge={"topics": 200, "correlation": 0.6}, sd=0.15).labels[0]
    assert card.achieved_power == pytest.approx(float(judged_power(30, 200, 0.05, 0.15, 0.6)))
    assert float(judged_power(30, 200, card.detectable_difference, 0.15, 0.6)) == pytest.approx(0.8)
    assert card.width == pytest.approx(float(judged_width(30, 200, 0.15, 0.6)))
    assert card.human is not None
    assert card.human.detectable_difference == cf.power(topics=30, sd=0.15).cards[0].detectable_difference
    assert card.detectable_difference < card.human.detectable_difference


def test_size_and_power_agree() -> None:
    row = by_flags.size(difference=0.05, sd=0.15, systems=6, judge_correlation=0.7, **JUDGE).to_dict()["rows"][0]
    card = by_flags.power(
        topics=row["topics"], judged_topics=row["judged_topics"], systems=6, judge_correlation=0.7, sd=0.15, **JUDGE
    ).labels[0]
    assert card.achieved_power == pytest.approx(row["achieved_power"])
    assert card.cost == pytest.approx(row["cost"])


def test_a_budget_is_spent_on_people_alone_where_a_judge_does_not_pay() -> None:
    asked: dict[str, Any] = {"budget": 500, "sd": 0.15, **JUDGE}
    card = by_flags.power(judge_correlation=0.1, **asked).labels[0]
    assert (card.judge_pays, card.topics, card.judged_topics, card.cost) == (False, 50, 0, 500)
    assert card.human is not None
    assert card.detectable_difference == card.human.detectable_difference
    better = by_flags.power(judge_correlation=0.6, **asked)
    assert better.labels[0].cost <= 500
    assert better.summary().startswith("47 topics labelled by people among 300 labelled by the model, at a cost of 500")


def test_a_gate_asks_for_the_power_with_the_judge() -> None:
    asked: dict[str, Any] = {"topics": 30, "judged_topics": 200, "judge_correlation": 0.9, "sd": 0.15}
    assert by_flags.power(**asked, gate="difference=0.05").exit_code == 0
    assert cf.power(topics=30, sd=0.15, gate="difference=0.05").exit_code == 1
    with pytest.raises(RequestError, match="tukey"):
        _ = by_flags.power(**asked, systems=4, gate="difference=0.05,test=tukey").exit_code


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"topics": 30, "judge_correlation": 0.6}, "topics that the model labels is missing"),
        ({"topics": 30, "judged_topics": 20, "judge_correlation": 0.6}, "are not among 20"),
        ({"topics": 3, "judged_topics": 20, "judge_correlation": 0.6}, "too few"),
        ({"topics": 30, "judged_topics": 200}, "has no effect without `judge"),
        ({"budget": 500}, "has no effect without `judge"),
        ({"budget": 500, "judge_correlation": 0.6}, "what the labels of the model cost"),
        ({"budget": 20, "judge_correlation": 0.6, **JUDGE}, "pays for fewer than 5"),
        ({"budget": 500, "topics": 30, "judge_correlation": 0.6, **JUDGE}, "has no effect with `topics`"),
        ({"budget": 500, "judged_topics": 30, "judge_correlation": 0.6, **JUDGE}, "has no effect with `judged_topics`"),
        ({"topics": 30, "judged_topics": 99, "judge_correlation": 0.6, "systems": 5, "test": "dunnett"}, "dunnett"),
    ],
)
def test_power_refuses_what_makes_no_sense(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=what):
        by_flags.power(sd=0.15, **asked)


def test_few_topics_for_people_have_a_warning() -> None:
    found = by_flags.size(difference=0.05, sd=0.15, judge_correlation=0.99, **JUDGE)
    assert [each.slug for each in found.warnings] == ["few-human-topics"]
    assert not by_flags.size(difference=0.05, sd=0.15, judge_correlation=0.6, **JUDGE).warnings


@pytest.mark.parametrize("r", [0.3, 0.6, 0.9])
def test_simulation_confirms_the_power_of_optimum_designs(r: float) -> None:
    found = by_flags.verify(
        difference=0.05, sd=0.15, judge_correlation=r, **JUDGE, collections=20_000, tolerance=0.001, search=False
    ).verifications[0]
    cheapest = design_for_power(0.05, 0.15, r, TEN_TO_ONE)
    assert (found.design.topics, found.design.judged_topics) == (cheapest.topics, cheapest.judged_topics)
    assert found.collections == 20_000
    assert found.power.rate == pytest.approx(0.80, abs=0.01)
    assert found.error.rate == pytest.approx(0.05, abs=0.006)


def test_a_design_that_is_too_small_is_found_out() -> None:
    found = cf.verify(difference=0.05, sd=0.15, judge={"correlation": 0.6, "topics": 335}, topics=40).verifications[0]
    assert found.verdict == "short"
    assert found.design.promised_power == pytest.approx(float(judged_power(40, 335, 0.05, 0.15, 0.6)))
    assert found.power.rate == pytest.approx(found.design.promised_power, abs=0.03)
    assert found.topics_needed == pytest.approx(52, abs=3)


@pytest.mark.parametrize("test", ["holm", "max-t"])
def test_a_family_of_pairs_is_verified_by_its_own_test(test: Any) -> None:
    found = by_flags.verify(
        difference=0.1,
        sd=0.15,
        systems=4,
        test=test,
        judge_correlation=0.7,
        **JUDGE,
        collections=500 if test == "holm" else 250,
        search=False,
        resamples=199 if test == "max-t" else None,
    ).verifications[0]
    assert found.design.test == test
    # max-t has less power than its formula says where few topics have human labels.
    assert found.power.rate == pytest.approx(found.design.promised_power, abs=0.07 if test == "holm" else 0.2)
    assert found.error.rate < 0.09


def test_verify_reads_the_designs_of_size(tmp_path: Path) -> None:
    asked = ("size", "--difference", "0.05", "--sd", "0.15", "--judge-correlation", "0.1,0.6", *FLAGS)
    path = tmp_path / "designs.json"
    path.write_text(json.dumps(printed(*asked)))
    rows = printed("verify", "--design", str(path), "--collections", "500", "--no-search")["rows"]
    assert "judged_topics" not in rows[0]  # people alone
    assert (rows[1]["topics"], rows[1]["judged_topics"], rows[1]["judge_correlation"]) == (52, 335, 0.6)


def judged_pilot(topics: int = 60, systems: int = 5, r: float = 0.7) -> JudgedScores:
    """Scores of topics of unequal difficulty, and a judge that is too generous to the first system."""
    rng = np.random.default_rng(5)
    own = rng.normal(size=(topics, systems))
    human = 0.4 + 0.2 * rng.normal(size=(topics, 1)) + 0.1 * own
    judge = 0.7 + 0.1 * (r * own + np.sqrt(1 - r**2) * rng.normal(size=(topics, systems)))
    judge[:, 0] += 0.1
    return JudgedScores(human=human, judge=judge, rows=np.arange(topics))


def test_a_pilot_with_both_label_sets_is_resampled_with_the_bias_of_its_judge() -> None:
    pilot = judged_pilot()
    first, second = np.triu_indices(pilot.systems, k=1)
    sd = float(np.sqrt(np.mean((pilot.human[:, first] - pilot.human[:, second]).var(axis=0, ddof=1))))
    r = difference_correlation(pilot).median.value
    cheapest = design_for_power(0.05, sd, r, TEN_TO_ONE)
    found = verify(designed(cheapest, sd, r), pilot, collections=4000, tolerance=0.001, search=False)
    assert found.power.rate == pytest.approx(0.8, abs=0.04)
    assert found.error.rate == pytest.approx(0.05, abs=0.015)
    assert found.world == "topics drawn from the pilot"


def designed(cheapest: Cheapest, sd: float, r: float) -> PlannedDesign:
    assert cheapest.topics is not None
    return PlannedDesign(
        source="size",
        test="t",
        systems=2,
        topics=cheapest.topics,
        spread=Judged(sd=sd, judge_correlation=r, judged_topics=cheapest.judged_topics),
        difference=0.05,
        goal="difference",
    )


def test_a_pilot_of_people_alone_gets_a_judge_with_the_given_r() -> None:
    from cranfield.methods.contrasts.pairs import all_pairs
    from cranfield.methods.judging.estimators import Moments
    from cranfield.methods.verification.populations import JudgedPilotWorld

    world = JudgedPilotWorld.of(judged_pilot().human, 5, 0.6)
    rng = np.random.default_rng(3)
    human, judge = world.scores(rng, rng, world.cast(rng, 4), 4000, 4000)
    moments = Moments.of(*map(all_pairs(5).of, (human, judge)))
    r = moments.products / np.sqrt(moments.human_squares * moments.judge_squares)
    assert float(r.mean()) == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize("r", [0.3, 0.6, 0.9])
def test_stopping_at_a_width_costs_little_coverage(r: float) -> None:
    """Five topics at a time from 20 on, until the interval is as narrow as 40 topics are expected to make it."""
    rng = np.random.default_rng(1)
    e = rng.standard_normal((300, 4000))
    d = r * e + np.sqrt(1 - r**2) * rng.standard_normal(e.shape)
    width = float(judged_width(40, 300, 1.0, r))
    covered, topics = stopped(d, e, 0.0, width=width, alpha=0.05, first=20, step=5)
    assert covered == pytest.approx(0.945, abs=0.01)
    assert topics == pytest.approx(42, abs=1)


def two_systems(human: int, judged: int = 200) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores of two systems that differ by 0.05, as dicts, under human labels of some topics and a judge's of all."""
    rng = np.random.default_rng(8)
    own = 0.1 * rng.normal(size=(judged, 2))
    labels = 0.4 + own + np.array([0.05, 0.0])
    judge = 0.6 + 0.7 * own + 0.07 * rng.normal(size=own.shape)
    tables = (labels[:human], judge)
    made = [
        {name: {f"t{at}": float(x) for at, x in enumerate(each[:, k])} for k, name in enumerate("ab")}
        for each in tables
    ]
    return made[0], made[1]


def test_a_study_says_when_the_interval_is_narrow_enough_and_what_that_costs() -> None:
    early = cf.study_width(two_systems(12)[0], judge=two_systems(12)[1], width=0.05, studies=1000)
    assert early.exit_code == 1
    assert "The first look is at 20 topics: label 8 more." in early.summary()
    human, judge = two_systems(40)
    found = cf.study_width(human, judge=judge, width=0.05, studies=2000)
    status = found.status
    assert (status.topics, status.judged_topics, status.enough, found.exit_code) == (40, 200, False, 1)
    assert status.more is not None
    assert float(judged_width(40 + status.more, 200, status.sd, status.judge_correlation)) <= 0.05
    assert float(judged_width(39 + status.more, 200, status.sd, status.judge_correlation)) > 0.05
    scores = JudgedScores(
        human=np.array([list(human[name].values()) for name in "ab"]).T,
        judge=np.array([list(judge[name].values()) for name in "ab"]).T,
        rows=np.arange(40),
    )
    estimate = estimate_pairs(scores)
    assert status.difference == pytest.approx(float(estimate.value[0]))
    assert (status.lower, status.upper) == pytest.approx([float(end[0]) for end in estimate.interval()])
    assert 0.9 < status.coverage < 0.96
    assert f"{100 * status.coverage:.1f} % cover the true difference" in found.summary()
    assert found.to_dict()["rows"][0]["difference"] is None  # not shown before the study may stop
    wide = cf.study_width(human, judge=judge, width=0.2, studies=200)
    assert (wide.exit_code, wide.status.enough) == (0, True)
    assert "stop. The difference of a and b is" in wide.summary()
    assert wide.to_dict()["rows"][0]["lower"] == wide.status.lower


def test_a_study_with_a_judge_refuses_topics_and_systems_that_the_judge_has_not() -> None:
    human, judge = two_systems(30)
    fewer = {name: {topic: x for topic, x in scores.items() if topic != "t7"} for name, scores in judge.items()}
    with pytest.raises(InputError, match="topic t7 has human labels"):
        cf.study_width(human, judge=fewer, width=0.1)
    with pytest.raises(InputError, match="lack «b»"):
        cf.study_width(human, judge={"a": judge["a"]}, width=0.1)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"difference": 0.05, "sd": 0.15, "judge_correlation": 0.6, "topics": 30, **JUDGE}, "is missing"),
        ({"min_range": 0.1, "systems": 5, "variance": 0.05, "judge_correlation": 0.6, **JUDGE}, "has no effect"),
        ({**PAIR, "judge_correlation": 0.6, **JUDGE, "margins": "beta"}, "margins"),
        ({**PAIR, "judge_correlation": 0.6, **JUDGE, "test": "wilcoxon"}, "wilcoxon"),
        ({**PAIR, "judge_correlation": 0.6, **JUDGE, "resamples": 500}, "resamples"),
        ({**PAIR, "judge_correlation": 0.6, "topics": 300, "judged_topics": 200}, "no design"),
        ({**PAIR, "judge_cost": 1.0}, "has no effect without `judge"),
    ],
)
def test_verify_refuses_what_makes_no_sense(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=what):
        by_flags.verify(**asked, collections=250, search=False)
