"""Signal, noise and judgments per topic of shallower pools: Sakai (2014), §5.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from cranfield.collection import Collection
from cranfield.collection.collection import NOWHERE
from cranfield.errors import Caution, RequestError
from cranfield.formats.problems import Problem
from cranfield.formats.text import make_folder
from cranfield.measures import Measure, parse_measures
from cranfield.methods.leave_out.pilots import ESTIMATES, check_estimate
from cranfield.methods.variance.components import jackknife_df, leave_one_out_squares, squares
from cranfield.scores.rescoring import Rescorer
from cranfield.types import Array, Progress

DEPTHS = (5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
FEWEST_HALF = 10


@dataclass(frozen=True)
class SystemChoice:
    """The systems that a design has to distinguish: the ``best`` by their full-depth means, a ``pair``, or all.

    >>> SystemChoice(best=60).words("AP", 129)
    'the best 60 of 129 runs by mean AP at full depth'
    """

    best: int | None = None
    pair: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.best is not None and self.pair is not None:
            raise RequestError("choose one of `best`, `pair`", fix="Ask for the other afterwards.")
        if self.best is not None and self.best < 2:
            raise RequestError(f"the best {self.best} cannot be compared", fix="Ask for the best 2 or more.")
        if self.pair is not None and len(set(self.pair)) != 2:
            raise RequestError("a pair takes two different runs", fix='Name two runs: `pair="A,B"`.')

    def columns(self, systems: Sequence[str], scores: Array) -> Array:
        """The numbers of the chosen systems; ``scores`` are those at full depth."""
        if self.pair is not None:
            missing = [name for name in self.pair if name not in systems]
            if missing:
                raise RequestError(f"there is no run «{missing[0]}»", fix=f"The runs are: {listed(systems)}.")
            return np.array([systems.index(name) for name in self.pair])
        if self.best is None:
            return np.arange(len(systems))
        if self.best > len(systems):
            raise RequestError(f"there are {len(systems)} runs, not {self.best}", fix=f"`best={len(systems)}` at most.")
        return np.sort(np.argsort(-scores.mean(axis=0), kind="stable")[: self.best])

    def words(self, measure: str, systems: int) -> str:
        """The choice in words."""
        if self.pair is not None:
            return f"{self.pair[0]} and {self.pair[1]}"
        if self.best is None:
            return f"all {systems} runs"
        return f"the best {self.best} of {systems} runs by mean {measure} at full depth"


def choose_systems(best: int | None, pair: str | None) -> SystemChoice:
    """The systems that designs have to distinguish; a pair is two names with a comma between.

    >>> choose_systems(None, "okapi, smart").pair
    ('okapi', 'smart')
    """
    if pair is None:
        return SystemChoice(best)
    names = tuple(part.strip() for part in pair.split(","))
    if len(names) != 2 or not all(names):
        raise RequestError(f"«{pair}» is no pair of runs", fix='Name two runs: `pair="A,B"`.')
    return SystemChoice(best, (names[0], names[1]))


def listed(names: Sequence[str], most: int = 8) -> str:
    """The names, or the first few of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthVariance:
    """One measure at one pool depth, pooled over collections: Sakai (2014), Eq. 8.

    ``judged`` is the mean number of judged documents per topic, ``coverage`` the judged share of the documents that
    some run has among its first ``depth``; ``lost`` counts topics with no relevant document left. ``variance`` is the
    estimate asked for with its interval; ``system_variance`` is σ_s², the variance of the systems' means,
    (V_A − V_E2)/n, and ``residual`` is σ_e². For a pair, ``difference`` is its mean difference and σ_s² half its
    square, so that σ_s²/σ_e² is the square of the effect size d_z.
    """

    measure: str
    depth: int
    full: bool
    judged: float
    coverage: float
    lost: int
    variance: float
    lower: float = float("nan")
    upper: float = float("nan")
    system_variance: float = float("nan")
    residual: float = float("nan")
    difference: float = float("nan")

    @property
    def signal_to_noise(self) -> float:
        """σ_s²/σ_e²: n topics have Eρ² = n / (n + σ_e²/σ_s²)."""
        return self.system_variance / self.residual if self.residual > 0 else float("nan")


