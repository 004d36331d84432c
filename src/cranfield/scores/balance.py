"""Missing scores: a table is complete, or it is refused with the cells named."""

from __future__ import annotations

import numpy as np

from cranfield.errors import InputError
from cranfield.scores.table import ScoreTable

SHOWN = 3  # cells named in a message
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
    absent = np.isnan(chosen.values)
    if not absent.any():
        return
    missing = np.argwhere(absent)
    named = [_cell(chosen, cell) for cell in missing[:SHOWN].tolist()]
    where = named[0][1]
    cells = [text if place in ("", where) else f"{text} in {place}" for text, place in named]
    left = f", and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
    of = f" of {chosen.measures[0]}" if len(chosen.measures) == 1 else ""
    verb = "is" if len(missing) == 1 else "are"
    raise InputError(
        f"{len(missing):,} of {chosen.values.size:,} scores{of} {verb} missing ({'; '.join(cells)}{left})",
        where=where,
        fix=_fix(len(missing), len(np.unique(missing[:, 1]))),
    )


def _cell(table: ScoreTable, cell: list[int]) -> tuple[str, str]:
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
