"""Score tables from columns of codes and numbers: cells are placed by integer arithmetic, repeats found by counting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from cranfield.errors import Caution, InputError
from cranfield.formats.column_scan import (
    CodedColumn,
    CodedRows,
    DelimitedLayout,
    FlatJsonLayout,
    OddBlocksError,
    OddTableError,
    scan_columns,
)
from cranfield.formats.problems import Problem, Severity, refuse
from cranfield.formats.scores import (
    LONG,
    LONGEST_NAME,
    NOTHING,
    Key,
    are_names,
    inspect_block,
    is_open,
    name_problem,
    separator,
    text_number,
)
from cranfield.formats.text import BOM
from cranfield.runtime.memory import memory_size
from cranfield.scores.columns import Columns, as_number, guess_caution, measure_of, renamed_caution, repeats_caution
from cranfield.scores.stored import UnreadNames
from cranfield.scores.table import TOPIC_ROLES, Cell, ScoreTable, natural, own
from cranfield.types import Array

_TOGETHER = 1 << 18  # codes at a time
LARGEST_PART = 0.5  # of memory that one table may take: whoever reads it computes with it

Place = Callable[[int, int], str]
"""Where a score stands: from its row and its column among the columns of scores, both from 0."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Names of one axis of a table, and the position of every row on it; None where all are at 0."""

    names: tuple[str, ...] | UnreadNames
    positions: Array | None = None

    @property
    def size(self) -> int:
        return len(self.names)

    def at(self, chosen: Array | slice) -> Any:
        return 0 if self.positions is None else self.positions[chosen]


NO_SHARD = Axis(("",))


def named_axis(
    column: CodedColumn, clean: Callable[[str], str | None] = str.strip, *, sort: bool = True
) -> Axis | None:
    """The axis of a column of ids: in natural order, or in that of the rows; None where ``clean`` refuses one."""
    texts = column.names
    if isinstance(texts, UnreadNames) and len(texts) > 1:  # in order already, as are the rows
        return Axis(texts, column.codes)
    if clean is not str:  # names are texts already, and there may be millions
        names = [clean(name) for name in texts]
        texts = [name for name in names if name is not None]
        if len(texts) < len(names):
            return None
    if sort:
        order = natural(texts)
    else:
        firsts = np.empty(len(texts), np.int64)
        firsts[column.codes[::-1]] = np.arange(len(column.codes))[::-1]  # of several rows the first is written last
        order = tuple(dict.fromkeys(texts[at] for at in np.argsort(firsts, kind="stable").tolist()))
    if len(order) == 1:
        return Axis(order)
    if order == tuple(texts):
        return Axis(order, column.codes)
    place = {name: at for at, name in enumerate(order)}
    kind = np.uint16 if len(order) <= 1 << 16 else np.int32
    return Axis(order, _renumbered(column.codes, np.array([place[name] for name in texts], kind)))


def _renumbered(codes: Array, numbers: Array) -> Array:
    """``numbers[codes]``, some at a time: NumPy makes eight bytes of every index."""
    found = np.empty(len(codes), numbers.dtype)
    for first in range(0, len(codes), _TOGETHER):
        found[first : first + _TOGETHER] = numbers[codes[first : first + _TOGETHER]]
    return found


