"""Pairs of systems of a score table, as vectors of differences over its topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import InputError, RequestError, there_are
from cranfield.runtime import random
from cranfield.scores import ScoreTable, check_balance
from cranfield.stats.pairs import every_pair
from cranfield.types import Array

DRAWS = 100  # of pairs in place of those that do not vary


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """``differences`` are pairs × topics: the first system's scores less the second's."""

    measure: str
    names: tuple[tuple[str, str], ...]
    topics: tuple[str, ...]
    differences: Array


def complete_scores(table: ScoreTable, measure: str | None = None, *, fewest: int = 2) -> Array:
    """Topics × systems without missing cells; the InputError names what is missing."""
    scores = table.of(measure)
    if scores.ndim != 2:
        raise RequestError(
            "there are several scores for each topic and system", fix='Average over them: `columns="mean=COLUMN"`.'
        )
    check_balance(table, measure)
    if len(scores) < fewest:
        raise InputError(f"{len(scores)} topics are too few", fix=f"Give {fewest} topics or more.")
    return scores


def one_pair(
    table: ScoreTable, *, system: str | None = None, baseline: str | None = None, measure: str | None = None
) -> PairedDifferences:
    """The differences of two systems: those named, or the only two there are.

    A table of one system is taken for differences already.
    """
    scores, name = complete_scores(table, measure), measure or table.measures[0]
    if len(table.systems) == 1 and system is None and baseline is None:
        return PairedDifferences(name, ((table.systems[0], "0"),), table.topics, scores.T)
    if system is None or baseline is None:
        if len(table.systems) != 2:
            raise RequestError(
                f"the table has {len(table.systems)} systems: it is unclear which two are meant",
                fix='Name them: `system="A"` and `baseline="B"`.',
            )
        first, second = table.systems
        system, baseline = system or (second if baseline == first else first), baseline or second
        baseline = first if system == second else second
    at = [_place(table, name) for name in (system, baseline)]
    if at[0] == at[1]:
        raise RequestError(f"«{system}» is compared with itself", fix="Name two systems.")
    return PairedDifferences(
        name, ((system, baseline),), table.topics, (scores[:, at[0]] - scores[:, at[1]])[np.newaxis]
    )


def choose_pairs(
    table: ScoreTable,
    *,
    system: str | None = None,
    baseline: str | None = None,
    count: int | None = None,
    seed: int = 1,
    measure: str | None = None,
) -> PairedDifferences:
    """``count`` random pairs where that is given; else the two systems named, or the only two there are."""
    if count is not None and (system or baseline):
        raise RequestError("pairs are either named or drawn at random", fix="Give `pairs`, or `system` and `baseline`.")
    if count is not None:
        return random_pairs(table, count, seed=seed, measure=measure)
    return one_pair(table, system=system, baseline=baseline, measure=measure)


def _place(table: ScoreTable, system: str) -> int:
    if system not in table.systems:
        raise RequestError(f"there is no system «{system}»", fix=there_are(table.systems))
    return table.systems.index(system)


def all_pairs(table: ScoreTable, measure: str | None = None) -> PairedDifferences:
    """Every pair, once."""
    scores = complete_scores(table, measure)
    first, second = every_pair(len(table.systems))
    return _made(table, measure, scores, first, second)


def random_pairs(table: ScoreTable, count: int, *, seed: int = 1, measure: str | None = None) -> PairedDifferences:
    """Pairs as an experimenter makes them: a good baseline, from the second quarter of the systems, and another.

    The other is from the best three quarters: very poor systems are not studied: Webber et al. (2008), §5.3.
    """
    scores = complete_scores(table, measure)
    systems = scores.shape[1]
    if systems < 4:
        raise RequestError(
            f"{systems} systems are too few for random pairs", fix="Give four or more, or name two of them."
        )
    if count < 1:
        raise RequestError(f"there must be 1 pair or more, not {count}")
    ordered = np.argsort(-scores.mean(axis=0), kind="stable")
    rng = random.generator(seed, "study", "random pairs")
    first, second = _drawn(rng, ordered, count)
    for _ in range(DRAWS):
        constant = np.ptp(scores[:, first] - scores[:, second], axis=0) < 1e-12
        if not constant.any():
            return _made(table, measure, scores, first, second)
        # Two systems that differ by the same everywhere are no pair to simulate a study of.
        first[constant], second[constant] = _drawn(rng, ordered, int(constant.sum()))
    raise InputError("the differences of most pairs do not vary", fix="Give scores of systems that differ.")


def _drawn(rng: np.random.Generator, ordered: Array, count: int) -> tuple[Array, Array]:
    """Pairs of systems, which are ``ordered`` from the best to the worst: the other and the baseline."""
    systems = len(ordered)
    baseline = rng.integers(systems // 4, systems // 2, count)
    other = rng.integers(0, 3 * systems // 4 - 1, count)
    other += other >= baseline  # anything but the baseline itself
    return ordered[other], ordered[baseline]


def _made(table: ScoreTable, measure: str | None, scores: Array, first: Array, second: Array) -> PairedDifferences:
    names = tuple((table.systems[a], table.systems[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True))
    return PairedDifferences(
        measure or table.measures[0], names, table.topics, (scores[:, first] - scores[:, second]).T
    )
