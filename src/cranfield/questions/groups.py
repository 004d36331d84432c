"""Parameters that belong together, each declared once for all questions.

In Python a group is one argument, an object or a dict: ``size(..., judge={"correlation": 0.6})``. On the command line,
in a project file, in the address of a page and for language models its fields are flags: ``--judge-correlation 0.6``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

from cranfield.methods.names import (
    DEPENDENCE_TITLES,
    ESTIMATE_TITLES,
    ESTIMATOR_TITLES,
    MARGINS_TITLES,
    METHOD_TITLES,
    MISSING_TITLES,
    REPLICATES_TITLES,
    SPENDING_TITLES,
    DependenceName,
    EstimateName,
    EstimatorName,
    MarginsName,
    MethodName,
    MissingName,
    PlanName,
    ReplicatesName,
    SpendingName,
)
from cranfield.questions.parameters import Counts, Fields, Group, Input, NamedData, Names, Numbers, Param, about

MOST_LOOKS = 200
_COMPONENTS = ("between", "within", "shared_variance", "icc")
OF_REPLICATES = (
    "replicates",
    "items",
    "repeats",
    *_COMPONENTS,
    "repeat_variance",
    "topic_cost",
    "item_cost",
    "repeat_cost",
)
"""What a design with several scores per topic is said by; it has no judge."""
_JUDGED = ("judge", "judge_correlation")
OF_JUDGE = ("judge_correlation", "judge_cost", "judged_topics")
"""What a design with labels of a model is said by: it has a difference, an effect size or a width."""


def changed(group: type[Group], name: str, kind: Any = None, **said: Any) -> Any:
    """A field of a group, of which a question says something else, or that has another kind of value there."""
    declared = group.__annotations__[name]
    return Annotated[kind or get_args(declared)[0], about(declared, **said)]


UnscoredName = Literal["zero", "nan", "drop"]
UNSCORED_TITLES = {"zero": "counts as 0", "nan": "stays missing", "drop": "is dropped"}


JudgeLabels = Annotated[
    NamedData,
    Input(
        "Labels of a model: judgments where the scores are runs, else a score table; may be repeated.",
        metavar="NAME=FILE",
        flag="judge",
        requires=("scores",),
        excludes=OF_REPLICATES,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Source(Group):
    """How scores, runs and what belongs to them are read."""

    title: ClassVar[str] = "Reading the data"

    teams: Annotated[str | None, Input("Teams, one run per line: run team.", short="-t", metavar="FILE")] = None
    columns: Annotated[
        str | None,
        Input(
            "Columns of a score file: topic=query,system=run (also score=, measure=, seed=, prompt=, judge=, shard=, "
            "mean=, cluster=, stratum=, weight=).",
            metavar="PART=NAME,…",
            requires=("scores", "past", "trial"),
        ),
    ] = None
    missing: Annotated[
        MissingName | None,
        Param(
            "A missing score: zero counts it as 0, drop leaves out its topic.",
            default="0 in runs; a table is refused",
            label="A missing score",
            titles={"": "0 in runs, refused in tables", **MISSING_TITLES},
            requires=("scores", "past", "trial"),
        ),
    ] = None
    shards: Annotated[
        int | None,
        Param(
            "Split runs into this number of shards first.",
            short="-s",
            ge=2,
            le=1000,
            metavar="S",
            requires=("scores",),
            excludes=("judge",),
        ),
    ] = None
    intents: Annotated[
        str | None, Input("Per-intent judgments, one per line: topic intent document grade.", metavar="FILE")
    ] = None
    intent_probabilities: Annotated[
        str | None,
        Input(
            "Probabilities of intents, one per line: topic intent probability; of nuggets, importance: vital or okay.",
            default="all equal",
            metavar="FILE",
        ),
    ] = None
    order: Annotated[
        Literal["score", "rank"],
        Input("How a ranked list is ordered: by score, as in trec_eval (score), or by its rank column (rank)."),
    ] = "score"
    ties: Annotated[
        Literal["docid", "docid-ascending", "file"],
        Input(
            "Order of documents with the same score: by id, descending, as in trec_eval (docid), or ascending "
            "(docid-ascending); or in the order of the file (file)."
        ),
    ] = "docid"
    precision: Annotated[
        Literal["double", "single"],
        Input("Precision of the scores that order a list: as written (double), or as in pytrec_eval (single)."),
    ] = "double"
    name: Annotated[
        Literal["auto", "tag", "file"],
        Input("What a system is called: its run tag, its file, or the tag if every file has its own (auto)."),
    ] = "auto"

    @property
    def of_tables(self) -> dict[str, Any]:
        """What reading score tables takes."""
        return {"columns": self.columns, "missing": self.missing}

    @property
    def of_runs(self) -> dict[str, Any]:
        """What reading runs takes."""
        names = ("teams", "order", "ties", "precision", "name")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Goal(Group):
    """What the topics are for, other than a difference of two systems."""

    title: ClassVar[str] = "Other goals"

    min_range: Annotated[
        Numbers,
        Param(
            "Smallest range of the systems' means to detect.",
            label="Smallest range of their means",
            metavar="D",
            excludes=OF_JUDGE,
        ),
    ] = None
    width: Annotated[
        Numbers, Param("Widest confidence interval for a difference.", label="Widest interval", metavar="W")
    ] = None
    probability: Annotated[
        Numbers,
        Param(
            "Probability of that width.",
            default="the expected one",
            label="Probability of it",
            metavar="P",
            requires=("width",),
            excludes=OF_JUDGE,
        ),
    ] = None
    sensitivity: Annotated[
        Numbers,
        Param(
            "Half-width of the interval of one system's mean: ± S.", label="Within ±", metavar="S", excludes=OF_JUDGE
        ),
    ] = None
    effect_size: Annotated[
        Numbers,
        Param(
            "Effect size d_z: the difference divided by its sd.",
            label="Effect size d_z",
            metavar="E",
            excludes=("scores",),
        ),
    ] = None
    equivalence: Annotated[
        Numbers,
        Param(
            "Margin of equivalence; in sds if no sd is given.",
            label="Margin of equivalence",
            metavar="M",
            excludes=OF_JUDGE,
        ),
    ] = None
    non_inferiority: Annotated[
        Numbers,
        Param(
            "Margin of non-inferiority; in sds if no sd is given.",
            label="Margin of non-inferiority",
            metavar="M",
            excludes=OF_JUDGE,
        ),
    ] = None
    true_difference: Annotated[
        Numbers,
        Param(
            "Assumed true difference, with a margin.",
            default="0",
            metavar="D",
            requires=("equivalence", "non_inferiority"),
        ),
    ] = None
    assurance: Annotated[
        float | None,
        Param(
            "Expected power (assurance), in place of `power`.",
            label="Expected power",
            gt=0,
            lt=1,
            metavar="P",
            requires=("scores",),
            excludes=("power", *OF_JUDGE, *OF_REPLICATES),
        ),
    ] = None
    method: Annotated[
        MethodName | None,
        Param(
            "Only this method.", default="all that apply", titles={"": "all that apply", **METHOD_TITLES}, advanced=True
        ),
    ] = None
    limit: Annotated[
        int, Param("Most topics to consider.", label="Most topics", ge=2, le=1_000_000_000, metavar="N", advanced=True)
    ] = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Family(Group):
    """Whether one direction is tested, and whether systems share topics."""

    title: ClassVar[str] = ""

    one_sided: Annotated[bool, Param("One-sided test of a pair named in advance.", label="one-sided test")] = False
    unpaired: Annotated[
        bool,
        Param(
            "The two systems do not share topics.",
            label="two systems that share no topics",
            excludes=(*OF_JUDGE, *OF_REPLICATES),
        ),
    ] = False
    models: Annotated[
        Names,
        Param(
            "Models, with shards: one or several of MD2 to MD6 and MD6r.",
            default="MD6 and MD6r",
            label="Models",
            metavar="NAME",
            flag="model",
            requires=("scores",),
            excludes=("design",),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Judge(Group):
    """Labels of a model beside those of people, and what both cost."""

    title: ClassVar[str] = "Labels of a model"
    main: ClassVar[str] = "labels"

    labels: JudgeLabels = None
    correlation: Annotated[
        Numbers,
        Param(
            "Correlation over topics of human and model differences (models that judged TREC DL 2019: 0.47 to 0.73).",
            label="Correlation r of human and model differences",
            metavar="R",
            flag="judge_correlation",
            excludes=("design", *OF_REPLICATES),
        ),
    ] = None
    human_cost: Annotated[
        float | None,
        Param(
            "Cost of a topic's human labels.",
            default="1",
            label="Cost of a topic, by people",
            gt=0,
            le=1e12,
            metavar="C",
            requires=("judge_cost",),
            excludes=OF_REPLICATES,
        ),
    ] = None
    cost: Annotated[
        float | None,
        Param(
            "Cost of a topic's labels by the model; if they cost nothing, give `judged_topics`.",
            label="Cost of a topic, by the model",
            gt=0,
            le=1e12,
            metavar="C",
            flag="judge_cost",
            requires=_JUDGED,
            excludes=OF_REPLICATES,
        ),
    ] = None
    topics: Annotated[
        int | None,
        Param(
            "Topics the model labels.",
            default="the cheapest number",
            label="Topics labelled by the model",
            ge=5,
            le=1_000_000_000,
            metavar="N",
            flag="judged_topics",
            requires=_JUDGED,
            excludes=OF_REPLICATES,
        ),
    ] = None
    estimator: Annotated[
        EstimatorName | None,
        Param(
            "How human labels on some topics and the judge's on all become one result.",
            default="regression",
            titles={"": "regression", **ESTIMATOR_TITLES},
            requires=("judge",),
        ),
    ] = None
    sampled: Annotated[
        bool,
        Param(
            "The topics with human labels were drawn at random from the judged ones.",
            label="topics with human labels drawn at random",
            requires=("judge",),
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Replicates(Group):
    """Several scores per topic and system."""

    title: ClassVar[str] = "Several scores per topic"
    main: ClassVar[str] = "structure"

    structure: Annotated[
        ReplicatesName | None,
        Param(
            "What a topic's scores differ by: variations of its own, shared prompts or seeds, fixed-prompts (no "
            "sample); or clusters of topics.",
            default="as in `columns`",
            alone="variations or prompts",
            label="Replicates",
            titles={"": "one score, or as the fields below say", **REPLICATES_TITLES},
            flag="replicates",
        ),
    ] = None
    items: Annotated[
        Counts,
        Param(
            "Variations or prompts per topic, or topics per cluster.",
            default="1,2,3,5,10, or the cheapest",
            label="Variations, prompts, or topics per cluster",
            metavar="K",
        ),
    ] = None
    repeats: Annotated[
        Counts, Param("Repeats of items, or seeds.", default="1, or as `items`", label="Repeats or seeds", metavar="R")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Spread(Group):
    """The variance: its components, and how it is estimated from a pilot."""

    title: ClassVar[str] = "Components of the variance of paired differences"

    between: Annotated[
        float | None,
        Param(
            "Variance between topics, apart from that within.",
            label="Variance between topics",
            ge=0,
            le=1e12,
            metavar="V",
            excludes=("scores", "icc"),
        ),
    ] = None
    within: Annotated[
        float | None,
        Param(
            "Variance between the items of a topic (or cluster).",
            label="Variance within topics",
            ge=0,
            le=1e12,
            metavar="V",
            excludes=("scores", "icc"),
        ),
    ] = None
    shared_variance: Annotated[
        float | None,
        Param(
            "Variance between prompts or seeds that topics share.",
            label="Variance of prompts or seeds",
            ge=0,
            le=1e12,
            metavar="V",
            excludes=("scores",),
        ),
    ] = None
    repeat_variance: Annotated[
        float | None,
        Param(
            "Variance between repeats.",
            default="the pilot's",
            alone="0",
            label="Variance of repeats",
            ge=0,
            le=1e12,
            metavar="V",
        ),
    ] = None
    icc: Annotated[
        float | None,
        Param(
            "Intra-class correlation within topics, with `sd`.",
            label="or: intra-class correlation",
            ge=0,
            le=1,
            metavar="R",
            requires=("sd",),
            excludes=("scores",),
        ),
    ] = None
    estimate: Annotated[
        EstimateName | None,
        Param(
            "Variance estimate: residual, within (Sakai and Shang 2016), two-way (Sakai 2014), one-way or percentile.",
            default="by goal",
            titles={"": "what the goal needs", **ESTIMATE_TITLES},
            excludes=("pairs",),
        ),
    ] = None
    small_pilot: Annotated[
        bool,
        Param(
            "Accept a pilot of fewer than 5 topics; gives a range.",
            label="accept a small pilot",
            requires=("scores",),
            advanced=True,
        ),
    ] = False


PILOT_ESTIMATE = changed(Spread, "estimate", requires=("scores",), excludes=OF_REPLICATES)
"""How the variance is estimated from scores."""


@dataclass(frozen=True, kw_only=True)
class Cost(Group):
    """What topics, items and judgments cost, and what all may cost together."""

    title: ClassVar[str] = "Costs"

    topic: Annotated[
        float | None,
        Param(
            "Cost of a topic (or cluster).",
            default="0",
            label="Cost of a topic",
            ge=0,
            le=1e12,
            metavar="C",
            flag="topic_cost",
        ),
    ] = None
    item: Annotated[
        float | None,
        Param(
            "Cost of an item (of shared prompts, once).",
            default="0",
            label="Cost of an item",
            ge=0,
            le=1e12,
            metavar="C",
            flag="item_cost",
        ),
    ] = None
    repeat: Annotated[
        float | None,
        Param(
            "Cost of a repeat (of shared seeds, once).",
            default="0",
            label="Cost of a repeat",
            ge=0,
            le=1e12,
            metavar="C",
            flag="repeat_cost",
        ),
    ] = None
    judgment: Annotated[
        float,
        Param(
            "Cost of a judgment.",
            label="Cost of a judgment",
            ge=0,
            le=1e9,
            metavar="C",
            flag="price",
            excludes=("pairs",),
        ),
    ] = 1.0
    budget: Annotated[
        float | None,
        Param(
            "Largest cost of all, in place of `power`.",
            label="or: budget",
            gt=0,
            le=1e12,
            metavar="B",
            requires=("topic_cost", "item_cost", "repeat_cost"),
            excludes=("power",),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Resampling(Group):
    """Random numbers: how many resamples, and the seed."""

    title: ClassVar[str] = "Resampling"

    resamples: Annotated[
        int | None,
        Param("Number of permutations or resamples of a test.", default="10,000", ge=100, le=10_000_000, metavar="N"),
    ] = None
    seed: Annotated[int, Param("Random seed.", ge=0, le=2**63 - 1, metavar="N")] = 1


@dataclass(frozen=True, kw_only=True)
class Population(Group):
    """How scores of new topics are simulated."""

    title: ClassVar[str] = "Simulated scores"

    margins: Annotated[
        MarginsName | None,
        Param(
            "Distribution of the simulated scores of one system; auto is the best fit for each system.",
            default="auto",
            titles=MARGINS_TITLES,
            requires=("scores",),
        ),
    ] = None
    dependence: Annotated[
        DependenceName | None,
        Param(
            "How simulated scores depend on each other: rows draws topics of the data with a little noise; gaussian "
            "and vine are copulas.",
            default="rows",
            titles=DEPENDENCE_TITLES,
            requires=("scores",),
        ),
    ] = None
    trees: Annotated[
        int | None,
        Param(
            "Vine: number of trees whose copula families are selected; those of higher trees are Gaussian.",
            default="2",
            ge=1,
            le=1000,
            requires=("dependence=vine",),
        ),
    ] = None
    truncate: Annotated[
        bool,
        Param(
            "Vine: use independence in the higher trees.", label="independent after them", requires=("dependence=vine",)
        ),
    ] = False


Confidence = Annotated[float, Param("Confidence level of the intervals.", ge=0.5, le=0.9999, metavar="P")]


@dataclass(frozen=True, kw_only=True)
class Trials(Group):
    """How many collections are simulated, and when that is enough."""

    title: ClassVar[str] = "Simulated collections"

    collections: Annotated[
        int | None,
        Param(
            "The most collections to draw.",
            default="20,000, and fewer (400 or more) where each is much work",
            ge=250,
            le=10_000_000,
            metavar="N",
        ),
    ] = None
    tolerance: Annotated[
        float, Param("How far the power may be below the required power.", gt=0, lt=1, metavar="P")
    ] = 0.02
    confidence: Annotated[
        float, Param("Confidence level of intervals, which decide when to stop.", ge=0.5, le=0.9999, metavar="P")
    ] = 0.95
    search: Annotated[bool, Param("Find the smallest number of topics that is enough.")] = True


@dataclass(frozen=True, kw_only=True)
class Plan(Group):
    """How topics are added to a study, and when they are tested."""

    title: ClassVar[str] = "The plan"
    main: ClassVar[str] = "name"

    name: Annotated[
        PlanName | None,
        Param("How topics are added and when they are tested.", label="Plan", flag="plan", metavar="NAME"),
    ] = None
    first: Annotated[
        int | None,
        Param(
            "Number of topics before the first decision of the iterative plan.",
            default="unchanged",
            label="First topics",
            ge=2,
            le=10_000,
            metavar="N",
        ),
    ] = None
    step: Annotated[int, Param("Topics that the iterative plan adds at a time.", ge=1, le=1_000_000, metavar="N")] = 1
    looks: Annotated[
        Numbers,
        Param(
            "Group-sequential: number of looks (tests of the topics so far), or the share of the topics at each look, "
            "such as 0.3,0.6,1.",
            default="unchanged",
            label="Looks",
            le=MOST_LOOKS,
            most=MOST_LOOKS,
        ),
    ] = None
    spending: Annotated[
        SpendingName | None,
        Param(
            "Group-sequential: how α is spread over the looks.",
            default="unchanged",
            label="How α is spent",
            titles=SPENDING_TITLES,
            metavar="NAME",
        ),
    ] = None
    bounds: Annotated[
        Numbers, Param("Smallest and largest possible difference of two scores.", label="Bounds", metavar="LOW,HIGH")
    ] = "-1,1"
    most: Annotated[
        int | None,
        Param(
            "Largest number of topics of plans without a fixed end.",
            default="5 times the topics of the fixed plan",
            label="At most",
            ge=2,
            le=10_000_000,
            metavar="N",
        ),
    ] = None


# mypy takes an object or a dict for each, and for some the value of the main field.
SourceLike = Union[Source, Mapping[str, Any], None]  # noqa: UP007
GoalLike = Union[Goal, Mapping[str, Any], None]  # noqa: UP007
FamilyLike = Union[Family, Mapping[str, Any], None]  # noqa: UP007
JudgeLike = Union[Judge, str, Sequence[str], Mapping[str, Any], None]  # noqa: UP007
ReplicatesLike = Union[Replicates, str, Mapping[str, Any], None]  # noqa: UP007
SpreadLike = Union[Spread, Mapping[str, Any], None]  # noqa: UP007
CostLike = Union[Cost, Mapping[str, Any], None]  # noqa: UP007
ResamplingLike = Union[Resampling, Mapping[str, Any], None]  # noqa: UP007
PopulationLike = Union[Population, Mapping[str, Any], None]  # noqa: UP007
TrialsLike = Union[Trials, Mapping[str, Any], None]  # noqa: UP007
PlanLike = Union[Plan, str, Mapping[str, Any], None]  # noqa: UP007

TableSource = Annotated[SourceLike, Fields(Source, "columns", "missing")]
RunSource = Annotated[SourceLike, Fields(Source, "teams", "order", "ties", "precision", "name")]
ScoredSource = Annotated[
    SourceLike,
    Fields(
        Source,
        "intents",
        "intent_probabilities",
        "order",
        "ties",
        "precision",
        "name",
        "missing",
        ties=changed(
            Source,
            "ties",
            Literal["docid", "docid-ascending", "file", "average"],
            help="Order of documents with the same score: by id, descending, as in trec_eval (docid), or ascending "
            "(docid-ascending); in the order of the file (file); or all orders: expected scores (average).",
        ),
        missing=changed(
            Source,
            "missing",
            UnscoredName,
            help="Score of a judged topic for which a run returned nothing: 0, undefined, or the topic is left out.",
            label="A topic without results",
            titles=UNSCORED_TITLES,
        ),
        usual={"missing": "zero"},
    ),
]
PackedSource = Annotated[
    SourceLike,
    Fields(
        Source,
        "teams",
        "intents",
        "intent_probabilities",
        "order",
        "ties",
        "precision",
        "name",
        "columns",
        "missing",
        columns=changed(Source, "columns", excludes=("qrels", "teams", "intents", "intent_probabilities")),
        missing=changed(
            Source, "missing", default="it is packed as missing", titles={"": "stays missing", **MISSING_TITLES}
        ),
    ),
]
TeamSource = Annotated[SourceLike, Fields(Source, "teams", "columns", "missing")]
Seeded = Annotated[ResamplingLike, Fields(Resampling, "seed")]
Resampled = Annotated[ResamplingLike, Fields(Resampling, "resamples", "seed")]
ONE_GOAL: dict[str, Any] = {"gt": 0, "le": 1e3, "excludes": ("pairs",)}
RANGE_METHODS = (
    "Method for a range: blocked if systems share topics; exact or sakai if they do not (sakai as published)."
)
OneGoal = Annotated[
    GoalLike,
    Fields(
        Goal,
        "min_range",
        "width",
        "method",
        min_range=changed(
            Goal, "min_range", float | None, label="Range", **{**ONE_GOAL, "excludes": ("pairs", "width")}
        ),
        width=changed(Goal, "width", float | None, label="or: width", **ONE_GOAL),
        method=changed(
            Goal, "method", Literal["blocked", "exact", "sakai"], help=RANGE_METHODS, titles={}, requires=("min_range",)
        ),
        usual={"method": "blocked"},
    ),
]
"""A single goal: a range or a width in place of a difference."""
PlannedJudge = Annotated[JudgeLike, Fields(Judge, "labels", "correlation", "human_cost", "cost", "topics")]
