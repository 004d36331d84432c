"""cranfield measures"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


@options.printed
def measures(
    name: Annotated[str | None, typer.Argument(help="Tell all about this one.", show_default=False)] = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """List the measures with their parameters, range and citation, or tell all about one."""
    from cranfield.rendering.score_document import measure_document, measures_document

    options.output(measures_document() if name is None else measure_document(name), face)
