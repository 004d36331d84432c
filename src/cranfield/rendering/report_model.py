"""The report: sections of documents and charts, from which every output format is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cranfield.errors import Caution, speak
from cranfield.formats.problems import Problem
from cranfield.questions import find_question
from cranfield.questions.parameters import command_of
from cranfield.rendering.document import Document, spoken, spoken_warnings
from cranfield.rendering.drawing import Chart
from cranfield.rendering.references import cited_keys
from cranfield.versions import versions

if TYPE_CHECKING:
    from cranfield.methods.design.topic_table import TopicTable

METHODS_ORDER = ("read", "scores", "variance", "size", "power", "compare")
"""The sections whose methods are told first, in the order of a paper; the others follow as they are in the report."""


@dataclass(frozen=True)
class Picture:
    """A chart and its text alternative."""

    title: str
    chart: Chart

    @classmethod
    def drawn(cls, title: str, draw: Callable[..., Chart], *of: Any, **how: Any) -> Picture:
        """The chart that ``draw`` makes of these."""
        return cls(title, draw(*of, **how))


@dataclass(frozen=True)
class Part:
    """A document with its charts, and a title if the section has several documents."""

    document: Document
    pictures: tuple[Picture, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Section:
    """One section. ``methods`` is a text for the methods section of a paper, with citations as ``[@Key]``."""

    slug: str
    title: str
    parts: tuple[Part, ...]
    methods: str = ""

    def spoken(self, interface: str) -> Section:
        """The same with every message in the words of the ``interface``."""
        return replace(
            self, parts=tuple(replace(part, document=spoken(part.document, interface)) for part in self.parts)
        )


@dataclass(frozen=True)
class Point:
    """One point of the summary of a report: what it is about, and the sentences, one per measure."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """A section that is not possible for the input, and the reason."""

    title: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Start:
    """The initial values of the calculators of page and workbook: a goal, and the estimates of one measure.

    ``variances`` maps the name of an estimate to σ² and the lower and upper end of its interval.
    """

    measure: str
    systems: int
    min_range: float
    difference: float
    width: float
    alpha: float
    power: float
    variances: Mapping[str, tuple[float, float, float]]


def today() -> str:
    """The date of a report; ``SOURCE_DATE_EPOCH`` sets another, so that a file can be made again byte by byte."""
    import os
    from datetime import UTC, datetime

    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(said), UTC) if said.isdigit() else datetime.now().astimezone()
    return f"{now:%Y-%m-%d}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report about an input. ``topic_table`` makes what the calculators of page and workbook look n up in."""

    title: str
    inputs: Mapping[str, Any]
    sections: tuple[Section, ...]
    points: tuple[Point, ...] = ()
    date: str = field(default_factory=today)
    left_out: tuple[LeftOut, ...] = ()
    starts: tuple[Start, ...] = ()
    topic_table: Callable[..., TopicTable] | None = None
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=versions)
    input_warnings: tuple[Caution, ...] = ()

    @property
    def documents(self) -> list[Document]:
        return [part.document for section in self.sections for part in section.parts]

    @property
    def methods(self) -> str:
        """Text for the methods section of a paper, with citations as ``[@Key]``."""
        order = {slug: at for at, slug in enumerate(METHODS_ORDER)}
        told = sorted(self.sections, key=lambda section: order.get(section.slug, len(order)))
        return " ".join(section.methods for section in told if section.methods)

    @property
    def citations(self) -> tuple[str, ...]:
        """Citation keys of all sections, sorted."""
        keys = {key for document in self.documents for key in document.citations}
        return tuple(sorted(keys.union(cited_keys(self.methods))))

    @property
    def command(self) -> str:
        """The command line that reproduces this report; empty if it was not made from files."""
        return command_of(find_question("report"), self.inputs)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """The warnings of the input and the sections, without repetitions."""
        found = (problem for document in self.documents for problem in document.warnings)
        return tuple(dict.fromkeys((*self.input_warnings, *found)))

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The warnings about results; problems of files are listed in the section on the input."""
        return tuple(warning for warning in self.warnings if not isinstance(warning, Problem))

    def spoken(self, interface: str) -> Report:
        """The same with every message in the words of the ``interface``."""
        return replace(
            self,
            sections=tuple(section.spoken(interface) for section in self.sections),
            points=tuple(
                Point(each.title, tuple(speak(line, interface) for line in each.lines)) for each in self.points
            ),
            left_out=tuple(LeftOut(each.title, speak(each.reason, interface)) for each in self.left_out),
            input_warnings=spoken_warnings(self.input_warnings, interface),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the content for JSON, with one row per document."""
        rows = [
            {
                "section": section.slug,
                "title": part.title or section.title,
                "sentence": part.document.sentence,
                **part.document.details(),
                "rows": list(part.document.rows),
            }
            for section in self.sections
            for part in section.parts
        ]
        whole = Document(
            method="report",
            inputs=self.inputs,
            tables=[],
            rows=rows,
            answer="",
            citations=self.citations,
            warnings=self.warnings,
            seed=self.seed,
        )
        summary = {each.title: list(each.lines) for each in self.points}
        extra = {
            "title": self.title,
            "date": self.date,
            "summary": summary,
            "methods": self.methods,
            "command": self.command,
            "versions": dict(self.versions),
        }
        left = [{"title": each.title, "reason": each.reason} for each in self.left_out]
        return {**whole.details(), **extra, "left_out": left, "rows": rows}

    def summary(self) -> str:
        """What the report says, or its sections where nothing is to be summarised."""
        if self.points:
            return "\n".join(line for point in self.points for line in point.lines)
        names = ", ".join(section.title.lower() for section in self.sections)
        return f"{self.title}: {names}."
