"""Verification: designs put to the test on simulated collections before money is spent on them."""

from cranfield.verify.design import SOURCES, Design, completed, designs_from_sizes, read_designs
from cranfield.verify.planning import designs_from_pilot, designs_from_request, sharded_designs, sharded_pilot
from cranfield.verify.running import Rate, Verification, verify

__all__ = [
    "SOURCES",
    "Design",
    "Rate",
    "Verification",
    "completed",
    "designs_from_pilot",
    "designs_from_request",
    "designs_from_sizes",
    "read_designs",
    "sharded_designs",
    "sharded_pilot",
    "verify",
]
