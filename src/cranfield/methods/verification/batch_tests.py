"""The tests users run, on many collections at once.

A tally takes topics as they come and keeps what its test needs; a test looks at a tally whenever it is asked and says
of every collection whether the best system is significantly better than the worst, whether any pair is significant,
and whether the worst is significantly better than the best. The worst is also the baseline, for tests that have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.contrasts.anova import EFFECTS, MODELS, NESTED, WITHIN_SYSTEMS
from cranfield.methods.contrasts.decisions import Drawing, by_max_t
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against, all_pairs
from cranfield.methods.contrasts.resampling import resampled_p, shuffled_ranges
from cranfield.methods.contrasts.tukey import critical_range
from cranfield.methods.names import PLANNED_TEST_TITLES, TEST_TITLES, fix_for_test
from cranfield.methods.sharding.shard_models import RANDOM, SAMPLED, SHARD_MODELS
from cranfield.runtime.random import Seed, sequence
from cranfield.stats.family import tukey_critical
from cranfield.stats.studentized import dunnett_critical
from cranfield.stats.tails import f_critical, t_critical
from cranfield.types import Array

BASELINE = 1  # the worst system
HAIR = 1e-12  # equal statistics may differ by rounding
_BLOCK = 400_000  # resampled statistics at a time, so that they stay near the processor


@dataclass(frozen=True, eq=False)
class BatchVerdicts:
    """The result of a test for every collection."""

    found: Array
    anything: Array
    reversed: Array


# --- sums of squares, which is all that ANOVA and Tukey need


@dataclass(eq=False)
class Sums:
    """Running sums of every collection, from which all sums of squares follow for the topics so far."""

    topics: int = 0
    parts: dict[str, Array] = field(default_factory=dict)
    shape: tuple[int, int] = (0, 0)

    def add(self, scores: Array) -> None:
        n, _, m, s = scores.shape
        self.topics += n
        self.shape = (m, s)
        cell_tk = scores.mean(axis=2)
        topic = cell_tk.mean(axis=2)
        self._more("sums", scores.sum(axis=0))
        self._more("squares", np.einsum("tcsk,tcsk->c", scores, scores))
        self._more("topic", np.einsum("tc,tc->c", topic, topic))
        if s > 1:
            cell_ts = scores.mean(axis=3)
            self._more("topic*system", np.einsum("tcs,tcs->c", cell_ts, cell_ts))
            self._more("topic*shard", np.einsum("tck,tck->c", cell_tk, cell_tk))

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
        """The sums of squares of all effects and of what they leave, as ``compare.decompose`` has them."""
        n, (m, s) = self.topics, self.shape
        cells = self.cells
        system, shard = cells.mean(axis=2), cells.mean(axis=1)
        grand = system.mean(axis=1)
        q, level = self.parts, grand**2
        system_squares, shard_squares = (system**2).sum(axis=1), (shard**2).sum(axis=1)
        found = {
            "topic": m * s * (q["topic"] - n * level),
            "system": n * s * ((system - grand[:, np.newaxis]) ** 2).sum(axis=1),
        }
        total = q["squares"] - n * m * s * level
        if s == 1:
            found["topic*system"] = total - found["topic"] - found["system"]
            return found | {name: np.zeros(len(grand)) for name in (*EFFECTS[2:3], *EFFECTS[4:], "rest")}
        found["topic*system"] = s * (q["topic*system"] - m * q["topic"] - n * system_squares + n * m * level)
        found["topic*shard"] = m * (q["topic*shard"] - s * q["topic"] - n * shard_squares + n * s * level)
        found["shard"] = n * m * ((shard - grand[:, np.newaxis]) ** 2).sum(axis=1)
        inside = cells - system[:, :, np.newaxis] - shard[:, np.newaxis, :] + grand[:, np.newaxis, np.newaxis]
        found["system*shard"] = n * (inside**2).sum(axis=(1, 2))
        return found | {"rest": total - sum(found.values())}

    def freedom(self) -> dict[str, int]:
        n, (m, s) = self.topics, self.shape
        return {
            "topic": n - 1,
            "system": m - 1,
            "shard": s - 1,
            "topic*system": (n - 1) * (m - 1),
            "system*shard": (m - 1) * (s - 1),
            "topic*shard": (n - 1) * (s - 1),
            "rest": (n - 1) * (m - 1) * (s - 1),
        }

    def mean_square(self, names: tuple[str, ...]) -> tuple[Array, int]:
        """Return the sum of squares of several effects, never below 0, with their degrees of freedom."""
        squares, freedom = self.squares(), self.freedom()
        df = sum(freedom[name] for name in names)
        return np.maximum(np.sum([squares[name] for name in names], axis=0), 0.0) / df, df


WITHIN = ("topic", "topic*system")  # what one-way ANOVA leaves
RESIDUAL = ("topic*system",)


@dataclass(frozen=True)
class FTest:
    """ANOVA's F of the systems, against one error or another."""

    alpha: float
    error: tuple[str, ...]

    def for_batch(self, batch: int) -> Self:
        return self

    def work_per_topic(self, systems: int) -> int:
        return systems

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> BatchVerdicts:
        above, df_above = tally.mean_square(("system",))
        below, df_below = tally.mean_square(self.error)
        significant = above >= f_critical(self.alpha, df_above, df_below) * below
        means = tally.means
        return BatchVerdicts(significant, significant, significant & (means[:, 0] < means[:, 1]))


