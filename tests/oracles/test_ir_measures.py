"""Against ir_measures: its own Judged, gdeval's ERR, cwl_eval's RBP, and the meaning of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ir_measures
import pytest
from generated import Generated, IntentRow, Judgments, Run, collections, examples, ranking, scores
from hypothesis import given

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
    """The same lists without ties: minus the rank for a score."""
    return {topic: {doc: -float(rank) for rank, doc in enumerate(ranking(rows))} for topic, rows in run.items()}


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


SAME_NAMES = ("AP", "AP@5", "P@5", "R@10", "Rprec", "RR", "RR@3", "Bpref", "nDCG", "nDCG@10", "Judged@10")
SAME_DIVERSITY_NAMES = ("alpha_nDCG@5", "alpha_nDCG(alpha=0.25)@10", "ERR_IA@10", "nERR_IA@5", "StRecall@5")


@pytest.mark.parametrize("name", SAME_NAMES)
@examples(12)
@given(made=collections(grades=(0, 0, 1, 3)).map(without_ties))
def test_a_name_means_what_it_means_in_ir_measures(name: str, made: Generated) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        expected = theirs(ir_measures, name, plain(made.qrels), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize("name", SAME_DIVERSITY_NAMES)
@examples(12)
@given(made=collections(with_intents=True).map(without_ties))
def test_a_diversity_name_means_what_it_means_in_ir_measures(name: str, made: Generated) -> None:
    ours = scores(made, name)
    for system, run in made.runs.items():
        expected = theirs(ir_measures, name, per_intent(list(made.intents)), run)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


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
