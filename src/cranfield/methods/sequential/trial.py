"""The sd before a study: from past experience with an earlier table, or from a trial experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design import Design, Goal, Sd, achieved, size, solve
from cranfield.methods.sequential.paired_differences import complete_scores
from cranfield.methods.sequential.study_goal import fixed_topics
from cranfield.methods.variance.components import pair_variances
from cranfield.runtime.random import sequence
from cranfield.scores import ScoreTable
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

TABLE_1_TOPICS = 50


@dataclass(frozen=True, eq=False)
class Estimate:
    """One estimate of the sd from the past, and the topics for it.

    ``topics`` detect ``difference`` if the sd is ``sd``; ``misses`` is the share of the pairs whose own sd is too large
    for the power with these topics; ``detectable`` is what 50 topics detect.
    """

    name: str
    sd: float
    topics: int
    misses: float
    detectable: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PastExperience:
    """The sd of every pair of an earlier table, and two estimates from them: the mean and a high percentile."""

    measure: str
    systems: int
    topics: int
    sds: Array
    difference: float
    alpha: float
    power: float
    percentile: float
    typical: Estimate
    cautious: Estimate
    citations: tuple[str, ...] = ("Webber2008",)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle 95 % of the pairs' sds."""
        low, high = np.percentile(self.sds, [2.5, 97.5])
        return float(low), float(high)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per estimate: the columns of Table 1, and the topics for the difference."""
        shared = {"measure": self.measure, "systems": self.systems, "pairs": len(self.sds)}
        asked = {"difference": self.difference, "alpha": self.alpha, "power": self.power}
        return [
            {
                **shared,
                "estimate": each.name,
                "sd": each.sd,
                **asked,
                "topics": each.topics,
                "misses": each.misses,
                "detectable_difference": each.detectable,
            }
            for each in (self.typical, self.cautious)
        ]

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """What may be claimed."""
        low, high = self.spread
        typical, cautious = self.typical, self.cautious
        return (
            f"A paired t test in {self.measure} requires {typical.topics:,} topics to detect a difference of "
            f"{self.difference:g} if the sd of the differences is the mean of {len(self.sds):,} pairs "
            f"({typical.sd:.3f}); {100 * typical.misses:.0f} % of such pairs would "
            f"then miss the power. It requires {cautious.topics:,} topics at the {self.percentile:g}th percentile "
            f"({cautious.sd:.3f}), where {100 * cautious.misses:.0f} % would. The middle 95 % of the sds are between "
            f"{low:.3f} and {high:.3f}."
        )


def past_experience(
    table: ScoreTable,
    *,
    difference: float,
    measure: str | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    percentile: float = 95.0,
) -> PastExperience:
    """Estimate the sd from past experience: Webber et al. (2008), §5.1 and Table 1."""
    scores, name = complete_scores(table, measure), measure or table.measures[0]
    if scores.shape[1] < 2:
        raise RequestError("one system is not a pair", fix="Give the scores of two systems or more.")
    sds = np.sqrt(pair_variances(scores))
    goal = {"difference": difference, "alpha": alpha, "power": power}
    typical = _estimate("mean", float(sds.mean()), sds, goal)
    cautious = _estimate("percentile", float(np.percentile(sds, percentile)), sds, goal)
    return PastExperience(
        measure=name,
        systems=scores.shape[1],
        topics=scores.shape[0],
        sds=sds,
        difference=difference,
        alpha=alpha,
        power=power,
        percentile=percentile,
        typical=typical,
        cautious=cautious,
    )


def _estimate(name: str, sd: float, sds: Array, goal: dict[str, Any]) -> Estimate:
    if not sd > 0:
        raise RequestError("the systems of this table do not differ on any topic", fix="Give scores of other systems.")
    topics = fixed_topics(sd=sd, **goal)
    moving = np.maximum(sds, 1e-9)  # two equal systems never vary, and have all the power
    aim = Goal("difference", goal["difference"], goal["power"])
    reached = achieved(Design(topics=topics, alpha=goal["alpha"], spread=Sd(sd=moving)), aim)
    usual = Design(topics=TABLE_1_TOPICS, alpha=goal["alpha"], spread=Sd(sd=sd))
    detectable = solve(usual, aim, "difference")
    return Estimate(name, sd, topics, float(np.mean(reached < goal["power"])), float(detectable))


def standard_error(sd: ArrayLike, topics: ArrayLike) -> Array:
    """σ/√(2n): the standard error of a sample's sd if differences are normal."""
    return np.asarray(np.asarray(sd, float) / np.sqrt(2 * np.asarray(topics, float)))  # WMZ08 Eq. 4


def upper_limit(sd: ArrayLike, topics: ArrayLike, *, confidence: float = 0.95) -> Array:
    """The sd that, after a trial, is exceeded with probability 1 − ``confidence``.

    >>> round(float(upper_limit(0.15, 30)), 3)  # WMZ08 §5.2
    0.183
    """
    n = np.asarray(topics, float)
    return np.asarray(sd + t_critical(1 - confidence, n - 1) * standard_error(sd, n))


def sd_interval(sd: ArrayLike, topics: int, *, confidence: float = 0.95) -> tuple[Array, Array]:
    """The theoretical two-sided interval of a sample's sd: the line of Fig. 2."""
    reach = t_critical((1 - confidence) / 2, topics - 1) * standard_error(sd, topics)
    return np.maximum(np.asarray(sd, float) - reach, 0.0), np.asarray(sd, float) + reach


