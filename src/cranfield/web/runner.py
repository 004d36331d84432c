"""Work in processes of its own: it shows how far it is, and ends at once when nobody wants it any more."""

from __future__ import annotations

import multiprocessing
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from cranfield.errors import CranfieldError
from cranfield.runtime.child_processes import end_child, settle_child
from cranfield.web.error_pages import Fault, TooMuchError
from cranfield.web.settings import Settings

Task = Callable[..., None]
GivenUp = Callable[[], bool]

OFTEN = 0.1  # seconds between two reports of progress
STARTING = 60  # seconds for a process to be there
SHORT = 1.0  # seconds after which a question counts as long
WAITING = 4  # long questions per core that may wait for their turn
PRELOADED = ("__main__", "cranfield.web.page_list", "cranfield.web.calculators", "scipy.special", "vl_convert")
LESS = "Ask for less at a time; the command has no such limit."
DIED = Fault("the work ended without an answer", fix="The data may need more memory than there is; try less of it.")


@dataclass
class Job:
    """One piece of work; ``state`` is waiting, running, done, failed or cancelled, ``back`` where that leads to."""

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
    back: str = ""

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
    """As many jobs at a time as there are cores, and memory for; the others wait. One that takes too long is ended."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.analyses, thread_name_prefix="job")
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
                target=work, args=(task, str(folder), arguments, theirs, self._settings.job_memory), daemon=True
            )
            job.process.start()
        theirs.close()
        verdict: tuple[str, Fault | None] = ("failed", DIED)
        deadline = time.monotonic() + self._settings.job_seconds
        try:
            while True:
                if not ours.poll(max(0.0, deadline - time.monotonic())):
                    end_child(job.process)
                    verdict = (
                        "failed",
                        Fault(f"this takes more than {self._settings.job_seconds / 60:g} min", fix=LESS),
                    )
                    break
                said = ours.recv()
                if said[0] == "progress":
                    job.done, job.total = said[1:]
                else:
                    verdict = (said[0], Fault(*said[1:]) if said[1:] else None)
        except (EOFError, OSError):
            pass
        ours.close()
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
                end_child(job.process)
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


class Calculators:
    """Processes that compute for the calculators.

    Short questions share processes that stay. One that is, or turns out to be, long goes on in a process of its own,
    of which there are few and which gives way to the others: no short question waits for a long one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._context = _context()
        self._idle: queue.LifoQueue[_Calculator | None] = queue.LifoQueue()  # None: one that is still to be started
        for _ in range(settings.jobs):
            self._idle.put(None)
        self._long = threading.BoundedSemaphore(settings.jobs)
        self._closing = threading.Event()
        self._waiting = threading.BoundedSemaphore(settings.jobs * WAITING)
        threading.Thread(target=self.ask, args=(str,), daemon=True).start()  # so that the first question need not wait

    def ask(
        self, task: Callable[..., Any], *arguments: Any, gone: threading.Event | None = None, estimate: float = 0.0
    ) -> Any:
        """What the task returns; an error where it takes too long, or more memory than there is for it.

        ``gone`` is set when nobody waits for the answer any more, ``estimate`` says how many seconds it may take.
        """
        asker = gone or threading.Event()

        def is_given_up() -> bool:
            return asker.is_set() or self._closing.is_set()

        answer = (self._ask_long if estimate > SHORT else self._ask_short)(task, arguments, is_given_up)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ask_short(self, task: Callable[..., Any], arguments: tuple[Any, ...], is_given_up: GivenUp) -> Any:
        idle = _patiently(lambda: self._idle.get(timeout=OFTEN), self._settings.calculator_seconds, is_given_up)
        kept = None
        try:
            used = idle or _Calculator(self._context, self._settings)
            used.send(task, arguments)
            if used.is_ready(min(SHORT, self._settings.calculator_seconds), is_given_up):
                answer = used.answer()
                kept = used if used.process.is_alive() else None
                return answer
        finally:
            self._idle.put(kept)
        if not self._long.acquire(blocking=False):
            used.end()
            raise _busy()
        return self._finish_long(used, is_given_up, spent=SHORT)

    def _ask_long(self, task: Callable[..., Any], arguments: tuple[Any, ...], is_given_up: GivenUp) -> Any:
        if not self._waiting.acquire(blocking=False):
            raise _busy()
        try:
            _patiently(self._take_long, self._settings.calculator_seconds, is_given_up)
        finally:
            self._waiting.release()
        used = _Calculator(self._context, self._settings)
        used.send(task, arguments)
        return self._finish_long(used, is_given_up)

    def _take_long(self) -> None:
        if not self._long.acquire(timeout=OFTEN):
            raise queue.Empty

    def _finish_long(self, used: _Calculator, is_given_up: GivenUp, spent: float = 0.0) -> Any:
        """The answer of a long question, which has one of the few places; its process ends with it."""
        used.give_way()
        try:
            left = self._settings.calculator_seconds - spent
            return used.answer() if used.is_ready(left, is_given_up) else used.late()
        finally:
            used.end()
            self._long.release()

    def close(self) -> None:
        """Give up what is being computed, and end the processes."""
        self._closing.set()
        for _ in range(self._settings.jobs):
            try:
                idle = self._idle.get(timeout=1)
            except queue.Empty:  # at work: it ends with the server
                continue
            if idle is not None:
                end_child(idle.process)


