"""The one way to spread work: threads over slices of an index range, or over items."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

is_command = False  # whether this process is the command's alone, and may be arranged to its liking

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_workers() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def slices(count: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``range(count)`` into at most ``parts`` contiguous, nearly equal, non-empty pieces.

    >>> slices(10, 3)
    [(0, 4), (4, 7), (7, 10)]
    """
    if count <= 0:
        return []
    parts = max(1, min(parts, count))
    size, extra = divmod(count, parts)
    edges = [0]
    for part in range(parts):
        edges.append(edges[-1] + size + (part < extra))
    return list(pairwise(edges))


def spread(function: Callable[[Item], Result], items: Iterable[Item], *, workers: int | None = None) -> list[Result]:
    """``[function(item) for item in items]``, on threads; results come in the order of the items."""
    todo: Sequence[Item] = list(items)
    workers = min(workers or available_workers(), len(todo))
    if workers <= 1:
        return [function(item) for item in todo]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, todo))
