"""Score tables from and to files: CSV (long or wide), JSON, Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cranfield.errors import InputError, MissingPartError, RequestError
from cranfield.formats.problems import Severity, refuse
from cranfield.formats.scores import format_scores, inspect_scores
from cranfield.formats.text import atomic_write, read_bytes, show, write_text
from cranfield.scores.frames import from_frame, long_columns, table_from_columns, wide_columns
from cranfield.scores.table import ScoreTable

ENDINGS = (".csv", ".tsv", ".json", ".parquet")


def read_scores(source: str | Path, *, measure: str | None = None) -> ScoreTable:
    """Read a score table; ``measure`` names the measure of a file that does not.

    A wide file's measure is otherwise its file's name: ``map.csv`` has the measure ``map``.
    """
    return parse_scores(read_bytes(source), show(source), measure=measure)


def parse_scores(data: bytes, file: str, *, measure: str | None = None) -> ScoreTable:
    """The score table in ``data``, whichever format it looks like; ``file`` is for messages and names."""
    if is_parquet(data) or file.endswith(".parquet"):
        return _read_parquet(data, file, measure)
    named = measure or Path(file).name.removesuffix(".gz").rpartition(".")[0] or "score"
    if is_json(data):
        return _read_json(data, file, named)
    found, problems = inspect_scores(data, file)
    refuse(problems)
    columns = (
        ("measure", "topic", "system", "shard", "score")
        if found.sharded
        else ("measure", "topic", "system", "", "score")
    )
    kept = tuple(problem for problem in problems if problem.severity is Severity.WARNING)
    rows = ((row[0] or named, *row[1:]) for row in found.rows)
    return ScoreTable.from_rows(rows, columns=columns, warnings=kept)


def is_parquet(data: bytes) -> bool:
    return data.startswith(b"PAR1")


def is_json(data: bytes) -> bool:
    return data.lstrip()[:1] in (b"{", b"[")


def _read_parquet(data: bytes, file: str, measure: str | None) -> ScoreTable:
    read = _parquet("read")
    try:
        frame = read(io.BytesIO(data))
    except Exception as error:  # whatever the reader meets in a damaged file
        raise InputError(f"it cannot be read as Parquet: {error}", where=file, fix="Write it again.") from None
    try:
        return from_frame(frame, measure=measure)
    except InputError as error:
        raise InputError(error.what, where=file, fix=error.fix) from None


def _read_json(data: bytes, file: str, measure: str) -> ScoreTable:
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is not JSON: {error}", where=file, fix="Check the file's end and its quotes.") from None
    if isinstance(content, Mapping) and isinstance(content.get("rows"), list):
        content = content["rows"]
    try:
        if isinstance(content, Mapping):
            return ScoreTable.from_dict(content, system=measure)
        columns = list(dict.fromkeys(key for row in content for key in row))
        return table_from_columns(columns, (tuple(row.get(key) for key in columns) for row in content), measure=measure)
    except InputError as error:
        raise InputError(error.what, where=file, fix=error.fix) from None
    except (AttributeError, TypeError, ValueError):
        raise InputError("its JSON is no score table", where=file,
                         fix="It should be rows of measure, topic, system, score.") from None  # fmt: skip


def write_scores(
    table: ScoreTable, path: str | Path, *, wide: bool = False, details: Mapping[str, Any] | None = None
) -> None:
    """Write a table as its name says: ``.csv``, ``.tsv`` (also ``.gz``), ``.json`` or ``.parquet``."""
    name = str(path).removesuffix(".gz")
    if str(path).endswith(".parquet"):
        _write_parquet(table, path, wide)
    elif name.endswith(".json"):
        write_text(path, json_text(table, details or {}))
    elif name.endswith((".csv", ".tsv")):
        columns = wide_columns(table) if wide else long_columns(table)
        mark = "\t" if name.endswith(".tsv") else ","
        write_text(path, format_scores(list(columns), zip(*columns.values(), strict=True), mark=mark))
    else:
        raise RequestError(f"«{path}» does not say which format to write",
                           fix=f"End the name in one of: {', '.join(ENDINGS)}.")  # fmt: skip


def json_text(table: ScoreTable, details: Mapping[str, Any]) -> str:
    """One object: whatever ``details`` says of its origin, and ``rows``."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
    return json.dumps({**details, "rows": rows}, ensure_ascii=False, indent=1) + "\n"


def _write_parquet(table: ScoreTable, path: str | Path, wide: bool) -> None:
    data = io.BytesIO()  # the writers hide why a disk refuses
    _parquet("write")(wide_columns(table) if wide else long_columns(table), data)
    with atomic_write(path) as stream:
        stream.write(data.getbuffer())


def _parquet(wish: str) -> Callable[..., Any]:
    """How Parquet is read or written here: by Polars, or by PyArrow where only that is installed."""
    try:
        import polars
    except ImportError:
        try:
            from pyarrow import parquet, table
        except ImportError:
            raise MissingPartError("Parquet", "parquet") from None
        return parquet.read_table if wish == "read" else lambda columns, file: parquet.write_table(table(columns), file)
    return (
        polars.read_parquet if wish == "read" else lambda columns, file: polars.DataFrame(columns).write_parquet(file)
    )
