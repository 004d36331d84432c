"""Against pytrec_eval, which is trec_eval's own code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from generated import Generated, Judgments, Run, collections, examples, ranking, read, scores
from hypothesis import given

import cranfield
from cranfield.errors import RequestError
from cranfield.measures.groups import GROUPS, trec_eval_name
from cranfield.scores.evaluation import score_collection

TOLERANCE = 1e-9

MEASURES = {
    "map": "AP",
    "map_cut_5": "AP@5",
    "P_5": "P@5",
    "P_30": "P@30",
    "recall_10": "R@10",
    "Rprec": "Rprec",
    "recip_rank": "RR",
    "bpref": "Bpref",
    "ndcg": "nDCG",
    "ndcg_cut_5": "nDCG@5",
    "ndcg_cut_20": "nDCG@20",
}
BINARY = {theirs: ours for theirs, ours in MEASURES.items() if not theirs.startswith("ndcg")}


def theirs(qrels: Judgments, run: Run, measure: str, *, level: int = 1) -> dict[str, float]:
    """topic → score; topics they have no score for are absent."""
    # On a topic without any grade of 0 or more trec_eval reads memory it has not set: it may crash or never end.
    sound = {topic: dict(rows) for topic, rows in qrels.items() if max(rows.values()) >= 0}
    lists = {topic: dict(rows) for topic, rows in run.items() if topic in sound}
    if not lists:
        return {}
    evaluator = pytrec_eval.RelevanceEvaluator(sound, {measure}, relevance_level=level)
    return {topic: found[measure] for topic, found in evaluator.evaluate(lists).items()}


@pytest.mark.parametrize(("name", "measure"), MEASURES.items())
@examples(60)
@given(made=collections())
def test_a_measure_equals_pytrec_evals(name: str, measure: str, made: Generated) -> None:
    ours = scores(made, measure)
    for system, run in made.runs.items():
        expected = theirs(made.qrels, run, name)
        for topic in made.qrels:
            # What they leave out is a topic the run lacks or nothing is judged on, which trec_eval -c counts as 0.
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize(("name", "measure"), BINARY.items())
@examples(25)
@given(made=collections())
def test_a_binary_measure_with_rel_equals_pytrec_evals_with_that_relevance_level(
    name: str, measure: str, made: Generated
) -> None:
    at, cut = (measure.partition("@")[0], measure.partition("@")[2])
    ours = scores(made, f"{at}(rel=2)@{cut}" if cut else f"{at}(rel=2)")
    for system, run in made.runs.items():
        expected = theirs(made.qrels, run, name, level=2)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


ALL = {str(trec_eval_name(measure)): measure for measure in GROUPS["all_trec"]}
# With a level of relevance, theirs still divides by the relevant documents of all levels where it counts levels.
WITH_LEVEL = (
    *("Success@1", "Success@5", "relative_P@5", "SetP", "SetP(relative=True)", "SetR", "SetAP", "SetF", "utility"),
    *("IPrec@0.3", "IPrec@1", "11pt_avg", "Rprec_mult@0.4", "Rprec_mult@2", "infAP", "gm_bpref", "GMAP", "binG"),
    *("NumRel", "num_nonrel_judged_ret"),
)
JUDGED_ONLY = ("AP", "AP@5", "P@5", "R@10", "Rprec", "RR", "Success@5", "SetP", "SetF", "SetAP", "IPrec@0.3", "nDCG@5")


def all_theirs(
    qrels: Judgments, run: Run, names: Iterable[str], *, level: int = 1, judged_only: bool = False
) -> dict[str, dict[str, float]]:
    """topic → name → score; what they divide by 0 is left out."""
    sound = {topic: dict(rows) for topic, rows in qrels.items() if max(rows.values()) >= 0}
    lists = {topic: dict(rows) for topic, rows in run.items() if topic in sound}
    if not lists:
        return {}
    flag: Any = int(judged_only)
    evaluator = pytrec_eval.RelevanceEvaluator(sound, set(names), relevance_level=level, judged_docs_only_flag=flag)
    found = evaluator.evaluate(lists)
    return {topic: {name: x for name, x in row.items() if not math.isnan(x)} for topic, row in found.items()}


def differences(
    made: Generated, measures: dict[str, str], *, level: int = 1, judged_only: bool = False
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Where the measures, by their name and by ours, are not equal."""
    ours = scores(made, *measures.values())
    found = {}
    for system, run in made.runs.items():
        expected = all_theirs(made.qrels, run, measures, level=level, judged_only=judged_only)
        for topic, row in expected.items():
            for name, x in zip(measures, ours[system, topic], strict=True):
                if abs(x - row.get(name, x)) > TOLERANCE:
                    found[system, topic, name] = x, row[name]
    return found


@examples(200)
@given(made=collections())
def test_all_measures_of_trec_eval_equal_pytrec_evals(made: Generated) -> None:
    assert set(ALL) | {"runid", "relstring"} == set(all_theirs({"1": {"a": 1}}, {"1": {"a": 1.0}}, EVERY)["1"])
    assert differences(made, ALL) == {}


