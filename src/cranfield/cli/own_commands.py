"""Commands that are no questions: ``serve``, ``measures`` and ``demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def serve(
    port: Annotated[int, typer.Option("--port", "-p", help="Port to listen on.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; one that other machines can reach requires --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="CRANFIELD_TOKEN",
            metavar="TOKEN",
            help="Answer only requests with this token; «new» creates one.",
        ),
    ] = None,
    max_upload: Annotated[int, typer.Option("--max-upload", help="Largest upload, in MB.", min=1)] = 500,
    max_unpacked: Annotated[
        int, typer.Option("--max-unpacked", help="Largest upload after unpacking, in MB.", min=1)
    ] = 2000,
) -> None:
    """Start a local web page: calculators that answer while you type, and every analysis of the commands for your data.

    Example: cranfield serve --port 8080
    """
    from cranfield.web import check_installed

    check_installed()
    from cranfield.web.application import run

    run(host=host, port=port, token=token, max_upload=max_upload * 1_000_000, max_unpacked=max_unpacked * 1_000_000)


@options.printed
def measures(
    name: Annotated[str | None, typer.Argument(help="Describe only this measure.", show_default=False)] = None,
    output_format: options.OutputFormat = options.OutputFormat.TEXT,
) -> None:
    """List the measures with their parameters, range and citation, or describe one of them."""
    from cranfield.rendering.score_document import measure_document, measures_document

    options.output(measures_document() if name is None else measure_document(name), output_format)


def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the example collection.")] = "demo",
    seed: Annotated[int, typer.Option("--seed", help="Random seed; another seed gives another collection.")] = 1,
) -> None:
    """Write a small example collection: runs of several teams, graded and per-intent judgments."""
    from cranfield.methods.simulation import write_example

    example = write_example(folder, seed=seed)
    typer.echo(example.summary())
