"""Budgets: pools of several depths, designs of equal power, what a budget affords, pairs of runs, reusability."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner, Result

import cranfield
from cranfield.cli.app import app
from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.formats.problems import Problem
from cranfield.methods.design import Design
from cranfield.methods.pooling import (
    DepthStudy,
    PoolScores,
    Prices,
    Simulation,
    depth_study,
    pair_study,
    pool_designs,
    reusability,
    write_pools,
)
from cranfield.methods.pooling.costs import on_frontier
from cranfield.methods.pooling.depths import _systems_matter, pool_sizes
from cranfield.methods.pooling.simulated_power import SAME_POWER
from cranfield.methods.variance import estimate_variance
from cranfield.methods.variance.components import squares
from cranfield.scores.evaluation import score_collection
from cranfield.stats.kendall import kendall_tau
from cranfield.types import Array
from designs import aim, detectable_difference

Write = Callable[[str, str | bytes], str]


@pytest.fixture(scope="module")
def demo(example: Path) -> Collection:
    return cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt", teams=example / "teams.tsv"
    )


@pytest.fixture(scope="module")
def study(demo: Collection) -> DepthStudy:
    return depth_study(demo, ["AP", "nERR@10", "Bpref"], depths=[2, 5, 10])


# --- depths


def test_every_depth_is_scored_as_its_pool_is(demo: Collection, study: DepthStudy) -> None:
    assert study.depths == (2, 5, 10, 20)
    for measure in study.measures:
        for point in study.of(measure):
            pool = demo.pool(point.depth)
            table = score_collection(pool, measure).of()[pool.relevant > 0]
            parts = squares(table)
            assert point.variance == point.residual == pytest.approx(float(parts.residual), rel=1e-12)
            system = float(parts.between_systems - parts.residual) / len(table)
            assert point.system_variance == pytest.approx(system, rel=1e-12)
            assert point.signal_to_noise == pytest.approx(system / float(parts.residual), rel=1e-12)
            assert point.judged == sum(grade >= 0 for *_, grade in pool.judgments()) / 40
            assert point.lost == (pool.relevant == 0).sum()
            assert point.lower < point.variance < point.upper


def test_the_deepest_pool_is_the_judgments_as_they_are(demo: Collection, study: DepthStudy) -> None:
    last = study.of("AP")[-1]
    assert last.full
    assert not study.of("AP")[0].full
    assert last.judged == len(demo.arrays["grade"]) / 40
    whole = estimate_variance(score_collection(demo, "AP")).get("residual")
    assert (last.variance, last.lower, last.upper) == pytest.approx((whole.variance, whole.lower, whole.upper))
    two_way = depth_study(demo, "AP", depths=[5], estimate="two-way").of("AP")[-1]
    whole = estimate_variance(score_collection(demo, "AP")).get("two-way")
    assert (two_way.variance, two_way.lower, two_way.upper) == pytest.approx((whole.variance, whole.lower, whole.upper))


def test_coverage_is_the_judged_share_of_what_all_runs_pooled_would_hold(demo: Collection, study: DepthStudy) -> None:
    point = study.of("AP")[1]
    pooled, judged = 0, {(topic, document) for topic, document, grade in demo.judgments() if grade >= 0}
    inside = 0
    for topic in demo.topics:
        documents = {d for system in demo.systems for d in demo.ranking(system, topic)[:5]}
        pooled += len(documents)
        inside += sum((topic, document) in judged for document in documents)
    assert pool_sizes(demo, [5]).tolist() == [pooled]
    assert point.coverage == pytest.approx(inside / pooled)
    assert point.coverage < 1  # one team came too late for the pool


def test_collections_are_pooled_by_their_topics_less_one(demo: Collection, tmp_path: Path) -> None:
    cranfield.write_example(tmp_path, seed=8, topics=15)
    other = cranfield.read_collection(tmp_path / "runs", tmp_path / "qrels.txt")
    both = depth_study({"a": demo, "b": other}, "AP", depths=[5])
    tables = {"a": score_collection(demo, "AP"), "b": score_collection(other, "AP")}
    if both.depths[-1] == demo.pool_depth == other.pool_depth:
        pooled, last = estimate_variance(tables).get("residual"), both.of("AP")[-1]
        assert (last.variance, last.lower, last.upper) == pytest.approx((pooled.variance, pooled.lower, pooled.upper))
    alone = [depth_study(each, "AP", depths=[5]).of("AP")[0] for each in (demo, other)]
    expected = (39 * alone[0].variance + 14 * alone[1].variance) / 53  # S14 Eq. 8
    assert both.of("AP")[0].variance == pytest.approx(expected)
    assert both.of("AP")[0].judged == pytest.approx((40 * alone[0].judged + 15 * alone[1].judged) / 55)


def test_topics_that_lose_their_relevant_documents_are_dropped_and_counted(write: Write) -> None:
    run = "".join(f"{t} Q0 d{at} {at} {9 - at} a\n" for t in (1, 2, 3) for at in range(1, 5))
    other = "".join(f"{t} Q0 d{at} {at} {9 - at} b\n" for t in (1, 2, 3) for at in (4, 1, 2, 3))
    qrels = write("qrels", "1 0 d1 1\n2 0 d1 1\n3 0 d1 0\n1 0 d2 0\n3 0 d2 1\n2 0 d3 1\n2 0 d4 0\n")
    collection = cranfield.read_collection([write("a", run), write("b", other)], qrels)
    assert [point.lost for point in depth_study(collection, "AP", depths=[1]).of("AP")] == [1, 0]
    lonely = cranfield.read_collection(
        [write("a", run), write("b", other)], write("q", "1 0 d1 1\n2 0 d2 1\n2 0 d1 0\n")
    )
    with pytest.raises(RequestError, match="fewer than two topics"):
        depth_study(lonely, "AP", depths=[1])


def test_documents_no_run_retrieved_are_in_the_whole_alone_and_said(write: Write) -> None:
    runs = [write(name, f"1 Q0 d1 1 2 {name}\n1 Q0 {name} 2 1 {name}\n2 Q0 d1 1 2 {name}\n") for name in "ab"]
    qrels = write("qrels", "1 0 d1 1\n1 0 a 1\n1 0 d9 1\n2 0 d1 1\n")
    study = depth_study(cranfield.read_collection(runs, qrels), "AP", depths=[1])
    assert [point.judged for point in study.of("AP")] == [1.0, 2.0]
    (said,) = [problem for problem in study.warnings if isinstance(problem, Problem)]
    assert said.slug == "contributor-unknown"
    assert said.count == 1
    assert "1 of 4 were retrieved by no run" in said.detail


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"depths": [0]}, "has no documents"),
        ({"depths": [101]}, "deeper than the runs"),
        ({"depths": [21]}, "the judgments go no deeper than 20"),
        ({"estimate": "guess"}, "no estimate «guess»"),
        ({"best": 1}, "the best 1 cannot be compared"),
        ({"best": 13}, "there are 12 runs, not 13"),
        ({"pair": ("aldgate1", "nobody")}, "there is no run «nobody»"),
        ({"pair": ("aldgate1", "aldgate1")}, "two different runs"),
        ({"pair": ("aldgate1", "barnhill1"), "best": 3}, "choose one of `best`, `pair`"),
    ],
)
def test_depths_that_make_no_sense_are_refused(demo: Collection, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        depth_study(demo, "AP", **asked)


def test_pools_are_written_as_qrels(demo: Collection, tmp_path: Path) -> None:
    written = write_pools(demo, tmp_path / "pools", [5, 10])
    assert [path.name for path in written] == ["depth-5.txt", "depth-10.txt"]
    assert len(written[0].read_text().splitlines()) == sum(grade >= 0 for *_, grade in demo.pool(5).judgments())
    with pytest.raises(RequestError, match="deeper than the runs"):
        write_pools(demo, tmp_path / "none", [5, 1000])
    assert not (tmp_path / "none").exists()


# --- designs


def test_designs_cost_what_their_topics_and_judgments_do(study: DepthStudy) -> None:
    target = aim("difference", 0.1)
    budget = pool_designs(study, target, prices=Prices(0.5, 20))
    for design in budget.designs:
        assert design.topics is not None
        signal = study.signals(design.measure)[study.depths.index(design.depth)]
        assert design.formula_topics == target.topics(np.array([design.variance / signal**2]))[0]
        assert design.judgments == pytest.approx(design.topics * design.judged)
        assert design.cost == pytest.approx(design.topics * (0.5 * design.judged + 20))
    for measure in study.measures:
        (best,) = [design for design in budget.of(measure) if design.best]
        assert best.cost == min(design.cost for design in budget.of(measure) if design.same_power)
        assert budget.best(measure) is best
    assert budget.to_frame("polars").shape == (12, 28)


def test_dear_topics_make_deep_pools_pay() -> None:
    study = DepthStudy.from_table({5: (50, {"AP": 0.08}), 100: (700, {"AP": 0.04})})
    shallow, deep = (
        pool_designs(study, aim(method="exact"), rule="raw-difference", prices=Prices(1, price)).best("AP")
        for price in (0, 10_000)
    )
    assert shallow is not None
    assert deep is not None
    assert (shallow.depth, deep.depth) == (5, 100)


def test_the_frontier_leaves_out_what_another_design_beats() -> None:
    nan = float("nan")
    topics, judgments = np.array([10.0, 9.0, 9.0, 8.0, nan]), np.array([5.0, 6.0, 7.0, 5.5, nan])
    assert on_frontier(topics, judgments).tolist() == [True, False, False, True, False]


def test_a_budget_pays_for_whole_topics_and_gives_what_they_detect(study: DepthStudy) -> None:
    for target in (aim(method="blocked"), aim("difference", None), aim("width", None)):
        found = pool_designs(study, target, budget=5000, prices=Prices(1, 10))
        for design, signal in zip(found.of("AP"), study.signals("AP"), strict=True):
            assert design.topics == int(5000 / (design.judged + 10))
            assert design.cost <= 5000 < design.cost + design.judged + 10
            there = target.detectable(np.array([design.topics]), np.array([design.variance]))[
                0
            ]  # in scores of this depth
            assert design.detectable == pytest.approx(there / signal, rel=1e-6)
            assert design.detectable_low < design.detectable < design.detectable_high
        best = found.best("AP")
        assert best is not None
        if not found.is_simulated:
            assert best.detectable == min(design.detectable for design in found.of("AP"))


def test_a_budget_too_small_for_two_topics_detects_nothing(study: DepthStudy) -> None:
    found = pool_designs(study, budget=30)
    assert all(np.isnan(design.detectable) for design in found.designs if (design.topics or 0) < 2)
    assert "fewer than two topics" in pool_designs(study, budget=1).summary()
    assert "1 judgments pay" in pool_designs(study, budget=1, prices=Prices(topic=0)).summary()
    with pytest.raises(RequestError, match="a budget cannot be 0"):
        pool_designs(study, budget=0)


@pytest.mark.parametrize("rule", ["equal-power", "raw-difference"])
def test_the_cost_of_a_design_pays_for_its_goal(study: DepthStudy, rule: str) -> None:
    target = aim("min_range", 0.1, method="blocked")
    for design in pool_designs(study, target, rule=rule).of("AP"):
        same = pool_designs(study, target, budget=design.cost + 1e-6, rule=rule)
        (afforded,) = [each for each in same.of("AP") if each.depth == design.depth]
        assert afforded.topics == design.topics
        assert afforded.detectable <= 0.1 + 1e-9


def test_the_formula_has_equal_power_for_the_same_systems(study: DepthStudy) -> None:
    """At depth d the systems' differences are s times those at full depth, and n topics find s·δ there."""
    target = aim("difference", 0.02)
    designs = pool_designs(study, target).of("AP")
    for design, signal in zip(designs, study.signals("AP"), strict=True):
        assert design.formula_topics is not None
        shrunk = aim("difference", 0.02 * signal)
        assert design.formula_topics == shrunk.topics(np.array([design.variance]))[0]
        # Large n: equal power is equal reliability, and the ratio of topics is that of σ_s²/σ_e².
        assert design.relative_topics == pytest.approx(designs[-1].signal_to_noise / design.signal_to_noise)
        assert design.formula_topics / (designs[-1].topics or 0) == pytest.approx(design.relative_topics, rel=0.02)


