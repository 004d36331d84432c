"""A line break in a name starts no line of its own: a pipeline would take it for a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.testing import assert_better

ODD = "new\n::error title=hacked::injected"
SHOWN = "new\\x0a::error title=hacked::injected"
OLD = np.random.default_rng(1).beta(2, 3, 25)
TABLE = cf.ScoreTable.from_rows(
    [
        ("A\nP", topic, name, float(score))
        for name, shift in (("old", 0.0), (ODD, 0.1), ("third\x1b[31m", 0.05))
        for topic, score in enumerate(OLD + shift * np.linspace(0, 2, 25))
    ]
)


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> Callable[..., Answer]:  # type: ignore[no-untyped-def]
    from cranfield.cli.app import main

    cf.write_scores(TABLE, tmp_path / "scores.csv")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Answer:
        monkeypatch.setattr("sys.argv", ["cranfield", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return Answer(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "scores.csv"],
        ["compare", "scores.csv", "--baseline", "old", "--gate", "better"],
        ["compare", "scores.csv", "--baseline", ODD],
        ["compare", "scores.csv", "--audit"],
        ["compare", "scores.csv", "--baseline", f"{ODD}er"],
        ["variance", "scores.csv"],
        ["power", "scores.csv"],
        ["reliability", "scores.csv", "--resamples", "100"],
        ["leaderboard", "scores.csv"],
        ["check", "scores.csv"],
    ],
)
def test_no_line_of_the_output_begins_within_a_name(run: Callable[..., Answer], words: list[str]) -> None:
    answer = run(*words)
    assert answer.code in (0, 1, 2)
    text = answer.out + answer.err
    assert text
    assert not [line for line in text.splitlines() if line.startswith("::")], text


def test_verdicts_are_one_line_and_names_in_json_as_they_are(run: Callable[..., Answer]) -> None:
    found = json.loads(run("compare", "scores.csv", "--baseline", "old", "--gate", "better", "--json").out)
    assert {each["candidate"] for each in found["gates"]} == {ODD, "third\x1b[31m"}
    sentences = [each["verdict"] for each in [*found["gates"], *found["pairs"]]]
    assert any(SHOWN in each for each in sentences)
    assert all(each.isprintable() for each in sentences)


def test_errors_and_failed_assertions_are_one_line_each() -> None:
    with pytest.raises(RequestError) as wrong:
        cf.compare(TABLE, baseline="old", candidate=f"{ODD}er", gate="better")
    assert SHOWN in str(wrong.value).splitlines()[0]
    with pytest.raises(AssertionError) as failed:
        assert_better(TABLE, baseline=ODD, candidate="old")
    assert len(str(failed.value).splitlines()) == 1
