"""The application: the guard, the pages, and what they keep between requests."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

import cranfield
from cranfield.web import calculating
from cranfield.web.faults import add_handlers
from cranfield.web.guard import Guard
from cranfield.web.page import render, static
from cranfield.web.settings import Settings

STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def make_app(settings: Settings | None = None) -> FastAPI:
    """The pages under ``settings``."""
    settings = settings or Settings()
    app = FastAPI(
        title="cranfield",
        version=cranfield.__version__,
        description="How many topics are enough, and which systems really differ. The words are those of the command.",
        docs_url=None,  # these load scripts from elsewhere
        redoc_url=None,
    )
    app.state.settings = settings
    app.include_router(calculating.router)
    app.add_api_route("/api", _api, include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    add_handlers(app)
    app.add_middleware(Guard, settings=settings)
    return app


def _api(request: Request) -> Response:
    document: dict[str, Any] = request.app.openapi()
    return HTMLResponse(render("api.html", here="api", paths=document["paths"]))


def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    return Response(static(name), media_type=STATIC[name], headers={"cache-control": "no-cache"})
