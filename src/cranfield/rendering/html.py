"""A document as a piece of HTML, for notebooks: the summary, the warnings, the tables."""

from __future__ import annotations

from html import escape

from cranfield.rendering.document import Document, Table, show, warning_lines

MOST_ROWS = 20  # of a table in a notebook


def to_html(document: Document) -> str:
    """Every name is escaped, and nothing is loaded from anywhere."""
    lines = [f"<p>{escape(line)}</p>" for line in document.sentence.splitlines()]
    lines += [f"<p><strong>Warning.</strong> {escape(line)}</p>" for line in warning_lines(document.warnings)]
    return "<div>" + "".join([*lines, *map(_table, document.tables)]) + "</div>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column.title)}</th>" for column in table.columns)
    body = "".join(_row(table, row) for row in table.rows[:MOST_ROWS])
    left = len(table.rows) - MOST_ROWS
    rest = f'<tr><td colspan="{len(table.columns)}">… {left:,} more rows</td></tr>' if left > 0 else ""
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}{rest}</tbody></table>"


def _row(table: Table, row: tuple[object, ...]) -> str:
    cells = (escape(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
