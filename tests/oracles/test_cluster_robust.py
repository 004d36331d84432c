"""Standard errors of clusters, strata and weights, against dense CR2, statsmodels, hand-written ones and simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import cranfield as cf
from cranfield.methods.boards import make_board
from cranfield.methods.contrasts.clusters import TopicDesign, robust_means
from cranfield.methods.contrasts.comparing import compare
from cranfield.scores import ScoreTable

SIZES = (1, 2, 5, 9, 3, 4, 7)


def table(values: Any, **roles: Any) -> ScoreTable:
    scores = np.asarray(values, float)
    topics, systems = (
        tuple(f"{letter}{at}" for at in range(count)) for letter, count in zip("ts", scores.shape, strict=True)
    )
    return ScoreTable(("AP",), topics, systems, scores[np.newaxis, :, :, np.newaxis], **roles)


def names(codes: Any) -> tuple[str, ...]:
    return tuple(f"c{each}" for each in np.asarray(codes))


def design(clusters: Any, strata: Any = None, weights: Any = None, **more: Any) -> TopicDesign:
    clusters = np.asarray(clusters)
    return TopicDesign(
        weights=np.ones(len(clusters)) if weights is None else np.asarray(weights, float),
        clusters=clusters,
        strata=np.zeros(len(clusters), int) if strata is None else np.asarray(strata),
        has_clusters=True,
        **more,
    )


def dense_cr2(d: Any, x: Any, clusters: Any, weights: Any, contrast: Any) -> tuple[float, float]:
    """CR2 and Satterthwaite's df with whole matrices, identity as the working model (Pustejovsky & Tipton 2018, §2)."""
    n = len(d)
    w = np.diag(weights)
    bread = np.linalg.inv(x.T @ w @ x)
    rest = np.eye(n) - x @ bread @ x.T @ w
    rows = []
    for cluster in np.unique(clusters):
        mine = np.flatnonzero(clusters == cluster)
        value, vector = np.linalg.eigh((rest @ rest.T)[np.ix_(mine, mine)])
        root = vector @ np.diag(1 / np.sqrt(value)) @ vector.T
        rows.append(contrast @ bread @ x[mine].T @ w[np.ix_(mine, mine)] @ root @ rest[mine])
    p = np.array(rows)
    both = p @ p.T
    return float(np.square(p @ d).sum()), float(np.trace(both) ** 2 / np.square(both).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_variance_is_that_of_dense_cr2(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(SIZES)), SIZES)
    weights = rng.uniform(0.5, 3, len(SIZES))[clusters] if weighted else np.ones(len(clusters))
    values = rng.normal(size=(len(clusters), 3)) + rng.normal(size=(len(SIZES), 3))[clusters]
    found = robust_means(values, design(clusters, weights=weights))
    for at, gap in enumerate(values.T):
        variance, df = dense_cr2(gap, np.ones((len(gap), 1)), clusters, weights, np.ones(1))
        assert found.error[at] ** 2 == pytest.approx(variance, rel=1e-12)
        assert found.df[at] == pytest.approx(df, rel=1e-12)
        assert found.mean[at] == pytest.approx(np.average(gap, weights=weights), rel=1e-12)


def test_closed_forms_of_one_weight() -> None:
    clusters = np.repeat(np.arange(len(SIZES)), SIZES)
    d = np.random.default_rng(5).normal(size=len(clusters))
    n, sizes = len(d), np.array(SIZES)
    sums = np.bincount(clusters, d - d.mean())
    part = sizes / n
    products = -np.outer(sizes, sizes) / n**3 / np.sqrt(np.outer(1 - part, 1 - part))
    products[np.diag_indices(len(sizes))] = sizes / n**2
    found = robust_means(d[:, np.newaxis], design(clusters))
    assert found.error[0] ** 2 == pytest.approx((sums**2 / (1 - part)).sum() / n**2, rel=1e-12)
    assert found.df[0] == pytest.approx(np.trace(products) ** 2 / np.square(products).sum(), rel=1e-12)


