"""Parameters that several questions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

from cranfield.methods.names import (
    CORRECTION_TITLES,
    PLANNED_TEST_TITLES,
    TEST_LABELS,
    CorrectionName,
    PlannedTestName,
    TestName,
)
from cranfield.questions.groups import OF_REPLICATES
from cranfield.questions.parameters import Counts, Names, Numbers, Param, about

if TYPE_CHECKING:
    from cranfield.methods.design.target import Target


Measures = Annotated[
    Names,
    Param(
        "Measure, such as AP or nDCG@10; may be repeated.",
        default="all of a score table; AP for runs",
        short="-m",
        metavar="NAME",
        requires=("scores",),
    ),
]
RunMeasures = Annotated[Names, about(Measures, default="AP")]
ReportMeasures = Annotated[Names, about(Measures, default="all of a score table; AP and nDCG@10 for runs")]
Measure = Annotated[
    str | None,
    Param(
        "Measure to use.",
        default="the first measure of a score table; AP for runs",
        short="-m",
        metavar="NAME",
        requires=("scores",),
    ),
]
MOST_FAMILIES = 500  # numbers of systems of a grid: each has critical values of its own
LEAST_ALPHA = 1e-300  # where the tails of the distributions still have numbers
Alpha = Annotated[float, Param("Significance level.", label="α", ge=LEAST_ALPHA, lt=1)]
Percentile = Annotated[
    float, Param("Percentile of all pairs of systems, by their variance.", label="Percentile of pairs", ge=1, le=100)
]
Power = Annotated[float, Param("Power (1 − β).", label="Power", gt=0, lt=1)]
TEST_CHOICES = {name: TEST_LABELS[name] for name in get_args(TestName)}
ComparisonTest = Annotated[
    TestName | None,
    Param(
        "Test that compares the systems.",
        default="t, corrected by Holm",
        metavar="NAME",
        titles={"": "t with Holm's correction", **TEST_CHOICES},
        excludes=("audit",),
    ),
]
Correct = Annotated[
    CorrectionName | None,
    Param(
        "Correction for several pairs, with t, wilcoxon, sign, bootstrap or permutation: of the family-wise error "
        "rate, with bh and by of the false discovery rate.",
        default="holm",
        label="Correction of pairs",
        titles=CORRECTION_TITLES,
    ),
]
PlannedTest = Annotated[
    PlannedTestName | None,
    Param(
        "Test to plan for: of all pairs (holm, max-t, tukey), of all against a baseline (dunnett), or of a pair named "
        "in advance (t).",
        default="holm, tukey and t",
        titles={
            "": "all pairs, and a pair named in advance",
            "holm": "holm: all pairs",
            "max-t": "max-t: all pairs, resampled",
            "tukey": "tukey: all pairs, one error term",
            "dunnett": "dunnett: all against a baseline",
            "t": "t: a pair named in advance",
        },
    ),
]
Alphas = Annotated[Numbers, Param("Significance level.", default="0.05", label="Significance level α", metavar="A")]
Powers = Annotated[Numbers, Param("Power (1 − β).", default="0.8", label="Power", metavar="P")]
DEFAULT_GOAL = "0.05, or 5 % of a range other than 0 to 1"
Differences = Annotated[
    Numbers,
    Param(
        "Smallest difference of two systems to detect.", default=DEFAULT_GOAL, label="Smallest difference", metavar="D"
    ),
]
Sds = Annotated[
    Numbers,
    Param(
        "Standard deviation of paired differences (AP: 0.15), or of one system's scores where nothing is paired.",
        label="Sd of paired differences",
        metavar="SD",
        excludes=("scores", "between", "within"),
    ),
]
Variance = Annotated[
    Numbers,
    Param(
        "σ² of one system's scores (AP on news: about 0.05).",
        label="or: variance σ² of a system's scores",
        metavar="V",
        excludes=("scores", *OF_REPLICATES),
    ),
]
Correlation = Annotated[
    Numbers,
    Param(
        "Correlation of two systems' scores (TREC-8: 0.66).",
        label="and correlation of two systems' scores",
        metavar="R",
        requires=("variance",),
        excludes=("scores", "sd", *OF_REPLICATES),
    ),
]
PlannedSystems = Annotated[
    Counts,
    Param(
        "How many systems will be compared.",
        default="those in the pilot",
        alone="a pair named in advance",
        label="Systems m",
        metavar="M",
        ge=2,
        le=1_000_000,
        most=MOST_FAMILIES,
    ),
]
Systems = Annotated[
    int | None,
    Param(
        "How many systems will be compared.",
        default="the number of systems in the data",
        ge=2,
        le=1_000_000,
        metavar="M",
        excludes=("pairs", "width", "test=t"),
    ),
]
Difference = Annotated[
    float | None,
    Param(
        "Smallest difference of two systems to detect.",
        default=DEFAULT_GOAL,
        label="Difference",
        gt=0,
        le=1e3,
        metavar="D",
        excludes=("pairs", "min_range", "width"),
    ),
]
Test = Annotated[
    PlannedTestName | None,
    Param(
        "Test to plan for, with a difference; t is for a pair named in advance.",
        default="holm",
        titles=PLANNED_TEST_TITLES,
        excludes=("pairs", "min_range", "width"),
    ),
]
Shards = Annotated[Counts, Param("Numbers of shards.", short="-s")]
Samples = Annotated[
    int, Param("Number of random splits for each number of shards.", label="Shardings", ge=1, le=100_000, metavar="N")
]
LowerIsBetter = Annotated[
    bool,
    Param("Lower scores are better, as for latency or cost.", label="lower is better", excludes=("judge", "audit")),
]


def target_inputs(target: Target) -> dict[str, Any]:
    """The goal as it was understood."""
    return {
        target.goal.kind: target.value if target.has_value else None,
        "systems": target.systems,
        "test": target.design.test if target.goal.kind == "difference" else None,
    }
