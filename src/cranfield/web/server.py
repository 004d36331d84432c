"""Listening, and saying where."""

from __future__ import annotations

import secrets
import socket
import sys
from dataclasses import replace

import uvicorn

from cranfield.errors import CranfieldError
from cranfield.web.application import make_app
from cranfield.web.settings import Settings


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
