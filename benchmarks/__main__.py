"""``python -m benchmarks``: every table, or those asked for."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from benchmarks import (
    checking,
    clustering,
    cold,
    comparing,
    many_systems,
    packing,
    piloting,
    reading,
    reopening,
    reporting,
    run_growth,
    scoring,
    serving,
    sharding,
    simulating,
    sizing,
    starting,
    studying,
    tabling,
)
from benchmarks.data import prepare
from benchmarks.shapes import shapes
from benchmarks.table import Goal

BENCHMARKS = {
    "cold": cold.tables,
    "checking": checking.tables,
    "growth of runs": run_growth.tables,
    "reading": reading.tables,
    "scoring": scoring.tables,
    "reopening": reopening.tables,
    "sharding": sharding.tables,
    "piloting": piloting.tables,
    "reporting": reporting.tables,
    "uploading": serving.uploads,
}
CALCULATIONS = {
    "starting": starting.tables,
    "tabling": tabling.tables,
    "packing": packing.tables,
    "sizing": sizing.tables,
    "comparing": comparing.tables,
    "many-systems": many_systems.tables,
    "studying": studying.tables,
    "simulating": simulating.tables,
    "clustering": clustering.tables,
    "serving": serving.tables,
}  # these need no collection


def main() -> None:
    options = _options()
    began = perf_counter()
    print(_machine(), end="\n\n")
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as scratch:
        goals = _run(
            options.only or [*BENCHMARKS, *CALCULATIONS], Path(options.keep or scratch), Path(scratch), options.quick
        )
    missed = [f"  {where}: {goal}" for where, goal in goals if not goal.met]
    took = f"{(perf_counter() - began) / 60:.1f} minutes"
    print(f"{len(goals) - len(missed)} of {len(goals)} goals met, in {took}." if goals else f"No goals; {took}.")
    print("\n".join(missed))


def _run(names: list[str], home: Path, scratch: Path, quick: bool) -> list[tuple[str, Goal]]:
    """Print the tables; the goals in them come back, with the row each is from."""
    found: list[tuple[str, Goal]] = []
    for make in [CALCULATIONS[name] for name in names if name in CALCULATIONS]:
        for table in make():
            print(table, flush=True)
            found.extend((f"{table.title}: {row}", goal) for row, goal in table.goals)
    names = [name for name in names if name in BENCHMARKS]
    for shape in shapes(quick=quick) if names else ():
        data = prepare(shape, home, scratch)
        print(f"{data}\n{'═' * 100}\n")
        for name in names:
            for table in BENCHMARKS[name](data):
                print(table, flush=True)
                found.extend((f"{shape.title}: {table.title}: {row}", goal) for row, goal in table.goals)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Cranfield and its peers, side by side.")
    parser.add_argument("--quick", action="store_true", help="smaller collections")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*BENCHMARKS, *CALCULATIONS],
        metavar="NAME",
        help=f"one benchmark; may be repeated: {', '.join([*BENCHMARKS, *CALCULATIONS])}",
    )
    parser.add_argument("--keep", metavar="DIR", help="keep the generated collections here, and use them again")
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
