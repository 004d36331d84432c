"""A document as JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import json

from cranfield.formats.scores import format_scores
from cranfield.report.document import Document, Table, finite, show, warning_lines


def to_json(document: Document) -> str:
    """One object: inputs, method, citations, warnings, seed, version, rows."""
    whole = finite({**document.details(), "rows": list(document.rows)})
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False)


def to_csv(document: Document) -> str:
    """The rows, with every digit."""
    columns = list(dict.fromkeys(key for row in document.rows for key in row))
    return format_scores(columns, ([row.get(column) for column in columns] for row in document.rows)).rstrip("\n")


def to_markdown(document: Document) -> str:
    parts = [_markdown_table(table) for table in document.tables]
    parts += [document.sentence] if document.sentence else []
    parts += [f"> {line}" for line in warning_lines(document.warnings)]
    return "\n\n".join(parts)


def _markdown_table(table: Table) -> str:
    lines = [f"**{_bars(table.title)}**\n"] if table.title else []
    lines.append("| " + " | ".join(_bars(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join("---" if column.kind == "text" else "---:" for column in table.columns) + "|")
    for row in table.rows:
        cells = (_bars(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _bars(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def to_latex(document: Document) -> str:
    """booktabs tables, ready to paste."""
    return "\n\n".join(_latex_table(table) for table in document.tables)


_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
          "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "–": "--"}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)


def _latex_table(table: Table) -> str:
    align = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(_latex(column.title) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.rows:
        cells = (_latex(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
