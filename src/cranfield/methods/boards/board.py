"""A leaderboard: systems in order, the ranks that each may have, and what the order rests on.

Tasks are the sample, as topics are in a comparison: a board says what would hold on other tasks like these. On a board
of several collections the sample is the topics within them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.methods.boards.effects import PairEffect
from cranfield.methods.boards.scales import scale_caution, standardised
from cranfield.methods.contrasts.anova import TINY
from cranfield.methods.contrasts.clusters import TopicDesign, design_of
from cranfield.methods.contrasts.comparing import compare, compare_incomplete
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.decisions import Drawing
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.ranking import MARGINAL
from cranfield.methods.contrasts.tukey import critical_range
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.quality import FEWEST, SKEW
from cranfield.scores.selection import REMEDY
from cranfield.types import Array, Progress

RESAMPLES = 10_000
FEWEST_SHARED = 3
"""Tasks that two systems must share for a test of their difference."""
_SAME = 1e-12  # means that differ by no more are the same
_BLOCK = 1_000_000  # resampled means, or counts of rows, at a time


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

    @property
    def order(self) -> Array:
        """The places of the systems on the board, by average rank."""
        return np.argsort(self.average_ranks, kind="stable")

    def groups(self) -> list[range]:
        """Maximal groups, by places in ``order``, of systems whose average ranks are within the critical difference."""
        ranks = self.average_ranks[self.order]
        last = np.searchsorted(ranks, ranks + self.critical_difference, side="left") - 1
        return [range(at, end + 1) for at, end in enumerate(last.tolist()) if at == 0 or end > last[at - 1]]


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
        The best and the worst rank that the tests of each system's own pairs leave it, with probability 1 − α or more;
        or, where asked for, that all pairs leave all systems together. They hold approximately where differences are
        skewed or tasks few.
    first_share
        Share of resamples of the tasks in which the system is first; ties share. It is no probability.
    tasks_of
        How many tasks each system has.
    comparison
        Every pair, with the differences, intervals and p.
    shared
        Systems × systems: the number of tasks that both have.
    without
        What the first place is without each task.
    task_scores
        Tasks × systems: the scores that the means are made of, after ``standardise``; nan where there are none.
    standardise
        ``none``, or ``z`` where scores are standardised within each task or topic.
    topics
        On a board of several collections, which stand in ``tasks``: the number of topics of each. Topics are then the
        sample: they are resampled within collections, and ``shared`` counts them.
    effects
        On such a board, the differences of pairs combined over collections.
    """

    measure: str
    systems: tuple[str, ...]
    scores: Array
    ranks: Array
    rank_lower: Array
    rank_upper: Array
    first_share: Array
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
    task_scores: Array
    standardise: str = "none"
    lower_is_better: bool = False
    topics: tuple[int, ...] = ()
    effects: tuple[PairEffect, ...] = ()
    warnings: tuple[Caution, ...] = ()

    @property
    def kind_of_tasks(self) -> str:
        """What stands in ``tasks``."""
        return "collection" if self.topics else "task"

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
    standardise: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    ranks: str = MARGINAL,
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
    standardise
        ``z`` for scores minus their mean over systems, in units of their sd, within each task; ``none`` for scores as
        they are, which is the default, but with a warning where the tasks' scales differ.
    test, correct
        As in a comparison; with missing cells ``max-t`` or ``t``, with clusters, strata or weights ``t``, each pair on
        the tasks that both have.
    lower_is_better
        Whether lower scores are better, as for latency and cost.
    ranks
        ``marginal``: each system's ranks hold with probability 1 − α; ``simultaneous``: all of them together.
    resamples
        Of the tasks, for the share in which a system is first, 10,000 unless given; and of the test where it draws
        some.
    """
    name = measure or table.measures[0]
    if table.shards:
        raise RequestError("there are several scores for each task and system", fix=REMEDY)
    weight = task_weights(table.topics, weights, "task", own=table.weights)
    scores = Scores(
        measure=name,
        systems=table.systems,
        tasks=table.topics,
        values=np.array(table.of(name), dtype=float),
        weights=weight,
        design=_design(table, weight, strata=strata),
        standardise=standardise,
        lower_is_better=lower_is_better,
        table=table.select(measures=[name]),
    )
    return board_of(
        scores, test=test, correct=correct, alpha=alpha, ranks=ranks, resamples=resamples, seed=seed, progress=progress
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores:
    """What a board is made of: rows × systems, where a row is a task or, with ``part``, a topic of a collection.

    ``design`` says how rows were sampled; ``part`` is the place in ``tasks`` of the collection of each row; ``table``
    is where the scores of tasks are from.
    """

    measure: str
    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Array
    weights: Array
    design: TopicDesign
    standardise: str | None
    lower_is_better: bool
    part: Array | None = None
    table: ScoreTable | None = None

    @property
    def turned(self) -> Array:
        """Standardised, and so that more is better."""
        values = standardised(self.values) if self.standardise == "z" else self.values
        return -values if self.lower_is_better else values


def board_of(
    scores: Scores,
    *,
    test: str | None,
    correct: str | None,
    alpha: float,
    ranks: str = MARGINAL,
    resamples: int | None,
    seed: int,
    progress: Progress | None = None,
) -> Board:
    """The board of tasks, or of the topics of several collections."""
    _check_cells(scores)
    values, design, part = scores.turned, scores.design, scores.part
    additive = _Additive(values)
    fitted = additive.fitted()
    means = design.shares @ fitted
    place = {system: at for at, system in enumerate(scores.systems)}
    asked: dict[str, Any] = {"test": test, "correct": correct, "alpha": alpha}
    if scores.table is not None and np.isfinite(values).all() and design.is_plain:
        if test in RESAMPLED:
            asked["resamples"] = resamples
        plain: dict[str, Any] = {"clusters": (), "strata": (), "weights": None}
        turned = scores.table.replaced(values=values[np.newaxis, :, :, np.newaxis], **plain)
        comparison = compare(turned, measure=scores.measure, **asked, seed=seed, progress=progress)
    else:
        drawing = Drawing(
            resamples=resamples or RESAMPLES, seed=sequence(seed, "leaderboard", "max-t"), progress=progress
        )
        comparison = compare_incomplete(
            values,
            means,
            scores.systems,
            design,
            measure=scores.measure,
            fewest=FEWEST_SHARED,
            drawing=drawing,
            **asked,
        )
    place = {system: at for at, system in enumerate(scores.systems)}
    order = np.array([place[system] for system in comparison.systems])
    values, fitted, means = values[:, order], fitted[:, order], means[order]
    there = np.isfinite(values).astype(np.int64)
    shared = there.T @ there
    position = 1 + (means > means[:, np.newaxis] + _SAME).sum(axis=1)
    rank_lower, rank_upper = comparison.ranks(ranks)
    resamples = resamples or RESAMPLES
    of_task = np.arange(len(values)) if part is None else part
    task_scores = _task_means(values, of_task, len(scores.tasks))
    sign = -1 if scores.lower_is_better else 1
    return Board(
        measure=scores.measure,
        systems=comparison.systems,
        scores=sign * means,
        ranks=position,
        rank_lower=np.minimum(rank_lower, position),  # where cells are missing, means may order otherwise than pairs
        rank_upper=np.maximum(rank_upper, position),
        first_share=_best_shares(fitted, design, resamples, seed),
        tasks=scores.tasks,
        weights=scores.weights,
        tasks_of=np.isfinite(task_scores).sum(axis=0),
        comparison=comparison,
        shared=shared,
        without=_without_each(additive, design, of_task, scores.systems, scores.tasks),
        friedman=None if design.has_clusters or design.has_strata else _friedman(values, alpha),
        missing=int((there == 0).sum()),
        alpha=alpha,
        seed=seed,
        resamples=resamples,
        task_scores=sign * task_scores,
        standardise=scores.standardise or "none",
        lower_is_better=scores.lower_is_better,
        topics=() if part is None else tuple(np.bincount(part, minlength=len(scores.tasks)).tolist()),
        warnings=(*comparison.warnings, *_cautions(comparison, shared, there), *_skewed(values), *_scales(scores)),
    )


def _scales(scores: Scores) -> tuple[Caution, ...]:
    """That tasks or collections are on different scales, where nothing was said about it."""
    if scores.standardise is not None:
        return ()
    found = scale_caution(scores.values, scores.tasks, scores.part)
    return () if found is None else (found,)


def _skewed(values: Array) -> Iterator[Caution]:
    """That differences are skewed on the tasks that pairs share; of complete tables their own cautions say it."""
    there = np.isfinite(values)
    if there.all():
        return
    x = np.where(there, values - np.nanmean(values, axis=1, keepdims=True), 0.0)
    pairs = all_pairs(values.shape[1])
    n, *sums = (
        found[pairs.first, pairs.second]
        for found in (
            there.T.astype(float) @ there,
            x.T @ there - there.T @ x,
            (x**2).T @ there + there.T @ x**2 - 2 * x.T @ x,
            (x**3).T @ there - 3 * (x**2).T @ x + 3 * x.T @ x**2 - there.T @ x**3,
        )
    )
    n = np.maximum(n, 1)
    mean, square, cube = (each / n for each in sums)
    variance = square - mean**2
    varies = (n >= FEWEST) & (variance > 1e-12 * np.maximum(square, TINY))
    third = np.where(varies, cube - 3 * mean * square + 2 * mean**3, 0.0)
    skew = np.abs(third) / np.where(varies, variance, 1.0) ** 1.5 / np.sqrt(n)  # |g| / √n
    count = int((skew > SKEW).sum())
    if count:
        yield Caution(
            "skewed-differences",
            f"{count:,} of {len(n):,} pairs of systems have skewed differences (|g|/√n > {SKEW:g}), so that their "
            "p-values, and the best and worst ranks, are approximate",
            "Run the missing tasks, or add tasks.",
        )


def _task_means(values: Array, of_task: Array, tasks: int) -> Array:
    """Tasks × systems: the mean over the rows of each task that have a score."""
    there = np.isfinite(values)
    counts, sums = np.zeros((2, tasks, values.shape[1]))
    np.add.at(counts, of_task, there)
    np.add.at(sums, of_task, np.where(there, values, 0.0))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _check_cells(scores: Scores) -> None:
    there = np.isfinite(scores.values)
    if len(scores.systems) < 2:
        raise InputError("a leaderboard needs at least two systems", fix="Give more systems.")
    rows = scores.tasks if scores.part is None else [scores.tasks[at] for at in scores.part.tolist()]
    word = "task" if scores.part is None else "a topic of the collection"
    for axis, what, names in ((0, "system", scores.systems), (1, word, rows)):
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


def task_weights(tasks: Sequence[str], given: Mapping[str, float] | None, kind: str, own: Array | None = None) -> Array:
    """The weight of each task or collection: the one given, its own, or 1."""
    unknown = [name for name in given or {} if name not in tasks]
    if unknown:
        raise RequestError(f"there is no {kind} «{unknown[0]}»", fix=there_are(tasks))
    usual = np.ones(len(tasks)) if own is None else own
    weight = np.array([(given or {}).get(task, each) for task, each in zip(tasks, usual.tolist(), strict=True)], float)
    if not (np.isfinite(weight).all() and (weight >= 0).all()) or np.count_nonzero(weight) < 2:
        raise RequestError("weights are numbers of 0 or more, two of them above 0", fix="Leave out others.")
    return weight


class _Additive:
    """The additive model of tasks and systems, x_ts = a_t + b_s, by least squares; tasks can be left out of it."""

    def __init__(self, values: Array) -> None:
        self.there = np.isfinite(values)
        self.absent = ~self.there
        self.filled = np.where(self.there, values, 0.0)
        self.count, self.total = self.there.sum(axis=1), self.filled.sum(axis=1)
        self.share = self.there / self.count[:, np.newaxis]
        # Tasks are eliminated, which leaves an equation for each system.
        self.normal, self.right = self._equations(slice(None))

    def _equations(self, rows: slice | Array) -> tuple[Array, Array]:
        there, share = self.there[rows].astype(float), self.share[rows]
        return np.diag(there.sum(axis=0)) - there.T @ share, self.filled[rows].sum(axis=0) - share.T @ self.total[rows]

    def effects(self, out: Array | None = None) -> tuple[Array, Array]:
        """Effects of tasks and of systems, without the rows ``out``; the board has to hold together."""
        normal, right = self.normal + 1.0, self.right  # effects of systems sum to 0
        if out is not None:
            less, part = self._equations(out)
            normal, right = normal - less, right - part
        systems = np.linalg.solve(normal, right)
        return (self.total - self.there @ systems) / self.count, systems

    def fitted(self) -> Array:
        """The scores, with those of the model where there are none."""
        if not self.absent.any():
            return self.filled
        tasks, systems = self.effects()
        return np.where(self.there, self.filled, tasks[:, np.newaxis] + systems)

    def means(self, shares: Array, out: Array) -> Array:
        """Means of the systems without the rows ``out``; those have shares of 0."""
        means = shares @ self.filled
        if self.absent.any():
            tasks, systems = self.effects(out)
            means += (shares * tasks) @ self.absent + (shares @ self.absent) * systems
        return np.asarray(means)


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
    additive: _Additive, design: TopicDesign, of_task: Array, systems: tuple[str, ...], tasks: tuple[str, ...]
) -> tuple[TaskEffect, ...]:
    """The first place and its lead without each task that the board can do without."""
    if not additive.absent.any() and not design.by_stratum:
        return _without_each_of_complete(additive.filled, design.weights, of_task, systems, tasks)
    found = []
    for at, task in enumerate(tasks):
        rows = np.flatnonzero(of_task != at)
        rest = design.of(rows)
        if not rest.weights.sum() or not _connected(additive.there[rows]):
            continue
        shares = np.zeros(len(of_task))
        shares[rows] = rest.shares
        means = additive.means(shares, np.flatnonzero(of_task == at))
        best = int(np.argmax(means))
        others = np.delete(means, best)
        found.append(TaskEffect(task=task, first=systems[best], lead=float(means[best] - others.max())))
    return tuple(found)


def _without_each_of_complete(
    values: Array, weights: Array, of_task: Array, systems: tuple[str, ...], tasks: tuple[str, ...]
) -> tuple[TaskEffect, ...]:
    """The same where no score is missing: sums over all rows less those of each task, however many tasks there are."""
    count = len(tasks)
    sums = np.stack([np.bincount(of_task, weights * column, count) for column in values.T], axis=1)
    left = weights.sum() - np.bincount(of_task, weights, count)
    can = (left > 0) & (np.bincount(of_task, minlength=count) < len(of_task))
    means = (sums.sum(axis=0) - sums[can]) / left[can, np.newaxis]
    best = means.argmax(axis=1)
    two = np.partition(means, -2, axis=1)[:, -2:]
    return tuple(
        TaskEffect(task=tasks[at], first=systems[first], lead=lead)
        for at, first, lead in zip(
            np.flatnonzero(can).tolist(), best.tolist(), (two[:, 1] - two[:, 0]).tolist(), strict=True
        )
    )


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
    if comparison.correct in ("bh", "by", "none") and comparison.test not in FAMILY and len(comparison.pairs) > 1:
        yield Caution(
            "ranks-apart",
            "without control of the family-wise error rate, the best and worst ranks do not hold together",
            "Leave out `correct`, or use holm.",
        )
    missing = int((there == 0).sum())
    if missing:
        pairs = all_pairs(len(shared))
        counts = shared[pairs.first, pairs.second]
        alone = int((counts < FEWEST_SHARED).sum())
        few = f"; {alone:,} pairs share fewer than {FEWEST_SHARED} and are not tested" if alone else ""
        yield Caution(
            "missing-cells",
            f"{missing:,} of {there.size:,} scores are missing: systems are ordered by what an additive model of "
            f"systems and tasks expects on all tasks, and a pair is compared on the tasks that both have, "
            f"{int(counts.min()):,} to {int(counts.max()):,} of {len(there):,}{few}",
            "Run the missing tasks, or leave out systems that have few.",
        )
