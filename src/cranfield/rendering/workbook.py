"""A report as a workbook: its tables with every digit, and sheets whose formulas search for n again."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from cranfield.errors import visible
from cranfield.methods.design import Design, Goal, Sd, size
from cranfield.methods.design.power_functions import expected_sd
from cranfield.methods.names import PLANNED_TEST_TITLES
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.references import cite_in_words, to_bibtex
from cranfield.rendering.report_model import Report, Start
from cranfield.stats.family import ALL_PAIRS_TEST, pair_level
from cranfield.stats.tails import f_critical, noncentral_f_tail, t_critical

STEPS = 18
MOST = 2**STEPS
Cells = Mapping[str, str]
Numbers = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search of the workbook.

    ``inputs`` are the columns of a design, each with a name and a title. ``columns`` are those of its search: a name, a
    title, and a formula in which {names} stand for cells. ``values`` computes the same columns; ``reached`` is the
    formula that tests whether the last column is enough, ``enough`` does the same for numbers.
    """

    name: str
    title: str
    estimate: str  # of the variance that the designs begin with
    inputs: Sequence[tuple[str, str]]
    columns: Sequence[tuple[str, str, str]]
    reached: str
    values: Callable[[float, Numbers], dict[str, float]]
    enough: Callable[[float, Numbers], bool]

    @property
    def value(self) -> str:
        """The name of the column that decides."""
        return self.columns[-1][0]


def _anova_values(topics: float, design: Numbers) -> dict[str, float]:
    """Sakai (2014), §3.1, step by step; the power is 0 where the approximation is undefined (very small n)."""
    above, below = design["systems"] - 1, design["systems"] * (topics - 1)
    noncentrality = topics * design["min_range"] ** 2 / (2 * design["variance"])
    w = float(f_critical(design["alpha"], above, below))
    c = (above + 2 * noncentrality) / (above + noncentrality)
    phi = (above + noncentrality) ** 2 / (above + 2 * noncentrality)
    power = 0.0
    if c / above > w / below:
        z = np.sqrt(c / above) * np.sqrt(2 * phi - 1) - np.sqrt(w / below) * np.sqrt(2 * below - 1)
        power = _normal(float(z / np.sqrt(c / above - w / below)))
    return {"below": below, "noncentrality": noncentrality, "w": w, "c": c, "phi": phi, "achieved": power}


def _normal(z: float) -> float:
    from scipy import special

    return float(special.ndtr(z))


TERMS = 500
"""Number of terms of the Poisson mixture; enough for two thousand systems."""


def _mixture(above: str, below: str) -> str:
    """Return the formula of P(F' ≥ w), where x = above·w/(above·w + below)."""
    k = f"(ROW(About!$1:${TERMS})-1)"  # another sheet's rows, so that nothing refers to itself
    return f"1-SUMPRODUCT(POISSON({k},{{noncentrality}}/2,FALSE)*BETADIST({{x}},({above})/2+{k},({below})/2))"


def _tail_values(above: float, below: float, noncentrality: float, level: float) -> dict[str, float]:
    w = float(f_critical(level, above, below))
    power = float(noncentral_f_tail(w, above, below, noncentrality))
    return {"noncentrality": noncentrality, "w": w, "x": above * w / (above * w + below), "achieved": power}


def _range_values(topics: float, design: Numbers) -> dict[str, float]:
    above = design["systems"] - 1
    below = above * (topics - 1)
    noncentrality = topics * design["min_range"] ** 2 / (2 * design["variance"])
    return {"below": below, **_tail_values(above, below, noncentrality, design["alpha"])}


RANGE = Search(
    name="range",
    title="Topics to detect a range of m systems that share topics (two-way ANOVA, exact)",
    estimate="residual",
    inputs=(
        ("systems", "systems m"),
        ("min_range", "smallest range minD"),
        ("variance", "residual variance σ²"),
        ("alpha", "α"),
        ("power", "power 1−β"),
    ),
    columns=(
        ("below", "φE = (m−1)(n−1)", "({systems}-1)*({topics}-1)"),
        ("noncentrality", "λ = n·minD²/(2σ²)", "{topics}*{min_range}^2/(2*{variance})"),
        ("w", "w = F(α; m−1, φE)", "FINV({alpha},{systems}-1,{below})"),
        ("x", "x", "({systems}-1)*{w}/(({systems}-1)*{w}+{below})"),
        ("achieved", "power", _mixture("{systems}-1", "{below}")),
    ),
    reached="{achieved}>={power}",
    values=_range_values,
    enough=lambda value, design: value >= design["power"],
)


