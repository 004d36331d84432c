"""Jobs of cranfield itself: ``read`` (and pack), ``packed`` (reopen, score, split); files to means is its command."""

from __future__ import annotations

import time
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.jobs import clock
from benchmarks.sizes import sized
from cranfield.scores.evaluation import score_collection

MEASURES = ["AP", "P@10", "nDCG", "RBP(p=0.8)"]
SHARDS = (1, 2, 10, 50)
STUDY_SHARDS, STUDY_SAMPLES = sized(((2, 3, 4, 5, 10, 25, 50), 10), ((2,), 1))


def read(runs: str, qrels: str, packed: str) -> None:
    """Read once as a fresh process does, compiler and all; read again; pack."""
    from cranfield import read_collection

    before = time.perf_counter()
    collection = read_collection(runs, qrels)
    reading, with_imports = time.perf_counter() - before, clock.since_start()
    peak = clock.peak_megabytes()
    packing = clock.seconds(partial(collection.save, packed))
    del collection
    again = clock.median(lambda: read_collection(runs, qrels), at_most=3, budget=4.0)
    clock.answer(reading=reading, with_imports=with_imports, peak=peak, again=again, packing=packing)


def reopen(packed: str) -> None:
    """Open a packed collection, and open it and score AP, which checks the arrays it uses."""
    from cranfield import open_collection

    first = clock.seconds(lambda: open_collection(packed))
    opening = clock.median(lambda: open_collection(packed))
    score_first = clock.seconds(lambda: score_collection(open_collection(packed), "AP"))
    scoring = clock.median(lambda: score_collection(open_collection(packed), "AP"))
    clock.answer(first=first, opening=opening, score_first=score_first, scoring=scoring, peak=clock.peak_megabytes())


def score(packed: str) -> None:
    """Score a packed collection: the first time in a process, then time after time, then with the compiler loaded."""
    from cranfield import open_collection

    collection = open_collection(packed)
    first = clock.seconds(lambda: score_collection(collection, MEASURES))
    repeated = clock.median(lambda: score_collection(collection, MEASURES))
    import_module("numba")
    score_collection(collection, MEASURES)
    compiled = clock.median(lambda: score_collection(collection, MEASURES))
    score_collection(collection, "all_trec")
    every = clock.median(lambda: score_collection(collection, "all_trec"))
    clock.answer(first=first, repeated=repeated, scoring=compiled, every=every, peak=clock.peak_megabytes())


def split(packed: str) -> None:
    """AP on all shards of a packed collection, for several numbers of shards."""
    from cranfield import open_collection, parse_measure
    from cranfield.scores.evaluation import score_view

    collection, wanted = open_collection(packed), [parse_measure("AP")]
    import_module("numba")
    times = {}
    for count in SHARDS:
        shard_of = collection.random_shards(count, seed=1)

        def all_shards(shard_of: Any = shard_of) -> None:
            score_view(collection.sharded(shard_of), wanted)

        clock.seconds(all_shards)
        times[count] = clock.median(all_shards)
    clock.answer(shards=times, peak=clock.peak_megabytes())


def study(packed: str) -> None:
    """All of ``cranfield shards`` on all cores; and on one thread the time of its parts, without those inside them."""
    from cranfield import open_collection
    from cranfield.methods.sharding import shard_models
    from cranfield.runtime import threads

    parts = {
        "splitting the lists": 0.0,
        "scoring": 0.0,
        "analysis of variance": 0.0,
        "Tukey's test": 0.0,
        "replication of the verdicts": 0.0,
        "bootstrap": 0.0,
    }
    inside: list[float] = []  # seconds already counted, for every part that is under way

    def timed(owner: Any, name: str, part: str) -> None:
        function = getattr(owner, name)

        def measured(*arguments: Any, **options: Any) -> Any:
            inside.append(0.0)
            before = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                taken = time.perf_counter() - before
                parts[part] += taken - inside.pop()
                if inside:
                    inside[-1] += taken

        setattr(owner, name, measured)

    def whole() -> None:
        shard_models.shard_study(collection, MEASURES, shards=STUDY_SHARDS, samples=STUDY_SAMPLES).to_dict()

    import_module("numba")
    collection = open_collection(packed)
    shard_models.shard_study(collection, MEASURES, shards=[2])  # compiled
    together = clock.seconds(whole)
    timed(type(collection), "random_shards", "splitting the lists")
    timed(type(collection), "sharded", "splitting the lists")
    timed(shard_models, "score_view", "scoring")
    for name in ("decompose", "anova"):
        timed(shard_models, name, "analysis of variance")
    timed(shard_models, "tukey", "Tukey's test")
    timed(shard_models, "replication", "replication of the verdicts")
    timed(shard_models, "bootstrap_anova", "bootstrap")
    with threads.on(threads.Threads(1)):
        alone = clock.seconds(whole)
    parts["the rest"] = alone - sum(parts.values())
    clock.answer(parts=parts, alone=alone, seconds=together, peak=clock.peak_megabytes())


if __name__ == "__main__":
    clock.start(globals())
