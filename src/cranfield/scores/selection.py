"""Which tables, and which measures of them, a question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cranfield.errors import InputError, RequestError
from cranfield.scores.balance import check_balance
from cranfield.scores.table import ScoreTable


def complete_tables(
    tables: Mapping[str, ScoreTable],
    *,
    measures: Sequence[str] | None = None,
    missing: str | None = None,
    replicates: str | None = None,
) -> dict[str, ScoreTable]:
    """The tables with the measures wanted; ``missing`` says what becomes of missing cells.

    Without it a table with missing cells is refused. ``replicates`` says whether shards are crossed or nested; nested
    ones are numbered first, since what has another name in every system is not missing.
    """
    chosen = {name: table if measures is None else table.select(measures=measures) for name, table in tables.items()}
    return {name: _complete(name, table.with_replicates(replicates), missing) for name, table in chosen.items()}


def _complete(name: str, table: ScoreTable, missing: str | None) -> ScoreTable:
    if missing is not None:
        return table.settle(missing)
    try:
        check_balance(table)
    except InputError as error:  # a cell without a row has no place but its table
        raise InputError(error.what, where=error.where or name, fix=error.fix) from None
    return table


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
