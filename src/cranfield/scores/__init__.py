"""Scores: the table every later question is asked of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.scores.columns import Columns
    from cranfield.scores.score_files import add_scores, read_score_files, read_scores, write_scores
    from cranfield.scores.selection import check_balance
    from cranfield.scores.table import Missing, ScoreTable

_HOME = {
    "Columns": "columns",
    "Missing": "table",
    "ScoreTable": "table",
    "add_scores": "score_files",
    "check_balance": "selection",
    "read_score_files": "score_files",
    "read_scores": "score_files",
    "write_scores": "score_files",
}

__all__ = [
    "Columns",
    "Missing",
    "ScoreTable",
    "add_scores",
    "check_balance",
    "read_score_files",
    "read_scores",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: scoring runs needs no reader of score tables."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
