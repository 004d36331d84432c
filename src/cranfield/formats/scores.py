"""Score files: ``measure,topic,system,score`` (long, maybe with ``shard``) or ``topic,system,system,…`` (wide)."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from cranfield.formats.lines import Inspection, careful_lines
from cranfield.formats.problems import Problem
from cranfield.formats.text import BOM

LONG = ("topic", "system", "score")
NOTHING = {"", "nan", "na", "n/a", "<na>", "null", "none"}
"""What stands in a cell without a score, in any case of letters."""
TRUTH = {"true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0}
LONGEST_NAME = 131_072  # characters; Python's csv module refuses more

Row = tuple[str, str, str, str, float]
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class ScoreRows:
    """(measure, topic, system, shard, score) rows; ``measure`` is empty where the file names none.

    A cell without a score is a row with nan; ``empty`` has the lines of these, by their place among the rows.
    """

    rows: list[Row]
    sharded: bool
    empty: dict[int, int] = field(default_factory=dict)


def inspect_scores(data: bytes, file: str) -> tuple[ScoreRows, list[Problem]]:
    """Read a score file line by line and report everything odd about it."""
    look = Inspection(file)
    lines = list(careful_lines(data, look))
    if not lines:
        return ScoreRows([], False), look.problems
    mark = separator(lines[0][1])
    header, *body = ((number, _cells(line, mark)) for number, line in _rows(lines, mark))
    names = [name.strip() for name in header[1]]
    twice = first_repeat(names)
    if twice is not None:
        look.add("score-twice", header[0], ",".join(names), f"two columns are called «{twice}»")
        return ScoreRows([], False), look.problems
    cells = _long(names, body, look) if set(LONG) <= set(names) else _wide(names, body, look, header[0])
    rows, empty = _once(cells, look)
    if len(rows) == len(empty) and not look.failed:
        look.add("empty-file", detail="no cell has a score" if rows else "a header and nothing else")
    return ScoreRows(rows, "shard" in names and set(LONG) <= set(names), empty), look.problems


def inspect_block(header: bytes, block: bytes, file: str, before: int) -> tuple[set[Key], list[Problem]]:
    """Read some lines of a score file, after ``before`` others: the cells they are about, and everything odd."""
    look = Inspection(file)
    lines = list(careful_lines(header + block, look))
    if not lines:
        return set(), look.problems
    mark = separator(lines[0][1])
    (_, first), *body = ((number, _cells(line, mark)) for number, line in _rows(lines, mark))
    names = [name.strip() for name in first]
    cells = _long(names, body, look) if set(LONG) <= set(names) else _wide(names, body, look, 1)
    keys: set[Key] = set()

    def noted() -> Iterator[_Cell]:
        for cell in cells:
            keys.add((cell[1], cell[2], cell[3], cell[4]))
            yield cell

    _once(noted(), look)
    return keys, [replace(each, line=each.line + before) for each in look.problems]


def looks_like_scores(line: bytes) -> bool:
    """Whether a first line is the header of a score file."""
    names = [name.strip() for name in _cells(line, separator(line))]
    return (len(names) > 1 and "topic" in names[:2]) or set(LONG) <= set(names)


def header_names(data: bytes) -> list[str]:
    """The names in the first line, if it is one of text."""
    line = data.removeprefix(BOM).lstrip()[:100_000].partition(b"\n")[0]
    mark = max(",\t;", key=lambda each: line.count(each.encode()))
    text = line.decode("utf-8", "replace").rstrip("\r")
    if '"' not in text:
        return [name.strip() for name in text.split(mark)]
    try:
        return [name.strip() for name in next(csv.reader([text], delimiter=mark), [])]
    except csv.Error:
        return []


def first_repeat(names: Iterable[str]) -> str | None:
    """The first name that was there before.

    >>> first_repeat(["topic", "a", "b", "a"])
    'a'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def separator(line: bytes) -> str:
    """What stands between the cells of a header: a mark that makes «topic» one of them, else the most frequent."""
    marks = sorted(",\t;", key=lambda mark: -line.count(mark.encode()))
    return next((mark for mark in marks if "topic" in map(str.strip, _cells(line, mark))), marks[0])