def _pair_values(topics: float, design: Numbers) -> dict[str, float]:
    noncentrality = topics * design["difference"] ** 2 / (2 * design["variance"])
    return _tail_values(1.0, topics - 1, noncentrality, design["level"])


PAIR = Search(
    name="pair",
    title="Topics to detect a difference between two systems that share topics (t with n−1 degrees of freedom, exact)",
    estimate="residual",
    inputs=(
        ("difference", "smallest difference δ"),
        ("variance", "residual variance σ² = sd²/2"),
        ("level", "level of one pair"),
        ("power", "power 1−β"),
    ),
    columns=(
        ("noncentrality", "λ = n·δ²/(2σ²)", "{topics}*{difference}^2/(2*{variance})"),
        ("w", "w = t²(level; n−1)", "FINV({level},1,{topics}-1)"),
        ("x", "x", "{w}/({w}+{topics}-1)"),
        ("achieved", "power", _mixture("1", "{topics}-1")),
    ),
    reached="{achieved}>={power}",
    values=_pair_values,
    enough=lambda value, design: value >= design["power"],
)


ANOVA = Search(
    name="Sakai",
    title="Topics to detect a range of m systems that share no topics, as Sakai's spreadsheet for one-way ANOVA "
    "computes them (Sakai 2014, §3.1)",
    estimate="two-way",
    inputs=(
        ("systems", "systems m"),
        ("min_range", "smallest range minD"),
        ("variance", "variance σ²"),
        ("alpha", "α"),
        ("power", "power 1−β"),
    ),
    columns=(
        ("below", "φE = m(n−1)", "{systems}*({topics}-1)"),
        ("noncentrality", "λ = n·minD²/(2σ²)", "{topics}*{min_range}^2/(2*{variance})"),
        ("w", "w = F(α; m−1, φE)", "FINV({alpha},{systems}-1,{below})"),
        ("c", "c", "({systems}-1+2*{noncentrality})/({systems}-1+{noncentrality})"),
        ("phi", "φ*", "({systems}-1+{noncentrality})^2/({systems}-1+2*{noncentrality})"),
        (
            "achieved",
            "power",
            "IF({c}/({systems}-1)>{w}/{below},NORMSDIST((SQRT({c}/({systems}-1))*SQRT(2*{phi}-1)"
            "-SQRT({w}/{below})*SQRT(2*{below}-1))/SQRT({c}/({systems}-1)-{w}/{below})),0)",
        ),
    ),
    reached="{achieved}>={power}",
    values=_anova_values,
    enough=lambda value, design: value >= design["power"],
)


def _width_values(topics: float, design: Numbers) -> dict[str, float]:
    """Sakai (2014), §3.2, with σ_t² = 2σ², where σ² is the residual variance."""
    t = float(t_critical(design["alpha"] / 2, topics - 1))
    sd = float(expected_sd(np.asarray(topics), np.asarray(np.sqrt(2 * design["variance"]))))
    return {"t": t, "expected_sd": sd, "achieved": 2 * t * sd / float(np.sqrt(topics))}


INTERVAL = Search(
    name="interval",
    title="Topics for an interval around a difference of two systems that share topics, of an expected width of at "
    "most δ (Sakai 2014, §3.2)",
    estimate="residual",
    inputs=(("width", "widest interval δ"), ("variance", "residual variance σ² = sd²/2"), ("alpha", "α")),
    columns=(
        ("t", "t(α/2; n−1)", "TINV({alpha},{topics}-1)"),
        (
            "expected_sd",
            "E[s]",
            # In logarithms: gamma functions themselves overflow where n is above 343.
            "SQRT(2*{variance})*EXP(GAMMALN({topics}/2)-GAMMALN(({topics}-1)/2))/SQRT(({topics}-1)/2)",
        ),
        ("achieved", "expected width", "2*{t}*{expected_sd}/SQRT({topics})"),
    ),
    reached="{achieved}<={width}",
    values=_width_values,
    enough=lambda value, design: value <= design["width"],
)


