"""The whole report: sections made of documents and pictures; every face of it derives from here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cranfield.errors import Caution, speak
from cranfield.formats.problems import Problem
from cranfield.rendering.document import Document, spoken, spoken_warnings
from cranfield.rendering.references import REFERENCES
from cranfield.versions import versions

CITED = re.compile(r"\[@([A-Za-z0-9]+)\]")  # Pandoc's way of citing, which the methods text is written in


@dataclass(frozen=True)
class Picture:
    """A chart (Altair's, or its specification) and the words that stand for it where it cannot be seen."""

    title: str
    chart: Any


@dataclass(frozen=True)
class Part:
    """A document with its pictures, under a title where a section has several."""

    document: Document
    pictures: tuple[Picture, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Section:
    """One question and its answer. ``methods`` is what a paper would say of it, citations as ``[@Key]``."""

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
class LeftOut:
    """A section the input cannot have, and why."""

    title: str
    reason: str


@dataclass(frozen=True)
class Start:
    """Where the calculators of page and workbook start: a goal, and the estimates of one measure.

    ``variances`` has, by the name of the estimate, σ² with the lower and upper end of its interval.
    """

    measure: str
    systems: int
    min_range: float
    difference: float
    width: float
    alpha: float
    power: float
    variances: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Report:
    """Everything there is to say about an input."""

    title: str
    inputs: Mapping[str, Any]
    sections: tuple[Section, ...]
    left_out: tuple[LeftOut, ...] = ()
    starts: tuple[Start, ...] = ()
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=versions)
    input_warnings: tuple[Problem | Caution, ...] = ()

    @property
    def documents(self) -> list[Document]:
        return [part.document for section in self.sections for part in section.parts]

    @property
    def methods(self) -> str:
        """The methods paragraph, ready to paste, citations as ``[@Key]``."""
        return " ".join(section.methods for section in self.sections if section.methods)

    @property
    def citations(self) -> tuple[str, ...]:
        """Keys of everything the sections rest on, by name."""
        keys = {key for document in self.documents for key in document.citations}
        return tuple(sorted(keys | {key for key in CITED.findall(self.methods) if key in REFERENCES}))

    @property
    def command(self) -> str:
        """The command line that makes this report again; empty where it was not made of files."""
        given = dict(self.inputs)
        files = given.pop("scores", None)
        if not files:
            return ""
        words = ["cranfield", "report", *files]
        for name, value in given.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            words += [f"--{name.replace('_', '-')}={each}" for each in values if each not in (None, "")]
        return shlex.join(words)

    @property
    def warnings(self) -> tuple[Problem | Caution, ...]:
        """What the input and the sections should be read with, each once however many sections carry it."""
        found = (problem for document in self.documents for problem in document.warnings)
        return tuple(dict.fromkeys((*self.input_warnings, *found)))

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """The warnings that are about results; problems of files are listed in the section on what was read."""
        return tuple(warning for warning in self.warnings if isinstance(warning, Caution))

    def spoken(self, interface: str) -> Report:
        """The same with every message in the words of the ``interface``."""
        return replace(
            self,
            sections=tuple(section.spoken(interface) for section in self.sections),
            left_out=tuple(LeftOut(each.title, speak(each.reason, interface)) for each in self.left_out),
            input_warnings=spoken_warnings(self.input_warnings, interface),
        )

    def to_dict(self) -> dict[str, Any]:
        """What JSON has: the usual words, and one row a document."""
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
        whole = Document("report", self.inputs, [], rows, "", self.citations, self.warnings, self.seed)
        extra = {"title": self.title, "methods": self.methods, "command": self.command, "versions": dict(self.versions)}
        left = [{"title": each.title, "reason": each.reason} for each in self.left_out]
        return {**whole.details(), **extra, "left_out": left, "rows": rows}

    def summary(self) -> str:
        """One sentence on what the report has."""
        names = ", ".join(section.title.lower() for section in self.sections)
        return f"{self.title}: {names}."
