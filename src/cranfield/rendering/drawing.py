"""The one renderer of charts: panels of marks over columns, drawn as SVG in one theme, in under a millisecond."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from cranfield.errors import RequestError
from cranfield.rendering.document import html_text

Numbers = Sequence[float]

# Okabe and Ito's blue and vermilion, distinguishable with colour blindness and in grey; the rest is grey.
BLUE, ORANGE, GREY, PALE = "#0072b2", "#d55e00", "#888888", "#9ebcda"
INK, QUIET, GRID, SHADE = "#222222", "#5f5f5f", "#e5e5e5", "#f0f0f0"
PALETTE = (BLUE, ORANGE, GREY, PALE, INK, QUIET, GRID, SHADE, "#ffffff")
FONT = "Arial, 'Liberation Sans', Helvetica, 'Nimbus Sans', sans-serif"
TEXT, SMALL, HEADING = 12.0, 10.0, 15.0
LINE = 1.3  # of the size of a text
BOLD = 1.1  # times as wide
INSET = 7.0  # between the ends of a scale and those of its panel, so that no dot lies on an axis
ROW = 18.0  # of a name
GAP = 28.0  # between panels
MOST_NAME = 0.36  # of the width, for a name beside its row
HALO = '#ffffff" stroke-width="3" paint-order="stroke'  # of a number on a curve
SAMPLE = 24.0  # of a dashed line, before its name
MOST_LABEL = 0.28  # of the width, for the name of a line at its end


@dataclass(frozen=True)
class Size:
    """How wide a chart is drawn, the height of a panel of numbers beside its width, and how large it is shown."""

    width: float
    ratio: float
    scale: float = 1.0
    height: float | None = None


SIZES = {"page": Size(640, 0.5), "column": Size(340, 0.72), "slide": Size(640, 0.42, scale=2.0, height=360)}


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a panel: of numbers, or of ``names``, whose values are then their places from 0."""

    title: str = ""
    low: float | None = None
    high: float | None = None
    is_log: bool = False
    is_whole: bool = False  # ticks are whole numbers, as those of ranks and counts
    is_percent: bool = False
    is_falling: bool = False  # the highest value first
    names: Sequence[str] = ()
    bold: Sequence[int] = ()  # places of names that were asked for
    ticks: Numbers = ()


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Columns that are drawn alike. ``kind`` is line, dots, spans, band, cells, bars, texts, across or upright.

    ``x2`` and ``y2`` are the other ends of spans, bands, cells and bars; ``across`` and ``upright`` are lines
    through the panel, or with two ends its shaded part. ``name`` stands at the end of a line, ``says`` under the
    pointer.
    """

    kind: str
    x: Numbers = ()
    y: Numbers = ()
    x2: Numbers = ()
    y2: Numbers = ()
    colour: str = BLUE
    colours: Sequence[str] = ()
    hollow: Sequence[bool] = ()
    opacity: Numbers = ()
    says: Sequence[str] = ()
    texts: Sequence[str] = ()
    name: str = ""
    dash: str = ""
    width: float = 2.0  # of a line
    size: float = 6.0  # of a dot
    anchor: str = "start"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Marks on two axes."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""
    is_square: bool = False

    def values(self, axis: str) -> list[float]:
        """All finite values of the marks along an axis."""
        columns = [column for mark in self.marks for column in (getattr(mark, axis), getattr(mark, f"{axis}2"))]
        return [value for column in columns for value in column if math.isfinite(value)]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """At most two panels under one title, the finding; the subtitle says of what, the footer how to repeat it."""

    panels: Sequence[Panel]
    title: str = ""
    subtitle: str = ""
    footer: str = ""
    note: str = ""  # how to read the marks, after the subtitle

    def headed(self, title: str, subtitle: str, footer: str) -> Chart:
        """The same, with these where it has none of its own."""
        return replace(
            self, title=self.title or title, subtitle=self.subtitle or subtitle, footer=self.footer or footer
        )

    def beside(self, other: Chart, measures: Sequence[str]) -> Chart:
        """The first panels of both, named by their measures."""
        drawn = zip(measures, (self.panels[0], other.panels[0]), strict=False)
        left = f"The first 2 of {len(measures)} measures." if len(measures) > 2 else ""
        panels = [replace(panel, title=", ".join(filter(None, (name, panel.title)))) for name, panel in drawn]
        return replace(self, panels=panels, note=" ".join(filter(None, (self.note, left))))

    def to_svg(self, size: str = "page", *, is_headed: bool = True) -> str:
        """The chart as one ``<svg>``; a page that says the title itself shows it without."""
        return _drawn(self, _size(size), is_headed=is_headed)

    def to_dict(self) -> dict[str, Any]:
        """All that is drawn: panels, axes and the columns of marks."""
        return asdict(self)

    def save(self, path: str, size: str = "page") -> None:
        """Write the chart in the format of the file name: .svg, .png, .pdf or .html."""
        from cranfield.rendering.charts import write_chart

        write_chart(self, path, size)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def _size(name: str) -> Size:
    if name not in SIZES:
        raise RequestError(f"there is no size «{name}» of a chart", fix=f"Choose one of: {', '.join(SIZES)}.")
    return SIZES[name]


# --- text

_WIDTHS = {
    0.23: "ijl'|",
    0.28: " !,./:;I[]\\ft",
    0.34: '()-r`{}*"·',
    0.5: "cksvxyzJ^",
    0.56: "abdeghnopqu0123456789?#$_L–−",
    0.6: "+<=>~FTZ",
    0.67: "ABEKPSVXY&",
    0.73: "CDHNRUw",
    0.78: "GOQ",
    0.86: "mM%",
    0.95: "W",
    1.02: "@—…",
}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}


@lru_cache(4096)
def text_width(text: str, size: float = TEXT) -> float:
    """The width of a text in pixels, from the widths of the letters of Helvetica and Arial."""
    return size * sum(_WIDTH.get(letter) or _other_width(letter) for letter in text)


def _other_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.62


def wrapped(text: str, width: float, size: float = TEXT) -> list[str]:
    """The text in lines of at most this width; a longer word is shortened."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(shortened(word, width, size))
    return lines


