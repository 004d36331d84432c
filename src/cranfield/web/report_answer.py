"""The answer of the page «report»: a document whose files are written when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from cranfield.errors import CranfieldError, speak
from cranfield.questions import find_question
from cranfield.questions.report import ReportResult
from cranfield.rendering.pdf import find_browser
from cranfield.rendering.report_files import FORMATS
from cranfield.rendering.report_sections import make_report
from cranfield.web.asking import Asked
from cranfield.web.page import Makers, render
from cranfield.web.page_maker import make_page, result_of


@dataclass(frozen=True)
class WholeAnswer:
    """A report, and the formats that this machine can write it in."""

    result: ReportResult
    command: str
    endings: tuple[str, ...]
    note: str = ""

    def html(self, links: Mapping[str, str]) -> str:
        return render("whole.html", answer=self, report=make_report(self.result).spoken("page"), links=links)

    def files(self) -> Makers:
        return {ending.removeprefix("."): partial(self._file, ending) for ending in self.endings}

    def _file(self, ending: str) -> bytes:
        return FORMATS[ending](make_report(self.result))

    def noting(self, note: str) -> WholeAnswer:
        return replace(self, note=" ".join(filter(None, (self.note, note))))

    def kept(self) -> WholeAnswer:
        return self

    @property
    def is_slow(self) -> bool:
        """A PDF starts a browser, and every chart is drawn anew."""
        return True


def answer(asked: Asked) -> WholeAnswer:
    """Compute the report; its files are written when they are asked for."""
    result = result_of(find_question("report"), asked)
    if asked.about["kind"] == "collection":  # the command names it after the first of its files
        tables = {result.inputs["scores"][0]: result.about.table}
        result = replace(result, about=replace(result.about, tables=tables))
    endings, note = tuple(FORMATS), ""
    try:
        find_browser()
    except CranfieldError as error:  # which prints the PDF, and which not every machine has
        endings = tuple(ending for ending in FORMATS if ending != ".pdf")
        note = f"There is no PDF: {speak(error.what, 'page')}. Open the report and print it."
    return WholeAnswer(result, asked.command(), endings, note)


QUESTION = make_page(
    "report",
    front=("measure", "systems", "min_range", "difference", "width", "alpha", "power"),
    files=("qrels", "teams"),
    of=("collection", "scores", "shards"),
    scored_by="AP nDCG@10",
    answer=answer,
)
