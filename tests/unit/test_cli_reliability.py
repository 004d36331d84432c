"""The command reliability: one page, every face, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.methods.reliability import assess_reliability, generalise
from cranfield.rendering.reliability_document import CHARTS
from cranfield.scores.evaluation import score_collection

FEW = ("--trials", "40")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def answer(*arguments: str) -> dict[str, Any]:
    result = run("reliability", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    cranfield.write_scores(score_collection(collection, ["AP", "P@10"]), path)
    return str(path)


def test_one_page_says_everything(scores: str) -> None:
    text = run("reliability", scores, *FEW).stdout
    titles = (
        "Reliability",
        "Variance components",
        "Topics for a target",
        "Two sets of topics that disagree",
        "Replication: of the pairs significant on one half of the topics",
        "Discriminative power",
        "The order of systems",
    )
    for title in titles:
        assert title in text
    assert "AP: the order of these systems on 40 topics has the reliability Eρ²" in text
    assert "are significant on the other half too" in text


def test_json_is_one_object_with_every_part(scores: str) -> None:
    found = answer(scores, *FEW, "--topics", "20:60:20", "--target", "0.9,0.95")
    assert [row["measure"] for row in found["rows"]] == ["AP", "P@10"]
    words = {"topics", "systems", "e_rho2", "e_rho2_lower", "phi", "topics_for_phi", "discriminative_power"}
    words |= {"replicated", "reversed", "opposite_sign"}
    assert words <= set(found["rows"][0])
    assert len(found["components"]) == 2 * 3
    assert [row["topics"] for row in found["coefficients"] if row["measure"] == "AP"] == [20, 20, 40, 40, 60, 60]
    assert {row["target"] for row in found["topics_needed"]} == {0.9, 0.95}
    assert {"swap_rate", "closed_form", "closed_form_paired", "difference"} <= set(found["swaps"][0])
    assert [row["topics"] for row in found["rankings"] if row["measure"] == "AP"] == [4, 8, 12, 16, 20, 40, 60]
    assert found["p_values"]
    assert found["indicators"]
    halves = found["halves"][0]
    assert halves["replicated"] + halves["not_significant"] + halves["reversed"] == pytest.approx(1)
    assert halves["reversed"] <= halves["opposite_sign"] <= halves["reversed"] + halves["not_significant"]
    assert halves["replicated_lower"] <= halves["replicated"] <= halves["replicated_upper"]
    assert found["seed"] == 1
    assert "Brennan2001" in found["citations"]


def test_every_citation_is_in_the_references(scores: str) -> None:
    from cranfield.methods.reliability.assessment import CITATIONS
    from cranfield.rendering.references import REFERENCES

    assert set(CITATIONS) <= set(REFERENCES)


def test_csv_has_a_row_a_measure_with_every_digit(scores: str) -> None:
    result = run("reliability", scores, *FEW, "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["measure"] for row in rows] == ["AP", "P@10"]
    expected = generalise(cranfield.read_scores(scores), measure="AP").relative().value
    assert float(rows[0]["e_rho2"]) == expected


@pytest.mark.parametrize("face", ["--md", "--latex"])
def test_other_faces_have_the_tables(scores: str, face: str) -> None:
    result = run("reliability", scores, "-m", "AP", *FEW, face)
    assert result.exit_code == 0
    assert "dependable difference" in result.stdout


def test_the_worst_systems_can_be_left_out(scores: str) -> None:
    every, best = (answer(scores, "-m", "AP", *FEW, *extra)["rows"][0] for extra in ((), ("--drop", "0.25")))
    assert (every["systems"], best["systems"]) == (12, 9)
    assert best["e_rho2"] < every["e_rho2"]


def test_several_tables_stand_side_by_side(scores: str, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    table = cranfield.read_scores(scores)
    cranfield.write_scores(table.select(topics=table.topics[:20]), other)
    found = answer(scores, str(other), "-m", "AP", *FEW)
    assert [(row["collection"], row["topics"]) for row in found["rows"]] == [(scores, 40), (str(other), 20)]
    assert {row["collection"] for row in found["swaps"]} == {scores, str(other)}


def test_runs_are_scored_first(example: Path) -> None:
    found = answer(str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-m", "AP", *FEW)
    assert found["rows"][0]["systems"] == 12


def test_the_same_seed_gives_the_same_page(scores: str) -> None:
    once = (scores, "-m", "AP", *FEW)
    assert answer(*once) == answer(*once)
    assert answer(*once)["swaps"] != answer(*once, "--seed", "2")["swaps"]


def test_sets_may_be_drawn_with_replacement_and_apart(scores: str) -> None:
    found = answer(scores, "-m", "AP", *FEW, "--replacement", "--unpaired", "--sets", "10,80")
    assert {row["topics"] for row in found["swaps"]} == {10, 80}
    shared = answer(scores, "-m", "AP", *FEW, "--replacement", "--sets", "10,80")
    rate = [each["swap_totals"][0]["swap_rate"] for each in (found, shared)]
    assert rate[0] > rate[1]


@pytest.mark.parametrize("chart", CHARTS)
def test_charts_are_drawn(scores: str, tmp_path: Path, chart: str) -> None:
    path = tmp_path / "chart.svg"
    result = run("reliability", scores, *FEW, "--plot", str(path), "--chart", chart)
    assert result.exit_code == 0, result.output
    drawn = path.read_text()
    assert "P@10" in drawn
    assert chart != "swaps" or "dots: resampled" in drawn


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        (("--sets", "30"), "disjoint"),
        (("--sets", "0"), "set"),
        (("--target", "1"), "coefficient"),
        (("--target", "x"), "target"),
        (("--topics", "0"), "topics"),
        (("--drop", "1"), "drop"),
        (("--drop", "0.99"), "systems"),
        (("--drop", "-0.1"), "drop"),
        (("--test", "nope"), "nope"),
        (("--test", "t", "--correct", "nope"), "nope"),
        (("--test", "tukey", "--correct", "holm"), "family"),
        (("--alpha", "0"), "alpha"),
        (("--alpha", "0.6"), "alpha"),
        (("--plot", "x.gif"), "picture"),
        (("--plot", "x.svg", "--chart", "nope"), "chart"),
        (("-m", "nope"), "nope"),
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(scores: str, extra: tuple[str, ...], word: str) -> None:
    result = run("reliability", scores, *FEW, *extra)
    assert isinstance(result.exception, cranfield.CranfieldError), result.output
    assert word in result.exception.what
    assert result.exception.fix


def _write(path: Path, topics: int, systems: int, gap: bool = False) -> str:
    lines = ["measure,topic,system,score"]
    for topic in range(topics):
        for system in range(systems):
            if not (gap and topic == 1 and system == 0):
                lines.append(f"AP,{topic},s{system},{(topic * 7 + system * 5) % 10 / 10}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize(("topics", "systems", "word"), [(3, 4, "topics"), (10, 1, "systems")])
def test_tables_too_small_are_refused(tmp_path: Path, topics: int, systems: int, word: str) -> None:
    result = run("reliability", _write(tmp_path / "small.csv", topics, systems))
    assert isinstance(result.exception, cranfield.InputError)
    assert word in result.exception.what


def test_missing_scores_need_a_policy(tmp_path: Path) -> None:
    path = _write(tmp_path / "gap.csv", 8, 4, gap=True)
    result = run("reliability", path, *FEW)
    assert isinstance(result.exception, cranfield.InputError)
    assert "missing" in result.exception.what
    assert answer(path, *FEW, "--missing", "drop")["rows"][0]["topics"] == 7


def test_the_smallest_table_there_can_be_has_an_answer(tmp_path: Path) -> None:
    found = answer(_write(tmp_path / "small.csv", 4, 2), *FEW)
    assert found["rows"][0]["systems"] == 2
    assert found["components"][0]["lower"] is None  # two systems: no jackknife


def test_equal_systems_have_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "equal.csv"
    rows = [f"AP,{topic},{system},{topic / 10}" for topic in range(8) for system in "abc"]
    path.write_text("measure,topic,system,score\n" + "\n".join(rows) + "\n")
    found = answer(str(path), *FEW)
    assert found["rows"][0]["e_rho2"] == 0
    assert found["rows"][0]["topics_for_e_rho2"] is None
    assert {row["swap_rate"] for row in found["swap_totals"][:4]} == {0.5}
    text = run("reliability", str(path), *FEW).stdout
    assert "∞" in text
    assert "No pair is significant on half of the topics" in text


def test_a_table_with_shards_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shards.csv"
    rows = [f"AP,{t},{s},{k},{(t + s * k) % 7 / 7}" for t in range(6) for s in range(3) for k in range(2)]
    path.write_text("measure,topic,system,shard,score\n" + "\n".join(rows) + "\n")
    result = run("reliability", str(path))
    assert isinstance(result.exception, cranfield.RequestError)
    assert "shards" in result.exception.what


def test_bad_input_ends_with_exit_code_2_and_no_traceback(tmp_path: Path) -> None:
    code = "from cranfield.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "reliability", str(tmp_path / "nowhere.csv")], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_negative_variance_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "negative.csv"
    rows = [f"AP,{t},{s},{((t * 3 + s * 5) % 4) / 4}" for t in range(8) for s in range(4)]
    path.write_text("measure,topic,system,score\n" + "\n".join(rows) + "\n")
    found = answer(str(path), *FEW)
    assert any("below 0" in note for note in found["notes"])
    assert "Note: AP" in run("reliability", str(path), *FEW).stdout


def test_parts_are_frames_too(scores: str) -> None:
    found = assess_reliability(cranfield.read_scores(scores), trials=20)
    for part in ("headline", "components", "swaps", "rankings"):
        frame = found.to_frame(part, "polars")
        assert frame.height == len(found.to_dict(part))
    assert found.get("AP").measure == "AP"
    for wrong in (lambda: found.to_dict("nope"), lambda: found.get("nope"), lambda: found.get()):
        with pytest.raises(cranfield.RequestError):
            wrong()
