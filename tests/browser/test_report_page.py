"""The report in a real browser: it opens without a network and without a complaint, and its calculator answers."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.errors import RequestError
from cranfield.rendering.report_files import QUIET, find_browser, to_pdf
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_page import to_html
from cranfield.rendering.report_sections import make_report
from cranfield.scores import ScoreTable


@pytest.fixture(scope="session")
def browser() -> str:
    try:
        return find_browser()
    except RequestError as error:
        pytest.skip(f"{error.what}; the report's page is not opened")


@pytest.fixture(scope="module")
def report(example: Path) -> Report:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    asked = cranfield.report(collection, measure="AP", section=["read", "variance", "size", "compare"])
    return make_report(asked)


def opened(browser: str, page: str, folder: Path) -> tuple[str, str]:
    """The page's document after its scripts ran, and everything the browser wrote to its log."""
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile"]
    look = ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", path.as_uri()]
    command = [browser, *QUIET, *root, *offline, *look]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


def complaints(log: str) -> list[str]:
    return [line for line in log.splitlines() if "CONSOLE" in line]


def test_the_page_opens_without_complaint_and_answers(browser: str, report: Report, tmp_path: Path) -> None:
    document, log = opened(browser, to_html(report), tmp_path)
    assert complaints(log) == []
    answer = re.search(r'<div id="result">([^<]+)</div>', document)
    pair = next(row for row in report.sections[2].parts[0].document.rows if row["method"] == "holm")
    assert answer is not None
    assert answer[1] == f"{pair['topics']:,} topics"
    assert f"Between {pair['topics_lower']:,} and {pair['topics_upper']:,}" in document


def test_flags_are_in_the_command_that_makes_the_report_again_alone(
    browser: str, example: Path, tmp_path: Path
) -> None:
    asked = cranfield.report(str(example / "runs"), qrels=str(example / "qrels.txt"), measure="AP", difference=0.06)
    document, _ = opened(browser, to_html(make_report(asked).spoken("report")), tmp_path)
    text = re.sub(r"<(script|style)\b.*?</\1>", "", document, flags=re.DOTALL)
    kept = re.search(r'<pre id="made-by">.*?</pre>', text, flags=re.DOTALL)
    assert kept is not None
    assert "--difference 0.06" in kept[0]
    shown = re.sub("<[^>]*>", " ", text.replace(kept[0], ""))
    assert re.findall(r"(?<!\S)--?[a-z][a-z-]*", shown) == []
    design = re.search(r'<p id="design">([^<]+)</p>', text)
    assert design is not None
    assert "topics detect a difference of 0.06 between two of 12 systems with power 0.8 at α = 0.05" in design[1]


def test_a_script_that_is_not_ours_is_stopped(browser: str, report: Report, tmp_path: Path) -> None:
    # What reading the log would miss if the policy did nothing: a script put into the page on purpose.
    page = to_html(report).replace("<main", "<script>document.title = 'taken'</script><main", 1)
    document, log = opened(browser, page, tmp_path)
    assert "<title>taken" not in document
    assert complaints(log)


def test_names_with_markup_do_nothing(browser: str, tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((1, 9, 3, 1))
    names = ("<script>document.title = 'taken'</script>", "<img src=x onerror=\"document.title = 'taken'\">", "plain")
    table = ScoreTable(("</script><b>",), tuple(map(str, range(9))), names, values)
    document, log = opened(
        browser, to_html(make_report(cranfield.report({"<b>": table}, title="</title><b>x"))), tmp_path
    )
    assert complaints(log) == []
    assert "<title>&lt;/title&gt;&lt;b&gt;x</title>" in document
    assert re.search(r'<div id="result">[\d,]+ topics</div>', document)


MOVE = """
<script>
const form = document.querySelector("#calculator");
const answers = [];
for (const moves of %s) {
  for (const [name, value] of moves) {
    form.elements[name].value = value;
    form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
  }
  answers.push(document.querySelector("#result").textContent);
}
const mark = document.querySelector("figure svg [role='graphics-symbol'][aria-label]");
mark.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
answers.push(document.querySelector(".tip").textContent);
document.title = JSON.stringify(answers);
</script>"""
TWO, TEN, FIFTY = ["systems", "0"], ["systems", "3"], ["systems", "6"]  # by their place among 2, 3, 5, 10, 12, 20, 50
CASES = [
    # A difference of 0.033, sd 0.15, power 0.8: WMZ08's case, 165 by the exact t test.
    ([TWO, ["difference_slider", "0.03"], ["difference", "0.033"], ["sd", "0.15"]], "165 topics"),
    ([TEN, ["difference_slider", "0.05"]], "157 topics"),
    ([FIFTY], "229 topics"),
    ([["difference", "0.0001"]], "more than 100,000 topics"),
    ([["difference", "3"]], "at most 5 topics"),
    ([["difference", "-3"]], "–"),
]


def test_moving_the_sliders_recomputes_n(browser: str, report: Report, tmp_path: Path) -> None:
    # The policy would stop the script that moves them, so it is taken out here and nowhere else.
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", to_html(report))
    moves = MOVE % json.dumps([moves for moves, _ in CASES])
    document, log = opened(browser, page.replace("</body>", f"{moves}</body>"), tmp_path)
    assert complaints(log) == []
    answers = re.search("<title>(.*)</title>", document)
    assert answers is not None
    *found, tip = json.loads(html.unescape(answers[1]))
    assert found == [topics for _, topics in CASES]
    assert re.search(r"\n0\.\d+ \[0\.\d+, 0\.\d+\]$", tip)  # the first chart's first mark, under the pointer


def test_the_page_prints_to_pdf(browser: str, report: Report) -> None:
    data = to_pdf(to_html(report, printed=True), browser=browser)
    assert data.startswith(b"%PDF")
    assert data.count(b"/Type /Page") > 3
