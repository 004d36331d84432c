"""Odd contents of score tables: every format that can express one gives the same table, or refuses it with its place.

`check` gives the same verdict as the reader: exit code 2 for what is refused, and a warning for what is read with a
warning.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.formats.parquet import parquet_errors
from cranfield.formats.problems import Severity
from cranfield.scores import ScoreTable, read_scores
from sizes import sized

COLUMNS = ("measure", "topic", "system", "score")
Rows = Sequence[Sequence[Any]]
Scores = dict[tuple[str, str, str], float | None]
GOOD: tuple[tuple[Any, ...], ...] = (("AP", "1", "a", 0.5), ("AP", "2", "a", 0.25), ("AP", "3", "a", 0.75))


class InexpressibleError(Exception):
    """The format has no way to write this."""


# --- one writer per format


def _text(value: Any) -> str:
    if isinstance(value, (list, dict, bytes)):
        raise InexpressibleError
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _delimited(rows: Rows, columns: Sequence[str], mark: str) -> bytes:
    text = io.StringIO()
    cells = [list(map(_text, row)) for row in [columns, *rows]]
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows(cells)
    return text.getvalue().encode("utf-8", "surrogatepass")


def as_csv(rows: Rows, columns: Sequence[str]) -> bytes:
    return _delimited(rows, columns, ",")


def as_tsv(rows: Rows, columns: Sequence[str]) -> bytes:
    return _delimited(rows, columns, "\t")


def _object(row: Sequence[Any], columns: Sequence[str]) -> str:
    if any(isinstance(value, bytes) for value in row):
        raise InexpressibleError
    fields = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in zip(columns, row, strict=False))
    return "{" + ", ".join(fields) + "}"  # a name may come twice


def as_json(rows: Rows, columns: Sequence[str]) -> bytes:
    return ("[" + ",\n".join(_object(row, columns) for row in rows) + "]\n").encode()


def as_json_lines(rows: Rows, columns: Sequence[str]) -> bytes:
    return "".join(_object(row, columns) + "\n" for row in rows).encode()


def as_nested_json(rows: Rows, columns: Sequence[str]) -> bytes:
    """{system: {topic: {measure: score}}} of one system; a key is always text."""
    if tuple(columns) != COLUMNS or any(len(row) != 4 or row[2] != "a" for row in rows):
        raise InexpressibleError
    if not all(isinstance(name, str) for row in rows for name in row[:3]) or not rows:
        raise InexpressibleError
    topics = (
        f"{json.dumps(topic)}: {{{json.dumps(measure)}: {json.dumps(score)}}}" for measure, topic, _, score in rows
    )
    return ('{"a": {' + ",\n".join(topics) + "}}\n").encode()


def as_parquet(rows: Rows, columns: Sequence[str]) -> bytes:
    if any(len(row) != len(columns) for row in rows) or len(set(columns)) < len(columns):
        raise InexpressibleError
    found = {name: _column([row[at] for row in rows]) for at, name in enumerate(columns)}
    data = io.BytesIO()
    polars.DataFrame(found).write_parquet(data)
    return data.getvalue()


def _column(values: list[Any]) -> polars.Series:
    """A column has one type: text, where one of its values is text."""
    kinds = {type(value) for value in values if value is not None}
    try:
        if str in kinds and len(kinds) > 1:
            return polars.Series([None if value is None else _text(value) for value in values], dtype=polars.String)
        if kinds == {int, float}:
            values = [value if value is None else float(value) for value in values]
        return polars.Series(values, strict=True)
    except (TypeError, OverflowError, UnicodeEncodeError, polars.exceptions.PolarsError):
        raise InexpressibleError from None


def _printed(rows: Rows, columns: Sequence[str], order: tuple[int, int], more: Sequence[str]) -> bytes:
    if tuple(columns) != COLUMNS or any(len(row) != 4 or row[2] != "a" for row in rows):
        raise InexpressibleError
    lines = []
    for row in rows:
        fields = [row[order[0]], row[order[1]], row[3]]
        if row[3] is None or isinstance(row[3], bool) or len(" ".join(map(_text, fields)).split()) != 3:
            raise InexpressibleError
        if row[1] == "all" or any(_text(field) != _text(field).strip() for field in fields):
            raise InexpressibleError
        lines.append("\t".join(map(_text, fields)))
    return "".join(line + "\n" for line in [*lines, *more]).encode("utf-8", "surrogatepass")


def as_trec_eval(rows: Rows, columns: Sequence[str]) -> bytes:
    return _printed(rows, columns, (0, 1), ["runid\tall\ta", "AP\tall\t0.5"])


def as_ir_measures(rows: Rows, columns: Sequence[str]) -> bytes:
    return _printed(rows, columns, (1, 0), ["all\tAP\t0.5"])


FORMATS: dict[str, Callable[[Rows, Sequence[str]], bytes]] = {
    "a.csv": as_csv,
    "a.tsv": as_tsv,
    "a.json": as_json,
    "a.jsonl": as_json_lines,
    "a.nested.json": as_nested_json,
    "a.parquet": as_parquet,
    "a.eval": as_trec_eval,
    "a.txt": as_ir_measures,
}


# --- contents


@dataclass(frozen=True)
class Content:
    """Rows, the columns that they have, and the table they are: None where they are refused."""

    rows: Rows
    table: Scores | None
    columns: Sequence[str] = COLUMNS
    warning: str = ""  # its slug


def _table(rows: Rows) -> Scores:
    return {(row[0], row[1], row[2]): row[3] for row in rows}


def refused(*rows: Sequence[Any], columns: Sequence[str] = COLUMNS) -> Content:
    return Content(rows, None, columns)


def second(at: int, value: Any) -> list[tuple[Any, ...]]:
    """Three good rows, with another value in the second."""
    return [row if number != 1 else (*row[:at], value, *row[at + 1 :]) for number, row in enumerate(GOOD)]


def refused_cell(at: int, value: Any) -> Content:
    return refused(*second(at, value))


def score_as(value: Any, number: float) -> Content:
    return Content(second(3, value), _table(second(3, number)))


def no_score(value: Any) -> Content:
    return Content(second(3, value), _table(second(3, None)), warning="cell-missing")


def named(at: int, value: Any, name: str) -> Content:
    return Content(second(at, value), _table(second(at, name)))


LONG_NAME, TOO_LONG = "x" * 10_000, "x" * 200_000

CONTENTS: dict[str, Content] = {
    "a table in order": Content(GOOD, _table(GOOD)),
    # names
    "no topic": refused_cell(1, None),
    "no system": refused_cell(2, None),
    "no measure": refused_cell(0, None),
    "an empty topic": refused_cell(1, ""),
    "an empty system": refused_cell(2, ""),
    "an empty measure": refused_cell(0, ""),
    "a topic of blanks": refused_cell(1, "  "),
    "a system of blanks": refused_cell(2, "  "),
    "a measure of blanks": refused_cell(0, "  "),
    "a topic that is a number": named(1, 401, "401"),
    "a topic that is a text of digits": named(1, "401", "401"),
    "a topic with a leading zero": named(1, "0401", "0401"),
    "a system that is a number": named(2, 7, "7"),
    "topics 2 and 02": Content([*GOOD, ("AP", "02", "a", 0.5)], _table([*GOOD, ("AP", "02", "a", 0.5)])),
    "a number and its text are one topic": refused(*GOOD, ("AP", 2, "a", 0.5)),
    "blanks around a topic": named(1, " q2 ", "q2"),
    "blanks around a system": named(2, " b ", "b"),
    "blanks around a measure": named(0, " RR ", "RR"),
    "topics that differ in blanks": refused(*GOOD, ("AP", " 2", "a", 0.5)),
    "a blank within a topic": named(1, "what is it", "what is it"),
    "a comma in a topic": named(1, "who, me", "who, me"),
    "a semicolon in a topic": named(1, "who; me", "who; me"),
    "quotes in a topic": named(1, 'say "yes"', 'say "yes"'),
    "a tab in a topic": named(1, "x\ty", "x\ty"),
    "a line break in a topic": named(1, "x\ny", "x\ny"),
    "a blank line in a topic": named(1, 'x\n\n"y"', 'x\n\n"y"'),
    "a line break in a system": named(2, "b\nc", "b\nc"),
    "inches in two topics": Content(
        [("AP", '5" nail', "a", 0.5), ("AP", '6" nail', "a", 0.25)],
        _table([("AP", '5" nail', "a", 0.5), ("AP", '6" nail', "a", 0.25)]),
    ),
    "an umlaut in a topic": named(1, "ähnlich", "ähnlich"),
    "a name beyond 16 bits": named(1, "q😀", "q😀"),
    "a byte order mark in a topic": named(1, "q\ufeff2", "q\ufeff2"),
    "a zero byte in a topic": refused_cell(1, "q\0002"),
    "a zero byte in a system": refused_cell(2, "b\0"),
    "half a surrogate pair in a topic": refused_cell(1, "q\ud800"),
    "half a surrogate pair in a system": refused_cell(2, "b\udc00"),
    "bytes in place of a topic": refused(*[(row[0], row[1].encode(), *row[2:]) for row in GOOD]),
    "a list in place of a topic": refused_cell(1, ["2"]),
    "an object in place of a topic": refused_cell(1, {"id": "2"}),
    "a topic of 10,000 characters": named(1, LONG_NAME, LONG_NAME),
    "a topic of 200,000 characters": refused_cell(1, TOO_LONG),
    "a topic called nan": named(1, "nan", "nan"),
    "a topic called null": named(1, "null", "null"),
    "a topic called all": Content(second(1, "all"), _table(second(1, "all")), warning="topic-all"),
    "a system called all": named(2, "all", "all"),
    # scores
    "a score of nan": no_score(math.nan),
    "a score of NaN as text": no_score("NaN"),
    "no score": no_score(None),
    "an empty score": no_score(""),
    "a score of blanks": no_score("  "),
    "a score of NA": no_score("NA"),
    "a score of null as text": no_score("null"),
    "an infinite score": refused_cell(3, math.inf),
    "a score of minus infinity": refused_cell(3, -math.inf),
    "a score of inf as text": refused_cell(3, "inf"),
    "a score of 1e999 as text": refused_cell(3, "1e999"),
    "scores that are true and false": Content(
        [(*row[:3], row[1] == "2") for row in GOOD], _table([(*row[:3], float(row[1] == "2")) for row in GOOD])
    ),
    "a score of true as text": score_as("true", 1.0),
    "a number as text": score_as("0.125", 0.125),
    "a number as text with blanks": score_as(" 0.125 ", 0.125),
    "a number with a plus": score_as("+0.125", 0.125),
    "a number with an exponent": score_as("1.25e-1", 0.125),
    "an integer": score_as(1, 1.0),
    "a large integer": score_as(2**53 + 1, float(2**53)),
    "an integer beyond 64 bits": score_as(10**30, 1e30),
    "an integer beyond all floats": refused_cell(3, 10**400),
    "an integer of 5,000 digits as text": refused_cell(3, "9" * 5000),
    "a negative score": score_as(-0.5, -0.5),
    "an underscore in a number": refused_cell(3, "1_0"),
    "full-width digits": refused_cell(3, "０.５"),
    "arabic digits": refused_cell(3, "٠"),
    "a hexadecimal integer": refused_cell(3, "0x10"),
    "a hexadecimal float": refused_cell(3, "0x1p-1"),
    "a decimal comma": refused_cell(3, "0,5"),
    "a word": refused_cell(3, "high"),
    "a list in place of a score": refused_cell(3, [0.5]),
    "an object in place of a score": refused_cell(3, {"AP": 0.5}),
    "no scores at all": refused(*[(*row[:3], None) for row in GOOD]),
    # rows and columns
    "one cell twice with one score": refused(*GOOD, GOOD[1]),
    "one cell twice with two scores": refused(*GOOD, ("AP", "2", "a", 0.125)),
    "one cell twice, once without a score": refused(*GOOD, ("AP", "2", "a", "nan")),
    "no rows": refused(),
    "no column topic": refused(*[(row[0], *row[2:]) for row in GOOD], columns=("measure", "system", "score")),
    "an extra column": Content([(*row, "note") for row in GOOD], _table(GOOD), columns=(*COLUMNS, "note")),
    "an empty extra column": Content([(*row, None) for row in GOOD], _table(GOOD), columns=(*COLUMNS, "note")),
    "two columns called topic": refused(*[(*row, row[1]) for row in GOOD], columns=(*COLUMNS, "topic")),
    "two columns called score": refused(*[(*row, 0.5) for row in GOOD], columns=(*COLUMNS, "score")),
    "columns in another order": Content([row[::-1] for row in GOOD], _table(GOOD), columns=COLUMNS[::-1]),
    "no column system": Content(
        [(row[1], row[3]) for row in GOOD], _table([("score", *row[1:]) for row in GOOD]), columns=("topic", "score")
    ),
    "no column system, but a measure": Content(
        [(row[0], row[1], row[3]) for row in GOOD], _table(GOOD), columns=("measure", "topic", "score")
    ),
    "no column system, and an extra column": Content(
        [(row[1], row[3], 1.5) for row in GOOD],
        _table([("score", *row[1:]) for row in GOOD]),
        columns=("topic", "score", "seconds"),
    ),
    "no column system, and a topic called all": Content(
        [(row[1], row[3]) for row in second(1, "all")],
        _table([("score", *row[1:]) for row in second(1, "all")]),
        columns=("topic", "score"),
        warning="topic-all",
    ),
    "no column system, and no score": Content(
        [(row[1], row[3]) for row in second(3, None)],
        _table([("score", *row[1:]) for row in second(3, None)]),
        columns=("topic", "score"),
        warning="cell-missing",
    ),
    "no column system, and an empty topic": refused(
        *[(row[1], row[3]) for row in second(1, "")], columns=("topic", "score")
    ),
    "empty shards": Content([(*row, "") for row in GOOD], _table(GOOD), columns=(*COLUMNS, "shard")),
    "shards of blanks": Content([(*row, "  ") for row in GOOD], _table(GOOD), columns=(*COLUMNS, "shard")),
    "one topic lacks one system": Content(
        [*GOOD, ("AP", "1", "b", 0.5), ("AP", "2", "b", 0.5)],
        {**_table([*GOOD, ("AP", "1", "b", 0.5), ("AP", "2", "b", 0.5)]), ("AP", "3", "b"): None},
        warning="cell-missing",
    ),
}


def is_expressible(content: Content, name: str) -> bool:
    try:
        FORMATS[name](content.rows, content.columns)
    except InexpressibleError:
        return False
    return True


def written(content: Content, name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(FORMATS[name](content.rows, content.columns))
    return path


def scores_of(table: ScoreTable) -> Scores:
    """Every cell of a table, None where it has no score."""
    return {
        (measure, topic, system): None if math.isnan(score := float(table.values[m, t, s, 0])) else score
        for m, measure in enumerate(table.measures)
        for t, topic in enumerate(table.topics)
        for s, system in enumerate(table.systems)
    }


def every_cell(scores: Scores) -> Scores:
    """With the cells that no row has."""
    measures, topics, systems = ({key[at] for key in scores} for at in range(3))
    return {key: scores.get(key) for key in ((m, t, s) for m in measures for t in topics for s in systems)}


def refusal_of(path: Path) -> CranfieldError | None:
    """Why a file is refused; None where it is read."""
    try:
        read_scores(path)
    except CranfieldError as error:
        return error
    return None


BOTH = [
    pytest.param(content, name, id=f"{claim}-{name}")
    for claim, content in CONTENTS.items()
    for name in FORMATS
    if is_expressible(content, name)
]


def test_every_content_is_tried_in_most_formats() -> None:
    assert len(CONTENTS) >= 60
    assert len(BOTH) >= 500
    assert all(any(is_expressible(content, name) for name in FORMATS) for content in CONTENTS.values())


@pytest.mark.parametrize(("content", "name"), BOTH)
def test_the_same_content_is_the_same_table_in_every_format(content: Content, name: str, tmp_path: Path) -> None:
    path = written(content, name, tmp_path)
    if content.table is None:
        with pytest.raises(CranfieldError) as refusal:
            read_scores(path)
        assert refusal.value.where.startswith(str(path))
        return
    table = read_scores(path)
    assert scores_of(table) == every_cell(content.table)
    slugs = {warning.slug for warning in table.warnings}
    assert slugs == ({"cell-missing"} if None in scores_of(table).values() else set()) | ({content.warning} - {""})


@pytest.mark.parametrize(("content", "name"), sized(BOTH[::3], BOTH))
def test_check_gives_the_verdict_of_the_questions(content: Content, name: str, tmp_path: Path) -> None:
    path = written(content, name, tmp_path)
    found = cf.check(path)
    lacks = content.table is not None and None in every_cell(content.table).values()
    assert found.exit_code == (2 if content.table is None or lacks else 0)
    assert cf.check(path, strict=True).exit_code == (2 if content.table is None or lacks or content.warning else 0)
    if content.table is not None and len(read_scores(path).measures) == 1:
        assert _is_refused(path) == lacks
    assert ("can be scored" in found.summary()) == (content.table is not None and not lacks)
    slugs = {problem.slug for problem in found.report.problems}
    if content.table is None:
        assert all(problem.file == str(path) for problem in found.report.problems)
    else:
        assert ("cell-missing" in slugs) == lacks
        assert not content.warning or content.warning in slugs


def _is_refused(path: Path) -> bool:
    """Whether a question refuses the file because of missing scores; a table may still be too small for it."""
    try:
        cf.variance(path)
    except CranfieldError as error:
        return "missing" in error.what
    return False


@pytest.mark.parametrize("name", [name for name in FORMATS if is_expressible(CONTENTS["empty shards"], name)])
@pytest.mark.parametrize("nothing", ["", None])
def test_scores_without_a_shard_go_with_those_of_shards_in_every_format(
    nothing: str | None, name: str, tmp_path: Path
) -> None:
    rows = [(*row, shard) for row in GOOD for shard in (nothing, "x")]
    path = written(Content(rows, None, (*COLUMNS, "shard")), name, tmp_path)
    assert read_scores(path).shards == ("", "x")
    assert cf.check(path).exit_code == 0


# --- bytes that are not text, and rows that are not whole

LINES = {name: FORMATS[name](GOOD, COLUMNS) for name in FORMATS if name != "a.parquet"}
BREAKS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "blanks": lambda _: b" \n\n",
    "text that is not UTF-8": lambda data: data.replace(b"2", b"\xe9", 1),
    "text in UTF-16": lambda data: data.decode().encode("utf-16"),
    "a zero byte": lambda data: data.replace(b"2", b"\0", 1),
    "a word alone at the end": lambda data: data + b"word\n",
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("change", BREAKS.values(), ids=BREAKS)
def test_a_broken_file_of_text_is_refused_in_every_format(
    change: Callable[[bytes], bytes], name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(change(LINES[name]))
    error = refusal_of(path)
    assert error is not None
    assert error.where.startswith(str(path))
    assert cf.check(path).exit_code == 2


@pytest.mark.parametrize("name", LINES)
def test_a_byte_order_mark_is_skipped_in_every_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + LINES[name])
    assert scores_of(read_scores(path)) == _table(GOOD)
    assert cf.check(path).exit_code == 0


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_record_without_the_score_misses_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(LINES[name].replace(b', "score": 0.25', b""))
    assert scores_of(read_scores(path)) == _table(second(3, None))
    assert [problem.slug for problem in cf.check(path).report.problems] == ["cell-missing"]


@pytest.mark.parametrize("first", [b'5" nail', b'"5"" nail"'])
def test_quotes_within_a_cell_do_not_join_lines(first: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"topic,system,score\n" + first + b',a,0.5\n6" nail,a,0.25\n')
    assert read_scores(path).topics == ('5" nail', '6" nail')


PLACES = {"a.csv": ":3", "a.tsv": ":3", "a.json": ", record 2", "a.jsonl": ":2", "a.parquet": ", row 2"}


@pytest.mark.parametrize(("name", "place"), PLACES.items(), ids=PLACES)
@pytest.mark.parametrize("claim", ["no topic", "an empty system", "a measure of blanks", "a word", "an infinite score"])
def test_a_refusal_has_the_line_or_the_row(claim: str, name: str, place: str, tmp_path: Path) -> None:
    path = written(CONTENTS[claim], name, tmp_path)
    error = refusal_of(path)
    assert error is not None
    assert error.where == f"{path}{place}"
    (problem,) = (each for each in cf.check(path).report.problems if each.severity is Severity.ERROR)
    assert problem.place == f"{path}{place}" or place[2:] in problem.detail


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_key_that_comes_twice_is_refused_with_its_record(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(LINES[name].replace(b'"topic": "2"', b'"topic": "2", "topic": "3"'))
    error = refusal_of(path)
    assert error is not None
    assert (error.where, error.what) == (f"{path}{PLACES[name]}", "an object has the key «topic» twice")


# --- damaged Parquet


@pytest.fixture(scope="module")
def parquet() -> bytes:
    rows = [("AP", f"q{topic}", system, topic / 64) for topic in range(60) for system in ("a", "b", "c")]
    return as_parquet(rows, COLUMNS)


def _damaged(data: bytes, draw: random.Random, flip: bool) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :] if flip else data[:at]


@pytest.mark.parametrize("flip", [True, False], ids=["flipped", "truncated"])
def test_damaged_parquet_is_one_line_and_nothing_else(
    flip: bool, parquet: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    draw, path = random.Random(7), tmp_path / "a.parquet"
    refusals = 0
    for _ in range(200):
        path.write_bytes(_damaged(parquet, draw, flip))
        error = refusal_of(path)
        assert cf.check(path).exit_code == (0 if error is None else 2)
        assert error is not None or flip  # a flipped bit of a score is another score: no checksum says so
        if error is not None:
            refusals += 1
            assert error.where.startswith(str(path))
            assert "\n" not in error.what
    assert refusals == 200 or (flip and refusals > 50)
    assert capfd.readouterr().err == ""


def test_a_panic_in_polars_is_an_error_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(as_parquet(GOOD, COLUMNS))
    panic = type("PanicException", (BaseException,), {})

    def scan(_: str) -> None:
        os.write(2, b"thread panicked\n")
        raise panic("assertion failed\n  left: 1\n right: 2")

    monkeypatch.setattr(polars, "scan_parquet", scan)
    with pytest.raises(CranfieldError) as refusal:
        read_scores(path)
    assert (refusal.value.what, refusal.value.where) == ("it cannot be read as Parquet: assertion failed", str(path))


@pytest.mark.skipif(os.name == "nt", reason="Windows ends an aborted process without asking")
@pytest.mark.parametrize("command", ["check", "compare"])
def test_an_abort_in_polars_is_an_error_of_the_file(tmp_path: Path, command: str) -> None:
    good = as_parquet(GOOD, COLUMNS)
    at = good.index(b"\x2c\x15") + 2  # the number of values of the first page of data, as a zigzag integer
    bad = tmp_path / "a.parquet"
    bad.write_bytes(good[:at] + b"\x03" + good[at + 1 :])  # −2
    done = subprocess.run([sys.executable, "-m", "cranfield", command, str(bad)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {bad}: it cannot be read as Parquet: ")
    assert len(done.stderr.splitlines()) == 2


def test_what_is_no_panic_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), parquet_errors(str(tmp_path)):
        raise KeyboardInterrupt
