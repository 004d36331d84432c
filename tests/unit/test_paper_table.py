"""Tables for papers: the best in bold, signs for what differs significantly, and LaTeX that goes in as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import RequestError
from cranfield.rendering.document import Column, Document, Mark, Table
from cranfield.rendering.output_formats import to_latex
from cranfield.rendering.paper_table import paper_table

FRAME = r"""\documentclass{article}
\usepackage{array, booktabs, longtable, siunitx}
\begin{document}
%s
\end{document}
"""


def compiled(table: str, folder: Path) -> str:
    """The log of pdflatex; it must come to an end without an error."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    Path(folder, "paper.tex").write_text(FRAME % table, encoding="utf-8")
    for _ in range(2):  # a longtable knows the widths of its columns at the second time
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        log = Path(folder, "paper.log").read_text(encoding="latin-1")
        assert done.returncode == 0, log[-2000:]
    return log


def overfull(log: str) -> list[float]:
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]


@pytest.fixture(scope="module")
def scores() -> dict[str, dict[str, float]]:
    """Three systems: a and b differ by chance alone, and c is worse on every topic."""
    draw = np.random.default_rng(1)
    topics = {f"t{at}": float(value) for at, value in enumerate(draw.uniform(0.4, 0.6, 30))}
    return {
        "a": {topic: value + float(draw.normal(0, 0.02)) for topic, value in topics.items()},
        "b": {topic: value + float(draw.normal(0, 0.02)) - 0.002 for topic, value in topics.items()},
        "c_1": {topic: value - 0.2 + float(draw.normal(0, 0.02)) for topic, value in topics.items()},
    }


def test_the_best_is_bold_and_letters_name_the_systems_that_are_worse(scores: dict[str, dict[str, float]]) -> None:
    result = cf.compare(scores)
    table = paper_table(result.comparisons)
    assert [row[:2] for row in table.rows] == [("a", "a"), ("b", "b"), ("c", "c_1")]
    assert [table.marks[row, 2] for row in range(3)] == [Mark(True, "c"), Mark(False, "c"), Mark()]
    text = to_latex(result.document())
    assert "\\bfseries 0." in text.splitlines()[10]
    assert text.count("\\textsuperscript{c}}") == 3  # two cells, and the room for it
    assert r"c & c\_1 & 0." in text
    assert r"\caption{Mean score of 3 systems on 30 topics." in text
    assert r"\label{tab:compare}" in text


def test_marks_agree_with_the_pairs(example: Path) -> None:
    result = cf.compare(example / "runs", qrels=str(example / "qrels.txt"), measure=["AP", "nDCG@10"])
    table = paper_table(result.comparisons)
    letters = {row[1]: row[0] for row in table.rows}
    for at, found in enumerate(result.comparisons.values(), start=2):
        worse: dict[str, set[str]] = {system: set() for system in found.systems}
        for pair in found.to_dict():
            if pair["significant"]:
                worse[pair["system_a"]].add(letters[pair["system_b"]])
        for row, values in enumerate(table.rows):
            above = re.sub(
                "(.)–(.)",
                lambda run: "".join(map(chr, range(ord(run[1]), ord(run[2]) + 1))),
                table.marks[row, at].above,
            )
            assert set(above) == worse[values[1]]
            assert table.marks[row, at].is_best == (values[at] == max(each[at] for each in table.rows))


def test_daggers_mark_what_is_better_and_worse_than_baselines(scores: dict[str, dict[str, float]]) -> None:
    table = paper_table(cf.compare(scores, baseline="b").comparisons)
    assert [row[0] for row in table.rows] == ["", "†", ""]
    assert [table.marks[row, 2] for row in range(3)] == [Mark(True), Mark(), Mark(below="†")]
    assert "Superscript †: significantly better than b; subscript †: significantly worse (" in table.note


def test_lower_is_better_turns_the_marks_round(scores: dict[str, dict[str, float]]) -> None:
    table = paper_table(cf.compare(scores, lower_is_better=True).comparisons)
    assert [row[1] for row in table.rows] == ["c_1", "b", "a"]
    assert [table.marks[row, 2] for row in range(3)] == [Mark(True, "bc"), Mark(), Mark()]


