"""Coverage-guided fuzzing of the compiled scanner: libFuzzer changes inputs so that they reach new code in `_scan.c`.

    python scripts/fuzz_scanner.py --seconds 3600

The scanner is built with the address sanitizer and the one for undefined behaviour. Of every input the first byte names
the entry point, the second the allocation that fails, the third holds options, and the rest is read. What the scanner
accepts has to be what the careful reader reads; what it refuses has to leave its vocabulary as it was. The first fault
ends the run, and its input is kept in the folder: `python scripts/fuzz_scanner.py --input FILE` tries it alone with the
ordinary scanner. `--keep` writes the fewest inputs that cover as much as all into the corpus of the tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.formats import _scan
from cranfield.formats.problems import Severity
from cranfield.formats.qrels import inspect_qrels
from cranfield.formats.runs import Order, RunLines, inspect_run, parse_numbers, parse_runs
from cranfield.formats.scan import JudgedDocuments, JudgedRun, Scanner
from cranfield.formats.text import LONGEST_LINE

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "data" / "scanner_corpus" / "inputs.txt"
KEY = bytes(range(16))  # no secret here: the same input takes the same path
LONGEST_INPUT = 1024
MANY = [b"known%d" % number for number in range(2047)]  # with two more ids the table of a vocabulary is widened

# --- entry points: options, and what is read


def read_run(options: int, body: memoryview) -> None:
    """A run as the commands read it; what is accepted is what the careful reader reads."""
    order, scanner, data = (Order.SCORE, Order.RANK)[options & 1], _scanner(), bytes(body)
    known = scanner.vocabulary.ids()
    run = scanner.scan(data, "run", order, with_ranks=bool(options & 2))
    ids = scanner.vocabulary.ids()
    if run is None:
        return
    lines, problems = inspect_run(data, "run", order=order)
    _refuse_errors(problems, allowed={"duplicate-document"})
    assert ids == list(dict.fromkeys([*known, *lines.documents]))
    assert [ids[code] for code in run.codes.tolist()] == list(lines.documents)
    assert np.repeat(np.array(run.topics, object), np.diff(run.edges)).tolist() == list(lines.topics)
    assert run.keys.tobytes() == np.array(lines.keys, float).tobytes()
    assert run.tags == lines.tags
    if options & 2:
        assert run.ranks.tobytes() == np.array(parse_numbers(lines.ranks), float).tobytes()


def read_judgments(options: int, body: memoryview) -> None:
    """Judgments as the commands read them."""
    scanner, data = _scanner(), bytes(body)
    judged = scanner.scan_judgments(data, "qrels")
    if judged is None:
        return
    lines, problems = inspect_qrels(data, "qrels", intents=False)
    _refuse_errors(problems)
    ids = scanner.vocabulary.ids()
    assert [judged.topics[topic] for topic in judged.topic.tolist()] == lines.topics
    assert [ids[code] for code in judged.codes.tolist()] == lines.documents
    assert judged.grades.tolist() == lines.grades


def scan_anything(options: int, body: memoryview) -> None:
    """Lines of any width, any field as the key or the rank, lines of any length."""
    vocabulary = _scan.Vocabulary(KEY)
    known = [b"d1", b"known"] if options & 2 else []
    vocabulary.code(known)
    width, key, rank, longest = _signed(body, 4)
    longest = LONGEST_LINE if options & 1 else longest
    data = body[4:]
    possible = 3 <= width <= 6 and 0 <= key < width and rank < width and longest >= 0
    try:
        with _all_or_nothing(vocabulary):
            found = vocabulary.scan(data, width, key, rank, longest)
    except ValueError:
        assert not possible
        return
    assert possible
    if found is None:
        assert vocabulary.ids() == known
        return
    _, topics, edges, codes, keys, ranks, left = found
    rows, ids = _rows(data, longest), vocabulary.ids()
    assert {len(row) for row in rows} == {width}
    lengths = np.diff(np.frombuffer(edges, np.int64))
    assert np.repeat(np.array(topics, object), lengths).tolist() == [row[0] for row in rows]
    assert [ids[code] for code in np.frombuffer(codes, np.int32).tolist()] == [row[2] for row in rows]
    unread = {(field, line): (start, size) for field, line, start, size in np.frombuffer(left, np.int64).reshape(-1, 4)}
    for (field, line), (start, size) in unread.items():
        assert bytes(data[start : start + size]) == rows[line][field]
    for field, column in ((key, keys), (rank, ranks)):
        texts = [row[field] for row in rows] if field >= 0 else []
        expected = [np.nan if (field, line) in unread else float(text) for line, text in enumerate(texts)]
        assert column == np.array(expected, float).tobytes()


def _rows(data: memoryview, longest: int) -> list[list[bytes]]:
    """The fields of lines, of which none is too long."""
    lines = bytes(data).split(b"\n")
    assert max(map(len, lines)) <= longest
    return [fields for line in lines if (fields := line.split())]


def code_ids(options: int, body: memoryview) -> None:
    """Ids one by one, as bytes or text; entered into another vocabulary, and sorted."""
    vocabulary, other = _scan.Vocabulary(KEY), _scan.Vocabulary(KEY)
    known = MANY if options & 2 else []
    vocabulary.code(known)
    other.code(MANY if options & 4 else [])
    given: list[Any] = bytes(body).split(b"\n")
    if options & 1:
        given = [_text(name) for name in given]
    try:
        with _all_or_nothing(vocabulary):
            codes = np.frombuffer(vocabulary.code(given), np.int32).tolist()
    except ValueError:
        assert not all(map(_is_id, given))
        return
    assert all(map(_is_id, given))
    names = [name if isinstance(name, bytes) else name.encode() for name in given]
    ids = vocabulary.ids()
    assert ids == list(dict.fromkeys([*known, *names]))
    assert [ids[code] for code in codes] == names
    with _all_or_nothing(other):
        entered = np.frombuffer(other.enter(vocabulary), np.int32).tolist()
    entries = other.ids()
    assert [entries[code] for code in entered] == ids
    text, edges, places = (np.frombuffer(part, kind) for part, kind in zip(vocabulary.sorted(), "Bqi", strict=True))
    ordered = [text[start:end].tobytes() for start, end in pairwise(edges)]
    assert ordered == sorted(ids)
    assert [ordered[place] for place in places.tolist()] == ids


def make_judgments(options: int, body: memoryview) -> None:
    """Judgments from any bytes: the number of topics, edges and codes, also where they begin amid other bytes."""
    topics, size = (bytes(body[:2]) + b"\0\0")[:2]
    edges, codes = body[2 : 2 + size], body[2 + size :]
    if not options & 1:
        edges, codes = memoryview(bytes(edges)), memoryview(bytes(codes))
    starts = np.frombuffer(bytes(edges[: len(edges) // 8 * 8]), np.int64).tolist()
    rows = np.frombuffer(bytes(codes[: len(codes) // 4 * 4]), np.int32).tolist()
    vocabulary, known = _scan.Vocabulary(KEY), 3
    vocabulary.code([b"d1", b"d2", b"a much longer name of a document"])
    possible = len(edges) == 8 * (topics + 1) and starts[0] == 0 and starts[-1] == len(rows)
    possible = possible and starts == sorted(starts) and all(0 <= row < known for row in rows)
    possible = possible and _address(edges) % 8 == 0 and _address(codes) % 4 == 0
    try:
        made = vocabulary.judgments([b"%d" % topic for topic in range(topics)], edges, codes)
    except ValueError:
        assert not possible
        return
    assert possible
    assert made.scan(b"1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n", 4, 99) is not None


def read_judged_documents(options: int, body: memoryview) -> None:
    """Of a run, what is judged: names that are judged, a zero byte, the run."""
    names, _, data = bytes(body).partition(b"\0")
    documents = _judged(names)
    found = documents.scan(data, "run")
    if found is not None:
        (lines,) = parse_runs(data, "run")
        _compare_judged(found, documents.look_up(lines))


def scan_judged_documents(options: int, body: memoryview) -> None:
    """The same from memory that ends where the run does, by any field and with lines of any length."""
    key, longest = _signed(body, 2)
    vocabulary = _scan.Vocabulary(KEY)
    longest = LONGEST_LINE if options & 1 else longest
    made = vocabulary.judgments([b"1"], np.array([0, 1]).tobytes(), vocabulary.code([b"d1"]))
    try:
        found = made.scan(body[2:], key, longest)
    except ValueError:
        assert not (0 <= key < 6 and longest >= 0)
        return
    if found is not None:
        rows = _rows(body[2:], longest)
        assert sum(np.frombuffer(found[2], np.int64).tolist()) == len(rows)
        assert {len(row) for row in rows} == {6}


def take_run(options: int, body: memoryview) -> None:
    """A run in memory, whose names and scores may be anything."""
    names, _, data = bytes(body).partition(b"\0")
    documents = _judged(names)
    run = _run_of(data)
    kept = {topic: dict(found) for topic, found in run.items() if isinstance(found, dict)}
    taken = documents.take(run, "run", "system")
    if taken is None or not run:  # emptied by one of its names
        return
    cells = [(topic, name, float(score)) for topic, found in kept.items() for name, score in found.items()]
    topics, ids, keys = zip(*((_bytes(topic), _bytes(name), score) for topic, name, score in cells), strict=True)
    _compare_judged(taken, documents.look_up(RunLines("run", (), topics, ids, (), keys, [b"system"])))


ENTRIES: tuple[Callable[[int, memoryview], None], ...] = (
    read_run,
    read_judgments,
    scan_anything,
    code_ids,
    make_judgments,
    read_judged_documents,
    scan_judged_documents,
    take_run,
)


def try_input(given: memoryview) -> None:
    """Give an input to its entry point; whatever is raised is a fault."""
    if len(given) < 3:
        return
    try:
        ENTRIES[given[0] % len(ENTRIES)](given[2], given[3:])
    except MemoryError:
        if not given[1]:
            raise


# --- what they share


@contextmanager
def _all_or_nothing(vocabulary: _scan.Vocabulary) -> Iterator[None]:
    """Where an entry ends in an error, none of its ids is kept."""
    known = vocabulary.ids()
    try:
        yield
    except (ValueError, MemoryError):
        assert vocabulary.ids() == known
        raise


def _scanner() -> Scanner:
    scanner = Scanner()
    scanner.vocabulary.compiled = _scan.Vocabulary(KEY)
    scanner.vocabulary.code([b"d1", b"known"])
    return scanner


def _judged(names: bytes) -> JudgedDocuments:
    """Judgments in which every name is a topic, and a document of every topic."""
    scanner = _scanner()
    topics = list(dict.fromkeys(names.split(b" ")))[:9]
    codes = np.tile(scanner.vocabulary.code(topics), len(topics))
    return JudgedDocuments(topics, np.arange(len(topics) + 1) * len(topics), codes, scanner.vocabulary)


def _compare_judged(one: JudgedRun, other: JudgedRun) -> None:
    assert one.topics == other.topics
    assert one.tags == other.tags
    for part in ("lengths", "edges", "ranks", "rows"):
        assert getattr(one, part).tolist() == getattr(other, part).tolist(), part


def _refuse_errors(problems: Sequence[Any], allowed: frozenset[str] | set[str] = frozenset()) -> None:
    assert {each.slug for each in problems if each.severity is Severity.ERROR} <= allowed


def _signed(some: memoryview, count: int) -> list[int]:
    """The first bytes as numbers from -128 to 127, zeros where there are none left."""
    return np.frombuffer(bytes(some[:count]).ljust(count, b"\0"), np.int8).tolist()


def _address(some: memoryview) -> int:
    return np.frombuffer(some, np.int8).ctypes.data if some.nbytes else 0


def _text(name: bytes) -> str:
    """Text that cannot be encoded where the bytes are none."""
    return name.decode("utf-8", "surrogateescape")


def _is_id(name: bytes | str) -> bool:
    if isinstance(name, bytes):
        return b"\0" not in name
    return "\0" not in name and bool(name.strip()) and not any("\ud800" <= letter <= "\udfff" for letter in name)


def _bytes(name: Any) -> bytes:
    return str(name).encode()


class Clearing:
    """A name or a score that empties the run while it is read."""

    def __init__(self, run: dict[Any, Any], text: str) -> None:
        self._run, self._text = run, text

    def _clear(self) -> None:
        for documents in self._run.values():
            if isinstance(documents, dict):
                documents.clear()
        self._run.clear()

    def __str__(self) -> str:
        self._clear()
        return self._text

    def __float__(self) -> float:
        self._clear()
        return float(self._text)


class Text(str):
    """Text of a kind of its own."""

    def isspace(self) -> bool:
        raise ZeroDivisionError


def _value(text: bytes, run: dict[Any, Any]) -> Any:
    """A name or a score of any kind; its first byte says which."""
    kinds: dict[bytes, Callable[[bytes], Any]] = {
        b"=": len,
        b"~": lambda _: None,
        b"<": lambda rest: rest,
        b"!": lambda rest: Clearing(run, _text(rest)),
        b"^": lambda rest: Text(_text(rest)),
        b"(": lambda rest: (_text(rest),),
        b"%": lambda rest: float(len(rest)) / 3,
        b"*": lambda rest: np.float32(len(rest)),
        b"&": lambda rest: 10 ** len(rest),
    }
    kind = kinds.get(text[:1])
    return _text(text) if kind is None else kind(text[1:])


def _run_of(data: bytes) -> dict[Any, Any]:
    """A run in memory: a line for each document, topic, name and score with tabs between."""
    run: dict[Any, Any] = {}
    for line in data.split(b"\n"):
        topic, document, score = [*line.split(b"\t", 2), b"", b""][:3]
        name = _value(topic, run)
        if document == b"[":
            run[name] = []
        elif isinstance(found := run.setdefault(name, {}), dict) and (document or score):
            found[_value(document, run)] = _score(score, run)
    return run


def _score(text: bytes, run: dict[Any, Any]) -> Any:
    try:
        return float(text)
    except ValueError:
        return _value(text, run)


# --- inputs to begin with

RUN = b"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 1.5 t\n2 Q0 d1 1 9 t\n2 Q0 a-longer-document-id 2 -3e2 t\n"
TIES = b"1 Q0 d1 1 1 t\n1 Q0 d10 2 1.0 t\n1 Q0 d2 3 2 t\n10 Q0 d1 1 -0 t\n10 Q0 d2 1 0 t\n10 Q0 d10 1 0e5 t\n"
MANY_LINES = b"".join(b"1  Q0\td%d 1 0.%d t\r\n" % (line, line) for line in range(40))  # not the usual spacing
NUMBERS = b"""5. +1 -0 1e22 1E-23 1e23 1e24 9007199254740993 9007199254740995.0 9007199254740993.0 99999999999999999999
    9999999999999999999.5 0.1000000000000000055511151231257827 0.1000000000000000000000000000000 1e999 nan 1_0 0x1 . e1
    1e+ 1e1x --1 .5""".split()
ODD = (b"#", b"\x01", b"\0", b"\x0b", b"\r", b"\xff", "é".encode(), b"x ", b"\xef\xbb\xbf", "%PDF-é".encode())
JUDGED = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 -2\n2 0 d4 0.5\n"
TAKEN = (
    b"1\td1\t2\n1\td2\t1\n2\td1\t3\n2\td10\t3\n2\td2\t3",
    b"1\td1\t!2\n!2\td1\t1\n2\t!d1\t1",
    b"=1\t=1\t=1\n1\t^1\t*1\n<1\t(1\t%1\n=1\t1\t0",
    b"1\td1\tnan\n1\t~\t1\n1\td2\tx\n1\td3\t~",
    b"1\t[\n2\td1\t&" + b"9" * 400,
    "1\t\u3000\t1\né\té\t1\n1".encode() + b"\xff\t\xff\t1",
)


def runs() -> Iterator[bytes]:
    """Runs that are in order, and others with one thing odd."""
    yield from (
        RUN,
        TIES,
        MANY_LINES,
        MANY_LINES + RUN,
        MANY_LINES + b"# no run\n" + RUN,
        RUN + b"\n\n",
        RUN[:-1],
        RUN + 6 * b"1 Q0 e 1 1 t\n",
    )
    yield from (RUN.replace(b"2.5", number) for number in NUMBERS)
    yield from (mark + RUN for mark in ODD)
    yield from (
        RUN.replace(old, new, 1) for old, new in ((b" t", b" tt"), (b"d2", b"d1"), (b"d1", b"d" * 70), (b"2 Q", b"Q"))
    )


def seeds() -> Iterator[bytes]:
    """Inputs for every entry point."""
    for run in runs():
        yield from (_input(read_run, run, option) for option in range(4))
        yield from (_input(scan_anything, bytes([6, 4, rank, longest]) + run) for rank, longest in ((3, 99), (255, 12)))
        yield from (_input(scan_judged_documents, bytes([4, longest]) + run) for longest in (99, 12))
        yield _input(read_judged_documents, b"1 2 10 d1 d10 d2\0" + run)
    yield _input(read_judgments, JUDGED)
    yield from (_input(scan_anything, bytes([width, 2, 255, 40]) + JUDGED) for width in (2, 3, 4, 5, 7))
    for option in range(8):
        yield _input(code_ids, "d1\nd2\nd1\né\n\u3000x\na-longer-document-id\na-longer-document-if".encode(), option)
    yield _input(code_ids, b"d1\n \n\xff", 1)
    edges, codes = np.array([0, 2, 3], np.int64).tobytes(), np.array([0, 1, 2], np.int32).tobytes()
    for some in (codes, codes[::-1], codes[:8] + b"\xff" * 4, codes[:8] + codes[4:8]):
        yield from (_input(make_judgments, bytes([2, 24]) + edges + some, option) for option in (0, 1))
    for taken in TAKEN:
        yield from (_input(take_run, b"1 2 d1 d10 d2\0" + part) for part in (taken, taken[: taken.index(b"\n")]))
    for entry in ENTRIES:
        yield from (bytes([ENTRIES.index(entry), failing, 0]) + b"1 2 d1\0" + RUN for failing in (1, 2, 3, 5, 8, 13))


def _input(entry: Callable[[int, memoryview], None], body: bytes, options: int = 0) -> bytes:
    return bytes([ENTRIES.index(entry), 0, options]) + body


def kept_inputs() -> list[bytes]:
    """The inputs of the tests, a line in base 64 for each."""
    return [b64decode(line) for line in CORPUS.read_text(encoding="ascii").split()]


# --- building and running

SANITIZERS = "-fsanitize=fuzzer,address,undefined"
NEEDED = (
    "fuzzing needs clang with libFuzzer and the headers of Python, of which {} is missing. On Debian or Ubuntu: "
    "apt-get install clang libclang-rt-dev python3-dev"
)


def find_clang() -> str | None:
    """A clang, `CLANG` first, then the newest."""
    versions = [f"clang-{version}" for version in range(30, 13, -1)]
    found = map(shutil.which, [os.environ.get("CLANG", "clang"), *versions])
    return next((path for path in found if path), None)


def what_is_missing(folder: Path) -> str | None:
    """What of clang, libFuzzer and Python's headers is not there."""
    clang = find_clang()
    if clang is None:
        return "clang"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "Python.h"
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / "trial.c"
    trial.write_text("int LLVMFuzzerTestOneInput(const char *data, long size) { return data == 0 && size; }\n")
    done = subprocess.run([clang, SANITIZERS, str(trial), "-o", str(folder / "trial")], capture_output=True)
    return "libFuzzer (libclang-rt)" if done.returncode else None


