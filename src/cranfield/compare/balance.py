"""Tables that comparing takes: every system has a score on every topic, and in every shard where there are some."""

from __future__ import annotations

import numpy as np

from cranfield.errors import InputError
from cranfield.scores import ScoreTable

SHOWN = 3  # cells named in a message


def check_balance(table: ScoreTable, measure: str | None = None) -> None:
    """Refuse a table with missing cells: say which they are and what may become of them."""
    scores = table.of(measure)
    missing = np.argwhere(np.isnan(scores))
    if not len(missing):
        return
    named = list(zip(("topic", "system", "shard"), (table.topics, table.systems, table.shards), strict=True))
    cells = [
        ", ".join(f"{word} {names[at]}" for (word, names), at in zip(named, cell, strict=False))
        for cell in missing[:SHOWN].tolist()
    ]
    left = f", and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
    topics = len(np.unique(missing[:, 0]))
    count = f"{len(missing):,} of {scores.size:,} scores {'is' if len(missing) == 1 else 'are'} missing"
    raise InputError(
        f"the table is not balanced: {count} ({'; '.join(cells)}{left})",
        fix="Choose what becomes of them: zero counts them 0, drop leaves out "
        + ("the topic that misses any" if topics == 1 else f"the {topics:,} topics that miss any")
        + " (--missing zero, --missing drop; in Python table.settle).",
    )
