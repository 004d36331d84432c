"""Verification of a design: simulate collections and run the test on each, until the result is certain enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design import METHODS, Goal, Judged, Sd, achieved
from cranfield.methods.design.formulas import SHARED
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.methods.simulation.simulator import fit_simulator
from cranfield.methods.verification.batch_tests import (
    RESIDUAL,
    SAMPLING,
    TITLES,
    WITHIN,
    BatchTest,
    LabelledScores,
    Sums,
    make_test,
)
from cranfield.methods.verification.designs import PlannedDesign
from cranfield.methods.verification.populations import (
    JudgedNormalWorld,
    JudgedPilotWorld,
    JudgedWorld,
    NormalWorld,
    PilotWorld,
    ReplicateWorld,
    World,
    best_and_worst,
)
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.runtime.threads import tasks
from cranfield.scores import ScoreTable
from cranfield.stats.pairs import pair_count
from cranfield.stats.tails import anytime_interval, wilson_interval
from cranfield.types import Array, Progress

BATCH = 250  # collections a task draws, whoever runs it
_FIRST = 4  # batches before the first look; each round from there is half as long as all before it
_SCORES = 1_000_000  # scores of a batch at a time
MOST_TOPICS = 100_000
MOST_COLLECTIONS, LEAST_COLLECTIONS = 20_000, 400  # bounds of the default number
DEFAULT_WORK = 60_000_000_000  # multiplications: about half a minute on two cores
_TASK_WORK = 2_000_000_000  # the same of one task, so that progress is seen to move
MOST_WORK = 20 * DEFAULT_WORK  # about ten minutes
MOST_PRODUCTS = 10_000_000  # systems × systems of one collection, which are kept while topics are added
_EXPECTED_LOOKS = 24  # numbers of topics that a search usually tries
ENOUGH, SHORT, UNDECIDED = "enough", "short", "undecided"


# --- tasks


@dataclass(frozen=True, eq=False)
class BatchTask:
    """Everything a batch needs but its number: it can be done anywhere, and comes out the same.

    ``looks`` are numbers of topics at which the test is run; with a judge, of those with human labels among
    ``judged_topics`` or more. With ``power_only`` equal systems are left out.
    """

    world: World | JudgedWorld
    test: BatchTest
    looks: tuple[int, ...]
    seed: Seed
    power_only: bool = False
    collections: int = BATCH
    judged_topics: int = 0
    difference: float = 0.0

    @property
    def work(self) -> int:
        """Multiplications for one collection under both truths: counted, so that it is the same on any machine."""
        if isinstance(self.world, JudgedWorld):  # a resample of two label sets costs about twice as much
            resamples, pairs = max(self.test.resamples, 1), pair_count(self.world.systems)
            return 4 * max(self.judged_topics, self.looks[-1]) * pairs * resamples
        return 2 * self.looks[-1] * max(self.world.columns, self.products)

    @property
    def products(self) -> int:
        """Numbers that one collection adds to with every topic."""
        return self.world.systems**2 if isinstance(self.world, JudgedWorld) else self.test.work_per_topic()


@dataclass(frozen=True, eq=False)
class Counts:
    """How many collections found it, found anything, found it reversed: looks × truths (differing, equal) × 3.

    ``variances`` are sums over collections that differ: within systems, and residual.
    """

    collections: int
    verdicts: Array
    variances: Array

    @classmethod
    def together(cls, parts: Sequence[Counts]) -> Counts:
        """Those of several batches."""
        verdicts, variances = (
            np.sum([getattr(each, name) for each in parts], axis=0) for name in ("verdicts", "variances")
        )
        return cls(sum(part.collections for part in parts), verdicts, variances)

    def power(self, look: int, confidence: float) -> CollectionRate:
        """The share that found it at a look."""
        return CollectionRate(int(self.verdicts[look, 0, 0]), self.collections, confidence)


def run_batch(task: BatchTask, batch: int) -> Counts:
    """One batch of collections, from streams of its own."""
    verdicts, sums = np.zeros((len(task.looks), 2, 3), np.int64), Sums()
    draw = _draw_judged if isinstance(task.world, JudgedWorld) else _draw
    for at, tallies in enumerate(draw(task, batch, sums)):
        for truth, tally in enumerate(tallies[:1] if task.power_only else tallies):
            found = task.test.decide(tally, sequence(task.seed, "test", batch))
            verdicts[at, truth] = [each.sum() for each in (found.found, found.anything, found.reversed)]
    # A mean square of shards is that of their sum over √S; scores speak of their mean.
    variances = np.array([sums.mean_square(names)[0].sum() / sums.shape[1] for names in (WITHIN, RESIDUAL)])
    return Counts(task.collections, verdicts, variances)


def _draw(task: BatchTask, batch: int, sums: Sums) -> Iterator[Sequence[Any]]:
    """The tallies at every look, of systems that differ and of equal ones; ``sums`` gets those that differ.

    Topics are drawn in order, so that the first n are the same whatever the last look is: designs of different n are
    compared on the same random numbers.
    """
    world: Any = task.world
    cast = world.cast(generator(task.seed, "systems", batch), task.collections)
    rng = generator(task.seed, "topics", batch)
    own: Any = task.test.tally()
    differing, equal = (sums if isinstance(own, Sums) else own), task.test.tally()
    step, done = max(1, _SCORES // (task.collections * world.columns)), 0
    for look in task.looks:
        while done < look:
            count = min(step, look - done)
            scores = world.scores(rng, cast, count)
            differing.add(scores[0])
            if differing is not sums:
                sums.add(scores[0])
            if not task.power_only:
                equal.add(scores[1])
            done += count
        yield differing, equal


def _draw_judged(task: BatchTask, batch: int, sums: Sums) -> Iterator[Sequence[Any]]:
    """The same of collections with two label sets."""
    world: Any = task.world
    streams = [generator(task.seed, word, batch) for word in ("systems", "judge", "topics")]
    cast, most = world.cast(streams[0], task.collections), task.looks[-1]
    equal, judge = world.scores(streams[1], streams[2], cast, most, max(most, task.judged_topics))
    differing = equal + best_and_worst(world.systems, task.difference)
    sums.add(differing[..., np.newaxis])
    for n in task.looks:
        among = judge[: max(n, task.judged_topics)]
        yield [LabelledScores(human[:n], among) for human in (differing, equal)]


# --- results


@dataclass(frozen=True)
class CollectionRate:
    """A share of collections, with Wilson's interval and one that holds whenever one stops."""

    count: int
    collections: int
    confidence: float

    @property
    def rate(self) -> float:
        return self.count / self.collections

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.count, self.collections, confidence=self.confidence)

    @property
    def anytime(self) -> tuple[float, float]:
        return anytime_interval(self.count, self.collections, confidence=self.confidence)


