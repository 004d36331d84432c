"""Reliability of a collection."""

from cranfield.methods.reliability.assessment import PARTS, MeasureReliability, Reliability, assess_reliability
from cranfield.methods.reliability.generalisability import (
    ABSOLUTE,
    RELATIVE,
    Coefficient,
    Component,
    Generalisability,
    Indicators,
    TopicsNeeded,
    generalise,
    indicators,
)
from cranfield.methods.reliability.replicability import (
    Discrimination,
    RankStability,
    SplitHalves,
    discriminative_power,
    rank_stability,
    split_halves,
)
from cranfield.methods.reliability.swaps import SwapRates, reer, swap_rates

__all__ = [
    "ABSOLUTE",
    "PARTS",
    "RELATIVE",
    "Coefficient",
    "Component",
    "Discrimination",
    "Generalisability",
    "Indicators",
    "MeasureReliability",
    "RankStability",
    "Reliability",
    "SplitHalves",
    "SwapRates",
    "TopicsNeeded",
    "assess_reliability",
    "discriminative_power",
    "generalise",
    "indicators",
    "rank_stability",
    "reer",
    "split_halves",
    "swap_rates",
]
