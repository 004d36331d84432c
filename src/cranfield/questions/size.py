"""How many topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from cranfield.errors import Caution, RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import question
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.methods.design import Size
    from cranfield.methods.design.allocation import Allocation
    from cranfield.methods.design.cheapest import Costs
    from cranfield.methods.design.curves import SizeCurve
    from cranfield.methods.design.planning import PilotSize
    from cranfield.methods.design.request import Request
    from cranfield.methods.judging.agreement import Interval
    from cranfield.methods.variance.replicate_components import ComponentEstimate
    from cranfield.scores import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SizeResult(Result):
    """The number of topics by every method that applies.

    Attributes
    ----------
    sizes
        One per method, the default first: n for every design, and what n and n − 1 give.
    pilot
        The same with the uncertainty of a variance that was estimated from scores; empty without scores.
    request
        What was asked for.
    labels
        With ``judge_correlation``: topics for people and for the model, one per method; ``sizes`` are then those of
        human labels alone.
    replicates
        With several scores per topic: topics for every number of items and repeats, and the cheapest design.
    """

    sizes: tuple[Size, ...]
    request: Request
    pilot: tuple[PilotSize, ...] = ()
    labels: tuple[Allocation, ...] = ()
    replicates: tuple[Allocation, ...] = ()

    @property
    def topics(self) -> list[int | None]:
        """n by the default method, one per design; None where no number of topics suffices."""
        rows: list[dict[str, Any]] = (self.labels or self.sizes)[0].to_dict()
        return [row["topics"] for row in rows]

    def curves(self, axis: str | None = None) -> list[SizeCurve]:
        """Topics along the goal, the input with most values, or another ``axis``, as the chart draws them."""
        from cranfield.methods.design.curves import size_curves

        return size_curves(self.request, self.sizes, self.pilot, axis)


@question(
    "How many topics",
    examples=(
        "cranfield size scores.csv --difference 0.03,0.05",
        "cranfield size --difference 0.05 --sd 0.15 --systems 10 --test tukey",
        "cranfield size --difference 0.05 --sd 0.15 --judge-correlation 0.6 --human-cost 10 --judge-cost 0.1",
        "cranfield size --difference 0.05 --between 0.0116 --within 0.0062 --items 1,3,5 --topic-cost 10 --item-cost 1",
    ),
    charts=("curve",),
    working="reading",
    is_parallel=True,
)
def size(
    scores: sources.PilotScores = None,
    *,
    difference: shared.Differences = None,
    sd: shared.Sds = None,
    variance: shared.Variance = None,
    correlation: shared.Correlation = None,
    systems: shared.PlannedSystems = None,
    test: shared.PlannedTest = None,
    alpha: shared.Alphas = None,
    power: shared.Powers = None,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    goal: Annotated[
        groups.GoalLike,
        groups.Fields(
            groups.Goal,
            "min_range",
            "width",
            "probability",
            "sensitivity",
            "effect_size",
            "equivalence",
            "non_inferiority",
            "true_difference",
            "assurance",
            "method",
            "limit",
        ),
    ] = None,
    family: Annotated[groups.FamilyLike, groups.Fields(groups.Family, "one_sided", "unpaired")] = None,
    judge: groups.PlannedJudge = None,
    replicates: Annotated[
        groups.ReplicatesLike, groups.Fields(groups.Replicates, "structure", "items", "repeats")
    ] = None,
    spread: Annotated[
        groups.SpreadLike,
        groups.Fields(
            groups.Spread,
            "between",
            "within",
            "shared_variance",
            "repeat_variance",
            "icc",
            "estimate",
            "small_pilot",
            estimate=groups.PILOT_ESTIMATE,
        ),
    ] = None,
    cost: Annotated[groups.CostLike, groups.Fields(groups.Cost, "topic", "item", "repeat", "budget")] = None,
    source: groups.TableSource = None,
) -> SizeResult:
    """How many topics a goal requires, from a known variance or pilot scores.

    With ``judge_correlation``, how many topics people label and how many a model labels, at the lowest cost. With
    ``replicates``, or the components of the variance, topics × query variations × seeds, or clusters × topics.

    Returns
    -------
    SizeResult
        The smallest number of topics for every design, by every method that applies.

    References
    ----------
    .. [1] T. Sakai, "Designing test collections for comparing many systems", CIKM, 2014.
    .. [2] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.
    .. [3] J. W. Tukey, "Comparing individual means in the analysis of variance", Biometrics, 1949.
    .. [4] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
       equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics, 1987.
    .. [5] W. G. Cochran, "Sampling Techniques", third edition, Wiley, 1977, chapter 12.
    .. [6] H. H. Clark, "The language-as-fixed-effect fallacy", Journal of Verbal Learning and Verbal Behavior, 1973.

    Examples
    --------
    The topics that a comparison of all pairs of ten systems by Tukey's HSD needs:

    >>> import cranfield as cf
    >>> cf.size(difference=0.05, sd=0.15, test="tukey", systems=10).topics
    [145]

    A cell of Table 4 of [1]_:

    >>> cf.size(systems=10, variance=0.0530, goal={"min_range": 0.10, "method": "sakai"}).topics
    [166]

    A topic labelled by people costs 10, one labelled by a model 0.1, and the differences of two systems under both
    correlate by 0.6: people label 52 topics in place of 73, and the model 335 [5]_.

    >>> judge = cf.Judge(correlation=0.6, human_cost=10, cost=0.1)
    >>> found = cf.size(difference=0.05, sd=0.15, judge=judge)
    >>> row = found.to_dict()["rows"][0]
    >>> row["topics"], row["judged_topics"], round(row["cost"], 1), row["human_topics"], row["human_topics_cost"]
    (52, 335, 553.5, 73, 730.0)

    A topic costs 10 and a query variation 1; differences vary by 0.0116 between topics and by 0.0062 within:

    >>> spread, cost = {"between": 0.0116, "within": 0.0062}, {"topic": 10, "item": 1}
    >>> found = cf.size(difference=0.05, spread=spread, cost=cost)
    >>> row = next(row for row in found.to_dict()["rows"] if row["best"])
    >>> row["topics"], row["items"], row["cost"], round(row["design_effect"], 2)
    (45, 3, 585.0, 2.3)
    """
    from cranfield.methods.design.planning import (
        cautions_of,
        pilot_goal_cautions,
        plan,
        plan_from_pilot,
        with_default_goal,
    )
    from cranfield.methods.design.request import Request

    aims, tested, model = groups.Goal.of(goal), groups.Family.of(family), groups.Judge.of(judge)
    several, parts = groups.Replicates.of(replicates), groups.Spread.of(spread)
    costs_of, read = groups.Cost.of(cost), groups.Source.of(source)
    columns, judge_correlation = read.columns, cast("Any", model.correlation)
    with_replicates = {
        "replicates": several.structure,
        "items": several.items,
        "repeats": several.repeats,
        "between": parts.between,
        "within": parts.within,
        "shared_variance": parts.shared_variance,
        "repeat_variance": parts.repeat_variance,
        "icc": parts.icc,
        "topic_cost": costs_of.topic,
        "item_cost": costs_of.item,
        "repeat_cost": costs_of.repeat,
        "budget": costs_of.budget,
    }
    numbers: dict[str, Any] = {
        "difference": difference,
        "sd": sd,
        "variance": variance,
        "correlation": correlation,
        "systems": systems,
        "alpha": alpha,
        "power": power,
    }
    request = Request(
        **numbers,
        **vars(aims),
        test=test,
        one_sided=tested.one_sided,
        unpaired=tested.unpaired,
        estimate=parts.estimate,
        small_pilot=parts.small_pilot,
    )
    named = scores is not None and sources.names_replicates(columns)
    if named or any(value is not None for value in with_replicates.values()):
        others = {
            "judge": model.labels,
            "judge_correlation": judge_correlation,
            "human_cost": model.human_cost,
            "judge_cost": model.cost,
            "judged_topics": model.topics,
        }
        told = {"qrels": qrels, "measure": measure, **read.of_tables}
        return _with_replicates(request, with_replicates, scores, told, others)
    labels = sources.load_judged_pilot(
        scores, model.labels, judge_correlation, qrels=qrels, measure=measure, **read.of_tables
    )
    measured = {} if labels is None else _correlations(labels)
    known = judge_correlation or [each.value for each in measured.values()] or None
    costs = _costs(request, known, human_cost=model.human_cost, judge_cost=model.cost, judged_topics=model.topics)
    if scores is None:
        request = with_default_goal(request)
        result = SizeResult(
            sizes=tuple(plan(request)), request=request, inputs=_defaults(request), warnings=cautions_of(request)
        )
        return result if costs is None else _with_judge(result, judge_correlation, costs)
    if labels is None:
        tables = sources.load_tables(scores, qrels=qrels, measure=measure, **read.of_tables)
    else:
        tables = labels.human_tables
    pilot = tuple(plan_from_pilot(request, tables.variances, tables.scales))
    notes = pilot_goal_cautions(request, tables.scales)
    request = with_default_goal(request, tables.scales)
    result = SizeResult(
        sizes=tuple(each.size for each in pilot),
        request=request,
        pilot=pilot,
        inputs=_defaults(request),
        warnings=(*tables.warnings, *sources.averaged(columns), *notes),
    )
    return result if costs is None else _with_judge(result, judge_correlation, costs, measured)


def _with_replicates(
    request: Request, given: Mapping[str, Any], scores: Any, source: dict[str, Any], others: Mapping[str, Any]
) -> SizeResult:
    """Designs with several scores per topic, from given components or from a pilot that has them."""
    from cranfield.methods.design.goals import Scale
    from cranfield.methods.design.planning import with_default_goal
    from cranfield.methods.design.replicates import (
        check_replicates,
        given_components,
        given_structure,
        plan_replicates,
        replicate_cautions,
    )

    check_replicates(request, {**others, "method": request.method})
    told = {"items": given["items"], "repeats": given["repeats"], "costs": _prices(given), "budget": given["budget"]}
    if scores is None:
        structure = given_structure(given["replicates"], given["shared_variance"])
        parts = {name: given[name] for name in ("between", "within", "shared_variance", "repeat_variance", "icc")}
        components = given_components(structure, **parts, sd=request.sd)
        request = with_default_goal(request, {"": Scale()} if components.total < 1 else None)
        plans = plan_replicates(request, structure, components, **told)
        warnings: tuple[Caution, ...] = ()
    else:
        plans, warnings = _replicated_pilot(request, given, told, scores, source)
        differences = {float(each) for plan in plans for each in plan.size.inputs["difference"].flat}
        request = replace(request, difference=sorted(differences))
    inputs = {**_defaults(request), "replicates": plans[0].replicated.structure}
    if told["budget"] is not None:
        inputs.pop("power")
    return SizeResult(
        sizes=tuple(each.size for each in plans),
        request=request,
        replicates=tuple(plans),
        inputs=inputs,
        warnings=(*warnings, *replicate_cautions(plans)),
    )


def _prices(given: Mapping[str, Any]) -> Costs | None:
    """What a unit, an item and a repeat cost; None where nothing is said of costs."""
    from cranfield.methods.design.cheapest import Costs

    prices = {name: given[f"{name}_cost"] for name in ("topic", "item", "repeat")}
    if all(price is None for price in prices.values()):
        return None
    if not any(prices.values()):
        raise RequestError("something has to cost something", fix="Give `topic_cost`, for instance, above 0.")
    return Costs(**{name: price or 0.0 for name, price in prices.items()})


def _replicated_pilot(
    request: Request, given: Mapping[str, Any], told: dict[str, Any], scores: Any, source: dict[str, Any]
) -> tuple[list[Allocation], tuple[Caution, ...]]:
    """Plans with the components of every measure of a pilot, and its warnings."""
    from cranfield.methods.design.planning import check_pilot, pilot_caution, with_default_goal
    from cranfield.methods.design.replicates import pilot_components, pilot_structure, plan_replicates

    named = given["replicates"]
    has_own = named == "variations"  # topics may have different numbers of variations
    missing = "nan" if has_own and source["missing"] is None else source["missing"]
    role = "nested" if named == "seeds" else None
    tables = sources.load_tables(scores, **{**source, "missing": missing}, replicates=role, uses_roles=True)
    table = tables.only
    structure = pilot_structure(named, table)
    others = sources.ignoring_roles(table.replaced(clusters=()) if structure == "clusters" else table)
    plans: list[Allocation] = []
    found = dict.fromkeys((*tables.warnings, *others.warnings))
    warnings = [each for each in found if not (has_own and each.slug == "cell-missing")]
    for measure in table.measures:
        estimate = pilot_components(_components(table, measure, structure), structure, given["repeat_variance"])
        check_pilot(estimate.units, insisted=request.small_pilot)
        warnings += pilot_caution(estimate.units, measure)
        warnings += estimate.cautions(measure)
        own = with_default_goal(request, {measure: tables.scales[measure]})
        plans += plan_replicates(own, structure, estimate, **told, systems=estimate.systems, measure=measure)
    return plans, tuple(warnings)


def _components(table: ScoreTable, measure: str, structure: str) -> ComponentEstimate:
    """The components of one measure, for the structure that is planned."""
    import numpy as np

    from cranfield.methods.variance.replicate_components import (
        cluster_components,
        shared_components,
        variation_components,
    )

    scores = table.of(measure)
    if structure == "clusters":
        return cluster_components(scores, np.array(table.clusters))
    if structure == "variations":
        return variation_components(scores)
    return shared_components(scores, nested=structure == "seeds")


def _correlations(labels: sources.LabelSets) -> dict[str, Interval]:
    """r of the pilot by measure, with its interval."""
    from cranfield.methods.judging.label_sets import judged_pilots

    pilots = judged_pilots(labels.required_human, labels.judges)
    return {name: each.correlation for name, each in pilots.items()}


def _costs(
    request: Request,
    correlations: Any,
    *,
    human_cost: float | None,
    judge_cost: float | None,
    judged_topics: int | None,
) -> dict[str, Any] | None:
    """What the designs with a judge of a request have alike; None without one, and nothing is imported for it."""
    if correlations is None:
        return None
    from cranfield.methods.design.labels import check_labels, label_costs

    costs = label_costs(correlations, human=human_cost, judge=judge_cost, is_counted=judged_topics is not None)
    check_labels(request)
    return {"costs": costs, "judged_topics": judged_topics, "limit": request.limit, "sides": request.sides}


def _with_judge(
    result: SizeResult, correlations: Any, told: dict[str, Any], measured: Mapping[str, Interval] | None = None
) -> SizeResult:
    """The same with topics for people and for the model."""
    from cranfield.methods.design.labels import label_cautions, plan_labels

    if measured:
        labels = []
        for each in (pilot for pilot in result.pilot if pilot.measure in measured):
            r = measured[each.measure]
            labels += plan_labels([each], [r.value], **told, ends=[(r.lower, r.upper)])
    else:
        labels = plan_labels(result.pilot or result.sizes, correlations, **told)
    cautions = label_cautions([row["topics"] for each in labels for row in each.to_dict()], result.request.test)
    costs: Costs = told["costs"]
    inputs = {**result.inputs, "human_cost": costs.topic} if costs.judged_topic > 0 else result.inputs
    return replace(result, labels=tuple(labels), inputs=inputs, warnings=(*result.warnings, *cautions))


def _defaults(request: Request) -> dict[str, Any]:
    """The goal, α, and the power where a goal has one."""
    has_power = request.assurance is None and any(goal not in ("width", "sensitivity") for goal in request.goals)
    goals = {name: list(request.values(name)) for name in request.goals}
    return goals | {name: list(request.values(name)) for name in ("alpha", *(["power"] if has_power else []))}
