"""Standard output and standard error of the command: what happens where they do not take what is written.

Output that nobody reads ends the command, and output that cannot be written is an error; a message that cannot be
written is lost, and changes no exit code. What an encoding does not have is written in ASCII.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import unicodedata
from typing import Any, TextIO, cast

from cranfield.errors import WriteError

READER_GONE = 141
"""Exit code where the reader of the output has gone: what a shell says of a program that a broken pipe ended."""
_NO_ASCII = re.compile("[^\x00-\x7f]+")
_IN_ASCII = {"−": "-", "–": "-", "—": "-", "·": "*", "×": "x", "±": "+/-", "…": "...", "≤": "<=", "≥": ">=", "≈": "~"}
_IN_ASCII |= {"«": '"', "»": '"', "“": '"', "”": '"', "‘": "'", "’": "'", "²": "^2", "³": "^3", "ⁿ": "^n", "½": "1/2"}
_IN_ASCII |= {"√": "sqrt", "∞": "inf", "→": "->", "₀": "0", "₁": "1", "₂": "2"}
_GREEK = re.compile("GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)")


def in_ascii(text: str) -> str:
    r"""The text in ASCII, as a reader would type it; other characters as escapes.

    >>> in_ascii("a − b ± 0.02 (α = .05), «№»")
    'a - b +/- 0.02 (alpha = .05), "\\u2116"'
    """
    return "".join(map(_typed, text))


def _typed(mark: str) -> str:
    if mark.isascii() or mark in _IN_ASCII:
        return _IN_ASCII.get(mark, mark)
    if greek := _GREEK.fullmatch(unicodedata.name(mark, "")):
        return greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
    return mark.encode("ascii", "backslashreplace").decode("ascii")


def json_in_ascii(text: str) -> str:
    r"""JSON with escapes for all that is not ASCII: the same values.

    >>> json_in_ascii('["a − b"]')
    '["a \\u2212 b"]'
    """
    from json import dumps

    return _NO_ASCII.sub(lambda found: dumps(found[0])[1:-1], text)


def takes_all(stream: TextIO) -> bool:
    """Whether every character can be written to a stream."""
    return (getattr(stream, "encoding", None) or "utf8").lower().replace("-", "").startswith("utf")


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return in_ascii(error.object[error.start : error.end]), error.end


codecs.register_error("cranfield.in_ascii", _replace)


class _Raw(io.RawIOBase):
    """The bytes of a standard stream."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def fileno(self) -> int:
        return int(self._raw.fileno())


class _Output(_Raw):
    """Standard output: after the first failure nothing more is written, so that the end of the process stays quiet."""

    failed = False

    def write(self, data: Any) -> int:
        if self.failed:
            return len(data)
        try:
            return int(self._raw.write(data))
        except OSError as error:
            self.failed = True
            if isinstance(error, BrokenPipeError):
                raise SystemExit(READER_GONE) from None
            raise WriteError(f"the output could not be written: {error.strerror}") from None


class _Messages(_Raw):
    """Standard error: what cannot be written is lost."""

    def write(self, data: Any) -> int:
        try:
            return int(self._raw.write(data))
        except OSError:
            return len(data)


def settle_streams() -> None:
    """Let the standard streams of this process behave so; streams that stand in for them stay as they are."""
    if sys.stdout is sys.__stdout__:
        sys.stdout = _wrapped(sys.stdout, _Output)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _wrapped(sys.stderr, _Messages)


def _wrapped(stream: Any, kind: type[_Raw]) -> TextIO:
    if stream is None:  # it was closed: nothing else may take its place, and what is written there fails
        nowhere = io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")
        return io.TextIOWrapper(io.BufferedWriter(kind(nowhere)), encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return cast(TextIO, stream)
    return io.TextIOWrapper(
        io.BufferedWriter(kind(getattr(stream.buffer, "raw", stream.buffer))),
        encoding=stream.encoding,
        errors="cranfield.in_ascii",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
