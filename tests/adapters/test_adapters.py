"""Scores from where people have them: other tools' objects, and files that these tools wrote themselves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield
from cranfield.cli.app import main
from cranfield.errors import InputError, RequestError
from cranfield.formats.file_check import FileKind, check_files
from cranfield.scores import Columns, ScoreTable, read_score_files, read_scores
from cranfield.scores.score_files import OTHER_FORMATS, parse_scores

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}, "q3": {"d1": 1}}
RUNS = {
    "bm25": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d4": 2.0, "d3": 1.0}, "q3": {"d5": 2.0}},
    "dense": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d3": 2.0}, "q3": {"d1": 2.0}},
}
AP = {
    ("q1", "bm25"): 1.0,
    ("q2", "bm25"): 0.5,
    ("q3", "bm25"): 0.0,
    ("q1", "dense"): 0.5,
    ("q2", "dense"): 1.0,
    ("q3", "dense"): 1.0,
}
Write = Callable[[str, str | bytes], str]


def cells(table: ScoreTable, measure: str) -> dict[tuple[str, str], float]:
    return {(row[1], row[2]): row[-1] for row in table.rows() if row[0] == measure}


# --- packages


def test_ir_measures_gives_a_table() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    metrics = {
        name: ir_measures.iter_calc([ir_measures.AP, ir_measures.RR @ 10], QRELS, run) for name, run in RUNS.items()
    }
    table = ScoreTable.from_metrics(metrics)
    assert table.measures == ("AP", "RR@10")
    assert cells(table, "AP") == AP


def test_what_are_no_metrics_is_refused() -> None:
    with pytest.raises(InputError, match="iter_calc"):
        ScoreTable.from_metrics({"bm25": [0.5]})
    with pytest.raises(InputError, match="iter_calc"):
        ScoreTable.from_metrics({"bm25": 0.5})  # type: ignore[dict-item]


def test_pytrec_eval_gives_a_table_of_several_runs() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "recip_rank"})
    table = ScoreTable.from_dict({name: evaluator.evaluate(run) for name, run in RUNS.items()})
    assert cells(table, "map") == AP


def test_ranx_gives_a_table_as_documented() -> None:
    pytest.importorskip("ranx")
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    script = re.search(r"```py\n(.*?)```", page, re.S)
    assert script
    # Without its compiler, which takes half a minute before ranx gives its first number.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", script[1]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'bm25': 0.5, 'dense': 0.5}\n"


def test_levels_must_be_the_three_there_are() -> None:
    with pytest.raises(RequestError, match="levels cannot be system, topic"):
        ScoreTable.from_dict({"a": {"1": {"AP": 1.0}}}, levels=("system", "topic"))
    with pytest.raises(InputError, match=r"measure: \{topic: \{system: score"):
        ScoreTable.from_dict({"a": 1.0}, levels=("measure", "topic", "system"))


def test_one_run_of_ranx_needs_no_level_for_systems() -> None:
    table = ScoreTable.from_dict({"map": {"q1": 0.5}}, system="bm25", levels=("system", "measure", "topic"))
    assert list(table.rows()) == [("map", "q1", "bm25", 0.5)]


@pytest.mark.parametrize(
    "read", [pandas.read_csv, polars.read_csv, lambda file: pyarrow.Table.from_pandas(pandas.read_csv(file))]
)
def test_pyterriers_per_query_frame_gives_a_table(read: Callable[[Path], Any]) -> None:
    table = ScoreTable.from_frame(read(FILES / "pyterrier.csv"))
    assert table.measures == ("map", "ndcg_cut_10")
    assert cells(table, "map") == {key: score for key, score in AP.items() if key[0] != "q3"}


def test_pyterrier_itself_gives_a_table() -> None:
    pyterrier = pytest.importorskip("pyterrier")
    frames = [
        pandas.DataFrame(
            [(q, d, s, 0) for q, docs in run.items() for d, s in docs.items()],
            columns=["qid", "docno", "score", "rank"],
        )
        for run in RUNS.values()
    ]
    topics = pandas.DataFrame([(topic, "words") for topic in QRELS], columns=["qid", "query"])
    qrels = pandas.DataFrame(
        [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()], columns=["qid", "docno", "label"]
    )
    found = pyterrier.Experiment(frames, topics, qrels, ["map"], names=list(RUNS), perquery=True)
    assert cells(ScoreTable.from_frame(found), "map") == AP


# --- files that tools wrote, without a word about their columns


def test_trec_evals_output_is_one_system_a_file_and_its_tag_the_name() -> None:
    found = read_score_files([FILES / "trec_eval-1.txt", FILES / "trec_eval-2.txt"])
    (table,) = found.values()
    assert table.systems == ("bm25", "dense")
    assert cells(table, "map") == AP
    assert "num_q" not in table.measures  # there is only one, for all topics
    assert "all" not in table.topics


@pytest.mark.parametrize("name", ["ir_measures-bm25.tsv", "ir_measures-bm25.jsonl"])
def test_ir_measures_output_is_read_in_both_its_forms(name: str) -> None:
    table = read_scores(FILES / name, system="bm25")
    assert cells(table, "AP") == {key: score for key, score in AP.items() if key[1] == "bm25"}


def test_pyterriers_csv_is_known_by_its_columns() -> None:
    assert read_scores(FILES / "pyterrier.csv").systems == ("bm25", "dense")


def test_three_fields_a_line_without_means_are_not_guessed_at(write: Write) -> None:
    with pytest.raises(InputError, match="which has the topics") as refusal:
        read_scores(write("scores.txt", "q1 bm25 0.5\nq2 bm25 0.25\n"))
    assert "topic,system,score" in refusal.value.fix


def test_output_with_means_only_is_refused_with_the_flag(write: Write) -> None:
    with pytest.raises(InputError, match="no topics") as refusal:
        read_scores(write("scores.txt", "map all 0.5\nP_10 all 0.25\n"))
    assert "-q" in refusal.value.fix


def test_a_broken_line_of_output_has_its_place(write: Write) -> None:
    good = "".join(f"measure{at} q1 0.5\n" for at in range(21))
    path = write("scores.txt", f"map all 0.5\n{good}map q2 high\n")
    with pytest.raises(InputError, match="«high»") as refusal:
        read_scores(path)
    assert refusal.value.where == f"{path}:23"


@pytest.mark.parametrize("name", ["trec_eval-1.txt", "ir_measures-bm25.tsv", "ir_measures-bm25.jsonl", "pyterrier.csv"])
def test_such_files_pass_the_check_as_scores(name: str) -> None:
    report = check_files([FILES / name], others=OTHER_FORMATS)
    assert [(file.kind, file.lines > 0) for file in report.files] == [(FileKind.SCORES, True)]
    assert not report.failed(strict=True)


# --- files with columns of their own


def test_ragas_csv_has_answers_over_several_lines() -> None:
    found = read_score_files(
        sorted(FILES.glob("ragas-*.csv")), columns="topic=user_input,score=exact_match,score=non_llm_string_similarity"
    )
    (table,) = found.values()
    assert table.systems == ("ragas-large", "ragas-small")
    assert table.measures == ("exact_match", "non_llm_string_similarity")
    assert table.mean("exact_match") == {"ragas-large": 1.0, "ragas-small": 1 / 3}
    assert cells(table, "non_llm_string_similarity")["Where is Cranfield?", "ragas-small"] == pytest.approx(5 / 12)


def test_a_star_takes_every_column_of_numbers() -> None:
    table = read_scores(FILES / "ragas-small.jsonl", columns={"topic": "user_input", "score": "*"})
    assert table.measures == ("exact_match", "non_llm_string_similarity")


def test_one_column_of_scores_may_be_given_a_name() -> None:
    table = read_scores(FILES / "ragas-small.jsonl", columns="topic=user_input,score=exact_match", measure="EM")
    assert table.measures == ("EM",)
    assert "measure-named" in {warning.slug for warning in table.warnings}


@pytest.fixture
def two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of one system each, with the same names in two folders."""
    for at, folder in enumerate(("old", "new")):
        (tmp_path / folder).mkdir()
        scores = {str(topic): (topic * (at + 3) % 7) / 7 for topic in range(9)}
        rows = "".join(f"{topic},{score}\n" for topic, score in scores.items())
        (tmp_path / folder / "results.csv").write_text(f"topic,score\n{rows}")
        records = [{"topic": topic, "score": score} for topic, score in scores.items()]
        (tmp_path / folder / "results.json").write_text(json.dumps(records))
        (tmp_path / folder / "named.csv").write_text(f"topic,system,score\n{rows}".replace(",0", ",named,0"))
        (tmp_path / folder / "by_topic.json").write_text(json.dumps({each: {"AP": scores[each]} for each in scores}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["results.csv", "results.json", "by_topic.json"])
@pytest.mark.parametrize("measure", [None, "AP"])
def test_files_with_one_name_in_two_folders_are_called_by_their_folders_too(
    two_folders: Path, name: str, measure: str | None
) -> None:
    stem = name.partition(".")[0]
    found = cranfield.compare([f"old/{name}", str(two_folders / "new" / name)], measure=measure)
    (comparison,) = found.comparisons.values()
    assert sorted(comparison.systems) == [f"new/{stem}", f"old/{stem}"]


def test_files_that_name_the_same_system_are_not_two(two_folders: Path) -> None:
    with pytest.raises(InputError, match=r"of old.named.csv and that of new.named.csv are both called «named»"):
        cranfield.compare(["old/named.csv", "new/named.csv"])
    with pytest.raises(RequestError, match="there is no system «bm25»"):
        cranfield.compare(["old/named.csv", "new/named.csv"], baseline="bm25")
    with pytest.raises(InputError, match="there is one, «results»"):
        cranfield.compare("old/results.csv")


def test_files_that_are_no_table_together_are_refused_with_the_reason() -> None:
    small, large, other = (
        str(FILES / name) for name in ("inspect-small.eval", "inspect-large.eval", "trec_eval-1.txt")
    )
    with pytest.raises(InputError, match=r"inspect-large[.]eval has several scores for each topic"):
        cranfield.compare([small, large])
    with pytest.raises(InputError, match="have different measures"):
        cranfield.compare([small, other])


HEADED = "query,run,{}\n1,a,0.5\n2,a,0.25\n1,b,1\n2,b,0.75\n"


@pytest.mark.parametrize("heading", ["recall", "final_score"])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_heading_that_names_a_measure_keeps_it(write: Write, heading: str, ending: str) -> None:
    path = write("t.csv", HEADED.format(heading))
    if ending == "json":
        path = write("t.json", pandas.read_csv(path).to_json(orient="records"))
    assert read_scores(path, measure=heading).measures == (heading,)
    with pytest.raises(RequestError, match=f"no measure «nDCG@10»\n  There are: {heading}."):
        cranfield.compare(path, measure="nDCG@10")
    frame = pandas.read_csv(write("t.csv", HEADED.format(heading)))
    with pytest.raises(RequestError, match="no measure «nDCG@10»"):
        cranfield.compare(frame, measure="nDCG@10")


@pytest.mark.parametrize("text", [HEADED.format("score"), HEADED.format("Value"), "topic,a,b\n1,0.5,1\n2,0.25,0.75\n"])
def test_a_table_without_a_name_for_its_measure_may_be_given_one(write: Write, text: str) -> None:
    table = read_scores(write("t.csv", text), measure="nDCG@10")
    assert table.measures == ("nDCG@10",)
    assert "measure-named" not in {warning.slug for warning in table.warnings}


def test_deepevals_metrics_are_a_list_within_each_case() -> None:
    table = read_scores(
        FILES / "deepeval-small.json", columns="topic=name,measure=metricsData.name,score=metricsData.score"
    )
    assert table.measures == ("Exact Match", "Pattern Match")
    assert [table.mean(measure)["deepeval-small"] for measure in table.measures] == [1 / 3, 2 / 3]


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_promptfoos_results_are_prompts_by_providers(name: str) -> None:
    table = read_scores(
        FILES / name, columns="topic=vars.question,system=prompt.label+provider.label,score=namedScores"
    )
    assert table.systems == ("long", "long echo-two", "short", "short echo-two")
    assert set(table.measures) == {"names", "brief"}
    assert table.mean("brief") == {system: float(system.startswith("short")) for system in table.systems}


def test_an_openai_evals_log_has_other_lines_too(write: Write) -> None:
    lines = [
        {"spec": {"completion_fns": ["gpt"], "eval_name": "arithmetic"}},
        {"run_id": "r", "event_id": 0, "sample_id": "arithmetic.dev.0", "type": "sampling", "data": {"prompt": "2+2?"}},
        {"run_id": "r", "event_id": 1, "sample_id": "arithmetic.dev.0", "type": "match", "data": {"correct": True}},
        {"run_id": "r", "event_id": 2, "sample_id": "arithmetic.dev.1", "type": "match", "data": {"correct": False}},
        {"final_report": {"accuracy": 0.5}},
    ]
    path = write("gpt.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    table = read_scores(path, columns="topic=sample_id,score=data.correct", measure="accuracy")
    assert list(table.rows()) == [
        ("accuracy", "arithmetic.dev.0", "gpt", 1.0),
        ("accuracy", "arithmetic.dev.1", "gpt", 0.0),
    ]
    assert str(table.warnings[0]) == "3 of 5 records have no score and are left out."
    assert [warning.slug for warning in table.warnings[1:]] == ["measure-named"]


def test_langsmiths_frame_has_a_feedback_column_a_metric() -> None:
    frame = pandas.DataFrame(
        {
            "inputs.question": ["a", "b"],
            "outputs.answer": ["x", "y"],
            "feedback.correctness": [1, 0],
            "execution_time": [0.1, 0.2],
            "example_id": ["e1", "e2"],
        }
    )
    table = ScoreTable.from_frame(frame, columns="topic=example_id,score=feedback.correctness", system="v1")
    assert list(table.rows()) == [("feedback.correctness", "e1", "v1", 1.0), ("feedback.correctness", "e2", "v1", 0.0)]


def test_trulens_records_have_an_app_and_its_feedbacks() -> None:
    frame = pandas.DataFrame({"app_version": ["v1", "v2"], "input": ["a", "a"], "Answer Relevance": [0.9, 0.7]})
    table = ScoreTable.from_frame(frame, columns="topic=input,system=app_version,score=Answer Relevance")
    assert table.mean() == {"v1": 0.9, "v2": 0.7}


def test_seeds_are_shards(write: Write) -> None:
    rows = "".join(
        f"q{topic},p{prompt},{seed},0.{topic}{prompt}{seed}\n"
        for topic in (1, 2)
        for prompt in (1, 2)
        for seed in (1, 2)
    )
    table = read_scores(
        write("runs.csv", f"question,prompt,seed,f1\n{rows}"), columns="topic=question,system=prompt,seed=seed,score=f1"
    )
    assert (table.systems, table.shards, table.measures) == (("p1", "p2"), ("1", "2"), ("f1",))
    assert table.replicates == "nested"


def test_seeds_may_be_averaged(write: Write) -> None:
    path = write("runs.csv", "question,seed,f1\na,1,0.25\na,2,0.75\nb,1,1\nb,2,\n")
    table = read_scores(path, columns="topic=question,mean=seed,score=f1")
    assert list(table.rows()) == [("f1", "a", "runs", 0.5), ("f1", "b", "runs", 1.0)]
    assert table.shards == ()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz"])
def test_every_kind_of_file_is_read_alike(ending: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"question": ["a", "b"], "model": ["m", "m"], "good": [True, False], "f1": [0.5, None]})
    path = tmp_path / f"scores{ending}"
    writers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".csv.gz": lambda: frame.to_csv(path, index=False),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".json": lambda: path.write_text(
            json.dumps({"run": 1, "results": {"rows_of_it": json.loads(frame.to_json(orient="records"))}})
        ),
        ".parquet": lambda: frame.to_parquet(path),
    }
    writers[ending]()
    table = read_scores(path, columns="topic=question,system=model,score=good,score=f1")
    assert cells(table, "good") == {("a", "m"): 1.0, ("b", "m"): 0.0}
    assert cells(table, "f1") == {("a", "m"): 0.5}
    assert [warning.slug for warning in table.warnings] == ["cell-missing"]


