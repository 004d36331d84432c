"""Whether the topics of a design are enough, tried on simulated collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cranfield.errors import Caution, RequestError
from cranfield.methods.names import TEST_LABELS
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Input, Names, Numbers, Param, about, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.judging.estimators import JudgedScores
    from cranfield.methods.judging.label_sets import JudgedPilot
    from cranfield.methods.verification import Verification
    from cranfield.methods.verification.designs import DesignRequest, PlannedDesign
    from cranfield.scores import ScoreTable

VerifiedTestName = Literal[
    "max-t",
    "tukey",
    "dunnett",
    "holm",
    "tukey-permutation",
    "tukey-kramer",
    "anova",
    "blocked",
    "t",
    "wilcoxon",
    "sign",
    "bootstrap",
    "permutation",
]
_GIVEN = ("scores", "design")
"""What has a variance of its own."""
FormulaName = Literal["exact", "sakai", "blocked", "t", "normal", "unpaired"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerificationResult(Result):
    """One verification per design.

    Attributes
    ----------
    verifications
        Power and error rates with their intervals, the verdict, and the number of topics that is enough.
    """

    verifications: tuple[Verification, ...]

    @property
    def exit_code(self) -> int:
        """1 with ``gate`` unless the topics of every design are enough."""
        is_enough = all(each.verdict == "enough" for each in self.verifications)
        return 1 if self.inputs["gate"] and not is_enough else 0


@question(
    "Check a design",
    examples=(
        "cranfield verify --systems 10 --difference 0.05 --sd 0.15 --test tukey",
        "cranfield verify pilot.csv -m AP --difference 0.05 --test wilcoxon",
        "cranfield verify --difference 0.05 --sd 0.15 --judge-correlation 0.6 --human-cost 10 --judge-cost 0.1",
        "cranfield verify human.csv --judge model.csv --difference 0.05 --human-cost 10 --judge-cost 0.1",
    ),
    charts=("power",),
    working="verifying",
    is_parallel=True,
)
def verify(
    scores: sources.PilotScores = None,
    *,
    design: Annotated[
        str | None, Input("Designs to check: a file with the JSON output of `size()` or `shards()`.", metavar="FILE")
    ] = None,
    systems: shared.PlannedSystems = None,
    difference: shared.Differences = None,
    variance: Annotated[Numbers, about(shared.Variance, default="the pilot's", alone="", excludes=_GIVEN)] = None,
    sd: Annotated[Numbers, about(shared.Sds, default="the pilot's", alone="", excludes=_GIVEN)] = None,
    topics: Annotated[
        int | None, Param("Number of topics.", default="that of the formula", ge=2, le=1_000_000, metavar="N")
    ] = None,
    alpha: Annotated[Numbers, about(shared.Alphas, excludes=("design",))] = None,
    power: shared.Powers = None,
    test: Annotated[
        VerifiedTestName | None,
        Param(
            "The test that will be run; t, wilcoxon, sign, bootstrap and permutation test a pair named in advance.",
            default="holm for several systems, t for two, the formula's F for a range",
            metavar="NAME",
            titles={
                "": "holm; for two systems t; for a range F",
                **TEST_LABELS,
                "anova": "one-way ANOVA",
                "blocked": "ANOVA, topics as blocks",
            },
        ),
    ] = None,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    gate: Annotated[bool, Param("Exit code 1 unless the topics are enough.")] = False,
    goal: Annotated[
        groups.GoalLike,
        groups.Fields(
            groups.Goal,
            "min_range",
            "method",
            method=groups.changed(
                groups.Goal,
                "method",
                FormulaName | None,
                help="Formula for the number of topics.",
                default="t for a difference, blocked for a range",
                alone="exact for a range",
                titles={},
                excludes=("design",),
            ),
        ),
    ] = None,
    family: Annotated[
        groups.FamilyLike,
        groups.Fields(
            groups.Family,
            "one_sided",
            "models",
            one_sided=groups.changed(groups.Family, "one_sided", excludes=("design",)),
        ),
    ] = None,
    judge: groups.PlannedJudge = None,
    trials: Annotated[
        groups.TrialsLike, groups.Fields(groups.Trials, "collections", "tolerance", "confidence", "search")
    ] = None,
    population: Annotated[groups.PopulationLike, groups.Fields(groups.Population, "margins", "dependence")] = None,
    source: Annotated[groups.SourceLike, groups.Fields(groups.Source, "columns", "missing", "shards")] = None,
    resampling: Annotated[
        groups.ResamplingLike,
        groups.Fields(
            groups.Resampling,
            "resamples",
            "seed",
            resamples=groups.changed(groups.Resampling, "resamples", default="499 for max-t, else 1,000", le=1_000_000),
        ),
    ] = None,
) -> VerificationResult:
    """Check a design by simulation: draw collections, run the test on each, and count the significant results.

    Returns
    -------
    VerificationResult
        One verification per design.

    References
    ----------
    .. [1] J. Urbano and T. Nagler, "Stochastic simulation of test collections: evaluation scores", SIGIR, 2018.
    .. [2] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
       Statistical Association, 1927.
    .. [3] H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical
       Statistics, 1970.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = cf.verify(difference=0.05, sd=0.15, trials={"collections": 2000, "search": False}).verifications[0]
    >>> found.design.topics, abs(found.power.rate - 0.8) < 0.03
    (73, True)
    """
    from cranfield.methods.design.labels import label_costs
    from cranfield.methods.design.request import Request
    from cranfield.methods.verification import verify as run
    from cranfield.methods.verification.designs import DesignRequest

    model, tested, drawn = groups.Judge.of(judge), groups.Family.of(family), groups.Resampling.of(resampling)
    several, like, read = groups.Trials.of(trials), groups.Population.of(population), groups.Source.of(source)
    aims: Any = groups.Goal.of(goal)
    numbers: dict[str, Any] = {"difference": difference, "sd": sd, "variance": variance, "systems": systems}
    numbers |= {"alpha": alpha, "power": power, "min_range": aims.min_range, "method": aims.method}
    shards, seed, margins, dependence = read.shards, drawn.seed, like.margins, like.dependence
    told: dict[str, Any] = {"qrels": qrels, "measure": measure, **read.of_tables}
    labels = sources.load_judged_pilot(scores, model.labels, model.correlation, **told)
    judged = {} if labels is None else _judged_pilots(labels)
    rs = cast("Any", model.correlation) or [each.correlation.value for each in judged.values()] or None
    request = DesignRequest(
        request=Request(**numbers, test=test, one_sided=tested.one_sided),
        design=design,
        judge_correlation=rs,
        costs=None
        if rs is None
        else label_costs(rs, human=model.human_cost, judge=model.cost, is_counted=model.topics is not None),
        judged_topics=model.topics,
        topics=topics,
        models=tuple(name for each in tested.models or () for name in each.split(",")),
    )
    todo: list[tuple[PlannedDesign, ScoreTable | JudgedScores | None]]
    if labels is None:
        pilots, warnings = _pilots(scores, **told, shards=shards, seed=seed)
        todo = [(each, pilot) for pilot in pilots for each in request.designs(pilot)]
    else:
        todo, warnings = _judged_designs(labels, judged, request), labels.warnings
    if not todo:
        raise RequestError(
            "no design is for this pilot", fix="Give scores of the measure and the shards it was made for."
        )
    found = tuple(
        run(
            each,
            pilot,
            collections=several.collections,
            tolerance=several.tolerance,
            confidence=several.confidence,
            search=several.search,
            margins=margins,
            dependence=dependence,
            resamples=drawn.resamples,
            seed=seed,
            progress=listener(),
        )
        for each, pilot in todo
    )
    resolved = {} if design is not None else {"alpha": alpha or [0.05], "power": power or [0.8]}
    if scores is not None and labels is None:
        resolved |= {"margins": margins or "auto", "dependence": dependence or "rows"}
    if scores is None:
        warnings = (*warnings, *_odd_goals(numbers))
    return VerificationResult(verifications=found, inputs=resolved, warnings=warnings, seed=seed)


def _odd_goals(numbers: Mapping[str, Any]) -> Iterator[Caution]:
    """The warnings about goals that are on another scale than the sd."""
    from cranfield.methods.design.goals import check_scale

    sds = [*(numbers["sd"] or ()), *((2 * each) ** 0.5 for each in numbers["variance"] or ())]
    for kind in ("difference", "min_range"):
        yield from check_scale(kind, numbers[kind] or (), sds, None)


def _judged_pilots(labels: sources.LabelSets) -> dict[str, JudgedPilot]:
    from cranfield.methods.judging.label_sets import judged_pilots

    return judged_pilots(labels.required_human, labels.judges)


def _judged_designs(labels: sources.LabelSets, pilots: Mapping[str, JudgedPilot], request: DesignRequest) -> list[Any]:
    """Designs with the judge of a pilot, each with the scores under both label sets that it is simulated from."""
    human = labels.required_human.table
    return [
        (design, pilot.scores)
        for measure, pilot in pilots.items()
        for design in replace(request, judge_correlation=[pilot.correlation.value]).designs(
            human.select(measures=[measure])
        )
    ]


def _pilots(
    scores: Any, *, shards: int | None, seed: int, measure: Names, **source: Any
) -> tuple[list[ScoreTable | None], tuple[Any, ...]]:
    """A pilot for every measure, and its warnings; runs are split into shards first where that is asked for."""
    from cranfield.methods.verification.designs import pilots_of

    if scores is None:
        return [None], ()
    if shards is None or not sources.is_collection(scores, source["qrels"]):
        tables = sources.load_tables(scores, measure=measure, **source)
        return [*pilots_of(tables.only, shards=shards)], tables.warnings
    collection = sources.load_collection(scores, qrels=source["qrels"])
    warnings = sources.load_tables(collection, measure=measure, columns=source["columns"]).warnings
    return [*pilots_of(collection, measure, shards=shards, seed=seed)], warnings
