"""Checking files before anything is computed from them: every problem, with its place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import InputError
from cranfield.formats.lines import Inspection, collector_paused, report_spacing
from cranfield.formats.packed import is_packed
from cranfield.formats.parquet import is_parquet
from cranfield.formats.problems import Problem, Severity, shorten
from cranfield.formats.qrels import PLAIN, STRATIFIED, JudgmentLines, inspect_qrels, inspect_teams, judgment_fields
from cranfield.formats.records import SUMMARY
from cranfield.formats.run_metadata import head_metadata
from cranfield.formats.runs import FIELDS, Order, RankedLines, RunLines, inspect_run, report_order
from cranfield.formats.scan import CodedRun, Scanner, has_repeats
from cranfield.formats.scores import LONG, ScoreRows, header_names, inspect_scores, looks_like_scores
from cranfield.formats.text import BOM, LONGEST_LINE, STDIN, file_stem, read_bytes, read_head, show, why_not_text
from cranfield.runtime.threads import Counter, available_workers, spread

if TYPE_CHECKING:
    from cranfield.types import Progress

PACKED_HEAD = 1 << 26  # bytes of a packed file: its header is in them


def check_run(scanner: Scanner, data: bytes, file: str, order: Order) -> tuple[CodedRun, list[Problem]] | None:
    """The run and its problems, or None where a line cannot be read, is skipped, or repeats a document."""
    run = scanner.scan(data, file, order, with_ranks=order is not Order.RANK)
    text = data.removeprefix(BOM)
    if run is None or len(run.codes) != _count(text, b"\n") + (not text.endswith(b"\n")):
        return None
    names: dict[bytes, int] = {}
    pieces = [names.setdefault(topic, len(names)) for topic in run.topics]
    lists = np.repeat(np.array(pieces), np.diff(run.edges))
    if has_repeats(lists, run.codes):
        return None
    look = Inspection(file)
    if data.startswith(BOM):
        look.add("byte-order-mark", 1)
    if b"\r" in text or b"\t" in text or _count(text, b" ") != (FIELDS - 1) * len(run.codes):
        report_spacing(text, look)
    ranks = -run.keys if order is Order.RANK else run.ranks
    report_order(RankedLines(lists, run.keys, ranks, np.arange(1, len(lists) + 1)), list(names), order, look)
    return run, look.problems


def _count(text: bytes, byte: bytes) -> int:
    """Several times faster than bytes.count where there are many, and other threads go on meanwhile."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def document_pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(topic, document) of every line of a run that could be read to the last line, split as they are asked for."""
    for line in BytesIO(data.removeprefix(BOM)):
        topic, _, document, *_ = line.split(maxsplit=3)
        yield topic, document


class FileKind(StrEnum):
    """What a file can be."""

    RUN = "run"
    QRELS = "qrels"
    INTENTS = "intents"
    TEAMS = "teams"
    SCORES = "scores"
    PACKED = "packed"
    UNKNOWN = "unknown"


HEAD = 50_000  # bytes that show what a file is


@dataclass(frozen=True)
class Taken:
    """What a file was taken for, and one sentence why."""

    name: str
    why: str


TAKEN = {
    FileKind.RUN: Taken("run", "Most of its lines have six fields."),
    FileKind.QRELS: Taken("judgments", "Most of its lines have four fields, the second always the same."),
    FileKind.INTENTS: Taken("per-intent judgments", "Most of its lines have four fields, the second an intent."),
    FileKind.TEAMS: Taken("team list", "Most of its lines have two fields."),
    FileKind.UNKNOWN: Taken("", "Nothing in its first lines says what it is."),
}


@dataclass(frozen=True)
class OtherFormat:
    """A format that is read as a whole, not line by line: how it looks, what it is, and how many lines it stands for.

    ``count`` also gives what should be said about the file, and refuses one that cannot be read; ``taken`` says what it
    was taken for. A format of runs has ``runs`` in place of ``count``. A file that is said to be of this kind may look
    otherwise, if it ``can_be``.
    """

    kind: FileKind
    recognise: Callable[[bytes], bool]
    count: Callable[[str, bytes], tuple[int, Sequence[Problem]]] = lambda *_: (0, ())
    taken: Callable[[str, bytes], Taken] = lambda *_: Taken("", "")
    runs: Callable[[str, bytes, Order], Sequence[RunLines]] | None = None
    can_be: Callable[[bytes], bool] = lambda data: False

    def fits(self, kind: FileKind | None, data: bytes) -> bool:
        """Whether a file is of this format, where ``kind`` is what it is said to be, if anything."""
        return (kind is self.kind and self.can_be(data)) or (kind in (None, self.kind) and self.recognise(data))


