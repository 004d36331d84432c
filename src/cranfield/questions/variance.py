"""How much scores vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Param, about, question
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.methods.design.pair_sizes import PairSizes
    from cranfield.methods.variance import Variances


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VarianceResult(Result):
    """Every estimate of the variance; with ``pairs=True`` what every pair of systems would need instead.

    Attributes
    ----------
    variances
        The estimates with their intervals; None with ``pairs=True``.
    pairs
        By measure: difference, topics and p of every pair.
    """

    variances: Variances | None = None
    pairs: Mapping[str, PairSizes] = field(default_factory=dict)


@question(
    "Variances",
    examples=("cranfield variance scores2023.csv scores2024.csv",),
    charts=("intervals",),
    working="reading",
    is_parallel=True,
)
def variance(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    percentile: shared.Percentile = 95.0,
    confidence: groups.Confidence = 0.95,
    pairs: Annotated[
        bool,
        Param(
            "Instead: the topics that pairs of systems require, as in the tables of Dinçer (2013).",
            label="what every pair needs",
        ),
    ] = False,
    alpha: Annotated[float, about(shared.Alpha, requires=("pairs",))] = 0.05,
    source: groups.TableSource = None,
) -> VarianceResult:
    """Estimate the variance of scores from a pilot, with all estimators used for sizing.

    Returns
    -------
    VarianceResult
        Estimates of σ², the variance of one system's scores, each with its interval.

    References
    ----------
    .. [1] T. Sakai, "Designing test collections for comparing many systems", CIKM, 2014.
    .. [2] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.
    .. [3] B. T. Dinçer, "Design of information retrieval experiments: the sufficient topic set size for providing an
       adequate level of confidence", Turkish Journal of Electrical Engineering and Computer Sciences, 2013.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": {"1": 0.5, "2": 0.7, "3": 0.6, "4": 0.4}, "b": {"1": 0.4, "2": 0.65, "3": 0.45, "4": 0.35}}
    >>> round(cf.variance(scores).variances.get("residual").variance, 6)
    0.001146
    """
    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    if pairs:
        from cranfield.methods.design.pair_sizes import pair_sizes

        sizes = {
            label: pair_sizes(table, measure=name, alpha=alpha) for label, (table, name) in tables.measures.items()
        }
        return VarianceResult(pairs=sizes, warnings=tables.warnings)
    from cranfield.methods.variance import estimate_variance

    found = estimate_variance(tables.by_name, percentile=percentile, confidence=confidence)
    return VarianceResult(variances=found, warnings=tables.warnings)
