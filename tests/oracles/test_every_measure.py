"""What must hold of every measure in the catalogue, whichever it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pytest
from catalogued import EVERY, SETTINGS, stands_alone
from generated import DOCUMENTS, INTENTS, Generated, collections, examples, read, scores
from hypothesis import given
from hypothesis import strategies as st

import cranfield
from cranfield.measures import CATALOG, parse_measure, parse_measures
from cranfield.runtime import compiled
from cranfield.scores.evaluation import score_view

Array = npt.NDArray[Any]


def test_every_measure_and_parameter_of_the_catalogue_is_tried() -> None:
    assert {parse_measure(name).kind.name for name in EVERY} == set(CATALOG)
    assert {parameter.name for kind in CATALOG.values() for parameter in kind.parameters} == set(SETTINGS)


@examples(60)
@given(made=collections(with_intents=True))
def test_every_measure_lies_in_its_declared_range(made: Generated) -> None:
    # Rounding may carry a sum past its bound by a few units in the last place.
    slack = 1e-12
    measures = parse_measures(EVERY)
    values = score_view(read(made).whole, measures)
    assert np.isfinite(values).all()
    for measure, found in zip(measures, values, strict=True):
        assert measure.kind.lowest - slack <= found.min(), measure
        assert found.max() <= measure.kind.highest + slack, measure


@pytest.mark.parametrize("kind", ["alpha_nDCG", "nERR_IA"])
def test_a_measure_whose_greedy_ideal_list_can_be_beaten_is_not_declared_to_end_at_1(kind: str) -> None:
    # Greedy takes c first, though a and b together serve more; test_ndeval.py has the numbers.
    served = {"a": (1, 2, 5), "b": (3, 4, 6), "c": (1, 2, 3)}
    rows = [("1", str(intent), doc, 1) for doc, intents in served.items() for intent in intents]
    made = Generated({}, {"run": {"1": {"a": 2.0, "b": 1.0}}}, rows)
    (found,) = scores(made, f"{kind}@2")["run", "1"]
    assert found <= CATALOG[kind].highest


def test_no_rounding_carries_a_perfect_list_past_1() -> None:
    # Without a discount the order does not matter, yet 0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1 in doubles.
    made = Generated({"1": {"a": 1, "b": 2, "c": 3}}, {"run": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}})
    (found,) = scores(made, "nDCG(gains=1:0.1,2:0.2,3:0.3,log=10)")["run", "1"]
    assert found == 1.0


@pytest.mark.parametrize("measure", ["RBP(p=0)", "RBP_residual(p=0)"])
def test_a_reader_without_persistence_sees_one_document_only(measure: str) -> None:
    made = Generated({"1": {"a": 1, "b": 0}}, {"run": {"1": {"a": 2.0, "b": 1.0}}})
    assert scores(made, measure)["run", "1"] == [1.0 if measure == "RBP(p=0)" else 0.0]


def test_gains_that_are_all_0_make_every_score_0() -> None:
    made = Generated({"1": {"a": 1}}, {"run": {"1": {"a": 1.0}}})
    names = [f"{kind.name}(gains=1:0)" for kind in CATALOG.values() if not kind.per_intent and _has_gains(kind)]
    assert scores(made, *names)["run", "1"] == [0.0] * len(names)


def _has_gains(kind: Any) -> bool:
    return any(parameter.name == "gains" for parameter in kind.parameters)


def test_grades_that_are_all_negative_score_0_with_per_intent_judgments_beside_them_as_without() -> None:
    made = Generated({"1": {"a": -1}}, {"run": {"1": {"a": 1.0}}})
    assert scores(made, "AP")["run", "1"] == [0.0]
    assert scores(replace(made, intents=[("1", "1", "a", 1)]), "AP")["run", "1"] == [0.0]


@examples(40)
@given(made=collections(with_intents=True, most_topics=3))
def test_a_topic_scores_alone_what_it_scores_among_others(made: Generated) -> None:
    names = [name for name in EVERY if stands_alone(name)]
    together = scores(made, *names)
    for topic, rows in made.qrels.items():
        alone = made.only_topics([topic])
        alone = replace(alone, runs={system: run for system, run in alone.runs.items() if run})
        if not alone.runs or max(rows.values()) < 0:
            continue
        for (system, _), found in scores(alone, *names).items():
            pairs = dict(zip(names, zip(found, together[system, topic], strict=True), strict=True))
            assert {name: pair for name, pair in pairs.items() if pair[0] != pytest.approx(pair[1], abs=1e-12)} == {}


# --- interpreted, by whole arrays and compiled


@contextmanager
def only(*, machine_code: bool, arrays: bool = False) -> Iterator[None]:
    """Every kernel run in one way, and the other way out of reach; ``arrays`` where a kernel has a form in those."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a kernel was run in the other way")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "is_loaded", lambda: machine_code)
        patch.setattr(compiled, "WORTH_COMPILING", 0 if machine_code else sys.maxsize)
        patch.setattr(compiled, "WORTH_LOADING", sys.maxsize if arrays else 0)
        patch.setattr(compiled, "_spent", 0)  # so that the steps taken here do not count afterwards
        if machine_code:
            patch.setattr(compiled.Kernel, "interpreted", refuse)
        else:
            patch.setattr(compiled, "spread", refuse)
        yield


