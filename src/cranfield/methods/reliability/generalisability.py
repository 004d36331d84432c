"""Generalisability theory: the share of the variance that is due to systems, and the topics for a target share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.reliability.topic_samples import check_confidence, check_target, check_topics, chosen_scores
from cranfield.methods.variance.components import Squares, block_squares, squares
from cranfield.runtime.threads import slices
from cranfield.scores import ScoreTable
from cranfield.types import Array

RELATIVE, ABSOLUTE = "relative", "absolute"
_BLOCK = 1_000_000  # scores at a time, so that memory does not grow with the number of topics
SOURCES = ("system", "topic", "residual")


@dataclass(frozen=True, kw_only=True)
class Component:
    """One source of variance, with the jackknife's interval; ``variance`` is 0 where the estimate is negative."""

    source: str
    variance: float
    share: float
    mean_square: float
    df: int
    lower: float
    upper: float
    estimate: float


@dataclass(frozen=True)
class Coefficient:
    """Eρ² (``relative``) or Φ (``absolute``) with ``topics`` topics."""

    kind: str
    topics: int
    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class TopicsNeeded:
    """Topics at which a coefficient reaches its target; infinite if no number does."""

    kind: str
    target: float
    topics: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Ratio:
    """The ratio of the variance of systems to the error of one topic, and its interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Generalisability:
    """A generalisability study: variance components, and coefficients for any number of topics."""

    measure: str
    topics: int
    systems: int
    components: tuple[Component, ...]
    squares: Squares
    confidence: float
    dropped: tuple[str, ...]
    ratios: dict[str, Ratio]

    def __getitem__(self, source: str) -> Component:
        return self.components[SOURCES.index(source)]

    @property
    def negative(self) -> tuple[str, ...]:
        """Sources whose variance is estimated below 0, and counts as 0."""
        return tuple(each.source for each in self.components if each.estimate < 0)

    def coefficient(self, kind: str, topics: int | None = None) -> Coefficient:
        """Return Eρ² or Φ, by default for the number of topics of the table."""
        count = self.topics if topics is None else topics
        check_topics(count)
        ratio = self._ratio(kind)
        ends = (_reliability(each, count) for each in (ratio.value, ratio.lower, ratio.upper))
        return Coefficient(kind, count, *ends)

    def relative(self, topics: int | None = None) -> Coefficient:
        """Eρ²: the reliability of differences between systems."""
        return self.coefficient(RELATIVE, topics)

    def absolute(self, topics: int | None = None) -> Coefficient:
        """Φ: the reliability of the scores themselves."""
        return self.coefficient(ABSOLUTE, topics)

    def topics_for(self, target: float, kind: str = RELATIVE) -> TopicsNeeded:
        """Return the smallest number of topics at which the coefficient reaches the target."""
        check_target(target)
        ratio = self._ratio(kind)
        # The more the systems differ, the fewer topics: the upper end of the ratio is the lower one of n.
        ends = (_topics(each, target) for each in (ratio.value, ratio.upper, ratio.lower))
        return TopicsNeeded(kind, target, *ends)

    def _ratio(self, kind: str) -> Ratio:
        if kind not in self.ratios:
            raise RequestError(f"there is no coefficient «{kind}»", fix=f"Choose one of: {', '.join(self.ratios)}.")
        return self.ratios[kind]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per source of variance."""
        return [{"measure": self.measure, **vars(each)} for each in self.components]


def _reliability(ratio: float, topics: int) -> float:
    """n·r / (1 + n·r), and 1 where the error has no variance."""
    return 1.0 if np.isinf(ratio) else topics * ratio / (1 + topics * ratio)


def _topics(ratio: float, target: float) -> float:
    if ratio <= 0:
        return float("inf")
    exact = target / (1 - target) / ratio
    return max(1, int(np.ceil(exact * (1 - 1e-12))))  # a hair below: no topic more for a rounding error


def generalise(
    table: ScoreTable, *, measure: str | None = None, drop: float = 0.0, confidence: float = 0.95
) -> Generalisability:
    """Estimate the variance components of a score table, Eρ² and Φ for any number of topics, and topics for any target.

    The interval of Eρ² is that of Feldt, that of Φ that of Arteaga, Jeyaratnam and Franklin; components use the
    jackknife. TREC-3 AP without the worst quarter of its systems has Eρ² = .93265 [.89311, .96287] and Φ = .78613
    [.66141, .88039] on 50 topics, and needs 69 [37, 114] and 259 [130, 487] for .95 of either.

    Parameters
    ----------
    drop
        The share of the worst systems to leave out: very bad systems make any collection look reliable.
    confidence
        Confidence level of the two-sided intervals.
    """
    check_confidence(confidence)
    scores, _, dropped = chosen_scores(table, measure, drop=drop)
    return _study(scores, measure or table.measures[0], confidence, dropped)


