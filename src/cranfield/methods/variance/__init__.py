"""Variance from a pilot."""

from cranfield.methods.variance.estimates import QUESTIONS, VarianceEstimate, Variances, estimate_variance
from cranfield.methods.variance.replicate_components import (
    ComponentEstimate,
    Components,
    cluster_components,
    nested_components,
    shared_components,
    variation_components,
)

__all__ = [
    "QUESTIONS",
    "ComponentEstimate",
    "Components",
    "VarianceEstimate",
    "Variances",
    "cluster_components",
    "estimate_variance",
    "nested_components",
    "shared_components",
    "variation_components",
]
