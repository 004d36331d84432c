"""Study files: what was acknowledged is never lost, what was altered is noticed, and two processes take turns."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cranfield.errors import InputError, WriteError
from cranfield.methods.sequential import StudyGoal, create_study, open_study
from cranfield.methods.sequential import journal as study_journal
from cranfield.methods.sequential.journal import is_journal
from cranfield.scores import ScoreTable
from sizes import sized


def scores(first: int, count: int) -> ScoreTable:
    rng = np.random.default_rng(first)
    values = rng.uniform(0.2, 0.8, (1, count, 2, 1))
    return ScoreTable(("AP",), tuple(str(first + at) for at in range(count)), ("a", "b"), values)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with four steps."""
    path = tmp_path / "any.study"
    made = create_study(path, StudyGoal(difference=0.02, sd=0.2, plan="anytime"))
    made.add(scores(301, 2))
    made.add(scores(303, 1))
    made.edit({"difference": 0.03}, reason="été")
    return path


def topics(path: Path) -> list[str]:
    return open_study(path).progress().topics


# --- files that were cut or altered


def test_a_file_cut_anywhere_keeps_its_whole_steps_and_can_go_on(study: Path) -> None:
    whole = study.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for cut in sorted({*range(ends[0], len(whole), sized(23, 3)), *ends[:-1], *(end - 1 for end in ends[1:])}):
        study.write_bytes(whole[:cut])
        kept = sum(end <= cut for end in ends)
        seen = open_study(study).history()
        # A line that lacks nothing but its line end is whole.
        assert len(seen) == kept + (cut + 1 in ends)
    study.write_bytes(whole[: ends[1] + 40])
    assert open_study(study).status().unfinished == 40
    open_study(study).add(scores(303, 1))
    assert topics(study) == ["301", "302", "303"]
    assert open_study(study).status().unfinished == 0
    assert open_study(study).history()[-1]["cut_off_bytes"] == 40


def test_a_line_without_its_end_is_completed_by_the_next_step(study: Path) -> None:
    study.write_bytes(study.read_bytes().rstrip(b"\n"))
    open_study(study).add(scores(304, 1))
    assert len(open_study(study).history()) == 5
    assert study.read_bytes().count(b"\n") == 5


def test_a_file_cut_within_its_first_step_is_no_study(study: Path) -> None:
    whole = study.read_bytes()
    for cut in (0, 1, 50, whole.index(b"\n") - 1):
        study.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="no study file"):
            open_study(study)


def test_every_flipped_bit_is_noticed(study: Path) -> None:
    whole = study.read_bytes()
    rng = random.Random(1)
    for at in sorted(rng.sample(range(len(whole) - 1), sized(50, 250))):
        study.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        with pytest.raises(InputError) as caught:
            open_study(study)
        assert str(study) in caught.value.where
    study.write_bytes(whole[:-1] + b"x")  # the last line end, too
    with pytest.raises(InputError):
        open_study(study)


def test_steps_taken_out_put_in_or_swapped_are_noticed(study: Path) -> None:
    lines = study.read_bytes().splitlines(keepends=True)
    edited = json.loads(lines[0])
    edited["goal"]["difference"] = 0.2
    odd = [
        [lines[0], lines[2], lines[3]],
        [lines[0], lines[1], lines[1], lines[2], lines[3]],
        [lines[0], lines[2], lines[1], lines[3]],
        [(json.dumps(edited) + "\n").encode(), *lines[1:]],
    ]
    for changed in odd:
        study.write_bytes(b"".join(changed))
        with pytest.raises(InputError, match="not as it was written, or a step before it is missing"):
            open_study(study)


def test_a_newer_format_is_refused(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_journal, "FORMAT", 2)
    create_study(study.with_name("newer.study"), StudyGoal(difference=0.02, sd=0.2))
    monkeypatch.undo()
    with pytest.raises(InputError, match="format 2"):
        open_study(study.with_name("newer.study"))


