"""Simulation: new topics for systems whose scores are known, and whole example collections."""

from cranfield.methods.simulation.example import Example, write_example
from cranfield.methods.simulation.fit_quality import Differences, Fit, goodness_of_fit
from cranfield.methods.simulation.marginals import Marginal, fit_margin
from cranfield.methods.simulation.new_topics import Simulation, parse_means, simulate
from cranfield.methods.simulation.simulator import Simulator, fit_simulator
from cranfield.methods.simulation.support import Support, support_of

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
