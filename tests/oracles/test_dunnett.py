"""Dunnett's critical values against scipy and published tables."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.stats.studentized import dunnett_critical, dunnett_tail


# Dunnett (1964), Table II: two-sided, α = .05 and .01, equal numbers of scores. The multivariate t of scipy gives the
# same three digits.
@pytest.mark.parametrize(
    ("alpha", "comparisons", "df", "published"),
    [(0.05, 2, 10, 2.57), (0.05, 3, 20, 2.54), (0.05, 9, 60, 2.77), (0.01, 3, 20, 3.29)],
)
def test_critical_values_are_dunnetts(alpha: float, comparisons: int, df: int, published: float) -> None:
    assert dunnett_critical(alpha, comparisons, df) == pytest.approx(published, abs=0.0051)


@pytest.mark.parametrize(("comparisons", "df"), [(2, 10), (3, 20), (5, 10), (9, 60)])
def test_the_tail_is_that_of_scipys_multivariate_t(comparisons: int, df: int) -> None:
    from scipy import stats

    critical = dunnett_critical(0.05, comparisons, df)
    shape = np.full((comparisons, comparisons), 0.5) + 0.5 * np.eye(comparisons)
    joint = stats.multivariate_t(shape=shape, df=df, seed=1)
    limits = np.full(comparisons, critical)
    inside = joint.cdf(limits, lower_limit=-limits, maxpts=200_000)
    assert 1 - inside == pytest.approx(0.05, abs=3e-4)


def test_p_values_are_those_of_scipy_stats_dunnett() -> None:
    from scipy import stats

    rng = np.random.default_rng(3)
    control, *others = (rng.normal(mean, 1.0, 12) for mean in (0.0, 0.6, 1.2, 0.1))
    theirs = stats.dunnett(*others, control=control, random_state=np.random.default_rng(1))
    ours = dunnett_tail(np.abs(theirs.statistic), 3, 44)
    np.testing.assert_allclose(ours, theirs.pvalue, atol=2e-3)
