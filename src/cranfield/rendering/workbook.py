"""A report as a workbook: its tables with every digit, and sheets on which n is looked up for other designs."""

from __future__ import annotations

import io
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cranfield.errors import visible
from cranfield.methods.design import Design, Goal, Sd, size
from cranfield.methods.names import PLANNED_TEST_TITLES
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.references import cite_in_words, to_bibtex
from cranfield.rendering.report_model import Report, Start

if TYPE_CHECKING:
    from cranfield.methods.design.topic_table import TopicTable


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A sheet on which n is looked up: for one goal under one test, from a variance."""

    name: str
    title: str
    goal: str
    goal_title: str
    test: str
    estimate: str  # of the variance that the designs begin with
    variance_title: str = "residual variance σ² = sd²/2"

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """The yellow cells of a design: a name and a title."""
        several = () if self.goal == "width" else (("systems", "systems m"), ("power", "power 1−β"))
        return ((self.goal, self.goal_title), ("variance", self.variance_title), *several)


LOOKUPS = (
    Lookup(
        name="pair",
        title="Topics to detect a difference between two of m systems that share topics, all pairs tested (t, Holm)",
        goal="difference",
        goal_title="smallest difference δ",
        test="holm",
        estimate="residual",
    ),
    Lookup(
        name="range",
        title="Topics to detect a range of m systems that share topics (two-way ANOVA)",
        goal="min_range",
        goal_title="smallest range minD",
        test="blocked",
        estimate="residual",
        variance_title="residual variance σ²",
    ),
    Lookup(
        name="interval",
        title="Topics for an interval around a difference of two systems that share topics, of an expected width of at "
        "most δ (Sakai 2014, §3.2)",
        goal="width",
        goal_title="widest interval δ",
        test="interval",
        estimate="residual",
    ),
    Lookup(
        name="Sakai",
        title="Topics to detect a range of m systems that share no topics, as in the tables of Sakai (2014), §3.1",
        goal="min_range",
        goal_title="smallest range minD",
        test="sakai",
        estimate="two-way",
        variance_title="variance σ²",
    ),
)


# Names are text, never a formula, a link or a number.
OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
NUMBERS = {
    "score": "0.0000",
    "count": "#,##0",
    "whole": "#,##0",
    "decimal": "#,##0.0",
    "percent": "0%",
    "number": "0.0000##",
    "probability": "[<0.0001]0.0E+00;0.0000",
}
FORMATS: dict[str, dict[str, Any]] = {
    "title": {"bold": True, "font_size": 14},
    "head": {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"},
    "wrap": {"text_wrap": True, "valign": "top"},
    "number head": {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom", "align": "right"},
    "input": {"bg_color": "#FFF4CC", "border": 1, "border_color": "#C9B458", "num_format": "0.0#####"},
    "whole input": {"bg_color": "#FFF4CC", "border": 1, "border_color": "#C9B458", "num_format": "#,##0"},
    "result": {"bold": True, "num_format": "#,##0", "border": 1},
    "value": {"num_format": "0.0000##"},
    **{kind: {"num_format": text} for kind, text in NUMBERS.items()},
}
MOST_ROWS = 1_000_000  # a sheet holds little more


def to_xlsx(report: Report) -> bytes:
    """Return the workbook as bytes; the same report gives the same bytes."""
    import xlsxwriter

    data = io.BytesIO()
    with xlsxwriter.Workbook(data, OPTIONS) as book:
        book.set_properties(
            {"title": _text(report.title), "comments": "Made by cranfield", "created": datetime(2000, 1, 1)}
        )
        sheets = _Sheets(book)
        _about(sheets, report)
        if report.starts and report.topic_table is not None:
            for lookup in LOOKUPS:
                table = report.topic_table(lookup.goal, test=lookup.test)
                _designs(sheets, lookup, table, _starting(lookup, report.starts))
            _stack(sheets, "Topics (tests)", [_tests_table(report.starts)])
        for title, tables in _tables(report):
            _stack(sheets, title, tables)
        _references(sheets, report)
    return data.getvalue()


class _Sheets:
    """The workbook, its formats, and the sheet names in use."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.format = {name: book.add_format(look) for name, look in FORMATS.items()}
        self.names: set[str] = set()

    def add(self, title: str) -> Any:
        name = sheet_name(title, self.names)
        self.names.add(name.lower())
        sheet = self.book.add_worksheet(name)
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)  # fit to the width of a page
        return sheet


