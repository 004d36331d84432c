"""Sharded and repeated scores: shard studies, bootstrap ANOVA of replicates, replication on halves of the topics."""

from cranfield.methods.contrasts.audits import Replication
from cranfield.methods.sharding.replicates import BootstrapAnova, bootstrap_anova
from cranfield.methods.sharding.shard_models import ShardStudy, replicate_study, shard_study

__all__ = ["BootstrapAnova", "Replication", "ShardStudy", "bootstrap_anova", "replicate_study", "shard_study"]
