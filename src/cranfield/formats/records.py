"""Records: the rows of any table or JSON file with their places, and the lines that trec_eval and ir_measures print."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.errors import InputError
from cranfield.formats.problems import shorten
from cranfield.formats.scores import first_repeat, text_number
from cranfield.formats.text import BOM, why_not_text


@dataclass(frozen=True)
class Record:
    """One row: its fields by name, and where it is."""

    where: str
    fields: Mapping[str, Any]


def read_records(data: bytes, file: str) -> list[list[Record]]:
    """Every list of records in a file: one for a table or JSON lines, maybe several for JSON, the outermost first."""
    reason = why_not_text(data)
    if reason:
        raise InputError(reason, where=file, fix="Give CSV, TSV, JSON or JSON lines.")
    text = decoded(data, file)
    if not text.strip():
        raise InputError("the file has no data", where=file, fix="Write the file again.")
    if text.lstrip()[0] not in "{[":
        return [_table(text, file)]
    if is_json_lines(data):
        return [_lines(text, file)]
    found = list(_lists(load_json(text, file), file))
    if not found:
        raise InputError("its JSON has no list of records", where=file, fix="A record is an object with a score in it.")
    return found


def is_json_lines(data: bytes) -> bool:
    """Whether the first line is an object by itself and more follow."""
    first, _, rest = data.removeprefix(BOM).strip().partition(b"\n")
    if not first.lstrip().startswith(b"{") or not rest.strip():
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def decoded(data: bytes, file: str) -> str:
    """The text of a file, without a byte order mark; bytes that are not UTF-8 are refused with their line."""
    data = data.removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("text that is not UTF-8", where=f"{file}:{line}", fix="Convert it, e.g. with iconv.") from None


def _table(text: str, file: str) -> list[Record]:
    """A table with a header; cells may hold line ends, so that a row is known by the line it starts on."""
    mark = max(",\t;", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    found, names, start = [], None, 1
    try:
        for cells in reader:
            if not any(cells):
                pass
            elif names is None:
                names = _header(cells, f"{file}:{start}")
            elif len(cells) != len(names):
                fix = "Complete the row, or quote the cells that hold the separator."
                raise InputError(
                    f"{len(cells)} cells where the header has {len(names)}", where=f"{file}:{start}", fix=fix
                )
            else:
                found.append(Record(f"{file}:{start}", dict(zip(names, cells, strict=True))))
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"the row cannot be read: {error}", where=f"{file}:{start}", fix="Check its quotes.") from None
    return found


def _header(cells: Sequence[str], where: str) -> list[str]:
    names = [name.strip() for name in cells]
    twice = first_repeat(filter(None, names))
    if twice is not None:
        raise InputError(f"two columns are called «{twice}»", where=where, fix="Rename one of them.")
    return names


def _lines(text: str, file: str) -> list[Record]:
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            content = load_json(line, f"{file}:{number}")
            if not isinstance(content, dict):
                raise InputError(
                    "the line is no object", where=f"{file}:{number}", fix='Each should be {"name": value, …}.'
                )
            found.append(Record(f"{file}:{number}", content))
    return found


def too_deep(where: str) -> InputError:
    """The error for JSON that Python's reader, which calls itself, cannot read."""
    fix = "Data have three levels at most, such as topics, documents and grades; write them without the others."
    return InputError("its objects and lists are nested too deeply", where=where, fix=fix)


def load_json(text: str, where: str) -> Any:
    """What is in JSON; an object that has one key twice is refused, as it is unclear which one holds."""
    repeats: list[tuple[str, dict[str, Any]]] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeats.append((str(first_repeat(key for key, _ in pairs)), found))
        return found

    try:
        content = json.loads(text, object_pairs_hook=once)
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}", where=where, fix="Check the file's end and its quotes.") from None
    except RecursionError:
        raise too_deep(where) from None
    if repeats:
        key, first = repeats[0]
        rows = content.get("rows") if isinstance(content, dict) else content
        records = rows if isinstance(rows, list) else []
        at = next((f", record {number}" for number, row in enumerate(records, 1) if row is first), "")
        raise InputError(f"an object has the key «{shorten(key)}» twice", where=f"{where}{at}", fix="Delete one.")
    return content