def sheet_name(title: str, taken: set[str]) -> str:
    """A name a spreadsheet takes: at most 31 characters, none of []:*?/\\, no apostrophe at an end, not yet taken.

    >>> sheet_name("../etc: a very long name of something", {"scores"})
    '.. etc  a very long name of som'
    """
    plain = "".join(mark if mark.isprintable() else " " for mark in title)
    clean = re.sub(r"[\[\]:*?/\\]", " ", plain).strip(" '")[:31].strip(" '") or "sheet"
    clean = f"{clean[:29]} 2" if clean.lower() == "history" else clean  # reserved by Excel
    name, number = clean, 2
    while name.lower() in taken:
        name, number = f"{clean[: 30 - len(str(number))]} {number}", number + 1
    return name


def _about(sheets: _Sheets, report: Report) -> None:
    sheet = sheets.add("About")
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 100, sheets.format["wrap"])
    sheet.write_string(0, 0, _text(report.title), sheets.format["title"])
    rows = [("methods", cite_in_words(report.methods)), ("seed", str(report.seed)), ("command", report.command)]
    rows += [
        (section.title, part.document.sentence)
        for section in report.sections
        for part in section.parts
        if part.document.sentence
    ]
    rows += [(f"not here: {each.title}", each.reason) for each in report.left_out]
    rows += list(report.versions.items())
    for at, (name, text) in enumerate(rows, start=2):
        sheet.set_row(
            at, 15 * max(1, math.ceil(len(text) / 100))
        )  # not every program adapts the row height to the text
        sheet.write_string(at, 0, _text(name), sheets.format["wrap"])
        sheet.write_string(at, 1, _text(text), sheets.format["wrap"])


def _starting(lookup: Lookup, starts: Sequence[Start]) -> list[tuple[str, dict[str, float]]]:
    """Return initial designs: every measure at its variance and at both ends of its interval, and some to change."""
    designs = [
        (start.measure + words, _design(lookup, start, variance))
        for start in starts
        for words, variance in zip(
            ("", ", variance low", ", variance high"), start.variances[lookup.estimate], strict=True
        )
    ]
    return designs + [(f"your own {at}", designs[0][1]) for at in (1, 2, 3)]


def _design(lookup: Lookup, start: Start, variance: float) -> dict[str, float]:
    return {word: variance if word == "variance" else getattr(start, word) for word, _ in lookup.inputs}


def _tests_table(starts: Sequence[Start]) -> Table:
    """Write the exact n for every test: no spreadsheet has the studentised range and Dunnett's distribution."""
    columns = (
        Column("measure", "measure"),
        Column("test", "test"),
        Column("systems", "systems", "count"),
        Column("difference", "difference", "number"),
        Column("sd", "sd of differences", "number"),
        Column("alpha", "α", "number"),
        Column("power", "power", "number"),
        Column("topics", "topics n", "count"),
        Column("achieved_power", "power with n", "score"),
    )
    rows = []
    for start in starts:
        spread = Sd.of_variance(start.variances["residual"][0])
        for test in PLANNED_TEST_TITLES:
            among = None if test == "t" else start.systems
            planned = Design(systems=start.systems, test=test, alpha=start.alpha, spread=spread)
            row = size(planned, Goal("difference", start.difference, start.power)).to_dict()[0]
            given = (start.measure, test, among, start.difference, row["sd"], start.alpha, start.power)
            rows.append((*given, row["topics"], row["achieved_power"]))
    title = "Computed by cranfield, not by formulas: topics to detect a difference of two systems that share topics"
    return Table(columns, rows, title)


