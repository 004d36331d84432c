"""Scoring dicts and comparing scores in memory, against pytrec_eval, ir_measures, ranx and scipy in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.child import LackError, job
from benchmarks.sizes import sized
from benchmarks.table import Goal, Table, at_least, at_most, duration, times

HEADINGS = ("way", "time", "of the peer's time", "goal")
RUNS = sized((1, 10, 63), (2,))
OURS, PREPARED = "cranfield", "cranfield, judgments prepared"
SCORING_PEER, TEST_PEER = "pytrec_eval", "scipy.stats.ttest_rel"


def tables() -> Iterator[Table]:
    for runs in RUNS:
        goals = {OURS: (1.0, True)} | ({PREPARED: (3.0, True)} if runs == RUNS[-1] else {})
        yield _table(f"Scoring dicts, runs × 50 topics × 100: {runs}", ("scoring", runs), SCORING_PEER, goals)
    yield _table("Scoring one topic with two documents", ("one_topic",), SCORING_PEER, {OURS: (2.0, False)})
    yield _table("Comparing 2 systems × 50 topics", ("comparing", 2), TEST_PEER, {OURS: (3.0, False)})
    title = "Comparing 10 systems × 50 topics, against 45 t tests and Holm's correction"
    yield _table(title, ("comparing", 10), TEST_PEER, {OURS: (3.0, True)})


def _table(title: str, arguments: tuple[object, ...], peer: str, goals: Mapping[str, tuple[float, bool]]) -> Table:
    """Goals are times the peer's speed, or where the second of them is false, times its time."""
    table = Table(title, HEADINGS, (f"The peer is {peer}; warm, the fastest of several.",))
    with table.attempt(OURS, goals=len(goals)):
        answer = job("in_memory", *arguments).answer
        for name, seconds in answer["seconds"].items():
            ratio = seconds / answer["seconds"][peer] if peer in answer["seconds"] else None
            goal = _goal(ratio, *goals[name]) if ratio is not None and name in goals else ""
            table.add(name, duration(seconds), "" if ratio is None else times(ratio), goal)
        for name, reason in answer["lacking"].items():
            with table.attempt(name):
                raise LackError(reason)
    return table


def _goal(ratio: float, wanted: float, is_speed: bool) -> Goal:
    return at_least(1 / ratio, wanted) if is_speed else at_most(ratio, wanted, "× its time")