@dataclass(frozen=True, eq=False)
class CodedScores:
    """Rows of scores: the axes of their names, and one column of scores per measure or per system.

    With ``wide`` the columns are systems, otherwise measures; one column may also be of all measures of an axis with
    positions. The axis that the columns stand for has no positions. ``shard`` is None where there are none.
    """

    measure: Axis
    topic: Axis
    system: Axis
    shard: Axis | None
    scores: Array  # rows × columns
    place: Place
    wide: bool = False

    @property
    def shards(self) -> tuple[str, ...]:
        return () if self.shard is None or tuple(self.shard.names) == ("",) else tuple(self.shard.names)

    @property
    def _names(self) -> tuple[Any, Any, Any]:
        """Of measures, topics and systems; a table can do without those of topics until somebody asks for them."""
        return tuple(self.measure.names), self.topic.names, tuple(self.system.names)

    @cached_property
    def _rows(self) -> Array:
        """The cell of every row in a table without shards, and without the axis that the columns stand for."""
        cells = self.measure.size * self.topic.size * (1 if self.wide else self.system.size)
        rows: Array = np.zeros(len(self.scores), np.dtype(np.int32 if cells < 1 << 31 else np.int64))
        for axis in (self.measure, self.topic, *(() if self.wide else (self.system,))):
            if axis is not self.measure or axis.positions is not None:
                rows *= axis.size
            if axis.positions is not None:
                rows += axis.positions
        return rows

    def dense(self, *, averaged: bool = False, replicates: str = "") -> ScoreTable | None:
        """The table of all cells; None where a cell has two scores.

        ``averaged``: shards are averaged, without a table that has them apart.
        """
        if not len(self.scores) or np.isnan(self.scores).all():
            return None
        shard = self.shard or NO_SHARD
        if _has_repeats(self._rows, shard):
            return None
        if averaged:
            return ScoreTable(*self._names, own(self._means(shard)))
        numbered = _numbered(self, shard) if replicates == "nested" else None
        table = ScoreTable(
            *self._names,
            own(self._values(shard if numbered is None else numbered)),
            self.shards if numbered is None else tuple(numbered.names),
            empty=self.empty(),
            replicates=replicates if numbered is not None else "",
        )
        return table.with_replicates(replicates) if replicates and numbered is None else table

    def _shape(self, shards: int) -> tuple[int, int, int, int]:
        return self.measure.size, self.topic.size, self.system.size, shards

    def _values(self, shard: Axis) -> Array:
        """Measures × topics × systems × shards."""
        rows, scores = self._rows, self.scores
        shape = self._shape(shard.size)
        if rows.size * scores.shape[1] == np.prod(shape) and shard.size == 1 and _is_in_order(rows):
            return (scores if self.wide else scores.T).reshape(shape)
        _check_room(shape, rows.size * scores.shape[1])
        values = np.full(shape, np.nan)
        cells = values.reshape((-1, *shape[2:]) if self.wide else (scores.shape[1], -1))
        for first in range(0, len(rows), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            at = shard.at(part)
            kept = slice(None) if shard.positions is None or at.min() >= 0 else at >= 0
            at = at if shard.positions is None else at[kept]
            if self.wide:
                cells[rows[part][kept], :, at] = scores[part][kept]
            else:
                cells[:, rows[part][kept] * np.int64(shard.size) + at] = scores[part][kept].T
        return values

    def _means(self, shard: Axis) -> Array:
        """As `ScoreTable.without_shards`, summed in the order of the shards."""
        order = slice(None) if shard.positions is None else np.argsort(shard.positions, kind="stable")
        rows, columns = self._rows[order], self.scores.shape[1]
        size = int(np.prod(self._shape(1))) // columns
        means = np.empty((columns, size))
        for at in range(columns):
            scores = self.scores[:, at][order]
            there = np.isfinite(scores)
            counts = np.bincount(rows[there], minlength=size)
            sums = np.bincount(rows[there], weights=scores[there], minlength=size)
            np.divide(sums, counts, out=means[at], where=counts > 0)
            means[at][counts == 0] = np.nan
        return np.ascontiguousarray(means.T if self.wide else means).reshape(self._shape(1))

    def further(self, table: ScoreTable) -> int:
        """How many scores there are beyond one for every cell of a table that has one."""
        return int(np.isfinite(self.scores).sum()) - (table.size - table.missing)

    def empty(self) -> Mapping[Cell, str]:
        """Where the cells stand that have a row and no score."""
        absent = np.isnan(self.scores)
        return EmptyCells(self, *np.nonzero(absent)) if absent.any() else {}


def _check_room(shape: tuple[int, int, int, int], scores: int) -> None:
    """Refuse a table of more cells than this machine can hold, before it tries to: shards can make nearly all empty."""
    cells = math.prod(shape)
    if 8 * cells <= LARGEST_PART * memory_size():
        return
    names = ("measures", "topics", "systems", "shards")
    axes = " × ".join(f"{count:,} {name}" for count, name in zip(shape, names, strict=True) if count > 1)
    raise InputError(
        f"a table of {axes} has {cells:,} cells ({8 * cells / 1e9:,.0f} GB), more than fit into memory; the number of "
        f"scores is {scores:,}",
        fix='Average over shards, with `columns="mean=COLUMN"`, or check which column names them.',
    )


def _is_in_order(rows: Array) -> bool:
    return rows[0] == 0 and rows[-1] == len(rows) - 1 and bool((rows[1:] > rows[:-1]).all())


def _has_repeats(rows: Array, shard: Axis) -> bool:
    cells = rows if shard.positions is None else rows * np.int64(shard.size) + shard.positions
    largest = int(cells.max(initial=0)) + 1
    if largest < 8 * len(cells) + 1_000_000:
        seen = np.zeros(largest, bool)
        seen[cells] = True
        return int(np.count_nonzero(seen)) < len(cells)
    cells = np.sort(cells)
    return bool((cells[1:] == cells[:-1]).any())


def _numbered(scores: CodedScores, shard: Axis) -> Axis | None:
    """Shards numbered within each system, those with a score first; None where every system has all of them.

    A row that has no score, of a shard of which its system has none, is at −1: it is nowhere.
    """
    if shard.positions is None or not scores.shards or scores.wide:
        return None
    positions = 0 if scores.system.positions is None else scores.system.positions.astype(np.int64)
    own_shard = positions * shard.size + shard.positions
    there = np.zeros(scores.system.size * shard.size, bool)
    there[own_shard[np.isfinite(scores.scores).any(axis=1)]] = True
    by_system = there.reshape(scores.system.size, shard.size)
    most = int(by_system.sum(axis=1).max())
    if most == shard.size:
        return None
    number = np.where(by_system, np.cumsum(by_system, axis=1) - 1, -1).ravel()
    return Axis(tuple(str(at + 1) for at in range(most)), number[own_shard])


class EmptyCells(Mapping[Cell, str]):
    """Where cells stand that have a row and no score; texts are made when they are asked for."""

    def __init__(self, scores: CodedScores, rows: Array, columns: Array) -> None:
        self._scores, self._rows, self._columns = scores, rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells)

    def __getitem__(self, cell: Cell) -> str:
        at = self._cells[cell]
        return self._scores.place(int(self._rows[at]), int(self._columns[at]))

    def __reduce__(self) -> tuple[type[dict[Cell, str]], tuple[dict[Cell, str]]]:
        return dict, (dict(self),)

    @property
    def first_row(self) -> int:
        return int(self._rows[0])

    @property
    def first(self) -> str:
        """Where the first of them stands."""
        return self._scores.place(self.first_row, int(self._columns[0]))

    @cached_property
    def _cells(self) -> dict[Cell, int]:
        scores, columns = self._scores, self._columns.tolist()
        names = [_names(axis, self._rows, columns) for axis in (scores.measure, scores.topic, scores.system)]
        shards = _names(scores.shard, self._rows, columns) if scores.shard is not None else [""] * len(columns)
        return {
            (measure, topic, system, shard): at
            for at, (measure, topic, system, shard) in enumerate(zip(*names, shards, strict=True))
        }


