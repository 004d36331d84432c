"""Leaderboards: systems on many tasks, with the uncertainty of their order."""

from cranfield.methods.meta_analysis.board import Board, Friedman, TaskEffect, make_board
from cranfield.methods.meta_analysis.effects import Combined, combine_effects

__all__ = ["Board", "Combined", "Friedman", "TaskEffect", "combine_effects", "make_board"]
