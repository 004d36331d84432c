"""Variance estimates from fewer teams and fewer topics, and the topics that they require: Sakai and Shang (2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.collection.collection import Contributors, pack_bits
from cranfield.collection.kernels import stay
from cranfield.errors import RequestError, say_percent
from cranfield.formats.problems import Problem
from cranfield.formats.text import file_name, make_folder
from cranfield.measures import parse_measures
from cranfield.methods.design.planning import check_estimate as check_planned
from cranfield.methods.design.planning import variance_words
from cranfield.methods.design.target import Target, measure_lines, target_for
from cranfield.methods.variance.components import Squares
from cranfield.methods.variance.kernels import every_squares
from cranfield.runtime.random import generator
from cranfield.runtime.threads import available_workers, pieces, tasks
from cranfield.scores.rescoring import Rescorer
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False)
class Draws:
    """One row per trial: how many teams leave, which stay (trials × teams), and the topics in a random order."""

    left_out: Array
    staying: Array
    topic_order: Array

    def __len__(self) -> int:
        return len(self.left_out)


def draw(teams: int, topics: int, left_out: Sequence[int], trials: int, seed: int) -> Draws:
    """``trials`` draws for every k of ``left_out``.

    Every k has a stream of its own: whatever else is asked for, trial 3 of k = 5 is the same.
    """
    staying = np.ones((len(left_out) * trials, teams), bool)
    order = np.empty((len(left_out) * trials, topics), np.int64)
    for at, k in enumerate(left_out):
        mine = slice(at * trials, (at + 1) * trials)
        staying[mine] = _shuffled(teams, trials, generator(seed, "pilot", "teams", k)) >= k
        order[mine] = _shuffled(topics, trials, generator(seed, "pilot", "topics", k))
    return Draws(np.repeat(left_out, trials), staying, order)


def _shuffled(count: int, trials: int, stream: np.random.Generator) -> Array:
    """One random order of ``range(count)`` per row, row after row from the stream."""
    return stream.permuted(np.tile(np.arange(count), (trials, 1)), axis=1)


def check_left_out(left_out: Sequence[int] | None, teams: int) -> tuple[int, ...]:
    """The numbers of teams to leave out: those asked for, or every one that leaves a team; 0 always comes first."""
    if teams < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    wanted = range(1, teams) if left_out is None else sorted(set(left_out) - {0})
    for k in wanted:
        if k < 0:
            raise RequestError(f"{k} teams cannot be left out", fix="Leave out one or more.")
        if k >= teams:
            raise RequestError(
                f"{k} of {teams} teams cannot be left out: nobody is left to score",
                fix=f"Leave out {teams - 1} at most.",
            )
    return (0, *wanted)


ESTIMATES: dict[str, Callable[[Squares], Any]] = {
    "within": lambda found: found.within_systems,  # SS16 Eq. 1
    "one-way": Squares.one_way,
    "two-way": Squares.two_way,
    "residual": lambda found: found.residual,
}
PILOT_TOPICS = (75, 50, 25, 10)  # SS16 §5.2
TRIALS = 100  # SS16 has 10, enough for a mean but not for the spread of single pilots


@dataclass(frozen=True, kw_only=True)
class PilotPoint:
    """Pilots of one size, for one measure: ``left_out`` teams left out, ``pilot_topics`` topics kept.

    ``variance`` is the mean over ``trials`` pilots, [``mean_lower``, ``mean_upper``] its 95 % t interval (Sakai and
    Shang 2016). ``sd`` is the standard deviation of a single pilot's variance, corrected for the finite set of topics,
    and [``lower``, ``upper``] its 95 % interval; ``misses`` is true if the interval does not contain σ², the variance
    of the full data, and ``error`` is the distance of its farther end from σ², relative to σ². ``topics`` is the number
    that the mean requires, ``topics_low`` and ``topics_high`` those that the ends of the interval require. ``fewest``
    and ``most`` are the topics the pilots had, ``lost`` and ``most_lost`` the topics that lost all their relevant
    documents, on average and at most.
    """

    measure: str
    left_out: int
    teams: int
    pilot_topics: int
    trials: int
    variance: float
    mean_lower: float
    mean_upper: float
    sd: float
    lower: float
    upper: float
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


@dataclass(frozen=True, eq=False, kw_only=True)
class PilotStudy:
    """All points, the variance of every pilot, and the fewest teams and topics that are enough.

    ``variances`` is measures × trials × sizes, the trials in the order of ``left_out`` and the sizes in that of
    ``pilot_topics``, the full number of topics last. ``depth`` is the pool depth to which
    contributions were sought, ``unknown`` how many judged documents no run has there; those always stay.
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
        """One point; with all topics by default."""
        wanted = (measure, left_out, self.topics if pilot_topics is None else pilot_topics)
        for point in self.points:
            if (point.measure, point.left_out, point.pilot_topics) == wanted:
                return point
        raise RequestError(f"the study has no point {wanted}")

    def first_miss(self, measure: str) -> int | None:
        """The first k at which the interval misses the full data's variance; None where no interval does.

        From then on the bias that leaving teams out brings is larger than the spread of pilots.
        """
        return next((k for k in self.left_out if self.get(measure, k).misses), None)

    def teams_needed(self, measure: str) -> int:
        """The fewest teams, with all topics, down to which the error of a single pilot is within the tolerance."""
        needed = len(self.teams)
        for k in self.left_out[1:]:
            if not self.get(measure, k).error <= self.tolerance:
                break
            needed = len(self.teams) - k
        return needed

    def topics_needed(self, measure: str) -> int:
        """The fewest topics, of those tried with all teams, at which a single pilot's error is within the tolerance."""
        needed = self.topics
        for count in sorted(self.pilot_topics[:-1], reverse=True):
            if not self.get(measure, 0, count).error <= self.tolerance:
                break
            needed = count
        return needed

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per point."""
        return [point.to_dict() for point in self.points]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The topics that the full data require, and how many teams and topics a pilot needs."""
        needs = {measure: (self.teams_needed(measure), self.topics_needed(measure)) for measure in self.measures}
        teams, topics = (max(need[part] for need in needs.values()) for part in (0, 1))
        text = (
            f"{self._required()}To estimate the variance of {', '.join(self.measures)} to within "
            f"{say_percent(self.tolerance)} of its value for all {len(self.teams)} teams and {self.topics} topics in "
            "95 % of pilots, a pilot needs "
        )
        if teams == len(self.teams) and topics == self.topics:
            return text + "all of them."
        return text + f"{_share(teams, len(self.teams), 'team')} and {_share(topics, self.topics, 'topic')}."

    def _required(self) -> str:
        """The topics that the full data require, where a number is enough."""
        full = {name: topics for name in self.measures if (topics := self.get(name).to_dict()["topics"]) is not None}
        said = measure_lines(
            list(full),
            lambda name: (
                f"With all teams and topics, {name} requires {full[name]:,} topics to "
                f"{self.target.of(name).goal_words()} ({variance_words(self.estimate)})."
            ),
        )
        return said and said + ("\n" if len(full) > 1 else " ")