@dataclass(frozen=True)
class CheckedFile:
    """One file, what it was read as, and how many lines of data it has."""

    file: str
    kind: FileKind
    lines: int
    taken_for: str = ""
    why: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)  # of a run or of judgments, from comments at the head


@dataclass(frozen=True)
class CheckReport:
    """Everything found in a set of files."""

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]

    def joined(self, others: Iterable[CheckReport]) -> CheckReport:
        """With the files and problems of other reports after its own."""
        parts = [self, *others]
        return CheckReport(
            tuple(file for part in parts for file in part.files),
            tuple(problem for part in parts for problem in part.problems),
        )

    def failed(self, *, strict: bool = False) -> bool:
        """Whether scores would be wrong; ``strict`` counts warnings too."""
        bad = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
        return any(problem.severity in bad for problem in self.problems)

    @property
    def lacks_scores(self) -> bool:
        """Whether scores are missing, so that questions refuse the files until they are told what becomes of those."""
        return any(problem.slug == "cell-missing" for problem in self.problems)


STRATA = Taken("judgments of a stratified sample", "Most of its lines have five fields, the fourth a stratum.")
"""Of judgments with strata."""

ROUNDS = Taken("judgments", "No document of a topic has two numbers in the second field: rounds, not intents.")
"""Of judgments whose second column differs."""


def sniff(data: bytes) -> FileKind:
    """What a file is, by its first line of data and, for judgments, by its second column."""
    head = data.removeprefix(BOM)[:HEAD].split(b"\n")
    lines = [line for line in head if line.strip() and line.lstrip()[:1] != b"#"]
    if not lines:
        return FileKind.UNKNOWN
    if _is_utf8(lines[0]) and looks_like_scores(lines[0]):
        return FileKind.SCORES
    widths = [len(line.split()) for line in lines[:100]]
    usual = max(set(widths), key=lambda width: (widths.count(width), width in (2, 4, 6)))
    if usual == STRATIFIED and judgment_fields(data.removeprefix(BOM)) == STRATIFIED:
        return FileKind.QRELS
    if usual == 4:
        return FileKind.INTENTS if _has_intents(_judgments(lines)) else FileKind.QRELS
    return {6: FileKind.RUN, 2: FileKind.TEAMS}.get(usual, FileKind.UNKNOWN)


def _judgments(lines: Sequence[bytes]) -> list[list[bytes]]:
    """The lines with four fields; the last may be cut short."""
    return [fields for line in lines[:-1] or lines if len(fields := line.split()) == 4]


