"""Against ir_measures: its own Judged, gdeval's ERR, cwl_eval's RBP, and the meaning of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from generated import Generated, IntentRow, Judgments, Run, collections, examples, ranking, scores
from hypothesis import given

import cranfield
from cranfield.scores.evaluation import score_collection

TOLERANCE = 1e-9
PRINTED = 0.5e-5 + 1e-12  # gdeval prints five digits

needs_cwl = pytest.mark.skipif(not ir_measures.cwl_eval.is_available(), reason="cwl-eval is not installed")
needs_perl = pytest.mark.skipif(not ir_measures.gdeval.is_available(), reason="perl is not installed")


def theirs(provider: Any, measure: str, qrels: Any, run: Run) -> dict[str, float]:
    """topic → score by one of their providers; topics they have no score for are absent."""
    found = provider.iter_calc([ir_measures.parse_measure(measure)], qrels, {t: dict(rows) for t, rows in run.items()})
    return {row.query_id: row.value for row in found}


def plain(qrels: Judgments) -> dict[str, dict[str, int]]:
    return {topic: dict(rows) for topic, rows in qrels.items()}


def per_intent(rows: list[IntentRow]) -> list[Any]:
    return [ir_measures.Qrel(topic, document, grade, intent) for topic, intent, document, grade in rows]


def untied(run: Run) -> Run:
    """The same lists without ties: scores that fall by 1, and are above 0."""
    return {topic: {doc: 1000.0 - rank for rank, doc in enumerate(ranking(rows))} for topic, rows in run.items()}


def without_ties(made: Generated) -> Generated:
    return replace(made, runs={system: untied(run) for system, run in made.runs.items()})


@needs_perl
@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("ERR(gains=exp,max=4)@20", "ERR@20"),
        ("ERR(gains=exp,max=4)@3", "ERR@3"),
        ("nDCG(gains=exp)@5", "nDCG(dcg='exp-log2')@5"),
    ],
)
@examples(15)
@given(made=collections())
def test_err_and_ndcg_with_exponential_gains_equal_gdevals_as_printed(measure: str, name: str, made: Generated) -> None:
    ours = scores(made, measure)
    for system, run in made.runs.items():
        expected = theirs(ir_measures.gdeval, name, plain(made.qrels), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=PRINTED), (system, topic)


@needs_perl
def test_difference_err_without_parameters_is_linear_here_and_exponential_to_grade_4_in_gdeval() -> None:
    made = Generated({"1": {"a": 1, "b": 2}}, {"run": {"1": {"a": 1.0}}})
    # Here g / (g_max + 1) = 1 / 3 with the highest grade of the collection, 2; there (2^1 − 1) / 2^4 = 1 / 16.
    assert scores(made, "ERR@20")["run", "1"] == pytest.approx([1 / 3], abs=TOLERANCE)
    assert theirs(ir_measures.gdeval, "ERR@20", plain(made.qrels), made.runs["run"]) == {"1": 0.0625}


@pytest.mark.parametrize("measure", ["Judged@1", "Judged@10", "Judged@20", "Judged"])
@examples(25)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_judged_equals_ir_measures_where_no_scores_tie_and_no_grade_is_negative(measure: str, made: Generated) -> None:
    ours = scores(made, measure)
    for system, run in made.runs.items():
        expected = theirs(ir_measures.judged, measure, plain(made.qrels), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


def test_difference_judged_in_ir_measures_counts_negative_grades_and_here_they_are_no_judgments() -> None:
    made = Generated({"1": {"a": 1, "b": -1}}, {"run": {"1": {"a": 2.0, "b": 1.0}}})
    assert scores(made, "Judged@2")["run", "1"] == [0.5]
    assert theirs(ir_measures.judged, "Judged@2", plain(made.qrels), made.runs["run"]) == {"1": 1.0}


def test_difference_judged_in_ir_measures_breaks_ties_by_ascending_id_and_here_by_descending() -> None:
    made = Generated({"1": {"a": 1}}, {"run": {"1": {"a": 1.0, "b": 1.0}}})
    assert scores(made, "Judged@1")["run", "1"] == [0.0]
    assert theirs(ir_measures.judged, "Judged@1", plain(made.qrels), made.runs["run"]) == {"1": 1.0}


SAME_NAMES = ("AP", "AP@5", "P@5", "R@10", "Rprec", "RR", "RR@3", "Bpref", "nDCG", "nDCG@10", "Judged@10", "NumRet")
# Asked for beside measures with judged_only, theirs NumRet may count judged documents alone, so it is not here.
MORE_NAMES = (
    *("Success@5", "SetP", "SetRelP", "SetR", "SetF", "SetF(beta=0.5)", "SetAP"),
    *("NumRelRet", "NumRet(rel=3)", "IPrec@0.2", "infAP", "Compat", "Compat(p=0.8)"),
    *("Compat(normalize=False)", "SDCG(max_rel=3)@5", "SDCG(min_rel=1,max_rel=3)@20", "BPM(max_rel=3)@5"),
    *("BPM(T=0.5,max_rel=4)@3", "BPM(T=2.0,min_rel=1,max_rel=3)@10", "INST(max_rel=3)", "INST(T=2.5,max_rel=4)"),
    *("INSQ(max_rel=3)", "INSQ(T=0.3,min_rel=1,max_rel=3)", "NERR8(max_rel=3)@5", "NERR9(max_rel=4)@20"),
    *("NERR10(max_rel=3)", "NERR10(p=0.5,max_rel=3)", "NERR11(max_rel=3)", "NERR11(T=0.4,max_rel=4)"),
    *("AP(judged_only=True)", "P(judged_only=True)@5", "nDCG(judged_only=True)@10", "SetP(judged_only=True)"),
    *("Rprec(judged_only=True)", "Success(judged_only=True,rel=2)@1", "P(cutoff=5,rel=2)", "nDCG(dcg='log2')@5"),
)
SAME_DIVERSITY_NAMES: tuple[str, ...] = (
    "alpha_nDCG@5",
    "alpha_nDCG(alpha=0.25)@10",
    "ERR_IA@10",
    "nERR_IA@5",
    "StRecall@5",
)
SAME_DIVERSITY_NAMES += ("alpha_DCG@5", "NRBP", "nNRBP(alpha=0.25,beta=0.75)", "P_IA@5", "AP_IA", "AP_IA(rel=2)")


@pytest.mark.parametrize("name", SAME_NAMES)
@examples(12)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_a_name_means_what_it_means_in_ir_measures(name: str, made: Generated) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        expected = theirs(ir_measures, name, plain(made.qrels), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@needs_cwl
@examples(200)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_all_other_names_mean_what_they_mean_in_ir_measures(made: Generated) -> None:
    ours = scores(made, *MORE_NAMES)
    measures = {name: ir_measures.parse_measure(name) for name in MORE_NAMES}
    for system, run in made.runs.items():
        found = ir_measures.iter_calc(measures.values(), plain(made.qrels), {t: dict(rows) for t, rows in run.items()})
        expected = {(row.query_id, row.measure): row.value for row in found}
        for topic in made.qrels:
            pairs = {
                name: (x, expected.get((topic, measures[name]), 0.0))
                for name, x in zip(MORE_NAMES, ours[system, topic], strict=True)
            }
            assert {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > TOLERANCE} == {}


@needs_cwl
@pytest.mark.proof
def test_all_other_names_mean_what_they_mean_in_ir_measures_on_real_runs(shared: Path) -> None:
    for folder, file in (("dl19", "ICT-BERT2.txt.gz"), ("trec8", "input.CL99SD.gz")):
        data = shared / "data" / folder
        assert_equals_ir_measures(data / "runs" / file, data / "qrels.txt.gz")


@needs_cwl
def test_all_other_names_mean_what_they_mean_in_ir_measures_on_a_run_of_the_example(example: Path) -> None:
    assert_equals_ir_measures(min((example / "runs").iterdir()), example / "qrels.txt")


def assert_equals_ir_measures(runs: Path, judgments: Path) -> None:
    collection = cranfield.read_collection(runs, judgments)
    table = score_collection(collection, MORE_NAMES, missing="drop")
    qrels: dict[str, dict[str, int]] = {topic: {} for topic in table.topics}
    for topic, document, grade in collection.judgments():
        if topic in qrels:
            qrels[topic][document] = int(grade)
    run = {t: {d: 9999.0 - at for at, d in enumerate(collection.ranking(table.systems[0], t))} for t in table.topics}
    measures = [ir_measures.parse_measure(name) for name in MORE_NAMES]
    expected = np.zeros((len(measures), len(table.topics)))
    for row in ir_measures.iter_calc(measures, qrels, run):
        expected[measures.index(row.measure), table.topics.index(row.query_id)] = row.value
    np.testing.assert_allclose(table.values[:, :, 0, 0], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["NumQ", "NumRel"])
@examples(12)
@given(made=collections(grades=(0, 0, 1, 3)))
def test_a_count_of_topics_and_relevant_documents_equals_ir_measures_where_the_run_has_the_topic(
    name: str, made: Generated
) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        expected = theirs(ir_measures, name, plain(made.qrels), run)
        for topic in set(made.qrels) & set(run):
            assert ours[system, topic] == [expected[topic]]


def test_difference_ir_measures_counts_neither_topics_nor_relevant_documents_of_topics_the_run_lacks() -> None:
    made = Generated({"1": {"a": 1}, "2": {"a": 1}}, {"run": {"1": {"a": 1.0}}})
    assert scores(made, "NumQ", "NumRel")["run", "2"] == [1.0, 1.0]
    assert theirs(ir_measures, "NumRel", plain(made.qrels), made.runs["run"]) == {"1": 1.0, "2": 0.0}


@pytest.mark.parametrize("name", ["Accuracy", "Accuracy@1", "Accuracy@5", "Accuracy(rel=3)@10"])
@examples(60)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_accuracy_equals_ir_measures_where_something_relevant_and_something_else_is_found(
    name: str, made: Generated
) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        for topic in set(made.qrels) & set(run):
            try:
                expected = theirs(ir_measures.accuracy, name, plain(made.qrels), {topic: run[topic]}).get(topic, 0.0)
            except ZeroDivisionError:  # which is theirs where all documents are relevant
                expected = 1.0
            assert ours[system, topic] == pytest.approx([expected], abs=TOLERANCE), (system, topic)


def test_difference_compat_in_ir_measures_places_documents_by_scores_below_0_after_those_not_retrieved() -> None:
    # The ideal list has the retrieved a first here; there b, which is not retrieved and has a score of 0, is first.
    made = Generated({"1": {"a": 1, "b": 1}}, {"run": {"1": {"a": -1.0}}})
    assert scores(made, "Compat(p=0.5)")["run", "1"] == pytest.approx([(1 + 0.5 / 2) / 1.5])
    assert theirs(ir_measures, "Compat(p=0.5)", plain(made.qrels), made.runs["run"]) == {"1": pytest.approx(0.25 / 1.5)}


def test_f_is_the_harmonic_mean_of_precision_and_recall() -> None:
    made = Generated({"1": {"a": 1, "b": 1, "c": 2}}, {"run": {"1": {"a": 3.0, "x": 2.0, "c": 1.0}}})
    p, r = scores(made, "P@4", "R@4")["run", "1"]
    by_hand = [2 * p * r / (p + r), 5 * p * r / (4 * p + r)]
    assert scores(made, "F@4", "F(beta=2)@4")["run", "1"] == pytest.approx(by_hand, abs=TOLERANCE)


@pytest.mark.parametrize("name", SAME_DIVERSITY_NAMES)
@examples(12)
@given(made=collections(with_intents=True).map(without_ties))
def test_a_diversity_name_means_what_it_means_in_ir_measures(name: str, made: Generated) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        expected = theirs(ir_measures, name, per_intent(list(made.intents)), run)
        for topic in made.qrels:
            wanted = np.nan_to_num(expected.get(topic, 0.0))  # 0 / 0 there, if no intent has a relevant document
            assert ours[system, topic] == pytest.approx([wanted], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize("p", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("rel", [1, 3])
@examples(15)
@given(made=collections())
def test_rbp_and_its_residual_are_what_the_definition_says(p: float, rel: int, made: Generated) -> None:
    ours = scores(made, f"RBP(p={p},rel={rel})", f"RBP(p={p},rel={rel})@4", f"RBP_residual(p={p})")
    for system, run in made.runs.items():
        for topic, grades in made.qrels.items():
            expected = by_definition(grades, ranking(run.get(topic, {})), p, rel)
            assert ours[system, topic] == pytest.approx(expected, abs=TOLERANCE), (system, topic)


def by_definition(grades: Mapping[str, int], documents: list[str], p: float, rel: int) -> list[float]:
    """RBP, RBP@4 and the residual: a reader who looks at rank r with probability p^(r − 1) and then stops or not."""
    looked, gained, early, unknown = 1.0, 0.0, 0.0, 0.0
    for rank, document in enumerate(documents, start=1):
        grade = grades.get(document, -1)
        gained += looked if grade >= rel else 0.0
        early += looked if grade >= rel and rank <= 4 else 0.0
        unknown += looked if grade < 0 else 0.0
        looked *= p
    # Whoever reads past the end of the list could find anything there: that is a residual of `looked` in all.
    return [(1 - p) * gained, (1 - p) * early, (1 - p) * unknown + looked]


@needs_cwl
@pytest.mark.parametrize("p", [0.5, 0.8])
@examples(20)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_rbp_equals_cwl_evals(p: float, made: Generated) -> None:
    ours = scores(made, f"RBP(p={p},rel=1)")
    for system, run in made.runs.items():
        expected = theirs(ir_measures.cwl_eval, f"RBP(p={p},rel=1)", plain(made.qrels), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)
