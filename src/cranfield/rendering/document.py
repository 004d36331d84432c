"""The document from which every output format is made, and how every result is shown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from itertools import islice
from typing import Any

import cranfield
from cranfield.errors import Caution, RequestError, show_p, speak, visible
from cranfield.formats.problems import Problem, Severity, count_by_kind
from cranfield.results import Result

Warnings = Sequence[Caution]


@dataclass(frozen=True)
class Column:
    """One column: its name in JSON and CSV, its title, and the format of its numbers."""

    word: str
    title: str
    kind: str = "text"  # text, score, count, number, decimal, whole, percent, probability, yes
    priority: int | None = None  # columns with a low one are left out first where the terminal or a page is narrow


@dataclass(frozen=True)
class Mark:
    """What a table of a paper adds to a number: bold for the best, and signs above and below for what it differs from.

    The signs are letters, daggers, or numbers of groups.
    """

    is_best: bool = False
    above: str = ""
    below: str = ""

    def __str__(self) -> str:
        """The same in plain text: a star for the best, then the signs."""
        below = f"−{self.below}" if self.below else ""
        return " ".join(("*" if self.is_best else " ", *filter(None, (self.above, below)))).rstrip()


@dataclass(frozen=True)
class Table:
    """A table with columns and rows; numbers have full precision.

    ``marks`` are those of cells, by row and column, and ``note`` says what they mean; both are for papers, and so is
    ``caption``, which takes the place of a title that speaks of other output. Pages show one ``measure`` at a time and
    those of ``*`` always, and fold tables that ``is_folded``.
    """

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Any, ...]]
    title: str = ""
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)
    note: str = ""
    caption: str = ""
    measure: str = ""
    is_folded: bool = False

    def in_words(self) -> Table:
        """The same with the marks behind the numbers, for output formats that have no signs above the line."""
        marked = {column for _, column in self.marks}
        columns = tuple(
            replace(column, kind="text") if at in marked else column for at, column in enumerate(self.columns)
        )
        rows = [
            tuple(self._in_words(row, at, value) if at in marked else value for at, value in enumerate(values))
            for row, values in enumerate(self.rows)
        ]
        return Table(columns, rows)

    def _in_words(self, row: int, at: int, value: Any) -> str:
        return f"{show(value, self.columns[at].kind)}{self.marks.get((row, at), '')}"


def of_measure(measure: str, tables: Iterable[Table]) -> list[Table]:
    """The tables, as those of one measure."""
    return [replace(table, measure=measure) for table in tables]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A result for output. ``rows`` are those of JSON; tables may arrange them differently.

    ``answer`` is a sentence or two that can be quoted, and comes first in every output format; ``notes`` are what to
    know beside it, and come after the tables.
    """

    method: str
    inputs: Mapping[str, Any]
    tables: Sequence[Table]
    rows: Sequence[Mapping[str, Any]]
    answer: str = ""
    notes: str = ""
    paper: Sequence[Table] = ()  # what LaTeX has in place of the tables
    paragraph: str = ""  # of a paper, with citations as ``[@Key]``; LaTeX has it before the tables
    citations: Sequence[str] = ()
    warnings: Warnings = ()
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    listed: str = ""  # the part of ``extra`` that CSV has in place of the rows

    @property
    def sentence(self) -> str:
        """The answer and the notes."""
        return ("\n" if "\n" in self.answer else " ").join(filter(None, (self.answer, self.notes)))

    def warned(self, warnings: Warnings) -> Document:
        """Return a copy with these warnings before its own, without repetitions."""
        return replace(self, warnings=tuple(dict.fromkeys((*warnings, *self.warnings))))

    def with_visible_names(self) -> Document:
        """Return a copy whose sentences have escapes for line breaks and other controls in the names of its rows."""
        rows: list[Iterable[Any]] = [row for table in self.tables for row in table.rows]
        rows += [row.values() for row in self.rows]
        odd = {cell for row in rows for cell in row if isinstance(cell, str) and visible(cell) != cell}
        answer, notes = self.answer, self.notes
        for name in sorted(odd, key=len, reverse=True):
            answer, notes = answer.replace(name, visible(name)), notes.replace(name, visible(name))
        return replace(self, answer=answer, notes=notes)

    def showing(self, part: str) -> Document:
        """The same with another list of ``extra`` as the rows, for CSV."""
        return replace(self, listed=part)

    def details(self) -> dict[str, Any]:
        """Return the content of JSON except the rows."""
        return {
            "inputs": dict(self.inputs),
            "method": self.method,
            "citations": list(self.citations),
            "warnings": [warning_row(problem) for problem in self.warnings],
            "seed": self.seed,
            "version": cranfield.__version__,
            **self.extra,
        }