def test_a_column_may_be_a_system(write: Write) -> None:
    table = read_scores(
        write("ndcg.csv", "qid,words,bm25,dense\n1,so,0.5,0.25\n2,what,,1\n"), columns="topic=qid,system=*"
    )
    assert (table.measures, table.systems) == (("ndcg",), ("bm25", "dense"))
    assert cells(table, "ndcg") == {("1", "bm25"): 0.5, ("1", "dense"): 0.25, ("2", "dense"): 1.0}


def test_columns_that_could_be_systems_or_measures_are_not_guessed_at(write: Write) -> None:
    path = write("ndcg.csv", "qid,a,b\n1,0.5,0.25\n")
    with pytest.raises(RequestError, match="unclear") as refusal:
        read_scores(path, columns="topic=qid")
    assert "system=*" in refusal.value.fix
    assert read_scores(path, columns="topic=qid", system="mine").measures == ("a", "b")


def test_the_columns_of_a_table_are_suggested(write: Write) -> None:
    with pytest.raises(InputError) as refusal:
        read_scores(write("scores.csv", "qid,words,run,MAP,P10\n1,so,bm25,0.5,0.1\n"))
    assert '`columns="topic=qid,system=run,score=MAP,score=P10"`' in refusal.value.fix


def test_a_topic_column_of_another_name_keeps_a_file_wide_or_long(write: Write) -> None:
    long = read_scores(write("a.csv", "qid,system,score\n1,bm25,0.5\n"), columns="topic=qid")
    assert list(long.rows()) == [("score", "1", "bm25", 0.5)]


