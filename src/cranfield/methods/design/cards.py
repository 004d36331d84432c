"""Power cards: what a number of topics detects between all pairs and one pair, with its curves and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np

from cranfield.errors import Caution, RequestError, say_as_share
from cranfield.methods.design.formulas import SHARED, Design
from cranfield.methods.design.goals import DEFAULT_DIFFERENCE, Goal, Scale, check_scale, default_difference
from cranfield.methods.design.inputs import broadcast, whole
from cranfield.methods.design.planning import check_pilot, correlation_caution, pilot_caution
from cranfield.methods.design.request import TYPICAL_CORRELATION
from cranfield.methods.design.solver import achieved, significant_difference, solve
from cranfield.methods.design.spreads import Clustered, Judged, Sd, Spread
from cranfield.methods.names import PLANNED_TEST_TITLES, TEST_LABELS, fix_for_test
from cranfield.methods.variance import Variances
from cranfield.methods.variance.estimates import MeanVariance
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.stats.tails import t_critical

MOST_CARDS = 1000
NONE = float("nan")
Values = Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Card:
    """The differences that n topics detect between systems that share them.

    ``achieved_power``, ``detectable_difference`` and ``significant_difference`` are for a pair of ``systems`` under
    ``test``; those with ``tukey_`` the same under Tukey's HSD, and those with ``pair_`` for a pair named in advance
    (paired t test). ``significant_difference`` is the smallest observed difference that is significant, for a pair of
    average variance where the test has a standard error for each pair; a true difference of that size is significant
    half of the time. Of a table it is that of its own comparison, which Holm's last step decides. ``variance`` is σ² of
    one system's scores, nan if unknown, and ``sd`` the standard deviation of paired differences. Topics in clusters or
    strata, or with weights, are worth ``effective_topics``; so are topics with human labels among ``judged_topics``,
    of which there are 0 where the same ``cost`` is better spent on human labels alone. ``human`` is the card of these.
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
    spread: Spread
    clusters: float | None = None
    design_effect: float = NONE
    effective_topics: float = NONE
    human: Card | None = None
    cost: float = NONE

    def to_dict(self) -> dict[str, Any]:
        if self.human is not None:
            return self._with_judge(self.human)
        own = {"units": self.units, "unit_sd": self.unit_sd} if self.is_clustered else {}
        apart = () if self.is_clustered else ("clusters", "design_effect", "effective_topics")
        without = ("spread", "human", "cost", *apart)
        row = {name: value for name, value in vars(self).items() if name not in without}
        return row | own | {"design": self.design}

    def _with_judge(self, human: Card) -> dict[str, Any]:
        names = ("measure", "systems", "test", "sd", "alpha", "power", "difference", "topics", "judged_topics")
        reached = ("achieved_power", "detectable_difference", "pair_power", "pair_detectable_difference", "width")
        more = ("judge_correlation", *reached, "effective_topics", "cost", "judge_pays")
        alone = {f"human_{name.removeprefix('achieved_')}": getattr(human, name) for name in ("topics", *reached)}
        return {name: getattr(self, name) for name in (*names, *more)} | alone

    @property
    def judged_topics(self) -> int:
        """Topics that a judge labels."""
        return int(np.asarray(self.spread.judged_topics)) if isinstance(self.spread, Judged) else 0

    @property
    def judge_correlation(self) -> float:
        """r of paired differences under human and judge's labels."""
        return float(np.asarray(self.spread.judge_correlation)) if isinstance(self.spread, Judged) else NONE

    @property
    def judge_pays(self) -> bool:
        """Whether less is detected than by human labels alone."""
        return self.human is not None and self.detectable_difference < self.human.detectable_difference

    @property
    def is_clustered(self) -> bool:
        """Whether topics are not independent, or count unequally."""
        return isinstance(self.spread, Clustered)

    @property
    def units(self) -> int:
        """The independent means that the topics are worth: as many, with ``unit_sd``, have the same variance."""
        return int(self.spread.independent(np.asarray(float(self.topics)))[0])

    @property
    def unit_sd(self) -> float:
        return float(self.spread.independent(np.asarray(float(self.topics)))[1])

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

    def designs(self, test: str | None = None, topics: Any = None) -> Design:
        """Its design, under another test or with other numbers of topics."""
        return Design(
            topics=self.topics if topics is None else topics,
            systems=self.systems,
            test=test or self.test,
            alpha=self.alpha,
            spread=self.spread,
        )

    def decided_at(self, level: float) -> Card:
        """The same where a pair is significant at a level, two-sided, that is known."""
        reach = float(t_critical(level / 2, self.topics - 1)) * self.sd / self.topics**0.5
        return replace(self, significant_difference=reach)

    def power_for(self, difference: float, test: str) -> float:
        """The power for a difference under a test."""
        self.spread.check_test(test)
        return float(achieved(self.designs(test), Goal("difference", difference)))

    def sentence(self) -> str:
        """Return the conclusion in sentences."""
        name = f"{self.measure}: " if self.measure else ""
        if self.human is not None:
            return name + self._of_judge(self.human)
        return name + (self._of_clusters() if self.is_clustered else self._of_topics())

    def _of_topics(self) -> str:
        level = f"with power {self.power:g} at α = {self.alpha:g}"
        if not self.is_family:
            return (
                f"{self.topics} topics detect a difference of {self.pair_detectable_difference:.3f} between two "
                f"systems named in advance {level} (paired t test; {self.design}), and one of {self.difference:g} with "
                f"power {self.pair_power:.2f}. A smaller difference that is not significant has not been ruled out."
            )
        test = TEST_LABELS[self.test]
        return (
            f"{self.topics} topics detect a difference of {self.detectable_difference:.3f} between two of "
            f"{self.systems} systems {level} ({test}; "
            f"{self.design}), and one of {self.pair_detectable_difference:.3f} between two named in advance (paired t "
            f"test); a difference of {self.difference:g} is detected with power {self.achieved_power:.2f} "
            f"({test}) or {self.pair_power:.2f} (paired t test of a pair named in advance). "
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

    def _of_judge(self, human: Card) -> str:
        among = f"two of {self.systems} systems" if self.is_family else "two systems named in advance"
        level = f"between {among} with power {self.power:g} at α = {self.alpha:g}"
        r, cost = (
            f"r = {self.judge_correlation:.4g}",
            "" if np.isnan(self.cost) else f", at a cost of {self.cost:,.10g},",
        )
        alone = f"{human.topics:,} topics labelled by people alone detect"
        if not self.judge_pays:
            difference = f"a difference of {human.detectable_difference:.3f} {level}"
            return f"The labels of a model with {r} do not pay: {alone} {difference}."
        return (
            f"{self.spread.in_words(self.topics)}{cost} detect a difference of {self.detectable_difference:.3f} "
            f"{level} (regression estimator, {TEST_LABELS[self.test]}; {r}), and one of {self.difference:g} with power "
            f"{self.achieved_power:.2f}; {alone} {human.detectable_difference:.3f}."
        )

    def _of_clusters(self) -> str:
        inside = "" if self.clusters is None else f" in {self.clusters:,.0f} clusters"
        among, pair = "two systems named in advance", ""
        if self.is_family:
            among = f"two of {self.systems} systems"
            pair = f", and one of {self.pair_detectable_difference:.3f} between two named in advance (paired t test)"
        return (
            f"{self.topics} topics{inside} detect a difference of {self.detectable_difference:.3f} between "
            f"{among} with power {self.power:g} at α = {self.alpha:g} ({TEST_LABELS[self.test]}, robust standard "
            f"errors){pair}; a difference of {self.difference:g} is detected with power {self.achieved_power:.2f}. "
            f"The design effect is {self.design_effect:.2f}: they are worth {self.effective_topics:,.0f} independent "
            "topics. A smaller difference that is not significant has not been ruled out."
        )


def make_card(
    *,
    topics: int,
    sd: float,
    variance: float = NONE,
    correlation: float = NONE,
    systems: int = 2,
    test: str | None = None,
    difference: float = DEFAULT_DIFFERENCE,
    alpha: float = 0.05,
    power: float = 0.8,
    measure: str = "",
    spread: Spread | None = None,
    own: Spread | None = None,
) -> Card:
    """Return the card of ``topics`` topics; ``own`` is the spread of one system's scores.

    The range of m systems is for shared topics, with the residual sd²/2.
    """
    chosen = test or (ALL_PAIRS_TEST if systems > 2 else "t")
    if chosen not in PLANNED_TEST_TITLES:
        raise RequestError(f"there is no test «{chosen}»", fix=fix_for_test(chosen, PLANNED_TEST_TITLES))
    spread, goal = spread or Sd(sd=sd), Goal("difference", difference, power)
    own = own or (Sd(sd=variance**0.5) if variance == variance else None)
    design = Design(topics=topics, systems=systems, test=chosen, alpha=alpha, spread=spread)
    pair, tukey, means = (replace(design, test=name) for name in ("t", "tukey", "blocked"))
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
        achieved_power=float(achieved(design, goal)),
        detectable_difference=float(solve(design, goal, "difference")),
        significant_difference=float(significant_difference(design)),
        tukey_power=float(achieved(tukey, goal)),
        tukey_detectable_difference=float(solve(tukey, goal, "difference")),
        tukey_significant_difference=float(significant_difference(tukey)),
        pair_power=float(achieved(pair, goal)),
        pair_detectable_difference=float(solve(pair, goal, "difference")),
        detectable_range=float(solve(means, Goal("min_range", at_least=power), "min_range")),
        width=float(achieved(pair, Goal("width", at_least=None))),
        sensitivity=NONE if own is None else float(achieved(replace(pair, spread=own), Goal("sensitivity"))),
        difference_sensitivity=float(achieved(pair, Goal("sensitivity"))),
        spread=spread,
    )


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
    axes = (topics, systems or (2,), spreads, difference or (DEFAULT_DIFFERENCE,), alpha or (0.05,), power or (0.8,))
    if (count := prod(map(len, axes))) > MOST_CARDS:
        raise RequestError(
            f"the grid has {count:,} designs, and the power of {MOST_CARDS:,} at most is shown",
            fix="Give fewer values.",
        )
    names = ("difference", "alpha", "power")
    return [
        make_card(
            topics=whole(n, "topics"),
            systems=whole(m, "systems"),
            test=test,
            **_named(("variance", "correlation", "sd", *names), (*spread, *rest)),
        )
        for n, m, spread, *rest in product(*axes)
    ]


