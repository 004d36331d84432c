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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.estimates import Estimate, Estimator
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, rounding
from cranfield.methods.contrasts.resampling import summed, topic_weights
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
    def judge_in_order(self) -> Array:
        """The judge's scores, first of the topics with human labels in their order, then of the others."""
        others = np.delete(np.arange(self.judged_topics), self.rows)
        return np.asarray(self.judge[np.concatenate([self.rows, others])])

    @property
    def judge_beside_human(self) -> Array:
        """The judge's scores of the topics with human labels, in their order."""
        return np.asarray(self.judge_in_order[: self.topics])

    def chosen(self, systems: Array) -> JudgedScores:
        """The same of some systems, in their order."""
        return JudgedScores(human=self.human[:, systems], judge=self.judge[:, systems], rows=self.rows)


@dataclass(frozen=True, eq=False)
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

    @classmethod
    def of(cls, human: Array, judge: Array) -> Moments:
        """Of columns, such as differences of pairs: the first topics of ``judge`` are those of ``human``."""
        beside = judge[: len(human)]
        means = human.mean(axis=0), beside.mean(axis=0), judge.mean(axis=0)
        d, e, whole = human - means[0], beside - means[1], judge - means[2]
        squares = [np.einsum("i...,i...->...", *both) for both in ((d, d), (e, e), (d, e), (whole, whole))]
        return cls(len(human), len(judge), *means, *squares)

    @classmethod
    def redrawn(cls, human: Array, judge: Array, weights: Array) -> Moments:
        """The same in samples; ``weights`` (samples × topics of ``judge``) count how often each has a topic."""
        n, mine = len(human), weights[:, : len(human)]
        count, total = round(mine[0].sum()), round(weights[0].sum())
        centre = human.mean(axis=0), judge[:n].mean(axis=0)
        d, e, whole = human - centre[0], judge[:n] - centre[1], judge - centre[1]
        d_mean, e_mean, whole_mean = summed(mine, d) / count, summed(mine, e) / count, summed(weights, whole) / total
        squares = (
            _above(summed(mine, d**2) - count * d_mean**2, d),
            _above(summed(mine, e**2) - count * e_mean**2, e),
            summed(mine, d * e) - count * d_mean * e_mean,
            _above(summed(weights, whole**2) - total * whole_mean**2, whole),
        )
        return cls(count, total, centre[0] + d_mean, centre[1] + e_mean, centre[1] + whole_mean, *squares)


def _above(squares: Array, columns: Array) -> Array:
    """0 in place of sums of squares that are only rounding."""
    return np.where(squares > 1e-9 * np.square(columns).sum(axis=0), squares, 0.0)


