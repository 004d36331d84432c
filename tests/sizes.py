"""How much a test does: little in ``make test``, all of it in ``make proof``."""

from __future__ import annotations

import os
from typing import TypeVar

Size = TypeVar("Size")

PROOF = bool(os.environ.get("CRANFIELD_PROOF"))


def sized(few: Size, many: Size) -> Size:
    """Draws, examples or parameters: ``few`` in ``make test``, ``many`` in ``make proof``."""
    return many if PROOF else few


def examples_of(count: int) -> int:
    """Examples that Hypothesis draws: an eighth of ``count`` in ``make test``, and at least five."""
    return sized(max(5, count // 8), count)


def margin(rate: float, draws: int, errors: float = 4) -> float:
    """How far a share of ``draws`` lies from ``rate`` by chance: 4 binomial standard errors, once in 16,000 draws."""
    return errors * float((rate * (1 - rate) / draws) ** 0.5)
