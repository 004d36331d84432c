"""Leaderboards: ranks that systems may have, which may be the best, missing cells, weights, and combined effects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats import meta_analysis
from statsmodels.stats.multitest import multipletests

import cranfield as cf
from chart_rules import check_chart, marks
from cranfield.errors import InputError, RequestError
from cranfield.methods.boards import board, combine_effects, make_board, standardised
from cranfield.methods.boards.board_scores import Scores
from cranfield.methods.contrasts.clusters import RobustPairs, TopicDesign
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.methods.contrasts.resampling import LEAST_VARIANCE, Studentised, exceeded, streams
from cranfield.methods.contrasts.tukey import critical_range
from cranfield.runtime.random import generator, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.score_files import read_board
from sizes import sized


def table(values: Any) -> ScoreTable:
    scores = np.asarray(values, float)
    tasks, systems = (
        tuple(f"{letter}{at}" for at in range(count)) for letter, count in zip("ts", scores.shape, strict=True)
    )
    return ScoreTable(("AP",), tasks, systems, scores[np.newaxis, :, :, np.newaxis])


def simulated(seed: int, tasks: int = 30, systems: int = 8, gap: float = 0.03) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(0.5, 0.1, (tasks, 1)) + gap * np.arange(systems) + rng.normal(0, 0.05, (tasks, systems))


# --- real boards


@pytest.mark.parametrize(
    ("test", "correct", "pairs", "others"),
    [("t", "none", 14067, 3), ("t", "holm", 9529, 26), ("tukey", None, 8422, 42)],
)
def test_models_of_mteb(kept: Path, test: str, correct: str | None, pairs: int, others: int) -> None:
    scores = cf.read_scores(kept / "data" / "mteb" / "mteb_eng_v2.csv.gz")
    board = make_board(scores, test=test, correct=correct, ranks="simultaneous", resamples=100)
    assert (len(board.systems), len(board.tasks)) == (183, 41)
    assert board.comparison.significant_pairs == pairs
    assert board.scores == pytest.approx([scores.mean()[name] for name in board.systems])
    assert board.rank_upper[0] == others + 1  # none of the others is better, and all but these are worse


def test_models_of_mteb_that_may_be_the_best_are_beaten_by_no_other_model(kept: Path) -> None:
    scores = cf.read_scores(kept / "data" / "mteb" / "mteb_eng_v2.csv.gz")
    board = make_board(scores, resamples=100)
    of = dict(zip(scores.systems, scores.of().T, strict=True))
    values = np.array([of[name] for name in board.systems]).T
    p_value = np.array(
        [stats.ttest_rel(values, values[:, [at]], alternative="greater").pvalue for at in range(len(board.systems))]
    )
    beaten: Any = (p_value <= 0.05 / 182).any(axis=1)  # nan is a system with itself, or with a copy
    assert 1 < (~beaten).sum() < 182
    assert board.comparison.top_group == tuple(
        name for name, lost in zip(board.systems, beaten, strict=True) if not lost
    )


def test_a_folder_of_mtebs_results_has_the_scores_of_the_board(mteb_results: Path, kept: Path) -> None:
    board = cf.read_scores(kept / "data" / "mteb" / "mteb_eng_v2.csv.gz")
    found = cf.leaderboard(mteb_results).boards["main_score"]
    assert len(found.systems) == 8
    folder = read_board(str(mteb_results))
    same = board.select(topics=folder.topics, systems=folder.systems).of("main_score")
    there = np.isfinite(folder.of("main_score"))
    assert there.sum() == 312
    assert folder.of("main_score")[there] == pytest.approx(same[there], abs=1e-12)
    assert [each.slug for each in folder.warnings] == ["external-results"]


def results(folder: Path, model: str, revision: str, task: str, content: Any) -> Path:
    file = folder / model / revision / f"{task}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_a_folder_of_results_is_read_by_stated_rules(tmp_path: Path) -> None:
    def of(*scores: float, subset: str = "") -> dict[str, Any]:
        entries = [{"main_score": each, "hf_subset": f"{subset}{at}"} for at, each in enumerate(scores)]
        return {"task_name": "T1", "scores": {"test": entries}}

    results(tmp_path, "a", "r1", "T1", of(0.1))
    results(tmp_path, "a", "r2", "T1", of(0.2))
    results(tmp_path, "a", "external", "T1", of(0.9))
    results(tmp_path, "b", "external", "T1", of(0.4, 0.6))
    (tmp_path / "a" / "r1" / "model_meta.json").write_text("{}")
    found = read_board(str(tmp_path))
    assert found.mean() == {"a": 0.2, "b": 0.5}
    assert [each.slug for each in found.warnings] == ["external-results", "several-revisions", "subsets-averaged"]
    for content in ("{", "[]", {"task_name": "T1"}, {"task_name": "T1", "scores": {"test": [{}]}}, of(float("nan"))):
        file = results(tmp_path, "c", "r1", "T1", content)
        with pytest.raises(InputError) as error:
            cf.leaderboard(tmp_path)
        assert str(file) in error.value.where


# --- what the numbers mean


def test_ranks_are_those_that_the_tests_leave() -> None:
    board = make_board(table(simulated(1)), ranks="simultaneous", resamples=1000)
    found = board.comparison
    for at in range(8):
        better = sum(
            1
            for a, b, yes in zip(found.first, found.second, found.significant, strict=True)
            if yes and b == at and a < b
        )
        assert board.rank_lower[at] == 1 + better
    assert ((board.rank_lower <= board.ranks) & (board.ranks <= board.rank_upper)).all()
    assert board.first_share.sum() == pytest.approx(1)


def test_each_systems_ranks_are_unless_said_those_of_holms_correction_of_its_own_pairs() -> None:
    values = simulated(1, gap=0.015)
    board, narrower = make_board(table(values)), 0
    together = make_board(table(values), ranks="simultaneous")
    for at, name in enumerate(board.systems):
        own = int(name[1:])
        gaps = [values[:, own] - values[:, other] for other in range(8) if other != own]
        p_value = [stats.ttest_1samp(gap, 0).pvalue for gap in gaps]
        signs = np.sign([gap.mean() for gap in gaps]) * multipletests(p_value, 0.05, "holm")[0]
        assert (board.rank_lower[at], board.rank_upper[at]) == (1 + (signs < 0).sum(), 8 - (signs > 0).sum())
        assert together.rank_lower[at] <= board.rank_lower[at] <= board.rank_upper[at] <= together.rank_upper[at]
        narrower += together.rank_upper[at] - together.rank_lower[at] > board.rank_upper[at] - board.rank_lower[at]
    assert narrower


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.03])
def test_true_ranks_lie_within_the_given_ones(gap: float) -> None:
    """All ranks at once, in many boards; equal systems may have any of their ranks."""
    wrong, boards = 0, sized(60, 300)
    for seed in range(boards):
        values = table(simulated(seed, tasks=20, systems=5, gap=gap))
        board = make_board(values, test="tukey", ranks="simultaneous", resamples=100)
        truth = {f"s{at}": (1, 5) if gap == 0 else (5 - at, 5 - at) for at in range(5)}
        wrong += any(
            not (low <= truth[name][1] and truth[name][0] <= high) or (gap == 0 and (low > 1 or high < 5))
            for name, low, high in zip(board.systems, board.rank_lower, board.rank_upper, strict=True)
        )
    assert wrong <= stats.binom.ppf(0.9999, boards, 0.05)


@pytest.mark.parametrize("gap", [0.0, 0.01])
def test_the_true_ranks_of_each_system_lie_within_its_own(gap: float) -> None:
    """In many boards, system by system, and the best one among those that may be the best."""
    wrong, missed, boards = np.zeros(5, int), 0, sized(60, 300)
    for seed in range(boards):
        board = make_board(table(simulated(seed, tasks=20, systems=5, gap=gap)), resamples=1)
        for name, low, high in zip(board.systems, board.rank_lower, board.rank_upper, strict=True):
            place = int(name[1:])
            wrong[place] += low > (1 if gap == 0 else 5 - place) or high < 5 - (place if gap else 0)
        missed += "s4" not in board.comparison.top_group
    assert max(*wrong, missed) <= stats.binom.ppf(0.9999, boards, 0.05)


@pytest.mark.parametrize("case", ["best", "near-ties"])
@pytest.mark.parametrize(
    ("test", "missing"), [("max-t", 0.0), ("t", 0.15), *sized([], [("t", 0.0), ("tukey", 0.0), ("max-t", 0.15)])]
)
def test_ranks_hold_on_tasks_drawn_from_those_of_mteb(
    load_script: Callable[[str], ModuleType], case: str, test: str, missing: float
) -> None:
    """A small run of the script whose figures are on the page about ranks; with 6 models."""
    script = load_script("rank_coverage")
    values = script.chosen(script.read_population(), case, 6)
    draws = sized(12, 40)
    found = script.coverage(values, tasks=41, test=test, draws=draws, missing=missing)
    assert found.held >= stats.binom.ppf(1e-4, draws, 0.95)
    assert 2 < found.width <= 6


@pytest.mark.parametrize(("test", "missing"), [("max-t", 0.0), ("t", 0.0), ("max-t", 0.15), ("t", 0.15)])
def test_ranks_hold_for_equal_systems_with_normal_scores(
    load_script: Callable[[str], ModuleType], test: str, missing: float
) -> None:
    """The hardest case: every significant pair is an error."""
    script = load_script("rank_coverage")
    values = script.chosen(script.read_population(), "equal-normal", 8)
    draws = sized(24, 80)
    found = script.coverage(values, tasks=41, test=test, draws=draws, missing=missing)
    assert found.held >= stats.binom.ppf(1e-4, draws, 0.95)


def test_a_board_without_a_task_is_the_board_of_the_others() -> None:
    """Also where scores are missing, and the model that fills them in is fitted to all others."""
    values = np.random.default_rng(3).normal(np.linspace(0.4, 0.5, 5), 0.1, (12, 5))
    values[np.random.default_rng(4).random(values.shape) < 0.2] = np.nan
    board = make_board(table(values), resamples=50)
    assert len(board.without) == 12
    for at, effect in enumerate(board.without):
        others = make_board(table(np.delete(values, at, axis=0)), resamples=50)
        assert (effect.task, effect.first) == (f"t{at}", others.systems[0])
        assert effect.lead == pytest.approx(others.scores[0] - others.scores[1], abs=1e-12)


def test_the_task_that_decides_is_named() -> None:
    values = np.full((6, 3), 0.5)
    values[:, 0] += 0.01
    values[2, 1] += 0.4
    values += np.random.default_rng(1).normal(0, 1e-4, values.shape)
    board = make_board(table(values))
    assert board.systems[0] == "s1"
    assert [(each.task, each.first) for each in board.decisive] == [("t2", "s0")]
    assert "If task t2 is left out, s0 is first." in cf.leaderboard(table(values)).summary()


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        (2, "If task t0 or task t1 is left out, another system is first."),
        (3, "If any one of 3 tasks (t0, t1, t2) is left out, another system is first."),
        (5, "If any one of 5 tasks (t0, t1, t2 and 2 more) is left out, another system is first."),
    ],
)
def test_several_tasks_that_decide_are_named(tasks: int, said: str) -> None:
    values = np.full((12, 2), 0.5)
    values[:tasks, 1] += 0.2  # each of them outweighs the lead
    values[tasks:, 0] += (0.2 * tasks - 0.1) / (12 - tasks)
    assert said in cf.leaderboard(table(values)).summary()


def test_lower_scores_are_better_for_costs() -> None:
    values = simulated(3)
    up, down = make_board(table(values)), make_board(table(values), lower_is_better=True)
    assert down.systems == up.systems[::-1]
    assert down.scores == pytest.approx(np.sort(values.mean(axis=0)))
    assert not set(down.comparison.letters[0].split()) & set(down.comparison.letters[-1].split())
    assert down.comparison.top_group == make_board(table(-values)).comparison.top_group != up.comparison.top_group
    assert down.ranks.tolist() == up.ranks.tolist() == list(range(1, 9))
    assert ((down.rank_lower <= down.ranks) & (down.ranks <= down.rank_upper)).all()
    assert [row["rank"] for row in cf.leaderboard(table(values), lower_is_better=True).to_dict()["rows"]] == list(
        range(1, 9)
    )


def test_the_same_scores_share_a_rank_and_their_order_is_that_of_the_pairs() -> None:
    values = simulated(3, systems=4, gap=0.05)
    board = make_board(table(np.column_stack([values, values[:, 1]])))
    assert board.systems == board.comparison.systems
    assert board.ranks.tolist() == [1, 2, 3, 3, 5]


def test_resamples_are_those_of_the_test_too() -> None:
    values = table(simulated(3))
    two = table(simulated(3)[:, [0, 7]])
    assert make_board(two, test="permutation", resamples=200).comparison.resamples == 200
    assert make_board(values, test="permutation", resamples=200).comparison.resamples == 3200  # α / 28 needs as many
    assert make_board(values, test="max-t").comparison.resamples == 10_000
    assert make_board(values).comparison.resamples is None
    assert make_board(values, test="tukey", resamples=200).resamples == 200


# --- missing cells and weights


def test_a_whole_board_and_its_pairs_one_by_one_agree() -> None:
    values = simulated(4)
    whole = make_board(table(values), test="t", correct="holm").comparison
    weighted = make_board(table(values), weights={"t0": 1 + 1e-13}).comparison
    assert weighted.systems == whole.systems
    for name in ("difference", "standard_error", "p_adjusted", "lower", "upper"):
        assert getattr(weighted, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    assert (weighted.wins == whole.wins).all()
    assert (weighted.losses == whole.losses).all()


def test_pairs_are_compared_on_the_tasks_that_both_have() -> None:
    values = simulated(5)
    values[np.random.default_rng(1).random(values.shape) < 0.2] = np.nan
    board = make_board(table(values))
    found, places = board.comparison, {name: int(name[1:]) for name in board.systems}
    for at in range(len(found.pairs)):
        a, b = (places[found.systems[each[at]]] for each in (found.first, found.second))
        both = np.isfinite(values[:, a]) & np.isfinite(values[:, b])
        oracle = stats.ttest_rel(values[both, a], values[both, b])
        assert found.p_value[at] == pytest.approx(oracle.pvalue, rel=1e-9)
        assert found.wins[at] + found.ties[at] + found.losses[at] == both.sum()
    assert "missing-cells" in [each.slug for each in board.warnings]


def test_a_system_with_few_tasks_is_not_first_with_certainty() -> None:
    """It leads on all its tasks: resamples of what a model fills in for the others would always have it first."""
    values = simulated(1, tasks=60)
    values[:, 0] += 0.6
    values[6:, 0] = np.nan
    found = cf.leaderboard(table(values))
    board, shown = found.boards["AP"], found.to_dict()
    assert (board.systems[0], board.tasks_of[0], board.comparison.top_group) == ("s0", 6, ("s0",))
    assert np.isnan(board.first_share).all()
    assert {row["first_share"] for row in shown["rows"]} == {None}
    assert "first in resamples" not in repr(found)
    complete = cf.leaderboard(table(np.where(np.isnan(values), 0.0, values)))
    assert sum(row["first_share"] for row in complete.to_dict()["rows"]) == pytest.approx(1)


def test_max_t_with_few_missing_scores_is_nearly_that_of_all_scores() -> None:
    values = simulated(4, tasks=40, systems=6, gap=0.015)
    whole = make_board(table(values), test="max-t").comparison
    values[3, 2] = np.nan
    board = make_board(table(values), test="max-t")
    found = board.comparison
    assert (found.test, found.correct, found.interval) == ("max-t", "none", "95 % (last step of max-t)")
    assert found.systems == whole.systems
    untouched = [
        at for at in range(15) if "s2" not in (found.systems[found.first[at]], found.systems[found.second[at]])
    ]
    assert found.p_adjusted[untouched] == pytest.approx(whole.p_adjusted[untouched], abs=0.03)
    assert ((found.lower > 0) | (found.upper < 0)).tolist() == found.significant.tolist()
    assert (found.p_adjusted >= found.p_value - 1e-3).all()


def test_max_t_of_missing_scores_resamples_the_tasks_that_pairs_share() -> None:
    """One pair: the largest |t| is that pair's own, resample by resample."""
    rng = np.random.default_rng(1)
    gaps = rng.exponential(1.0, (25, 2))
    gaps[:5, 0], gaps[20:, 1] = np.nan, np.nan
    plain = TopicDesign(weights=np.ones(25), clusters=np.arange(25), strata=np.zeros(25, int))
    pairs = RobustPairs(np.column_stack([gaps, np.zeros(25)]), Contrasts(np.array([0, 1]), np.array([2, 2])), plain)
    resampler = Studentised(pairs, pairs.fit(), np.abs(pairs.fit().t))
    found = exceeded(resampler, np.array([0]), streams(50), 3).largest
    drawn = generator(sequence(3, 0)).multinomial(25, np.full(25, 1 / 25), size=50)
    expected = []
    for counts in drawn:
        sample = np.repeat(gaps[:, 0], counts)
        sample = sample[np.isfinite(sample)]
        own = gaps[5:, 0]
        error = np.sqrt(max(sample.var(ddof=1) / len(sample), LEAST_VARIANCE * own.var(ddof=1) / 20))
        expected.append(abs(sample.mean() - own.mean()) / error)
    assert found == pytest.approx(np.array(expected))
    both = exceeded(resampler, np.array([0, 1]), streams(50), 3).largest
    assert (both >= found - 1e-12).all()
    assert (both > found).any()