def test_systems_are_ranked_by_the_first_measure_that_is_no_count(example: Path) -> None:
    found = cf.score(example / "runs", qrels=str(example / "qrels.txt"), measure=["NumRet", "AP"])
    means = found.table.mean("AP")
    best = max(means, key=lambda system: means[system])
    document = found.document()
    assert document.answer.endswith(f"by AP: {best} has the highest, {means[best]:.4f}.")
    assert document.tables[0].rows[0][0] == best


def test_score_marks_what_compare_finds(example: Path) -> None:
    marked = cf.score(example / "runs", qrels=str(example / "qrels.txt"), measure=["AP", "RBP", "NumRel"], marks=True)
    compared = cf.compare(example / "runs", qrels=str(example / "qrels.txt"), measure="AP").comparisons["AP"]
    assert set(marked.comparisons) == {"AP", "RBP(p=0.8)"}  # a sum is not compared
    assert marked.comparisons["AP"].p_adjusted.tolist() == compared.p_adjusted.tolist()
    document = marked.document()
    (shown,) = document.tables
    assert shown.rows[0][2].startswith("0.5537* ")
    assert "(paired t test with Holm's correction, α = 0.05)" in document.notes
    marks = marked.to_dict()["marks"]
    assert [row["system"] for row in marks if row["measure"] == "AP" and row["is_best"]] == ["cleverdon1"]
    assert json.dumps(marks)


def test_marks_of_one_system_are_refused(example: Path) -> None:
    with pytest.raises(RequestError, match="one system alone"):
        cf.score(example / "runs" / "aldgate1.txt", qrels=str(example / "qrels.txt"), marks=True)


def test_a_short_table_compiles_whatever_its_names(tmp_path: Path) -> None:
    columns = (
        Column("system", "system & co_1"),
        Column("count", "how many", "count"),
        Column("score", "AP (50 %)", "score"),
        Column("p", "p", "probability"),
        Column("why", "why this is so"),
    )
    prose = "A sentence that is far too long to stand beside the other columns on one line of a page. " * 2
    rows = [
        (r"a_b & \input{x} #1 {y} 50% ~^$", 12345, -0.25, 1e-9, prose),
        ("–", float("inf"), float("nan"), None, "short"),
        ("…", 7, 0.125, 0.5, "α ≤ β × τ"),
    ]
    document = Document(method="any thing", inputs={}, tables=[Table(columns, rows)], rows=[], answer="So_it is: 5 %.")
    text = to_latex(document)
    assert r"\label{tab:any-thing}" in text
    assert "S[table-format=5" in text
    assert "S[table-format=-1.4" in text
    assert "& 12345 & -0.2500 &" in text
    assert [points for points in overfull(compiled(text, tmp_path)) if points > 10] == []


def test_129_systems_and_three_measures_go_over_pages(shared: Path, tmp_path: Path) -> None:
    files = [shared / "data" / "trec8" / "scores" / f"{name}.csv" for name in ("map", "P_10", "ndcg_cut_10")]
    result = cf.compare([str(file) for file in files], test="tukey")
    text = to_latex(result.document())
    assert r"\begin{longtable}" in text
    assert text.count(r" \\") == 2 + 129
    assert r"system & {map} & {P\_10} & {ndcg\_cut\_10} \\" in text
    log = compiled(text, tmp_path)
    assert [points for points in overfull(log) if points > 10] == []
    assert int(re.findall(r"Output written on paper.pdf \((\d+) pages", log)[0]) >= 3


def test_a_number_of_topics_without_data_has_a_paragraph_that_compiles(tmp_path: Path) -> None:
    found = cf.size(difference=0.05, sd=0.2, systems=10)
    latex = to_latex(found.document())
    assert "With 275 topics we can detect a difference of 0.05 between two of 10 systems" in latex
    assert r"Method: paired t tests with Holm's correction~\cite{Holm1979}; systems share topics." in latex
    assert (
        "This is the smallest number that does so: the power is 0.8009. With one topic fewer the power is 0.7987."
        in (latex)
    )
    assert "% @article{Holm1979," in latex
    assert latex.count(r"\caption{") == 1
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10


