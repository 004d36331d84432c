"""cranfield size, with the variance of the data"""

from __future__ import annotations

from typing import Any, ClassVar

from cranfield.design.planning import PilotSize, Request, plan_from_pilot
from cranfield.report.sizing import pilot_size_document
from cranfield.web.asking import Asked, Question
from cranfield.web.calculator import design_request, given_numbers, size_sketch
from cranfield.web.page import Answer
from cranfield.web.queries import MEASURES, MISSED, Choices, DesignQuery, Missing, Names

NUMBERS = ("systems", "min_range", "difference", "effect_size", "width", "sensitivity")


class PilotSizeQuery(DesignQuery):
    """What ``cranfield size`` takes with scores."""

    choices: ClassVar[Choices] = {
        "goal": {"difference": "a difference", "min_range": "a range", "width": "a narrow interval",
                 "sensitivity": "a mean within ±", "effect_size": "an effect size", "": "all that are given"},
    }  # fmt: skip
    front = ("measure", "goal", "difference", "systems", "min_range", "width", "sensitivity", "alpha", "power")
    measure: Names = MEASURES
    missing: Missing = MISSED


def answer(asked: Asked) -> Answer:
    query = asked.query
    given = given_numbers(query)
    request = design_request(query, given)
    sizes = plan_from_pilot(request, asked.variances())
    inputs = asked.inputs(**{"alpha": "0.05", "power": "0.8"} | given, sides=request.sides, paired=request.paired,
                          method=query.method)  # fmt: skip
    sketch, caption = _sketch(sizes[0], request)
    command = asked.command(**{name: None for name in NUMBERS if name not in given})
    return Answer(pilot_size_document(sizes, inputs), command, sketch, caption)


def _sketch(first: PilotSize, request: Request) -> tuple[str, str]:
    """The curve of the first method, with the variance that was estimated."""
    values: dict[str, Any] = {
        name: sorted(set(numbers.ravel().tolist())) for name, numbers in first.size.inputs.items()
    }
    drawn = Request(**values, method=first.size.method.name, sides=request.sides, paired=request.paired)
    sketch, caption = size_sketch(drawn, None, first.size)
    return sketch, f"{first.measure}. {caption} Variance: {first.estimate.method}."


QUESTION = Question("size", "How many topics", "How many topics, with the variance of the data", PilotSizeQuery,
                    answer, example=lambda about: {"goal": "difference", "difference": "0.05"})  # fmt: skip
