"""Charts of designs: topics along an input, what numbers of topics detect, replicates, trials and simulated power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import RequestError
from cranfield.questions.power import PowerResult
from cranfield.questions.size import SizeResult
from cranfield.questions.verify import VerificationResult
from cranfield.rendering.charts import Point, Row, Series, curves
from cranfield.rendering.drawing import Axis, Chart, number

TITLES = {
    "topics": "number of topics n",
    "systems": "number of systems m",
    "min_range": "minimum detectable range minD",
    "difference": "difference between two systems",
    "effect_size": "effect size d_z (difference / sd of the paired differences)",
    "equivalence": "margin of equivalence",
    "non_inferiority": "margin of non-inferiority",
    "width": "interval width δ",
    "sensitivity": "sensitivity ±δ",
    "variance": "variance σ² of a system's scores",
    "correlation": "correlation ρ of two systems' scores",
    "sd": "sd of paired differences",
    "judge_correlation": "correlation r of human and model differences",
    "cost": "cost",
    "alpha": "significance level α",
    "power": "power 1 − β",
    "value": "difference",
}
LINEAR = ("power", "correlation", "judge_correlation")  # other inputs, and sizes, have logarithmic axes


def size_chart(result: SizeResult, axis: str | None = None) -> Chart:
    """n against an input, a curve per value of the others; of several goals all on one chart: Sakai (2014), Fig. 3."""
    found = result.curves(axis)
    if not found:
        raise RequestError("no number of topics suffices, so there is nothing to draw", fix="Ask for less.")
    axes = list(dict.fromkeys(each.axis for each in found))
    goals = dict.fromkeys(each.goal for each in found)
    series = [
        Series(_name(each.goal if len(goals) > 1 else "", each.inputs), each.points, each.band, each.asked)
        for each in found
    ]
    asked = [point for each in found for point in each.asked]
    x = Axis(
        title=" or ".join(TITLES[name] for name in axes), is_log=axes[0] not in LINEAR, is_whole=axes[0] == "systems"
    )
    here = asked[0] if len(asked) == 1 else None
    band = "Band: the interval of the estimated variance." if any(each.band for each in found) else ""
    panel = curves(series, x=x, y=Axis(title=TITLES["topics"], is_log=True), here=here)
    return Chart(panels=[panel], title=_finding(asked, x.title), subtitle=_method(result, found[0].goal), note=band)


def _name(goal: str, inputs: Mapping[str, float]) -> str:
    """What a curve is for: its goal where there are several, and the inputs that vary."""
    words = {"min_range": "range", "width": "interval width"}
    parts = [words.get(goal, goal.replace("_", " "))] if goal else []
    return ", ".join([*parts, *(f"{name.replace('_', ' ')} {value:.3g}" for name, value in inputs.items())])


def _finding(asked: Sequence[Point], axis: str) -> str:
    """How many topics over the designs asked for; of one design, its answer is the title."""
    if len(asked) < 2:
        return ""
    (low, few), (high, many) = min(asked, key=lambda each: each[1]), max(asked, key=lambda each: each[1])
    return f"Between {few:,.0f} topics ({axis} {number(low)}) and {many:,.0f} topics ({number(high)}) are required"


def _method(result: SizeResult, goal: str) -> str:
    size = next(each for each in result.sizes if each.kind == goal)
    shared = {
        "systems": "{:,.0f} systems",
        "sd": "sd {:.3g}",
        "variance": "σ² = {:.3g}",
        "alpha": "α = {:g}",
        "power": "power {:g}",
    }
    known = [text.format(size.inputs[name].flat[0]) for name, text in shared.items() if _is_one(size.inputs.get(name))]
    measure = [result.pilot[0].measure] if result.pilot else []
    return ", ".join([*measure, size.method.title, *known])


def _is_one(values: Any) -> bool:
    return values is not None and len(set(values.ravel().tolist())) == 1


# --- what topics detect

FAMILY = {
    "detectable_difference": "difference of two of {} systems",
    "detectable_range": "range of {} systems (minD)",
    "pair_detectable_difference": "difference of a pair named in advance",
    "width": "expected interval width (δ)",
}
PAIR = {
    "detectable_difference": "detectable difference",
    "width": "expected interval width (δ)",
    "difference_sensitivity": "sensitivity of a difference (±)",
}


def power_chart(result: PowerResult) -> Chart:
    """What numbers of topics detect: of one design all of it, of several the detectable difference of each."""
    cards = result.cards
    designs = list(dict.fromkeys((card.systems, card.sd, card.alpha, card.power) for card in cards))
    topics, found = result.curves()
    if len(designs) > 1:
        series = _design_series(result, designs)
        y = "detectable difference"
    else:
        names = FAMILY if cards[0].is_family else PAIR
        asked = sorted({card.topics for card in cards}) if len(cards) > 1 else []
        series = [
            Series(
                text.format(cards[0].systems),
                _pairs(topics, found[word]),
                (),
                [(n, dict(_pairs(topics, found[word]))[n]) for n in asked],
            )
            for word, text in names.items()
            if all(value == value for value in found[word])
        ]
        y = "difference, range or width" if cards[0].is_family else "difference or width"
    here = (float(cards[0].topics), cards[0].detectable_difference) if len(cards) == 1 else None
    panel = curves(series, x=Axis(title=TITLES["topics"], is_log=True), y=Axis(title=y, is_log=True), here=here)
    return Chart(panels=[panel], title=_detects(cards) if len(cards) > 1 else "", subtitle=_of_card(cards))


def _pairs(topics: Sequence[int], values: Sequence[float]) -> list[Point]:
    return list(zip(map(float, topics), values, strict=True))


def _design_series(result: PowerResult, designs: Sequence[tuple[float, ...]]) -> list[Series]:
    words = ("{} systems", "sd {:.3g}", "α = {:g}", "power {:g}")
    varying = [len({design[at] for design in designs}) > 1 for at in range(len(words))]
    series = []
    for design in designs:
        mine = [card for card in result.cards if (card.systems, card.sd, card.alpha, card.power) == design]
        topics, found = PowerResult(cards=tuple(mine)).curves()
        name = ", ".join(
            word.format(value) for word, value, varies in zip(words, design, varying, strict=True) if varies
        )
        measure = f"{mine[0].measure}, " if len({card.measure for card in result.cards}) > 1 else ""
        asked = [(float(card.topics), card.detectable_difference) for card in mine]
        series.append(Series(f"{measure}{name}", _pairs(topics, found["detectable_difference"]), (), asked))
    return series


def _detects(cards: Sequence[Any]) -> str:
    few, many = min(cards, key=lambda card: card.topics), max(cards, key=lambda card: card.topics)
    if few.topics == many.topics:
        return ""
    return (
        f"{few.topics:,} topics detect a difference of {few.detectable_difference:.3f}, {many.topics:,} one of "
        f"{many.detectable_difference:.3f}"
    )


def _of_card(cards: Sequence[Any]) -> str:
    words = {
        "measure": "{}",
        "systems": "{:,} systems",
        "sd": "sd {:.3g}",
        "alpha": "α = {:g}",
        "power": "power {:g}",
        "test": "test: {}",
    }
    values = {word: {getattr(card, word) for card in cards} for word in words}
    return ", ".join(
        text.format(next(iter(values[word])))
        for word, text in words.items()
        if len(values[word]) == 1 and values[word] != {""}
    )


def label_chart(rows: Sequence[Row], *, x: str, y: Sequence[tuple[str, str]], here: Point | None, title: str) -> Chart:
    """A curve per column of ``y``, with its name: the model's labels, and people alone."""
    series = [
        Series(name, sorted((float(row[x]), float(row[word])) for row in rows if row[word] is not None))
        for word, name in y
    ]
    across = Axis(title=TITLES[x], is_log=x not in LINEAR)
    return Chart(panels=[curves(series, x=across, y=Axis(title=title, low=0), here=here)])


