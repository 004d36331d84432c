"""Every reader on mutated files: each file is read, or refused by one of cranfield's own errors, in good time.

    python scripts/fuzz_readers.py --files 1000000 --workers 2

Good files of every kind that is read (runs, judgments, intents, probabilities, teams, score tables in every format,
workbooks, files of other tools, packed collections and scores, studies) are changed in some bytes; one in ten is
gzipped as well. What is counted as a fault: any other exception, the end of the process, and more than two seconds. The
same seed gives the same files. Some damaged Parquet files make Polars abort the process; these are counted apart.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.errors import CranfieldError

PATIENCE = 2.0  # seconds for one small file
TOOLS = Path(__file__).parents[1] / "tests" / "adapters" / "files"
AT_ONCE = 10_000  # files of one process
ABORTED = "aborted"  # by Polars: the command says so in one line, a library cannot
MARKS = (
    *(b"\n", b"\r\n", b"\t", b" ", b",", b'"', b"'", b"\0", b"\x1b", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"#", b"{"),
    *(
        b"}",
        b"[",
        b"]",
        b":",
        b"null",
        b"NaN",
        b"inf",
        b"-inf",
        b"1e999",
        b"1e-400",
        b"-0",
        b"1_0",
        b"0x1p3",
        b"9" * 40,
    ),
    *(b"all", b"\\ud800", b"\xed\xa0\x80", b"a" * 3000, b"[" * 500, b"true", b"\xe2\x80\xae", b"=cmd", b"\x85"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: a good one, the ending of its name, and what reads it."""

    name: str
    ending: str
    good: bytes
    read: Callable[[str], Any]


@dataclass
class Tally:
    """What became of some files."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.outcomes += other.outcomes
        self.slowest = max(self.slowest, other.slowest)
        self.faults += other.faults


def kinds(folder: Path) -> list[Kind]:
    """Small good files of every kind."""
    cf.write_example(str(folder), seed=3)
    runs = sorted((folder / "runs").iterdir())[:2]
    qrels, intents, teams = (str(folder / name) for name in ("qrels.txt", "intents.txt", "teams.tsv"))
    run = _lines(runs[0], 60)
    small = folder / "small"
    small.write_bytes(run)
    collection = cf.read_collection([small], qrels, intents=intents)
    table = cf.score(collection, measure=["AP", "P@10"]).table
    made = {ending: folder / f"scores{ending}" for ending in (".csv", ".tsv", ".json", ".parquet")}
    for path in made.values():
        cf.write_scores(table, path)
    cf.write_scores(table, folder / "wide.csv", wide=True)
    cf.pack(str(made[".csv"]), out=str(folder / "scores.cran"))
    collection.save(folder / "collection.cran")
    halves = folder / "halves.txt"
    halves.write_bytes(b"".join(_half(line) for line in _lines(Path(qrels), 60).splitlines()))
    cf.read_collection([small], halves).save(folder / "halves.cran")
    cf.study_new(
        str(folder / "any.study"), difference=0.2, sd=0.1, plan="fixed", system="a", baseline="b", measure="AP"
    )
    rows = b"".join(b'{"topic":"%d","system":"a","score":0.%d}\n' % (at, at) for at in range(1, 20))
    many = [
        Kind("run", ".txt", run, lambda path: cf.read_collection(path, qrels)),
        Kind("judgments", ".txt", _lines(Path(qrels), 60), lambda path: cf.read_collection(str(small), path)),
        Kind("fractional judgments", ".txt", halves.read_bytes(), lambda path: _use_judgments(str(small), path)),
        Kind("intents", ".txt", _lines(Path(intents), 60), lambda path: cf.read_collection(str(small), intents=path)),
        Kind("teams", ".tsv", Path(teams).read_bytes(), lambda path: cf.read_collection(str(small), qrels, teams=path)),
        Kind("JSON lines", ".jsonl", rows, cf.read_scores),
        Kind("wide scores", ".csv", (folder / "wide.csv").read_bytes(), cf.read_scores),
        *(Kind(f"scores{ending}", ending, path.read_bytes(), cf.read_scores) for ending, path in made.items()),
        Kind("packed scores", ".cran", (folder / "scores.cran").read_bytes(), _use_scores),
        Kind("packed collection", ".cran", (folder / "collection.cran").read_bytes(), _use_collection),
        Kind("packed fractional grades", ".cran", (folder / "halves.cran").read_bytes(), _use_collection),
        Kind("study", ".study", (folder / "any.study").read_bytes(), cf.study_log),
        Kind(
            "usual names",
            ".csv",
            b"qid;run;nDCG\n" + b"".join(b"%d;a;0,%d\n" % (at, at) for at in range(1, 20)),
            cf.read_scores,
        ),
        *(Kind(path.name, path.suffix, path.read_bytes(), cf.read_scores) for path in tool_files()),
        *_workbooks(table),
    ]
    return [*many, *(Kind(f"check of {each.name}", each.ending, each.good, cf.check) for each in many)]


def tool_files() -> list[Path]:
    """A small file of every other tool."""
    others = ("model_meta", "run_settings", "ragas-large", "trec_eval-2", "MadeUpTwo")
    return [
        path
        for path in sorted(TOOLS.rglob("*.*"))
        if path.suffix in (".csv", ".json", ".jsonl", ".eval", ".txt")
        and path.stem not in others
        and "demo__small" not in path.parts
    ]


def _workbooks(table: cf.ScoreTable) -> Iterator[Kind]:
    """A workbook, where it can be written."""
    try:
        import openpyxl
    except ImportError:
        return
    book = openpyxl.Workbook()
    for row in (table.columns, *list(table.rows())[:40]):
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    yield Kind("workbook", ".xlsx", stream.getvalue(), cf.read_scores)


def _lines(path: Path, count: int) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[:count])


def _half(line: bytes) -> bytes:
    """A judgment with half of its grade."""
    *fields, grade = line.split()
    return b" ".join([*fields, repr(int(grade) / 2).encode()]) + b"\n"


def _use_judgments(run: str, path: str) -> Any:
    """Read judgments, in which every grade is a number."""
    collection = cf.read_collection(run, path)
    assert all(abs(grade) < 2**31 for *_, grade in collection.judgments())
    return cf.score(collection, measure=["AP", "nDCG@10"])


def _use_scores(path: str) -> Any:
    return cf.read_scores(path).values.sum()


def _use_collection(path: str) -> Any:
    return cf.score(cf.open_collection(path), measure=["AP", "nDCG@10", "Bpref"])


def mutated(good: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, put in, taken out, repeated or cut off."""
    data = bytearray(good)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0:
                data[at:at] = rng.choice(MARKS)
            case 1:
                del data[at : at + rng.choice((1, 1, 3, 40))]
            case 2:
                data[at : at + 1] = rng.choice(MARKS)
            case 3:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 4:
                data[at:at] = data[at : at + rng.choice((5, 80, 400))]
            case 5:
                del data[at:]
            case 6:
                start = data.rfind(b"\n", 0, at) + 1
                line = data[start : data.find(b"\n", start) + 1]
                data[start:start] = line
    return gzip.compress(bytes(data), mtime=0) if rng.random() < 0.1 else bytes(data)


