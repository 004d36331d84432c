"""A document as JSON, CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from cranfield.formats import scores as formats
from cranfield.formats.scores import column_lines, format_scores, score_lines
from cranfield.rendering.document import Column, Document, StreamedRows, Table, finite, show, warning_lines
from cranfield.rendering.references import CITED, REFERENCES, to_bibtex
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
    line = text.replace("\r", " ").replace("\n", " ")
    return line.replace("\\", "\\\\").replace("<", "\\<").replace("](", "]\\(")


def to_latex(document: Document) -> str:
    """Return tables that go into a paper as they are: caption, label, booktabs, numbers aligned by siunitx.

    Before them stands the paragraph for a paper, where there is one, and behind them the BibTeX of what it cites.
    """
    tables = document.paper or document.tables
    labels = [
        f"tab:{document.method.replace(' ', '-')}{f'-{at}' if at > 1 else ''}" for at in range(1, 1 + len(tables))
    ]
    captions = [table.title or (document.answer if at == 0 else "") for at, table in enumerate(tables)]
    parts = [latex_float(*each) for each in zip(tables, captions, labels, strict=True)]
    if not document.paragraph:
        return "\n\n".join([LATEX_NEEDS, *parts])
    cited = dict.fromkeys(key for key in CITED.findall(document.paragraph) if key in REFERENCES)
    return "\n\n".join([LATEX_NEEDS, cite_in_latex(document.paragraph), *parts, bibtex_comments(list(cited))])


LATEX_NEEDS = r"% \usepackage{array, booktabs, longtable, siunitx}"


_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "−": "$-$",
    "²": "$^2$",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "·": r"$\cdot$",
    "₀": "$_0$",
    "₁": "$_1$",
    "₂": "$_2$",
    "ⁿ": "$^n$",
    "×": r"$\times$",
    "…": r"\dots{}",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "§": r"\textsection{}",
    "¶": r"\textparagraph{}",
    "\n": " ",
    "\r": " ",
    "\x00": " ",
}
_LATEX |= {
    letter: rf"$\{name}$"
    for letter, name in {
        "α": "alpha",
        "β": "beta",
        "γ": "gamma",
        "δ": "delta",
        "ε": "varepsilon",
        "θ": "theta",
        "κ": "kappa",
        "λ": "lambda",
        "μ": "mu",
        "ν": "nu",
        "π": "pi",
        "ρ": "rho",
        "σ": "sigma",
        "τ": "tau",
        "φ": "phi",
        "χ": "chi",
        "ψ": "psi",
        "ω": "omega",
        "Γ": "Gamma",
        "Δ": "Delta",
        "Σ": "Sigma",
        "Φ": "Phi",
    }.items()
}


def latex_text(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(mark, mark) for mark in text)


def cite_in_latex(text: str) -> str:
    r"""Escape the text for LaTeX, with citations as ``\cite``.

    >>> cite_in_latex("5 % of pairs [@Sakai2014]")
    '5 \\% of pairs~\\cite{Sakai2014}'
    """
    pieces = CITED.split(text)  # text, key, text, key, …
    said = [latex_text(piece) if at % 2 == 0 else _latex_cite(piece) for at, piece in enumerate(pieces)]
    return "".join(said).replace(r" \cite{", r"~\cite{")


def _latex_cite(key: str) -> str:
    """Return a citation; text that only looks like one, for example in a name, is unchanged."""
    return rf"\cite{{{key}}}" if key in REFERENCES else latex_text(f"[@{key}]")


def bibtex_comments(citations: Sequence[str]) -> str:
    """The BibTeX of what is cited, in comments of LaTeX."""
    return "\n".join(["% BibTeX:", *(f"% {line}" for line in to_bibtex(citations).splitlines())])


def latex_table(table: Table) -> str:
    """The ``tabular`` alone, with numbers as text."""
    align = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(" & ".join(latex_text(column.title) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.rows:
        cells = (latex_text(show(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


LONG_TABLE = 45  # rows that fit a page with its caption; a table with more goes on over pages
FULL_LINE = 85  # characters that fit a line beside one another
ALIGNED = ("score", "count", "whole", "decimal")  # numbers that siunitx aligns at their points


def latex_float(table: Table, caption: str, label: str) -> str:
    """A ``table``, or a ``longtable`` over several pages."""
    form = " ".join(_latex_columns(table))
    head = " & ".join(_latex_title(column) for column in table.columns) + r" \\"
    rows = [_latex_row(table, at) for at in range(len(table.rows))]
    said = rf"\caption{{{latex_text(' '.join(filter(None, (caption, table.note))))}}}\label{{{label}}}"
    if len(rows) > LONG_TABLE:
        return "\n".join(_long_table(rf"\begin{{longtable}}{{@{{}}{form}@{{}}}}", said, head, rows))
    start = [r"\begin{table}", r"\centering\small", said, rf"\begin{{tabular}}{{@{{}}{form}@{{}}}}", r"\toprule", head]
    return "\n".join([*start, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _long_table(start: str, said: str, head: str, rows: Sequence[str]) -> list[str]:
    again = [r"\caption[]{(continued)}\\", r"\toprule", head, r"\midrule", r"\endhead"]
    first = [rf"{said}\\", r"\toprule", head, r"\midrule", r"\endfirsthead"]
    return [r"\begingroup\small", start, *first, *again, r"\bottomrule", r"\endlastfoot", *rows, *_END]


_END = (r"\end{longtable}", r"\endgroup")


def _latex_columns(table: Table) -> list[str]:
    """How every column is set: numbers by siunitx, names as they are, sentences within a width."""
    shown = [[show(row[at], column.kind) for row in table.rows] for at, column in enumerate(table.columns)]
    widths = [max(map(len, [column.title, *cells])) for column, cells in zip(table.columns, shown, strict=True)]
    prose = [at for at, column in enumerate(table.columns) if column.kind == "text" and widths[at] > 24]
    room = FULL_LINE - sum(width + 2 for at, width in enumerate(widths) if at not in prose)
    is_narrow = sum(width + 2 for width in widths) <= FULL_LINE
    forms = []
    for at, column in enumerate(table.columns):
        if at in prose and not is_narrow:
            share = max(0.12, room / FULL_LINE * widths[at] / sum(widths[each] for each in prose) - 0.04)
            forms.append(rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}")
        elif column.kind in ALIGNED:
            forms.append(_aligned(table, at))
        else:
            forms.append("l" if column.kind == "text" else "r")
    return forms


def _aligned(table: Table, at: int) -> str:
    """A column of siunitx, as wide as its longest number and the signs behind it."""
    kind = table.columns[at].kind
    numbers = [_bare(row[at], kind) for row in table.rows]
    parts = [number.lstrip("-").partition(".") for number in numbers if number[0] != "{"] or [("1", "", "")]
    whole, point = (max(len(part[place]) for part in parts) for place in (0, 2))
    minus = "-" * any(number.startswith("-") for number in numbers)
    signs = max((_signs(table, row, at) for row in range(len(table.rows))), key=len, default="")
    space = f", table-space-text-post={{{signs}}}, table-align-text-post=false" if signs else ""
    return rf"S[table-format={minus}{whole}{f'.{point}' if point else ''}, detect-weight, mode=text{space}]"


def _bare(value: Any, kind: str) -> str:
    """A number without marks between thousands; what is none in braces."""
    shown = show(value, kind).replace(",", "")
    return shown if shown[-1:].isdigit() else f"{{{latex_text(shown)}}}"


def _latex_title(column: Column) -> str:
    return f"{{{latex_text(column.title)}}}" if column.kind in ALIGNED else latex_text(column.title)


def _latex_row(table: Table, row: int) -> str:
    cells = []
    for at, (value, column) in enumerate(zip(table.rows[row], table.columns, strict=True)):
        if column.kind not in ALIGNED:
            cells.append(latex_text(show(value, column.kind)))
            continue
        mark = table.marks.get((row, at))
        signs = _signs(table, row, at)
        bold = r"\bfseries " if mark is not None and mark.is_best else ""
        cells.append(f"{bold}{_bare(value, column.kind)}{f'{{{signs}}}' if signs else ''}")
    return " & ".join(cells) + r" \\"


def _signs(table: Table, row: int, at: int) -> str:
    mark = table.marks.get((row, at))
    if mark is None:
        return ""
    above = rf"\textsuperscript{{{latex_text(mark.above)}}}" if mark.above else ""
    return above + (rf"\textsubscript{{{latex_text(mark.below)}}}" if mark.below else "")


MOST_ROWS = 20  # of a table in a notebook


def to_html(document: Document) -> str:
    """Every name is escaped, and nothing is loaded from anywhere."""
    lines = [f"<p>{escape(line)}</p>" for line in document.answer.splitlines()]
    lines += [f"<p><strong>Warning.</strong> {escape(line)}</p>" for line in warning_lines(document.warnings)]
    notes = [f"<p>{escape(line)}</p>" for line in document.notes.splitlines()]
    return "<div>" + "".join([*lines, *map(_table, document.tables), *notes]) + "</div>"


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
