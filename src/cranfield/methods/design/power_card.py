"""The power card of a collection: detectable differences, for all pairs and for one pair, and its curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.methods.design.formulas import SHARED
from cranfield.methods.design.planning import check_pilot, correlation_caution, pilot_caution
from cranfield.methods.design.request import GOALS, TYPICAL_CORRELATION, Request, broadcast
from cranfield.methods.design.request import whole as whole
from cranfield.methods.design.sample_size import (
    detectable_difference,
    detectable_range,
    power_for_difference,
    sensitivity_with,
    significant_difference,
    width_with,
)
from cranfield.methods.names import PLANNED_TEST_TITLES, TEST_LABELS, fix_for_test
from cranfield.methods.variance import Variances
from cranfield.stats.family import ALL_PAIRS_TEST

MOST_CARDS = 1000
_ROUNDING = 1e-18  # of the variance of scores: what is no larger is 0
NONE = float("nan")


@dataclass(frozen=True, kw_only=True)
class Card:
    """The differences that n topics detect between systems that share them.

    ``achieved_power``, ``detectable_difference`` and ``significant_difference`` are for a pair of ``systems`` under
    ``test``; those with ``tukey_`` the same under Tukey's HSD, and those with ``pair_`` for a pair named in advance
    (paired t test). ``significant_difference`` is the smallest observed difference that is significant, for a pair of
    average variance where the test has a standard error for each pair; a true difference of that size is significant
    half of the time. ``variance`` is σ² of one system's scores, nan if unknown, and ``sd`` the standard deviation of
    paired differences.
    """

    measure: str
    topics: int
    systems: int
    test: str
    variance: float
    correlation: float
    sd: float
    alpha: float
    power: float
    difference: float
    achieved_power: float
    detectable_difference: float
    significant_difference: float
    tukey_power: float
    tukey_detectable_difference: float
    tukey_significant_difference: float
    pair_power: float
    pair_detectable_difference: float
    detectable_range: float
    width: float
    sensitivity: float
    difference_sensitivity: float

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "design": self.design}

    @property
    def design(self) -> str:
        """That systems share topics, and that this does not help where it does not."""
        return f"{SHARED}, scores uncorrelated" if self.correlation == 0 else SHARED

    @property
    def has_own_errors(self) -> bool:
        """Whether the test measures each pair by a standard error of its own."""
        return self.test in ("max-t", "holm")

    @property
    def is_family(self) -> bool:
        """Whether the card is for all pairs of several systems."""
        return self.test != "t" and self.systems > 2

    def power_for(self, difference: float, test: str) -> float:
        """The power for a difference under a test."""
        family: dict[str, Any] = {} if test == "t" else {"systems": self.systems, "test": test}
        return float(
            power_for_difference(topics=self.topics, difference=difference, sd=self.sd, alpha=self.alpha, **family)
        )

    def sentence(self) -> str:
        """Return the conclusion in sentences."""
        name = f"{self.measure}: " if self.measure else ""
        if not self.is_family:
            return (
                f"{name}{self.topics} topics detect a difference of {self.pair_detectable_difference:.3f} between two "
                f"systems named in advance with power {self.power:g} at α = {self.alpha:g} (paired t test; "
                f"{self.design}), and one of {self.difference:g} with power {self.pair_power:.2f}. "
                "A smaller difference that is not significant has not been ruled out."
            )
        return (
            f"{name}{self.topics} topics detect a difference of {self.detectable_difference:.3f} between two of "
            f"{self.systems} systems with power {self.power:g} at α = {self.alpha:g} ({TEST_LABELS[self.test]}; "
            f"{self.design}), and one of {self.pair_detectable_difference:.3f} between two named in advance (paired t "
            f"test); a difference of {self.difference:g} is detected with power {self.achieved_power:.2f} "
            f"({TEST_LABELS[self.test]}) or {self.pair_power:.2f} (paired t test of a pair named in advance). "
            f"{self._threshold()}; a true difference of that size is significant only half of the time, so the "
            "detectable one is larger. A smaller difference that is not significant has not been ruled out."
        )

    def _threshold(self) -> str:
        size = f"{self.significant_difference:.3f} is significant"
        if self.test == "tukey":
            return f"An observed difference of {size} (q·√(MSE/n))"
        own = "For a pair of average variance, an observed difference of about"
        tukey = f"Tukey's q·√(MSE/n) is {self.tukey_significant_difference:.3f}"
        return (
            f"{own if self.has_own_errors else 'An observed difference of'} {size} ({TEST_LABELS[self.test]}; {tukey})"
        )


def make_card(
    *,
    topics: int,
    sd: float,
    variance: float = NONE,
    correlation: float = NONE,
    systems: int = 2,
    test: str | None = None,
    difference: float = 0.05,
    alpha: float = 0.05,
    power: float = 0.8,
    measure: str = "",
) -> Card:
    """Return the card of ``topics`` topics. The range of m systems is for shared topics, with the residual sd²/2."""
    chosen = test or (ALL_PAIRS_TEST if systems > 2 else "t")
    if chosen not in PLANNED_TEST_TITLES:
        raise RequestError(f"there is no test «{chosen}»", fix=fix_for_test(chosen, PLANNED_TEST_TITLES))
    given: dict[str, Any] = {"topics": topics, "sd": sd, "alpha": alpha}
    family: dict[str, Any] = {} if chosen == "t" else {"systems": systems, "test": chosen}
    tukey: dict[str, Any] = {"systems": systems, "test": "tukey"}
    return Card(
        measure=measure,
        topics=topics,
        systems=systems,
        test=chosen,
        variance=variance,
        correlation=correlation,
        sd=sd,
        alpha=alpha,
        power=power,
        difference=difference,
        achieved_power=float(power_for_difference(difference=difference, **given, **family)),
        detectable_difference=float(detectable_difference(power=power, **given, **family)),
        significant_difference=float(significant_difference(systems=systems, test=chosen, **given)),
        tukey_power=float(power_for_difference(difference=difference, **given, **tukey)),
        tukey_detectable_difference=float(detectable_difference(power=power, **given, **tukey)),
        tukey_significant_difference=float(significant_difference(**given, **tukey)),
        pair_power=float(power_for_difference(difference=difference, **given)),
        pair_detectable_difference=float(detectable_difference(power=power, **given)),
        detectable_range=float(
            detectable_range(
                topics=topics, systems=systems, variance=sd**2 / 2, alpha=alpha, power=power, method="blocked"
            )
        ),
        width=float(width_with(**given)),
        sensitivity=NONE
        if variance != variance
        else float(sensitivity_with(topics=topics, sd=variance**0.5, alpha=alpha)),
        difference_sensitivity=float(sensitivity_with(**given)),
    )


Values = Sequence[float]


def cards_from_grid(
    *,
    topics: Values | None = None,
    systems: Values | None = None,
    variance: Values | None = None,
    correlation: Values | None = None,
    sd: Values | None = None,
    difference: Values | None = None,
    alpha: Values | None = None,
    power: Values | None = None,
    test: str | None = None,
) -> list[Card]:
    """Return a card for every combination of inputs; for a pair named in advance if ``systems`` is not given.

    With a ``variance`` only there are two cards, for uncorrelated scores and for a typical ``correlation``.
    """
    if topics is None:
        raise RequestError("the number of topics is missing", fix="Add `topics=50`, or give the collection's scores.")
    if systems is None and test not in (None, "t"):
        raise RequestError(f"the test {test} needs the number of systems", fix="Add `systems=10`, for instance.")
    spreads = _spreads(variance, correlation, sd)
    axes = (topics, systems or (2,), spreads, difference or (0.05,), alpha or (0.05,), power or (0.8,))
    if (count := prod(map(len, axes))) > MOST_CARDS:
        raise RequestError(
            f"the grid has {count:,} designs, and the power of {MOST_CARDS:,} at most is shown",
            fix="Give fewer values.",
        )
    return [
        make_card(
            topics=whole(n, "topics"),
            systems=whole(m, "systems"),
            variance=spread[0],
            correlation=spread[1],
            sd=spread[2],
            test=test,
            difference=gap,
            alpha=level,
            power=target,
        )
        for n, m, spread, gap, level, target in product(*axes)
    ]


def _spreads(
    variance: Values | None, correlation: Values | None, sd: Values | None
) -> list[tuple[float, float, float]]:
    """Return σ², ρ and the sd of paired differences; nan if unknown."""
    if variance is None and sd is None:
        raise RequestError("the variance is missing", fix="Add `variance` or `sd`, or give scores to estimate it from.")
    if correlation is not None and (variance is None or sd is not None):
        raise RequestError("`correlation` goes with `variance` and without `sd`", fix="Leave one of them out.")
    for name, values in (("variance", variance), ("sd", sd), ("correlation", correlation)):
        if values is not None:
            broadcast({name: values})
    if sd is not None:
        return [(one, NONE, each) for one, each in product(variance or (NONE,), sd)]
    shared = correlation or (0.0, TYPICAL_CORRELATION)
    return [(each, rho, (2 * each * (1 - rho)) ** 0.5) for each, rho in product(variance or (), shared)]


def cards_from_pilot(
    variances: Variances,
    *,
    topics: Values | None = None,
    systems: Values | None = None,
    variance: Values | None = None,
    correlation: Values | None = None,
    sd: Values | None = None,
    small_pilot: bool = False,
    **options: Any,
) -> list[Card]:
    """Return cards for every measure, by default for the topics and systems of the pilot."""
    if variance is not None or sd is not None or correlation is not None:
        raise RequestError(
            "the variance comes from the scores", fix="Leave out `variance`, `sd` and `correlation`, or the scores."
        )
    found: list[Card] = []
    for measure in dict.fromkeys(estimate.measure for estimate in variances.estimates):
        residual, within = variances.get("residual", measure=measure), variances.get("within", measure=measure)
        if residual.difference_variance <= _ROUNDING * within.variance:
            what = f"the differences of {measure} do not vary over topics, so that no power can be computed"
            raise RequestError(what, fix="Check that the scores are those of different systems.")
        check_pilot(residual, insisted=small_pilot)
        mine = cards_from_grid(
            topics=topics or [residual.topics],
            systems=systems or [residual.systems],
            variance=[within.variance],
            sd=[residual.difference_variance**0.5],
            **options,
        )
        found += [replace(card, measure=measure) for card in mine]
    return found


def card_cautions(cards: Sequence[Card], variances: Variances | None) -> tuple[Caution, ...]:
    """Return the warnings about cards: a small pilot, or an unknown correlation."""
    if variances is not None:
        measures = dict.fromkeys(card.measure for card in cards)
        return tuple(
            caution for measure in measures for caution in pilot_caution(variances.get("residual", measure=measure))
        )
    assumed = {card.correlation for card in cards} == {0.0, TYPICAL_CORRELATION}
    return (correlation_caution(),) if assumed else ()


class Gated(Protocol):
    """What a gate needs of a card."""

    @property
    def test(self) -> str: ...

    def power_for(self, difference: float, test: str) -> float: ...


@dataclass(frozen=True)
class Gate:
    """A requirement: ``power`` for a ``difference`` under ``test``, by default the test of the card."""

    difference: float
    power: float
    test: str | None = None

    def test_of(self, card: Gated) -> str:
        return self.test or card.test

    def power_of(self, card: Gated) -> float:
        """Return the power of the card for this difference and test."""
        return card.power_for(self.difference, self.test_of(card))

    def passes(self, card: Gated) -> bool:
        return self.power_of(card) >= self.power


def parse_gate(text: str) -> Gate:
    """Parse ``difference=0.03,power=0.8,test=tukey``; by default power is 0.8 and the test that of the card."""
    example = "Write difference=0.03,power=0.8 or difference=0.03,power=0.8,test=t."
    numbers: dict[str, float] = {}
    test: str | None = None
    for piece in text.split(","):
        name, mark, value = (part.strip() for part in piece.partition("="))
        if name == "test" and value in PLANNED_TEST_TITLES:
            test = value
            continue
        try:
            numbers[name] = float(value)
        except ValueError:
            mark = ""
        if not mark or name not in ("difference", "power"):
            raise RequestError(f"the gate «{text}» is not understood", fix=example)
    if "difference" not in numbers:
        raise RequestError("a gate needs a difference", fix=example)
    return Gate(numbers["difference"], numbers.get("power", 0.8), test)


AXES = (*GOALS, "systems", "variance", "correlation", "sd", "alpha", "power")
REACH = 2.5  # factor by which the input is decreased and increased
POINTS = 20  # to either side


def curve_through(request: Request, axis: str | None = None) -> Request:
    """Vary ``axis`` (by default the first goal) of a request around its value; a grid is left unchanged.

    >>> found = curve_through(Request(systems=[10], min_range=[0.1], variance=[0.053]))
    >>> len(found.min_range), 0.1 in found.min_range
    (41, True)
    """
    if any(len(getattr(request, name) or ()) > 1 for name in AXES):
        return request
    name = axis or next(iter(request.goals), "")
    values = getattr(request, name, None) if name in AXES else None
    if name in ("alpha", "power"):
        values = request.values(name)
    if not values:
        given = ", ".join(each for each in AXES if getattr(request, each) is not None)
        what = f"the request has no «{name}» to vary"
        raise NoEffectError(what, parameter="curve", fix=f"Choose one of: {given}.")
    moved: dict[str, Any] = {name: _around(name, values[0], floor=request.values("alpha")[0])}
    return replace(request, **moved)


def _around(name: str, value: float, *, floor: float) -> list[float]:
    if name == "power":  # the power of a test is at least α
        low = max(0.3, min(0.99, floor * 1.5))
        return sorted({value, *(each for each in np.linspace(low, 0.99, 2 * POINTS).round(4).tolist() if each > floor)})
    if name == "systems":
        steps = np.linspace(2, max(20, 2 * min(value, 1e9)), 2 * POINTS).round()
        return sorted({value, *map(float, steps.tolist())})
    if name == "correlation":
        return sorted({value, *np.linspace(min(0.0, value), max(0.95, value), 2 * POINTS).tolist()})
    factors = REACH ** (np.arange(-POINTS, POINTS + 1) / POINTS)
    most = 0.5 if name == "alpha" else np.inf
    return sorted({value, *(float(value * factor) for factor in factors if value * factor < most)})


def card_curves(
    *, topics: int, sd: float, systems: int = 2, test: str = "t", alpha: float = 0.05, power: float = 0.8
) -> tuple[Sequence[int], dict[str, list[float]]]:
    """Cards for numbers of topics around ``topics``: Sakai (2014), Fig. 3."""
    around = np.unique(np.maximum(3, np.geomspace(max(3, topics / 4), topics * 4, POINTS).round()).astype(int))
    around = np.union1d(around, [topics])
    n = around.astype(float)
    ranges = detectable_range(topics=n, systems=systems, variance=sd**2 / 2, alpha=alpha, power=power, method="blocked")
    family: dict[str, Any] = {} if test == "t" else {"systems": systems, "test": test}
    found = {
        "detectable_range": ranges,
        "detectable_difference": detectable_difference(topics=n, sd=sd, alpha=alpha, power=power, **family),
        "pair_detectable_difference": detectable_difference(topics=n, sd=sd, alpha=alpha, power=power),
        "width": width_with(topics=n, sd=sd, alpha=alpha),
    }
    return around.tolist(), {name: np.asarray(values).tolist() for name, values in found.items()}
