"""Judgments, also per intent (``topic iteration document grade``) or of strata, and lists of teams (``run team``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cranfield.formats.lines import Inspection, careful_lines, clean_columns, has_repeats, report_spacing, split_fields
from cranfield.formats.problems import Problem, refuse
from cranfield.formats.runs import parse_number
from cranfield.formats.text import read_bytes, show, write_text
from cranfield.types import Array

FIELDS = 4
STRATIFIED = 5  # fields of judgments of a stratified sample: topic 0 document stratum grade
MOST_GRADE = 2**31 - 1  # no grade is higher
PLAIN = {b"0", b"Q0", b"q0", b"1"}  # what stands in the second column of ordinary judgments


@dataclass(frozen=True)
class JudgmentLines:
    """The lines of one judgment file; ``intents`` is the second column where it means something, else empty.

    A grade that is a whole number is an int, any other a float. ``strata`` is the fourth of five columns, else empty.
    """

    file: str
    topics: list[bytes]
    intents: list[bytes]
    documents: list[bytes]
    grades: list[float]
    strata: list[int] = field(default_factory=list)


def read_qrels(source: str | Path) -> JudgmentLines:
    """Read ordinary judgments; the second column is ignored, as everywhere."""
    return parse_qrels(read_bytes(source), show(source), intents=False)


def read_intents(source: str | Path) -> JudgmentLines:
    """Read per-intent judgments; the second column names the intent (subtopic)."""
    return parse_qrels(read_bytes(source), show(source), intents=True)


def parse_qrels(data: bytes, file: str, *, intents: bool) -> JudgmentLines:
    judged = _parse_clean(data, file, intents)
    if judged is not None:
        return judged
    judged, problems = inspect_qrels(data, file, intents=intents)
    refuse(problems)
    return judged


def judgment_fields(data: bytes) -> int:
    """How many fields most of the first lines of judgments have: four or, with a stratum before the grade, five."""
    lines = [line for line in data[:50_000].split(b"\n")[:100] if line.strip() and line.lstrip()[:1] != b"#"]
    five = sum(_is_stratified(line.split()) for line in lines)
    return STRATIFIED if 2 * five > len(lines) else FIELDS


def _is_stratified(fields: Sequence[bytes]) -> bool:
    return len(fields) == STRATIFIED and fields[3].isdigit() and parse_grade(fields[4]) is not None


def _parse_clean(data: bytes, file: str, intents: bool) -> JudgmentLines | None:
    width = FIELDS if intents else judgment_fields(data)
    columns = clean_columns(data, width)
    if columns is None:
        return None
    topics, seconds, documents, *fourths, texts = columns
    if fourths and not all(map(_is_stratum, set(fourths[0]))):
        return None
    grades = _clean_grades(texts)
    lists = list(zip(topics, seconds, strict=True)) if intents else topics
    if grades is None or has_repeats(lists, documents):
        return None
    strata = list(map(int, fourths[0])) if fourths else []
    return JudgmentLines(file, topics, seconds if intents else [], documents, grades, strata)


def _is_stratum(text: bytes) -> bool:
    return text.isdigit() and len(text) < 10


def _clean_grades(texts: Sequence[bytes]) -> list[float] | None:
    """The grades, each text parsed once; None where one cannot be read, or has to be noted (2.0 among whole grades)."""
    known: dict[bytes, float] = {}
    for text in set(texts):
        grade = parse_grade(text)
        if grade is None:
            return None
        known[text] = grade
    fractional = any(isinstance(grade, float) for grade in known.values())
    return [known[text] for text in texts] if fractional or all(map(_is_plain, known)) else None


def parse_grade(raw: bytes) -> float | None:
    """A grade, an int where it is a whole number; None for text that is no number or a number that is too large.

    >>> parse_grade(b"2.0"), parse_grade(b".5"), parse_grade(b"nan")
    (2, 0.5, None)
    """
    value = parse_number(raw)
    if value is None or not abs(value) <= MOST_GRADE:  # nan
        return None
    return plain_grade(value)


def plain_grade(value: float) -> float:
    """A grade as it is written: an int where it is a whole number, else the float itself, never rounded."""
    whole = int(value)
    return whole if whole == value else value


def grade_array(grades: Sequence[float] | Array) -> Array:
    """Grades as a collection has them: int32 where all are whole numbers, float64 otherwise."""
    exact = np.asarray(grades, np.float64) + 0.0  # −0 is 0
    whole = exact.astype(np.int32)
    return whole if bool((whole == exact).all()) else exact


def _is_plain(raw: bytes) -> bool:
    """Whether a grade is written in digits alone, after its sign."""
    return raw.lstrip(b"+-").isdigit()


def inspect_qrels(data: bytes, file: str, *, intents: bool) -> tuple[JudgmentLines, list[Problem]]:
    """Read judgments and report everything odd about them, line by line where need be."""
    look = Inspection(file)
    clean = _parse_clean(data, file, intents)
    if clean is not None:
        report_spacing(data, look)
        _report_grades(clean, range(1, len(clean.topics) + 1), look)
        return clean, look.problems
    kept: dict[tuple[bytes, bytes, bytes], tuple[int, float]] = {}
    strata: list[int] = []
    decimal: list[tuple[int, bytes]] = []
    width = FIELDS if intents else judgment_fields(data)
    for number, line in careful_lines(data, look):
        fields = split_fields(line, number, width, look)
        grade = None if fields is None else _grade(fields[-1], number, line, look)
        if fields is None or grade is None:
            continue
        if width == STRATIFIED and not _is_stratum(fields[3]):
            look.add("stratum", number, line, f"«{fields[3][:40].decode(errors='replace')}»")
            continue
        if isinstance(grade, int) and not _is_plain(fields[-1]):
            decimal.append((number, line))
        key = (fields[0], fields[1] if intents else b"", fields[2])
        line_before, grade_before = kept.setdefault(key, (number, grade))
        if line_before != number:
            slug = "judgment-twice" if grade == grade_before else "judgment-conflict"
            look.add(slug, number, line, f"line {line_before} says {grade_before}")
        elif width == STRATIFIED:
            strata.append(int(fields[3]))
    if not kept and not look.failed:
        look.add("empty-file")
    lines = JudgmentLines(
        file,
        [topic for topic, _, _ in kept],
        [intent for _, intent, _ in kept] if intents else [],
        [document for _, _, document in kept],
        [grade for _, grade in kept.values()],
        strata,
    )
    if decimal and not any(isinstance(grade, float) for grade in lines.grades):
        look.add("grade-decimal", *decimal[0], count=len(decimal))
    _report_grades(lines, [line for line, _ in kept.values()], look)
    return lines, look.problems


def _grade(raw: bytes, number: int, line: bytes, look: Inspection) -> float | None:
    grade = parse_grade(raw)
    if grade is None:
        look.add("grade-not-a-number", number, line, f"«{raw[:40].decode(errors='replace')}»")
    return grade


def _report_grades(lines: JudgmentLines, numbers: Sequence[int], look: Inspection) -> None:
    fractional = [at for at, grade in enumerate(lines.grades) if isinstance(grade, float) and grade > 0]
    if fractional:
        first = fractional[0]
        text = f"{_judged(lines, first)} {lines.grades[first]!r}"
        look.add("grade-fractional", numbers[first], text, count=len(fractional))
    negative = [at for at, grade in enumerate(lines.grades) if grade < 0]
    if negative:
        first = negative[0]
        look.add("grade-negative", numbers[first], _judged(lines, first), count=len(negative))
    served = {topic for topic, grade in zip(lines.topics, lines.grades, strict=True) if grade > 0}
    reported = set(served)
    for at, topic in enumerate(lines.topics):
        if topic not in reported:
            reported.add(topic)
            look.add("no-relevant", numbers[at], f"topic {topic.decode()}")


def _judged(lines: JudgmentLines, at: int) -> str:
    return f"{lines.topics[at].decode()} {lines.documents[at].decode()}"


IMPORTANCE = {b"vital": 1.0, b"okay": 0.5}
"""What the importance of a nugget is worth that is written in a word."""


def read_probabilities(source: str | Path) -> dict[tuple[bytes, bytes], float]:
    """Read ``topic intent probability`` lines: how likely each intent of a topic is, or how important each nugget."""
    look = Inspection(show(source))
    found: dict[tuple[bytes, bytes], float] = {}
    for number, line in careful_lines(read_bytes(source), look):
        fields = split_fields(line, number, 3, look)
        if fields is None:
            continue
        value = IMPORTANCE.get(fields[2].lower(), parse_number(fields[2]))
        if value is None or not 0 <= value <= 1:
            look.add("probability", number, line)
        elif (fields[0], fields[1]) in found:
            look.add("probability-twice", number, line)
        else:
            found[fields[0], fields[1]] = value
    refuse(look.problems)
    return found


def write_qrels(path: str | Path, rows: Iterable[tuple[str, str, str, float]]) -> None:
    """Write (topic, iteration or intent, document, grade) rows, grades in the fewest digits that read back the same."""
    lines = (f"{topic} {second} {document} {plain_grade(grade)!r}\n" for topic, second, document, grade in rows)
    write_text(path, "".join(lines))


HEADERS = {(b"run", b"team"), (b"system", b"team")}


def read_teams(source: str | Path) -> dict[str, str]:
    """Which team each run belongs to."""
    teams, problems = inspect_teams(read_bytes(source), show(source))
    refuse(problems)
    return teams


def inspect_teams(data: bytes, file: str) -> tuple[dict[str, str], list[Problem]]:
    """Read a team list line by line and report everything odd about it."""
    look = Inspection(file)
    teams: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in careful_lines(data, look):
        fields = _fields(line, number, look)
        if fields is None or (number == 1 and (fields[0].lower(), fields[1].lower()) in HEADERS):
            continue
        run, team = fields[0].decode(), fields[1].decode()
        if teams.setdefault(run, team) != team:
            look.add("team-conflict", number, line, f"line {lines[run]} says {teams[run]}")
        lines.setdefault(run, number)
    if not teams and not look.failed:
        look.add("empty-file")
    return teams, look.problems


def _fields(line: bytes, number: int, look: Inspection) -> list[bytes] | None:
    """Tabs or commas let a team's name have blanks; otherwise any blank parts the two."""
    for mark in (b"\t", b","):
        if line.count(mark) == 1:
            fields = [part.strip() for part in line.split(mark)]
            if all(fields) and not fields[0].startswith(b"#"):
                return fields
    return split_fields(line, number, 2, look)


def write_teams(path: str | Path, teams: Mapping[str, str]) -> None:
    """Write a team list with its header."""
    rows = "".join(f"{run}\t{team}\n" for run, team in teams.items())
    write_text(path, f"run\tteam\n{rows}")
