"""Files known without a word: what each is taken for, its scores, and what is refused."""

from __future__ import annotations

import importlib.util
import io
import json
import random
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest
from typer.testing import CliRunner

import cranfield
from cranfield.cli.app import make_app
from cranfield.errors import CranfieldError, InputError, MissingPartError
from cranfield.formats import archives
from cranfield.formats.records import decoded, is_json_lines, load_json
from cranfield.formats.scores import header_names
from cranfield.formats.tool_files import TOOL_FILES, Form
from cranfield.questions.sources import load_tables
from cranfield.scores import ScoreTable, read_scores
from cranfield.scores.score_files import parse_scores, read_folder

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
Write = Callable[[str, str | bytes], str]

LARGE, SMALL = (f"lm-eval/demo__{size}" for size in ("large", "small"))
KINDS = {
    "deepeval-small.json": "DeepEval: test run",
    "inspect-large.eval": "Inspect: log (.eval)",
    "inspect-small.eval": "Inspect: log (.eval)",
    "inspect-small.json": "Inspect: log (.json)",
    "ir_measures-bm25.jsonl": "ir_measures: per-query results (JSON lines)",
    "ir_measures-bm25.tsv": "trec_eval or ir_measures: printed scores",
    "langsmith-small.csv": "LangSmith: results of an experiment",
    "langsmith-small.jsonl": "LangSmith: results of an experiment",
    "livebench.csv": "LiveBench: judgments of answers",
    f"{LARGE}/results_2026-11-16T12-13-01.744971.json": "lm-evaluation-harness: results (results_*.json)",
    f"{LARGE}/samples_trivia_choice_2026-11-16T12-13-01.744971.jsonl": "lm-evaluation-harness: logged samples "
    "(samples_*.jsonl)",
    f"{SMALL}/samples_trivia_open_2026-11-16T12-13-19.633619.jsonl": "lm-evaluation-harness: logged samples "
    "(samples_*.jsonl)",
    "mteb/demo__large/r1/MadeUpOne.json": "MTEB: result of a task",
    "openai_evals-small.jsonl": "OpenAI evals: log",
    "opensearch-ratings.json": "OpenSearch: judgment ratings",
    "promptfoo.json": "promptfoo: results (JSON)",
    "promptfoo.jsonl": "promptfoo: results (JSON lines)",
    "pyterrier.csv": "PyTerrier: per-query results",
    "ragas-large.csv": "Ragas: results",
    "ragas-small.jsonl": "Ragas: results",
    "trec_eval-1.txt": "trec_eval or ir_measures: printed scores",
    "trulens.csv": "TruLens: records",
}
FOLDERS = {"mteb": "MTEB: folder of results", "lm-eval": "lm-evaluation-harness: folder of results"}


def looks(path: Path) -> dict[Form, Any]:
    """What each form looks at, where the file has it."""
    data = path.read_bytes()
    if data[:2] == b"PK":
        return {Form.ARCHIVE: zipfile.ZipFile(io.BytesIO(data)).namelist()}
    if is_json_lines(data):
        first = load_json(decoded(data.partition(b"\n")[0], "file"), "file")
        return {Form.LINES: first, Form.COLUMNS: list(first)}
    if data[:1] in b"{[":
        document = load_json(decoded(data, "file"), "file")
        return {Form.DOCUMENT: document, Form.COLUMNS: list(document)}
    return {Form.COLUMNS: header_names(data), Form.TEXT: data}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_taken_for_what_it_is_and_for_nothing_else(name: str) -> None:
    forms = looks(FILES / name)
    found = [each.name for each in TOOL_FILES if each.form in forms and each.recognises(forms[each.form])]
    assert found == [KINDS[name]]


def test_every_kind_of_file_has_one_that_is_tried() -> None:
    assert {each.name for each in TOOL_FILES} == {*KINDS.values(), *FOLDERS.values()}


