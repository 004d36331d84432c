"""What holds for every file: readers refuse in one way only, agree with each other, and read back what was written."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from functools import partial
from itertools import groupby, pairwise, permutations
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import cranfield
from cranfield.collection import Collection, builder, readers
from cranfield.errors import CranfieldError, InputError
from cranfield.formats import qrels, scan
from cranfield.formats.file_check import FileKind, check_files, check_run, document_pairs
from cranfield.formats.problems import KINDS, Severity
from cranfield.formats.qrels import (
    inspect_qrels,
    inspect_teams,
    parse_qrels,
    read_intents,
    read_qrels,
    read_teams,
    write_qrels,
    write_teams,
)
from cranfield.formats.runs import Order, RunLines, inspect_run, parse_runs, write_run
from cranfield.formats.scan import Scanner
from cranfield.formats.scores import inspect_scores
from cranfield.scores import ScoreTable, read_scores, write_scores
from cranfield.scores.evaluation import score_collection
from sizes import examples_of

Array = npt.NDArray[Any]
Result = TypeVar("Result")


def tries(count: int) -> settings:
    """So many examples, however long one takes."""
    return settings(
        max_examples=examples_of(count),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


RUN = b"1 Q0 d1 1 2.5 tag\n1 Q0 d2 2 1.5 tag\n2 Q0 d1 1 9 tag\n2 Q0 d3 2 -3e2 tag\n"
QRELS = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n2 0 d4 1\n"
INTENTS = b"1 a d1 1\n1 b d1 0\n1 b d2 1\n2 a d3 2\n"
TEAMS = b"run\tteam\ntag\tOurs\ngat\tThe Others\n"
LIKELY = b"1 a 0.25\n1 b 0.75\n2 a 1\n"
LONG = b"measure,topic,system,score\nAP,1,a,0.5\nAP,1,b,0.25\nAP,2,a,1\n"
WIDE = b"topic,a,b\n1,0.5,0.25\n2,,1e-3\n"
VALID = [RUN, QRELS, INTENTS, TEAMS, LIKELY, LONG, WIDE]

# What files are broken by in practice, and what Python and NumPy trip over.
NASTY = [
    *(b"\r", b"\n", b"\r\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\x00", b"\xff", b"\xc3\xa9"),
    *(b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x1f\x8b", b"PK\x03\x04", "€".encode() * 14, "²".encode(), "١".encode()),
    *(b"#", b'"', b",", b";", b"'", b"_", b"-", b"+", b".", b"{", b"[", b"x" * 140_000),
    *(b"nan", b"inf", b"1e999", b"1_0", b"0x1", b"2.0", b"0.5", b"-1", b"99999999999", b"9" * 400, b"9" * 4400),
    *(b"topic", b"score", b"system", b"shard", b"measure"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file that was in order until somebody touched it."""
    data = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 12)))
        change = draw(st.sampled_from(["insert", "replace", "delete", "cut", "repeat", "byte"]))
        if change == "insert":
            data = data[:at] + draw(st.sampled_from(NASTY)) + data[at:]
        elif change == "replace":
            data = data[:at] + draw(st.sampled_from(NASTY)) + data[end:]
        elif change == "delete":
            data = data[:at] + data[end:]
        elif change == "cut":
            data = data[:at]
        elif change == "repeat":
            data = data + data[at:end] + b"\n"
        else:
            data = data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[end:]
    return gzip.compress(data, mtime=0) if draw(st.integers(0, 15)) == 0 else data


