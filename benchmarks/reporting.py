"""The whole report of a collection: how long it takes, and how large its files are."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.sizes import sized
from benchmarks.table import Table, at_most, duration, megabytes

LARGEST = 5.0  # megabytes of the page
FILES = ("report.html", "report.xlsx", "report.json")
HEADINGS = ("format", "time", "peak memory", "file", "goal")
NOTES = ("Cold, from the packed collection: every section, AP and nDCG@10, shards 2, 5 and 10.",)


def tables(data: Data) -> list[Table]:
    table = Table("The whole report", HEADINGS, NOTES, data.shape.promised)
    for name in sized(FILES, FILES[2:]):
        with table.attempt(name):
            outcome, size = tools.ours_report(data, name)
            goal = at_most(size, LARGEST, "MB") if name.endswith(".html") else ""
            table.add(name, duration(outcome.seconds), megabytes(outcome.megabytes), f"{size:.2f} MB", goal)
    return [table]
