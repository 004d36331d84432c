"""LaTeX: text, citations, and tables that fit a line of an article."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from cranfield.errors import visible
from cranfield.rendering.document import Column, Table, fitting, parts_of_others, priorities, show
from cranfield.rendering.references import CITED, keys_of, to_bibtex

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


_SUBSCRIPT = re.compile(r"\$(\\[a-z]+)\$\\_([A-Za-z]+)|\b(d)\\_(z)\b")  # of a Greek letter, and that of an effect size


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX; symbols of formulas have their subscripts.

    >>> print(latex_text("τ_AP and d_z of run_1"))
    $\tau_{AP}$ and $d_{z}$ of run\_1
    """
    escaped = "".join(_LATEX.get(mark, mark) for mark in visible(text, keep="\n\t"))
    return _SUBSCRIPT.sub(lambda found: f"${found[1] or found[3]}_{{{found[2] or found[4]}}}$", escaped)


def cite_in_latex(text: str) -> str:
    r"""Escape the text for LaTeX, with citations as ``\cite``.

    >>> cite_in_latex("5 % of pairs [@Sakai2014]")
    '5 \\% of pairs~\\cite{Sakai2014}'
    """
    pieces = CITED.split(text)  # text, key, text, key, …
    said = [latex_text(piece) if at % 2 == 0 else _latex_cite(piece) for at, piece in enumerate(pieces)]
    return "".join(said).replace(r" \cite{", r"~\cite{")


def _latex_cite(cited: str) -> str:
    """Return a citation; text that only looks like one, for example in a name, is unchanged."""
    keys = keys_of(cited)
    return rf"\cite{{{','.join(keys)}}}" if keys else latex_text(f"[{cited}]")


def bibtex_comments(citations: Sequence[str]) -> str:
    """The BibTeX of what is cited, in comments of LaTeX."""
    return "\n".join(["% BibTeX:", *(f"% {line}" for line in to_bibtex(citations).splitlines())])


LINE = 345  # points: the line of ``article`` and ``llncs``
SIZES = {"small": (4.63, 6), "footnotesize": (4.25, 4)}  # points of a digit, and of ``tabcolsep``
LONG_TABLE = 45  # lines that fit a page with its caption; a table with more goes on over pages
PROSE, NARROWEST = 24, 14  # digits beyond which text is set on several lines, and within which it can be
ANSWER = 60  # columns with such a priority are results, and stay even if they are the same in all rows
ALIGNED = ("score", "count", "whole", "decimal")  # numbers that siunitx aligns at their points
COMMON = {"alpha": "α =", "power": "power", "correlation": "ρ ="}  # goes into the caption if it is the same in all rows
_PIECE = re.compile(r"[^ /_-]+[/_-]*|[/_-]+")  # what no line is broken within
_WIDE, _NARROW = frozenset("mw@%−×±≤≥σωρΦ"), frozenset("ijlft.,:;'()[]|!- ")


def _digits(text: str) -> float:
    """The width of a text, in widths of a digit, which is much the same for the fonts of papers."""
    wide = sum(1.6 if mark in _WIDE else 0.7 if mark in _NARROW else 1.45 if mark.isupper() else 1.05 for mark in text)
    return wide - 0.05 * sum(map(str.isdigit, text))


@dataclass(frozen=True)
class _Field:
    """A column: its cells as text, and the signs behind them."""

    column: Column
    cells: Sequence[str]
    signs: Sequence[str]

    @cached_property
    def longest(self) -> float:
        return max(
            (_digits(cell) + 0.75 * _digits(sign) for cell, sign in zip(self.cells, self.signs, strict=True)), default=1
        )

    @cached_property
    def is_prose(self) -> bool:
        return self.column.kind == "text" and self.longest > PROSE

    @cached_property
    def least(self) -> float:
        """The narrowest that it can be."""
        pieces = [piece for cell in self.cells for piece in _PIECE.findall(cell)]
        words = max(map(_digits, self.column.title.split()), default=0)
        return max(words, *map(_digits, pieces), NARROWEST) if self.is_prose else max(words, self.longest)

    @property
    def is_constant(self) -> bool:
        """Whether it says the same in all rows, and is no result."""
        is_same = len(self.cells) > 1 and len(set(self.cells)) == 1
        return is_same and (self.column.priority or 0) < ANSWER and bool(self.column.title) and not self.is_prose

    @property
    def in_all_rows(self) -> str:
        return f"{COMMON.get(self.column.word, self.column.title)} {self.cells[0]}"

    @property
    def whole(self) -> float:
        """Its width with everything on one line."""
        return max(self.longest, _digits(self.column.title))


