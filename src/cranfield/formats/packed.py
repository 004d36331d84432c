"""The packed file: a header and flat arrays in one file, each of them read when it is first used.

Layout: the magic, the format's number, the header's length and checksum; the header (JSON: names, warnings, and for
each array its type, shape, place and CRC-32); then the arrays, each on a 64-byte boundary. The header and the file's
length are checked when the file is opened, an array's checksum and contents before its first use. Format 1 holds a
collection; from format 2 on the header says what the file ``holds``, and an array without a checksum of its own is
checked in blocks by whoever reads it. Format 3 is a collection with fractional grades, which earlier versions do not
know; everything else is written in the format that they read.

A checksum guards against accidents, not against people: whoever makes up a file can compute it. What compiled loops
take for granted (places within arrays, codes below their number) is therefore checked too; and arrays are copies, not
maps of the file, since a map shows what others write to the file after it was checked, and a file that is cut short
under a map ends the process.
"""

from __future__ import annotations

import itertools
import json
import os
import struct
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from cranfield.errors import Caution, InputError, PackedFileError
from cranfield.formats.problems import KINDS, Problem
from cranfield.formats.text import atomic_write, in_utf8, show
from cranfield.types import Array

MAGIC = b"\x93CRANFIELD\r\n\x1a\n\x00\x00"
FORMAT = FRACTIONAL = 3
COLLECTION, SCORES = "collection", "scores"
AGAIN = "Make it again with `pack()`."
_FORMATS = {COLLECTION: 1, SCORES: 2}
_PREFIX = struct.Struct("<16sIIQ")  # magic, format, header checksum, header length
_BOUNDARY = 64
_LARGEST = 2**32 - 1  # checksum


def is_packed(path: str | Path) -> bool:
    """Whether a file is a packed file, by its first bytes."""
    return _first_bytes(path, len(MAGIC)) == MAGIC


def packed_kind(path: str | Path) -> str | None:
    """What a packed file holds, ``collection`` or ``scores``; None where it is no packed file.

    A file that is damaged, or of a newer format, is taken for a collection: opening it says what is wrong with it.
    """
    return kind_of_bytes(_first_bytes(path, _PREFIX.size), lambda length: _first_bytes(path, length))


def kind_of_bytes(data: Any, more: Callable[[int], bytes] | None = None) -> str | None:
    """The same of a file's bytes, or of the first of them if ``more`` has as many as it is asked for."""
    if data[: len(MAGIC)] != MAGIC:
        return None
    if len(data) < _PREFIX.size:
        return COLLECTION
    _, number, _, length = _PREFIX.unpack(data[: _PREFIX.size])
    if number < 2:
        return COLLECTION
    end = _PREFIX.size + length
    try:
        held = json.loads((data[:end] if more is None else more(end))[_PREFIX.size :])["holds"]
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
        return COLLECTION
    return held if isinstance(held, str) and held in _FORMATS else COLLECTION


def _first_bytes(path: str | Path, count: int) -> bytes:
    if not os.path.isfile(path):  # a pipe can be read only once
        return b""
    try:
        with open(path, "rb") as stream:
            return stream.read(min(count, os.path.getsize(path)))
    except OSError:
        return b""


# --- writing


@dataclass(frozen=True)
class Streamed:
    """An array that is written in parts as they come, without a checksum of its own."""

    kind: str
    shape: tuple[int, ...]
    parts: Iterable[Array]

    @property
    def size(self) -> int:
        return _bytes(self.kind, self.shape)