def _study(scores: Array, measure: str, confidence: float, dropped: tuple[str, ...]) -> Generalisability:
    found = squares(scores)
    tail = (1 - confidence) / 2
    ratios = {RELATIVE: _relative_ratio(found, tail), ABSOLUTE: _absolute_ratio(found, tail)}
    parts = _components(found, jackknife_errors(scores), tail)
    n, m = scores.shape
    return Generalisability(
        measure=measure,
        topics=n,
        systems=m,
        components=parts,
        squares=found,
        confidence=confidence,
        dropped=dropped,
        ratios=ratios,
    )


def _estimates(found: Squares) -> tuple[Any, Any, Any]:
    """σ_s², σ_t² and σ_e² as the mean squares give them, negative ones too."""
    system = (found.between_systems - found.residual) / found.topics  # Brennan 2001, random p × i
    topic = (found.between_topics - found.residual) / found.systems
    return system, topic, found.residual


def _positive(found: Squares) -> tuple[float, float, float]:
    system, topic, residual = (max(float(each), 0.0) for each in _estimates(found))
    return system, topic, residual


def _degrees(found: Squares) -> tuple[int, int, int]:
    n, m = found.topics, found.systems
    return m - 1, n - 1, (m - 1) * (n - 1)


def _components(found: Squares, errors: Array, tail: float) -> tuple[Component, ...]:
    from cranfield.stats.tails import t_critical

    values, estimates = _positive(found), [float(each) for each in _estimates(found)]
    reach = float(t_critical(tail, found.topics * found.systems - 1)) * errors
    total = sum(values) or 1.0
    return tuple(
        Component(
            source=source,
            variance=value,
            share=value / total,
            mean_square=float(square),
            df=df,
            lower=estimate - wide,
            upper=estimate + wide,
            estimate=estimate,
        )
        for source, value, estimate, square, df, wide in zip(
            SOURCES,
            values,
            estimates,
            (found.between_systems, found.between_topics, found.residual),
            _degrees(found),
            reach.tolist(),
            strict=True,
        )
    )


def _divide(above: float, below: float) -> float:
    """A ratio of variances; infinite where there is no error at all, 0 where nothing varies."""
    if below > 0:
        return above / below
    return float("inf") if above > 0 else 0.0


def _relative_ratio(found: Squares, tail: float) -> Ratio:
    """σ_s² / σ_e²: F over its critical value is what the ratio can be at either end (Feldt 1965)."""
    system, _, residual = _positive(found)
    df_system, _, df_residual = _degrees(found)
    f = _divide(float(found.between_systems), float(found.residual))
    low, high = ((f / _f_point(each, df_system, df_residual) - 1) / found.topics for each in (tail, 1 - tail))
    return Ratio(_divide(system, residual), max(low, 0.0), max(high, 0.0))


def _absolute_ratio(found: Squares, tail: float) -> Ratio:
    """σ_s² / (σ_t² + σ_e²), with the limits of Arteaga, Jeyaratnam and Franklin 1982."""
    system, topic, residual = _positive(found)
    low, high = (_absolute_limit(found, each) for each in (tail, 1 - tail))
    return Ratio(_divide(system, topic + residual), max(low, 0.0), max(high, 0.0))


def _absolute_limit(found: Squares, tail: float) -> float:
    df_system, df_topic, df_residual = _degrees(found)
    s, t, e = float(found.between_systems), float(found.between_topics), float(found.residual)
    to_residual = _f_point(tail, df_system, df_residual)
    to_topic = _f_point(tail, df_system, df_topic)
    to_known = _f_point(tail, df_system, np.inf)
    above = s * s - to_known * s * e + (to_known - to_residual) * to_residual * e * e
    below = df_system * to_known * s * e + to_topic * s * t
    return found.systems / found.topics * _divide(above, below)


def _f_point(tail: float, df1: float, df2: float) -> float:
    """The F that is exceeded with probability ``tail``; with df2 infinite, χ² over its degrees of freedom."""
    from scipy import special

    from cranfield.stats.tails import f_critical

    return float(special.chdtri(df1, tail) / df1) if np.isinf(df2) else float(f_critical(tail, df1, df2))


def jackknife_errors(scores: Array) -> Array:
    """Standard errors of σ_s², σ_t², σ_e²: a topic, a system, and both left out in turn (Brennan 2001 ch. 6).

    Every table without topic i and system j has its sums of squares from those of the whole, so that all of them
    together cost no more than a few tables; and no more memory than a block of topics.
    """
    n, m = scores.shape
    if min(n, m) < 3:
        return np.full(3, np.nan)
    margins = _Margins.of(scores)
    found = block_squares(n, m, margins.pseudo_values)
    system, topic, residual = _estimates(found)
    return np.asarray(np.sqrt(np.maximum(system / m + topic / n + residual / (n * m), 0.0)))


