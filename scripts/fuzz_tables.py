"""Score files, mutated: the reader by columns and the reader by lines agree, value for value, or the first declines.

    python scripts/fuzz_tables.py --files 100000

Files of every plain form (long, wide, with other column names, JSON lines) are written with random names and numbers;
most of them are then changed in some bytes. What is read by columns must be what is read by lines: names, values bit
for bit, warnings, the places of empty cells, and the message where both refuse it. The same seed gives the same files.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cranfield.errors import CranfieldError
from cranfield.formats import column_scan
from cranfield.scores import ScoreTable
from cranfield.scores.columns import Columns
from cranfield.scores.score_files import read_by_columns, read_by_lines

NAMES = ("q1", "401", "0401", "a b", "ähnlich", "long-name-of-a-system", "x" * 40, "é", "10", "9", "N/A", "all", "系統")
ODD_NUMBERS = (
    "",
    "nan",
    "NA",
    "null",
    "true",
    "1e-5",
    "-0",
    "+1",
    ".5",
    "5.",
    "1_0",
    "inf",
    "x",
    " 0.5",
    "0x1",
    "1e400",
)
PIECES = (
    b'"',
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xc2\xa0",
    b"\\",
    b"-",
    b".",
    b"e",
    b"0",
    b"9",
    b"_",
    b"{",
    b"}",
    b":",
    b"null",
    b"[]",
    b"\x0b",
    b"\xef\xbb\xbf",
    b"topic",
    b"score",
    b"\n\n",
)
BLOCKS = (64, 200, 1000, 1 << 19)


@dataclass(frozen=True)
class Case:
    """A file, what its columns are said to be, and how much of it is read at a time."""

    data: bytes
    columns: str | None
    block: int


def cases(seed: int, count: int) -> Iterator[Case]:
    """Files of all forms, one in four unchanged."""
    draw = random.Random(seed)
    for _ in range(count):
        data, columns = draw.choice(FORMS)(draw)
        changes = draw.choice((0, 1, 1, 2, 5))
        for _ in range(changes):
            data = _changed(data, draw)
        yield Case(data, columns, draw.choice(BLOCKS))


def disagreement(case: Case) -> str:
    """What the two readers differ in, empty where they agree; «declined» where the first leaves it to the second."""
    given = None if case.columns is None else Columns.of(case.columns)
    before, column_scan.BLOCK = column_scan.BLOCK, case.block
    try:
        fast = _read(read_by_columns, case.data, given)
    finally:
        column_scan.BLOCK = before
    if fast is None:
        return DECLINED
    slow = _read(read_by_lines, case.data, given)
    if isinstance(fast, str) or isinstance(slow, str):
        return "" if fast == slow else f"by columns: {fast}; by lines: {slow}"
    return next((name for name, look in LOOKS.items() if look(fast) != look(slow)), "")


def _read(reader: Callable[..., ScoreTable | None], data: bytes, given: Columns | None) -> ScoreTable | str | None:
    """What a reader makes of a file: a table, or why it refuses it."""
    try:
        return reader(data, "file.csv", given=given)
    except CranfieldError as error:
        return f"{error.where}: {error.what}. {error.fix}"


DECLINED = "declined"
LOOKS: dict[str, Callable[[ScoreTable], Any]] = {
    "names": lambda table: (table.measures, table.topics, table.systems, table.shards, table.replicates),
    "values": lambda table: [struct.pack("d", value) if value == value else b"" for value in table.values.ravel()],
    "warnings": lambda table: table.warnings,
    "empty cells": lambda table: dict(table.empty),
}


def _changed(data: bytes, draw: random.Random) -> bytes:
    """With a piece put in, a stretch taken out, repeated or replaced."""
    at = draw.randrange(len(data) + 1)
    if draw.random() < 0.5:  # another digit, or another letter: often still a table
        return data[:at] + draw.choice((b"0", b"5", b"9", b"a", b"-", b" ")) + data[at + 1 :]
    end = min(len(data), at + draw.choice((0, 0, 1, 1, 2, 8, 30)))
    piece = draw.choice((*PIECES, data[at:end] * 2, b""))
    return data[:at] + piece + data[end:]


def _number(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.5:
        return f"{draw.random():.4f}"
    if kind < 0.7:
        return repr(draw.random())
    if kind < 0.8:
        return str(draw.randrange(3))
    if kind < 0.85:
        return repr(math.ldexp(draw.random() - 0.5, draw.randrange(-80, 80)))
    return f"{draw.uniform(-9999, 9999):.{draw.randrange(20)}f}" if kind < 0.985 else draw.choice(ODD_NUMBERS)


def _names(draw: random.Random, most: int) -> list[str]:
    some = [*NAMES, *(f"t{number}" for number in range(20)), *map(str, range(30))]
    return draw.sample(some, draw.randrange(1, most))


def _cells(draw: random.Random) -> list[tuple[str, str]]:
    found = [(topic, system) for topic in _names(draw, 9) for system in _names(draw, 6)]
    if draw.random() < 0.5:
        draw.shuffle(found)
    return found[: draw.choice((len(found), max(1, len(found) - 2)))]


def _written(rows: list[list[str]], draw: random.Random) -> bytes:
    mark, end = draw.choice(",,,,\t;"), draw.choice(("\n", "\n", "\n", "\r\n"))
    around = draw.choice(("", "", "", '"'))
    text = "".join(
        mark.join(f"{around}{cell}{around}" if _is_word(cell) else cell for cell in row) + end for row in rows
    )
    return (draw.choice(("", "", "", "\ufeff")) + (text.removesuffix(end) if draw.random() < 0.2 else text)).encode()


def _is_word(cell: str) -> bool:
    """What other programs quote; numbers they leave as they are."""
    return not cell.replace(".", "").isdigit()


def _long(draw: random.Random) -> tuple[bytes, str | None]:
    shards = draw.choice(([""], ["1", "2"]))
    names = [
        "topic",
        "system",
        "score",
        *(["shard"] if len(shards) > 1 else []),
        *draw.choice(([], ["measure"], ["note"])),
    ]
    draw.shuffle(names)
    rows = [
        {"topic": topic, "system": system, "score": _number(draw), "shard": shard, "measure": measure, "note": "n"}
        for topic, system in _cells(draw)
        for shard in shards
        for measure in (("AP", "RR") if "measure" in names else ("",))
    ]
    return _written([names, *([row[name] for name in names] for row in rows)], draw), None


def _wide(draw: random.Random) -> tuple[bytes, str | None]:
    topics, systems = _names(draw, 9), _names(draw, 6)
    rows = [[topic, *(_number(draw) for _ in systems)] for topic in topics]
    header = ["topic", *systems]
    return _written([header, *rows], draw), draw.choice((None, None, "system=*", "topic=topic,score=*"))


def _named(draw: random.Random) -> tuple[bytes, str | None]:
    runs = ("1", "2", "3")[: draw.randrange(1, 4)]
    rows = [[topic, system, run, _number(draw), _number(draw)] for topic, system in _cells(draw) for run in runs]
    columns = draw.choice(
        (
            "system=s,mean=run,score=f1",
            "system=s,seed=run,score=f1",
            "system=s+run,score=f1",
            "system=s,prompt=run,score=*",
            "system=s+run,score=f1,score=f2",
            "system=s+run",
            "score=f1",
            "system=s,shard=run,measure=s,score=f2",
        )
    )
    return _written([["q", "s", "run", "f1", "f2"], *rows], draw), f"topic=q,{columns}"


def _json_number(draw: random.Random) -> Any:
    text = _number(draw)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json_lines(draw: random.Random) -> tuple[bytes, str | None]:
    blanks: Any = draw.choice((None, (",", ":")))
    numbered = draw.random() < 0.3
    rows = [
        {
            "topic": at if numbered else topic,
            "run": system,
            "score": _json_number(draw),
            "note": draw.choice((1, None, True)),
        }
        for at, (topic, system) in enumerate(_cells(draw))
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False, separators=blanks) for row in rows) + draw.choice(("\n", ""))
    columns = draw.choice(("system=run", "system=run", "system=run,score=*", "score=score", None))
    return text.replace("run", "system").encode() if columns is None else text.encode(), columns


FORMS = (_long, _long, _wide, _named, _json_lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    count: Counter[str] = Counter()
    for number, case in enumerate(cases(options.seed, options.files)):
        found = disagreement(case)
        count["agree" if not found else found if found == DECLINED else "DIFFER"] += 1
        if found not in ("", DECLINED):
            print(f"file {number}: {found}\n  columns {case.columns}, block {case.block}\n  {case.data!r}", flush=True)
    print(", ".join(f"{each}: {times:,}" for each, times in count.items()))
    raise SystemExit(1 if count["DIFFER"] else 0)


if __name__ == "__main__":
    main()
