"""Topics against pool depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import RequestError
from cranfield.methods.names import RULE_TITLES, RuleName
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Input, Param, Written, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.collection import Collection
    from cranfield.methods.design.target import Target
    from cranfield.methods.pooling import AffordableDesigns, Budget, PairStudy, Reusability, SystemChoice


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetResult(Result):
    """Equivalent designs; or with ``budget`` those it affords; or effect sizes of ``pairs``; or ``reuse`` by new teams.

    Attributes
    ----------
    study
        Designs, or effect sizes of pairs of runs, or every team left out, at each pool depth.
    """

    study: Budget | AffordableDesigns | PairStudy | Reusability


@question(
    "Topics against depth",
    examples=(
        "cranfield budget runs/ --qrels qrels.txt -m AP -m nDCG --min-range 0.15 --best 20",
        "cranfield budget trec8.cran --budget 10000 --difference 0.05",
    ),
    charts=("depths",),
    working="scoring pools",
)
def budget(
    runs: Annotated[
        sources.RunsLike,
        Input(
            "Run files, folders, patterns (with `qrels`), or packed collections, whose variances are pooled.",
            metavar="RUNS",
        ),
    ],
    *,
    qrels: sources.Qrels = None,
    measure: shared.RunMeasures = None,
    depths: Annotated[Counts, Param("Pool depths.", default="5,10,20,…", short="-d", metavar="D")] = None,
    best: Annotated[
        int | None,
        Param(
            "Compare designs for the best N runs by their means at full depth.",
            default="all runs",
            label="Best runs",
            ge=2,
            le=1_000_000,
            metavar="N",
            excludes=("pairs", "reuse"),
        ),
    ] = None,
    pair: Annotated[
        str | None,
        Param(
            "Or: compare designs for these two runs.", label="or: two runs", metavar="A,B", excludes=("pairs", "reuse")
        ),
    ] = None,
    rule: Annotated[
        RuleName,
        Param(
            "What equivalent designs have in common: equal power for the same systems, or the same raw difference "
            "(Sakai 2014).",
            label="Equivalent designs have",
            titles=RULE_TITLES,
            excludes=("pairs", "reuse"),
        ),
    ] = "equal-power",
    systems: shared.Systems = None,
    difference: shared.Difference = None,
    test: shared.Test = None,
    alpha: shared.Alpha = 0.05,
    power: shared.Power = 0.8,
    pairs: Annotated[
        int | None,
        Param(
            "Instead of equivalent designs: effect sizes of N random pairs of runs (0: all), as Webber et al. (2008).",
            label="Pairs of runs",
            ge=0,
            le=1_000_000,
            metavar="N",
        ),
    ] = None,
    reuse: Annotated[
        bool,
        Param(
            "Instead of equivalent designs: leave each team out of the pool in turn (needs `teams`).",
            label="leave each team out",
        ),
    ] = False,
    write_qrels: Annotated[
        str | None, Written("Write the judgments of the pool of each depth into this folder.", metavar="FOLDER")
    ] = None,
    goal: groups.OneGoal = None,
    spread: Annotated[groups.SpreadLike, groups.Fields(groups.Spread, "estimate")] = None,
    cost: Annotated[
        groups.CostLike,
        groups.Fields(
            groups.Cost,
            "judgment",
            "topic",
            "budget",
            usual={"topic": 0.0},
            budget=groups.changed(
                groups.Cost,
                "budget",
                help="Instead of equivalent designs: the detectable difference at each depth for B judgments (or cost "
                "B).",
                excludes=("reuse",),
            ),
            topic=groups.changed(
                groups.Cost,
                "topic",
                help="Cost of a topic, in addition to its judgments.",
                default="",
                le=1e9,
                flag="topic_price",
                excludes=("pairs", "reuse"),
            ),
        ),
    ] = None,
    source: groups.RunSource = None,
    resampling: groups.Seeded = None,
) -> BudgetResult:
    """Topics against pool depth: equivalent designs and what each costs, or what a budget makes detectable.

    Returns
    -------
    BudgetResult
        Designs at each depth, or whatever was asked for instead.

    References
    ----------
    .. [1] T. Sakai, "Designing test collections for comparing many systems", CIKM, 2014.
    .. [2] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.
    .. [3] R. L. Brennan, "Generalizability Theory", Springer, 2001.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import cranfield as cf
    >>> with TemporaryDirectory() as folder:
    ...     _ = cf.write_example(folder)
    ...     found = cf.budget(f"{folder}/runs", qrels=f"{folder}/qrels.txt", depths=[5, 10], difference=0.05)
    >>> [design.depth for design in found.study.designs]
    [5, 10, 20]
    """
    from cranfield.methods.pooling import Prices, reusability, write_pools
    from cranfield.methods.pooling.depths import choose_systems

    wish, costs = groups.Goal.of(goal), groups.Cost.of(cost)
    budget = costs.budget
    method, estimate = str(wish.method), groups.Spread.of(spread).estimate
    seed = groups.Resampling.of(resampling).seed
    choice, prices = choose_systems(best, pair), Prices(costs.judgment, costs.topic or 0.0)
    aims: dict[str, Any] = {"min_range": wish.min_range, "difference": difference, "width": wish.width}
    aims |= {"systems": systems, "test": test}
    if pairs is not None and reuse:
        raise RequestError("choose one of `pairs`, `reuse`", fix="Ask for the other afterwards.")
    measures: Any = measure or ["AP"]
    asked: dict[str, Any] = {"depths": depths, "progress": listener()}
    collections = sources.load_collections(runs, qrels=qrels, **groups.Source.of(source).of_runs)
    target = _target(collections, measures, choice, {**aims, "alpha": alpha, "power": power, "method": method})
    if write_qrels is not None:
        only = _only(collections, "write_qrels")
        write_pools(only, write_qrels, asked["depths"] or [only.pool_depth])
    study: Any
    if pairs is not None:
        study = _pairs(_only(collections, "pairs"), measures, pairs, budget, target, {**asked, "seed": seed})
    elif reuse:
        study = reusability(_only(collections, "reuse"), measures, **asked)
    else:
        study = _designs(
            collections, measures, choice, target, {"budget": budget, "rule": rule, "prices": prices}, estimate, asked
        )
    inputs = {**shared.target_inputs(target), "pair": choice.pair}
    return BudgetResult(study=study, inputs=inputs, warnings=sources.collection_warnings(collections, measures))


def _target(collections: Mapping[str, Collection], measures: Any, choice: SystemChoice, aims: dict[str, Any]) -> Target:
    """The goal for the chosen systems; that of a pair may have no value, and is then the difference that it has."""
    from cranfield.methods.design.planning import scales_of_runs
    from cranfield.methods.design.target import target_for

    if choice.pair is None:
        available = choice.best or max(len(each.systems) for each in collections.values())
        return target_for(available, **aims, scales=scales_of_runs(collections.values(), measures))
    if aims["min_range"] is not None:
        raise RequestError("a pair has a difference, not a range", fix="Give `difference` instead.")
    if aims["systems"] not in (None, 2):
        raise RequestError("a pair has two systems", fix="Leave out `systems`.")
    if aims["width"] is not None:
        return target_for(2, **aims)
    test = aims["test"] or "t"  # a pair that is named in advance
    if aims["difference"] is not None:
        return target_for(2, **{**aims, "test": test})
    return target_for(2, **{**aims, "test": test, "difference": 1.0}).with_value(float("nan"))


def _only(collections: Mapping[str, Collection], asked: str) -> Collection:
    if len(collections) > 1:
        raise RequestError(f"`{asked}` takes one collection at a time", fix="Name one of them.")
    return next(iter(collections.values()))


def _pairs(
    collection: Collection, measures: Any, pairs: int, budget: float | None, target: Target, asked: dict[str, Any]
) -> PairStudy:
    from cranfield.methods.pooling.run_pairs import BUDGETS, pair_study

    budgets = BUDGETS if budget is None else (*BUDGETS, int(budget))
    levels = {**asked, "alpha": target.design.alpha, "power": target.goal.at_least}
    return pair_study(collection, measures, pairs=pairs or None, budgets=budgets, **levels)


def _designs(
    collections: Mapping[str, Collection],
    measures: Any,
    choice: SystemChoice,
    target: Target,
    cost: dict[str, Any],
    estimate: str | None,
    asked: dict[str, Any],
) -> Budget | AffordableDesigns:
    from cranfield.methods.design.planning import check_estimate
    from cranfield.methods.pooling import affordable_designs, depth_study, equivalent_designs
    from cranfield.methods.pooling.costs import own_difference

    variance = check_estimate(estimate or target.estimate, target.goal.kind, target.design.test)
    study = depth_study(collections, measures, best=choice.best, pair=choice.pair, estimate=variance, **asked)
    budget = cost.pop("budget")
    if budget is None:
        return equivalent_designs(study, own_difference(study, target), **cost)
    return affordable_designs(study, budget, target, **cost)
