"""Designs with several scores per topic: components, numbers of topics, the cheapest design, and what they reach."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import by_flags
import cranfield as cf
from chart_rules import check_chart, marks
from cranfield.errors import CranfieldError, InputError, RequestError
from cranfield.methods.design import Design, Goal, Replicated, achieved
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.power_functions import satterthwaite
from cranfield.methods.design.replicates import plan_replicates
from cranfield.methods.design.request import Request
from cranfield.methods.design.solver import size
from cranfield.methods.sharding.anova import decompose, nested_anova, sampled_replicates
from cranfield.methods.variance.replicate_components import (
    Components,
    cluster_components,
    nested_components,
    shared_components,
    variation_components,
)
from cranfield.methods.verification import verify
from cranfield.methods.verification.designs import read_designs
from cranfield.scores import ScoreTable
from cranfield.types import Array
from designs import size_for_difference
from sizes import sized

DRAWS = sized(8_000, 40_000)
GIVEN: dict[str, Any] = {"difference": 0.05, "between": 0.0116, "within": 0.0062}
COMPONENTS: dict[str, Any] = {"shared_variance": 0.0, "repeat_variance": 0.0, **GIVEN, "alpha": 0.05, "power": 0.8}


def rows_of(**given: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = by_flags.size(**{**GIVEN, **given}).to_dict()["rows"]
    return rows


def best_of(**given: Any) -> dict[str, Any]:
    (best,) = [row for row in rows_of(**given) if row["best"]]
    return best


# --- components


def test_components_of_query_variations_are_those_of_the_published_data(
    query_variations: list[tuple[str, float]],
) -> None:
    scores = np.array([[score] for _, score in query_variations])
    found = nested_components(scores, np.array([topic for topic, _ in query_variations]))
    assert (len(scores), found.units) == (4611, 100)
    assert round(found.components.between, 4) == 0.0116
    assert round(found.components.within, 4) == 0.0062


def test_components_of_unequal_units_follow_searles_n0_and_are_unbiased() -> None:
    rng = np.random.default_rng(1)
    counts = np.tile([1, 2, 3, 8], 5)
    units = np.repeat(np.arange(20), counts)
    found = []
    for _ in range(2000):
        values = rng.normal(0, 0.3, 20)[units] + rng.normal(0, 0.2, len(units))
        estimate = nested_components(values[:, np.newaxis], units)
        left_out = nested_components(np.delete(values, 0)[:, np.newaxis], np.delete(units, 0))
        found.append([estimate.components.between, estimate.components.within])
        assert estimate.left_out_units[0, 1] == pytest.approx(left_out.components.within)
        assert estimate.left_out_units[0, 0] == pytest.approx(left_out.components.between)
    assert estimate.items == pytest.approx((70 - np.square(counts).sum() / 70) / 19)
    np.testing.assert_allclose(np.mean(found, axis=0), [0.09, 0.04], rtol=0.03)


def test_components_of_several_systems_are_the_mean_of_those_of_their_pairs() -> None:
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(12), 4)
    scores = rng.normal(0, 1, (12, 4))[units] + rng.normal(0, 1, (48, 4))
    pairs = [nested_components(scores[:, [a]] - scores[:, [b]], units).components for a in range(4) for b in range(a)]
    found = cluster_components(scores, units).components
    assert found.between == pytest.approx(np.mean([each.between for each in pairs]))
    assert found.within == pytest.approx(np.mean([each.within for each in pairs]))


@pytest.mark.parametrize("nested", [False, True])
def test_components_of_shared_replicates_are_those_of_the_error_term_that_is_tested(nested: bool) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 1, (15, 4, 5)) + rng.normal(0, 2, (15, 4, 1)) + rng.normal(0, 1, (1, 4, 5))
    found = shared_components(scores, nested=nested)
    each = found.components
    rest = each.repeat_variance if nested else each.within
    variance, df = satterthwaite(
        *(np.asarray(float(number)) for number in (15, 5, 4)),
        by_topic=np.asarray(each.between),
        shared=np.asarray(each.shared_variance),
        rest=np.asarray(rest),
        nested=nested,
    )
    error = sampled_replicates(decompose(scores), nested=nested)
    assert float(variance) == pytest.approx(2 * error.ms / 75)
    assert float(df) == pytest.approx(error.df)
    if nested:
        assert rest == pytest.approx(2 * nested_anova(decompose(scores)).error.ms)
    without = [shared_components(np.delete(scores, at, axis=0), nested=nested).components for at in range(15)]
    np.testing.assert_allclose(found.left_out_units[:, 2], [one.shared_variance for one in without])
    np.testing.assert_allclose(found.left_out_units[:, 0], [one.between for one in without])


def test_variations_may_differ_in_number_between_topics() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (10, 2, 5)) + rng.normal(0, 1, (10, 2, 1))
    scores[3:, :, 3:] = np.nan
    gaps = scores[:, 0] - scores[:, 1]
    there = np.isfinite(gaps)
    alone = nested_components(gaps[there][:, np.newaxis], np.nonzero(there)[0])
    found = variation_components(scores)
    assert found.components.between == pytest.approx(alone.components.between)
    assert found.items == pytest.approx(alone.items)


@pytest.mark.parametrize("kind", ["variations", "prompts", "seeds"])
def test_the_interval_of_a_variance_covers_it(kind: str) -> None:
    """In 300 pilots of 30 topics; a share outside of .05 has a standard error of .013."""
    rng = np.random.default_rng(8)
    counts = {"items": 1, "repeats": 5} if kind == "seeds" else {"items": 8, "repeats": 1}
    weights = Replicated(structure=kind, **counts).weights(50)
    rest = [0.0, 0.0064] if kind == "seeds" else [0.0064, 0.0]
    truth = float(weights @ [0.01, rest[0], 0.0 if kind == "variations" else 0.0012, rest[1]])
    outside = 0
    for _ in range(300):
        scores = rng.normal(0, 0.005**0.5, (30, 3, 1)) + rng.normal(0, 0.0032**0.5, (30, 3, 6))
        if kind == "variations":
            found = variation_components(scores)
        else:
            scores += rng.normal(0, 0.0006**0.5, (1, 3, 6))
            found = shared_components(scores, nested=kind == "seeds")
        df = found.effective_df(weights)
        value = float(weights @ list(found.components.to_dict().values()))
        ends = value * df / special.chdtri(df, np.array([0.025, 0.975]))
        outside += not ends[0] <= truth <= ends[1]
    assert outside / 300 < 0.09


def test_a_negative_estimate_is_zero_and_named() -> None:
    values = np.array([[0.0], [1.0], [0.0], [1.0], [0.1], [0.9]])
    found = nested_components(values, np.array([1, 1, 2, 2, 3, 3]))
    assert found.components.between == 0.0
    assert [caution.slug for caution in found.cautions("AP")] == ["component-negative"]
    assert "`between` of AP" in found.cautions("AP")[0].what


def test_one_item_per_unit_has_no_components() -> None:
    with pytest.raises(RequestError, match="one item"):
        nested_components(np.arange(5.0)[:, np.newaxis], np.arange(5))
    with pytest.raises(RequestError, match="one unit"):
        nested_components(np.arange(5.0)[:, np.newaxis], np.zeros(5))


# --- numbers of topics


def test_one_item_and_one_repeat_are_the_paired_t_test() -> None:
    (row,) = rows_of(items=1)
    alone = size_for_difference(difference=0.05, sd=(0.0116 + 0.0062) ** 0.5)
    assert row["topics"] == int(alone.topics)
    assert row["achieved_power"] == pytest.approx(float(alone.achieved))
    assert row["df"] == row["topics"] - 1


@pytest.mark.parametrize("test", ["t", "max-t", "tukey", "holm", "dunnett"])
def test_nested_items_are_planned_by_the_test_on_means_per_topic(test: str) -> None:
    given: dict[str, Any] = {"systems": 6} if test != "t" else {}
    (row,) = rows_of(items=4, repeats=3, repeat_variance=0.004, test=test, **given)
    sd = (0.0116 + 0.0062 / 4 + 0.004 / 12) ** 0.5
    alone = size_for_difference(difference=0.05, sd=sd, test=test, **given)
    assert row["topics"] == int(alone.topics)
    assert row["df"] == (row["topics"] - 1) * (5 if test in ("tukey", "dunnett") else 1)


@pytest.mark.parametrize(
    "given",
    [
        {"items": [1, 2, 5, 20]},
        {"items": [5, 8, 20], "shared_variance": 0.0005},
        {"replicates": "seeds", "repeats": [3, 5, 10], "shared_variance": 0.0002, "repeat_variance": 0.003},
        {"items": [3, 5, 20], "shared_variance": 0.0002, "systems": 5},
        {"replicates": "clusters", "items": [1, 4, 10], "one_sided": True},
    ],
)
def test_n_reaches_the_power_and_one_topic_less_does_not(given: dict[str, Any]) -> None:
    rows = rows_of(**given)
    assert all(row["achieved_power"] >= 0.8 > row["power_below"] for row in rows)
    topics = [row["topics"] for row in rows if row["repeats"] == rows[0]["repeats"]]
    assert topics == sorted(topics, reverse=True)


def test_an_intra_class_correlation_says_the_same_as_components() -> None:
    total = 0.0116 + 0.0062
    icc = 0.0116 / total
    given: dict[str, Any] = {"difference": 0.05, "items": [1, 5]}
    by_icc = by_flags.size(**given, sd=total**0.5, icc=icc).to_dict()["rows"]
    assert [row["topics"] for row in by_icc] == [row["topics"] for row in rows_of(items=[1, 5])]
    assert by_icc[1]["design_effect"] == pytest.approx(1 + 4 * icc)
    assert by_icc[1]["icc"] == pytest.approx(icc)


def test_the_design_effect_compares_with_as_many_independent_topics() -> None:
    spread = Replicated(
        structure="prompts", between=0.01, within=0.02, shared_variance=0.001, repeat_variance=0.004, items=6, repeats=2
    )
    crossed = spread.design_effect(30)
    variance = 0.01 / 30 + 0.02 / 180 + 0.001 / 6 + 0.004 / 360
    assert crossed == pytest.approx(variance / ((0.01 + 0.02 + 0.001 + 0.002) / 180))


def test_more_topics_do_not_reduce_what_all_topics_share() -> None:
    few, more = rows_of(items=[5, 30], shared_variance=0.002)
    assert few["topics"] is None
    assert few["achieved_power"] < 0.8
    assert more["topics"] is not None
    found = by_flags.size(**GIVEN, items=5, shared_variance=0.002)
    assert "Have more prompts" in found.summary()
    fixed = by_flags.size(**GIVEN, items=5, replicates="fixed-prompts").to_dict()["rows"][0]
    assert fixed["topics"] == rows_of(items=5)[0]["topics"]


# --- costs


def one_pair(
    kind: str, *, difference: float, alpha: float, power: float, topics: int = 2, **spread: Any
) -> tuple[Design, Goal]:
    design = Design(topics=topics, alpha=alpha, spread=Replicated(structure=kind, **spread))
    return design, Goal("difference", difference, power)


def brute(kind: str, costs: Costs, most: tuple[int, int], least: tuple[int, int], **given: float) -> Any:
    """Every number of items and repeats, one by one."""
    pairs = np.array(list(product(range(least[0], most[0] + 1), range(least[1], most[1] + 1))))
    found = size(*one_pair(kind, **{**COMPONENTS, **given}, items=pairs[:, 0], repeats=pairs[:, 1]))
    spread = Replicated(structure=kind, items=pairs[:, 0], repeats=pairs[:, 1])
    cost = costs.of(Design(topics=found.topics, spread=spread))
    return float(np.where(found.reached, cost, np.inf).min())


@pytest.mark.parametrize(
    ("kind", "costs", "more"),
    [
        ("variations", (10, 1, 0), {}),
        ("variations", (10, 1, 0.1), {"repeat_variance": 0.004}),
        ("variations", (3, 0.2, 0.01), {"repeat_variance": 0.03, "between": 0.001}),
        ("clusters", (50, 1, 0), {"between": 0.002, "within": 0.02}),
        ("prompts", (1, 50, 0.1), {"shared_variance": 0.001, "repeat_variance": 0.002}),
        ("prompts", (1, 0.5, 0.1), {"shared_variance": 0.0003}),
        ("seeds", (1, 1, 40), {"shared_variance": 0.0005, "repeat_variance": 0.004}),
        ("seeds", (1, 0.1, 5), {"shared_variance": 0.0005, "repeat_variance": 0.02}),
    ],
)
def test_the_cheapest_design_is_that_of_brute_force(
    kind: str, costs: tuple[float, float, float], more: dict[str, float]
) -> None:
    words = dict(zip(("topic", "item", "repeat"), costs, strict=True))
    best = best_of(replicates=kind, **{f"{name}_cost": cost for name, cost in words.items()}, **more)
    most = 40, 40 if more.get("repeat_variance") or kind == "seeds" else 1
    least = (5 if kind == "prompts" else 1), (3 if kind == "seeds" else 1)
    assert best["items"] < 40
    assert best["repeats"] < 40
    assert best["cost"] == pytest.approx(brute(kind, Costs(**words), most, least, **more))


@pytest.mark.parametrize(
    ("kind", "costs", "more", "budget"),
    [
        ("variations", (10, 1, 0.1), {"repeat_variance": 0.004}, 500),
        ("clusters", (30, 1, 0), {"between": 0.002, "within": 0.02}, 700),
        ("prompts", (1, 20, 0.1), {"shared_variance": 0.001, "repeat_variance": 0.002}, 300),
        ("seeds", (1, 1, 20), {"shared_variance": 0.0005, "repeat_variance": 0.004}, 250),
    ],
)
def test_the_best_design_for_a_budget_is_that_of_brute_force(
    kind: str, costs: tuple[float, float, float], more: dict[str, float], budget: float
) -> None:
    words = dict(zip(("topic", "item", "repeat"), costs, strict=True))
    best = best_of(replicates=kind, budget=budget, **{f"{name}_cost": cost for name, cost in words.items()}, **more)
    largest, costs_of = 0.0, Costs(**words)

    def spent(topics: int) -> float:
        spread = Replicated(structure=kind, items=items, repeats=repeats)
        return float(costs_of.of(Design(topics=topics, spread=spread)))

    least = (5 if kind == "prompts" else 1), (3 if kind == "seeds" else 1)
    for items, repeats in product(range(least[0], 41), range(least[1], 41)):
        topics = 2
        while spent(topics + 1) <= budget + 1e-9:
            topics += 1
        if spent(topics) <= budget + 1e-9:
            given = {**COMPONENTS, **more, "items": items, "repeats": repeats}
            largest = max(largest, float(achieved(*one_pair(kind, topics=topics, **given))))
    assert best["achieved_power"] == pytest.approx(largest)
    assert best["cost"] <= budget + 1e-9


# --- what a design reaches


@pytest.mark.parametrize(
    ("given", "accuracy"),
    [
        ({"items": 3, "repeats": 2, "repeat_variance": 0.004}, 0.0),
        ({"items": 8, "replicates": "clusters", "between": 0.001, "within": 0.03}, 0.0),
        ({"items": 5, "systems": 4, "test": "tukey"}, 0.0),
        ({"items": 10, "shared_variance": 0.0005}, 0.005),
        ({"items": 6, "repeats": 3, "shared_variance": 0.0008, "repeat_variance": 0.02, "within": 0.001}, 0.02),
        ({"replicates": "seeds", "items": 1, "repeats": 5, "shared_variance": 0.0005, "repeat_variance": 0.004}, 0.01),
        (
            {
                "replicates": "seeds",
                "items": 2,
                "repeats": 3,
                "shared_variance": 0.0003,
                "repeat_variance": 0.004,
                "systems": 4,
            },
            0.01,
        ),
    ],
)
def test_simulated_power_and_error_rate_are_those_of_the_plan(
    given: dict[str, Any], accuracy: float, tmp_path: Path
) -> None:
    """Satterthwaite's degrees of freedom are an approximation: ``accuracy`` is what it may be off by."""
    path = tmp_path / "size.json"
    path.write_text(json.dumps(by_flags.size(**{**GIVEN, **given}).to_dict()))
    (design,) = read_designs(path)
    found = verify(design, collections=DRAWS, tolerance=1e-6, confidence=0.999, search=False)
    low, high = found.power.interval
    assert found.collections == DRAWS
    assert low - accuracy <= design.promised_power <= high + accuracy
    low, high = found.error.interval
    assert low - accuracy <= 0.05 <= high + accuracy


