"""Charts of comparisons: intervals, every pair, differences on every topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cranfield.rendering import charts
from cranfield.rendering.charts import Row
from cranfield.rendering.drawing import BLUE, GREY, INK, ORANGE, Axis, Chart, Mark, Panel, number, whole_ticks

if TYPE_CHECKING:
    from cranfield.methods.contrasts.comparison import Comparison


def noted(title: str, note: str) -> str:
    return f"{title}; {note}" if note else title


def interval_chart(
    rows: Sequence[Row], found: Row, *, pairs: Sequence[Row] = (), measure: str = "score", subtitle: str = ""
) -> Chart:
    """Draw the intervals that decide about pairs, best system first.

    If the test has an interval around means that decides about pairs, the chart shows the mean of every system with
    that interval, and behind it that of the system's own scores: Ferro and Sanderson (2019), Fig. 3. Otherwise it
    shows the differences of ``pairs`` from the best system, or from the first two baselines, with their intervals.
    ``found`` has the half-width that all systems share, ``interval_tukey`` (nan if the test has none).
    """
    reach = found["interval_tukey"]
    if reach is None or reach != reach:
        return difference_chart(rows, pairs or found["pairs"], interval=found["interval"], subtitle=subtitle)
    ends = [
        {
            **row,
            "low": row["score"] - reach,
            "high": row["score"] + reach,
            "own_low": row["score"] - row["interval_standard_error"],
            "own_high": row["score"] + row["interval_standard_error"],
        }
        for row in rows
    ]
    panel = charts.intervals(
        ends, y="system", x="score", low="low", high="high", axis=Axis(title=f"mean {measure}"),
        order=charts.listing([row["system"] for row in rows]), behind=("own_low", "own_high"),
    )  # fmt: skip
    note = f"Systems differ significantly where blue lines do not overlap; grey: {SINGLE_MEAN}."
    return Chart(panels=[panel], subtitle=subtitle, note=note)


SINGLE_MEAN = "confidence interval of a single mean"  # from the standard error of its own scores


def difference_chart(rows: Sequence[Row], pairs: Sequence[Row], *, interval: str, subtitle: str = "") -> Chart:
    """The difference of every system from the best, or from the first two baselines, and a line at no difference."""
    values = difference_rows(rows, pairs)
    against = list(dict.fromkeys(row["against"] for row in values))
    panels, note = charts.only_two([_difference_panel(rows, values, each) for each in against], "baselines")
    kind = f"Filled: significant; {interval}."
    return Chart(panels=panels, subtitle=subtitle, note=" ".join(filter(None, (kind, note))))


def _difference_panel(rows: Sequence[Row], values: Sequence[Row], against: str) -> Panel:
    mine = {row["system"]: row for row in values if row["against"] == against}
    title = f"difference{' in ' + rows[0]['measure'] if 'measure' in rows[0] else ''} from {against}"
    nothing = {"difference": 0.0, "lower": None, "upper": None, "verdict": "significant", "p_adjusted": None}
    ordered = [
        {**mine.get(row["system"], nothing), "system": row["system"]}
        for row in rows
        if row["system"] in mine or row["system"] == against
    ]
    drawn = [
        {**row, "filled": row["verdict"] == "significant", "is_reference": row["system"] == against} for row in ordered
    ]
    return charts.intervals(
        drawn, y="system", x="difference", low="lower", high="upper", axis=Axis(title=title),
        order=charts.listing([row["system"] for row in drawn], asked=[against]), filled="filled", zero=True,
        colours={True: INK}, coloured_by="is_reference",
    )  # fmt: skip


def difference_rows(rows: Sequence[Row], pairs: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one row per system and its comparison: with the baseline, or with the best system if there is none."""
    with_baseline = any("verdict" in pair for pair in pairs)
    best = rows[0]["system"]
    chosen = [pair for pair in pairs if with_baseline or best in (pair["system_a"], pair["system_b"])]
    sign = 1 if with_baseline else -1  # the best is the first of its pairs, and the others are shown against it
    ends = ("lower", "upper")[::sign]
    names = ("system_a", "system_b")[::sign]
    return [
        {
            "system": pair[names[0]],
            "against": pair[names[1]],
            "difference": sign * pair["difference"],
            "lower": sign * pair[ends[0]],
            "upper": sign * pair[ends[1]],
            "p_adjusted": pair["p_adjusted"],
            "verdict": "significant" if pair["significant"] else "not significant",
        }
        for pair in chosen
    ]


