"""How many topics: one search for every question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.design.checking import broadcast
from cranfield.design.questions import (
    MOST_TOPICS,
    Method,
    difference_method,
    range_method,
    sensitivity_method,
    width_method,
)
from cranfield.errors import RequestError
from cranfield.stats.roots import smallest_integer

Array = npt.NDArray[Any]
Numbers = npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Size:
    """The number of topics for every cell of a grid.

    ``topics`` is the smallest n that does it; ``achieved`` what n gives (a power, a width or a sensitivity, as
    ``method.is_power`` says), ``below`` what n − 1 gives (nan where there is none). Where no n up to ``limit`` does,
    ``reached`` is false and ``achieved`` is what the limit gives.
    """

    method: Method
    inputs: Mapping[str, Array]
    topics: Array
    reached: Array
    achieved: Array
    below: Array
    limit: int

    def to_dict(self) -> list[dict[str, Any]]:
        """One row a cell: the inputs, ``topics`` (none where out of reach), and what n and n − 1 give."""
        word = "power" if self.method.is_power else self.method.inputs[0]
        names = list(self.inputs)
        rows = []
        for at in range(self.topics.size):
            row: dict[str, Any] = {"method": self.method.name}
            row |= {name: _plain(self.inputs[name].flat[at]) for name in names}
            row["topics"] = int(self.topics.flat[at]) if self.reached.flat[at] else None
            row[f"achieved_{word}"] = float(self.achieved.flat[at])
            row[f"{word}_below"] = float(self.below.flat[at])
            rows.append(row)
        return rows

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """One sentence on the first cell."""
        row = self.to_dict()[0]
        return explain(self, row)


def explain(size: Size, row: Mapping[str, Any]) -> str:
    """What may be claimed with a cell's number of topics."""
    method = size.method
    word = "power" if method.is_power else method.inputs[0]
    got = row[f"achieved_{word}"]
    if row["topics"] is None:
        return (
            f"No number of topics up to {size.limit:,} does this: {size.limit:,} give a {word} of {got:.4g}. "
            "Ask for less, or find a measure with less variance."
        )
    return f"{row['topics']:,} topics ({method.title}): {word} {got:.4g} with {row['topics']:,}."


def _plain(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() and abs(number) >= 2 else number


def size(method: Method, *, limit: int = MOST_TOPICS, **inputs: Any) -> Size:
    """The smallest number of topics with which ``method`` gives what is asked for."""
    flat, shape = broadcast({name: inputs[name] for name in method.inputs})
    target = np.asarray(method.target(flat))

    def value(topics: Array, index: Array) -> Array:
        return method.value(topics.astype(float), {name: values[index] for name, values in flat.items()})

    def enough(topics: Array, index: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray(value(topics, index) >= target[index])

    guess = np.nan_to_num(method.guess(flat), nan=100.0, posinf=limit)
    topics, reached = smallest_integer(enough, guess, lowest=method.fewest, highest=limit)
    everywhere = np.arange(len(topics))
    achieved = value(topics, everywhere)
    below = np.full(len(topics), np.nan)
    some = np.flatnonzero(topics > method.fewest)
    below[some] = value(topics[some] - 1, some)
    sign = 1.0 if method.is_power else -1.0
    return Size(
        method,
        {name: values.reshape(shape) for name, values in flat.items()},
        topics.reshape(shape),
        reached.reshape(shape),
        (sign * achieved).reshape(shape),
        (sign * below).reshape(shape),
        limit,
    )


def size_for_range(
    *,
    systems: Numbers,
    min_range: Numbers,
    variance: Numbers,
    alpha: Numbers = 0.05,
    power: Numbers = 0.8,
    method: str = "exact",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to find, with probability ``power``, that m systems are not all alike when they range over ``min_range``.

    ``exact`` and ``sakai`` take the variance of one system's scores, ``blocked`` the residual variance.

    >>> int(size_for_range(systems=10, min_range=0.10, variance=0.0530, method="sakai").topics)  # S14 Table 4(I)
    166
    """
    found = range_method(method)
    return size(found, systems=systems, min_range=min_range, variance=variance, alpha=alpha, power=power, limit=limit)


def size_for_difference(
    *,
    difference: Numbers | None = None,
    sd: Numbers | None = None,
    effect_size: Numbers | None = None,
    alpha: Numbers = 0.05,
    power: Numbers = 0.8,
    sides: int = 2,
    method: str = "t",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to find, with probability ``power``, that two systems differ when they differ by ``difference``.

    ``sd`` is that of the paired differences (``t``, ``normal``) or of one system's scores (``unpaired``);
    ``effect_size`` is the difference over that sd, and stands in for both.

    >>> int(size_for_difference(difference=0.033, sd=0.15).topics)  # WMZ08 §5.1 prints the truncated 164
    165
    """
    difference, sd = as_difference(difference, sd, effect_size)
    found = difference_method(method, sides=check_sides(sides))
    return size(found, difference=difference, sd=sd, alpha=alpha, power=power, limit=limit)


def size_for_width(*, width: Numbers, sd: Numbers, alpha: Numbers = 0.05, limit: int = MOST_TOPICS) -> Size:
    """Topics for a confidence interval whose expected width is at most ``width``; ``sd`` is of paired differences.

    >>> int(size_for_width(width=0.10, sd=(2 * 0.0530) ** 0.5).topics)  # S14 Table 8, AP
    165
    """
    return size(width_method(), width=width, sd=sd, alpha=alpha, limit=limit)


def size_for_sensitivity(
    *, sensitivity: Numbers, sd: Numbers, alpha: Numbers = 0.05, sides: int = 2, limit: int = MOST_TOPICS
) -> Size:
    """Topics with which a mean is within ± ``sensitivity`` of the truth with probability 1 − α, by D13.

    ``sd`` is that of one system's scores for its mean (Inequality 1), of paired differences for a difference
    (Inequality 2).

    >>> int(size_for_sensitivity(sensitivity=0.0192, sd=0.1479).topics)  # D13 §3: 228
    228
    """
    found = sensitivity_method(sides=check_sides(sides))
    return size(found, sensitivity=sensitivity, sd=sd, alpha=alpha, limit=limit)


def as_difference(
    difference: Numbers | None, sd: Numbers | None, effect_size: Numbers | None
) -> tuple[Numbers, Numbers]:
    """A difference and its sd; an effect size is a difference in units of its sd."""
    if effect_size is not None:
        if difference is not None or sd is not None:
            raise RequestError("an effect size stands for difference and sd", fix="Give either it, or both of them.")
        return effect_size, 1.0
    if difference is None or sd is None:
        raise RequestError("a difference needs its sd", fix="Give difference and sd, or effect_size.")
    return difference, sd


def check_sides(sides: int) -> int:
    if sides not in (1, 2):
        raise RequestError(f"a test has one side or two, not {sides}")
    return sides
