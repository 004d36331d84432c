"""Significant pairs of systems, and how two sets of topics agree on them and on the order of the systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.errors import Caution
from cranfield.methods.contrasts.comparing import compare, pair_p_values
from cranfield.methods.contrasts.kernels import set_sums
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.contrasts.tukey import ErrorTerm, critical_range
from cranfield.methods.reliability.generalisability import Generalisability, generalise
from cranfield.methods.reliability.kernels import count_verdicts
from cranfield.methods.reliability.topic_samples import (
    COMPILED,
    MANY,
    TrialTask,
    check_alpha,
    check_sizes,
    check_trials,
    chosen_scores,
    default_sizes,
    in_waves,
    labelled_sums,
    set_means,
    tasks,
)
from cranfield.methods.sharding.model_tests import tukey
from cranfield.methods.sharding.replication import PairVerdicts, Replication, halves, joined, replication_of
from cranfield.methods.variance.components import Summands
from cranfield.runtime.compiled import WORTH_LOADING
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.scores import ScoreTable
from cranfield.stats.kendall import kendall_taus, symmetric_tau_aps
from cranfield.stats.pairs import every_pair, pair_count
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
    test: str = "tukey",
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
        As in ``compare``: ``tukey`` (blocked) by default, ``tukey-permutation`` for Tukey by permutation within topics.
    resamples
        Permutations or resamples of the tests that need them.
    """
    check_alpha(alpha)
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
    test: str = "tukey",
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
        As in ``compare``: blocked Tukey by default.
    resamples
        Permutations or resamples of the tests that need them, on each half.
    """
    check_trials(trials)
    check_alpha(alpha)
    scores, _, _ = chosen_scores(table, measure, drop=drop, least_topics=4)
    halve: Callable[[TrialTask], tuple[Replication, Array]]
    if test == "tukey" and correct in (None, "none"):
        halve = partial(_tukey_halvings, Summands.of(scores), alpha, trials * scores.size)
    else:
        halve = partial(_halvings, scores, test, correct, alpha, resamples)
    name = measure or table.measures[0]
    stream = sequence(seed, "reliability", "halves", name)
    done = in_waves(halve, tasks(stream, trials), workers=workers, progress=progress)
    replications, agreeing = zip(*done, strict=True)
    n, m = scores.shape
    return SplitHalves(
        measure=name,
        topics=n,
        systems=m,
        test=test,
        correct=correct or ("none" if test in FAMILY else "holm"),
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


def _tukey_halvings(summands: Summands, alpha: float, work: int, task: TrialTask) -> tuple[Replication, Array]:
    """As `_halvings` by Tukey's test, for which sums over the topics of a half are enough."""
    half = len(summands.columns) // 2
    sums = _half_sums(summands.columns, half, work, task)
    found = summands.squares(half, sums.reshape(-1, sums.shape[2]))
    df, systems = (found.systems - 1) * (half - 1), found.systems
    if work * systems > WORTH_LOADING:
        errors = [ErrorTerm(residual, df, half).standard_error for residual in found.residual.tolist()]
        margins = critical_range(alpha, systems, df) * np.array(errors).reshape(-1, 2)
        return _counted(sums[:, :, :systems] / half, margins)
    verdicts = [
        _tukey_verdicts(row[:systems] / half, ErrorTerm(residual, df, half), alpha)
        for row, residual in zip(sums.reshape(-1, sums.shape[2]), found.residual.tolist(), strict=True)
    ]
    return _compared(list(zip(verdicts[::2], verdicts[1::2], strict=True)))


def _counted(means: Array, margins: Array) -> tuple[Replication, Array]:
    """As `_compared` of Tukey's verdicts, pair by pair in a loop: the same whole numbers."""
    trials, _, systems = means.shape
    counts = np.zeros((trials, 11), np.int64)
    pairs = pair_count(systems)
    count_verdicts(trials, np.ascontiguousarray(means), margins, counts, work=COMPILED, workers=1)
    replication = Replication(significant=counts[:, :2], outcomes=counts[:, 2:10].reshape(trials, 2, 4))
    return replication, counts[:, 10] / pairs


def _half_sums(columns: Array, half: int, work: int, task: TrialTask) -> Array:
    """Sums of the columns over both halves of the topics: trials × 2 × columns."""
    stream, trials = task
    if len(columns) > MANY:
        return labelled_sums(columns, np.array([half, half]), task)
    rng = generator(stream)
    sums = np.zeros((trials, 2, columns.shape[1]))
    for trial in range(trials):
        chosen = np.stack(halves(len(columns), rng))
        set_sums(2, columns, chosen, sums[trial], work=work, workers=1)
        rng.integers(2**63, size=2)  # the seeds of a test that needs them, so that all tests have the same halves
    return sums


def _tukey_verdicts(means: Array, error: ErrorTerm, alpha: float) -> PairVerdicts:
    """As `_verdicts`; Tukey's margin is enough, and quicker than its p-values."""
    result = tukey(means, error, alpha=alpha)
    return np.sign(result.difference), result.significant


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
