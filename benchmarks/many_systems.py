"""Comparisons of 100 to 10,000 systems on 100 topics: ranking, groups and counts, and all pairs in a file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log10
from pathlib import Path

from benchmarks import child
from benchmarks.child import Outcome
from benchmarks.data import progress
from benchmarks.sizes import sized
from benchmarks.table import Table, at_most, duration, megabytes, times
from benchmarks.tools import command

SIZES = sized((100, 1_000, 10_000), (4, 12))
MEGABYTES, ALL_PAIRS_MEGABYTES, SECONDS = 1_000, 1_500, 20


@dataclass(frozen=True)
class Measured:
    """One size: the file read by Polars, the command, and its two parts, each in a process of its own."""

    systems: int
    polars: Outcome
    whole: Outcome
    alone: Outcome

    @property
    def ratio(self) -> float:
        return self.whole.seconds / self.polars.seconds

    @property
    def comparing(self) -> float:
        return float(self.alone.answer["comparing"])


def tables() -> list[Table]:
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        measured = [_measured(Path(folder), systems) for systems in SIZES]
        return [_ranking(measured), _all_pairs(Path(folder), SIZES[-1])]


def _path(folder: Path, systems: int) -> str:
    return str(folder / f"{systems}.csv")


def _measured(folder: Path, systems: int) -> Measured:
    progress(f"cranfield: comparing {systems:,} systems")
    path = _path(folder, systems)
    child.job("many_systems", "write", path, str(systems))
    ways = (
        partial(child.job, "many_systems", "polars", path),
        partial(child.run, [*command(), "compare", path]),
        partial(child.job, "many_systems", "ours", path),
    )
    return Measured(systems, *(child.best(way) for way in ways))


def _ranking(measured: list[Measured]) -> Table:
    headings = ("systems × 100 topics", "way", "time", "peak memory", "of Polars", "goal")
    table = Table("Which of many systems differ: wide CSV to ranking, groups and counts", headings, _notes(measured))
    for each in measured:
        _add(table, each, is_promised=each.systems == SIZES[-1])
    return table


def _add(table: Table, each: Measured, *, is_promised: bool) -> None:
    """What Polars takes, what the command takes, and the two parts of it."""
    shape, alone = f"{each.systems:,} × 100", each.alone.answer
    part = each.comparing / each.polars.answer["seconds"]
    rows = (
        ("Polars reads the file, cold", each.polars.seconds, each.polars.megabytes, None),
        ("cranfield compare, cold", each.whole.seconds, each.whole.megabytes, each.ratio),
        ("· reading", alone["reading"], alone["before"], None),
        ("· comparing (to Polars' reading without its start)", each.comparing, alone["after"], part),
    )
    for way, seconds, memory, ratio in rows:
        table.add(shape, way, duration(seconds), megabytes(memory), "" if ratio is None else times(ratio))
    if is_promised:
        whole = each.whole
        table.add(shape, "the command, its time", duration(whole.seconds), "", "", at_most(whole.seconds, SECONDS, "s"))
        goal = at_most(whole.megabytes, MEGABYTES, "MB")
        table.add(shape, "the command, its memory", "", megabytes(whole.megabytes), "", goal)


def _notes(measured: list[Measured]) -> list[str]:
    """How time and memory grow with the number of systems."""
    notes = []
    for less, more in pairwise(measured):
        steps = log10(more.systems / less.systems)
        grown = {
            "command": more.whole.seconds / less.whole.seconds,
            "comparing alone": more.comparing / less.comparing,
            "memory": more.whole.megabytes / less.whole.megabytes,
        }
        said = ", ".join(f"{what} {log10(ratio) / steps:.2f}" for what, ratio in grown.items())
        notes.append(f"{less.systems:,} to {more.systems:,} systems, exponent of growth: {said}.")
    return notes


def _all_pairs(folder: Path, systems: int) -> Table:
    progress(f"cranfield: all pairs of {systems:,} systems to a file")
    out = folder / "pairs.csv"
    done = child.run([*command(), "compare", _path(folder, systems), "-o", str(out)])
    size = out.stat().st_size / 1e6
    pairs = systems * (systems - 1) // 2
    table = Table(
        f"All {pairs:,} pairs of {systems:,} systems to CSV", ("way", "time", "per pair", "file", "peak memory", "goal")
    )
    table.add(
        "cranfield compare -o pairs.csv",
        duration(done.seconds),
        duration(done.seconds / pairs),
        megabytes(size),
        megabytes(done.megabytes),
        at_most(done.megabytes, ALL_PAIRS_MEGABYTES, "MB"),
    )
    return table
