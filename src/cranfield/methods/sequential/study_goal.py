"""The goal of a study and the order of its topics, fixed before the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.formats.text import read_bytes, show
from cranfield.methods.design import Design, Sd, size
from cranfield.methods.design.goals import Goal, likely_meant
from cranfield.methods.design.inputs import broadcast, parse_grid
from cranfield.methods.names import PLAN_TITLES
from cranfield.methods.sequential.boundaries import SPENDING
from cranfield.runtime import random

PLANS = tuple(PLAN_TITLES)
ONLY_IN = {"first": "iterative", "looks": "group-sequential", "spending": "group-sequential"}
FEWEST = 30  # topics before the first look at the sd; WMZ08 §3.1: the t test needs about 25 for unknown distributions
_MOST = 10**12  # topics beyond which there is no need to count
FARTHEST_LOOK = 5  # times the topics a fixed plan takes: how far plans without an end are followed


@dataclass(frozen=True, kw_only=True)
class StudyGoal:
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
    plan: str = "group-sequential"
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
                fix=f"Name a smaller difference, or wider bounds. {likely_meant('difference', self.difference, 1.0)}",
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"looks": list(self.looks)}

    def changed(self, changes: Mapping[str, Any]) -> StudyGoal:
        """The goal with some of its numbers replaced, checked again."""
        return replace(self, **changes)

    def needed_topics(self, sd: float | None = None) -> int:
        """Topics that detect the difference, for its own sd or another."""
        wanted = self.sd if sd is None else max(sd, 1e-9)  # systems that never differ still need two topics
        return fixed_topics(self.difference, wanted, self.alpha, self.power)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StudyGoal:
        known = {field.name for field in fields(cls)}
        return cls(**{**{name: content[name] for name in known if name in content}, "looks": tuple(content["looks"])})


def check_effect(plan: str, names: Iterable[str]) -> None:
    """Refuse parameters that have no effect in a plan."""
    idle = [name for name in names if ONLY_IN.get(name, plan) != plan]
    if idle:
        raise NoEffectError(
            f"«{idle[0]}» has no effect in the {plan} plan",
            parameter=idle[0],
            fix=f"Omit it, or choose the {ONLY_IN[idle[0]]} plan.",
        )


@lru_cache(maxsize=4096)
def fixed_topics(difference: float, sd: float, alpha: float, power: float) -> int:
    """Topics that detect a difference at this sd in one paired t test.

    >>> fixed_topics(0.033, 0.15, 0.05, 0.8)  # WMZ08 §5.1 prints the truncated 164
    165
    """
    needed = size(Design(alpha=alpha, spread=Sd(sd=sd)), Goal("difference", difference, power), limit=_MOST)
    if not needed.reached:
        raise RequestError(
            f"a difference of {difference:g} is not detectable at an sd of {sd:g} with any practical number of topics",
            fix="Choose a larger difference.",
        )
    return int(needed.topics)


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
    return looks_from(parse_grid(text, name="looks"))


def looks_from(numbers: Any) -> tuple[float, ...]:
    """Looks from their number, or from the shares of the topics."""
    if len(numbers) == 1 and numbers[0] == int(numbers[0]):
        return even_looks(int(numbers[0]))
    return tuple(numbers)


def bounds_from(numbers: Any) -> tuple[float, float]:
    """The smallest and the largest difference from two numbers."""
    if len(numbers) != 2:
        text = ",".join(f"{number:g}" for number in numbers)
        raise RequestError(f"the bounds «{text}» are not two numbers", fix="Write the smallest and the largest: -1,1.")
    return numbers[0], numbers[1]


@dataclass(frozen=True, kw_only=True)
class TopicOrder:
    """Candidate topics in the order drawn for them, the seed, and the topics that were added out of it.

    Without candidates no order was recorded.
    """

    candidates: tuple[str, ...] = ()
    seed: int | None = None
    out_of_order: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What a row of JSON has of it."""
        return {
            "order": "random" if self.candidates else "assumed random",
            "order_seed": self.seed,
            "candidates": len(self.candidates) or None,
            "out_of_order": len(self.out_of_order),
        }

    def sentence(self) -> str:
        """For the report of a study."""
        if not self.candidates:
            return "Topics are assumed to have been added in random order; the study recorded no order."
        kept = "" if not self.out_of_order else f"; {_topics(len(self.out_of_order))} did not follow it"
        return (
            f"The order of the topics was drawn at random from {len(self.candidates):,} candidates before the first "
            f"was judged (seed {self.seed}){kept}."
        )

    def cautions(self) -> tuple[Caution, ...]:
        """What a reader should know about topics that did not follow the order."""
        if not self.out_of_order:
            return ()
        count = len(self.out_of_order)
        what = (
            f"{_topics(count)} {'was' if count == 1 else 'were'} added out of the random order drawn for the study "
            f"(the first: {self.out_of_order[0]}), so that the sample may not be a random one"
        )
        return (Caution("out-of-order", what, "Say in the report why they were preferred to the topics before them."),)

    def remaining(self, added: Collection[str]) -> list[str]:
        """The candidates that have not been added, in their order."""
        present = set(added)
        return [topic for topic in self.candidates if topic not in present]

    def sorted_rows(self, rows: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
        """Rows of new topics in the order drawn, topics that are no candidates last; as they are without an order."""
        place = {topic: at for at, topic in enumerate(self.candidates)}
        return sorted(rows, key=lambda row: place.get(row[0], len(place)))

    def ahead(self, added: Collection[str], new: Collection[str]) -> list[str]:
        """Which of the new topics are not among the next candidates; none without an order."""
        if not self.candidates:
            return []
        due = set(self.remaining(added)[: len(new)])
        return [topic for topic in new if topic not in due]


def _topics(count: int) -> str:
    return "1 topic" if count == 1 else f"{count:,} topics"


def draw_order(topics: Sequence[str], *, seed: int = 1) -> TopicOrder:
    """A random order of candidate topics.

    >>> order = draw_order(["301", "302", "303", "304"], seed=1)
    >>> sorted(order.candidates), order.seed
    (['301', '302', '303', '304'], 1)
    """
    twice = [topic for topic, count in Counter(topics).items() if count > 1]
    if twice:
        raise RequestError(f"topic {twice[0]} is a candidate twice", fix="Name every topic once.")
    if len(topics) < 2:
        raise RequestError("an order needs two candidate topics or more", fix="Name all topics that may be judged.")
    places = random.generator(seed, "study", "order").permutation(len(topics))
    return TopicOrder(candidates=tuple(topics[at] for at in places.tolist()), seed=seed)


def read_topics(source: str | Path) -> tuple[str, ...]:
    """Topic identifiers, one per line: its first word. Empty lines and lines that begin with # are skipped."""
    try:
        lines = read_bytes(source).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError("this is not a list of topics", where=show(source), fix="Write one topic per line.") from None
    topics = tuple(line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not topics:
        raise InputError("the list has no topics", where=show(source), fix="Write one topic per line.")
    return topics
