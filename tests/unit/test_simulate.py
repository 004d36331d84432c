"""New topics for known systems: supports, margins, copulas, and what is drawn from them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cranfield import InputError, RequestError, ScoreTable
from cranfield.methods.simulation import fit_margin, fit_simulator, goodness_of_fit, support_of
from cranfield.methods.simulation.dependence import PAIRS, correlations, factor, fit_pairs, fit_rows, product
from cranfield.methods.simulation.marginals import (
    FAMILIES,
    bounded,
    match_moments,
    move,
    reciprocals,
    steps_of,
    unbounded,
)
from sizes import sized

Array = npt.NDArray[Any]


def table_of(values: Array, measure: str = "AP") -> ScoreTable:
    topics, systems = values.shape[:2]
    shards = tuple(map(str, range(values.shape[2]))) if values.ndim == 3 else ()
    shaped = values.reshape(1, topics, systems, -1)
    return ScoreTable(
        (measure,), tuple(map(str, range(topics))), tuple(f"s{at}" for at in range(systems)), shaped, shards
    )


def pilot_scores(kind: str, topics: int = 60, systems: int = 5, seed: int = 3) -> Array:
    """Scores that share topics, of systems that differ."""
    rng = np.random.default_rng(seed)
    latent = 1.2 * rng.normal(size=(topics, 1)) + rng.normal(size=(topics, systems)) + np.linspace(-0.6, 0.6, systems)
    share = 1 / (1 + np.exp(1 - latent))
    if kind == "AP":
        return np.where(share < 0.08, 0.0, share)
    if kind == "P@10":
        return np.round(share * 10) / 10
    if kind == "RR":
        ranks = np.ceil(1 / np.maximum(share, 1e-3) ** 1.5)
        return np.where(ranks > 40, 0.0, 1 / ranks)
    return 40 + 10 * latent


# --- supports


@pytest.mark.parametrize(
    ("measure", "scores", "name"),
    [
        ("P_10", [0.1, 0.7, 0.0], "multiples of 1/10"),
        ("P@30", [0.0333, 0.6667], "multiples of 1/30"),  # as printed
        ("recip_rank", [1.0, 0.3333, 0.0020, 0.0], "reciprocals"),
        ("AP", [0.0, 0.1234], "from 0 to 1"),
        ("mystery", [0.25, 0.5, 1.0], "multiples of 1/4"),
        ("mystery", [0.12345, 0.5], "from 0 to 1"),
        ("mystery", [12.0, -3.5], "any number"),
        ("P@10", [0.15, 0.7], "multiples of 1/20"),  # the name is wrong, and the scores are believed
    ],
)
def test_a_support_follows_from_the_name_or_else_from_the_scores(measure: str, scores: list[float], name: str) -> None:
    assert support_of(measure, np.array(scores)).name == name


def test_printed_scores_are_put_back_on_their_points() -> None:
    support = reciprocals(1000)
    assert support.snap(np.array([0.3333, 0.1429, 0.0, 1.0])).tolist() == [1 / 3, 1 / 7, 0.0, 1.0]
    assert steps_of(3).snap(np.array([0.3333, 0.6667])).tolist() == [1 / 3, 2 / 3]


# --- margins


@pytest.mark.parametrize("kind", ["AP", "P@10", "RR", "gain"])
@pytest.mark.parametrize("family", ["auto", *FAMILIES])
def test_a_margin_has_the_mean_and_variance_of_the_sample_and_its_share_of_zeros(kind: str, family: str) -> None:
    for column in pilot_scores(kind, topics=80).T:
        support = support_of(kind, column)
        seen = support.snap(column)
        margin = fit_margin(column, support, family=family)
        assert margin.mean == pytest.approx(seen.mean(), abs=3e-4 * seen.std())
        ddof = 0 if margin.family == "empirical" else 1
        assert margin.variance == pytest.approx(seen.var(ddof=ddof), rel=0.011)
        if kind != "gain":
            assert float(margin.up_to(np.array([0.0]))[0]) == pytest.approx((seen == 0).mean(), abs=1e-9)


@pytest.mark.parametrize("kind", ["AP", "P@10", "RR", "gain"])
def test_moments_are_those_of_what_is_drawn(kind: str) -> None:
    margin = fit_margin(pilot_scores(kind)[:, 2], support_of(kind, pilot_scores(kind)))
    drawn = margin.quantile(np.random.default_rng(1).standard_normal(400_000))
    assert drawn.mean() == pytest.approx(margin.mean, abs=4 * drawn.std() / 600)
    assert drawn.var() == pytest.approx(margin.variance, rel=0.02)


@pytest.mark.parametrize("kind", ["AP", "P@10", "RR", "gain"])
def test_a_distribution_function_undoes_its_quantiles(kind: str) -> None:
    margin = fit_margin(pilot_scores(kind)[:, 2], support_of(kind, pilot_scores(kind)))
    drawn = np.sort(margin.quantile(np.random.default_rng(1).standard_normal(50_000)))
    places = np.unique(drawn)[::50]
    share = np.searchsorted(drawn, places, side="right") / len(drawn)
    assert np.abs(margin.up_to(places) - share).max() < 0.01
    below = np.searchsorted(drawn, places, side="left") / len(drawn)
    assert np.abs(margin.below(places) - below).max() < 0.01


@pytest.mark.parametrize("kind", ["AP", "P@10", "RR"])
@pytest.mark.parametrize("mean", [0.03, 0.2, 0.5, 0.9])
def test_a_margin_moved_to_any_mean_stays_on_its_support(kind: str, mean: float) -> None:
    scores = pilot_scores(kind)
    support = support_of(kind, scores)
    moved = fit_margin(scores[:, 2], support).moved(mean)
    assert moved.mean == pytest.approx(mean, abs=1e-9)
    drawn = moved.quantile(np.random.default_rng(1).standard_normal(20_000))
    assert (support.snap(drawn) == drawn).all()
    assert drawn.min() >= 0
    assert drawn.max() <= 1


def test_margins_moved_together_have_the_mean_together() -> None:
    margins = [fit_margin(column, bounded()) for column in pilot_scores("AP").T]
    moved = move(margins, 0.5)
    assert np.mean([margin.mean for margin in moved]) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("mean", [-0.1, 0.0, 1.0, 1.5])
def test_a_mean_outside_the_support_is_refused(mean: float) -> None:
    with pytest.raises(RequestError, match="out of reach"):
        fit_margin(pilot_scores("AP")[:, 0], bounded()).moved(mean)


def test_a_system_that_never_varies_stays_as_it_is() -> None:
    margin = fit_margin(np.zeros(50), bounded())
    assert (margin.mean, margin.variance) == (0.0, 0.0)
    assert margin.quantile(np.array([-3.0, 0.0, 3.0])).tolist() == [0.0, 0.0, 0.0]


def test_a_system_that_finds_next_to_nothing_keeps_its_hair_of_variance() -> None:
    scores = np.abs(np.random.default_rng(1).normal(0, 1e-4, 50))
    margin = fit_margin(scores, bounded())
    assert margin.variance == pytest.approx(scores.var(ddof=1), rel=0.03)


def test_matching_moments_refuses_what_nothing_on_the_points_has() -> None:
    points = np.linspace(0, 1, 11)
    assert match_moments(np.ones(11), points, 0.5, 0.3) is None  # no share of 0 … 1 varies by more than .25
    masses = match_moments(np.ones(11), points, 0.3, 0.02)
    assert masses is not None
    assert masses @ points == pytest.approx(0.3)
    assert masses @ points**2 - 0.09 == pytest.approx(0.02)


@pytest.mark.parametrize("kind", ["AP", "P@10", "gain"])
def test_hermite_coefficients_add_up_to_the_variance(kind: str) -> None:
    margin = fit_margin(pilot_scores(kind)[:, 2], support_of(kind, pilot_scores(kind)))
    found = margin.hermite(400)
    assert (found**2).sum() == pytest.approx(margin.variance, rel=0.01)
    z = np.random.default_rng(2).standard_normal(400_000)
    assert found[0] == pytest.approx((margin.quantile(z) * z).mean(), abs=5 * np.sqrt(margin.variance) / 600)


# --- copulas


@pytest.mark.parametrize(
    ("name", "tau"),
    [
        (name, tau)
        for name, pair in PAIRS.items()
        for tau in sized((-0.6, 0.5), (-0.6, 0.1, 0.5, 0.9))
        if pair.lowest <= tau <= pair.highest
    ],
)
def test_a_pair_copula_inverts_itself_and_has_its_tau(name: str, tau: float) -> None:
    rng, pair, taus = np.random.default_rng(4), PAIRS[name], np.array([tau])
    w, u = rng.random((3000, 1)), rng.random((3000, 1))
    v = pair.inverse(w, u, taus)
    np.testing.assert_allclose(pair.conditional(u, v, taus), w, atol=1e-9)
    first, second = np.triu_indices(3000, k=1)
    agree = np.sign((u[first] - u[second]) * (v[first] - v[second])).mean()
    assert agree == pytest.approx(tau, abs=0.04)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "independent"])
def test_a_density_is_the_derivative_of_the_conditional(name: str) -> None:
    pair, taus, step = PAIRS[name], np.array([0.45]), 1e-6
    u, v = np.array([[0.1, 0.4, 0.95]]).T, np.array([[0.2, 0.5, 0.7]]).T
    slope = (pair.conditional(u, v + step, taus) - pair.conditional(u, v - step, taus)) / (2 * step)
    np.testing.assert_allclose(np.log(slope), pair.log_density(u, v, taus), atol=1e-5)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "independent"])
def test_the_family_that_made_the_data_is_found(name: str) -> None:
    rng = np.random.default_rng(5)
    u, w = rng.random((2000, 1)), rng.random((2000, 1))
    names, taus = fit_pairs(u[:, 0], PAIRS[name].inverse(w, u, np.array([0.6])))
    assert names == [name]
    assert taus[0] == pytest.approx(0.6, abs=0.04)


def test_what_is_independent_is_found_independent() -> None:
    rng = np.random.default_rng(6)
    names, _ = fit_pairs(rng.random(200), rng.random((200, 40)))
    assert names.count("independent") >= 24


def test_a_matrix_that_is_none_of_correlations_becomes_one_near_it() -> None:
    wrong = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    loadings = factor(wrong)
    made = loadings.T @ loadings
    np.testing.assert_allclose(np.diagonal(made), 1.0)
    assert np.linalg.eigvalsh(made).min() > -1e-12
    np.testing.assert_allclose(factor(np.eye(3)).T @ factor(np.eye(3)), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("shape", [(1000, 3, 4), (77, 60, 200), (5, 900, 700)])
def test_a_product_in_pieces_is_the_product(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    np.testing.assert_allclose(product(a, b), a @ b, atol=1e-10)


def test_a_product_in_pieces_has_the_same_bits_on_any_number_of_blas_threads() -> None:
    code = (
        "import hashlib, numpy as np; from cranfield.methods.simulation.dependence import product; "
        "r = np.random.default_rng(1); "
        "print([hashlib.sha256(product(r.normal(size=(n, k)), r.normal(size=(k, m))).tobytes()).hexdigest() "
        "for n, k, m in ((4000, 50, 50), (900, 64, 129), (300, 200, 700))])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1


# --- simulators


@pytest.mark.parametrize("dependence", ["gaussian", "vine"])
@pytest.mark.parametrize("kind", ["AP", "P@10", "RR", "gain"])
def test_drawn_topics_resemble_the_pilot(kind: str, dependence: str) -> None:
    simulator = fit_simulator(table_of(pilot_scores(kind), kind), dependence=dependence)
    fit = goodness_of_fit(simulator, simulator.draw(4000))
    assert np.abs(fit.mean_off).max() < 2
    assert np.abs(fit.variance_off).max() < 2
    assert fit.correlation_off < 0.05
    assert fit.outside == 0
    assert "5 of 5 means" in fit.summary()


def test_the_first_topics_are_the_same_however_many_are_drawn() -> None:
    simulator = fit_simulator(table_of(pilot_scores("AP")))
    assert np.array_equal(simulator.draw(500).values[:, :20], simulator.draw(20).values)
    assert not np.array_equal(simulator.draw(20, seed=9).values, simulator.draw(20).values)


def test_means_are_set_as_asked() -> None:
    simulator = fit_simulator(table_of(pilot_scores("AP")))
    equal = [simulator.equal().mean(0, at) for at in range(5)]
    assert np.ptp(equal) < 1e-9
    gap = [simulator.gap(0.05).mean(0, at) for at in range(5)]
    assert gap[4] - gap[0] == pytest.approx(0.05)
    assert np.ptp(gap[:4]) < 1e-9
    wanted = [0.2, 0.25, 0.3, 0.35, 0.4]
    assert [simulator.with_means(wanted).mean(0, at) for at in range(5)] == pytest.approx(wanted)
    named = simulator.with_means({"s1": 0.5})
    assert (named.mean(0, 1), named.mean(0, 0)) == pytest.approx((0.5, simulator.mean(0, 0)))
    assert goodness_of_fit(named, named.draw(3000)).is_moved


def test_several_measures_and_shards_are_drawn_together() -> None:
    ap = pilot_scores("AP", topics=80)
    both = np.stack([ap, np.round(ap * 10) / 10])[..., np.newaxis]
    topics, systems = tuple(map(str, range(80))), tuple("abcde")
    simulator = fit_simulator(ScoreTable(("AP", "P@10"), topics, systems, both))
    drawn = simulator.draw(3000)
    assert drawn.measures == ("AP", "P@10")
    across = np.corrcoef(drawn.of("AP")[:, 0], drawn.of("P@10")[:, 0])[0, 1]
    assert across == pytest.approx(np.corrcoef(both[0, :, 0, 0], both[1, :, 0, 0])[0, 1], abs=0.05)
    sharded = np.stack([ap, np.clip(ap + 0.1, 0, 1)], axis=2)
    assert fit_simulator(table_of(sharded)).draw(7).values.shape == (1, 7, 5, 2)
    moved = fit_simulator(table_of(sharded)).with_means([0.3] * 5)
    assert moved.mean(0, 2) == pytest.approx(0.3)


@pytest.mark.parametrize("dependence", ["gaussian", "vine"])
def test_systems_that_fail_where_the_other_shines_do_so_when_drawn(dependence: str) -> None:
    scores = pilot_scores("AP", systems=2)
    turned = np.stack([scores[:, 0], np.clip(0.9 - scores[:, 0] + 0.2 * scores[:, 1], 0, 1)], axis=1)
    drawn = fit_simulator(table_of(turned), dependence=dependence).draw(4000).of()
    seen = correlations(turned)[0, 1]
    assert seen < -0.5
    assert correlations(drawn)[0, 1] == pytest.approx(seen, abs=0.05)


def test_identical_systems_are_drawn_identical() -> None:
    scores = pilot_scores("AP")
    twice = np.concatenate([scores, scores[:, :1]], axis=1)
    drawn = fit_simulator(table_of(twice)).draw(200).of()
    assert correlations(drawn)[0, 5] > 0.999


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_simulator(table_of(pilot_scores("AP")), dependence="ivy"), "no dependence"),
        (lambda: fit_simulator(table_of(pilot_scores("AP")), margins="gamma"), "no margin"),
        (lambda: fit_simulator(table_of(pilot_scores("AP"))).with_means([0.1]), "do not fit"),
        (lambda: fit_simulator(table_of(pilot_scores("AP"))).with_means({"x": 0.1}), "no system"),
        (lambda: fit_simulator(table_of(pilot_scores("AP"))).draw(0), "cannot be drawn"),
        (lambda: fit_simulator(table_of(pilot_scores("AP"))).draw(5, seed=-1), "seed"),
        (lambda: fit_margin(pilot_scores("AP")[:, 0], unbounded(), family="x"), "no margin"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        call()


def test_a_pilot_with_holes_or_too_few_topics_is_refused() -> None:
    scores = pilot_scores("AP")
    with pytest.raises(InputError, match="at least 5 topics are needed to simulate new ones, and there are 3"):
        fit_simulator(table_of(scores[:3]))
    holes = scores.copy()
    holes[0, 0] = np.nan
    with pytest.raises(InputError, match="missing"):
        fit_simulator(table_of(holes))


# --- rows of the pilot


def heavy(topics: int = 120, systems: int = 6, seed: int = 8) -> Array:
    """Differences with the tails of real ones: two systems agree on most topics, and on a few one of them fails."""
    rng = np.random.default_rng(seed)
    level = rng.beta(1.5, 3, (topics, 1))
    scores = np.clip(level + 0.04 * rng.normal(size=(topics, systems)), 0, 1)
    return np.where(rng.random((topics, systems)) < 0.1, scores * rng.random((topics, systems)), scores)


@pytest.mark.parametrize("means", ["seen", "equal", "gap"])
def test_rows_keep_the_spread_the_skew_and_the_tails_of_differences(means: str) -> None:
    pilot = table_of(heavy())
    made = fit_simulator(pilot)
    moved = {"seen": made, "equal": made.equal(), "gap": made.gap(0.05)}[means]
    drawn = moved.draw(20_000)
    fit = goodness_of_fit(moved, drawn)
    (row,) = (each.to_dict() for each in fit.differences)
    assert row["pairs"] == 15
    assert row["kurtosis"] > 3
    assert row["simulated_kurtosis"] == pytest.approx(row["kurtosis"], rel=0.3)
    assert row["simulated_skew"] == pytest.approx(row["skew"], rel=0.3)
    assert row["simulated_sd"] == pytest.approx(row["sd"], rel=0.05)
    assert np.abs(fit.mean_off).max() < 4
    assert fit.outside == 0
    gaussian = fit_simulator(pilot, dependence="gaussian")
    (other,) = (each.to_dict() for each in goodness_of_fit(gaussian, gaussian.draw(5000)).differences)
    assert other["simulated_kurtosis"] < 0.7 * row["kurtosis"]


@pytest.mark.parametrize("kind", ["AP", "P@10", "RR"])
def test_rows_keep_the_sd_of_differences_on_every_support(kind: str) -> None:
    made = fit_simulator(table_of(pilot_scores(kind, topics=100), kind))
    fit = goodness_of_fit(made, made.draw(10_000))
    assert np.abs(fit.differences[0].sd_ratio - 1).max() < 0.12
    assert float(np.median(fit.differences[0].sd_ratio)) == pytest.approx(1, abs=0.05)
    assert fit.outside == 0


def test_columns_of_rows_are_standard_normal_and_equal_systems_stay_equal() -> None:
    scores = heavy(topics=40)
    scores[:, 5] = scores[:, 2]
    copula = fit_rows(scores, rng=np.random.default_rng(1))
    z = copula.join(np.random.default_rng(2).normal(size=(40_000, copula.inputs)))
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose((z**2).mean(axis=0), 1, atol=0.03)
    np.testing.assert_allclose(
        np.quantile(z, [0.01, 0.2, 0.9, 0.999], axis=0)[:, 0], [-2.326, -0.842, 1.282, 3.09], atol=0.12
    )
    np.testing.assert_allclose(z[:, 5], z[:, 2], atol=1e-12)


def test_the_kurtosis_of_differences_is_that_of_scipy() -> None:
    from scipy import stats

    scores = heavy(topics=30, systems=3)
    made = fit_simulator(table_of(scores))
    (found,) = goodness_of_fit(made, made.draw(10)).differences
    gaps = scores[:, [0, 0, 1]] - scores[:, [1, 2, 2]]
    np.testing.assert_allclose(found.kurtosis, stats.kurtosis(gaps))
    np.testing.assert_allclose(found.skew, stats.skew(gaps))
    np.testing.assert_allclose(found.sd, gaps.std(axis=0, ddof=1))


def test_a_shifted_margin_stays_within_bounds_and_keeps_its_shape() -> None:
    scores = heavy()[:, 0]
    margin = fit_margin(scores, bounded())
    up = margin.moved(margin.mean + 0.05)
    assert up.mean == pytest.approx(margin.mean + 0.05, abs=1e-9)
    assert up.variance == pytest.approx(margin.variance, rel=0.02)
    down = margin.moved(0.03)
    assert down.mean == pytest.approx(0.03, abs=1e-9)
    assert down.values[0] == 0
    assert float(down.up_to(np.array([0.0]))[0]) > 0.5  # what would be below 0 is 0
    with pytest.raises(RequestError, match="out of reach"):
        margin.moved(1.2)
    free = fit_margin(40 + 10 * np.random.default_rng(1).normal(size=50), unbounded())
    assert free.moved(500).variance == pytest.approx(free.variance)
