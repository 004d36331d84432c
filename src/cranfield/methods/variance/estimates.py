"""Variance of scores from a pilot: every estimate, its interval, and the question it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.methods.variance.components import Squares, jackknife_df, pair_spread, squares_and_left_out
from cranfield.scores import ScoreTable, check_balance
from cranfield.scores.stored import Matrix
from cranfield.types import Array, ArrayLike

INDEPENDENT = "Variance of one system's scores over topics: for systems that will be compared without sharing topics."
SHARED = "Variance that remains after the effects of systems and topics: for systems compared on the same topics."
PAIR = "Variance of the difference of two systems over topics, for an unusually variable pair: a cautious estimate."

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


@dataclass(frozen=True, kw_only=True)
class MeanVariance:
    """The variance of a mean difference on topics that are not independent, or count unequally; mean over pairs.

    ``independent`` is the variance as if topics were independent, ``own`` that of a single mean, ``sd`` the standard
    deviation of paired differences, ``within`` the variance of one system's scores; ``clusters`` is the number of
    clusters, None without any.
    """

    topics: int
    systems: int
    clusters: int | None
    variance: float
    independent: float
    own: float
    within: float
    sd: float
    df: float

    @property
    def design_effect(self) -> float:
        return self.variance / self.independent if self.independent > 0 else float("nan")


@dataclass(frozen=True, kw_only=True, eq=False)
class VarianceEstimate:
    """One estimate of σ², the variance of one system's scores.

    For ``percentile`` and ``residual`` it is half the variance of a paired difference, which ``difference_variance``
    has in full. ``df`` are the effective degrees of freedom of the estimate, from a jackknife over topics; ``lower``
    and ``upper`` are the ends of the confidence interval from χ² with these degrees of freedom.
    """

    measure: str
    collection: str
    method: str
    variance: float
    lower: float
    upper: float
    df: float
    topics: int
    systems: int
    parts: Mapping[str, float]

    def quantiles(self, levels: ArrayLike) -> Array:
        """Quantiles of the distribution of the true variance: df·σ̂² over a χ² with df degrees of freedom."""
        from scipy import special

        return np.asarray(self.df * self.variance / special.chdtri(self.df, levels))  # chdtri inverts the upper tail

    @property
    def difference_variance(self) -> float:
        """σ_t² = 2σ²."""
        return 2.0 * self.variance

    @property
    def question(self) -> str:
        return QUESTIONS[self.method]

    def at_sd(self, name: str) -> VarianceEstimate:
        """The same for a pair with another standard deviation of its difference, one of the parts of ``percentile``."""
        ratio = self.parts[f"{name}_sd"] ** 2 / self.difference_variance if self.variance > 0 else 1.0
        ends = {word: ratio * getattr(self, word) for word in ("variance", "lower", "upper")}
        return replace(self, method=f"{name} pair", **ends)


@dataclass(frozen=True, eq=False)
class Variances:
    """All estimates for all measures and collections, pooled ones last."""

    estimates: tuple[VarianceEstimate, ...]
    percentile: float
    confidence: float

    def get(self, method: str, *, measure: str | None = None, collection: str | None = None) -> VarianceEstimate:
        """Return one estimate: by default of the only measure, pooled if there are several collections."""
        found = [
            estimate
            for estimate in self.estimates
            if estimate.method == method
            and (measure is None or estimate.measure == measure)
            and (collection is None or estimate.collection == collection)
        ]
        if not found and self.estimates and max(each.systems for each in self.estimates) < 2:
            raise RequestError("two systems or more are needed, and there is 1", fix="Add scores of another.")
        if not found:
            raise RequestError(f"there is no {method} estimate for {measure or 'any measure'}")
        if len({estimate.measure for estimate in found}) > 1:
            raise RequestError("there are several measures", fix="Name one.")
        return found[-1]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per estimate."""
        return [_row(estimate) for estimate in self.estimates]


def _row(estimate: VarianceEstimate) -> dict[str, Any]:
    return {
        "measure": estimate.measure,
        "collection": estimate.collection,
        "method": estimate.method,
        "variance": estimate.variance,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "df": estimate.df,
        "sd": float(np.sqrt(estimate.difference_variance)),
        "topics": estimate.topics,
        "systems": estimate.systems,
        **estimate.parts,
    }


POOLED = "pooled"


def estimate_variance(
    tables: ScoreTable | Mapping[str, ScoreTable], *, percentile: float = 95.0, confidence: float = 0.95
) -> Variances:
    """Estimate the variance of scores by every method that designs use, with confidence intervals.

    Parameters
    ----------
    tables
        A score table, or several by the name of their collection; with several, pooled estimates are added:
        Sakai (2014), Eq. 8.
    percentile
        The percentile of the variances of pairs; 95 in Webber et al. (2008) and Sakai (2014).
    confidence
        Confidence level of the intervals. They come from χ² with effective degrees of freedom, estimated by a jackknife
        over topics, because scores are not normal and systems share topics.

    Returns
    -------
    Variances
        One estimate per method, measure and collection, pooled ones last.

    References
    ----------
    - Sakai (2014), Designing test collections for comparing many systems, §4.
    - Webber, Moffat & Zobel (2008), Statistical power in retrieval experimentation, §5.1.

    Examples
    --------
    >>> table = ScoreTable.from_dict({"a": {"1": {"AP": 0.1}, "2": {"AP": 0.4}, "3": {"AP": 0.6}},
    ...                               "b": {"1": {"AP": 0.2}, "2": {"AP": 0.3}, "3": {"AP": 0.9}}})
    >>> round(estimate_variance(table).get("residual").variance, 4)
    0.02
    """
    named = {"": tables} if isinstance(tables, ScoreTable) else dict(tables)
    if not named:
        raise RequestError("no scores were given")
    if len(named) == 1:
        named = {"": next(iter(named.values()))}
    found: list[VarianceEstimate] = []
    for measure in _shared_measures(named):
        mine = [
            _Pilot(name, measure, _complete(table, measure, name), percentile, confidence).estimates()
            for name, table in named.items()
        ]
        found += [estimate for estimates in mine for estimate in estimates]
        if len(mine) > 1:
            found += [_pool(together, confidence) for together in zip(*mine, strict=True)]
    return Variances(tuple(found), percentile, confidence)


