"""Simulation: new topics for systems whose scores are known, and whole example collections."""

from cranfield.simulate.example import Example, write_example
from cranfield.simulate.fit import Differences, Fit, goodness_of_fit
from cranfield.simulate.fitting import Simulator, fit_simulator
from cranfield.simulate.margins import Margin, fit_margin
from cranfield.simulate.simulation import Simulation, parse_means, simulate
from cranfield.simulate.support import Support, support_of

__all__ = [
    "Differences",
    "Example",
    "Fit",
    "Margin",
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
