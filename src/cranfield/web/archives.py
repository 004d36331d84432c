"""Files as they come, gzip unpacked on the way, and never more than was agreed on."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cranfield.formats.text import GZIP_MAGIC
from cranfield.web.guard import BodyError

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
