"""The one goal of a pilot or a budget: the topics that each variance requires, and the detectable differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design.formulas import Method, range_method, width_method
from cranfield.methods.design.sample_size import pair_method, size, solve, width_with
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Array

GOALS = ("min_range", "difference", "width")
USUAL_RANGE = 0.15  # SS16's


@dataclass(frozen=True)
class Target:
    """A goal: ``goal`` is ``min_range``, ``difference`` (both for ``systems``) or ``width``.

    By default systems share topics: ``method`` for a range is ``blocked``, with the residual variance; ``exact`` and
    ``sakai`` are for systems that share no topics. ``test`` is the test of a difference: by default that of all pairs
    of ``systems``, ``t`` for a pair named in advance. ``value`` is None if the detectable difference is computed.

    >>> Target("min_range", 0.15, method="sakai").topics(np.array([0.114, 0.041])).tolist()  # SS16 Table 3
    [159.0, 58.0]
    >>> Target("difference", 0.05, test="tukey").topics(np.array([0.15**2 / 2])).tolist()
    [145.0]
    """

    goal: str = "min_range"
    value: float | None = 0.15
    systems: int = 10
    alpha: float = 0.05
    power: float = 0.8
    method: str = "blocked"
    test: str = ALL_PAIRS_TEST

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise RequestError(f"there is no goal «{self.goal}»", fix=f"Choose one of: {', '.join(GOALS)}.")
        self.topics(np.array([0.05]))  # validates the values

    @property
    def _way(self) -> Method:
        if self.goal == "min_range":
            return range_method(self.method)
        if self.goal == "width":
            return width_method()
        return pair_method(self.test, systems=None if self.test == "t" else self.systems)

    @property
    def citation(self) -> str:
        return self._way.citation

    @property
    def design(self) -> str:
        """The design in words: whether systems share topics."""
        return self._way.design

    @property
    def estimate(self) -> str:
        """The default estimate of the variance for the goal."""
        return "two-way" if self.goal == "min_range" and self.method != "blocked" else "residual"

    def _inputs(self, variance: Array) -> dict[str, Any]:
        """σ² for a range; the sd of paired differences, √(2σ²), for the others."""
        inputs: dict[str, Any] = {"alpha": self.alpha, "power": self.power, "systems": self.systems}
        inputs["variance" if self.goal == "min_range" else "sd"] = (
            variance if self.goal == "min_range" else np.sqrt(2 * variance)
        )
        return {name: value for name, value in inputs.items() if name in self._way.inputs}

    def topics(self, variance: Array) -> Array:
        """Return n for every variance; nan if the variance is nan, or if n exceeds ten million."""
        if self.value is None:
            return np.full(np.shape(variance), np.nan)
        flat = np.asarray(variance, float).ravel()
        good = np.flatnonzero(np.isfinite(flat) & (flat > 0))
        answer = np.full(len(flat), np.nan)
        if len(good):
            inputs: dict[str, Any] = {self.goal: self.value, **self._inputs(flat[good])}
            found = size(self._way, **inputs)
            answer[good] = np.where(found.reached, found.topics, np.nan)
        return answer.reshape(np.shape(variance))

    def seen(self, topics: Array, variance: Array) -> Array:
        """Return the detectable range or difference, or the interval width, with ``topics``; nan below two."""
        flat, spread = (np.asarray(each, float).ravel() for each in np.broadcast_arrays(topics, variance))
        good = np.flatnonzero((flat >= 2) & np.isfinite(spread) & (spread > 0))
        answer = np.full(len(flat), np.nan)
        if len(good):
            inputs = {"topics": flat[good], **self._inputs(spread[good])}
            answer[good] = width_with(**inputs) if self.goal == "width" else solve(self._way, self.goal, **inputs)
        return answer.reshape(np.broadcast_shapes(np.shape(topics), np.shape(variance)))

    def goal_words(self) -> str:
        """Return the goal in words, with its test and its design."""
        if not self.value:
            return ""
        pair = "two systems named in advance" if self.test == "t" else f"two of {self.systems} systems"
        words = {
            "min_range": f"detect a range of {self.value:g} among {self.systems} systems",
            "difference": f"detect a difference of {self.value:g} between {pair}",
            "width": f"have an interval of width {self.value:g} around a difference",
        }
        power = "" if self.goal == "width" else f" with power {self.power:g}"
        return f"{words[self.goal]}{power} at α = {self.alpha:g} ({self._way.title}; {self.design})"


def choose_target(
    *,
    min_range: float | None = None,
    difference: float | None = None,
    width: float | None = None,
    systems: int = 10,
    alpha: float = 0.05,
    power: float = 0.8,
    method: str = "blocked",
    test: str | None = None,
) -> Target:
    """Return the goal that was named; by default a range of 0.15.

    >>> choose_target(difference=0.05).goal
    'difference'
    """
    given = {"min_range": min_range, "difference": difference, "width": width}
    named = {goal: value for goal, value in given.items() if value is not None} or {"min_range": USUAL_RANGE}
    if len(named) > 1:
        goals = ", ".join(f"`{goal}`" for goal in named)
        raise RequestError(f"choose one of {goals}", fix="Ask for the others afterwards.")
    goal, value = next(iter(named.items()))
    if test is not None and goal != "difference":
        raise NoEffectError("`test` goes with `difference`", parameter="test", fix="Leave it out.")
    return Target(goal, value, systems, alpha, power, method, test or ALL_PAIRS_TEST)


USUAL_SYSTEMS = 10  # SS16's


def target_for(
    there: int,
    *,
    systems: int | None = None,
    min_range: float | None = None,
    difference: float | None = None,
    width: float | None = None,
    method: str = "blocked",
    test: str | None = None,
    **levels: float,
) -> Target:
    """The goal that was named, for ``systems`` systems; ``levels`` are alpha and power.

    By default a difference is between two of all the systems ``there``, as in ``cranfield size`` with their scores, and
    a range is that of ten systems. A parameter without effect on the goal is an error.

    >>> target_for(129, difference=0.05).systems
    129
    """
    named = "difference" if difference is not None else "width" if width is not None else "min_range"
    if method != "blocked" and named != "min_range":
        raise NoEffectError("`method` goes with `min_range`", parameter="method", fix="Leave it out.")
    if systems is not None and (named == "width" or test == "t"):
        what = "`width`" if named == "width" else '`test="t"`, a pair named in advance'
        raise NoEffectError(f"`systems` has no effect with {what}", parameter="systems", fix="Leave it out.")
    if systems is None:
        systems = USUAL_SYSTEMS if named == "min_range" else max(there, 2)
    return choose_target(
        min_range=min_range, difference=difference, width=width, systems=systems, method=method, test=test, **levels
    )


def check_design(target: Target, estimate: str) -> str:
    """The estimate, where it goes with the goal: systems that share topics are compared by the residual variance.

    The width of an interval can be used with any of them; Sakai (2014), §5.4, uses the two-way variance.
    """
    if target.goal == "difference" and estimate != "residual":
        raise RequestError(f"a difference on shared topics has no {estimate} variance", fix="Leave out `estimate`.")
    if target.goal == "min_range" and (target.method == "blocked") != (estimate == "residual"):
        fits = "residual" if target.method == "blocked" else "two-way, one-way or within"
        other = "exact" if target.method == "blocked" else "blocked"
        raise RequestError(
            f"method «{target.method}» does not go with the {estimate} variance",
            fix=f'Take {fits}, or `method="{other}"`.',
        )
    return estimate


def variance_words(estimate: str) -> str:
    """The variance in words, with the design that it belongs to where topics are not shared.

    >>> variance_words("two-way")
    'two-way variance, as if systems shared no topics'
    """
    return f"{estimate} variance" + ("" if estimate == "residual" else ", as if systems shared no topics")


def measure_lines(measures: Iterable[str], claim: Callable[[str], str]) -> str:
    """What is claimed of every measure: one line each, which begins with its name where there are several.

    >>> measure_lines(["AP"], "{} is fine.".format), measure_lines(["AP", "RR"], "{} is fine.".format)
    ('AP is fine.', 'AP: AP is fine.\\nRR: RR is fine.')
    """
    names = list(dict.fromkeys(measures))
    return "\n".join(f"{name}: {claim(name)}" if len(names) > 1 else claim(name) for name in names)
