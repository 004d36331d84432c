"""The studentised range (Tukey) and Dunnett's distribution: right in the tail and fast on many values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy import special

from cranfield.stats.roots import crossing
from cranfield.types import Array, ArrayLike

DEGREE = 24
_NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))  # in (−1, 1), none at an end
# Values at the nodes to coefficients: a discrete cosine transform, small enough to be a matrix.
_TRANSFORM = 2 / (DEGREE + 1) * np.cos(np.outer(np.arange(DEGREE + 1), np.arccos(_NODES)))
_TRANSFORM[0] /= 2


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials on neighbouring intervals; between ``edges[i]`` and ``edges[i + 1]`` the i-th holds."""

    edges: Array
    coefficients: Array  # pieces × degree

    def __call__(self, x: Array) -> Array:
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.coefficients) - 1)
        low, high = self.edges[piece], self.edges[piece + 1]
        t = (2 * x - low - high) / (high - low)
        return np.asarray(chebval(t, self.coefficients.T[:, piece], tensor=False))


def approximate(
    function: Callable[[Array], Array], edges: Sequence[float], *, tolerance: float, most: int = 12
) -> Pieces:
    """Pieces that follow ``function`` to about ``tolerance``, halved until their last coefficients are below it.

    ``edges`` are those of the pieces to begin with, ``most`` is how often one may be halved.
    """
    todo = list(pairwise(map(float, edges)))
    done: list[tuple[float, float, Array]] = []
    for depth in range(most + 1):
        spans = np.array(todo)
        nodes = (spans[:, :1] + spans[:, 1:]) / 2 + (spans[:, 1:] - spans[:, :1]) / 2 * _NODES
        fitted = function(nodes.ravel()).reshape(nodes.shape) @ _TRANSFORM.T
        fine = (np.abs(fitted[:, -3:]).max(axis=1) <= tolerance) | (depth == most)
        done += [(*span, row) for span, row, good in zip(todo, fitted, fine, strict=True) if good]
        middles = [((a + b) / 2, (a, b)) for (a, b), good in zip(todo, fine, strict=True) if not good]
        todo = [half for middle, (a, b) in middles for half in ((a, middle), (middle, b))]
        if not todo:
            break
    done.sort(key=lambda piece: piece[0])
    return Pieces(np.array([piece[0] for piece in done] + [done[-1][1]]), np.array([piece[2] for piece in done]))


_WIDEST = 50.0  # ranges beyond have a tail below 1e-270
_TOLERANCE = 1e-10
_MANY = 400  # degrees of freedom
_NEAR = 1e-3  # ranges this small are not tabled
FEW = 200  # values up to which the integral is computed for each, and no table is made
# Of log P over log q, for many groups: where its pieces had best begin. For few it is smoother.
_BENDS, _BENDING = (-1.7, 0.85, 1.2, 1.55, 2.2, 2.8), 20


def _log_range_tail(w: Array, groups: int) -> Array:
    """log T(w), straight from the integral."""
    out = np.empty_like(w)
    order = np.argsort(w)
    for first in range(0, len(w), 50):  # neighbours, for which the same z matter
        block = order[first : first + 50]
        out[block] = _log_range_tail_block(w[block], groups)
    return out


def _log_range_tail_block(w: Array, groups: int) -> Array:
    step = 0.125
    # Below the lowest z it is all but certain that another lies above it, beyond the highest there is nobody; and where
    # w is large it takes a z of about w/2 and another of −w/2, give or take √½.
    lowest = max(special.ndtri_exp(-45.0 / (groups - 1)), w.min() / 2 - 8.0)
    z = np.arange(lowest - step, max(9.0, 7.0 + w.max() / 2) + step, step)
    log_above = special.log_ndtr(z)  # log Φ(z)
    log_below = special.log_ndtr(z - w[:, np.newaxis])
    share = np.exp(np.minimum(log_below - log_above, -1e-300))
    with np.errstate(divide="ignore"):
        # 1 − (1 − share)^(k−1): how likely one of the others lies more than w below z, given that none is above it
        missed = -np.expm1((groups - 1) * np.log1p(-share))
        log_terms = (groups - 1) * log_above - z**2 / 2 + np.log(missed)
    top = log_terms.max(axis=1)
    total = np.exp(log_terms - top[:, np.newaxis]).sum(axis=1)
    log_constant = np.log(groups * step) - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.minimum(log_constant + top + np.log(total), 0.0))


