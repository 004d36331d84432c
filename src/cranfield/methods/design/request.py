"""A request for numbers of topics: its goals, the methods that apply, and parameters without effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design.formulas import METHODS, MOST_TOPICS, Design, Method
from cranfield.methods.design.goals import SIZED_GOALS, Goal
from cranfield.methods.design.inputs import MOST_CELLS, broadcast
from cranfield.methods.design.solver import Size, size
from cranfield.methods.design.spreads import Estimated, Sd
from cranfield.methods.names import PLANNED_TEST_TITLES, fix_for_test
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Array

Values = Sequence[float]
DEFAULTS: dict[str, Values] = {"alpha": (0.05,), "power": (0.8,), "true_difference": (0.0,)}
TYPICAL_CORRELATION = 0.66
"""Correlation of the AP of two systems over the topics of TREC-8: residual variance .0136, within systems .0401."""
SHARED_RANGE, SEPARATE_RANGES = "blocked", ("exact", "sakai")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a design. Lists of several values request every combination.

    ``variance`` is σ² of one system's scores and ``correlation`` that of two systems' scores over topics; ``sd`` and
    ``difference`` speak of paired differences, and ``effect_size`` is the difference over that sd (d_z). ``test`` is
    the one that will be run: on all pairs of ``systems``, or ``t`` on a pair named in advance. ``estimate`` is the
    estimate of the variance of a pilot. None means not given; a parameter that no method uses is an error.
    """

    systems: Values | None = None
    min_range: Values | None = None
    difference: Values | None = None
    effect_size: Values | None = None
    equivalence: Values | None = None
    non_inferiority: Values | None = None
    true_difference: Values | None = None
    width: Values | None = None
    probability: Values | None = None
    sensitivity: Values | None = None
    variance: Values | None = None
    correlation: Values | None = None
    sd: Values | None = None
    alpha: Values | None = None
    power: Values | None = None
    assurance: float | None = None
    one_sided: bool = False
    unpaired: bool = False
    test: str | None = None
    method: str | None = None
    estimate: str | None = None
    small_pilot: bool = False
    limit: int = MOST_TOPICS

    @property
    def goals(self) -> list[str]:
        """The goals that were given."""
        return [name for name in SIZED_GOALS if getattr(self, name) is not None]

    @property
    def sides(self) -> int:
        return 1 if self.one_sided else 2

    @property
    def given(self) -> list[str]:
        """The parameters that were given, by name."""
        return [name for name, value in vars(self).items() if value not in (None, False) and name != "limit"]

    def values(self, name: str) -> Values:
        """Return the value that was given, or the default; RequestError if there is none."""
        if name == "power" and self.assurance is not None:
            return (self.assurance,)
        value: Values | None = getattr(self, name)
        value = DEFAULTS.get(name) if value is None else value
        if value is None:
            raise RequestError(f"`{name}` is missing", fix=f"Add `{name}`, or give pilot scores to estimate it from.")
        return value


# --- the methods that apply


def chosen_methods(request: Request, *, systems: int | None = None) -> dict[str, list[Method]]:
    """The methods of each goal, the default first; RequestError if none applies, or if a parameter has no effect.

    ``systems`` is the number of systems of a pilot.
    """
    every = {goal: _methods(request, goal, systems) for goal in request.goals}
    if request.method is not None and every:
        named = {goal: [each for each in methods if each.name == request.method] for goal, methods in every.items()}
        if not any(named.values()):
            raise _no_such_method(request, systems)
        every = named
    _check_effect(request, every)
    return {goal: methods for goal, methods in every.items() if methods}


def _methods(request: Request, goal: str, systems: int | None) -> list[Method]:
    if goal == "min_range":
        names = _ranges(request, is_pilot=systems is not None)
    elif goal in ("difference", "effect_size"):
        names = _pairs(request, systems)
    elif goal == "width":
        names = ["interval" if request.probability is None else "interval-probability"]
    else:
        names = [*METHODS[goal]]
    methods = [METHODS[goal][name] for name in names]
    if request.systems is None and systems is None and "systems" in methods[0].uses:
        what = "a range" if goal == "min_range" else f"the test {names[0]}"
        raise RequestError(f"{what} needs the number of systems", fix="Add `systems=10`, for instance.")
    is_named_one_sided = request.one_sided and goal in ("difference", "effect_size")
    return [replace(each, title=f"{each.title}, one-sided") for each in methods] if is_named_one_sided else methods


def _ranges(request: Request, *, is_pilot: bool) -> list[str]:
    """The two-way ANOVA if the residual variance is known, that of topics not shared otherwise."""
    if is_pilot and request.estimate is None:
        return [SHARED_RANGE, *SEPARATE_RANGES]
    shared = request.correlation is not None or request.method == SHARED_RANGE  # by name, with a residual variance
    return [SHARED_RANGE] if shared or is_shared(request.estimate) else [*SEPARATE_RANGES]


def is_shared(estimate: str | None) -> bool:
    """Whether an estimate of the variance is one for systems that share topics."""
    return estimate in ("residual", "percentile")


def _pairs(request: Request, systems: int | None) -> list[str]:
    """The test that was named; by default Holm's, Tukey's test, and t for a pair named in advance."""
    test = request.test
    if test is not None and test not in PLANNED_TEST_TITLES:
        raise RequestError(f"there is no test «{test}»", fix=fix_for_test(test, PLANNED_TEST_TITLES))
    if request.unpaired:
        if test not in (None, "t"):
            raise NoEffectError(
                f"the test {test} is for systems that share topics",
                parameter="unpaired",
                fix='Leave out `unpaired`, or use `test="t"`.',
            )
        return ["unpaired"]
    is_pair = (
        request.method in ("t", "normal", "unpaired")
        or request.one_sided
        or (request.systems is None and (systems or 2) <= 2)
    )
    if test == "t" or (test is None and is_pair):
        return ["t", "normal"]
    return [ALL_PAIRS_TEST, "tukey", "t"] if test is None else [test]


