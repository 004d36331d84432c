"""The result of a check as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.formats.file_check import CheckReport
from cranfield.formats.problems import KINDS, Problem, ProblemKind, Severity, count_by_kind
from cranfield.questions.check import CheckResult
from cranfield.rendering.document import Column, Document, Table, warning_row
from cranfield.rendering.views import View

LINES = Column("count", "lines", "count")


def document(result: CheckResult) -> Document:
    """The files, every problem by kind with its places, and a summary."""
    report = result.report
    counts = count_by_kind(report.problems)
    by_kind = {slug: [problem for problem in report.problems if problem.slug == slug] for slug in counts}
    files = Table(
        (Column("file", "file"), Column("kind", "read as"), Column("lines", "lines", "count")),
        [(checked.file, str(checked.kind), checked.lines) for checked in report.files],
    )
    listed = [_kind_table(KINDS[slug], problems, result.most) for slug, problems in by_kind.items()]
    summary = Table(
        (Column("severity", ""), Column("kind", "kind"), Column("places", "places", "count"), LINES),
        [(str(KINDS[slug].severity), slug, len(by_kind[slug]), count) for slug, count in counts.items()],
        "Summary",
    )
    tables = [files, *listed, *([summary] if counts else [])]
    rows = [warning_row(problem) for problem in report.problems]
    return Document(
        method="check", inputs=result.inputs, tables=tables, rows=rows, sentence=_sentence(report, result.strict)
    )


def _kind_table(kind: ProblemKind, problems: Sequence[Problem], most: int | None) -> Table:
    rows: list[tuple[Any, ...]] = [
        (problem.place, problem.count, problem.detail, problem.text) for problem in problems[:most]
    ]
    whole = ""
    if most is not None and len(problems) > most:
        rows.append((f"and {len(problems) - most:,} more places", None, "", ""))
        whole = f" `all=True` lists all {len(problems):,} places."
    columns = (Column("place", "where"), LINES, Column("detail", "what"), Column("text", "text"))
    return Table(columns, rows, f"{kind.severity}: {kind.title}. {kind.effect} {kind.fix}{whole}")


def _sentence(report: CheckReport, strict: bool) -> str:
    counts = {severity: sum(p.count for p in report.problems if p.severity is severity) for severity in Severity}
    found = ", ".join(f"{count:,} {severity}{'s' * (count != 1)}" for severity, count in counts.items() if count)
    if counts[Severity.ERROR]:
        return f"{found}. Scores would be wrong: nothing is scored from these files until the errors are corrected."
    if counts[Severity.WARNING]:
        return f"{found}. The files can be scored" + (
            ", but `strict=True` asks for more." if strict else "; read the warnings."
        )
    return f"{found + '. ' if found else ''}The files can be scored."


VIEWS = {"CheckResult": View(document)}
