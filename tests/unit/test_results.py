"""Every result, whatever question it answers: frame, dict, JSON, summary, chart, short repr, HTML, pickle."""

import json
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import by_flags
import cranfield as cf
from chart_rules import check_chart
from cranfield.questions import MODULES, find_question
from cranfield.results import Result
from cranfield.scores.evaluation import score_collection

Ask = Callable[[Path, str], Result]


def started(scores: str) -> str:
    """A study of two systems that has all its topics."""
    file = str(Path(tempfile.mkdtemp()) / "mine.study")
    two = cf.read_scores(scores).systems[:2]
    goal: dict[str, Any] = {"difference": 0.3, "sd": 0.1, "plan": "fixed"}
    by_flags.study_new(file, **goal, system=two[0], baseline=two[1], measure="AP")
    return file


def added(scores: str) -> str:
    file = started(scores)
    cf.study_add(file, scores)
    return file


def new_study(scores: str) -> Result:
    return cf.study_new(str(Path(tempfile.mkdtemp()) / "new.study"), difference=0.033, sd=0.15)


def next_topics(scores: str) -> Result:
    folder = Path(tempfile.mkdtemp())
    (folder / "topics.txt").write_text("\n".join(map(str, range(400))))
    file = str(folder / "next.study")
    cf.study_new(file, difference=0.05, sd=0.15, topics=str(folder / "topics.txt"))
    return cf.study_next(file, count=5)


EXAMPLES: dict[str, Ask] = {
    "pack": lambda runs, scores: cf.pack(
        runs / "runs", qrels=str(runs / "qrels.txt"), out=tempfile.mkdtemp() + "/example.cran"
    ),
    "study_new": lambda runs, scores: new_study(scores),
    "study_add": lambda runs, scores: cf.study_add(started(scores), scores),
    "study_next": lambda runs, scores: next_topics(scores),
    "study_status": lambda runs, scores: cf.study_status(added(scores)),
    "study_test": lambda runs, scores: cf.study_test(added(scores)),
    "study_edit": lambda runs, scores: cf.study_edit(started(scores), because="a test", difference=0.2),
    "study_log": lambda runs, scores: cf.study_log(added(scores)),
    "score": lambda runs, scores: cf.score(runs / "runs", qrels=str(runs / "qrels.txt")),
    "check": lambda runs, scores: cf.check([str(runs / "runs"), str(runs / "qrels.txt")]),
    "variance": lambda runs, scores: cf.variance(scores),
    "size": lambda runs, scores: cf.size(scores, difference=[0.05, 0.1]),
    "power": lambda runs, scores: cf.power(scores),
    "compare": lambda runs, scores: cf.compare(scores),
    "judges": lambda runs, scores: cf.judges(
        runs / "runs", qrels=str(runs / "qrels.txt"), judge=str(runs / "judge.txt"), resampling={"resamples": 500}
    ),
    "leaderboard": lambda runs, scores: cf.leaderboard(scores, resampling={"resamples": 500}),
    "shards": lambda runs, scores: cf.shards(
        runs / "runs", qrels=str(runs / "qrels.txt"), shards="2", resampling={"resamples": 100}, halvings=5
    ),
    "pilot": lambda runs, scores: cf.pilot(
        runs / "runs", qrels=str(runs / "qrels.txt"), source={"teams": str(runs / "teams.tsv")}, trials=3
    ),
    "budget": lambda runs, scores: cf.budget(runs / "runs", qrels=str(runs / "qrels.txt"), depths="5,10"),
    "reliability": lambda runs, scores: cf.reliability(scores, trials=100),
    "simulate": lambda runs, scores: cf.simulate(scores, topics=30),
    "verify": lambda runs, scores: cf.verify(systems=2, difference=0.1, sd=0.15, test="t", trials={"collections": 500}),
    "report": lambda runs, scores: cf.report(scores, section=["size", "compare"]),
    "study_plans": lambda runs, scores: cf.study_plans(difference=0.05, sd=0.15),
    "study_past": lambda runs, scores: cf.study_past(scores, difference=0.05),
    "study_width": lambda runs, scores: cf.study_width(
        scores, judge=scores, width=0.1, system="cleverdon2", baseline="cleverdon1", studies=200
    ),
    "study_trial": lambda runs, scores: cf.study_trial(difference=0.05, sd="0.12,0.15"),
    "study_simulate": lambda runs, scores: cf.study_simulate(scores, pairs=2, repeats=50),
    "study_peek": lambda runs, scores: cf.study_peek(scores, first=10, low=0.0, high=1.0, repeats=5),
}


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    cf.write_scores(score_collection(cf.read_collection(example / "runs", example / "qrels.txt"), "AP"), path)
    return str(path)


