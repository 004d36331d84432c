"""Pilots that hardly are any: too few topics, systems all alike, scores of any size, holes. A report comes of each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield import InputError
from cranfield.errors import Caution
from cranfield.methods.design.planning import plan_from_pilot
from cranfield.methods.design.request import Request
from cranfield.methods.variance import estimate_variance
from cranfield.methods.variance.components import squares
from cranfield.rendering.report_files import report_json, report_latex, report_markdown
from cranfield.rendering.report_page import to_html
from cranfield.rendering.report_sections import make_report
from cranfield.rendering.size_document import pilot_size_document
from cranfield.scores import ScoreTable
from sizes import sized

RNG = np.random.default_rng(1)
ODD: dict[str, Any] = {
    "all scores alike": np.full((6, 3), 0.5),
    "systems alike": np.repeat(RNG.random((10, 1)), 3, axis=1),
    "two topics, two systems": RNG.random((2, 2)),
    "three topics": RNG.random((3, 4)),
    "one system": RNG.random((5, 1)),
    "one topic": RNG.random((1, 5)),
    "far below 0": RNG.normal(-100, 30, (20, 5)),
    "large": RNG.normal(1e6, 30, (20, 5)),
    "hardly varying": 0.5 + 1e-9 * RNG.random((10, 3)),
}
GAPS: dict[str, Any] = {
    "holes": np.where(RNG.random((10, 3)) < 0.1, np.nan, RNG.random((10, 3))),
    "a system without scores": np.column_stack([RNG.random((8, 2)), np.full(8, np.nan)]),
}


def table(scores: Any) -> ScoreTable:
    names = tuple(map(str, range(scores.shape[0]))), tuple(f"s{at}" for at in range(scores.shape[1]))
    return ScoreTable(("AP",), *names, scores[np.newaxis, :, :, np.newaxis])


@pytest.mark.parametrize("name", GAPS)
def test_no_report_comes_of_missing_scores(name: str) -> None:
    with pytest.raises(InputError, match="are missing"):
        cranfield.report({name: table(GAPS[name])})


def odd(name: str) -> ScoreTable:
    return table(GAPS[name]).settle("zero") if name in GAPS else table(ODD[name])


@pytest.mark.parametrize("name", sized([*ODD, *GAPS][::2], [*ODD, *GAPS]))
def test_a_report_comes_of_any_table_and_says_what_it_leaves_out(name: str) -> None:
    report = make_report(cranfield.report({name: odd(name)}))
    assert {"read", "scores"} <= {section.slug for section in report.sections}
    assert all(each.reason for each in report.left_out)
    content = json.loads(report_json(report), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert content["rows"]
    assert report_latex(report)
    assert report_markdown(report)


@pytest.mark.parametrize("name", sized(["holes"], ["hardly varying", "two topics, two systems", "holes"]))
def test_the_page_of_an_odd_pilot_can_be_drawn(name: str) -> None:
    assert "<svg" in to_html(make_report(cranfield.report({name: odd(name)})))


def test_no_mean_square_is_below_0() -> None:
    weights = np.ones((3, 10))
    found = squares(ODD["systems alike"], weights)
    assert (np.asarray(found.residual) >= 0).all()


def test_a_pilot_of_two_topics_is_refused_or_gets_a_wide_range() -> None:
    variances = estimate_variance(table(ODD["two topics, two systems"]))
    with pytest.raises(cranfield.RequestError, match="too few"):
        plan_from_pilot(Request(difference=[0.05]), variances)
    sizes = plan_from_pilot(Request(difference=[0.05], small_pilot=True), variances)
    lower, upper = (int(size.topics.flat[0]) for size in (sizes[0].lower, sizes[0].upper))
    assert upper > 50 * lower
    document = pilot_size_document(sizes, {})
    assert document.sentence.startswith(f"AP: between {lower:,} and {upper:,} topics")
    assert [caution.slug for caution in document.warnings if isinstance(caution, Caution)] == ["small-pilot"]
