"""Score tables of many systems: written, read by Polars, and compared once they are in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.jobs import clock
from benchmarks.sizes import sized

TOPICS = sized(100, 5)
Array = npt.NDArray[np.float64]


def scores(systems: int) -> Array:
    rng = np.random.default_rng(systems)
    quality = rng.normal(0.45, 0.06, systems)
    return np.clip(rng.normal(0, 0.15, (TOPICS, 1)) + quality + rng.normal(0, 0.12, (TOPICS, systems)), 0, 1)


def names(systems: int) -> list[str]:
    return [f"system{at:05d}" for at in range(systems)]


def write(path: str, systems: str) -> None:
    """A wide CSV file: one row per topic, one column per system."""
    table = scores(int(systems))
    lines = [",".join(["topic", *names(int(systems))])]
    lines += [",".join([str(topic), *(f"{score:.4f}" for score in row)]) for topic, row in enumerate(table, 1)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    clock.answer(megabytes=Path(path).stat().st_size / 1e6)


def polars(path: str) -> None:
    import polars

    clock.answer(seconds=clock.seconds(lambda: polars.read_csv(path)))


def ours(path: str) -> None:
    """Reading and comparing, each alone: from the file to a table, and from the table to ranking, groups and counts."""
    import cranfield

    tables: list[cranfield.ScoreTable] = []
    reading = clock.seconds(lambda: tables.append(cranfield.read_scores(path)))
    before = clock.peak_megabytes()
    comparing = clock.seconds(lambda: cranfield.compare(tables[0]).document())
    clock.answer(reading=reading, comparing=comparing, before=before, after=clock.peak_megabytes())


if __name__ == "__main__":
    clock.start(globals())
