"""Reliability of a collection."""

from cranfield.reliability.assessment import PARTS, MeasureReliability, Reliability, assess_reliability
from cranfield.reliability.discrimination import Discrimination, discriminative_power
from cranfield.reliability.generalisability import (
    ABSOLUTE,
    RELATIVE,
    Coefficient,
    Component,
    Generalisability,
    TopicsNeeded,
    generalise,
)
from cranfield.reliability.halves import SplitHalves, split_halves
from cranfield.reliability.indicators import Indicators, indicators
from cranfield.reliability.rankings import RankStability, rank_stability
from cranfield.reliability.swaps import SwapRates, reer, swap_rates

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
