"""Names with markup, formula characters, LaTeX or path parts come out harmless in every face."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostile import FORMULA, IMAGE, MEASURES, NAMES, SCRIPT, hostile_report
from markdown_it import MarkdownIt

from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.output_formats import to_csv, to_latex, to_markdown
from cranfield.rendering.report_files import report_json, report_latex, report_markdown
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_page import to_html
from cranfield.rendering.workbook import sheet_name, to_xlsx
from cranfield.scores import ScoreTable, read_scores, write_scores

OUR_TAGS = {
    "dl",
    "dt",
    "dd",
    "html",
    "head",
    "meta",
    "title",
    "link",
    "style",
    "body",
    "a",
    "header",
    "h1",
    "h2",
    "h3",
    "p",
    "nav",
    "ul",
    "li",
    "main",
    "section",
    "form",
    "div",
    "label",
    "select",
    "option",
    "input",
    "svg",
    "g",
    "path",
    "rect",
    "line",
    "circle",
    "text",
    "tspan",
    "pre",
    "button",
    "noscript",
    "figure",
    "figcaption",
    "img",
    "details",
    "summary",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "footer",
    "script",
    "defs",
    "lineargradient",
    "stop",
    "clippath",
    "strong",
}


@pytest.fixture(scope="module")
def report() -> Report:
    return hostile_report()


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return to_html(report)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_html_has_no_element_or_handler_from_a_name(page: str) -> None:
    elements = _Elements()
    elements.feed(page)
    assert {tag for tag, _ in elements.found} <= OUR_TAGS
    assert [attributes.get("type") for tag, attributes in elements.found if tag == "script"] == [
        "application/json",
        None,
        None,
        None,
    ]
    for tag, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not str(attributes.get("href", "#")).startswith("javascript")
        assert str(attributes.get("src", "data:")).startswith("data:")
    text = "".join(elements.text)
    for name in (SCRIPT, IMAGE, "{{ 7 * 7 }}"):
        assert name in text  # shown as what it is


def test_data_for_the_page_cannot_end_its_script(page: str) -> None:
    raw = re.search(r'<script type="application/json" id="calculator-data">(.*?)</script>', page, re.S)
    assert raw is not None
    assert "<" not in raw[1]
    assert [start["measure"] for start in json.loads(raw[1])["starts"]] == list(MEASURES)


def test_a_workbook_has_no_formula_from_a_name(report: Report) -> None:
    book = zipfile.ZipFile(io.BytesIO(to_xlsx(report)))
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    formulas = set()
    for name in book.namelist():
        if name.startswith("xl/worksheets/sheet"):
            sheet = ElementTree.fromstring(book.read(name))
            formulas |= {element.text or "" for element in sheet.iter(f"{space}f")}
    assert formulas
    ours = re.compile(r"[A-Za-z0-9_$().,:+\-*/^<>='\"! ]+")
    assert all(ours.fullmatch(text) for text in formulas)
    functions = {word for text in formulas for word in re.findall(r"([A-Z]+)\(", text.replace("(ANOVA)", ""))}
    assert functions <= {"IF", "INDEX", "MATCH", "MIN", "ROUNDUP"}
    assert not [name for name in book.namelist() if "externalLink" in name]
    strings = book.read("xl/sharedStrings.xml").decode()
    assert FORMULA.replace("'", "&apos;") in strings or FORMULA in strings


def test_a_workbook_has_sheet_names_that_spreadsheets_take(report: Report) -> None:
    book = zipfile.ZipFile(io.BytesIO(to_xlsx(report)))
    names = re.findall(r'<sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
    assert len({name.lower() for name in names}) == len(names)
    assert all(not re.search(r"[\[\]:*?/\\]", name) for name in names)


@pytest.mark.parametrize(
    ("title", "name"),
    [("a" * 40, "a" * 31), ("'x'", "x"), ("[]:*?/\\", "sheet"), ("", "sheet"), ("scores", "scores 2")],
)
def test_a_sheet_name_is_made_of_any_title(title: str, name: str) -> None:
    assert sheet_name(title, {"scores"}) == name


def test_sheet_names_that_agree_in_31_characters_are_told_apart() -> None:
    taken: set[str] = set()
    for _ in range(12):
        name = sheet_name("b" * 50, taken)
        assert len(name) <= 31
        taken.add(name.lower())
    assert len(taken) == 12


def test_latex_does_nothing_a_name_says(report: Report) -> None:
    body = report_latex(report)
    assert r"\input" not in body
    assert r"\textbackslash{}input\{" in body


def test_markdown_has_no_html_from_a_name(report: Report) -> None:
    text = report_markdown(report)
    assert not re.search(r"(?<!\\)<(script|img|b|/)", text)


def test_json_keeps_names_as_they_are(report: Report) -> None:
    rows = json.loads(report_json(report))["rows"]
    compared = next(row for row in rows if row["section"] == "compare")
    assert {row["system"] for row in compared["rows"]} == set(NAMES)


@pytest.mark.parametrize("name", [FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1"])
def test_csv_names_are_no_formulas_and_numbers_stay_numbers(name: str) -> None:
    document = Document(method="any", inputs={}, tables=[], rows=[{"system": name, "score": -0.5, "topics": 3}])
    row = next(csv.DictReader(io.StringIO(to_csv(document), newline="")))
    assert row["system"] == f"'{name}"
    assert float(row["score"]) == -0.5


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("wide", [False, True])
def test_score_files_have_no_formulas_and_are_read_back_with_the_same_names(
    ending: str, wide: bool, tmp_path: Path
) -> None:
    systems = [FORMULA, "+1+1", "-2+3", "@SUM(A1)", f"'{FORMULA}", f"''{FORMULA}", "'quoted'", "z"]
    topics = ["-1", "1", "'=2"]
    rows = [("=M", topic, system, len(topic) + at / 7) for at, system in enumerate(systems) for topic in topics]
    table = ScoreTable.from_rows(rows, columns=["measure", "topic", "system", "score"])
    path = tmp_path / f"scores{ending}"
    write_scores(table, path, wide=wide)
    text = (gzip.decompress(path.read_bytes()) if ending.endswith("gz") else path.read_bytes()).decode()
    cells = [cell for row in csv.reader(io.StringIO(text), delimiter="\t" if ending == ".tsv" else ",") for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    found = read_scores(path, measure="=M" if wide else None)
    assert (found.measures, found.topics, found.systems) == (table.measures, table.topics, table.systems)
    assert (found.values == table.values).all()


def test_names_of_other_writers_are_kept_where_one_is_a_formula(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("topic,=x,'=x,'y\n1,0.1,0.2,0.3\n'-5,0.1,,0.3\n")
    found = read_scores(path, measure="AP")
    assert (set(found.systems), set(found.topics)) == ({"=x", "'=x", "'y"}, {"1", "-5"})
    assert found.mean("AP")["'=x"] == 0.2
    assert dict(found.empty) == {("AP", "-5", "'=x", ""): f"{path}:3"}


@pytest.mark.parametrize(
    "name", [IMAGE, "\\" + IMAGE, "[x](javascript:alert(1))", "![](http://x/y.png)", "\\](x)", "a|b"]
)
def test_markdown_shows_any_name_as_what_it_is(name: str) -> None:
    table = Table((Column("system", "system"),), [(name,)], name)
    made = to_markdown(Document(method="any", inputs={}, tables=[table], rows=[], answer=f"[{name} is best."))
    html = MarkdownIt("commonmark").enable("table").render(made)
    elements = _Elements()
    elements.feed(html)
    assert {tag for tag, _ in elements.found} <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert "".join(elements.text).count(name) == 3


def test_a_name_cannot_start_a_line_of_csv() -> None:
    text = to_csv(Document(method="any", inputs={}, tables=[], rows=[{"system": "a\r=1+1", "score": 0.5}]))
    assert list(csv.reader(io.StringIO(text))) == [["system", "score"], ["a =1+1", "0.5"]]


def test_the_faces_of_any_command_are_harmless_too() -> None:
    table = Table((Column("system", "system"),), [(SCRIPT,), (r"\input{x}",)])
    document = Document(method="any", inputs={}, tables=[table], rows=[], answer=f"{IMAGE} is best.")
    assert "<script" not in to_markdown(document).replace(r"\<", "")
    assert "<img" not in to_markdown(document).replace(r"\<", "")
    assert r"\input" not in to_latex(document)


def test_a_report_is_named_without_the_folders_of_its_input(report: Report) -> None:
    assert "../" not in report.title