EVERY = pytrec_eval.supported_measures


@examples(200)
@given(made=collections())
def test_rel_means_what_the_relevance_level_means_in_pytrec_eval(made: Generated) -> None:
    measures = {str(trec_eval_name(measure)): measure.replace("(", "(rel=2,") for measure in WITH_LEVEL}
    with_rel = {
        name: measure if "(" in measure else f"{measure.partition('@')[0]}(rel=2){''.join(measure.partition('@')[1:])}"
        for name, measure in measures.items()
    }
    assert differences(made, with_rel, level=2) == {}


@examples(200)
@given(made=collections())
def test_judged_only_means_what_it_means_in_pytrec_eval(made: Generated) -> None:
    measures = {
        str(trec_eval_name(measure)): f"{name}(judged_only=True){at}{cut}"
        for measure in JUDGED_ONLY
        for name, at, cut in [measure.partition("@")]
    }
    assert differences(made, measures, judged_only=True) == {}


REAL = [
    ("trec8", "input.CL99SD.gz"),
    ("trec8", "input.1.gz"),
    ("trec8", "input.8manexT3D1N0.gz"),
    ("dl19", "ICT-BERT2.txt.gz"),
    ("dl19", "ICT-CKNRM_B.txt.gz"),
]


def by_rank(collection: cranfield.Collection) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and the first run, scored by rank: theirs sees single precision, which ties more documents."""
    qrels: dict[str, dict[str, int]] = {topic: {} for topic in collection.topics}
    for topic, document, grade in collection.judgments():
        qrels[topic][document] = int(grade)
    ranked = {topic: collection.ranking(collection.systems[0], topic) for topic in collection.topics}
    return qrels, {t: {d: float(-at) for at, d in enumerate(rows)} for t, rows in ranked.items() if rows}


def test_all_measures_of_trec_eval_equal_pytrec_evals_on_real_runs_to_the_line(shared: Path, tmp_path: Path) -> None:
    for folder, file in REAL:
        data = shared / "data" / folder
        assert_equals_pytrec_eval(data / "runs" / file, data / "qrels.txt.gz", tmp_path)


def test_all_measures_of_trec_eval_equal_pytrec_evals_on_the_example_to_the_line(example: Path, tmp_path: Path) -> None:
    for run in sorted((example / "runs").iterdir())[:3]:
        assert_equals_pytrec_eval(run, example / "qrels.txt", tmp_path)


def assert_equals_pytrec_eval(runs: Path, judgments: Path, folder: Path) -> None:
    collection = cranfield.read_collection(runs, judgments)
    table = score_collection(collection, "all_trec", missing="drop")
    qrels, run = by_rank(collection)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, EVERY).evaluate(run)
    for at, topic in enumerate(table.topics):
        found = dict(zip(ALL, table.values[:, at, 0, 0].tolist(), strict=True))
        expected = {name: theirs[topic][name] for name in ALL}
        assert found == pytest.approx(expected, abs=TOLERANCE), topic
    written = folder / "run.eval"
    cranfield.write_scores(table, written)
    assert written.read_text(encoding="utf-8").splitlines() == list(printed(theirs, table.topics, table.systems[0]))


def printed(scores: dict[str, dict[str, float]], topics: Iterable[str], run: str) -> Iterator[str]:
    """What trec_eval -q prints, without relstring: geometric means and the number of topics in the summary alone."""

    def line(name: str, topic: str, score: float) -> str:
        return f"{name:<22}\t{topic}\t{int(score) if name.startswith('num_') else f'{score:6.4f}'}"

    for topic in sorted(topics):  # as text: 1037798 before 87181
        yield from (line(name, topic, scores[topic][name]) for name in ALL if name not in ("num_q", *GEOMETRIC))
    yield f"{'runid':<22}\tall\t{run}"
    for name in ALL:
        values = [scores[topic][name] for topic in topics]
        yield line(name, "all", pytrec_eval.compute_aggregated_measure(name, values))


GEOMETRIC = ("gm_map", "gm_bpref")
TREC8 = [file for folder, file in REAL if folder == "trec8"]


def test_the_format_of_trec_eval_has_its_lines_in_its_order(shared: Path) -> None:
    for file in TREC8:
        _check_lines(shared / "data" / "trec8", file)


def _check_lines(data: Path, file: str) -> None:
    files = data / "runs" / file, str(data / "qrels.txt.gz")
    result = cranfield.score(files[0], qrels=files[1], measure="all_trec", source={"missing": "drop"})
    qrels, run = by_rank(cranfield.read_collection(*files))
    theirs = pytrec_eval.RelevanceEvaluator(qrels, EVERY).evaluate(run)
    lines = list(with_relstrings(printed(theirs, result.table.topics, result.table.systems[0]), qrels, run))
    assert result.to_trec_eval(per_topic=True).splitlines() == lines
    summary = [line for line in lines if line.split("\t")[1] == "all"]
    assert result.to_trec_eval().splitlines() == summary
    # te_trec_measures, in which a measure has its cutoffs beside one another
    places = [line.split()[0] for line in summary]
    assert [theirs[result.table.topics[0]].get(name) is not None for name in places] == [True] * len(places)
    assert [name for name in theirs[result.table.topics[0]] if name != "relstring"] == places


def with_relstrings(
    lines: Iterable[str], qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> Iterator[str]:
    """The lines with ``relstring`` after P of every topic: a grade for each of the first ten, - where there is none."""
    for line in lines:
        yield line
        name, topic, _ = line.split("\t")
        if name.strip() == "P_1000" and topic != "all":
            first = sorted(run[topic], key=lambda document: -run[topic][document])[:10]
            yield f"{'relstring':<22}\t{topic}\t'{''.join(str(qrels[topic].get(each, '-')) for each in first)}'"


def test_measures_in_the_format_of_trec_eval_come_in_its_order_not_in_that_asked_for() -> None:
    made = Generated({"10": {"a": 1}, "9": {"b": 1, "c": -3, "d": 12}}, {"one": {"10": {"a": 1.0}, "9": dict(NINE)}})
    result = cranfield.score(made.runs, qrels=made.qrels, measure=["RBP(p=0.8)", "P_10", "map", "P_5"])
    names = [line.split("\t")[0].strip() for line in result.to_trec_eval().splitlines()]
    assert names == ["map", "P_5", "P_10", "RBP(p=0.8)"]  # and no name of a run, as trec_eval -m map
    whole = cranfield.score(made.runs, qrels=made.qrels, measure="all_trec").to_trec_eval(per_topic=True)
    assert [line.split("\t")[1:] for line in whole.splitlines() if line.startswith("relstring")] == [
        ["10", "'1'"],  # topics in the order of their bytes
        ["9", "'>.-1'"],
    ]


NINE = {"d": 4.0, "c": 3.0, "unknown": 2.0, "b": 1.0}


def test_lines_of_trec_eval_are_read_back_and_are_about_one_system(tmp_path: Path) -> None:
    made = Generated({"1": {"a": 1, "b": 0}, "2": {"b": 1}}, {"one": {"1": {"a": 1.0}, "2": {"a": 2.0, "b": 1.0}}})
    table = score_collection(read(made), ["AP", "P@5", "GMAP", "RBP(p=0.8)"])
    cranfield.write_scores(table, tmp_path / "one.eval")
    again = cranfield.read_scores(tmp_path / "one.eval")
    assert (again.measures, again.systems) == (("map", "P_5", "RBP(p=0.8)"), ("one",))
    assert again.of("map").ravel().tolist() == [1.0, 0.5]
    assert "gm_map                \tall\t0.7071\n" in (tmp_path / "one.eval").read_text()
    two = score_collection(read(replace(made, runs={**made.runs, "two": made.runs["one"]})), "AP")
    with pytest.raises(RequestError, match="about one system, and there are 2"):
        cranfield.write_scores(two, tmp_path / "two.eval")


@examples(60)
@given(made=collections())
def test_a_list_is_ranked_by_score_then_id_both_descending(made: Generated) -> None:
    collection = read(made)
    for system, run in made.runs.items():
        for topic in made.qrels:
            assert collection.ranking(system, topic) == ranking(run.get(topic, {}))


def test_difference_pytrec_eval_ties_scores_that_differ_only_in_double_precision() -> None:
    close = {"relevant": 1 + 2**-40, "zebra": 1.0}  # one number in single precision, so theirs falls to the id
    made = Generated({"1": {"relevant": 1}}, {"run": {"1": close}})
    assert scores(made, "RR")["run", "1"] == [1.0]
    assert theirs(made.qrels, made.runs["run"], "recip_rank") == {"1": 0.5}


def test_difference_pytrec_eval_leaves_out_a_topic_the_run_lacks_and_here_it_is_0() -> None:
    made = Generated({"1": {"a": 1}, "2": {"a": 1}}, {"run": {"1": {"a": 1.0}}})
    assert theirs(made.qrels, made.runs["run"], "map") == {"1": 1.0}
    assert scores(made, "AP") == {("run", "1"): [1.0], ("run", "2"): [0.0]}


def test_an_unjudged_or_negatively_graded_document_costs_bpref_nothing_as_in_trec_eval() -> None:
    qrels = {"1": {"good": 1, "bad": 0, "spam": -2, "pooled": -1}}
    run = {"1": {"spam": 5.0, "pooled": 4.0, "unknown": 3.0, "good": 2.0, "bad": 1.0}}
    assert scores(Generated(qrels, {"run": run}), "Bpref")["run", "1"] == [1.0]
    assert theirs(qrels, run, "bpref") == {"1": 1.0}
