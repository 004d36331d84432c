"""Jobs of pytrec_eval: ``cold`` (files to means, a run at a time) and ``loaded`` (read all, score, split, score)."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

import pytrec_eval

from benchmarks.jobs import clock

MEASURES = {"map", "P_10", "ndcg"}  # RBP it does not have
SPLITS = (2, 10, 50)

Run = Mapping[str, Mapping[str, float]]
Judged = Mapping[str, Mapping[str, int]]
Value = TypeVar("Value", int, float)


def cold(runs: str, qrels: str) -> None:
    """Files to mean scores, no more than one run in memory."""
    evaluator = pytrec_eval.RelevanceEvaluator(_qrels(qrels), MEASURES)
    precision = []
    for file in clock.files(runs):
        scores = evaluator.evaluate(_run(file))
        means = {name: clock.mean([of_topic[name] for of_topic in scores.values()]) for name in sorted(MEASURES)}
        precision.append(means["map"])
    clock.answer(ap=clock.mean(precision))


def loaded(runs: str, qrels: str) -> None:
    """All runs in memory, then scored, then split into shards and scored."""
    before = time.perf_counter()
    judged, read = _qrels(qrels), [_run(file) for file in clock.files(runs)]
    reading, with_imports = time.perf_counter() - before, clock.since_start()
    peak = clock.peak_megabytes()
    scoring = clock.median(lambda: _score(judged, read, MEASURES), at_most=3, budget=8.0)
    every = clock.median(lambda: _score(judged, read, pytrec_eval.supported_measures), at_most=3, budget=8.0)
    documents = sorted({document for run in read for listed in run.values() for document in listed})
    shards = {}
    for count in SPLITS:
        shard_of = _random_shards(documents, count)
        shards[count] = clock.seconds(partial(_score_shards, judged, read, count, shard_of))
    clock.answer(reading=reading, with_imports=with_imports, peak=peak, scoring=scoring, every=every, shards=shards)


def _qrels(path: str) -> Judged:
    with open(path) as stream:
        judged: Judged = pytrec_eval.parse_qrel(stream)
    return judged


def _run(path: str) -> Run:
    with open(path) as stream:
        run: Run = pytrec_eval.parse_run(stream)
    return run


def _score(judged: Judged, runs: Sequence[Run], measures: set[str]) -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(judged, measures)
    for run in runs:
        evaluator.evaluate(run)


def _random_shards(documents: Sequence[str], count: int) -> dict[str, int]:
    """Even shards, as cranfield's: a shuffle dealt out like cards."""
    order = list(documents)
    random.Random(1).shuffle(order)
    return {document: at % count for at, document in enumerate(order)}


def _score_shards(judged: Judged, runs: Sequence[Run], count: int, shard_of: Mapping[str, int]) -> None:
    """AP on every shard of documents, each (topic, shard) a topic of its own, so that one call does a run."""
    evaluator = pytrec_eval.RelevanceEvaluator(_split(judged, count, shard_of), {"map"})
    for run in runs:
        evaluator.evaluate(_split(run, count, shard_of))


def _split(
    rows: Mapping[str, Mapping[str, Value]], count: int, shard_of: Mapping[str, int]
) -> dict[str, dict[str, Value]]:
    split: dict[str, dict[str, Value]] = {}
    for topic, documents in rows.items():
        parts: list[dict[str, Value]] = [{} for _ in range(count)]
        for document, value in documents.items():
            parts[shard_of.get(document, 0)][document] = value
        split.update((f"{topic}.{shard}", part) for shard, part in enumerate(parts))
    return split


if __name__ == "__main__":
    clock.start(globals())