def test_sakais_rule_looks_at_the_variance_alone(study: DepthStudy) -> None:
    target = aim("difference", 0.02)
    designs = pool_designs(study, target, rule="raw-difference").of("AP")
    for design in designs:
        assert design.topics == target.topics(np.array([design.variance]))[0]
        assert design.relative_topics == pytest.approx(design.variance / designs[-1].variance)
    with pytest.raises(RequestError, match="no rule «magic»"):
        pool_designs(study, target, rule="magic")
    with pytest.raises(RequestError, match="variance between systems is not known"):
        pool_designs(DepthStudy.from_table({5: (50, {"AP": 0.08})}), target)


def test_the_best_are_best_at_full_depth_and_alone_decide(demo: Collection) -> None:
    found = depth_study(demo, "AP", depths=[5], best=4)
    means = score_collection(demo, "AP").of().mean(axis=0)
    chosen = np.sort(np.argsort(-means)[:4])
    for point, pool in zip(found.of("AP"), (demo.pool(5), demo), strict=True):
        assert point.residual == pytest.approx(
            float(squares(score_collection(pool, "AP").of()[:, chosen]).residual), rel=1e-12
        )
    assert found.chosen("AP") == "the best 4 of 12 runs by mean AP at full depth"
    assert "for the best 4 of 12 runs" in pool_designs(found, aim()).summary()


