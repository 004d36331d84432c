"""Score tables as large as people have them: a command from file to answer, against Polars reading the same file."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.child import LackError, Outcome, best, job, run
from benchmarks.data import progress
from benchmarks.sizes import sized
from benchmarks.table import Table, at_most, duration, megabytes, times

HEADINGS = ("process", "time", "of Polars' read", "goal", "peak", "goal ")
COMMANDS = {
    "compare": (["compare"], 3),
    "size": (["size", "--difference", "0.02"], 5),
    "variance": (["variance"], 5),
    "power": (["power"], 5),
}
PLANNING = ("size", "power")  # on a wide table at most 3 times
LIVEBENCH = "data/livebench/livebench_13012025.parquet"


@dataclass(frozen=True)
class Form:
    """A file, and the goals of commands on it: how many times Polars' read, and how many megabytes."""

    title: str
    form: str
    topics: int
    systems: int
    ending: str
    memory: float
    most: float | None = None  # times Polars' read; each command's own goal by default

    def file(self, folder: Path) -> str:
        return str(folder / f"{self.form}-{self.topics}-{self.systems}{self.ending}")


FORMS = (
    Form("long CSV, 20,000 topics × 100 systems", "long", 20_000, 100, ".csv", 500),
    Form("long CSV, 100,000 topics × 20 systems", "long", 100_000, 20, ".csv", 500),
    Form("wide CSV, 100,000 topics × 100 systems", "wide", 100_000, 100, ".csv", 500),
    Form("wide Parquet, 1,000,000 topics × 20 systems", "wide", 1_000_000, 20, ".parquet", 600, 5),
    Form("long Parquet, 1,000,000 topics × 20 systems", "long", 1_000_000, 20, ".parquet", 600, 5),
    Form("JSON lines, 50,000 topics × 20 systems", "long", 50_000, 20, ".jsonl", 500, 5),
)
SMALLEST_FORMS = (Form("JSON lines", "long", 5, 3, ".jsonl", 500, 5), Form("wide CSV", "wide", 5, 3, ".csv", 500))
GROWTH = sized((500, 5_000, 50_000), (5, 50))  # topics × 20 systems: 10⁴, 10⁵ and 10⁶ rows
MANY_TOPICS = sized((10_000, 100_000, 1_000_000), (10, 100))
GROWING = {"reliability": ["reliability"]} | sized({name: arguments for name, (arguments, _) in COMMANDS.items()}, {})
RELIABILITY_SECONDS = 6  # of a million topics


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="score-tables-") as folder:
        for form in sized(FORMS, SMALLEST_FORMS):
            yield _form(form, Path(folder))
        yield _repeats()
        yield _growth(Path(folder))
        yield _topic_growth(Path(folder))


def _form(form: Form, folder: Path) -> Table:
    file = form.file(folder)
    progress(f"score tables: {form.title}")
    job("score_tables", form.form, form.topics, form.systems, file)
    table = Table(f"{form.title} ({os.path.getsize(file) / 1e6:.0f} MB), cold", HEADINGS)
    with table.attempt("Polars reads the file", goals=2 * len(COMMANDS)):
        polars = _add_polars(table, file)
        for name, (arguments, most) in COMMANDS.items():
            most = 3 if name in PLANNING and form.form == "wide" else most
            _add(table, f"cranfield {name}", [*arguments, file], polars, form.most or most, form.memory)
    os.unlink(file)
    return table


def _add_polars(table: Table, file: str) -> Outcome:
    polars = _polars(file)
    table.add("Polars reads the file", duration(polars.seconds), times(1), "", megabytes(polars.megabytes))
    return polars


def _add(table: Table, title: str, arguments: Sequence[str], polars: Outcome, most: float, memory: float) -> None:
    with table.attempt(title, goals=2):
        ours = best(lambda: _command(arguments))
        ratio, peak = ours.seconds / polars.seconds, ours.megabytes
        goals = at_most(ratio, most, "×"), at_most(peak, memory, "MB")
        table.add(title, duration(ours.seconds), times(ratio), goals[0], megabytes(peak), goals[1])


def _polars(file: str) -> Outcome:
    reader = {".csv": "read_csv", ".jsonl": "read_ndjson", ".parquet": "read_parquet"}[Path(file).suffix]
    code = f"import sys, polars; polars.{reader}(sys.argv[1])"
    return best(lambda: run([sys.executable, "-c", code, file]), at_most=5)


def _command(arguments: Sequence[str]) -> Outcome:
    return run([sys.executable, "-m", "cranfield", *arguments])


def _repeats() -> Table:
    """LiveBench: 93,624 rows that differ in a time stamp, averaged; a cube of all time stamps would have 10¹⁰ cells."""
    table = Table("LiveBench, repeats averaged, cold", HEADINGS)
    shared = Path(os.environ.get("CRANFIELD_SHARED", Path(__file__).parents[2] / "shared"))
    file = str(shared / LIVEBENCH)
    columns = ["--columns", "topic=question_id,system=model,mean=tstamp", "--missing", "zero"]
    with table.attempt("cranfield variance, mean=tstamp", goals=2):
        if not os.path.exists(file):
            raise LackError(f"there is no {LIVEBENCH} in the folder that CRANFIELD_SHARED names")
        polars = _add_polars(table, file)
        _add(table, "cranfield variance, mean=tstamp", ["variance", file, *columns], polars, 10, 300)
    return table


def _growth(folder: Path) -> Table:
    """Time and memory at 10⁴, 10⁵ and 10⁶ rows; the exponent is that of the last two, the start of Python included."""
    table = Table(
        "Growth with rows (long CSV, 20 systems)",
        ("command", *(f"{20 * topics:,} rows" for topics in GROWTH), "exponent", "goal", "peak at the last"),
    )
    _grow(table, [Form("", "long", topics, 20, ".csv", 0) for topics in GROWTH], folder)
    return table


def _topic_growth(folder: Path) -> Table:
    """The same with up to a million topics; `reliability` resamples all of them a few thousand times."""
    table = Table(
        "Growth with topics (wide Parquet, 20 systems)",
        (
            "command",
            *(f"{topics:,} topics" for topics in MANY_TOPICS),
            "exponent",
            "goal",
            "peak at the last",
            "goal ",
            "time goal",
        ),
    )
    _grow(table, [Form("", "wide", topics, 20, ".parquet", 0) for topics in MANY_TOPICS], folder, memory=800)
    return table


def _grow(table: Table, forms: Sequence[Form], folder: Path, *, memory: float | None = None) -> None:
    """One row per command: what it takes on each of the files, and the exponent of the last two."""
    files = [form.file(folder) for form in forms]
    for form, file in zip(forms, files, strict=True):
        job("score_tables", form.form, form.topics, form.systems, file)
    for name, arguments in GROWING.items():
        progress(f"score tables: growth of {name}")
        with table.attempt(name, goals=1 if memory is None else 2):
            outcomes = [best(partial(_command, [*arguments, file])) for file in files]
            slope = math.log10(outcomes[-1].seconds / outcomes[-2].seconds)
            cells = [duration(outcome.seconds) for outcome in outcomes]
            peak = outcomes[-1].megabytes
            goals = [] if memory is None else [at_most(peak, memory, "MB")]
            if name == "reliability" and memory is not None:
                goals.append(at_most(outcomes[-1].seconds, RELIABILITY_SECONDS, "s"))
            table.add(name, *cells, f"{slope:.2f}", at_most(slope, 1.15, ""), megabytes(peak), *goals)
    for file in files:
        os.unlink(file)