def _names(axis: Axis, rows: Array, columns: Sequence[int]) -> list[str]:
    if axis.positions is not None:
        return [axis.names[at] for at in axis.positions[rows].tolist()]
    return [axis.names[at] for at in columns] if axis.size > 1 else [axis.names[0]] * len(columns)


# --- rows one by one


def rows_table(
    rows: Sequence[Sequence[Any]], places: Sequence[int | None], score: int, stands: int | None
) -> ScoreTable:
    """A table from rows: ``places`` are those of measure, topic, system and shard; ``stands`` says where a row is."""
    if not rows:
        raise InputError("there are no scores", fix="Check where they come from.")
    columns = list(zip(*rows, strict=True))

    def where(row: int) -> str:
        return str(rows[row][stands]) if stands is not None else ""

    names = [None if at is None else columns[at] for at in places]
    found = _coded(names, columns[score], where)
    empty = {} if stands is None else dict(found.empty())
    return ScoreTable(*found._names, own(found._values(found.shard or NO_SHARD)), found.shards, empty=empty)


def one_measure_table(measure: str, scores: Mapping[str, Mapping[Any, Any]]) -> ScoreTable:
    """A table from ``{system: {topic: score}}``."""
    topics = [topic for by_topic in scores.values() for topic in by_topic]
    systems = [system for system, by_topic in scores.items() for _ in by_topic]
    values = [score for by_topic in scores.values() for score in by_topic.values()]
    found = _coded([[measure], topics, systems, None], values)
    return ScoreTable(*found._names, own(found._values(NO_SHARD)))


