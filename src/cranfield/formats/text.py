"""Bytes from wherever they are and safely back again; names in the order people expect."""

from __future__ import annotations

import operator
import os
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import IO, Any

from cranfield.errors import InputError, RequestError, WriteError


def natural_key(name: str) -> tuple[int, int, str, str]:
    """A key that sorts numbers by value, however long they are, then everything else by its text.

    >>> sorted(["q2", "10", "9", "q10"], key=natural_key)
    ['9', '10', 'q10', 'q2']
    """
    if not (name.isascii() and name.isdigit()):
        return 1, 0, "", name
    digits = name.lstrip("0")
    return 0, len(digits), digits, name


def is_ascending(names: Sequence[Any]) -> bool:
    """Whether each is above the one before, so that they are sorted and all different."""
    return all(map(operator.lt, names, islice(names, 1, None)))


def file_stem(file: str) -> str:
    """A system's name from its file's: without folder, TREC's ``input.`` and the usual endings.

    >>> file_stem("runs/input.ok8alx.gz")
    'ok8alx'
    """
    whole = plain_name(file)
    name = whole.removesuffix(".gz").removeprefix("input.")
    for ending in (".txt", ".run", ".trec", ".res", ".out", ".tsv"):
        name = name.removesuffix(ending)
    return name or whole


def plain_name(file: str) -> str:
    """A file's name without its folder; an escape for every byte of it that is not UTF-8."""
    return in_utf8(Path(file).name).decode()


def file_name(name: str) -> str:
    """A name that a file may have: what parts folders is written as in addresses, so that no two names become one.

    >>> file_name("without-R/D.txt")
    'without-R%2FD.txt'
    """
    for mark in "%/\\\x00":
        name = name.replace(mark, f"%{ord(mark):02X}")
    return name


STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
LONGEST_LINE = 1_000_000  # bytes; no run or judgment comes near it

_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"%PDF-": "a PDF",
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


IRDS = "irds:"
"""What the name of a dataset of ir_datasets begins with."""


def is_dataset(source: object) -> bool:
    """Whether judgments are those of a dataset of ir_datasets rather than of a file."""
    return isinstance(source, str) and source.startswith(IRDS)


def without_sheet(source: str | Path) -> tuple[str, str]:
    """The path of a workbook and the name of its sheet, which may stand after it.

    >>> without_sheet("scores.xlsx#AP"), without_sheet("scores.xlsx")
    (('scores.xlsx', 'AP'), ('scores.xlsx', ''))
    """
    path, mark, sheet = str(source).rpartition("#")
    if not mark or not path.lower().endswith(".xlsx"):
        return str(source), ""
    return path, sheet


def show(source: str | Path) -> str:
    """How a source is named in messages."""
    return "standard input" if str(source) == STDIN else str(source)


def read_bytes(source: str | Path) -> bytes:
    """Everything in ``source``, unzipped when it is gzip (by its first bytes, whatever the name says)."""
    data = _raw(source)
    if data[:2] == GZIP_MAGIC:
        data = _gunzip(data, show(source))
    return data


class FileBytes:
    """The bytes of a plain file, each read when a slice that has it is asked for.

    Nothing is mapped: a file that is cut short meanwhile is refused, where a map of it would end the process.
    """

    def __init__(self, stream: FileIO, where: str) -> None:
        self._stream, self._where = stream, where
        self._size = os.fstat(stream.fileno()).st_size
        weakref.finalize(self, stream.close)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        pieces: list[bytes] = []
        try:
            while start < stop and (piece := os.pread(self._stream.fileno(), stop - start, start)):
                pieces.append(piece)
                start += len(piece)
        except OSError as error:
            raise _unreadable(self._where, error) from None
        if start < stop:
            fix = "Wait until whatever writes it has ended, and read it again."
            raise InputError("the file was cut short while it was read", where=self._where, fix=fix)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def open_bytes(source: str | Path) -> bytes | FileBytes:
    """As `read_bytes`, but of a plain file only what is looked at is read, where the system can do that."""
    try:
        if hasattr(os, "pread") and str(source) != STDIN and os.path.isfile(_file_of(source)):
            data = FileBytes(FileIO(_file_of(source)), show(source))
            if data[:2] not in (b"", GZIP_MAGIC):
                return data
    except OSError:  # reading it says why
        pass
    return read_bytes(source)


