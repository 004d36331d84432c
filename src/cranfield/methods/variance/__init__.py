"""Variance from a pilot."""

from cranfield.methods.variance.estimates import QUESTIONS, VarianceEstimate, Variances, estimate_variance

__all__ = ["QUESTIONS", "VarianceEstimate", "Variances", "estimate_variance"]
