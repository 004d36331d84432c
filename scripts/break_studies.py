"""Kill processes that write a study, fail their writes, and let several write at once: nothing acknowledged is lost.

    python scripts/break_studies.py --kills 1000 --writers 8

Kills: a process adds topics to a study and is killed (``kill -9``) at a random moment, or by itself before, within and
after each call that touches the disk. Failures: every such call fails with ENOSPC or EIO, once or from there on, a
write also after half of its bytes. Writers: several processes add topics at once, and in every second round one of
them is killed. After each, every step that was acknowledged must be there, whole and once, the file must be read
without an error, and the next step must be taken. It ends with 1 where one of this is not so. Not for Windows.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.errors import CranfieldError
from cranfield.methods.sequential import StudyGoal, create_study, open_study
from cranfield.scores import ScoreTable

CALLS = ("open", "ftruncate", "write", "fsync", "chmod", "link")
TOPICS = 3  # of a step
FRESH = 25  # kills of one study, which grows
ADDED = 20  # steps of each of several writers


def scores(first: int) -> ScoreTable:
    values = np.random.default_rng(first).uniform(0.2, 0.8, (1, TOPICS, 2, 1))
    return ScoreTable(("AP",), tuple(str(first + at) for at in range(TOPICS)), ("a", "b"), values)


def new_study(folder: Path, name: str) -> Path:
    path = folder / f"{name}.study"
    create_study(path, StudyGoal(difference=0.02, sd=0.2, plan="anytime"))
    return path


def add(path: Path, first: int) -> None:
    open_study(path).add(scores(first))


def check(path: Path, acknowledged: list[int]) -> None:
    """Raise unless every acknowledged step is there, whole and once, and the study goes on."""
    found = open_study(path).progress().topics
    assert len(found) == len(set(found)), "a topic is there twice"
    firsts = {int(topic) for topic in found if int(topic) % 10 == 0}
    assert len(found) == TOPICS * len(firsts), "a step is there in parts"
    assert set(acknowledged) <= firsts, f"lost: {sorted(set(acknowledged) - firsts)[:5]}"
    steps = [step["step"] for step in open_study(path).history()]
    assert steps == list(range(1, len(steps) + 1)), "the steps are not in order"


# --- processes


def fork(work: Callable[[int], None]) -> tuple[int, int]:
    """A process that does the work, and where it says what it did."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        work(writing)
    finally:
        os._exit(0)


def acknowledgements(reading: int) -> list[int]:
    """Everything that a process says before it ends."""
    with os.fdopen(reading) as stream:
        return [int(line) for line in stream.read().split()]


def adding(path: Path, first: int, steps: int) -> Callable[[int], None]:
    """Work that adds steps one after the other, and acknowledges each."""

    def work(out: int) -> None:
        say = os.write  # which may be made to fail
        for at in range(steps):
            add(path, first + 10 * at)
            say(out, b"%d\n" % (first + 10 * at))

    return work


def kill_at_random(folder: Path, kills: int, seed: int) -> int:
    """Processes that are killed at any moment; the number of steps that they were acknowledged."""
    rng, path, acknowledged, steps = random.Random(seed), folder, list[int](), 0
    for turn in range(kills):
        if turn % FRESH == 0:
            path, acknowledged = new_study(folder, f"killed{turn}"), []
        process, reading = fork(adding(path, 100_000 * (turn % FRESH + 1), 9_000))
        select.select([reading], [], [])  # it is at work
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        new = acknowledgements(reading)
        acknowledged += new
        steps += len(new)
        check(path, acknowledged)
    return steps


# --- calls that fail, or at which a process is killed


Fail = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


