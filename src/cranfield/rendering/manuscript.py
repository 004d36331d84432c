"""A report as Markdown, LaTeX and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from cranfield.rendering.bibtex import bibtex_fields, to_bibtex
from cranfield.rendering.document import Table, warning_lines
from cranfield.rendering.output_formats import latex_table, latex_text, markdown_table, markdown_text
from cranfield.rendering.references import REFERENCES
from cranfield.rendering.report_model import CITED, Report

MOST_ROWS = 60  # more rows are not useful in print; JSON and the workbook have all of them


def cite_in_words(text: str) -> str:
    """Replace citations by authors and year.

    >>> cite_in_words("by two-way ANOVA [@Sakai2014]")
    'by two-way ANOVA (Sakai 2014)'
    """
    return CITED.sub(lambda found: f"({_short(found[1])})" if found[1] in REFERENCES else found[0], text)


def _short(key: str) -> str:
    _, fields = bibtex_fields(REFERENCES[key])
    families = [person.partition(",")[0] for person in fields["author"].split(" and ")]
    who = f"{families[0]} et al." if len(families) > 2 else " and ".join(families)
    return f"{who} {fields['year']}"


def cite_in_latex(text: str) -> str:
    r"""Escape the text for LaTeX, with citations as ``\cite``.

    >>> cite_in_latex("5 % of pairs [@Sakai2014]")
    '5 \\% of pairs~\\cite{Sakai2014}'
    """
    pieces = CITED.split(text)  # text, key, text, key, …
    said = [latex_text(piece) if at % 2 == 0 else _latex_cite(piece) for at, piece in enumerate(pieces)]
    return "".join(said).replace(r" \cite{", r"~\cite{")


def _latex_cite(key: str) -> str:
    """Return a citation; text that only looks like one, for example in a name, is unchanged."""
    return rf"\cite{{{key}}}" if key in REFERENCES else latex_text(f"[@{key}]")


def report_json(report: Report) -> str:
    """Return one object; its rows are the documents, each with its inputs, method, citations and rows."""
    return json.dumps(finite(report.to_dict()), ensure_ascii=False, indent=1, allow_nan=False)


def finite(value: Any) -> Any:
    """Replace nan and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report_markdown(report: Report) -> str:
    """Return headings, sentences and tables; citations have Pandoc syntax, and the BibTeX is at the end."""
    lines = [f"# {markdown_text(_line(report.title))}"]
    for section in report.sections:
        lines.append(f"## {section.title}")
        for part in section.parts:
            lines += [f"### {markdown_text(_line(part.title))}"] if part.title else []
            lines += [markdown_text(part.document.sentence)] if part.document.sentence else []
            lines += [_short_table(table) for table in part.document.tables]
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
\ifPDFTeX\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\else\usepackage{fontspec}\fi
\usepackage{booktabs}
\usepackage{graphicx}
\makeatletter\@beginparpenalty=10000\makeatother % a table stays with its title
\begin{document}"""


def report_latex(report: Report) -> str:
    """Return an article with booktabs tables; the BibTeX is at the end, to be saved as ``cranfield.bib``."""
    lines = [_PREAMBLE, rf"\title{{{latex_text(_line(report.title))}}}", r"\maketitle"]
    for section in report.sections:
        lines.append(rf"\section{{{latex_text(section.title)}}}")
        for part in section.parts:
            lines += [rf"\subsection*{{{latex_text(_line(part.title))}}}"] if part.title else []
            lines += [latex_text(part.document.sentence)] if part.document.sentence else []
            lines += _latex_tables(part.document.tables)
    lines += [rf"\paragraph{{Caution.}} {latex_text(line)}" for line in warning_lines(report.cautions)]
    lines += [r"\section{Methods}", cite_in_latex(report.methods), r"\section{Seed and versions}"]
    lines += [latex_text(_origin(report)), r"\bibliographystyle{plain}", r"\bibliography{cranfield}", r"\end{document}"]
    comments = "\n".join(f"% {line}" for line in to_bibtex(report.citations).splitlines())
    return "\n\n".join(lines) + f"\n\n% cranfield.bib:\n{comments}"


def _latex_tables(tables: Sequence[Table]) -> list[str]:
    lines = []
    for table in tables:
        kept, left = _kept(table)
        title = [rf"\medskip\noindent\textbf{{{latex_text(table.title)}}}"] if table.title else []
        more = [f"… and {left:,} more rows."] if left else []
        # A table wider than the page is scaled to fit; others keep their size.
        fitted = "\\begin{center}\\small\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        lines += [*title, f"{fitted}{latex_table(kept)}}}\n\\end{{center}}", *(latex_text(each) for each in more)]
    return lines
