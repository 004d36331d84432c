"""A collection's card: what its topics can and cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from cranfield.design.checking import broadcast
from cranfield.design.grid import whole as whole
from cranfield.design.solving import (
    detectable_difference,
    detectable_range,
    power_for_difference,
    sensitivity_with,
    width_with,
)
from cranfield.errors import RequestError
from cranfield.variance import Variances


@dataclass(frozen=True)
class Card:
    """What n topics can see. ``variance`` is σ² of one system's scores, ``sd`` that of a paired difference."""

    measure: str
    topics: int
    systems: int
    variance: float
    sd: float
    alpha: float
    power: float
    difference: float
    achieved_power: float
    detectable_difference: float
    detectable_range: float
    width: float
    sensitivity: float
    difference_sensitivity: float

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def sentence(self) -> str:
        """What may be claimed."""
        return (
            f"{self.topics} topics find a difference of {self.detectable_difference:.3f} between two systems with "
            f"probability {self.power:g}; one of {self.difference:g} with probability {self.achieved_power:.2f}. "
            "A smaller difference that is not significant has not been ruled out."
        )


def make_card(
    *,
    topics: int,
    sd: float,
    variance: float,
    systems: int = 10,
    difference: float = 0.05,
    alpha: float = 0.05,
    power: float = 0.8,
    measure: str = "",
) -> Card:
    """The card of ``topics`` topics. The range of m systems is that of a blocked comparison, with residual sd²/2."""
    return Card(
        measure,
        topics,
        systems,
        variance,
        sd,
        alpha,
        power,
        difference,
        float(power_for_difference(topics=topics, difference=difference, sd=sd, alpha=alpha)),
        float(detectable_difference(topics=topics, sd=sd, alpha=alpha, power=power)),
        float(
            detectable_range(
                topics=topics, systems=systems, variance=sd**2 / 2, alpha=alpha, power=power, method="blocked"
            )
        ),
        float(width_with(topics=topics, sd=sd, alpha=alpha)),
        float(sensitivity_with(topics=topics, sd=variance**0.5, alpha=alpha)),
        float(sensitivity_with(topics=topics, sd=sd, alpha=alpha)),
    )


Values = Sequence[float]


def cards_from_grid(
    *,
    topics: Values | None = None,
    systems: Values | None = None,
    variance: Values | None = None,
    sd: Values | None = None,
    difference: Values = (0.05,),
    alpha: Values = (0.05,),
    power: Values = (0.8,),
) -> list[Card]:
    """A card for every combination; σ_t² = 2σ² where only one of ``variance`` and ``sd`` is given."""
    if topics is None:
        raise RequestError("the number of topics is missing", fix="Add --topics 50, or give the collection's scores.")
    if variance is None and sd is None:
        raise RequestError("the variance is missing", fix="Add --variance or --sd, or give scores to estimate it from.")
    for name, values in (("variance", variance), ("sd", sd)):
        if values is not None:
            broadcast({name: values})
    spreads = (
        list(product(variance, sd))
        if variance is not None and sd is not None
        else [(each, (2 * each) ** 0.5) for each in variance]
        if variance is not None
        else [(each**2 / 2, each) for each in sd or ()]
    )
    axes = product(topics, systems or (10,), spreads, difference, alpha, power)
    return [
        make_card(
            topics=whole(n, "topics"),
            systems=whole(m, "systems"),
            variance=spread[0],
            sd=spread[1],
            difference=gap,
            alpha=level,
            power=target,
        )
        for n, m, spread, gap, level, target in axes
    ]


def cards_from_pilot(
    variances: Variances,
    *,
    topics: Values | None = None,
    systems: Values | None = None,
    variance: Values | None = None,
    sd: Values | None = None,
    **options: Values,
) -> list[Card]:
    """Cards for every measure, from the pilot's own topics and systems unless others are named."""
    if variance is not None or sd is not None:
        raise RequestError("the variance comes from the scores", fix="Leave out --variance and --sd, or the scores.")
    found: list[Card] = []
    for measure in dict.fromkeys(estimate.measure for estimate in variances.estimates):
        residual, within = variances.get("residual", measure=measure), variances.get("within", measure=measure)
        mine = cards_from_grid(
            topics=topics or [residual.topics],
            systems=systems or [residual.systems],
            variance=[within.variance],
            sd=[residual.difference_variance**0.5],
            **options,
        )
        found += [replace(card, measure=measure) for card in mine]
    return found


@dataclass(frozen=True)
class Gate:
    """A demand a collection must meet: to see ``difference`` with probability ``power``."""

    difference: float
    power: float

    def passes(self, card: Card) -> bool:
        """Whether the card's topics see it, at the card's α."""
        seen = power_for_difference(topics=card.topics, difference=self.difference, sd=card.sd, alpha=card.alpha)
        return bool(seen >= self.power)


def parse_gate(text: str) -> Gate:
    """``difference=0.03,power=0.8``; power is 0.8 unless said otherwise."""
    given: dict[str, float] = {}
    for piece in text.split(","):
        name, mark, value = piece.partition("=")
        try:
            given[name.strip()] = float(value)
        except ValueError:
            mark = ""
        if not mark or name.strip() not in ("difference", "power"):
            raise RequestError(f"the gate «{text}» is not understood", fix="Write difference=0.03,power=0.8.")
    if "difference" not in given:
        raise RequestError("a gate needs a difference", fix="Write difference=0.03,power=0.8.")
    return Gate(given["difference"], given.get("power", 0.8))
