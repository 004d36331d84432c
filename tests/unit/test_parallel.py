"""Spreading work: the pieces cover everything, results keep their order, and no number depends on the threads."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield
from cranfield.collection import Collection, builder, readers
from cranfield.formats.scan import Scanner
from cranfield.measures import CATALOG
from cranfield.runtime import compiled
from cranfield.runtime.compiled import Kernel
from cranfield.runtime.threads import available_workers, slices, spread
from cranfield.scores.evaluation import score_collection
from sizes import examples_of

ALL = [
    f"{kind.name}@10" if kind.cutoff.allowed and not kind.cutoff.parameter else kind.example
    for kind in CATALOG.values()
]


@settings(max_examples=examples_of(200), deadline=None)
@given(st.integers(0, 1000), st.integers(1, 50))
def test_slices_cover_the_range_in_order_and_are_nearly_equal(count: int, parts: int) -> None:
    pieces = slices(count, parts)
    assert [at for first, last in pieces for at in range(first, last)] == list(range(count))
    assert len(pieces) == min(parts, count)
    sizes = [last - first for first, last in pieces]
    assert not sizes or max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("parts", [0, -3])
def test_a_range_is_in_at_least_one_piece(parts: int) -> None:
    assert slices(5, parts) == [(0, 5)]
    assert slices(0, parts) == []


def test_there_is_at_least_one_worker() -> None:
    assert available_workers() >= 1


def test_results_come_in_the_order_of_the_items() -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item * item

    assert spread(slow_first, range(6), workers=3) == [0, 1, 4, 9, 16, 25]


def test_nothing_to_do_is_done() -> None:
    assert spread(str, []) == []


def test_one_worker_stays_in_its_thread() -> None:
    assert spread(lambda _: threading.get_ident(), range(3), workers=1) == [threading.get_ident()] * 3


def test_several_workers_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=600)
    assert sorted(spread(lambda _: meeting.wait(), range(2), workers=2)) == [0, 1]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_is_an_error(workers: int) -> None:
    def fail(item: int) -> int:
        if item == 1:
            raise KeyError("the second")
        return item

    with pytest.raises(KeyError, match="the second"):
        spread(fail, range(3), workers=workers)


# --- kernels


def _doubled(first: Any, last: Any, values: Any, out_values: Any) -> None:
    for at in range(first, last):
        out_values[at] = values[at] * 2.0


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("work", [1, 10**9])
def test_a_kernel_runs_over_the_whole_range_however_it_runs(work: int, workers: int) -> None:
    values, doubled = np.arange(1001.0), np.zeros(1001)
    Kernel(_doubled)(1001, values, doubled, work=work, workers=workers)
    assert np.array_equal(doubled, values * 2)


def compiles(kernel: Kernel, work: int) -> bool:
    """Whether a kernel is compiled for so much work; it does the work right either way."""
    doubled = np.zeros(10)
    kernel(10, np.arange(10.0), doubled, work=work)
    assert doubled[9] == 18.0
    return "compiled" in vars(kernel)


def test_work_is_compiled_once_it_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "is_loaded", lambda: False)
    monkeypatch.setattr(compiled, "_spent", 0)
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 25)
    kernel = Kernel(_doubled)
    assert [compiles(kernel, 10) for _ in range(3)] == [False, False, True]


def test_much_work_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "is_loaded", lambda: False)
    monkeypatch.setattr(compiled, "_spent", 0)
    assert compiles(Kernel(_doubled), compiled.WORTH_COMPILING)


def test_work_is_compiled_where_the_compiler_is_there_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "is_loaded", lambda: True)
    monkeypatch.setattr(compiled, "_spent", 0)
    assert compiles(Kernel(_doubled), 1)


def everything(example: Path) -> dict[str, npt.NDArray[Any]]:
    """All that is computed from a collection: its arrays, its scores, a pool, shards."""
    collection: Collection = cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt"
    )
    view = collection.sharded(collection.random_shards(3, seed=1))
    return {
        **collection.arrays,
        "scores": score_collection(collection, ALL).values,
        "pooled": score_collection(collection.pool(5), ALL).values,
        "shard rank": view.judged.rank,
        "shard judgment": view.judged.judgment,
        "shard edges": view.judged.edges,
        "shard length": view.length,
    }


@pytest.fixture(scope="module")
def interpreted(example: Path) -> dict[str, npt.NDArray[Any]]:
    """What the interpreter makes of everything, on one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "is_loaded", lambda: False)
        patch.setattr(compiled, "WORTH_COMPILING", 10**15)
        patch.setattr(compiled, "WORTH_LOADING", 0)
        patch.setattr(Scanner, "scan", lambda *_: None)
        return everything(example)


@pytest.mark.parametrize("workers", [1, 2, 3, 16])
def test_compiled_or_not_and_on_any_number_of_threads_every_bit_is_the_same(
    workers: int, example: Path, interpreted: dict[str, npt.NDArray[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Kernel.__call__

    def on_threads(kernel: Kernel, count: int, *arguments: Any, work: int, workers: int | None = workers) -> None:
        whole(kernel, count, *arguments, work=10**9, workers=workers)

    monkeypatch.setattr(Kernel, "__call__", on_threads)
    monkeypatch.setattr(readers, "available_workers", lambda: workers)
    monkeypatch.setattr(builder, "available_workers", lambda: workers)
    monkeypatch.setattr(builder, "AT_ONCE", 1000)
    monkeypatch.setattr(builder, "_AT_ONCE", 1000)
    found = everything(example)
    assert found.keys() == interpreted.keys()
    for name, array in interpreted.items():
        assert np.array_equal(found[name], array), name