def test_a_pairs_signal_is_its_mean_difference_over_the_sd_of_its_differences(demo: Collection) -> None:
    found = depth_study(demo, "AP", depths=[5], pair=("cleverdon1", "aldgate1"))
    effects = []
    for point, pool in zip(found.of("AP"), (demo.pool(5), demo), strict=True):
        gaps = score_collection(pool, "AP").select(systems=["cleverdon1", "aldgate1"]).of() @ [1, -1]
        effects.append(gaps.mean() / gaps.std(ddof=1))
        assert point.difference == pytest.approx(gaps.mean())
        assert point.signal_to_noise == pytest.approx(effects[-1] ** 2)
    designs = pool_designs(found, aim("difference", 0.03, systems=2)).of("AP")
    assert designs[0].relative_topics == pytest.approx((effects[1] / effects[0]) ** 2)


def test_a_pair_whose_order_a_pool_reverses_has_no_design_there(demo: Collection) -> None:
    found = depth_study(demo, "AP", depths=[5], pair=("cleverdon1", "aldgate1"))
    shallow, deep = found.points
    ((at_five, full),) = found.scores["AP"]
    scores = {"AP": [[PoolScores(at_five.scores[:, ::-1], at_five.alive), full]]}
    turned = replace(found, points=(replace(shallow, difference=-shallow.difference), deep), scores=scores)
    designs = pool_designs(turned, aim("difference", 0.05)).of("AP")
    assert [design.topics is None for design in designs] == [True, False]


