"""Simulated studies: topics drawn from a pair's own until a plan says stop; testing after every topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.sequential import kernels
from cranfield.methods.sequential.confidence import Bets, check_bounded
from cranfield.methods.sequential.paired_differences import PairedDifferences
from cranfield.runtime import random
from cranfield.runtime.random import Seed, words
from cranfield.types import Array, ArrayLike


@lru_cache(maxsize=16)
def effect_sizes(most: int, alpha: float, power: float) -> Array:
    """The effect size that n topics detect with ``power``, for every n.

    It is infinite for fewer than two topics.

    >>> round(float(effect_sizes(100, 0.05, 0.8)[50]), 3)  # WMZ08 §3.3 prints 0.40
    0.404
    """
    from cranfield.methods.design import Design, Goal, solve

    table = np.full(most + 1, np.inf)
    design = Design(topics=np.arange(2, most + 1), alpha=alpha)
    table[2:] = solve(design, Goal("effect_size", at_least=power), "effect_size")
    table[2:] = np.where(np.isnan(table[2:]), np.inf, table[2:])
    table.flags.writeable = False
    return table


def variance_limits(difference: Array, *, most: int, alpha: float, power: float) -> Array:
    """The largest s² at which n topics detect a difference with ``power``; one row per difference."""
    sizes = effect_sizes(most, alpha, power)
    return np.asarray(np.square(np.atleast_1d(difference))[:, np.newaxis] / np.square(sizes))  # WMZ08 Algorithm 1


def t_squares(levels: Array | float, most: int) -> Array:
    """At n: the square of t that has this two-sided p with n topics; ``levels`` may differ with n."""
    from cranfield.stats.tails import t_critical

    table = np.full(most + 1, np.inf)
    at = np.arange(2, most + 1)
    wanted = np.broadcast_to(levels, (most + 1,))[2:]
    table[2:] = np.square(t_critical(wanted / 2, at - 1))
    return table


_BLOCKS = 64
COMPILE = 10**9  # steps claimed: the generator's unsigned arithmetic is only right as machine code


@dataclass(frozen=True, eq=False)
class Population:
    """Differences of pairs × topics, each row centred at 0; ``sd`` is that of the whole row, as of all there is."""

    centred: Array
    mean: Array
    sd: Array

    @classmethod
    def of(cls, differences: ArrayLike) -> Population:
        rows = np.atleast_2d(np.asarray(differences, float))
        if rows.shape[1] < 2:
            raise RequestError("one topic has no sd", fix="Give two topics or more.")
        mean = rows.mean(axis=1)
        centred = np.ascontiguousarray(rows - mean[:, np.newaxis])
        sd = np.sqrt(np.square(centred).mean(axis=1))
        if not (sd > 1e-12).all():
            raise RequestError("the differences of a pair are equal on all topics", fix="Leave this pair out.")
        return cls(centred, mean, sd)

    @property
    def pairs(self) -> int:
        return len(self.centred)


@dataclass(frozen=True, eq=False)
class Paths:
    """Where every path stopped, pair by pair, ``repeats`` a pair: topics, mean, sd, and whether anything was found."""

    repeats: int
    topics: Array
    mean: Array
    sd: Array
    significant: Array


def seeds_for(paths: int, seed: Seed) -> Array:
    """A seed for every path, so that it is the same whoever walks it."""
    return words(seed, "study paths", count=paths)


def _walk(pairs: int, repeats: int, kernel: Callable[..., None], *arguments: Any, workers: int | None) -> Paths:
    count = pairs * repeats
    out = np.empty(count, np.int32), np.empty(count), np.empty(count), np.empty(count, np.bool_)
    kernel(count, *arguments, *out, work=COMPILE, workers=workers)
    return Paths(repeats, *out)


def sd_rule_paths(
    population: Population,
    start: Array,
    limits: Array,
    *,
    step: int,
    alpha: float,
    shift: Array | float = 0.0,
    repeats: int = 1000,
    seed: Seed = 1,
    replace: bool = True,
    workers: int | None = None,
) -> Paths:
    """Add topics until s² is at most ``limits``[pair, n], then test: the iterative plan, and with ``step`` 0 hybrid.

    ``start`` has the first number of topics of every pair, or of every path; ``shift`` the true mean of every pair.
    """
    begin = np.asarray(start, np.int64)
    begin = np.repeat(begin, repeats) if len(begin) == population.pairs else begin
    most = limits.shape[1] - 1
    _check_end(population, max(most, int(begin.max())), replace)
    critical = t_squares(alpha, max(most, int(begin.max())))[np.newaxis]
    return _walk(
        population.pairs,
        repeats,
        kernels.sd_paths,
        population.centred,
        _each(shift, population.pairs),
        repeats,
        seeds_for(population.pairs * repeats, seed),
        begin,
        step,
        limits,
        critical,
        int(replace),
        workers=workers,
    )


def fixed_paths(population: Population, topics: Array, *, alpha: float, **options: Any) -> Paths:
    """Draw ``topics`` topics, one number per pair or per path, and test once."""
    always = np.full((1, int(np.max(topics)) + 1), np.inf)
    return sd_rule_paths(population, topics, always, step=1, alpha=alpha, **options)


def t_rule_paths(
    population: Population,
    critical: Array,
    ends: Array,
    *,
    shift: Array | float = 0.0,
    repeats: int = 1000,
    seed: Seed = 1,
    replace: bool = True,
    workers: int | None = None,
) -> Paths:
    """Stop as soon as t² ≥ ``critical``[pair, n], or at ``ends``[pair] topics; infinite where nobody looks."""
    _check_end(population, int(ends.max()), replace)
    return _walk(
        population.pairs,
        repeats,
        kernels.t_paths,
        population.centred,
        _each(shift, population.pairs),
        repeats,
        seeds_for(population.pairs * repeats, seed),
        np.atleast_2d(critical),
        np.asarray(ends, np.int64),
        int(replace),
        workers=workers,
    )


def betting_paths(
    population: Population,
    bets: list[Bets],
    ends: Array,
    *,
    alpha: float,
    lowest: float,
    highest: float,
    shift: Array | float = 0.0,
    repeats: int = 1000,
    seed: Seed = 1,
    workers: int | None = None,
) -> Paths:
    """Stop as soon as the confidence sequence leaves out no difference, or at ``ends``[pair] topics.

    The mean is moved to ``shift`` by moving what is tested, so that differences stay within their bounds.
    """
    shares, weights = (np.array([getattr(each, name) for each in bets]) for name in ("shares", "weights"))
    null = population.mean - _each(shift, population.pairs)
    if not ((null > lowest) & (null < highest)).all():
        raise RequestError("a mean lies outside the bounds of the differences", fix="Name the measure's own bounds.")
    rows = np.ascontiguousarray(population.centred + population.mean[:, np.newaxis])
    check_bounded(rows.ravel(), lowest - 1e-9, highest + 1e-9)  # a hair more, for what centring rounds off
    return _walk(
        population.pairs,
        repeats,
        kernels.betting_paths,
        rows,
        null,
        lowest,
        highest,
        repeats,
        seeds_for(population.pairs * repeats, seed),
        shares,
        weights,
        2 / alpha,
        np.asarray(ends, np.int64),
        workers=workers,
    )


def inclusion(
    population: Population, paths: Paths, *, seed: Seed = 1, replace: bool = True, workers: int | None = None
) -> Array:
    """The probability that each topic is included when a path stops, for one pair: Webber et al. (2008), Fig. 4."""
    count, topics = len(paths.topics), population.centred.shape[1]
    included = np.zeros((_BLOCKS, topics), np.int64)
    kernels.inclusions(
        _BLOCKS,
        topics,
        count,
        _BLOCKS,
        seeds_for(count, seed),
        paths.topics,
        int(replace),
        included,
        work=COMPILE,
        workers=workers,
    )
    return np.asarray(included.sum(axis=0) / count)


def _each(value: Array | float, pairs: int) -> Array:
    return np.broadcast_to(np.asarray(value, float), (pairs,)).copy()


def _check_end(population: Population, most: int, replace: bool) -> None:
    there = population.centred.shape[1]
    if not replace and most > there:
        raise RequestError(f"{most} topics cannot be drawn without replacement from {there}")


SHOWN = 12  # paths that a chart can still show one by one


@dataclass(frozen=True, kw_only=True, eq=False)
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
        pairs=len(near),
        of=len(p_value),
        low=low,
        high=high,
        alpha=alpha,
        first=first,
        topics=topics,
        found=float(hit.mean()),
        lower=float(lower),
        upper=float(upper),
        shares=hit.mean(axis=1),
        paths=_p_paths(near[:SHOWN], first, seed),
        repeats=repeats,
        seed=seed,
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
