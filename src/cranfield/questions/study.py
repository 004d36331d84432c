"""Sequential studies: what each plan takes, and what earlier scores say about them."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import InputError, RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Input, Names, Numbers, Param, about, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.judging.estimators import JudgedScores
    from cranfield.methods.judging.two_phase_stopping import WidthStatus
    from cranfield.methods.sequential import (
        NearMisses,
        PairedDifferences,
        PastExperience,
        PlanSimulation,
        Prospect,
        TrialPlan,
    )
    from cranfield.methods.sequential.trial import TrialCoverage
    from cranfield.scores import ScoreTable

LEAST, MOST = 1e-5, 1e3  # differences and sds
USUAL_PLAN = {"first": 30, "looks": 4, "spending": "obrien-fleming"}
Difference = Annotated[
    float,
    Param("Smallest difference of interest.", label="Smallest difference of interest", ge=LEAST, le=MOST, metavar="D"),
]
DefaultDifference = Annotated[float | None, about(Difference, default=shared.DEFAULT_GOAL)]
Alpha = Annotated[float, about(shared.Alpha, ge=1e-6)]
Power = Annotated[float, about(shared.Power, gt=None, ge=1e-6)]
Sd = Annotated[
    float | None,
    Param(
        "First estimate of the sd of paired differences.",
        label="Sd of paired differences",
        ge=LEAST,
        le=MOST,
        metavar="SD",
    ),
]
System = Annotated[str | None, Param("The system that is tested.", metavar="NAME")]
Baseline = Annotated[str | None, Param("The system it is compared with.", metavar="NAME")]
Repeats = Annotated[
    int, Param("Number of repetitions of the simulation.", ge=1, le=10_000_000, requires=("scores",), metavar="N")
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyPlansResult(Result):
    """What each plan guarantees, and its expected number of topics (``prospects``)."""

    prospects: tuple[Prospect, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyPastResult(Result):
    """The sds of the paired differences in earlier scores, and the topics they require (``experience``)."""

    experience: PastExperience


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyTrialResult(Result):
    """Total topics against the size of a trial (``plan``), or the sampling error of its sd (``coverage``)."""

    plan: TrialPlan | None = None
    coverage: TrialCoverage | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudySimulationResult(Result):
    """Every plan on the same differences: topics, bias of the sd, false positives and power (``simulation``)."""

    simulation: PlanSimulation


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyPeekResult(Result):
    """Pairs just short of significance, and how many become significant at some look (``near_misses``)."""

    near_misses: NearMisses


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyWidthResult(Result):
    """Whether the corrected interval is narrow enough, how many topics are missing, and its coverage (``status``)."""

    status: WidthStatus
    systems: tuple[str, str]
    measure: str

    @property
    def exit_code(self) -> int:
        """1 where more topics are to be labelled."""
        return 0 if self.status.enough else 1


@question(
    "Plans of a study", examples=("cranfield study plans --difference 0.033 --sd 0.15",), working="computing plans"
)
def study_plans(
    *,
    difference: DefaultDifference = None,
    sd: Annotated[float, about(Sd)],
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    plan: Annotated[
        groups.PlanLike, groups.Fields(groups.Plan, "first", "looks", "spending", "bounds", usual=USUAL_PLAN)
    ] = None,
) -> StudyPlansResult:
    """What every plan guarantees, and its expected number of topics.

    Returns
    -------
    StudyPlansResult
        One prospect per plan.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    The example of §5.1 of [1]_, which prints the truncated 164:

    >>> import cranfield as cf
    >>> {each.plan: each.first for each in cf.study_plans(difference=0.033, sd=0.15).prospects}["fixed"]
    165
    """
    from cranfield.methods.sequential.plans import all_prospects
    from cranfield.methods.sequential.study_goal import bounds_from, looks_from

    rules: Any = groups.Plan.of(plan)
    lowest, highest = bounds_from(rules.bounds)
    goal = chosen_difference(difference)
    found = all_prospects(
        goal,
        sd,
        alpha=alpha,
        power=power,
        first=rules.first,
        looks=looks_from(rules.looks),
        spending=rules.spending,
        lowest=lowest,
        highest=highest,
    )
    return StudyPlansResult(prospects=tuple(found), inputs={"difference": goal})


def chosen_difference(difference: float | None, tables: sources.Tables | None = None) -> float:
    """The difference that was named, or that of the default goal on the scale of the scores."""
    from cranfield.methods.design.goals import default_goal

    if difference is not None:
        return difference
    return float(default_goal([] if tables is None else [*tables.scales.values()]).value)  # type: ignore[arg-type]


@question("Past experience", examples=("cranfield study past earlier.csv --difference 0.033",), charts=("sds",))
def study_past(
    scores: sources.Scores,
    *,
    difference: DefaultDifference = None,
    qrels: sources.Qrels = None,
    measure: shared.Measure = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    percentile: shared.Percentile = 95.0,
    source: groups.TableSource = None,
) -> StudyPastResult:
    """The sd of paired differences in earlier scores: required topics at the mean sd and at a percentile.

    Returns
    -------
    StudyPastResult
        The sds of all pairs, and the topics for their mean and for the percentile.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.5, 0.7, 0.6, 0.4], "b": [0.4, 0.65, 0.45, 0.35], "c": [0.2, 0.6, 0.5, 0.1]}
    >>> table = {system: dict(zip("1234", values)) for system, values in scores.items()}
    >>> cf.study_past(table, difference=0.05).to_frame()["topics"].tolist()
    [34, 60]
    """
    from cranfield.methods.sequential.trial import past_experience

    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    tables.check_goals(difference=difference)
    goal = chosen_difference(difference, tables)
    found = past_experience(
        tables.only, difference=goal, measure=measure, alpha=alpha, power=power, percentile=percentile
    )
    return StudyPastResult(experience=found, inputs={"difference": goal}, warnings=tables.warnings)


@question(
    "A trial's sd",
    examples=(
        "cranfield study trial --difference 0.033 --sd 0.12,0.15,0.18",
        "cranfield study trial scores.csv --trial-size 30",
    ),
    charts=("trial",),
)
def study_trial(
    scores: sources.PilotScores = None,
    *,
    difference: Annotated[float | None, about(DefaultDifference, excludes=("scores",))] = None,
    sd: Annotated[
        Numbers,
        Param(
            "Sds of the paired differences that the trial may give.",
            label="Sds of the trial",
            metavar="SD",
            excludes=("scores",),
        ),
    ] = None,
    trial_size: Annotated[
        Counts,
        Param(
            "Numbers of topics in the trial.",
            default="30",
            alone="a range of sizes",
            label="Topics in the trial",
            metavar="N",
            ge=2,
            le=10_000,
        ),
    ] = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    confidence: groups.Confidence = 0.95,
    qrels: sources.Qrels = None,
    measure: shared.Measure = None,
    pairs: Annotated[int, Param("Number of random pairs of systems.", ge=1, le=1_000_000, requires=("scores",))] = 200,
    repeats: Annotated[int, about(Repeats, ge=10)] = 1000,
    source: groups.TableSource = None,
    resampling: groups.Seeded = None,
) -> StudyTrialResult:
    """How large a trial should be: total topics against its size. With scores: the sampling error of the sd of a trial.

    Returns
    -------
    StudyTrialResult
        The plan of a trial, or with scores the coverage of the interval of its sd.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.study_trial(difference=0.033, sd=0.15, trial_size=[30, 40]).to_frame()["needed"].tolist()
    [165, 165]
    """
    from cranfield.methods.design.goals import check_scale
    from cranfield.methods.sequential.paired_differences import random_pairs
    from cranfield.methods.sequential.trial import plan_trial, trial_coverage

    lists: dict[str, Any] = {"sd": sd, "sizes": trial_size}
    seed = groups.Resampling.of(resampling).seed
    if scores is None:
        if sd is None:
            raise RequestError("the sd is missing", fix="Give `sd`, or scores.")
        goal = chosen_difference(difference)
        plan = plan_trial(difference=goal, alpha=alpha, power=power, confidence=confidence, **lists)
        warnings = check_scale("difference", [goal], lists["sd"], None)
        return StudyTrialResult(plan=plan, inputs={"difference": goal}, warnings=warnings)
    sizes = lists["sizes"] or [30]
    if len(sizes) > 1:
        raise RequestError("with scores, a trial has one size", fix="Give one number as `trial_size`.")
    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    drawn = random_pairs(tables.only, pairs, seed=seed, measure=measure).differences
    coverage = trial_coverage(drawn, topics=sizes[0], confidence=confidence, repeats=repeats, seed=seed)
    return StudyTrialResult(coverage=coverage, warnings=tables.warnings, seed=seed)


@question(
    "Plans compared",
    examples=(
        "cranfield study simulate scores.csv --system mine --baseline theirs --difference 0.03 --plot plans.svg",
    ),
    charts=("plans", "inclusion", "sd", "errors"),
    working="simulating",
)
def study_simulate(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measure = None,
    system: System = None,
    baseline: Baseline = None,
    pairs: Annotated[
        int | None,
        Param(
            "Number of random pairs: the baseline is from the second quarter of the ranking, the other system from the "
            "best three quarters.",
            label="or: random pairs",
            ge=1,
            le=1_000_000,
        ),
    ] = None,
    difference: Annotated[
        float | None, about(Difference, default="what is detectable with `detectable_with` topics")
    ] = None,
    detectable_with: Annotated[
        int, Param("Number of topics with which the difference of each pair is detectable.", ge=2, le=1_000_000)
    ] = 100,
    sd: Annotated[float | None, about(Sd, default="the true sd")] = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    plans: Annotated[
        Names, Param("Only these plans, separated by commas or repeated.", default="all", metavar="NAMES")
    ] = None,
    plan: Annotated[
        groups.PlanLike, groups.Fields(groups.Plan, "first", "step", "looks", "bounds", "most", usual=USUAL_PLAN)
    ] = None,
    repeats: Repeats = 10_000,
    source: groups.TableSource = None,
    resampling: groups.Seeded = None,
) -> StudySimulationResult:
    """Simulate every plan on your own scores: topics used, bias of the sd, false positives and power.

    Returns
    -------
    StudySimulationResult
        One row per plan.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.5, 0.7, 0.6, 0.4, 0.3, 0.6], "b": [0.4, 0.65, 0.45, 0.35, 0.5, 0.2]}
    >>> table = {system: dict(zip("123456", values)) for system, values in scores.items()}
    >>> cf.study_simulate(table, difference=0.1, plans="fixed,hybrid", repeats=20).to_frame()["plan"].tolist()
    ['fixed', 'hybrid']
    """
    from cranfield.methods.sequential.plan_simulation import WAYS, simulate
    from cranfield.methods.sequential.study_goal import bounds_from, looks_from

    rules: Any = groups.Plan.of(plan)
    seed = groups.Resampling.of(resampling).seed
    chosen, warnings = _pairs(
        scores,
        {"system": system, "baseline": baseline, "count": pairs, "seed": seed},
        qrels=qrels,
        measure=measure,
        **groups.Source.of(source).of_tables,
    )
    lowest, highest = bounds_from(rules.bounds)
    found = simulate(
        chosen,
        difference=difference,
        detectable_with=detectable_with,
        sd=sd,
        alpha=alpha,
        power=power,
        plans=[name.strip() for each in plans or () for name in each.split(",")] or list(WAYS),
        first=rules.first,
        step=rules.step,
        looks=looks_from(rules.looks),
        lowest=lowest,
        highest=highest,
        most=rules.most,
        repeats=repeats,
        seed=seed,
        progress=listener(),
    )
    return StudySimulationResult(simulation=found, warnings=warnings, seed=seed)


def _pairs(scores: Any, choice: dict[str, Any], **source: Any) -> tuple[PairedDifferences, tuple[Any, ...]]:
    """The pairs of a study file, or those chosen of a score table, and the warnings of the table."""
    from cranfield.methods.sequential.journal import is_journal
    from cranfield.methods.sequential.paired_differences import choose_pairs
    from cranfield.methods.sequential.study import open_study

    only = scores[0] if isinstance(scores, list) and len(scores) == 1 else scores
    if isinstance(only, str | PathLike) and is_journal(Path(only)):
        return open_study(Path(only)).pairs(), ()
    tables = sources.load_tables(scores, **source)
    return choose_pairs(tables.only, measure=source["measure"], **choice), tables.warnings


@question("Peeking", examples=("cranfield study peek scores.csv --first 20",), charts=("p-values",))
def study_peek(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measure = None,
    first: Annotated[int, Param("Number of topics at the first look.", label="First look", ge=2, le=1_000_000)] = 50,
    low: Annotated[float, Param("Only pairs whose p on all topics is above this.", label="p above", ge=0, lt=1)] = 0.05,
    high: Annotated[
        float, Param("Only pairs whose p on all topics is below this.", label="p below", gt=0, le=1)
    ] = 0.10,
    alpha: Alpha = 0.05,
    repeats: Repeats = 200,
    source: groups.TableSource = None,
    resampling: groups.Seeded = None,
) -> StudyPeekResult:
    """Testing after every topic: the share of pairs just short of significance that are significant at some look.

    Returns
    -------
    StudyPeekResult
        The share, and p after every topic for some of these pairs.

    References
    ----------
    .. [1] W. Webber, A. Moffat and J. Zobel, "Statistical power in retrieval experimentation", CIKM, 2008.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.5, 0.7, 0.6, 0.4, 0.3, 0.6], "b": [0.4, 0.65, 0.45, 0.35, 0.5, 0.2]}
    >>> table = {system: dict(zip("123456", values)) for system, values in scores.items()}
    >>> cf.study_peek(table, first=3, high=0.9, repeats=20).near_misses.pairs
    1
    """
    from cranfield.methods.sequential.paired_differences import all_pairs
    from cranfield.methods.sequential.paths import near_misses

    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    seed = groups.Resampling.of(resampling).seed
    found = near_misses(
        all_pairs(tables.only, measure), low=low, high=high, first=first, alpha=alpha, repeats=repeats, seed=seed
    )
    return StudyPeekResult(near_misses=found, warnings=tables.warnings, seed=seed)


@question(
    "Human labels until an interval is narrow",
    examples=("cranfield study width human.csv --judge judge.csv --width 0.08 --system mine --baseline theirs",),
    working="simulating studies",
)
def study_width(
    scores: Annotated[
        sources.ScoresLike,
        Input("Scores under human labels, of the topics that people have labelled so far.", metavar="HUMAN"),
    ],
    *,
    judge: Annotated[sources.ScoresLike, Input("Scores under a model's labels, of all topics.", metavar="SCORES")],
    width: Annotated[float, Param("Widest confidence interval for the difference.", gt=0, le=MOST, metavar="W")],
    system: System = None,
    baseline: Baseline = None,
    first: Annotated[
        int, Param("Topics labelled by people at the first look.", label="First look at", ge=5, le=1_000_000)
    ] = 20,
    step: Annotated[int, Param("Topics labelled by people between looks.", ge=1, le=1_000_000)] = 5,
    alpha: Alpha = 0.05,
    studies: Annotated[int, Param("Number of simulated studies.", ge=100, le=1_000_000)] = 4000,
    measure: shared.Measure = None,
    source: groups.TableSource = None,
    resampling: groups.Seeded = None,
) -> StudyWidthResult:
    """Whether people have labelled enough topics: the interval of a difference, corrected by a model's labels.

    The topics that people label must be drawn at random from those that the model has labelled. Exit code 1 while more
    are to be labelled. The interval covers the true difference somewhat less often than 1 − α, as it decides when to
    stop; how often is simulated on the topics that have both labels.

    Returns
    -------
    StudyWidthResult
        The interval, the topics that are missing, and the coverage.

    References
    ----------
    .. [1] W. G. Cochran, "Sampling Techniques", third edition, Wiley, 1977, chapter 12.

    Examples
    --------
    >>> import numpy as np, cranfield as cf
    >>> rng = np.random.default_rng(1)
    >>> judge = rng.normal(size=(120, 2))
    >>> human = judge[:30] + 0.5 * rng.normal(size=(30, 2))
    >>> of = lambda scores: {name: {str(t): x for t, x in enumerate(scores[:, at])} for at, name in enumerate("ab")}
    >>> found = cf.study_width(of(human), judge=of(judge), width=0.4, studies=400).status
    >>> found.topics, found.judged_topics, found.enough
    (30, 120, False)
    """
    from cranfield.methods.judging.two_phase_stopping import width_status

    told: dict[str, Any] = {"measure": measure, **groups.Source.of(source).of_tables}
    seed = groups.Resampling.of(resampling).seed
    tables = [sources.load_tables(each, **told) for each in (scores, judge)]
    pair, name, both = _judged_pair(tables[0].only, tables[1].only, system, baseline, measure)
    status = width_status(both, width=width, alpha=alpha, first=first, step=step, studies=studies, seed=seed)
    return StudyWidthResult(status=status, systems=pair, measure=name, warnings=tables[0].warnings, seed=seed)


def _judged_pair(
    human: ScoreTable, judge: ScoreTable, system: str | None, baseline: str | None, measure: str | None
) -> tuple[tuple[str, str], str, JudgedScores]:
    """The names of two systems, the measure, and their scores under both label sets."""
    import numpy as np

    from cranfield.methods.judging.estimators import JudgedScores
    from cranfield.methods.sequential.paired_differences import one_pair

    found = one_pair(human, system=system, baseline=baseline, measure=measure)
    pair, name = found.names[0], found.measure
    absent = [each for each in pair if each not in judge.systems]
    if absent:
        raise InputError(f"the model's scores lack «{absent[0]}»", fix="Give scores of both systems under its labels.")
    place = {topic: at for at, topic in enumerate(judge.topics)}
    others = [topic for topic in human.topics if topic not in place]
    if others:
        raise InputError(
            f"topic {others[0]} has human labels, and the model has not labelled it",
            fix="Let the model label every topic, or leave those out that it has not.",
        )
    columns = [[table.systems.index(each) for each in pair] for table in (human, judge)]
    both = JudgedScores(
        human=human.of(name)[:, columns[0]],
        # A wide table has no name of its measure but that of its file.
        judge=judge.of(judge.measures[0] if len(judge.measures) == 1 else name)[:, columns[1]],
        rows=np.array([place[topic] for topic in human.topics]),
    )
    return pair, name, both