def _coded(
    names: Sequence[Sequence[Any] | None], values: Sequence[Any], where: Callable[[int], str] = lambda _: ""
) -> CodedScores:
    """Rows of scores by measure, topic, system and shard, of which one name may be that of all; refused if wrong."""
    measure, topic, system, shard = (
        NO_SHARD if texts is None else _listed_axis(_row_names(texts, part, where), sort=part != "measure")
        for part, texts in zip(("measure", "topic", "system", "shard"), names, strict=True)
    )
    scores, wrong = _row_numbers(values)
    found = CodedScores(measure, topic, system, shard, scores[:, np.newaxis], lambda row, _: where(row))
    if wrong is not None or _has_repeats(found._rows, shard):
        raise _first_error(found, shard, wrong, values)
    return found


def _row_names(values: Sequence[Any], part: str, where: Callable[[int], str]) -> list[str]:
    """Names as text, without blanks around them; the first that is none is refused."""
    texts = values if set(map(type, values)) == {str} else [_text(value) for value in values]
    names = list(map(str.strip, texts))
    if part == "shard" or are_names(names):
        return names
    row, reason = next((row, why) for row, name in enumerate(names) if (why := name_problem(name)))
    what = f"the {part} is missing" if reason == "is empty" else f"the {part} {reason}"
    raise InputError(what, where=where(row), fix="Fill it in." if reason == "is empty" else "Write another name.")


def _text(value: Any) -> str:
    """A name as text; empty for nothing and for what is no single value."""
    is_none = value is None or isinstance(value, (bytes, list, dict)) or (isinstance(value, float) and value != value)
    return "" if is_none or str(value) == "<NA>" else str(value)


def _listed_axis(names: Sequence[str], *, sort: bool) -> Axis:
    if len(names) == 1:
        return Axis(tuple(names))
    known = {name: code for code, name in enumerate(dict.fromkeys(names))}
    codes = np.fromiter(map(known.__getitem__, names), np.int32, len(names))
    axis = named_axis(CodedColumn(codes, list(known)), str, sort=sort)
    assert axis is not None
    return axis


_NUMBERS = (float, int, np.floating, np.integer)


def _row_numbers(values: Sequence[Any]) -> tuple[Array, int | None]:
    """Scores as floats, and the first row of which it is none."""
    if all(issubclass(kind, _NUMBERS) and kind is not bool for kind in set(map(type, values))):
        try:
            found = np.array(values, np.float64)
        except OverflowError:
            pass
        else:
            endless = np.flatnonzero(np.isinf(found))
            return found, int(endless[0]) if len(endless) else None
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        number = math.nan if str(value).strip().lower() in NOTHING else as_number(value)
        if number is None:
            return numbers, row
        numbers[row] = number
    return numbers, None


def _first_error(scores: CodedScores, shard: Axis, wrong: int | None, values: Sequence[Any]) -> InputError:
    """What is wrong with the first row that cannot be used."""
    cells = scores._rows if shard.positions is None else scores._rows * np.int64(shard.size) + shard.positions
    order = np.argsort(cells, kind="stable")
    again = order[1:][cells[order[1:]] == cells[order[:-1]]]
    if len(again) and (wrong is None or int(again.min()) <= wrong):
        row = again.min()[np.newaxis]
        measure, topic, system = (_names(axis, row, [0])[0] for axis in (scores.measure, scores.topic, scores.system))
        what = f"two scores for measure {measure}, topic {topic}, system {system}"
        return InputError(what, where=scores.place(int(row[0]), 0), fix="Delete one of them.")
    value, where = str(values[wrong or 0])[:40], scores.place(wrong or 0, 0)
    return InputError(f"a score cannot be «{value}»", where=where, fix="Give finite numbers, or nothing for none.")


