"""A report as a file, in the format of its file name; a browser on this machine prints the PDF."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cranfield.errors import RequestError, WriteError, check_part, missing_part
from cranfield.formats.text import atomic_write, in_utf8
from cranfield.questions.report import ReportResult
from cranfield.rendering.charts import converted
from cranfield.rendering.document import Table, finite, warning_lines
from cranfield.rendering.latex import bibtex_comments, cite_in_latex, latex_table, latex_text, table_lines
from cranfield.rendering.output_formats import markdown_table, markdown_text
from cranfield.rendering.references import REFERENCES, to_bibtex
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report

MOST_ROWS = 60  # more rows are not useful in print; JSON and the workbook have all of them
PAGE_LINES = 36  # of a table that is not broken, with its title and a heading on the same page


def report_json(report: Report) -> str:
    """Return one object; its rows are the documents, each with its inputs, method, citations and rows."""
    return json.dumps(finite(report.to_dict()), ensure_ascii=False, indent=1, allow_nan=False)


def report_markdown(report: Report) -> str:
    """Return headings, sentences and tables; citations have Pandoc syntax, and the BibTeX is at the end."""
    lines = [f"# {markdown_text(_line(report.title))}", report.date]
    lines += [f"**{point.title}.** {markdown_text(' '.join(point.lines))}" for point in report.points]
    for section in report.sections:
        lines.append(f"## {section.title}")
        for part in section.parts:
            lines += [f"### {markdown_text(_line(part.title))}"] if part.title else []
            lines += [markdown_text(part.document.answer)] if part.document.answer else []
            lines += [_short_table(table) for table in part.document.tables]
            lines += [markdown_text(part.document.notes)] if part.document.notes else []
    lines += [f"> {markdown_text(line)}" for line in warning_lines(report.warnings)]
    lines += ["## Methods text", markdown_text(report.methods), "## References"]
    lines += ["\n".join(f"- **{key}** {REFERENCES[key]}" for key in report.citations)]
    lines += [f"```bibtex\n{to_bibtex(report.citations)}\n```", "## Seed and versions", markdown_text(_origin(report))]
    return "\n\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _short_table(table: Table) -> str:
    kept, left = _kept(table)
    note = f"\n\n*… and {left:,} more rows.*" if left else ""
    return markdown_table(kept) + note


def _kept(table: Table) -> tuple[Table, int]:
    left = max(0, len(table.rows) - MOST_ROWS)
    return (Table(table.columns, table.rows[:MOST_ROWS], table.title), left) if left else (table, 0)


def _origin(report: Report) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    made = f" Made by: {report.command}" if report.command else ""
    left = "".join(f" Not in this report: {each.title} ({each.reason})." for each in report.left_out)
    return f"Seed {report.seed}; {versions}.{left}{made}"


_PREAMBLE = r"""\documentclass{article}
\usepackage{iftex}
\ifPDFTeX\pdfminorversion=7 \usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\else\usepackage{fontspec}\fi
\usepackage{array}
\usepackage{booktabs}
\usepackage{float}
\usepackage{graphicx}
\makeatletter\@beginparpenalty=10000\makeatother % a table stays with its title
\clubpenalty=10000 \widowpenalty=10000 \emergencystretch=3em
\begin{document}"""


def report_latex(report: Report, figures: Mapping[str, str] | None = None) -> str:
    """Return an article with booktabs tables and a bibliography; the BibTeX is at the end, in comments.

    ``figures`` are the files of charts, by their titles.
    """
    lines = [_PREAMBLE, rf"\title{{{latex_text(_line(report.title))}}}", r"\author{}"]
    lines += [rf"\date{{{report.date}}}", r"\maketitle"]
    lines += [rf"\paragraph{{{point.title}.}} {latex_text(' '.join(point.lines))}" for point in report.points]
    drawn = dict(figures or {})
    for section in report.sections:
        lines.append(rf"\section{{{latex_text(section.title)}}}")
        for part in section.parts:
            lines += [rf"\subsection*{{{latex_text(_line(part.title))}}}"] if part.title else []
            lines += [latex_text(part.document.answer)] if part.document.answer else []
            lines += [
                _latex_figure(picture.title, drawn[picture.title])
                for picture in part.pictures
                if picture.title in drawn
            ]
            lines += _latex_tables(part.document.tables)
            lines += [latex_text(part.document.notes)] if part.document.notes else []
    lines += [rf"\paragraph{{Caution.}} {latex_text(line)}" for line in warning_lines(report.cautions)]
    lines += [r"\section{Methods}", cite_in_latex(report.methods), r"\section{Seed and versions}"]
    items = [rf"\bibitem{{{key}}} {latex_text(REFERENCES[key])}" for key in report.citations]
    books = [r"\begin{thebibliography}{99}\raggedright", *items, r"\end{thebibliography}"] if items else []
    # Hyphens of flags are no dash, and a long path is broken after a slash.
    origin = latex_text(_origin(report)).replace(" --", " -{}-").replace("/", r"/\allowbreak{}")
    lines += [origin, "\n".join(books), r"\end{document}"]
    return "\n\n".join([*lines, bibtex_comments(report.citations)])


def _latex_figure(title: str, file: str) -> str:
    return rf"""\begin{{figure}}[H]
