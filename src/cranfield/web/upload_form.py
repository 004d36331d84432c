"""A form with files, unpacked and written to disk as it comes: memory holds one piece of it."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from cranfield.formats.text import GZIP_MAGIC
from cranfield.web.guard import BodyError

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


PIECE = 1 << 20  # at most so much is unpacked before it is counted
LONGEST_NAME = 100


@dataclass
class ByteLimit:
    """How many bytes may still be written."""

    most: int
    left: int

    @classmethod
    def of(cls, most: int) -> ByteLimit:
        return cls(most, most)

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise BodyError(413, f"unpacked, the files are more than {self.most / 1e6:,.0f} MB")


class Unpacked:
    """A file being written; gzip is recognised by its first bytes, whatever the name says."""

    def __init__(self, path: Path, budget: ByteLimit) -> None:
        self.path, self._budget = path, budget
        self._stream: IO[bytes] = open(path, "xb")  # noqa: SIM115 - it comes in pieces
        self._head = b""
        self._gzip: zlib._Decompress | None = None
        self._decided = False
        self._first = b""  # of what is written

    def write(self, data: bytes) -> None:
        if not self._decided:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head, self._decided = self._head, b"", True
            self._gzip = zlib.decompressobj(31) if data[:2] == GZIP_MAGIC else None
        if self._gzip is None:
            self._put(data)
        else:
            self._unpack(data)

    def _unpack(self, data: bytes) -> None:
        assert self._gzip is not None
        while data:
            if self._gzip.eof:  # another file behind the first, as cat makes them; padding is skipped
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._gzip = zlib.decompressobj(31)
            try:
                self._put(self._gzip.decompress(data, PIECE))
            except zlib.error as error:
                raise BodyError(400, f"{self.path.name}: the gzip file is damaged: {error}") from None
            data = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail

    def _put(self, data: bytes) -> None:
        self._budget.take(len(data))
        if len(self._first) < 2:
            self._first += data[:2]
            if self._gzip is not None and self._first[:2] == GZIP_MAGIC:
                raise BodyError(400, f"{self.path.name}: there is gzip within gzip")
        self._stream.write(data)

    def close(self) -> None:
        if not self._decided and self._head:  # a file of one byte
            self._put(self._head)
        self._stream.close()
        if self._gzip is not None and not self._gzip.eof:
            raise BodyError(400, f"{self.path.name}: the gzip file is cut short")

    def abandon(self) -> None:
        self._stream.close()


def safe_name(name: str, taken: set[str]) -> str:
    r"""A file's name without its folders and without anything that means something to a shell, a page or a path.

    >>> safe_name("../../etc/pass<b>wd", set()), safe_name("C:\\runs\\a.txt", {"a.txt"}), safe_name("..", set())
    ('pass_b_wd', '2-a.txt', 'file')
    """
    base = re.split(r"[/\\]", name)[-1].removesuffix(".gz")
    base = re.sub(r"[^\w.+@,=-]", "_", base, flags=re.ASCII).lstrip(".-=+@")[-LONGEST_NAME:] or "file"
    unique, number = base, 1
    while unique.lower() in taken:
        number += 1
        unique = f"{number}-{base}"
    taken.add(unique.lower())
    return unique


MOST_FIELDS = 20
LONGEST_FIELD = 1_000_000  # bytes
LONGEST_HEADER = 10_000


@dataclass
class Received:
    """What was in a form: the fields, and the files under the names they were stored by."""

    fields: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    bytes: int = 0


async def receive(
    content_type: str, stream: AsyncIterator[bytes], folder: Path, *, max_files: int, max_unpacked: int
) -> Received:
    """Write the files of a multipart body into ``folder``."""
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise BodyError(400, "this is no form with files: it should be multipart/form-data")
    form = _Form(folder, max_files, ByteLimit.of(max_unpacked))
    try:
        parser = MultipartParser(options[b"boundary"], form.callbacks())
        async for piece in stream:
            await run_in_threadpool(parser.write, piece)  # unpacking must not keep others waiting
        parser.finalize()
        form.check_end()
    except FormParserError as error:
        raise BodyError(400, f"the form is malformed: {error}") from None
    finally:
        form.abandon()
    return form.received


class _Form:
    def __init__(self, folder: Path, max_files: int, budget: ByteLimit) -> None:
        self._folder, self._most, self._budget = folder, max_files, budget
        self.received = Received()
        self._taken: set[str] = set()
        self._file: Unpacked | None = None
        self._field, self._value = "", b""
        self._whole = False
        self._header, self._headers = (b"", b""), dict[bytes, bytes]()

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._grow(0, data[start:end]),
            "on_header_value": lambda data, start, end: self._grow(1, data[start:end]),
            "on_header_end": self._header_end,
            "on_headers_finished": self._open,
            "on_part_data": lambda data, start, end: self._data(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._headers, self._header, self._value = {}, (b"", b""), b""

    def _grow(self, at: int, more: bytes) -> None:
        name, value = self._header
        self._header = (name + more, value) if at == 0 else (name, value + more)
        if len(name) + len(value) > LONGEST_HEADER:
            raise BodyError(400, "the form is malformed: a header without end")

    def _header_end(self) -> None:
        self._headers[self._header[0].lower()] = self._header[1]
        self._header = (b"", b"")

    def _open(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        name = options.get(b"filename")
        if name:  # a file field left empty has an empty name
            if len(self.received.files) >= self._most:
                raise BodyError(413, f"more than {self._most:,} files cannot be uploaded at once")
            safe = safe_name(name.decode("utf-8", "replace"), self._taken)
            self._file = Unpacked(self._folder / safe, self._budget)
            self.received.files.append(safe)
        elif len(self.received.fields) >= MOST_FIELDS:
            raise BodyError(413, "the form has too many fields")

    def _data(self, data: bytes) -> None:
        if self._file is not None:
            self._file.write(data)
            return
        self._value += data
        if len(self._value) > LONGEST_FIELD:
            raise BodyError(413, f"the field «{self._field[:40]}» is too long")

    def _end(self) -> None:
        if self._file is None:
            self.received.fields[self._field[:40]] = self._value.decode("utf-8", "replace")
            return
        self._file.close()
        self._file = None
        self.received.bytes = self._budget.most - self._budget.left

    def _finish(self) -> None:
        self._whole = True

    def check_end(self) -> None:
        if not self._whole:
            raise BodyError(400, "the form is cut short")

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()