def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence, and the others.

    >>> first_sentence("AP: 40 topics detect 0.08 (max-t). It is more than 0.05. So be it.")
    ('AP: 40 topics detect 0.08 (max-t).', 'It is more than 0.05. So be it.')
    """
    first, *others = re.split(r"(?<=[.!?]) (?=[A-Z])", text, maxsplit=1)
    return first, "".join(others)


def spoken(document: Document, interface: str, labels: Mapping[str, str] | None = None) -> Document:
    """The document as people read it on the ``interface``: answer, notes, warnings, table titles and what to do.

    JSON and CSV are made from the document itself, and are the same everywhere. ``labels`` are those of fields.
    """
    return replace(
        document,
        tables=[_spoken_table(table, interface, labels) for table in document.tables],
        paper=tuple(_spoken_table(table, interface, labels) for table in document.paper),
        answer=speak(document.answer, interface, labels),
        notes=speak(document.notes, interface, labels),
        warnings=spoken_warnings(document.warnings, interface, labels),
    )


def spoken_warnings(warnings: Warnings, interface: str, labels: Mapping[str, str] | None = None) -> tuple[Caution, ...]:
    """The same warnings in the words of the ``interface``; problems of files name no parameters in `warning_lines`."""
    return tuple(
        each
        if isinstance(each, Problem)
        else replace(each, what=speak(each.what, interface, labels), fix=speak(each.fix, interface, labels))
        for each in warnings
    )


def _spoken_table(table: Table, interface: str, labels: Mapping[str, str] | None) -> Table:
    advice = [column.word == "fix" for column in table.columns]
    rows = table.rows
    if any(advice):
        rows = [
            tuple(
                speak(value, interface, labels) if is_advice else value
                for value, is_advice in zip(row, advice, strict=True)
            )
            for row in rows
        ]
    return replace(table, rows=rows, title=visible(speak(table.title, interface, labels)))


def priorities(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    """Those of the columns, or by place: the first and the last stay, then those to the left.

    A column that says the same in all rows goes first, and a part of another together with it.
    """
    found: list[int] = []
    for at, (column, shown, is_part) in enumerate(zip(columns, cells, parts_of_others(columns), strict=True)):
        by_place = 100 if at in (0, len(columns) - 1) else 50 - at
        if column.priority is not None:
            by_place = column.priority
        elif len(shown) > 1 and len(set(shown)) == 1:
            by_place = -at
        found.append(found[-1] if is_part else by_place)
    return found


def parts_of_others(columns: Sequence[Column]) -> list[bool]:
    """Whether a column says something about the one before it: the high end of an interval, or a title that recurs."""
    count = Counter(column.title for column in columns)
    return [bool(at) and (each.title.endswith("high") or count[each.title] > 1) for at, each in enumerate(columns)]


def fitting(widths: Sequence[float], ranked: Sequence[int], wide: float, gap: float) -> list[int]:
    """The columns that fit beside one another; those of the same priority, such as low and high, go together.

    >>> fitting([10, 6, 6, 8], [100, 40, 40, 50], 22, 2)
    [0, 3]
    """
    kept = list(range(len(widths)))
    while len(kept) > 1 and sum(widths[at] + gap for at in kept) - gap > wide:
        lowest = min(ranked[at] for at in kept)
        stay = [at for at in kept if ranked[at] > lowest]
        kept = stay or kept[:-1]
    return kept


def listed(names: Sequence[str]) -> str:
    """The names with commas, and «and» before the last.

    >>> listed(["AP", "P@10", "nDCG@10"])
    'AP, P@10 and nDCG@10'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def known(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, with null for nan."""
    return {word: None if value != value else value for word, value in row.items()}


def warning_row(problem: Caution) -> dict[str, Any]:
    """Return a warning for JSON; one about a file says where it stands and what it does to the scores."""
    if not isinstance(problem, Problem):
        return {"kind": problem.slug, "severity": "warning", "problem": problem.what, "fix": problem.fix}
    return {
        "kind": problem.slug,
        "severity": str(problem.severity),
        "file": problem.file,
        "line": problem.line or None,
        "text": problem.text,
        "problem": problem.what,
        "effect": problem.kind.effect,
        "fix": problem.fix,
        "count": problem.count,
    }


MOST_WARNINGS = 2
"""Warnings shown beside an answer; the others are shown on request."""
LATER = (
    "score-out-of-range",
    "decisive-topic",
    "few-topics",
    "skewed-differences",
    "zero-differences",
    "near-duplicates",
    "floor-or-ceiling",
    "pairs-left-out",
)
"""Warnings that come after those about this answer: the sooner, the likelier they are to change a verdict."""


def first_warnings(problems: Warnings) -> tuple[list[str], list[str]]:
    """The lines of the warnings that may change an answer most, and those of all others."""
    lines = warning_lines(problems)
    return lines[:MOST_WARNINGS], lines[MOST_WARNINGS:]


def more_warnings(count: int) -> str:
    """Where the warnings are that are not shown.

    >>> more_warnings(0), more_warnings(2)
    ('', '2 more warnings: `warnings=True`.')
    """
    return f"{count:,} more warning{'s' * (count > 1)}: `warnings=True`." if count else ""


def warning_lines(problems: Warnings) -> list[str]:
    """Return one line per kind of warning, with its count and first place; what may change the answer most is first."""
    found = [problem for problem in problems if isinstance(problem, Problem)]
    notable = [problem for problem in found if problem.severity is not Severity.NOTE]
    cautions = [caution for caution in problems if not isinstance(caution, Problem)]
    cautions.sort(key=lambda caution: LATER.index(caution.slug) if caution.slug in LATER else -1)
    lines = []
    for slug, count in count_by_kind(notable).items():
        places = [problem for problem in notable if problem.slug == slug]
        first = places[0]
        where = f"{first.place}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        lines.append(f"{first.kind.title} ({count:,}; {where}). {first.kind.effect}")
    return list(map(visible, [*lines, *_caution_lines(cautions)]))


def _caution_lines(cautions: Sequence[Caution]) -> list[str]:
    """Return one line per warning; those about tables and runs are one line per kind, for all of them."""
    count = Counter(caution.slug for caution in cautions)
    if len(count) == len(cautions):
        return [str(caution) for caution in cautions]
    from cranfield.scores.quality import SLUGS

    lines: dict[str, str] = {}
    for at, caution in enumerate(cautions):
        if caution.slug not in (*SLUGS, "unjudged"):
            lines[f"{caution.slug} {at}"] = str(caution)
        elif caution.slug not in lines:
            others = count[caution.slug] - 1
            like = f" ({others:,} more such warning{'s' * (others > 1)} in the JSON output)" if others else ""
            lines[caution.slug] = f"{caution}{like}"
    return list(lines.values())


def show(value: Any, kind: str) -> str:
    """Format a value for display."""
    if value is None or value != value:
        return "–"
    if kind == "score":
        return f"{value:.4f}"
    if kind == "yes":
        return "yes" if value else "no"
    if kind == "probability":
        return show_p(value)
    if kind == "percent":
        return f"{value:.0%}"
    if kind == "decimal":
        return f"{value:,.1f}"
    if kind == "whole":
        return f"{value:,.0f}"
    if kind == "number":
        return f"{value:.4g}"
    if kind == "count":
        return "∞" if value == float("inf") else f"{value:,}"
    return visible(str(value))


def html_text(text: str) -> str:
    """A text as HTML and SVG take it: no markup, and nothing that is no character there."""
    return escape(visible(text, keep="\n\t"))


def finite(value: Any) -> Any:
    """Return the value with null for every number that JSON cannot represent."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple | StreamedRows):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class StreamedRows(Sequence[Mapping[str, Any]]):
    """A sequence of ``length`` rows, all with the same words; ``make`` starts over and yields them as columns."""

    length: int
    make: Callable[[], Iterator[Columns]]

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self.parts():
            yield from (dict(zip(part, row, strict=True)) for row in zip(*part.values(), strict=True))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, step = at.indices(self.length)
            return list(islice(self, start, stop, step)) if step > 0 else list(self)[at]
        place = range(self.length)[at]
        return next(islice(self, place, None))

    def parts(self) -> Iterator[Columns]:
        """The rows as columns, some at a time."""
        return self.make()

    @property
    def words(self) -> list[str]:
        return list(next(self.parts(), {}))


Chart = Callable[[Any], Any]

MODULES = {
    "ScoreResult": "score_document",
    "CheckResult": "check_document",
    "PackResult": "check_document",
    "VarianceResult": "variance_document",
    "SizeResult": "size_document",
    "PowerResult": "power_document",
    "ComparisonResult": "comparison_document",
    "JudgesResult": "judges_document",
    "LeaderboardResult": "leaderboard_document",
    "ShardsResult": "shard_document",
    "PilotResult": "pilot_document",
    "BudgetResult": "pilot_document",
    "ReliabilityResult": "reliability_document",
    "SimulationResult": "simulation_document",
    "StudyNewResult": "study_document",
    "StudyAddResult": "study_document",
    "StudyNextResult": "study_document",
    "StudyStatusResult": "study_document",
    "StudyTestResult": "study_document",
    "StudyEditResult": "study_document",
    "StudyLogResult": "study_document",
    "StudyPastResult": "study_document",
    "StudyPeekResult": "study_document",
    "StudyPlansResult": "study_document",
    "StudySimulationResult": "study_document",
    "StudyTrialResult": "study_document",
    "StudyWidthResult": "study_document",
    "VerificationResult": "simulation_document",
    "ReportResult": "report_sections",
}
"""The module that shows each kind of result, in a constant ``VIEWS``."""


@dataclass(frozen=True)
class View:
    """How one kind of result is shown.

    ``charts`` go by kind, the default first. A page shows the ``sketch`` (plain SVG, drawn in no time, and its caption)
    where there is one, and else the ``pictures``, charts with their titles. ``files`` are texts offered besides the
    output formats, by kind; ``by_measure`` are the parts of a result that are drawn apart.
    """

    document: Callable[[Any], Document]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    sketch: Callable[[Any], tuple[str, str]] | None = None
    pictures: Callable[[Any], list[tuple[str, Any]]] | None = None
    files: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    by_measure: Callable[[Any], Mapping[str, Any]] = lambda result: {"": result}


def view(kind: type[Result]) -> View:
    """How results of this class are shown."""
    found: View = import_module(f"cranfield.rendering.{MODULES[kind.__name__]}").VIEWS[kind.__name__]
    return found


def charts(result: Result, kind: str | None = None) -> dict[str, Any]:
    """The charts of a result by measure, of the ``kind`` wanted: the title is the finding, the footer the seed."""
    how = view(type(result))
    if not how.charts:
        raise RequestError("this result has no chart")
    name = kind or next(iter(how.charts))
    if name not in how.charts:
        raise RequestError(f"there is no chart «{name}»", fix=f"Choose one of: {', '.join(how.charts)}.")
    return {measure: _headed(part, how.charts[name](part)) for measure, part in how.by_measure(result).items()}


def _headed(result: Result, drawn: Any) -> Any:
    document = result.document()
    seed = "" if document.seed is None else f", seed {document.seed}"
    return drawn.headed(finding(document.answer), described(document), f"cranfield {cranfield.__version__}{seed}")


def chart(result: Result, kind: str | None = None) -> Any:
    """The chart of a result; of several measures the first two, in a panel each."""
    drawn = charts(result, kind)
    first, *others = drawn.values()
    return first.beside(others[0], list(drawn)) if others else first


def finding(answer: str) -> str:
    """The first clause of an answer, without what is in brackets, as the title of a chart.

    >>> finding("50 topics detect 0.09 (max-t; holm) with power 0.8; of a pair 0.06. It is small.")
    '50 topics detect 0.09 with power 0.8'
    """
    first = first_sentence(answer.partition("\n")[0])[0]
    return re.sub(r" *\([^()]*\)", "", re.sub(r" *\[[^\[\]]*\]", "", first)).partition(";")[0].rstrip(".")


DESCRIBED = {
    "measure": "{}",
    "topics": "{:,} topics",
    "systems": "{:,} systems",
    "sd": "sd {:.3g}",
    "variance": "σ² = {:.3g}",
    "alpha": "α = {:g}",
    "power": "power {:g}",
}
"""What the subtitle of a chart says, where it is the same for everything drawn."""


def described(document: Document) -> str:
    """Measure, number of topics and systems, sd, α and power, where there is one of each."""
    rows = document.rows if len(document.rows) <= 1000 else ()
    parts = []
    for word, text in DESCRIBED.items():
        found = {row[word] for row in rows if isinstance(row.get(word), int | float | str)}
        value = next(iter(found)) if len(found) == 1 else document.inputs.get(word) if not found else None
        if isinstance(value, int | float) or (value and word == "measure" and isinstance(value, str)):
            parts.append(text.format(value))
    return ", ".join(parts)