def _named(names: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


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
    scales: Mapping[str, Scale] | None = None,
    estimate: str | None = None,
    topics: Values | None = None,
    systems: Values | None = None,
    variance: Values | None = None,
    correlation: Values | None = None,
    sd: Values | None = None,
    difference: Values | None = None,
    small_pilot: bool = False,
    **options: Any,
) -> list[Card]:
    """Return cards for every measure, by default for the topics and systems of the pilot."""
    if variance is not None or sd is not None or correlation is not None:
        raise RequestError(
            "the variance comes from the scores", fix="Leave out `variance`, `sd` and `correlation`, or the scores."
        )
    cards: list[Card] = []
    for measure in dict.fromkeys(each.measure for each in variances.estimates):
        chosen = variances.get(estimate or "residual", measure=measure)
        within = variances.get("within", measure=measure)
        if chosen.difference_variance <= 1e-18 * within.variance:  # which is rounding
            what = f"the differences of {measure} do not vary over topics, so that no power can be computed"
            raise RequestError(what, fix="Check that the scores are those of different systems.")
        check_pilot(chosen.topics, insisted=small_pilot)
        mine = cards_from_grid(
            topics=topics or [chosen.topics],
            systems=systems or [chosen.systems],
            variance=[within.variance],
            sd=[chosen.difference_variance**0.5],
            difference=difference or [default_difference((scales or {}).get(measure, Scale()))],
            **options,
        )
        cards += [replace(card, measure=measure) for card in mine]
    return cards


