"""Score tables from and to files: CSV (long or wide), JSON, Parquet."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, cast

import numpy as np

from cranfield.collection import open_collection
from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.formats.archives import is_archive, is_workbook, may_hold_scores, open_archive, sheet_as_csv
from cranfield.formats.board_folders import MEASURE, is_board_folder, is_model_folder, read_board_folder
from cranfield.formats.decimal_commas import may_have_decimal_commas, with_decimal_points
from cranfield.formats.file_check import CheckedFile, CheckReport, FileKind, OtherFormat, Taken, sniff, usual_table
from cranfield.formats.packed import COLLECTION, SCORES, is_packed, kind_of_bytes
from cranfield.formats.parquet import is_parquet, parquet_errors, parquet_library, parquet_names
from cranfield.formats.problems import Problem, Severity, refuse
from cranfield.formats.records import (
    SUMMARY,
    Record,
    decoded,
    is_json_lines,
    is_output,
    load_json,
    looks_like_output,
    read_output,
    read_records,
)
from cranfield.formats.scores import LONG, format_scores, header_names, inspect_scores, no_formula, plain_names
from cranfield.formats.text import (
    BOM,
    FileBytes,
    atomic_write,
    file_stem,
    open_bytes,
    plain_name,
    private_copy,
    read_bytes,
    show,
    without_sheet,
    write_text,
)
from cranfield.formats.tool_files import Form, ToolFile, ToolRows, read_model_folder, tool_file
from cranfield.scores.columnar import HEAD, delimited_records, json_records, plain_scores, table_from_source
from cranfield.scores.columns import (
    ONE_SYSTEM,
    USUAL,
    Columns,
    as_number,
    guess,
    known_layout,
    layout_of,
    may_be_scores,
    name_of_measure,
    suggest,
    table_from_records,
)
from cranfield.scores.frames import (
    from_frame,
    long_columns,
    parquet_source,
    table_by_columns,
    table_from_columns,
    wide_columns,
    wide_parquet,
)
from cranfield.scores.stored import LARGE, open_stored, write_scores_packed
from cranfield.scores.table import COLUMNS, PLACE, TOPIC_ROLES, ScoreTable, averaging, natural, own

ENDINGS = (".csv", ".tsv", ".json", ".parquet", ".eval")
SCORE_ENDINGS = (".csv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval", ".xlsx")
COMMAS = 1 << 15  # bytes in which decimal commas show


def read_scores(
    source: str | Path, *, measure: str | None = None, columns: Any = None, system: str | None = None
) -> ScoreTable:
    """Read a score table.

    Parameters
    ----------
    source
        A file: CSV or TSV (long or wide, also gzip), JSON, JSON lines, Parquet, a workbook (``scores.xlsx``, or
        ``scores.xlsx#Sheet``), a file of a known evaluation tool, or a packed score file, which is opened at once and
        read as its scores are needed. Columns with usual names are recognised, and a warning says so.
    measure
        The measure of a file that does not name it. That of a wide file is otherwise the file's name: ``map.csv`` has
        the measure ``map``.
    columns
        What the columns of any other table are: ``"topic=question,score=faithfulness"``, or a dict (see `Columns`).
    system
        The system where nothing in the file names it; otherwise the file's name does.

    Returns
    -------
    ScoreTable
        Scores of systems on topics; a cell without a score is missing, and there is a warning.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/mine.csv"
    >>> written = Path(file).write_text("query,run,ndcg\\n1,a,0.5\\n2,a,0.25\\n1,b,1\\n2,b,0.75\\n")
    >>> read_scores(file).mean("ndcg")
    {'a': 0.375, 'b': 0.875}
    >>> read_scores(file, columns="topic=query,system=run,score=ndcg").mean("ndcg")
    {'a': 0.375, 'b': 0.875}
    """
    if is_packed(source):
        return open_scores(source, columns=columns)
    table = parse_scores(open_bytes(source), show(source), measure=measure, columns=columns, system=system)
    return _noting_missing(_noting_means(table, show(source)), "")


def _noting_means(table: ScoreTable, file: str) -> ScoreTable:
    """With a warning where a topic has the name of the means in the output of trec_eval."""
    if not table.has_topic(SUMMARY):
        return table
    return table.replaced(warnings=(*table.warnings, Problem("topic-all", file)))


def open_scores(path: str | Path, *, columns: Any = None) -> ScoreTable:
    """The table of a packed score file; many scores are left in the file, and are read as they are needed."""
    if columns is not None:
        raise NoEffectError(
            "`columns` has no effect on packed scores",
            parameter="columns",
            where=show(path),
            fix="Give it to `pack()`.",
        )
    opened = open_stored(path)
    few = opened.scores.size <= LARGE
    return ScoreTable(
        opened.measures,
        opened.topics.read() if few else cast(Any, opened.topics),
        opened.systems,
        own(np.array(opened.scores.whole())) if few else cast(Any, opened.scores),
        opened.shards,
        opened.warnings,
        replicates=opened.replicates,
    )


def pack_scores(table: ScoreTable, path: str | Path) -> None:
    """Write a packed score file, which `read_scores` opens at once."""
    if table.has_roles:
        raise RequestError(
            "a packed score file has no clusters, strata and weights of topics, and they would be lost",
            where=show(path),
            fix="Keep the file that has them, or leave out cluster=, stratum= and weight=.",
        )
    write_scores_packed(
        path,
        measures=table.measures,
        topics=table.topics,
        systems=table.systems,
        values=table.values,
        shards=table.shards,
        replicates=table.replicates,
        warnings=table.warnings,
    )


def pack_in_parts(source: str, path: str | Path, *, measure: str | None = None) -> ScoreTable | None:
    """Pack a large wide Parquet file that is never in memory as a whole; None where it has to be."""
    if not source.endswith(".parquet") or not os.path.isfile(source):
        return None
    with private_copy(source, Path(path).parent) as copy, parquet_errors(show(source)):
        found = wide_parquet(copy)
        if found is None or len(found.topics) * len(found.systems) <= LARGE:
            return None
        write_scores_packed(
            path, measures=[measure or "score"], topics=found.topics, systems=found.systems, values=found.parts()
        )
    return open_scores(path)


def _noting_missing(table: ScoreTable, why: str) -> ScoreTable:
    """With a warning that cells have no score, unless there is one."""
    if not table.missing or any(warning.slug == "cell-missing" for warning in table.warnings):
        return table
    what = f"{table.missing:,} of {table.size:,} scores are missing{why}"
    return table.replaced(warnings=(*table.warnings, Caution("cell-missing", what, "Choose with `missing`.")))


def read_score_files(
    sources: Mapping[str, str] | Sequence[str | Path], *, measure: str | None = None, columns: Any = None
) -> dict[str, ScoreTable]:
    """Read several score files: one table per file, but files of one system each are one table together.

    Parameters
    ----------
    sources
        Files, or a dict of files by the name of their collection.
    measure, columns
        As of `read_scores`.

    Returns
    -------
    dict of str to ScoreTable
        The tables by the name of their collection.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for year in ("2023", "2024"):
    ...     written = Path(f"{folder}/{year}.csv").write_text("topic,a,b\\n1,0.5,0.25\\n2,0.75,0.5\\n")
    >>> tables = read_score_files({"first": f"{folder}/2023.csv", "second": f"{folder}/2024.csv"}, measure="AP")
    >>> {name: table.mean("AP")["a"] for name, table in tables.items()}
    {'first': 0.625, 'second': 0.625}
    """
    named = sources if isinstance(sources, Mapping) else {show(source): source for source in sources}
    found = {name: read_scores(source, measure=measure, columns=columns) for name, source in named.items()}
    for name, short in zip(named, short_names([show(source) for source in named.values()]), strict=True):
        if "/" in short and found[name].systems == (short.rpartition("/")[2],):  # another file has this name, too
            found[name] = read_scores(named[name], measure=measure, columns=columns, system=short)
    if len(found) > 1 and _are_one(list(found.values())):
        first, *others = found
        return {f"{first} and {len(others)} more": _joined(list(found.values()))}
    return found


def short_names(paths: Sequence[str]) -> list[str]:
    """Files without folder and ending, but with the folders that are needed to distinguish them.

    >>> short_names(["trec/7/map.csv", "trec/8/map.csv", "trec/8/P_10.csv.gz"])
    ['7/map', '8/map', 'P_10']
    """
    parts = [(*PurePath(path).parts[:-1], system_name(path)) for path in paths]
    return ["/".join(_shortest(mine, parts)) or path for path, mine in zip(paths, parts, strict=True)]


def _shortest(mine: tuple[str, ...], parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The last parts of a path that no other path has; none where another has all of them."""
    tails = (mine[-count:] for count in range(1, len(mine) + 1))
    return next((tail for tail in tails if sum(each[-len(tail) :] == tail for each in parts) == 1), ())


def read_board(path: str) -> ScoreTable:
    """The table of models on tasks in a folder of MTEB's results; models stand for systems and tasks for topics."""
    found = read_board_folder(path)
    table = ScoreTable.from_rows([(MEASURE, task, model, score) for model, task, score in found.rows])
    said = (
        ("external-results", found.external, "are those that others reported, as there are no own"),
        ("several-revisions", found.replaced, "are there in several revisions, of which the last counts"),
        ("subsets-averaged", found.averaged, "are of tasks whose subsets were averaged"),
    )
    count = len(found.rows)
    cautions = [
        Caution(
            slug,
            f"{len(names):,} of {count:,} results {what} (such as {names[0]})",
            "Check that this is what you want.",
        )
        for slug, names, what in said
        if names
    ]
    return replace(table, warnings=(*table.warnings, *cautions))


def _are_one(tables: Sequence[ScoreTable]) -> bool:
    """Whether each has one system, all different, and all the same measures."""
    systems = {name for table in tables for name in table.systems}
    alike = len({(frozenset(table.measures), bool(table.shards)) for table in tables}) == 1
    return alike and all(len(table.systems) == 1 for table in tables) and len(systems) == len(tables)


def _joined(tables: Sequence[ScoreTable]) -> ScoreTable:
    """One table of all systems; a measure or a topic that no row has a score of is there only if it has a row."""
    warnings = [warning for table in tables for warning in table.warnings]
    empty = {cell: place for table in tables for cell, place in table.empty.items()}
    measures = dict.fromkeys(chain.from_iterable(_scored(table, 0) for table in tables)) | dict.fromkeys(
        cell[0] for cell in empty
    )
    topics, systems, shards = (
        natural([*chain.from_iterable(_scored(table, at) for table in tables), *(cell[at] for cell in empty)])
        for at in (1, 2, 3)
    )
    values = np.full((len(measures), len(topics), len(systems), len(shards)), np.nan)
    axes = [{name: at for at, name in enumerate(names)} for names in (measures, topics, systems, shards)]
    for table in tables:
        kept = [[name in axis for name in names] for axis, names in zip(axes, _axes(table), strict=True)]
        places = [
            [axis[name] for name in names if name in axis] for axis, names in zip(axes, _axes(table), strict=True)
        ]
        values[np.ix_(*places)] = table.values[np.ix_(*kept)]
    shown = () if shards == ("",) else shards
    roles = _joined_roles(tables, topics)
    joined = ScoreTable(tuple(measures), topics, systems, own(values), shown, tuple(warnings), empty, **roles)
    return _noting_missing(joined.with_replicates(tables[0].replicates), ": the files have different topics")


def _joined_roles(tables: Sequence[ScoreTable], topics: Sequence[str]) -> dict[str, Any]:
    """Clusters, strata and weights of the topics of all files, which have to agree."""
    found: dict[str, Any] = {}
    for part, field_name in TOPIC_ROLES.items():
        known: dict[str, Any] = {}
        for table in tables:
            of_file = getattr(table, field_name)
            for topic, value in zip(table.topics, () if of_file is None else of_file, strict=False):
                if known.setdefault(topic, value) != value:
                    raise InputError(
                        f"topic «{topic[:40]}» has two {field_name}, {known[topic]} and {value} (system "
                        f"{table.systems[0]})",
                        fix=f"Each topic must have exactly one {part}, the same in every file.",
                    )
        if known:
            found[field_name] = tuple(known[topic] for topic in topics)
    return found


def _axes(table: ScoreTable) -> tuple[tuple[str, ...], ...]:
    return table.measures, table.topics, table.systems, table.shards or ("",)


def _scored(table: ScoreTable, axis: int) -> list[str]:
    """The names on an axis that have a score."""
    others = tuple(at for at in range(4) if at != axis)
    there = np.atleast_1d(np.isfinite(table.values).any(axis=others))
    return [name for name, scored in zip(_axes(table)[axis], there, strict=True) if scored]


def parse_scores(
    data: bytes | FileBytes, file: str, *, measure: str | None = None, columns: Any = None, system: str | None = None
) -> ScoreTable:
    """The score table in ``data``, whichever format it looks like; ``file`` is for messages and names."""
    try:
        table = _parse(data, file, measure, columns, system)
    except InputError as error:
        if error.where:
            raise
        raise InputError(error.what, where=file, fix=error.fix) from None
    if np.isnan(table.values.flat[0]) and table.missing == table.size:
        raise InputError("no cell has a score", where=file, fix="Check where they come from.")
    return table


def _parse(data: bytes | FileBytes, file: str, measure: str | None, columns: Any, system: str | None) -> ScoreTable:
    if is_archive(data[:HEAD]):
        return _read_archive(data[:], file, measure, columns, system)
    if is_parquet(data[:HEAD]) or file.endswith(".parquet"):
        return _read_parquet(data[:], file, measure, columns, system)
    given = None if columns is None else Columns.of(columns)
    if is_json(data[:HEAD]):
        return _read_text(data, file, measure, given, system)
    pointed = with_decimal_points(data[:], file, _ids(given)) if may_have_decimal_commas(data[:COMMAS]) else None
    if pointed is None:
        return _named_plainly(_with_plain_roles(_read_text(data, file, measure, given, system)))
    table = _named_plainly(_with_plain_roles(_read_text(pointed.data, file, measure, given, system)))
    return replace(table, warnings=(*table.warnings, pointed.caution))


def _read_text(
    data: bytes | FileBytes, file: str, measure: str | None, given: Columns | None, system: str | None
) -> ScoreTable:
    found = read_by_columns(data, file, measure=measure, given=given, system=system)
    return found or read_by_lines(data[:], file, measure=measure, given=given, system=system)


def _ids(given: Columns | None) -> set[str]:
    """Names of columns that are no scores, in small letters."""
    usual = {word for words in USUAL.values() for word in words}
    parts = ("topic", "system", "measure", "shard", "mean", "cluster", "stratum")
    named = () if given is None else [getattr(given, part) for part in parts]
    return usual | {part.strip().lower() for name in named if name for part in name.split("+")}


def _read_archive(data: bytes, file: str, measure: str | None, columns: Any, system: str | None) -> ScoreTable:
    """A sheet of a workbook, or the log of a tool."""
    archive = open_archive(data, file)
    names = archive.namelist()
    if is_workbook(names):
        return _parse(sheet_as_csv(data, file), file, measure, columns, system)
    tool = tool_file(Form.ARCHIVE, names)
    if tool is None or columns is not None:
        fix = "Unpack it, and give the files in it." if tool is None else "Leave out `columns`."
        what = "this is a zip archive of no known kind" if tool is None else f"the columns of {tool.name} are known"
        raise InputError(what, where=file, fix=fix)
    return _tool_table(tool, archive, file, system)


def _tool_table(tool: ToolFile, content: Any, file: str, system: str | None) -> ScoreTable:
    """The table of a file that the reader of a tool takes."""
    assert tool.read is not None
    return _rows_table(tool.read(content, file), system, system_name(file))


def _rows_table(found: ToolRows, system: str | None, default: str) -> ScoreTable:
    """The table of a tool's rows: ``system`` names the one system there is, ``default`` that of rows without."""
    named = {row[2] for row in found.rows}
    alone = system if system is not None and len(named) <= 1 else None
    names = ("measure", "topic", "system", "shard" if found.replicates else "", "score", PLACE)
    rows = [(row[0], row[1], alone or row[2] or default, *row[3:]) for row in found.rows]
    table = ScoreTable.from_rows(rows, columns=names, warnings=found.cautions)
    return table.with_replicates(found.replicates)


def read_folder(path: str) -> dict[str, ScoreTable] | None:
    """The tables of a folder that a tool wrote, each with all models; None of any other folder."""
    if is_board_folder(path):
        return {path: read_board(path)}
    if not is_model_folder(path):
        return None
    found = {name: _rows_table(rows, None, "") for name, rows in read_model_folder(path).items()}
    return {name: _noting_missing(table, "") for name, table in found.items()}


def _with_plain_roles(table: ScoreTable) -> ScoreTable:
    """Without the apostrophes that keep names of clusters and strata from being formulas."""
    if not table.has_roles:
        return table
    plain = {name: tuple(plain_names(getattr(table, name))) for name in ("clusters", "strata")}
    return table.replaced(**plain)


def _named_plainly(table: ScoreTable) -> ScoreTable:
    """Without the apostrophes that keep names in CSV from being formulas; axes but the measures are sorted again."""
    old = (table.measures, table.topics, table.systems, table.shards)
    new = [plain_names(names) for names in old]
    if all(names is cells for names, cells in zip(new, old, strict=True)):
        return table
    orders = [{name: at for at, name in enumerate(names)} for names in new]
    kept = [tuple(new[0]), *map(natural, new[1:])]
    places = [[order[name] for name in names] or [0] for order, names in zip(orders, kept, strict=True)]
    renamed = [dict(zip(cells, names, strict=True)) for cells, names in zip(old, new, strict=True)]
    empty = {
        (m[cell[0]], t[cell[1]], s[cell[2]], d.get(cell[3], cell[3])): place
        for m, t, s, d in [renamed]
        for cell, place in table.empty.items()
    }
    return replace(
        table,
        measures=kept[0],
        topics=kept[1],
        systems=kept[2],
        shards=kept[3],
        values=own(table.values[np.ix_(*places)]),
        empty=empty,
        **table.topic_roles(places[1]),
    )


def read_by_columns(
    data: bytes | FileBytes,
    file: str,
    *,
    measure: str | None = None,
    given: Columns | None = None,
    system: str | None = None,
) -> ScoreTable | None:
    """The table of a plain file of text; None where it has to be read line by line."""
    head = data[:HEAD]
    layout, is_object = layout_of(header_names(head)), head.removeprefix(BOM).startswith(b"{")
    if given is None and looks_like_output(head):
        return None
    if not is_object and given is None and layout is None:
        return plain_scores(data, file, _title(file, measure))
    source = json_records(data) if is_object else delimited_records(data)
    if source is None:
        return None
    if given is None and is_object:
        layout = _line_layout(source.names)
        if layout is None and not {"topic", "score"} <= set(source.names):
            return None
    named, first = system or system_name(file), 1 if is_object else 2
    return table_from_source(
        source,
        given or layout or Columns(),
        system=named,
        measure=measure or name_of_measure(given or layout, named),
        alone=system is not None and given is not None,
        place=lambda row: f"{file}:{row + first}",
        without="all" if given is None and is_object and layout is not None else None,
    )


def _line_layout(names: Sequence[str]) -> Columns | None:
    """What the fields of JSON lines are, where they do not have the usual names."""
    return None if {"topic", "score"} <= set(names) else known_layout(names) or guess(names)


def _title(file: str, measure: str | None) -> str:
    """The measure of a file that names none."""
    return measure or plain_name(without_sheet(file)[0]).removesuffix(".gz").rpartition(".")[0] or "score"


def read_by_lines(
    data: bytes, file: str, *, measure: str | None = None, given: Columns | None = None, system: str | None = None
) -> ScoreTable:
    """The table of a file of text; whatever is wrong is said with the line it is on."""
    alone, system, title = system is not None, system or system_name(file), _title(file, measure)
    if given is not None:
        return table_from_records(
            read_records(data, file),
            given,
            file=file,
            system=system,
            measure=measure or name_of_measure(given, system),
            alone=alone,
        )
    if looks_like_output(data):
        return _read_output(data, file, system)
    if is_json_lines(data):
        return _read_json_lines(data, file, system, measure, alone=alone)
    if is_json(data):
        return _read_json(data, file, measure, system, alone=alone)
    layout = layout_of(header_names(data))
    if layout is not None:
        named = measure or name_of_measure(layout, system)
        return table_from_records(read_records(data, file), layout, file=file, system=system, measure=named)
    found, problems = inspect_scores(data, file)
    _refuse(problems, data)
    names = (
        ("measure", "topic", "system", "shard", "score")
        if found.sharded
        else ("measure", "topic", "system", "", "score")
    )
    kept = tuple(problem for problem in problems if problem.severity is Severity.WARNING)
    rows = [(row[0] or title, *row[1:]) for row in found.rows]
    empty = {rows[at][:4]: f"{file}:{line}" for at, line in found.empty.items()}
    return replace(ScoreTable.from_rows(rows, columns=names, warnings=kept), empty=empty)


def system_name(file: str) -> str:
    """What a system is called that has a file of scores to itself.

    >>> system_name("results/gpt-4.1.jsonl.gz")
    'gpt-4.1'
    """
    name = file_stem(without_sheet(file)[0])
    return next((name.removesuffix(ending) for ending in SCORE_ENDINGS if name.endswith(ending)), name) or name


def _refuse(problems: Sequence[Problem], data: bytes) -> None:
    """Raise what is wrong; a table whose columns have other names can be read once they are said."""
    names = header_names(data)
    found = None if set(LONG) <= set(names) else guess(names)
    for problem in problems:
        if problem.slug == "unknown-kind":
            raise _no_scores(sniff(data), problem.place, names)
        if problem.slug == "cell-not-a-number" and found is not None and found.system != "*":
            raise InputError(str(problem), where=problem.place, fix=f'Maybe this is meant: `columns="{found.text}"`.')
    refuse(problems)


def _no_scores(kind: FileKind, place: str, names: Sequence[str]) -> InputError:
    """What is wrong with a file without known columns: it may be a run or judgments."""
    if kind is FileKind.RUN:
        fix = "Give the judgments too, `qrels`; or score the runs first, by `score()`."
        return InputError("this is a run file, not a score table", where=place, fix=fix)
    if kind in (FileKind.QRELS, FileKind.INTENTS):
        return InputError("these are judgments, not scores", where=place, fix="Give the runs, with these as `qrels`.")
    return InputError("there is no column «topic»", where=place, fix=suggest(names))


def _read_output(data: bytes, file: str, system: str) -> ScoreTable:
    """What trec_eval or ir_measures printed for one run."""
    lines = read_output(data, file)
    rows = ((measure, topic, lines.system or system, score, place) for measure, topic, score, place in lines.rows)
    return ScoreTable.from_rows(rows, columns=[*COLUMNS, PLACE])


def _read_json_lines(data: bytes, file: str, system: str, measure: str | None, *, alone: bool) -> ScoreTable:
    """One object a line: a long table's columns, or those of a known layout."""
    lists = read_records(data, file)
    if (tool := tool_file(Form.LINES, lists[0][0].fields)) is not None:
        return _tool_table(tool, lists[0], file, system if alone else None)
    layout = _line_layout(list(lists[0][0].fields))
    if layout is None and not {"topic", "score"} <= lists[0][0].fields.keys():
        fix = suggest(list(lists[0][0].fields))
        raise InputError("its lines are not topic, system, score", where=file, fix=fix)
    if layout is None:
        kept = [_with_score(record) for record in lists[0]]
    else:
        kept = [record for record in lists[0] if record.fields.get(layout.topic) != SUMMARY]
    return table_from_records([kept], layout or Columns(), file=file, system=system, measure=measure)


def _with_score(record: Record) -> Record:
    """With an empty score where it has none; an object in its place is refused, as in every other format."""
    if isinstance(record.fields.get("score"), Mapping):
        fix = "Write a number. Or say which fields are which with `columns`."
        raise InputError("a score cannot be an object", where=record.where, fix=fix)
    return replace(record, fields={"score": None, **record.fields})


def is_json(data: bytes) -> bool:
    return data.removeprefix(BOM).lstrip()[:1] in (b"{", b"[")


def _read_parquet(data: bytes, file: str, measure: str | None, columns: Any, system: str | None) -> ScoreTable:
    read = parquet_library("read")
    with parquet_errors(file):
        found = _parquet_columns(data, file, measure, columns, system)
        if found is not None:
            return found
        frame = read(io.BytesIO(data))
    try:
        table = from_frame(frame, measure=measure, columns=columns, system=system, name=system_name(file))
        return _in_file(table, file)
    except InputError as error:
        place = f"{file}, {error.where}" if error.where.startswith("row") else file
        raise InputError(error.what, where=place, fix=error.fix) from None


def _parquet_columns(
    data: bytes, file: str, measure: str | None, columns: Any, system: str | None
) -> ScoreTable | None:
    """The table of a Parquet file, some rows at a time; None where it has to be read row by row."""
    source = parquet_source(data, as_number)
    if source is None:
        return None

    def place(row: int) -> str:
        return f"{file}, row {row + 1}"

    name = system_name(file)
    return table_by_columns(source, measure=measure, columns=columns, system=system, name=name, place=place)


def _in_file(table: ScoreTable, file: str) -> ScoreTable:
    """With the places of empty cells in the file, as messages name them."""
    return replace(table, empty={cell: f"{file}, {place}" for cell, place in table.empty.items()})


def _read_json(data: bytes, file: str, measure: str | None, system: str, *, alone: bool) -> ScoreTable:
    content, title = load_json(decoded(data, file), file), _title(file, measure)
    if (tool := tool_file(Form.DOCUMENT, content)) is not None:
        return _tool_table(tool, content, file, system if alone else None)
    if (
        isinstance(content, Mapping) and (tool := tool_file(Form.LINES, content)) is not None
    ):  # JSON lines with one line
        return _tool_table(tool, [Record(f"{file}:1", content)], file, system if alone else None)
    if isinstance(content, Mapping) and isinstance(content.get("rows"), list):
        content = content["rows"]
    try:
        if isinstance(content, Mapping):
            return ScoreTable.from_dict(content, system=system)
        columns = list(dict.fromkeys(key for row in content for key in row))
        if layout_of(columns) is ONE_SYSTEM:
            content, title = [{**row, "system": system} for row in content], measure or "score"
            columns.append("system")
        elif (layout := layout_of(columns)) is not None:
            records = [Record(f"{file}, record {at}", row) for at, row in enumerate(content, start=1)]
            return table_from_records([records], layout, file=file, system=system, measure=measure)
        rows = (tuple(row.get(key) for key in columns) for row in content)
        return _in_file(table_from_columns(columns, rows, measure=title, word="record"), file)
    except InputError as error:
        fix = error.fix if "`columns" in error.fix else f"{error.fix} Or say which fields are which with `columns`."
        raise InputError(error.what, where=f"{file}, {error.where}" if error.where else file, fix=fix) from None
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            "its JSON is no score table", where=file, fix="It should be rows of measure, topic, system, score."
        ) from None


