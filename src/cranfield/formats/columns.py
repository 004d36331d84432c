"""Lines of fields as arrays: where every field is, names as machine words, numbers as numbers, a block at a time.

Everything here is a few passes of NumPy over the bytes of a block. It answers before a compiler could be imported, and
does nothing about what is odd: the careful reader does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.formats.runs import parse_numbers
from cranfield.formats.text import LONGEST_LINE
from cranfield.formats.text_blocks import MARGIN, parse_decimals
from cranfield.types import Array

BLOCK = 2_500_000  # bytes: arrays of its fields stay in the cache; several times the longest line

_MASKS = np.array([(1 << 64) - (1 << 8 * (8 - size)) for size in range(9)], np.uint64)  # the first bytes of a word
_MOST_DIGITS = 24  # of a whole number; what is longer is left to the careful reader


def blocks(data: bytes) -> Iterator[Array]:
    """Whole lines, about ``BLOCK`` bytes at a time, a line end after the last, and a margin of zeros around them."""
    at = 0
    while at < len(data):
        end = len(data) if at + BLOCK >= len(data) else data.rfind(b"\n", at, at + BLOCK) + 1
        end = end or len(data)  # a line far too long, which is found by whoever looks at the lines
        raw = np.zeros(end - at + 1 + 2 * MARGIN, np.uint8)
        raw[MARGIN : MARGIN + end - at] = np.frombuffer(data, np.uint8, end - at, at)
        raw[MARGIN + end - at] = 10
        yield raw
        at = end


@dataclass(frozen=True, eq=False)
class Fields:
    """Lines × fields: where each starts in the padded bytes ``raw``, and its size in bytes."""

    raw: Array
    start: Array
    size: Array

    @cached_property
    def _words(self) -> Array:
        """The eight bytes from every place on."""
        return np.ndarray((len(self.raw) - 7,), ">u8", self.raw, strides=(1,))

    def names(self, field: int, words: int) -> Array:
        """A column as words × lines: the first byte the highest, zeros (which no name has) after the last."""
        start, size = self.start[:, field], self.size[:, field]
        found = np.empty((words, len(start)), np.uint64)
        for word in range(words):
            at = start if not word else np.minimum(start + 8 * word, len(self.raw) - 8)
            found[word] = self._words[at]
            found[word] &= _MASKS[np.clip(size - 8 * word, 0, 8)]
        return found

    def text(self, line: int, field: int) -> bytes:
        at = int(self.start[line, field])
        return self.raw[at : at + int(self.size[line, field])].tobytes()

    def numbers(self, field: int) -> Array:
        """A column as numbers; nan where there is none. Correctly rounded, as Python has them."""
        start, size = self.start[:, field], self.size[:, field]
        parsed, doubtful = parse_decimals(self.raw, start, start + size)
        left = np.flatnonzero(doubtful)
        if len(left):
            text, places = self.raw.tobytes(), zip(start[left].tolist(), size[left].tolist(), strict=True)
            parsed[left] = parse_numbers([text[at : at + length] for at, length in places])
        return parsed

    def is_digits(self, field: int) -> bool:
        """Whether every field of a column is a sign or none, and digits."""
        start, size = self.start[:, field], self.size[:, field]
        first = self.raw[start]
        signed = (first == 43) | (first == 45)
        at, left = start + signed, size - signed
        widest = int(left.max())
        if widest > _MOST_DIGITS or left.min() == 0:
            return False
        return all(((self.raw[at + place] - np.uint8(48) < 10) | (left <= place)).all() for place in range(widest))


def find_fields(raw: Array, width: int) -> Fields | None:
    """The fields of every line of a block that has any; None unless every such line has ``width`` of them.

    None as well for a line that is too long, starts with ``#``, or has control characters.
    """
    text = raw[MARGIN:-MARGIN]
    if len(text) > 1 and text[-2] == 10:  # the last line has an end of its own
        text = text[:-1]
    blank = np.flatnonzero(text <= 32).astype(np.int32)
    marks = text[blank]
    if ((marks < 9) | (marks - np.uint8(14) < 18)).any():  # which bytes.split takes for parts of a field
        return None
    found = _single_blanks(blank, marks, width) or _any_blanks(blank, marks, width)
    if found is None:
        return None
    start, size = found
    start += MARGIN
    return None if (raw[start[:, 0]] == 35).any() else Fields(raw, start, size)


def _single_blanks(blank: Array, marks: Array, width: int) -> tuple[Array, Array] | None:
    """The usual: one blank between fields, and none elsewhere."""
    lines = len(blank) // width
    if not lines or len(blank) != lines * width:
        return None
    newlines = marks == 10
    if np.count_nonzero(newlines) != lines or not newlines[width - 1 :: width].all():
        return None
    start = np.empty_like(blank)
    start[0] = 0
    np.add(blank[:-1], 1, out=start[1:])
    size = blank - start
    if size.min() < 1 or (blank[width - 1 :: width] - start[::width]).max() > LONGEST_LINE:
        return None
    return start.reshape(lines, width), size.reshape(lines, width)


def _any_blanks(blank: Array, marks: Array, width: int) -> tuple[Array, Array] | None:
    """Any number of blanks anywhere, and blank lines."""
    before = np.concatenate([[np.int32(-1)], blank])
    gaps = np.diff(before)
    newlines = blank[marks == 10]
    if np.diff(newlines, prepend=-1).max() > LONGEST_LINE + 1:
        return None
    start, end = before[:-1][gaps > 1] + 1, blank[gaps > 1]
    lines = len(start) // width
    if not lines or len(start) != lines * width:
        return None
    # After a line end, the number of fields that have begun is that of whole lines, and of every number of them.
    begun = np.searchsorted(start, newlines)
    if (begun % width).any() or np.count_nonzero(np.diff(begun, prepend=0)) != lines:
        return None
    start, end = start.reshape(lines, width), end.reshape(lines, width)
    return start, end - start
