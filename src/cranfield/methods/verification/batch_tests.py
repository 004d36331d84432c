"""The tests users run, on many collections at once.

A tally takes topics as they come and keeps what its test needs; a test looks at a tally whenever it is asked and says
of every collection whether the best system is significantly better than the worst, whether any pair is significant,
and whether the worst is significantly better than the best. The worst is also the baseline, for tests that have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.corrections import correction
from cranfield.methods.contrasts.decisions import Drawing, by_max_t
from cranfield.methods.contrasts.estimates import Estimate, Estimator
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against, all_pairs
from cranfield.methods.contrasts.resampling import resampled_p, shuffled_ranges
from cranfield.methods.judging.estimators import JudgedPairs, JudgedScores, Moments, regression
from cranfield.methods.names import PLANNED_TEST_TITLES, TEST_TITLES, fix_for_test
from cranfield.methods.sharding.anova import EFFECTS, MODELS, NESTED, WITHIN_SYSTEMS
from cranfield.methods.sharding.shard_models import RANDOM, SAMPLED, SHARD_MODELS
from cranfield.runtime.random import Seed, sequence
from cranfield.stats.family import tukey_critical
from cranfield.stats.pairs import every_pair
from cranfield.stats.studentized import dunnett_critical
from cranfield.stats.tails import f_critical, t_critical
from cranfield.types import Array, ArrayLike

BASELINE = 1  # the worst system
CANCELLED = 1e-12  # of two systems' squares: a smaller rest is what subtracting left of it
_DIFFERENCES = 2_000_000  # differences of pairs at a time

AXES = {"topic": "t", "system": "s", "shard": "k"}
EFFECT_AXES = {name: "".join(AXES[word] for word in name.split("*")) for name in EFFECTS} | {"rest": "tsk"}
WITHIN = ("topic", "topic*system")  # what one-way ANOVA leaves
RESIDUAL = ("topic*system",)


@dataclass(frozen=True, eq=False)
class BatchVerdicts:
    """The result of a test for every collection."""

    found: Array
    anything: Array
    reversed: Array

    @classmethod
    def of_pairs(cls, significant: Array, gaps: Array) -> BatchVerdicts:
        """From verdicts about pairs, collections × pairs, of which the first is that of the best and the worst."""
        pair, gap = significant[:, 0], gaps[:, 0]
        return cls(pair & (gap > 0), np.asarray(significant.any(axis=1)), pair & (gap < 0))

    def one_sided(self) -> BatchVerdicts:
        """The same where only a better system is looked for."""
        return replace(self, anything=self.found, reversed=np.zeros_like(self.found))


# --- tallies


@dataclass(eq=False)
class Sums:
    """Running sums of every collection, from which all sums of squares follow for the topics so far."""

    topics: int = 0
    parts: dict[str, Array] = field(default_factory=dict)
    shape: tuple[int, int] = (0, 0)

    def add(self, scores: Array) -> None:
        """Add topics × collections × systems × shards."""
        self.topics += len(scores)
        self.shape = scores.shape[2], scores.shape[3]
        by_shard, several = scores.mean(axis=2), self.shape[1] > 1
        self._more("sums", scores.sum(axis=0))
        self._more("tsk" if several else "ts", np.einsum("tcsk,tcsk->c", scores, scores))
        self._more("t", np.einsum("tc,tc->c", *2 * [by_shard.mean(axis=2)]))
        if several:
            self._more("ts", np.einsum("tcs,tcs->c", *2 * [scores.mean(axis=3)]))
            self._more("tk", np.einsum("tck,tck->c", by_shard, by_shard))

    def _more(self, name: str, value: Array) -> None:
        self.parts[name] = self.parts[name] + value if name in self.parts else value

    @property
    def cells(self) -> Array:
        """Means over topics, collections × systems × shards."""
        return np.asarray(self.parts["sums"] / self.topics)

    @property
    def means(self) -> Array:
        return np.asarray(self.cells.mean(axis=2))

    def squares(self) -> dict[str, Array]:
        """The sums of squares of all effects and of what they leave: those of marginal means less their parts'."""
        sizes, cells = self._sizes, self.cells
        grand = cells.mean(axis=(1, 2))
        centred = cells - grand[:, np.newaxis, np.newaxis]
        means = {"s": centred.mean(axis=2), "k": centred.mean(axis=1), "sk": centred}
        marginal = {axes: np.square(each).reshape(len(grand), -1).sum(axis=1) for axes, each in means.items()}
        sums = {"tk": self.parts["t"], "tsk": self.parts["ts"]} | self.parts  # of one shard they are the same
        for axes in ("t", "ts", "tk", "tsk"):
            marginal[axes] = sums[axes] - math.prod(sizes[axis] for axis in axes) * grand**2
        total = {
            axes: square * math.prod(sizes[a] for a in "tsk" if a not in axes) for axes, square in marginal.items()
        }
        return {
            name: np.asarray(sum((-1) ** (len(axes) - len(part)) * total[part] for part in _parts(axes)))
            for name, axes in EFFECT_AXES.items()
        }

    @property
    def _sizes(self) -> dict[str, int]:
        return dict(zip("tsk", (self.topics, *self.shape), strict=True))

    def mean_square(self, names: tuple[str, ...]) -> tuple[Array, int]:
        """The mean square of several effects, never below 0, with its degrees of freedom."""
        squares, sizes = self.squares(), self._sizes
        df = sum(math.prod(sizes[axis] - 1 for axis in EFFECT_AXES[name]) for name in names)
        return np.maximum(np.sum([squares[name] for name in names], axis=0), 0.0) / df, df

    def sampled_error(self, *, nested: bool) -> tuple[Array, ArrayLike]:
        """The mean square that systems are tested by if replicates are a sample too: `anova.sampled_replicates`."""
        by_topic, replicate, rest = (
            self.mean_square(names)
            for names in (
                RESIDUAL,
                WITHIN_SYSTEMS if nested else ("system*shard",),
                ("topic*shard", "rest") if nested else ("rest",),
            )
        )
        ms = by_topic[0] + replicate[0] - rest[0]
        df = np.square(ms) / sum(np.square(part) / freedom for part, freedom in (by_topic, replicate, rest))
        shows_some = replicate[0] > rest[0]
        return np.where(shows_some, ms, by_topic[0]), np.where(shows_some, df, by_topic[1])


