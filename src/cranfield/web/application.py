"""The application: the guard, the pages, and what they keep between requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

import cranfield
from cranfield.web import calculator_pages, data, jobs, result_pages
from cranfield.web.error_pages import add_handlers
from cranfield.web.guard import Guard
from cranfield.web.page import render, static
from cranfield.web.runner import Runner
from cranfield.web.settings import Settings
from cranfield.web.upload_store import Store

STATIC = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "tip.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def make_app(settings: Settings | None = None) -> FastAPI:
    """The pages under ``settings``."""
    settings = settings or Settings()
    app = FastAPI(
        title="cranfield",
        version=cranfield.__version__,
        description="How many topics are enough, and which systems really differ. The words are those of the command.",
        docs_url=None,  # these load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.settings = settings
    for pages in (calculator_pages, data, jobs, result_pages):
        app.include_router(pages.router)
    app.add_api_route("/api", _api, include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    app.add_api_route("/favicon.ico", lambda: _static("icon.svg"), include_in_schema=False)  # browsers ask by habit
    app.include_router(calculator_pages.pages)
    add_handlers(app)
    app.add_middleware(Guard, settings=settings)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Uploads and work live as long as the server does, and not a moment longer."""
    app.state.store, app.state.runner = Store(), Runner(app.state.settings.jobs)
    try:
        yield
    finally:
        app.state.runner.close()
        app.state.store.close()


def _api(request: Request) -> Response:
    document: dict[str, Any] = request.app.openapi()
    return HTMLResponse(render("api.html", here="api", paths=document["paths"]))


def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    return Response(static(name), media_type=STATIC[name], headers={"cache-control": "no-cache"})