def test_skewed_differences_are_said_aloud_where_scores_are_missing() -> None:
    values = simulated(1)
    values[0, 0] = np.nan
    assert "skewed-differences" not in [each.slug for each in make_board(table(values), resamples=100).warnings]
    values[1, 5] += 3.0
    caution = next(
        each for each in make_board(table(values), resamples=100).warnings if each.slug == "skewed-differences"
    )
    count = 0
    for a in range(8):
        for b in range(a + 1, 8):
            gap = values[:, a] - values[:, b]
            gap = gap[np.isfinite(gap)]
            count += abs(stats.skew(gap)) / np.sqrt(len(gap)) > 0.25
    assert caution.what.startswith(f"{count} of 28 pairs")


def test_leaving_out_the_hard_tasks_gains_nothing() -> None:
    effects, hard = np.array([0.3, 0.2, 0.1]), np.array([0.0, 0.0, -0.2, -0.2])
    values = 0.5 + hard[:, np.newaxis] + effects
    values[2:, 1] = np.nan
    board = make_board(table(np.vstack([values, values + 0.01])))
    assert board.systems == ("s0", "s1", "s2")
    assert board.scores == pytest.approx(0.5 - 0.1 + 0.005 + effects)


def test_a_weight_counts_a_task_several_times() -> None:
    values = simulated(6)
    board = make_board(table(values), weights={"t0": 3, "t1": 0})
    means = (values.sum(axis=0) + 2 * values[0] - values[1]) / 31
    assert dict(zip(board.systems, board.scores, strict=True)) == pytest.approx(
        {f"s{at}": mean for at, mean in enumerate(means)}
    )