HEAD = 1 << 17  # bytes that show what kind of file it is


class Source(Protocol):
    """Something that has columns."""

    @property
    def names(self) -> Sequence[str]: ...

    def read(self, ids: Sequence[str], numbers: Sequence[str], *, optional: bool) -> CodedRows:
        """Columns of ids and of numbers; ``optional`` ones are left out where they are no numbers."""
        ...


@dataclass(frozen=True)
class TextSource:
    """Lines of text, with the layout of the first."""

    data: Any
    layout: DelimitedLayout | FlatJsonLayout

    @property
    def names(self) -> Sequence[str]:
        return self.layout.names

    def read(self, ids: Sequence[str], numbers: Sequence[str], *, optional: bool) -> CodedRows:
        return scan_columns(self.data, self.layout, ids=ids, numbers=numbers, number=as_number, optional=optional)


# --- files with the usual columns


def plain_scores(data: Any, file: str, title: str) -> ScoreTable | None:
    """The table of a long or wide file with the usual columns; ``title`` is its measure where it names none."""
    try:
        line = data[:HEAD].removeprefix(BOM).partition(b"\n")[0]
        layout = DelimitedLayout.of(data, separator(line))
        scores = _usual(data, layout, title, lambda row, _: f"{file}:{row + 2}")
    except OddBlocksError as odd:
        _refuse_lines(data, file, layout, odd, title)
        return None
    except (OddTableError, UnicodeDecodeError):
        return None
    table = None if scores is None else scores.dense()
    if table is None or not isinstance(table.empty, EmptyCells):
        return table
    count, line = len(table.empty), table.empty.first_row + 2
    return replace(table, warnings=(Problem("cell-missing", file, line, "", f"{count} cells", count),))


def _usual(data: Any, layout: DelimitedLayout, title: str, place: Place) -> CodedScores | None:
    names = layout.names
    long = set(LONG) <= set(names)
    if "topic" not in names or not (long or all(names)):
        return None
    ids = [name for name in ("topic", "measure", *(("system", "shard") if long else ())) if name in names]
    numbers = ["score"] if long else [name for name in names if name not in ids]
    rows = scan_columns(data, layout, ids=ids, numbers=numbers, number=text_number)
    scores = _with_axes(rows, title, place, systems=None if long else numbers)
    return None if scores is None else _ordered(scores)


def _with_axes(rows: CodedRows, title: str, place: Place, *, systems: Sequence[str] | None) -> CodedScores | None:
    """Rows of a long table, or of a wide one with these systems; None where a name is empty."""
    topic = named_axis(rows.ids["topic"], _name_or_none)
    system = named_axis(rows.ids["system"], _name_or_none) if systems is None else Axis(tuple(systems))
    measure = named_axis(rows.ids["measure"], _name_or_none, sort=False) if "measure" in rows.ids else Axis((title,))
    shard = named_axis(rows.ids["shard"]) if "shard" in rows.ids else None
    if topic is None or system is None or measure is None:
        return None
    return CodedScores(measure, topic, system, shard, rows.numbers, place, wide=systems is not None)


_OF_ONE_LINE = {"too-few-fields", "too-many-fields", "cell-not-a-number"}
"""Errors of a line that do not depend on any other line."""


