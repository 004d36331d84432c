"""cranfield study, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import cranfield
from chart_rules import check_chart, marks
from cranfield.cli.app import app
from cranfield.methods.sequential import open_study
from cranfield.scores import ScoreTable

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Score tables: many systems, and two of them in batches."""
    place = tmp_path_factory.mktemp("studies")
    rng = np.random.default_rng(5)
    topic, quality = rng.normal(0.35, 0.12, (90, 1)), np.linspace(0, 0.1, 10)
    values = np.clip(topic + quality + rng.normal(0, 0.07, (90, 10)), 0, 1)[None, :, :, None]
    table = ScoreTable(("AP",), tuple(map(str, range(301, 391))), tuple(f"s{at}" for at in range(10)), values)
    cranfield.write_scores(table, place / "all.csv")
    two = table.select(systems=["s9", "s2"])
    for at in range(3):
        batch = two.select(topics=two.topics[30 * at : 30 * (at + 1)])
        cranfield.write_scores(batch, place / f"batch{at}.csv", wide=at == 1)
    return place


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(folder)

    def call(*arguments: Any, code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["study", *map(str, arguments)])
        if result.exception and not isinstance(result.exception, SystemExit):
            assert isinstance(result.exception, cranfield.CranfieldError), result.exception
            assert result.exception.exit_code == code, str(result.exception)
        else:
            assert result.exit_code == code, result.output
        return result

    return call


