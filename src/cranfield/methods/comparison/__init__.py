"""Which systems differ."""

from cranfield.methods.comparison.anova import MODELS, AnovaTable, anova, decompose, random_topics
from cranfield.methods.comparison.audits import Audit, audit
from cranfield.methods.comparison.clusters import DesignEffect, RobustMoments, TopicDesign, robust_moments
from cranfield.methods.comparison.comparison import ALL_TESTS, Comparison, compare
from cranfield.methods.comparison.tukey import Tukey, intervals, model_error, random_topic_error, tukey

__all__ = [
    "ALL_TESTS",
    "MODELS",
    "AnovaTable",
    "Audit",
    "Comparison",
    "DesignEffect",
    "RobustMoments",
    "TopicDesign",
    "Tukey",
    "anova",
    "audit",
    "compare",
    "decompose",
    "intervals",
    "model_error",
    "random_topic_error",
    "random_topics",
    "robust_moments",
    "tukey",
]
