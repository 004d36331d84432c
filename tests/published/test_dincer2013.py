"""Dinçer 2013 (D13): topic set sizes by the central limit theorem."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.methods.design.pair_sizes import pair_sizes
from cranfield.stats.tails import normal_critical
from designs import sensitivity_with, size_for_sensitivity


def test_table_1_lies_within_the_rounding_of_its_printed_variances(kept: Path) -> None:
    with open(kept / "published" / "dincer2013_table1.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 70
    for row in rows:
        variance, delta, printed = float(row["variance"]), float(row["sensitivity"]), int(row["topics"])
        low, high = (
            int(size_for_sensitivity(sensitivity=delta, sd=np.sqrt(variance + shift)).topics) for shift in (-5e-5, 5e-5)
        )
        assert low - 1 <= printed <= high  # the paper rounds to the nearest, the smallest n rounds up


def test_worked_examples_of_section_3() -> None:
    z = float(normal_critical(0.025))

    def real(sd: float, delta: float) -> float:
        return (sd * z / delta) ** 2

    assert round(real(0.2125, 0.05)) == 69
    assert round(real(0.1479, 0.05)) == 34
    assert round(real(0.1479, 0.0192)) == 228
    assert int(size_for_sensitivity(sensitivity=0.05, sd=0.1479).topics) == 34
    assert float(sensitivity_with(topics=50, sd=0.1479)) == pytest.approx(0.0409, abs=1e-4)  # .040995, cut off in print
    assert round(0.0305 / (0.01 / 1.96) ** 2) == 1172  # the MSE-based D-study
    assert int(size_for_sensitivity(sensitivity=0.01, sd=np.sqrt(0.0305)).topics) == 1172


def test_table_4_on_the_automatic_title_and_description_runs_of_trec8(shared: Path) -> None:
    lines = [line.split(":") for line in (shared / "data" / "trec8" / "run_types.txt").read_text().splitlines()]
    runs = [line[0] for line in lines if line[4] == "automatic" and line[5] == "110"]
    assert len(runs) == 55  # 1485 pairs; the paper's columns add up to 1484
    table = cranfield.read_scores(shared / "data" / "trec8" / "scores" / "map.csv", measure="AP").select(systems=runs)
    found = pair_sizes(table)
    assert found.mse == pytest.approx(0.0379, rel=0.02)
    bins = found.bins()
    assert sum(each.pairs for each in bins) == 1485
    printed_pairs = [130, 128, 123, 110, 96, 85, 812]
    printed_paired = [234, 69, 35, 23, 16, 5]
    printed_independent = [626, 195, 104, 58, 40, 7]
    assert [each.pairs for each in bins] == pytest.approx(printed_pairs, rel=0.03)
    assert [each.topics_paired for each in bins[1:]] == pytest.approx(printed_paired, rel=0.06)
    assert [each.topics_independent for each in bins[1:]] == pytest.approx(printed_independent, rel=0.13)


def test_pair_matrix_marks_what_the_one_tailed_paired_t_test_finds() -> None:
    from scipy import stats

    rng = np.random.default_rng(7)
    values = np.clip(
        rng.normal(0.3, 0.2, size=(1, 40, 1, 1)) + rng.normal([[0.0], [0.05], [0.1]], 0.05, (1, 40, 3, 1)), 0, 1
    )
    table = cranfield.ScoreTable(("AP",), tuple(map(str, range(40))), ("a", "b", "c"), values)
    found = pair_sizes(table)
    assert found.systems == ("c", "b", "a")
    for row in found.to_dict():
        a, b = (table.of()[:, table.systems.index(row[key])] for key in ("system_a", "system_b"))
        test = stats.ttest_rel(a, b, alternative="greater")
        assert row["p_value"] == pytest.approx(test.pvalue, rel=1e-9)
        expected = np.var(a - b, ddof=1) * (1.6448536269514722 / np.mean(a - b)) ** 2
        assert row["topics"] == pytest.approx(expected, rel=1e-9)
