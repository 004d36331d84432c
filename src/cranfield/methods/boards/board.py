"""A leaderboard: systems in order, the ranks that each may have, and what the order rests on.

Tasks are the sample, as topics are in a comparison: a board says what would hold on other tasks like these. On a board
of several collections the sample is the topics within them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, RequestError
from cranfield.methods.boards.board_scores import Scores, connected, tasks_of_table, topics_of_collections
from cranfield.methods.boards.effects import PairEffect, combined_pairs, left_out, pair_effect
from cranfield.methods.contrasts.clusters import RobustPairs, TopicDesign
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
from cranfield.stats.tails import TINY
from cranfield.types import Array, Progress

RESAMPLES = 10_000
FEWEST_SHARED = 3
"""Tasks that two systems must share for a test of their difference."""
_SAME = 1e-12  # means that differ by no more are the same
_BLOCK = 1_000_000  # resampled means, or counts of rows, at a time
MOST_DRAWN = 10_000_000  # resamples × tasks, about a second, unless a number of resamples is given
FEWEST_DRAWN = 200


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
        Share of resamples of the tasks in which the system is first; ties share. It is no probability. nan where
        several systems may be the best and no number of resamples is given, and where scores are missing: the model's
        scores in their place do not vary from resample to resample as others would.
    tasks_of
        How many tasks each system has.
    comparison
        Every pair, with the differences, intervals and p.
    without
        What the first place is without each task.
    task_scores
        Tasks × systems: the scores that the means are made of, after ``standardise``; nan where there are none.
    standardise
        ``none``, or ``z`` where scores are standardised within each task or topic.
    topics
        On a board of several collections, which stand in ``tasks``: the number of topics of each. Topics are then the
        sample, and are resampled within collections.
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
    tables: ScoreTable | Mapping[str, ScoreTable],
    *,
    measure: str | None = None,
    weights: Mapping[str, float] | None = None,
    strata: bool = False,
    standardise: str | None = None,
    baseline: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    ranks: str = MARGINAL,
    lower_is_better: bool = False,
    resamples: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Board:
    """Put systems in order by their mean over tasks, or over collections, with the ranks that each may have.

    Of several collections the score is the mean over collections of the means over topics, and the sample is the topics
    within these collections: ranks say what would hold on other topics of the same collections. What another collection
    would give is in the prediction intervals of ``effects``.

    Parameters
    ----------
    tables
        Systems on tasks, which stand where topics do; or systems on topics by the name of their collection. Cells may
        be missing, also all of a system in a collection.
    weights
        The weight of tasks or collections in the mean: that of the table, or 1, unless given; topics of a collection
        weigh the same.
    strata
        Whether the mean is that of the strata's means, such as those of task types, in place of the mean over tasks.
    standardise
        ``z`` for scores minus their mean over systems, in units of their sd, within each task or topic; ``none`` for
        scores as they are, which is the default, but with a warning where the scales differ.
    baseline
        With several collections: the system whose difference from each other one is combined over them. Without it all
        pairs are, up to 10 of them, and else the first two systems.
    test, correct
        As in a comparison; with missing cells ``max-t`` or ``t``, with clusters, strata, weights or several collections
        (which are strata) ``t``, each pair on the tasks or topics that both have.
    lower_is_better
        Whether lower scores are better, as for latency and cost.
    ranks
        ``marginal``: each system's ranks hold with probability 1 − α; ``simultaneous``: all of them together.
    resamples
        Of the tasks, for the share in which a system is first; and of the test where it draws some. Unless given,
        10,000, or fewer of more than 1,000 tasks, where one system alone may be the best, and none where several may.

    References
    ----------
    - W. G. Cochran, "Sampling Techniques", 3rd edition, Wiley, 1977, §5.4.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def collection(topics):
    ...     scores = rng.normal(0.4, 0.1, (topics, 1)) + [0.1, 0.05, 0.0] + rng.normal(0, 0.05, (topics, 3))
    ...     names = tuple(str(number) for number in range(topics))
    ...     return ScoreTable(("AP",), names, ("a", "b", "c"), scores[np.newaxis, :, :, np.newaxis])
    >>> board = make_board({"first": collection(50), "second": collection(25), "third": collection(40)})
    >>> board.systems, board.topics, len(board.effects)
    (('a', 'b', 'c'), (50, 25, 40), 3)
    """
    given: dict[str, Any] = {"weights": weights, "standardise": standardise, "lower_is_better": lower_is_better}
    if isinstance(tables, ScoreTable):
        scores = tasks_of_table(tables, measure, strata=strata, **given)
    else:
        scores = topics_of_collections(tables, measure, **given)
        if test not in (None, "t"):
            fix = "Leave out `test`: pairs are tested by t."
            raise RequestError(f"several collections are not compared by {test}", fix=fix)
    scores.check()
    additive = _Additive(scores.oriented)
    fitted = additive.fitted()
    tested: dict[str, Any] = {"test": test, "correct": correct, "alpha": alpha}
    comparison = _compared(scores, tested, scores.design.shares @ fitted, resamples, seed, progress)
    place = {system: at for at, system in enumerate(scores.systems)}
    order = np.array([place[system] for system in comparison.systems])
    values, means = scores.oriented[:, order], scores.design.shares @ fitted[:, order]
    there = np.isfinite(values).astype(np.int64)
    position = 1 + (means > means[:, np.newaxis] + _SAME).sum(axis=1)
    lower, upper = comparison.ranks(ranks)
    drawn = resamples or (_draws(len(values)) if len(comparison.top_group) == 1 else 0)
    drawn = drawn if there.all() else 0
    task_scores = _task_means(values, scores.of_task, len(scores.tasks))
    sign, has_groups = -1 if scores.lower_is_better else 1, scores.design.has_clusters or scores.design.has_strata
    pairs = combined_pairs(comparison.systems, baseline) if scores.topics else []
    effects = [effect for pair in pairs if (effect := pair_effect(scores, *pair, alpha)) is not None]
    return Board(
        measure=scores.measure,
        systems=comparison.systems,
        scores=sign * means,
        ranks=position,
        rank_lower=np.minimum(lower, position),  # where cells are missing, means may order otherwise than pairs
        rank_upper=np.maximum(upper, position),
        first_share=_first_shares(values, scores.design, drawn, seed),
        tasks=scores.tasks,
        weights=scores.weights,
        tasks_of=np.isfinite(task_scores).sum(axis=0),
        comparison=comparison,
        without=tuple(_without_each(additive, scores)),
        friedman=None if has_groups else _friedman(values, alpha),
        missing=int((there == 0).sum()),
        alpha=alpha,
        seed=seed,
        resamples=drawn,
        task_scores=sign * task_scores,
        standardise=scores.standardise or "none",
        lower_is_better=scores.lower_is_better,
        topics=scores.topics,
        effects=tuple(effects),
        warnings=(
            *comparison.warnings,
            *_cautions(comparison, there),
            *_skewed(scores),
            *scores.cautions(),
            *left_out(len(pairs) - len(effects)),
        ),
    )


def _compared(
    scores: Scores, tested: Mapping[str, Any], means: Array, resamples: int | None, seed: int, progress: Progress | None
) -> Comparison:
    """All pairs: those of a complete board of equal tasks by any test, others on the tasks that both systems have."""
    if scores.table is not None and np.isfinite(scores.values).all() and scores.design.is_plain:
        drawn: dict[str, Any] = {"resamples": resamples} if tested["test"] in RESAMPLED else {}
        table = scores.table.replaced(
            values=scores.oriented[np.newaxis, :, :, np.newaxis], clusters=(), strata=(), weights=None
        )
        return compare(table, measure=scores.measure, **tested, **drawn, seed=seed, progress=progress)
    drawing = Drawing(resamples=resamples or RESAMPLES, seed=sequence(seed, "leaderboard", "max-t"), progress=progress)
    named: dict[str, Any] = {"measure": scores.measure, "fewest": FEWEST_SHARED, "drawing": drawing}
    return compare_incomplete(scores.oriented, means, scores.systems, scores.design, **named, **tested)


def _skewed(scores: Scores) -> Iterator[Caution]:
    """That differences are skewed on the tasks that pairs share; of complete tables their own cautions say it."""
    if np.isfinite(scores.values).all():
        return
    pairs = RobustPairs(scores.oriented, all_pairs(len(scores.systems)), scores.design)
    count = sum(int((_skew(gaps) > SKEW).sum()) for gaps in pairs.blocks())
    if count:
        yield Caution(
            "skewed-differences",
            f"{count:,} of {len(pairs.contrasts):,} pairs of systems have skewed differences (|g|/√n > {SKEW:g}), so "
            "that their p-values, and the best and worst ranks, are approximate",
            "Run the missing tasks, or add tasks.",
        )


def _skew(gaps: Array) -> Array:
    """|g|/√n of columns of differences, nan where there is none; 0 where they are few or constant."""
    there = np.isfinite(gaps)
    n, gaps = there.sum(axis=0), np.where(there, gaps, 0.0)
    rest = np.where(there, gaps - gaps.sum(axis=0) / np.maximum(n, 1), 0.0)
    squared = np.square(rest)
    squares, cubes = squared.sum(axis=0), np.einsum("ij,ij->j", squared, rest)
    varies = (n >= FEWEST) & (squares > 1e-12 * np.square(gaps).sum(axis=0))
    return np.asarray(np.divide(np.abs(cubes), squares**1.5, out=np.zeros(len(n)), where=varies))


def _task_means(values: Array, of_task: Array, tasks: int) -> Array:
    """Tasks × systems: the mean over the rows of each task that have a score."""
    there = np.isfinite(values)
    counts, sums = np.zeros((2, tasks, values.shape[1]))
    np.add.at(counts, of_task, there)
    np.add.at(sums, of_task, np.where(there, values, 0.0))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


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


def _draws(tasks: int) -> int:
    """How many resamples show in which share of them a system is first.

    >>> _draws(50), _draws(10_000), _draws(1_000_000)
    (10000, 1000, 200)
    """
    return min(RESAMPLES, max(FEWEST_DRAWN, MOST_DRAWN // tasks))


def _first_shares(values: Array, design: TopicDesign, resamples: int, seed: Seed) -> Array:
    """How often each system is first, if clusters are drawn with replacement within strata; ties share."""
    if not resamples:
        return np.full(values.shape[1], np.nan)
    rng = generator(seed, "leaderboard", "best")
    share, step = np.zeros(values.shape[1]), max(1, _BLOCK // max(values.shape))
    for start in range(0, resamples, step):
        means = _resampled_means(values, design, min(step, resamples - start), rng)
        first = means >= means.max(axis=1, keepdims=True) - _SAME
        share += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return share / resamples


def _resampled_means(values: Array, design: TopicDesign, draws: int, rng: np.random.Generator) -> Array:
    """Draws × systems."""
    means = np.zeros((draws, values.shape[1]))
    for stratum in np.unique(design.strata):
        rows = np.flatnonzero(design.strata == stratum)
        clusters = np.unique(design.clusters[rows], return_inverse=True)[1]
        units = int(clusters.max()) + 1
        counts = rng.multinomial(units, np.full(units, 1 / units), size=draws)[:, clusters] * design.shares[rows]
        whole = counts.sum(axis=1, keepdims=True)  # clusters differ in size, strata keep their share
        scale = np.divide(design.shares[rows].sum(), whole, out=np.zeros_like(whole), where=whole > 0)
        means += (counts * scale) @ values[rows]
    return means


def _without_each(additive: _Additive, scores: Scores) -> Iterator[TaskEffect]:
    """The first place and its lead without each task that the board can do without."""
    is_simple = not additive.absent.any() and not scores.design.by_stratum
    for at, means in _complete_without(additive, scores) if is_simple else _fitted_without(additive, scores):
        first, second = np.argsort(-means, kind="stable")[:2].tolist()
        yield TaskEffect(task=scores.tasks[at], first=scores.systems[first], lead=float(means[first] - means[second]))


def _fitted_without(additive: _Additive, scores: Scores) -> Iterator[tuple[int, Array]]:
    """Means without each task, of the additive model of the others."""
    for at in range(len(scores.tasks)):
        is_left = scores.of_task != at
        rest = scores.design.of(np.flatnonzero(is_left))
        if rest.weights.sum() and connected(additive.there[is_left]):
            shares = np.zeros(len(is_left))
            shares[is_left] = rest.shares
            yield at, additive.means(shares, np.flatnonzero(~is_left))


def _complete_without(additive: _Additive, scores: Scores) -> Iterator[tuple[int, Array]]:
    """The same where no score is missing: sums over all rows less those of each task, however many tasks there are."""
    weights, of_task, count = scores.design.weights, scores.of_task, len(scores.tasks)
    sums = np.stack([np.bincount(of_task, weights * column, count) for column in additive.filled.T], axis=1)
    left = weights.sum() - np.bincount(of_task, weights, count)
    is_left = np.bincount(of_task, minlength=count) < len(of_task)
    total = sums.sum(axis=0)
    for at in np.flatnonzero((left > 0) & is_left).tolist():
        yield at, (total - sums[at]) / left[at]


def _friedman(values: Array, alpha: float) -> Friedman | None:
    """Ranks within tasks, 1 for the best; None where a score is missing, or for two systems."""
    n, m = values.shape
    if m < 3 or np.isnan(values).any():
        return None
    step = max(1, _BLOCK // m)
    parts = [_rank_sums(values[first : first + step]) for first in range(0, n, step)]
    average, ties = sum(sums for sums, _ in parts) / n, sum(ties for _, ties in parts)
    spread = n * m * (m + 1) / 12 - ties / (12 * (m - 1))
    statistic = float(n**2 * np.square(average - (m + 1) / 2).sum() / spread) if spread > 0 else 0.0
    critical = critical_range(alpha, m, np.inf) / np.sqrt(2) * np.sqrt(m * (m + 1) / (6 * n))  # Demšar 2006 §3.2.2
    return Friedman(
        average_ranks=average,
        statistic=statistic,
        p_value=float(max(special.chdtrc(m - 1, statistic), TINY)),
        critical_difference=float(critical),
    )


def _rank_sums(values: Array) -> tuple[Array, int]:
    """Sums over rows of the ranks within each, ties at the mean of theirs; and Σ(t³ − t) over groups of t ties.

    scipy.stats has the ranks and the test, but loading it takes most of a second.
    """
    order = np.argsort(-values, axis=1, kind="stable")
    descending = np.take_along_axis(values, order, axis=1)
    is_first = np.ones(values.shape, bool)  # of those that tie
    is_first[:, 1:] = descending[:, 1:] != descending[:, :-1]
    group = np.cumsum(is_first.ravel()) - 1
    counts = np.bincount(group)
    ranks = np.flatnonzero(is_first) % values.shape[1] + (counts + 1) / 2
    sums = np.bincount(order.ravel(), weights=ranks[group], minlength=values.shape[1])
    return sums, int((counts**3 - counts).sum())


def _cautions(comparison: Comparison, there: Array) -> Iterator[Caution]:
    if comparison.correct in ("bh", "by", "none") and comparison.test not in FAMILY and len(comparison.pairs) > 1:
        yield Caution(
            "ranks-apart",
            "without control of the family-wise error rate, the best and worst ranks do not hold together",
            "Leave out `correct`, or use holm.",
        )
    missing = int((there == 0).sum())
    if missing:
        pairs = all_pairs(there.shape[1])
        counts = (there.T @ there)[pairs.first, pairs.second]
        alone = int((counts < FEWEST_SHARED).sum())
        few = f"; {alone:,} pairs share fewer than {FEWEST_SHARED} and are not tested" if alone else ""
        yield Caution(
            "missing-cells",
            f"{missing:,} of {there.size:,} scores are missing: systems are ordered by what an additive model of "
            f"systems and tasks expects on all tasks, and a pair is compared on the tasks that both have, "
            f"{int(counts.min()):,} to {int(counts.max()):,} of {len(there):,}{few}",
            "Run the missing tasks, or leave out systems that have few.",
        )
