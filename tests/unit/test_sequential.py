"""Plans, boundaries, confidence sequences and simulated paths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield.errors import InputError, RequestError
from cranfield.methods.sequential import (
    PLANS,
    StudyGoal,
    all_pairs,
    bets_for,
    confidence_sequence,
    even_looks,
    group_design,
    near_misses,
    one_pair,
    past_experience,
    plan_trial,
    prospect,
    random_pairs,
    simulate,
    trial_coverage,
)
from cranfield.methods.sequential.boundaries import SPENDING, crossing_probabilities, spending_bounds
from cranfield.methods.sequential.conclusion import paired_t
from cranfield.methods.sequential.groups import normal_levels, t_levels
from cranfield.methods.sequential.paths import (
    Paths,
    Population,
    betting_paths,
    effect_sizes,
    fixed_paths,
    inclusion,
    sd_rule_paths,
    seeds_for,
    t_rule_paths,
    t_squares,
    variance_limits,
)
from cranfield.methods.sequential.plan_simulation import look_table, rate
from cranfield.runtime.random import words
from cranfield.scores import ScoreTable
from designs import power_for_difference

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def differences() -> Array:
    """Differences of 80 topics, skewed and with heavy tails, as those of real systems are."""
    rng = np.random.default_rng(4)
    return np.asarray(np.clip(0.02 + 0.1 * rng.standard_t(4, 80) + 0.03 * rng.exponential(1, 80), -1, 1))


@pytest.fixture(scope="module")
def table() -> ScoreTable:
    rng = np.random.default_rng(2)
    topic, system = rng.normal(0.3, 0.15, (60, 1)), np.linspace(0, 0.08, 12)
    scores = np.clip(topic + system + rng.normal(0, 0.1, (60, 12)), 0, 1)
    return ScoreTable(
        ("AP",), tuple(map(str, range(301, 361))), tuple(f"s{at:02}" for at in range(12)), scores[None, :, :, None]
    )


# --- the same paths, one draw at a time


def drawn(seed: int, topics: int) -> Any:
    """SplitMix64, in Python's own integers."""
    state, mask = int(seed), 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        bits = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
        yield ((bits ^ (bits >> 31)) >> 32) * topics >> 32


def walk_by_hand(x: Array, seed: int, first: int, step: int, limits: Array, alpha: float) -> tuple[int, float, bool]:
    """Algorithm 1 (or hybrid, for step 0) as the paper words it."""
    draws = drawn(seed, len(x))
    seen: list[float] = []
    target = first
    while True:
        while len(seen) < target:
            seen.append(x[next(draws)])
        sd = float(np.std(seen, ddof=1))
        n = len(seen)
        if n >= len(limits) - 1 or sd**2 <= limits[n]:
            return n, sd, bool(stats.ttest_1samp(seen, 0).pvalue <= alpha)
        target = (
            min(n + step, len(limits) - 1)
            if step
            else next((m for m in range(n + 1, len(limits) - 1) if sd**2 <= limits[m]), len(limits) - 1)
        )


@pytest.mark.parametrize("step", [1, 7, 0])
def test_paths_are_those_of_the_algorithm_walked_by_hand(step: int, differences: Array) -> None:
    population = Population.of(differences)
    limits = variance_limits(population.sd * effect_sizes(50, 0.05, 0.8)[50], most=150, alpha=0.05, power=0.8)
    paths = sd_rule_paths(population, np.array([20]), limits, step=step, alpha=0.05, repeats=60, seed=3, shift=0.03)
    moved = differences - differences.mean() + 0.03
    for at, seed in enumerate(seeds_for(60, 3).tolist()):
        n, sd, found = walk_by_hand(moved, seed, 20, step, limits[0], 0.05)
        assert paths.topics[at] == n
        assert paths.sd[at] == pytest.approx(sd, rel=1e-9)
        assert paths.significant[at] == found


