"""What holds for every chart, whatever it draws."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

from cranfield.rendering.drawing import BOLD, PALETTE, SIZES, Chart, Mark, text_width

SVG = "{http://www.w3.org/2000/svg}"


def check_chart(chart: Chart) -> None:
    """At most two panels and four named curves; every text inside; colours of the palette only."""
    assert 1 <= len(chart.panels) <= 2
    assert chart.title
    for panel in chart.panels:
        assert len([mark for mark in panel.marks if mark.kind == "line" and mark.name]) <= 4
    for size in SIZES:
        root = ElementTree.fromstring(chart.to_svg(size))
        _, _, wide, high = map(float, root.attrib["viewBox"].split())
        for text in root.iter(f"{SVG}text"):
            left, right = _ends(text)
            assert left >= -1, ("clipped at the left", text.text)
            assert right <= wide + 1, ("clipped at the right", text.text)
            assert 0 < float(text.attrib["y"]) <= high, ("clipped", text.text)
        for dot in root.iter(f"{SVG}circle"):
            radius = float(dot.attrib["r"])
            assert radius <= float(dot.attrib["cx"]) <= wide - radius
            assert radius <= float(dot.attrib["cy"]) <= high - radius
    used = set(re.findall(r'(?:fill|stroke)="(#[^"]+)"', chart.to_svg()))
    assert used <= set(PALETTE), used - set(PALETTE)


def _ends(text: Any) -> tuple[float, float]:
    """Both ends of a text, by the widths of its letters."""
    size = float(text.attrib.get("font-size", 12))
    width = text_width(text.text or "", size) * (BOLD if text.attrib.get("font-weight") == "bold" else 1)
    x = float(text.attrib["x"])
    left = x - {"start": 0, "middle": width / 2, "end": width}[text.attrib.get("text-anchor", "start")]
    return left, left + width


def marks(chart: Chart, kind: str, panel: int = 0) -> list[Mark]:
    """The marks of a kind in a panel."""
    return [mark for mark in chart.panels[panel].marks if mark.kind == kind]


def dots(chart: Chart, panel: int = 0) -> dict[str, float]:
    """The names on the y axis with the values of their dots."""
    names = chart.panels[panel].y.names
    found = [(names[round(y)], x) for mark in marks(chart, "dots", panel) for x, y in zip(mark.x, mark.y, strict=True)]
    return dict(found)
