"""Score files read by columns are what they are when read line by line; numbers are bit for bit those of Python."""

from __future__ import annotations

import json
import pickle
import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.formats.text_blocks import MARGIN, MOST_WORDS, IdCodes, parse_decimals
from cranfield.scores import ScoreTable, read_scores
from cranfield.scores.frames import make_frame
from cranfield.types import Array
from sizes import sized

FILES = sized(800, 3000)


@pytest.fixture(scope="module")
def fuzz(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("fuzz_tables")


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


# --- frames


def frames(draw: random.Random) -> tuple[dict[str, list[Any]], str | None]:
    """The columns of a frame, long or wide or with other names, with gaps and repeats now and then."""
    names = ["q1", "q2", "q10", "a b", "ä", "1x"], ["q1", "a b", " x", "b\x1f", "c\u2003"], ["10", "09", "07", "9", "x"]
    topics: list[Any] = draw.sample(draw.choice(names), 4) if draw.random() < 0.7 else [3, 20, 1, 100]
    if draw.random() < 0.5:
        topics.sort()
    if draw.random() < 0.02:
        topics = ["" if draw.random() < 0.5 else "z\0", *map(str, topics)]
    systems = draw.sample(["s1", "s2", "10", "7"], 3)
    cells = [(topic, system) for topic in topics for system in systems]
    if draw.random() < 0.3:
        draw.shuffle(cells)
    if draw.random() < 0.1:
        cells.append(cells[0])
    scores = [draw.choice((0.5, draw.random(), 1.0, 0.0)) for _ in cells]
    numbers = [None if draw.random() < 0.02 else score for score in scores]
    long: dict[str, list[Any]] = {
        "topic": [each for each, _ in cells],
        "system": [each for _, each in cells],
        "score": numbers,
    }
    if draw.random() < 0.4:
        long["run"] = [at % 2 if draw.random() < 0.95 else None for at in range(len(cells))]
        return long, draw.choice(("mean=run", "seed=run", "system=system+run", "score=*", "topic=system,system=topic"))
    if draw.random() < 0.3:
        wide = {name: [draw.random() for _ in topics] for name in systems}
        return {"topic": topics, **wide}, draw.choice((None, "system=*"))
    if draw.random() < 0.3:
        long["measure"] = [draw.choice(("AP", "RR")) for _ in cells]
    return long, None


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_the_same_by_columns_and_by_rows(
    backend: str, fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, read = random.Random(9), Counter[str]()
    for _ in range(300):
        columns, given = frames(draw)
        frame = make_frame(columns, backend)
        by_columns = outcome(frame, given)
        with monkeypatch.context() as patch:
            patch.setattr("cranfield.scores.frames.table_by_columns", lambda *_, **__: None)
            by_rows = outcome(frame, given)
        if isinstance(by_columns, str) or isinstance(by_rows, str):
            assert by_columns == by_rows
            continue
        read["table"] += 1
        for name, look in fuzz.LOOKS.items():
            assert look(by_columns) == look(by_rows), (name, columns, given)
    assert read["table"] > 100


@pytest.mark.parametrize("cells", [1, 3, 7, 20])
def test_a_parquet_file_is_the_same_in_parts_and_by_rows(
    cells: int, fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, read, file = random.Random(cells), Counter[str](), str(tmp_path / "scores.parquet")
    monkeypatch.setattr("cranfield.scores.frames.CELLS", cells)
    for _ in range(sized(40, 120)):
        columns, given = frames(draw)
        make_frame(columns, "polars").write_parquet(file)
        in_parts = outcome(file, given)
        with monkeypatch.context() as patch:
            patch.setattr("cranfield.scores.frames.table_by_columns", lambda *_, **__: None)
            patch.setattr("cranfield.scores.score_files.table_by_columns", lambda *_, **__: None)
            by_rows = outcome(file, given)
        if isinstance(in_parts, str) or isinstance(by_rows, str):
            assert in_parts == by_rows
            continue
        read["table"] += 1
        read["unread"] += "topics" not in vars(in_parts)
        for name, look in fuzz.LOOKS.items():
            found, expected = (repr(look(table)).replace(f"{file}, ", "") for table in (in_parts, by_rows))
            assert found == expected, (name, columns, given)
    assert read["table"] > sized(12, 40)
    assert read["unread"] > sized(0, 3)


def outcome(data: object, given: str | None) -> ScoreTable | str:
    try:
        return read_scores(data, columns=given) if isinstance(data, str) else ScoreTable.from_frame(data, columns=given)
    except CranfieldError as error:
        return str(error)


def test_names_of_topics_that_nobody_asked_for_are_those_of_the_file(tmp_path: Path) -> None:
    file, topics = tmp_path / "scores.parquet", [f"q{at:04}" for at in range(5000)]
    make_frame({"topic": topics, "b": [at % 7 / 7 for at in range(5000)], "a": [0.5] * 5000}, "polars").write_parquet(
        file
    )
    table = read_scores(file)
    same = pickle.loads(pickle.dumps(table.replaced(measures=("AP",)).select(measures=["AP"])))
    assert (table.topic_count, table.has_topic("q0007"), table.has_topic("all")) == (5000, True, False)
    assert "topics" not in vars(same)
    assert same.topics == tuple(topics)
    assert table.select(topics=["q0007", "q0003"]).of()[:, 1].tolist() == [0.0, 3 / 7]


def test_repeats_are_averaged_without_a_table_that_has_them_apart() -> None:
    """Each of 60,000 rows has its own time stamp: a cube of them all would have 3.6 · 10⁹ cells."""
    rows = 60_000
    frame = make_frame(
        {
            "topic": [f"q{at % 200}" for at in range(rows)],
            "model": [f"m{at // 200 % 20}" for at in range(rows)],
            "stamp": [float(at) for at in range(rows)],
            "score": [at % 7 / 7 for at in range(rows)],
        },
        "polars",
    )
    table = ScoreTable.from_frame(frame, columns="system=model,mean=stamp")
    mine = [at % 7 / 7 for at in range(rows) if at % 200 == 3 and at // 200 % 20 == 5]
    assert table.values.shape == (1, 200, 20, 1)
    assert table.of()[table.topics.index("q3"), table.systems.index("m5")] == pytest.approx(np.mean(mine), abs=1e-14)


@pytest.mark.parametrize("role", ["score=*", "system=*"])
@pytest.mark.parametrize("heading", ["", " "])
def test_numbers_without_a_heading_are_refused(role: str, heading: str, tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text(f"{heading},qid,a,b\n0,1,0.5,0.25\n1,2,0.5,0.75\n")
    with pytest.raises(InputError, match="a column of numbers has no heading") as refusal:
        read_scores(file, columns=f"topic=qid,{role}")
    assert refusal.value.where == str(file)
    assert read_scores(file, columns="topic=qid,score=a,score=b").measures == ("a", "b")
