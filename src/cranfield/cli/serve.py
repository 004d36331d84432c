"""cranfield serve"""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    port: Annotated[int, typer.Option("--port", "-p", help="Where to listen.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Which address to listen on; beyond this machine only with --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="CRANFIELD_TOKEN", metavar="TOKEN", help="Answer only those who know it; «new» makes one."
        ),
    ] = None,
    max_upload: Annotated[int, typer.Option("--max-upload", help="Largest upload, in MB.", min=1)] = 500,
    max_unpacked: Annotated[
        int, typer.Option("--max-unpacked", help="Largest upload once unpacked, in MB.", min=1)
    ] = 2000,
) -> None:
    """A page in the browser: calculators that answer while you type, and everything the commands give for your data.

    Example: cranfield serve --port 8080
    """
    from cranfield.web import check_installed

    check_installed()
    from cranfield.web.server import run

    run(host=host, port=port, token=token, max_upload=max_upload * 1_000_000, max_unpacked=max_unpacked * 1_000_000)