def _parts(axes: str) -> Iterator[str]:
    """All that some axes have in part, and they themselves."""
    for count in range(1, len(axes) + 1):
        yield from map("".join, combinations(axes, count))


@dataclass(eq=False)
class PairSums:
    """Running sums of scores and of their products, from which the t of every pair follows."""

    topics: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(()))
    products: Array = field(default_factory=lambda: np.zeros(()))

    def add(self, scores: Array) -> None:
        by_system = np.moveaxis(scores[..., 0], 0, 2)  # collections × systems × topics
        self.sums = self.sums + by_system.sum(axis=2)
        self.products = self.products + by_system @ np.swapaxes(by_system, 1, 2)
        self.topics += len(scores)

    def estimate(self) -> Estimate:
        """Mean differences of all pairs, collections × pairs; nothing is measured where they do not vary."""
        n = self.topics
        first, second = every_pair(self.sums.shape[1])
        covariance = self.products - self.sums[:, :, np.newaxis] * self.sums[:, np.newaxis, :] / n
        own = np.diagonal(covariance, axis1=1, axis2=2)
        both = own[:, first] + own[:, second]
        squares = both - 2 * covariance[:, first, second]
        error = np.sqrt(np.where(squares > CANCELLED * both, squares, 0.0) / (n * (n - 1)))
        value = (self.sums[:, first] - self.sums[:, second]) / n
        return Estimate(value=value, standard_error=error, df=np.array(n - 1.0))


