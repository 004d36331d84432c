"""A leaderboard: systems in order, the ranks that each may have, tiers, and what the order rests on.

Tasks are the sample, as topics are in a comparison: a board says what would hold on other tasks like these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, RequestError
from cranfield.methods.comparison.anova import TINY
from cranfield.methods.comparison.clusters import TopicDesign, check_robust_test, design_of, robust_pairs
from cranfield.methods.comparison.comparison import Comparison, check_test, chosen_test, compare
from cranfield.methods.comparison.families import FAMILY, RESAMPLED
from cranfield.methods.comparison.tukey import critical_range
from cranfield.runtime.random import Seed, generator
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY
from cranfield.types import Array, Progress

RESAMPLES = 10_000
FEWEST_SHARED = 3
"""Tasks that two systems must share for a test of their difference."""
_SAME = 1e-12  # means that differ by no more are the same
_BLOCK = 1_000_000  # resampled means at a time


@dataclass(frozen=True, kw_only=True)
class TaskEffect:
    """What the first place is without one task; ``lead`` is that of the first over the second then."""

    task: str
    first: str
    lead: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Friedman:
    """Friedman's test of ranks within tasks, and Nemenyi's critical difference of average ranks."""

    average_ranks: Array
    statistic: float
    p_value: float
    critical_difference: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Board:
    """Systems, best first; every array is in this order.

    Parameters
    ----------
    scores
        Weighted mean over tasks; where cells are missing, the mean of an additive model of systems and tasks, so that
        a system that left out the hard tasks gains nothing by it.
    ranks
        1 for the first; systems with the same score share the best of their ranks.
    rank_lower, rank_upper
        The best and the worst rank that the tests leave: all ranks of all systems lie within with probability 1 − α or
        more, where the tests control the family-wise error rate.
    p_best
        Share of resamples of the tasks in which the system is first; ties share.
    tier
        Systems of a tier are not separable from the first of it.
    tasks_of
        How many tasks each system has.
    comparison
        Every pair, with the differences, intervals and p.
    shared
        Systems × systems: the number of tasks that both have.
    without
        What the first place is without each task.
    """

    measure: str
    systems: tuple[str, ...]
    scores: Array
    ranks: Array
    rank_lower: Array
    rank_upper: Array
    p_best: Array
    tier: Array
    tasks: tuple[str, ...]
    weights: Array
    tasks_of: Array
    comparison: Comparison
    shared: Array
    without: tuple[TaskEffect, ...]
    friedman: Friedman | None
    missing: int
    alpha: float
    seed: int
    resamples: int
    warnings: tuple[Caution, ...] = ()

    @cached_property
    def decisive(self) -> tuple[TaskEffect, ...]:
        """The tasks without which another system is first."""
        return tuple(each for each in self.without if each.first != self.systems[0])


def make_board(
    table: ScoreTable,
    *,
    measure: str | None = None,
    weights: Mapping[str, float] | None = None,
    strata: bool = False,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    lower_is_better: bool = False,
    resamples: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Board:
    """Put systems in order by their mean over tasks, with the ranks that each may have.

    Parameters
    ----------
    table
        Systems on tasks, which stand where topics do; cells may be missing.
    weights
        The weight of tasks in the mean: that of the table, or 1, unless given.
    strata
        Whether the mean is that of the strata's means, such as those of task types, in place of the mean over tasks.
    test, correct
        As in a comparison; with missing cells, clusters, strata or weights ``t``, each pair on the tasks that both
        have.
    lower_is_better
        Whether small scores are good, as of latency and cost.
    resamples
        Of the tasks, for P(best), 10,000 unless given; and of the test where it draws some.
    """
    name = measure or table.measures[0]
    if table.shards:
        raise RequestError("there are several scores for each task and system", fix=REMEDY)
    turned = table.replaced(values=-table.values) if lower_is_better else table  # so that more is better
    values = np.array(turned.of(name), dtype=float)
    _check_cells(table, values)
    weight = _weights(table, weights)
    design = _design(table, weight, strata=strata)
    fitted = _fitted(values)
    means = design.shares @ fitted
    asked: dict[str, Any] = {"test": test, "correct": correct, "alpha": alpha}
    if np.isfinite(values).all() and design.is_plain:
        if chosen_test(test, systems=len(table.systems)) in RESAMPLED:
            asked["resamples"] = resamples
        plain = turned.replaced(clusters=(), strata=(), weights=None)
        comparison = compare(plain, measure=name, **asked, seed=seed, progress=progress)
    else:
        comparison = _by_pairs(values, means, table.systems, design, name, **asked)
    place = {system: at for at, system in enumerate(table.systems)}
    order = np.array([place[system] for system in comparison.systems])
    values, fitted, means = values[:, order], fitted[:, order], means[order]
    there = np.isfinite(values).astype(np.int64)
    shared = there.T @ there
    better, worse = _separable(comparison)
    resamples = resamples or RESAMPLES
    return Board(
        measure=name,
        systems=comparison.systems,
        scores=-means if lower_is_better else means,
        ranks=1 + (means > means[:, np.newaxis] + _SAME).sum(axis=1),
        rank_lower=1 + better,
        rank_upper=len(order) - worse,
        p_best=_best_shares(fitted, design, resamples, seed),
        tier=_tiers(comparison),
        tasks=table.topics,
        weights=weight,
        tasks_of=there.sum(axis=0),
        comparison=comparison,
        shared=shared,
        without=_without_each(values, design, comparison.systems, table.topics),
        friedman=None if design.has_clusters or design.has_strata else _friedman(values, alpha),
        missing=int((there == 0).sum()),
        alpha=alpha,
        seed=seed,
        resamples=resamples,
        warnings=(*comparison.warnings, *_cautions(comparison, shared, there)),
    )


def _check_cells(table: ScoreTable, values: Array) -> None:
    there = np.isfinite(values)
    if len(table.systems) < 2:
        raise InputError("a board has two systems or more", fix="Give more systems.")
    for axis, what, names in ((0, "system", table.systems), (1, "task", table.topics)):
        empty = ~there.any(axis=axis)
        if empty.any():
            raise InputError(f"{what} «{names[int(np.argmax(empty))]}» has no score", fix=f"Leave out that {what}.")
    if not _connected(there):
        raise InputError(
            "the board falls into parts that share no task, and their systems cannot be compared",
            fix="Leave out the systems of one part, or add tasks that both have.",
        )


def _connected(there: Array) -> bool:
    """Whether every system can be reached from the first over tasks that systems share."""
    reached = np.zeros(there.shape[1], bool)
    reached[0] = True
    while True:
        more = reached | (there & (there & reached).any(axis=1, keepdims=True)).any(axis=0)
        if (more == reached).all():
            return bool(reached.all())
        reached = more


def _design(table: ScoreTable, weight: Array, *, strata: bool) -> TopicDesign:
    if strata and not table.strata:
        raise RequestError(
            "`strata` orders by the mean of the strata's means, and no column is a stratum",
            fix='Name it: `columns="stratum=COLUMN"`.',
        )
    design = design_of(table, by_stratum=strata, weights=weight)
    if table.has_roles:
        design.check(table.topics)
    return design


def _weights(table: ScoreTable, given: Mapping[str, float] | None) -> Array:
    tasks, own = table.topics, np.ones(len(table.topics)) if table.weights is None else table.weights
    unknown = [name for name in given or {} if name not in tasks]
    if unknown:
        raise RequestError(f"there is no task «{unknown[0]}»", fix=f"There are: {', '.join(tasks[:10])}.")
    weight = np.array([(given or {}).get(task, each) for task, each in zip(tasks, own, strict=True)], float)
    if not (np.isfinite(weight).all() and (weight >= 0).all()) or np.count_nonzero(weight) < 2:
        raise RequestError("weights are numbers of 0 or more, two of them above 0", fix="Leave out others.")
    return weight


def _fitted(values: Array) -> Array:
    """The scores, with those of an additive model of tasks and systems where there are none."""
    there = np.isfinite(values)
    if there.all():
        return values
    task, system = np.nonzero(there)
    # Least squares of x_ts = a_t + b_s: tasks are eliminated, which leaves m equations for the systems.
    counts, of_task = there.sum(axis=0), there / there.sum(axis=1, keepdims=True)
    normal = np.diag(counts.astype(float)) - there.T.astype(float) @ of_task
    filled = np.where(there, values, 0.0)
    right = filled.sum(axis=0) - of_task.T @ filled.sum(axis=1)
    effects = np.linalg.lstsq(normal, right, rcond=None)[0]
    tasks = np.bincount(task, values[there] - effects[system], minlength=len(values)) / there.sum(axis=1)
    return np.where(there, values, tasks[:, np.newaxis] + effects)


def _by_pairs(
    values: Array,
    means: Array,
    systems: tuple[str, ...],
    design: TopicDesign,
    measure: str,
    *,
    test: str | None,
    correct: str | None,
    alpha: float,
) -> Comparison:
    """Every pair by Student's t on the tasks that both have; corrected for the number of pairs."""
    check_robust_test(test)
    check_test("t", correct)
    order = np.argsort(-means, kind="stable")
    systems = tuple(systems[at] for at in order.tolist())
    which = np.triu_indices(len(systems), k=1)
    correct = correct or ("none" if len(which[0]) == 1 else "holm")
    asked: dict[str, Any] = {"correct": correct, "alpha": alpha, "fewest": FEWEST_SHARED}
    found = robust_pairs(values[:, order], systems, which, design, **asked)
    return Comparison(
        measure=measure,
        test="t",
        correct=correct,
        alpha=alpha,
        topics=len(values),
        systems=systems,
        denominator="sd of the differences",
        **{**found, "means": means[order], "warnings": tuple(each for each in found["warnings"] if each)},
    )


