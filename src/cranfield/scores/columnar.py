"""Score tables from plain files, read by columns.

Every function here returns None, or raises `OddTableError`, where a file or a row needs a closer look; the readers that
go line by line then take over. What is read here is what they would have read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from cranfield.errors import Caution
from cranfield.formats.column_scan import (
    CodedColumn,
    CodedRows,
    DelimitedLayout,
    FlatJsonLayout,
    OddTableError,
    scan_columns,
)
from cranfield.formats.problems import Problem
from cranfield.formats.scores import LONG, separator, text_number
from cranfield.formats.text import BOM
from cranfield.scores.coded_table import Axis, CodedScores, EmptyCells, Place, named_axis
from cranfield.scores.columns import Columns, as_number
from cranfield.scores.table import ScoreTable, natural

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
    if "topic" not in names:
        return None
    ids = [name for name in ("topic", "measure", *(("system", "shard") if long else ())) if name in names]
    numbers = ["score"] if long else [name for name in names if name not in ids]
    rows = scan_columns(data, layout, ids=ids, numbers=numbers, number=text_number)
    topic = named_axis(rows.ids["topic"], _filled)
    system = named_axis(rows.ids["system"], _filled) if long else Axis(tuple(numbers))
    measure = (
        named_axis(rows.ids["measure"], lambda name: name.strip() or title, sort=False)
        if "measure" in ids
        else Axis((title,))
    )
    shard = named_axis(rows.ids["shard"]) if "shard" in ids else None
    if topic is None or system is None or measure is None:
        return None
    return _ordered(CodedScores(measure, topic, system, shard, rows.numbers, place, wide=not long))


def _filled(name: str) -> str | None:
    """A name; None where there is nothing, which a row-by-row reader may take for a blank line."""
    return name.strip() or None


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
    """The table of a long or wide frame with the usual columns: names as they are, the measure «score» by default."""
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
    axes = {name: named_axis(column, str, sort=name != "measure") for name, column in rows.ids.items()}
    topic, system = axes["topic"], axes["system"] if long else Axis(tuple(numbers))
    named = axes["measure"] if "measure" in axes else Axis((measure or "score",))
    if topic is None or system is None or named is None or not numbers:
        return None
    scores = CodedScores(
        named, topic, system, axes.get("shard"), rows.numbers, lambda row, _: place(row), wide=not long
    )
    return _ordered(scores).dense()


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
    if data.find(b"\n{") < 0:
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
    try:
        scores = None if roles is None else _named(source, roles, system, measure, place)
    except OddTableError:
        return None
    if scores is None or without in scores.topic.names:
        return None
    table = _ordered(scores).dense(averaged=averaged, replicates=given.replicates)
    if table is None or not averaged or not (empty := scores.empty()):
        return table
    what = f"{len(empty):,} of {scores.scores.size:,} scores are empty and left out of the means"
    first = empty.first if isinstance(empty, EmptyCells) else ""
    return replace(table, warnings=(Caution("cell-missing", what, f"Fill them in; the first: {first}."),))


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
    taken = {roles.topic, roles.system, roles.measure, roles.shard}
    wanted = [name for name in names if name not in taken] if star else list(roles.score)
    ids = list(dict.fromkeys(name for columns in joined.values() for name in columns))
    rows = source.read(ids, wanted, optional=star)
    if star:
        rows = _with_scores(rows)
    columns = {part: _join([rows.ids[name] for name in each]) for part, each in joined.items()}
    if (
        not rows.columns
        or len(set(rows.columns)) < len(rows.columns)
        or (len(rows.columns) > 1 and not wide and "measure" in columns)
    ):
        return None
    if "measure" in columns:
        measures = named_axis(columns["measure"], _filled if wide else str, sort=False)
    elif wide:
        measures = Axis((measure or "score",))
    else:
        measures = Axis((measure,) if measure and len(rows.columns) == 1 else rows.columns)
    topic = named_axis(columns["topic"], _filled)
    systems = Axis(rows.columns if wide else (system,))
    if "system" in columns:
        found = named_axis(columns["system"], _filled)
        if found is None:
            return None
        systems = found
    shard = named_axis(columns["shard"], _filled) if "shard" in columns else None
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
