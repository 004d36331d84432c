"""One solver for designs: what a design achieves for a goal, and any one of its numbers from the others.

    achieved(design, goal)             the power of the goal (or width, sensitivity, probability, reliability)
    solve(design, goal, "topics")      the smallest n that reaches it; or any other number of the design or the goal
    cheapest(design, goal, costs, …)   several counts at once: those of the least cost, or the most for a budget

Arrays broadcast: a grid of numbers is a design, and the answers are arrays of its shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design.formulas import MOST_TOPICS, SEPARATE, Design, Method, method_of
from cranfield.methods.design.goals import Goal, claim
from cranfield.methods.design.inputs import broadcast
from cranfield.methods.design.spreads import Estimated, Sd
from cranfield.stats.family import FAMILIES, pair_level
from cranfield.stats.roots import crossing, smallest_integer
from cranfield.stats.tails import t_critical
from cranfield.types import Array

# --- the two functions


def achieved(design: Design, goal: Goal) -> Array:
    """What a design achieves for a goal: its power, or the width, sensitivity, probability or reliability.

    Parameters
    ----------
    design
        With its number of topics.
    goal
        The goal; its ``at_least`` has no effect.

    Returns
    -------
    Array
        One number for every design of the grid.

    Examples
    --------
    >>> designs = Design(topics=73, systems=[10, 50], test="tukey", spread=Sd(sd=0.15))
    >>> achieved(designs, Goal("difference", 0.05)).round(3).tolist()
    [0.373, 0.126]
    >>> mean = Design(topics=50, spread=Sd(sd=0.1479))  # D13 §3 prints .0409, cut off
    >>> round(float(achieved(mean, Goal("sensitivity"))), 6)
    0.040995
    """
    problem = _Problem.of(design, goal, unknown="")
    return problem.value(problem.design, problem.goal).reshape(problem.shape)


def solve(design: Design, goal: Goal, unknown: str = "topics", *, limit: int = MOST_TOPICS) -> Array:
    """Find the number that is unknown: so that the goal is just reached.

    Parameters
    ----------
    design, goal
        All numbers but the unknown one.
    unknown
        ``topics``, ``systems``, ``alpha``, ``sd``, a count of the spread (`COUNTS`), what the goal achieves, such as
        ``power``, or the kind of the goal for the smallest value that the topics detect.
    limit
        The largest number of topics to consider.

    Returns
    -------
    Array
        The smallest number of topics, the largest number of systems, or any other number; nan where there is none.

    References
    ----------
    Sakai (2014), §3.1; Webber, Moffat and Zobel (2008), §3 and §5.1; Tukey (1949); Dunnett (1955); Schuirmann (1987).

    Examples
    --------
    >>> int(solve(Design(spread=Sd(sd=0.15)), Goal("difference", 0.033)))  # WMZ08 §5.1 prints the truncated 164
    165
    >>> designs = Design(systems=[2, 5, 10, 20, 50], test="tukey", spread=Sd(sd=0.15))
    >>> solve(designs, Goal("difference", 0.05)).astype(int).tolist()
    [73, 116, 145, 174, 211]
    >>> table4 = Design(systems=10, test="sakai", spread=Sd.of_variance(0.0530))  # S14 Table 4(I)
    >>> int(solve(table4, Goal("min_range", 0.10)))
    166
    >>> int(solve(Design(spread=Sd.of_variance(0.0530)), Goal("width", 0.10, None)))  # S14 Table 8, AP
    165
    >>> int(solve(Design(test="tost"), Goal("equivalence", 0.3))), int(solve(Design(), Goal("non_inferiority", 0.3)))
    (97, 71)
    >>> int(solve(Design(spread=Sd(sd=0.1479)), Goal("sensitivity", 0.0192)))  # D13 §3
    228
    >>> round(float(solve(Design(topics=50), Goal("effect_size"), "effect_size")), 3)  # WMZ08 §3: 0.40
    0.404
    """
    if unknown == "topics":
        found = size(design, goal, limit=limit)
        return np.where(found.reached, found.topics.astype(float), np.nan)
    problem = _Problem.of(design, goal, unknown)
    if unknown == problem.method.achieves:
        return problem.value(problem.design, problem.goal).reshape(problem.shape)
    if unknown == "systems":
        return problem.most_systems().reshape(problem.shape)
    if unknown in COUNTS:
        counts, reached = problem.fewest(unknown, limit)
        return np.where(reached, counts.astype(float), np.nan).reshape(problem.shape)
    if unknown not in (goal.kind, *_ENDS):
        raise RequestError(f"«{unknown}» is no number of this design")
    return problem.crossing(unknown).reshape(problem.shape)


COUNTS = ("judged_topics", "items", "repeats")
"""The numbers of a spread that are counts, of which the smallest is solved for."""


ORDER = (
    "systems",
    "min_range",
    "effect_size",
    "difference",
    "equivalence",
    "non_inferiority",
    "true_difference",
    "width",
    "sensitivity",
    "reliability",
    "within_variance",
    "variance",
    "correlation",
    "sd",
    "between",
    "within",
    "shared_variance",
    "repeat_variance",
    "items",
    "repeats",
    "alpha",
    "power",
    "probability",
)
"""Order of the inputs in rows and tables."""


@dataclass(frozen=True, eq=False)
class Size:
    """The number of topics for every design of a grid, with what n and n − 1 of them achieve.

    Where no n up to ``limit`` reaches the goal, ``reached`` is false and ``achieved`` belongs to the limit. ``inputs``
    has the numbers of the request, and those computed from them, by the names that rows have.
    """

    design: Design
    goal: Goal
    method: Method
    inputs: Mapping[str, Array]
    topics: Array
    reached: Array
    achieved: Array
    below: Array
    limit: int

    @property
    def kind(self) -> str:
        return self.goal.kind

    def with_topics(self, topics: Any) -> Array:
        """What other numbers of topics achieve in the cells."""
        return achieved(replace(self.design, topics=topics), self.goal)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per cell: the inputs, ``topics`` (None if not reached), and the values with n and n − 1."""
        word, names = self.method.achieves, [name for name in ORDER if name in self.inputs]
        rows = []
        for cell in range(self.topics.size):
            row: dict[str, Any] = {"method": self.method.name, "test": self.method.test, "design": self.method.design}
            row |= {name: _plain(self.inputs[name].flat[cell]) for name in names}
            row["topics"] = int(self.topics.flat[cell]) if self.reached.flat[cell] else None
            row[f"achieved_{word}"] = float(self.achieved.flat[cell])
            row[f"{word}_below"] = float(self.below.flat[cell])
            rows.append(row)
        return rows

    def claim(self, row: Mapping[str, Any]) -> str:
        """The part of the sentence after «n topics»."""
        said = claim(self.kind, self.method.name, row)
        return said.replace("with power", "with expected power") if self.method.is_expected else said

    @property
    def per_system(self) -> str:
        """What is said after «n topics» if every system has its own."""
        return " per system" if self.method.design == SEPARATE else ""

    def conditions(self, row: Mapping[str, Any]) -> str:
        """The test and the design in words."""
        method = self.method
        told = [method.title] if method.name == "clt" else [method.title, row["design"]]
        return "; ".join([*told, *([f"ρ = {row['correlation']:g}"] if "correlation" in row else [])])

    def summary(self) -> str:
        """Return one sentence about the first cell: the number of topics, the goal, the test and the design."""
        row = self.to_dict()[0]
        if row["topics"] is None:
            word = self.method.achieves
            return (
                f"No number of topics up to {self.limit:,} is enough: {self.limit:,} give a {word} of "
                f"{row[f'achieved_{word}']:.4g}. Ask for less, or choose a measure with less variance."
            )
        return f"{row['topics']:,} topics{self.per_system} {self.claim(row)} ({self.conditions(row)})."