def test_topics_and_variations_drawn_from_real_data_reach_the_power_of_the_plan(
    query_variations: list[tuple[str, float]],
) -> None:
    """Score less a constant is the difference here: the data have one system, and its scores are far from normal."""
    by_topic: dict[str, list[float]] = {}
    for name, score in query_variations:
        by_topic.setdefault(name, []).append(score)
    topics = [np.array(scores) for scores in by_topic.values()]
    truth = float(np.mean([scores.mean() for scores in topics]))
    means = np.array([scores.mean() for scores in topics])
    inside = float(np.mean([scores.var() for scores in topics]))
    components = Components(between=float(means.var()), within=inside)
    request = Request(difference=(0.04,))
    (plan,) = plan_replicates(request, "variations", components, items=[4])
    row = plan.to_dict()[0]
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, len(topics), (4000, row["topics"]))
    counts = np.array([len(scores) for scores in topics])
    padded = np.full((len(topics), counts.max()), np.nan)
    for at, scores in enumerate(topics):
        padded[at, : len(scores)] = scores
    chosen = (rng.random((*drawn.shape, 4)) * counts[drawn][..., np.newaxis]).astype(int)
    unit_means = padded[drawn[..., np.newaxis], chosen].mean(axis=2) - truth
    # Scores are skewed: the power is larger in one direction and smaller in the other.
    better, worse, equal = (_t_rate(unit_means + shift) for shift in (0.04, -0.04, 0.0))
    assert abs((better + worse) / 2 - row["achieved_power"]) < 0.02
    assert abs(equal - 0.05) < 0.015