def _refuse_lines(data: Any, file: str, layout: DelimitedLayout, odd: OddBlocksError, title: str) -> None:
    """Raise what is wrong with some lines, if it is certain that nothing else is: only their blocks are read by lines.

    Where it is not certain, as when a cell may have two scores, the whole file has to be read.
    """
    header = data[: layout.start]
    keys: set[Key] = set()
    errors: list[Problem] = []
    for start, end, before in odd.blocks:
        if any(is_open(line, chr(layout.mark)) for line in data[start:end].split(b"\n")):
            return  # a row may begin in one block and end in the next
        own_keys, problems = inspect_block(header, data[start:end], file, before)
        errors += [problem for problem in problems if problem.severity is Severity.ERROR]
        if keys & own_keys or not all(error.slug in _OF_ONE_LINE for error in errors):
            return
        keys |= own_keys
    if not _have_two_scores(odd.rows, keys, title):
        refuse(errors)


def _have_two_scores(rows: CodedRows, keys: set[Key], title: str) -> bool:
    """Whether a cell has, or may have, two scores: both among these rows, or one of them in ``keys``."""
    long = "system" in rows.ids
    scores = _with_axes(rows, title, lambda row, column: "", systems=None if long else ("",))
    if scores is None or _has_repeats(scores._rows, scores.shard or Axis(("",))):
        return True
    topics = {topic for _, topic, _, _ in keys}
    places = [at for at, name in enumerate(scores.topic.names) if name in topics]
    positions = np.zeros(len(scores.scores), int) if scores.topic.positions is None else scores.topic.positions
    chosen = np.flatnonzero(np.isin(positions, places))
    parts = (scores.measure, scores.topic, scores.system, scores.shard or Axis(("",)))
    here = set(zip(*(_names(axis, chosen, [0] * len(chosen)) for axis in parts), strict=True))
    return any(
        (measure or title, topic, system if long else "", shard) in here for measure, topic, system, shard in keys
    )


def _name_or_none(name: str) -> str | None:
    """A name; None where a row-by-row reader has to say what is wrong with it, or may take it for a blank line."""
    name = name.strip()
    return name if 0 < len(name) <= LONGEST_NAME and "\0" not in name else None


def _ordered(scores: CodedScores) -> CodedScores:
    """With the systems of a wide table in natural order."""
    names = scores.system.names
    order = natural(names)
    if not scores.wide or order == names:
        return scores
    place = {name: at for at, name in enumerate(names)}
    chosen = [place[name] for name in order]
    at = scores.place
    return replace(
        scores,
        system=Axis(order),
        scores=np.ascontiguousarray(scores.scores[:, chosen]),
        place=lambda row, column: at(row, chosen[column]),
    )


def usual_table(source: Source, measure: str | None, place: Callable[[int], str]) -> ScoreTable | None:
    """The table of a long or wide frame with the usual columns; the measure is «score» by default."""
    names = source.names
    long = set(LONG) <= set(names)
    if "topic" not in names or len(set(names)) < len(names):
        return None
    ids = [name for name in ("topic", "measure", *(("system", "shard") if long else ())) if name in names]
    numbers = ["score"] if long else [name for name in names if name not in ids]
    try:
        rows = source.read(ids, numbers, optional=False)
    except OddTableError:
        return None
    columns = {name: _stripped(column) for name, column in rows.ids.items()}
    if not all(_has_names(column) for name, column in columns.items() if name != "shard"):
        return None
    axes = {name: named_axis(column, str, sort=name != "measure") for name, column in columns.items()}
    topic, system = axes["topic"], axes["system"] if long else Axis(tuple(numbers))
    named = axes["measure"] if "measure" in axes else Axis((measure or "score",))
    if topic is None or system is None or named is None or not numbers:
        return None
    if not long and not (are_names(system.names) and system.names == tuple(map(str.strip, system.names))):
        return None
    scores = CodedScores(
        named, topic, system, axes.get("shard"), rows.numbers, lambda row, _: place(row), wide=not long
    )
    return _ordered(scores).dense()


def _stripped(column: CodedColumn) -> CodedColumn:
    """Without blanks around names."""
    is_plain = isinstance(column.names, UnreadNames)
    return column if is_plain else replace(column, names=list(map(str.strip, column.names)))


def _has_names(column: CodedColumn) -> bool:
    return isinstance(column.names, UnreadNames) or are_names(column.names)


# --- tables whose columns have other names


