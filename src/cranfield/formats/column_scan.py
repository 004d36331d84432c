"""Plain tables of text read by columns, a block of lines at a time: ids are coded, numbers parsed.

It reads what nobody needs to be told about. Whatever is odd (a separator within quotes, a wrong number of cells, a
blank line, a control character) makes it give up on the file, and a reader that goes line by line takes over and says
what it is. There is no compiler on this way: NumPy handles a block, which fits into the processor's cache, in about
fifty steps, and has read a file of 50 MB before a compiler would have been imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cranfield.formats.decimals import MARGIN, parse_decimals
from cranfield.formats.id_codes import CollisionError, IdCodes
from cranfield.runtime.threads import spread
from cranfield.types import Array

BLOCK = 1 << 20  # bytes

ParseNumber = Callable[[Any], float | None]
"""The number that a value is: nan where there is none, None where it is something else."""


class OddTableError(Exception):
    """There is something in the table that another reader has to look at."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One code per row, and the texts that the codes stand for; two codes may stand for the same text."""

    codes: Array
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows by columns: ids as codes by the name of their column; numbers, nan for nothing, as rows × ``columns``."""

    ids: Mapping[str, CodedColumn]
    columns: tuple[str, ...]
    numbers: Array


class Layout(Protocol):
    """How the lines of a table are written."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...

    @property
    def start(self) -> int:
        """Where its rows begin."""
        ...

    def cells(self, block: Array, lines: int) -> tuple[Array, Array]:
        """Where the cells of every line start and end, lines × columns; `OddTableError` where a line differs."""
        ...

    def is_bare(self, column: int) -> bool:
        """Whether cells of a column have the syntax of JSON, and not that of text."""
        ...

    def value(self, column: int, text: str) -> Any:
        """What the text of a cell is."""
        ...


def scan_columns(
    data: Any,
    layout: Layout,
    *,
    ids: Sequence[str],
    numbers: Sequence[str],
    number: ParseNumber,
    optional: bool = False,
) -> CodedRows:
    """The columns named, of everything after the header.

    ``optional``: a column of ``numbers`` with something else in it is left out; otherwise that is odd.
    """
    buffer = np.frombuffer(data, np.uint8)
    buffer = buffer[: _end(buffer, layout.start)]
    cuts = _cuts(buffer, layout.start)
    if not cuts:
        raise OddTableError
    lines = np.array(spread(lambda cut: _count_lines(buffer, *cut), cuts), np.int64)
    firsts = np.concatenate([[0], np.cumsum(lines)]).tolist()
    places = [layout.names.index(name) for name in (*ids, *numbers)]
    scan = _Scan(buffer, layout, firsts[-1], places[: len(ids)], places[len(ids) :], number, optional)
    try:
        spread(lambda at: scan.block(*cuts[at], firsts[at], firsts[at + 1]), range(len(cuts)))
        return scan.result()
    except (CollisionError, ValueError):  # among them text that is not UTF-8
        raise OddTableError from None


def _end(buffer: Array, start: int) -> int:
    """Where the last row ends, its line end included; empty lines after it do not matter."""
    end = len(buffer)
    while end > start + 1 and buffer[end - 1] == 10 == buffer[end - 2]:
        end -= 1
    return end


def _cuts(buffer: Array, start: int) -> list[tuple[int, int]]:
    """Blocks of whole lines; the last may lack its line end."""
    cuts, length = [], len(buffer)
    while start < length:
        end = start + BLOCK
        while end < length:
            ends = np.flatnonzero(buffer[end : end + 4096] == 10)
            if len(ends):
                end += int(ends[0]) + 1
                break
            end += 4096
        cuts.append((start, min(end, length)))
        start = cuts[-1][1]
    return cuts


def _count_lines(buffer: Array, start: int, end: int) -> int:
    return int(np.count_nonzero(buffer[start:end] == 10)) + int(buffer[end - 1] != 10)


