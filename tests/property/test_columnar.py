"""Score files read by columns are what they are when read line by line; numbers are bit for bit those of Python."""

from __future__ import annotations

import importlib.util
import json
import random
import struct
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cranfield.formats.decimals import MARGIN, parse_decimals
from cranfield.formats.id_codes import MOST_WORDS, IdCodes
from cranfield.types import Array

FILES = 3000


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "fuzz_tables.py"
    spec = importlib.util.spec_from_file_location("fuzz_tables", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_tables"] = script  # its dataclass looks there
    spec.loader.exec_module(script)
    return script


def test_mutated_files_are_the_same_by_columns_and_by_lines(fuzz: ModuleType) -> None:
    found: Counter[str] = Counter()
    for case in fuzz.cases(seed=3, count=FILES):
        answer = fuzz.disagreement(case)
        assert answer in ("", fuzz.DECLINED), (answer, case)
        found[answer] += 1
    assert found[""] > FILES / 4  # or the comparison says little


def block_of(texts: list[bytes]) -> tuple[Array, Array, Array]:
    ends = MARGIN + np.cumsum([len(text) + 1 for text in texts]) - 1
    block = np.frombuffer(b"\n" * MARGIN + b";".join(texts) + b"\n" * MARGIN, np.uint8)
    return block, ends - [len(text) for text in texts], ends


def numbers(draw: random.Random, count: int) -> list[str]:
    digits = "".join(draw.choices("0123456789", k=18))
    some = [
        lambda: repr(draw.random()),
        lambda: repr(-draw.random() * 10 ** draw.randrange(10)),
        lambda: f"{draw.random():.{draw.randrange(21)}f}",
        lambda: str(draw.randrange(-(10**18), 10**18) // 10 ** draw.randrange(18)),
        lambda: repr(struct.unpack("d", draw.randbytes(8))[0]),
        lambda: digits[: draw.randrange(10)] + "." + digits[draw.randrange(18) :],
        lambda: "".join(draw.choices("0123456789.-+e_ x/:\x80\xff", k=draw.randrange(12))),
    ]
    return [draw.choice(some)() for _ in range(count)]


@pytest.mark.parametrize("strict", [False, True])
def test_decimals_are_those_of_python_or_left_to_it(strict: bool) -> None:
    texts = numbers(random.Random(5), 40_000)
    values, doubtful = parse_decimals(*block_of([text.encode("latin-1") for text in texts]), strict=strict)
    read = json.loads if strict else float
    for text, value in zip(np.array(texts)[~doubtful], values[~doubtful], strict=True):
        assert struct.pack("d", read(str(text))) == struct.pack("d", value), text
    usual = [not left for text, left in zip(texts, doubtful, strict=True) if text.startswith("0.") and len(text) < 20]
    assert np.mean(usual) > 0.95


@pytest.mark.parametrize("longest", [3, 8, 9, 40, 8 * MOST_WORDS + 9])
def test_codes_stand_for_the_ids_that_were_coded(longest: int) -> None:
    draw = random.Random(longest)
    pool = [bytes(draw.choices(b"ab \xc3\xa909", k=draw.randrange(longest + 1))) for _ in range(2000)]
    codes = IdCodes()
    for count in (0, 1, 7, 3000, 5000):
        ids = draw.choices(pool, k=count)
        ids = sorted(ids) if draw.random() < 0.5 else ids
        coded = codes.code(*block_of(ids)).tolist() if ids else []
        assert [codes.ids[code] for code in coded] == ids
    assert len(set(codes.ids)) == len(codes.ids)