def read_head(source: str | Path, size: int) -> bytes:
    """About the first ``size`` bytes of a file, unzipped; empty when it cannot be read."""
    try:
        with open(_file_of(source), "rb") as stream:
            raw = stream.read(size)
            return zlib.decompressobj(31).decompress(raw, size) if raw[:2] == GZIP_MAGIC else raw
    except (OSError, zlib.error):
        return b""


def _file_of(source: str | Path) -> str | Path:
    """The file to open: without the name of a sheet, unless a file has it in its name."""
    path, sheet = without_sheet(source)
    return path if sheet and not os.path.exists(source) else source


def _raw(source: str | Path) -> bytes:
    try:
        if str(source) == STDIN:
            return sys.stdin.buffer.read()
        with open(_file_of(source), "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # which may have no end
                raise InputError("this is a device, not a file", where=show(source), fix="Name a file.")
            return stream.read()
    except FileNotFoundError:
        raise _absent(source) from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a file", where=show(source), fix="Name a file in it.") from None
    except OSError as error:
        raise _unreadable(show(source), error) from None


def _unreadable(where: str, error: OSError) -> InputError:
    return InputError(f"the file cannot be read: {error.strerror or error}", where=where, fix="Check the path.")


def check_there(sources: Iterable[str | Path]) -> None:
    """Raise an error where a file, a folder or a pattern is not there, before anything else is said about it."""
    for path in expand(sources):
        if path != STDIN and not os.path.exists(_file_of(path)):
            raise _absent(path)


def _absent(source: str | Path) -> InputError:
    return InputError("there is no such file", where=show(source), fix=_neighbours(Path(source)))


def _neighbours(path: Path) -> str:
    import difflib

    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"The folder {path.parent} does not exist either; check the path."
    near = difflib.get_close_matches(path.name, names, n=3)
    return f"Near it: {', '.join(near)}." if near else "Check the path."


_PIECE = 1 << 16  # bytes
MOST_UNZIPPED = "CRANFIELD_MOST_UNZIPPED"  # the variable of the environment that raises the limit, in GB


def _gunzip(data: bytes, where: str) -> bytes:
    """What is in a gzip file: one member or several, one after the other, with or without zeros between them."""
    limit = left = most_unzipped()
    parts: list[bytes] = []
    member, whole = zlib.decompressobj(31), True
    try:
        # In pieces: whatever follows the end of a member is copied, and a file may have a million members.
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            while piece := piece.lstrip(b"\0") if whole else piece:
                parts.append(member.decompress(piece, left + 1))
                left -= len(parts[-1])
                if left < 0:
                    fix = f"If that is what it should have, set {MOST_UNZIPPED} to the number of gigabytes it may have."
                    raise InputError(f"unzipped, it has more than {limit / 1e9:g} GB", where=where, fix=fix)
                piece, whole = member.unused_data, member.eof
                if whole:
                    member = zlib.decompressobj(31)
        if whole:
            return b"".join(parts)
        what = "the gzip file is cut short: it ends before its own end mark"
    except zlib.error as error:
        what = f"the gzip file is damaged: {error}"
    raise InputError(what, where=where, fix="Copy or download it again, and test it with gzip -t.")


def most_unzipped() -> int:
    """Bytes that a gzip file may have: a thousand times what it takes would otherwise fill the memory."""
    given = os.environ.get(MOST_UNZIPPED, "4")
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e6:
        raise RequestError(f"{MOST_UNZIPPED} cannot be «{given}»", fix="Set it to a number of gigabytes, such as 4.")
    return int(limit * 1e9)


def why_not_text(data: bytes) -> str:
    """What the bytes are when they are not text; empty when they may well be."""
    for magic, name in _FOREIGN.items():
        if data.startswith(magic):
            return f"this is {name}, not plain text"
    if data[:2] == b"BZ" and data[4:10] == b"1AY&SY":
        return "this is a bzip2 file, not plain text"
    if data[:4] == data[-4:] == b"PAR1" and len(data) > 8:
        return "this is a Parquet file, not plain text"
    if b"\x00" in data:
        line = data.count(b"\n", 0, data.index(b"\x00")) + 1
        return f"this is not text: there is a zero byte on line {line}"
    return ""


def expand(sources: Iterable[str | Path]) -> list[str]:
    """Files behind paths, folders, patterns and ``-``, each once, in a stable order.

    A folder stands for the plain files right in it, hidden ones left out.
    """
    found: dict[str, None] = {}
    for source in sources:
        for path in _expand_one(str(source)):
            found.setdefault(path)
    return list(found)


def _expand_one(source: str) -> list[str]:
    if source == STDIN or os.path.isfile(source):
        return [source]
    if os.path.isdir(source):
        inside = _files_in(source)
        if not inside:
            raise InputError("the folder has no files in it", where=source, fix="Name the folder the runs are in.")
        return inside
    if any(mark in source for mark in "*?["):
        import glob

        matched = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))
        if not matched:
            raise InputError("no file matches this pattern", where=source, fix="Check the pattern.")
        return matched
    return [source]  # reading it says why it cannot be read


