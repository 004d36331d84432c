"""Jobs of ranx: ``cold`` (files to means, a run at a time) and ``loaded`` (read all, score, score again)."""

from __future__ import annotations

import time

import ranx

from benchmarks.jobs import clock

MEASURES = ["map", "precision@10", "ndcg", "rbp.8"]


def cold(runs: str, qrels: str) -> None:
    """Files to mean scores, no more than one run in memory."""
    judged = ranx.Qrels.from_file(qrels, kind="trec")
    means = []
    for file in clock.files(runs):
        run = ranx.Run.from_file(file, kind="trec")
        means.append(float(ranx.evaluate(judged, run, MEASURES, make_comparable=True)["map"]))
    clock.answer(ap=clock.mean(means))


def loaded(runs: str, qrels: str) -> None:
    """All runs in memory, then scored: the first time with its compiling, then without."""
    before = time.perf_counter()
    judged = ranx.Qrels.from_file(qrels, kind="trec")
    read = [ranx.Run.from_file(file, kind="trec") for file in clock.files(runs)]
    reading, with_imports = time.perf_counter() - before, clock.since_start()
    peak = clock.peak_megabytes()

    def score() -> None:
        for run in read:
            ranx.evaluate(judged, run, MEASURES, make_comparable=True)

    first, scoring = clock.seconds(score), clock.median(score, at_most=3, budget=8.0)
    clock.answer(reading=reading, with_imports=with_imports, peak=peak, first=first, scoring=scoring)


if __name__ == "__main__":
    clock.start(globals())
