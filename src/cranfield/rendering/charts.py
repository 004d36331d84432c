"""The kinds of charts, each declared over columns, and the files that they are written to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cranfield.errors import RequestError, check_part, visible
from cranfield.formats.text import atomic_write
from cranfield.rendering.document import html_text, show
from cranfield.rendering.drawing import BLUE, GREY, INK, ORANGE, QUIET, SHADE, Axis, Chart, Mark, Panel, number

Row = Mapping[str, Any]
Rows = Sequence[Row]
Point = tuple[float, float]

# --- files

ENDINGS = (".svg", ".png", ".pdf", ".html")
PIXELS = 2  # of a PNG, per pixel of the drawing


def check_chart_name(path: str) -> None:
    """Raise an error for a file name with an unknown format, or if none can be drawn, before anything is computed."""
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise RequestError(
            f"«{path}» does not say which picture to draw", fix=f"End the name in one of: {', '.join(ENDINGS)}."
        )
    if ending in (".png", ".pdf"):
        check_part("charts")


def file_of(path: str, measure: str) -> str:
    """The name of the file for one of several measures.

    >>> file_of("out/chart.svg", "nDCG@10")
    'out/chart-nDCG@10.svg'
    """
    name = Path(path)
    return str(name.with_name(f"{name.stem}-{re.sub(r'[^A-Za-z0-9@.()=,+_-]+', '_', measure)}{name.suffix}"))


def write_chart(chart: Chart, path: str, size: str = "page") -> None:
    """Write a chart in the format of its file name."""
    check_chart_name(path)
    svg, ending = on_white(chart.to_svg(size)), Path(path).suffix
    data = (
        svg.encode()
        if ending == ".svg"
        else _page(chart, svg).encode()
        if ending == ".html"
        else converted(svg, ending)
    )
    with atomic_write(path) as stream:
        stream.write(data)


def converted(svg: str, ending: str) -> bytes:
    """The SVG as PNG or PDF."""
    import vl_convert

    made: bytes = vl_convert.svg_to_pdf(svg) if ending == ".pdf" else vl_convert.svg_to_png(svg, scale=PIXELS)
    return made


def on_white(svg: str) -> str:
    """The drawing with a background, for files: a viewer may be dark."""
    return svg.replace(">", '><rect width="100%" height="100%" fill="#ffffff"/>', 1)


def _page(chart: Chart, svg: str) -> str:
    """A page with the chart alone, which says the numbers under the pointer."""
    from cranfield.rendering.report_page import asset

    style = "body{margin:1rem}svg{max-width:100%;height:auto}.tip{position:fixed;white-space:pre;padding:.3em .5em;"
    style += "font:12px sans-serif;background:#fff;border:1px solid #888}.tip[hidden]{display:none}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html_text(chart.title)}</title>'
        f"<style>{style}</style><figure>{svg}</figure><script>{asset('tip.js')}</script></html>"
    )


_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def stacked(charts: Sequence[str]) -> str:
    """Several SVG charts in one file, one below the other."""
    sizes = [[float(value) for value in _SIZE.search(each).groups()] for each in charts]  # type: ignore[union-attr]
    inner, y = [], 0.0
    for each, (_, high) in zip(charts, sizes, strict=True):
        inner.append(each.replace("<svg ", f'<svg y="{y:g}" ', 1))
        y += high
    wide = max(size[0] for size in sizes)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{y:g}">{"".join(inner)}</svg>'


# --- systems on the y axis

MOST_SYSTEMS, FIRST_SYSTEMS = 40, 25  # of more than so many, the first so many, the last, and those asked for


@dataclass(frozen=True)
class Listing:
    """The systems that an axis shows, best on top; ``None`` where some are left out."""

    names: Sequence[str | None]
    left_out: int
    reference: Collection[str] = ()

    @property
    def axis(self) -> Axis:
        words = [f"⋯ {self.left_out:,} more" if name is None else visible(name) for name in self.names]
        bold = [at for at, name in enumerate(self.names) if name in self.reference]
        return Axis(names=words, bold=bold)

    @property
    def places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names) if name is not None}


def listing(names: Sequence[str], *, asked: Collection[str] = ()) -> Listing:
    """Names in order of rank: of more than 40 the first 25, those asked for, and the last.

    >>> listing([str(at) for at in range(100)], asked=["50"]).names[24:]
    ['24', None, '50', '99']
    """
    if len(names) <= MOST_SYSTEMS:
        return Listing(names, 0, asked)
    kept = [name for at, name in enumerate(names) if at < FIRST_SYSTEMS or at == len(names) - 1 or name in asked]
    shown: list[str | None] = [*kept[:FIRST_SYSTEMS], None, *kept[FIRST_SYSTEMS:]]
    return Listing(shown, len(names) - len(kept), asked)


def intervals(
    rows: Rows,
    *,
    y: str,
    x: str,
    low: str,
    high: str,
    axis: Axis,
    order: Listing | None = None,
    filled: str = "",
    zero: bool = False,
    margin: float | None = None,
    behind: tuple[str, str] | None = None,
    colours: Mapping[Any, str] | None = None,
    coloured_by: str = "",
    title: str = "",
) -> Panel:
    """One row per system with its interval: a line of 2 pixels and a dot, hollow where ``filled`` is false.

    ``zero`` draws the line of no difference, ``margin`` shades what is too small to matter, ``behind`` are the ends of
    a second, thinner interval, and ``colours`` those of the values in the column ``coloured_by``.
    """
    listed = order or listing([row[y] for row in rows])
    rows = [row for row in rows if row[y] in listed.places]
    at = [float(listed.places[row[y]]) for row in rows]
    tone = [(colours or {}).get(row[coloured_by], BLUE) if coloured_by else BLUE for row in rows]
    says = [_said(row, y, x, low, high) for row in rows]
    marks = [Mark(kind="upright", x=[-margin], x2=[margin])] if margin else []
    marks += [Mark(kind="upright", x=[0.0], colour=INK, width=1.0)] if zero else []
    if behind:
        marks.append(
            Mark(kind="spans", x=_column(rows, behind[0]), x2=_column(rows, behind[1]), y=at, colour=GREY, width=1.0)
        )
    marks.append(Mark(kind="spans", x=_column(rows, low), x2=_column(rows, high), y=at, colours=tone, says=says))
    hollow = [not row[filled] for row in rows] if filled else []
    marks.append(Mark(kind="dots", x=_column(rows, x), y=at, colours=tone, hollow=hollow, says=says))
    return Panel(x=axis, y=listed.axis, marks=marks, title=title)


def _column(rows: Rows, name: str) -> list[float]:
    return [float("nan") if row[name] is None else float(row[name]) for row in rows]


def _said(row: Row, y: str, x: str, low: str, high: str) -> str:
    ends = (
        ""
        if row[low] is None or row[low] != row[low]
        else f" [{show(row[low], 'number')}, {show(row[high], 'number')}]"
    )
    p = f"; p {show(row['p_adjusted'], 'probability')}" if row.get("p_adjusted") is not None else ""
    return f"{row[y]}; {show(row[x], 'number')}{ends}{p}".replace("-", "−")


def ranks(rows: Rows, *, axis: str, systems: int, main: str) -> Panel:
    """The ranks that each system may have; those for which ``main`` holds are blue."""
    listed = listing([row["system"] for row in rows])
    span = Axis(title=axis, low=1, high=max(2, systems), is_whole=True)
    return intervals(
        rows, y="system", x="rank", low="rank_lower", high="rank_upper", axis=span, order=listed,
        colours={True: BLUE, False: GREY}, coloured_by=main,
    )  # fmt: skip


def matrix(rows: Rows, pairs: Rows) -> Panel:
    """Every pair as a cell: blue where the row is better, orange where it is worse, pale if not significant."""
    listed = listing([row["system"] for row in rows])
    order, places = {row["system"]: at for at, row in enumerate(rows, start=1)}, listed.places
    both = [(pair, pair["system_a"], pair["system_b"], 1.0) for pair in pairs]
    both += [(pair, pair["system_b"], pair["system_a"], -1.0) for pair in pairs]
    cells = [each for each in both if each[1] in places and each[2] in places]
    most = max((abs(pair["difference"]) for pair, *_ in cells), default=0.0) or 1.0
    tones, shades, says = [], [], []
    for pair, a, b, sign in cells:
        gap = sign * pair["difference"]
        is_shown = bool(pair["significant"])
        tones.append((BLUE if gap > 0 else ORANGE) if is_shown else SHADE)
        shades.append(0.25 + 0.75 * abs(gap) / most if is_shown else 1.0)
        says.append(f"{a} minus {b}; {number(gap)}; p {show(pair['p_adjusted'], 'probability')}")
    x, y = (
        [float(places[name]) for name in names] for names in ([b for _, _, b, _ in cells], [a for _, a, *_ in cells])
    )
    ranked = ["⋯" if name is None else str(order[name]) for name in listed.names]
    named = [
        f"{words}  {order[name]}" if name else words
        for words, name in zip(listed.axis.names, listed.names, strict=True)
    ]
    marks = [Mark(kind="cells", x=x, y=y, colours=tones, opacity=shades, says=says)]
    return Panel(x=Axis(names=ranked, title="minus the system of this rank"), y=Axis(names=named), marks=marks)


def diagram(
    systems: Sequence[tuple[str, float]],
    groups: Sequence[Sequence[int]],
    *,
    axis: str,
    critical: float | None = None,
    best: Collection[str] = (),
    best_is_high: bool = False,
) -> Panel:
    """Systems at their mean or average rank, and bars that join those that are not separable: Demšar (2006), Fig. 1.

    The systems stand below each other, best on top, and each bar beside them has a dot at every system that it joins.
    ``groups`` are the places of systems in order. A bar that goes on beyond the systems shown ends at the edge.
    """
    listed = listing([name for name, _ in systems])
    places = listed.places
    shown = [(places[name], name, value) for name, value in systems if name in places]
    low, high = min(value for *_, value in shown), max(value for *_, value in shown)
    high = max(high, low + (critical or 0.0))
    step = 0.03 * (high - low or 1.0)
    bars = _stacked(_among(groups, [name for name, _ in systems], places))
    sign = -1 if best_is_high else 1
    start = (low if best_is_high else high) + sign * 2 * step
    marks = [
        Mark(
            kind="dots", x=[value for *_, value in shown], y=[float(at) for at, *_ in shown],
            colours=[BLUE if not best or name in best else GREY for _, name, _ in shown],
            says=[f"{name}; {number(value)}" for _, name, value in shown],
        )
    ]  # fmt: skip
    for members, level in bars:
        x = start + sign * step * level
        ends = float(members[0]), float(members[-1])
        marks.append(Mark(kind="spans", x=[x], y=[ends[0]], y2=[ends[1]], colour=INK))
        marks.append(Mark(kind="dots", x=[x] * len(members), y=[float(at) for at in members], colour=INK, size=5.0))
    if critical is not None:
        marks.append(Mark(kind="spans", x=[low], x2=[low + critical], y=[-1.0], colour=ORANGE))
    across = Axis(title=axis, is_falling=best_is_high)
    names = listed.axis
    if critical is not None:
        names = replace(names, names=[f"critical difference {critical:.3g}", *names.names])
        marks = [_lower(mark) for mark in marks]
    return Panel(x=across, y=names, marks=marks)


def _lower(mark: Mark) -> Mark:
    """The mark one row further down."""
    return replace(mark, y=[value + 1 for value in mark.y], y2=[value + 1 for value in mark.y2])


def _among(groups: Sequence[Sequence[int]], names: Sequence[str], places: Mapping[str, int]) -> list[list[int]]:
    """The groups of two or more among the systems shown, without those that lie within another."""
    shown = [[places[names[at]] for at in group if names[at] in places] for group in groups]
    kept = [list(group) for group in dict.fromkeys(tuple(group) for group in shown if len(group) > 1)]
    return [group for group in kept if not any(set(group) < set(other) for other in kept)]


def _stacked(groups: Sequence[Sequence[int]]) -> list[tuple[Sequence[int], int]]:
    """Each bar with the first line on which it touches no other."""
    ends: list[int] = []
    placed = []
    for group in groups:
        level = next((at for at, end in enumerate(ends) if end < group[0]), len(ends))
        ends[level : level + 1] = [group[-1]]
        placed.append((group, level))
    return placed


def forest(rows: Rows, *, axis: str, title: str = "") -> Panel:
    """Effects with their intervals: collections grey, what combines them blue, another collection orange."""
    tones = {"collection": GREY, "fixed": GREY, "random": BLUE, "next": ORANGE}
    order = Listing([row["name"] for row in rows], 0)
    return intervals(
        rows, y="name", x="difference", low="lower", high="upper", axis=Axis(title=axis), order=order, zero=True,
        colours=tones, coloured_by="kind", title=title,
    )  # fmt: skip


# --- curves


@dataclass(frozen=True)
class Series:
    """A curve: its points in the order of x, with a band where an input was estimated; ``asked`` are its dots."""

    name: str
    points: Sequence[Point]
    band: Sequence[Point] = ()  # the lower and the upper end at every point
    asked: Sequence[Point] = ()


MOST_SERIES = 4
MANY_DOTS = 15  # are small
STYLES = (("", GREY), ("6 3", GREY), ("2 3", GREY))


def curves(
    series: Sequence[Series],
    *,
    x: Axis,
    y: Axis,
    here: Point | None = None,
    goal: float | None = None,
    main: int = 0,
    title: str = "",
) -> Panel:
    """Curves with their names at their ends, the ``main`` one blue, and an orange dot at the design asked for.

    Of more than four, four are named, evenly over the list, and the others are thin lines between them. ``goal`` is a
    line across.
    """
    named = _named(len(series), main)
    marks = [Mark(kind="across", y=[goal], colour=QUIET, width=1.0, dash="4 3")] if goal is not None else []
    styles = iter(STYLES)
    tones: dict[int, tuple[str, str]] = {at: ("", BLUE) if at == main else next(styles) for at in named}
    for at, each in enumerate(series):
        if at not in tones:
            marks.insert(0, _curve(each, GREY, "", width=0.6, name=""))
    for at, (dash, tone) in reversed(tones.items()):
        each = series[at]
        if each.band and (len(series) <= 2 or at == main):  # more would hide each other
            lower, upper = ([ends[side] for ends in each.band] for side in (0, 1))
            marks.append(Mark(kind="band", x=[point[0] for point in each.points], y=lower, y2=upper, colour=tone))
        marks.append(_curve(each, tone, dash, width=2.0, name=each.name if len(series) > 1 else ""))
    for at, each in enumerate(series):
        if each.asked:
            dots = _points(each.asked, tones.get(at, ("", GREY))[1], (each.name, x.title, y.title))
            marks.append(dots if len(each.asked) <= MANY_DOTS else replace(dots, size=3.0))
    if here is not None:
        marks.append(_figure(here))
        marks.append(replace(_points([here], ORANGE, ("", x.title, y.title)), size=9.0))
    return Panel(x=x, y=y, marks=marks, title=title)


def _named(count: int, main: int) -> list[int]:
    """The places of the curves that are named: all of four, else the first, the last, one between, and the main one."""
    if count <= MOST_SERIES:
        return list(range(count))
    return sorted({0, count - 1, main if main else count // 3, (2 * count) // 3})


def _curve(each: Series, tone: str, dash: str, *, width: float, name: str) -> Mark:
    xs, ys = ([float(point[side]) for point in each.points] for side in (0, 1))
    return Mark(kind="line", x=xs, y=ys, colour=tone, dash=dash, width=width, name=name)


def _points(points: Sequence[Point], tone: str, titles: tuple[str, str, str]) -> Mark:
    name, x, y = titles
    says = ["; ".join(filter(None, (name, f"{x} {number(a)}", f"{y} {number(b)}"))) for a, b in points]
    return Mark(kind="dots", x=[float(a) for a, _ in points], y=[float(b) for _, b in points], colour=tone, says=says)


def _figure(here: Point) -> Mark:
    """The number of the design asked for."""
    return Mark(kind="texts", x=[here[0]], y=[here[1]], texts=[f"{float(f'{here[1]:.3g}'):,g}"], colour=ORANGE)


def scatter(
    points: Sequence[Point],
    names: Sequence[str],
    *,
    x: str,
    y: str,
    title: str = "",
    is_zoomed: bool = True,
    colours: Sequence[str] = (),
) -> Panel:
    """One dot per name, and the line where both numbers are equal."""
    values = [value for point in points for value in point if value == value]
    low, high = min(values), max(values)
    low = low if is_zoomed else min(0.0, low)
    marks = [Mark(kind="line", x=[low, high], y=[low, high], colour=GREY, width=1.0, dash="4 3")]
    says = [f"{name}; {number(a)}, {number(b)}" for name, (a, b) in zip(names, points, strict=True)]
    marks.append(
        Mark(kind="dots", x=[a for a, _ in points], y=[b for _, b in points], colour=BLUE, colours=colours, says=says)
    )
    across, up = (Axis(title=text, low=low, high=high) for text in (x, y))
    return Panel(x=across, y=up, marks=marks, title=title, is_square=True)


def histogram(values: Sequence[float], *, axis: str, what: str, bins: int = 30, here: float | None = None) -> Panel:
    """How many values lie in each of equal steps."""
    low, high = min(values), max(values)
    step = (high - low) / bins or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / step))] += 1
    edges = [low + step * at for at in range(bins)]
    says = [
        f"{number(edge)} to {number(edge + step)}; {count} {what}" for edge, count in zip(edges, counts, strict=True)
    ]
    bars = Mark(
        kind="bars", x=edges, x2=[edge + step for edge in edges], y=[0.0] * bins, y2=list(map(float, counts)), says=says
    )
    marks = [bars, *([Mark(kind="upright", x=[here], colour=ORANGE)] if here is not None else [])]
    return Panel(x=Axis(title=axis), y=Axis(title=what, low=0, is_whole=True), marks=marks)


def only_two(panels: Sequence[Panel], what: str) -> tuple[Sequence[Panel], str]:
    """The first two panels, and a note where there are more.

    >>> only_two([], "measures")
    ([], '')
    """
    if not panels:
        return panels, ""
    left = len(panels) - 2
    return panels[:2], f"The first 2 of {len(panels)} {what}." if left > 0 else ""
