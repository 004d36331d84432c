"""Significant pairs of systems, and how two sets of topics agree on them and on the order of the systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from cranfield.errors import Caution
from cranfield.methods.contrasts.comparing import compare, pair_p_values
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.contrasts.pairs import rounding
from cranfield.methods.contrasts.resampling import summed
from cranfield.methods.contrasts.tukey import ErrorTerm, critical_range
from cranfield.methods.reliability.generalisability import Generalisability, generalise
from cranfield.methods.reliability.kernels import pair_squares
from cranfield.methods.reliability.topic_samples import (
    MANY,
    TrialTask,
    check_alpha,
    check_sizes,
    check_trials,
    chosen_scores,
    default_sizes,
    grouped_sums,
    in_waves,
    set_means,
    tasks,
)
from cranfield.methods.sharding.replication import PairVerdicts, Replication, halves, joined, replication_of
from cranfield.methods.variance.components import residuals, system_effects
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.scores import ScoreTable
from cranfield.stats.family import DEFAULT_TEST
from cranfield.stats.kendall import kendall_taus, symmetric_tau_aps
from cranfield.stats.pairs import every_pair, pair_count
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress


@dataclass(frozen=True, kw_only=True, eq=False)
class Discrimination:
    """One measure's p-values, smallest first, with the differences they belong to.

    ``difference`` is the required difference: Tukey's margin, or for pairwise tests the smallest from which on every
    pair is significant. ``warnings`` are those of the comparison.
    """

    measure: str
    topics: int
    systems: int
    test: str
    correct: str
    alpha: float
    p_values: Array
    differences: Array
    difference: float
    seed: int | None
    warnings: tuple[Caution, ...] = ()

    @property
    def significant_pairs(self) -> int:
        return int((self.p_values <= self.alpha).sum())

    @property
    def share(self) -> float:
        """Discriminative power: the share of pairs significant at α."""
        return self.significant_pairs / len(self.p_values)

    def share_at(self, alpha: float) -> float:
        """The share at another α."""
        return float((self.p_values <= alpha).mean())

    def curve(self, points: int = 200) -> list[dict[str, Any]]:
        """The p-value curve: pairs sorted by p, their share so far, and p; thinned out where there are many."""
        places = np.unique(np.linspace(0, len(self.p_values) - 1, min(points, len(self.p_values))).astype(int))
        return [
            {"measure": self.measure, "share": (at + 1) / len(self.p_values), "p_value": float(self.p_values[at])}
            for at in places.tolist()
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per measure."""
        return [
            {
                "measure": self.measure,
                "topics": self.topics,
                "test": self.test,
                "alpha": self.alpha,
                "pairs": len(self.p_values),
                "significant_pairs": self.significant_pairs,
                "discriminative_power": self.share,
                "difference": self.difference,
            }
        ]


def discriminative_power(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    drop: float = 0.0,
    seed: Seed = 1,
) -> Discrimination:
    """Test all pairs of systems under one measure, to compare measures by the share of significant pairs.

    Parameters
    ----------
    test, correct
        As in ``compare``: paired t with Holm's correction by default.
    resamples
        Permutations or resamples of the tests that need them.
    """
    check_alpha(alpha)
    test = test or DEFAULT_TEST
    _, kept, _ = chosen_scores(table, measure, drop=drop)
    name = measure or table.measures[0]
    stream = int(generator(seed, "reliability", "discrimination", name).integers(2**63))  # no measure shares another's
    found = compare(
        table.select(systems=kept),
        measure=name,
        test=test,
        correct=correct,
        alpha=alpha,
        resamples=resamples if test in RESAMPLED else None,
        seed=stream,
    )
    order = np.argsort(found.p_adjusted, kind="stable")
    sizes = np.abs(found.difference)
    shared = found.half_width == found.half_width  # one threshold for all pairs
    needed = 2 * found.half_width if shared else _smallest_sure(sizes, found.significant)
    return Discrimination(
        measure=found.measure,
        topics=found.topics,
        systems=len(found.systems),
        test=test,
        correct=found.correct,
        alpha=alpha,
        p_values=found.p_adjusted[order],
        differences=sizes[order],
        difference=needed,
        seed=found.seed,
        warnings=found.warnings,
    )