def test_several_goals_have_a_caption_each_and_shared_topics_a_residual_variance(tmp_path: Path) -> None:
    found = cf.size(goal={"min_range": 0.1}, difference=0.05, variance=0.04, correlation=0.5, systems=10)
    latex = to_latex(found.document())
    assert r"\caption{}" not in latex
    assert "a residual variance of 0.02 (from a score variance of 0.04 and a correlation of 0.5)." in latex
    assert r"\caption{Topics that detect a difference of two systems. In all rows:" in latex
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10


def test_what_all_designs_have_in_common_is_in_the_caption(tmp_path: Path) -> None:
    latex = to_latex(cf.size(difference=[0.03, 0.05], variance=0.04, correlation=0.5, systems=10).document())
    assert r"(holm, tukey, t; systems share topics)" in latex
    assert r"In all rows: variance 0.04, $\rho$ = 0.5, sd 0.2, $\alpha$ = 0.05, power 0.8." in latex
    assert "& {topics} &" in latex
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10
    several = to_latex(cf.size(difference=0.05, sd=0.2, power=[0.8, 0.9]).document())
    assert r"In all rows: $\alpha$ = 0.05." in several
    assert "& power &" in several


def test_daggers_stand_in_the_order_of_the_baselines() -> None:
    draw = np.random.default_rng(5)
    names, gaps = ("new", "a", "b", "c"), (0.5, 0.0, 0.0, 0.0)
    scores = {
        name: {str(at): gap + 0.1 * draw.random() for at in range(20)} for name, gap in zip(names, gaps, strict=True)
    }
    found = cf.compare(scores, baseline=["a", "b", "c"]).document().paper[0]
    row = next(at for at, each in enumerate(found.rows) if each[1] == "new")
    assert found.marks[row, 2].above == "†‡§"


def test_what_does_not_differ_has_no_legend_of_signs(scores: dict[str, dict[str, float]]) -> None:
    alike = {name: scores[name] for name in "ab"}
    assert paper_table(cf.compare(alike).comparisons).note.startswith("No two systems differ significantly (paired t")
    note = paper_table(cf.compare(alike, baseline="b").comparisons).note
    assert note.startswith("No system differs significantly from b (")


def test_of_more_than_26_systems_a_star_marks_those_that_may_be_the_best() -> None:
    draw = np.random.default_rng(6)
    scores = {f"s{at}": {str(topic): at / 60 + float(draw.random()) for topic in range(9)} for at in range(30)}
    result = cf.compare(scores, test="tukey")
    table, found = paper_table(result.comparisons), result.comparisons["score"]
    assert table.note.startswith("*: with 95 % confidence one of these is the best")
    marked = [row[0] for at, row in enumerate(table.rows) if table.marks[at, 1].above == "*"]
    assert marked == list(found.top_group)
    assert 0 < len(marked) < 30


def wide(columns: int, rows: int = 3) -> Document:
    """A table in which nothing is the same in two rows."""
    titles = tuple(Column(f"c{at}", f"a very long title {at}", "score") for at in range(columns))
    cells = [tuple(row + at / 7 for at in range(columns)) for row in range(rows)]
    return Document(method="any", inputs={}, tables=[Table(titles, cells, "Wide")], rows=[])


def test_a_table_that_is_too_wide_says_what_it_leaves_out(tmp_path: Path) -> None:
    latex = to_latex(wide(30))
    left_out = re.findall(r"^% Left out, as they do not fit a line of 345 pt: (.*)\. CSV and JSON", latex, re.M)
    titles = left_out[0].split("; ")
    shown = latex.count(r"\end{tabular}} &") + 1  # every title is on several lines
    assert len(titles) + shown == 30
    assert "a very long title 28" in titles
    assert not {"a very long title 0", "a very long title 1", "a very long title 29"} & set(titles)
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10
    assert "Left out" not in to_latex(wide(6))


def test_columns_that_are_the_same_in_all_rows_go_into_the_caption_of_a_wide_table() -> None:
    columns = (Column("measure", "measure"), *(Column(f"c{at}", f"title {at}", "score") for at in range(9)))
    rows = [("AP", 0.5, *(row + at / 7 for at in range(8))) for row in range(3)]
    latex = to_latex(Document(method="any", inputs={}, tables=[Table(columns, rows, "Wide")], rows=[]))
    assert r"\caption{Wide. In all rows: measure AP, title 0 0.5000.}" in latex
    assert "{title 1}" in latex
    assert "{title 0}" not in latex
    assert "In all rows" not in to_latex(wide(3))


