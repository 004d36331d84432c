"""Plans: the results of every method that applies to a request, and the tables of Dinçer (2013) for all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, RequestError
from cranfield.methods.design.formulas import Method
from cranfield.methods.design.request import (
    MOST_CELLS,
    ONE_SYSTEM,
    TYPICAL_CORRELATION,
    Request,
    broadcast,
    chosen_methods,
)
from cranfield.methods.design.sample_size import Size, size
from cranfield.methods.variance.components import covariances, squares
from cranfield.scores import ScoreTable, check_balance
from cranfield.stats.tails import normal_critical
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.methods.variance import VarianceEstimate, Variances


FEW_TOPICS, FEWEST_TOPICS = 10, 5  # topics of a pilot: below the first a warning, below the second an error
_QUANTILES = (np.arange(200) + 0.5) / 200


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


def plan(request: Request) -> list[Size]:
    """Return one size per method that applies, the default first."""
    return [
        _sized(request, goal, method, _spread(request, goal, method))
        for goal, methods in chosen_methods(request).items()
        for method in methods
    ]


def cautions_of(request: Request) -> tuple[Caution, ...]:
    """Return the warnings about a request without pilot scores."""
    return (correlation_caution(),) if request.variance is not None and _is_open(request) else ()


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
    paired = [goal for goal in request.goals if goal in ("width", "equivalence", "non_inferiority")]
    if request.paired and request.difference is not None:
        paired.append("difference")
    return request.correlation is None and request.sd is None and bool(paired)


def plan_from_pilot(request: Request, variances: Variances) -> list[PilotSize]:
    """Return sizes with the variance of a pilot, by default for its number of systems.

    The residual variance is used for systems that share topics, the two-way estimate for a range by one-way ANOVA, the
    within-system estimate for a mean, and the 95th percentile of the pairs for an unusually variable pair.
    """
    if request.variance is not None or request.sd is not None or request.correlation is not None:
        raise RequestError(
            "the variance comes from the scores", fix="Leave out `variance`, `sd` and `correlation`, or the scores."
        )
    if request.effect_size is not None:
        raise RequestError(
            "an effect size is a difference over its sd, and needs no scores",
            fix="Leave out the scores, or ask for `difference`.",
        )
    if request.assurance is not None and request.power is not None:
        raise RequestError("`assurance` takes the place of `power`", fix="Give one of them.")
    found = []
    for measure in dict.fromkeys(estimate.measure for estimate in variances.estimates):
        first = next(estimate for estimate in variances.estimates if estimate.measure == measure)
        for goal, methods in chosen_methods(request, systems=first.systems).items():
            for method, way in _estimates(goal, methods, first.systems):
                found.append(_pilot_size(request, goal, method, variances.get(way, measure=measure)))
    return found


def _estimates(goal: str, methods: list[Method], systems: int) -> list[tuple[Method, str]]:
    """Return each method with the estimates of the variance that it uses."""
    found = []
    for method in methods:
        if goal == "min_range":
            ways = ["residual" if method.name == "blocked" else "two-way"]
        elif goal == "sensitivity":
            ways = ["within", *(["residual"] if systems > 1 else [])]
        elif method.name == "unpaired":
            ways = ["within"]
        else:
            # An unusually variable pair matters where each pair has its own standard error.
            own = systems > 2 and method.name not in ("tukey", "dunnett")
            ways = ["residual", *(["percentile"] if own else [])]
        found += [(method, way) for way in ways]
    return found


def _spread(request: Request, goal: str, method: Method) -> dict[str, Any]:
    """Return the variation that a method uses, and its source."""
    if goal == "effect_size" or (
        goal in ("equivalence", "non_inferiority") and request.sd is None and request.variance is None
    ):
        return {"sd": [1.0]}
    if "variance" in method.inputs:
        known = {"variance": request.values("variance")}
        return known if request.correlation is None else known | {"correlation": request.correlation}
    if request.sd is not None:
        return {"sd": request.sd}
    if method.name in ONE_SYSTEM:
        return {"variance": request.values("variance")}
    if request.variance is None:
        raise RequestError(
            "`variance` or `sd` is missing", fix="Add `sd`, or `variance` with `correlation`, or give pilot scores."
        )
    return {"variance": request.variance, "correlation": request.correlation or [0.0, TYPICAL_CORRELATION]}


def _sized(request: Request, goal: str, method: Method, spread: dict[str, Any]) -> Size:
    axes = _axes(request, goal, method, spread)
    cells = int(np.prod([len(values) for values in axes.values()]))
    if cells > MOST_CELLS:
        raise RequestError(f"the grid has {cells:,} cells", fix=f"Ask for at most {MOST_CELLS:,} at a time.")
    grid = dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True))
    return size(method, limit=request.limit, **_derived(goal, method, grid))


def _axes(request: Request, goal: str, method: Method, spread: dict[str, Any]) -> dict[str, Array]:
    """Return the lists of values whose combinations are the grid, in the order of the inputs of the method."""
    axes: dict[str, Any] = {}
    for name in method.inputs:
        if name in ("sd", "variance"):
            axes |= spread
        elif name == "difference" and goal == "effect_size":
            axes["effect_size"] = request.values("effect_size")
        elif name == "power" and request.assurance is not None:
            axes["power"] = [request.assurance]
        else:
            axes[name] = request.values(name)
    return {name: np.asarray(values, float) for name, values in axes.items()}


def _derived(goal: str, method: Method, grid: dict[str, Array]) -> dict[str, Array]:
    """Compute the inputs of the method from an effect size, or from a variance and a correlation."""
    found = dict(grid)
    broadcast({name: values for name, values in found.items() if name in ("variance", "correlation")})
    if goal == "effect_size":
        found["difference"] = found["effect_size"]
    if method.name == "blocked" and "correlation" in found:
        found["within_variance"] = found["variance"]
        found["variance"] = found["variance"] * (1 - found["correlation"])  # the residual variance
    elif "sd" in method.inputs and "sd" not in found:
        # σ_t² = σ² + σ² − 2ρσ², unless it is one system's
        shared = 2 * (1 - found["correlation"]) if "correlation" in found else 1.0
        found["sd"] = np.sqrt(found["variance"] * shared)
    return found


def check_pilot(estimate: VarianceEstimate, *, insisted: bool) -> None:
    """Raise RequestError for a pilot with too few topics to estimate a variance."""
    if estimate.topics < FEWEST_TOPICS and not insisted:
        raise RequestError(
            f"{estimate.topics} topics are too few to estimate a variance for planning",
            fix=f"Use a pilot of {FEW_TOPICS} topics or more; `small_pilot=True` overrides this, and gives a range.",
        )


def pilot_caution(estimate: VarianceEstimate) -> tuple[Caution, ...]:
    """Return the warning about a small pilot."""
    return small_pilot_caution(estimate.topics, estimate.measure)


def small_pilot_caution(topics: int, measure: str) -> tuple[Caution, ...]:
    """Return the warning about a variance from so few topics."""
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
    check_pilot(estimate, insisted=request.small_pilot)
    if request.systems is None and "systems" in method.inputs:
        request = replace(request, systems=[float(estimate.systems)])
    used = method if request.assurance is None else _assured(method, estimate)
    at, lower, upper = (
        _sized(request, goal, way, _as_spread(method, estimate, variance))
        for way, variance in (
            (used, estimate.variance),
            (method, max(estimate.lower, 1e-9 * estimate.variance)),
            (method, estimate.upper),
        )
    )
    if used is not method:
        at = _as_power(at, replace(method, claim=used.claim))
    return PilotSize(
        measure=estimate.measure,
        estimate=estimate,
        size=at,
        lower=lower,
        upper=upper,
        assurance=_assurance(at, estimate),
    )


def _as_spread(method: Method, estimate: VarianceEstimate, variance: float) -> dict[str, Any]:
    if "variance" in method.inputs:
        return {"variance": [variance]}
    one_system = estimate.method == "within"
    return {"sd": [float(np.sqrt(variance if one_system else 2 * variance))]}


def _expected_power(method: Method, estimate: VarianceEstimate, topics: Array, inputs: dict[str, Array]) -> Array:
    """E[power] over the distribution of the true variance; never more than the power at the estimate."""
    ratio = np.asarray(estimate.quantiles(_QUANTILES)) / estimate.variance
    cells = {name: values[:, np.newaxis] for name, values in inputs.items()}
    spread = "variance" if "variance" in method.inputs else "sd"
    cells[spread] = cells[spread] * (ratio if spread == "variance" else np.sqrt(ratio))
    powers = method.value(topics[:, np.newaxis], cells)
    return np.asarray(np.fmin(np.nan_to_num(powers).mean(axis=1), method.value(topics, inputs)))


def _assured(method: Method, estimate: VarianceEstimate) -> Method:
    """Return the method for the expected power instead of the power at the estimate."""

    def value(topics: Array, inputs: Any) -> Array:
        return _expected_power(method, estimate, topics, dict(inputs))

    return replace(method, value=value, claim=method.claim.replace("with power", "with expected power"))


def _as_power(found: Size, method: Method) -> Size:
    """Return a size for an expected power, with the power of its topics at the estimate."""
    cells = {name: values.ravel() for name, values in found.inputs.items()}
    topics = found.topics.ravel().astype(float)
    achieved = method.value(topics, cells)
    below = np.where(topics > method.fewest, method.value(np.maximum(topics - 1, method.fewest), cells), np.nan)
    shape = found.topics.shape
    return replace(found, method=method, achieved=achieved.reshape(shape), below=below.reshape(shape))


def _assurance(at: Size, estimate: VarianceEstimate) -> Array:
    if not at.method.is_power:
        return np.full(at.topics.shape, np.nan)
    cells = {name: values.ravel() for name, values in at.inputs.items()}
    return _expected_power(at.method, estimate, at.topics.ravel().astype(float), cells).reshape(at.topics.shape)


EDGES = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)


@dataclass(frozen=True, eq=False)
class Bin:
    """The pairs whose means differ by at least ``low`` and less than ``high``."""

    low: float
    high: float
    pairs: int
    difference: float
    topics_paired: float
    topics_independent: float
    topics_mse: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PairSizes:
    """Topics that each pair requires for its own difference to be significant at α, best system first.

    Systems are rows and columns; ``difference[i, j]`` is the mean of i minus that of j. ``topics`` uses the sd of the
    paired differences, ``topics_independent`` the pooled sd of the two systems. ``significant`` is the one-tailed
    paired t test at α.
    """

    measure: str
    systems: tuple[str, ...]
    means: Array
    difference: Array
    topics: Array
    topics_independent: Array
    p_value: Array
    significant: Array
    mse: float
    alpha: float
    n: int

    def bins(self, edges: tuple[float, ...] = EDGES) -> list[Bin]:
        """Dinçer (2013), Table 4: averages over pairs by the size of their difference."""
        first, second = np.triu_indices(len(self.systems), k=1)
        sizes = np.abs(self.difference[first, second])
        bounds = [*edges, np.inf]
        z = float(normal_critical(self.alpha / 2))
        found = []
        for low, high in pairwise(bounds):
            inside = (sizes >= low) & (sizes < high)
            reach = high if np.isfinite(high) else low + (edges[1] - edges[0])
            found.append(
                Bin(
                    low,
                    high,
                    int(inside.sum()),
                    _mean(sizes[inside]),
                    _mean(self.topics[first, second][inside]),
                    _mean(self.topics_independent[first, second][inside]),
                    self.mse * (z / reach) ** 2,  # D13 §3, the D-study
                )
            )
        return found

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per pair."""
        first, second = np.triu_indices(len(self.systems), k=1)
        return [
            {
                "system_a": self.systems[a],
                "system_b": self.systems[b],
                "difference": float(self.difference[a, b]),
                "topics": float(self.topics[a, b]),
                "topics_independent": float(self.topics_independent[a, b]),
                "p_value": float(self.p_value[a, b]),
                "significant": bool(self.significant[a, b]),
            }
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ]


