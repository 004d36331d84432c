"""Score tables from and to data frames of any library, by columns."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.formats.column_scan import CodedColumn, CodedRows, OddTableError, ParseNumber
from cranfield.formats.records import Record
from cranfield.formats.scores import LONGEST_NAME
from cranfield.formats.text import is_ascending
from cranfield.runtime.threads import ahead, slices, spread
from cranfield.scores.columnar import table_from_source, usual_table
from cranfield.scores.columns import (
    Columns,
    as_number,
    known_layout,
    layout_of,
    name_of_measure,
    suggest,
    table_from_records,
)
from cranfield.scores.stored import UnreadNames
from cranfield.scores.table import COLUMNS, PLACE, TOPIC_ROLES, ScoreTable, natural
from cranfield.types import Array

BACKENDS = ("pandas", "polars", "pyarrow")


def to_frame(table: ScoreTable, backend: str, *, wide: bool) -> Any:
    """Return a long frame (one row per score) or a wide one (one row per topic, one column per system)."""
    return make_frame(wide_columns(table) if wide else long_columns(table), backend)


def make_frame(columns: dict[str, list[Any]], backend: str) -> Any:
    """A data frame of the library asked for."""
    if backend not in BACKENDS:
        raise RequestError(f"there is no backend «{backend}»", fix=f"Choose one of: {', '.join(BACKENDS)}.")
    return _backend(backend)(columns)


@dataclass(frozen=True, eq=False, repr=False)
class ResultColumns:
    """A table of a result: its columns by their names, which are those of JSON and CSV too."""

    columns: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.columns[name]

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {', '.join(self.columns)}>"

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame of pandas, Polars or PyArrow."""
        return make_frame({name: list(values) for name, values in self.columns.items()}, backend)

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    @classmethod
    def joined(cls, parts: Iterable[Mapping[str, Sequence[Any]]]) -> ResultColumns:
        """Several tables one below the other; a column that some lack is None there."""
        tables = list(parts)
        names = dict.fromkeys(name for table in tables for name in table)
        counts = [len(next(iter(table.values()), ())) for table in tables]
        return cls(
            {
                name: [
                    value
                    for table, count in zip(tables, counts, strict=True)
                    for value in table.get(name, [None] * count)
                ]
                for name in names
            }
        )


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
    columns = {name: list(chain.from_iterable(part[at] for part in parts)) for at, name in enumerate(table.columns)}
    for part, field_name in TOPIC_ROLES.items():
        found = getattr(table, field_name)
        if found is not None and len(found):
            of_topic = dict(zip(table.topics, found if part != "weight" else found.tolist(), strict=True))
            columns[part] = [of_topic[topic] for topic in columns["topic"]]
    return columns


def wide_columns(table: ScoreTable) -> dict[str, list[Any]]:
    """Columns of the wide form; with several measures a column says which."""
    if table.shards or table.has_roles:
        what = "shards" if table.shards else "clusters, strata or weights of topics"
        raise RequestError(f"a table with {what} has no wide form", fix="Use the long form.")
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
    given = layout_of(names) if columns is None else Columns.of(columns)
    if given is None and system is None:
        _check_index(frame, names)
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


