"""The list of questions: every one has a form, an example and a place; checks and whole reports besides."""

from __future__ import annotations

import io
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path

import httpx
import pytest

from cranfield.cli.app import COMMANDS, make_app
from cranfield.rendering.report_page import served_policy
from cranfield.web.calculators import CALCULATORS, Calculator
from cranfield.web.forms import make_form
from cranfield.web.page_list import GROUPS, QUESTIONS, WITHOUT_DATA, askable
from cranfield.web.page_maker import DataPage

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]
Printed = Callable[..., str]
http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

ABOUT = {
    "kind": "collection",
    "files": ["a"],
    "names": ["a"],
    "systems": ["a", "b", "c", "d"],
    "topics": 40,
    "added": "",
}
GROWING = {each.name for each in GROUPS["The study"]}
APART = {"pack", "study", "serve", "mcp", "measures", "demo"}  # make files, talk, or are pages themselves


def test_every_command_about_data_is_a_question() -> None:
    asked = {name.partition("-")[0] for name in QUESTIONS}
    assert set(COMMANDS) - APART <= asked
    assert {"study-past", "study-trial", "study-simulate", "study-peek"} <= set(QUESTIONS)
    assert sum(map(len, GROUPS.values())) == len(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_parameter_is_a_flag_of_the_command_and_a_field_of_the_form(name: str) -> None:
    import typer.main

    question = QUESTIONS[name]
    form = make_form(question.query, question.example(ABOUT))
    shown = [*form.front, *(each for group in form.groups for each in group.fields)]
    fields = [each.name for each in shown]
    assert sorted(fields) == sorted(question.query.model_fields)
    assert all(each.label and each.hint for each in shown)
    command = typer.main.get_command(make_app())
    for word in question.command.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    flags = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    assert {f"--{field.replace('_', '-')}" for field in fields if field != "human"} <= flags  # which file is the first


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_page_asks_by_itself_is_a_question_with_sense(name: str) -> None:
    question = QUESTIONS[name]
    if question.waits:  # it asks nothing by itself
        return
    for systems in (["a", "b"], ["a", "b", "c", "d"]):
        question.query.model_validate(question.example({**ABOUT, "systems": systems}))


@pytest.mark.parametrize(
    ("kind", "without"),
    [
        ("scores", {"score", "shards", "pilot", "budget", "judges", *GROWING}),  # judges are in tables of their own
        ("files", set(QUESTIONS) - {"check"}),
        ("collection", {"judges", "leaderboard", *GROWING}),
        ("study", set(QUESTIONS) - GROWING | {"study-add"}),  # there is nothing to add
    ],
)
def test_data_is_asked_what_makes_sense_for_it(kind: str, without: set[str]) -> None:
    assert {each.name for each in askable({**ABOUT, "kind": kind})} == set(QUESTIONS) - without


def test_of_several_tables_nothing_is_asked_that_is_about_one() -> None:
    two = {each.name for each in askable({**ABOUT, "kind": "scores", "names": ["a", "b"]})}
    assert two == {"check", "variance", "size", "power", "compare", "leaderboard", "judges", "reliability", "report"}


# --- check


def test_files_that_cannot_be_read_are_still_checked(
    page: str, upload: Upload, wait: Wait, printed: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "a.run": b"1 Q0 d 1 2.0 t\n1 Q0 d 2 1.0 t\n1 Q0 e x t\n",
        "b.run": b"1 Q0 d 1 2.0 u\n",
        "qrels": b"1 0 d 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    link = page + upload(page, list(files.items())).json()["link"]
    refused = wait(link)
    assert refused.status_code == 400
    assert f'href="{link.removeprefix(page)}/check"' in refused.text
    checked = wait(f"{link}/check.json").json()
    assert {row["file"] for row in checked["rows"] if row["severity"] == "error"} == {"a.run"}
    monkeypatch.chdir(tmp_path)
    html = wait(f"{link}/check?all=true").text
    assert "cranfield check a.run b.run qrels --all" in html
    assert "cranfield compare" not in html
    assert json.loads(printed(html, "--json", ends=2))["rows"] == checked["rows"]
    assert wait(f"{link}/compare.json").status_code == 400


# --- the whole report


@pytest.fixture(scope="module")
def asked() -> str:
    return "measure=AP&min_range=0.2&section=read&section=size&section=compare&section=reliability&title=%3Cb%3Emine"


@pytest.fixture
def whole(collection: str, wait: Wait, asked: str) -> httpx.Response:
    return wait(f"{collection}/report?{asked}")


def test_a_report_is_what_the_command_writes(
    collection: str,
    whole: httpx.Response,
    wait: Wait,
    asked: str,
    printed: Printed,
    example: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert whole.status_code == 200
    assert "<b>mine" not in whole.text
    monkeypatch.chdir(example)
    answer = wait(f"{collection}/report.json?{asked}").json()
    assert answer == json.loads(printed(whole.text, "--json"))
    assert wait(f"{collection}/report.md?{asked}").text == printed(whole.text, "--md")


def test_a_report_has_every_face(collection: str, whole: httpx.Response, wait: Wait) -> None:
    links = {kind: unescape(link) for link, kind in re.findall(r'href="([^"]*/report\.(\w+)\?[^"]*)"', whole.text)}
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert set(links) >= {"html", "md", "tex", "json", "xlsx", "bib"} | ({"pdf"} if browser else set())
    files = {kind: wait(collection.partition("/data")[0] + link) for kind, link in links.items()}
    assert all(answer.status_code == 200 for answer in files.values())
    assert "attachment" in files["html"].headers["content-disposition"]
    assert not re.search(r"(?:src|href)=.(?:https?:)?//|url\(http|@import", files["html"].text)
    assert zipfile.ZipFile(io.BytesIO(files["xlsx"].content)).testzip() is None
    assert files["bib"].text.startswith("@")
    if browser:
        assert files["pdf"].content.startswith(b"%PDF")
    else:
        assert "There is no PDF" in whole.text


def test_an_opened_report_runs_its_own_scripts_apart_from_the_server(
    collection: str, whole: httpx.Response, wait: Wait, asked: str
) -> None:
    opened = wait(f"{collection}/report/open?{asked}")
    policy = opened.headers["content-security-policy"]
    assert policy == served_policy()
    assert "unsafe" not in policy
    assert "sandbox" in policy
    assert "allow-same-origin" not in policy
    assert opened.headers["content-disposition"] == "inline"
    assert "&lt;b&gt;mine" in opened.text


# --- files besides


def test_scores_of_every_topic_can_be_taken_along_and_come_back(
    page: str, collection: str, upload: Upload, wait: Wait
) -> None:
    kept = wait(f"{collection}/score.scores?measure=AP")
    assert 'filename="cranfield-score.scores.csv"' in kept.headers["content-disposition"]
    again = page + upload(page, [("scores.csv", kept.content)]).json()["link"]
    compared = [wait(f"{each}/compare.json?measure=AP").json()["rows"] for each in (again, collection)]
    assert compared[0] == compared[1]
    drawn = wait(f"{again}/simulate.scores?topics=7").text
    assert len(drawn.splitlines()) == 1 + 7 * 12


def test_a_card_has_its_badge(scores: str, wait: Wait) -> None:
    kept = wait(f"{scores}/power.badge?measure=AP")
    assert 'filename="cranfield-power.badge.svg"' in kept.headers["content-disposition"]
    assert ElementTree.fromstring(kept.text).tag.endswith("svg")


def test_a_board_is_a_page_to_keep(scores: str, wait: Wait) -> None:
    kept = wait(f"{scores}/leaderboard.board?measure=AP&resamples=200")
    assert 'filename="cranfield-leaderboard.board.html"' in kept.headers["content-disposition"]
    assert '<table class="systems">' in kept.text


def test_charts_of_an_answer_are_one_file(collection: str, wait: Wait) -> None:
    svg = ElementTree.fromstring(wait(f"{collection}/reliability.svg?trials=20&resamples=100").text)
    inner = [each for each in svg if each.tag.endswith("svg")]
    assert len(inner) == 4
    ends = [float(each.get("y", 0)) + float(each.get("height", 0)) for each in inner]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(float(svg.get("height", 0)))


def test_a_link_says_only_what_was_said(collection: str) -> None:
    sent = http.get(f"{collection}/pilot?measure=&min_range=&systems=4&method=&seed=")
    assert sent.status_code == 303
    assert sent.headers["location"].endswith("/pilot?systems=4")


OF_MEASURES = ("variance", "size?difference=0.05", "power", "pilot?trials=20", "budget", "compare", "reliability")


@pytest.mark.parametrize("asked", OF_MEASURES)
def test_every_measure_has_its_own_answer_where_one_is_shown_at_a_time(collection: str, wait: Wait, asked: str) -> None:
    name, _, query = asked.partition("?")
    html = wait(f"{collection}/{name}?{query}&measure=AP&measure=nDCG@10").text
    shown = html[html.index('id="answer"') :]
    assert "data-switch" in shown
    sentence = re.search(r'<p class="sentence".*?</p>', shown, re.S)
    assert sentence
    lines = re.findall(r'<span( data-measure="[^"]*")?>(.*?)</span>', sentence[0], re.S)
    for measure, other in (("AP", "nDCG@10"), ("nDCG@10", "AP")):
        mine = [text for mark, text in lines if mark == f' data-measure="{measure}"']
        assert len(mine) == 1
        assert mine[0].startswith(f"{measure}: ")
        assert f"{other}: " not in mine[0]
    figures = re.findall(r'<figure[^>]*?(?: data-measure="([^"]*)")?>', shown)
    assert "" in figures or figures == ["AP", "nDCG@10"]


def test_the_chart_of_a_measure_is_its_own(collection: str, wait: Wait) -> None:
    html = wait(f"{collection}/size?difference=0.05&measure=AP&measure=nDCG@10").text
    charts = re.findall(r'<figure data-measure="([^"]*)">(.*?)</figure>', html, re.S)
    alone = {name: wait(f"{collection}/size?difference=0.05&measure={name}").text for name in ("AP", "nDCG@10")}
    assert [name for name, _ in charts] == ["AP", "nDCG@10"]
    for name, chart in charts:
        assert f"<figcaption>{name}. " in chart
        assert chart in alone[name]


OF_COMMANDS = re.compile(r"exit code|the command ends|may be repeated|COLUMN|page «[a-z]")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_page_has_no_words_of_the_command(name: str) -> None:
    question = QUESTIONS[name]
    form = make_form(question.query, {})
    hints = [each.hint for each in (*form.front, *(each for group in form.groups for each in group.fields))]
    for text in (question.summary, *hints):
        assert not OF_COMMANDS.search(text), text


def test_messages_on_a_page_call_other_pages_by_their_titles(collection: str, wait: Wait, page: str) -> None:
    said = unescape(wait(f"{collection}/score?measure=foo").text)
    assert "The page «Measures» lists them all." in said
    assert 'href="/measures"' in said
    measures = wait(f"{page}/measures").text
    assert "<td>nDCG[@k]</td>" in measures
    assert "data-switch" not in measures
    assert wait(f"{page}/measures.json").json()["rows"][0]["title"] == "Average precision"


def test_a_design_for_many_systems_is_checked_when_the_page_is_opened(page: str, upload: Upload, wait: Wait) -> None:
    poor = [("poor", str(topic), 0.0) for topic in range(1, 21)]  # a system that cannot have a mean of 0.3
    rows = [(f"s{at}", str(topic), 0.05 + (at * topic) % 11 / 20) for at in range(30) for topic in range(1, 21)]
    table = "\n".join(
        ["measure,topic,system,score", *(f"AP,{topic},{name},{score}" for name, topic, score in rows + poor)]
    )
    link = page + upload(page, [("many.csv", table.encode())]).json()["link"]
    opened = wait(f"{link}/verify")
    assert opened.status_code == 200
    assert 'value="10"' in opened.text
    refused = wait(f"{link}/verify?difference=0.05&collections=250&search=false")
    assert refused.status_code == 400
    advice = re.search(r"Compare (\d+) or fewer: «Systems m» \1\.", unescape(refused.text))
    assert advice
    assert wait(f"{link}/verify?difference=0.05&collections=250&search=false&systems={advice[1]}").status_code == 200


@pytest.mark.parametrize(
    "asked", [*QUESTIONS.values(), *WITHOUT_DATA.values(), *CALCULATORS.values()], ids=lambda asked: asked.name
)
def test_choices_are_told_apart_and_the_one_that_is_made_is_named(asked: DataPage | Calculator) -> None:
    form = make_form(asked.query, {})
    for each in (*form.front, *(each for group in form.groups for each in group.fields)):
        texts = list((each.choices or {}).values())
        assert len(set(texts)) == len(texts), each.name
        assert not any("default" in text for text in texts), each.name


@pytest.mark.parametrize("path", ["/verify", "/data/KEY/report?section=size", "/data/KEY/compare", "/size"])
def test_ids_on_a_page_are_unique(page: str, scores: str, wait: Wait, path: str) -> None:
    html = wait(page + path.replace("/data/KEY", scores.removeprefix(page))).text
    ids = re.findall(r'<(?!svg|g |path|clipPath)[a-z]+ [^>]*?\bid="([^"]+)"', html)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("asked", [*WITHOUT_DATA.values(), *CALCULATORS.values()], ids=lambda asked: asked.name)
def test_a_page_without_data_speaks_of_no_data(asked: DataPage | Calculator) -> None:
    form = make_form(asked.query, {})
    for each in (*form.front, *(each for group in form.groups for each in group.fields)):
        assert not re.search(r"pilot|the collection's|columns|[Ww]ith(out)? scores", each.hint), each.hint