def delimited_records(data: Any) -> TextSource | None:
    """The columns of a plain table with a header."""
    line = data[:HEAD].removeprefix(BOM).partition(b"\n")[0]
    mark = max(",\t;", key=lambda each: line.count(each.encode()))
    try:
        return TextSource(data, DelimitedLayout.of(data, mark))
    except OddTableError:
        return None


def json_records(data: Any) -> TextSource | None:
    """The columns of JSON lines that are flat and alike."""
    if b"\n{" not in data[:HEAD]:
        return None  # one line is no list of records
    try:
        return TextSource(data, FlatJsonLayout.of(data))
    except OddTableError:
        return None


def table_from_source(
    source: Source,
    given: Columns,
    *,
    system: str,
    measure: str | None = None,
    alone: bool = False,
    place: Callable[[int], str],
    without: str | None = None,
) -> ScoreTable | None:
    """As `table_from_records`; ``place`` says where a row is. Rows of the topic ``without`` are refused."""
    averaged = given.mean is not None
    roles = _roles(given, source.names, alone=alone)
    named = measure or given.usual_measure
    try:
        scores = None if roles is None else _named(source, roles, system, named, place)
    except OddTableError:
        return None
    if scores is None or (without is not None and without in scores.topic.names):
        return None
    table = _ordered(scores).dense(averaged=averaged, replicates=given.replicates)
    if table is not None and given.topic_roles:
        table = _with_topic_roles(table, source, given)
    if table is not None and measure and roles is not None:
        table = replace(table, warnings=(*table.warnings, *renamed_caution(roles, table)))
    if table is not None and given.guessed:
        star = "*" in given.score and named is None and given.measure is None
        understood = replace(given, score=table.measures) if star else given
        table = replace(table, warnings=(*table.warnings, guess_caution(understood)))
    if table is not None and averaged:
        table = replace(table, warnings=(*table.warnings, *repeats_caution(scores.further(table), given)))
    if table is None or not averaged or not (empty := scores.empty()):
        return table
    what = f"{len(empty):,} of {scores.scores.size:,} scores are empty and left out of the means"
    first = empty.first if isinstance(empty, EmptyCells) else ""
    said = Caution("cell-missing", what, f"Fill them in; the first: {first}.")
    return replace(table, warnings=(*table.warnings, said))


def _with_topic_roles(table: ScoreTable, source: Source, given: Columns) -> ScoreTable | None:
    """With clusters, strata and weights from a second look at few columns; None where a row has to be looked at."""
    columns = {part: _parts(name, source.names) for part, name in {"topic": given.topic, **given.topic_roles}.items()}
    ids = list(dict.fromkeys(name for each in columns.values() for name in each))
    if not set(ids) <= set(source.names):
        return None
    try:
        rows = source.read(ids, [], optional=False)
    except OddTableError:
        return None
    coded = {part: _join([rows.ids[name] for name in each]) for part, each in columns.items()}
    roles: dict[str, Any] = {
        TOPIC_ROLES[part]: _of_topics(coded["topic"], coded[part], table.topics, part) for part in given.topic_roles
    }
    return None if None in roles.values() else replace(table, **roles)