@dataclass(frozen=True)
class _Layout:
    """How a table fits the line: the size of its letters, the widths of its columns, and those that are left out."""

    table: Table
    size: str
    fields: Sequence[_Field]
    widths: Sequence[float]
    is_flat: bool
    left_out: Sequence[str] = ()

    @property
    def start(self) -> str:
        return rf"\{self.size}" + (
            "" if self.size == "small" else rf"\setlength{{\tabcolsep}}{{{SIZES[self.size][1]}pt}}"
        )

    @property
    def lines(self) -> list[int]:
        """How many lines every row takes."""
        prose = [
            (field, width) for field, width in zip(self.fields, self.widths, strict=True) if self.is_wrapped(field)
        ]
        return [
            max((math.ceil(1.15 * _digits(field.cells[row]) / width) for field, width in prose), default=1) or 1
            for row in range(len(self.table.rows))
        ]

    def is_wrapped(self, field: _Field) -> bool:
        return field.is_prose and not self.is_flat


def _layout(table: Table, *, every_column: bool = False) -> _Layout:
    """The largest letters with which the table fits: on one line, or with sentences and titles on several.

    What does not fit even so is left out by its priority, unless ``every_column`` is wanted.
    """
    fields = _fields(table)
    for size, (digit, gap) in SIZES.items():
        room = LINE / digit - 2 * gap / digit * (len(fields) - 1)
        for is_flat in (True, False):
            widths = [field.whole if is_flat else field.least for field in fields]
            if sum(widths) <= room:
                return _Layout(table, size, fields, widths if is_flat else _shared(fields, room), is_flat)
    if every_column:
        return _Layout(table, size, fields, _shared(fields, room), is_flat=False)
    ranked = priorities(table.columns, [field.cells for field in fields])
    kept = fitting([field.least for field in fields], ranked, LINE / digit, 2 * gap / digit)
    left_out = [column.title for at, column in enumerate(table.columns) if at not in kept]
    return replace(_layout(_only(table, kept), every_column=True), left_out=left_out)


def _fields(table: Table) -> list[_Field]:
    rows = range(len(table.rows))
    return [
        _Field(
            column, [show(row[at], column.kind) for row in table.rows], [_plain_signs(table, row, at) for row in rows]
        )
        for at, column in enumerate(table.columns)
    ]


def _plain_signs(table: Table, row: int, at: int) -> str:
    mark = table.marks.get((row, at))
    return "" if mark is None else mark.above + mark.below


def _shared(fields: Sequence[_Field], room: float) -> list[float]:
    """The least widths, and what is left of the line shared among sentences and titles on several lines."""
    spare = max(0.0, room - sum(field.least for field in fields))
    wanted = [max(0.0, field.whole - field.least) for field in fields]
    share = min(1.0, spare / (sum(wanted) or 1.0))
    return [field.least + share * more for field, more in zip(fields, wanted, strict=True)]


def _only(table: Table, kept: Sequence[int]) -> Table:
    """The table with some of its columns."""
    place = {at: new for new, at in enumerate(kept)}
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        rows=[tuple(row[at] for at in kept) for row in table.rows],
        marks={(row, place[at]): mark for (row, at), mark in table.marks.items() if at in place},
    )


def _without_constants(table: Table) -> tuple[Table, str]:
    """The table without what is the same in all rows, and a sentence that says it.

    That is α, power and ρ, and if the table is too wide all columns but those of results.
    """
    fields = _fields(table)
    layout = _layout(table)
    is_wide = layout.size != "small" or not layout.is_flat or bool(layout.left_out)
    same = [at for at, field in enumerate(fields) if field.is_constant and (is_wide or field.column.word in COMMON)]
    parts, marked = [*parts_of_others(table.columns), False], {at for _, at in table.marks}
    same = [at for at in same if not (parts[at] or parts[at + 1] or at in marked)]
    kept = [at for at in range(len(fields)) if at not in same]
    if not same or len(kept) < 2:
        return table, ""
    said = [fields[at].in_all_rows for at in same if fields[at].cells[0] not in ("–", "")]
    return _only(table, kept), f"In all rows: {', '.join(said)}." if said else ""


def latex_table(table: Table) -> str:
    """A size and a ``tabular`` with every column, and numbers as text."""
    layout = _layout(table, every_column=True)
    rows = [
        " & ".join(_cell(layout, field, latex_text(field.cells[row])) for field in layout.fields) + r" \\"
        for row in range(len(table.rows))
    ]
    forms = [_form(layout, at, "l" if column.kind == "text" else "r") for at, column in enumerate(table.columns)]
    return f"{layout.start}%\n{_tabular(forms, _head(layout, ()), rows)}"


def table_lines(table: Table) -> list[int]:
    """How many lines every row of `latex_table` takes."""
    return _layout(table, every_column=True).lines


def latex_float(table: Table, caption: str, label: str) -> str:
    """A ``table`` that fits the line, or a ``longtable`` over several pages; comments say what is left out."""
    shown, common = _without_constants(table)
    layout = _layout(shown)
    forms = [_form(layout, at, _aligned(layout.table, at)) for at in range(len(layout.widths))]
    head = _head(layout, ALIGNED)
    rows = [_latex_row(layout, at) for at in range(len(table.rows))]
    said = rf"\caption{{{latex_text(_sentences(caption, table.note, common))}}}\label{{{label}}}"
    if sum(layout.lines) > LONG_TABLE:
        start = rf"\begin{{longtable}}{{@{{}}{' '.join(forms)}@{{}}}}"
        return "\n".join([*_comments(layout), *_long_table(layout, start, said, head, rows)])
    start = "\n".join([r"\begin{table}", rf"\centering{layout.start}", said])
    return "\n".join([*_comments(layout), start, _tabular(forms, head, rows), r"\end{table}"])


