"""Packed score files that somebody made up: all checksums are right, and what they say is refused or read as it is."""

from __future__ import annotations

import copy
import itertools
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import CranfieldError, PackedFileError
from cranfield.formats.packed import MAGIC
from cranfield.scores import read_scores, stored
from sizes import sized

PREFIX = struct.Struct("<16sIIQ")
TOPICS, SYSTEMS, BLOCK = 23, 5, 4
VALUES = np.random.default_rng(1).random((1, TOPICS, SYSTEMS, 1))
NAMES = [f"topic {at}".encode() for at in range(TOPICS)]


class Made:
    """The parts of a packed score file, to be changed before it is put together."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {
            "measures": ["AP"],
            "systems": [f"system {at}" for at in range(SYSTEMS)],
            "shards": [],
            "replicates": "",
            "warnings": [],
            "block": BLOCK,
            "holds": "scores",
        }
        self.arrays: dict[str, np.ndarray] = {
            "topic_names": np.frombuffer(b"".join(NAMES), np.uint8),
            "topic_edges": np.cumsum([0, *map(len, NAMES)]).astype("<i8"),
            "scores": VALUES.copy(),
            "block_checksums": np.zeros((1, -(-TOPICS // BLOCK)), "<u4"),
        }
        self.sums = True  # those of blocks are computed
        self.entries: dict[str, Callable[[list[Any]], Any]] = {}  # what becomes of the entry of an array
        self.extra: dict[str, Any] = {}  # of the header, at the end
        self.number = 2
        self.tail = b""

    def content(self) -> bytes:
        self._compute_sums()
        body, table = bytearray(), {}
        for name, array in self.arrays.items():
            body += b"\0" * (-len(body) % 64)
            data = np.ascontiguousarray(array).tobytes()
            entry = [array.dtype.str, list(array.shape), len(body), None if name == "scores" else zlib.crc32(data)]
            table[name] = self.entries[name](entry) if name in self.entries else entry
            body += data
        header = {**self.header, "arrays": table, "length": len(body), **self.extra}
        header = {name: value for name, value in header.items() if value is not ABSENT}
        text = json.dumps(header).encode()
        start = PREFIX.pack(MAGIC, self.number, zlib.crc32(text), len(text)) + text
        return start + b"\0" * (-len(start) % 64) + bytes(body) + self.tail

    def _compute_sums(self) -> None:
        scores, sums = self.arrays.get("scores"), self.arrays.get("block_checksums")
        if not self.sums or scores is None or sums is None or scores.ndim != 4 or sums.ndim != 2:
            return
        block = self.header["block"] if isinstance(self.header["block"], int) and self.header["block"] > 0 else BLOCK
        for measure in range(min(len(scores), len(sums))):
            for at in range(sums.shape[1]):
                part = np.ascontiguousarray(scores[measure, at * block : (at + 1) * block])
                sums[measure, at] = zlib.crc32(part.tobytes())


ABSENT = object()


def header(name: str, value: Any) -> Callable[[Made], None]:
    return lambda made: made.header.update({name: value})


def extra(name: str, value: Any) -> Callable[[Made], None]:
    return lambda made: made.extra.update({name: value})


def array(name: str, change: Callable[[np.ndarray], Any]) -> Callable[[Made], None]:
    return lambda made: made.arrays.update({name: np.asarray(change(made.arrays[name].copy()))})


def without(name: str) -> Callable[[Made], None]:
    def change(made: Made) -> None:
        del made.arrays[name]

    return change


def entry(name: str, at: int, value: Any) -> Callable[[Made], None]:
    def change(parts: list[Any]) -> list[Any]:
        parts[at] = value(parts[at]) if callable(value) else value
        return parts

    return lambda made: made.entries.update({name: change})


def whole_entry(name: str, value: Any) -> Callable[[Made], None]:
    return lambda made: made.entries.update({name: lambda _: value})


def put(values: np.ndarray, at: Any, value: Any) -> np.ndarray:
    values[at] = value
    return values


def names(texts: list[bytes]) -> Callable[[Made], None]:
    def change(made: Made) -> None:
        made.arrays["topic_names"] = np.frombuffer(b"".join(texts), np.uint8)
        made.arrays["topic_edges"] = np.cumsum([0, *map(len, texts)]).astype("<i8")

    return change


def over_the_names(made: Made) -> None:
    """An array with the right checksum that lies where another does."""
    made.arrays["other"] = made.arrays["topic_names"][:64]
    made.entries["other"] = lambda entry: [*entry[:2], 0, entry[3]]


SHAPES: list[list[Any]] = [
    [],
    [1],
    [TOPICS, SYSTEMS],
    [1, TOPICS, SYSTEMS],
    [1, TOPICS, SYSTEMS, 2],
    [1, SYSTEMS, TOPICS, 1],
]
SHAPES += [
    [2, TOPICS, SYSTEMS, 1],
    [1, -TOPICS, SYSTEMS, 1],
    [1, TOPICS, 2**61, 1],
    [1, TOPICS, "5", 1],
    [1, TOPICS, 5.0, 1],
]
SHAPES += [[1, TOPICS, True, 1], [2**31, 2**31, 2**31, 1], [0, TOPICS, SYSTEMS, 1]]
KINDS: list[Any] = ["<f4", ">f8", "|O", "<i8", "<U8", "|V8", "<c16", "f8", "", "nonsense", "<M8[s]", None, 8, ["<f8"]]
PLACES: list[Any] = [-64, 1, 8, 2**40, 2**63, None, "0", 1.5, True]

NO_NAMES: list[Any] = [[], ["AP", "P@10"], "A", {"AP": 1}, [1], [None], [["AP"]]]
NO_SYSTEMS: list[Any] = [[], ["a"] * SYSTEMS, list("abcdef"), list(range(SYSTEMS)), "abcde", None]
NO_ARRAYS: list[Any] = [[], None, {"scores": 1}, {}, "x"]
NO_WARNINGS: list[Any] = [[1], [["a"]], [["no-such", "f", 0, "", "", 1]], [[1, 2, 3]], 5, [{"slug": 1}], ["abc"]]

REFUSED: dict[str, Callable[[Made], None]] = {
    **{f"scores of shape {each}": entry("scores", 1, each) for each in SHAPES},
    **{f"scores of type {each}": entry("scores", 0, each) for each in KINDS},
    **{f"scores at {each}": entry("scores", 2, each) for each in PLACES},
    **{f"edges at {each}": entry("topic_edges", 2, each) for each in PLACES},
    **{f"edges of type {each}": entry("topic_edges", 0, each) for each in ("<u8", "<i4", "<f8", "|O")},
    **{f"names of type {each}": entry("topic_names", 0, each) for each in ("|b1", "|i1", "|S1")},
    **{f"checksums of type {each}": entry("block_checksums", 0, each) for each in ("<i4", "<f4", ">u4")},
    **{f"a checksum of {each}": entry("topic_names", 3, each) for each in (-1, 2**32, "0", None, 5)},
    **{f"{each} is missing": without(each) for each in ("topic_names", "topic_edges", "scores", "block_checksums")},
    **{f"no {each}": header(each, ABSENT) for each in stored._KEYS},
    **{f"blocks of {each}": header("block", each) for each in (0, -4, TOPICS + 1, 2**62, "4", 4.0, None, True)},
    **{f"blocks of {each} with checksums for 4": header("block", each) for each in (1, 3, 5, TOPICS)},
    **{f"replicates {each}": header("replicates", each) for each in ("x", None, 1)},
    **{f"measures {each}": header("measures", each) for each in NO_NAMES},
    **{f"measures {each!a}": header("measures", each) for each in (["\ud800"],)},
    **{f"systems {each}": header("systems", each) for each in NO_SYSTEMS},
    **{f"shards {each}": header("shards", each) for each in (["x", "y"], ["x", "x"], [1], None, "x")},
    **{f"warnings {each}": header("warnings", each) for each in NO_WARNINGS},
    **{f"arrays {each}": extra("arrays", each) for each in NO_ARRAYS},
    **{f"length {each}": extra("length", each) for each in (0, -1, "1", None, 1.5, 2**70, True)},
    "holds nothing": header("holds", ABSENT),
    **{f"holds {each}": header("holds", each) for each in ("collection", "x", None, ["scores"])},
    "an entry of no parts": whole_entry("scores", []),
    "an entry that is none": whole_entry("scores", None),
    "an entry of five parts": whole_entry("scores", ["<f8", [1, TOPICS, SYSTEMS, 1], 0, None, 0]),
    "names over scores": entry("topic_names", 2, 1024),
    "an array over the names": over_the_names,
    "more after the end": lambda made: setattr(made, "tail", b"\0" * 64),
    "edges that go back": array("topic_edges", lambda edges: put(edges, 3, 0)),
    "edges that begin later": array("topic_edges", lambda edges: put(edges, 0, 1)),
    "edges that end later": array("topic_edges", lambda edges: put(edges, -1, edges[-1] + 1)),
    "edges that end before": array("topic_edges", lambda edges: put(edges, -1, edges[-1] - 1)),
    "edges below 0": array("topic_edges", lambda edges: put(edges, 5, -9)),
    "edges far outside": array("topic_edges", lambda edges: put(edges, 5, 2**62)),
    "two edges too many": array("topic_edges", lambda edges: np.append(edges, [edges[-1]] * 2)),
    "no edges": array("topic_edges", lambda edges: edges[:0]),
    "one edge": array("topic_edges", lambda edges: edges[:1]),
    "names that are not UTF-8": names([b"\xff", *NAMES[1:]]),
    "a character in two names": names(["é".encode()[:1], "é".encode()[1:], *NAMES[2:]]),
    "two names alike": names([NAMES[1], *NAMES[1:]]),
    "an infinite score": array("scores", lambda values: put(values, (0, 7, 1, 0), np.inf)),
    "minus infinity": array("scores", lambda values: put(values, (0, 22, 4, 0), -np.inf)),
    "scores that do not match": lambda made: setattr(made, "sums", False),
    "checksums of another shape": array("block_checksums", lambda sums: sums.T),
    "too few checksums": array("block_checksums", lambda sums: sums[:, :-1]),
}
READ: dict[str, Callable[[Made], None]] = {
    "as it is": lambda made: None,
    "a name that is empty": names([b"", *NAMES[1:]]),
    "names beyond ASCII": names(["été 漢字".encode(), *NAMES[1:]]),
    "names with control characters": names([b"\x00\n\x1b[31m", *NAMES[1:]]),
    "one block": header("block", BLOCK),
    "more arrays than needed": lambda made: made.arrays.update(other=np.arange(3)),
    "more in the header": header("later", {"a": 1}),
    "huge scores": array("scores", lambda values: values * 1e50),
    "negative zero": array("scores", lambda values: put(values, (0, 0, 0, 0), -0.0)),
    "a caution": header("warnings", [["odd", "something was odd", "Look."]]),
}


@pytest.fixture(params=["few scores", "many scores"], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file as one that is read into memory, and as one that is left in the file."""
    if request.param == "many scores":
        monkeypatch.setattr(stored, "LARGE", 10)
        monkeypatch.setattr(stored, "BLOCK", 15)
        monkeypatch.setattr("cranfield.scores.score_files.LARGE", 10)