def test_what_cannot_be_compared_is_refused() -> None:
    values = simulated(7)
    apart = np.full((6, 4), np.nan)
    apart[:3, :2], apart[3:, 2:] = values[:3, :2], values[3:6, 2:4]
    empty = values.copy()
    empty[:, 2] = np.nan
    with pytest.raises(InputError, match="share no task"):
        make_board(table(apart))
    with pytest.raises(InputError, match="system «s2» has no score"):
        make_board(table(empty))
    with pytest.raises(RequestError, match="no task «x»"):
        make_board(table(values), weights={"x": 2})
    with pytest.raises(RequestError, match="needs every score"):
        make_board(table(values), weights={"t0": 2}, test="tukey")
    with pytest.raises(RequestError, match="NAME=WEIGHT"):
        cf.leaderboard(table(values), weights=["t0=two"])


def test_the_answer_has_its_words() -> None:
    found = cf.leaderboard(table(simulated(8)))
    shown = json.loads(json.dumps(found.to_dict()))
    assert {"system", "score", "rank", "rank_lower", "rank_upper", "may_be_best", "first_share", "letters"} <= set(
        shown["rows"][0]
    )
    assert shown["significant_pairs"] == found.boards["AP"].comparison.significant_pairs
    assert shown["top_group"][0] == shown["rows"][0]["system"]
    assert shown["top_group"] == [row["system"] for row in shown["rows"] if row["may_be_best"]]
    assert len(shown["top_group"]) < 8
    assert f"{shown['top_group'][0]} is first on 30 tasks" in found.summary()
    unadjusted = cf.leaderboard(table(simulated(8)), test="t", correct="none").to_dict()
    assert "ranks-apart" in [each["kind"] for each in unadjusted["warnings"]]


