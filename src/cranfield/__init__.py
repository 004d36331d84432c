"""How many topics are enough, and which systems really differ."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.budget import affordable_designs, depth_study, equivalent_designs, pair_study, reusability
    from cranfield.collection import Collection, open_collection, read_collection
    from cranfield.design.targets import Target
    from cranfield.errors import CranfieldError, InputError, PackedFileError, RequestError, WriteError
    from cranfield.measures import CATALOG, Measure, parse_measure
    from cranfield.pilot import pilot_study
    from cranfield.reliability import (
        Reliability,
        assess_reliability,
        discriminative_power,
        generalise,
        rank_stability,
        split_halves,
        swap_rates,
    )
    from cranfield.report.sections import Material, make_report
    from cranfield.report.writing import write_report
    from cranfield.scores import ScoreTable, read_score_files, read_scores, score, write_scores
    from cranfield.sequential import Goal, Study, create_study, open_study
    from cranfield.simulate import Simulator, fit_simulator, write_example
    from cranfield.verify import Design, Verification

__version__ = "0.1.0"

_HOME = {
    "Collection": "collection",
    "open_collection": "collection",
    "read_collection": "collection",
    "CranfieldError": "errors",
    "InputError": "errors",
    "PackedFileError": "errors",
    "RequestError": "errors",
    "WriteError": "errors",
    "CATALOG": "measures",
    "Measure": "measures",
    "parse_measure": "measures",
    "Reliability": "reliability",
    "assess_reliability": "reliability",
    "discriminative_power": "reliability",
    "generalise": "reliability",
    "rank_stability": "reliability",
    "split_halves": "reliability",
    "swap_rates": "reliability",
    "Material": "report.sections",
    "make_report": "report.sections",
    "write_report": "report.writing",
    "ScoreTable": "scores",
    "read_score_files": "scores",
    "read_scores": "scores",
    "score": "scores",
    "write_scores": "scores",
    "Goal": "sequential",
    "Study": "sequential",
    "create_study": "sequential",
    "open_study": "sequential",
    "write_example": "simulate",
    "Target": "design.targets",
    "pilot_study": "pilot",
    "affordable_designs": "budget",
    "depth_study": "budget",
    "equivalent_designs": "budget",
    "pair_study": "budget",
    "reusability": "budget",
    "Simulator": "simulate",
    "fit_simulator": "simulate",
    "Design": "verify",
    "Verification": "verify",
}

__all__ = [
    "CATALOG",
    "Collection",
    "CranfieldError",
    "Design",
    "Goal",
    "InputError",
    "Material",
    "Measure",
    "PackedFileError",
    "Reliability",
    "RequestError",
    "ScoreTable",
    "Simulator",
    "Study",
    "Target",
    "Verification",
    "WriteError",
    "affordable_designs",
    "assess_reliability",
    "create_study",
    "depth_study",
    "discriminative_power",
    "equivalent_designs",
    "fit_simulator",
    "generalise",
    "make_report",
    "open_collection",
    "open_study",
    "pair_study",
    "parse_measure",
    "pilot_study",
    "rank_stability",
    "read_collection",
    "read_score_files",
    "read_scores",
    "reusability",
    "score",
    "split_halves",
    "swap_rates",
    "write_example",
    "write_report",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
