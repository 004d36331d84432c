"""Missing scores: one policy for every question, and every way a file can say that there is no score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner, Result

import cranfield
from cranfield import InputError, ScoreTable
from cranfield.cli.app import app
from cranfield.methods.contrasts.comparing import compare
from cranfield.methods.design.pair_sizes import pair_sizes
from cranfield.methods.reliability import assess_reliability, generalise
from cranfield.methods.sequential.paired_differences import all_pairs
from cranfield.methods.sequential.trial import past_experience
from cranfield.methods.sharding.shard_models import replicate_study
from cranfield.methods.simulation import fit_simulator
from cranfield.methods.variance import estimate_variance
from cranfield.scores import check_balance, read_score_files, read_scores

Write = Callable[[str, str | bytes], str]

SYSTEMS = "abcde"
GAPS = ((7, 0), (7, 2), (21, 2))  # topics and systems of 3 of 150 cells


def scores() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    made = rng.beta(2, 4, size=(30, 1)) * 0.7 + rng.uniform(0, 0.2, size=(30, 5)) + [0.0, 0.02, 0.04, 0.06, 0.08]
    return made.round(3)


def rows(empty: str = "", *, gaps: bool = True) -> list[list[str]]:
    cells = [[f"{value:.3f}" for value in row] for row in scores()]
    for topic, system in GAPS if gaps else ():
        cells[topic][system] = empty
    return [[str(401 + at), *row] for at, row in enumerate(cells)]


@pytest.fixture
def gappy(write: Write) -> str:
    return write("pilot.csv", "\n".join(["topic,a,b,c,d,e", *(",".join(row) for row in rows())]) + "\n")


QUESTIONS: dict[str, list[str]] = {
    "size": ["size", "{file}", "--difference", "0.05"],
    "power": ["power", "{file}"],
    "gate": ["power", "{file}", "--gate", "difference=0.9,power=0.8"],
    "variance": ["variance", "{file}"],
    "variance --pairs": ["variance", "{file}", "--pairs"],
    "compare": ["compare", "{file}"],
    "compare --audit": ["compare", "{file}", "--audit", "--resamples", "100"],
    "reliability": ["reliability", "{file}", "--trials", "10", "--resamples", "100"],
    "verify": ["verify", "{file}", "--difference", "0.1", "--collections", "250", "--topics", "20"],
    "simulate": ["simulate", "{file}"],
    "report": ["report", "{file}", "--section", "size", "--json"],
    "study new": ["study", "new", "{folder}/a.study", "--difference", "0.05", "--past", "{file}"],
    "study past": ["study", "past", "{file}", "--difference", "0.05"],
    "study trial": ["study", "trial", "{file}", "--pairs", "3", "--repeats", "10"],
    "study simulate": ["study", "simulate", "{file}", "--pairs", "1", "--repeats", "10"],
    "study peek": ["study", "peek", "{file}", "--first", "20", "--repeats", "5", "--low", "0", "--high", "1"],
}


def run(question: str, file: str, *more: str) -> Result:
    words = [word.format(file=file, folder=Path(file).parent) for word in QUESTIONS[question]]
    return CliRunner().invoke(app, [*words, *more])


def core(file: str) -> str:
    return (
        f"{file}:9: 3 of 150 scores of pilot are missing "
        f"(topic 408, system a; topic 408, system c; topic 422, system c in {file}:23)"
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_refuses_missing_scores_and_names_them(question: str, gappy: str) -> None:
    result = run(question, gappy)
    assert isinstance(result.exception, InputError), result.output
    assert result.exception.exit_code == 2
    assert str(result.exception).startswith(core(gappy))
    assert '`missing="zero"`' in result.exception.fix
    assert "the 2 topics that lack any" in result.exception.fix


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("policy", "kind"), [("zero", "cell-zero"), ("drop", "topic-dropped")])
def test_what_was_done_about_them_is_counted(question: str, policy: str, kind: str, gappy: str) -> None:
    json_too = [] if question == "report" else ["--json"]
    result = run(question, gappy, "--missing", policy, *json_too)
    assert result.exit_code == 0, result.output
    said = {
        "cell-zero": "3 of 150 scores are missing and count as 0",
        "topic-dropped": "2 of 30 topics lack a score and are left out (408, 422)",
    }
    warnings = json.loads(result.stdout)["warnings"]
    assert [warning["problem"] for warning in warnings if warning["kind"] == kind] == [said[kind]]


def test_a_score_without_a_row_is_missing_from_its_file(write: Write) -> None:
    lines = [f"AP,{topic},{system},0.{topic}" for topic in range(1, 6) for system in "ab"]
    file = write("long.csv", "\n".join(["measure,topic,system,score", *lines[:3], *lines[4:]]) + "\n")
    result = run("size", file)
    assert str(result.exception).startswith(f"{file}: 1 of 10 scores of AP is missing (topic 2, system b)")


FUNCTIONS: dict[str, Callable[[ScoreTable], object]] = {
    "estimate_variance": estimate_variance,
    "compare": compare,
    "assess_reliability": assess_reliability,
    "generalise": generalise,
    "fit_simulator": fit_simulator,
    "report": lambda table: cranfield.report({"pilot": table}),
    "pair_sizes": pair_sizes,
    "past_experience": lambda table: past_experience(table, difference=0.05),
    "all_pairs": lambda table: all_pairs(table),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_refuses_missing_scores_alike(function: str, gappy: str) -> None:
    table = read_scores(gappy)
    with pytest.raises(InputError) as refusal:
        FUNCTIONS[function](table)
    assert str(refusal.value).startswith(core(gappy))


def test_replicates_that_are_missing_are_named_with_their_shard(write: Write) -> None:
    lines = [f"AP,{t},{s},{k},0.{t}" for t in (1, 2, 3) for s in "ab" for k in ("s1", "s2")]
    lines[5] = "AP,2,a,s2,NA"
    table = read_scores(write("seeds.csv", "measure,topic,system,shard,score\n" + "\n".join(lines) + "\n"))
    with pytest.raises(InputError, match=r"seeds.csv:7: 1 of 12 scores of AP is missing \(topic 2, system a, shard s2"):
        replicate_study(table, resamples=0)


# --- every way to say that there is no score


def in_csv(path: Path, empty: Any, mark: str = ",") -> None:
    lines = [[cell if cell != "EMPTY" else str(empty) for cell in row] for row in rows("EMPTY")]
    path.write_text("\n".join(mark.join(row) for row in [["topic", *SYSTEMS], *lines]) + "\n")


def in_json(path: Path, empty: Any, *, lines: bool = False) -> None:
    records = [
        {"topic": row[0], "system": name, "score": empty if cell == "EMPTY" else float(cell)}
        for row in rows("EMPTY")
        for name, cell in zip(SYSTEMS, row[1:], strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))


def in_parquet(path: Path, empty: Any) -> None:
    columns = list(zip(*rows("EMPTY"), strict=True))
    cells = {
        name: [empty if cell == "EMPTY" else cell for cell in column]
        for name, column in zip(("topic", *SYSTEMS), columns, strict=True)
    }
    pandas.DataFrame(cells).to_parquet(path)


WRITERS: dict[str, Callable[[Path, Any], None]] = {
    "csv": in_csv,
    "tsv": lambda path, empty: in_csv(path, empty, "\t"),
    "json": in_json,
    "jsonl": lambda path, empty: in_json(path, empty, lines=True),
    "parquet": in_parquet,
}
PLACES = {"csv": ":9", "tsv": ":9", "json": ", record 36", "jsonl": ":36, column score", "parquet": ", row 8"}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("empty", ["", "NaN", "nan", "NA", "n/a", "null", "None", None, float("nan")])
def test_nothing_is_read_alike_from_every_format(ending: str, empty: Any, tmp_path: Path) -> None:
    if empty is None and ending in ("csv", "tsv"):
        empty = ""
    path = tmp_path / f"pilot.{ending}"
    WRITERS[ending](path, empty)
    table = read_scores(path)
    assert table.missing == 3
    assert [(cell[1], cell[2]) for cell in table.empty] == [("408", "a"), ("408", "c"), ("422", "c")]
    assert [warning.slug for warning in table.warnings] == ["cell-missing"]
    with pytest.raises(InputError, match=r"3 of 150 scores of \w+ are missing \(topic 408, system a;") as refusal:
        check_balance(table)
    assert refusal.value.where == f"{path}{PLACES[ending]}"


def test_a_topic_without_any_score_is_missing_too(write: Write) -> None:
    table = read_scores(write("wide.csv", "topic,a,b\n1,0.1,0.2\n2,,\n3,0.3,0.1\n"))
    assert table.topics == ("1", "2", "3")
    assert table.missing == 2


def test_a_table_without_one_score_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match="no cell has a score"):
        read_scores(write("wide.csv", "topic,a,b\n1,,\n2,,\n"))
    with pytest.raises(InputError, match="no record has a score"):
        read_scores(write("wide.jsonl", '{"topic": 1, "score": null}\n{"topic": 2, "score": null}\n'))


RAGAS = "user_input,response,faithfulness,answer_relevancy\n"


def test_an_empty_cell_of_an_evaluation_tool_is_named_with_its_row_and_column(write: Write) -> None:
    questions = [f"What is number {at} of the questions that have been asked?" for at in range(1, 6)]
    lines = [f'{question},"two\nlines",0.{at}5,0.5' for at, question in enumerate(questions)]
    lines[2] = lines[2].replace("0.25", "")
    file = write("ragas.csv", RAGAS + "\n".join(lines) + "\n")
    columns = "topic=user_input,score=faithfulness,score=answer_relevancy"
    with pytest.raises(InputError) as refusal:
        check_balance(read_scores(file, columns=columns))
    assert refusal.value.where == f"{file}:6, column faithfulness"
    assert "measure faithfulness, topic What is number 3 of the questions that …, system ragas" in refusal.value.what
    table = read_scores(file, columns=columns)
    check_balance(table, "answer_relevancy")
    with pytest.raises(InputError, match="1 of 5 scores of faithfulness is missing"):
        check_balance(table, "faithfulness")


def test_files_of_one_system_each_say_in_which_of_them_a_score_is_missing(write: Write) -> None:
    files = [
        write("a.csv", "topic,a\n1,0.1\n2,\n3,0.2\n"),
        write("b.csv", "topic,b\n1,0.1\n2,\n3,0.2\n"),
        write("c.csv", "topic,c\n1,0.1\n2,0.5\n"),
    ]
    (table,) = read_score_files(files, measure="AP").values()
    assert table.topics == ("1", "2", "3")
    with pytest.raises(InputError) as refusal:
        check_balance(table)
    assert refusal.value.where == f"{files[0]}:3"
    assert f"topic 2, system b in {files[1]}:3; topic 3, system c)" in refusal.value.what


def test_a_run_scores_0_where_it_returned_nothing_and_that_is_counted(write: Write) -> None:
    qrels = write("qrels.txt", "".join(f"{topic} 0 d{topic} 1\n" for topic in range(1, 31)))
    runs = [
        write(f"{name}.txt", "".join(f"{t} Q0 d{t if t % k else 'x'} 1 1.0 {name}\n" for t in range(1, last)))
        for name, k, last in (("a", 3, 31), ("b", 4, 30), ("c", 5, 31))
    ]
    result = CliRunner().invoke(app, ["variance", *runs, "--qrels", qrels, "--json"])
    assert result.exit_code == 0, result.output
    said = [warning for warning in json.loads(result.stdout)["warnings"] if warning["kind"] == "topic-missing"]
    assert [(warning["count"], warning["effect"]) for warning in said] == [(1, "It scores 0 there.")]
    result = CliRunner().invoke(app, ["variance", *runs, "--qrels", qrels, "--json", "--missing", "drop"])
    kinds = [warning["kind"] for warning in json.loads(result.stdout)["warnings"]]
    assert "topic-missing" not in kinds
    assert "topic-dropped" in kinds


def test_averaged_seeds_say_which_were_empty(write: Write) -> None:
    path = write("runs.csv", "question,seed,f1\na,1,0.25\na,2,0.75\nb,1,1\nb,2,\n")
    table = read_scores(path, columns="topic=question,mean=seed,score=f1")
    check_balance(table)
    (warning,) = table.warnings
    assert warning.slug == "cell-missing"
    assert f"{path}:5, column f1" in str(warning)