def test_all_systems_are_cautioned_about_where_the_best_half_needs_more() -> None:
    rng = np.random.default_rng(5)
    quality, topic = np.concatenate([np.linspace(0.30, 0.34, 10), np.linspace(0.02, 0.2, 10)]), rng.normal(size=(60, 1))
    deep = quality + 0.05 * topic + 0.02 * rng.normal(size=(60, 20))
    shallow = deep - 0.7 * (quality - 0.32) * (quality > 0.25)
    (said,) = _systems_matter("AP", [5, 100], [[shallow, deep]])
    assert said.slug == "depth-and-systems"
    assert "among the best 10 runs, depth 5 takes" in said.what
    assert not _systems_matter("AP", [5, 100], [[deep, deep]])
    assert not _systems_matter("AP", [5, 100], [[shallow[:, ::2], deep[:, ::2]]])  # too few to say


@pytest.mark.parametrize(("prices", "word"), [((-1, 0), "make no sense"), ((0, 0), "make no sense")])
def test_prices_that_make_no_sense_are_refused(prices: tuple[float, float], word: str) -> None:
    with pytest.raises(RequestError, match=word):
        Prices(*prices)


# --- simulated power


def found_by_hand(pools: list[Array], difference: float, topics: int, draws: int, is_family: bool) -> list[float]:
    """At every depth, the share of draws in which t finds the first pair, moved to one difference at full depth."""
    rng, shares, gap = np.random.default_rng(8), [], float((pools[-1][:, 0] - pools[-1][:, 1]).mean())
    for pool in pools:
        moved = (pool[:, 0] - pool[:, 1]).mean() * (difference / gap - 1)
        found = 0
        for _ in range(draws):
            sample = pool[rng.integers(len(pool), size=topics)]
            pairs = [(a, b) for a in range(pool.shape[1]) for b in range(a)]
            others = sorted(scipy.stats.ttest_rel(sample[:, a], sample[:, b]).pvalue for a, b in pairs)
            steps = [0.05 / (len(others) - at) for at in range(len(others))] if is_family else [0.05]
            level = next((step for p, step in zip(others, steps, strict=False) if p > step), 0.05)
            test = scipy.stats.ttest_rel(sample[:, 0] + moved, sample[:, 1])
            found += bool(test.pvalue <= level and test.statistic > 0)
        shares.append(found / draws)
    return shares


@pytest.mark.parametrize("systems", [2, 4])
def test_simulated_power_is_the_share_of_draws_that_the_test_finds(systems: int) -> None:
    rng = np.random.default_rng(4)
    quality = np.array([0.4, 0.37, 0.2, 0.1])[:systems]
    deep = rng.normal(0, 0.12, size=(40, systems))
    deep += quality - deep.mean(axis=0)
    pools = [deep * 0.7 + rng.normal(0, 0.05, deep.shape), deep]
    gap = float(quality[0] - quality[1])
    design = Design(systems=systems, test="t" if systems == 2 else "holm")
    scored = [PoolScores(pool, np.ones(40, bool)) for pool in pools]
    ours = Simulation([scored], design, gap, seed=3)
    assert ours.pairs[0].one.tolist() == [0]  # no other pair is near
    powers = [ours.power(at, 60) for at in (0, 1)]
    assert powers == pytest.approx(found_by_hand(pools, gap, 60, 600, systems > 2), abs=0.06)
    assert powers == [Simulation([scored], design, gap, seed=3).power(at, 60) for at in (0, 1)]


