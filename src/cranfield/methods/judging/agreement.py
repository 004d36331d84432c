"""Agreement of a judge's grades with human grades, and of the order of systems under both.

Topics are the sample: intervals of κ and α come from the jackknife over topics, as the documents of one topic are not
independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cranfield.errors import InputError
from cranfield.stats.kendall import kendall_tau, tau_ap
from cranfield.stats.tails import t_critical
from cranfield.types import Array

MOST_GRADES = 200
"""Different grades above which a table of them says nothing."""
PERSISTENCE = 0.9
"""p of rank-biased overlap: the first ten systems have 86 % of the weight (Webber et al. 2010)."""

Grade = tuple[str, str, float]
"""Topic, document and grade."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A coefficient with its standard error and its interval; nan where it is not defined."""

    value: float
    standard_error: float
    lower: float
    upper: float


def jackknife_interval(value: float, left_out: Array, *, alpha: float = 0.05) -> Interval:
    """The interval of a coefficient from its values without each topic in turn, by Student's t.

    References
    ----------
    - B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", Chapman and Hall 1993, chapter 11.

    >>> values = np.array([1.0, 2.0, 4.0])  # the jackknife of a mean is its standard error
    >>> interval = jackknife_interval(float(values.mean()), (values.sum() - values) / 2)
    >>> bool(np.isclose(interval.standard_error, values.std(ddof=1) / np.sqrt(3)))
    True
    """
    n = len(left_out)
    error = float(np.sqrt((n - 1) / n * np.square(left_out - left_out.mean()).sum()))
    reach = float(t_critical(alpha / 2, n - 1)) * error
    return Interval(value=value, standard_error=error, lower=value - reach, upper=value + reach)


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchedGrades:
    """Grades of the documents that both label sets have, and counts of those that only one has."""

    human: Array
    judge: Array
    topic: Array
    only_human: int = 0
    only_judge: int = 0
    unit: str = "documents"


