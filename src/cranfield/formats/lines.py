"""Lines of fields: the quick way for clean files, the careful way that knows where and what every problem is."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.formats.problems import Problem, Severity, shorten
from cranfield.formats.text import BOM, LONGEST_LINE, why_not_text

_BLANK = np.zeros(256, bool)
_BLANK[list(b" \t\n\r\x0b\x0c")] = True  # what bytes.split takes for one


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: reading makes a great many small objects, none of them garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def clean_columns(data: bytes, width: int) -> list[list[bytes]] | None:
    """The columns of a file in which every line has ``width`` fields, or None when anything at all is odd."""
    if not data.isascii() or b"\x00" in data:
        return None
    fields = data.split()
    if not fields or not _has_width(data, width, len(fields)):
        return None
    columns = [fields[at::width] for at in range(width)]
    return None if any(name.startswith(b"#") for name in set(columns[0])) else columns


def _has_width(data: bytes, width: int, fields: int) -> bool:
    """Whether every line has ``width`` of the fields: after line n, n · width of them have begun; none is endless."""
    buffer = np.frombuffer(data, np.uint8)
    within = ~_BLANK[buffer]
    begins = within.copy()
    begins[1:] &= ~within[:-1]
    ends = np.flatnonzero(buffer == 10)
    begun = np.cumsum(begins, dtype=np.int32)[ends]
    lines = len(ends) + (buffer[-1] != 10)
    if fields != lines * width or np.diff(ends, prepend=-1, append=len(buffer)).max() > LONGEST_LINE + 1:
        return False
    return bool((begun == width * np.arange(1, len(ends) + 1)).all())


def has_repeats(lists: Sequence[Any], documents: Sequence[bytes]) -> bool:
    """Whether a list has a document twice; ``lists[line]`` says which list a line is of."""
    if not documents:
        return False
    edges = [0, *(at for at in range(1, len(lists)) if lists[at] != lists[at - 1]), len(lists)]
    if len({lists[edge] for edge in edges[:-1]}) < len(edges) - 1:  # a list in several pieces
        return len(set(zip(lists, documents, strict=True))) < len(documents)
    pieces = (documents[start:end] for start, end in pairwise(edges))
    return any(len(set(piece)) < len(piece) for piece in pieces)


@dataclass
class Inspection:
    """Problems of one file as they are found."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)

    def count(self, slug: str, line: int, raw: bytes) -> None:
        """Report a kind of problem at the first line that has it, with the number of lines."""
        at = self.counted.setdefault(slug, len(self.problems))
        if at == len(self.problems):
            self.add(slug, line, raw)
        else:
            self.problems[at] = replace(self.problems[at], count=self.problems[at].count + 1)

    @property
    def failed(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    def add(self, slug: str, line: int = 0, raw: bytes | str = b"", detail: str = "", count: int = 1) -> None:
        self.problems.append(Problem(slug, self.file, line, shorten(raw), detail, count))


def careful_lines(data: bytes, look: Inspection) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that hold something, with everything odd about the file and its lines reported."""
    reason = why_not_text(data)
    if reason:
        look.add("not-text", detail=reason)
        return
    if data.startswith(BOM):
        look.add("byte-order-mark", 1)
        data = data[len(BOM) :]
    if not data.strip():
        look.add("empty-file")
        return
    report_spacing(data, look)
    yield from _usable_lines(data, look)


def report_spacing(data: bytes, look: Inspection) -> None:
    """Line ends and blanks that are unusual but harmless."""
    returns = data.count(b"\r\n") if b"\r" in data else 0
    if returns:
        look.add("crlf", 1, count=returns)
    tab = data.find(b"\t")
    double = data.find(b"  ", 0, len(data) if tab < 0 else tab)
    first = tab if double < 0 else double
    if first >= 0:
        look.add("tabs", data.count(b"\n", 0, first) + 1)


def _usable_lines(data: bytes, look: Inspection) -> Iterator[tuple[int, bytes]]:
    blank: list[int] = []
    at, number, end = 0, 0, len(data)
    while at < end:
        number += 1
        stop = data.find(b"\n", at)
        stop = end if stop < 0 else stop
        if stop - at > LONGEST_LINE:
            look.add("line-too-long", number, data[at : at + 80], f"{stop - at:,} bytes")
        else:
            line = data[at:stop]
            if not line.strip():
                blank.append(number)
            elif not _is_utf8(line):
                look.add("not-utf8", number, line)
            else:
                yield number, line
        at = stop + 1
    if blank:
        look.add("blank-line", blank[0], count=len(blank))


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_NUMBER_AT = {6: 4, 4: 3, 3: 2}
"""By the number of fields of a line, the place of its number: score, grade, or probability."""


def _may_be_data(fields: Sequence[bytes], width: int) -> bool:
    """Whether a ``#`` line could be about a topic, or a run, whose name starts with #."""
    if len(fields) != width or width not in _NUMBER_AT:
        return len(fields) == width
    try:
        float(fields[_NUMBER_AT[width]])
    except ValueError:
        return False
    return fields[0] != b"#"


def split_fields(line: bytes, number: int, width: int, look: Inspection) -> list[bytes] | None:
    """The fields of a line, or None with the reason reported; a ``#`` line is a comment unless it could be data."""
    fields = line.split()
    if line.lstrip().startswith(b"#"):
        if _may_be_data(fields, width):
            look.add("comment-or-data", number, line)
        else:
            look.count("comment", number, line)
        return None
    if len(fields) != width:
        slug = "too-few-fields" if len(fields) < width else "too-many-fields"
        look.add(slug, number, line, f"{len(fields)} where {width} are needed")
        return None
    return fields
