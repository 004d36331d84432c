"""SS16's study: the variance that fewer teams and fewer topics would have given, and the topics it leads to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.collection import Collection
from cranfield.collection.contributors import Contributors, pack_bits
from cranfield.collection.kernels import stay
from cranfield.design.targets import Target
from cranfield.errors import RequestError
from cranfield.formats.problems import Problem
from cranfield.measures import parse_measures
from cranfield.parallel import available_workers, pieces, tasks
from cranfield.pilot.leaving import Draws, check_left_out, draw
from cranfield.scores.rescoring import Rescorer
from cranfield.variance.components import Squares
from cranfield.variance.kernels import every_squares

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]

ESTIMATES: dict[str, Callable[[Squares], Any]] = {
    "within": lambda found: found.within_systems,  # SS16 Eq. 1
    "one-way": Squares.one_way,
    "two-way": Squares.two_way,
    "residual": lambda found: found.residual,
}
PILOT_TOPICS = (75, 50, 25, 10)  # SS16 §5.2


@dataclass(frozen=True)
class PilotPoint:
    """What pilots of one size say of one measure's variance: k teams left out, ``pilot_topics`` topics asked for.

    ``variance`` is the mean over ``trials`` pilots with its interval [``lower``, ``upper``], ``sd`` their standard
    deviation. ``misses`` says whether the interval misses σ², the full data's variance; ``error`` is how far off, as a
    share of σ², 19 of 20 single pilots stay: (|variance − σ²| + 1.96·sd) / σ². ``topics`` is what the mean leads to,
    ``topics_low`` and ``topics_high`` what the pilots led to. ``fewest`` and ``most`` are the topics they really had,
    ``lost`` and ``most_lost`` the topics that lost all their relevant documents, on average and at most.
    """

    measure: str
    left_out: int
    teams: int
    pilot_topics: int
    trials: int
    variance: float
    lower: float
    upper: float
    sd: float
    error: float
    misses: bool
    topics: float
    topics_low: float
    topics_high: float
    fewest: int
    most: int
    lost: float
    most_lost: int

    def to_dict(self) -> dict[str, Any]:
        counts = {name: _whole(getattr(self, name)) for name in ("topics", "topics_low", "topics_high")}
        return {**self.__dict__, **counts}


def _whole(value: float) -> int | None:
    return int(value) if value == value else None


@dataclass(frozen=True, eq=False)
class PilotStudy:
    """All points, the variance of every pilot, and what follows.

    ``variances`` is measures × trials × sizes, the trials in the order of ``left_out`` and the sizes in that of
    ``pilot_topics``, the full number of topics last. ``depth`` is the pool depth that contributions were looked for
    to, ``unknown`` how many judged documents no run has there; those always stay.
    """

    measures: tuple[str, ...]
    teams: tuple[str, ...]
    topics: int
    systems: int
    left_out: tuple[int, ...]
    pilot_topics: tuple[int, ...]
    trials: int
    estimate: str
    target: Target
    points: tuple[PilotPoint, ...]
    variances: Array
    depth: int
    unknown: int
    tolerance: float
    seed: int
    citations: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def get(self, measure: str, left_out: int = 0, pilot_topics: int | None = None) -> PilotPoint:
        """One point; of all topics unless said otherwise."""
        wanted = (measure, left_out, self.topics if pilot_topics is None else pilot_topics)
        for point in self.points:
            if (point.measure, point.left_out, point.pilot_topics) == wanted:
                return point
        raise RequestError(f"the study has no point {wanted}")

    def first_miss(self, measure: str) -> int | None:
        """The first k whose interval misses the full data's variance; None where no interval does."""
        return next((k for k in self.left_out if self.get(measure, k).misses), None)

    def teams_needed(self, measure: str) -> int:
        """The fewest teams, with all topics, down to which single pilots stay within the tolerance.

        The first miss would not do: of twenty intervals that are right, one misses, and with more trials more do.
        """
        needed = len(self.teams)
        for k in self.left_out[1:]:
            if not self.get(measure, k).error <= self.tolerance:
                break
            needed = len(self.teams) - k
        return needed

    def topics_needed(self, measure: str) -> int:
        """The fewest topics, of those tried with all teams, down to which single pilots stay within the tolerance."""
        needed = self.topics
        for count in sorted(self.pilot_topics[:-1], reverse=True):
            if not self.get(measure, 0, count).error <= self.tolerance:
                break
            needed = count
        return needed

    def to_dict(self) -> list[dict[str, Any]]:
        """One row a point."""
        return [point.to_dict() for point in self.points]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """How many teams and topics this pilot needs, in one sentence."""
        needs = {measure: (self.teams_needed(measure), self.topics_needed(measure)) for measure in self.measures}
        teams, topics = (max(need[part] for need in needs.values()) for part in (0, 1))
        names = ", ".join(self.measures)
        text = (
            f"To estimate the variance of {names} as all {len(self.teams)} teams and {self.topics} topics do, "
            f"to within {self.tolerance:.0%} in 19 of 20 pilots, a pilot needs "
        )
        if teams == len(self.teams) and topics == self.topics:
            return text + "all of them: this one has none to spare."
        return text + f"{_share(teams, len(self.teams), 'team')} and {_share(topics, self.topics, 'topic')}."


