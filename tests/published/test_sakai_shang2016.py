"""Sakai & Shang 2016 (SS16): topic set sizes from pilot variances."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from designs import aim, size_for_range


def test_all_25_cells_of_table_3_come_out_to_the_topic(kept: Path) -> None:
    with open(kept / "published" / "sakai_shang2016_table3.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 25
    ours = size_for_range(
        systems=[float(row["systems"]) for row in rows],
        min_range=[float(row["min_range"]) for row in rows],
        variance=[float(row["variance"]) for row in rows],
        alpha=[float(row["alpha"]) for row in rows],
        power=[1 - float(row["beta"]) for row in rows],
        method="sakai",
    ).topics
    assert ours.tolist() == [int(row["topics"]) for row in rows]


def test_table_3_follows_from_its_variances_in_one_go(kept: Path) -> None:
    with open(kept / "published" / "sakai_shang2016_table3.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    target = aim("min_range", 0.15, systems=10, alpha=0.05, power=0.8, method="sakai")
    found = target.topics(np.array([float(row["variance"]) for row in rows]))
    assert found.tolist() == [int(row["topics"]) for row in rows]
