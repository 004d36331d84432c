"""LaTeX: text, citations and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.rendering.document import Column, Table, show
from cranfield.rendering.references import CITED, REFERENCES, to_bibtex

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
