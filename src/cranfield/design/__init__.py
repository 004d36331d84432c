"""Designs: how many topics, and what a number of topics can see."""

from cranfield.design.questions import MOST_TOPICS, Method
from cranfield.design.sizing import (
    Size,
    size_for_difference,
    size_for_range,
    size_for_sensitivity,
    size_for_width,
)
from cranfield.design.solving import (
    detectable_difference,
    detectable_range,
    power_for_difference,
    power_for_range,
    sensitivity_with,
    width_with,
)

__all__ = [
    "MOST_TOPICS",
    "Method",
    "Size",
    "detectable_difference",
    "detectable_range",
    "power_for_difference",
    "power_for_range",
    "sensitivity_with",
    "size_for_difference",
    "size_for_range",
    "size_for_sensitivity",
    "size_for_width",
    "width_with",
]
