"""The compiled reader: what it takes and refuses, and that nothing depends on its being there."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from cranfield.formats import scan
from cranfield.formats.runs import Order
from cranfield.formats.scan import Scanner, Vocabulary

compiled = pytest.importorskip("cranfield.formats._scan", reason="the reader was not compiled")
KEY = bytes(range(16))
ONE_TOPIC = bytes(8) + bytes([1, *bytes(7)])  # the rows of one topic, which has one


@pytest.fixture(params=["compiled", "plain"])
def vocabulary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Vocabulary:
    if request.param == "plain":
        monkeypatch.setattr(scan, "_scan", None)
    return Vocabulary()


def test_ids_are_coded_as_they_are_met(vocabulary: Vocabulary) -> None:
    assert vocabulary.code([b"b", b"a", b"b", b"a" * 40]).tolist() == [0, 1, 0, 2]
    assert vocabulary.ids() == [b"b", b"a", b"a" * 40]


def test_one_vocabulary_enters_another(vocabulary: Vocabulary) -> None:
    other = Vocabulary()
    other.code([b"x", b"b", b"y"])
    vocabulary.code([b"a", b"b"])
    assert vocabulary.enter(other).tolist() == [2, 1, 3]
    assert vocabulary.ids() == [b"a", b"b", b"x", b"y"]


def test_ids_are_sorted_by_their_bytes_however_long(vocabulary: Vocabulary) -> None:
    # Ids that share eight, sixteen and more bytes, one the beginning of another, and bytes above ASCII.
    ids = [b"a" * size + tail for size in (0, 7, 8, 15, 16, 17, 40) for tail in (b"b", b"", b"bb", b"\xc3\xa9")]
    codes = vocabulary.code(ids[::-1])
    blob, edges, places = vocabulary.sorted()
    found = [blob[start:end].tobytes() for start, end in pairwise(edges.tolist())]
    assert found == sorted(set(ids))
    assert [found[place] for place in places[codes].tolist()] == ids[::-1]


def test_many_ids_outgrow_every_table(vocabulary: Vocabulary) -> None:
    ids = [b"doc%d" % number for number in range(20_000)]
    assert vocabulary.code(ids).tolist() == list(range(20_000))
    assert vocabulary.code(ids[::-1]).tolist() == list(range(20_000))[::-1]


def test_the_order_of_codes_does_not_depend_on_the_secret_key() -> None:
    ids = [b"doc%d" % (number * 7919 % 5000) for number in range(5000)]
    one, other = compiled.Vocabulary(KEY), compiled.Vocabulary(KEY[::-1])
    assert one.code(ids) == other.code(ids)


def judged(edges: bytes | memoryview, codes: bytes | memoryview) -> object:
    vocabulary = compiled.Vocabulary(KEY)
    vocabulary.code([b"d"])
    return vocabulary.judgments([b"1"], edges, codes)


def test_judgments_are_made_of_numbers_that_begin_where_numbers_do() -> None:
    assert judged(ONE_TOPIC, bytes(4)) is not None


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: compiled.Vocabulary(b"short"), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan(b"1 Q0 d 1 1 t\n", 7, 4, -1, 99), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan(b"1 Q0 d 1 1 t\n", 2, 1, -1, 99), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan(b"1 Q0 d 1 1 t\n", 6, 6, -1, 99), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan(b"1 Q0 d 1 1 t\n", 6, 4, 6, 99), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan(b"1 Q0 d 1 1 t\n", 6, 4, -1, -1), ValueError),
        (lambda: compiled.Vocabulary(KEY).scan("1 Q0 d 1 1 t\n", 6, 4, -1, 99), TypeError),
        (lambda: compiled.Vocabulary(KEY).code([b"a\0b"]), ValueError),
        (lambda: compiled.Vocabulary(KEY).code([b"a", "a"]), TypeError),
        (lambda: compiled.Vocabulary(KEY).code(["a", b"a"]), ValueError),
        (lambda: compiled.Vocabulary(KEY).code(["a", " "]), ValueError),
        (lambda: compiled.Vocabulary(KEY).code((b"a",)), TypeError),
        (lambda: compiled.Vocabulary(KEY).enter(KEY), TypeError),
        (lambda: judged(memoryview(b"x" + ONE_TOPIC)[1:], bytes(4)), ValueError),
        (lambda: judged(ONE_TOPIC, memoryview(bytes(5))[1:]), ValueError),
        (lambda: judged(ONE_TOPIC, bytes(3) + b"x"), ValueError),
    ],
)
def test_what_is_not_meant_for_it_is_refused(call: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("rank", ["7", "1e51", "123456789012345678901234567890"])
def test_ranks_are_read_where_lists_are_ordered_by_them(rank: str) -> None:
    run = Scanner().scan(f"1 Q0 d {rank} 5 tag".encode(), "run", Order.RANK, with_ranks=True)
    assert run is not None
    assert (run.ranks.tolist(), run.keys.tolist()) == ([float(rank)], [-float(rank)])


@pytest.mark.parametrize("longest", [12, 13])
def test_a_line_may_be_so_long_and_no_longer(longest: int) -> None:
    for line in (b"1 Q0 d 1 1 t1\n", b"1 Q0 d 1 1 t1"):  # of 13 bytes
        assert (compiled.Vocabulary(KEY).scan(line, 6, 4, -1, longest) is not None) is (longest == 13)


def test_a_vocabulary_is_of_one_thread_at_a_time() -> None:
    """Threads that share one by mistake are told so, and nothing is damaged."""
    shared, lines = compiled.Vocabulary(KEY), b"".join(b"1 Q0 doc%d 1 1.5 t\n" % at for at in range(50_000))
    outcomes: list[object] = []

    def read() -> None:
        try:
            outcomes.append(shared.scan(lines, 6, 4, -1, 99)[3])
        except RuntimeError as error:
            outcomes.append(str(error))

    def look() -> None:
        for ask in (shared.ids, shared.sorted, lambda: shared.code([]), lambda: compiled.Vocabulary(KEY).enter(shared)):
            try:
                ask()
            except RuntimeError as error:
                outcomes.append(str(error))

    threads = [threading.Thread(target=each) for each in [read, look] * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = compiled.Vocabulary(KEY).scan(lines, 6, 4, -1, 99)[3]
    assert any(outcome == expected for outcome in outcomes)
    assert all(outcome in (expected, "another thread is using this vocabulary") for outcome in outcomes)


def test_without_the_compiled_reader_nothing_is_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_scan", None)
    assert Scanner().scan(b"1 Q0 d 1 1 t\n", "any") is None
    assert Scanner().scan_judgments(b"1 0 d 1\n", "any") is None