def _smallest_sure(sizes: Array, significant: Array) -> float:
    """The smallest difference from which on all are significant; nan where the largest of all is not."""
    missed = sizes[~significant].max(initial=-1.0)
    sure = sizes[significant & (sizes > missed)]
    return float(sure.min()) if len(sure) else float("nan")


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitHalves:
    """Replication of significant pairs on other topics, over many random halvings.

    ``replication`` has the shares that are significant again, not significant, reversed, or have the opposite sign;
    ``agreeing`` is the share of all pairs, significant or not, that both halves put in the same order.
    """

    measure: str
    topics: int
    systems: int
    test: str
    correct: str
    alpha: float
    replication: Replication
    agreeing: Array
    trials: int
    seed: Seed

    @property
    def pairs(self) -> int:
        return pair_count(self.systems)

    @property
    def significant_share(self) -> float:
        """The share of all pairs that is significant on half of the topics."""
        return float(self.replication.significant.mean() / self.pairs)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row, with the share and the interval of every outcome."""
        return [
            {
                "measure": self.measure,
                "topics": self.topics // 2,
                "test": self.test,
                "pairs": self.pairs,
                "significant_share": self.significant_share,
                "agreeing": float(self.agreeing.mean()),
                **self.replication.to_dict(),
            }
        ]


def split_halves(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    trials: int = 1000,
    resamples: int = 1000,
    drop: float = 0.0,
    seed: Seed = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SplitHalves:
    """Halve the topics at random many times, test all pairs on both halves, and compare the results.

    Parameters
    ----------
    test, correct
        As in ``compare``: paired t with Holm's correction by default.
    resamples
        Permutations or resamples of the tests that need them, on each half.
    """
    check_trials(trials)
    check_alpha(alpha)
    scores, _, _ = chosen_scores(table, measure, drop=drop, least_topics=4)
    test = test or DEFAULT_TEST
    correct = correct or ("none" if test in FAMILY else "holm")
    halve: Callable[[TrialTask], tuple[Replication, Array]]
    if decide := DECIDED_BY_SUMS.get((test, correct)):
        halve = _Halves(scores, alpha, decide, 2 * trials * pair_count(scores.shape[1]))
    else:
        halve = partial(_halvings, scores, test, correct, alpha, resamples)
    name = measure or table.measures[0]
    stream = sequence(seed, "reliability", "halves", name)
    done = in_waves(halve, tasks(stream, trials, len(scores)), workers=workers, progress=progress)
    replications, agreeing = zip(*done, strict=True)
    n, m = scores.shape
    return SplitHalves(
        measure=name,
        topics=n,
        systems=m,
        test=test,
        correct=correct,
        alpha=alpha,
        replication=joined(list(replications)),
        agreeing=np.concatenate(agreeing),
        trials=trials,
        seed=seed,
    )


def _halvings(
    scores: Array, test: str, correct: str | None, alpha: float, resamples: int, task: TrialTask
) -> tuple[Replication, Array]:
    """The replication of each halving of a task, and the share of all pairs in the same order."""
    stream, trials = task
    rng = generator(stream)
    pairs = []
    for _ in range(trials):
        one, other = (
            _verdicts(scores[part], test, correct, alpha, resamples, int(rng.integers(2**63)))
            for part in halves(len(scores), rng)
        )
        pairs.append((one, other))
    return _compared(pairs)


def _verdicts(scores: Array, test: str, correct: str | None, alpha: float, resamples: int, seed: int) -> PairVerdicts:
    """The sign of every pair's difference, and whether it is significant."""
    means = scores.mean(axis=0)
    first, second = every_pair(len(means))
    p_adjusted = pair_p_values(scores, test=test, correct=correct, alpha=alpha, resamples=resamples, seed=seed)
    return np.sign(means[first] - means[second]), p_adjusted <= alpha