def _designs(
    sheets: _Sheets, lookup: Lookup, table: TopicTable, designs: Sequence[tuple[str, Mapping[str, float]]]
) -> None:
    """Write the sheet of designs, and the sheet with the table that n is looked up in."""
    front, back = sheets.add(f"Topics ({lookup.name})"), sheets.add(f"Table ({lookup.name})")
    inputs, count = lookup.inputs, len(lookup.inputs)
    front.write_string(0, 0, f"{lookup.title}, α = {table.alpha:g}", sheets.format["title"])
    front.write_string(1, 0, "Change the yellow cells: n is looked up anew.")
    _heads(sheets, front, 3, ["scores", *(title for _, title in inputs), "topics n", "2σ²/goal²", "column", "row"])
    front.set_column(0, 0, 30)
    front.set_column(1, count + 4, 14)
    front.freeze_panes(4, 1)
    place = _topic_table(sheets, back, table)
    for row, (name, design) in enumerate(designs, start=4):
        front.write_string(row, 0, _text(name))
        for column, (word, _) in enumerate(inputs, start=1):
            look = "whole input" if word == "systems" else "input"
            front.write_number(row, column, design[word], sheets.format[look])
            front.data_validation(row, column, row, column, _rule(word, table))
        _answer(sheets, front, row, lookup, table, place, design)


def _rule(word: str, table: TopicTable) -> dict[str, Any]:
    """What may be written into a cell."""
    choices = {"systems": table.systems, "power": table.powers}
    if word in choices:
        return {"validate": "list", "source": list(choices[word])}
    return {"validate": "decimal", "criteria": ">", "value": 0}


FIRST_ROW = 4
"""Of the numbers on the sheet of a table, below its heads: systems, power, and the sum of both, which is looked for."""


def _topic_table(sheets: _Sheets, sheet: Any, table: TopicTable) -> dict[str, str]:
    """Write the table; return what its parts are called in a formula."""
    sheet.write_string(0, 0, "Computed by cranfield: the largest 2σ²/goal² for which n topics are enough.")
    for row, head in enumerate(("systems m", "power 1−β", "m + power"), start=1):
        sheet.write_string(row, 0, head, sheets.format["head"])
    columns = [(m, power) for m in table.systems for power in table.powers]
    for column, (m, power) in enumerate(columns, start=1):
        for row, number in enumerate((m, power, m + power), start=1):
            sheet.write_number(row, column, number, sheets.format["number head"])
    for row, topics in enumerate(table.topics, start=FIRST_ROW):
        sheet.write_number(row, 0, topics, sheets.format["count"])
    for column, ratios in enumerate((each for several in table.ratios for each in several), start=1):
        sheet.write_column(FIRST_ROW, column, ratios)
    sheet.freeze_panes(FIRST_ROW, 1)
    last = FIRST_ROW + len(table.topics) - 1
    corners = {"keys": (3, 1, 3, len(columns)), "n": (FIRST_ROW, 0, last, 0), "all": (FIRST_ROW, 1, last, len(columns))}
    return {name: f"'{sheet.name}'!{_area(*corner)}" for name, corner in corners.items()}


def _answer(
    sheets: _Sheets,
    sheet: Any,
    row: int,
    lookup: Lookup,
    table: TopicTable,
    place: Mapping[str, str],
    design: Mapping[str, float],
) -> None:
    """Write n and how it is found: the column and the row of the table, and a line to the row below."""
    words = [word for word, _ in lookup.inputs]
    names = [*words, "topics", "ratio", "column", "row"]
    cells = {**place, **{name: _cell(row, at) for at, name in enumerate(names, start=1)}, "goal": _cell(row, 1)}
    cells |= {"count": str(len(table.topics)), "most": f"more than {table.topics[-1]:,}"}
    formulas = {
        "topics": (NEEDED, "result"),
        "ratio": ("2*{variance}/{goal}^2", "value"),
        "column": ("MATCH({systems}+{power},{keys},0)" if "systems" in words else "1", "count"),
        "row": (FOUND, "count"),
    }
    saved = _saved(lookup, table, design)
    for name, (formula, look) in formulas.items():
        value = cells["most"] if saved[name] is None else saved[name]
        sheet.write_formula(row, names.index(name) + 1, f"={formula.format(**cells)}", sheets.format[look], value)


def _saved(lookup: Lookup, table: TopicTable, design: Mapping[str, float]) -> dict[str, float | None]:
    """The numbers that the formulas are saved with, for programs that do not recompute."""
    systems, power = int(design.get("systems", table.systems[0])), design.get("power", table.powers[0])
    m, p = table.systems.index(systems), table.powers.index(power)
    ratio = 2 * design["variance"] / design[lookup.goal] ** 2
    return {
        "topics": table.needed(systems=systems, power=power, ratio=ratio),
        "ratio": ratio,
        "column": m * len(table.powers) + p + 1,
        "row": min(bisect_right(table.ratios[m][p], ratio), len(table.topics) - 1),
    }


