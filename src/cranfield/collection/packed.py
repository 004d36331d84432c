"""The packed collection: one file of flat arrays, mapped into memory when it is reopened.

Layout: the magic, the format's number, the header's length and checksum; the header (JSON: names, warnings, and for
each array its type, shape, place and CRC-32); then the arrays, each on a 64-byte boundary. The header and the file's
length are checked when the file is opened, an array's checksum before its first use.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.collection.collection import Collection
from cranfield.errors import InputError, PackedFileError
from cranfield.formats.problems import Problem
from cranfield.formats.text import atomic_write, show
from cranfield.types import Array

MAGIC = b"\x93CRANFIELD\r\n\x1a\n\x00\x00"
FORMAT = 1
_PREFIX = struct.Struct("<16sIIQ")  # magic, format, header checksum, header length
_BOUNDARY = 64
_HEADER = {"systems", "topics", "teams", "intent_names", "warnings", "arrays", "length"}


def is_packed(path: str | Path) -> bool:
    """Whether a file is a packed collection, by its first bytes."""
    if not os.path.isfile(path):  # a pipe can be read only once
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def save(collection: Collection, path: str | Path) -> None:
    """Write a collection; the file appears whole or not at all."""
    arrays = {name: np.ascontiguousarray(array) for name, array in collection.arrays.items()}
    places, end = _layout(arrays)
    header = {
        "systems": collection.systems,
        "topics": collection.topics,
        "teams": collection.teams,
        "intent_names": collection.intent_names,
        "warnings": [[p.slug, p.file, p.line, p.text, p.detail, p.count] for p in collection.warnings],
        "arrays": {
            name: [
                array.dtype.str,
                list(array.shape),
                places[name],
                zlib.crc32(array.data.cast("B") if array.size else b""),
            ]
            for name, array in arrays.items()
        },
        "length": end,
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    with atomic_write(path) as stream:
        stream.write(_PREFIX.pack(MAGIC, FORMAT, zlib.crc32(text), len(text)))
        stream.write(text)
        origin = _aligned(_PREFIX.size + len(text))
        for name, array in arrays.items():
            stream.write(b"\x00" * (origin + places[name] - stream.tell()))
            stream.write(array.data)


def _layout(arrays: Mapping[str, Array]) -> tuple[dict[str, int], int]:
    """Where each array goes, counted from the first boundary after the header, and where the last one ends."""
    places: dict[str, int] = {}
    end = 0
    for name, array in arrays.items():
        places[name] = _aligned(end)
        end = places[name] + array.nbytes
    return places, end


def _aligned(position: int) -> int:
    return -(-position // _BOUNDARY) * _BOUNDARY


def open_collection(path: str | Path) -> Collection:
    """Reopen a packed collection.

    Parameters
    ----------
    path
        A file that `cranfield.pack` or ``Collection.save`` has written.

    Returns
    -------
    Collection
        The collection; its arrays are mapped into memory when they are first used.

    Raises
    ------
    PackedFileError
        When the file is no packed collection, of a newer format, cut short, or altered.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> folder = tempfile.mkdtemp()
    >>> example = cf.write_example(folder, seed=1)
    >>> packed = cf.pack(folder + "/runs", qrels=folder + "/qrels.txt", out=folder + "/example.cran")
    >>> len(open_collection(folder + "/example.cran").systems)
    12
    """
    memory, file = _map(path), show(path)
    header, origin = _header(memory, file)
    return Collection(
        tuple(header["systems"]),
        tuple(header["topics"]),
        None if header["teams"] is None else tuple(header["teams"]),
        None if header["intent_names"] is None else tuple(tuple(names) for names in header["intent_names"]),
        _MappedArrays(memory, file, origin, header["arrays"]),
        _warnings(header["warnings"], file),
    )


def _warnings(rows: Any, file: str) -> tuple[Problem, ...]:
    try:
        return tuple(Problem(*row) for row in rows)
    except (KeyError, TypeError):
        raise PackedFileError("its warnings are of no known kind", where=file, fix="Pack it again.") from None


def _map(path: str | Path) -> mmap.mmap:
    try:
        with open(path, "rb") as stream:
            # Copy on write: arrays look like any other to compiled code, and the file cannot be changed.
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except ValueError:
        raise PackedFileError("the file is empty", where=show(path), fix="Pack the collection again.") from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", where=show(path), fix="Check the path.") from None


def _header(memory: mmap.mmap, file: str) -> tuple[dict[str, Any], int]:
    again = "Make it again with `pack()`."
    if memory[: len(MAGIC)] != MAGIC:
        raise PackedFileError("this is not a packed collection", where=file, fix=again)
    if len(memory) < _PREFIX.size:
        raise PackedFileError("the file is cut short", where=file, fix=again)
    _, number, checksum, length = _PREFIX.unpack(memory[: _PREFIX.size])
    if number < 1:
        raise PackedFileError(f"there is no format {number}", where=file, fix=again)
    if number > FORMAT:
        fix = "Update cranfield, or pack the collection again with this version."
        raise PackedFileError(f"format {number} is newer than this version knows ({FORMAT})", where=file, fix=fix)
    text = memory[_PREFIX.size : _PREFIX.size + length]
    if len(text) < length:
        raise PackedFileError("the file is cut short", where=file, fix=again)
    if zlib.crc32(text) != checksum:
        raise PackedFileError("the file was altered: its header does not match its checksum", where=file, fix=again)
    try:
        header: dict[str, Any] = json.loads(text)
        whole = set(header) >= _HEADER and isinstance(header["length"], int)
    except (ValueError, TypeError):
        whole = False
    if not whole:
        raise PackedFileError("its header is no header", where=file, fix=again)
    origin = _aligned(_PREFIX.size + length)
    if len(memory) != origin + header["length"]:
        what = "cut short" if len(memory) < origin + header["length"] else "longer than it was written"
        raise PackedFileError(f"the file is {what}", where=file, fix=again)
    return header, origin


class _MappedArrays(Mapping[str, Array]):
    """Arrays in a mapped file, each checked against its checksum before it is first handed out."""

    def __init__(self, memory: mmap.mmap, file: str, origin: int, table: Mapping[str, list[Any]]) -> None:
        self._memory, self._file, self._origin, self._table = memory, file, origin, table
        self._checked: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._checked:
            self._checked[name] = self._load(name)
        return self._checked[name]

    def _load(self, name: str) -> Array:
        kind, shape, place, checksum = self._table[name]
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(self._memory, np.dtype(kind), count, self._origin + place) if count else np.empty(0, kind)
        if zlib.crc32(array.data.cast("B") if count else b"") != checksum:
            what = f"the file was altered: «{name}» does not match its checksum"
            raise PackedFileError(what, where=self._file, fix="Make it again with `pack()`.")
        return array.reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """What goes to another machine is the arrays themselves; the file may not be there."""
        return dict, ({name: np.array(self[name]) for name in self},)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
