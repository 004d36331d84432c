"""Collections with human labels on some topics and a judge's on all, and the corrected comparison of many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.decisions import Drawing, by_max_t
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.judging.estimators import JudgedPairs, JudgedScores, Moments, regression
from cranfield.methods.variance.components import squares
from cranfield.methods.verification.batch_tests import RESAMPLES, BatchVerdicts, by_pair, holm_significant
from cranfield.runtime.random import Seed, sequence
from cranfield.runtime.threads import Threads, on
from cranfield.types import Array

Random = np.random.Generator
_DIFFERENCES = 2_000_000  # differences of pairs at a time


class JudgedWorld(Protocol):
    """Where collections with two label sets are drawn from."""

    @property
    def systems(self) -> int: ...

    @property
    def title(self) -> str: ...

    def cast(self, rng: Random, collections: int) -> Array:
        """Which systems play in each collection."""

    def scores(self, judge: Random, human: Random, cast: Array, topics: int, judged_topics: int) -> tuple[Array, Array]:
        """Human scores of equal systems on ``topics``, and the judge's of ``judged_topics``; topics × … × systems."""


@dataclass(frozen=True, kw_only=True)
class JudgedNormalWorld:
    """Independent normal scores; those of the judge correlate with the human ones by r, and so do differences."""

    systems: int
    sd: float
    correlation: float
    title: str = "normal scores"

    def cast(self, rng: Random, collections: int) -> Array:
        return np.broadcast_to(np.arange(self.systems), (collections, self.systems))

    def scores(self, judge: Random, human: Random, cast: Array, topics: int, judged_topics: int) -> tuple[Array, Array]:
        e = judge.standard_normal((judged_topics, *cast.shape))
        own = human.standard_normal((topics, *cast.shape))
        d = self.correlation * e[:topics] + np.sqrt(1 - self.correlation**2) * own
        return self.sd * d, self.sd * e


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedPilotWorld:
    """Topics of a pilot, drawn with replacement; human scores are moved to equal means.

    The judge's scores stay as they are, with whatever bias the judge has; without any, the judge has the human scores
    with so much normal ``noise`` that differences correlate by ``correlation`` on average. Every collection has systems
    drawn anew.
    """

    human: Array
    judge: Array | None
    systems: int
    correlation: float = 1.0
    noise: float = 0.0
    title: str = "topics drawn from the pilot"

    @classmethod
    def of(cls, pilot: JudgedScores | Array, systems: int, correlation: float = 1.0) -> JudgedPilotWorld:
        """The world of the topics that have both label sets, or of human scores (topics × systems) alone."""
        human = pilot.human if isinstance(pilot, JudgedScores) else pilot
        if human.shape[1] < systems:
            raise RequestError(
                f"the pilot has {human.shape[1]} systems, and {systems} are to be compared",
                fix=f"Compare {human.shape[1]} or fewer, or leave out the pilot for normal scores.",
            )
        equal = _unbiased(human - human.mean(axis=0)) + human.mean()
        if isinstance(pilot, JudgedScores):
            return cls(human=equal, judge=_unbiased(pilot.judge_beside_human), systems=systems)
        noise = float(np.sqrt((1 - correlation**2) * squares(human).residual))
        return cls(human=equal, judge=None, systems=systems, correlation=correlation, noise=noise)

    def cast(self, rng: Random, collections: int) -> Array:
        order = rng.random((collections, self.human.shape[1])).argsort(axis=1, kind="stable")
        return np.asarray(order[:, : self.systems])

    def scores(self, judge: Random, human: Random, cast: Array, topics: int, judged_topics: int) -> tuple[Array, Array]:
        rows = judge.integers(0, len(self.human), (judged_topics, len(cast), 1))
        scores = self.human[rows[:topics], cast]
        if self.judge is not None:
            return scores, self.judge[rows, cast]
        all_topics = self.human[rows, cast]
        return scores, self.correlation * all_topics + self.noise * judge.standard_normal(all_topics.shape)


def _unbiased(scores: Array) -> Array:
    """Scores whose variance over the topics themselves is the unbiased estimate of the variance."""
    mean = scores.mean(axis=0)
    return np.asarray(mean + np.sqrt(len(scores) / (len(scores) - 1)) * (scores - mean))


@dataclass(frozen=True, kw_only=True)
class JudgedTest:
    """The comparison by the regression estimator: ``t`` of two systems, ``holm`` or ``max-t`` of all pairs."""

    name: str
    alpha: float
    sides: int = 2
    resamples: int = RESAMPLES["max-t"]

    def decide(self, human: Array, judge: Array, seed: Seed) -> BatchVerdicts:
        """The verdicts of collections from scores of topics × collections × systems."""
        if self.name == "max-t":
            return self._by_largest_t(human, judge, seed)
        pairs = all_pairs(judge.shape[2])
        step = max(1, _DIFFERENCES // (len(judge) * judge.shape[2] ** 2))
        parts = [
            regression(Moments.of(pairs.of(human[:, at : at + step]), pairs.of(judge[:, at : at + step])))
            for at in range(0, human.shape[1], step)
        ]
        t, p_value = (np.concatenate([getattr(part, word) for part in parts]) for word in ("t", "p_value"))
        if self.name == "holm":
            return by_pair(holm_significant(p_value, self.alpha), t)
        if self.sides == 1:
            significant = (t[:, 0] > 0) & (p_value[:, 0] / 2 <= self.alpha)
            return BatchVerdicts(significant, significant, np.zeros(len(t), bool))
        return by_pair(p_value <= self.alpha, t)

    def _by_largest_t(self, human: Array, judge: Array, seed: Seed) -> BatchVerdicts:
        n, collections, systems = human.shape
        contrasts = all_pairs(systems)
        t, significant = np.empty((collections, len(contrasts))), np.empty((collections, len(contrasts)), bool)
        for at in range(collections):
            mine = JudgedScores(human=human[:, at], judge=judge[:, at], rows=np.arange(n))
            pairs = JudgedPairs(mine, contrasts)
            drawing = Drawing(resamples=self.resamples, seed=sequence(seed, "max-t", at), further=False)
            with on(Threads(1)):  # this is a task already
                significant[at] = by_max_t(pairs, pairs.fit(), alpha=self.alpha, drawing=drawing).shown
            t[at] = pairs.fit().t
        return by_pair(significant, t)
