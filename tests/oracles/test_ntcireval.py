"""Against pyNTCIREVAL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from generated import Generated, collections, examples, ranking, scores
from hypothesis import given
from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import AP, ERR, RBP, RR, MSnDCG, PPlusMeasure, Precision, QMeasure, nDCG, nERR

TOLERANCE = 1e-9
LINEAR = [1, 2, 3, 4]
STEEP = [1.0, 2.5, 7.0, 15.0]  # what the four grades are worth, as a table would give it
TABLE = "gains=1:1,2:2.5,3:7,4:15"

Levels = Sequence[int]  # how many documents have grade 0, 1, …

# Measures that depend on the highest grade there is are told it, since a drawn collection need not reach it.
MEASURES: dict[str, Callable[[Levels], Any]] = {
    "nDCG(log=2)@7": lambda levels: nDCG(levels, LINEAR, 2, 7),
    "nDCG(log=10)@20": lambda levels: nDCG(levels, LINEAR, 10, 20),
    "nDCG(log=2.5)": lambda levels: nDCG(levels, LINEAR, 2.5, None),
    f"nDCG({TABLE},log=3)@10": lambda levels: nDCG(levels, STEEP, 3, 10),
    "nDCG@7": lambda levels: MSnDCG(levels, LINEAR, 7),
    f"nDCG({TABLE})@20": lambda levels: MSnDCG(levels, STEEP, 20),
    "nG@1": lambda levels: MSnDCG(levels, LINEAR, 1),
    "Q@7": lambda levels: QMeasure(levels, LINEAR, 1.0, 7),
    "Q": lambda levels: QMeasure(levels, LINEAR, 1.0),
    f"Q({TABLE},beta=0.3)@5": lambda levels: QMeasure(levels, STEEP, 0.3, 5),
    "P+": lambda levels: PPlusMeasure(levels, LINEAR, 1.0),
    f"P+({TABLE},beta=10)": lambda levels: PPlusMeasure(levels, STEEP, 10.0),
    "ERR(max=4)": lambda levels: ERR(levels, LINEAR),
    f"ERR({TABLE})": lambda levels: ERR(levels, STEEP),
    "nERR(max=4)@7": lambda levels: nERR(levels, LINEAR, 7),
    f"nERR({TABLE})@20": lambda levels: nERR(levels, STEEP, 20),
    "AP(norm=min)@7": lambda levels: AP(levels, LINEAR, 7),
    "AP": lambda levels: AP(levels, LINEAR),
    "P@7": lambda levels: Precision(7),
    "RR": lambda levels: RR(),
    "RBP(p=0.95,gains=linear,max=4)": lambda levels: RBP(levels, LINEAR, 0.95),
    f"RBP(p=0.5,{TABLE})": lambda levels: RBP(levels, STEEP, 0.5),
}


@pytest.mark.parametrize("measure", MEASURES)
@examples(25)
@given(made=collections())
def test_a_measure_equals_pyntcirevals(measure: str, made: Generated) -> None:
    ours = scores(made, measure)
    for system, run in made.runs.items():
        for topic, grades in made.qrels.items():
            expected = theirs(measure, grades, run.get(topic, {}))
            assert ours[system, topic] == pytest.approx([expected], abs=TOLERANCE), (system, topic)


def theirs(measure: str, grades: Mapping[str, int], scored: Mapping[str, float]) -> float:
    # They have no negative grades, no topics without relevant documents and no empty lists: nothing judged below 0,
    # and 0 for the other two, is this library's policy.
    labeler = Labeler({document: grade for document, grade in grades.items() if grade >= 0})
    if not scored or labeler.compute_rel_num() == 0:
        return 0.0
    metric = MEASURES[measure](labeler.compute_per_level_doc_num(1 + len(LINEAR)))
    return float(metric.compute(labeler.label(ranking(scored))))


def test_difference_pyntcireval_has_the_highest_grade_from_the_user_and_here_the_collection_says_it() -> None:
    made = Generated({"1": {"a": 2}}, {"run": {"1": {"a": 1.0}}})
    by_hand = {"ERR": 2 / (2 + 1), "ERR(max=4)": 2 / (4 + 1)}
    assert scores(made, *by_hand)["run", "1"] == pytest.approx(list(by_hand.values()), abs=TOLERANCE)
    assert ERR([0, 0, 1, 0, 0], LINEAR).compute([("a", 2)]) == pytest.approx(by_hand["ERR(max=4)"])


def test_difference_pyntcireval_divides_ap_at_k_by_the_smaller_of_k_and_r_and_here_norm_says_so() -> None:
    made = Generated({"1": {"a": 1, "b": 1, "c": 1}}, {"run": {"1": {"a": 2.0, "b": 1.0}}})
    assert scores(made, "AP@2", "AP(norm=min)@2")["run", "1"] == [2 / 3, 1.0]
    assert AP([0, 3, 0, 0, 0], LINEAR, 2).compute([("a", 1), ("b", 1)]) == 1.0