# --- the page


def test_the_command_writes_the_board_as_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield.cli.app import main

    cf.write_scores(table(simulated(8)), tmp_path / "scores.csv")
    for name, code in (("board.html", 0), ("board.pdf", 2)):
        line = ["cranfield", "leaderboard", str(tmp_path / "scores.csv"), "-o", str(tmp_path / name)]
        monkeypatch.setattr("sys.argv", line)
        with pytest.raises(SystemExit) as stop:
            main()
        assert (stop.value.code or 0) == code
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert "is first on 30 tasks" in page
    assert (
        page.index("is first on 30 tasks") < page.index("<table") < page.index(">Method<") < page.index(">References<")
    )
    assert page.count("<td class=h") == 8 * 30
    assert "End the name in .html" in capsys.readouterr().err
    with pytest.raises(RequestError, match="no name of a page"):
        cf.leaderboard(table(simulated(8)), resampling={"resamples": 100}).write_page(str(tmp_path / "board.txt"))


def test_shades_are_shares_of_worse_systems() -> None:
    from cranfield.rendering.board_page import _shades

    found = _shades(np.array([[0.1, 0.3, 0.2, np.nan, 0.2], [5.0, 5.0, 5.0, 5.0, 5.0]]))
    assert found.tolist() == [[0, 9, 3, -1, 3], [0, 0, 0, 0, 0]]