def _share(part: int, whole: int, noun: str) -> str:
    return f"all {whole} {noun}s" if part == whole else f"{part} of the {whole} {noun}s"


def pilot_study(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    left_out: Sequence[int] | None = None,
    pilot_topics: Sequence[int] | None = None,
    trials: int = TRIALS,
    depth: int | None = None,
    estimate: str | None = None,
    target: Target | None = None,
    tolerance: float = 0.25,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PilotStudy:
    """Estimate the variance with teams and topics left out at random: Sakai and Shang (2016), §5.

    Parameters
    ----------
    left_out
        Numbers of teams to leave out; by default every number that leaves at least one team. Documents that only these
        teams contributed are removed from the judgments, the runs of the other teams are scored again, and topics
        without a relevant document are dropped.
    pilot_topics
        Numbers of topics to keep, in nested subsets, in addition to all topics; 75, 50, 25 and 10 by default.
    trials
        Number of random pilots of each size; 10 in Sakai and Shang (2016).
    depth
        The pool depth that defines contributions; by default the depth of the judgments.
    estimate
        ``residual`` (systems share topics), ``within`` (Sakai and Shang (2016), Eq. 1), ``one-way`` or ``two-way``; by
        default the one of the target.
    target
        The goal for which each variance requires topics; by default the default difference of two of the
        systems.
    tolerance
        The largest acceptable error of a pilot, as a share of the full data's variance.

    Returns
    -------
    PilotStudy
        One point per measure, number of teams left out and number of topics.

    Notes
    -----
    Pilots of n of the same N topics vary less than pilots of n new topics: their standard deviation is divided by
    √(1 − n/N) (Cochran 1977). The part that is due to leaving out teams, known from the pilots with all topics, is not
    corrected.

    References
    ----------
    - T. Sakai, L. Shang. On Estimating Variances for Topic Set Size Design. EVIA 2016, §5.
    - W. G. Cochran. Sampling Techniques. Wiley, 1977, ch. 2.
    """
    parsed, target = parse_measures(measures), target or target_for(len(collection.systems))
    estimate = estimate or target.estimate
    _check(collection, estimate, trials, tolerance)
    check_planned(estimate, target.goal.kind, target.design.test)
    contributors = collection.contributors(depth)
    numbers = check_left_out(left_out, len(contributors.teams))
    sizes = _check_topics(pilot_topics, len(collection.topics))
    draws = draw(len(contributors.teams), len(collection.topics), numbers, trials, seed)
    work = _Work(collection, contributors, Rescorer(collection, parsed, len(draws)), draws, np.array(sizes))
    squares, used, systems = work.run(workers, progress)
    # measures × trials × sizes
    parts = [squares[..., part].transpose(1, 0, 2) for part in range(4)]
    used = used.transpose(1, 0, 2)
    variances = np.asarray(ESTIMATES[estimate](Squares(used, systems[:, np.newaxis], *parts)))  # type: ignore[arg-type]
    study = PilotStudy(
        measures=tuple(map(str, parsed)),
        teams=contributors.teams,
        topics=len(collection.topics),
        systems=len(collection.systems),
        left_out=numbers,
        pilot_topics=sizes,
        trials=trials,
        estimate=estimate,
        target=target,
        points=(),
        variances=variances,
        depth=contributors.depth,
        unknown=int((contributors.unknown & collection.judged).sum()),
        tolerance=tolerance,
        seed=seed,
        citations=("SakaiShang2016", "Sakai2014", "Cochran1977"),
        warnings=(*collection.warnings, *unknown_contributions(collection, contributors)),
    )
    return replace(study, points=tuple(_points(study, used)))


def unknown_contributions(collection: Collection, contributors: Contributors) -> list[Problem]:
    """A warning about judged documents that no team is known to have contributed."""
    unknown = int((contributors.unknown & collection.judged).sum())
    if not unknown:
        return []
    detail = f"{unknown:,} of {int(collection.judged.sum()):,} at depth {contributors.depth:,}"
    return [Problem("contributor-unknown", "judgments", detail=detail, count=unknown)]


def _check(collection: Collection, estimate: str, trials: int, tolerance: float) -> None:
    check_estimate(estimate)
    if trials < 2:
        raise RequestError("an interval takes two trials or more", fix=f"The default is {TRIALS}.")
    if not tolerance > 0:
        raise RequestError(f"the error of a pilot cannot be within {tolerance:g}", fix="0.25 allows 25 %.")
    if len(collection.topics) < 2:
        raise RequestError("one topic has no variance", fix="Give two topics or more.")


def check_estimate(estimate: str) -> None:
    if estimate not in ESTIMATES:
        raise RequestError(f"there is no estimate «{estimate}»", fix=f"Choose one of: {', '.join(ESTIMATES)}.")


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
        """Mean squares (trials × measures × sizes × 4), topics used (trials × measures × sizes), systems (trials)."""
        workers = (workers or available_workers()) if self.rescorer.compiled else 1
        self.rescorer.prepare(stay, every_squares)
        done = tasks(_some_trials, pieces(len(self.draws), workers), shared=self, workers=workers, progress=progress)
        squares, used, systems = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return squares, used, systems

    def some(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """The trials from ``first`` to ``last``."""
        count = last - first
        squares = np.empty((count, len(self.rescorer.measures), len(self.sizes), 4))
        used, systems = np.empty(squares.shape[:3], np.int64), np.empty(count, np.int64)
        buffers, run = self.rescorer.buffers(), self.rescorer.run
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
                scores = np.array(buffers.score(kept, chosen, everything)).reshape(len(squares[at]), -1)
                groups = _groups(buffers.alive(kept, everything))
            systems[at] = len(chosen)
            for low, high, alive in groups:
                left = order[alive[order]]
                used[at, low:high] = sizes = np.minimum(self.sizes, len(left))
                square(low, high, len(chosen), scores, left, sizes, squares[at].reshape(len(scores), -1))
        return squares, used, systems

    @cached_property
    def _team_of(self) -> Array:
        """The number of each system's team."""
        number = {team: at for at, team in enumerate(self.contributors.teams)}
        return np.array([number[team] for team in self.collection.teams or ()])

    @cached_property
    def _lean_member(self) -> tuple[Array, Array]:
        origin = self.rescorer.relevant_only.origin
        member = np.ascontiguousarray(self.contributors.member[origin]).reshape(-1)
        return member, self.contributors.unknown[origin].astype(np.uint8)

    def _kept(self, staying: Array) -> Array:
        gone = [team for team, stays in zip(self.contributors.teams, staying.tolist(), strict=True) if not stays]
        return self.contributors.kept(gone)


def _groups(alive: Sequence[Array]) -> list[tuple[int, int, Array]]:
    """First and last of the measures that have the same topics left, and these: all measures at once, or one by one."""
    if all(each is alive[0] for each in alive):
        return [(0, len(alive), alive[0])]
    return [(at, at + 1, mine) for at, mine in enumerate(alive)]


def _some_trials(work: _Work, piece: tuple[int, int]) -> tuple[Array, Array, Array]:
    return work.some(*piece)


def _points(study: PilotStudy, used: Array) -> list[PilotPoint]:
    """Every measure × k × size, summed up."""
    shape = (len(study.measures), len(study.left_out), study.trials, len(study.pilot_topics))
    sample = study.variances.reshape(shape).copy()
    sample[:, 0, 1:, -1] = np.nan  # with all teams and all topics there is one pilot: the data as they are
    used = used.reshape(shape)
    lost = study.topics - used[:, :, :, -1]
    # n/N, of the topics that the trials have left
    shares = used.mean(axis=2) / np.maximum(used[:, :, :, -1].mean(axis=2, keepdims=True), 1)
    count, mean, sd = _moments(sample)
    sd = _finite_correction(sd, shares)
    margin = _t_quantile(count) * sd / np.sqrt(np.maximum(count, 1))
    positive, centre, spread = _moments(np.log(np.where(sample > 0, sample, np.nan)))
    # A variance is positive and skewed, its logarithm nearly normal. One more pilot than the trials: 1 + 1/trials.
    reach = _t_quantile(positive) * _finite_correction(spread, shares) * np.sqrt(1 + 1 / np.maximum(positive, 1))
    low, high = np.exp(centre - reach), np.exp(centre + reach)
    full = study.variances[:, 0, -1][:, np.newaxis, np.newaxis]
    goals = [study.target.of(measure) for measure in study.measures]
    ends = np.stack([mean, low, high], axis=1)
    topics, fewest, most = np.stack([goal.topics(mine) for goal, mine in zip(goals, ends, strict=True)], axis=1)
    error = np.maximum(np.abs(low - full), np.abs(high - full)) / np.where(full > 0, full, np.nan)
    misses = (low > full) | (high < full)
    return [
        PilotPoint(
            measure=measure,
            left_out=k,
            teams=len(study.teams) - k,
            pilot_topics=size,
            trials=int(count[m, i, s]),
            variance=float(mean[m, i, s]),
            mean_lower=float(mean[m, i, s] - margin[m, i, s]),
            mean_upper=float(mean[m, i, s] + margin[m, i, s]),
            sd=float(sd[m, i, s]),
            lower=float(low[m, i, s]),
            upper=float(high[m, i, s]),
            error=float(error[m, i, s]),
            misses=bool(misses[m, i, s]),
            topics=float(topics[m, i, s]),
            topics_low=float(fewest[m, i, s]),
            topics_high=float(most[m, i, s]),
            fewest=int(used[m, i, :, s].min()),
            most=int(used[m, i, :, s].max()),
            lost=float(lost[m, i].mean()),
            most_lost=int(lost[m, i].max()),
        )
        for m, measure in enumerate(study.measures)
        for i, k in enumerate(study.left_out)
        for s, size in enumerate(study.pilot_topics)
    ]


def _moments(sample: Array) -> tuple[Array, Array, Array]:
    """Over the third axis, leaving nan out: how many, their mean and their sd."""
    known = np.isfinite(sample)
    count = known.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, sample, 0.0).sum(axis=2) / count
        squares = np.where(known, (sample - mean[:, :, np.newaxis]) ** 2, 0.0).sum(axis=2)
        sd = np.sqrt(squares / np.where(count > 1, count - 1, np.nan))
    return count, mean, sd


def _t_quantile(count: Array) -> Array:
    from cranfield.stats.tails import t_critical

    return np.asarray(t_critical(0.025, np.maximum(count - 1, 1)))


def _finite_correction(sd: Array, shares: Array) -> Array:
    """The sd (measures × k × sizes) of pilots whose topics are new, from that of subsets of the same topics.

    Subsets of n of N topics vary less by √(1 − n/N) (Cochran 1977 ch. 2). The sd with all topics, the last size, comes
    from the teams alone; it is no matter of topics and is left as it is.
    """
    teams = np.nan_to_num(sd[:, :, -1:]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        topics = np.maximum(sd**2 - teams, 0.0) / (1 - shares)  # Cochran 1977 ch. 2
        corrected = np.sqrt(np.minimum(sd**2, teams) + topics)
    return np.where(shares < 1, corrected, sd)


def write_leave_outs(collection: Collection, folder: str | Path, *, depth: int | None = None) -> list[Path]:
    """Write one qrels file per team, ``without-TEAM.txt``, without the judgments that only this team contributed."""
    contributors = collection.contributors(depth)
    if len(contributors.teams) < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    home = make_folder(folder)
    written = []
    for team in contributors.teams:
        path = home / file_name(f"without-{team}.txt")
        collection.keeping(contributors.kept([team])).write_qrels(path)
        written.append(path)
    return written
