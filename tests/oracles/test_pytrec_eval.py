"""Against pytrec_eval, which is trec_eval's own code."""

from __future__ import annotations

import pytest
import pytrec_eval
from generated import Generated, Judgments, Run, collections, examples, ranking, read, scores
from hypothesis import given

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