# --- Friedman and Nemenyi


def test_friedmans_test_is_scipys() -> None:
    values = simulated(9).round(2)  # with ties
    found = make_board(table(values)).friedman
    assert found is not None
    oracle = stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(oracle.statistic)
    assert found.p_value == pytest.approx(oracle.pvalue)


PRINTED = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}
"""Demšar 2006, Table 5 (a): two to ten classifiers."""


@pytest.mark.parametrize(
    ("alpha", "models", "printed"),
    [(alpha, at + 2, value) for alpha, values in PRINTED.items() for at, value in enumerate(values)],
)
def test_nemenyis_critical_values_are_those_printed(alpha: float, models: int, printed: float) -> None:
    q = critical_range(alpha, models, np.inf) / np.sqrt(2)
    assert q == pytest.approx(printed, abs=1.1e-3)  # 2.948 for seven, where the table has 2.949
    if models > 2:
        found = make_board(table(simulated(1, tasks=14, systems=models)), alpha=alpha, resamples=100).friedman
        assert found is not None
        assert found.critical_difference == pytest.approx(q * np.sqrt(models * (models + 1) / (6 * 14)))


def test_systems_within_the_critical_difference_are_joined() -> None:
    found = make_board(table(simulated(2, tasks=20, systems=8, gap=0.02)), resamples=100).friedman
    assert found is not None
    ranks = np.sort(found.average_ranks)
    for a in range(8):
        for b in range(a + 1, 8):
            together = any(a in group and b in group for group in found.groups())
            assert together == (ranks[b] - ranks[a] < found.critical_difference)
    assert len(found.groups()) > 1


def test_the_diagram_names_every_system_and_the_critical_difference() -> None:
    found = cf.leaderboard(table(simulated(2, tasks=20, systems=8, gap=0.02)), resampling={"resamples": 100})
    chart = found.chart("critical-difference")
    check_chart(chart)
    friedman = found.boards["AP"].friedman
    assert friedman is not None
    ranked = dict(zip(found.boards["AP"].systems, friedman.average_ranks.tolist(), strict=True))
    places, *bars = marks(chart, "dots")
    first, *names = chart.panels[0].y.names
    assert first == f"critical difference {friedman.critical_difference:.3g}"
    assert dict(zip(names, places.x, strict=True)) == ranked
    assert places.x == sorted(places.x)
    groups = [[at + 1 for at in group] for group in friedman.groups() if len(group) > 1]
    assert [list(bar.y) for bar in bars] == groups


def test_the_diagram_has_means_where_there_are_no_ranks() -> None:
    values = simulated(5, systems=30)
    values[0, 0] = np.nan
    found = cf.leaderboard(table(values), resampling={"resamples": 100})
    chart, board = found.chart("critical-difference"), found.boards["AP"]
    names, (places, *bars) = chart.panels[0].y.names, marks(chart, "dots")
    assert dict(zip(names, places.x, strict=True)) == dict(zip(board.systems, board.scores.tolist(), strict=True))
    joined = [{names[int(at)] for at in bar.y} for bar in bars]
    pairs = board.comparison
    for a, b, differ in zip(pairs.first, pairs.second, pairs.significant, strict=True):
        assert any({board.systems[a], board.systems[b]} <= group for group in joined) != differ


