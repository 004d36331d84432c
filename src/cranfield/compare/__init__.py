"""Which systems differ."""

from cranfield.compare.anova import MODELS, AnovaTable, anova, decompose, random_topics
from cranfield.compare.auditing import Audit, audit
from cranfield.compare.comparison import ALL_TESTS, Comparison, compare
from cranfield.compare.replicates import BootstrapAnova, bootstrap_anova
from cranfield.compare.replication import Replication
from cranfield.compare.sharding import ShardStudy, replicate_study, shard_study
from cranfield.compare.tukey import Tukey, intervals, model_error, random_topic_error, tukey

__all__ = [
    "ALL_TESTS",
    "MODELS",
    "AnovaTable",
    "Audit",
    "BootstrapAnova",
    "Comparison",
    "Replication",
    "ShardStudy",
    "Tukey",
    "anova",
    "audit",
    "bootstrap_anova",
    "compare",
    "decompose",
    "intervals",
    "model_error",
    "random_topic_error",
    "random_topics",
    "replicate_study",
    "shard_study",
    "tukey",
]
