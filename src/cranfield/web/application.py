"""The application: the guard, the pages, what they keep between requests, and where it listens."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

import cranfield
from cranfield.errors import CranfieldError
from cranfield.web import calculators, data, result_pages
from cranfield.web.error_pages import add_handlers
from cranfield.web.guard import Guard
from cranfield.web.page import render, static
from cranfield.web.runner import Runner
from cranfield.web.settings import Settings
from cranfield.web.uploads import Store

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
    for pages in (calculators, data, result_pages):
        app.include_router(pages.router)
    app.add_api_route("/api", _api, include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    app.add_api_route("/favicon.ico", lambda: _static("icon.svg"), include_in_schema=False)  # browsers ask by habit
    app.include_router(calculators.pages)
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


def run(*, host: str, port: int, token: str | None, max_upload: int, max_unpacked: int) -> None:
    """Serve until interrupted."""
    token = secrets.token_urlsafe(24) if token == "new" else token
    settings = Settings(host=host, port=port, token=token, max_upload=max_upload, max_unpacked=max_unpacked)
    listening = listen(host, port)
    number = int(listening.getsockname()[1])
    sys.stdout.write(f"{address(host, number, token)}\n")
    sys.stdout.flush()
    sys.stderr.write("Stop with Ctrl+C; uploads are removed then.\n")
    config = uvicorn.Config(
        make_app(replace(settings, port=number)),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    uvicorn.Server(config).run(sockets=[listening])


def address(host: str, port: int, token: str | None) -> str:
    """What to open in a browser."""
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def listen(host: str, port: int) -> socket.socket:
    """The socket, taken before anything is promised."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol named, asyncio sends small answers at once; without it they wait 40 ms for company.
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(2048)  # from here on nobody is refused, however early they come
    except OSError as error:
        reason = error.strerror or str(error)
        raise CranfieldError(
            f"{host}:{port} cannot be listened on: {reason}", fix="Choose another with --port; 0 takes a free one."
        ) from None
    return made