@dataclass(frozen=True)
class TukeyTest:
    """Tukey's HSD on any error."""

    alpha: float
    error: tuple[str, ...]

    def for_batch(self, batch: int) -> Self:
        return self

    def work_per_topic(self, systems: int) -> int:
        return systems

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> BatchVerdicts:
        ms, df = tally.mean_square(self.error)
        m, s = tally.shape
        margin = critical_range(self.alpha, m, df) * np.sqrt(ms / (tally.topics * s))  # FS19 Eq. 1
        return _by_margin(tally.means, margin)


@dataclass(frozen=True)
class SampledTest:
    """Tukey's HSD, or t of two systems, if topics and replicates are samples: MD6rr, or the model of nested ones."""

    alpha: float
    nested: bool
    sides: int = 2

    def for_batch(self, batch: int) -> Self:
        return self

    def work_per_topic(self, systems: int) -> int:
        return systems

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> BatchVerdicts:
        by_topic, *others = (
            tally.mean_square(names)
            for names in (
                RESIDUAL,
                WITHIN_SYSTEMS if self.nested else ("system*shard",),
                ("topic*shard", "rest") if self.nested else ("rest",),
            )
        )
        ms = by_topic[0] + others[0][0] - others[1][0]
        df = np.square(ms) / sum(np.square(part) / freedom for part, freedom in (by_topic, *others))
        shows_none = others[0][0] <= others[1][0]  # replicates show no variance: as `sampled_replicates` has it
        ms, df = np.where(shows_none, by_topic[0], ms), np.where(shows_none, by_topic[1], df)
        m, s = tally.shape
        one_sided = self.sides == 1
        critical = t_critical(self.alpha, df) if one_sided else tukey_critical(self.alpha, m, df)
        found = _by_margin(tally.means, critical * np.sqrt(2 * ms / (tally.topics * s)))
        return replace(found, anything=found.found, reversed=found.found & False) if one_sided else found


def _by_margin(means: Array, margin: Array) -> BatchVerdicts:
    gap, reach = means[:, 0] - means[:, 1], np.ptp(means, axis=1)
    return BatchVerdicts((gap >= margin) & (gap > 0), (reach >= margin) & (reach > 0), (-gap >= margin) & (gap < 0))


@dataclass(frozen=True)
class DunnettTest:
    """Dunnett's test of all systems against the second one, topics as blocks."""

    alpha: float

    def for_batch(self, batch: int) -> Self:
        return self

    def work_per_topic(self, systems: int) -> int:
        return systems

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> BatchVerdicts:
        ms, df = tally.mean_square(RESIDUAL)
        margin = dunnett_critical(self.alpha, tally.shape[0] - 1, df) * np.sqrt(2 * ms / tally.topics)
        gaps = np.delete(tally.means, BASELINE, axis=1) - tally.means[:, [BASELINE]]
        significant = (np.abs(gaps) >= margin[:, np.newaxis]) & (gaps != 0)
        return by_pair(significant, gaps)


# --- tests that need each pair's own standard error


@dataclass(eq=False)
class Products:
    """Running sums of scores and of their products, from which the sd of every difference follows."""

    topics: int = 0
    sums: Array = field(default_factory=lambda: np.zeros(0))
    products: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, scores: Array) -> None:
        mine = np.moveaxis(scores[..., 0], 0, 2)  # collections × systems × topics
        products = mine @ np.swapaxes(mine, 1, 2)
        first = self.topics == 0
        self.sums = mine.sum(axis=2) if first else self.sums + mine.sum(axis=2)
        self.products = products if first else self.products + products
        self.topics += len(scores)

    def t(self) -> Array:
        """t of every pair, collections × pairs; 0 where the difference does not vary, so that nothing is claimed."""
        n = self.topics
        first, second = np.triu_indices(self.sums.shape[1], k=1)
        covariance = self.products - self.sums[:, :, np.newaxis] * self.sums[:, np.newaxis, :] / n
        own = np.diagonal(covariance, axis1=1, axis2=2)
        squares = own[:, first] + own[:, second] - 2 * covariance[:, first, second]
        gaps = (self.sums[:, first] - self.sums[:, second]) / n
        floor = HAIR * (own[:, first] + own[:, second])
        error = np.sqrt(np.maximum(squares, floor) / (n * (n - 1)))
        return np.divide(gaps, error, out=np.zeros_like(gaps), where=squares > floor)


