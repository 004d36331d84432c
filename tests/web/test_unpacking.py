"""Files that come in pieces: whole whatever the pieces are, and never larger than agreed on."""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.web import upload_form
from cranfield.web.guard import BodyError
from cranfield.web.upload_form import ByteLimit, Received, Unpacked, receive, safe_name


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(edges)]


def unpacked(data: bytes, cuts: Sequence[int], most: int = 10_000_000) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Unpacked(Path(folder) / "file", ByteLimit.of(most))
        try:
            for piece in pieces(data, cuts):
                file.write(piece)
            file.close()
        finally:
            file.abandon()
        return file.path.read_bytes()


CUTS = st.lists(st.integers(0, 10_000), max_size=6)
TEXT = st.binary(max_size=300).filter(lambda data: data[:2] != b"\x1f\x8b")


@settings(deadline=None)  # a busy machine is no failure
@given(TEXT, CUTS)
def test_plain_files_arrive_as_they_were(data: bytes, cuts: list[int]) -> None:
    assert unpacked(data, cuts) == data


@settings(deadline=None)  # a busy machine is no failure
@given(TEXT, TEXT, st.integers(0, 400), CUTS)
def test_gzip_arrives_unpacked_also_when_it_is_several_in_a_row(
    first: bytes, second: bytes, zeros: int, cuts: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upload_form, "PIECE", 16)  # so that a small file takes many rounds
        packed = gzip.compress(first + b"0" * zeros) + gzip.compress(second) + b"\0" * 3
        if (first + b"0" * zeros + second)[:2] != b"\x1f\x8b":
            assert unpacked(packed, cuts) == first + b"0" * zeros + second


def test_nothing_is_lost_where_a_round_ends_exactly() -> None:
    piece = upload_form.PIECE
    for size in (piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 200):
        assert len(unpacked(gzip.compress(b"0" * size), [100, 500])) == size


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(0, 200), st.integers(0, 200), CUTS)
def test_the_limit_is_exact(size: int, most: int, cuts: list[int]) -> None:
    if size <= most:
        assert len(unpacked(gzip.compress(b"0" * size), cuts, most)) == size
    else:
        with pytest.raises(BodyError, match="unpacked"):
            unpacked(gzip.compress(b"0" * size), cuts, most)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.text(max_size=130), max_size=8))
def test_safe_names_are_safe_and_differ(names: list[str]) -> None:
    taken: set[str] = set()
    safe = [safe_name(name, taken) for name in names]
    assert len({name.lower() for name in safe}) == len(safe)
    assert all(
        name.isascii() and name and name[0] not in ".-" and not set(name) & set("/\\\0<>\"'`$ ;|&") for name in safe
    )
    assert all(len(name) <= 120 for name in safe)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.tuples(st.text("abc./", min_size=1, max_size=6), TEXT), max_size=4), CUTS)
def test_a_form_is_read_alike_however_it_is_cut(files: list[tuple[str, bytes]], cuts: list[int]) -> None:
    files = [(name, data) for name, data in files if b"--x" not in data]
    body = b"".join(
        b'--xyz\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n%s\r\n' % (name.encode(), data)
        for name, data in files
    )
    body += b'--xyz\r\nContent-Disposition: form-data; name="order"\r\n\r\nrank\r\n--xyz--\r\n'

    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces(body, cuts):
            yield piece

    with tempfile.TemporaryDirectory() as folder:
        kind = "multipart/form-data; boundary=xyz"
        found: Received = asyncio.run(receive(kind, stream(), Path(folder), max_files=9, max_unpacked=10_000))
        assert [Path(folder, name).read_bytes() for name in found.files] == [data for _, data in files]
        assert found.fields == {"order": "rank"}
