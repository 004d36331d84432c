"""Work in processes of its own: it shows how far it is, and ends at once when nobody wants it any more."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.errors import CranfieldError
from cranfield.web.error_pages import Fault

if TYPE_CHECKING:
    pass

Task = Callable[..., None]

OFTEN = 0.1  # seconds between two reports of progress
MOST_MEMORY = 0.75  # of the machine's, for one job: a crafted file ends the job, not the machine
DIED = Fault("the work ended without an answer", fix="The data may need more memory than there is; try less of it.")


@dataclass
class Job:
    """One piece of work; ``state`` is waiting, running, done, failed or cancelled."""

    id: str
    owner: str
    text: str
    state: str = "waiting"
    done: int = 0
    total: int = 0
    fault: Fault | None = None
    began: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)
    process: Any = None
    future: Future[None] | None = None

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")

    def to_dict(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.began
        if self.state == "waiting":
            text = f"{self.text}: waiting for other work"
        elif self.total:
            text = f"{self.text}: {self.done:,} of {self.total:,}, {seconds:.0f} s"
        else:
            text = f"{self.text}: {seconds:.0f} s"
        return {
            "job": self.id,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "text": text,
            "seconds": round(seconds, 1),
        }


class Runner:
    """As many jobs at a time as there are cores; the others wait."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="job")
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._context = _context()

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def start(self, job_id: str, owner: str, text: str, task: Task, folder: Path, *arguments: Any) -> Job:
        """The job of this name: the one there is, unless it was cancelled, or a new one."""
        with self._lock:
            there = self._jobs.get(job_id)
            if there is not None and there.state != "cancelled":
                return there
            job = self._jobs[job_id] = Job(job_id, owner, text)
            job.future = self._pool.submit(self._watch, job, task, folder, arguments)
            return job

    def _watch(self, job: Job, task: Task, folder: Path, arguments: tuple[Any, ...]) -> None:
        """Run in a thread: start the process, and hear what it says until it ends."""
        ours, theirs = self._context.Pipe(duplex=False)
        with self._lock:
            if job.state == "cancelled":
                return
            job.state = "running"
            job.process = self._context.Process(  # type: ignore[attr-defined]
                target=work, args=(task, str(folder), arguments, theirs), daemon=True
            )
            job.process.start()
        theirs.close()
        verdict: tuple[str, Fault | None] = ("failed", DIED)
        try:
            while True:
                said = ours.recv()
                if said[0] == "progress":
                    job.done, job.total = said[1:]
                else:
                    verdict = (said[0], Fault(*said[1:]) if said[1:] else None)
        except (EOFError, OSError):
            pass
        job.process.join()
        with self._lock:
            if job.state == "running":
                job.state, job.fault = verdict
        job.ended.set()

    def of(self, owner: str) -> list[Job]:
        """Everything done or still to do for somebody, the oldest first."""
        return [job for job in list(self._jobs.values()) if job.owner == owner]

    def drop(self, job: Job) -> None:
        self._jobs.pop(job.id, None)

    def cancel(self, job: Job) -> None:
        """End a job now, wherever it is."""
        with self._lock:
            if not job.is_open:
                return
            job.state = "cancelled"
            if job.process is not None:
                _end(job.process)
        if job.future is not None:
            job.future.cancel()
        job.ended.set()

    def forget(self, owner: str) -> None:
        """End and forget everything done for somebody."""
        for job in self.of(owner):
            self.cancel(job)
            if job.process is not None:
                job.process.join(5)
            self.drop(job)

    def close(self) -> None:
        for job in list(self._jobs.values()):
            self.cancel(job)
        self._pool.shutdown(cancel_futures=True)


def _end(process: Any) -> None:
    """End a process and those it has started, such as the browser that prints."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # it has not come so far as to lead a group, or groups are unknown here
        process.kill()


def _context() -> BaseContext:
    """A server that has everything loaded and forks from there, where there are such; a new interpreter elsewhere."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["__main__", "cranfield.web.page_list", "scipy.special", "altair", "vl_convert"])
    return made


def work(task: Task, folder: str, arguments: tuple[Any, ...], out: Connection) -> None:
    """Run in the process: do the task in its folder, and say how it goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which ends its jobs itself
    if hasattr(os, "setsid"):
        os.setsid()  # so that whatever it starts ends with it
    os.chdir(folder)  # so that messages name files, not places on this machine
    tempfile.tempdir = folder  # whatever is left there goes with the data
    os.umask(0o077)
    _limit_memory()
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > OFTEN:
            last = time.monotonic()
            out.send(("progress", done, total))

    try:
        task(*arguments, progress=progress)
        out.send(("done",))
    except CranfieldError as error:
        out.send(("failed", *astuple(Fault.of(error))))
    except MemoryError:
        out.send(("failed", DIED.what, DIED.where, DIED.fix))
    except Exception as error:
        fix = "It is a fault in cranfield, or in a file that was altered on purpose."
        out.send(("failed", f"this should not happen: {type(error).__name__}: {error}"[:500], "", fix))


def _limit_memory() -> None:
    try:
        import resource

        most = int(MOST_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError):  # not on every system
        return
