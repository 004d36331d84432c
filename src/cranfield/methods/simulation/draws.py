"""New topics: normals made dependent by a copula, and scores by the margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.methods.simulation.kernels import scores_of
from cranfield.methods.simulation.marginals import Marginal
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class MarginTable:
    """Many margins in flat arrays, as the kernel reads them."""

    starts: Array
    guide: Array
    z: Array
    value_starts: Array
    values: Array
    steps: Array

    @classmethod
    def of(cls, margins: Sequence[Marginal]) -> MarginTable:
        knots = [len(margin.z) for margin in margins]
        sizes = [len(margin.values) for margin in margins]
        starts = np.concatenate([[0], np.cumsum(knots)])
        marks = np.arange(-64, 65) / 16
        guide = [start + np.searchsorted(margin.z, marks) for start, margin in zip(starts[:-1], margins, strict=True)]
        return cls(
            starts,
            np.concatenate(guide).astype(np.int32),
            np.concatenate([margin.z for margin in margins]),
            np.concatenate([[0], np.cumsum(sizes)])[:-1],
            np.concatenate([margin.values for margin in margins]),
            np.array([margin.steps for margin in margins]),
        )

    def scores(self, normals: Array, pick: Array | None = None, *, workers: int | None = None) -> Array:
        """Scores of rows × columns of normals; ``pick`` (period × columns) names margins, column by column if None."""
        rows, columns = normals.shape
        chosen = np.arange(columns)[np.newaxis] if pick is None else pick
        out = np.empty(rows * columns)
        scores_of(
            rows,
            columns,
            len(chosen),
            np.ascontiguousarray(normals).ravel(),
            np.ascontiguousarray(chosen).ravel(),
            self.starts,
            self.guide,
            self.z,
            self.value_starts,
            self.values,
            self.steps,
            out,
            work=10 * out.size,
            workers=workers,
        )
        return out.reshape(rows, columns)
