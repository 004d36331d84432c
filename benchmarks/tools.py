"""How each tool is started. What was measured is kept, so that several tables can show the same measurement.

What cannot be measured raises a LackError or a ChildError; the table says so in the row (`Table.attempt`).
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.child import LackError, Outcome
from benchmarks.data import Data, progress
from benchmarks.jobs import clock
from benchmarks.jobs.cranfield import MEASURES
from benchmarks.sizes import sized

CORES = os.cpu_count() or 1


@cache
def command() -> tuple[str, ...]:
    """cranfield's own command: the one installed beside this Python, or its module."""
    beside = Path(sys.executable).with_name("cranfield")
    return (str(beside),) if beside.exists() else (sys.executable, "-m", "cranfield")


def is_compiled(tool: str, data: Data) -> bool:
    """Whether the tool has compiled its loops already, for an earlier collection."""
    return (data.caches / tool).exists()


@cache
def first_ever(tool: str, data: Data) -> Outcome:
    """Files to mean scores with nothing compiled yet; of ranx one run, which is all it takes to compile everything."""
    progress(f"{tool}: the first run ever")
    return _cold(tool, data, data.one_run if tool == "ranx" else data.runs)


@cache
def cold(tool: str, data: Data, runs: str) -> Outcome:
    """Files to mean scores in a fresh process, the best of a few; whatever a tool compiles is compiled already."""
    _compile(tool, data)
    progress(f"{tool}: {'one run' if runs == data.one_run else 'all runs'} to means")
    return child.best(partial(_cold, tool, data, runs), at_most=5 if runs == data.one_run else 3)


@cache
def loaded(tool: str, data: Data) -> dict[str, Any]:
    """Everything read and kept, then scored, in a fresh process: what the job answers."""
    _compile(tool, data)
    progress(f"{tool}: reading everything, scoring it")
    return child.job(tool, "loaded", data.runs, data.qrels, environment=_environment(tool, data)).answer


@cache
def ours(job: str, data: Data) -> dict[str, Any]:
    """What one of cranfield's own jobs answers."""
    if job != "read":
        ours("read", data)  # which packs
    _compile("cranfield", data)
    progress(f"cranfield: {job}")
    files = [data.runs, data.qrels] if job == "read" else []
    how = _environment("cranfield", data)
    measure = partial(child.job, "cranfield", job, *files, data.packed, environment=how)
    return child.best(measure, at_most=3 if job == "read" else 1).answer


@cache
def ours_packed(data: Data) -> Outcome:
    """The command on a packed collection."""
    ours("read", data)
    progress("cranfield: from a packed collection to means")
    line = [*command(), "score", data.packed, "-m", "AP"]
    return child.best(partial(child.run, line, _environment("cranfield", data)), at_most=5)


@cache
def cold_gzipped(data: Data) -> Outcome:
    """The command on gzipped runs."""
    folder = _gzip(data)
    progress("cranfield: gzipped runs to means")
    return child.best(partial(_cold, "cranfield", data, folder))


@cache
def gunzip(data: Data) -> Outcome:
    """Unzipping every run and nothing else, as many processes at a time as there are cores."""
    files = f"find {_gzip(data)} -type f -print0 | xargs -0 -P {CORES} -n 1 gzip -dc > /dev/null"
    return child.best(partial(child.run, ["sh", "-c", files]))


def _gzip(data: Data) -> str:
    """A folder of the same runs, gzipped."""
    folder = data.caches / f"{data.shape.name}-gzipped"
    if not folder.exists():
        progress("gzipping the runs")
        folder.mkdir()
        for file in clock.files(data.runs):
            (folder / f"{Path(file).name}.gz").write_bytes(gzip.compress(Path(file).read_bytes(), 6, mtime=0))
    return str(folder)


@cache
def grown(command_name: str, data: Data, lines: int) -> Outcome:
    """A command on so many lines of runs."""
    _compile("cranfield", data)
    folder = _first_lines(data, lines)
    progress(f"cranfield {command_name}: {lines:,} lines")
    files = [folder, "--qrels", data.qrels]
    return child.best(partial(child.run, [*command(), command_name, *files], _environment("cranfield", data)))


def _first_lines(data: Data, lines: int) -> str:
    """A folder with the first lines of the first runs."""
    folder = data.caches / f"{data.shape.name}-{lines}"
    folder.mkdir(exist_ok=True)
    for file in clock.files(data.runs):
        text = Path(file).read_bytes().splitlines(keepends=True)[:lines]
        (folder / Path(file).name).write_bytes(b"".join(text))
        lines -= len(text)
        if lines <= 0:
            break
    return str(folder)


@cache
def ours_check(data: Data, runs: str) -> Outcome:
    """The check of runs and judgments, cold, the best of a few."""
    _compile("cranfield", data)
    progress("cranfield: check")
    line = [*command(), "check", runs, data.qrels]
    return child.best(partial(child.run, line, _environment("cranfield", data)))


@cache
def ours_report(data: Data, name: str) -> tuple[Outcome, float]:
    """The whole report of a packed collection, cold, and the megabytes of its file."""
    ours("read", data)
    progress(f"cranfield: the report as {name}")
    out = data.caches / name
    line = [*command(), "report", data.packed, "-o", str(out)]
    return child.run(line, _environment("cranfield", data)), out.stat().st_size / 1e6


def mean_ap(outcome: Outcome) -> float:
    """The mean of all runs' mean AP: from a job's answer, or from cranfield's table."""
    if outcome.output.startswith("{"):
        return float(outcome.answer["ap"])
    rows = (line.split() for line in outcome.output.splitlines())
    return clock.mean([float(row[1]) for row in rows if row and re.fullmatch(r"sys\d+", row[0])])


def _environment(tool: str, data: Data) -> dict[str, str]:
    """Where a tool keeps what it compiled: a folder of its own, empty at first."""
    return {"NUMBA_CACHE_DIR": str(data.caches / tool)}


def _compile(tool: str, data: Data) -> None:
    if tool in sized(("cranfield", "ranx"), ()) and not is_compiled(tool, data):
        first_ever(tool, data)


def _cold(tool: str, data: Data, runs: str) -> Outcome:
    if tool == "cranfield":
        wanted = [part for measure in MEASURES for part in ("-m", measure)]
        return child.run([*command(), "score", runs, "--qrels", data.qrels, *wanted], _environment(tool, data))
    if tool == "trec_eval" and not shutil.which(tool):
        raise LackError("trec_eval is not installed")
    outcome = child.job(tool, "cold", runs, data.qrels, environment=_environment(tool, data))
    if tool == "trec_eval":  # without the Python around it
        return Outcome(outcome.answer["seconds"], outcome.processor, outcome.answer["peak"], outcome.output)
    return outcome
