"""10,000 simulated collections of 100 topics × 50 systems through blocked Tukey, and what of it takes how long."""

from __future__ import annotations

from benchmarks.child import ChildError, job
from benchmarks.table import ABSENT, Table, at_least, duration, megabytes, times

FASTER = 10.0  # than a loop over collections
TITLE = "10,000 simulated collections of 100 topics × 50 systems through blocked Tukey"


def tables() -> list[Table]:
    ours = job("simulations", "ours")
    return [_whole(ours.answer["seconds"], ours.megabytes), _parts(ours.answer)]


def _whole(seconds: float, peak: float) -> Table:
    table = Table(
        TITLE,
        ("way", "time", "peak memory", "cranfield is faster by", "goal"),
        (
            "Cranfield draws and tests every collection under two truths, the loop under one.",
            "The loop's time is scaled up from 20 collections.",
        ),
    )
    table.add("cranfield, all cores", duration(seconds), megabytes(peak))
    try:
        theirs = job("simulations", "loop")
    except ChildError as error:
        table.add("a loop over collections, NumPy and scipy.stats", ABSENT, f"failed: {error}")
        return table
    whole = theirs.answer["seconds"] / theirs.answer["share"]
    table.add(
        "a loop over collections, NumPy and scipy.stats",
        duration(whole),
        megabytes(theirs.megabytes),
        times(whole / seconds),
        at_least(whole / seconds, FASTER),
    )
    return table


def _parts(answer: dict[str, object]) -> Table:
    parts, batch = answer["parts"], answer["batch"]
    assert isinstance(parts, dict)
    table = Table(f"The same, part by part: a batch of {batch} collections on one thread", ("part", "time", "share"))
    total = sum(parts.values())
    for name, seconds in parts.items():
        table.add(name, duration(seconds), f"{seconds / total:.0%}")
    table.add("all parts", duration(total))
    fitting = answer["fitting"]
    assert isinstance(fitting, float)
    table.add("fitting margins and dependence, once", duration(fitting))
    return table
