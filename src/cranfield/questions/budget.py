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
    from cranfield.methods.pooling import Budget, PairStudy, Reusability, SystemChoice


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetResult(Result):
    """Designs at each pool depth: of equal power, or those that ``budget`` affords; or effect sizes of ``pairs``.

    Attributes
    ----------
    study
        Designs, or effect sizes of pairs of runs, at each pool depth.
    """

    study: Budget | PairStudy


@question(
    "Topics against depth",
    examples=(
        "cranfield budget runs/ --qrels qrels.txt --teams teams.tsv -m AP --best 20",
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
            excludes=("pairs",),
        ),
    ] = None,
    pair: Annotated[
        str | None,
        Param("Or: compare designs for these two runs.", label="or: two runs", metavar="A,B", excludes=("pairs",)),
    ] = None,
    rule: Annotated[
        RuleName,
        Param(
            "What designs have in common: equal power by simulation for the same systems, or the same raw difference "
            "by the formula (Sakai 2014).",
            label="Equivalent designs have",
            titles=RULE_TITLES,
            excludes=("pairs",),
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
            "Instead of designs: effect sizes of N random pairs of runs (0: all) of the best three quarters, one "
            "of them of the second, as Webber et al. (2008).",
            label="Pairs of runs",
            ge=0,
            le=1_000_000,
            metavar="N",
        ),
    ] = None,
    reuse: Annotated[
        bool,
        Param(
            "Show also what each team loses that is left out of the pool (needs `teams`).",
            label="show each team left out",
            excludes=("pairs",),
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
            budget=groups.changed(
                groups.Cost,
                "budget",
                help="The designs that B judgments (or cost B) pay for, in place of those of equal power.",
            ),
            topic=groups.changed(
                groups.Cost,
                "topic",
                help="Cost of a topic, in addition to its judgments; 0: topics cost nothing.",
                default="as 20 judgments",
                le=1e9,
                flag="topic_price",
                excludes=("pairs",),
            ),
        ),
    ] = None,
    source: groups.RunSource = None,
    resampling: groups.Seeded = None,
) -> BudgetResult:
    """Topics against pool depth: what designs of equal power cost, or what a budget makes detectable.

    Returns
    -------
    BudgetResult
        Designs at each depth, or effect sizes of pairs.

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
    from cranfield.methods.pooling import Prices, write_pools
    from cranfield.methods.pooling.costs import JUDGMENTS_OF_A_TOPIC
    from cranfield.methods.pooling.depths import choose_systems

    wish, costs = groups.Goal.of(goal), groups.Cost.of(cost)
    seed, choice = groups.Resampling.of(resampling).seed, choose_systems(best, pair)
    price = JUDGMENTS_OF_A_TOPIC * costs.judgment if costs.topic is None else costs.topic
    prices = Prices(costs.judgment, price)
    aims: dict[str, Any] = {"min_range": wish.min_range, "difference": difference, "width": wish.width}
    aims |= {"systems": systems, "test": test, "alpha": alpha, "power": power, "method": str(wish.method)}
    measures: Any = measure or ["AP"]
    collections = sources.load_collections(runs, qrels=qrels, **groups.Source.of(source).of_runs)
    target = _target(collections, measures, choice, aims)
    asked: dict[str, Any] = {"depths": depths, "progress": listener()}
    if write_qrels is not None:
        only = _only(collections, "write_qrels")
        write_pools(only, write_qrels, asked["depths"] or [only.pool_depth])
    study: Budget | PairStudy
    if pairs is not None:
        study = _pairs(_only(collections, "pairs"), measures, pairs, costs.budget, target, {**asked, "seed": seed})
    else:
        request = {"budget": costs.budget, "rule": rule, "prices": prices, "seed": seed}
        estimate = groups.Spread.of(spread).estimate
        study = _designs(collections, measures, choice, target, request, estimate, reuse, asked)
    inputs = {**shared.target_inputs(target), "pair": choice.pair, "topic_price": price}
    warnings = sources.collection_warnings(collections, measures)
    return BudgetResult(study=study, inputs=inputs, warnings=warnings, seed=seed)


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
    request: dict[str, Any],
    estimate: str | None,
    needs_teams: bool,
    asked: dict[str, Any],
) -> Budget:
    from cranfield.methods.design.planning import check_estimate
    from cranfield.methods.pooling import depth_study, has_teams, pool_designs, reusability
    from cranfield.methods.pooling.costs import own_difference

    variance = check_estimate(estimate or target.estimate, target.goal.kind, target.design.test)
    study = depth_study(collections, measures, best=choice.best, pair=choice.pair, estimate=variance, **asked)
    if request["budget"] is None or len(study.measures) == 1:
        target = own_difference(study, target)
    losses: tuple[Reusability, ...] = ()
    if needs_teams or (len(collections) == 1 and has_teams(_only(collections, "reuse"))):
        within = {"depths": study.depths, "progress": asked["progress"]}
        losses = reusability(_only(collections, "reuse"), measures, **within)
    return pool_designs(study, target, reuse=losses, progress=asked["progress"], **request)
