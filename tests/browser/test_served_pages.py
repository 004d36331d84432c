"""The pages in a real browser: typing, keys, uploads, progress, cancelling, downloads, light, dark and narrow."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.rendering.drawing import ORANGE
from sizes import sized

api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = os.environ.get("CRANFIELD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (apt-get install chromium)")

api.expect.set_options(timeout=120_000)

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with api.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any, page: str) -> Iterator[Open]:
    """Open an address in a window of its own; what is wrong in the console, or asked of another machine, fails."""
    troubles: list[str] = []
    contexts = []

    def look(path: str = "/", *, expect_errors: bool = False, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(120_000)
        tab.on(
            "request", lambda asked: troubles.append(asked.url) if not asked.url.startswith((page, "data:")) else None
        )
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: troubles.append(f"dialog {dialog.message}"))
        if not expect_errors:
            tab.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        tab.goto(page + path)
        return tab

    yield look
    for context in contexts:
        context.close()
    assert troubles == []


def upload(tab: Any, files: list[Path]) -> None:
    tab.set_input_files("#files", [str(file) for file in files])
    tab.get_by_role("button", name="Upload").click()


@pytest.fixture
def example_files(example: Path) -> list[Path]:
    return [*sorted((example / "runs").iterdir()), example / "qrels.txt"]


ANSWER = "#answer:not([aria-busy=true])"
"""The answer to what the form says now, and not to what it said before."""


def sentence(tab: Any) -> Any:
    return tab.locator(f"{ANSWER} .sentence")


def test_the_calculator_answers_while_one_types_and_its_link_can_be_shared(open_page: Open, page: str) -> None:
    tab = open_page("/")
    api.expect(sentence(tab)).to_contain_text("157 topics")
    tab.fill("#difference", "0.1")
    api.expect(sentence(tab)).to_contain_text("44 topics")
    api.expect(tab.locator(f"#answer svg circle[fill='{ORANGE}']")).to_have_count(1)
    api.expect(tab).to_have_url(re.compile("difference=0.1"))
    again = open_page(tab.url.removeprefix(page))
    api.expect(sentence(again)).to_contain_text("44 topics")
    assert again.input_value("#difference") == "0.1"
    assert tab.inner_text("#command") == again.inner_text("#command")


def test_another_goal_shows_its_own_fields(open_page: Open) -> None:
    tab = open_page("/")
    tab.get_by_label("a range among several systems").check()
    api.expect(tab.locator("#difference")).to_be_hidden()
    api.expect(tab.locator("#test")).to_be_hidden()
    tab.fill("#min_range", "0.1")
    tab.fill("#variance", "0.053")
    api.expect(sentence(tab)).to_contain_text("167 topics")  # S14 Table 4(I) has 166, by an approximation
    api.expect(tab).to_have_url(re.compile(r"\?(?!.*difference=).*min_range=0.1"))


GOALS = (
    "a range among several systems",
    "a mean known to within ±",  # which keeps its variance
    "an effect size d_z",
    "equivalence of two systems",
    "non-inferiority of a system",
    "a narrow interval for a difference",
    "a difference between two systems",
)

SIZES = sized([(390, "dark")], [(1280, "light"), (390, "dark")])


@pytest.mark.parametrize("scripts", [True, False])
def test_every_goal_is_answered_when_it_is_chosen_and_its_example_can_be_changed(
    open_page: Open, scripts: bool
) -> None:
    tab = open_page("/", java_script_enabled=scripts)
    for goal in GOALS:
        before = sentence(tab).inner_text()
        tab.get_by_label(goal).check()
        if not scripts:
            tab.get_by_role("button", name="Answer").click()
        api.expect(sentence(tab)).not_to_have_text(before)
        if goal == GOALS[0]:
            api.expect(tab.locator("[data-filled]")).to_contain_text("With example values: ")
    tab.get_by_label("a range among several systems").check()
    if not scripts:
        tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("167 topics")
    told = tab.locator("[data-filled]")
    assert tab.input_value("#min_range") == "0.1"
    tab.fill("#min_range", "0.2")
    if not scripts:
        tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("a range of 0.2")
    api.expect(told).not_to_contain_text("Smallest range")


def test_a_variance_that_was_typed_is_kept_under_the_next_goal(open_page: Open) -> None:
    tab = open_page("/")
    tab.get_by_label("a range among several systems").check()
    tab.fill("#variance", "0.06")
    tab.get_by_label("a difference between two systems").check()
    api.expect(sentence(tab)).to_contain_text("a difference of 0.05")
    assert (tab.input_value("#variance"), tab.input_value("#sd")) == ("0.06", "")


def test_replicates_are_answered_when_they_are_chosen(open_page: Open) -> None:
    tab = open_page("/")
    tab.get_by_text("Several scores per topic").click()
    for kind in ("seeds", "variations", "prompts", ""):
        tab.select_option("#replicates", kind)
        api.expect(tab.locator("#command")).to_contain_text(f"--replicates {kind}" if kind else "--systems 10")
        api.expect(sentence(tab)).to_be_visible()
    api.expect(sentence(tab)).to_contain_text("157 topics")


def test_what_has_no_effect_on_the_goal_is_left_out_and_named(open_page: Open) -> None:
    tab = open_page("/")
    tab.get_by_text("More choices").click()
    tab.get_by_label("one-sided test").check()
    api.expect(tab.locator("#answer")).to_contain_text("Left out, without effect on this goal: Systems m.")
    tab.get_by_label("a range among several systems").check()
    api.expect(sentence(tab)).to_contain_text("167 topics")
    api.expect(tab.get_by_label("one-sided test")).to_be_hidden()
    for method in ("tukey", "interval", "exact"):
        tab.select_option("#method", method)
        api.expect(tab.locator(ANSWER)).to_contain_text("exact" if method == "exact" else "Left out")
        api.expect(sentence(tab)).to_be_visible()
    tab.get_by_label("an effect size d_z").check()
    tab.fill("#systems", "")
    tab.select_option("#test", "tukey")  # which needs a number of systems
    api.expect(tab.locator("[data-filled]")).to_contain_text("Systems m")
    api.expect(sentence(tab)).to_be_visible()


def test_a_test_of_all_pairs_is_chosen(open_page: Open) -> None:
    tab = open_page("/")
    tab.select_option("#test", "tukey")
    api.expect(sentence(tab)).to_contain_text("145 topics")
    assert "--test tukey" in tab.inner_text("#command")


def test_nonsense_is_explained_where_the_answer_was(open_page: Open) -> None:
    tab = open_page("/")
    tab.fill("#sd", "much")
    api.expect(tab.get_by_role("alert")).to_contain_text("«Sd of paired differences» cannot be «much»")
    tab.fill("#sd", "0.15")
    api.expect(sentence(tab)).to_contain_text("157 topics")


def test_an_error_page_says_what_to_do(open_page: Open) -> None:
    tab = open_page("/data/gone", expect_errors=True)
    api.expect(tab.get_by_role("alert")).to_contain_text("there is no such page")
    tab.get_by_role("link", name="Back").click()
    api.expect(tab.locator("h1")).to_have_text("How many topics?")


def test_the_keyboard_is_enough(open_page: Open) -> None:
    tab = open_page("/")
    press = tab.keyboard.press
    press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    for _ in range(10):
        press("Tab")
    assert tab.evaluate("document.activeElement.name") == "goal"
    press("ArrowDown")
    assert tab.evaluate("document.activeElement.value") == "min_range"
    press("ArrowUp")
    assert tab.evaluate("document.activeElement.value") == "difference"
    press("Tab")
    assert tab.evaluate("document.activeElement.id") == "difference"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.keyboard.type("0.05")
    for _ in range(60):  # without waiting for the answer
        press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "CSV":
            break
    with tab.expect_download() as started:
        press("Enter")
    assert started.value.suggested_filename == "cranfield-size.csv"


def test_a_new_answer_keeps_the_focus(open_page: Open) -> None:
    tab = open_page("/")
    tab.fill("#difference", "0.1")
    tab.get_by_role("link", name="CSV").focus()  # while the old answer is shown, or the new one
    api.expect(sentence(tab)).to_contain_text("44 topics")
    assert tab.evaluate("document.activeElement.textContent") == "CSV"
    assert "difference=0.1" in tab.evaluate("document.activeElement.href")
    tab.evaluate("document.getElementById('sd').value = 'much'")
    tab.evaluate("document.getElementById('sd').dispatchEvent(new Event('input', { bubbles: true }))")
    api.expect(tab.get_by_role("alert")).to_be_visible()  # without a link to a table
    assert tab.evaluate("document.activeElement.id") == "answer"


def test_files_are_uploaded_questions_asked_answers_kept_and_all_removed(
    open_page: Open, example_files: list[Path], tmp_path: Path
) -> None:
    tab = open_page("/data")
    upload(tab, example_files)
    api.expect(tab.locator("main .sentence")).to_contain_text("12 systems, 40 topics, 3,857 judgments")
    tab.get_by_role("link", name="Which systems differ").click()
    api.expect(sentence(tab)).to_be_visible()
    api.expect(tab.locator("#answer svg circle")).to_have_count(12)  # differences from the best, which is among them
    tab.fill("#measure", "nDCG@10")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.locator("#command")).to_contain_text("--measure nDCG@10")
    with tab.expect_download() as kept:
        tab.get_by_role("link", name="report", exact=True).click()
    report = tmp_path / "report.html"
    kept.value.save_as(report)
    assert "nDCG@10" in report.read_text()
    for name in ("Scores", "Variances", "How many topics", "What its topics detect", "Shards"):
        tab.locator(".tabs").get_by_role("link", name=name).click()
        api.expect(tab.locator("#answer table").first).to_be_visible()
    tab.get_by_role("link", name="What was read").click()
    gone = tab.url
    tab.get_by_role("button", name="Remove this data").click()
    api.expect(tab.locator("h1")).to_have_text("Your data")
    assert tab.request.get(gone).status == 404


def test_files_can_be_dropped(open_page: Open) -> None:
    tab = open_page("/data")
    tab.evaluate(
        """() => {
        const moved = new DataTransfer();
        moved.items.add(new File(["measure,topic,system,score\\nAP,1,a,0.5\\nAP,2,a,0.4\\n"], "dropped.csv"));
        document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: moved, cancelable: true }));
        }"""
    )
    api.expect(tab.locator("[data-chosen]")).to_contain_text("1 file")
    tab.get_by_role("button", name="Upload").click()
    api.expect(tab.locator("main")).to_contain_text("dropped.csv")


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_columns_with_other_names_are_chosen_beside_their_first_rows(
    open_page: Open, tmp_path: Path, scripts: bool, width: int, scheme: str
) -> None:
    table = tmp_path / "mine.csv"
    rows = [f"{q};{m};{k};0.{q}{at}" for q in (1, 2, 3) for at, m in enumerate("ab") for k in ("AP", "P@10")]
    mark = ";" if scripts else "\t"
    table.write_text("\n".join(["qid;engine;metric;val", *rows]).replace(";", mark))
    window = {"width": width, "height": 800}
    tab = open_page("/data", java_script_enabled=scripts, viewport=window, color_scheme=scheme)
    upload(tab, [table])
    api.expect(tab.locator("h1")).to_have_text("What are the columns?")
    api.expect(tab.get_by_role("cell", name="P@10").first).to_be_visible()
    assert [tab.input_value(f"#{name}") for name in ("topic", "system", "measure")] == ["qid", "engine", "metric"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width if scripts else True
    tab.select_option("#system", "metric")
    tab.select_option("#measure", "engine")
    tab.get_by_role("button", name="Read it").click()
    api.expect(tab.locator("main .sentence")).to_contain_text("2 systems, 3 topics; a, b")
    tab.get_by_role("link", name="What the columns are").click()
    tab.select_option("#system", "engine")
    tab.select_option("#measure", "metric")
    tab.get_by_role("button", name="Read it").click()
    api.expect(tab.locator("main .sentence")).to_contain_text("2 systems, 3 topics; AP, P@10")


@pytest.fixture
def score_table(tmp_path: Path) -> Path:
    """Three systems on 12 topics by two measures: c is best by AP, and a by P@10."""
    table = tmp_path / "scores.csv"
    rng = np.random.default_rng(3)
    rows = [
        f"{measure},{topic},{system},{0.4 + rng.normal(0, 0.05) + 0.15 * (system == best):.4f}"
        for measure, best in (("AP", "c"), ("P@10", "a"))
        for topic in range(1, 13)
        for system in "abc"
    ]
    table.write_text("\n".join(["measure,topic,system,score", *rows]))
    return table


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_one_measure_is_shown_at_a_time_and_its_table_sorted(
    open_page: Open, score_table: Path, width: int, scheme: str
) -> None:
    tab = open_page("/data", viewport={"width": width, "height": 800}, color_scheme=scheme)
    upload(tab, [score_table])
    api.expect(tab.locator("h1")).to_have_text("What was read")
    tab.goto(f"{tab.url}/compare")
    api.expect(sentence(tab)).to_have_text(re.compile("^AP: c has the highest mean"))
    visible = tab.locator("#answer table:visible")
    api.expect(visible).to_have_count(1)  # pairs are folded
    api.expect(tab.locator("#answer figure:visible")).to_have_count(1)
    tab.get_by_label("Show").select_option(label="P@10")
    api.expect(visible.locator("caption")).to_have_text(re.compile("^P@10: "))
    api.expect(tab.locator("#answer .sentence [data-measure]:visible")).to_have_text(re.compile("^P@10: a has"))
    api.expect(tab.locator("#answer figure:visible")).to_contain_text("difference in P@10")
    systems = visible.locator("tbody tr td:nth-child(2)")
    before = systems.all_inner_texts()
    heading = visible.get_by_role("columnheader", name="score")
    heading.get_by_role("button").click()
    api.expect(heading).to_have_attribute("aria-sort", "descending")
    assert systems.all_inner_texts() == before
    heading.get_by_role("button").press("Enter")
    assert systems.all_inner_texts() == before[::-1]
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    assert systems.all_inner_texts() == before
    tab.get_by_text("P@10: pairs").click()
    api.expect(visible).to_have_count(2)
    tab.get_by_label("Show").select_option(label="all measures")
    api.expect(visible).to_have_count(3)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_all_measures_are_shown(open_page: Open, score_table: Path) -> None:
    tab = open_page("/data", java_script_enabled=False)
    upload(tab, [score_table])
    tab.get_by_role("link", name="Which systems differ").click()
    api.expect(tab.locator("#answer table:visible")).to_have_count(2)
    api.expect(tab.locator("#answer th button, #answer select")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_a_gate_is_asked_for_and_its_verdict_said_in_words(
    open_page: Open, score_table: Path, width: int, scheme: str
) -> None:
    tab = open_page("/data", expect_errors=True, viewport={"width": width, "height": 800}, color_scheme=scheme)
    upload(tab, [score_table])
    api.expect(tab.locator("h1")).to_have_text("What was read")
    tab.goto(f"{tab.url}/compare")
    tab.get_by_role("checkbox", name="AP").check()
    tab.get_by_label("Gate").fill("no-worse=0.02")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.get_by_role("alert")).to_contain_text("Name it with «Baseline».")
    tab.get_by_label("Baseline").fill("a")
    tab.get_by_label("Candidate").fill("b, c")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.locator("#answer .failed")).to_contain_text("no-worse=0.02 FAILED: b − a may be as low as")
    api.expect(tab.locator("#answer .failed")).to_contain_text("no-worse=0.02 passed: c − a is at least")
    mark = "getComputedStyle(document.querySelector('#answer .sentence'), '::before').content"
    assert "Gate failed" in tab.evaluate(mark)
    tab.get_by_label("Candidate").fill("c")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.locator("#answer .passed")).to_contain_text("no-worse=0.02 passed: c − a is at least")
    assert "Gate passed" in tab.evaluate(mark)
    api.expect(tab.locator("#command")).to_contain_text("--gate no-worse=0.02 --candidate c")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    paper = luminance(tab.evaluate("getComputedStyle(document.querySelector('#answer .passed')).backgroundColor"))
    ink = luminance(tab.evaluate("getComputedStyle(document.querySelector('#answer .passed')).color"))
    assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) >= 4.5  # WCAG AA


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_a_study_is_started_grows_and_is_tested(
    open_page: Open, score_table: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    tab = open_page("/study-new", viewport={"width": width, "height": 800}, color_scheme=scheme)
    api.expect(sentence(tab)).to_contain_text("new.study fixes the goal: a difference of 0.03")
    named = {
        "Smallest difference of interest": "0.1",
        "Sd of paired differences": "0.08",
        "System": "c",
        "Baseline": "a",
        "Measure": "AP",
    }
    for label, value in named.items():
        tab.get_by_label(label, exact=True).fill(value)
    tab.get_by_label("Candidate topics").fill(" ".join(map(str, range(1, 13))))
    tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("Judge topics in the order drawn")
    with tab.expect_download() as kept:
        tab.get_by_role("link", name="study file with this step").click()
    assert kept.value.suggested_filename == "cranfield-study-new.study"
    tab.get_by_role("button", name="Continue with this study").click()
    api.expect(tab.locator("main .sentence")).to_contain_text("before the test may be run")
    tab.set_input_files("#files", str(score_table))
    tab.get_by_role("button", name="Upload").click()
    tab.get_by_role("link", name="Add topics to a study").click()
    api.expect(sentence(tab)).to_have_count(0)  # until it is asked for
    tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("12 topics added")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.get_by_role("button", name="Continue with this study").click()
    tab.get_by_role("link", name="The test of a study").click()
    tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("c is better than a")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_a_design_is_checked_without_data_with_its_progress(open_page: Open, width: int, scheme: str) -> None:
    path = "/verify?difference=0.05&sd=0.15&systems=10&test=tukey&collections=1000000&tolerance=0.0001&search=false"
    tab = open_page(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    api.expect(tab.locator("[data-progress]")).to_have_text(re.compile(r"Check a design: [1-9][\d,]* of [\d,]+"))
    tab.get_by_role("button", name="Cancel").click()
    api.expect(tab.locator(".fault")).to_contain_text("Cancelled.")
    tab.goto(tab.url.partition("/verify")[0] + "/verify?difference=0.05&sd=0.15&collections=500&search=false")
    api.expect(sentence(tab)).to_contain_text("73 topics were planned for a power of 0.8")
    api.expect(tab.locator("#answer caption").first).to_contain_text("Power, on normal scores")
    api.expect(tab.get_by_role("columnheader", name="formula", exact=True)).to_be_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_too_large_or_wrong_is_said_beside_the_form(browser: Any, serving: Any, tmp_path: Path) -> None:
    large, bomb = tmp_path / "large", tmp_path / "bomb.gz"
    large.write_bytes(b"0" * 5000)
    bomb.write_bytes(gzip.compress(b"0" * 1_000_000))
    with serving(max_upload=4000, max_unpacked=4000) as address, browser.new_context() as context:
        tab = context.new_page()
        tab.goto(f"{address}/data")
        upload(tab, [large])
        api.expect(tab.locator("[data-sent]")).to_contain_text("the server takes 0")
        upload(tab, [bomb])
        api.expect(tab.locator("[data-sent]")).to_contain_text("unpacked, the files are more than")


def test_long_work_shows_progress_and_can_be_cancelled(open_page: Open, example_files: list[Path]) -> None:
    tab = open_page("/data")
    upload(tab, example_files)
    api.expect(tab.locator("h1")).to_have_text("What was read")
    data = tab.url
    tab.goto(f"{data}/shards?shards=2,3,4,5&samples=1000")
    bar = tab.locator("progress")
    api.expect(bar).to_have_attribute("max", "4000")
    api.expect(tab.locator("[data-progress]")).to_have_text(re.compile(r"Shards: [1-9][\d,]* of 4,000"))
    first = tab.evaluate("document.querySelector('progress').value")
    api.expect(bar).not_to_have_js_property("value", first)
    assert tab.evaluate("document.querySelector('progress').value") > first
    tab.get_by_role("button", name="Cancel").click()
    api.expect(tab.locator(".fault")).to_contain_text("Cancelled.")
    api.expect(tab.locator("h1")).to_have_text("Shards")
    assert tab.input_value("#samples") == "1000"


@pytest.mark.proof
def test_every_question_shows_how_far_it_is_and_ends_when_nobody_wants_it(
    open_page: Open, example_files: list[Path]
) -> None:
    tab = open_page("/data")
    upload(tab, example_files)
    tab.locator(".tabs").get_by_role("link", name="Check a design").click()
    tab.fill("#difference", "0.02")  # the choices of a first look are open already
    tab.fill("#collections", "100000")
    tab.fill("#tolerance", "0.0001")
    tab.locator("#test").select_option("permutation")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.locator("h1")).to_have_text("Check a design")
    api.expect(tab.locator("[data-progress]")).to_have_text(re.compile(r"Check a design: [1-9][\d,]* of [\d,]+"))
    tab.get_by_role("button", name="Cancel").click()
    api.expect(tab.locator(".fault")).to_contain_text("Cancelled.")
    assert tab.input_value("#tolerance") == "0.0001"


def test_a_whole_report_is_made_opened_and_kept(
    open_page: Open, browser: Any, example_files: list[Path], tmp_path: Path
) -> None:
    tab = open_page("/data")
    upload(tab, example_files)
    api.expect(tab.locator("h1")).to_have_text("What was read")
    tab.goto(f"{tab.url}/report?measure=AP&section=read&section=size&section=compare")
    api.expect(tab.get_by_role("link", name="Open the report")).to_be_visible()
    troubles: list[str] = []  # listened for in the context: a page that opens is heard from its first line on
    context = tab.context
    context.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    context.on("weberror", lambda trouble: troubles.append(str(trouble.error)))
    with context.expect_page() as opened:
        tab.get_by_role("link", name="Open the report").click()
    report = opened.value
    api.expect(report.locator("h1")).to_contain_text("Report on runs")
    api.expect(report.locator("#result")).to_contain_text("topics")  # its sliders answer: its own scripts run
    before = report.inner_text("#result")
    report.locator("#c-difference").fill("0.3")
    api.expect(report.locator("#result")).not_to_have_text(before)
    assert report.evaluate("getComputedStyle(document.querySelector('figure svg')).maxWidth") == "100%"  # and its style
    assert report.evaluate("origin") == "null"  # apart from the server's pages
    assert troubles == []
    with tab.expect_download() as kept:
        tab.get_by_role("link", name="workbook").click()
    kept.value.save_as(tmp_path / "report.xlsx")
    assert (tmp_path / "report.xlsx").read_bytes()[:2] == b"PK"
    assert kept.value.suggested_filename == "cranfield-report.xlsx"


def test_a_question_is_asked_with_keys_alone(open_page: Open, example_files: list[Path]) -> None:
    tab = open_page("/data")
    upload(tab, example_files)
    api.expect(tab.locator("h1")).to_have_text("What was read")
    press = tab.keyboard.press
    for _ in range(40):
        press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "Past experience":
            break
    press("Enter")
    api.expect(sentence(tab)).to_contain_text("pairs")
    tab.focus("#difference")
    press("End")
    tab.keyboard.type("1")  # 0.051
    press("Enter")
    api.expect(tab.locator("#command")).to_contain_text("--difference 0.051")
    assert "difference=0.051" in tab.url
    assert "missing" not in tab.url  # a link to share says only what was said
    for _ in range(60):
        press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "CSV":
            break
    with tab.expect_download() as started:
        press("Enter")
    assert started.value.suggested_filename == "cranfield-study-past.csv"


ALL_PAGES = ("", "/check", "/variance?percentile=90", "/pilot?trials=2", "/budget?depths=5,10", "/report?section=read")
PAGES = sized(ALL_PAGES[:3], ALL_PAGES)


def test_pages_of_data_fit_a_phone_name_their_fields_and_can_be_read_in_the_dark(
    open_page: Open, example_files: list[Path]
) -> None:
    tab = open_page("/data", viewport={"width": 390, "height": 800}, color_scheme="dark")
    upload(tab, [*example_files, example_files[0].parent.parent / "teams.tsv"])
    api.expect(tab.locator("h1")).to_have_text("What was read")
    data = tab.url
    for path in PAGES:
        tab.goto(data + path)
        api.expect(tab.locator("#command, #main .button, form button").first).to_be_attached()
        api.expect(tab.locator("progress")).to_have_count(0)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390, path
        unnamed = tab.evaluate(
            "[...document.querySelectorAll('input, select')].filter(each => !each.labels.length).map(each => each.name)"
        )
        assert unnamed == []
        assert tab.locator("h1").count() == 1
        paper = luminance(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        for place in (".picture svg text", "h1", ".hint", "td"):
            if tab.locator(place).count():
                style = "fill" if "svg" in place else "color"
                ink = luminance(tab.evaluate(f"getComputedStyle(document.querySelector('{place}')).{style}"))
                assert (ink + 0.05) / (paper + 0.05) >= 4.5, (path, place)  # WCAG AA
    tab.goto(f"{data}/variance?percentile=90")
    api.expect(tab.locator(".questions nav")).to_be_hidden()
    tab.get_by_text("Questions about the data").click()
    api.expect(tab.get_by_role("link", name="Topics against depth")).to_be_visible()


def trec8_sized(folder: Path, depth: int) -> list[Path]:
    """129 runs on 50 topics and judgments for them, as many as TREC-8 has."""
    rng = np.random.default_rng(8)
    files = []
    for run in range(129):
        lines = []
        for topic in range(401, 451):
            documents = rng.permutation(4 * depth)[:depth].tolist()
            lines += [
                f"{topic} Q0 FT{topic}-{document} {rank} {depth - rank} run{run}\n"
                for rank, document in enumerate(documents)
            ]
        files.append(folder / f"input.run{run}")
        files[-1].write_text("".join(lines))
    judged = folder / "qrels.txt"
    judged.write_text("".join(f"{t} 0 FT{t}-{d} {int(d % 17 == 0)}\n" for t in range(401, 451) for d in range(1737)))
    return [*files, judged]


@pytest.mark.proof
def test_data_of_trec_8s_size_is_uploaded_and_compared(open_page: Open, tmp_path: Path) -> None:
    # 1000 documents a list, as TREC-8 has, are 200 MB and a minute: they are asked for by name.
    depth = int(os.environ.get("CRANFIELD_TEST_DEPTH", "20"))
    tab = open_page("/data")
    tab.set_default_timeout(240_000)
    upload(tab, trec8_sized(tmp_path, depth))
    api.expect(tab.locator("main .sentence")).to_contain_text(
        "129 systems, 50 topics, 86,850 judgments", timeout=240_000
    )
    tab.get_by_role("link", name="Which systems differ").click()
    api.expect(tab.locator("#answer svg circle")).to_have_count(26, timeout=240_000)  # the first 25 and the last


def test_without_scripts_forms_still_answer(open_page: Open, example_files: list[Path]) -> None:
    tab = open_page("/", java_script_enabled=False)
    tab.fill("#difference", "0.1")
    tab.get_by_role("button", name="Answer").click()
    api.expect(sentence(tab)).to_contain_text("44 topics")
    tab.get_by_role("link", name="Your data").click()
    upload(tab, example_files)
    api.expect(tab.locator("main .sentence")).to_contain_text("12 systems")


def test_names_like_scripts_stay_names(open_page: Open, tmp_path: Path) -> None:
    evil = ['<img src=x onerror="alert(1)">', "</script><script>alert(2)</script>", "{{7*7}}"]
    rows = [
        f'AP,{topic},"{name.replace(chr(34), chr(34) * 2)}",0.{topic}{at}'
        for topic in (1, 2, 3)
        for at, name in enumerate(evil)
    ]
    table = tmp_path / "evil.csv"
    table.write_text("measure,topic,system,score\n" + "\n".join(rows))
    tab = open_page("/data")
    upload(tab, [table])
    tab.get_by_role("link", name="Which systems differ").click()
    for name in evil:
        api.expect(tab.get_by_role("cell", name=name, exact=True).first).to_be_visible()
    assert tab.locator("main img").count() == 0


def test_another_sites_name_for_this_machine_is_refused(browser: Any, page: str) -> None:
    with browser.new_context() as context:
        tab = context.new_page()
        answer = tab.goto(page.replace("127.0.0.1", "evil.example"))
        assert answer.status == 403
        assert "does not go by that name" in tab.inner_text("body")


def luminance(colour: str) -> float:
    parts = [int(float(each)) / 255 for each in re.findall(r"[\d.]+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(open_page: Open, scheme: str) -> None:
    tab = open_page("/", color_scheme=scheme)
    paper = luminance(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.5) == (scheme == "light")
    places = {
        "h1": "color",
        "nav a": "color",
        ".hint": "color",
        "td": "color",
        "#answer a": "color",
        ".sketch text": "fill",
        "button": "color",
        "code": "color",
        "input": "color",
    }
    seen = {place: f"getComputedStyle(document.querySelector('{place}')).{style}" for place, style in places.items()}
    seen["placeholder"] = "getComputedStyle(document.querySelector('#alpha'), '::placeholder').color"
    for place, look in seen.items():
        ink = luminance(tab.evaluate(look))
        lighter, darker = max(paper, ink), min(paper, ink)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, place  # WCAG AA


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/power",
        "/plans",
        "/trial",
        "/verify",
        "/study-new",
        "/data",
        "/api",
        "/size?difference=0.01:0.1:0.01&sd=0.1,0.2,0.3",
    ],
)
def test_nothing_is_wider_than_a_phone(open_page: Open, path: str) -> None:
    tab = open_page(path, viewport={"width": 360, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_field_has_a_label_and_every_page_one_heading(open_page: Open) -> None:
    for path in ("/", "/power", "/plans", "/trial", "/verify", "/study-new", "/data"):
        tab = open_page(path)
        unnamed = tab.evaluate(
            "[...document.querySelectorAll('input, select')].filter(each => !each.labels.length).map(each => each.name)"
        )
        assert unnamed == []
        assert tab.locator("h1").count() == 1


def test_the_json_of_a_page_is_downloaded_and_its_address_shows_it(open_page: Open) -> None:
    tab = open_page("/")
    link = tab.locator("#answer").get_by_role("link", name="JSON", exact=True)
    with tab.expect_download() as kept:
        link.click()
    assert kept.value.suggested_filename == "cranfield-size.json"
    assert json.loads(Path(kept.value.path()).read_text())["rows"][0]["topics"] == 157
    tab.goto(tab.url.partition("?")[0].rstrip("/") + link.get_attribute("href"))
    assert json.loads(tab.inner_text("body"))["rows"][0]["topics"] == 157


def test_an_answer_is_marked_when_the_form_says_something_else(open_page: Open, score_table: Path) -> None:
    tab = open_page("/data")
    upload(tab, [score_table])
    api.expect(tab.locator("h1")).to_have_text("What was read")
    tab.goto(f"{tab.url}/compare")
    api.expect(tab.locator("[data-stale]")).to_be_hidden()
    tab.fill("#alpha", "0.01")
    api.expect(tab.locator("[data-stale]")).to_be_visible()
    api.expect(tab.locator("#answer")).to_have_attribute("aria-busy", "true")
    tab.fill("#alpha", "")
    api.expect(tab.locator("[data-stale]")).to_be_hidden()
    tab.fill("#alpha", "0.01")
    tab.get_by_role("button", name="Answer").click()
    api.expect(tab.locator("[data-stale]")).to_be_hidden()
    api.expect(sentence(tab).first).to_be_visible()
