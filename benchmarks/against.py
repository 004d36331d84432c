"""Tables of one piece of work done by cranfield and by other means, each way a job in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.child import Outcome, job
from benchmarks.table import Table, at_least, duration, megabytes, times

HEADINGS = ("way", "what", "time", "peak memory", "cranfield is faster by", "goal")
NOTES = ("A time is scaled up where only part of the work was done.",)


@dataclass(frozen=True)
class Peer:
    """Another way: its name, the function of the job, and how many times faster cranfield should be."""

    title: str
    function: str
    goal: float


def against(title: str, module: str, ours: str, peers: Sequence[Peer], notes: Sequence[str] = NOTES) -> Table:
    """Jobs answer with their seconds, the share of the work that they did, and perhaps a remark."""
    table = Table(title, HEADINGS, notes)
    with table.attempt("cranfield", goals=len(peers)):
        outcome = job(module, ours)
        seconds = _seconds(outcome)
        table.add("cranfield", *_cells(outcome))
        for peer in peers:
            with table.attempt(peer.title):
                outcome = job(module, peer.function)
                ratio = _seconds(outcome) / seconds
                table.add(peer.title, *_cells(outcome), times(ratio), at_least(ratio, peer.goal))
    return table


def _seconds(outcome: Outcome) -> float:
    return float(outcome.answer["seconds"] / outcome.answer["share"])


def _cells(outcome: Outcome) -> tuple[str, str, str]:
    share, remark = outcome.answer["share"], outcome.answer.get("remark")
    part = "all" if share == 1 else f"1/{1 / share:.0f} of it"
    return ", ".join(filter(None, [part, remark])), duration(_seconds(outcome)), megabytes(outcome.megabytes)


def add_parts(table: Table, parts: dict[str, float], whole: float) -> None:
    """One row per part of some work: what it takes, and its share of the whole."""
    for name, seconds in parts.items():
        table.add(name, duration(seconds), f"{seconds / whole:.0%}")
