"""The methods of designs: inputs, limits, and the function that relates the number of topics to the goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.design import power_functions
from cranfield.methods.names import PLANNED_TEST_TITLES
from cranfield.stats.family import LEVELS
from cranfield.stats.tails import normal_critical
from cranfield.types import Array

Inputs = Mapping[str, Array]

MOST_TOPICS = 10_000_000
SHARED = "systems share topics"
SEPARATE = "systems share no topics"


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method that relates the number of topics to what a design can detect.

    ``value(topics, inputs)`` is the quantity that grows with n and must reach ``target(inputs)``; ``guess`` is where
    the search for n starts. ``achieves`` names that quantity: a power, a width, a sensitivity or a probability.
    ``claim`` is the sentence about the goal, with placeholders for {inputs}; ``test`` and ``design`` name the test that
    will be run and whether systems share topics. ``takes`` are further parameters of a request that
    the method uses.
    """

    name: str
    title: str
    when: str
    citation: str
    inputs: tuple[str, ...]
    value: Callable[[Array, Inputs], Array]
    target: Callable[[Inputs], Array]
    guess: Callable[[Inputs], Array]
    claim: str = ""
    test: str = ""
    design: str = SHARED
    achieves: str = "power"
    fewest: int = 2
    takes: frozenset[str] = frozenset()

    @property
    def is_power(self) -> bool:
        return self.achieves == "power"

    @property
    def is_smaller_better(self) -> bool:
        """Whether ``value`` is the negative of the achieved quantity, as for a width or a sensitivity."""
        return self.achieves in ("width", "sensitivity")


# What a method computes with is a function of a module, or a partial of one, so that results can be pickled.


def _input(inputs: Inputs, *, name: str) -> Array:
    return inputs[name]


def _negative(inputs: Inputs, *, name: str) -> Array:
    return -inputs[name]


_power_target = partial(_input, name="power")


def _anova_guess(inputs: Inputs) -> Array:
    """n from the non-central χ², which F tends to."""
    # λ depends only on m, α and power, and a grid has few combinations of them.
    kinds, cell = np.unique(
        np.stack([inputs["systems"], inputs["alpha"], inputs["power"]]), axis=1, return_inverse=True
    )
    above, alpha, power_wanted = kinds[0] - 1, kinds[1], kinds[2]
    noncentrality = special.chndtrinc(special.chdtri(above, alpha), above, 1 - power_wanted)[cell.ravel()]
    return np.asarray(noncentrality * 2 * inputs["variance"] / np.square(inputs["min_range"]))


def _anova(topics: Array, inputs: Inputs, *, function: Callable[..., Array]) -> Array:
    return function(topics, inputs["systems"], inputs["min_range"], inputs["variance"], inputs["alpha"])


def _t(topics: Array, inputs: Inputs, *, function: Callable[..., Array], sides: int) -> Array:
    return function(topics, inputs["difference"], inputs["sd"], inputs["alpha"], sides)


def _t_guess(inputs: Inputs, *, sides: int, samples: int) -> Array:
    z = normal_critical(inputs["alpha"] / sides) + normal_critical(1 - inputs["power"])
    return np.asarray(samples * np.square(z * inputs["sd"] / inputs["difference"]))


def _family(topics: Array, inputs: Inputs, *, test: str) -> Array:
    systems, difference, sd, alpha = (inputs[name] for name in ("systems", "difference", "sd", "alpha"))
    return power_functions.family_power(topics, systems, difference, sd, alpha, test)


def _family_guess(inputs: Inputs, *, test: str) -> Array:
    """n from the normal distribution; the level of a pair hardly depends on n."""
    level = LEVELS[test](inputs["alpha"], inputs["systems"], np.inf)
    z = normal_critical(level / 2) + normal_critical(1 - inputs["power"])
    return np.asarray(np.square(z * inputs["sd"] / inputs["difference"]) + np.square(z) / 6)


def _margin(topics: Array, inputs: Inputs, *, function: Callable[..., Array], goal: str) -> Array:
    return function(topics, *(inputs[name] for name in (goal, "true_difference", "sd", "alpha")))


def _margin_guess(inputs: Inputs, *, goal: str, tails: int) -> Array:
    z = normal_critical(inputs["alpha"]) + normal_critical((1 - inputs["power"]) / tails)
    shift = inputs["true_difference"]
    room = inputs[goal] - np.abs(shift) if tails == 2 else inputs[goal] + shift
    with np.errstate(divide="ignore"):
        return np.asarray(np.square(z * inputs["sd"] / room))


