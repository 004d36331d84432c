"""Packed collections: what is packed comes back, what is damaged is refused, what is interrupted leaves no trace."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import cranfield
from cranfield.collection import Collection
from cranfield.errors import InputError, PackedFileError, WriteError
from cranfield.formats.packed import FORMAT, MAGIC, is_packed
from cranfield.formats.text import atomic_write, write_text
from cranfield.scores.evaluation import score_collection
from sizes import sized

PREFIX = struct.Struct("<16sIIQ")  # as the layout says: magic, format, header checksum, header length
MEASURES = ["AP", "nDCG@10", "RBP(p=0.8)", "RBP_residual(p=0.8)", "Bpref", "alpha_nDCG@10", "D#-nDCG@10"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Small, with everything a collection can have: teams, intents, probabilities, warnings, names beyond ASCII."""
    folder = tmp_path_factory.mktemp("packed")
    cranfield.write_example(folder, seed=3, topics=4, documents=30, depth=10, pool=5)
    judged = (folder / "qrels.txt").read_text().split()[2]
    (folder / "runs" / "dovedale1.txt").write_text(f"101 Q0 {judged} 1 2.0 été\n999 Q0 {judged} 1 1.0 été\n")
    (folder / "likely.txt").write_text("101 1 0.9\n101 2 0.1\n")
    return cranfield.read_collection(
        folder / "runs",
        folder / "qrels.txt",
        intents=folder / "intents.txt",
        probabilities=folder / "likely.txt",
        teams=folder / "teams.tsv",
    )