def test_a_study_from_its_goal_to_its_paragraph(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.study"
    goal = ("--difference", 0.03, "--sd", 0.09, "--plan", "hybrid")
    started = run("new", file, *goal, "--system", "s9", "--baseline", "s2")
    assert "73 topics" in started.output
    refused = run("test", file, code=1)
    assert "too early" in str(refused.exception)
    run("add", file, "batch0.csv")
    assert "43 more topics" in run("status", file).output
    run("add", file, "batch1.csv")  # wide: it takes the study's measure
    run("add", file, "batch2.csv")
    shown = json.loads(run("test", file, "--json").output)
    assert shown["rows"][0]["topics"] == 90
    assert shown["rows"][0]["difference"] > 0
    assert "hybrid" in shown["paragraph"]
    assert shown["citations"] == ["Webber2008"]
    log = json.loads(run("log", file, "--json").output)
    assert [row["event"] for row in log["rows"]] == ["new", "add", "add", "add", "test"]


def test_a_changed_goal_shows_everywhere(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.study"
    run("new", file, "--difference", 0.03, "--sd", 0.2, "--plan", "fixed")
    run("add", file, "batch0.csv")
    assert "few judges" in run("edit", file, "--difference", 0.2, "--because", "few judges").output
    assert "few judges" in run("status", file).output
    assert "few judges" in run("test", file).output
    assert "few judges" in run("log", file, "--md").output
    run("edit", file, "--plan", "group-sequential", "--looks", "0.4,1", "--sd", 0.3, "--because", "a look on the way")
    goal = open_study(file).progress().goal
    assert (goal.plan, goal.looks, goal.sd_from) == ("group-sequential", (0.4, 1.0), "changed at step 5")


@pytest.mark.parametrize(
    ("options", "source"),
    [
        (("--past", "all.csv"), "mean of 45 earlier pairs"),
        (("--past", "all.csv", "--cautious"), "95th percentile of 45 earlier pairs"),
        (("--trial", "batch0.csv"), "trial of 30 topics"),
        (("--trial", "batch0.csv", "--cautious"), "trial of 30 topics, upper 95 % limit"),
    ],
)
def test_the_sd_may_come_from_the_past_or_a_trial(
    run: Run, tmp_path: Path, options: tuple[str, ...], source: str
) -> None:
    file = tmp_path / "mine.study"
    run("new", file, "--difference", 0.03, *options)
    assert open_study(file).progress().goal.sd_from == source
    if "--trial" in options:
        assert "was in the trial" in str(run("add", file, "batch0.csv", code=2).exception)


@pytest.mark.parametrize("plan", ["fixed", "iterative", "hybrid", "group-sequential", "anytime"])
def test_every_plan_goes_from_start_to_end(run: Run, tmp_path: Path, plan: str) -> None:
    file = tmp_path / "mine.study"
    picture = tmp_path / "course.svg"
    looks = ("--looks", "2") if plan == "group-sequential" else ()
    run("new", file, "--difference", 0.06, "--sd", 0.1, "--plan", plan, *looks, "--measure", "AP")
    run("add", file, "batch0.csv", "--csv")
    assert run("status", file, "--plot", picture, "--csv").output.startswith("plan,")
    assert picture.read_text().startswith("<svg")
    assert "\\begin{tabular}" in run("test", file, "--latex").output


def test_plans_are_compared_before_one_is_chosen(run: Run) -> None:
    rows = json.loads(run("plans", "--difference", 0.033, "--sd", 0.15, "--json").output)["rows"]
    assert [row["plan"] for row in rows] == ["fixed", "iterative", "hybrid", "group-sequential", "anytime"]
    assert rows[0]["expected"] == 165
    assert all(row["guarantee"] for row in rows)


@pytest.mark.parametrize("figure", ["plans", "inclusion", "sd", "errors"])
def test_simulate_shows_the_price_of_every_plan(run: Run, tmp_path: Path, figure: str) -> None:
    who = ("--system", "s9", "--baseline", "s2") if figure == "inclusion" else ("--pairs", 5)
    out = tmp_path / f"{figure}.svg"
    shown = run("simulate", "all.csv", *who, "--repeats", 200, "--json", "--plot", out, "--chart", figure)
    content = json.loads(shown.output)
    assert len(content["rows"]) == 8
    assert {"topics", "sd_bias", "false_positives", "power"} <= set(content["rows"][0])
    assert content["seed"] == 1
    axis = {"plans": "topics if the systems differ", "inclusion": "probability of inclusion"}
    assert axis.get(figure, "iterative") in out.read_text()


def test_simulate_takes_two_systems_differences_or_a_study(run: Run, tmp_path: Path) -> None:
    options = ("--repeats", 100, "--plans", "fixed,group-sequential", "--difference", 0.05, "--json")
    two = json.loads(run("simulate", "batch0.csv", *options).output)
    file = tmp_path / "mine.study"
    run("new", file, "--difference", 0.05, "--sd", 0.1, "--plan", "anytime")
    run("add", file, "batch0.csv")
    assert json.loads(run("simulate", file, *options).output)["rows"] == two["rows"]
    table = cranfield.read_scores("batch0.csv")
    gaps = table.of()[:, 0] - table.of()[:, 1]
    (tmp_path / "gaps.csv").write_text(
        "topic,gap\n" + "".join(f"{topic},{gap!r}\n" for topic, gap in zip(table.topics, gaps.tolist(), strict=True))
    )
    assert json.loads(run("simulate", tmp_path / "gaps.csv", *options).output)["rows"] == two["rows"]


def test_past_trial_and_peek_answer(run: Run, tmp_path: Path) -> None:
    past = json.loads(run("past", "all.csv", "--difference", 0.03, "--json", "--plot", tmp_path / "p.svg").output)
    assert [row["estimate"] for row in past["rows"]] == ["mean", "percentile"]
    assert "misses" in past["rows"][0]
    plan = run("trial", "--difference", 0.033, "--sd", "0.15", "--trial-size", "30,40", "--plot", tmp_path / "t.svg")
    assert "274" in plan.output
    assert "times as wide" in run("trial", "all.csv", "--pairs", 5, "--plot", tmp_path / "c.svg").output
    assert "pairs near α" in run("peek", "all.csv", "--first", 20, "--high", 0.5).output
    for name in "ptc":
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "x.study", "--difference", 0.03), "exactly one source"),
        (("new", "x.study", "--difference", -1, "--sd", 0.1), "`difference` must be at least 1e-05, not -1"),
        (("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--plan", "sometime"), "`plan` cannot be «sometime»"),
        (("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--looks", "0.5,0.6"), "are not a plan"),
        (("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--bounds", "1"), "not two numbers"),
        (("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--system", "a"), "a pair has two systems"),
        (
            ("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--first", "20"),
            "«first» has no effect in the group-sequential plan",
        ),
        (("new", "x.study", "--difference", 0.03, "--sd", 0.1, "--cautious"), "no cautious form"),
        (("simulate", "all.csv", "--pairs", 3, "--system", "s9"), "either named or drawn"),
        (("trial", "all.csv", "--sd", "0.1"), "has no effect with scores"),
        (("add", "none.study", "batch0.csv"), "no such study"),
        (("status", "all.csv"), "no study file"),
        (("simulate", "all.csv"), "which two are meant"),
        (("simulate", "all.csv", "--pairs", 3, "--plans", "x"), "no plan «x»"),
        (("simulate", "all.csv", "--pairs", 3, "--repeats", 9, "--chart", "inclusion", "--plot", "x.svg"), "one pair"),
        (("simulate", "all.csv", "--pairs", 3, "--repeats", 9, "--chart", "no", "--plot", "x.svg"), "no chart"),
        (("trial", "--difference", 0.03, "--sd", "0.1", "--trial-size", "30", "--plot", "x.svg"), "a point"),
        (("peek", "all.csv", "--first", 500), "the first look cannot be"),
    ],
)
def test_odd_requests_say_what_to_do(run: Run, arguments: tuple[Any, ...], words: str) -> None:
    error = run(*arguments, code=2).exception
    assert isinstance(error, cranfield.CranfieldError)
    assert words in str(error)
    assert error.fix
    assert not Path("x.study").exists()


