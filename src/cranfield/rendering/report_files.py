"""A report as a file, in the format of its file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cranfield.errors import RequestError
from cranfield.formats.text import atomic_write
from cranfield.questions.report import ReportResult
from cranfield.rendering.manuscript import report_json, report_latex, report_markdown
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report


def _html(report: Report) -> bytes:
    from cranfield.rendering.report_page import to_html

    return to_html(report).encode()


def _pdf(report: Report) -> bytes:
    from cranfield.rendering.pdf import find_browser, to_pdf
    from cranfield.rendering.report_page import to_html

    browser = find_browser()
    return to_pdf(to_html(report, printed=True), browser=browser)


def _xlsx(report: Report) -> bytes:
    from cranfield.rendering.workbook import to_xlsx

    return to_xlsx(report)


def _bib(report: Report) -> bytes:
    from cranfield.rendering.bibtex import to_bibtex

    return f"{to_bibtex(report.citations)}\n".encode()


def _read_by_people(make: Callable[[Report], bytes]) -> Callable[[Report], bytes]:
    """Messages in a report speak of flags, whoever wrote it: the report says which command makes it."""
    return lambda report: make(report.spoken("command"))


FORMATS: dict[str, Callable[[Report], bytes]] = {
    ".html": _read_by_people(_html),
    ".pdf": _read_by_people(_pdf),
    ".md": _read_by_people(lambda report: f"{report_markdown(report)}\n".encode()),
    ".tex": _read_by_people(lambda report: f"{report_latex(report)}\n".encode()),
    ".json": lambda report: f"{report_json(report)}\n".encode(),
    ".xlsx": _read_by_people(_xlsx),
    ".bib": _bib,
}
"""Every output format, by the extension of its files."""


def check_report_name(path: str) -> None:
    """Raise an error for a format that is unknown or not available here, before anything is computed."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise RequestError(
            f"«{path}» does not say which report to write", fix=f"End the name in one of: {', '.join(FORMATS)}."
        )
    if ending == ".pdf":
        from cranfield.rendering.pdf import find_browser

        find_browser()


def write_report(report: Report | ReportResult, path: str | Path) -> int:
    """Write a report in the format of its name (.html, .pdf, .md, .tex, .json, .xlsx or .bib); return the bytes."""
    check_report_name(str(path))
    if isinstance(report, ReportResult):
        report = make_report(report)
    data = FORMATS[Path(path).suffix.lower()](report)
    with atomic_write(path) as stream:
        stream.write(data)
    return len(data)
