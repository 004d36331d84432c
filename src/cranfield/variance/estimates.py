"""Variance of scores from a pilot: every estimate, its interval, and the question it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.errors import InputError, RequestError
from cranfield.scores import ScoreTable, check_balance
from cranfield.variance.components import Squares, pair_percentiles, pair_variances, resamples, squares

Array = npt.NDArray[Any]

INDEPENDENT = "How much one system's scores vary over topics: for systems that will be compared without sharing topics."
SHARED = "How much systems differ beyond what topics do to all of them: for systems compared on the same topics."
PAIR = (
    "How much the difference of two systems varies over topics, for a pair as unlike as this: to be on the safe side."
)

QUESTIONS = {
    "two-way": INDEPENDENT,
    "one-way": INDEPENDENT,
    "within": INDEPENDENT,
    "residual": SHARED,
    "percentile": PAIR,
}
CITATIONS = {
    "two-way": "Sakai2014",
    "one-way": "Sakai2014",
    "within": "SakaiShang2016",
    "residual": "Sakai2014",
    "percentile": "Webber2008",
}


@dataclass(frozen=True, eq=False)
class VarianceEstimate:
    """One estimate of σ², the variance of one system's scores.

    For ``percentile`` and ``residual`` it is half the variance of a paired difference, which ``difference_variance``
    has in full. ``lower`` and ``upper`` come from resampling topics; ``chi2_lower`` and ``chi2_upper`` from the model,
    for independent normal errors (nan where the model gives none). ``draws`` are the resampled estimates.
    """

    measure: str
    collection: str
    method: str
    variance: float
    lower: float
    upper: float
    chi2_lower: float
    chi2_upper: float
    topics: int
    systems: int
    parts: Mapping[str, float]
    draws: Array

    @property
    def difference_variance(self) -> float:
        """σ_t² = 2σ²."""
        return 2.0 * self.variance

    @property
    def question(self) -> str:
        return QUESTIONS[self.method]


@dataclass(frozen=True, eq=False)
class Variances:
    """All estimates for all measures and collections, pooled ones last."""

    estimates: tuple[VarianceEstimate, ...]
    percentile: float
    confidence: float
    resamples: int
    seed: int

    def get(self, method: str, *, measure: str | None = None, collection: str | None = None) -> VarianceEstimate:
        """One estimate: of the only measure, pooled where there are several collections, unless said otherwise."""
        found = [
            estimate
            for estimate in self.estimates
            if estimate.method == method
            and (measure is None or estimate.measure == measure)
            and (collection is None or estimate.collection == collection)
        ]
        if not found:
            raise RequestError(f"there is no {method} estimate for {measure or 'any measure'}")
        if len({estimate.measure for estimate in found}) > 1:
            raise RequestError("there are several measures", fix="Name one.")
        return found[-1]

    def to_dict(self) -> list[dict[str, Any]]:
        """One row an estimate."""
        return [_row(estimate) for estimate in self.estimates]


def _row(estimate: VarianceEstimate) -> dict[str, Any]:
    return {
        "measure": estimate.measure,
        "collection": estimate.collection,
        "method": estimate.method,
        "variance": estimate.variance,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "chi2_lower": estimate.chi2_lower,
        "chi2_upper": estimate.chi2_upper,
        "sd": float(np.sqrt(estimate.difference_variance)),
        "topics": estimate.topics,
        "systems": estimate.systems,
        **estimate.parts,
    }


POOLED = "pooled"


def estimate_variance(
    tables: ScoreTable | Mapping[str, ScoreTable],
    *,
    percentile: float = 95.0,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> Variances:
    """Estimate the variance of scores in every way S14, SS16 and WMZ08 do.

    Parameters
    ----------
    tables
        A score table, or several by the name of their collection; with several, estimates are pooled too (S14 Eq. 8),
        one alone needs no name.
    percentile
        Which percentile of the pairs' variances stands for a difference; 95 in WMZ08 and S14.
    confidence
        Of the intervals.
    resamples
        Bootstrap samples of the topics.
    """
    named = {"": tables} if isinstance(tables, ScoreTable) else dict(tables)
    if not named:
        raise RequestError("no scores were given")
    if len(named) == 1:
        named = {"": next(iter(named.values()))}
    measures = _shared_measures(named)
    found: list[VarianceEstimate] = []
    for measure in measures:
        mine = [
            _Pilot(name, measure, _complete(table, measure, name), percentile, confidence, resamples, seed).estimates()
            for name, table in named.items()
        ]
        found += [estimate for estimates in mine for estimate in estimates]
        if len(mine) > 1:
            found += [_pool(together, confidence) for together in zip(*mine, strict=True)]
    return Variances(tuple(found), percentile, confidence, resamples, seed)


def _shared_measures(named: Mapping[str, ScoreTable]) -> tuple[str, ...]:
    first, *rest = named.values()
    shared = tuple(measure for measure in first.measures if all(measure in table.measures for table in rest))
    if not shared:
        raise InputError("the collections have no measure in common", fix="Score them with the same measures.")
    return shared


def _complete(table: ScoreTable, measure: str, name: str) -> Array:
    scores = table.of(measure)
    where = f"{name}: " if name else ""
    if scores.ndim != 2:
        fix = "Average over them: --columns mean=shard."
        raise RequestError(f"{where}variance is estimated from whole topics, not from shards", fix=fix)
    check_balance(table, measure)
    if scores.shape[0] < 2:
        raise InputError(f"{where}one topic has no variance", fix="Give scores of at least two topics.")
    return scores


@dataclass(frozen=True, eq=False)
class _Pilot:
    """One table of one measure."""

    collection: str
    measure: str
    scores: Array
    percentile: float
    confidence: float
    count: int
    seed: int

    def estimates(self) -> list[VarianceEstimate]:
        n, m = self.scores.shape
        draws = resamples(n, self.count, np.random.default_rng(self.seed))
        seen, drawn = squares(self.scores), squares(self.scores, draws)
        ways: dict[str, tuple[Callable[[Squares], Any], float]] = {
            "within": (lambda found: found.within_systems, m * (n - 1)),
        }
        if m > 1:
            ways = {
                "two-way": (Squares.two_way, _satterthwaite_two_way(seen)),
                "one-way": (Squares.one_way, _satterthwaite_one_way(seen)),
                **ways,
                "residual": (lambda found: found.residual, (m - 1) * (n - 1)),
            }
        found = [
            self._estimate(way, value(seen), value(drawn), df, _parts(way, seen)) for way, (value, df) in ways.items()
        ]
        return [*found, self._pairs(draws)] if m > 1 else found

    def _pairs(self, draws: Array) -> VarianceEstimate:
        """S14 §4.1: the percentile of the pairs' variances, halved to speak of one system."""
        seen = pair_variances(self.scores)
        drawn = pair_percentiles(self.scores, draws, self.percentile)  # S14 §4.1
        sds = np.sqrt(seen)
        parts = {"mean_sd": float(sds.mean()), "percentile_sd": float(np.percentile(sds, self.percentile))}
        return self._estimate("percentile", np.percentile(seen, self.percentile) / 2, drawn / 2, np.nan, parts)

    def _estimate(
        self, method: str, value: float, draws: Array, df: float, parts: Mapping[str, float]
    ) -> VarianceEstimate:
        tail = 50 * (1 - self.confidence)
        lower, upper = np.percentile(draws, [tail, 100 - tail])
        chi2 = _chi2_interval(float(value), df, self.confidence)
        n, m = self.scores.shape
        return VarianceEstimate(
            self.measure, self.collection, method, float(value), float(lower), float(upper), *chi2, n, m, parts, draws
        )