@pytest.mark.parametrize("by_stratum", [False, True])
def test_strata_are_a_regression_on_strata(by_stratum: bool) -> None:
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(len(SIZES)), SIZES)
    strata = np.array([0, 0, 0, 1, 1, 1, 1])[clusters]
    values = rng.normal(size=(len(clusters), 2)) + strata[:, np.newaxis] * [0, 3]
    x = np.eye(2)[strata]
    share = np.array([0.5, 0.5]) if by_stratum else x.mean(axis=0)
    gap = values[:, 0] - values[:, 1]
    variance, _ = dense_cr2(gap, x, clusters, np.ones(len(gap)), share)
    alone = [
        dense_cr2(gap[at], np.ones((at.sum(), 1)), clusters[at], np.ones(at.sum()), np.ones(1))
        for at in (strata == 0, strata == 1)
    ]
    parts, freedom = share**2 * [each for each, _ in alone], np.array([each for _, each in alone])
    found = robust_means(gap[:, np.newaxis], design(clusters, strata, by_stratum=by_stratum))
    assert found.mean[0] == pytest.approx(share @ [gap[strata == 0].mean(), gap[strata == 1].mean()])
    assert found.error[0] ** 2 == pytest.approx(variance, rel=1e-12)
    assert found.error[0] ** 2 == pytest.approx(parts.sum(), rel=1e-12)
    assert found.df[0] == pytest.approx(parts.sum() ** 2 / (parts**2 / freedom).sum(), rel=1e-12)


def test_strata_of_single_topics_are_cochrans() -> None:
    rng = np.random.default_rng(8)
    strata = np.repeat([0, 1, 2], (5, 9, 14))
    d = rng.normal(size=28) + 2 * strata
    share, count = np.bincount(strata) / 28, np.bincount(strata)
    spread = np.array([d[strata == at].var(ddof=1) for at in range(3)])
    by_hand = (share**2 * spread / count).sum()  # Cochran 1977, Eq. 5.8 without a finite population
    found = compare(table(np.column_stack([d, 0 * d]), strata=names(strata)))
    assert found.standard_error[0] ** 2 == pytest.approx(by_hand, rel=1e-12)
    parts = share**2 * spread / count
    df = parts.sum() ** 2 / (parts**2 / (count - 1)).sum()  # Cochran 1977 §5.4
    assert found.p_value[0] == pytest.approx(2 * stats.t.sf(abs(found.difference[0]) / by_hand**0.5, df), rel=1e-9)
    plain = compare(table(np.column_stack([d, 0 * d])))
    assert found.difference == pytest.approx(plain.difference, rel=1e-12)
    assert found.standard_error[0] < plain.standard_error[0] / 1.5


@pytest.mark.parametrize("seed", range(3))
def test_balanced_clusters_are_a_t_test_of_their_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(8, 5, 4)) + rng.normal(size=(8, 1, 4))
    found = compare(table(values.reshape(40, 4), clusters=names(np.repeat(range(8), 5))), correct="none")
    order = [int(name[1:]) for name in found.systems]
    means = values.mean(axis=1)[:, order]
    oracle = stats.ttest_rel(means[:, found.first], means[:, found.second])
    assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-12, abs=1e-15)
    interval = oracle.confidence_interval(0.95)
    assert found.lower == pytest.approx(interval.low, abs=1e-12)
    assert found.upper == pytest.approx(interval.high, abs=1e-12)
    assert found.design_effect is not None
    assert found.design_effect.df == pytest.approx(7, rel=1e-12)


def test_one_topic_per_cluster_is_the_paired_t_test() -> None:
    values = np.random.default_rng(4).normal(size=(30, 6))
    alone = compare(table(values, clusters=names(range(30))))
    plain = compare(table(values), test="t")
    for name in ("difference", "standard_error", "lower", "upper", "effect_size", "p_value", "p_adjusted"):
        assert getattr(alone, name) == pytest.approx(getattr(plain, name), rel=1e-12, abs=1e-14)
    for name in ("wins", "ties", "losses"):
        assert (getattr(alone, name) == getattr(plain, name)).all()
    assert alone.intervals.standard_error == pytest.approx(plain.intervals.standard_error, rel=1e-12)
    assert alone.design_effect is not None
    assert (alone.design_effect.median, alone.design_effect.effective_topics) == pytest.approx((1, 30))