def _shared_measures(named: Mapping[str, ScoreTable]) -> tuple[str, ...]:
    first, *rest = named.values()
    shared = tuple(measure for measure in first.measures if all(measure in table.measures for table in rest))
    if not shared:
        raise InputError("the collections have no measure in common", fix="Score them with the same measures.")
    return shared


def _complete(table: ScoreTable, measure: str, name: str) -> Matrix:
    scores = table.matrix(measure)
    where = f"{name}: " if name else ""
    if scores.ndim != 2:
        fix = (
            "Average over them: mean=COLUMN in `columns`, in place of seed=, prompt=, judge= or shard=. Or plan with "
            "them: `size()` with `replicates`."
        )
        raise RequestError(f"{where}there are several scores for each topic and system", fix=fix)
    check_balance(table, measure)
    if scores.shape[0] < 2:
        raise InputError(f"{where}one topic has no variance", fix="Give scores of at least two topics.")
    return scores


@dataclass(frozen=True, eq=False)
class _Pilot:
    """A table of one measure."""

    collection: str
    measure: str
    scores: Matrix
    percentile: float
    confidence: float

    def estimates(self) -> list[VarianceEstimate]:
        n, m = self.scores.shape
        whole, left_out = squares_and_left_out(self.scores)
        # How to compute each estimate, and the degrees of freedom that it would have if scores were normal.
        methods: dict[str, tuple[Callable[[Squares], Any], float]] = {"within": (_within, m * (n - 1))}
        if m > 1:
            methods = {
                "two-way": (Squares.two_way, m * (n - 1)),
                "one-way": (Squares.one_way, m * (n - 1)),
                **methods,
                "residual": (_residual, (m - 1) * (n - 1)),
            }
        found = [
            self._estimate(name, float(value(whole)), np.asarray(value(left_out)), most, _parts(name, whole))
            for name, (value, most) in methods.items()
        ]
        return [*found, self._pairs()] if m > 1 else found

    def _pairs(self) -> VarianceEstimate:
        """The percentile of the variances of pairs, halved to be the variance of one system."""
        n = len(self.scores)
        pairs = pair_spread(self.scores, self.percentile)
        parts = {"median_sd": pairs.median_sd, "mean_sd": pairs.mean_sd, "percentile_sd": pairs.percentile_sd}
        value = pairs.percentile / 2  # S14 §4.1
        left_out = np.full(n, value) if pairs.left_out is None else pairs.left_out / 2
        return self._estimate("percentile", value, left_out, n - 1, parts)

    def _estimate(
        self, method: str, value: float, left_out: Array, most: float, parts: Mapping[str, float]
    ) -> VarianceEstimate:
        n, m = self.scores.shape
        df = jackknife_df(value, left_out, most=most)
        return _with_interval(
            VarianceEstimate(
                measure=self.measure,
                collection=self.collection,
                method=method,
                variance=value,
                lower=value,
                upper=value,
                df=df,
                topics=n,
                systems=m,
                parts=parts,
            ),
            self.confidence,
        )


def _within(found: Squares) -> Any:
    return found.within_systems


def _residual(found: Squares) -> Any:
    return found.residual


def _parts(method: str, found: Squares) -> dict[str, float]:
    if method != "two-way":
        return {}
    return {
        "system_part": float(found.system_part()),
        "topic_part": float(found.topic_part()),
        "residual_part": float(found.residual),
    }


def _with_interval(estimate: VarianceEstimate, confidence: float) -> VarianceEstimate:
    if not estimate.variance > 0:
        return estimate
    lower, upper = estimate.quantiles([(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return replace(estimate, lower=lower, upper=upper)


def _pool(together: Sequence[VarianceEstimate], confidence: float) -> VarianceEstimate:
    """Pool collections, weighted by their topics minus one; degrees of freedom by Satterthwaite."""
    weights = np.array([estimate.topics - 1 for estimate in together], float)
    weights /= weights.sum()
    variances = np.array([estimate.variance for estimate in together])
    value = float(weights @ variances)  # S14 Eq. 8
    spread = float(np.sum(np.square(weights * variances) / [estimate.df for estimate in together]))
    first = together[0]
    parts = {name: float(weights @ np.array([estimate.parts[name] for estimate in together])) for name in first.parts}
    return _with_interval(
        VarianceEstimate(
            measure=first.measure,
            collection=POOLED,
            method=first.method,
            variance=value,
            lower=value,
            upper=value,
            df=value**2 / spread if spread > 0 else first.df,
            topics=sum(estimate.topics for estimate in together),
            systems=max(estimate.systems for estimate in together),
            parts=parts,
        ),
        confidence,
    )
