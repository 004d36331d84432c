"""Swaps: how often two sets of topics put two systems in opposite order (the retrieval experiment error rate, REER).

Resampled as Voorhees and Buckley do, on disjoint sets of topics; and in closed form,

    REER ≈ ½·exp[−(2/π)·(μ_X − μ_Y)²·n / (σ_X² + σ_Y²)],

which is Pólya's approximation of the probability 2·Φ(z)·Φ(−z) that two means of n topics, independent of each other,
have opposite signs. σ_X² + σ_Y² is the variance of a difference of systems that share no topics. Systems that do share
them differ by σ_d², the variance of their paired differences, and swap less: that is the second form given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.reliability.kernels import count_swaps
from cranfield.methods.reliability.topic_samples import (
    COMPILED,
    check_sizes,
    check_trials,
    chosen_scores,
    default_sizes,
    set_means,
)
from cranfield.methods.variance.components import covariances
from cranfield.runtime.compiled import WORTH_LOADING
from cranfield.runtime.random import Seed, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.scores import ScoreTable
from cranfield.stats.pairs import every_pair
from cranfield.stats.roots import crossing
from cranfield.stats.tails import normal_critical
from cranfield.types import Array, Progress

_BLOCK = 60_000  # differences at a time: they stay in the cache, and memory does not grow with the trials
BINS = 21  # of the difference: twenty of one width, and all beyond


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapRates:
    """Swaps by size of the topic set (rows) and of the difference (columns).

    A set that ties two systems swaps them half. A difference is the one seen on a set; where sets were drawn with
    replacement, the one on all topics, which are then all there are. ``own_variance`` is σ_X² + σ_Y² and
    ``paired_variance`` σ_d² of every pair, ``difference`` the size of its difference on all topics.
    """

    measure: str
    topics: int
    systems: int
    sizes: tuple[int, ...]
    edges: Array
    seen: Array
    swapped: Array
    mean_difference: Array
    difference: Array
    own_variance: Array
    paired_variance: Array
    trials: int
    replacement: bool
    shared: bool
    seed: Seed

    @property
    def rate(self) -> Array:
        """Resampled swap rate of every cell; nan where no difference of the size was seen."""
        return _share(self.swapped, self.seen)

    @property
    def overall(self) -> Array:
        """Resampled swap rate over all pairs, for every size of the set."""
        return _share(self.swapped.sum(axis=1), self.seen.sum(axis=1))

    def closed_form(self, topics: float, difference: float, *, paired: bool = False) -> float:
        """The closed form at a difference, averaged over the variances of all pairs."""
        return float(reer(difference, topics, self._variance(paired=paired)).mean())

    def closed_form_overall(self, topics: float, *, paired: bool = False) -> float:
        """The closed form over all pairs, each at its own difference."""
        return float(reer(self.difference, topics, self._variance(paired=paired)).mean())

    def closed_form_cell(self, row: int, column: int, *, paired: bool = False) -> float:
        """The closed form of what a cell shows: at its mean difference, or that of the very pairs in it."""
        size = self.sizes[row]
        if not self.replacement:
            return self.closed_form(size, float(self.mean_difference[row, column]), paired=paired)
        inside = bin_of(self.difference, self.edges) == column
        variance = self._variance(paired=paired)[inside]
        return float(reer(self.difference[inside], size, variance).mean()) if inside.any() else float("nan")

    def difference_for(self, rate: float, topics: float, *, paired: bool = False) -> float:
        """The difference at which the closed form, averaged over all pairs, falls to ``rate``."""
        if not 0 < rate < 0.5:
            raise RequestError(f"no difference brings the swap rate to {rate:g}", fix="Give a rate between 0 and 0.5.")
        variance = self._variance(paired=paired)
        # No pair needs more than the one that varies most.
        high = np.sqrt(-np.log(2 * rate) * np.pi / 2 * max(float(variance.max()), 1e-300) / topics)

        def function(x: Array, index: Array) -> Array:
            return np.array([reer(each, topics, variance).mean() for each in x])

        found = crossing(function, np.array([rate]), np.array([0.0]), np.array([high * (1 + 1e-9)]))
        return float(found[0])

    def resampled_difference_for(self, rate: float, size: int) -> float:
        """The smallest difference from which on, bin by bin, swaps are no more frequent than ``rate``; nan if none."""
        row = self.rate[self.sizes.index(size)]
        known = np.flatnonzero(~np.isnan(row))
        above = known[row[known] > rate]
        least = int(above[-1]) + 1 if len(above) else 0
        return float(self.edges[least]) if least < len(self.edges) and (known >= least).any() else float("nan")

    def dependable_difference(self, topics: int, *, alpha: float = 0.05, sides: int = 1) -> float:
        """Dinçer (2013): a difference that two equal systems have on at most α of the samples, averaged over pairs."""
        z = float(normal_critical(alpha / sides))
        return float(z * np.sqrt(self.paired_variance).mean() / np.sqrt(topics))  # D13 Inequality 2 with s_d

    def _variance(self, *, paired: bool) -> Array:
        return self.paired_variance if paired else self.own_variance

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per size of the set and non-empty bin of the difference."""
        return [dict(row) for row in self._rows]

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rate, rows = self.rate, []
        highs = [*self.edges[1:].tolist(), None]
        for row, size in enumerate(self.sizes):
            for column in np.flatnonzero(self.seen[row]).tolist():
                rows.append(
                    {
                        "measure": self.measure,
                        "topics": size,
                        "low": float(self.edges[column]),
                        "high": highs[column],
                        "difference": float(self.mean_difference[row, column]),
                        "seen": int(self.seen[row, column]),
                        "swap_rate": float(rate[row, column]),
                        "closed_form": self.closed_form_cell(row, column),
                        "closed_form_paired": self.closed_form_cell(row, column, paired=True),
                    }
                )
        return rows

    def totals(self, topics: Sequence[int] = (), *, rate: float = 0.05) -> list[dict[str, Any]]:
        """Return one row per size of the set: swap rates over all pairs, and differences for which they are rare."""
        return [self._total(size, rate) for size in (*self.sizes, *(n for n in topics if n not in self.sizes))]

    def _total(self, size: int, rate: float) -> dict[str, Any]:
        resampled = size in self.sizes
        at = self.sizes.index(size) if resampled else -1
        return {
            "measure": self.measure,
            "topics": size,
            "swap_rate": float(self.overall[at]) if resampled else float("nan"),
            "closed_form": self.closed_form_overall(size),
            "closed_form_paired": self.closed_form_overall(size, paired=True),
            "difference": self.resampled_difference_for(rate, size) if resampled else float("nan"),
            "difference_closed_form": self.difference_for(rate, size),
            "difference_closed_form_paired": self.difference_for(rate, size, paired=True),
            "difference_dependable": self.dependable_difference(size, alpha=rate),
        }


