"""Pages from templates, and answers as files; whatever is put into a page is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib import resources
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from fastapi.responses import Response, StreamingResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel, ConfigDict

import cranfield
from cranfield.formats.text import in_utf8
from cranfield.rendering import output_formats
from cranfield.rendering.charts import on_white, stacked
from cranfield.rendering.document import Document, Table, first_warnings, show, spoken, warning_lines
from cranfield.rendering.references import REFERENCES
from cranfield.rendering.report_model import Picture
from cranfield.rendering.report_page import asset, shown_in_page

MEDIA = {
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "bib": "application/x-bibtex; charset=utf-8",
    "svg": "image/svg+xml",
    "scores": "text/csv; charset=utf-8",
    "badge": "image/svg+xml",
    "board": "text/html; charset=utf-8",
    "study": "application/jsonl",
}
WORDS = {
    "html": "report",
    "pdf": "PDF",
    "json": "JSON",
    "csv": "CSV",
    "md": "Markdown",
    "tex": "LaTeX",
    "xlsx": "workbook",
    "bib": "BibTeX",
    "svg": "chart",
    "scores": "scores of every topic",
    "badge": "badge",
    "board": "board as a page",
    "study": "study file with this step",
}
ENDINGS = {
    "scores": "scores.csv",
    "badge": "badge.svg",
    "board": "board.html",
}  # of the file's name, where it is not the kind
LARGEST = 1_500_000  # characters of a chart inside a page; a larger one is a file only

Makers = Mapping[str, Callable[[], str | bytes]]


class Reply(Protocol):
    """What a question is answered with: a part of a page, and files."""

    @property
    def command(self) -> str: ...

    def html(self, links: Mapping[str, str]) -> str: ...

    def files(self) -> Makers: ...

    def noting(self, note: str, labels: Mapping[str, str]) -> Reply: ...

    def kept(self) -> Reply: ...

    @property
    def is_slow(self) -> bool: ...


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG, of one measure where there are several."""

    title: str
    markup: str
    measure: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a page shows: a document, its charts where there are some, and the command that gives the same.

    ``sketches`` are drawn; ``pictures`` are charts by measure, drawn once; ``more`` are files to take along.
    """

    document: Document
    command: str
    sketches: tuple[Drawing, ...] = ()
    note: str = ""  # on what the names in the command stand for
    pictures: tuple[tuple[str, Picture], ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)  # what messages call the fields of the form
    left_out: Sequence[str] = ()  # fields that have no effect on this answer
    drawn: tuple[Drawing, ...] = ()

    def html(self, links: Mapping[str, str]) -> str:
        """The part of a page that changes with the question."""
        return render("answer.html", answer=self._spoken, links=links, **self._shown())

    def noting(self, note: str, labels: Mapping[str, str]) -> Answer:
        """With what the names in the command stand for, and the labels of fields that messages name."""
        return replace(self, note=note, labels=labels)

    @property
    def is_slow(self) -> bool:
        """Whether files take long to make; those of a document and drawn charts do not."""
        return False

    def kept(self) -> Answer:
        """With its charts drawn, so that files can be made of it later."""
        return replace(self, drawn=tuple(self._drawn), pictures=())

    def files(self) -> Makers:
        """The files there are of an answer, each made when it is asked for."""
        made: dict[str, Callable[[], str | bytes]] = {
            "html": lambda: render(
                "report.html", answer=self._spoken, style=static("page.css").decode(), **self._shown()
            ),
            "json": lambda: output_formats.to_json(self.document) + "\n",
            "csv": lambda: output_formats.to_csv(self.document) + "\n",
            "md": lambda: output_formats.to_markdown(self._spoken.document) + "\n",
            "tex": lambda: output_formats.to_latex(self._spoken.document) + "\n",
        }
        if self.sketches:
            made["svg"] = lambda: on_white(stacked([each.markup for each in self.sketches]))
        elif self.pictures or self.drawn:
            made["svg"] = lambda: on_white(stacked([each.markup for each in self._drawn]))
        return {**made, **{kind: partial(str, text) for kind, text in self.more.items()}}

    @cached_property
    def _spoken(self) -> Answer:
        """The same in the words of a page."""
        return replace(self, document=spoken(self.document, "page", self.labels))

    @cached_property
    def _drawn(self) -> Sequence[Drawing]:
        if self.drawn or self.sketches:
            return self.drawn or self.sketches
        from cranfield.rendering.report_page import inline_picture

        return [Drawing(each.title, inline_picture(each.chart, each.title), measure) for measure, each in self.pictures]

    def _shown(self) -> dict[str, Any]:
        """The charts that a page shows, and the measures that it shows one at a time."""
        drawn = [each for each in self._drawn if len(each.markup) <= LARGEST]
        measures = list(dict.fromkeys(measure for table in self.document.tables for measure in measures_of(table)))
        return {"drawn": drawn, "measures": measures if len(measures) > 1 else []}


def measures_of(table: Table) -> list[str]:
    """The measure of a table, or those of its rows; none where it is shown with all of them."""
    if table.measure == "*":
        return []
    at = next((place for place, column in enumerate(table.columns) if column.word == "measure"), None)
    found = [table.measure] if at is None else [row[at] for row in table.rows]
    return [str(each) for each in found if each]


def measure_of_row(table: Table, row: Sequence[Any]) -> str:
    return next((str(row[at]) for at, column in enumerate(table.columns) if column.word == "measure"), "")


def lines_of(text: str, measures: Sequence[str]) -> list[tuple[str, str]]:
    """The lines of an answer, each with the measure that it begins with.

    >>> lines_of("AP: a is best.\\nP@10: b is best.", ["AP", "P@10"])
    [('AP', 'AP: a is best.'), ('P@10', 'P@10: b is best.')]
    """
    return [(next((name for name in measures if line.startswith(f"{name}: ")), ""), line) for line in text.splitlines()]


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "system"), counted(1200, "topic")
    ('1 system', '1,200 topics')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


FILE_KINDS = {"qrels": "Judgments", "intents": "Judgments per intent", "teams": "Teams"}


def files_of(about: Mapping[str, Any]) -> dict[str, list[str]]:
    """The files of an upload by their kind, which has no name where there is one kind only.

    >>> files_of({"names": ["a", "b", "q"], "options": {"qrels": "q", "order": "rank"}})
    {'Runs': ['a', 'b'], 'Judgments': ['q']}
    >>> files_of({"names": ["s.csv"], "options": {}})
    {'': ['s.csv']}
    """
    others = {title: [about["options"][flag]] for flag, title in FILE_KINDS.items() if flag in about["options"]}
    rest = [name for name in about["names"] if [name] not in others.values()]
    return {"Runs": rest, **others} if others else {"": rest}


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("cranfield.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown_in_page,
    )
    made.globals.update(
        version=cranfield.__version__,
        show=show,
        warning_lines=warning_lines,
        first_warnings=first_warnings,
        references=REFERENCES,
        words=WORDS,
        lines_of=lines_of,
        counted=counted,
        files_of=files_of,
        measure_of_row=measure_of_row,
    )
    made.filters["exact"] = escape  # of what a form sends back: the name as it is
    made.filters["svg"] = Markup  # only ever given what report's charts and sketches have made, which escape
    return made


def render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


@cache
def static(name: str) -> bytes:
    """A style sheet, script or icon of ours; charts are pointed at here as they are in reports."""
    if name == "tip.js":
        return asset(name).encode()
    return resources.files("cranfield.web").joinpath("static", name).read_bytes()


def download(answer: Reply, kind: str) -> bytes:
    """The answer as a file."""
    made = answer.files()[kind]()
    return made if isinstance(made, bytes) else in_utf8(made)


class ResultAnswer(BaseModel):
    """What ``--json`` prints; some results have more keys, such as ``pairs``."""

    model_config = ConfigDict(extra="allow")
    inputs: dict[str, Any]
    method: str
    citations: list[str]
    warnings: list[dict[str, Any]]
    seed: int | None
    version: str
    rows: list[dict[str, Any]]


def asked(query: BaseModel) -> str:
    """A query as it stands in an address."""
    pairs = [
        (name, str(each).lower() if isinstance(each, bool) else each)
        for name, value in query.model_dump(exclude_none=True, exclude_defaults=True).items()
        for each in (value if isinstance(value, list) else [value])
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def links_of(page: str, query: BaseModel, answer: Reply) -> dict[str, str]:
    return {kind: f"{page}.{kind}{asked(query)}" for kind in answer.files()}


def _pieces(path: Path) -> Iterator[bytes]:
    """What is in a file, some at a time, so that whoever reads slowly does not keep all of it in memory."""
    with path.open("rb") as stream:
        while piece := stream.read(1 << 16):
            yield piece


def as_file(content: str | bytes | Path, kind: str, name: str) -> Response:
    """JSON is shown, everything else is kept; a file on disk is sent from there."""
    file = f"cranfield-{name}.{ENDINGS.get(kind, kind)}"
    headers = {} if kind == "json" else {"content-disposition": f'attachment; filename="{file}"'}
    if isinstance(content, Path):
        headers |= {"content-length": str(content.stat().st_size)}
        return StreamingResponse(_pieces(content), media_type=MEDIA[kind], headers=headers)
    return Response(content, media_type=MEDIA[kind], headers=headers)