@contextmanager
def failing(at: int, fail: Fail) -> Iterator[list[int]]:
    """Let ``fail`` do what the call of this number does; with the number of calls that there were."""
    count, usual = [0], {name: getattr(os, name) for name in CALLS}

    def changed(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            count[0] += 1
            return fail(name, usual[name], given, named) if count[0] > at else usual[name](*given, **named)

        return call

    try:
        for name in CALLS:
            setattr(os, name, changed(name))
        yield count
    finally:
        for name, function in usual.items():
            setattr(os, name, function)


def fail_every_call(folder: Path) -> tuple[int, int]:
    """Every call fails in turn: the number of failures, and of those after which the step was there all the same."""
    failures = there = 0
    for code in (errno.ENOSPC, errno.EIO):
        for lasting in (False, True):
            for half in (False, True):
                failed, at = True, 0
                while failed:
                    path = new_study(folder, f"fails{code}{lasting}{half}{at}")
                    add(path, 10)
                    failed, taken = _fail_one(partial(add, path, 20), at, code, lasting=lasting, half=half)
                    check(path, [10, *([20] if taken else [])])
                    there += not taken and "20" in open_study(path).progress().topics
                    add(path, 30)
                    check(path, [10, 30])
                    failures += failed
                    at += 1
                failures += _fail_new(folder / f"new{code}{lasting}{half}", code, lasting=lasting, half=half)
    return failures, there


def _fail_new(folder: Path, code: int, *, lasting: bool, half: bool) -> int:
    """Every call fails in turn while a study is made: it is there whole, or not at all. The number of failures."""
    folder.mkdir()
    failed, at = True, 0
    while failed:
        make = partial(new_study, folder, str(at))
        failed, taken = _fail_one(make, at, code, lasting=lasting, half=half)
        path = folder / f"{at}.study"
        assert path.exists() or not taken, "a study is not there"
        if not path.exists():
            make()
        add(path, 10)
        check(path, [10])
        at += 1
    return at - 1


def _fail_one(work: Callable[[], Any], at: int, code: int, *, lasting: bool, half: bool) -> tuple[bool, bool]:
    """Whether there was a call of this number, which failed, and whether the work was acknowledged."""
    failed = False

    def fail(name: str, usual: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        nonlocal failed
        if failed and not lasting:
            return usual(*given, **named)
        failed = True
        if half and name == "write":
            usual(given[0], given[1][: len(given[1]) // 2])
        raise OSError(code, os.strerror(code))

    with failing(at, fail):
        try:
            work()
        except CranfieldError:
            assert failed
            return True, False
    return failed, True


def kill_at_every_call(folder: Path) -> int:
    """A process is killed before, within and after every call; the number of kills."""
    kills = 0
    for moment in ("before", "half", "after"):
        at, process_ended = 0, False
        while not process_ended:
            path = new_study(folder, f"dies{moment}{at}")
            add(path, 10)
            process, reading = fork(_dying(path, at, moment))
            _, status = os.waitpid(process, 0)
            process_ended = os.WIFEXITED(status)
            check(path, [10, *acknowledgements(reading)])
            add(path, 30)
            check(path, [10, 30])
            kills += not process_ended
            at += 1
    return kills


def _dying(path: Path, at: int, moment: str) -> Callable[[int], None]:
    def die(name: str, usual: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if moment == "after":
            usual(*given, **named)
        elif moment == "half" and name == "write":
            usual(given[0], given[1][: len(given[1]) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    def work(out: int) -> None:
        say = os.write
        with failing(at, die):
            add(path, 20)
        say(out, b"20\n")

    return work


def write_together(folder: Path, writers: int, rounds: int, seed: int) -> int:
    """Processes that add steps at once; in every second round one is killed. The number of steps acknowledged."""
    rng, steps = random.Random(seed), 0
    for turn in range(rounds):
        path = new_study(folder, f"together{turn}")
        running = [fork(adding(path, 100_000 * (at + 1), ADDED)) for at in range(writers)]
        if turn % 2:
            time.sleep(rng.uniform(0.0, 0.5))
            os.kill(running[0][0], signal.SIGKILL)
        acknowledged = [first for _, reading in running for first in acknowledgements(reading)]
        for process, _ in running:
            os.waitpid(process, 0)
        assert turn % 2 or len(acknowledged) == writers * ADDED
        check(path, acknowledged)
        steps += len(acknowledged)
    return steps


def main() -> None:
    wanted = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    wanted.add_argument("--kills", type=int, default=1000)
    wanted.add_argument("--writers", type=int, default=8)
    wanted.add_argument("--rounds", type=int, default=6)
    wanted.add_argument("--seed", type=int, default=1)
    given = wanted.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        failures, there = fail_every_call(folder)
        print(f"ENOSPC and EIO: {failures:,} failed calls, nothing lost; after {there:,} the step was there")
        print(f"killed at every call: {kill_at_every_call(folder):,} kills, nothing lost", flush=True)
        steps = write_together(folder, given.writers, given.rounds, given.seed)
        print(f"{given.writers} writers: {given.rounds} rounds, {steps:,} steps acknowledged, nothing lost", flush=True)
        steps = kill_at_random(folder, given.kills, given.seed)
        print(f"killed at random: {given.kills:,} kills, {steps:,} steps acknowledged, nothing lost")


if __name__ == "__main__":
    main()