@pytest.fixture(scope="module", params=sorted(MODULES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def result(name: str, example: Path, scores: str) -> Result:
    return EXAMPLES[name](example, scores)


def test_every_question_has_an_example() -> None:
    assert set(MODULES) <= set(EXAMPLES)


def test_a_result_is_complete_frozen_and_pickles(name: str, result: Result) -> None:
    assert isinstance(result, Result)
    assert set(find_question(name).parameters) <= set(result.inputs)
    with pytest.raises(FrozenInstanceError):
        result.seed = 7  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()


def test_a_result_is_a_dict_that_json_keeps(result: Result) -> None:
    found = result.to_dict()
    assert {"inputs", "method", "citations", "warnings", "seed", "version", "rows"} <= set(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["rows"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_result_is_a_frame_with_one_row_per_row(result: Result, backend: str) -> None:
    frame = result.to_frame(backend)
    rows = result.to_dict()["rows"]
    assert (frame.num_rows if backend == "pyarrow" else len(frame)) == len(rows)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert set(names) == {name for row in rows for name in row}


def test_a_result_says_what_may_be_claimed_in_few_words(result: Result) -> None:
    assert result.summary()
    assert len(repr(result)) <= 1000
    assert type(result).__name__ in repr(result)


def test_a_result_is_html_in_a_notebook(result: Result) -> None:
    html = result._repr_html_()
    assert html.startswith("<div>")
    assert "<table>" in html
    assert "<script" not in html


def test_a_result_is_a_chart(name: str, result: Result) -> None:
    charts = find_question(name).charts
    if not charts:
        with pytest.raises(cf.RequestError, match="no chart"):
            result.chart()
        return
    check_chart(result.chart())
    with pytest.raises(cf.RequestError, match="there is no chart «nonsense»"):
        result.chart("nonsense")


def _frames(kind: str, scores: str) -> Any:
    table = cf.read_scores(scores)
    if kind == "dict":
        values = table.values[0, :, :, 0]
        return {
            system: {topic: float(values[at, column]) for at, topic in enumerate(table.topics)}
            for column, system in enumerate(table.systems)
        }
    return scores if kind == "path" else table if kind == "table" else table.to_frame(kind)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict", "path", "table"])
def test_compare_takes_what_people_have(kind: str, scores: str) -> None:
    expected = cf.compare(scores).to_dict()["pairs"]
    measure = "AP" if kind == "dict" else None
    found = cf.compare(_frames(kind, scores), measure=measure).to_dict()["pairs"]
    assert found == expected


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_with_other_names_gets_the_suggestion_of_the_command_line(
    backend: str, scores: str, tmp_path: Path
) -> None:
    frame = (
        cf.read_scores(scores).to_frame("pandas").rename(columns={"topic": "query", "system": "name", "score": "ap"})
    )
    path = tmp_path / "other.csv"
    frame.drop(columns="measure").to_csv(path, index=False)
    other = frame.drop(columns="measure")
    if backend == "polars":
        import polars

        other = polars.DataFrame(other.to_dict("list"))
    elif backend == "pyarrow":
        import pyarrow

        other = pyarrow.table(other.to_dict("list"))
    with pytest.raises(cf.InputError) as of_frame:
        cf.compare(other)
    with pytest.raises(cf.InputError) as of_file:
        cf.compare(path)
    assert of_frame.value.fix == of_file.value.fix
    assert "topic=query" in of_frame.value.fix
    assert cf.compare(other, source={"columns": "topic=query,system=name,score=ap"}).comparisons
