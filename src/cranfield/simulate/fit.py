"""How well simulated topics resemble those they were fitted to: means, variances, shapes, correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.scores import ScoreTable
from cranfield.simulate.dependence import correlations
from cranfield.simulate.fitting import Simulator

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Fit:
    """Seen against simulated, column by column; of what was set on purpose, set against simulated.

    ``mean_off`` and ``variance_off`` are in standard errors of the difference. ``distance`` is the largest gap between
    the two distribution functions (Kolmogorov and Smirnov's).
    """

    measures: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]  # measure, system, shard
    families: tuple[str, ...]
    seen_topics: int
    topics: int
    mean: Array
    simulated_mean: Array
    mean_off: Array
    variance: Array
    simulated_variance: Array
    variance_off: Array
    distance: Array
    correlation: Array
    simulated_correlation: Array
    outside: int
    is_moved: bool

    @property
    def correlation_gaps(self) -> Array:
        """Simulated less seen, for every pair of columns."""
        first, second = np.triu_indices(len(self.columns), k=1)
        return np.asarray(self.simulated_correlation[first, second] - self.correlation[first, second])

    @property
    def correlation_off(self) -> float:
        """The mean size of the gaps."""
        gaps = self.correlation_gaps
        return float(np.abs(gaps).mean()) if len(gaps) else 0.0

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "measure": measure,
                "system": system,
                **({"shard": shard} if shard else {}),
                "family": self.families[at],
                "mean": float(self.mean[at]),
                "simulated_mean": float(self.simulated_mean[at]),
                "mean_off": float(self.mean_off[at]),
                "variance": float(self.variance[at]),
                "simulated_variance": float(self.simulated_variance[at]),
                "variance_off": float(self.variance_off[at]),
                "distance": float(self.distance[at]),
            }
            for at, (measure, system, shard) in enumerate(self.columns)
        ]

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """One sentence on how good the fit is."""
        means, variances = (
            int((np.abs(off) <= 2).sum()) for off in (self.mean_off, self.variance_off)
        )  # fmt: skip
        what = "what was set" if self.is_moved else "the pilot"
        count = len(self.columns)
        text = (
            f"{means:,} of {count:,} means and {variances:,} of {count:,} variances are within two standard errors of "
            f"{what}"
        )
        if count > 1:
            text += f"; correlations are off by {self.correlation_off:.3f} on average"
        return text + ("." if not self.outside else f"; {self.outside:,} scores are outside the measure's support.")


def goodness_of_fit(simulator: Simulator, drawn: ScoreTable) -> Fit:
    """Compare drawn topics with the pilot, or with the margins where true means were set."""
    scores = np.moveaxis(drawn.values, 1, 0).reshape(len(drawn.topics), -1)
    pilot, moved = simulator.pilot, simulator.is_moved
    seen = pilot if not moved else None
    mean, variance, mean_error, variance_error = _moments(simulator) if seen is None else _sample_moments(seen)
    ours_mean, ours_variance, ours_mean_error, ours_variance_error = _sample_moments(scores)
    columns = tuple(
        (measure, system, shard)
        for measure in simulator.measures
        for system in simulator.systems
        for shard in simulator.shards or ("",)
    )
    per_measure = len(columns) // len(simulator.measures)
    outside = sum(
        int((support.snap(part) != part).sum() + ((part < support.lowest) | (part > support.highest)).sum())
        for at, support in enumerate(simulator.supports)
        for part in [scores[:, at * per_measure : (at + 1) * per_measure]]
    )
    return Fit(
        simulator.measures, columns, tuple(margin.family for margin in simulator.margins), len(pilot), len(scores),
        mean, ours_mean, _ratio(ours_mean - mean, mean_error, ours_mean_error), variance, ours_variance,
        _ratio(ours_variance - variance, variance_error, ours_variance_error), _distances(simulator, scores),
        correlations(pilot), correlations(scores), outside, moved,
    )  # fmt: skip


def _moments(simulator: Simulator) -> tuple[Array, Array, Array, Array]:
    mean = np.array([margin.mean for margin in simulator.margins])
    variance = np.array([margin.variance for margin in simulator.margins])
    return mean, variance, np.zeros(len(mean)), np.zeros(len(mean))


def _sample_moments(scores: Array) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of every column with their standard errors, the latter from the fourth moment."""
    n = len(scores)
    if n < 2:
        unknown = np.full(scores.shape[1], np.nan)
        return scores.mean(axis=0), unknown, unknown, unknown
    mean, variance = scores.mean(axis=0), scores.var(axis=0, ddof=1)
    fourth = ((scores - mean) ** 4).mean(axis=0)
    spread = np.maximum(fourth - variance**2 * (n - 3) / max(n - 1, 1), 0.0) / n  # Var(s²)
    return mean, variance, np.sqrt(variance / n), np.sqrt(spread)


def _ratio(gap: Array, error: Array, other: Array) -> Array:
    total = np.sqrt(error**2 + other**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(gap) < 1e-12, 0.0, gap / total)


def _distances(simulator: Simulator, scores: Array) -> Array:
    found = np.empty(scores.shape[1])
    for at, margin in enumerate(simulator.margins):
        mine = np.sort(scores[:, at])
        if simulator.is_moved:
            places = np.unique(mine)
            other, other_below = margin.up_to(places), margin.below(places)
        else:
            seen = np.sort(simulator.pilot[:, at])
            places = np.unique(np.concatenate([mine, seen]))
            other = np.searchsorted(seen, places, side="right") / len(seen)
            other_below = np.searchsorted(seen, places, side="left") / len(seen)
        ours = np.searchsorted(mine, places, side="right") / len(mine)
        below = np.searchsorted(mine, places, side="left") / len(mine)
        found[at] = max(np.abs(ours - other).max(), np.abs(below - other_below).max())
    return found