# --- several files


def test_files_of_one_system_each_are_one_table_and_others_are_collections(write: Write) -> None:
    one = [write(f"{name}.csv", f"measure,topic,system,score\nAP,1,{name},0.5\n") for name in "ab"]
    (table,) = read_score_files(one).values()
    assert table.systems == ("a", "b")
    same = [write(f"{year}.csv", "measure,topic,system,score\nAP,1,a,0.5\n") for year in (1, 2)]
    assert list(read_score_files(same)) == same
    two = [write(f"w{year}.csv", "measure,topic,system,score\nAP,1,a,0.5\nAP,1,b,0.5\n") for year in (1, 2)]
    assert list(read_score_files(two)) == two


def test_files_with_different_topics_are_joined_and_say_so(write: Write) -> None:
    files = [
        write(f"{name}.csv", f"measure,topic,system,score\nAP,{topic},{name},0.5\n") for name, topic in ("a1", "b2")
    ]
    (table,) = read_score_files(files).values()
    assert table.missing == 2
    assert "different topics" in str(table.warnings[0])


# --- what is wrong with them

BAD = [
    ("topic=question,score=f1", "question,f1\na,high\n", ":2", "«high»"),
    ("topic=question,score=f1", "question,f1\na,0.5,1\n", ":2", "3 cells where the header has 2"),
    ("topic=question,score=f1", 'question,f1\n"a\nb",0.5\n"a\nb",0.6\n', ":4", "two scores"),
    ("topic=question,score=f1", "question,f1\n,0.5\n", ":2", "«question» is empty"),
    ("topic=query,score=f1", "question,f1\na,0.5\n", "", "no column «query» for the topic"),
    ("topic=question,score=em", "question,f1\na,0.5\n", "", "no record has a score «em»"),
    ("topic=question,system=model,score=f1", "question,f1\na,0.5\n", "", "no column «model»"),
    ("topic=question,score=f1", "question,f1,f1\na,0.5,0.5\n", ":1", "two columns are called «f1»"),
    ("topic=question,score=*", "question,answer\na,b\n", "", "no column has numbers"),
    ("topic=question,score=f1", '{"question": "a", "f1": 0.5}\n[1]\n', ":2", "no object"),
    ("topic=question,score=f1", '{"question": "a", "f1": 0.5}\n{"question"\n', ":2", "not JSON"),
    ("topic=question,score=f1", '{"question": "a", "f1": 1e999}\n{"question": "b", "f1": 1}\n', ":1", "«inf»"),
    ("topic=question,score=f1", '{"a": {"b": 1}}', "", "no list of records"),
    ("topic=question,score=f1", "   \n", "", "no data"),
    ("topic=question,score=f1", b"question,f1\n\xff,0.5\n", ":2", "not UTF-8"),
    ("topic=question,score=f1", b"\x00\x01", "", "not text"),
    ("topic=vars,score=f1", '[{"vars": {"q": 1}, "f1": 1}]', ", record 1", "no single topic"),
]


