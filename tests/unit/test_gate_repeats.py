"""A/A checks of gates: how often a verdict would change if the same systems were run again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import by_flags
from cranfield.cli.app import app
from cranfield.errors import RequestError
from cranfield.methods.contrasts.decisions import by_student
from cranfield.methods.contrasts.estimates import GREATER
from cranfield.methods.contrasts.gates import flip_shares, repeat_sd
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.types import Array
from sizes import sized

ASKED: dict[str, Any] = {"margin": 0.02, "alpha": 0.05}


def fitted(scores: Array, factor: float) -> tuple[Any, Contrasts]:
    contrasts = Contrasts(np.array([1]), np.array([0]), factor)
    return Pairs(scores, contrasts).fit(), contrasts


def shown(scores: Array, factor: float) -> bool:
    return bool(by_student(fitted(scores, factor)[0], correct="none", shows=GREATER, **ASKED).shown[0])


@pytest.mark.parametrize("factor", [1.0, 0.95])
@pytest.mark.parametrize(("topics", "noise"), [(30, 0.02), (50, 0.1), (200, 0.05)])
def test_the_predicted_share_of_flips_is_the_simulated_one(topics: int, noise: float, factor: float) -> None:
    rng = np.random.default_rng(topics)
    worlds = sized(1500, 12_000)
    # Candidates of any quality: from those that hardly ever pass to those that nearly always do.
    error = np.sqrt((0.05**2 + 2 * noise**2) / topics)
    predicted, flipped = np.empty(worlds), np.empty(worlds, bool)
    for world in range(worlds):
        base = rng.uniform(0.3, 0.7, topics)
        gap = -(1 - factor) * base.mean() - 0.02 + rng.uniform(-4, 7) * error
        truth = np.column_stack([base, base + gap + rng.normal(0, 0.05, topics)])
        first, again, third = (truth + rng.normal(0, noise, truth.shape) for _ in range(3))
        sd = repeat_sd(np.column_stack([first[:, 0], third[:, 0]]))
        estimate, contrasts = fitted(first, factor)
        shares = np.full(topics, 1 / topics)
        share, _ = flip_shares(
            estimate, contrasts, sd=sd, shares=shares, correct="none", draws=200, seed=world, **ASKED
        )
        predicted[world], flipped[world] = share[0], shown(first, factor) != shown(again, factor)
    assert predicted.mean() == pytest.approx(flipped.mean(), abs=0.02)
    assert flipped.mean() > 0.03


def test_the_sd_of_repeats_is_that_of_their_differences() -> None:
    rng = np.random.default_rng(1)
    scores = rng.uniform(size=(20_000, 1)) + rng.normal(0, 0.1, (20_000, 3))
    assert repeat_sd(scores) == pytest.approx(float((scores[:, 0] - scores[:, 1]).std()), rel=0.02)
    assert repeat_sd(scores) == pytest.approx(0.1 * np.sqrt(2), rel=0.02)


def test_the_monte_carlo_error_is_that_of_a_share() -> None:
    estimate, contrasts = fitted(np.random.default_rng(1).uniform(0, 1, (40, 2)), 1.0)
    asked = {"sd": 1.0, "shares": np.full(40, 1 / 40), "correct": "none", "draws": 400, **ASKED}
    found = [flip_shares(estimate, contrasts, seed=seed, **asked) for seed in range(100)]
    assert np.std([share[0] for share, _ in found]) == pytest.approx(float(found[0][1][0]), rel=0.3)


def data(noise: float = 0.03, gap: float = 0.0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(4)
    base = rng.uniform(0.2, 0.8, 60)
    runs = {f"base-{at}": base + rng.normal(0, noise, 60) for at in (1, 2, 3)}
    runs |= {name: base + gap + rng.normal(0, 0.05, 60) for name in ("new", "newer")}
    return {name: {str(at): float(value) for at, value in enumerate(values)} for name, values in runs.items()}


REPEATS = ["base-1", "base-2", "base-3"]


def gates(table: Any, gate: str = "no-worse=0.02", **more: Any) -> Any:
    return by_flags.compare(table, **{"baseline": "base-1", "gate": gate, "repeats": REPEATS, **more}).gates


def test_repeats_are_no_candidates_and_every_gate_has_its_share() -> None:
    found = gates(data())
    assert [each.candidate for each in found] == ["new", "newer"]
    for each in found:
        assert each.repeat_sd == pytest.approx(0.03 * np.sqrt(2), rel=0.15)
        assert 0 < each.flip_share < 0.6
        assert each.flip_error == pytest.approx(np.sqrt(each.flip_share * (1 - each.flip_share) / 10_000))
        assert f"would change in {100 * each.flip_share:.1f} % of cases" in each.verdict


def test_verdict_and_bound_do_not_depend_on_repeats() -> None:
    plain = gates(data(), repeats=None, candidate=["new", "newer"])
    for with_repeats, without in zip(gates(data()), plain, strict=True):
        assert (with_repeats.lower, with_repeats.passed) == (without.lower, without.passed)
        assert without.flip_share is without.flip_error is without.repeat_sd is None


def test_a_clear_verdict_hardly_changes_and_equal_repeats_never_change_it() -> None:
    assert max(each.flip_share for each in gates(data(gap=0.1))) < 0.01
    assert {each.flip_share for each in gates(data(noise=0.0))} == {0.0}


def test_more_noise_changes_verdicts_more_often() -> None:
    shares = [gates(data(noise=noise), "no-worse=0.01", candidate="new")[0].flip_share for noise in (0.005, 0.03)]
    assert shares[0] < shares[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"repeats": ["base-1"]}, "two repeats or more"),
        ({"repeats": ["base-1", "base-9"]}, "no system «base-9»"),
        ({"gate": None, "baseline": None}, "`repeats` has no effect without `gate`"),
        ({"test": "max-t"}, "predicts verdicts of Student's t"),
        ({"judge": {"model": data()}}, "`repeats` has no effect with `judge`"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        gates(data(), **more)


def test_the_command_says_the_share(tmp_path: Any) -> None:
    lines = [
        "topic,system,score",
        *(f"{t},{name},{v}" for name, row in data(gap=-0.05).items() for t, v in row.items()),
    ]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    asked = ["compare", str(tmp_path / "scores.csv"), "--baseline", "base-1", "--candidate", "new", "--gate", "better"]
    done = CliRunner().invoke(app, [*asked, *(part for name in REPEATS for part in ("--repeats", name))])
    assert done.exit_code == 1
    assert "if both were run again, the verdict would change in" in " ".join(done.stdout.split())
