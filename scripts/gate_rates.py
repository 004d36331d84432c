"""How often gates pass: at the margin (at most α), and with no difference (the planned power), for docs/pipelines.md.

    python scripts/gate_rates.py --draws 4000 --shared ../shared > table.md

Differences of pairs of the best runs are shifted so that the candidate is worse by exactly the margin, and topics are
drawn from them with replacement. The margin is the one that n topics show with power 0.8 if there is no difference. The
same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield import read_scores
from cranfield.methods.contrasts.decisions import Drawing
from cranfield.methods.contrasts.estimates import GREATER
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against
from cranfield.methods.design import Design, Goal, solve
from cranfield.runtime.random import Seed, generator, sequence

Array = npt.NDArray[Any]
ALPHA, POWER, RESAMPLES = 0.05, 0.8, 999
TOPICS = (25, 50, 200)
TESTS = ("t", "bootstrap")
PLACES = {"TREC-8": "trec8/scores/map.csv", "Robust04": "matrices/robust04_map.csv"}


def best_runs(path: Path, count: int = 60) -> Array:
    scores = read_scores(path).of(None)
    return np.asarray(scores[:, np.argsort(-scores.mean(axis=0), kind="stable")[:count]])


def drawn(runs: Array, topics: int, draws: int, seed: Seed) -> Array:
    """Differences of pairs drawn at random, topics × draws, each centred and over its sd in the population."""
    rng = generator(seed)
    runs = np.unique(runs, axis=1)  # the same run may have been submitted twice
    first = rng.integers(0, runs.shape[1], draws)
    second = (first + rng.integers(1, runs.shape[1], draws)) % runs.shape[1]
    gaps = runs[:, first] - runs[:, second]
    gaps = (gaps - gaps.mean(axis=0)) / gaps.std(axis=0)
    rows = rng.integers(0, len(runs), (topics, draws))
    return np.take_along_axis(gaps, rows, axis=0)


def margin_of(topics: int) -> float:
    """What n topics show with the planned power, in units of the sd of differences."""
    one_sided = Design(topics=topics, alpha=ALPHA, sides=1)
    return float(solve(one_sided, Goal("effect_size", at_least=POWER), "effect_size"))


def passing(gaps: Array, margin: float, test: str, seed: Seed) -> float:
    """The share of the columns that pass; each is a gate of its own."""
    topics, count = gaps.shape
    pairs = Pairs(np.column_stack([gaps, np.zeros(topics)]), against(count + 1, [count]))
    drawing = Drawing(resamples=RESAMPLES, seed=seed)
    found = decide(pairs, test, correct="none", alpha=ALPHA, drawing=drawing, shows=GREATER, margin=margin)
    return float(found.shown.mean())


def rates(runs: Array, topics: int, draws: int, seed: Seed) -> dict[str, tuple[float, float]]:
    """By test: how often a gate passes at the margin, and with no difference."""
    gaps = drawn(runs, topics, draws, sequence(seed, "topics", topics))
    margin = margin_of(topics)
    stream = sequence(seed, "resamples", topics)
    return {test: (passing(gaps - margin, margin, test, stream), passing(gaps, margin, test, stream)) for test in TESTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--topics", type=int, nargs="*", default=TOPICS)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("| runs | topics | test | passes at the margin (α = .05) | passes without a difference (planned .80) |")
    print("|---|---:|---|---:|---:|")
    for name, place in PLACES.items():
        runs = best_runs(asked.shared / "data" / place)
        for topics in asked.topics:
            for test, (wrong, right) in rates(runs, topics, asked.draws, sequence(asked.seed, name)).items():
                print(f"| {name} | {topics} | {test} | {wrong:.3f} | {right:.3f} |")


if __name__ == "__main__":
    main()
