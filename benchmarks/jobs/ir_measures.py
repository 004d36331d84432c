# mypy: disable-error-code="no-untyped-call"
"""Jobs of ir_measures: ``cold`` (files to means, a run at a time) and ``loaded`` (read all)."""

from __future__ import annotations

import time

import ir_measures
from ir_measures import AP, P, nDCG

from benchmarks.jobs import clock

MEASURES = [AP, P @ 10, nDCG]  # RBP only with a further package


def cold(runs: str, qrels: str) -> None:
    """Files to mean scores, no more than one run in memory."""
    evaluator = ir_measures.evaluator(MEASURES, list(ir_measures.read_trec_qrels(qrels)))
    means = [evaluator.calc_aggregate(ir_measures.read_trec_run(file)) for file in clock.files(runs)]
    clock.answer(ap=clock.mean([of_run[AP] for of_run in means]))


def loaded(runs: str, qrels: str) -> None:
    """All runs in memory."""
    before = time.perf_counter()
    kept = [list(ir_measures.read_trec_qrels(qrels))]
    kept.extend(list(ir_measures.read_trec_run(file)) for file in clock.files(runs))
    reading, with_imports = time.perf_counter() - before, clock.since_start()
    clock.answer(reading=reading, with_imports=with_imports, peak=clock.peak_megabytes())


if __name__ == "__main__":
    clock.start(globals())
