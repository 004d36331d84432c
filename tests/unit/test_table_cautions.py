"""Cautions about a table: each rule at its number, the same from every question, and quiet where nothing is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from typer.testing import CliRunner

import cranfield
from cranfield import ScoreTable
from cranfield.cli.app import app
from cranfield.errors import Caution
from cranfield.rendering.document import warning_lines
from cranfield.rendering.report_files import report_latex, report_markdown
from cranfield.rendering.report_page import to_html
from cranfield.scores.quality import SLUGS, _Pairs, table_cautions, table_warnings
from cranfield.scores.stored import totals

Array = npt.NDArray[Any]
Write = Callable[[str, str | bytes], str]


def make(scores: Array, measure: str = "quality") -> ScoreTable:
    topics, systems = scores.shape
    names = tuple(str(401 + at) for at in range(topics)), tuple(f"s{at}" for at in range(systems))
    return ScoreTable((measure,), *names, scores[np.newaxis, :, :, np.newaxis])


def plain(topics: int = 50, systems: int = 4, seed: int = 1) -> Array:
    """Systems a good way apart that share topics and err alike."""
    rng = np.random.default_rng(seed)
    made = 0.4 + 0.05 * rng.normal(size=(topics, 1)) + 0.02 * rng.normal(size=(topics, systems))
    return np.asarray(made + 0.05 * np.arange(systems))


def of(scores: Array, slug: str, measure: str = "quality") -> Caution | None:
    return next((each for each in table_cautions(make(scores, measure), measure) if each.slug == slug), None)


def test_nothing_is_said_about_a_plain_table() -> None:
    assert table_cautions(make(plain())) == ()


def test_every_caution_is_one_line_with_a_fix_in_the_order_of_the_list() -> None:
    rng = np.random.default_rng(2)
    scores = np.where(rng.uniform(size=(15, 6)) < 0.6, 0.0, 1.5 * rng.uniform(size=(15, 6)))
    scores[:, 1] = scores[:, 0]
    found = table_cautions(make(scores, "AP"), "AP")
    slugs = [each.slug for each in found]
    assert {"few-topics", "score-out-of-range", "floor-or-ceiling", "near-duplicates"} <= set(slugs)
    assert slugs == [slug for slug in SLUGS if slug in slugs]
    for each in found:
        assert "\n" not in str(each)
        assert each.fix.endswith(".")
        assert each.slug == "few-topics" or each.what.startswith("AP: ")


def test_two_warnings_stand_beside_an_answer_and_the_others_where_they_are_asked_for(tmp_path: Path) -> None:
    scores = np.where(np.random.default_rng(2).uniform(size=(15, 6)) < 0.6, 0.0, 1.5)
    scores[:, 1] = scores[:, 0]
    path = tmp_path / "scores.csv"
    table = make(scores, "AP")
    cranfield.write_scores(table, path)
    lines = warning_lines(cranfield.compare(table).document().warnings)
    assert len(lines) > 3
    told = CliRunner().invoke(app, ["compare", str(path)]).stderr
    assert [line.partition(": ")[2] for line in told.splitlines()[:-1]] == lines[:2]
    assert told.splitlines()[-1] == f"{len(lines) - 2} more warnings: --warnings."
    every = CliRunner().invoke(app, ["compare", str(path), "--warnings"]).stderr
    assert [line.partition(": ")[2] for line in every.splitlines()] == lines
    notebook = cranfield.compare(table)._repr_html_()
    assert f"<details><summary>{len(lines) - 2} more warnings</summary>" in notebook
    assert notebook.count("<strong>Warning.</strong>") == len(lines)


def test_tables_with_the_same_topics_and_systems_are_named() -> None:
    one, other = make(plain()), make(plain(), "other")
    assert [each.slug for each in table_warnings({"map.csv": one, "P_10.csv": other})] == ["same-topics"]
    moved = other.replaced(topics=tuple(f"{topic} of another year" for topic in other.topics))
    assert table_warnings({"2019.csv": one, "2020.csv": moved}) == ()


@pytest.mark.parametrize(("topics", "said"), [(19, True), (20, False)])
def test_fewer_than_20_topics_are_few(topics: int, said: bool) -> None:
    assert (of(plain(topics), "few-topics") is not None) == said


def test_a_score_outside_the_range_of_its_measure_is_named() -> None:
    scores = plain()
    scores[7, 2] = 1.25
    found = of(scores, "score-out-of-range", "nDCG@10")
    assert found is not None
    assert "1 of 200 scores lies outside the measure's range from 0 to 1 (topic 408, system s2: 1.25)" in found.what
    assert of(scores, "score-out-of-range", "my own measure") is None
    scores[7, 2] = 1.00005  # rounded when it was printed
    assert of(scores, "score-out-of-range", "nDCG@10") is None


@pytest.mark.parametrize(("share", "said"), [(0.3, False), (0.31, True)])
def test_many_scores_at_the_floor_or_the_ceiling(share: float, said: bool) -> None:
    scores = plain(100, 4).ravel()
    for bound in (0.0, 1.0):
        scores[: round(share * scores.size)] = bound
        found = of(scores.reshape(100, 4), "floor-or-ceiling")
        assert (found is not None) == said
        if found is not None:
            assert f"31 % of the scores are at the m{'ax' if bound else 'in'}imum {bound:g}" in found.what


def test_near_duplicates_are_named() -> None:
    scores = plain()
    scores[:, 3] = scores[:, 1] + 0.001 * np.random.default_rng(1).normal(size=50)
    found = of(scores, "near-duplicates")
    assert found is not None
    r = np.corrcoef(scores[:, 1], scores[:, 3])[0, 1]
    assert "two systems have nearly the same scores: s1 and s3" in found.what or "s3 and s1" in found.what
    assert f"r = {np.floor(1e4 * r) / 1e4:.4g}" in found.what
    few = scores[:6]  # by chance six topics can be as alike
    assert of(few, "near-duplicates") is None
    few[:, 3] = few[:, 1]
    assert of(few, "near-duplicates") is not None


@pytest.mark.parametrize(("equal", "said"), [(25, False), (26, True)])
def test_equal_scores_on_more_than_half_of_the_topics(equal: int, said: bool) -> None:
    scores = plain(50, 3)
    scores[:equal, 2] = scores[:equal, 0]
    found = of(scores, "zero-differences")
    assert (found is not None) == said
    if found is not None:
        assert "1 of 3 pairs of systems has equal scores on more than half of the topics" in found.what
        assert "52 %" in found.what
        alone = of(scores[:, [0, 2]], "zero-differences")
        assert alone is not None
        assert "s1 and s0 have equal scores on 52 % of the topics" in alone.what


def test_skews_variances_and_correlations_of_pairs_are_scipys() -> None:
    scores = np.random.default_rng(3).gamma(0.7, 0.1, size=(40, 7))
    pairs = _Pairs.of(make(scores), "quality", scores, totals(scores))
    first, second = pairs.which
    differences = pairs.scores[:, first] - pairs.scores[:, second]
    np.testing.assert_allclose(pairs.skews, stats.skew(differences, axis=0), rtol=1e-9)
    np.testing.assert_allclose(pairs.squares / 39, differences.var(axis=0, ddof=1), rtol=1e-10)
    expected = np.corrcoef(pairs.scores, rowvar=False)[first, second]
    np.testing.assert_allclose(pairs.correlations, expected, rtol=1e-9, atol=1e-12)


def test_skew_is_said_from_a_quarter_of_the_root_of_n() -> None:
    noise = np.random.default_rng(4).normal(size=50)
    said = []
    for size in np.linspace(0, 12, 60):
        differences = noise + size * (np.arange(50) == 7)
        scores = np.column_stack([np.full(50, 0.3), 0.3 + 0.01 * differences])
        said.append(of(scores, "skewed-differences") is not None)
        assert said[-1] == (abs(stats.skew(differences)) / np.sqrt(50) > 0.25)
    assert (said[0], said[-1]) == (False, True)


def variants(topics: int, of_one: int, seed: int) -> Array:
    """Variants of one system and two others, all equal."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(topics, 3))
    family = base[:, :1] + 0.25 * rng.normal(size=(topics, of_one))
    return 0.4 + 0.1 * np.column_stack([family, base[:, 1:]])


