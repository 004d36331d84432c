"""cranfield size, with the variance of the data"""

from __future__ import annotations

from typing import Any, ClassVar

from cranfield.methods.design.planning import PilotSize, Request, plan_from_pilot
from cranfield.rendering.size_document import pilot_size_document, size_inputs
from cranfield.web.asking import Asked, Question
from cranfield.web.calculator import NUMBERS, design_request, given_numbers, size_sketch
from cranfield.web.page import Answer
from cranfield.web.queries import (
    MEASURES,
    MISSED,
    SMALL_PILOT,
    Choices,
    DesignQuery,
    Flag,
    Missing,
    Names,
    Number,
    field,
)

DROPPED = (*NUMBERS, "test")


class PilotSizeQuery(DesignQuery):
    """What ``cranfield size`` takes with scores."""

    choices: ClassVar[Choices] = {
        "goal": {
            "difference": "a difference",
            "min_range": "a range",
            "equivalence": "equivalence",
            "non_inferiority": "non-inferiority",
            "width": "a narrow interval",
            "sensitivity": "a mean within ±",
            "effect_size": "an effect size",
            "": "all that are given",
        },
        "test": {"": "all pairs, and a pair named in advance"},
    }
    front = ("measure", "goal", "difference", "systems", "test", "min_range", "width", "sensitivity", "alpha", "power")
    assurance: Number = field(
        "Expected power", "Expected power over the uncertainty of the pilot, for the power.", gt=0, lt=1
    )
    small_pilot: Flag = SMALL_PILOT
    measure: Names = MEASURES
    missing: Missing = MISSED


def answer(asked: Asked) -> Answer:
    query = asked.query
    given = given_numbers(query)
    request = design_request(query, given)
    sizes = plan_from_pilot(request, asked.variances())
    typed = given | ({} if query.assurance is None else {"assurance": f"{query.assurance:g}"})
    inputs = asked.inputs(**size_inputs(request, typed))
    sketch, caption = _sketch(sizes[0], request)
    hidden = {name: None for name in DROPPED if name not in given} | {"test": request.test}
    return Answer(pilot_size_document(sizes, inputs), asked.command(**hidden), sketch, caption)


def _sketch(first: PilotSize, request: Request) -> tuple[str, str]:
    """The curve of the first method, with the variance that was estimated."""
    values: dict[str, Any] = {
        name: sorted(set(numbers.ravel().tolist())) for name, numbers in first.size.inputs.items()
    }
    drawn = Request(**values, method=first.size.method.name, sides=request.sides, paired=request.paired)
    sketch, caption = size_sketch(drawn, None, first.size)
    return sketch, f"{first.measure}. {caption} Variance: {first.estimate.method}."


QUESTION = Question(
    "size",
    "How many topics",
    "How many topics, with the variance of the data",
    PilotSizeQuery,
    answer,
    example=lambda about: {"goal": "difference", "difference": "0.05"},
)
