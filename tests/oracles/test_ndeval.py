"""Against pyndeval, which is TREC's ndeval."""

from __future__ import annotations

import math

import pyndeval
import pytest
from generated import Generated, Run, collections, examples, ranking, scores
from hypothesis import given

TOLERANCE = 1e-9

# Powers of 1 − α for these are exact in binary, so that documents that add the same tie in both programs.
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


def theirs(
    made: Generated, run: Run, measure: str, *, alpha: float = 0.5, beta: float = 0.5, rel: int = 1
) -> dict[str, float]:
    """topic → score. They break ties by ascending id, so they are given the ranks."""
    ranks = [(topic, doc, -float(at)) for topic, rows in run.items() for at, doc in enumerate(ranking(rows))]
    evaluator = pyndeval.RelevanceEvaluator(made.intents, [measure], relevance_level=rel, alpha=alpha, beta=beta)
    return {topic: found[measure] for topic, found in evaluator.evaluate(ranks).items()}


@pytest.mark.parametrize("cutoff", [2, 5, 10, 20])
@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("alpha-nDCG", "alpha_nDCG"),
        ("alpha-DCG", "alpha_DCG"),
        ("ERR-IA", "ERR_IA"),
        ("nERR-IA", "nERR_IA"),
        ("P-IA", "P_IA"),
        ("strec", "I-rec"),
    ],
)
@examples(25)
@given(made=collections(with_intents=True))
def test_a_measure_equals_ndevals(name: str, measure: str, cutoff: int, made: Generated) -> None:
    ours = scores(made, f"{measure}@{cutoff}")
    for system, run in made.runs.items():
        expected = theirs(made, run, f"{name}@{cutoff}")
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize(
    ("alpha", "beta", "rel"), [(0.5, 0.5, 1), (0.0, 0.75, 1), (0.25, 0.9, 2), (1.0, 0.3, 1), (0.75, 0.0, 3)]
)
@examples(40)
@given(made=collections(with_intents=True))
def test_measures_of_whole_lists_equal_ndevals(alpha: float, beta: float, rel: int, made: Generated) -> None:
    parameters = f"alpha={alpha},beta={beta},rel={rel}"
    names = {"NRBP": f"NRBP({parameters})", "nNRBP": f"nNRBP({parameters})", "MAP-IA": f"AP_IA(rel={rel})"}
    ours = scores(made, *names.values())
    for system, run in made.runs.items():
        found = [theirs(made, run, name, alpha=alpha, beta=beta, rel=rel) for name in names]
        for topic in made.qrels:
            # Where nothing is relevant to any intent they divide by 0, and here the score is 0.
            expected = [0.0 if math.isnan(x) else x for x in (each.get(topic, 0.0) for each in found)]
            assert ours[system, topic] == pytest.approx(expected, abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", ["alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA"])
@examples(12)
@given(made=collections(with_intents=True))
def test_alpha_means_what_it_means_in_ndeval(name: str, alpha: float, made: Generated) -> None:
    ours = scores(made, f"{name}(alpha={alpha})@5")
    for system, run in made.runs.items():
        expected = theirs(made, run, f"{name}@5", alpha=alpha)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize(
    ("name", "measure"),
    [("alpha-nDCG", "alpha_nDCG"), ("nERR-IA", "nERR_IA"), ("alpha-DCG", "alpha_DCG"), ("strec", "I-rec")],
)
@examples(12)
@given(made=collections(with_intents=True))
def test_rel_means_what_the_relevance_level_means_in_ndeval(name: str, measure: str, made: Generated) -> None:
    ours = scores(made, f"{measure}(rel=2)@5")
    for system, run in made.runs.items():
        expected = theirs(made, run, f"{name}@5", rel=2)
        for topic in made.qrels:
            assert ours[system, topic] == pytest.approx([expected.get(topic, 0.0)], abs=TOLERANCE), (system, topic)


@pytest.mark.parametrize("cutoff", [1, 10, 20])
def test_err_ia_equals_ndevals_where_the_cutoff_is_deeper_than_every_list_and_judgment(cutoff: int) -> None:
    made = Generated({}, {"run": {"1": {"a": 2.0, "b": 1.0}}}, [("1", "1", "a", 1), ("1", "1", "b", 1)])
    expected = theirs(made, made.runs["run"], f"ERR-IA@{cutoff}")
    assert scores(made, f"ERR_IA@{cutoff}")["run", "1"] == pytest.approx([expected["1"]], abs=TOLERANCE)


def test_difference_ndeval_does_not_divide_err_ia_at_1_and_here_it_is_divided_as_at_any_cutoff() -> None:
    # Both intents are served at once: the best there is, which is 1 from cutoff 2 on in ndeval and always here.
    made = Generated({}, {"run": {"1": {"a": 1.0}}}, [("1", "1", "a", 1), ("1", "2", "a", 1)])
    assert theirs(made, made.runs["run"], "ERR-IA@1") == {"1": 2.0}
    assert scores(made, "ERR_IA@1")["run", "1"] == [1.0]


def test_difference_pyndeval_breaks_ties_by_ascending_id_and_here_by_descending() -> None:
    made = Generated({}, {"run": {"1": {"a": 1.0, "b": 1.0}}}, [("1", "1", "a", 1)])
    evaluator = pyndeval.RelevanceEvaluator(made.intents, ["alpha-nDCG@1"])
    assert evaluator.evaluate([("1", "a", 1.0), ("1", "b", 1.0)]) == {"1": {"alpha-nDCG@1": 1.0}}
    assert scores(made, "alpha_nDCG@1", "alpha_nDCG@2")["run", "1"] == pytest.approx([0.0, 0.6309297535714575])


def test_the_greedy_ideal_list_can_be_beaten_here_as_in_ndeval() -> None:
    # All three serve three intents. Greedy takes c, the highest id, then b, which serves 4, 6 and for the second time
    # 3: 3 + 2.5 / log2(3). The run has a and b, which serve all six: 3 + 3 / log2(3).
    served = {"a": (1, 2, 5), "b": (3, 4, 6), "c": (1, 2, 3)}
    rows = [("1", str(intent), doc, 1) for doc, intents in served.items() for intent in intents]
    made = Generated({}, {"run": {"1": {"a": 2.0, "b": 1.0}}}, rows)
    discount = 0.6309297535714575  # 1 / log2(3)
    expected = (3 + 3 * discount) / (3 + 2.5 * discount)  # 1.0689
    assert scores(made, "alpha_nDCG@2")["run", "1"] == pytest.approx([expected], abs=TOLERANCE)
    assert theirs(made, made.runs["run"], "alpha-nDCG@2")["1"] == pytest.approx(expected, abs=TOLERANCE)