def test_a_stopped_path_has_the_power_and_had_not_one_topic_before(differences: Array) -> None:
    population = Population.of(differences)
    delta = float(population.sd[0] * effect_sizes(50, 0.05, 0.8)[50])
    limits = variance_limits(np.array([delta]), most=400, alpha=0.05, power=0.8)
    paths = sd_rule_paths(population, np.array([10]), limits, step=1, alpha=0.05, repeats=200)
    early = paths.topics < 400
    assert (power_for_difference(topics=paths.topics, difference=delta, sd=paths.sd)[early] >= 0.8 - 1e-9).all()
    late = paths.topics > 10
    below = power_for_difference(topics=paths.topics[late] - 2, difference=delta, sd=paths.sd[late])
    assert (below < 0.82).all()


def test_group_paths_stop_at_the_first_look_whose_level_is_met(differences: Array) -> None:
    population = Population.of(differences)
    design = group_design(StudyGoal(difference=0.06, sd=float(population.sd[0]), plan="group-sequential"))
    critical, ends = look_table([design])
    paths = t_rule_paths(population, critical, ends, shift=0.06, repeats=40, seed=5)
    moved = differences - differences.mean() + 0.06
    for at, seed in enumerate(seeds_for(40, 5).tolist()):
        draws = drawn(seed, 80)
        seen = np.array([moved[next(draws)] for _ in range(int(design.topics[-1]))])
        looks = [
            (n, stats.ttest_1samp(seen[:n], 0).pvalue <= p) for n, p in zip(design.topics, design.levels, strict=True)
        ]
        n, found = next(((n, hit) for n, hit in looks if hit), looks[-1])
        assert (paths.topics[at], paths.significant[at]) == (n, found)


def test_betting_paths_stop_when_the_confidence_sequence_leaves_out_zero(differences: Array) -> None:
    population, goal = Population.of(differences), StudyGoal(difference=0.06, sd=0.12, plan="anytime")
    shift = np.array([0.06])
    paths = betting_paths(
        population, [bets_for(goal)], np.array([300]), alpha=0.05, lowest=-1, highest=1, shift=shift, repeats=20, seed=2
    )
    null = float(differences.mean() - 0.06)
    for at, seed in enumerate(seeds_for(20, 2).tolist()):
        draws = drawn(seed, 80)
        seen = np.array([differences[next(draws)] for _ in range(int(paths.topics[at]))])

        def excludes(count: int, seen: Array = seen) -> bool:
            found = confidence_sequence(seen[:count], bets=bets_for(goal))
            return found.lower > null or found.upper < null

        assert excludes(len(seen)) == paths.significant[at]
        assert len(seen) == 300 or not excludes(len(seen) - 1)


def test_a_shuffle_meets_every_topic_once(differences: Array) -> None:
    population = Population.of(differences)
    paths = fixed_paths(population, np.array([80]), alpha=0.05, repeats=50, replace=False)
    assert paths.mean == pytest.approx(np.zeros(50), abs=1e-12)
    assert paths.sd == pytest.approx(np.full(50, differences.std(ddof=1)), rel=1e-9)
    assert inclusion(population, paths, replace=False).tolist() == [1.0] * 80


def test_same_seed_same_paths_on_any_number_of_workers(differences: Array) -> None:
    rows = np.stack([differences, -differences, differences[::-1] * 0.5])
    runs = [simulate(rows, repeats=701, seed=9, workers=workers, detectable_with=40) for workers in (1, 2, 3)]
    assert runs[0].to_dict() == runs[1].to_dict() == runs[2].to_dict()
    assert runs[0].to_dict() != simulate(rows, repeats=701, seed=10, detectable_with=40).to_dict()


def test_pairs_walk_alike_alone_and_together(differences: Array) -> None:
    def walk(rows: Array, repeats: int) -> Paths:
        return fixed_paths(Population.of(rows), np.full(len(np.atleast_2d(rows)), 30), alpha=0.05, repeats=repeats)

    together = walk(np.stack([differences, differences]), 50)
    assert (together.mean == walk(differences, 100).mean).all()