@dataclass(frozen=True)
class Look:
    """The power with a number of topics."""

    topics: int
    power: CollectionRate

    def to_dict(self) -> dict[str, Any]:
        lower, upper = self.power.interval
        return {"topics": self.topics, "achieved_power": self.power.rate, "lower": lower, "upper": upper}


@dataclass(frozen=True, kw_only=True, eq=False)
class Verification:
    """The result of verifying a design.

    ``power`` is the share of collections in which an F test rejects, or a test of pairs finds the best system
    significantly better than the worst. ``error`` is the family-wise error rate: the share, when all systems are equal,
    in which any pair is significant. ``reversed`` is the share in which the worst is significantly better. ``verdict``
    is ``enough``, ``short`` or ``undecided``, and wrong with a probability of at most 1 − ``confidence``.
    ``topics_needed`` is the smallest number of topics seen to reach the power, between ``needed_lower`` and
    ``needed_upper``. ``left_out`` are systems of the pilot whose scores cannot be given the means in question; the
    formula gives ``own_power`` for the variance of the others (nan where there is no formula).
    """

    design: PlannedDesign
    world: str
    power: CollectionRate
    anything: CollectionRate
    error: CollectionRate
    reversed: CollectionRate
    verdict: str
    tolerance: float
    confidence: float
    simulated_variance: float
    residual_variance: float
    topics_needed: int | None
    needed_lower: int | None
    needed_upper: int | None
    curve: tuple[Look, ...]
    left_out: tuple[str, ...]
    own_power: float
    most_collections: int
    seed: int

    @property
    def collections(self) -> int:
        return self.power.collections

    def to_dict(self) -> dict[str, Any]:
        """The row of JSON."""
        row = self.design.to_dict() | {"world": self.world, "collections": self.collections}
        rates = {"achieved_power": self.power, "anything": self.anything, "error_rate": self.error}
        for name, rate in {**rates, "reversed": self.reversed}.items():
            prefix = "" if name == "achieved_power" else f"{name}_"
            row |= {name: rate.rate, f"{prefix}lower": rate.interval[0], f"{prefix}upper": rate.interval[1]}
        anytime = self.power.anytime
        return row | {
            "anytime_lower": anytime[0],
            "anytime_upper": anytime[1],
            "verdict": self.verdict,
            "tolerance": self.tolerance,
            "simulated_variance": self.simulated_variance,
            "residual_variance": self.residual_variance,
            "topics_needed": self.topics_needed,
            "topics_needed_lower": self.needed_lower,
            "topics_needed_upper": self.needed_upper,
            "left_out": len(self.left_out),
            "seed": self.seed,
        }


