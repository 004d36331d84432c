"""The application: the guard, the pages, what they keep between requests, and where it listens."""

from __future__ import annotations

import asyncio
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
from uvicorn.protocols.http.h11_impl import H11Protocol

import cranfield
from cranfield.errors import CranfieldError
from cranfield.web import calculators, column_form, data, result_pages
from cranfield.web.error_pages import add_handlers
from cranfield.web.guard import SLOWEST, Guard
from cranfield.web.page import render, static
from cranfield.web.runner import Calculators, Runner
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
    for pages in (calculators, data, column_form, result_pages):
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
    settings: Settings = app.state.settings
    app.state.store, app.state.runner, app.state.calculators = Store(), Runner(settings), Calculators(settings)
    try:
        yield
    finally:
        app.state.calculators.close()
        app.state.runner.close()
        app.state.store.close()


def _api(request: Request) -> Response:
    document: dict[str, Any] = request.app.openapi()
    limits = request.app.state.settings.limits
    return HTMLResponse(render("api.html", here="api", paths=document["paths"], limits=limits))


def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    return Response(static(name), media_type=STATIC[name], headers={"cache-control": "no-cache"})


class TimedProtocol(H11Protocol):
    """HTTP whose requests come, and whose answers are taken, within a time: other connections are closed."""

    head, idle = Settings.head, Settings.idle
    _timer: asyncio.TimerHandle | None = None
    _watch: asyncio.TimerHandle | None = None
    _taken, _most = 0.0, 0  # when the client last took what was there for it, and the most that has been there since

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()
        self._close_unless_taken()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        for each in (self._timer, self._watch):
            if each is not None:
                each.cancel()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._taken = self.loop.time()

    def _expect(self) -> None:
        """Start to wait for a request; more bytes of its head give no more time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.head, self._close_unless_asked)

    def _close_unless_asked(self) -> None:
        if self.transport.get_write_buffer_size():
            self._expect()  # the last answer is still on its way
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.abort()

    def _close_unless_taken(self) -> None:
        """Look again and again whether the client reads what it asked for: all of it, or enough that more is sent."""
        left, now = self.transport.get_write_buffer_size(), self.loop.time()
        self._taken, self._most = (self._taken, max(self._most, left)) if left else (now, 0)
        if now - self._taken > self.idle + self._most / SLOWEST:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(self.idle / 4, self._close_unless_taken)


def server(app: FastAPI) -> uvicorn.Server:
    """What serves the pages."""
    settings: Settings = app.state.settings
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=type("Protocol", (TimedProtocol,), {"head": settings.head, "idle": settings.idle}),
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
    )


def run(settings: Settings) -> None:
    """Serve until interrupted."""
    host, token = settings.host, settings.token
    listening = listen(host, settings.port)
    number = int(listening.getsockname()[1])
    sys.stdout.write(f"{address(host, number, token)}\n")
    sys.stdout.flush()
    sys.stderr.write("Stop with Ctrl+C; uploads are removed then.\n")
    server(make_app(replace(settings, port=number))).run(sockets=[listening])


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
