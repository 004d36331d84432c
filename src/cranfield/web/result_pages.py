"""Questions about uploaded data, each a page and a JSON answer; all made from the list of questions."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError, RequestError
from cranfield.rendering.report_page import served_policy
from cranfield.web import page_list
from cranfield.web.data import (
    WAIT,
    JobAnswer,
    Known,
    not_read,
    progress_page,
    reading,
    runner_of,
    start_reading,
    store_of,
)
from cranfield.web.error_pages import FAULTS, NOT_FOUND, Fault, parse, respond
from cranfield.web.forms import labels_of, make_form
from cranfield.web.page import ResultAnswer, as_file, asked, render
from cranfield.web.page_list import QUESTIONS, WITHOUT_DATA, askable, grouped
from cranfield.web.page_maker import NEW_STUDY, DataPage
from cranfield.web.runner import Job, Runner
from cranfield.web.upload_form import Received
from cranfield.web.uploads import Data

router = APIRouter()
ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"model": JobAnswer, "description": "Still at work: ask again"},
    **FAULTS,
    **NOT_FOUND,
}


def _nothing(request: Request) -> Data:
    return store_of(request).nothing


Nothing = Annotated[Data, Depends(_nothing)]


def _json(question: DataPage, source: Any) -> Callable[..., Response]:
    """The JSON answer of a question, with its parameters as the document of the interface lists them."""

    def endpoint(request: Request, data: Data, query: Any) -> Response:
        return _waiting(request, data, question) or _file(request, data, question, "json", query)

    endpoint.__name__ = f"{question.name.replace('-', '_')}_json"
    endpoint.__doc__ = f"As ``cranfield {question.command} --json``."
    endpoint.__annotations__ = {
        "request": Request,
        "data": source,
        "query": Annotated[question.query, Query()],
        "return": Response,
    }
    return endpoint


for folder, questions, source in (("/data/{key}", QUESTIONS, Known), ("", WITHOUT_DATA, Nothing)):
    for each in questions.values():
        router.add_api_route(
            f"{folder}/{each.name}.json",
            _json(each, source),
            summary=each.summary,
            response_model=ResultAnswer,
            tags=["data" if folder else "calculator"],
            responses=ANSWERS,
        )


@router.get("/data/{key}/report/open", include_in_schema=False)
def open_report(request: Request, data: Known) -> Response:
    """The whole report as the document it is: its own scripts run, in a place of their own, and nothing else does."""
    found = result_file(request, data, "report", "html")
    if found.status_code == 200:
        found.headers["content-disposition"] = "inline"
        found.headers["content-security-policy"] = served_policy()
    return found


@router.get("/data/{key}/{name}.{kind}", include_in_schema=False)
def result_file(request: Request, data: Known, name: str, kind: str) -> Response:
    question = _question(data, name)
    waiting = _waiting(request, data, question)
    return waiting or _file(request, data, question, kind, parse(question.query, given(request, data, question)))


@router.get("/data/{key}/{name}", include_in_schema=False)
def result_page(request: Request, data: Known, name: str) -> Response:
    question = _question(data, name)
    waiting = _waiting(request, data, question)
    if waiting is not None:
        return waiting
    typed, labels = given(request, data, question), labels_of(question.query)
    shown = typed or question.example(data.about)
    if ENDED in request.query_params:
        fault = Fault("Cancelled.", fix="Press «Answer» to start again.")
        return _page(data, question, shown, render("fault.html", fault=fault), 200)
    if question.waits and not request.query_params:
        return _page(data, question, shown, "", 200)
    try:
        query = parse(question.query, shown)
        is_said = asked(query) or not question.waits
        if is_said and any(value in ("", [""]) for value in typed.values()):  # a link to keep has only what was said
            return RedirectResponse(f"{data.link}/{name}{asked(query)}", 303)
        job = _job(request, data, question, query)
    except CranfieldError as error:
        return _refused(data, question, shown, Fault.of(error).spoken(labels))
    if job.is_open:
        return progress_page(request, job, data.link or "/")
    if job.state != "done":
        return _refused(data, question, shown, (job.fault or CANCELLED).spoken(labels))
    return _page(data, question, shown, (data.folder / job.id / page_list.SHOWN).read_text(encoding="utf-8"), 200)


@router.post("/data/{key}/{name}.study", include_in_schema=False)
def continue_study(request: Request, data: Known, name: str) -> Response:
    """The study with its new step, as if it had been downloaded and uploaded again."""
    question = _question(data, name)
    query = parse(question.query, given(request, data, question))
    step = _waiting(request, data, question) or _path(request, data, question, "study", query)
    if isinstance(step, Response):
        return step
    store, file = store_of(request), data.about["study"] or NEW_STUDY
    new = store.create()
    shutil.copy(step, new.files / file)
    store.keep(new, step.stat().st_size)
    start_reading(request, new, Received({}, [file]))
    return RedirectResponse(new.link, 303)


def _without_data(name: str) -> None:
    """The addresses of a question that needs no data."""

    def page(request: Request, data: Nothing) -> Response:
        return result_page(request, data, name)

    def file(request: Request, data: Nothing, kind: str) -> Response:
        return result_file(request, data, name, kind)

    def go_on(request: Request, data: Nothing) -> Response:
        return continue_study(request, data, name)

    router.add_api_route(f"/{name}", page, include_in_schema=False)
    router.add_api_route(f"/{name}.study", go_on, methods=["POST"], include_in_schema=False)
    router.add_api_route(f"/{name}.{{kind}}", file, include_in_schema=False)


for each in WITHOUT_DATA.values():
    _without_data(each.name)


CANCELLED = Fault("the work was cancelled", fix="Send the form again to start it anew.")
ENDED = "cancelled"  # in the address of a form whose work was cancelled, so that it does not start again


def given(request: Request, data: Data, question: DataPage) -> dict[str, Any]:
    """The query of an address, repeated names as lists; one field may also name several."""
    several = {name for name, each in question.query.model_fields.items() if "list" in str(each.annotation)}
    asked_for = request.query_params
    found: dict[str, Any] = {
        name: asked_for.getlist(name) if name in several else asked_for[name] for name in asked_for if name != ENDED
    }
    known = {"measure": data.about["measures"], "baseline": data.about["systems"], "candidate": data.about["systems"]}
    for name in several & set(found):
        found[name] = [word for each in found[name] for word in _names(each, known.get(name, ()))] or [""]
    return found


def _names(text: str, known: Sequence[str]) -> list[str]:
    """The names in a field, separated by commas or blanks; a name that is ``known`` may have some within.

    >>> _names("a, b c", ["a, b c"]), _names("a, b c", ["a", "b c"]), _names("AP nDCG@10", [])
    (['a, b c'], ['a', 'b c'], ['AP', 'nDCG@10'])
    """
    words = [word.strip(",") for word in text.split()]
    ways = ([text], [each.strip() for each in text.split(",")], words) if known else ()
    return next((names for names in ways if set(names) <= set(known)), [text] if known else words)


def _question(data: Data, name: str) -> DataPage:
    there = WITHOUT_DATA if not data.key else QUESTIONS
    if name not in there:
        raise HTTPException(404)
    return there[name]


def _waiting(request: Request, data: Data, question: DataPage) -> Response | None:
    """What to answer while data is not there; files that cannot be read can still be asked why."""
    if not data.key:
        return None
    job = reading(request, data)
    if job.state == "failed" and "files" in question.of and data.is_known:
        return None
    return not_read(request, data, job)


def _job(request: Request, data: Data, question: DataPage, query: Any) -> Job:
    """The work that answers a query, started when it is asked for the first time, waited for a moment."""
    if question not in askable(data.about):
        raise CranfieldError(
            f"there is no «{question.name}» for this data", fix="The links on the page of the data lead to all."
        )
    address = asked(query)
    name = hashlib.sha256(f"{data.key} {question.name} {address}".encode()).hexdigest()[:32]
    runner = runner_of(request)
    if runner.get(name) is None:
        _make_room(runner, data)
    job = runner.start(
        name,
        data.key,
        question.title,
        page_list.answer,
        data.folder,
        question.name,
        f"{data.link}/{question.name}",
        address,
        data.about,
        query.model_dump(exclude_unset=True),
        name,
    )
    job.back = f"{data.link}/{question.name}{address}{'&' if address else '?'}{ENDED}="
    job.ended.wait(WAIT)
    return job


MOST_OPEN, MOST_KEPT = 20, 200  # questions about one upload


def _make_room(runner: Runner, data: Data) -> None:
    """Old answers go when there are many; nobody asks for everything at once."""
    there = [job for job in runner.of(data.key) if job.id != f"{data.key}-read"]
    _refuse_more(there)
    finished = [job for job in there if not job.is_open]
    for job in finished[: max(0, len(finished) - MOST_KEPT + 1)]:
        runner.drop(job)
        shutil.rmtree(data.folder / job.id, ignore_errors=True)


def _refuse_more(there: Sequence[Job]) -> None:
    if sum(job.is_open for job in there) >= MOST_OPEN:
        raise HTTPException(
            503, "too much is being worked on for this data: wait for some of it, or cancel some", {"retry-after": "10"}
        )


def _file(request: Request, data: Data, question: DataPage, kind: str, query: Any) -> Response:
    found = _path(request, data, question, kind, query)
    return found if isinstance(found, Response) else as_file(found, kind, question.name)


def _path(request: Request, data: Data, question: DataPage, kind: str, query: Any) -> Path | Response:
    """A file of an answer; or what to respond where it is not there yet, or never will be."""
    job = _job(request, data, question, query)
    back = data.link or "/"
    if job.is_open:
        return progress_page(request, job, back)
    if job.state != "done":
        return respond(request, 400, job.fault or CANCELLED, back, labels=labels_of(question.query))
    if kind not in (data.folder / job.id / page_list.KINDS).read_text(encoding="utf-8").split():
        raise HTTPException(404)
    path = data.folder / job.id / kind
    if not path.exists() and not (data.folder / job.id / page_list.SLOW).exists():
        with suppress(RequestError, HTTPException):  # it takes too long, or others compute: then it is work of its own
            request.app.state.calculators.ask(page_list.render_file, str(data.folder / job.id), kind)
    if not path.exists():
        made = _render(request, data, job, kind)
        if made.is_open:
            return progress_page(request, made, back)
        if made.state != "done":
            return respond(request, 400, made.fault or CANCELLED, back)
    return path


PATIENCE = 60  # seconds for a file: a browser that downloads it waits, and shows no page meanwhile


def _render(request: Request, data: Data, answered: Job, kind: str) -> Job:
    """The work that makes one file of an answer: a PDF starts a browser, and JSON does not."""
    runner, name = runner_of(request), f"{answered.id}-{kind}"
    there = runner.get(name)
    if there is not None and not there.is_open:  # of an answer that was dropped since
        runner.drop(there)
    elif there is None:
        _refuse_more(runner.of(data.key))
    job = runner.start(
        name, data.key, f"{answered.text} as {kind}", page_list.render_file, data.folder, answered.id, kind
    )
    job.back = answered.back.removesuffix(f"{ENDED}=").rstrip("?&")  # the answer is there
    job.ended.wait(PATIENCE)
    return job


def _refused(data: Data, question: DataPage, typed: dict[str, Any], fault: Fault) -> Response:
    return _page(data, question, typed, render("fault.html", fault=fault), 400, said=f"{fault.what} {fault.fix}")


def _page(data: Data, question: DataPage, typed: dict[str, Any], shown: str, status: int, said: str = "") -> Response:
    page = render(
        "result.html",
        here="data" if data.key else question.name,
        data=data,
        about=data.about,
        groups=grouped(data.about),
        question=question,
        form=make_form(question.query, typed, said),
        answer=shown,
    )
    return HTMLResponse(page, status)
