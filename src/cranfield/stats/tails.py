"""Critical values and tails of t and F on arrays, without loss in the tail, and intervals of a share of successes."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import special

from cranfield.stats.roots import crossing
from cranfield.types import Array, ArrayLike

TINY = float(np.finfo(float).tiny)
"""The smallest p: one that underflows is not 0."""


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


_TABLED = 10_000  # numbers of which the inverse is looked up in a table
_WIDEST = 6.0  # inverse hyperbolic sine of the largest t, over √(2ν)


def effect_size_interval(effect_size: Array, topics: int, alpha: float) -> tuple[Array, Array]:
    """Ends of the interval of a mean over its sd, from the non-central t; of many, to seven digits from a table.

    nan where differences hardly vary: beyond a t of some 200·√(2ν) nothing is accurate.

    >>> [round(float(end[0]), 3) for end in effect_size_interval(np.array([0.5]), 50, 0.05)]
    [0.203, 0.792]
    """
    t, root = effect_size * math.sqrt(topics), math.sqrt(topics)
    return (_noncentrality(t, topics - 1, 1 - alpha / 2) / root, _noncentrality(t, topics - 1, alpha / 2) / root)


def _noncentrality(t: Array, df: int, share: float) -> Array:
    """The non-centrality at which this share of the distribution is below t; nan where t is, or is too large."""
    place = np.arcsinh(t / math.sqrt(2 * df))
    t, place = (np.where(np.abs(place) < _WIDEST, each, np.nan) for each in (t, place))  # scipy is slow for larger ones
    if len(t) > _TABLED:
        return np.interp(place, *_noncentralities(df, share))
    return np.asarray(special.nctdtrinc(float(df), share, t))


@lru_cache(maxsize=16)
def _noncentralities(df: int, share: float) -> tuple[Array, Array]:
    places = np.linspace(-_WIDEST, _WIDEST, _TABLED)
    return places, special.nctdtrinc(float(df), share, np.sinh(places) * math.sqrt(2 * df))


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a probability, at a number of trials fixed beforehand.

    (p̂ + z²/2t ± z·√(p̂(1 − p̂)/t + z²/4t²)) / (1 + z²/t)

    >>> [round(end, 4) for end in wilson_interval(7900, 10_000)]
    [0.7819, 0.7979]
    """
    if trials == 0:
        return 0.0, 1.0
    lower, upper = wilson_ends(np.asarray(successes / trials), trials, 1 - confidence)
    return float(lower), float(upper)


def wilson_ends(share: Array, trials: int, alpha: float) -> tuple[Array, Array]:
    """The same of several shares of one number of trials."""
    z = float(normal_critical(alpha / 2))
    weight = z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    reach = z * np.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return np.maximum(0.0, centre - reach), np.minimum(1.0, centre + reach)


def anytime_interval(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """An interval that may be looked at after every trial: all of them hold together with this confidence.

    The probability p stays in as long as the uniform mixture of Bernoulli likelihoods is no more than 1/δ times that
    of p: B(k + 1, t − k + 1) / (pᵏ(1 − p)ᵗ⁻ᵏ) ≤ 1/δ. At the true p that ratio is a martingale of mean 1, which ever
    exceeds 1/δ with probability δ at most (Ville), so one may stop whenever the interval says enough.

    >>> [round(end, 4) for end in anytime_interval(7900, 10_000)]
    [0.7739, 0.8056]
    """
    if trials == 0:
        return 0.0, 1.0
    k, rest = float(successes), float(trials - successes)
    # The least log likelihood that stays in; the likelihood has its one peak at k/t, so each end is a crossing.
    least = float(special.betaln(k + 1, rest + 1)) + math.log1p(-confidence)

    def log_likelihood(p: Array, _: Array) -> Array:
        return np.asarray(special.xlogy(k, p) + special.xlog1py(rest, -p))

    peak = np.array([k / trials])
    lower, upper = 0.0, 1.0
    if successes:
        lower = float(crossing(log_likelihood, np.array([least]), np.array([1e-300]), peak)[0])
    if successes < trials:
        # By its distance from 1, so that nothing is lost where the end is close to it.
        away = crossing(
            lambda q, _: np.asarray(special.xlogy(rest, q) + special.xlog1py(k, -q)),
            np.array([least]),
            np.array([1e-300]),
            1 - peak,
        )
        upper = 1.0 - float(away[0])
    return lower, upper
