"""Variance from a pilot."""

from cranfield.variance.estimates import QUESTIONS, VarianceEstimate, Variances, estimate_variance

__all__ = ["QUESTIONS", "VarianceEstimate", "Variances", "estimate_variance"]
