"""TREC-8's pools: who contributed what, leaving teams out, and shallower pools, against NIST's own files."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.methods.leave_out import pilot_study
from cranfield.methods.pooling import Simulation, depth_study, pair_study, pool_designs, reusability
from cranfield.scores.evaluation import score_collection
from cranfield.stats.kendall import kendall_tau
from designs import aim

RUNS, TOPICS, JUDGMENTS = 129, 50, 86_830


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "trec8"


@pytest.fixture(scope="module")
def trec8(folder: Path) -> cranfield.Collection:
    return cranfield.read_collection(folder / "runs", folder / "qrels.txt.gz", teams=folder / "teams.tsv")


@pytest.fixture(scope="module")
def official(trec8: cranfield.Collection) -> np.ndarray:
    return np.asarray(score_collection(trec8, "AP").of().mean(axis=0))


# --- the same of the example collection, by hand and in direction: these need no real runs


@pytest.fixture(scope="module")
def small(example: Path) -> cranfield.Collection:
    return cranfield.read_collection(example / "runs", example / "qrels.txt", teams=example / "teams.tsv")


def test_contributors_of_the_example_are_the_teams_that_ranked_a_document(small: cranfield.Collection) -> None:
    by_hand: dict[tuple[str, str], set[str]] = {}
    for system, team in zip(small.systems, small.teams or (), strict=True):
        for topic in small.topics:
            for document in small.ranking(system, topic)[:20]:
                by_hand.setdefault((topic, document), set()).add(str(team))
    names = small.contributors(20).names()
    ours = {(t, d): set(teams) for (t, d, _), teams in zip(small.judgments(), names, strict=True)}
    assert small.pool_depth == 20
    assert not small.contributors().unknown.any()
    assert ours == {key: by_hand.get(key, set()) for key in ours}


def test_leaving_a_team_out_of_the_example_removes_what_it_alone_contributed(small: cranfield.Collection) -> None:
    contributors = small.contributors(20)
    alone = {team: np.array([names == (team,) for names in contributors.names()]) for team in contributors.teams}
    assert sum(gone.any() for gone in alone.values()) > 2
    for team, gone in alone.items():
        np.testing.assert_array_equal(contributors.kept([team]), ~gone)


def test_shallower_pools_of_the_example_vary_more_and_lose_more(small: cranfield.Collection) -> None:
    variances = [point.variance for point in depth_study(small, "AP", depths=[3, 10]).of("AP")]
    assert variances == sorted(variances, reverse=True)
    shallow, deep = (each.to_dict() for each in reusability(small, "AP", depths=[5, 20]))
    assert shallow["own_tau"] < deep["own_tau"]
    assert shallow["unjudged"] > deep["unjudged"]
    assert shallow["drop"] > deep["drop"]
    pairs = pair_study(small, "AP", depths=[2, 5, 20], pairs=30, budgets=[500])
    assert [each.documents for each in pairs.depths] == sorted(each.documents for each in pairs.depths)
    medians = [each.quantile(0.5) for each in pairs.depths]
    assert medians == sorted(medians)
    condensed = score_collection(small.pool(10).condensed(), "AP").of().mean(axis=0)
    assert kendall_tau(score_collection(small, "AP").of().mean(axis=0), condensed) > 0.7


def test_the_variance_of_the_example_without_some_teams_is_about_that_of_all(small: cranfield.Collection) -> None:
    target = aim(method="sakai")
    study = pilot_study(small, "AP", left_out=[1, 2, 3], trials=10, estimate="within", target=target, seed=1)
    full = study.get("AP").variance
    assert full == pytest.approx(0.0470, abs=0.0005)
    assert all(abs(study.get("AP", left_out).variance / full - 1) < 0.1 for left_out in (1, 2, 3))
    assert study.get("AP", 3).sd > 0


# --- TREC-8


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
        scores = score_collection(trec8.keeping(kept & ~contributors.unknown if also_unknown else kept), "AP")
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
        folder / "runs", folder / "qrels.txt.gz", teams=folder / "teams.tsv", ties="file"
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


@pytest.mark.proof
def test_runs_condensed_to_the_depth_10_pool_are_ranked_as_published(
    trec8: cranfield.Collection, official: np.ndarray
) -> None:
    condensed = score_collection(trec8.pool(10).condensed(), "AP").of().mean(axis=0)
    assert kendall_tau(official, condensed) == pytest.approx(0.9185, abs=0.005)


@pytest.mark.proof
def test_variance_is_robust_to_leaving_teams_out_until_few_are_left(trec8: cranfield.Collection) -> None:
    """SS16 Figs 1 and 2 on TREC-8: intervals around the full variance that widen with k, and with fewer topics."""
    study = pilot_study(
        trec8,
        ["AP", "nERR@10"],
        left_out=range(1, 41),
        trials=10,
        estimate="within",
        target=aim(method="sakai"),
        seed=1,
    )
    assert study.get("AP").variance == pytest.approx(0.0401, abs=0.00005)
    assert study.get("nERR@10").variance == pytest.approx(0.1230, abs=0.00005)
    for measure in study.measures:
        full = study.get(measure).variance
        half = [study.get(measure, k) for k in range(1, 21)]
        assert all(abs(point.variance / full - 1) < 0.05 for point in half)
        widths = [study.get(measure, k).mean_upper - study.get(measure, k).mean_lower for k in (1, 20, 40)]
        assert widths == sorted(widths)
        assert sum(study.get(measure, k, 10).sd for k in range(1, 41)) > 2 * sum(
            study.get(measure, k).sd for k in range(1, 41)
        )
    # One or two teams overestimate AP's variance (SS16 §5.1), and lose topics. Ten trials are too few to see it.
    alone = pilot_study(
        trec8, "AP", left_out=[40], pilot_topics=[], trials=200, estimate="within", target=aim(method="sakai")
    )
    assert alone.get("AP", 40).variance / study.get("AP").variance == pytest.approx(1.22, abs=0.06)
    assert alone.get("AP", 40).mean_lower > study.get("AP").variance
    assert study.get("AP", 40).most_lost > 0
    assert study.get("AP", 20).most_lost == 0


@pytest.mark.proof
def test_variance_of_ap_rises_as_pools_get_shallower_and_that_of_nerr_does_not(trec8: cranfield.Collection) -> None:
    """S14 Table 9 and Fig. 4 on TREC-8."""
    study = depth_study(trec8, ["AP", "Q", "nDCG", "nERR"], depths=[10, 30, 50, 70], estimate="two-way")
    variances = {measure: [point.variance for point in study.of(measure)] for measure in study.measures}
    assert variances["AP"] == pytest.approx([0.0600, 0.0526, 0.0503, 0.0496, 0.0491], abs=0.00006)
    assert variances["nERR"] == pytest.approx([0.1499, 0.1493, 0.1492, 0.1491, 0.1491], abs=0.00006)
    rises = {measure: found[0] / found[-1] for measure, found in variances.items()}
    assert rises["AP"] > rises["Q"] > rises["nDCG"] > rises["nERR"]  # in S14: 1.35, 1.23, 1.06, 1.00
    assert rises["AP"] > 1.2
    assert rises["nERR"] < 1.01
    assert [point.judged for point in study.of("AP")][-1] == JUDGMENTS / TOPICS
    budget = pool_designs(study, aim(method="exact"), rule="raw-difference")
    designs = {design.depth: design for design in budget.of("AP")}
    assert designs[10].best
    assert designs[100].judgments / designs[10].judgments == pytest.approx(5.95, abs=0.05)  # S14: 5.7
    assert all(mine.cost > 2 * its.cost for mine, its in zip(budget.of("nERR"), budget.of("AP"), strict=True))


@pytest.mark.proof
@pytest.mark.parametrize(
    ("best", "ratios", "relative"),
    [
        (60, [0.0785, 0.0898, 0.1074, 0.1285], [1.64, 1.43, 1.20, 1]),
        (None, [0.7252, 0.7307, 0.7358, 0.6693], [0.92, 0.92, 0.91, 1]),
    ],
)
def test_depth_changes_signal_as_well_as_noise(
    trec8: cranfield.Collection, best: int | None, ratios: list[float], relative: list[float]
) -> None:
    """METHODS §13: designs of equal Eρ² for the best 60 runs, and for all 129."""
    study = depth_study(trec8, "AP", depths=[5, 10, 20], best=best)
    assert [point.signal_to_noise for point in study.of("AP")] == pytest.approx(ratios, abs=0.00006)
    designs = pool_designs(study, aim("difference", 0.05)).of("AP")
    assert [design.relative_topics for design in designs] == pytest.approx(relative, abs=0.02)
    counts = [(design.formula_topics or 0) / (designs[-1].topics or 0) for design in designs]
    assert counts == pytest.approx(relative, abs=0.03)
    if best is None:
        (caution,) = [each for each in study.warnings if each.slug == "depth-and-systems"]
        assert "among the best 64 runs, depth 5 takes 1.65 times the topics of full depth" in str(caution)
        raw = pool_designs(study, aim("difference", 0.05), rule="raw-difference").of("AP")
        assert raw[0].relative_topics == pytest.approx(1.26, abs=0.01)  # the residual alone: .0172 against .0136


@pytest.mark.proof
@pytest.mark.parametrize("best", [60, None])
def test_designs_called_equal_have_equal_power_on_trec8(trec8: cranfield.Collection, best: int | None) -> None:
    """METHODS §17: simulated power, with other draws, differs by at most .03; that of the formula's topics by more."""
    study = depth_study(trec8, "AP", depths=[5, 10, 20], best=best)
    target = aim("difference", 0.05, systems=best or RUNS)
    designs = pool_designs(study, target).of("AP")
    again = Simulation(study.scores["AP"], target.design, 0.05, seed=1999)
    deepest = again.power(len(designs) - 1, designs[-1].topics or 0)
    for at, design in enumerate(designs):
        assert design.same_power
        assert again.power(at, design.topics or 0) == pytest.approx(deepest, abs=0.03)
    assert abs(again.power(0, designs[0].formula_topics or 0) - deepest) > 0.03
    assert designs[0].best


