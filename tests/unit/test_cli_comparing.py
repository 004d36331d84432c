"""The commands compare and shards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import cranfield
from chart_rules import marks
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.audits import REASONS, audit
from cranfield.scores.evaluation import score_collection


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
    cranfield.write_scores(
        score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP"), path
    )
    return str(path)


def test_compare_ranks_systems_and_lists_all_pairs(scores: str) -> None:
    found = answer("compare", scores)
    assert [row["rank"] for row in found["rows"]] == list(range(1, 13))
    told = {"system", "score", "lower", "upper", "rank_lower", "rank_upper", "may_be_best", "letters"}
    assert told <= set(found["rows"][0])
    assert len(found["pairs"]) == 66
    words = {"system_a", "system_b", "difference", "lower", "upper", "p_adjusted", "significant", "effect_size"}
    assert words <= set(found["pairs"][0])
    assert found["significant_pairs"] == sum(pair["significant"] for pair in found["pairs"])
    assert found["top_group"] == [row["system"] for row in found["rows"] if row["may_be_best"]]
    assert found["top_group"][0] == found["rows"][0]["system"]


def test_the_unpaired_test_says_what_it_loses(scores: str) -> None:
    for test in ("unpaired", "tukey-kramer"):
        found = answer("compare", scores, "--test", test)
        (said,) = [each["problem"] for each in found["warnings"] if each["kind"] == "topics-ignored"]
        assert "all systems have the same topics, and this test ignores it" in said
        assert found["significant_pairs"] < answer("compare", scores)["significant_pairs"]


@pytest.mark.parametrize("extra", [[], ["--chart", "matrix"]])
def test_compare_draws_intervals_or_the_matrix(scores: str, tmp_path: Path, extra: list[str]) -> None:
    path = tmp_path / "chart.svg"
    assert run("compare", scores, "-m", "AP", "--plot", str(path), *extra).exit_code == 0
    assert "cleverdon1" in path.read_text()


def test_an_audit_lists_the_verdicts_that_change(scores: str) -> None:
    found = answer("compare", scores, "--audit", "--resamples", "1000")
    assert found["rows"]
    assert all(row["found_by"] and row["missed_by"] and row["why"] for row in found["rows"])
    assert "all tests on the same data" in run("compare", scores, "--audit", "--resamples", "1000").stdout


def test_no_p_value_is_shown_as_0(scores: str) -> None:
    text = run("compare", scores, "--test", "tukey").stdout
    assert "e-" in text
    assert " 0.0000 " not in text.split("AP: pairs")[1].replace("0.0000  ", "")


def test_shards_of_runs_give_every_model_and_what_is_undefined(example: Path) -> None:
    found = answer(
        "shards",
        str(example / "runs"),
        "--qrels",
        str(example / "qrels.txt"),
        "-s",
        "2,3",
        "--samples",
        "2",
        "-m",
        "AP",
    )
    models = [(row["shards"], row["model"]) for row in found["rows"] if row["sample"] == 0]
    names = ["MD2", "MD3", "MD4", "MD5", "MD6", "MD6r", "bootstrap"]
    assert models == [(1, "MD1"), *((shards, name) for shards in (2, 3) for name in names)]
    words = {"omega_squared", "significant_pairs", "top_group", "tau", "replicated", "opposite_sign"}
    assert words <= set(found["rows"][0])


def test_the_same_seed_gives_the_same_shards(example: Path) -> None:
    runs = (str(example / "runs"), "--qrels", str(example / "qrels.txt"))
    once = ("shards", *runs, "-s", "3", "-m", "AP", "--halvings", "0", "--resamples", "100")
    assert answer(*once)["rows"] == answer(*once)["rows"]
    assert answer(*once)["rows"] != answer(*once, "--seed", "2")["rows"]


def test_any_replicate_may_stand_in_the_column_shard(tmp_path: Path) -> None:
    path = tmp_path / "seeds.csv"
    rows = [
        f"accuracy,{topic},{system},{seed},{0.1 * system + 0.05 * ((topic * 7 + seed * 3 + system) % 5)}"
        for topic in range(10)
        for system in range(3)
        for seed in range(4)
    ]
    path.write_text("measure,topic,system,shard,score\n" + "\n".join(rows) + "\n")
    found = answer("shards", str(path))
    assert {row["model"] for row in found["rows"]} >= {"MD1", "MD6", "MD6r"}


def test_a_score_table_without_replicates_is_refused_with_advice(scores: str) -> None:
    result = run("shards", scores)
    assert isinstance(result.exception, cranfield.RequestError)
    assert "shard" in result.exception.fix
    result = run("shards", "nowhere", "--qrels", "nowhere")
    assert isinstance(result.exception, cranfield.InputError)


# --- several measures, one answer


def test_several_measures_are_one_json_object(example: Path) -> None:
    packed = (str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-m", "AP", "-m", "P@10")
    found = answer("compare", *packed)
    assert {row["measure"] for row in found["rows"]} == {row["measure"] for row in found["pairs"]} == {"AP", "P@10"}
    assert [each["measure"] for each in found["comparisons"]] == ["AP", "P@10"]
    audited = answer("compare", *packed, "--audit", "--resamples", "200")
    assert {row["measure"] for row in audited["rows"]} <= {"AP", "P@10"}


def test_several_measures_have_a_chart_each(example: Path, tmp_path: Path) -> None:
    packed = (str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-m", "AP", "-m", "P@10")
    assert run("compare", *packed, "--plot", str(tmp_path / "x.svg")).exit_code == 0
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    assert set(drawn) == {"x-AP.svg", "x-P@10.svg"}
    assert all(name.removeprefix("x-").removesuffix(".svg") in text for name, text in drawn.items())


def test_one_measure_has_the_same_keys_in_the_list_and_beside_it(scores: str) -> None:
    found = answer("compare", scores, "-m", "AP")
    (only,) = found["comparisons"]
    assert only["measure"] == "AP"
    assert {key: found[key] for key in only} == only


def test_every_test_draws_intervals(scores: str, tmp_path: Path) -> None:
    for test, flags in (("t", []), ("tukey-permutation", ["--resamples", "200"])):
        path = tmp_path / f"{test}.svg"
        assert run("compare", scores, "--test", test, *flags, "--plot", str(path)).exit_code == 0
        assert "cleverdon1" in path.read_text()


def test_compare_has_the_three_kinds_of_interval(scores: str) -> None:
    found = answer("compare", scores, "--test", "tukey")
    assert (found["interval"], found["interval_of_means"]) == ("simultaneous 95 %", "tukey")
    assert found["interval_tukey"] > found["interval_anova"] > 0
    first = found["rows"][0]
    assert first["upper"] - first["lower"] == pytest.approx(2 * found["interval_tukey"])
    assert first["interval_standard_error"] > 0
    alone = answer("compare", scores, "--test", "t")
    assert (alone["interval_of_means"], alone["interval_tukey"]) == ("standard error", None)
    assert alone["rows"][0]["upper"] - alone["rows"][0]["lower"] == pytest.approx(2 * first["interval_standard_error"])


def test_baselines_leave_out_groups_and_reach_the_audit(scores: str) -> None:
    found = answer("compare", scores, "--baseline", "cleverdon1")
    assert len(found["pairs"]) == 11
    assert "groups" not in found["rows"][0]
    audited = answer("compare", scores, "--audit", "--baseline", "cleverdon1", "--resamples", "1000")
    assert all("cleverdon1" in (row["system_a"], row["system_b"]) for row in audited["rows"])


# --- warnings


def warned(*arguments: str) -> dict[str, str]:
    return {warning["kind"]: warning["problem"] + warning["fix"] for warning in answer(*arguments)["warnings"]}


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "max-t"])
def test_few_resamples_need_no_warning_as_more_are_drawn_where_they_do_not_decide(scores: str, test: str) -> None:
    few, many = (answer("compare", scores, "--test", test, "--resamples", count) for count in ("100", "20000"))
    assert few["warnings"] == many["warnings"] == []
    assert 100 <= few["resamples"] <= 4 * 66 / 0.05 + 1
    assert few["significant_pairs"] > 0
    assert abs(few["significant_pairs"] - many["significant_pairs"]) <= 2


def test_too_few_topics_for_a_test_of_signs_are_warned_about(write: Callable[[str, str], str]) -> None:
    path = write("four.csv", "topic,a,b\n1,0.1,0.2\n2,0.3,0.5\n3,0.2,0.4\n4,0.5,0.6\n")
    assert "6 topics" in warned("compare", path, "--test", "sign")["too-few-topics"]
    assert "too-few-topics" not in warned("compare", path, "--test", "t")


def test_the_unpaired_warning_counts_what_is_lost(scores: str) -> None:
    asked = (("--test", "t"), ("--test", "unpaired"))
    blocked, unpaired = (answer("compare", scores, *more)["significant_pairs"] for more in asked)
    text = warned("compare", scores, "--test", "unpaired")["topics-ignored"]
    assert f"finds {unpaired} pairs" in text
    assert f"the blocked test finds {blocked}." in text or f"the blocked test finds {blocked}L" in text


# --- audits


def test_an_audit_says_why_with_numbers(scores: str) -> None:
    found = answer("compare", scores, "--audit", "--resamples", "2000")
    assert all(set(row["reasons"]) <= set(REASONS) for row in found["rows"])
    counted = Counter(reason for row in found["rows"] for reason in row["reasons"])
    assert counted == found["reasons"]["AP"]
    lost = [row for row in found["rows"] if "unpaired" in row["missed_by"] and "t" in row["found_by"]]
    assert lost
    assert all("shared" in row["reasons"] for row in lost)
    text = run("compare", scores, "--audit", "--resamples", "2000").stdout
    assert "why verdicts change" in text


def test_an_audit_does_not_count_tests_that_could_find_nothing(write: Callable[[str, str], str]) -> None:
    rows = [f"{at},{0.1 + at / 100},{0.2 + at * at / 1000},{0.9 - at / 77}" for at in range(5)]
    path = write("five.csv", "\n".join(["topic,a,b,c", *rows]) + "\n")
    found = answer("compare", path, "--audit", "--resamples", "100")
    not_informative = [row["test"] for row in found["tests"] if row["not_informative"]]
    assert not_informative == ["sign", "permutation"]
    assert found["rows"]
    assert not any(set(not_informative) & {*row["missed_by"], *row["found_by"]} for row in found["rows"])
    assert "too-few-topics" in [warning["kind"] for warning in found["warnings"]]
    assert "`test` has no effect with `audit`" in refused("compare", path, "--audit", "--test", "t")


@pytest.mark.parametrize("correct", ["holm", "hochberg", "bh", "by", "none"])
def test_an_audit_takes_every_correction_and_names_it(scores: str, correct: str) -> None:
    done = run("compare", scores, "--audit", "--resamples", "100", "--correct", correct)
    assert done.exit_code == 0, done.exception
    assert "all tests on the same data (pairwise ones " in done.stdout


@pytest.mark.parametrize(
    ("shift", "sds", "reason"),
    [
        ([0.0, 0.55, 0.0, 0.0], [0.2, 0.2, 3.0, 3.0], "steadier"),
        ([0.0, 1.45, 0.0, 0.0], [0.2, 4.0, 0.2, 0.2], "noisier"),
    ],
)
def test_pairs_unlike_others_are_recognised(shift: list[float], sds: list[float], reason: str) -> None:
    drawn = np.random.default_rng(4).normal(size=(40, 4))
    values = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0) * sds + shift
    table = cranfield.ScoreTable(("x",), tuple(map(str, range(40))), tuple("abcd"), values[None, :, :, None])
    (pair,) = [
        each for each in audit(table, resamples=200).disagreements if {each.system_a, each.system_b} == {"a", "b"}
    ]
    assert reason in pair.reasons


# --- shards from the command line


def test_shards_draws_figures_and_prints_the_tables_asked_for(example: Path, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    given = (
        "shards",
        str(example / "runs"),
        "--qrels",
        str(example / "qrels.txt"),
        "-s",
        "2,4",
        "--resamples",
        "100",
        "--halvings",
        "0",
    )
    result = run(*given, "--plot", str(path), "--chart", "shards", "--anova", "md2,MD3")
    assert result.exit_code == 0
    assert "4 shards" in path.read_text()
    assert "MD2, 4 shards" in result.stdout
    assert "MD6, 4 shards" not in result.stdout
    assert "intervals around a system's mean" in result.stdout
    found = answer(*given)
    assert {row["model"] for row in found["anova"]} == {"MD1", "MD2", "MD3", "MD4", "MD5", "MD6"}
    assert len(found["systems"]) == 3 * 12
    assert {"interval_tukey", "interval_anova", "interval_standard_error", "shift"} <= set(found["rows"][0])
    assert sum(row["undefined"] for row in found["undefined"] if row["shards"] == 4) == found["rows"][-1]["undefined"]


def test_pairs_can_be_had_by_model_and_as_csv(example: Path, scores: str) -> None:
    given = ("shards", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-s", "2", "--halvings", "0")
    found = answer(*given, "--pairs", "MD6", "--resamples", "0")
    assert len(found["pairs"]) == 66
    (row,) = [row for row in found["rows"] if row["model"] == "MD6"]
    assert sum(pair["significant"] for pair in found["pairs"]) == row["significant_pairs"]
    assert all((pair["p_adjusted"] <= 0.05) == pair["significant"] for pair in found["pairs"])
    assert all((pair["difference"] > row["width"]) == pair["significant"] for pair in found["pairs"])
    assert len(run(*given, "--pairs", "MD6", "--csv").stdout.splitlines()) == 67
    assert "no model «MD9»" in refused(*given, "--pairs", "MD9", "--resamples", "0")
    lines = run("compare", scores, "--csv", "--all-pairs").stdout.splitlines()
    assert len(lines) == 67
    assert lines[0].startswith("measure,system_a,system_b,difference")


def test_shards_of_several_samples_are_summed_up(example: Path) -> None:
    given = ("shards", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-s", "2", "--samples", "3")
    found = answer(*given, "--resamples", "0", "--halvings", "0")
    assert not any(row["model"] == "bootstrap" for row in found["rows"])
    (row,) = [row for row in found["robustness"] if row["model"] == "MD6"]
    counts = [each["significant_pairs"] for each in found["rows"] if each["model"] == "MD6"]
    assert (row["significant_pairs_least"], row["significant_pairs_most"]) == (min(counts), max(counts))
    assert row["in_all_samples"] <= min(counts)


# --- bad input, for both commands


def refused(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, cranfield.CranfieldError), result.output
    assert result.exception.exit_code == 2
    return str(result.exception)


REPLICATED = "measure,topic,system,shard,score\n"


def replicated(leave_out: str = "", score: str = "0.{at}") -> str:
    cells = [(t, s, k) for t in "123" for s in "ab" for k in ("q1", "q2")]
    rows = [f"AP,{t},{s},{k}," + score.format(at=11 + at) for at, (t, s, k) in enumerate(cells)]
    return REPLICATED + "\n".join(row for row in rows if not leave_out or leave_out not in row) + "\n"


def test_unbalanced_tables_name_the_cells_and_the_ways_out(write: Callable[[str, str], str]) -> None:
    wide = write("wide.csv", "topic,a,b,c\n1,0.1,0.2,0.3\n2,,0.5,\n3,0.2,0.4,0.6\n4,0.5,nan,\n")
    text = refused("compare", wide)
    cells = f"topic 2, system a; topic 2, system c; topic 4, system b in {wide}:5, and 1 more"
    assert f"{wide}:3: 4 of 12 scores of wide are missing ({cells})" in text
    assert '`missing="zero"`' in text
    assert "the 2 topics that lack any" in text
    long = write("long.csv", replicated(leave_out="2,b,q1"))
    assert "1 of 12 scores of AP is missing (topic 2, system b, shard q1)" in refused("shards", long)
    assert answer("compare", wide, "--missing", "zero")["topics"] == 4
    dropped = answer("compare", wide, "--missing", "drop")
    assert dropped["topics"] == 2
    assert dropped["warnings"][0]["kind"] == "topic-dropped"
    assert "cell-zero" in warned("shards", long, "--missing", "zero")


def test_too_few_systems_topics_or_shards_are_refused(write: Callable[[str, str], str]) -> None:
    assert "two systems" in refused("compare", write("a.csv", "topic,a\n1,0.5\n2,0.6\n"))
    assert "two topics" in refused("compare", write("b.csv", "topic,a,b\n1,0.5,0.4\n"))
    assert "two systems" in refused("shards", write("c.csv", replicated(leave_out=",b,")))
    assert "two topics" in refused(
        "shards", write("d.csv", REPLICATED + "AP,1,a,x,1\nAP,1,a,y,1\nAP,1,b,x,1\nAP,1,b,y,0\n")
    )
    assert "one shard only" in refused("shards", write("e.csv", replicated(leave_out="q2")))
    assert "not a number" in refused("compare", write("f.csv", "topic,a,b\n1,inf,0.4\n2,0.1,0.2\n"))
    run_file, qrels = (
        write("run", "1 Q0 d 1 2 r\n1 Q0 e 2 1 r\n2 Q0 d 1 1 r\n"),
        write("q", "1 0 d 1\n1 0 e 1\n2 0 d 1\n"),
    )
    assert "two systems" in refused("shards", run_file, "--qrels", qrels, "-s", "2")
    assert "whole number" in refused("shards", run_file, "--qrels", qrels, "-s", "2.5")


def test_constant_scores_are_answered_with_a_warning(write: Callable[[str, str], str]) -> None:
    flat = write("flat.csv", "topic,a,b\n1,0.5,0.5\n2,0.5,0.5\n3,0.4,0.4\n")
    assert list(warned("compare", flat))[-1] == "same-everywhere"
    assert answer("compare", flat)["significant_pairs"] == 0
    shifted = write("shifted.csv", "topic,a,b\n1,0.5,0.6\n2,0.4,0.5\n3,0.3,0.4\n")
    assert list(warned("compare", shifted))[-1] == "no-error"
    constant = write("constant.csv", replicated(score="0.5"))
    found = answer("shards", constant, "--replicates", "crossed")
    assert "same-everywhere" in [warning["kind"] for warning in found["warnings"]]
    assert {row["significant_pairs"] for row in found["rows"]} == {0}


def test_constant_scores_can_be_drawn_and_audited(write: Callable[[str, str], str], tmp_path: Path) -> None:
    flat, constant = write("flat.csv", "topic,a,b\n1,0.5,0.5\n2,0.4,0.4\n"), write("c.csv", replicated(score="0.5"))
    for at, given in enumerate((("compare", flat), ("compare", flat, "--chart", "matrix"), ("shards", constant))):
        path = tmp_path / f"{at}.svg"
        assert run(*given, "--plot", str(path)).exit_code == 0
        assert path.exists()
    found = answer("compare", flat, "--audit")
    assert found["rows"] == []
    not_informative = [row["test"] for row in found["tests"] if row["not_informative"]]
    assert not_informative == ["sign", "permutation"]
    said = {warning["kind"]: warning["problem"] for warning in found["warnings"]}
    assert said["too-few-topics"].startswith("sign and permutation: with 2 topics")
    assert said["same-everywhere"].startswith("all systems")


def test_more_shards_than_relevant_documents(example: Path) -> None:
    given = ("shards", str(example / "runs"), "--qrels", str(example / "qrels.txt"))
    assert "more than any topic has relevant documents" in refused(*given, "-s", "500")
    most = int(cranfield.read_collection(example / "runs", example / "qrels.txt").relevant.max())
    found = answer(*given, "-s", str(most), "--resamples", "0", "--halvings", "0")
    assert found["warnings"][-1]["kind"] == "more-shards-than-relevant"
    assert found["undefined"]


def test_replicates_are_crossed_or_nested_by_name(write: Callable[[str, str], str]) -> None:
    rows = [
        f"{topic},{system},{seed},0.{(topic * topic * 7 + ord(system) * topic * seed) % 89:02d}"
        for topic in range(1, 9)
        for system in "abc"
        for seed in (1, 2, 3)
    ]
    path = write("seeds.csv", "\n".join(["question,system,seed,f1", *rows]))
    given = ("shards", path, "--columns", "topic=question,seed=seed,score=f1")
    found = answer(*given)
    assert [row["model"] for row in found["rows"]] == ["MD1", "nested"]
    assert {row["effect"] for row in found["anova"] if row["model"] == "nested"} >= {
        "shard(system)",
        "error of systems",
    }
    assert "replicates-assumed-crossed" not in [warning["kind"] for warning in found["warnings"]]
    assert found["inputs"]["replicates"] is None
    crossed = answer(*given, "--replicates", "crossed", "--resamples", "0")
    assert [row["model"] for row in crossed["rows"]][-2:] == ["MD6r", "MD6rr"]
    pairs = answer(*given, "--pairs", "nested")["pairs"]
    assert len(pairs) == 3
    assert {row["model"] for row in pairs} == {"nested"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--samples", "3"), "`samples` has no effect"),
        (("-s", "2"), "`shards` has no effect"),
        (("--replicates", "nested", "--resamples", "500"), "`resamples` has no effect"),
    ],
)
def test_what_has_no_effect_on_replicates_is_refused(
    write: Callable[[str, str], str], flags: tuple[str, ...], said: str
) -> None:
    path = write("replicates.csv", replicated())
    assert said in refused("shards", path, *flags)


def test_shards_of_documents_are_neither_crossed_nor_nested_by_choice(example: Path) -> None:
    given = ("shards", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "-s", "2")
    assert "`replicates` has no effect" in refused(*given, "--replicates", "nested")


@pytest.mark.parametrize("note", ["", ",x"])
def test_a_text_among_the_scores_of_a_system_is_named_with_its_line(
    note: str, write: Callable[[str, str | bytes], str]
) -> None:
    rows = [f"1,0.5,0.4{note}", f"2,0.3,high{note}", f"3,0.2,0.1{note}"]
    file = write("t.csv", "\n".join(["query,bm25,dense" + (",note" if note else ""), *rows]))
    result = run("compare", file, "--columns", "topic=query,system=*")
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 2
    assert f"{file}:3: «high» in column «dense» is no number" in str(result.exception)
    good = write("g.csv", Path(file).read_text().replace("high", "0.25"))  # a column of text alone is no system
    assert [row["system"] for row in answer("compare", good, "--columns", "topic=query,system=*")["rows"]] == [
        "bm25",
        "dense",
    ]


def test_compare_shows_geometric_means_of_logarithms(example: Path, tmp_path: Path) -> None:
    table = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "GMAP")
    cranfield.write_scores(table, tmp_path / "scores.csv")
    found = answer("compare", str(tmp_path / "scores.csv"))
    assert {row["system"]: row["score"] for row in found["rows"]} == pytest.approx(table.averages("GMAP"))
    for row in found["rows"]:
        assert 0 < row["lower"] < row["score"] < row["upper"] < 1
        assert row["score"] ** 2 == pytest.approx(row["lower"] * row["upper"])  # as far in logarithms
    first, second = found["rows"][:2]
    (pair,) = (
        pair for pair in found["pairs"] if {pair["system_a"], pair["system_b"]} == {first["system"], second["system"]}
    )
    assert abs(pair["difference"]) == pytest.approx(np.log(first["score"] / second["score"]))


def test_only_the_best_system_of_each_team_is_compared_and_the_others_are_counted(example: Path, scores: str) -> None:
    everyone = answer("compare", scores)["rows"]
    best: dict[str, str] = {}
    for row in everyone:  # in order of their means
        best.setdefault(row["system"].rstrip("0123456789"), row["system"])
    found = answer("compare", scores, "--best-per", "^([a-z]+)")
    assert [row["system"] for row in found["rows"]] == list(best.values())
    assert 1 < len(best) < len(everyone)
    said = [each["problem"] for each in found["warnings"] if each["kind"] == "best-per-team"]
    assert f"by mean AP is compared, and {len(everyone) - len(best)} are left out" in said[0]
    assert "winner's curse" in said[0]
    listed = answer("compare", scores, "--best-per", "team", "--teams", str(example / "teams.tsv"))
    assert listed["rows"] == found["rows"]
    latex = run("compare", scores, "--best-per", "^([a-z]+)", "--latex").stdout
    assert "Every team is shown by its system with the best mean AP." in latex


def test_the_best_of_a_team_may_be_the_lowest_and_a_baseline_stays(scores: str) -> None:
    everyone = [row["system"] for row in answer("compare", scores)["rows"]]
    worst: dict[str, str] = {}
    for system in reversed(everyone):
        worst.setdefault(system[:-1], system)
    found = answer("compare", scores, "--best-per", "^([a-z]+)", "--lower-is-better")
    assert [row["system"] for row in found["rows"]] == list(worst.values())
    baseline = worst[everyone[0][:-1]]  # not the best of its team
    kept = [
        row["system"] for row in answer("compare", scores, "--best-per", "^([a-z]+)", "--baseline", baseline)["rows"]
    ]
    assert baseline in kept
    assert len(kept) == len(worst) + 1


def test_teams_of_runs_and_of_a_packed_collection_choose_the_same_systems(example: Path, tmp_path: Path) -> None:
    files = [str(example / "runs"), "--qrels", str(example / "qrels.txt"), "--teams", str(example / "teams.tsv")]
    packed = str(tmp_path / "packed.cran")
    assert run("pack", *files, "-o", packed).exit_code == 0
    found = [answer("compare", *which, "--best-per", "team")["rows"] for which in (files, [packed])]
    assert found[0] == found[1]
    report = answer("report", packed, "--best-per", "team", "--section", "compare", "-m", "AP")
    assert report["rows"][0]["rows"] == found[0]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"best_per": "("}, "is no regular expression"),
        ({"best_per": "^[a-z]+"}, "has 0 groups"),
        ({"best_per": "^(zz)"}, "no system has a team by"),
        ({"best_per": "(e)"}, "are of the team"),
        ({"best_per": "team"}, "nothing says which team"),
        ({"source": {"teams": "teams.tsv"}}, "has no effect without"),
    ],
)
def test_teams_that_cannot_be_told_are_refused(given: dict[str, Any], what: str) -> None:
    scores = {"red": {"1": 0.1, "2": 0.3, "3": 0.2}, "green": {"1": 0.2, "2": 0.5, "3": 0.1}}
    with pytest.raises(RequestError, match=what):
        cranfield.compare(scores, **given)


def test_teams_of_one_system_each_leave_nothing_out(scores: str) -> None:
    found = answer("compare", scores, "--best-per", "^(.+)$")
    assert len(found["rows"]) == 12
    assert "one system only" in next(each["problem"] for each in found["warnings"] if each["kind"] == "best-per-team")


NEW = {"1": 0.5, "2": 0.4, "3": 0.9, "4": 0.1, "5": 0.3}
OLD = {"1": 0.3, "2": 0.4, "3": 0.2, "4": 0.2, "5": 0.25}


def test_differences_on_every_topic_are_drawn_by_size_with_their_counts() -> None:
    result = cranfield.compare({"new": NEW, "old": OLD})
    chart = result.chart("topics")
    (bars,) = marks(chart, "bars")
    assert list(bars.says) == ["3; 0.7", "1; 0.2", "5; 0.05", "2; 0", "4; −0.1"]
    assert chart.panels[0].title == "new − old"
    assert chart.title == "new is better than old on 3 topics, worse on 1, equal on 1"
    pair = result.comparisons["score"].to_dict()[0]
    (reach,) = [mark for mark in marks(chart, "across") if mark.y2]
    assert (reach.y, reach.y2) == ([pair["lower"]], [pair["upper"]])


def test_the_first_candidates_have_a_panel_each_against_the_baseline(scores: str) -> None:
    result = cranfield.compare(scores, baseline="aldgate1")
    chart, found = result.chart("topics"), result.comparisons["AP"]
    best = [system for system in found.systems if system != "aldgate1"][:2]
    assert [panel.title for panel in chart.panels] == [f"{system} − aldgate1" for system in best]
    assert "the first 2 of 11 pairs" in chart.subtitle
    table = cranfield.read_scores(scores)
    gaps = table.of("AP")[:, table.systems.index(best[1])] - table.of("AP")[:, table.systems.index("aldgate1")]
    assert list(marks(chart, "bars", 1)[0].y2) == pytest.approx(sorted(gaps.tolist(), reverse=True))


def test_several_files_have_short_names(tmp_path: Path) -> None:
    wide = "topic,a,b,c\n" + "".join(f"{at},{at / 10},{at / 20},{at % 3 / 7}\n" for at in range(1, 8))
    cells = [(m, t, s) for m in ("AP", "RR") for t in range(8) for s in range(3)]
    rows = "".join(f"{m},{t},s{s},{(9 - 2 * s + t * (s + 1)) / 40}\n" for m, t, s in cells)
    files = {name: tmp_path / name for name in ("old/map.csv", "new/map.csv", "new/P_10.csv", "long.csv")}
    for name, path in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"measure,topic,system,score\n{rows}" if name == "long.csv" else wide)
    old, new, other, long = map(str, files.values())
    assert list(cranfield.compare([old, new, other]).comparisons) == ["old/map", "new/map", "P_10"]
    assert list(cranfield.compare([new, other]).comparisons) == ["map", "P_10"]
    found = cranfield.compare([old, long])
    assert list(found.comparisons) == ["map", "long: AP", "long: RR"]
    assert "long: AP: s2 has the highest mean AP, " in found.summary()
