"""What a number of topics detects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from cranfield.errors import NoEffectError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Param, question
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.errors import Caution
    from cranfield.methods.design.cards import Card, Gate
    from cranfield.methods.design.cheapest import Costs
    from cranfield.methods.design.request import Request
    from cranfield.scores import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PowerResult(Result):
    """What a number of topics, or a collection, detects.

    Attributes
    ----------
    cards
        One per measure and design: power, detectable difference, detectable range, width of intervals. Where topics
        have clusters, strata or weights, also the design effect and what the topics are worth.
    gate
        What the topics must detect; None where nothing is demanded.
    labels
        With ``judge_correlation``: cards of topics labelled by people among those labelled by a model; ``cards`` are
        then those of human labels alone.
    """

    cards: tuple[Card, ...]
    gate: Gate | None = None
    labels: tuple[Card, ...] = ()

    def curves(self) -> tuple[list[int], dict[str, list[float]]]:
        """What numbers of topics around those asked for detect, by the first card: as the chart draws it."""
        from cranfield.methods.design.curves import card_curves

        return card_curves(self.cards[0], sorted({card.topics for card in self.cards}))

    @property
    def exit_code(self) -> int:
        """1 where a card does not pass the gate."""
        return 0 if self.gate is None or all(map(self.gate.passes, self.labels or self.cards)) else 1


@question(
    "What its topics detect",
    examples=(
        "cranfield power scores.csv --gate difference=0.05,power=0.8",
        "cranfield power --topics 10:200:10 --sd 0.15 --systems 10 --plot card.svg",
        "cranfield power --topics 30 --judged-topics 200 --judge-correlation 0.6 --sd 0.15",
        "cranfield power --budget 500 --human-cost 10 --judge-cost 0.1 --judge-correlation 0.6 --sd 0.15",
    ),
    charts=("curve",),
    working="reading",
    is_parallel=True,
)
def power(
    scores: sources.PilotScores = None,
    *,
    topics: Annotated[
        Counts,
        Param(
            "Number of topics.",
            default="the collection's",
            alone="",
            label="Topics n",
            metavar="N",
            ge=2,
            le=1_000_000_000,
        ),
    ] = None,
    systems: shared.PlannedSystems = None,
    test: shared.PlannedTest = None,
    variance: shared.Variance = None,
    correlation: shared.Correlation = None,
    sd: shared.Sds = None,
    difference: shared.Differences = None,
    alpha: shared.Alphas = None,
    power: shared.Powers = None,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    gate: Annotated[
        str | None,
        Param(
            "What the topics must detect; otherwise the exit code is 1: difference=0.03,power=0.8[,test=t].",
            metavar="DEMAND",
        ),
    ] = None,
    judge: Annotated[
        groups.JudgeLike,
        groups.Fields(
            groups.Judge,
            "correlation",
            "topics",
            "human_cost",
            "cost",
            topics=groups.changed(
                groups.Judge,
                "topics",
                Counts,
                help="Number of topics that a model labels, n of them labelled by people too.",
                default="",
                ge=None,
                le=None,
            ),
        ),
    ] = None,
    cost: Annotated[
        groups.CostLike,
        groups.Fields(
            groups.Cost,
            "budget",
            budget=groups.changed(
                groups.Cost,
                "budget",
                help="What all labels may cost, in place of `topics` and `judged_topics`: people and the model then "
                "label the numbers of topics that detect the smallest difference.",
                requires=("judge_correlation",),
                excludes=("topics", "judged_topics"),
            ),
        ),
    ] = None,
    spread: Annotated[
        groups.SpreadLike, groups.Fields(groups.Spread, "estimate", "small_pilot", estimate=groups.PILOT_ESTIMATE)
    ] = None,
    source: groups.TableSource = None,
) -> PowerResult:
    """What a number of topics, or a collection, can detect: power and detectable differences on one card.

    With ``judge_correlation``, what topics labelled by people among those labelled by a model detect, or a budget.

    Returns
    -------
    PowerResult
        One card per measure, or per combination of the numbers given.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.
    .. [2] T. Sakai, "Designing test collections for comparing many systems", CIKM, 2014.
    .. [3] W. G. Cochran, "Sampling Techniques", third edition, Wiley, 1977, chapter 12.

    Examples
    --------
    The example of §5.1 of [1]_, solved back: 165 topics detect a difference of 0.033 with power 0.8.

    >>> import cranfield as cf
    >>> round(cf.power(topics=165, sd=0.15, difference=0.033).cards[0].achieved_power, 3)
    0.802

    What a budget of 500 pays for, if a topic labelled by people costs 10 and one labelled by a model 0.1 [3]_:

    >>> judge = cf.Judge(correlation=0.6, human_cost=10, cost=0.1)
    >>> card = cf.power(sd=0.15, judge=judge, cost={"budget": 500}).labels[0]
    >>> card.topics, card.judged_topics, round(card.detectable_difference, 4)
    (47, 300, 0.0528)
    """
    from cranfield.methods.design.cards import (
        card_cautions,
        cards_from_grid,
        cards_from_pilot,
        goal_cautions,
        parse_gate,
    )
    from cranfield.methods.design.request import Request

    demand = None if gate is None else parse_gate(gate)
    given: dict[str, Any] = {"difference": difference, "alpha": alpha or [0.05], "power": power or [0.8]}
    model, parts, read = groups.Judge.of(judge), groups.Spread.of(spread), groups.Source.of(source)
    budget = groups.Cost.of(cost).budget
    counts: Any = topics if budget is None else _people_alone(model, budget)
    numbers: dict[str, Any] = {"systems": systems, "variance": variance, "correlation": correlation, "sd": sd}
    asked = Request(**numbers, **given, test=test, estimate=parts.estimate, small_pilot=parts.small_pilot)
    if scores is None:
        cards, variances = cards_from_grid(asked, counts), None
        warnings: tuple[Any, ...] = goal_cautions(cards, None)
    else:
        tables = sources.load_tables(scores, qrels=qrels, measure=measure, **read.of_tables, uses_roles=True)
        variances = tables.variances
        cards = cards_from_pilot(asked, variances, scales=tables.scales, topics=counts)
        warnings = (*tables.warnings, *sources.averaged(read.columns), *goal_cautions(cards, tables.scales))
        if any(table.has_roles for table in tables.by_name.values()):
            _check_clusters(judge_correlation=model.correlation, estimate=parts.estimate)
            goal = sorted({card.difference for card in cards})
            cards, few = _cluster_cards(tables.only, replace(asked, difference=goal), counts)
            warnings = (*warnings, *few)
        elif len(tables.by_name) == 1:
            cards = [_as_compared(card, tables.only) for card in cards]
    labels, cautions = ((), ()) if model.correlation is None else _judged(cards, model, budget, test)
    return PowerResult(
        cards=tuple(cards),
        gate=demand,
        labels=labels,
        inputs={**given, "difference": list(dict.fromkeys(card.difference for card in cards))},
        warnings=(*warnings, *card_cautions(cards, variances), *cautions),
    )


def _as_compared(card: Card, table: ScoreTable) -> Card:
    """On the table's own topics and systems an observed difference is significant where a comparison finds it so."""
    from cranfield.methods.contrasts.comparing import holm_last_level

    if (card.test, card.topics, card.systems) != ("holm", len(table.topics), len(table.systems)):
        return card
    level = holm_last_level(table.matrix(card.measure), card.alpha)
    return card if level is None else card.decided_at(level)


