"""Tails and critical values against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mp

from cranfield.stats.tails import f_critical, noncentral_f_tail, noncentral_t_tail, noncentral_t_tails, t_critical


def _f_tail(f: float, df1: int, df2: int, noncentrality: float) -> mpmath.mpf:
    """P(F' ≥ f) as a Poisson mixture of incomplete betas."""
    with mp.workdps(40):
        y = df2 / (mp.mpf(df1) * mp.mpf(f) + df2)
        half = mp.mpf(noncentrality) / 2
        weight, total = mp.exp(-half), mp.mpf(0)
        for j in range(int(half + 14 * mp.sqrt(half + 1)) + 60):
            total += weight * mp.betainc(mp.mpf(df2) / 2, mp.mpf(df1) / 2 + j, 0, y, regularized=True)
            weight *= half / (j + 1)
        return total


@pytest.mark.parametrize(
    ("systems", "topics", "noncentrality"),
    [(2, 2, 100.0), (2, 10, 5.0), (3, 40, 0.5), (10, 50, 20.0), (100, 30, 60.0), (1000, 10, 150.0), (10, 3, 0.01)],
)
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_noncentral_f_tail_equals_mpmath(systems: int, topics: int, noncentrality: float, alpha: float) -> None:
    df1, df2 = systems - 1, systems * (topics - 1)
    critical = float(f_critical(alpha, df1, df2))
    ours = float(noncentral_f_tail(critical, df1, df2, noncentrality))
    assert ours == pytest.approx(float(_f_tail(critical, df1, df2, noncentrality)), rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-6, 1e-12])
@pytest.mark.parametrize(("df1", "df2"), [(1, 1), (9, 490), (99, 2900), (1, 10**7), (999, 10**6)])
def test_critical_f_gives_back_its_alpha(alpha: float, df1: int, df2: int) -> None:
    critical = float(f_critical(alpha, df1, df2))
    with mp.workdps(40):
        y = df2 / (mp.mpf(df1) * mp.mpf(critical) + df2)
        tail = mp.betainc(mp.mpf(df2) / 2, mp.mpf(df1) / 2, 0, y, regularized=True)
    assert float(tail) == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize(("df", "noncentrality"), [(1, 5.0), (4, 2.5), (30, 2.8), (99, 10.0), (1000, 2.0), (3, 0.0)])
def test_noncentral_t_tail_equals_mpmath(df: int, noncentrality: float) -> None:
    t = float(t_critical(0.05, df))

    def tail(t: float) -> mpmath.mpf:
        """E over s, a χ over its degrees of freedom, of P(Z ≥ t·s − nc)."""
        constant = 2 * (mp.mpf(df) / 2) ** (mp.mpf(df) / 2) / mp.gamma(mp.mpf(df) / 2)

        def density(s: mpmath.mpf) -> mpmath.mpf:
            return mp.ncdf(noncentrality - t * s) * constant * s ** (df - 1) * mp.exp(-df * s * s / 2)

        return mp.quad(density, [0, 0.2, 0.5, 0.8, 0.95, 1, 1.05, 1.2, 1.5, 2, 3, 6, 20])

    with mp.workdps(30):
        upper, lower = tail(t), mp.mpf(1) - tail(-t)
    assert float(noncentral_t_tail(t, df, noncentrality)) == pytest.approx(float(upper), rel=1e-10)
    assert float(noncentral_t_tails(t, df, noncentrality)) == pytest.approx(float(upper + lower), rel=1e-10)


def test_nothing_overflows_at_ten_million_topics() -> None:
    df = np.array([1e5, 1e7, 1e10])
    tails = noncentral_f_tail(f_critical(0.05, 9, df), 9, df, 15.0)
    assert np.isfinite(tails).all()
    assert np.ptp(tails) < 1e-4


def test_no_tail_is_lost_however_large_the_noncentrality() -> None:
    # scipy's own functions return nan in places here, where the lower tail is below 1e-60.
    noncentrality = np.exp(np.linspace(np.log(10), np.log(1e7), 20001))
    for df1, df2 in ((1, 140), (25, 204), (97, 392), (999, 10**7)):
        tails = noncentral_f_tail(f_critical(0.001, df1, df2), df1, df2, noncentrality)
        assert (np.diff(tails) >= -1e-9).all()
        assert tails[-1] == 1.0
        tails = noncentral_t_tail(t_critical(0.001, df2), df2, np.sqrt(noncentrality))
        assert (np.diff(tails) >= -1e-9).all()