def test_a_high_end_is_not_left_without_what_it_is_the_end_of() -> None:
    columns = [Column("name", "name"), *(Column(f"c{at}", f"another title {at}", "score") for at in range(8))]
    columns += [Column("x", "share", "score"), Column("low", "low", "score"), Column("high", "high", "score")]
    rows = [(f"s{row}", *(row + at / 7 for at in range(11))) for row in range(3)]
    latex = to_latex(Document(method="any", inputs={}, tables=[Table(tuple(columns), rows, "Wide")], rows=[]))
    left_out = latex.partition("345 pt: ")[2].partition(". CSV")[0].split("; ")
    assert ("low" in left_out) == ("high" in left_out)


def test_a_longtable_says_what_two_column_classes_need() -> None:
    assert "% A longtable stops in two-column classes: write \\onecolumn before it" in to_latex(wide(3, 46))
    assert "longtable" not in to_latex(wide(3, 45)).partition("\n\n")[2]


LATEX_OF = {
    "check": "check runs qrels.txt",
    "measures": "measures",
    "score": "score runs -q qrels.txt -m AP -m nDCG@10 -m RBP(p=0.8) --marks",
    "variance": "variance scores.csv",
    "variance --pairs": "variance scores.csv -m AP --pairs",
    "size": "size --systems 10 --difference 0.05 --min-range 0.1 --variance 0.05",
    "size of designs": "size --difference 0.03,0.05 --sd 0.1,0.15 --systems 2,10",
    "size of a pilot": "size scores.csv --difference 0.05 --min-range 0.1 --width 0.1",
    "size with labels": "size --difference 0.05 --sd 0.2 --judge-correlation 0.6,0.8 --human-cost 10 --judge-cost 1",
    "size of replicates": "size --difference 0.05 --between 0.01 --within 0.02 --items 1,3",
    "power": "power scores.csv",
    "power of many": "power --topics 10:50:10 --sd 0.15 --systems 10",
    "compare": "compare scores.csv",
    "compare --baseline": "compare scores.csv -m AP --baseline aldgate1 --baseline eskdale1",
    "audit": "compare scores.csv -m AP --audit",
    "judges": "judges runs -q qrels.txt --judge model=judge.txt -m nDCG@10",
    "leaderboard": "leaderboard scores.csv -m AP",
    "shards": "shards runs -q qrels.txt -s 3 -m AP --anova MD6",
    "pilot": "pilot runs -q qrels.txt --teams teams.tsv -m AP --trials 3",
    "budget": "budget runs -q qrels.txt --teams teams.tsv -m AP",
    "reliability": "reliability scores.csv --trials 20",
    "simulate": "simulate scores.csv -m AP --topics 50",
    "verify": "verify --difference 0.05 --sd 0.15 --topics 50 --collections 250",
}


def test_the_tables_of_every_question_fit_an_article(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(example)
    runner, parts = CliRunner(), []
    assert runner.invoke(app, ["score", "runs", "-q", "qrels.txt", "-o", "scores.csv"]).exit_code == 0
    for name, line in LATEX_OF.items():
        answer = runner.invoke(app, [*line.split(), "--latex"])
        assert answer.exit_code == 0, answer.output
        captions, labels = (re.findall(rf"\\{word}{{(.*?)}}", answer.stdout) for word in ("caption", "label"))
        assert all(captions), name
        assert not any("JSON" in caption for caption in captions), name
        assert len(set(labels)) == len(labels) > 0, name
        parts.append(
            rf"\typeout{{<{name}>}}" + "\n" + re.sub(r"\\(label|cite){.*?}", "", answer.stdout) + "\n\\clearpage"
        )
    log = compiled("\n".join(parts), tmp_path)
    wide = {part.partition(">")[0]: overfull(part) for part in re.split(r"^<", log, flags=re.M)[1:]}
    assert set(wide) >= set(LATEX_OF)
    assert {name: points for name, points in wide.items() if max(points, default=0) > 10} == {}
    assert "Float too large" not in log