@pytest.mark.parametrize("content", [b"", b"measure,topic,system,score\n", b"{}\n", b"[1]\n", b"\x00\x01", b"null"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    assert not is_journal(path)
    with pytest.raises(InputError, match="no study file"):
        open_study(path)


def test_a_study_is_never_overwritten(study: Path) -> None:
    before = study.read_bytes()
    with pytest.raises(WriteError, match="there is a file already"):
        create_study(study, StudyGoal(difference=0.02, sd=0.2))
    assert study.read_bytes() == before
    assert os.listdir(study.parent) == [study.name]


def test_a_disk_without_links_has_studies_too(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = study.with_name("second.study")
    create_study(path, StudyGoal(difference=0.02, sd=0.2)).add(scores(1, 1))
    assert topics(path) == ["1"]
    with pytest.raises(WriteError, match="there is a file already"):
        create_study(path, StudyGoal(difference=0.02, sd=0.2))
    assert sorted(os.listdir(study.parent)) == ["any.study", "second.study"]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such study"):
        open_study(tmp_path / "none")
    with pytest.raises(InputError, match="no plain file"):
        open_study(tmp_path)
    with pytest.raises(WriteError, match="cannot be written"):
        create_study(tmp_path / "none" / "x.study", StudyGoal(difference=0.02, sd=0.2))


# --- disks that are full


ADD = textwrap.dedent(
    """
    import resource, signal, sys
    from tests_study import scores
    import cranfield
    from cranfield.methods.sequential import open_study
    path, first, count, room = sys.argv[1], *map(int, sys.argv[2:])
    study = open_study(path)
    if room:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        study.add(scores(first, count))
    except cranfield.WriteError as error:
        print(error)
        raise SystemExit(7)
    print("acknowledged", flush=True)
    """
)
HELPER = textwrap.dedent(
    """
    import numpy as np
    from cranfield.scores import ScoreTable
    def scores(first, count):
        values = np.random.default_rng(first).uniform(0.2, 0.8, (1, count, 2, 1))
        return ScoreTable(("AP",), tuple(str(first + at) for at in range(count)), ("a", "b"), values)
    """
)


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """What other processes need to make scores."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tests_study.py").write_text(HELPER)
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": f"{tmp_path / 'code'}{os.pathsep}{known}"}


@pytest.mark.parametrize("room", [1, 100, 500])
def test_a_disk_that_takes_only_a_part_of_a_step_keeps_the_study(
    room: int, study: Path, elsewhere: dict[str, str]
) -> None:
    before = study.read_bytes()
    command = [sys.executable, "-c", ADD, str(study), "400", "50", str(len(before) + room)]
    done = subprocess.run(command, env=elsewhere, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 7, done.stderr
    assert "cannot be written: File too large" in done.stdout
    assert study.read_bytes() == before
    open_study(study).add(scores(400, 50))
    assert len(topics(study)) == 53


def test_no_failure_of_any_call_loses_a_step(tmp_path: Path, load_script: Callable[[str], ModuleType]) -> None:
    failures, there = load_script("break_studies").fail_every_call(tmp_path)
    assert failures >= 80
    assert there < failures / 10  # where even cutting it off again fails


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for a few pages, where one may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "mount") or libc.mount(b"tmpfs", bytes(place), b"tmpfs", 0, b"size=16k") != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        libc.umount2(bytes(place), 2)


def test_a_full_disk_loses_nothing_and_room_lets_the_study_go_on(tiny_disk: Path) -> None:
    path = tiny_disk / "any.study"
    study = create_study(path, StudyGoal(difference=0.02, sd=0.2, plan="anytime"))
    acknowledged = 0

    def fill() -> None:
        nonlocal acknowledged
        for at in range(100):
            study.add(scores(1000 + 20 * at, 20))
            acknowledged += 20

    with pytest.raises(WriteError, match="No space left on device"):
        fill()
    assert acknowledged > 0
    assert len(topics(path)) == acknowledged
    assert open_study(path).status().unfinished == 0
    with pytest.raises(WriteError, match="No space left"):
        create_study(tiny_disk / "second.study", StudyGoal(difference=0.02, sd=0.2, sd_from="x" * 9000))
    assert os.listdir(tiny_disk) == ["any.study"]


# --- processes that are killed, and processes that meet


BUSY = textwrap.dedent(
    """
    import sys
    from tests_study import scores
    from cranfield.methods.sequential import open_study
    study, first = open_study(sys.argv[1]), int(sys.argv[2])
    for at in range(100000):
        study.add(scores(first + 3 * at, 3))
        print(first + 3 * at, flush=True)
    """
)


def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged(study: Path, elsewhere: dict[str, str]) -> None:
    rng = random.Random(3)
    acknowledged: list[int] = []
    for turn in range(4):
        command = [sys.executable, "-c", BUSY, str(study), str(1000 * (turn + 1))]
        with subprocess.Popen(command, env=elsewhere, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged.append(int(process.stdout.readline()))  # it is at work
            time.sleep(rng.uniform(0.0, 0.15))
            process.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in process.stdout.read().split()]
        assert process.returncode == -signal.SIGKILL
        there = set(topics(study))
        missing = [first for first in acknowledged if not {str(first + at) for at in range(3)} <= there]
        assert missing == []
    assert len(acknowledged) >= 4
    assert len(topics(study)) % 3 == 0  # no step came in parts (the study began with three topics)


HALF = textwrap.dedent(
    """
    import os, signal, sys
    from tests_study import scores
    from cranfield.methods.sequential import open_study
    study, moment = open_study(sys.argv[1]), sys.argv[2]
    write, sync = os.write, os.fsync
    def die():
        os.kill(os.getpid(), signal.SIGKILL)
    def half(descriptor, data):
        if moment == "before": die()
        if moment == "half":
            write(descriptor, data[: len(data) // 2])
            die()
        return write(descriptor, data)
    os.write = half
    os.fsync = lambda descriptor: die()
    study.add(scores(500, 10))
    """
)


@pytest.mark.parametrize(("moment", "there"), [("before", 3), ("half", 3), ("whole", 13)])
def test_killed_before_within_and_after_the_write(
    moment: str, there: int, study: Path, elsewhere: dict[str, str]
) -> None:
    command = [sys.executable, "-c", HALF, str(study), moment]
    done = subprocess.run(command, env=elsewhere, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(topics(study)) == there
    assert (open_study(study).status().unfinished > 0) == (moment == "half")
    added = open_study(study).add(scores(500, 10))
    assert len(added.taken) == 13 - there  # whoever tries again ends up with each topic once
    assert len(topics(study)) == 13


TOGETHER = textwrap.dedent(
    """
    import sys
    from tests_study import scores
    from cranfield.methods.sequential import open_study
    for at in range(15):
        open_study(sys.argv[1]).add(scores(int(sys.argv[2]) + at, 1))
    """
)


def test_processes_that_add_at_once_take_turns(study: Path, elsewhere: dict[str, str]) -> None:
    commands = [[sys.executable, "-c", TOGETHER, str(study), str(1000 * at)] for at in range(1, 4)]
    running = [subprocess.Popen(command, env=elsewhere) for command in commands]
    assert [process.wait(600) for process in running] == [0] * 3
    found = topics(study)
    assert len(found) == len(set(found)) == 3 + 3 * 15
    assert [step["step"] for step in open_study(study).history()] == list(range(1, 4 + 45 + 1))


def test_the_same_topics_added_at_once_come_in_once(study: Path, elsewhere: dict[str, str]) -> None:
    running = [subprocess.Popen([sys.executable, "-c", TOGETHER, str(study), "7000"], env=elsewhere) for _ in range(2)]
    assert [process.wait(600) for process in running] == [0] * 2
    assert len(topics(study)) == 3 + 15


def test_a_writer_that_stays_too_long_is_reported(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr(study_journal, "_LONGEST_WAIT", 0.05)
    with open(study, "rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process"):
            study_journal.append(study, lambda steps: {"event": "edit", "changes": {"power": 0.9}, "reason": "x"})
    open_study(study).add(scores(900, 1))
