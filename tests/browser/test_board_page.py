"""The page of a leaderboard in a real browser: it opens without a network or a message, sorts, filters and folds."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.rendering.board_page import to_page
from cranfield.rendering.report_files import QUIET, find_browser
from cranfield.scores import ScoreTable


@pytest.fixture(scope="session")
def browser() -> str:
    try:
        return find_browser()
    except RequestError as error:
        pytest.skip(f"{error.what}; the board's page is not opened")


def table(tasks: int, systems: int, names: tuple[str, ...] = ()) -> ScoreTable:
    rng = np.random.default_rng(1)
    values = rng.normal(0.5, 0.1, (tasks, 1)) + 0.02 * np.arange(systems) + rng.normal(0, 0.04, (tasks, systems))
    names = names or tuple(f"team{at % 3}/model-{at}" for at in range(systems))
    return ScoreTable(("nDCG@10",), tuple(f"Task{at}" for at in range(tasks)), names, values[np.newaxis, :, :, None])


@pytest.fixture(scope="module")
def board() -> cf.LeaderboardResult:
    scores = table(12, 9)
    values = scores.values.copy()
    values[0, 0, 3] = np.nan
    return cf.leaderboard(scores.replaced(values=values), resampling={"resamples": 500})


def opened(browser: str, page: str, folder: Path) -> tuple[str, str]:
    """The page's document after its scripts ran, and everything the browser wrote to its log."""
    path = folder / "board.html"
    path.write_text(page, encoding="utf-8")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    own = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile"]
    look = ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", path.as_uri()]
    command = [browser, *QUIET, *root, *own, *look]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


def console(log: str) -> list[str]:
    return [line for line in log.splitlines() if "CONSOLE" in line]


def systems_of(document: str) -> list[str]:
    body = document.partition('<table class="systems')[2].partition("</table>")[0]
    return re.findall(r'<th scope="row" class="system">([^<]*)</th>', body)


def test_the_page_opens_without_a_message_and_can_be_sorted(
    browser: str, board: cf.LeaderboardResult, tmp_path: Path
) -> None:
    document, log = opened(browser, to_page(board), tmp_path)
    assert console(log) == []
    assert systems_of(document) == list(board.boards["nDCG@10"].systems)
    heads = document.partition("<thead>")[2].partition("</thead>")[0]
    assert heads.count("<button") == 8 + 12  # every column but the picture of the ranks
    assert 'aria-sort="ascending"' in heads
    assert "9 of 9 systems" in document
    assert 'class="systems folded"' in document
    assert html.escape(board.summary(), quote=False) in document


def test_the_page_asks_nothing_of_anybody(board: cf.LeaderboardResult) -> None:
    page = to_page(board)
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r'(?:src|href)\s*=\s*"(?!#|data:)', page)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest", page)


def test_a_script_that_is_not_ours_is_stopped(browser: str, board: cf.LeaderboardResult, tmp_path: Path) -> None:
    page = to_page(board).replace("<main", "<script>document.title = 'taken'</script><main", 1)
    document, log = opened(browser, page, tmp_path)
    assert "<title>taken" not in document
    assert console(log)


MOVE = """
<script>
const visible = (kind) => [...document.querySelectorAll(kind)].filter((each) => each.offsetParent);
const shown = () => visible("tbody tr").map((row) => row.cells[1].textContent);
const heads = () => [...document.querySelectorAll("table.systems thead th")];
const press = (name) => heads().find((head) => head.textContent === name).querySelector("button").click();
const type = (kind, text) => {
  const field = document.querySelector(kind);
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
const seen = {};
const sorts = () => heads().filter((head) => head.ariaSort).map((head) => `${head.textContent} ${head.ariaSort}`);
press("system"); seen.byName = shown(); seen.named = sorts();
press("system"); seen.byNameBack = shown();
press("score"); seen.byScore = shown(); seen.scored = sorts();
press("score"); seen.byScoreBack = shown();
document.querySelector(".fold").click();
press("Task0"); seen.byTask = shown(); seen.tasked = sorts();
press("Task0"); seen.byTaskBack = shown();
press("rank"); seen.byRank = shown();
type(".of-systems", "TEAM1"); seen.filtered = shown(); seen.count = document.querySelector(".count").textContent;
type(".of-systems", "");
type(".of-tasks", "task1"); seen.tasks = visible("thead th.t").map((head) => head.textContent);
document.querySelector("thead th.rank button").focus(); seen.focus = document.activeElement.textContent;
seen.best = [...document.querySelectorAll("tbody tr.best .system")].map((cell) => cell.textContent);
document.title = JSON.stringify(seen);
</script>"""


def moved(browser: str, page: str, folder: Path) -> dict[str, Any]:
    # The policy would stop the script that presses the buttons, so it is taken out here and nowhere else.
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    document, log = opened(browser, page.replace("</body>", f"{MOVE}</body>"), folder)
    assert console(log) == []
    found = re.search("<title>(.*)</title>", document)
    assert found is not None
    answers: dict[str, Any] = json.loads(html.unescape(found[1]))
    return answers


def test_pressing_a_head_sorts_and_typing_filters(browser: str, board: cf.LeaderboardResult, tmp_path: Path) -> None:
    found = board.boards["nDCG@10"]
    seen = moved(browser, to_page(board), tmp_path)
    order = list(found.systems)
    assert seen["byName"] == sorted(order)
    assert seen["named"] == ["system ascending"]
    assert seen["byNameBack"] == sorted(order)[::-1]
    assert seen["byScore"] == order
    assert seen["scored"] == ["score descending"]
    assert seen["byScoreBack"] == order[::-1]
    scores = dict(zip(order, found.task_scores[0].tolist(), strict=True))
    there = sorted((name for name in order if scores[name] == scores[name]), key=lambda name: -scores[name])
    missing = [name for name in order if scores[name] != scores[name]]
    assert len(missing) == 1
    assert seen["byTask"] == there + missing
    assert seen["tasked"] == ["Task0 descending"]
    assert seen["byTaskBack"] == there[::-1] + missing  # a missing score is last both ways
    assert seen["byRank"] == order
    assert seen["filtered"] == [name for name in order if name.startswith("team1")]
    assert seen["count"] == "3 of 9 systems"
    assert seen["tasks"] == ["Task1", "Task10", "Task11"]
    assert seen["focus"] == "rank"
    assert seen["best"] == list(found.comparison.top_group)


def test_names_with_markup_do_nothing(browser: str, tmp_path: Path) -> None:
    names = ("<script>document.title = 'taken'</script>", "<img src=x onerror=\"document.title = 'taken'\">", "plain")
    page = to_page(cf.leaderboard(table(9, 3, names), resampling={"resamples": 100}))
    document, log = opened(browser, page, tmp_path)
    assert console(log) == []
    assert "<title>taken" not in document
    assert len(systems_of(document)) == 3


def test_a_board_of_200_systems_on_50_tasks_is_small() -> None:
    page = to_page(cf.leaderboard(table(50, 200), test="tukey", resampling={"resamples": 100}))
    assert len(page.encode()) < 1_500_000
    assert page.count("<tr") > 200