@pytest.mark.parametrize("test", ["t", "holm", "max-t", "tukey", "dunnett"])
def test_more_topics_have_more_simulated_power_under_every_test(study: DepthStudy, test: str) -> None:
    simulation = Simulation(study.scores["AP"], Design(systems=12, test=test), 0.05)
    for at in (0, len(study.depths) - 1):
        powers = [simulation.power(at, n) for n in (20, 60, 180, 540)]
        assert powers == sorted(powers)
        assert powers[-1] <= simulation.limit(at) + 0.01


def test_topics_without_a_relevant_document_find_nothing() -> None:
    deep = np.random.default_rng(1).normal([0.4, 0.3], 0.1, size=(30, 2))
    alive = np.arange(30) < 15
    pools = [PoolScores(np.where(alive[:, np.newaxis], deep, 0.0), alive), PoolScores(deep, np.ones(30, bool))]
    simulation = Simulation([pools], Design(systems=2, test="t"), 0.1)
    wanted = simulation.power(1, 10)
    assert simulation.power(0, 10) < wanted - 0.1
    assert 15 <= (simulation.matching(0, wanted, 10) or 0) <= 25  # half of the topics are lost


@pytest.mark.parametrize("best", [None, 6])
def test_designs_that_are_called_equal_have_equal_power_with_other_draws(demo: Collection, best: int | None) -> None:
    """The formula alone misses by more: its topics for the shallowest pool find fewer pairs."""
    study = depth_study(demo, "AP", depths=[2, 5, 10], best=best)
    target = aim("difference", 0.05, systems=best or 12)
    designs = pool_designs(study, target).of("AP")
    again = Simulation(study.scores["AP"], target.design, 0.05, seed=77)
    deepest = again.power(len(designs) - 1, designs[-1].topics or 0)
    assert designs[-1].topics == designs[-1].formula_topics
    for at, design in enumerate(designs):
        assert design.same_power
        assert again.power(at, design.topics or 0) == pytest.approx(deepest, abs=SAME_POWER)
    assert abs(again.power(0, designs[0].formula_topics or 0) - deepest) > SAME_POWER


def test_designs_without_equal_power_are_not_called_equal() -> None:
    """A pool that reverses every third pair finds them with no number of topics."""
    rng = np.random.default_rng(2)
    deep = rng.normal(np.linspace(0.2, 0.8, 13), 0.1, size=(50, 13))
    shallow = deep - deep.mean(axis=0) + rng.permuted(deep.mean(axis=0))
    table = {5: (50, {"AP": 0.006}), 100: (700, {"AP": 0.005})}
    study = DepthStudy.from_table(table)
    points = tuple(replace(point, system_variance=0.04, residual=0.005) for point in study.points)
    pools = [PoolScores(pool, np.ones(50, bool)) for pool in (shallow, deep)]
    found = pool_designs(replace(study, points=points, scores={"AP": [pools]}), aim("difference", 0.05, systems=13))
    assert [design.same_power for design in found.designs] == [False, True]
    assert [design.best for design in found.designs] == [False, True]
    assert "same power" not in found.summary()


# --- pairs


def pair_by_hand(demo: Collection, a: str, b: str, depth: int) -> tuple[float, list[float]]:
    """Documents to assess a topic, and AP differences with what the two runs found as all there is."""
    grades = {(topic, document): grade for topic, document, grade in demo.judgments()}
    documents, gaps = 0, []
    for topic in demo.topics:
        tops = [demo.ranking(system, topic)[:depth] for system in (a, b)]
        pool = set(tops[0]) | set(tops[1])
        documents += len(pool)
        relevant = {document for document in pool if grades.get((topic, document), 0) > 0}
        scores = []
        for top in tops:
            ranks = [rank for rank, document in enumerate(top, start=1) if document in relevant]
            scores.append(sum(at / rank for at, rank in enumerate(ranks, start=1)) / max(1, len(relevant)))
        gaps.append(scores[0] - scores[1])
    return documents / len(demo.topics), gaps