def _lists(content: Any, file: str) -> Iterator[list[Record]]:
    """Lists of objects at any depth, the outermost first; those within their records are the records' own."""
    level = [content]
    while level:
        deeper: list[Any] = []
        for each in level:
            if isinstance(each, list) and each and isinstance(each[0], dict):
                yield [Record(f"{file}, record {at}", row) for at, row in enumerate(each, 1) if isinstance(row, dict)]
            elif isinstance(each, dict):
                deeper.extend(each.values())
        level = deeper


SUMMARY = "all"  # the topic that stands for the mean of all
NAME = "runid"  # the «measure» whose value is the run's tag
TEXT = ("runid", "relstring")  # «measures» whose values are no numbers


@dataclass(frozen=True)
class TopicLines:
    """(measure, topic, score, place) of one system, and its name where the file has it."""

    rows: list[tuple[str, str, float, str]]
    system: str | None


def looks_like_output(data: bytes) -> bool:
    """Whether the first lines have three fields of which the last is a number (or a run's tag): the first, and most."""
    lines = [line.split() for line in data.removeprefix(BOM)[:5000].split(b"\n")[:-1][:20] if line.strip()]
    if not lines or any(len(fields) != 3 for fields in lines):
        return False
    numbers = [fields[0].decode("utf-8", "replace") in TEXT or _is_number(fields[2]) for fields in lines]
    return numbers[0] and 2 * sum(numbers) > len(numbers)  # a header has none; what else is none is refused by its line


def is_output(data: bytes) -> bool:
    """Whether it is such output beyond doubt: there are means in it, too."""
    return looks_like_output(data) and re.search(rb"^(\S+[ \t]+)?all[ \t]", data, re.M) is not None


def read_output(data: bytes, file: str) -> TopicLines:
    """The scores of one system; summaries are left out, so that what they sum up is not counted twice."""
    reason = why_not_text(data)
    if reason:
        raise InputError(reason, where=file, fix="Write it again.")
    lines = [
        (number, fields)
        for number, line in enumerate(decoded(data, file).split("\n"), start=1)
        if (fields := line.split())
    ]
    topic_at = _topic_column([fields for _, fields in lines], file)
    rows: list[tuple[str, str, float, str]] = []
    system = None
    for number, fields in lines:
        if len(fields) != 3:
            raise InputError(
                f"{len(fields)} fields where 3 are needed", where=f"{file}:{number}", fix="Write it again."
            )
        measure, topic = fields[1 - topic_at], fields[topic_at]
        if measure == NAME:
            system = fields[2]
        elif topic != SUMMARY and measure not in TEXT:
            score = text_number(fields[2])
            if score is None:
                fix = "Only numbers can be compared; leave the measure out."
                raise InputError(f"a score cannot be «{fields[2][:40]}»", where=f"{file}:{number}", fix=fix)
            rows.append((measure, topic, score, f"{file}:{number}"))
    if not rows:
        fix = "Write per-topic scores too: trec_eval -q, ir_measures -q."
        raise InputError("there are only means in it, and no topics", where=file, fix=fix)
    return TopicLines(rows, system)


def _topic_column(lines: Sequence[Sequence[str]], file: str) -> int:
    """1 for trec_eval (measure topic value), 0 for ir_measures (topic measure value): where means have «all»."""
    for at in (1, 0):
        if any(len(fields) == 3 and fields[at] == SUMMARY for fields in lines):
            return at
    fix = (
        "Write the means too (leave out ir_measures' -n), so that «all» shows where the topics are; "
        "or give a header: topic,system,score."
    )
    raise InputError("three fields a line, and no telling which has the topics", where=file, fix=fix)


def _is_number(raw: bytes) -> bool:
    try:
        return float(raw) is not None
    except ValueError:
        return False
