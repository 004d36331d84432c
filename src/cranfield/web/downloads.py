"""Answers as files, and the links to them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from cranfield.web.page import MEDIA, Answer, download, kinds


class ResultAnswer(BaseModel):
    """What ``--json`` prints; some results have more keys, such as ``pairs``."""

    model_config = ConfigDict(extra="allow")
    inputs: dict[str, Any]
    method: str
    citations: list[str]
    warnings: list[dict[str, Any]]
    seed: int | None
    version: str
    rows: list[dict[str, Any]]


def asked(query: BaseModel) -> str:
    """A query as it stands in an address."""
    pairs = [
        (name, "true" if each is True else each)
        for name, value in query.model_dump(exclude_none=True, exclude_defaults=True).items()
        for each in (value if isinstance(value, list) else [value])
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def links_of(page: str, query: BaseModel, answer: Answer) -> dict[str, str]:
    return {kind: f"{page}.{kind}{asked(query)}" for kind in kinds(answer)}


def file_response(answer: Answer, kind: str, name: str) -> Response:
    if kind not in kinds(answer):
        raise HTTPException(404)
    return as_file(download(answer, kind), kind, name)


def as_file(content: str | bytes, kind: str, name: str) -> Response:
    """JSON is shown, everything else is kept."""
    headers = {} if kind == "json" else {"content-disposition": f'attachment; filename="cranfield-{name}.{kind}"'}
    return Response(content, media_type=MEDIA[kind], headers=headers)
