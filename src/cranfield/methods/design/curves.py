"""Curves through designs: topics along an input, and what numbers of topics detect, dense whatever was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.errors import NoEffectError
from cranfield.methods.design.cards import Card
from cranfield.methods.design.goals import SIZED_GOALS, Goal
from cranfield.methods.design.planning import PilotSize, plan
from cranfield.methods.design.request import Request
from cranfield.methods.design.solver import Size, achieved, solve
from cranfield.types import Array

AXES = (*SIZED_GOALS, "systems", "variance", "correlation", "sd", "alpha", "power")
REACH = 2.5  # factor by which the input is decreased and increased
POINTS = 20  # to either side
MOST_CURVES = 12  # of the lists that were asked for, evenly

Point = tuple[float, float]


def curve_through(request: Request, axis: str | None = None) -> Request:
    """Vary ``axis`` of a request densely: around its value, or between the values of a list.

    Without an axis it is the input with most values, or the goal.

    >>> curve = curve_through(Request(systems=[10], min_range=[0.1], variance=[0.053]))
    >>> len(curve.min_range), 0.1 in curve.min_range
    (41, True)
    >>> len(curve_through(Request(systems=[5, 10, 80], min_range=[0.1], variance=[0.053])).systems)
    35
    """
    name = axis or _widest(request) or next(iter(request.goals), "")
    values = getattr(request, name, None) if name in AXES else None
    if name in ("alpha", "power"):
        values = request.values(name)
    if not values:
        given = ", ".join(each for each in AXES if getattr(request, each) is not None)
        what = f"the request has no «{name}» to vary"
        raise NoEffectError(what, parameter="curve", fix=f"Choose one of: {given}.")
    dense = _between(name, values) if len(values) > 1 else _around(name, values[0], floor=request.values("alpha")[0])
    moved: dict[str, Any] = {name: dense}
    return replace(request, **moved)


def _widest(request: Request) -> str:
    """The input with most values, where one has several."""
    counts = {name: len(set(getattr(request, name) or ())) for name in AXES}
    name = max(counts, key=lambda each: counts[each])
    return name if counts[name] > 1 else ""


def _between(name: str, values: Sequence[float]) -> list[float]:
    """The values, and others between the smallest and the largest."""
    low, high = min(values), max(values)
    is_linear = low <= 0 or name in ("power", "correlation")
    steps = np.linspace(low, high, 2 * POINTS) if is_linear else np.geomspace(low, high, 2 * POINTS)
    steps = steps.round() if name == "systems" else steps
    inside = [float(each) for each in steps[1:-1] if low < each < high]
    return sorted({*map(float, values), *inside})


def _around(name: str, value: float, *, floor: float) -> list[float]:
    if name == "power":  # the power of a test is at least α
        low = max(0.3, min(0.99, floor * 1.5))
        return sorted({value, *(each for each in np.linspace(low, 0.99, 2 * POINTS).round(4).tolist() if each > floor)})
    if name == "systems":
        steps = np.linspace(2, max(20, 2 * min(value, 1e9)), 2 * POINTS).round()
        return sorted({value, *map(float, steps.tolist())})
    if name == "correlation":
        return sorted({value, *np.linspace(min(0.0, value), max(0.95, value), 2 * POINTS).tolist()})
    factors = REACH ** (np.arange(-POINTS, POINTS + 1) / POINTS)
    most = 0.5 if name == "alpha" else np.inf
    return sorted({value, *(float(value * factor) for factor in factors if value * factor < most)})


@dataclass(frozen=True)
class SizeCurve:
    """Topics along one input of a goal: the points, those asked for, and where a variance was estimated the band."""

    goal: str
    axis: str
    inputs: Mapping[str, float]  # those that tell this curve from others
    points: Sequence[Point]
    asked: Sequence[Point]
    band: Sequence[Point] = ()


def size_curves(
    request: Request, sizes: Sequence[Size], pilot: Sequence[PilotSize] = (), axis: str | None = None
) -> list[SizeCurve]:
    """The curves that the designs asked for lie on, by the default method of every goal: Sakai (2014), Figs 2 and 3.

    Of several goals, each is its own axis; otherwise one curve per value of every input but the axis.
    """
    first = {size.kind: size for size in reversed(sizes)}
    goals = list(dict.fromkeys(size.kind for size in sizes))
    curves = []
    for goal in goals:
        estimated = next((each for each in pilot if each.size is first[goal]), None)
        own = _request_of(request, first[goal], is_pilot=bool(pilot))
        name = axis or (goal if len(goals) > 1 else _widest(own) or goal)
        for inputs in _combinations(own, name):
            alone: dict[str, Any] = {word: [value] for word, value in inputs.items()}
            one = replace(own, **alone)
            curves.append(_curve(one, name, goal, inputs, first[goal], estimated))
    return [each for each in curves if len(each.points) > 1]


def _request_of(request: Request, size: Size, *, is_pilot: bool) -> Request:
    """The request of one goal and one method; the variance of a pilot is that which was estimated."""
    words: dict[str, Any] = {name: getattr(request, name) for name in ("one_sided", "unpaired")}
    words["method"] = size.method.name
    if is_pilot:
        known: dict[str, Any] = {name: sorted(set(values.ravel().tolist())) for name, values in size.inputs.items()}
        return Request(**known, **words)
    others = dict.fromkeys((goal for goal in request.goals if goal != size.kind), None)
    unused = [name for name in ("systems", "variance", "correlation", "sd") if name not in size.inputs]
    changed: dict[str, Any] = {**words, **others, **dict.fromkeys(unused if others else ())}
    if request.correlation is None and request.sd is None and "correlation" in size.inputs:
        changed["correlation"] = np.unique(size.inputs["correlation"]).tolist()  # those assumed
    return replace(request, **changed)


def _combinations(request: Request, axis: str) -> list[dict[str, float]]:
    """The inputs of every curve: each combination of the values of other inputs than the axis."""
    lists = {name: list(getattr(request, name) or ()) for name in AXES if name != axis}
    several = {name: values for name, values in lists.items() if len(values) > 1}
    made = [dict(zip(several, values, strict=True)) for values in product(*several.values())]
    step = max(1.0, (len(made) - 1) / (MOST_CURVES - 1))
    return [made[round(at * step)] for at in range(min(len(made), MOST_CURVES))]


def _curve(
    request: Request, axis: str, goal: str, inputs: dict[str, float], size: Size, estimated: PilotSize | None
) -> SizeCurve:
    points = _points(curve_through(request, axis), axis)
    ends: list[dict[float, float]] = []
    if estimated is not None:
        dense = curve_through(request, axis)
        ends = [dict(_points(_at_end(dense, each), axis)) for each in (estimated.lower, estimated.upper)]
    whole = [point for point in points if all(point[0] in end for end in ends)]
    band = [(ends[0][x], ends[1][x]) for x, _ in whole] if ends else []
    mine = [row for row in size.to_dict() if all(row.get(word, value) == value for word, value in inputs.items())]
    asked = [(float(row[axis]), float(row["topics"])) for row in mine if row["topics"] is not None and axis in row]
    return SizeCurve(goal, axis, inputs, whole, asked, band)


def _at_end(request: Request, size: Size) -> Request:
    """The same with the variance at an end of its interval."""
    ends: dict[str, Any] = {
        name: size.inputs[name].ravel()[:1].tolist() for name in ("variance", "sd") if getattr(request, name)
    }
    return replace(request, **ends)


def _points(request: Request, axis: str) -> list[Point]:
    rows = plan(request)[0].to_dict()
    return sorted((float(row[axis]), float(row["topics"])) for row in rows if row["topics"] is not None)


def card_curves(card: Card, topics: Sequence[int] = ()) -> tuple[list[int], dict[str, list[float]]]:
    """What numbers of topics around those of a card, or between several, detect: Sakai (2014), Fig. 3."""
    asked = topics or (card.topics,)
    low, high = (min(asked), max(asked)) if len(set(asked)) > 1 else (card.topics / 4, card.topics * 4)
    around = np.unique(np.maximum(3, np.geomspace(max(3, low), high, 2 * POINTS).round()).astype(int))
    around = np.union1d(around, asked)
    goal = Goal("difference", at_least=card.power)
    pair = card.designs("t", around)
    curves: dict[str, Array] = {
        "detectable_range": solve(card.designs("blocked", around), Goal("min_range", at_least=card.power), "min_range"),
        "detectable_difference": solve(card.designs(topics=around), goal, "difference"),
        "pair_detectable_difference": solve(pair, goal, "difference"),
        "width": achieved(pair, Goal("width", at_least=None)),
        "difference_sensitivity": achieved(pair, Goal("sensitivity")),
    }
    return around.tolist(), {name: values.tolist() for name, values in curves.items()}
