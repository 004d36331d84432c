"""The commands compare and shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app


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
    cranfield.write_scores(cranfield.read_collection(example / "runs", example / "qrels.txt").score("AP"), path)
    return str(path)


def test_compare_ranks_systems_and_lists_all_pairs(scores: str) -> None:
    found = answer("compare", scores)
    assert [row["rank"] for row in found["rows"]] == list(range(1, 13))
    assert {"system", "score", "lower", "upper", "groups"} <= set(found["rows"][0])
    assert len(found["pairs"]) == 66
    words = {"system_a", "system_b", "difference", "lower", "upper", "p_adjusted", "significant", "effect_size"}
    assert words <= set(found["pairs"][0])
    assert found["significant_pairs"] == sum(pair["significant"] for pair in found["pairs"])
    assert found["top_group"][0] == found["rows"][0]["system"]


def test_the_unpaired_test_says_what_it_loses(scores: str) -> None:
    assert "ignores that topics are shared" in run("compare", scores, "--unpaired").stdout
    assert answer("compare", scores, "--unpaired")["significant_pairs"] < answer("compare", scores)["significant_pairs"]


@pytest.mark.parametrize("extra", [[], ["--matrix"]])
def test_compare_draws_intervals_or_the_matrix(scores: str, tmp_path: Path, extra: list[str]) -> None:
    path = tmp_path / "chart.svg"
    assert run("compare", scores, "--plot", str(path), *extra).exit_code == 0
    assert "cleverdon1" in path.read_text()


def test_an_audit_lists_the_verdicts_that_change(scores: str) -> None:
    found = answer("compare", scores, "--audit", "--resamples", "1000")
    assert found["rows"]
    assert all(row["found_by"] and row["missed_by"] and row["why"] for row in found["rows"])
    assert "All tests on the same data" in run("compare", scores, "--audit", "--resamples", "1000").stdout


def test_no_p_value_is_shown_as_0(scores: str) -> None:
    text = run("compare", scores).stdout
    assert "e-" in text
    assert " 0.0000 " not in text.split("Pairs")[1].replace("0.0000  ", "")


def test_shards_of_runs_give_every_model_and_what_is_undefined(example: Path) -> None:
    found = answer(
        "shards",
        str(example / "runs"),
        "--qrels",
        str(example / "qrels.txt"),
        "-s",
        "2,3",
        "--samples",
        "2",
        "-m",
        "AP",
    )
    models = [(row["shards"], row["model"]) for row in found["rows"] if row["sample"] == 0]
    names = ["MD2", "MD3", "MD4", "MD5", "MD6", "MD6r", "bootstrap"]
    assert models == [(1, "MD1"), *((shards, name) for shards in (2, 3) for name in names)]
    assert {"omega_squared", "significant_pairs", "top_group", "tau", "repeats"} <= set(found["rows"][0])


def test_the_same_seed_gives_the_same_shards(example: Path) -> None:
    once = ("shards", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-s", "3", "-m", "AP")
    assert answer(*once)["rows"] == answer(*once)["rows"]
    assert answer(*once)["rows"] != answer(*once, "--seed", "2")["rows"]


def test_any_replicate_may_stand_in_the_column_shard(tmp_path: Path) -> None:
    path = tmp_path / "seeds.csv"
    rows = [
        f"accuracy,{topic},{system},{seed},{0.1 * system + 0.05 * ((topic * 7 + seed * 3 + system) % 5)}"
        for topic in range(10)
        for system in range(3)
        for seed in range(4)
    ]
    path.write_text("measure,topic,system,shard,score\n" + "\n".join(rows) + "\n")
    found = answer("shards", str(path))
    assert {row["model"] for row in found["rows"]} >= {"MD1", "MD6", "MD6r"}


def test_a_score_table_without_replicates_is_refused_with_advice(scores: str) -> None:
    result = run("shards", scores)
    assert isinstance(result.exception, cranfield.RequestError)
    assert "shard" in result.exception.fix
    result = run("shards", "nowhere", "--qrels", "nowhere")
    assert isinstance(result.exception, cranfield.InputError)
