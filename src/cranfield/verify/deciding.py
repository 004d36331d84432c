"""The tests users run, on many collections at once.

A tally takes topics as they come and keeps what its test needs; a test looks at a tally whenever it is asked and says
of every collection whether the best system was told from the worst, whether anything was found, and whether the two
were found the wrong way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from cranfield.compare.anova import EFFECTS, MODELS
from cranfield.compare.comparison import randomised_p, shuffled_ranges
from cranfield.compare.pairwise import TESTS as PAIR_TESTS
from cranfield.compare.sharding import RANDOM, SHARD_MODELS
from cranfield.compare.tukey import critical_range
from cranfield.errors import RequestError
from cranfield.stats.tails import f_critical

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Of every collection."""

    found: Array
    anything: Array
    reversed: Array


class Tally(Protocol):
    topics: int

    def add(self, scores: Array) -> None:
        """Topics × collections × systems × shards."""


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
        """Of several effects together, never below 0, with their degrees of freedom."""
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

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> Verdicts:
        above, df_above = tally.mean_square(("system",))
        below, df_below = tally.mean_square(self.error)
        significant = above >= f_critical(self.alpha, df_above, df_below) * below
        means = tally.means
        return Verdicts(significant, significant, significant & (means[:, 0] < means[:, 1]))


@dataclass(frozen=True)
class TukeyTest:
    """Tukey's HSD on any error."""

    alpha: float
    error: tuple[str, ...]

    def for_batch(self, batch: int) -> Self:
        return self

    def tally(self) -> Sums:
        return Sums()

    def decide(self, tally: Any) -> Verdicts:
        ms, df = tally.mean_square(self.error)
        m, s = tally.shape
        margin = critical_range(self.alpha, m, df) * np.sqrt(ms / (tally.topics * s))  # FS19 Eq. 1
        return _by_margin(tally.means, margin)


def _by_margin(means: Array, margin: Array) -> Verdicts:
    gap, reach = means[:, 0] - means[:, 1], np.ptp(means, axis=1)
    return Verdicts((gap >= margin) & (gap > 0), (reach >= margin) & (reach > 0), (-gap >= margin) & (gap < 0))


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
class RandomisedTest:
    """Tukey's HSD by permutation within topics."""

    alpha: float
    resamples: int
    seed: int

    def for_batch(self, batch: int) -> Self:
        """The same with resamples of the batch's own."""
        return replace(self, seed=self.seed + batch * 1_000_003)

    def tally(self) -> Scores:
        return Scores()

    def decide(self, tally: Any) -> Verdicts:
        scores = tally.all
        means = scores.mean(axis=0)
        p_value = np.empty((len(means), 2))
        for at, mine in enumerate(means):
            table = np.ascontiguousarray(scores[:, at])
            ranges = shuffled_ranges(table, count=self.resamples, seed=self.seed + at, workers=1)
            p_value[at] = randomised_p(ranges, np.array([mine[0] - mine[1], np.ptp(mine)]))
        pair, widest = (p_value <= self.alpha).T
        gap = means[:, 0] - means[:, 1]
        return Verdicts(pair & (gap > 0), widest, pair & (gap < 0))


@dataclass(frozen=True)
class PairTest:
    """One of the tests of two systems; one-sided, half its p where the difference has the right sign."""

    alpha: float
    name: str
    sides: int
    resamples: int
    seed: int

    def for_batch(self, batch: int) -> Self:
        """The same with resamples of the batch's own."""
        return replace(self, seed=self.seed + batch * 1_000_003)

    def tally(self) -> Scores:
        return Scores(pairs=True)

    def decide(self, tally: Any) -> Verdicts:
        gaps = tally.all
        extra: dict[str, Any] = {}
        if self.name in ("bootstrap", "randomisation"):
            extra = {"count": self.resamples, "seed": self.seed}
        p_value = PAIR_TESTS[self.name](gaps, self.alpha, **extra).p_value
        right = gaps.mean(axis=0) > 0
        if self.sides == 1:
            significant = right & (p_value / 2 <= self.alpha)
            return Verdicts(significant, significant, np.zeros(len(right), bool))
        significant = p_value <= self.alpha
        return Verdicts(significant & right, significant, significant & ~right)


Test = FTest | TukeyTest | RandomisedTest | PairTest

TITLES = {
    "anova": "one-way ANOVA's F",
    "blocked": "two-way ANOVA's F, topics as blocks",
    "tukey": "Tukey's HSD, topics as blocks",
    "unpaired": "one-way Tukey, which ignores that topics are shared",
    "randomised": "Tukey's HSD by permutation within topics",
    **{name: f"Tukey's HSD on the error of {name}" for name in SHARD_MODELS},
    "t": "paired t",
    "wilcoxon": "Wilcoxon's signed ranks",
    "sign": "sign test",
    "bootstrap": "paired bootstrap",
    "randomisation": "Fisher's randomisation",
}
OF_TWO = tuple(PAIR_TESTS)


def make_test(name: str, *, alpha: float, systems: int, sides: int = 2, resamples: int = 1000, seed: int = 1) -> Test:
    """A test by its name, for so many systems."""
    if name not in TITLES:
        raise RequestError(f"there is no test «{name}» to verify", fix=f"Choose one of: {', '.join(TITLES)}.")
    if sides == 1 and name not in OF_TWO:
        raise RequestError(f"{TITLES[name]} has no sides", fix="One-sided is for tests of two systems.")
    if name in OF_TWO:
        if systems != 2:
            raise RequestError(
                f"{TITLES[name]} is for two systems, and there are {systems}",
                fix="Use tukey or randomised, which take all pairs together.",
            )
        return PairTest(alpha, name, sides, resamples, seed)
    made: dict[str, Callable[[], Test]] = {
        "anova": lambda: FTest(alpha, WITHIN),
        "blocked": lambda: FTest(alpha, RESIDUAL),
        "tukey": lambda: TukeyTest(alpha, RESIDUAL),
        "unpaired": lambda: TukeyTest(alpha, WITHIN),
        "randomised": lambda: RandomisedTest(alpha, resamples, seed),
    }
    return made[name]() if name in made else TukeyTest(alpha, _left_by(name))


def _left_by(model: str) -> tuple[str, ...]:
    """The effects a model of FS19 leaves to its error."""
    if model == RANDOM:
        return RESIDUAL
    return (*(name for name in EFFECTS if name not in MODELS[model]), "rest")
