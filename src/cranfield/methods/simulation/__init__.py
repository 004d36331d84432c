"""Simulation: new topics for systems whose scores are known, and whole example collections."""

from cranfield.methods.simulation.example import Example, write_example
from cranfield.methods.simulation.fit_quality import (
    Differences,
    Fit,
    Simulation,
    goodness_of_fit,
    parse_means,
    simulate,
)
from cranfield.methods.simulation.marginals import Marginal, Support, fit_margin, support_of
from cranfield.methods.simulation.simulator import Simulator, fit_simulator

__all__ = [
    "Differences",
    "Example",
    "Fit",
    "Marginal",
    "Simulation",
    "Simulator",
    "Support",
    "fit_margin",
    "fit_simulator",
    "goodness_of_fit",
    "parse_means",
    "simulate",
    "support_of",
    "write_example",
]
