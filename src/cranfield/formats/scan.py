"""The compiled reader of run files: one pass over the bytes of a clean file, document ids coded as they are met.

It reads what nobody needs to be told about. Whatever is odd (a wrong number of fields, a ``#`` line, a score that is
not a plain decimal) makes it give up on the file, and the careful reader takes over and says why.
"""

from __future__ import annotations

import math

import numpy as np

from cranfield.formats.coded import CodedRun
from cranfield.formats.runs import Order, parse_number
from cranfield.formats.text import BOM, LONGEST_LINE
from cranfield.types import Array

# What the scanner answers.
CLEAN, ODD, WIDE = range(3)
# Slots of its state array.
LINES, LISTS, DOCUMENTS, LONGEST, SLOW, HIGH_BYTES, TAG_START, TAG_END = range(8)

_WIDEST = 32  # machine words; an id that needs more is left to the careful reader
_POWERS = np.array([10.0**exponent for exponent in range(23)])  # every one exact in double precision


class Scanner:
    """Reads run files one after the other, keeping one vocabulary of document ids for all of them.

    An id is a few machine words, its first byte the highest and zeros (which no id contains) after its last: they
    compare as the bytes do, eight at a time.
    """

    def __init__(self) -> None:
        self._stride = 1
        self._table: Array = np.zeros(1 << 16, np.int32)
        self._vocabulary: Array = np.empty(0, np.uint64)
        self._state: Array = np.zeros(8, np.int64)

    def scan(self, data: bytes, file: str, order: Order = Order.SCORE, *, with_ranks: bool = False) -> CodedRun | None:
        """The run in ``data``, or None when the careful reader has to look at it."""
        data = data.removeprefix(BOM)
        if b"\x00" in data[:4096]:
            return None
        buffer = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        ends = np.flatnonzero(buffer == 10)
        lines = len(ends)
        if np.diff(ends, prepend=-1).max() > LONGEST_LINE + 1:
            return None
        keys, ranks = np.empty(lines), np.empty(lines if with_ranks else 0)
        edges, slow = np.empty((3, lines), np.int64), np.empty((lines + len(ranks), 4), np.int64)
        field, sign = (4, 1.0) if order is not Order.RANK else (3, -1.0)
        words = self._split(buffer, lines, field, sign, keys, ranks, edges, slow)
        if words is None or self._state[LINES] == 0 or not self._finish(data, field, sign, keys, ranks, slow):
            return None
        return self._result(data, file, self._coded(words), keys, ranks, edges)

    def width(self) -> int:
        return max(1, int(self._state[LONGEST]))

    def padded(self, width: int) -> Array:
        return self._rows().astype(">u8").view(f"S{8 * self._stride}").ravel().astype(f"S{width}")

    def ids(self) -> list[bytes]:
        found: list[bytes] = self.padded(self.width()).tolist()
        return found

    def _split(
        self, buffer: Array, lines: int, field: int, sign: float, keys: Array, ranks: Array, edges: Array, slow: Array
    ) -> Array | None:
        """The documents of all lines as words, everything else where it belongs; None when something is odd."""
        from cranfield.formats.scan_kernels import scan_lines

        while True:
            words = np.empty(lines * self._stride, np.uint64)
            answer = scan_lines(
                buffer, len(buffer), field, sign, _POWERS, self._stride, words, keys, ranks, *edges, slow, self._state
            )
            if answer != WIDE:
                return words if answer == CLEAN else None
            if self._stride == _WIDEST:
                return None
            self._widen()

    def _coded(self, words: Array) -> Array:
        from cranfield.formats.scan_kernels import enter

        lines = int(self._state[LINES])
        self._make_room(lines)
        codes = np.empty(lines, np.int32)
        enter(lines, self._stride, words, self._vocabulary, self._table, codes, self._state)
        return codes

    def _rows(self) -> Array:
        documents = int(self._state[DOCUMENTS])
        return self._vocabulary[: documents * self._stride].reshape(documents, self._stride)

    def _widen(self) -> None:
        """Twice the words for every id."""
        rows = self._rows()
        self._vocabulary = np.concatenate([rows, np.zeros_like(rows)], axis=1).ravel()
        self._stride *= 2
        self._rehash(len(self._table))

    def _make_room(self, lines: int) -> None:
        """Room for the worst case, every line a new document, so that the loop never has to stop and grow."""
        documents = int(self._state[DOCUMENTS])
        if len(self._vocabulary) < (documents + lines) * self._stride:
            grown = np.empty((documents + 2 * lines) * self._stride, np.uint64)
            grown[: documents * self._stride] = self._rows().ravel()
            self._vocabulary = grown
        capacity = len(self._table)
        while capacity < 2 * (documents + lines):
            capacity *= 2
        if capacity > len(self._table):
            self._rehash(capacity)

    def _rehash(self, capacity: int) -> None:
        from cranfield.formats.scan_kernels import rehash

        self._table = np.zeros(capacity, np.int32)
        rehash(int(self._state[DOCUMENTS]), self._stride, self._vocabulary, self._table)

    def _finish(self, data: bytes, field: int, sign: float, keys: Array, ranks: Array, slow: Array) -> bool:
        """Read the few numbers the scanner left to Python; False when a key is no finite number."""
        try:
            if self._state[HIGH_BYTES] >= 128:
                data.decode("utf-8")
        except ValueError:
            return False
        for line, start, end, position in slow[: int(self._state[SLOW])].tolist():
            value = parse_number(data[start:end])
            number = math.nan if value is None else value
            if position == field:
                keys[line] = sign * number
            else:
                ranks[line] = number
        return bool(np.isfinite(keys[: int(self._state[LINES])]).all())

    def _result(self, data: bytes, file: str, codes: Array, keys: Array, ranks: Array, edges: Array) -> CodedRun:
        lines, lists = int(self._state[LINES]), int(self._state[LISTS])
        spans = edges[1:, :lists].T.tolist()
        return CodedRun(
            file,
            (data[int(self._state[TAG_START]) : int(self._state[TAG_END])].decode(),),
            [data[start:end] for start, end in spans],
            np.append(edges[0, :lists], lines),
            codes,
            keys[:lines],
            ranks[:lines],
        )