def made(change: Callable[[Made], None], folder: Path) -> str:
    parts = Made()
    parts.header = copy.deepcopy(parts.header)
    change(parts)
    path = folder / "made.cran"
    path.write_bytes(parts.content())
    return str(path)


def use(file: str) -> tuple[tuple[str, ...], bytes]:
    """Everything that is in it."""
    table = read_scores(file)
    cf.variance(table, source={"missing": "zero"})
    return table.topics, table.values.tobytes()


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_the_name_of_the_file(case: str, tmp_path: Path) -> None:
    file = made(REFUSED[case], tmp_path)
    with pytest.raises(PackedFileError) as refusal:
        use(file)
    assert refusal.value.where == file
    assert refusal.value.fix
    assert cf.check(file).exit_code == 2


@pytest.mark.parametrize("case", list(REFUSED)[::7])
def test_the_command_ends_with_code_2_and_no_traceback(case: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["variance", made(REFUSED[case], tmp_path), "--json"])
    # Two names alike, say, do not matter to a variance; nothing else may happen.
    assert result.exit_code == 0 or isinstance(result.exception, CranfieldError), result.exception


@pytest.mark.parametrize("case", READ)
def test_what_can_be_is_read_as_it_stands(case: str, tmp_path: Path) -> None:
    parts = Made()
    READ[case](parts)
    edges, blob = parts.arrays["topic_edges"].tolist(), parts.arrays["topic_names"].tobytes()
    expected = tuple(blob[first:last].decode() for first, last in itertools.pairwise(edges))
    assert use(made(READ[case], tmp_path)) == (expected, parts.arrays["scores"].tobytes())
    assert cf.check(str(tmp_path / "made.cran")).exit_code == 0


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = Path(made(READ["as it is"], tmp_path)).read_bytes()
    for length in range(len(MAGIC), len(content), sized(389, 97)):
        (tmp_path / "cut.cran").write_bytes(content[:length])
        with pytest.raises(PackedFileError):
            use(str(tmp_path / "cut.cran"))


