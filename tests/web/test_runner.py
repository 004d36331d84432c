"""Work in processes of its own: what it says is heard, and it ends when it should."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.types import Progress
from cranfield.web.runner import Job, Runner
from cranfield.web.settings import Settings


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner(Settings(jobs=1))
    yield made
    made.close()


def endless(*, progress: Progress) -> None:
    Path("process").write_text(str(os.getpid()))
    progress(1, 2)
    progress(2, 2)
    time.sleep(600)


def leading(*, progress: Progress) -> None:
    child = subprocess.Popen(["sleep", "600"])
    Path("process").write_text(str(child.pid))
    time.sleep(600)


def unlucky(how: str, *, progress: Progress) -> None:
    if how == "dies":
        os._exit(7)
    if how == "memory":
        bytearray(1 << 60)
    raise InputError("what", where=os.getcwd(), fix="fix") if how == "refuses" else ZeroDivisionError("oops")


def modest(*, progress: Progress) -> None:
    Path("made").write_text("x")


def ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def until(claim: Callable[[], bool]) -> bool:
    for _ in range(12_000):
        if claim():
            return True
        time.sleep(0.05)
    return False


def test_cancelling_ends_the_process_itself(runner: Runner, tmp_path: Path) -> None:
    job = runner.start("a", "me", "Sleeping", endless, tmp_path)
    assert until(lambda: job.done == 2)
    process = int((tmp_path / "process").read_text())
    assert not ended(process)
    runner.cancel(job)
    assert job.state == "cancelled"
    assert until(lambda: ended(process))


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes")
def test_cancelling_ends_what_the_process_has_started(runner: Runner, tmp_path: Path) -> None:
    job = runner.start("a", "owner", "text", leading, tmp_path)
    while not (tmp_path / "process").exists() or not (tmp_path / "process").read_text():
        time.sleep(0.01)
    child = int((tmp_path / "process").read_text())
    runner.cancel(job)
    assert until(lambda: ended(child) or _is_left(child))


def _is_left(process: int) -> bool:
    """Whether a process is over and only nobody has asked how it ended."""
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def test_work_waits_its_turn_and_can_be_cancelled_before(runner: Runner, tmp_path: Path) -> None:
    first = runner.start("a", "me", "Sleeping", endless, tmp_path)
    assert until(lambda: first.done == 2)
    second = runner.start("b", "me", "Writing", modest, tmp_path)
    assert second.state == "waiting"
    assert "waiting" in second.to_dict()["text"]
    runner.cancel(second)
    runner.cancel(first)
    third = runner.start("c", "me", "Writing", modest, tmp_path)
    assert third.ended.wait(600)
    assert (third.state, second.state) == ("done", "cancelled")
    assert os.stat(tmp_path / "made").st_mode & 0o077 == 0  # for its owner alone


def test_the_end_of_the_server_is_the_end_of_its_work(tmp_path: Path) -> None:
    runner = Runner(Settings(jobs=1))
    job = runner.start("a", "me", "Sleeping", endless, tmp_path)
    assert until(lambda: job.done == 2)
    runner.close()
    assert until(lambda: ended(int((tmp_path / "process").read_text())))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("dies", "without an answer"),
        ("memory", "without an answer"),
        ("refuses", "what"),
        ("fails", "ZeroDivisionError"),
    ],
)
def test_whatever_goes_wrong_is_an_answer(runner: Runner, tmp_path: Path, how: str, says: str) -> None:
    job: Job = runner.start("a", "me", "Failing", unlucky, tmp_path, how)
    assert job.ended.wait(600)
    assert job.state == "failed"
    assert job.fault is not None
    assert says in job.fault.what
