"""Plans: the topics of every method that applies to a request, from numbers or from the variance of a pilot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.design.formulas import SEPARATE, Method
from cranfield.methods.design.goals import Scale, check_scale, default_difference, goal_in_words, scale_of
from cranfield.methods.design.request import TYPICAL_CORRELATION, Request, Values, chosen_methods, is_shared, sized
from cranfield.methods.design.solver import Size
from cranfield.methods.design.spreads import Estimated, Sd
from cranfield.types import Array

if TYPE_CHECKING:  # nothing of scores is imported for a plan without them
    from cranfield.collection import Collection
    from cranfield.methods.variance import VarianceEstimate, Variances
    from cranfield.scores import ScoreTable

FEW_TOPICS, FEWEST_TOPICS = 10, 5  # topics of a pilot: below the first a warning, below the second an error


@dataclass(frozen=True, eq=False)
class PilotSize:
    """A number of topics computed from a pilot variance, with the uncertainty of the estimate.

    ``lower`` and ``upper`` are the sizes at the ends of the interval of the variance; ``assurance`` is the expected
    power with ``size.topics``: the average over the distribution of the true variance, never more than the power at
    the estimate (nan if the method has no power).
    """

    measure: str
    estimate: VarianceEstimate
    size: Size
    lower: Size
    upper: Size
    assurance: Array


# --- without scores


def plan(request: Request) -> list[Size]:
    """Return one size per method that applies, the default first."""
    request = with_default_goal(request)
    return [
        sized(request, goal, method, _spread(request, goal, method))
        for goal, methods in chosen_methods(request).items()
        for method in methods
    ]


def with_default_goal(request: Request, scales: Mapping[str, Scale] | None = None) -> Request:
    """The request with the default goal where it has none: that of each scale.

    Without a scale it is for scores from 0 to 1, and only where a spread was given that these can have.
    """
    if request.goals:
        return request
    spreads = [*(request.sd or ()), *(request.variance or ())]
    if scales is None and not (spreads and max(spreads) < 1):
        return request
    differences = {default_difference(scale) for scale in (scales or {"": Scale()}).values()}
    return replace(request, difference=tuple(sorted(differences)))


def cautions_of(request: Request) -> tuple[Caution, ...]:
    """Return the warnings about a request without pilot scores."""
    sds = [*(request.sd or ()), *(float(np.sqrt(2 * each)) for each in request.variance or ())]
    odd = [each for goal in request.goals for each in check_scale(goal, getattr(request, goal), sds, None)]
    return (*odd, *((correlation_caution(),) if request.variance is not None and _is_open(request) else ()))


def correlation_caution() -> Caution:
    """Return the warning about a variance without a correlation."""
    return Caution(
        "correlation-unknown",
        "a variance of one system's scores does not say how much a difference varies on shared topics: the answer is "
        f"given for uncorrelated scores (ρ = 0, as if systems shared no topics) and for ρ = {TYPICAL_CORRELATION:g} "
        "(AP on TREC-8)",
        "Give `correlation`, the sd of paired differences (`sd`), or pilot scores.",
    )


def _is_open(request: Request) -> bool:
    paired = {"width", "equivalence", "non_inferiority"} & set(request.goals)
    return request.correlation is None and bool(paired or (request.difference and not request.unpaired))


def _spread(request: Request, goal: str, method: Method) -> dict[str, Values]:
    """Return the variation that a method uses, and its source."""
    if request.variance is not None and request.sd is not None:
        raise RequestError("`sd` and `variance` say the same thing twice", fix="Give one of them.")
    unknown = request.sd is None and request.variance is None
    if goal == "effect_size" or (goal in ("equivalence", "non_inferiority") and unknown):
        return {"sd": [1.0]}
    if goal == "min_range":
        known = {"variance": request.values("variance")}
        return known if request.correlation is None else known | {"correlation": request.correlation}
    if request.sd is not None:
        return {"sd": request.sd}
    if method.design == SEPARATE or goal == "sensitivity":
        return {"variance": request.values("variance")}
    if request.variance is None:
        raise RequestError(
            "`variance` or `sd` is missing", fix="Add `sd`, or `variance` with `correlation`, or give pilot scores."
        )
    return {"variance": request.variance, "correlation": request.correlation or [0.0, TYPICAL_CORRELATION]}


# --- with scores


def scales_of(tables: ScoreTable | Mapping[str, ScoreTable]) -> dict[str, Scale]:
    """The scale of every measure: its own limits, or those of its scores."""
    from cranfield.scores.quality import range_of
    from cranfield.scores.stored import fold

    named = tables if isinstance(tables, Mapping) else {"": tables}
    extremes: dict[str, tuple[float, float]] = {}
    for table in named.values():
        for measure in table.measures:
            scores: Any = table.matrix(measure)
            flat = scores if scores.ndim == 2 else scores.reshape(len(scores), -1)
            low, high = fold(_extremes, flat, combine=_wider)
            extremes[measure] = _wider(extremes.get(measure, (low, high)), (low, high))
    return {measure: scale_of(measure, low, high, range_of(measure)) for measure, (low, high) in extremes.items()}


def scales_of_runs(collections: Iterable[Collection], measures: Iterable[str]) -> dict[str, Scale]:
    """The scale of measures of runs: their limits, or where one has none, those of the scores."""
    from cranfield.measures import parse_measures
    from cranfield.scores.evaluation import score_collection
    from cranfield.scores.quality import range_of

    scales = {}
    for measure in map(str, parse_measures(measures)):
        limits = range_of(measure)
        if limits is None or not np.isfinite(limits).all():
            scores = [score_collection(each, measure).of() for each in collections]
            limits = min(float(np.nanmin(each)) for each in scores), max(float(np.nanmax(each)) for each in scores)
        scales[measure] = scale_of(measure, *limits, limits)
    return scales


def _extremes(block: Array, _: int) -> tuple[float, float]:
    return float(np.nanmin(block)), float(np.nanmax(block))


def _wider(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def plan_from_pilot(
    request: Request, variances: Variances, scales: Mapping[str, Scale] | None = None
) -> list[PilotSize]:
    """Return sizes with the variance of a pilot, by default for its number of systems and for the default goal.

    The residual variance is used for systems that share topics, the two-way estimate for a range by one-way ANOVA, the
    within-system estimate for a mean; and for a test with a standard error of each pair's own also the median, the
    mean and the 95th percentile of the sds of pairs. ``scales`` are those of `scales_of`.
    """
    plans = []
    for measure in dict.fromkeys(estimate.measure for estimate in variances.estimates):
        systems = next(each.systems for each in variances.estimates if each.measure == measure)
        scale = (scales or {}).get(measure, Scale())
        own = with_default_goal(request, {measure: scale})
        for goal in own.goals if scales else ():
            check_scale(goal, getattr(own, goal), (), scale)
        for goal, methods in chosen_methods(own, systems=systems).items():
            for method in methods:
                for estimate in _estimates(request.estimate, goal, method, variances, measure, systems):
                    plans.append(_pilot_size(own, goal, method, estimate))
    return plans


def pilot_goal_cautions(request: Request, scales: Mapping[str, Scale]) -> tuple[Caution, ...]:
    """What is said of the default goal where it is not 0.05: on another scale than 0 to 1."""
    if request.goals:
        return ()
    return tuple(
        Caution("default-goal", f"{measure}: {goal_in_words(scale)}", "Name the goal, such as `difference`.")
        for measure, scale in scales.items()
        if scale.span != 1
    )


def _estimates(
    named: str | None, goal: str, method: Method, variances: Variances, measure: str, systems: int
) -> list[VarianceEstimate]:
    """The estimates of the variance that a method takes: the one that was named, or what suits the goal."""
    if named is not None:
        return [variances.get(check_estimate(named, goal, method.name), measure=measure)]
    if goal == "min_range":
        return [variances.get("two-way" if method.design == SEPARATE else "residual", measure=measure)]
    if goal == "sensitivity":
        names = ["within", *(["residual"] if systems > 1 else [])]
        return [variances.get(name, measure=measure) for name in names]
    if method.name == "unpaired":
        return [variances.get("within", measure=measure)]
    usual = [variances.get("residual", measure=measure)]
    if systems < 3 or method.name in ("tukey", "dunnett"):  # a pair has no standard error of its own
        return usual
    pairs = variances.get("percentile", measure=measure)
    typical = [pairs.at_sd(name) for name in ("median", "mean") if np.isfinite(pairs.parts[f"{name}_sd"])]
    return [*usual, *typical, pairs]


def check_estimate(estimate: str, goal: str, method: str = "blocked") -> str:
    """The estimate, where it goes with the goal: a range on shared topics has a residual variance.

    Differences and widths can be planned with any of them; Sakai (2014), §5.4, uses the two-way variance.
    """
    if goal == "min_range" and (method == "blocked") != is_shared(estimate):
        fits = "residual" if method == "blocked" else "two-way, one-way or within"
        other = "exact" if method == "blocked" else "blocked"
        raise RequestError(
            f"method «{method}» does not go with the {estimate} variance", fix=f'Take {fits}, or `method="{other}"`.'
        )
    return estimate


def variance_words(estimate: str, topics: int | None = None) -> str:
    """The variance in words, with the design that it belongs to where topics are not shared.

    >>> variance_words("two-way"), variance_words("residual", 50)
    ('two-way variance, as if systems shared no topics', 'residual variance of 50 topics')
    """
    apart = "" if estimate not in ("within", "one-way", "two-way") else ", as if systems shared no topics"
    return f"{estimate} variance{'' if topics is None else f' of {topics} topics'}{apart}"


def check_pilot(topics: int, *, insisted: bool) -> None:
    """Raise RequestError for a pilot with too few topics to estimate a variance."""
    if topics < FEWEST_TOPICS and not insisted:
        raise RequestError(
            f"{topics} topics are too few to estimate a variance for planning",
            fix=f"Use a pilot of {FEW_TOPICS} topics or more; `small_pilot=True` overrides this, and gives a range.",
        )


def pilot_caution(topics: int, measure: str) -> tuple[Caution, ...]:
    """Return the warning about a variance from a small pilot."""
    if topics >= FEW_TOPICS:
        return ()
    return (
        Caution(
            "small-pilot",
            f"the variance of {measure or 'the scores'} comes from {topics} topics: only a range "
            "for the number of topics can be given",
            f"Use a pilot of {FEW_TOPICS} topics or more.",
        ),
    )


def _pilot_size(request: Request, goal: str, method: Method, estimate: VarianceEstimate) -> PilotSize:
    if not estimate.variance > 0:
        raise RequestError("the scores do not vary, so no number of topics can be computed", fix="Give scores that do.")
    check_pilot(estimate.topics, insisted=request.small_pilot)
    if request.systems is None:
        request = replace(request, systems=[float(estimate.systems)])
    lowest = max(estimate.lower, 1e-9 * estimate.variance)
    spreads = [_pilot_spread(goal, method, estimate, each) for each in (estimate.variance, lowest, estimate.upper)]
    size, lower, upper = (sized(request, goal, method, spread) for spread in spreads)
    if request.assurance is not None:
        size = _at_estimate(sized(request, goal, method, spreads[0], estimate.df))
    return PilotSize(estimate.measure, estimate, size, lower, upper, _assurance(size, estimate.df))


def _pilot_spread(goal: str, method: Method, estimate: VarianceEstimate, variance: float) -> dict[str, Values]:
    if goal == "min_range":
        return {"variance": [variance]}
    one_system = method.name == "unpaired" or (goal == "sensitivity" and estimate.method == "within")
    return {"sd": [float(np.sqrt(variance if one_system else 2 * variance))]}


def _at_estimate(size: Size) -> Size:
    """A size for an expected power, with the power of its topics at the estimate."""
    there = replace(size, design=replace(size.design, spread=Sd(sd=_sds(size))))
    fewest, fewer = size.method.fewest, size.topics - 1
    return replace(
        there,
        method=replace(size.method, is_expected=True),
        achieved=there.with_topics(size.topics),
        below=np.where(fewer >= fewest, there.with_topics(np.maximum(fewer, fewest)), np.nan),
    )


def _assurance(size: Size, df: float) -> Array:
    """The expected power of the topics, where the variance has been estimated."""
    if not size.method.is_power:
        return np.full(size.topics.shape, np.nan)
    spread = Estimated(sd=_sds(size), df=df)
    return replace(size, design=replace(size.design, spread=spread)).with_topics(size.topics)


def _sds(size: Size) -> Array:
    assert isinstance(size.design.spread, Sd)
    return size.design.spread.sds
