"""The layout of JSON lines that are flat and alike: the same keys in the same order, written with the same blanks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.formats.column_scan import OddTableError
from cranfield.formats.decimals import MARGIN, words_at
from cranfield.formats.text import BOM
from cranfield.types import Array

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
        end = data.find(b"\n", start, start + LONGEST)
        line = data[start:end] if end >= 0 else b""
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
        if not names or len(set(names)) < len(names) or rest.strip(b" ") != b"}" or not line.startswith(b"{"):
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
