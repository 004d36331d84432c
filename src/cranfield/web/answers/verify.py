"""cranfield verify"""

from __future__ import annotations

from typing import ClassVar

from cranfield.errors import CranfieldError
from cranfield.methods.names import TEST_LABELS, DependenceName, MarginsName
from cranfield.methods.verification.asking import VerificationRequest as Design
from cranfield.methods.verification.asking import ask
from cranfield.methods.verification.design_sizes import pilots_of
from cranfield.methods.verification.monte_carlo import Verification
from cranfield.rendering.report_model import Picture
from cranfield.rendering.simulation_charts import power_chart
from cranfield.rendering.verification_document import verify_document
from cranfield.scores.selection import only_table
from cranfield.web.asking import Asked, Question
from cranfield.web.calculator import parse_numbers
from cranfield.web.page import Answer
from cranfield.web.queries import Choices, Count, Flag, Name, Numbers, ScoresQuery, field, numbers

GIVEN = ("systems", "min_range", "difference", "variance", "sd", "alpha", "power")
USUAL = {"alpha": "0.05", "power": "0.8"}


class VerifyQuery(ScoresQuery):
    """What ``cranfield verify`` takes with scores."""

    choices: ClassVar[Choices] = {
        "test": {"": "the usual one", **TEST_LABELS, "anova": "ANOVA", "blocked": "ANOVA, topics as blocks"}
    }
    front = ("measure", "difference", "min_range", "systems", "topics", "test", "alpha", "power")
    systems: Numbers = numbers("Systems", "How many systems will be compared; the data's unless given.", "10")
    min_range: Numbers = numbers("Range", "Range of the systems' means to detect.", "0.1")
    difference: Numbers = numbers("Difference", "Difference of two of the systems to detect.", "0.05")
    variance: Numbers = numbers("Variance", "σ² of one system's scores; the data's unless given.", "0.053")
    sd: Numbers = numbers("Sd", "Standard deviation of paired differences; the data's unless given.", "0.15")
    topics: Count = field("Topics", "What the formula asks for unless given.", ge=2, le=10_000)
    alpha: Numbers = numbers("α", "Significance level; 0.05 unless given.", "0.05")
    power: Numbers = numbers("Power", "Power 1 − β; 0.8 unless given.", "0.8")
    one_sided: Flag = field("one-sided test", "Test one direction only.", False)
    method: Name = field("Method", "The formula: exact, sakai, blocked; t, normal.", max_length=20)
    test: Name = field("Test", "The test that will be run; max-t of several systems unless given.", max_length=20)
    model: Name = field("Models", "With shards: MD2 to MD6, MD6r; a list for several.", max_length=60)
    shards: Count = field("Shards", "Split runs into this many shards first.", ge=2, le=100)
    collections: int = field("Collections", "The largest number of collections to draw.", 20_000, ge=250, le=100_000)
    tolerance: float = field("Tolerance", "A power this much lower is still enough.", 0.02, gt=0, lt=1)
    confidence: float = field("Confidence", "Of the intervals and of stopping.", 0.95, ge=0.5, le=0.9999)
    search: bool = field("Search", "Find the number of topics that is enough.", True)
    margins: MarginsName = field("Margins", "How a system's scores are spread.", "auto")
    dependence: DependenceName = field("Dependence", "How systems go together.", "rows")
    resamples: Count = field("Resamples", "Permutations or resamples of a test that draws some.", ge=100, le=10_000)


def answer(asked: Asked) -> Answer:
    query = asked.query
    given = USUAL | {name: text for name, text in asked.chosen(*GIVEN).items() if text is not None}
    design = Design(
        grids=parse_numbers(given),
        topics=query.topics,
        sides=1 if query.one_sided else 2,
        method=query.method,
        test=query.test,
        models=tuple(query.model.split(",")) if query.model else (),
    )
    if query.shards is not None and asked.about["kind"] == "collection":
        asked.tables(None)  # for what the answer should be read with
        pilots = pilots_of(asked.collection, query.measure, shards=query.shards, seed=query.seed)
    else:
        pilots = pilots_of(only_table(asked.tables(query.missing)), shards=query.shards)
    found = ask(
        design,
        pilots,
        progress=asked.progress,
        **asked.chosen(
            "collections", "tolerance", "confidence", "search", "margins", "dependence", "resamples", "seed"
        ),
    )
    inputs = asked.inputs(
        design=None,
        **given,
        sides=design.sides,
        **asked.chosen(
            "topics",
            "method",
            "test",
            "model",
            "shards",
            "collections",
            "tolerance",
            "confidence",
            "resamples",
            "margins",
            "dependence",
        ),
    )
    return Answer(verify_document(found, inputs), asked.command(), pictures=_pictures(found))


def _pictures(found: list[Verification]) -> tuple[Picture, ...]:
    try:
        return (Picture("Power against the number of topics", power_chart(found)),)
    except CranfieldError:  # nothing was searched
        return ()


QUESTION = Question(
    "verify",
    "Check a design",
    "A design put to the test on collections drawn from the data",
    VerifyQuery,
    answer,
    alone=True,
    of=("collection", "scores", "shards"),
    example=lambda about: {"difference": "0.05", "collections": "1000", "search": "false"},  # seconds, not a minute
)