def test_pairs_are_scored_with_what_the_two_runs_found(demo: Collection) -> None:
    study = pair_study(demo, "AP", depths=[3, 10], pairs=6, budgets=[200, 2000], seed=4)
    by_hand = {depth: [pair_by_hand(demo, a, b, depth) for a, b in study.pairs] for depth in (3, 10)}
    for depth in (3, 10):
        found = study.at(depth)
        assert found.documents == pytest.approx(np.mean([documents for documents, _ in by_hand[depth]]))
        expected = [abs(np.mean(gaps)) / np.std(gaps, ddof=1) for _, gaps in by_hand[depth]]
        np.testing.assert_allclose(found.effect_sizes, expected, rtol=1e-12)
        least = detectable_difference(topics=np.floor(np.array([200, 2000]) / found.documents))
        shares = [(found.effect_sizes >= es).mean() for es in least]
        np.testing.assert_allclose(found.detectable, shares)


def test_pairs_are_the_same_on_any_number_of_workers_and_with_measures_without_a_recipe(demo: Collection) -> None:
    import numba  # noqa: F401  # with the compiler loaded, loops are compiled and spread over threads

    for measure in ("nDCG@10", "Bpref"):
        one, many = (pair_study(demo, measure, depths=[5, 20], pairs=9, seed=2, workers=workers) for workers in (1, 4))
        for depth in (5, 20):
            np.testing.assert_array_equal(one.at(depth).effect_sizes, many.at(depth).effect_sizes)
    assert len(pair_study(demo, depths=[5], pairs=None).pairs) == 21