@dataclass(eq=False)
class Scores:
    """All topics so far, topics × collections × systems; of two systems, only how far the first is above the second."""

    topics: int = 0
    pairs: bool = False
    blocks: list[Array] = field(default_factory=list)

    def add(self, scores: Array) -> None:
        self.topics += len(scores)
        self.blocks.append(scores[:, :, 0, 0] - scores[:, :, 1, 0] if self.pairs else scores[:, :, :, 0])

    @property
    def all(self) -> Array:
        """Topics × collections (× systems)."""
        self.blocks = [np.concatenate(self.blocks)]
        return self.blocks[0]

    def estimators(self, seed: Seed) -> Iterator[tuple[Estimator, Seed]]:
        """That of every collection, and its stream: all are resampled alike, each as if it were alone."""
        contrasts = all_pairs(self.all.shape[2])
        for scores in np.moveaxis(self.all, 1, 0):
            yield Pairs(np.ascontiguousarray(scores), contrasts), seed


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores under human labels and, of these topics and more, under a judge's; topics × collections × systems."""

    human: Array
    judge: Array

    def estimators(self, seed: Seed) -> Iterator[tuple[Estimator, Seed]]:
        """That of every collection, and its stream."""
        contrasts = all_pairs(self.human.shape[2])
        for at in range(self.human.shape[1]):
            human, judge = np.ascontiguousarray(self.human[:, at]), np.ascontiguousarray(self.judge[:, at])
            scores = JudgedScores(human=human, judge=judge, rows=np.arange(len(human)))
            yield JudgedPairs(scores, contrasts), sequence(seed, "max-t", at)

    def estimate(self) -> Estimate:
        """Mean differences by the regression estimator, collections × pairs."""
        pairs, collections = all_pairs(self.human.shape[2]), self.human.shape[1]
        step = max(1, _DIFFERENCES // (len(self.judge) * self.human.shape[2] ** 2))
        parts = [slice(start, start + step) for start in range(0, collections, step)]
        estimates = [
            regression(Moments.of(pairs.of(self.human[:, part]), pairs.of(self.judge[:, part]))) for part in parts
        ]
        value, error, df = (
            np.concatenate([getattr(each, name) for each in estimates]) for name in ("value", "standard_error", "df")
        )
        return Estimate(value=value, standard_error=error, df=df)


# --- tests


@dataclass(frozen=True)
class BatchTest:
    """A test by its name, for as many systems."""

    name: str
    alpha: float
    systems: int
    sides: int = 2
    resamples: int = 0

    def tally(self) -> Any:
        """What topics are added to."""
        if self.name in ("t", "holm"):
            return PairSums()
        return Scores(pairs=self.name in OF_TWO) if self.name in (*OF_TWO, *RESAMPLES) else Sums()

    def work_per_topic(self) -> int:
        """Multiplications, of one collection."""
        if self.name in OF_TWO:
            return max(self.resamples, 1)
        if self.name in RESAMPLES:
            return self.resamples * self.systems * (self.systems - 1) // 2
        return self.systems**2 if self.name == "holm" else self.systems

    def decide(self, tally: Any, seed: Seed = 1) -> BatchVerdicts:
        """The verdicts of all collections of a tally."""
        verdicts = _TESTS.get(self.name, _by_mean_squares)(self, tally, seed)
        return verdicts.one_sided() if self.sides == 1 else verdicts


def _by_mean_squares(test: BatchTest, sums: Sums, _: Seed) -> BatchVerdicts:
    """F, Tukey's and Dunnett's tests: all systems by one error term."""
    ms: Array
    df: Any
    ms, df = sums.sampled_error(nested=test.name == NESTED) if test.name in SAMPLING else _error_term(test.name, sums)
    means, (systems, shards) = sums.means, sums.shape
    gap, widest = means[:, 0] - means[:, 1], np.ptp(means, axis=1)
    if test.name in F_TESTS:
        above, df_above = sums.mean_square(("system",))
        significant = above >= f_critical(test.alpha, df_above, df) * ms
        return BatchVerdicts(significant, significant, significant & (gap < 0))
    if test.name == "dunnett":
        critical: Any = dunnett_critical(test.alpha, systems - 1, df)
        widest = np.abs(means - means[:, [BASELINE]]).max(axis=1)
    else:
        critical = t_critical(test.alpha, df) if test.sides == 1 else tukey_critical(test.alpha, systems, df)
    margin = critical * np.sqrt(2 * ms / (sums.topics * shards))  # FS19 Eq. 1
    return BatchVerdicts((gap >= margin) & (gap > 0), (widest >= margin) & (widest > 0), (-gap >= margin) & (gap < 0))


def _error_term(name: str, sums: Sums) -> tuple[Array, ArrayLike]:
    """The mean square that a test, or a model of Ferro and Sanderson (2019), leaves as its error."""
    if name in ("anova", "tukey-kramer"):
        return sums.mean_square(WITHIN)
    if name in ("blocked", "tukey", "dunnett", RANDOM):
        return sums.mean_square(RESIDUAL)
    return sums.mean_square((*(effect for effect in EFFECTS if effect not in MODELS[name]), "rest"))


def _by_t(test: BatchTest, tally: PairSums | LabelledScores, _: Seed) -> BatchVerdicts:
    """Student's t of every pair, with Holm's correction where all pairs are tested."""
    estimate = tally.estimate()
    p_value = correction("holm" if test.name == "holm" else "none")(estimate.p()) / (1 if test.sides == 2 else 2)
    return BatchVerdicts.of_pairs(p_value <= test.alpha, estimate.t)


def _by_largest_t(test: BatchTest, tally: Scores | LabelledScores, seed: Seed) -> BatchVerdicts:
    """Each pair by its own standard error, against the largest |t| of all pairs in resamples of the topics."""
    shown, t = [], []
    for estimator, stream in tally.estimators(seed):
        drawing = Drawing(resamples=test.resamples, seed=stream, further=False)
        shown.append(by_max_t(estimator, estimator.fit(), alpha=test.alpha, drawing=drawing).shown)
        t.append(estimator.fit().t)
    return BatchVerdicts.of_pairs(np.array(shown), np.array(t))


def _by_shuffled_ranges(test: BatchTest, tally: Scores, seed: Seed) -> BatchVerdicts:
    """Tukey's HSD by permutation within topics."""
    scores = tally.all
    means = scores.mean(axis=0)
    statistics = np.column_stack([means[:, 0] - means[:, 1], np.ptp(means, axis=1)])
    p_value = np.empty(statistics.shape)
    for at, observed in enumerate(statistics):
        ranges = shuffled_ranges(scores[:, at], resamples=test.resamples, seed=sequence(seed, at), workers=1)
        p_value[at] = resampled_p(ranges, observed)
    return BatchVerdicts.of_pairs(p_value <= test.alpha, statistics)


def _of_two_systems(test: BatchTest, tally: Scores, seed: Seed) -> BatchVerdicts:
    """A test of two systems; one-sided, half its p where the difference has the right sign."""
    gaps = tally.all
    collections = gaps.shape[1]
    pairs = Pairs(np.column_stack([gaps, np.zeros(len(gaps))]), against(collections + 1, [collections]))
    drawing = Drawing(resamples=max(test.resamples, 1), seed=seed, further=False)
    p_value = decide(pairs, test.name, correct="none", alpha=test.alpha, drawing=drawing).p_value
    significant = p_value / (1 if test.sides == 2 else 2) <= test.alpha
    return BatchVerdicts.of_pairs(significant[:, np.newaxis], pairs.difference[:, np.newaxis])


TITLES = {
    **PLANNED_TEST_TITLES,
    **{name: title for name, title in TEST_TITLES.items() if name != "unpaired"},
    "anova": "one-way ANOVA's F",
    "blocked": "two-way ANOVA's F, topics as blocks",
    **{name: f"Tukey's HSD on the error of {name}" for name in SHARD_MODELS},
    SAMPLED: "Tukey's HSD, topics and prompts as samples (MD6rr)",
    NESTED: "Tukey's HSD, topics and seeds as samples (nested)",
}
OF_TWO = ("t", "wilcoxon", "sign", "bootstrap", "permutation")
F_TESTS = ("anova", "blocked")
SAMPLING = (SAMPLED, NESTED)
"""Tests of replicates that are a sample; of two systems they are t tests."""
RESAMPLES = {"max-t": 499, "tukey-permutation": 1000, "bootstrap": 1000, "permutation": 1000}
"""Default number of permutations or resamples of the tests that need them."""
MOST_DRAWN = 1_000_000  # resamples

_TESTS: dict[str, Callable[[BatchTest, Any, Seed], BatchVerdicts]] = {
    **dict.fromkeys(OF_TWO, _of_two_systems),
    "t": _by_t,
    "holm": _by_t,
    "max-t": _by_largest_t,
    "tukey-permutation": _by_shuffled_ranges,
}


def make_test(name: str, *, alpha: float, systems: int, sides: int = 2, resamples: int | None = None) -> BatchTest:
    """A test by its name, for ``systems`` systems."""
    if name not in TITLES:
        raise RequestError(f"there is no test «{name}» to verify", fix=fix_for_test(name, TITLES))
    if sides == 1 and name not in OF_TWO and not (name in SAMPLING and systems == 2):
        raise RequestError(f"{TITLES[name]} has no sides", fix="One-sided is for tests of two systems.")
    if name in OF_TWO and systems != 2:
        raise RequestError(
            f"{TITLES[name]} is for two systems, and there are {systems}",
            fix="Use max-t, tukey or holm, which take all pairs together, or leave out the number of systems.",
        )
    return BatchTest(name, alpha, systems, sides, _resamples_of(name, resamples, alpha * (2 if sides == 1 else 1)))


def _resamples_of(name: str, resamples: int | None, alpha: float) -> int:
    """How many resamples a test draws; refused are so few that their smallest p is above α whatever the topics."""
    if name not in RESAMPLES:
        if resamples is not None:
            fix = f"Leave out `resamples`, or test by: {', '.join(RESAMPLES)}."
            raise RequestError(f"{TITLES[name]} draws no resamples", fix=fix)
        return 0
    count = RESAMPLES[name] if resamples is None else resamples
    if (least := 1 / (count + 1)) > alpha and name != "max-t":  # which never asks for more than Bonferroni's t
        enough = 1 / alpha - 1
        more = f"Ask for {math.ceil(round(enough, 6)):,} `resamples` or more, or use" if enough <= MOST_DRAWN else "Use"
        raise RequestError(
            f"{count:,} resamples give no p below {least:.1g}: nothing is significant at α = {alpha:g}",
            fix=f"{more} a test without resamples: tukey, or t for two systems.",
        )
    return count