def _has_intents(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether the second column of judgments names intents, not the rounds (iterations) that some tracks write there.

    Rounds are numbers, and a document of a topic is judged in one of them; it is judged for each of its intents.
    """
    if not _differ(rows):
        return False
    if not all(re.fullmatch(rb"[0-9]+([.][0-9]+)?", row[1]) for row in rows):
        return True
    return len({(row[0], row[2]) for row in rows}) < len({(row[0], row[1], row[2]) for row in rows})


def _differ(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether the second column says something."""
    seconds = {row[1] for row in rows}
    return not (seconds <= PLAIN and len(seconds) == 1)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class _Run:
    """One run as judgments meet it: its topics, and (topic, document) of its lines as they are asked for."""

    file: str
    topics: Sequence[bytes]
    pairs: Callable[[], Iterator[tuple[bytes, bytes]]]


@dataclass(frozen=True)
class _Found:
    """What was found in one file: its problems, and what it says that other files are compared with."""

    checked: CheckedFile
    problems: Sequence[Problem]
    judgments: JudgmentLines | None = None
    teams: dict[str, str] | None = None
    tags: tuple[str, ...] | None = None  # of a run
    against: Sequence[Problem] = ()  # the judgments


@dataclass
class _Check:
    """What is known so far; runs are compared with judgments and team lists when all of those have been seen."""

    order: Order
    by_tag: bool
    by_file: bool = False
    others: Sequence[OtherFormat] = ()
    held: dict[str, bytes | InputError] = field(default_factory=dict)
    told: dict[str, FileKind] = field(default_factory=dict)
    files: list[CheckedFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    judged: dict[bytes, dict[bytes, float]] = field(default_factory=dict)
    team_file: dict[str, str] = field(default_factory=dict)
    teams: dict[str, str] | None = None
    tag_owner: dict[str, str] = field(default_factory=dict)

    def look(self, file: str, scanner: Scanner | None = None) -> _Found:
        """What is in a file; nothing is changed here, so that threads can look at several."""
        found = self._look(file, scanner)
        if found.checked.taken_for or found.checked.why or any(each.slug == "unreadable" for each in found.problems):
            return found
        taken = TAKEN.get(found.checked.kind, Taken("score table", ""))
        why = "It was given as such." if file in self.told else taken.why
        return replace(found, checked=replace(found.checked, taken_for=taken.name, why=why))

    def _look(self, file: str, scanner: Scanner | None) -> _Found:
        kind = self.told.get(file)
        try:
            data = self._read(file)
        except InputError as error:
            return _unreadable(file, kind or FileKind.UNKNOWN, error)
        other = next((each for each in self.others if each.fits(kind, data)), None)
        if other is not None:
            return _whole(file, data, other) if other.runs is None else self._whole_runs(file, data, other)
        reason = why_not_text(data)
        found = kind or (FileKind.UNKNOWN if reason else sniff(data))
        file = show(file)
        if found is FileKind.RUN:
            return self._run(data, file, scanner)
        if found in (FileKind.QRELS, FileKind.INTENTS):
            lines, problems = inspect_qrels(data, file, intents=found is FileKind.INTENTS)
            in_rounds = kind is None and found is FileKind.QRELS and _differ(_judgments(data[:HEAD].split(b"\n")))
            taken = STRATA if lines.strata else ROUNDS if in_rounds else Taken("", "")
            metadata = head_metadata(data[:HEAD])
            checked = CheckedFile(file, found, len(lines.topics), taken.name, taken.why, metadata)
            return _Found(checked, problems, judgments=lines)
        if found is FileKind.TEAMS:
            teams, problems = inspect_teams(data, file)
            return _Found(CheckedFile(file, found, len(teams)), problems, teams=teams)
        if found is FileKind.SCORES:
            scores, problems = inspect_scores(data, file)
            taken = usual_table(header_names(data))
            checked = CheckedFile(file, found, len(scores.rows), taken.name, taken.why)
            return _Found(checked, [*problems, *_of_table(scores, problems, file)])
        return _Found(CheckedFile(file, found, 0), [_unknown(file, data, reason)])

    def keep(self, found: _Found) -> None:
        """Take in what was found in a file."""
        file = found.checked.file
        self.files.append(found.checked)
        self.problems.extend(found.problems)
        if found.judgments is not None:
            self._remember(found.judgments)
        if found.teams is not None:
            self.teams = (self.teams or {}) | found.teams
            self.team_file |= dict.fromkeys(found.teams, file)
        for tag in self._names(found):
            owner = self.tag_owner.setdefault(tag, file)
            if owner != file:
                self.problems.append(Problem("tag-shared", file, detail=f"«{tag}» is also the tag of {owner}"))
            if self.teams is not None and tag not in self.teams:
                self.problems.append(Problem("team-missing", file, detail=f"«{tag}» is in no team"))
        self.problems.extend(found.against)

    def _names(self, found: _Found) -> Sequence[str]:
        """What the runs in a file are called."""
        if found.tags is None:
            return ()
        return [file_stem(found.checked.file)] if self.by_file else found.tags

    def _read(self, file: str) -> bytes:
        held = self.held.get(file)
        if isinstance(held, InputError):
            raise held
        if held is None and is_packed(file):
            return read_head(file, PACKED_HEAD)  # as the rest may be larger than memory
        return read_bytes(file) if held is None else held

    def _remember(self, lines: JudgmentLines) -> None:
        for topic, document, grade in zip(lines.topics, lines.documents, lines.grades, strict=True):
            known = self.judged.setdefault(topic, {})
            known[document] = max(grade, known.get(document, grade))

    def _run(self, data: bytes, file: str, scanner: Scanner | None) -> _Found:
        quick = None if scanner is None else check_run(scanner, data, file, self.order)
        if quick is not None:
            run, problems = quick
            runs = [_Run(file, run.topics, partial(document_pairs, data))]
            count, tags = len(run.codes), run.tags
        else:
            lines, problems = inspect_run(data, file, order=self.order, by_tag=self.by_tag)
            parts = [lines.only(tag) for tag in lines.tags] if self.by_tag else [lines]
            runs = [_Run(file, part.topics, partial(zip, part.topics, part.documents)) for part in parts]
            count, tags = len(lines.topics), lines.tags
        if self.by_file:
            problems = [problem for problem in problems if problem.slug != "several-tags"]
        checked = CheckedFile(file, FileKind.RUN, count, metadata=head_metadata(data[:HEAD]))
        return _Found(checked, problems, tags=tags, against=self._against(runs))

    def _against(self, runs: Sequence[_Run]) -> list[Problem]:
        """What shows when runs meet the judgments, if there are any."""
        return [
            problem for run in runs if self.judged and run.topics for problem in _against_judgments(run, self.judged)
        ]

    def _whole_runs(self, file: str, data: bytes, other: OtherFormat) -> _Found:
        """Runs that are no lines: their rows are counted, and their order is looked at."""
        assert other.runs is not None
        taken = other.taken(show(file), data)
        try:
            found = other.runs(file, data, self.order)
        except InputError as error:
            refused = _unreadable(file, other.kind, error)
            return replace(refused, checked=replace(refused.checked, taken_for=taken.name, why=taken.why))
        runs = [_Run(show(file), each.topics, partial(zip, each.topics, each.documents)) for each in found]
        count = sum(len(each.topics) for each in found)
        tags = tuple(tag for each in found for tag in each.tags)
        checked = CheckedFile(show(file), FileKind.RUN, count, taken.name, taken.why)
        return _Found(checked, (), tags=tags, against=self._against(runs))


def _unreadable(file: str, kind: FileKind, error: InputError) -> _Found:
    """A file that is refused, with the line or the row where that is known."""
    file = show(file)
    place = error.where.removeprefix(file) if error.where.startswith(file) else ""
    line = int(place[1:]) if place.startswith(":") and place[1:].isdigit() else 0
    detail = f"{place[2:]}: {error.what}" if place.startswith(", ") else error.what
    advice = error.fix if "`columns=" in error.fix else ""
    return _Found(CheckedFile(file, kind, 0), [Problem("unreadable", file, line, detail=detail, advice=advice)])


def _whole(file: str, data: bytes, other: OtherFormat) -> _Found:
    taken = Taken("", "")
    try:
        taken = other.taken(show(file), data)
        lines, problems = other.count(file, data)
        return _Found(CheckedFile(show(file), other.kind, lines, taken.name, taken.why), problems)
    except InputError as error:
        found = _unreadable(file, other.kind, error)
        (problem,) = found.problems
        if problem.line and problem.advice:  # a header whose columns have to be named
            header = shorten(data.removeprefix(BOM).lstrip().partition(b"\n")[0])
            named = Problem(
                "unknown-kind", problem.file, problem.line, header, detail=problem.detail, advice=problem.advice
            )
            found = replace(found, problems=[named])
        return replace(found, checked=replace(found.checked, taken_for=taken.name, why=taken.why))


def usual_table(names: Sequence[str]) -> Taken:
    """What a table with a column «topic» is by the names of its columns."""
    if set(LONG) <= set(names):
        return Taken("score table", "It has the columns topic, system and score.")
    return Taken("score table, one column per system", "It has the column topic, and no columns system and score.")


def _of_table(scores: ScoreRows, known: Sequence[Problem], file: str) -> Iterator[Problem]:
    """What only shows in the whole table: cells that have no row, and rows that may be means."""
    if any(problem.severity is Severity.ERROR for problem in known):
        return
    axes = [{row[at] for row in scores.rows} for at in range(4)]
    absent = math.prod(map(len, axes)) - len(scores.rows)
    if absent and not scores.empty:
        yield Problem("cell-missing", file, detail=f"{absent:,} cells have no row", count=absent)
    if SUMMARY in axes[1]:
        yield Problem("topic-all", file)


def _unknown(file: str, data: bytes, reason: str) -> Problem:
    if reason:
        return Problem("not-text", file, detail=reason)
    data = data.removeprefix(BOM)
    if not data.strip():
        return Problem("empty-file", file)
    rest = data.lstrip()
    line = data.count(b"\n", 0, len(data) - len(rest)) + 1
    end = rest.find(b"\n")
    size = len(rest) if end < 0 else end
    if size > LONGEST_LINE:
        return Problem("line-too-long", file, line, detail=f"{size:,} bytes")
    return Problem("unknown-kind", file, line, shorten(rest[:size]))


def _against_judgments(run: _Run, judged: dict[bytes, dict[bytes, float]]) -> list[Problem]:
    """What only shows when a run meets the judgments."""
    topics = dict.fromkeys(run.topics)
    known = [topic for topic in topics if topic in judged]
    strange = [topic.decode() for topic in topics if topic not in judged]
    absent = [topic.decode() for topic in judged if topic not in topics]
    if not known:
        few = f"the run has {_some(strange)}; the judgments have {_some(absent)}"
        return [Problem("no-overlap", run.file, detail=few)]
    found = []
    if strange:
        found.append(Problem("topic-unjudged", run.file, detail=_some(strange), count=len(strange)))
    if absent:
        found.append(Problem("topic-missing", run.file, detail=_some(absent), count=len(absent)))
    if not any(grade > 0 for grade in _grades(run, judged)):  # most runs have a relevant document early on
        slug = "nothing-judged" if next(_grades(run, judged), None) is None else "nothing-relevant"
        found.append(Problem(slug, run.file))
    return found


def _grades(run: _Run, judged: dict[bytes, dict[bytes, float]]) -> Iterator[float]:
    """Return the grades of the judged documents, in the order of the lines."""
    for topic, document in run.pairs():
        grade = judged[topic].get(document) if topic in judged else None
        if grade is not None:
            yield grade


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def check_files(
    files: Sequence[str | Path],
    *,
    kinds: dict[str, FileKind] | None = None,
    order: Order = Order.SCORE,
    by_tag: bool = False,
    by_file: bool = False,
    others: Sequence[OtherFormat] = (),
    progress: Progress | None = None,
) -> CheckReport:
    """Check every file; ``kinds`` says what a file is where its look does not, ``others`` what more there is.

    Judgments and team lists are looked at first, so that runs can be compared with them.
    """
    told = kinds or {}
    paths = [str(file) for file in files]
    held = {path: data for path in paths if (data := _hold(path)) is not None}
    late = (FileKind.RUN, FileKind.SCORES)
    is_late = {path: (told.get(path) or _peek(path, held.get(path))) in late for path in paths}
    state = _Check(order, by_tag, by_file=by_file, others=others, held=held, told=told)
    counter = Counter(progress, len(paths))
    with collector_paused():
        for path in [path for path in paths if not is_late[path]]:
            state.keep(state.look(path))
            counter.step()
        for found in _look_at_all(state, [path for path in paths if is_late[path]], counter):
            state.keep(found)
    runs = {checked.file for checked in state.files if checked.kind is FileKind.RUN}
    if runs and state.teams is not None:
        spare = [run for run in state.teams if run not in state.tag_owner]
        if spare:
            state.problems.append(
                Problem("team-without-run", state.team_file[spare[0]], detail=_some(spare), count=len(spare))
            )
    return CheckReport(tuple(state.files), tuple(state.problems))


def _look_at_all(state: _Check, paths: Sequence[str], counter: Counter) -> list[_Found]:
    """What is in the files, in their order; on threads, each with a scanner of its own."""
    scanners = [Scanner() for _ in range(available_workers())]
    found: dict[str, _Found] = {}

    def look(number: int) -> None:
        for path in paths[number :: len(scanners)]:
            found[path] = state.look(path, scanners[number])
            counter.step()

    spread(look, range(len(scanners)))
    return [found[path] for path in paths]


def _peek(path: str, held: bytes | InputError | None) -> FileKind:
    head = held if isinstance(held, bytes) else read_head(path, HEAD)
    is_whole = is_parquet(head) or head.removeprefix(BOM).lstrip()[:1] == b"{"
    return FileKind.RUN if is_whole else sniff(head)  # a run, or scores, which have nothing to wait for


def _hold(path: str) -> bytes | InputError | None:
    """What is in a source that can be read only once (standard input, a pipe), or why it cannot be read."""
    if path != STDIN and (not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)):
        return None
    try:
        return read_bytes(path)
    except InputError as error:
        return error