@pytest.mark.parametrize(("columns", "content", "place", "what"), BAD, ids=[each[3] for each in BAD])
def test_what_is_wrong_is_said_with_its_place(
    columns: str, content: str | bytes, place: str, what: str, write: Write
) -> None:
    path = write("scores.any", content)
    with pytest.raises(InputError) as refusal:
        read_scores(path, columns=columns)
    assert refusal.value.where == path + place
    assert what in refusal.value.what
    assert refusal.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "question",
        "topic=",
        "query=question",
        "topic=a,system=b,system=c",
        "topic=a,measure=m,score=x,score=y",
        "topic=a,shard=m,mean=m,score=x",
    ],
)
def test_columns_that_make_no_sense_are_refused(text: str, write: Write) -> None:
    path = write("scores.csv", "a,m,x,y\n1,AP,0.5,0.5\n")
    with pytest.raises(RequestError):
        read_scores(path, columns=text)


def test_a_column_with_a_comma_is_quoted() -> None:
    assert Columns.parse('topic=question,"score=a, b"').score == ("a, b",)


def test_a_file_without_topics_is_refused_with_how_its_columns_are_named(write: Write) -> None:
    for name, content in (
        ("a.csv", "question,f1\na,0.5\n"),
        ("a.jsonl", '{"question": "a"}\n{"question": "b"}\n'),
        ("a.json", '[{"question": "a"}]'),
    ):
        with pytest.raises(InputError) as refusal:
            read_scores(write(name, content))
        assert "`columns" in refusal.value.fix