def write_scores(
    table: ScoreTable, path: str | Path, *, wide: bool = False, details: Mapping[str, Any] | None = None
) -> None:
    """Write a table in the format of the name: ``.csv``, ``.tsv`` (also ``.gz``), ``.json``, ``.parquet``, ``.eval``.

    Parameters
    ----------
    table
        Scores of systems on topics.
    path
        Where to write it; a file that exists is replaced in one step. ``.eval`` has the lines of ``trec_eval -q`` and
        is for one system.
    wide
        One row per topic and one column per system, in place of one row per score.
    details
        What else a JSON file says about the scores.

    Returns
    -------
    None

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/scores.csv"
    >>> table = cf.ScoreTable.from_dict({"a": {"1": {"AP": 0.5}, "2": {"AP": 0.25}}})
    >>> write_scores(table, file)
    >>> cf.read_scores(file).mean("AP")
    {'a': 0.375}
    """
    check_scores_name(str(path))
    name = str(path).removesuffix(".gz")
    if name.endswith(".parquet"):
        _write_parquet(table, path, wide)
    elif name.endswith(".json"):
        write_text(path, json_text(table, details or {}))
    elif name.endswith(".eval"):
        write_text(path, "".join(trec_eval_lines(table, where=str(path))))
    else:
        safe = {
            axis: tuple(map(no_formula, getattr(table, axis)))
            for axis in ("measures", "topics", "systems", "shards", "clusters", "strata")
        }
        columns = (wide_columns if wide else long_columns)(table.replaced(**safe))
        mark = "\t" if name.endswith(".tsv") else ","
        write_text(path, format_scores(list(columns), zip(*columns.values(), strict=True), mark=mark))


