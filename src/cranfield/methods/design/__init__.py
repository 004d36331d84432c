"""Designs: the required number of topics, and the differences that a number of topics detects."""

from cranfield.methods.design.formulas import METHODS, MOST_TOPICS, Design, Method
from cranfield.methods.design.goals import GOALS, Goal, default_goal
from cranfield.methods.design.solver import Size, achieved, significant_difference, size, solve
from cranfield.methods.design.spreads import Clustered, Estimated, Judged, Replicated, Sd, Spread

__all__ = [
    "GOALS",
    "METHODS",
    "MOST_TOPICS",
    "Clustered",
    "Design",
    "Estimated",
    "Goal",
    "Judged",
    "Method",
    "Replicated",
    "Sd",
    "Size",
    "Spread",
    "achieved",
    "default_goal",
    "significant_difference",
    "size",
    "solve",
]
