"""Charts of the reliability of a collection: coefficients, swaps, rankings and p-values, one panel per measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.rendering.charts import Series, curves, only_two
from cranfield.rendering.drawing import BLUE, GREY, Axis, Chart, Mark, Panel

if TYPE_CHECKING:
    from cranfield.methods.reliability import MeasureReliability, Reliability

TOPICS = Axis(title="topics in a set", is_log=True)
STEPS = 40  # of a curve


def reliability_chart(found: Reliability, kind: str) -> Chart:
    """One panel per measure, of the first two; p-values of all measures in one."""
    if kind == "p-values":
        return _p_values(found)
    make, note = MAKERS[kind]
    panels, some = only_two([make(found, each) for each in found.studies], "measures")
    return Chart(panels=panels, note=" ".join(filter(None, (note, some))))


def _name(found: Reliability, each: MeasureReliability) -> str:
    several = len({one.collection for one in found.studies}) > 1
    return f"{each.measure}{f', {each.collection}' if several else ''}"


def _grid(topics: int) -> list[int]:
    """Numbers of topics, up to four times those of the collection."""
    return sorted({round(2 * (2 * topics) ** (at / STEPS)) for at in range(STEPS + 1)} | {topics})


def _with(panel: Panel, *marks: Mark) -> Panel:
    return replace(panel, marks=[*marks, *panel.marks])


def _here(topics: int) -> Mark:
    """A line at the number of topics of the collection."""
    return Mark(kind="upright", x=[float(topics)], colour=GREY, width=1.0, dash="2 3")


def _coefficients(found: Reliability, each: MeasureReliability) -> Panel:
    """Eρ² and Φ against n with their intervals."""
    series = []
    for kind, word in (("relative", "Eρ², for differences"), ("absolute", "Φ, for scores")):
        values = [(n, each.generalisability.coefficient(kind, n)) for n in _grid(each.generalisability.topics)]
        points = [(float(n), value.value) for n, value in values]
        series.append(Series(word, points, [(value.lower, value.upper) for _, value in values]))
    y = Axis(title="reliability coefficient", low=0, high=1)
    x = replace(TOPICS, title="topics")
    panel = curves(series, x=x, y=y, goal=found.targets[0], title=_name(found, each))
    return _with(panel, _here(each.generalisability.topics))


def _swaps(found: Reliability, each: MeasureReliability) -> Panel:
    """The swap rate against the difference, for the smallest, the middle and the largest set of topics."""
    sizes = each.swaps.sizes
    rows = [row for row in each.swaps.to_dict() if row["high"] is not None]  # the last bin has no width
    series = []
    for size in sorted({sizes[-1], sizes[len(sizes) // 2], sizes[0]}, reverse=True):
        mine = [row for row in rows if row["topics"] == size]
        line = [(row["difference"], row["closed_form_paired"]) for row in mine if row["closed_form_paired"] is not None]
        seen = [(row["difference"], row["swap_rate"]) for row in mine if row["swap_rate"] is not None]
        series.append(Series(f"{size:,} topics", line, (), seen))
    where = "on all topics" if each.swaps.replacement else "on one set"
    y = Axis(title="share of pairs of sets that disagree", low=0, high=0.5)
    x = Axis(title=f"difference of two systems {where}", low=0)
    return curves(series, x=x, y=y, goal=found.alpha, title=_name(found, each))


def _sizes(found: Reliability, each: MeasureReliability) -> Panel:
    """The swap rate over all pairs against the size of the topic set."""
    swaps = each.swaps
    seen = list(zip(map(float, swaps.sizes), swaps.overall.tolist(), strict=True))
    series = [
        Series(
            name,
            [(float(n), swaps.closed_form_overall(n, paired=paired)) for n in _grid(swaps.topics)],
            (),
            seen if paired else (),
        )
        for name, paired in (("sets share topics", True), ("sets of other topics", False))
    ]
    y = Axis(title="share of pairs of sets that disagree", low=0, high=0.5)
    return _with(curves(series, x=TOPICS, y=y, title=_name(found, each)), _here(swaps.topics))


def _rankings(found: Reliability, each: MeasureReliability) -> Panel:
    """τ and τ_AP between sets of topics as dots, and the expected τ with more topics as curves."""
    grid, rows = _grid(each.rankings.topics), each.rankings.to_dict()
    series = [
        Series(name, [(float(n), getattr(each.rankings, word)(n)) for n in grid])
        for word, name in (("expected_tau", "τ of two sets"), ("expected_true_tau", "τ with the true order"))
    ]
    panel = curves(series, x=TOPICS, y=Axis(title="rank correlation", high=1), title=_name(found, each))
    marks = [mark for word, tone in (("tau_ap", GREY), ("tau", BLUE)) for mark in _measured(rows, word, tone)]
    return replace(panel, marks=[_here(each.rankings.topics), *panel.marks, *marks])


def _measured(rows: Sequence[Mapping[str, Any]], word: str, tone: str) -> list[Mark]:
    x = [float(row["topics"]) for row in rows]
    low, high = ([row[f"{word}_{end}"] for row in rows] for end in ("lower", "upper"))
    says = [f"{row['topics']} topics; {word.replace('_', ' ')} {row[word]:.3f}" for row in rows]
    hollow = [word == "tau_ap"] * len(rows)
    dots = Mark(kind="dots", x=x, y=[row[word] for row in rows], colour=tone, says=says, hollow=hollow)
    return [Mark(kind="spans", x=x, y=low, y2=high, colour=tone), dots]


def _p_values(found: Reliability) -> Chart:
    """The pairs sorted by p-value: the lower the curve, the more pairs are significant."""
    series = []
    for each in found.studies:
        rows = each.discrimination.curve()
        step = max(1, len(rows) // 400)
        kept = [*rows[::step], rows[-1]]
        series.append(Series(_name(found, each), [(row["share"], row["p_value"]) for row in kept]))
    x = Axis(title="share of the pairs, by p", low=0, high=1, is_percent=True)
    panel = curves(series, x=x, y=Axis(title="p (adjusted for all pairs)", low=0, high=1), goal=found.alpha)
    return Chart(panels=[panel], note=f"Dashed: α = {found.alpha:g}.")


Maker = Callable[["Reliability", "MeasureReliability"], Panel]
MAKERS: Mapping[str, tuple[Maker, str]] = {
    "coefficients": (_coefficients, "Bands: intervals; dashed: the target; dotted: the topics there are."),
    "swaps": (_swaps, "Lines: closed form for sets that share topics; dots: resampled; dashed: α."),
    "sizes": (_sizes, "Lines: closed form; dots: resampled; dotted: the topics there are."),
    "rankings": (
        _rankings,
        "Dots: resampled τ (blue) and τ_AP (hollow); lines: expected; dotted: the topics there are.",
    ),
}
KINDS = (*MAKERS, "p-values")