ADDED_TO = (".csv", ".tsv", ".json", ".parquet")


def add_scores(table: ScoreTable, path: str | Path) -> None:
    """Add measures to a score file that `write_scores` wrote; it is replaced in one step.

    Parameters
    ----------
    table
        Scores of the same systems on the same topics, by measures that the file does not have.
    path
        The file: ``.csv``, ``.tsv`` (also ``.gz``), ``.json`` or ``.parquet``.

    Returns
    -------
    None

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> file = tempfile.mkdtemp() + "/scores.csv"
    >>> write_scores(cf.ScoreTable.from_dict({"a": {"1": {"AP": 0.5}, "2": {"AP": 0.25}}}), file)
    >>> add_scores(cf.ScoreTable.from_dict({"a": {"2": {"RR": 0.5}, "1": {"RR": 1.0}}}), file)
    >>> cf.read_scores(file).measures
    ('AP', 'RR')
    """
    check_added_to(str(path))
    wide, old = _is_wide(str(path)), read_scores(path)
    if old.shards or table.shards:
        raise RequestError("scores by shard cannot be added to", where=str(path), fix="Write another file.")
    for axis in ("systems", "topics"):
        _check_same(getattr(table, axis), getattr(old, axis), axis, str(path))
    known = {_full_name(name) for name in old.measures}
    twice = [name for name in table.measures if _full_name(name) in known]
    if twice:
        raise RequestError(f"the file has {', '.join(twice)} already", where=str(path), fix="Leave it out.")
    topics, systems = _places(table.topics, old.topics), _places(table.systems, old.systems)
    values = np.concatenate([old.values, table.values[:, topics][:, :, systems]])
    joined = old.replaced(measures=(*old.measures, *table.measures), values=own(values))
    write_scores(joined, path, wide=wide, details=_json_details(str(path)))