def _check_clusters(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            what = f"`{name}` has no effect where topics have clusters, strata or weights"
            raise NoEffectError(what, parameter=name, fix=f"Leave out `{name}`.")


def _cluster_cards(table: ScoreTable, request: Request, topics: Any) -> tuple[list[Card], tuple[Caution, ...]]:
    """Cards of every measure, for topics in clusters or strata, or with weights; and what to read them with."""
    import numpy as np

    from cranfield.methods.contrasts.clusters import few_clusters, mean_variance
    from cranfield.methods.design.cards import cluster_cards

    found = {measure: mean_variance(table, measure) for measure in table.measures}
    cards = [
        card for measure, each in found.items() for card in cluster_cards(request, each, measure=measure, topics=topics)
    ]
    return cards, tuple(few_clusters(np.array([each.df for each in found.values()])))


def _people_alone(model: groups.Judge, budget: float) -> list[int]:
    """The topics of people alone that a budget for all labels pays for."""
    from cranfield.methods.design.labels import budget_topics

    return budget_topics(_label_costs(model, is_counted=False), budget)


def _judged(
    cards: list[Card], model: groups.Judge, budget: float | None, test: str | None
) -> tuple[tuple[Card, ...], tuple[Caution, ...]]:
    """The cards with a judge, and what to read them with."""
    from cranfield.methods.design.labels import judged_cards, label_cautions

    counts, costs = cast("Any", model.topics), _label_costs(model, is_counted=True)
    found = judged_cards(cards, cast("Any", model.correlation), costs, judged_topics=counts, budget=budget)
    return tuple(found), label_cautions([card.topics for card in found], test)


def _label_costs(model: groups.Judge, *, is_counted: bool) -> Costs:
    from cranfield.methods.design.labels import label_costs

    rs = cast("Any", model.correlation)
    return label_costs(rs, human=model.human_cost, judge=model.cost, is_counted=is_counted)