def build(folder: Path) -> Path:
    """The scanner with sanitizers, within a program that runs Python."""
    of = sysconfig.get_config_var
    program, scanner = folder / "fuzz_scanner", folder / "_scan.o"
    compiler = [str(find_clang()), "-g", "-O1", SANITIZERS, "-fno-sanitize-recover=all"]
    headers = f"-I{sysconfig.get_paths()['include']}"
    memory = [f"-D{name}=scanner_{name}" for name in ("malloc", "calloc", "realloc")]
    source = str(ROOT / "src" / "cranfield" / "formats" / "_scan.c")
    subprocess.run([*compiler, *memory, headers, "-c", source, "-o", str(scanner)], check=True)
    ours = [f'-DPYTHON="{sys.executable}"', headers, str(ROOT / "scripts" / "fuzz_scanner.c"), str(scanner)]
    library = [f"-L{of('LIBDIR')}", f"-Wl,-rpath,{of('LIBDIR')}", f"-lpython{of('LDVERSION')}", "-ldl", "-lm"]
    subprocess.run([*compiler, *ours, *library, "-o", str(program)], check=True)
    return program


def run_fuzzer(program: Path, arguments: Sequence[str], log: Path) -> int:
    """Run libFuzzer; what it says goes into the log."""
    paths = [str(ROOT / "src"), str(ROOT / "scripts"), *filter(None, sys.path[1:])]
    settings = {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONMALLOC": "malloc",  # so that the sanitizer sees where every object of Python ends
        "OPENBLAS_NUM_THREADS": "1",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    with log.open("wb") as out:
        done = subprocess.run([str(program), *arguments], env=os.environ | settings, stdout=out, stderr=out)
    return done.returncode


def write_inputs(folder: Path) -> list[str]:
    """Where inputs are: those that are found, and those to begin with."""
    inputs, first = folder / "inputs", folder / "seeds"
    shutil.rmtree(first, ignore_errors=True)
    for place in (inputs, first):
        place.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate([*seeds(), *(kept_inputs() if CORPUS.exists() else [])]):
        (first / str(number)).write_bytes(data)
    return [str(inputs), str(first)]


def fuzz(folder: Path, seconds: int, seed: int) -> int:
    """Fuzz for some time from the seeds, the kept inputs and those of earlier runs; the exit code of libFuzzer."""
    places = write_inputs(folder)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST_INPUT}", "-timeout=60", "-rss_limit_mb=4096"]
    settings = [f"-seed={seed}", "-use_value_profile=1", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
    log = folder / "log.txt"
    ended = run_fuzzer(build(folder), [*limits, *settings, *places], log)
    print(summary(log.read_text(errors="replace")))
    if ended:
        print(f"libFuzzer ended with {ended}: {log}")
    return ended


def summary(log: str) -> str:
    """Executions, coverage, corpus and fault in the log of libFuzzer."""
    state = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)/(\w+)", log)
    runs = re.findall(r"stat::number_of_executed_units: (\d+)", log)
    faults = re.findall(r"^(?:SUMMARY: .*|[\w.]*Error\b.*|.*runtime error: .*|.*Test unit written to .*)$", log, re.M)
    lines = [f"executions: {int(runs[-1]):,}"] if runs else []
    if state:
        edges, features, count, size = state[-1]
        lines.append(f"edges: {edges}, features: {features}, corpus: {count} inputs ({size})")
    return "\n".join([*lines, *(faults or ["no fault"])])


