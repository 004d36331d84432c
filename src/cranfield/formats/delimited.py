"""The layout of plain CSV and TSV files: no quotes, no control characters, as many cells in every line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.formats.column_scan import OddTableError
from cranfield.formats.decimals import MARGIN
from cranfield.formats.text import BOM, LONGEST_LINE
from cranfield.types import Array

MARKS = b",\t;"
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
        end = data.find(b"\n", begin, begin + LONGEST_LINE)
        line = data[begin:end]
        returns = line.endswith(b"\r")
        line = line.removesuffix(b"\r")
        if end < 0 or b'"' in line or any(byte < 32 and byte != ord(mark) for byte in line):
            raise OddTableError
        try:
            names = tuple(name.strip() for name in line.decode("utf-8").split(mark))
        except UnicodeDecodeError:
            raise OddTableError from None
        if len(names) < 2 or len(set(names)) < len(names) or max(map(len, names)) > LONGEST_CELL:
            raise OddTableError
        return cls(ord(mark), names, end + 1, returns)

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
        return starts, ends

    def _check(self, block: Array, starts: Array, ends: Array) -> None:
        """Odd: quotes, control characters, endless lines and cells, text that is not UTF-8."""
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
        if np.count_nonzero(text < 32) != controls or (text == 34).any() or longest > LONGEST_LINE:
            raise OddTableError
        if longest > LONGEST_CELL and int((ends - starts).max()) > LONGEST_CELL:
            raise OddTableError
        if (text >= 128).any():
            text.tobytes().decode("utf-8")
