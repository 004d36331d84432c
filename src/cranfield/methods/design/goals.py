"""The goals that a design may have, each declared once, and the one that holds wherever none is named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cranfield.errors import Caution, RequestError
from cranfield.stats.family import FAMILIES
from cranfield.types import ArrayLike


@dataclass(frozen=True, kw_only=True)
class GoalKind:
    """One kind of goal, in the words of every interface.

    ``title`` is the label of its field, ``help`` its help, ``bounds`` says why its value is above 0, ``sentence`` is
    what n topics do (with placeholders for the inputs), ``caption`` the title of a table of numbers of topics.
    """

    title: str
    help: str
    bounds: str
    sentence: str
    caption: str


_REACHED = "with power {power} at α = {alpha}"

GOALS: dict[str, GoalKind] = {
    "min_range": GoalKind(
        title="Smallest range of their means",
        help="Smallest range of the systems' means to detect.",
        bounds="Equal systems have no range to detect; name the smallest one worth detecting, such as 0.1.",
        sentence=f"detect a range of {{min_range}} among {{systems}} systems {_REACHED}",
        caption="Topics that detect a range of the means of all systems",
    ),
    "difference": GoalKind(
        title="Smallest difference",
        help="Smallest difference of two systems to detect.",
        bounds="Equal systems have no difference to detect; name the smallest one worth detecting, such as 0.03.",
        sentence=f"detect {{difference}} between {{pair}} {_REACHED}",
        caption="Topics that detect a difference of two systems",
    ),
    "effect_size": GoalKind(
        title="Effect size d_z",
        help="Effect size d_z to detect: the difference divided by the sd of the paired differences.",
        bounds="Equal systems have no effect to detect; 0.2 is small, 0.5 medium.",
        sentence=f"detect {{difference}} between {{pair}} {_REACHED}",
        caption="Topics that detect an effect size of two systems",
    ),
    "equivalence": GoalKind(
        title="Margin of equivalence",
        help="Margin of equivalence; without `sd` and `variance`, in units of the sd of the paired differences.",
        bounds="A margin is above 0: the largest difference that does not matter, say 0.01.",
        sentence=f"show that two systems differ by less than {{equivalence}} {_REACHED}, the true difference being "
        "{true_difference}",
        caption="Topics that show two systems to be equivalent",
    ),
    "non_inferiority": GoalKind(
        title="Margin of non-inferiority",
        help="Margin of non-inferiority; without `sd` and `variance`, in units of the sd of the paired differences.",
        bounds="A margin is above 0: the largest loss that does not matter, say 0.01.",
        sentence=f"show that a system is less than {{non_inferiority}} worse than another {_REACHED}, the true "
        "difference being {true_difference}",
        caption="Topics that show a system to be non-inferior",
    ),
    "width": GoalKind(
        title="Widest interval",
        help="Widest confidence interval for a difference.",
        bounds="A width is above 0; 0.1 is a common choice.",
        sentence="give a {confidence} confidence interval for the difference of two systems {narrow}",
        caption="Topics for the width of the confidence interval of a difference",
    ),
    "sensitivity": GoalKind(
        title="Within ±",
        help="Half-width of the confidence interval of one system's mean: it is estimated to within ± S.",
        bounds="A sensitivity is above 0; ±0.05 is a common choice.",
        sentence="estimate {mean} to within ± {sensitivity} with confidence {confidence}",
        caption="Topics that estimate a mean to within a margin",
    ),
    "reliability": GoalKind(
        title="Reliability Eρ²",
        help="Reliability Eρ² of the systems' means that is to be reached.",
        bounds="A reliability lies between 0 and 1; 0.95 is usual.",
        sentence="rank systems with a reliability Eρ² of {reliability}",
        caption="Topics for a reliability of the systems' means",
    ),
}
SIZED_GOALS = tuple(name for name in GOALS if name != "reliability")
"""The goals that `size` takes; reliability needs a variance between systems, which `reliability` estimates."""


class Goal(NamedTuple):
    """What a design is to reach: a kind of `GOALS`, its value, and the power (for a width: the probability) of it.

    ``at_least`` is None for an expected width. ``true_difference`` is for the two kinds of margins.
    """

    kind: str = "difference"
    value: ArrayLike = float("nan")
    at_least: ArrayLike | None = 0.8
    true_difference: ArrayLike = 0.0


# --- the goal where none is named

DEFAULT_DIFFERENCE = 0.05
"""The difference to detect on a scale from 0 to 1, and the share of the range on every other scale."""


class Scale(NamedTuple):
    """The range that scores can have, and where it is known from: the measure, the scores, or nothing but custom."""

    lowest: float = 0.0
    highest: float = 1.0
    source: str = "a scale from 0 to 1"

    @property
    def span(self) -> float:
        return self.highest - self.lowest


def scale_of(measure: str, lowest: float, highest: float, limits: tuple[float, float] | None = None) -> Scale:
    """The scale of a measure with these extreme scores: its own limits, 0 to 1 if all scores are there, or the scores'.

    >>> scale_of("AP", 0.0, 0.9).span, scale_of("seconds", 12.0, 212.0).span
    (1.0, 200.0)
    """
    if limits is not None and all(map(math.isfinite, limits)) and limits[0] <= lowest and highest <= limits[1]:
        return Scale(*limits, f"the range of {measure}")
    if lowest >= 0 and highest <= 1:
        return Scale()
    return Scale(lowest, highest, f"the range of the scores of {measure or 'the table'}")


def default_difference(scale: Scale = Scale()) -> float:  # noqa: B008 (immutable)
    """The smallest difference worth detecting where none is named: 0.05 from 0 to 1, else 5 % of the range.

    >>> default_difference(), default_difference(Scale(0.0, 200.0, "the scores"))
    (0.05, 10.0)
    """
    return float(f"{DEFAULT_DIFFERENCE * scale.span:.2g}")


def default_goal(scales: Sequence[Scale] = (), *, power: float = 0.8) -> Goal:
    """The goal wherever none is named: the default difference of the narrowest scale, between two of the systems.

    Parameters
    ----------
    scales
        The scale of every measure that is planned for; none stands for scores from 0 to 1.

    Examples
    --------
    >>> default_goal()
    Goal(kind='difference', value=0.05, at_least=0.8, true_difference=0.0)
    """
    return Goal("difference", min((default_difference(scale) for scale in scales), default=DEFAULT_DIFFERENCE), power)


def goal_in_words(scale: Scale = Scale()) -> str:  # noqa: B008
    """The default goal and its origin, for notes and help."""
    difference = default_difference(scale)
    share = "" if scale.span == 1 else f", {100 * DEFAULT_DIFFERENCE:g} % of {scale.source}"
    return f"no goal was named: a difference of {difference:g}{share}"


# --- a sane request

_PARTS = ("min_range", "difference", "equivalence", "non_inferiority", "width", "sensitivity")
"""Goals in units of the scores."""


def check_scale(kind: str, values: Sequence[float], sds: Sequence[float], scale: Scale | None) -> tuple[Caution, ...]:
    """Refuse a goal that scores of this scale or sd cannot have; return the warning about one that is unlikely.

    Parameters
    ----------
    values
        What was asked for.
    sds
        The standard deviations of paired differences that are known, as they were given or estimated.
    scale
        The range of the scores, None where nothing is known of them.
    """
    if kind not in _PARTS or not len(values):
        return ()
    largest = max(values)
    if scale is not None and largest > scale.span * (2 if kind == "width" else 1):
        raise RequestError(
            f"a {_word(kind)} of {largest:g} is larger than {scale.source} ({scale.lowest:g} to {scale.highest:g})",
            fix=likely_meant(kind, largest, scale.span),
        )
    usual = max((sd for sd in sds if math.isfinite(sd)), default=math.inf)
    if largest > FAR * usual:
        return (
            Caution(
                "goal-out-of-scale",
                f"a {_word(kind)} of {largest:g} is {largest / usual:,.0f} times the standard deviation {usual:g}: two "
                "topics or three show it, and the scale of the two numbers is hardly the same",
                likely_meant(kind, largest, 1.0),
            ),
        )
    return ()


FAR = 5.0
"""Standard deviations beyond which a goal is probably on another scale."""


def likely_meant(kind: str, value: float, span: float) -> str:
    """What was likely meant: a percentage of the range."""
    if value >= 1 and value <= 100:
        return f"If {value:g} is a percentage of the range, write `{kind}={value * span / 100:g}`."
    return f"Give `{kind}` on the scale of the scores, such as {DEFAULT_DIFFERENCE * span:g}."


def _word(kind: str) -> str:
    return {"min_range": "range", "equivalence": "margin", "non_inferiority": "margin"}.get(kind, kind)


def claim(kind: str, method: Any, row: Any) -> str:
    """The part of a sentence after «n topics»: what a goal promises with the numbers of a row; text stays as it is."""
    words = {name: f"{value:g}" for name, value in row.items() if isinstance(value, int | float)}
    words |= {name: value for name, value in row.items() if isinstance(value, str)}
    words["difference"] = f"a difference of {words.get('difference')}"
    if "effect_size" in row:
        words["difference"] = f"an effect size d_z of {words['effect_size']}"
    if kind in ("equivalence", "non_inferiority") and row["sd"] == 1:
        words[kind] += " sd of the paired differences"
    words["pair"] = pair_in_words(method, row.get("systems", 2))
    words["confidence"] = f"{100 * (1 - row['alpha']):g} %"
    words["mean"] = "a difference of means" if row.get("estimate") == "residual" else "a mean"
    words["narrow"] = (
        f"that is at most {words.get('width')} wide with probability {words['probability']}"
        if "probability" in words
        else f"with an expected width of at most {words.get('width')}"
    )
    return GOALS[kind].sentence.format(**words)


def pair_in_words(test: str, systems: float) -> str:
    """Which pair a test is about.

    >>> pair_in_words("holm", 10), pair_in_words("dunnett", 10)
    ('two of 10 systems', 'the baseline and one of 9 systems')
    """
    if test == "dunnett":
        return f"the baseline and one of {systems - 1:g} systems"
    return f"two of {systems:g} systems" if test in FAMILIES else "two systems named in advance"