def _places(names: Sequence[str], chosen: Sequence[str]) -> list[int]:
    """Where each of the chosen names is."""
    place = {name: at for at, name in enumerate(names)}
    return [place[name] for name in chosen]


def check_added_to(path: str) -> None:
    """Raise an error for a file that measures cannot be added to, before anything is computed."""
    if not path.removesuffix(".gz").endswith(ADDED_TO):
        raise RequestError(f"measures cannot be added to «{path}»", fix=f"Name a file in {', '.join(ADDED_TO)}.")
    if not os.path.isfile(path):
        raise RequestError("there is no such file to add to", where=path, fix="Write it with `out` first.")


def _check_same(scored: Sequence[str], known: Sequence[str], axis: str, where: str) -> None:
    """Refuse other systems or topics than those of a file, by their names."""
    both = set(known).intersection(scored)
    lost, spare = ([name for name in names if name not in both] for names in (known, scored))
    if not lost and not spare:
        return
    parts = [
        f"{len(names)} {axis} {what} ({', '.join(names[:5])}{', …' * (len(names) > 5)})"
        for names, what in ((lost, "of the file have no score here"), (spare, "scored here are not in it"))
        if names
    ]
    raise RequestError(
        f"the {axis} are not those of the file: {' and '.join(parts)}",
        where=where,
        fix=f"Score the same {axis}, or write another file with `out`.",
    )


