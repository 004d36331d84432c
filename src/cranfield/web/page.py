"""Pages from templates; whatever is put into one is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import cranfield
from cranfield.report import faces
from cranfield.report.document import Document, show, warning_lines
from cranfield.report.references import REFERENCES
from cranfield.report.sketch import standalone

MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Answer:
    """What a page shows: a document, its chart where there is one, and the command that gives the same."""

    document: Document
    command: str
    sketch: str = ""
    caption: str = ""
    note: str = ""  # on what the names in the command stand for


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("cranfield.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.globals.update(version=cranfield.__version__, show=show, warning_lines=warning_lines, references=REFERENCES)
    made.filters["svg"] = Markup  # only ever given what report.sketch has made, which escapes
    return made


def render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


@cache
def static(name: str) -> bytes:
    """A style sheet, script or icon of ours."""
    return resources.files("cranfield.web").joinpath("static", name).read_bytes()


def answer_html(answer: Answer, links: Mapping[str, str]) -> str:
    """The part of a page that changes with the question."""
    return render("answer.html", answer=answer, links=links)


def download(answer: Answer, kind: str) -> str:
    """The answer as a file."""
    if kind == "html":
        return render("report.html", answer=answer, style=static("page.css").decode())
    if kind == "svg":
        return standalone(answer.sketch)
    if kind == "csv":
        return faces.to_csv(answer.document) + "\n"
    make = {"json": faces.to_json, "md": faces.to_markdown, "tex": faces.to_latex}
    return make[kind](answer.document) + "\n"


def kinds(answer: Answer) -> Sequence[str]:
    """The files there are of an answer."""
    return [kind for kind in MEDIA if kind != "svg" or answer.sketch]


def _text(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
