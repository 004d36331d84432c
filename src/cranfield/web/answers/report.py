"""cranfield report"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from cranfield.errors import CranfieldError
from cranfield.methods.design.grid import parse_counts
from cranfield.rendering.document import Warnings
from cranfield.rendering.report_files import FACES
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import SECTIONS, Material, ReportGoal, make_report
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Makers, render
from cranfield.web.queries import ALPHA, POWER, Count, Given, ScoresQuery, field

Section = Literal["read", "scores", "variance", "size", "power", "compare", "shards", "pilot", "budget", "reliability"]


class ReportQuery(ScoresQuery):
    """What ``cranfield report`` takes."""

    scored_by = "AP nDCG@10"
    front = ("measure", "systems", "min_range", "difference", "width", "alpha", "power")
    systems: Count = field("Systems", "How many systems will be compared; the data's unless given.", ge=2, le=10_000)
    min_range: float = field("Range", "Smallest range of the systems' means to find.", 0.1, gt=0, le=1e3)
    difference: float = field("Difference", "Smallest difference of two systems to find.", 0.05, gt=0, le=1e3)
    width: float = field("Width", "Widest interval for a difference.", 0.1, gt=0, le=1e3)
    alpha: float = ALPHA
    power: float = POWER
    shards: str = field("Shards", "How many shards: a list or a range.", "2,5,10", max_length=100)
    samples: int = field("Re-shardings", "Re-shardings of each.", 1, ge=1, le=100)
    section: Annotated[list[Section] | None, Given] = field(
        "Sections", "Only this section; may be repeated.", max_length=10
    )
    title: str = field("Title", "The report's title; one of its own unless given.", "", max_length=200)


@dataclass(frozen=True)
class WholeAnswer:
    """A report with its faces, each made once."""

    report: Report
    command: str
    made: Mapping[str, bytes]
    note: str = ""

    def html(self, links: Mapping[str, str]) -> str:
        return render("whole.html", answer=self, links=links)

    def files(self) -> Makers:
        return {kind: partial(bytes, data) for kind, data in self.made.items()}

    def noting(self, note: str, warnings: Warnings = ()) -> WholeAnswer:
        return replace(self, note=" ".join(filter(None, (self.note, note))))


def answer(asked: Asked) -> WholeAnswer:
    query = asked.query
    goal = ReportGoal(**asked.chosen("systems", "min_range", "difference", "width", "alpha", "power"))
    goal.check()
    inputs = asked.inputs(
        "qrels",
        "teams",
        measure=query.measure,
        **vars(goal),
        **asked.chosen("shards", "samples", "section", "title", "missing", "seed"),
    )
    collection = asked.collection if asked.about["kind"] == "collection" else None
    tables = asked.tables(query.missing, usual=("AP", "nDCG@10"))
    material = Material(
        tables, collection, goal, parse_counts(query.shards, name="shards", most=20), query.samples, inputs, query.seed
    )
    steps = len(query.section or SECTIONS) + len(FACES)
    report = make_report(
        material, title=query.title, sections=query.section, progress=lambda done, _: asked.progress(done, steps)
    )
    made, note = _faces(report, lambda left: asked.progress(steps - left, steps))
    return WholeAnswer(report, asked.command(), made, note)


def _faces(report: Report, progress: Callable[[int], None]) -> tuple[dict[str, bytes], str]:
    """Every face that can be made here, and why there is no PDF where there is none."""
    made, note = {}, ""
    for at, (ending, make) in enumerate(FACES.items()):
        progress(len(FACES) - at)
        try:
            made[ending.removeprefix(".")] = make(report)
        except CranfieldError as error:
            if ending != ".pdf":  # printed by a browser, which not every machine has
                raise
            note = f"There is no PDF: {error.what}. Open the report and print it."
    return made, note


QUESTION = Question(
    "report",
    "Report",
    "Everything in one document",
    ReportQuery,
    answer,
    files=("qrels", "teams"),
    of=("collection", "scores", "shards"),
)
