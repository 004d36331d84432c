"""Requests for designs: their numbers parsed and validated, the methods that apply, and parameters without effect."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design.formulas import (
    MOST_TOPICS,
    Method,
    difference_method,
    equivalence_method,
    family_method,
    non_inferiority_method,
    range_method,
    sensitivity_method,
    width_method,
)
from cranfield.methods.names import PLANNED_TEST_TITLES, fix_for_test
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Array

MOST_CELLS = 1_000_000


def parse_grid(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[float]:
    """Parse ``0.05``, a list ``0.01,0.05``, a range ``0.02:0.10:0.02`` (ends included), or a mixture.

    A range may have at most ``most`` values.

    >>> parse_grid("0.02:0.06:0.02,0.1")
    [0.02, 0.04, 0.06, 0.1]
    """
    values: list[float] = []
    for piece in text.split(","):
        values += _range(piece.strip(), name, most)
        if len(values) > most:
            raise RequestError(f"`{name}` has more than {most:,} values", fix="Give fewer values.")
    return list(dict.fromkeys(values))


def parse_counts(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[int]:
    """Parse whole numbers from a list or a range.

    >>> parse_counts("2,5:7")
    [2, 5, 6, 7]
    """
    return [whole(value, name) for value in parse_grid(text, name=name, most=most)]


def whole(value: float, name: str) -> int:
    """Parse a count; RequestError for anything else."""
    if value != int(value):
        raise RequestError(f"`{name}` cannot be {value:g}", fix="It takes a whole number.")
    return int(value)


def _range(piece: str, name: str, most: int) -> list[float]:
    parts = piece.split(":")
    try:
        numbers = [Decimal(part) for part in parts]  # decimals, so that 0.02 + 0.02 + 0.02 is 0.06
        if not all(number.is_finite() for number in numbers) or len(parts) not in (1, 2, 3):
            raise InvalidOperation
    except InvalidOperation:
        raise RequestError(
            f"`{name}` cannot be «{piece}»",
            fix="Write a number, a list such as 0.01,0.05, or a range from:to:step such as 10:100:10.",
        ) from None
    if not all(map(_is_usual, numbers)):
        raise RequestError(f"`{name}` cannot be «{piece[:40]}»", fix="Numbers from 1e-100 to 1e100 are taken.")
    if len(numbers) == 1:
        return [float(numbers[0])]
    step = numbers[2] if len(numbers) == 3 else Decimal(1)
    if step <= 0 or numbers[1] < numbers[0]:
        raise RequestError(f"the range «{piece}» is empty", fix="Write from:to:step, with from below to.")
    count = math.floor((numbers[1] - numbers[0]) / step) + 1
    if count > most:
        raise RequestError(f"the range «{piece}» has {count:,} values", fix="Take a larger step.")
    return [float(numbers[0] + step * at) for at in range(count)]


def _is_usual(number: Decimal) -> bool:
    """Whether a number is of moderate size."""
    return not number or abs(number.adjusted()) <= 100


_POSITIVE = {
    "variance": "Variance is the average squared distance from the mean; AP on news has about 0.05.",
    "sd": "A standard deviation is above 0; paired AP differences on news have about 0.15.",
    "min_range": "Equal systems have no range to detect; name the smallest one worth detecting, such as 0.1.",
    "difference": "Equal systems have no difference to detect; name the smallest one worth detecting, such as 0.03.",
    "effect_size": "Equal systems have no effect to detect; 0.2 is small, 0.5 medium.",
    "width": "A width is above 0; 0.1 is a common choice.",
    "equivalence": "A margin is above 0: the largest difference that does not matter, say 0.01.",
    "non_inferiority": "A margin is above 0: the largest loss that does not matter, say 0.01.",
    "sensitivity": "A sensitivity is above 0; ±0.05 is a common choice.",
}
_SHARES = {
    "alpha": "α is a probability between 0 and 1; 0.05 is usual.",
    "power": "Power is a probability between 0 and 1; 0.8 is usual.",
    "probability": "A probability lies between 0 and 1; 0.9 is usual.",
    "assurance": "Expected power is a probability between 0 and 1; 0.8 is usual.",
}
_WHOLE = {
    "systems": (2, "A comparison needs two systems or more."),
    "topics": (2, "A variance needs two topics or more."),
    "items": (1, "A topic has one item or more."),
    "repeats": (1, "An item has one repeat or more."),
}
_COMPONENTS = ("between", "within", "shared_variance", "repeat_variance")


def broadcast(inputs: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Broadcast the inputs: flat arrays of equal length, and their common shape."""
    if not inputs:
        return {}, ()
    arrays = {name: np.asarray(value, float) for name, value in inputs.items()}
    for name, values in arrays.items():
        _check_one(name, values)
    try:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        sizes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise RequestError(f"the inputs do not fit together: {sizes}") from None
    flat = {name: np.broadcast_to(values, shape).ravel() for name, values in arrays.items()}
    if "power" in flat and "alpha" in flat and (flat["power"] <= flat["alpha"]).any():
        at = int(np.argmax(flat["power"] <= flat["alpha"]))
        raise RequestError(
            f"a power of {flat['power'][at]:g} at α = {flat['alpha'][at]:g} needs no topics: it is reached by chance",
            fix="Ask for a power above α; 0.8 is usual.",
        )
    return flat, shape