@dataclass(frozen=True, eq=False)
class _Halves:
    """A table whose halves are described by sums over their topics, which is all that t and Tukey's test need."""

    scores: Array
    alpha: float
    decide: Callable[[Array, Array, int, float], Array]
    work: int

    def __call__(self, task: TrialTask) -> tuple[Replication, Array]:
        """As `_halvings`, from the sums of every half."""
        drawn = self._of_groups(task) if len(self.scores) > MANY else self._of_topics(task)
        return _compared(list(drawn))

    @cached_property
    def half(self) -> int:
        return len(self.scores) // 2

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        return every_pair(self.scores.shape[1])

    @cached_property
    def effects(self) -> Array:
        return system_effects(self.scores)

    def _verdicts(self, difference: Array, squares: Array, spare: Array) -> PairVerdicts:
        sign = (difference > 0).astype(np.int8) - (difference < 0).astype(np.int8)
        shown = self.decide(np.square(difference, out=spare), squares, self.half, self.alpha)
        return sign, shown & (squares > 0)

    def _buffer(self) -> Array:
        """Of every pair the mean difference, Σ(d − d̄)², and the squares of its two systems: once for many halves."""
        return np.empty((3, pair_count(self.scores.shape[1])))

    def _fill(self, out: Array, sums: Array, rest: Array, own: Array, products: Array) -> None:
        means = sums / self.half
        pair_squares(len(sums), means, rest, own, products, float(self.half), *out, work=self.work, workers=1)

    def _of_topics(self, task: TrialTask) -> Iterator[tuple[PairVerdicts, PairVerdicts]]:
        stream, trials = task
        rng, rest, buffer = generator(stream), residuals(self.scores, self.effects), self._buffer()
        tiny = rounding(self.scores.min(), self.scores.max())
        for _ in range(trials):
            one, other = halves(len(self.scores), rng)
            yield (
                self._of_half(self.scores[one], rest[one], tiny, buffer),
                self._of_half(self.scores[other], rest[other], tiny, buffer),
            )
            rng.integers(2**63, size=2)  # the seeds of a test that needs them, so that all tests have the same halves

    def _of_half(self, scores: Array, rest: Array, tiny: float, buffer: Array) -> PairVerdicts:
        first, second = self.pairs
        products = rest.T @ rest
        self._fill(buffer, scores.sum(axis=0), rest.sum(axis=0), np.diag(products).copy(), products)
        difference, squares, size = buffer
        close = np.flatnonzero(squares < CLOSE * size)  # products have lost the digits of these
        if len(close):
            gaps = scores[:, first[close]] - scores[:, second[close]]
            varying = np.ptp(gaps, axis=0) > tiny
            squares[close] = np.where(varying, np.square(gaps - gaps.mean(axis=0)).sum(axis=0), 0.0)
        return self._verdicts(difference, squares, size)

    def _of_groups(self, task: TrialTask) -> Iterator[tuple[PairVerdicts, PairVerdicts]]:
        """The same of very many topics, whose sums and products are those of groups of them."""
        buffer = self._buffer()
        for one, other in grouped_sums(self.scores, np.array([self.half] * 2), task, total=self._total):
            yield self._of_sums(one, buffer), self._of_sums(other, buffer)

    def _of_sums(self, row: Array, buffer: Array) -> PairVerdicts:
        m = self.scores.shape[1]
        products = np.empty((m, m))
        products[self.pairs] = row[3 * m :]
        sums, rest, own = row[: 3 * m].reshape(3, m)
        self._fill(buffer, sums, rest, own, products)
        difference, squares, size = buffer
        return self._verdicts(difference, np.where(squares > VANISHING * size, squares, 0.0), size)

    def _total(self, block: Array) -> Array:
        """Sums of the scores, and of residuals, their squares and the products of pairs."""
        rest = residuals(block, self.effects)
        products = summed(rest.T, rest)
        return np.concatenate([block.sum(axis=0), rest.sum(axis=0), np.diag(products), products[self.pairs]])


CLOSE = 1e-3
"""Part of its systems' squares below which the squares of a pair are summed from its differences."""
VANISHING = 1e-12
"""The same below which the differences of very many topics are taken not to vary."""


def _by_student(squared: Array, squares: Array, topics: int, alpha: float) -> Array:
    """Which squared differences are significant by t with Holm's correction: step by step, until no more are."""
    t_squared = np.divide(squared, squares, out=np.zeros_like(squared), where=squares > 0)
    t_squared *= topics * (topics - 1)
    count, found = len(t_squared), -1
    shown = np.zeros(count, bool)
    while found < (shown_count := int(np.count_nonzero(shown))) < count:
        found = shown_count
        shown = t_squared >= float(t_critical(alpha / (2 * (count - found)), topics - 1)) ** 2
    return shown


