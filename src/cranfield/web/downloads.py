"""Answers as files, and the links to them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from cranfield.web.page import ENDINGS, MEDIA, Reply, download


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
        (name, str(each).lower() if isinstance(each, bool) else each)
        for name, value in query.model_dump(exclude_none=True, exclude_defaults=True).items()
        for each in (value if isinstance(value, list) else [value])
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def links_of(page: str, query: BaseModel, answer: Reply) -> dict[str, str]:
    return {kind: f"{page}.{kind}{asked(query)}" for kind in answer.files()}


def file_response(answer: Reply, kind: str, name: str) -> Response:
    if kind not in answer.files():
        raise HTTPException(404)
    return as_file(download(answer, kind), kind, name)


def as_file(content: str | bytes, kind: str, name: str) -> Response:
    """JSON is shown, everything else is kept."""
    file = f"cranfield-{name}.{ENDINGS.get(kind, kind)}"
    headers = {} if kind == "json" else {"content-disposition": f'attachment; filename="{file}"'}
    return Response(content, media_type=MEDIA[kind], headers=headers)
