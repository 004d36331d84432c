"""A document in the terminal: tables and one plain sentence; warnings go to standard error."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from cranfield.rendering.document import Document, Table, show, warning_lines


def console(*, stderr: bool = False) -> Console:
    """Return the console; lines are not wrapped in a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, width=None if stream.isatty() else 100_000, highlight=False, soft_wrap=not stream.isatty()
    )


def print_document(document: Document) -> None:
    """Print tables, then the sentence; warnings go to standard error."""
    out = console()
    for at, table in enumerate(document.tables):
        if at:
            out.print()
        out.print(_rich(table))
    if document.sentence:
        out.print(escape(document.sentence))
    print_warnings(document)


def print_warnings(document: Document) -> None:
    """Print the warnings to standard error, one line per kind."""
    aside = console(stderr=True)
    for line in warning_lines(document.warnings):
        aside.print(f"[yellow]warning:[/] {escape(line)}")


def _rich(table: Table) -> RichTable:
    shown = RichTable(
        title=escape(table.title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for column in table.columns:
        shown.add_column(escape(column.title), justify="left" if column.kind == "text" else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(escape(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True)))
    return shown
