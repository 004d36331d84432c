"""D-nDCG, I-rec and D#-nDCG, worked by hand: there is no package that computes NTCIR's definitions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from generated import Generated, scores

# One topic, three intents, of which nothing is relevant to the third.
#
#             intent 1   intent 2   intent 3
#   a            2          –          0
#   b            –          1          –
#   c            1          3          –
#
# The run returns b, then x, which nobody judged, then a.
JUDGED = [("1", "1", "a", 2), ("1", "3", "a", 0), ("1", "2", "b", 1), ("1", "1", "c", 1), ("1", "2", "c", 3)]
RUN = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}}
RANK_2 = 0.6309297535714575  # the discount 1 / log2(2 + 1); at rank 1 it is 1, at rank 3 it is 1 / log2(4) = 0.5


def score(measure: str, probabilities: Mapping[tuple[str, str], float] | None = None) -> float:
    (found,) = scores(Generated({}, {"run": RUN}, JUDGED, probabilities), measure)["run", "1"]
    return found


def test_d_ndcg_with_equally_likely_intents() -> None:
    # Global gains with P = 1/3 each: a 2/3, b 1/3, c (1 + 3)/3 = 4/3.
    # Run:   1/3 · 1 + 0 + 2/3 · 0.5             = 2/3
    # Ideal: 4/3 · 1 + 2/3 · 0.63093 + 1/3 · 0.5 = 1.92062
    assert score("D-nDCG@3") == pytest.approx((2 / 3) / (4 / 3 + 2 / 3 * RANK_2 + 1 / 6), abs=1e-12)
    assert score("D-nDCG@3") == pytest.approx(0.34711, abs=5e-6)


def test_d_ndcg_with_intent_probabilities() -> None:
    # Global gains with P = 0.6, 0.2, 0.2: a 0.6 · 2 = 1.2, b 0.2 · 1 = 0.2, c 0.6 · 1 + 0.2 · 3 = 1.2.
    # Run:   0.2 · 1 + 0 + 1.2 · 0.5             = 0.8
    # Ideal: 1.2 · 1 + 1.2 · 0.63093 + 0.2 · 0.5 = 2.05712
    likely = {("1", "1"): 0.6, ("1", "2"): 0.2, ("1", "3"): 0.2}
    assert score("D-nDCG@3", likely) == pytest.approx(0.8 / (1.2 + 1.2 * RANK_2 + 0.1), abs=1e-12)
    assert score("D-nDCG@3", likely) == pytest.approx(0.38889, abs=5e-6)


def test_probabilities_need_not_sum_to_1() -> None:
    given = {("1", "1"): 0.3, ("1", "2"): 0.1, ("1", "3"): 0.1}  # half of 0.6, 0.2, 0.2
    assert score("D-nDCG@3", given) == pytest.approx(0.8 / (1.2 + 1.2 * RANK_2 + 0.1), abs=1e-12)


def test_d_ndcg_is_cut_in_the_run_and_in_the_ideal_list() -> None:
    # At 1: the run has b, 1/3; the ideal list has c, 4/3.
    assert score("D-nDCG@1") == pytest.approx(0.25, abs=1e-12)
    # At 2: the run still has 1/3; the ideal list has 4/3 + 2/3 · 0.63093 = 1.75395.
    assert score("D-nDCG@2") == pytest.approx((1 / 3) / (4 / 3 + 2 / 3 * RANK_2), abs=1e-12)


def test_d_ndcg_takes_the_gains_of_each_intent_before_they_are_added_up() -> None:
    # 2^g − 1 with P = 1/3: a 3/3 = 1, b 1/3, c (1 + 7)/3 = 8/3.
    # Run:   1/3 · 1 + 0 + 1 · 0.5
    # Ideal: 8/3 · 1 + 1 · 0.63093 + 1/3 · 0.5
    assert score("D-nDCG(gains=exp)@3") == pytest.approx((1 / 3 + 0.5) / (8 / 3 + RANK_2 + 1 / 6), abs=1e-12)


def test_intent_recall_counts_intents_that_something_is_relevant_to() -> None:
    # b serves intent 2, x none, a intent 1; intent 3 has no relevant document, so there are two to be served.
    assert [score(f"I-rec@{k}") for k in (1, 2, 3, 10)] == [0.5, 0.5, 1.0, 1.0]
    # With rel=2 b is not relevant any more; a serves intent 1 and c, which is not returned, intent 2.
    assert [score(f"I-rec(rel=2)@{k}") for k in (1, 2, 3)] == [0.0, 0.0, 0.5]


def test_intent_recall_does_not_depend_on_how_likely_intents_are() -> None:
    assert score("I-rec@1", {("1", "1"): 0.9, ("1", "2"): 0.1}) == 0.5


def test_d_sharp_ndcg_is_halfway_between_intent_recall_and_d_ndcg_unless_gamma_says_otherwise() -> None:
    d_ndcg = (2 / 3) / (4 / 3 + 2 / 3 * RANK_2 + 1 / 6)  # 0.34711, as above; I-rec@3 is 1
    assert score("D#-nDCG@3") == pytest.approx(0.5 * 1 + 0.5 * d_ndcg, abs=1e-12)
    assert score("D#-nDCG@3") == pytest.approx(0.67356, abs=5e-6)
    assert score("D#-nDCG(gamma=0.2)@3") == pytest.approx(0.2 * 1 + 0.8 * d_ndcg, abs=1e-12)
    assert score("D#-nDCG(gamma=0)@3") == pytest.approx(d_ndcg, abs=1e-12)
    assert score("D#-nDCG(gamma=1)@1") == 0.5


def test_alpha_ndcg_and_err_ia_of_the_same_run_by_hand() -> None:
    # b serves intent 2, a intent 1, both for the first time: 1 · 1 + 1 · 0.5 = 1.5.
    # Greedy ideal: c serves both, 2; then b (of a and b, which add 0.5 each, the higher id), then a.
    assert score("alpha_nDCG@3") == pytest.approx(1.5 / (2 + 0.5 * RANK_2 + 0.5 * 0.5), abs=1e-12)
    # ERR: 1/1 + 1/3 = 4/3. Two intents served by every document: 2 · (1 + 0.5/2 + 0.25/3) = 8/3.
    assert score("ERR_IA@3") == pytest.approx((4 / 3) / (8 / 3), abs=1e-12)
    # Greedy ideal: 2 + 0.5/2 + 0.5/3 = 29/12.
    assert score("nERR_IA@3") == pytest.approx((4 / 3) / (29 / 12), abs=1e-12)