def test_statsmodels_has_one_factor_for_all_clusters() -> None:
    """That of statsmodels is J/(J − 1); 1/(1 − n_g/n) is the same for balanced clusters."""
    rng = np.random.default_rng(2)
    for sizes in ((4,) * 9, SIZES):
        clusters = np.repeat(np.arange(len(sizes)), sizes)
        d = rng.normal(size=len(clusters)) + rng.normal(size=len(sizes))[clusters]
        fitted = sm.OLS(d, np.ones(len(d))).fit(cov_type="cluster", cov_kwds={"groups": clusters})
        theirs = float(fitted.cov_params()[0, 0])
        found = float(robust_means(d[:, np.newaxis], design(clusters)).error[0] ** 2)
        if len(set(sizes)) == 1:
            assert found == pytest.approx(theirs, rel=1e-12)
        own = np.square(np.bincount(clusters, d - d.mean())) / len(d) ** 2
        factor = (own / (1 - np.array(sizes) / len(d))).sum() / (own.sum() * len(sizes) / (len(sizes) - 1))
        assert found == pytest.approx(theirs * factor, rel=1e-12)


@pytest.mark.parametrize("by_stratum", [False, True])
def test_a_variance_is_unbiased_and_its_df_are_satterthwaites_whatever_the_weights(by_stratum: bool) -> None:
    """Of unit vectors and their differences, the variances are the entries of the quadratic form itself."""
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(len(SIZES)), SIZES)
    strata = np.array([0, 0, 1, 1, 0, 1, 1])[clusters]
    n = len(clusters)
    sample = design(clusters, strata, rng.uniform(0.2, 4, n), by_stratum=by_stratum)
    found = robust_means(np.eye(n), sample)
    own = found.error**2
    variance = [robust_means(np.eye(n) - unit[:, np.newaxis], sample).error ** 2 for unit in np.eye(n)]
    form = (own[:, np.newaxis] + own - np.array(variance)) / 2
    assert np.trace(form) == pytest.approx(np.square(sample.shares).sum(), rel=1e-10)
    here = strata == strata[0]  # where the first unit vector varies
    own_form = form[np.ix_(here, here)]
    assert found.df[0] == pytest.approx(np.trace(own_form) ** 2 / np.square(own_form).sum(), rel=1e-10)
    assert sample.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["clusters", "strata", "weights", "all", "by stratum"])
