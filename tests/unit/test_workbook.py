"""The workbook: tables with every digit, and the numbers its formulas are saved with."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import cranfield
from cranfield.design.sizing import size_for_range, size_for_width
from cranfield.report.sections import Goal, Material, make_report
from cranfield.report.spreadsheet import ANOVA, INTERVAL, MOST, search_steps
from cranfield.report.whole import Report
from cranfield.report.workbook import to_xlsx

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def report(example: Path) -> Report:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    return make_report(Material({"runs": collection.score(["AP", "P@10"])}, collection, shards=(2,)))


def sheets(data: bytes) -> dict[str, dict[str, str]]:
    """Every sheet's cells as text, by the name of the sheet and the cell."""
    book = zipfile.ZipFile(io.BytesIO(data))
    names = re.findall(r'<sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
    strings = [
        "".join(text.text or "" for text in item.iter(f"{SPACE}t"))
        for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    ]
    found = {}
    for number, name in enumerate(names, start=1):
        cells = {}
        for cell in ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iter(f"{SPACE}c"):
            value = cell.findtext(f"{SPACE}v")
            if value is not None:
                cells[cell.attrib["r"]] = strings[int(value)] if cell.attrib.get("t") == "s" else value
        found[name] = cells
    return found


def test_there_is_a_sheet_a_section_and_the_live_ones(report: Report) -> None:
    names = list(sheets(to_xlsx(report)))
    assert names[:5] == ["About", "Topics (ANOVA)", "Search (ANOVA)", "Topics (interval)", "Search (interval)"]
    assert {section.title for section in report.sections} <= set(names)
    assert {"Pairs AP", "Pairs P@10", "References"} <= set(names)


def test_saved_answers_are_the_librarys(report: Report) -> None:
    cells = sheets(to_xlsx(report))["Topics (ANOVA)"]
    for at, start in enumerate(report.starts):
        variance = start.variances["two-way"][0]
        row = 5 + 3 * at
        wanted = size_for_range(systems=12, min_range=0.1, variance=variance, method="sakai").to_dict()[0]
        assert int(cells[f"G{row}"]) == wanted["topics"]
        assert float(cells[f"H{row}"]) == pytest.approx(wanted["achieved_power"], rel=1e-12)
        assert float(cells[f"I{row}"]) == pytest.approx(wanted["power_below"], rel=1e-12)


@pytest.mark.parametrize("systems", [2, 10, 100])
@pytest.mark.parametrize("min_range", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(("alpha", "power"), [(0.01, 0.9), (0.05, 0.8)])
def test_the_search_finds_sakais_n(systems: int, min_range: float, alpha: float, power: float) -> None:
    design: dict[str, Any] = {
        "systems": systems,
        "min_range": min_range,
        "variance": 0.0530,
        "alpha": alpha,
        "power": power,
    }
    assert search_steps(ANOVA, design)[-1][1] + 1 == int(size_for_range(**design, method="sakai").topics)


@pytest.mark.parametrize("width", [0.03, 0.1, 0.5])
def test_the_search_finds_the_n_of_an_interval(width: float) -> None:
    design = {"width": width, "variance": 0.0530, "alpha": 0.05}
    wanted = size_for_width(width=width, sd=(2 * 0.0530) ** 0.5)
    assert search_steps(INTERVAL, design)[-1][1] + 1 == int(wanted.topics)


def test_more_topics_than_a_search_goes_is_said(example: Path) -> None:
    table = cranfield.read_collection(example / "runs", example / "qrels.txt").score("AP")
    made = make_report(Material({"x": table}, goal=Goal(min_range=0.0005)), sections=["size"])
    assert sheets(to_xlsx(made))["Topics (ANOVA)"]["G5"] == f"more than {MOST:,}"


def test_numbers_keep_the_sixteen_digits_a_workbook_has(report: Report) -> None:
    cells = sheets(to_xlsx(report))["Pairs AP"]
    pairs = next(part.document.extra["pairs"] for part in report.sections[5].parts)
    heads = {cells[f"{letter}1"]: letter for letter in "ABCDEFGH" if f"{letter}1" in cells}
    assert float(cells[f"{heads['difference']}2"]) == pytest.approx(pairs[0]["difference"], rel=1e-15)
    assert cells[f"{heads['system a']}2"] == pairs[0]["system_a"]
    assert len([cell for cell in cells if cell.startswith("A")]) == 1 + 66


def test_the_same_report_gives_the_same_bytes(report: Report) -> None:
    assert to_xlsx(report) == to_xlsx(report)


def test_without_a_variance_there_are_no_live_sheets(report: Report) -> None:
    made = Report("x", {}, report.sections[:2])
    assert "Topics (ANOVA)" not in sheets(to_xlsx(made))
