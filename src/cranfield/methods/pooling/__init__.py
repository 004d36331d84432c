"""Budgets: topics against pool depth, what a number of judgments affords, and how reusable a pool is."""

from cranfield.methods.pooling.costs import Budget, PoolDesign, Prices, pool_designs
from cranfield.methods.pooling.depths import (
    DepthStudy,
    DepthVariance,
    PoolScores,
    SystemChoice,
    depth_study,
    write_pools,
)
from cranfield.methods.pooling.newcomers import Reusability, TeamReuse, has_teams, reusability
from cranfield.methods.pooling.run_pairs import PairDepth, PairStudy, pair_study
from cranfield.methods.pooling.simulated_power import Simulation

__all__ = [
    "Budget",
    "DepthStudy",
    "DepthVariance",
    "PairDepth",
    "PairStudy",
    "PoolDesign",
    "PoolScores",
    "Prices",
    "Reusability",
    "Simulation",
    "SystemChoice",
    "TeamReuse",
    "depth_study",
    "has_teams",
    "pair_study",
    "pool_designs",
    "reusability",
    "write_pools",
]
