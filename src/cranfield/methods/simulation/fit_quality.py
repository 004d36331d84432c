"""How well simulated topics resemble those they were fitted to, and simulation in one step from a score table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.simulation.dependence import correlations
from cranfield.methods.simulation.simulator import Means, Simulator, fit_simulator
from cranfield.scores import ScoreTable
from cranfield.stats.pairs import every_pair
from cranfield.types import Array, Progress

_SCORES = 4_000_000  # differences at a time, so that memory does not grow with the pairs


@dataclass(frozen=True, eq=False)
class Differences:
    """The differences of all pairs of systems under one measure, seen and simulated: one value per pair.

    Pairs of systems with the same score on every topic are left out. ``sd`` is over n − 1; ``skew`` is m₃/m₂^1.5 and
    ``kurtosis`` the excess m₄/m₂² − 3, of the moments about the mean. With shards, a score is the mean over them.
    """

    measure: str
    sd: Array
    simulated_sd: Array
    skew: Array
    simulated_skew: Array
    kurtosis: Array
    simulated_kurtosis: Array

    @property
    def sd_ratio(self) -> Array:
        """Simulated over seen."""
        return np.asarray(self.simulated_sd / self.sd)

    def to_dict(self) -> dict[str, Any]:
        """Medians over pairs: of sd, of the size of the skew, of the excess kurtosis; the middle 90 % of sd ratios."""
        low, high = np.quantile(self.sd_ratio, [0.05, 0.95]) if len(self.sd) else (np.nan, np.nan)
        return {
            "measure": self.measure,
            "pairs": len(self.sd),
            "sd": _median(self.sd),
            "simulated_sd": _median(self.simulated_sd),
            "sd_ratio_lower": float(low),
            "sd_ratio_upper": float(high),
            "skew": _median(np.abs(self.skew)),
            "simulated_skew": _median(np.abs(self.simulated_skew)),
            "kurtosis": _median(self.kurtosis),
            "simulated_kurtosis": _median(self.simulated_kurtosis),
        }


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else float("nan")


@dataclass(frozen=True, kw_only=True, eq=False)
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
    differences: tuple[Differences, ...]

    @property
    def correlation_gaps(self) -> Array:
        """Simulated less seen, for every pair of columns."""
        first, second = every_pair(len(self.columns))
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
        means, variances = (int((np.abs(off) <= 2).sum()) for off in (self.mean_off, self.variance_off))
        what = "what was set" if self.is_moved else "the pilot"
        count = len(self.columns)
        text = (
            f"{means:,} of {count:,} means and {variances:,} of {count:,} variances are within two standard errors of "
            f"{what}"
        )
        if count > 1:
            text += f"; correlations are off by {self.correlation_off:.3f} on average"
        for each in self.differences:
            row = each.to_dict()
            name = f" of {each.measure}" if len(self.differences) > 1 else ""
            text += (
                f"; differences{name} have a median excess kurtosis of {row['simulated_kurtosis']:.2f} "
                f"({row['kurtosis']:.2f} in the pilot)"
            )
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
        measures=simulator.measures,
        columns=columns,
        families=tuple(margin.family for margin in simulator.margins),
        seen_topics=len(pilot),
        topics=len(scores),
        mean=mean,
        simulated_mean=ours_mean,
        mean_off=_ratio(ours_mean - mean, mean_error, ours_mean_error),
        variance=variance,
        simulated_variance=ours_variance,
        variance_off=_ratio(ours_variance - variance, variance_error, ours_variance_error),
        distance=_distances(simulator, scores),
        correlation=correlations(pilot),
        simulated_correlation=correlations(scores),
        outside=outside,
        is_moved=moved,
        differences=_differences(simulator, scores),
    )


def _differences(simulator: Simulator, scores: Array) -> tuple[Differences, ...]:
    """For every measure with two systems or more that are not the same on every topic."""
    shape = (len(simulator.measures), len(simulator.systems), simulator.replicates)
    found = []
    for at, measure in enumerate(simulator.measures):
        seen, drawn = (
            _pair_moments(each.reshape(len(each), *shape)[:, at].mean(axis=2)) for each in (simulator.pilot, scores)
        )
        kept = (seen[0] > 0) & (drawn[0] > 0)
        if kept.any():
            moments = [each[kept] for pair in zip(seen, drawn, strict=True) for each in pair]
            found.append(Differences(measure, *moments))
    return tuple(found)


def _pair_moments(scores: Array) -> tuple[Array, Array, Array]:
    """sd, skew and excess kurtosis of the differences of all pairs of columns; sd is 0 for equal columns."""
    n = len(scores)
    first, second = every_pair(scores.shape[1])
    sd, skew, kurtosis = np.zeros((3, len(first)))
    step = max(1, _SCORES // n)
    for start in range(0, len(first) if n > 1 else 0, step):
        part = slice(start, start + step)
        gaps = scores[:, first[part]] - scores[:, second[part]]
        gaps -= gaps.mean(axis=0)
        squared = gaps**2
        m2 = squared.mean(axis=0)
        m2[np.sqrt(m2) < 1e-12] = np.nan
        sd[part] = np.nan_to_num(np.sqrt(m2 * n / (n - 1)))
        skew[part] = np.einsum("tp,tp->p", squared, gaps) / n / m2**1.5
        kurtosis[part] = np.einsum("tp,tp->p", squared, squared) / n / m2**2 - 3
    return sd, skew, kurtosis


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


@dataclass(frozen=True, eq=False)
class Simulation:
    """What topics were drawn from, the topics, and how well they resemble the pilot's."""

    simulator: Simulator
    table: ScoreTable
    fit: Fit
    seed: int

    def summary(self) -> str:
        return f"{len(self.table.topics):,} new topics for {len(self.table.systems):,} systems: {self.fit.summary()}"