def _share(part: int, whole: int, noun: str) -> str:
    return f"all {whole} {noun}s" if part == whole else f"{part} of the {whole} {noun}s"


def pilot_study(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    left_out: Sequence[int] | None = None,
    pilot_topics: Sequence[int] | None = None,
    trials: int = 10,
    depth: int | None = None,
    estimate: str = "within",
    target: Target | None = None,
    tolerance: float = 0.25,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PilotStudy:
    """Leave teams and topics out at random and see what becomes of the variance (SS16 §5).

    Parameters
    ----------
    left_out
        How many teams to leave out; every number that leaves one, by default. What only they contributed leaves the
        judgments, the runs of the others are scored again, and topics without a relevant document are dropped.
    pilot_topics
        How many topics to keep besides all of them, in nested subsets; 75, 50, 25 and 10 by default.
    trials
        Random pilots of each size.
    depth
        How deep contributions are looked for: the judgments' own depth by default.
    estimate
        ``within`` (SS16 Eq. 1), ``one-way``, ``two-way`` or ``residual``.
    target
        The design that each variance is turned into topics for; SS16's (.05, .20, .15, 10) by default.
    tolerance
        How far off a pilot may be, as a share of the full data's variance, in the advice.
    """
    wanted = parse_measures(measures)
    _check(collection, estimate, trials, tolerance)
    contributors = collection.contributors(depth)
    numbers = check_left_out(left_out, len(contributors.teams))
    sizes = _check_topics(pilot_topics, len(collection.topics))
    draws = draw(len(contributors.teams), len(collection.topics), numbers, trials, check_seed(seed))
    work = _Work(collection, contributors, Rescorer(collection, wanted, len(draws)), draws, np.array(sizes))
    squares, used, systems = work.run(workers, progress)
    # measures × trials × sizes
    parts = [squares[..., part].transpose(1, 0, 2) for part in range(4)]
    variances = np.asarray(ESTIMATES[estimate](Squares(used, systems[:, np.newaxis], *parts)))  # type: ignore[arg-type]
    study = PilotStudy(
        tuple(map(str, wanted)), contributors.teams, len(collection.topics), len(collection.systems), numbers, sizes,
        trials, estimate, target or Target(), (), variances, contributors.depth,
        int((contributors.unknown & collection.judged).sum()), tolerance, seed,
        ("SakaiShang2016", "Sakai2014"), (*collection.warnings, *unknown_contributions(collection, contributors)),
    )  # fmt: skip
    return replace(study, points=tuple(_points(study, used)))


def unknown_contributions(collection: Collection, contributors: Contributors) -> list[Problem]:
    """What is to be said about judged documents that nobody is known to have contributed."""
    unknown = int((contributors.unknown & collection.judged).sum())
    if not unknown:
        return []
    detail = f"{unknown:,} of {int(collection.judged.sum()):,} at depth {contributors.depth:,}"
    return [Problem("contributor-unknown", "judgments", detail=detail, count=unknown)]


def _check(collection: Collection, estimate: str, trials: int, tolerance: float) -> None:
    check_estimate(estimate)
    if trials < 2:
        raise RequestError("an interval takes two trials or more", fix="SS16 has 10.")
    if not tolerance > 0:
        raise RequestError(f"a pilot cannot be within {tolerance:g}", fix="0.25 allows a quarter.")
    if len(collection.topics) < 2:
        raise RequestError("one topic has no variance", fix="Give two topics or more.")


def check_estimate(estimate: str) -> None:
    if estimate not in ESTIMATES:
        raise RequestError(f"there is no estimate «{estimate}»", fix=f"Choose one of: {', '.join(ESTIMATES)}.")


def check_seed(seed: int) -> int:
    if seed < 0:
        raise RequestError(f"a seed cannot be {seed}", fix="The smallest seed is 0.")
    return seed


def _check_topics(wanted: Sequence[int] | None, topics: int) -> tuple[int, ...]:
    """Ascending, all topics last."""
    if wanted is None:
        wanted = [count for count in PILOT_TOPICS if count < topics]
    for count in wanted:
        if not 2 <= count <= topics:
            raise RequestError(
                f"a pilot of {count} topics cannot be taken from {topics}", fix=f"Ask for 2 to {topics} topics."
            )
    return (*sorted(set(wanted) - {topics}), topics)


@dataclass(frozen=True, eq=False)
class _Work:
    """All trials: whatever each needs is known beforehand."""

    collection: Collection
    contributors: Contributors
    rescorer: Rescorer
    draws: Draws
    sizes: Array

    def run(self, workers: int | None, progress: Progress | None) -> tuple[Array, Array, Array]:
        """Mean squares (trials × measures × sizes × 4), topics used (trials × sizes), systems (trials)."""
        workers = (workers or available_workers()) if self.rescorer.compiled else 1
        self.rescorer.prepare(stay, every_squares)
        done = tasks(_some_trials, pieces(len(self.draws), workers), shared=self, workers=workers, progress=progress)
        squares, used, systems = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return squares, used, systems

    def some(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """The trials from ``first`` to ``last``."""
        count = last - first
        squares = np.empty((count, len(self.rescorer.measures), len(self.sizes), 4))
        used, systems = np.empty((count, len(self.sizes)), np.int64), np.empty(count, np.int64)
        bench, run = self.rescorer.bench(), self.rescorer.run
        keep, square = run(stay), run(every_squares)
        member, always = self._lean_member
        kept, words = np.empty(len(always), np.uint8), pack_bits(self.draws.staying[first:last])
        before = b""
        for at, (staying, order) in enumerate(
            zip(self.draws.staying[first:last], self.draws.topic_order[first:last], strict=True)
        ):
            if staying.tobytes() != before:  # the same teams as last time, as when nobody leaves: the same scores
                before = staying.tobytes()
                chosen = np.flatnonzero(staying[self._team_of])
                keep(0, len(kept), member, words[at], always, kept)
                everything = partial(self._kept, staying)
                scores = np.array(bench.score(kept, chosen, everything)).reshape(len(squares[at]), -1)
                alive = bench.relevant(everything) > 0
            order = order[alive[order]]
            sizes = used[at]
            np.minimum(self.sizes, len(order), out=sizes)
            systems[at] = len(chosen)
            square(0, len(scores), len(chosen), scores, order, sizes, squares[at].reshape(len(scores), -1))
        return squares, used, systems

    @cached_property
    def _team_of(self) -> Array:
        """The number of each system's team."""
        number = {team: at for at, team in enumerate(self.contributors.teams)}
        return np.array([number[team] for team in self.collection.teams or ()])

    @cached_property
    def _lean_member(self) -> tuple[Array, Array]:
        origin = self.rescorer.lean.origin
        member = np.ascontiguousarray(self.contributors.member[origin]).reshape(-1)
        return member, self.contributors.unknown[origin].astype(np.uint8)

    def _kept(self, staying: Array) -> Array:
        gone = [team for team, stays in zip(self.contributors.teams, staying.tolist(), strict=True) if not stays]
        return self.contributors.kept(gone)


def _some_trials(work: _Work, piece: tuple[int, int]) -> tuple[Array, Array, Array]:
    return work.some(*piece)


def _points(study: PilotStudy, used: Array) -> list[PilotPoint]:
    """Every measure × k × size, summed up."""
    shape = (len(study.measures), len(study.left_out), study.trials, len(study.pilot_topics))
    sample = study.variances.reshape(shape).copy()
    sample[:, 0, 1:, -1] = np.nan  # with all teams and all topics there is one pilot: the data as they are
    count, mean, margin, sd = _intervals(sample)
    full = study.variances[:, 0, -1][:, np.newaxis, np.newaxis]
    least, largest = (np.where(np.isnan(sample), end, sample) for end in (np.inf, 0.0))
    # n rises with the variance, so the variances at the ends lead to the numbers of topics at the ends.
    variances = np.stack([mean, least.min(axis=2), largest.max(axis=2)])
    topics, fewest, most = study.target.topics(variances)
    error = (np.abs(mean - full) + 1.96 * sd) / np.where(full > 0, full, np.nan)
    misses = (mean - margin > full) | (mean + margin < full)
    used = used.reshape(shape[1:])
    lost = study.topics - used[:, :, -1]
    return [
        PilotPoint(
            measure, k, len(study.teams) - k, size, int(count[m, i, s]), float(mean[m, i, s]),
            float(mean[m, i, s] - margin[m, i, s]), float(mean[m, i, s] + margin[m, i, s]), float(sd[m, i, s]),
            float(error[m, i, s]), bool(misses[m, i, s]), float(topics[m, i, s]), float(fewest[m, i, s]),
            float(most[m, i, s]), int(used[i, :, s].min()), int(used[i, :, s].max()), float(lost[i].mean()),
            int(lost[i].max()),
        )
        for m, measure in enumerate(study.measures)
        for i, k in enumerate(study.left_out)
        for s, size in enumerate(study.pilot_topics)
    ]  # fmt: skip


def _intervals(sample: Array) -> tuple[Array, Array, Array, Array]:
    """Over the third axis, leaving nan out: how many, their mean, the margin of its 95 % interval, and their sd."""
    from cranfield.stats.tails import t_critical

    known = np.isfinite(sample)
    count = known.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, sample, 0.0).sum(axis=2) / count
        squares = np.where(known, (sample - mean[:, :, np.newaxis]) ** 2, 0.0).sum(axis=2)
        sd = np.sqrt(squares / np.where(count > 1, count - 1, np.nan))
        margin = t_critical(0.025, np.maximum(count - 1, 1)) * sd / np.sqrt(count)
    return count, mean, margin, sd
