"""cranfield reliability"""

from __future__ import annotations

from typing import Annotated

from cranfield.methods.design.grid import parse_counts, parse_grid
from cranfield.methods.names import AllPairsTestName, CorrectionName
from cranfield.methods.reliability import assess_reliability
from cranfield.rendering.reliability_charts import reliability_chart
from cranfield.rendering.reliability_document import reliability_document
from cranfield.rendering.report_model import Picture
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import ALPHA, Flag, Given, Numbers, ScoresQuery, field, numbers

CHARTS = {
    "coefficients": "Generalisability against the number of topics",
    "swaps": "Swap rate against the difference of two systems",
    "rankings": "Agreement of rankings against topics",
    "p-values": "Pairs by their p-value",
}


class ReliabilityQuery(ScoresQuery):
    """What ``cranfield reliability`` takes."""

    front = ("measure", "topics", "target", "drop", "test", "alpha")
    topics: Numbers = numbers("Look ahead to", "Numbers of topics to predict reliability for.", "100,200")
    target: str = field("Target", "Eρ² and Φ to be reached: a number or a list.", "0.95", max_length=100)
    sets: Numbers = numbers("Sets", "Topics in the sets that are drawn.", "10,20")
    drop: float = field("Leave out worst", "Leave out this share of the worst systems first.", 0.0, ge=0, lt=1)
    test: AllPairsTestName = field("Test", "For halves and discriminative power, as in compare.", "tukey")
    correct: Annotated[CorrectionName | None, Given] = field(
        "Correction of pairs", "For pairwise tests; holm unless given."
    )
    alpha: float = ALPHA
    confidence: float = field("Confidence", "Of the intervals.", 0.95, ge=0.5, le=0.9999)
    trials: int = field("Trials", "Draws of topic sets, and halvings.", 1000, ge=10, le=20_000)
    resamples: int = field("Resamples", "Permutations or resamples of a test.", 10_000, ge=100, le=100_000)
    replacement: Flag = field(
        "draw sets with replacement", "Swaps: draw with replacement, as if these topics were all there are.", False
    )
    unpaired: Flag = field(
        "topics of their own", "Swaps: score the two systems of a pair on topics of their own.", False
    )


def answer(asked: Asked) -> Answer:
    query = asked.query
    tables = asked.tables(query.missing)
    found = assess_reliability(
        tables,
        topics=parse_counts(query.topics, name="topics", most=200) if query.topics else [],
        targets=parse_grid(query.target, name="target", most=20),
        sizes=parse_counts(query.sets, name="sets", most=200) if query.sets else None,
        shared=not query.unpaired,
        progress=asked.progress,
        **asked.chosen("test", "correct", "alpha", "confidence", "drop", "trials", "resamples", "replacement", "seed"),
    )
    inputs = asked.inputs(
        "qrels",
        measures=query.measure,
        **asked.chosen(
            "topics",
            "target",
            "sets",
            "drop",
            "test",
            "correct",
            "alpha",
            "confidence",
            "trials",
            "resamples",
            "replacement",
            "unpaired",
            "missing",
        ),
    )
    pictures = tuple(Picture(title, reliability_chart(found, name)) for name, title in CHARTS.items())
    return Answer(reliability_document(found, inputs), asked.command(), pictures=pictures)


QUESTION = Question(
    "reliability",
    "How far to trust it",
    "Generalisability, swaps, halves, discrimination, rankings",
    ReliabilityQuery,
    answer,
)