# --- several collections


@pytest.mark.parametrize(("method", "oracle"), [("DL", "chi2"), ("PM", "iterated")])
@pytest.mark.parametrize("count", [3, 5, 12])
def test_combined_effects_are_those_of_statsmodels(method: str, oracle: str, count: int) -> None:
    rng = np.random.default_rng(count)
    effects, variances = rng.normal(0.03, 0.05, count), rng.uniform(1e-4, 9e-4, count)
    found = combine_effects(effects, variances, method=method)
    precise: dict[str, Any] = {"atol": 1e-7} if method == "PM" else {}  # closer, and it may end at 0
    rel = 1e-8 if method == "PM" else 1e-10
    other = meta_analysis.combine_effects(effects, variances, method_re=oracle, **precise)
    assert other.tau2 > 0
    assert found.tau2 == pytest.approx(other.tau2, rel=rel)
    for mine, theirs in (
        (found.fixed, other.mean_effect_fe),
        (found.fixed_error, other.sd_eff_w_fe),
        (found.q, other.q),
        (found.i2, other.i2),
    ):
        assert mine == pytest.approx(theirs, rel=1e-10)
    assert found.random == pytest.approx(other.mean_effect_re, rel=rel)
    plain = (1 / (variances + found.tau2)).sum() ** -0.5
    assert found.random_error == pytest.approx(max(other.sd_eff_w_re_hksj, plain), rel=rel)  # never below the plain one


def test_paule_and_mandels_variance_solves_their_equation() -> None:
    rng = np.random.default_rng(1)
    effects, variances = rng.normal(0.03, 0.05, 6), rng.uniform(1e-4, 9e-4, 6)
    found = combine_effects(effects, variances)
    spread = np.square(effects - found.random) / (variances + found.tau2)
    assert spread.sum() == pytest.approx(5, rel=1e-12)


def collections(seed: int = 1, systems: int = 4, between: float = 0.02) -> dict[str, ScoreTable]:
    """Three collections with 40, 25 and 60 topics, in which systems differ, and not alike in all."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, topics in (("one", 40), ("two", 25), ("three", 60)):
        own = 0.04 * np.arange(systems) + rng.normal(0, between, systems)
        made[name] = table(rng.normal(0.4, 0.1, (topics, 1)) + own + rng.normal(0, 0.08, (topics, systems)))
    return made


def test_the_score_of_several_collections_is_the_mean_over_them_of_the_means_over_topics() -> None:
    tables = collections()
    plain = make_board(tables, resamples=200)
    weighted = make_board(tables, weights={"two": 3}, resamples=200)
    for name in plain.systems:
        means = [each.mean()[name] for each in tables.values()]
        assert plain.scores[plain.systems.index(name)] == pytest.approx(np.mean(means))
        assert weighted.scores[weighted.systems.index(name)] == pytest.approx(np.average(means, weights=[1, 3, 1]))
    assert plain.topics == (40, 25, 60)
    assert plain.task_scores == pytest.approx(
        np.array([[each.mean()[name] for name in plain.systems] for each in tables.values()])
    )
    assert plain.friedman is None


def test_pairs_of_several_collections_are_tested_within_them() -> None:
    """The variance of a stratified mean and Satterthwaite's df (Cochran 1977, §5.4), pair by pair."""
    tables, weights = collections(), np.array([1.0, 3.0, 1.0])
    found = make_board(tables, weights={"two": 3}, resamples=100).comparison
    for at in range(len(found.pairs)):
        a, b = (int(found.systems[each[at]][1:]) for each in (found.first, found.second))
        gaps = [each.of("AP")[:, a] - each.of("AP")[:, b] for each in tables.values()]
        share = weights / weights.sum()
        parts = share**2 * [gap.var(ddof=1) / len(gap) for gap in gaps]
        df = parts.sum() ** 2 / (parts**2 / [len(gap) - 1 for gap in gaps]).sum()
        difference = share @ [gap.mean() for gap in gaps]
        assert found.difference[at] == pytest.approx(difference)
        assert found.standard_error[at] == pytest.approx(np.sqrt(parts.sum()))
        p = 2 * stats.t.sf(abs(difference) / np.sqrt(parts.sum()), df)
        assert found.p_value[at] == pytest.approx(p, rel=1e-9)


def test_first_places_are_not_counted_where_several_systems_may_be_the_best_unless_asked_for() -> None:
    tied, alone = table(simulated(1)), table(simulated(1, gap=0.5))
    assert len(make_board(tied).comparison.top_group) > 1
    assert np.isnan(make_board(tied).first_share).all()
    assert make_board(tied, resamples=200).first_share.sum() == pytest.approx(1)
    assert make_board(alone).first_share[0] == 1.0


def test_topics_are_resampled_within_collections() -> None:
    """A collection on whose topics all systems score the same has the same mean in every resample."""
    fixed = np.tile([[0.9, 0.1]], (10, 1))  # every resample of it is the same
    rng = np.random.default_rng(1)
    close = np.column_stack([rng.normal(0.5, 0.2, 30), rng.normal(0.6, 0.2, 30)])
    board = make_board({"fixed": table(fixed), "close": table(close)}, resamples=2000)
    assert board.systems[0] == "s0"
    assert board.first_share[0] == 1.0


