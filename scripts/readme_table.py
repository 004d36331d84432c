"""Write the README's comparison with other tools from a run of the benchmarks.

python -m benchmarks --json measured.json
python scripts/readme_table.py measured.json [--check]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- the table below is written by scripts/readme_table.py -->\n", "<!-- end of the table -->\n"

# {table | row | column}: a cell of the first table whose title begins so, of the row whose name begins so.
ROWS = (
    (
        "topics for a goal: the range of the means of m systems, a difference, the width of an interval; from a "
        "variance or a pilot",
        "638 of the 639 published cells reproduced exactly; 10,000 designs in {Topic set sizes|cranfield|time}",
        "Sakai's spreadsheets; statsmodels' power solver, {Topic set sizes|statsmodels|faster} slower",
    ),
    (
        "Tukey's p-values of all 8,256 pairs of 129 systems, topics as blocks",
        "{All 8,256|cranfield|time}",
        "statsmodels {All 8,256|statsmodels|faster}, scipy {All 8,256|scipy|faster} slower; ranx ignores topics",
    ),
    (
        "ANOVA of systems, topics and shards with all interactions (model MD6)",
        "{MD6|cranfield|time}",
        "statsmodels: {MD6|statsmodels|time} and {MD6|statsmodels|memory}",
    ),
    (
        "leaving teams out of a pilot, and scoring again",
        "one command",
        "a script that rebuilds the judgments for pytrec_eval, {Leaving k teams|SS16: 16|faster} slower",
    ),
    (
        "simulation of sequential studies and their stopping rules",
        "one command",
        "a loop over NumPy, {The iterative plan|a loop|faster} slower",
    ),
    (
        "scoring 129 TREC-8 runs in a new process, with trec_eval's numbers in every cell",
        "{Cold, from files|cranfield|time}",
        "pytrec_eval {Cold, from files|pytrec_eval|faster}, ranx {Cold, from files|ranx|faster} slower",
    ),
    (
        "scoring 63 runs in memory, judgments prepared once",
        "{Scoring dicts, runs × 50 topics × 100: 63|cranfield, judgments prepared|time}",
        "pytrec_eval: {Scoring dicts, runs × 50 topics × 100: 63|pytrec_eval|time}",
    ),
    (
        "generalisability, swap rates, simulated topics, budgets, reusability",
        "one command each, and one report",
        "in R: gt4ireval for generalisability (same numbers), simIReff for simulated topics",
    ),
)


def table(measured: Mapping[str, Any]) -> str:
    """The rows of the README, every figure from the run."""
    lines = ["| | cranfield | other tools |", "|---|---|---|"]
    for row in ROWS:
        cells = [
            re.sub(r"\{(.*?)\|(.*?)\|(.*?)\}", lambda cell: find(measured["tables"], *cell.groups()), part)
            for part in row
        ]
        lines.append(f"| {' | '.join(cells)} |")
    machine = f"Measured by `make bench`, which measures your machine too ({measured['machine']})."
    return "\n".join([*lines, "", machine, ""])


def find(tables: Sequence[Mapping[str, Any]], title: str, row: str, column: str) -> str:
    """One cell, without the space in front of a unit being broken."""
    for made in tables:
        if made["title"].startswith(title):
            place = next(at for at, heading in enumerate(made["headings"]) if column in heading)
            cells = next((cells for cells in made["rows"] if cells[0].startswith(row)), None)
            if cells is None or not cells[place]:
                raise SystemExit(f"«{made['title']}» has no {column} of {row}: was it left out of the run?")
            return str(cells[place]).replace(" ×", " times").replace(" ", "\N{NO-BREAK SPACE}")
    raise SystemExit(f"the run has no table «{title}…»: run all benchmarks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, help="the file of `python -m benchmarks --json`")
    parser.add_argument("--check", action="store_true", help="print the table, and write nothing")
    options = parser.parse_args()
    made = table(json.loads(options.measured.read_text()))
    if options.check:
        sys.stdout.write(made)
        return
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    README.write_text(before + BEGIN + made + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
