"""Files that are cut short while they are read end in an answer or in a refusal, never in a signal."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, InputError, RequestError
from cranfield.formats.text import open_bytes, read_bytes
from cranfield.scores import ScoreTable, read_scores, stored, write_scores
from cranfield.scores.score_files import pack_scores, parse_scores
from sizes import sized

TRIES = sized(6, 50)
TOPICS, SYSTEMS = tuple(f"q{at:04}" for at in range(800)), tuple(f"system{at:02}" for at in range(40))

# What reads every kind of file: «{name}» is the file.
READERS = {
    "long.csv": "read_scores({name!r})",
    "long.tsv": "read_scores({name!r})",
    "other.csv": "read_scores({name!r}, columns='topic=question,system=who,score=worth')",
    "wide.csv": "read_scores({name!r}, measure='AP')",
    "wide.csv.gz": "read_scores({name!r}, measure='AP')",
    "lines.jsonl": "read_scores({name!r})",
    "whole.json": "read_scores({name!r})",
    "long.parquet": "read_scores({name!r})",
    "wide.parquet": "cf.pack({name!r}, out='packed-again.cran')",
    "trec_eval.txt": "read_scores({name!r})",
    "table.xlsx": "read_scores({name!r})",
    "scores.cran": "cf.simulate({name!r}, topics=20, resampling={{'seed': 1}})",
    "a.run": "cf.score({name!r}, qrels='a.qrels', measure='AP')",
    "b.run.gz": "cf.score({name!r}, qrels='a.qrels', measure='AP')",
    "a.qrels": "cf.score('c.run', qrels={name!r}, measure='AP')",
    "runs.cran": "cf.score({name!r}, measure='AP')",
    "run.parquet": "cf.score({name!r}, qrels='c.qrels', measure='AP')",
}
CHILD = """
import sys
import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.scores import read_scores, score_files, stored
stored.LARGE = score_files.LARGE = stored.BLOCK = 1000
stored.MOST_READ = 2000
for line in sys.stdin:
    name, call = line.rstrip("\\n").split("\\t")
    print(name, end=" ", flush=True)
    for _ in range({tries}):
        try:
            eval(call)
        except CranfieldError:
            pass
    print("read", flush=True)