@dataclass(frozen=True, eq=False)
class PoolScores:
    """Topics × systems under the pool of one depth, and which topics have a relevant document there."""

    scores: Array
    alive: Array

    @property
    def table(self) -> Array:
        """The topics that have a relevant document."""
        return np.asarray(self.scores[self.alive])

    def of(self, systems: Array) -> PoolScores:
        return PoolScores(self.scores[:, systems], self.alive)


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthStudy:
    """Variance and judgments at every depth, for every measure and the chosen systems.

    ``scores`` are those of the chosen systems by measure: for each collection, one table per depth. Studies from
    published numbers have none.
    """

    collections: tuple[str, ...]
    measures: tuple[str, ...]
    depths: tuple[int, ...]
    topics: int
    systems: int
    choice: SystemChoice
    estimate: str
    confidence: float
    points: tuple[DepthVariance, ...]
    warnings: tuple[Caution, ...]
    scores: Mapping[str, Sequence[Sequence[PoolScores]]] = field(default_factory=dict)

    def of(self, measure: str) -> list[DepthVariance]:
        """All depths of a measure."""
        return [point for point in self.points if point.measure == measure]

    def signals(self, measure: str) -> Array:
        """How large the systems' differences are at every depth, over those at full depth; nan where there are none.

        √(σ_s²/σ_s² at full depth) for a set of systems. For a pair, the ratio of its mean differences, which is
        negative where the pair's order is reversed.
        """
        points = self.of(measure)
        if self.choice.pair is not None:
            sizes = np.array([point.difference for point in points])
        else:
            sizes = np.sqrt(np.maximum([point.system_variance for point in points], 0.0))
        return np.asarray(sizes / sizes[-1]) if sizes[-1] != 0 else np.full(len(sizes), np.nan)

    def chosen(self, measure: str) -> str:
        """The systems that the designs distinguish, in words."""
        return self.choice.words(measure, self.systems)

    @classmethod
    def from_table(cls, rows: Mapping[int, tuple[float, Mapping[str, float]]], estimate: str = "two-way") -> DepthStudy:
        """A study published elsewhere: for every depth, judged documents per topic and each measure's variance.

        It has no variance between systems, so that only the rule of Sakai (2014) can be used.

        >>> study = DepthStudy.from_table({10: (96, {"AP": 0.0714}), 100: (731, {"AP": 0.0530})})  # S14 Table 9
        >>> [(point.depth, point.judged) for point in study.of("AP")]
        [(10, 96), (100, 731)]
        """
        if not rows:
            raise RequestError("there is no depth", fix="Give {depth: (judged per topic, {measure: variance})}.")
        measures, unknown = tuple(next(iter(rows.values()))[1]), float("nan")
        points = tuple(
            DepthVariance(
                measure=measure,
                depth=depth,
                full=depth == max(rows),
                judged=judged,
                coverage=unknown,
                lost=0,
                variance=variances[measure],
            )
            for measure in measures
            for depth, (judged, variances) in sorted(rows.items())
        )
        return cls(
            collections=(),
            measures=measures,
            depths=tuple(sorted(rows)),
            topics=0,
            systems=0,
            choice=SystemChoice(),
            estimate=estimate,
            confidence=unknown,
            points=points,
            warnings=(),
        )


