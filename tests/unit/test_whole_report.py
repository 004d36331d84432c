"""The report as a whole: its sections, what it leaves out and why, and its text faces."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import by_flags
import cranfield
from cranfield.errors import RequestError
from cranfield.formats.problems import Problem
from cranfield.questions.report import SECTIONS, ReportResult
from cranfield.rendering.latex import cite_in_latex
from cranfield.rendering.references import REFERENCES, cite_in_words
from cranfield.rendering.report_files import report_json, report_latex, report_markdown
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report
from cranfield.scores import ScoreTable


def everything(example: Path) -> ReportResult:
    files: dict[str, Any] = {
        name: str(example / file) for name, file in (("qrels", "qrels.txt"), ("teams", "teams.tsv"))
    }
    judge = f"model={example / 'judge.txt'}"
    more: dict[str, Any] = {"judge": judge, "measure": ["AP", "P@10"], "shards": [2, 3], "full": True}
    found: ReportResult = by_flags.report(example / "runs", **files, **more)
    return found.with_inputs(scores=["runs"])


@pytest.fixture(scope="module")
def asked(example: Path) -> ReportResult:
    return everything(example)


@pytest.fixture(scope="module")
def report(asked: ReportResult) -> Report:
    return make_report(asked)


def table(systems: int = 4, topics: int = 12, measures: tuple[str, ...] = ("AP",), **options: Any) -> ScoreTable:
    rng = np.random.default_rng(3)
    shape = (len(measures), topics, systems, max(1, len(options.get("shards", ()))))
    values = np.clip(rng.normal(0.4, 0.15, shape) + 0.05 * np.arange(systems)[:, np.newaxis], 0, 1)
    names = tuple(f"t{at}" for at in range(topics)), tuple(f"s{at}" for at in range(systems))
    return ScoreTable(measures, *names, values, **options)


# --- sections


def test_a_collection_has_every_section(report: Report) -> None:
    assert [section.slug for section in report.sections] == list(SECTIONS)
    assert report.left_out == ()


def test_every_section_has_a_document_and_something_for_the_methods_text(report: Report) -> None:
    for section in report.sections:
        assert section.parts
        assert section.methods in report.methods
        assert all(part.document.tables for part in section.parts)


def test_a_goal_has_one_number_of_topics_in_all_sections(report: Report) -> None:
    rows = {section.slug: section.parts[0].document.rows for section in report.sections}
    for measure in ("AP", "P@10"):
        sizes = [row for row in rows["size"] if row["measure"] == measure and "difference" in row]
        pilots = [row for row in rows["pilot"] if row["measure"] == measure and row["left_out"] == 0]
        depths = [row for row in rows["budget"] if row["measure"] == measure and row["full"]]
        (deep,), full = depths, max(pilots, key=lambda row: int(row["pilot_topics"]))
        assert sizes[0]["topics"] == deep["topics"] == full["topics"]


def test_numbers_are_those_of_the_commands(report: Report, asked: ReportResult) -> None:
    from cranfield.methods.contrasts import compare
    from cranfield.methods.design.planning import plan_from_pilot
    from cranfield.methods.design.request import Request

    parts = {section.slug: section.parts for section in report.sections}
    found = compare(asked.about.table, measure="AP")
    assert parts["compare"][0].document.extra["significant_pairs"] == found.significant_pairs
    request = Request(systems=[12], min_range=[0.1], method="blocked")
    wanted = {size.measure: int(size.size.topics.flat[0]) for size in plan_from_pilot(request, asked.about.variances)}
    rows = [row for row in parts["size"][0].document.rows if row["method"] == "blocked"]
    assert {row["measure"]: row["topics"] for row in rows} == wanted


def test_the_goal_is_taken_over(asked: ReportResult) -> None:
    goal: dict[str, Any] = {"systems": 30, "min_range": 0.2, "alpha": 0.01, "power": 0.9}
    made = make_report(by_flags.report(asked.about.tables, section="size", **goal))
    row = next(row for row in made.sections[0].parts[0].document.rows if "min_range" in row)
    assert (row["systems"], row["min_range"], row["alpha"], row["power"]) == (30, 0.2, 0.01, 0.9)
    assert made.starts[0].systems == 30


def test_sections_can_be_chosen_and_keep_the_order_asked_for(asked: ReportResult) -> None:
    tables = asked.about.tables
    made = make_report(cranfield.report(tables, section=["compare", "read", "compare"]))
    assert [section.slug for section in made.sections] == ["compare", "read"]
    assert made.starts == ()
    with pytest.raises(RequestError, match="there is no section «budget9»"):
        cranfield.report(tables, section="budget9")


def test_a_section_of_others_needs_one_line(asked: ReportResult, monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.questions.report import FIND
    from cranfield.rendering.report_sections import SECTIONS as RENDERED
    from cranfield.rendering.report_sections import read_section

    monkeypatch.setitem(FIND, "again", FIND["read"])
    monkeypatch.setitem(RENDERED, "again", ("Input, again", read_section))
    made = make_report(cranfield.report(asked.about.tables, section=["read", "again"]))
    assert [section.title for section in made.sections] == ["Input", "Input, again"]


def test_scores_alone_leave_out_what_takes_runs_and_say_why() -> None:
    made = make_report(cranfield.report({"scores.csv": table()}, full=True))
    titles = [each.title for each in made.left_out]
    assert titles == ["Shards", "Results of smaller pilots", "Topics and pool depth"]
    assert all("only scores were given" in each.reason for each in made.left_out)


def test_runs_have_every_section(tmp_path: Path) -> None:
    cranfield.write_example(tmp_path, seed=2, topics=12, documents=200, depth=30, pool=15)
    read = cranfield.read_collection(tmp_path / "runs", tmp_path / "qrels.txt", teams=tmp_path / "teams.tsv")
    made = make_report(cranfield.report(read, measure="AP", shards=2, full=True))
    assert [section.slug for section in made.sections] == [name for name in SECTIONS if name != "judges"]
    assert made.left_out == ()
    assert {"SakaiShang2016", "Sakai2014", "Urbano2013"} <= set(made.citations)


def test_judges_of_score_tables_have_a_section_with_the_numbers_of_the_command() -> None:
    human, judge = table(), table()
    values = judge.values + np.random.default_rng(5).normal(0.1, 0.05, judge.values.shape)
    judge = judge.replaced(values=values)
    made = make_report(
        cranfield.report(human, judge={"labels": {"model": judge}}, section="judges", resampling={"seed": 4})
    )
    (part,) = made.sections[0].parts
    alone = cranfield.judges(human, judge={"model": judge}, resampling={"seed": 4}).document()
    assert list(part.document.rows) == list(alone.rows)
    assert [picture.title for picture in part.pictures][2] == "Favoured systems"
    assert f"model, AP: τ = {alone.rows[0]['tau']:.2f}, r = {alone.rows[0]['correlation']:.2f} (" in made.methods
    same = make_report(cranfield.report(human, judge={"labels": {"same": human}}, section="judges"))
    assert "r = 1.00. Favour" in same.methods  # without an interval
    assert "nan" not in same.methods + same.sections[0].parts[0].document.sentence


def test_the_section_of_judges_takes_labels_of_a_judge(example: Path) -> None:
    made = make_report(cranfield.report({"x": table()}, section=["read", "judges"]))
    assert [(each.title, "`judge` names none" in each.reason) for each in made.left_out] == [("Judges", True)]
    packed = cranfield.read_collection(example / "runs", example / "qrels.txt")
    with pytest.raises(RequestError, match="cannot be replaced by those of a judge"):
        cranfield.report(packed, judge=f"model={example / 'judge.txt'}", section="judges")


def test_one_system_or_one_topic_is_reported_as_far_as_it_goes() -> None:
    alone = make_report(cranfield.report({"x": table(systems=1)}))
    assert {"read", "scores"} <= {section.slug for section in alone.sections}
    assert "Which systems differ" in {each.title for each in alone.left_out}
    short = make_report(cranfield.report({"x": table(topics=1)}, full=True))
    assert "Variances" in {each.title for each in short.left_out}
    assert all(each.reason for each in short.left_out)


def test_replicates_of_a_score_table_are_its_shards() -> None:
    made = make_report(cranfield.report({"x": table(shards=("a", "b", "c"))}))
    slugs = [section.slug for section in made.sections]
    assert "shards" in slugs
    assert "variance" not in slugs
    assert "3 replicates" in made.methods


def test_several_collections_are_named_and_pooled() -> None:
    made = make_report(cranfield.report({"one": table(), "two": table(topics=20)}, full=True))
    titles = [part.title for section in made.sections for part in section.parts if section.slug == "compare"]
    assert titles == ["one: AP", "two: AP"]
    (variance,) = (section for section in made.sections if section.slug == "variance")
    assert {row["collection"] for row in variance.parts[0].document.rows} == {"one", "two", "pooled"}


def test_a_measure_of_the_users_own_is_reported_without_citation() -> None:
    made = make_report(cranfield.report({"x": table(measures=("my measure",))}))
    assert "Effectiveness was measured by my measure." in made.methods


@pytest.mark.parametrize("goal", [{"alpha": 2}, {"power": 0.01}, {"systems": 1}, {"min_range": -1}, {"width": 0}])
def test_a_goal_without_sense_is_refused_at_once(goal: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        by_flags.report({"x": table()}, **goal)


def test_what_was_odd_is_counted_with_its_place_effect_and_remedy() -> None:
    odd = (Problem("comment", "run", 3, "# x"), Problem("comment", "run", 9), Problem("topic-missing", "b", count=4))
    made = make_report(cranfield.report({"x": table(warnings=odd)}, section="read"))
    shown = made.sections[0].parts[0].document.tables[1]
    assert [row[2] for row in shown.rows] == [2, 4]
    assert shown.rows[0][3] == "run:3 and 1 more"
    assert made.warnings[:3] == odd


# --- citations and methods


def test_everything_cited_is_a_reference(report: Report) -> None:
    assert report.citations
    assert set(report.citations) <= set(REFERENCES)
    assert {"Sakai2014", "Webber2008", "FerroSanderson2019", "BuckleyVoorhees2005"} <= set(report.citations)


def test_citations_are_written_as_each_face_needs_them() -> None:
    text = "one [@Sakai2014], two [@Chapelle2009], three [@SakaiShang2016]"
    assert cite_in_words(text) == "one (Sakai 2014), two (Chapelle et al. 2009), three (Sakai and Shang 2016)"
    assert cite_in_latex(text) == r"one~\cite{Sakai2014}, two~\cite{Chapelle2009}, three~\cite{SakaiShang2016}"
    both = "two [@Sakai2014; @Webber2008]"
    assert cite_in_words(both) == "two (Sakai 2014; Webber et al. 2008)"
    assert cite_in_latex(both) == r"two~\cite{Sakai2014,Webber2008}"
    assert cite_in_words("[@Sakai2014; @nobody]") == cite_in_latex("[@Sakai2014; @nobody]") == "[@Sakai2014; @nobody]"


def test_what_only_looks_like_a_citation_stays_text() -> None:
    assert cite_in_words("system [@nobody]") == "system [@nobody]"
    assert cite_in_latex("system [@nobody]") == "system [@nobody]"


def test_methods_say_what_was_done(report: Report) -> None:
    said = report.methods
    for words in (
        "12 systems on 40 topics",
        "AP [@BuckleyVoorhees2005]",
        "a jackknife over topics",
        "paired t test with Holm's correction [@Student1908]",
        "power 0.8 at α = 0.05",
        "2, 3 shards (seed 1)",
        "Topic set sizes [@Sakai2014; @Webber2008] are",
        "by t with Holm's correction [@Holm1979] with power 0.8",
        "brackets give n at the limits of the confidence interval of the variance",
        "The family-wise error rate is controlled over all pairs of each measure, not over measures.",
    ):
        assert words in said
    assert ") and " not in said.partition("Topic set sizes")[0]


def test_versions_name_what_computed_the_numbers(report: Report) -> None:
    assert report.versions["cranfield"] == cranfield.__version__
    assert {"Python", "numpy", "scipy"} <= set(report.versions)


# --- faces


def test_json_has_every_document_with_its_origin(report: Report) -> None:
    content = json.loads(report_json(report), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert {"inputs", "method", "citations", "warnings", "seed", "version", "rows", "versions"} <= set(content)
    assert [row["section"] for row in content["rows"]][:3] == ["compare", "compare", "scores"]
    assert all({"method", "citations", "rows", "sentence"} <= set(row) for row in content["rows"])
    compare = next(row for row in content["rows"] if row["section"] == "compare")
    assert len(compare["pairs"]) == 66


def test_markdown_has_sections_methods_and_bibtex(report: Report) -> None:
    text = report_markdown(report)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        *(section.title for section in report.sections),
        "Methods text",
        "References",
        "Seed and versions",
    ]
    assert "[@Sakai2014]" in text
    assert "@inproceedings{Sakai2014," in text


def test_latex_is_a_whole_article_in_balance(report: Report) -> None:
    text = report_latex(report)
    assert text.startswith(r"\documentclass")
    body = re.sub(r"(?m)^%.*$", "", text)
    begun, ended = (re.findall(rf"\\{word}\{{(\w+)\}}", body) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
    plain = body.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    assert not re.search("[αδστωχ²±−≤≥]", body)


def test_the_same_seed_gives_the_same_report(example: Path, report: Report) -> None:
    again = make_report(everything(example))
    assert report_json(again) == report_json(report)


# --- what a reader sees first


def test_a_report_is_short_unless_all_is_asked_for(example: Path) -> None:
    short = make_report(cranfield.report(example / "runs", qrels=str(example / "qrels.txt"), measure="AP"))
    slugs = [section.slug for section in short.sections]
    assert slugs == ["compare", "scores", "power", "size", "reliability", "read"]
    assert short.methods.startswith("We evaluated 12 systems on 40 topics")
    with pytest.raises(RequestError, match="`full` has all sections"):
        cranfield.report({"x": table()}, section="compare", full=True)


def test_the_summary_has_the_numbers_of_the_sections(report: Report, asked: ReportResult) -> None:
    points = {point.title: point.lines for point in report.points}
    assert list(points)[:4] == ["Best system", "What the topics detect", "Topics required", "Reliability"]
    found = asked.findings["compare"]["AP"]
    assert f"{found.systems[0]} has the highest mean, {found.means[0]:.4f}" in points["Best system"][0]
    assert 1 < len(found.top_group) < 12
    assert f"confidence the best of these 12 systems is one of {len(found.top_group)}." in points["Best system"][0]
    assert f" {found.significant.sum()} of all 66 pairs differ significantly" in points["Best system"][0]
    card = asked.findings["power"]["cards"][0]
    assert f"40 topics detect a difference of {card.detectable_difference:.3f}" in points["What the topics detect"][0]
    needed = next(row for row in asked.findings["size"]["sizes"] if row.measure == "AP").size.to_dict()[0]["topics"]
    assert f"AP: {needed:,} topics" in points["Topics required"][0]
    assert "40 are not enough" in points["Topics required"][0]
    assert report.summary().startswith("AP: cleverdon1 has the highest mean")
    assert json.loads(report_json(report))["summary"]["Reliability"] == list(points["Reliability"])


def test_the_date_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert make_report(cranfield.report({"x": table()}, section="scores")).date == "1970-01-02"


def test_a_report_names_no_flags(report: Report) -> None:
    from cranfield.rendering.report_page import to_html

    page = to_html(report.spoken("report"))
    text = re.sub(r"(?s)<(script|style|svg|pre)\b.*?</\1>", "", page)
    text = re.sub(r"<[^>]*>", " ", text)
    assert re.findall(r"(?<![\w-])--[a-z][a-z-]+", text) == []


def test_the_page_opens_with_the_summary_and_folds_what_is_behind_it(example: Path) -> None:
    from cranfield.rendering.report_page import to_html

    short = cranfield.report(example / "runs", qrels=str(example / "qrels.txt"), measure=["AP", "nDCG@10"])
    page = to_html(make_report(short).spoken("report"))
    assert len(page.encode()) < 1_000_000
    assert page.index('id="summary"') < page.index("<nav") < page.index('id="compare"')
    ranking, pairs = (page.index("paired t test with Holm&#39;s correction, 40 topics"), page.index("AP: pairs"))
    assert page[:ranking].count("<details") == page[:ranking].count("</details>")
    assert page[:pairs].count("<details") == page[:pairs].count("</details>") + 1


def article_log(asked: ReportResult, folder: Path) -> str:
    """What pdflatex says of a report; it must come to an end without an error."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    asked.write(folder / "report.tex")
    for _ in range(2):
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0
    return (folder / "report.log").read_text(encoding="latin-1")


def overfull(log: str) -> list[float]:
    """By how many points boxes are too wide or too high."""
    return [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt too", log)]


def test_the_article_compiles_with_its_figures_and_bibliography(asked: ReportResult, tmp_path: Path) -> None:
    log = article_log(asked, tmp_path)
    assert len(list((tmp_path / "report-figures").glob("*.pdf"))) > 10
    assert log.count("<report-figures/") > 10
    assert "undefined" not in log
    assert max(overfull(log), default=0) < 10


@pytest.mark.proof
def test_tables_of_many_systems_and_measures_stay_within_the_pages_of_the_article(tmp_path: Path) -> None:
    values = np.random.default_rng(3).random((3, 12, 90, 1))
    systems = tuple(f"team{at % 9}_run{at}" for at in range(90))
    table = ScoreTable(("AP", "nDCG@10", "P@10"), tuple(map(str, range(401, 413))), systems, values)
    log = article_log(cranfield.report(table, section=["compare", "scores"]), tmp_path)
    assert max(overfull(log), default=0) < 10
    figures = {file.suffix for file in (tmp_path / "report-figures").iterdir()}
    assert figures == {".pdf", ".png"}  # 4,005 pairs are an image
