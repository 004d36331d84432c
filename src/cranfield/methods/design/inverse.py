"""Solving a design for any one of its quantities."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design import power_functions
from cranfield.methods.design.formulas import Method, range_method
from cranfield.methods.design.request import broadcast
from cranfield.methods.design.sample_size import as_difference, check_sides, pair_method, size
from cranfield.stats.family import LEVELS, degrees
from cranfield.stats.roots import crossing, smallest_integer
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

# Search ranges; wide enough for any score.
_ENDS = {"min_range": (1e-9, 1e6), "difference": (1e-9, 1e6), "variance": (1e-12, 1e12), "sd": (1e-9, 1e9)}


def power_of(method: Method, topics: ArrayLike, **inputs: Any) -> Array:
    """The power of ``method`` with ``topics``."""
    names = [name for name in method.inputs if name != "power"]
    flat, shape = broadcast({"topics": topics, **{name: inputs[name] for name in names}})
    return np.asarray(method.value(flat["topics"], flat)).reshape(shape)


def solve(method: Method, wanted: str, **inputs: Any) -> Array:
    """Solve for the input of ``method`` (or ``topics``, or ``power``) that is not given."""
    if wanted == "topics":
        return size(method, **inputs).topics
    if wanted == "power":
        return power_of(method, **inputs)
    flat, shape = broadcast(inputs)
    if wanted == "systems":
        return _most_systems(method, flat).reshape(shape)
    ends = _ENDS.get(wanted, (1e-300, float(np.min(flat["power"])))) if wanted == "alpha" else _ENDS[wanted]

    def value(x: Array, index: Array) -> Array:
        cells = {name: values[index] for name, values in flat.items()} | {wanted: x}
        return method.value(cells["topics"], cells)

    count = len(flat["power"])
    low, high = np.full(count, ends[0]), np.full(count, ends[1])
    return crossing(value, flat["power"], low, high).reshape(shape)


def _most_systems(method: Method, flat: dict[str, Array]) -> Array:
    """The largest m with the required power, which decreases as systems are added (except with very few topics)."""

    def too_many(systems: Array, index: Array) -> Array:
        cells = {name: values[index] for name, values in flat.items()} | {"systems": systems.astype(float)}
        return np.asarray(method.value(cells["topics"], cells) < cells["power"])

    first_bad, there_is = smallest_integer(too_many, np.full(len(flat["power"]), 10.0), lowest=2, highest=100_000)
    most = np.where(there_is, first_bad - 1, first_bad)
    if (most < 2).any():
        raise RequestError("this power is not reached even with two systems", fix="Use more topics, or ask for less.")
    return most


def power_for_range(
    *,
    topics: ArrayLike,
    systems: ArrayLike,
    min_range: ArrayLike,
    variance: ArrayLike,
    alpha: ArrayLike = 0.05,
    method: str = "exact",
) -> Array:
    """The power to detect that the means of m systems, which range over ``min_range``, are not all equal."""
    given = {"systems": systems, "min_range": min_range, "variance": variance, "alpha": alpha}
    return power_of(range_method(method), topics, **given)


def power_for_difference(
    *,
    topics: ArrayLike,
    difference: ArrayLike | None = None,
    sd: ArrayLike | None = None,
    effect_size: ArrayLike | None = None,
    systems: ArrayLike | None = None,
    test: str | None = None,
    alpha: ArrayLike = 0.05,
    sides: int = 2,
    method: str = "t",
) -> Array:
    """The power to detect a ``difference`` of two systems: named in advance, or of ``systems`` by a family's ``test``.

    >>> [round(float(power_for_difference(topics=73, difference=0.05, sd=0.15, systems=m, test="tukey")), 3)
    ...  for m in (10, 50)]
    [0.373, 0.126]
    """
    difference, sd = as_difference(difference, sd, effect_size)
    found = pair_method(test, systems=systems, method=method, sides=sides)
    given = {} if systems is None else {"systems": systems}
    return power_of(found, topics, difference=difference, sd=sd, alpha=alpha, **given)


def detectable_range(
    *,
    topics: ArrayLike,
    systems: ArrayLike,
    variance: ArrayLike,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    method: str = "exact",
) -> Array:
    """The smallest range of m systems' means that ``topics`` detect with ``power``."""
    given = {"topics": topics, "systems": systems, "variance": variance, "alpha": alpha, "power": power}
    return solve(range_method(method), "min_range", **given)


def detectable_difference(
    *,
    topics: ArrayLike,
    sd: ArrayLike = 1.0,
    systems: ArrayLike | None = None,
    test: str | None = None,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    sides: int = 2,
    method: str = "t",
) -> Array:
    """The smallest difference of two systems that ``topics`` detect with ``power``; with ``sd`` 1, the effect size.

    The pair is named in advance, or one of ``systems`` systems that a family's ``test`` compares.

    >>> round(float(detectable_difference(topics=50)), 3)  # WMZ08 §3: an effect size of 0.40
    0.404
    """
    given = {"topics": topics, "sd": sd, "alpha": alpha, "power": power}
    found = pair_method(test, systems=systems, method=method, sides=sides)
    return solve(found, "difference", **given, **({} if systems is None else {"systems": systems}))


def significant_difference(
    *, topics: ArrayLike, sd: ArrayLike, systems: ArrayLike, test: str = "tukey", alpha: ArrayLike = 0.05
) -> Array:
    """The smallest observed difference that is significant under ``test``; for Tukey's test, q·√(MSE/n).

    A true difference of this size is significant half of the time; the detectable difference is larger.
    """
    flat, shape = broadcast({"topics": topics, "sd": sd, "systems": systems, "alpha": alpha})
    n, m = flat["topics"], flat["systems"]
    level = flat["alpha"] if test == "t" else LEVELS[test](flat["alpha"], m, n)
    critical = t_critical(level / 2, degrees(test, m, n))
    return np.asarray(critical * flat["sd"] / np.sqrt(n)).reshape(shape)


def width_with(*, topics: ArrayLike, sd: ArrayLike, alpha: ArrayLike = 0.05) -> Array:
    """The expected width of a confidence interval with ``topics``."""
    flat, shape = broadcast({"topics": topics, "sd": sd, "alpha": alpha})
    return power_functions.expected_width(flat["topics"], flat["sd"], flat["alpha"]).reshape(shape)


def sensitivity_with(*, topics: ArrayLike, sd: ArrayLike, alpha: ArrayLike = 0.05, sides: int = 2) -> Array:
    """The half-width of the interval of a mean over ``topics``, by the central limit theorem.

    >>> f"{sensitivity_with(topics=50, sd=0.1479):.6f}"  # D13 §3 prints .0409, cut off
    '0.040995'
    """
    flat, shape = broadcast({"topics": topics, "sd": sd, "alpha": alpha})
    return power_functions.sensitivity(flat["topics"], flat["sd"], flat["alpha"], check_sides(sides)).reshape(shape)
