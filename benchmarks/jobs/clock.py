"""What every job measures with, and how it answers: one line of JSON on standard output."""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.sizes import sized

STARTED = "BENCHMARK_STARTED"  # when this process was started, in seconds since the epoch; the relay sets it


def since_start() -> float:
    """Seconds since this process was asked for: the interpreter and every import are in it."""
    return time.time() - float(os.environ[STARTED])


def seconds(work: Callable[[], Any]) -> float:
    """How long ``work`` takes, once."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def median(work: Callable[[], Any], *, at_most: int = 15, budget: float = 3.0) -> float:
    """The median of several times: as many as fit into ``budget`` seconds, at least one."""
    return statistics.median(_several(work, at_most, budget))


def fastest(work: Callable[[], Any], *, at_most: int = 15, budget: float = 4.0) -> float:
    """The least of several times, for work so short that whatever else the machine does shows in the others."""
    return min(_several(work, at_most, budget))


def _several(work: Callable[[], Any], at_most: int, budget: float) -> list[float]:
    times = [seconds(work)]
    while len(times) < sized(at_most, 1) and sum(times) < budget:
        times.append(seconds(work))
    return times


def peak_megabytes() -> float:
    """The most memory this process had resident so far."""
    return megabytes(resource.getrusage(resource.RUSAGE_SELF))


def megabytes(usage: resource.struct_rusage) -> float:
    """Peak memory; systems differ in what they count it in."""
    return usage.ru_maxrss / (1_000_000 if sys.platform == "darwin" else 1_000)


def files(folder: str) -> list[str]:
    """The run files of a folder, or the one file it is."""
    path = Path(folder)
    return sorted(map(str, path.iterdir())) if path.is_dir() else [folder]


def answer(**values: Any) -> None:
    print(json.dumps(values))


def start(functions: dict[str, Any]) -> None:
    """Call the function that the command line names, with its arguments."""
    functions[sys.argv[1]](*sys.argv[2:])


def mean(values: list[float]) -> float:
    return sum(values) / len(values)
