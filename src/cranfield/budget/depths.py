"""S14 §5.4: what becomes of the variance, and of the judging, when pools are shallower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.collection import Collection
from cranfield.collection.collection import NOWHERE
from cranfield.errors import RequestError
from cranfield.formats.problems import Problem
from cranfield.formats.text import make_folder
from cranfield.measures import Measure, parse_measures
from cranfield.pilot.study import ESTIMATES, check_estimate, check_seed
from cranfield.scores.rescoring import Rescorer
from cranfield.variance.components import resamples, squares

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]

DEPTHS = (5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


@dataclass(frozen=True, eq=False)
class DepthVariance:
    """One measure at one pool depth, pooled over collections (S14 Eq. 8).

    ``judged`` is how many documents a topic has judged on average, ``coverage`` how many of those that some run has
    among its first ``depth`` are judged at all; ``lost`` how many topics have no relevant document left. ``draws`` are
    the variances of resampled topics, whose percentiles are ``lower`` and ``upper``.
    """

    measure: str
    depth: int
    full: bool
    judged: float
    coverage: float
    lost: int
    variance: float
    lower: float
    upper: float
    draws: Array


@dataclass(frozen=True, eq=False)
class DepthStudy:
    """Variance and judging at every depth, for every measure."""

    collections: tuple[str, ...]
    measures: tuple[str, ...]
    depths: tuple[int, ...]
    topics: int
    systems: int
    estimate: str
    confidence: float
    seed: int
    points: tuple[DepthVariance, ...]
    warnings: tuple[Problem, ...]

    def of(self, measure: str) -> list[DepthVariance]:
        """All depths of a measure."""
        return [point for point in self.points if point.measure == measure]

    def to_dict(self) -> list[dict[str, Any]]:
        """One row a measure and depth."""
        return [{name: value for name, value in point.__dict__.items() if name != "draws"} for point in self.points]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    @classmethod
    def from_table(cls, rows: Mapping[int, tuple[float, Mapping[str, float]]], estimate: str = "two-way") -> DepthStudy:
        """A study somebody else made: for every depth, documents judged a topic and each measure's variance.

        >>> study = DepthStudy.from_table({10: (96, {"AP": 0.0714}), 100: (731, {"AP": 0.0530})})  # S14 Table 9
        >>> [(point.depth, point.judged) for point in study.of("AP")]
        [(10, 96), (100, 731)]
        """
        if not rows:
            raise RequestError("there is no depth", fix="Give {depth: (judged a topic, {measure: variance})}.")
        nothing = float("nan")
        measures = tuple(next(iter(rows.values()))[1])
        points = tuple(
            DepthVariance(measure, depth, depth == max(rows), judged, nothing, 0, variances[measure], nothing, nothing,
                          np.empty(0))
            for measure in measures
            for depth, (judged, variances) in sorted(rows.items())
        )  # fmt: skip
        return cls((), measures, tuple(sorted(rows)), 0, 0, estimate, nothing, 0, points, ())


def depth_study(
    collections: Collection | Mapping[str, Collection],
    measures: Sequence[str] | str = "AP",
    *,
    depths: Sequence[int] | None = None,
    estimate: str = "two-way",
    confidence: float = 0.95,
    count: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
) -> DepthStudy:
    """Restrict the judgments to pools of several depths, score all runs again, and estimate the variance.

    Parameters
    ----------
    collections
        One, or several by name, whose variances are then pooled.
    depths
        5, 10, 20, 30, 50, 70, … by default. The judgments as they are always come last, as the deepest pool.
    estimate
        ``within``, ``one-way``, ``two-way`` (S14) or ``residual``.
    count
        Bootstrap samples of the topics, for the intervals.
    """
    named = {"": collections} if isinstance(collections, Collection) else dict(collections)
    if not named:
        raise RequestError("no collection was given")
    wanted = parse_measures(measures)
    check_estimate(estimate)
    check_seed(seed)
    deepest = min(collection.pool_depth for collection in named.values())
    chosen = _check_depths(depths, named, deepest)
    parts = [_Part(collection, wanted, chosen, len(named) == 1) for collection in named.values()]
    scored = []
    for at, part in enumerate(parts):
        scored.append(part.tables())
        if progress is not None:
            progress(at + 1, len(parts))
    points = []
    for m, measure in enumerate(wanted):
        for d, depth in enumerate(chosen):
            tables = [tables[d][m] for tables in scored]
            points.append(_point(str(measure), depth, d, parts, tables, estimate, confidence, count, seed))
    return DepthStudy(
        tuple(named), tuple(map(str, wanted)), chosen, sum(len(each.topics) for each in named.values()),
        max(len(each.systems) for each in named.values()), estimate, confidence, seed, tuple(points),
        tuple(problem for each in named.values() for problem in (*each.warnings, *_in_no_pool(each))),
    )  # fmt: skip


def _in_no_pool(collection: Collection) -> list[Problem]:
    """What is to be said about judged documents that no run retrieved at all."""
    lost = int((collection.judged & (collection.entry == NOWHERE)).sum())
    detail = f"{lost:,} of {int(collection.judged.sum()):,} were retrieved by no run"
    return [Problem("contributor-unknown", "judgments", detail=detail, count=lost)] if lost else []


def check_judged(collection: Collection, depths: Sequence[int]) -> None:
    """Refuse pools that are deeper than the runs, or than the judgments."""
    for depth in depths:
        collection.check_depth(depth)
    deepest = collection.pool_depth
    if depths and max(depths) > deepest:
        raise RequestError(
            f"the judgments go no deeper than {deepest:,}: what a pool of depth {max(depths):,} would hold is unknown",
            fix=f"Ask for at most {deepest:,}.",
        )


def _check_depths(depths: Sequence[int] | None, named: Mapping[str, Collection], deepest: int) -> tuple[int, ...]:
    """Ascending, the judgments' own depth last."""
    if depths is None:
        depths = [depth for depth in DEPTHS if depth < deepest]
    for collection in named.values():
        check_judged(collection, depths)
    return (*sorted(set(depths) - {deepest}), deepest)