def _files_in(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and entry.name[0] != ".")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"the folder cannot be read: {reason}", where=folder, fix="Check its permissions.") from None


@contextmanager
def private_copy(source: str | Path, folder: str | Path) -> Iterator[str]:
    """The path of a copy of a file, for a library that maps what it reads: nobody else knows it, nor cuts it short."""
    import shutil
    import tempfile

    with ExitStack() as closing:
        try:
            inside = closing.enter_context(tempfile.TemporaryDirectory(prefix=".cranfield-", dir=folder))
            copy = shutil.copyfile(source, Path(inside, "copy"))
        except OSError as error:
            what = f"it cannot be copied into «{folder}» to be read: {error.strerror or error}"
            raise InputError(what, where=show(source), fix="Write into a folder that has room for it.") from None
        yield str(copy)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all: written beside its place, then moved there.

    A device or a pipe (/dev/stdout, say) is written to as it is: nothing is to be kept whole, and nothing replaced.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        try:
            with _open_device(target) as stream:
                yield stream
        except (BrokenPipeError, WriteError):  # whoever read it has gone; or it is said already
            raise
        except OSError as error:
            raise _cannot_write(target, error) from None
        return
    import tempfile

    target = target.resolve()  # a link goes on pointing at what is written
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        _discard(temporary)
        raise _cannot_write(target, error) from None
    except BaseException:
        _discard(temporary)
        raise


def in_utf8(text: str) -> bytes:
    """A text as files have it: UTF-8, and an escape for half of a surrogate pair, such as names of files may have."""
    return text.encode("utf-8", "backslashreplace")


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` atomically, gzipped when the name ends in ``.gz``."""
    import gzip

    data = in_utf8(text)
    # mtime 0: the same content gives the same bytes.
    pack: Callable[[bytes], Any] = (lambda raw: gzip.compress(raw, mtime=0)) if str(path).endswith(".gz") else bytes
    with atomic_write(path) as stream:
        stream.write(pack(data))


def write_pieces(path: str | Path, pieces: Iterable[str]) -> None:
    """Write the pieces of a text one after the other, as `write_text` writes a whole one."""
    with atomic_write(path) as stream, ExitStack() as closing:
        out: Any = stream
        if str(path).endswith(".gz"):
            import gzip

            out = closing.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0))
        for piece in pieces:
            out.write(in_utf8(piece))


def make_folder(path: str | Path) -> Path:
    """A folder, made where there is none."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"the folder cannot be made: {reason}", where=str(path), fix="Name another.") from None
    return Path(path)


def _open_device(target: Path) -> IO[bytes]:
    try:
        return open(target, "wb")
    except OSError as error:
        raise _cannot_write(target, error) from None


def _mode(target: Path) -> int:
    """Who may read and write a file: as before where there is one, otherwise as usual."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _discard(temporary: str) -> None:
    try:
        os.unlink(temporary)
    except OSError:
        pass


def _cannot_write(target: Path, error: OSError) -> WriteError:
    reason = error.strerror or str(error)
    return WriteError(f"it cannot be written: {reason}", where=str(target), fix="Nothing was changed there.")
