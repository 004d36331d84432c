"""Which tables and measures a question is about; a table is complete, or it is refused with the cells named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.errors import InputError, PackedFileError, RequestError
from cranfield.scores.stored import SHOWN
from cranfield.scores.table import ScoreTable

LONGEST = 40  # characters of a name in a message: a topic may be a whole question
REMEDY = (
    "For claims about other seeds, prompts or judges use `shards()`, "
    'with `replicates="nested"` if each system has its own, `replicates="crossed"` if all systems share them. '
    'For these alone, average over them: `columns="mean=COLUMN"`.'
)
"""What to do with several scores for each topic and system."""


def check_balance(table: ScoreTable, measure: str | None = None) -> None:
    """Refuse a table with missing cells: say which they are, where, and what can be done about them.

    Parameters
    ----------
    table
        Scores of systems on topics.
    measure
        Only this measure; all of them where none is named.

    Raises
    ------
    InputError
        A cell has no score.
    """
    chosen = table if measure is None else table.select(measures=[measure])
    missing, first, topics = _missing(chosen)
    if not missing:
        return
    named = [_cell(chosen, cell) for cell in first]
    where = named[0][1]
    cells = [text if place in ("", where) else f"{text} in {place}" for text, place in named]
    left = f", and {missing - SHOWN:,} more" if missing > SHOWN else ""
    of = f" of {chosen.measures[0]}" if len(chosen.measures) == 1 else ""
    verb = "is" if missing == 1 else "are"
    raise InputError(
        f"{missing:,} of {chosen.size:,} scores{of} {verb} missing ({'; '.join(cells)}{left})",
        where=where,
        fix=_fix(missing, topics),
    )


def _missing(table: ScoreTable) -> tuple[int, Sequence[Sequence[int]], int]:
    """How many cells are missing, the first of them, and how many topics miss any."""
    if table.stored is not None:
        absent = table.stored.absent
        return absent.count, absent.first, int(np.count_nonzero(absent.topics))
    empty = np.isnan(table.values)
    if not empty.any():
        return 0, (), 0
    missing = np.argwhere(empty)
    return len(missing), missing[:SHOWN].tolist(), len(np.unique(missing[:, 1]))


def _cell(table: ScoreTable, cell: Sequence[int]) -> tuple[str, str]:
    """What a missing cell is called, and where it stands if it stands anywhere."""
    measure, topic, system, shard = cell
    key = (
        table.measures[measure],
        table.topics[topic],
        table.systems[system],
        table.shards[shard] if table.shards else "",
    )
    said = (len(table.measures) > 1, True, True, bool(table.shards))
    words = zip(("measure", "topic", "system", "shard"), key, said, strict=True)
    return ", ".join(f"{word} {_short(name)}" for word, name, shown in words if shown), table.empty.get(key, "")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _fix(cells: int, topics: int) -> str:
    them, dropped = ("it", "its topic") if cells == 1 else ("them", f"the {topics:,} topics that miss any")
    dropped = dropped if topics > 1 or cells == 1 else "their topic"
    return (
        f"Choose what becomes of {them}: zero counts {them} as 0, drop leaves out {dropped} "
        '(`missing="zero"`, `missing="drop"`).'
    )


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
    except PackedFileError:
        raise
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
