"""A simulator of new topics for the systems of a score table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.errors import InputError, RequestError, there_are
from cranfield.methods.names import DEPENDENCE_TITLES, MARGINS_TITLES
from cranfield.methods.simulation.dependence import (
    GaussianCopula,
    RowCopula,
    VineCopula,
    fit_gaussian,
    fit_rows,
    fit_vine,
)
from cranfield.methods.simulation.kernels import scores_of
from cranfield.methods.simulation.marginals import Marginal, Support, fit_margin, move, support_of
from cranfield.runtime.random import generator
from cranfield.runtime.threads import tasks
from cranfield.scores import ScoreTable, check_balance
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False)
class MarginTable:
    """Many margins in flat arrays, as the kernel reads them."""

    starts: Array
    guide: Array
    z: Array
    value_starts: Array
    values: Array
    steps: Array

    @classmethod
    def of(cls, margins: Sequence[Marginal]) -> MarginTable:
        knots = [len(margin.z) for margin in margins]
        sizes = [len(margin.values) for margin in margins]
        starts = np.concatenate([[0], np.cumsum(knots)])
        marks = np.arange(-64, 65) / 16
        guide = [start + np.searchsorted(margin.z, marks) for start, margin in zip(starts[:-1], margins, strict=True)]
        return cls(
            starts,
            np.concatenate(guide).astype(np.int32),
            np.concatenate([margin.z for margin in margins]),
            np.concatenate([[0], np.cumsum(sizes)])[:-1],
            np.concatenate([margin.values for margin in margins]),
            np.array([margin.steps for margin in margins]),
        )

    def scores(self, normals: Array, pick: Array | None = None, *, workers: int | None = None) -> Array:
        """Scores of rows × columns of normals; ``pick`` (period × columns) names margins, column by column if None."""
        rows, columns = normals.shape
        chosen = np.arange(columns)[np.newaxis] if pick is None else pick
        out = np.empty(rows * columns)
        scores_of(
            rows,
            columns,
            len(chosen),
            np.ascontiguousarray(normals).ravel(),
            np.ascontiguousarray(chosen).ravel(),
            self.starts,
            self.guide,
            self.z,
            self.value_starts,
            self.values,
            self.steps,
            out,
            work=10 * out.size,
            workers=workers,
        )
        return out.reshape(rows, columns)


Means = Sequence[float] | Mapping[str, float]

_BLOCK = 500_000  # scores at a time, so that memory does not grow with the topics but for the answer
FEWEST_TOPICS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulator:
    """Marginal distributions and dependence of all columns, one per system and measure (and shard, if there are any).

    ``pilot`` has the scores they were fitted to, topics × columns; columns go by measure, then system, then shard.
    ``is_moved`` says whether true means were set rather than fitted.
    """

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    shards: tuple[str, ...]
    supports: tuple[Support, ...]
    margins: tuple[Marginal, ...]
    copula: RowCopula | GaussianCopula | VineCopula
    dependence: str
    family: str
    pilot: Array
    seed: int
    is_moved: bool = False

    @property
    def topics(self) -> int:
        return len(self.pilot)

    @property
    def replicates(self) -> int:
        """Columns a system has under one measure."""
        return max(1, len(self.shards))

    def columns(self, measure: int, system: int) -> range:
        """Where the columns of a system under a measure are."""
        start = (measure * len(self.systems) + system) * self.replicates
        return range(start, start + self.replicates)

    def mean(self, measure: int, system: int) -> float:
        """The true mean of a system."""
        return float(np.mean([self.margins[at].mean for at in self.columns(measure, system)]))

    @cached_property
    def table(self) -> MarginTable:
        return MarginTable.of(self.margins)

    def with_means(self, means: Means, *, measure: str | None = None) -> Simulator:
        """The same systems with other true means: a list in the order of ``systems``, or some by name."""
        at = 0 if measure is None and len(self.measures) == 1 else self._measure(measure)
        wanted = self._by_name(means)
        margins = list(self.margins)
        for system, value in wanted.items():
            mine = self.columns(at, system)
            for place, margin in zip(mine, move([self.margins[column] for column in mine], value), strict=True):
                margins[place] = margin
        return replace(self, margins=tuple(margins), is_moved=True)

    def _measure(self, measure: str | None) -> int:
        if measure not in self.measures:
            raise RequestError("name the measure whose means are set", fix=f"One of: {', '.join(self.measures)}.")
        return self.measures.index(measure)

    def _by_name(self, means: Means) -> dict[int, float]:
        if isinstance(means, Mapping):
            place = {name: at for at, name in enumerate(self.systems)}
            unknown = [name for name in means if name not in place]
            if unknown:
                raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(self.systems))
            return {place[name]: _mean(value) for name, value in means.items()}
        if not isinstance(means, Sequence | np.ndarray) or np.ndim(means) != 1:
            raise RequestError(f"means cannot be a {type(means).__name__}", fix="Give a list of numbers, or name=mean.")
        if len(means) != len(self.systems):
            raise RequestError(
                f"{len(means)} means do not fit {len(self.systems)} systems", fix="Give one for each, or name=mean."
            )
        return dict(enumerate(map(_mean, means)))

    def equal(self) -> Simulator:
        """All systems equally good, under every measure: their true means are the mean of all."""
        return self.gap(0.0)

    def gap(self, gap: float) -> Simulator:
        """The best system ``gap`` above all others, which are equally good."""
        found = self
        for at, measure in enumerate(self.measures):
            now = np.array([self.mean(at, system) for system in range(len(self.systems))])
            wanted = np.full(len(now), now.mean())
            wanted[int(np.argmax(now))] += gap
            found = found.with_means(wanted.tolist(), measure=measure)
        return found

    def draw(self, topics: int, *, seed: int | None = None, progress: Progress | None = None) -> ScoreTable:
        """Simulate a table of ``topics`` new topics; the first n of them do not depend on the total number."""
        if topics < 1:
            raise RequestError(f"{topics} topics cannot be drawn", fix="Ask for one or more.")
        step = max(1, _BLOCK // len(self.margins))
        blocks = [(self.seed if seed is None else seed, at, min(step, topics - at)) for at in range(0, topics, step)]
        scores = np.concatenate(tasks(_draw_block, blocks, shared=self, progress=progress))
        shape = (topics, len(self.measures), len(self.systems), self.replicates)
        names = tuple(f"new{at + 1}" for at in range(topics))
        return ScoreTable(self.measures, names, self.systems, np.moveaxis(scores.reshape(shape), 0, 1), self.shards)


def _draw_block(simulator: Simulator, block: tuple[int, int, int]) -> Array:
    """Some topics, topics × columns, from a stream of their own."""
    seed, first, count = block
    normals = generator(seed, "simulate", "topics", first).standard_normal((count, simulator.copula.inputs))
    return simulator.table.scores(simulator.copula.join(normals))


def fit_simulator(
    table: ScoreTable,
    *,
    margins: str = "auto",
    dependence: str = "rows",
    trees: int = 2,
    truncate: bool = False,
    seed: int = 1,
) -> Simulator:
    """Fit marginal distributions and dependence to a score table, for all its measures (and shards) together.

    Parameters
    ----------
    margins
        ``auto`` (the likeliest for each system), ``beta``, ``normal``, ``kernel`` or ``empirical``.
    dependence
        ``rows``: topics of the table drawn with replacement, with a little noise, so that differences of systems have
        the spread, skew and tails of the table's. ``gaussian``: a Gaussian copula with exactly the scores'
        correlations, whose differences have lighter tails. ``vine``: a C-vine, whose pairs may be
        closer at the low end (Clayton), at the high end (survival Clayton), in the middle (Frank) or evenly (Gaussian).
    trees
        How many trees of a vine choose families; higher ones are Gaussian, or independent with ``truncate``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.round(rng.beta(2, 3, (40, 1)) * rng.uniform(0.6, 1, (40, 3)), 1)
    >>> pilot = ScoreTable(("P@10",), tuple(map(str, range(40))), ("a", "b", "c"), scores[None, :, :, None])
    >>> drawn = fit_simulator(pilot).equal().draw(20_000)
    >>> {name: round(mean, 1) for name, mean in drawn.mean().items()}
    {'a': 0.3, 'b': 0.3, 'c': 0.3}
    >>> {float(score) for score in drawn.of().ravel()} <= {tenths / 10 for tenths in range(11)}
    True
    """
    if dependence not in DEPENDENCE_TITLES:
        known = ", ".join(DEPENDENCE_TITLES)
        raise RequestError(f"there is no dependence «{dependence}»", fix=f"Choose one of: {known}.")
    if margins not in MARGINS_TITLES:
        raise RequestError(f"there is no margin «{margins}»", fix=f"Choose one of: {', '.join(MARGINS_TITLES)}.")
    _check(table)
    count = len(table.systems) * max(1, len(table.shards))
    pilot = np.moveaxis(table.values, 1, 0).reshape(len(table.topics), -1).copy()
    supports: list[Support] = []
    fitted: list[Marginal] = []
    for at, measure in enumerate(table.measures):
        mine = pilot[:, at * count : (at + 1) * count]
        support = support_of(measure, mine)
        mine[:] = support.snap(mine)
        supports.append(support)
        fitted += [fit_margin(mine[:, column], support, family=margins) for column in range(count)]
    copula = _fit_dependence(fitted, pilot, dependence, trees=trees, truncate=truncate, seed=seed)
    return Simulator(
        measures=table.measures,
        systems=table.systems,
        shards=table.shards,
        supports=tuple(supports),
        margins=tuple(fitted),
        copula=copula,
        dependence=dependence,
        family=margins,
        pilot=pilot,
        seed=seed,
    )


def _fit_dependence(
    margins: Sequence[Marginal], pilot: Array, dependence: str, *, trees: int, truncate: bool, seed: int
) -> RowCopula | GaussianCopula | VineCopula:
    rng = generator(seed, "simulate", "fit")
    if dependence == "rows":
        return fit_rows(pilot, rng=rng)
    if dependence == "gaussian" or len(margins) == 1:
        return fit_gaussian(margins, pilot)
    return fit_vine(margins, pilot, trees=trees, rng=rng, truncate=truncate)


def _check(table: ScoreTable) -> None:
    check_balance(table)
    if len(table.topics) < FEWEST_TOPICS:
        raise InputError(
            f"at least {FEWEST_TOPICS} topics are needed to simulate new ones, and there are {len(table.topics)}",
            fix="Give scores of more topics; 50 are usual.",
        )


def _mean(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise RequestError(f"a mean cannot be a {type(value).__name__}", fix="Give numbers.") from None
