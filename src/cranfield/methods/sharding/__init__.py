"""Sharded and repeated scores: ANOVA models, shard studies, bootstrap ANOVA of replicates, replication on halves."""

from cranfield.methods.sharding.anova import MODELS, AnovaTable, anova, decompose, random_topics
from cranfield.methods.sharding.model_tests import Tukey, intervals, model_error, random_topic_error, tukey
from cranfield.methods.sharding.replicates import BootstrapAnova, bootstrap_anova
from cranfield.methods.sharding.replication import Replication
from cranfield.methods.sharding.shard_models import ShardStudy, replicate_study, shard_study

__all__ = [
    "MODELS",
    "AnovaTable",
    "BootstrapAnova",
    "Replication",
    "ShardStudy",
    "Tukey",
    "anova",
    "bootstrap_anova",
    "decompose",
    "intervals",
    "model_error",
    "random_topic_error",
    "random_topics",
    "replicate_study",
    "shard_study",
    "tukey",
]
