"""What can be wrong with a file: every kind, what it does to the scores, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from cranfield.errors import Caution, InputError


class Severity(StrEnum):
    """``error``: scores would be wrong. ``warning``: they may surprise. ``note``: nothing is lost."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem."""

    slug: str
    severity: Severity
    title: str
    effect: str
    fix: str


def _kinds(*rows: tuple[str, Severity, str, str, str]) -> dict[str, ProblemKind]:
    return {row[0]: ProblemKind(*row) for row in rows}


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

KINDS = _kinds(
    # the file as a whole
    ("unreadable", _E, "the file cannot be read", "Nothing is read from it.", "Check the path, or copy it again."),
    ("empty-file", _E, "the file has no data", "There is nothing to score.", "Write the file again."),
    ("not-text", _E, "not a text file", "Nothing is read from it.", "Give plain or gzipped text."),
    (
        "unknown-kind",
        _E,
        "no known kind of file",
        "It is not read.",
        "Say what it is: `run`, `qrels`, `intents`, `teams` or `scores`.",
    ),
    ("byte-order-mark", _N, "a byte order mark at the start", "It is skipped.", "Save as UTF-8 without BOM."),
    ("crlf", _N, "Windows line ends", "They are read as line ends.", "Nothing needs to be done."),
    ("tabs", _N, "tabs or several blanks between fields", "They are read as one blank.", "Nothing needs to be done."),
    # lines
    ("too-few-fields", _E, "too few fields", "The line cannot be read.", "Complete the line or delete it."),
    ("too-many-fields", _E, "too many fields", "The line cannot be read.", "Take the extra fields or blanks out."),
    (
        "line-too-long",
        _E,
        "a line of over 1,000,000 bytes",
        "The line cannot be read.",
        "Check that line ends were not lost.",
    ),
    ("not-utf8", _E, "text that is not UTF-8", "Names could be confused.", "Convert the file to UTF-8, e.g. iconv."),
    ("blank-line", _N, "a blank line", "It is skipped.", "Nothing needs to be done."),
    ("comment", _W, "a line that starts with #", "It is skipped as a comment.", "Delete it; other tools refuse it."),
    (
        "comment-or-data",
        _E,
        "a # line with the shape of data",
        "It could be a comment or a topic.",
        "Delete the line, or the #.",
    ),
    # runs
    (
        "score-not-a-number",
        _E,
        "a score that is not a number",
        "The document cannot be ranked.",
        "Write a decimal number.",
    ),
    ("score-nan", _E, "a score that is nan", "The document cannot be ranked.", "Write a number, or drop the line."),
    ("score-infinite", _W, "an infinite score", "Documents that share it are ranked by id.", "Write finite scores."),
    (
        "duplicate-document",
        _E,
        "a document twice in one list",
        "It would be counted twice.",
        "Keep the better-placed line.",
    ),
    (
        "tie",
        _N,
        "tied scores",
        "Tied documents are ranked by id, descending, as trec_eval does.",
        "Write distinct scores if the order in the file matters, or see `ties`.",
    ),
    (
        "tie-in-single-precision",
        _N,
        "scores that differ only in double precision",
        "They are ordered by the difference; pytrec_eval and other tools in single precision take them for tied.",
        'Use `precision="single"` to score as those tools do.',
    ),
    (
        "rank-disagrees",
        _W,
        "the rank column disagrees with the scores",
        "The scores decide; ranks are ignored.",
        'Use `order="rank"` if the rank column is the right one.',
    ),
    (
        "several-tags",
        _E,
        "more than one run tag",
        "It is unclear which system this is.",
        'Use `name="tag"` if the file holds several runs, `name="file"` if it is one.',
    ),
    (
        "tag-shared",
        _E,
        "two files with the same run tag",
        "Two systems would have one name.",
        'Use `name="file"`, or rename one of them.',
    ),
    # judgments
    ("grade-not-a-number", _E, "a grade that is not a number", "The judgment cannot be read.", "Write a number."),
    (
        "stratum",
        _E,
        "a stratum that is not a whole number",
        "The judgment cannot be read.",
        "Write topic 0 document stratum grade, the strata numbered from 0 or 1.",
    ),
    (
        "grade-fractional",
        _N,
        "a fractional grade",
        "None for measures of gain, which use it as it is; binary measures count it as relevant if it is at least rel, "
        "1 by default.",
        "Choose the threshold of binary measures, such as AP(rel=0.5). trec_eval would cut grades to whole numbers.",
    ),
    (
        "grade-decimal",
        _N,
        "a whole grade written with a decimal point",
        "2.0 is read as 2.",
        "Nothing needs to be done.",
    ),
    (
        "grade-negative",
        _W,
        "a negative grade",
        "The document counts as unjudged, as in trec_eval.",
        "Write 0 if it was judged and found not relevant.",
    ),
    ("judgment-twice", _W, "the same judgment twice", "It is counted once.", "Delete one of the lines."),
    (
        "judgment-conflict",
        _E,
        "one document judged twice with different grades",
        "It is unclear which one holds.",
        "Decide, and delete the other.",
    ),
    (
        "no-relevant",
        _W,
        "a topic without relevant documents",
        "Every system scores 0 on it.",
        'Leave it out with `no_relevant="drop"` if it should not count.',
    ),
    (
        "probability",
        _E,
        "a probability that is not a number from 0 to 1",
        "Intents cannot be weighed.",
        "Write a number from 0 to 1 or, of a nugget, vital or okay.",
    ),
    ("probability-twice", _E, "an intent with two probabilities", "It is unclear which one holds.", "Delete one."),
    (
        "probability-missing",
        _W,
        "an intent without a probability",
        "It counts as impossible, since other intents of its topic have probabilities.",
        "Add its probability.",
    ),
    (
        "probability-unused",
        _W,
        "a probability of a topic without judgments of intents",
        "It is not used.",
        "Check the names of the topics.",
    ),
    # runs against judgments
    (
        "topic-unjudged",
        _W,
        "topics in the run but not in the judgments",
        "They are left out.",
        "Check that run and judgments belong together.",
    ),
    (
        "topic-missing",
        _W,
        "a run returned nothing for a judged topic",
        "It scores 0 there.",
        'Use `missing="drop"` to leave the topic out.',
    ),
    (
        "no-overlap",
        _E,
        "no topic of the run is in the judgments",
        "Nothing can be scored.",
        "Check that run and judgments belong together, and how topics are written (51 or 051).",
    ),
    (
        "nothing-relevant",
        _W,
        "a run without one relevant document",
        "Every score is 0.",
        "Check that document ids are written alike in run and judgments.",
    ),
    (
        "nothing-judged",
        _W,
        "no document of the run is judged",
        "Every score is 0.",
        "Check that document ids are written alike in run and judgments.",
    ),
    # teams
    ("team-conflict", _E, "one run in two teams", "Its contributions have two owners.", "Decide, and delete one."),
    ("team-missing", _W, "a run without a team", "It counts as a team of its own.", "Add a line for it."),
    (
        "team-without-run",
        _N,
        "a team list names a run that is not here",
        "The line is not used.",
        "Nothing needs to be done.",
    ),
    (
        "contributor-unknown",
        _W,
        "judged documents that no run has in the pool",
        "Nobody is known to have contributed them: they stay whoever is left out, and are in no pool but the whole.",
        "Add the runs that the pool was made of, or give its true depth with `depth`.",
    ),
    # score tables
    ("score-twice", _E, "two scores for one cell", "It is unclear which one holds.", "Delete one of the lines."),
    (
        "name-missing",
        _E,
        "a name that is missing",
        "It is unclear what was scored.",
        "Fill in the topic, the system or the measure.",
    ),
    (
        "topic-all",
        _W,
        "a topic called «all»",
        "It counts as a topic. In the output of trec_eval and ir_measures, «all» stands for the means.",
        "Delete its rows if they are means.",
    ),
    (
        "cell-not-a-number",
        _E,
        "a score that is not a number",
        "The system has no score on the topic.",
        "Write a decimal number, or leave the cell empty.",
    ),
    (
        "cell-missing",
        _W,
        "cells without a score",
        "A table with missing scores is refused unless they are set to 0 or their topics dropped.",
        'Fill them in, or use `missing="zero"` or `missing="drop"`.',
    ),
)


