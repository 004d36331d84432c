"""Leaderboards: ranks that systems may have, tiers, P(best), missing cells, weights, and combined effects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats import meta_analysis

import cranfield as cf
from cranfield.errors import InputError, RequestError
from cranfield.methods.comparison.tukey import critical_range
from cranfield.methods.meta_analysis import combine_effects, make_board
from cranfield.scores import ScoreTable
from cranfield.scores.score_files import read_board


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
    board = make_board(scores, test=test, correct=correct, resamples=100)
    assert (len(board.systems), len(board.tasks)) == (183, 41)
    assert board.comparison.significant_pairs == pairs
    assert len(board.comparison.top_group) - 1 == others
    assert board.scores == pytest.approx([scores.mean()[name] for name in board.systems])
    assert board.rank_upper[0] == others + 1  # none of the others is better, and all but these are worse


def test_a_folder_of_mtebs_results_has_the_scores_of_the_board(shared: Path, kept: Path) -> None:
    board = cf.read_scores(kept / "data" / "mteb" / "mteb_eng_v2.csv.gz")
    found = cf.leaderboard(shared / "data" / "mteb" / "results").boards["main_score"]
    assert len(found.systems) == 8
    folder = read_board(str(shared / "data" / "mteb" / "results"))
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
    board = make_board(table(simulated(1)))
    found = board.comparison
    for at in range(8):
        better = sum(
            1
            for a, b, yes in zip(found.first, found.second, found.significant, strict=True)
            if yes and b == at and a < b
        )
        assert board.rank_lower[at] == 1 + better
    assert ((board.rank_lower <= board.ranks) & (board.ranks <= board.rank_upper)).all()
    assert board.p_best.sum() == pytest.approx(1)
    assert (np.diff(board.tier) >= 0).all()
    assert board.tier[0] == 1


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.03])
def test_true_ranks_lie_within_the_given_ones(gap: float) -> None:
    """All ranks at once, in 300 boards; equal systems may have any of their ranks."""
    wrong = 0
    for seed in range(300):
        board = make_board(table(simulated(seed, tasks=20, systems=5, gap=gap)), test="tukey", resamples=100)
        truth = {f"s{at}": (1, 5) if gap == 0 else (5 - at, 5 - at) for at in range(5)}
        wrong += any(
            not (low <= truth[name][1] and truth[name][0] <= high) or (gap == 0 and (low > 1 or high < 5))
            for name, low, high in zip(board.systems, board.rank_lower, board.rank_upper, strict=True)
        )
    assert wrong <= stats.binom.ppf(0.9999, 300, 0.05)


def test_the_task_that_decides_is_named() -> None:
    values = np.full((6, 3), 0.5)
    values[:, 0] += 0.01
    values[2, 1] += 0.4
    board = make_board(table(values + np.random.default_rng(1).normal(0, 1e-4, values.shape)))
    assert board.systems[0] == "s1"
    assert [(each.task, each.first) for each in board.decisive] == [("t2", "s0")]


def test_lower_scores_are_better_for_costs() -> None:
    values = simulated(3)
    up, down = make_board(table(values)), make_board(table(values), lower_is_better=True)
    assert down.systems == up.systems[::-1]
    assert down.scores == pytest.approx(np.sort(values.mean(axis=0)))
    assert down.tier[-1] > 1
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
    assert make_board(values, test="permutation", resamples=200).comparison.resamples == 200
    assert make_board(values).comparison.resamples == 10_000
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
        assert board.shared[found.first[at], found.second[at]] == both.sum()
    assert "missing-cells" in [each.slug for each in board.warnings]


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
    with pytest.raises(RequestError, match="TASK=WEIGHT"):
        cf.leaderboard(table(values), weights=["t0=two"])


def test_the_answer_has_its_words() -> None:
    found = cf.leaderboard(table(simulated(8)))
    shown = json.loads(json.dumps(found.to_dict()))
    assert {"system", "score", "rank", "rank_lower", "rank_upper", "p_best", "tier"} <= set(shown["rows"][0])
    assert shown["significant_pairs"] == found.boards["AP"].comparison.significant_pairs
    assert shown["top_group"][0] == shown["rows"][0]["system"]
    assert "is first of 8 on 30 tasks" in found.summary()
    unadjusted = cf.leaderboard(table(simulated(8)), test="t", correct="none").to_dict()
    assert "ranks-apart" in [each["kind"] for each in unadjusted["warnings"]]


# --- Friedman and Nemenyi


def test_friedmans_test_is_scipys() -> None:
    values = simulated(9).round(2)  # with ties
    found = make_board(table(values)).friedman
    assert found is not None
    oracle = stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(oracle.statistic)
    assert found.p_value == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize(
    ("models", "printed"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (10, 3.164)],
)
def test_nemenyis_critical_values_are_those_printed(models: int, printed: float) -> None:
    """Demšar 2006, Table 5 (a), α = 0.05."""
    assert critical_range(0.05, models, np.inf) / np.sqrt(2) == pytest.approx(printed, abs=1e-3)


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
    assert found.random_error == pytest.approx(other.sd_eff_w_re_hksj, rel=rel)


def test_paule_and_mandels_variance_solves_their_equation() -> None:
    rng = np.random.default_rng(1)
    effects, variances = rng.normal(0.03, 0.05, 6), rng.uniform(1e-4, 9e-4, 6)
    found = combine_effects(effects, variances)
    spread = np.square(effects - found.random) / (variances + found.tau2)
    assert spread.sum() == pytest.approx(5, rel=1e-12)


def test_effects_that_agree_have_no_variance_between_them() -> None:
    found = combine_effects(np.array([0.05, 0.05, 0.051]), np.full(3, 1e-3))
    assert (found.tau2, found.i2) == (0.0, 0.0)
    assert found.random == pytest.approx(found.fixed)
    with pytest.raises(InputError, match="two collections or more"):
        combine_effects(np.array([0.1]), np.array([0.1]))
    with pytest.raises(InputError, match="no variance"):
        combine_effects(np.array([0.1, 0.2]), np.array([0.1, 0.0]))