@dataclass(frozen=True)
class HolmTest:
    """Paired t tests of all pairs with Holm's correction."""

    alpha: float

    def for_batch(self, batch: int) -> Self:
        return self

    def work_per_topic(self, systems: int) -> int:
        return systems**2

    def tally(self) -> Products:
        return Products()

    def decide(self, tally: Any) -> BatchVerdicts:
        t = tally.t()
        return by_pair(holm_significant(2 * special.stdtr(tally.topics - 1, -np.abs(t)), self.alpha), t)


def holm_significant(p_value: Array, alpha: float) -> Array:
    """Which pairs are significant by Holm's procedure, collections × pairs."""
    order = p_value.argsort(axis=1, kind="stable")
    # Holm 1979: the k-th smallest of K is compared with α/(K − k + 1), and none after the first that fails.
    steps = np.take_along_axis(p_value, order, axis=1) <= alpha / np.arange(p_value.shape[1], 0, -1)
    significant = np.empty_like(steps)
    np.put_along_axis(significant, order, np.logical_and.accumulate(steps, axis=1), axis=1)
    return significant


def by_pair(significant: Array, t: Array) -> BatchVerdicts:
    """Return the verdicts; pairs are in the order of ``np.triu_indices``, so the first is best and worst."""
    pair, gap = significant[:, 0], t[:, 0]
    return BatchVerdicts(pair & (gap > 0), np.asarray(significant.any(axis=1)), pair & (gap < 0))


# --- tests that need the scores themselves


@dataclass(eq=False)
class Scores:
    """All topics so far; of two systems, only how far the first is above the second."""

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


@dataclass(frozen=True)
class TukeyPermutationTest:
    """Tukey's HSD by permutation within topics."""

    alpha: float
    resamples: int
    seed: Seed

    def for_batch(self, batch: int) -> Self:
        """The same with resamples of the batch's own."""
        return replace(self, seed=sequence(self.seed, "test", batch))

    def work_per_topic(self, systems: int) -> int:
        return self.resamples * systems * (systems - 1) // 2

    def tally(self) -> Scores:
        return Scores()

    def decide(self, tally: Any) -> BatchVerdicts:
        scores = tally.all
        means = scores.mean(axis=0)
        p_value = np.empty((len(means), 2))
        for at, mine in enumerate(means):
            table = np.ascontiguousarray(scores[:, at])
            stream: Any = sequence(self.seed, at)
            ranges = shuffled_ranges(table, resamples=self.resamples, seed=stream, workers=1)
            p_value[at] = resampled_p(ranges, np.array([mine[0] - mine[1], np.ptp(mine)]))
        pair, widest = (p_value <= self.alpha).T
        gap = means[:, 0] - means[:, 1]
        return BatchVerdicts(pair & (gap > 0), widest, pair & (gap < 0))


@dataclass(frozen=True)
class MaxTTest:
    """Each pair by its own standard error, against the largest |t| of all pairs in resamples of the topics."""

    alpha: float
    resamples: int
    seed: Seed

    def for_batch(self, batch: int) -> Self:
        """The same with resamples of the batch's own."""
        return replace(self, seed=sequence(self.seed, "test", batch))

    def work_per_topic(self, systems: int) -> int:
        return self.resamples * systems * (systems - 1) // 2

    def tally(self) -> Scores:
        return Scores()

    def decide(self, tally: Any) -> BatchVerdicts:
        scores = tally.all
        contrasts = all_pairs(scores.shape[2])
        # All collections of a batch are resampled alike, each as if it were alone.
        drawing = Drawing(resamples=self.resamples, seed=self.seed, further=False)
        significant, t = [], []
        for at in range(scores.shape[1]):
            pairs = Pairs(np.ascontiguousarray(scores[:, at]), contrasts)
            estimate = pairs.fit()
            significant.append(by_max_t(pairs, estimate, alpha=self.alpha, drawing=drawing).shown)
            t.append(estimate.t)
        return by_pair(np.array(significant), np.array(t))


