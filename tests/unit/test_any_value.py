"""Every parameter of every question takes any value: the answer is a result or one of our errors, in bounded time."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import by_flags
import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.questions import MODULES, find_question

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

SECONDS = 60  # a call takes far less; this ends one that would never come back

VALUES: Mapping[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "None": None,
    "empty": "",
    "0": 0,
    "-1": -1,
    "1e308": 1e308,
    "10**30": 10**30,
    "10**9": 10**9,
    "digits": 10**5000,
    "text": "nonsense",
    "none of a list": [],
    "long list": range(1, 1_000_002),
    "odd list": [None, {}, math.nan],
    "mapping": {"a": object()},
    "object": object(),
    "bytes": b"\xff",
    "array": np.array(0.5),
    "truth": True,
}

_RNG = np.random.default_rng(5)
TOPICS = [str(at) for at in range(8)]
SCORES = {
    name: {topic: float(round(base + wave, 4)) for topic, wave in zip(TOPICS, _RNG.normal(0, 0.1, 8), strict=True)}
    for name, base in (("a", 0.5), ("b", 0.45), ("c", 0.4), ("d", 0.3))
}
LONG = {name: {str(at): float(_RNG.random()) for at in range(40)} for name in "ab"}
RUNS = {
    name: {topic: {f"d{at}": float(_RNG.normal()) for at in range(6)} for topic in TOPICS[:6]}
    for name in ("a", "b", "c")
}
QRELS = {topic: {f"d{at}": int(at < 3) for at in range(5)} for topic in TOPICS[:6]}
FAST: Mapping[str, Any] = {"resamples": 100}
PILOT = {"runs": RUNS, "qrels": QRELS, "teams": "teams.txt"}
PAIR: Mapping[str, Any] = {"system": "a", "baseline": "b"}
PLAN = {"difference": 0.1, "sd": 0.2}


def _study(**more: Any) -> dict[str, Any]:
    """A study of its own for every call."""
    Path("study.jsonl").unlink(missing_ok=True)
    cf.study_new(
        "study.jsonl", difference=0.2, sd=0.2, plan={"name": "iterative", "first": 5}, topics="topics.txt", **PAIR
    )
    if more.pop("begun", False):
        cf.study_add("study.jsonl", "scores.csv")
    return {"file": "study.jsonl", **more}


BASES: Mapping[str, list[Callable[[], dict[str, Any]]]] = {
    "score": [lambda: {"runs": RUNS, "qrels": QRELS}],
    "check": [lambda: {"files": ["scores.csv"]}],
    "pack": [lambda: {"runs": SCORES, "out": "out.cran"}],
    "variance": [lambda: {"scores": SCORES}, lambda: {"scores": SCORES, "pairs": True}],
    "size": [
        lambda: {"scores": SCORES, "difference": 0.05},
        lambda: dict(PLAN),
        lambda: {"systems": 5, "min_range": 0.1, "variance": 0.05},
        lambda: {**PLAN, "judge_correlation": 0.6, "judge_cost": 0.1},
        lambda: {"difference": 0.1, "between": 0.01, "within": 0.01},
    ],
    "power": [lambda: {"scores": SCORES}, lambda: {**PLAN, "topics": 50}],
    "compare": [lambda: {"scores": SCORES, **FAST, "test": "bootstrap"}, lambda: {"scores": SCORES, "baseline": "a"}],
    "judges": [lambda: {"scores": SCORES, "judge": {"m": SCORES}, **FAST}],
    "leaderboard": [lambda: {"scores": SCORES, **FAST}],
    "shards": [lambda: {"runs": RUNS, "qrels": QRELS, "shards": 2, "samples": 1, **FAST, "halvings": 10}],
    "pilot": [lambda: {**PILOT, "trials": 10}],
    "budget": [lambda: dict(PILOT)],
    "study_new": [lambda: {"file": "new.jsonl", **PLAN}],
    "study_add": [lambda: _study(scores="scores.csv")],
    "study_next": [lambda: _study(begun=True)],
    "study_status": [lambda: _study(begun=True)],
    "study_test": [lambda: _study(begun=True)],
    "study_edit": [lambda: _study(because="a reason", power=0.9)],
    "study_log": [lambda: _study(begun=True)],
    "study_plans": [lambda: dict(PLAN)],
    "study_past": [lambda: {"scores": SCORES, "difference": 0.1}],
    "study_trial": [lambda: {"scores": SCORES, "pairs": 2, "repeats": 10}],
    "study_simulate": [lambda: {"scores": SCORES, "repeats": 10, "pairs": 2}],
    "study_peek": [lambda: {"scores": SCORES, "repeats": 10, "first": 4}],
    "study_width": [
        lambda: {"scores": SCORES, "judge": SCORES, "width": 0.2, "studies": 100, "system": "a", "baseline": "b"}
    ],
    "reliability": [lambda: {"scores": SCORES, "trials": 10, **FAST}],
    "simulate": [lambda: {"scores": SCORES}],
    "verify": [lambda: {"difference": 0.1, "sd": 0.2, "topics": 10, "collections": 250, "search": False}],
    "report": [lambda: {"scores": SCORES, "section": "variance", "samples": 1}],
}


class TooLongError(Exception):
    """A call did not come back."""


@contextmanager
def watched() -> Iterator[None]:
    def end(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = cf.ScoreTable.from_dict({name: {t: {"AP": x} for t, x in by.items()} for name, by in SCORES.items()})
    cf.write_scores(table, tmp_path / "scores.csv")
    (tmp_path / "teams.txt").write_text("a x\nb y\nc z\n")
    (tmp_path / "topics.txt").write_text("\n".join([*TOPICS, *map(str, range(100, 140))]))
    return tmp_path


def test_every_question_is_asked() -> None:
    assert set(BASES) == set(MODULES)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", MODULES)
def test_every_value_has_an_answer_or_an_error(name: str) -> None:
    odd = []
    for base in BASES[name]:
        for parameter in find_question(name).parameters:
            for title, value in VALUES.items():
                try:
                    with watched():
                        getattr(by_flags, name)(**{**base(), parameter: value})
                except CranfieldError:
                    continue
                except Exception as error:
                    odd.append(f"{parameter}={title}: {type(error).__name__}: {error}"[:200])
    assert not odd, "\n".join(odd)


def _given(**values: Any) -> dict[str, Any]:
    """Values of types that no declaration allows."""
    return values


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cf.size(difference=math.nan), "`difference` must be a number, or a list of numbers, not «nan»"),
        (lambda: cf.size(difference=0.1, sd=0.2, systems=10**7), "`systems` must be at most 1,000,000"),
        (lambda: cf.size(difference=0.1, sd=0.2, systems="2:2000"), "`systems` has 1,999 values, and 500 are the most"),
        (lambda: cf.power(sd=0.2, topics="2:2000"), "1,999 designs, and the power of 1,000 at most is shown"),
        (lambda: cf.verify(sd=0.2, difference=1e9, systems=10**6), "keeps 1,000,000,000,000 products of systems"),
        (
            lambda: cf.compare(SCORES, **_given(lower_is_better="yes")),
            "`lower_is_better` must be True or False, not «yes»",
        ),
        (lambda: by_flags.compare(SCORES, **_given(columns=3)), "`columns` must be text, not «3»"),
    ],
)
def test_what_is_refused_is_named_with_its_bounds(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(cf.RequestError, match=re.escape(said)):
        call()


@pytest.mark.parametrize("name", MODULES)
def test_every_number_has_bounds(name: str) -> None:
    for parameter in find_question(name).parameters.values():
        about = parameter.about
        if parameter.kind in ("count", "number"):
            assert about.ge is not None or about.gt is not None, parameter.name
            assert about.le is not None or about.lt is not None, parameter.name


def test_a_name_in_a_list_is_taken_whole_however_long_it_is(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    (folder / "qrels").write_text("1 0 d1 1\n")
    (checked,) = cf.check(qrels=[str(folder / "qrels")]).report.files
    assert checked.file == str(folder / "qrels")
