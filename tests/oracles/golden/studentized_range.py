"""Golden numbers for tests/oracles/test_studentized.py, computed with mpmath at 30 digits.

Run: python studentized_range.py > studentized_range.csv (some minutes). The outer integral is a trapezoidal sum in
log s, the inner one mpmath's own quadrature; both are far finer than the 12 digits that are kept.
"""

from __future__ import annotations

import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 30
POINTS = 140


def range_tail(w: mpf, groups: int) -> mpf:
    """P(the range of so many standard normals exceeds w)."""

    def density(z: mpf) -> mpf:
        below = mp.ncdf(z)
        power = groups - 1
        return groups * mp.npdf(z) * (below**power - (below - mp.ncdf(z - w)) ** power)

    edges = sorted({mpf(x) for x in (-9, -5, -2, 0, 1.5, 3, 4.5, 6, 9)} | {w / 2 + d for d in (-4, 0, 4)} | {w / 2 + 9})
    return mp.quad(density, edges)


def studentized_tail(q: float, groups: int, df: float) -> mpf:
    """P(Q ≥ q)."""
    if df == mp.inf:
        return range_tail(mpf(q), groups)
    a = mpf(df) / 2
    constant = mp.log(2) + a * mp.log(a) - mp.loggamma(a)

    def log_density(x: mpf) -> mpf:
        return constant + 2 * a * x - a * mp.exp(2 * x)

    spread = 1 / mp.sqrt(2 * mpf(df))
    # Far enough left for s^ν to vanish where T(q·s) is near 1, and for the density alone where ν is large.
    low = -mp.log(mpf(max(q, 1))) - mpf(32) / df - 1 if df < 30 else -13 * spread
    high = 9 * spread
    step = (high - low) / POINTS
    total = mpf(0)
    for at in range(POINTS + 1):
        x = low + at * step
        weight = mp.exp(log_density(x))
        if weight > mpf(10) ** -45:
            total += weight * range_tail(mpf(q) * mp.exp(x), groups)
    return total * step


def main() -> None:
    print(f"# mpmath {mpmath.__version__}, 30 digits")
    print("groups,df,q,tail")
    cases = [(k, df, q) for k in (3, 10) for df in (5, 60) for q in (3, 6, 9)]
    cases += [(k, mp.inf, q) for k in (3, 10, 100, 1000) for q in (3, 6, 9)]
    cases += [(100, 5, 9), (1000, 60, 9), (1000, 6272, 8)]
    for k, df, q in cases:
        print(f"{k},{'inf' if df == mp.inf else df},{q},{mp.nstr(studentized_tail(q, k, df), 14)}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
