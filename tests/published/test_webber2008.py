"""Webber, Moffat & Zobel 2008 (WMZ08): power of pairwise experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.methods.variance import estimate_variance
from cranfield.stats.roots import crossing
from designs import detectable_difference, power_for_difference, size_for_difference


def test_topic_counts_are_the_papers_plus_one_because_it_truncates() -> None:
    sds, printed = np.array([0.15, 0.19, 0.183]), [164, 262, 243]
    assert size_for_difference(difference=0.033, sd=sds).topics.tolist() == [165, 263, 244]

    def power(topics: np.ndarray, index: np.ndarray) -> np.ndarray:
        return power_for_difference(topics=np.floor(topics), difference=0.033, sd=sds[index])

    # n − 1 topics, what the paper prints, just miss the power.
    below = power_for_difference(topics=printed, difference=0.033, sd=sds)
    assert ((below > 0.79) & (below < 0.80)).all()
    assert crossing(power, np.full(3, 0.8), np.full(3, 2.0), np.full(3, 1000.0)) == pytest.approx([165, 263, 244])


def test_fifty_topics_see_an_effect_size_of_0_40() -> None:
    assert float(detectable_difference(topics=50)) == pytest.approx(0.404, abs=5e-4)


def test_the_normal_approximation_asks_for_fewer_topics() -> None:
    assert size_for_difference(difference=0.033, sd=[0.15, 0.19], method="normal").topics.tolist() == [163, 261]


def test_halving_the_difference_takes_four_times_the_topics() -> None:
    whole, half = size_for_difference(difference=[0.04, 0.02], sd=0.15, method="normal").topics
    assert half / whole == pytest.approx(4, rel=0.01)


def test_figure_1_on_robust04_topics_301_to_450(kept: Path) -> None:
    table = cranfield.read_scores(kept / "data" / "matrices" / "robust04_map.csv", measure="AP")
    table = table.select(topics=[topic for topic in table.topics if 301 <= int(topic) <= 450])
    assert len(table.topics) == 150
    parts = estimate_variance(table).get("percentile").parts
    assert parts["mean_sd"] == pytest.approx(0.15, abs=0.005)
    assert 0.19 <= parts["percentile_sd"] <= 0.20
