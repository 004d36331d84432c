"""Pairs of runs assessed to a depth, their effect sizes, and the share detectable: Webber et al. (2008), §6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import RequestError, say_percent
from cranfield.formats.problems import Problem
from cranfield.measures import parse_measures
from cranfield.methods.design import Design, Goal, solve
from cranfield.methods.pooling.depths import check_judged
from cranfield.methods.pooling.kernels import found_by, unions
from cranfield.runtime.random import generator
from cranfield.runtime.threads import Counter, available_workers, slices, spread
from cranfield.scores.evaluation import score_collection
from cranfield.scores.rescoring import Rescorer
from cranfield.stats.pairs import every_pair
from cranfield.types import Array, Progress

DEPTHS = (2, 5, 10, 20, 50, 100)  # WMZ08 Figs 7 and 8, and §6
BUDGETS = tuple(sorted({round(10 ** (2 + at / 8)) for at in range(25)}))  # 100 to 100,000


@dataclass(frozen=True, eq=False)
class PairDepth:
    """All pairs at one depth: the mean number of documents to assess per topic, and the pairs' effect sizes.

    An effect size is |mean| / sd of the differences of two runs, each scored with the relevant documents that the two
    have among their first ``depth``. ``detectable`` is the share of them that B judgments detect with the power asked
    for, for every B.
    """

    depth: int
    documents: float
    effect_sizes: Array
    detectable: Array

    def quantile(self, share: float) -> float:
        return float(np.nanquantile(self.effect_sizes, share))


@dataclass(frozen=True, kw_only=True, eq=False)
class PairStudy:
    """Webber et al. (2008), Fig. 7 and Fig. 8, for any collection."""

    measure: str
    topics: int
    pairs: tuple[tuple[str, str], ...]
    budgets: tuple[int, ...]
    alpha: float
    power: float
    depths: tuple[PairDepth, ...]
    seed: int
    citations: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def at(self, depth: int) -> PairDepth:
        for found in self.depths:
            if found.depth == depth:
                return found
        raise RequestError(f"the study has no depth {depth}")

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per depth and budget."""
        return [
            {
                "measure": self.measure,
                "depth": found.depth,
                "documents": found.documents,
                "effect_size_low": found.quantile(0.25),
                "effect_size": found.quantile(0.5),
                "effect_size_mean": float(np.nanmean(found.effect_sizes)),
                "effect_size_high": found.quantile(0.75),
                "effect_size_most": found.quantile(1.0),
                "judgments": budget,
                "topics": int(budget / found.documents),
                "detectable": float(found.detectable[at]),
            }
            for found in self.depths
            for at, budget in enumerate(self.budgets)
        ]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self, budget: int | None = None) -> str:
        """What one budget makes detectable, at the best depth and at the deepest."""
        at = self.budgets.index(budget) if budget in self.budgets else int(np.searchsorted(self.budgets, 5000))
        judgments = self.budgets[min(at, len(self.budgets) - 1)]
        shares = [float(found.detectable[min(at, len(self.budgets) - 1)]) for found in self.depths]
        best, last = self.depths[int(np.argmax(shares))], self.depths[-1]
        return (
            f"{judgments:,} judgments make {say_percent(max(shares))} of the pairs' differences in {self.measure} "
            f"detectable at depth {best.depth} ({int(judgments / best.documents):,} topics), "
            f"{say_percent(shares[-1])} at depth {last.depth} ({int(judgments / last.documents):,} topics)."
        )