def shortened(text: str, width: float, size: float = TEXT) -> str:
    """The text, without its middle where it is too wide."""
    if text_width(text, size) <= width:
        return text
    kept = len(text)
    while kept > 2 and text_width(text[: kept - kept // 2] + "…" + text[-(kept // 2) :], size) > width:
        kept -= 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"


def _text(text: str, x: float, y: float, **how: Any) -> str:
    names = {"size": "font-size", "anchor": "text-anchor", "weight": "font-weight", "colour": "fill", "edge": "stroke"}
    given = "".join(f' {names[word]}="{value}"' for word, value in how.items())
    return f'<text x="{_at(x)}" y="{_at(y)}"{given}>{html_text(text)}</text>'


def _at(pixel: float) -> str:
    return f"{pixel:.1f}".removesuffix(".0")


# --- scales


@dataclass(frozen=True)
class Scale:
    """Values of an axis as pixels."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (math.log10(each) if self.is_log else each for each in (self.low, self.high, value))
        inset = math.copysign(INSET, self.end - self.start)
        share = (value - low) / (high - low) if high != low else 0.5
        return self.start + inset + share * (self.end - self.start - 2 * inset)

    def holds(self, value: float) -> bool:
        """Whether a value is drawn at all."""
        slack = 1e-9 * abs(self.high - self.low)
        return math.isfinite(value) and min(self.low, self.high) - slack <= value <= max(self.low, self.high) + slack

    def clamped(self, value: float) -> float:
        """The value, or the nearer end of the axis."""
        return min(max(value, min(self.low, self.high)), max(self.low, self.high)) if value == value else value


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two values.

    >>> nice_ticks(0.04, 0.25)
    [0.05, 0.1, 0.15, 0.2, 0.25]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * at:.10g}") for at in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten if they are many, else also 2 and 5 times them, and more between ends that are close.

    >>> log_ticks(3, 150)
    [5.0, 10.0, 20.0, 50.0, 100.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        every = [float(f"{factor * 10.0**power:.10g}") for power in powers for factor in factors]
        ticks = [tick for tick in every if low <= tick <= high * 1.0000001]
        if len(ticks) >= 4:
            return ticks
    return ticks if len(ticks) > 2 else nice_ticks(low, high)


def whole_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Whole numbers between two values, with the first: ranks and counts begin at one.

    >>> whole_ticks(1, 30)
    [1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
    """
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    step = next(
        step for step in (10**power * by for power in range(12) for by in (1, 2, 5)) if last - first <= step * most
    )
    if step == 1:
        return [float(at) for at in range(first, last + 1)]
    ticks = [float(at) for at in range(step * math.ceil(first / step), last + 1, step)]
    return [float(first), *(tick for tick in ticks if tick > first + step / 2)] if first == 1 else ticks


def _ticks(axis: Axis, scale: Scale, room: float) -> list[float]:
    if axis.ticks:
        return list(axis.ticks)
    low, high = sorted((scale.low, scale.high))
    most = max(2, min(8, int(room)))
    if axis.is_log:
        ticks = log_ticks(low, high)
        return ticks if len(ticks) <= 1.5 * most else ticks[:: math.ceil(len(ticks) / most)]
    return whole_ticks(low, high, most) if axis.is_whole else nice_ticks(low, high, most)


def _tick_labels(axis: Axis, ticks: Numbers) -> list[str]:
    if axis.is_percent:
        return [f"{100 * tick:.3g} %" for tick in ticks]
    if axis.is_log:
        return [number(tick) for tick in ticks]
    step = min((b - a for a, b in pairwise(sorted(ticks))), default=abs(ticks[0]) if ticks else 1)
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return [f"{tick:,.{places}f}".replace("-", "−") for tick in ticks]


def number(value: float) -> str:
    """A number as charts show it."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    text = f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def _domain(axis: Axis, values: Numbers) -> tuple[float, float]:
    """Both ends of an axis: those given, else those of the values."""
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    known = [value for value in values if value > 0 or not axis.is_log] or [0.0 if not axis.is_log else 1.0]
    low = min(known) if axis.low is None else axis.low
    high = max(known) if axis.high is None else axis.high
    if high <= low:
        room = abs(low) / 2 or 1.0
        low, high = (low / 2, low * 2) if axis.is_log else (low - room, low + room)
    return low, high


# --- marks

Draw = Callable[[Mark, Scale, Scale], str]


def _said(mark: Mark, at: int) -> str:
    text = mark.says[at] if at < len(mark.says) else ""
    return f' role="graphics-symbol" aria-label="{html_text(text)}"' if text else ""


def _colour(mark: Mark, at: int) -> str:
    return mark.colours[at] if mark.colours else mark.colour


def _line(mark: Mark, x: Scale, y: Scale) -> str:
    """The line where both numbers are known; it is interrupted where one is not."""
    steps, joined = [], False
    for a, b in zip(mark.x, mark.y, strict=True):
        inside = x.holds(a) and y.holds(b)
        steps.append(f"{'L' if joined else 'M'}{_at(x.at(a))} {_at(y.at(b))}" if inside else "")
        joined = inside
    dash = f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    how = f'stroke="{mark.colour}" stroke-width="{mark.width:g}"{dash}'
    return f'<path fill="none" {how} stroke-linejoin="round" d="{"".join(steps)}"/>'


MOST_DOTS = 300  # with a label each


def _dots(mark: Mark, x: Scale, y: Scale) -> str:
    inside = [at for at, (a, b) in enumerate(zip(mark.x, mark.y, strict=True)) if x.holds(a) and y.holds(b)]
    if len(inside) > MOST_DOTS:
        path = "".join(f"M{_at(x.at(mark.x[at]))} {_at(y.at(mark.y[at]))}h0" for at in inside)
        how = f'stroke="{mark.colour}" stroke-width="{mark.size:g}" stroke-linecap="round" stroke-opacity=".35"'
        return f'<path fill="none" {how} d="{path}"/>'
    return "".join(_dot(mark, at, x, y) for at in inside)


def _dot(mark: Mark, at: int, x: Scale, y: Scale) -> str:
    colour, is_hollow = _colour(mark, at), bool(mark.hollow) and mark.hollow[at]
    fill = f'fill="{"#ffffff" if is_hollow else colour}" stroke="{colour}" stroke-width="1.5"'
    radius = _at(mark.size / 2)
    return f'<circle cx="{_at(x.at(mark.x[at]))}" cy="{_at(y.at(mark.y[at]))}" r="{radius}" {fill}{_said(mark, at)}/>'


def _spans(mark: Mark, x: Scale, y: Scale) -> str:
    """Lines from one end of an interval to the other, along x or along y."""
    parts = []
    for at, (a, b) in enumerate(zip(mark.x, mark.y, strict=True)):
        a2, b2 = mark.x2[at] if mark.x2 else a, mark.y2[at] if mark.y2 else b
        if all(value == value for value in (a, a2, b, b2)):
            ends = [_at(scale.at(scale.clamped(value))) for scale, value in ((x, a), (y, b), (x, a2), (y, b2))]
            how = f'stroke="{_colour(mark, at)}" stroke-width="{mark.width:g}"'
            parts.append(f'<path {how} d="M{ends[0]} {ends[1]}L{ends[2]} {ends[3]}"{_said(mark, at)}/>')
    return "".join(parts)


def _band(mark: Mark, x: Scale, y: Scale) -> str:
    known = [(a, b, c) for a, b, c in zip(mark.x, mark.y, mark.y2, strict=True) if b == b and c == c]
    there = [f"{_at(x.at(a))} {_at(y.at(y.clamped(b)))}" for a, b, _ in known]
    back = [f"{_at(x.at(a))} {_at(y.at(y.clamped(c)))}" for a, _, c in reversed(known)]
    return f'<path fill="{mark.colour}" fill-opacity=".15" d="M{"L".join(there + back)}Z"/>' if known else ""


def _cells(mark: Mark, x: Scale, y: Scale) -> str:
    wide, high = abs(x.at(1) - x.at(0)), abs(y.at(1) - y.at(0))
    return "".join(
        f'<rect x="{_at(x.at(a) - wide / 2)}" y="{_at(y.at(b) - high / 2)}" width="{_at(wide - 1)}" '
        f'height="{_at(high - 1)}" fill="{_colour(mark, at)}" '
        f'fill-opacity="{mark.opacity[at] if mark.opacity else 1:.2g}"{_said(mark, at)}/>'
        for at, (a, b) in enumerate(zip(mark.x, mark.y, strict=True))
    )


def _bars(mark: Mark, x: Scale, y: Scale) -> str:
    """Upright bars from ``y`` to ``y2``, between ``x`` and ``x2``."""
    parts = []
    for at, (a, a2, b, b2) in enumerate(zip(mark.x, mark.x2, mark.y, mark.y2, strict=True)):
        left, right = sorted((x.at(a), x.at(a2)))
        top, bottom = sorted((y.at(b), y.at(b2)))
        gap = min(1.0, (right - left) / 5)
        box = f'x="{_at(left + gap / 2)}" y="{_at(top)}" width="{right - left - gap:.2f}" height="{_at(bottom - top)}"'
        parts.append(f'<rect {box} fill="{_colour(mark, at)}"{_said(mark, at)}/>')
    return "".join(parts)


def _texts(mark: Mark, x: Scale, y: Scale) -> str:
    return "".join(
        _text(
            text, x.at(a) + 7, y.at(b) - 6, size=f"{SMALL:g}", anchor=mark.anchor, colour=_colour(mark, at), edge=HALO
        )
        for at, (a, b, text) in enumerate(zip(mark.x, mark.y, mark.texts, strict=True))
        if text and x.holds(a) and y.holds(b)
    )


def _across(mark: Mark, x: Scale, y: Scale) -> str:
    left, right = sorted((x.start, x.end))
    if mark.y2:
        top, bottom = sorted(y.at(y.clamped(value)) for value in (mark.y[0], mark.y2[0]))
        return _shade(left, top, right, bottom)
    paths = [f"M{_at(left)} {_at(y.at(value))}H{_at(right)}" for value in mark.y if y.holds(value)]
    return _rule(mark, paths)


def _upright(mark: Mark, x: Scale, y: Scale) -> str:
    top, bottom = sorted((y.start, y.end))
    if mark.x2:
        left, right = sorted(x.at(x.clamped(value)) for value in (mark.x[0], mark.x2[0]))
        return _shade(left, top, right, bottom)
    paths = [f"M{_at(x.at(value))} {_at(top)}V{_at(bottom)}" for value in mark.x if x.holds(value)]
    return _rule(mark, paths)


def _shade(left: float, top: float, right: float, bottom: float) -> str:
    box = f'x="{_at(left)}" y="{_at(top)}" width="{_at(right - left)}" height="{_at(bottom - top)}"'
    return f'<rect {box} fill="{SHADE}"/>'


def _rule(mark: Mark, paths: Sequence[str]) -> str:
    dash = f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    return f'<path stroke="{mark.colour}" stroke-width="{mark.width:g}"{dash} d="{"".join(paths)}"/>' if paths else ""


DRAW: Mapping[str, Draw] = {
    "line": _line,
    "dots": _dots,
    "spans": _spans,
    "band": _band,
    "cells": _cells,
    "bars": _bars,
    "texts": _texts,
    "across": _across,
    "upright": _upright,
}


# --- panels


def _margin(panel: Panel, width: float) -> tuple[float, float]:
    """The margins at the left for ticks or names, and at the right for names of lines."""
    if panel.y.names:
        widths = [text_width(shortened(name, MOST_NAME * width)) for name in panel.y.names]
        left = max(each * (BOLD if at in panel.y.bold else 1.0) for at, each in enumerate(widths)) + 8
    else:
        probe = Scale(*_domain(panel.y, panel.values("y")), 0, 1, panel.y.is_log)
        ticks = [_ticks(panel.y, probe, room) for room in range(2, 9)]  # those of any height
        left = max(text_width(label) for each in ticks for label in _tick_labels(panel.y, each)) + 8
    labels = [line for name in _line_names(panel) for line in wrapped(name, MOST_LABEL * width)]
    sample = SAMPLE if any(mark.dash and mark.name for mark in panel.marks) else 0
    return left, max(map(text_width, labels), default=0) + (10 + sample if labels else 4)


def _line_names(panel: Panel) -> list[str]:
    return [mark.name for mark in panel.marks if mark.name and mark.kind == "line"]


def panel_height(panel: Panel, width: float, size: Size) -> float:
    """The height of the plot alone."""
    if panel.y.names:
        return ROW * max(2, len(panel.y.names)) + 2 * INSET
    return min(width, 400.0) if panel.is_square else max(150.0, size.ratio * width)


@dataclass(frozen=True)
class Drawn:
    """A panel as SVG, and how high it is."""

    markup: str
    height: float


def _panel(panel: Panel, left: float, top: float, width: float, size: Size) -> Drawn:
    parts, y = [], top
    for line in wrapped(panel.title, width / BOLD):
        y += LINE * TEXT
        parts.append(_text(line, left, y - 4, weight="bold"))
    for line in wrapped(panel.y.title, width):
        y += LINE * TEXT
        parts.append(_text(line, left, y - 4, colour=QUIET))
    before, after = _margin(panel, width)
    plot = width - before - after
    high = panel_height(panel, plot, size)
    x_low, x_high = _domain(panel.x, panel.values("x"))
    y_low, y_high = _domain(panel.y, panel.values("y"))
    x_low, x_high = (x_high, x_low) if panel.x.is_falling else (x_low, x_high)
    bottom = y + 4 + high
    across = Scale(x_low, x_high, left + before, left + before + plot, panel.x.is_log)
    ends = (y + 4, bottom) if panel.y.names or panel.y.is_falling else (bottom, y + 4)
    up = Scale(y_low, y_high, *ends, panel.y.is_log)
    shades = [mark for mark in panel.marks if mark.kind in ("across", "upright") and (mark.x2 or mark.y2)]
    parts += [DRAW[mark.kind](mark, across, up) for mark in shades]
    parts += [_y_axis(panel.y, up, across, width), _x_axis(panel.x, across, up, bottom)]
    parts += [DRAW[mark.kind](mark, across, up) for mark in panel.marks if mark not in shades]
    parts.append(_end_labels(panel, across, up, width))
    y = bottom + LINE * TEXT + 4
    for line in wrapped(panel.x.title, width):
        y += LINE * TEXT
        place = max(left + text_width(line) / 2, min(left + before + plot / 2, left + width - text_width(line) / 2))
        parts.append(_text(line, place, y - 4, anchor="middle", colour=QUIET))
    return Drawn("".join(parts), y - top)


def _y_axis(axis: Axis, scale: Scale, across: Scale, width: float) -> str:
    left, right = sorted((across.start, across.end))
    parts = []
    if axis.names:
        for at, name in enumerate(axis.names):
            weight = {"weight": "bold"} if at in axis.bold else {}
            colour = {"colour": QUIET} if name.startswith("⋯") else {}
            shown = shortened(name, MOST_NAME * width)
            parts.append(_text(shown, left - 8, scale.at(at) + 4, anchor="end", **weight, **colour))
        return "".join(parts)
    ticks = _ticks(axis, scale, abs(scale.end - scale.start) / 32)
    for tick, label in zip(ticks, _tick_labels(axis, ticks), strict=True):
        y = scale.at(tick)
        parts.append(f'<path stroke="{GRID}" d="M{_at(left)} {_at(y)}H{_at(right)}"/>')
        parts.append(_text(label, left - 6, y + 4, anchor="end"))
    return "".join(parts)


def _x_axis(axis: Axis, scale: Scale, up: Scale, bottom: float) -> str:
    left, right = sorted((scale.start, scale.end))
    parts = [f'<path stroke="{GREY}" d="M{_at(left)} {_at(bottom)}H{_at(right)}"/>']
    if axis.names:
        labels, ticks = list(axis.names), [float(at) for at in range(len(axis.names))]
    else:
        ticks = _ticks(axis, scale, (right - left) / 56)
        labels = _tick_labels(axis, ticks)
    last = -math.inf
    for tick, label in sorted(zip(ticks, labels, strict=True), key=lambda each: scale.at(each[0])):
        x, half = scale.at(tick), text_width(label) / 2
        if x - half < last + 6:  # it would touch the one before it
            continue
        last = x + half
        if up.is_log or not axis.names:
            top = min(up.start, up.end)
            parts.append(f'<path stroke="{GRID}" d="M{_at(x)} {_at(top)}V{_at(bottom)}"/>')
        parts.append(f'<path stroke="{GREY}" d="M{_at(x)} {_at(bottom)}v4"/>')
        parts.append(_text(label, x, bottom + 17, anchor="middle"))
    return "".join(parts)


def _end_labels(panel: Panel, x: Scale, y: Scale, width: float) -> str:
    """The names of lines at their ends, one below the other where they would overlap."""
    placed = []
    for mark in panel.marks:
        if mark.kind != "line" or not mark.name:
            continue
        known = [(a, b) for a, b in zip(mark.x, mark.y, strict=True) if x.holds(a) and y.holds(b)]
        if known:
            end = max(known, key=lambda point: x.at(point[0]))
            placed.append((y.at(end[1]), x.at(end[0]), mark, wrapped(mark.name, MOST_LABEL * width)))
    placed.sort(key=lambda each: each[0])
    heights = [len(lines) * LINE * TEXT for *_, lines in placed]
    middles = spread([each[0] for each in placed], heights, min(y.start, y.end), max(y.start, y.end))
    parts, right = [], max(x.start, x.end)
    for (_, _, mark, lines), middle, high in zip(placed, middles, heights, strict=True):
        first = middle - (high - LINE * TEXT) / 2
        if mark.dash:
            how = f'stroke="{mark.colour}" stroke-width="{mark.width:g}" stroke-dasharray="{mark.dash}"'
            parts.append(f'<path {how} d="M{_at(right + 6)} {_at(first)}h{SAMPLE - 5}"/>')
        for at, line in enumerate(lines):
            place = right + 6 + (SAMPLE if mark.dash else 0), first + at * LINE * TEXT + 4
            parts.append(_text(line, *place, colour=mark.colour if mark.colour != GREY else QUIET))
    return "".join(parts)


def spread(middles: Numbers, heights: Numbers, top: float, bottom: float) -> list[float]:
    """Middles in order, moved as little as needed so that boxes of these heights do not overlap.

    >>> spread([10, 12], [8, 8], 0, 100)
    [10, 18.0]
    """
    moved = list(middles)
    for at in range(1, len(moved)):
        moved[at] = max(moved[at], moved[at - 1] + (heights[at - 1] + heights[at]) / 2)
    limit = bottom
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], limit - heights[at] / 2)
        limit = moved[at] - heights[at] / 2
    return moved


# --- charts


def _drawn(chart: Chart, size: Size, *, is_headed: bool) -> str:
    width, parts, y = size.width, [], 2.0
    if is_headed:
        for text, points, how in (
            (chart.title, HEADING, {"weight": "bold", "size": f"{HEADING:g}"}),
            (chart.subtitle, TEXT, {"colour": QUIET}),
            (chart.note, TEXT, {"colour": QUIET}),
        ):
            for line in wrapped(text, width - 4, points * (BOLD if points == HEADING else 1.0)):
                y += LINE * points
                parts.append(_text(line, 2, y - 3, **how))
        y += 8
    elif chart.note:
        for line in wrapped(chart.note, width - 4):
            y += LINE * TEXT
            parts.append(_text(line, 2, y - 3, colour=QUIET))
        y += 6
    markup, y = _panels(chart, y, size)
    parts.append(markup)
    if is_headed and chart.footer:
        y += 14
        parts.append(_text(chart.footer, 2, y, size=f"{SMALL:g}", colour=GREY))
    high = y + 6
    wide, tall = size.scale * width, size.scale * (size.height or high)
    label = html_text(chart.title or chart.panels[0].y.title or chart.panels[0].x.title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sketch" width="{wide:g}" height="{_at(tall)}" '
        f'viewBox="0 0 {width:g} {_at(max(high, size.height or 0))}" role="img" aria-label="{label}" '
        f'font-family="{FONT}" font-size="{TEXT:g}" fill="{INK}">{"".join(parts)}</svg>'
    )


def _panels(chart: Chart, top: float, size: Size) -> tuple[str, float]:
    """The panels beside each other, or where that is too narrow one below the other."""
    inner = size.width - 4
    if len(chart.panels) == 2 and inner >= 560 and not any(_line_names(panel) for panel in chart.panels):
        half = (inner - GAP) / 2
        drawn = [_panel(panel, 2 + at * (half + GAP), top, half, size) for at, panel in enumerate(chart.panels)]
        return "".join(each.markup for each in drawn), top + max(each.height for each in drawn)
    parts = []
    for panel in chart.panels:
        made = _panel(panel, 2, top, inner, size)
        parts.append(made.markup)
        top += made.height + GAP / 2
    return "".join(parts), top - GAP / 2
