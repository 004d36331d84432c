"""TREC-8's pools: who contributed what, leaving teams out, and shallower pools, against NIST's own files."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.pilot import pilot_study
from cranfield.stats.kendall import kendall_tau

RUNS, TOPICS, JUDGMENTS = 129, 50, 86_830


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "trec8"


@pytest.fixture(scope="module")
def trec8(folder: Path) -> cranfield.Collection:
    return cranfield.read_collection(folder / "runs", folder / "qrels.txt.gz", teams=folder / "teams.tsv")


@pytest.fixture(scope="module")
def official(trec8: cranfield.Collection) -> np.ndarray:
    return np.asarray(trec8.score("AP").of().mean(axis=0))


def test_the_judgments_are_a_pool_of_depth_100(trec8: cranfield.Collection) -> None:
    assert trec8.pool_depth == 100
    assert not trec8.contributors().unknown.any()


def test_contributors_are_nists_for_all_86830_judgments(folder: Path, trec8: cranfield.Collection) -> None:
    with gzip.open(folder / "contributors.txt.gz", "rt") as stream:
        lines = list(map(str.split, stream))
    printed = {(topic, document): (int(count), set(teams)) for topic, _, document, _, count, *teams in lines}
    names = trec8.contributors(100).names()
    ours = {(t, d): (len(teams), set(teams)) for (t, d, _), teams in zip(trec8.judgments(), names, strict=True)}
    assert len(printed) == JUDGMENTS
    assert ours == printed


def own_unique_removed(
    trec8: cranfield.Collection, pooled: cranfield.Collection, *, also_unknown: bool
) -> dict[tuple[str, str], str]:
    """AP of every run with what only its own team contributed to the pool of depth 100 removed."""
    contributors = pooled.contributors(100)
    found: dict[tuple[str, str], str] = {}
    for team in contributors.teams:
        kept = contributors.kept([team])
        scores = trec8.keeping(kept & ~contributors.unknown if also_unknown else kept).score("AP")
        mine = [system for system, its in zip(trec8.systems, trec8.teams or (), strict=True) if its == team]
        found |= {(topic, system): f"{ap:.4f}" for _, topic, system, ap in scores.select(systems=mine).rows()}
    return found


def test_leaving_one_team_out_gives_nists_numbers_in_all_6450_cells(folder: Path, trec8: cranfield.Collection) -> None:
    with open(folder / "scores" / "map_without_own_unique.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    printed = {(row["topic"], system): row[system] for row in rows for system in row if system != "topic"}
    assert len(printed) == RUNS * TOPICS
    # NIST drew this pool with ties as the runs' files have them, and judged what it had: two dozen documents on ten
    # topics are others' or nobody's there.
    by_file = cranfield.read_collection(
        folder / "runs", folder / "qrels.txt.gz", teams=folder / "teams.tsv", order="file"
    )
    assert own_unique_removed(trec8, by_file, also_unknown=True) == printed
    # With ties by document id, as in contributors.txt.gz, those topics differ a little and no other does.
    ours = own_unique_removed(trec8, trec8, also_unknown=False)
    apart = [cell for cell in printed if ours[cell] != printed[cell]]
    assert len(apart) == 500
    assert max(abs(float(ours[cell]) - float(printed[cell])) for cell in apart) < 0.0125
    assert {topic for topic, _ in apart} == {"413", "421", "424", "427", "431", "434", "435", "437", "442", "446"}


def test_the_depth_10_pool_is_the_one_made_elsewhere_but_for_ties(folder: Path, trec8: cranfield.Collection) -> None:
    with gzip.open(folder / "depth10" / "qrels.txt.gz", "rt") as stream:
        theirs = {(topic, document) for topic, _, document, grade in map(str.split, stream) if int(grade) >= 0}
    ours = {(topic, document) for topic, document, grade in trec8.pool(10).judgments() if grade >= 0}
    assert len(ours & theirs) >= 0.98 * len(theirs)
    assert len(ours & theirs) >= 0.98 * len(ours)


def test_runs_condensed_to_the_depth_10_pool_are_ranked_as_published(
    trec8: cranfield.Collection, official: np.ndarray
) -> None:
    condensed = trec8.pool(10).condensed().score("AP").of().mean(axis=0)
    assert kendall_tau(official, condensed) == pytest.approx(0.9185, abs=0.005)


def test_variance_is_robust_to_leaving_teams_out_until_few_are_left(trec8: cranfield.Collection) -> None:
    """SS16 Figs 1 and 2 on TREC-8: intervals around the full variance that widen with k, and with fewer topics."""
    study = pilot_study(trec8, ["AP", "nERR@10"], left_out=range(1, 41), trials=10, seed=1)
    assert study.get("AP").variance == pytest.approx(0.0401, abs=0.00005)
    assert study.get("nERR@10").variance == pytest.approx(0.1230, abs=0.00005)
    for measure in study.measures:
        full = study.get(measure).variance
        half = [study.get(measure, k) for k in range(1, 21)]
        assert all(abs(point.variance / full - 1) < 0.05 for point in half)
        widths = [study.get(measure, k).upper - study.get(measure, k).lower for k in (1, 20, 40)]
        assert widths == sorted(widths)
        assert sum(study.get(measure, k, 10).sd for k in range(1, 41)) > 2 * sum(
            study.get(measure, k).sd for k in range(1, 41)
        )
    # One or two teams overestimate AP's variance (SS16 §5.1), and lose topics.
    assert study.get("AP", 40).variance > 1.2 * study.get("AP").variance
    assert study.get("AP", 40).misses
    assert study.get("AP", 40).most_lost > 0
    assert study.get("AP", 20).most_lost == 0