def _t_rate(values: Array) -> float:
    from scipy import stats

    return float((stats.ttest_1samp(values, 0.0, axis=1).pvalue <= 0.05).mean())


def test_a_verified_file_has_the_design_that_is_recommended(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    path.write_text(json.dumps(by_flags.size(**GIVEN, topic_cost=10, item_cost=1).to_dict()))
    (design,) = read_designs(path)
    assert design.replicates is not None
    assert (design.topics, design.replicates.items) == (45, 3)
    found = cf.verify(design=str(path), trials={"collections": 1000, "search": True})
    assert "45 topics with 3 variations each" in found.summary()
    assert found.to_dict()["rows"][0]["replicates"] == "variations"
    with pytest.raises(RequestError, match="simulated from its components"):
        verify(design, collections=1000, margins="auto")


def test_the_test_of_a_sample_of_prompts_cannot_be_another(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    path.write_text(json.dumps(by_flags.size(**GIVEN, items=8, shared_variance=0.0005).to_dict()))
    with pytest.raises(RequestError, match="no effect"):
        cf.verify(design=str(path), test="wilcoxon", trials={"collections": 1000})


# --- pilots


@pytest.fixture
def pilot(write: Callable[[str, str | bytes], str]) -> Callable[..., str]:
    """A table of 3 systems with replicates of a structure."""

    def write_pilot(column: str, *, replicates: int = 6, topics: int = 40, shared: float = 0.03) -> str:
        rng = np.random.default_rng(6)
        own, luck = rng.normal(0, 0.1, (topics, 3)), rng.normal(0, shared, (3, replicates))
        lines = [f"topic,system,{column},score"]
        for topic, system, at in product(range(topics), range(3), range(replicates)):
            score = 0.4 + own[topic, system] + luck[system, at] + rng.normal(0, 0.08)
            lines.append(f"q{topic},s{system},{at},{score:.5f}")
        return write(f"{column}.csv", "\n".join(lines))

    return write_pilot


def test_the_role_of_a_column_says_what_the_replicates_are(pilot: Callable[..., str]) -> None:
    for column, kind in (("seed", "seeds"), ("prompt", "prompts")):
        columns = f"topic=topic,system=system,{column}={column},score=score"
        numbers: dict[str, Any] = {"repeats": 10} if kind == "seeds" else {"items": 10}
        result = by_flags.size(pilot(column), columns=columns, difference=0.08, **numbers)
        (row,) = result.to_dict()["rows"]
        assert (row["replicates"], row["test"], row["systems"]) == (kind, "tukey", 3)
        assert row["topics_lower"] < row["topics"]
        assert row["topics_upper"] is None or row["topics_upper"] > row["topics"]
        assert result.to_dict()["inputs"]["replicates"] == kind
        assert row["shared_variance"] > 0


def test_a_column_without_a_role_has_to_be_named(pilot: Callable[..., str]) -> None:
    given: dict[str, Any] = {"columns": "topic=topic,system=system,shard=copy,score=score", "difference": 0.08}
    path = pilot("copy")
    with pytest.raises(RequestError, match="type of the replicates"):
        by_flags.size(path, **given, items=3)
    rows = by_flags.size(path, **given, items=[1, 6], replicates="variations").to_dict()["rows"]
    assert rows[0]["topics"] > rows[1]["topics"]
    seeds = by_flags.size(path, **given, repeats=[3, 6], replicates="seeds").to_dict()["rows"]
    assert seeds[0]["replicates"] == "seeds"
    with pytest.raises(RequestError, match="not variations"):
        cf.size(
            path,
            source={"columns": "topic=topic,system=system,seed=copy,score=score"},
            difference=0.1,
            replicates="variations",
        )


def test_topics_of_a_pilot_may_have_different_numbers_of_variations(write: Callable[[str, str | bytes], str]) -> None:
    rng = np.random.default_rng(7)
    lines = ["topic,system,variation,score"]
    cells = [(topic, at) for topic in range(30) for at in range(2 + topic % 4)]
    own = rng.normal(0, 0.1, (30, 2))
    scores = {(t, s, at): 0.5 + own[t, s] + rng.normal(0, 0.1) for t, at in cells for s in range(2)}
    lines += [f"{t},s{s},{at},{score}" for (t, s, at), score in scores.items()]
    columns = "topic=topic,system=system,shard=variation,score=score"
    given: dict[str, Any] = {"columns": columns, "difference": 0.08, "replicates": "variations"}
    result = by_flags.size(write("v.csv", "\n".join(lines)), **given, items=[1, 3])
    gaps = np.array([[scores[t, 0, at] - scores[t, 1, at]] for t, at in cells])
    alone = nested_components(gaps, np.array([t for t, _ in cells])).components
    row = result.to_dict()["rows"][0]
    assert row["between"] == pytest.approx(alone.between)
    assert row["within"] == pytest.approx(alone.within)
    assert not [caution for caution in result.warnings if caution.slug == "cell-missing"]
    with pytest.raises(InputError, match="some systems only"):
        by_flags.size(write("w.csv", "\n".join(lines[:-1])), **given)


def test_the_variance_of_repeats_is_taken_out_of_that_of_variations(pilot: Callable[..., str]) -> None:
    given: dict[str, Any] = {
        "columns": "topic=topic,system=system,shard=copy,score=score",
        "difference": 0.08,
        "replicates": "variations",
        "items": 2,
    }
    path = pilot("copy", shared=0.0)
    (before,) = by_flags.size(path, **given).to_dict()["rows"]
    once, twice = by_flags.size(path, **given, repeat_variance=0.005, repeats=[1, 2]).to_dict()["rows"]
    assert once["topics"] == before["topics"]
    assert once["within"] == pytest.approx(before["within"] - 0.005)
    assert twice["topics"] < once["topics"]


def test_averaging_replicates_is_said(pilot: Callable[..., str]) -> None:
    path = pilot("seed")
    given: dict[str, Any] = {"columns": "topic=topic,system=system,mean=seed,score=score"}
    for result in (by_flags.size(path, **given, difference=0.05), by_flags.power(path, **given)):
        (said,) = [caution for caution in result.warnings if caution.slug == "replicates-averaged"]
        assert "means over «seed»" in said.what
    apart = "topic=topic,system=system,seed=seed,score=score"
    with pytest.raises(RequestError, match="several scores for each topic and system") as refused:
        cf.power(path, source={"columns": apart})
    assert 'mean=COLUMN in `source={"columns": …}`, in place of seed=' in refused.value.fix


@pytest.mark.parametrize(("column", "kind"), [("seed", "seeds"), ("prompt", "prompts"), ("judge", "prompts")])
def test_columns_say_what_replicates_are(pilot: Callable[..., str], column: str, kind: Any) -> None:
    columns = f"topic=topic,system=system,{column}=copy,score=score"
    given: dict[str, Any] = {"columns": columns, "difference": 0.05}
    found, named = (by_flags.size(pilot("copy"), **given, replicates=each) for each in (None, kind))
    assert found.to_dict()["rows"] == named.to_dict()["rows"]
    assert found.to_dict()["rows"][0]["replicates"] == kind
    with pytest.raises(RequestError, match=r'a design with replicates has no `goal=\{"width": …\}`'):
        cf.size(pilot("copy"), source={"columns": columns}, goal={"width": 0.1})


# --- the question


def test_the_sentence_has_the_three_numbers_first() -> None:
    found = by_flags.size(**GIVEN, items=3, repeats=2, repeat_variance=0.004)
    assert found.summary().startswith("47 topics with 3 variations each and 2 repeats of each variation detect")
    assert found.topics == [47]
    cheapest = by_flags.size(**GIVEN, topic_cost=10, item_cost=1)
    assert "at a cost of 585" in cheapest.summary()
    paid = by_flags.size(**GIVEN, topic_cost=10, item_cost=1, budget=500)
    assert paid.summary().startswith("41 topics with 2 variations each detect a difference of 0.05 between two systems")
    assert "with power 0.731" in paid.summary()
    assert "power" not in {name for name, value in paid.inputs.items() if value is not None}


@pytest.mark.parametrize(
    ("kind", "items", "repeats", "words"),
    [
        ("variations", 1, 1, "40 topics"),
        ("variations", 1, 3, "40 topics with 3 repeats of each topic"),
        ("prompts", 6, 1, "40 topics with the same 6 prompts"),
        ("seeds", 2, 5, "40 topics with 2 variations each and 5 seeds of each system"),
        ("clusters", 1, 1, "40 clusters with 1 topic each"),
        ("clusters", 4, 2, "40 clusters with 4 topics each and 2 repeats of each topic"),
    ],
)
def test_numbers_are_words(kind: str, items: int, repeats: int, words: str) -> None:
    assert Replicated(structure=kind, items=items, repeats=repeats).in_words(40) == words


def test_a_result_is_complete_and_can_be_stored() -> None:
    found = by_flags.size(**GIVEN, items=[1, 3], repeats=[1, 2], repeat_variance=0.004, topic_cost=1)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert len(found.to_frame()) == 4
    rows = json.loads(json.dumps(found.to_dict()))["rows"]
    assert [(row["items"], row["repeats"]) for row in rows] == [(1, 1), (1, 2), (3, 1), (3, 2)]
    with pytest.raises(AttributeError):
        found.replicates[0].best = 0


def test_a_chart_has_cost_or_topics_by_items() -> None:
    drawn = by_flags.size(**GIVEN, items=[1, 3, 5], repeats=[1, 2], repeat_variance=0.004).chart()
    check_chart(drawn)
    assert (drawn.panels[0].x.title, drawn.panels[0].y.title) == ("variations per topic", "number of topics")
    assert [list(mark.x) for mark in marks(drawn, "line")] == [[1, 3, 5]] * 2
    paid = by_flags.size(**GIVEN, topic_cost=10, item_cost=1).chart()
    assert paid.panels[0].y.title == "cost"
    with pytest.raises(RequestError, match="point"):
        by_flags.size(**GIVEN, items=3).chart()


def test_few_prompts_or_seeds_have_a_warning() -> None:
    few = by_flags.size(**GIVEN, items=5, shared_variance=0.0008)
    assert "few-shared-replicates" in [caution.slug for caution in few.warnings]
    assert not by_flags.size(**GIVEN, items=20, shared_variance=0.0005).warnings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": 3, "between": None, "within": None}, "components of the variance are missing"),
        ({"items": 4, "shared_variance": 0.001}, "too few to speak of others"),
        ({"replicates": "seeds", "repeats": 2, "shared_variance": 0.001}, "too few"),
        ({"replicates": "prompts", "items": 8}, "`shared_variance`"),
        ({"replicates": "variations", "shared_variance": 0.1}, "no effect on variations"),
        ({"items": 3, "repeats": 2}, "more repeats have no effect"),
        ({"items": 3, "within": 0.0}, "more variations have no effect"),
        ({"items": 0}, "items"),
        ({"items": 3, "budget": 100}, "has no effect without"),
        ({"topic_cost": 0}, "something"),
        ({"items": 3, "topic_cost": 1, "budget": 100, "power": 0.9}, "has no effect with `power`"),
        ({"items": 3, "width": 0.1}, "has no `width`"),
        ({"items": 3, "difference": None, "between": 4.0}, "`difference` is missing"),
        ({"items": 3, "icc": 0.3, "sd": 0.15}, "has no effect with"),
        ({"items": 3, "sd": 0.15}, "`sd` has no effect with `between`"),
        ({"between": None, "within": None, "icc": 0.3}, "`icc` has no effect without `sd`"),
        ({"between": None, "within": None, "icc": 0.9, "sd": 0.1, "repeat_variance": 0.01}, "larger than"),
        ({"items": 3, "assurance": 0.8}, "assurance"),
        ({"items": 3, "unpaired": True}, "unpaired"),
        ({"items": 3, "judge_correlation": 0.5}, "judge_correlation"),
        ({"items": 8, "shared_variance": 0.001, "systems": 4, "test": "holm"}, "not compared by the test holm"),
        ({"items": 3, "systems": 4, "test": "tukey", "one_sided": True}, "one-sided"),
        ({"items": "1:1000", "repeats": "1:1000", "repeat_variance": 0.01}, "the grid has"),
        ({"between": 0.0, "within": 0.0}, "nothing varies"),
        ({"between": -1.0}, "at least 0"),
        ({"columns": "topic=a", "items": 3}, "no effect without scores"),
    ],
)
def test_what_cannot_be_planned_is_explained(given: dict[str, Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message) as error:
        by_flags.size(**{**GIVEN, **given})
    assert error.value.fix


def test_components_and_a_pilot_exclude_each_other(pilot: Callable[..., str]) -> None:
    columns = "topic=topic,system=system,seed=seed,score=score"
    with pytest.raises(RequestError, match="has no effect with scores"):
        cf.size(
            pilot("seed"),
            source={"columns": columns},
            difference=0.05,
            spread={"between": 0.01},
            replicates={"repeats": 5},
        )
    with pytest.raises(RequestError, match="no replicates"):
        cf.size(
            pilot("seed"),
            source={"columns": "topic=topic,system=system,mean=seed,score=score"},
            difference=0.05,
            replicates={"repeats": 5},
        )
    with pytest.raises(RequestError, match="too few to estimate"):
        cf.size(pilot("seed", topics=4), source={"columns": columns}, difference=0.05, replicates={"repeats": 5})
    small = cf.size(pilot("seed", topics=8), source={"columns": columns}, difference=0.1, replicates={"repeats": 5})
    assert "small-pilot" in [caution.slug for caution in small.warnings]
    with pytest.raises(RequestError, match="clusters"):
        cf.size(pilot("seed"), source={"columns": columns}, difference=0.05, replicates="clusters")


def test_clusters_of_a_pilot_are_planned_for() -> None:
    rng = np.random.default_rng(12)
    clusters = np.repeat(np.arange(24), rng.integers(2, 6, 24))
    values = rng.normal(0, 0.08, (24, 3))[clusters] + rng.normal(0, 0.1, (len(clusters), 3))
    names: dict[str, Any] = {"topics": tuple(f"t{at}" for at in range(len(values))), "systems": ("a", "b", "c")}
    table = ScoreTable(
        ("AP",), **names, values=values[np.newaxis, :, :, np.newaxis], clusters=tuple(f"c{at}" for at in clusters)
    )
    found = cf.size(table, difference=0.05, replicates={"structure": "clusters", "items": [1, 4]})
    components = cluster_components(values, clusters).components
    assert [each.replicated.structure for each in found.replicates] == ["clusters"]
    row = found.replicates[0].to_dict()[0]
    assert {name: row[name] for name in components.to_dict()} == pytest.approx(components.to_dict())
    given = cf.size(
        difference=0.05,
        replicates={"structure": "clusters", "items": [1, 4]},
        spread={"between": components.between, "within": components.within},
        systems=3,
    )
    assert found.topics == given.topics
    assert not [each for each in found.warnings if each.slug == "clusters-ignored"]
    ignored = cf.size(table, difference=0.05)
    assert "clusters-ignored" in [each.slug for each in ignored.warnings]
    with pytest.raises(RequestError, match="the scores have no clusters of topics"):
        cf.size(table.replaced(clusters=()), difference=0.05, replicates="clusters")
