"""The calculators: how many topics, and what a number of topics detects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.curves import card_curves, curve_through
from cranfield.methods.design.grid import parse_grid
from cranfield.methods.design.planning import Request, cautions_of, plan
from cranfield.methods.design.power_card import Card, card_cautions, cards_from_grid
from cranfield.methods.design.sample_size import Size
from cranfield.methods.sequential.plans import all_prospects
from cranfield.methods.sequential.study_goal import parse_bounds, parse_looks
from cranfield.methods.sequential.trial import plan_trial
from cranfield.questions.command_line import command_line
from cranfield.rendering.charts import CARD_CURVES, TITLES, is_wide, size_curves
from cranfield.rendering.size_document import power_document, power_inputs, size_document, size_inputs
from cranfield.rendering.sketch import Curve, line_sketch
from cranfield.rendering.study_document import plans_document, trial_document
from cranfield.web.page import Answer
from cranfield.web.queries import MOST_ROWS, DesignQuery, PlansQuery, PowerQuery, SizeQuery, TrialPlanQuery

GOALS = {
    "difference": "a difference between two systems",
    "min_range": "a range among several systems",
    "effect_size": "an effect size d_z",
    "equivalence": "equivalence of two systems",
    "non_inferiority": "non-inferiority of a system",
    "width": "a narrow interval for a difference",
    "sensitivity": "a mean known to within ±",
}
_PAIR = ("sd", "variance", "correlation", "alpha", "power")
GOAL_INPUTS: dict[str, tuple[str, ...]] = {
    "difference": ("difference", "systems", "test", *_PAIR),
    "min_range": ("systems", "min_range", "variance", "correlation", "alpha", "power"),
    "effect_size": ("effect_size", "systems", "test", "alpha", "power"),
    "equivalence": ("equivalence", "true_difference", *_PAIR),
    "non_inferiority": ("non_inferiority", "true_difference", *_PAIR),
    "width": ("width", "probability", "sd", "variance", "correlation", "alpha"),
    "sensitivity": ("sensitivity", "sd", "variance", "correlation", "alpha"),
}
NUMBERS = ("systems", *GOALS, "true_difference", "probability", "variance", "correlation", "sd", "alpha", "power")
CARD_NUMBERS = ("topics", "systems", "variance", "correlation", "sd", "difference", "alpha", "power")
REACH = {
    "systems": (2, 1e4),
    "correlation": (1e-6, 1),
    "topics": (2, 1e7),
    "trial_size": (2, 1e5),
    "alpha": (1e-6, 1),
    "power": (1e-6, 1),
}
EXAMPLE = SizeQuery(goal="difference", difference="0.05", sd="0.15", systems="10", alpha="0.05", power="0.8")
EXAMPLE_PLANS = PlansQuery(difference=0.033, sd=0.15)
EXAMPLE_TRIAL = TrialPlanQuery(difference=0.033, sd="0.12,0.15,0.18")
MOST_LOOKS = 10  # more take seconds
EXAMPLE_CARD = PowerQuery(topics="50", systems="10", sd="0.15", difference="0.05", alpha="0.05", power="0.8")


def given_numbers(query: Any, names: tuple[str, ...] = NUMBERS) -> dict[str, str]:
    """The numbers as they were typed, those of the goal alone where one is chosen."""
    goal = getattr(query, "goal", None)
    wanted = GOAL_INPUTS[goal] if goal else names
    typed = {name: getattr(query, name, None) for name in names if name in wanted}
    return {name: text for name, text in typed.items() if text is not None}


def planned_test(query: Any) -> str | None:
    """The test, unless another goal was chosen than one that has a choice of tests."""
    goal = getattr(query, "goal", None)
    return query.test if goal is None or "test" in GOAL_INPUTS[goal] else None


def parse_numbers(given: dict[str, str]) -> dict[str, list[float]]:
    """The numbers, as many and as extreme as a page answers in a moment."""
    found = {name: parse_grid(text, name=name, most=MOST_ROWS) for name, text in given.items()}
    cells = 1
    for name, values in found.items():
        _check_reach(name, values)
        cells *= len(values)
    if cells > MOST_ROWS:
        raise RequestError(
            f"the grid has {cells:,} cells", fix=f"A page shows at most {MOST_ROWS:,}; the command has no such limit."
        )
    return found


def _check_reach(name: str, values: list[float]) -> None:
    """Far out, the distributions take minutes; that is for the command, which can be interrupted."""
    low, high = REACH.get(name, (1e-5, 1e3))
    bad = next((value for value in values if not value <= high or 0 < value < low), None)
    if bad is not None:
        raise RequestError(
            f"{name.replace('_', ' ')} cannot be {bad:g} on a page",
            fix=f"A page takes {low:g} to {high:,g}; the command has no such limit.",
        )


def design_request(query: DesignQuery, given: dict[str, str]) -> Request:
    numbers: dict[str, Any] = dict(parse_numbers(given))
    return Request(
        **numbers,
        sides=1 if query.one_sided else 2,
        paired=not query.unpaired,
        test=planned_test(query),
        method=query.method,
        assurance=getattr(query, "assurance", None),
        small_pilot=getattr(query, "small_pilot", False),
    )


def size_answer(query: SizeQuery, *, drawn: bool = True) -> Answer:
    """How many topics, and where it is to be ``drawn`` the curve the design lies on."""
    given = given_numbers(query)
    request = design_request(query, given)
    inputs: dict[str, Any] = {"scores": [], **size_inputs(request, given)}
    sizes = plan(request)
    document = size_document(sizes, inputs, cautions_of(request))
    flags = {"test": request.test, "one_sided": query.one_sided, "unpaired": query.unpaired, "method": query.method}
    # A curve that cannot be drawn is refused also where none is shown.
    sketch, caption = size_sketch(request, query.curve, sizes[0]) if drawn or query.curve else ("", "")
    return Answer(document, command_line("size", (), given | flags), sketch, caption)


def size_sketch(request: Request, axis: str | None, first: Size) -> tuple[str, str]:
    """n along the curve of the ``first`` method's answer, and a mark at the design itself."""
    drawn = curve_through(replace(request, method=first.method.name), axis)
    rows = plan(drawn)[0].to_dict()
    if sum(row["topics"] is not None for row in rows) < 2:
        return "", ""
    x, labelled = size_curves(rows)
    names = list(dict.fromkeys(row["curve"] for row in labelled))[:7]
    curves = [
        Curve(name, sorted((float(row[x]), float(row["topics"])) for row in labelled if row["curve"] == name))
        for name in names
    ]
    here = None
    if first.topics.size == 1 and first.reached.all():
        row = first.to_dict()[0]
        here = (float(row[x]), float(row["topics"]))
    sketch = line_sketch(curves, x_title=TITLES[x], y_title=TITLES["topics"], log=is_wide(labelled), here=here)
    return sketch, f"Method: {first.method.title}; {first.method.design}."


