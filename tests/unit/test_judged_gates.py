"""Gates from human labels on some topics and a judge's on all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import RequestError
from cranfield.methods.contrasts.gates import GateVerdict
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.methods.judging import JudgedScores, estimate_pairs
from cranfield.methods.judging.estimators import JudgedPairs, pair_moments
from cranfield.types import Array
from sizes import margin, sized

HUMAN, JUDGED = 30, 120


def drawn(gap: float = 0.0, seed: int = 1, systems: int = 2) -> tuple[Array, Array]:
    """Human scores of the first topics and a judge's of all: a baseline, and candidates above it by ``gap``."""
    rng = np.random.default_rng(seed)
    topic = rng.uniform(0.3, 0.7, (JUDGED, 1))
    truth = topic + np.r_[0.0, np.full(systems - 1, gap)] + rng.normal(0, 0.05, (JUDGED, systems))
    return truth[:HUMAN], 0.2 + 0.8 * truth + rng.normal(0, 0.02, truth.shape)


def named(scores: Array, names: tuple[str, ...] = ("old", "new", "other")) -> dict[str, dict[str, float]]:
    return {
        names[at]: {str(row): float(value) for row, value in enumerate(column)} for at, column in enumerate(scores.T)
    }


def verdicts(both: tuple[Array, Array], *gate: str, **more: Any) -> tuple[GateVerdict, ...]:
    human, judge = (named(each) for each in both)
    asked: dict[str, Any] = {"baseline": "old", "sampled": True, "gate": list(gate), **more}
    found: tuple[GateVerdict, ...] = by_flags.compare(human, judge={"model": judge}, **asked).gates
    return found


@pytest.mark.parametrize("factor", [1.0, 0.98, 1.3])
@pytest.mark.parametrize("noise", [0.05, 1e-4])
def test_a_contrast_with_a_scaled_system_is_that_of_its_scaled_scores(factor: float, noise: float) -> None:
    rng = np.random.default_rng(3)
    judge = rng.uniform(0, 1, (50, 1)) / np.array([1.0, factor]) + rng.normal(0, noise, (50, 2))
    human = judge[:20] + rng.normal(0, noise, (20, 2))
    scaled = np.array([1.0, factor])
    pair = np.array([0]), np.array([1])
    asked = Contrasts(*pair, factor)
    found = estimate_pairs(JudgedScores(human=human, judge=judge, rows=np.arange(20)), "regression", asked)
    plain = JudgedScores(human=human * scaled, judge=judge * scaled, rows=np.arange(20))
    expected = estimate_pairs(plain, "regression", Contrasts(*pair))
    for name in ("value", "standard_error", "slope"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-6)
    moments = pair_moments(JudgedScores(human=human, judge=judge, rows=np.arange(20)), asked)
    gaps = judge[:, 0] - factor * judge[:, 1]
    assert moments.whole_squares[0] == pytest.approx(gaps.var() * 50, rel=1e-6)


def test_resamples_of_a_scaled_contrast_vary_about_it() -> None:
    human, judge = drawn()
    scaled = Contrasts(np.array([1]), np.array([0]), 0.9)
    pairs = JudgedPairs(JudgedScores(human=human, judge=judge, rows=np.arange(HUMAN)), scaled)
    shift, error = pairs.redrawn(pairs.draw(np.random.default_rng(1), 4000), np.array([0]))
    expected = float(pairs.fit().standard_error[0])
    assert abs(shift.mean()) < 0.1 * expected
    assert shift.std() == pytest.approx(expected, rel=0.15)
    assert np.median(error) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(("gate", "factor", "shift"), [("no-worse=0.02", 1.0, 0.02), ("no-worse=4%", 0.96, 0.0)])
def test_the_bound_is_that_of_the_regression_with_n_minus_3_degrees_of_freedom(
    gate: str, factor: float, shift: float
) -> None:
    both = drawn(gap=-0.01)
    (found,) = verdicts(both, gate)
    scores = JudgedScores(human=both[0], judge=both[1], rows=np.arange(HUMAN))
    expected = estimate_pairs(scores, "regression", Contrasts(np.array([1]), np.array([0]), factor))
    low = expected.value[0] - stats.t.ppf(0.95, HUMAN - 3) * expected.standard_error[0]
    assert found.lower == pytest.approx(low, abs=1e-12)
    assert found.passed == (low > -shift)
    assert found.test == "t with a judge (regression)"


