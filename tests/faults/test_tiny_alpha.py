"""A tiny significance level has an answer or is refused, by every question that has one, and soon."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import by_flags
import cranfield as cf
from cranfield.errors import RequestError
from cranfield.questions import MODULES

TINY = (1e-17, 1e-100, 1e-300, 5e-324)
PAIR: dict[str, Any] = {"difference": 0.05, "sd": 0.15}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    cf.write_example(str(folder), seed=1)
    table = cf.score(str(folder / "runs"), qrels=str(folder / "qrels.txt"), measure="AP").table
    cf.write_scores(table, folder / "a.csv")
    by_flags.study_new(str(folder / "there.study"), **PAIR, plan="fixed", system="a", baseline="b", measure="AP")
    return folder


def _runs(folder: Path) -> tuple[list[str], dict[str, Any]]:
    return [str(folder / "runs")], {"qrels": str(folder / "qrels.txt")}


def _scores(folder: Path) -> tuple[list[str], dict[str, Any]]:
    return [str(folder / "a.csv")], {}


QUESTIONS: dict[str, Callable[[Path], tuple[list[str], dict[str, Any]]]] = {
    "size": lambda _: ([], PAIR),
    "power": lambda _: ([], {"topics": 50, "sd": 0.15}),
    "variance": lambda folder: ([str(folder / "a.csv")], {"pairs": True}),
    "compare": _scores,
    "shards": lambda folder: (_runs(folder)[0], {**_runs(folder)[1], "shards": 2, "resamples": 100}),
    "pilot": lambda folder: (_runs(folder)[0], {**_runs(folder)[1], "teams": str(folder / "teams.tsv")}),
    "budget": _runs,
    "reliability": lambda folder: ([str(folder / "a.csv")], {"trials": 20}),
    "verify": lambda _: ([], {"topics": 20, "systems": 3, "difference": 0.1, "sd": 0.2}),
    "report": _scores,
    "study_new": lambda folder: ([str(folder / "a.study")], {**PAIR, "system": "a", "baseline": "b", "measure": "AP"}),
    "study_edit": lambda folder: ([str(folder / "there.study")], {"because": "smaller"}),
    "study_plans": lambda _: ([], PAIR),
    "study_past": lambda folder: ([str(folder / "a.csv")], {"difference": 0.05}),
    "study_trial": lambda _: ([], PAIR),
    "study_simulate": lambda folder: ([str(folder / "a.csv")], {"difference": 0.05}),
    "study_peek": _scores,
    "study_width": lambda folder: (
        [str(folder / "a.csv")],
        {
            "judge": str(folder / "a.csv"),
            "width": 0.1,
            "system": "cleverdon1",
            "baseline": "cleverdon2",
            "studies": 100,
        },
    ),
    "judges": lambda folder: (_runs(folder)[0], {**_runs(folder)[1], "judge": str(folder / "judge.txt")}),
    "leaderboard": _scores,
}


def test_every_question_with_a_significance_level_is_tried() -> None:
    having = {name for name in MODULES if "alpha" in inspect.signature(getattr(cf, name)).parameters}
    assert having == set(QUESTIONS)


@pytest.mark.parametrize(
    ("name", "alpha"),
    [
        # A report asks all others, and takes seconds.
        pytest.param(name, alpha, marks=[pytest.mark.proof] if name == "report" else [])
        for name in QUESTIONS
        for alpha in TINY
    ],
)
def test_a_tiny_alpha_is_answered_or_refused(name: str, alpha: float, example: Path) -> None:
    data, asked = QUESTIONS[name](example)
    try:
        result = getattr(by_flags, name)(*data, alpha=alpha, **asked)
    except RequestError as refusal:
        said = str(refusal)
        assert "alpha" in said or "α" in said
    else:
        assert result.summary()
