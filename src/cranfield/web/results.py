"""Questions about uploaded data, each a page and a JSON answer."""

from __future__ import annotations

import hashlib
import shutil
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError
from cranfield.web import queries, work
from cranfield.web.data import WAIT, Known, not_read, reading, runner_of, tasks
from cranfield.web.downloads import ResultAnswer, as_file, asked
from cranfield.web.faults import FAULTS, NOT_FOUND, Fault, parse, respond
from cranfield.web.jobs import JobAnswer, progress_page
from cranfield.web.page import MEDIA, render
from cranfield.web.runner import Job, Runner
from cranfield.web.store import Data

router = APIRouter()
TITLES = {
    "score": "Scores",
    "variance": "Variances",
    "size": "How many topics",
    "power": "What its topics see",
    "compare": "Which systems differ",
    "shards": "Shards",
}
ANSWERS: dict[str, Any] = {
    "response_model": ResultAnswer,
    "tags": ["data"],
    "responses": {202: {"model": JobAnswer, "description": "Still at work: ask again"}, **FAULTS, **NOT_FOUND},
}


@router.get("/data/{key}/score.json", summary="Mean scores", **ANSWERS)
def score_json(request: Request, data: Known, query: Annotated[queries.ScoreQuery, Query()]) -> Response:
    """As ``cranfield score --json``."""
    return _file(request, data, "score", "json", query)


@router.get("/data/{key}/variance.json", summary="Estimates of the variance", **ANSWERS)
def variance_json(request: Request, data: Known, query: Annotated[queries.VarianceQuery, Query()]) -> Response:
    """As ``cranfield variance --json``."""
    return _file(request, data, "variance", "json", query)


@router.get("/data/{key}/size.json", summary="How many topics, with the variance of the data", **ANSWERS)
def size_json(request: Request, data: Known, query: Annotated[queries.PilotSizeQuery, Query()]) -> Response:
    """As ``cranfield size SCORES --json``."""
    return _file(request, data, "size", "json", query)


@router.get("/data/{key}/power.json", summary="What the topics of the data see", **ANSWERS)
def power_json(request: Request, data: Known, query: Annotated[queries.PilotPowerQuery, Query()]) -> Response:
    """As ``cranfield power SCORES --json``."""
    return _file(request, data, "power", "json", query)


@router.get("/data/{key}/compare.json", summary="Which systems differ", **ANSWERS)
def compare_json(request: Request, data: Known, query: Annotated[queries.CompareQuery, Query()]) -> Response:
    """As ``cranfield compare --json``."""
    return _file(request, data, "compare", "json", query)


@router.get("/data/{key}/shards.json", summary="What shards of the documents tell about systems", **ANSWERS)
def shards_json(request: Request, data: Known, query: Annotated[queries.ShardsQuery, Query()]) -> Response:
    """As ``cranfield shards --json``."""
    return _file(request, data, "shards", "json", query)


@router.get("/data/{key}/{task}.{kind}", include_in_schema=False)
def result_file(request: Request, data: Known, task: str, kind: str) -> Response:
    model = _model(task)
    waiting = not_read(request, data, reading(request, data))
    return waiting or _file(request, data, task, kind, parse(model, given(request, data, task)))


@router.get("/data/{key}/{task}", include_in_schema=False)
def result_page(request: Request, data: Known, task: str) -> Response:
    model = _model(task)
    waiting = not_read(request, data, reading(request, data))
    if waiting is not None:
        return waiting
    typed = given(request, data, task)
    try:
        query = parse(model, typed or DEFAULTS.get(task, {}))
        job = _job(request, data, task, query)
    except CranfieldError as error:
        return _page(data, task, typed, render("fault.html", fault=Fault.of(error)), 400)
    if job.is_open:
        return progress_page(request, job, f"/data/{data.key}")
    if job.state != "done":
        return _page(data, task, typed, render("fault.html", fault=job.fault or CANCELLED), 400)
    shown = (data.folder / job.id / "answer").read_text(encoding="utf-8")
    return _page(data, task, typed or DEFAULTS.get(task, {}), shown, 200)


CANCELLED = Fault("the work was cancelled", fix="Send the form again to start it anew.")
DEFAULTS: dict[str, dict[str, Any]] = {"size": {"goal": "difference", "difference": "0.05"}}


def given(request: Request, data: Data, task: str) -> dict[str, Any]:
    """The query of an address, repeated names as lists; measures of a collection may also stand side by side."""
    several = {name for name, each in _model(task).model_fields.items() if "list" in str(each.annotation)}
    asked_for = request.query_params
    found: dict[str, Any] = {
        name: asked_for.getlist(name) if name in several else asked_for[name] for name in asked_for
    }
    if data.about["kind"] == "collection" and isinstance(found.get("measure"), list):
        found["measure"] = [word for each in found["measure"] for word in each.split()]
    return found


def _model(task: str) -> type[queries.Query]:
    if task not in queries.QUERIES:
        raise HTTPException(404)
    return queries.QUERIES[task]


def _job(request: Request, data: Data, task: str, query: queries.Query) -> Job:
    """The work that answers a query, started when it is asked for the first time, waited for a moment."""
    if task not in tasks(data):
        raise CranfieldError(
            f"there is no «{task}» for this data", fix="The links on the page of the data lead to all."
        )
    address = asked(query)
    name = hashlib.sha256(f"{data.key} {task} {address}".encode()).hexdigest()[:32]
    page = f"/data/{data.key}/{task}"
    runner = runner_of(request)
    if runner.get(name) is None:
        _make_room(runner, data)
    job = runner.start(
        name, data.key, TITLES[task], work.answer, data.folder, task, page, address, data.about, query, name
    )
    job.ended.wait(WAIT)
    return job


MOST_OPEN, MOST_KEPT = 20, 200  # questions about one upload


def _make_room(runner: Runner, data: Data) -> None:
    """Old answers go when there are many; nobody asks for everything at once."""
    there = [job for job in runner.of(data.key) if job.id != f"{data.key}-read"]
    if sum(job.is_open for job in there) >= MOST_OPEN:
        raise CranfieldError("too much is being worked on for this data", fix="Wait for some of it, or cancel some.")
    finished = [job for job in there if not job.is_open]
    for job in finished[: max(0, len(finished) - MOST_KEPT + 1)]:
        runner.drop(job)
        shutil.rmtree(data.folder / job.id, ignore_errors=True)


def _file(request: Request, data: Data, task: str, kind: str, query: queries.Query) -> Response:
    waiting = not_read(request, data, reading(request, data))
    if waiting is not None:
        return waiting
    job = _job(request, data, task, query)
    if job.is_open:
        return progress_page(request, job, f"/data/{data.key}")
    if job.state != "done":
        return respond(request, 400, job.fault or CANCELLED, f"/data/{data.key}")
    path = data.folder / job.id / kind
    if kind not in MEDIA or not path.exists():
        raise HTTPException(404)
    return as_file(path.read_bytes(), kind, task)


def _page(data: Data, task: str, typed: dict[str, Any], shown: str, status: int) -> Response:
    page = render(
        "result.html", here="data", data=data, about=data.about, tasks=tasks(data), task=task, title=TITLES[task],
        titles=TITLES, query=typed, answer=shown,
    )  # fmt: skip
    return HTMLResponse(page, status)
