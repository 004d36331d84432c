"""Laws of studies that hold for any differences, looks and steps."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.methods.sequential import StudyGoal, confidence_sequence, group_design, journal, prospect, simulate
from cranfield.methods.sequential.boundaries import SPENDING, crossing_probabilities, spending_bounds
from cranfield.methods.sequential.paths import effect_sizes
from sizes import examples_of

shares = st.sets(st.integers(5, 95), min_size=1, max_size=5).map(lambda found: [*(n / 100 for n in sorted(found)), 1.0])
gaps = st.lists(st.floats(-1, 1), min_size=1, max_size=60)
goals = st.builds(StudyGoal, difference=st.floats(0.02, 0.2), sd=st.floats(0.05, 0.3), power=st.floats(0.6, 0.95))


@given(shares, st.sampled_from(list(SPENDING)), st.floats(0.005, 0.2))
@settings(max_examples=examples_of(25), deadline=None)
def test_looks_spend_alpha_whenever_they_come(looks: list[float], spending: str, alpha: float) -> None:
    bounds = spending_bounds(looks, SPENDING[spending](np.array(looks), alpha))
    assert crossing_probabilities(looks, bounds).either.sum() == pytest.approx(alpha, rel=1e-6)


@given(gaps)
@settings(max_examples=examples_of(40), deadline=None)
def test_turning_the_differences_round_turns_the_interval_round(x: list[float]) -> None:
    one, other = confidence_sequence(x), confidence_sequence([-value for value in x])
    assert (one.lower, one.upper) == pytest.approx((-other.upper, -other.lower), abs=1e-9, nan_ok=True)
    assert one.p_value == pytest.approx(other.p_value, nan_ok=True)


@given(gaps, st.floats(0.01, 0.2))
@settings(max_examples=examples_of(40), deadline=None)
def test_a_smaller_alpha_makes_a_wider_interval_within_the_bounds(x: list[float], alpha: float) -> None:
    wide, narrow = confidence_sequence(x, alpha=alpha / 2), confidence_sequence(x, alpha=alpha)
    if narrow.reason:
        return
    assert -1 <= wide.lower <= narrow.lower + 1e-9
    assert narrow.upper - 1e-9 <= wide.upper <= 1
    assert narrow.significant == (narrow.lower > 0 or narrow.upper < 0) == (narrow.p_value <= alpha)


@given(st.integers(2, 60), st.floats(0.01, 0.1), st.floats(0.5, 0.95))
@settings(max_examples=examples_of(25), deadline=None)
def test_more_topics_see_less(topics: int, alpha: float, power: float) -> None:
    sizes = effect_sizes(topics + 20, alpha, power)[2:]
    assert (np.diff(sizes) < 0).all()


@given(goals)
@settings(max_examples=examples_of(10), deadline=None)
def test_group_designs_take_more_topics_at_most_and_fewer_on_average(goal: StudyGoal) -> None:
    fixed = prospect(goal.changed({"plan": "fixed"})).expected
    if fixed < 25:
        return
    design = group_design(goal.changed({"plan": "group-sequential"}))
    assert design.topics[-1] >= fixed
    assert design.expected <= fixed
    assert (np.diff(design.levels) > 0).all()  # O'Brien and Fleming's: hardly anything early


@given(st.floats(0.01, 30))
@settings(max_examples=examples_of(10), deadline=None)
def test_another_unit_changes_no_plan(unit: float) -> None:
    x = np.random.default_rng(1).standard_t(5, 50)
    plans = ["fixed", "iterative", "hybrid", "group-obrien-fleming", "every-topic"]
    here = simulate(x / 20, plans=plans, repeats=50, detectable_with=60)
    there = simulate(
        unit * x / 20, plans=plans, repeats=50, detectable_with=60, lowest=-1 - 2 * unit, highest=1 + 2 * unit
    )
    for one, other in zip(here.outcomes, there.outcomes, strict=True):
        assert one.topics == pytest.approx(other.topics, abs=1.0)
        assert one.false_positives.value == pytest.approx(other.false_positives.value, abs=0.021)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def _always(content: dict[str, object], steps: object) -> dict[str, object]:
    return content


@given(st.lists(st.dictionaries(st.text(min_size=1).map(lambda name: f"x{name}"), values, max_size=4), max_size=4))
@settings(max_examples=examples_of(20), deadline=None)
def test_a_journal_gives_back_what_was_put_in(contents: list[dict[str, object]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any"
        journal.create(path, {"x": 1})
        for content in contents:
            journal.append(path, partial(_always, content))
        found = journal.read(path).steps[1:]
        assert [{name: step[name] for name in step if name.startswith("x")} for step in found] == contents