def test_means_with_missing_values_are_those_of_the_other_topics(kind: str) -> None:
    rng = np.random.default_rng(3)
    count = 60
    clusters = np.arange(count) if kind in ("strata", "weights") else np.arange(count) // 4
    strata = np.zeros(count, int) if kind in ("clusters", "weights") else (np.arange(count) // 20)
    weights = np.ones(count) if kind in ("clusters", "strata") else rng.integers(1, 4, count)
    sample = design(clusters, strata, weights, by_stratum=kind == "by stratum")
    values = rng.normal(size=(count, 4)) + rng.normal(size=(count, 4))[clusters]
    values[rng.random(values.shape) < 0.2] = np.nan
    found = robust_means(values, sample)
    for at, column in enumerate(values.T):
        there = np.flatnonzero(np.isfinite(column))
        alone = robust_means(column[there, np.newaxis], sample.of(there))
        checked = ("mean", "error", "df", "topics") + (("independent", "sd") if kind != "by stratum" else ())
        for name in checked:
            assert getattr(found, name)[at] == pytest.approx(getattr(alone, name)[0], rel=1e-12), name


def test_a_pair_that_shares_one_cluster_is_not_tested() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(24, 3))
    values[6:, 0] = np.nan  # one cluster of 6
    found = make_board(table(values, clusters=names(np.arange(24) // 6)), resamples=50).comparison
    first = found.systems.index("s0")
    alone = (found.first == first) | (found.second == first)
    assert (found.p_value[alone] == 1).all()
    assert np.isnan(found.lower[alone]).all()
    assert (found.p_value[~alone] < 1).all()
    said = {each.slug: each.what for each in found.warnings}
    assert "2 pairs share fewer than two clusters" in said["few-clusters"]
    assert "constant-differences" not in said


# --- simulation


def correlated(rng: Any, sizes: Any, correlation: float, count: int) -> tuple[Any, Any]:
    """Columns of independent samples without a difference, and their clusters."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=(len(sizes), count))[clusters]
    own = rng.normal(size=(len(clusters), count))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own, clusters


@pytest.mark.parametrize("clusters", [10, 30])
@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.5])
def test_error_rates_of_clusters_of_unequal_sizes(clusters: int, correlation: float) -> None:
    rng = np.random.default_rng([clusters, int(10 * correlation)])
    sizes = rng.permutation(np.resize([2, 3, 4, 6, 10], clusters))
    rejected, covered, naive, draws = 0, 0, 0, 0
    for _ in range(5):
        values, codes = correlated(rng, sizes, correlation, 800)
        found = robust_means(values, design(codes))
        mean = values.mean(axis=0)
        critical = stats.t.ppf(0.975, found.df)
        rejected += int((np.abs(mean) > critical * found.error).sum())
        covered += int((np.abs(mean) <= critical * found.error).sum())
        plain = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        naive += int((np.abs(mean) > stats.t.ppf(0.975, len(values) - 1) * plain).sum())
        draws += values.shape[1]
    error = np.sqrt(0.05 * 0.95 / draws)
    print(f"J = {clusters}, ρ = {correlation}: error {rejected / draws:.4f}, naive {naive / draws:.4f}")
    assert covered + rejected == draws
    # Satterthwaite's df are those of ρ = 0; unequal clusters that are alike have a little fewer.
    assert 0.05 - 4 * error - 0.005 < rejected / draws < 0.05 + 4 * error + (0.012 if correlation else 0)
    if correlation:
        assert naive / draws > 0.05 + 0.4 * correlation


# --- real data

LIVEBENCH = "topic=question_id,system=model,score=score,mean=turn+tstamp"


def test_intervals_of_livebench_with_and_without_its_tasks(shared: Path) -> None:
    file = shared / "data" / "livebench" / "livebench_13012025.parquet"
    scores = cf.read_scores(file, columns=f"{LIVEBENCH},cluster=task,stratum=category")
    assert (len(scores.topics), len(scores.systems), len(set(scores.clusters))) == (1136, 93, 18)
    asked: dict[str, Any] = {"resamples": 20}
    flat = make_board(scores.replaced(clusters=(), strata=()), **asked).comparison
    robust = make_board(scores.replaced(strata=()), **asked).comparison
    width, wide = ((each.upper - each.lower) for each in (flat, robust))
    effect = robust.design_effect
    assert effect is not None
    print(
        f"design effect {effect.lowest:.2f}, {effect.median:.2f}, {effect.highest:.2f}; "
        f"df {effect.fewest_df:.2f}, {effect.df:.2f}"
    )
    print(
        f"width {np.nanmedian(width):.4f}, {np.nanmedian(wide):.4f}; "
        f"pairs {flat.significant_pairs}, {robust.significant_pairs} of {len(flat.pairs)}"
    )
    assert (effect.clusters, effect.smallest, effect.largest) == (18, 40, 150)
    assert effect.median > 2
    assert np.nanmedian(wide) > 1.5 * np.nanmedian(width)
    assert robust.significant_pairs < flat.significant_pairs


def test_variations_of_topics_vary_less_than_topics(query_variations: list[tuple[str, float]]) -> None:
    """AP of 4,611 variations of 100 topics: variance components of unequal groups, by the method of moments."""
    scores = np.array([score for _, score in query_variations])
    clusters = np.unique([topic for topic, _ in query_variations], return_inverse=True)[1]
    sizes = np.bincount(clusters)
    n, groups = len(scores), len(sizes)
    means = np.bincount(clusters, scores) / sizes
    within = np.square(scores - means[clusters]).sum() / (n - groups)
    usual = (n - np.square(sizes).sum() / n) / (groups - 1)
    between = ((sizes * np.square(means - scores.mean())).sum() / (groups - 1) - within) / usual
    assert (n, groups) == (4611, 100)
    assert (round(between, 4), round(within, 4)) == (0.0116, 0.0062)
    found = robust_means(scores[:, np.newaxis], design(clusters))
    ratio = float(found.error[0] ** 2 / (scores.var(ddof=1) / n))
    print(f"design effect of one mean {ratio:.2f}: {n / ratio:.0f} independent variations, df {found.df[0]:.1f}")
    correlation = between / (between + within)
    kish = 1 + (np.square(sizes).sum() / n - 1) * correlation  # Kish 1965 §5.4, of unequal sizes
    assert ratio == pytest.approx(kish, rel=0.15)
