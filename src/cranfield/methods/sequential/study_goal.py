"""The goal of a study, fixed before its first topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.limits import broadcast
from cranfield.methods.names import PLAN_TITLES
from cranfield.methods.sequential.boundaries import SPENDING

PLANS = tuple(PLAN_TITLES)
ONLY_IN = {"first": "iterative", "looks": "group-sequential", "spending": "group-sequential"}
FEWEST = 30  # topics before the first look at the sd; WMZ08 §3.1: the t test needs about 25 for unknown distributions
_MOST = 10**12  # topics beyond which there is no need to count
FARTHEST_LOOK = 5  # times the topics a fixed plan takes: how far plans without an end are followed


@dataclass(frozen=True)
class Goal:
    """The goal of a comparison of two systems, and how topics will be added.

    Parameters
    ----------
    difference
        The smallest difference of interest.
    sd, sd_from
        The first estimate of the sd of the paired differences, and its source in words.
    plan
        One of ``PLANS``.
    alpha, power
        Two-sided significance level, and the power for ``difference``.
    first
        First number of topics of the iterative plan.
    looks, spending
        Shares of the topics at which a group-sequential plan looks, and how α is spread over the looks.
    lowest, highest
        Bounds of any difference, on which the anytime plan rests.
    """

    difference: float
    sd: float
    plan: str = "hybrid"
    alpha: float = 0.05
    power: float = 0.8
    sd_from: str = "given"
    first: int = FEWEST
    looks: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    spending: str = "obrien-fleming"
    lowest: float = -1.0
    highest: float = 1.0

    def __post_init__(self) -> None:
        numbers = {"difference": self.difference, "sd": self.sd, "alpha": self.alpha, "power": self.power}
        broadcast({**numbers, "topics": self.first})
        if self.plan not in PLANS:
            raise RequestError(f"there is no plan «{self.plan}»", fix=f"Choose one of: {', '.join(PLANS)}.")
        if self.spending not in SPENDING:
            raise RequestError(
                f"there is no spending function «{self.spending}»", fix=f"Choose one of: {', '.join(SPENDING)}."
            )
        _check_looks(self.looks)
        if not self.lowest < 0 < self.highest:
            raise RequestError(
                f"the bounds {self.lowest:g} and {self.highest:g} of a difference do not enclose 0",
                fix="Give the smallest and the largest difference of two scores; −1 and 1 for scores from 0 to 1.",
            )
        if self.difference >= self.highest or self.difference >= -self.lowest:
            raise RequestError(
                f"a difference of {self.difference:g} is not within {self.lowest:g} and {self.highest:g}",
                fix="Name a smaller difference, or wider bounds.",
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"looks": list(self.looks)}

    def changed(self, changes: Mapping[str, Any]) -> Goal:
        """The goal with some of its numbers replaced, checked again."""
        return replace(self, **changes)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Goal:
        known = {field.name for field in fields(cls)}
        return cls(**{**{name: content[name] for name in known if name in content}, "looks": tuple(content["looks"])})


def check_effect(plan: str, names: Iterable[str]) -> None:
    """Refuse parameters that have no effect in a plan."""
    idle = [name for name in names if ONLY_IN.get(name, plan) != plan]
    if idle:
        raise RequestError(
            f"«{idle[0]}» has no effect in the {plan} plan", fix=f"Omit it, or choose the {ONLY_IN[idle[0]]} plan."
        )


@lru_cache(maxsize=4096)
def fixed_topics(difference: float, sd: float, alpha: float, power: float) -> int:
    """Topics that detect a difference at this sd in one paired t test.

    >>> fixed_topics(0.033, 0.15, 0.05, 0.8)  # WMZ08 §5.1 prints the truncated 164
    165
    """
    from cranfield.methods.design import size_for_difference

    found = size_for_difference(difference=difference, sd=sd, alpha=alpha, power=power, limit=_MOST)
    if not found.reached:
        raise RequestError(
            f"a difference of {difference:g} is not detectable at an sd of {sd:g} with any practical number of topics",
            fix="Choose a larger difference.",
        )
    return int(found.topics)


def _check_looks(looks: tuple[float, ...]) -> None:
    if not looks or looks[0] <= 0 or looks[-1] != 1.0 or any(b <= a for a, b in pairwise(looks)):
        raise RequestError(
            f"looks at {', '.join(f'{look:g}' for look in looks) or 'nothing'} are not a plan",
            fix="Give the number of looks, or increasing shares of the topics that end with 1: 0.25,0.5,0.75,1.",
        )


def even_looks(count: int) -> tuple[float, ...]:
    """This number of looks at equal distances.

    >>> even_looks(4)
    (0.25, 0.5, 0.75, 1.0)
    """
    if count < 1:
        raise RequestError(f"there must be 1 look or more, not {count}", fix="4 is usual.")
    return tuple((at + 1) / count for at in range(count))


def parse_looks(text: str) -> tuple[float, ...]:
    """Looks as typed: their number, or the shares of the topics.

    >>> parse_looks("2"), parse_looks("0.3,0.6,1")
    ((0.5, 1.0), (0.3, 0.6, 1.0))
    """
    from cranfield.methods.design.grid import parse_grid

    return looks_from(parse_grid(text, name="looks"))


def looks_from(numbers: Any) -> tuple[float, ...]:
    """Looks from their number, or from the shares of the topics."""
    if len(numbers) == 1 and numbers[0] == int(numbers[0]):
        return even_looks(int(numbers[0]))
    return tuple(numbers)


def parse_bounds(text: str) -> tuple[float, float]:
    """The smallest and the largest difference: ``-1,1``."""
    from cranfield.methods.design.grid import parse_grid

    return bounds_from(parse_grid(text, name="bounds"))


def bounds_from(numbers: Any) -> tuple[float, float]:
    """The smallest and the largest difference from two numbers."""
    if len(numbers) != 2:
        text = ",".join(f"{number:g}" for number in numbers)
        raise RequestError(f"the bounds «{text}» are not two numbers", fix="Write the smallest and the largest: -1,1.")
    return numbers[0], numbers[1]
