"""Reliability of a collection."""

from cranfield.methods.reliability.assessment import PARTS, MeasureReliability, Reliability, assess_reliability
from cranfield.methods.reliability.discrimination import Discrimination, discriminative_power
from cranfield.methods.reliability.generalisability import (
    ABSOLUTE,
    RELATIVE,
    Coefficient,
    Component,
    Generalisability,
    TopicsNeeded,
    generalise,
)
from cranfield.methods.reliability.halves import SplitHalves, split_halves
from cranfield.methods.reliability.indicators import Indicators, indicators
from cranfield.methods.reliability.rankings import RankStability, rank_stability
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
