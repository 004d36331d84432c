"""Every plan on the user's own differences: topics used, bias of the sd, false positives and power, together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import CranfieldError, RequestError
from cranfield.methods.names import PLAN_TITLES
from cranfield.methods.sequential.confidence import bets_for
from cranfield.methods.sequential.groups import GroupDesign, group_design
from cranfield.methods.sequential.paired_differences import PairedDifferences
from cranfield.methods.sequential.paths import (
    Paths,
    Population,
    betting_paths,
    effect_sizes,
    fixed_paths,
    inclusion,
    sd_rule_paths,
    t_rule_paths,
    t_squares,
    variance_limits,
)
from cranfield.methods.sequential.plans import CATALOG, NEVER, WITH_T
from cranfield.methods.sequential.study_goal import FARTHEST_LOOK, FEWEST, StudyGoal
from cranfield.runtime.random import sequence
from cranfield.types import Array, ArrayLike, Progress

MOST_TOPICS = 20_000
EVERY_TOPIC = "every-topic"
RANDOM = "random"
NULL, DIFFERENT = "equal", "different"  # what is true of the systems
WAYS = {
    "fixed": PLAN_TITLES["fixed"],
    "iterative": PLAN_TITLES["iterative"],
    RANDOM: "random samples of the sizes at which iterative stopped",
    "hybrid": PLAN_TITLES["hybrid"],
    "group-obrien-fleming": "looks fixed in advance, O'Brien–Fleming spending",
    "group-pocock": "looks fixed in advance, Pocock spending",
    "anytime": PLAN_TITLES["anytime"],
    EVERY_TOPIC: "testing after every topic until significant: not valid",
}
HOLDS = {
    **{name: plan.holds for name, plan in CATALOG.items()},
    RANDOM: WITH_T,
    "group-obrien-fleming": CATALOG["group-sequential"].holds,
    "group-pocock": CATALOG["group-sequential"].holds,
    EVERY_TOPIC: NEVER,
}


@dataclass(frozen=True, eq=False)
class PathRate:
    """A share with its exact 95 % interval (Clopper–Pearson)."""

    value: float
    lower: float
    upper: float


def rate(hits: int, count: int) -> PathRate:
    """The share of ``count`` paths that are ``hits``.

    >>> found = rate(5, 100)
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.0164, 0.1128)
    """
    from scipy import special

    lower = special.betaincinv(hits, count - hits + 1, 0.025) if hits else 0.0
    upper = special.betaincinv(hits + 1, count - hits, 0.975) if hits < count else 1.0
    return PathRate(hits / count, float(lower), float(upper))


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanOutcome:
    """One plan. ``topics`` if the systems differ by the target difference, ``topics_null`` if they are equal.

    ``sd_bias`` is the mean of s/σ − 1 at the end, over pairs; the arrays have one value per pair.
    """

    plan: str
    topics: float
    topics_low: float
    topics_high: float
    topics_null: float
    sd_bias: PathRate
    false_positives: PathRate
    power: PathRate
    pair_sd: Array
    pair_false_positives: Array
    pair_topics: Array

    @property
    def holds(self) -> str:
        """When the plan's false positives stay at α."""
        return HOLDS[self.plan]

    def to_dict(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "topics": self.topics,
            "topics_low": self.topics_low,
            "topics_high": self.topics_high,
            "topics_null": self.topics_null,
            "sd_bias": self.sd_bias.value,
            "sd_bias_lower": self.sd_bias.lower,
            "sd_bias_upper": self.sd_bias.upper,
            "false_positives": self.false_positives.value,
            "false_positives_lower": self.false_positives.lower,
            "false_positives_upper": self.false_positives.upper,
            "power": self.power.value,
            "power_lower": self.power.lower,
            "power_upper": self.power.upper,
            "holds": self.holds,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanSimulation:
    """All plans on one population, or on several pairs' populations together.

    ``difference`` and ``sd`` have one value per pair: what is sought, and the sd of all topics. ``included`` is, for a
    single pair, the probability of each topic to be in a finished iterative study.
    """

    measure: str
    names: tuple[tuple[str, str], ...]
    topic_names: tuple[str, ...]
    outcomes: tuple[PlanOutcome, ...]
    difference: Array
    sd: Array
    mean: Array
    alpha: float
    wanted_power: float
    fixed_topics: Array
    first: int
    step: int
    repeats: int
    seed: int
    differences: Array
    included: Array | None
    warnings: tuple[str, ...] = ()
    citations: tuple[str, ...] = ("Webber2008", "LanDeMets1983", "WaudbySmithRamdas2024")

    def get(self, plan: str) -> PlanOutcome:
        for outcome in self.outcomes:
            if outcome.plan == plan:
                return outcome
        raise RequestError(f"the plan «{plan}» was not simulated", fix=f"There are: {', '.join(WAYS)}.")

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per plan."""
        return [outcome.to_dict() for outcome in self.outcomes]

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The plan with the fewest topics among those that hold α on these differences."""
        holding = [o for o in self.outcomes if o.plan != RANDOM and o.false_positives.lower <= self.alpha]
        if not holding:
            return f"No plan holds α = {self.alpha:g} on these differences: the t test is not valid for them."
        best = min(holding, key=lambda outcome: outcome.topics)
        return (
            f"Of the plans whose false positives are not shown to exceed α = {self.alpha:g} on these differences, "
            f"{best.plan} takes the fewest topics if the systems differ ({best.topics:.0f} on average, power "
            f"{best.power.value:.2f})."
        )


@dataclass(frozen=True, eq=False)
class _Request:
    """The input of every plan: one goal per pair, and how the paths are drawn."""

    population: Population
    goals: list[StudyGoal]
    needed: Array
    step: int
    most: int
    repeats: int
    seed: int
    workers: int | None

    @property
    def differences(self) -> Array:
        return np.array([goal.difference for goal in self.goals])

    @property
    def alpha(self) -> float:
        return self.goals[0].alpha

    def options(self, plan: str, truth: str) -> dict[str, Any]:
        """How the paths of a plan are drawn: each plan, and each truth, from random streams of its own."""
        return {
            "shift": 0.0 if truth == NULL else self.differences,
            "repeats": self.repeats,
            "seed": sequence(self.seed, "study simulate", plan, truth),
            "workers": self.workers,
        }


def _fixed(ask: _Request, truth: str) -> Paths:
    return fixed_paths(ask.population, ask.needed, alpha=ask.alpha, **ask.options("fixed", truth))


def _limits(ask: _Request) -> Array:
    return variance_limits(ask.differences, most=ask.most, alpha=ask.alpha, power=ask.goals[0].power)


def _iterative(ask: _Request, truth: str) -> Paths:
    start, options = np.full(ask.population.pairs, ask.goals[0].first), ask.options("iterative", truth)
    return sd_rule_paths(ask.population, start, _limits(ask), step=ask.step, alpha=ask.alpha, **options)


def _random(ask: _Request, truth: str) -> Paths:
    """Random samples of the sizes of the iterative plan: Webber et al. (2008), Fig. 6."""
    sizes = _iterative(ask, truth).topics
    return fixed_paths(ask.population, sizes, alpha=ask.alpha, **ask.options(RANDOM, truth))


def _hybrid(ask: _Request, truth: str) -> Paths:
    options = ask.options("hybrid", truth)
    return sd_rule_paths(ask.population, ask.needed, _limits(ask), step=0, alpha=ask.alpha, **options)


def _group(spending: str) -> Callable[[_Request, str], Paths]:
    def run(ask: _Request, truth: str) -> Paths:
        designs = [group_design(goal.changed({"spending": spending})) for goal in ask.goals]
        critical, ends = look_table(designs)
        return t_rule_paths(ask.population, critical, ends, **ask.options(f"group-{spending}", truth))

    return run


def look_table(designs: Sequence[GroupDesign]) -> tuple[Array, Array]:
    """Critical t² at every look, one row per design, infinite between looks; and where each design ends."""
    ends = np.array([int(design.topics[-1]) for design in designs])
    critical = np.full((len(designs), int(ends.max()) + 1), np.inf)
    for row, design in enumerate(designs):
        levels = np.full(critical.shape[1], 0.5)
        levels[design.topics] = design.levels
        critical[row, design.topics] = t_squares(levels, critical.shape[1] - 1)[design.topics]
    return critical, ends


def _anytime(ask: _Request, truth: str) -> Paths:
    goal = ask.goals[0]
    return betting_paths(
        ask.population,
        [bets_for(each) for each in ask.goals],
        np.full(ask.population.pairs, ask.most),
        alpha=ask.alpha,
        lowest=goal.lowest,
        highest=goal.highest,
        **ask.options("anytime", truth),
    )


def _every_topic(ask: _Request, truth: str) -> Paths:
    critical = t_squares(ask.alpha, int(ask.needed.max()))
    critical[: min(ask.goals[0].first, int(ask.needed.min()))] = np.inf
    return t_rule_paths(ask.population, critical, ask.needed, **ask.options(EVERY_TOPIC, truth))


_RUN: dict[str, Callable[[_Request, str], Paths]] = {
    "fixed": _fixed,
    "iterative": _iterative,
    RANDOM: _random,
    "hybrid": _hybrid,
    "group-obrien-fleming": _group("obrien-fleming"),
    "group-pocock": _group("pocock"),
    "anytime": _anytime,
    EVERY_TOPIC: _every_topic,
}


def simulate(
    pairs: PairedDifferences | ArrayLike,
    *,
    difference: float | None = None,
    detectable_with: int = 100,
    sd: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    plans: Sequence[str] = tuple(WAYS),
    first: int = FEWEST,
    step: int = 1,
    looks: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0),
    lowest: float = -1.0,
    highest: float = 1.0,
    most: int | None = None,
    repeats: int = 1000,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlanSimulation:
    """Run every plan on populations made of the pairs' own topics, drawn with replacement.

    Parameters
    ----------
    pairs
        Differences of one pair or of several (pairs × topics).
    difference
        Difference to detect; by default, for every pair, the difference that ``detectable_with`` topics detect:
        Webber et al. (2008), §5.3.
    sd
        The first estimate of the sd; by default the true sd of every pair.
    first, step
        Topics the iterative plan begins with, and how many it adds at a time.
    most
        Largest number of topics of open-ended plans; by default five times the topics of the fixed plan.
    repeats
        Simulated studies per pair, with equal systems and again with the target difference.
    """
    given = pairs if isinstance(pairs, PairedDifferences) else _unnamed(pairs)
    chosen = _known(plans)
    population = Population.of(given.differences)
    ask = _request(
        population,
        difference,
        detectable_with,
        sd,
        most,
        first,
        step,
        repeats,
        seed,
        workers,
        alpha=alpha,
        power=power,
        looks=looks,
        lowest=lowest,
        highest=highest,
    )
    outcomes, left_out = [], []
    for at, name in enumerate(chosen):
        try:
            outcomes.append(_outcome(name, ask))
        except CranfieldError as error:
            if len(chosen) == 1:
                raise
            left_out.append(f"{name} was left out: {error.what}")
        if progress is not None:
            progress(at + 1, len(chosen))
    included = None
    if population.pairs == 1 and "iterative" in chosen:
        walked, drawn = _iterative(ask, NULL), ask.options("iterative", NULL)
        included = inclusion(population, walked, seed=drawn["seed"], workers=workers)
    return PlanSimulation(
        measure=given.measure,
        names=given.names,
        topic_names=given.topics,
        outcomes=tuple(outcomes),
        difference=ask.differences,
        sd=population.sd,
        mean=population.mean,
        alpha=alpha,
        wanted_power=power,
        fixed_topics=ask.needed,
        first=first,
        step=step,
        repeats=repeats,
        seed=seed,
        differences=given.differences,
        included=included,
        warnings=(*_warnings(ask), *left_out),
    )


def _unnamed(differences: ArrayLike) -> PairedDifferences:
    rows = np.atleast_2d(np.asarray(differences, float))
    if not np.isfinite(rows).all():
        raise RequestError("some differences are missing or infinite", fix="Leave those topics out.")
    names = tuple((f"pair {at + 1}", "0") for at in range(len(rows)))
    return PairedDifferences("difference", names, tuple(str(at + 1) for at in range(rows.shape[1])), rows)


def _known(plans: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in plans:
        wanted = ["group-obrien-fleming", "group-pocock"] if name == "group-sequential" else [name]
        unknown = [each for each in wanted if each not in WAYS]
        if unknown:
            raise RequestError(f"there is no plan «{unknown[0]}»", fix=f"Choose among: {', '.join(WAYS)}.")
        found += wanted
    return list(dict.fromkeys(found))


def _request(
    population: Population,
    difference: float | None,
    detectable_with: int,
    sd: float | None,
    most: int | None,
    first: int,
    step: int,
    repeats: int,
    seed: int,
    workers: int | None,
    **goal: Any,
) -> _Request:
    from cranfield.methods import design

    if repeats < 1:
        raise RequestError(f"there must be 1 repeat or more, not {repeats}", fix="1000 is usual.")
    if step < 1:
        raise RequestError(f"a step must be 1 topic or more, not {step}", fix="Add 1 or more.")
    if difference is None:
        if not 2 <= detectable_with <= MOST_TOPICS:
            raise RequestError(f"{detectable_with} topics are not a possible design", fix="100 is usual.")
        sizes = effect_sizes(detectable_with, goal["alpha"], goal["power"])
        sought = population.sd * sizes[detectable_with]
    else:
        sought = np.full(population.pairs, difference)
    guessed = population.sd if sd is None else np.full(population.pairs, sd)
    goals = [
        StudyGoal(difference=gap, sd=spread, first=first, **goal)
        for gap, spread in zip(sought.tolist(), guessed.tolist(), strict=True)
    ]
    fixed = design.Design(alpha=goal["alpha"], spread=design.Sd(sd=guessed * (1 - 1e-9)))
    needed = design.size(fixed, design.Goal("difference", sought, goal["power"])).topics
    end = most or max(FARTHEST_LOOK * int(needed.max()), 2 * first)
    if max(end, int(needed.max())) > MOST_TOPICS * FARTHEST_LOOK:
        raise RequestError(
            f"{int(needed.max()):,} topics are too many to simulate",
            fix=f"Seek a larger difference; up to {MOST_TOPICS:,} topics are simulated.",
        )
    return _Request(population, goals, needed, step, max(end, int(needed.max())), repeats, seed, workers)


def _outcome(name: str, ask: _Request) -> PlanOutcome:
    null, real = _RUN[name](ask, NULL), _RUN[name](ask, DIFFERENT)
    shape = (ask.population.pairs, ask.repeats)
    sds, wrong = null.sd.reshape(shape), null.significant.reshape(shape)
    low, high = np.percentile(real.topics, [5, 95])
    return PlanOutcome(
        plan=name,
        topics=float(real.topics.mean()),
        topics_low=float(low),
        topics_high=float(high),
        topics_null=float(null.topics.mean()),
        sd_bias=_bias(sds / ask.population.sd[:, np.newaxis] - 1),
        false_positives=rate(int(null.significant.sum()), null.significant.size),
        power=rate(int(real.significant.sum()), real.significant.size),
        pair_sd=sds.mean(axis=1),
        pair_false_positives=wrong.mean(axis=1),
        pair_topics=null.topics.reshape(shape).mean(axis=1),
    )


def _bias(relative: Array) -> PathRate:
    """The mean over pairs with an interval for the repeats, the pairs being what they are."""
    pairs, repeats = relative.shape
    mean = float(relative.mean())
    spread = np.sqrt(relative.var(axis=1, ddof=1).sum() / repeats) / pairs if repeats > 1 else np.nan
    return PathRate(mean, float(mean - 1.96 * spread), float(mean + 1.96 * spread))


def _warnings(ask: _Request) -> tuple[str, ...]:
    skew = np.abs((ask.population.centred**3).mean(axis=1) / ask.population.sd**3)
    odd = int((skew / np.sqrt(ask.needed) > 0.25).sum())
    if not odd:
        return ()
    which = "these differences are" if ask.population.pairs == 1 else f"the differences of {odd} pairs are"
    return (
        f"{which} so skewed that the t test, on which every plan but anytime is based, is not reliable: a few topics "
        "decide, and samples often miss them",
    )
