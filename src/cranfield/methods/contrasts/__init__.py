"""Which systems differ."""

from cranfield.methods.contrasts.anova import MODELS, AnovaTable, anova, decompose, random_topics
from cranfield.methods.contrasts.audits import Audit, audit
from cranfield.methods.contrasts.clusters import DesignEffect, RobustMeans, TopicDesign, robust_means
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.tukey import Tukey, intervals, model_error, random_topic_error, tukey

__all__ = [
    "ALL_TESTS",
    "MODELS",
    "AnovaTable",
    "Audit",
    "Comparison",
    "DesignEffect",
    "RobustMeans",
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
    "robust_means",
    "tukey",
]
