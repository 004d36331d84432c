"""A process of its own for everything measured: its time from start to end, its answer, and its peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RELAY = [sys.executable, "-I", "-S", str(HERE / "relay.py")]


class ChildError(Exception):
    """A measured process failed; the message is the last it wrote to standard error."""


@dataclass(frozen=True)
class Outcome:
    """What a process took and said."""

    seconds: float
    megabytes: float
    output: str

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON object on the last line of output."""
        found: dict[str, Any] = json.loads(self.output.splitlines()[-1])
        return found


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a command to its end."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(HERE.parent)]))
    surroundings = {**os.environ, "PYTHONPATH": paths, **(environment or {})}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # every installation has its bytecode after the first run
    with tempfile.NamedTemporaryFile() as report:
        done = subprocess.run([*RELAY, report.name, *command], capture_output=True, text=True, env=surroundings)
        if done.returncode != 0:
            last = done.stderr.strip().rpartition("\n")[2]
            raise ChildError(last[:200] or f"exit code {done.returncode}")
        seconds, peak = report.read().split()
    return Outcome(float(seconds), int(peak) / (1_000_000 if sys.platform == "darwin" else 1_000), done.stdout)


def job(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run ``benchmarks.jobs.MODULE``."""
    return run([sys.executable, "-m", f"benchmarks.jobs.{module}", *arguments], environment)


def best(measure: Callable[[], Outcome], *, at_most: int = 3, budget: float = 10.0) -> Outcome:
    """The fastest of several: as many as fit into ``budget`` seconds, at least one."""
    outcomes: list[Outcome] = []
    while not outcomes or (len(outcomes) < at_most and sum(each.seconds for each in outcomes) < budget):
        outcomes.append(measure())
    return min(outcomes, key=lambda outcome: outcome.seconds)
