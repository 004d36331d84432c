"""Where collections are drawn from: normal scores as the formulas take them, or topics like those of a pilot.

A world gives the scores of many collections at once, topic by topic, under two truths: the systems differ as the design
says (the first is best, the second worst, the others half way), or not at all. Both come from the same random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design.spreads import Structure
from cranfield.methods.simulation.dependence import GaussianCopula, RowCopula, VineCopula
from cranfield.methods.simulation.marginals import Marginal, move
from cranfield.methods.simulation.simulator import MarginTable, Simulator
from cranfield.methods.variance.replicate_components import Components
from cranfield.types import Array

Random = np.random.Generator


class World(Protocol):
    """What verification needs of a world; ``columns`` is how many scores a topic costs."""

    @property
    def title(self) -> str: ...

    @property
    def systems(self) -> int: ...

    @property
    def columns(self) -> int: ...

    def cast(self, rng: Random, collections: int) -> Array:
        """Which systems play in each collection."""

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        """The next topics of every collection, topics × collections × systems × shards: differing, and equal."""


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
        return np.broadcast_to(np.arange(self.systems), (collections, self.systems))

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        equal = rng.standard_normal((topics, *cast.shape, 1))
        equal *= self.sd
        shift = np.zeros((self.systems, 1))
        shift[0], shift[1] = self.difference / 2, -self.difference / 2
        return equal + shift, equal


@dataclass(frozen=True, kw_only=True)
class ReplicateWorld:
    """Normal scores of units with items and repeats, all of them drawn; a system has half the variance of a difference.

    What all units share is drawn once for a collection: it is what plays in place of a choice of systems.
    """

    systems: int
    difference: float
    structure: Structure
    components: Components
    items: int
    repeats: int
    title: str = "normal scores with replicates"

    @property
    def columns(self) -> int:
        return self.systems * self.items * self.repeats

    def cast(self, rng: Random, collections: int) -> Array:
        """The effects of what all units share, collections × systems × items or repeats."""
        levels = {"items": self.items, "repeats": self.repeats, "": 1}[self.structure.shared]
        sd = np.sqrt(self.components.shared_variance / 2)
        return np.asarray(sd * rng.standard_normal((collections, self.systems, levels)))

    def scores(self, rng: Random, cast: Array, topics: int) -> tuple[Array, Array]:
        shape = (topics, len(cast), self.systems)
        sds = [np.sqrt(getattr(self.components, name) / 2) for name in ("between", "within", "repeat_variance")]
        whole = sds[2] * rng.standard_normal((*shape, self.items, self.repeats))
        whole += sds[1] * rng.standard_normal((*shape, self.items, 1))
        # Means over what the test does not keep apart.
        kept = {"items": 4, "repeats": 3}.get(self.structure.shared, (3, 4))
        equal = whole.mean(axis=kept).reshape(*shape, -1) + cast
        equal += sds[0] * rng.standard_normal((*shape, 1))
        shift = np.zeros((self.systems, 1))
        shift[0], shift[1] = self.difference / 2, -self.difference / 2
        return equal + shift, equal


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
        order = rng.random((collections, len(self.players))).argsort(axis=1, kind="stable")
        return np.asarray(order[:, : self.systems])

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