def simulate(
    pilot: ScoreTable,
    *,
    topics: int | None = None,
    margins: str = "auto",
    dependence: str = "rows",
    trees: int | None = None,
    truncate: bool = False,
    equal: bool = False,
    gap: float | None = None,
    means: Means | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Simulation:
    """Draw new topics for the systems of a pilot, by default as many as it has.

    Parameters
    ----------
    equal, gap, means
        True means in place of the fitted ones: all alike; the best system so far above all others; any, for all
        systems in order or for some by name. The last is for tables of one measure.
    """
    if sum((equal, gap is not None, means is not None)) > 1:
        raise RequestError("true means are set in one way", fix="Choose one of equal, gap and means.")
    if dependence != "vine" and (trees is not None or truncate):
        raise RequestError(
            f"trees are those of a vine, and the dependence is «{dependence}»",
            fix='Leave out `trees` and `truncate`, or add `dependence="vine"`.',
        )
    made = fit_simulator(
        pilot, margins=margins, dependence=dependence, trees=2 if trees is None else trees, truncate=truncate, seed=seed
    )
    if equal:
        made = made.equal()
    elif gap is not None:
        made = made.gap(gap)
    elif means is not None:
        made = made.with_means(means)
    drawn = made.draw(len(pilot.topics) if topics is None else topics, progress=progress)
    return Simulation(made, drawn, goodness_of_fit(made, drawn), seed)


def parse_means(text: str) -> Means:
    """``0.3,0.25,0.2`` for all systems in order, or ``a=0.3,b=0.2`` for some.

    >>> parse_means("0.3,0.25"), parse_means("a=0.3, b=0.2")
    ([0.3, 0.25], {'a': 0.3, 'b': 0.2})
    """
    pieces = [piece.strip() for piece in text.split(",")]
    named = ["=" in piece for piece in pieces]
    try:
        if all(named):
            return {name.strip(): float(value) for name, _, value in (piece.rpartition("=") for piece in pieces)}
        return [float(piece) for piece in pieces]
    except ValueError:
        raise RequestError(
            f"the means «{text}» are not understood", fix="Write 0.3,0.25,0.2 or system=0.3,other=0.2."
        ) from None
