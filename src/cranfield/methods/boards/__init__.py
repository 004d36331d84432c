"""Leaderboards: systems on many tasks or collections, with the uncertainty of their order."""

from cranfield.methods.boards.board import Board, Friedman, TaskEffect, make_board
from cranfield.methods.boards.effects import Combined, PairEffect, combine_effects
from cranfield.methods.boards.scales import standardised

__all__ = ["Board", "Combined", "Friedman", "PairEffect", "TaskEffect", "combine_effects", "make_board", "standardised"]