@pytest.fixture(scope="module")
def packed(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of the packed collection."""
    path = tmp_path_factory.mktemp("packed") / "whole.cran"
    collection.save(path)
    return path.read_bytes()


def header_of(packed: bytes) -> tuple[dict[str, Any], int]:
    """The header of a packed file, and where its arrays begin."""
    *_, length = PREFIX.unpack(packed[: PREFIX.size])
    end = PREFIX.size + length
    return json.loads(packed[PREFIX.size : end]), -(-end // 64) * 64


def spans(packed: bytes) -> dict[str, tuple[int, int]]:
    """Where each array is."""
    header, origin = header_of(packed)
    return {
        name: (origin + place, origin + place + int(np.prod(shape)) * np.dtype(kind).itemsize)
        for name, (kind, shape, place, _) in header["arrays"].items()
    }


def use(collection: Collection) -> dict[str, Any]:
    """Touch everything."""
    arrays = {name: np.array(array) for name, array in collection.arrays.items()}
    return {"names": names(collection), "arrays": arrays, "scores": score_collection(collection, MEASURES).values}


def names(collection: Collection) -> tuple[Any, ...]:
    return collection.systems, collection.topics, collection.teams, collection.intent_names, collection.warnings


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (
        one["names"] == other["names"]
        and one["arrays"].keys() == other["arrays"].keys()
        and all(
            np.array_equal(array, other["arrays"][name]) and array.dtype == other["arrays"][name].dtype
            for name, array in one["arrays"].items()
        )
        and np.array_equal(one["scores"], other["scores"])
    )


def opened(folder: Path, content: bytes) -> dict[str, Any]:
    path = folder / "any.cran"
    path.write_bytes(content)
    return use(cranfield.open_collection(path))


# --- what is packed comes back


def test_a_packed_collection_is_the_collection(collection: Collection, packed: bytes, tmp_path: Path) -> None:
    assert same(opened(tmp_path, packed), use(collection))


def test_a_packed_collection_has_warnings_teams_and_intents(collection: Collection) -> None:
    assert {problem.slug for problem in collection.warnings} >= {"topic-unjudged", "topic-missing", "team-missing"}
    assert collection.teams is not None
    assert collection.intents is not None
    assert "été" in collection.systems


def test_packing_twice_gives_the_same_bytes(collection: Collection, packed: bytes, tmp_path: Path) -> None:
    collection.save(tmp_path / "again.cran")
    assert (tmp_path / "again.cran").read_bytes() == packed


def test_a_reopened_collection_can_be_packed_again(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "first.cran"
    path.write_bytes(packed)
    cranfield.open_collection(path).save(path)  # over the very file it is mapped from
    assert path.read_bytes() == packed


def test_a_reopened_collection_pools_and_shards_like_the_first(
    collection: Collection, packed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "first.cran"
    path.write_bytes(packed)
    again = cranfield.open_collection(path)
    assert np.array_equal(
        score_collection(again.pool(3), "AP").values, score_collection(collection.pool(3), "AP").values
    )
    shards = collection.random_shards(3, seed=1)
    assert np.array_equal(again.sharded(shards).found.rank, collection.sharded(shards).found.rank)
    assert again.ranking("été", "101") == collection.ranking("été", "101") != []


def test_changing_an_array_does_not_change_the_file(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "first.cran"
    path.write_bytes(packed)
    grade = cranfield.open_collection(path).arrays["grade"]
    if grade.flags.writeable:
        grade[:] = 3
    assert path.read_bytes() == packed


def test_a_collection_without_teams_and_intents_comes_back(example: Path, tmp_path: Path) -> None:
    collection = cranfield.read_collection(example / "runs" / "aldgate1.txt", example / "qrels.txt")
    collection.save(tmp_path / "plain.cran")
    again = cranfield.open_collection(tmp_path / "plain.cran")
    assert names(again) == names(collection)
    assert np.array_equal(score_collection(again, "AP").values, score_collection(collection, "AP").values)
    assert again.intents is None


def test_empty_arrays_come_back(write: Callable[[str, str | bytes], str], tmp_path: Path) -> None:
    run, qrels = write("run", "1 Q0 d1 1 1.0 tag\n"), write("qrels", "1 0 d1 0\n")
    collection = cranfield.read_collection(run, qrels)
    assert len(collection.arrays["found_hit_rank"]) == 0
    collection.save(tmp_path / "empty.cran")
    again = cranfield.open_collection(tmp_path / "empty.cran")
    assert {name: array.tolist() for name, array in again.arrays.items()} == {
        name: array.tolist() for name, array in collection.arrays.items()
    }
    assert score_collection(again, "AP").mean() == {"tag": 0.0}


def test_only_packed_files_look_packed(packed: bytes, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(packed)
    (tmp_path / "text").write_bytes(b"1 Q0 d1 1 1.0 tag\n")
    (tmp_path / "short").write_bytes(packed[: len(MAGIC) - 1])
    assert [is_packed(tmp_path / name) for name in ("packed", "text", "short", "nothing")] == [
        True,
        False,
        False,
        False,
    ]


# --- what is damaged is refused


def refused(folder: Path, content: bytes) -> PackedFileError:
    with pytest.raises(PackedFileError) as refusal:
        opened(folder, content)
    assert refusal.value.where == str(folder / "any.cran")
    assert refusal.value.what
    assert refusal.value.fix
    return refusal.value


def test_a_file_cut_short_anywhere_is_refused_when_it_is_opened(packed: bytes, tmp_path: Path) -> None:
    edges = {0, 1, len(MAGIC), PREFIX.size, PREFIX.size + 1, header_of(packed)[1], len(packed) - 1}
    edges |= {place for span in spans(packed).values() for place in span}
    path = tmp_path / "any.cran"
    for length in sorted({*edges, *range(0, len(packed), sized(487, 61))} - {len(packed)}):
        path.write_bytes(packed[:length])
        with pytest.raises(PackedFileError) as refusal:
            cranfield.open_collection(path)
        expected = "empty" if length == 0 else "not a packed" if length < len(MAGIC) else "cut short"
        assert expected in refusal.value.what, length


def test_a_longer_file_is_refused(packed: bytes, tmp_path: Path) -> None:
    for more in (b"\x00", b"\n", packed):
        assert "longer" in refused(tmp_path, packed + more).what


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert "empty" in refused(tmp_path, b"").what


@pytest.mark.parametrize("content", [b"1 Q0 d1 1 1.0 tag\n" * 10, b"\x00" * 500, b"\x1f\x8b" + b"x" * 99])
def test_another_kind_of_file_is_refused(content: bytes, tmp_path: Path) -> None:
    assert "not a packed collection" in refused(tmp_path, content).what


@pytest.mark.parametrize("number", [FORMAT + 1, 2**31, 2**32 - 1])
def test_a_newer_format_is_refused_with_its_number(number: int, packed: bytes, tmp_path: Path) -> None:
    content = bytearray(packed)
    struct.pack_into("<I", content, len(MAGIC), number)
    refusal = refused(tmp_path, bytes(content))
    assert f"format {number} is newer" in refusal.what
    assert "Update cranfield" in refusal.fix


def test_a_format_that_never_was_is_refused(packed: bytes, tmp_path: Path) -> None:
    content = bytearray(packed)
    struct.pack_into("<I", content, len(MAGIC), 0)
    refused(tmp_path, bytes(content))


def flips(first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
    """(byte, bit) places from ``first`` to ``last``, evenly spread, every bit in turn."""
    step = max(1, (last - first) // most)
    for count, at in enumerate(range(first, last, step)):
        yield at, count % 8
    yield last - 1, 7


def flipped(packed: bytes, at: int, bit: int) -> bytes:
    content = bytearray(packed)
    content[at] ^= 1 << bit
    return bytes(content)


@pytest.mark.parametrize("at", range(PREFIX.size))
def test_every_flipped_bit_before_the_header_is_refused(at: int, packed: bytes, tmp_path: Path) -> None:
    for bit in range(8):
        refused(tmp_path, flipped(packed, at, bit))


def test_a_flipped_bit_in_the_header_is_refused_when_the_file_is_opened(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.cran"
    *_, length = PREFIX.unpack(packed[: PREFIX.size])
    for at, bit in flips(PREFIX.size, PREFIX.size + length, sized(60, 400)):
        path.write_bytes(flipped(packed, at, bit))
        with pytest.raises(PackedFileError, match="altered"):
            cranfield.open_collection(path)


def test_a_flipped_bit_in_an_array_is_refused_when_the_array_is_first_used(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.cran"
    for name, (first, last) in spans(packed).items():
        assert last > first, f"{name} has to hold something here"
        for at, bit in flips(first, last, sized(5, 20)):
            path.write_bytes(flipped(packed, at, bit))
            collection = cranfield.open_collection(path)
            with pytest.raises(PackedFileError, match=f"altered: «{name}»") as refusal:
                collection.arrays[name]
            assert refusal.value.where == str(path)


def test_no_score_comes_out_of_a_file_with_a_flipped_bit_that_matters(packed: bytes, tmp_path: Path) -> None:
    """Every array that scores are made of, through the front door; padding between arrays is nobody's."""
    for name in ("list_edges", "judged_edges", "grade", "found_hit_edges", "found_hit_rank", "found_hit_judgment"):
        first, last = spans(packed)[name]
        content = flipped(packed, (first + last) // 2, 3)
        (tmp_path / "any.cran").write_bytes(content)
        with pytest.raises(PackedFileError):
            score_collection(cranfield.open_collection(tmp_path / "any.cran"), MEASURES)


def test_a_flipped_bit_between_arrays_changes_nothing(collection: Collection, packed: bytes, tmp_path: Path) -> None:
    whole = use(collection)
    taken = {place for span in spans(packed).values() for place in range(*span)}
    spare = [at for at in range(header_of(packed)[1], len(packed)) if at not in taken]
    assert spare
    for at in spare[:: max(1, len(spare) // sized(5, 20))]:
        assert same(opened(tmp_path, flipped(packed, at, 0)), whole)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"not json", b'{"length": "x"}', b'{"length": 0}'])
def test_a_header_that_is_whole_but_wrong_is_refused(content: bytes, tmp_path: Path) -> None:
    whole = PREFIX.pack(MAGIC, FORMAT, zlib.crc32(content), len(content)) + content
    refused(tmp_path, whole + b"\x00" * (-len(whole) % 64))


def test_a_packed_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(InputError) as refusal:
            cranfield.open_collection(path)
        assert refusal.value.where == str(path)


# --- what is interrupted leaves no trace


class Failing:
    """A stream that stops working after so many bytes."""

    def __init__(self, stream: IO[bytes], room: int, error: BaseException) -> None:
        self.stream, self.room, self.error = stream, room, error

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if size > self.room:
            self.stream.write(memoryview(data).cast("B")[: self.room] if size else b"")
            raise self.error
        self.room -= size
        return self.stream.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()


def break_writing(monkeypatch: pytest.MonkeyPatch, room: int, error: BaseException) -> None:
    whole: Callable[..., IO[bytes]] = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda number, mode: Failing(whole(number, mode), room, error))


@pytest.mark.parametrize("room", [0, 10, 500, 2000])
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(OSError(28, "No space left on device"), WriteError, id="full disk"),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, id="interrupt"),
        pytest.param(MemoryError(), MemoryError, id="no memory"),
    ],
)
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    room: int,
    error: BaseException,
    raised: type[BaseException],
    collection: Collection,
    packed: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "kept.cran"
    path.write_bytes(packed)
    break_writing(monkeypatch, room, error)
    with pytest.raises(raised):
        collection.pool(1).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == packed
    assert os.listdir(tmp_path) == ["kept.cran"]


