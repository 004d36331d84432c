"""Zip archives that hold scores: logs as JSON and workbooks as sheets; however small a file is, what it may unpack to
is bounded."""

from __future__ import annotations

import csv
import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any

from cranfield.errors import InputError, MissingPartError, check_part
from cranfield.formats.records import decoded, load_json
from cranfield.formats.text import MOST_UNZIPPED, most_unzipped, without_sheet

ZSTANDARD = 93  # the method of the zip format; zipfile knows it from Python 3.14 on
MOST_MEMBERS = 1_000_000
MOST_CELLS = 20_000_000  # of a sheet
MOST_ROWS = 1 << 20  # what a sheet can have

_DAMAGED = "Copy or download it again, and test it with unzip -t."


def is_archive(head: bytes) -> bool:
    """Whether a file is a zip archive, by its first bytes."""
    return head.startswith(b"PK\x03\x04")


_FIRST = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"_journal/", b"header.json", b"samples/")


def may_hold_scores(head: bytes) -> bool:
    """Whether the first member of an archive is one of a workbook or of a log."""
    return is_archive(head) and head[30:60].startswith(_FIRST)  # where the header ends and the name begins


def open_archive(data: bytes, file: str) -> zipfile.ZipFile:
    """A zip archive whose members, unpacked, have no more bytes than a gzip file or an honest archive may have."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"the zip archive is damaged: {error}", where=file, fix=_DAMAGED) from None
    members = archive.infolist()
    limit = _most_unpacked(len(data))
    if len(members) > MOST_MEMBERS:
        what = f"the archive has {len(members):,} members, more than {MOST_MEMBERS:,}"
        raise InputError(what, where=file, fix="Unpack it, and give the files in it.")
    if sum(member.file_size for member in members) > limit:
        fix = f"If that is what it should have, set {MOST_UNZIPPED} to the number of gigabytes it may have."
        raise InputError(f"unpacked, it has more than {limit / 1e9:g} GB", where=file, fix=fix)
    return archive


def _most_unpacked(size: int) -> int:
    """Bytes that an archive may have: logs and sheets are a hundredth of their size at the smallest."""
    limit = most_unzipped()
    return limit if MOST_UNZIPPED in os.environ else min(limit, max(1 << 28, 200 * size))


def json_member(archive: zipfile.ZipFile, name: str, file: str) -> Any:
    """What is in a JSON file of an archive."""
    where = f"{file}, {name}"
    return load_json(decoded(_member(archive, archive.getinfo(name), where), where), where)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> bytes:
    """The bytes of a member; no more are unpacked than its entry says."""
    try:
        if member.compress_type == ZSTANDARD:
            content = _zstandard(_stored(archive, member, where), member.file_size, where)
            if zlib.crc32(content) != member.CRC:
                raise zipfile.BadZipFile("bad checksum")
            return content
        with archive.open(member) as stream:
            return stream.read(member.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"it cannot be unpacked: {error}", where=where, fix=_DAMAGED) from None


def _stored(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> bytes:
    """The bytes of a member as they are in the archive: after its header, whose last fields are two lengths."""
    stream = archive.fp
    assert stream is not None
    stream.seek(member.header_offset)
    header = stream.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise InputError("the zip archive is damaged: a member has no header", where=where, fix=_DAMAGED)
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), io.SEEK_CUR)
    return stream.read(member.compress_size)


def _zstandard(raw: bytes, size: int, where: str) -> bytes:
    """What a zstandard frame holds: by Python, by zstandard, or by PyArrow, whichever is there."""
    try:
        if (unpack := _unpacker()) is not None:
            return unpack(raw, size + 1)
    except Exception as error:  # each library has its own
        raise InputError(f"it cannot be unpacked: {error}", where=where, fix=_DAMAGED) from None
    raise MissingPartError("logs")


def _unpacker() -> Callable[[bytes, int], bytes] | None:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        pass
    else:
        return lambda raw, most: zstd.ZstdDecompressor().decompress(raw, most)
    try:
        import zstandard
    except ImportError:
        pass
    else:
        return lambda raw, most: zstandard.ZstdDecompressor().stream_reader(raw).read(most)
    try:
        import pyarrow
    except ImportError:
        return None
    return lambda raw, most: pyarrow.CompressedInputStream(pyarrow.BufferReader(raw), "zstd").read(most)


# --- workbooks


def is_workbook(names: Iterable[str]) -> bool:
    """Whether the members of an archive are those of a workbook."""
    return "xl/workbook.xml" in names


def sheet_as_csv(data: bytes, file: str) -> bytes:
    """The first sheet of a workbook, or that whose name stands after # in the name of the file, one line per row."""
    check_part("sheets")
    import openpyxl

    _, sheet = without_sheet(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles, which have no effect on scores
        try:
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            names = [each.title for each in book.worksheets]
            if sheet and sheet not in names:
                fix = f"There are: {', '.join(names[:20])}."
                raise InputError(f"there is no sheet «{sheet}»", where=file, fix=fix)
            if not names:
                raise InputError("the workbook has no sheet of cells", where=file, fix="Give one that has scores.")
            return _lines(book[sheet or names[0]].iter_rows(values_only=True), file)
        except InputError:
            raise
        except Exception as error:  # openpyxl raises whatever its parsers do
            what = f"the workbook cannot be read: {type(error).__name__}: {str(error)[:100]}"
            raise InputError(what, where=file, fix="Save it again, or as CSV.") from None


def _lines(rows: Iterable[tuple[Any, ...]], file: str) -> bytes:
    """Rows as CSV, all of one length; an empty row is an empty line, so that lines have the numbers of rows."""
    kept: list[list[str]] = []
    cells = 0
    for row in rows:
        cells += len(row)
        if cells > MOST_CELLS or len(kept) > MOST_ROWS:
            what = f"the sheet has more than {MOST_CELLS:,} cells or {MOST_ROWS:,} rows"
            raise InputError(what, where=file, fix="Save it as CSV or Parquet, which have no such limit.")
        values = [_cell(value) for value in row]
        while values and not values[-1]:
            values.pop()
        kept.append(values)
    width = max(map(len, kept), default=0)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([*values, *[""] * (width - len(values))] if values else [] for values in kept)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # a sheet has no whole numbers: 401 is 401.0
    if isinstance(value, datetime | date):
        return value.isoformat()
    return " ".join(str(value).splitlines())
