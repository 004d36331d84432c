"""The example collection: the same for the same seed, in order, and with something to find in it."""

from __future__ import annotations

import hashlib
from itertools import combinations
from pathlib import Path

import pytest

import cranfield
from cranfield.errors import CranfieldError, RequestError, WriteError
from cranfield.formats.file_check import check_files
from cranfield.formats.qrels import read_teams
from cranfield.formats.text import expand
from cranfield.methods.simulation.example import TEAMS, UNPOOLED
from cranfield.scores.evaluation import score_collection

SMALL = {"topics": 5, "documents": 60, "depth": 20, "pool": 4}


def digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        cranfield.write_example(tmp_path / name, seed=4, **SMALL)
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_another_seed_gives_another_collection(tmp_path: Path) -> None:
    for name, seed in (("one", 4), ("two", 5)):
        cranfield.write_example(tmp_path / name, seed=seed, **SMALL)
    one, two = digest(tmp_path / "one"), digest(tmp_path / "two")
    assert one.keys() == two.keys()
    assert {name for name in one if one[name] == two[name]} == {"teams.tsv"}


def test_writing_again_replaces_what_was_there(tmp_path: Path) -> None:
    cranfield.write_example(tmp_path, seed=4, **SMALL)
    before = digest(tmp_path)
    cranfield.write_example(tmp_path, seed=5, **SMALL)
    cranfield.write_example(tmp_path, seed=4, **SMALL)
    assert digest(tmp_path) == before


def test_the_example_has_runs_judgments_intents_and_teams(example: Path) -> None:
    names = ["intents.txt", "judge.txt", "qrels.txt", "runs", "teams.tsv"]
    assert sorted(path.name for path in example.iterdir()) == names
    teams = read_teams(example / "teams.tsv")
    assert {f"{name}.txt" for name in teams} == {path.name for path in (example / "runs").iterdir()}
    assert set(teams.values()) == set(TEAMS)


def test_the_example_has_no_errors_and_no_warnings(example: Path) -> None:
    report = check_files(expand([example, example / "runs"]))
    assert {problem.slug for problem in report.problems} <= {"tie", "tabs"}
    assert not report.failed(strict=True)


def test_the_summary_counts_what_was_written(tmp_path: Path) -> None:
    summary = cranfield.write_example(tmp_path / "demo", seed=4, **SMALL).summary()
    judgments = len((tmp_path / "demo" / "qrels.txt").read_text().splitlines())
    assert f"12 runs of 5 teams on 5 topics, {judgments:,} judgments" in summary
    assert "seed 4" in summary


def test_every_document_near_the_top_of_a_pooled_run_is_judged(tmp_path: Path) -> None:
    cranfield.write_example(tmp_path, seed=4, **SMALL)
    collection = cranfield.read_collection(tmp_path / "runs", tmp_path / "qrels.txt", teams=tmp_path / "teams.tsv")
    judged = {(topic, document) for topic, document, _ in collection.judgments()}
    assert collection.teams is not None
    pooled = set()
    for system, team in zip(collection.systems, collection.teams, strict=True):
        for topic in collection.topics:
            near = {(topic, name) for name in collection.ranking(system, topic)[: SMALL["pool"]]}
            pooled |= near if team != UNPOOLED else set()
    assert judged == pooled


def test_the_late_team_has_unjudged_documents_at_the_top(example: Path) -> None:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt", teams=example / "teams.tsv")
    judged = score_collection(collection, "Judged@10").mean()
    assert collection.teams is not None
    for system, team in zip(collection.systems, collection.teams, strict=True):
        assert (judged[system] < 1.0) is (team == UNPOOLED)


def test_better_teams_score_better_and_no_score_is_trivial(example: Path) -> None:
    means = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP").mean()
    assert means["cleverdon1"] > means["dovedale1"]
    assert min(means.values()) > 0.05
    assert max(means.values()) < 0.95


def test_runs_of_one_team_resemble_each_other_more_than_others(example: Path) -> None:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt", teams=example / "teams.tsv")
    assert collection.teams is not None
    team = dict(zip(collection.systems, collection.teams, strict=True))
    top = {name: {(t, d) for t in collection.topics for d in collection.ranking(name, t)[:20]} for name in team}
    shared: dict[bool, list[int]] = {True: [], False: []}
    for one, other in combinations(team, 2):
        shared[team[one] == team[other]].append(len(top[one] & top[other]))
    assert min(shared[True]) > max(shared[False])


def test_intents_agree_with_the_judgments(example: Path) -> None:
    def rows(name: str) -> list[list[str]]:
        return [line.split() for line in (example / name).read_text().splitlines()]

    grades = {(topic, document): int(grade) for topic, _, document, grade in rows("qrels.txt")}
    for topic, _, document, grade in rows("intents.txt"):
        assert int(grade) in (0, grades[topic, document])
    relevant = [grade != "0" for topic, _, document, grade in rows("intents.txt") if grades[topic, document] > 0]
    assert 0.4 < sum(relevant) / len(relevant) < 0.6  # a relevant document serves about half of the intents
    per_topic = {topic: {row[1] for row in rows("intents.txt") if row[0] == topic} for topic in {t for t, _ in grades}}
    assert {len(intents) for intents in per_topic.values()} <= {2, 3, 4}


def test_the_simulated_judge_labels_the_judged_documents_with_errors_and_is_lenient(example: Path) -> None:
    human, judge = (
        {(topic, document): int(grade) for topic, _, document, grade in map(str.split, path.read_text().splitlines())}
        for path in (example / "qrels.txt", example / "judge.txt")
    )
    assert human.keys() == judge.keys()
    assert set(judge.values()) == {0, 1, 2, 3}
    above, below = (sum(sign * (judge[key] - human[key]) > 0 for key in human) for sign in (1, -1))
    assert above > 3 * below > 0


@pytest.mark.parametrize("option", ["topics", "documents", "depth", "pool"])
def test_an_example_of_nothing_is_refused(option: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        cranfield.write_example(tmp_path / "demo", **{**SMALL, option: 0})
    assert not (tmp_path / "demo").exists()


def test_lists_longer_than_the_collection_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no longer than the collection"):
        cranfield.write_example(tmp_path / "demo", documents=10, depth=11)


def test_a_seed_below_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CranfieldError):
        cranfield.write_example(tmp_path / "demo", seed=-1, **SMALL)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file is in the way")
    with pytest.raises(WriteError) as refusal:
        cranfield.write_example(tmp_path / "demo", **SMALL)
    assert refusal.value.where == str(tmp_path / "demo")
    assert (tmp_path / "demo").read_text() == "a file is in the way"
