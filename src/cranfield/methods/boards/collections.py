"""A leaderboard of several collections with topics: the mean over collections, and differences combined over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.methods.boards.board import Board, Scores, board_of, task_weights
from cranfield.methods.boards.effects import PairEffect, combine_effects
from cranfield.methods.boards.scales import standardised
from cranfield.methods.contrasts.clusters import TopicDesign
from cranfield.methods.contrasts.ranking import MARGINAL
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY
from cranfield.types import Array

MOST_PAIRS = 10
"""Pairs of which all are combined over collections where no baseline is named; else that of the first two systems."""


def make_collections_board(
    tables: Mapping[str, ScoreTable],
    *,
    measure: str | None = None,
    weights: Mapping[str, float] | None = None,
    standardise: str | None = None,
    baseline: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    ranks: str = MARGINAL,
    lower_is_better: bool = False,
    resamples: int | None = None,
    seed: int = 1,
) -> Board:
    """Put systems in order by the mean over collections of their means over topics.

    The sample is the topics within these collections: ranks say what would hold on other topics of
    the same collections. What another collection would give is in the prediction intervals of ``effects``.

    Parameters
    ----------
    tables
        Systems on topics by the name of their collection; cells, also all of a system in a collection, may be missing.
    weights
        The weight of collections in the mean, 1 unless given; topics of a collection weigh the same.
    standardise
        ``z`` within each topic, or ``none``; see `make_board`.
    baseline
        The system whose difference from each other one is combined over collections. Without it all pairs are, up to
        10 of them, and else the first two systems.
    test, correct
        ``t``: each pair on the topics that both have, collections as strata; and how p is corrected for all pairs.

    References
    ----------
    - W. G. Cochran, "Sampling Techniques", 3rd edition, Wiley, 1977, §5.4.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def collection(topics):
    ...     scores = rng.normal(0.4, 0.1, (topics, 1)) + [0.1, 0.05, 0.0] + rng.normal(0, 0.05, (topics, 3))
    ...     names = tuple(str(number) for number in range(topics))
    ...     return ScoreTable(("AP",), names, ("a", "b", "c"), scores[np.newaxis, :, :, np.newaxis])
    >>> board = make_collections_board({"first": collection(50), "second": collection(25), "third": collection(40)})
    >>> board.systems, board.topics, len(board.effects)
    (('a', 'b', 'c'), (50, 25, 40), 3)
    """
    scores = _stacked(tables, measure, weights, standardise, lower_is_better)
    if test not in (None, "t"):
        raise RequestError(
            f"several collections are not compared by {test}", fix="Leave out `test`: pairs are tested by t."
        )
    found = board_of(scores, test=test, correct=correct, alpha=alpha, ranks=ranks, resamples=resamples, seed=seed)
    chosen = list(_pairs(found.systems, baseline))
    effects = [effect for pair in chosen if (effect := _effect(scores, *pair, alpha)) is not None]
    return replace(found, effects=tuple(effects), warnings=(*found.warnings, *_cautions(len(chosen) - len(effects))))


def _stacked(
    tables: Mapping[str, ScoreTable],
    measure: str | None,
    weights: Mapping[str, float] | None,
    standardise: str | None,
    lower_is_better: bool,
) -> Scores:
    """The topics of all collections below one another, for all systems that any of them has."""
    if len(tables) < 2:
        raise RequestError("there is one collection", fix="Give several.")
    name = measure or next(iter(tables.values())).measures[0]
    systems = tuple(dict.fromkeys(system for table in tables.values() for system in table.systems))
    place = {system: at for at, system in enumerate(systems)}
    blocks, part = [], []
    for at, (collection, table) in enumerate(tables.items()):
        if table.shards:
            raise RequestError("there are several scores for each topic and system", where=collection, fix=REMEDY)
        if table.has_roles:
            raise RequestError(
                "several collections have no clusters, strata or weights of topics",
                where=collection,
                fix="Leave out cluster=, stratum= and weight=, or give one table.",
            )
        scores = np.array(table.of(name), dtype=float)
        if len(scores) < 2:
            raise InputError("a collection has two topics or more", where=collection, fix="Leave it out.")
        block = np.full((len(scores), len(systems)), np.nan)
        block[:, [place[system] for system in table.systems]] = scores
        blocks.append(block)
        part += [at] * len(block)
    weight, of = task_weights(tuple(tables), weights, "collection"), np.array(part)
    return Scores(
        measure=name,
        systems=systems,
        tasks=tuple(tables),
        values=np.concatenate(blocks),
        weights=weight,
        design=TopicDesign(
            weights=(weight / np.bincount(of))[of],  # of the topics of a collection together that of the collection
            clusters=np.arange(len(of)),
            strata=of,
            has_strata=True,
        ),
        standardise=standardise,
        lower_is_better=lower_is_better,
        part=of,
    )


def _pairs(systems: Sequence[str], baseline: str | None) -> Iterator[tuple[str, str]]:
    """The pairs whose differences are combined: each system against the baseline, all if they are few, or one."""
    if baseline is not None and baseline not in systems:
        raise RequestError(f"there is no system «{baseline}»", fix=there_are(systems))
    if baseline is not None:
        yield from ((system, baseline) for system in systems if system != baseline)
        return
    few = systems if len(systems) * (len(systems) - 1) // 2 <= MOST_PAIRS else systems[:2]
    yield from combinations(few, 2)


def _effect(scores: Scores, first: str, second: str, alpha: float) -> PairEffect | None:
    """None where fewer than two collections have a difference that varies over topics."""
    assert scores.part is not None
    values = standardised(scores.values) if scores.standardise == "z" else scores.values
    gaps = values[:, scores.systems.index(first)] - values[:, scores.systems.index(second)]
    moments = {name: _moments(gaps[scores.part == at]) for at, name in enumerate(scores.tasks)}
    used = {name: each for name, each in moments.items() if each[1] > 0}
    if len(used) < 2:
        return None
    effects, variances, topics = zip(*used.values(), strict=True)
    combined, laird = (
        combine_effects(np.array(effects), np.array(variances), method=method, alpha=alpha) for method in ("PM", "DL")
    )
    return PairEffect(
        first=first, second=second, collections=tuple(used), topics=topics, combined=combined, laird=laird
    )


def _moments(gaps: Array) -> tuple[float, float, int]:
    """The mean difference, its variance, and the number of topics; a variance of 0 where there is none."""
    there = gaps[np.isfinite(gaps)]
    n = len(there)
    if n < 2:
        return float("nan"), 0.0, n
    mean, variance = float(there.mean()), float(there.var(ddof=1)) / n
    return mean, variance if variance > 1e-24 * max(mean**2, 1e-300) else 0.0, n


def _cautions(left_out: int) -> Iterator[Caution]:
    if left_out:
        yield Caution(
            "effects-left-out",
            f"the differences of {left_out:,} pairs vary on the topics of fewer than two collections, and are not "
            "combined",
            "Add topics or collections that both systems have.",
        )
