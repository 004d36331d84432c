"""Kendall's τ between two rankings, and τ_AP, which minds the top more."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import WORTH_LOADING, is_loaded
from cranfield.stats.kernels import count_agreeing
from cranfield.stats.pairs import every_pair
from cranfield.types import Array

_COMPILED = 10**9  # steps of a loop that is never interpreted: it is there for many items
_BLOCK = 60_000  # numbers at a time, so that memory does not grow with the rows


def kendall_taus(a: Array, b: Array) -> Array:
    """τ-b of the rows of two tables of scores."""
    if _are_many(a):
        return _many_taus(a, b)
    first, second = every_pair(a.shape[1])
    out = np.empty(len(a))
    step = max(1, _BLOCK // max(len(first), 1))
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        order_a = np.sign(a[rows, first] - a[rows, second])
        order_b = np.sign(b[rows, first] - b[rows, second])
        untied = np.sqrt(np.count_nonzero(order_a, axis=1) * np.count_nonzero(order_b, axis=1))
        same = np.einsum("ij,ij->i", order_a, order_b)
        out[rows] = np.divide(same, untied, out=np.full(len(same), np.nan), where=untied > 0)
    return out


def _are_many(rows: Array) -> bool:
    """Whether counting in order is quicker than looking at every pair, though it has to be compiled."""
    pairs = rows.shape[1] ** 2
    return len(rows) * pairs > WORTH_LOADING or (pairs > _BLOCK and is_loaded())


def _many_taus(a: Array, b: Array) -> Array:
    """As `kendall_taus`, in whole numbers until the end, so that both give the same bits."""
    above, less, greater = _counted(a, b)
    same = (greater - less).sum(axis=1)
    of_a, of_b = (each.sum(axis=1, dtype=float) for each in (above, _ranks(b) - 1))  # pairs that are not tied
    untied = np.sqrt(of_a * of_b)
    return np.asarray(np.divide(same, untied, out=np.full(len(same), np.nan), where=untied > 0))


def _counted(estimate: Array, reference: Array) -> tuple[Array, Array, Array]:
    """How many items are strictly above each, best first, and of these how many the reference puts below and above."""
    order = np.argsort(-estimate, axis=1, kind="stable")
    above = _items_above(np.take_along_axis(estimate, order, axis=1))
    ranks = np.take_along_axis(_ranks(reference), order, axis=1)
    less, greater = np.zeros((2, *above.shape), np.int64)
    count_agreeing(len(above), above, ranks, less, greater, work=_COMPILED)
    return above, less, greater


def _ranks(rows: Array) -> Array:
    """Ranks of every row from 1, the lowest value first; tied items have the rank of the first of them."""
    order = np.argsort(rows, axis=1, kind="stable")
    rising = np.take_along_axis(rows, order, axis=1)
    ranks = np.empty(rows.shape, np.int64)
    np.put_along_axis(ranks, order, 1 + _items_above(rising), axis=1)
    return ranks


def _items_above(ordered: Array) -> Array:
    """Of rows in order, how many items are before each and not tied with it."""
    starts = np.ones(ordered.shape, bool)  # where a group of tied items starts
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return np.asarray(np.maximum.accumulate(np.where(starts, np.arange(ordered.shape[1]), 0), axis=1))


def kendall_tau(a: Array, b: Array) -> float:
    """τ-b of two lists of scores: pairs in the same order less pairs in the opposite one, ties allowed for.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    return float(kendall_taus(a[np.newaxis], b[np.newaxis])[0])


def tau_aps(estimate: Array, reference: Array) -> Array:
    """τ_AP of the rows of a table of scores against those of another."""
    if _are_many(estimate):
        return _tau_aps(estimate, reference)
    out = np.empty(len(estimate))
    step = max(1, _BLOCK // max(estimate.shape[1] ** 2, 1))
    for start in range(0, len(estimate), step):
        rows = slice(start, start + step)
        out[rows] = _tau_aps(estimate[rows], reference[rows])
    return out


def _tau_aps(estimate: Array, reference: Array) -> Array:
    count, items = estimate.shape
    if items < 2:
        return np.full(count, np.nan)
    place = np.arange(items)
    if _are_many(estimate):
        above, less, greater = _counted(estimate, reference)
        correct = (above + greater - less) / 2  # items strictly above that belong there; tied ones half
    else:
        order = np.argsort(-estimate, axis=1, kind="stable")
        falling, truth = (np.take_along_axis(each, order, axis=1) for each in (estimate, reference))
        above = _items_above(falling)
        right = (np.sign(truth[:, :, np.newaxis] - truth[:, np.newaxis, :]) + 1) / 2
        correct = np.where(place[:, np.newaxis] < above[:, np.newaxis, :], right, 0.0).sum(axis=1)
    group = (above + items * np.arange(count)[:, np.newaxis]).ravel()
    tied = np.bincount(group, minlength=count * items)
    mean = np.bincount(group, weights=correct.ravel(), minlength=count * items)[group] / tied[group]
    share = (mean.reshape(count, items) + (place - above) / 2)[:, 1:] / place[1:]
    return np.asarray(2 * share.mean(axis=1) - 1)  # Yilmaz, Aslam and Robertson 2008


def tau_ap(estimate: Array, reference: Array) -> float:
    """AP correlation: of an item chosen at random below the top, the share of those above it that belong above it.

    2/(m − 1) · Σ C(i)/(i − 1) − 1 over places i = 2 … m of the estimated ranking, C(i) of the i − 1 items above being
    above in the reference too. Exchanging the first two of four costs more than exchanging the last two. Items tied
    in the estimate take all their orders in turn; a pair tied in the reference is half right.

    >>> truth = np.array([4.0, 3.0, 2.0, 1.0])
    >>> round(tau_ap(np.array([3.0, 4.0, 2.0, 1.0]), truth), 3), round(tau_ap(np.array([4.0, 3.0, 1.0, 2.0]), truth), 3)
    (0.333, 0.778)
    """
    return float(tau_aps(estimate[np.newaxis], reference[np.newaxis])[0])


def symmetric_tau_aps(a: Array, b: Array) -> Array:
    """τ_AP of rows where neither ranking is the truth: the mean of both directions."""
    return (tau_aps(a, b) + tau_aps(b, a)) / 2


def kendall_margin(systems: int) -> float:
    """Half-width of the 95 % interval of τ for m systems: 1.96·√(2(2m + 5) / (9m(m − 1))).

    >>> round(kendall_margin(44), 3)  # Sakai and Shang (2016), Table 2
    0.205
    """
    return float(1.96 * np.sqrt(2 * (2 * systems + 5) / (9 * systems * (systems - 1))))  # SS16 Table 2
