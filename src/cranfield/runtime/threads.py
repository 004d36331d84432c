"""How work is spread and how far it is: threads over slices or items, tasks on any machines, one listener."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cranfield.types import Progress


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


is_command = False  # whether this process is the command's alone, and may be arranged to its liking

Item = TypeVar("Item")
Result = TypeVar("Result")

_inside = threading.local()  # set while a task runs: it has one core, and the others have theirs


def available_workers() -> int:
    """Cores this process may use; one, within a task that runs beside others."""
    if getattr(_inside, "task", False):
        return 1
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
    from concurrent.futures import ThreadPoolExecutor

    if len(todo) > workers:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(function, todo))
    with ThreadPoolExecutor(workers - 1) as pool:  # the thread that asks takes its part
        others = [pool.submit(function, item) for item in todo[1:]]
        return [function(todo[0]), *(each.result() for each in others)]


def ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``map(function, items)``, with the next result computed while the last is looked at.

    >>> list(ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming: Future[Result] | None = None
        for item in items:
            ready, coming = coming, pool.submit(function, item)
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()


class Counter:
    """Counts what all threads together have done."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done, self._lock = progress, total, 0, threading.Lock()

    def step(self, count: int = 1) -> None:
        if self._progress is None:
            return
        with self._lock:
            self._done += count
            self._progress(self._done, self._total)


class Machines(Protocol):
    """Where tasks run: gives back (number of the item, result) in whatever order they are done."""

    def run(
        self, function: Callable[[Any, Item], Result], shared: Any, todo: Sequence[tuple[int, Item]]
    ) -> Iterator[tuple[int, Result]]: ...


class Keeper(Protocol):
    """What keeps the results of finished tasks, so that broken work can be taken up again."""

    def found(self, function: Callable[..., Any], shared: Any, items: Sequence[Any]) -> dict[int, Any]: ...

    def add(self, number: int, result: Any) -> None: ...


def alone(function: Callable[[Any, Item], Result], shared: Any, item: Item) -> Result:
    """Run one task on one core."""
    _inside.task = True
    try:
        return function(shared, item)
    finally:
        _inside.task = False


@dataclass(frozen=True)
class Threads:
    """The threads of this process."""

    workers: int | None = None

    def run(
        self, function: Callable[[Any, Item], Result], shared: Any, todo: Sequence[tuple[int, Item]]
    ) -> Iterator[tuple[int, Result]]:
        workers = min(self.workers or available_workers(), len(todo))
        if workers <= 1:
            yield from ((number, function(shared, item)) for number, item in todo)
            return
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

        with ThreadPoolExecutor(workers) as pool:
            left = iter(todo)
            running: dict[Future[Result], int] = {}
            # Few at a time, so that results nobody has taken yet do not pile up.
            while True:
                for number, item in islice(left, 2 * workers - len(running)):
                    running[pool.submit(alone, function, shared, item)] = number
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()


_machines: ContextVar[Machines | None] = ContextVar("machines", default=None)  # threads by default
_keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def on(machines: Machines, *, keeper: Keeper | None = None) -> Iterator[None]:
    """Run tasks there, as long as the context lasts; ``keeper`` is asked for what is done already and told what is."""
    before, kept = _machines.set(machines), _keeper.set(keeper)
    try:
        yield
    finally:
        _machines.reset(before)
        _keeper.reset(kept)


def is_elsewhere() -> bool:
    """Whether tasks run in other processes, which read their files themselves."""
    machines = _machines.get()
    return machines is not None and not isinstance(machines, Threads)


def pieces(count: int, workers: int) -> list[tuple[int, int]]:
    """``range(count)`` as items of tasks, a few for each thread.

    Where ``on`` says where they run, their number does not depend on this machine, so that interrupted work can be
    continued elsewhere.
    """
    return slices(count, 4 * workers if _machines.get() is None else 64)


def tasks(
    function: Callable[[Any, Item], Result],
    items: Iterable[Item],
    *,
    shared: Any = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """``[function(shared, item) for item in items]``, where ``on`` says; by default on threads.

    >>> tasks(pow, [2, 3, 4], shared=10)
    [100, 1000, 10000]
    """
    todo = list(items)
    keeper = _keeper.get()
    done: dict[int, Result] = {} if keeper is None else keeper.found(function, shared, todo)
    left = [(number, item) for number, item in enumerate(todo) if number not in done]
    for number, result in (_machines.get() or Threads(workers)).run(function, shared, left):
        if keeper is not None:
            keeper.add(number, result)
        done[number] = result
        if progress is not None:
            progress(len(done), len(todo))
    return [done[number] for number in range(len(todo))]
