"""The web page: what one asker waits for, a hundred at once, trivial beside slow questions, and a large upload."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.child import LackError, job
from benchmarks.data import Data
from benchmarks.table import Goal, Table, at_most, duration, megabytes

WANTED_MS, BESIDE_SLOW_MS = 50, 100
SLOWEST_SECONDS = 3  # the 99th percentile of a hundred users
MOST_MB = 1000


def tables() -> Iterator[Table]:
    """The calculators."""
    yield _one()
    yield _many()
    yield _beside_slow()


def _check_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise LackError("only on Linux can processes be pinned and weighed")


def _one() -> Table:
    title = "Calculator, one asker: from question to the last byte of the answer"
    table = Table(title, ("page", "median", "95 %", "goal"))
    with table.attempt("cranfield serve", goals=6):
        for name, times in job("serving", "one").answer["times"].items():
            goal = at_most(1000 * times["p95"], WANTED_MS, "ms")
            table.add(name, duration(times["p50"]), duration(times["p95"]), goal)
    return table


def _many() -> Table:
    title = "Calculator, 100 users without a pause, the server on one core"
    table = Table(title, ("requests", "a second", "median", "95 %", "99 %", "goal", "errors", "goal "))
    with table.attempt("100 users", goals=2):
        _check_linux()
        answer = job("serving", "many").answer
        rate, errors = f"{answer['requests'] / answer['seconds']:.0f}", answer["errors"]
        shares = (duration(answer[name]) for name in ("p50", "p95", "p99"))
        slowest = at_most(answer["p99"], SLOWEST_SECONDS, "s")
        table.add(f"{answer['requests']:,}", rate, *shares, slowest, str(errors), Goal("no error", errors == 0))
    return table


def _beside_slow() -> Table:
    title = "Calculator, a trivial question while two slow ones are computed"
    table = Table(title, ("question", "median", "95 %", "slow at the end", "errors", "goal", "goal "))
    with table.attempt("/size.json", goals=2):
        answer = job("serving", "beside_slow").answer
        shares = (duration(answer[name]) for name in ("p50", "p95"))
        goals = at_most(1000 * answer["p50"], BESIDE_SLOW_MS, "ms"), Goal("no error", answer["errors"] == 0)
        table.add("/size.json", *shares, str(answer["running"]), str(answer["errors"]), *goals)
    return table


def uploads(data: Data) -> Iterator[Table]:
    """All of a collection through the page."""
    if data.shape.name.startswith("marco"):
        return
    title = "Upload: runs and judgments to the page, read there, all systems compared"
    headings = ("size", "sent", "read", "compared", "server alone", "all processes", "goal")
    table = Table(title, headings, promised=data.shape.promised)
    with table.attempt("upload"):
        _check_linux()
        answer = job("serving", "upload", data.folder).answer
        spans = (duration(answer[name]) for name in ("sent", "read", "compared"))
        memory = (megabytes(answer[name]) for name in ("server", "peak"))
        table.add(megabytes(answer["megabytes"]), *spans, *memory, at_most(answer["peak"], MOST_MB, "MB"))
    yield table
