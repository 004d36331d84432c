"""Differences and means from human labels on some topics and a judge's labels on all of them.

For a difference of two systems let d be the one under human labels and e the one under the judge's. The n topics with
human labels are a random sample of the N judged ones (two-phase sampling), so that e, known on all of them, tells how
the sample differs from the whole.

References
----------
- W. G. Cochran, "Sampling Techniques", third edition, Wiley 1977, chapter 12.
- A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient prediction-powered inference", arXiv:2311.01453, 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, rounding
from cranfield.stats.tails import t_critical
from cranfield.types import Array

FEWEST_TOPICS = 3
"""Topics with human labels below which the regression has no error to measure by."""
_CLOSE = 1e-3  # part of its systems' squares below which a pair's squares are summed from its differences
_BLOCK = 1_000_000  # differences at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedScores:
    """Scores of k systems under human labels (n topics) and under a judge's labels (N topics).

    Parameters
    ----------
    human
        n topics × k systems.
    judge
        N topics × k systems, in the same order of systems.
    rows
        The row of ``judge`` that is the same topic, for every row of ``human``.
    """

    human: Array
    judge: Array
    rows: Array

    def __post_init__(self) -> None:
        if self.human.ndim != 2 or self.judge.ndim != 2 or self.human.shape[1] != self.judge.shape[1]:
            raise InputError(
                f"scores of shapes {self.human.shape} and {self.judge.shape} are not those of the same systems",
                fix="Give two tables, topics × systems, with the same systems.",
            )
        if not (np.isfinite(self.human).all() and np.isfinite(self.judge).all()):
            raise InputError("a score is missing", fix="Leave out topics or systems with missing scores.")
        self._check_rows()

    def _check_rows(self) -> None:
        n, rows = len(self.human), self.rows
        if len(rows) != n or len(np.unique(rows)) != n or np.any((rows < 0) | (rows >= len(self.judge))):
            raise InputError(
                "every topic with human labels must be one of the judged topics, each once",
                fix="Judge those topics too, or leave them out.",
            )
        if n < FEWEST_TOPICS:
            counted = f"only {n} topic{'s have' if n != 1 else ' has'}"
            raise InputError(f"{counted} human labels; at least {FEWEST_TOPICS} are required", fix="Label more.")

    @property
    def topics(self) -> int:
        """n, the topics with human labels."""
        return len(self.human)

    @property
    def judged_topics(self) -> int:
        """N, the topics with the judge's labels."""
        return len(self.judge)

    @property
    def systems(self) -> int:
        return int(self.human.shape[1])

    @cached_property
    def judge_beside_human(self) -> Array:
        """The judge's scores of the topics with human labels, in their order."""
        return np.asarray(self.judge[self.rows])

    def chosen(self, systems: Array) -> JudgedScores:
        """The same of some systems, in their order."""
        return JudgedScores(human=self.human[:, systems], judge=self.judge[:, systems], rows=self.rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """What all estimators are computed from, for every pair (or every system): means and sums of squares.

    ``human_mean``, ``judge_mean``, ``human_squares`` (Σ(d − d̄)²), ``judge_squares`` (Σ(e − ē)²) and ``products``
    (Σ(d − d̄)(e − ē)) are over the ``topics`` with human labels, ``whole_mean`` and ``whole_squares`` over all
    ``judged_topics``. The arrays may have any shape, such as resamples × pairs.
    """

    topics: int
    judged_topics: int
    human_mean: Array
    judge_mean: Array
    whole_mean: Array
    human_squares: Array
    judge_squares: Array
    products: Array
    whole_squares: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedEstimate(Estimate):
    """Differences of pairs, or means of systems.

    ``slope`` is what the judge's part is multiplied by: b of the regression, λ of PPI++, 0 for human labels alone, 1
    for the judge alone. ``fallback`` marks those for which the judge is constant on the topics with human labels: they
    are estimated from human labels alone.
    """

    slope: Array
    fallback: Array


def estimate_pairs(
    scores: JudgedScores, estimator: str = "regression", contrasts: Contrasts | None = None
) -> JudgedEstimate:
    """Estimate the mean difference of human scores for every pair of systems, or for some.

    Parameters
    ----------
    estimator
        ``regression`` (default), ``ppi``, ``human`` or ``judge``.
    contrasts
        The pairs, all of them by default.

    Examples
    --------
    >>> human = np.array([[0.1, 0.0], [0.3, 0.0], [0.2, 0.1], [0.5, 0.2]])
    >>> judge = np.array([[0.2, 0.0], [0.5, 0.0], [0.3, 0.1], [0.6, 0.1], [0.9, 0.1], [0.8, 0.2]])
    >>> scores = JudgedScores(human=human, judge=judge, rows=np.arange(4))
    >>> estimate_pairs(scores).value.round(4).tolist(), estimate_pairs(scores, "human").value.round(4).tolist()
    ([0.2778], [0.2])
    """
    return find_estimator(estimator)(pair_moments(scores, contrasts or all_pairs(scores.systems)))


def estimate_means(scores: JudgedScores, estimator: str = "regression") -> JudgedEstimate:
    """Estimate the mean human score of every system over all judged topics."""
    return find_estimator(estimator)(system_moments(scores))


def system_moments(scores: JudgedScores) -> Moments:
    """Means and sums of squares of every system's scores."""
    return _moments(scores, scores.human, scores.judge_beside_human, scores.judge)


def pair_moments(scores: JudgedScores, contrasts: Contrasts) -> Moments:
    """Means and sums of squares of differences, from products of systems; close pairs from the differences."""
    first, second, factor = contrasts.first, contrasts.second, contrasts.factor
    human, judge, whole = (each - each.mean(axis=0) for each in _tables(scores))
    means = [contrasts.of(each.mean(axis=0)) for each in _tables(scores)]
    together = {
        "human_squares": human.T @ human,
        "judge_squares": judge.T @ judge,
        "products": human.T @ judge,
        "whole_squares": whole.T @ whole,
    }
    sums = {name: _of_pairs(each, contrasts) for name, each in together.items()}
    close = np.zeros(len(first), bool)
    for name in ("human_squares", "judge_squares", "whole_squares"):
        own = np.diag(together[name])
        close |= sums[name] <= _CLOSE * (own[first] + factor**2 * own[second])
    for name, part in _sums_of_differences(scores, contrasts.some(close)).items():
        sums[name][close] = part
    return Moments(
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        human_mean=means[0],
        judge_mean=means[1],
        whole_mean=means[2],
        **sums,
    )


def _tables(scores: JudgedScores) -> tuple[Array, Array, Array]:
    return scores.human, scores.judge_beside_human, scores.judge


def _of_pairs(together: Array, contrasts: Contrasts) -> Array:
    """Σ(x_a − f·x_b)(y_a − f·y_b) from Σ x_i y_j of all systems."""
    first, second, factor, own = contrasts.first, contrasts.second, contrasts.factor, np.diag(together)
    crossed = together[first, second] + together[second, first]
    return np.asarray(own[first] + factor**2 * own[second] - factor * crossed)


def _sums_of_differences(scores: JudgedScores, contrasts: Contrasts) -> dict[str, Array]:
    """The same from the differences themselves, some pairs at a time."""
    sums = {name: np.empty(len(contrasts)) for name in ("human_squares", "judge_squares", "products", "whole_squares")}
    step = max(1, _BLOCK // scores.judged_topics)
    for start in range(0, len(contrasts), step):
        part = slice(start, start + step)
        found = _moments(scores, *(contrasts.some(part).of(each) for each in _tables(scores)))
        for name, total in sums.items():
            total[part] = getattr(found, name)
    return sums


def _moments(scores: JudgedScores, human: Array, judge: Array, whole: Array) -> Moments:
    """Of columns: differences of pairs, or scores of systems."""
    centred = [each - each.mean(axis=0) for each in (human, judge, whole)]
    tiny = [rounding(float(each.min()), float(each.max())) for each in (scores.human, scores.judge)]
    for each, least in zip(centred, (tiny[0], tiny[1], tiny[1]), strict=True):
        each[:, np.ptp(each, axis=0) <= 4 * least] = 0.0
    squares = [np.einsum("ij,ij->j", each, each) for each in centred]
    return Moments(
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        human_mean=human.mean(axis=0),
        judge_mean=judge.mean(axis=0),
        whole_mean=whole.mean(axis=0),
        human_squares=squares[0],
        judge_squares=squares[1],
        products=np.einsum("ij,ij->j", centred[0], centred[1]),
        whole_squares=squares[2],
    )


def regression(moments: Moments) -> JudgedEstimate:
    """The regression estimator of two-phase sampling: d̄ + b(ē_N − ē_n), with n − 2 degrees of freedom."""
    n, whole = moments.topics, moments.judged_topics
    varies = moments.judge_squares > 0
    squares = np.where(varies, moments.judge_squares, 1.0)
    slope = np.where(varies, moments.products / squares, 0.0)
    gap = moments.whole_mean - moments.judge_mean
    residual = np.maximum(moments.human_squares - slope * moments.products, 0.0) / (n - 2)
    variance = residual * (1 / n + gap**2 / squares)  # Cochran 1977 §12.6
    variance += slope**2 * moments.whole_squares / (whole - 1) / whole  # Cochran 1977 §12.6
    return _unless_constant(moments, moments.human_mean + slope * gap, variance, n - 2, slope, varies)


def ppi(moments: Moments, tuning: Array | None = None) -> JudgedEstimate:
    """PPI++: d̄ + λ(ē of the other topics − ē_n), with n − 1 degrees of freedom.

    ``tuning`` is λ; by default the one with the smallest variance, between 0 and 1.
    """
    n, rest = moments.topics, moments.judged_topics - moments.topics
    varies = (moments.judge_squares > 0) & (rest > 1)
    if rest < 2:  # nothing to learn from
        return _unless_constant(moments, moments.human_mean, moments.human_squares, n - 1, 0 * moments.products, varies)
    other_mean = (moments.judged_topics * moments.whole_mean - n * moments.judge_mean) / rest
    apart = n * rest / moments.judged_topics * (moments.judge_mean - other_mean) ** 2
    other_squares = np.maximum(moments.whole_squares - moments.judge_squares - apart, 0.0)
    if tuning is None:
        pooled = np.where(varies, moments.whole_squares, 1.0) / (moments.judged_topics - 1)
        tuning = np.clip(moments.products / n / ((1 + n / rest) * pooled), 0.0, 1.0)  # as ppi-python tunes it
    slope = np.where(varies, tuning, 0.0)
    rectified = moments.human_squares - 2 * slope * moments.products + slope**2 * moments.judge_squares
    variance = np.maximum(rectified, 0.0) / (n - 1) / n + slope**2 * other_squares / (rest - 1) / rest
    value = moments.human_mean + slope * (other_mean - moments.judge_mean)
    return _unless_constant(moments, value, variance, n - 1, slope, varies)


def human(moments: Moments) -> JudgedEstimate:
    """Human labels alone: Student's paired t on n topics."""
    nothing = np.zeros(np.shape(moments.human_mean))
    return _student(moments.human_mean, moments.human_squares, moments.topics, nothing)


def judge(moments: Moments) -> JudgedEstimate:
    """The judge alone: Student's paired t on N topics, of the judge's difference and not of the human one."""
    return _student(
        moments.whole_mean, moments.whole_squares, moments.judged_topics, np.ones(np.shape(moments.whole_mean))
    )


def _student(mean: Array, squares: Array, topics: int, slope: Array) -> JudgedEstimate:
    return JudgedEstimate(
        value=mean,
        standard_error=np.sqrt(squares / (topics - 1) / topics),
        df=np.full(np.shape(mean), topics - 1.0),
        slope=slope,
        fallback=np.zeros(np.shape(mean), bool),
    )


def _unless_constant(
    moments: Moments, value: Array, variance: Array, df: int, slope: Array, varies: Array
) -> JudgedEstimate:
    """An estimate, or where the judge does not vary that from human labels alone."""
    alone = human(moments)
    return JudgedEstimate(
        value=np.where(varies, value, alone.value),
        standard_error=np.where(varies, np.sqrt(variance), alone.standard_error),
        df=np.where(varies, float(df), alone.df),
        slope=slope,
        fallback=np.broadcast_to(~varies, np.shape(value)),
    )


ESTIMATORS: dict[str, Callable[[Moments], JudgedEstimate]] = {
    "regression": regression,
    "ppi": ppi,
    "human": human,
    "judge": judge,
}
"""Estimators by their name; `cranfield.methods.names.ESTIMATOR_TITLES` has their titles."""


def find_estimator(name: str) -> Callable[[Moments], JudgedEstimate]:
    """Return an estimator by its name."""
    if name not in ESTIMATORS:
        raise RequestError(f"there is no estimator «{name}»", fix=f"Choose one of: {', '.join(ESTIMATORS)}.")
    return ESTIMATORS[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrectedShares:
    """Shares of passes corrected for the judge's errors, one per system.

    ``sensitivity`` and ``specificity`` are pooled over systems, those ``of_systems`` each system's own (nan where a
    system has no human pass, or no human failure). ``value`` is not limited to 0 … 1; it is nan where the judge is no
    better than chance.
    """

    value: Array
    standard_error: Array
    df: int
    sensitivity: float
    specificity: float
    sensitivity_of_systems: Array
    specificity_of_systems: Array

    def interval(self, alpha: float = 0.05) -> tuple[Array, Array]:
        """Lower and upper ends of the 100(1 − α) % interval of each share."""
        reach = t_critical(alpha / 2, self.df) * self.standard_error
        return self.value - reach, self.value + reach


def rogan_gladen(scores: JudgedScores) -> CorrectedShares:
    """Correct shares of passes (scores of 0 and 1) by the judge's sensitivity and specificity.

    (p + specificity − 1) / (sensitivity + specificity − 1), p the judge's share of passes over all N topics. One
    sensitivity and one specificity serve all systems: where a judge errs more with some systems than with others, as
    judges do that favour some, the corrected shares are biased, and `estimate_means` is not. Standard errors are
    linearised topic by topic, so that the scores of one topic may depend on each other.

    References
    ----------
    - W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American Journal of
      Epidemiology 107 (1978), 71–76.

    Examples
    --------
    Eight of ten passes are found and nine of ten failures; 52 % of passes by the judge are then 60 %:

    >>> human = np.repeat([1.0, 0.0], 10)[:, np.newaxis]
    >>> judge = np.r_[np.repeat([1.0, 0, 0, 1], [8, 2, 9, 1]), np.repeat([1.0, 0], [17, 13])][:, np.newaxis]
    >>> found = rogan_gladen(JudgedScores(human=human, judge=judge, rows=np.arange(20)))
    >>> round(float(found.value[0]), 3)
    0.6
    """
    if not all(np.isin(each, (0, 1)).all() for each in (scores.human, scores.judge)):
        raise InputError("a score is neither 0 nor 1", fix="This correction is for passes and failures only.")
    passes, found, n = scores.human, scores.judge_beside_human, scores.topics
    failures = 1 - passes
    if passes.sum() == 0 or failures.sum() == 0:
        raise InputError("human labels are all the same", fix="Label topics with passes and with failures.")
    with np.errstate(invalid="ignore"):
        own = [
            (kind * right).sum(axis=0) / kind.sum(axis=0) for kind, right in ((passes, found), (failures, 1 - found))
        ]
    sensitivity = float((passes * found).sum() / passes.sum())
    specificity = float((failures * (1 - found)).sum() / failures.sum())
    better = sensitivity + specificity - 1
    share = scores.judge.mean(axis=0)
    value = (share + specificity - 1) / better if better > 0 else np.full(len(share), np.nan)  # Rogan and Gladen 1978
    missed = (passes * (found - sensitivity)).sum(axis=1, keepdims=True) / passes.sum()
    raised = (failures * (1 - found - specificity)).sum(axis=1, keepdims=True) / failures.sum()
    influence = (scores.judge - share) / len(scores.judge)
    influence[scores.rows] += (1 - value) * raised - value * missed
    variance = np.square(influence).sum(axis=0) * n / (n - 1) / better**2 if better > 0 else value
    return CorrectedShares(
        value=value,
        standard_error=np.sqrt(variance),
        df=n - 1,
        sensitivity=sensitivity,
        specificity=specificity,
        sensitivity_of_systems=own[0],
        specificity_of_systems=own[1],
    )
