"""Every command on a table or on runs, and on twice as much of them: how time and memory grow.

    python scripts/doubling.py
    python scripts/doubling.py --only compare size --dimension systems

A row has a command, what is doubled, the two sizes, seconds at both without the start of Python, their ratio, and the
peak memory at the larger one. A command whose work is proportional to its input has a ratio of about 2; more than 2.6
is marked. What looks at every pair of systems has up to 4 where systems are doubled: there are four times as many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.child import ChildError, Outcome, run

MOST = 2.6
TABLE_COMMANDS = {
    "check": ["check"],
    "variance": ["variance"],
    "size": ["size", "--difference", "0.05"],
    "power": ["power"],
    "compare": ["compare"],
    "compare tukey": ["compare", "--test", "tukey"],
    "leaderboard": ["leaderboard"],
    "reliability": ["reliability", "--trials", "100", "--resamples", "1000"],
    "simulate": ["simulate", "--dependence", "rows", "--csv"],
    "pack": ["pack", "--out", "packed.cran"],
    "study past": ["study", "past", "--difference", "0.05"],
}
RUN_COMMANDS = {
    "score": ["score"],
    "check": ["check"],
    "pack": ["pack", "--out", "packed.cran"],
    "shards": ["shards", "--shards", "2", "--samples", "1", "--resamples", "200", "--halvings", "10"],
    "pilot": ["pilot", "--trials", "10", "--leave-out", "1"],
    "budget": ["budget"],
}


@dataclass(frozen=True)
class Shape:
    """How much there is of everything."""

    topics: int = 50
    systems: int = 20
    measures: int = 1
    documents: int = 100


TABLES = {
    "topics": Shape(topics=100_000),
    "systems": Shape(topics=20, systems=1_000),
    "columns": Shape(topics=2, systems=50_000),
    "measures": Shape(topics=500, measures=40),
}
ONLY = {
    "columns": ("check", "pack"),  # what has an answer for two topics and very many systems
    "measures": tuple(set(TABLE_COMMANDS) - {"study past"}),  # which takes one measure
}
RUNS = {
    "topics": Shape(topics=1_000, systems=10),
    "systems": Shape(systems=40),
    "documents": Shape(systems=10, documents=4_000),
}


def write_table(shape: Shape, folder: Path) -> list[str]:
    """A wide table; a long one where there are several measures."""
    rng, path = np.random.default_rng(1), folder / "scores.csv"
    names = [f"s{at}" for at in range(shape.systems)]
    with path.open("w") as file:
        several = shape.measures > 1
        file.write("measure,topic,system,score\n" if several else f"topic,{','.join(names)}\n")
        effects = rng.normal(0, 0.05, shape.systems)
        for measure in range(shape.measures):
            for topic in range(shape.topics):
                scores = 0.4 + rng.normal(0, 0.15) + effects + rng.normal(0, 0.1, shape.systems)
                texts = [f"{score:.4f}" for score in scores.tolist()]
                if several:
                    file.writelines(f"m{measure},t{topic},{n},{x}\n" for n, x in zip(names, texts, strict=True))
                else:
                    file.write(f"t{topic},{','.join(texts)}\n")
    return [str(path)]


def write_runs(shape: Shape, folder: Path) -> list[str]:
    """A folder of runs, with judgments and teams beside it."""
    rng, runs = np.random.default_rng(1), folder / "runs"
    runs.mkdir()
    documents = np.arange(2 * shape.documents)
    with (folder / "qrels.txt").open("w") as file:
        for topic in range(shape.topics):
            file.writelines(
                f"{topic} 0 d{at} {int(at < shape.documents // 10)}\n" for at in range(shape.documents // 2)
            )
    for system in range(shape.systems):
        with (runs / f"r{system}.txt").open("w") as file:
            for topic in range(shape.topics):
                noise = documents + rng.normal(0, 20 + system, len(documents))
                order = np.argsort(noise)[: shape.documents].tolist()
                file.writelines(f"{topic} Q0 d{at} {rank} {-rank} r{system}\n" for rank, at in enumerate(order, 1))
    (folder / "teams.txt").write_text("".join(f"r{at} team{at // 2}\n" for at in range(shape.systems)))
    return [str(runs), "-q", str(folder / "qrels.txt")]


def measured(command: list[str], shape: Shape, write: Callable[[Shape, Path], list[str]]) -> Outcome:
    """A command on files of this shape; `check` takes judgments apart, and only some take teams."""
    with tempfile.TemporaryDirectory(prefix="doubling-") as name:
        folder = Path(name)
        arguments = write(shape, folder)
        if command[0] in ("pilot",):
            arguments += ["--teams", str(folder / "teams.txt")]
        given = [each if each != "packed.cran" else str(folder / each) for each in command]
        words = command[0] == "study"
        head, tail = (given[:2], given[2:]) if words else (given[:1], given[1:])
        return run([sys.executable, "-m", "cranfield", *head, *arguments, *tail])


def cases(only: list[str], dimensions: list[str]) -> Iterator[tuple[str, str, str, list[str], Shape]]:
    for kind, commands, shapes in (("table", TABLE_COMMANDS, TABLES), ("runs", RUN_COMMANDS, RUNS)):
        for name, command in commands.items():
            for dimension, shape in shapes.items():
                chosen = (not only or name in only) and (not dimensions or dimension in dimensions)
                if chosen and name in ONLY.get(dimension, (name,)):
                    yield kind, name, dimension, command, shape


def doubled(shape: Shape, dimension: str) -> tuple[int, Shape]:
    axis = "systems" if dimension == "columns" else dimension
    now: int = getattr(shape, axis)
    return now, replace(shape, **{axis: 2 * now})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="commands")
    parser.add_argument("--dimension", nargs="*", default=[], help="what is doubled")
    asked = parser.parse_args()
    start = min(run([sys.executable, "-m", "cranfield", "--version"]).seconds for _ in range(3))
    print(f"{'input':6} {'command':14} {'doubled':10} {'from':>8} {'to':>8} {'s':>7} {'s':>7} {'ratio':>6} {'MB':>6}")
    for kind, name, dimension, command, shape in cases(asked.only, asked.dimension):
        now, larger = doubled(shape, dimension)
        head = f"{kind:6} {name:14} {dimension:10} {now:8,} {2 * now:8,}"
        write = write_table if kind == "table" else write_runs
        try:
            once, twice = (measured(command, each, write) for each in (shape, larger))
        except ChildError as error:
            print(f"{head} {error}", flush=True)
            continue
        seconds = [max(each.seconds - start, 0.01) for each in (once, twice)]
        ratio = seconds[1] / seconds[0]
        mark = f"  more than {MOST}" if ratio > MOST else ""
        print(f"{head} {seconds[0]:7.2f} {seconds[1]:7.2f} {ratio:6.2f} {twice.megabytes:6.0f}{mark}", flush=True)


if __name__ == "__main__":
    main()
