"""Parameters that several questions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cranfield.methods.names import (
    CORRECTION_TITLES,
    ESTIMATE_TITLES,
    MISSING_TITLES,
    PLANNED_TEST_TITLES,
    TEST_LABELS,
    CorrectionName,
    EstimateName,
    MissingName,
    PlannedTestName,
    TestName,
)
from cranfield.questions.parameters import Names, Numbers, Param

if TYPE_CHECKING:
    from cranfield.methods.design.target import Target


Measures = Annotated[
    Names,
    Param(
        "Measure to use, such as AP or nDCG@10; may be repeated.",
        default="all measures of a score table; AP for runs",
        short="-m",
        metavar="NAME",
    ),
]
RunMeasures = Annotated[
    Names, Param("Measure to use, such as AP or nDCG@10; may be repeated.", default="AP", short="-m", metavar="NAME")
]
ReportMeasures = Annotated[
    Names,
    Param(
        "Measure to use, such as AP or nDCG@10; may be repeated.",
        default="all measures of a score table; AP and nDCG@10 for runs",
        short="-m",
        metavar="NAME",
    ),
]
Measure = Annotated[
    str | None,
    Param("Measure to use.", default="the first measure of a score table; AP for runs", short="-m", metavar="NAME"),
]
Missing = Annotated[
    MissingName | None,
    Param(
        "What to do with a missing score: zero counts it as 0, drop leaves out its topic.",
        default="a score table with missing scores is refused, and a run scores 0 on a topic for which it returned "
        "nothing",
        label="A missing score",
        titles={"": "0 in runs, refused in tables", **MISSING_TITLES},
    ),
]
MissingPacked = Annotated[
    MissingName | None,
    Param(
        "What to do with a missing score of a table: zero counts it as 0, drop leaves out its topic.",
        default="it is packed as missing",
        label="A missing score",
        titles={"": "stays missing", **MISSING_TITLES},
    ),
]
MOST_FAMILIES = 500  # numbers of systems of a grid: each has critical values of its own
LEAST_ALPHA = 1e-300  # where the tails of the distributions still have numbers
Alpha = Annotated[float, Param("Significance level.", label="α", ge=LEAST_ALPHA, lt=1)]
Power = Annotated[float, Param("Power (1 − β).", gt=0, lt=1)]
Seed = Annotated[int, Param("Random seed.", ge=0, le=2**63 - 1, metavar="N")]
Resamples = Annotated[
    int | None, Param("Number of permutations or resamples.", default="10,000", ge=100, le=10_000_000, metavar="N")
]
TEST_CHOICES = {name: TEST_LABELS[name] for name in get_args(TestName)}
Correct = Annotated[
    CorrectionName | None,
    Param(
        "Correction for several pairs, with t, wilcoxon, sign, bootstrap or permutation.",
        default="holm",
        label="Correction of pairs",
        titles=CORRECTION_TITLES,
    ),
]
SmallPilot = Annotated[
    bool, Param("Accept a pilot of fewer than 5 topics; the result is then a range.", label="accept a small pilot")
]
PlannedTest = Annotated[
    PlannedTestName | None,
    Param(
        "Test to plan for: all pairs (holm, max-t, tukey), all systems against a baseline (dunnett), or one pair named "
        "in advance (t).",
        default="holm and tukey for all pairs, and t for a pair named in advance",
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
Variance = Annotated[
    Numbers,
    Param(
        "σ² of one system's scores (AP on news: about 0.05).", label="or: variance σ² of a system's scores", metavar="V"
    ),
]
Correlation = Annotated[
    Numbers,
    Param(
        "Correlation of two systems' scores over topics, with `variance` (AP on TREC-8: 0.66).",
        label="and correlation of two systems' scores",
        metavar="R",
    ),
]
JudgeCorrelation = Annotated[
    Numbers,
    Param(
        "Correlation r over topics of the differences of two systems under human and under a model's labels (models "
        "that judged TREC DL 2019: 0.47 to 0.73).",
        label="Correlation r of human and model differences",
        metavar="R",
    ),
]
HumanCost = Annotated[
    float | None,
    Param(
        "Cost of one topic's labels by people, with `judge_cost`.",
        default="1",
        label="Cost of a topic, by people",
        gt=0,
        le=1e12,
        metavar="C",
    ),
]
JudgeCost = Annotated[
    float | None,
    Param(
        "Cost of one topic's labels by a model, with `judge_correlation`; if it costs nothing, give `judged_topics`.",
        label="Cost of a topic, by the model",
        gt=0,
        le=1e12,
        metavar="C",
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
    ),
]
MinRange = Annotated[
    float | None,
    Param(
        "Instead of a difference: smallest range of the systems' means to detect.",
        label="or: range",
        gt=0,
        le=1e3,
        metavar="D",
    ),
]
Difference = Annotated[
    float | None,
    Param(
        "Smallest difference of two systems to detect.",
        default="0.05 on a scale from 0 to 1, else 5 % of the range; unless another goal is given",
        label="Difference",
        gt=0,
        le=1e3,
        metavar="D",
    ),
]
Width = Annotated[
    float | None,
    Param("Instead of a difference: widest confidence interval for one.", label="or: width", gt=0, le=1e3, metavar="W"),
]
Test = Annotated[
    PlannedTestName | None,
    Param(
        "Test to plan for, with a difference; t is for a pair named in advance.",
        default="holm",
        titles=PLANNED_TEST_TITLES,
    ),
]
Method = Annotated[
    Literal["blocked", "exact", "sakai"],
    Param("Method for a range: blocked if systems share topics; exact or sakai if they do not (sakai as published)."),
]
Estimate = Annotated[
    EstimateName | None,
    Param(
        "Variance estimate; Sakai and Shang (2016) use within, Sakai (2014) uses two-way.",
        default="what the goal needs",
        titles={"": "what the goal needs", **ESTIMATE_TITLES},
    ),
]


LowerIsBetter = Annotated[bool, Param("Lower scores are better, as for latency or cost.", label="lower is better")]


def target_inputs(target: Target) -> dict[str, Any]:
    """The goal as it was understood."""
    return {
        target.goal.kind: target.value if target.has_value else None,
        "systems": target.systems,
        "test": target.design.test if target.goal.kind == "difference" else None,
    }
