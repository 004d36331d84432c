"""The studentised range against mpmath, Student's t, R's conventions and itself."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from cranfield.stats.studentized import studentized_range_critical, studentized_range_tail

GOLDEN = Path(__file__).parent / "golden" / "studentized_range.csv"


def _golden() -> list[tuple[int, float, float, float]]:
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    return [
        (int(row["groups"]), math.inf if row["df"] == "inf" else float(row["df"]), float(row["q"]), float(row["tail"]))
        for row in csv.DictReader(lines)
    ]


@pytest.mark.parametrize(("groups", "df", "q", "tail"), _golden())
def test_tail_equals_mpmath_to_1e_8_relative(groups: int, df: float, q: float, tail: float) -> None:
    assert float(studentized_range_tail(q, groups, df)) == pytest.approx(tail, rel=1e-8)


@pytest.mark.parametrize("df", [2, 3, 10, 49, 1000, 10**6, math.inf])
def test_two_groups_are_students_t_down_to_1e_12(df: float) -> None:
    # Q of two groups is √2·|t|, for which the tail is known to full precision.
    wanted = np.array([0.999, 0.5, 0.05, 1e-3, 1e-6, 1e-9, 1e-12])
    t = -special.ndtri(wanted / 2) if math.isinf(df) else -special.stdtrit(df, wanted / 2)
    np.testing.assert_allclose(studentized_range_tail(np.sqrt(2) * t, 2, df), wanted, rtol=1e-8)


@pytest.mark.parametrize("groups", [2, 3, 10, 129, 1000])
@pytest.mark.parametrize("df", [2, 5, 40, 41, 6272, math.inf])
def test_quantiles_invert_tails(groups: int, df: float) -> None:
    alpha = np.array([0.5, 0.05, 0.001, 1e-8, 1e-12])
    q = studentized_range_critical(alpha, groups, df)
    np.testing.assert_allclose(studentized_range_tail(q, groups, df), alpha, rtol=1e-9)


def test_critical_values_of_the_usual_tables() -> None:
    # q.05 as every table of the studentised range has it, to three decimals.
    known = {(3, 10): 3.877, (3, 20): 3.578, (5, 20): 4.232, (10, 60): 4.646, (10, math.inf): 4.474, (20, 120): 5.126}
    for (groups, df), q in known.items():
        assert float(studentized_range_critical(0.05, groups, df)) == pytest.approx(q, abs=6e-4)


def test_many_values_at_once_equal_one_at_a_time() -> None:
    q = np.linspace(0.02, 14, 3000)
    together = studentized_range_tail(q, 129, 128 * 49)
    alone = [float(studentized_range_tail(value, 129, 128 * 49)) for value in q[::150]]
    np.testing.assert_allclose(together[::150], alone, rtol=1e-9)
    assert (np.diff(together) <= 1e-12).all()
    assert together[-1] > 0  # never shown as 0


@pytest.mark.parametrize("df", [1, 2, 30])
def test_next_to_zero_two_groups_are_students_t(df: int) -> None:
    q = np.array([0.0, 1e-6, 3e-4, 9.9e-4])
    np.testing.assert_allclose(studentized_range_tail(q, 2, df), 2 * special.stdtr(df, -q / np.sqrt(2)), rtol=1e-8)
