"""The order of topics: drawn at random before the first, kept in the file, compared with what is added."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError
from cranfield.methods.sequential import Study, StudyGoal, create_study, draw_order, open_study, read_topics
from cranfield.rendering.study_document import paragraph
from cranfield.scores import ScoreTable

TOPICS = tuple(map(str, range(301, 421)))
Run = Callable[..., Result]


def table_of(topics: tuple[str, ...]) -> ScoreTable:
    """Differences that fall from topic 301 to 420: in the order of the file they drift."""
    gaps = np.array([0.4 - 0.8 * (int(topic) - 301) / 119 for topic in topics])
    values = np.stack([0.5 + gaps / 2, 0.5 - gaps / 2], axis=1)[None, :, :, None]
    return ScoreTable(("AP",), topics, ("new", "old"), values)


def begun(path: Path, plan: str = "anytime", **options: Any) -> Study:
    return create_study(path, StudyGoal(difference=0.1, sd=0.25, plan=plan), topics=TOPICS, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.study"


def test_an_order_is_drawn_and_recorded_with_its_seed(path: Path) -> None:
    begun(path, seed=7)
    order = open_study(path).progress().order
    assert sorted(order.candidates) == sorted(TOPICS)
    assert order.candidates != TOPICS
    assert order.seed == 7
    assert (open_study(path).history()[0]["order"], open_study(path).history()[0]["order_seed"]) == (
        list(order.candidates),
        7,
    )
    assert order == draw_order(TOPICS, seed=7) != draw_order(TOPICS, seed=8)


def test_every_topic_is_as_likely_in_every_place() -> None:
    places = np.zeros((4, 4))
    for seed in range(2000):
        for place, topic in enumerate(draw_order("abcd", seed=seed).candidates):
            places[place, "abcd".index(topic)] += 1
    assert np.abs(places / 2000 - 0.25).max() < 0.04  # four standard errors


def test_next_topics_follow_the_order(path: Path) -> None:
    study = begun(path, plan="fixed")
    order = study.progress().order.candidates
    assert study.next_topics(5) == order[:5]
    assert len(study.next_topics()) == study.status().more == 52
    study.add(table_of(order[:5]))
    assert study.next_topics(2) == order[5:7]
    study.add(table_of(order[5:52]))
    assert study.status().finished
    assert study.next_topics() == ()
    with pytest.raises(RequestError, match="0 topics cannot be listed"):
        study.next_topics(0)


def test_topics_of_one_addition_are_put_into_the_order_drawn(path: Path) -> None:
    """A score file has its topics in the order of their numbers; a confidence sequence must not."""
    study = begun(path)
    study.add(table_of(TOPICS))
    assert tuple(study.progress().topics) == study.progress().order.candidates
    assert study.test().verdict == "not significant"
    unordered = create_study(path.with_name("sorted.study"), StudyGoal(difference=0.1, sd=0.25, plan="anytime"))
    unordered.add(table_of(TOPICS))
    assert unordered.test().verdict == "no claim"


def test_topics_out_of_order_are_recorded_and_reported(path: Path) -> None:
    study = begun(path)
    order = study.progress().order.candidates
    assert study.add(table_of(order[:3])).out_of_order == ()
    added = study.add(table_of((order[4], order[3], order[9])))
    assert added.out_of_order == (order[9],)
    assert study.history()[-1]["out_of_order"] == [order[9]]
    assert study.add(table_of(order[5:7])).out_of_order == ()  # the next that are left
    assert study.add(table_of(("421",))).out_of_order == ("421",)
    assert open_study(path).status().order.out_of_order == (order[9], "421")
    found = study.test()
    (caution,) = found.order.cautions()
    assert caution.slug == "out-of-order"
    assert f"2 topics were added out of the random order drawn for the study (the first: {order[9]})" in caution.what
    assert str(caution) in paragraph(found)
    assert (found.to_dict()["out_of_order"], found.to_dict()["order"]) == (2, "random")


def test_the_report_says_which_order_it_rests_on(path: Path) -> None:
    study = begun(path, seed=3)
    study.add(table_of(TOPICS[:1]))
    assert "drawn at random from 120 candidates before the first was judged (seed 3)" in paragraph(study.test())
    other = create_study(path.with_name("other.study"), StudyGoal(difference=0.1, sd=0.25, plan="anytime"))
    other.add(table_of(TOPICS[:10]))
    assert "Topics are assumed to have been added in random order" in paragraph(other.test())
    assert other.test().to_dict()["order"] == "assumed random"
    with pytest.raises(RequestError, match="no recorded order"):
        other.next_topics()


def test_topics_of_a_trial_are_left_out_of_the_order(path: Path) -> None:
    study = begun(path, trial_topics=TOPICS[:20])
    assert set(study.progress().order.candidates) == set(TOPICS[20:])


def test_lists_that_make_no_order_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="topic 301 is a candidate twice"):
        create_study(path, StudyGoal(difference=0.1, sd=0.2), topics=["301", "302", "301"])
    with pytest.raises(RequestError, match="two candidate topics or more"):
        create_study(path, StudyGoal(difference=0.1, sd=0.2), topics=["301"])
    assert not path.exists()
    (tmp_path / "none.txt").write_text("# nothing\n\n")
    with pytest.raises(InputError, match="has no topics"):
        read_topics(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"301\n\xff\xfe\n")
    with pytest.raises(InputError, match="not a list of topics"):
        read_topics(tmp_path / "bytes.txt")


# --- from the command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("topics.txt").write_text("# candidates\n" + "".join(f"{topic}\ta title\n" for topic in TOPICS))
    cranfield.write_scores(table_of(TOPICS), tmp_path / "all.csv")

    def call(*arguments: Any, code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["study", *map(str, arguments)])
        if not isinstance(result.exception, cranfield.CranfieldError):
            assert result.exit_code == code, result.output
        return result

    return call


def test_the_command_draws_lists_and_warns(run: Run) -> None:
    goal = ("--difference", 0.1, "--sd", 0.25, "--plan", "anytime")
    started = json.loads(run("new", "s", *goal, "--topics", "topics.txt", "--seed", 4, "--json").stdout)
    assert started["seed"] == 4
    assert started["rows"][0]["candidates"] == 120
    listed = json.loads(run("next", "s", "--count", 3, "--json").stdout)
    order = open_study("s").progress().order.candidates
    assert [row["topic"] for row in listed["rows"]] == list(order[:3])
    assert run("next", "s", "--count", 2, "--csv").stdout.splitlines() == [
        "place,topic",
        f"1,{order[0]}",
        f"2,{order[1]}",
    ]
    cranfield.write_scores(table_of((order[1],)), Path("late.csv"))
    shown = run("add", "s", "late.csv")
    assert "warning: 1 topic was added out of the random order" in shown.stderr
    answer = json.loads(run("test", "s", "--json").stdout)
    assert [warning["kind"] for warning in answer["warnings"]] == ["out-of-order"]
    assert answer["rows"][0]["order_seed"] == 4
    assert "1 out of order" in run("log", "s").stdout


def test_a_list_that_is_too_short_for_the_plan_is_warned_about(run: Run) -> None:
    short = run("new", "s", "--difference", 0.05, "--sd", 0.25, "--plan", "fixed", "--topics", "topics.txt")
    assert "120 candidate topics are fewer than the 199 that the fixed plan may take" in short.stderr
    enough = run("new", "t", "--difference", 0.1, "--sd", 0.25, "--plan", "fixed", "--topics", "topics.txt")
    assert "fewer than" not in enough.stderr


def test_without_a_list_the_command_says_that_random_order_is_assumed(run: Run) -> None:
    goal = ("--difference", 0.1, "--sd", 0.25, "--plan", "anytime")
    assert "assumes that topics are added in random order" in run("new", "s", *goal).stdout
    assert "no recorded order" in str(run("next", "s", code=2).exception)
    assert "no effect without `topics`" in str(run("new", "t", *goal, "--seed", 4, code=2).exception)
    assert not Path("t").exists()