def write_packed(
    path: str | Path,
    holds: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array | Streamed],
    after: Callable[[], Mapping[str, Array]] = dict,
    *,
    number: int | None = None,
) -> None:
    """Write a packed file; it appears whole or not at all.

    ``after`` gives arrays that are known only when all others are written, such as the checksums of blocks; it is
    asked for them once before, for their shapes. ``number`` is the format, where it is not the usual one.
    """
    held = {name: each if isinstance(each, Streamed) else np.ascontiguousarray(each) for name, each in arrays.items()}
    late = after()
    whole: dict[str, Array | Streamed] = {**held, **late}
    places, end = _layout(whole)
    number = _FORMATS[holds] if number is None else number
    said = {**header, **({"holds": holds} if number > 1 else {})}

    def text(sums: Mapping[str, int | None]) -> bytes:
        table = {name: [*_type_of(each), places[name], sums[name]] for name, each in whole.items()}
        return in_utf8(json.dumps({**said, "arrays": table, "length": end}, ensure_ascii=False, separators=(",", ":")))

    sums: dict[str, int | None] = {
        name: None if isinstance(each, Streamed) else checksum(each) for name, each in whole.items()
    }
    width = len(text({**sums, **dict.fromkeys(late, _LARGEST)}))
    with atomic_write(path) as stream:
        _write_header(stream, number, text(sums), width)
        origin = _aligned(_PREFIX.size + width)
        written = _PREFIX.size + width
        for name, each in held.items():
            written += _pad(stream, origin + places[name] - written) + _write_array(stream, each, name)
        for name, array in after().items() if late else ():
            array = np.ascontiguousarray(array)
            sums[name] = checksum(array)
            written += _pad(stream, origin + places[name] - written) + _write_array(stream, array, name)
        if late:
            stream.seek(0)
            _write_header(stream, number, text(sums), width)


def _write_header(stream: IO[bytes], number: int, text: bytes, width: int) -> None:
    text = text.ljust(width)  # as many bytes, whatever the number of digits of the checksums
    stream.write(_PREFIX.pack(MAGIC, number, zlib.crc32(text), len(text)))
    stream.write(text)


def _write_array(stream: IO[bytes], array: Array | Streamed, name: str) -> int:
    written = 0
    for part in array.parts if isinstance(array, Streamed) else (array,):
        stream.write(part.data)
        written += part.nbytes
    size = array.size if isinstance(array, Streamed) else array.nbytes
    if written != size:
        raise InputError(f"the parts of «{name}» have {written:,} bytes in place of {size:,}", fix="Check their shape.")
    return written


def _pad(stream: IO[bytes], count: int) -> int:
    stream.write(b"\x00" * count)
    return count


def _type_of(array: Array | Streamed) -> tuple[str, list[int]]:
    if isinstance(array, Streamed):
        return array.kind, list(array.shape)
    return array.dtype.str, list(array.shape)


def _layout(arrays: Mapping[str, Array | Streamed]) -> tuple[dict[str, int], int]:
    """Where each array goes, counted from the first boundary after the header, and where the last one ends."""
    places: dict[str, int] = {}
    end = 0
    for name, array in arrays.items():
        places[name] = _aligned(end)
        end = places[name] + _bytes(*_type_of(array))
    return places, end


def _bytes(kind: str, shape: Iterable[int]) -> int:
    size = np.dtype(kind).itemsize
    for length in shape:
        size *= length
    return size