"""


def run_lines(documents: int) -> str:
    lists = (
        f"{topic} Q0 doc{(at * 37 + number) % 90_000} {at} {9.5 - at / 1000:.4f} mine\n"
        for number, topic in enumerate(TOPICS[:50])
        for at in range(documents)
    )
    return "".join(lists)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    polars, xlsxwriter = pytest.importorskip("polars"), pytest.importorskip("xlsxwriter")
    inside = tmp_path_factory.mktemp("shrinking")
    values = np.random.default_rng(1).random((1, len(TOPICS), len(SYSTEMS), 1))
    table = ScoreTable(("AP",), TOPICS, SYSTEMS, values)
    for name in ("long.csv", "long.tsv", "whole.json", "long.parquet"):
        write_scores(table, inside / name)
    for name in ("wide.csv", "wide.csv.gz", "wide.parquet"):
        write_scores(table, inside / name, wide=True)
    if "measure" in polars.read_parquet_schema(inside / "wide.parquet"):
        polars.read_parquet(inside / "wide.parquet").drop("measure").write_parquet(inside / "wide.parquet")
    pack_scores(table, inside / "scores.cran")
    rows = [(row[1], row[2], row[-1]) for row in table.rows()]
    lines = [f'{{"topic": "{topic}", "system": "{system}", "score": {score}}}' for topic, system, score in rows]
    (inside / "lines.jsonl").write_text("\n".join(lines))
    others = "".join(f"{topic},{system},{score}\n" for topic, system, score in rows)
    (inside / "other.csv").write_text(f"question,who,worth\n{others}")
    output = "".join(f"map                   \t{topic}\t{score:.4f}\n" for topic, _, score in rows[::40])
    (inside / "trec_eval.txt").write_text(f"runid                 \tall\tmine\n{output}")
    book = xlsxwriter.Workbook(inside / "table.xlsx")
    sheet = book.add_worksheet()
    for at, row in enumerate([("topic", "system", "score"), *rows[:2000]]):
        sheet.write_row(at, 0, row)
    book.close()
    for name in ("a.run", "c.run"):
        (inside / name).write_text(run_lines(400))
    (inside / "b.run.gz").write_bytes(gzip.compress(run_lines(400).encode()))
    qrels = "".join(
        f"{topic} 0 doc{at * 37 + number} 1\n" for number, topic in enumerate(TOPICS[:50]) for at in range(99)
    )
    for name in ("a.qrels", "c.qrels"):
        (inside / name).write_text(qrels)
    cf.pack(str(inside / "c.run"), qrels=str(inside / "c.qrels"), out=str(inside / "runs.cran"))
    listed = [line.split() for line in run_lines(200).splitlines()]
    columns = {name: [fields[at] for fields in listed] for at, name in ((0, "qid"), (2, "docno"))}
    scores = [float(fields[4]) for fields in listed]
    polars.DataFrame({**columns, "score": scores}).write_parquet(inside / "run.parquet")
    return inside


def test_every_reader_reads_its_file_when_it_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name, call in READERS.items():
        eval(call.format(name=name), {"cf": cf, "read_scores": read_scores})


def test_a_file_that_shrinks_while_it_is_read_ends_no_process(folder: Path) -> None:
    whole = {name: (folder / name).read_bytes() for name in READERS}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(tries=TRIES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        text=True,
    )
    stop, draw = threading.Event(), random.Random(1)

    def shrink() -> None:
        """Every file again and again cut at a random place, and written as it was, in the same place."""
        while not stop.is_set():
            for name, data in whole.items():
                os.truncate(folder / name, draw.randrange(len(data)))
            stop.wait(draw.random() / 200)
            for name, data in whole.items():
                with open(folder / name, "r+b") as stream:
                    stream.write(data)
            stop.wait(draw.random() / 100)

    cutting = threading.Thread(target=shrink)
    cutting.start()
    try:
        said, _ = child.communicate("".join(f"{name}\t{call.format(name=name)}\n" for name, call in READERS.items()))
    finally:
        stop.set()
        cutting.join()
    assert (child.returncode, said) == (0, "".join(f"{name} read\n" for name in READERS))


@pytest.mark.skipif(not hasattr(os, "pread"), reason="files are read as a whole there")
def test_a_table_that_is_shorter_than_when_it_was_opened_is_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("long.csv", "lines.jsonl", "long.parquet"):
        file = tmp_path / name
        file.write_bytes((folder / name).read_bytes())
        data = open_bytes(file)
        os.truncate(file, len(data) // 2)
        with pytest.raises(InputError, match="cut short while it was read"):
            parse_scores(data, str(file))


def test_the_slices_of_a_file_are_those_of_its_bytes(folder: Path) -> None:
    lazy, whole = open_bytes(folder / "long.csv"), read_bytes(folder / "long.csv")
    assert len(lazy) == len(whole)
    for part in (slice(0, 9), slice(5, 5), slice(-7, None), slice(None), slice(9, 10**9), slice(7, 3)):
        assert lazy[part] == whole[part]


def test_scores_that_are_mapped_are_those_of_a_copy(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "scores.cran"
    file.write_bytes((folder / "scores.cran").read_bytes())
    child = (
        "import os, sys\nfrom cranfield.scores import read_scores, score_files, stored\n"
        "score_files.LARGE = stored.LARGE = stored.MOST_READ = 1000\n"
        "values = read_scores(sys.argv[1]).values\nos.truncate(sys.argv[1], 100)\nprint(values.sum())"
    )
    found = subprocess.run([sys.executable, "-c", child, str(file)], capture_output=True, text=True, check=True)
    assert float(found.stdout) == pytest.approx(read_scores(folder / "scores.cran").values.sum())


def test_where_there_is_no_room_for_a_copy_it_says_how_much_is_needed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = stored.open_stored(folder / "scores.cran")
    monkeypatch.setattr(stored, "MOST_READ", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(RequestError, match="TMPDIR"):
        opened.scores.whole()


def test_a_table_that_cannot_be_copied_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CranfieldError):
        cf.pack(str(folder / "wide.parquet"), out=str(tmp_path / "nowhere" / "out.cran"))
