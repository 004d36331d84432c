"""Leaderboards: systems on many tasks or collections, with the uncertainty of their order."""

from cranfield.methods.boards.board import Board, Friedman, TaskEffect, make_board
from cranfield.methods.boards.board_scores import standardised
from cranfield.methods.boards.effects import Combined, PairEffect, combine_effects

__all__ = ["Board", "Combined", "Friedman", "PairEffect", "TaskEffect", "combine_effects", "make_board", "standardised"]
