"""Verification: designs put to the test on simulated collections before money is spent on them."""

from cranfield.methods.verification.designs import (
    SOURCES,
    PlannedDesign,
    completed,
    designs_from_sizes,
    planned_designs,
    read_designs,
    sharded_designs,
    sharded_pilot,
)
from cranfield.methods.verification.monte_carlo import CollectionRate, Verification, verify

__all__ = [
    "SOURCES",
    "CollectionRate",
    "PlannedDesign",
    "Verification",
    "completed",
    "designs_from_sizes",
    "planned_designs",
    "read_designs",
    "sharded_designs",
    "sharded_pilot",
    "verify",
]
