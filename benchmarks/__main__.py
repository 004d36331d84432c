"""``python -m benchmarks``: every table, or those asked for."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from benchmarks.data import Data, prepare
from benchmarks.shapes import Shape, shapes
from benchmarks.sizes import FULL, QUICK, SMALLEST, VARIABLE, size
from benchmarks.table import Table

# The functions that make the tables; a module is imported when the size is known.
BENCHMARKS = {
    "cold": "cold.tables",
    "checking": "checking.tables",
    "growth of runs": "run_growth.tables",
    "reading": "reading.tables",
    "scoring": "scoring.tables",
    "reopening": "reopening.tables",
    "sharding": "sharding.tables",
    "piloting": "piloting.tables",
    "reporting": "reporting.tables",
    "uploading": "serving.uploads",
}
CALCULATIONS = {
    "starting": "starting.tables",
    "tabling": "tabling.tables",
    "packing": "packing.tables",
    "sizing": "sizing.tables",
    "comparing": "comparing.tables",
    "in-memory": "in_memory.tables",
    "many-systems": "many_systems.tables",
    "studying": "studying.tables",
    "simulating": "simulating.tables",
    "clustering": "clustering.tables",
    "serving": "serving.tables",
}  # these need no collection


@dataclass(frozen=True)
class Shown:
    """A table that was printed, and where it is from."""

    benchmark: str
    collection: str
    table: Table

    def rows(self, rows: Iterable[tuple[str, object]]) -> list[str]:
        """Lines that name the row of the table."""
        where = ": ".join(filter(None, [self.collection, self.table.title]))
        return [f"  {where}: {row}: {what}" for row, what in rows]


def main() -> None:
    options = _options()
    os.environ[VARIABLE] = options.size
    began, machine = perf_counter(), _machine()
    print(machine, end="\n\n")
    shown = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as scratch:
        for item in _run(options.only or [*BENCHMARKS, *CALCULATIONS], Path(options.keep or scratch), Path(scratch)):
            print(item.table, flush=True)
            shown.append(item)
    if options.json:
        Path(options.json).write_text(json.dumps(_contents(machine, shown), indent=1, ensure_ascii=False) + "\n")
    print(f"Took {(perf_counter() - began) / 60:.1f} minutes.")
    print(_summary(shown))


def _run(names: list[str], home: Path, scratch: Path) -> Iterator[Shown]:
    for name in filter(CALCULATIONS.__contains__, names):
        yield from (Shown(name, "", table) for table in _tables(name, CALCULATIONS[name]))
    of_collections = list(filter(BENCHMARKS.__contains__, names))
    for shape in shapes() if of_collections else ():
        yield from _collection(of_collections, shape, home, scratch)


def _collection(names: list[str], shape: Shape, home: Path, scratch: Path) -> Iterator[Shown]:
    table = Table("Generating the collection", ("collection", "what happened"))
    with table.attempt(shape.title, goals=len(names)):
        data = prepare(shape, home, scratch)
        print(f"{data}\n{'═' * 100}\n")
        for name in names:
            yield from (Shown(name, shape.title, made) for made in _tables(name, BENCHMARKS[name], data))
    if table.rows:
        yield Shown("", shape.title, table)


def _tables(name: str, function: str, *data: Data) -> Iterator[Table]:
    """The tables of a benchmark; where it fails outside of their rows, a last one that says so."""
    failure = Table(f"The benchmark {name}", ("benchmark", "what happened"))
    with failure.attempt(name):
        module, _, attribute = function.partition(".")
        yield from getattr(import_module(f"benchmarks.{module}"), attribute)(*data)
    if failure.rows:
        yield failure


def _summary(shown: list[Shown]) -> str:
    """What failed, what was not tried, which goals are missed; the last line is how many are met."""
    goals = [goal for item in shown for _, goal in item.table.goals]
    parts = {
        "Failed:": [line for item in shown for line in item.rows(item.table.failures)],
        "Not tried:": [line for item in shown for line in item.rows(item.table.lacking)],
        "Goals not met:": [
            line for item in shown for line in item.rows((row, goal) for row, goal in item.table.goals if not goal.met)
        ],
    }
    lines = [line for title, listed in parts.items() if listed for line in (title, *listed)]
    return "\n".join([*lines, f"{sum(goal.met for goal in goals)} of {len(goals)} goals met"])


def _contents(machine: str, shown: list[Shown]) -> dict[str, object]:
    """What was printed, for scripts."""
    tables = [
        {
            "benchmark": item.benchmark,
            "collection": item.collection,
            "title": item.table.title,
            "headings": list(item.table.headings),
            "rows": [list(row) for row in item.table.rows],
            "goals": [{"row": row, "goal": goal.text, "met": goal.met} for row, goal in item.table.goals],
            "failures": item.table.failures,
            "lacking": item.table.lacking,
        }
        for item in shown
    ]
    return {"machine": machine, "cores": os.cpu_count(), "size": size(), "tables": tables}


def _options() -> argparse.Namespace:
    names = [*BENCHMARKS, *CALCULATIONS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Cranfield and its peers, side by side.")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", dest="size", action="store_const", const=QUICK, help="smaller collections")
    text = "run through everything once, as tests do; titles speak of the full size, and no goal is held"
    sizes.add_argument("--smallest", dest="size", action="store_const", const=SMALLEST, help=text)
    text = f"one benchmark; may be repeated: {', '.join(names)}"
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=text)
    parser.add_argument("--keep", metavar="DIR", help="keep the generated collections here, and use them again")
    parser.add_argument("--json", metavar="FILE", help="write the tables to this file too")
    parser.set_defaults(size=FULL)
    return parser.parse_args()


def _machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    packages = ("cranfield", "numpy", "numba", "pytrec-eval-terrier", "ir-measures", "ranx")
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    cores = os.cpu_count()
    return f"{cores} cores, {platform.system()}, Python {platform.python_version()}, {versions}; load {load}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
