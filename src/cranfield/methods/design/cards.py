"""Power cards: what a number of topics detects between all pairs and one pair, with its curves and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol

import numpy as np

from cranfield.errors import Caution, RequestError, say_as_share
from cranfield.methods.design.formulas import SHARED, Design
from cranfield.methods.design.goals import DEFAULT_DIFFERENCE, Goal, Scale, check_scale
from cranfield.methods.design.inputs import broadcast, whole
from cranfield.methods.design.planning import check_pilot, correlation_caution, pilot_caution, with_default_goal
from cranfield.methods.design.request import TYPICAL_CORRELATION, Request
from cranfield.methods.design.solver import achieved, significant_difference, solve
from cranfield.methods.design.spreads import Clustered, Judged, Sd, Spread
from cranfield.methods.names import PLANNED_TEST_TITLES, TEST_LABELS, fix_for_test
from cranfield.methods.variance import Variances
from cranfield.methods.variance.estimates import MeanVariance
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.stats.tails import t_critical
from cranfield.types import Array

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

    def with_spread(self, spread: Spread, topics: int) -> Card:
        """The card of the same goal where differences vary otherwise, with its own number of topics."""
        design = replace(self.designs(topics=topics), spread=spread)
        found = _detected(design, Goal("difference", self.difference, self.power), None)
        numbers: dict[str, Any] = {name: float(value) for name, value in found.items()}
        return replace(self, topics=topics, spread=spread, variance=NONE, correlation=NONE, **numbers)

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


# --- the cards of a grid


@dataclass(frozen=True, eq=False, kw_only=True)
class _Known:
    """What is known of the variation, one number for each that was given: σ², ρ and the sd of paired differences.

    ``spread`` is that of paired differences, ``own`` that of one system's scores, where it is known.
    """

    variance: Array
    correlation: Array
    sd: Array
    spread: Spread
    own: Spread | None

    @classmethod
    def of(cls, variance: Array, correlation: Array, sd: Array) -> _Known:
        own = None if np.isnan(variance).any() else Sd(sd=np.sqrt(variance))
        return cls(variance=variance, correlation=correlation, sd=sd, spread=Sd(sd=sd), own=own)

    @classmethod
    def of_clusters(cls, moments: MeanVariance) -> _Known:
        known = {"df": moments.df, "pilot_topics": moments.topics}
        variance, rho, sd = (np.array([each]) for each in (moments.within, NONE, moments.sd))
        spread, own = (Clustered(variance=each, **known) for each in (moments.variance, moments.own))
        return cls(variance=variance, correlation=rho, sd=sd, spread=spread, own=own)


def cards_from_grid(request: Request, topics: Values | None, known: _Known | None = None) -> list[Card]:
    """A card for every combination of numbers of topics and of a request; for a pair named in advance without systems.

    With a ``variance`` only there are two cards, for uncorrelated scores and for a typical ``correlation``.
    """
    if topics is None:
        raise RequestError("the number of topics is missing", fix="Add `topics=50`, or give the collection's scores.")
    if request.systems is None and request.test not in (None, "t"):
        raise RequestError(
            f"the test {request.test} needs the number of systems", fix="Add `systems=10`, for instance."
        )
    if request.test not in (None, *PLANNED_TEST_TITLES):
        raise RequestError(
            f"there is no test «{request.test}»", fix=fix_for_test(str(request.test), PLANNED_TEST_TITLES)
        )
    known = known or _known(request)
    axes: dict[str, Any] = {
        "topics": [whole(n, "topics") for n in topics],
        "systems": [whole(m, "systems") for m in request.systems or (2,)],
        "place": range(len(known.sd)),
        "difference": request.difference or (DEFAULT_DIFFERENCE,),
        **{name: request.values(name) for name in ("alpha", "power")},
    }
    if (count := prod(map(len, axes.values()))) > MOST_CARDS:
        raise RequestError(
            f"the grid has {count:,} designs, and the power of {MOST_CARDS:,} at most is shown",
            fix="Give fewer values.",
        )
    return _cards(dict(zip(axes, _combined(*axes.values()), strict=True)), known, request.test)


def _known(request: Request) -> _Known:
    if request.variance is None and request.sd is None:
        raise RequestError("the variance is missing", fix="Add `variance` or `sd`, or give scores to estimate it from.")
    for name in ("variance", "sd", "correlation"):
        if getattr(request, name) is not None:
            broadcast({name: getattr(request, name)})
    if request.sd is not None:
        variance, sd = _combined(request.variance or (NONE,), request.sd)
        return _Known.of(variance, np.full(len(sd), NONE), sd)
    variance, rho = _combined(request.variance or (), request.correlation or (0.0, TYPICAL_CORRELATION))
    return _Known.of(variance, rho, np.sqrt(2 * variance * (1 - rho)))


def _combined(*lists: Any) -> list[Array]:
    """All combinations of the values of lists, one array for each list."""
    return [each.ravel() for each in np.meshgrid(*map(np.asarray, lists), indexing="ij")]


_GRID = ("topics", "systems", "alpha", "difference", "power")


def _cards(grid: Mapping[str, Array], known: _Known, test: str | None) -> list[Card]:
    """The cards of all cells; unless a test is named, Holm's, which for two systems is that of a pair."""
    place, is_pair = grid["place"], (grid["systems"] == 2) & (test is None)
    spread, own = known.spread.at(place), None if known.own is None else known.own.at(place)
    topics, systems, alpha, difference, power = (grid[name] for name in _GRID)
    design = Design(topics=topics, systems=systems, test=test or ALL_PAIRS_TEST, alpha=alpha, spread=spread)
    columns = {name: grid[name] for name in _GRID} | {"test": np.where(is_pair, "t", design.test)}
    columns |= {name: getattr(known, name)[place] for name in ("variance", "correlation", "sd")}
    columns |= _detected(design, Goal("difference", difference, power), own)
    rows = zip(*(each.tolist() for each in columns.values()), strict=True)
    return [
        Card(measure="", spread=spread.at(np.asarray(cell)), **dict(zip(columns, row, strict=True)))
        for cell, row in enumerate(rows)
    ]


