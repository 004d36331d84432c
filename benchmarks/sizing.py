"""A grid of 10,000 designs against statsmodels' solver and bisection over scipy.stats, and the calculator's start."""

from __future__ import annotations

import sys

from benchmarks.child import ChildError, best, job, run
from benchmarks.table import ABSENT, Table, at_least, at_most, duration, times

HEADINGS = ("way", "cells", "time", "a cell", "cranfield is faster by", "goal")


def tables() -> list[Table]:
    return [_grid(), _start()]


def _grid() -> Table:
    ours = job("designs", "ours").answer
    table = Table("Topic set sizes over a grid of α, power, minD, m and σ²", HEADINGS)
    table.add(
        "cranfield, whole grid",
        f"{ours['cells']:,}",
        duration(ours["seconds"]),
        duration(ours["seconds"] / ours["cells"]),
    )
    each = ours["seconds"] / ours["cells"]
    for name, title in (("statsmodels", "statsmodels, a cell at a time"), ("scipy", "bisecting over scipy.stats.ncf")):
        try:
            theirs = job("designs", name).answer
        except ChildError as error:
            table.add(title, ABSENT, f"failed: {error}")
            continue
        ratio = theirs["seconds"] / theirs["cells"] / each
        seconds, cells = theirs["seconds"], theirs["cells"]
        table.add(title, f"{cells:,}", duration(seconds), duration(seconds / cells), times(ratio), at_least(ratio, 100))
    return table


def _start() -> Table:
    """``cranfield size`` as a whole process, against importing scipy.special and nothing else."""
    empty = best(lambda: run([sys.executable, "-c", "import scipy.special"]), at_most=5).seconds
    arguments = ["size", "--systems", "10", "--min-range", "0.1", "--variance", "0.053"]
    code = "from cranfield.cli.app import main; main()"
    ours = best(lambda: run([sys.executable, "-c", code, *arguments]), at_most=5).seconds
    table = Table("The calculator from start to answer", ("command", "time", "of the empty process", "goal"))
    table.add('python -c "import scipy.special"', duration(empty), times(1.0))
    table.add("cranfield " + " ".join(arguments), duration(ours), times(ours / empty), at_most(ours / empty, 3, "×"))
    return table
