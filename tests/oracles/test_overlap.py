"""Rank-biased overlap between runs, against a sum over ranks that goes on as long as it matters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from generated import Generated, collections, examples, ranking, read, scores
from hypothesis import given

import cranfield
from cranfield.errors import RequestError
from cranfield.measures import parse_measure
from cranfield.scores.evaluation import score_collection

TOLERANCE = 1e-9
ENDLESS = 4000  # ranks; 0.98 to that power is 1e-35


def by_definition(one: list[str], two: list[str], p: float, form: str) -> float:
    """(1 − p)·Σ p^(d − 1)·A_d, the agreement A_d below the ends of the lists as the form supposes it."""
    if not one or not two:
        return 0.0
    short, long = sorted((len(one), len(two)))
    common_short = len(set(one[:short]) & set(two[:short]))
    total = 0.0
    for d in range(1, ENDLESS):
        depth = min(d, long)
        common: float = len(set(one[:depth]) & set(two[:depth]))
        if form == "ext":
            common += common_short / short * max(depth - short, 0)
        agreement = common / (depth if form == "ext" else d)
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@pytest.mark.parametrize("form", ["ext", "min"])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
@examples(8)
@given(made=collections(most_topics=2))
def test_overlap_is_what_its_definition_says(p: float, form: str, made: Generated) -> None:
    ours = scores(made, f"RBO(p={p},to=run0,form={form})", f"RBO(p={p},to=run0,form={form})@3")
    for system, run in made.runs.items():
        for topic in made.qrels:
            one, two = (ranking(each.get(topic, {})) for each in (run, made.runs["run0"]))
            expected = [by_definition(one, two, p, form), by_definition(one[:3], two[:3], p, form)]
            assert ours[system, topic] == pytest.approx(expected, abs=TOLERANCE), (system, topic)


def of_lists(one: str, two: str, *measures: str) -> list[float]:
    runs = {
        name: {"1": {document: -float(at) for at, document in enumerate(letters)}}
        for name, letters in {"one": one, "two": two}.items()
    }
    return scores(Generated({"1": {"a": 1}}, runs), *measures)["one", "1"]


def test_a_list_has_all_of_itself() -> None:
    assert of_lists("abcdefg", "abcdefg", "RBO(to=two)", "RBO(p=0.5,to=two)@3") == pytest.approx([1, 1], abs=1e-12)


def test_the_first_ten_ranks_have_86_percent_of_the_weight_with_p_of_9_tenths() -> None:
    # As Webber et al. (2010) print. What lists that agree down to there have for certain is that weight (eq. 21).
    (found,) = of_lists("abcdefghij", "abcdefghij", "RBO(p=0.9,to=two,form=min)")
    assert round(found, 2) == 0.86


def test_two_lists_of_webber_et_al_2010_have_the_overlap_that_follows_from_their_agreement() -> None:
    # The agreement of these lists down to depths 1 to 7 is 0, 0, 2/3, 1/2, 2/5, 1/3 and 2/7.
    agreement = [0, 0, 2 / 3, 1 / 2, 2 / 5, 1 / 3, 2 / 7]
    p = 0.9
    sums = sum((1 - p) * p**at * each for at, each in enumerate(agreement))
    expected = sums + agreement[-1] * p**7  # eq. 30
    assert of_lists("abcdefg", "zcavwxy", "RBO(to=two)") == pytest.approx([expected], abs=1e-12)


def test_overlap_lies_between_the_least_and_one_and_does_not_depend_on_which_list_comes_first() -> None:
    least, found = of_lists("abcde", "bxa", "RBO(to=two,form=min)", "RBO(to=two)")
    assert 0 < least < found < 1
    assert of_lists("bxa", "abcde", "RBO(to=two,form=min)", "RBO(to=two)") == pytest.approx([least, found], abs=1e-12)


@pytest.mark.parametrize("name", ["a@b", "P_10", "x=y", "in(1)", "two words", "input.CL99SD", "R@10"])
def test_names_of_runs_are_read_as_they_are(name: str) -> None:
    measure = parse_measure(f"RBO(p=0.8,to={name})@5")
    assert measure["to"] == name
    assert parse_measure(str(measure)) == measure


def test_a_run_that_is_not_there_is_refused_with_those_that_are() -> None:
    made = Generated({"1": {"a": 1}}, {"bm25": {"1": {"a": 1.0}}})
    with pytest.raises(RequestError, match="no run «dense»") as error:
        score_collection(read(made), "RBO(to=dense)")
    assert error.value.fix == "There are: bm25."


def test_without_a_name_the_first_run_is_compared_with_and_the_result_says_so() -> None:
    made = Generated({"1": {"a": 1}}, {"b": {"1": {"a": 1.0, "x": 0.5}}, "a": {"1": {"x": 1.0, "a": 0.5}}})
    table = score_collection(read(made), ["RBO(p=0.5)", "RBO(p=0.5,to=a)", "RBO(p=0.5,to=b)"])
    unnamed, first, second = table.values[:, 0, :, 0].tolist()
    assert unnamed == first != second
    (caution,) = [warning for warning in table.warnings if warning.slug == "first-run"]
    assert caution.what == "RBO(p=0.5) compares with «a», the first run by name"


def test_a_topic_without_results_in_either_run_has_no_overlap() -> None:
    made = Generated({"1": {"a": 1}, "2": {"a": 1}}, {"one": {"1": {"a": 1.0}}, "two": {"2": {"a": 1.0}}})
    assert set(map(tuple, scores(made, "RBO(to=two)").values())) == {(0.0,), (1.0,)}
    assert scores(made, "RBO(to=two)")["two", "2"] == [1.0]
    assert scores(made, "RBO(to=two)")["two", "1"] == [0.0]


def test_overlap_does_not_depend_on_judgments() -> None:
    runs = {"one": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "two": {"1": {"b": 3.0, "c": 2.0, "x": 1.0}}}
    made = Generated({"1": {"a": 1}}, runs)
    other = replace(made, qrels={"1": {"x": 0, "c": 3}})
    assert scores(made, "RBO(to=one)") == scores(other, "RBO(to=one)")
    assert cranfield.score(runs, qrels=made.qrels, measure="RBO(to=one)").table.values.max() == pytest.approx(1.0)