def test_effects_of_collections_are_those_of_each_combined() -> None:
    tables = collections(systems=3)
    board = make_board(tables, resamples=100)
    assert [(each.first, each.second) for each in board.effects] == [("s2", "s1"), ("s2", "s0"), ("s1", "s0")]
    for effect in board.effects:
        a, b = int(effect.first[1:]), int(effect.second[1:])
        gaps = [each.of("AP")[:, a] - each.of("AP")[:, b] for each in tables.values()]
        means, variances = [gap.mean() for gap in gaps], [gap.var(ddof=1) / len(gap) for gap in gaps]
        assert effect.differences.value == pytest.approx(means)
        oracle = meta_analysis.combine_effects(np.array(means), np.array(variances), method_re="chi2")
        assert effect.laird.tau2 == pytest.approx(max(oracle.tau2, 0.0))
        assert effect.combined.fixed == pytest.approx(oracle.mean_effect_fe)
        assert effect.topics == (40, 25, 60)
    against = make_board(collections(systems=7), baseline="s3", resamples=100)
    assert {each.second for each in against.effects} == {"s3"}
    assert len(against.effects) == 6
    many = make_board(collections(systems=7), resamples=100)
    assert [(each.first, each.second) for each in many.effects] == [many.systems[:2]]


def test_a_difference_in_another_collection_lies_in_its_prediction_interval() -> None:
    """400 times three collections and a fourth, whose true difference is drawn like theirs."""
    inside = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        truths = rng.normal(0.05, 0.03, 4)
        variances = rng.uniform(1e-5, 4e-5, 3)
        found = combine_effects(rng.normal(truths[:3], np.sqrt(variances)), variances)
        inside += found.prediction_lower <= truths[3] <= found.prediction_upper
    assert inside >= stats.binom.ppf(0.001, 400, 0.95)


def test_a_system_may_be_missing_from_a_collection() -> None:
    tables = collections(systems=4)
    tables["two"] = tables["two"].select(systems=["s0", "s1", "s3"])
    board = make_board(tables, resamples=100)
    assert dict(zip(board.systems, board.tasks_of.tolist(), strict=True)) == {"s0": 3, "s1": 3, "s2": 2, "s3": 3}
    assert "missing-cells" in [each.slug for each in board.warnings]
    effect = next(each for each in board.effects if "s2" in (each.first, each.second))
    assert effect.collections == ("one", "three")
    found = board.comparison
    at = next(
        at for at in range(6) if {found.systems[found.first[at]], found.systems[found.second[at]]} == {"s2", "s3"}
    )
    gaps = [tables[name].mean()["s3"] - tables[name].mean()["s2"] for name in ("one", "three")]
    assert abs(found.difference[at]) == pytest.approx(abs(np.mean(gaps)))


def test_files_of_several_collections_are_one_board(tmp_path: Path) -> None:
    files = []
    for name, each in collections().items():
        cf.write_scores(each, tmp_path / f"{name}.csv")
        files.append(str(tmp_path / f"{name}.csv"))
    found = cf.leaderboard(files, weights=["two=3"], resampling={"resamples": 200})
    board = found.boards["AP"]
    assert board.tasks == ("one", "two", "three")
    assert board.weights.tolist() == [1, 3, 1]
    shown = found.to_dict()
    assert shown["sample"] == "topics within these collections"
    assert [row["topics"] for row in shown["collections"]] == [40, 25, 60]
    assert {"random", "random_lower", "prediction_upper", "fixed", "q", "i2", "tau2", "tau2_dl"} <= set(
        shown["effects"][0]
    )
    assert len(shown["effects"][0]["collections"]) == 3
    assert "the sample is the topics, and the collections are fixed" in found.summary()
    assert "prediction interval" in found.summary()
    chart = found.chart("forest")
    check_chart(chart)
    assert [list(panel.y.names[3:]) for panel in chart.panels] == [
        ["fixed effect", "random effect", "another collection"]
    ] * 2
    assert "The first 2 of " in chart.note
    two = cf.leaderboard(files[:2], resampling={"resamples": 200})
    assert "needs three collections" in two.summary()
    assert "another collection" not in two.chart("forest").panels[0].y.names


def test_wide_tables_without_a_measure_have_one_in_common(tmp_path: Path) -> None:
    for name, each in collections().items():
        cf.write_scores(each, tmp_path / f"{name}.csv", wide=True)
    found = cf.leaderboard([str(tmp_path / f"{name}.csv") for name in ("one", "two")], resampling={"resamples": 100})
    assert list(found.boards) == ["score"]