def _share(part: Array, whole: Array) -> Array:
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0))


def reer(difference: Any, topics: float, variance: Array) -> Array:
    """½·exp[−(2/π)·difference²·n / variance]; ½ for equal systems, 0 for ones that always differ alike.

    >>> round(float(reer(0.05, 50, np.array([0.09]))[0]), 4)
    0.2065
    """
    squared = np.square(difference) * topics
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.where(squared > 0, squared / variance, 0.0)
    return np.asarray(0.5 * np.exp(-2 / np.pi * exponent))  # D13 §3, REER


def bin_of(difference: Array, edges: Array) -> Array:
    """Which bin each size of a difference falls into."""
    width = edges[1] - edges[0]
    return np.asarray(np.minimum((difference / width).astype(np.int64), len(edges) - 1))


def swap_rates(
    table: ScoreTable,
    *,
    measure: str | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 1000,
    width: float | None = None,
    replacement: bool = False,
    shared: bool = True,
    drop: float = 0.0,
    seed: Seed = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SwapRates:
    """Compute swap rates of a score table, by resampling and in closed form.

    Parameters
    ----------
    sizes
        Topics in a set; by default five sizes up to half the topics.
    trials
        Pairs of sets of each size.
    width
        Width of a bin of the difference; .01 as in Voorhees and Buckley (2002), and wider if scores exceed 1.
    replacement
        Draw the two sets independently and with replacement, so that the topics are the population: the true difference
        is then known, sets may have any size, and the closed form is for exactly this case.
    shared
        Whether both systems are scored on the same topics; if not, as the published closed form supposes, each has
        two sets of its own.
    """
    check_trials(trials)
    scores, kept, _ = chosen_scores(table, measure, drop=drop, least_topics=2 if shared else 4)
    sets = 2 if shared else 4
    chosen = tuple(sizes) if sizes is not None else default_sizes(len(scores), sets)
    check_sizes(chosen, len(scores), sets, replacement=replacement)
    edges = (width or _width(scores)) * np.arange(BINS)
    pairs = every_pair(len(kept))
    truth = scores.mean(axis=0)
    whole = _gaps(truth, truth, pairs)
    known = bin_of(np.abs(whole), edges) if replacement else None
    stream = sequence(seed, "reliability", "swaps", measure or table.measures[0])
    cells = []
    drawn = set_means(scores, chosen, stream, trials=trials, sets=sets, replacement=replacement, workers=workers)
    for at, means in enumerate(drawn):
        if trials * len(pairs[0]) > WORTH_LOADING:
            cells.append(_counted(means, edges, truth if replacement else truth[:0], workers))
        else:
            cells.append(_tally(means, pairs, edges, known, np.abs(whole), workers))
        if progress is not None:
            progress(at + 1, len(chosen))
    seen, swapped, total = (np.array(each) for each in zip(*cells, strict=True))
    own, paired = _pair_variances(scores, pairs)
    n, m = scores.shape
    return SwapRates(
        measure=measure or table.measures[0],
        topics=n,
        systems=m,
        sizes=chosen,
        edges=edges,
        seen=seen,
        swapped=swapped,
        mean_difference=_share(total, seen),
        difference=np.abs(whole),
        own_variance=own,
        paired_variance=paired,
        trials=trials,
        replacement=replacement,
        shared=shared,
        seed=seed,
    )


def _pair_variances(scores: Array, pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """σ_X² + σ_Y² and σ_d² of every pair, from covariances: a table of all differences could be too large."""
    covariance = covariances(scores)
    variance = np.diag(covariance)
    own = variance[pairs[0]] + variance[pairs[1]]
    paired = own - 2 * covariance[pairs]
    return own, np.where(paired > 1e-13 * own, paired, 0.0)  # below is what rounding leaves of equal systems


def _width(scores: Array) -> float:
    """.01 for measures between 0 and 1; otherwise as large a part of what scores reach, to one digit."""
    reach = float(np.abs(scores).max())
    return 0.01 if reach <= 1 else float(f"{0.01 * reach:.0e}")


def _gaps(of_first: Array, of_second: Array, pairs: tuple[Array, Array]) -> Array:
    return np.asarray(of_first[..., pairs[0]] - of_second[..., pairs[1]])


def _tally(
    means: Array, pairs: tuple[Array, Array], edges: Array, known: Array | None, whole: Array, workers: int | None
) -> tuple[Array, Array, Array]:
    """Differences seen, swapped, and their sum, by bin; trials are shared out, and counts add up alike in any order."""
    parts = slices(len(means), max(1, len(means) // 50))
    count = partial(_count, pairs=pairs, edges=edges, known=known, whole=whole)
    done = spread(count, [means[first:last] for first, last in parts], workers=workers)
    seen, swapped, total = (np.sum(each, axis=0) for each in zip(*done, strict=True))
    return seen, swapped, total


def _counted(means: Array, edges: Array, known: Array, workers: int | None) -> tuple[Array, Array, Array]:
    """As `_tally`, by a loop over the pairs of every trial; ``known`` are the true means where these count."""
    ends = np.array([0, *(last for _, last in slices(len(means), max(1, len(means) // 50)))])
    parts, bins = len(ends) - 1, len(edges)
    seen, swapped, total = np.zeros((parts, bins), np.int64), np.zeros((parts, bins)), np.zeros((parts, bins))
    width, second = float(edges[1] - edges[0]), 0 if means.shape[1] == 2 else 2
    found = (seen, swapped, total)
    count_swaps(parts, np.ascontiguousarray(means), ends, second, width, known, *found, work=COMPILED, workers=workers)
    return seen.sum(axis=0), swapped.sum(axis=0), total.sum(axis=0)


def _count(
    means: Array, *, pairs: tuple[Array, Array], edges: Array, known: Array | None, whole: Array
) -> tuple[Array, Array, Array]:
    bins = len(edges)
    seen, swapped, total = np.zeros(bins, np.int64), np.zeros(bins), np.zeros(bins)
    step = max(1, _BLOCK // len(pairs[0]))
    for first in range(0, len(means), step):
        one, other = _two_differences(means[first : first + step], pairs)
        swap = ((1 - np.sign(one) * np.sign(other)) / 2).ravel()  # a tie is half a swap: either order is as good
        # A difference on either set may be the one a researcher saw first.
        sizes = (np.abs(one), np.abs(other)) if known is None else (np.broadcast_to(whole, one.shape),)
        for size in sizes:
            place = (bin_of(size, edges) if known is None else np.broadcast_to(known, one.shape)).ravel()
            seen += np.bincount(place, minlength=bins)
            swapped += np.bincount(place, weights=swap, minlength=bins)
            total += np.bincount(place, weights=size.ravel(), minlength=bins)
    return seen, swapped, total


def _two_differences(means: Array, pairs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the differences of every pair on two sets; with four sets, the second system has its own sets."""
    others = 0 if means.shape[1] == 2 else 2
    return _gaps(means[:, 0], means[:, others], pairs), _gaps(means[:, 1], means[:, 1 + others], pairs)