def _is_wide(path: str) -> bool:
    """Whether a score file has one column per system."""
    name = path.removesuffix(".gz")
    if name.endswith(".json"):
        return False
    data = read_bytes(path)
    names = parquet_names(data, path) if name.endswith(".parquet") else header_names(data)
    if "measure" not in names:
        fix = "Write the file again without `wide`, or with a column «measure»."
        raise RequestError("the file does not say which measure its scores are of", where=path, fix=fix)
    return not set(LONG) <= set(names)


def _json_details(path: str) -> dict[str, Any]:
    """What a JSON file of scores says besides them."""
    if not path.endswith((".json", ".json.gz")):
        return {}
    content = load_json(decoded(read_bytes(path), path), path)
    return {key: value for key, value in content.items() if key != "rows"} if isinstance(content, dict) else {}


def check_scores_name(path: str) -> None:
    """Raise an error for a format that is unknown or cannot be written here, before anything is computed."""
    if path.endswith(".parquet"):
        parquet_library("write")
    elif not path.removesuffix(".gz").endswith((".csv", ".tsv", ".json", ".eval")):
        raise RequestError(
            f"«{path}» does not say which format to write", fix=f"End the name in one of: {', '.join(ENDINGS)}."
        )


def trec_eval_lines(
    table: ScoreTable,
    *,
    per_topic: bool = True,
    with_run: bool = True,
    relstrings: Mapping[str, str] | None = None,
    where: str = "",
) -> Iterator[str]:
    """The lines that ``trec_eval -q`` prints for one run: those of every topic, then the summary.

    A measure has trec_eval's name if it has one there, and its place. As there, topics are in the order of their bytes,
    a geometric mean and the number of topics are in the summary alone, and ``relstrings`` (texts by topic) are not in
    it. Without ``per_topic`` there is only the summary, without ``with_run`` it does not begin with the run's name.
    """
    if len(table.systems) != 1 or table.shards:
        what = f"lines of trec_eval are about one system, and there are {len(table.systems)}"
        raise RequestError(what, where=where, fix="Score one run, or end the name in .csv.")
    measures = _TrecEvalMeasure.all_of(table.measures)
    places = {topic: at for at, topic in enumerate(table.topics)} if per_topic else {}
    for topic in sorted(places, key=str.encode):
        scores = dict(zip(table.measures, table.values[:, places[topic], 0, 0].tolist(), strict=True))
        yield from _topic_lines(measures, topic, scores, (relstrings or {}).get(topic))
    if with_run:
        yield f"{'runid':<22}\t{SUMMARY}\t{table.systems[0]}\n"
    for measure in measures:
        yield measure.line(SUMMARY, table.averages(measure.ours)[table.systems[0]])


