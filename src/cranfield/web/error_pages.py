"""What went wrong, as a page and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError, RequestError, say_as_share, speak
from cranfield.web.forms import PAGE_TITLES
from cranfield.web.guard import BodyError
from cranfield.web.page import render

HINTS = {
    404: "It may have been removed, or the link is of a server that has been stopped since.",
    405: "Use the links and buttons of the pages.",
    408: "Send it again.",
    503: "Ask again in a few seconds.",
    413: "Send less at a time, pack the collection first (cranfield pack), or start the server with --max-upload.",
}


@dataclass(frozen=True)
class Fault:
    """What is wrong, where, and what to do."""

    what: str
    where: str = ""
    fix: str = ""

    @classmethod
    def of(cls, error: CranfieldError) -> Fault:
        """An error, in the words of Python still."""
        return cls(error.what, error.where, error.fix)

    def spoken(self, labels: Mapping[str, str] | None = None) -> Fault:
        """In the words of a page, where ``labels`` are those of its fields."""
        return Fault(speak(self.what, "page", labels), self.where, speak(self.fix, "page", labels))


class TooMuchError(RequestError):
    """A question that takes more time or memory than there is for it."""


def status_of(error: CranfieldError) -> int:
    return 422 if isinstance(error, TooMuchError) else 400


class FaultDetails(BaseModel):
    what: str
    where: str = ""
    fix: str = ""


class FaultAnswer(BaseModel):
    """Every refusal: what is wrong, where, and what to do."""

    error: FaultDetails


FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": FaultAnswer, "description": "The request makes no sense; the answer says why"},
    422: {"model": FaultAnswer, "description": "A parameter that cannot be what it is, or more work than is done here"},
}
BUSY: dict[int | str, dict[str, Any]] = {
    503: {"model": FaultAnswer, "description": "Too much is being computed at the moment; ask again later"}
}
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": FaultAnswer, "description": "There is no such thing (any more)"}
}


def from_validation(errors: list[Any]) -> Fault:
    """Pydantic's complaint in our words."""
    first = errors[0]
    name = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "body"))[:60] or "the request"
    if first["type"] == "extra_forbidden":
        return Fault(f"there is no parameter «{name}»", fix="/api lists those there are.")
    if first["type"] == "missing":
        return Fault(f"`{name}` is missing", fix=f"Fill in `{name}`.")
    given = str(first["input"])[:60]
    fix = "The decimal separator is a point: 0.05." if COMMA.fullmatch(given) else say_as_share(given)
    return Fault(f"`{name}` must be {_wanted(first)}, not «{given}»", fix=fix)


COMMA = re.compile(r"-?\d+,\d+")
_LIMITS = {
    "greater_than": "above",
    "greater_than_equal": "at least",
    "less_than": "below",
    "less_than_equal": "at most",
}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def _wanted(error: Mapping[str, Any]) -> str:
    """What a parameter has to be, in the words of the library."""
    if error["type"] in _LIMITS:
        (limit,) = error["ctx"].values()
        return f"{_LIMITS[error['type']]} {limit:,g}"
    if error["type"] == "literal_error":
        return f"one of: {error['ctx']['expected'].replace(chr(39), '')}"
    return _KINDS.get(error["type"].partition("_")[0], "something else")


def parse(model: type[BaseModel], given: dict[str, Any]) -> Any:
    """The query of a page; CranfieldError where it makes no sense."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        fault = from_validation(list(error.errors()))
        raise CranfieldError(fault.what, fix=fault.fix) from None


def wants_json(request: Request) -> bool:
    return request.url.path.endswith(".json") or "application/json" in request.headers.get("accept", "")


def respond(
    request: Request,
    status: int,
    fault: Fault,
    back: str = "/",
    also: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Response:
    """A refusal as the asker reads it; ``back`` is where a page leads from there, ``also`` where else.

    A page calls its fields by their ``labels``, JSON by their names.
    """
    if wants_json(request):
        return JSONResponse({"error": asdict(fault.spoken())}, status)
    said = fault.spoken(PAGE_TITLES if labels is None else labels)
    return HTMLResponse(render("error.html", fault=said, here="", back=back, also=also or {}), status)


def add_handlers(app: FastAPI) -> None:
    @app.exception_handler(CranfieldError)
    async def refused(request: Request, error: CranfieldError) -> Response:
        return respond(request, status_of(error), Fault.of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        fault = from_validation(list(error.errors()))
        return respond(request, 422, replace(fault, fix=fault.fix or "/api says what it takes."))

    @app.exception_handler(BodyError)
    async def too_much(request: Request, error: BodyError) -> Response:
        answer = respond(
            request, error.status, Fault(str(error), fix=HINTS.get(error.status, "Upload the files again."))
        )
        answer.headers["connection"] = "close"  # the rest of the body is not wanted
        return answer

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        what = "there is no such page" if error.status_code == 404 else str(error.detail)
        answer = respond(request, error.status_code, Fault(what, fix=HINTS.get(error.status_code, "")))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        fault = Fault(f"this should not happen: {type(error).__name__}", fix="It is a fault in cranfield.")
        return respond(request, 500, fault)