def _detected(design: Design, goal: Goal, own: Spread | None) -> dict[str, Array]:
    """What designs detect: under their test, by Tukey's, and of a pair; the range is for shared topics, with sd²/2."""
    pair, tukey, means = (replace(design, test=name) for name in ("t", "tukey", "blocked"))
    found = {
        f"{mark}{name}": values
        for mark, each in (("", design), ("tukey_", tukey), ("pair_", pair))
        for name, values in (
            ("power", achieved(each, goal)),
            ("detectable_difference", solve(each, goal, "difference")),
            ("significant_difference", significant_difference(each)),
        )
    }
    found["achieved_power"] = found.pop("power")
    found.pop("pair_significant_difference")
    nothing = np.full(np.shape(design.topics), NONE)
    return found | {
        "detectable_range": solve(means, Goal("min_range", at_least=goal.at_least), "min_range"),
        "width": achieved(pair, Goal("width", at_least=None)),
        "sensitivity": nothing if own is None else achieved(replace(pair, spread=own), Goal("sensitivity")),
        "difference_sensitivity": achieved(pair, Goal("sensitivity")),
    }


def cards_from_pilot(
    request: Request, variances: Variances, *, scales: Mapping[str, Scale] | None = None, topics: Values | None = None
) -> list[Card]:
    """Return cards for every measure, by default for the topics and systems of the pilot."""
    cards: list[Card] = []
    for measure in dict.fromkeys(each.measure for each in variances.estimates):
        chosen = variances.get(request.estimate or "residual", measure=measure)
        within = variances.get("within", measure=measure)
        if chosen.difference_variance <= 1e-18 * within.variance:  # which is rounding
            what = f"the differences of {measure} do not vary over topics, so that no power can be computed"
            raise RequestError(what, fix="Check that the scores are those of different systems.")
        check_pilot(chosen.topics, insisted=request.small_pilot)
        own = with_default_goal(request, {measure: (scales or {}).get(measure, Scale())})
        own = replace(own, systems=own.systems or [chosen.systems])
        sds = np.array([chosen.difference_variance**0.5])
        known = _Known.of(np.array([within.variance]), np.full(1, NONE), sds)
        cards += [replace(card, measure=measure) for card in cards_from_grid(own, topics or [chosen.topics], known)]
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


def cluster_cards(request: Request, moments: MeanVariance, *, measure: str, topics: Values | None = None) -> list[Card]:
    """A card for every combination; other numbers of topics are in clusters of the same sizes."""
    known = _Known.of_clusters(moments)
    known.spread.check_test(request.test or ALL_PAIRS_TEST)
    request = replace(request, systems=request.systems or [moments.systems])
    cards = cards_from_grid(request, topics or [moments.topics], known)
    return [_in_clusters(replace(card, measure=measure), moments) for card in cards]


def _in_clusters(card: Card, moments: MeanVariance) -> Card:
    no_tukey: dict[str, Any] = {name: NONE for name in vars(card) if name.startswith("tukey_")}
    effect, clusters = moments.design_effect, moments.clusters
    return replace(
        card,
        **no_tukey,
        clusters=None if clusters is None else clusters * card.topics / moments.topics,
        design_effect=effect,
        effective_topics=card.topics / effect if effect > 0 else NONE,
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
