"""Runs in memory score as the same runs in files do, whatever their names and numbers are."""

from __future__ import annotations

from collections import UserDict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf

MEASURES = ["AP", "P@10", "nDCG@10", "RR", "Bpref", "infAP", "Judged@10"]
topics = st.sampled_from(["1", "2", "10", "q1", "тема"])
documents = st.sampled_from(["a", "b", "ab", "é", "文", "d1", "d10", "d2", "Z"])
scores = st.sampled_from([0.0, -0.0, 1, 2, 2.5, -3.0, True, np.float32(0.1), np.float64(0.1), 0.1])
runs = st.dictionaries(topics, st.dictionaries(documents, scores, max_size=9), min_size=1).filter(
    lambda run: any(run.values())
)
labels = st.sampled_from([-1, 0, 1, 2, 3, True, 0.5, np.int64(2), np.float64(1.5), np.float32(0.25)])
grades = st.dictionaries(topics, st.dictionaries(documents, labels, max_size=9), min_size=1).filter(
    lambda judged: any(judged.values())
)


def _outcome(runs: Any, qrels: Any) -> tuple[Any, ...]:
    """The scores with the slugs of the warnings, or the error."""
    try:
        table = cf.score(runs, qrels=qrels, measure=MEASURES).table
    except cf.CranfieldError as error:
        return (type(error).__name__,)
    slugs = [(warning.slug, getattr(warning, "count", 0)) for warning in table.warnings]
    return table.systems, table.topics, table.values.tobytes(), slugs


def _write(folder: str, named: dict[str, Any], judged: dict[str, Any]) -> tuple[list[str], str]:
    for name, run in named.items():
        rows = [f"{t} Q0 {d} 0 {float(s)!r} {name}" for t, found in run.items() for d, s in found.items()]
        Path(folder, name).write_text("\n".join(rows), encoding="utf-8")
    rows = [f"{t} 0 {d} {float(g):g}" for t, found in judged.items() for d, g in found.items()]
    Path(folder, "qrels").write_text("\n".join(rows), encoding="utf-8")
    return [str(Path(folder, name)) for name in named], str(Path(folder, "qrels"))


@given(runs, runs, grades)
def test_dicts_score_as_files_do(one: dict[str, Any], other: dict[str, Any], judged: dict[str, Any]) -> None:
    named = {"one": one, "other": other}
    with TemporaryDirectory() as folder:
        files, qrels = _write(folder, named, judged)
        assert _outcome(named, judged) == _outcome(files, qrels)


@given(runs, grades)
def test_any_mapping_and_prepared_judgments_score_as_dicts_do(run: dict[str, Any], judged: dict[str, Any]) -> None:
    plain = _outcome({"one": run}, judged)
    proxied = {topic: MappingProxyType(found) for topic, found in run.items()}
    assert _outcome({"one": proxied}, judged) == plain
    assert _outcome({"one": UserDict(proxied)}, UserDict(judged)) == plain
    assert _outcome({"one": run}, cf.judgments(judged)) == plain


def test_keys_that_are_no_text_are_named_by_their_str() -> None:
    text = {"1": {"7": 2.0, "8": 1.0}}
    numbers = {1: {7: 2.0, 8: 1.0}}
    assert _outcome({"a": numbers}, {1: {7: 0, 8: 1}}) == _outcome({"a": text}, {"1": {"7": 0, "8": 1}})


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"1": {1: 2.0, "1": 1.0}}, "twice"),
        ({"1": {"d1": float("nan")}}, "a score of topic «1» is nan"),
        ({"1": {"d1": "much"}}, "«much» is no number"),
        ({"1": {"\u3000": 1.0}}, "a document is empty"),
        ({"1": {None: 1.0}}, "a document is empty"),
        ({"1": {}}, "the run has no documents"),
    ],
)
def test_a_run_that_would_be_scored_wrongly_is_refused(run: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.InputError, match=message):
        cf.score({"a": run}, qrels={"1": {"d1": 1}}, measure="AP")


def test_a_dict_that_changes_while_it_is_read_is_read_as_it_was() -> None:
    run: dict[str, Any] = {"1": {}}

    class Score:
        def __float__(self) -> float:
            run["1"].clear()
            return 1.0

    run["1"] |= {f"d{at}": Score() for at in range(9)}
    assert cf.score({"a": run}, qrels={"1": {"d0": 1}}, measure="RR").table.of("RR").item() == 1 / 9


def test_judgments_that_change_while_they_are_read_are_read_as_they_were() -> None:
    judged: dict[str, Any] = {"1": {}}

    class Grade:
        def __index__(self) -> int:
            judged["1"].clear()
            return 1

    judged["1"] |= {f"d{at}": Grade() for at in range(9)}
    run = {"a": {"1": {f"d{at}": 9.0 - at for at in range(9)}}}
    assert cf.score(run, qrels=judged, measure="P@9").table.of("P@9").item() == 1


def test_an_interrupt_is_not_swallowed() -> None:
    class Score:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cf.score({"a": {"1": {"d1": Score()}}}, qrels={"1": {"d1": 1}}, measure="AP")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_score_as_dicts_do(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    run = make({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "score": [1.0, 2.0, 1.0]})
    qrels = make({"qid": ["1", "2"], "docno": ["a", "a"], "label": [1, 1]})
    expected = _outcome({"run": {"1": {"a": 1.0, "b": 2.0}, "2": {"a": 1.0}}}, {"1": {"a": 1}, "2": {"a": 1}})
    assert _outcome(run, qrels) == _outcome(run, cf.judgments(qrels)) == expected


def test_prepared_judgments_of_a_file_serve_every_question(tmp_path: Path) -> None:
    named = {"a": {"1": {"d1": 2.0}, "2": {"d1": 1.0, "d2": 2.0}}, "b": {"1": {"d2": 2.0}, "2": {"d1": 3.0}}}
    files, qrels = _write(str(tmp_path), named, {"1": {"d1": 1}, "2": {"d1": 1, "d2": 0}})
    judged = cf.judgments(qrels)
    assert _outcome(files, judged) == _outcome(files, qrels) == _outcome(named, judged)
    collection = cf.read_collection(named, judged)  # all documents, from the same judgments
    assert collection.ranking("a", "2") == ["d2", "d1"]
    assert cf.judgments(judged) is judged
