"""Uploading data, what was found in it, and how far the work on it is."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError, RequestError
from cranfield.scores.columns import Columns
from cranfield.web.error_pages import FAULTS, NOT_FOUND, Fault, FaultAnswer, respond, wants_json
from cranfield.web.guard import BodyError
from cranfield.web.page import render
from cranfield.web.page_list import askable, grouped
from cranfield.web.runner import Job, Runner
from cranfield.web.upload_form import Received, receive
from cranfield.web.uploads import PACKED, Data, Preview, Store, preview, read

router = APIRouter()


class JobAnswer(BaseModel):
    """How far a piece of work is."""

    job: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    done: int
    total: int
    text: str
    seconds: float


JobId = Annotated[str, Path(max_length=100, description="The id of a job, as an answer 202 has it.")]


def job_of(request: Request, job: str) -> Job:
    runner: Runner = request.app.state.runner
    found = runner.get(job)
    if found is None:
        raise HTTPException(404)
    return found


@router.get(
    "/jobs/{job}.json",
    response_model=JobAnswer,
    summary="How far a job is",
    tags=["jobs"],
    responses={**FAULTS, **NOT_FOUND},
)
def job_json(request: Request, job: JobId) -> Response:
    """``done`` of ``total`` where that is known; ask again for the page itself when the state is done or failed."""
    return JSONResponse(job_of(request, job).to_dict())


@router.post(
    "/jobs/{job}/cancel",
    status_code=303,
    summary="End a job",
    tags=["jobs"],
    response_model=None,
    responses={303: {"description": "Ended; leads to the form that started it"}, **FAULTS, **NOT_FOUND},
)
def cancel(request: Request, job: JobId) -> Response:
    """At once, and for good; asking the same question again starts it anew."""
    found = job_of(request, job)
    runner: Runner = request.app.state.runner
    runner.cancel(found)
    if found.id == f"{found.owner}-read":  # there is nothing without it
        data = request.app.state.store.get(found.owner)
        runner.forget(found.owner)
        if data is not None:
            request.app.state.store.remove(data)
        return RedirectResponse("/data", 303)
    return RedirectResponse(found.back or "/", 303)


def progress_page(request: Request, job: Job, back: str) -> Response:
    """Not done yet: how far, and a way to end it."""
    if wants_json(request):
        return JSONResponse(job.to_dict(), 202, {"location": f"/jobs/{job.id}.json"})
    return HTMLResponse(
        render("progress.html", here="data" if job.owner else "", job=job, state=job.to_dict(), back=job.back or back),
        202,
    )


WAIT = 1.0  # seconds a page waits for its answer before it shows how far the work is
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "order": {"type": "string", "enum": ["score", "rank"], "default": "score"},
                        "name": {"type": "string", "enum": ["auto", "tag", "file"], "default": "auto"},
                        "study": {"type": "string", "description": "The key of an upload with a study to add to."},
                        "columns": {
                            "type": "string",
                            "description": "What the columns of score files are, where they have other names.",
                            "example": "topic=question,system=model,score=faithfulness",
                        },
                    },
                }
            }
        },
    }
}
LIMITS: dict[int | str, dict[str, Any]] = {
    408: {"model": FaultAnswer, "description": "The upload stopped coming"},
    413: {"model": FaultAnswer, "description": "More than the server takes"},
}


class UploadAnswer(BaseModel):
    """Where an upload is."""

    key: str
    link: str
    json_link: str


class DataAnswer(BaseModel):
    """What was found in an upload."""

    key: str
    kind: Literal["scores", "shards", "collection", "study"]
    names: list[str]
    systems: list[str]
    topics: int
    measures: list[str]
    shards: int
    judgments: int | None
    teams: int
    warnings: list[str]
    links: list[str]


def store_of(request: Request) -> Store:
    found: Store = request.app.state.store
    return found


def runner_of(request: Request) -> Runner:
    found: Runner = request.app.state.runner
    return found


Key = Annotated[str, Path(max_length=64, description="The key of an upload.")]


def data_of(request: Request, key: Key) -> Data:
    found = store_of(request).get(key)
    if found is None:
        raise HTTPException(404)
    return found


Known = Annotated[Data, Depends(data_of)]


@router.get("/data", include_in_schema=False)
def upload_page(request: Request) -> Response:
    return HTMLResponse(render("data.html", here="data", settings=request.app.state.settings))


@router.post(
    "/data",
    response_model=UploadAnswer,
    status_code=201,
    summary="Upload files",
    tags=["data"],
    openapi_extra=UPLOAD,
    responses={**FAULTS, **LIMITS},
)
async def upload(request: Request) -> Response:
    """Runs with their judgments, score tables, or one packed file; gzip is unpacked. Send the header
    ``Accept: application/json`` for JSON; a browser is sent to the page of the data."""
    settings, store = request.app.state.settings, store_of(request)
    if store.size > settings.max_kept:
        raise BodyError(413, "the server keeps too many uploads already: remove some")
    data = await run_in_threadpool(store.create)
    try:
        received = await receive(
            request.headers.get("content-type", ""),
            request.stream(),
            data.files,
            max_files=settings.max_files,
            max_unpacked=settings.max_unpacked,
        )
        _check(received)
        await run_in_threadpool(_bring_study, store, received, data)
    except BaseException:  # also when the browser goes away in the middle
        await run_in_threadpool(store.remove, data)
        raise
    store.keep(data, received.bytes)
    start_reading(request, data, received)
    link = f"/data/{data.key}"
    if wants_json(request):
        return JSONResponse({"key": data.key, "link": link, "json_link": f"{link}.json"}, 201, {"location": link})
    return RedirectResponse(link, 303)


def check_columns(columns: str) -> None:
    """Refuse what cannot be columns now, not when the files are read."""
    if columns:
        Columns.of(columns)


def _check(received: Received) -> None:
    order, name = received.fields.get("order", "score"), received.fields.get("name", "auto")
    if not received.files:
        raise CranfieldError("no file was chosen", fix="Choose runs with their qrels, score tables, or a packed file.")
    if order not in ("score", "rank") or name not in ("auto", "tag", "file"):
        raise CranfieldError("order is score or rank; name is auto, tag or file")
    check_columns(received.fields.get("columns", "").strip())


def _bring_study(store: Store, received: Received, data: Data) -> None:
    """Put the study that an upload is for beside its files."""
    if key := received.fields.get("study", ""):
        there = store.get(key)
        if there is None or not there.is_known or not there.about["study"]:
            raise CranfieldError("the study is not there any more", fix="Upload its file together with the scores.")
        file = there.about["study"]
        if file in received.files:
            raise CranfieldError(f"«{file}» is what the study is called", fix="Give the scores another name.")
        shutil.copy(there.files / file, data.files / file)
        received.files.append(file)


def start_reading(request: Request, data: Data, received: Received) -> Job:
    usual = {"order": "score", "name": "auto", "columns": ""}
    options = [received.fields.get(field, value).strip() for field, value in usual.items()]
    return runner_of(request).start(
        f"{data.key}-read", data.key, "Reading files", read, data.folder, received.files, *options
    )


def reading(request: Request, data: Data) -> Job:
    """The job that reads an upload, waited for a moment."""
    job = runner_of(request).get(f"{data.key}-read")
    if job is None:
        raise HTTPException(404)
    job.ended.wait(WAIT)
    return job


def not_read(request: Request, data: Data, job: Job) -> Response | None:
    """What to answer while data is not there; None when it is."""
    if job.is_open:
        return progress_page(request, job, f"/data/{data.key}")
    if job.state == "done":
        return None
    fault = job.fault or Fault("reading was cancelled", fix="Upload the files again.")
    also = {"Everything that is odd about these files": f"/data/{data.key}/check"} if data.is_known else {}
    table = None if wants_json(request) else preview_of(request, data)
    if table is not None and (table.is_unclear or data.about["columns"]):
        return RedirectResponse(f"/data/{data.key}/columns", 303)
    also |= {"What its columns are": f"/data/{data.key}/columns"} if table is not None and table.numbers else {}
    return respond(request, 400, fault, "/data", also)


def preview_of(request: Request, data: Data) -> Preview | None:
    """The columns and first rows of a table; None of other files, and where that takes too long."""
    if not data.is_known:
        return None
    with suppress(RequestError):
        found: Preview | None = request.app.state.calculators.ask(preview, str(data.folder), data.about["files"])
        return found
    return None


READING: dict[int | str, dict[str, Any]] = {202: {"model": JobAnswer, "description": "Still being read"}}


@router.get(
    "/data/{key}.json",
    response_model=DataAnswer,
    summary="What was found in an upload",
    tags=["data"],
    responses={**READING, **FAULTS, **NOT_FOUND},
)
def data_json(request: Request, data: Known) -> Response:
    """Counts, names and warnings, and the pages there are; 202 while the files are being read."""
    waiting = not_read(request, data, reading(request, data))
    if waiting is not None:
        return waiting
    about = {name: value for name, value in data.about.items() if name in DataAnswer.model_fields}
    links = [f"/data/{data.key}/{each.name}.json" for each in askable(data.about)]
    return JSONResponse({"key": data.key, **about, "links": links})


@router.get("/data/{key}", include_in_schema=False)
def data_page(request: Request, data: Known) -> Response:
    waiting = not_read(request, data, reading(request, data))
    if waiting is not None:
        return waiting
    return HTMLResponse(render("overview.html", here="data", data=data, about=data.about, groups=grouped(data.about)))


@router.get("/data/{key}/collection.cran", include_in_schema=False)
def packed(request: Request, data: Known) -> Response:
    path = data.folder / PACKED
    if not path.exists():
        raise HTTPException(404)
    return FileResponse(path, media_type="application/octet-stream", filename="collection.cran")


@router.post(
    "/data/{key}/remove",
    status_code=303,
    summary="Remove an upload",
    tags=["data"],
    response_model=None,
    responses={303: {"description": "Gone; leads to the upload page"}, **FAULTS, **NOT_FOUND},
)
def remove(request: Request, data: Known) -> Response:
    """The files, what was computed from them, and whatever is still at work on them."""
    runner_of(request).forget(data.key)
    store_of(request).remove(data)
    return RedirectResponse("/data", 303)
