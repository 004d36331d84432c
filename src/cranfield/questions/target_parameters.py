"""Parameters of the one goal that a pilot or a budget has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.methods.names import ESTIMATE_TITLES, PLANNED_TEST_TITLES, EstimateName, PlannedTestName
from cranfield.questions.parameters import Param

if TYPE_CHECKING:
    from cranfield.methods.design.target import Target

Systems = Annotated[
    int | None,
    Param(
        "How many systems will be compared.",
        default="10 for a range, else the number of systems in the data",
        ge=2,
        le=1_000_000,
        metavar="M",
    ),
]
MinRange = Annotated[
    float | None,
    Param(
        "Smallest range of the systems' means to detect.",
        default="0.15, unless another goal is given",
        label="Range",
        gt=0,
        le=1e3,
        metavar="D",
    ),
]
Difference = Annotated[
    float | None,
    Param(
        "Instead of a range: smallest difference of two systems to detect.",
        label="or: difference",
        gt=0,
        le=1e3,
        metavar="D",
    ),
]
Width = Annotated[
    float | None,
    Param(
        "Instead of a range: widest confidence interval for a difference.", label="or: width", gt=0, le=1e3, metavar="W"
    ),
]
Test = Annotated[
    PlannedTestName | None,
    Param(
        "Test to plan for, with a difference; t is for a pair named in advance.",
        default="max-t",
        titles={"": "the default", **PLANNED_TEST_TITLES},
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


def target_inputs(target: Target) -> dict[str, Any]:
    """The goal as it was understood."""
    return {
        target.goal: target.value,
        "systems": target.systems,
        "test": target.test if target.goal == "difference" else None,
    }
