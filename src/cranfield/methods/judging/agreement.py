"""Agreement of a judge's grades with human grades, and of the order of systems under both.

Topics are the sample: intervals of κ and α come from the jackknife over topics, as the documents of one topic are not
independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cranfield.errors import InputError
from cranfield.stats.kendall import kendall_tau, tau_ap
from cranfield.stats.tails import t_critical
from cranfield.types import Array

MOST_GRADES = 200
"""Different grades above which a table of them says nothing."""
PERSISTENCE = 0.9
"""p of rank-biased overlap: the first ten systems have 86 % of the weight (Webber et al. 2010)."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A coefficient with its standard error and its interval; nan where it is not defined."""

    value: float
    standard_error: float
    lower: float
    upper: float


def jackknife_interval(
    value: float, left_out: Array, *, alpha: float = 0.05, transform: Callable[[Array], Array] | None = None
) -> Interval:
    """The interval of a coefficient from its values without each topic in turn, by Student's t.

    ``transform`` is Fisher's z (``np.arctanh``) for correlations: the interval is made on its scale.

    References
    ----------
    - B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", Chapman and Hall 1993, chapter 11.

    >>> values = np.array([1.0, 2.0, 4.0])  # the jackknife of a mean is its standard error
    >>> found = jackknife_interval(float(values.mean()), (values.sum() - values) / 2)
    >>> bool(np.isclose(found.standard_error, values.std(ddof=1) / np.sqrt(3)))
    True
    """
    n = len(left_out)
    error = _jackknife_error(left_out)
    reach = float(t_critical(alpha / 2, n - 1))
    if transform is None:
        return Interval(value=value, standard_error=error, lower=value - reach * error, upper=value + reach * error)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, moved = float(transform(np.asarray(value))), transform(left_out)
        reach *= _jackknife_error(moved)
    lower, upper = np.tanh([centre - reach, centre + reach]).tolist()
    return Interval(value=value, standard_error=error, lower=lower, upper=upper)


def _jackknife_error(left_out: Array) -> float:
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * np.square(left_out - left_out.mean()).sum()))


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchedGrades:
    """Grades of the documents that both label sets have, and counts of those that only one has."""

    human: Array
    judge: Array
    topic: Array
    only_human: int
    only_judge: int


