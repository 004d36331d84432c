"""Simulated TREC-8 and TREC 2004 Robust: like the real ones in means, variances, correlations and supports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.methods.design.request import Request
from cranfield.methods.simulation import Fit, fit_simulator, goodness_of_fit
from cranfield.methods.verification import completed, planned_designs, verify
from cranfield.methods.verification.batch_tests import make_test
from sizes import sized

FILES = {
    "AP": "trec8/scores/map.csv",
    "P@10": "trec8/scores/P_10.csv.gz",
    "RR": "trec8/scores/recip_rank.csv.gz",
    "nDCG@10": "trec8/scores/ndcg_cut_10.csv.gz",
    "robust04": "matrices/robust04_map.csv",
}


def fitted(kept: Path, name: str, dependence: str) -> tuple[Fit, cranfield.ScoreTable, cranfield.ScoreTable]:
    pilot = cranfield.read_scores(kept / "data" / FILES[name])
    simulator = fit_simulator(pilot, dependence=dependence)
    drawn = simulator.draw(3000)
    return goodness_of_fit(simulator, drawn), pilot, drawn


@pytest.mark.parametrize(
    ("name", "dependence"),
    sized(
        [("P@10", "gaussian"), ("robust04", "gaussian"), ("RR", "vine"), ("AP", "rows")],
        [*((name, "gaussian") for name in FILES), ("AP", "vine"), ("RR", "vine"), ("AP", "rows"), ("robust04", "rows")],
    ),
)
def test_means_variances_and_correlations_are_those_seen_and_no_score_is_off_its_support(
    kept: Path, name: str, dependence: str
) -> None:
    fit, pilot, drawn = fitted(kept, name, dependence)
    assert len(fit.columns) == len(pilot.systems) == (110 if name == "robust04" else 129)
    assert np.abs(fit.mean_off).max() < 2
    assert np.abs(fit.variance_off).max() < 2
    assert fit.correlation_off < 0.05
    assert fit.outside == 0
    scores = drawn.of()
    if name == "P@10":
        assert set(np.unique(scores).tolist()) == {tenths / 10 for tenths in range(11)}
    if name == "RR":
        ranks = 1 / scores[scores > 0]
        assert (scores[scores > 0] == 1 / np.round(ranks)).all()
    if name in ("AP", "robust04"):
        seen, made = ((each == 0).mean(axis=0) for each in (pilot.of(), scores))
        assert np.abs(seen - made).max() < 0.03
        assert scores.min() == 0
        assert scores.max() <= 1


@pytest.mark.parametrize("means", ["seen", "equal"])
def test_differences_have_the_tails_of_real_ones(kept: Path, means: str) -> None:
    """Robust04, AP: 5,994 pairs of 110 runs (one pair is the same on all 249 topics), median excess kurtosis 2.62."""
    made = fit_simulator(cranfield.read_scores(kept / "data" / FILES["robust04"]))
    made = made.equal() if means == "equal" else made
    fit = goodness_of_fit(made, made.draw(5000))
    (row,) = (each.to_dict() for each in fit.differences)
    assert row["pairs"] == 5994
    assert row["kurtosis"] == pytest.approx(2.62, abs=0.005)
    assert row["simulated_kurtosis"] == pytest.approx(2.62, rel=0.15)
    assert row["skew"] == pytest.approx(0.514, abs=5e-4)
    assert row["simulated_skew"] == pytest.approx(row["skew"], rel=0.1)
    assert row["simulated_sd"] == pytest.approx(row["sd"], rel=0.03)
    assert row["sd_ratio_lower"] > 0.93
    assert row["sd_ratio_upper"] < 1.07
    assert np.abs(fit.mean_off).max() < 4
    assert fit.outside == 0


def test_blocked_tests_of_trec8_runs_find_more_among_equals_than_they_claim(kept: Path) -> None:
    """Runs differ in variance and resemble each other unequally, which F and Tukey's test take no account of."""
    pilot = cranfield.read_scores(kept / "data" / FILES["AP"])
    (design,) = planned_designs(Request(systems=(10,), min_range=(0.1,)), pilot)
    found = verify(design, pilot, search=False)
    assert found.verdict == "enough"
    assert found.error.interval[0] > 0.05
    pair = verify(completed(design, systems=2, test="t"), pilot, search=False)
    assert pair.error.interval[0] < 0.06  # one pair has no such trouble


@pytest.mark.parametrize(("systems", "topics", "error"), [(10, 44, 0.0855), (50, 83, 0.119)])
def test_resampled_topics_without_any_copula_say_the_same_of_tukeys_error(
    kept: Path, systems: int, topics: int, error: float
) -> None:
    """Real topics drawn with replacement, every run's mean taken out: equal systems by construction."""
    scores = cranfield.read_scores(kept / "data" / FILES["AP"]).of()
    centred = scores - scores.mean(axis=0)
    centred = centred[:, centred.std(axis=0) > 0.06]
    rng, collections = np.random.default_rng(systems), 1000
    chosen = rng.random((collections, centred.shape[1])).argsort(axis=1)[:, :systems]
    drawn = centred[rng.integers(0, len(centred), (topics, collections))[:, :, np.newaxis], chosen]
    test = make_test("tukey", alpha=0.05, systems=systems)
    tally = test.tally()
    tally.add(drawn[..., np.newaxis])
    found = test.decide(tally).anything.mean()
    assert found == pytest.approx(error, abs=0.03)
    assert found > 0.06