anything = st.one_of(mutated(), st.binary(max_size=200), st.text(max_size=80).map(lambda text: text.encode()))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files every example writes anew."""
    return tmp_path_factory.mktemp("readers")


def put(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@contextmanager
def without_scanner() -> Iterator[None]:
    """Everything left to the careful reader, as where there was no compiler."""
    with mock.patch.object(scan, "_scan", None):
        yield


# --- only one family of errors


def attempt(call: Callable[[], Result]) -> Result | CranfieldError:
    """What a call gives, or how it refuses; whatever else it raises is a failure."""
    try:
        return call()
    except CranfieldError as refusal:
        return refusal


@tries(700)
@given(anything)
@example(b"1 Q0 d1 1 2.0 tag\r1 Q0 d2 2 1.0 tag\r")
@example(b"topic,a\n1,0\r5\n")
@example(b"topic,a\n1," + b"5" * 140_000)
@example("1 0 d1 €€€€€€€€€€€€€€".encode())
@example(b"\xef\xbb\xbf")
def test_checking_any_file_finds_problems_and_raises_nothing(folder: Path, data: bytes) -> None:
    path = put(folder, "any", data)
    for kind in [None, *FileKind]:
        report = check_files([path], kinds={} if kind is None else {path: kind})
        assert len(report.files) == 1
        for problem in report.problems:
            assert problem.slug in KINDS
            assert problem.text.isprintable()
            assert len(problem.text) <= 60
            assert 0 <= problem.line <= data.count(b"\n") + 1 or data[:2] == b"\x1f\x8b"


@tries(300)
@given(st.lists(anything, min_size=2, max_size=3))
def test_checking_any_files_together_raises_nothing(folder: Path, contents: list[bytes]) -> None:
    paths = [put(folder, f"file{at}", data) for at, data in enumerate(contents)]
    told = dict(zip(paths, (FileKind.RUN, FileKind.QRELS, FileKind.TEAMS), strict=False))
    check_files(paths)
    check_files(paths, kinds=told)


@tries(500)
@given(anything, st.sampled_from(Order), st.booleans())
@example("1 0 d1 €€€€€€€€€€€€€€".encode(), Order.SCORE, False)
def test_parsing_any_bytes_gives_lines_or_a_refusal_with_a_place(data: bytes, order: Order, by_tag: bool) -> None:
    for found in (
        attempt(lambda: parse_runs(data, "any", order=order, by_tag=by_tag)),
        attempt(lambda: parse_qrels(data, "any", intents=False)),
        attempt(lambda: parse_qrels(data, "any", intents=True)),
    ):
        if isinstance(found, CranfieldError):
            assert isinstance(found, InputError)
            assert found.where.startswith("any")
            assert found.fix


@tries(500)
@given(anything)
@example(b"topic,a\n1,0\r5\n")
@example(b"topic,a\n1," + b"5" * 140_000)
def test_inspecting_any_bytes_raises_nothing(data: bytes) -> None:
    for inspect in (inspect_teams, inspect_scores):
        _, problems = inspect(data, "any")
        assert all(problem.file == "any" for problem in problems)


@tries(500)
@given(anything, anything, anything, st.sampled_from(["auto", "tag", "file"]), st.booleans())
@example(b"# nothing\n", QRELS, TEAMS, "auto", False)
@example(RUN, b"# nothing\n", TEAMS, "auto", False)
@example(RUN, b"1 0 d1 99999999999\n", TEAMS, "auto", False)
@example(RUN, QRELS + b"9" * 4400 + b" 0 d1 1\n", TEAMS, "auto", False)
def test_reading_any_files_gives_a_collection_or_a_refusal(
    folder: Path, run: bytes, qrels: bytes, teams: bytes, name: str, scanned: bool
) -> None:
    for files in ((run, QRELS, TEAMS), (RUN, qrels, TEAMS), (RUN, QRELS, teams)):
        paths = [put(folder, part, data) for part, data in zip(("run", "qrels", "teams"), files, strict=True)]
        with nullcontext() if scanned else without_scanner():
            found = attempt(partial(cranfield.read_collection, paths[0], paths[1], teams=paths[2], name=name))
        if isinstance(found, Collection):
            assert np.isfinite(score_collection(found, ["AP", "nDCG@10"]).values).all()


@tries(300)
@given(anything, anything)
@example(INTENTS + b"9" * 4400 + b" a d1 1\n", LIKELY)
def test_reading_any_intents_gives_a_collection_or_a_refusal(folder: Path, intents: bytes, likely: bytes) -> None:
    run = put(folder, "run", RUN)
    for judged, probable in ((intents, LIKELY), (INTENTS, likely)):
        paths = put(folder, "intents", judged), put(folder, "likely", probable)
        found = attempt(partial(cranfield.read_collection, run, intents=paths[0], probabilities=paths[1]))
        if isinstance(found, Collection):
            assert np.isfinite(score_collection(found, ["alpha_nDCG@10", "D#-nDCG@10"]).values).all()


@tries(500)
@given(anything)
@example(b"topic,a\n" + b"9" * 4400 + b",0.5\n")
@example(b'[{"topic": "1", "system": "a", "score": 1' + b"0" * 400 + b"}]")
@example(b'{"a": {"1": {"AP": "x"}}}')
@example(b"[" * 100_000)
def test_reading_any_score_table_gives_a_table_or_a_refusal(folder: Path, data: bytes) -> None:
    for name in ("scores.csv", "scores.json"):
        found = attempt(partial(read_scores, put(folder, name, data)))
        if isinstance(found, ScoreTable):
            assert not np.isinf(found.values).any()


@tries(300)
@given(mutated())
@example(b"BZh1 0 d1 1\n" + QRELS)  # topics may begin as other kinds of files do
@example(b"PAR1 0 d1 1\n" + QRELS)
@example(b"%PDF 0 d1 1\n" + QRELS)
def test_what_is_checked_without_errors_is_read(folder: Path, data: bytes) -> None:
    """A check is a promise, for runs against good judgments and for judgments under a good run."""
    for files in ((data, QRELS), (RUN, data)):
        run, qrels = (put(folder, name, part) for name, part in zip(("run", "qrels"), files, strict=True))
        failed = check_files([run, qrels], kinds={run: FileKind.RUN, qrels: FileKind.QRELS}).failed()
        try:
            cranfield.read_collection(run, qrels)
        except InputError:
            assert failed
        else:
            assert not failed


# --- two readers, one meaning


def bits(values: Sequence[float]) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


def scanned_lines(data: bytes, order: Order = Order.SCORE) -> tuple[list[bytes], list[bytes], list[bytes], str] | None:
    """(topic, document, key) columns and the tag as the quick reader has them, or None when it gave up."""
    scanner = Scanner()
    run = scanner.scan(data, "any", order)
    if run is None:
        return None
    ids, lengths = scanner.vocabulary.ids(), np.diff(run.edges).tolist()
    topics = [topic for topic, length in zip(run.topics, lengths, strict=True) for _ in range(length)]
    return topics, [ids[code] for code in run.codes.tolist()], bits(run.keys.tolist()), run.tags[0]


def plain_lines(run: RunLines) -> tuple[list[bytes], list[bytes], list[bytes], str]:
    return list(run.topics), list(run.documents), bits(list(run.keys)), run.tags[0]


name_marks = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"))
names = st.text(name_marks, min_size=1, max_size=8).filter(lambda name: len(name.encode().split()) == 1)
topic_names = st.one_of(st.integers(1, 12).map(str), names.filter(lambda name: name[0] not in "#\ufeff"))


@st.composite
def decimals(draw: st.DrawFn) -> str:
    """Any way to write a number: 1 to 25 digits, a point anywhere, leading zeros, signs, exponents."""
    digits = draw(st.text("0123456789", min_size=1, max_size=25))
    zeros = "0" * draw(st.sampled_from([0, 0, 0, 1, 5, 30]))
    point = draw(st.one_of(st.none(), st.integers(0, len(digits))))
    body = zeros + (digits if point is None else f"{digits[:point]}.{digits[point:]}")
    sign = draw(st.sampled_from(["", "", "+", "-"]))
    if draw(st.booleans()):
        return sign + body
    exponent = draw(st.one_of(st.integers(0, 25), st.integers(0, 400))) * draw(st.sampled_from([1, -1]))
    shown = f"{exponent:+d}" if draw(st.booleans()) else f"{exponent:03d}"
    return f"{sign}{body}{draw(st.sampled_from('eE'))}{shown}"


@st.composite
def clean_runs(draw: st.DrawFn) -> bytes:
    """Runs as people write them, in order but for spacing, without a document twice in a list."""
    pairs = draw(st.lists(st.tuples(topic_names, names), min_size=1, max_size=12, unique=True))
    blank = draw(st.sampled_from([" ", "\t", "  ", " \t "]))
    end = draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
    tag = draw(names)
    lines = [
        blank.join([topic, draw(st.sampled_from(["Q0", "0", "é"])), document, str(rank), draw(decimals()), tag])
        for rank, (topic, document) in enumerate(pairs)
    ]
    body = end.join(lines) + draw(st.sampled_from(["", end]))
    return (b"\xef\xbb\xbf" if draw(st.integers(0, 9)) == 0 else b"") + body.encode()


@tries(500)
@given(clean_runs(), st.sampled_from(Order))
@example(b"\xef\xbb\xbf" + RUN, Order.SCORE)
def test_the_quick_reader_reads_what_the_plain_one_reads(data: bytes, order: Order) -> None:
    scanned = scanned_lines(data, order)
    finite = all(np.isfinite(struct.unpack("<d", key)[0]) for key in scanned[2]) if scanned else False
    try:
        (plain,) = parse_runs(data, "any", order=order)
    except InputError:
        assert scanned is None
        return
    assert scanned is None or (finite and scanned == plain_lines(plain))


@tries(500)
@given(clean_runs())
def test_the_quick_reader_gives_up_only_on_scores_that_are_not_finite(data: bytes) -> None:
    (plain,) = parse_runs(data, "any")
    assert (scanned_lines(data) is None) is (not np.isfinite(plain.keys).all())


@tries(700)
@given(mutated(), st.sampled_from(Order))
@example(b"\xef\xbb\xbf" + RUN, Order.SCORE)
@example(RUN.replace(b" 1 2.5", b" \xff 2.5"), Order.SCORE)
@example(RUN.replace(b"d1 1", b"d1\x00 1"), Order.SCORE)
@example(RUN.replace(b" Q0", b"\x0bQ0", 1), Order.SCORE)
@example(RUN.replace(b"tag\n", b"tag\r", 1), Order.SCORE)
@example(b"%PDF- Q0 d 1 2.0 \xc3\xa9\n", Order.SCORE)
@example(b"GIF8 Q0 d 1 2.0 tag\n\n", Order.SCORE)
def test_the_quick_reader_accepts_nothing_the_plain_one_refuses(data: bytes, order: Order) -> None:
    scanned = scanned_lines(data, order)
    if scanned is None:
        return
    lines, problems = inspect_run(data, "any", order=order)
    # A document twice in a list is found when lists are joined, whoever read them.
    errors = {problem.slug for problem in problems if problem.severity is Severity.ERROR} - {"duplicate-document"}
    assert errors == set()
    assert scanned == plain_lines(lines)


judgment_lines = st.builds(
    lambda *fields: " ".join(fields),
    st.sampled_from("12"),
    st.sampled_from("01"),
    st.sampled_from(["d1", "d2", "d3", "d4", "d5"]),
    st.sampled_from(["0", "1", "-1", "+2", "2.0", ".5", "0.50", "-0.5", "1e0"]),
)


@st.composite
def ranked_runs(draw: st.DrawFn) -> bytes:
    """Runs with few topics, documents and scores: ties, ranks that disagree, repeats, lists in several pieces."""
    few = st.sampled_from
    blank, end = draw(few([" ", " ", "\t", "  "])), draw(few(["\n", "\n", "\r\n"]))
    tags = draw(few([["tag"], ["tag"], ["tag"], ["tag", "gat"]]))
    ranks = few(["1", "2", "3", "4", "1.0", "2e0", "x", "nan", "1_0", "-1", "9" * 25])
    scores = few(["1", "1.0", "2", "3", "-1", "0.5", "5e-1", "0.1000000000000000055511151231257827"])
    row = st.tuples(few("12é"), st.just("Q0"), st.integers(1, 40).map(str), ranks, scores, few(tags))
    lines = [blank.join(fields) for fields in draw(st.lists(row, min_size=1, max_size=12))]
    if draw(st.booleans()):
        lines.sort()
    if draw(st.integers(0, 5)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(few(["", " ", "# x", "1 Q0 d", "1 Q0 d 1 nan t"])))
    return (b"\xef\xbb\xbf" if draw(st.integers(0, 9)) == 0 else b"") + end.join(lines).encode()


any_run = st.one_of(ranked_runs(), clean_runs(), mutated())


@tries(1500)
@given(any_run, st.sampled_from(Order), st.booleans())
@example(b"%PDF- Q0 d 1 2.0 \xc3\xa9\n", Order.SCORE, False)
@example(b"1 Q0 d1 1 2.0 tag\n2 Q0 d1 1 1 tag\n1 Q0 d1 2 1.0 tag", Order.SCORE, False)
@example(b"1 Q0 d1 2 2.0 tag\n1 Q0 d2 1 1 tag\n1 Q0 d3 1 1.0 tag\n  ", Order.SCORE, False)
def test_the_quick_check_reports_what_the_careful_one_reports(data: bytes, order: Order, by_tag: bool) -> None:
    quick = check_run(Scanner(), data, "any", order)
    if quick is None:
        return
    run, found = quick
    lines, problems = inspect_run(data, "any", order=order, by_tag=by_tag)
    assert found == problems
    assert (run.tags, len(run.codes), list(dict.fromkeys(run.topics))) == (
        lines.tags,
        len(lines.topics),
        list(dict.fromkeys(lines.topics)),
    )
    assert list(document_pairs(data)) == list(zip(lines.topics, lines.documents, strict=True))


@tries(300)
@given(clean_runs())
def test_the_quick_check_leaves_no_clean_run_to_the_careful_one(data: bytes) -> None:
    lines, problems = inspect_run(data, "any")
    readable = np.isfinite(lines.keys).all() and all(problem.slug != "blank-line" for problem in problems)
    assert (check_run(Scanner(), data, "any", Order.SCORE) is not None) is bool(readable)


@tries(300)
@given(
    st.lists(any_run, min_size=1, max_size=4),
    st.one_of(st.just(QRELS), mutated()),
    st.sampled_from(["neither", "tag", "file"]),
    st.sampled_from(Order),
)
def test_a_check_is_the_same_whoever_reads(
    folder: Path, runs: list[bytes], judged: bytes, name: str, order: Order
) -> None:
    paths = [put(folder, f"run{at}", data) for at, data in enumerate(runs)] + [put(folder, "judged", judged)]
    kinds = {path: FileKind.QRELS if path.endswith("judged") else FileKind.RUN for path in paths}
    reports = []
    for scanned in (False, True):
        with nullcontext() if scanned else without_scanner():
            reports.append(check_files(paths, kinds=kinds, order=order, by_tag=name == "tag", by_file=name == "file"))
    assert reports[0] == reports[1]


@tries(700)
@given(st.one_of(mutated(), st.lists(judgment_lines, min_size=1, max_size=8).map("\n".join).map(str.encode)))
def test_judgments_are_checked_alike_all_at_once_and_line_by_line(data: bytes) -> None:
    for intents in (False, True):
        quick = inspect_qrels(data, "any", intents=intents)
        with mock.patch.object(qrels, "_parse_clean", return_value=None):
            assert quick == inspect_qrels(data, "any", intents=intents)


@tries(300)
@given(st.lists(judgment_lines, min_size=1, max_size=8), st.sampled_from([" ", "\t", "  "]))
def test_judgments_scanned_are_those_read_line_by_line(lines: list[str], blank: str) -> None:
    data = "\n".join(lines).replace(" ", blank).encode()
    scanner = Scanner()
    scanned = scanner.scan_judgments(data, "any")
    plain, problems = inspect_qrels(data, "any", intents=False)
    harmless = {"tabs", "no-relevant", "grade-negative", "grade-decimal", "grade-fractional"}
    clean = not {problem.slug for problem in problems} - harmless
    assert (scanned is not None) is clean
    if scanned is not None:
        ids = scanner.vocabulary.ids()
        assert [scanned.topics[topic] for topic in scanned.topic.tolist()] == plain.topics
        assert [ids[code] for code in scanned.codes.tolist()] == plain.documents
        assert scanned.grades.tolist() == plain.grades


@tries(300)
@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), max_size=9), max_size=9), st.integers(1, 20))
def test_lists_are_ranked_by_key_then_document_both_descending(
    lists: list[list[tuple[int, int]]], at_once: int
) -> None:
    edges = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    keys = np.array([float(key) for each in lists for key, _ in each])
    documents = np.array([document for each in lists for _, document in each], np.int32)
    with mock.patch.object(builder, "_AT_ONCE", at_once):
        builder.rank_lists(edges, documents, keys)
    expected = [pair for each in lists for pair in sorted(each, reverse=True)]
    assert list(zip(keys.tolist(), documents.tolist(), strict=True)) == expected


@tries(200)
@given(st.lists(st.one_of(clean_runs(), mutated()), min_size=2, max_size=5))
def test_one_scanner_for_many_files_reads_each_as_if_it_were_alone(contents: list[bytes]) -> None:
    scanner = Scanner()
    runs = [scanner.scan(data, "any") for data in contents]
    ids = scanner.vocabulary.ids()
    assert len(set(ids)) == len(ids)
    blob, edges, places = scanner.vocabulary.sorted()
    ordered = [blob[start:end].tobytes() for start, end in pairwise(edges.tolist())]
    assert ordered == sorted(ids)
    assert [ordered[place] for place in places.tolist()] == ids
    for data, run in zip(contents, runs, strict=True):
        alone = scanned_lines(data)
        assert (run is None) is (alone is None)
        if run is not None and alone is not None:
            assert [ids[code] for code in run.codes.tolist()] == alone[1]


@tries(200)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True), st.booleans()), min_size=2, max_size=6
    )
)
def test_a_file_the_scanner_gave_up_on_leaves_nothing_behind(files: list[tuple[list[str], bool]]) -> None:
    scanner, known = Scanner(), dict[bytes, None]()
    for documents, odd in files:
        lines = "".join(f"1 Q0 {name} 1 1.0 tag\n" for name in documents) + "odd\n" * odd
        run = scanner.scan(lines.encode(), "any")
        assert (run is None) is odd
        if run is not None:
            known |= dict.fromkeys(name.encode() for name in documents)
            assert [scanner.vocabulary.ids()[code].decode() for code in run.codes.tolist()] == documents
        assert scanner.vocabulary.ids() == list(known)


# --- numbers, bit for bit


def read_scores_of_run(texts: Sequence[str]) -> list[bytes]:
    """What the quick reader makes of decimals; none of them may be left to the plain reader."""
    data = "".join(f"1 Q0 d{at} 1 {text} tag\n" for at, text in enumerate(texts)).encode()
    scanned = scanned_lines(data)
    assert scanned is not None
    return scanned[2]


@tries(500)
@given(st.lists(decimals().filter(lambda text: np.isfinite(float(text))), min_size=1, max_size=40))
@example(["0", "-0", "+0.0", "-0e-400", "00000000000000000000001", ".5", "5.", "1e22", "1e23", "1E-22", "1e-23"])
@example(["9007199254740993", "9007199254740993.0", "4503599627370496.5", "4503599627370497.5", "0.1", "1e-320"])
@example(["123456789012345678", "1234567890123456789", "0.000000000000000000000000012345678901234567"])
def test_decimals_are_read_as_python_reads_them_bit_for_bit(texts: list[str]) -> None:
    assert read_scores_of_run(texts) == bits([float(text) for text in texts])


@tries(300)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_shortest_decimals_are_read_as_the_doubles_they_stand_for(values: list[float]) -> None:
    assert read_scores_of_run([repr(value) for value in values]) == bits(values)


def test_two_hundred_thousand_scores_are_read_bit_for_bit() -> None:
    """Scores as systems write them: 15 to 19 digits in all magnitudes, where the last bit is easily lost."""
    rng = np.random.default_rng(7)
    mantissas = rng.integers(10**14, 2**62, size=200_000).tolist()
    points = rng.integers(0, 23, size=200_000).tolist()
    texts = [f"{mantissa}e-{point}" for mantissa, point in zip(mantissas, points, strict=True)]
    texts += [f"{value:.16f}" for value in rng.normal(size=20_000).tolist()]
    texts += [f"{value:.17g}" for value in np.exp(rng.normal(size=20_000) * 20).tolist()]
    assert read_scores_of_run(texts) == bits([float(text) for text in texts])


def test_decimals_half_way_between_two_doubles_are_read_bit_for_bit() -> None:
    """The exact half-way point in as many digits as it takes, cut to 16–19 digits, and its neighbours."""
    rng = np.random.default_rng(11)
    texts = []
    for value in (rng.random(6000) * 10.0 ** rng.integers(-2, 16, size=6000)).tolist():
        half_way = (Decimal(value) + Decimal(float(np.nextafter(value, np.inf)))) / 2
        for digits in (16, 17, 18, 19):
            cut = Decimal(f"{half_way:.{digits - 1}e}")
            step = Decimal((0, (1,), cut.adjusted() - digits + 1))
            texts += [f"{cut:f}", f"{cut + step:f}", f"{cut - step:f}"]
    ties = rng.integers(2**52, 2**53, size=4000).tolist()
    texts += [f"{whole}.5" for whole in ties] + [str(4 * whole + 2) for whole in ties] + [str(2 * w + 1) for w in ties]
    assert read_scores_of_run(texts) == bits([float(text) for text in texts])


@st.composite
def decimals_at_the_limits(draw: st.DrawFn) -> str:
    """Numbers beside 2⁶³, 2⁶⁴, its multiples and 10¹⁹, where the digits no longer fit into a machine word."""
    multiples = st.integers(1, 2**64).map(lambda times: times * 2**64)
    limit = draw(st.one_of(st.sampled_from([2**63, 2**64, 10**19]), multiples))
    digits = str(limit + draw(st.integers(-1, 1)))
    point = draw(st.one_of(st.none(), st.integers(0, len(digits))))
    body = digits if point is None else f"{digits[:point]}.{digits[point:]}"
    sign, zeros, more = (draw(st.sampled_from(texts)) for texts in (["", "", "-", "+"], ["", "0", "000"], ["", "0"]))
    return f"{sign}{zeros}{body}{more}{draw(st.sampled_from(['', '', '', 'e0', 'E-19', 'e5', 'e+22']))}"


some_at_the_limits = st.lists(decimals_at_the_limits(), min_size=1, max_size=20)


@tries(500)
@given(some_at_the_limits)
@example(["18446744073709551616", "-18446744073709551616", "+18446744073709551616.0", "36893488147419103232e0"])
@example(["9223372036854775808", "10000000000000000001", "1.8446744073709551616", "73786976294838206464.5"])
def test_scores_of_runs_at_the_limits_are_those_python_reads(texts: list[str]) -> None:
    assert read_scores_of_run(texts) == bits([float(text) for text in texts])
    ranks = "".join(f"1 Q0 d{at} {text} 1 tag\n" for at, text in enumerate(texts)).encode()
    scanned = scanned_lines(ranks, Order.RANK)
    assert scanned is not None
    assert scanned[2] == bits([-float(text) for text in texts])


@tries(300)
@given(some_at_the_limits)
@example(["18446744073709551616"])
@example(["-36893488147419103232", "+18446744073709551617"])
def test_grades_at_the_limits_are_those_python_reads_or_refused_by_both_readers(texts: list[str]) -> None:
    data = "".join(f"1 0 d{at} {text}\n" for at, text in enumerate(texts)).encode()
    scanned, plain = Scanner().scan_judgments(data, "any"), attempt(lambda: parse_qrels(data, "any", intents=False))
    values = [float(text) for text in texts]
    if max(map(abs, values)) > qrels.MOST_GRADE:
        assert scanned is None
        assert isinstance(plain, InputError)
    else:
        assert isinstance(plain, qrels.JudgmentLines)
        assert plain.grades == values
        assert scanned is None or scanned.grades.tolist() == values


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


@tries(300)
@given(some_at_the_limits)
@example(["18446744073709551616", "-18446744073709551616", "36893488147419103232.0"])
def test_scores_of_tables_at_the_limits_are_those_python_reads(folder: Path, texts: list[str]) -> None:
    rows = [f"{at}\ta\t{text}" for at, text in enumerate(texts)]
    wide = [f"{at},{text},1" for at, text in enumerate(texts)]
    plain = [text if is_json(text) else repr(float(text)) for text in texts]
    lines = [f'{{"topic": "{at}", "system": "a", "score": {text}}}' for at, text in enumerate([*plain, "1"])]
    files = {
        "long.tsv": ["topic\tsystem\tscore", *rows],
        "odd.tsv": ["topic\tsystem\tscore", *rows, ""],
        "wide.csv": ["topic,a,b", *wide],
        "odd.csv": ["topic,a,b", *wide, "x,,"],
        "lines.jsonl": lines,
        "whole.json": [f"[{','.join(lines)}]"],
    }
    for name, content in files.items():
        table = read_scores(put(folder, name, "\n".join(content).encode()))
        found = [float(table.values[0, table.topics.index(str(at)), 0, 0]) for at in range(len(texts))]
        assert bits(found) == bits([float(text) for text in texts]), name


@pytest.mark.parametrize(
    "text", ["1_0", "0x10", "1e", "e5", "+", "-", ".", "1.2.3", "1e5.0", "--1", "nan", "inf", "1e400"]
)
def test_the_quick_reader_leaves_what_is_no_finite_decimal_to_the_plain_one(text: str) -> None:
    assert scanned_lines(f"1 Q0 d1 1 {text} tag\n".encode()) is None


# --- the order of things does not matter


def same(one: Collection, other: Collection) -> bool:
    return (
        (one.systems, one.topics, one.teams) == (other.systems, other.topics, other.teams)
        and set(one.arrays) == set(other.arrays)
        and all(np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays)
        and sorted(map(repr, one.warnings)) == sorted(map(repr, other.warnings))
    )


@st.composite
def collections(draw: st.DrawFn) -> tuple[list[list[str]], list[str]]:
    """The lines of two to four runs, every score of a list another, and of judgments that share topics with them."""
    documents = draw(st.lists(names, min_size=3, max_size=9, unique=True))
    topics = draw(st.lists(topic_names, min_size=1, max_size=4, unique=True))
    runs = []
    for number in range(draw(st.integers(2, 4))):
        lines = []
        for topic in topics[: draw(st.integers(1, len(topics)))]:
            found = draw(st.lists(st.sampled_from(documents), min_size=1, max_size=6, unique=True))
            scores = draw(st.lists(st.floats(-1e9, 1e9), min_size=len(found), max_size=len(found), unique=True))
            lines += [f"{topic} Q0 {name} 1 {score!r} tag{number}" for name, score in zip(found, scores, strict=True)]
        runs.append(lines)
    judged = draw(st.lists(st.sampled_from(documents), min_size=1, unique=True))
    qrels = [f"{topic} 0 {name} {draw(st.integers(-1, 3))}" for topic in topics for name in judged]
    return runs, qrels


def read(folder: Path, runs: Sequence[Sequence[str]], qrels: Sequence[str], **options: Any) -> Collection:
    """Read a collection from its lines; ``workers`` above 0 reads it with the quick reader on as many threads."""
    workers = options.pop("workers", 0)
    paths = [put(folder, f"run{at}", "\n".join(lines).encode()) for at, lines in enumerate(runs)]
    judged = put(folder, "qrels", "\n".join(qrels).encode())
    files = [paths[at] for at in options.pop("order", range(len(paths)))]
    with (
        nullcontext() if workers else without_scanner(),
        mock.patch.object(readers, "available_workers", return_value=max(1, workers)),
    ):
        return cranfield.read_collection(files, judged, **options)


def readable(folder: Path, content: tuple[list[list[str]], list[str]]) -> Collection:
    try:
        return read(folder, *content)
    except InputError:  # no run of it may have a judged document
        assume(False)
        raise


@tries(60)
@given(collections())
def test_the_order_of_files_does_not_matter(folder: Path, content: tuple[list[list[str]], list[str]]) -> None:
    whole = readable(folder, content)
    for order in permutations(range(len(content[0]))):
        assert same(whole, read(folder, *content, order=order))


@tries(100)
@given(collections(), st.integers(1, 5))
def test_threads_and_readers_do_not_matter(
    folder: Path, content: tuple[list[list[str]], list[str]], workers: int
) -> None:
    assert same(readable(folder, content), read(folder, *content, workers=workers))


@tries(150)
@given(collections(), st.randoms(use_true_random=False), st.integers(0, 2))
def test_the_order_of_lines_does_not_matter_where_scores_are_distinct(
    folder: Path, content: tuple[list[list[str]], list[str]], random: Any, workers: int
) -> None:
    whole = readable(folder, content)
    runs, qrels = ([*lines] for lines in content)
    shuffled = [random.sample(lines, len(lines)) for lines in runs]
    assert same(whole, read(folder, shuffled, random.sample(qrels, len(qrels)), workers=workers))


@tries(60)
@given(collections())
def test_documents_are_ranked_by_score_and_ties_by_id_descending(
    folder: Path, content: tuple[list[list[str]], list[str]]
) -> None:
    runs = [[line.replace(line.split()[4], "1.0") if at % 2 else line for at, line in enumerate(r)] for r in content[0]]
    collection = readable(folder, (runs, content[1]))
    for lines in runs:
        fields = [line.split() for line in lines]
        for topic in dict.fromkeys(row[0] for row in fields):
            ranked = sorted(((float(row[4]), row[2].encode()) for row in fields if row[0] == topic), reverse=True)
            assert collection.ranking(fields[0][5], topic) == [name.decode() for _, name in ranked]


HITS = [f"{kind}_hit_{part}" for kind in ("judged", "found") for part in ("edges", "rank", "judgment")]


def of_judged(collection: Collection) -> tuple[Any, ...]:
    """All that a collection has but for unjudged documents."""
    names = collection.systems, collection.topics, collection.teams, sorted(map(repr, collection.warnings))
    arrays = [collection.arrays[name].tolist() for name in ("list_edges", "judged_edges", "grade", *HITS)]
    return *names, *arrays, [collection.documents[code] for code in collection.arrays["judged_document"].tolist()]


@tries(150)
@given(collections(), st.randoms(use_true_random=False), st.booleans(), st.integers(0, 2))
def test_judged_documents_alone_are_those_of_the_whole(
    folder: Path, content: tuple[list[list[str]], list[str]], random: Any, tied: bool, workers: int
) -> None:
    runs = [
        [line.replace(line.split()[4], "1.0") if tied and at % 2 else line for at, line in enumerate(lines)]
        for lines in content[0]
    ]
    runs = [random.sample(lines, len(lines)) for lines in runs]  # topics stand apart, scores rise
    whole = readable(folder, (runs, content[1]))
    judged = read(folder, runs, content[1], workers=workers, only_judged=True)
    assert of_judged(judged) == of_judged(whole)
    assert "list_documents" not in judged.arrays


@tries(300)
@given(any_run, st.booleans())
@example(RUN + b"1 Q0 d2 3 0.5 tag\n", True)  # twice in a list that is judged
@example(RUN + b"3 Q0 d2 3 0.5 tag\n3 Q0 d2 4 0.4 tag\n", True)  # and in one that is not
@example(RUN.replace(b"2.5", b"2.5" + b"0" * 30), True)
@example(b"", True)
def test_judged_documents_alone_are_refused_as_the_whole_is(folder: Path, data: bytes, scanned: bool) -> None:
    paths = put(folder, "run", data), put(folder, "qrels", QRELS)
    with nullcontext() if scanned else without_scanner():
        whole, judged = (
            attempt(partial(cranfield.read_collection, *paths, only_judged=only)) for only in (False, True)
        )
    if isinstance(whole, Collection):
        assert isinstance(judged, Collection)
        assert of_judged(judged) == of_judged(whole)
    else:
        assert str(judged) == str(whole)


@tries(300)
@given(any_run)
def test_lines_at_the_end_of_a_file_are_read_as_those_before(data: bytes) -> None:
    # Lines are read a block at a time as long as there is one: blank lines after the last make sure of it.
    assert scanned_lines(data) == scanned_lines(data + b"\n" * 200)


# --- what is written is read back

WRITTEN = [".csv", ".tsv", ".json", ".parquet", ".csv.gz", ".tsv.gz", ".json.gz"]
finite = st.floats(allow_nan=False, allow_infinity=False)
endings = st.sampled_from(["", ".gz"])


@tries(150)
@given(st.lists(st.tuples(topic_names, names, finite), min_size=1, unique_by=lambda row: row[:2]), names, endings)
def test_a_run_is_read_back(folder: Path, rows: list[tuple[str, str, float]], tag: str, ending: str) -> None:
    path = folder / f"written.run{ending}"
    write_run(path, rows, tag)
    (run,) = parse_runs(gzip.decompress(path.read_bytes()) if ending else path.read_bytes(), "any")
    assert run.tags == (tag,)
    assert [topic.decode() for topic in run.topics] == [row[0] for row in rows]
    lists = [list(lines) for _, lines in groupby(rows, lambda row: row[0])]
    assert list(map(int, run.ranks)) == [rank for lines in lists for rank in range(1, len(lines) + 1)]
    assert [document.decode() for document in run.documents] == [row[1] for row in rows]
    assert bits(list(run.keys)) == bits([row[2] for row in rows])


@tries(150)
@given(
    st.lists(
        st.tuples(topic_names, names, names, st.integers(-(2**31) + 1, 2**31 - 1) | st.floats(-(2**31) + 1, 2**31 - 1)),
        min_size=1,
        unique_by=lambda row: row[:3],
    ),
    endings,
)
def test_judgments_are_read_back(folder: Path, rows: list[tuple[str, str, str, float]], ending: str) -> None:
    path = folder / f"written.qrels{ending}"
    write_qrels(path, rows)
    lines = read_intents(path)
    back = zip(lines.topics, lines.intents, lines.documents, lines.grades, strict=True)
    assert [(topic.decode(), intent.decode(), name.decode(), grade) for topic, intent, name, grade in back] == rows
    plain = {(topic, name): grade for topic, _, name, grade in rows}
    if len(plain) == len(rows):
        lines = read_qrels(path)
        keys = zip(map(bytes.decode, lines.topics), map(bytes.decode, lines.documents), strict=True)
        assert dict(zip(keys, lines.grades, strict=True)) == plain


name_text = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "), max_size=9)
table_names = name_text.map(str.strip).filter(bool)


@tries(150)
@given(st.dictionaries(names.filter(lambda name: name[0] != "#"), table_names, min_size=1, max_size=6), endings)
def test_a_team_list_is_read_back(folder: Path, teams: dict[str, str], ending: str) -> None:
    path = folder / f"written.tsv{ending}"
    write_teams(path, teams)
    assert read_teams(path) == teams


@st.composite
def tables(draw: st.DrawFn, *, measures: int = 2, shards: bool = False) -> ScoreTable:
    """Any table with a score for every name in it; missing cells, any double, names with commas and quotes."""
    axes = [
        draw(st.lists(table_names, min_size=1, max_size=size, unique=True))
        for size in (measures, 4, 3, 2 if shards else 1)
    ]
    cells = [
        (measure, topic, system, shard, draw(finite))
        for measure in axes[0]
        for topic in axes[1]
        for system in axes[2]
        for shard in axes[3]
        if draw(st.integers(0, 3))
    ]
    assume(cells)
    if shards:
        return ScoreTable.from_rows(cells, columns=("measure", "topic", "system", "shard", "score"))
    return ScoreTable.from_rows((*cell[:3], cell[4]) for cell in cells)


def same_table(one: ScoreTable, other: ScoreTable) -> bool:
    return (one.measures, one.topics, one.systems, one.shards) == (
        other.measures,
        other.topics,
        other.systems,
        other.shards,
    ) and np.array_equal(one.values.view(np.uint64), other.values.view(np.uint64))


@tries(100)
@given(st.one_of(tables(), tables(shards=True)), st.sampled_from(WRITTEN))
def test_a_long_score_table_is_read_back_bit_for_bit(folder: Path, table: ScoreTable, ending: str) -> None:
    path = folder / f"long{ending}"
    write_scores(table, path)
    assert same_table(read_scores(path), table)


@tries(150)
@given(tables(), st.sampled_from([".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz"]))
def test_a_wide_score_table_is_read_back_bit_for_bit(folder: Path, table: ScoreTable, ending: str) -> None:
    assume(not {"topic", "measure", "system", "score"} & set(table.systems))
    path = folder / f"wide{ending}"
    write_scores(table, path, wide=True)
    named = table.measures[0] if len(table.measures) == 1 else None
    assert same_table(read_scores(path, measure=named), table)


@pytest.mark.parametrize("ending", [*WRITTEN, ".parquet.gz"])
def test_every_kind_of_file_that_is_written_is_read(folder: Path, ending: str) -> None:
    table = ScoreTable.from_rows([("AP", "1", "a", 0.1), ("AP", "2", "b", -0.0)])
    try:
        write_scores(table, folder / f"any{ending}")
    except CranfieldError:  # not to write a kind at all is as good
        return
    assert same_table(read_scores(folder / f"any{ending}"), table)


@pytest.mark.parametrize(
    "systems", [("measure", "a"), ("topic", "a"), ("score", "system"), ("a;b;c;d", "e"), ("a,b,c,d", "e")]
)
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_a_system_whose_name_could_be_a_columns_is_read_back_or_not_written(
    folder: Path, systems: tuple[str, str], ending: str
) -> None:
    table = ScoreTable.from_rows([("AP", "1", systems[0], 0.5), ("AP", "1", systems[1], 0.25)])
    path = folder / f"columns{ending}"
    try:
        write_scores(table, path, wide=True)
    except CranfieldError:
        return
    assert same_table(read_scores(path, measure="AP"), table)
