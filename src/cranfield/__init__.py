"""How many topics are enough, and which systems really differ."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes longer than all else here, and no command can be interrupted quietly yet
if TYPE_CHECKING:
    from typing import Any

    from cranfield.collection import Collection, Judgments, judgments, open_collection, read_collection
    from cranfield.errors import CranfieldError, CranfieldWarning, InputError, PackedFileError, RequestError, WriteError
    from cranfield.measures import CATALOG, Measure, parse_measure
    from cranfield.methods.simulation import write_example
    from cranfield.questions.budget import BudgetResult, budget
    from cranfield.questions.check import CheckResult, check
    from cranfield.questions.compare import ComparisonResult, compare
    from cranfield.questions.groups import (
        Cost,
        Family,
        Goal,
        Judge,
        Plan,
        Population,
        Replicates,
        Resampling,
        Source,
        Spread,
        Trials,
    )
    from cranfield.questions.judges import JudgesResult, judges
    from cranfield.questions.leaderboard import LeaderboardResult, leaderboard
    from cranfield.questions.pack import PackResult, pack
    from cranfield.questions.pilot import PilotResult, pilot
    from cranfield.questions.power import PowerResult, power
    from cranfield.questions.reliability import ReliabilityResult, reliability
    from cranfield.questions.report import ReportResult, report
    from cranfield.questions.score import ScoreResult, score
    from cranfield.questions.shards import ShardsResult, shards
    from cranfield.questions.simulate import SimulationResult, simulate
    from cranfield.questions.size import SizeResult, size
    from cranfield.questions.study import (
        StudyPastResult,
        StudyPeekResult,
        StudyPlansResult,
        StudySimulationResult,
        StudyTrialResult,
        StudyWidthResult,
        study_past,
        study_peek,
        study_plans,
        study_simulate,
        study_trial,
        study_width,
    )
    from cranfield.questions.study_file import (
        StudyAddResult,
        StudyEditResult,
        StudyLogResult,
        StudyNewResult,
        StudyNextResult,
        StudyStatusResult,
        StudyTestResult,
        study_add,
        study_edit,
        study_log,
        study_new,
        study_next,
        study_status,
        study_test,
    )
    from cranfield.questions.variance import VarianceResult, variance
    from cranfield.questions.verify import VerificationResult, verify
    from cranfield.scores import ScoreTable, read_score_files, read_scores, write_scores

__version__ = "0.2.0"

_HOME = {
    "Collection": "collection",
    "Judgments": "collection",
    "judgments": "collection",
    "open_collection": "collection",
    "read_collection": "collection",
    "CranfieldError": "errors",
    "CranfieldWarning": "errors",
    "InputError": "errors",
    "PackedFileError": "errors",
    "RequestError": "errors",
    "WriteError": "errors",
    "CATALOG": "measures",
    "Measure": "measures",
    "parse_measure": "measures",
    "ReportResult": "questions.report",
    "report": "questions.report",
    "ScoreTable": "scores",
    "read_score_files": "scores",
    "read_scores": "scores",
    "write_scores": "scores",
    "write_example": "methods.simulation",
    "Cost": "questions.groups",
    "Family": "questions.groups",
    "Goal": "questions.groups",
    "Judge": "questions.groups",
    "Plan": "questions.groups",
    "Population": "questions.groups",
    "Replicates": "questions.groups",
    "Resampling": "questions.groups",
    "Source": "questions.groups",
    "Spread": "questions.groups",
    "Trials": "questions.groups",
    "BudgetResult": "questions.budget",
    "budget": "questions.budget",
    "CheckResult": "questions.check",
    "check": "questions.check",
    "ComparisonResult": "questions.compare",
    "compare": "questions.compare",
    "JudgesResult": "questions.judges",
    "judges": "questions.judges",
    "LeaderboardResult": "questions.leaderboard",
    "leaderboard": "questions.leaderboard",
    "PilotResult": "questions.pilot",
    "pilot": "questions.pilot",
    "PowerResult": "questions.power",
    "power": "questions.power",
    "SizeResult": "questions.size",
    "size": "questions.size",
    "VarianceResult": "questions.variance",
    "variance": "questions.variance",
    "ScoreResult": "questions.score",
    "PackResult": "questions.pack",
    "pack": "questions.pack",
    "StudyNewResult": "questions.study_file",
    "StudyAddResult": "questions.study_file",
    "StudyNextResult": "questions.study_file",
    "StudyStatusResult": "questions.study_file",
    "StudyTestResult": "questions.study_file",
    "StudyEditResult": "questions.study_file",
    "StudyLogResult": "questions.study_file",
    "study_new": "questions.study_file",
    "study_add": "questions.study_file",
    "study_next": "questions.study_file",
    "study_status": "questions.study_file",
    "study_test": "questions.study_file",
    "study_edit": "questions.study_file",
    "study_log": "questions.study_file",
    "score": "questions.score",
    "ShardsResult": "questions.shards",
    "shards": "questions.shards",
    "ReliabilityResult": "questions.reliability",
    "reliability": "questions.reliability",
    "SimulationResult": "questions.simulate",
    "simulate": "questions.simulate",
    "StudyPastResult": "questions.study",
    "StudyPeekResult": "questions.study",
    "StudyPlansResult": "questions.study",
    "StudySimulationResult": "questions.study",
    "StudyTrialResult": "questions.study",
    "StudyWidthResult": "questions.study",
    "study_past": "questions.study",
    "study_peek": "questions.study",
    "study_plans": "questions.study",
    "study_simulate": "questions.study",
    "study_trial": "questions.study",
    "study_width": "questions.study",
    "VerificationResult": "questions.verify",
    "verify": "questions.verify",
}

__all__ = [
    "CATALOG",
    "BudgetResult",
    "CheckResult",
    "Collection",
    "ComparisonResult",
    "Cost",
    "CranfieldError",
    "CranfieldWarning",
    "Family",
    "Goal",
    "InputError",
    "Judge",
    "JudgesResult",
    "Judgments",
    "LeaderboardResult",
    "Measure",
    "PackResult",
    "PackedFileError",
    "PilotResult",
    "Plan",
    "Population",
    "PowerResult",
    "ReliabilityResult",
    "Replicates",
    "ReportResult",
    "RequestError",
    "Resampling",
    "ScoreResult",
    "ScoreTable",
    "ShardsResult",
    "SimulationResult",
    "SizeResult",
    "Source",
    "Spread",
    "StudyAddResult",
    "StudyEditResult",
    "StudyLogResult",
    "StudyNewResult",
    "StudyNextResult",
    "StudyPastResult",
    "StudyPeekResult",
    "StudyPlansResult",
    "StudySimulationResult",
    "StudyStatusResult",
    "StudyTestResult",
    "StudyTrialResult",
    "StudyWidthResult",
    "Trials",
    "VarianceResult",
    "VerificationResult",
    "WriteError",
    "budget",
    "check",
    "compare",
    "judges",
    "judgments",
    "leaderboard",
    "open_collection",
    "pack",
    "parse_measure",
    "pilot",
    "power",
    "read_collection",
    "read_score_files",
    "read_scores",
    "reliability",
    "report",
    "score",
    "shards",
    "simulate",
    "size",
    "study_add",
    "study_edit",
    "study_log",
    "study_new",
    "study_next",
    "study_past",
    "study_peek",
    "study_plans",
    "study_simulate",
    "study_status",
    "study_test",
    "study_trial",
    "study_width",
    "variance",
    "verify",
    "write_example",
    "write_scores",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
