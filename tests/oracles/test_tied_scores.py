"""Scores averaged over ties, against the mean over every order of the tied documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated import DOCUMENTS, Generated, collections, examples, ranking, read, write_files
from hypothesis import given
from hypothesis import strategies as st
from test_every_measure import only

import cranfield
from cranfield.errors import RequestError
from cranfield.measures import CATALOG, parse_measures
from cranfield.scores.evaluation import score_collection, score_view

TOLERANCE = 1e-12
MEASURES = (
    *("AP", "AP@2", "AP@4", "AP(norm=min)@3", "AP(rel=2)@5", "AP(judged_only=True)", "AP(judged_only=True)@2"),
    *("P@1", "P@3", "P@20", "P(judged_only=True)@2", "R@2", "R(rel=2)@4", "Rprec", "Rprec(rel=2)", "RR", "RR@1"),
    *("RR@3", "RR(rel=3)@4", "RR(judged_only=True)@2", "Success@1", "Success@2", "Success@4", "Success(rel=3)@3"),
    *("relative_P@3", "Bpref", "Bpref(rel=2)", "Judged@1", "Judged@3", "Judged", "F@2", "F(beta=2)@4", "SetF", "SetP"),
    *("DCG", "DCG@3", "DCG(gains=exp)@4", "DCG(log=2)@3", "nDCG", "nDCG@3", "nDCG(gains=exp)@5", "nDCG(log=10)@4"),
    *("nDCG(gains=1:1,2:3,3:7,4:9,log=2)@2", "nDCG(judged_only=True)@3", "nG@1", "RBP(p=0.7)", "RBP(p=0.5)@2"),
    *("RBP(p=0.7,gains=exp,max=4)", "RBP_residual(p=0.7)", "NumRet", "SetAP", "SetR", "utility", "Rprec_mult@0.5"),
)


def averaged(made: Generated, *measures: str, **more: str) -> Any:
    return score_collection(read(made, ties="average", **more), measures)


def orders(scored: dict[str, float]) -> Iterator[list[str]]:
    """Every order of a list in which no document is above one with a higher score."""
    best_first = sorted(scored, key=lambda document: -scored[document])
    groups = [list(group) for _, group in groupby(best_first, key=lambda document: scored[document])]
    for chosen in product(*(permutations(group) for group in groups)):
        yield [document for group in chosen for document in group]


@st.composite
def tied_lists(draw: st.DrawFn) -> Generated:
    """One topic and one list of up to seven documents with up to three different scores."""
    grades = st.sampled_from((-2, -1, 0, 0, 1, 1, 2, 3))
    judged = draw(st.dictionaries(st.sampled_from(DOCUMENTS[:10]), grades, min_size=1, max_size=9))
    judged[DOCUMENTS[12]] = draw(st.sampled_from((0, 1, 4)))
    listed = st.dictionaries(
        st.sampled_from((*DOCUMENTS[:10], "unjudged1", "unjudged2")), st.sampled_from((1.0, 2.0, 3.0)), min_size=1
    )
    scored = dict(list(draw(listed).items())[:6])
    return Generated({"1": judged}, {"run": {"1": scored}})


@examples(120)
@given(made=tied_lists())
def test_a_score_averaged_over_ties_is_the_mean_over_all_orders(made: Generated) -> None:
    table = averaged(made, *MEASURES)
    every = list(orders(dict(made.runs["run"]["1"])))
    runs = {f"order{at}": {"1": {d: -float(r) for r, d in enumerate(order)}} for at, order in enumerate(every)}
    one_by_one = score_collection(read(replace(made, runs=runs)), MEASURES).values[:, 0, :, 0]
    expected = dict(zip(MEASURES, one_by_one.mean(axis=1).tolist(), strict=True))
    found = dict(zip(MEASURES, table.values[:, 0, 0, 0].tolist(), strict=True))
    assert {name: (x, expected[name]) for name, x in found.items() if abs(x - expected[name]) > TOLERANCE} == {}


def test_numbers_worked_out_by_hand() -> None:
    # One relevant document among three tied ones, after one that is not relevant: ranks 2, 3 and 4.
    made = Generated({"1": {"a": 1, "z": 0}}, {"run": {"1": {"z": 2.0, "a": 1.0, "b": 1.0, "c": 1.0}}})
    table = averaged(made, "RR", "AP", "P@2", "Success@3", "Bpref")
    expected = [(1 / 2 + 1 / 3 + 1 / 4) / 3, (1 / 2 + 1 / 3 + 1 / 4) / 3, 1 / 3 / 2, 2 / 3, 0.0]
    assert table.values[:, 0, 0, 0].tolist() == pytest.approx(expected, abs=TOLERANCE)


@examples(40)
@given(made=collections())
def test_without_ties_averages_are_ordinary_scores_to_the_bit(made: Generated) -> None:
    untied = {
        system: {topic: {d: -float(at) for at, d in enumerate(ranking(rows))} for topic, rows in run.items()}
        for system, run in made.runs.items()
    }
    made = replace(made, runs=untied)
    assert averaged(made, *MEASURES).values.tobytes() == score_collection(read(made), MEASURES).values.tobytes()


@examples(15)
@given(made=collections())
def test_averages_interpreted_and_compiled_are_the_same_to_the_bit(made: Generated) -> None:
    collection = read(made, ties="average")
    with only(machine_code=False):
        interpreted = score_view(collection.whole, parse_measures(MEASURES)).tobytes()
    with only(machine_code=True):
        assert score_view(collection.whole, parse_measures(MEASURES)).tobytes() == interpreted


def test_every_measure_that_is_declared_to_average_ties_is_tried_and_every_other_is_refused() -> None:
    able = {kind.name for kind in CATALOG.values() if kind.averages_ties}
    tried = {measure.kind.name for measure in parse_measures(MEASURES)}
    assert able - tried == {"NumQ", "NumRel", "num_nonrel_judged_ret"}  # which no order changes
    made = Generated({"1": {"a": 1}}, {"run": {"1": {"a": 1.0, "b": 1.0}}})
    collection = read(made, ties="average")
    for kind in CATALOG.values():
        if not kind.averages_ties:
            with pytest.raises(RequestError, match="no expected value") as error:
                score_collection(collection, kind.example)
            assert error.value.fix.startswith('With `ties="average"` there are: AP, P, R, Rprec, RR, Success,')


def test_after_rounding_to_single_precision_ties_are_those_of_single_precision() -> None:
    close = {"a": 1 + 2**-40, "b": 1.0}
    made = Generated({"1": {"b": 1}}, {"run": {"1": close}})
    assert averaged(made, "P@1").values.ravel().tolist() == [0.0]
    assert averaged(made, "P@1", precision="single").values.ravel().tolist() == [0.5]


def test_a_result_says_in_how_many_lists_ties_are_and_change_a_score() -> None:
    runs = {
        "one": {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 0.5}},
        "two": {"1": {"a": 2.0, "x": 1.0, "y": 1.0}, "2": {"b": 1.0}},
    }
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    result = cranfield.score(runs, qrels=qrels, measure=["P@1", "RR"], source={"ties": "average"})
    (caution,) = [each for each in result.warnings if each.slug == "ties-averaged"]
    assert "same score are in 2 of 4 lists" in caution.what
    assert "in 1 of them, by at most 0.5000 (P@1, one, topic 1)" in caution.what
    assert result.table.of("RR").ravel().tolist() == [0.75, 1.0, 1.0, 0.0]
    calm = cranfield.score({"two": runs["two"]}, qrels=qrels, measure="RR", source={"ties": "average"})
    (caution,) = [each for each in calm.warnings if each.slug == "ties-averaged"]
    assert caution.what == "documents with the same score are in 1 of 2 lists, and their order changes no score"


def test_what_needs_one_order_refuses_averaged_ties(tmp_path: Path) -> None:
    made = Generated({"1": {"a": 1}}, {"run": {"1": {"a": 1.0, "b": 1.0}}})
    collection = read(made, ties="average")
    shards = np.zeros(len(collection.documents), np.int32)
    for refused in (
        lambda: collection.save(tmp_path / "packed.cran"),
        lambda: collection.sharded(shards),
        lambda: collection.pool(1),
        lambda: collection.cut(1),
        lambda: collection.pool_depth,
    ):
        with pytest.raises(RequestError, match="needs one order"):
            refused()


def test_a_packed_collection_cannot_average_ties_and_says_what_to_give(tmp_path: Path) -> None:
    made = Generated({"1": {"a": 1}}, {"run": {"1": {"a": 1.0, "b": 1.0}}})
    write_files(made, tmp_path)
    cranfield.pack(tmp_path / "runs", qrels=str(tmp_path / "qrels"), out=str(tmp_path / "packed.cran"))
    with pytest.raises(RequestError, match="ranked and named already") as error:
        cranfield.score(tmp_path / "packed.cran", source={"ties": "average"})
    assert error.value.fix == '`source={"ties": "average"}` needs the runs.'
