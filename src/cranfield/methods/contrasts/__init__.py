"""Which systems differ."""

from cranfield.methods.contrasts.audits import Audit, audit
from cranfield.methods.contrasts.clusters import DesignEffect, RobustMeans, TopicDesign, robust_means
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare
from cranfield.methods.contrasts.comparison import Comparison

__all__ = [
    "ALL_TESTS",
    "Audit",
    "Comparison",
    "DesignEffect",
    "RobustMeans",
    "TopicDesign",
    "audit",
    "compare",
    "robust_means",
]
