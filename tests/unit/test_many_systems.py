"""Comparisons of many systems: verdicts from sorted means, and pairs that are made when they are asked for."""

from __future__ import annotations

import csv
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield import RequestError, ScoreTable
from cranfield.cli.app import app
from cranfield.errors import visible
from cranfield.formats.scores import column_lines, format_scores
from cranfield.formats.text import read_bytes
from cranfield.methods.contrasts import comparing, comparison, paired, resampling, tested_pairs
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.corrections import holm
from cranfield.methods.contrasts.pair_tests import RESAMPLED
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs, contrasts_at
from cranfield.methods.contrasts.tested_pairs import DECIDED, FACTS, PairColumns
from cranfield.rendering import comparison_document, output_formats
from cranfield.rendering.comparison_document import charted, compare_document
from cranfield.rendering.document import StreamedRows
from cranfield.stats.pairs import pair_count, pair_place
from cranfield.stats.tails import t_critical

Array = npt.NDArray[Any]
KINDS = ("normal", "ties", "binary", "copies", "shifted", "equal means", "apart", "one")


def table_of(values: Array) -> ScoreTable:
    topics, systems = values.shape
    names = tuple(f"s{at}" for at in range(systems))
    return ScoreTable(("x",), tuple(map(str, range(topics))), names, values[np.newaxis, ..., np.newaxis])