def match_grades(
    human: Iterable[Grade], judge: Iterable[Grade], topics: Collection[str] | None = None
) -> MatchedGrades:
    """Match two label sets by topic and document, on all topics or on some.

    >>> matched = match_grades([("1", "a", 1), ("1", "b", 0)], [("1", "b", 0.5), ("2", "a", 1)])
    >>> matched.human.tolist(), matched.judge.tolist(), matched.only_human, matched.only_judge
    ([0.0], [0.5], 1, 1)
    """
    own, other = (
        {(topic, document): grade for topic, document, grade in labels if topics is None or topic in topics}
        for labels in (human, judge)
    )
    both = [key for key in own if key in other]
    if not both:
        raise InputError(
            "the two label sets have no document of a topic in common", fix="Judge the documents that people judged."
        )
    return MatchedGrades(
        human=np.array([own[key] for key in both], float),
        judge=np.array([other[key] for key in both], float),
        topic=np.array([topic for topic, _ in both]),
        only_human=len(own) - len(both),
        only_judge=len(other) - len(both),
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
    topics
        The topics of these documents.
    kappa, linear_kappa, quadratic_kappa
        Cohen's κ, with weights 0, |i − j| and (i − j)² of disagreement; grades are taken as they are, so that the
        weights of fractional grades follow their differences.
    nominal_alpha, ordinal_alpha, interval_alpha
        Krippendorff's α.
    only_human, only_judge
        Documents of these topics that have a label of one of them only.
    unit
        What is labelled: ``documents``, or ``scores`` where scores are labels.
    """

    grades: Array
    confusion: Array
    topics: int
    kappa: Interval
    linear_kappa: Interval
    quadratic_kappa: Interval
    nominal_alpha: Interval
    ordinal_alpha: Interval
    interval_alpha: Interval
    only_human: int = 0
    only_judge: int = 0
    unit: str = "documents"

    @property
    def documents(self) -> int:
        return int(self.confusion.sum())

    @property
    def same(self) -> float:
        """Share of documents with the same grade."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    @property
    def scales(self) -> tuple[Array, Array]:
        """The grades that people use, and those that the judge uses."""
        return self.grades[self.confusion.any(axis=1)], self.grades[self.confusion.any(axis=0)]

    @property
    def scales_differ(self) -> bool:
        """Whether the scales have other limits, or grades between those of the other.

        A scale of which some grades were not used does not differ by that alone, unless it is the highest or lowest.
        """
        human, judge = self.scales
        limits = human[0] != judge[0] or human[-1] != judge[-1]
        return bool(limits or (np.setdiff1d(human, judge).size and np.setdiff1d(judge, human).size))


def grade_agreement(labels: MatchedGrades, *, alpha: float = 0.05) -> GradeAgreement:
    """Compare grades of the same documents, with intervals by the jackknife over topics.

    Examples
    --------
    >>> human, judge, topic = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([1, 1, 2, 2])
    >>> agreement = grade_agreement(MatchedGrades(human=human, judge=judge, topic=topic))
    >>> agreement.confusion.tolist(), agreement.kappa.value
    ([[1, 1], [0, 2]], 0.5)
    """
    grades, codes = np.unique(np.concatenate([labels.human, labels.judge]), return_inverse=True)
    if len(grades) > MOST_GRADES:
        raise InputError(
            f"there are {len(grades):,} different grades, and a table of them has {MOST_GRADES} at most",
            fix="Round the grades to compare them.",
        )
    topics, place = np.unique(labels.topic, return_inverse=True)
    g, human, judge = len(grades), *np.split(codes.ravel(), 2)
    tables = np.bincount((place.ravel() * g + human) * g + judge, minlength=len(topics) * g * g).reshape(-1, g, g)
    whole = tables.sum(axis=0)
    stacked = np.concatenate([whole[np.newaxis], whole - tables])
    values = {name: coefficient(stacked, grades) for name, coefficient in COEFFICIENTS.items()}
    return GradeAgreement(
        grades=grades,
        confusion=whole,
        topics=len(topics),
        only_human=labels.only_human,
        only_judge=labels.only_judge,
        unit=labels.unit,
        **{name: jackknife_interval(float(each[0]), each[1:], alpha=alpha) for name, each in values.items()},
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
    return _beyond_chance(tables, weight, tables.sum(axis=(-2, -1)))  # Cohen 1968


def krippendorff_alpha(tables: Array, grades: Array, *, metric: str = "nominal") -> Array:
    """Krippendorff's α of tables of counts (… × human grade × judge's grade).

    ``metric`` of disagreement is ``nominal``, ``ordinal`` or ``interval``.

    References
    ----------
    - K. Krippendorff, "Content Analysis", third edition, Sage 2013, chapter 12.
    """
    coincidences = tables + tables.swapaxes(-1, -2)
    counts = coincidences.sum(axis=-1)
    if metric == "ordinal":
        below = np.cumsum(counts, axis=-1) - counts / 2
        apart = np.square(below[..., :, np.newaxis] - below[..., np.newaxis, :])
    else:
        apart = np.square(grades[:, np.newaxis] - grades)
        apart = apart > 0 if metric == "nominal" else apart
    return _beyond_chance(coincidences, apart, counts.sum(axis=-1) - 1)


def _beyond_chance(tables: Array, weights: Array, pairs: Array) -> Array:
    """1 − observed over expected disagreement; nan where there is nothing to disagree about."""
    observed = (weights * tables).sum(axis=(-2, -1))
    expected = np.einsum("...i,...ij,...j->...", tables.sum(axis=-1), weights, tables.sum(axis=-2))
    expected = expected / np.maximum(pairs, 1)
    undefined = np.full(np.shape(observed), np.nan)
    return np.asarray(1 - np.divide(observed, expected, out=undefined, where=expected > 0))


COEFFICIENTS: dict[str, Callable[[Array, Array], Array]] = {
    "kappa": cohen_kappa,
    "linear_kappa": partial(cohen_kappa, weights="linear"),
    "quadratic_kappa": partial(cohen_kappa, weights="quadratic"),
    "nominal_alpha": krippendorff_alpha,
    "ordinal_alpha": partial(krippendorff_alpha, metric="ordinal"),
    "interval_alpha": partial(krippendorff_alpha, metric="interval"),
}
"""Coefficients of agreement, from tables of counts and the grades."""


@dataclass(frozen=True, kw_only=True)
class OrderAgreement:
    """Agreement of two orders of systems: Kendall's τ-b, τ_AP with the human order as the truth, and RBO."""

    tau: float
    tau_ap: float
    rbo: float


def order_agreement(human_means: Array, judge_means: Array) -> OrderAgreement:
    """Compare the orders of systems by their mean scores under two label sets."""
    return OrderAgreement(
        tau=kendall_tau(judge_means, human_means),
        tau_ap=tau_ap(judge_means, human_means),
        rbo=rank_biased_overlap(judge_means, human_means),
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
    depths = np.arange(1, min(np.isfinite(a).sum(), np.isfinite(b).sum()) + 1)
    first, second = (_ranks(scores) <= depths[:, np.newaxis] for scores in (a, b))
    agreement = 2 * (first & second).sum(axis=1) / (first.sum(axis=1) + second.sum(axis=1))  # Webber et al. 2010, ties
    weight = persistence**depths
    weighted = (1 - persistence) / persistence * (agreement * weight).sum()
    return float(weight[-1] * agreement[-1] + weighted)  # Webber et al. 2010, RBO_ext


def _ranks(scores: Array) -> Array:
    """Ranks from 1, tied items at the first of theirs; infinite for items without a score."""
    ordered = np.sort(-scores[np.isfinite(scores)])
    return np.where(np.isfinite(scores), 1.0 + np.searchsorted(ordered, -scores), np.inf)
