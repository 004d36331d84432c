"""Which tables, and which measures of them, a question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import RequestError
from cranfield.scores.files import read_score_files
from cranfield.scores.table import Missing, ScoreTable


def read_tables(
    paths: Mapping[str, str] | Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    missing: str | None = None,
    columns: Any = None,
) -> dict[str, ScoreTable]:
    """Score files, under names of their own or theirs, with the measures wanted and missing cells settled, or left."""
    only = measures[0] if measures and len(measures) == 1 else None
    return {
        name: (table if measures is None else table.select(measures=measures)).settle(missing or Missing.NAN)
        for name, table in read_score_files(paths, measure=only, columns=columns).items()
    }


def named_measures(tables: Mapping[str, ScoreTable]) -> dict[str, tuple[ScoreTable, str]]:
    """Every measure of every table under its name, with the table's where there are several."""
    return {
        f"{name}: {measure}" if len(tables) > 1 else measure: (table, measure)
        for name, table in tables.items()
        for measure in table.measures
    }


def only_table(tables: Mapping[str, ScoreTable]) -> ScoreTable:
    """The one table there is."""
    if len(tables) != 1:
        raise RequestError(f"one collection at a time, and {len(tables)} were named", fix="Name one of them.")
    return next(iter(tables.values()))
