"""Scores: the table every later question is asked of."""

from cranfield.scores.columns import Columns
from cranfield.scores.score_files import read_score_files, read_scores, write_scores
from cranfield.scores.selection import check_balance
from cranfield.scores.table import Missing, ScoreTable

__all__ = ["Columns", "Missing", "ScoreTable", "check_balance", "read_score_files", "read_scores", "write_scores"]
