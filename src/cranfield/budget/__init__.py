"""Budgets: topics against pool depth, what a number of judgments buys, and what is left for new systems."""

from cranfield.budget.depths import DepthStudy, DepthVariance, depth_study, write_pools
from cranfield.budget.designs import Budget, Design, Prices, Purchase, Purchases, equivalent_designs, spend
from cranfield.budget.pairs import PairDepth, PairStudy, pair_study
from cranfield.budget.reuse import Reusability, TeamReuse, reusability

__all__ = [
    "Budget",
    "DepthStudy",
    "DepthVariance",
    "Design",
    "PairDepth",
    "PairStudy",
    "Prices",
    "Purchase",
    "Purchases",
    "Reusability",
    "TeamReuse",
    "depth_study",
    "equivalent_designs",
    "pair_study",
    "reusability",
    "spend",
    "write_pools",
]
