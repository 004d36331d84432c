"""The renderer and the kinds of charts: scales, texts, rules of the theme, curves, files."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import by_flags
import cranfield as cf
from chart_rules import check_chart, dots, marks
from cranfield.errors import RequestError
from cranfield.methods.design.cards import cards_from_grid
from cranfield.methods.design.curves import AXES, card_curves, curve_through
from cranfield.methods.design.planning import plan
from cranfield.methods.design.request import Request
from cranfield.rendering.charts import Series, curves, diagram, listing, stacked, write_chart
from cranfield.rendering.drawing import (
    INSET,
    ORANGE,
    Axis,
    Chart,
    Scale,
    log_ticks,
    nice_ticks,
    shortened,
    spread,
    text_width,
    whole_ticks,
    wrapped,
)
from designs import detectable_difference

DESIGN = Request(systems=[10], min_range=[0.1], variance=[0.053])


# --- scales and texts


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
    assert all(low * 0.9999 <= tick <= low * factor * 1.0001 for tick in log_ticks(low, low * factor))


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(0, 50), st.integers(1, 100_000))
def test_ticks_of_ranks_and_counts_are_whole(low: int, span: int) -> None:
    ticks = whole_ticks(low, low + span)
    assert all(tick == int(tick) and low <= tick <= low + span for tick in ticks)
    assert len(ticks) <= 10
    assert ticks == sorted(set(ticks))


def test_the_ends_of_an_axis_lie_inside_its_panel() -> None:
    for log in (False, True):
        scale = Scale(2.0, 200.0, 10, 110, log)
        assert (scale.at(2.0), scale.at(200.0)) == (10 + INSET, 110 - INSET)
    assert Scale(2.0, 200.0, 10, 110, True).at(20.0) == 60
    assert Scale(200.0, 2.0, 10, 110).at(200.0) == 10 + INSET  # a falling axis


@settings(deadline=None)  # a busy machine is no failure
@given(st.text(min_size=1, max_size=60), st.floats(30, 300))
def test_lines_of_a_text_fit_their_width(text: str, width: float) -> None:
    assert all(text_width(line) <= width for line in wrapped(text, width))
    assert text_width(shortened(text, width)) <= max(width, 3.1 * 12)


def test_labels_that_would_overlap_are_moved_apart() -> None:
    middles = spread([50, 51, 52, 99], [16, 16, 16, 16], 0, 100)
    assert all(b - a >= 16 for a, b in pairwise(middles))
    assert middles[-1] <= 92


@pytest.mark.parametrize("size", ["page", "column", "slide"])
def test_a_chart_has_the_shape_of_its_size(size: str) -> None:
    root = ElementTree.fromstring(cf.size(difference=0.05, sd=0.15).chart().to_svg(size))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width == {"page": 640, "column": 340, "slide": 1280}[size]
    assert size != "slide" or height == 720
    with pytest.raises(RequestError, match="no size «poster»"):
        cf.size(difference=0.05, sd=0.15).chart().to_svg("poster")


def test_a_chart_is_well_formed_whatever_the_names_are() -> None:
    series = [Series("<a>", [(1, 2), (2, float("nan"))]), Series("&", [(1, 3), (2, 1)])]
    chart = Chart(panels=[curves(series, x=Axis(title="<x>"), y=Axis(title='"y&'))], title="<b>")
    assert ElementTree.fromstring(stacked([chart.to_svg(), chart.to_svg()])).tag == "{http://www.w3.org/2000/svg}svg"
    assert not any(raw in chart.to_svg() for raw in ("<b>", "<a>", "<x>", "nan"))
    check_chart(chart)


# --- files


def test_charts_are_written_in_every_format(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = cf.power(topics=50, sd=0.15, systems=10).chart()
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!doctype html>"}
    for ending, start in starts.items():
        write_chart(chart, str(tmp_path / f"x{ending}"))
        assert (tmp_path / f"x{ending}").read_bytes().startswith(start)
    png = (tmp_path / "x.png").read_bytes()
    assert int.from_bytes(png[16:20], "big") == 2 * 640
    for name in ("x.json", "x.gif"):
        with pytest.raises(RequestError, match="does not say which picture"):
            chart.save(str(tmp_path / name))


def test_a_notebook_shows_a_chart() -> None:
    assert cf.size(difference=0.05, sd=0.15).chart()._repr_svg_().startswith("<svg")


# --- systems


def scores_of(systems: int, topics: int = 30, measures: int = 1) -> cf.ScoreTable:
    rng = np.random.default_rng(7)
    values = rng.normal(np.linspace(0.6, 0.2, systems), 0.15, (measures, topics, systems)).clip(0, 1)
    names = tuple(f"m{at}" for at in range(measures))
    return cf.ScoreTable(
        names, tuple(map(str, range(topics))), tuple(f"s{at}" for at in range(systems)), values[..., np.newaxis]
    )


@pytest.mark.parametrize("kind", ["intervals", "matrix", "critical-difference", "topics"])
@pytest.mark.parametrize("systems", [2, 12, 70])
@pytest.mark.parametrize("test", ["t", "tukey"])
def test_charts_of_comparisons_keep_the_rules(kind: str, systems: int, test: Any) -> None:
    check_chart(cf.compare(scores_of(systems), test="t" if systems == 2 else test).chart(kind))


def test_the_best_is_on_top_and_the_reference_is_there() -> None:
    found = cf.compare(scores_of(12))
    chart, best = found.chart(), found.comparisons["m0"].systems
    assert list(chart.panels[0].y.names) == list(best)
    assert dots(chart)[best[0]] == 0.0
    assert chart.panels[0].y.bold == [0]
    other = cf.compare(scores_of(12), baseline=best[4]).chart()
    assert list(other.panels[0].y.names) == list(best)
    assert other.panels[0].y.bold == [4]
    assert dots(other)[best[4]] == 0.0


def test_dots_are_filled_exactly_where_the_difference_is_significant() -> None:
    found = cf.compare(scores_of(12))
    chart = found.chart()
    (drawn,) = marks(chart, "dots")
    hollow = {chart.panels[0].y.names[at] for at, is_hollow in enumerate(drawn.hollow) if is_hollow}
    best = found.comparisons["m0"].systems[0]
    pairs = [pair for pair in found.to_dict()["pairs"] if best in (pair["system_a"], pair["system_b"])]
    unlike = {name for pair in pairs for name in (pair["system_a"], pair["system_b"]) if not pair["significant"]}
    assert hollow == unlike - {best}
    assert 0 < len(hollow) < 11
    assert [mark.x for mark in marks(chart, "upright")] == [[0.0]]


def test_of_many_systems_the_first_25_the_reference_and_the_last_are_drawn() -> None:
    found = cf.compare(scores_of(70), baseline="s40")
    order = found.comparisons["m0"].systems
    names = list(found.chart().panels[0].y.names)
    assert names == [*order[:25], f"⋯ {70 - 27} more", "s40", order[-1]]
    assert listing([str(at) for at in range(40)]).left_out == 0


def test_two_baselines_have_a_panel_each_and_more_are_counted() -> None:
    table = scores_of(8)
    two, three = (cf.compare(table, baseline=list(names)).chart() for names in (("s1", "s2"), ("s1", "s2", "s3")))
    assert [panel.x.title for panel in two.panels] == ["difference in m0 from s1", "difference in m0 from s2"]
    assert "first 2 of 3 baselines" in three.note


def test_tukeys_intervals_overlap_exactly_where_pairs_do_not_differ() -> None:
    found = cf.compare(scores_of(6), test="tukey")
    own, shared = marks(found.chart(), "spans")
    ends = dict(zip(found.comparisons["m0"].systems, zip(shared.x, shared.x2, strict=True), strict=True))
    for pair in found.to_dict()["pairs"]:
        (low_a, high_a), (low_b, high_b) = ends[pair["system_a"]], ends[pair["system_b"]]
        assert (low_a <= high_b and low_b <= high_a) != pair["significant"]
    assert own.width < shared.width  # the interval of a single mean stands behind


def test_several_measures_have_a_panel_each() -> None:
    chart = cf.compare(scores_of(5, measures=3)).chart()
    assert [panel.title for panel in chart.panels] == ["m0", "m1"]
    assert "first 2 of 3 measures" in chart.note
    check_chart(chart)


def test_differences_on_topics_are_sorted_and_all_there() -> None:
    table = scores_of(2)
    found = cf.compare(table)
    (bars,) = marks(found.chart("topics"), "bars")
    a, b = (table.of("m0")[:, table.systems.index(name)] for name in found.comparisons["m0"].systems)
    assert list(bars.y2) == pytest.approx(sorted((a - b).tolist(), reverse=True))
    assert [(value > 0, value < 0) for value in bars.y2] == [
        (tone == "#0072b2", tone == ORANGE) for tone in bars.colours
    ]
    low = cf.compare(table, lower_is_better=True).chart("topics")
    assert list(marks(low, "bars")[0].y2) == sorted(marks(low, "bars")[0].y2)


def test_many_topics_are_evenly_spaced_with_both_ends() -> None:
    table = scores_of(2, topics=5000)
    (bars,) = marks(cf.compare(table).chart("topics"), "bars")
    gaps = table.of("m0")[:, 0] - table.of("m0")[:, 1]
    assert len(bars.y2) <= 200
    assert sorted((max(bars.y2), -min(bars.y2))) == pytest.approx(sorted((gaps.max(), -gaps.min())))


def test_a_bar_of_the_diagram_passes_over_systems_that_are_not_of_its_group() -> None:
    systems = [(f"s{at}", 1 - at / 100) for at in range(12)]
    panel = diagram(systems, [range(4), [2, 3, 5, *range(8, 12)]], axis="mean", best_is_high=True)
    joined = [list(mark.y) for mark in panel.marks if mark.kind == "dots"][1:]
    assert joined == [[0, 1, 2, 3], [2, 3, 5, 8, 9, 10, 11]]
    places = [mark.x[0] for mark in panel.marks if mark.kind == "spans"]
    assert places[0] != places[1]  # they touch, so each has its own line
    assert panel.x.is_falling


# --- curves


@pytest.mark.parametrize("axis", ["min_range", "systems", "variance", "alpha", "power"])
def test_a_curve_goes_through_its_design_and_one_way(axis: str) -> None:
    there = int(plan(DESIGN)[0].topics.item())
    moved = curve_through(DESIGN, axis)
    values = np.asarray(getattr(moved, axis))
    topics = plan(moved)[0].topics.ravel()
    assert topics[values == DESIGN.values(axis)[0]].tolist() == [there]
    steps = np.diff(topics)
    assert (steps <= 0).all() if axis in ("min_range", "alpha") else (steps >= 0).all()


def test_an_axis_that_is_not_given_is_refused() -> None:
    with pytest.raises(RequestError, match="no «sd» to vary"):
        curve_through(DESIGN, "sd")
    with pytest.raises(RequestError, match="Choose one of"):
        curve_through(Request())
    assert set(AXES) >= {"min_range", "sd"}


@pytest.mark.parametrize(
    "asked",
    [
        {"effect_size": 0.33},
        {"difference": 0.05, "variance": 0.05, "correlation": 0.6},
        {"width": 0.1, "variance": 0.05},
        {"min_range": [0.1, 0.2], "variance": [0.04, 0.05], "systems": [2, 10, 30]},
        {"difference": [0.02, 0.05, 0.1], "sd": [0.1, 0.15], "systems": 10},
    ],
)
def test_a_list_has_one_dense_curve_per_value_through_all_that_was_asked(asked: dict[str, Any]) -> None:
    found = by_flags.size(**asked)
    chart = found.chart()
    check_chart(chart)
    drawn = [set(zip(mark.x, mark.y, strict=True)) for mark in marks(chart, "line")]
    asked_for = {point for mark in marks(chart, "dots") for point in zip(mark.x, mark.y, strict=True)}
    rows = [row["topics"] for row in found.to_dict()["rows"] if row["method"] == found.sizes[0].method.name]
    assert sorted(y for _, y in asked_for) == sorted(set(rows)) or len(asked_for) == len(rows)
    assert asked_for <= set.union(*drawn)
    assert all(len(points) > 20 for points in drawn)
    for mark in marks(chart, "line"):  # no zigzag: n moves one way along the input
        steps = np.diff(mark.y)
        assert (steps <= 0).all() or (steps >= 0).all()


def test_a_range_and_a_width_are_on_one_chart() -> None:
    chart = by_flags.size(min_range=[0.05, 0.1, 0.2], width=[0.05, 0.1, 0.2], variance=0.05, correlation=0, systems=10)
    drawn = chart.chart()
    names = [mark.name for mark in marks(drawn, "line")]
    assert sorted(names) == ["interval width", "range"]
    assert drawn.panels[0].x.is_log
    assert drawn.panels[0].y.is_log


def test_the_point_asked_for_is_orange() -> None:
    chart = cf.size(difference=0.05, sd=0.15).chart()
    here = [mark for mark in marks(chart, "dots") if mark.colour == ORANGE]
    assert [(mark.x, mark.y) for mark in here] == [([0.05], [73.0])]


def test_where_the_variance_was_estimated_the_curve_has_a_band_around_it() -> None:
    chart = cf.size(scores_of(8), difference=0.05).chart()
    (band,), (line,) = marks(chart, "band"), marks(chart, "line")
    assert all(low < n < high for low, n, high in zip(band.y, line.y, band.y2, strict=True))


def test_of_more_than_four_curves_four_are_named() -> None:
    chart = by_flags.size(difference=[0.02, 0.1, 0.2, 0.3], sd=[0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22]).chart()
    lines = marks(chart, "line")
    assert len(lines) in (4, 7)
    assert len([mark for mark in lines if mark.name]) == 4
    check_chart(chart)


def test_every_curve_of_power_falls_and_passes_through_what_was_asked() -> None:
    topics, found = card_curves(cards_from_grid(Request(sd=[0.15]), [50])[0])
    assert topics == sorted(topics)
    at = topics.index(50)
    assert found["detectable_difference"][at] == pytest.approx(float(detectable_difference(topics=50, sd=0.15)))
    for asked in ({"systems": 10, "topics": 50}, {"topics": 50}, {"topics": [20, 50, 200]}):
        chart = by_flags.power(sd=0.15, **asked).chart()
        assert len(marks(chart, "line")) >= 3
        assert all((np.diff(mark.y) < 0).all() for mark in marks(chart, "line"))  # none is flat
        check_chart(chart)


def test_several_designs_of_power_have_a_curve_each() -> None:
    chart = by_flags.power(topics=[20, 50], sd=[0.1, 0.2]).chart()
    assert [mark.name for mark in marks(chart, "line")][::-1] == ["sd 0.1", "sd 0.2"]


def test_ranks_have_whole_ticks_and_blue_for_those_that_may_be_the_best() -> None:
    found = cf.leaderboard(scores_of(9), resampling={"resamples": 100})
    chart = found.chart("ranks")
    assert chart.panels[0].x.is_whole
    (drawn,) = marks(chart, "dots")
    best = found.boards["m0"].comparison.top_group
    assert [tone == "#0072b2" for tone in drawn.colours] == [name in best for name in found.boards["m0"].systems]
    check_chart(chart)


def test_a_chart_is_plain_data() -> None:
    chart = cf.size(difference=0.05, sd=0.15).chart()
    assert json.loads(json.dumps(chart.to_dict()))["title"] == chart.title