def _topic_lines(
    measures: Sequence[_TrecEvalMeasure], topic: str, scores: Mapping[str, float], relstring: str | None
) -> Iterator[str]:
    """The lines of one topic; ``relstring`` comes after the last precision at a cutoff."""
    last = max((at for at, each in enumerate(measures) if each.name.startswith("P_")), default=-1)
    for at, measure in enumerate(measures):
        score = scores[measure.ours]
        if not measure.only_summary and score == score:
            yield measure.line(topic, score)
        if at == last and relstring is not None:
            yield f"{'relstring':<22}\t{topic}\t'{relstring}'\n"


@dataclass(frozen=True)
class _TrecEvalMeasure:
    """How trec_eval prints a measure, which is called ``ours`` in the table."""

    ours: str
    name: str
    is_count: bool = False
    only_summary: bool = False

    @classmethod
    def all_of(cls, names: Sequence[str]) -> list[_TrecEvalMeasure]:
        """In the order of trec_eval."""
        from cranfield.measures.groups import trec_eval_order

        full = {name: _full_name(name) for name in names}
        order = trec_eval_order(full.values())
        return [cls.of(name, full[name]) for name in sorted(names, key=lambda name: order.index(full[name]))]

    @classmethod
    def of(cls, ours: str, full: str) -> _TrecEvalMeasure:
        from cranfield.measures.groups import trec_eval_name

        averaged = averaging(full)
        only_summary = averaged == "geometric" or full == "NumQ"
        return cls(ours, trec_eval_name(full) or full, is_count=averaged == "sum", only_summary=only_summary)

    def line(self, topic: str, score: float) -> str:
        shown = f"{score:.0f}" if self.is_count else f"{score:6.4f}"
        return f"{self.name:<22}\t{topic}\t{shown}\n"