def _cells(line: bytes, mark: str) -> list[str]:
    text = line.decode("utf-8").rstrip("\r").replace("\r", " ")
    try:
        return next(csv.reader([text], delimiter=mark), [])
    except csv.Error:  # a cell of over 131,072 characters
        return []


def _rows(lines: Sequence[tuple[int, bytes]], mark: str) -> Iterator[tuple[int, bytes]]:
    """Lines of one row together, as quotes may have line ends within; quotes that are never closed are left alone."""
    at = 0
    while at < len(lines):
        number, line = lines[at]
        end, goes_on = at, is_open(line, mark)
        while goes_on and end + 1 < len(lines) and len(line) <= LONGEST_NAME:
            end += 1
            line += b"\n" * (lines[end][0] - lines[end - 1][0]) + lines[end][1]
            goes_on = b'"' not in lines[end][1] or is_open(line, mark)
        if goes_on:
            end, line = at, lines[at][1]
        yield number, line
        at = end + 1


def is_open(line: bytes, mark: str) -> bool:
    """Whether a cell goes on in the next line: its quotes begin it, and do not end."""
    if line.count(b'"') % 2 == 0:
        return False
    reader = csv.reader([line.decode("utf-8", "replace").replace("\r", " ") + "\n", ""], delimiter=mark)
    try:
        next(reader)
    except csv.Error:
        return False
    return reader.line_num > 1


_Cell = tuple[int, str, str, str, str, str]  # line, measure, topic, system, shard, score


def _long(names: Sequence[str], body: Sequence[tuple[int, list[str]]], look: Inspection) -> Iterator[_Cell]:
    place = {name: at for at, name in enumerate(names)}
    for number, cells in body:
        if _fits(names, number, cells, look):
            parts = {name: cells[at].strip() for name, at in place.items()}
            if not _has_names(parts, number, look):
                continue
            yield (
                number,
                parts.get("measure", ""),
                parts["topic"],
                parts["system"],
                parts.get("shard", ""),
                parts["score"],
            )


def _wide(
    names: Sequence[str], body: Sequence[tuple[int, list[str]]], look: Inspection, header: int
) -> Iterator[_Cell]:
    if "topic" not in names:
        look.add("unknown-kind", header, ",".join(names), "the header has no column «topic»")
        return
    if "" in names:
        look.add("name-missing", header, ",".join(names), f"column {names.index('') + 1} has no name")
        return
    topic, measure = names.index("topic"), names.index("measure") if "measure" in names else None
    systems = [at for at in range(len(names)) if at not in (topic, measure)]
    for number, cells in body:
        if _fits(names, number, cells, look):
            parts = {names[at]: cells[at].strip() for at in (topic, measure) if at is not None}
            if _has_names(parts, number, look):
                for at in systems:
                    yield number, parts.get("measure", ""), parts["topic"], names[at], "", cells[at].strip()


def _fits(names: Sequence[str], number: int, cells: Sequence[str], look: Inspection) -> bool:
    if len(cells) == len(names):
        return True
    slug = "too-few-fields" if len(cells) < len(names) else "too-many-fields"
    look.add(slug, number, ",".join(cells), f"{len(cells)} where the header has {len(names)}")
    return False


def _has_names(parts: Mapping[str, str], number: int, look: Inspection) -> bool:
    """Whether no name of a row is empty; an empty shard is one of no shard."""
    empty = next((name for name in ("measure", "topic", "system") if not parts.get(name, name)), None)
    if empty is not None:
        look.add("name-missing", number, detail=f"the {empty} is empty")
    return empty is None


def _once(cells: Iterator[_Cell], look: Inspection) -> tuple[list[Row], dict[int, int]]:
    seen: dict[tuple[str, str, str, str], int] = {}
    rows: list[Row] = []
    empty: dict[int, int] = {}
    for line, *key_parts, raw in cells:
        key = (key_parts[0], key_parts[1], key_parts[2], key_parts[3])
        before = seen.setdefault(key, line)
        score = text_number(raw)
        if before != line:
            look.add("score-twice", line, " ".join(filter(None, key)), f"the first is on line {before}")
        elif score is None:
            look.add("cell-not-a-number", line, raw)
        else:
            if math.isnan(score):
                empty[len(rows)] = line
            rows.append((*key, score))
    if empty:
        look.add("cell-missing", next(iter(empty.values())), detail=f"{len(empty)} cells", count=len(empty))
    return rows, empty