@dataclass(frozen=True, eq=False)
class _Part:
    """One collection. ``alone`` makes the deepest pool all judgments, retrieved or not."""

    collection: Collection
    measures: tuple[Measure, ...]
    depths: tuple[int, ...]
    alone: bool

    def kept(self, at: int) -> Array:
        if self.alone and at == len(self.depths) - 1:
            return self.collection.judged
        return np.asarray(self.collection.judged & (self.collection.entry <= self.depths[at]))

    def tables(self) -> list[list[Array]]:
        """For every depth and measure, the scores on topics that still have a relevant document."""
        rescorer = Rescorer(self.collection, self.measures, len(self.depths))
        bench, everybody = rescorer.bench(), np.arange(len(self.collection.systems))
        found = []
        for at in range(len(self.depths)):
            kept = self.kept(at)
            lean = kept[rescorer.lean.origin].astype(np.uint8)
            scores = bench.score(lean, everybody, lambda kept=kept: kept)  # type: ignore[misc]
            alive = bench.relevant(lambda kept=kept: kept) > 0  # type: ignore[misc]
            found.append([score[alive] for score in scores])
        return found

    def judged(self, at: int) -> int:
        return int(self.kept(at).sum())

    @cached_property
    def pooled(self) -> Array:
        """Documents that some run has among its first few, at every depth."""
        return pool_sizes(self.collection, self.depths)


def pool_sizes(collection: Collection, depths: Sequence[int]) -> Array:
    """How many (topic, document) pairs are among the first d of some run, for every d, judged or not."""
    edges, documents = collection.arrays["list_edges"], collection.arrays["list_documents"]
    place = np.arange(len(documents)) - np.repeat(edges[:-1], np.diff(edges))
    near = np.flatnonzero(place < max(depths))
    topic = (np.searchsorted(edges, near, side="right") - 1) // len(collection.systems)
    pair = topic * np.int64(len(collection.documents)) + documents[near]
    order = np.lexsort((place[near], pair))
    first = np.ones(len(order), bool)
    first[1:] = pair[order][1:] != pair[order][:-1]
    entry = np.sort(place[near][order][first])  # the best place of each, counted from 0
    return np.asarray(np.searchsorted(entry, np.array(depths)))


def _point(
    measure: str, depth: int, at: int, parts: Sequence[_Part], tables: Sequence[Array], estimate: str,
    confidence: float, count: int, seed: int,
) -> DepthVariance:  # fmt: skip
    for table in tables:
        if len(table) < 2:
            raise RequestError(
                f"at depth {depth} fewer than two topics have a relevant document left", fix="Ask for deeper pools."
            )
    way = ESTIMATES[estimate]
    weights = np.array([len(table) - 1 for table in tables], float)
    weights /= weights.sum()
    value = sum(weight * float(way(squares(table))) for weight, table in zip(weights, tables, strict=True))  # S14 Eq. 8
    draws = sum(
        weight * way(squares(table, resamples(len(table), count, np.random.default_rng(seed))))
        for weight, table in zip(weights, tables, strict=True)
    )
    tail = 50 * (1 - confidence)
    lower, upper = np.percentile(draws, [tail, 100 - tail])
    topics, judged = sum(len(part.collection.topics) for part in parts), sum(part.judged(at) for part in parts)
    inside = sum(int((part.collection.judged & (part.collection.entry <= depth)).sum()) for part in parts)
    return DepthVariance(
        measure, depth, len(parts) == 1 and at == len(parts[0].depths) - 1, judged / topics,
        inside / max(1, sum(int(part.pooled[at]) for part in parts)), topics - sum(map(len, tables)),
        float(value), float(lower), float(upper), np.asarray(draws),
    )  # fmt: skip


def write_pools(collection: Collection, folder: str | Path, depths: Sequence[int]) -> list[Path]:
    """One qrels file a depth, ``depth-D.txt``: the judgments of what some run has among its first D."""
    for depth in depths:
        collection.check_depth(depth)
    home = make_folder(folder)
    written = []
    for depth in depths:
        path = home / f"depth-{depth}.txt"
        collection.pool(depth).write_qrels(path)
        written.append(path)
    return written
