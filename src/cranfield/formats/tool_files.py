"""Files of other tools: what each is recognised by, and the scores in it as rows of measure, topic, system and seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from cranfield.errors import Caution, InputError
from cranfield.formats.archives import json_member
from cranfield.formats.board_folders import MEASURE, is_board_folder, is_model_folder, main_score, model_files
from cranfield.formats.records import Record, decoded, is_output, load_json, read_records
from cranfield.formats.scores import text_number
from cranfield.formats.text import read_bytes

ScoreRow = tuple[str, str, str, str, Any, str]
"""Measure, topic, system (empty where the file names none), seed (empty where there is one), score and place."""


@dataclass(frozen=True)
class ToolRows:
    """The scores of a file, whether its seeds are nested in systems, and what was decided in reading them."""

    rows: list[ScoreRow]
    cautions: tuple[Caution, ...] = ()

    @property
    def replicates(self) -> str:
        return "nested" if any(row[3] for row in self.rows) else ""


class Form(StrEnum):
    """What is looked at: columns by their names, the first object of JSON lines, a JSON document, or an archive."""

    COLUMNS = "table"
    LINES = "JSON lines"
    DOCUMENT = "JSON"
    ARCHIVE = "zip archive"
    FOLDER = "folder"
    TEXT = "text"


@dataclass(frozen=True)
class ToolFile:
    """One kind of file of one tool.

    ``recognises`` looks at what its form says; ``columns`` gives the roles of a table's columns, ``read`` the rows of
    any other file. ``seen`` is the version whose files the tests read, empty where they follow the documentation.
    """

    tool: str
    file: str
    form: Form
    why: str
    roles: str
    recognises: Callable[[Any], bool]
    seen: str = ""
    columns: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    read: Callable[[Any, str], ToolRows] | None = None

    @property
    def name(self) -> str:
        return f"{self.tool}: {self.file}"


def tool_file(form: Form, content: Any) -> ToolFile | None:
    """The kind of file that a content of some form is, if it is a known one."""
    return next((each for each in TOOL_FILES if each.form is form and each.recognises(content)), None)


# --- what may be wrong with any of them


def _refused(what: str, where: str) -> InputError:
    return InputError(what, where=where, fix="Write the file again with the tool, or name its columns with `columns`.")


def _object(value: Any, what: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _refused(f"«{what}» is no object", where)
    return value


def _objects(value: Any, what: str, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a list, each with its place."""
    if not isinstance(value, list):
        raise _refused(f"«{what}» is no list", where)
    for at, each in enumerate(value, start=1):
        place = f"{where}, {what} {at}"
        yield place, _object(each, what, place)


