"""Numbers of topics, one search for every goal, and designs solved for any other of their quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design import power_functions
from cranfield.methods.design.formulas import (
    MOST_TOPICS,
    SEPARATE,
    Method,
    difference_method,
    equivalence_method,
    family_method,
    non_inferiority_method,
    range_method,
    sensitivity_method,
    width_method,
)
from cranfield.methods.design.request import broadcast
from cranfield.stats.family import ALL_PAIRS_TEST, LEVELS, degrees
from cranfield.stats.roots import crossing, smallest_integer
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

GOAL_INPUTS = ("min_range", "effect_size", "difference", "equivalence", "non_inferiority", "true_difference")
SPREAD_INPUTS = ("within_variance", "variance", "correlation", "sd")
REPLICATE_INPUTS = ("between", "within", "shared_variance", "repeat_variance", "items", "repeats")
ORDER = (
    "systems",
    *GOAL_INPUTS,
    "width",
    "sensitivity",
    *SPREAD_INPUTS,
    *REPLICATE_INPUTS,
    "alpha",
    "power",
    "probability",
)
"""Order of the inputs in rows and tables."""


@dataclass(frozen=True, eq=False)
class Size:
    """The number of topics for every cell of a grid.

    ``topics`` is the smallest n that reaches the goal; ``achieved`` is the power, width, sensitivity or probability
    (``method.achieves``) with n topics, ``below`` that with n − 1 (nan if undefined). If no n up to ``limit`` reaches
    the goal, ``reached`` is false and ``achieved`` belongs to the limit. ``inputs`` has the inputs of the method and
    those from which they were computed: an effect size, or a variance and a correlation.
    """

    method: Method
    inputs: Mapping[str, Array]
    topics: Array
    reached: Array
    achieved: Array
    below: Array
    limit: int

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per cell: the inputs, ``topics`` (None if not reached), and the values with n and n − 1."""
        word = self.method.achieves
        names = [name for name in ORDER if name in self.inputs]
        rows = []
        for at in range(self.topics.size):
            cell = {name: _plain(self.inputs[name].flat[at]) for name in names}
            row: dict[str, Any] = {"method": self.method.name, "test": self.method.test}
            row |= {"design": self.method.design, **cell}
            row["topics"] = int(self.topics.flat[at]) if self.reached.flat[at] else None
            row[f"achieved_{word}"] = float(self.achieved.flat[at])
            row[f"{word}_below"] = float(self.below.flat[at])
            rows.append(row)
        return rows

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """Return one sentence about the first cell."""
        return explain(self, self.to_dict()[0])


def explain(size: Size, row: Mapping[str, Any]) -> str:
    """Return a sentence that states the number of topics, the goal, the test and the design of a cell."""
    method = size.method
    if row["topics"] is None:
        got = row[f"achieved_{method.achieves}"]
        return (
            f"No number of topics up to {size.limit:,} is enough: {size.limit:,} give a {method.achieves} of "
            f"{got:.4g}. Ask for less, or choose a measure with less variance."
        )
    return f"{row['topics']:,} topics{per_system(method)} {claim(method, row)} ({conditions(method, row)})."


def per_system(method: Method) -> str:
    """Return what is said after «n topics» if every system has its own."""
    return " per system" if method.design == SEPARATE else ""


def claim(method: Method, row: Mapping[str, Any]) -> str:
    """Return the part of the sentence after «n topics»."""
    words = {name: f"{row[name]:g}" for name in ORDER if name in row}
    if "effect_size" in row:
        words["difference"] = f"an effect size d_z of {words['effect_size']}"
    elif "difference" in row:
        words["difference"] = f"a difference of {words['difference']}"
    for name in ("equivalence", "non_inferiority"):
        if name in row and row["sd"] == 1:
            words[name] += " sd of the paired differences"
    words["others"] = f"{row.get('systems', 2) - 1:g}"
    words["confidence"] = f"{100 * (1 - row['alpha']):g} %"
    words["mean"] = "a difference of means" if row.get("estimate") == "residual" else "a mean"
    return method.claim.format(**words)


