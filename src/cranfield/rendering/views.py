"""How every result is shown: its document, its charts, and the files it offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from cranfield.errors import RequestError
from cranfield.rendering.document import Document
from cranfield.results import Result

Chart = Callable[[Any], Any]

MODULES = {
    "ScoreResult": "score_document",
    "CheckResult": "check_document",
    "PackResult": "check_document",
    "VarianceResult": "variance_document",
    "SizeResult": "size_document",
    "PowerResult": "power_document",
    "ComparisonResult": "comparison_document",
    "ShardsResult": "shard_document",
    "PilotResult": "pilot_document",
    "BudgetResult": "pilot_document",
    "ReliabilityResult": "reliability_document",
    "SimulationResult": "simulation_document",
    "StudyNewResult": "study_document",
    "StudyAddResult": "study_document",
    "StudyNextResult": "study_document",
    "StudyStatusResult": "study_document",
    "StudyTestResult": "study_document",
    "StudyEditResult": "study_document",
    "StudyLogResult": "study_document",
    "StudyPastResult": "study_document",
    "StudyPeekResult": "study_document",
    "StudyPlansResult": "study_document",
    "StudySimulationResult": "study_document",
    "StudyTrialResult": "study_document",
    "VerificationResult": "verification_document",
    "ReportResult": "report_sections",
}
"""The module that shows each kind of result, in a constant ``VIEWS``."""


@dataclass(frozen=True)
class View:
    """How one kind of result is shown.

    ``charts`` go by kind, the default first. A page shows the ``sketch`` (plain SVG, drawn in no time, and its caption)
    where there is one, and else the ``pictures``, charts with their titles. ``files`` are texts offered besides the
    output formats, by kind.
    """

    document: Callable[[Any], Document]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    sketch: Callable[[Any], tuple[str, str]] | None = None
    pictures: Callable[[Any], list[tuple[str, Any]]] | None = None
    files: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


def view(kind: type[Result]) -> View:
    """How results of this class are shown."""
    found: View = import_module(f"cranfield.rendering.{MODULES[kind.__name__]}").VIEWS[kind.__name__]
    return found


def chart(result: Result, kind: str | None = None) -> Any:
    """The chart of a result, of the ``kind`` wanted."""
    charts = view(type(result)).charts
    if not charts:
        raise RequestError("this result has no chart")
    name = kind or next(iter(charts))
    if name not in charts:
        raise RequestError(f"there is no chart «{name}»", fix=f"Choose one of: {', '.join(charts)}.")
    return charts[name](result)
