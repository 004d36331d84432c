"""How often the set of systems that may be the best holds the best one, and how often pairs err, on resampled tables.

    OPENBLAS_NUM_THREADS=1 python scripts/best_coverage.py --draws 2000 > table.md

The topics of a real table are the population: they are drawn from it with replacement, for systems chosen at random.
With real means the best system is that of the population; with equal means (each system's own mean taken off) every
system is the best, and the set has to hold the first. The same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield import read_scores
from cranfield.methods.contrasts.decisions import by_student
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against, all_pairs
from cranfield.methods.contrasts.ranking import PairedT, standing
from cranfield.runtime.random import generator

Array = npt.NDArray[Any]

MATRIX = Path(__file__).parents[1] / "tests" / "data" / "data" / "matrices" / "robust04_map.csv"
ALPHA = 0.05
SYSTEMS, TOPICS = (10, 40, 110), (10, 25, 50)


@dataclass(frozen=True)
class Coverage:
    """Shares of draws: the best is in the set, with real means and with equal ones; and how large the set is."""

    real: float
    equal: float
    size: float


def coverage(scores: Array, systems: int, topics: int, draws: int, seed: int = 1) -> Coverage:
    """Draw tables of a population, topics × systems."""
    rng = generator(seed, "best", systems, topics)
    held = np.zeros(2)
    sizes = []
    for _ in range(draws):
        chosen = rng.choice(scores.shape[1], systems, replace=False)
        population = scores[:, chosen]
        means = population.mean(axis=0)
        drawn = population[rng.integers(0, len(scores), topics)]
        real = standing(PairedT(drawn), ALPHA).may_be_best
        equal = standing(PairedT(drawn - means), ALPHA).may_be_best
        held += real[int(means.argmax())], equal[0]
        sizes.append(real.sum())
    return Coverage(*(held / draws).tolist(), size=float(np.mean(sizes)))


def family_error(
    scores: Array, topics: int, draws: int, *, baseline: bool, flipped: bool = False, seed: int = 1
) -> float:
    """How often t with Holm finds a pair among ten systems with equal means, on drawn topics, or with random signs."""
    rng = generator(seed, "pairs", topics, int(baseline), int(flipped))
    contrasts, wrong = against(10, [0]) if baseline else all_pairs(10), 0
    for _ in range(draws):
        population = scores[:, rng.choice(scores.shape[1], 10, replace=False)]
        drawn = (population - population.mean(axis=0))[rng.integers(0, len(scores), topics)]
        drawn = drawn - drawn.mean(axis=1, keepdims=True)
        signs = rng.choice([-1.0, 1.0], (topics, 1)) if flipped else 1.0
        wrong += bool(by_student(Pairs(drawn * signs, contrasts).fit(), alpha=ALPHA).shown.any())
    return wrong / draws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--matrix", type=Path, default=MATRIX)
    options = parser.parse_args()
    scores = np.asarray(read_scores(options.matrix).of(), float)
    print(
        "| systems | topics | best in the set, real means | equal means | systems in the set |\n|---|---|---|---|---|"
    )
    for systems, topics in product(SYSTEMS, TOPICS):
        found = coverage(scores, systems, topics, options.draws)
        print(f"| {systems} | {topics} | {found.real:.3f} | {found.equal:.3f} | {found.size:.1f} |", flush=True)
    print("\n| topics | all pairs of ten | signs flipped | nine pairs with a baseline |\n|---|---|---|---|")
    for topics in (25, 50, 100):
        ways = ({"baseline": False}, {"baseline": False, "flipped": True}, {"baseline": True})
        rates = [family_error(scores, topics, options.draws, **way) for way in ways]
        print(f"| {topics} | {' | '.join(f'{rate:.3f}' for rate in rates)} |", flush=True)


if __name__ == "__main__":
    main()
