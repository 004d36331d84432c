"""Verification of a design: simulate collections and run the test on each, until the result is certain enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design.labels import FEWEST, LABEL_TESTS
from cranfield.methods.design.replicates import numbers_in_words
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.methods.simulation.simulator import fit_simulator
from cranfield.methods.verification.batch_tests import (
    RESIDUAL,
    SAMPLING,
    TITLES,
    WITHIN,
    BatchVerdicts,
    Sums,
    Test,
    make_test,
)
from cranfield.methods.verification.designs import Design
from cranfield.methods.verification.judged_batches import JudgedNormalWorld, JudgedPilotWorld, JudgedTest, JudgedWorld
from cranfield.methods.verification.populations import NormalWorld, PilotWorld, ReplicateWorld, World
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.runtime.threads import tasks
from cranfield.scores import ScoreTable
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
    """Everything a batch needs but its number: it can be done anywhere, and comes out the same."""

    world: World
    test: Test
    looks: tuple[int, ...]  # numbers of topics at which the test is run
    seed: Seed
    power_only: bool = False  # equal systems are left out
    collections: int = BATCH

    @property
    def work(self) -> int:
        """Multiplications for one collection under both truths: counted, so that it is the same on any machine."""
        return 2 * self.looks[-1] * max(self.world.columns, self.products)

    @property
    def products(self) -> int:
        """Numbers that one collection adds to with every topic."""
        return self.test.work_per_topic(self.world.systems)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many collections found it, found anything, found it reversed: looks × truths (differing, equal) × 3."""

    collections: int
    verdicts: Array
    variances: Array  # sums over collections, differing: within systems, residual


