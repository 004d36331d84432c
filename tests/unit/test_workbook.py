"""The workbook: tables with every digit, and the numbers its formulas are saved with."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import cranfield
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report
from cranfield.rendering.workbook import to_xlsx
from cranfield.scores.evaluation import score_collection
from designs import size_for_range

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def report(example: Path) -> Report:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    return make_report(cranfield.report(collection, measure=["AP", "P@10"], shards=2))


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
    live = [f"{kind} ({name})" for name in ("pair", "range", "interval", "Sakai") for kind in ("Topics", "Table")]
    assert names[:10] == ["About", *live, "Topics (tests)"]
    assert {section.title for section in report.sections} <= set(names)
    assert {"Pairs AP", "Pairs P@10", "References"} <= set(names)


def test_saved_answers_are_the_librarys(report: Report) -> None:
    book = sheets(to_xlsx(report))
    for at, start in enumerate(report.starts):
        row = 5 + 3 * at
        for sheet, method, way in (("range", "blocked", "residual"), ("Sakai", "sakai", "two-way")):
            cells = book[f"Topics ({sheet})"]
            variance = start.variances[way][0]
            wanted = size_for_range(systems=12, min_range=0.1, variance=variance, method=method)
            assert int(cells[f"F{row}"]) == int(wanted.topics)


def test_n_is_that_of_size_for_the_same_goal(report: Report) -> None:
    """One goal has one n, in the workbook's live sheets, its table of tests and the section on size."""
    book = sheets(to_xlsx(report))
    section = next(section for section in report.sections if section.title == "How many topics")
    rows = section.parts[0].document.rows
    pair, tests = book["Topics (pair)"], book["Topics (tests)"]
    for at, start in enumerate(report.starts):
        mine = [row for row in rows if row["measure"] == start.measure and row["estimate"] == "residual"]
        n = {row["method"]: row["topics"] for row in mine}
        assert (pair[f"A{5 + 3 * at}"], int(pair[f"F{5 + 3 * at}"])) == (start.measure, n["holm"])
        assert int(book["Topics (range)"][f"F{5 + 3 * at}"]) == n["blocked"]
        assert int(book["Topics (interval)"][f"D{5 + 3 * at}"]) == n["interval"]
        table = {tests[f"B{line}"]: int(tests[f"H{line}"]) for line in range(3 + 5 * at, 8 + 5 * at)}
        assert {test: table[test] for test in ("holm", "tukey", "t")} == {
            test: n[test] for test in ("holm", "tukey", "t")
        }


def test_more_topics_than_the_table_has_is_said(example: Path) -> None:
    table = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP")
    made = make_report(cranfield.report({"x": table}, goal={"min_range": 0.0005}, section="size"))
    assert sheets(to_xlsx(made))["Topics (range)"]["F5"] == "more than 100,000"


def test_numbers_keep_the_sixteen_digits_a_workbook_has(report: Report) -> None:
    cells = sheets(to_xlsx(report))["Pairs AP"]
    compared = next(section for section in report.sections if section.slug == "compare")
    pairs = next(part.document.extra["pairs"] for part in compared.parts)
    heads = {cells[f"{letter}1"]: letter for letter in "ABCDEFGH" if f"{letter}1" in cells}
    assert float(cells[f"{heads['difference']}2"]) == pytest.approx(pairs[0]["difference"], rel=1e-15)
    assert cells[f"{heads['system a']}2"] == pairs[0]["system_a"]
    assert len([cell for cell in cells if cell.startswith("A")]) == 1 + 66


def test_the_same_report_gives_the_same_bytes(report: Report) -> None:
    assert to_xlsx(report) == to_xlsx(report)


def test_without_a_variance_there_are_no_live_sheets(report: Report) -> None:
    made = Report(title="x", inputs={}, sections=report.sections[:2])
    assert "Topics (range)" not in sheets(to_xlsx(made))