@lru_cache(maxsize=64)
def _range_table(groups: int, widest: float) -> Pieces:
    """log T for w up to ``widest``."""
    beyond = np.linspace(6.0, widest, round(widest / 6))
    return approximate(lambda w: _log_range_tail(w, groups), [0.0, 3.0, 4.5, *beyond], tolerance=_TOLERANCE)


def _table_for(largest: float, groups: int, df: float) -> Pieces:
    """A table as wide as the largest q needs, in few widths so that it is found again."""
    needed = largest * (1.0 if np.isinf(df) else float(np.exp(_spread(df))))
    return _range_table(groups, next((widest for widest in (12.0, 18.0, 25.0, 36.0) if needed <= widest), _WIDEST))


def _spread(df: float) -> float:
    """How far above 0 log s may lie: beyond, its density is below e⁻⁷⁰."""
    return float(12 / np.sqrt(2 * df))


def _log_tail(q: Array, groups: int, df: float, largest: float | None = None) -> Array:
    """log P(Q ≥ q); ``largest`` is the largest q there will be, for those who ask several times."""
    return log_mixed_tail(_table_for(float(q.max()) if largest is None else largest, groups, df), q, df)


def log_mixed_tail(table: Pieces, q: Array, df: float) -> Array:
    """log E[T(q·s)], s² a χ² over ν, by the trapezoidal rule in x = log s around the peak of the integrand.

    ``table`` has log T, which falls like −w²/4 beyond its end.
    """
    if np.isinf(df):
        return _table_or_asymptote(table, q)
    constant = _log_chi_constant(df)

    def log_integrand(x: Array) -> Array:
        # x − (e²ˣ − 1)/2, not ν·x and ν·e²ˣ/2 apart, which would cancel where ν is large
        log_density = constant + df * (x - np.expm1(2 * x) / 2)
        return np.asarray(log_density + _table_or_asymptote(table, q[:, np.newaxis] * np.exp(x)))

    if df > _MANY:
        low, high = _near_normal(q, df)
        steps = int(np.ceil((high - low).max() * np.sqrt(2 * df) / 0.6))
    else:
        low, high = _support(log_integrand, q, df)
        steps = 80 + int(600 / df)  # with few degrees of freedom the left side falls slowly, as s^ν
    x = low[:, np.newaxis] + (high - low)[:, np.newaxis] * np.linspace(0.0, 1.0, steps + 1)
    values = log_integrand(x)
    top = values.max(axis=1)
    total = np.exp(values - top[:, np.newaxis]).sum(axis=1) * (high - low) / steps
    return np.asarray(np.minimum(top + np.log(total), 0.0))


def _log_chi_constant(df: float) -> float:
    """log of 2·aᵃ·e⁻ᵃ / Γ(a) with a = ν/2: the density of log s at s = 1. By Stirling's series where a is large."""
    a = df / 2
    if a < 20:
        return float(np.log(2.0) + a * np.log(a) - a - special.gammaln(a))
    return float(np.log(2.0) + 0.5 * np.log(a / (2 * np.pi)) - 1 / (12 * a) + 1 / (360 * a**3) - 1 / (1260 * a**5))


def _table_or_asymptote(table: Pieces, w: Array) -> Array:
    inside = np.minimum(w, table.edges[-1])
    # Beyond the table the tail falls like a normal one of the pair farthest apart.
    return np.asarray(table(inside) - (np.square(w) - np.square(inside)) / 4)


def _near_normal(q: Array, df: float) -> tuple[Array, Array]:
    """Where the integrand is not negligible when ν is large: log s is then normal but for a hair, with sd 1/√2ν.

    T falls no faster than w⁻²·e^(−w²/4), which moves the peak from 0 to −½·log(1 + (q² + 4) / 2ν) at most. Within 9.5
    standard deviations of either end the density falls by e⁻⁴⁵; steps of .6 of them leave an error of e⁻⁵⁵.
    """
    peak = -0.5 * np.log1p((np.square(q) + 4) / (2 * df))
    reach = 9.5 / np.sqrt(2 * df)
    return peak - 1.1 * reach * np.exp(-peak), np.full(len(q), reach)


