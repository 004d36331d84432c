"""The calculators: how many topics, and what a number of topics detects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from cranfield.errors import RequestError
from cranfield.methods.design.curves import AXES
from cranfield.methods.design.grid import parse_grid
from cranfield.methods.sequential.plans import all_prospects
from cranfield.methods.sequential.study_goal import parse_bounds, parse_looks
from cranfield.methods.sequential.trial import plan_trial
from cranfield.questions import find_question
from cranfield.questions.command_line import command_line
from cranfield.rendering.size_document import sketch as size_sketch
from cranfield.rendering.sketch import Curve, line_sketch
from cranfield.rendering.study_document import plans_document, trial_document
from cranfield.web.generation import make_query, shown, values
from cranfield.web.limits import parse_numbers
from cranfield.web.page import Answer
from cranfield.web.queries import Given, PlansQuery, TrialPlanQuery, field

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
_OF_GOALS = ("true_difference", "probability")
GOAL_FIELDS = frozenset(name for names in GOAL_INPUTS.values() for name in names)
NEED_SCORES = ("measure", "missing", "small_pilot", "assurance")
SIZE, POWER = find_question("size"), find_question("power")
SizeQuery = make_query(
    SIZE,
    tuple(dict.fromkeys(("goal", "difference", "effect_size", "systems", "test", *GOALS, *_OF_GOALS, *_PAIR))),
    without=NEED_SCORES,
    goal=(
        Annotated[Literal[tuple(GOALS)] | None, Given],
        field("Goal", "Use only this goal of those given; without it, every goal that is given."),
    ),
    curve=(
        Annotated[Literal[AXES] | None, Given],
        field("Curve over", "What the curve is drawn over: the goal, or this."),
    ),
)
SizeQuery.choices["curve"] = {"": "the goal"}
PowerQuery = make_query(
    POWER,
    ("topics", "systems", "test", "sd", "variance", "correlation", "difference", "alpha", "power"),
    without=NEED_SCORES,
)
EXAMPLE = SizeQuery.model_validate(
    {"goal": "difference", "difference": "0.05", "sd": "0.15", "systems": "10", "alpha": "0.05", "power": "0.8"}
)
EXAMPLE_PLANS = PlansQuery(difference=0.033, sd=0.15)
EXAMPLE_TRIAL = TrialPlanQuery(difference=0.033, sd="0.12,0.15,0.18")
MOST_LOOKS = 10  # more take seconds
EXAMPLE_CARD = PowerQuery.model_validate(
    {"topics": "50", "systems": "10", "sd": "0.15", "difference": "0.05", "alpha": "0.05", "power": "0.8"}
)


def size_answer(query: Any, *, drawn: bool = True) -> Answer:
    """How many topics, and where it is to be ``drawn`` the curve the design lies on."""
    hidden = GOAL_FIELDS - set(GOAL_INPUTS[query.goal]) if query.goal else frozenset()
    asked = query.model_copy(update=dict.fromkeys(hidden))
    result = SIZE.ask(**values(SIZE, asked))
    # A curve that cannot be drawn is refused also where none is shown.
    sketch, caption = size_sketch(result, query.curve) if drawn or query.curve else ("", "")
    return Answer(result.document(), _command("size", asked), sketch, caption)


def power_answer(query: Any) -> Answer:
    """What a number of topics detects, with the curves over that number."""
    result = POWER.ask(**values(POWER, query))
    return Answer(result.document(), _command("power", query), **shown(result))


def _command(name: str, query: Any) -> str:
    given = query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"goal", "curve"})
    return command_line(name, (), given)


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