def keep(folder: Path) -> None:
    """Write the fewest inputs that cover what all inputs cover."""
    fewest = folder / "fewest"
    shutil.rmtree(fewest, ignore_errors=True)
    fewest.mkdir(parents=True)
    run_fuzzer(build(folder), ["-merge=1", str(fewest), *write_inputs(folder)], folder / "merge.txt")
    inputs = sorted((path.read_bytes() for path in fewest.iterdir()), key=lambda data: (len(data), data))
    CORPUS.parent.mkdir(parents=True, exist_ok=True)
    CORPUS.write_text("".join(f"{b64encode(data).decode()}\n" for data in inputs), encoding="ascii")
    print(f"kept {len(inputs)} inputs, {CORPUS.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz_scanner", help="where inputs are kept")
    parser.add_argument("--keep", action="store_true", help="write the corpus of the tests from the folder")
    parser.add_argument("--input", type=Path, help="try one input with the ordinary scanner")
    options = parser.parse_args()
    if options.input:
        try_input(memoryview(options.input.read_bytes()))
        return
    missing = what_is_missing(options.folder)
    if missing:
        raise SystemExit(NEEDED.format(missing))
    if options.keep:
        keep(options.folder)
        return
    raise SystemExit(1 if fuzz(options.folder, options.seconds, options.seed) else 0)


if __name__ == "__main__":
    main()