def _mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def pair_sizes(table: ScoreTable, *, measure: str | None = None, alpha: float = 0.05) -> PairSizes:
    """Apply Dinçer (2013), Inequality 2, to every pair, with δ its own difference, one-sided as in Tables 4 and 5.

    The numbers of topics are real-valued solutions; they are infinite for a pair with equal means.
    """
    broadcast({"alpha": alpha})
    scores = table.of(measure)
    if scores.shape[1] < 2 or scores.shape[0] < 2:
        raise InputError("pairs need two systems and two topics or more", fix="Give a larger score table.")
    check_balance(table, measure)
    order = np.argsort(-scores.mean(axis=0), kind="stable")
    scores, n = scores[:, order], len(scores)
    means, cov = scores.mean(axis=0), covariances(scores)
    own = np.diag(cov)
    paired = np.maximum(own[:, None] + own[None, :] - 2 * cov, 0.0)  # s_d²
    pooled = (own[:, None] + own[None, :]) / 2  # s_p²
    difference = means[:, None] - means[None, :]
    z = float(normal_critical(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        topics = paired * np.square(z / difference)  # D13 Inequality 2
        independent = pooled * np.square(z / difference)
        t = np.abs(difference) / np.sqrt(paired / n)
    p_value = np.where(paired > 0, special.stdtr(n - 1, -np.nan_to_num(t)), np.where(difference == 0, 0.5, 0.0))
    return PairSizes(
        measure=measure or table.measures[0],
        systems=tuple(table.systems[at] for at in order.tolist()),
        means=means,
        difference=difference,
        topics=topics,
        topics_independent=independent,
        p_value=p_value,
        significant=p_value <= alpha,
        mse=float(squares(scores).within_systems),
        alpha=alpha,
        n=n,
    )