def _of_topics(topic: CodedColumn, role: CodedColumn, topics: Sequence[str], part: str) -> tuple[Any, ...] | None:
    """What a column says of every topic; None where it says two things of one, or nothing that can be used."""
    names: list[Any] = [text_number(name) if part == "weight" else _name_or_none(name) for name in role.names]
    if any(name is None or name != name or (part == "weight" and not name >= 0) for name in names):
        return None
    pairs = np.unique(topic.codes.astype(np.int64) * len(role.names) + role.codes)
    found: dict[str, Any] = {}
    for pair in pairs.tolist():
        name, value = topic.names[pair // len(role.names)].strip(), names[pair % len(role.names)]
        if found.setdefault(name, value) != value:
            return None
    return tuple(found[name] for name in topics)


def _roles(given: Columns, names: Sequence[str], *, alone: bool) -> Columns | None:
    """With the columns that go without saying; None where something is missing or unclear."""
    if given.shard is not None and given.mean is not None:
        return None
    system, measure, shard = (
        getattr(given, part) or (part if part in names else None) for part in ("system", "measure", "shard")
    )
    shard = given.mean or shard
    wide = given.system == "*"
    if not (wide or given.score or alone or system or "score" in names):
        return None
    score = ("*",) if wide else given.score or (("score",) if "score" in names else ("*",))
    roles = replace(given, system=system, measure=measure, shard=shard, mean=None, score=score)
    named = [name for name in (given.topic, None if wide else system, measure, shard) if name is not None]
    if any(part not in names for name in named for part in _parts(name, names)):
        return None
    if "*" not in score and not set(score) <= set(names):
        return None
    return roles


def _parts(name: str, names: Sequence[str]) -> list[str]:
    """The columns that a name joins: itself, or those between plus signs."""
    return [name] if name in names or "+" not in name else [part.strip() for part in name.split("+")]


def _named(
    source: Source, roles: Columns, system: str, measure: str | None, place: Callable[[int], str]
) -> CodedScores | None:
    """Scores with their names; None where a name is missing or there is nothing to read."""
    names, wide, star = source.names, roles.system == "*", "*" in roles.score
    joined = {
        part: _parts(name, names)
        for part in ("topic", "system", "measure", "shard")
        if (name := getattr(roles, part)) is not None and not (wide and part == "system")
    }
    taken = {*(roles.topic, roles.system, roles.measure, roles.shard), *roles.topic_roles.values(), *roles.ignore}
    wanted = [name for name in names if name not in taken] if star else list(roles.score)
    ids = list(dict.fromkeys(name for columns in joined.values() for name in columns))
    rows = source.read(ids, wanted, optional=star)
    if wide and len(rows.columns) < len(wanted):
        return None  # a column of text, or one bad cell: which of them is seen row by row
    if star:
        rows = _with_scores(rows)
    if star and roles.guessed and len(rows.columns) != (len(wanted) if wide else 1):
        return None  # what could be read in two ways is refused row by row
    columns = {part: _join([rows.ids[name] for name in each]) for part, each in joined.items()}
    if (
        not rows.columns
        or len(set(rows.columns)) < len(rows.columns)
        or None in map(_name_or_none, rows.columns)
        or (len(rows.columns) > 1 and not wide and "measure" in columns)
    ):
        return None
    if "measure" in columns:
        measures = named_axis(columns["measure"], _name_or_none, sort=False)
    elif wide:
        measures = Axis((measure or "score",))
    else:
        measures = Axis((measure_of(rows.columns[0], measure, roles),) if len(rows.columns) == 1 else rows.columns)
    topic = named_axis(columns["topic"], _name_or_none)
    systems = Axis(rows.columns if wide else (system,))
    if "system" in columns:
        found = named_axis(columns["system"], _name_or_none)
        if found is None:
            return None
        systems = found
    shard = named_axis(columns["shard"], _name_or_none) if "shard" in columns else None
    if topic is None or measures is None or ("shard" in columns and shard is None):
        return None

    def where(row: int, column: int) -> str:
        return f"{place(row)}, column {rows.columns[column]}"

    return CodedScores(measures, topic, systems, shard, rows.numbers, where, wide=wide)


def _with_scores(rows: CodedRows) -> CodedRows:
    """Without columns that have no number at all."""
    kept = np.flatnonzero(~np.isnan(rows.numbers).all(axis=0)).tolist()
    if len(kept) == len(rows.columns):
        return rows
    return replace(rows, columns=tuple(rows.columns[at] for at in kept), numbers=rows.numbers[:, kept])


def _join(columns: Sequence[CodedColumn]) -> CodedColumn:
    """Several columns as one, with a blank between their texts."""
    first, *others = columns
    for other in others:
        pairs = first.codes.astype(np.int64) * len(other.names) + other.codes
        found, codes = np.unique(pairs, return_inverse=True)
        names = [
            f"{first.names[pair // len(other.names)]} {other.names[pair % len(other.names)]}" for pair in found.tolist()
        ]
        first = CodedColumn(codes.astype(np.int32), names)
    return first
