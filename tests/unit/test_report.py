"""Documents and their faces: nothing is rounded but what people read, and nothing breaks the format it is put in."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.formats.file_check import CheckedFile, CheckReport, FileKind
from cranfield.formats.problems import KINDS, Problem, Severity
from cranfield.measures import CATALOG
from cranfield.questions.check import CheckResult
from cranfield.questions.pack import PackResult
from cranfield.rendering import terminal
from cranfield.rendering.check_document import check_view as check_document
from cranfield.rendering.document import Column, Document, Table, show, warning_lines, warning_row
from cranfield.rendering.output_formats import to_csv, to_json, to_latex, to_markdown
from cranfield.rendering.score_document import measure_document, measures_document, score_document
from cranfield.rendering.terminal import print_document
from cranfield.scores import ScoreTable

THIRD = 1 / 3
ODD = "a|b_c[bold] & d\\e #1 {x} 50% ~^ $"


@pytest.fixture
def document() -> Document:
    """A table with odd names, a missing score, a large count and warnings."""
    columns = (Column("system", "system"), Column("score", "mean AP", "score"), Column("topics", "topics", "count"))
    rows = [(ODD, THIRD, 12345), ("plain", math.nan, 3)]
    words = [dict(zip([column.word for column in columns], row, strict=True)) for row in rows]
    problems = (
        Problem("tie", "run", 3, "topic 1"),
        Problem("comment", "run", 1, "# x", count=2),
        Problem("comment", "run", 9),
        Problem("topic-missing", "other", detail="2 topics", count=1200),
    )
    return Document(
        method="score",
        inputs={"runs": ["run"]},
        tables=[Table(columns, rows, "Scores")],
        rows=words,
        answer="A [sentence].",
        citations=("Sakai2014",),
        warnings=problems,
        seed=7,
    )


# --- numbers and words


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (THIRD, "score", "0.3333"),
        (0.99999, "score", "1.0000"),
        (1234567, "count", "1,234,567"),
        (0.000123456, "number", "0.0001235"),
        ("text", "text", "text"),
        (None, "score", "–"),
        (None, "text", "–"),
        (math.nan, "score", "–"),
        (0, "count", "0"),
        (0.0, "score", "0.0000"),
    ],
)
def test_a_value_is_shown_as_people_read_it(value: object, kind: str, shown: str) -> None:
    assert show(value, kind) == shown


def test_warnings_are_one_line_a_kind_without_notes(document: Document) -> None:
    lines = warning_lines(document.warnings)
    assert len(lines) == 2
    assert lines[0] == "a line that starts with # (3; run:1 and 1 more). It is skipped as a comment."
    assert lines[1].startswith("a run returned nothing for a judged topic (1,200; other).")


def test_a_warning_in_json_has_everything_there_is_to_know() -> None:
    row = warning_row(Problem("comment", "run", 4, "# x", "more", 2))
    kind = KINDS["comment"]
    assert row == {
        "kind": "comment",
        "severity": "warning",
        "file": "run",
        "line": 4,
        "text": "# x",
        "problem": f"{kind.title}: more «# x»",
        "effect": kind.effect,
        "fix": kind.fix,
        "count": 2,
    }
    assert warning_row(Problem("tag-shared", "run"))["line"] is None


# --- faces


def test_json_has_the_result_and_where_it_comes_from(document: Document) -> None:
    content = json.loads(to_json(document))
    assert list(content) == ["inputs", "method", "citations", "warnings", "seed", "version", "rows"]
    assert content["inputs"] == {"runs": ["run"]}
    assert content["method"] == "score"
    assert content["citations"] == ["Sakai2014"]
    assert [warning["kind"] for warning in content["warnings"]] == ["tie", "comment", "comment", "topic-missing"]
    assert content["seed"] == 7
    assert content["version"] == cranfield.__version__


def test_json_keeps_every_digit_and_has_no_nan(document: Document) -> None:
    rows = json.loads(to_json(document), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))["rows"]
    assert rows[0] == {"system": ODD, "score": THIRD, "topics": 12345}
    assert rows[1]["score"] is None


def test_csv_keeps_every_digit_and_quotes_what_needs_it(document: Document) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(document))))
    assert rows[0]["system"] == ODD
    assert float(rows[0]["score"]) == THIRD
    assert int(rows[0]["topics"]) == 12345


def test_csv_of_rows_with_different_keys_has_all_columns() -> None:
    document = Document(method="any", inputs={}, tables=[], rows=[{"a": 1}, {"b": 2}])
    assert to_csv(document).splitlines() == ["a,b", "1,", ",2"]


def test_markdown_rows_have_as_many_cells_as_the_header(document: Document) -> None:
    lines = [line for line in to_markdown(document).splitlines() if line.startswith("|")]
    cells = [line.replace("\\\\", "").replace("\\|", "").strip("|").split("|") for line in lines]
    assert {len(row) for row in cells} == {3}
    assert lines[1] == "|---|---:|---:|"
    assert "0.3333" in lines[2]
    assert "12,345" in lines[2]


def test_markdown_has_title_sentence_and_warnings(document: Document) -> None:
    text = to_markdown(document)
    assert "**Scores**" in text
    assert "A [sentence]." in text
    assert text.count("\n> ") == 2


def test_latex_escapes_what_latex_would_act_on(document: Document) -> None:
    text = to_latex(document)
    row = next(line for line in text.splitlines() if line.startswith("a|"))
    assert row == (
        r"a|b\_c[bold] \& d\textbackslash{}e \#1 \{x\} 50\% \textasciitilde{}\textasciicircum{} \$ & 0.3333 & 12345 \\"
    )
    assert text.startswith("% \\usepackage{array, booktabs, longtable, siunitx}\n% Tables are at most 345 pt wide; ")
    assert "table for one that is too wide.\n\n\\begin{table}\n" in text
    assert "\\caption{Scores}\\label{tab:score}\n\\begin{tabular}{@{}l S[table-format=1.4, " in text
    assert text.endswith("\\bottomrule\n\\end{tabular}\n\\end{table}")


def test_a_missing_score_is_a_dash_to_people(document: Document) -> None:
    assert "| plain | – | 3 |" in to_markdown(document)
    assert r"plain & {--} & 3 \\" in to_latex(document)


CELLS = ["a", "be ta", "x" * 40, "", "–", "é", "[bold]x", "a  b", "trailing ", " lead", "1.5 ±", "\\[x]", "漢", "a\tb"]


@pytest.mark.parametrize("seed", range(40))
def test_a_pipe_gets_the_lines_of_a_wide_terminal(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    choose = random.Random(seed).choice
    tables = []
    for _ in range(seed % 4):
        columns = tuple(
            Column(f"c{at}", choose(CELLS), choose(["text", "score", "count"])) for at in range(1 + seed % 3)
        )
        rows = [
            tuple(choose(CELLS) if column.kind == "text" else choose([None, 7, 123456]) for column in columns)
            for _ in range(choose(range(5)))
        ]
        tables.append(Table(columns, rows, choose(["", "Title", "long title, " * 9 + "end"])))
    document = Document(method="score", inputs={}, tables=tables, rows=[], answer=choose(["", "One sentence."]))
    print_document(document)
    plain = capsys.readouterr().out
    terminal._print_styled(terminal.document_lines(document, sys.maxsize))
    assert capsys.readouterr().out == plain


def test_the_terminal_has_tables_and_sentence_and_warnings_stand_aside(
    document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    print_document(document)
    out, err = capsys.readouterr()
    assert "0.3333" in out
    assert "12,345" in out
    assert "A [sentence]." in out
    assert ODD in out
    assert "warning" not in out
    assert [line.startswith("warning: ") for line in err.splitlines()] == [True, True]


def test_a_pipe_gets_rows_as_long_as_they_need_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    columns = (Column("system", "system"), *(Column(f"m{at}", f"measure {at}", "score") for at in range(60)))
    print_document(Document(method="score", inputs={}, tables=[Table(columns, [("x" * 300, *[THIRD] * 60)])], rows=[]))
    out, _ = capsys.readouterr()
    (row,) = (line for line in out.splitlines() if line.startswith("x"))
    assert row.split() == ["x" * 300, *["0.3333"] * 60]


# --- documents


def test_scores_are_shown_best_system_first_and_ties_by_name() -> None:
    rows = [("AP", "1", name, score) for name, score in (("c", 0.5), ("b", 0.75), ("a", 0.5))]
    document = score_document(ScoreTable.from_rows(rows), {})
    assert [row[0] for row in document.tables[0].rows] == ["b", "a", "c"]
    assert [row["system"] for row in document.rows] == ["b", "a", "c"]
    assert document.citations == (CATALOG["AP"].citation,)
    assert "1 topics for 3 systems, by AP" in document.sentence


def test_a_system_without_any_score_comes_last() -> None:
    table = ScoreTable(("AP",), ("1",), ("a", "b"), np.array([[[[math.nan], [0.0]]]]))
    assert [row[0] for row in score_document(table, {}).tables[0].rows] == ["b", "a"]


def test_one_system_is_not_compared() -> None:
    document = score_document(ScoreTable.from_rows([("AP", "1", "a", 0.5)]), {})
    assert document.sentence == "Means over 1 topics for 1 system."


def test_sums_of_counts_are_whole_numbers_in_tables() -> None:
    run = {"a": {"1": {"d1": 2.0, "d2": 1.0}}}
    document = cranfield.score(run, qrels={"1": {"d2": 1}}, measure=["NumRet", "AP"]).document()
    assert [column.kind for column in document.tables[0].columns] == ["text", "whole", "score"]
    assert document.tables[0].rows == [("a", 2, 0.5)]
    assert "Of NumRet the sums over topics are shown." in document.sentence


def test_the_list_of_measures_has_every_measure() -> None:
    document = measures_document()
    assert len(document.rows) == len(CATALOG)
    assert {re.sub(r"\[?@(k|recall|multiple)\]?$", "", row["measure"]) for row in document.rows} == set(CATALOG)
    assert all(row["citation"] and row["help"] for row in document.rows)


@pytest.mark.parametrize("name", sorted({name for kind in CATALOG.values() for name in (kind.name, *kind.aliases)}))
def test_all_is_told_about_a_measure_whatever_it_is_called(name: str) -> None:
    about = measure_document(name).rows[0]
    kind = next(kind for kind in CATALOG.values() if name in (kind.name, *kind.aliases))
    assert about["is"] == kind.title
    assert about["says"] == kind.help
    assert all(f"parameter {parameter.name}" in about for parameter in kind.parameters)


def report(*problems: Problem) -> CheckReport:
    return CheckReport((CheckedFile("run", FileKind.RUN, 12),), problems)


def test_a_check_lists_five_places_of_a_kind_and_says_how_many_more() -> None:
    problems = [Problem("too-few-fields", "run", line, "x") for line in range(1, 9)]
    few = check_document(CheckResult(report=report(*problems)))
    listed = next(table for table in few.tables if table.title.startswith("error: too few fields"))
    assert [row[0] for row in listed.rows] == [*(f"run:{line}" for line in range(1, 6)), "and 3 more places"]
    assert listed.title.endswith("`all=True` lists all 8 places.")
    whole = check_document(CheckResult(report=report(*problems), most=None))
    listed = next(table for table in whole.tables if table.title.startswith("error: too few fields"))
    assert len(listed.rows) == 8
    assert [row["line"] for row in few.rows] == [1, 2, 3, 4, 5]
    assert len(whole.rows) == 8
    kinds = [{"severity": "error", "kind": "too-few-fields", "places": 8, "lines": 8}]
    assert few.extra == {"kinds": kinds, "places_listed": 5}
    assert whole.extra == {"kinds": kinds, "places_listed": None}


def test_a_check_puts_errors_first_and_sums_up() -> None:
    found = report(Problem("tie", "run", 3, count=4), Problem("comment", "run", 1), Problem("score-nan", "run", 2))
    document = check_document(CheckResult(report=found))
    assert [table.title.split(":")[0] for table in document.tables] == ["", "error", "warning", "note", "Summary"]
    assert document.tables[-1].rows == [
        ("error", "score-nan", 1, 1),
        ("warning", "comment", 1, 1),
        ("note", "tie", 1, 4),
    ]
    assert document.sentence.startswith(
        "1 kind of error in 1 place, 1 kind of warning in 1 place, 1 kind of note in 1 place (4 lines). Scores would"
    )


@pytest.mark.parametrize(
    ("slugs", "strict", "says"),
    [
        ([], False, "The files can be scored."),
        (["tie"], True, "1 kind of note in 1 place. The files can be scored."),
        (["comment"], False, "1 kind of warning in 1 place. The files can be scored; read the warnings."),
        (["comment"], True, "1 kind of warning in 1 place. The files can be scored, but `strict=True` asks for more."),
        (
            ["comment", "score-nan", "score-nan"],
            False,
            "1 kind of error in 2 places, 1 kind of warning in 1 place. Scores would be wrong",
        ),
    ],
)
def test_a_check_says_in_one_sentence_what_follows(slugs: list[str], strict: bool, says: str) -> None:
    found = report(*(Problem(slug, "run", line) for line, slug in enumerate(slugs, 1)))
    sentence = check_document(CheckResult(report=found, strict=strict)).sentence
    assert sentence.startswith(says)
    assert found.failed(strict=strict) is (
        any(KINDS[slug].severity is Severity.ERROR for slug in slugs) or (strict and "comment" in slugs)
    )


def test_a_pack_says_how_much_is_in_it(example: Path, tmp_path: Path) -> None:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt", teams=example / "teams.tsv")
    path = tmp_path / "demo.cran"
    collection.save(path)
    packed = PackResult(collection=collection, file=str(path), bytes=path.stat().st_size)
    (row,) = packed.document().rows
    assert row == {
        "file": str(path),
        "topics": 40,
        "systems": 12,
        "teams": 5,
        "documents": len(collection.documents),
        "retrieved": 40 * 12 * 100,
        "judgments": len((example / "qrels.txt").read_text().splitlines()),
        "bytes": path.stat().st_size,
    }


def test_errors_cross_process_borders_whole() -> None:
    import pickle

    from cranfield import InputError

    error = InputError("what", where="file:3", fix="do this")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.what, again.where, again.fix, str(again)) == (
        InputError,
        "what",
        "file:3",
        "do this",
        str(error),
    )


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    import os

    from cranfield.formats.text import write_text

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "hello")
        assert os.read(reader, 10) == b"hello"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_link_goes_on_pointing_at_what_is_written(tmp_path: Path) -> None:
    from cranfield.formats.text import write_text

    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real.csv")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"
