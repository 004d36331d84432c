"""The table that the report's page and workbook look n up in: the solver's n, also as the page's script reads it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield
import cranfield.rendering
from cranfield.methods.design import Design, Goal, Sd, achieved, size
from cranfield.methods.design.topic_table import FEWEST, MOST, TopicTable, tabulate
from cranfield.rendering.report_page import to_html
from cranfield.rendering.report_sections import make_report
from sizes import examples_of

SCRIPT = Path(cranfield.rendering.__file__).parent / "templates" / "topics.js"
ASK = """
const Topics = require(process.argv[1]);
const [table, cells] = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cells.map((cell) => Topics.needed(table, ...cell))));
"""
GOALS = {"difference": "holm", "min_range": "blocked", "min_range by Sakai": "sakai", "width": "interval"}


def by_script(table: Any, cells: list[list[float]]) -> list[int | None]:
    """What the script reads off a table: for numbers of systems and powers by their place, and ratios."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("there is no Node on this machine to run the page's script with")
    given = json.dumps([table, cells])
    done = subprocess.run([program, "-e", ASK, str(SCRIPT)], input=given, capture_output=True, text=True, check=True)
    found: list[int | None] = json.loads(done.stdout)
    return found


def random_cells(table: TopicTable, count: int) -> tuple[list[list[float]], Design, Goal]:
    """Requests by place in a table, and the same as designs and a goal."""
    rng = np.random.default_rng(20)
    systems, power = rng.integers(len(table.systems), size=count), rng.integers(len(table.powers), size=count)
    ratio = np.exp(rng.uniform(np.log(0.1), np.log(30_000), count))
    m, least = np.array(table.systems)[systems], np.array(table.powers)[power]
    design = Design(systems=m, test=table.test, alpha=table.alpha, spread=Sd(sd=np.sqrt(ratio)))
    goal = Goal(table.kind, 1.0, None if table.kind == "width" else least)
    return np.column_stack([systems, power, ratio]).tolist(), design, goal


@pytest.mark.parametrize("name", GOALS)
def test_n_is_the_solvers(name: str) -> None:
    """Within a topic, and not the same only where so many topics reach the goal but for a hundred-thousandth."""
    table = tabulate(name.partition(" ")[0], test=GOALS[name], systems=37, alpha=0.05, power=0.85)
    cells, design, goal = random_cells(table, examples_of(4_000))
    wanted = np.clip(size(design, goal).topics, FEWEST, None)
    found = [
        table.needed(systems=table.systems[int(m)], power=table.powers[int(power)], ratio=ratio)
        for m, power, ratio in cells
    ]
    ends = [n is None for n in found]
    assert np.array_equal(ends, wanted > MOST)
    n = np.where(ends, wanted, [each or 0 for each in found])
    apart = n != wanted
    assert np.abs(n - wanted).max() <= 1
    assert apart.mean() < 0.0005
    assert np.all(wanted[apart] > 40)
    fewer = Design(
        topics=np.maximum(2, np.minimum(n, wanted)), systems=design.systems, test=table.test, spread=design.spread
    )
    target = 1.0 if table.kind == "width" else np.asarray(goal.at_least)
    assert np.abs(achieved(fewer, goal) - target)[apart].max(initial=0.0) < 1e-5


def test_the_script_reads_the_same(example: Path) -> None:
    """The table as it stands in the page of a report."""
    report = make_report(cranfield.report(str(example / "runs"), qrels=str(example / "qrels.txt"), measure="AP"))
    raw = re.search(r'id="calculator-data">(.*?)</script>', to_html(report), re.DOTALL)
    assert raw is not None
    assert len(raw[1]) < 40_000
    table = tabulate("difference", systems=12)
    cells, _, _ = random_cells(table, 4_000)
    cells += [[0, 0, table.ratios[0][0][at]] for at in (0, 1, 30, -1)]
    wanted = [
        table.needed(systems=table.systems[int(m)], power=table.powers[int(power)], ratio=ratio)
        for m, power, ratio in cells
    ]
    assert by_script(json.loads(raw[1]), cells) == wanted


def test_sakais_published_n_are_in_the_table() -> None:
    table = tabulate("min_range", test="sakai", power=0.9)
    for power, n in ((0.8, 166), (0.9, 211)):  # S14 Table 4(I)
        assert table.needed(systems=10, power=power, ratio=2 * 0.0530 / 0.10**2) == n
    assert tabulate("width").needed(systems=10, power=0.8, ratio=2 * 0.0530 / 0.10**2) == 165  # S14 Table 8


def test_the_claim_is_the_sentence_of_the_goal() -> None:
    first, *_, last = tabulate("difference", test="holm", alpha=0.01).claims
    assert first.startswith("detect a difference of {difference} between two systems named in advance with power")
    assert last == "detect a difference of {difference} between two of 100 systems with power {power} at α = 0.01"
