"""Who contributed what to the pool, what is left without them, and pools and leave-outs as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.collection import Collection
from cranfield.collection.collection import NOWHERE
from cranfield.errors import RequestError
from cranfield.formats.file_check import check_files
from cranfield.formats.runs import Precision, Ties
from cranfield.scores.evaluation import score_collection

Write = Callable[[str, str | bytes], str]

A = "1 Q0 d1 1 3.0 a\n1 Q0 d2 2 2.0 a\n1 Q0 d3 3 1.0 a\n"
B = "1 Q0 d2 1 3.0 b\n1 Q0 d4 2 2.0 b\n1 Q0 d1 3 1.0 b\n"
C = "1 Q0 d5 1 3.0 c\n1 Q0 d4 2 2.0 c\n1 Q0 d6 3 1.0 c\n"
QRELS = "1 0 d1 1\n1 0 d2 0\n1 0 d3 1\n1 0 d4 2\n1 0 d5 1\n1 0 d9 1\n1 0 d0 -1\n"
TEAMS = "a north\nb north\nc south\n"


@pytest.fixture
def three(write: Write) -> Collection:
    runs = [write("a", A), write("b", B), write("c", C)]
    return cranfield.read_collection(runs, write("qrels", QRELS), teams=write("teams", TEAMS))


def names_of(collection: Collection, depth: int | None = None) -> dict[str, tuple[str, ...]]:
    found = collection.contributors(depth).names()
    return {document: teams for (_, document, _), teams in zip(collection.judgments(), found, strict=True)}


def test_a_team_contributes_what_a_run_of_it_has_near_the_top(three: Collection) -> None:
    assert names_of(three, 2) == {
        "d0": (),
        "d1": ("north",),
        "d2": ("north",),
        "d3": (),
        "d4": ("north", "south"),
        "d5": ("south",),
        "d9": (),
    }
    assert names_of(three, 3)["d3"] == ("north",)


def test_the_judgments_own_depth_is_where_the_last_judged_document_is_found(three: Collection) -> None:
    assert three.pool_depth == 3
    entry = {document: int(rank) for (_, document, _), rank in zip(three.judgments(), three.entry, strict=True)}
    assert entry == {"d0": NOWHERE, "d1": 1, "d2": 1, "d3": 3, "d4": 2, "d5": 1, "d9": NOWHERE}
    assert three.contributors().depth == 3


def test_unique_contributions_leave_with_their_team_and_what_nobody_retrieved_stays(three: Collection) -> None:
    left = {document: grade for _, document, grade in three.without_teams("south").judgments()}
    assert left == {"d0": -1, "d1": 1, "d2": 0, "d3": 1, "d4": 2, "d5": -1, "d9": 1}
    assert three.without_teams("south").systems == three.systems
    unique = three.contributors().unique("north")
    assert [d for (_, d, _), gone in zip(three.judgments(), unique, strict=True) if gone] == ["d1", "d2", "d3"]
    assert three.contributors().unknown.sum() == 2


def test_leaving_nobody_out_changes_nothing(three: Collection) -> None:
    np.testing.assert_array_equal(
        score_collection(three.without_teams(), "AP").values, score_collection(three, "AP").values
    )


def test_more_than_64_teams_fit(write: Write) -> None:
    runs = [write(f"r{at}", f"1 Q0 d{at} 1 1.0 r{at}\n") for at in range(130)]
    qrels = write("qrels", "".join(f"1 0 d{at} 1\n" for at in range(130)))
    collection = cranfield.read_collection(runs, qrels, teams={f"r{at}": f"t{at:03d}" for at in range(130)})
    found = names_of(collection)
    assert all(found[f"d{at}"] == (f"t{at:03d}",) for at in range(130))
    left = collection.without_teams("t129", "t063", "t064")
    assert {d for _, d, grade in left.judgments() if grade < 0} == {"d129", "d63", "d64"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.without_teams("west"), "no team «west»"),
        (lambda c: c.without_teams("north", "south"), "all teams are left out"),
        (lambda c: c.contributors(4), "deeper than the runs"),
        (lambda c: c.contributors(0), "has no documents"),
    ],
)
def test_what_cannot_be_left_out_is_refused(
    three: Collection, ask: Callable[[Collection], object], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        ask(three)


def test_without_a_team_list_nobody_can_leave(write: Write) -> None:
    collection = cranfield.read_collection(write("a", A), write("qrels", QRELS))
    with pytest.raises(RequestError, match="not known which team"):
        collection.contributors()


def test_a_run_without_a_team_is_a_team_of_its_own(write: Write) -> None:
    runs = [write("a", A), write("b", B), write("c", C)]
    collection = cranfield.read_collection(runs, write("qrels", QRELS), teams=write("teams", "a north\nz east\n"))
    assert collection.contributors().teams == ("b", "c", "north")
    assert {problem.slug for problem in collection.warnings} >= {"team-missing", "team-without-run"}


@pytest.mark.parametrize("name", ["pool.txt", "pool.txt.gz"])
def test_pools_and_leave_outs_written_and_read_again_score_the_same(
    three: Collection, write: Write, tmp_path: Path, name: str
) -> None:
    for reduced in (three.pool(1), three.without_teams("south")):
        reduced.write_qrels(tmp_path / name)
        again = cranfield.read_collection([write("a", A), write("b", B), write("c", C)], tmp_path / name)
        np.testing.assert_array_equal(
            score_collection(again, ["AP", "nDCG@2"]).values, score_collection(reduced, ["AP", "nDCG@2"]).values
        )
        assert all(grade >= 0 for _, _, grade in again.judgments())


def test_judgments_that_are_all_gone_are_not_written(three: Collection, tmp_path: Path) -> None:
    nothing = three.keeping(np.zeros(len(three.arrays["grade"]), bool))
    with pytest.raises(RequestError, match="no judgments to write"):
        nothing.write_qrels(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_condensed_lists_have_only_judged_documents(three: Collection) -> None:
    condensed = three.pool(1).condensed()
    assert condensed.ranking("c", "1") == ["d5"]
    assert condensed.ranking("a", "1") == ["d1", "d2"]
    assert condensed.ranking("b", "1") == ["d2", "d1"]
    assert score_collection(condensed, "RR").of().tolist() == [[1.0, 0.5, 1.0]]
    assert score_collection(condensed, "Judged@3").of().tolist() == [[1.0, 1.0, 1.0]]


def test_ties_may_stay_as_the_file_has_them(write: Write) -> None:
    run = write("a", "1 Q0 d1 9 1.0 a\n1 Q0 d3 2 1.0 a\n1 Q0 d2 3 2.0 a\n1 Q0 d4 1 1.0 a\n")
    qrels = write("qrels", QRELS)
    by = {ties: cranfield.read_collection(run, qrels, ties=ties).ranking("a", "1") for ties in Ties}
    assert by == {
        "docid": ["d2", "d4", "d3", "d1"],
        "docid-ascending": ["d2", "d1", "d3", "d4"],
        "file": ["d2", "d1", "d3", "d4"],
        "average": ["d2", "d4", "d3", "d1"],  # as it is shown; scores are those of all orders
    }


def test_ties_by_ascending_id_are_those_of_sorted_documents(write: Write) -> None:
    rows = [(f"d{at * 7 % 40:02d}", (at * 13) % 5) for at in range(40)]
    run = write("a", "".join(f"1 Q0 {document} 1 {score} a\n" for document, score in rows))
    ranking = cranfield.read_collection(run, write("qrels", QRELS), ties="docid-ascending").ranking("a", "1")
    assert ranking == [document for document, _ in sorted(rows, key=lambda row: (-row[1], row[0]))]


def test_scores_may_be_compared_in_single_precision(write: Write) -> None:
    run = write("a", "1 Q0 d1 1 0.30000001 a\n1 Q0 d2 2 0.3 a\n1 Q0 d3 3 0.2 a\n")
    qrels = write("qrels", QRELS)
    by = {each: cranfield.read_collection(run, qrels, precision=each).ranking("a", "1") for each in Precision}
    assert by == {"double": ["d1", "d2", "d3"], "single": ["d2", "d1", "d3"]}
    with pytest.raises(RequestError, match="`precision` is that of scores"):
        cranfield.read_collection(run, qrels, order="rank", precision="single")
    noticed = [each.slug for each in check_files([run, qrels]).problems]
    assert noticed.count("tie-in-single-precision") == 1


def test_the_former_name_of_ties_is_told(write: Write) -> None:
    run, qrels = write("a", "1 Q0 d1 1 1 a\n"), write("qrels", QRELS)
    with pytest.raises(RequestError, match=r'It is `source=\{"ties": file\}` now'):
        cranfield.score(run, qrels=qrels, source={"order": "file"})