def _check_index(frame: Any, names: Sequence[str]) -> None:
    """Refuse a pandas frame whose topics may be its index, which is no column."""
    index = getattr(frame, "index", None)
    named = [name for name in getattr(index, "names", ()) if name is not None]
    if "topic" not in names and index is not None and (named or type(index).__name__ != "RangeIndex"):
        call = "reset_index()" if named else 'rename_axis("topic").reset_index()'
        raise InputError(
            "there is no column «topic»",
            fix=f"If the topics are the index of the frame, give `frame.{call}`; else name its columns by `columns`.",
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
    given = layout_of(source.names) if columns is None else Columns.of(columns)
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


ROWS = 1 << 18  # of a Parquet file at a time; Polars writes groups of so many
CELLS = 1 << 22  # of a Parquet file at a time: some columns, and
ROWS_OF_COLUMNS = 1 << 18  # rows of them at most: a group of Polars
_MANY = 1 << 12  # distinct texts above which a library's categories cost more than a dictionary


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A table in parts: the first row of each, and some columns by name. ``number`` reads what is no number already."""

    names: Sequence[str]
    count: int
    parts: Callable[[Sequence[str]], Iterator[tuple[int, Mapping[str, Any]]]]
    number: ParseNumber

    def read(self, ids: Sequence[str], numbers: Sequence[str], *, optional: bool = False) -> CodedRows:
        """Columns of ids and of numbers; `OddTableError` where a row has to be looked at by itself."""
        coders = {name: _Coder(self.count) for name in ids}
        values, texts = np.empty((self.count, len(numbers))), set[int]()
        for first, part in self.parts(list(dict.fromkeys([*ids, *numbers]))):
            for name in [name for name in coders if name in part]:
                coders[name].add(first, *_coded(part[name]))
            columns: dict[int, Array] = {}
            for at in [at for at, name in enumerate(numbers) if name in part and at not in texts]:
                column = _numbers(part[numbers[at]])
                if column is not None and not np.isinf(column).any():
                    columns[at] = column
                elif column is None and optional and self._is_text(part[numbers[at]]):
                    texts.add(at)
                else:
                    raise OddTableError
            _fill(values[first:], columns)
        kept = [at for at in range(len(numbers)) if at not in texts]
        return CodedRows(
            {name: coder.column() for name, coder in coders.items()},
            tuple(numbers[at] for at in kept),
            values[:, kept] if texts else values,
        )

    def _is_text(self, column: Any) -> bool:
        """Whether the first value there is no number; what is a number after all is looked at row by row."""
        first = next((value for value in _iterated(column) if value is not None), None)
        return first is None or self.number(first) is None


def _fill(values: Array, columns: Mapping[int, Array]) -> None:
    """Write columns into the first rows of a table, a few rows at a time: these stay in the processor's cache."""

    def fill(span: tuple[int, int]) -> None:
        for first in range(*span, 8192):
            block = slice(first, min(first + 8192, span[1]))
            for at, column in columns.items():
                values[block, at] = column[block]

    rows = max(map(len, columns.values()), default=0)
    spread(fill, slices(rows, 2 if rows * len(columns) > 1_000_000 else 1))


class _Coder:
    """The codes of one column, part by part.

    As long as values ascend, as in a sorted file, each is new for certain and nobody has to look it up.
    """

    def __init__(self, count: int) -> None:
        self._codes: Array = np.empty(count, np.uint16)
        self._values: Any = None  # a list, or a series of Polars as long as it is sorted
        self._known: dict[Any, int] | None = None

    def add(self, first: int, codes: Array, values: Any) -> None:
        if self._values is None:
            self._values = values[:0]
        if isinstance(values, list) or isinstance(self._values, list):
            self._values, values = _listed(self._values), _listed(values)
        moved = self._ascended(values)
        if moved is None:
            moved = self._looked_up(values)
        if len(self._values) > 1 << 16 and self._codes.dtype == np.uint16:
            self._codes = self._codes.astype(np.int32)
        self._codes[first : first + len(codes)] = moved[codes]

    def _ascended(self, values: Any) -> Array | None:
        before = len(self._values)
        if self._known is not None or not len(values) or (before and values[0] < self._values[-1]):
            return None
        if isinstance(values, list) and not is_ascending(values):
            return None
        same = before > 0 and self._values[-1] == values[0]
        if isinstance(values, list):
            self._values += values[same:]
        else:
            self._values.append(values[same:])
        return np.arange(before - same, before - same + len(values), dtype=np.int32)

    def _looked_up(self, values: Any) -> Array:
        self._values, values = _listed(self._values), _listed(values)
        if self._known is None:
            self._known = dict(zip(self._values, range(len(self._values)), strict=True))
        known = self._known
        moved = np.array([known.setdefault(value, len(known)) for value in values], np.int32)
        self._values = list(known) if len(known) > len(self._values) else self._values
        return moved

    def column(self) -> CodedColumn:
        values = self._values
        if not isinstance(values, list) and values is not None and _are_natural(values):
            return CodedColumn(self._codes, SeriesNames(values))
        values = _listed(values)
        return CodedColumn(self._codes, values if values and type(values[0]) is str else list(map(str, values)))


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return values if isinstance(values, list) else list(values.to_list())


@dataclass(frozen=True, eq=False)
class SeriesNames(UnreadNames):
    """Names in a series of Polars: a million take less memory, and less time, than as objects of Python.

    They are different, have no blanks around them, and are in natural order.
    """

    series: Any

    def __len__(self) -> int:
        return len(self.series)

    def __contains__(self, name: object) -> bool:
        return bool((self.series == name).any())

    def read(self) -> tuple[str, ...]:
        return tuple(self.series.to_list())


def _are_natural(texts: Any) -> bool:
    """Whether sorted texts are names, without blanks around them, that are in natural order too."""
    lengths, text = texts.str.len_bytes(), texts.str.join("").item()
    if not lengths[0] or lengths.max() > LONGEST_NAME or not text.isprintable():  # a blank is the only printable space
        return False
    if " " in text and bool((texts.str.strip_chars(" ") != texts).any()):
        return False
    if texts[0] >= ":":  # which follows 9
        return True
    numbers = texts.str.contains("^[0-9]+$")
    return not bool(numbers.any()) or (bool(numbers.all()) and lengths.min() == lengths.max())


def _library(column: Any) -> str:
    return type(column).__module__.partition(".")[0]


def _iterated(column: Any) -> Any:
    return (each.as_py() for each in column) if _library(column) == "pyarrow" else column


def _coded(column: Any) -> tuple[Array, Any]:
    """One code per row and the values that they stand for, as Python iterates them; odd where one is missing.

    The values are a list, or a sorted series of Polars.
    """
    library = _library(column)
    if library == "polars":
        return _coded_polars(column)
    if library == "pandas":
        return _coded_pandas(column)
    if library == "pyarrow":
        return _coded_arrow(column)
    raise OddTableError


def _coded_polars(column: Any) -> tuple[Array, Any]:
    import polars

    if column.null_count():
        raise OddTableError
    if column.dtype.is_integer() or column.dtype.is_float():
        return _coded_numbers(column.to_numpy())
    if column.dtype in (polars.Categorical, polars.Enum):
        column = column.cast(polars.String)
    if column.dtype != polars.String:
        raise OddTableError
    repeats = None
    head = column.head(10_000)
    if 2 * int((head.head(len(head) - 1) != head.tail(len(head) - 1)).sum()) < len(head):
        runs = column.rle().struct.unnest()
        column, repeats = runs["value"], runs["len"].to_numpy()
    if bool((column.head(len(column) - 1) < column.tail(len(column) - 1)).all()):
        codes, values = np.arange(len(column), dtype=np.int32), column
    elif len(distinct := column.unique().sort()) <= _MANY:
        codes = column.cast(polars.Enum(distinct)).to_physical().to_numpy()
        values = distinct.to_list()
    else:
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(value, len(known)) for value in column.to_list()], np.int32)
        values = list(known)
    return (codes if repeats is None else np.repeat(codes, repeats)), values


