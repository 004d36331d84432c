"""Designs, and how every goal of them is computed: the registry of methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.design import power_functions as formulas
from cranfield.methods.design.goals import GOALS, Goal
from cranfield.methods.design.spreads import Sd, Spread
from cranfield.methods.names import PLANNED_TEST_TITLES
from cranfield.stats.family import pair_level
from cranfield.stats.tails import normal_critical
from cranfield.types import Array, ArrayLike

MOST_TOPICS = 10_000_000
SHARED = "systems share topics"
SEPARATE = "systems share no topics"


@dataclass(frozen=True, kw_only=True)
class Design:
    """Topics, systems, a test and what differences vary by; a list or an array of numbers is a grid of designs.

    Parameters
    ----------
    topics
        n, unless it is what is solved for.
    systems
        m, which tests of all pairs and ranges depend on.
    test
        The method, one of those that `GOALS` has for the goal: ``t`` for a pair named in advance, ``holm`` and others
        for all pairs of the systems, ``blocked`` for a range.
    spread
        What differences vary by: `Sd`, `Judged`, `Replicated`, `Clustered`, or `Estimated` from a pilot.
    """

    topics: ArrayLike = float("nan")
    systems: ArrayLike = 2
    test: str = "t"
    alpha: ArrayLike = 0.05
    sides: int = 2
    spread: Spread = field(default_factory=Sd)

    def with_numbers(self, **numbers: Any) -> Design:
        """The same with other numbers, of its own or of its spread."""
        own = {name: value for name, value in numbers.items() if name not in self.spread.numbers}
        wide = {name: value for name, value in numbers.items() if name not in own}
        return replace(self, **own, spread=replace(self.spread, **wide)) if wide else replace(self, **own)


Formula = Callable[[Design, Goal], Array]
"""What a design achieves for a goal; the numbers of both are arrays of one length."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """How a goal is computed.

    ``value`` is what the design achieves; ``guess`` is where the search for n starts. ``achieves`` names the value: a
    power, a width, a sensitivity, a probability or a reliability. ``takes`` names the numbers that it depends on
    besides α, a variance, and what it achieves. ``test`` and ``design`` name the test that will be run and whether
    systems share topics; ``is_expected`` marks an expected power.
    """

    name: str
    title: str
    when: str
    citation: str
    value: Formula
    guess: Formula
    takes: str = ""
    test: str = ""
    design: str = SHARED
    achieves: str = "power"
    fewest: int = 2
    is_expected: bool = False

    @property
    def uses(self) -> frozenset[str]:
        """The parameters that it depends on."""
        return frozenset(("alpha", "variance", self.achieves, *self.takes.split()))

    @property
    def is_power(self) -> bool:
        return self.achieves == "power"

    @property
    def is_smaller_better(self) -> bool:
        """Whether the goal is reached by a smaller value, as for a width or a sensitivity."""
        return self.achieves in ("width", "sensitivity")


# --- what a method computes: functions of a module, so that results can be pickled


def _z(design: Design, goal: Goal, tails: float = 1.0) -> Array:
    """The normal quantiles of the level and of the power, added."""
    power = np.asarray(goal.at_least)
    return np.asarray(normal_critical(np.asarray(design.alpha)) + normal_critical((1 - power) / tails))


def _sd(design: Design) -> Array:
    """The sd of one topic's difference, as far as very many topics have one."""
    return design.spread.independent(np.full(np.shape(design.alpha), 1e6))[1]


def _pair(design: Design, goal: Goal) -> Array:
    n, m, difference, alpha = _numbers(design, goal)
    return design.spread.power(n, m, difference, alpha, design.test, design.sides)


def _numbers(design: Design, goal: Goal) -> tuple[Array, Array, Array, Array]:
    return tuple(map(np.asarray, (design.topics, design.systems, goal.value, design.alpha)))  # type: ignore[return-value]


def _pair_guess(design: Design, goal: Goal) -> Array:
    """n from the normal distribution; the level of a pair hardly depends on n."""
    level = pair_level(design.test, np.asarray(design.alpha), np.asarray(design.systems))
    z = _z(replace(design, alpha=level / design.sides), goal)
    samples = 2 if design.test == "unpaired" else 1
    return np.asarray(samples * np.square(z * _sd(design) / goal.value) + np.square(z) / 6)


def _normal(design: Design, goal: Goal) -> Array:
    _, _, difference, alpha = _numbers(design, goal)
    n, sd = _independent(design)
    return formulas.normal_power(n, difference, sd, alpha, design.sides)


def _independent(design: Design) -> tuple[Array, Array]:
    """The independent means that the topics are worth, and their sd."""
    return design.spread.independent(np.asarray(design.topics))


def _blocked(design: Design, goal: Goal) -> Array:
    return formulas.blocked_power(*_of_range(design, goal))


