"""Interval, estimate, p and verdict of a study never contradict each other, whatever the plan and the scores."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cranfield.methods.sequential import PLANS, Study, StudyGoal, TooEarlyError, conclusion, create_study
from cranfield.rendering.study_document import paragraph
from cranfield.scores import ScoreTable
from sizes import examples_of, sized

Array = np.ndarray[Any, Any]
MOST = 60

_RNG = np.random.default_rng(11)
PATHS = {
    "no difference": np.zeros(MOST),
    "constant": np.full(MOST, 0.25),
    "constant but for rounding": np.array([(0.1 + at / 100) - at / 100 for at in range(MOST)]),
    "all at the bound": np.ones(MOST),
    "drifts": np.repeat([0.4, -0.4], MOST // 2) + 0.05 * _RNG.standard_normal(MOST),
    "drifts slowly": np.linspace(0.6, -0.6, MOST),
    "sorted": np.sort(0.3 * _RNG.standard_normal(MOST).clip(-3, 3)),
    "one topic decides": np.where(np.arange(MOST) == 7, 0.9, -0.003 * _RNG.random(MOST)),
    "clear": 0.2 + 0.1 * _RNG.standard_normal(MOST).clip(-3, 3),
    "not significant": 0.015 + 0.1 * np.tile([1.0, -1.0], MOST // 2),
    "alternates between the bounds": np.tile([1.0, -1.0], MOST // 2),
    "tiny": 1e-9 * (1 + _RNG.random(MOST)),
    "barely not constant": 0.25 + 1e-10 * _RNG.random(MOST),
}


def table_of(differences: Array, first: int) -> ScoreTable:
    values = np.stack([0.5 + differences / 2, 0.5 - differences / 2], axis=1)[None, :, :, None]
    return ScoreTable(("AP",), tuple(str(first + at) for at in range(len(differences))), ("new", "old"), values)


def results(plan: str, differences: Array, alpha: float, batch: int) -> list[conclusion.FinalTest]:
    """All tests that the plan allows when topics are added in batches."""
    found = []
    with TemporaryDirectory() as folder:
        study = create_study(
            Path(folder) / "any.study",
            StudyGoal(difference=0.06, sd=0.12, plan=plan, alpha=alpha, first=10, looks=(0.5, 1.0)),
        )
        for first in range(0, len(differences), batch):
            if study.status().finished:
                break
            study.add(table_of(differences[first : first + batch], first))
            found += _test(study)
    return found


def _test(study: Study) -> list[conclusion.FinalTest]:
    try:
        return [study.test()]
    except TooEarlyError:
        return []


def check(found: conclusion.FinalTest) -> None:
    row = found.to_dict()
    assert row["verdict"] in ("differs", "not significant", "no claim")
    assert row["significant"] == (row["verdict"] == "differs")
    text = f"{found.summary()} {paragraph(found)}".lower()
    assert "no difference" not in text
    assert "no significant difference" not in text
    if row["verdict"] == "no claim":
        assert row["reason"]
        assert np.isnan([row[word] for word in ("lower", "upper", "p_value", "statistic")]).all()
        assert "better than" not in text
        return
    assert not row["reason"]
    assert row["lower"] <= row["difference"] <= row["upper"]
    assert row["significant"] == (not row["lower"] <= 0 <= row["upper"])
    assert row["significant"] == (0 < row["p_value"] <= row["level"])
    assert ("better than" in text) == row["significant"]
    if row["significant"]:
        better = "new" if row["difference"] > 0 else "old"
        assert found.summary().startswith(f"{better} is better than")


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("batch", sized([7], [7, MOST]))
def test_adversarial_paths(plan: str, path: str, batch: int) -> None:
    for found in results(plan, PATHS[path], 0.05, batch):
        check(found)


@given(
    plan=st.sampled_from(PLANS),
    mean=st.floats(-0.3, 0.3),
    sd=st.floats(0, 0.4),
    drift=st.floats(-0.5, 0.5),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    batch=st.integers(5, MOST),
    seed=st.integers(0, 2**32 - 1),
)
@example(plan="anytime", mean=0.0, sd=0.02, drift=0.5, alpha=0.05, batch=5, seed=1)
@example(plan="fixed", mean=0.1, sd=0.0, drift=0.0, alpha=0.05, batch=60, seed=1)
@settings(max_examples=examples_of(60), deadline=None)
def test_random_paths(plan: str, mean: float, sd: float, drift: float, alpha: float, batch: int, seed: int) -> None:
    noise = np.random.default_rng(seed).standard_normal(MOST)
    differences = np.clip(mean + sd * noise + np.linspace(drift, -drift, MOST), -1, 1)
    for found in results(plan, differences, alpha, batch):
        check(found)


def test_the_paths_reach_every_verdict() -> None:
    reached = {
        (plan, found.verdict)
        for plan in PLANS
        for path in ("constant", "drifts", "clear", "not significant")
        for found in results(plan, PATHS[path], 0.05, MOST)
    }
    for plan in PLANS:
        assert {"differs", "not significant"} <= {verdict for name, verdict in reached if name == plan}, plan
    assert {plan for plan, verdict in reached if verdict == "no claim"} == {"fixed", "group-sequential", "anytime"}


@given(
    n=st.integers(2, 200),
    level=st.sampled_from([0.05, 0.01, 1e-5, 1e-12, 0.0]),
    nudge=st.integers(-3, 3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=examples_of(200), deadline=None)
def test_a_t_on_the_boundary_parts_neither_p_nor_interval_from_the_verdict(
    n: int, level: float, nudge: int, seed: int
) -> None:
    """Differences whose t is the critical value to the last few bits."""
    from cranfield.methods.sequential.conclusion import paired_t
    from cranfield.stats.tails import t_critical

    x = np.random.default_rng(seed).standard_normal(n)
    x = (x - x.mean()) / x.std(ddof=1)
    reach = float(t_critical(level / 2, n - 1)) / np.sqrt(n) if level else 1.0
    x = x + reach * (1 + nudge * np.finfo(float).eps)
    found = paired_t(x, float(x.std(ddof=1)), level, 2.0)
    assert found.significant == (found.p_value <= level) == (found.lower > 0 or found.upper < 0)
    assert found.lower <= x.mean() <= found.upper
