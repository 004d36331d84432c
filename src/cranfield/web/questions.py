"""Every question about an upload, in the order of the pages; routes, forms, links and work are made from this list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.web.answers import (
    budget,
    pilot,
    power,
    reliability,
    report,
    shards,
    simulate,
    size,
    study,
    variance,
    verify,
)
from cranfield.web.asking import Question
from cranfield.web.generation import make_page

CHECK = make_page("check", front=(), files=("order", "name"), of=("files", "collection", "scores", "shards"))
SCORE = make_page(
    "score",
    front=("measure",),
    files=("qrels", "intents", "order", "name"),
    of=("collection",),
    scored_by="AP P@10 nDCG@10",
)
COMPARE = make_page(
    "compare", front=("measure", "test", "correct", "alpha", "equivalence", "non_inferiority", "baseline", "audit")
)
GROUPS: dict[str, tuple[Question, ...]] = {
    "Data": (CHECK, SCORE, variance.QUESTION),
    "Topics": (size.QUESTION, power.QUESTION, pilot.QUESTION, budget.QUESTION),
    "Systems": (COMPARE, shards.QUESTION, reliability.QUESTION),
    "Simulation": (simulate.QUESTION, verify.QUESTION),
    "Studies": study.QUESTIONS,
    "Everything": (report.QUESTION,),
}
QUESTIONS: dict[str, Question] = {each.name: each for group in GROUPS.values() for each in group}


def askable(about: Mapping[str, Any]) -> list[Question]:
    """The questions that make sense for an upload."""
    several = about["kind"] != "collection" and len(about["names"]) > 1
    there = [each for each in QUESTIONS.values() if about["kind"] in each.of and not (several and each.alone)]
    return [each for each in there if about["files"] or each is not CHECK]


def grouped(about: Mapping[str, Any]) -> dict[str, list[Question]]:
    """The same by what they are about."""
    there = askable(about)
    found = {title: [each for each in group if each in there] for title, group in GROUPS.items()}
    return {title: group for title, group in found.items() if group}