def _check_one(name: str, values: Array) -> None:
    bad, why = _verdict(name, values)
    if bad.any():
        value = values.ravel()[int(np.argmax(bad.ravel()))]
        raise RequestError(f"`{name}` cannot be {value:g}", fix=why)


def _verdict(name: str, values: Array) -> tuple[Array, str]:
    if name in _POSITIVE:
        return np.asarray(~((values > 0) & np.isfinite(values))), _POSITIVE[name]
    if name in _SHARES:
        return np.asarray(~((values > 0) & (values < 1))), _SHARES[name]
    if name in _WHOLE:
        least, why = _WHOLE[name]
        return np.asarray(~((values >= least) & (values == np.floor(values)) & np.isfinite(values))), why
    if name in _COMPONENTS:
        return np.asarray(~((values >= 0) & np.isfinite(values))), "A variance is 0 or more."
    if name == "correlation":
        return np.asarray(~((values > -1) & (values < 1))), "A correlation lies between −1 and 1; TREC-8 AP has 0.66."
    if name == "judge_correlation":
        why = "A correlation lies between −1 and 1; models that judged TREC DL 2019 have 0.47 to 0.73 (nDCG@10)."
        return np.asarray(~((values > -1) & (values < 1))), why
    return np.asarray(~np.isfinite(values)), "Give a finite number."


Values = Sequence[float]

