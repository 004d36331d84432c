"""Where collections are drawn from: normal scores as the formulas take them, or topics like those of a pilot.

A world says which systems play in each collection (``cast``), and gives the scores of many collections at once, topic
by topic, under two truths: the systems differ as the design says (the first is best, the second worst, the others half
way), or not at all. Both come from the same random numbers. With a judge it gives the human scores of equal systems,
and those of the judge on these topics and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design.spreads import Replicated
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.methods.simulation.dependence import GaussianCopula, RowCopula, VineCopula
from cranfield.methods.simulation.marginals import Marginal, move
from cranfield.methods.simulation.simulator import MarginTable, Simulator
from cranfield.methods.variance.components import squares
from cranfield.types import Array

Random = np.random.Generator


def best_and_worst(systems: int, difference: float) -> Array:
    """How far the true mean of every system is from that of most: the first is best, the second worst."""
    return np.array([difference / 2, -difference / 2, *[0.0] * (systems - 2)])


@dataclass(frozen=True)
class NormalWorld:
    """Independent normal scores of one variance: what the formulas assume."""

    systems: int
    difference: float
    sd: float
    title: str = "normal scores"

    @property
    def columns(self) -> int:
        return self.systems

    def cast(self, rng: Random, collections: int) -> Array:
        return _everyone(self.systems, collections)

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        equal = rng.standard_normal((topics, *cast.shape, 1))
        equal *= self.sd
        return equal + best_and_worst(self.systems, self.difference)[:, np.newaxis], equal


def _everyone(systems: int, collections: int) -> Array:
    return np.broadcast_to(np.arange(systems), (collections, systems))


def _some_of(rng: Random, players: int, systems: int, collections: int) -> Array:
    """Other systems in every collection."""
    return np.asarray(rng.random((collections, players)).argsort(axis=1, kind="stable")[:, :systems])


@dataclass(frozen=True)
class ReplicateWorld:
    """Normal scores of units with items and repeats, all of them drawn; a system has half the variance of a difference.

    What all units share is drawn once for a collection: it is what plays in place of a choice of systems.
    """

    systems: int
    difference: float
    replicates: Replicated
    title: str = "normal scores with replicates"

    @property
    def counts(self) -> tuple[int, int]:
        """Items of a unit, and repeats of an item."""
        return int(self.replicates.items), int(self.replicates.repeats)

    @property
    def columns(self) -> int:
        items, repeats = self.counts
        return self.systems * items * repeats

    def cast(self, rng: Random, collections: int) -> Array:
        """The effects of what all units share, collections × systems × items or repeats."""
        shared = self.replicates.kind.shared
        levels = int(getattr(self.replicates, shared)) if shared else 1
        sd = np.sqrt(self.replicates.components.shared_variance / 2)
        return np.asarray(sd * rng.standard_normal((collections, self.systems, levels)))

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        shape, counts = (topics, len(cast), self.systems), self.counts
        names = ("between", "within", "repeat_variance")
        between, within, repeat = (np.sqrt(getattr(self.replicates.components, name) / 2) for name in names)
        whole = repeat * rng.standard_normal((*shape, *counts))
        whole += within * rng.standard_normal((*shape, counts[0], 1))
        # Means over what the test does not keep apart.
        averaged = {"items": 4, "repeats": 3}.get(self.replicates.kind.shared, (3, 4))
        equal = whole.mean(axis=averaged).reshape(*shape, -1) + cast
        equal += between * rng.standard_normal((*shape, 1))
        return equal + best_and_worst(self.systems, self.difference)[:, np.newaxis], equal


FARTHEST = 2.0
"""How many standard deviations of its scores a system may be moved to take part."""


@dataclass(frozen=True, eq=False)
class PilotWorld:
    """Topics like the pilot's for its own systems, with true means set around the mean of all of them.

    Every collection has systems drawn anew from the pilot's, so that the answer is an average over who may be compared.
    ``players`` are those that can be given such means; a system that finds next to nothing, say, cannot. ``margins``
    has every player half way, then all of them as the best, then as the worst.
    """

    copula: RowCopula | GaussianCopula | VineCopula
    margins: MarginTable
    players: Array
    systems: int
    shards: int
    title: str = "topics like the pilot's"

    @classmethod
    def of(cls, simulator: Simulator, systems: int, difference: float) -> tuple[PilotWorld, tuple[str, ...]]:
        """The world of a simulator, and the systems that are left out of it."""
        if len(simulator.measures) != 1:
            raise RequestError("one measure is verified at a time", fix="Name one.")
        centre = float(np.mean([margin.mean for margin in simulator.margins]))
        means = (centre, centre + difference / 2, centre - difference / 2)
        moved = {at: found for at in range(len(simulator.systems)) if (found := _moved(simulator, at, means))}
        if len(moved) < systems:
            raise RequestError(
                f"the pilot has {len(moved)} systems that could have means of {means[2]:.3g} to {means[1]:.3g}, and "
                f"{systems} are to be compared",
                fix=f"Compare {len(moved)} or fewer: `systems={len(moved)}`."
                if len(moved) > 1
                else "Ask for a smaller difference.",
            )
        table = MarginTable.of([margin for role in range(3) for found in moved.values() for margin in found[role]])
        left_out = tuple(name for at, name in enumerate(simulator.systems) if at not in moved)
        return cls(simulator.copula, table, np.array(list(moved)), systems, simulator.replicates), left_out

    @property
    def columns(self) -> int:
        if isinstance(self.copula, RowCopula | GaussianCopula):
            return self.systems * self.shards
        return max(self.copula.inputs, len(self.players) * self.shards)

    def cast(self, rng: Random, collections: int) -> Array:
        return _some_of(rng, len(self.players), self.systems, collections)

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        collections = len(cast)
        shard = np.arange(self.shards)
        columns = (self.players[cast][:, :, np.newaxis] * self.shards + shard).reshape(collections, -1)
        mine = self._joined(rng, columns, topics).reshape(topics * collections, -1)
        half_way = (cast[:, :, np.newaxis] * self.shards + shard).reshape(collections, -1)
        role = np.zeros((self.systems, self.shards), np.int64)
        role[0], role[1] = 1, 2
        differing = half_way + role.ravel() * len(self.players) * self.shards
        shape = (topics, collections, self.systems, self.shards)
        return (
            self.margins.scores(mine, differing, workers=1).reshape(shape),
            self.margins.scores(mine, half_way, workers=1).reshape(shape),
        )

    def _joined(self, rng: Random, columns: Array, topics: int) -> Array:
        """Dependent normals of some columns a collection, topics × collections × columns."""
        if isinstance(self.copula, RowCopula):
            at = rng.integers(0, len(self.copula.rows), (topics, len(columns), 1))
            return self.copula.smoothed(self.copula.rows[at, columns], _some(self.copula.noise, rng, columns, topics))
        if isinstance(self.copula, GaussianCopula):
            return _some(self.copula, rng, columns, topics)
        normals = rng.standard_normal((topics * len(columns), self.copula.inputs))
        joined = self.copula.join(normals).reshape(topics, len(columns), -1)
        return np.take_along_axis(joined, columns[np.newaxis], axis=2)


def _some(copula: GaussianCopula, rng: Random, columns: Array, topics: int) -> Array:
    """Dependent normals of some columns of a Gaussian copula, topics × collections × columns."""
    collections, chosen = columns.shape
    if chosen < copula.inputs:
        # Of a few columns the triangular factor is as good as all loadings, and needs as many normals as columns.
        small = np.linalg.qr(np.moveaxis(copula.loadings[:, columns], 0, 1), mode="r")
        normals = rng.standard_normal((topics, collections, 1, chosen))
        return np.asarray(np.einsum("tcuk,ckj->tcj", normals, small) if chosen <= 4 else (normals @ small)[:, :, 0])
    normals = rng.standard_normal((topics * collections, copula.inputs))
    joined = copula.join(normals).reshape(topics, collections, -1)
    return np.take_along_axis(joined, columns[np.newaxis], axis=2)


def _moved(simulator: Simulator, system: int, means: tuple[float, ...]) -> list[list[Marginal]] | None:
    """A system's margins under each mean; None where they are too far from its own."""
    mine = [simulator.margins[at] for at in simulator.columns(0, system)]
    now, spread = simulator.mean(0, system), np.sqrt(np.mean([margin.variance for margin in mine]))
    if max(abs(mean - now) for mean in means) > FARTHEST * spread:
        return None
    try:
        return [move(mine, mean) for mean in means]
    except RequestError:  # nothing like these scores has such a mean
        return None


# --- with a judge


@dataclass(frozen=True, kw_only=True)
class JudgedNormalWorld:
    """Independent normal scores; those of the judge correlate with the human ones by r, and so do differences."""

    systems: int
    sd: float
    correlation: float
    title: str = "normal scores"

    def cast(self, rng: Random, collections: int) -> Array:
        return _everyone(self.systems, collections)

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
        return _some_of(rng, self.human.shape[1], self.systems, collections)

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


World = NormalWorld | ReplicateWorld | PilotWorld
"""``scores`` are topics × collections × systems × shards, differing and equal; ``columns`` is what a topic costs."""
JudgedWorld = JudgedNormalWorld | JudgedPilotWorld
"""``scores`` are topics × collections × systems, under human labels and under those of the judge."""
