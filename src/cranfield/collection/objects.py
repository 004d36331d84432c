"""Runs and judgments that are in memory: dicts, data frames, and what other libraries have.

A run is ``{topic: {document: score}}``, a frame of topics, documents and scores, a ranx ``Run``, or rows with
``query_id``, ``doc_id`` and ``score`` (ir_measures, ir_datasets). Judgments are the same with grades.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import InputError, MissingPartError
from cranfield.formats.parquet import is_parquet, parquet_errors, parquet_library, parquet_names
from cranfield.formats.problems import Problem, refuse
from cranfield.formats.qrels import MOST_GRADE, JudgmentLines, plain_grade
from cranfield.formats.records import decoded, load_json
from cranfield.formats.runs import RunLines
from cranfield.formats.scan import CodedJudgments, JudgedDocuments, JudgedRun, Scanner
from cranfield.formats.text import BOM, IRDS, is_dataset

NAMES = {
    "topic": ("topic", "qid", "q_id", "query_id", "query", "topic_id"),
    "document": ("document", "docno", "doc_id", "docid", "document_id"),
    "score": ("score",),
    "rank": ("rank",),
    "grade": ("grade", "label", "relevance", "rel", "score"),
    "system": ("system", "run", "name", "model", "run_id", "tag"),
}
"""What the columns of frames are called, the first that is there."""
Cells = Iterable[tuple[str, str, float]]


def runs_in(data: Any, *, name: str = "run") -> dict[str, RunLines]:
    """The runs in an object by the name of their system; ``name`` is that of a run without one.

    >>> found = runs_in({"bm25": {"1": {"d1": 2.0, "d2": 1.0}}})
    >>> found["bm25"].documents
    [b'd1', b'd2']
    """
    return {system: _run_lines(system, _run_cells(run)) for system, run in _by_system(data, name).items()}


def judged_runs(data: Any, documents: JudgedDocuments) -> dict[str, JudgedRun]:
    """What is judged of the runs in an object, by the name of their system.

    >>> import numpy as np
    >>> scanner = Scanner()
    >>> rows = scanner.code_judgments(judgments_in({"1": {"d1": 1}}))
    >>> documents = JudgedDocuments(rows.topics, np.array([0, 1]), rows.codes, scanner.vocabulary)
    >>> judged_runs({"bm25": {"1": {"d1": 1.0, "d2": 2.0}}}, documents)["bm25"].ranks
    array([2], dtype=int32)
    """
    return {system: _judged_run(system, run, documents) for system, run in _by_system(data, "run").items()}


def _judged_run(system: str, run: Any, documents: JudgedDocuments) -> JudgedRun:
    taken = documents.take(run, _place(system), system) if system.strip() else None
    if taken is None and system.strip():  # other mappings, cells
        taken = documents.take(_by_topic(_run_cells(run)), _place(system), system)
    if taken is not None:
        return taken
    lines = _run_lines(system, _run_cells(run))
    if len(set(zip(lines.topics, lines.documents, strict=True))) < len(lines.topics):
        refuse([Problem("duplicate-document", lines.file)])
    return documents.look_up(lines)


def _run_cells(run: Any) -> Iterable[tuple[Any, Any, float]]:
    return _cells(run, "score") if isinstance(run, Mapping) else run


def _by_topic(cells: Iterable[tuple[Any, Any, float]]) -> dict[Any, dict[Any, float]] | None:
    """Scores by topic and document; None where a document comes twice."""
    lists: dict[Any, dict[Any, float]] = {}
    for topic, document, score in cells:
        ranked = lists.setdefault(topic, {})
        if document in ranked:
            return None
        ranked[document] = score
    return lists


def _by_system(data: Any, name: str) -> dict[str, Any]:
    """The runs in an object, each as a mapping or a list of cells."""
    runs: dict[str, Any] = {}
    for system, run in _systems(data, name):
        if system in runs:
            raise InputError(f"two runs are called «{system}»", fix="Give {system: run}, with a name for each.")
        runs[system] = run
    if not runs:
        raise InputError("there is no run in it", fix="Give {system: {topic: {document: score}}}.")
    return runs


DEEPEST = 20  # dicts and lists in one another; runs of systems have three


def _systems(data: Any, name: str, level: int = 0) -> Iterator[tuple[str, Any]]:
    """The runs in an object, one after the other: name and mapping, or cells."""
    if level > DEEPEST:
        raise InputError("its dicts and lists are nested too deeply", fix="Give {system: {topic: {document: score}}}.")
    if isinstance(data, Mapping) and _depth(data) != 2:
        for system, each in data.items():
            yield from ((str(system), run) for _, run in _systems(each, str(system), level + 1))
    elif isinstance(data, list | tuple) and data and not _is_row(data[0]):
        for each in data:
            yield from _systems(each, name, level + 1)
    elif _is_frame(data):
        yield from _frame_runs(data, name)
    else:
        run = data.to_dict() if hasattr(data, "to_dict") else data  # ranx
        yield str(getattr(data, "name", None) or name), run if isinstance(run, Mapping) else [*_cells(run, "score")]


def parquet_runs(data: bytes, file: str, *, name: str, by_rank: bool = False) -> dict[str, RunLines]:
    """The runs in a Parquet file by the name of their system, in the order of scores, or of ranks."""
    read = parquet_library("read")
    with parquet_errors(file):
        frame = read(io.BytesIO(data))
    names = _frame_names(frame)
    by = "rank" if by_rank or "score" not in names else "score"
    try:
        columns = _columns(frame, ("topic", "document", by, *(["system"] if "system" in names else [])))
    except InputError as error:
        raise InputError(error.what, where=file, fix=error.fix) from None
    cells: dict[str, list[tuple[str, str, float]]] = {}
    first: dict[tuple[Any, ...], int] = {}
    for row, values in enumerate(zip(*columns, strict=True), start=1):
        topic, document, number, system = _run_row(values, by, f"{file}, row {row}", name)
        before = first.setdefault((system, topic, document), row)
        if before != row:
            what = f"«{document}» is in the list of topic «{topic}» twice, the first time in row {before}"
            raise InputError(what, where=f"{file}, row {row}", fix="Keep one.")
        cells.setdefault(system, []).append((topic, document, number if by == "score" else -number))
    if not cells:
        raise InputError("there is no run in it", where=file, fix="Write it again.")
    return {system: replace(_run_lines(system, found), file=file) for system, found in cells.items()}


def _run_row(values: Sequence[Any], by: str, where: str, name: str) -> tuple[str, str, float, str]:
    """Topic, document, number and system of a row, or an error with its place."""
    topic, document, number, *rest = values
    system = rest[0] if rest else name
    for value, what in ((topic, "topic"), (document, "document"), (system, "name of the system")):
        if value is None or not str(value).strip():
            raise InputError(f"the {what} is empty", where=where, fix="Give every one a name.")
    try:
        key = math.nan if number is None else float(number)
    except (TypeError, ValueError):
        key = math.nan
    if not math.isfinite(key):
        raise InputError(f"the {by} is «{number}», which is no number", where=where, fix="Write a number.")
    return str(topic), str(document), key, str(system)


def is_parquet_run(data: bytes) -> bool:
    """Whether a Parquet file has documents and what orders them: a score table has no documents."""
    if not is_parquet(data):
        return False
    try:
        names = {name.lower() for name in parquet_names(data, "")}
    except InputError:  # which reading it says
        return False
    return bool(names.intersection(NAMES["document"])) and not names.isdisjoint({"score", "rank"})


def is_json_run(data: bytes) -> bool:
    """Whether JSON has documents by topic, and not scores: topics have their own documents, systems the same topics.

    With one topic alone, or lists of one document, this cannot be seen.
    """
    if data.removeprefix(BOM).lstrip()[:1] != b"{":
        return False
    try:
        content = load_json(decoded(data, ""), "")
    except InputError:
        return False
    if _depth(content) == 3:
        content = next(iter(content.values()))
    lists = list(content.values()) if isinstance(content, Mapping) and _depth(content) == 2 else []
    if len(lists) < 2 or not all(isinstance(each, Mapping) for each in lists):
        return False
    if not all(isinstance(score, int | float) for each in lists for score in each.values()):
        return False
    names = [name for each in lists for name in each]
    return len(names) >= 2 * len(lists) and 2 * len(set(names)) > len(names)


def json_runs(data: bytes, file: str, *, name: str) -> dict[str, RunLines]:
    """The runs in a JSON file by system; one that has no name is called ``name``."""
    try:
        found = runs_in(load_json(decoded(data, file), file), name=name)
    except InputError as error:
        inner = f"{file}, {error.where}" if error.where and file not in error.where else error.where or file
        raise InputError(error.what, where=inner, fix=error.fix) from None
    return {system: replace(run, file=file) for system, run in found.items()}


def coded_judgments(data: Any, scanner: Scanner) -> CodedJudgments:
    """The judgments in an object, coded."""
    taken = scanner.take_judgments(data, f"the {type(data).__name__}")
    return scanner.code_judgments(judgments_in(data)) if taken is None else taken


def judgments_in(data: Any) -> JudgmentLines:
    """The judgments in an object, or in a dataset of ir_datasets.

    >>> judgments_in({"1": {"d1": 1, "d2": 0}}).grades
    [1, 0]
    """
    source = data if is_dataset(data) else f"the {type(data).__name__}"
    rows = _dataset_rows(data.removeprefix(IRDS)) if is_dataset(data) else _cells(data, "grade")
    lines = JudgmentLines(source, [], [], [], [])
    seen: dict[tuple[bytes, bytes], float] = {}
    for topic, document, grade in rows:
        key = _name(topic, "topic"), _name(document, "document")
        if not abs(grade) <= MOST_GRADE:  # nan
            raise InputError(f"a grade of «{topic}» is {grade}", where=source, fix="Write a number.")
        if key in seen:
            raise InputError(f"«{document}» is judged twice for «{topic}»", where=source, fix="Keep one judgment.")
        seen[key] = plain_grade(grade)
    for (name, judged), value in seen.items():
        lines.topics.append(name)
        lines.documents.append(judged)
        lines.grades.append(value)
    if not lines.topics:
        raise InputError("there is no judgment in it", where=source, fix="Give {topic: {document: grade}}.")
    return lines


def _run_lines(system: str, cells: Cells) -> RunLines:
    topics, documents, keys = [], [], []
    where = _place(system)
    by_topic: dict[bytes, list[tuple[bytes, float]]] = {}
    for topic, document, score in cells:
        if not math.isfinite(score):
            raise InputError(f"a score of topic «{topic}» is {score}", where=where, fix="Write a number.")
        by_topic.setdefault(_name(topic, "topic"), []).append((_name(document, "document"), score))
    for name, ranked in by_topic.items():
        topics += [name] * len(ranked)
        documents += [each for each, _ in ranked]
        keys += [score for _, score in ranked]
    if not topics:
        raise InputError("the run has no documents", where=where, fix="Leave it out.")
    tag, count = _name(system, "name of the system"), len(topics)
    return RunLines(where, range(1, count + 1), topics, documents, [b"0"] * count, keys, [tag] * count)


def _place(system: str) -> str:
    return f"the run «{system}»"


def _name(value: Any, what: str) -> bytes:
    text = str(value)
    if value is None or not text.strip():
        raise InputError(f"a {what} is empty", fix="Give every one a name.")
    return text.encode("utf-8", "surrogatepass")


def _cells(data: Any, value: str) -> Iterator[tuple[str, str, float]]:
    """(topic, document, number) of one run, or of judgments."""
    if hasattr(data, "to_dict") and not _is_frame(data):  # ranx
        data = data.to_dict()
    if isinstance(data, Mapping):
        for topic, documents in data.items():
            if not isinstance(documents, Mapping):
                fix = f"Give {{topic: {{document: {value}}}}}."
                raise InputError(f"topic «{topic}» has no documents by name", fix=fix)
            for document, number in documents.items():
                yield topic, document, _number(number, topic)
    elif _is_frame(data):
        columns = _columns(data, ("topic", "document", value))
        yield from ((topic, document, _number(number, topic)) for topic, document, number in zip(*columns, strict=True))
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes) and getattr(data, "shape", None) != ():
        attribute = "score" if value == "score" else "relevance"
        for row in data:
            if not _is_row(row):
                break
            yield row.query_id, row.doc_id, _number(getattr(row, attribute, None), row.query_id)
        else:
            return
        raise _unknown(data, value)
    else:
        raise _unknown(data, value)


def _unknown(data: Any, value: str) -> InputError:
    fix = f"Give {{topic: {{document: {value}}}}}, a data frame, a file, or an object of ranx or ir_measures."
    return InputError(f"a {type(data).__name__} is neither a run nor judgments", fix=fix)


def _number(value: Any, topic: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"«{value}» is no number, in topic «{topic}»", fix="Write a number.") from None


def _frame_runs(frame: Any, name: str) -> Iterator[tuple[str, Cells]]:
    """The runs of a frame: one, or one for each system that its column names; without scores, ranks order them."""
    names = _frame_names(frame)
    by = "score" if names.get("score") else "rank"
    topics, documents, numbers = _columns(frame, ("topic", "document", by))
    sign = 1.0 if by == "score" else -1.0
    systems = _columns(frame, ("system",))[0] if names.get("system") else [name] * len(topics)
    found: dict[str, list[tuple[str, str, float]]] = {}
    for system, topic, document, number in zip(systems, topics, documents, numbers, strict=True):
        found.setdefault(str(system), []).append((topic, document, sign * _number(number, topic)))
    yield from found.items()


def _frame_names(frame: Any) -> dict[str, str]:
    there = {str(name).lower(): name for name in _column_names(frame)}
    found = {part: next((there[each] for each in usual if each in there), None) for part, usual in NAMES.items()}
    return {part: name for part, name in found.items() if name is not None}


def _column_names(frame: Any) -> list[Any]:
    """The names, which ``columns`` are not in every library."""
    import narwhals as nw

    return list(nw.from_native(frame, eager_only=True).columns)


def _columns(frame: Any, parts: Sequence[str]) -> list[list[Any]]:
    import narwhals as nw

    data, names = nw.from_native(frame, eager_only=True), _frame_names(frame)
    for part in parts:
        if part not in names:
            fix = f"Call it one of: {', '.join(NAMES[part])}. There are: {', '.join(map(str, data.columns))}."
            raise InputError(f"the frame has no column for the {part}", fix=fix)
    return [data[names[part]].to_list() for part in parts]


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and not isinstance(data, Mapping)


def _is_row(row: Any) -> bool:
    return hasattr(row, "query_id") and hasattr(row, "doc_id")


def _depth(nested: Any) -> int:
    """How deep dicts are in one another, up to four: as the first that has something in it, as the others are alike."""
    depth = 0
    while isinstance(nested, Mapping) and depth < 4:
        depth, values = depth + 1, nested.values()
        nested = next((inner for inner in values if not isinstance(inner, Mapping) or inner), next(iter(values), None))
    return depth


def dataset_standards(source: str) -> tuple[list[str], dict[float, str]]:
    """The official measures of a dataset of ir_datasets, and what its grades mean; empty where it does not say."""
    dataset = _dataset(source.removeprefix(IRDS))
    said = dataset.documentation() if hasattr(dataset, "documentation") else {}
    grades = dataset.qrels_defs() if dataset.has_qrels() else {}
    return list((said or {}).get("official_measures") or ()), dict(grades or {})


def _dataset(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise MissingPartError("irds") from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        fix = "The names are listed at ir-datasets.com; with them: irds:NAME."
        raise InputError(f"ir_datasets has no dataset «{name}»", fix=fix) from None


def _dataset_rows(name: str) -> Iterator[tuple[str, str, float]]:
    dataset = _dataset(name)
    if not dataset.has_qrels():
        raise InputError(f"the dataset «{name}» has no judgments", fix="Name one that has, such as a track's.")
    try:
        for each in dataset.qrels_iter():
            yield each.query_id, each.doc_id, float(each.relevance)
    except (OSError, RuntimeError) as error:
        what = f"the judgments of «{name}» could not be read or downloaded: {error}"
        raise InputError(what, fix="Download them as ir_datasets says.") from None