def power_answer(query: PowerQuery) -> Answer:
    """What a number of topics detects, with the curves over that number."""
    given = given_numbers(query, CARD_NUMBERS)
    numbers: dict[str, Any] = dict(parse_numbers(given))
    cards = cards_from_grid(**numbers, test=query.test)
    inputs: dict[str, Any] = {"scores": [], **power_inputs(given, test=query.test, gate=None)}
    document = power_document(cards, inputs, None, card_cautions(cards, None))
    sketch = card_sketch(cards[0]) if len(cards) == 1 else ""
    return Answer(document, command_line("power", (), given | {"test": query.test}), sketch)


def card_sketch(card: Card) -> str:
    topics, found = card_curves(
        topics=card.topics, sd=card.sd, systems=card.systems, test=card.test, alpha=card.alpha, power=card.power
    )
    curves = [
        Curve(CARD_CURVES[name], list(zip(map(float, topics), values, strict=True)))
        for name, values in found.items()
        if card.is_family or name not in ("pair_detectable_difference", "detectable_range")
    ]
    here = (float(card.topics), card.detectable_difference)
    return line_sketch(curves, x_title=TITLES["topics"], y_title=TITLES["value"], here=here)


def few_looks(text: str) -> tuple[float, ...]:
    """Looks, as many as a page answers in a moment."""
    typed = parse_grid(text, name="looks", most=MOST_LOOKS)
    if len(typed) > MOST_LOOKS or max(typed) > MOST_LOOKS:
        raise RequestError(
            f"more than {MOST_LOOKS} looks are too many for a page", fix="The command takes them, and takes its time."
        )
    return parse_looks(text)


def plans_answer(query: PlansQuery) -> Answer:
    """What every plan of a study guarantees, and how many topics to expect of it."""
    lowest, highest = parse_bounds(query.bounds)
    found = all_prospects(
        query.difference,
        query.sd,
        alpha=query.alpha,
        power=query.power,
        first=query.first,
        looks=few_looks(query.looks),
        spending=query.spending,
        lowest=lowest,
        highest=highest,
    )
    inputs = query.model_dump(include={"difference", "sd", "alpha", "power"})
    return Answer(
        plans_document(found, inputs), command_line("study plans", (), query.model_dump(exclude_defaults=True))
    )


def trial_answer(query: TrialPlanQuery) -> Answer:
    """Topics in all against the size of a trial, a curve for every sd it might find."""
    grids = parse_numbers({"sd": query.sd} | ({"trial_size": query.trial_size} if query.trial_size else {}))
    plan = plan_trial(
        difference=query.difference,
        sd=grids["sd"],
        sizes=grids.get("trial_size"),
        alpha=query.alpha,
        power=query.power,
        confidence=query.confidence,
    )
    document = trial_document(plan, {"scores": [], **query.model_dump()})
    command = command_line("study trial", (), query.model_dump(exclude_defaults=True))
    return Answer(document, command, _trial_sketch(document.rows), "Topics in all, a curve for every sd")


def _trial_sketch(rows: Sequence[Mapping[str, Any]]) -> str:
    curves = [
        Curve(f"sd {sd:g}", _some([(float(row["trial"]), float(row["topics"])) for row in rows if row["sd"] == sd]))
        for sd in list(dict.fromkeys(row["sd"] for row in rows))[:7]
    ]
    if len(curves[0].points) < 2:
        return ""
    return line_sketch(curves, x_title="topics in the trial", y_title="topics in all")


def _some(points: list[tuple[float, float]], most: int = 40) -> list[tuple[float, float]]:
    """Points enough to draw a curve by, closer together where it begins and bends."""
    places = {round((len(points) - 1) * (at / most) ** 2) for at in range(most + 1)}
    return [point for at, point in enumerate(points) if at in places]