\centering
\includegraphics[width=.85\linewidth, height=.75\textheight, keepaspectratio]{{{file}}}
\caption{{{latex_text(title)}}}
\end{{figure}}"""


def write_figures(report: Report, path: str | Path) -> dict[str, str]:
    """Write the charts of a report as PDF into a folder beside ``path``; return their files by their titles."""
    if missing_part("charts"):
        return {}
    folder, files = Path(path).with_suffix("").with_name(f"{Path(path).stem}-figures"), {}
    pictures = [picture for section in report.sections for part in section.parts for picture in part.pictures]
    for at, picture in enumerate(pictures, start=1):
        folder.mkdir(exist_ok=True)
        name = f"{at}.pdf"
        with atomic_write(folder / name) as stream:
            stream.write(converted(picture.chart.to_svg(is_headed=False), ".pdf"))
        files[picture.title] = f"{folder.name}/{name}"
    return files


def _latex_tables(tables: Sequence[Table]) -> list[str]:
    lines = []
    for table in tables:
        kept, left = _kept(table)
        title = [rf"\medskip\noindent\textbf{{{latex_text(table.title)}}}"] if table.title else []
        more = [f"… and {left:,} more rows."] if left else []
        parts = "\n\n\\pagebreak[2]\n\n".join(map(_fitted, _page_tables(kept)))
        lines += [*title, parts, *(latex_text(each) for each in more)]
    return lines


def _page_tables(table: Table) -> list[Table]:
    """The table in parts of which each fits a page."""
    parts: list[list[tuple[Any, ...]]] = [[]]
    filled = 0
    for row, lines in zip(table.rows, table_lines(table), strict=True):
        if parts[-1] and filled + lines > PAGE_LINES:
            parts.append([])
            filled = 0
        parts[-1].append(row)
        filled += lines
    return [Table(table.columns, rows) for rows in parts]


def _fitted(table: Table) -> str:
    """A table wider than the page is scaled to fit; others keep their size."""
    fitted = "\\begin{center}\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
    return f"{fitted}{latex_table(table)}}}\n\\end{{center}}"


BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
PLACES = (  # usual places of browsers that are not on the path
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-pdf-header-footer",
)


def find_browser() -> str:
    """Find a browser, or raise RequestError. ``CRANFIELD_BROWSER`` names another one."""
    wanted = os.environ.get("CRANFIELD_BROWSER")
    for name in [wanted] if wanted else [*BROWSERS, *PLACES]:
        found = shutil.which(name)
        if found is not None:
            return found
    raise RequestError(
        f"there is no browser «{wanted}» to print a PDF with" if wanted else "no browser was found to print a PDF with",
        fix="Install Chromium, Chrome or Edge (CRANFIELD_BROWSER names one elsewhere), or open the HTML report in any "
        "browser and print it.",
    )


def to_pdf(page: str, *, browser: str | None = None, seconds: float = 180) -> bytes:
    """Print the page to PDF. The browser has an empty profile, and the page loads nothing from the network."""
    chosen = browser or find_browser()
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        _run(
            [
                chosen,
                *QUIET,
                *_as_root(),
                f"--user-data-dir={folder}/profile",
                f"--print-to-pdf={target}",
                source.as_uri(),
            ],
            seconds,
        )
        data = target.read_bytes() if target.exists() else b""
    if not data.startswith(b"%PDF"):
        raise WriteError("the browser printed nothing", where=chosen, fix="Open the HTML report in it and print it.")
    return data


def _as_root() -> Sequence[str]:
    """Return the options for root, for whom a browser starts only without its sandbox; the page is trusted."""
    return ("--no-sandbox",) if sys.platform != "win32" and os.geteuid() == 0 else ()


def _run(command: Sequence[str], seconds: float) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise WriteError(
            f"the browser did not finish within {seconds:g} s", where=command[0], fix="Print the HTML report by hand."
        ) from None
    except OSError as error:
        raise WriteError(f"the browser does not start: {error.strerror}", where=command[0]) from None


def _html(report: Report) -> bytes:
    from cranfield.rendering.report_page import to_html

    return in_utf8(to_html(report))


def _pdf(report: Report) -> bytes:
    from cranfield.rendering.report_page import to_html

    browser = find_browser()
    return to_pdf(to_html(report, printed=True), browser=browser)


def _xlsx(report: Report) -> bytes:
    from cranfield.rendering.workbook import to_xlsx

    return to_xlsx(report)


def _bib(report: Report) -> bytes:
    from cranfield.rendering.references import to_bibtex

    return f"{to_bibtex(report.citations)}\n".encode()


def _read_by_people(make: Callable[[Report], bytes]) -> Callable[[Report], bytes]:
    """Messages in a report name settings, not flags: people read it who did not make it."""
    return lambda report: make(report.spoken("report"))


FORMATS: dict[str, Callable[[Report], bytes]] = {
    ".html": _read_by_people(_html),
    ".pdf": _read_by_people(_pdf),
    ".md": _read_by_people(lambda report: in_utf8(f"{report_markdown(report)}\n")),
    ".tex": _read_by_people(lambda report: in_utf8(f"{report_latex(report)}\n")),
    ".json": lambda report: in_utf8(f"{report_json(report)}\n"),
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
        find_browser()
    if ending == ".xlsx":
        check_part("workbook")


def write_report(report: Report | ReportResult, path: str | Path) -> int:
    """Write a report in the format of its name (.html, .pdf, .md, .tex, .json, .xlsx or .bib); return the bytes."""
    check_report_name(str(path))
    if isinstance(report, ReportResult):
        report = make_report(report)
    ending = Path(path).suffix.lower()
    if ending == ".tex":
        data = in_utf8(f"{report_latex(report.spoken('report'), write_figures(report, path))}\n")
    else:
        data = FORMATS[ending](report)
    with atomic_write(path) as stream:
        stream.write(data)
    return len(data)