def _coded_pandas(column: Any) -> tuple[Array, list[Any]]:
    import pandas

    values = column.cat.categories if column.dtype == "category" else column
    if pandas.api.types.infer_dtype(values, skipna=False) not in ("string", "integer"):
        if values.dtype.kind == "f":
            return _coded_numbers(column.to_numpy())
        raise OddTableError
    codes, distinct = pandas.factorize(column)
    if (codes < 0).any():
        raise OddTableError
    return codes, distinct.tolist()


def _coded_arrow(column: Any) -> tuple[Array, list[Any]]:
    import pyarrow

    kind = pyarrow.types
    if column.null_count:
        raise OddTableError
    if kind.is_floating(column.type):
        return _coded_numbers(column.to_numpy())
    if not (kind.is_string(column.type) or kind.is_large_string(column.type) or kind.is_integer(column.type)):
        raise OddTableError
    coded = column.combine_chunks().dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary.to_pylist()


def _coded_numbers(values: Array) -> tuple[Array, list[Any]]:
    if values.dtype.kind == "f" and (np.isnan(values).any() or np.signbit(values[values == 0]).any()):
        raise OddTableError  # −0.0 and 0.0 are equal, and have two names
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, distinct.tolist()


def _numbers(column: Any) -> Array | None:
    """Numbers as floats, nan where there is none; None where the column has another type."""
    library = _library(column)
    if library == "polars":
        import polars

        if column.dtype.is_integer() or column.dtype.is_float() or column.dtype == polars.Boolean:
            return np.asarray(column.cast(polars.Float64).to_numpy())
    elif library == "pandas":
        import pandas

        if pandas.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind in "biuf":
            return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    elif library == "pyarrow":
        import pyarrow

        kind = pyarrow.types
        if kind.is_integer(column.type) or kind.is_floating(column.type) or kind.is_boolean(column.type):
            return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy())
    return None


