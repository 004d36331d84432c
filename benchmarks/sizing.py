"""A grid of 10,000 designs against statsmodels' solver and bisection over scipy.stats, and the calculator's start."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.against import Peer, against
from benchmarks.child import best, run
from benchmarks.table import Table, at_most, duration, times


def tables() -> Iterator[Table]:
    peers = [
        Peer("statsmodels, a cell at a time", "statsmodels", 100),
        Peer("bisecting over scipy.stats.ncf", "scipy", 100),
    ]
    yield against("Topic set sizes over a grid of 10,000 α, power, minD, m and σ²", "designs", "ours", peers)
    yield _start()


def _start() -> Table:
    """``cranfield size`` as a whole process, against importing scipy.special and nothing else."""
    table = Table("The calculator from start to answer", ("command", "time", "of the empty process", "goal"))
    arguments = ["size", "--systems", "10", "--min-range", "0.1", "--variance", "0.053"]
    name = " ".join(["cranfield", *arguments])
    with table.attempt(name):
        empty = best(lambda: run([sys.executable, "-c", "import scipy.special"]), at_most=5).seconds
        code = "from cranfield.cli.app import main; main()"
        ours = best(lambda: run([sys.executable, "-c", code, *arguments]), at_most=5).seconds
        table.add('python -c "import scipy.special"', duration(empty), times(1.0))
        table.add(name, duration(ours), times(ours / empty), at_most(ours / empty, 3, "×"))
    return table
