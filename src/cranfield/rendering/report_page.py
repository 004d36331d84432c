"""A report as one HTML file that contains its charts, style, scripts and data; charts as SVG inside a page."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cranfield.errors import PARTS, missing_part, visible
from cranfield.rendering.charts import with_visible_names
from cranfield.rendering.document import Column, Table, finite, html_text, show, warning_lines
from cranfield.rendering.latex import cite_in_latex
from cranfield.rendering.references import REFERENCES, cite_in_words, to_bibtex
from cranfield.rendering.report_model import Part, Report, Section

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


MOST_MARKS = 2000  # an SVG with more marks is larger than the same chart as PNG, and slow to render
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')


def charts_missing() -> str:
    """What stands in the place of charts where they cannot be drawn; nothing where they can."""
    missing = missing_part("charts")
    return f"Charts need {' and '.join(PARTS['charts'].packages.values())}: {missing.fix}" if missing else ""


def inline_picture(chart: Any, title: str, name: str) -> str:
    """Return the markup of a chart: ``<svg>``, or ``<img>`` with embedded data. ``name`` makes its ids unique."""
    import vl_convert

    spec = finite(page_spec(chart))
    if has_many_marks(spec):
        png = vl_convert.vegalite_to_png(json.dumps(spec))
        width, height = struct.unpack(">II", png[16:24])  # where every PNG has them
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        return f'<img alt="{html_text(title)}" width="{width}" height="{height}" src="{source}">'
    return _fitting(vl_convert.vegalite_to_svg(json.dumps(spec)), title, name)


def inline_svg(chart: Any, title: str, name: str) -> str:
    """Return the chart as ``<svg>`` for any number of marks, for a page that does not allow embedded images."""
    import vl_convert

    return _fitting(vl_convert.vegalite_to_svg(json.dumps(finite(page_spec(chart)))), title, name)


def picture_width(markup: str) -> float:
    """Return the width in pixels of the markup of a chart."""
    found = re.search(r'width="([\d.]+)"', markup)
    return float(found[1]) if found else 0.0


def page_spec(chart: Any) -> dict[str, Any]:
    """Fit the chart to a page: legends below, and space for a font that is wider than the default."""
    spec: dict[str, Any] = dict(chart) if isinstance(chart, Mapping) else chart.to_dict()
    config = spec.get("config", {})
    legend = {**config.get("legend", {}), "orient": "bottom", "columns": 1 if _wordy(spec) else 3}
    padding = {"left": 20, "top": 5, "right": 20, "bottom": 5}
    return {**spec, "config": {**config, "legend": legend}, "padding": padding}


def _wordy(spec: dict[str, Any]) -> bool:
    """Return whether names in a legend are too long for one line."""
    domains = [
        name
        for layer in [spec, *spec.get("layer", [])]
        for name in (layer.get("encoding", {}).get("color", {}).get("scale") or {}).get("domain", [])
    ]
    return max((len(str(name)) for name in domains), default=0) > 16


def has_many_marks(spec: dict[str, Any]) -> bool:
    """Whether a chart is smaller as an image than as a drawing."""
    return _marks(spec) > MOST_MARKS


def _marks(spec: dict[str, Any]) -> int:
    """Count the marks over all layers."""
    layers = spec.get("layer", [])
    shared = len(spec.get("data", {}).get("values", []))
    own = [len(layer.get("data", {}).get("values", [])) for layer in layers]
    return max(1, len(layers)) * shared + sum(own)


def _fitting(svg: str, title: str, name: str) -> str:
    """Make the ids unique, add a label for screen readers, and round the numbers in labels."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r' aria-roledescription="[^"]*"', "", svg)  # a fifth of the file, and redundant with the label
    svg = re.sub(r'aria-label="[^"]*"', lambda label: _NUMBER.sub(_rounded, label[0]), svg)
    svg = re.sub(r"(?<=[\s,.\dMLHVhvlcCZ-])(\d+\.\d{3})\d+", r"\1", svg)  # a thousandth of a pixel is not visible
    return _SIZE.sub(
        lambda found: (
            f'<svg {found[1]}role="img" aria-label="{html_text(title)}" width="{found[2]}" height="{found[3]}"'
        ),
        svg,
        count=1,
    )


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.4g}"


LONG = 25  # tables with more rows are collapsed
WIDE = 700  # wider charts have a row of their own


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
    wide: bool  # too wide to stand beside another


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
            "measure": each.measure,
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
    text = json.dumps(with_visible_names(value), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown_section(section: Section) -> ShownSection:
    parts = [_shown_part(part, f"{section.slug}{at}") for at, part in enumerate(section.parts)]
    return ShownSection(section.slug, section.title, parts)


def _shown_part(part: Part, name: str) -> ShownPart:
    from markupsafe import Markup

    pictures = []
    for at, picture in enumerate(part.pictures):
        if picture.chart is None:
            markup = f'<p class="quiet">{html_text(charts_missing())}</p>'
        else:
            markup = inline_picture(picture.chart, picture.title, f"{name}-{at}")
        pictures.append(ShownPicture(picture.title, Markup(markup), picture_width(markup) > WIDE))
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
