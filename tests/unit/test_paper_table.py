"""Tables for papers: the best in bold, signs for what differs significantly, and LaTeX that goes in as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.rendering.document import Column, Document, Mark, Table
from cranfield.rendering.output_formats import to_latex
from cranfield.rendering.paper_table import paper_table

FRAME = r"""\documentclass{article}
\usepackage[a4paper, margin=3cm]{geometry}
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
    assert "\\bfseries 0." in text.splitlines()[9]
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
    assert "significantly better than † b" in table.note


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
    assert "max-t, α = 0.05" in document.notes
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
    assert "With 262 topics we can detect a difference of 0.05 between two of 10 systems" in latex
    assert r"does so~\cite{RomanoWolf2005}: the power is 0.8007. With one topic fewer the power is 0.7985." in latex
    assert "% @article{RomanoWolf2005," in latex
    assert latex.count(r"\caption{") == 1
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10


def test_several_goals_have_a_caption_each_and_shared_topics_a_residual_variance(tmp_path: Path) -> None:
    found = cf.size(min_range=0.1, difference=0.05, variance=0.04, correlation=0.5, systems=10)
    latex = to_latex(found.document())
    assert r"\caption{}" not in latex
    assert "assuming a residual variance of 0.02." in latex  # 0.04 (1 − 0.5)
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10


def test_what_all_designs_have_in_common_is_in_the_caption(tmp_path: Path) -> None:
    latex = to_latex(cf.size(difference=[0.03, 0.05], variance=0.04, correlation=0.5, systems=10).document())
    assert r"In all rows $\alpha$ = 0.05, power 0.8, $\rho$ = 0.5." in latex
    assert "& {topics} &" in latex
    assert max(overfull(compiled(latex, tmp_path)), default=0) < 10
    several = to_latex(cf.size(difference=0.05, sd=0.2, power=[0.8, 0.9]).document())
    assert r"In all rows $\alpha$ = 0.05." in several
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