def _probably_narrow(topics: Array, inputs: Inputs) -> Array:
    return power_functions.width_probability(topics, inputs["sd"], inputs["alpha"], inputs["width"])


def _narrow(topics: Array, inputs: Inputs) -> Array:
    return -power_functions.expected_width(topics, inputs["sd"], inputs["alpha"])


def _close(topics: Array, inputs: Inputs, *, sides: int) -> Array:
    return -power_functions.sensitivity(topics, inputs["sd"], inputs["alpha"], sides)


def _z_guess(inputs: Inputs, *, name: str, sides: int, widths: int) -> Array:
    z = normal_critical(inputs["alpha"] / sides)
    return np.asarray(np.square(widths * z * inputs["sd"] / inputs[name]))


_RANGE = ("systems", "min_range", "variance", "alpha", "power")
_DIFFERENCE = ("difference", "sd", "alpha", "power")
_FOUND = "with power {power} at α = {alpha}"
_ONE_SIDE = {1: ", one-sided", 2: ""}


def range_method(name: str) -> Method:
    """Power for the range of m systems: ``blocked``, ``exact`` or ``sakai``."""
    made = {
        "exact": (
            "one-way ANOVA, exact",
            "Systems that share no topics; the design of Sakai (2014).",
            "Sakai2014",
            power_functions.one_way_power,
            SEPARATE,
            "anova",
        ),
        "sakai": (
            "one-way ANOVA, as in Sakai's tables",
            "To reproduce or extend the published tables.",
            "Sakai2014",
            power_functions.sakai_power,
            SEPARATE,
            "anova",
        ),
        "blocked": (
            "two-way ANOVA, exact",
            "Systems compared on the same topics; variance is the residual one.",
            "FerroSanderson2019",
            power_functions.blocked_power,
            SHARED,
            "blocked",
        ),
    }
    title, when, citation, function, design, test = made[_known(name, made, "method")]
    return Method(
        name=name,
        title=title,
        when=when,
        citation=citation,
        inputs=_RANGE,
        value=partial(_anova, function=function),
        target=_power_target,
        guess=_anova_guess,
        claim=f"detect a range of {{min_range}} among {{systems}} systems {_FOUND}",
        test=test,
        design=design,
        takes=frozenset({"correlation"} if name == "blocked" else ()),
    )


def difference_method(name: str, *, sides: int) -> Method:
    """Power for a pair named in advance: ``t``, ``unpaired`` or ``normal``."""
    made = {
        "t": (
            "paired t test, exact",
            "A single pair named in advance, on the same topics.",
            "Webber2008",
            power_functions.paired_t_power,
            1,
        ),
        "unpaired": (
            "t test on two samples, exact",
            "Two systems, each with its own topics.",
            "Cohen1988",
            power_functions.unpaired_t_power,
            2,
        ),
        "normal": (
            "paired t test, normal approximation",
            "The formula of Webber et al. (2008).",
            "Webber2008",
            power_functions.normal_power,
            1,
        ),
    }
    title, when, citation, function, samples = made[_known(name, made, "method")]
    return Method(
        name=name,
        title=title + _ONE_SIDE[sides],
        when=when,
        citation=citation,
        inputs=_DIFFERENCE,
        value=partial(_t, function=function, sides=sides),
        target=_power_target,
        guess=partial(_t_guess, sides=sides, samples=samples),
        claim=f"detect {{difference}} between two systems named in advance {_FOUND}",
        test="t",
        design=SEPARATE if name == "unpaired" else SHARED,
        takes=frozenset({"one_sided", "unpaired"} if name == "unpaired" else {"one_sided", "test"}),
    )


def family_method(test: str) -> Method:
    """Power for a pair of m systems if all pairs are tested: ``max-t``, ``tukey``, ``holm``; or ``dunnett``.

    >>> from cranfield.methods.design.sample_size import size
    >>> given = {"difference": 0.05, "sd": 0.15, "alpha": 0.05, "power": 0.8}
    >>> [int(size(family_method("tukey"), systems=m, **given).topics) for m in (2, 5, 10, 20, 50)]
    [73, 116, 145, 174, 211]
    """
    made = {
        "max-t": ("All pairs, each with its own standard error.", "RomanoWolf2005"),
        "tukey": ("All pairs, with one error term for all.", "Tukey1949"),
        "dunnett": ("All systems against one baseline.", "Dunnett1955"),
        "holm": ("All pairs; planned for the first step, which is the strictest.", "Holm1979"),
    }
    when, citation = made[_known(test, made, "test")]
    pair = "the baseline and one of {others} systems" if test == "dunnett" else "two of {systems} systems"
    return Method(
        name=test,
        title=PLANNED_TEST_TITLES[test],
        when=when,
        citation=citation,
        inputs=("systems", *_DIFFERENCE),
        value=partial(_family, test=test),
        target=_power_target,
        guess=partial(_family_guess, test=test),
        claim=f"detect {{difference}} between {pair} {_FOUND}",
        test=test,
        takes=frozenset({"test"}),
    )


