"""Parameters that several questions have in common."""

from __future__ import annotations

from typing import Annotated

from cranfield.methods.names import MISSING_TITLES, MissingName
from cranfield.questions.parameters import Names, Param

Measures = Annotated[
    Names,
    Param(
        "Only this measure, such as AP or nDCG@10; may be repeated. Runs are scored by it.",
        default="all of a table, AP of runs",
        short="-m",
        metavar="NAME",
    ),
]
ReportMeasures = Annotated[
    Names,
    Param(
        "Only this measure, such as AP or nDCG@10; may be repeated. Runs are scored by it.",
        default="all of a table, AP and nDCG@10 of runs",
        short="-m",
        metavar="NAME",
    ),
]
Measure = Annotated[
    str | None, Param("The measure.", default="the first of the table, AP of runs", short="-m", metavar="NAME")
]
Missing = Annotated[
    MissingName | None,
    Param(
        "A missing score: zero counts it as 0, drop leaves out its topic.",
        default="a score table with missing scores is refused, and a run scores 0 on a topic for which it returned "
        "nothing",
        label="A missing score",
        titles={"": "0 in runs, refused in tables", **MISSING_TITLES},
    ),
]
Alpha = Annotated[float, Param("Significance level.", label="α", gt=0, lt=1)]
Power = Annotated[float, Param("Power (1 − β).", gt=0, lt=1)]
Seed = Annotated[int, Param("Random seed.", ge=0, le=2**63 - 1, metavar="N")]
Resamples = Annotated[
    int | None, Param("Permutations or resamples.", default="10,000", ge=100, le=10_000_000, metavar="N")
]
SmallPilot = Annotated[
    bool, Param("Accept a pilot of fewer than 5 topics: the answer is a range.", label="accept a small pilot")
]
