"""Requests that make no sense, limits, plans, cards and gates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield.errors import RequestError
from cranfield.methods.design.cards import parse_gate
from cranfield.methods.design.inputs import parse_grid
from cranfield.methods.design.planning import plan, plan_from_pilot
from cranfield.methods.design.request import Request
from cranfield.methods.variance import estimate_variance
from designs import size_for_range

GOOD: dict[str, Any] = {"systems": 10, "min_range": 0.1, "variance": 0.05, "alpha": 0.05, "power": 0.8}


@pytest.mark.parametrize(
    ("changed", "said", "advice"),
    [
        ({"power": 0.04}, "needs no topics", "above α"),
        ({"power": 1.0}, "`power` cannot be 1", "between 0 and 1"),
        ({"alpha": 0.0}, "`alpha` cannot be 0", "between 0 and 1"),
        ({"min_range": 0.0}, "`min_range` cannot be 0", "Equal systems"),
        ({"min_range": -0.1}, "`min_range` cannot be -0.1", "Equal systems"),
        ({"variance": float("nan")}, "`sd` cannot be nan", "standard deviation"),
        ({"systems": 1}, "`systems` cannot be 1", "two systems"),
        ({"systems": 2.5}, "`systems` cannot be 2.5", "two systems"),
    ],
)
def test_senseless_requests_say_why_and_what_would_work(changed: dict[str, float], said: str, advice: str) -> None:
    with pytest.raises(RequestError) as caught:
        size_for_range(**{**GOOD, **changed})
    assert said in caught.value.what
    assert advice in caught.value.fix


def test_a_design_beyond_the_limit_says_what_the_limit_gives() -> None:
    found = size_for_range(**{**GOOD, "min_range": 0.001}, limit=1000)
    assert not found.reached
    row = found.to_dict()[0]
    assert row["topics"] is None
    assert row["achieved_power"] == pytest.approx(0.05, abs=0.01)
    assert "up to 1,000" in found.summary()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RequestError, match="do not fit"):
        size_for_range(**{**GOOD, "systems": [2, 3], "min_range": [0.1, 0.2, 0.3]})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.05", [0.05]),
        ("0.01,0.05", [0.01, 0.05]),
        ("0.02:0.1:0.04", [0.02, 0.06, 0.1]),
        ("2:4", [2, 3, 4]),
        ("1,1", [1]),
    ],
)
def test_grids_are_read_as_typed(text: str, values: list[float]) -> None:
    assert parse_grid(text) == values


@pytest.mark.parametrize("text", ["", "abc", "1:2:0", "5:1", "1:2:3:4", "nan", "0:1e9:0.0001", "1,,2"])
def test_grids_that_go_nowhere_are_refused(text: str) -> None:
    with pytest.raises(RequestError):
        parse_grid(text)


def test_a_plan_puts_methods_that_apply_side_by_side() -> None:
    sizes = plan(Request(systems=[10], min_range=[0.1], variance=[0.053], width=[0.1], sensitivity=[0.05]))
    assert [size.method.name for size in sizes] == ["exact", "sakai", "interval", "clt"]
    assert [int(size.topics.flat[0]) for size in sizes] == [167, 166, 165, 82]


def test_a_plan_by_name_is_that_method_alone() -> None:
    assert [
        size.method.name for size in plan(Request(systems=[10], min_range=[0.1], variance=[0.053], method="sakai"))
    ] == ["sakai"]
    with pytest.raises(RequestError, match="does not apply"):
        plan(Request(systems=[10], min_range=[0.1], variance=[0.053], method="clt"))


def test_a_plan_without_goal_or_variance_says_what_to_add() -> None:
    with pytest.raises(RequestError, match="no goal"):
        plan(Request(variance=[5.0]))  # not on a scale from 0 to 1, for which the default goal is
    assert plan(Request(sd=[0.15]))[0].to_dict()[0]["difference"] == 0.05
    with pytest.raises(RequestError, match=r"`variance` cannot be -0\.05"):
        plan(Request(systems=[10], min_range=[0.1], variance=[-0.05]))
    with pytest.raises(RequestError, match="`variance` is missing"):
        plan(Request(systems=[10], min_range=[0.1]))
    with pytest.raises(RequestError, match="number of systems"):
        plan(Request(min_range=[0.1], variance=[0.05]))


def _table(topics: int = 40, systems: int = 6) -> cranfield.ScoreTable:
    rng = np.random.default_rng(11)
    values = rng.normal(0.3, 0.2, (1, topics, 1, 1)) + rng.normal(0, 0.08, (1, topics, systems, 1))
    return cranfield.ScoreTable(("AP",), tuple(map(str, range(topics))), tuple(f"s{i}" for i in range(systems)), values)


def test_a_pilot_gives_a_range_and_an_assurance_near_the_power() -> None:
    found = plan_from_pilot(Request(systems=[10], min_range=[0.1]), estimate_variance(_table()))
    first = found[0]
    assert (first.size.method.name, first.estimate.method) == ("blocked", "residual")
    assert first.lower.topics <= first.size.topics <= first.upper.topics
    assert 0.7 < float(first.assurance.flat[0]) < 0.9
    one_way = next(each for each in found if each.size.method.name == "exact")
    assert one_way.size.topics > 3 * first.size.topics  # topics are shared and vary a lot


def test_pilot_and_typed_in_variance_exclude_each_other() -> None:
    for ask in (cranfield.size, cranfield.power, cranfield.verify):
        with pytest.raises(RequestError, match="`variance` has no effect with scores"):
            ask(_table(), difference=0.1, variance=0.05)


def test_scores_that_do_not_vary_give_no_size() -> None:
    flat = cranfield.ScoreTable(("AP",), ("1", "2", "3"), ("a", "b"), np.full((1, 3, 2, 1), 0.5))
    with pytest.raises(RequestError, match="do not vary"):
        plan_from_pilot(Request(difference=[0.1]), estimate_variance(flat))


def test_variance_needs_two_topics_and_complete_scores() -> None:
    one = _table().select(topics=["0"])
    with pytest.raises(cranfield.InputError, match="one topic"):
        estimate_variance(one)
    values = np.array(_table().values)
    values[0, 3, 2, 0] = np.nan
    holed = cranfield.ScoreTable(("AP",), _table().topics, _table().systems, values)
    with pytest.raises(cranfield.InputError, match="1 of 240 scores of AP is missing"):
        estimate_variance(holed)


def test_one_system_has_a_within_variance_only() -> None:
    found = estimate_variance(_table().select(systems=["s0"]))
    assert [estimate.method for estimate in found.estimates] == ["within"]


def test_a_card_says_what_its_topics_see() -> None:
    card = cranfield.power(topics=50, sd=1.0, variance=0.5, difference=0.404).cards[0]
    assert card.detectable_difference == pytest.approx(0.404, abs=5e-4)
    assert card.achieved_power == pytest.approx(0.8, abs=1e-3)


def test_cards_come_in_grids_and_from_pilots() -> None:
    cards = cranfield.power(topics=[25, 50], sd=0.15, difference=[0.05, 0.1]).cards
    assert [(card.topics, card.difference) for card in cards] == [(25, 0.05), (25, 0.1), (50, 0.05), (50, 0.1)]
    pilot = cranfield.power(_table()).cards
    assert (pilot[0].topics, pilot[0].systems, pilot[0].measure) == (40, 6, "AP")


def test_a_gate_passes_what_the_topics_see_and_nothing_else() -> None:
    card = cranfield.power(topics=50, sd=0.15, variance=0.05).cards[0]
    assert parse_gate("difference=0.07,power=0.8").passes(card)
    assert not parse_gate("difference=0.03").passes(card)
    for text in ("", "difference", "power=0.8", "difference=abc", "effect=1"):
        with pytest.raises(RequestError):
            parse_gate(text)
