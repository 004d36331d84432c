"""The questions a design answers, each with its inputs, its limits, and the method that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from cranfield.design import interval, power
from cranfield.errors import RequestError
from cranfield.stats.tails import normal_critical

Array = npt.NDArray[Any]
Inputs = Mapping[str, Array]

MOST_TOPICS = 10_000_000


@dataclass(frozen=True)
class Method:
    """One way to relate the number of topics to what a design can see.

    ``value(topics, inputs)`` is the quantity that grows with n and must reach ``target(inputs)``; ``guess`` is where
    the search for n starts. ``power`` says whether the value is a power.
    """

    name: str
    title: str
    when: str
    citation: str
    inputs: tuple[str, ...]
    value: Callable[[Array, Inputs], Array]
    target: Callable[[Inputs], Array]
    guess: Callable[[Inputs], Array]
    is_power: bool = True
    fewest: int = 2


def _power_target(inputs: Inputs) -> Array:
    return inputs["power"]


def _anova_guess(inputs: Inputs) -> Array:
    """n from the non-central χ², which F tends to."""
    # Only m, α and power decide λ, and a grid has few combinations of them.
    kinds, cell = np.unique(
        np.stack([inputs["systems"], inputs["alpha"], inputs["power"]]), axis=1, return_inverse=True
    )
    above, alpha, power_wanted = kinds[0] - 1, kinds[1], kinds[2]
    noncentrality = special.chndtrinc(special.chdtri(above, alpha), above, 1 - power_wanted)[cell.ravel()]
    return np.asarray(noncentrality * 2 * inputs["variance"] / np.square(inputs["min_range"]))


def _anova(function: Callable[..., Array]) -> Callable[[Array, Inputs], Array]:
    def value(topics: Array, inputs: Inputs) -> Array:
        return function(topics, inputs["systems"], inputs["min_range"], inputs["variance"], inputs["alpha"])

    return value


def _t(function: Callable[..., Array], sides: int) -> Callable[[Array, Inputs], Array]:
    def value(topics: Array, inputs: Inputs) -> Array:
        return function(topics, inputs["difference"], inputs["sd"], inputs["alpha"], sides)

    return value


def _t_guess(inputs: Inputs, *, sides: int, samples: int) -> Array:
    z = normal_critical(inputs["alpha"] / sides) + normal_critical(1 - inputs["power"])
    return np.asarray(samples * np.square(z * inputs["sd"] / inputs["difference"]))


def _narrow(topics: Array, inputs: Inputs) -> Array:
    return -interval.expected_width(topics, inputs["sd"], inputs["alpha"])


def _close(topics: Array, inputs: Inputs, *, sides: int) -> Array:
    return -interval.sensitivity(topics, inputs["sd"], inputs["alpha"], sides)


def _z_guess(inputs: Inputs, *, name: str, sides: int, widths: int) -> Array:
    z = normal_critical(inputs["alpha"] / sides)
    return np.asarray(np.square(widths * z * inputs["sd"] / inputs[name]))


_RANGE = ("systems", "min_range", "variance", "alpha", "power")
_DIFFERENCE = ("difference", "sd", "alpha", "power")


def range_method(name: str) -> Method:
    """Power for the range of m systems: ``exact``, ``sakai`` or ``blocked``."""
    made = {
        "exact": ("one-way ANOVA, exact", "Systems whose scores share no topics; S14's and SS16's question.",
                  "Sakai2014", power.one_way_power),
        "sakai": ("one-way ANOVA, as in Sakai's tables", "To reproduce or extend the published tables.",
                  "Sakai2014", power.sakai_power),
        "blocked": ("two-way ANOVA, exact", "Systems compared on the same topics; variance is the residual one.",
                    "FerroSanderson2019", power.blocked_power),
    }  # fmt: skip
    title, when, citation, function = made[_known(name, made, "method")]
    return Method(name, title, when, citation, _RANGE, _anova(function), _power_target, _anova_guess)


def difference_method(name: str, *, sides: int) -> Method:
    """Power for the difference of two systems: ``t``, ``unpaired`` or ``normal``."""
    made = {
        "t": ("paired t test, exact", "Two systems on the same topics.", "Webber2008", power.paired_t_power, 1),
        "unpaired": ("t test on two samples, exact", "Two systems, each on topics of its own.", "Cohen1988",
                     power.unpaired_t_power, 2),
        "normal": ("paired t test, normal approximation", "WMZ08's formula.", "Webber2008", power.normal_power, 1),
    }  # fmt: skip
    title, when, citation, function, samples = made[_known(name, made, "method")]
    guess = partial(_t_guess, sides=sides, samples=samples)
    return Method(name, title, when, citation, _DIFFERENCE, _t(function, sides), _power_target, guess)


def width_method() -> Method:
    """The expected width of a confidence interval for the difference of two systems."""
    return Method(
        "interval", "expected width of a confidence interval", "To say how large a difference is, not only whether.",
        "Sakai2014", ("width", "sd", "alpha"), _narrow, lambda inputs: -inputs["width"],
        partial(_z_guess, name="width", sides=2, widths=2), is_power=False,
    )  # fmt: skip


def sensitivity_method(*, sides: int) -> Method:
    """Sensitivity of a mean by the central limit theorem."""
    return Method(
        "clt", "central limit theorem", "To know a mean, or a difference of means, to within ± δ, whatever the power.",
        "Dincer2013", ("sensitivity", "sd", "alpha"), partial(_close, sides=sides),
        lambda inputs: -inputs["sensitivity"],
        partial(_z_guess, name="sensitivity", sides=sides, widths=1), is_power=False, fewest=1,
    )  # fmt: skip


def _known(name: str, made: Mapping[str, Any], what: str) -> str:
    if name not in made:
        raise RequestError(f"there is no {what} «{name}» for this question", fix=f"Choose one of: {', '.join(made)}.")
    return name
