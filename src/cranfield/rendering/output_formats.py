"""A document as JSON, CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.errors import visible
from cranfield.formats import scores as formats
from cranfield.formats.scores import column_lines, format_scores, score_lines
from cranfield.rendering.document import (
    Column,
    Document,
    StreamedRows,
    Table,
    finite,
    first_warnings,
    html_text,
    show,
    warning_lines,
)
from cranfield.rendering.latex import bibtex_comments, cite_in_latex, latex_float
from cranfield.rendering.references import cited_keys
from cranfield.scores.table import ScoreTable


def to_json(document: Document) -> str:
    """One object: inputs, method, citations, warnings, seed, version, rows."""
    return "".join(json_pieces(document))


def json_pieces(document: Document) -> Iterator[str]:
    """The same text in pieces: rows that are too many to hold are never all in memory."""
    details = {**document.details(), "rows": list(document.rows)}
    streamed = {word: value for word, value in details.items() if isinstance(value, StreamedRows)}
    text = _json({**details, **{word: f"{_PLACE}{word}" for word in streamed}})
    for word, rows in streamed.items():
        before, text = text.split(f'"{_PLACE}{word}"', 1)
        yield before
        yield from _json_rows(rows)
    yield text


_PLACE = "\ufdd0"  # no character: it stands in no text, and marks where streamed rows go


def _json(value: Any) -> str:
    return json.dumps(finite(value), ensure_ascii=False, indent=1, allow_nan=False)


def _json_rows(rows: StreamedRows) -> Iterator[str]:
    """A list of rows, one level deep, as ``json`` would write it."""
    mark = "["
    for row in rows:
        yield f"{mark}{_json([row])[1:-2]}".replace("\n", "\n ")
        mark = ","
    yield "\n ]" if mark == "," else "[]"


def to_dict(document: Document) -> dict[str, Any]:
    """What JSON has; None in place of what is not a number."""
    whole: dict[str, Any] = finite({**document.details(), "rows": list(document.rows)})
    return whole


def to_frame(document: Document, backend: str = "pandas") -> Any:
    """The rows as a data frame; a cell that a row does not have is missing."""
    from cranfield.scores.frames import make_frame

    names = dict.fromkeys(name for row in document.rows for name in row)
    return make_frame({name: [row.get(name) for row in document.rows] for name in names}, backend)


def to_csv(document: Document) -> str:
    """The rows, with every digit; a name that a spreadsheet would take for a formula has an apostrophe before it."""
    return "".join(csv_pieces(document)).rstrip("\n")


def csv_pieces(document: Document, *, mark: str = ",") -> Iterator[str]:
    """The same text in pieces of whole lines: rows that are too many to hold are never all in memory."""
    listed = document.extra[document.listed] if document.listed else document.rows
    if isinstance(listed, StreamedRows):
        return _streamed_lines(listed, mark)
    columns = list(dict.fromkeys(key for row in listed for key in row))
    rows = ([no_formula(row.get(column)) for column in columns] for row in listed)
    return score_lines([no_formula(column) for column in columns], rows, mark=mark)


def _streamed_lines(rows: StreamedRows, mark: str) -> Iterator[str]:
    yield format_scores([no_formula(word) for word in rows.words], [], mark=mark)
    for part in rows.parts():
        yield column_lines({word: _safe(column) for word, column in part.items()}, mark=mark)


def _safe(column: Sequence[Any]) -> Sequence[Any]:
    """A column of one kind: of text no formula, numbers as they are."""
    if not column or not isinstance(column[0], str):
        return column
    known = {text: no_formula(text) for text in dict.fromkeys(column)}
    return [known[text] for text in column]


def scores_csv(table: ScoreTable) -> str:
    """Return one row per score of a table; no name can be a formula."""
    rows = ([no_formula(value) for value in row] for row in table.rows())
    return format_scores(list(table.columns), rows)


def no_formula(value: Any) -> Any:
    """Escape text that a spreadsheet would execute; numbers are unchanged."""
    if not isinstance(value, str):
        return value
    return formats.no_formula(value.replace("\r", " "))  # a bare one would start a new line


def to_markdown(document: Document) -> str:
    parts = [markdown_text(document.answer)] if document.answer else []
    parts += [markdown_table(table) for table in document.tables]
    parts += [markdown_text(document.notes)] if document.notes else []
    parts += [f"> {markdown_text(line)}" for line in warning_lines(document.warnings)]
    return "\n\n".join(parts)


def markdown_table(table: Table) -> str:
    lines = [f"**{_bars(table.title)}**\n"] if table.title else []
    lines.append("| " + " | ".join(_bars(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join("---" if column.kind == "text" else "---:" for column in table.columns) + "|")
    for row in table.rows:
        cells = (_bars(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _bars(text: str) -> str:
    return markdown_text(text).replace("|", "\\|")


def markdown_text(text: str) -> str:
    """Return one line in which no name is HTML, a link or an image."""
    line = visible(text.replace("\r", " ").replace("\n", " "), keep="\t")
    return line.replace("\\", "\\\\").replace("<", "\\<").replace("](", "]\\(")


def to_latex(document: Document) -> str:
    """Return tables that go into a paper as they are: caption, label, booktabs, numbers aligned by siunitx.

    Before them stands the paragraph for a paper, where there is one, and behind them the BibTeX of what it cites.
    """
    tables = document.paper or document.tables
    labels = [
        f"tab:{document.method.replace(' ', '-')}{f'-{at}' if at > 1 else ''}" for at in range(1, 1 + len(tables))
    ]
    captions = [each.caption or each.title or (document.answer if at == 0 else "") for at, each in enumerate(tables)]
    parts = [latex_float(*each) for each in zip(tables, captions, labels, strict=True)]
    if not document.paragraph:
        return "\n\n".join([LATEX_NEEDS, *parts])
    cited = bibtex_comments(cited_keys(document.paragraph))
    return "\n\n".join([LATEX_NEEDS, cite_in_latex(document.paragraph), *parts, cited])


LATEX_NEEDS = r"""% \usepackage{array, booktabs, longtable, siunitx}
% Tables are at most 345 pt wide; in a two-column class write table* in place of table for one that is too wide."""


MOST_ROWS = 20  # of a table in a notebook


def to_html(document: Document) -> str:
    """Every name is escaped, and nothing is loaded from anywhere."""
    lines = [f"<p>{html_text(line)}</p>" for line in document.answer.splitlines()]
    first, others = first_warnings(document.warnings)
    lines += map(_warning, first)
    if others:
        lines += [f"<details><summary>{len(others):,} more warnings</summary>", *map(_warning, others), "</details>"]
    notes = [f"<p>{html_text(line)}</p>" for line in document.notes.splitlines()]
    return "<div>" + "".join([*lines, *map(_table, document.tables), *notes]) + "</div>"


def _warning(line: str) -> str:
    return f"<p><strong>Warning.</strong> {html_text(line)}</p>"


def _aligned(column: Column) -> str:
    return "" if column.kind == "text" else ' style="text-align: right"'


def _table(table: Table) -> str:
    head = "".join(f"<th{_aligned(column)}>{html_text(column.title)}</th>" for column in table.columns)
    body = "".join(_row(table, row) for row in table.rows[:MOST_ROWS])
    left = len(table.rows) - MOST_ROWS
    rest = f'<tr><td colspan="{len(table.columns)}">… {left:,} more rows</td></tr>' if left > 0 else ""
    caption = f"<caption>{html_text(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}{rest}</tbody></table>"


def _row(table: Table, row: tuple[object, ...]) -> str:
    cells = (
        f"<td{_aligned(column)}>{html_text(show(value, column.kind))}</td>"
        for value, column in zip(row, table.columns, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