@pytest.mark.proof
def test_two_runs_share_documents_as_webbers_do(trec8: cranfield.Collection) -> None:
    """WMZ08 §6, Figs 7 and 8: effect sizes rise slightly with depth, and far less than the judging."""
    study = pair_study(trec8, "AP", depths=[2, 5, 10, 20, 100], pairs=None, budgets=[5000])
    printed = {2: 3.37, 5: 8.1, 10: 15.7, 100: 151}
    for depth, documents in printed.items():
        assert study.at(depth).documents == pytest.approx(documents, rel=0.06)
    medians = [study.at(depth).quantile(0.5) for depth in (5, 10, 20, 100)]
    assert medians == sorted(medians)
    assert medians[-1] < 2 * medians[0]
    assert int(5000 / study.at(100).documents) == 32  # WMZ08: 33 topics
    shares = {depth: float(study.at(depth).detectable[0]) for depth in (100, 20, 5)}
    assert shares == pytest.approx({100: 0.172, 20: 0.448, 5: 0.664}, abs=0.001)
    few = pair_study(trec8, "AP", depths=[5, 20, 100], pairs=100, budgets=[5000], seed=2)
    drawn = {depth: float(few.at(depth).detectable[0]) for depth in shares}
    assert drawn == pytest.approx(shares, abs=0.15)  # three standard errors of a hundred pairs


@pytest.mark.proof
def test_teams_left_out_lose_more_with_shallow_pools(trec8: cranfield.Collection) -> None:
    shallow, deep = (each.to_dict() for each in reusability(trec8, "AP", depths=[10, 100]))
    assert deep["own_tau"] == pytest.approx(0.9983, abs=0.0005)
    assert shallow["own_tau"] == pytest.approx(0.9748, abs=0.0005)
    assert (deep["run"], deep["team"]) == ("READWARE2", "miti")
    assert deep["drop"] == pytest.approx(0.0419, abs=0.00005)
    assert shallow["unjudged"] > deep["unjudged"]
