"""The functions variance, size and power: what they take, what they give, and that it is what the commands print."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.methods.verification.designs import read_designs
from cranfield.questions import find_question
from cranfield.web.calculators import PowerQuery, SizeQuery


@pytest.fixture(scope="module")
def scores() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(5)
    hard = rng.uniform(0.2, 0.6, 30)
    return {f"s{at}": dict(zip(map(str, range(30)), hard + rng.uniform(0, 0.3, 30), strict=True)) for at in range(4)}


def printed(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"difference": 0.05, "sd": 0.15, "systems": 10},
        {"effect_size": 0.4, "one_sided": True},
        {"min_range": 0.1, "systems": [5, 10], "variance": 0.053},
        {"equivalence": 0.3},
        {"non_inferiority": 0.3},
        {"width": 0.1, "sd": 0.15},
        {"width": 0.1, "sd": 0.15, "probability": 0.9},
        {"sensitivity": 0.05, "sd": 0.15},
    ],
    ids=lambda given: next(iter(given)),
)
def test_a_size_pickles_and_still_computes(given: dict[str, Any]) -> None:
    found = by_flags.size(**given)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    size = again.sizes[0]
    assert size.with_topics(size.topics) == pytest.approx(size.achieved)


def test_results_from_a_pilot_pickle(scores: Any) -> None:
    for found in (
        cf.size(scores, difference=0.05, goal={"assurance": 0.8}),
        cf.power(scores),
        cf.variance(scores),
        cf.variance(scores, pairs=True),
    ):
        assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_the_function_gives_what_the_command_prints() -> None:
    grid = ("--systems", "10,100", "--min-range", "0.1:0.2:0.05", "--variance", "0.053")
    found = cf.size(systems=[10, 100], goal={"min_range": [0.1, 0.15, 0.2]}, variance=0.053)
    assert found.to_dict() == printed("size", *grid)
    assert found.inputs["systems"] == [10, 100]
    assert found.inputs["power"] == [0.8]
    assert cf.power(topics=50, sd=0.15).to_dict() == printed("power", "--topics", "50", "--sd", "0.15")


def test_topics_out_of_reach_are_none() -> None:
    assert cf.size(difference=[0.001, 0.1], sd=0.15, goal={"limit": 100}).topics == [None, 20]


def test_a_gate_that_fails_is_an_exit_code_of_1() -> None:
    assert cf.power(topics=50, sd=0.15, gate="difference=0.01").exit_code == 1
    assert cf.power(topics=50, sd=0.15, gate="difference=0.1").exit_code == 0


@pytest.mark.parametrize("step", [0.0, 0.01])
def test_differences_that_do_not_vary_have_no_power_and_no_flag_is_blamed(step: float) -> None:
    table = {name: {str(at): 0.2 + shift + step * at for at in range(12)} for name, shift in (("a", 0.0), ("b", 0.1))}
    with pytest.raises(cf.RequestError, match="the differences of score do not vary over topics"):
        cf.power(table)


def test_what_reads_scores_is_refused_without_them() -> None:
    with pytest.raises(cf.RequestError, match="`measure` has no effect without scores"):
        cf.size(difference=0.05, sd=0.15, measure="AP")
    with pytest.raises(cf.RequestError, match="has no effect without scores"):
        cf.power(topics=50, sd=0.15, spread={"small_pilot": True})


def test_pairs_of_several_measures_are_one_document(scores: Any) -> None:
    table = {
        system: {topic: {"AP": score, "P": score**2} for topic, score in by_topic.items()}
        for system, by_topic in scores.items()
    }
    rows = cf.variance(table, pairs=True).to_dict()["rows"]
    assert [row["measure"] for row in rows] == ["AP"] * 6 + ["P"] * 6


@pytest.mark.parametrize("one_sided", [False, True])
def test_a_design_that_is_printed_can_be_verified(tmp_path: Path, one_sided: bool) -> None:
    path = tmp_path / "design.json"
    found = cf.size(difference=0.05, sd=0.15, family={"one_sided": one_sided}, goal={"method": "t"})
    path.write_text(json.dumps(found.to_dict()))
    (design,) = read_designs(path)
    assert (design.topics, design.sides) == (found.topics[0], 1 if one_sided else 2)


def test_the_calculators_take_what_the_questions_take() -> None:
    apart = {"measure", "missing", "small_pilot", "assurance", "estimate"}
    for name, query, own in (("size", SizeQuery, {"goal", "curve"}), ("power", PowerQuery, set())):
        parameters = find_question(name).parameters.values()
        asked = {each.name for each in parameters if not each.is_source}
        assert set(query.model_fields) == asked - apart | own


def test_a_small_pilot_gives_a_range_and_the_estimate() -> None:
    scores = np.random.default_rng(4).normal(0.5, 0.1, (1, 7, 3, 1))
    table = cf.ScoreTable(("AP",), tuple("1234567"), tuple("abc"), scores)
    found = cf.size(table, difference=0.05)
    row = found.to_dict()["rows"][0]
    assert f"between {row['topics_lower']:,} and {row['topics_upper']:,} topics detect" in found.summary()
    estimate = f"{row['topics']:,} topics, with expected power (assurance) {row['assurance']:.2f}."
    assert f"At the estimated variance: {estimate}" in found.summary()
