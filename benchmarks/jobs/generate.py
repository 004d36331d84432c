"""Job: write one collection, ``python -m benchmarks.jobs.generate NAME DIRECTORY``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks import shapes
from benchmarks.shapes import Shape

Array = npt.NDArray[Any]

SEED = 20260101
# The share of documents with the score of the one above; with what rounding adds it comes to the real runs' 0.11.
TIED = 0.03
UNTIED = 12  # every so many runs, one has no ties, so that its lists are in order as they stand
SCALES = (1.0, 30.0, 1.0, 12000.0)


def main(name: str, directory: str) -> None:
    """Generate the shape called ``name`` into ``directory``: ``runs/`` and ``qrels.txt``."""
    shape = next(each for each in vars(shapes).values() if isinstance(each, Shape) and each.name == name)
    target = Path(directory)
    (target / "runs").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    codes, keys, judgments = _retrieve(shape, rng)
    ids = document_ids(shape)
    topics = _topic_names(shape, rng)
    for run in range(shape.runs):
        _write_run(target / "runs", run, topics, ids, codes[run], _scores(keys[run], run, rng))
    _write_qrels(target / "qrels.txt", topics, ids, judgments)


def document_ids(shape: Shape) -> pl.Series:
    """Numbers for MS MARCO; for TREC-8 the four sources of its documents with their ways to name them."""
    if shape.documents > 1_000_000:
        return pl.Series(np.arange(shape.documents)).cast(pl.String)
    at = np.arange(shape.documents)
    names = [
        pl.Series([f"FT{911 + i // 4500}-{1 + i % 4500}" for i in at[:210_000].tolist()]),
        pl.Series([f"FR94{101 + i // 300:04d}-0-{1 + i % 300:05d}" for i in at[:55_000].tolist()]),
        pl.Series([f"FBIS{3 + i // 65_000}-{1 + i % 65_000}" for i in at[:130_000].tolist()]),
    ]
    rest = shape.documents - sum(map(len, names))
    names.append(pl.Series([f"LA{10189 + 100 * (i // 180):06d}-{1 + i % 180:04d}" for i in at[:rest].tolist()]))
    return pl.concat(names)


def _topic_names(shape: Shape, rng: np.random.Generator) -> Array:
    """TREC-8's are 401 to 450; MS MARCO's are scattered numbers of up to seven digits."""
    if shape.topics <= 50:
        return np.arange(401, 401 + shape.topics)
    return np.sort(rng.choice(1_100_000, shape.topics, replace=False)) + 2


def _retrieve(shape: Shape, rng: np.random.Generator) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    """For every run and topic the documents and keys, best first, and for every topic the judged and their grades."""
    codes = np.empty((shape.runs, shape.topics, shape.depth), np.int32)
    keys = np.empty((shape.runs, shape.topics, shape.depth), np.float32)
    judgments = []
    appeal = -np.log(np.arange(1, shape.candidates + 1, dtype=np.float32))  # how strongly runs agree on a document
    noise = rng.uniform(0.8, 2.0, (shape.runs, 1)).astype(np.float32)
    known = rng.lognormal(0.0, 0.7, shape.documents) if shape.documents < 1_000_000 else None
    for topic in range(shape.topics):
        pool = _draw(shape, known, rng)
        liked = appeal + noise * rng.standard_normal((shape.runs, shape.candidates), np.float32)
        first = np.argpartition(-liked, shape.depth - 1, axis=1)[:, : shape.depth]
        kept = np.take_along_axis(liked, first, axis=1)
        order = np.argsort(-kept, axis=1)
        places = np.take_along_axis(first, order, axis=1)
        codes[:, topic], keys[:, topic] = pool[places], np.take_along_axis(kept, order, axis=1)
        judgments.append(_judge(shape, pool, places, rng))
    return codes, keys, judgments


def _draw(shape: Shape, known: Array | None, rng: np.random.Generator) -> Array:
    """The candidates of a topic; with ``known`` weights, some documents come up for many topics."""
    if known is None:
        return rng.choice(shape.documents, shape.candidates, replace=False)
    chance = rng.standard_exponential(shape.documents) / known
    return rng.permutation(np.argpartition(chance, shape.candidates)[: shape.candidates])


def _judge(shape: Shape, pool: Array, places: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Judge what runs have at the top, as pooling does; relevant are those the runs tend to agree on."""
    relevant = max(1, round(shape.relevant if shape.topics > 50 else shape.relevant * rng.lognormal(-0.3, 0.8)))
    if shape.judged < 10:
        relevant += int(rng.random() < shape.relevant - 1)
        chosen = np.unique(np.minimum(rng.geometric(0.06, relevant), shape.candidates) - 1)
        return pool[chosen], np.ones(len(chosen), np.int32)
    best = np.full(shape.candidates, shape.depth)
    np.minimum.at(best, places, np.broadcast_to(np.arange(shape.depth), places.shape))
    judged = np.argsort(best, kind="stable")[: round(shape.judged)]
    likely = np.log1p(judged) + rng.standard_normal(len(judged)) * 1.2
    grades = np.zeros(len(judged), np.int32)
    grades[np.argsort(likely)[:relevant]] = 1
    return pool[judged], grades


def _scores(keys: Array, run: int, rng: np.random.Generator) -> Array:
    """Descending scores on the run's own scale, some of them tied."""
    tied = rng.random(keys.shape) < (TIED if run % UNTIED else 0.0)
    tied[:, 0] = False
    leader = np.maximum.accumulate(np.where(tied, 0, np.arange(keys.shape[1])), axis=1)
    level = np.take_along_axis(keys, leader, axis=1).astype(np.float64)
    return SCALES[run % len(SCALES)] * (level + 12.0) / 20.0


def _write_run(folder: Path, run: int, topics: Array, ids: pl.Series, codes: Array, scores: Array) -> None:
    tag = f"sys{run + 1:03d}"
    depth = codes.shape[1]
    frame = pl.DataFrame({"topic": np.repeat(topics, depth)}).with_columns(
        pl.lit("Q0").alias("q0"),
        ids.gather(codes.ravel()).alias("document"),
        pl.Series("rank", np.tile(np.arange(1, depth + 1), len(topics))),
        pl.Series("score", scores.ravel()),
        pl.lit(tag).alias("tag"),
    )
    frame.write_csv(folder / f"input.{tag}", separator=" ", include_header=False, float_precision=_decimals(run))


def _decimals(run: int) -> int:
    return 4 + run % 4 if run % UNTIED else 7


def _write_qrels(path: Path, topics: Array, ids: pl.Series, judgments: list[tuple[Array, Array]]) -> None:
    frame = pl.DataFrame(
        {
            "topic": np.repeat(topics, [len(codes) for codes, _ in judgments]),
            "zero": 0,
            "document": ids.gather(np.concatenate([codes for codes, _ in judgments])),
            "grade": np.concatenate([grades for _, grades in judgments]),
        }
    )
    frame.write_csv(path, separator=" ", include_header=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