def named_curves(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    name: str,
    titles: Mapping[str, str],
    here: Point | None = None,
    zero: bool = True,
) -> Chart:
    """A curve per value of the column ``name``, with dots where the rows are few."""
    names = list(dict.fromkeys(str(row[name]) for row in rows))
    series = []
    for each in names:
        points = sorted((float(row[x]), float(row[y])) for row in rows if str(row[name]) == each and row[y] is not None)
        series.append(Series(each, points, (), points if len(points) <= 12 else ()))
    low = 0 if zero else None
    whole = x in ("items", "repeats", "topics", "trial")
    across, up = Axis(title=titles[x], is_whole=whole), Axis(title=titles[y], low=low)
    return Chart(panels=[curves(series, x=across, y=up, here=here)])


def topics_chart(rows: Sequence[Row], x: str) -> Chart:
    """n against one input of the design, one curve per column ``curve``."""
    known = [row for row in rows if row["topics"] is not None]
    series = [
        Series(str(name), sorted((float(row[x]), float(row["topics"])) for row in known if row["curve"] == name))
        for name in dict.fromkeys(row["curve"] for row in known)
    ]
    across = Axis(title=TITLES[x], is_log=True, is_whole=x == "systems")
    return Chart(panels=[curves(series, x=across, y=Axis(title=TITLES["topics"], is_log=True))])


def reached_chart(rows: Sequence[Row], goal: float) -> Chart:
    """The power against the number of topics, one curve per difference."""
    series = [
        Series(f"difference {gap}", [(float(row["topics"]), row["power"]) for row in rows if row["difference"] == gap])
        for gap in dict.fromkeys(row["difference"] for row in rows)
    ]
    y = Axis(title=TITLES["power"], low=0, high=1)
    return Chart(panels=[curves(series, x=Axis(title=TITLES["topics"], is_log=True), y=y, goal=goal)])


# --- simulated power


def verify_chart(result: VerificationResult) -> Chart:
    """Power against topics with its interval, the required power, and the design itself."""
    found = result.verifications
    if not any(each.curve for each in found):
        raise RequestError("without a search there is no curve to draw", fix="Leave out `search=False`, or `plot`.")
    series = []
    for each in found:
        looks = [look.to_dict() for look in each.curve]
        points = [(float(row["topics"]), row["achieved_power"]) for row in looks]
        series.append(Series(_label(each, found), points, [(row["lower"], row["upper"]) for row in looks], points))
    first = found[0]
    here = (float(first.design.topics), first.power.rate)
    y = Axis(title="simulated power, with its interval", low=0, high=1)
    x = Axis(title=TITLES["topics"], is_whole=True)
    formula = first.design.promised_power
    note = f"Dashed: power {first.design.power:g}; orange: {first.design.topics:,} topics"
    note += f", for which the formula says {formula:.3f}." if formula == formula else "."
    rate, planned = first.power.rate, first.design.power
    title = f"{first.design.topics:,} topics have a simulated power of {rate:.3f}, planned {planned:g}"
    return Chart(panels=[curves(series, x=x, y=y, here=here, goal=first.design.power)], title=title, note=note)


def _label(each: Any, found: Sequence[Any]) -> str:
    design = each.design
    parts = [f"{design.measure} " if design.measure else "", design.test]
    if len({other.design.systems for other in found}) > 1:
        parts.append(f", {design.systems} systems")
    return "".join(parts)
