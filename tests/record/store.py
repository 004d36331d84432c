"""The recorded answers: one file per module of calls, one line per call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from .call import Call
from .condense import Answer

ANSWERS = Path(__file__).parent / "answers"
GROUPS = ("sizing", "comparing", "boards", "judging", "collections", "simulations", "studies", "refusals")


@cache
def declared(group: str) -> tuple[Call, ...]:
    """The calls of a group; each is declared once."""
    listed: list[Call] = import_module(f".calls_{group}", __package__).CALLS
    names = [call.text for call in listed]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"declared twice: {', '.join(sorted(twice))}")
    return tuple(listed)


@cache
def recorded(group: str) -> Mapping[str, Answer]:
    """The answer of each call as it was recorded."""
    path = ANSWERS / f"{group}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(map(json.loads, lines))


def store(group: str, answers: Mapping[str, Answer]) -> None:
    """Write the answers of a group, in the order in which its calls are declared."""
    lines = [json.dumps(pair, ensure_ascii=False, separators=(",", ":")) for pair in answers.items()]
    (ANSWERS / f"{group}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