def matrix_chart(rows: Sequence[Row], pairs: Sequence[Row], *, subtitle: str = "") -> Chart:
    """Every pair as a cell, coloured by its difference if significant, pale otherwise."""
    note = "Blue: the row is better; orange: worse; the darker, the larger the difference; pale: not significant."
    return Chart(panels=[charts.matrix(rows, pairs)], subtitle=subtitle, note=note)


def differences_by_topic(found: Comparison, *, subtitle: str = "") -> Chart:
    """The chart of the first two pairs whose scores on every topic a comparison has kept."""
    assert found.by_topic is not None
    kept = found.by_topic.differences.T.tolist()
    pairs = found.rows_of(found.pairs.part(0, min(2, len(kept))))
    panels = [
        topic_panel(pair, values, found.by_topic.topics, found.measure, lower_is_better=found.lower_is_better)
        for pair, values in zip(pairs, kept, strict=False)
    ]
    left = len(found.pairs) - len(pairs)
    note = f"the first {len(pairs)} of {len(found.pairs):,} pairs" if found.baselines and left else ""
    first = pairs[0]
    title = f"{first['system_a']} is better than {first['system_b']} on {_topic_words(first)}"
    mean = "Dashed: the mean difference; shaded: its interval." if first["lower"] == first["lower"] else ""
    return Chart(panels=panels, title=title, subtitle=noted(subtitle, note), note=mean)


def _topic_words(pair: Row) -> str:
    return f"{pair['wins']:,} topics, worse on {pair['losses']:,}, equal on {pair['ties']:,}"


MOST_BARS = 200  # topics; of more, evenly spaced ones are drawn


def topic_panel(
    pair: Row, differences: Sequence[float], topics: Sequence[str], measure: str, *, lower_is_better: bool = False
) -> Panel:
    """The difference of two systems on every topic, the best topic first, with the mean and its interval."""
    rows = topic_rows(differences, topics, lower_is_better=lower_is_better)
    count, tones = len(differences), {"better": BLUE, "worse": ORANGE, "equal": GREY}
    step = count / len(rows)
    edges = [step * at for at in range(len(rows))]
    bars = Mark(
        kind="bars",
        x=edges,
        x2=[edge + step for edge in edges],
        y=[0.0] * len(rows),
        y2=[row["difference"] for row in rows],
        colours=[tones[row["verdict"]] for row in rows],
        says=[f"{row['topic'] or 'topic ' + str(row['place'])}; {number(row['difference'])}" for row in rows],
    )
    known = pair["lower"] == pair["lower"]
    marks = [Mark(kind="across", y=[pair["lower"]], y2=[pair["upper"]])] if known else []
    marks += [
        Mark(kind="across", y=[0.0], colour=INK, width=1.0),
        bars,
        Mark(kind="across", y=[pair["difference"]], colour=INK, width=1.0, dash="4 3"),
    ]
    ends = f" [{number(pair['lower'])}, {number(pair['upper'])}]" if known else ""
    return Panel(
        x=Axis(title="topics, the best first", low=0, high=count, ticks=whole_ticks(1, count)),
        y=Axis(title=f"difference in {measure}, mean {number(pair['difference'])}{ends}"),
        marks=marks,
        title=f"{pair['system_a']} − {pair['system_b']}",
    )


def topic_rows(
    differences: Sequence[float], topics: Sequence[str], *, lower_is_better: bool = False
) -> list[dict[str, Any]]:
    """One row per topic, the best first; of more than 200 topics some of them, evenly spaced and with both ends."""
    order = sorted(range(len(differences)), key=lambda at: differences[at] * (1 if lower_is_better else -1))
    steps = min(len(order), MOST_BARS)
    rows = []
    for place in (round(at * (len(order) - 1) / max(1, steps - 1)) for at in range(steps)):
        value = float(differences[order[place]])
        sign = -value if lower_is_better else value
        verdict = "better" if sign > 0 else "worse" if sign < 0 else "equal"
        name = topics[order[place]] if topics else ""
        rows.append({"place": place + 1, "topic": name, "difference": value, "verdict": verdict})
    return rows
