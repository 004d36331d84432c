"""Laws of simulation that hold for any scores: supports, moments, means as asked, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import ScoreTable
from cranfield.methods.simulation import fit_margin, fit_simulator, support_of
from cranfield.methods.simulation.simulator import MarginTable
from cranfield.runtime import compiled
from cranfield.stats.tails import anytime_interval, wilson_interval
from sizes import examples_of

Array = npt.NDArray[Any]

shares = st.floats(0, 1, allow_nan=False)
columns = st.lists(shares, min_size=5, max_size=60).map(np.array)


@settings(max_examples=examples_of(80), deadline=None)
@given(columns, st.sampled_from(["AP", "P@5", "RR", "mystery"]))
def test_any_scores_have_a_margin_with_their_mean_on_their_support(scores: Array, measure: str) -> None:
    support = support_of(measure, scores)
    seen = support.snap(scores)
    margin = fit_margin(scores, support)
    assert margin.mean == pytest.approx(seen.mean(), abs=2e-3)
    assert margin.variance == pytest.approx(seen.var(ddof=1), rel=0.012 + 1.01 / len(seen), abs=1e-9)
    assert (np.diff(margin.z) > 0).all()
    assert (np.diff(margin.values) > 0).all()
    drawn = margin.quantile(np.linspace(-6, 6, 301))
    assert (np.diff(drawn) >= 0).all()
    assert (support.snap(drawn) == drawn).all()
    assert support.lowest <= drawn[0]
    assert drawn[-1] <= support.highest


@settings(max_examples=examples_of(60), deadline=None)
@given(columns.filter(lambda scores: np.ptp(scores) > 0.05), st.floats(0.02, 0.98))
def test_a_margin_moves_to_any_mean_between_its_ends_and_back(scores: Array, share: float) -> None:
    margin = fit_margin(scores, support_of("AP", scores))
    low, high = float(margin.values[0]), float(margin.values[-1])
    wanted = low + share * (high - low)
    moved = margin.moved(wanted)
    assert moved.mean == pytest.approx(wanted, abs=1e-6)
    z = np.linspace(-4, 4, 101)
    gaps = moved.quantile(z) - margin.quantile(z)  # a higher mean is higher everywhere
    assert (gaps >= -1e-6).all() if wanted >= margin.mean else (gaps <= 1e-6).all()


@settings(max_examples=examples_of(25), deadline=None)
@given(st.integers(0, 10**6), st.integers(5, 40), st.integers(1, 6), st.sampled_from(["rows", "gaussian", "vine"]))
def test_any_table_can_be_simulated(seed: int, topics: int, systems: int, dependence: str) -> None:
    rng = np.random.default_rng(seed)
    scores = np.clip(rng.normal(0.2, 0.3, (topics, 1)) + rng.normal(0, 0.2, (topics, systems)), 0, 1)
    names = tuple(map(str, range(topics))), tuple(f"s{at}" for at in range(systems))
    table = ScoreTable(("AP",), *names, scores[None, :, :, None])
    drawn = fit_simulator(table, dependence=dependence, trees=1 + seed % 3).draw(50)
    assert np.isfinite(drawn.values).all()
    assert drawn.values.min() >= 0
    assert drawn.values.max() <= 1


@settings(max_examples=examples_of(20), deadline=None)
@given(st.integers(0, 10**6))
def test_scores_are_the_same_bits_interpreted_and_compiled(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [fit_margin(rng.beta(2, 3, 30), support_of("AP", np.array([0.2]))) for _ in range(2)]
    made.append(fit_margin(rng.integers(0, 6, 30) / 5, support_of("P@5", np.array([0.2]))))
    table, normals = MarginTable.of(made), rng.normal(0, 2, (40, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "is_loaded", lambda: False)
        patch.setattr(compiled, "WORTH_COMPILING", 10**15)
        plain = table.scores(normals)
        patch.setattr(compiled, "is_loaded", lambda: True)
        assert np.array_equal(plain, table.scores(normals))
    expected = np.stack([margin.quantile(normals[:, at]) for at, margin in enumerate(made)], axis=1)
    np.testing.assert_allclose(plain, expected, atol=1e-12)


@settings(max_examples=examples_of(60), deadline=None)
@given(st.integers(1, 2000), st.data())
def test_intervals_of_a_share_mirror_each_other_and_narrow_with_confidence(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    for interval in (wilson_interval, anytime_interval):
        lower, upper = interval(successes, trials)
        mirrored = interval(trials - successes, trials)
        assert (1 - upper, 1 - lower) == pytest.approx(mirrored, abs=1e-9)
        narrow = interval(successes, trials, confidence=0.8)
        assert lower <= narrow[0] + 1e-12
        assert narrow[1] <= upper + 1e-12
