"""cranfield variance"""

from __future__ import annotations

from cranfield.report.figures import variance_figure
from cranfield.report.variances import variance_document
from cranfield.report.whole import Picture
from cranfield.variance import estimate_variance
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import ScoresQuery, field


class VarianceQuery(ScoresQuery):
    """What ``cranfield variance`` takes."""

    front = ("measure", "percentile")
    percentile: float = field("Percentile of pairs", "Of the pairs' variances.", 95.0, ge=1, le=100)
    confidence: float = field("Confidence", "Of the intervals.", 0.95, ge=0.5, le=0.9999)
    resamples: int = field("Resamples", "Bootstrap samples of the topics.", 1000, ge=100, le=100_000)


def answer(asked: Asked) -> Answer:
    tables = asked.tables(asked.query.missing)
    found = estimate_variance(
        tables if len(tables) > 1 else next(iter(tables.values())),
        **asked.chosen("percentile", "confidence", "resamples", "seed"),
    )
    warnings = [problem for table in tables.values() for problem in table.warnings]
    document = variance_document(
        found, asked.inputs("qrels", measures=asked.query.measure, missing=asked.query.missing), warnings
    )
    picture = Picture("Every estimate with its interval", variance_figure(found.to_dict()))
    return Answer(document, asked.command(), pictures=(picture,))


QUESTION = Question("variance", "Variances", "Estimates of the variance", VarianceQuery, answer)
