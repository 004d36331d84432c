"""The calculators, which need no data: how many topics, what a number of topics detects, and their pages."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import fastapi
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError, NoEffectError, RequestError
from cranfield.methods.design.curves import AXES
from cranfield.questions import find_question
from cranfield.questions.groups import OF_REPLICATES
from cranfield.questions.parameters import command_line
from cranfield.rendering.score_document import measures_document
from cranfield.rendering.size_document import sketch as size_sketch
from cranfield.web.error_pages import BUSY, FAULTS, Fault, TooMuchError, parse, status_of
from cranfield.web.forms import Given, Query, absent, field, labels_of, make_form
from cranfield.web.page import MEDIA, Answer, Drawing, ResultAnswer, as_file, download, links_of, render
from cranfield.web.page_maker import make_query, shown, values
from cranfield.web.runner import OFTEN, Calculators

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
_JUDGE = ("judge_correlation", "human_cost", "judge_cost", "judged_topics")
_OF_PAIR = ("one_sided", "unpaired")
GOAL_INPUTS: dict[str, tuple[str, ...]] = {
    "difference": ("difference", "systems", "test", *_PAIR, *_JUDGE, *OF_REPLICATES, "budget", *_OF_PAIR),
    "min_range": ("systems", "min_range", "variance", "correlation", "alpha", "power"),
    "effect_size": ("effect_size", "systems", "test", "alpha", "power", *_JUDGE, *_OF_PAIR),
    "equivalence": ("equivalence", "true_difference", *_PAIR),
    "non_inferiority": ("non_inferiority", "true_difference", *_PAIR),
    "width": ("width", "probability", "sd", "variance", "correlation", "alpha", *_JUDGE),
    "sensitivity": ("sensitivity", "variance", "alpha", "one_sided"),
}
_OF_GOALS = ("true_difference", "probability")
_SPREAD = {"sd": "0.15"}
_OWN = {**_SPREAD, "icc": "0.5"}  # replicates that every topic has its own of
_SHARED = {**_OWN, "shared_variance": "0.0001"}
EXAMPLES: dict[str, dict[str, dict[str, str]]] = {
    "goal": {
        "difference": {"difference": "0.05", **_SPREAD},
        "min_range": {"systems": "10", "min_range": "0.1", "variance": "0.053"},
        "effect_size": {"effect_size": "0.33"},
        "equivalence": {"equivalence": "0.05", **_SPREAD},
        "non_inferiority": {"non_inferiority": "0.05", **_SPREAD},
        "width": {"width": "0.1", **_SPREAD},
        "sensitivity": {"sensitivity": "0.05", "variance": "0.053"},
    },
    "test": {test: {"systems": "10"} for test in ("max-t", "tukey", "holm", "dunnett")},
    "replicates": {"variations": _OWN, "fixed-prompts": _OWN, "clusters": _OWN, "prompts": _SHARED, "seeds": _SHARED},
}
"""What a choice needs, with values to start from."""
INSTEAD = {"sd": ("variance", "between"), "icc": ("between", "within")}
"""Fields that are not needed where one of others is given."""
GOAL_FIELDS = frozenset(name for names in GOAL_INPUTS.values() for name in names)
SIZE, POWER = find_question("size"), find_question("power")
SizeQuery = make_query(
    SIZE,
    tuple(dict.fromkeys(("goal", "difference", "effect_size", "systems", "test", *GOALS, *_OF_GOALS, *_PAIR))),
    goal=(
        Annotated[Literal[tuple(GOALS)] | None, Given],
        field("Goal", "Use only this goal of those given; without it, every goal that is given."),
    ),
    curve=(
        Annotated[Literal[AXES] | None, Given],
        field("Curve over", "What the curve is drawn over: the goal, or this."),
    ),
)
SizeQuery.choices["curve"] = {"": "the goal", **{name: labels_of(SizeQuery)[name] for name in AXES}}
PowerQuery = make_query(
    POWER, ("topics", "systems", "test", "sd", "variance", "correlation", "difference", "alpha", "power")
)
EXAMPLE = SizeQuery.model_validate(
    {"goal": "difference", "difference": "0.05", "sd": "0.15", "systems": "10", "alpha": "0.05", "power": "0.8"}
)
PLANS, TRIAL = find_question("study_plans"), find_question("study_trial")
PlansQuery = make_query(PLANS, ("difference", "sd", "alpha", "power"))
TrialPlanQuery = make_query(TRIAL, ("difference", "sd", "trial_size", "alpha", "power", "confidence"))
EXAMPLE_PLANS = PlansQuery.model_validate({"difference": 0.033, "sd": 0.15})
EXAMPLE_TRIAL = TrialPlanQuery.model_validate({"difference": 0.033, "sd": "0.12,0.15,0.18"})
EXAMPLE_CARD = PowerQuery.model_validate(
    {"topics": "50", "systems": "10", "sd": "0.15", "difference": "0.05", "alpha": "0.05", "power": "0.8"}
)


def size_answer(query: Any, *, drawn: bool = True) -> Answer:
    """How many topics, and where it is to be ``drawn`` the curve the design lies on."""
    if query.goal and getattr(query, query.goal) is None:
        raise RequestError(f"`{query.goal}` is missing", fix=f"Fill in `{query.goal}`.")
    hidden = GOAL_FIELDS - set(GOAL_INPUTS[query.goal]) if query.goal else frozenset()
    asked = query.model_copy(update={name: SizeQuery.model_fields[name].default for name in hidden})
    result = SIZE.ask(**values(SIZE, asked))
    # A curve that cannot be drawn is refused also where none is shown.
    sketch, caption = size_sketch(result, query.curve) if drawn or query.curve else ("", "")
    sketches = (Drawing(caption, sketch),) if sketch else ()
    return Answer(document=result.document(), command=_command("size", asked), sketches=sketches)


def power_answer(query: Any) -> Answer:
    """What a number of topics detects, with the curves over that number."""
    result = POWER.ask(**values(POWER, query))
    return Answer(document=result.document(), command=_command("power", query), **shown(result))


def _command(name: str, query: Any) -> str:
    given = query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"goal", "curve"})
    return command_line(name, (), given)


def plans_answer(query: Any) -> Answer:
    """What every plan of a study guarantees, and how many topics to expect of it."""
    result = PLANS.ask(**values(PLANS, query))
    return Answer(document=result.document(), command=_command(PLANS.command, query), **shown(result))


def trial_answer(query: Any) -> Answer:
    """Topics in total against the size of a trial, a curve for every sd it might find."""
    result = TRIAL.ask(**values(TRIAL, query))
    return Answer(document=result.document(), command=_command(TRIAL.command, query), **shown(result))


class MeasuresQuery(Query):
    """What ``cranfield measures`` takes."""


def measures_answer(query: Any) -> Answer:
    """The catalogue of measures."""
    found = measures_document()
    tables = [replace(table, measure="*") for table in found.tables]  # all of them, not one at a time
    return Answer(document=replace(found, answer="", tables=tables), command="cranfield measures")


router, pages = APIRouter(), APIRouter()  # the pages' addresses are a name and nothing else: they come last
SHOWN_INPUTS = {"inputs": GOAL_INPUTS, "all": sorted(GOAL_FIELDS), "examples": EXAMPLES, "instead": INSTEAD}


@dataclass(frozen=True, kw_only=True)
class Calculator:
    """A page that answers while somebody types; ``numbers`` answers without a picture where that is quicker.

    ``seconds`` is the least that one design takes, where a question may have many.
    """

    name: str
    command: str
    title: str
    heading: str
    query: type[Query]
    answer: Callable[[Any], Answer]
    numbers: Callable[[Any], Answer]
    example: Query
    template: str = "calculator.html"
    seconds: float = 0.0


CALCULATORS = {
    each.name: each
    for each in (
        Calculator(
            name="size",
            command="size",
            title="How many topics",
            heading="How many topics?",
            query=SizeQuery,
            answer=size_answer,
            numbers=partial(size_answer, drawn=False),
            example=EXAMPLE,
            template="size.html",
            seconds=2e-5,
        ),
        Calculator(
            name="power",
            command="power",
            title="What topics detect",
            heading="What does a number of topics detect?",
            query=PowerQuery,
            answer=power_answer,
            numbers=power_answer,
            example=EXAMPLE_CARD,
            seconds=2.5e-3,
        ),
        Calculator(
            name="plans",
            command="study plans",
            title="Plans of a study",
            heading="How many topics does each plan take?",
            query=PlansQuery,
            answer=plans_answer,
            numbers=plans_answer,
            example=EXAMPLE_PLANS,
        ),
        Calculator(
            name="trial",
            command="study trial",
            title="A trial first",
            heading="How large a trial?",
            query=TrialPlanQuery,
            answer=trial_answer,
            numbers=trial_answer,
            example=EXAMPLE_TRIAL,
            seconds=2.5e-3,
        ),
        Calculator(
            name="measures",
            command="measures",
            title="Measures",
            heading="Measures",
            query=MeasuresQuery,
            answer=measures_answer,
            numbers=measures_answer,
            example=MeasuresQuery(),
            template="measures.html",
        ),
    )
}


def _json(asked: Calculator) -> Callable[..., Response]:
    """The JSON answer of a calculator, with its parameters as the document of the interface lists them."""

    def endpoint(request: Request, query: Any, gone: Any) -> Response:
        return as_file(_ask(request, asked, query, "json", gone), "json", asked.name)

    endpoint.__name__ = f"{asked.name}_json"
    endpoint.__doc__ = f"As ``cranfield {asked.command} --json``."
    endpoint.__annotations__ = {
        "request": Request,
        "query": Annotated[asked.query, fastapi.Query()],
        "gone": Gone,
        "return": Response,
    }
    return endpoint


def compute(name: str, values: dict[str, Any], kind: str) -> str | bytes | None:
    """The answer of a calculator as a file, or as what a page shows; None where there is no such file of it."""
    asked = CALCULATORS[name]
    labels = labels_of(asked.query)
    query = asked.query.model_validate(values)
    if kind == "json":
        return download(asked.numbers(query), kind)
    query, found, idle = _with_effect(asked, query)
    found = replace(found.noting("", labels), left_out=tuple(labels[name] for name in idle))
    if kind == PAGE:
        return found.html(links_of(f"/{name}", query, found))
    return download(found, kind) if kind in found.files() else None


def _with_effect(asked: Calculator, query: Any) -> tuple[Any, Answer, list[str]]:
    """The answer without what has no effect on the chosen goal: choices are made for one goal and stay for the next."""
    idle: list[str] = []
    while True:
        try:
            return query, asked.answer(query), idle
        except NoEffectError as error:
            goal = getattr(query, "goal", None)
            if goal is None or error.parameter == goal or not getattr(query, error.parameter, None):
                raise
            idle.append(error.parameter)
            query = query.model_copy(update={error.parameter: asked.query.model_fields[error.parameter].default})


PAGE = "page"  # in place of the kind of a file


async def _departure(request: Request) -> AsyncIterator[threading.Event]:
    """An event that is set when whoever asked has gone."""
    gone = threading.Event()

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(OFTEN)
        gone.set()

    watching = asyncio.create_task(watch())
    try:
        yield gone
    finally:
        watching.cancel()


Gone = Annotated[threading.Event, fastapi.Depends(_departure)]


def _ask(request: Request, asked: Calculator, query: Query, kind: str, gone: threading.Event) -> Any:
    """The same in a process with a deadline and a limit of its memory."""
    processes: Calculators = request.app.state.calculators
    most = request.app.state.settings.calculator_seconds
    given = query.model_dump(exclude_unset=True)
    lists = _list_lengths(asked, given)
    designs = math.prod(lists.values())
    estimate = asked.seconds * designs
    if estimate > most:
        raise TooMuchError(
            f"{designs:,} designs take about {estimate:,.0f} s, and a calculator may take {most:g} s",
            fix=f"Give fewer values of {' or '.join(f'`{name}`' for name in lists)}; the command has no such limit.",
        )
    return processes.ask(compute, asked.name, given, kind, gone=gone, estimate=estimate)


def _list_lengths(asked: Calculator, given: Mapping[str, Any]) -> dict[str, int]:
    """How many values each list has; a question answers for all combinations of them."""
    if not asked.seconds:
        return {}
    parameters = find_question(asked.command.replace(" ", "_")).parameters
    lists = [name for name in given if name in parameters and parameters[name].kind in ("numbers", "counts")]
    lengths = {name: len(parameters[name].checked(given[name])) for name in lists if absent(given[name]) is not None}
    return {name: length for name, length in lengths.items() if length > 1}


for each in CALCULATORS.values():
    router.add_api_route(
        f"/{each.name}.json",
        _json(each),
        summary=each.title,
        response_model=ResultAnswer,
        tags=["calculator"],
        responses={**FAULTS, **BUSY},
    )


@pages.get("/", include_in_schema=False)
def start(request: Request, gone: Gone) -> Response:
    return calculator_page(request, "size", gone)


@pages.get("/{name}.{kind}", include_in_schema=False)
def calculator_file(request: Request, name: str, kind: str, gone: Gone) -> Response:
    asked = _calculator(name)
    if kind not in MEDIA:
        raise HTTPException(404)
    found = _ask(request, asked, parse(asked.query, dict(request.query_params)), kind, gone)
    if found is None:
        raise HTTPException(404)
    return as_file(found, kind, name)


@pages.get("/{name}", include_in_schema=False)
def calculator_page(request: Request, name: str, gone: Gone) -> Response:
    asked = _calculator(name)
    given: dict[str, Any] = dict(request.query_params)
    typed = given or asked.example.model_dump(exclude_none=True, exclude_defaults=True)
    is_part = request.headers.get("x-part") == "answer"
    filled: dict[str, str] = {}
    if name == "size" and not is_part:  # while somebody types, a field may be empty for a moment
        typed, filled = with_examples(typed)
    status, said = 200, ""
    try:
        shown = _ask(request, asked, parse(asked.query, typed), PAGE, gone)
    except CranfieldError as error:
        fault = Fault.of(error).spoken(labels_of(asked.query))
        status, said, shown = status_of(error), f"{fault.what} {fault.fix}", render("fault.html", fault=fault)
    if is_part:
        return HTMLResponse(shown)  # half a number is no failure while somebody types
    typed = typed | ({"goal": typed.get("goal") or _goal(typed)} if name == "size" else {})
    page = render(
        asked.template,
        here=name,
        asked=asked,
        query=typed,
        answer=shown,
        goals=GOALS,
        goal_inputs=SHOWN_INPUTS,
        form=make_form(asked.query, typed, said),
        filled=[label for name, label in labels_of(asked.query).items() if name in filled],
    )
    return HTMLResponse(page, status)


def with_examples(typed: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What was typed, with examples in the empty fields that a chosen goal needs; and those examples.

    >>> with_examples({"goal": "width", "variance": "0.05"})
    ({'goal': 'width', 'variance': '0.05', 'width': '0.1'}, {'width': '0.1'})
    """
    goal = typed.get("goal")
    if goal not in GOALS:
        return typed, {}
    # A standard deviation that the goal has no use for would contradict a variance under the next goal.
    unused = {"sd", "variance"} - set(GOAL_INPUTS[goal])
    if typed.get("curve") in GOAL_FIELDS - set(GOAL_INPUTS[goal]):
        unused.add("curve")
    kept = {name: value for name, value in typed.items() if name not in unused and absent(value) is not None}
    needed = dict(EXAMPLES["goal"][goal])
    for choice in ("replicates", "test"):
        if choice in GOAL_INPUTS[goal]:
            needed |= EXAMPLES[choice].get(kept.get(choice, ""), {})
    filled = {
        name: value
        for name, value in needed.items()
        if name not in kept and not any(other in kept for other in INSTEAD.get(name, ()))
    }
    return kept | filled, filled


def _calculator(name: str) -> Calculator:
    if name not in CALCULATORS:
        raise HTTPException(404)
    return CALCULATORS[name]


def _goal(typed: dict[str, Any]) -> str:
    return next((goal for goal in GOALS if typed.get(goal)), "difference")
