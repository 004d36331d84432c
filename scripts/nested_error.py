"""Family-wise error of the models for replicates when all systems are equal and each has random seeds of its own.

    python scripts/nested_error.py [TABLES]

Four equal systems, three seeds; standard deviations: seeds 0 to .03, topic*system .10, error .05. 2,000 tables, unless
another number is given, take some minutes; the standard error of a rate of .05 is then .005.
"""

from __future__ import annotations

import sys

import numpy as np

from cranfield.methods.sharding.anova import decompose
from cranfield.methods.sharding.model_tests import tukey
from cranfield.methods.sharding.shard_models import error_term
from cranfield.runtime.random import generator

MODELS = ("MD3", "MD6", "MD6r", "MD6rr", "nested")
SYSTEMS, SEEDS = 4, 3


def rates(topics: int, seed_sd: float, tables: int) -> list[float]:
    """The share of tables in which each model calls some pair different."""
    rng, wrong = generator(1, "nested error", topics, round(1000 * seed_sd)), np.zeros(len(MODELS))
    shape = (topics, SYSTEMS, SEEDS)
    for _ in range(tables):
        scores = rng.normal(0, 0.10, (topics, SYSTEMS, 1)) + rng.normal(0, 0.05, shape)
        found = decompose(scores + rng.normal(0, seed_sd, (1, SYSTEMS, SEEDS)))
        wrong += [tukey(found.system_means, error_term(found, model)).significant.any() for model in MODELS]
    return [float(count) / tables for count in wrong]


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("topics  seed sd  " + "  ".join(f"{model:>6}" for model in MODELS))
    for topics in (50, 200, 1000):
        for seed_sd in (0.0, 0.005, 0.01, 0.03):
            shown = "  ".join(f"{rate:6.3f}" for rate in rates(topics, seed_sd, tables))
            print(f"{topics:6}  {seed_sd:7.3f}  {shown}", flush=True)


if __name__ == "__main__":
    main()