def test_the_judge_narrows_the_bound() -> None:
    both = drawn()
    (with_judge,), (alone,) = verdicts(both, "better"), verdicts(both, "better", estimator="human")
    assert with_judge.standard_error < 0.8 * alone.standard_error
    (plain,) = cf.compare(named(both[0]), baseline="old", gate="better").gates
    assert (alone.lower, alone.p_value, alone.test) == pytest.approx((plain.lower, plain.p_value, plain.test))


@pytest.mark.parametrize("test", ["t", "max-t"])
def test_several_candidates_are_a_family(test: str) -> None:
    both = drawn(gap=-0.005, systems=3)
    more = {} if test == "t" else {"resamples": 999}
    together = verdicts(both, "no-worse=0.02", test=test, **more)
    alone = [verdicts(both, "no-worse=0.02", candidate=each.candidate)[0] for each in together]
    assert [each.candidate for each in together] == ["new", "other"]
    assert all(one.p_adjusted <= many.p_adjusted for one, many in zip(alone, together, strict=True))
    assert all(each.passed == (each.lower > -0.02) for each in together)
    assert max(many.p_adjusted / one.p_adjusted for one, many in zip(alone, together, strict=True)) > 1.05


def test_required_topics_are_left_out() -> None:
    both = drawn()
    (found,) = verdicts(both, "no-worse=0.001")
    assert not found.passed
    assert found.required_topics is None
    (plain,) = cf.compare(named(both[0]), baseline="old", gate="no-worse=0.001").gates
    assert plain.required_topics is not None


@pytest.mark.parametrize(("estimator", "why"), [("judge", "say nothing about them"), ("ppi", "more often than α")])
def test_a_gate_is_decided_by_no_estimator_that_passes_too_often(estimator: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        verdicts(drawn(), "better", estimator=estimator)


def test_exit_code_and_json_of_several_measures(tmp_path: Path) -> None:
    files = []
    for name, tables in zip(("human", "model"), zip(drawn(), drawn(seed=2), strict=True), strict=True):
        lines = ["topic,system,AP,nDCG"]
        for at, system in enumerate(("old", "new")):
            lines += [f"{row},{system},{a[at]},{b[at]}" for row, (a, b) in enumerate(zip(*tables, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        files.append(str(tmp_path / f"{name}.csv"))
    asked = ["compare", files[0], "--judge", files[1], "--columns", "topic=topic,system=system,score=*"]
    gates = ["--baseline", "old", "--gate", "no-worse=0.2", "--gate", "better"]
    done = CliRunner().invoke(app, [*asked, *gates, "--json"])
    found = json.loads(done.stdout)
    assert (done.exit_code, found["passed"]) == (1, False)
    assert [(each["measure"], each["passed"]) for each in found["gates"]] == [
        ("AP", True), ("AP", False), ("nDCG", True), ("nDCG", False)
    ]  # fmt: skip
    assert "with a judge (regression)" in found["gates"][0]["verdict"]


@pytest.mark.parametrize("topics", [10, 25])
@pytest.mark.parametrize("judge", ["llama3-70b-4prompts", "llama3-8b-generated-query"])
def test_a_gate_at_its_margin_passes_no_more_often_than_alpha_with_a_judge_and_without(
    load_script: Callable[[str], ModuleType], shared: Path, judge: str, topics: int
) -> None:
    script = load_script("judge_error_rates")
    population = script.read_population(shared)
    draws = sized(1000, 8000)
    found = script.gate_errors(
        population.human, population.judges[judge], topics=topics, judged=200, draws=draws, seed=11
    )
    for name, error in found.items():
        assert 0.03 < error <= 0.06 + margin(0.05, draws, errors=0.5), name  # pairs share topics