def drawn(kind: str, systems: int, seed: int, topics: int = 12) -> Array:
    """A table of scores of one kind."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(topics, 1)) + rng.normal(rng.normal(0, 0.8, systems), 0.5, (topics, systems))
    half = systems // 2
    if kind == "ties":
        scores = np.round(scores)
    if kind == "binary":
        scores = np.asarray(scores > 0, float)
    if kind == "copies":
        scores[:, half:] = scores[:, rng.integers(0, max(half, 1), systems - half)]
    if kind == "shifted":  # the same difference on every topic
        scores[:, half:] = scores[:, : systems - half] + rng.choice([0.0, 3.0], systems - half)
        scores[:, -systems // 4 :] = scores[:, :1]
    if kind == "equal means":
        scores -= scores.mean(axis=0) - rng.integers(0, 3, systems)
    if kind == "one":
        scores[:] = scores[:, :1]
    if kind == "apart":
        scores += 100.0 * np.arange(systems)
    return np.asarray(scores)


def resamples_for(test: str) -> int | None:
    return 199 if test in RESAMPLED else None


def both(table: ScoreTable, monkeypatch: pytest.MonkeyPatch) -> tuple[Comparison, Comparison]:
    """A comparison whose pairs are held, and one whose pairs are computed when they are asked for."""
    held = compare(table)
    monkeypatch.setattr(comparing, "MOST_PAIRS", 0)
    return held, compare(table)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two answers are the same but for rounding."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return bool(ours == pytest.approx(theirs, rel=1e-11, abs=1e-12, nan_ok=True))
    return bool(ours == theirs)


# --- verdicts


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_computed_on_demand_are_those_of_held_pairs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, systems in enumerate((3, 5, 20, 21, 40, 60)):
        with monkeypatch.context() as patched:
            held, found = both(table_of(drawn(kind, systems, number)), patched)
        assert held.pairs.is_held
        assert not found.pairs.is_held
        assert found.significant_pairs == held.significant_pairs == int(held.significant.sum())
        assert found.letters == held.letters
        assert found.top_group == held.top_group
        np.testing.assert_array_equal(found.simultaneous_ranks, held.simultaneous_ranks)
        assert found.warnings == held.warnings
        np.testing.assert_array_equal(found.significant, held.significant)
        assert same(found.to_dict(), held.to_dict())
        for name in ("place", "first", "second", *DECIDED, *FACTS):
            ours, theirs = found.pairs.column(name), held.pairs.column(name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", [test for test in ALL_TESTS if test != "tukey-kramer"])
def test_facts_of_many_topics_are_those_of_few(test: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(drawn(kind, 9, 3) * 1e-3)
    kept = compare(table, test=test, resamples=resamples_for(test))
    monkeypatch.setattr(paired, "FEW_DIFFERENCES", 0)
    found = compare(table, test=test, resamples=resamples_for(test))
    assert found.pairs.is_held == (test == "unpaired")
    assert found.warnings == kept.warnings
    assert same(found.to_dict(), kept.to_dict())


@pytest.mark.parametrize("test", ALL_TESTS)
def test_the_best_is_among_those_that_may_be_it_and_pairs_are_counted(test: str) -> None:
    for number, kind in enumerate(KINDS):
        found = compare(table_of(drawn(kind, 4 + 3 * number, number)), test=test, resamples=resamples_for(test))
        assert found.significant_pairs == int(found.significant.sum())
        assert found.systems[0] in found.top_group
        assert (found.standing.rank_lower <= 1 + np.arange(len(found.systems))).all()
        assert (found.standing.rank_upper >= 1 + np.arange(len(found.systems))).all()


def test_holm_of_400_systems_is_that_of_all_their_pairs_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_PAIRS", 0)
    rng = np.random.default_rng(3)
    scores = drawn("normal", 400, 3, topics=20)
    scores[:, 7] = scores[:, 399]
    found = compare(table_of(scores))
    assert (found.test, found.correct, found.pairs.is_held) == ("t", "holm", False)
    ranked = scores[:, [int(name[1:]) for name in found.systems]]
    every = Pairs(ranked, all_pairs(400)).fit()
    by_hand = holm(every.p())
    sample = np.sort(rng.choice(pair_count(400), 2000, replace=False))
    some = [found.pairs.part(at, at + 1).p_adjusted[0] for at in sample[:50].tolist()]
    np.testing.assert_allclose(some, by_hand[sample[:50]], rtol=1e-12)
    np.testing.assert_allclose(found.p_adjusted[sample], by_hand[sample], rtol=1e-12)
    assert 0 < found.significant_pairs == int((by_hand <= 0.05).sum()) < len(by_hand)
    reach = t_critical(0.05 / 2 / (len(by_hand) - found.significant_pairs), 19) * every.standard_error
    np.testing.assert_allclose(found.upper[sample], (every.value + reach)[sample], rtol=1e-9)
    first = found.pairs.with_system(0)
    assert len(found.top_group) <= 1 + int((first.p_value > 2 * 0.05 / 399).sum())


def test_places_of_pairs_are_those_of_numpy() -> None:
    first, second = np.triu_indices(17, k=1)
    for ours in (contrasts_at(np.arange(pair_count(17)), 17), all_pairs(17)):
        np.testing.assert_array_equal(ours.first, first)
        np.testing.assert_array_equal(ours.second, second)
    np.testing.assert_array_equal(pair_place(second, first, 17), np.arange(pair_count(17)))


# --- tests that measure every pair by its own error


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "bootstrap", "permutation"])
def test_pairs_are_tested_in_blocks_as_together(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(drawn("ties", 14, 5))
    together = compare(table, test=test, resamples=resamples_for(test))
    monkeypatch.setattr(paired, "_BLOCK", 150)
    monkeypatch.setattr(resampling, "BLOCK", 150)
    said: list[tuple[int, int]] = []
    blocks = compare(
        table, test=test, resamples=resamples_for(test), progress=lambda done, total: said.append((done, total))
    )
    np.testing.assert_array_equal(blocks.p_adjusted, together.p_adjusted)
    np.testing.assert_allclose(blocks.lower, together.lower, rtol=1e-12, atol=1e-14)
    assert said == sorted(said)
    assert not said or said[-1][0] == said[-1][1]


@pytest.mark.parametrize(
    "asked", [{"test": "max-t"}, {"test": "tukey"}, {"correct": "bh"}, {"equivalence": 0.1}, {"test": "wilcoxon"}]
)
def test_what_keeps_every_pair_is_refused_for_too_many(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_PAIRS", 5)
    table = table_of(drawn("normal", 4, 1))
    with pytest.raises(RequestError, match=r"6 are more than 5\n.*name a baseline"):
        compare(table, **asked)
    assert len(compare(table, **asked, baseline="s0").first) == 3


# --- what is listed, written and drawn


@pytest.fixture
def few_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that end after ten pairs, or with the best four systems."""
    for module in (comparison, comparison_document):
        monkeypatch.setattr(module, "LISTED_PAIRS", 10)
        monkeypatch.setattr(module, "LISTED_SYSTEMS", 4)
    monkeypatch.setattr(comparison, "ROWS_AT_ONCE", 7)


