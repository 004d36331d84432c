"""An answer in few bytes: what is compared of it, and which of its keys changed.

A list becomes one key per column (``pairs[].p_value``). More values than `MOST_VALUES` become their number, the first
of them and a weighted sum, which moves with any of them; text becomes a checksum. Prose is not recorded, only that it
is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

MOST_VALUES = 4
DIGITS = 14
ROUNDING = 1e-15
"""Numbers below are what rounding leaves of 0, unless they are p-values."""
PROSE = "…"
NOT_FROZEN = "known wrong"
NOT_RECORDED = frozenset(
    {"citations", "date", "fix", "problem", "summary", "time", "version", "bytes", "seal", "sha256", "when"}
)
_GOLDEN = 0.6180339887498949

Answer = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A key whose value is another than in the record; None where there is none."""

    call: str
    key: str
    old: Any
    new: Any


def condense(answer: Mapping[str, Any]) -> Answer:
    """The keys of an answer and what is recorded of their values."""
    columns: dict[str, list[Any]] = {}
    for key, value in _leaves(answer, ""):
        columns.setdefault(key, []).extend(value)
    return {key: _column(values) if "[]" in key else _plain(values[0]) for key, values in columns.items()}


def _leaves(value: Any, key: str) -> Iterator[tuple[str, list[Any]]]:
    """Every key with its values; items of lists share a key."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name not in NOT_RECORDED and not (key == "inputs" and part is None):
                yield from _leaves(part, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        yield f"{key}[]", []  # an empty list is there too
        for part in value:
            yield from _leaves(part, f"{key}[]")
    else:
        yield key, [value]


def _column(values: Sequence[Any]) -> Any:
    if len(values) <= MOST_VALUES:
        return [_plain(value) for value in values]
    numbers = [value if _is_number(value) else 0.0 for value in values]
    others = [PROSE if _is_number(value) else _plain(value) for value in values]
    short: dict[str, Any] = {"n": len(values)}
    if any(map(_is_number, values)):
        short |= {"first": _plain(values[0]), "sum": _plain(sum(_weighted(numbers)))}
    if set(others) != {PROSE}:
        short["text"] = sha256("\n".join(map(str, others)).encode()).hexdigest()[:8]
    return short


def _weighted(numbers: Sequence[float]) -> list[float]:
    """Each number with a weight of its own between 1 and 2, so that two of them cannot change places unseen."""
    return [value * (1 + at * _GOLDEN % 1) for at, value in enumerate(numbers)]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return PROSE if isinstance(value, str) and " " in value else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def changes(call: str, old: Answer, new: Answer, tolerance: float) -> list[Change]:
    """The keys of a call that are not the same, and those that only one of the answers has."""
    keys = dict.fromkeys((*old, *new))
    pairs = [(key, old.get(key), new.get(key)) for key in keys]
    present = [key in old and key in new for key in keys]
    return [
        Change(call, key, before, now)
        for (key, before, now), both in zip(pairs, present, strict=True)
        if not (both and _same(before, now, tolerance, key))
    ]


def _same(old: Any, new: Any, tolerance: float, key: str) -> bool:
    if _is_number(old) and _is_number(new):
        smallest = 0.0 if "p_" in key or key.endswith("p") else ROUNDING
        return bool(abs(old - new) <= max(tolerance * max(abs(old), abs(new)), smallest))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[part], new[part], tolerance, key) for part in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_same(*pair, tolerance, key) for pair in zip(old, new, strict=True))
    return type(old) is type(new) and bool(old == new)
