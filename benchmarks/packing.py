"""Packed scores: how fast they are opened and read, and 10⁸ of them on two Dask workers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.child import Outcome, best, job, run
from benchmarks.data import progress
from benchmarks.sizes import sized
from benchmarks.table import Goal, Table, at_most, duration, megabytes, times
from benchmarks.tabling import COMMANDS

TOPICS, SYSTEMS = sized((1_000_000, 20), (10, 3))
LARGE = sized(((1_000_000, 100), (100_000, 1_000)), ((20, 4),))
OURS = sized(COMMANDS, {"variance": COMMANDS["variance"]})
NOTES = ("Workers read the file themselves; compare and variance, with the pairs that are listed.",)


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="packed-scores-") as folder:
        yield _against_polars(Path(folder))
        for topics, systems in LARGE:
            yield _large(Path(folder), topics, systems)


def _against_polars(folder: Path) -> Table:
    progress("packed scores: against Polars")
    parquet, packed = str(folder / "scores.parquet"), str(folder / "scores.cran")
    job("score_tables", "wide", TOPICS, SYSTEMS, parquet)
    run([sys.executable, "-m", "cranfield", "pack", parquet, "-o", packed])
    title = f"Packed scores, {TOPICS:,} topics × {SYSTEMS} systems ({os.path.getsize(packed) / 1e6:.0f} MB), cold"
    table = Table(title, ("process", "time", "of Polars' read", "goal", "peak"))
    code = "import sys, polars; polars.read_parquet(sys.argv[1])"
    polars = best(lambda: run([sys.executable, "-c", code, parquet]), at_most=5)
    table.add("Polars reads the Parquet file", duration(polars.seconds), times(1), "", megabytes(polars.megabytes))
    opened = job("packs", "opening", packed).answer["seconds"]
    ratio = opened / polars.seconds
    table.add("opening the packed file, warm", duration(opened), times(ratio), at_most(100 * ratio, 1, "% of it"))
    for name, (arguments, _) in OURS.items():
        with table.attempt(f"cranfield {name}"):
            ours = best(partial(run, [sys.executable, "-m", "cranfield", *arguments, packed]))
            ratio, goal = ours.seconds / polars.seconds, at_most(ours.seconds / polars.seconds, 5, "×")
            table.add(f"cranfield {name}", duration(ours.seconds), times(ratio), goal, megabytes(ours.megabytes))
    return table


def _large(folder: Path, topics: int, systems: int) -> Table:
    progress(f"packed scores: {topics:,} × {systems:,}")
    file = str(folder / "large.cran")
    job("packs", "write", file, topics, systems)
    title = f"10⁸ packed scores, {topics:,} topics × {systems:,} systems ({os.path.getsize(file) / 1e6:.0f} MB)"
    table = Table(title, ("where", "time", "peak of a worker", "goal", "same bits", "goal "), NOTES)
    with table.attempt("Dask", goals=4):
        wanted = job("packs", "memory", file).answer["digest"]
        opened = job("packs", "opening", file).answer["seconds"]
        table.add("opening it, warm", duration(opened))
        for workers in (0, 2):
            _add(table, job("packs", "answers", file, workers), workers, wanted)
    os.unlink(file)
    return table


def _add(table: Table, outcome: Outcome, workers: int, wanted: str) -> None:
    said = outcome.answer
    peak = max(said["peaks"] or [said["own"]])
    same = said["digest"] == wanted
    table.add(
        f"Dask, {workers} workers" if workers else "threads",
        duration(said["seconds"]),
        megabytes(peak),
        at_most(peak, 1000, "MB"),
        "yes" if same else "no",
        Goal("as in memory", same),
    )