def match_grades(
    human_topic: Array,
    human_document: Array,
    human_grade: Array,
    judge_topic: Array,
    judge_document: Array,
    judge_grade: Array,
) -> MatchedGrades:
    """Match two label sets by topic and document, which are integer codes common to both."""
    width = 1 + int(max(human_document.max(initial=0), judge_document.max(initial=0)))
    keys = [
        np.asarray(topic, np.int64) * width + document
        for topic, document in ((human_topic, human_document), (judge_topic, judge_document))
    ]
    both, at_human, at_judge = np.intersect1d(keys[0], keys[1], return_indices=True)
    if not len(both):
        raise InputError(
            "the two label sets have no document of a topic in common", fix="Judge the documents that people judged."
        )
    return MatchedGrades(
        human=np.asarray(human_grade)[at_human],
        judge=np.asarray(judge_grade)[at_judge],
        topic=np.asarray(human_topic)[at_human],
        only_human=len(keys[0]) - len(both),
        only_judge=len(keys[1]) - len(both),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GradeAgreement:
    """How far two label sets agree on the documents that both have.

    Parameters
    ----------
    grades
        All grades of both, in order.
    confusion
        Documents by human grade (row) and judge's grade (column).
    kappa, linear_kappa, quadratic_kappa
        Cohen's κ, with weights 0, |i − j| and (i − j)² of disagreement; grades are taken as they are, so that the
        weights of fractional grades follow their differences.
    nominal_alpha, ordinal_alpha, interval_alpha
        Krippendorff's α.
    same
        Share of documents with the same grade.
    """

    grades: Array
    confusion: Array
    documents: int
    topics: int
    same: float
    kappa: Interval
    linear_kappa: Interval
    quadratic_kappa: Interval
    nominal_alpha: Interval
    ordinal_alpha: Interval
    interval_alpha: Interval


def grade_agreement(human: Array, judge: Array, topic: Array, *, alpha: float = 0.05) -> GradeAgreement:
    """Compare grades of the same documents, with intervals by the jackknife over topics.

    Parameters
    ----------
    human, judge
        The grades of every document.
    topic
        The topic of every document.

    Examples
    --------
    >>> found = grade_agreement(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([1, 1, 2, 2]))
    >>> found.confusion.tolist(), found.kappa.value
    ([[1, 1], [0, 2]], 0.5)
    """
    if not len(human) == len(judge) == len(topic) or not len(human):
        raise InputError("there must be one human and one judge's grade for every document", fix="Match them first.")
    grades, codes = np.unique(np.concatenate([human, judge]), return_inverse=True)
    if len(grades) > MOST_GRADES:
        raise InputError(
            f"there are {len(grades):,} different grades, and a table of them has {MOST_GRADES} at most",
            fix="Round the grades to compare them.",
        )
    topics, place = np.unique(topic, return_inverse=True)
    g, first, second = len(grades), *np.split(codes.ravel(), 2)
    tables = np.bincount((place.ravel() * g + first) * g + second, minlength=len(topics) * g * g).reshape(-1, g, g)
    whole = tables.sum(axis=0)
    stacked = np.concatenate([whole[np.newaxis], whole - tables])
    found = {name: coefficient(stacked, grades) for name, coefficient in COEFFICIENTS.items()}
    return GradeAgreement(
        grades=grades,
        confusion=whole,
        documents=len(human),
        topics=len(topics),
        same=float(np.trace(whole) / whole.sum()),
        **{name: jackknife_interval(float(values[0]), values[1:], alpha=alpha) for name, values in found.items()},
    )


def cohen_kappa(tables: Array, grades: Array, *, weights: str = "none") -> Array:
    """Cohen's κ of tables of counts (… × human grade × judge's grade).

    ``weights`` of disagreement are ``none`` (all disagreements alike), ``linear`` or ``quadratic`` in the grades.

    References
    ----------
    - J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968), 213–220.
    """
    apart = np.abs(grades[:, np.newaxis] - grades)
    weight = {"none": apart > 0, "linear": apart, "quadratic": apart**2}[weights]
    total = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    chance = np.einsum("...i,ij,...j->...", rows, weight, columns) / np.maximum(total, 1)
    return _one_minus((weight * tables).sum(axis=(-2, -1)), chance)  # Cohen 1968


def krippendorff_alpha(coincidences: Array, grades: Array, *, metric: str = "nominal") -> Array:
    """Krippendorff's α of tables of coincidences (… × grade × grade): 1 − observed over expected disagreement.

    ``metric`` is ``nominal``, ``ordinal`` or ``interval``. Of two raters without gaps the coincidences are the table
    of counts plus its transpose; `coincidences_of` has those of any number of raters.

    References
    ----------
    - K. Krippendorff, "Content Analysis", third edition, Sage 2013, chapter 12.
    """
    counts = coincidences.sum(axis=-1)
    if metric == "ordinal":
        below = np.cumsum(counts, axis=-1) - counts / 2
        apart = np.square(below[..., :, np.newaxis] - below[..., np.newaxis, :])
    else:
        apart = np.square(grades[:, np.newaxis] - grades)
        apart = np.broadcast_to((apart > 0) if metric == "nominal" else apart, coincidences.shape)
    expected = np.einsum("...i,...ij,...j->...", counts, apart, counts) / np.maximum(counts.sum(axis=-1) - 1, 1)
    return _one_minus((apart * coincidences).sum(axis=(-2, -1)), expected)


def _one_minus(observed: Array, expected: Array) -> Array:
    """1 − observed / expected; nan where there is nothing to disagree about."""
    undefined = np.full(np.shape(observed), np.nan)
    return np.asarray(1 - np.divide(observed, expected, out=undefined, where=expected > 0))


def coincidences_of(ratings: Array, grades: Array) -> Array:
    """Coincidences of grades that several raters gave (raters × documents; nan where a rater gave none)."""
    counts = np.stack([(ratings == grade).sum(axis=0) for grade in grades], axis=1).astype(float)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters > 1], raters[raters > 1]
    shared = counts / (raters - 1)[:, np.newaxis]
    return np.asarray(counts.T @ shared - np.diag(shared.sum(axis=0)))


