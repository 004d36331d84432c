"""Packed collections that are made up: right checksums over contents that cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield.collection import Collection
from cranfield.errors import PackedFileError
from cranfield.formats.packed import _PREFIX, MAGIC, _aligned
from sizes import sized

Parts = tuple[dict[str, Any], dict[str, np.ndarray]]  # the header without its arrays, and the arrays
LARGE = {"<i4": (2**31 - 1, -(2**31)), "<i8": (2**62, -(2**63)), "|u1": (255, 128), "<f8": (np.nan, np.inf)}

TRY = """
import faulthandler, sys
faulthandler.enable()
from pathlib import Path
import numpy as np
import cranfield
from cranfield.errors import PackedFileError
from cranfield.runtime import compiled
from cranfield.scores.evaluation import score_collection
MEASURES = 'AP AP@5 P@5 R@20 nDCG nDCG(gains=exp)@10 RR RBP RBP_residual Bpref P+ Judged@10 ERR@20 Q'.split()
INTENTS = ["alpha_nDCG@10", "ERR_IA@10", "I-rec@10", "D-nDCG@10"]
refused = scored = 0
for path in sorted(Path(sys.argv[1]).glob("*.cran")):
    try:
        collection = cranfield.open_collection(path)
        measures = [*MEASURES, *(INTENTS if collection.intents else [])]
        found = []
        for limit in (10**12, 0):  # interpreted, then compiled
            compiled.WORTH_COMPILING = compiled.WORTH_LOADING = limit
            compiled.is_loaded = lambda: limit == 0
            with np.errstate(all="ignore"):
                found.append(score_collection(collection, measures).values)
        collection.pool_depth, collection.contributors(1) if collection.teams else None
        [collection.documents[code] for code in range(len(collection.documents))]
        assert np.array_equal(*found, equal_nan=True), path
        scored += 1
    except PackedFileError as error:
        assert str(path) in str(error), error
        refused += 1
print(refused, scored)
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A small collection with teams and intents, taken apart."""
    folder = tmp_path_factory.mktemp("made")
    cranfield.write_example(str(folder), seed=3)
    runs = sorted((folder / "runs").iterdir())[:3]
    collection = cranfield.read_collection(
        runs, folder / "qrels.txt", intents=folder / "intents.txt", teams=folder / "teams.tsv"
    )
    return taken_apart(collection, folder)


def taken_apart(collection: Collection, folder: Path) -> Parts:
    collection.save(folder / "whole.cran")
    data = (folder / "whole.cran").read_bytes()
    *_, length = _PREFIX.unpack(data[: _PREFIX.size])
    header = json.loads(data[_PREFIX.size : _PREFIX.size + length])
    arrays = {name: np.array(array) for name, array in collection.arrays.items()}
    return {name: value for name, value in header.items() if name not in ("arrays", "length")}, arrays


def made(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A packed file of any contents, with right checksums."""
    body, table = bytearray(), {}
    for name, array in arrays.items():
        body += b"\0" * (_aligned(len(body)) - len(body))
        raw = np.ascontiguousarray(array).tobytes()
        table[name] = [array.dtype.str, list(array.shape), len(body), zlib.crc32(raw)]
        body += raw
    text = json.dumps({**header, "arrays": table, "length": len(body)}).encode()
    start = _PREFIX.pack(MAGIC, 1, zlib.crc32(text), len(text)) + text
    path.write_bytes(start + b"\0" * (_aligned(len(start)) - len(start)) + body)


def violations(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
    """Every array with every kind of violation, at several places."""
    for name, array in arrays.items():
        for change in shapes_changed(array):
            yield {**arrays, name: change}
        yield {other: value for other, value in arrays.items() if other != name}
        places = sorted({0, len(array) - 1, *rng.integers(0, len(array), 4).tolist()}) if len(array) else []
        for place in places:
            for value in (-1, 0, 1, len(array), array[place] + 1, array[place] - 1, *LARGE[array.dtype.str]):
                if array.dtype.str != "|u1" or 0 <= value <= 255:
                    changed = array.copy()
                    changed[place] = value
                    yield {**arrays, name: changed}


def shapes_changed(array: np.ndarray) -> Iterator[np.ndarray]:
    yield array[:-1]
    yield array[1:]
    yield array[:0]
    yield array[::-1]
    yield np.append(array, array[-1:])
    yield np.concatenate([array, array])
    yield array.reshape(1, -1)
    yield array.astype("<f4")
    yield array.astype("<i2" if array.dtype != np.int16 else "<i4")
    yield np.roll(array, 1)


def test_crafted_files_end_in_an_error_or_in_the_scores_they_say(parts: Parts, tmp_path: Path) -> None:
    header, arrays = parts
    made(tmp_path / "0000.cran", header, arrays)
    rng = np.random.default_rng(1)
    fractional = {name: array / 2 for name, array in arrays.items() if name.endswith("grade")}
    grades = ({**arrays, **fractional, **changed} for changed in violations(fractional, rng))
    step = sized(7, 1)  # one of seven kinds of change for each place, another one at the next
    for number, changed in enumerate(islice(chain(violations(arrays, rng), grades), 0, None, step), 1):
        made(tmp_path / f"{number:04}.cran", header, changed)
    done = subprocess.run([sys.executable, "-c", TRY, str(tmp_path)], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    refused, scored = map(int, done.stdout.split())
    assert refused + scored == len(list(tmp_path.glob("*.cran"))) >= 1000 // step
    assert scored >= 1
    assert refused > scored


HEADERS: list[tuple[str, Any]] = [
    *(("systems", value) for value in (None, [], "abc", [1, 2, 3], ["a", "a", "b"], ["a", "b"], [["a"], "b", "c"])),
    *(("topics", value) for value in (None, [], {"1": 2}, ["1"], [None])),
    *(("teams", value) for value in (["a"], "abc", 7, [1, 2, 3])),
    *(("intent_names", value) for value in ([], [["x"]], "x", 7)),
    *(("warnings", value) for value in (None, 7, [["no-such-kind", "f", 1, "", "", 1]], [[1]])),
    ("systems", ["\ud800", "b", "c"]),
]


@pytest.mark.parametrize(("name", "value"), HEADERS)
def test_a_header_that_cannot_be_is_refused(parts: Parts, tmp_path: Path, name: str, value: Any) -> None:
    header, arrays = parts
    made(tmp_path / "any.cran", {**header, name: value}, arrays)
    with pytest.raises(PackedFileError, match=r"any\.cran"):
        cranfield.open_collection(tmp_path / "any.cran")


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_while_it_is_open_ends_in_an_error(parts: Parts, tmp_path: Path, kept: float) -> None:
    path = tmp_path / "open.cran"
    made(path, *parts)
    collection = cranfield.open_collection(path)
    with open(path, "r+b") as stream:
        stream.truncate(int(path.stat().st_size * kept))
    with pytest.raises(PackedFileError, match=r"open.cran: the file is cut short"):
        list(collection.arrays.values())