def conditions(method: Method, row: Mapping[str, Any]) -> str:
    """Return the test and the design in words."""
    told = [method.title] if method.name == "clt" else [method.title, row["design"]]
    return "; ".join([*told, *([f"ρ = {row['correlation']:g}"] if "correlation" in row else [])])


def _plain(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() and abs(number) >= 2 else number


def size(method: Method, *, limit: int = MOST_TOPICS, **inputs: Any) -> Size:
    """Search for the smallest number of topics with which ``method`` reaches the goal.

    ``inputs`` that the method does not use are kept in the result.
    """
    missing = [name for name in method.inputs if name not in inputs]
    if missing:
        raise RequestError(f"`{missing[0]}` is missing")
    flat, shape = broadcast(inputs)
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
    sign = -1.0 if method.is_smaller_better else 1.0
    return Size(
        method=method,
        inputs={name: values.reshape(shape) for name, values in flat.items()},
        topics=topics.reshape(shape),
        reached=reached.reshape(shape),
        achieved=(sign * achieved).reshape(shape),
        below=(sign * below).reshape(shape),
        limit=limit,
    )


def size_for_range(
    *,
    systems: ArrayLike,
    min_range: ArrayLike,
    variance: ArrayLike,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    method: str = "exact",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to detect, with ``power``, that the means of m systems, which range over ``min_range``, are not all equal.

    ``exact`` and ``sakai`` take the variance of one system's scores and are for systems that share no topics;
    ``blocked`` takes the residual variance and is for systems that share them.

    >>> int(size_for_range(systems=10, min_range=0.10, variance=0.0530, method="sakai").topics)  # S14 Table 4(I)
    166
    """
    found = range_method(method)
    return size(found, systems=systems, min_range=min_range, variance=variance, alpha=alpha, power=power, limit=limit)


def size_for_difference(
    *,
    difference: ArrayLike | None = None,
    sd: ArrayLike | None = None,
    effect_size: ArrayLike | None = None,
    systems: ArrayLike | None = None,
    test: str | None = None,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    sides: int = 2,
    method: str = "t",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to detect, with ``power``, a ``difference`` of two systems.

    Parameters
    ----------
    difference, sd
        The difference, and the sd of the paired differences (``method="unpaired"``: of one system's scores).
    effect_size
        d_z, the difference divided by the sd of the paired differences; replaces both.
    systems, test
        The number of systems, and the test that will be run on all pairs: ``holm`` (default), ``max-t``, ``tukey``, or
        ``dunnett`` for all systems against one baseline. Without ``systems`` the pair is named in advance, and the test
        is ``t``.
    method
        ``t``, ``normal`` or ``unpaired``, for a pair named in advance.

    Returns
    -------
    Size
        n for every cell of the grid of inputs.

    References
    ----------
    Webber, Moffat and Zobel (2008), §3 and §5; Tukey (1949); Dunnett (1955).

    Examples
    --------
    >>> int(size_for_difference(difference=0.033, sd=0.15).topics)  # WMZ08 §5.1 prints the truncated 164
    165
    >>> int(size_for_difference(difference=0.05, sd=0.15, systems=10, test="tukey").topics)
    145
    """
    difference, sd = as_difference(difference, sd, effect_size)
    found = pair_method(test, systems=systems, method=method, sides=sides)
    given = {"difference": difference, "sd": sd, "alpha": alpha, "power": power}
    return size(found, limit=limit, **given, **({} if systems is None else {"systems": systems}))


def pair_method(test: str | None, *, systems: ArrayLike | None, method: str = "t", sides: int = 2) -> Method:
    """Return the method for a pair: one of ``systems`` systems under a test of all pairs, or named in advance."""
    chosen = test or ("t" if systems is None else ALL_PAIRS_TEST)
    if chosen == "t":
        if systems is not None:
            raise RequestError("the test t is for a pair named in advance", fix="Leave out systems, or name another.")
        return difference_method(method, sides=check_sides(sides))
    if systems is None:
        raise RequestError(f"the test {chosen} needs the number of systems", fix="Give systems.")
    if method != "t" or sides != 2:
        raise RequestError("one-sided tests and other methods are for a pair named in advance", fix="Use test t.")
    return family_method(chosen)


def size_for_equivalence(
    *,
    margin: ArrayLike,
    sd: ArrayLike = 1.0,
    true_difference: ArrayLike = 0.0,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    method: str = "tost",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to show, with ``power``, that two systems differ by less than ``margin``, by two one-sided tests.

    With ``sd`` 1 the margin is in units of the sd of the paired differences.

    References
    ----------
    Schuirmann (1987).

    Examples
    --------
    >>> int(size_for_equivalence(margin=0.3).topics), int(size_for_equivalence(margin=0.3, method="normal").topics)
    (97, 96)
    """
    given = {"equivalence": margin, "true_difference": true_difference, "sd": sd, "alpha": alpha, "power": power}
    return size(equivalence_method(method), limit=limit, **given)


def size_for_non_inferiority(
    *,
    margin: ArrayLike,
    sd: ArrayLike = 1.0,
    true_difference: ArrayLike = 0.0,
    alpha: ArrayLike = 0.05,
    power: ArrayLike = 0.8,
    method: str = "t",
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics to show, with ``power``, that a system is less than ``margin`` worse than another, by one-sided t.

    >>> int(size_for_non_inferiority(margin=0.3).topics)  # as a one-sided test of d_z = 0.3
    71
    """
    given = {"non_inferiority": margin, "true_difference": true_difference, "sd": sd, "alpha": alpha, "power": power}
    return size(non_inferiority_method(method), limit=limit, **given)


def size_for_width(
    *,
    width: ArrayLike,
    sd: ArrayLike,
    alpha: ArrayLike = 0.05,
    probability: ArrayLike | None = None,
    limit: int = MOST_TOPICS,
) -> Size:
    """Topics for a confidence interval whose expected width is at most ``width``; ``sd`` is of paired differences.

    With ``probability`` the width itself is at most ``width`` with that probability.

    References
    ----------
    Sakai (2014), §3.2; Kupper and Hafner (1989).

    Examples
    --------
    >>> int(size_for_width(width=0.10, sd=(2 * 0.0530) ** 0.5).topics)  # S14 Table 8, AP
    165
    """
    given = {"width": width, "sd": sd, "alpha": alpha}
    if probability is None:
        return size(width_method(), limit=limit, **given)
    return size(width_method(probability=True), limit=limit, **given, probability=probability)


def size_for_sensitivity(
    *, sensitivity: ArrayLike, sd: ArrayLike, alpha: ArrayLike = 0.05, sides: int = 2, limit: int = MOST_TOPICS
) -> Size:
    """Topics with which a mean is within ± ``sensitivity`` of the true mean with probability 1 − α: Dinçer (2013).

    ``sd`` is that of one system's scores for its mean (Inequality 1), of paired differences for a difference
    (Inequality 2).

    >>> int(size_for_sensitivity(sensitivity=0.0192, sd=0.1479).topics)  # D13 §3: 228
    228
    """
    found = sensitivity_method(sides=check_sides(sides))
    return size(found, sensitivity=sensitivity, sd=sd, alpha=alpha, limit=limit)


def as_difference(
    difference: ArrayLike | None, sd: ArrayLike | None, effect_size: ArrayLike | None
) -> tuple[ArrayLike, ArrayLike]:
    """Return a difference and its sd; an effect size is a difference in units of its sd."""
    if effect_size is not None:
        if difference is not None or sd is not None:
            raise RequestError("an effect size replaces difference and sd", fix="Give it alone, or both of them.")
        return effect_size, 1.0
    if difference is None or sd is None:
        raise RequestError("a difference needs its sd", fix="Give difference and sd, or effect_size.")
    return difference, sd


def check_sides(sides: int) -> int:
    if sides not in (1, 2):
        raise RequestError(f"a test has one side or two, not {sides}")
    return sides


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