def test_a_topic_that_decides_the_verdict_on_the_two_best_is_named() -> None:
    """The same as leaving out each topic in turn and testing with scipy."""
    rng, seen = np.random.default_rng(5), 0
    kept = np.array([np.delete(np.arange(30), at) for at in range(30)])
    for _ in range(300):
        scores = np.column_stack([0.5 + 0.1 * rng.standard_t(3, size=30), 0.46 + 0.1 * rng.standard_t(3, size=30)])
        verdict = bool(stats.ttest_rel(*scores.T).pvalue <= 0.05)
        left = stats.ttest_rel(scores[kept, 0], scores[kept, 1], axis=1).pvalue <= 0.05
        turned = np.flatnonzero(left != verdict).tolist()
        found = of(scores, "decisive-topic")
        assert (found is not None) == bool(turned)
        if found is not None:
            seen += 1
            assert any(f"without topic {401 + at}," in found.what for at in turned)
            assert ("no longer differs" in found.what) == verdict
            assert ("same holds" in found.what) == (len(turned) > 1)
    assert seen >= 25


def test_many_systems_are_looked_at_by_their_best() -> None:
    rng = np.random.default_rng(6)
    scores = np.clip(0.2 + 0.05 * rng.normal(size=(30, 300)) + np.linspace(0.4, 0, 300), 0, 1)
    scores[:, 1] = scores[:, 0]
    scores[:, 299] = scores[:, 298]
    found = of(scores, "near-duplicates")
    assert found is not None
    assert "two systems have nearly the same scores: s0 and s1" in found.what
    scores[:, 2] = scores[:, 0]
    found = of(scores, "near-duplicates")
    assert found is not None
    assert "3 pairs of systems among the best 200 systems" in found.what