# --- running


def verify(
    design: PlannedDesign,
    pilot: ScoreTable | JudgedScores | None = None,
    *,
    collections: int | None = None,
    tolerance: float = 0.02,
    confidence: float = 0.95,
    search: bool = True,
    margins: str | None = None,
    dependence: str | None = None,
    resamples: int | None = None,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Simulate collections of a design, run its test on each, and count the significant results.

    Parameters
    ----------
    pilot
        Scores from which collections are simulated; by default scores are normal with the variance of the design. For
        a design with a judge, scores under both label sets; under human labels alone, those of the judge are simulated.
    margins, dependence
        How the scores of the pilot are simulated, as in ``fit_simulator``: by default ``auto`` and ``rows``.
    resamples
        Permutations or resamples of the tests that draw some (``RESAMPLES`` has the defaults).
    collections
        The largest number to simulate; by default 20,000, and fewer (``default_collections``) where the test of each
        costs much. The simulation stops earlier if an anytime-valid interval (``anytime_interval``)
        lies above ``design.power − tolerance`` or below ``design.power``.
    search
        Also find the smallest number of topics that reaches the power, on the same random numbers.
    workers
        Number of threads; the result does not depend on it.

    >>> from cranfield.methods.design.request import Request
    >>> from cranfield.methods.verification import planned_designs
    >>> design = planned_designs(Request(difference=[0.05], sd=[0.15]))[0]
    >>> found = verify(design, collections=2000, search=False)
    >>> found.design.topics, abs(found.power.rate - 0.8) < 0.03, abs(found.error.rate - 0.05) < 0.02
    (73, True, True)
    """
    _check(design, collections, tolerance, confidence)
    if progress is not None:
        progress(0, 1)  # fitting the pilot is not counted
    task, left_out = _task(design, pilot, margins, dependence, resamples, seed)
    _check_work(task, design)
    task = replace(task, collections=_collections_per_task(task.work))
    most = default_collections(task.work) if collections is None else collections
    planned = math.ceil(most / task.collections) * task.collections
    searched = _search_collections(task, most) * _EXPECTED_LOOKS // 2 if search else 0
    run = _Run(task, confidence, workers, progress, planned + searched)
    counts, verdict = run.rounds(design.power, most, tolerance)
    curve: tuple[Look, ...] = ()
    if search:
        run.skip_to(planned)
        curve = run.search(design, _search_collections(task, counts.collections) // task.collections)
    run.skip_to(run.total)
    needed, lower, upper = (_first(curve, design.power, side) for side in ("rate", "upper", "lower"))
    rates = [
        [CollectionRate(int(count), counts.collections, confidence) for count in arm] for arm in counts.verdicts[0]
    ]
    within, residual = counts.variances / counts.collections
    return Verification(
        design=design,
        world=task.world.title,
        power=rates[0][0],
        anything=rates[0][1],
        error=rates[1][1],
        reversed=rates[0][2],
        verdict=verdict,
        tolerance=tolerance,
        confidence=confidence,
        simulated_variance=float(within),
        residual_variance=float(residual),
        topics_needed=needed,
        needed_lower=lower,
        needed_upper=upper,
        curve=curve,
        left_out=left_out,
        own_power=_power_of(design, float(residual)),
        most_collections=most,
        seed=seed,
    )


def _power_of(design: PlannedDesign, residual: float) -> float:
    """The power that the formula gives for another residual variance; nan where there is no formula."""
    method = METHODS[design.goal].get(design.method)
    if method is None or method.design != SHARED or not residual > 0:
        return float("nan")
    planned = replace(design, test=design.method, spread=Sd.of_variance(residual))
    return float(achieved(planned, Goal(design.goal, design.difference)))


def _task(
    design: PlannedDesign,
    pilot: ScoreTable | JudgedScores | None,
    margins: str | None,
    dependence: str | None,
    resamples: int | None,
    seed: int,
) -> tuple[BatchTask, tuple[str, ...]]:
    """What is simulated, at the topics of the design, and the pilot's systems that cannot take part."""
    # Measures have collections of their own; designs for one measure are tried on the same ones.
    stream = sequence(seed, "verify", design.measure)
    world: World | JudgedWorld
    left_out: tuple[str, ...] = ()
    if design.judged_topics:
        _check_judged(design, margins, dependence, resamples)
        world = _judged_world(design, pilot)
    elif isinstance(pilot, JudgedScores):
        raise RequestError("this design has no judge", fix="Give its `judged_topics` and `judge_correlation`.")
    else:
        world, left_out = make_world(design, pilot, margins=margins, dependence=dependence, seed=seed)
    test = make_test(design.test, alpha=design.alpha, systems=design.systems, sides=design.sides, resamples=resamples)
    task = BatchTask(world, test, (design.topics,), stream)
    return replace(task, judged_topics=design.judged_topics or 0, difference=design.difference), left_out


def make_world(
    design: PlannedDesign,
    pilot: ScoreTable | None,
    *,
    margins: str | None = None,
    dependence: str | None = None,
    seed: int = 1,
) -> tuple[World, tuple[str, ...]]:
    """Normal scores without a pilot, topics like its own with one; and the pilot's systems that cannot take part."""
    if design.replicates is not None:
        if pilot is not None or margins is not None or dependence is not None:
            raise RequestError(
                "a design with replicates is simulated from its components",
                fix="Leave out the scores, `margins` and `dependence`.",
            )
        return ReplicateWorld(design.systems, design.difference, design.replicates), ()
    if pilot is not None:
        if max(1, len(pilot.shards)) != design.shards:
            raise RequestError(
                f"the design has {design.shards} shards and the pilot {max(1, len(pilot.shards))}",
                fix="Give a pilot with a column «shard» for the models MD2 to MD6, and one without for other tests.",
            )
        simulator = fit_simulator(pilot, margins=margins or "auto", dependence=dependence or "rows", seed=seed)
        return PilotWorld.of(simulator, design.systems, design.difference)
    if margins is not None or dependence is not None:
        raise RequestError(
            "`margins` and `dependence` describe the scores of a pilot, and there is none",
            fix="Leave them out, or give pilot scores.",
        )
    if design.shards > 1 or design.source == "shards":
        raise RequestError("a design with shards needs a pilot with shards", fix="Give scores with a column «shard».")
    if not design.variance > 0:
        raise RequestError("the variance is missing", fix="Add `variance` or `sd`, or give pilot scores.")
    return NormalWorld(design.systems, design.difference, math.sqrt(design.variance)), ()


def _check_judged(design: PlannedDesign, margins: str | None, dependence: str | None, resamples: int | None) -> None:
    if margins is not None or dependence is not None:
        raise NoEffectError(
            "`margins` and `dependence` have no effect on a design with a judge",
            parameter="dependence" if margins is None else "margins",
            fix="Leave them out: topics of a pilot are drawn as they are.",
        )
    Judged(sd=1.0, judge_correlation=0.0, judged_topics=design.judged_topics).check_test(design.test)
    if resamples is not None and design.test != "max-t":
        raise RequestError(f"{TITLES[design.test]} draws no resamples", fix="Leave out `resamples`.")
    if design.topics > design.judged_topics or design.topics < Judged.fewest:
        raise RequestError(
            f"{design.topics} topics labelled by people among {design.judged_topics} labelled by the model are no "
            "design",
            fix=f"Have {Judged.fewest} topics or more labelled by people, and at least as many by the model.",
        )


def _judged_world(design: PlannedDesign, pilot: ScoreTable | JudgedScores | None) -> JudgedWorld:
    if pilot is not None:
        scores = pilot.of(pilot.measures[0]) if isinstance(pilot, ScoreTable) else pilot
        return JudgedPilotWorld.of(scores, design.systems, design.judge_correlation)
    sd = math.sqrt(design.variance)
    return JudgedNormalWorld(systems=design.systems, sd=sd, correlation=design.judge_correlation)


def default_collections(work: int) -> int:
    """How many collections to draw by default: as many as `DEFAULT_WORK` allows, within bounds.

    >>> default_collections(10**6), default_collections(10**7), default_collections(10**9)
    (20000, 6000, 400)
    """
    return max(LEAST_COLLECTIONS, min(MOST_COLLECTIONS, DEFAULT_WORK // max(work, 1)))


def _check_work(task: BatchTask, design: PlannedDesign) -> None:
    """Refuse a design of which even the fewest collections take too long, or too much memory."""
    work = LEAST_COLLECTIONS * task.work
    if work <= MOST_WORK and task.products <= MOST_PRODUCTS:
        return
    raise RequestError(
        f"simulating {LEAST_COLLECTIONS} collections of {design.topics:,} topics and {design.systems:,} systems takes "
        f"{work:.2g} multiplications and keeps {task.products:,} products of systems; {MOST_WORK:.2g} and "
        f"{MOST_PRODUCTS:,} are the most",
        fix="Verify the design with fewer `systems` or `topics`.",
    )


def _collections_per_task(work: int) -> int:
    """As many as `_TASK_WORK` allows, and a divisor of `BATCH`."""
    return next((size for size in (BATCH, 125, 50, 25) if size * work <= _TASK_WORK), 10)


def _search_collections(task: BatchTask, simulated: int) -> int:
    """Collections for each number of topics of the search: those of whole tasks, with at most `DEFAULT_WORK` in all."""
    allowed = max(LEAST_COLLECTIONS // 4, DEFAULT_WORK // (max(task.work, 1) * _EXPECTED_LOOKS // 2))
    return max(task.collections, min(simulated, 8 * BATCH, allowed) // task.collections * task.collections)


def _check(design: PlannedDesign, collections: int | None, tolerance: float, confidence: float) -> None:
    if design.topics < 2 or design.systems < 2:
        raise RequestError("a design has two topics and two systems or more", fix="Name them: `topics`, `systems`.")
    if design.test in SAMPLING and design.shards < 2 and design.replicates is None:
        raise RequestError(f"{TITLES[design.test]} needs replicates", fix="Give a design that has them.")
    if not design.difference > 0:
        raise RequestError("the difference to detect is missing", fix="Name it: `min_range` or `difference`.")
    if not (0 < design.alpha < 1 and design.alpha < design.power < 1):
        raise RequestError("α and power are probabilities, power the larger", fix="0.05 and 0.8 are usual.")
    if collections is not None and collections < BATCH:
        raise RequestError(f"{collections} collections are too few", fix=f"Draw {BATCH} or more; 10,000 are usual.")
    if not 0 < tolerance < 1 or not 0.5 <= confidence < 1:
        raise RequestError("tolerance and confidence are shares", fix="0.02 and 0.95 are usual.")


class _Run:
    """Batches of one task, and how many collections are done of all that are expected, which never falls."""

    def __init__(
        self, task: BatchTask, confidence: float, workers: int | None, progress: Progress | None, total: int
    ) -> None:
        self.task, self.confidence, self.workers = task, confidence, workers
        self.progress, self.total, self.done = progress, total, 0

    def skip_to(self, done: int) -> None:
        self.done = max(self.done, done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def _batches(self, task: BatchTask, numbers: range, size: float) -> list[Counts]:
        """Some batches, each worth as many collections; if there are more than expected, a little stays to do."""

        def step(*_: int) -> None:
            self.skip_to(min(self.done + max(1, int(size)), self.total - 1))

        return [*tasks(run_batch, numbers, shared=task, workers=self.workers, progress=step)]

    def rounds(self, power: float, collections: int, tolerance: float) -> tuple[Counts, str]:
        """Rounds of batches until they decide; which batches a round has depends on nothing but its number."""
        size = self.task.collections
        most, first_round = math.ceil(collections / size), _FIRST * BATCH // size
        parts: list[Counts] = []
        verdict = UNDECIDED
        while len(parts) < most and verdict == UNDECIDED:
            until = min(max(first_round, len(parts) + max(first_round, len(parts) // 2)), most)
            parts += self._batches(self.task, range(len(parts), until), size)
            counts = Counts.together(parts)
            lower, upper = counts.power(0, self.confidence).anytime
            verdict = ENOUGH if lower >= power - tolerance else SHORT if upper < power else UNDECIDED
        return counts, verdict

    def search(self, design: PlannedDesign, batches: int) -> tuple[Look, ...]:
        """Power against topics around the target: first apart, then ever closer, on the same collections grown."""
        seen: dict[int, CollectionRate] = {}

        def look(topics: Iterable[int]) -> None:
            new = tuple(sorted(set(topics) - set(seen)))
            if new:
                size = self.task.collections * len(new) / 2  # one truth of two
                searched = replace(self.task, looks=new, power_only=True)
                counts = Counts.together(self._batches(searched, range(batches), size))
                seen.update({n: counts.power(at, self.confidence) for at, n in enumerate(new)})

        look(_between(max(2, design.topics // 8), design.topics, 9))
        highest = design.topics
        while highest < MOST_TOPICS and (last := seen[highest]).interval[0] < design.power:
            # Far in great steps, and past the target in small ones, until there is no doubt.
            further = max(highest + 1, int(highest * (2 if last.rate < design.power else 1.15)))
            lowest, highest = highest, min(further, MOST_TOPICS)
            look(_between(lowest, highest, 3))
        while (gap := _bracket(seen, design.power)) is not None and gap[1] - gap[0] > 1:
            look(_between(*gap, 8))
        return tuple(Look(n, seen[n]) for n in sorted(seen))


def _between(low: int, high: int, count: int) -> list[int]:
    return sorted({round(n) for n in np.linspace(low, high, count + 2)})


def _bracket(seen: dict[int, CollectionRate], power: float) -> tuple[int, int] | None:
    """Neighbouring looks of which the first misses the power and the second, for the first time, reaches it."""
    order = sorted(seen)
    reached = [n for n in order if seen[n].rate >= power]
    if not reached:
        return None
    before = [n for n in order if n < reached[0]]
    return (before[-1] if before else 1, reached[0])


def _first(curve: Sequence[Look], power: float, side: str) -> int | None:
    """Where the power, or an end of its interval, first reaches the target; between looks along a straight line."""
    values = [look.power.rate if side == "rate" else look.power.interval[0 if side == "lower" else 1] for look in curve]
    for at, value in enumerate(values):
        if value >= power:
            if at == 0 or side == "rate":
                return curve[at].topics
            before = values[at - 1]
            share = (power - before) / (value - before)
            return math.ceil(curve[at - 1].topics + share * (curve[at].topics - curve[at - 1].topics))
    return None