def _support(log_integrand: Any, q: Array, df: float) -> tuple[Array, Array]:
    """Where the integrand is within e⁻⁴⁰ of its peak; it is log-concave, so this is one interval."""
    low = -np.log(np.maximum(q, 1.0)) - 45.0 / df - 1.0  # T(q·s) is near 1 below s = 1/q, where s^ν alone decides
    high = np.full(len(q), _spread(df))
    rows = np.arange(len(q))
    for _ in range(8):
        x = low[:, np.newaxis] + (high - low)[:, np.newaxis] * np.linspace(0.0, 1.0, 25)
        values = log_integrand(x)
        good = values >= values.max(axis=1)[:, np.newaxis] - 40.0
        first, last = np.argmax(good, axis=1), 24 - np.argmax(good[:, ::-1], axis=1)
        before = high - low
        low, high = x[rows, np.maximum(first - 1, 0)], x[rows, np.minimum(last + 1, 24)]
        if np.all(high - low > 0.7 * before):
            break
    return low, high


@lru_cache(maxsize=64)
def _tail_table(groups: int, df: float, low: float, high: float) -> Pieces:
    """log P as a function of log q."""
    largest = float(np.exp(high))
    bends = _BENDS if groups > _BENDING else ((low + high) / 2,)
    edges = [low, *(edge for edge in bends if low < edge < high), high]
    return approximate(lambda x: _log_tail(np.exp(x), groups, df, largest), edges, tolerance=_TOLERANCE)


def studentized_range_tail(q: ArrayLike, groups: int, df: float, *, span: tuple[float, float] | None = None) -> Array:
    """P(Q ≥ q) for the studentised range of ``groups`` means with ``df`` degrees of freedom.

    ``span`` is the smallest and the largest of many q that are asked for in parts; every part then has the same bits as
    all of them at once.

    >>> round(float(studentized_range_tail(3.578, 3, 20)), 4)
    0.05
    """
    values = np.asarray(q, float)
    flat = np.clip(values.ravel(), _NEAR, _farthest(df))
    if span is None and len(flat) < FEW:
        tail = _log_tail(flat, groups, df) if len(flat) else flat
    else:
        least, most = (flat.min(), flat.max()) if span is None else np.clip(span, _NEAR, _farthest(df))
        # Ends at powers of two, so that tables are found again for other data of the same shape.
        low, high = np.floor(np.log2(least)), np.ceil(np.log2(most) + 1e-9)
        tail = _tail_table(groups, float(df), float(low * np.log(2)), float(high * np.log(2)))(np.log(flat))
    found = np.exp(np.minimum(tail, 0.0)).reshape(values.shape)
    # Next to 0 what is missing of 1 goes with the volume of k − 1 differences that small.
    nearness = np.clip(values / _NEAR, 0.0, 1.0) ** (groups - 1)
    return np.where(values < _NEAR, 1 - (1 - found) * nearness, found)


def _farthest(df: float) -> float:
    """Beyond, the tail is below e⁻⁷⁵⁰, which is 0."""
    return float(np.sqrt(2 * df * np.expm1(1600 / df))) if _MANY < df < np.inf else np.inf


def studentized_range_critical(alpha: ArrayLike, groups: int, df: float) -> Array:
    """q with P(Q ≥ q) = α."""
    return critical_of(lambda q: _log_tail(q, groups, df), alpha, groups * (groups - 1) // 2, df)


def critical_of(log_tail: Callable[[Array], Array], alpha: ArrayLike, comparisons: int, df: float) -> Array:
    """Where the tail of the largest of some differences, in units of one mean's standard error, is α."""
    tail = np.atleast_1d(np.asarray(alpha, float)).ravel()
    # One pair alone is as far apart no more often than any of them, and any of them no more often than all together.
    low = np.sqrt(2) * _t_quantile(tail / 2, df) * (1 - 1e-9)
    high = np.sqrt(2) * _t_quantile(tail / (2 * comparisons), df) * (1 + 1e-9)
    found = crossing(lambda q, index: log_tail(q), np.log(tail), np.maximum(low, 1e-3), high)
    return found.reshape(np.shape(alpha))


def _t_quantile(tail: Array, df: float) -> Array:
    return np.asarray(-special.ndtri(tail) if np.isinf(df) else -special.stdtrit(df, tail))


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
