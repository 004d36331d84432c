"""Dunnett's distribution: the largest |t| of k treatments against one control, all with the same number of scores.

Two differences that share a control have the correlation ½. With w = √2·t and the control's mean at z, one treatment
is more than w away with probability u(z) = Φ(−w − z) + Φ(−w + z), so that

    T(w) = ∫ φ(z) {1 − [1 − u(z)]^k} dz,    P(max |t| ≥ t) = E[T(√2·t·s)],

s² a χ² over ν as in the studentised range, whose quadrature serves here too.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy import special

from cranfield.stats.chebyshev import Pieces, approximate
from cranfield.stats.studentized import critical_of, log_mixed_tail
from cranfield.types import Array, ArrayLike

_WIDEST = 50.0  # differences beyond have a tail below 1e-270


def _log_largest_tail(w: Array, comparisons: int) -> Array:
    """log T(w), by the trapezoidal rule over z ≥ 0, both sides being alike."""
    step = 0.125
    # Where w is large it takes a control near w/2 and a treatment near −w/2.
    z = np.arange(0.0, 9.0 + w.max() / 2, step)
    log_outside = np.logaddexp(
        special.log_ndtr(-w[:, np.newaxis] - z), special.log_ndtr(np.minimum(-w[:, np.newaxis] + z, 40.0))
    )
    outside = np.exp(np.minimum(log_outside, -1e-300))
    with np.errstate(divide="ignore"):
        log_any = np.log(-np.expm1(comparisons * np.log1p(-outside)))
    weight = np.where(z == 0, 0.5, 1.0) * 2 * step
    log_terms = log_any - z**2 / 2 + np.log(weight) - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.minimum(special.logsumexp(log_terms, axis=1), 0.0))


@lru_cache(maxsize=64)
def _table(comparisons: int) -> Pieces:
    edges = [0.0, 3.0, 4.5, *np.linspace(6.0, _WIDEST, 9)]
    return approximate(partial(_log_largest_tail, comparisons=comparisons), edges, tolerance=1e-10)


def dunnett_tail(t: ArrayLike, comparisons: int, df: float) -> Array:
    """P(max |t| ≥ t) for ``comparisons`` with one control, ``df`` degrees of freedom of the common error.

    >>> round(float(dunnett_tail(2.77, 9, 60)), 2)  # Dunnett (1964), two-sided, 9 treatments: 2.77
    0.05
    """
    values = np.atleast_1d(np.asarray(t, float))
    flat = np.maximum(values.ravel(), 1e-6) * np.sqrt(2)
    tail = np.exp(log_mixed_tail(_table(comparisons), flat, df)) if len(flat) else flat
    return np.asarray(tail.reshape(np.shape(t)))


@lru_cache(maxsize=4096)
def dunnett_critical(alpha: float, comparisons: int, df: float) -> float:
    """t with P(max |t| ≥ t) = α.

    >>> round(dunnett_critical(0.05, 3, 20), 2)  # Dunnett (1964)
    2.54
    """
    log_tail = partial(log_mixed_tail, _table(comparisons), df=df)
    return float(critical_of(log_tail, alpha, comparisons, df)) / float(np.sqrt(2))
