"""cranfield study: questions about scores before a study begins"""

from __future__ import annotations

from cranfield.errors import RequestError
from cranfield.methods.design.grid import parse_counts
from cranfield.methods.sequential.optional_stopping import near_misses
from cranfield.methods.sequential.paired_differences import all_pairs, choose_pairs, random_pairs
from cranfield.methods.sequential.past import past_experience
from cranfield.methods.sequential.plan_simulation import WAYS, simulate
from cranfield.methods.sequential.study_goal import parse_bounds
from cranfield.methods.sequential.trial import trial_coverage
from cranfield.rendering.document import Document
from cranfield.rendering.report_model import Picture
from cranfield.rendering.study_charts import study_chart
from cranfield.rendering.study_document import coverage_document, near_misses_document, past_document, simulate_document
from cranfield.scores import ScoreTable
from cranfield.scores.selection import only_table
from cranfield.web.asking import About, Asked, Question
from cranfield.web.calculator import few_looks
from cranfield.web.page import Answer
from cranfield.web.queries import (
    ALPHA,
    POWER,
    SEED,
    Count,
    Name,
    Number,
    Numbers,
    OneMeasureQuery,
    amount,
    field,
    numbers,
)

DIFFERENCE = "Smallest difference of interest."


def _table(asked: Asked) -> ScoreTable:
    return only_table(asked.tables(asked.query.missing))


# --- the sd in earlier scores


class PastQuery(OneMeasureQuery):
    """What ``cranfield study past`` takes."""

    front = ("measure", "difference", "alpha", "power", "percentile")
    difference: float = field("Difference", DIFFERENCE, ..., gt=0, le=1e3)
    alpha: float = ALPHA
    power: float = POWER
    percentile: float = field("Percentile", "Percentile of the sds of all pairs.", 95.0, ge=1, le=100)


def past(asked: Asked) -> Answer:
    given = asked.chosen("difference", "alpha", "power", "percentile")
    found = past_experience(_table(asked), measure=asked.query.measure, **given)
    document = past_document(found, asked.inputs(**given))
    picture = Picture("Distribution of the sds of the pairs", study_chart(document, "past"))
    return Answer(document, asked.command(), pictures=(picture,))


# --- the sampling error of the sd of a trial


class TrialQuery(OneMeasureQuery):
    """What ``cranfield study trial`` takes with scores."""

    front = ("measure", "trial_size", "confidence", "pairs", "repeats")
    trial_size: Numbers = numbers("Topics in the trial", "Size of the trial; 30 unless given.", "30")
    confidence: float = field("Confidence", "Confidence level of the upper limit of the sd.", 0.95, ge=0.5, le=0.9999)
    pairs: int = field("Pairs", "Random pairs of systems.", 200, ge=1, le=5000)
    repeats: int = field("Repeats", "Simulated trials per pair.", 1000, ge=10, le=20_000)
    seed: int = SEED


def trial(asked: Asked) -> Answer:
    query = asked.query
    drawn = random_pairs(_table(asked), query.pairs, seed=query.seed, measure=query.measure).differences
    topics = parse_counts(query.trial_size or "30", name="trial size", most=1)[0]
    found = trial_coverage(drawn, topics=topics, **asked.chosen("confidence", "repeats", "seed"))
    inputs = asked.inputs(
        difference=None, sd=None, trial_size=query.trial_size, alpha=0.05, power=0.8, confidence=query.confidence
    )
    document = coverage_document(found, inputs)
    picture = Picture("The sd of a trial against that of all topics", study_chart(document, "coverage"))
    return Answer(document, asked.command(), pictures=(picture,))


# --- every plan on these differences


class StudyQuery(OneMeasureQuery):
    """What ``cranfield study simulate`` takes with scores."""

    front = ("measure", "system", "baseline", "pairs", "difference", "alpha", "power")
    system: Name = field("System", "The system that is tested.", max_length=200)
    baseline: Name = field("Baseline", "The system it is compared with.", max_length=200)
    pairs: Count = field(
        "or: random pairs",
        "Random pairs: baseline from the second quarter, the other from the best three.",
        ge=1,
        le=500,
    )
    difference: Number = amount(
        "Difference", "Difference to detect; unless given, what the number of topics below detects."
    )
    detectable_with: int = field(
        "Detectable with", "The difference of each pair is what this number of topics detects.", 100, ge=2, le=10_000
    )
    sd: Number = amount("Sd", "First estimate of the sd; the true sd unless given.")
    alpha: float = ALPHA
    power: float = POWER
    plans: Name = field("Plans", "Only these plans, separated by commas.", max_length=200)
    first: int = field("First topics", "First number of topics of the iterative plan.", 30, ge=2, le=10_000)
    step: int = field("Step", "Topics that the iterative plan adds at a time.", 1, ge=1, le=10_000)
    looks: str = field(
        "Looks", "Group-sequential: number of looks, or shares of the topics: 0.3,0.6,1.", "4", max_length=100
    )
    bounds: str = field("Bounds", "Smallest and largest possible difference of two scores.", "-1,1", max_length=40)
    most: Count = field(
        "At most", "Largest number of topics of open-ended plans; 5 × fixed unless given.", ge=2, le=100_000
    )
    repeats: int = field("Repeats", "Simulated studies per pair.", 10_000, ge=1, le=100_000)
    seed: int = SEED