def hostile() -> ScoreTable:
    table = table_of(drawn("copies", 9, 6))
    names = ("=a", "b,c", 'd"e', "f\ng", *table.systems[4:])
    return ScoreTable(table.measures, table.topics, names, table.values)


@pytest.mark.parametrize("baseline", [(), ("s5", "b,c")])
@pytest.mark.parametrize(("test", "on_demand"), [("tukey", False), ("t", False), ("t", True)])
def test_streamed_json_and_csv_are_those_of_lists(
    test: str, baseline: tuple[str, ...], on_demand: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"test": test, "baseline": list(baseline) or None, "all_pairs": True}
    listed = cf.compare(hostile(), **asked).document()
    for module in (comparison, comparison_document):
        monkeypatch.setattr(module, "LISTED_PAIRS", 10)
    if on_demand:
        monkeypatch.setattr(comparing, "MOST_PAIRS", 20)
    monkeypatch.setattr(comparison, "ROWS_AT_ONCE", 7)
    result = cf.compare(hostile(), **asked)
    streamed = result.document()
    assert isinstance(streamed.extra["pairs"], StreamedRows)
    ours, theirs = (json.loads(output_formats.to_json(each)) for each in (streamed, listed))
    assert same({**ours, "warnings": []}, {**theirs, "warnings": []})
    text, rows = output_formats.to_csv(streamed), streamed.extra["pairs"][:]
    if baseline or not on_demand:  # else the same but for rounding
        assert text == output_formats.to_csv(listed)
        rows = listed.extra["pairs"]
    assert output_formats.to_json(streamed) == json.dumps(
        output_formats.to_dict(streamed), ensure_ascii=False, indent=1, allow_nan=False
    )
    again = pickle.loads(pickle.dumps(streamed))
    assert output_formats.to_json(again) == output_formats.to_json(streamed)
    result.write_pairs(str(tmp_path / "pairs.csv"))
    assert (tmp_path / "pairs.csv").read_text(encoding="utf-8") == text + "\n"
    for at in (3, -1, slice(2, 9), slice(None, None, -2)):
        assert json.dumps(streamed.extra["pairs"][at]) == json.dumps(rows[at])


@pytest.mark.usefixtures("few_listed")
def test_what_is_left_out_of_lists_is_counted_aloud() -> None:
    result = cf.compare(hostile(), test="tukey")
    found = result.to_dict()
    assert len(found["pairs"]) == 6
    assert found["pairs_left_out"] == 30
    best = {row["system"] for row in found["rows"][:4]}
    assert {pair[word] for pair in found["pairs"] for word in ("system_a", "system_b")} == best
    assert len(found["rows"]) == 9
    (caution,) = [each for each in found["warnings"] if each["kind"] == "pairs-left-out"]
    assert "36 pairs are too many to list: tables and JSON have the 6 of the best 4 systems" in caution["problem"]
    assert "`all_pairs=True`" in caution["fix"]
    table = result.document().tables[0]
    assert len(table.rows) == 4
    assert "the best 4 of 9 systems, CSV and JSON have all" in table.title
    comparison = result.comparisons["x"]
    assert len(comparison.to_dict()) == len(comparison.to_frame()) == 6
    assert len(comparison.to_dict(all_pairs=True)) == len(comparison.to_frame(all_pairs=True)) == 36


