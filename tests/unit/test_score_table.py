"""The score table: what it holds, how it is looked at, and how it comes from and goes to other shapes."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from cranfield.errors import InputError, RequestError
from cranfield.formats.problems import Problem
from cranfield.scores import ScoreTable, add_scores, read_scores, score_files, write_scores

ROWS = [
    ("AP", "10", "b", 0.5),
    ("AP", "9", "b", 0.25),
    ("AP", "9", "a", 1.0),
    ("RR", "10", "a", 0.125),
    ("RR", "q1", "b", 0.0),
]
BACKENDS = ["pandas", "polars", "pyarrow"]


@pytest.fixture
def table() -> ScoreTable:
    return ScoreTable.from_rows(ROWS)


def same(one: ScoreTable, other: ScoreTable) -> bool:
    names = [(t.measures, t.topics, t.systems, t.shards) for t in (one, other)]
    return names[0] == names[1] and np.array_equal(one.values, other.values, equal_nan=True)


# --- what it holds


def test_topics_and_systems_are_in_natural_order_and_measures_as_they_come(table: ScoreTable) -> None:
    assert table.measures == ("AP", "RR")
    assert table.topics == ("9", "10", "q1")
    assert table.systems == ("a", "b")
    assert table.shards == ()


def test_natural_order_takes_numbers_of_any_length() -> None:
    topics = ["9" * 5000, "10", "9", "010", "1" + "0" * 5000]
    rows = [("AP", topic, "a", 0.5) for topic in topics]
    assert ScoreTable.from_rows(rows).topics == ("9", "010", "10", "9" * 5000, "1" + "0" * 5000)


def test_cells_without_a_score_are_nan_and_counted(table: ScoreTable) -> None:
    assert table.values.shape == (2, 3, 2, 1)
    assert table.missing == 12 - len(ROWS)
    assert math.isnan(table.of("AP")[2, 0])


def test_one_measure_is_topics_by_systems(table: ScoreTable) -> None:
    assert table.of("AP").shape == (3, 2)
    assert table.of("AP")[0].tolist() == [1.0, 0.25]
    only = table.select(measures=["RR"])
    assert np.array_equal(only.of(), table.of("RR"), equal_nan=True)


def test_a_measure_must_be_named_where_there_are_several(table: ScoreTable) -> None:
    with pytest.raises(RequestError, match=r"several measures(.|\n)*AP, RR"):
        table.of()
    with pytest.raises(RequestError, match="no measure «MAP»"):
        table.mean("MAP")


def test_means_of_logarithms_are_geometric_and_those_of_counts_are_sums() -> None:
    rows = [("GMAP", "1", math.log(0.1)), ("GMAP", "2", math.log(0.4)), ("num_ret", "1", 3.0), ("num_ret", "2", 5.0)]
    table = ScoreTable.from_rows((measure, topic, "a", score) for measure, topic, score in rows)
    assert table.averages("GMAP") == {"a": pytest.approx(0.2)}
    assert table.averages("num_ret") == {"a": 8.0}


def test_means_are_over_the_topics_that_have_a_score(table: ScoreTable) -> None:
    assert table.mean("AP") == {"a": 1.0, "b": 0.375}
    alone = ScoreTable.from_rows([("AP", "1", "a", 0.5), ("RR", "1", "b", 0.5)])
    assert math.isnan(alone.mean("AP")["b"])


def test_a_table_with_shards_has_one_more_dimension() -> None:
    rows = [("AP", "1", "a", "0", 0.5), ("AP", "1", "a", "1", 0.75), ("AP", "2", "a", "0", 0.25)]
    table = ScoreTable.from_rows(rows, columns=("measure", "topic", "system", "shard", "score"))
    assert table.shards == ("0", "1")
    assert table.of().shape == (2, 1, 2)
    assert table.mean() == {"a": 0.5}
    assert list(table.rows()) == rows
    assert table.columns == ("measure", "topic", "system", "shard", "score")
    assert "2 shards" in repr(table)


def test_rows_may_have_their_columns_in_any_order() -> None:
    table = ScoreTable.from_rows([(0.5, "a", 7, "AP")], columns=("score", "system", "topic", "measure"))
    assert list(table.rows()) == [("AP", "7", "a", 0.5)]


@pytest.mark.parametrize("lacking", ["measure", "topic", "system", "score"])
def test_rows_need_every_column(lacking: str) -> None:
    columns = [name for name in ("measure", "topic", "system", "score") if name != lacking]
    with pytest.raises(InputError, match=f"no column «{lacking}»"):
        ScoreTable.from_rows([("x", "y", 1.0)], columns=columns)


def test_two_scores_for_one_cell_are_refused() -> None:
    with pytest.raises(InputError, match="two scores for measure AP, topic 1, system a"):
        ScoreTable.from_rows([("AP", 1, "a", 0.5), ("AP", "1", "a", 0.5)])


def test_no_rows_are_no_table() -> None:
    with pytest.raises(InputError, match="no scores"):
        ScoreTable.from_rows([])


@pytest.mark.parametrize(
    "score", ["high", [], 10**400, math.inf, -math.inf], ids=["text", "a list", "too large", "inf", "-inf"]
)
def test_a_score_that_is_no_finite_number_is_refused(score: Any) -> None:
    with pytest.raises(InputError):
        ScoreTable.from_rows([("AP", "1", "a", score)])


def test_a_score_that_is_none_is_missing() -> None:
    table = ScoreTable.from_rows([("AP", "1", "a", None), ("AP", "1", "b", 0.5)])
    assert table.missing == 1


def test_values_must_fit_the_names() -> None:
    with pytest.raises(RequestError, match=r"shape \(1, 2, 2, 1\)"):
        ScoreTable(("AP",), ("1",), ("a", "b"), np.zeros((1, 2, 2, 1)))


# --- nobody can change it


def test_a_table_keeps_a_copy_of_its_values() -> None:
    values = np.zeros((1, 1, 1, 1))
    table = ScoreTable(("AP",), ("1",), ("a",), values)
    values[:] = 1.0
    assert table.mean() == {"a": 0.0}


def test_values_cannot_be_written(table: ScoreTable) -> None:
    for array in (table.values, table.of("AP"), table.select(topics=["9"]).values, table.settle("zero").values):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0


def test_fields_cannot_be_set(table: ScoreTable) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.topics = ()  # type: ignore[misc]


def test_views_leave_the_table_as_it_is(table: ScoreTable) -> None:
    before = table.values.copy()
    table.settle("zero")
    table.select(systems=["b"])
    table.to_frame("polars")["score"]
    assert np.array_equal(table.values, before, equal_nan=True)


# --- parts of it


def test_a_selection_is_in_the_order_asked_for(table: ScoreTable) -> None:
    part = table.select(measures=["RR", "AP"], topics=["q1", "9"], systems=["b"])
    assert (part.measures, part.topics, part.systems) == (("RR", "AP"), ("q1", "9"), ("b",))
    assert part.values[:, :, 0, 0].tolist()[0][0] == 0.0
    assert part.values[1, 1, 0, 0] == 0.25
    assert same(table.select(), table)


@pytest.mark.parametrize("part", ["measure", "topic", "system"])
def test_selecting_what_is_not_there_is_refused_with_what_is(table: ScoreTable, part: str) -> None:
    with pytest.raises(RequestError, match=f"no {part} «nothing»") as refusal:
        table.select(**{f"{part}s": ["nothing"]})
    assert getattr(table, f"{part}s")[0] in refusal.value.fix


def test_a_selection_keeps_the_warnings(table: ScoreTable) -> None:
    warned = dataclasses.replace(table, warnings=(Problem("tie", "run"),))
    assert warned.select(systems=["a"]).warnings == warned.settle("nan").warnings == (Problem("tie", "run"),)


def test_settling_missing_cells_is_noted(table: ScoreTable) -> None:
    warned = dataclasses.replace(table, warnings=(Problem("tie", "run"), Problem("cell-missing", "file")))
    zero, dropped = warned.settle("zero"), warned.select(measures=["AP"]).settle("drop")
    assert [each.slug for each in zero.warnings] == ["tie", "cell-zero"]
    assert f"{table.missing} of {table.values.size}" in str(zero.warnings[1])
    assert [each.slug for each in dropped.warnings] == ["tie", "topic-dropped"]
    assert f"{len(table.topics) - len(dropped.topics)} of {len(table.topics)} topics" in str(dropped.warnings[1])
    assert zero.settle("drop").warnings == zero.warnings  # nothing was left to settle


# --- missing cells


def test_missing_cells_can_become_zero(table: ScoreTable) -> None:
    settled = table.settle("zero")
    assert settled.missing == 0
    assert settled.mean("AP") == {"a": 1 / 3, "b": 0.25}


def test_missing_cells_can_stay(table: ScoreTable) -> None:
    assert same(table.settle("nan"), table)


def test_topics_with_missing_cells_can_be_dropped() -> None:
    rows = [("AP", "1", "a", 0.5), ("AP", "1", "b", 0.5), ("AP", "2", "a", 0.5)]
    settled = ScoreTable.from_rows(rows).settle("drop")
    assert settled.topics == ("1",)
    assert settled.missing == 0


def test_dropping_every_topic_is_refused(table: ScoreTable) -> None:
    with pytest.raises(RequestError, match="no topic with a score of every system") as refusal:
        table.settle("drop")
    assert "nan" not in refusal.value.fix


def test_an_unknown_policy_is_refused_with_the_known_ones(table: ScoreTable) -> None:
    with pytest.raises(RequestError, match="missing cannot be «mean»") as refusal:
        table.settle("mean")
    assert "zero, nan, drop" in refusal.value.fix


# --- dicts, as pytrec_eval has them


def test_a_dict_of_systems_is_read_and_given_back(table: ScoreTable) -> None:
    nested = {
        "a": {"9": {"AP": 1.0}, "10": {"RR": 0.125}},
        "b": {"9": {"AP": 0.25}, "10": {"AP": 0.5}, "q1": {"RR": 0.0}},
    }
    assert table.to_dict() == nested
    again = ScoreTable.from_dict(nested).select(measures=["AP", "RR"])
    assert same(again, table)


def test_a_dict_of_one_system_is_what_pytrec_eval_returns() -> None:
    table = ScoreTable.from_dict({"1": {"map": 0.5, "ndcg": 0.75}}, system="mine")
    assert (table.measures, table.topics, table.systems) == (("map", "ndcg"), ("1",), ("mine",))


def test_what_pytrec_eval_returns_is_read() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    evaluator = pytrec_eval.RelevanceEvaluator({"1": {"d1": 1, "d2": 0}}, {"map", "recip_rank"})
    table = ScoreTable.from_dict(evaluator.evaluate({"1": {"d1": 0.5, "d2": 1.0}}))
    assert table.mean("map") == table.mean("recip_rank") == {"run": 0.5}


@pytest.mark.parametrize("nested", [{}, {"a": 1.0}, {"a": {}}, {"a": {"1": {"AP": {"x": 1.0}}}}])
def test_a_dict_of_another_depth_is_refused(nested: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="dict"):
        ScoreTable.from_dict(nested)


@pytest.mark.parametrize(
    "nested",
    [
        {"a": {"1": {"AP": 0.5}}, "b": 0.5},
        {"a": {"1": {"AP": 0.5}, "2": 0.5}},
        {"a": {"1": {"AP": "x"}}},
        {"a": {"1": 0.5}, "b": {"1": {"AP": 1}}},
    ],
    ids=["a system without topics", "a topic without measures", "text", "measures that are topics"],
)
def test_a_dict_of_uneven_depth_is_refused(nested: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ScoreTable.from_dict(nested)


# --- frames


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_long_frame_comes_back(table: ScoreTable, backend: str) -> None:
    frame = table.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    assert same(ScoreTable.from_frame(frame), table)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wide_frame_comes_back(table: ScoreTable, backend: str) -> None:
    assert same(ScoreTable.from_frame(table.to_frame(backend, wide=True)), table)
    only = ScoreTable.from_rows([("AP", "1", "a", 0.5), ("AP", "2", "b", 0.5)])
    assert same(ScoreTable.from_frame(only.to_frame(backend, wide=True), measure="AP"), only)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_frame_of_a_table_with_shards_comes_back(backend: str) -> None:
    rows = [("AP", "1", "a", "0", 0.5), ("AP", "1", "a", "1", 0.75)]
    table = ScoreTable.from_rows(rows, columns=("measure", "topic", "system", "shard", "score"))
    assert same(ScoreTable.from_frame(table.to_frame(backend)), table)
    with pytest.raises(RequestError, match="no wide form"):
        table.to_frame(backend, wide=True)
    with pytest.raises(RequestError, match="no such form"):
        table.to_dict()


def frames(columns: dict[str, list[Any]]) -> list[Any]:
    return [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_topics_may_be_numbers_in_a_frame(at: int) -> None:
    table = ScoreTable.from_frame(frames({"topic": [10, 9], "a": [0.5, 0.25]})[at])
    assert (table.measures, table.topics, table.systems) == (("score",), ("9", "10"), ("a",))


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_an_empty_cell_of_a_wide_frame_is_missing_in_every_library(at: int) -> None:
    table = ScoreTable.from_frame(frames({"topic": ["1", "2"], "a": [0.5, None], "b": [0.5, 0.25]})[at])
    assert table.missing == 1
    assert table.mean() == {"a": 0.5, "b": 0.375}


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_a_topic_whose_cells_are_all_empty_is_kept_in_every_library(at: int) -> None:
    table = ScoreTable.from_frame(frames({"topic": ["1", "2"], "a": [0.5, None]})[at])
    assert (table.topics, table.missing) == (("1", "2"), 1)


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_an_empty_score_of_a_long_frame_is_missing_in_every_library(at: int) -> None:
    columns: dict[str, list[Any]] = {"topic": ["1", "2"], "system": ["a", "a"], "score": [0.5, None]}
    table = ScoreTable.from_frame(frames(columns)[at])
    assert (table.topics, table.missing) == (("1", "2"), 1)


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_a_frame_with_text_for_scores_is_refused(at: int) -> None:
    with pytest.raises(InputError):
        ScoreTable.from_frame(frames({"topic": ["1"], "a": ["high"]})[at])


@pytest.mark.parametrize("at", range(3), ids=BACKENDS)
def test_a_frame_without_topics_is_refused(at: int) -> None:
    with pytest.raises(InputError, match="no column «topic»"):
        ScoreTable.from_frame(frames({"query": ["1"], "a": [0.5]})[at])


@pytest.mark.parametrize(("name", "call"), [("topic", "reset_index()"), (None, 'rename_axis("topic").reset_index()')])
def test_topics_in_the_index_of_a_frame_are_recognised(name: str | None, call: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.5, 0.25], "b": [0.25, 0.5]}, index=pandas.Index(["1", "2"], name=name))
    with pytest.raises(InputError, match="no column «topic»") as refused:
        ScoreTable.from_frame(frame)
    assert f"`frame.{call}`" in refused.value.fix
    as_advised = eval(f"frame.{call}", {"frame": frame})
    assert ScoreTable.from_frame(as_advised).systems == ("a", "b")


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(InputError, match="a list is no data frame"):
        ScoreTable.from_frame([1, 2, 3])


def test_an_unknown_backend_is_refused_with_the_known_ones(table: ScoreTable) -> None:
    with pytest.raises(RequestError, match="no backend «excel»") as refusal:
        table.to_frame("excel")
    assert "pandas, polars, pyarrow" in refusal.value.fix


@pytest.mark.parametrize("system", ["topic", "measure"])
def test_a_system_called_as_a_column_has_no_wide_form(system: str) -> None:
    table = ScoreTable.from_rows([("AP", "1", system, 0.5), ("AP", "1", "a", 0.5)])
    with pytest.raises(RequestError, match=f"a system called «{system}»"):
        table.to_frame("pandas", wide=True)


# --- files


def test_a_wide_file_takes_its_measure_from_its_name(write: Callable[[str, str | bytes], str]) -> None:
    assert read_scores(write("map.csv", "topic,a\n1,0.5\n")).measures == ("map",)
    assert read_scores(write("map.csv.gz", "topic,a\n1,0.5\n")).measures == ("map",)
    assert read_scores(write("map.csv", "topic,a\n1,0.5\n"), measure="AP").measures == ("AP",)


def test_a_file_that_names_its_measures_keeps_them(write: Callable[[str, str | bytes], str]) -> None:
    table = read_scores(write("map.csv", "measure,topic,system,score\nRR,1,a,0.5\n"), measure="AP")
    assert table.measures == ("RR",)


def test_missing_cells_of_a_file_are_warned_of(write: Callable[[str, str | bytes], str]) -> None:
    table = read_scores(write("map.csv", "topic,a,b\n1,0.5,\n2,0.5,0.5\n"))
    assert table.missing == 1
    assert [problem.slug for problem in table.warnings] == ["cell-missing"]


@pytest.mark.parametrize(
    "content",
    [
        '[{"measure": "AP", "topic": "1", "system": "a", "score": 0.5}]',
        '{"method": "score", "rows": [{"measure": "AP", "topic": 1, "system": "a", "score": 0.5}]}',
        '{"a": {"1": {"AP": 0.5}}}',
    ],
    ids=["rows", "a result", "a dict"],
)
def test_json_may_be_rows_a_result_or_a_dict(content: str, write: Callable[[str, str | bytes], str]) -> None:
    assert list(read_scores(write("scores.json", content)).rows()) == [("AP", "1", "a", 0.5)]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param("{", "", id="cut short"),
        pytest.param("[1, 2]", "", id="numbers"),
        pytest.param("[]", "", id="nothing"),
        pytest.param("{}", "", id="empty"),
        pytest.param('{"rows": []}', "", id="no rows"),
        pytest.param('[{"topic": "1"}]', "", id="no scores"),
        pytest.param('[{"topic": "1", "system": "a", "score": "x"}]', ", record 1", id="text"),
        pytest.param("[" * 100_000, "", id="deep"),
    ],
)
def test_json_that_is_no_table_is_refused_with_its_file(
    content: str, place: str, write: Callable[[str, str | bytes], str]
) -> None:
    path = write("scores.json", content)
    with pytest.raises(InputError) as refusal:
        read_scores(path)
    assert refusal.value.where == path + place


@pytest.mark.parametrize("score", ["1" + "0" * 400, "1e400", "Infinity", "-1e999"])
def test_json_with_a_score_beyond_double_precision_is_refused(
    score: str, write: Callable[[str, str | bytes], str]
) -> None:
    with pytest.raises(InputError):
        read_scores(write("scores.json", f'[{{"topic": "1", "system": "a", "score": {score}}}]'))


def test_damaged_parquet_is_refused_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(ScoreTable.from_rows(ROWS), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="Parquet") as refusal:
        read_scores(path)
    assert refusal.value.where == str(path)


@pytest.mark.parametrize(
    ("columns", "place"), [({"query": ["1"], "a": [0.5]}, ""), ({"topic": ["1"], "a": ["high"]}, ", row 1")]
)
def test_parquet_that_is_no_table_is_refused_with_its_file(
    columns: dict[str, list[Any]], place: str, tmp_path: Path
) -> None:
    path = tmp_path / "scores.parquet"
    polars.DataFrame(columns).write_parquet(path)
    with pytest.raises(InputError) as refusal:
        read_scores(path)
    assert refusal.value.where == f"{path}{place}"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("scores.csv", "scores.parquet", "scores.json"):
        with pytest.raises(InputError, match="no such file") as refusal:
            read_scores(tmp_path / name)
        assert refusal.value.where == str(tmp_path / name)


@pytest.mark.parametrize("name", ["scores", "scores.xlsx", "scores.gz", "csv"])
def test_a_name_that_does_not_say_the_format_is_refused(table: ScoreTable, name: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="which format") as refusal:
        write_scores(table, tmp_path / name)
    assert ".csv, .tsv, .json, .parquet" in refusal.value.fix
    assert list(tmp_path.iterdir()) == []


def test_a_wide_file_has_a_row_a_topic(table: ScoreTable, tmp_path: Path) -> None:
    write_scores(table.select(measures=["AP"]), tmp_path / "ap.csv", wide=True)
    assert (tmp_path / "ap.csv").read_text() == "topic,a,b\n9,1.0,0.25\n10,,0.5\nq1,,\n"


def test_a_tsv_file_is_parted_by_tabs(table: ScoreTable, tmp_path: Path) -> None:
    write_scores(table.select(measures=["AP"]), tmp_path / "ap.tsv", wide=True)
    assert (tmp_path / "ap.tsv").read_text().splitlines()[:2] == ["topic\ta\tb", "9\t1.0\t0.25"]


def test_a_long_file_has_a_row_a_score(table: ScoreTable, tmp_path: Path) -> None:
    write_scores(table.select(measures=["AP"]), tmp_path / "ap.csv")
    assert (tmp_path / "ap.csv").read_text() == ("measure,topic,system,score\nAP,9,a,1.0\nAP,9,b,0.25\nAP,10,b,0.5\n")


def test_the_same_table_gives_the_same_bytes(table: ScoreTable, tmp_path: Path) -> None:
    for ending in (".csv", ".csv.gz", ".json", ".json.gz"):
        write_scores(table, tmp_path / f"one{ending}")
        write_scores(table, tmp_path / f"two{ending}")
        one, two = ((tmp_path / f"{name}{ending}").read_bytes() for name in ("one", "two"))
        assert one == two
        if ending.endswith(".gz"):
            assert one[4:8] == bytes(4), "gzip would note the time here"


def test_a_cell_that_is_no_number_is_said_of_the_score_not_of_a_document(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("topic,a,b\n1,0.5,high\n")
    with pytest.raises(InputError, match="a score that is not a number «high»") as refused:
        read_scores(file)
    assert refused.value.fix == "The system has no score on the topic. Write a decimal number, or leave the cell empty."


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_of_more_cells_than_memory_holds_is_refused_before_it_is_made(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / f"scores{ending}")
    count = 400
    names = {part: [f"{part}{at}" for at in range(count)] for part in ("topic", "system", "shard")}
    frame = polars.DataFrame({**names, "score": np.random.default_rng(1).random(count)})
    frame.write_csv(file) if ending == ".csv" else frame.write_parquet(file)
    monkeypatch.setattr("cranfield.scores.columnar.memory_size", lambda: 1e9)
    with pytest.raises(InputError) as refused:
        read_scores(file)
    assert refused.value.where == file
    assert "400 topics × 400 systems × 400 shards has 64,000,000 cells (1 GB)" in refused.value.what
    assert "the number of scores is 400" in refused.value.what
    assert "mean=COLUMN" in refused.value.fix
    assert read_scores(file, columns="mean=shard,topic=topic").shards == ()


@pytest.mark.parametrize(
    ("header", "row", "bad"),
    [
        ("topic,system,score", "{at},a,0.5", ["7777,a,x", "8888,a", '9999,"a,b",0.5,1']),
        ("topic,a,b", "{at},0.5,0.25", ["7777,0.5,x", "8888,0.5"]),
    ],
)
def test_only_blocks_with_a_bad_line_are_read_by_lines(
    header: str, row: str, bad: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [header, *(row.format(at=at) for at in range(3000))]
    for at, line in zip((500, 1900, 2500), bad, strict=False):
        lines[at] = line
    data = "\n".join(lines).encode()
    with pytest.raises(InputError) as slow:
        score_files.read_by_lines(data, "scores.csv")
    monkeypatch.setattr("cranfield.formats.column_scan.BLOCK", 4096)
    monkeypatch.setattr(score_files, "read_by_lines", lambda *_, **__: pytest.fail("the whole file is read by lines"))
    with pytest.raises(InputError) as quick:
        score_files.parse_scores(data, "scores.csv")
    assert (quick.value.what, quick.value.where, quick.value.fix) == (slow.value.what, slow.value.where, slow.value.fix)
    assert quick.value.where == "scores.csv:501"


@pytest.mark.parametrize("again", ["7,a,0.5", "498,a,0.5", "2999,a,x"])  # of another block, the same block, a bad line
def test_a_bad_line_beside_two_scores_for_a_cell_is_said_as_by_lines(
    again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["topic,system,score", *(f"{at},a,0.5" for at in range(3000))]
    lines[400], lines[500] = again, "x,a,high"
    data = "\n".join(lines).encode()
    with pytest.raises(InputError) as slow:
        score_files.read_by_lines(data, "scores.csv")
    assert "two scores" in str(slow.value) + slow.value.fix
    monkeypatch.setattr("cranfield.formats.column_scan.BLOCK", 4096)
    with pytest.raises(InputError) as quick:
        score_files.parse_scores(data, "scores.csv")
    assert (quick.value.what, quick.value.where, quick.value.fix) == (slow.value.what, slow.value.where, slow.value.fix)


TWO = {"a": {"1": {"AP": 0.5}, "10": {"AP": 0.25}}, "b": {"1": {"AP": 1 / 3}, "10": {"AP": 0.0}}}
MORE = {"b": {"10": {"RR": 0.1, "P@5": 0.2}, "1": {"RR": 1 / 7, "P@5": 0.4}}, "a": {}}
MORE["a"] = {"1": {"RR": 1.0, "P@5": 0.6}, "10": {"RR": 0.5, "P@5": 0.8}}  # other orders than in the file


def _values(rows: dict[str, dict[str, float]]) -> list[tuple[str, list[float]]]:
    return [(topic, list(scores.values())) for topic, scores in rows.items()]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "json", "parquet"])
def test_measures_are_added_to_a_file_whatever_the_order_of_its_rows(tmp_path: Path, ending: str, wide: bool) -> None:
    file = tmp_path / f"scores.{ending}"
    first = ["AP"] if not wide else ["AP", "RBP(p=0.8)"]  # one measure alone is not named in a wide table
    old = {
        system: {topic: dict.fromkeys(first, score) for topic, (score,) in _values(rows)}
        for system, rows in TWO.items()
    }
    write_scores(ScoreTable.from_dict(old), file, wide=wide and ending != "json", details={"seed": 5})
    before = sorted(tmp_path.iterdir())
    add_scores(ScoreTable.from_dict(MORE), file)
    table = read_scores(file)
    assert table.measures == (*first, "RR", "P@5")
    for system, topics in old.items():
        for topic, scores in topics.items():
            cell = table.topics.index(topic), table.systems.index(system), 0
            expected = {**scores, **MORE[system][topic]}
            assert {name: table.values[(at, *cell)] for at, name in enumerate(table.measures)} == expected
    assert sorted(tmp_path.iterdir()) == before  # nothing is left beside it
    if ending == "json":
        assert json.loads(file.read_text())["seed"] == 5
    elif not ending.endswith("parquet"):
        data = gzip.decompress(file.read_bytes()) if ending.endswith("gz") else file.read_bytes()
        assert (b"system" in data.split(b"\n")[0]) is not wide


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": MORE["a"]}, r"the systems are not those of the file: 1 systems of the file have no score here \(b\)"),
        ({**MORE, "c": MORE["a"]}, r"1 systems scored here are not in it \(c\)"),
        ({name: {"1": rows["1"]} for name, rows in MORE.items()}, r"1 topics of the file have no score here \(10\)"),
        ({name: {topic: {"map": 0.5} for topic in rows} for name, rows in MORE.items()}, "the file has map already"),
    ],
)
def test_other_systems_topics_or_the_same_measure_are_not_added(
    tmp_path: Path, scores: dict[str, dict[str, dict[str, float]]], message: str
) -> None:
    file = tmp_path / "scores.csv"
    write_scores(ScoreTable.from_dict(TWO), file)
    before = file.read_bytes()
    with pytest.raises(RequestError, match=message):
        add_scores(ScoreTable.from_dict(scores), file)
    assert file.read_bytes() == before


def test_measures_are_added_only_to_files_that_are_there_and_keep_every_digit(tmp_path: Path) -> None:
    table = ScoreTable.from_dict(MORE)
    with pytest.raises(RequestError, match="there is no such file to add to"):
        add_scores(table, tmp_path / "none.csv")
    write_scores(ScoreTable.from_dict(TWO), tmp_path / "wide.csv", wide=True)
    with pytest.raises(RequestError, match="does not say which measure"):
        add_scores(table, tmp_path / "wide.csv")
    with pytest.raises(RequestError, match="measures cannot be added to"):
        add_scores(table, tmp_path / "run.eval")
