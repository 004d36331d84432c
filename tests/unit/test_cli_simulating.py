"""The commands simulate and verify."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.scores.evaluation import score_collection


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def answer(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    cranfield.write_scores(score_collection(collection, ["AP", "P@10"]), path)
    return str(path)


FEW = ("--collections", "500", "--no-search")


# --- simulate


def test_simulate_writes_new_topics_of_the_same_systems_and_shows_how_well_they_fit(
    scores: str, tmp_path: Path
) -> None:
    out = tmp_path / "new.csv"
    found = answer("simulate", scores, "--topics", "300", "-o", str(out))
    old, new = cranfield.read_scores(scores), cranfield.read_scores(out)
    assert (new.systems, new.measures, len(new.topics)) == (old.systems, old.measures, 300)
    assert not set(new.topics) & set(old.topics)
    assert (np.round(new.of("P@10") * 10) / 10 == new.of("P@10")).all()
    assert len(found["rows"]) == 24
    assert {"mean", "simulated_mean", "mean_off", "variance", "simulated_variance", "distance"} <= set(found["rows"][0])
    assert found["correlation_off"] < 0.1
    assert [each["measure"] for each in found["differences"]] == ["AP", "P@10"]
    for each in found["differences"]:
        assert each["pairs"] == 66
        assert each["simulated_sd"] == pytest.approx(each["sd"], rel=0.1)
        assert each["simulated_kurtosis"] == pytest.approx(each["kurtosis"], abs=0.7)
    assert "excess kurtosis" in run("simulate", scores, "--topics", "30").stdout
    assert found["outside_support"] == 0
    assert found["seed"] == 1


@pytest.mark.parametrize("ending", ["json", "parquet", "tsv.gz"])
def test_simulated_scores_are_written_in_every_format(scores: str, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"new.{ending}"
    assert run("simulate", scores, "-m", "AP", "-o", str(out)).exit_code == 0
    assert len(cranfield.read_scores(out).topics) == 40


def test_true_means_are_set_by_flags(scores: str, tmp_path: Path) -> None:
    def drawn(*flags: str) -> dict[str, float]:
        rows = answer("simulate", scores, "-m", "AP", "--topics", "20000", *flags)["rows"]
        return {row["system"]: row["simulated_mean"] for row in rows}

    equal = drawn("--equal")
    assert max(equal.values()) - min(equal.values()) < 0.01
    gap = drawn("--gap", "0.05")
    best = max(gap, key=lambda name: gap[name])
    assert gap[best] - np.mean([mean for name, mean in gap.items() if name != best]) == pytest.approx(0.05, abs=0.01)
    assert drawn("--means", "aldgate1=0.7")["aldgate1"] == pytest.approx(0.7, abs=0.01)


def test_a_vine_names_its_copulas_and_charts_are_drawn(scores: str, tmp_path: Path) -> None:
    chart = tmp_path / "fit.svg"
    result = run("simulate", scores, "-m", "AP", "--dependence", "vine", "--plot", str(chart))
    assert result.exit_code == 0, result.output
    assert any(name in result.stdout for name in ("clayton", "frank"))
    assert "sd of a difference, simulated" in chart.read_text()
    assert "Nothing was written" in result.stdout


def test_the_same_seed_draws_the_same_topics(scores: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{at}.csv" for at in range(3)]
    for file, seed in zip(files, ("5", "5", "6"), strict=True):
        assert run("simulate", scores, "--seed", seed, "-o", str(file)).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


# --- verify


def test_verify_says_whether_the_formulas_topics_are_enough() -> None:
    found = answer("verify", "--systems", "5", "--min-range", "0.2", "--variance", "0.05")
    (row,) = found["rows"]
    assert (row["topics"], row["test"], row["verdict"]) == (31, "anova", "enough")
    assert row["lower"] < row["achieved_power"] < row["upper"]
    assert row["anytime_lower"] < row["lower"] < row["upper"] < row["anytime_upper"]
    assert row["error_rate_lower"] < 0.05 < row["error_rate_upper"]
    assert row["topics_needed_lower"] <= 31 <= row["topics_needed_upper"]
    assert len(found["curves"][0]) > 5


def test_verify_takes_a_pilot_and_any_test(scores: str) -> None:
    for test, more in {"tukey": (), "max-t": ("--resamples", "100")}.items():
        (row,) = answer(
            "verify", scores, "-m", "AP", "--systems", "4", "--difference", "0.1", "--test", test, *more, *FEW
        )["rows"]
        assert (row["test"], row["measure"], row["world"]) == (test, "AP", "topics like the pilot's")
    rows = answer("verify", scores, "--difference", "0.1", "--test", "t", *FEW)["rows"]
    assert [row["measure"] for row in rows] == ["AP", "P@10"]


def test_verify_takes_what_size_prints(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    path.write_text(run("size", "--difference", "0.05,0.1", "--sd", "0.15", "--json").stdout)
    rows = answer("verify", "--design", str(path), *FEW)["rows"]
    assert [(row["method"], row["difference"]) for row in rows] == [
        ("t", 0.05),
        ("t", 0.1),
        ("normal", 0.05),
        ("normal", 0.1),
    ]
    assert "of 4 designs" in run("verify", "--design", str(path), *FEW).stdout


def test_verify_splits_runs_into_shards(example: Path) -> None:
    files = (str(example / "runs"), "--qrels", str(example / "qrels.txt"))
    design = ("-s", "2", "--systems", "4", "--min-range", "0.1", "--model", "MD3,MD6r")
    (row, other) = answer("verify", *files, *design, *FEW)["rows"]
    assert (row["test"], row["shards"], other["test"]) == ("MD3", 2, "MD6r")
    assert row["topics"] == 40


def test_a_gate_fails_where_topics_are_too_few() -> None:
    design = ("--difference", "0.05", "--sd", "0.15", "--gate", *FEW)
    assert run("verify", *design, "--topics", "120").exit_code == 0
    result = run("verify", *design, "--topics", "30")
    assert result.exit_code == 1
    assert "not enough" in result.stdout


def test_verify_draws_power_against_topics(tmp_path: Path) -> None:
    path = tmp_path / "power.svg"
    result = run("verify", "--difference", "0.1", "--sd", "0.15", "--collections", "500", "--plot", str(path), "--md")
    assert result.exit_code == 0
    assert "for which the formula says" in path.read_text()
    assert "**Power, on normal scores; low and high: 95 % intervals**" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "nowhere.csv"],
        ["simulate", "SCORES", "--topics", "0"],
        ["simulate", "SCORES", "--equal", "--gap", "0.1"],
        ["simulate", "SCORES", "-m", "AP", "--means", "much"],
        ["simulate", "SCORES", "-m", "AP", "--means", "aldgate1=7"],
        ["simulate", "SCORES", "--dependence", "ivy"],
        ["simulate", "SCORES", "-o", "nowhere/new.csv"],
        ["simulate", "SCORES", "-o", "new.doc"],
        ["simulate", "SCORES", "--plot", "fit.doc"],
        ["verify"],
        ["verify", "--difference", "0.1"],
        ["verify", "--design", "nowhere.json"],
        ["verify", "--systems", "3", "--min-range", "0.1", "--variance", "0.05", "--test", "t"],
        ["verify", "SCORES", "-m", "AP", "--systems", "40", "--min-range", "0.1"],
        ["verify", "SCORES", "-m", "AP", "--model", "MD6", "--min-range", "0.1"],
        ["verify", "SCORES", "--width", "0.1"],
        ["verify", "--difference", "0.1", "--sd", "0.15", "--systems", "5", "--test", "t"],
        ["verify", "--difference", "0.1", "--sd", "0.15", "--dependence", "rows"],
        ["verify", "--difference", "0.1", "--sd", "0.15", "--resamples", "200"],
        ["simulate", "SCORES", "--trees", "3"],
        ["simulate", "SCORES", "--wide"],
        ["verify", "--difference", "0.1", "--sd", "0.15", "--no-search", "--plot", "p.svg", "--collections", "250"],
    ],
)
def test_bad_requests_are_refused_with_a_message_and_write_nothing(
    scores: str, tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(scores if each == "SCORES" else each for each in arguments))
    assert result.exit_code == 2 or isinstance(result.exception, cranfield.CranfieldError), result.output
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["simulate", "nowhere.csv"], ["verify", "--difference", "0.1"]])
def test_bad_requests_end_with_exit_code_2_and_no_traceback(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from cranfield.cli.app import main; main()", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