@pytest.mark.parametrize("name", [*KINDS, *FOLDERS])
def test_a_check_says_what_a_file_was_taken_for_and_why(name: str) -> None:
    asked = ["check", str(FILES / name)]
    (said,) = json.loads(CliRunner().invoke(make_app(), [*asked, "--json"]).stdout)["inputs"]["files"]
    kind = {**KINDS, **FOLDERS}[name]
    assert (said["taken_for"], said["why"]) == (kind, next(each.why for each in TOOL_FILES if each.name == kind))
    assert (said["lines"] > 0) is ("OpenSearch" not in kind)
    assert kind in CliRunner().invoke(make_app(), [*asked, "--md"]).stdout.replace("\\", "")


# --- the scores are those that the tool reported


def means(table: ScoreTable) -> dict[str, dict[str, float]]:
    return {measure: table.mean(measure) for measure in table.measures}


def test_a_log_of_inspect_has_the_means_of_its_own_header() -> None:
    log = json.loads((FILES / "inspect-small.json").read_text(encoding="utf-8"))
    reported = {f"{each['scorer']}.{each['name']}": each["metrics"] for each in log["results"]["scores"]}
    for file in ("inspect-small.json", "inspect-small.eval"):
        table = read_scores(FILES / file)
        assert table.shards == ()
        assert table.topics == ("france", "italy", "spain")
        assert table.mean("match") == {"mockllm/small": reported["match.match"]["accuracy"]["value"]}
        for measure in ("counts.length", "counts.vowels"):
            assert table.mean(measure)["mockllm/small"] == pytest.approx(reported[measure]["mean"]["value"])


