"""Budgets: topics against pool depth, what a number of judgments affords, and how reusable a pool is."""

from cranfield.methods.pooling.costs import (
    AffordableDesign,
    AffordableDesigns,
    Budget,
    PoolDesign,
    Prices,
    affordable_designs,
    equivalent_designs,
)
from cranfield.methods.pooling.depths import DepthStudy, DepthVariance, SystemChoice, depth_study, write_pools
from cranfield.methods.pooling.newcomers import Reusability, TeamReuse, reusability
from cranfield.methods.pooling.run_pairs import PairDepth, PairStudy, pair_study

__all__ = [
    "AffordableDesign",
    "AffordableDesigns",
    "Budget",
    "DepthStudy",
    "DepthVariance",
    "PairDepth",
    "PairStudy",
    "PoolDesign",
    "Prices",
    "Reusability",
    "SystemChoice",
    "TeamReuse",
    "affordable_designs",
    "depth_study",
    "equivalent_designs",
    "pair_study",
    "reusability",
    "write_pools",
]