def depth_study(
    collections: Collection | Mapping[str, Collection],
    measures: Sequence[str] | str = "AP",
    *,
    depths: Sequence[int] | None = None,
    best: int | None = None,
    pair: tuple[str, str] | None = None,
    estimate: str = "residual",
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> DepthStudy:
    """Restrict the judgments to pools of several depths, score all runs again, and estimate signal and noise.

    Parameters
    ----------
    collections
        One, or several by name, whose variances are then pooled.
    depths
        5, 10, 20, 30, 50, 70, … by default. The judgments as they are always come last, as the deepest pool.
    best
        Only the best systems by their means at full depth (of each collection and measure).
    pair
        Only two systems, by name; takes one collection.
    estimate
        ``residual`` (systems share topics), ``within``, ``one-way`` or ``two-way`` (Sakai 2014).
    confidence
        Confidence level of the interval of the variance.

    Returns
    -------
    DepthStudy
        One point per measure and depth.

    References
    ----------
    - T. Sakai. Designing Test Collections for Comparing Many Systems. CIKM 2014, §5.4.
    """
    named = {"": collections} if isinstance(collections, Collection) else dict(collections)
    if not named:
        raise RequestError("no collection was given")
    parsed, choice = parse_measures(measures), SystemChoice(best, pair)
    if pair is not None and len(named) > 1:
        raise RequestError("a pair is taken from one collection", fix="Name one collection.")
    check_estimate(estimate)
    ascending = _pool_depths(depths, named)
    parts = [_Part(collection, parsed, ascending, len(named) == 1) for collection in named.values()]
    scored = []
    for at, part in enumerate(parts):
        scored.append(part.scores())
        if progress is not None:
            progress(at + 1, len(parts))
    points: list[DepthVariance] = []
    scores: dict[str, Sequence[Sequence[PoolScores]]] = {}
    warnings = [problem for each in named.values() for problem in (*each.warnings, *_in_no_pool(each))]
    cautions: list[Caution] = []
    for m, measure in enumerate(map(str, parsed)):
        scores[measure] = _chosen(choice, parts, [[pools[m] for pools in collection] for collection in scored])
        tables = [[pool.table for pool in each] for each in scores[measure]]
        for d, depth in enumerate(ascending):
            points.append(_point(measure, depth, d, parts, [each[d] for each in tables], estimate, confidence))
        if pair is None and best is None:
            cautions += _systems_matter(measure, ascending, tables)
    return DepthStudy(
        collections=tuple(named),
        measures=tuple(map(str, parsed)),
        depths=ascending,
        topics=sum(len(each.topics) for each in named.values()),
        systems=max(len(each.systems) for each in named.values()),
        choice=choice,
        estimate=estimate,
        confidence=confidence,
        points=tuple(_pair_points(points) if pair is not None else points),
        warnings=(*warnings, *cautions),
        scores=scores,
    )


def _chosen(
    choice: SystemChoice, parts: Sequence[_Part], scored: Sequence[Sequence[PoolScores]]
) -> list[list[PoolScores]]:
    """The chosen systems of every collection, at every depth."""
    columns = [
        choice.columns(part.collection.systems, pools[-1].table) for part, pools in zip(parts, scored, strict=True)
    ]
    return [[pool.of(mine) for pool in pools] for mine, pools in zip(columns, scored, strict=True)]


def _pair_points(points: Sequence[DepthVariance]) -> list[DepthVariance]:
    """Return the signal of a pair: its observed difference, without a correction for chance."""
    return [replace(point, system_variance=point.difference**2 / 2) for point in points]


def _systems_matter(measure: str, depths: Sequence[int], tables: Sequence[Sequence[Array]]) -> list[Caution]:
    """A caution where the best half of the systems loses more (or less) in shallow pools than all of them."""
    half = min(table.shape[1] for each in tables for table in each) // 2
    if half < FEWEST_HALF:  # the variance of so few means is too uncertain to say anything
        return []
    best = [np.argsort(-each[-1].mean(axis=0), kind="stable")[:half] for each in tables]
    every, some = (
        _relative([[table[:, mine] for table in each] for mine, each in zip(which, tables, strict=True)])
        for which in ([np.arange(each[-1].shape[1]) for each in tables], best)
    )
    apart = np.abs(np.log(some / every))
    at = int(np.nanargmax(apart)) if np.isfinite(apart).any() else 0
    if not apart[at] > np.log(1.1):
        return []
    what = (
        f"{measure}: for the same reliability among the best {half} runs, depth {depths[at]} takes {some[at]:.2f} "
        f"times the topics of full depth; among all runs, {every[at]:.2f} times"
    )
    return [Caution("depth-and-systems", what, f"Name the systems to distinguish, for instance `best={half}`.")]


def _relative(tables: Sequence[Sequence[Array]]) -> Array:
    """σ_s²/σ_e² at full depth over that at every depth."""
    signal_to_noise = []
    for at in range(len(tables[0])):
        system, residual = _components([each[at] for each in tables])
        signal_to_noise.append(system / residual if system > 0 and residual > 0 else np.nan)
    ratios = np.array(signal_to_noise)
    return np.asarray(ratios[-1] / ratios)


def _weights(tables: Sequence[Array]) -> Array:
    weights = np.array([len(table) - 1 for table in tables], float)
    return np.asarray(weights / weights.sum())  # S14 Eq. 8


def _components(tables: Sequence[Array]) -> tuple[float, float]:
    """σ_s² and σ_e², pooled over collections."""
    system, residual = 0.0, 0.0
    for weight, table in zip(_weights(tables), tables, strict=True):
        part = squares(table)
        system += weight * float(part.between_systems - part.residual) / len(table)
        residual += weight * float(part.residual)
    return system, residual


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


def _pool_depths(depths: Sequence[int] | None, named: Mapping[str, Collection]) -> tuple[int, ...]:
    """Ascending, the judgments' own depth last; by default 5, 10, 20, …"""
    deepest = min(collection.pool_depth for collection in named.values())
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

    def scores(self) -> list[list[PoolScores]]:
        """For every depth and measure, the scores of all systems."""
        rescorer = Rescorer(self.collection, self.measures, len(self.depths))
        buffers, everybody = rescorer.buffers(), np.arange(len(self.collection.systems))
        found = []
        for at in range(len(self.depths)):
            kept = self.kept(at)
            relevant = kept[rescorer.relevant_only.origin].astype(np.uint8)
            scores = buffers.score(relevant, everybody, lambda kept=kept: kept)  # type: ignore[misc]
            alive = buffers.alive(relevant, lambda kept=kept: kept)  # type: ignore[misc]
            found.append([PoolScores(*each) for each in zip(scores, alive, strict=True)])
        return found

    def judged(self, at: int) -> int:
        return int(self.kept(at).sum())

    @cached_property
    def pooled(self) -> Array:
        """Documents that some run has among its first few, at every depth."""
        return pool_sizes(self.collection, self.depths)


def pool_sizes(collection: Collection, depths: Sequence[int]) -> Array:
    """How many (topic, document) pairs are among the first d of some run, for every d, judged or not."""
    edges, documents = collection.arrays["list_edges"], collection.list_documents
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
    measure: str, depth: int, at: int, parts: Sequence[_Part], tables: Sequence[Array], estimate: str, confidence: float
) -> DepthVariance:
    for table in tables:
        if len(table) < 2:
            raise RequestError(
                f"at depth {depth} fewer than two topics have a relevant document left", fix="Ask for deeper pools."
            )
    variance, lower, upper = _estimate(tables, estimate, confidence)
    system, residual = _components(tables)
    topics, judged = sum(len(part.collection.topics) for part in parts), sum(part.judged(at) for part in parts)
    inside = sum(int((part.collection.judged & (part.collection.entry <= depth)).sum()) for part in parts)
    return DepthVariance(
        measure=measure,
        depth=depth,
        full=len(parts) == 1 and at == len(parts[0].depths) - 1,
        judged=judged / topics,
        coverage=inside / max(1, sum(int(part.pooled[at]) for part in parts)),
        lost=topics - sum(map(len, tables)),
        variance=variance,
        lower=lower,
        upper=upper,
        system_variance=system,
        residual=residual,
        difference=_difference(tables),
    )


