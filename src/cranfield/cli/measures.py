"""``cranfield measures``."""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


@options.printed
def measures(
    name: Annotated[str | None, typer.Argument(help="Describe only this measure.", show_default=False)] = None,
    output_format: options.OutputFormat = options.OutputFormat.TEXT,
) -> None:
    """List the measures with their parameters, range and citation, or describe one of them."""
    from cranfield.rendering.score_document import measure_document, measures_document

    options.output(measures_document() if name is None else measure_document(name), output_format)