def run_batch(task: BatchTask, batch: int) -> Counts:
    """One batch of collections, from streams of its own.

    Topics are drawn in order, so that the first n are the same whatever the last look is: designs of different n are
    compared on the same random numbers.
    """
    cast = task.world.cast(generator(task.seed, "systems", batch), task.collections)
    rng = generator(task.seed, "topics", batch)
    test = task.test.for_batch(batch)
    tallies = [test.tally() for _ in range(1 if task.power_only else 2)]
    extra = tallies[0] if isinstance(tallies[0], Sums) else Sums()
    step = max(1, _SCORES // (task.collections * task.world.columns))
    verdicts = np.zeros((len(task.looks), 2, 3), np.int64)
    done = 0
    for at, look in enumerate(task.looks):
        while done < look:
            count = min(step, look - done)
            both = task.world.scores(rng, cast, count)
            for tally, scores in zip(tallies, both, strict=False):
                tally.add(scores)
            if extra is not tallies[0]:
                extra.add(both[0])
            done += count
        for truth, tally in enumerate(tallies):
            verdicts[at, truth] = _counted(test.decide(tally))
    # A mean square of shards is that of their sum over √S; scores speak of their mean.
    variances = np.array([extra.mean_square(names)[0].sum() / extra.shape[1] for names in (WITHIN, RESIDUAL)])
    return Counts(task.collections, verdicts, variances)


@dataclass(frozen=True, eq=False)
class JudgedTask:
    """The same of a design with a judge: ``looks`` are topics with human labels, among ``judged_topics`` or more."""

    world: JudgedWorld
    test: JudgedTest
    difference: float
    judged_topics: int
    looks: tuple[int, ...]
    seed: Seed
    power_only: bool = False
    collections: int = BATCH

    @property
    def work(self) -> int:
        """As that of `BatchTask`; a resample of two label sets costs about twice as much."""
        systems = self.world.systems
        resamples = self.test.resamples if self.test.name == "max-t" else 1
        return 4 * max(self.judged_topics, self.looks[-1]) * systems * (systems - 1) // 2 * resamples

    @property
    def products(self) -> int:
        """Numbers that one collection adds to with every topic."""
        return self.world.systems**2


def run_judged_batch(task: JudgedTask, batch: int) -> Counts:
    """One batch of collections with two label sets, from streams of its own."""
    streams = [generator(task.seed, word, batch) for word in ("systems", "judge", "topics")]
    cast = task.world.cast(streams[0], BATCH)
    most = task.looks[-1]
    equal, judge = task.world.scores(streams[1], streams[2], cast, most, max(most, task.judged_topics))
    shift = np.zeros(cast.shape[1])
    shift[0], shift[1] = task.difference / 2, -task.difference / 2
    differing = equal + shift
    verdicts = np.zeros((len(task.looks), 2, 3), np.int64)
    for at, n in enumerate(task.looks):
        among = judge[: max(n, task.judged_topics)]
        for truth, human in enumerate((differing,) if task.power_only else (differing, equal)):
            found = task.test.decide(human[:n], among, sequence(task.seed, "test", batch))
            verdicts[at, truth] = _counted(found)
    sums = Sums()
    sums.add(differing[..., np.newaxis])
    return Counts(BATCH, verdicts, np.array([sums.mean_square(names)[0].sum() for names in (WITHIN, RESIDUAL)]))


def run_task(task: BatchTask | JudgedTask, batch: int) -> Counts:
    """One batch of either kind."""
    return run_judged_batch(task, batch) if isinstance(task, JudgedTask) else run_batch(task, batch)


def _counted(found: BatchVerdicts) -> list[int]:
    return [int(each.sum()) for each in (found.found, found.anything, found.reversed)]


def _together(parts: Iterable[Counts]) -> Counts:
    all_parts = list(parts)
    return Counts(
        sum(part.collections for part in all_parts),
        np.sum([part.verdicts for part in all_parts], axis=0),
        np.sum([part.variances for part in all_parts], axis=0),
    )


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
    ``needed_upper``. ``left_out`` are systems of the pilot whose scores cannot be given the means in question.
    """

    design: Design
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
    most_collections: int
    seed: int

    @property
    def collections(self) -> int:
        return self.power.collections

    def to_dict(self) -> dict[str, Any]:
        row = self.design.to_dict() | {"world": self.world, "collections": self.collections}
        for name, rate in (
            ("achieved_power", self.power),
            ("anything", self.anything),
            ("error_rate", self.error),
            ("reversed", self.reversed),
        ):
            lower, upper = rate.interval
            prefix = "" if name == "achieved_power" else f"{name}_"
            row |= {name: rate.rate, f"{prefix}lower": lower, f"{prefix}upper": upper}
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

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row, as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame([self.to_dict()], backend)

    def summary(self) -> str:
        """Return the result in sentences."""
        design, (lower, upper) = self.design, self.power.interval
        meant = "" if math.isnan(design.promised_power) else f" (the formula says {design.promised_power:.2f})"
        among, estimator = "", ""
        if design.judged_topics:
            among = f" labelled by people among {design.judged_topics:,} labelled by the model"
            estimator = f"regression estimator, r = {design.judge_correlation:.4g}; "
        numbers = f"{design.topics:,} topics{among}"
        if design.replicates is not None:
            numbers = numbers_in_words(design.replicates.kind, {**design.replicates.numbers, "topics": design.topics})
        text = (
            f"{numbers} were planned for a power of {design.power:g}{meant}; "
            f"{self.collections:,} collections of {self.world} give {self.power.rate:.3f} ± {(upper - lower) / 2:.3f} "
            f"({estimator}{TITLES[design.test]}). "
        )
        within = self.tolerance
        text += {
            ENOUGH: "They are enough" + ("." if lower >= design.power else f" to within {within:g}."),
            SHORT: "They are not enough.",
            UNDECIDED: "This does not decide whether they are enough: simulate more collections, or allow a larger "
            "tolerance.",
        }[self.verdict]
        return text + self._needed_sentence() + self._error_sentence() + self._size_sentence()

    def _size_sentence(self) -> str:
        """What fewer collections than usual mean; empty where the usual number was allowed."""
        if self.most_collections >= MOST_COLLECTIONS:
            return ""
        error = math.sqrt(self.power.rate * (1 - self.power.rate) / self.collections)
        return f" Monte Carlo standard error of the power: {error:.3f} (at most {self.most_collections:,} collections)."

    def _needed_sentence(self) -> str:
        if not self.curve:
            return ""
        if self.topics_needed is None:
            return f" Nor are {self.curve[-1].topics:,}."
        span = _span(self.needed_lower, self.needed_upper)
        if self.verdict == SHORT:
            return f" {self.topics_needed:,} are ({span})."
        if self.needed_upper is not None and self.needed_upper < self.design.topics:
            return f" {self.topics_needed:,} would do ({span})."
        return ""

    def _error_sentence(self) -> str:
        # When drawing stopped depended on what was drawn, so that only this interval bounds a wrong claim.
        low, high = self.error.anytime
        holds = (
            f"in agreement with α = {self.design.alpha:g}"
            if low <= self.design.alpha <= high
            else (
                f"above the nominal α = {self.design.alpha:g}"
                if low > self.design.alpha
                else f"below the nominal α = {self.design.alpha:g}"
            )
        )
        rate = f"{self.error.rate:.3f} [{low:.3f}, {high:.3f}; anytime-valid]"
        return f" Family-wise error rate with equal systems: {rate}, {holds}."


def _span(low: int | None, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return f"between {low:,} and {high:,}"


# --- running


def verify(
    design: Design,
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
    # Measures have collections of their own; designs for one measure are tried on the same ones.
    stream = sequence(seed, "verify", design.measure)
    task: BatchTask | JudgedTask
    left_out: tuple[str, ...] = ()
    if design.judged_topics:
        _check_unsimulated(margins, dependence)
        task = _judged_task(design, pilot, resamples, stream)
    elif isinstance(pilot, JudgedScores):
        raise RequestError("this design has no judge", fix="Give its `judged_topics` and `judge_correlation`.")
    else:
        world, left_out = make_world(design, pilot, margins=margins, dependence=dependence, seed=seed)
        given: dict[str, Any] = {"alpha": design.alpha, "systems": design.systems, "sides": design.sides}
        test = make_test(design.test, **given, resamples=resamples, seed=stream)
        task = BatchTask(world, test, (design.topics,), stream)
    _check_work(task, design)
    task = replace(task, collections=_collections_per_task(task.work))
    most = default_collections(task.work) if collections is None else collections
    reached = _Reached(progress, math.ceil(most / task.collections) * task.collections)
    if search:
        reached.total += _search_collections(task, most) * _EXPECTED_LOOKS // 2
    found, verdict = _rounds(task, design.power, most, tolerance, confidence, workers, reached)
    curve: tuple[Look, ...] = ()
    needed: tuple[int | None, int | None, int | None] = (None, None, None)
    if search:
        reached.skip_to(math.ceil(most / task.collections) * task.collections)
        batches = _search_collections(task, found.collections) // task.collections
        curve, needed = _search(task, design, batches, confidence, workers, reached)
    reached.finish()
    arms = [[CollectionRate(int(count), found.collections, confidence) for count in arm] for arm in found.verdicts[0]]
    within, residual = found.variances / found.collections
    return Verification(
        design=design,
        world=task.world.title,
        power=arms[0][0],
        anything=arms[0][1],
        error=arms[1][1],
        reversed=arms[0][2],
        verdict=verdict,
        tolerance=tolerance,
        confidence=confidence,
        simulated_variance=float(within),
        residual_variance=float(residual),
        topics_needed=needed[0],
        needed_lower=needed[1],
        needed_upper=needed[2],
        curve=curve,
        left_out=left_out,
        most_collections=most,
        seed=seed,
    )


def make_world(
    design: Design,
    pilot: ScoreTable | None,
    *,
    margins: str | None = None,
    dependence: str | None = None,
    seed: int = 1,
) -> tuple[World, tuple[str, ...]]:
    """Normal scores without a pilot, topics like its own with one; and the pilot's systems that cannot take part."""
    if design.replicates is not None:
        return _replicate_world(design, pilot, margins, dependence), ()
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


def _replicate_world(
    design: Design, pilot: ScoreTable | None, margins: str | None, dependence: str | None
) -> ReplicateWorld:
    """Scores with the components of a design."""
    assert design.replicates is not None
    if pilot is not None or margins is not None or dependence is not None:
        raise RequestError(
            "a design with replicates is simulated from its components",
            fix="Leave out the scores, `margins` and `dependence`.",
        )
    return ReplicateWorld(
        systems=design.systems,
        difference=design.difference,
        structure=design.replicates.kind,
        components=design.replicates.components,
        items=int(design.replicates.items),
        repeats=int(design.replicates.repeats),
    )


def _check_unsimulated(margins: str | None, dependence: str | None) -> None:
    if margins is not None or dependence is not None:
        raise NoEffectError(
            "`margins` and `dependence` have no effect on a design with a judge",
            parameter="dependence" if margins is None else "margins",
            fix="Leave them out: topics of a pilot are drawn as they are.",
        )


def _judged_task(
    design: Design, pilot: ScoreTable | JudgedScores | None, resamples: int | None, stream: Seed
) -> JudgedTask:
    """What a design with a judge is simulated by."""
    if design.test not in LABEL_TESTS:
        raise RequestError(
            f"there is no corrected comparison by {TITLES[design.test]}",
            fix=f"Choose one of: {', '.join(LABEL_TESTS)}.",
        )
    if design.topics > design.judged_topics or design.topics < FEWEST:
        raise RequestError(
            f"{design.topics} topics labelled by people among {design.judged_topics} labelled by the model are no "
            "design",
            fix=f"Have {FEWEST} topics or more labelled by people, and at least as many by the model.",
        )
    test = JudgedTest(name=design.test, alpha=design.alpha, sides=design.sides)
    if resamples is not None:
        if design.test != "max-t":
            raise RequestError(f"{TITLES[design.test]} draws no resamples", fix="Leave out `resamples`.")
        test = replace(test, resamples=resamples)
    world: JudgedWorld
    if pilot is not None:
        scores = pilot.of(pilot.measures[0]) if isinstance(pilot, ScoreTable) else pilot
        world = JudgedPilotWorld.of(scores, design.systems, design.judge_correlation)
    else:
        world = JudgedNormalWorld(
            systems=design.systems, sd=math.sqrt(design.variance), correlation=design.judge_correlation
        )
    return JudgedTask(world, test, design.difference, design.judged_topics, (design.topics,), stream)


def default_collections(work: int) -> int:
    """How many collections to draw by default: as many as `DEFAULT_WORK` allows, within bounds.

    >>> default_collections(10**6), default_collections(10**7), default_collections(10**9)
    (20000, 6000, 400)
    """
    return max(LEAST_COLLECTIONS, min(MOST_COLLECTIONS, DEFAULT_WORK // max(work, 1)))


def _check_work(task: BatchTask | JudgedTask, design: Design) -> None:
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


def _search_collections(task: BatchTask | JudgedTask, simulated: int) -> int:
    """Collections for each number of topics of the search: those of whole tasks, with at most `DEFAULT_WORK` in all."""
    allowed = max(LEAST_COLLECTIONS // 4, DEFAULT_WORK // (max(task.work, 1) * _EXPECTED_LOOKS // 2))
    return max(task.collections, min(simulated, 8 * BATCH, allowed) // task.collections * task.collections)


class _Reached:
    """How many collections are done of all that are expected; it never falls."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def step(self, collections: float) -> None:
        """Some more are done; if more than expected, a little stays to do."""
        self.skip_to(min(self.done + max(1, int(collections)), self.total - 1))

    def skip_to(self, done: int) -> None:
        self.done = max(self.done, done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def finish(self) -> None:
        self.skip_to(self.total)


def _check(design: Design, collections: int | None, tolerance: float, confidence: float) -> None:
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


def _rounds(
    task: BatchTask | JudgedTask,
    power: float,
    collections: int,
    tolerance: float,
    confidence: float,
    workers: int | None,
    reached: _Reached,
) -> tuple[Counts, str]:
    """Rounds of batches, as long as they do not decide; which batches a round has depends on nothing but its number."""
    size = task.collections
    most, first_round = math.ceil(collections / size), _FIRST * BATCH // size
    parts: list[Counts] = []
    verdict = UNDECIDED
    while len(parts) < most and verdict == UNDECIDED:
        until = min(max(first_round, len(parts) + max(first_round, len(parts) // 2)), most)
        new = range(len(parts), until)
        parts += tasks(run_task, new, shared=task, workers=workers, progress=lambda done, _: reached.step(size))
        found = _together(parts)
        verdict = _verdict(found, power, tolerance, confidence)
    return found, verdict


def _verdict(found: Counts, power: float, tolerance: float, confidence: float) -> str:
    lower, upper = anytime_interval(int(found.verdicts[0, 0, 0]), found.collections, confidence=confidence)
    if lower >= power - tolerance:
        return ENOUGH
    return SHORT if upper < power else UNDECIDED


# --- the number of topics that is enough


def _search(
    task: BatchTask | JudgedTask,
    design: Design,
    batches: int,
    confidence: float,
    workers: int | None,
    reached: _Reached,
) -> tuple[tuple[Look, ...], tuple[int | None, int | None, int | None]]:
    """Power against topics around the target: first apart, then ever closer, on the same collections grown longer."""
    seen: dict[int, CollectionRate] = {}

    def look(topics: Iterable[int]) -> None:
        new = tuple(sorted(set(topics) - set(seen)))
        if not new:
            return
        wide = task.collections * len(new) / 2  # one truth of two
        searched = replace(task, looks=new, power_only=True)
        counts = _together(
            tasks(
                run_task, range(batches), shared=searched, workers=workers, progress=lambda done, _: reached.step(wide)
            )
        )
        for at, n in enumerate(new):
            seen[n] = CollectionRate(int(counts.verdicts[at, 0, 0]), counts.collections, confidence)

    look(_between(max(2, design.topics // 8), design.topics, 9))
    highest = design.topics
    while highest < MOST_TOPICS and (last := seen[highest]).interval[0] < design.power:
        # Far in great steps, and past the target in small ones, until there is no doubt.
        lowest, highest = (
            highest,
            min(max(highest + 1, int(highest * (2 if last.rate < design.power else 1.15))), MOST_TOPICS),
        )
        look(_between(lowest, highest, 3))
    while (gap := _bracket(seen, design.power)) is not None and gap[1] - gap[0] > 1:
        look(_between(*gap, 8))
    curve = tuple(Look(n, seen[n]) for n in sorted(seen))
    ends = [_first(curve, design.power, side) for side in ("rate", "upper", "lower")]
    return curve, (ends[0], ends[1], ends[2])


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