# --- parameters without effect


_GOES_WITH = {
    "systems": "`min_range`, or `difference` with a test of all pairs (`test`: max-t, tukey, holm or dunnett)",
    "test": "`difference` or `effect_size`",
    "sd": "`difference`, `width`, `sensitivity`, `equivalence` or `non_inferiority`",
    "variance": "`min_range`, `difference`, `width`, `sensitivity`, `equivalence` or `non_inferiority`",
    "correlation": "`variance` and a goal on shared topics (not with `unpaired` or `sensitivity`, nor with the "
    "`method` exact or sakai)",
    "power": "`min_range`, `difference`, `effect_size`, `equivalence` or `non_inferiority`, without `assurance`",
    "assurance": "a goal that has a power",
    "one_sided": '`sensitivity`, or a pair named in advance (`test="t"`)',
    "unpaired": "`difference` or `effect_size` of a pair named in advance",
}


def _check_effect(request: Request, chosen: Mapping[str, list[Method]]) -> None:
    """Raise RequestError for a parameter without effect on the methods chosen for each goal."""
    if not chosen:
        raise RequestError(
            "there is no goal",
            fix="Name one: `difference`, `effect_size`, `min_range` (with `systems`), `width`, `sensitivity`, "
            "`equivalence` or `non_inferiority`.",
        )
    if request.sd is not None and "sensitivity" in chosen and len(chosen) > 1:
        raise RequestError(
            "`sd` is that of one system's scores for `sensitivity`, and that of paired differences for another goal",
            fix="Ask for one at a time, or give `variance` with `correlation`.",
        )
    for name in request.given:
        if not any(_has_effect(name, goal, methods) for goal, methods in chosen.items()):
            goals = ", ".join(f"`{goal}`" for goal in chosen)
            by = f" by {request.test or request.method}" if request.test or request.method else ""
            fix = f"`{name}` goes with {_GOES_WITH[name]}." if name in _GOES_WITH else "Leave it out."
            raise NoEffectError(f"`{name}` has no effect on {goals}{by}", parameter=name, fix=fix)


def _has_effect(name: str, goal: str, methods: Sequence[Method]) -> bool:
    if name in (goal, "method", "small_pilot", "estimate"):  # the last two go with scores, whatever the goal
        return True
    if goal == "effect_size" and name in ("sd", "variance", "correlation"):
        return False
    word = "power" if name == "assurance" else name
    some = all if name in ("one_sided", "unpaired", "correlation", "assurance") else any
    return bool(methods) and some(word in method.uses for method in methods)


def _no_such_method(request: Request, systems: int | None) -> RequestError:
    names: dict[str, None] = {}
    for test in (None, "t") if request.test is None else (request.test,):
        anyway = replace(request, method=None, test=test)
        names |= dict.fromkeys(each.name for goal in request.goals for each in _methods(anyway, goal, systems))
    what = f"method «{request.method}» does not apply to this goal"
    return NoEffectError(what, parameter="method", fix=f"These do: {', '.join(names)}.")


# --- the grid of a request


def sized(request: Request, goal: str, method: Method, spread: Mapping[str, Values], df: float | None = None) -> Size:
    """The topics of every combination of the values of a request.

    ``spread`` has the sd, or the variance with the correlation. With ``df``, the degrees of freedom of an estimated
    variance, the power is the expected one.
    """
    names = ("systems", goal, "true_difference", *spread, "alpha", method.achieves)
    used = {goal, *method.uses, *spread}
    axes = {
        name: np.asarray(spread[name] if name in spread else request.values(name), float)
        for name in names
        if name in used
    }
    cells = int(np.prod([len(values) for values in axes.values()]))
    if cells > MOST_CELLS:
        raise RequestError(f"the grid has {cells:,} cells", fix=f"Ask for at most {MOST_CELLS:,} at a time.")
    grid = _with_sd(goal, dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True)))
    return size(*design_of(goal, method, grid, request.sides, df), limit=request.limit, inputs=grid)


def design_of(
    goal: str, method: Method, grid: Mapping[str, Array], sides: int = 2, df: float | None = None
) -> tuple[Design, Goal]:
    """The designs and the goal of a grid of inputs by name."""
    sd = np.sqrt(2 * grid["variance"]) if goal == "min_range" else grid["sd"]
    design = Design(
        systems=grid.get("systems", 2),
        test=method.name,
        alpha=grid["alpha"],
        sides=sides if "one_sided" in method.uses else 2,
        spread=Sd(sd=sd) if df is None else Estimated(sd=sd, df=df),
    )
    least = grid.get("power", grid.get("probability"))
    return design, Goal(goal, grid[goal], least, grid.get("true_difference", 0.0))


def _with_sd(goal: str, grid: dict[str, Array]) -> dict[str, Array]:
    """The inputs with those that are computed: from an effect size, or from a variance and a correlation."""
    broadcast({name: values for name, values in grid.items() if name in ("variance", "correlation")})
    if goal == "effect_size":
        return grid | {"difference": grid["effect_size"]}
    if goal == "min_range":
        if "correlation" not in grid:
            return grid
        residual = grid["variance"] * (1 - grid["correlation"])
        return grid | {"within_variance": grid["variance"], "variance": residual}
    if "sd" in grid:
        return grid
    # σ_t² = σ² + σ² − 2ρσ², unless it is one system's
    shared = 2 * (1 - grid["correlation"]) if "correlation" in grid else 1.0
    return grid | {"sd": np.sqrt(grid["variance"] * shared)}