def plans(asked: Asked) -> Answer:
    query = asked.query
    pairs = choose_pairs(_table(asked), count=query.pairs, **asked.chosen("system", "baseline", "seed", "measure"))
    lowest, highest = parse_bounds(query.bounds)
    found = simulate(
        pairs,
        plans=[name.strip() for name in query.plans.split(",")] if query.plans else list(WAYS),
        looks=few_looks(query.looks),
        lowest=lowest,
        highest=highest,
        progress=asked.progress,
        **asked.chosen(
            "difference", "detectable_with", "sd", "alpha", "power", "first", "step", "most", "repeats", "seed"
        ),
    )
    inputs = asked.inputs(
        **asked.chosen(
            "system",
            "baseline",
            "pairs",
            "difference",
            "detectable_with",
            "sd",
            "alpha",
            "power",
            "first",
            "step",
            "looks",
            "bounds",
            "repeats",
        )
    )
    document = simulate_document(found, inputs)
    return Answer(document, asked.command(), pictures=_pictures(document))


FIGURES = {
    "plans": "Topics, false positives and power of every plan",
    "inclusion": "Which topics the plan includes",
    "sd": "The sd when the iterative plan stops",
    "errors": "False positives, pair by pair",
}


def _pictures(document: Document) -> tuple[Picture, ...]:
    """The figures that the plans and the number of pairs allow; one point is no picture."""
    found, one = [], len(document.extra["pairs"]) == 1
    for name, title in FIGURES.items():
        if one and name in ("sd", "errors"):
            continue
        try:
            found.append(Picture(title, study_chart(document, name)))
        except RequestError:
            continue
    return tuple(found)


def _some_pairs(about: About) -> dict[str, str]:
    """Without names, only a few random pairs can be meant where there are more than two systems."""
    return {} if len(about["systems"]) <= 2 else {"pairs": "3", "repeats": "2000"}


# --- what testing after every topic does


class PeekQuery(OneMeasureQuery):
    """What ``cranfield study peek`` takes."""

    front = ("measure", "first", "low", "high", "alpha")
    first: int = field("First look", "The first look.", 50, ge=2, le=100_000)
    low: float = field("p above", "Pairs with p above this on all topics …", 0.05, ge=0, lt=1)
    high: float = field("p below", "… and below this.", 0.10, gt=0, le=1)
    alpha: float = ALPHA
    repeats: int = field("Repeats", "Random orders of the topics.", 200, ge=1, le=5000)
    seed: int = SEED


def peek(asked: Asked) -> Answer:
    given = asked.chosen("first", "low", "high", "alpha", "repeats")
    found = near_misses(all_pairs(_table(asked), asked.query.measure), seed=asked.query.seed, **given)
    document = near_misses_document(found, asked.inputs(**given))
    picture = Picture("p after every topic, for some of these pairs", study_chart(document, "peek"))
    return Answer(document, asked.command(), pictures=(picture,))


QUESTIONS = (
    Question(
        "study-past",
        "Past experience",
        "The sd of paired differences in earlier scores",
        PastQuery,
        past,
        alone=True,
        example=lambda about: {"difference": "0.05"},
    ),
    Question("study-trial", "A trial's sd", "Sampling error of the sd of a trial", TrialQuery, trial, alone=True),
    Question(
        "study-simulate",
        "Plans compared",
        "Every plan of a study on your own differences",
        StudyQuery,
        plans,
        alone=True,
        example=_some_pairs,
    ),
    Question(
        "study-peek",
        "Peeking",
        "Pairs just short of significance under testing after every topic",
        PeekQuery,
        peek,
        alone=True,
        example=lambda about: {"first": str(max(2, min(50, about["topics"] // 2)))},
    ),
)