def search_steps(search: Search, design: Numbers) -> list[tuple[int, int]]:
    """Return, for every step, the number tried and the number known to be too small; n is one more than the last."""
    known, steps = 1, []
    for step in range(STEPS):
        tried = known + 2 ** (STEPS - 1 - step)
        if not search.enough(search.values(tried, design)[search.value], design):
            known = tried
        steps.append((tried, known))
    return steps


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
        if report.starts:
            for search in (PAIR, RANGE, INTERVAL, ANOVA):
                _designs(sheets, search, _starting(search, report.starts))
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


def _starting(search: Search, starts: Sequence[Start]) -> list[tuple[str, dict[str, float]]]:
    """Return initial designs: every measure at its variance and at both ends of its interval, and some to change."""
    tests = (ALL_PAIRS_TEST, "t") if search is PAIR else ("",)
    designs = []
    for start in starts:
        for test in tests:
            name = f"{start.measure}, {_test_words(test, start)}" if test else start.measure
            ends = ("", ", variance low", ", variance high")
            for words, variance in zip(ends, start.variances[search.estimate], strict=True):
                designs.append((name + words, _design(search, start, variance, test)))
    first = starts[0]
    own = _design(search, first, first.variances[search.estimate][0], "t")
    return designs + [(f"your own {at}", own) for at in (1, 2, 3)]


def _test_words(test: str, start: Start) -> str:
    return "t, pair named in advance" if test == "t" else f"{test} among {start.systems} systems"


def _design(search: Search, start: Start, variance: float, test: str) -> dict[str, float]:
    """Return the inputs of a search; the level of one of many pairs is computed here, as no spreadsheet can."""
    level = start.alpha if test in ("", "t") else _level(start, variance, test)
    known = {"variance": variance, "level": level}
    return {word: known[word] if word in known else getattr(start, word) for word, _ in search.inputs}


def _level(start: Start, variance: float, test: str) -> float:
    """The level of one pair with the number of topics that the design requires."""
    topics = size(_planned(start, variance, test), Goal("difference", start.difference, start.power)).topics
    return float(pair_level(test, start.alpha, start.systems, topics))


def _planned(start: Start, variance: float, test: str) -> Design:
    return Design(systems=start.systems, test=test, alpha=start.alpha, spread=Sd.of_variance(variance))


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
        sd = (2 * start.variances["residual"][0]) ** 0.5
        for test in PLANNED_TEST_TITLES:
            among = None if test == "t" else start.systems
            planned = _planned(start, start.variances["residual"][0], test)
            row = size(planned, Goal("difference", start.difference, start.power)).to_dict()[0]
            given = (start.measure, test, among, start.difference, sd, start.alpha, start.power)
            rows.append((*given, row["topics"], row["achieved_power"]))
    title = "Computed by cranfield, not by formulas: topics to detect a difference of two systems that share topics"
    return Table(columns, rows, title)


def _designs(sheets: _Sheets, search: Search, designs: Sequence[tuple[str, Mapping[str, float]]]) -> None:
    """Write the sheet of designs, and the sheet with the search."""
    front, back = sheets.add(f"Topics ({search.name})"), sheets.add(f"Search ({search.name})")
    words = [word for word, _ in search.inputs]
    value_title = search.columns[-1][1]
    heads = [
        "scores",
        *(title for _, title in search.inputs),
        "topics n",
        f"{value_title} with n",
        f"{value_title} with n−1",
    ]
    front.write_string(0, 0, search.title, sheets.format["title"])
    front.write_string(1, 0, "Change the yellow cells: n is recomputed.")
    _heads(sheets, front, 3, heads)
    front.set_column(0, 0, 30)
    front.set_column(1, len(heads) - 1, 14)
    front.freeze_panes(4, 1)
    back.write_string(0, 0, "Search for n: powers of two are added to a number known to be too small.")
    _heads(sheets, back, 2, ["scores", "step", "n tried", *(title for _, title, _ in search.columns), "too small"])
    back.set_column(0, 0, 30)
    back.set_column(1, len(search.columns) + 3, 14)
    back.freeze_panes(3, 2)
    for at, (name, design) in enumerate(designs):
        row, top = 4 + at, 3 + at * (STEPS + 3)
        front.write_string(row, 0, _text(name))
        for column, word in enumerate(words, start=1):
            look = "whole input" if word == "systems" else "input"
            front.write_number(row, column, design[word], sheets.format[look])
            _validate(front, row, column, word)
        sources = {word: f"'{front.name}'!{_cell(row, column, fixed=True)}" for column, word in enumerate(words, 1)}
        _search(sheets, back, search, top, name, design, sources)
        _answers(sheets, front, back, search, row, top, design)