def test_shards_are_averaged_and_missing_scores_say_nothing() -> None:
    scores = plain(15, 3)
    table = make(scores)
    sharded = ScoreTable(
        table.measures, table.topics, table.systems, np.stack([scores - 0.01, scores + 0.01], 2)[None], ("1", "2")
    )
    assert [each.slug for each in table_cautions(sharded)] == [each.slug for each in table_cautions(table)]
    scores[0, 0] = np.nan
    assert table_cautions(make(scores)) == ()


def test_several_tables_say_which_and_several_measures_are_folded_in_text() -> None:
    two = ScoreTable(("a", "b"), tuple(map(str, range(12))), ("x", "y"), np.full((2, 12, 2, 1), 0.25))
    found = table_warnings({"2023.csv": two, "2024.csv": two})
    duplicates = [str(each) for each in found if each.slug == "near-duplicates"]
    assert [text.partition(" two")[0] for text in duplicates] == [
        "2023.csv: a:",
        "2023.csv: b:",
        "2024.csv: a:",
        "2024.csv: b:",
    ]
    lines = [line for line in warning_lines(found) if "nearly the same" in line]
    assert len(lines) == 1
    assert "3 more" in lines[0]


# --- every question


QUESTIONS: dict[str, list[str]] = {
    "size": ["size", "{file}", "--difference", "0.05"],
    "power": ["power", "{file}"],
    "variance": ["variance", "{file}"],
    "variance --pairs": ["variance", "{file}", "--pairs"],
    "compare": ["compare", "{file}"],
    "compare --audit": ["compare", "{file}", "--audit", "--resamples", "100"],
    "reliability": ["reliability", "{file}", "--trials", "10", "--resamples", "100"],
    "verify": ["verify", "{file}", "--difference", "0.1", "--collections", "250", "--topics", "20"],
    "simulate": ["simulate", "{file}"],
    "report": ["report", "{file}", "--section", "size"],
    "study new": ["study", "new", "{folder}/a.study", "--difference", "0.05", "--past", "{file}"],
    "study past": ["study", "past", "{file}", "--difference", "0.05"],
    "study trial": ["study", "trial", "{file}", "--trial-size", "10", "--pairs", "3", "--repeats", "10"],
    "study simulate": ["study", "simulate", "{file}", "--pairs", "1", "--repeats", "10"],
    "study peek": ["study", "peek", "{file}", "--first", "12", "--repeats", "5", "--low", "0", "--high", "1"],
}


@pytest.fixture
def odd(write: Write) -> str:
    """15 topics, 6 systems, two of them alike, one score out of range."""
    scores = plain(15, 6, seed=8).round(4)
    scores[:, 5] = scores[:, 4]
    scores[2, 0] = 1.5
    lines = [",".join(map(str, [401 + at, *row])) for at, row in enumerate(scores.tolist())]
    return write("AP.csv", "\n".join(["topic,a,b,c,d,e,f", *lines]) + "\n")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_table_gets_the_same_cautions_from_every_question(question: str, odd: str) -> None:
    expected = [str(each) for each in table_cautions(cranfield.read_scores(odd), "AP")]
    assert [each.slug for each in table_cautions(cranfield.read_scores(odd), "AP")][:2] == list(SLUGS[:2])
    words = [word.format(file=odd, folder=Path(odd).parent) for word in QUESTIONS[question]]
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    warnings = json.loads(result.stdout)["warnings"]
    assert [f"{each['problem']}. {each['fix']}" for each in warnings if each["kind"] in SLUGS] == expected
    assert [each["kind"] for each in warnings][: len(expected)] == [
        slug for slug in SLUGS if slug in {each["kind"] for each in warnings}
    ]


@pytest.mark.parametrize("question", ["size", "power", "study past", "report"])
def test_cautions_stand_beside_the_text(question: str, odd: str, tmp_path: Path) -> None:
    words = [word.format(file=odd, folder=tmp_path) for word in QUESTIONS[question]]
    out = ["-o", str(tmp_path / "report.html")] if question == "report" else []
    result = CliRunner().invoke(app, [*words, *out], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    assert "only 15 topics" in " ".join(result.stderr.split())


def test_adding_to_a_study_gives_no_hint_of_who_is_ahead(odd: str, tmp_path: Path) -> None:
    study = str(tmp_path / "a.study")
    new = ["study", "new", study, "--difference", "0.05", "--sd", "0.1", "--system", "c", "--baseline", "d"]
    assert CliRunner().invoke(app, new).exit_code == 0
    result = CliRunner().invoke(app, ["study", "add", study, odd, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["warnings"] == []


def test_the_report_has_them_whatever_its_sections(odd: str) -> None:
    table = cranfield.read_scores(odd)
    from cranfield.rendering.report_sections import make_report

    made = make_report(cranfield.report({"AP": table}, section="size"))
    assert [each.slug for each in made.warnings][:2] == list(SLUGS[:2])
    for face in (to_html, report_markdown, report_latex):
        assert "only 15 topics" in face(made)