def try_some(seed: int, left_out: str | None, numbers: range) -> None:
    """Try some files, each by the reader of its kind, and print a line for each: its kind, and what became of it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "good").mkdir()
        every = [kind for kind in kinds(folder / "good") if left_out is None or left_out not in kind.name]
        for number in numbers:
            rng = random.Random(f"{seed} {number}")
            kind = every[number % len(every)]
            path = folder / f"any{kind.ending}"
            path.write_bytes(mutated(kind.good, rng))
            print(kind.name, end="\t", flush=True)  # the last that is heard of it where the process ends
            print(*_try_one(kind, str(path)), sep="\t", flush=True)


def _try_one(kind: Kind, path: str) -> tuple[str, float, str]:
    """What became of a file, in how many seconds, and why if it is a fault."""
    began, why = time.perf_counter(), ""
    try:
        with _alarm():
            kind.read(path)
        outcome = "read"
    except CranfieldError:
        outcome = "refused"
    except BaseException as error:  # Polars' own panic is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome, why = "FAULT", repr(f"{type(error).__name__}: {str(error)[:200]}")
    return outcome, round(time.perf_counter() - began, 3), why


class _alarm:  # noqa: N801
    """An exception where one file takes far too long; what is merely slow is seen from the slowest."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, 10 * PATIENCE)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def _ring(*_: object) -> None:
        raise TimeoutError("it hangs")


def parts(files: int) -> Iterator[range]:
    for first in range(0, files, AT_ONCE):
        yield range(first, min(first + AT_ONCE, files))


def tally_part(seed: int, left_out: str | None, numbers: range) -> Tally:
    """What became of some files, in a process of their own; where it ends, another goes on after that file."""
    tally, first = Tally(), numbers.start
    while first < numbers.stop:
        command = [sys.executable, __file__, "--seed", str(seed), "--part", f"{first}:{numbers.stop}"]
        command += ["--leave-out", left_out] if left_out else []
        done = subprocess.run(command, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            name, outcome, seconds, why = [*line.split("\t"), "", "", "", ""][:4]
            if not outcome:
                is_known = done.returncode == -signal.SIGABRT and "parquet" in name
                outcome, why = (ABORTED, "") if is_known else ("FAULT", f"the process ended: {done.returncode}")
            tally.outcomes[name, outcome] += 1
            tally.slowest = max(tally.slowest, (float(seconds or 0), f"{first} ({name})"))
            tally.faults += [f"{first} ({name}): {why}"] if why else []
            first += 1
        if done.returncode == 0:
            return tally
        if not done.stdout:
            raise SystemExit(done.stderr)
    return tally


def fuzz(files: int, seed: int, workers: int, left_out: str | None = None) -> Tally:
    whole, done = Tally(), 0
    with ThreadPoolExecutor(workers) as pool:
        for some in pool.map(partial(tally_part, seed, left_out), parts(files)):
            whole.add(some)
            done += AT_ONCE
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{min(done, files):,} of {files:,}")
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--leave-out", metavar="WORD", help="kinds of files with this in their name, such as parquet")
    parser.add_argument("--part", metavar="FROM:TO", help="try only these of the files, and print a line for each")
    options = parser.parse_args()
    if options.part:
        try_some(options.seed, options.leave_out, range(*map(int, options.part.split(":"))))
        return
    found = fuzz(options.files, options.seed, options.workers, options.leave_out)
    for name in sorted({name for name, _ in found.outcomes}):
        counts = {outcome: found.outcomes[name, outcome] for outcome in ("read", "refused", ABORTED, "FAULT")}
        print(f"{name:28}", "  ".join(f"{outcome} {count:,}" for outcome, count in counts.items()))
    print(f"slowest: {found.slowest[0]:.2f} s, file {found.slowest[1]}")
    print("\n".join(found.faults[:50]) or "no fault")
    raise SystemExit(1 if found.faults or found.slowest[0] > PATIENCE else 0)


if __name__ == "__main__":
    main()
