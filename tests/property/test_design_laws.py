"""Laws of designs: solving back, monotony, and the smallest number of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.methods.design import Design, Goal, Sd
from cranfield.methods.design.solver import solve
from designs import (
    detectable_difference,
    power_for_difference,
    power_for_range,
    size_for_difference,
    size_for_range,
    size_for_sensitivity,
    size_for_width,
)
from sizes import examples_of

ALPHAS = st.floats(0.001, 0.1)
POWERS = st.floats(0.3, 0.99)
SYSTEMS = st.integers(2, 300)
RANGES = st.floats(0.02, 0.5)
VARIANCES = st.floats(0.005, 0.25)
METHODS = st.sampled_from(["exact", "blocked"])


@settings(max_examples=examples_of(60), deadline=None)
@given(METHODS, SYSTEMS, RANGES, VARIANCES, ALPHAS, POWERS)
def test_n_reaches_the_power_and_n_minus_1_does_not(
    method: str, systems: int, min_range: float, variance: float, alpha: float, power: float
) -> None:
    found = size_for_range(
        systems=systems, min_range=min_range, variance=variance, alpha=alpha, power=power, method=method
    )
    assert found.reached
    assert found.achieved >= power
    if found.topics > 2:
        assert found.below < power


@settings(max_examples=examples_of(40), deadline=None)
@given(SYSTEMS, st.integers(5, 500), VARIANCES, ALPHAS, POWERS, METHODS)
def test_solving_for_any_parameter_and_back_gives_it_again(
    systems: int, topics: int, variance: float, alpha: float, power: float, method: str
) -> None:
    goal = Goal("min_range", at_least=power)
    design = Design(topics=topics, systems=systems, test=method, alpha=alpha, spread=Sd.of_variance(variance))
    min_range = float(solve(design, goal, "min_range"))
    goal = goal._replace(value=min_range)
    wanted = {"sd": (2 * variance) ** 0.5, "alpha": alpha, "power": power, "min_range": min_range}
    for name, value in wanted.items():
        assert float(solve(design, goal, name)) == pytest.approx(value, rel=1e-6)
    # A range a little wider than the one n topics just detect needs n topics, give or take the rounding.
    assert abs(int(solve(design, goal._replace(value=min_range * (1 + 1e-9)))) - topics) <= 1


@settings(max_examples=examples_of(40), deadline=None)
@given(
    st.integers(3, 2000),
    st.floats(0.02, 0.5),
    ALPHAS,
    POWERS,
    st.sampled_from([1, 2]),
    st.sampled_from(["t", "unpaired", "normal"]),
)
def test_detectable_difference_and_power_invert_each_other(
    topics: int, sd: float, alpha: float, power: float, sides: int, method: str
) -> None:
    gap = detectable_difference(topics=topics, sd=sd, alpha=alpha, power=power, sides=sides, method=method)
    again = power_for_difference(topics=topics, difference=gap, sd=sd, alpha=alpha, sides=sides, method=method)
    assert float(again) == pytest.approx(power, rel=1e-9)
    design = Design(topics=topics, test=method, alpha=alpha, sides=sides)
    back = solve(design, Goal("difference", gap, power), "sd")
    assert float(back) == pytest.approx(sd, rel=1e-6)


@settings(max_examples=examples_of(40), deadline=None)
@given(SYSTEMS, st.integers(3, 500), RANGES, VARIANCES, ALPHAS)
def test_power_rises_with_topics_range_and_alpha_and_falls_with_variance(
    systems: int, topics: int, min_range: float, variance: float, alpha: float
) -> None:
    def power(**changed: float) -> float:
        given: dict[str, Any] = {
            "topics": topics,
            "systems": systems,
            "min_range": min_range,
            "variance": variance,
            "alpha": alpha,
        }
        return float(power_for_range(**{**given, **changed}))

    here = power() - 1e-12
    assert power(topics=topics + 1) >= here
    assert power(min_range=min_range * 1.1) >= here
    assert power(alpha=alpha * 1.1) >= here
    assert power(variance=variance / 1.1) >= here
    if topics >= 20:  # with a handful of topics a further system's degrees of freedom can outweigh it
        assert power(systems=systems + 1) <= here + 2e-12


@settings(max_examples=examples_of(40), deadline=None)
@given(st.floats(0.005, 0.5), st.floats(0.02, 0.5), st.floats(0.001, 0.2))
def test_widths_and_sensitivities_are_met_at_n_and_missed_below(goal: float, sd: float, alpha: float) -> None:
    for found in (
        size_for_width(width=goal, sd=sd, alpha=alpha),
        size_for_sensitivity(sensitivity=goal, sd=sd, alpha=alpha),
    ):
        assert found.achieved <= goal
        assert not found.below <= goal  # nan where there is no n − 1


@pytest.mark.parametrize("systems", [2, 10, 1000])
@pytest.mark.parametrize("min_range", [0.001, 0.01, 0.5])
@pytest.mark.parametrize("method", ["exact", "sakai", "blocked"])
def test_extreme_designs_neither_overflow_nor_stall(systems: int, min_range: float, method: str) -> None:
    found = size_for_range(systems=systems, min_range=min_range, variance=0.05, power=0.9, method=method)
    assert np.isfinite(found.achieved)
    assert found.reached == (found.achieved >= 0.9)
    assert found.topics <= 10_000_000


def test_grids_broadcast_and_keep_their_shape() -> None:
    found = size_for_range(systems=[[2], [10]], min_range=[0.05, 0.1, 0.2], variance=0.05)
    assert found.topics.shape == (2, 3)
    for at, systems in enumerate((2, 10)):
        for column, min_range in enumerate((0.05, 0.1, 0.2)):
            alone = size_for_range(systems=systems, min_range=min_range, variance=0.05).topics
            assert found.topics[at, column] == alone


def test_two_systems_unpaired_t_and_one_way_anova_are_one_test() -> None:
    anova = power_for_range(topics=50, systems=2, min_range=0.1, variance=0.05)
    t = power_for_difference(topics=50, difference=0.1, sd=np.sqrt(0.05), method="unpaired")
    exact = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 17)  # noncentral t: off by 5e-11 before
    assert float(anova) == pytest.approx(float(t), rel=1e-12 if exact else 1e-10)


def test_two_systems_paired_t_and_blocked_anova_are_one_test() -> None:
    anova = power_for_range(topics=50, systems=2, min_range=0.1, variance=0.05, method="blocked")
    t = power_for_difference(topics=50, difference=0.1, sd=np.sqrt(2 * 0.05), method="t")
    assert float(anova) == pytest.approx(float(t), rel=1e-12)


def test_effect_size_stands_for_difference_over_sd() -> None:
    with_both = size_for_difference(difference=0.03, sd=0.15).topics
    assert size_for_difference(effect_size=0.2).topics == with_both