def test_no_stream_is_shared_between_seeds_plans_truths_or_paths(
    differences: Array, table: ScoreTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SplitMix64 counts in steps of one odd number: streams overlap where starts are few steps apart."""
    drawn: dict[bytes, Array] = {}

    def recorded(*task: Any, count: int) -> Array:
        found = words(*task, count=count)
        drawn[found.tobytes()] = found
        return found

    monkeypatch.setattr("cranfield.methods.sequential.paths.words", recorded)
    for seed in (1, 2):
        simulate(np.stack([differences, -differences]), repeats=500, seed=seed, detectable_with=40)
        trial_coverage(differences, repeats=1000, seed=seed)
        near_misses(all_pairs(table), first=20, repeats=50, seed=seed)
    assert len(drawn) == 2 * (8 * 2 + 2)  # every plan when systems are equal and when they differ, trials, orders
    step_back = pow(0x9E3779B97F4A7C15, -1, 2**64)
    places = np.sort(np.concatenate(list(drawn.values())) * np.uint64(step_back))
    assert np.diff(places).min() > 10_000  # topics of the longest path
    assert not np.array_equal(random_pairs(table, 50, seed=1).differences, random_pairs(table, 50, seed=2).differences)


def test_samples_without_variation_stop_nothing_and_are_not_significant() -> None:
    """One topic in fifty differs from the others: many samples of 20 consist of equal differences."""
    population = Population.of(np.where(np.arange(50) < 1, 0.98, -0.02))
    fixed = fixed_paths(population, np.array([20]), alpha=0.05, repeats=2000)
    constant = fixed.sd < 1e-9
    assert 0.5 < constant.mean() < 0.8
    assert not fixed.significant[constant].any()
    limits = np.full((1, 101), 1.0)  # every sd is small enough
    paths = sd_rule_paths(population, np.array([20]), limits, step=1, alpha=0.05, repeats=2000)
    assert (paths.sd[paths.topics < 100] > 1e-9).all()
    looks = t_rule_paths(population, t_squares(0.05, 20), np.array([20]), repeats=2000)
    assert (looks.sd[looks.significant] > 1e-9).all()


def test_inclusion_favours_typical_topics(differences: Array) -> None:
    found = simulate(differences, repeats=20_000, plans=["iterative"], detectable_with=60)
    assert found.included is not None
    far = np.abs(differences - differences.mean()).argsort()
    assert found.included[far[-3:]].mean() < found.included[far[:40]].mean() - 0.005


# --- what the simulation reports


def test_the_price_of_every_plan_side_by_side(differences: Array) -> None:
    found = simulate(differences, repeats=4000)
    fixed, iterative = found.get("fixed"), found.get("iterative")
    assert found.fixed_topics.tolist() == [100]
    assert fixed.topics == 100
    assert iterative.topics < 100
    assert iterative.sd_bias.upper < fixed.sd_bias.lower
    assert iterative.false_positives.value > found.get("random").false_positives.value
    assert found.get("every-topic").false_positives.lower > 0.10
    assert found.get("group-obrien-fleming").topics < fixed.topics
    assert found.get("anytime").false_positives.upper < 0.05
    for name in ("fixed", "group-obrien-fleming", "group-pocock"):
        assert found.get(name).power.value == pytest.approx(0.8, abs=0.04)
    assert len(found.to_frame()) == len(found.outcomes) == 8
    assert "every-topic" not in found.summary()


def test_normal_differences_keep_alpha_in_group_sequential_plans_even_with_few_topics() -> None:
    from scipy.special import ndtri

    normal = 0.1 * ndtri((np.arange(2000) + 0.5) / 2000)
    found = simulate(
        normal, repeats=60_000, detectable_with=30, plans=["fixed", "group-sequential"], looks=even_looks(5)
    )
    for outcome in found.outcomes:
        assert outcome.false_positives.value == pytest.approx(0.05, abs=0.003), outcome.plan
        assert outcome.power.value == pytest.approx(0.80, abs=0.03), outcome.plan


def test_repeated_confidence_intervals_cover_together_wherever_a_study_stops() -> None:
    goal = StudyGoal(difference=0.06, sd=0.12, plan="group-sequential", spending="pocock", looks=even_looks(3))
    design, truth, studies = group_design(goal), 0.05, 3000
    drawn = np.random.default_rng(5).normal(truth, 0.12, (studies, int(design.topics[-1])))
    looks = list(zip(design.topics.tolist(), design.levels.tolist(), strict=True))
    missed = 0
    for x in drawn:
        ends = [paired_t(x[:n], float(x[:n].std(ddof=1)), level, 2.0) for n, level in looks]
        missed += not all(end.lower <= truth <= end.upper for end in ends)
    assert missed / studies == pytest.approx(0.05, abs=0.012)  # three standard errors


def test_topics_in_random_order_are_hardly_ever_denied_a_claim() -> None:
    """The values drift when they are sorted; shuffled they do not, and at most α of the orders may be empty."""
    values, rng = np.linspace(0.5, -0.3, 120), np.random.default_rng(6)
    assert confidence_sequence(values).empty
    denied = sum(bool(confidence_sequence(rng.permutation(values)).reason) for _ in range(200))
    assert denied <= 4


def test_plans_that_do_not_fit_the_differences_are_left_out_and_said_to_be(differences: Array) -> None:
    wide = simulate(5 * differences, repeats=50)
    assert "anytime" not in [outcome.plan for outcome in wide.outcomes]
    assert any("anytime was left out: a difference of" in text for text in wide.warnings)
    with pytest.raises(InputError, match="outside"):
        simulate(5 * differences, plans=["anytime"], repeats=50)
    few = simulate(differences, difference=0.3, repeats=50)
    assert any("group-pocock was left out" in text for text in few.warnings)
    assert few.get("every-topic").topics <= few.fixed_topics[0]


def two_topics() -> Array:
    """Two systems alike but for two topics: many small differences one way, two large ones the other."""
    x = -0.004 + 0.004 * np.random.default_rng(3).standard_normal(150)
    x[[20, 90]] = 0.25, 0.35
    return np.asarray(x)


@pytest.mark.parametrize(
    "population",
    [
        two_topics(),
        np.where(np.arange(100) < 2, 1.0, -2 / 98),
        np.where(np.arange(20) < 10, 1.0, -1.0),
        np.linspace(-0.3, 0.5, 60),
    ],
    ids=["two topics", "one in fifty at the bound", "at the bounds", "even"],
)
def test_the_confidence_sequence_covers_over_100_000_paths_whatever_the_distribution(population: Array) -> None:
    found = Population.of(population)
    bets = [bets_for(StudyGoal(difference=0.04, sd=0.12))]
    paths = betting_paths(found, bets, np.array([500]), alpha=0.05, lowest=-1, highest=1, repeats=100_000, seed=1)
    assert paths.significant.mean() <= 0.05


def test_two_topics_that_decide_mislead_every_plan_by_t_and_not_the_sequence() -> None:
    found = simulate(two_topics(), detectable_with=80, repeats=5000)
    assert found.get("fixed").false_positives.lower > 0.1
    assert found.get("anytime").false_positives.upper <= 0.05
    assert any("skewed" in text for text in found.warnings)


def test_a_rate_has_an_exact_interval() -> None:
    assert (rate(0, 10).lower, rate(10, 10).upper) == (0.0, 1.0)
    assert rate(7, 50).upper == pytest.approx(stats.binomtest(7, 50).proportion_ci(0.95).high)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"plans": ["sometimes"]}, "no plan «sometimes»"),
        ({"step": 0}, "1 topic or more"),
        ({"repeats": 0}, "1 repeat or more"),
        ({"difference": 0.0}, "`difference` cannot be 0"),
        ({"difference": 1e-5}, "too many to simulate"),
        ({"detectable_with": 1}, "not a possible design"),
        ({"alpha": 1.5}, "`alpha` cannot be"),
        ({"looks": (0.5, 0.25)}, "are not a plan"),
        ({"lowest": 0.1}, "do not enclose 0"),
    ],
)
def test_senseless_simulations_are_refused(options: dict[str, Any], words: str, differences: Array) -> None:
    with pytest.raises(RequestError, match=words):
        simulate(differences, **options)


@pytest.mark.parametrize("rows", [[0.1], [0.1, 0.1, 0.1], [0.1, np.nan, 0.2]])
def test_differences_that_cannot_be_sampled_are_refused(rows: list[float]) -> None:
    with pytest.raises(RequestError):
        simulate(np.array(rows))


# --- goals and plans


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_says_what_it_promises_and_takes(plan: str) -> None:
    found = prospect(StudyGoal(difference=0.04, sd=0.12, plan=plan))
    assert found.guarantee
    assert 1 <= found.first <= found.expected * 1.01
    assert found.most is None or found.expected <= found.most


@pytest.mark.parametrize("plan", PLANS)
def test_goals_that_take_a_million_topics_are_answered(plan: str) -> None:
    found = prospect(StudyGoal(difference=0.0004, sd=0.15, plan=plan))
    assert 5e5 < found.expected < 3e6


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_enough_topics_for_the_confidence_sequence_give_the_power(power: float) -> None:
    goal = StudyGoal(difference=0.05, sd=0.1, plan="anytime", power=power)
    enough = prospect(goal).enough
    assert enough is not None
    normal = np.random.default_rng(7).normal(0.05, 0.1, (1, 20_000))
    population = Population.of(normal)
    found = betting_paths(
        population, [bets_for(goal)], np.array([enough]), alpha=0.05, lowest=-1, highest=1, shift=0.05, repeats=5000
    )
    assert found.significant.mean() == pytest.approx(power, abs=0.04)


@pytest.mark.parametrize(("plan", "way"), [("iterative", "iterative"), ("hybrid", "hybrid"), ("anytime", "anytime")])
def test_expected_topics_are_those_of_normal_differences(plan: str, way: str) -> None:
    from scipy.special import ndtri

    normal = 0.12 * ndtri((np.arange(3000) + 0.5) / 3000)
    sd = float(normal.std())
    found = simulate(normal, difference=0.04, sd=sd, plans=[way], repeats=20_000).outcomes[0]
    assert prospect(StudyGoal(difference=0.04, sd=sd, plan=plan)).expected == pytest.approx(found.topics, rel=0.05)


def test_group_design_has_the_power_and_one_topic_less_a_look_does_not() -> None:
    for spending in ("obrien-fleming", "pocock"):
        design = group_design(
            StudyGoal(difference=0.033, sd=0.15, plan="group-sequential", spending=spending, looks=even_looks(5))
        )
        assert design.power(0.033, 0.15) >= 0.8
        assert design.power(0.033, 0.16) < 0.8
        assert 1 < design.inflation < 1.3
        assert design.expected < 165 < design.topics[-1]


def test_more_looks_than_topics_are_refused() -> None:
    with pytest.raises(RequestError, match="too early or too close"):
        group_design(StudyGoal(difference=0.1, sd=0.1, plan="group-sequential", looks=even_looks(9)))


@pytest.mark.parametrize(
    "options",
    [
        {"difference": 0.0},
        {"difference": 1.5},
        {"sd": -1.0},
        {"alpha": 0.0},
        {"power": 0.01},
        {"plan": "wait"},
        {"spending": "quickly"},
        {"looks": ()},
        {"looks": (0.5, 0.5, 1.0)},
        {"looks": (0.5, 0.9)},
        {"first": 1},
        {"lowest": 1.0},
        {"highest": 0.01},
    ],
)
def test_goals_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        StudyGoal(**{"difference": 0.03, "sd": 0.1, **options})


def test_a_goal_survives_being_written_down() -> None:
    goal = StudyGoal(difference=0.03, sd=0.1, plan="group-sequential", looks=even_looks(3), spending="pocock")
    assert StudyGoal.from_dict(goal.to_dict()) == goal


# --- boundaries


def test_boundaries_spend_what_they_were_given() -> None:
    times, spent = [0.1, 0.35, 0.6, 1.0], [0.001, 0.01, 0.03, 0.05]
    met = crossing_probabilities(times, spending_bounds(times, spent)).either
    assert np.cumsum(met) == pytest.approx(spent, abs=1e-9)


def test_crossing_agrees_with_simulated_brownian_motion() -> None:
    rng = np.random.default_rng(1)
    times, bounds = np.array([0.3, 0.5, 1.0]), np.array([2.0, 2.5, 2.1])
    steps = rng.normal(size=(400_000, 3)) * np.sqrt(np.diff(times, prepend=0))
    z = (np.cumsum(steps, axis=1) + 1.5 * times) / np.sqrt(times)
    first = (np.abs(z) >= bounds).argmax(axis=1)
    met = (np.abs(z) >= bounds).any(axis=1)
    found = crossing_probabilities(times, bounds, drift=1.5)
    for look in range(3):
        assert found.above[look] == pytest.approx(float((met & (first == look) & (z[:, look] > 0)).mean()), abs=2e-3)
        assert found.below[look] == pytest.approx(
            float((met & (first == look) & (z[np.arange(len(z)), first] < 0)).mean()), abs=1e-3
        )


def test_levels_of_t_spend_alpha_however_few_topics_there_are() -> None:
    rng = np.random.default_rng(1)
    looks, spent = [6, 12, 18, 24, 30], 0.05 * np.arange(1, 6) / 5
    levels = t_levels(looks, spent)
    x = rng.standard_normal((300_000, 30))
    met = np.zeros(len(x), bool)
    for n, level, total in zip(looks, levels, spent, strict=True):
        t = x[:, :n].mean(axis=1) / (x[:, :n].std(axis=1, ddof=1) / np.sqrt(n))
        met |= np.abs(t) >= stats.t.isf(level / 2, n - 1)
        assert met.mean() == pytest.approx(total, abs=0.0012)


def test_levels_of_t_tend_to_those_of_the_normal_boundary() -> None:
    times = np.arange(1, 5) / 4
    spent = SPENDING["obrien-fleming"](times, 0.05)
    normal = normal_levels(spending_bounds(times, spent))
    assert t_levels(4000 * np.arange(1, 5), spent) == pytest.approx(normal, rel=2e-3)
    assert (t_levels(10 * np.arange(1, 5), spent)[1:] < normal[1:]).all()
    assert t_levels([10, 12, 40], [0.01, 0.02, 0.05]).shape == (3,)  # looks too close for the exact chain


@pytest.mark.parametrize("times", [[], [0.0, 1.0], [0.5, 0.5], [1.0, 0.5]])
def test_looks_in_no_order_are_refused(times: list[float]) -> None:
    with pytest.raises(RequestError, match="cannot be made"):
        crossing_probabilities(times, [2.0] * len(times))


# --- confidence sequences


def test_intervals_of_a_sequence_are_nested_and_close_in() -> None:
    x = np.clip(np.random.default_rng(3).normal(0.05, 0.15, 400), -1, 1)
    found = [confidence_sequence(x[:n]) for n in (1, 5, 25, 100, 400)]
    for before, after in pairwise(found):
        assert before.lower <= after.lower <= after.upper <= before.upper
    assert found[-1].upper - found[-1].lower < 0.12
    assert found[-1].significant == (not found[-1].lower <= 0 <= found[-1].upper)


def test_a_sequence_keeps_what_it_once_ruled_out() -> None:
    x = np.concatenate([np.full(60, 0.5), np.full(8, -0.2)])
    assert confidence_sequence(x[:60]).lower > 0
    assert confidence_sequence(x).lower == pytest.approx(confidence_sequence(x[:60]).lower)


def test_other_bounds_are_another_unit() -> None:
    x = np.clip(np.random.default_rng(3).normal(0.05, 0.15, 60), -1, 1)
    one, ten = confidence_sequence(x), confidence_sequence(10 * x, lowest=-10, highest=10)
    assert (10 * one.lower, 10 * one.upper) == pytest.approx((ten.lower, ten.upper))
    assert one.p_value == pytest.approx(ten.p_value)


def test_differences_beyond_the_bounds_are_refused() -> None:
    with pytest.raises(InputError, match=r"outside -1 and 1"):
        confidence_sequence([0.1, 1.2])
    with pytest.raises(InputError, match="no differences yet"):
        confidence_sequence([])


# --- past experience, trials, pairs


def test_past_experience_sizes_at_the_mean_and_on_the_safe_side(table: ScoreTable) -> None:
    found = past_experience(table, difference=0.04)
    pairs = all_pairs(table).differences
    assert found.sds == pytest.approx(pairs.std(axis=1, ddof=1))
    missed = [
        (power_for_difference(topics=each.topics, difference=0.04, sd=found.sds) < 0.8).mean()
        for each in (found.typical, found.cautious)
    ]
    assert [found.typical.misses, found.cautious.misses] == missed
    assert found.cautious.misses < 0.07 < 0.3 < found.typical.misses
    assert len(found.to_frame()) == 2


def test_trial_plans_have_a_best_size() -> None:
    plan = plan_trial(difference=0.033, sd=[0.1, 0.15, 0.2])
    assert (plan.total == plan.main + plan.sizes).all()
    inner = plan.best
    assert ((inner > 0) & (inner < len(plan.sizes) - 1)).all()
    assert (plan.total.min(axis=1) / plan.needed > 1.3).all()
    assert sum(row["best"] for row in plan.to_dict()) == 3


@pytest.mark.parametrize("options", [{"sizes": [1]}, {"sizes": [2.5]}, {"confidence": 1.0}, {"sd": 0.0}])
def test_trials_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        plan_trial(**{"difference": 0.03, "sd": 0.15, **options})


def test_normal_differences_stray_as_the_formula_says() -> None:
    from scipy.special import ndtri

    normal = 0.1 * ndtri((np.arange(2000) + 0.5) / 2000)
    assert trial_coverage(normal, topics=30, repeats=20_000).ratio == pytest.approx(1.0, abs=0.06)


def test_random_pairs_have_a_baseline_of_the_second_quarter(table: ScoreTable) -> None:
    order = np.argsort(-table.of().mean(axis=0), kind="stable")
    rank = {table.systems[at]: place for place, at in enumerate(order.tolist())}
    pairs = random_pairs(table, 300, seed=1)
    assert {rank[b] for _, b in pairs.names} == {3, 4, 5}
    assert {rank[a] for a, _ in pairs.names} == set(range(9))
    assert all(a != b for a, b in pairs.names)


def test_one_pair_is_the_one_that_was_named(table: ScoreTable) -> None:
    two = table.select(systems=["s01", "s05"])
    expected = two.of()[:, 0] - two.of()[:, 1]
    assert (one_pair(two).differences[0] == expected).all()
    assert (one_pair(table, system="s05", baseline="s01").differences[0] == -expected).all()
    assert (one_pair(two, baseline="s01").differences[0] == -expected).all()
    assert (one_pair(two, system="s05").differences[0] == -expected).all()
    alone = table.select(systems=["s01"])
    assert (one_pair(alone).differences[0] == alone.of()[:, 0]).all()


def test_pairs_that_are_not_there_are_refused(table: ScoreTable) -> None:
    with pytest.raises(RequestError, match="which two are meant"):
        one_pair(table)
    with pytest.raises(RequestError, match="no system «x»"):
        one_pair(table, system="x", baseline="s01")
    with pytest.raises(RequestError, match="with itself"):
        one_pair(table, system="s01", baseline="s01")
    with pytest.raises(RequestError, match="too few for random pairs"):
        random_pairs(table.select(systems=["s01", "s02"]), 3)


def test_near_misses_are_found_by_peeking(table: ScoreTable) -> None:
    found = near_misses(all_pairs(table), first=20, repeats=100)
    p = stats.ttest_1samp(all_pairs(table).differences, 0, axis=1).pvalue
    assert found.pairs == ((p > 0.05) & (p < 0.10)).sum()
    assert 0.3 < found.found < 0.95
    assert found.lower <= found.found <= found.upper
    near = np.sort(p[(p > 0.05) & (p < 0.10)][: len(found.paths)])
    assert np.sort(found.paths[:, -1]) == pytest.approx(near)  # after all topics their order is of no account
    with pytest.raises(RequestError, match="no pair has p"):
        near_misses(all_pairs(table), low=0.05, high=0.0500001)


def test_t_squares_are_those_of_t() -> None:
    assert t_squares(0.05, 30)[[2, 10, 30]] == pytest.approx(stats.t.isf(0.025, [1, 9, 29]) ** 2)


def test_differences_that_are_not_detectable_are_refused_and_merely_large_numbers_are_not() -> None:
    assert prospect(StudyGoal(difference=1e-4, sd=3.0, plan="fixed")).enough == 7_063_974_461  # (2.8016 · sd / δ)²
    tiny = prospect(StudyGoal(difference=1e-4, sd=3.0, plan="anytime"))
    assert tiny.enough is None or tiny.enough >= tiny.expected
    for plan in ("fixed", "iterative", "hybrid", "group-sequential"):
        with pytest.raises(RequestError, match="is not detectable at an sd"):
            prospect(StudyGoal(difference=1e-5, sd=999.0, plan=plan))
