"""Sizing for the test that will be run, for equivalence, for a width with a probability, and with a pilot's doubt."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import by_flags
import cranfield
from cranfield import ScoreTable
from cranfield.errors import RequestError
from cranfield.methods.contrasts.comparing import compare
from cranfield.methods.contrasts.decisions import Drawing, by_max_t
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.design.cards import parse_gate
from cranfield.methods.design.planning import plan, plan_from_pilot
from cranfield.methods.design.power_functions import tost_power
from cranfield.methods.design.request import TYPICAL_CORRELATION, Request
from cranfield.methods.variance import estimate_variance
from cranfield.rendering.power_document import card_rows
from cranfield.stats import family
from cranfield.stats.studentized import dunnett_critical, studentized_range_critical
from designs import (
    detectable_difference,
    power_for_difference,
    size_for_difference,
    size_for_equivalence,
    size_for_non_inferiority,
    size_for_width,
)
from designs import smallest_significant as significant_difference
from sizes import margin, sized

PAIR: dict[str, Any] = {"difference": 0.05, "sd": 0.15}
FAMILY = ("max-t", "tukey", "dunnett", "holm")


# --- the tests


@pytest.mark.parametrize(("systems", "topics"), [(2, 73), (5, 116), (10, 145), (20, 174), (50, 211)])
def test_tukey_takes_more_topics_the_more_systems_there_are(systems: int, topics: int) -> None:
    found = size_for_difference(**PAIR, systems=systems, test="tukey")
    assert int(found.topics) == topics
    assert float(found.achieved) >= 0.8 > float(found.below)
    q = float(studentized_range_critical(0.05, systems, (topics - 1) * (systems - 1)))
    assert float(family.tukey_critical(0.05, systems, (topics - 1) * (systems - 1))) == pytest.approx(q / 2**0.5)


def test_topics_for_one_pair_are_too_few_for_tukey() -> None:
    powers = power_for_difference(topics=73, **PAIR, systems=[10, 50], test="tukey")
    assert [round(float(power), 3) for power in powers] == [0.373, 0.126]


@pytest.mark.parametrize("test", FAMILY)
@pytest.mark.parametrize("systems", [2, 3, 10, 40])
def test_solving_and_solving_back_agree(test: str, systems: int) -> None:
    for topics in (12, 60, 400):
        gap = float(detectable_difference(topics=topics, sd=0.15, systems=systems, test=test))
        assert float(power_for_difference(topics=topics, difference=gap, sd=0.15, systems=systems, test=test)) == (
            pytest.approx(0.8, abs=1e-9)
        )
        assert (
            int(size_for_difference(difference=gap * (1 + 1e-9), sd=0.15, systems=systems, test=test).topics) == topics
        )


@pytest.mark.parametrize("test", FAMILY)
def test_two_systems_are_one_pair(test: str) -> None:
    assert int(size_for_difference(**PAIR, systems=2, test=test).topics) == 73


@pytest.mark.parametrize("test", ["tukey", "dunnett"])
def test_a_table_of_levels_is_as_good_as_each_level(test: str) -> None:
    df = 9.0 * np.arange(1, 200)
    level = getattr(family, f"{test}_level")
    together = level(0.05, 10, df)
    for at in (0, 1, 5, 40, 198):
        critical = (
            float(studentized_range_critical(0.05, 10, df[at])) / 2**0.5
            if test == "tukey"
            else dunnett_critical(0.05, 9, float(df[at]))
        )
        assert together[at] == pytest.approx(2 * special.stdtr(df[at], -critical), rel=1e-9)


def _significant(test: str, scores: np.ndarray[Any, Any], systems: int) -> np.ndarray[Any, Any]:
    """Whether systems 0 and 1 are called different, table by table; computed from the scores themselves."""
    n = scores.shape[1]
    difference = scores[..., 0] - scores[..., 1]
    if test in ("tukey", "dunnett"):
        centred = scores - scores.mean(axis=2, keepdims=True) - scores.mean(axis=1, keepdims=True)
        centred += scores.mean(axis=(1, 2), keepdims=True)
        df = (n - 1) * (systems - 1)
        error = (centred**2).sum(axis=(1, 2)) / df
        t = np.abs(difference.mean(axis=1)) / np.sqrt(2 * error / n)
        if test == "dunnett":
            return np.asarray(t >= dunnett_critical(0.05, systems - 1, df))
        return np.asarray(t >= float(studentized_range_critical(0.05, systems, df)) / 2**0.5)
    t = np.abs(difference.mean(axis=1)) / (difference.std(axis=1, ddof=1) / np.sqrt(n))
    return np.asarray(t >= -special.stdtrit(n - 1, 0.05 / (systems * (systems - 1))))


@pytest.mark.parametrize("test", ["tukey", "dunnett", "holm"])
def test_simulated_power_is_what_was_planned(test: str) -> None:
    systems, tables = 6, 4000
    n = int(size_for_difference(difference=0.08, sd=0.15, systems=systems, test=test).topics)
    rng = np.random.default_rng(7)
    scores = rng.normal(0, 0.2, (tables, n, 1)) + rng.normal(0, 0.15 / 2**0.5, (tables, n, systems))
    scores[..., 0] += 0.08
    promised = float(power_for_difference(topics=n, difference=0.08, sd=0.15, systems=systems, test=test))
    assert _significant(test, scores, systems).mean() == pytest.approx(promised, abs=4 * (0.16 / tables) ** 0.5)


@pytest.mark.parametrize(("systems", "difference"), [(3, 0.3), (10, 0.2), (10, 0.1), (30, 0.2)])
def test_max_t_as_compare_runs_it_has_the_power_that_was_planned(systems: int, difference: float) -> None:
    tables = sized(250, 2000)
    n = int(size_for_difference(difference=difference, sd=0.15, systems=systems).topics)
    promised = float(power_for_difference(topics=n, difference=difference, sd=0.15, systems=systems, test="max-t"))
    contrasts, significant = all_pairs(systems), 0
    for number in range(tables):
        scores = np.random.default_rng((7, n, number)).normal(0, 0.15 / 2**0.5, (n, systems))
        scores[:, 0] += difference
        pairs = Pairs(scores, contrasts)
        found = by_max_t(pairs, pairs.fit(), alpha=0.05, drawing=Drawing(resamples=199, seed=number))
        significant += int(found.shown[0])
    # The first system differs from all others: a pair that is shown leaves more to those that remain.
    reach, steps = margin(promised, tables, 3) + 0.01, 0.05
    assert promised - reach <= significant / tables <= promised + reach + steps


def test_max_t_asks_for_no_more_than_holm_of_systems_that_differ_on_few_topics() -> None:
    """Of these the largest |t| of resamples has long tails: by itself it would ask for more than is planned."""
    rng = np.random.default_rng(3)
    scores = rng.normal(0.5, 0.1, (50, 1)) + rng.normal(0, 0.05, (50, 8))
    twins = np.tile(scores, 5)
    twins[np.arange(160) % 50, 8 + np.arange(160) % 32] += 0.01  # copies that differ on a few topics
    table = ScoreTable(("AP",), tuple(map(str, range(50))), tuple(f"s{at}" for at in range(40)), twins[None, ..., None])
    by_largest, by_holm = (compare(table, test="max-t", resamples=499), compare(table, test="t"))
    assert (by_largest.p_adjusted <= by_holm.p_adjusted).all()
    tested = by_largest.standard_error > 0
    reach = (by_largest.upper - by_largest.lower)[tested] / 2 / by_largest.standard_error[tested]
    assert reach.max() <= -special.stdtrit(49, 0.05 / 2 / tested.sum()) + 1e-12
    assert all(each.slug != "raised-critical-value" for each in cranfield.power(table, test="max-t").warnings)


def test_a_threshold_is_found_half_the_time_and_a_detectable_difference_more_often() -> None:
    for test in FAMILY:
        edge = float(significant_difference(topics=50, sd=0.15, systems=10, test=test))
        power = float(power_for_difference(topics=50, difference=edge, sd=0.15, systems=10, test=test))
        assert power == pytest.approx(0.5, abs=0.02)
        assert edge < float(detectable_difference(topics=50, sd=0.15, systems=10, test=test))


# --- requests


def rows_of(**request: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = by_flags.size(**request).to_dict()["rows"]
    return rows


def test_systems_with_a_difference_answer_for_all_pairs_first() -> None:
    rows = rows_of(difference=[0.05], sd=[0.15], systems=[10])
    assert [(row["test"], row["topics"]) for row in rows] == [("holm", 157), ("tukey", 145), ("t", 73)]
    assert {row["design"] for row in rows} == {"systems share topics"}
    assert [row["test"] for row in rows_of(effect_size=[0.4], systems=[10])] == ["holm", "tukey", "t"]


def test_a_sentence_has_n_goal_test_and_design() -> None:
    first = plan(Request(difference=[0.05], sd=[0.15], systems=[10], test="tukey"))[0]
    assert first.summary() == (
        "145 topics detect a difference of 0.05 between two of 10 systems with power 0.8 at α = 0.05 "
        "(Tukey's HSD, topics as blocks; systems share topics)."
    )


def test_a_variance_needs_a_correlation_or_is_answered_twice() -> None:
    one = rows_of(difference=[0.05], variance=[0.0401], correlation=[0.66], test="t", method="t")
    assert [(row["topics"], round(row["sd"], 3)) for row in one] == [(88, 0.165)]
    two = rows_of(difference=[0.05], variance=[0.0401], method="t")
    assert [(row["correlation"], row["topics"]) for row in two] == [(0.0, 254), (TYPICAL_CORRELATION, 88)]
    assert [row["design"] for row in two] == ["systems share topics"] * 2  # a paired test, of uncorrelated scores too


def test_a_range_with_a_correlation_is_blocked_on_the_residual_variance() -> None:
    row = rows_of(min_range=[0.1], systems=[10], variance=[0.053], correlation=[0.66])[0]
    assert (row["method"], row["design"]) == ("blocked", "systems share topics")
    assert row["variance"] == pytest.approx(0.053 * 0.34)
    by_name = rows_of(min_range=[0.1], systems=[10], variance=[0.053 * 0.34], method="blocked")[0]
    assert by_name["topics"] == row["topics"]


VALUES: dict[str, Any] = {
    "systems": [10],
    "variance": [0.05],
    "correlation": [0.6],
    "sd": [0.15],
    "power": [0.9],
    "probability": [0.9],
    "true_difference": [0.01],
    "one_sided": True,
    "unpaired": True,
    "test": "tukey",
    "assurance": 0.8,
    "small_pilot": True,
}
GOALS: dict[str, Any] = {
    "min_range": [0.1],
    "difference": [0.05],
    "effect_size": [0.3],
    "equivalence": [0.05],
    "non_inferiority": [0.05],
    "width": [0.1],
    "sensitivity": [0.05],
}


def _answer(request: dict[str, Any]) -> Any:
    """Every number that a request leads to; None where it is refused."""
    try:
        return [(row["method"], row["topics"]) for row in rows_of(**request)]
    except RequestError:
        return None


@pytest.mark.parametrize("goal", GOALS)
def test_no_parameter_is_without_effect(goal: str) -> None:
    """Of all combinations of two parameters with a goal: each one that is answered changes the answer."""
    changed = {"power": [0.8], "one_sided": False, "unpaired": False, "small_pilot": False}
    for first, second in product(VALUES, VALUES):
        if first == second:
            continue
        needed = {"systems": [10]} if goal == "min_range" else {}
        base = {goal: GOALS[goal], **needed, second: VALUES[second]}
        request = {**base, first: VALUES[first]}
        found = _answer(request)
        if found is None or first in needed:
            continue
        without = _answer({**base, **({first: changed[first]} if first in changed else {})})
        assert found != without, (goal, first, second)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"width": [0.1], "sd": [0.1], "systems": [5]}, "`systems`"),
        ({"width": [0.1], "sd": [0.1], "power": [0.8]}, "`power`"),
        ({"min_range": [0.1], "systems": [5], "variance": [0.05], "test": "tukey"}, "`test`"),
        ({"min_range": [0.1], "systems": [5], "sd": [0.1], "variance": [0.05]}, "`sd`"),
        ({"effect_size": [0.3], "variance": [0.05]}, "`variance`"),
        ({"effect_size": [0.3], "sd": [0.1]}, "`sd`"),
        ({"difference": [0.1], "sd": [0.1], "systems": [5], "test": "tukey", "one_sided": True}, "`one_sided`"),
        ({"difference": [0.1], "sd": [0.1], "systems": [5], "test": "tukey", "unpaired": True}, "`unpaired`"),
        ({"difference": [0.1], "sd": [0.1], "systems": [5], "test": "t"}, "`systems`"),
        ({"difference": [0.1], "sd": [0.1], "systems": [5], "one_sided": True}, "`systems`"),
        ({"difference": [0.1], "sd": [0.1], "correlation": [0.5]}, "`correlation`"),
        ({"difference": [0.1], "variance": [0.1], "correlation": [0.5], "unpaired": True}, "`correlation`"),
        ({"difference": [0.1], "sd": [0.1], "probability": [0.9]}, "`probability`"),
        ({"difference": [0.1], "sd": [0.1], "true_difference": [0.9]}, "`true_difference`"),
        ({"difference": [0.1], "sd": [0.1], "assurance": 0.9}, "`assurance`"),
        ({"difference": [0.1], "sd": [0.1], "small_pilot": True}, "`small_pilot`"),
        ({"equivalence": [0.1], "one_sided": True}, "`one_sided`"),
        ({"sensitivity": [0.1], "sd": [0.1], "power": [0.9]}, "`power`"),
        ({"sensitivity": [0.1], "variance": [0.05], "correlation": [0.5]}, "`correlation`"),
        ({"sensitivity": [0.1], "difference": [0.05], "sd": [0.1]}, "`sd`"),
    ],
)
def test_a_parameter_without_effect_is_named(given: dict[str, Any], name: str) -> None:
    with pytest.raises(RequestError) as caught:
        by_flags.size(**given)
    assert name in f"{caught.value.what} {caught.value.fix}"


def test_the_mean_of_one_system_has_its_own_variance() -> None:
    alone = plan(Request(sensitivity=[0.05], variance=[0.05]))[0]
    assert int(alone.topics.item()) == int(plan(Request(sensitivity=[0.05], sd=[0.05**0.5]))[0].topics.item()) == 77
    both = plan(Request(sensitivity=[0.05], width=[0.1], variance=[0.05], correlation=[0.6]))
    mean = next(size for size in both if "sensitivity" in size.inputs)
    assert mean.topics.item() == 77
    assert "correlation" not in mean.inputs


# --- equivalence, non-inferiority, widths


def test_equivalence_is_exact_and_by_the_normal_approximation() -> None:
    exact = size_for_equivalence(margin=0.3)
    assert int(exact.topics) == 97
    assert (round(float(exact.achieved), 4), round(float(exact.below), 4)) == (0.8026, 0.7972)
    assert int(size_for_equivalence(margin=0.3, method="normal").topics) == 96
    assert int(size_for_equivalence(margin=0.03, sd=0.1).topics) == 97


@pytest.mark.parametrize(("n", "margin", "shift"), [(5, 0.6, 0.0), (20, 1.0, 0.2), (40, 0.4, -0.1)])
def test_power_of_two_one_sided_tests_by_simulation(n: int, margin: float, shift: float) -> None:
    scores = np.random.default_rng(3).normal(shift, 1, (60_000, n))
    reach = -special.stdtrit(n - 1, 0.05) * scores.std(axis=1, ddof=1) / np.sqrt(n)
    shown = (np.abs(scores.mean(axis=1)) + reach <= margin).mean()
    assert float(tost_power(*map(np.asarray, (n, margin, shift, 1.0, 0.05)))) == pytest.approx(shown, abs=0.007)


def test_non_inferiority_is_a_one_sided_test_moved_by_the_margin() -> None:
    assert int(size_for_non_inferiority(margin=0.3).topics) == int(size_for_difference(effect_size=0.3, sides=1).topics)
    assert int(size_for_non_inferiority(margin=0.2, true_difference=0.1).topics) == int(
        size_for_non_inferiority(margin=0.3).topics
    )


def test_a_width_with_a_probability_is_kept_that_often() -> None:
    found = size_for_width(width=0.1, sd=0.15, probability=0.9)
    n = int(found.topics)
    assert n > int(size_for_width(width=0.1, sd=0.15).topics)
    for topics, promised in ((n, float(found.achieved)), (n - 1, float(found.below))):
        s = np.random.default_rng(5).normal(0, 0.15, (20_000, topics)).std(axis=1, ddof=1)
        widths = -2 * special.stdtrit(topics - 1, 0.025) * s / np.sqrt(topics)
        assert (widths <= 0.1).mean() == pytest.approx(promised, abs=0.01)
    assert float(found.achieved) >= 0.9 > float(found.below)


# --- pilots


def _table(topics: int, systems: int = 6, seed: int = 11) -> cranfield.ScoreTable:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.3, 0.2, (1, topics, 1, 1)) + rng.normal(0, 0.08, (1, topics, systems, 1))
    return cranfield.ScoreTable(("AP",), tuple(map(str, range(topics))), tuple(f"s{i}" for i in range(systems)), values)


def test_a_pilot_of_several_systems_is_sized_for_all_their_pairs() -> None:
    found = plan_from_pilot(Request(difference=[0.05]), estimate_variance(_table(40)))
    assert [(each.size.method.name, each.estimate.method) for each in found] == [
        *(("holm", each) for each in ("residual", "median pair", "mean pair", "percentile")),
        ("tukey", "residual"),
        *(("t", each) for each in ("residual", "median pair", "mean pair", "percentile")),
    ]
    assert int(found[0].size.inputs["systems"].flat[0]) == 6
    alone = plan_from_pilot(Request(difference=[0.05], test="t"), estimate_variance(_table(40)))
    assert {each.size.method.test for each in alone} == {"t"}
    pair = plan_from_pilot(Request(difference=[0.05]), estimate_variance(_table(40, systems=2)))
    assert {each.size.method.test for each in pair} == {"t"}


@pytest.mark.parametrize("topics", [5, 8, 20, 60])
def test_expected_power_is_never_above_the_power_at_the_estimate(topics: int) -> None:
    for each in plan_from_pilot(
        Request(difference=[0.02, 0.05, 0.2], power=[0.3, 0.8]), estimate_variance(_table(topics))
    ):
        assert (each.assurance <= each.size.achieved + 1e-12).all()
        assert (each.lower.topics <= each.size.topics).all()
        assert (each.size.topics <= each.upper.topics).all()


def test_sizing_for_an_expected_power_reaches_it_and_not_with_one_topic_less() -> None:
    variances = estimate_variance(_table(20))
    plain = plan_from_pilot(Request(difference=[0.05]), variances)[0]
    assured = plan_from_pilot(Request(difference=[0.05], assurance=0.8), variances)[0]
    assert float(plain.assurance.flat[0]) < 0.8 <= float(assured.assurance.flat[0])
    assert int(assured.size.topics.flat[0]) > int(plain.size.topics.flat[0])
    assert float(assured.size.achieved.flat[0]) > 0.8
    levels = (np.arange(2000) + 0.5) / 2000
    sds = np.sqrt(2 * variances.get("residual").quantiles(levels))
    enough, below = (
        float(power_for_difference(topics=n, difference=0.05, sd=sds, systems=6, test="holm").mean())
        for n in (int(assured.size.topics.flat[0]), int(assured.size.topics.flat[0]) - 1)
    )
    assert below < 0.8 + 1e-3
    assert enough > 0.8 - 1e-3


def test_the_card_of_a_family_has_the_family_and_the_pair() -> None:
    card = cranfield.power(topics=73, sd=0.15, systems=10, test="tukey").cards[0]
    assert card.achieved_power == pytest.approx(0.373, abs=5e-4)
    assert card.pair_power == pytest.approx(0.8023, abs=5e-5)
    assert card.detectable_difference > card.significant_difference
    assert card.significant_difference == card.tukey_significant_difference
    assert f"An observed difference of {card.significant_difference:.3f} is significant (q·√(MSE/n))" in card.sentence()
    assert not parse_gate("difference=0.05,power=0.8").passes(card)
    assert parse_gate("difference=0.05,power=0.8,test=t").passes(card)


def test_a_threshold_is_of_a_pair_of_average_variance_where_each_pair_has_its_own() -> None:
    card = cranfield.power(topics=40, sd=0.15, systems=10, test="max-t").cards[0]
    assert "For a pair of average variance, an observed difference of about 0.0" in card.sentence()
    rows = [text for name, text in card_rows(card) if name.endswith("significant_difference")]
    assert rows == [
        "significant observed difference of a pair of average variance (max-t)",
        "smallest observed difference that is significant (Tukey's HSD)",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topics": [50], "sd": [0.1], "correlation": [0.5]}, "`correlation`"),
        ({"topics": [50], "sd": [0.1], "variance": [0.05], "correlation": [0.5]}, "`correlation`"),
        ({"topics": [50], "sd": [0.1], "test": "tukey"}, "number of systems"),
        ({"topics": [50], "sd": [0.1], "systems": [5], "test": "anova"}, "anova"),
    ],
)
def test_a_card_refuses_what_it_cannot_use(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        cranfield.power(**given)


def test_a_card_of_a_variance_alone_is_two_cards_with_their_designs() -> None:
    apart, shared = cranfield.power(topics=50, variance=0.0401).cards
    assert (apart.correlation, shared.correlation) == (0.0, TYPICAL_CORRELATION)
    assert (apart.design, shared.design) == ("systems share topics, scores uncorrelated", "systems share topics")
    assert round(shared.sd, 3) == 0.165


def test_printed_expected_power_is_near_the_real_one(robust04: np.ndarray[Any, Any]) -> None:
    """Pilots of 20 topics from Robust04, ten systems: what size prints, and what its topics really have."""
    rng = np.random.default_rng(4)
    printed, real = [], []
    for _ in range(60):
        scores = robust04[:, rng.choice(robust04.shape[1], 10, replace=False)]
        pilot = scores[rng.choice(len(scores), 20, replace=False)]
        table = cranfield.ScoreTable(("AP",), tuple(map(str, range(20))), tuple("abcdefghij"), pilot[None, :, :, None])
        found = plan_from_pilot(Request(difference=[0.05], test="max-t"), estimate_variance(table))[0]
        centred = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
        sd = np.sqrt(2 * (centred**2).sum() / ((len(scores) - 1) * 9))
        n = int(found.size.topics.flat[0])
        printed.append(float(found.assurance.flat[0]))
        real.append(float(power_for_difference(topics=n, difference=0.05, sd=sd, systems=10, test="max-t")))
        assert printed[-1] <= float(found.size.achieved.flat[0]) + 1e-12
    assert np.mean(printed) == pytest.approx(np.mean(real), abs=0.03)


@pytest.fixture(scope="module")
def robust04() -> np.ndarray[Any, Any]:
    path = Path(__file__).parents[1] / "data" / "data" / "matrices" / "robust04_map.csv"
    return np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:]


def test_on_a_table_power_takes_the_critical_value_of_its_comparison(kept: Path) -> None:
    path = kept / "data" / "matrices" / "robust04_map.csv"
    comparison = next(iter(cranfield.compare(path).comparisons.values()))
    (card,) = cranfield.power(path).cards
    critical = float(np.nanmedian((comparison.upper - comparison.difference) / comparison.standard_error))
    assert card.significant_difference * card.topics**0.5 / card.sd == pytest.approx(critical, rel=1e-9)
    (other,) = cranfield.power(path, topics=card.topics - 1).cards  # what it would reject is not known
    assert other.significant_difference > card.significant_difference