@pytest.mark.usefixtures("few_listed")
def test_pairs_of_one_system_and_a_page_of_pairs_are_those_of_all() -> None:
    found = cf.compare(hostile(), test="tukey").comparisons["x"]
    every = found.to_dict(all_pairs=True)
    assert json.dumps(list(found.rows(11, 29))) == json.dumps(every[11:29])
    mine = [row for row in every if found.systems[5] in (row["system_a"], row["system_b"])]
    assert json.dumps(found.rows_of(found.pairs.with_system(5))) == json.dumps(mine)


@pytest.mark.usefixtures("few_listed")
def test_charts_of_many_systems_show_the_last_too_and_a_matrix_says_which_it_has() -> None:
    asked: list[dict[str, Any]] = [{"test": "tukey"}, {"test": "t"}, {"baseline": "s5", "test": "tukey"}]
    for each in asked:
        result = cf.compare(hostile(), **each)
        order = next(iter(result.comparisons.values())).systems
        assert list(result.chart().panels[0].y.names) == list(map(visible, order))
    matrix = cf.compare(hostile(), test="tukey").chart("matrix")
    assert "the best 4 of 9 systems" in matrix.subtitle
    assert len(matrix.panels[0].marks[0].x) == 12


@pytest.mark.usefixtures("few_listed")
def test_a_comparison_with_pairs_on_demand_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_PAIRS", 0)
    result = cf.compare(hostile())
    before = len(pickle.dumps(result))
    assert result.comparisons["x"].effect_size.shape == (36,)
    assert len(pickle.dumps(result)) < before + 1000  # columns of all pairs are not kept
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()


def test_few_systems_are_charted_as_they_are() -> None:
    found = compare(table_of(drawn("normal", 6, 1)), test="tukey")
    document = compare_document(found, {})
    assert charted(found, document) == (document.rows, document.extra["pairs"], "")


def test_columns_are_written_as_rows_are() -> None:
    texts = ["plain", "a,b", 'quo"te', "two\nlines", "", " space", "tab\there"]
    columns: dict[str, list[Any]] = {
        "text": texts,
        "score": [0.1, -0.0, 1e-5, 1e16, float("nan"), float("inf"), 5e-324],
        "none": [None, 1, None, 2.5, "x", True, ""],
        "same": [0.25] * 7,
        "zeros": [0.0, -0.0] * 3 + [0.0],
        "count": list(range(7)),
        "yes": [True, False] * 3 + [True],
    }
    for mark in (",", "\t"):
        text, rows = column_lines(columns, mark=mark), zip(*columns.values(), strict=True)
        assert format_scores([], [], mark=mark) + text == format_scores([], rows, mark=mark)
        assert [row[0] for row in csv.reader(io.StringIO(text), delimiter=mark)] == texts


# --- the command


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    cf.write_scores(table_of(drawn("normal", 12, 8)), tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_the_command_writes_all_pairs_to_a_file(scores: Path, ending: str) -> None:
    path = scores.with_name(f"pairs.{ending}")
    done = run("compare", str(scores), "--test", "tukey", "-o", str(path))
    assert done.exit_code == 0, done.output
    printed = run("compare", str(scores), "--test", "tukey", "--all-pairs", "--csv").stdout
    text = read_bytes(path).decode()
    assert text.replace("\t", ",") == printed
    assert len(text.splitlines()) == 67


def test_a_file_of_pairs_with_another_ending_is_refused_before_any_work(scores: Path) -> None:
    done = run("compare", "nothing.csv", "-o", str(scores.with_name("pairs.xlsx")))
    assert isinstance(done.exception, RequestError)
    assert ".csv or .tsv" in done.exception.fix


@pytest.mark.usefixtures("few_listed")
def test_nothing_half_written_stays(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = cf.compare(str(scores))
    path = scores.with_name("pairs.csv")
    part = tested_pairs.TestedPairs.part

    def fails(self: tested_pairs.TestedPairs, start: int, stop: int) -> PairColumns:
        if start > 30:
            raise MemoryError
        return part(self, start, stop)

    monkeypatch.setattr(tested_pairs.TestedPairs, "part", fails)
    with pytest.raises(MemoryError):
        result.write_pairs(str(path))
    assert [each.name for each in path.parent.iterdir()] == ["scores.csv"]