def _estimate(tables: Sequence[Array], estimate: str, confidence: float) -> tuple[float, float, float]:
    """The variance and the ends of its interval: χ² with degrees of freedom from the jackknife over topics."""
    from scipy import special

    method, weights = ESTIMATES[estimate], _weights(tables)
    values = np.array([float(method(squares(table))) for table in tables])
    value = float(weights @ values)  # S14 Eq. 8
    if not value > 0:
        return value, value, value
    normal = [(table.shape[1] - (estimate == "residual")) * (len(table) - 1) for table in tables]
    df = [
        jackknife_df(mine, np.asarray(method(leave_one_out_squares(table))), most=most)
        for mine, table, most in zip(values.tolist(), tables, normal, strict=True)
    ]
    pooled = value**2 / float(np.sum((weights * values) ** 2 / df))  # Satterthwaite
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    lower, upper = (pooled * value / special.chdtri(pooled, tails)).tolist()  # chdtri inverts the upper tail
    return value, lower, upper


def _difference(tables: Sequence[Array]) -> float:
    """The mean difference of two systems; nan where there are more."""
    (first, *others) = tables
    return float((first[:, 0] - first[:, 1]).mean()) if not others and first.shape[1] == 2 else float("nan")


def write_pools(collection: Collection, folder: str | Path, depths: Sequence[int]) -> list[Path]:
    """Write one qrels file per depth, ``depth-D.txt``: the judgments of what some run has among its first D."""
    for depth in depths:
        collection.check_depth(depth)
    home = make_folder(folder)
    written = []
    for depth in depths:
        path = home / f"depth-{depth}.txt"
        collection.pool(depth).write_qrels(path)
        written.append(path)
    return written
