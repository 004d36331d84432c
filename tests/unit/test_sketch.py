"""Charts as plain SVG: ticks, marks, names, and the curve a design lies on."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.methods.design.cards import AXES, card_curves, curve_through
from cranfield.methods.design.planning import plan
from cranfield.methods.design.request import Request
from cranfield.rendering.charts import size_curves
from cranfield.rendering.sketch import Axis, Curve, interval_sketch, line_sketch, log_ticks, nice_ticks, standalone
from designs import detectable_difference

DESIGN = Request(systems=[10], min_range=[0.1], variance=[0.053])


@settings(deadline=None)  # a busy machine is no failure
@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_ticks_are_few_in_order_and_within(low: float, span: float) -> None:
    ticks = nice_ticks(low, low + span)
    assert len(ticks) <= 8
    assert ticks == sorted(ticks)
    assert all(low - 1e-6 * span <= tick <= low + span + 1e-6 * span for tick in ticks)


@settings(deadline=None)  # a busy machine is no failure
@given(st.floats(1e-3, 1e6), st.floats(1.01, 1e6))
def test_logarithmic_ticks_are_within(low: float, factor: float) -> None:
    assert all(low <= tick <= low * factor * 1.0001 for tick in log_ticks(low, low * factor))


def test_an_axis_puts_its_ends_at_its_ends() -> None:
    for log in (False, True):
        axis = Axis(2.0, 200.0, 10, 110, log)
        assert (axis.at(2.0), axis.at(200.0)) == (10, 110)
    assert Axis(2.0, 200.0, 10, 110, True).at(20.0) == 60


def test_a_sketch_is_well_formed_whatever_the_names_are() -> None:
    rows = [{"system": f'<b>&"{at}', "score": 0.5 - at / 100, "lower": 0.3, "upper": 0.6} for at in range(20)]
    for svg in (
        line_sketch([Curve("<a>", [(1, 2), (2, 4)]), Curve("&", [(1, 3), (2, 1)])], x_title="<x>", y_title="&y"),
        interval_sketch(rows, title="<mean>"),
        interval_sketch([{**row, "lower": float("nan"), "upper": float("nan")} for row in rows[:3]], title="m"),
    ):
        ElementTree.fromstring(svg)
        assert ElementTree.fromstring(standalone([svg])).tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(r"<b>|<a>|<x>|nan", svg)


@pytest.mark.parametrize("axis", ["min_range", "systems", "variance", "alpha", "power"])
def test_a_curve_goes_through_its_design_and_one_way(axis: str) -> None:
    there = int(plan(DESIGN)[0].topics.item())
    moved = curve_through(DESIGN, axis)
    values = np.asarray(getattr(moved, axis))
    topics = plan(moved)[0].topics.ravel()
    assert topics[values == DESIGN.values(axis)[0]].tolist() == [there]
    steps = np.diff(topics)
    assert (steps <= 0).all() if axis in ("min_range", "alpha") else (steps >= 0).all()


@pytest.mark.parametrize(
    ("request_", "axis"),
    [
        (Request(effect_size=[0.33]), "effect_size"),
        (Request(difference=[0.05], variance=[0.05], correlation=[0.6]), "correlation"),
        (Request(width=[0.1], variance=[0.05], correlation=[0.6]), "variance"),
    ],
)
def test_an_input_that_follows_from_another_is_neither_an_axis_nor_a_curve(request_: Request, axis: str) -> None:
    x, rows = size_curves(plan(curve_through(request_, axis))[0].to_dict())
    assert x == axis
    assert {row["curve"] for row in rows} == {""}
    assert request_.values(axis)[0] in [row[x] for row in rows]


def test_a_grid_is_its_own_curve_and_what_is_not_given_has_none() -> None:
    grid = Request(systems=[5, 10], min_range=[0.1], variance=[0.053])
    assert curve_through(grid) is grid
    with pytest.raises(RequestError, match="no «sd» to vary"):
        curve_through(DESIGN, "sd")
    with pytest.raises(RequestError, match="Choose one of"):
        curve_through(Request())
    assert set(AXES) >= {"min_range", "sd"}


def test_curves_of_a_card_fall_and_pass_through_it() -> None:
    topics, found = card_curves(cf.power(topics=50, sd=0.15).cards[0])
    assert topics == sorted(topics)
    at = topics.index(50)
    assert found["detectable_difference"][at] == pytest.approx(float(detectable_difference(topics=50, sd=0.15)))
    assert all(np.all(np.diff(values) < 0) for values in found.values())
