"""Power against R's and statsmodels' own."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from designs import power_for_difference, power_for_range, size_for_difference, size_for_range

GOLDEN = Path(__file__).parent / "r" / "power.csv"


def _golden(test: str) -> list[dict[str, str]]:
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    return [row for row in csv.DictReader(lines) if row["test"] == test]


def _column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


@pytest.mark.parametrize(("test", "method"), [("paired", "t"), ("two.sample", "unpaired")])
@pytest.mark.parametrize("sides", [1, 2])
def test_t_power_equals_r_power_t_test(test: str, method: str, sides: int) -> None:
    rows = [row for row in _golden(test) if row["sides"] == str(sides)]
    assert len(rows) == 60
    ours = power_for_difference(
        topics=_column(rows, "topics"),
        difference=_column(rows, "difference"),
        sd=_column(rows, "sd"),
        alpha=_column(rows, "alpha"),
        sides=sides,
        method=method,
    )
    np.testing.assert_allclose(ours, _column(rows, "power"), rtol=1e-9)


def test_anova_power_equals_r_power_anova_test() -> None:
    rows = _golden("anova")
    assert len(rows) == 80
    ours = power_for_range(
        topics=_column(rows, "topics"),
        systems=_column(rows, "systems"),
        min_range=_column(rows, "difference"),
        variance=np.square(_column(rows, "sd")),
        alpha=_column(rows, "alpha"),
    )
    # R stops its series for the non-central F at 1e-9; ours agrees with mpmath far beyond that (test_tails.py).
    np.testing.assert_allclose(ours, _column(rows, "power"), rtol=1e-9, atol=2e-9)


def test_anova_power_equals_statsmodels_over_a_grid() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    reference = power.FTestAnovaPower()
    for systems in (2, 10, 100):
        for topics in (5, 50, 500):
            for min_range in (0.05, 0.2):
                # Cohen's f: the sd of the means over sigma, for two systems apart and the others half way.
                f = np.sqrt(min_range**2 / (2 * systems * 0.053))
                theirs = reference.power(effect_size=f, nobs=systems * topics, alpha=0.05, k_groups=systems)
                ours = power_for_range(topics=topics, systems=systems, min_range=min_range, variance=0.053)
                assert float(ours) == pytest.approx(float(theirs), rel=1e-8)


def test_paired_t_power_and_size_equal_statsmodels() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    reference = power.TTestPower()
    for effect in (0.1, 0.25, 0.5):
        for alternative, sides in (("two-sided", 2), ("larger", 1)):
            theirs = reference.power(effect_size=effect, nobs=60, alpha=0.05, alternative=alternative)
            ours = power_for_difference(topics=60, effect_size=effect, sides=sides)
            # In two-sided tests statsmodels leaves the far tail out below 1e-8.
            assert float(ours) == pytest.approx(float(theirs), rel=1e-6)
            needed = reference.solve_power(effect_size=effect, power=0.8, alpha=0.05, alternative=alternative)
            assert int(size_for_difference(effect_size=effect, sides=sides).topics) == int(np.ceil(needed))


def test_size_equals_statsmodels_solver() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    f = np.sqrt(0.1**2 / (2 * 10 * 0.053))
    needed = power.FTestAnovaPower().solve_power(effect_size=f, alpha=0.05, power=0.8, k_groups=10)
    assert int(size_for_range(systems=10, min_range=0.1, variance=0.053).topics) == int(np.ceil(needed / 10))
