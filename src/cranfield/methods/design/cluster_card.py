"""The power card of topics that come in clusters or strata, or that count unequally.

Topics in clusters are planned for as the means of equal clusters are, which are independent: as many of them as the
degrees of freedom allow, with the variance that the mean difference has. For clusters of one size this is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.power_card import NONE, Card, make_card
from cranfield.methods.design.request import whole
from cranfield.methods.design.sample_size import power_for_difference
from cranfield.methods.names import TEST_LABELS
from cranfield.methods.variance.estimates import MeanVariance

TESTS = ("holm", "t")
"""What a comparison of topics with clusters, strata or weights can be planned for."""


@dataclass(frozen=True, kw_only=True)
class ClusterCard(Card):
    """A card of topics that are not independent: n of them are worth ``effective_topics`` that are.

    ``units`` independent means with the standard deviation ``unit_sd`` have the same variance and degrees of freedom.
    """

    clusters: float | None
    design_effect: float
    effective_topics: float
    units: int
    unit_sd: float

    def power_for(self, difference: float, test: str) -> float:
        """The power for a difference under a test."""
        if test not in TESTS:
            raise _no_test(test)
        family: dict[str, Any] = {} if test == "t" else {"systems": self.systems, "test": test}
        given: dict[str, Any] = {"topics": self.units, "sd": self.unit_sd, "alpha": self.alpha}
        return float(power_for_difference(difference=difference, **given, **family))

    def sentence(self) -> str:
        """Return the conclusion in sentences."""
        name = f"{self.measure}: " if self.measure else ""
        inside = "" if self.clusters is None else f" in {self.clusters:,.0f} clusters"
        among = f"two of {self.systems} systems" if self.is_family else "two systems named in advance"
        pair = (
            f", and one of {self.pair_detectable_difference:.3f} between two named in advance (paired t test)"
            if self.is_family
            else ""
        )
        return (
            f"{name}{self.topics} topics{inside} detect a difference of {self.detectable_difference:.3f} between "
            f"{among} with power {self.power:g} at α = {self.alpha:g} ({TEST_LABELS[self.test]}, robust standard "
            f"errors){pair}; a difference of {self.difference:g} is detected with power {self.achieved_power:.2f}. "
            f"The design effect is {self.design_effect:.2f}: they are worth {self.effective_topics:,.0f} independent "
            "topics. A smaller difference that is not significant has not been ruled out."
        )


def _no_test(test: str) -> RequestError:
    return RequestError(
        f"topics with clusters, strata or weights are not compared by the test {test}",
        fix=f"Choose one of: {', '.join(TESTS)}.",
    )


def cluster_cards(
    found: MeanVariance,
    *,
    measure: str,
    topics: Sequence[float] | None = None,
    systems: Sequence[float] | None = None,
    difference: Sequence[float],
    alpha: Sequence[float],
    power: Sequence[float],
    test: str | None = None,
) -> list[ClusterCard]:
    """A card for every combination; other numbers of topics are in clusters of the same sizes."""
    if test not in (None, *TESTS):
        raise _no_test(str(test))
    axes = product(topics or (found.topics,), systems or (found.systems,), difference, alpha, power)
    return [
        _card(
            found,
            topics=whole(n, "topics"),
            measure=measure,
            asked={
                "systems": (m := whole(count, "systems")),
                "test": test or ("holm" if m > 2 else "t"),
                "difference": gap,
                "alpha": level,
                "power": target,
            },
        )
        for n, count, gap, level, target in axes
    ]


def _card(found: MeanVariance, *, topics: int, measure: str, asked: dict[str, Any]) -> ClusterCard:
    times = topics / found.topics
    units = max(2, math.floor((found.df + 1) * times + 1e-9))
    sd = math.sqrt(units * found.variance / times)
    card = make_card(topics=units, sd=sd, variance=units * found.own / times, measure=measure, **asked)
    own = {name: value for name, value in vars(card).items() if not name.startswith("tukey_")}
    none = {name: NONE for name in vars(card) if name.startswith("tukey_")}  # nobody compares them by Tukey's test
    changed = {"topics": topics, "sd": found.sd, "variance": found.within}
    return ClusterCard(
        **{**own, **none, **changed},
        clusters=None if found.clusters is None else found.clusters * times,
        design_effect=found.design_effect,
        effective_topics=topics / found.design_effect if found.design_effect > 0 else NONE,
        units=units,
        unit_sd=sd,
    )