def text_number(raw: str) -> float | None:
    """The score in a cell: nan where there is none, None where it is no number."""
    raw = raw.strip()
    small = raw.lower()
    if small in NOTHING or small in TRUTH:
        return TRUTH.get(small, math.nan)
    try:
        value = float(raw)
    except ValueError:
        return None
    return None if math.isinf(value) or "_" in raw or not raw.isascii() else value


def name_problem(name: str) -> str:
    """Why a text cannot be the name of a topic, a system or a measure in every format; empty where it can."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters, more than {LONGEST_NAME:,}"
    if "\0" in name:
        return "has a zero byte"
    return "" if is_unicode(name) else "has half of a surrogate pair, which is no character"


def are_names(texts: Sequence[str]) -> bool:
    """Whether all texts, without blanks around them, can be names: as `name_problem`, for many at once."""
    if not all(texts) or max(map(len, texts), default=0) > LONGEST_NAME:
        return False
    joined = "".join(texts)
    return "\0" not in joined and is_unicode(joined)


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON can have halves of surrogate pairs."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


_FORMULA = re.compile("'*[=+\\-@\t]")  # what may start a formula in a spreadsheet, also where it was kept from it


def no_formula(name: str) -> str:
    """A name that no spreadsheet takes for a formula: one that might be has an apostrophe more.

    >>> no_formula("=1+1"), no_formula("'=1+1"), no_formula("bm25")
    ("'=1+1", "''=1+1", 'bm25')
    """
    return f"'{name}" if _FORMULA.match(name) else name


def plain_names(cells: Sequence[str]) -> Sequence[str]:
    """The names that such cells stand for; others, and all where one could be a formula, are what they are.

    >>> plain_names(["'=1+1", "bm25"])
    ['=1+1', 'bm25']
    >>> plain_names(["'=1+1", "=1+1"])  # nobody kept these from being formulas
    ["'=1+1", '=1+1']
    """
    if "'" not in "".join(cells):  # there may be millions
        return cells
    starts = {cell[:1] for cell in cells}
    if "'" not in starts or starts & set("=+-@\t"):
        return cells
    return [cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell for cell in cells]


def format_scores(columns: Sequence[str], rows: Iterable[Sequence[object]], *, mark: str = ",") -> str:
    """CSV text; numbers keep every digit, so that reading them back gives the same bits."""
    return "".join(score_lines(columns, rows, mark=mark))


def score_lines(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, mark: str = ",", at_once: int = 10_000
) -> Iterator[str]:
    """The same text in pieces of whole lines, so that memory does not grow with the number of rows."""
    left = iter(rows)
    lines: Iterable[Sequence[object]] = [columns]
    while lines:
        text = io.StringIO()
        csv.writer(text, delimiter=mark, lineterminator="\n").writerows(lines)
        yield text.getvalue()
        lines = list(islice(left, at_once))


def column_lines(columns: Mapping[str, Sequence[object]], *, mark: str = ",") -> str:
    """The lines that `format_scores` makes of rows, without the header, from columns: several times as fast.

    >>> column_lines({"system": ["a", "b, c"], "score": [0.5, None]})
    'a,0.5\\n"b, c",\\n'
    """
    texts = {id(column): _cell_texts(column, mark) for column in columns.values()}  # a column may come twice
    rows = zip(*(texts[id(column)] for column in columns.values()), strict=True)
    text = "\n".join(map(mark.join, rows))
    return f"{text}\n" if text else ""


def _cell_texts(column: Sequence[object], mark: str) -> Sequence[str]:
    kinds = set(map(type, column))
    is_constant = bool(column) and column[0] != 0 and column.count(column[0]) == len(column)  # 0 and −0 are equal
    if is_constant or kinds == {str}:  # a name is quoted once, however often it comes
        known = {value: _cell_text(value, mark) for value in dict.fromkeys(column)}
        return [known[value] for value in column]
    if kinds <= {float, int, bool}:
        return list(map(repr, column))
    return [_cell_text(value, mark) for value in column]


def _cell_text(value: object, mark: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerow(["", value])  # an empty cell alone would be quoted
    return text.getvalue()[len(mark) : -1]
