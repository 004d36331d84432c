"""Control characters in names: nothing ends, outputs show them as escapes, and JSON and CSV have them as they are."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.rendering import output_formats
from cranfield.rendering.charts import write_chart
from cranfield.rendering.document import spoken, view
from cranfield.rendering.report_files import FORMATS, find_browser, write_report
from cranfield.rendering.workbook import sheet_name
from cranfield.scores import ScoreTable, read_scores, write_scores
from sizes import sized

C0 = [chr(code) for code in range(1, 32) if chr(code) not in "\t\n\r"]
TURNING = [chr(code) for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
MARKS = sized(
    ["\x01", "\x07", "\x0b", "\x1b", "\ufffe", "\uffff", "\u202e", "\u2066"], [*C0, "\ufffe", "\uffff", *TURNING]
)
RAW = re.compile(f"[{''.join(C0)}\ufffe\uffff{''.join(TURNING)}\ud800-\udfff]")
SYSTEMS = (*(f"a{mark}b" for mark in MARKS), "z")
MEASURES = ("A\x01P", "P\u202e@\uffff")
TOPICS = tuple(f"q{MARKS[at % len(MARKS)]}{at:02}" for at in range(12))


def named(systems: tuple[str, ...] = SYSTEMS, measures: tuple[str, ...] = MEASURES) -> ScoreTable:
    values = np.random.default_rng(1).normal(0.4, 0.1, (len(measures), len(TOPICS), len(systems), 1))
    values += 0.02 * np.arange(len(systems))[:, np.newaxis]
    return ScoreTable(measures, TOPICS, systems, np.clip(values, 0, 1))


ASK: dict[str, Callable[[], Any]] = {
    "compare": lambda: cf.compare(named(), measure=MEASURES[0]),
    "baseline": lambda: cf.compare(named(), measure=MEASURES[1], baseline=SYSTEMS[0]),
    "leaderboard": lambda: cf.leaderboard(named()),
    "forest": lambda: cf.leaderboard({"c\x01": named(), "c\ufffe": named()}, measure=MEASURES[0], baseline=SYSTEMS[0]),
    "variance": lambda: cf.variance(named()),
    "size": lambda: cf.size(named(), difference="0.03:0.1:0.01", measure=MEASURES[0]),
    "power": lambda: cf.power(named(), topics="10:40:10", measure=MEASURES[0]),
    "judges": lambda: cf.judges(named(), judge={"j\x01\u202e": named()}, measure=MEASURES[0]),
}


NAMES = sized(["compare", "forest", "size", "judges"], [*ASK])


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return {name: ASK[name]() for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_text_of_a_result_shows_controls_as_escapes(results: dict[str, Any], name: str) -> None:
    result = results[name]
    document = result.document()
    said = spoken(document, "command")
    for text in (
        *(make(document) for make in (output_formats.to_markdown, output_formats.to_latex, output_formats.to_html)),
        output_formats.to_latex(said),
        output_formats.to_markdown(said),
        result.summary(),
        repr(result),
        *(sketch(result)[0] for sketch in [view(type(result)).sketch] if sketch),
        *(make(result) for make in view(type(result)).files.values()),
    ):
        assert not RAW.findall(text), RAW.search(text)


@pytest.mark.parametrize("name", NAMES)
def test_json_and_csv_of_a_result_have_the_names_as_they_are(results: dict[str, Any], name: str) -> None:
    document = results[name].document()
    given = {*SYSTEMS, *MEASURES, "c\x01", "j\x01\u202e"}
    rows = json.loads(output_formats.to_json(document))["rows"]
    cells = {cell for row in rows for cell in row.values() if isinstance(cell, str)}
    columns = list(csv.reader(io.StringIO(output_formats.to_csv(document), newline="")))
    assert cells & given
    assert {cell for row in columns for cell in row} & given == cells & given


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_of_a_result_is_drawn_with_escapes(results: dict[str, Any], name: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    drawn = 0
    for kind in view(type(results[name])).charts:
        try:
            chart = results[name].chart(kind)
        except RequestError:  # there is no such chart of this result
            continue
        endings = (".svg", ".png", ".pdf", ".html") if sized(name == "size", True) else (".svg",)
        for ending in endings:
            path = tmp_path / f"{kind}{ending}"
            write_chart(chart, str(path))
            assert ending in (".png", ".pdf") or not RAW.findall(path.read_text())
        ElementTree.parse(tmp_path / f"{kind}.svg")
        drawn += 1
    assert drawn


def test_a_chart_that_a_notebook_draws_by_itself_is_drawn(results: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    results["compare"].chart("critical-difference").save(str(tmp_path / "notebook.svg"))
    ElementTree.parse(tmp_path / "notebook.svg")


@pytest.fixture(scope="module")
def report() -> Any:
    return cf.report(named(measures=MEASURES[:1]), title="T\x02\u2069", systems=3)


def skip_without_browser() -> None:
    try:
        find_browser()
    except RequestError:
        pytest.skip("there is no browser")


@pytest.mark.parametrize("ending", sized([each for each in FORMATS if each != ".pdf"], list(FORMATS)))
def test_every_format_of_a_report_shows_controls_as_escapes(report: Any, ending: str, tmp_path: Path) -> None:
    if ending == ".pdf":
        skip_without_browser()
    path = tmp_path / f"report{ending}"
    write_report(report, path)
    if ending == ".xlsx":
        with zipfile.ZipFile(path) as book:
            texts = {name: book.read(name).decode() for name in book.namelist() if name.endswith((".xml", ".rels"))}
        for name, text in texts.items():
            ElementTree.fromstring(text)
            assert not RAW.findall(text), name
            assert "_x00" not in text
    elif ending == ".json":
        assert json.dumps(SYSTEMS[0]) in path.read_text()
    elif ending != ".pdf":
        assert not RAW.findall(path.read_text())


def test_a_sheet_is_named_without_controls() -> None:
    assert sheet_name("a\x01\u202eb\ufffe", set()) == "a  b"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".json", ".parquet", ".cran"])
def test_scores_are_written_and_read_back_with_the_same_names(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores{ending}"
    if ending == ".cran":
        cf.pack(named(), out=str(path))
    else:
        write_scores(named(), path)
    assert set(read_scores(path).systems) == set(SYSTEMS)
    assert set(read_scores(path).topics) == set(TOPICS)


@pytest.mark.parametrize("part", ["measures", "systems"])
def test_half_of_a_surrogate_pair_is_no_name(part: str) -> None:
    with pytest.raises(RequestError, match="half of a surrogate pair"):
        named(**{part: ("a\ud800", "b")})


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
@pytest.mark.parametrize("more", sized([["--json"]], [["--json"], ["--csv"], ["--md"], ["--plot", "x.svg"]]))
def test_a_file_whose_name_is_no_text_names_a_measure_all_the_same(more: list[str], tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/bad\xff.csv", "w") as stream:
        stream.write("topic,a,b\n1,.1,.2\n2,.3,.5\n3,.4,.1\n")
    command = [sys.executable, "-m", "cranfield", "compare", os.fsdecode(b"bad\xff.csv"), *more]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert (found.returncode, b"Error" in found.stderr) == (0, False)
    if more == ["--json"]:
        assert json.loads(found.stdout)["rows"][0]["measure"] == r"bad\udcff"


def test_pages_show_escapes_and_forms_send_the_names(
    page: str, upload: Callable[..., httpx.Response], wait: Callable[[str], httpx.Response]
) -> None:
    scores = output_formats.scores_csv(named()).encode()
    link = page + upload(page, [("scores.csv", scores)]).json()["link"]
    for name in sized(("", "/leaderboard"), ("", "/leaderboard", "/compare", "/variance")):
        text = wait(link + name).text
        sent = [unescape(value) for value in re.findall(r'value="([^"]*)"', text)]
        assert not RAW.findall(re.sub(r'value="[^"]*"', "", text)), name
        assert not name or MEASURES[0] in sent
    assert not RAW.findall(wait(f"{link}/leaderboard.board").text)
    ElementTree.fromstring(wait(f"{link}/compare.svg").text)