def test_what_several_collections_cannot_have_is_refused(tmp_path: Path) -> None:
    tables = collections()
    with pytest.raises(RequestError, match="no collection «x»"):
        make_board(tables, weights={"x": 2})
    with pytest.raises(RequestError, match="no system «x»"):
        make_board(tables, baseline="x")
    with pytest.raises(RequestError, match="not compared by tukey"):
        make_board(tables, test="tukey")
    with pytest.raises(InputError, match="two topics or more") as error:
        make_board({**tables, "short": tables["one"].select(topics=["t0"])})
    assert error.value.where == "short"
    with pytest.raises(InputError, match="no measure in common"):
        cf.leaderboard({"a": tables["one"], "b": tables["two"].replaced(measures=("P@10",))})
    with pytest.raises(RequestError, match="`baseline` has no effect"):
        cf.leaderboard(tables["one"], baseline="s1")
    with pytest.raises(RequestError, match="several collections"):
        cf.leaderboard(tables["one"], resampling={"resamples": 100}).chart("forest")


def test_pairs_that_do_not_vary_are_not_combined() -> None:
    same = np.tile(np.random.default_rng(1).normal(0.5, 0.1, (20, 1)), (1, 3)) + np.array([0.0, 0.1, 0.0])
    noisy = simulated(1, systems=3)
    board = make_board({"same": table(same), "noisy": table(noisy)}, resamples=100)
    assert board.effects == ()
    assert "effects-left-out" in [each.slug for each in board.warnings]


# --- scales


def test_z_scores_have_mean_0_and_sd_1_over_systems_and_a_missing_score_stays_missing() -> None:
    values = simulated(1) * np.linspace(1, 100, 30)[:, np.newaxis]
    values[3, 2] = np.nan
    found = standardised(values)
    assert np.nanmean(found, axis=1) == pytest.approx(np.zeros(30), abs=1e-12)
    assert np.nanstd(found, axis=1, ddof=1) == pytest.approx(np.ones(30))
    assert np.isnan(found).sum() == 1


def test_tasks_on_another_scale_are_standardised_by_name_and_said_aloud_otherwise() -> None:
    values = simulated(1, gap=0.01)
    percent = values.copy()
    percent[:3] *= 100

    def slugs(**asked: Any) -> list[str]:
        return [each.slug for each in make_board(table(percent), resamples=100, **asked).warnings]

    assert "scales-differ" in slugs()
    assert "scales-differ" not in slugs(standardise="none")
    assert "scales-differ" not in slugs(standardise="z")
    assert "scales-differ" not in [each.slug for each in make_board(table(values), resamples=100).warnings]
    mine, other = (make_board(table(each), standardise="z", resamples=100) for each in (percent, values))
    assert mine.systems == other.systems
    assert mine.scores == pytest.approx(other.scores)
    assert mine.task_scores == pytest.approx(other.task_scores)
    assert mine.rank_upper.tolist() == other.rank_upper.tolist()


def test_collections_on_another_scale_are_said_aloud() -> None:
    tables = collections()
    tables["two"] = tables["two"].replaced(values=tables["two"].values * 100)
    board = make_board(tables, resamples=100)
    caution = next(each for each in board.warnings if each.slug == "scales-differ")
    assert "two has an sd" in caution.what
    mine = make_board(tables, standardise="z", resamples=100)
    other = make_board(collections(), standardise="z", resamples=100)
    assert mine.scores == pytest.approx(other.scores)
    assert mine.effects[0].combined.random == pytest.approx(other.effects[0].combined.random)


def test_costs_are_standardised_too() -> None:
    up = make_board(table(simulated(3)), standardise="z", resamples=100)
    down = make_board(table(-simulated(3)), standardise="z", lower_is_better=True, resamples=100)
    assert down.systems == up.systems
    assert down.scores == pytest.approx(-up.scores)
    assert down.task_scores == pytest.approx(-up.task_scores)


def test_effects_that_agree_have_no_variance_between_them() -> None:
    found = combine_effects(np.array([0.05, 0.05, 0.051]), np.full(3, 1e-3))
    assert (found.tau2, found.i2) == (0.0, 0.0)
    assert found.random == pytest.approx(found.fixed)
    with pytest.raises(InputError, match="at least two collections"):
        combine_effects(np.array([0.1]), np.array([0.1]))
    with pytest.raises(InputError, match="no variance"):
        combine_effects(np.array([0.1, 0.2]), np.array([0.1, 0.0]))


def test_leaving_out_each_task_of_a_complete_board_is_what_the_additive_model_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    weights = np.array([1.0, 2, 0, 1, 1, 3, 1, 1, 1])
    scores = Scores(
        measure="score",
        systems=tuple("abcd"),
        tasks=tuple(map(str, range(9))),
        values=rng.random((9, 4)),
        weights=weights,
        design=TopicDesign(weights=weights, clusters=np.arange(9), strata=np.zeros(9, np.int64), has_weights=True),
        standardise=None,
        lower_is_better=False,
    )
    complete = list(board._without_each(board._Additive(scores.values), scores))
    additive = board._Additive(scores.values)
    monkeypatch.setattr(additive, "absent", np.ones((1, 1), bool))  # as if a score were missing
    monkeypatch.setattr(additive, "means", lambda shares, out: shares @ additive.filled)
    by_model = list(board._without_each(additive, scores))
    assert [(each.task, each.first) for each in complete] == [(each.task, each.first) for each in by_model]
    np.testing.assert_allclose([each.lead for each in complete], [each.lead for each in by_model], rtol=1e-12)
