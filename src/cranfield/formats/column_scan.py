"""Plain tables of text read by columns, a block of lines at a time: ids are coded, numbers parsed.

It reads what nobody needs to be told about. Whatever is odd (a separator within quotes, a wrong number of cells, a
blank line, a control character) makes it give up on the file, and a reader that goes line by line takes over and says
what it is. There is no compiler on this way: NumPy handles a block, which fits into the processor's cache, in about
fifty steps, and has read a file of 50 MB before a compiler would have been imported.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cranfield.formats.text import BOM, LONGEST_LINE
from cranfield.formats.text_blocks import MARGIN, CollisionError, IdCodes, parse_decimals, words_at
from cranfield.runtime.threads import spread
from cranfield.types import Array

BLOCK = 1 << 20  # bytes

ParseNumber = Callable[[Any], float | None]
"""The number that a value is: nan where there is none, None where it is something else."""


class OddTableError(Exception):
    """There is something in the table that another reader has to look at."""


class OddBlocksError(OddTableError):
    """Only some blocks have something odd in them: where each starts and ends and how many rows are before it.

    ``rows`` are the ids of all other blocks.
    """

    def __init__(self, blocks: Sequence[tuple[int, int, int]], rows: CodedRows) -> None:
        super().__init__()
        self.blocks, self.rows = blocks, rows


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
    cuts = _cuts(data, layout.start, _end(data, layout.start))
    if not cuts:
        raise OddTableError
    lines = np.array(spread(lambda cut: _count_lines(data[slice(*cut)]), cuts), np.int64)
    firsts = np.concatenate([[0], np.cumsum(lines)]).tolist()
    place = {name: at for at, name in enumerate(layout.names)}
    places = [place[name] for name in (*ids, *numbers)]
    scan = _Scan(data, layout, firsts[-1], places[: len(ids)], places[len(ids) :], number, optional)

    def is_plain(at: int) -> bool:
        try:
            scan.block(*cuts[at], firsts[at], firsts[at + 1])
        except (OddTableError, ValueError):  # among them text that is not UTF-8
            return False
        return True

    try:
        odd = [at for at, plain in enumerate(spread(is_plain, range(len(cuts)))) if not plain]
        if len(odd) == len(cuts):
            raise OddTableError
        if odd:
            raise OddBlocksError([(*cuts[at], firsts[at]) for at in odd], scan.ids_without(odd, firsts))
        return scan.result()
    except (CollisionError, ValueError):
        raise OddTableError from None


def _end(data: Any, start: int) -> int:
    """Where the last row ends, its line end included; empty lines after it do not matter."""
    end = len(data)
    while end > start + 1:
        last = data[max(start, end - BLOCK) : end]
        text = len(last.rstrip(b"\n"))
        end -= max(0, len(last) - text - 1)
        if text:
            break
    return end


def _cuts(data: Any, start: int, length: int) -> list[tuple[int, int]]:
    """Blocks of whole lines; the last may lack its line end."""
    cuts = []
    while start < length:
        end = start + BLOCK
        while end < length:
            found = data[end : end + 4096].find(b"\n")
            if found >= 0:
                end += found + 1
                break
            end += 4096
        cuts.append((start, min(end, length)))
        start = cuts[-1][1]
    return cuts


def _count_lines(block: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10)) + (not block.endswith(b"\n"))


@dataclass(eq=False)
class _Scan:
    """The columns of one table as they fill, block by block."""

    data: Any
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
        block[MARGIN : MARGIN + end - start] = np.frombuffer(self.data[start:end], np.uint8)
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

    def _columns(self) -> dict[str, CodedColumn]:
        return {
            self.layout.names[at]: CodedColumn(codes, self._texts(at, coder.ids))
            for at, codes, coder in zip(self.ids, self.codes, self.coders, strict=True)
        }

    def ids_without(self, odd: Sequence[int], firsts: Sequence[int]) -> CodedRows:
        """The ids of all blocks but some, and no numbers."""
        kept = np.ones(self.rows, bool)
        for at in odd:
            kept[firsts[at] : firsts[at + 1]] = False
        columns = {name: replace(column, codes=column.codes[kept]) for name, column in self._columns().items()}
        return CodedRows(columns, (), np.empty((int(kept.sum()), 0)))

    def result(self) -> CodedRows:
        names, columns = self.layout.names, self._columns()
        kept = [at for at, column in enumerate(self.numbers) if column not in self.texts]
        values = self.values if len(kept) == len(self.numbers) else self.values[:, kept]
        return CodedRows(columns, tuple(names[self.numbers[at]] for at in kept), values)


def _selection(places: list[int]) -> Any:
    """A slice where the places are side by side: that is cheaper to take."""
    together = places == list(range(places[0], places[-1] + 1))
    return slice(places[0], places[-1] + 1) if together else places


LONGEST_CELL = 131_072  # characters; Python's csv module refuses more


@dataclass(frozen=True)
class DelimitedLayout:
    """A separator, the names in the header, where the rows begin, and whether lines end in CR LF."""

    mark: int
    names: tuple[str, ...]
    start: int
    returns: bool

    @classmethod
    def of(cls, data: Any, mark: str) -> DelimitedLayout:
        """The layout of a table with ``mark`` between its cells; `OddTableError` unless its header is plain."""
        begin = len(BOM) if data[: len(BOM)] == BOM else 0
        line, ended, _ = data[begin : begin + LONGEST_LINE].partition(b"\n")
        start = begin + len(line) + 1
        returns = line.endswith(b"\r")
        line = line.removesuffix(b"\r")
        if not ended or line.count(b'"') % 2 or any(byte < 32 and byte != ord(mark) for byte in line):
            raise OddTableError
        try:
            names = tuple(name.strip() for name in next(csv.reader([line.decode("utf-8")], delimiter=mark), ()))
        except (UnicodeDecodeError, csv.Error):
            raise OddTableError from None
        if len(names) < 2 or len(set(names)) < len(names) or max(map(len, names)) > LONGEST_CELL:
            raise OddTableError
        return cls(ord(mark), names, start, returns)

    def is_bare(self, column: int) -> bool:
        return False

    def value(self, column: int, text: str) -> str:
        return text

    def cells(self, block: Array, lines: int) -> tuple[Array, Array]:
        """Where the cells of every line start and end; odd unless each line has as many as the header."""
        width = len(self.names)
        text = block[MARGIN:-MARGIN]
        edges = np.flatnonzero((text == 10) | (text == self.mark))
        edges += MARGIN
        if text[-1] != 10:  # the last line of the file
            edges = np.append(edges, len(block) - MARGIN)
        if len(edges) != lines * width:
            raise OddTableError
        ends = edges.reshape(lines, width)
        if (block[ends[:, -1]] != 10).any():  # these are all line ends there are, so that all other edges are marks
            raise OddTableError
        starts = np.empty_like(ends)
        starts[0, 0] = MARGIN
        starts.ravel()[1:] = edges[:-1] + 1
        self._check(block, starts, ends)
        if self.returns:
            ends[: lines - int(text[-1] != 10), -1] -= 1
        return self._unquoted(block, starts, ends)

    def _unquoted(self, block: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
        """Cells without the quotes around them; odd where there are other quotes, as in cells that hold a separator."""
        quotes = int(np.count_nonzero(block == 34))
        if not quotes:
            return starts, ends
        around = (block[starts] == 34) & (block[ends - 1] == 34) & (ends - starts > 1)
        if 2 * int(np.count_nonzero(around)) != quotes:
            raise OddTableError
        return starts + around, ends - around

    def _check(self, block: Array, starts: Array, ends: Array) -> None:
        """Odd: control characters, endless lines and cells, text that is not UTF-8."""
        text, lines = block[MARGIN:-MARGIN], len(ends)
        ended = lines - int(text[-1] != 10)
        controls = ended
        if self.mark < 32:
            controls += lines * (len(self.names) - 1)
        if self.returns:
            controls += ended
            if (block[ends[:ended, -1] - 1] != 13).any():
                raise OddTableError
        longest = int((ends[:, -1] - starts[:, 0]).max())
        if np.count_nonzero(text < 32) != controls or longest > LONGEST_LINE:
            raise OddTableError
        if longest > LONGEST_CELL and int((ends - starts).max()) > LONGEST_CELL:
            raise OddTableError
        if (text >= 128).any():
            text.tobytes().decode("utf-8")


LONGEST = 1 << 16  # bytes of the first line
_FIELD = re.compile(rb'([{,] *"([^"\\]+)" *: *)(?:"([^"\\]*)"|([^,{}\[\]" ]+))')


@dataclass(frozen=True)
class FlatJsonLayout:
    """Keys, and the bytes before each value: those of a string begin and end with its quotes.

    ``quoted`` says which values are strings; ``tail`` follows the last value.
    """

    names: tuple[str, ...]
    before: tuple[bytes, ...]
    quoted: tuple[bool, ...]
    tail: bytes
    start: int

    @classmethod
    def of(cls, data: Any) -> FlatJsonLayout:
        """The layout of the first line; `OddTableError` where it is not flat."""
        start = len(BOM) if data[: len(BOM)] == BOM else 0
        line, ended, _ = data[start : start + LONGEST].partition(b"\n")
        names, before, quoted, at = [], [], [], 0
        closing = b""  # the quote of the value before
        while match := _FIELD.match(line, at):
            is_text = match[3] is not None
            names.append(match[2])
            before.append(closing + match[1] + (b'"' if is_text else b""))
            quoted.append(is_text)
            closing = b'"' if is_text else b""
            at = match.end()
        rest = line[at:]
        if not ended or not names or len(set(names)) < len(names):
            raise OddTableError
        if rest.strip(b" ") != b"}" or not line.startswith(b"{"):
            raise OddTableError
        try:
            keys = tuple(json.loads(line))  # which also says whether it is JSON at all
        except ValueError:
            raise OddTableError from None
        return cls(keys, tuple(before), tuple(quoted), closing + rest, start)

    def is_bare(self, column: int) -> bool:
        return not self.quoted[column]

    def value(self, column: int, text: str) -> Any:
        """A string as it is; of anything else what JSON makes of it, unless that has parts."""
        if self.quoted[column]:
            return text
        found = json.loads(text)
        if isinstance(found, (dict, list, str)):
            raise OddTableError
        return found

    def cells(self, block: Array, lines: int) -> tuple[Array, Array]:
        """Where the values of every line start and end; odd unless everything between them is as in the first line."""
        text = block[MARGIN:-MARGIN]
        edges = np.flatnonzero(text == 10) + MARGIN
        if text[-1] != 10:  # the last line of the file
            edges = np.append(edges, len(block) - MARGIN)
        quotes = np.flatnonzero(text == 34) + MARGIN
        if np.count_nonzero(text < 32) != lines - int(text[-1] != 10) or (text == 92).any():
            raise OddTableError
        if len(quotes) != lines * (2 * len(self.names) + 2 * sum(self.quoted)):
            raise OddTableError
        if (text >= 128).any():
            text.tobytes().decode("utf-8")
        return self._values(block, np.append(MARGIN, edges[:-1] + 1), quotes.reshape(lines, -1), edges)

    def _values(self, block: Array, begins: Array, quotes: Array, edges: Array) -> tuple[Array, Array]:
        words, columns = words_at(block), len(self.names)
        starts, ends = (np.empty((columns, len(edges)), np.int64).T for _ in range(2))
        closed, at = begins, 0  # where what is before the next value begins, if that is known; and how many quotes
        for column, (before, quoted) in enumerate(zip(self.before, self.quoted, strict=True)):
            colon = len(before) - before.rindex(b'"', 0, len(before) - 1 if quoted else None)
            starts[:, column] = quotes[:, at + 2] + 1 if quoted else quotes[:, at + 1] + colon
            here = starts[:, column] - len(before)
            self._compare(words, here, before)
            if column and not self.quoted[column - 1]:
                ends[:, column - 1] = here
            elif (here != closed).any():
                raise OddTableError
            at += 4 if quoted else 2
            if quoted:
                closed = ends[:, column] = quotes[:, at - 1]
        here = edges - len(self.tail)
        self._compare(words, here, self.tail)
        if not self.quoted[-1]:
            ends[:, -1] = here
        elif (here != closed).any():
            raise OddTableError
        if (ends < starts).any():
            raise OddTableError
        return starts, ends

    def _compare(self, words: Array, places: Array, expected: bytes) -> None:
        """Odd unless these bytes are in all these places."""
        if int(places.min()) < 0:
            raise OddTableError
        for at in range(0, len(expected), 8):
            part = expected[at : at + 8]
            kept = np.uint64((1 << 8 * len(part)) - 1)
            if ((words[places + at] & kept) != int.from_bytes(part, "little")).any():
                raise OddTableError