def _patiently(take: Callable[[], Any], seconds: float, is_given_up: GivenUp) -> Any:
    """What is taken as soon as it is there; an error where it takes too long, or nobody waits any more."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not is_given_up():
        with suppress(queue.Empty):
            return take()
    raise _busy()


def _busy() -> HTTPException:
    return HTTPException(503, "too much is being computed at the moment", {"retry-after": "5"})


class _Calculator:
    """One such process."""

    def __init__(self, context: BaseContext, settings: Settings) -> None:
        self._settings = settings
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, settings.calculator_memory)
        self.process = context.Process(target=calculate, args=arguments, daemon=True)  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()
        if self._pipe.poll(STARTING):  # before that, no time of a question runs
            self._pipe.recv()

    def send(self, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        with suppress(OSError):  # the answer says that it is gone
            self._pipe.send((task, arguments))

    def is_ready(self, seconds: float, is_given_up: GivenUp) -> bool:
        """Whether there is an answer within these seconds; one that nobody waits for is given up."""
        deadline = time.monotonic() + seconds
        while not self._pipe.poll(min(OFTEN, max(0.0, deadline - time.monotonic()))):
            if is_given_up():
                self.end()
                raise _busy()
            if time.monotonic() >= deadline:
                return False
        return True

    def answer(self) -> Any:
        """What the task returned or raised."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            self.end()
            most = self._settings.calculator_memory / 1e6
            return TooMuchError(f"this takes more than {most:,.0f} MB of memory", fix=LESS)

    def late(self) -> Exception:
        return TooMuchError(f"this takes more than {self._settings.calculator_seconds:g} s", fix=LESS)

    def give_way(self) -> None:
        """Let short questions go first."""
        with suppress(AttributeError, OSError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, 10)

    def end(self) -> None:
        end_child(self.process)
        self.process.join()


def calculate(pipe: Connection, memory: int) -> None:
    """Run in a process that stays: do what is asked, one thing after the other."""
    settle_child(memory)
    pipe.send("ready")
    while True:
        try:
            task, arguments = pipe.recv()
        except (EOFError, OSError):  # the server has ended
            return
        try:
            pipe.send(task(*arguments))
        except MemoryError:
            return  # a new process has all of its memory to itself
        except Exception as error:
            pipe.send(error if isinstance(error, CranfieldError) else RuntimeError(f"{type(error).__name__}: {error}"))


def _context() -> BaseContext:
    """A server that has everything loaded and forks from there, where there are such; a new interpreter elsewhere."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([*PRELOADED])
    return made


def work(task: Task, folder: str, arguments: tuple[Any, ...], out: Connection, memory: int) -> None:
    """Run in the process: do the task in its folder, and say how it goes."""
    settle_child(memory)
    os.chdir(folder)  # so that messages name files, not places on this machine
    tempfile.tempdir = folder  # whatever is left there goes with the data
    os.umask(0o077)
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
