"""Score tables from and to data frames of any library."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cranfield.errors import InputError, RequestError
from cranfield.formats.records import Record
from cranfield.scores.columnar import table_from_source, usual_table
from cranfield.scores.columns import Columns, as_number, known_layout, name_of_measure, suggest, table_from_records
from cranfield.scores.frame_columns import FrameSource, frame_source
from cranfield.scores.table import COLUMNS, PLACE, ScoreTable

BACKENDS = ("pandas", "polars", "pyarrow")


def to_frame(table: ScoreTable, backend: str, *, wide: bool) -> Any:
    """Return a long frame (one row per score) or a wide one (one row per topic, one column per system)."""
    return make_frame(wide_columns(table) if wide else long_columns(table), backend)


def make_frame(columns: dict[str, list[Any]], backend: str) -> Any:
    """A data frame of the library asked for."""
    if backend not in BACKENDS:
        raise RequestError(f"there is no backend «{backend}»", fix=f"Choose one of: {', '.join(BACKENDS)}.")
    return _backend(backend)(columns)


def rows_frame(rows: Sequence[Mapping[str, Any]], backend: str) -> Any:
    """Rows that all have the same words, as the results' ``to_dict`` gives them."""
    return make_frame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())}, backend)


def _backend(name: str) -> Any:
    try:
        if name == "pandas":
            import pandas

            return pandas.DataFrame
        if name == "pyarrow":
            import pyarrow

            return pyarrow.table
        import polars
    except ImportError:
        raise RequestError(f"{name} is not installed", fix=f"Install it: pip install {name}.") from None
    return polars.DataFrame


def long_columns(table: ScoreTable) -> dict[str, list[Any]]:
    """Columns of the long form."""
    parts = list(table.row_columns())
    return {name: list(chain.from_iterable(part[at] for part in parts)) for at, name in enumerate(table.columns)}


def wide_columns(table: ScoreTable) -> dict[str, list[Any]]:
    """Columns of the wide form; with several measures a column says which."""
    if table.shards:
        raise RequestError("a table with shards has no wide form", fix="Use the long form.")
    names, topics = len(table.measures), len(table.topics)
    columns: dict[str, list[Any]] = {}
    if names > 1:
        columns["measure"] = [measure for measure in table.measures for _ in range(topics)]
    columns["topic"] = list(table.topics) * names
    for at, system in enumerate(table.systems):
        if system in ("measure", "topic", "system", "score", "shard"):
            raise RequestError(f"a system called «{system}» cannot be a column", fix="Use the long form.")
        scores = table.values[:, :, at, 0].ravel().tolist()
        columns[system] = [None if math.isnan(score) else score for score in scores]
    return columns


def from_frame(
    frame: Any, *, measure: str | None, columns: Any = None, system: str | None = None, name: str | None = None
) -> ScoreTable:
    """Read a long frame (columns measure, topic, system, score) or a wide one (topic, then one column per system).

    ``columns``, or a known layout, gives the roles of the columns; ``name`` is the default name of a system or a
    measure.
    """
    import narwhals as nw

    try:
        data = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"a {type(frame).__name__} is no data frame", fix="Give a pandas, Polars or PyArrow frame."
        ) from None
    names = list(data.columns)
    source = frame_source(frame, names, as_number)
    found = table_by_columns(source, measure=measure, columns=columns, system=system, name=name, place=_row)
    if found is not None:
        return found
    given = known_layout(names) if columns is None else Columns.of(columns)
    if given is None and system is None:
        return table_from_columns(names, data.iter_rows(), measure=measure)
    rows = [Record(f"row {at}", row) for at, row in enumerate(data.iter_rows(named=True), start=1)]
    return table_from_records(
        [rows],
        given or Columns(),
        file="the frame",
        system=system or name or "run",
        measure=measure or name_of_measure(given, name),
        alone=system is not None,
    )


def table_by_columns(
    source: FrameSource,
    *,
    measure: str | None,
    columns: Any,
    system: str | None,
    name: str | None,
    place: Callable[[int], str],
) -> ScoreTable | None:
    """The table of whole columns; None where it has to be read row by row."""
    if not all(isinstance(each, str) for each in source.names):
        return None
    given = known_layout(source.names) if columns is None else Columns.of(columns)
    if given is None and system is None:
        return usual_table(source, measure, place)
    return table_from_source(
        source,
        given or Columns(),
        system=system or name or "run",
        measure=measure or name_of_measure(given, name),
        alone=system is not None,
        place=place,
    )


def _row(at: int) -> str:
    return f"row {at + 1}"


def table_from_columns(
    columns: list[str], rows: Iterator[Any], *, measure: str | None, word: str = "row"
) -> ScoreTable:
    """Whichever form the columns have; ``word`` is what a row is called where a cell of it is empty."""
    placed = ((*row, f"{word} {at}") for at, row in enumerate(rows, start=1))
    if "score" in columns and "topic" in columns and "system" in columns:
        return _from_long([*columns, PLACE], placed, measure)
    if "topic" in columns:
        return _from_wide([*columns, PLACE], placed, measure)
    raise InputError("there is no column «topic»", fix=suggest(columns))


def _from_long(columns: list[str], rows: Iterator[Any], measure: str | None) -> ScoreTable:
    if "measure" in columns:
        return ScoreTable.from_rows(rows, columns=columns)
    return ScoreTable.from_rows(((measure or "score", *row) for row in rows), columns=["measure", *columns])


def _from_wide(columns: list[str], rows: Iterator[Any], measure: str | None) -> ScoreTable:
    systems = [(at, name) for at, name in enumerate(columns) if name not in ("topic", "measure", PLACE)]
    topic, named = columns.index("topic"), columns.index("measure") if "measure" in columns else None
    cells = (
        (measure or "score" if named is None else row[named], row[topic], system, row[at], row[-1])
        for row in rows
        for at, system in systems
    )
    return ScoreTable.from_rows(cells, columns=[*COLUMNS, PLACE])
