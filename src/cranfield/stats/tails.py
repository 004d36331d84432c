"""Critical values and upper tails of central and non-central t and F, on arrays, without loss in the tail."""

from __future__ import annotations

import numpy as np
from scipy import special

from cranfield.types import Array, ArrayLike


def normal_critical(alpha: ArrayLike) -> Array:
    """z with P(Z ≥ z) = α."""
    return np.asarray(-special.ndtri(alpha))


def t_critical(alpha: ArrayLike, df: ArrayLike) -> Array:
    """t with P(T ≥ t) = α."""
    return np.asarray(-special.stdtrit(df, alpha))


def f_critical(alpha: ArrayLike, df1: ArrayLike, df2: ArrayLike) -> Array:
    """f with P(F ≥ f) = α, from the inverse of the upper tail itself."""
    df1, df2 = np.asarray(df1, float), np.asarray(df2, float)
    if np.min(alpha, initial=1.0) > 1e-4:
        return np.asarray(special.fdtri(df1, df2, 1 - np.asarray(alpha)))  # 1 − α keeps its digits, and is faster
    x = special.betaincinv(df2 / 2, df1 / 2, alpha)  # df2 / (df2 + df1·F) is Beta(df2/2, df1/2)
    complement = special.betainccinv(df1 / 2, df2 / 2, alpha)  # 1 − x, without cancellation where x is near 1
    return np.asarray(df2 * complement / (df1 * x))


def noncentral_f_tail(f: ArrayLike, df1: ArrayLike, df2: ArrayLike, noncentrality: ArrayLike) -> Array:
    """P(F' ≥ f)."""
    return _one_where_lost(1.0 - special.ncfdtr(df1, df2, noncentrality, f), f, noncentrality)


def noncentral_t_tail(t: ArrayLike, df: ArrayLike, noncentrality: ArrayLike) -> Array:
    """P(T' ≥ t) for a non-centrality of at least 0 and t ≥ 0."""
    return _one_where_lost(1.0 - special.nctdtr(df, noncentrality, t), t, noncentrality)


def _one_where_lost(tail: Array, *inputs: ArrayLike) -> Array:
    """scipy gives up with nan where the lower tail is below some 1e-60; there the upper one is 1."""
    known = np.logical_and.reduce(np.broadcast_arrays(*(np.isfinite(each) for each in inputs)))
    return np.where(np.isnan(tail) & known, 1.0, tail)


def noncentral_t_tails(t: ArrayLike, df: ArrayLike, noncentrality: ArrayLike) -> Array:
    """P(|T'| ≥ t): T'² is non-central F with one degree of freedom above."""
    return noncentral_f_tail(np.square(t), 1.0, df, np.square(noncentrality))
