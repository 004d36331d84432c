"""Tasks on a Dask cluster, one that is running or one of this machine's own processes."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cranfield.errors import CranfieldError, MissingPartError, RequestError
from cranfield.runtime import threads
from cranfield.runtime.checkpoints import PartialResults, default_path
from cranfield.runtime.threads import Machines, Threads, alone, on

Item = TypeVar("Item")
Result = TypeVar("Result")

_PATIENCE = 10.0  # seconds for the scheduler to answer, and for a first worker to turn up
_ABANDONED = 60.0  # seconds without any worker after which nobody is waited for


class ClusterError(CranfieldError):
    """A cluster that cannot be reached, was lost, or does not suit."""


@dataclass(frozen=True)
class Cluster:
    """The workers of a scheduler."""

    client: Any  # distributed.Client; its package is optional
    address: str

    def run(
        self, function: Callable[[Any, Item], Result], shared: Any, todo: Sequence[tuple[int, Item]]
    ) -> Iterator[tuple[int, Result]]:
        """Results as they come; what was under way on a worker that dies is done again by another."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        watch = _Watch(self.client, self.address)
        try:
            with watch:
                yield from self._results(function, shared, todo, watch)
        except KilledWorker as error:
            raise ClusterError(
                "several workers died over the same part",
                where=self.address,
                fix="They may have too little memory; look at a worker's log.",
            ) from error
        except (CancelledError, CommClosedError, TimeoutError, OSError) as error:
            if watch.abandoned:
                fix = f"Start some with: dask worker {self.address}"
                raise ClusterError("all workers are gone", where=self.address, fix=fix) from None
            raise ClusterError("the scheduler was lost", where=self.address, fix="Start it again.") from error

    def _results(
        self, function: Callable[[Any, Item], Result], shared: Any, todo: Sequence[tuple[int, Item]], watch: _Watch
    ) -> Iterator[tuple[int, Result]]:
        as_completed: Any = _distributed().as_completed
        with _quietly():
            # A task, not scattered data: should its worker die, the scheduler can make it again.
            handed = self.client.submit(_itself, shared, pure=False, retries=3)
            left = iter(todo)
            ahead = 4 * max(1, len(self.client.scheduler_info()["workers"]))
            numbers: dict[Any, int] = {}

            def start(count: int) -> list[Any]:
                futures = []
                for number, item in islice(left, count):
                    future = self.client.submit(_task, code_mark(), function, handed, item, pure=False, retries=3)
                    numbers[future.key] = number
                    watch.futures[future.key] = future
                    futures.append(future)
                return futures

            done = as_completed(start(ahead), loop=self.client.loop)
            for future in done:
                result = future.result()
                yield numbers.pop(future.key), result
                del watch.futures[future.key]
                future.release()
                for more in start(1):
                    done.add(more)


class _Watch:
    """Looks after the workers: when none has been there for a while, what waits for them is cancelled."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._over = threading.Event()
        self.futures: dict[str, Any] = {}
        self.abandoned = False

    def __enter__(self) -> None:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(_PATIENCE)

    def _look(self) -> None:
        since = None
        while not self._over.wait(1.0):
            try:
                found = len(self._client.scheduler_info()["workers"])
            except Exception:  # the scheduler is gone too, which is noticed where results are waited for
                return
            now = time.monotonic()
            if found:
                since = None
            elif since is None:
                since = now
                if threads.is_command:
                    sys.stderr.write(f"all workers of {self._address} are gone; waiting {_ABANDONED:g} s for another\n")
            elif now - since > _ABANDONED:
                self.abandoned = True
                self._client.cancel(list(self.futures.values()), force=True)
                return


def _itself(value: Item) -> Item:
    return value


def _task(mark: str, function: Callable[[Any, Item], Result], shared: Any, item: Item) -> Result:
    """A task on a worker, which may have joined after the others were looked at."""
    if code_mark() != mark:
        raise ClusterError(_OTHER_CODE, fix=_SAME_CODE)
    return alone(function, shared, item)


_OTHER_CODE = "a worker has other code of cranfield than this process, which may compute other numbers"
_SAME_CODE = "Install the same sources where the workers run, and start the workers again."


@cache
def code_mark() -> str:
    """What tells this code from any other: the version, and a hash of all sources of the package."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return f"{version('cranfield')} {digest.hexdigest()[:16]}"


def _version() -> str:
    return version("cranfield")


@contextmanager
def _quietly() -> Iterator[None]:
    """Dask reports lost connections to its logs as well; we do so once, in our own words."""
    names = ["distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what tasks share is large is why it is sent once
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def work_on(
    command: str, *, dask: str | None = None, workers: int | None = None, resume: str | None = None
) -> Iterator[None]:
    """Run tasks on the cluster at an address, or on processes of this machine, keeping what is done in a file.

    Without either, tasks stay on this process's threads, and finished parts are kept only where ``resume`` says.
    """
    if dask is None and workers is None and resume is None:
        yield
        return
    if dask is not None and workers is not None:
        raise RequestError("`dask` and `workers` exclude each other", fix="A running cluster has its own workers.")
    parts = PartialResults(resume or default_path(command))
    try:
        with parts.open(), _machines(dask, workers) as machines, on(machines, keeper=parts):
            yield
    except ClusterError as error:
        if not parts.kept:
            raise
        raise ClusterError(
            f"{error.what}; {parts.kept} finished parts are kept",
            where=error.where,
            fix=f'{error.fix} Then give the same command again with: `resume="{parts.path}"`',
        ) from None


@contextmanager
def _machines(cluster: str | None, workers: int | None) -> Iterator[Machines]:
    if cluster is not None:
        with connect(cluster) as found:
            yield found
    elif workers is not None:
        with local_cluster(workers) as started:
            yield started
    else:
        yield Threads()


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """The cluster whose scheduler is at ``address``, for as long as the context lasts."""
    distributed = _distributed()
    with _quietly():
        try:
            client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ClusterError(
                f"no scheduler answers: {error}", where=address, fix="Start one with: dask scheduler"
            ) from None
        try:
            _check(client, address)
            yield Cluster(client, address)
        finally:
            _close(client)


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Start ``workers`` processes on this machine, each with one core, on the loopback interface."""
    distributed = _distributed()
    with (
        _quietly(),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as started,
        distributed.Client(started, set_as_default=False) as client,
    ):
        yield Cluster(client, started.scheduler_address)


def _close(client: Any) -> None:
    try:
        client.close(timeout=2)
    except Exception:  # the scheduler is gone, and the connection with it
        logging.getLogger(__name__).debug("closing failed", exc_info=True)


def _check(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or with another version of this package."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ClusterError(
            "the scheduler has no workers", where=address, fix=f"Start some with: dask worker {address}"
        ) from None
    versions = set(client.run(_version, on_error="return").values())
    odd = [found for found in versions if found != _version()]
    if odd:
        raise ClusterError(
            f"a worker has another version of cranfield, or none: {odd[0]}",
            where=address,
            fix=f"Install cranfield {_version()} where the workers run.",
        )
    if set(client.run(code_mark, on_error="return").values()) != {code_mark()}:
        raise ClusterError(_OTHER_CODE, where=address, fix=_SAME_CODE)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingPartError("cluster") from None
    return distributed