@dataclass(frozen=True, eq=False)
class _Margins:
    """Sums of a centred table, from which those of the tables without a topic, a system or both follow."""

    scores: Array
    centre: float
    columns: Array  # sums of the systems
    squared: Array  # sums of their squares
    by_column: Array  # Σ over topics of the squared sum of all other systems
    total_by_row: float  # Σ over topics of the squared sum of all systems

    @classmethod
    def of(cls, scores: Array) -> _Margins:
        n, m = scores.shape
        centre = float(scores.mean())
        columns, squared, by_column, total_by_row = np.zeros(m), np.zeros(m), np.zeros(m), 0.0
        for first, last in slices(n, 1 + scores.size // _BLOCK):
            x = scores[first:last] - centre
            sums = x.sum(axis=1)
            columns += x.sum(axis=0)
            squared += np.square(x).sum(axis=0)
            by_column += np.square(sums[:, np.newaxis] - x).sum(axis=0)
            total_by_row += float(np.square(sums).sum())
        return cls(scores, centre, columns, squared, by_column, total_by_row)

    def pseudo_values(self, block: slice) -> Array:
        """The pseudo-values of the three components, of some topics: components × topics × systems."""
        n, m = self.scores.shape
        x = self.scores[block] - self.centre
        rows, in_row = x.sum(axis=1, keepdims=True), np.square(x).sum(axis=1, keepdims=True)
        others = np.square(self.columns - x)  # of each system the squared sum of all other topics
        columns, squared = self.columns, self.squared
        total, all_squared = columns.sum(), squared.sum()
        whole = _from_sums(n, m, total, all_squared, self.total_by_row, np.square(columns).sum())
        topic = _from_sums(
            n - 1,
            m,
            total - rows,
            all_squared - in_row,
            self.total_by_row - np.square(rows),
            others.sum(axis=1, keepdims=True),
        )
        system = _from_sums(
            n, m - 1, total - columns, all_squared - squared, self.by_column, np.square(columns).sum() - columns**2
        )
        both = _from_sums(
            n - 1,
            m - 1,
            total - rows - columns + x,
            all_squared - in_row - squared + np.square(x),
            self.by_column - np.square(rows - x),
            others.sum(axis=1, keepdims=True) - others,
        )
        return np.asarray(
            n * m * whole[:, np.newaxis, np.newaxis]
            - (n - 1) * m * topic
            - n * (m - 1) * system[:, np.newaxis]
            + (n - 1) * (m - 1) * both
        )


def _from_sums(n: int, m: int, total: Any, squared: Any, topics_squared: Any, systems_squared: Any) -> Array:
    """Variance components from the sums of a table's scores, of their squares, and of squared margins."""
    middle = total**2 / (n * m)
    ss_topic, ss_system = topics_squared / m - middle, systems_squared / n - middle
    ms_topic, ms_system = ss_topic / (n - 1), ss_system / (m - 1)
    residual = (squared - middle - ss_topic - ss_system) / ((n - 1) * (m - 1))
    return np.array([(ms_system - residual) / n, (ms_topic - residual) / m, residual])


# Powers of Eρ², of 1 − Eρ² and of 1 − Φ.  Urbano et al. 2013 Fig. 3
_OF_RELATIVE = {"tau": 2.84729794, "tau_ap": 3.98652984, "power": 4.77902510}
_OF_RELATIVE_ERROR = {"minor_conflicts": 1.53337367, "major_conflicts": 2.62976839, "absolute_sensitivity": 1.54402997}
_OF_ABSOLUTE_ERROR = {"relative_sensitivity": 1.29759126, "rmse": 3.27642726}


@dataclass(frozen=True, kw_only=True)
class Indicators:
    """Average values for collections with these coefficients; single collections can differ much."""

    tau: float
    tau_ap: float
    power: float
    minor_conflicts: float
    major_conflicts: float
    absolute_sensitivity: float
    relative_sensitivity: float
    rmse: float


def indicators(relative: float, absolute: float) -> Indicators:
    """τ, τ_AP, power and conflicts of paired t tests, sensitivities and error that go with Eρ² and Φ.

    >>> found = indicators(0.95, 0.8)
    >>> round(found.tau, 5), round(found.relative_sensitivity, 5)
    (0.86412, 0.12389)
    """
    for value in (relative, absolute):
        if not 0 <= value <= 1:
            raise RequestError(f"no coefficient is {value:g}", fix="Eρ² and Φ lie between 0 and 1.")
    return Indicators(
        **{name: relative**power for name, power in _OF_RELATIVE.items()},
        **{name: (1 - relative) ** power for name, power in _OF_RELATIVE_ERROR.items()},
        **{name: (1 - absolute) ** power for name, power in _OF_ABSOLUTE_ERROR.items()},
    )