def _kappa(weights: str) -> Callable[[Array, Array], Array]:
    return lambda tables, grades: cohen_kappa(tables, grades, weights=weights)


def _alpha(metric: str) -> Callable[[Array, Array], Array]:
    return lambda tables, grades: krippendorff_alpha(tables + tables.swapaxes(-1, -2), grades, metric=metric)


COEFFICIENTS: dict[str, Callable[[Array, Array], Array]] = {
    "kappa": _kappa("none"),
    "linear_kappa": _kappa("linear"),
    "quadratic_kappa": _kappa("quadratic"),
    "nominal_alpha": _alpha("nominal"),
    "ordinal_alpha": _alpha("ordinal"),
    "interval_alpha": _alpha("interval"),
}
"""Coefficients of agreement, from tables of counts and the grades."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleDifference:
    """Two scales of grades, and whether they differ: other limits, or grades between those of the other.

    A scale of which some grades were not used does not differ by that alone, unless it is the highest or lowest.
    """

    human: Array
    judge: Array
    differ: bool
    only_human: Array
    only_judge: Array


def compare_scales(human: Array, judge: Array) -> ScaleDifference:
    """Compare the grades that two label sets use.

    >>> compare_scales(np.array([0, 1, 2, 3]), np.array([0, 3, 1])).differ
    False
    >>> compare_scales(np.array([0, 1, 2, 3]), np.array([0, 0.5, 1])).differ
    True
    """
    first, second = np.unique(human), np.unique(judge)
    only = np.setdiff1d(first, second), np.setdiff1d(second, first)
    limits = first[0] != second[0] or first[-1] != second[-1]
    return ScaleDifference(
        human=first,
        judge=second,
        differ=bool(limits or (len(only[0]) > 0 and len(only[1]) > 0)),
        only_human=only[0],
        only_judge=only[1],
    )


@dataclass(frozen=True, kw_only=True)
class OrderAgreement:
    """Agreement of two orders of systems: Kendall's τ-b, τ_AP with the human order as the truth, and RBO."""

    tau: float
    tau_ap: float
    rbo: float
    persistence: float = PERSISTENCE


def order_agreement(human_means: Array, judge_means: Array, *, persistence: float = PERSISTENCE) -> OrderAgreement:
    """Compare the orders of systems by their mean scores under two label sets."""
    return OrderAgreement(
        tau=kendall_tau(judge_means, human_means),
        tau_ap=tau_ap(judge_means, human_means),
        rbo=rank_biased_overlap(judge_means, human_means, persistence=persistence),
        persistence=persistence,
    )


def rank_biased_overlap(a: Array, b: Array, *, persistence: float = PERSISTENCE) -> float:
    """Rank-biased overlap of two rankings by score, extrapolated from the depth that both have.

    p^k·A_k + (1 − p)/p · Σ A_d·p^d, A_d being the agreement of the first d of both. Tied items share the first of their
    ranks, and A_d is then twice the overlap over the number of items of both. An item that a ranking does not have is
    nan in it.

    References
    ----------
    - W. Webber, A. Moffat and J. Zobel, "A similarity measure for indefinite rankings", ACM Transactions on Information
      Systems 28 (2010), article 20.

    >>> rank_biased_overlap(np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0]))
    1.0
    """
    ranks = [_ranks(each) for each in (a, b)]
    depth = min(int(np.isfinite(each).sum()) for each in ranks)
    places = np.arange(1, depth + 1)[:, np.newaxis]
    inside = [each <= places for each in ranks]
    overlap = (inside[0] & inside[1]).sum(axis=1)
    agreement = 2 * overlap / (inside[0].sum(axis=1) + inside[1].sum(axis=1))  # Webber et al. 2010, ties
    weight = persistence ** np.arange(1, depth + 1)
    rest = persistence**depth * agreement[-1]
    return float(rest + (1 - persistence) / persistence * (agreement * weight).sum())  # Webber et al. 2010, RBO_ext


def _ranks(scores: Array) -> Array:
    """Ranks from 1, tied items at the first of theirs; infinite for items without a score."""
    ordered = np.sort(-scores[np.isfinite(scores)])
    return np.where(np.isfinite(scores), 1.0 + np.searchsorted(ordered, -scores), np.inf)