def _full_name(name: str) -> str:
    """A measure as the catalogue writes it; one that is not in it as it is."""
    from cranfield.measures import parse_measure

    try:
        return str(parse_measure(name))
    except RequestError:
        return name


def json_text(table: ScoreTable, details: Mapping[str, Any]) -> str:
    """One object: whatever ``details`` says of its origin, and ``rows``."""
    columns = long_columns(table)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps({**details, "rows": rows}, ensure_ascii=False, indent=1) + "\n"


def _write_parquet(table: ScoreTable, path: str | Path, wide: bool) -> None:
    data = io.BytesIO()  # the writers hide why a disk refuses
    parquet_library("write")(wide_columns(table) if wide else long_columns(table), data)
    with atomic_write(path) as stream:
        stream.write(data.getbuffer())


def _packed_lines(file: str, data: bytes) -> tuple[int, Sequence[Problem]]:
    """The lines of the runs in a packed collection; every array is looked at, and so compared with its checksum."""
    _check_is_file(file)
    arrays = dict(open_collection(file).arrays)
    return int(arrays["list_edges"][-1]), ()


def _packed_rows(file: str, data: bytes) -> tuple[int, Sequence[Problem]]:
    """The scores in a packed score file; every block is compared with its checksum, and every name is read."""
    _check_is_file(file)
    opened = open_stored(file)
    opened.topics.read()
    absent = opened.scores.absent.count
    problems = [Problem("cell-missing", show(file), detail=f"{absent:,} cells", count=absent)] if absent else []
    return opened.scores.size - absent, problems


