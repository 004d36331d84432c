"""A request in the words of the command, answered by every method that applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.design.grid import MOST_CELLS
from cranfield.design.questions import (
    MOST_TOPICS,
    Method,
    difference_method,
    range_method,
    sensitivity_method,
    width_method,
)
from cranfield.design.sizing import Size, size
from cranfield.errors import RequestError
from cranfield.variance import VarianceEstimate, Variances

Array = npt.NDArray[Any]
Values = Sequence[float]


@dataclass(frozen=True)
class Request:
    """What is asked for. Lists of several values ask for every combination.

    ``variance`` is σ² of one system's scores; ``sd`` and ``difference`` speak of paired differences.
    """

    systems: Values | None = None
    min_range: Values | None = None
    difference: Values | None = None
    effect_size: Values | None = None
    width: Values | None = None
    sensitivity: Values | None = None
    variance: Values | None = None
    sd: Values | None = None
    alpha: Values = (0.05,)
    power: Values = (0.8,)
    sides: int = 2
    paired: bool = True
    method: str | None = None
    limit: int = MOST_TOPICS

    @property
    def goals(self) -> list[str]:
        """Which of the goals were named."""
        names = ("min_range", "difference", "effect_size", "width", "sensitivity")
        return [name for name in names if getattr(self, name) is not None]


@dataclass(frozen=True, eq=False)
class PilotSize:
    """A size whose variance came from data: what the interval of the estimate makes of it, and the assurance.

    ``lower`` and ``upper`` are the sizes at the ends of the interval; ``assurance`` is the power to expect with
    ``size.topics``, averaged over what the variance may be (nan where the method has no power).
    """

    measure: str
    estimate: VarianceEstimate
    size: Size
    lower: Size
    upper: Size
    assurance: Array


def plan(request: Request) -> list[Size]:
    """One size for each method that applies, the one to use by default first."""
    sizes = [_sized(request, method, _spread(request)) for method in _methods(request)]
    if not sizes:
        raise _nothing_asked()
    return sizes


def plan_from_pilot(request: Request, variances: Variances) -> list[PilotSize]:
    """The same with the variance estimated: by two-way ANOVA, the residual, or a percentile, as the method needs."""
    if request.variance is not None or request.sd is not None:
        raise RequestError("the variance comes from the scores", fix="Leave out --variance and --sd, or the scores.")
    measures = dict.fromkeys(estimate.measure for estimate in variances.estimates)
    found = []
    for measure in measures:
        for method, way in _pilot_methods(request):
            found.append(_pilot_size(request, method, variances.get(way, measure=measure)))
    if not found:
        raise _nothing_asked()
    return found


def _nothing_asked() -> RequestError:
    return RequestError(
        "there is no goal",
        fix="Name what to find: --min-range (with --systems), --difference, --effect-size, --width or --sensitivity.",
    )


def _methods(request: Request) -> list[Method]:
    methods: list[Method] = []
    for goal in request.goals:
        methods += _goal_methods(request, goal)
    if request.method is None:
        return methods
    chosen = [method for method in methods if method.name == request.method]
    if methods and not chosen:
        names = ", ".join(dict.fromkeys(method.name for method in methods))
        raise RequestError(f"method «{request.method}» does not answer this", fix=f"These do: {names}.")
    return chosen


def _goal_methods(request: Request, goal: str) -> list[Method]:
    if goal == "min_range":
        if request.systems is None:
            raise RequestError("a range needs the number of systems", fix="Add --systems 10, for instance.")
        names = ["exact", "sakai", "blocked"] if request.method == "blocked" else ["exact", "sakai"]
        return [range_method(name) for name in names]
    if goal in ("difference", "effect_size"):
        names = ["t", "normal"] if request.paired else ["unpaired"]
        return [difference_method(name, sides=request.sides) for name in names]
    return [width_method() if goal == "width" else sensitivity_method(sides=request.sides)]


def _spread(request: Request) -> dict[str, Any]:
    """What variation the methods work with: ``variance`` for ranges, ``sd`` for the rest."""
    return {"variance": request.variance, "sd": request.sd}


def _sized(request: Request, method: Method, spread: dict[str, Any]) -> Size:
    axes = {name: _axis(request, method, name, spread) for name in method.inputs}
    cells = int(np.prod([len(values) for values in axes.values()]))
    if cells > MOST_CELLS:
        raise RequestError(f"the grid has {cells:,} cells", fix=f"Ask for at most {MOST_CELLS:,} at a time.")
    grid = np.meshgrid(*axes.values(), indexing="ij")
    return size(method, limit=request.limit, **dict(zip(axes, grid, strict=True)))


def _axis(request: Request, method: Method, name: str, spread: dict[str, Any]) -> Array:
    if name == "variance":
        return np.asarray(_needed(spread["variance"], "--variance"), float)
    if name == "sd":
        return _sd_axis(request, method, spread)
    if name == "difference" and request.effect_size is not None and request.difference is None:
        return np.asarray(request.effect_size, float)
    return np.asarray(_needed(getattr(request, name), f"--{name.replace('_', '-')}"), float)


def _sd_axis(request: Request, method: Method, spread: dict[str, Any]) -> Array:
    if request.effect_size is not None and request.difference is None and method.name in ("t", "normal", "unpaired"):
        return np.array([1.0])
    if spread["sd"] is not None:
        return np.asarray(spread["sd"], float)
    variance = np.asarray(_needed(spread["variance"], "--variance or --sd"), float)
    one_system = method.name in ("unpaired", "clt")
    return np.asarray(np.sqrt(variance if one_system else 2 * variance))  # σ_t² = 2σ² unless it was measured


def _needed(values: Any, flag: str) -> Any:
    if values is None:
        raise RequestError(f"{flag} is missing", fix=f"Add {flag}, or give pilot scores to estimate it from.")
    return values


def _pilot_methods(request: Request) -> list[tuple[Method, str]]:
    """Each method with the estimate it needs; topics are shared, so the paired ones come first."""
    pairs: list[tuple[Method, str]] = []
    for goal in request.goals:
        if goal == "min_range":
            wide = _goal_methods(replace(request, method=None), goal)
            pairs += [(range_method("blocked"), "residual"), *((method, "two-way") for method in wide)]
        elif goal == "sensitivity":
            method = sensitivity_method(sides=request.sides)
            pairs += [(method, "within"), (method, "residual")]
        elif goal == "width" or request.paired:
            for method in _goal_methods(request, goal):
                pairs += [(method, "residual"), (method, "percentile")]
        else:
            pairs += [(method, "within") for method in _goal_methods(request, goal)]
    if request.method is None:
        return pairs
    chosen = [pair for pair in pairs if pair[0].name == request.method]
    if pairs and not chosen:
        names = ", ".join(dict.fromkeys(method.name for method, _ in pairs))
        raise RequestError(f"method «{request.method}» does not answer this", fix=f"These do: {names}.")
    return chosen


def _pilot_size(request: Request, method: Method, estimate: VarianceEstimate) -> PilotSize:
    at = _sized(request, method, _as_spread(estimate, estimate.variance))
    # A small pilot may have resamples that do not vary at all; the fewest topics there are follow from that.
    lower = _sized(request, method, _as_spread(estimate, max(estimate.lower, 1e-9 * estimate.variance)))
    upper = _sized(request, method, _as_spread(estimate, estimate.upper))
    return PilotSize(estimate.measure, estimate, at, lower, upper, _assurance(at, estimate))


def _as_spread(estimate: VarianceEstimate, variance: float) -> dict[str, Any]:
    if variance <= 0:
        raise RequestError("the scores do not vary, so no size follows from them", fix="Give scores that do.")
    one_system = estimate.method == "within"
    return {"variance": [variance], "sd": [float(np.sqrt(variance if one_system else 2 * variance))]}


def _assurance(at: Size, estimate: VarianceEstimate) -> Array:
    """E[power at n] over what the true variance may be, taken at 200 evenly spaced quantiles; no more than at σ̂²."""
    if not at.method.is_power:
        return np.full(at.topics.shape, np.nan)
    variances = estimate.quantiles((np.arange(200) + 0.5) / 200)
    cells = {name: values.ravel()[:, np.newaxis] for name, values in at.inputs.items()}
    spread = "variance" if "variance" in cells else "sd"
    ratio = variances / estimate.variance
    cells[spread] = cells[spread] * (ratio if spread == "variance" else np.sqrt(ratio))
    powers = at.method.value(at.topics.ravel()[:, np.newaxis].astype(float), cells)
    return np.asarray(np.minimum(powers.mean(axis=1).reshape(at.topics.shape), at.achieved))
