"""How much stricter max-t is with few topics: the table ``MAX_T_SHIFTS`` of ``cranfield.stats.family``.

    python scripts/max_t_levels.py --tables 100

Tables of equal systems are drawn from a normal distribution, and each is resampled as ``compare`` does. The mean
critical value of |t| belongs to a level of one pair; printed is the logarithm of its ratio to the level that holds for
many topics, one row per number of topics and one column per number of systems. It hardly depends on α and on the number
of systems but through that level, which is printed above the columns as a normal quantile. The same seed gives the same
numbers.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import special

from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.resampling import Studentised, critical_value, exceeded, streams
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.stats.family import tukey_level

ALPHA, RESAMPLES = 0.05, 1999
SYSTEMS = (3, 5, 10, 20, 40, 80, 160)
TOPICS = (8, 10, 12, 14, 17, 20, 25, 30, 40, 50, 70, 100)
FEWEST = 6  # tables of the largest families, which vary the least


def shift(systems: int, topics: int, tables: int, seed: Seed) -> float:
    """log of the level that the mean critical value leaves to one pair, over that for many topics."""
    contrasts, critical = all_pairs(systems), []
    for number in range(tables):
        scores = generator(seed, "scores", number).normal(size=(topics, systems))
        pairs = Pairs(scores, contrasts)
        estimate = pairs.fit()
        resampler, places = Studentised(pairs, estimate, np.abs(estimate.t)), np.arange(len(contrasts))
        found = exceeded(resampler, places, streams(RESAMPLES), sequence(seed, "resamples", number))
        critical.append(critical_value(np.sort(found.largest), ALPHA))
    level = 2 * special.stdtr(topics - 1, -np.mean(critical))
    return float(np.log(level / tukey_level(ALPHA, systems, np.inf)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100, help="tables per cell, fewer for many systems")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    quantiles = [float(-special.ndtri(tukey_level(ALPHA, each, np.inf) / 2)) for each in SYSTEMS]
    print("topics", *(f"{each:.4f}" for each in quantiles), sep="\t")
    for topics in TOPICS:
        row = [
            shift(systems, topics, max(FEWEST, options.tables * 10 // max(10, systems)), options.seed)
            for systems in SYSTEMS
        ]
        print(topics, *(f"{each:.3f}" for each in row), sep="\t", flush=True)


if __name__ == "__main__":
    main()
