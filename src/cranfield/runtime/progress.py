"""How far long work is: an interface listens, whatever works reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Step = Callable[[int, int], None]
_LISTENER: ContextVar[Step | None] = ContextVar("progress", default=None)


def listener() -> Step | None:
    """Who is told how many parts of how many are done; None where nobody listens."""
    return _LISTENER.get()


@contextmanager
def reporting(step: Step) -> Iterator[None]:
    """Report the progress of the work inside to ``step``."""
    token = _LISTENER.set(step)
    try:
        yield
    finally:
        _LISTENER.reset(token)
