"""Missing scores and cautions on the page: the policy and the words of the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from cranfield.cli.app import app

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]

QUESTIONS = {
    "size": "difference=0.05",
    "power": "",
    "variance": "",
    "compare": "",
    "reliability": "trials=10&resamples=100",
    "verify": "difference=0.1&collections=250&topics=20",
    "simulate": "",
    "report": "section=size",
    "study-past": "difference=0.05",
    "study-trial": "pairs=3&repeats=10",
    "study-simulate": "pairs=1&repeats=10",
    "study-peek": "first=12&repeats=5&low=0&high=1",
}


def table(*, gaps: bool) -> str:
    rng = np.random.default_rng(5)
    scores = rng.beta(2, 4, size=(15, 1)) * 0.7 + rng.uniform(0, 0.2, size=(15, 10)) + np.arange(10) / 50
    cells = [[f"{score:.3f}" for score in row] for row in scores]
    for topic, system in ((2, 1), (2, 3), (11, 0)) if gaps else ():
        cells[topic][system] = ""
    head = ",".join(["topic", *(f"s{at}" for at in range(10))])
    return "\n".join([head, *(",".join([str(at), *row]) for at, row in enumerate(cells, 1))]) + "\n"


@pytest.fixture(scope="module")
def gappy(page: str, upload: Upload) -> str:
    return page + str(upload(page, [("pilot.csv", table(gaps=True).encode())]).json()["link"])


@pytest.fixture(scope="module")
def whole(page: str, upload: Upload) -> str:
    return page + str(upload(page, [("pilot.csv", table(gaps=False).encode())]).json()["link"])


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_page_refuses_missing_scores_as_the_commands_do(question: str, gappy: str, wait: Wait) -> None:
    answer = wait(f"{gappy}/{question}.json?{QUESTIONS[question]}")
    assert answer.status_code == 400
    fault = answer.json()["error"]
    assert fault["where"] == "pilot.csv:4"
    assert fault["what"] == (
        "3 of 150 scores of pilot are missing (topic 3, system s1; topic 3, system s3; topic 12, system s0 in "
        "pilot.csv:13)"
    )
    assert "«missing» zero" in fault["fix"]
    shown = wait(f"{gappy}/{question}?{QUESTIONS[question]}")
    assert shown.status_code == 400
    assert "0 in runs, refused in tables" in shown.text  # the form's choice, which has no default


def test_what_is_to_be_chosen_about_them_is_unfolded_and_named_by_its_texts(gappy: str, wait: Wait) -> None:
    html = unescape(wait(f"{gappy}/compare").text)
    assert (
        "as 0 («A missing score» «counts as 0»), or without the 2 topics that lack any («A missing score» «drops"
        in html
    )
    assert "<details open>\n<summary>Reading the data</summary>" in html
    assert "<details>\n<summary>Reading the data</summary>" in unescape(wait(f"{gappy}/compare?alpha=2").text)


def test_a_table_of_one_system_and_an_empty_file_are_refused_as_the_commands_do(
    page: str, upload: Upload, wait: Wait, tmp_path: Path
) -> None:
    for name, content, path in (("one.csv", "topic,a\n" + "1,0.5\n2,0.3\n3,0.1\n", "/size"), ("none.csv", " \n", "")):
        (tmp_path / name).write_text(content)
        link = page + upload(page, [tmp_path / name]).json()["link"]
        refused = wait(link + path)
        assert refused.status_code == 400
        command = CliRunner().invoke(app, ["size", str(tmp_path / name), "--difference", "0.05"])
        for line in command.stderr.removeprefix(f"error: {tmp_path}/").removeprefix("error: ").splitlines():
            assert line.strip().removeprefix(f"{name}: ") in unescape(refused.text)


def test_the_page_counts_what_was_done_about_them(gappy: str, wait: Wait) -> None:
    found = wait(f"{gappy}/size.json?difference=0.05&missing=drop").json()
    assert "2 of 15 topics lack a score and are left out (3, 12)" in [each["problem"] for each in found["warnings"]]
    assert "2 of 15 topics lack a score" in wait(f"{gappy}/size?difference=0.05&missing=drop").text
    assert wait(f"{gappy}/size.json?difference=0.05&missing=nan").status_code == 422


@pytest.mark.parametrize("question", ["size", "power", "variance", "compare", "report", "study-past"])
def test_the_page_has_the_cautions_of_the_command(
    question: str, whole: str, wait: Wait, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pilot.csv").write_text(table(gaps=False))
    printed = CliRunner().invoke(app, ["size", "pilot.csv", "--difference", "0.05", "--json"]).stdout
    cautions = [each["problem"] for each in json.loads(printed)["warnings"]]
    assert len(cautions) >= 2
    answer = wait(f"{whole}/{question}.json?{QUESTIONS[question]}").json()
    assert [each["problem"] for each in answer["warnings"]][: len(cautions)] == cautions
    shown = wait(f"{whole}/{question}?{QUESTIONS[question]}").text
    assert "only 15 topics" in shown
