"""How time and memory of reading runs grow with their lines: every size in a fresh process."""

from __future__ import annotations

from math import log10

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.sizes import sized
from benchmarks.table import Table, at_most, duration, megabytes

LINES = (10_000, 100_000, 1_000_000)
MOST = 1.15  # exponent: doubling the lines takes at most 2 ** 1.15 times as long
HEADINGS = ("command", "lines", "time", "exponent", "peak memory", "goal")
NOTES = ("exponent: of the lines, from the row above; the start of the process is in every time.",)


def tables(data: Data) -> list[Table]:
    if not data.shape.name.startswith("trec8"):
        return []
    table = Table("Growth with the lines of runs, cold", HEADINGS, NOTES, data.shape.promised)
    sizes = [*LINES, *([data.shape.lines] if data.shape.lines > LINES[-1] else [])]
    sizes = sized(sizes, [20, 60])
    for name in ("score", "check"):
        before: tuple[int, float] | None = None
        for lines in sizes:
            measured = tools.grown(name, data, lines)
            shown = [name, f"{lines:,}", duration(measured.seconds), "", megabytes(measured.megabytes)]
            if before is None:
                table.add(*shown)
            else:
                steepness = log10(measured.seconds / before[1]) / log10(lines / before[0])
                shown[3] = f"{steepness:.2f}"
                table.add(*shown, at_most(steepness, MOST, "in lines"))
            before = lines, measured.seconds
    return [table]