def test_a_flipped_bit_anywhere_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    content = Path(made(READ["as it is"], tmp_path)).read_bytes()
    whole = use(str(tmp_path / "made.cran"))
    for at in range(len(MAGIC), len(content), sized(149, 23)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path = tmp_path / f"{at}.cran"
        path.write_bytes(changed)
        try:
            found = use(str(path))
        except PackedFileError:
            continue
        assert found == whole


def test_a_file_far_larger_than_memory_is_opened_and_read_in_blocks(tmp_path: Path) -> None:
    """80 GB of zeros, most of them in no block of the disk."""
    topics, systems, block = 1_000_000, 10_000, 100
    parts = Made()
    names = [b"%07d" % at for at in range(topics)]
    parts.header |= {"systems": [f"s{at}" for at in range(systems)], "block": block}
    zeros = zlib.crc32(bytes(8 * block * systems))
    parts.arrays = {
        "topic_names": np.frombuffer(b"".join(names), np.uint8),
        "topic_edges": np.arange(0, 7 * topics + 1, 7).astype("<i8"),
        "block_checksums": np.full((1, topics // block), zeros, "<u4"),
        "scores": np.empty((1, 0, systems, 1)),
    }
    parts.sums = False
    parts.entries["scores"] = lambda entry: [entry[0], [1, topics, systems, 1], entry[2], None]
    body = sum(-(-each.nbytes // 64) * 64 for each in parts.arrays.values())
    parts.extra["length"] = body + 8 * topics * systems
    path = tmp_path / "sparse.cran"
    path.write_bytes(parts.content())
    os.truncate(path, path.stat().st_size + -path.stat().st_size % 64 + 8 * topics * systems)
    table = read_scores(path)
    assert (table.topic_count, len(table.systems)) == (topics, systems)
    rows = table.matrix()
    assert isinstance(rows, stored.StoredMatrix)
    assert not rows.rows(topics - 150, topics).any()
    assert table.topics[-1] == "0999999"
