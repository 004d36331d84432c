"""Job of trec_eval: files to means, a process a run, as many at once as there are cores."""

from __future__ import annotations

import os
import resource
import subprocess
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from benchmarks.jobs import clock

MEASURES = ("-m", "map", "-m", "P.10", "-m", "ndcg")  # RBP it has only from version 9.0.8 on


def cold(runs: str, qrels: str) -> None:
    """Time and memory are of trec_eval alone, without the Python that starts it."""
    files = clock.files(runs)
    before = perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        means = list(pool.map(lambda file: _mean_ap(qrels, file), files))
    seconds = perf_counter() - before
    peak = clock.megabytes(resource.getrusage(resource.RUSAGE_CHILDREN))
    clock.answer(seconds=seconds, peak=peak, ap=clock.mean(means))


def _mean_ap(qrels: str, file: str) -> float:
    output = subprocess.check_output(["trec_eval", *MEASURES, qrels, file], text=True)
    return next(float(value) for name, _, value in map(str.split, output.splitlines()) if name == "map")


if __name__ == "__main__":
    clock.start(globals())