def test_epochs_of_inspect_are_seeds_of_their_model() -> None:
    table = read_scores(FILES / "inspect-large.eval")
    assert (table.shards, table.replicates) == (("1", "2"), "nested")
    assert table.of("match").tolist() == [[[1.0, 1.0]], [[1.0, 0.0]], [[0.0, 1.0]]]
    header = archives.json_member(zipfile.ZipFile(FILES / "inspect-large.eval"), "header.json", "log")
    assert table.mean("match")["mockllm/large"] == pytest.approx(
        header["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    )


def test_samples_of_lm_eval_have_the_means_of_its_results() -> None:
    for folder in (LARGE, SMALL):
        (results,) = (FILES / folder).glob("results_*.json")
        reported = json.loads(results.read_text(encoding="utf-8"))["results"]
        for task, of_task in reported.items():
            (samples,) = (FILES / folder).glob(f"samples_{task}_*.jsonl")
            table = read_scores(samples)
            assert table.systems == (Path(folder).name,)
            for measure in table.measures:
                key = measure if "," in measure else f"{measure},none"
                assert table.mean(measure)[Path(folder).name] == pytest.approx(of_task[key])
            assert set(table.measures) == {
                key.removesuffix(",none") for key in of_task if "," in key and "_stderr" not in key
            }


def test_results_of_lm_eval_are_tasks_by_models() -> None:
    (file,) = (FILES / LARGE).glob("results_*.json")
    table = read_scores(file)
    assert (table.systems, table.topics) == (("demo/large",), ("trivia_choice", "trivia_open"))
    assert "exact_match,strict" in table.measures


def test_a_result_of_mteb_is_named_after_the_folder_of_its_model() -> None:
    table = read_scores(FILES / "mteb/demo__large/r1/MadeUpOne.json")
    assert list(table.rows()) == [("main_score", "MadeUpOne", "demo__large", -0.125874)]


def test_other_files_have_the_means_of_their_tools() -> None:
    case = json.loads((FILES / "deepeval-small.json").read_text(encoding="utf-8"))
    table = read_scores(FILES / "deepeval-small.json")
    for each in case["metricsScores"]:
        assert table.mean(each["metric"])["small"] == pytest.approx(sum(each["scores"]) / len(each["scores"]))
    reported = json.loads((FILES / "promptfoo.json").read_text(encoding="utf-8"))["results"]["prompts"]
    for name in ("promptfoo.json", "promptfoo.jsonl"):
        table = read_scores(FILES / name)
        sums = {f"{each['label']} {each['provider']}": each["metrics"]["score"] for each in reported}
        assert {system: mean * len(table.topics) for system, mean in table.mean("score").items()} == sums
    for name in ("langsmith-small.csv", "langsmith-small.jsonl"):
        frame = pandas.read_csv(FILES / "langsmith-small.csv")
        for measure in ("feedback.correctness", "feedback.brevity"):
            assert read_scores(FILES / name).mean(measure)["langsmith-small"] == pytest.approx(frame[measure].mean())
    records = pandas.read_csv(FILES / "trulens.csv")
    table = read_scores(FILES / "trulens.csv")
    assert table.measures == ("Brevity", "Polite")
    for version, of_app in records.groupby("app_version"):
        assert table.mean("Brevity")[f"demo {version}"] == pytest.approx(of_app["Brevity"].mean())
    table = read_scores(FILES / "openai_evals-small.jsonl")
    assert means(table) == {"correct": {"small": 0.5}, "f1": {"small": 0.75}}


def test_ragas_takes_no_text_for_a_measure(write: Write) -> None:
    assert read_scores(FILES / "ragas-small.csv").measures == ("exact_match", "non_llm_string_similarity")
    numbers = "user_input,response,reference,faithfulness\n2+2?,5,4,0.5\n3+3?,6,6,1\n"
    for name, content in (("sums.csv", numbers), ("indexed.csv", _indexed(numbers))):
        assert read_scores(write(name, content)).measures == ("faithfulness",)


def _indexed(text: str) -> str:
    frame: str = pandas.read_csv(io.StringIO(text)).to_csv()
    return frame


def test_repeated_scores_of_livebench_are_averaged_and_counted() -> None:
    table = read_scores(FILES / "livebench.csv")
    assert table.of("score").tolist() == [[1.0, 0.0], [1.0, 0.75]]
    assert [warning.slug for warning in table.warnings] == ["repeats-averaged"]
    assert str(table.warnings[0]).startswith("1 score repeats a topic and system that have one already")


def test_forms_of_livebench_are_read_alike(tmp_path: Path) -> None:
    frame = pandas.read_csv(FILES / "livebench.csv")
    table = read_scores(FILES / "livebench.csv")
    writers: dict[str, Callable[[Path], Any]] = {
        "a.json": lambda path: frame.to_json(path, orient="records"),
        "a.jsonl": lambda path: frame.to_json(path, orient="records", lines=True, double_precision=15),
        "a.parquet": frame.to_parquet,
        "quoted.csv": lambda path: frame.assign(task="a, b").to_csv(path, index=False),
    }
    for name, write_frame in writers.items():
        write_frame(tmp_path / name)
        other = read_scores(tmp_path / name)
        assert sorted(other.rows()) == sorted(table.rows()), name
        assert other.warnings == table.warnings, name


def test_one_sample_is_a_log_too(write: Write) -> None:
    (file,) = (FILES / LARGE).glob("samples_trivia_choice_*.jsonl")
    first = file.read_bytes().partition(b"\n")[0]
    assert read_scores(write("one.jsonl", first)).size == 2


def test_livebenchs_own_file(shared: Path) -> None:
    import polars

    file = shared / "data" / "livebench" / "livebench_13012025.parquet"
    table = read_scores(file)
    rows = polars.read_parquet(file)
    cells = rows.group_by("question_id", "model").agg(polars.col("score").mean())
    assert (len(table.topics), len(table.systems)) == (1136, 93)
    assert table.size - table.missing == len(cells)
    of_model = cells.group_by("model").agg(polars.col("score").mean())
    assert table.mean() == pytest.approx(dict(zip(of_model["model"], of_model["score"], strict=True)))
    assert f"{len(rows) - len(cells):,} scores" in str(table.warnings[0])


def test_judgments_of_opensearch_are_refused_with_what_to_write() -> None:
    with pytest.raises(InputError, match="judgments of documents") as refusal:
        read_scores(FILES / "opensearch-ratings.json")
    assert "topic 0 document grade" in refusal.value.fix


def test_an_answer_of_promptfoo_that_failed_has_no_score(write: Write) -> None:
    document = json.loads((FILES / "promptfoo.json").read_text(encoding="utf-8"))
    document["results"]["results"][0] |= {"failureReason": 2, "score": 0}
    table = read_scores(write("failed.json", json.dumps(document)))
    assert table.missing == len(table.measures)


def test_columns_that_are_named_go_before_what_is_recognised() -> None:
    table = read_scores(
        FILES / "promptfoo.jsonl", columns="topic=vars.question,system=prompt.label+provider.label,score=score"
    )
    assert table.measures == ("score",)
    with pytest.raises(InputError, match="are known"):
        read_scores(FILES / "inspect-large.eval", columns="topic=id,score=value")


def test_a_system_may_be_named() -> None:
    assert read_scores(FILES / "inspect-small.eval", system="mine").systems == ("mine",)
    assert read_scores(FILES / "deepeval-small.json", system="mine").systems == ("mine",)


def test_a_folder_of_several_dates_counts_the_last(tmp_path: Path) -> None:
    for date, score in (("2026-01-01T00-00-00.0", 0.0), ("2026-01-02T00-00-00.0", 1.0)):
        file = tmp_path / "model" / f"samples_task_{date}.jsonl"
        file.parent.mkdir(exist_ok=True)
        line = {"doc_id": 0, "doc": {}, "filtered_resps": [], "filter": "none", "metrics": ["acc"], "acc": score}
        file.write_text(f"{json.dumps(line)}\n{json.dumps(line | {'doc_id': 1})}\n")
    (table,) = (read_folder(str(tmp_path)) or {}).values()
    assert table.mean() == {"model": 1.0}
    assert [warning.slug for warning in table.warnings] == ["several-revisions"]


def test_a_folder_of_tasks_is_one_table_per_task() -> None:
    tables = read_folder(str(FILES / "lm-eval")) or {}
    assert {name: (table.measures, table.systems) for name, table in tables.items()} == {
        "trivia_choice": (("acc", "acc_norm"), ("demo__large", "demo__small")),
        "trivia_open": (("exact_match,strict", "exact_match,lower"), ("demo__large", "demo__small")),
    }
    for measure, task in (("acc_norm", "trivia_choice"), ("exact_match,lower", "trivia_open")):
        assert list(load_tables(str(FILES / "lm-eval"), measure=[measure]).by_name) == [task]


# --- columns with usual names

LONG = [("1", "a", 0.5), ("1", "b", 0.25), ("2", "a", 1.0), ("2", "b", 0.75)]


@pytest.mark.parametrize(
    ("header", "measure"),
    [
        ("Topic,System,Score", "score"),
        ("TOPIC,SYSTEM,SCORE", "score"),
        ("query,run,ndcg", "ndcg"),
        ("qid,model,score", "score"),
        ("topic,System,Score", "score"),
        ("Question_ID,Model_Name,F1", "F1"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_usual_names_are_understood_and_said(header: str, measure: str, ending: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame(LONG, columns=header.split(","))
    path = tmp_path / f"scores{ending}"
    {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".json": lambda: frame.to_json(path, orient="records"),
        ".parquet": lambda: frame.to_parquet(path),
    }[ending]()
    table = read_scores(path)
    assert sorted(table.rows()) == sorted((measure, *row) for row in LONG)
    (said,) = table.warnings
    topic, system, score = header.split(",")
    assert said.slug == "columns-guessed"
    assert f'`columns="topic={topic},system={system},score={score}"`' in said.fix
    (checked,) = cranfield.check(path).report.files
    assert f"topic={topic},system={system}" in checked.why


def test_one_column_per_system_is_understood_under_another_name_of_the_topics(write: Write) -> None:
    table = read_scores(write("ndcg.csv", "qid,bm25,dense\n1,0.5,0.25\n2,1,0.75\n"))
    assert list(table.rows())[:2] == [("ndcg", "1", "bm25", 0.5), ("ndcg", "1", "dense", 0.25)]
    assert [warning.slug for warning in table.warnings] == ["columns-guessed"]


def test_exact_names_stay_silent(write: Write) -> None:
    for content in ("topic,system,score\n1,a,0.5\n", "topic,run,model\n1,0.5,0.25\n", "topic,score\n1,0.5\n"):
        assert read_scores(write("scores.csv", content)).warnings == ()


TWO_WAYS = [
    ("qid,ap,ndcg\n1,0.5,0.25\n", "topic=qid,score=ap,score=ndcg"),
    ("qid,faithfulness,answer_relevancy\n1,0.5,0.25\n", "topic=qid,system=*"),
    ("query_id,query,run,map\n1,so,a,0.5\n", "topic=query_id,system=run,score=map"),
    ("qid,model,run,score\n1,a,1,0.5\n", "topic=qid"),
    ("question,prompt,f1\nq,a,0.5\n", "topic=question,system=prompt,score=f1"),
    ('qid,words,run,"P, 10",AP\n1,so,a,0.5,0.25\n', '"score=P, 10"'),
    ("qid,words,a,b\n1,so,0.5,0.25\n", "topic=qid"),
    ("question,model,f1,em\nq,a,0.5,0.25\n", "topic=question,system=model,score=f1,score=em"),
    ("topic,run,ndcg\n1,a,0.5\n", "topic=topic,system=run,score=ndcg"),
    ("question,f1\nq,0.5\n", "topic=question,score=f1"),
]


@pytest.mark.parametrize(("content", "line"), TWO_WAYS, ids=[each[0].partition("\n")[0] for each in TWO_WAYS])
def test_what_could_be_read_in_two_ways_is_refused_with_the_line_to_type(content: str, line: str, write: Write) -> None:
    path = write("scores.csv", content)
    with pytest.raises(InputError) as refusal:
        read_scores(path)
    assert line in refusal.value.fix
    typed = refusal.value.fix.partition('`columns="')[2].partition('"`')[0]
    if "system=run,score=score" not in typed:  # of two columns for systems, either may be typed
        assert read_scores(path, columns=typed).size


def test_a_check_has_the_line_to_type(write: Write) -> None:
    path = write("scores.csv", "qid,ap,ndcg\n1,0.5,0.25\n")
    done = CliRunner().invoke(make_app(), ["check", path])
    assert done.exit_code == 2
    assert "--columns topic=qid,score=ap,score=ndcg" in " ".join(done.stdout.split())
    path = write("scores.jsonl", '{"qid": 1, "ap": 0.5, "ndcg": 1}\n{"qid": 2, "ap": 0.5, "ndcg": 1}\n')
    assert "--columns topic=qid" in " ".join(CliRunner().invoke(make_app(), ["check", path]).stdout.split())


@pytest.mark.parametrize("header", ["qid\tQ0\tdocid\trank\tscore\ttag", "query-id\tcorpus-id\tscore", "run\tteam"])
def test_tables_of_documents_and_teams_are_no_scores(header: str, write: Write) -> None:
    row = "\t".join("1" for _ in header.split("\t"))
    (checked,) = cranfield.check(write("file.tsv", f"{header}\n{row}\n{row.replace('1', '2')}\n")).report.files
    assert str(checked.kind) != "scores"


# --- decimal commas


@pytest.mark.parametrize(
    "content",
    [
        "topic;a;b\n1;0,35;1\n2;0,5;0,125\n",
        'topic,a,b\n1,"0,35",1\n2,"0,5","0,125"\n',
        "topic\ta\tb\r\n1\t0,35\t1\r\n2\t0,5\t0,125\r\n",
        "topic;a;b\n1;3,5e-1;1\n2;0,5;0,125\n",
    ],
)
def test_decimal_commas_are_read_and_named(content: str, write: Write) -> None:
    table = read_scores(write("ap.csv", content))
    assert table.of("ap").tolist() == [[0.35, 1.0], [0.5, 0.125]]
    assert [warning.slug for warning in table.warnings] == ["decimal-commas"]
    assert "in: a, b" in str(table.warnings[0])


@pytest.mark.parametrize("cell", ["1,234", "12,345", "1,234,567"])
def test_a_comma_that_may_be_one_of_thousands_is_refused(cell: str, write: Write) -> None:
    for content in (f"topic;a\n1;{cell}\n2;3\n", f'topic,a\n1,"{cell}"\n2,3\n'):
        with pytest.raises(InputError, match=f"«{cell}».* may be") as refusal:
            read_scores(write("scores.csv", content))
        assert "decimal point" in refusal.value.fix


def test_ids_with_commas_stay_what_they_are(write: Write) -> None:
    table = read_scores(write("ap.csv", 'topic;a\n"1,5";0,35\n"2,5";0,5\n'))
    assert table.topics == ("1,5", "2,5")
    plain = read_scores(write("plain.csv", 'topic,a\n"1,5",0.35\n"2,5",0.5\n'))
    assert (plain.topics, plain.warnings) == (("1,5", "2,5"), ())


# --- workbooks


def workbook(sheets: Mapping[str, list[list[Any]]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


AP: list[list[Any]] = [["topic", "a", "b"], [401, 0.5, 0.25], [402.0, 1, None], [], ["x\ny", True, 0.75]]


def test_the_first_sheet_or_a_named_one_is_read(write: Write) -> None:
    path = write("scores.xlsx", workbook({"AP": AP, "long": [["qid", "run", "nDCG"], ["1", "a", 0.125]]}))
    table = read_scores(path)
    assert cells(table) == {
        ("401", "a"): 0.5,
        ("401", "b"): 0.25,
        ("402", "a"): 1.0,
        ("x y", "a"): 1.0,
        ("x y", "b"): 0.75,
    }
    assert table.measures == ("scores",)
    assert next(iter(table.empty.values())) == f"{path}:3"
    assert list(read_scores(f"{path}#long").rows()) == [("nDCG", "1", "a", 0.125)]
    assert cells(read_scores(f"{path}#AP")) == cells(table)
    with pytest.raises(InputError, match="no sheet «RR»") as refusal:
        read_scores(f"{path}#RR")
    assert "AP, long" in refusal.value.fix
    (checked,) = cranfield.check(f"{path}#long").report.files
    assert "workbook" in checked.why
    assert "topic=qid" in checked.why


def cells(table: ScoreTable) -> dict[tuple[str, str], float]:
    return {(row[1], row[2]): row[-1] for row in table.rows()}


def test_a_text_in_a_workbook_has_the_number_of_its_row(write: Write) -> None:
    path = write("scores.xlsx", workbook({"AP": [["topic", "a"], [], ["1", 0.5], ["2", "high"]]}))
    with pytest.raises(InputError, match="«high»") as refusal:
        read_scores(path)
    assert refusal.value.where == f"{path}:4"


def test_without_the_package_a_workbook_says_how_to_install_it(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("scores.xlsx", workbook({"AP": AP}))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openpyxl" else find(name))
    with pytest.raises(MissingPartError, match="reading a workbook needs openpyxl"):
        read_scores(path)


def test_without_zstandard_a_log_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_unpacker", lambda: None)
    with pytest.raises(MissingPartError, match="zstandard"):
        read_scores(FILES / "inspect-large.eval")


def test_what_an_archive_unpacks_to_is_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * 30_000_000)
        archive.writestr("summaries.json", b"[]")
    path = write("small.eval", stream.getvalue())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("header.json", "w") as member:
        for _ in range(300):
            member.write(b" " * 1_000_000)
    with pytest.raises(InputError, match=r"more than 0\.268"):
        read_scores(write("bomb.eval", stream.getvalue()))
    monkeypatch.setenv("CRANFIELD_MOST_UNZIPPED", "0.02")
    with pytest.raises(InputError, match=r"more than 0\.02 GB"):
        read_scores(path)
    monkeypatch.setattr(archives, "MOST_CELLS", 5)
    with pytest.raises(InputError, match="more than 5 cells"):
        read_scores(write("scores.xlsx", workbook({"AP": AP})))


def test_entities_of_a_workbook_are_not_expanded_without_end(write: Write) -> None:
    old = zipfile.ZipFile(io.BytesIO(workbook({"AP": AP})))
    levels = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY l0 "0123456789">{levels}]>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in old.namelist():
            text = old.read(name).decode()
            if name.endswith("sheet1.xml"):
                text = f"{bomb}{text[text.index('<worksheet') :]}".replace("<v>0.5</v>", "<v>&l11;</v>")
                assert "&l11;" in text
            archive.writestr(name, text)
    with pytest.raises(InputError, match="cannot be read"):
        read_scores(write("scores.xlsx", stream.getvalue()))


def test_a_member_that_says_it_is_smaller_is_not_unpacked_further(write: Write) -> None:
    data = bytearray((FILES / "inspect-small.eval").read_bytes())
    archive = zipfile.ZipFile(io.BytesIO(data))
    size = archive.getinfo("header.json").file_size
    directory = data.rfind(b"PK\x01\x02", 0, data.rfind(b"header.json"))
    assert int.from_bytes(data[directory + 24 : directory + 28], "little") == size
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    with pytest.raises(InputError, match="cannot be unpacked"):
        read_scores(write("log.eval", bytes(data)))


def test_an_archive_of_no_known_kind_is_refused(write: Write) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run.txt", b"1 Q0 d1 1 2.0 tag\n")
    with pytest.raises(InputError, match="no known kind"):
        read_scores(write("runs.zip", stream.getvalue()))


# --- damaged files


def fuzz() -> Any:
    """The script that mutates files."""
    name = "fuzz_readers"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.mark.parametrize("name", [*KINDS, "scores.xlsx"])
def test_a_damaged_file_is_a_table_or_is_refused(name: str) -> None:
    good = workbook({"AP": AP}) if name == "scores.xlsx" else (FILES / name).read_bytes()
    outcomes = set()
    for seed in range(200):
        data = fuzz().mutated(good, random.Random(f"{name} {seed}"))
        if data[:2] == b"\x1f\x8b":
            continue  # unzipped before it comes here
        outcomes.add(_outcome(data, name))
    assert "refused" in outcomes


def _outcome(data: bytes, name: str) -> str:
    """What becomes of a file: whatever else it raises is a failure."""
    try:
        parse_scores(data, name)
    except CranfieldError as refusal:
        return "refused" if refusal.what and refusal.fix else "refused without a word"
    return "read"


@pytest.mark.parametrize("name", [name for name in KINDS if name.endswith((".json", ".jsonl"))])
def test_a_file_of_other_values_is_a_table_or_is_refused(name: str) -> None:
    """Every value of the parsed file in turn becomes one of another type."""
    data = (FILES / name).read_bytes()
    documents = [json.loads(line) for line in data.splitlines()] if is_json_lines(data) else [json.loads(data)]
    rng = random.Random(name)
    for _ in range(200):
        changed = json.loads(json.dumps(documents))
        _change(changed[rng.randrange(min(3, len(changed)))], rng)
        text = "\n".join(map(json.dumps, changed))
        assert _outcome(text.encode(), name) in ("read", "refused")


def _change(document: Any, rng: random.Random) -> None:
    """Replace one value, at any depth, by one of another type."""
    inside: Any = document
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            return
        key = rng.choice(keys)
        if not isinstance(inside[key], dict | list) or not inside[key] or rng.random() < 0.3:
            inside[key] = rng.choice([None, [], {}, "", "x", -1, 1e308, True, [[]], [{}], {"a": None}, float("nan")])
            return
        inside = inside[key]