@dataclass(eq=False)
class _Scan:
    """The columns of one table as they fill, block by block."""

    buffer: Array
    layout: Layout
    rows: int
    ids: Sequence[int]
    numbers: Sequence[int]
    number: ParseNumber
    optional: bool
    texts: set[int] = field(default_factory=set)  # columns of numbers that have something else in them

    def __post_init__(self) -> None:
        self.coders = [IdCodes() for _ in self.ids]
        self.codes = [np.empty(self.rows, np.int32) for _ in self.ids]
        self.values = np.empty((self.rows, len(self.numbers)))
        bare = [self.layout.is_bare(at) for at in self.numbers]
        self.groups = [
            (strict, [at for at, mine in enumerate(bare) if mine is strict]) for strict in (False, True)
        ]  # numbers of the same syntax are parsed together
        read = {*self.ids, *self.numbers}
        self.unread = [at for at in range(len(self.layout.names)) if self.layout.is_bare(at) and at not in read]

    def block(self, start: int, end: int, first: int, last: int) -> None:
        """Fill rows ``first`` to ``last`` with what is between two places of the file."""
        block = np.full(end - start + 2 * MARGIN, 10, np.uint8)
        block[MARGIN : MARGIN + end - start] = self.buffer[start:end]
        starts, ends = self.layout.cells(block, last - first)
        for coder, codes, at in zip(self.coders, self.codes, self.ids, strict=True):
            codes[first:last] = coder.code(block, starts[:, at], ends[:, at])
        for strict, group in self.groups:
            if group:
                places = _selection([self.numbers[at] for at in group])
                begin, stop = starts[:, places].ravel(), ends[:, places].ravel()
                values, doubtful = parse_decimals(block, begin, stop, strict=strict)
                for at in np.flatnonzero(doubtful).tolist():
                    text = block[begin[at] : stop[at]].tobytes()
                    values[at] = self._asked(self.numbers[group[at % len(group)]], text)
                self.values[first:last, _selection(group)] = values.reshape(last - first, len(group))
        for at in self.unread:
            self._verify(at, block, starts[:, at], ends[:, at])

    def _verify(self, column: int, block: Array, starts: Array, ends: Array) -> None:
        """Nobody asks for these values; they must be valid all the same."""
        _, doubtful = parse_decimals(block, starts, ends, strict=True)
        for start, end in zip(starts[doubtful].tolist(), ends[doubtful].tolist(), strict=True):
            self.layout.value(column, block[start:end].tobytes().decode("utf-8"))

    def _asked(self, column: int, raw: bytes) -> float:
        """The number in a cell that is not a plain decimal; whatever else it is, it must be valid."""
        if column in self.texts and not self.layout.is_bare(column):
            return np.nan
        found = self.number(self.layout.value(column, raw.decode("utf-8")))
        if found is None:
            if not self.optional:
                raise OddTableError
            self.texts.add(column)
            return np.nan
        return found

    def _texts(self, column: int, ids: list[bytes]) -> list[str]:
        texts = b"\n".join(ids).decode("utf-8").split("\n")  # no id contains a line end
        if not self.layout.is_bare(column):
            return texts
        values = [self.layout.value(column, text) for text in texts]
        if None in values:
            raise OddTableError
        return list(map(str, values))

    def result(self) -> CodedRows:
        names = self.layout.names
        columns = {
            names[at]: CodedColumn(codes, self._texts(at, coder.ids))
            for at, codes, coder in zip(self.ids, self.codes, self.coders, strict=True)
        }
        kept = [at for at, column in enumerate(self.numbers) if column not in self.texts]
        values = self.values if len(kept) == len(self.numbers) else self.values[:, kept]
        return CodedRows(columns, tuple(names[self.numbers[at]] for at in kept), values)


def _selection(places: list[int]) -> Any:
    """A slice where the places are side by side: that is cheaper to take."""
    together = places == list(range(places[0], places[-1] + 1))
    return slice(places[0], places[-1] + 1) if together else places