def card_cautions(cards: Sequence[Card], variances: Variances | None) -> tuple[Caution, ...]:
    """Return the warnings about cards: a small pilot, or an unknown correlation."""
    if variances is not None:
        measures = dict.fromkeys(card.measure for card in cards)
        topics = {measure: variances.get("residual", measure=measure).topics for measure in measures}
        return tuple(caution for measure in measures for caution in pilot_caution(topics[measure], measure))
    assumed = {card.correlation for card in cards} == {0.0, TYPICAL_CORRELATION}
    return (correlation_caution(),) if assumed else ()


def goal_cautions(cards: Sequence[Card], scales: Mapping[str, Scale] | None) -> tuple[Caution, ...]:
    """What is to be said of differences on another scale than that of the scores or of their sd."""
    cautions: list[Caution] = []
    for card in cards:
        cautions += check_scale("difference", [card.difference], [card.sd], (scales or {}).get(card.measure))
    return tuple(dict.fromkeys(cautions))


# --- topics in clusters or strata, or with weights


def cluster_cards(
    moments: MeanVariance,
    *,
    measure: str,
    topics: Values | None = None,
    systems: Values | None = None,
    difference: Values,
    alpha: Values,
    power: Values,
    test: str | None = None,
) -> list[Card]:
    """A card for every combination; other numbers of topics are in clusters of the same sizes."""
    names = ("difference", "alpha", "power")
    return [
        _cluster_card(
            moments,
            whole(n, "topics"),
            measure=measure,
            systems=whole(m, "systems"),
            test=test or ("holm" if m > 2 else "t"),
            **_named(names, rest),
        )
        for n, m, *rest in product(topics or (moments.topics,), systems or (moments.systems,), difference, alpha, power)
    ]


def _cluster_card(moments: MeanVariance, topics: int, **asked: Any) -> Card:
    known = {"df": moments.df, "pilot_topics": moments.topics}
    spread = Clustered(variance=moments.variance, **known)
    spread.check_test(asked["test"])
    card = make_card(
        topics=topics,
        sd=moments.sd,
        variance=moments.within,
        spread=spread,
        own=Clustered(variance=moments.own, **known),
        **asked,
    )
    none: dict[str, Any] = {
        name: NONE for name in vars(card) if name.startswith("tukey_")
    }  # nobody compares them by Tukey's test
    effect, clusters = moments.design_effect, moments.clusters
    return replace(
        card,
        **none,
        clusters=None if clusters is None else clusters * topics / moments.topics,
        design_effect=effect,
        effective_topics=topics / effect if effect > 0 else NONE,
    )


# --- gates


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
            raise RequestError(f"the gate «{text}» is not understood", fix=say_as_share(value) or example)
    if "difference" not in numbers:
        raise RequestError("a gate needs a difference", fix=example)
    return Gate(numbers["difference"], numbers.get("power", 0.8), test)