def _plain(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() and abs(number) >= 2 else number


def size(design: Design, goal: Goal, *, limit: int = MOST_TOPICS, inputs: Mapping[str, Array] | None = None) -> Size:
    """The smallest number of topics that reaches a goal, and what it and one topic fewer achieve."""
    problem = _Problem.of(replace(design, topics=2), goal, "topics")
    topics, reached = problem.fewest("topics", limit)
    below = np.full(len(topics), np.nan)
    some = np.flatnonzero(topics > problem.method.fewest)
    below[some] = problem.value_with("topics", topics[some] - 1, some)
    values = (topics, reached, problem.value_with("topics", topics, np.arange(len(topics))), below)
    n, is_reached, value, one_fewer = (each.reshape(problem.shape) for each in values)
    return Size(design, goal, problem.method, inputs or problem.inputs, n, is_reached, value, one_fewer, limit)


_ENDS = {"alpha": (1e-300, 1.0), "sd": (1e-9, 1e9)}
"""Where a number is looked for; wide enough for any score."""


@dataclass(frozen=True, eq=False)
class _Problem:
    """A design and a goal as arrays of one length, and the shape of the grid."""

    method: Method
    design: Design
    goal: Goal
    shape: tuple[int, ...]

    @classmethod
    def of(cls, design: Design, goal: Goal, unknown: str) -> _Problem:
        """Check and broadcast all numbers that the answer depends on."""
        method = method_of(goal, design.test)
        _check_sides(design)
        least = method.achieves if method.achieves in ("power", "probability") else goal.kind
        numbers: dict[str, Any] = {name: getattr(design, name) for name in _ARRAYS} | design.spread.numbers
        numbers |= {goal.kind: goal.value, "true_difference": goal.true_difference}
        if least != goal.kind:
            numbers[least] = goal.at_least if unknown not in ("", least) else float("nan")
        single = {"topics"} if method.fewest == 1 else set()  # one topic has a mean, but no variance
        flat, shape = broadcast(numbers, unchecked={unknown or least} | single)
        wide = {name: flat[name] for name in design.spread.numbers}
        arrays: dict[str, Any] = {name: flat[name] for name in _ARRAYS}
        design = replace(design, **arrays, spread=replace(design.spread, **wide))
        return cls(method, design, Goal(goal.kind, flat[goal.kind], flat[least], flat["true_difference"]), shape)

    @property
    def inputs(self) -> dict[str, Array]:
        """The numbers that matter, by the names of rows."""
        design, goal, method = self.design, self.goal, self.method
        numbers: dict[str, Any] = {**design.spread.numbers, goal.kind: goal.value, "alpha": design.alpha}
        if goal.kind == "min_range":
            numbers = {**numbers, "variance": np.square(np.asarray(numbers.pop("sd"))) / 2}
        if "systems" in method.uses:
            numbers["systems"] = design.systems
        if "true_difference" in method.uses:
            numbers["true_difference"] = goal.true_difference
        if method.achieves in ("power", "probability"):
            numbers[method.achieves] = goal.at_least
        return {name: np.asarray(value).reshape(self.shape) for name, value in numbers.items()}

    def value(self, design: Design, goal: Goal) -> Array:
        """What designs achieve: where the sd is an estimate, on average over what the true one may be."""
        with np.errstate(invalid="ignore"):
            once = self.method.value(design, goal)
            if not (isinstance(design.spread, Estimated) and self.method.is_power):
                return once
            sds = design.spread.quantiles()
            many = np.repeat(np.arange(len(sds)), sds.shape[1])
            spread_out = replace(_design_at(design, many), spread=Sd(sd=sds.ravel()))
            powers = np.nan_to_num(self.method.value(spread_out, _goal_at(goal, many))).reshape(sds.shape)
            return np.asarray(np.fmin(powers.mean(axis=1), once))  # never more than at the estimate

    def value_with(self, name: str, numbers: Array, index: Array) -> Array:
        """What the designs of some cells achieve with other values of one number."""
        design, goal = _design_at(self.design, index), _goal_at(self.goal, index)
        if name == goal.kind:
            return self.value(design, goal._replace(value=numbers))
        return self.value(design.with_numbers(**{name: numbers.astype(float)}), goal)

    def is_reached(self, name: str, numbers: Array, index: Array) -> Array:
        """Whether they reach the goal."""
        value, target = self.value_with(name, numbers, index), np.asarray(self.goal.at_least)[index]
        return np.asarray(value <= target if self.method.is_smaller_better else value >= target)

    def fewest(self, name: str, limit: int) -> tuple[Array, Array]:
        """The smallest count of every cell that reaches the goal, and whether there is one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = np.nan_to_num(self.method.guess(self.design, self.goal), nan=100.0, posinf=limit)
        lowest = max(self.method.fewest, self.design.spread.fewest) if name == "topics" else 1
        return smallest_integer(partial(self.is_reached, name), guess, lowest=lowest, highest=limit)

    def crossing(self, name: str) -> Array:
        """The value of another number at which the goal is just reached."""
        target = np.asarray(self.goal.at_least)
        low, high = _ENDS.get(name, (1e-9, 1e6))
        highest = np.minimum(high, target) if name == "alpha" else np.full(len(target), high)
        return crossing(partial(self.value_with, name), target, np.full(len(target), low), highest)

    def most_systems(self) -> Array:
        """The largest m with the required power, which decreases as systems are added (except with very few topics)."""

        def too_many(systems: Array, index: Array) -> Array:
            return np.logical_not(self.is_reached("systems", systems, index))

        tens = np.full(len(np.asarray(self.goal.at_least)), 10.0)
        first_bad, there_is = smallest_integer(too_many, tens, lowest=2, highest=100_000)
        most = np.where(there_is, first_bad - 1, first_bad)
        if (most < 2).any():
            raise RequestError(
                "this power is not reached even with two systems", fix="Use more topics, or ask for less."
            )
        return most


_ARRAYS = ("topics", "systems", "alpha")


def _design_at(design: Design, index: Array) -> Design:
    some: dict[str, Any] = {name: np.asarray(getattr(design, name))[index] for name in _ARRAYS}
    return replace(design, **some, spread=design.spread.at(index))


def _goal_at(goal: Goal, index: Array) -> Goal:
    return Goal(goal.kind, *(np.asarray(each)[index] for each in goal[1:]))


def _check_sides(design: Design) -> None:
    if design.sides not in (1, 2):
        raise RequestError(f"a test has one side or two, not {design.sides}")
    if design.sides == 1 and design.test in FAMILIES:
        raise RequestError("one-sided tests are for a pair named in advance", fix="Use test t.")


def significant_difference(design: Design) -> Array:
    """The smallest observed difference that is significant; for Tukey's test, q·√(MSE/n).

    A true difference of this size is significant half of the time; the detectable difference is larger.
    """
    n, m, alpha = (np.asarray(each, float) for each in (design.topics, design.systems, design.alpha))
    error, df = design.spread.error(n, m, design.test)
    level = pair_level(design.test, alpha, m, n, df)
    return np.asarray(t_critical(level / design.sides, df) * error)
