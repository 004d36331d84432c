"""Per-topic output of trec_eval (``-q``) and of ir_measures (``-q``): three fields per line, one system per file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cranfield.errors import InputError
from cranfield.formats.text import BOM

SUMMARY = "all"  # the topic that stands for the mean of all
NAME = "runid"  # the «measure» whose value is the run's tag
TEXT = ("runid", "relstring")  # «measures» whose values are no numbers


@dataclass(frozen=True)
class TopicLines:
    """(measure, topic, score) of one system, and its name where the file has it."""

    rows: list[tuple[str, str, float]]
    system: str | None


def looks_like_output(data: bytes) -> bool:
    """Whether the first lines have three fields of which the last is a number (or a run's tag)."""
    lines = [line.split() for line in data.removeprefix(BOM)[:5000].split(b"\n")[:-1][:20] if line.strip()]
    if not lines or any(len(fields) != 3 for fields in lines):
        return False
    return all(fields[0].decode("utf-8", "replace") in TEXT or _number(fields[2]) is not None for fields in lines)


def is_output(data: bytes) -> bool:
    """Whether it is such output beyond doubt: there are means in it, too."""
    return looks_like_output(data) and re.search(rb"^(\S+[ \t]+)?all[ \t]", data, re.M) is not None


def read_output(data: bytes, file: str) -> TopicLines:
    """The scores of one system; summaries are left out, so that what they sum up is not counted twice."""
    lines = [
        (number, fields)
        for number, line in enumerate(data.removeprefix(BOM).decode("utf-8", "replace").split("\n"), start=1)
        if (fields := line.split())
    ]
    topic_at = _topic_column([fields for _, fields in lines], file)
    rows: list[tuple[str, str, float]] = []
    system = None
    for number, fields in lines:
        if len(fields) != 3:
            raise InputError(
                f"{len(fields)} fields where 3 are needed", where=f"{file}:{number}", fix="Write it again."
            )
        measure, topic = fields[1 - topic_at], fields[topic_at]
        if measure == NAME:
            system = fields[2]
        elif topic != SUMMARY and measure not in TEXT:
            score = _number(fields[2])
            if score is None:
                fix = "Only numbers can be compared; leave the measure out."
                raise InputError(f"a score cannot be «{fields[2][:40]}»", where=f"{file}:{number}", fix=fix)
            rows.append((measure, topic, score))
    if not rows:
        fix = "Write per-topic scores too: trec_eval -q, ir_measures -q."
        raise InputError("there are only means in it, and no topics", where=file, fix=fix)
    return TopicLines(rows, system)


def _topic_column(lines: Sequence[Sequence[str]], file: str) -> int:
    """1 for trec_eval (measure topic value), 0 for ir_measures (topic measure value): where means have «all»."""
    for at in (1, 0):
        if any(len(fields) == 3 and fields[at] == SUMMARY for fields in lines):
            return at
    fix = (
        "Write the means too (leave out ir_measures' -n), so that «all» shows where the topics are; "
        "or give a header: topic,system,score."
    )
    raise InputError("three fields a line, and no telling which has the topics", where=file, fix=fix)


def _number(raw: str | bytes) -> float | None:
    try:
        number = float(raw)
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None