GOALS = ("min_range", "difference", "effect_size", "equivalence", "non_inferiority", "width", "sensitivity")
DEFAULTS: dict[str, Values] = {"alpha": (0.05,), "power": (0.8,), "true_difference": (0.0,)}
TYPICAL_CORRELATION = 0.66
"""Correlation of the AP of two systems over the topics of TREC-8: residual variance .0136, within systems .0401."""
PAIR_METHODS = ("t", "normal", "unpaired")
ONE_SYSTEM = ("unpaired", "clt")
"""Methods whose standard deviation is that of one system's scores: no correlation of two systems changes it."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a design. Lists of several values request every combination.

    ``variance`` is σ² of one system's scores and ``correlation`` that of two systems' scores over topics; ``sd`` and
    ``difference`` speak of paired differences, and ``effect_size`` is the difference over that sd (d_z). ``test`` is
    the one that will be run: on all pairs of ``systems``, or ``t`` on a pair named in advance. None means not given;
    ``given`` lists the other parameters, and a parameter that no method uses is an error.
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
    sides: int = 2
    paired: bool = True
    test: str | None = None
    method: str | None = None
    small_pilot: bool = False
    limit: int = MOST_TOPICS

    @property
    def goals(self) -> list[str]:
        """The goals that were given."""
        return [name for name in GOALS if getattr(self, name) is not None]

    @property
    def given(self) -> list[str]:
        """The parameters that were given, by name."""
        numbers = [name for name in vars(self) if name not in _FLAGS and getattr(self, name) is not None]
        flags = {"one_sided": self.sides == 1, "unpaired": not self.paired, "small_pilot": self.small_pilot}
        return numbers + [name for name, said in flags.items() if said]

    def values(self, name: str) -> Values:
        """Return the value that was given, or the default; RequestError if there is none."""
        found: Values | None = getattr(self, name)
        if found is None:
            found = DEFAULTS.get(name)
        if found is None:
            raise RequestError(f"`{name}` is missing", fix=f"Add `{name}`, or give pilot scores to estimate it from.")
        return found


_FLAGS = ("sides", "paired", "small_pilot", "limit", "method")


def goal_methods(request: Request, goal: str, *, systems: int | None = None) -> list[Method]:
    """Return the methods for one goal, the default first; ``systems`` is the number of systems of a pilot."""
    if goal == "min_range":
        return _named(request, _range_methods(request, systems))
    if goal in ("difference", "effect_size"):
        return _named(request, _pair_methods(request, systems))
    if goal == "equivalence":
        return _named(request, [equivalence_method(name) for name in ("tost", "normal")])
    if goal == "non_inferiority":
        return _named(request, [non_inferiority_method(name) for name in ("t", "normal")])
    if goal == "width":
        return _named(request, [width_method(probability=request.probability is not None)])
    return _named(request, [sensitivity_method(sides=request.sides)])


def _named(request: Request, methods: list[Method]) -> list[Method]:
    """Return all methods, or the one that was named."""
    return [method for method in methods if request.method in (None, method.name)]


def _range_methods(request: Request, systems: int | None) -> list[Method]:
    """Return methods for shared topics if the residual variance is known, for topics not shared otherwise."""
    if request.systems is None and systems is None:
        raise RequestError("a range needs the number of systems", fix="Add `systems=10`, for instance.")
    if systems is not None:
        return [range_method(name) for name in ("blocked", "exact", "sakai")]
    blocked = request.correlation is not None or request.method == "blocked"  # by name, with a residual variance
    return [range_method(name) for name in (("blocked",) if blocked else ("exact", "sakai"))]


def _pair_methods(request: Request, systems: int | None) -> list[Method]:
    tests = _tests(request, systems)
    if not request.paired:
        return [difference_method("unpaired", sides=request.sides)] if tests == ["t"] else _no_test_unpaired(tests[0])
    if tests != ["t"] and request.systems is None and systems is None:
        raise RequestError(f"the test {tests[0]} needs the number of systems", fix="Add `systems=10`, for instance.")
    pair = [difference_method(name, sides=request.sides) for name in (("t", "normal") if tests == ["t"] else ("t",))]
    return [*(family_method(test) for test in tests if test != "t"), *(pair if "t" in tests else [])]


def _no_test_unpaired(test: str) -> list[Method]:
    raise NoEffectError(
        f"the test {test} is for systems that share topics",
        parameter="unpaired",
        fix='Leave out `unpaired`, or use `test="t"`.',
    )


def _tests(request: Request, systems: int | None) -> list[str]:
    """Return the test that was named; by default Holm's, Tukey's test, and t for a pair named in advance."""
    if request.test is not None:
        if request.test not in PLANNED_TEST_TITLES:
            raise RequestError(
                f"there is no test «{request.test}»", fix=fix_for_test(request.test, PLANNED_TEST_TITLES)
            )
        return [request.test]
    if request.method in PAIR_METHODS or not request.paired or request.sides == 1:
        return ["t"]
    among = request.systems is not None or (systems or 2) > 2
    return [ALL_PAIRS_TEST, "tukey", "t"] if among else ["t"]


def check_effect(request: Request, chosen: dict[str, list[Method]], *, pilot: bool = False) -> None:
    """Raise RequestError for a parameter without effect on the methods chosen for each goal."""
    if not chosen:
        raise RequestError(
            "there is no goal",
            fix="Name one: `difference`, `effect_size`, `min_range` (with `systems`), `width`, `sensitivity`, "
            "`equivalence` or `non_inferiority`.",
        )
    if request.variance is not None and request.sd is not None:
        raise RequestError("`sd` and `variance` say the same thing twice", fix="Give one of them.")
    if request.sd is not None and "sensitivity" in chosen and len(chosen) > 1:
        raise RequestError(
            "`sd` is that of one system's scores for `sensitivity`, and that of paired differences for another goal",
            fix="Ask for one at a time, or give `variance` with `correlation`.",
        )
    if not pilot and request.correlation is not None and request.variance is None:
        raise RequestError("`correlation` goes with `variance`", fix="Add `variance`, or leave `correlation` out.")
    for name in request.given:
        if not any(_has_effect(name, goal, methods, pilot=pilot) for goal, methods in chosen.items()):
            raise _no_effect(request, name, chosen)


def _has_effect(name: str, goal: str, methods: Sequence[Method], *, pilot: bool) -> bool:
    if name == goal or (name in ("small_pilot",) and pilot):
        return True
    if name == "assurance":
        return pilot and all(method.is_power for method in methods)
    if name in ("sd", "variance", "correlation") and goal == "effect_size":
        return False
    some = all if name in ("one_sided", "unpaired", "correlation") else any
    return bool(methods) and some(name in uses(method) for method in methods)


def uses(method: Method) -> set[str]:
    """Return the parameters of a request that a method uses."""
    found = set(method.inputs) | method.takes
    if "sd" in found:
        found |= {"variance"} if method.name in ONE_SYSTEM else {"variance", "correlation"}
    return found


_GOES_WITH = {
    "systems": "`min_range`, or `difference` with a test of all pairs (`test`: max-t, tukey, holm or dunnett)",
    "test": "`difference` or `effect_size`",
    "sd": "`difference`, `width`, `sensitivity`, `equivalence` or `non_inferiority`",
    "variance": "`min_range`, `difference`, `width`, `sensitivity`, `equivalence` or `non_inferiority`",
    "correlation": "`variance` and a goal on shared topics (not with `unpaired` or `sensitivity`, nor with the "
    "`method` exact or sakai)",
    "power": "`min_range`, `difference`, `effect_size`, `equivalence` or `non_inferiority`, without `assurance`",
    "assurance": "pilot scores and a goal that has a power",
    "probability": "`width`",
    "true_difference": "`equivalence` or `non_inferiority`",
    "one_sided": '`sensitivity`, or a pair named in advance (`test="t"`)',
    "unpaired": "`difference` or `effect_size` of a pair named in advance",
    "small_pilot": "pilot scores",
}


def _no_effect(request: Request, name: str, chosen: dict[str, list[Method]]) -> RequestError:
    goals = ", ".join(f"`{goal}`" for goal in chosen)
    by = f" by {request.test or request.method}" if request.test or request.method else ""
    fix = f"`{name}` goes with {_GOES_WITH[name]}." if name in _GOES_WITH else "Leave it out."
    return NoEffectError(f"`{name}` has no effect on {goals}{by}", parameter=name, fix=fix)


def no_such_method(request: Request, methods: Iterable[Method]) -> RequestError:
    names = ", ".join(dict.fromkeys(method.name for method in methods))
    what = f"method «{request.method}» does not apply to this goal"
    return NoEffectError(what, parameter="method", fix=f"These do: {names}.")


def chosen_methods(request: Request, *, systems: int | None = None) -> dict[str, list[Method]]:
    """Return the methods of each goal; RequestError if none applies, or if a parameter has no effect."""
    found = {goal: goal_methods(request, goal, systems=systems) for goal in request.goals}
    if request.method is not None and request.goals and not any(found.values()):
        every: dict[str, Any] = {}
        for test in (None, "t") if request.test is None else (request.test,):
            anyway = replace(request, method=None, test=test)
            every |= {goal + str(test): goal_methods(anyway, goal, systems=systems) for goal in request.goals}
        raise no_such_method(request, [method for methods in every.values() for method in methods])
    check_effect(request, found, pilot=systems is not None)
    return {goal: methods for goal, methods in found.items() if methods}