def test_a_refused_test_exits_with_1_and_no_traceback(tmp_path: Path) -> None:
    code = "from cranfield.cli.app import main; main()"
    file = str(tmp_path / "mine.study")
    subprocess.run(
        [sys.executable, "-c", code, "study", "new", file, "--difference", "0.03", "--sd", "0.1"],
        check=True,
        capture_output=True,
    )
    done = subprocess.run([sys.executable, "-c", code, "study", "test", file], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Add 23 topics" in done.stderr  # the first of four looks
    assert done.stdout == ""


def _write_pair(place: Path, differences: Any, first: int = 301) -> None:
    values = np.stack([0.5 + differences / 2, 0.5 - differences / 2], axis=1)[None, :, :, None]
    topics = tuple(str(first + at) for at in range(len(differences)))
    cranfield.write_scores(ScoreTable(("AP",), topics, ("new", "old"), values), place)


def test_drifting_topics_in_an_anytime_study_make_no_claim(run: Run, tmp_path: Path) -> None:
    """First the topics that favour one system, then those that favour the other."""
    file, noise = tmp_path / "drift.study", 0.05 * np.random.default_rng(2).standard_normal(180)
    run("new", file, "--difference", 0.1, "--sd", 0.3, "--plan", "anytime", "--system", "new", "--baseline", "old")
    _write_pair(tmp_path / "first.csv", 0.3 + noise[:60])
    _write_pair(tmp_path / "then.csv", -0.3 + noise[60:], 401)
    run("add", file, tmp_path / "first.csv")
    assert "new is better than old" in run("test", file).output
    run("add", file, tmp_path / "then.csv")
    shown = run("test", file, code=1).output
    assert "No claim about new and old on AP: the confidence sequence is empty" in shown
    assert "better than" not in shown
    answer = json.loads(run("test", file, "--json", code=1).output)
    row = answer["rows"][0]
    assert (row["verdict"], row["empty"], row["significant"]) == ("no claim", True, False)
    assert row["reason"].startswith("the confidence sequence is empty")
    assert [row[word] for word in ("lower", "upper", "p_value", "statistic")] == [None] * 4
    assert "no claim is made" in answer["paragraph"]
    assert "no claim" in run("log", file).output
    run("status", file, "--plot", tmp_path / "course.svg")  # the chart leaves out what is not there


@pytest.mark.parametrize("plan", ["fixed", "iterative", "hybrid", "group-sequential"])
def test_constant_differences_make_no_claim(run: Run, tmp_path: Path, plan: str) -> None:
    file = tmp_path / "constant.study"
    run("new", file, "--difference", 0.1, "--sd", 0.2, "--plan", plan)
    _write_pair(tmp_path / "same.csv", np.full(60, 0.25))
    run("add", file, tmp_path / "same.csv")
    run("test", file, code=1)


def test_starting_and_asking_a_study_does_not_load_the_compiler(tmp_path: Path) -> None:
    code = (
        "import sys; from cranfield.methods.sequential import StudyGoal, create_study, prospect; "
        "goal = StudyGoal(difference=0.03, sd=0.1); prospect(goal); "
        f"create_study({str(tmp_path / 'x')!r}, goal).status(); "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_course_of_looks_shows_boundaries_and_only_what_was_looked_at(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "looks.study"
    plan = ("--plan", "group-sequential", "--looks", "2", "--difference", 0.02, "--sd", 0.09)
    run("new", file, *plan, "--system", "s9", "--baseline", "s2")
    for batch in range(3):
        run("add", file, f"batch{batch}.csv")
    lines = {mark.name: mark for mark in marks(cranfield.study_status(str(file)).chart(), "line")}
    assert lines["t"].x == []
    run("test", file)
    chart = cranfield.study_status(str(file)).chart()
    check_chart(chart)
    lines = {mark.name: mark for mark in marks(chart, "line")}
    assert lines["t"].x == [90]
    assert lines["boundary"].y[0] > lines["boundary"].y[-1] > 1.96
    assert list(lines["boundary, the other way"].y) == [-value for value in lines["boundary"].y]


@pytest.mark.usefixtures("run")
def test_peeking_is_drawn_pair_by_pair() -> None:
    found = cranfield.study_peek("all.csv", first=20, high=0.3)
    chart = found.chart()
    check_chart(chart)
    assert len(marks(chart, "line")) == min(12, found.to_dict()["rows"][0]["pairs"])
    assert all(list(mark.x) == list(range(20, 91)) for mark in marks(chart, "line"))


def test_a_study_without_topics_has_no_course(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "empty.study"
    run("new", file, "--difference", 0.03, "--sd", 0.09, "--plan", "hybrid")
    refused = run("status", file, "--plot", tmp_path / "x.svg", code=2)
    assert "no topics yet" in str(refused.exception)