SEPARATORS = st.sampled_from(
    [",", "\n", '"', "{", "}", "[", "]", ":", "topic", "score", "0.5", "a", "\\", "\x00", "é", "null"]
)


@given(
    content=st.one_of(
        st.binary(max_size=80), st.lists(SEPARATORS, max_size=40).map(lambda parts: "".join(parts).encode())
    )
)
@pytest.mark.parametrize("columns", [None, "topic=topic,score=score", "topic=topic,score=*", "topic=a.b,system=*"])
def test_any_bytes_are_a_table_or_are_refused(columns: str | None, content: bytes) -> None:
    try:
        table = parse_scores(content, "any.csv", columns=columns)
    except (InputError, RequestError):
        return
    assert table.values.size


# --- commands

COMMANDS = [
    ["size", "--difference", "0.1"],
    ["power"],
    ["compare"],
    ["variance"],
    ["reliability"],
    ["simulate", "--topics", "20", "-o", "new.csv"],
    ["verify", "--difference", "0.3", "--topics", "10", "--collections", "250", "--no-search"],
    ["report", "-o", "report.html", "--section", "compare"],
    ["study", "past", "--difference", "0.1"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=[each[0] for each in COMMANDS])
def test_commands_take_such_files_directly(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(1)
    rows = [
        {"question": f"Why {at}?", "answer": "So, and\nso.", "model": model, "faithfulness": random.beta(4, 2)}
        for at in range(20)
        for model in ("large", "small", "tuned")
    ]
    pandas.DataFrame(rows).to_csv(tmp_path / "rag.csv", index=False)
    monkeypatch.chdir(tmp_path)
    given = ["rag.csv", "--columns", "topic=question,system=model,score=faithfulness"]
    words = command[:2] if command[0] == "study" else command[:1]
    monkeypatch.setattr("sys.argv", ["cranfield", *words, *given, *command[len(words) :]])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code == 0, printed.err
    assert printed.out


def test_columns_do_not_go_with_runs(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ["compare", str(example / "runs"), "--qrels", str(example / "qrels.txt"), "--columns", "topic=question"]
    monkeypatch.setattr("sys.argv", ["cranfield", *runs])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "score files" in capsys.readouterr().err
