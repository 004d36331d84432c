"""Testing after every topic: pairs just short of significance that are significant at some look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.sequential.paired_differences import PairedDifferences
from cranfield.methods.sequential.paths import Population, t_rule_paths
from cranfield.methods.sequential.thresholds import t_squares
from cranfield.runtime import random
from cranfield.types import Array

SHOWN = 12  # paths that a chart can still show one by one


@dataclass(frozen=True, eq=False)
class NearMisses:
    """Pairs with p between ``low`` and ``high`` on all topics, tested after every topic from ``first`` on.

    ``found`` is the mean share of them that is significant at some look, over random orders of the topics; ``lower``
    and ``upper`` hold the middle 95 % of such shares. ``shares`` has each pair's own; ``paths`` has for some of them p
    after every topic from ``first`` on, in one random order.
    """

    pairs: int
    of: int
    low: float
    high: float
    alpha: float
    first: int
    topics: int
    found: float
    lower: float
    upper: float
    shares: Array
    paths: Array
    repeats: int
    seed: int
    citations: tuple[str, ...] = ("Webber2008",)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("shares", "paths", "citations")}

    def summary(self) -> str:
        pairs = "1 pair" if self.pairs == 1 else f"{self.pairs:,} pairs"
        return (
            f"Of {pairs} with p between {self.low:g} and {self.high:g} in a paired t test on all {self.topics} topics, "
            f"{100 * self.found:.0f} % are significant at some look from topic {self.first} on ({100 * self.lower:.0f} "
            f"to {100 * self.upper:.0f} % for 95 % of the orders of the topics)."
        )


def near_misses(
    pairs: PairedDifferences,
    *,
    low: float = 0.05,
    high: float = 0.10,
    first: int = 50,
    alpha: float = 0.05,
    repeats: int = 200,
    seed: int = 1,
    workers: int | None = None,
) -> NearMisses:
    """Test after every topic, in random order: Webber et al. (2008), §5.3."""
    topics = pairs.differences.shape[1]
    if not 2 <= first <= topics:
        raise RequestError(f"the first look cannot be at {first} of {topics} topics", fix="Look earlier.")
    p_value = _p_values(pairs.differences)
    near = pairs.differences[(p_value > low) & (p_value < high)]
    if not len(near):
        raise RequestError(f"no pair has p between {low:g} and {high:g}", fix="Give more systems, or a wider range.")
    population = Population.of(near)
    critical = t_squares(alpha, topics)
    critical[:first] = np.inf
    walked = t_rule_paths(
        population,
        critical,
        np.full(len(near), topics),
        shift=population.mean,
        repeats=repeats,
        seed=random.sequence(seed, "study peek", "orders"),
        replace=False,
        workers=workers,
    )
    hit = walked.significant.reshape(len(near), repeats)
    lower, upper = np.percentile(hit.mean(axis=0), [2.5, 97.5])
    return NearMisses(
        len(near),
        len(p_value),
        low,
        high,
        alpha,
        first,
        topics,
        float(hit.mean()),
        float(lower),
        float(upper),
        hit.mean(axis=1),
        _p_paths(near[:SHOWN], first, seed),
        repeats,
        seed,
    )


def _p_paths(differences: Array, first: int, seed: int) -> Array:
    """p after every topic from ``first`` on: pairs × looks, each pair with its topics in an order of its own."""
    x = random.generator(seed, "study peek", "shown").permuted(differences, axis=1)
    n = np.arange(1, x.shape[1] + 1)
    sums, squares = np.cumsum(x, axis=1)[:, first - 1 :], np.cumsum(np.square(x), axis=1)[:, first - 1 :]
    n = n[first - 1 :]
    spread = np.maximum(n * squares - np.square(sums), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(spread > 0, np.abs(sums) * np.sqrt((n - 1) / spread), 0.0)
    return np.asarray(2 * special.stdtr(n - 1, -t))


def _p_values(differences: Array) -> Array:
    n = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences.mean(axis=1) / error
    return np.where(error > 0, 2 * special.stdtr(n - 1, -np.abs(t)), 1.0)