def _text(value: Any, what: str, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise _refused(f"«{what}» is no name", where)
    return str(value).strip()


def _left_out(count: int, of: int, what: str) -> tuple[Caution, ...]:
    if not count:
        return ()
    return (Caution("row-without-score", f"{count:,} of {of:,} {what} have no score and are left out"),)


def _number(value: Any) -> float | None:
    """A number, also of a truth value; None for anything else."""
    return float(value) if isinstance(value, bool | int | float) and abs(value) < 1e300 else None


def _score(value: Any, where: str) -> float | None:
    """A score; None where there is none, which tools write as null or NaN."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    number = _number(value)
    if number is None:
        raise _refused(f"a score cannot be «{str(value)[:40]}»", where)
    return number


# --- Inspect


def _is_inspect(document: Any) -> bool:
    return (
        isinstance(document, Mapping)
        and isinstance(document.get("eval"), Mapping)
        and "model" in document["eval"]
        and {"status", "samples"} <= document.keys()
    )


def _inspect_document(document: Mapping[str, Any], file: str) -> ToolRows:
    return _inspect_rows(document["eval"], list(_objects(document["samples"], "sample", file)), file)


def _inspect_archive(archive: ZipFile, file: str) -> ToolRows:
    """The samples of a log: their summaries, which have the scores, or else every sample by itself."""
    header = _object(json_member(archive, "header.json", file), "header.json", file)
    about = _object(header.get("eval"), "eval", f"{file}, header.json")
    if "summaries.json" in archive.namelist():
        samples = list(_objects(json_member(archive, "summaries.json", file), "sample", file))
    else:
        names = [name for name in archive.namelist() if re.fullmatch(r"samples/.+\.json", name)]
        samples = [
            (f"{file}, {name}", _object(json_member(archive, name, file), "sample", f"{file}, {name}"))
            for name in names
        ]
    return _inspect_rows(about, samples, file)


def _inspect_rows(about: Mapping[str, Any], samples: Sequence[tuple[str, Mapping[str, Any]]], file: str) -> ToolRows:
    model = _text(about.get("model"), "model", file)
    epochs = {str(sample.get("epoch", 1)) for _, sample in samples}
    rows: list[ScoreRow] = []
    idle = 0
    for place, sample in samples:
        scores = sample.get("scores") or {}
        idle += not scores
        seed = _text(sample.get("epoch", 1), "epoch", place) if len(epochs) > 1 else ""
        for scorer, score in _object(scores, "scores", place).items():
            value = _object(score, scorer, place).get("value")
            for measure, each in _inspect_values(scorer, value):
                rows.append((measure, _text(sample.get("id"), "id", place), model, seed, _grade(each, place), place))
    return ToolRows(rows, _left_out(idle, len(samples), "samples"))


def _inspect_values(scorer: str, value: Any) -> Iterable[tuple[str, Any]]:
    """One score, or several by their names or numbers."""
    if isinstance(value, Mapping):
        return [(f"{scorer}.{name}", each) for name, each in value.items()]
    if isinstance(value, list):
        return [(f"{scorer}.{at}", each) for at, each in enumerate(value, start=1)]
    return [(scorer, value)]


_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partly, incorrect, no answer
_WORDS = {"yes": 1.0, "no": 0.0}


def _grade(value: Any, where: str) -> float | None:
    """A grade as Inspect counts it; None for nothing."""
    if not isinstance(value, str):
        return _score(value, where)
    number = _GRADES.get(value, _WORDS.get(value.lower(), text_number(value)))
    if number is None:
        raise _refused(f"a score cannot be «{value[:40]}»", where)
    return number


# --- lm-evaluation-harness

_SAMPLE = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")


def _is_lm_eval_sample(first: Mapping[str, Any]) -> bool:
    return {"doc_id", "doc", "filtered_resps"} <= first.keys()


def _lm_eval_samples(records: Sequence[Record], file: str) -> ToolRows:
    """Scores of one task by one model: documents are topics; the folder has the name of the model."""
    return ToolRows(_sample_rows(records, _folder_above(file, 0)))


def _sample_rows(records: Sequence[Record], system: str) -> list[ScoreRow]:
    rows: list[ScoreRow] = []
    for record in records:
        fields, place = record.fields, record.where
        topic = _text(fields.get("doc_id"), "doc_id", place)
        kind = fields.get("filter", "none")
        measures = fields.get("metrics")
        names = measures if isinstance(measures, list) else [name for name in fields if name not in _SAMPLE]
        for name in names:
            number = _number(fields.get(name)) if isinstance(name, str) else None
            if number is not None:  # what is summed up otherwise, as for perplexity, is no score of a document
                measure = name if kind == "none" else f"{name},{kind}"
                rows.append((measure, topic, system, "", number, place))
    if records and not rows:
        raise _refused("no document has a number for a score", records[0].where)
    return rows


def _is_lm_eval_results(document: Any) -> bool:
    return (
        isinstance(document, Mapping)
        and isinstance(document.get("results"), Mapping)
        and {"configs", "versions"} <= document.keys()
    )


def _lm_eval_results(document: Mapping[str, Any], file: str) -> ToolRows:
    """Means of one model: tasks are topics."""
    config = document.get("config")
    named = document.get("model_name") or (config.get("model") if isinstance(config, Mapping) else None)
    system = _text(named, "model_name", file) if named else _folder_above(file, 0)
    rows: list[ScoreRow] = []
    for task, results in document["results"].items():
        place = f"{file}, task {task}"
        for name, value in _object(results, "results", place).items():
            measure, _, kind = name.partition(",")
            number = _number(value)
            if number is not None and not isinstance(value, bool) and kind and not measure.endswith("_stderr"):
                rows.append((measure if kind == "none" else name, str(task), system, "", number, place))
    if not rows:
        raise _refused("no task has a number for a result", file)
    return ToolRows(rows)


def read_model_folder(path: str) -> dict[str, ToolRows]:
    """All models of a folder: by task where samples were logged, else tasks together; the last of several dates counts.

    Documents of a task are topics, as in a single file; without them tasks are.
    """
    samples = model_files(path, "samples_*.jsonl")
    return _tasks_of(samples) if samples else {path: _results_of(model_files(path, "results_*.json"))}


def _tasks_of(files: Sequence[Path]) -> dict[str, ToolRows]:
    latest: dict[str, dict[str, Path]] = {}
    replaced: dict[str, list[str]] = {}
    for file in files:
        model, task = file.parent.name, _task(file)
        if model in latest.setdefault(task, {}):
            replaced.setdefault(task, []).append(f"{model} on {task}")
        latest[task][model] = file
    return {
        task: ToolRows(
            [row for model, file in models.items() for row in _sample_rows(_records_of(file), model)],
            _several(replaced.get(task, ())),
        )
        for task, models in latest.items()
    }


def _results_of(files: Sequence[Path]) -> ToolRows:
    cells: dict[tuple[str, str, str], ScoreRow] = {}
    replaced: list[str] = []
    for file in files:
        for row in _lm_eval_results(_document_of(file), str(file)).rows:
            if row[:3] in cells:
                replaced.append(f"{row[2]} on {row[1]}")
            cells[row[:3]] = row
    return ToolRows(list(cells.values()), _several(replaced))


def _several(replaced: Sequence[str]) -> tuple[Caution, ...]:
    if not replaced:
        return ()
    what = f"{len(replaced):,} results are there with several dates, of which the last counts (such as {replaced[0]})"
    return (Caution("several-revisions", what, "Check that this is what you want."),)


def _task(file: Path) -> str:
    return _DATE.sub("", file.name.removesuffix(".jsonl")).removeprefix("samples_")


def _records_of(file: Path) -> list[Record]:
    lists = read_records(read_bytes(file), str(file))
    if not lists[0] or not _is_lm_eval_sample(lists[0][0].fields):
        raise _refused("these are no logged samples", str(file))
    return lists[0]


def _document_of(file: Path) -> Mapping[str, Any]:
    document = load_json(decoded(read_bytes(file), str(file)), str(file))
    if not _is_lm_eval_results(document):
        raise _refused("these are no results of tasks", str(file))
    found: Mapping[str, Any] = document
    return found


def _folder_above(file: str, above: int) -> str:
    """The name of the folder that a file is in, or of one above it; empty where the path has none."""
    parents = Path(file).parents
    return parents[above].name if len(parents) > above else ""


# --- MTEB


def _is_mteb_result(document: Any) -> bool:
    return (
        isinstance(document, Mapping)
        and isinstance(document.get("task_name"), str)
        and isinstance(document.get("scores"), Mapping)
    )


def _mteb_result(document: Mapping[str, Any], file: str) -> ToolRows:
    task, score, several = main_score(document, file)
    cautions: tuple[Caution, ...] = ()
    if several:
        fix = "Check that this is what you want."
        cautions = (Caution("subsets-averaged", f"the subsets of the task {task} were averaged", fix),)
    return ToolRows([(MEASURE, task, _folder_above(file, 1), "", score, file)], cautions)


# --- DeepEval


def _is_deepeval(document: Any) -> bool:
    cases = document.get("testCases") if isinstance(document, Mapping) else None
    return isinstance(cases, list) and ("metricsScores" in document or "conversationalTestCases" in document)


def _deepeval(document: Mapping[str, Any], file: str) -> ToolRows:
    cases = [
        *_objects(document.get("testCases") or [], "testCases", file),
        *_objects(document.get("conversationalTestCases") or [], "conversationalTestCases", file),
    ]
    system = str(document.get("identifier") or "")
    names = Counter(str(case.get("name") or "") for _, case in cases)
    by_name = max(names.values(), default=0) == 1 and "" not in names
    rows: list[ScoreRow] = []
    idle = 0
    for place, case in cases:
        metrics = list(_objects(case.get("metricsData") or [], "metricsData", place))
        idle += not metrics
        for where, metric in metrics:
            word = "name" if by_name else "input"
            topic = _text(case.get(word), word, place)
            score = _score(metric.get("score"), where)
            rows.append((_text(metric.get("name"), "name", where), topic, system, "", score, where))
    return ToolRows(rows, _left_out(idle, len(cases), "test cases"))


# --- promptfoo


def _is_promptfoo(document: Any) -> bool:
    results = document.get("results") if isinstance(document, Mapping) else None
    return isinstance(results, Mapping) and isinstance(results.get("results"), list) and "stats" in results


def _is_promptfoo_line(first: Mapping[str, Any]) -> bool:
    return {"gradingResult", "namedScores", "provider", "vars"} <= first.keys()


def _promptfoo(document: Mapping[str, Any], file: str) -> ToolRows:
    return _promptfoo_rows(list(_objects(document["results"]["results"], "result", file)))


def _promptfoo_lines(records: Sequence[Record], file: str) -> ToolRows:
    return _promptfoo_rows([(record.where, record.fields) for record in records])


def _promptfoo_rows(results: Sequence[tuple[str, Mapping[str, Any]]]) -> ToolRows:
    """Providers are systems, with their prompt where there are several; an answer that failed has no score."""
    prompts = {_prompt(result, place) for place, result in results}
    variables = {name for place, result in results for name in _object(result.get("vars") or {}, "vars", place)}
    rows: list[ScoreRow] = []
    for place, result in results:
        system = _provider(result, place)
        if len(prompts) > 1:
            system = f"{_prompt(result, place)} {system}"
        topic = _test_case(result, variables, place)
        failed = result.get("failureReason") == 2  # the provider gave no answer
        scores = {"score": result.get("score"), **_object(result.get("namedScores") or {}, "namedScores", place)}
        for measure, score in scores.items():
            rows.append((measure, topic, system, "", None if failed else _score(score, place), place))
    return ToolRows(rows)


def _prompt(result: Mapping[str, Any], place: str) -> str:
    prompt = _object(result.get("prompt") or {}, "prompt", place)
    return str(prompt.get("label") or prompt.get("raw") or "")


def _provider(result: Mapping[str, Any], place: str) -> str:
    provider = result.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return _text(provider, "provider", place)


def _test_case(result: Mapping[str, Any], variables: Collection[str], place: str) -> str:
    """What was asked: the description of the test, its variable where there is only one, else its number."""
    case = result.get("testCase")
    described = case.get("description") if isinstance(case, Mapping) else None
    if described:
        return _text(described, "description", place)
    if len(variables) == 1:
        (name,) = variables
        return _text((result.get("vars") or {}).get(name), f"vars.{name}", place)
    return f"test {_text(result.get('testIdx'), 'testIdx', place)}"


# --- OpenAI evals


def _is_openai_log(first: Mapping[str, Any]) -> bool:
    spec = first.get("spec")
    return isinstance(spec, Mapping) and "completion_fns" in spec


def _openai_log(records: Sequence[Record], file: str) -> ToolRows:
    spec = records[0].fields["spec"]
    models = spec["completion_fns"] if isinstance(spec["completion_fns"], list) else []
    system = " ".join(str(each) for each in models)
    rows: list[ScoreRow] = []
    for record in records:
        kind, data = record.fields.get("type"), record.fields.get("data")
        if kind not in ("match", "metrics"):
            continue
        scores = _object(data, "data", record.where)
        scores = {"correct": scores.get("correct")} if kind == "match" else scores
        topic = _text(record.fields.get("sample_id"), "sample_id", record.where)
        for measure, score in scores.items():
            number = _number(score)
            if number is not None:  # metrics may have texts beside them
                rows.append((measure, topic, system, "", number, record.where))
    if not rows:
        fix = "Only logs with events «match» or «metrics» have scores of samples."
        raise InputError("no sample has a score", where=file, fix=fix)
    return ToolRows(rows)


# --- OpenSearch


def _is_ratings(document: Any) -> bool:
    inner = document.get("_source", document) if isinstance(document, Mapping) else None
    return isinstance(inner, Mapping) and isinstance(inner.get("judgmentRatings"), list)


def _refuse_ratings(document: Any, file: str) -> ToolRows:
    raise InputError(
        "these are judgments of documents (query, docId, rating), not scores of systems",
        where=file,
        fix="Write one line per rating, with the ids that the runs have: topic 0 document grade. Give that file as "
        "`qrels`, with the runs.",
    )


# --- tables known by the names of their columns

_RAGAS = {
    *("response", "reference", "retrieved_contexts", "reference_contexts", "multi_responses", "rubrics", "rubric"),
    *("retrieved_context_ids", "reference_context_ids", "reference_tool_calls", "persona_name", "query_style"),
    *("query_length", "synthesizer_name"),
}
_INDEX = {"", "Unnamed: 0", "index"}  # of a frame that was written with it


def _is_ragas(names: Collection[str]) -> bool:
    return "user_input" in names and not _RAGAS.isdisjoint(names)


def _ragas(names: Sequence[str]) -> Mapping[str, Any]:
    return {"topic": "user_input", "score": "*", "ignore": sorted((_RAGAS | _INDEX) & set(names))}


def _feedback(names: Iterable[str]) -> list[str]:
    return [name for name in names if name == "feedback" or name.startswith("feedback.")]


def _is_langsmith(names: Collection[str]) -> bool:
    return "example_id" in names and bool(_feedback(names))


def _langsmith(names: Sequence[str]) -> Mapping[str, Any]:
    return {"topic": "example_id", "score": _feedback(names)}


_TRULENS = {
    *("app_id", "app_json", "app_name", "app_version", "type", "record_id", "input", "output", "tags", "record_json"),
    *("cost_json", "perf_json", "ts", "latency", "total_tokens", "total_cost", "cost_currency", "conversation_id"),
}


def _is_trulens(names: Collection[str]) -> bool:
    return {"record_id", "input", "output"} <= set(names) and not {"app_id", "app_version"}.isdisjoint(names)


def _trulens(names: Sequence[str]) -> Mapping[str, Any]:
    beside = (name for name in names if name.endswith(("_calls", " direction", "feedback cost in USD")))
    system = "app_name+app_version" if {"app_name", "app_version"} <= set(names) else None
    system = system or ("app_version" if "app_version" in names else "app_id")
    ignored = sorted({*beside, *((_TRULENS | _INDEX) & set(names))})
    return {"topic": "input", "system": system, "score": "*", "ignore": ignored}


_LIVEBENCH = {"question_id", "model", "score", "task", "category"}


def _livebench(names: Sequence[str]) -> Mapping[str, Any]:
    repeats = {"mean": "tstamp"} if "tstamp" in names else {}
    return {"topic": "question_id", "system": "model", "score": "score", **repeats}


_PYTERRIER = {"name", "qid", "measure", "value"}
_IR_MEASURES = {"query_id", "measure", "value"}


def _has(wanted: set[str]) -> Callable[[Any], bool]:
    return lambda names: wanted <= set(names)


TOOL_FILES = (
    ToolFile(
        "PyTerrier",
        "per-query results",
        Form.COLUMNS,
        "It has the columns name, qid, measure and value.",
        "topic: qid; system: name; measure: measure",
        _has(_PYTERRIER),
        seen="1.1.2",
        columns=lambda names: {"topic": "qid", "system": "name", "measure": "measure", "score": "value"},
    ),
    ToolFile(
        "ir_measures",
        "per-query results (JSON lines)",
        Form.COLUMNS,
        "It has the columns query_id, measure and value, and no name.",
        "topic: query_id; system: the file; measure: measure",
        _has(_IR_MEASURES),
        seen="0.4.3",
        columns=lambda names: {"topic": "query_id", "measure": "measure", "score": "value"},
    ),
    ToolFile(
        "trec_eval or ir_measures",
        "printed scores",
        Form.TEXT,
        "Its lines have three fields, the last a number, and there are means of all topics.",
        "topic: the topic; system: runid, or the file; measure: the measure",
        is_output,
        seen="9.0.4 and 0.4.3",
    ),
    ToolFile(
        "LiveBench",
        "judgments of answers",
        Form.COLUMNS,
        "It has the columns question_id, model, score, task and category.",
        "topic: question_id; system: model; measure: score; several scores of a cell are averaged",
        _has(_LIVEBENCH),
        seen="2025-01-13",
        columns=_livebench,
    ),
    ToolFile(
        "Ragas",
        "results",
        Form.COLUMNS,
        "It has the column user_input beside others of Ragas, such as response.",
        "topic: user_input; system: the file; measure: every column of numbers that is no text of Ragas",
        _is_ragas,
        seen="0.4.3",
        columns=_ragas,
    ),
    ToolFile(
        "LangSmith",
        "results of an experiment",
        Form.COLUMNS,
        "It has the column example_id, and feedback in others.",
        "topic: example_id; system: the file; measure: every feedback",
        _is_langsmith,
        seen="0.14.17",
        columns=_langsmith,
    ),
    ToolFile(
        "TruLens",
        "records",
        Form.COLUMNS,
        "It has the columns record_id, input and output, and the app.",
        "topic: input; system: app_name and app_version; measure: every column of numbers that is no part of a record",
        _is_trulens,
        seen="2.16.0",
        columns=_trulens,
    ),
    ToolFile(
        "Inspect",
        "log (.eval)",
        Form.ARCHIVE,
        "It is a zip archive with header.json and samples.",
        "topic: the id of the sample; system: the model; measure: the scorer; seed: the epoch, where there are several",
        lambda names: (
            "header.json" in names and any(name == "summaries.json" or name.startswith("samples/") for name in names)
        ),
        seen="0.3.285",
        read=_inspect_archive,
    ),
    ToolFile(
        "Inspect",
        "log (.json)",
        Form.DOCUMENT,
        "It has «eval» with a model, «status» and «samples».",
        "as of .eval",
        _is_inspect,
        seen="0.3.285",
        read=_inspect_document,
    ),
    ToolFile(
        "lm-evaluation-harness",
        "logged samples (samples_*.jsonl)",
        Form.LINES,
        "Its lines have doc_id, doc and filtered_resps.",
        "topic: doc_id; system: the folder; measure: the metric, with its filter where that is not «none»",
        _is_lm_eval_sample,
        seen="0.4.13",
        read=_lm_eval_samples,
    ),
    ToolFile(
        "lm-evaluation-harness",
        "results (results_*.json)",
        Form.DOCUMENT,
        "It has «results» by task, «configs» and «versions».",
        "topic: the task; system: model_name; measure: the metric, with its filter where that is not «none»",
        _is_lm_eval_results,
        seen="0.4.13",
        read=_lm_eval_results,
    ),
    ToolFile(
        "DeepEval",
        "test run",
        Form.DOCUMENT,
        "It has «testCases» and «metricsScores».",
        "topic: the name of the test case, or its input where names repeat; system: identifier, or the file; measure: "
        "the metric",
        _is_deepeval,
        seen="4.3.1",
        read=_deepeval,
    ),
    ToolFile(
        "promptfoo",
        "results (JSON)",
        Form.DOCUMENT,
        "It has «results» with a list «results» and «stats».",
        "topic: the description of the test, its variable, or its number; system: the provider, with the prompt before "
        "it where there are several; measure: score, and every named metric; a failed answer has no score",
        _is_promptfoo,
        seen="0.121.20",
        read=_promptfoo,
    ),
    ToolFile(
        "promptfoo",
        "results (JSON lines)",
        Form.LINES,
        "Its lines have gradingResult, namedScores, provider and vars.",
        "as of JSON",
        _is_promptfoo_line,
        seen="0.121.20",
        read=_promptfoo_lines,
    ),
    ToolFile(
        "OpenAI evals",
        "log",
        Form.LINES,
        "Its first line has «spec» with completion_fns.",
        "topic: sample_id; system: completion_fns; measure: «correct» of a match, and every number of metrics",
        _is_openai_log,
        read=_openai_log,
    ),
    ToolFile(
        "OpenSearch",
        "judgment ratings",
        Form.DOCUMENT,
        "It has «judgmentRatings».",
        "refused: these are judgments, and their queries are texts, not the topics of runs",
        _is_ratings,
        read=_refuse_ratings,
    ),
    ToolFile(
        "MTEB",
        "result of a task",
        Form.DOCUMENT,
        "It has «task_name» and «scores».",
        "topic: the task; system: the folder of the model; measure: main_score",
        _is_mteb_result,
        seen="2.26.24",
        read=_mteb_result,
    ),
    ToolFile(
        "MTEB",
        "folder of results",
        Form.FOLDER,
        "It has files MODEL/REVISION/TASK.json.",
        "topic: the task; system: the model; measure: main_score",
        is_board_folder,
        seen="2.26.24",
    ),
    ToolFile(
        "lm-evaluation-harness",
        "folder of results",
        Form.FOLDER,
        "It has files MODEL/samples_*.jsonl or MODEL/results_*.json.",
        "one table per task, topic: doc_id; or, where no samples were logged, topic: the task; system: the model; "
        "measure: the metric",
        is_model_folder,
        seen="0.4.13",
    ),
)
"""Every kind of file of another tool, those with more to recognise them by before others of the same form."""
