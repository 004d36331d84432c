"""The calculators' pages: what can be asked without data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError
from cranfield.web import calculator, queries
from cranfield.web.downloads import ResultAnswer, file_response, links_of
from cranfield.web.error_pages import FAULTS, Fault, parse
from cranfield.web.forms import make_form
from cranfield.web.page import Answer, render

router, pages = APIRouter(), APIRouter()  # the pages' addresses are a name and nothing else: they come last
GOAL_INPUTS = {"inputs": calculator.GOAL_INPUTS, "all": sorted(calculator.GOAL_FIELDS)}


@dataclass(frozen=True)
class Calculator:
    """A page that answers while somebody types; ``numbers`` answers without a picture where that is quicker."""

    name: str
    command: str
    title: str
    heading: str
    query: type[queries.Query]
    answer: Callable[[Any], Answer]
    numbers: Callable[[Any], Answer]
    example: queries.Query
    template: str = "calculator.html"


CALCULATORS = {
    each.name: each
    for each in (
        Calculator(
            "size",
            "size",
            "How many topics",
            "How many topics?",
            calculator.SizeQuery,
            calculator.size_answer,
            partial(calculator.size_answer, drawn=False),
            calculator.EXAMPLE,
            "size.html",
        ),
        Calculator(
            "power",
            "power",
            "What topics detect",
            "What does a number of topics detect?",
            calculator.PowerQuery,
            calculator.power_answer,
            calculator.power_answer,
            calculator.EXAMPLE_CARD,
        ),
        Calculator(
            "plans",
            "study plans",
            "Plans of a study",
            "What does every plan of a study take?",
            calculator.PlansQuery,
            calculator.plans_answer,
            calculator.plans_answer,
            calculator.EXAMPLE_PLANS,
        ),
        Calculator(
            "trial",
            "study trial",
            "A trial first",
            "How large a trial?",
            calculator.TrialPlanQuery,
            calculator.trial_answer,
            calculator.trial_answer,
            calculator.EXAMPLE_TRIAL,
        ),
    )
}


def _json(asked: Calculator) -> Callable[..., Response]:
    """The JSON answer of a calculator, with its parameters as the document of the interface lists them."""

    def endpoint(query: Any) -> Response:
        return file_response(asked.numbers(query), "json", asked.name)

    endpoint.__name__ = f"{asked.name}_json"
    endpoint.__doc__ = f"As ``cranfield {asked.command} --json``."
    endpoint.__annotations__ = {"query": Annotated[asked.query, Query()], "return": Response}
    return endpoint


for each in CALCULATORS.values():
    router.add_api_route(
        f"/{each.name}.json",
        _json(each),
        summary=each.title,
        response_model=ResultAnswer,
        tags=["calculator"],
        responses=FAULTS,
    )


@pages.get("/", include_in_schema=False)
def start(request: Request) -> Response:
    return calculator_page(request, "size")


@pages.get("/{name}.{kind}", include_in_schema=False)
def calculator_file(request: Request, name: str, kind: str) -> Response:
    asked = _calculator(name)
    return file_response(asked.answer(parse(asked.query, dict(request.query_params))), kind, name)


@pages.get("/{name}", include_in_schema=False)
def calculator_page(request: Request, name: str) -> Response:
    asked = _calculator(name)
    given: dict[str, Any] = dict(request.query_params)
    typed = given or asked.example.model_dump(exclude_none=True, exclude_defaults=True)
    status = 200
    try:
        query = parse(asked.query, typed)
        found = asked.answer(query)
        shown = found.html(links_of(f"/{name}", query, found))
    except CranfieldError as error:
        status, shown = 400, render("fault.html", fault=Fault.of(error))
    if request.headers.get("x-part") == "answer":
        return HTMLResponse(shown)  # half a number is no failure while somebody types
    typed = typed | ({"goal": typed.get("goal") or _goal(typed)} if name == "size" else {})
    page = render(
        asked.template,
        here=name,
        asked=asked,
        query=typed,
        answer=shown,
        goals=calculator.GOALS,
        goal_inputs=GOAL_INPUTS,
        form=make_form(asked.query, typed),
    )
    return HTMLResponse(page, status)


def _calculator(name: str) -> Calculator:
    if name not in CALCULATORS:
        raise HTTPException(404)
    return CALCULATORS[name]


def _goal(typed: dict[str, Any]) -> str:
    return next((goal for goal in calculator.GOALS if typed.get(goal)), "difference")