def equivalence_method(name: str) -> Method:
    """Power to show equivalence by two one-sided tests: ``tost`` (exact) or ``normal``."""
    made = {
        "tost": ("two one-sided paired t tests, exact", power_functions.tost_power),
        "normal": ("two one-sided tests, normal approximation", power_functions.tost_normal_power),
    }
    title, function = made[_known(name, made, "method")]
    return _margin_method(
        name, title, "equivalence", function, claim="show that two systems differ by less than {equivalence}", tails=2
    )


def non_inferiority_method(name: str) -> Method:
    """Power to show that a system is not worse by the margin or more: ``t`` (exact) or ``normal``."""
    made = {
        "t": ("one-sided paired t test, exact", power_functions.non_inferiority_power),
        "normal": ("one-sided paired test, normal approximation", power_functions.non_inferiority_normal_power),
    }
    title, function = made[_known(name, made, "method")]
    claim = "show that a system is less than {non_inferiority} worse than another"
    return _margin_method(name, title, "non_inferiority", function, claim=claim, tails=1)


def _margin_method(
    name: str, title: str, goal: str, function: Callable[..., Array], *, claim: str, tails: int
) -> Method:
    when = {
        "equivalence": "To show that two systems are equivalent.",
        "non_inferiority": "To show that a system is not worse by the margin or more.",
    }[goal]
    return Method(
        name=name,
        title=title,
        when=when,
        citation="Schuirmann1987",
        inputs=(goal, "true_difference", "sd", "alpha", "power"),
        value=partial(_margin, function=function, goal=goal),
        target=_power_target,
        guess=partial(_margin_guess, goal=goal, tails=tails),
        claim=f"{claim} {_FOUND}, the true difference being {{true_difference}}",
        test="tost" if goal == "equivalence" else "t",
    )


def width_method(*, probability: bool = False) -> Method:
    """The width of a confidence interval for the difference of two systems: the expected one, or with a probability.

    >>> from cranfield.methods.design.sample_size import size
    >>> given = {"width": 1.0, "sd": 1.0, "alpha": 0.05}
    >>> int(size(width_method(), **given).topics)
    18
    >>> int(size(width_method(probability=True), **given, probability=0.9).topics)
    24
    """
    if probability:
        return Method(
            name="interval-probability",
            title="probability that a confidence interval is narrow enough",
            when="To have a narrow interval with high probability, not only on average.",
            citation="KupperHafner1989",
            inputs=("width", "sd", "alpha", "probability"),
            value=_probably_narrow,
            target=partial(_input, name="probability"),
            guess=partial(_z_guess, name="width", sides=2, widths=2),
            claim="give a {confidence} confidence interval for the difference of two systems that is at most {width} "
            "wide with probability {probability}",
            test="t",
            achieves="probability",
        )
    return Method(
        name="interval",
        title="expected width of a confidence interval",
        when="To estimate the size of a difference.",
        citation="Sakai2014",
        inputs=("width", "sd", "alpha"),
        value=_narrow,
        target=partial(_negative, name="width"),
        guess=partial(_z_guess, name="width", sides=2, widths=2),
        claim="give a {confidence} confidence interval for the difference of two systems with an expected width of at "
        "most {width}",
        test="t",
        achieves="width",
    )


def sensitivity_method(*, sides: int) -> Method:
    """Sensitivity of a mean by the central limit theorem."""
    return Method(
        name="clt",
        title="central limit theorem",
        when="To estimate a mean, or a difference of means, to within ± δ.",
        citation="Dincer2013",
        inputs=("sensitivity", "sd", "alpha"),
        value=partial(_close, sides=sides),
        target=partial(_negative, name="sensitivity"),
        guess=partial(_z_guess, name="sensitivity", sides=sides, widths=1),
        claim="estimate {mean} to within ± {sensitivity} with confidence {confidence}",
        achieves="sensitivity",
        fewest=1,
        takes=frozenset({"one_sided"}),
    )


def _known(name: str, made: Mapping[str, Any], what: str) -> str:
    if name not in made:
        raise RequestError(f"there is no {what} «{name}» for this question", fix=f"Choose one of: {', '.join(made)}.")
    return name
