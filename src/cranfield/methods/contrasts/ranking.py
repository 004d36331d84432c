"""What tests of pairs say about an order: which systems may be the best, the ranks that each may have, and letters.

References
----------
- J. C. Hsu, "Simultaneous confidence intervals for all distances from the «best»", Annals of Statistics 9 (1981),
  1026–1034.
- M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility across
  neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024), 476–518.
- J. Gramm et al., "Algorithms for compact letter displays: comparison and evaluation", Computational Statistics & Data
  Analysis 52 (2007), 725–736.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product
from string import ascii_lowercase
from typing import Protocol

import numpy as np
from scipy import special

from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, rounding
from cranfield.stats.tails import t_critical
from cranfield.types import Array

MARGINAL, SIMULTANEOUS = "marginal", "simultaneous"
"""Ranks from the tests of a system's own pairs, which hold for each system, or of all pairs, which hold together."""
_ROWS = 1_000_000  # cells of the matrix at a time
_DOUBTED = 1e-6  # share of two systems' squares below which a pair's are summed by themselves


class PairwiseT(Protocol):
    """How strongly every two systems differ, as a matrix that is made some rows at a time."""

    @property
    def systems(self) -> int: ...

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Rows, and the evidence that each of their systems is better than every other; −∞ where there is none."""

    def threshold(self, level: Array) -> Array:
        """The evidence at which a one-sided test at a level is significant."""


@dataclass(frozen=True, eq=False)
class HeldT:
    """From estimates of all pairs; with degrees of freedom of their own p-values are compared, not t."""

    estimate: Estimate
    systems: int

    @cached_property
    def _df(self) -> float | None:
        df = self.estimate.df
        return float(df[0]) if len(df) and (df == df[0]).all() else None

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        found = np.full((self.systems, self.systems), -np.inf)
        pairs, t = all_pairs(self.systems), self.estimate.t
        for first, second, signed in ((pairs.first, pairs.second, t), (pairs.second, pairs.first, -t)):
            evidence = signed if self._df is not None else -special.stdtr(self.estimate.df, -signed)
            found[first, second] = np.where(self.estimate.is_tested, evidence, -np.inf)
        yield slice(0, self.systems), found

    def threshold(self, level: Array) -> Array:
        return np.asarray(-level if self._df is None else t_critical(level, self._df))


@dataclass(frozen=True, eq=False)
class PairedT:
    """From the scores of many systems in memory, topics × systems: paired t, without a place for every pair."""

    scores: Array

    @property
    def systems(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def _means(self) -> Array:
        return np.asarray(self.scores.mean(axis=0))

    @cached_property
    def _centred(self) -> Array:
        rest = self.scores - self._means
        return np.asarray(rest - rest.mean(axis=1, keepdims=True))

    def rows(self, rows: slice) -> Array:
        """t of the rows' systems minus every system; nan where the differences do not vary."""
        n, rest = len(self.scores), self._centred
        own = np.einsum("ij,ij->j", rest, rest)
        both = own[rows, np.newaxis] + own
        squares = both - 2 * (rest[:, rows].T @ rest)
        first, second = np.nonzero(squares <= _DOUBTED * both)
        for start in range(0, len(first), step := max(1, _ROWS // n)):  # of near-identical systems the differences
            a, b = first[start : start + step], second[start : start + step]
            squares[a, b] = np.square(rest[:, a + rows.start] - rest[:, b]).sum(axis=0)
        floor = n * (4 * rounding(float(self.scores.min()), float(self.scores.max()))) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(np.where(squares > floor, squares, np.nan) / (n - 1) / n)
            return np.asarray((self._means[rows, np.newaxis] - self._means) / error)

    def rows_of_all(self) -> Iterator[tuple[slice, Array]]:
        """All rows, some at a time."""
        step = max(1, _ROWS // self.systems)
        for start in range(0, self.systems, step):
            rows = slice(start, min(start + step, self.systems))
            yield rows, self.rows(rows)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, t in self.rows_of_all():
            yield rows, np.where(np.isnan(t), -np.inf, t)

    def threshold(self, level: Array) -> Array:
        return np.asarray(t_critical(level, len(self.scores) - 1))


@dataclass(frozen=True, eq=False)
class Standing:
    """Of every system: whether it may be the best, and its lowest and highest possible rank.

    With confidence 1 − α the best system is among those that ``may_be_best``: no other is significantly better than
    them by a one-sided test at α divided by the number of the others.
    """

    may_be_best: Array
    rank_lower: Array
    rank_upper: Array


def standing(matrix: PairwiseT, alpha: float) -> Standing:
    """Find who may be the best, and ranks by two-sided tests of each system's own pairs, with Holm's correction."""
    m = matrix.systems
    may_be_best, better, worse = np.ones(m, bool), np.zeros(m, np.int64), np.zeros(m, np.int64)
    steps = matrix.threshold(alpha / 2 / np.arange(m - 1, 0, -1))  # Holm's, by how many are rejected
    best = float(matrix.threshold(np.array([alpha / (m - 1)]))[0])
    for rows, evidence in _both_ways(matrix):
        ahead, behind = evidence
        may_be_best[rows] = ~(behind >= best).any(axis=1)
        reach = _holm_reach(np.maximum(ahead, behind), steps)
        better[rows], worse[rows] = (behind >= reach).sum(axis=1), (ahead >= reach).sum(axis=1)
    return Standing(may_be_best, 1 + better, m - worse)


def _both_ways(matrix: PairwiseT) -> Iterator[tuple[slice, tuple[Array, Array]]]:
    """The evidence that systems are better than others, and that others are better than they."""
    for rows, ahead in matrix.blocks():
        if rows.stop - rows.start == matrix.systems:
            yield rows, (ahead, ahead.T)
        else:  # t of a pair has the other sign the other way round
            yield rows, (ahead, np.where(np.isneginf(ahead), -np.inf, -ahead))


def _holm_reach(evidence: Array, steps: Array) -> Array:
    """What the evidence of each row must reach after Holm's last step, as a column."""
    rejected = np.zeros(len(evidence), np.int64)
    while True:
        reach = steps[np.minimum(rejected, len(steps) - 1), np.newaxis]
        found = (evidence >= reach).sum(axis=1)
        if (found <= rejected).all():
            return np.asarray(reach)
        rejected = np.maximum(found, rejected)


def letters(pairs: Contrasts, significant: Array, systems: int) -> tuple[str, ...]:
    """Letters of systems: two share one exactly when their pair is not significant.

    Every letter is a set of systems of which no two differ, grown in the order of ranks from a pair that has no letter
    in common yet; sets that other letters make superfluous are left out.

    >>> letters(all_pairs(3), np.array([False, True, False]), 3)
    ('a', 'a b', 'b')
    """
    alike = np.ones((systems, systems), bool)
    first, second = pairs.first[significant], pairs.second[significant]
    alike[first, second] = alike[second, first] = False
    groups, open_pairs = [], np.triu(alike)
    for system in range(systems):
        while open_pairs[system].any():
            group = _grown(alike, system, int(np.argmax(open_pairs[system])))
            open_pairs[np.ix_(group, group)] = False
            groups.append(group)
    names = [[] for _ in range(systems)]  # type: list[list[str]]
    for name, group in zip(_names(), _needed(groups, alike), strict=False):
        for system in group.tolist():
            names[system].append(name)
    return tuple(" ".join(each) for each in names)


def _grown(alike: Array, one: int, other: int) -> Array:
    """A largest set of systems of which no two differ, with these two, by rank."""
    candidates = alike[one] & alike[other]
    chosen = np.zeros(len(alike), bool)
    chosen[[one, other]] = True
    for system in np.flatnonzero(candidates).tolist():
        if candidates[system]:
            chosen[system] = True
            candidates &= alike[system]
    return np.flatnonzero(chosen)


def _needed(groups: list[Array], alike: Array) -> list[Array]:
    """The groups without those of which every pair is in another one."""
    covered = np.zeros(alike.shape, np.int32)
    for group in groups:
        covered[np.ix_(group, group)] += 1
    needed = []
    for group in reversed(groups):
        cells = np.ix_(group, group)
        if (covered[cells] > 1).all():
            covered[cells] -= 1
        else:
            needed.append(group)
    return sorted(needed, key=lambda group: tuple(group.tolist()))


def _names() -> Iterator[str]:
    """a … z, aa … zz and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))