def _check_is_file(file: str) -> None:
    if not os.path.isfile(file):
        raise InputError("a packed file is opened where it is, not through a pipe", fix="Name the file.")


def _score_rows(file: str, data: bytes) -> tuple[int, Sequence[Problem]]:
    return _counted(parse_scores(data, show(file)), file)


def check_folder(path: str) -> CheckReport | None:
    """What is wrong with a folder that a tool wrote; None of any other folder, whose files are looked at one by one."""
    tool = tool_file(Form.FOLDER, path)
    if tool is None:
        return None
    try:
        counted = [_counted(table, path) for table in (read_folder(path) or {}).values()]
    except InputError as error:
        counted = [(0, [Problem("unreadable", error.where or path, detail=error.what)])]
    lines = sum(count for count, _ in counted)
    checked = CheckedFile(path, FileKind.SCORES, lines, tool.name, tool.why)
    return CheckReport((checked,), tuple(problem for _, problems in counted for problem in problems))


def _counted(table: ScoreTable, file: str) -> tuple[int, Sequence[Problem]]:
    """How many scores a table has, and what should be said about them."""
    table = _noting_means(table, show(file))
    problems = [warning for warning in table.warnings if isinstance(warning, Problem)]
    if table.missing and not any(problem.slug == "cell-missing" for problem in problems):
        first = next(iter(table.empty.values()), "")
        detail = f"{table.missing:,} cells" + (f", the first: {first}" if first else "")
        problems.append(Problem("cell-missing", show(file), detail=detail, count=table.missing))
    return table.size - table.missing, problems


def taken_for(file: str, data: bytes) -> Taken:
    """What a file of scores was taken for, and why."""
    head = data[:HEAD]
    if is_archive(head):
        return _taken_archive(data, file)
    if is_parquet(head):
        return _taken_columns(parquet_names(data, file), "Parquet")
    if is_json_lines(data):
        first = load_json(decoded(data.removeprefix(BOM).strip().partition(b"\n")[0], file), file)
        tool = tool_file(Form.LINES, first)
        return _taken(tool) if tool else _taken_columns(list(first), "JSON lines")
    if is_json(head):
        return _taken_json(load_json(decoded(data, file), file))
    if is_output(data):
        return _taken(tool_file(Form.TEXT, head))
    taken = _taken_columns(header_names(data), "text")
    commas = " Its numbers have decimal commas." if may_have_decimal_commas(head[:COMMAS]) else ""
    return replace(taken, why=f"{taken.why}{commas}")


def _taken(tool: ToolFile | None) -> Taken:
    return Taken(tool.name, tool.why) if tool is not None else Taken("score table", "")


def _taken_archive(data: bytes, file: str) -> Taken:
    names = open_archive(data, file).namelist()
    if not is_workbook(names):
        return _taken(tool_file(Form.ARCHIVE, names))
    taken = taken_for(file, sheet_as_csv(data, file))
    return Taken(taken.name, f"It is a workbook. {taken.why}")


def _taken_json(content: Any) -> Taken:
    tool = tool_file(Form.DOCUMENT, content)
    if tool is None and isinstance(content, Mapping):
        tool = tool_file(Form.LINES, content)
    if tool is not None:
        return _taken(tool)
    if isinstance(content, Mapping) and isinstance(content.get("rows"), list):
        content = content["rows"]
    if isinstance(content, Mapping):
        return Taken("score table", "It is an object of scores by system, topic and measure.")
    rows = content if isinstance(content, list) else []
    names = list(dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row))
    return _taken_columns(names, "JSON")


def _taken_columns(names: Sequence[str], form: str) -> Taken:
    """What a table is by the names of its columns."""
    tool = None if "topic" in names else tool_file(Form.COLUMNS, names)
    if tool is not None:
        return _taken(tool)
    layout = layout_of(names)
    if layout is ONE_SYSTEM:
        return Taken("score table of one system", "It has the columns topic and score, and no system.")
    if layout is not None:
        return Taken("score table", f"Its columns have usual names: {layout.text}.")
    if "topic" in names:
        return usual_table(names)
    if may_be_scores(names):
        return Taken("score table", "It has a column for the topics, but its other columns could be several things.")
    return Taken("score table", f"It is {form}.")


def kind_of_head(head: bytes) -> FileKind:
    """What a file is by its first bytes."""
    known = next((each.kind for each in OTHER_FORMATS if each.recognise(head)), None)
    return known or sniff(head)


_PACKED = Taken("packed file", "Its first bytes are those of a packed file.")


def _is_other_table(data: bytes) -> bool:
    """Whether the first line names columns that are known, or could be named; not those of every score table."""
    names = header_names(data)
    return layout_of(names) is not None or ("topic" not in names and may_be_scores(names))


OTHER_FORMATS = (
    OtherFormat(FileKind.PACKED, lambda data: kind_of_bytes(data) == COLLECTION, _packed_lines, lambda *_: _PACKED),
    OtherFormat(FileKind.SCORES, lambda data: kind_of_bytes(data) == SCORES, _packed_rows, lambda *_: _PACKED),
    OtherFormat(FileKind.SCORES, may_hold_scores, _score_rows, taken_for),
    OtherFormat(FileKind.SCORES, is_parquet, _score_rows, taken_for),
    OtherFormat(FileKind.SCORES, is_json, _score_rows, taken_for),
    OtherFormat(FileKind.SCORES, is_output, _score_rows, taken_for),
    OtherFormat(FileKind.SCORES, _is_other_table, _score_rows, taken_for),
)
