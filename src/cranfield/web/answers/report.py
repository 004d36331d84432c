"""cranfield report"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from cranfield.errors import CranfieldError, speak
from cranfield.questions import find_question
from cranfield.questions.report import SECTIONS
from cranfield.rendering.document import Warnings
from cranfield.rendering.report_files import FORMATS
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report
from cranfield.web.asking import Asked
from cranfield.web.generation import make_page, result_of
from cranfield.web.page import Makers, render


@dataclass(frozen=True)
class WholeAnswer:
    """A report with its faces, each made once."""

    report: Report
    command: str
    made: Mapping[str, bytes]
    note: str = ""

    def html(self, links: Mapping[str, str]) -> str:
        return render("whole.html", answer=replace(self, report=self.report.spoken("page")), links=links)

    def files(self) -> Makers:
        return {kind: partial(bytes, data) for kind, data in self.made.items()}

    def noting(self, note: str, warnings: Warnings = ()) -> WholeAnswer:
        return replace(self, note=" ".join(filter(None, (self.note, note))))


def answer(asked: Asked) -> WholeAnswer:
    """Compute the report, then render it in every format."""
    steps = len(asked.query.section or SECTIONS) + len(FORMATS)
    result = result_of(find_question("report"), asked, lambda done, _: asked.progress(done, steps))
    report = make_report(result)
    made, note = _faces(report, lambda left: asked.progress(steps - left, steps))
    return WholeAnswer(report, asked.command(), made, note)


def _faces(report: Report, progress: Callable[[int], None]) -> tuple[dict[str, bytes], str]:
    """Every face that can be made here, and why there is no PDF where there is none."""
    made, note = {}, ""
    for at, (ending, make) in enumerate(FORMATS.items()):
        progress(len(FORMATS) - at)
        try:
            made[ending.removeprefix(".")] = make(report)
        except CranfieldError as error:
            if ending != ".pdf":  # printed by a browser, which not every machine has
                raise
            note = f"There is no PDF: {speak(error.what, 'page')}. Open the report and print it."
    return made, note


QUESTION = make_page(
    "report",
    front=("measure", "systems", "min_range", "difference", "width", "alpha", "power"),
    files=("qrels", "teams"),
    of=("collection", "scores", "shards"),
    scored_by="AP nDCG@10",
    answer=answer,
)
