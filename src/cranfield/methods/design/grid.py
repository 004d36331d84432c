"""Parsing of lists and ranges of numbers."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from cranfield.errors import RequestError

MOST_CELLS = 1_000_000


def parse_grid(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[float]:
    """Parse ``0.05``, a list ``0.01,0.05``, a range ``0.02:0.10:0.02`` (ends included), or a mixture.

    A range may have at most ``most`` values.

    >>> parse_grid("0.02:0.06:0.02,0.1")
    [0.02, 0.04, 0.06, 0.1]
    """
    values: list[float] = []
    for piece in text.split(","):
        values += _range(piece.strip(), name, most)
    return list(dict.fromkeys(values))


def parse_counts(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[int]:
    """Parse whole numbers from a list or a range.

    >>> parse_counts("2,5:7")
    [2, 5, 6, 7]
    """
    return [whole(value, name) for value in parse_grid(text, name=name, most=most)]


def whole(value: float, name: str) -> int:
    """Parse a count; RequestError for anything else."""
    if value != int(value):
        raise RequestError(f"`{name}` cannot be {value:g}", fix="It takes a whole number.")
    return int(value)


def _range(piece: str, name: str, most: int) -> list[float]:
    parts = piece.split(":")
    try:
        numbers = [Decimal(part) for part in parts]  # decimals, so that 0.02 + 0.02 + 0.02 is 0.06
        if not all(map(_is_usual, numbers)) or len(parts) not in (1, 2, 3):
            raise InvalidOperation
    except InvalidOperation:
        raise RequestError(
            f"`{name}` cannot be «{piece}»",
            fix="Write a number, a list such as 0.01,0.05, or a range from:to:step such as 10:100:10.",
        ) from None
    if len(numbers) == 1:
        return [float(numbers[0])]
    step = numbers[2] if len(numbers) == 3 else Decimal(1)
    if step <= 0 or numbers[1] < numbers[0]:
        raise RequestError(f"the range «{piece}» is empty", fix="Write from:to:step, with from below to.")
    count = math.floor((numbers[1] - numbers[0]) / step) + 1
    if count > most:
        raise RequestError(f"the range «{piece}» has {count:,} values", fix="Take a larger step.")
    return [float(numbers[0] + step * at) for at in range(count)]


def _is_usual(number: Decimal) -> bool:
    """Whether a number is finite and of moderate size."""
    return number.is_finite() and abs(number.adjusted()) <= 100
