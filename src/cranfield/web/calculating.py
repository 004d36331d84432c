"""The calculators' pages: /size and /power."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from cranfield.errors import CranfieldError
from cranfield.web import calculator
from cranfield.web.downloads import ResultAnswer, file_response, links_of
from cranfield.web.faults import FAULTS, Fault, parse
from cranfield.web.page import Answer, render
from cranfield.web.queries import PowerQuery, SizeQuery

router = APIRouter()
Answering = Callable[[Any], Answer]
GOAL_INPUTS = {
    "inputs": calculator.GOAL_INPUTS,
    "all": sorted({name for names in calculator.GOAL_INPUTS.values() for name in names}),
}


@router.get("/", include_in_schema=False)
@router.get("/size", include_in_schema=False)
def size_page(request: Request) -> Response:
    return _page(request, "size", SizeQuery, calculator.size_answer, calculator.EXAMPLE)


@router.get("/size.json", response_model=ResultAnswer, responses=FAULTS, summary="How many topics", tags=["calculator"])
def size_json(query: Annotated[SizeQuery, Query()]) -> Response:
    """As ``cranfield size --json``."""
    return file_response(calculator.size_answer(query, drawn=False), "json", "size")


@router.get("/size.{kind}", include_in_schema=False)
def size_file(request: Request, kind: str) -> Response:
    query = parse(SizeQuery, dict(request.query_params))
    return file_response(calculator.size_answer(query), kind, "size")


@router.get("/power", include_in_schema=False)
def power_page(request: Request) -> Response:
    return _page(request, "power", PowerQuery, calculator.power_answer, calculator.EXAMPLE_CARD)


@router.get("/power.json", response_model=ResultAnswer, responses=FAULTS, summary="What so many topics see",
            tags=["calculator"])  # fmt: skip
def power_json(query: Annotated[PowerQuery, Query()]) -> Response:
    """As ``cranfield power --json``."""
    return file_response(calculator.power_answer(query), "json", "power")


@router.get("/power.{kind}", include_in_schema=False)
def power_file(request: Request, kind: str) -> Response:
    query = parse(PowerQuery, dict(request.query_params))
    return file_response(calculator.power_answer(query), kind, "power")


def _page(request: Request, name: str, model: type[BaseModel], answer: Answering, example: BaseModel) -> Response:
    given: dict[str, Any] = dict(request.query_params)
    typed = given or example.model_dump(exclude_none=True, exclude_defaults=True)
    status = 200
    try:
        query = parse(model, typed)
        found = answer(query)
        shown = found.html(links_of(f"/{name}", query, found))
    except CranfieldError as error:
        status, shown = 400, render("fault.html", fault=Fault.of(error))
    if request.headers.get("x-part") == "answer":
        return HTMLResponse(shown)  # half a number is no failure while somebody types
    typed = typed | {"goal": typed.get("goal") or _goal(typed)}
    page = render(
        f"{name}.html", here=name, query=typed, answer=shown, goals=calculator.GOALS,
        goal_inputs=json.dumps(GOAL_INPUTS), goal_inputs_of=calculator.GOAL_INPUTS,
    )  # fmt: skip
    return HTMLResponse(page, status)


def _goal(typed: dict[str, Any]) -> str:
    return next((goal for goal in calculator.GOALS if typed.get(goal)), "min_range")