def _sentences(*texts: str) -> str:
    """The texts that are not empty; the last may have no full stop, as a title has none.

    >>> _sentences("Reliability", "", "In all rows: topics 40.")
    'Reliability. In all rows: topics 40.'
    """
    *others, last = list(filter(None, texts)) or [""]
    return " ".join([*(f"{text.rstrip('.')}." for text in others), last])


def _comments(layout: _Layout) -> list[str]:
    """What to know before the table is used."""
    left_out = "; ".join(visible(title) for title in layout.left_out)
    said = (
        [f"Left out, as they do not fit a line of {LINE} pt: {left_out}. CSV and JSON have them."] if left_out else []
    )
    if sum(layout.lines) > LONG_TABLE:
        said.append(
            r"A longtable stops in two-column classes: write \onecolumn before it and \twocolumn after it, or choose "
            f"fewer systems (a table of up to {LONG_TABLE} lines is no longtable)."
        )
    return [f"% {line}" for line in said]


def _tabular(forms: Sequence[str], head: str, rows: Sequence[str]) -> str:
    start = [rf"\begin{{tabular}}{{@{{}}{' '.join(forms)}@{{}}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*start, *rows, r"\bottomrule", r"\end{tabular}"])


def _long_table(layout: _Layout, start: str, said: str, head: str, rows: Sequence[str]) -> list[str]:
    again = [r"\caption[]{(continued)}\\", r"\toprule", head, r"\midrule", r"\endhead"]
    first = [rf"{said}\\", r"\toprule", head, r"\midrule", r"\endfirsthead"]
    end = [r"\end{longtable}", r"\endgroup"]
    return [rf"\begingroup{layout.start}", start, *first, *again, r"\bottomrule", r"\endlastfoot", *rows, *end]


def _form(layout: _Layout, at: int, form: str) -> str:
    """How a column is set: sentences within their width, all else in its ``form``."""
    if not layout.is_wrapped(layout.fields[at]):
        return form
    share = SIZES[layout.size][0] * layout.widths[at] / LINE
    return rf">{{\raggedright\arraybackslash}}p{{{share:.3f}\linewidth}}"


def _head(layout: _Layout, aligned: Sequence[str]) -> str:
    return " & ".join(map(partial(_title, layout, aligned), layout.fields, layout.widths)) + r" \\"


def _title(layout: _Layout, aligned: Sequence[str], field: _Field, width: float) -> str:
    """The title of a column, on as many lines as its width asks for; siunitx takes text in braces."""
    text = latex_text(field.column.title)
    is_number = field.column.kind != "text"
    if not (layout.is_flat or layout.is_wrapped(field)) and _digits(field.column.title) > width:
        lines = r" \\ ".join(map(latex_text, _stacked(field.column.title, width)))
        text = rf"\begin{{tabular}}[b]{{@{{}}{'r' if is_number else 'l'}@{{}}}}{lines}\end{{tabular}}"
    return f"{{{text}}}" if field.column.kind in aligned else text


def _stacked(title: str, width: float) -> list[str]:
    """Lines of whole words."""
    lines: list[str] = []
    for word in title.split():
        if lines and _digits(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _aligned(table: Table, at: int) -> str:
    """A column of siunitx, as wide as its longest number and the signs behind it; others as they are."""
    kind = table.columns[at].kind
    if kind not in ALIGNED:
        return "l" if kind == "text" else "r"
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


def _cell(layout: _Layout, field: _Field, text: str) -> str:
    """The text of a cell; names that are set on several lines may be broken after a slash or an underscore."""
    if not layout.is_wrapped(field):
        return text
    return text.replace("/", r"/\allowbreak{}").replace(r"\_", r"\_\allowbreak{}")


def _latex_row(layout: _Layout, row: int) -> str:
    cells = []
    for at, (value, field) in enumerate(zip(layout.table.rows[row], layout.fields, strict=True)):
        if field.column.kind not in ALIGNED:
            cells.append(_cell(layout, field, latex_text(field.cells[row])))
            continue
        mark = layout.table.marks.get((row, at))
        signs = _signs(layout.table, row, at)
        bold = r"\bfseries " if mark is not None and mark.is_best else ""
        cells.append(f"{bold}{_bare(value, field.column.kind)}{f'{{{signs}}}' if signs else ''}")
    return " & ".join(cells) + r" \\"


def _signs(table: Table, row: int, at: int) -> str:
    mark = table.marks.get((row, at))
    if mark is None:
        return ""
    above = rf"\textsuperscript{{{latex_text(mark.above)}}}" if mark.above else ""
    return above + (rf"\textsubscript{{{latex_text(mark.below)}}}" if mark.below else "")
