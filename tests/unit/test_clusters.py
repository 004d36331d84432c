"""Clusters, strata and weights of topics: read, kept, honoured by three questions, and never ignored silently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError
from cranfield.methods.boards import make_board
from cranfield.methods.contrasts.clusters import RobustPairs, design_of
from cranfield.methods.contrasts.comparing import compare
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.scores import ScoreTable
from cranfield.scores.score_files import pack_scores, read_score_files

Write = Callable[[str, str | bytes], str]

ROLES = "topic=query,system=run,score=ap,cluster=document,stratum=type,weight=traffic"
ROWS = [
    {"query": f"q{at}", "run": run, "ap": 0.1 * at + 0.05 * (run == "b") * at, "document": f"d{at // 2}",
     "type": "x" if at < 4 else "y", "traffic": 1.5 + at % 2}
    for run in ("a", "b")
    for at in range(8)
]  # fmt: skip
CLUSTERS, STRATA = ("d0", "d0", "d1", "d1", "d2", "d2", "d3", "d3"), ("x",) * 4 + ("y",) * 4


def text(rows: Any, mark: str) -> str:
    return "".join(f"{mark.join(map(str, row))}\n" for row in [rows[0].keys(), *(row.values() for row in rows)])


def make(kind: str, rows: Any, write: Write, tmp_path: Path) -> str:
    if kind == "parquet":
        import polars

        polars.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
        return str(tmp_path / "t.parquet")
    content = {
        "csv": text(rows, ","),
        "tsv": text(rows, "\t"),
        "jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "json": json.dumps(rows),
    }
    return write(f"t.{kind}", content[kind])


KINDS = ("csv", "tsv", "jsonl", "json", "parquet")


def table(values: Any, **roles: Any) -> ScoreTable:
    scores = np.asarray(values, float)
    topics, systems = (
        tuple(f"{letter}{at}" for at in range(count)) for letter, count in zip("ts", scores.shape, strict=True)
    )
    return ScoreTable(("AP",), topics, systems, scores[np.newaxis, :, :, np.newaxis], **roles)


def clustered(seed: int, clusters: int = 20, each: int = 5, systems: int = 4, gap: float = 0.1) -> ScoreTable:
    rng = np.random.default_rng(seed)
    values = gap * np.arange(systems) + rng.normal(0, 0.1, (clusters, 1, systems))
    values = values + rng.normal(0, 0.1, (clusters, each, systems))
    names = tuple(f"c{at // each}" for at in range(clusters * each))
    return table(values.reshape(-1, systems), clusters=names)


# --- reading


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_clusters_strata_and_weights(kind: str, write: Write, tmp_path: Path) -> None:
    found = cf.read_scores(make(kind, ROWS, write, tmp_path), columns=ROLES)
    assert (found.measures, found.systems) == (("ap",), ("a", "b"))
    assert (found.clusters, found.strata) == (CLUSTERS, STRATA)
    assert found.weights is not None
    assert found.weights.tolist() == [1.5, 2.5] * 4


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_have_them_and_get_them_back(library: str) -> None:
    modules = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    made = getattr(pytest.importorskip(library), modules[library])(
        {name: [row[name] for row in ROWS] for name in ROWS[0]}
    )
    found = ScoreTable.from_frame(made, columns=ROLES)
    again = ScoreTable.from_frame(found.to_frame(library), columns="cluster=cluster,stratum=stratum,weight=weight")
    for each in (found, again):
        assert (each.clusters, each.strata) == (CLUSTERS, STRATA)
        assert each.weights is not None
        assert each.weights.tolist() == [1.5, 2.5] * 4
    with pytest.raises(RequestError, match="no wide form"):
        found.to_frame(library, wide=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("role", "column", "value", "what"),
    [
        ("cluster", "document", "elsewhere", "«q2» has two clusters, d1 and elsewhere"),
        ("stratum", "type", "z", "«q2» has two strata, x and z"),
        ("weight", "traffic", 7.0, "«q2» has two weights, 1.5 and 7.0"),
    ],
)
def test_a_topic_with_two_is_refused_with_its_line(
    kind: str, role: str, column: str, value: Any, what: str, write: Write, tmp_path: Path
) -> None:
    rows = [{**row, column: value} if (row["query"], row["run"]) == ("q2", "b") else row for row in ROWS]
    with pytest.raises(InputError, match=what) as error:
        cf.read_scores(make(kind, rows, write, tmp_path), columns=f"topic=query,system=run,score=ap,{role}={column}")
    place = {"csv": "t.csv:12", "tsv": "t.tsv:12", "jsonl": "t.jsonl:11"}.get(kind)
    assert error.value.where.endswith(place) if place else "t." in error.value.where


@pytest.mark.parametrize(("weight", "what"), [("-1", "cannot be «-1»"), ("much", "cannot be «much»"), ("", "missing")])
def test_a_weight_is_a_number_of_0_or_more(weight: str, what: str, write: Write) -> None:
    file = write("t.csv", f"topic,system,score,w\n1,a,0.5,1\n2,a,0.5,{weight}\n")
    with pytest.raises(InputError, match=what) as error:
        cf.read_scores(file, columns="weight=w")
    assert error.value.where.endswith("t.csv:3")


def test_a_column_that_is_not_there_and_an_empty_cluster_are_refused(write: Write) -> None:
    file = write("t.csv", "topic,system,score,c\n1,a,0.5,x\n2,a,0.5,\n")
    with pytest.raises(InputError, match="no column «d» for the cluster"):
        cf.read_scores(file, columns="cluster=d")
    with pytest.raises(InputError, match="the cluster is missing") as error:
        cf.read_scores(file, columns="cluster=c")
    assert error.value.where.endswith("t.csv:3")


def test_a_record_without_a_score_needs_no_topic(write: Write) -> None:
    rows = [{**row, "query": f" {row['query']} "} for row in ROWS] + [{"query": None, "note": "aborted"}]
    file = write("t.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    found = cf.read_scores(file, columns="topic=query,system=run,score=ap,cluster=document")
    assert found.clusters == CLUSTERS
    assert "row-without-score" in [each.slug for each in found.warnings]


@pytest.mark.parametrize("quoted", [False, True])  # a separator within quotes is read row by row
def test_weights_are_neither_measures_nor_systems(quoted: bool, write: Write) -> None:
    topic = '"1,5"' if quoted else "1"
    file = write("t.csv", f"topic,c,w,a,b\n{topic},x,2,0.5,0.6\n2,y,3,0.4,0.1\n")
    wide = cf.read_scores(file, columns="system=*,cluster=c,weight=w")
    assert (wide.systems, wide.clusters) == (("a", "b"), ("x", "y") if not quoted else ("x", "y")[::-1])
    assert cf.read_scores(file, columns="score=*,cluster=c,weight=w").measures == ("a", "b")


def test_files_of_one_system_each_are_joined_with_their_clusters(write: Write) -> None:
    files = [write(f"{run}.csv", text([row for row in ROWS if row["run"] == run][:8], ",")) for run in ("a", "b")]
    (found,) = read_score_files(files, columns=ROLES).values()
    assert (found.systems, found.clusters, found.strata) == (("a", "b"), CLUSTERS, STRATA)
    other = [{**row, "document": "other"} for row in ROWS if row["run"] == "b"]
    with pytest.raises(InputError, match="two clusters, d0 and other"):
        read_score_files([files[0], write("b.csv", text(other, ","))], columns=ROLES)


def test_they_survive_what_becomes_of_a_table() -> None:
    scores = table(
        np.arange(12.0).reshape(6, 2), clusters=tuple("aabbcc"), strata=tuple("uuuvvv"), weights=np.arange(6.0)
    )
    chosen = scores.select(topics=["t4", "t1"], systems=["s1"])
    assert chosen.weights is not None
    assert (chosen.clusters, chosen.strata, chosen.weights.tolist()) == (("c", "a"), ("v", "u"), [4.0, 1.0])
    holes = scores.values.copy()
    holes[0, 2, 1, 0] = np.nan
    dropped = scores.replaced(values=holes).settle("drop")
    assert (dropped.clusters, dropped.topics) == (tuple("aabcc"), ("t0", "t1", "t3", "t4", "t5"))
    assert scores.replaced(values=holes).settle("zero").clusters == scores.clusters


def test_lengths_and_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RequestError, match="2 clusters do not fit 3 topics"):
        table(np.ones((3, 2)), clusters=("a", "b"))
    for wrong in ([0.0, 0, 0], [1, -1, 1], [1, np.nan, 1]):
        with pytest.raises(RequestError, match="weights of topics"):
            table(np.ones((3, 2)), weights=np.array(wrong))


def test_names_that_could_be_formulas_come_back(tmp_path: Path) -> None:
    scores = table(np.arange(8.0).reshape(4, 2), clusters=("=1+1", "=1+1", "b", "b"))
    cf.write_scores(scores, tmp_path / "t.csv")
    assert "'=1+1" in (tmp_path / "t.csv").read_text()
    assert cf.read_scores(tmp_path / "t.csv", columns="cluster=cluster").clusters == scores.clusters


def test_a_packed_file_would_lose_them(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="would be lost"):
        pack_scores(clustered(1), tmp_path / "t.cfs")
    assert not (tmp_path / "t.cfs").exists()


# --- compare


def test_compare_says_what_clusters_do() -> None:
    found = cf.compare(clustered(2))
    one = found.comparisons["AP"]
    assert (one.test, one.correct) == ("t", "holm")
    assert one.design_effect is not None
    assert (one.design_effect.clusters, one.design_effect.smallest, one.design_effect.largest) == (20, 5, 5)
    assert 2 < one.design_effect.median < 4
    said = found.to_dict()
    assert said["clusters"] == 20
    assert said["cluster_sizes"] == {"smallest": 5, "median": 5.0, "largest": 5}
    assert said["design_effect"]["median"] == one.design_effect.median
    assert said["effective_topics"] == pytest.approx(100 / one.design_effect.median)
    assert "100 topics lie in 20 clusters of 5" in found.summary()
    assert "design-effect" in [each["kind"] for each in said["warnings"]]
    assert "PustejovskyTipton2018" in said["citations"]
    assert "clusters-ignored" not in [each["kind"] for each in said["warnings"]]


def test_the_title_names_the_standard_errors() -> None:
    shown = cf.compare(clustered(3)).document().tables[0].title
    assert shown.startswith("AP: paired t test with cluster-robust standard errors, 100 topics in 20 clusters")


def test_a_baseline_is_compared_by_t_and_holm() -> None:
    found = cf.compare(clustered(3), baseline="s0").comparisons["AP"]
    assert (found.test, found.correct, len(found.pairs)) == ("t", "holm", 3)
    every = cf.compare(clustered(3)).comparisons["AP"]
    assert (found.p_adjusted <= every.p_adjusted.max()).all()


@pytest.mark.parametrize("test", ["max-t", "tukey", "tukey-permutation", "wilcoxon", "sign", "bootstrap", "unpaired"])
def test_other_tests_are_refused_by_name(test: str) -> None:
    with pytest.raises(RequestError, match=f"the test {test} needs") as error:
        cf.compare(clustered(4), test=test)  # type: ignore[arg-type]
    assert 'test="t"' in error.value.fix
    with pytest.raises(RequestError, match="an audit runs tests of independent topics"):
        cf.compare(clustered(4), audit=True)


def test_equivalence_and_non_inferiority_have_the_robust_error() -> None:
    scores = clustered(5, gap=0.01)
    means = scores.of().reshape(20, 5, 4).mean(axis=1)
    margins: dict[str, Any] = {"equivalence": 0.1, "non_inferiority": 0.1, "baseline": "s0"}
    found, by_means = compare(scores, **margins), compare(table(means), test="t", **margins)
    for name in ("equivalence", "non_inferiority"):
        mine, theirs = getattr(found, name), getattr(by_means, name)
        assert mine.p_adjusted == pytest.approx(theirs.p_adjusted, rel=1e-9)
        assert mine.lower == pytest.approx(theirs.lower, rel=1e-9)


def test_a_stratum_or_a_table_of_one_cluster_is_refused() -> None:
    values = np.random.default_rng(1).random((6, 2))
    with pytest.raises(RequestError, match="the table has one cluster"):
        compare(table(values, clusters=("a",) * 6))
    with pytest.raises(RequestError, match="stratum of topic «t5» has one topic"):
        compare(table(values, strata=tuple("aaaaab")))
    with pytest.raises(RequestError, match="lie in two strata"):
        compare(table(values, clusters=tuple("aabbcc"), strata=tuple("uvvvww")))


def test_few_clusters_have_a_warning() -> None:
    found = compare(clustered(6, clusters=3, each=30))
    assert "few-clusters" in [each.slug for each in found.warnings]
    assert "few-clusters" not in [each.slug for each in compare(clustered(6)).warnings]


def test_weights_are_those_of_the_mean_and_0_leaves_a_topic_out() -> None:
    values = np.random.default_rng(9).random((30, 3))
    weights = np.r_[np.zeros(5), np.ones(25)]
    found, rest = compare(table(values, weights=weights)), compare(table(values[5:]), test="t")
    assert found.means == pytest.approx(rest.means)
    for name in ("standard_error", "p_adjusted", "lower"):
        assert getattr(found, name) == pytest.approx(getattr(rest, name), rel=1e-9)
    uneven = compare(table(values, weights=np.arange(1, 31)))
    assert uneven.means == pytest.approx(np.sort(np.average(values, axis=0, weights=np.arange(1, 31)))[::-1])


def test_equal_systems_are_not_claimed_to_differ() -> None:
    values = np.random.default_rng(2).random((20, 1)) + np.array([0, 0, 0.1])
    found = compare(table(values, clusters=tuple(f"{at // 4}" for at in range(20))))
    assert found.p_value.tolist() == [1.0] * 3
    assert np.isnan(found.lower).all()
    assert "no-error" in [each.slug for each in found.warnings]


# --- lower is better, and McNemar


@pytest.mark.parametrize("test", ["max-t", "tukey", "t", "wilcoxon"])
def test_low_scores_are_better(test: str) -> None:
    values = np.random.default_rng(3).random((25, 4)) + np.array([0.0, 0.2, 0.4, 0.6])
    low, high = compare(table(values), test=test, lower_is_better=True), compare(table(-values), test=test)
    assert low.systems == high.systems == ("s0", "s1", "s2", "s3")
    assert low.means == pytest.approx(values.mean(axis=0))
    assert low.difference == pytest.approx(low.means[low.first] - low.means[low.second])
    assert low.difference == pytest.approx(-high.difference)
    assert low.lower == pytest.approx(-high.upper)
    assert (low.lower < low.upper).all()
    for name in ("p_adjusted", "wins", "losses"):
        assert (getattr(low, name) == getattr(high, name)).all()
    assert (low.letters, low.top_group) == (high.letters, high.top_group)
    for kind in ("marginal", "simultaneous"):
        np.testing.assert_array_equal(low.ranks(kind), high.ranks(kind))
    row = low.to_dict()[0]
    assert (row["difference"], row["lower"]) == (low.difference[0], low.lower[0])


def test_low_scores_in_the_answer() -> None:
    values = np.random.default_rng(4).random((40, 3)) + np.array([0.0, 0.3, 0.31])
    found = cf.compare(table(values), lower_is_better=True, baseline="s1", non_inferiority=0.2)
    said = found.to_dict()
    assert said["lower_is_better"] is True
    assert [row["system"] for row in said["rows"]] == ["s0", *[row["system"] for row in said["rows"]][1:]]
    assert "Lower scores are better" in found.summary()
    assert "interval has to lie below 0.2" in found.summary()
    for pair in said["pairs"]:
        assert pair["non_inferior"] == (pair["non_inferiority_upper"] < 0.2)
    with pytest.raises(RequestError, match="no effect"):
        cf.compare(table(values), lower_is_better=True, audit=True)


def test_many_pairs_of_low_scores_are_computed_when_they_are_asked_for() -> None:
    values = np.random.default_rng(5).random((12, 250))
    low, high = compare(table(values), test="tukey", lower_is_better=True), compare(table(-values), test="tukey")
    assert low.significant_pairs == high.significant_pairs
    assert low.upper == pytest.approx(-high.lower)
    assert low.pairs.with_system(3).difference == pytest.approx(-high.pairs.with_system(3).difference)


def test_the_sign_test_of_passes_is_called_mcnemars() -> None:
    passed = (np.random.default_rng(6).random((50, 2)) < 0.5).astype(float)
    found = cf.compare(table(passed), test="sign")
    assert "McNemar's exact test" in found.summary()
    assert "McNemar1947" in found.to_dict()["citations"]
    assert "McNemar" in found.document().tables[0].title
    assert "McNemar" not in cf.compare(table(passed * 0.7), test="sign").summary()
    assert "McNemar" not in cf.compare(table(passed), test="t").summary()
    assert "McNemar" not in cf.compare(table(2 * passed - 1), test="sign").summary()
    assert "McNemar" in cf.compare(table(passed), test="sign", lower_is_better=True).summary()


# --- power, leaderboards, and everything else


def test_the_card_of_balanced_clusters_is_that_of_their_means() -> None:
    scores = clustered(7)
    means = table(scores.of().reshape(20, 5, 4).mean(axis=1))
    found = cf.power(scores, difference=0.05).cards[0]
    plain = cf.power(means, test="holm", difference=0.05).cards[0]
    for name in ("detectable_difference", "pair_detectable_difference", "achieved_power", "width", "pair_power"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-9)
    said = cf.power(scores).to_dict()["rows"][0]
    assert (said["topics"], said["clusters"], said["systems"], said["test"]) == (100, 20, 4, "holm")
    assert said["effective_topics"] == pytest.approx(100 / said["design_effect"])
    naive = cf.power(scores.replaced(clusters=()), test="holm").cards[0]
    assert naive.detectable_difference < found.detectable_difference
    assert naive.sd == pytest.approx(found.sd, rel=1e-9)


def test_more_topics_of_the_same_clusters_sizes_detect_more() -> None:
    scores = clustered(8)
    cards: Any = cf.power(scores, topics=[50, 100, 200], gate="difference=0.1,power=0.8").cards
    assert [card.clusters for card in cards] == [10, 20, 40]
    assert sorted(card.detectable_difference for card in cards)[::-1] == [card.detectable_difference for card in cards]
    assert cf.power(scores, gate="difference=0.5,power=0.8").exit_code == 0
    assert cf.power(scores, gate="difference=0.001,power=0.8").exit_code == 1
    with pytest.raises(RequestError, match="not compared by the test tukey"):
        cf.power(scores, test="tukey")
    with pytest.raises(RequestError, match=r'judge=\{"correlation"'):
        cf.power(scores, judge={"correlation": [0.5], "topics": [200]})


def test_a_power_that_a_card_promises_is_reached() -> None:
    scores, gap = clustered(9, systems=2, gap=0.0), 0.07
    card: Any = cf.power(scores, difference=[gap]).cards[0]
    rng, found = np.random.default_rng(10), 0
    spread = card.unit_sd / np.sqrt(2)  # of one system's mean on a cluster
    for _ in range(600):
        means = rng.normal(0, spread, (20, 2)) + np.array([gap, 0])
        found += int(compare(table(np.repeat(means, 5, axis=0), clusters=scores.clusters)).significant[0])
    assert found / 600 == pytest.approx(card.pair_power, abs=4 * np.sqrt(0.25 / 600))


def test_a_board_has_clusters_and_strata() -> None:
    scores = clustered(11)
    board, found = make_board(scores, resamples=200), compare(scores)
    assert board.comparison.p_adjusted == pytest.approx(found.p_adjusted, rel=1e-12)
    assert board.friedman is None
    assert "in 20 clusters of 5" in cf.leaderboard(scores, resampling={"resamples": 100}).summary()
    values = np.random.default_rng(12).random((12, 3)) + np.repeat([0, 1], (3, 9))[:, np.newaxis] * [0, 0.2, 0.5]
    types = table(values, strata=("retrieval",) * 3 + ("clustering",) * 9)
    by_type = make_board(types, strata=True, resamples=50)
    means = (values[:3].mean(axis=0) + values[3:].mean(axis=0)) / 2
    assert by_type.scores == pytest.approx(np.sort(means)[::-1])
    assert make_board(types, resamples=50).scores == pytest.approx(np.sort(values.mean(axis=0))[::-1])
    with pytest.raises(RequestError, match="no column is a stratum"):
        cf.leaderboard(scores, strata=True)


def test_the_first_place_is_resampled_by_clusters() -> None:
    """Two clusters that each favour one system: topics would nearly always agree, clusters do not."""
    rng = np.random.default_rng(13)
    favour = np.repeat([[0.3, 0.0], [0.0, 0.2]], 50, axis=0)
    scores = table(rng.normal(0, 0.02, (100, 2)) + favour, clusters=("a",) * 50 + ("b",) * 50)
    board = make_board(scores, resamples=4000)
    assert board.first_share[0] == pytest.approx(0.75, abs=0.03)  # all but two draws of b
    assert make_board(scores.replaced(clusters=()), resamples=4000).first_share[0] > 0.95


@pytest.mark.parametrize(
    "ask",
    [
        lambda scores: cf.variance(scores),
        lambda scores: cf.reliability(scores, resampling={"resamples": 100}),
        lambda scores: cf.size(scores, difference=[0.1]),
        lambda scores: cf.study_past(scores, difference=0.1),
    ],
)
def test_a_question_that_ignores_clusters_says_so(ask: Any) -> None:
    kinds = [each["kind"] for each in ask(clustered(14)).to_dict()["warnings"]]
    assert "clusters-ignored" in kinds


def test_the_command_takes_roles(write: Write, tmp_path: Path) -> None:
    file, named = make("csv", ROWS, write, tmp_path), "topic=query,system=run,score=ap,cluster=document"
    found = CliRunner().invoke(app, ["compare", file, "--columns", named, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["clusters"] == 4
    refused = CliRunner().invoke(app, ["compare", file, "--columns", named, "--test", "max-t"])
    assert isinstance(refused.exception, RequestError)
    board = ["leaderboard", file, "--columns", f"{named},stratum=type", "--strata", "--json"]
    assert json.loads(CliRunner().invoke(app, board).stdout)["strata"] == 2


def test_a_card_of_strata_has_the_df_of_a_typical_pair_and_the_page_says_what_the_order_is_by(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    spread = np.where(np.arange(40) < 10, 0.3, 0.05)[:, np.newaxis] * np.array([0.1, 1.0, 1.0, 1.0])
    strata = ("hard",) * 10 + ("easy",) * 30
    scores = table(0.5 + spread * rng.normal(size=(40, 4)), strata=strata)
    df = RobustPairs(scores.of("AP"), all_pairs(4), design_of(scores)).moments.df
    assert df.max() - df.min() > 1
    card: Any = cf.power(scores).cards[0]
    assert card.units == int(np.median(df) + 1 + 1e-9)
    page = tmp_path / "board.html"
    cf.leaderboard(scores, strata=True, resampling={"resamples": 100}).write_page(str(page))
    assert "ordered by the mean over strata of tasks" in page.read_text()