def frame_source(frame: Any, names: Sequence[str], number: ParseNumber) -> FrameSource:
    """The columns of a data frame."""
    return FrameSource(names, len(frame), lambda wanted: iter([(0, {name: frame[name] for name in wanted})]), number)


def parquet_source(data: bytes, number: ParseNumber) -> FrameSource | None:
    """The columns of a Parquet file, some rows at a time; None where Polars is not installed."""
    try:
        import polars
    except ImportError:
        return None
    whole = polars.scan_parquet(io.BytesIO(data))  # which a path would map
    count = int(whole.select(polars.len()).collect().item())
    step = max(1, min(count, CELLS, ROWS_OF_COLUMNS))

    def part(at: tuple[int, Sequence[str]]) -> tuple[int, Mapping[str, Any]]:
        return at[0], whole.select(at[1]).slice(at[0], step).collect().to_dict()

    def parts(names: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        together = max(1, CELLS // step)
        groups = [names[at : at + together] for at in range(0, len(names), together)]
        return ahead(part, [(first, group) for first in range(0, count, step) for group in groups])

    return FrameSource(whole.collect_schema().names(), count, parts, number)


@dataclass(frozen=True)
class WideScores:
    """A complete wide table, with topics and systems in order, that is read some topics at a time."""

    topics: list[str]
    systems: tuple[str, ...]
    parts: Callable[[], Iterator[Array]]


def wide_parquet(path: str) -> WideScores | None:
    """A wide Parquet file that need not be in memory as a whole; None where it has to be, or is no such file."""
    try:
        import polars
    except ImportError:
        return None
    try:
        whole = polars.scan_parquet(path)
        schema = whole.collect_schema()
        systems = natural([name for name in schema.names() if name != "topic"])
        plain = schema.get("topic") == polars.String and all(schema[name] == polars.Float64 for name in systems)
        if not plain or not systems or {*COLUMNS, "shard"} & {*systems} or known_layout(schema.names()) is not None:
            return None
        topics = whole.select("topic").collect()["topic"].to_list()
    except polars.exceptions.PolarsError:  # reading it says what is wrong
        return None
    if None in topics or natural(topics) != tuple(topics):
        return None

    def parts() -> Iterator[Array]:
        chosen = whole.select(systems)
        return (chosen.slice(first, ROWS).collect().to_numpy() for first in range(0, len(topics), ROWS))

    is_complete = all(np.isfinite(part).all() for part in parts())
    return WideScores(topics, systems, parts) if is_complete else None