def everything(made: Generated) -> tuple[list[bytes], bytes, bytes]:
    """Collection, scores and scores in shards, as bytes."""
    collection = read(made)
    measures = parse_measures(EVERY)
    sharded = collection.sharded(collection.random_shards(min(3, len(collection.documents)), seed=1))
    return (
        [np.ascontiguousarray(array).tobytes() for _, array in sorted(collection.arrays.items())],
        score_view(collection.whole, measures).tobytes(),
        score_view(sharded, measures).tobytes(),
    )


@examples(15)
@given(made=collections(with_intents=True))
def test_kernels_interpreted_by_arrays_and_compiled_give_the_same_bits(made: Generated) -> None:
    with only(machine_code=False):
        interpreted = everything(made)
    with only(machine_code=False, arrays=True):
        arrays = everything(made)
    with only(machine_code=True):
        machine_code = everything(made)
    assert interpreted == arrays == machine_code


@pytest.mark.parametrize("measure", ["AP", "AP@7", "P@10", "nDCG", "nDCG(gains=exp)@20", "RBP(p=0.8)", "R@50", "Rprec"])
def test_long_lists_are_scored_with_the_same_bits_by_arrays_and_by_loops(measure: str) -> None:
    rng = np.random.default_rng(3)
    scores = rng.random((9, 700)).tolist()
    grades = (rng.integers(0, 4, (9, 900)) * (rng.random((9, 900)) < 0.4)).tolist()
    lines = [f"{topic} Q0 d{at} 1 {score!r} tag" for topic in range(9) for at, score in enumerate(scores[topic])]
    judged = [f"{topic} 0 d{at} {grade}" for topic in range(9) for at, grade in enumerate(grades[topic])]
    with TemporaryDirectory() as folder:
        run, qrels = Path(folder, "run"), Path(folder, "qrels")
        run.write_text("\n".join(lines))
        qrels.write_text("\n".join(judged))
        collection = cranfield.read_collection(run, qrels)
    views = [collection.whole, collection.sharded(collection.random_shards(3, seed=1))]
    for view in views:
        with only(machine_code=False):
            interpreted = score_view(view, parse_measures(measure))
        with only(machine_code=False, arrays=True):
            assert score_view(view, parse_measures(measure)).tobytes() == interpreted.tobytes()


# --- shards


@examples(40)
@given(made=collections(with_intents=True), numbers=st.lists(st.integers(0, 2), min_size=24, max_size=24))
def test_shards_score_as_files_split_by_hand_do(made: Generated, numbers: list[int]) -> None:
    # Given probabilities name every intent; files of one shard may lack some.
    made = replace(made, probabilities={(topic, intent): 0.25 for topic in made.qrels for intent in INTENTS})
    names = [name for name in EVERY if stands_alone(name)]
    measures = parse_measures(names)
    shard_of = dict(zip(DOCUMENTS, numbers, strict=True))
    collection = read(made)
    codes = [shard_of[collection.documents[code]] for code in range(len(collection.documents))]
    values = score_view(collection.sharded(np.array(codes)), measures)
    for shard in range(max(codes) + 1):
        part = _part(made, {document for document, number in shard_of.items() if number == shard})
        for (system, topic), expected in _scores_if_any(part, names).items():
            found = values[:, collection.topics.index(topic), collection.systems.index(system), shard]
            pairs = dict(zip(names, zip(found.tolist(), expected, strict=True), strict=True))
            assert {name: pair for name, pair in pairs.items() if pair[0] != pytest.approx(pair[1], abs=1e-12)} == {}


def _part(made: Generated, kept: set[str]) -> Generated:
    """Runs and judgments of some documents only."""
    runs = {
        system: {topic: {d: s for d, s in rows.items() if d in kept} for topic, rows in run.items()}
        for system, run in made.runs.items()
    }
    qrels = {topic: {d: grade for d, grade in rows.items() if d in kept} for topic, rows in made.qrels.items()}
    return replace(
        made,
        qrels={topic: rows for topic, rows in qrels.items() if rows},
        runs={system: {topic: rows for topic, rows in run.items() if rows} for system, run in runs.items()},
        intents=[row for row in made.intents if row[2] in kept],
    )


def _scores_if_any(part: Generated, names: list[str]) -> dict[tuple[str, str], list[float]]:
    """Scores of the systems that have something left to score; a shard can be empty of judgments or of runs."""
    topics = {*part.qrels, *(row[0] for row in part.intents)}
    runs = {system: run for system, run in part.runs.items() if topics & set(run)}
    judged = any(grade >= 0 for rows in part.qrels.values() for grade in rows.values())
    if not runs or not judged or not part.intents:
        return {}
    return scores(replace(part, runs=runs), *names)