# The row before: 0 where the first is enough already.
FOUND = "IF({ratio}<INDEX({all},1,{column}),0,MIN({count}-1,MATCH({ratio},INDEX({all},0,{column}),1)))"
_LINE = (
    "INDEX({n},{row})+({ratio}-INDEX({all},{row},{column}))/(INDEX({all},{row}+1,{column})-INDEX({all},{row},{column}))"
    "*(INDEX({n},{row}+1)-INDEX({n},{row}))"
)
NEEDED = f'IF({{ratio}}>INDEX({{all}},{{count}},{{column}}),"{{most}}",IF({{row}}=0,INDEX({{n}},1),ROUNDUP({_LINE},0)))'


def _heads(sheets: _Sheets, sheet: Any, row: int, heads: Sequence[str], kinds: Sequence[str] | None = None) -> None:
    """Write titles, aligned as the values; without ``kinds`` only the first column is text."""
    for column, head in enumerate(heads):
        text = column == 0 if kinds is None else kinds[column] == "text"
        sheet.write_string(row, column, _text(head), sheets.format["head" if text else "number head"])


def _cell(row: int, column: int) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    return str(xl_rowcol_to_cell(row, column))


def _area(first_row: int, first_column: int, last_row: int, last_column: int) -> str:
    from xlsxwriter.utility import xl_range_abs

    return str(xl_range_abs(first_row, first_column, last_row, last_column))


def _tables(report: Report) -> Iterator[tuple[str, list[Table]]]:
    """Return titles and tables of sheets: one per section, and one for pairs if a document has them."""
    for section in report.sections:
        yield (
            section.title,
            [
                Table(table.columns, table.rows, f"{part.title}: {table.title}" if part.title else table.title)
                for part in section.parts
                for table in part.document.tables
            ],
        )
        for part in section.parts:
            if part.document.extra.get("pairs"):
                yield f"Pairs {part.title}", [_pairs(part.document)]


def _pairs(document: Document) -> Table:
    pairs: Sequence[Mapping[str, Any]] = document.extra["pairs"]
    kinds = {
        "system_a": "text",
        "system_b": "text",
        "p_value": "probability",
        "p_adjusted": "probability",
        "significant": "yes",
        "equivalent": "yes",
    }
    columns = tuple(Column(word, word.replace("_", " "), kinds.get(word, "score")) for word in pairs[0])
    return Table(columns, [tuple(pair.values()) for pair in pairs])


def _stack(sheets: _Sheets, title: str, tables: Sequence[Table]) -> None:
    """Write tables one below another."""
    sheet, row = sheets.add(title), 0
    sheet.set_column(0, 30, 15)
    for table in tables:
        if table.title:
            sheet.write_string(row, 0, _text(table.title), sheets.format["title"])
            row += 1
        heads, kinds = zip(*((column.title, column.kind) for column in table.columns), strict=True)
        _heads(sheets, sheet, row, heads, kinds)
        row += 1
        for values in table.rows[: MOST_ROWS - row]:
            for at, (value, column) in enumerate(zip(values, table.columns, strict=True)):
                _write(sheets, sheet, row, at, value, column.kind)
            row += 1
        row += 1


def _text(text: str) -> str:
    """What a cell can hold."""
    return visible(text, keep="\n\t")[:32_767]


def _write(sheets: _Sheets, sheet: Any, row: int, column: int, value: Any, kind: str) -> None:
    """Write a value in full precision; text is always text."""
    if value is None or value != value:
        return
    if kind == "yes":
        sheet.write_boolean(row, column, bool(value))
    elif kind == "text" or isinstance(value, str):
        sheet.write_string(row, column, _text(str(value)))
    elif math.isinf(value):
        sheet.write_string(row, column, "∞" if value > 0 else "−∞")
    else:
        sheet.write_number(row, column, float(value), sheets.format[kind])


def _references(sheets: _Sheets, report: Report) -> None:
    sheet = sheets.add("References")
    sheet.set_column(0, 0, 110)
    for row, line in enumerate(to_bibtex(report.citations).splitlines()):
        sheet.write_string(row, 0, line)
