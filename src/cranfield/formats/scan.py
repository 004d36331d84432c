"""The compiled reader of run files: one pass over the bytes of a clean file, document ids coded as they are met.

It reads what nobody needs to be told about. Whatever is odd (a wrong number of fields, a ``#`` line, a score that is
not a plain decimal) makes it give up on the file, and the careful reader takes over and says why.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.formats.coded import CodedRun
from cranfield.formats.runs import Order
from cranfield.formats.text import BOM, LONGEST_LINE

Array = npt.NDArray[Any]

# What the scanner answers.
CLEAN, ODD = 0, 1
# Slots of its state array.
LINES, LISTS, DOCUMENTS, BLOB_END, SLOW, HIGH_BYTES, TAG_START, TAG_END = range(8)

_POWERS = np.array([10.0**exponent for exponent in range(23)])  # every one exact in double precision
_HASH_START, _HASH_STEP = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


class Scanner:
    """Reads run files one after the other, keeping one vocabulary of document ids for all of them."""

    def __init__(self) -> None:
        self._table: Array = np.zeros(1 << 16, np.int64)
        self._starts: Array = np.zeros(1, np.int64)
        self._blob: Array = np.empty(0, np.uint8)
        self._state: Array = np.zeros(8, np.int64)

    def scan(self, data: bytes, file: str, order: Order = Order.SCORE) -> CodedRun | None:
        """The run in ``data``, or None when the careful reader has to look at it."""
        if b"\x00" in data[:4096]:
            return None
        data = data.removeprefix(BOM)
        buffer = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        ends = np.flatnonzero(buffer == 10)
        lines = len(ends)
        if np.diff(ends, prepend=-1).max() > LONGEST_LINE + 1:
            return None
        self._make_room(lines, len(data))
        codes, keys = np.empty(lines, np.int32), np.empty(lines, np.float64)
        edges, slow = np.empty((3, lines), np.int64), np.empty((lines, 3), np.int64)
        before = self._state.copy()
        field, sign = (4, 1.0) if order is Order.SCORE else (3, -1.0)
        from cranfield.formats.scan_kernels import scan_lines

        answer = scan_lines(
            buffer, len(buffer), field, sign, _POWERS, _HASH_START, _HASH_STEP,
            self._table, self._starts, self._blob, codes, keys, *edges, slow, self._state,
        )  # fmt: skip
        if answer == ODD or self._state[LINES] == 0 or not self._finish(data, keys, slow, sign):
            self._forget(before)
            return None
        return self._result(data, file, codes, keys, edges)

    def width(self) -> int:
        return int(np.diff(self._edges()).max(initial=1))

    def padded(self, width: int) -> Array:
        from cranfield.formats.scan_kernels import pad

        rows = np.zeros((len(self._edges()) - 1, width), np.uint8)
        pad(self._edges(), self._blob, rows)
        return rows.view(f"S{width}").ravel()

    def ids(self) -> list[bytes]:
        blob, edges = self._blob.tobytes(), self._edges().tolist()
        return [blob[start:end] for start, end in pairwise(edges)]

    def _edges(self) -> Array:
        return self._starts[: int(self._state[DOCUMENTS]) + 1]

    def _make_room(self, lines: int, size: int) -> None:
        """Room for the worst case, every line a new document, so that the scanner never has to stop and grow."""
        documents, blob_end = int(self._state[DOCUMENTS]), int(self._state[BLOB_END])
        if len(self._starts) < documents + lines + 1:
            self._starts = _grown(self._starts, documents + 1, documents + 2 * lines + 1)
        if len(self._blob) < blob_end + size:
            self._blob = _grown(self._blob, blob_end, 2 * blob_end + size)
        capacity = len(self._table)
        while capacity < 2 * (documents + lines):
            capacity *= 2
        if capacity > len(self._table):
            self._table = np.zeros(capacity, np.int64)
            from cranfield.formats.scan_kernels import rehash

            rehash(self._starts, self._blob, documents, _HASH_START, _HASH_STEP, self._table)

    def _finish(self, data: bytes, keys: Array, slow: Array, sign: float) -> bool:
        """Read the few scores the scanner left to Python; False when one of them is no finite number."""
        try:
            if self._state[HIGH_BYTES] >= 128:
                data.decode("utf-8")
            for line, start, end in slow[: int(self._state[SLOW])].tolist():
                raw = data[start:end]
                keys[line] = sign * float(raw if b"_" not in raw else b"odd")
        except ValueError:
            return False
        return bool(np.isfinite(keys[: int(self._state[LINES])]).all())

    def _forget(self, before: Array) -> None:
        """Undo what an odd file left in the table; its new documents are above the old count."""
        self._state[:] = before
        self._table[(self._table & 0xFFFFFFFF) > before[DOCUMENTS]] = 0

    def _result(self, data: bytes, file: str, codes: Array, keys: Array, edges: Array) -> CodedRun:
        lines, lists = int(self._state[LINES]), int(self._state[LISTS])
        spans = edges[1:, :lists].T.tolist()
        return CodedRun(
            file,
            (data[int(self._state[TAG_START]) : int(self._state[TAG_END])].decode(),),
            [data[start:end] for start, end in spans],
            np.append(edges[0, :lists], lines),
            codes[:lines],
            keys[:lines],
        )


def _grown(old: Array, used: int, capacity: int) -> Array:
    new = np.empty(capacity, old.dtype)
    new[:used] = old[:used]
    return new
