"""The topics that every pair of systems requires for its own difference: the tables of Dinçer (2013)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import InputError
from cranfield.methods.design.inputs import broadcast
from cranfield.methods.variance.components import covariances, squares
from cranfield.scores import ScoreTable, check_balance
from cranfield.stats.pairs import every_pair
from cranfield.stats.tails import normal_critical
from cranfield.types import Array

EDGES = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)


@dataclass(frozen=True, eq=False)
class Bin:
    """The pairs whose means differ by at least ``low`` and less than ``high``."""

    low: float
    high: float
    pairs: int
    difference: float
    topics_paired: float
    topics_independent: float
    topics_mse: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PairSizes:
    """Topics that each pair requires for its own difference to be significant at α, best system first.

    Systems are rows and columns; ``difference[i, j]`` is the mean of i minus that of j. ``topics`` uses the sd of the
    paired differences, ``topics_independent`` the pooled sd of the two systems. ``significant`` is the one-tailed
    paired t test at α.
    """

    measure: str
    systems: tuple[str, ...]
    means: Array
    difference: Array
    topics: Array
    topics_independent: Array
    p_value: Array
    significant: Array
    mse: float
    alpha: float
    n: int

    def bins(self, edges: tuple[float, ...] = EDGES) -> list[Bin]:
        """Dinçer (2013), Table 4: averages over pairs by the size of their difference."""
        first, second = every_pair(len(self.systems))
        sizes = np.abs(self.difference[first, second])
        bounds = [*edges, np.inf]
        z = float(normal_critical(self.alpha / 2))
        found = []
        for low, high in pairwise(bounds):
            inside = (sizes >= low) & (sizes < high)
            reach = high if np.isfinite(high) else low + (edges[1] - edges[0])
            found.append(
                Bin(
                    low,
                    high,
                    int(inside.sum()),
                    _mean(sizes[inside]),
                    _mean(self.topics[first, second][inside]),
                    _mean(self.topics_independent[first, second][inside]),
                    self.mse * (z / reach) ** 2,  # D13 §3, the D-study
                )
            )
        return found

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per pair."""
        first, second = every_pair(len(self.systems))
        return [
            {
                "system_a": self.systems[a],
                "system_b": self.systems[b],
                "difference": float(self.difference[a, b]),
                "topics": float(self.topics[a, b]),
                "topics_independent": float(self.topics_independent[a, b]),
                "p_value": float(self.p_value[a, b]),
                "significant": bool(self.significant[a, b]),
            }
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ]


def _mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def pair_sizes(table: ScoreTable, *, measure: str | None = None, alpha: float = 0.05) -> PairSizes:
    """Apply Dinçer (2013), Inequality 2, to every pair, with δ its own difference, one-sided as in Tables 4 and 5.

    The numbers of topics are real-valued solutions; they are infinite for a pair with equal means.
    """
    broadcast({"alpha": alpha})
    scores = table.of(measure)
    if scores.shape[1] < 2 or scores.shape[0] < 2:
        raise InputError("pairs need two systems and two topics or more", fix="Give a larger score table.")
    check_balance(table, measure)
    order = np.argsort(-scores.mean(axis=0), kind="stable")
    scores, n = scores[:, order], len(scores)
    means, cov = scores.mean(axis=0), covariances(scores)
    own = np.diag(cov)
    paired = np.maximum(own[:, None] + own[None, :] - 2 * cov, 0.0)  # s_d²
    pooled = (own[:, None] + own[None, :]) / 2  # s_p²
    difference = means[:, None] - means[None, :]
    z = float(normal_critical(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        topics = paired * np.square(z / difference)  # D13 Inequality 2
        independent = pooled * np.square(z / difference)
        t = np.abs(difference) / np.sqrt(paired / n)
    p_value = np.where(paired > 0, special.stdtr(n - 1, -np.nan_to_num(t)), np.where(difference == 0, 0.5, 0.0))
    return PairSizes(
        measure=measure or table.measures[0],
        systems=tuple(table.systems[at] for at in order.tolist()),
        means=means,
        difference=difference,
        topics=topics,
        topics_independent=independent,
        p_value=p_value,
        significant=p_value <= alpha,
        mse=float(squares(scores).within_systems),
        alpha=alpha,
        n=n,
    )