@dataclass(frozen=True, kw_only=True, eq=False)
class TrialPlan:
    """Trials of several sizes for several sds; arrays are sds × sizes.

    ``main`` is the main experiment's topics at the trial's upper limit of the sd, ``total`` trial and main together;
    ``needed`` is the number of topics if the sd were known.
    """

    difference: float
    alpha: float
    power: float
    confidence: float
    sds: Array
    sizes: Array
    upper: Array
    main: Array
    total: Array
    needed: Array
    citations: tuple[str, ...] = ("Webber2008",)

    @property
    def best(self) -> Array:
        """The place of the smallest total, for every sd."""
        return np.asarray(self.total.argmin(axis=1))

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per trial: Fig. 3."""
        rows = []
        for row, sd in enumerate(self.sds.tolist()):
            for at, trial in enumerate(self.sizes.tolist()):
                rows.append(
                    {
                        "sd": sd,
                        "trial": trial,
                        "upper_sd": float(self.upper[row, at]),
                        "main": int(self.main[row, at]),
                        "topics": int(self.total[row, at]),
                        "needed": int(self.needed[row]),
                        "best": bool(at == self.best[row]),
                    }
                )
        return rows

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The best trial for the first sd."""
        at = int(self.best[0])
        total, needed = int(self.total[0, at]), int(self.needed[0])
        return (
            f"To detect a difference of {self.difference:g} if the sd is {self.sds[0]:g}, a trial of "
            f"{int(self.sizes[at])} topics is best: {total:,} topics in total, {100 * (total / needed - 1):.0f} % more "
            f"than the {needed:,} required if the sd were known. The topics of the trial do not count in the main "
            "experiment (paired t test on shared topics)."
        )


def plan_trial(
    *,
    difference: float,
    sd: ArrayLike,
    sizes: ArrayLike | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    confidence: float = 0.95,
) -> TrialPlan:
    """Webber et al. (2008), §5.2 and Fig. 3: total topics against the size of the trial, and the best size.

    >>> plan = plan_trial(difference=0.033, sd=0.15, sizes=[30])
    >>> int(plan.main[0, 0])  # WMZ08 prints the truncated 243
    244
    """
    sds = np.atleast_1d(np.asarray(sd, float))
    aim = Goal("difference", difference, power)
    needed = size(Design(alpha=alpha, spread=Sd(sd=sds)), aim).topics
    sizes = _sizes(needed) if sizes is None else np.atleast_1d(np.asarray(sizes, float))
    if (sizes < 2).any() or (sizes != np.floor(sizes)).any():
        raise RequestError("the size of a trial is a whole number of 2 or more", fix="Give sizes such as 10:100:10.")
    if not 0.5 <= confidence < 1:
        raise RequestError(f"the confidence must be from 0.5 to below 1, not {confidence:g}", fix="0.95 is usual.")
    upper = upper_limit(sds[:, np.newaxis], sizes, confidence=confidence)
    main = size(Design(alpha=alpha, spread=Sd(sd=upper)), aim).topics
    total = main + sizes.astype(np.int64)
    return TrialPlan(
        difference=difference,
        alpha=alpha,
        power=power,
        confidence=confidence,
        sds=sds,
        sizes=sizes.astype(np.int64),
        upper=upper,
        main=main,
        total=total,
        needed=needed,
    )


MOST_SIZES = 1000  # of a trial, unless they are given


def _sizes(needed: Array) -> Array:
    """Every size up to the largest main experiment, as long as these are not too many."""
    most = int(max(needed.max(), 10))
    return np.arange(5.0, most + 1, max(1, 2 * most // MOST_SIZES))


@dataclass(frozen=True, kw_only=True, eq=False)
class TrialCoverage:
    """The sampling distribution of the sd of a trial, by Eq. 4 and by resampling (Fig. 2).

    One value per pair: its sd over all topics, the middle 95 % of samples' sds, and what Eq. 4 says they are.
    """

    topics: int
    confidence: float
    repeats: int
    seed: int
    sd: Array
    lower: Array
    upper: Array
    theory_lower: Array
    theory_upper: Array

    @property
    def ratio(self) -> float:
        """How much wider the empirical intervals are than the theoretical ones, on average."""
        return float(np.mean((self.upper - self.lower) / (self.theory_upper - self.theory_lower)))

    def to_dict(self) -> list[dict[str, Any]]:
        names = ("sd", "lower", "upper", "theory_lower", "theory_upper")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def summary(self) -> str:
        return (
            f"Over {len(self.sd):,} random draws of a pair, the 95 % range of the sd of {self.topics} paired "
            f"differences is {self.ratio:.2f} times as wide as by the formula for normal differences"
            + (": the formula is too optimistic about a trial." if self.ratio > 1 else ".")
        )


def trial_coverage(
    differences: ArrayLike, *, topics: int = 30, confidence: float = 0.95, repeats: int = 1000, seed: int = 1
) -> TrialCoverage:
    """Draw trials from every row of ``differences`` (pairs × topics), with replacement, and compare their sds."""
    from cranfield.methods.sequential.paths import Population, fixed_paths

    population = Population.of(differences)
    sizes = np.full(population.pairs, topics)
    found = fixed_paths(population, sizes, alpha=0.05, repeats=repeats, seed=sequence(seed, "study trial"))
    sds = found.sd.reshape(population.pairs, repeats)
    tail = 50 * (1 - confidence)
    lower, upper = np.percentile(sds, [tail, 100 - tail], axis=1)
    theory_lower, theory_upper = sd_interval(population.sd, topics, confidence=confidence)
    return TrialCoverage(
        topics=topics,
        confidence=confidence,
        repeats=repeats,
        seed=seed,
        sd=population.sd,
        lower=lower,
        upper=upper,
        theory_lower=theory_lower,
        theory_upper=theory_upper,
    )
