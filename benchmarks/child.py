"""A process of its own for everything measured: its time from start to end, its answer, and its peak memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sizes import sized

HERE = Path(__file__).parent
RELAY = [sys.executable, "-I", "-S", str(HERE / "relay.py")]
NOT_INSTALLED = re.compile(r"ModuleNotFoundError: No module named '(?!cranfield|benchmarks)(\w+)")
PART_NOT_INSTALLED = re.compile(r"needs (.*), which (?:is|are) not installed")


class ChildError(Exception):
    """A measured process failed; the message is the last it wrote to standard error."""


class LackError(Exception):
    """Something is not there on this machine: a tool, a package, a file."""


@dataclass(frozen=True)
class Outcome:
    """What a process took and said; ``processor`` are the seconds of all its threads and processes together."""

    seconds: float
    processor: float
    megabytes: float
    output: str

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON object on the last line of output."""
        answer: dict[str, Any] = json.loads(self.output.splitlines()[-1])
        return answer


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a command to its end."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(HERE.parent)]))
    # Compiling takes longer than everything else at the smallest size, and interpreted loops give the same answers.
    interpreted = sized({}, {"NUMBA_DISABLE_JIT": "1"})
    surroundings = {**os.environ, "PYTHONPATH": paths, **interpreted, **(environment or {})}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # every installation has its bytecode after the first run
    with tempfile.NamedTemporaryFile() as report:
        done = subprocess.run([*RELAY, report.name, *command], capture_output=True, text=True, env=surroundings)
        if done.returncode != 0:
            raise _failure(done.stderr, done.returncode)
        seconds, processor, peak = report.read().split()
    return Outcome(
        float(seconds), float(processor), int(peak) / (1_000_000 if sys.platform == "darwin" else 1_000), done.stdout
    )


def _failure(errors: str, code: int) -> ChildError | LackError:
    """Why a process failed; a package of others that is not installed is no failure of the benchmark."""
    absent = NOT_INSTALLED.search(errors) or PART_NOT_INSTALLED.search(errors)
    if absent is not None:
        return LackError(f"{absent[1]} is not installed")
    return ChildError(errors.strip().rpartition("\n")[2][:200] or f"exit code {code}")


def job(module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run ``benchmarks.jobs.MODULE``."""
    return run([sys.executable, "-m", f"benchmarks.jobs.{module}", *map(str, arguments)], environment)


def best(measure: Callable[[], Outcome], *, at_most: int = 3, budget: float = 10.0) -> Outcome:
    """The fastest of several: as many as fit into ``budget`` seconds, at least one."""
    outcomes = [measure()]
    while len(outcomes) < sized(at_most, 1) and sum(outcome.seconds for outcome in outcomes) < budget:
        outcomes.append(measure())
    return min(outcomes, key=lambda outcome: outcome.seconds)
