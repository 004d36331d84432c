"""Whether the topics of a design are enough, tried on simulated collections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cranfield.errors import RequestError
from cranfield.methods.names import DEPENDENCE_TITLES, MARGINS_TITLES, TEST_LABELS, DependenceName, MarginsName
from cranfield.questions import shared_parameters as shared
from cranfield.questions import sources
from cranfield.questions.parameters import Counts, Names, Numbers, Param, Source, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.judging.estimators import JudgedScores
    from cranfield.methods.judging.label_sets import JudgedPilot
    from cranfield.methods.verification import Verification
    from cranfield.methods.verification.designs import Design, DesignRequest
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
        str | None,
        Source(
            "File with the JSON output of `size()` or `shards()`, in place of the parameters of a design.",
            metavar="FILE",
        ),
    ] = None,
    systems: Annotated[
        Counts,
        Param(
            "How many systems will be compared.",
            default="those in the pilot",
            alone="two",
            metavar="M",
            ge=2,
            le=1_000_000,
            most=shared.MOST_FAMILIES,
        ),
    ] = None,
    min_range: Annotated[Numbers, Param("Range of the systems' means to detect.", label="Range", metavar="D")] = None,
    difference: Annotated[
        Numbers,
        Param(
            "Difference of two of the systems to detect.",
            default="0.05 on a scale from 0 to 1, else 5 % of the range; unless a range is given",
            metavar="D",
        ),
    ] = None,
    variance: Annotated[
        Numbers, Param("σ² of one system's scores.", default="the pilot's", alone="", metavar="V")
    ] = None,
    sd: Annotated[
        Numbers, Param("Standard deviation of paired differences.", default="the pilot's", alone="", metavar="SD")
    ] = None,
    topics: Annotated[
        int | None, Param("Number of topics.", default="that of the formula", ge=2, le=1_000_000, metavar="N")
    ] = None,
    alpha: Annotated[Numbers, Param("Significance level.", default="0.05", label="α", metavar="A")] = None,
    power: Annotated[Numbers, Param("Power (1 − β).", default="0.8", metavar="P")] = None,
    judge: sources.Judge = None,
    judge_correlation: shared.JudgeCorrelation = None,
    judged_topics: Annotated[
        int | None,
        Param(
            "Number of topics that a model labels, with `judge_correlation`; people label `topics` of them.",
            default="that with the lowest cost",
            label="Topics labelled by a model",
            ge=5,
            le=1_000_000,
            metavar="N",
        ),
    ] = None,
    human_cost: shared.HumanCost = None,
    judge_cost: shared.JudgeCost = None,
    one_sided: Annotated[
        bool, Param("Test one direction only (a pair named in advance).", label="one-sided test")
    ] = False,
    method: Annotated[
        FormulaName | None,
        Param(
            "Formula for the number of topics.",
            default="blocked; t for a difference",
            alone="exact; t for a difference",
            metavar="NAME",
        ),
    ] = None,
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
    model: Annotated[
        Names,
        Param(
            "Models, with shards: one or several of MD2 to MD6 and MD6r.",
            default="MD6 and MD6r",
            label="Models",
            metavar="NAME",
        ),
    ] = None,
    shards: Annotated[
        int | None, Param("Split runs into this number of shards first.", short="-s", ge=2, le=1000, metavar="S")
    ] = None,
    collections: Annotated[
        int | None,
        Param(
            "The largest number of collections to draw.",
            default="20,000, and fewer (400 or more) where each is much work",
            ge=250,
            le=10_000_000,
        ),
    ] = None,
    tolerance: Annotated[
        float, Param("How far the power may be below the required power and still be enough.", gt=0, lt=1)
    ] = 0.02,
    confidence: Annotated[
        float, Param("Confidence level of the intervals, which also decide when to stop.", ge=0.5, le=0.9999)
    ] = 0.95,
    search: Annotated[bool, Param("Find the smallest number of topics that is enough.")] = True,
    gate: Annotated[bool, Param("Exit code 1 unless the topics are enough.")] = False,
    margins: Annotated[
        MarginsName | None,
        Param(
            "Distribution of the simulated scores of one system; auto is the best fit for each system.",
            default="auto",
            titles=MARGINS_TITLES,
        ),
    ] = None,
    dependence: Annotated[
        DependenceName | None,
        Param(
            "How the simulated scores of systems depend on each other: rows draws topics of the pilot "
            "with a little noise; gaussian and vine are copulas.",
            default="rows",
            titles=DEPENDENCE_TITLES,
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        Param(
            "Number of permutations or resamples of a test.", default="499 for max-t, else 1,000", ge=100, le=1_000_000
        ),
    ] = None,
    qrels: sources.Qrels = None,
    columns: sources.Columns = None,
    measure: shared.Measures = None,
    missing: shared.Missing = None,
    seed: shared.Seed = 1,
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
    >>> found = cf.verify(difference=0.05, sd=0.15, collections=2000, search=False).verifications[0]
    >>> found.design.topics, abs(found.power.rate - 0.8) < 0.03
    (73, True)
    """
    from cranfield.methods.design.labels import label_costs
    from cranfield.methods.verification import verify as run
    from cranfield.methods.verification.designs import DesignRequest

    grids: dict[str, Any] = {
        "systems": systems,
        "min_range": min_range,
        "difference": difference,
        "variance": variance,
        "sd": sd,
        "alpha": alpha,
        "power": power,
    }
    source: dict[str, Any] = {"qrels": qrels, "columns": columns, "measure": measure, "missing": missing}
    labels = sources.load_judged_pilot(scores, judge, judge_correlation, **source)
    judged = {} if labels is None else _judged_pilots(labels)
    rs = cast("Any", judge_correlation) or [each.correlation.value for each in judged.values()] or None
    request = DesignRequest(
        design=design,
        judge_correlation=rs,
        costs=label_costs(rs, human_cost=human_cost, judge_cost=judge_cost, judged_topics=judged_topics),
        grids={name: values for name, values in grids.items() if values is not None},
        topics=topics,
        sides=1 if one_sided else 2,
        method=method,
        test=test,
        models=tuple(name for each in model or () for name in each.split(",")),
    )
    todo: list[tuple[Design, ScoreTable | JudgedScores | None]]
    if labels is None:
        pilots, warnings = _pilots(scores, **source, shards=shards, seed=seed)
        todo = [(each, pilot) for pilot in pilots for each in request.designs(pilot)]
    else:
        todo, warnings = _judged_designs(labels, judged, request, shards=shards), labels.warnings
    if not todo:
        raise RequestError(
            "no design is for this pilot", fix="Give scores of the measure and the shards it was made for."
        )
    found = tuple(
        run(
            each,
            pilot,
            collections=collections,
            tolerance=tolerance,
            confidence=confidence,
            search=search,
            margins=margins,
            dependence=dependence,
            resamples=resamples,
            seed=seed,
            progress=listener(),
        )
        for each, pilot in todo
    )
    resolved = {} if design is not None else {"alpha": alpha or [0.05], "power": power or [0.8]}
    if scores is not None and labels is None:
        resolved |= {"margins": margins or "auto", "dependence": dependence or "rows"}
    return VerificationResult(verifications=found, inputs=resolved, warnings=warnings, seed=seed)


def _judged_pilots(labels: sources.LabelSets) -> dict[str, JudgedPilot]:
    from cranfield.methods.judging.label_sets import judged_pilots

    return judged_pilots(labels.required_human, labels.judges)


def _judged_designs(
    labels: sources.LabelSets, pilots: Mapping[str, JudgedPilot], request: DesignRequest, *, shards: int | None
) -> list[Any]:
    """Designs with the judge of a pilot, each with the scores under both label sets that it is simulated from."""
    if shards is not None:
        raise RequestError("a design with shards has no judge", fix="Leave one of them out.")
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
        sources.check_no_scores(measure=measure, shards=shards, **source)
        return [None], ()
    if shards is None or not sources.is_collection(scores, source["qrels"]):
        tables = sources.load_tables(scores, measure=measure, **source)
        return [*pilots_of(tables.only, shards=shards)], tables.warnings
    collection = sources.load_collection(scores, qrels=source["qrels"])
    warnings = sources.load_tables(collection, measure=measure, columns=source["columns"]).warnings
    return [*pilots_of(collection, measure, shards=shards, seed=seed)], warnings
