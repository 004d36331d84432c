"""The page's own calculator, run by Node, against the library's: the same n everywhere, the same power to 1e-9."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield.rendering
from designs import size_for_difference, size_for_range, size_for_sensitivity, size_for_width

SCRIPT = Path(cranfield.rendering.__file__).parent / "templates" / "design.js"
ASK = """
const Design = require(process.argv[1]);
const cells = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cells.map(([name, ...given]) => Design[name](...given))));
"""


def node(cells: list[list[Any]]) -> list[Any]:
    """What the script answers to every call."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("there is no Node on this machine to run the page's script with")
    done = subprocess.run(
        [program, "-e", ASK, str(SCRIPT)], input=json.dumps(cells), capture_output=True, text=True, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found


SIZES: dict[str, Callable[..., Any]] = {
    "t": size_for_difference,
    "interval": size_for_width,
    "clt": size_for_sensitivity,
}
RANGES: list[tuple[str, dict[str, Any]]] = [
    (method, dict(zip(("systems", "min_range", "variance", "alpha", "power"), cell, strict=True)))
    for method in ("exact", "blocked", "sakai")
    for cell in product((2, 3, 10, 57, 200), (0.02, 0.1, 0.3), (0.005, 0.0530, 0.2), (0.001, 0.05), (0.8, 0.95))
]
PAIRS: list[tuple[str, dict[str, Any]]] = [
    (method, {word: difference, "sd": sd, "alpha": alpha, **({"power": power} if method == "t" else {})})
    for method, word in (("t", "difference"), ("interval", "width"), ("clt", "sensitivity"))
    for difference, sd, alpha, power in product((0.01, 0.033, 0.1), (0.05, 0.15, 0.4), (0.001, 0.05), (0.6, 0.9))
]


def test_n_and_what_it_achieves_are_the_librarys() -> None:
    cells = RANGES + PAIRS
    answers = node([["size", method, design] for method, design in cells])
    for (method, design), answer in zip(cells, answers, strict=True):
        options = {"method": method} if method in ("exact", "blocked", "sakai") else {}
        sized: Callable[..., Any] = SIZES.get(method, size_for_range)
        row = sized(**design, **options).to_dict()[0]
        word = "power" if "power" in design else next(iter(design))
        assert answer["topics"] == row["topics"], (method, design)
        assert answer["achieved"] == pytest.approx(row[f"achieved_{word}"], rel=1e-9), (method, design)
        below = row[f"{word}_below"]
        if np.isnan(below):
            assert answer["below"] is None
        else:
            assert answer["below"] == pytest.approx(below, rel=1e-9)


def test_all_pairs_by_holm_need_the_librarys_n() -> None:
    cells: list[dict[str, Any]] = [
        {"systems": systems, "difference": difference, "sd": 0.15, "alpha": alpha, "power": 0.8}
        for systems, difference, alpha in product((2, 3, 10, 57, 300), (0.02, 0.05, 0.1, 0.2, 0.4), (0.001, 0.05, 0.1))
    ]
    answers = node([["size", "holm", design] for design in cells])
    for design, answer in zip(cells, answers, strict=True):
        row = size_for_difference(**design, test="holm").to_dict()[0]
        assert answer["topics"] == row["topics"], design
        assert answer["achieved"] == pytest.approx(row["achieved_power"], rel=1e-6), design


def test_sakais_tables_come_out_of_the_page() -> None:
    published = [(0.05, 0.8, 0.10, 0.0530, 166), (0.05, 0.9, 0.10, 0.0530, 211)]
    wanted = [
        int(size_for_range(systems=10, min_range=d, variance=v, alpha=a, power=p, method="sakai").topics)
        for a, p, d, v, _ in published
    ]
    cells = [
        ["size", "sakai", {"systems": 10, "min_range": d, "variance": v, "alpha": a, "power": p}]
        for a, p, d, v, _ in published
    ]
    assert [answer["topics"] for answer in node(cells)] == wanted
    assert wanted[0] == 166  # S14 Table 4(I)


def test_out_of_reach_is_said() -> None:
    design = {"systems": 2, "min_range": 1e-6, "variance": 0.1, "alpha": 0.05, "power": 0.8}
    assert node([["size", "exact", design]])[0]["topics"] is None


def test_critical_values_and_tails_agree_with_scipy() -> None:
    criticals = [(alpha, above, below) for alpha, above, below in product((1e-6, 0.05, 0.5), (1, 9, 199), (1, 40, 1e6))]
    found = node([["fCritical", *cell] for cell in criticals])
    assert found == pytest.approx([float(stats.f.isf(*cell)) for cell in criticals], rel=1e-9)
    tails = list(product((0.5, 2.0, 6.0), (1, 9, 199), (5, 400, 1e5), (0.1, 10, 300)))
    found = node([["noncentralFTail", *cell] for cell in tails])
    assert found == pytest.approx([float(stats.ncf.sf(*cell)) for cell in tails], rel=1e-8, abs=1e-12)


def test_the_normal_distribution_agrees_with_scipy() -> None:
    z = [-8.0, -5.1, -4.9, -1.0, 0.0, 0.3, 1.96, 4.9, 5.1, 8.0]
    found = node([["normal", value] for value in z])
    assert found == pytest.approx([float(stats.norm.cdf(value)) for value in z], rel=1e-9)
    alphas = [1e-8, 0.025, 0.5, 0.9]
    found = node([["normalCritical", alpha] for alpha in alphas])
    assert found == pytest.approx([float(stats.norm.isf(alpha)) for alpha in alphas], rel=1e-9, abs=1e-12)
