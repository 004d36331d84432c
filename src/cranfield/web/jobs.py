"""How far work is, and ending it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from cranfield.web.error_pages import FAULTS, NOT_FOUND, wants_json
from cranfield.web.page import render
from cranfield.web.runner import Job, Runner

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
    responses={303: {"description": "Ended; leads to the data"}, **FAULTS, **NOT_FOUND},
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
    return RedirectResponse(f"/data/{found.owner}", 303)


def progress_page(request: Request, job: Job, back: str) -> Response:
    """Not done yet: how far, and a way to end it."""
    if wants_json(request):
        return JSONResponse(job.to_dict(), 202, {"location": f"/jobs/{job.id}.json"})
    return HTMLResponse(render("progress.html", here="data", job=job, state=job.to_dict(), back=back), 202)