def _one_way(design: Design, goal: Goal) -> Array:
    return formulas.one_way_power(*_of_range(design, goal))


def _sakai(design: Design, goal: Goal) -> Array:
    return formulas.sakai_power(*_of_range(design, goal))


def _of_range(design: Design, goal: Goal) -> tuple[Array, Array, Array, Array, Array]:
    _, m, least, alpha = _numbers(design, goal)
    n, sd = _independent(design)
    return n, m, least, np.square(sd) / 2, alpha  # σ_t² = 2σ²


def _range_guess(design: Design, goal: Goal) -> Array:
    """n from the non-central χ², which F tends to."""
    # λ depends only on m, α and power, and a grid has few combinations of them.
    columns = np.broadcast_arrays(*(np.asarray(each, float) for each in (design.systems, design.alpha, goal.at_least)))
    kinds, cell = np.unique(np.stack([each.ravel() for each in columns]), axis=1, return_inverse=True)
    above = kinds[0] - 1
    noncentrality = special.chndtrinc(special.chdtri(above, kinds[1]), above, 1 - kinds[2])[cell.ravel()]
    return np.asarray(noncentrality * np.square(_sd(design) / goal.value))


def _margins(design: Design, goal: Goal) -> tuple[Array, Array, Array, Array, Array]:
    _, _, margin, alpha = _numbers(design, goal)
    n, sd = _independent(design)
    return n, margin, np.asarray(goal.true_difference), sd, alpha


def _tost(design: Design, goal: Goal) -> Array:
    return formulas.tost_power(*_margins(design, goal))


def _tost_normal(design: Design, goal: Goal) -> Array:
    return formulas.tost_normal_power(*_margins(design, goal))


def _not_worse(design: Design, goal: Goal) -> Array:
    n, margin, shift, sd, alpha = _margins(design, goal)
    return formulas.t_power(np.sqrt(n) * (margin + shift) / sd, n - 1, alpha, 1)


def _not_worse_normal(design: Design, goal: Goal) -> Array:
    n, margin, shift, sd, alpha = _margins(design, goal)
    return formulas.normal_power(n, margin + shift, sd, alpha, 1)


def _margin_guess(design: Design, goal: Goal) -> Array:
    margin, shift = np.asarray(goal.value), np.asarray(goal.true_difference)
    both = goal.kind == "equivalence"
    room = margin - np.abs(shift) if both else margin + shift
    with np.errstate(divide="ignore"):
        return np.asarray(np.square(_z(design, goal, 2 if both else 1) * _sd(design) / room))


def _width(design: Design, goal: Goal) -> Array:
    return design.spread.width(np.asarray(design.topics), np.asarray(design.alpha))


def _probability(design: Design, goal: Goal) -> Array:
    _, _, width, alpha = _numbers(design, goal)
    return formulas.width_probability(*_independent(design), alpha, width)


def _width_guess(design: Design, goal: Goal) -> Array:
    return np.asarray(4 * np.square(normal_critical(np.asarray(design.alpha) / 2) * _sd(design) / goal.value))


def _sensitivity(design: Design, goal: Goal) -> Array:
    return formulas.sensitivity(*_independent(design), np.asarray(design.alpha), design.sides)


def _sensitivity_guess(design: Design, goal: Goal) -> Array:
    z = normal_critical(np.asarray(design.alpha) / design.sides)
    return np.asarray(np.square(z * _sd(design) / goal.value))


def _reliability(design: Design, goal: Goal) -> Array:
    assert isinstance(design.spread, Sd)
    signal = np.asarray(design.topics) * np.maximum(design.spread.systems_variance, 0.0)
    return np.asarray(signal / (signal + np.square(_sd(design)) / 2))  # Brennan 2001: Eρ² = σ_s² / (σ_s² + σ_e²/n)


def _reliability_guess(design: Design, goal: Goal) -> Array:
    assert isinstance(design.spread, Sd)
    value = np.asarray(goal.value)
    return np.asarray(value / (1 - value) * np.square(_sd(design)) / 2 / np.asarray(design.spread.systems_variance))


def _methods(guess: Formula, *rows: tuple[str, Formula, str, str, str], **more: Any) -> dict[str, Method]:
    """Methods by name, of rows of their name, formula, title, citation and use; ``more`` is what all have alike."""
    words = ("name", "value", "title", "citation", "when")
    named: list[dict[str, Any]] = [dict(zip(words, row, strict=True)) for row in rows]
    return {row["name"]: Method(**{"test": row["name"], **row, "guess": guess, **more}) for row in named}


