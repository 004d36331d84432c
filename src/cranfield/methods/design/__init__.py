"""Designs: the required number of topics, and the differences that a number of topics detects."""

from cranfield.methods.design.formulas import MOST_TOPICS, Method
from cranfield.methods.design.replicate_design import ReplicateCosts, design_effect, replicate_method
from cranfield.methods.design.sample_size import (
    Size,
    detectable_difference,
    detectable_range,
    power_for_difference,
    power_for_range,
    sensitivity_with,
    significant_difference,
    size_for_difference,
    size_for_equivalence,
    size_for_non_inferiority,
    size_for_range,
    size_for_sensitivity,
    size_for_width,
    width_with,
)

__all__ = [
    "MOST_TOPICS",
    "Method",
    "ReplicateCosts",
    "Size",
    "design_effect",
    "detectable_difference",
    "detectable_range",
    "power_for_difference",
    "power_for_range",
    "replicate_method",
    "sensitivity_with",
    "significant_difference",
    "size_for_difference",
    "size_for_equivalence",
    "size_for_non_inferiority",
    "size_for_range",
    "size_for_sensitivity",
    "size_for_width",
    "width_with",
]
