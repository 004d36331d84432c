"""The command report: which files it writes, what it prints, and what it refuses."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.questions.report import SECTIONS
from cranfield.rendering import report_files
from cranfield.scores.evaluation import score_collection


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    cranfield.write_scores(
        score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP"), path
    )
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_name_it_is_report_html(scores: Path, here: Path) -> None:
    done = run(scores, "--section", "read")
    assert done.exit_code == 0, done.output
    assert (here / "report.html").read_text().startswith("<!doctype html>")
    assert "report.html:" in done.stdout


def test_the_ending_says_which_face(scores: Path, here: Path) -> None:
    names = ["a.md", "b.tex", "c.json", "d.xlsx", "e.bib"]
    done = run(scores, "--section", "size", *(part for name in names for part in ("-o", name)))
    assert done.exit_code == 0, done.output
    starts = {"a.md": b"# Report", "b.tex": rb"\documentclass", "c.json": b"{", "d.xlsx": b"PK", "e.bib": b"@"}
    assert {name: (here / name).read_bytes()[: len(start)] for name, start in starts.items()} == starts


def test_flags_write_other_faces_beside_the_file(scores: Path, here: Path) -> None:
    done = run(scores, "--section", "read", "-o", "my.report.html", "--json", "--md", "--xlsx")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in here.iterdir()) == [
        "my.report.html",
        "my.report.json",
        "my.report.md",
        "my.report.xlsx",
    ]


def test_json_is_printed_where_no_file_is_named(scores: Path, here: Path) -> None:
    done = run(scores, "--json")
    content = json.loads(done.stdout)
    assert content["method"] == "report"
    assert content["inputs"]["scores"] == [str(scores)]
    assert [row["section"] for row in content["rows"]] == ["compare", "scores", "power", "size", "reliability", "read"]
    assert content["left_out"] == []
    assert json.loads(run(scores, "--full", "--json").stdout)["left_out"][0]["title"] == "Shards"
    assert list(here.iterdir()) == []


def test_runs_and_a_packed_collection_have_shards_and_say_the_same(example: Path, here: Path) -> None:
    asked = ("-m", "AP", "-s", "2", "--section", "shards", "--section", "read", "--json")
    runs = run(example / "runs", "-q", example / "qrels.txt", *asked)
    cranfield.read_collection(example / "runs", example / "qrels.txt").save("demo.cran")
    packed = run("demo.cran", *asked)
    first, second = (json.loads(each.stdout)["rows"] for each in (runs, packed))
    assert first[0]["rows"] == second[0]["rows"]
    assert {row["model"] for row in first[0]["rows"]} >= {"MD1", "MD6", "MD6r"}


def test_the_goal_and_the_seed_are_taken_over(scores: Path, here: Path) -> None:
    done = run(
        scores,
        "--json",
        "--section",
        "size",
        "--systems",
        "30",
        "--min-range",
        "0.2",
        "--seed",
        "7",
        "--title",
        "A <title>",
    )
    content = json.loads(done.stdout)
    assert content["seed"] == 7
    assert content["title"] == "A <title>"
    assert content["rows"][0]["rows"][0]["systems"] == 30


def test_the_command_in_a_report_makes_it_again(scores: Path, here: Path) -> None:
    asked = (
        "--json",
        "--section",
        "size",
        "--section",
        "read",
        "-m",
        "AP",
        "--min-range",
        "0.07",
        "--title",
        "it's <x>",
    )
    first = run(scores, *asked)
    words = shlex.split(json.loads(first.stdout)["command"])
    assert words[:2] == ["cranfield", "report"]
    assert run(*words[2:], "--json").stdout == first.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "x.doc"], "does not say which report"),
        (["--section", "nothing"], "there is no section"),
        (["--alpha", "2"], "`alpha` must be below 1, not 2"),
        (["--power", "0.04"], "it is reached by chance"),
        (["--systems", "1"], "`systems` must be at least 2, not 1"),
        (["--shards", "2.5"], "`shards` cannot be"),
        (["-m", "none"], "no measure"),
        (["-o", "nowhere/x.html", "--section", "read"], "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(scores: Path, here: Path, arguments: list[str], words: str) -> None:
    done = run(scores, *arguments)
    assert isinstance(done.exception, cranfield.CranfieldError), done.output
    assert words in str(done.exception)
    assert done.exception.exit_code == 2
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--json", "--md"], ["--teams", "teams.tsv"]])
def test_flags_that_do_not_go_together_are_refused(scores: Path, here: Path, arguments: list[str]) -> None:
    done = run(scores, *arguments)
    assert getattr(done.exception, "exit_code", done.exit_code) == 2
    assert list(here.iterdir()) == []


def test_help_names_every_section() -> None:
    text = " ".join(run("--help").stdout.replace("│", " ").split())
    assert all(name in text for name in SECTIONS)


def test_input_that_is_not_there_is_refused(here: Path) -> None:
    done = run("nowhere.csv")
    assert isinstance(done.exception, cranfield.InputError)


def test_without_a_browser_pdf_is_refused_before_anything_is_computed(
    scores: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.setattr(report_files, "PLACES", ())
    monkeypatch.delenv("CRANFIELD_BROWSER", raising=False)
    done = run(scores, "-o", "x.html", "--pdf")
    assert isinstance(done.exception, cranfield.RequestError)
    assert "no browser was found" in str(done.exception)
    assert "print it" in done.exception.fix
    assert not (here / "x.html").exists()


def test_a_browser_that_prints_nothing_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = here / "browser"
    fake.write_text("#!/bin/sh\nexit 0\n")
    os.chmod(fake, 0o755)
    monkeypatch.setenv("CRANFIELD_BROWSER", str(fake))
    with pytest.raises(cranfield.WriteError, match="printed nothing"):
        report_files.to_pdf("<p>x</p>")
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(cranfield.WriteError, match="did not finish"):
        report_files.to_pdf("<p>x</p>", seconds=0.3)


def test_public_names_make_a_report(scores: Path, here: Path) -> None:
    table = cranfield.read_scores(scores)
    made = cranfield.report({"pilot": table}, section=["read", "scores"])
    assert made.write("pilot.html") == (here / "pilot.html").stat().st_size
