"""A report as one HTML file that contains its charts, style, scripts and data; charts as SVG inside a page."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cranfield.errors import visible
from cranfield.rendering.document import Column, Table, html_text, show, warning_lines
from cranfield.rendering.drawing import Chart
from cranfield.rendering.latex import cite_in_latex
from cranfield.rendering.references import REFERENCES, cite_in_words, to_bibtex
from cranfield.rendering.report_model import Part, Report, Section

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def inline_picture(chart: Chart, title: str) -> str:
    """The chart as ``<svg>`` below its title."""
    label = f'aria-label="{html_text(title)}"'
    return re.sub('aria-label="[^"]*"', lambda _: label, chart.to_svg(is_headed=False), count=1)


LONG = 25  # tables with more rows are collapsed


@dataclass(frozen=True)
class ShownTable:
    """A table with formatted cells."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    @property
    def long(self) -> bool:
        return len(self.rows) > LONG

    @property
    def top(self) -> ShownTable:
        """Its first rows."""
        return ShownTable(self.title, self.columns, self.rows[:LONG])


@dataclass(frozen=True)
class ShownPicture:
    title: str
    markup: Markup


@dataclass(frozen=True)
class ShownPart:
    title: str
    answer: str
    notes: str
    tables: Sequence[ShownTable]
    pictures: Sequence[ShownPicture]


SCRIPTS = ("topics.js", "tip.js", "page.js")


@dataclass(frozen=True)
class ShownSection:
    slug: str
    title: str
    parts: Sequence[ShownPart]


def to_html(report: Report, *, printed: bool = False) -> str:
    """Return the page; with ``printed`` nothing is collapsed."""
    from markupsafe import Markup

    scripts = [] if printed else [asset(name) for name in SCRIPTS]
    calculator = {} if printed else _calculator(report)
    content = {
        "report": report,
        "cautions": warning_lines(report.cautions),
        "sections": [_shown_section(section) for section in report.sections],
        "methods": cite_in_words(report.methods),
        "latex": cite_in_latex(report.methods),
        "references": [(key, REFERENCES[key]) for key in report.citations],
        "bibtex": to_bibtex(report.citations),
        "origin": _origin(report),
        "calculator": calculator,
        "calculator_data": Markup(_data(calculator)),
        "style": Markup(asset("report.css")),
        "scripts": [Markup(script) for script in scripts],
        "policy": policy(scripts),
        "printed": printed,
    }
    return environment().get_template("report.html").render(content)


def _calculator(report: Report) -> dict[str, Any]:
    """What the page's calculator is given: where it starts for each measure, and the table that it looks n up in."""
    if not report.starts or report.topic_table is None:
        return {}
    first = report.starts[0]
    starts = [
        {
            "measure": visible(each.measure),
            "difference": each.difference,
            "sd": [math.sqrt(2 * variance) for variance in each.variances["residual"]],
        }
        for each in report.starts
    ]
    table = report.topic_table("difference").to_dict()
    return {"starts": starts, "own": {"systems": first.systems, "power": first.power}, **table}


def asset(name: str) -> str:
    """Return a file of the package."""
    return (files("cranfield.rendering") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, finalize=shown_in_page)


def shown_in_page(value: Any) -> Any:
    """What a template puts into a page, with visible names; markup is ours."""
    return visible(value, keep="\n\t\r") if type(value) is str else value


def policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: nothing is loaded, and only the scripts of the page run."""
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def served_policy() -> str:
    """Return the policy of a report shown by the server: only its scripts and style, isolated from other pages."""
    known = {"script": [asset(name) for name in SCRIPTS], "style": [asset("report.css")]}
    sources = {kind: " ".join(map(_hash, texts)) for kind, texts in known.items()}
    return (
        f"default-src 'none'; script-src {sources['script']}; style-src {sources['style']}; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown_section(section: Section) -> ShownSection:
    return ShownSection(section.slug, section.title, [_shown_part(part) for part in section.parts])


def _shown_part(part: Part) -> ShownPart:
    from markupsafe import Markup

    pictures = [ShownPicture(each.title, Markup(inline_picture(each.chart, each.title))) for each in part.pictures]
    document = part.document
    tables = [shown_table(each) for each in document.tables]
    return ShownPart(part.title, document.answer, document.notes, tables, pictures)


def shown_table(table: Table) -> ShownTable:
    """Format every cell."""
    rows = [[show(value, column.kind) for value, column in zip(row, table.columns, strict=True)] for row in table.rows]
    return ShownTable(table.title, table.columns, rows)


def _origin(report: Report) -> ShownTable:
    rows = [["seed", str(report.seed)], *([name, version] for name, version in report.versions.items())]
    return ShownTable("", (Column("what", "what"), Column("value", "value")), rows)
