"""What another system lacks: each call that only some systems have is taken away, and what it serves goes on."""

from __future__ import annotations

import errno
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cranfield.errors import InputError, RequestError, WriteError
from cranfield.methods.sequential import StudyGoal, create_study, open_study
from cranfield.methods.sequential import journal as study_journal
from cranfield.runtime import threads
from cranfield.runtime.checkpoints import PartialResults
from cranfield.runtime.child_processes import end_child
from cranfield.runtime.file_locks import lock_file
from cranfield.runtime.memory import jobs_at_a_time, limit_memory, memory_of_job, memory_size, most_memory
from cranfield.scores import ScoreTable
from cranfield.web import runner

fcntl = pytest.importorskip("fcntl", reason="this is the system that lacks it")


class WindowsLocks(ModuleType):
    """`msvcrt` as far as it is used: a lock goes with the open file, and a byte that is locked cannot be read."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.count = 0

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
        self.count += 1


@pytest.fixture
def without_fcntl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)


@pytest.fixture
def windows_locks(without_fcntl: None, monkeypatch: pytest.MonkeyPatch) -> WindowsLocks:
    made = WindowsLocks()
    monkeypatch.setitem(sys.modules, "msvcrt", made)
    return made


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "a.study"
    create_study(path, StudyGoal(difference=0.05, sd=0.1), system="a", baseline="b", measure="AP")
    return path


def scores(topic: int) -> ScoreTable:
    return ScoreTable.from_rows([("AP", str(topic), "a", 0.5), ("AP", str(topic), "b", 0.25)])


# --- locks


def test_a_locked_file_keeps_its_place_and_is_refused_to_others(windows_locks: WindowsLocks, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with open(path, "rb+", buffering=0) as mine, open(path, "rb+", buffering=0) as other:
        mine.seek(4)
        lock_file(mine.fileno())
        assert mine.read() == b"456789"
        with pytest.raises(BlockingIOError):
            lock_file(other.fileno())
        mine.close()
        lock_file(other.fileno())
        assert windows_locks.count == 2


def test_another_error_of_a_lock_is_not_taken_for_another_process(
    windows_locks: WindowsLocks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(windows_locks, "locking", fail)
    with open(tmp_path / "file", "wb") as stream, pytest.raises(OSError, match="Invalid argument") as caught:
        lock_file(stream.fileno())
    assert not isinstance(caught.value, BlockingIOError)


def test_a_study_is_kept_where_there_is_no_fcntl(
    study: Path, windows_locks: WindowsLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_journal, "_LONGEST_WAIT", 0.05)
    open_study(study).add(scores(1))
    with open(study, "rb+") as held:
        lock_file(held.fileno())
        with pytest.raises(InputError, match="another process"):
            open_study(study).add(scores(2))
    open_study(study).add(scores(2))
    assert open_study(study).progress().topics == ["1", "2"]
    assert windows_locks.count > 4


def test_without_any_locks_a_study_and_finished_parts_are_refused(
    study: Path, without_fcntl: None, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="this system has no file locks") as refusal:
        open_study(study)
    assert refusal.value.exit_code == 2
    with pytest.raises(WriteError, match="this system has no file locks"), PartialResults(tmp_path / "parts").open():
        pass


def test_finished_parts_are_kept_where_there_is_no_fcntl(windows_locks: WindowsLocks, tmp_path: Path) -> None:
    path = tmp_path / "parts"
    with PartialResults(path).open():
        assert windows_locks.count == 1
        with pytest.raises(InputError, match="another process"), PartialResults(path).open():
            pass


def test_folders_that_cannot_be_opened_are_not_synced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("the folder was opened"))
    study_journal._sync_folder(tmp_path)


# --- cores, memory and processes


def test_cores_are_counted_where_none_can_be_assigned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert threads.available_workers() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.available_workers() == 1


def test_memory_is_guessed_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < most_memory() < memory_size() < math.inf
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert most_memory() == 8_000_000_000
    assert memory_size() == math.inf


@pytest.mark.parametrize("size", [1e9, 4e9, 8e9, 64e9, 1e12])
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
@pytest.mark.parametrize("memory", [None, 500_000_000, 3_000_000_000, 50_000_000_000])
def test_jobs_that_run_together_fit_into_the_memory_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, size: float, cores: int, memory: int | None
) -> None:
    monkeypatch.setattr("cranfield.runtime.memory.memory_size", lambda: size)
    memory = memory or memory_of_job(cores)
    if memory > size:
        with pytest.raises(RequestError, match="a job cannot have"):
            jobs_at_a_time(memory, cores)
    else:
        jobs = jobs_at_a_time(memory, cores)
        assert 1 <= jobs <= cores
        assert jobs * memory <= size


def test_memory_is_not_limited_where_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    limit_memory(1)  # one byte: a limit would end this process
    assert len(bytearray(1_000_000)) == 1_000_000


def test_a_process_is_ended_where_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg", raising=False)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        end_child(process)
        assert process.wait(600) != 0


def test_processes_are_spawned_where_they_cannot_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert runner._context().get_start_method() == "spawn"
