"""The web page: what one asker waits for, a hundred at once, and a large upload."""

from __future__ import annotations

import sys

from benchmarks.child import ChildError, job
from benchmarks.data import Data
from benchmarks.table import ABSENT, Goal, Table, at_most, duration, megabytes

WANTED_MS = 50
MOST_MB = 1000


def tables() -> list[Table]:
    """The calculators; Linux only, where processes can be pinned and weighed."""
    if not sys.platform.startswith("linux"):
        return []
    return [_one(), _many()]


def _one() -> Table:
    table = Table(
        "Calculator, one asker: from question to the last byte of the answer", ("page", "median", "95 %", "goal")
    )
    try:
        found = job("serving", "one").answer["times"]
    except ChildError as error:
        table.add("cranfield serve", ABSENT, f"failed: {error}")
        return table
    for name, times in found.items():
        table.add(name, duration(times["p50"]), duration(times["p95"]), at_most(1000 * times["p95"], WANTED_MS, "ms"))
    return table


def _many() -> Table:
    title = "Calculator, 100 users without a pause, the server on one core"
    table = Table(title, ("requests", "a second", "median", "95 %", "99 %", "errors", "goal"))
    try:
        found = job("serving", "many").answer
    except ChildError as error:
        table.add("100 users", ABSENT, f"failed: {error}")
        return table
    rate = f"{found['requests'] / found['seconds']:.0f}"
    shares = (duration(found[name]) for name in ("p50", "p95", "p99"))
    goal = Goal("no error", found["errors"] == 0)
    table.add(f"{found['requests']:,}", rate, *shares, str(found["errors"]), goal)
    return table


def uploads(data: Data) -> list[Table]:
    """All of a collection through the page."""
    if not sys.platform.startswith("linux") or data.shape.name.startswith("marco"):
        return []
    table = Table(
        "Upload: runs and judgments to the page, read there, all systems compared",
        ("size", "sent", "read", "compared", "server alone", "all processes", "goal"),
        promised=data.shape.promised,
    )
    try:
        found = job("serving", "upload", str(data.folder)).answer
    except ChildError as error:
        table.add("upload", ABSENT, f"failed: {error}")
        return [table]
    spans = (duration(found[name]) for name in ("sent", "read", "compared"))
    table.add(
        megabytes(found["megabytes"]),
        *spans,
        megabytes(found["server"]),
        megabytes(found["peak"]),
        at_most(found["peak"], MOST_MB, "MB"),
    )
    return [table]