def _separable(comparison: Comparison) -> tuple[Array, Array]:
    """Of every system, how many are significantly better and how many worse."""
    better, worse = np.zeros((2, len(comparison.systems)), np.int64)
    for pairs in comparison.parts():
        marked = pairs.p_adjusted <= comparison.alpha
        up = pairs.difference[marked] > 0
        first, second = pairs.first[marked], pairs.second[marked]
        np.add.at(better, np.where(up, second, first), 1)
        np.add.at(worse, np.where(up, first, second), 1)
    return better, worse


def _tiers(comparison: Comparison) -> Array:
    """Tiers from 1: each begins with the first system that is separable from the first of the tier before."""
    tier, number = np.ones(len(comparison.systems), np.int64), 1
    same = set(comparison.pairs.not_different(0).tolist())
    for at in range(1, len(tier)):
        if at not in same:
            number, same = number + 1, set(comparison.pairs.not_different(at).tolist())
        tier[at] = number
    return tier


def _best_shares(fitted: Array, design: TopicDesign, resamples: int, seed: Seed) -> Array:
    """How often each system is first, if clusters are drawn with replacement within strata; ties share."""
    m = fitted.shape[1]
    rng = generator(seed, "leaderboard", "best")
    share, step = np.zeros(m), max(1, _BLOCK // max(fitted.shape))
    for start in range(0, resamples, step):
        means = _resampled_means(fitted, design, min(step, resamples - start), rng)
        first = means >= means.max(axis=1, keepdims=True) - _SAME
        share += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return share / resamples


def _resampled_means(fitted: Array, design: TopicDesign, draws: int, rng: np.random.Generator) -> Array:
    """Draws × systems."""
    means = np.zeros((draws, fitted.shape[1]))
    for stratum in np.unique(design.strata):
        rows = np.flatnonzero(design.strata == stratum)
        clusters = np.unique(design.clusters[rows], return_inverse=True)[1]
        units = int(clusters.max()) + 1
        counts = rng.multinomial(units, np.full(units, 1 / units), size=draws)[:, clusters] * design.shares[rows]
        whole = counts.sum(axis=1, keepdims=True)  # clusters differ in size, strata keep their share
        scale = np.divide(design.shares[rows].sum(), whole, out=np.zeros_like(whole), where=whole > 0)
        means += (counts * scale) @ fitted[rows]
    return means


def _without_each(
    values: Array, design: TopicDesign, systems: tuple[str, ...], tasks: tuple[str, ...]
) -> tuple[TaskEffect, ...]:
    """The first place and its lead without each task that the board can do without."""
    found = []
    for at, task in enumerate(tasks):
        left, rest = np.delete(values, at, axis=0), design.of(np.delete(np.arange(len(tasks)), at))
        if not rest.weights.sum() or not _connected(np.isfinite(left)):
            continue
        means = rest.shares @ _fitted(left)
        best = int(np.argmax(means))
        others = np.delete(means, best)
        found.append(TaskEffect(task=task, first=systems[best], lead=float(means[best] - others.max())))
    return tuple(found)


def _friedman(values: Array, alpha: float) -> Friedman | None:
    """Ranks within tasks, 1 for the best; None where a score is missing, or for two systems."""
    # scipy.stats has the test and the ranks, but loading it takes most of a second.
    n, m = values.shape
    if m < 3 or np.isnan(values).any():
        return None
    ranks = np.array([_average_ranks(-row) for row in values])
    average = ranks.mean(axis=0)
    ties = sum(
        float((counts**3 - counts).sum()) for counts in (np.unique(row, return_counts=True)[1] for row in values)
    )
    spread = n * m * (m + 1) / 12 - ties / (12 * (m - 1))
    statistic = float(n**2 * np.square(average - (m + 1) / 2).sum() / spread) if spread > 0 else 0.0
    critical = critical_range(alpha, m, np.inf) / np.sqrt(2) * np.sqrt(m * (m + 1) / (6 * n))  # Demšar 2006 §3.2.2
    return Friedman(
        average_ranks=average,
        statistic=statistic,
        p_value=float(max(special.chdtrc(m - 1, statistic), TINY)),
        critical_difference=float(critical),
    )


def _average_ranks(values: Array) -> Array:
    """Ranks from 1, ties at the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place])


def _cautions(comparison: Comparison, shared: Array, there: Array) -> Iterator[Caution]:
    if comparison.correct in ("bh", "none") and comparison.test not in FAMILY and len(comparison.pairs) > 1:
        yield Caution(
            "ranks-apart",
            "without control of the family-wise error rate, the best and worst ranks do not hold together",
            "Leave out `correct`, or use holm.",
        )
    missing = int((there == 0).sum())
    if missing:
        counts = shared[np.triu_indices(len(shared), k=1)]
        alone = int((counts < FEWEST_SHARED).sum())
        few = f"; {alone:,} pairs share fewer than {FEWEST_SHARED} and are not tested" if alone else ""
        yield Caution(
            "missing-cells",
            f"{missing:,} of {there.size:,} scores are missing: systems are ordered by what an additive model of "
            f"systems and tasks expects on all tasks, and a pair is compared on the tasks that both have, "
            f"{int(counts.min()):,} to {int(counts.max()):,} of {len(there):,}{few}",
            "Run the missing tasks, or leave out systems that have few.",
        )