def pair_moments(scores: JudgedScores, contrasts: Contrasts) -> Moments:
    """Means and sums of squares of differences, from products of systems; close pairs from the differences."""
    tables = scores.human, scores.judge_beside_human, scores.judge
    system_means = [table.mean(axis=0) for table in tables]
    human, judge, whole = (table - mean for table, mean in zip(tables, system_means, strict=True))
    sums, own = np.empty((2, 4, len(contrasts)))
    for at, (one, other) in enumerate(((human, human), (judge, judge), (human, judge), (whole, whole))):
        sums[at], own[at] = _of_pairs(one.T @ other, contrasts)
    close = np.flatnonzero((sums <= _CLOSE * own)[[0, 1, 3]].any(axis=0))
    step = max(1, _BLOCK // scores.judged_topics)
    for part in (close[start : start + step] for start in range(0, len(close), step)):
        some = contrasts.some(part)
        again = Moments.of(some.of(scores.human), some.of(scores.judge_in_order))
        sums[:, part] = again.human_squares, again.judge_squares, again.products, again.whole_squares
    means = [contrasts.of(mean) for mean in system_means]
    return _without_rounding(scores, Moments(scores.topics, scores.judged_topics, *means, *sums))


def _of_pairs(products: Array, contrasts: Contrasts) -> tuple[Array, Array]:
    """Σ(x_a − f·x_b)(y_a − f·y_b) from Σ x_i y_j of all systems, and what it is without products of two systems."""
    first, second, factor, own = contrasts.first, contrasts.second, contrasts.factor, np.diag(products)
    alone = own[first] + factor**2 * own[second]
    return alone - factor * (products[first, second] + products[second, first]), alone


def _without_rounding(scores: JudgedScores, moments: Moments) -> Moments:
    """The same with sums of 0 for what varies by rounding only."""
    of_human, of_judge = (
        (4 * rounding(float(table.min()), float(table.max()))) ** 2 for table in (scores.human, scores.judge)
    )
    n, whole = scores.topics, scores.judged_topics
    d = np.where(moments.human_squares > n * of_human, moments.human_squares, 0.0)
    e = np.where(moments.judge_squares > n * of_judge, moments.judge_squares, 0.0)
    every = np.where(moments.whole_squares > whole * of_judge, moments.whole_squares, 0.0)
    products = np.where((d > 0) & (e > 0), moments.products, 0.0)
    return replace(moments, human_squares=d, judge_squares=e, products=products, whole_squares=every)


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedEstimate(Estimate):
    """Differences of pairs, or means of systems.

    ``slope`` is what the judge's part is multiplied by: b of the regression, λ of PPI++, 0 for human labels alone, 1
    for the judge alone. ``fallback`` marks those for which the judge is constant on the topics with human labels: they
    are estimated from human labels alone.
    """

    slope: Array
    fallback: Array


def regression(moments: Moments) -> JudgedEstimate:
    """The regression estimator of two-phase sampling: d̄ + b(ē_N − ē_n), with n − 2 degrees of freedom."""
    n, whole = moments.topics, moments.judged_topics
    varies = moments.judge_squares > 0
    squares = np.where(varies, moments.judge_squares, np.inf)  # a constant judge has the slope 0
    slope = moments.products / squares
    gap = moments.whole_mean - moments.judge_mean
    df = np.where(varies, n - 2.0, n - 1.0)
    residual = np.maximum(moments.human_squares - slope * moments.products, 0.0) / df
    variance = residual * (1 / n + gap**2 / squares)  # Cochran 1977 §12.6
    variance += slope**2 * moments.whole_squares / (whole - 1) / whole  # Cochran 1977 §12.6
    return _estimate(moments.human_mean + slope * gap, variance, df, slope, ~varies)


def ppi(moments: Moments, tuning: Array | None = None) -> JudgedEstimate:
    """PPI++: d̄ + λ(ē of the other topics − ē_n), with n − 1 degrees of freedom.

    ``tuning`` is λ; by default the one with the smallest variance, between 0 and 1.
    """
    n, whole = moments.topics, moments.judged_topics
    rest = max(whole - n, 2)  # from fewer nothing is learned, and λ is 0
    varies = (moments.judge_squares > 0) & (whole - n > 1)
    other_mean = (whole * moments.whole_mean - n * moments.judge_mean) / rest
    apart = n * rest / whole * (moments.judge_mean - other_mean) ** 2
    other_squares = np.maximum(moments.whole_squares - moments.judge_squares - apart, 0.0)
    if tuning is None:
        pooled = np.where(varies, moments.whole_squares, 1.0) / (whole - 1)
        tuning = np.clip(moments.products / n / ((1 + n / rest) * pooled), 0.0, 1.0)  # as ppi-python tunes it
    slope = np.where(varies, tuning, 0.0)
    rectified = moments.human_squares - 2 * slope * moments.products + slope**2 * moments.judge_squares
    variance = np.maximum(rectified, 0.0) / (n - 1) / n + slope**2 * other_squares / (rest - 1) / rest
    value = moments.human_mean + slope * (other_mean - moments.judge_mean)
    return _estimate(value, variance, n - 1.0, slope, ~varies)


def human(moments: Moments) -> JudgedEstimate:
    """Human labels alone: Student's paired t on n topics."""
    n = moments.topics
    return _estimate(moments.human_mean, moments.human_squares / (n - 1) / n, n - 1.0, 0.0)


def judge(moments: Moments) -> JudgedEstimate:
    """The judge alone: Student's paired t on N topics, of the judge's difference and not of the human one."""
    whole = moments.judged_topics
    return _estimate(moments.whole_mean, moments.whole_squares / (whole - 1) / whole, whole - 1.0, 1.0)


def _estimate(
    value: Array, variance: Array, df: Array | float, slope: Array | float, fallback: Array | bool = False
) -> JudgedEstimate:
    df, slope, fallback = (np.broadcast_to(column, np.shape(value)) for column in (df, slope, fallback))
    return JudgedEstimate(value=value, standard_error=np.sqrt(variance), df=df, slope=slope, fallback=fallback)


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
    return find_estimator(estimator)(_without_rounding(scores, Moments.of(scores.human, scores.judge_in_order)))


def gated(estimate: JudgedEstimate) -> JudgedEstimate:
    """The same for gates, which are one-sided: with a degree of freedom less where the judge has a part in it.

    Differences are skewed, and with 10 human topics and a judge of little worth a gate at α = .05 would otherwise pass
    .061 of the candidates that are worse by just the margin (`scripts/judge_error_rates.py gates`).
    """
    return replace(estimate, df=estimate.df - ((estimate.df > 1) & ~estimate.fallback))


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Contrasts of systems from human labels on some topics and a judge's on all of them; for gates, see `gated`."""

    scores: JudgedScores
    contrasts: Contrasts
    name: str = "regression"
    is_gated: bool = False

    @property
    def topics(self) -> int:
        return self.scores.topics

    @cached_property
    def _estimate(self) -> JudgedEstimate:
        found = estimate_pairs(self.scores, self.name, self.contrasts)
        return gated(found) if self.is_gated else found

    def fit(self) -> JudgedEstimate:
        return self._estimate

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """How often topics with human labels are drawn, and the others among themselves."""
        n, others = self.topics, self.scores.judged_topics - self.topics
        mine = topic_weights(rng, n, size)
        return np.hstack([mine, topic_weights(rng, others, size)]) if others else mine

    def redrawn(self, drawn: Array, places: Array) -> tuple[Array, Array]:
        some = self.contrasts.some(places)
        judge = some.of(self.scores.judge_in_order)
        judge[:, self.fit().fallback[places]] = 0.0  # else rounding would be taken for what the judge says
        again = find_estimator(self.name)(Moments.redrawn(some.of(self.scores.human), judge, drawn))
        return again.value - self.fit().value[places], again.standard_error


def judged_estimator(scores: JudgedScores, contrasts: Contrasts, name: str, *, is_gated: bool = False) -> Estimator:
    """What pairs are estimated from; labels of one kind alone are a table like any other."""
    if name == "human":
        return Pairs(scores.human, contrasts)
    return Pairs(scores.judge, contrasts) if name == "judge" else JudgedPairs(scores, contrasts, name, is_gated)
