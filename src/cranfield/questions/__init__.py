"""One module per question: the public function, and the way from its arguments to its result."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cranfield.questions.parameters import Question

MODULES = {
    "score": "score",
    "check": "check",
    "pack": "pack",
    "variance": "variance",
    "size": "size",
    "power": "power",
    "compare": "compare",
    "judges": "judges",
    "leaderboard": "leaderboard",
    "shards": "shards",
    "pilot": "pilot",
    "budget": "budget",
    **{f"study_{step}": "study_file" for step in ("new", "add", "next", "status", "test", "edit", "log")},
    **{f"study_{step}": "study" for step in ("plans", "past", "trial", "simulate", "peek", "width")},
    "reliability": "reliability",
    "simulate": "simulate",
    "verify": "verify",
    "report": "report",
}
"""The module of each question, in the order of ``cranfield --help``."""


def find_question(name: str) -> Question:
    """The question that a function of this name answers."""
    module = import_module(f"cranfield.questions.{MODULES[name]}")
    found: Question = getattr(module, name).question
    return found