def test_an_interrupted_first_write_leaves_no_file(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_writing(monkeypatch, 500, OSError(28, "No space left on device"))
    with pytest.raises(WriteError, match="No space left") as refusal:
        collection.save(tmp_path / "new.cran")
    assert refusal.value.where == str(tmp_path / "new.cran")
    assert os.listdir(tmp_path) == []


def test_a_save_that_cannot_take_its_place_leaves_no_file(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "folder.cran").mkdir()
    with pytest.raises(WriteError):
        collection.save(tmp_path / "folder.cran")
    with pytest.raises(WriteError):
        collection.save(tmp_path / "no folder" / "new.cran")
    assert os.listdir(tmp_path) == ["folder.cran"]
    assert os.listdir(tmp_path / "folder.cran") == []


def test_whoever_looks_while_a_file_is_written_sees_the_old_one(packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "kept.cran"
    path.write_bytes(packed)
    with atomic_write(path) as stream:
        stream.write(b"half of the new one")
        stream.flush()
        assert path.read_bytes() == packed
    assert path.read_bytes() == b"half of the new one"
    assert os.listdir(tmp_path) == ["kept.cran"]


def test_a_collection_that_is_open_survives_the_replacement_of_its_file(
    collection: Collection, packed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "kept.cran"
    path.write_bytes(packed)
    before = cranfield.open_collection(path)
    collection.pool(1).save(path)
    assert same(use(before), use(collection))


def test_a_written_file_may_be_read_by_whom_the_mask_allows(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "any", "text")
    finally:
        os.umask(old)
    assert (tmp_path / "any").stat().st_mode & 0o777 == 0o640


SAVE = textwrap.dedent(
    """
    import resource, signal, sys
    import cranfield
    source, target, room = sys.argv[1:]
    collection = cranfield.open_collection(source)
    for array in collection.arrays.values():
        pass
    if int(room):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), int(room)))
    try:
        collection.save(target)
    except cranfield.WriteError as error:
        print(error)
        raise SystemExit(7)
    """
)


def save_elsewhere(source: Path, target: Path, room: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SAVE, str(source), str(target), str(room)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_disk_that_takes_only_a_part_keeps_the_old_file(share: float, packed: bytes, tmp_path: Path) -> None:
    """The operating system's own refusal, by a limit on how large a file may get."""
    source, target = tmp_path / "source.cran", tmp_path / "target.cran"
    source.write_bytes(packed)
    target.write_bytes(b"what was there before")
    result = save_elsewhere(source, target, int(len(packed) * share))
    assert result.returncode == 7, result.stderr
    assert "cannot be written: File too large" in result.stdout
    assert target.read_bytes() == b"what was there before"
    assert sorted(os.listdir(tmp_path)) == ["source.cran", "target.cran"]
    assert save_elsewhere(source, target, 0).returncode == 0
    assert target.read_bytes() == packed


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for a few pages, where one may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "mount") or libc.mount(b"tmpfs", bytes(place), b"tmpfs", 0, b"size=16k") != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        libc.umount2(bytes(place), 2)


def test_a_full_disk_keeps_the_old_file(tiny_disk: Path, example: Path) -> None:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    target = tiny_disk / "target.cran"
    target.write_bytes(b"what was there before")
    with pytest.raises(WriteError, match="No space left on device"):
        collection.save(target)
    assert target.read_bytes() == b"what was there before"
    assert os.listdir(tiny_disk) == ["target.cran"]


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from cranfield.formats.text import atomic_write
    with atomic_write(sys.argv[1]) as stream:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
)


def test_a_killed_process_leaves_the_old_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "kept.cran"
    target.write_bytes(b"what was there before")
    result = subprocess.run([sys.executable, "-c", KILLED, str(target)], timeout=600, check=False)
    assert result.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"what was there before"
