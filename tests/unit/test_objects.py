"""Runs and judgments in memory, in JSON and in ir_datasets score as the same ones in files do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import ir_measures
import pandas
import polars
import pytest

import cranfield as cf
from cranfield.errors import InputError, MissingPartError, RequestError
from cranfield.scores import ScoreTable

Write = Callable[[str, str | bytes], str]
JUDGED: dict[str, dict[str, float]] = {"q1": {"d1": 1, "d2": 0, "d4": 2}, "q2": {"d3": 1, "d1": -1}, "q3": {"d1": 0.5}}
RUNS = {
    "bm25": {"q1": {"d1": 2.0, "d2": 1.0, "d9": 1.5}, "q2": {"d4": 2.0, "d3": 1.0}},
    "dense": {"q1": {"d2": 2.0, "d4": 2.0, "d1": 1.0}, "q2": {"d3": 2.0}, "q3": {"d1": 2.0}},
}
MEASURES = ["AP", "nDCG@2", "Bpref"]
CELLS = [(name, topic, *cell) for name, run in RUNS.items() for topic in run for cell in run[topic].items()]
GRADES: list[Any] = [(topic, document, grade) for topic in JUDGED for document, grade in JUDGED[topic].items()]


@pytest.fixture
def expected(write: Write) -> ScoreTable:
    files = [
        write(f"{system}.run", "".join(f"{t} Q0 {d} 1 {s} {system}\n" for name, t, d, s in CELLS if name == system))
        for system in RUNS
    ]
    qrels = write("qrels.txt", "".join(f"{t} 0 {d} {g}\n" for t, d, g in GRADES))
    return cf.score(files, qrels=qrels, measure=MEASURES).table


def same(found: ScoreTable, expected: ScoreTable) -> None:
    assert (found.topics, found.systems, found.measures) == (expected.topics, expected.systems, expected.measures)
    assert found.values.tolist() == expected.values.tolist()


def frame(library: Any, rows: list[Any], names: list[str]) -> Any:
    return library.DataFrame({name: [row[at] for row in rows] for at, name in enumerate(names)})


def of(system: str) -> list[Any]:
    return [row[1:] for row in CELLS if row[0] == system]


RUN_FORMS: dict[str, Any] = {
    "dict": RUNS,
    "pandas, as PyTerrier has it": frame(pandas, CELLS, ["name", "qid", "docno", "score"]),
    "polars": frame(polars, CELLS, ["system", "query_id", "doc_id", "score"]),
    "frames by name": {name: frame(pandas, of(name), ["Topic", "Document", "Score"]) for name in RUNS},
    "ir_measures": {name: [ir_measures.ScoredDoc(*row) for row in of(name)] for name in RUNS},
}
QREL_FORMS: dict[str, Any] = {
    "dict": JUDGED,
    "pandas": frame(pandas, GRADES, ["qid", "docno", "label"]),
    "ir_measures": [ir_measures.Qrel(topic, name, grade) for topic, name, grade in GRADES],
}


@pytest.mark.parametrize("form", RUN_FORMS)
def test_runs_in_memory_score_as_files_do(form: str, expected: ScoreTable) -> None:
    same(cf.score(RUN_FORMS[form], qrels=JUDGED, measure=MEASURES).table, expected)


@pytest.mark.parametrize("form", QREL_FORMS)
def test_judgments_in_memory_score_as_files_do(form: str, expected: ScoreTable) -> None:
    same(cf.score(RUNS, qrels=QREL_FORMS[form], measure=MEASURES).table, expected)


def test_runs_and_judgments_of_ranx_score_as_files_do(expected: ScoreTable) -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")  # compiles what it makes, for seconds
    Qrels, Run = ranx.Qrels, ranx.Run  # noqa: N806

    by_name = {name: Run({topic: dict(rows) for topic, rows in run.items()}, name=name) for name, run in RUNS.items()}
    for runs in (by_name, list(by_name.values())):
        same(cf.score(runs, qrels=JUDGED, measure=MEASURES).table, expected)
    with pytest.raises(InputError, match="two runs are called «run»"):
        cf.score([Run(RUNS["bm25"]), Run(RUNS["dense"])], qrels=JUDGED)
    whole = {topic: {name: max(int(grade), 0) for name, grade in rows.items()} for topic, rows in JUDGED.items()}
    ours = cf.score(RUNS, qrels=whole, measure="AP").table
    theirs = cf.score(RUNS, qrels=Qrels(whole), measure="AP").table
    assert ours.values.tolist() == theirs.values.tolist()


def test_ranks_order_a_frame_without_scores() -> None:
    rows = [("q1", "d1", 2), ("q1", "d2", 1)]
    found = cf.score(frame(pandas, rows, ["qid", "docno", "rank"]), qrels={"q1": {"d2": 1}}, measure="RR")
    assert found.table.mean("RR") == {"run": 1.0}


def test_json_files_score_as_runs_do(write: Write, expected: ScoreTable) -> None:
    files = [write(f"{name}.json", json.dumps(run)) for name, run in RUNS.items()]
    qrels = write("judged.json", json.dumps(JUDGED))
    same(cf.score(files, qrels=qrels, measure=MEASURES).table, expected)
    same(cf.score(write("all.json", json.dumps(RUNS)), qrels=qrels, measure=MEASURES).table, expected)


def test_other_questions_take_them_too() -> None:
    found = cf.compare(RUNS, qrels=JUDGED, measure="AP")
    direct = cf.score(RUNS, qrels=JUDGED, measure="AP").table.mean("AP")
    assert found.inputs["scores"] == "dict"
    compared = found.comparisons["AP"]
    assert dict(zip(compared.systems, compared.means, strict=True)) == pytest.approx(direct)


def test_ties_and_precision_hold_in_memory() -> None:
    asked: Any = {"qrels": {"q1": {"d1": 1}}, "measure": "RR"}
    run = {"a": {"q1": {"d1": 0.30000001, "d2": 0.3}}}
    assert cf.score(run, **asked).table.mean("RR") == {"a": 1.0}
    assert cf.score(run, **asked, source={"precision": "single"}).table.mean("RR") == {"a": 0.5}


@pytest.mark.parametrize(
    ("runs", "what"),
    [
        ({}, "no run in it"),
        (5, "a int is neither"),
        ({"a": {"q1": {"d1": "x"}}}, "«x» is no number"),
        ({"a": {"q1": {"d1": float("nan")}}}, "a score of topic «q1» is nan"),
        ({"a": {"q1": {"": 1.0}}}, "a document is empty"),
        ({"a": {"q1": {}}}, "has no documents"),
        (pandas.DataFrame({"qid": ["q1"], "score": [1.0]}), "no column for the document"),
        (frame(pandas, [("q1", "d1", 1.0), ("q1", "d1", 2.0)], ["qid", "docno", "score"]), "a document twice"),
    ],
)
def test_what_is_wrong_with_runs_is_said(runs: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        cf.score(runs, qrels=JUDGED)


@pytest.mark.parametrize(
    ("qrels", "what"),
    [
        ({"q1": {"d1": "x"}}, "«x» is no number"),
        ({"q1": {"d1": float("inf")}}, "a grade of «q1» is inf"),
        ({"q1": 3}, "no documents by name"),
        ({}, "no judgment in it"),
        (frame(pandas, [("q1", "d1", 1), ("q1", "d1", 2)], ["qid", "docno", "label"]), "judged twice"),
    ],
)
def test_what_is_wrong_with_judgments_is_said(qrels: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        cf.score(RUNS, qrels=qrels)


def test_runs_in_memory_have_no_files() -> None:
    with pytest.raises(RequestError, match="in no files"):
        cf.score(RUNS, qrels=JUDGED, source={"name": "file"})


@pytest.fixture
def dataset(write: Write) -> str:
    """A small dataset of ir_datasets, registered here."""
    qrels = write("irds.qrels", "".join(f"{t} 0 {d} {int(g)}\n" for t, d, g in GRADES))
    name = f"cranfield-test-{Path(qrels).parent.name}"
    ir_datasets.registry.register(name, ir_datasets.create_dataset(qrels_trec=qrels))
    return name


def test_judgments_of_ir_datasets(dataset: str) -> None:
    whole = {topic: {document: int(grade) for document, grade in rows.items()} for topic, rows in JUDGED.items()}
    expected = cf.score(RUNS, qrels=whole, measure=MEASURES).table
    same(cf.score(RUNS, qrels=f"irds:{dataset}", measure=MEASURES).table, expected)


class Documented:
    """What a dataset of ir_datasets says about itself."""

    def documentation(self) -> dict[str, Any]:
        return {"official_measures": ["nDCG@2", "AP(rel=2)", "NoSuch@5"]}

    def qrels_defs(self) -> dict[int, str]:
        return {0: "Irrelevant: nothing", 1: "Related: a little", 2: "Relevant: all of it"}


def test_official_measures_of_ir_datasets_are_used_where_none_is_named_and_said(dataset: str) -> None:
    name = f"{dataset}-documented"
    ir_datasets.registry.register(name, ir_datasets.Dataset(Documented(), ir_datasets.load(dataset)))
    found = cf.score(RUNS, qrels=f"irds:{name}")
    assert found.table.measures == ("nDCG@2", "AP(rel=2)")
    said = f"official measures of irds:{name}, whose grades are: 2 Relevant, 1 Related, 0 Irrelevant."
    assert said in found.summary()
    assert "Not in the catalogue: NoSuch@5." in found.summary()
    assert found.inputs["standards"]["grades"]["2"] == "Relevant: all of it"
    named = cf.score(RUNS, qrels=f"irds:{name}", measure="RR")
    assert named.table.measures == ("RR",)
    assert "official" not in named.summary()
    assert cf.score(RUNS, qrels=f"irds:{dataset}").table.measures == ("AP", "P@10", "nDCG@10")  # which says nothing


def test_what_ir_datasets_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no dataset «none/such»"):
        cf.score(RUNS, qrels="irds:none/such")
    with pytest.raises(InputError, match="has no judgments"):
        cf.score(RUNS, qrels="irds:cord19")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingPartError, match=r"cranfield\[irds\]"):
        cf.score(RUNS, qrels="irds:none/such")


def parquet(folder: Path, name: str, rows: list[Any], names: list[str]) -> str:
    frame(polars, rows, names).write_parquet(folder / name)
    return str(folder / name)


@pytest.mark.parametrize("names", [["run", "qid", "docno", "score"], ["tag", "query_id", "doc_id", "score"]])
def test_parquet_files_score_as_runs_do(names: list[str], tmp_path: Path, expected: ScoreTable) -> None:
    whole = parquet(tmp_path, "all.parquet", CELLS, names)
    same(cf.score(whole, qrels=JUDGED, measure=MEASURES).table, expected)
    parts = [parquet(tmp_path, f"{name}.parquet", of(name), names[1:]) for name in RUNS]
    same(cf.score(parts, qrels=JUDGED, measure=MEASURES).table, expected)


def test_ranks_order_a_parquet_run_where_they_are_asked_for_or_there_are_no_scores(tmp_path: Path) -> None:
    rows = [("q1", "d1", 2, 9.0), ("q1", "d2", 1, 3.0)]
    file = parquet(tmp_path, "a.parquet", rows, ["topic", "docno", "rank", "score"])
    found = [
        cf.score(file, qrels={"q1": {"d2": 1}}, measure="RR", source={"order": order}) for order in ("score", "rank")
    ]
    assert [each.table.mean("RR") for each in found] == [{"a": 0.5}, {"a": 1.0}]
    only = parquet(tmp_path, "b.parquet", [row[:3] for row in rows], ["topic", "docno", "rank"])
    assert cf.score(only, qrels={"q1": {"d2": 1}}, measure="RR").table.mean("RR") == {"b": 1.0}


@pytest.mark.parametrize(
    ("rows", "names", "where", "what"),
    [
        ([("q1", "d1", 1.0), ("q1", None, 0.5)], ["qid", "docno", "score"], ", row 2", "the document is empty"),
        ([("q1", "d1", 1.0), (" ", "d2", 0.5)], ["qid", "docno", "score"], ", row 2", "the topic is empty"),
        ([("q1", "d1", "x")], ["qid", "docno", "score"], ", row 1", "the score is «x», which is no number"),
        ([("q1", "d1", 1.0), ("q1", "d2", None)], ["qid", "docno", "score"], ", row 2", "the score is «None»"),
        (
            [("q1", "d1", 1.0), ("q1", "d1", 0.5)],
            ["qid", "docno", "score"],
            ", row 2",
            "twice, the first time in row 1",
        ),
        ([("d1", 1.0)], ["docno", "score"], "", "the frame has no column for the topic"),
    ],
)
def test_what_is_wrong_with_a_parquet_run_is_said_with_its_row(
    rows: list[Any], names: list[str], where: str, what: str, tmp_path: Path
) -> None:
    file = parquet(tmp_path, "bad.parquet", rows, names)
    with pytest.raises(InputError) as caught:
        cf.score(file, qrels=JUDGED, measure="AP")
    assert caught.value.where == f"{file}{where}"
    assert what in caught.value.what
    assert caught.value.fix
    checked = cf.check(run=[file])
    (problem,) = checked.report.problems
    assert (problem.slug, checked.exit_code) == ("unreadable", 2)
    assert what in problem.detail
    assert where.removeprefix(", ") in problem.detail


def test_a_check_takes_parquet_and_json_with_documents_for_runs(tmp_path: Path, write: Write) -> None:
    table = parquet(tmp_path, "bm25.parquet", of("bm25"), ["qid", "docno", "score"])
    several = write("all.json", json.dumps(RUNS))
    one = write("dense.json", json.dumps({"q1": RUNS["dense"]["q1"], "q9": {"d7": 1.0, "d8": 2.0}}))
    qrels = write("qrels.txt", "".join(f"{t} 0 {d} {g:g}\n" for t, d, g in GRADES))
    report = cf.check([table, one, qrels]).report
    kinds = {Path(each.file).name: (str(each.kind), each.lines) for each in report.files}
    assert kinds == {"bm25.parquet": ("run", 5), "dense.json": ("run", 5), "qrels.txt": ("qrels", 6)}
    found = {(problem.slug, Path(problem.file).name) for problem in report.problems}
    assert {("topic-missing", "bm25.parquet"), ("topic-unjudged", "dense.json")} <= found  # they meet the judgments
    assert [str(each.kind) for each in cf.check(several).report.files] == ["run"]
    scores = write("scores.json", json.dumps({"a": {"1": 0.5, "2": 0.25}, "b": {"1": 0.5, "2": 0.75}}))
    assert [str(each.kind) for each in cf.check(scores).report.files] == ["scores"]
    assert [str(each.kind) for each in cf.check(run=[scores]).report.files] == ["run"]  # as it is said to be
    broken = cf.check(run=[write("broken.json", '{"q1": {"d1": "x"}}')])
    assert "«x» is no number, in topic «q1»" in broken.report.problems[0].detail
