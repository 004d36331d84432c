"""The numbers of a design that cost least, by branch and bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from cranfield.types import Array

Range = tuple[int, int] | list[int]
"""Numbers from the first to the last, or those that were given."""
Loss = Callable[[Array, Array], Array]


def least(loss: Loss, ranges: Sequence[Range]) -> tuple[int, ...] | None:
    """The numbers with the smallest loss, of those equal the fewest; None where no loss is finite.

    ``loss(low, high)`` is at most that of any numbers from ``low`` to ``high`` (one column for each block of numbers,
    one row for each range), and that of the numbers themselves where both are the same.

    >>> least(lambda low, high: 12 / high[0] + 3 * low[0], [(1, 1000)])
    (2,)
    """
    low, high = _blocks(ranges)
    best, chosen = np.inf, None
    while low.shape[1]:
        losses = loss(high, high)
        first = int(np.lexsort((high[0], high.prod(axis=0), losses))[0])
        if losses[first] < best:
            best, chosen = float(losses[first]), tuple(high[:, first].tolist())
        keep = np.flatnonzero((loss(low, high) < best) & (low != high).any(axis=0))
        low, high = _halved(low[:, keep], high[:, keep])
    return chosen


def _blocks(ranges: Sequence[Range]) -> tuple[Array, Array]:
    """Blocks of numbers to begin with: single ones of lists, the whole of ranges."""
    ends = [[(each, each) for each in numbers] if isinstance(numbers, list) else [numbers] for numbers in ranges]
    blocks = np.array(list(product(*ends)))
    return blocks[:, :, 0].T, blocks[:, :, 1].T


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Every block in two, along its longest side."""
    longest, column = np.argmax(high - low, axis=0), np.arange(low.shape[1])
    middle = (low[longest, column] + high[longest, column]) // 2
    first_high, second_low = high.copy(), low.copy()
    first_high[longest, column], second_low[longest, column] = middle, middle + 1
    return np.concatenate([low, second_low], axis=1), np.concatenate([first_high, high], axis=1)
