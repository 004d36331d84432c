"""Laws of reliability: known truths are found, solutions solve back, closed forms are what they stand for."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from cranfield import ScoreTable
from cranfield.methods.reliability import (
    ABSOLUTE,
    RELATIVE,
    Reliability,
    assess_reliability,
    generalise,
    rank_stability,
    reer,
    replicability,
    split_halves,
    swap_rates,
    swaps,
    topic_samples,
)
from cranfield.methods.reliability.generalisability import jackknife_errors
from cranfield.methods.variance.components import squares
from cranfield.stats.kendall import kendall_tau, kendall_taus, symmetric_tau_aps, tau_ap, tau_aps
from sizes import examples_of

Array = npt.NDArray[Any]


def table_of(values: Array) -> ScoreTable:
    topics, systems = values.shape
    names = tuple(f"s{at}" for at in range(systems))
    return ScoreTable(("x",), tuple(map(str, range(topics))), names, values[np.newaxis, :, :, np.newaxis])


def crossed(rng: np.random.Generator, topics: int, systems: int, parts: tuple[float, float, float]) -> Array:
    """Scores with known variance components of systems, topics and the rest."""
    of_systems, of_topics, rest = np.sqrt(parts)
    noise = rest * rng.normal(size=(topics, systems))
    return np.asarray(of_systems * rng.normal(size=systems) + of_topics * rng.normal(size=(topics, 1)) + noise)


def components(scores: Array) -> Array:
    found, (n, m) = squares(scores), scores.shape
    residual = found.residual
    return np.array([(found.between_systems - residual) / n, (found.between_topics - residual) / m, residual])


@settings(max_examples=examples_of(20), deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 7), st.integers(3, 7))
def test_the_jackknife_is_what_leaving_out_one_by_one_gives(seed: int, n: int, m: int) -> None:
    scores = np.random.default_rng(seed).uniform(0, 1, (n, m))
    pseudo = np.empty((n, m, 3))
    for i in range(n):
        for j in range(m):
            no_topic, no_system = np.delete(scores, i, axis=0), np.delete(scores, j, axis=1)
            neither = np.delete(no_topic, j, axis=1)
            pseudo[i, j] = (
                n * m * components(scores)
                - (n - 1) * m * components(no_topic)
                - n * (m - 1) * components(no_system)
                + (n - 1) * (m - 1) * components(neither)
            )
    expected = []
    for part in range(3):
        system, topic, rest = components(pseudo[:, :, part])
        expected.append(np.sqrt(max(system / m + topic / n + rest / (n * m), 0.0)))
    np.testing.assert_allclose(jackknife_errors(scores), expected, rtol=1e-6, atol=1e-9)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng, parts, n, m = np.random.default_rng(5), (0.01, 0.03, 0.02), 30, 15
    truth = {RELATIVE: parts[0] / (parts[0] + parts[2] / n), ABSOLUTE: parts[0] / (parts[0] + sum(parts[1:]) / n)}
    covered = dict.fromkeys(truth, 0)
    trials = 600
    for _ in range(trials):
        found = generalise(table_of(crossed(rng, n, m, parts)), confidence=0.9)
        for kind, value in truth.items():
            each = found.coefficient(kind)
            covered[kind] += each.lower <= value <= each.upper
    # Feldt's is exact; Arteaga, Jeyaratnam and Franklin's nearly so.
    error = np.sqrt(0.9 * 0.1 / trials)
    assert covered[RELATIVE] / trials == pytest.approx(0.9, abs=3 * error)
    assert covered[ABSOLUTE] / trials == pytest.approx(0.9, abs=3 * error + 0.01)


@settings(max_examples=examples_of(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 12), st.floats(0.05, 0.99))
def test_topics_for_a_target_reach_it_and_one_fewer_does_not(seed: int, n: int, m: int, target: float) -> None:
    found = generalise(table_of(np.random.default_rng(seed).uniform(0, 1, (n, m))))
    for kind in (RELATIVE, ABSOLUTE):
        needed = found.topics_for(target, kind)
        assert needed.lower <= needed.topics <= needed.upper
        if np.isfinite(needed.topics):
            assert found.coefficient(kind, int(needed.topics)).value >= target * (1 - 1e-12)
            if needed.topics > 1:
                assert found.coefficient(kind, int(needed.topics) - 1).value < target
        else:
            assert found.coefficient(kind, 10**9).value == 0


@settings(max_examples=examples_of(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 20), st.integers(2, 12))
def test_coefficients_lie_in_their_intervals_and_rise_with_topics(seed: int, n: int, m: int) -> None:
    found = generalise(table_of(np.random.default_rng(seed).uniform(0, 1, (n, m))))
    for kind in (RELATIVE, ABSOLUTE):
        values = [found.coefficient(kind, count) for count in (1, 5, 50)]
        for each in values:
            assert 0 <= each.lower <= each.value + 1e-12
            assert each.value <= each.upper + 1e-12 <= 1 + 1e-9
        assert [each.value for each in values] == sorted(each.value for each in values)
    assert found.relative().value >= found.absolute().value


def test_scores_moved_and_stretched_are_as_reliable() -> None:
    scores = crossed(np.random.default_rng(3), 20, 8, (0.01, 0.02, 0.02))
    one, other = (generalise(table_of(each)) for each in (scores, 100 * scores + 7))
    assert one.relative().value == pytest.approx(other.relative().value, rel=1e-9)
    assert one.absolute().upper == pytest.approx(other.absolute().upper, rel=1e-9)


@settings(max_examples=examples_of(100), deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=7), st.integers(0, 10**6))
def test_tau_ap_is_the_mean_over_all_orders_of_tied_items(estimate: list[int], seed: int) -> None:
    truth = np.random.default_rng(seed).permutation(len(estimate)).astype(float)
    found = []
    for order in permutations(range(len(estimate))):
        if all(estimate[a] >= estimate[b] for a, b in pairwise(order)):
            shares = [sum(truth[above] > truth[order[at]] for above in order[:at]) / at for at in range(1, len(order))]
            found.append(2 * np.mean(shares) - 1)
    assert tau_ap(np.array(estimate, float), truth) == pytest.approx(np.mean(found))


def test_tau_ap_is_1_for_the_same_order_and_minus_1_for_the_reverse() -> None:
    order = np.arange(9.0)
    assert tau_ap(order, 3 * order) == 1
    assert tau_ap(order, -order) == -1
    assert symmetric_tau_aps(order[np.newaxis], order[np.newaxis] ** 2) == [1]
    assert np.isnan(tau_ap(order[:1], order[:1]))


@settings(max_examples=examples_of(30), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 9))
def test_rows_are_correlated_one_by_one(seed: int, rows: int, items: int) -> None:
    a, b = np.random.default_rng(seed).integers(0, 5, (2, rows, items)).astype(float)
    expected = [stats.kendalltau(*pair).statistic for pair in zip(a, b, strict=True)]
    np.testing.assert_allclose(kendall_taus(a, b), expected, atol=1e-12)
    np.testing.assert_allclose(tau_aps(a, b), [tau_ap(*pair) for pair in zip(a, b, strict=True)], atol=1e-12)


def test_the_closed_form_is_nearly_the_probability_of_opposite_signs() -> None:
    z = np.linspace(0, 3, 61)
    exact = 2 * special.ndtr(z) * special.ndtr(-z)
    assert np.abs(reer(z, 1, np.ones(1)) - exact).max() < 0.006
    assert reer(0.0, 50, np.zeros(1))[0] == 0.5
    assert reer(0.1, 50, np.zeros(1))[0] == 0


def test_normal_scores_swap_as_the_closed_form_says() -> None:
    rng = np.random.default_rng(2)
    scores = crossed(rng, 400, 12, (0.01, 0.03, 0.02))
    found = swap_rates(table_of(scores), sizes=(10, 40), trials=300, replacement=True)
    for row in found.totals():
        assert row["swap_rate"] == pytest.approx(row["closed_form_paired"], abs=0.01)


def test_the_difference_for_a_rate_solves_back() -> None:
    found = swap_rates(table_of(crossed(np.random.default_rng(2), 40, 9, (0.01, 0.03, 0.02))), trials=10)
    for paired in (False, True):
        for rate in (0.01, 0.05, 0.3):
            needed = found.difference_for(rate, 50, paired=paired)
            assert found.closed_form(50, needed, paired=paired) == pytest.approx(rate, rel=1e-9)


def test_normal_systems_are_ordered_as_expected() -> None:
    rng = np.random.default_rng(8)
    parts, n, m = (0.01, 0.03, 0.02), 10, 60
    taus = []
    for _ in range(60):
        of_systems = rng.normal(scale=np.sqrt(parts[0]), size=m)
        sets = [of_systems + rng.normal(scale=np.sqrt(parts[2] / n), size=m) for _ in (0, 1)]
        taus.append(kendall_tau(*sets))
    expected = 2 / np.pi * np.arcsin(parts[0] / (parts[0] + parts[2] / n))
    assert np.mean(taus) == pytest.approx(expected, abs=0.01)


def test_equal_systems_swap_half_the_time_and_little_is_found() -> None:
    scores = np.random.default_rng(4).normal(size=(60, 10))
    table = table_of(scores)
    assert swap_rates(table, trials=300).overall == pytest.approx(np.full(5, 0.5), abs=0.05)
    found = split_halves(table, trials=200)
    assert found.significant_share < 0.01
    again = found.replication.share("replicated")
    assert again < 0.2 or np.isnan(again)


def test_systems_far_apart_never_swap_and_always_repeat() -> None:
    scores = np.random.default_rng(4).normal(scale=0.01, size=(40, 5)) + np.arange(5)
    table = table_of(scores)
    assert swap_rates(table, trials=20).overall.max() == 0
    found = split_halves(table, trials=20)
    share = found.replication.share
    assert (found.significant_share, share("replicated"), share("not_significant")) == (1, 1, 0)
    assert found.replication.interval("replicated") == (1, 1)
    assert rank_stability(table, trials=20).tau.min() == 1


def test_outcomes_add_up_and_swaps_are_disagreements_of_kendall() -> None:
    table = table_of(crossed(np.random.default_rng(6), 30, 8, (0.004, 0.03, 0.02)))
    found = split_halves(table, trials=50)
    replication = found.replication
    assert replication.outcomes.sum(axis=2).tolist() == replication.significant.tolist()
    shares = [replication.share(name) for name in ("replicated", "not_significant", "reversed")]
    assert sum(shares) == pytest.approx(1)
    # Each draws sets of its own, and untied τ = 1 − 2·(share of discordant pairs).
    rates, taus = swap_rates(table, trials=1000), rank_stability(table, trials=1000)
    assert 1 - 2 * rates.overall == pytest.approx(taus.tau.mean(axis=1), abs=0.02)
    assert (1 - 2 * rates.overall != taus.tau.mean(axis=1)).all()


def numbers(found: Reliability) -> list[Any]:
    return [found.to_dict(part) for part in ("headline", "swaps", "halves", "p_values", "rankings")]


@pytest.mark.parametrize("test", ["tukey", "t", "bootstrap"])
def test_no_number_depends_on_the_workers(test: str) -> None:
    table = table_of(crossed(np.random.default_rng(6), 24, 6, (0.01, 0.03, 0.02)))
    options: dict[str, Any] = {"trials": 130, "test": test, "resamples": 200}
    one, three = (assess_reliability(table, workers=count, **options) for count in (1, 3))
    assert repr(numbers(one)) == repr(numbers(three))
    other = assess_reliability(table, seed=2, **options)
    assert repr(numbers(one)) != repr(numbers(other))


def test_progress_only_goes_forward_to_its_end() -> None:
    table = table_of(crossed(np.random.default_rng(6), 24, 6, (0.01, 0.03, 0.02)))
    told: list[tuple[int, int]] = []
    watched = assess_reliability(table, trials=300, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    assert len(told) > 20
    assert repr(numbers(watched)) == repr(numbers(assess_reliability(table, trials=300)))


def test_tasks_can_be_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(crossed(np.random.default_rng(6), 24, 6, (0.01, 0.03, 0.02)))
    here = assess_reliability(table, trials=60)
    sent = []

    def away(function: Callable[[Any], Any], items: Iterable[Any], *, workers: int | None = None) -> list[Any]:
        packed = [pickle.dumps((function, item)) for item in items]
        sent.extend(packed)
        done = []
        for each in reversed(packed):  # in any order
            function, item = pickle.loads(each)
            done.append(pickle.loads(pickle.dumps(function(item))))
        return done[::-1]

    for module in (swaps, replicability, topic_samples):
        monkeypatch.setattr(module, "spread", away)
    there = assess_reliability(table, trials=60)
    assert len(sent) > 10
    assert repr(numbers(here)) == repr(numbers(there))


def test_the_paired_closed_form_uses_the_variance_of_differences() -> None:
    scores = crossed(np.random.default_rng(6), 24, 3, (0.01, 0.03, 0.02))
    found = swap_rates(table_of(scores), trials=10)
    gap = scores[:, 0] - scores[:, 1]
    assert found.paired_variance[0] == pytest.approx(stats.tvar(gap))
    assert found.own_variance[0] == pytest.approx(stats.tvar(scores[:, 0]) + stats.tvar(scores[:, 1]))
    assert found.difference[0] == pytest.approx(abs(gap.mean()))
