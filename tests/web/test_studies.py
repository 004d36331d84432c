"""Studies that grow on the page, and the check of a design without data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

import cranfield as cf

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]
Printed = Callable[..., str]
http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

GOAL = {"difference": "0.2", "sd": "0.1", "plan": "fixed", "system": "a", "baseline": "b", "measure": "AP"}
ROWS = [
    f"AP,{topic},{system},{0.3 + (0.2 + 0.01 * topic if system == 'a' else 0)}"
    for topic in range(1, 9)
    for system in "ab"
]
SCORES = ("batch.csv", "\n".join(["measure,topic,system,score", *ROWS]).encode())


@pytest.fixture
def study(tmp_path: Path) -> tuple[str, bytes]:
    file = tmp_path / "mine.study"
    named: dict[str, Any] = {
        name: float(value) if name in ("difference", "sd") else value for name, value in GOAL.items()
    }
    cf.study_new(str(file), **named)
    return file.name, file.read_bytes()


def test_a_study_is_started_continued_and_tested_without_another_upload(page: str, upload: Upload, wait: Wait) -> None:
    query = str(httpx.QueryParams({**GOAL, "topics": "3 1 2 8 5 4 7 6"}))
    assert "topics.txt has the candidate topics" in wait(f"{page}/study-new?{query}").text
    file = wait(f"{page}/study-new.study?{query}").content
    assert json.loads(file)["goal"]["difference"] == 0.2
    started = http.post(f"{page}/study-new.study?{query}")
    assert started.status_code == 303
    key = started.headers["location"].rpartition("/")[2]
    assert len(wait(f"{page}/data/{key}/study-next.json").json()["rows"]) > 1
    link = page + upload(page, [SCORES], study=key).json()["link"]
    assert wait(f"{link}.json").json()["kind"] == "study"
    read = wait(link).text
    assert "The scores below are not part of it yet." in read
    add = re.search(r'href="([^"]*)">Add these 8 topics to the study', read)
    assert add
    assert "8 topics added" in wait(page + unescape(add[1])).text
    form = wait(f"{link}/study-add").text
    assert "topics added" not in form  # until it is asked for
    assert "8 topics added" in wait(f"{link}/study-add?measure=").text
    grown = http.post(f"{link}/study-add.study")
    now = page + grown.headers["location"]
    tested = wait(f"{now}/study-test.json").json()
    assert tested["rows"][0]["verdict"] == "differs"
    steps = [json.loads(line)["event"] for line in wait(f"{now}/study-test.study").text.splitlines()]
    assert steps == ["new", "add", "test"]


def test_a_step_is_the_same_as_the_commands_and_leaves_the_upload_as_it_is(
    page: str, upload: Upload, wait: Wait, study: tuple[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = page + upload(page, [study, SCORES]).json()["link"]
    shown = wait(f"{link}/study-add.json").json()
    monkeypatch.chdir(tmp_path)
    Path(SCORES[0]).write_bytes(SCORES[1])
    cf.study_add(study[0], SCORES[0])
    events = [json.loads(line) for line in wait(f"{link}/study-add.study").text.splitlines()]
    ours = [json.loads(line) for line in Path(study[0]).read_text().splitlines()]
    apart = ("at", "check", "before")
    assert [{k: v for k, v in each.items() if k not in apart} for each in events] == [
        {k: v for k, v in each.items() if k not in apart} for each in ours
    ]
    assert shown["rows"][0]["added"] == 8
    assert wait(f"{link}/study-status.json").json()["rows"][0]["topics"] == 0
    assert "study file with this step" not in wait(f"{link}/study-status").text


def test_too_early_a_test_and_what_is_no_study_are_refused(
    page: str, upload: Upload, wait: Wait, study: tuple[str, bytes]
) -> None:
    link = page + upload(page, [study]).json()["link"]
    asked = wait(f"{link}/study-test?expect=")
    assert asked.status_code == 400
    assert "it is too early for a test" in asked.text
    assert wait(f"{link}/study-add.json").status_code == 400  # there is nothing to add
    assert wait(f"{link}/compare.json").status_code == 400  # nothing shows the difference before the test
    edited = wait(f"{link}/study-edit?because=&difference=0.3")
    assert "Fill in «Reason»." in unescape(edited.text)
    assert wait(f"{link}/study-edit.json?because=x&difference=0.3").json()["rows"][0]["difference"] == 0.3
    damaged = page + upload(page, [(study[0], study[1].replace(b"0.2", b"0.1"))]).json()["link"]
    assert wait(damaged).status_code == 400
    two = page + upload(page, [study, ("other.study", study[1])]).json()["link"]
    assert "there are 2 studies" in wait(f"{two}.json").json()["error"]["what"]
    gone = upload(page, [SCORES], study="nobody")
    assert gone.status_code == 400


def test_a_design_is_checked_without_data_as_the_command_does(page: str, wait: Wait, printed: Printed) -> None:
    query = "difference=0.05&sd=0.15&collections=500&search=false"
    shown = wait(f"{page}/verify?{query}").text
    assert len(re.findall("<table", shown)) == 2
    answer = wait(f"{page}/verify.json?{query}").json()
    assert answer["rows"][0]["topics"] == 73
    assert json.loads(printed(shown, "--json"))["rows"] == answer["rows"]
    assert "«sd»" in wait(f"{page}/verify.json?difference=0.05&variance=1&sd=-1").text


def test_work_without_data_shows_its_progress_and_ends_when_it_is_cancelled(page: str) -> None:
    slow = http.get(f"{page}/verify.json?difference=0.02&sd=0.15&test=permutation&tolerance=0.0001&collections=100000")
    assert slow.status_code == 202
    ended = http.post(f"{page}/jobs/{slow.json()['job']}/cancel")
    assert ended.status_code == 303
    back = http.get(page + ended.headers["location"])
    assert back.status_code == 200
    assert "Cancelled." in back.text
    assert 'name="tolerance" value="0.0001"' in back.text
    assert http.get(f"{page}/jobs/{slow.json()['job']}.json").json()["state"] == "cancelled"  # not begun again


def test_a_study_names_the_pages_of_its_next_step(
    page: str, upload: Upload, wait: Wait, study: tuple[str, bytes]
) -> None:
    link = page + upload(page, [study, SCORES]).json()["link"]
    assert "run the test with the page «The test of a study»" in unescape(wait(f"{link}/study-add?measure=").text)
    asked = unescape(wait(f"{page}/study-new?difference=0.05").text)
    assert "Fill in «Sd of paired differences»." in asked
    assert "trial" not in asked[asked.index('id="answer"') :]


def test_a_plan_without_a_guarantee_has_none(page: str, wait: Wait) -> None:
    said = {plan: wait(f"{page}/study-new?difference=0.05&sd=0.1&plan={plan}").text for plan in ("fixed", "iterative")}
    assert "No guarantee: the sd is underestimated" in said["iterative"]
    assert "Guarantee: " in said["fixed"]
    assert "None: " not in said["iterative"]
