"""The one goal of a pilot, a budget or a report: the topics that each variance requires, and what they detect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design.formulas import Design, Method, method_of
from cranfield.methods.design.goals import Goal, Scale, check_scale, claim, default_difference
from cranfield.methods.design.solver import solve
from cranfield.methods.design.spreads import Sd
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Array

TARGET_GOALS = ("difference", "min_range", "width")


@dataclass(frozen=True)
class Target:
    """A goal, and a design without its topics and its variance.

    The value of the goal is nan where the detectable difference is computed. ``scales`` are those of the measures, by
    name, where the goal is the default one: it then is a difference on the scale of each measure.

    >>> range_of_means = Target(Design(systems=10, test="sakai"), Goal("min_range", 0.15))
    >>> range_of_means.topics(np.array([0.114, 0.041])).tolist()  # SS16 Table 3
    [159.0, 58.0]
    >>> Target(Design(systems=10, test="tukey")).topics(np.array([0.15**2 / 2])).tolist()
    [145.0]
    """

    design: Design = field(default_factory=lambda: Design(systems=10, test=ALL_PAIRS_TEST))
    goal: Goal = field(default_factory=lambda: Goal(value=default_difference()))
    scales: Mapping[str, Scale] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.goal.kind not in TARGET_GOALS:
            raise RequestError(f"there is no goal «{self.goal.kind}»", fix=f"Choose one of: {', '.join(TARGET_GOALS)}.")
        self.topics(np.array([0.05]))  # validates the values

    @property
    def method(self) -> Method:
        return method_of(self.goal, self.design.test)

    @property
    def value(self) -> float:
        """The value of the goal; nan where there is none."""
        return float(np.asarray(self.goal.value))

    @property
    def has_value(self) -> bool:
        return self.value == self.value

    @property
    def estimate(self) -> str:
        """The default estimate of the variance for the goal."""
        return "two-way" if self.method.name in ("exact", "sakai") else "residual"

    def of(self, measure: str) -> Target:
        """The same on the scale of a measure."""
        scale = self.scales.get(measure)
        return self if scale is None else replace(self, goal=self.goal._replace(value=default_difference(scale)))

    def with_value(self, value: float) -> Target:
        return replace(self, goal=self.goal._replace(value=value), scales={})

    def topics(self, variance: Array) -> Array:
        """Return n for every variance; nan if the variance is nan, or if n exceeds ten million."""
        flat, answer, good = _cells(variance, variance)
        if self.has_value and len(good):
            answer[good] = solve(replace(self.design, spread=Sd.of_variance(flat[good])), self.goal)
        return answer.reshape(np.shape(variance))

    def detectable(self, topics: Array, variance: Array) -> Array:
        """Return the detectable range or difference, or the interval width, with ``topics``; nan below two."""
        counts, spread = (np.asarray(each, float) for each in np.broadcast_arrays(topics, variance))
        flat, answer, good = _cells(spread, np.where(counts >= 2, spread, np.nan))
        if len(good):
            design = replace(self.design, topics=counts.ravel()[good], spread=Sd.of_variance(flat[good]))
            answer[good] = solve(design, self.goal, self.goal.kind)
        return answer.reshape(counts.shape)

    def goal_words(self) -> str:
        """Return the goal in words, with its test and its design."""
        if not self.has_value:
            return ""
        row: dict[str, Any] = {self.goal.kind: self.value, "systems": self.systems, "alpha": self.design.alpha}
        if self.goal.at_least is not None:
            row["power"] = self.goal.at_least
        return f"{claim(self.goal.kind, self.method.name, row)} ({self.method.title}; {self.method.design})"

    @property
    def systems(self) -> int:
        return int(np.asarray(self.design.systems))


def _cells(variance: Array, known: Array) -> tuple[Array, Array, Array]:
    """The variances, an empty answer for each, and where one can be given."""
    flat = np.asarray(variance, float).ravel()
    checked = np.asarray(known, float).ravel()
    return flat, np.full(len(flat), np.nan), np.flatnonzero(np.isfinite(checked) & (checked > 0))


def target_for(
    available: int,
    *,
    systems: int | None = None,
    min_range: float | None = None,
    difference: float | None = None,
    width: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    method: str = "blocked",
    test: str | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> Target:
    """The goal that was named, for ``systems`` systems, by default for all that are ``available``.

    Where none is named it is the default one, a difference on the scale of each measure.

    >>> target_for(129, difference=0.05).systems, target_for(129).value
    (129, 0.05)
    """
    named = {"min_range": min_range, "difference": difference, "width": width}
    goals = {goal: value for goal, value in named.items() if value is not None}
    kind, value = next(iter(goals.items()), ("difference", default_difference()))
    for scale in (scales or {}).values() if goals else ():
        check_scale(kind, [value], (), scale)
    count = systems or max(available, 2)
    chosen = {"min_range": method, "width": "t"}.get(kind) or test or (ALL_PAIRS_TEST if count > 2 else "t")
    return Target(
        Design(systems=count, test=chosen, alpha=alpha),
        Goal(kind, value, None if kind == "width" else power),
        {} if goals else dict(scales or {}),
    )


def measure_lines(measures: Iterable[str], claim: Callable[[str], str]) -> str:
    """What is claimed of every measure: one line each, which begins with its name where there are several.

    >>> measure_lines(["AP"], "{} is fine.".format), measure_lines(["AP", "RR"], "{} is fine.".format)
    ('AP is fine.', 'AP: AP is fine.\\nRR: RR is fine.')
    """
    names = list(dict.fromkeys(measures))
    return "\n".join(f"{name}: {claim(name)}" if len(names) > 1 else claim(name) for name in names)