def _heads(sheets: _Sheets, sheet: Any, row: int, heads: Sequence[str], kinds: Sequence[str] | None = None) -> None:
    """Write titles, aligned as the values; without ``kinds`` only the first column is text."""
    for column, head in enumerate(heads):
        text = column == 0 if kinds is None else kinds[column] == "text"
        sheet.write_string(row, column, _text(head), sheets.format["head" if text else "number head"])


def _validate(sheet: Any, row: int, column: int, word: str) -> None:
    """Add validation rules for the inputs."""
    if word == "systems":
        rule = {"validate": "integer", "criteria": "between", "minimum": 2, "maximum": 10_000}
    elif word in ("alpha", "level", "power"):
        rule = {"validate": "decimal", "criteria": "between", "minimum": 1e-9, "maximum": 1 - 1e-9}
    else:
        rule = {"validate": "decimal", "criteria": ">", "value": 0}
    sheet.data_validation(row, column, row, column, rule)


def _search(
    sheets: _Sheets,
    back: Any,
    search: Search,
    top: int,
    name: str,
    design: Mapping[str, float],
    sources: Mapping[str, str],
) -> None:
    """Write one row per step, then rows at n and n − 1. Cells also hold values, for programs that do not recompute."""
    steps = search_steps(search, design)
    last = 3 + len(search.columns)
    for step, (tried, known) in enumerate(steps):
        row = top + step
        before = _cell(row - 1, last) if step else "1"
        _line(sheets, back, search, row, f"{before}+{2 ** (STEPS - 1 - step)}", tried, design, sources)
        cells = {**sources, search.value: _cell(row, last - 1)}
        formula = f"=IF({search.reached.format(**cells)},{before},{_cell(row, 2)})"
        back.write_formula(row, last, formula, sheets.format["count"], known)
        back.write_string(row, 0, _text(name))
        back.write_number(row, 1, step + 1)
    found, known = _cell(top + STEPS - 1, last), steps[-1][1]
    for row, word, formula, topics in (
        (top + STEPS, "n", f"{found}+1", known + 1),
        (top + STEPS + 1, "n − 1", f"MAX(2,{found})", max(2, known)),
    ):
        back.write_string(row, 0, _text(name))
        back.write_string(row, 1, word)
        _line(sheets, back, search, row, formula, topics, design, sources)


def _line(
    sheets: _Sheets,
    back: Any,
    search: Search,
    row: int,
    topics_formula: str,
    topics: int,
    design: Mapping[str, float],
    sources: Mapping[str, str],
) -> None:
    back.write_formula(row, 2, f"={topics_formula}", sheets.format["count"], topics)
    words = {word: _cell(row, column) for column, (word, _, _) in enumerate(search.columns, start=3)}
    cells = {**sources, **words, "topics": _cell(row, 2)}
    numbers = search.values(topics, design)
    for column, (word, _, formula) in enumerate(search.columns, start=3):
        back.write_formula(row, column, f"={formula.format(**cells)}", sheets.format["value"], numbers[word])


def _answers(
    sheets: _Sheets, front: Any, back: Any, search: Search, row: int, top: int, design: Mapping[str, float]
) -> None:
    """Write n, and the values with n and with n − 1 topics."""
    topics = search_steps(search, design)[-1][1] + 1
    column, value = len(search.inputs) + 1, 2 + len(search.columns)
    place = f"'{back.name}'!{_cell(top + STEPS, 2)}"
    shown = topics if topics <= MOST else f"more than {MOST:,}"
    formula = f'=IF({place}>{MOST},"more than {MOST:,}",{place})'
    front.write_formula(row, column, formula, sheets.format["result"], shown)
    for at, n in ((0, topics), (1, max(2, topics - 1))):
        number = search.values(n, design)[search.value]
        source = f"='{back.name}'!{_cell(top + STEPS + at, value)}"
        front.write_formula(row, column + 1 + at, source, sheets.format["value"], number)


def _cell(row: int, column: int, *, fixed: bool = False) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    return str(xl_rowcol_to_cell(row, column, row_abs=fixed, col_abs=fixed))


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
