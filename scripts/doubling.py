"""Every command on a table or on runs, and on twice as much of them: how time and memory grow.

    python scripts/doubling.py
    python scripts/doubling.py --only compare size --dimension systems

A row has a command, what is doubled, the two sizes, processor seconds at both without the start of Python, their ratio
with its limit, and the peak memory at both. Processor seconds are those of all threads together, which hardly depend on
what else the machine does; a ratio above its limit is measured twice more, and the least of each size counts.

A command whose work is proportional to its input has a ratio of about 2, and its limit is 2.6. Twice as many systems
are four times as many pairs: what answers about every pair cannot take less than four times as long where pairs are
nearly all of its work, so that its limit there is 4: the time for one pair must not grow.

Of a wide table the topics are the rows and the systems the columns; very many columns have rows of their own here.
It takes about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.child import ChildError, Outcome, run

MOST, MOST_OF_PAIRS = 2.6, 4.0
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
# What looks at all pairs of systems.
PAIRS = ("size", "power", "compare", "compare tukey", "leaderboard", "reliability", "study past")
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
    "measures": Shape(topics=500, measures=20),
}
ONLY = {
    "columns": ("check", "pack"),  # what has an answer for two topics and very many systems
    "measures": tuple(set(TABLE_COMMANDS) - {"study past"}),  # which takes one measure
}
RUNS = {
    "topics": Shape(topics=500, systems=10),
    "systems": Shape(systems=40),
    "documents": Shape(systems=10, documents=2_000),
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


@dataclass(frozen=True)
class Axis:
    """What is doubled in a table or in runs."""

    kind: str
    dimension: str
    shape: Shape

    @property
    def size(self) -> int:
        found: int = getattr(self.shape, self._field)
        return found

    @property
    def doubled(self) -> Shape:
        return replace(self.shape, **{self._field: 2 * self.size})

    @property
    def _field(self) -> str:
        return "systems" if self.dimension == "columns" else self.dimension

    def commands(self, only: list[str]) -> dict[str, list[str]]:
        every = TABLE_COMMANDS if self.kind == "table" else RUN_COMMANDS
        there = ONLY.get(self.dimension, tuple(every)) if self.kind == "table" else tuple(every)
        return {name: command for name, command in every.items() if name in there and (not only or name in only)}

    def limit(self, name: str) -> float:
        """By how much the time may grow."""
        return MOST_OF_PAIRS if (self.kind, self.dimension) == ("table", "systems") and name in PAIRS else MOST


AXES = [Axis("table", *each) for each in TABLES.items()] + [Axis("runs", *each) for each in RUNS.items()]


def write(axis: Axis, shape: Shape, folder: Path) -> list[str]:
    """The files of a shape, and the arguments that name them."""
    folder.mkdir()
    return write_table(shape, folder) if axis.kind == "table" else write_runs(shape, folder)


def measured(command: list[str], files: list[str], folder: Path) -> Outcome:
    """A command on these files; only some take teams."""
    arguments = [*files, "--teams", str(folder / "teams.txt")] if command[0] == "pilot" else files
    given = [each if each != "packed.cran" else str(folder / each) for each in command]
    words = 2 if command[0] == "study" else 1
    return run([sys.executable, "-m", "cranfield", *given[:words], *arguments, *given[words:]])


def rows(axis: Axis, only: list[str], start: float) -> Iterator[tuple[str, bool]]:
    """One line for each command, and whether it is within its limit."""
    commands = axis.commands(only)
    if not commands:
        return
    with tempfile.TemporaryDirectory(prefix="doubling-") as name:
        folders = [Path(name, "once"), Path(name, "twice")]
        files = [write(axis, shape, folder) for shape, folder in zip((axis.shape, axis.doubled), folders, strict=True)]
        for title, command in commands.items():
            head = f"{axis.kind:6} {title:14} {axis.dimension:10} {axis.size:8,} {2 * axis.size:8,}"
            try:
                outcomes = _outcomes(axis.limit(title), command, files, folders, start)
            except ChildError as error:
                yield f"{head} {error}", False
                continue
            seconds, ratio = _growth(outcomes, start)
            memory = [max(each.megabytes for each in size) for size in outcomes]
            is_within = ratio <= axis.limit(title)
            mark = "" if is_within else "  too much"
            yield (
                (
                    f"{head} {seconds[0]:7.2f} {seconds[1]:7.2f} {ratio:6.2f} {axis.limit(title):6.1f} "
                    f"{memory[0]:6.0f} {memory[1]:6.0f}{mark}"
                ),
                is_within,
            )


def _outcomes(
    limit: float, command: list[str], files: list[list[str]], folders: list[Path], start: float
) -> list[list[Outcome]]:
    """What the command took at both sizes, measured again where it seems to take too long."""
    found: list[list[Outcome]] = [[], []]
    for _ in range(3):
        for size, given, folder in zip(found, files, folders, strict=True):
            size.append(measured(command, given, folder))
        if _growth(found, start)[1] <= limit:
            break
    return found


def _growth(outcomes: list[list[Outcome]], start: float) -> tuple[list[float], float]:
    """Processor seconds at both sizes, without those of the start, and their ratio."""
    seconds = [max(min(each.processor for each in size) - start, 0.01) for size in outcomes]
    return seconds, seconds[1] / seconds[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="commands")
    parser.add_argument("--dimension", nargs="*", default=[], help="what is doubled")
    asked = parser.parse_args()
    start = min(run([sys.executable, "-m", "cranfield", "--version"]).processor for _ in range(3))
    heads = ("input", "command", "doubled", "from", "to", "s", "s", "ratio", "limit", "MB", "MB")
    print("{:6} {:14} {:10} {:>8} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}".format(*heads))
    within = []
    for axis in AXES:
        if not asked.dimension or axis.dimension in asked.dimension:
            for line, is_within in rows(axis, asked.only, start):
                print(line, flush=True)
                within.append(is_within)
    print(f"{sum(within)} of {len(within)} within their limits")


if __name__ == "__main__":
    main()
