"""Numbers with decimal commas, as spreadsheets write them in many countries: 0,35 for 0.35."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cranfield.errors import Caution, InputError
from cranfield.formats.scores import NOTHING
from cranfield.formats.text import BOM

_NUMBER = r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?"
_COMMA = re.compile(_NUMBER)
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")  # 1,234 may be 1.234 or 1234
_ANY = rb"[+-]?\d+(?:,\d+)+(?:[eE][+-]?\d+)?"
_QUOTED = re.compile(rb'"\s*' + _ANY + rb'\s*"')
_BETWEEN = re.compile(rb"[;\t\"]\s*" + _ANY + rb"\s*(?:[;\t\"\r\n]|$)")


@dataclass(frozen=True)
class WithPoints:
    """A table whose numbers have decimal points, and what to say about it."""

    data: bytes
    caution: Caution


def may_have_decimal_commas(head: bytes) -> bool:
    """Whether the first lines of a table have a cell that could be a number with a decimal comma."""
    line = head.partition(b"\n")[0]
    if max(b",\t;", key=line.count) == ord(","):
        return b'"' in head and _QUOTED.search(head) is not None
    return _BETWEEN.search(head) is not None


def with_decimal_points(data: bytes, file: str, ids: Collection[str]) -> WithPoints | None:
    """The table with decimal points; None where no column has decimal commas in all of its numbers.

    Columns called one of ``ids`` (in small letters) are left as they are. A column in which every comma could be one of
    thousands is refused: 1,234 may be 1.234 or 1234.
    """
    try:
        text = data.removeprefix(BOM).decode("utf-8")
        mark = max(",\t;", key=text.partition("\n")[0].count)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    except (UnicodeDecodeError, csv.Error):
        return None  # what is wrong with it is said by who reads it
    header = next((row for row in rows if any(row)), [])
    body = [row for row in rows if any(row) and row is not header]
    if any(len(row) != len(header) for row in body):
        return None
    columns = [
        at
        for at, name in enumerate(header)
        if name.strip().lower() not in ids and _has_commas([row[at].strip() for row in body])
    ]
    if not columns:
        return None
    for at in columns:
        _check_thousands(header[at], [row[at].strip() for row in body], file)
    first = next(row[columns[0]].strip() for row in body if "," in row[columns[0]])
    for row in body:
        for at in columns:
            row[at] = row[at].replace(",", ".")
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(rows)
    names = ", ".join(header[at].strip() for at in columns[:10])
    what = f"numbers have decimal commas ({first} was read as {first.replace(',', '.')}) in: {names}"
    return WithPoints(out.getvalue().encode(), Caution("decimal-commas", what, "Check that this is what you want."))


def _has_commas(cells: Sequence[str]) -> bool:
    """Whether all cells are whole numbers, numbers with commas, or empty, and some have commas."""
    kinds = [
        "comma" if _COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell) else "other"
        for cell in cells
        if cell.lower() not in NOTHING and not _WHOLE.fullmatch(cell)
    ]
    return bool(kinds) and "other" not in kinds


def _check_thousands(name: str, cells: Sequence[str], file: str) -> None:
    commas = [cell for cell in cells if "," in cell]
    doubtful = [cell for cell in commas if _THOUSANDS.fullmatch(cell)]
    if doubtful and (len(doubtful) == len(commas) or any(cell.count(",") > 1 for cell in doubtful)):
        plain, pointed = doubtful[0].replace(",", ""), doubtful[0].replace(",", ".")
        read = f"may be {pointed} or {plain}" if doubtful[0].count(",") == 1 else f"may be {plain}"
        raise InputError(
            f"«{doubtful[0]}» in the column «{name.strip()}» {read}",
            where=file,
            fix="Write numbers with a decimal point, and without marks between thousands.",
        )
