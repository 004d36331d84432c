"""The calculators over HTTP: the page, its files and its JSON are what the command gives."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html import unescape
from typing import Any

import httpx
import pytest

from cranfield.rendering.drawing import BLUE, ORANGE
from cranfield.web.calculators import EXAMPLES, GOALS

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

JUDGE = {"human_cost": "10", "judge_cost": "0.1"}
SAKAI = {"systems": "10", "min_range": "0.1", "variance": "0.053"}  # S14 Table 4(I): 166 topics


def ask(page: str, path: str, **query: str) -> httpx.Response:
    return http.get(f"{page}{path}", params=query)


def test_published_number_is_on_the_page_and_in_its_json(page: str) -> None:
    answer = ask(page, "/size", **SAKAI)
    assert answer.status_code == 200
    assert "167 topics per system detect a range of 0.1 among 10 systems" in answer.text
    rows = ask(page, "/size.json", **SAKAI).json()["rows"]
    assert {row["method"]: row["topics"] for row in rows} == {"exact": 167, "sakai": 166}


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/size", {**SAKAI, "alpha": "0.01,0.05"}),
        ("/size", {"difference": "0.05", "sd": "0.15", "one_sided": "true", "method": "t"}),
        ("/size", {"difference": "0.05", "sd": "0.15", "systems": "10", "test": "tukey"}),
        ("/size", {"difference": "0.05", "variance": "0.0401", "correlation": "0.66"}),
        ("/size", {"equivalence": "0.3", "true_difference": "0.05"}),
        ("/size", {"width": "0.1", "sd": "0.15", "probability": "0.9"}),
        ("/power", {"topics": "50", "sd": "0.15", "systems": "10", "test": "dunnett"}),
        ("/size", {"goal": "width", "width": "0.1", "variance": "0.053", "systems": "10", "min_range": "0.3"}),
        ("/power", {"topics": "50", "variance": "0.053"}),
        ("/size", {"difference": "0.05", "sd": "0.15", "judge_correlation": "0.3,0.6", **JUDGE}),
        ("/size", {"goal": "min_range", **SAKAI, "judge_correlation": "0.6", **JUDGE}),
        ("/power", {"budget": "500", "sd": "0.15", "judge_correlation": "0.6", **JUDGE}),
        ("/power", {"topics": "30", "judged_topics": "200", "sd": "0.15", "judge_correlation": "0.6"}),
        ("/power", {"topics": "10:50:10", "sd": "0.2"}),
        ("/plans", {"difference": "0.05", "sd": "0.15", "looks": "0.5,1", "spending": "pocock", "bounds": "-2,2"}),
        ("/trial", {"difference": "0.033", "sd": "0.12,0.15", "trial_size": "10:40:10", "confidence": "0.9"}),
    ],
)
def test_the_command_on_a_page_prints_the_pages_json_and_csv(
    page: str, printed: Callable[..., str], path: str, query: dict[str, str]
) -> None:
    html = ask(page, path, **query).text
    assert json.loads(printed(html, "--json")) == ask(page, f"{path}.json", **query).json()
    assert printed(html, "--csv") == ask(page, f"{path}.csv", **query).text


def test_fields_about_a_model_are_a_group_that_is_there_for_the_goals_it_is_for(page: str) -> None:
    with_judge = ask(page, "/size", goal="difference", difference="0.05", sd="0.15", judge_correlation="0.6", **JUDGE)
    assert "52 topics labelled by people among 335 labelled by the model" in with_judge.text
    assert re.search(r"<details open>\s*<summary>Labels of a model</summary>", with_judge.text)
    no_judge = ask(page, "/size", goal="min_range", **SAKAI, judge_correlation="0.6", **JUDGE)
    assert no_judge.status_code == 200
    assert re.search(r"<details open hidden>\s*<summary>Labels of a model</summary>", no_judge.text)
    assert '<p class="field" data-field="judge_correlation" hidden' in no_judge.text


def test_every_link_of_a_page_gives_a_file_of_its_kind(page: str) -> None:
    html = ask(page, "/size", **SAKAI).text
    links = dict(re.findall(r'href="(/size\.(\w+)\?[^"]*)"', html))
    kinds = {kind: http.get(page + unescape(link)) for link, kind in links.items()}
    assert set(kinds) == {"json", "csv", "md", "tex", "svg", "html"}
    assert all(answer.status_code == 200 for answer in kinds.values())
    assert next(csv.DictReader(io.StringIO(kinds["csv"].text)))["topics"] == "167"
    assert ElementTree.fromstring(kinds["svg"].text).tag.endswith("svg")
    assert "http" not in re.sub(r"http://www.w3.org/2000/svg", "", kinds["html"].text)  # a file for itself
    assert "attachment" in kinds["html"].headers["content-disposition"]


def test_a_goal_takes_its_own_inputs_and_leaves_the_others(page: str) -> None:
    everything = {**SAKAI, "difference": "0.05", "width": "0.1", "effect_size": "0.4", "equivalence": "0.1"}
    methods = {
        "difference": "holm",
        "width": "interval",
        "effect_size": "holm",
        "min_range": "exact",
        "equivalence": "tost",
    }
    counts = {"difference": 6, "width": 2, "effect_size": 3, "min_range": 2, "equivalence": 4}
    for goal, method in methods.items():
        rows = ask(page, "/size.json", goal=goal, **everything).json()["rows"]
        assert rows[0]["method"] == method
        assert len(rows) == counts[goal]


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_without_its_fields_is_answered_for_an_example_that_the_form_shows(page: str, goal: str) -> None:
    answer = ask(page, "/size", goal=goal)
    assert answer.status_code == 200
    assert 'class="sentence"' in answer.text
    for name, value in EXAMPLES["goal"][goal].items():
        assert f'id="{name}" name="{name}" value="{value}"' in answer.text
    assert "With example values: " in answer.text
    assert ask(page, "/size.json", goal=goal).status_code == 400  # programs say what they mean


def test_one_goal_after_the_other_is_answered_with_what_the_form_has(page: str) -> None:
    for first in GOALS:
        for second in GOALS:
            html = ask(page, "/size", goal=first).text
            typed = dict(re.findall(r'<input id="(\w+)" name="\1" value="([^"]+)"', html))
            answer = ask(page, "/size", **typed, goal=second)
            assert answer.status_code == 200, (first, second, typed)


@pytest.mark.parametrize("replicates", EXAMPLES["replicates"])
def test_replicates_without_their_fields_are_answered_for_an_example(page: str, replicates: str) -> None:
    answer = ask(page, "/size", goal="difference", difference="0.05", replicates=replicates)
    assert answer.status_code == 200
    assert 'id="icc" name="icc" value="0.5"' in answer.text


def test_what_is_typed_is_not_replaced_and_half_a_form_is_not_filled_while_somebody_types(page: str) -> None:
    kept = ask(page, "/size", goal="width", width="0.2", variance="0.04")
    assert 'id="width" name="width" value="0.2"' in kept.text
    assert 'id="sd" name="sd" value=""' in kept.text
    assert "With example values" not in kept.text
    part = http.get(f"{page}/size", params={"goal": "width"}, headers={"x-part": "answer"})
    assert 'role="alert"' in part.text


def test_an_error_on_a_page_names_the_label_of_the_field(page: str) -> None:
    for query, says in (
        ({"systems": "10", "min_range": "0.1"}, "«variance σ² of a system&#39;s scores» is missing"),
        ({**SAKAI, "min_range": "0"}, "«Smallest range of their means» cannot be 0"),
        ({**SAKAI, "method": "nope"}, "«Method» must be one of: blocked"),
    ):
        assert says in ask(page, "/size", **query).text


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("/size", {"goal": "equivalence", "sd": "0.15"}, "Fill in «Margin of equivalence»."),
        (
            "/size",
            {"goal": "difference", "difference": "0,05", "sd": "0.15"},
            "The decimal separator is a point: 0.05.",
        ),
        (
            "/size",
            {"difference": "0.05", "sd": "0.15", "icc": "x"},
            "«intra-class correlation» must be a number, not «x»",
        ),
        ("/plans", {"difference": "0.05"}, "Fill in «Sd of paired differences»."),
        ("/plans", {"difference": "0,05", "sd": "0.1"}, "The decimal separator is a point: 0.05."),
        ("/plans", {"difference": "0.05", "sd": "0.1", "alpha": "2"}, "must be below 1, not «2»"),
    ],
)
def test_what_is_typed_wrong_is_said_with_the_label_of_the_field(
    page: str, path: str, query: dict[str, str], says: str
) -> None:
    said = unescape(http.get(f"{page}{path}", params=query, headers={"x-part": "answer"}).text)
    assert says in said
    assert "Input" not in said


def test_lists_are_offered_where_a_field_takes_them(page: str) -> None:
    for path, is_offered in (("/size", True), ("/trial", True), ("/plans", False)):
        assert ("Several numbers are a list" in ask(page, path).text) == is_offered


def test_a_curve_passes_through_the_design(page: str) -> None:
    for axis in ("min_range", "systems", "variance", "alpha", "power"):
        svg = ask(page, "/size.svg", **SAKAI, curve=axis).text
        (here,) = re.findall(rf'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" fill="{ORANGE}"', svg)
        assert f'cx="{here[0]}" cy="{here[1]}" r="3" fill="{BLUE}"' in svg, axis


def test_the_mean_of_one_system_is_asked_for_its_own_variance(page: str) -> None:
    html = ask(page, "/size", goal="sensitivity").text
    for name in ("sd", "correlation"):
        assert f'data-field="{name}" hidden' in html
    assert 'data-field="variance"' in html
    assert 'data-field="variance" hidden' not in html
    assert "82 topics estimate a mean to within ± 0.05" in html


@pytest.mark.parametrize("goal", GOALS)
def test_the_curve_of_a_goal_is_one_through_the_design(page: str, goal: str) -> None:
    svg = ask(page, "/size", goal=goal).text
    assert len(re.findall(f'<circle [^>]*fill="{ORANGE}"', svg)) == 1
    assert len(re.findall(f'<path [^>]*stroke="{BLUE}"', svg)) == 1


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"systems": "ten", "min_range": "0.1", "variance": "1"}, "«systems» cannot be «ten»"),
        ({"systems": "10", "min_range": "0", "variance": "1"}, "«min range» cannot be 0"),
        ({"systems": "10", "min_range": "0.1"}, "«variance» is missing"),
        ({"systems": "10"}, "there is no goal"),
        ({"systems": "2:2000002", "min_range": "0.1", "variance": "1"}, "has 2,000,001 values"),
        ({"systems": "2:101", "min_range": "0.00001:1:0.00001", "variance": "1"}, "10,000,000"),
        ({**SAKAI, "alpha": "1e999999"}, "«alpha» cannot be"),
        ({**SAKAI, "alpha": "0:1e90:1e-90"}, "«alpha» cannot be «0:1e90:1e-90»|has "),
        ({**SAKAI, "curve": "sd"}, "no «sd» to vary"),
        ({**SAKAI, "method": "nope"}, "«method» must be one of: blocked"),
        ({**SAKAI, "test": "tukey"}, "«test» has no effect"),
        ({"width": "0.1", "sd": "0.1", "systems": "10"}, "«systems» has no effect"),
        ({"difference": "0.05", "sd": "0.1", "variance": "0.1"}, "«sd» and «variance»"),
        ({"sytems": "10"}, "no parameter «sytems»"),
    ],
)
def test_a_request_without_sense_says_why_on_the_page_and_in_json(page: str, query: dict[str, str], says: str) -> None:
    answer = ask(page, "/size.json", **query)
    assert answer.status_code in (400, 422)
    assert re.search(says, answer.json()["error"]["what"])
    html = ask(page, "/size", **query)
    assert html.status_code in (400, 422)
    assert 'role="alert"' in html.text
    assert all(f'value="{value}"' in html.text for name, value in query.items() if name in SAKAI)


def test_what_is_typed_comes_back_as_text(page: str) -> None:
    evil = '"><script>alert(1)</script>'
    for query in ({"systems": evil}, {evil: "1"}, {**SAKAI, "method": "<b>"}):
        assert "<script>alert" not in (text := ask(page, "/size", **query).text)
        assert "<b>" not in text


def test_an_unreachable_goal_is_answered_in_words_without_a_curve(page: str) -> None:
    answer = ask(page, "/size", systems="10", min_range="0.00001", variance="5")
    assert answer.status_code == 200
    assert "No number of topics up to" in answer.text


def test_json_and_openapi_are_documented_on_the_api_page(page: str) -> None:
    document: dict[str, Any] = ask(page, "/openapi.json").json()
    listed = ask(page, "/api").text
    assert "/size.json" in document["paths"]
    assert all(path in unescape(listed) for path in document["paths"])
    names = [each["name"] for each in document["paths"]["/size.json"]["get"]["parameters"]]
    assert {"systems", "min_range", "one_sided"} <= set(names)


def test_pages_load_nothing_from_elsewhere(page: str) -> None:
    for path in ("/", "/power", "/api", "/static/page.css", "/static/page.js"):
        text = http.get(page + path).text
        text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name, which nothing loads
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//|url\(|@import|https?://", text), path


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"human_cost": "2"}, "«human cost» has no effect without «judge cost»"),
        ({"probability": "0.9"}, "«probability» has no effect without «width»"),
        ({"correlation": "0.5"}, "«correlation» has no effect without «variance»"),
        ({"judge_correlation": "0.6", "items": "3"}, "«judge correlation» has no effect with «items»"),
    ],
)
def test_what_has_no_effect_is_refused_by_the_interface_too(page: str, given: dict[str, str], what: str) -> None:
    found = ask(page, "/size.json", difference="0.05", sd="0.15", **given)
    assert found.status_code == 400
    assert found.json()["error"]["what"] == what
    shown = ask(page, "/size", difference="0.05", sd="0.15", goal="difference", **given)
    assert all(re.search(rf'data-field="{name}" hidden', shown.text) for name in [next(iter(given))])


def test_a_field_that_a_page_has_not_is_refused_by_name(page: str) -> None:
    assert ask(page, "/size.json", difference="0.05", sd="0.15", missing="drop").status_code == 422