def _parts(method: str, found: Squares) -> dict[str, float]:
    if method != "two-way":
        return {}
    return {
        "system_part": float(found.system_part()),
        "topic_part": float(found.topic_part()),
        "residual_part": float(found.residual),
    }


def _satterthwaite_two_way(found: Squares) -> float:
    n, m = found.topics, found.systems
    share = (m - 1) / (m * n)
    return _satterthwaite(
        (share, found.between_systems, m - 1),
        (1 / m, found.between_topics, n - 1),
        (1 - share - 1 / m, found.residual, (m - 1) * (n - 1)),
    )


def _satterthwaite_one_way(found: Squares) -> float:
    n, m = found.topics, found.systems
    share = (m - 1) / (m * n)
    return _satterthwaite((share, found.between_systems, m - 1), (1 - share, found.within_systems, m * (n - 1)))


def _satterthwaite(*terms: tuple[float, float, int]) -> float:
    """Degrees of freedom of a sum of weighted mean squares, as if it were one."""
    total = sum(weight * square for weight, square, _ in terms)
    spread = sum((weight * square) ** 2 / df for weight, square, df in terms)
    return float(total**2 / spread) if spread > 0 else float("nan")


def _chi2_interval(value: float, df: float, confidence: float) -> tuple[float, float]:
    from scipy import special

    tail = (1 - confidence) / 2
    # chdtri inverts the upper tail, so the lower end has the larger quantile.
    return float(df * value / special.chdtri(df, tail)), float(df * value / special.chdtri(df, 1 - tail))


def _pool(together: Sequence[VarianceEstimate], confidence: float) -> VarianceEstimate:
    """S14 Eq. 8: collections weighted by their topics less one; the draws are pooled alike."""
    weights = np.array([estimate.topics - 1 for estimate in together], float)
    weights /= weights.sum()
    first = together[0]
    draws = sum(weight * estimate.draws for weight, estimate in zip(weights, together, strict=True))
    tail = 50 * (1 - confidence)
    lower, upper = np.percentile(draws, [tail, 100 - tail])
    parts = {
        name: float(sum(weight * estimate.parts[name] for weight, estimate in zip(weights, together, strict=True)))
        for name in first.parts
    }
    value = sum(weight * estimate.variance for weight, estimate in zip(weights, together, strict=True))  # S14 Eq. 8
    return VarianceEstimate(
        first.measure, POOLED, first.method, float(value), float(lower), float(upper), float("nan"), float("nan"),
        sum(estimate.topics for estimate in together), max(estimate.systems for estimate in together), parts,
        np.asarray(draws),
    )  # fmt: skip