def _aligned(position: int) -> int:
    return -(-position // _BOUNDARY) * _BOUNDARY


def checksum(array: Array) -> int:
    """CRC-32 of an array's bytes."""
    return zlib.crc32(array.data.cast("B") if array.size else b"")


# --- opening


@dataclass(frozen=True, eq=False)
class PackedFile:
    """An open packed file: how messages name it, its header, and its arrays; ``stamp`` tells it from other files.

    ``verified`` are the blocks that were compared with their checksums.
    """

    file: str
    header: Mapping[str, Any]
    arrays: FileArrays
    stamp: int
    verified: set[tuple[int, int]] = field(default_factory=set)

    def place(self, name: str) -> int:
        """Where an array begins in the file."""
        return self.arrays.place(name)

    def damaged(self, what: str) -> PackedFileError:
        return PackedFileError(what, where=self.file, fix=AGAIN)


Check = Callable[[Array], str]
"""What is wrong with the contents of an array; empty where nothing is."""


def open_packed(path: str | Path, holds: str, keys: Iterable[str]) -> PackedFile:
    """Open a file that ``holds`` a collection or scores; its header has to have the ``keys``."""
    file, stream = show(path), _stream(path)
    try:
        size = os.fstat(stream.fileno()).st_size
        header, origin, stamp = _header(_beginning(stream, size), file, holds)
        if not set(header) >= {*keys, "arrays", "length"} or not _is_count(header["length"]):
            raise PackedFileError("its header is no header", where=file, fix=AGAIN)
        if size != origin + header["length"]:
            what = "cut short" if size < origin + header["length"] else "longer than it was written"
            raise PackedFileError(f"the file is {what}", where=file, fix=AGAIN)
        _check_table(header["arrays"], header["length"], file)
    except BaseException:
        stream.close()
        raise
    return PackedFile(file, header, FileArrays(stream, file, origin, header["arrays"]), stamp)


def _stream(path: str | Path) -> FileIO:
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError("this is no plain file", where=show(path), fix="Name a packed file.")
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", where=show(path), fix="Check the path.") from None


def _beginning(stream: FileIO, size: int) -> bytes:
    """The prefix and the header of a file, as far as they are there."""
    first: bytes = stream.read(_PREFIX.size)
    length = _PREFIX.unpack(first)[3] if len(first) == _PREFIX.size else 0
    return first + stream.read(min(length, size))


def read_into(path: str | Path, array: Array, place: int) -> None:
    """Fill an array from a place of a file."""
    try:
        with open(path, "rb", buffering=0) as stream:
            _fill(array, stream, place, show(path))
    except OSError as error:
        raise PackedFileError(f"it cannot be read: {error.strerror}", where=show(path), fix=AGAIN) from None


def _fill(array: Array, stream: FileIO, place: int, file: str) -> None:
    memory, done = array.data.cast("B") if array.size else memoryview(b""), 0
    stream.seek(place)
    while done < len(memory):
        count = stream.readinto(memory[done : done + (1 << 30)])
        if not count:
            raise PackedFileError("the file is cut short", where=file, fix=AGAIN)
        done += count


def _header(memory: bytes, file: str, holds: str) -> tuple[dict[str, Any], int, int]:
    """The header, where the arrays begin, and the header's checksum."""
    if not memory:
        raise PackedFileError("the file is empty", where=file, fix="Pack the collection again.")
    if memory[: len(MAGIC)] != MAGIC:
        raise PackedFileError("this is not a packed collection", where=file, fix=AGAIN)
    if len(memory) < _PREFIX.size:
        raise PackedFileError("the file is cut short", where=file, fix=AGAIN)
    _, number, stamp, length = _PREFIX.unpack(memory[: _PREFIX.size])
    if number < 1:
        raise PackedFileError(f"there is no format {number}", where=file, fix=AGAIN)
    if number > FORMAT:
        fix = "Update cranfield, or pack the collection again with this version."
        raise PackedFileError(f"format {number} is newer than this version knows ({FORMAT})", where=file, fix=fix)
    text = memory[_PREFIX.size : _PREFIX.size + length]
    if len(text) < length:
        raise PackedFileError("the file is cut short", where=file, fix=AGAIN)
    if zlib.crc32(text) != stamp:
        raise PackedFileError("the file was altered: its header does not match its checksum", where=file, fix=AGAIN)
    try:
        header: Any = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise PackedFileError("its header is no header", where=file, fix=AGAIN)
    found = COLLECTION if number == 1 else header.get("holds")
    if not isinstance(found, str) or found not in _FORMATS:
        raise PackedFileError("its header does not say what it holds", where=file, fix=AGAIN)
    if found != holds:
        fix = "Use `score()` to make scores of it." if holds == SCORES else "Give runs, or a packed collection."
        raise PackedFileError(f"this packed file holds {_named(found)}, not {_named(holds)}", where=file, fix=fix)
    return header, _aligned(_PREFIX.size + length), stamp


def _named(held: str) -> str:
    return "a collection" if held == COLLECTION else "scores"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _check_table(table: Any, length: int, file: str) -> None:
    """Refuse arrays of unknown types, of no shape, outside the file, or one over another."""
    if not isinstance(table, dict):
        raise PackedFileError("its header is no header", where=file, fix=AGAIN)
    spans = sorted((*_span(name, entry, length, file), name) for name, entry in table.items())
    for (_, end, name), (first, _, other) in itertools.pairwise(spans):
        if first < end:
            raise PackedFileError(f"its arrays «{name}» and «{other}» overlap", where=file, fix=AGAIN)


def _span(name: str, entry: Any, length: int, file: str) -> tuple[int, int]:
    """Where an array begins and ends."""
    try:
        kind, shape, place, total = entry
        known = isinstance(kind, str) and np.dtype(kind).kind in "biuf" and np.dtype(kind).str == kind != ""
    except (TypeError, ValueError):
        known = False
    if not known or kind[0] not in "<|":
        raise PackedFileError(f"its array «{name}» is of no known type", where=file, fix=AGAIN)
    if not isinstance(shape, list) or not all(map(_is_count, shape)):
        raise PackedFileError(f"its array «{name}» has no shape", where=file, fix=AGAIN)
    if not _is_count(place) or place % _BOUNDARY or not (total is None or (_is_count(total) and total <= _LARGEST)):
        raise PackedFileError(f"its array «{name}» has no place or no checksum", where=file, fix=AGAIN)
    end = place + _bytes(kind, shape)
    if end > length:
        raise PackedFileError(f"its array «{name}» lies outside the file", where=file, fix=AGAIN)
    return place, end


class FileArrays(Mapping[str, Array]):
    """Arrays in a file, each checked before it is first handed out: its checksum, and its contents by ``checks``.

    The file stays open, so that it can be replaced meanwhile.
    """

    def __init__(self, stream: FileIO, file: str, origin: int, table: Mapping[str, list[Any]]) -> None:
        self._stream, self._file, self._origin, self._table = stream, file, origin, table
        self._checked: dict[str, Array] = {}
        self._alone = threading.Lock()  # the stream has one position
        self.checks: Mapping[str, Check] = {}
        weakref.finalize(self, stream.close)

    def type_of(self, name: str) -> tuple[str, tuple[int, ...]] | None:
        """The type and the shape of an array that is not looked at; None where there is none of that name."""
        return (self._table[name][0], tuple(self._table[name][1])) if name in self._table else None

    def place(self, name: str) -> int:
        return self._origin + int(self._table[name][2])

    def __getitem__(self, name: str) -> Array:
        if name not in self._checked:
            self._checked[name] = self._load(name)
        return self._checked[name]

    def _load(self, name: str) -> Array:
        kind, shape, _, total = self._table[name]
        array = np.empty(shape, kind)
        try:
            with self._alone:
                _fill(array, self._stream, self.place(name), self._file)
        except OSError as error:
            what = f"it cannot be read: {error.strerror}"
            raise PackedFileError(what, where=self._file, fix="Check the disk.") from None
        if checksum(array) != total:
            what = f"the file was altered: «{name}» does not match its checksum"
            raise PackedFileError(what, where=self._file, fix=AGAIN)
        if wrong := self.checks[name](array) if name in self.checks else "":
            raise PackedFileError(f"it cannot be: {wrong} («{name}»)", where=self._file, fix=AGAIN)
        return array

    def __reduce__(self) -> tuple[Any, ...]:
        """What goes to another machine is the arrays themselves; the file may not be there."""
        return dict, ({name: np.array(self[name]) for name in self},)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


# --- warnings


def plain_warnings(warnings: Iterable[Caution]) -> list[list[Any]]:
    """Warnings as a header has them."""
    return [
        [each.slug, each.file, each.line, each.text, each.detail, each.count]
        if isinstance(each, Problem)
        else [each.slug, each.what, each.fix]
        for each in warnings
    ]


def restored_warnings(rows: Any, file: str) -> tuple[Caution, ...]:
    """The warnings of a header."""
    try:
        return tuple(_warning(row) for row in rows)
    except (KeyError, TypeError, ValueError):
        raise PackedFileError("its warnings are of no known kind", where=file, fix="Pack it again.") from None


def _warning(row: Any) -> Caution:
    types = (str, str, str) if len(row) == 3 else (str, str, int, str, str, int)
    if not isinstance(row, list) or len(row) != len(types) or not all(map(isinstance, row, types)):
        raise TypeError
    return Caution(*row) if len(row) == 3 else Problem(*_known(row))


def _known(row: list[Any]) -> list[Any]:
    KINDS[row[0]]  # a KeyError for a kind of problem that there is not
    return row