@dataclass(frozen=True)
class PairTest:
    """One of the tests of two systems; one-sided, half its p where the difference has the right sign."""

    alpha: float
    name: str
    sides: int
    resamples: int
    seed: Seed

    def for_batch(self, batch: int) -> Self:
        """The same with resamples of the batch's own."""
        return replace(self, seed=sequence(self.seed, "test", batch))

    def work_per_topic(self, systems: int) -> int:
        return max(self.resamples, 1)

    def tally(self) -> Scores:
        return Scores(pairs=True)

    def decide(self, tally: Any) -> BatchVerdicts:
        gaps = tally.all
        collections = gaps.shape[1]
        pairs = Pairs(np.column_stack([gaps, np.zeros(len(gaps))]), against(collections + 1, [collections]))
        drawing = Drawing(resamples=max(self.resamples, 1), seed=self.seed, further=False)
        p_value = decide(pairs, self.name, correct="none", alpha=self.alpha, drawing=drawing).p_value
        right = gaps.mean(axis=0) > 0
        if self.sides == 1:
            significant = right & (p_value / 2 <= self.alpha)
            return BatchVerdicts(significant, significant, np.zeros(len(right), bool))
        significant = p_value <= self.alpha
        return BatchVerdicts(significant & right, significant, significant & ~right)


Test = FTest | TukeyTest | SampledTest | DunnettTest | HolmTest | MaxTTest | TukeyPermutationTest | PairTest

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
SAMPLING = (SAMPLED, NESTED)
"""Tests of replicates that are a sample; of two systems they are t tests."""
RESAMPLES = {"max-t": 499, "tukey-permutation": 1000, "bootstrap": 1000, "permutation": 1000}
"""Default number of permutations or resamples of the tests that need them."""


def make_test(
    name: str, *, alpha: float, systems: int, sides: int = 2, resamples: int | None = None, seed: Seed = 1
) -> Test:
    """A test by its name, for ``systems`` systems."""
    if name not in TITLES:
        raise RequestError(f"there is no test «{name}» to verify", fix=fix_for_test(name, TITLES))
    if sides == 1 and name not in OF_TWO and not (name in SAMPLING and systems == 2):
        raise RequestError(f"{TITLES[name]} has no sides", fix="One-sided is for tests of two systems.")
    if resamples is not None and name not in RESAMPLES:
        raise RequestError(
            f"{TITLES[name]} draws no resamples", fix=f"Leave out `resamples`, or test by: {', '.join(RESAMPLES)}."
        )
    if resamples is None:
        resamples = RESAMPLES.get(name, 0)
    if name in RESAMPLES:
        _check_resamples(resamples, alpha * (2 if sides == 1 else 1))
    if name in SAMPLING:
        return SampledTest(alpha, name == NESTED, sides)
    if name in OF_TWO:
        if systems != 2:
            raise RequestError(
                f"{TITLES[name]} is for two systems, and there are {systems}",
                fix="Use max-t, tukey or holm, which take all pairs together, or leave out the number of systems.",
            )
        return PairTest(alpha, name, sides, resamples, seed)
    made: dict[str, Callable[[], Test]] = {
        "anova": lambda: FTest(alpha, WITHIN),
        "blocked": lambda: FTest(alpha, RESIDUAL),
        "tukey": lambda: TukeyTest(alpha, RESIDUAL),
        "tukey-kramer": lambda: TukeyTest(alpha, WITHIN),
        "dunnett": lambda: DunnettTest(alpha),
        "holm": lambda: HolmTest(alpha),
        "max-t": lambda: MaxTTest(alpha, resamples, seed),
        "tukey-permutation": lambda: TukeyPermutationTest(alpha, resamples, seed),
    }
    return made[name]() if name in made else TukeyTest(alpha, _left_by(name))


def _check_resamples(resamples: int, alpha: float) -> None:
    """Refuse a test whose smallest p is above α: no number of topics would be enough."""
    least = 1 / (resamples + 1)
    if least > alpha:
        enough = 1 / alpha - 1
        more = f"Ask for {math.ceil(round(enough, 6)):,} `resamples` or more, or use" if enough <= MOST_DRAWN else "Use"
        raise RequestError(
            f"{resamples:,} resamples give no p below {least:.1g}: nothing is significant at α = {alpha:g}",
            fix=f"{more} a test without resamples: tukey, or t for two systems.",
        )


MOST_DRAWN = 1_000_000  # resamples


def _left_by(model: str) -> tuple[str, ...]:
    """The effects in the error term of a model of Ferro and Sanderson (2019)."""
    if model == RANDOM:
        return RESIDUAL
    return (*(name for name in EFFECTS if name not in MODELS[model]), "rest")
