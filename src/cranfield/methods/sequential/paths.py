"""Simulated studies: topics drawn at random from a pair's own, until a plan says stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.sequential import kernels
from cranfield.methods.sequential.confidence import Bets, check_bounded
from cranfield.methods.sequential.thresholds import t_squares
from cranfield.runtime.random import Seed, words
from cranfield.types import Array, ArrayLike

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