def test_two_runs_that_never_differ_have_no_effect_size_and_are_never_detected(write: Write) -> None:
    run = "1 Q0 d1 1 2 a\n2 Q0 d1 1 2 a\n"
    qrels = write("qrels", "1 0 d1 1\n2 0 d1 1\n")
    twins = cranfield.read_collection([write("a", run), write("b", run.replace("a\n", "b\n"))], qrels)
    found = pair_study(twins, depths=[1], budgets=[1, 10_000]).at(1)
    assert np.isnan(found.effect_sizes).all()
    assert found.detectable.tolist() == [0.0, 0.0]
    assert found.documents == 1.0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"depths": [21]}, "the judgments go no deeper than 20"),
        ({"pairs": -1}, "-1 pairs"),
        ({"budgets": [0]}, "one judgment or more"),
        ({"measure": ["AP", "RR"]}, "one measure at a time"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(demo: Collection, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        pair_study(demo, **asked)


# --- reuse


def test_a_team_left_out_is_scored_without_what_it_alone_contributed(demo: Collection) -> None:
    found, at_ten = reusability(demo, ["AP", "P@10"], depths=[10])
    assert (found.measure, at_ten.measure) == ("AP", "P@10")
    pool = demo.pool(10)
    whole = score_collection(pool, "AP").of().mean(axis=0)
    own = whole.copy()
    for team in found.teams:
        kept = demo.contributors(10).kept([team.team])
        reduced = pool.keeping(kept)
        means = score_collection(reduced, "AP").of().mean(axis=0)
        mine = [at for at, its in enumerate(demo.teams or ()) if its == team.team]
        own[mine] = means[mine]
        assert team.tau == pytest.approx(kendall_tau(whole, means))
        assert team.drop == pytest.approx(max(whole[mine] - means[mine]))
        assert team.unjudged == pytest.approx(1 - score_collection(reduced, "Judged@10").of()[:, mine].mean())
        assert team.runs == len(mine)
    assert found.own_tau == pytest.approx(kendall_tau(whole, own))
    assert found.to_dict()["drop"] == found.worst.drop == max(team.drop for team in found.teams)


def test_a_topic_without_a_list_has_nothing_unjudged(write: Write) -> None:
    a, b = "1 Q0 d1 1 2 a\n", "1 Q0 d1 1 2 b\n2 Q0 d1 1 2 b\n"
    qrels = write("qrels", "1 0 d1 1\n2 0 d1 1\n")
    both = cranfield.read_collection([write("a", a), write("b", b)], qrels, teams={"a": "x", "b": "y"})
    (found,) = reusability(both, "AP")
    assert [team.unjudged for team in found.teams] == [0.0, 0.5]


def test_reuse_of_pools_deeper_than_the_judgments_is_refused(demo: Collection) -> None:
    with pytest.raises(RequestError, match="the judgments go no deeper than 20"):
        reusability(demo, "AP", depths=[50])


def test_reuse_needs_two_teams(write: Write) -> None:
    run, qrels = write("a", "1 Q0 d1 1 2 a\n"), write("qrels", "1 0 d1 1\n")
    with pytest.raises(RequestError, match="one team only"):
        reusability(cranfield.read_collection(run, qrels, teams={"a": "x"}))
    with pytest.raises(RequestError, match="not known which team"):
        reusability(cranfield.read_collection(run, qrels))


# --- the command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def files(example: Path) -> list[str]:
    return [str(example / "runs"), "--qrels", str(example / "qrels.txt"), "--teams", str(example / "teams.tsv")]


def answer(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_command_lists_designs_and_marks_the_cheapest(files: list[str]) -> None:
    found = answer("budget", *files, "-m", "AP", "-m", "nDCG", "-d", "5,10", "--width", "0.1", "--topic-price", "5")
    assert [(row["measure"], row["depth"]) for row in found["rows"]] == [
        (measure, depth) for measure in ("AP", "nDCG") for depth in (5, 10, 20)
    ]
    words = {"judged", "variance", "topics", "judgments", "cost", "best", "frontier", "coverage"}
    assert words <= set(found["rows"][0])
    assert sum(row["best"] for row in found["rows"]) == 2
    assert "are cheapest" in run("budget", *files, "-d", "5").stdout


def test_the_command_takes_a_budget(files: list[str]) -> None:
    found = answer("budget", *files, "--budget", "3000", "--difference", "0.05")
    assert found["inputs"]["budget"] == 3000
    assert found["estimate"] == "residual"
    assert {"detectable", "topics", "best"} <= set(found["rows"][0])
    assert "is found with power" in run("budget", *files, "--budget", "3000", "--difference", "0.05").stdout


def test_the_command_studies_pairs_and_reuse(files: list[str]) -> None:
    pairs = answer("budget", *files, "--pairs", "5", "--budget", "3000")
    assert {row["depth"] for row in pairs["rows"]} == {2, 5, 10, 20}
    assert 3000 in {row["judgments"] for row in pairs["rows"]}
    reuse = answer("budget", *files, "--reuse", "-d", "5,20")
    assert {(row["team"], row["depth"]) for row in reuse["teams"]} >= {("Aldgate", 5), ("Eskdale", 20)}
    assert [row["drop"] for row in reuse["reuse"]] == [row["drop"] for row in reuse["rows"]]
    both = answer("budget", *files, "--reuse", "-d", "5,20", "--budget", "3000", "--best", "6")
    assert both["teams"] == reuse["teams"]
    assert [row["topics"] for row in both["rows"]] == [
        int(3000 / (row["judged"] + 20)) for row in both["rows"]
    ]  # a topic costs 20


@pytest.mark.parametrize("extra", [[], ["--budget", "3000"], ["--pairs", "5"], ["--reuse"]])
def test_the_command_draws_every_answer(files: list[str], tmp_path: Path, extra: list[str]) -> None:
    path = tmp_path / "chart.svg"
    result = run("budget", *files, *extra, "--plot", str(path))
    assert result.exit_code == 0, result.exception
    assert "<svg" in path.read_text()


def test_the_command_takes_the_systems_to_distinguish(files: list[str]) -> None:
    best = answer("budget", *files, "-d", "5", "--best", "4", "--difference", "0.05")
    assert (best["inputs"]["best"], best["inputs"]["systems"]) == (4, 4)
    assert best["chosen"] == {"AP": "the best 4 of 12 runs by mean AP at full depth"}
    pair = answer("budget", *files, "-d", "5", "--pair", "cleverdon1, aldgate1")
    assert pair["inputs"]["pair"] == ["cleverdon1", "aldgate1"]
    assert (pair["inputs"]["systems"], pair["inputs"]["test"]) == (2, "t")
    assert pair["rows"][-1]["relative_topics"] == 1
    raw = answer("budget", *files, "-d", "5", "--rule", "raw-difference", "--min-range", "0.15", "--method", "sakai")
    assert (raw["rule"], raw["estimate"]) == ("raw-difference", "two-way")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--pair", "aldgate1"], "no pair of runs"),
        (["--pair", "aldgate1,barnhill1", "--min-range", "0.1"], "not a range"),
        (["--pair", "aldgate1,barnhill1", "--systems", "5"], "a pair has two systems"),
        (["--pair", "aldgate1,barnhill1", "-m", "AP", "-m", "RR"], "not the same in every measure"),
        (["--pairs", "4", "--reuse"], "`reuse` has no effect with `pairs`"),
        (["--difference", "0.1", "--pairs", "5"], "`difference` has no effect with `pairs`"),
        (["--width", "0.1", "--systems", "5"], "`systems` has no effect with `width`"),
        (["--difference", "0.1", "--systems", "5", "--test", "t"], '`systems` has no effect with `test="t"`'),
        (["--difference", "0.1", "--method", "sakai"], "`method` has no effect without `min_range`"),
        (["--min-range", "0.1", "--test", "tukey"], "`test` has no effect with `min_range`"),
        (["--min-range", "0.1", "--estimate", "within"], "does not go with the within variance"),
        (["--min-range", "0.1", "--estimate", "residual", "--method", "sakai"], "go with the residual variance"),
        (["--estimate", "percentile", "--difference", "0.1"], "no estimate «percentile»"),
        (["--rule", "magic"], "`rule` cannot be «magic»"),
    ],
)
def test_combinations_without_a_meaning_are_refused(files: list[str], flags: list[str], message: str) -> None:
    result = run("budget", *files, "-d", "5", *flags)
    assert isinstance(result.exception, RequestError)
    assert message in str(result.exception)


@pytest.mark.parametrize(
    "goal",
    [
        ["--min-range", "0.1", "--systems", "10"],
        ["--difference", "0.05"],
        ["--difference", "0.05", "--systems", "4", "--test", "tukey"],
        ["--difference", "0.05", "--test", "t"],
        ["--width", "0.1"],
    ],
)
def test_full_depth_and_all_teams_require_the_topics_that_size_does(files: list[str], goal: list[str]) -> None:
    """One goal on one data set has one number of topics."""
    size = answer("size", *files[:3], *goal)["rows"][0]
    deepest = answer("budget", *files, "-d", "5", *goal)["rows"][-1]
    pilot = answer("pilot", *files, "-k", "1", "-n", "10", "--trials", "2", *goal)
    assert deepest["full"]
    assert deepest["topics"] == pilot["measures"][0]["topics"] == size["topics"]
    assert (deepest["topics_low"], deepest["topics_high"]) == (size["topics_lower"], size["topics_upper"])


def test_the_command_pools_packed_collections_and_writes_pools(files: list[str], tmp_path: Path) -> None:
    packed = [str(tmp_path / f"{name}.cran") for name in "ab"]
    for path in packed:
        assert run("pack", *files, "-o", path).exit_code == 0
    both, alone = answer("budget", *packed, "-d", "5"), answer("budget", packed[0], "-d", "5")
    assert both["rows"][0]["variance"] == pytest.approx(alone["rows"][0]["variance"])
    assert isinstance(run("budget", *packed, "--reuse").exception, RequestError)
    assert run("budget", packed[0], "-d", "5,10", "--write-qrels", str(tmp_path / "q")).exit_code == 0
    assert {path.name for path in (tmp_path / "q").iterdir()} == {"depth-5.txt", "depth-10.txt"}


@pytest.mark.parametrize("face", ["--csv", "--md", "--latex"])
def test_the_command_has_its_other_faces(files: list[str], face: str) -> None:
    result = run("budget", *files, "-d", "5", face)
    assert result.exit_code == 0
    assert "judged" in result.stdout


def test_the_command_refuses_what_it_cannot_do(files: list[str]) -> None:
    assert "deeper than the runs" in str(run("budget", *files, "-d", "2000").exception)
    two = run("budget", *files, "--width", "0.1", "--min-range", "0.1")
    assert "`min_range` has no effect with `width`" in str(two.exception)
    assert "`price` must be at least 0" in str(run("budget", *files, "--price", "-1").exception)
    assert "not known which team" in str(run("budget", *files[:3], "--reuse").exception)


def test_runs_that_are_all_alike_have_no_order_and_no_design(write: Write) -> None:
    runs = [write(name, f"1 Q0 d1 1 2 {name}\n2 Q0 d1 1 2 {name}\n") for name in "ab"]
    files = [*runs, "--qrels", write("qrels", "1 0 d1 1\n2 0 d1 1\n"), "--teams", write("teams", "a x\nb y\n")]
    assert answer("budget", *files, "--reuse")["reuse"][0]["own_tau"] is None
    found = answer("budget", *files)
    assert found["rows"][0]["topics"] is None
    assert "No number of topics" in run("budget", *files).stdout
    assert "there is nothing to draw" in str(run("budget", *files, "--plot", "x.svg").exception)


@pytest.mark.parametrize("flag", [["--budget", "nan"], ["--price", "nan"], ["--topic-price", "inf"], ["-d", "2.5"]])
def test_numbers_that_are_none_are_refused(files: list[str], flag: list[str]) -> None:
    result = run("budget", *files, *flag)
    assert isinstance(result.exception, RequestError)


def test_pairs_take_one_measure(files: list[str]) -> None:
    assert "one measure at a time" in str(run("budget", *files, "--pairs", "3", "-m", "AP", "-m", "RR").exception)
