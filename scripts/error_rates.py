"""Family-wise error rate and power of the tests of all pairs, for docs/methods/max-t.md.

    python scripts/error_rates.py --tables 400 --shared ../shared > table.md

Every table of a population is drawn twice: once with equal systems (any significant pair is an error), once with means
spread evenly (power: the share of pairs found). Without the folder of shared data the populations of real runs are left
out. The same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield import read_scores
from cranfield.methods.contrasts import resampling
from cranfield.methods.contrasts.decisions import Drawing
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against, all_pairs
from cranfield.methods.contrasts.resampling import resampled_p
from cranfield.runtime.random import Seed, generator, sequence

Array = npt.NDArray[Any]
Draw = Callable[[np.random.Generator, int], Array]
Test = Callable[[Pairs, Seed], Array]

ALPHA, RESAMPLES = 0.05, 499
TOPICS = (10, 20, 50, 100)
SPREAD = 6.0  # best and worst differ by as many median standard errors


def equal(rng: np.random.Generator, topics: int) -> Array:
    """Ten systems, all pairs with one error variance."""
    return np.asarray(rng.normal(size=(topics, 1)) + rng.normal(size=(topics, 10)))


def variants(rng: np.random.Generator, topics: int, *, count: int) -> Array:
    """``count`` variants of one system, which share what it does on a topic, and two other systems."""
    family = rng.normal(size=(topics, 1)) + 0.2 * rng.normal(size=(topics, count))
    return np.asarray(rng.normal(size=(topics, 1)) + np.hstack([family, rng.normal(size=(topics, 2))]))


def skewed(rng: np.random.Generator, topics: int) -> Array:
    return np.asarray(rng.exponential(size=(topics, 1)) + rng.exponential(size=(topics, 10)))


def binary(rng: np.random.Generator, topics: int) -> Array:
    return np.asarray(equal(rng, topics) > 0, float)


def real(best: Array, rng: np.random.Generator, topics: int) -> Array:
    """Ten of the best 60 runs, made equal: rows of their centred scores, drawn with replacement."""
    runs = rng.choice(best.shape[1], 10, replace=False)
    return np.asarray(best[rng.integers(0, len(best), topics)][:, runs])


def best_runs(path: Path) -> Array:
    scores = read_scores(path).of(None)
    best = scores[:, np.argsort(-scores.mean(axis=0), kind="stable")[:60]]
    return np.asarray(best - best.mean(axis=0))


def populations(shared: Path | None) -> dict[str, Draw]:
    drawn: dict[str, Draw] = {
        "10 equal systems, one residual": equal,
        "8 variants of one system + 2": lambda rng, topics: variants(rng, topics, count=8),
        "18 variants of one system + 2": lambda rng, topics: variants(rng, topics, count=18),
    }
    if shared is not None:
        for name, place in (("TREC-8", "trec8/scores/map.csv"), ("Robust04", "matrices/robust04_map.csv")):
            best = best_runs(shared / "data" / place)
            drawn[f"ten of {name}'s best 60"] = lambda rng, topics, best=best: real(best, rng, topics)  # type: ignore[misc]
    return drawn | {"exponential": skewed, "0/1 scores": binary}


def named(test: str, pairs: Pairs, seed: Seed) -> Array:
    return decide(pairs, test, alpha=ALPHA, drawing=Drawing(resamples=RESAMPLES, seed=seed)).p_adjusted


def plain_bootstrap(pairs: Pairs, seed: Seed) -> Array:
    """max-t without its floor under the variance of a resample."""
    floor, resampling.LEAST_VARIANCE = resampling.LEAST_VARIANCE, 1e-12
    try:
        return named("max-t", pairs, seed)
    finally:
        resampling.LEAST_VARIANCE = floor


def flipped(pairs: Pairs, seed: Seed) -> Array:
    """The other form of max-t: signs of whole centred rows flipped, so that Σd² stays and only means change."""
    n, vary = pairs.topics, pairs.sd > 0
    centred = pairs.held - pairs.means
    means = (generator(seed).integers(0, 2, (RESAMPLES, n)) * 2.0 - 1.0) @ centred / n
    gaps = means[:, pairs.first[vary]] - means[:, pairs.second[vary]]
    share = (gaps**2 / (pairs.sd[vary] ** 2 * (n - 1) / n)).max(axis=1, initial=0.0)
    largest = np.sort(np.sqrt((n - 1) * share / np.maximum(1 - share, 1e-12)))
    p_value = np.ones(len(vary))
    p_value[vary] = resampled_p(largest, pairs.difference[vary] / (pairs.sd[vary] / np.sqrt(n)))
    return p_value


TESTS: dict[str, Test] = {
    "Tukey": lambda pairs, seed: named("tukey", pairs, seed),
    "Tukey by permutation": lambda pairs, seed: named("tukey-permutation", pairs, seed),
    "max-t": lambda pairs, seed: named("max-t", pairs, seed),
    "max-t, no floor": plain_bootstrap,
    "max-t, signs flipped": flipped,
    "t with Holm": lambda pairs, seed: named("t", pairs, seed),
}


def spread_means(scores: Array, pairs: Pairs) -> Array:
    """Means spread evenly, in an order that has nothing to do with who is whose variant."""
    step = SPREAD * float(np.median(pairs.sd)) / np.sqrt(len(scores)) / (scores.shape[1] - 1)
    places = np.random.default_rng(1).permutation(scores.shape[1])
    return np.asarray(scores + step * places)


def rates(draw: Draw, topics: int, tables: int, seed: Seed) -> dict[str, tuple[float, float]]:
    """(family-wise error rate, share of pairs found) of every test, and of Dunnett's with the first as baseline."""
    wrong, found = (dict.fromkeys((*TESTS, "Dunnett, a baseline"), 0.0) for _ in range(2))
    for number in range(tables):
        scores = draw(generator(seed, "scores", number), topics)
        every, with_first = all_pairs(scores.shape[1]), against(scores.shape[1], [0])
        for total, shifted in ((wrong, False), (found, True)):
            values = spread_means(scores, Pairs(scores, every)) if shifted else scores
            kinds: dict[str, tuple[Test, Pairs]] = {name: (test, Pairs(values, every)) for name, test in TESTS.items()}
            kinds["Dunnett, a baseline"] = (
                lambda pairs, stream: named("dunnett", pairs, stream),
                Pairs(values, with_first),
            )
            for name, (test, pairs) in kinds.items():
                significant = test(pairs, sequence(seed, name, number)) <= ALPHA
                total[name] += float(significant.mean() if shifted else significant.any()) / tables
    return {name: (wrong[name], found[name]) for name in wrong}


def markdown(results: dict[str, dict[int, dict[str, tuple[float, float]]]], which: int) -> str:
    """One row per population, one column per test; in a cell the numbers of topics from few to many."""
    tests = list(next(iter(next(iter(results.values())).values())))
    lines = ["| population | " + " | ".join(tests) + " |", "|---" * (len(tests) + 1) + "|"]
    for population, by_topics in results.items():
        cells = ["/".join(f"{each[test][which]:.2f}".lstrip("0") for each in by_topics.values()) for test in tests]
        lines.append(f"| {population} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--topics", type=int, nargs="*", default=TOPICS)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--only", default="", help="populations whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    results = {
        name: {topics: rates(draw, topics, asked.tables, sequence(asked.seed, name, topics)) for topics in asked.topics}
        for name, draw in populations(asked.shared).items()
        if asked.only in name
    }
    print(f"Family-wise error rate, {asked.tables} tables each:\n\n{markdown(results, 0)}\n")
    print(f"Power (share of pairs found; means spread over {SPREAD:g} standard errors):\n\n{markdown(results, 1)}")


if __name__ == "__main__":
    main()
