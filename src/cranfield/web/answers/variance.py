"""cranfield variance"""

from __future__ import annotations

from cranfield.errors import RequestError
from cranfield.methods.design.pair_sizes import pair_sizes
from cranfield.methods.variance import estimate_variance
from cranfield.rendering.report_charts import variance_figure
from cranfield.rendering.report_model import Picture
from cranfield.rendering.variance_document import pairs_document, variance_document
from cranfield.scores.selection import named_measures
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import MEASURES, MISSED, Flag, Missing, Names, Query, field


class VarianceQuery(Query):
    """What ``cranfield variance`` takes."""

    front = ("measure", "percentile", "pairs")
    measure: Names = MEASURES
    missing: Missing = MISSED
    percentile: float = field("Percentile of pairs", "Of the pairs' variances.", 95.0, ge=1, le=100)
    confidence: float = field("Confidence", "Of the intervals.", 0.95, ge=0.5, le=0.9999)
    pairs: Flag = field("what every pair needs", "What every pair of systems would need (Dinçer's tables).", False)
    alpha: float = field("α", "Significance level, for the pairs.", 0.05, gt=0, lt=1)


def answer(asked: Asked) -> Answer:
    tables = asked.tables(asked.query.missing)
    inputs = asked.inputs("qrels", measures=asked.query.measure, missing=asked.query.missing)
    if asked.query.pairs:
        if len(wanted := named_measures(tables)) > 1:
            raise RequestError("pairs are those of one measure of one table", fix="Choose a measure.")
        table, measure = next(iter(wanted.values()))
        sizes = pair_sizes(table, measure=measure, alpha=asked.query.alpha)
        return Answer(pairs_document(sizes, inputs), asked.command())
    found = estimate_variance(tables, **asked.chosen("percentile", "confidence"))
    warnings = [problem for table in tables.values() for problem in table.warnings]
    document = variance_document(found, inputs, warnings)
    picture = Picture("Every estimate with its interval", variance_figure(found.to_dict()))
    return Answer(document, asked.command(), pictures=(picture,))


QUESTION = Question("variance", "Variances", "Estimates of the variance", VarianceQuery, answer)
