"""The solver: what it solves for reaches the goal, n − 1 topics do not, and solving back gives the number again."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.errors import RequestError
from cranfield.methods.design import GOALS, METHODS, Clustered, Design, Estimated, Goal, Judged, Replicated, Sd, Spread
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.solver import achieved, size, solve
from cranfield.types import Array
from sizes import sized

COUNT = sized(1_500, 10_000)
CASES = [
    (kind, name)
    for kind, methods in METHODS.items()
    for name in methods
    if kind != "effect_size" and name != "interval-probability"
]


def random_designs(kind: str, name: str, count: int) -> tuple[Design, Goal]:
    """Designs with 3 to 400 topics or so, whatever the goal is."""
    rng = np.random.default_rng([1, len(kind), len(name)])
    sd, topics = rng.uniform(0.05, 0.4, count), np.round(np.exp(rng.uniform(np.log(5), np.log(400), count)))
    systems = rng.choice([2, 3, 5, 10, 40], count)
    spread = Sd(sd=sd, systems_variance=rng.uniform(0.001, 0.02, count))
    design = Design(topics=topics, systems=systems, test=name, alpha=rng.choice([0.01, 0.05], count), spread=spread)
    if kind in ("width", "sensitivity", "reliability"):
        return design, Goal(kind, at_least=None)
    power = rng.uniform(0.5, 0.95, count)
    return design, Goal(kind, np.full(count, np.nan), power)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_solving_back_gives_the_same_design(kind: str, name: str) -> None:
    share = COUNT // len(CASES) + 1
    design, goal = random_designs(kind, name, share)
    value = solve(design, goal, kind)
    known = np.isfinite(value)
    assert known.mean() > 0.8  # few topics detect nothing by some approximations
    design, goal = at(design, goal, known, value)
    target = np.asarray(goal.value if goal.at_least is None else goal.at_least)
    assert achieved(design, goal) == pytest.approx(target, rel=1e-7)
    smaller = kind in ("width", "sensitivity")
    # A goal that is a little easier than what n topics reach needs n, or n − 1 where the steps are that small.
    easier = goal._replace(value=np.asarray(goal.value) * (1 - 1e-7 if kind == "reliability" else 1 + 1e-7))
    found = size(design, easier)
    assert found.reached.all()
    wanted = np.asarray(easier.value if goal.at_least is None else easier.at_least)
    ours, below = (-found.achieved, -found.below) if smaller else (found.achieved, found.below)
    wanted = -wanted if smaller else wanted
    assert (ours >= wanted).all()
    assert not (below >= wanted).any()  # nan where there is no n − 1
    if name != "sakai":  # which is not monotone with a handful of topics
        assert (found.topics <= np.asarray(design.topics)).all()
        assert (found.topics >= np.asarray(design.topics) - 2).mean() > 0.95


def at(design: Design, goal: Goal, known: Array, value: Array) -> tuple[Design, Goal]:
    least = None if goal.at_least is None else np.asarray(goal.at_least)[known]
    chosen = Design(
        topics=np.asarray(design.topics)[known],
        systems=np.asarray(design.systems)[known],
        test=design.test,
        alpha=np.asarray(design.alpha)[known],
        spread=design.spread.at(np.flatnonzero(known)),
    )
    return chosen, Goal(goal.kind, value[known], least)


@pytest.mark.parametrize(
    "spread",
    [
        Judged(sd=0.15, judge_correlation=[0.3, 0.6, 0.9], judged_topics=500),
        Replicated(between=0.0116, within=0.0062, items=np.array([1, 3, 10])),
        Replicated(structure="prompts", between=0.01, within=0.006, shared_variance=0.0002, items=np.array([5, 9, 20])),
        Replicated(structure="seeds", between=0.01, shared_variance=0.0001, repeats=np.array([5, 9, 20])),
        Clustered(variance=0.0004, df=19.0, pilot_topics=100),
        Estimated(sd=[0.1, 0.15, 0.2], df=[8.0, 30.0, 200.0]),
    ],
)
def test_n_reaches_the_power_under_every_spread_and_n_minus_1_does_not(spread: Spread) -> None:
    found = size(Design(spread=spread), Goal("difference", 0.05))
    assert found.reached.all()
    assert (found.achieved >= 0.8).all()
    assert (found.below < 0.8).all()
    detected = solve(Design(topics=found.topics, spread=spread), Goal("difference"), "difference")
    assert (detected <= 0.05 * (1 + 1e-9)).all()


def test_a_judge_detects_more_and_an_estimate_is_not_trusted_more_than_it_is_worth() -> None:
    goal, plain = Goal("difference", 0.05), Sd(sd=0.15)
    topics = {
        name: int(solve(Design(spread=spread), goal))
        for name, spread in {
            "plain": plain,
            "judged": Judged(sd=0.15, judge_correlation=0.6, judged_topics=500),
            "estimated": Estimated(sd=0.15, df=20.0),
        }.items()
    }
    assert topics["judged"] < topics["plain"] < topics["estimated"]
    for r in (0.0, 1e-9):  # a judge that knows nothing adds nothing
        useless = Judged(sd=0.15, judge_correlation=r, judged_topics=500)
        assert int(solve(Design(spread=useless), goal)) >= topics["plain"]


@pytest.mark.parametrize(
    ("systems", "test", "difference", "topics"),
    [
        ([2, 5, 10, 20, 50], "tukey", 0.05, [73, 116, 145, 174, 211]),
        ([2, 5, 10, 20, 50, 129], "holm", 0.05, [73, 124, 157, 189, 229, 270]),
        ([5, 10, 20, 50, 129], "holm", 0.15, [18, 23, 27, 33, 39]),
    ],
)
def test_topics_for_a_pair_of_many_systems(systems: list[int], test: str, difference: float, topics: list[int]) -> None:
    found = size(Design(systems=systems, test=test, spread=Sd(sd=0.15)), Goal("difference", difference))
    assert found.topics.tolist() == topics
    assert (found.below < 0.8).all()


def test_the_counts_of_a_spread_are_solved_for() -> None:
    goal = Goal("difference", 0.05)
    judged = Judged(sd=0.15, judge_correlation=0.6, judged_topics=60)
    fewest = int(solve(Design(topics=52, spread=judged), goal, "judged_topics"))
    assert fewest == 335
    powers = [
        achieved(Design(topics=52, spread=Judged(sd=0.15, judge_correlation=0.6, judged_topics=n)), goal)
        for n in (334, 335)
    ]
    assert powers[0] < 0.8 <= powers[1]
    nested = Replicated(between=0.0116, within=0.0062, items=1)
    assert int(solve(Design(topics=45, spread=nested), goal, "items")) == 3
    assert np.isnan(solve(Design(topics=20, spread=nested), goal, "items", limit=1000))


@pytest.mark.parametrize("test", ["t", "holm", "max-t"])
def test_a_judge_that_labels_nothing_is_people_alone(test: str) -> None:
    rng = np.random.default_rng(4)
    sd, topics, systems = rng.uniform(0.05, 0.4, 50), rng.integers(2, 200, 50), rng.choice([2, 3, 10], 50)
    spreads = (Sd(sd=sd), Judged(sd=sd, judge_correlation=rng.uniform(-0.9, 0.9, 50), judged_topics=0))
    alone, judged = (Design(topics=topics, systems=systems, test=test, spread=spread) for spread in spreads)
    for goal in (Goal("difference", rng.uniform(0.02, 0.2, 50)), Goal("width", at_least=None)):
        assert achieved(judged, goal).tolist() == achieved(alone, goal).tolist()
    assert Costs(topic=2, judged_topic=5).of(judged).tolist() == (2.0 * topics).tolist()


@pytest.mark.parametrize("budget", [99.0, 100.0, 1234.5])
def test_a_budget_pays_for_a_count_and_not_for_one_more(budget: float) -> None:
    costs = Costs(topic=10, judged_topic=0.1, item=1, repeat=0.3)
    spreads: list[tuple[Spread, str]] = [
        (Judged(sd=0.15, judge_correlation=0.6), "judged_topics"),
        (Replicated(items=np.array([1, 3]), repeats=np.array([2, 1])), "topics"),
        (Replicated(structure="prompts", items=np.array([5, 9])), "topics"),
        (Replicated(structure="seeds", repeats=np.array([5, 9])), "topics"),
    ]
    for spread, name in spreads:
        design = Design(topics=5, spread=spread)
        most = costs.affordable(design, name, budget, 100_000)
        assert (most >= 1).all()
        assert (costs.of(design.with_numbers(**{name: most})) <= budget + 1e-9).all()
        assert (costs.of(design.with_numbers(**{name: most + 1})) > budget).all()


def test_two_one_sided_tests_take_97_topics() -> None:
    found = size(Design(test="tost"), Goal("equivalence", 0.3))
    assert (int(found.topics), round(float(found.achieved), 4), round(float(found.below), 4)) == (97, 0.8026, 0.7972)
    assert int(solve(Design(test="normal"), Goal("equivalence", 0.3))) == 96


def test_every_goal_has_its_methods_and_an_unknown_one_is_refused() -> None:
    assert list(METHODS) == list(GOALS)
    with pytest.raises(RequestError, match="no goal «fame»"):
        solve(Design(), Goal("fame", 0.1))
    with pytest.raises(RequestError, match="no method «tost»"):
        solve(Design(test="tost"), Goal("difference", 0.1))
    with pytest.raises(RequestError, match="no number of this design"):
        solve(Design(topics=50), Goal("difference", 0.1), "luck")
    with pytest.raises(RequestError, match="`topics` cannot be nan"):
        achieved(Design(), Goal("difference", 0.1))
