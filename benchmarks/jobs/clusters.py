"""The same permutations on threads and on processes of a Dask cluster; starting it is not in the time."""

from __future__ import annotations

import numpy as np

from benchmarks.jobs import clock
from benchmarks.sizes import sized

PIECES = sized(64, 2)
TABLE = sized((50, 129), (5, 3))  # topics × systems


def _parts(count: int) -> list[np.ndarray]:
    seeds = np.random.default_rng(1).integers(1, 2**64, count, dtype=np.uint64, endpoint=False)
    return np.array_split(seeds, PIECES)


def _run(count: int) -> None:
    from cranfield.methods.contrasts.resampling import _ranges
    from cranfield.runtime.threads import tasks

    scores = np.random.default_rng(2).random(TABLE)
    tasks(_ranges, _parts(PIECES), shared=scores)  # compiled, everywhere
    found: list[float] = []
    seconds = clock.seconds(
        lambda: found.append(float(np.concatenate(tasks(_ranges, _parts(count), shared=scores)).sum()))
    )
    clock.answer(seconds=seconds, sum=found[0])


def threads(count: str, workers: str) -> None:
    from cranfield.runtime import threads

    with threads.on(threads.Threads(int(workers))):
        _run(int(count))


def dask(count: str, workers: str) -> None:
    from cranfield.runtime import threads
    from cranfield.runtime.dask import local_cluster

    with local_cluster(int(workers)) as started, threads.on(started):
        _run(int(count))


if __name__ == "__main__":
    clock.start(globals())