def _by_tukey(squared: Array, squares: Array, topics: int, alpha: float) -> Array:
    """The same by Tukey's test; the residual variance is half of the mean of those of differences."""
    systems = round((1 + (1 + 8 * len(squared)) ** 0.5) / 2)
    df = (topics - 1) * (systems - 1)
    error = ErrorTerm(float(squares.mean()) / (2 * (topics - 1)), df, topics).standard_error
    return np.asarray(np.sqrt(squared) >= critical_range(alpha, systems, df) * error)


DECIDED_BY_SUMS = {("t", "holm"): _by_student, ("tukey", "none"): _by_tukey}
"""The tests, with their corrections, that need no more of a half than sums over its topics."""


def _compared(pairs: Sequence[tuple[PairVerdicts, PairVerdicts]]) -> tuple[Replication, Array]:
    agreeing = np.array([(one[0] * other[0] > 0).mean() for one, other in pairs])
    return joined([replication_of(one, other) for one, other in pairs]), agreeing


@dataclass(frozen=True, kw_only=True, eq=False)
class RankStability:
    """τ and τ_AP between disjoint sets of topics, sizes × trials; and the variances that say what to expect."""

    measure: str
    topics: int
    systems: int
    sizes: tuple[int, ...]
    tau: Array
    tau_ap: Array
    study: Generalisability
    trials: int
    seed: Seed

    def expected_tau(self, topics: int) -> float:
        """Expected τ between two sets of ``topics`` topics under normality."""
        return float(2 / np.pi * np.arcsin(self.study.relative(topics).value))

    def expected_true_tau(self, topics: int) -> float:
        """Expected τ between a set of ``topics`` topics and the true order under normality."""
        return float(2 / np.pi * np.arcsin(np.sqrt(self.study.relative(topics).value)))

    def to_dict(self, topics: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Return one row per size of the set; above half of the topics only the expected values exist."""
        return [self._row(size) for size in (*self.sizes, *(n for n in topics if n not in self.sizes))]

    def _row(self, size: int) -> dict[str, Any]:
        row: dict[str, Any] = {"measure": self.measure, "topics": size}
        for name, values in (("tau", self.tau), ("tau_ap", self.tau_ap)):
            mine = values[self.sizes.index(size)] if size in self.sizes else np.full(1, np.nan)
            row[name] = float(mine.mean())
            row[f"{name}_lower"], row[f"{name}_upper"] = np.quantile(mine, [0.025, 0.975]).tolist()
        row["expected_tau"], row["expected_true_tau"] = self.expected_tau(size), self.expected_true_tau(size)
        return row


def rank_stability(
    table: ScoreTable,
    *,
    measure: str | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 1000,
    drop: float = 0.0,
    study: Generalisability | None = None,
    seed: Seed = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankStability:
    """Compute τ and τ_AP between two disjoint sets of topics, for sets of several sizes.

    τ_AP, which gives more weight to the top of the ranking, is the mean of both directions. ``study`` is that of the
    same table, if it has been made already.
    """
    check_trials(trials)
    scores, _, _ = chosen_scores(table, measure, drop=drop)
    chosen = tuple(sizes) if sizes is not None else default_sizes(len(scores))
    check_sizes(chosen, len(scores), 2, replacement=False)
    stream = sequence(seed, "reliability", "rankings", measure or table.measures[0])
    found = []
    drawn = set_means(scores, chosen, stream, trials=trials, sets=2, replacement=False, workers=workers)
    for at, means in enumerate(drawn):
        parts = [means[first:last] for first, last in slices(trials, min(trials, 8))]
        found.append(np.concatenate(spread(_agreements, parts, workers=workers), axis=1))
        if progress is not None:
            progress(at + 1, len(chosen))
    tau, tau_ap = np.moveaxis(np.array(found), 1, 0)
    n, m = scores.shape
    return RankStability(
        measure=measure or table.measures[0],
        topics=n,
        systems=m,
        sizes=chosen,
        tau=tau,
        tau_ap=tau_ap,
        study=study or generalise(table, measure=measure, drop=drop),
        trials=trials,
        seed=seed,
    )


def _agreements(means: Array) -> Array:
    """τ and τ_AP of every trial."""
    one, other = means[:, 0], means[:, 1]
    return np.array([kendall_taus(one, other), symmetric_tau_aps(one, other)])
