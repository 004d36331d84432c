"""Packed scores: ``python -m benchmarks.jobs.packs WHAT FILE …``; what is measured is printed as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np

from benchmarks.jobs import clock

STEP = 10_000  # topics that are drawn at a time


def _parts(topics: int, systems: int) -> Iterator[np.ndarray]:
    effects = np.linspace(0, 0.05, systems)
    for first in range(0, topics, STEP):
        draw, count = np.random.default_rng((1, first)), min(STEP, topics - first)
        yield 0.6 * draw.random((count, 1)) + 0.35 * draw.random((count, systems)) + effects


def write(file: str, topics: str, systems: str) -> None:
    """Scores that are never in memory as a whole."""
    from cranfield.scores.stored import write_scores_packed

    write_scores_packed(
        file,
        measures=["score"],
        topics=[f"q{at:07d}" for at in range(int(topics))],
        systems=[f"sys{at:04d}" for at in range(int(systems))],
        values=_parts(int(topics), int(systems)),
    )


def opening(file: str) -> None:
    from cranfield.scores import read_scores

    clock.answer(seconds=clock.median(lambda: read_scores(file)))


def _peak() -> float:
    """The largest resident set of this process so far, in megabytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM"))


def _digest(*results: object) -> str:
    said = [{name: value for name, value in each.to_dict().items() if name != "inputs"} for each in results]  # type: ignore[attr-defined]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def answers(file: str, workers: str) -> None:
    """Compare and estimate variances on so many workers, or with 0 on threads."""
    import cranfield
    from cranfield.runtime import threads
    from cranfield.runtime.dask import local_cluster

    found: list[str] = []
    with local_cluster(int(workers)) if int(workers) else nullcontext() as started:
        with threads.on(started) if started is not None else nullcontext():
            seconds = clock.seconds(lambda: found.append(_digest(cranfield.compare(file), cranfield.variance(file))))
        peaks = list(started.client.run(_peak).values()) if started is not None else []
    clock.answer(seconds=seconds, digest=found[0], peaks=peaks, own=_peak())


def memory(file: str) -> None:
    """The same from all scores in memory."""
    import cranfield

    table = cranfield.read_scores(file)
    held = cranfield.ScoreTable(table.measures, table.topics, table.systems, np.array(table.values))
    clock.answer(digest=_digest(cranfield.compare(held), cranfield.variance(held)))


if __name__ == "__main__":
    clock.start(globals())
