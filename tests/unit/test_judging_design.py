"""Topics for people and for the judge: power, width, and the cheapest design."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cranfield.errors import RequestError
from cranfield.methods.design.power_functions import expected_width, paired_t_power
from cranfield.methods.judging import (
    LabelCosts,
    best_share,
    design_for_power,
    design_for_width,
    judged_power,
    judged_width,
)
from cranfield.methods.judging.label_design import FEWEST
from cranfield.stats.family import holm_level

CASES = [
    # difference, sd, r, cost of people, cost of the judge, whether the judge pays
    (0.1, 0.15, 0.9, 10.0, 0.1, True),
    (0.1, 0.15, 0.6, 10.0, 0.2, True),
    (0.08, 0.15, 0.8, 1.0, 0.05, True),
    (0.08, 0.15, 0.8, 1.0, 0.3, False),
    (0.1, 0.15, 0.3, 10.0, 0.1, False),
]


@pytest.fixture(scope="session")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("judge_error_rates")


@pytest.mark.parametrize(("difference", "sd", "r", "human_cost", "judge_cost", "pays"), CASES)
def test_no_design_on_a_grid_is_cheaper(
    difference: float, sd: float, r: float, human_cost: float, judge_cost: float, pays: bool
) -> None:
    found = design_for_power(difference, sd, r, LabelCosts(human=human_cost, judge=judge_cost))
    assert found.topics is not None
    assert found.human_topics is not None
    n, whole = np.meshgrid(np.arange(FEWEST, found.human_topics + 1), np.arange(FEWEST, 400), indexing="ij")
    cost = human_cost * n + judge_cost * whole
    cheaper = (cost < found.cost - 1e-9) & (whole >= n)
    power = judged_power(n[cheaper], whole[cheaper], difference, sd, r)
    assert power.max(initial=0.0) < 0.8
    assert found.achieved >= 0.8
    assert found.judge_pays is pays
    if pays:
        assert found.cost == pytest.approx(human_cost * found.topics + judge_cost * found.judged_topics)
        assert found.cost < found.human_cost
    else:
        assert found.cost == found.human_cost


@pytest.mark.parametrize("r", [0.6, 0.9])
def test_no_design_on_a_grid_has_the_width_for_less(r: float) -> None:
    found = design_for_width(0.12, 0.15, r, LabelCosts(human=5, judge=0.2))
    assert found.topics is not None
    assert found.human_topics is not None
    n, whole = np.meshgrid(np.arange(FEWEST, found.human_topics + 1), np.arange(FEWEST, 400), indexing="ij")
    cheaper = (5 * n + 0.2 * whole < found.cost - 1e-9) & (whole >= n)
    assert judged_width(n[cheaper], whole[cheaper], 0.15, r).min(initial=1.0) > 0.12
    assert judged_width(found.topics, found.judged_topics, 0.15, r) == pytest.approx(found.achieved)
    assert found.achieved <= 0.12


@pytest.mark.parametrize("r", [0.3, 0.6, 0.9])
def test_simulation_confirms_the_power(script: ModuleType, r: float) -> None:
    found = design_for_power(0.05, 0.15, r, LabelCosts(human=10, judge=0.1))
    options = {"difference": 0.05, "sd": 0.15, "correlation": r, "draws": 8000, "seed": 1}
    power = script.simulated_power(found.topics, found.judged_topics, **options)
    assert power == pytest.approx(found.achieved, abs=3 * np.sqrt(0.16 / 8000))


@pytest.mark.parametrize(("n", "whole", "r"), [(5, 100, 0.9), (8, 16, 0.3), (10, 500, 0.7)])
def test_simulation_confirms_the_power_of_few_topics(script: ModuleType, n: int, whole: int, r: float) -> None:
    options = {"difference": 0.1, "sd": 0.1, "correlation": r, "draws": 8000, "seed": 2}
    power = script.simulated_power(n, whole, **options)
    assert power == pytest.approx(float(judged_power(n, whole, 0.1, 0.1, r)), abs=0.02)


def test_the_best_share_is_reached_with_many_topics() -> None:
    found = design_for_power(0.01, 0.15, 0.7, LabelCosts(human=10, judge=0.5))
    assert found.topics is not None
    assert found.topics / found.judged_topics == pytest.approx(best_share(0.7, 10, 0.5), rel=0.05)
    assert best_share(0.1, 1, 1) == 1.0
    assert best_share(0.0, 10, 0.1) == 1.0


def test_a_judge_that_tells_little_or_costs_much_does_not_pay() -> None:
    for r, cost in ((0.05, 0.1), (0.6, 9.0), (0.0, 0.001)):
        found = design_for_power(0.05, 0.15, r, LabelCosts(human=10, judge=cost))
        assert not found.judge_pays
        assert found.topics == found.human_topics == 73  # as for the paired t test
        assert found.judged_topics == 0
        assert found.cost == found.human_cost == 730
        assert found.achieved == pytest.approx(float(paired_t_power(np.array(73.0), 0.05, 0.15, 0.05, 2)))  # type: ignore[arg-type]


def test_a_free_judge_takes_all_topics_that_there_are() -> None:
    found, more = (design_for_power(0.05, 0.15, 0.8, LabelCosts(judged_topics=whole)) for whole in (500, 5000))
    assert found.topics is not None
    assert more.topics is not None
    assert found.judged_topics == 500
    assert more.topics <= found.topics
    fewer = judged_power(found.topics - 1, 500, 0.05, 0.15, 0.8)
    assert fewer < 0.8 <= found.achieved


def test_power_rises_with_topics_correlation_and_difference() -> None:
    n = np.arange(5, 60)
    assert (np.diff(judged_power(n, 200, 0.05, 0.15, 0.7)) > 0).all()
    assert (np.diff(judged_power(20, np.arange(20, 400), 0.05, 0.15, 0.7)) > 0).all()
    assert (np.diff(judged_power(20, 200, 0.05, 0.15, np.linspace(0, 0.95, 20))) > 0).all()
    assert judged_power(20, 200, 0.0, 0.15, 0.7) == pytest.approx(0.05, abs=0.004)


def test_width_without_a_judge_is_that_of_the_paired_interval() -> None:
    # A judge that says nothing costs one degree of freedom and the leverage of its slope.
    wide = float(judged_width(100, 100, 0.15, 0.0))
    assert wide == pytest.approx(float(expected_width(np.array(100.0), np.array(0.15), np.array(0.05))), rel=0.01)


def test_the_level_of_many_systems_needs_more_topics() -> None:
    costs = LabelCosts(human=1, judge=0.01)
    one = design_for_power(0.05, 0.15, 0.7, costs)
    many = design_for_power(0.05, 0.15, 0.7, costs, alpha=float(holm_level(0.05, 20)))
    assert (many.topics or 0) > (one.topics or 0) > 0


@pytest.mark.parametrize("change", [{"difference": 0.0}, {"sd": 0.0}, {"correlation": 1.0}, {"power": 1.0}])
def test_impossible_designs_are_refused(change: dict[str, Any]) -> None:
    known = {"difference": 0.05, "sd": 0.15, "correlation": 0.5, "costs": LabelCosts(judge=0.01)}
    with pytest.raises(RequestError):
        design_for_power(**{**known, **change})


@pytest.mark.parametrize("costs", [{"human": 0.0, "judge": 0.1}, {"judge": -1.0}, {"judge": 0.0}, {}])
def test_labels_cost_something(costs: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        LabelCosts(**costs)


def test_a_goal_that_no_topics_reach_has_no_design() -> None:
    found = design_for_power(1e-6, 0.15, 0.5, LabelCosts(judge=0.01, limit=100_000))
    assert (found.topics, found.human_topics, found.judge_pays) == (None, None, False)
