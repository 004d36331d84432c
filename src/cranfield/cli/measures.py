"""cranfield measures"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def measures(
    name: Annotated[str | None, typer.Argument(help="Tell all about this one.", show_default=False)] = None,
    json: options.Json = False,
    csv: options.Csv = False,
    md: options.Markdown = False,
    latex: options.Latex = False,
) -> None:
    """List the measures with their parameters, range and citation, or tell all about one."""
    from cranfield.report.scoring import measure_document, measures_document

    chosen = options.face(json=json, csv=csv, md=md, latex=latex)
    options.output(measures_document() if name is None else measure_document(name), chosen)