@dataclass(frozen=True)
class Problem(Caution):
    """A warning about a file: one problem in one place.

    ``count`` is how many lines it stands for, ``line`` the first of them. ``what`` and ``fix`` follow from the kind;
    ``advice`` takes the place of its fix where there is a better one for this file.
    """

    what: str = field(init=False)
    fix: str = field(init=False)
    file: str
    line: int = 0
    text: str = ""
    detail: str = ""
    count: int = 1
    advice: str = ""

    def __post_init__(self) -> None:
        detail = f": {self.detail}" if self.detail else ""
        text = f" «{self.text}»" if self.text else ""
        object.__setattr__(self, "what", f"{self.kind.title}{detail}{text}")
        object.__setattr__(self, "fix", self.advice or self.kind.fix)

    @property
    def kind(self) -> ProblemKind:
        return KINDS[self.slug]

    @property
    def severity(self) -> Severity:
        return self.kind.severity

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return self.what


def shorten(raw: bytes | str, width: int = 60) -> str:
    """A line as it may be shown: one line, printable, and not too long."""
    if isinstance(raw, bytes):
        raw = raw[: 4 * width].decode("utf-8", "replace")
    clean = "".join(mark if mark.isprintable() else ("→" if mark == "\t" else "·") for mark in raw.strip("\r\n"))
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def count_by_kind(problems: Iterable[Problem]) -> dict[str, int]:
    """How often each kind occurs, errors first, in the order of the catalogue."""
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.slug] += problem.count
    ordered = sorted(KINDS.values(), key=lambda kind: list(Severity).index(kind.severity))
    return {kind.slug: counts[kind.slug] for kind in ordered if counts[kind.slug]}


def refuse(problems: Iterable[Problem], *, most: int = 5) -> None:
    """Raise when a problem is an error, naming the first few."""
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if not errors:
        return
    first = errors[0]
    more = [f"{problem.place}: {problem}" for problem in errors[1:most]]
    if len(errors) > most:
        more.append(f'and {len(errors) - most} more; `check("{first.file}")` lists them all')
    advice = "\n  ".join([f"{first.kind.effect} {first.kind.fix}", *more])
    raise InputError(str(first), where=first.place, fix=advice)
