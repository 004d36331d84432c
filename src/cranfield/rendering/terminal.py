"""A document in the terminal: tables and one plain sentence; warnings go to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cranfield.rendering.document import Document, Table, show, warning_lines

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100_000  # characters on a line in a pipe
_NARROW = frozenset("–−…×±√≤≥αβδεσωχτ∞")  # of the characters above Latin-1, some that are surely one column wide


def console(*, stderr: bool = False) -> Console:
    """Return the console; lines are not wrapped in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, width=None if stream.isatty() else WIDEST, highlight=False, soft_wrap=not stream.isatty()
    )


def print_document(document: Document) -> None:
    """Print tables, then the sentence; warnings go to standard error."""
    text = _plain_text(document)
    if text is None:
        _print_rich(document)
    else:
        sys.stdout.write(text)
    print_warnings(document)


def print_warnings(document: Document) -> None:
    """Print the warnings to standard error, one line per kind."""
    lines = warning_lines(document.warnings)
    if not lines:
        return
    from rich.markup import escape

    aside = console(stderr=True)
    for line in lines:
        aside.print(f"[yellow]warning:[/] {escape(line)}")


def _plain_text(document: Document) -> str | None:
    """What a pipe gets, or None where it is laid out as in a terminal: importing what does that takes 40 ms."""
    if sys.stdout.isatty() or any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")):
        return None
    tables = [_cells(table) for table in document.tables]
    shown = [document.sentence, *(table.title for table in document.tables)]
    if not all(map(_is_narrow, [*shown, *(cell for rows in tables for row in rows for cell in row)])):
        return None
    parts = [_layout(table, rows) for table, rows in zip(document.tables, tables, strict=True)]
    if any(len(line) > WIDEST for part in parts for line in part.splitlines()):
        return None
    return "\n".join(parts) + (f"{document.sentence}\n" if document.sentence else "")


def _is_narrow(text: str) -> bool:
    """Whether every character is one column wide, and none is a blank that a layout may take away."""
    return text == text.strip() and all(
        " " <= mark <= "~" or ("\xa1" <= mark <= "\xff" and mark != "\xad") or mark in _NARROW for mark in text
    )


def _cells(table: Table) -> list[list[str]]:
    """The titles of the columns, then the rows, as text."""
    shown = [[show(value, column.kind) for value, column in zip(row, table.columns, strict=True)] for row in table.rows]
    return [[column.title for column in table.columns], *shown]


def _layout(table: Table, rows: list[list[str]]) -> str:
    """Columns two blanks apart, words to the left, numbers to the right."""
    widths = [max(1, *map(len, column)) for column in zip(*rows, strict=True)]
    places = [str.ljust if column.kind == "text" else str.rjust for column in table.columns]
    placed = ([place(cell, width) for place, cell, width in zip(places, row, widths, strict=True)] for row in rows)
    lines = [*([table.title] if table.title else []), *map("  ".join, placed)]
    return "".join(f"{line}\n" for line in lines)


def _print_rich(document: Document) -> None:
    from rich.markup import escape

    out = console()
    for at, table in enumerate(document.tables):
        if at:
            out.print()
        out.print(_rich(table))
    if document.sentence:
        out.print(escape(document.sentence))


def _rich(table: Table) -> Any:
    from rich.markup import escape
    from rich.table import Table as RichTable

    shown = RichTable(
        title=escape(table.title) or None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for column in table.columns:
        shown.add_column(escape(column.title), justify="left" if column.kind == "text" else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(escape(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True)))
    return shown
