"""The commands variance, size and power."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cranfield
from chart_rules import marks
from cranfield.cli.app import app
from cranfield.methods.names import PLANNED_TEST_TITLES
from cranfield.scores.evaluation import score_collection
from sizes import sized


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
    cranfield.write_scores(score_collection(collection, ["AP", "nDCG@10"]), path)
    return str(path)


def test_size_answers_in_one_breath() -> None:
    found = answer("size", "--systems", "10", "--min-range", "0.1", "--variance", "0.053")
    assert {"inputs", "method", "citations", "warnings", "seed", "version", "rows"} <= set(found)
    assert [(row["method"], row["topics"]) for row in found["rows"]] == [("exact", 167), ("sakai", 166)]
    assert found["rows"][0]["achieved_power"] >= 0.8 > found["rows"][0]["power_below"]


def test_lists_and_ranges_make_the_grid_of_all_combinations() -> None:
    grid = ("--systems", "10,100", "--min-range", "0.1:0.2:0.05", "--variance", "0.053", "--method", "sakai")
    rows = answer("size", *grid)["rows"]
    assert [(row["systems"], row["min_range"]) for row in rows] == [
        (systems, min_range) for systems in (10, 100) for min_range in (0.1, 0.15, 0.2)
    ]
    assert [row["topics"] for row in rows] == [166, 74, 42, 428, 191, 108]  # S14 Table 4, AP


def test_size_from_scores_gives_a_range_and_an_assurance(scores: str) -> None:
    rows = answer("size", scores, "-m", "AP", "--difference", "0.05")["rows"]
    for row in rows:
        assert row["topics_lower"] <= row["topics"] <= row["topics_upper"]
        assert 0 < row["assurance"] <= row["achieved_power"]


def test_size_takes_runs_and_qrels_in_place_of_scores(example: Path, scores: str) -> None:
    runs = ("size", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-m", "AP", "--width", "0.1")
    assert answer(*runs)["rows"] == answer("size", scores, "-m", "AP", "--width", "0.1")["rows"]


@pytest.mark.parametrize("ending", sized(["png", "html"], ["svg", "png", "html", "pdf"]))
def test_size_draws_its_curve(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"curve.{ending}"
    grid = ("--systems", "10:100:30", "--min-range", "0.1,0.2", "--variance", "0.053", "--plot", str(path))
    assert run("size", *grid).exit_code == 0
    data = path.read_bytes()
    if ending == "png":
        width, height = struct.unpack(">II", data[16:24])
        assert width > 800
        assert height > 400
    elif ending != "pdf":
        assert b"number of topics n" in data


def test_variance_draws_its_estimates(scores: str) -> None:
    found = cranfield.variance(scores)
    (drawn,) = marks(found.chart(), "dots")
    assert drawn.x == [row["variance"] for row in found.to_dict()["rows"]]
    refused = run("variance", scores, "--pairs", "--plot", "estimates.svg")
    assert isinstance(refused.exception, cranfield.CranfieldError)
    assert "estimates, not pairs" in str(refused.exception)


def test_score_draws_the_spread_of_every_measure(example: Path) -> None:
    chart = cranfield.score(str(example / "runs"), qrels=str(example / "qrels.txt"), measure=["AP", "P@10"]).chart()
    assert [panel.x.title for panel in chart.panels] == ["AP", "P@10"]
    for at in (0, 1):
        everything, middle = marks(chart, "spans", at)
        (means,) = marks(chart, "dots", at)
        ends = zip(everything.x, middle.x, middle.x2, everything.x2, strict=True)
        assert all(a <= b <= c <= d for a, b, c, d in ends)
        assert means.x == sorted(means.x, reverse=True)  # sorted by what is drawn
        assert len(means.x) == 12


def test_a_curve_of_one_point_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    result = run("study", "trial", "--difference", "0.03", "--sd", "0.1", "--trial-size", "30", "--plot", str(path))
    assert isinstance(result.exception, cranfield.RequestError)
    assert not path.exists()
    result = run("size", "--systems", "10", "--min-range", "0.1", "--variance", "0.053", "--plot", "curve.doc")
    assert isinstance(result.exception, cranfield.RequestError)


def test_variance_shows_every_estimate_of_every_measure(scores: str) -> None:
    rows = answer("variance", scores)["rows"]
    methods = ["two-way", "one-way", "within", "residual", "percentile"]
    assert [(row["measure"], row["method"]) for row in rows] == [
        (measure, method) for measure in ("AP", "nDCG@10") for method in methods
    ]
    text = run("variance", scores).stdout
    assert "the question it answers" in text


def test_variance_pools_several_collections(scores: str, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    table = cranfield.read_scores(scores)
    cranfield.write_scores(table.select(topics=table.topics[:20]), other)
    rows = answer("variance", scores, str(other), "-m", "AP")["rows"]
    assert [row["collection"] for row in rows if row["method"] == "two-way"] == [scores, str(other), "pooled"]


def test_pairs_are_dincers_tables(scores: str) -> None:
    rows = answer("variance", scores, "-m", "AP", "--pairs")["rows"]
    assert len(rows) == 66
    assert {"system_a", "system_b", "difference", "topics", "p_value", "significant"} <= set(rows[0])
    assert "By size of the difference" in run("variance", scores, "-m", "AP", "--pairs").stdout


def test_power_gate_exits_with_1_when_the_collection_cannot_see_it(scores: str) -> None:
    assert run("power", scores, "-m", "AP", "--gate", "difference=0.2,power=0.8").exit_code == 0
    result = run("power", scores, "-m", "AP", "--gate", "difference=0.001,power=0.8")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout


def test_power_makes_a_card_and_a_badge(scores: str, tmp_path: Path) -> None:
    badge = tmp_path / "badge.svg"
    row = answer("power", scores, "-m", "AP", "--badge", str(badge))["rows"][0]
    assert (row["topics"], row["systems"]) == (40, 12)
    assert badge.read_text().startswith("<svg")
    assert f"detect {row['detectable_difference']:.3f} AP" in badge.read_text()
    assert run("power", scores, "-m", "AP", "--md").stdout.startswith("AP: 40 topics detect a difference of ")


def test_power_of_many_sizes_is_one_table_and_a_chart(tmp_path: Path) -> None:
    path = tmp_path / "card.svg"
    rows = answer("power", "--topics", "50,100", "--sd", "0.15", "--plot", str(path))["rows"]
    assert [row["topics"] for row in rows] == [50, 100]
    assert "expected interval width" in path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["size", "--variance", "5"],
        ["size", "--systems", "ten", "--min-range", "0.1", "--variance", "0.05"],
        ["size", "--systems", "10", "--min-range", "0.1", "--variance", "-1"],
        ["power", "--topics", "50"],
        ["power", "--topics", "1", "--variance", "0.05"],
        ["power", "--topics", "50", "--variance", "0.05", "--gate", "nonsense"],
        ["variance", "nowhere.csv"],
    ],
)
def test_bad_requests_end_with_a_message_and_exit_code_2(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from cranfield.cli.app import main; main()", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_size_of_a_typed_in_variance_loads_neither_compiler_nor_frames() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from cranfield.cli.app import app; "
        "CliRunner().invoke(app, ['size', '--systems', '10', '--min-range', '0.1', '--variance', '0.05']); "
        "print(sorted({'numba', 'polars', 'pandas', 'altair', 'scipy.stats'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_charts_of_sizes_and_variances_say_what_they_show(scores: str) -> None:
    found = cranfield.size(scores, difference="0.02:0.1:0.02", measure="AP").chart()
    assert found.subtitle.startswith(f"AP, {PLANNED_TEST_TITLES['holm']}, 12 systems, sd 0.1")
    assert found.subtitle.endswith("α = 0.05, power 0.8")
    both = cranfield.size(scores, difference="0.02:0.1:0.02").chart()
    assert [panel.title for panel in both.panels] == ["AP", "nDCG@10"]
    drawn = cranfield.variance(scores).chart()
    assert drawn.subtitle == "40 topics, 12 systems, 95 % confidence intervals"
    assert "a system's scores" not in drawn.to_svg()


def proposal(**design: Any) -> str:
    return str(cranfield.size(**design).to_dict()["proposal"])


def test_a_proposal_for_systems_that_share_no_topics_counts_topics_per_system() -> None:
    pair = proposal(difference=0.05, variance=0.053, family={"unpaired": True})
    assert pair.startswith("With 334 topics per system (668 in all) we can detect")
    assert "a standard deviation of one system's scores of 0.23 (from a score variance of 0.053)." in pair
    assert "paired differences" not in pair
    all_of_them = proposal(goal={"min_range": 0.1}, variance=0.053, systems=10)
    assert all_of_them.startswith("With 167 topics per system (1,670 in all) we can detect")
    assert "a variance of each system's scores of 0.053." in all_of_them


def test_a_proposal_says_what_its_standard_deviation_comes_from() -> None:
    text = proposal(difference=0.05, variance=0.0401, correlation=0.66)
    source = "(from a score variance of 0.0401 and a correlation of 0.66)"
    assert f"assuming a standard deviation of paired differences of 0.165 {source}." in text
    assert "[@Webber2008]; systems share topics." in text
    assert "a standard deviation of paired differences of 0.23456." in proposal(difference=0.05, sd=0.23456)


def test_uncorrelated_scores_are_those_of_a_paired_test_everywhere() -> None:
    found = cranfield.size(difference=0.05, variance=0.053)
    text = str(found)
    assert "335 topics detect" in text
    assert "uncorrelated (ρ = 0), 116 if their correlation is 0.66" in text
    assert "share no topics" not in text
    assert {row["design"] for row in found.to_dict()["rows"]} == {"systems share topics"}