_TITLES = PLANNED_TEST_TITLES
_T, _NORMAL = "t test, exact", "normal approximation"
_APART = {"design": SEPARATE}
_PAIRED = "sd correlation"
_RESIDUAL = "Systems compared on the same topics; variance is the residual one."
_ONE_WAY = "Systems that share no topics; the design of Sakai (2014)."
_TABLES = "To reproduce or extend the published tables."
_EQUIVALENT = "To show that two systems are equivalent."
_NOT_INFERIOR = "To show that a system is not worse by the margin or more."
_NARROW = "To have a narrow interval with high probability, not only on average."
_PAIRS = {
    **_methods(
        _pair_guess,
        ("holm", _pair, _TITLES["holm"], "Holm1979", "All pairs; planned for the first step, which is the strictest."),
        ("max-t", _pair, _TITLES["max-t"], "RomanoWolf2005", "All pairs, each with its own standard error."),
        ("tukey", _pair, _TITLES["tukey"], "Tukey1949", "All pairs, with one error term for all."),
        ("dunnett", _pair, _TITLES["dunnett"], "Dunnett1955", "All systems against one baseline."),
        takes=f"{_PAIRED} systems test",
    ),
    **_methods(
        _pair_guess,
        ("t", _pair, f"paired {_T}", "Webber2008", "A single pair named in advance, on the same topics."),
        takes=f"{_PAIRED} test one_sided",
    ),
    **_methods(
        _pair_guess,
        ("normal", _normal, f"paired t test, {_NORMAL}", "Webber2008", "The formula of Webber et al. (2008)."),
        takes=f"{_PAIRED} test one_sided",
        test="t",
    ),
    **_methods(
        _pair_guess,
        ("unpaired", _pair, "t test on two samples, exact", "Cohen1988", "Two systems, each with its own topics."),
        takes="sd one_sided unpaired",
        test="t",
        **_APART,
    ),
}
METHODS: dict[str, dict[str, Method]] = {
    "min_range": {
        **_methods(
            _range_guess,
            ("blocked", _blocked, "two-way ANOVA, exact", "FerroSanderson2019", _RESIDUAL),
            takes="systems correlation",
        ),
        **_methods(
            _range_guess,
            ("exact", _one_way, "one-way ANOVA, exact", "Sakai2014", _ONE_WAY),
            ("sakai", _sakai, "one-way ANOVA, as in Sakai's tables", "Sakai2014", _TABLES),
            takes="systems",
            test="anova",
            **_APART,
        ),
    },
    "difference": _PAIRS,
    "effect_size": _PAIRS,
    "equivalence": _methods(
        _margin_guess,
        ("tost", _tost, "two one-sided paired t tests, exact", "Schuirmann1987", _EQUIVALENT),
        ("normal", _tost_normal, f"two one-sided tests, {_NORMAL}", "Schuirmann1987", _EQUIVALENT),
        takes=f"{_PAIRED} true_difference",
        test="tost",
    ),
    "non_inferiority": _methods(
        _margin_guess,
        ("t", _not_worse, f"one-sided paired {_T}", "Schuirmann1987", _NOT_INFERIOR),
        ("normal", _not_worse_normal, f"one-sided paired test, {_NORMAL}", "Schuirmann1987", _NOT_INFERIOR),
        takes=f"{_PAIRED} true_difference",
        test="t",
    ),
    "width": {
        **_methods(
            _width_guess,
            (
                "interval",
                _width,
                "expected width of a confidence interval",
                "Sakai2014",
                "To estimate the size of a difference.",
            ),
            takes=_PAIRED,
            test="t",
            achieves="width",
        ),
        **_methods(
            _width_guess,
            (
                "interval-probability",
                _probability,
                "probability that a confidence interval is narrow enough",
                "KupperHafner1989",
                _NARROW,
            ),
            takes=_PAIRED,
            test="t",
            achieves="probability",
        ),
    },
    "sensitivity": _methods(
        _sensitivity_guess,
        (
            "clt",
            _sensitivity,
            "central limit theorem",
            "Dincer2013",
            "To estimate a mean, or a difference of means, to within ± δ.",
        ),
        takes="sd one_sided",
        test="",
        achieves="sensitivity",
        fewest=1,
    ),
    "reliability": _methods(
        _reliability_guess,
        ("generalisability", _reliability, "generalisability theory", "Brennan2001", "To rank systems reliably."),
        test="",
        achieves="reliability",
        fewest=1,
    ),
}
"""How each goal is computed, the default first."""


def method_of(goal: Goal, test: str) -> Method:
    """The method of a goal by its name; RequestError for one that does not compute it."""
    methods = METHODS.get(goal.kind)
    if methods is None:
        raise RequestError(f"there is no goal «{goal.kind}»", fix=f"Choose one of: {', '.join(GOALS)}.")
    if goal.kind == "width":
        return methods["interval" if goal.at_least is None else "interval-probability"]
    if len(methods) == 1:
        return next(iter(methods.values()))
    if test not in methods:
        raise RequestError(
            f"there is no method «{test}» for this question", fix=f"Choose one of: {', '.join(methods)}."
        )
    return methods[test]
