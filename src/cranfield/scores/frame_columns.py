"""Columns of data frames and of Parquet files, as codes and numbers, by the means of the library that holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.formats.column_scan import CodedColumn, CodedRows, OddTableError, ParseNumber
from cranfield.types import Array

ROWS = 1 << 21  # of a Parquet file at a time
_MANY = 1 << 12  # distinct texts above which a library's categories cost more than a dictionary


@dataclass(frozen=True, eq=False)
class FrameSource:
    """Parts of a table one after the other, each with all its columns; ``number`` reads what is no number already."""

    names: Sequence[str]
    count: int
    parts: Callable[[Sequence[str]], Iterator[Any]]
    number: ParseNumber

    def read(self, ids: Sequence[str], numbers: Sequence[str], *, optional: bool = False) -> CodedRows:
        """Columns of ids and of numbers; `OddTableError` where a row has to be looked at by itself."""
        coders = [_Coder(self.count) for _ in ids]
        values, texts = np.empty((self.count, len(numbers))), set[int]()
        first = 0
        for part in self.parts(list(dict.fromkeys([*ids, *numbers]))):
            for coder, name in zip(coders, ids, strict=True):
                last = coder.add(first, _coded(part[name]))
            for at, name in enumerate(numbers):
                found = None if at in texts else _numbers(part[name])
                last = first + len(part[name])
                if found is not None:
                    values[first:last, at] = found
                elif optional and self._is_text(part[name]):
                    texts.add(at)
                else:
                    raise OddTableError
            first = last
        if np.isinf(values).any():
            raise OddTableError
        kept = [at for at in range(len(numbers)) if at not in texts]
        return CodedRows(
            {name: coder.column() for name, coder in zip(ids, coders, strict=True)},
            tuple(numbers[at] for at in kept),
            values[:, kept] if texts else values,
        )

    def _is_text(self, column: Any) -> bool:
        """Whether the first value there is no number; what is a number after all is looked at row by row."""
        first = next((value for value in _iterated(column) if value is not None), None)
        return first is None or self.number(first) is None


class _Coder:
    """The codes of one column, part by part."""

    def __init__(self, count: int) -> None:
        self._known: dict[Any, int] = {}
        self._codes: Array = np.empty(count, np.int32)

    def add(self, first: int, part: tuple[Array, Sequence[Any]]) -> int:
        codes, values = part
        known = self._known
        moved = np.array([known.setdefault(value, len(known)) for value in values], np.int32)
        last = first + len(codes)
        self._codes[first:last] = moved[codes]
        return last

    def column(self) -> CodedColumn:
        return CodedColumn(self._codes, [str(value) for value in self._known])


def _library(column: Any) -> str:
    return type(column).__module__.partition(".")[0]


def _iterated(column: Any) -> Any:
    return (each.as_py() for each in column) if _library(column) == "pyarrow" else column


def _coded(column: Any) -> tuple[Array, Sequence[Any]]:
    """One code per row and the values that they stand for, as Python iterates them; odd where one is missing."""
    library = _library(column)
    if library == "polars":
        return _coded_polars(column)
    if library == "pandas":
        return _coded_pandas(column)
    if library == "pyarrow":
        return _coded_arrow(column)
    raise OddTableError


def _coded_polars(column: Any) -> tuple[Array, Sequence[Any]]:
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
    distinct = column.unique()
    if len(distinct) <= _MANY:
        codes = column.cast(polars.Enum(distinct)).to_physical().to_numpy()
        values = distinct.to_list()
    else:
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(value, len(known)) for value in column.to_list()], np.int32)
        values = list(known)
    return (codes if repeats is None else np.repeat(codes, repeats)), values


def _coded_pandas(column: Any) -> tuple[Array, Sequence[Any]]:
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


def _coded_arrow(column: Any) -> tuple[Array, Sequence[Any]]:
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


def _coded_numbers(values: Array) -> tuple[Array, Sequence[Any]]:
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
    return FrameSource(names, len(frame), lambda _: iter([frame]), number)


def parquet_source(path: str, number: ParseNumber) -> FrameSource | None:
    """The columns of a Parquet file, some rows at a time; None where Polars is not installed."""
    try:
        import polars
    except ImportError:
        return None
    whole = polars.scan_parquet(path)
    count = int(whole.select(polars.len()).collect().item())

    def parts(names: Sequence[str]) -> Iterator[Any]:
        chosen = whole.select(names)
        return (chosen.slice(first, ROWS).collect() for first in range(0, count, ROWS))

    return FrameSource(whole.collect_schema().names(), count, parts, number)