def pair_study(
    collection: Collection,
    measure: str | Sequence[str] = "AP",
    *,
    depths: Sequence[int] | None = None,
    pairs: int | None = 100,
    budgets: Sequence[int] = BUDGETS,
    alpha: float = 0.05,
    power: float = 0.8,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PairStudy:
    """Effect sizes of pairs of runs assessed to several depths, and the share that B judgments detect.

    Parameters
    ----------
    pairs
        How many pairs to draw at random; None for all. As in the paper, one run is of the second quarter by its mean
        at full depth, the other of the best three quarters.
    budgets
        Numbers of judgments B. At a depth that takes j judgments per topic, B pay for B / j topics.
    """
    wanted = parse_measures(measure)
    if len(wanted) > 1:
        raise RequestError("pairs are studied one measure at a time", fix="Name one.")
    chosen = _check_depths(collection, depths)
    if not budgets or min(budgets) < 1:
        raise RequestError("a budget is one judgment or more", fix="Give 10000, for instance.")
    if len(collection.topics) < 2:
        raise RequestError("one topic has no variance", fix="Give two topics or more.")
    ascending = tuple(sorted({int(budget) for budget in budgets}))
    means = score_collection(collection, str(wanted[0])).of().mean(axis=0)
    one, other = _draw(means, pairs, seed)
    documents = _documents(collection, one, other, chosen)
    rescorer = Rescorer(collection, wanted, len(one) * len(chosen))
    effects = _effects(rescorer, one, other, chosen, workers, progress)
    found = []
    for at, depth in enumerate(chosen):
        topics = np.floor(np.array(ascending) / documents[at])
        found.append(
            PairDepth(depth, float(documents[at]), effects[:, at], _detectable(effects[:, at], topics, alpha, power))
        )
    names = tuple(
        (collection.systems[a], collection.systems[b]) for a, b in zip(one.tolist(), other.tolist(), strict=True)
    )
    return PairStudy(
        measure=str(wanted[0]),
        topics=len(collection.topics),
        pairs=names,
        budgets=ascending,
        alpha=alpha,
        power=power,
        depths=tuple(found),
        seed=seed,
        citations=("Webber2008",),
        warnings=collection.warnings,
    )


def _check_depths(collection: Collection, depths: Sequence[int] | None) -> tuple[int, ...]:
    if depths is None:
        depths = [depth for depth in DEPTHS if depth <= collection.pool_depth] or [collection.pool_depth]
    check_judged(collection, depths)
    return tuple(sorted(set(depths)))


def _draw(means: Array, pairs: int | None, seed: int) -> tuple[Array, Array]:
    """Pairs at random, each once, in the order of the runs: one of the second quarter, one of the best three quarters.

    Of fewer than four runs, all pairs.
    """
    systems = len(means)
    if systems < 2:
        raise RequestError("a pair takes two runs", fix="Give two runs or more.")
    one, other = every_pair(systems)
    quarter = np.argsort(np.argsort(-means, kind="stable")) * 4 // systems  # 0 for the best
    if systems >= 4:
        is_drawn = ((quarter[one] == 1) & (quarter[other] < 3)) | ((quarter[other] == 1) & (quarter[one] < 3))
        one, other = one[is_drawn], other[is_drawn]  # WMZ08 §6
    if pairs is None or pairs >= len(one):
        return one, other
    if pairs < 1:
        raise RequestError(f"{pairs} pairs cannot be studied", fix="Ask for one or more.")
    kept = np.sort(generator(seed, "budget", "pairs").permutation(len(one))[:pairs])
    return one[kept], other[kept]


def _documents(collection: Collection, one: Array, other: Array, depths: tuple[int, ...]) -> Array:
    """Documents to assess per topic for two runs, on average over pairs and topics."""
    union = np.zeros(len(one) * len(depths), np.int64)
    topics, systems = len(collection.topics), len(collection.systems)
    unions(
        len(one),
        topics,
        systems,
        len(collection.documents),
        one,
        other,
        np.array(depths, np.int64),
        np.array(collection.arrays["list_edges"], np.int64),
        np.array(collection.list_documents, np.int32),
        union,
        work=len(one) * topics * 2 * depths[-1],
    )
    return np.asarray(union.reshape(len(one), len(depths)).mean(axis=0) / topics)


def _effects(
    rescorer: Rescorer,
    one: Array,
    other: Array,
    depths: tuple[int, ...],
    workers: int | None,
    progress: Progress | None,
) -> Array:
    """|mean| / sd of every pair's differences at every depth; nan where two runs never differ."""
    out = np.empty((len(one), len(depths)))
    counter = Counter(progress, len(one))
    workers = (workers or available_workers()) if rescorer.compiled else 1

    def some(piece: tuple[int, int]) -> None:
        buffers, pool, found = rescorer.buffers(), rescorer.run(found_by), rescorer.relevant_only.view.found
        kept = np.empty(len(rescorer.relevant_only.origin), np.uint8)
        topics, systems = rescorer.relevant_only.view.topics, rescorer.relevant_only.view.systems
        for pair in range(*piece):
            a, b = int(one[pair]), int(other[pair])
            for at, depth in enumerate(depths):
                pool(0, topics, systems, a, b, depth, found.edges, found.rank, found.judgment, kept)
                everything = partial(_assessed, rescorer.collection, a, b, depth)
                (score,) = buffers.score(kept, [a, b], everything, depth=depth)
                out[pair, at] = effect_size(score[:, 0] - score[:, 1])
        counter.step(piece[1] - piece[0])

    rescorer.prepare(found_by)
    spread(some, slices(len(one), 8 * workers), workers=workers)
    return out


def _assessed(collection: Collection, a: int, b: int, depth: int) -> Array:
    """Which judgments two runs have among their first few, of all judgments."""
    hits, systems = collection.hits("judged"), len(collection.systems)
    mine = np.isin(np.arange(len(hits.edges) - 1) % systems, (a, b))
    near = np.repeat(mine, np.diff(hits.edges)) & (hits.rank <= depth)
    kept = np.zeros(len(collection.arrays["grade"]), bool)
    kept[hits.judgment[near]] = True
    return kept


def effect_size(differences: Array) -> float:
    """|mean| / sd, the standard deviation with n − 1.

    >>> effect_size(np.array([1.0, 2.0, 3.0]))
    2.0
    """
    sd = float(differences.std(ddof=1))
    return abs(float(differences.mean())) / sd if sd > 0 else float("nan")  # WMZ08 Fig. 7


def _detectable(effects: Array, topics: Array, alpha: float, power: float) -> Array:
    """The share of detectable effect sizes for every number of topics; none with fewer than two."""
    shares = np.zeros(len(topics))
    enough = np.flatnonzero(topics >= 2)
    if len(enough):
        goal = Goal("effect_size", at_least=power)
        least = solve(Design(topics=topics[enough], alpha=alpha), goal, "effect_size")
        known = effects[np.isfinite(effects)]
        shares[enough] = [float((known >= es).sum()) / len(effects) for es in least.tolist()]  # WMZ08 Fig. 8
    return shares
