"""Laws of comparisons: error rates, invariance, symmetry."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import InputError, RequestError, ScoreTable
from cranfield.methods.contrasts import MODELS, anova, compare, decompose
from cranfield.methods.contrasts.comparison import ALL_TESTS
from cranfield.methods.contrasts.families import RESAMPLED
from cranfield.methods.sharding.shard_models import replicate_study
from sizes import examples_of, sized

Array = npt.NDArray[Any]


def table_of(values: Array) -> ScoreTable:
    topics, systems = values.shape[:2]
    shards = tuple(map(str, range(values.shape[2]))) if values.ndim == 3 else ()
    shaped = values.reshape(1, topics, systems, -1)
    return ScoreTable(("x",), tuple(map(str, range(topics))), tuple(f"s{at}" for at in range(systems)), shaped, shards)


@settings(max_examples=examples_of(40), deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(2, 6), st.integers(2, 5), st.floats(-5, 5))
def test_md6_system_numbers_do_not_change_with_the_undefined_value(
    seed: int, topics: int, systems: int, shards: int, x: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 1, (topics, systems, shards))
    hollow = rng.random((topics, shards)) < 0.3
    zero, other = (np.where(hollow[:, None, :], value, scores) for value in (0.0, x))
    before, after = decompose(zero), decompose(other)
    gaps = np.subtract.outer
    np.testing.assert_allclose(
        gaps(before.system_means, before.system_means), gaps(after.system_means, after.system_means), atol=1e-12
    )  # Proposition 7.2
    assert after.ss["system"] == pytest.approx(before.ss["system"], rel=1e-9, abs=1e-12)  # 7.3
    assert after.residual_ss == pytest.approx(before.residual_ss, rel=1e-9, abs=1e-12)  # 7.4
    first, second = anova(before, "MD6")["system"], anova(after, "MD6")["system"]
    assert (first.f, first.omega_squared) == pytest.approx((second.f, second.omega_squared), rel=1e-8)


@settings(max_examples=examples_of(30), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 6), st.integers(2, 5))
def test_sums_of_squares_add_up_for_every_model(seed: int, topics: int, systems: int, shards: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(topics, systems, shards))
    found = decompose(scores)
    total = ((scores - scores.mean()) ** 2).sum()
    for model in MODELS:
        if model != "MD1":
            table = anova(found, model)
            assert sum(effect.ss for effect in table.effects) + table.error.ss == pytest.approx(total, rel=1e-9)
            assert sum(effect.df for effect in table.effects) + table.error.df == scores.size - 1


def test_random_topics_with_replicates_are_md1_on_their_means() -> None:
    scores = np.random.default_rng(4).normal(size=(12, 5, 3))
    found = replicate_study(table_of(scores), halvings=0)
    whole, random = found.get("MD1")[0], found.get("MD6r")[0]
    np.testing.assert_allclose(np.asarray(whole.p_value), np.asarray(random.p_value), rtol=1e-9)


def _drawn(kind: str, rng: np.random.Generator, topics: int, systems: int) -> Array:
    """Scores of equally good systems: topics differ, systems do not."""
    shared = rng.normal(0, 1, (topics, 1))
    own = rng.normal(0, 1, (topics, systems))
    if kind == "normal":
        return shared + own
    if kind == "skewed":
        return np.exp(0.6 * shared + 0.6 * own)
    return np.round(np.clip(5 + 2 * shared + 1.5 * own, 0, 10)) / 10


@pytest.mark.parametrize("kind", ["normal", "skewed", "discrete"])
@pytest.mark.parametrize(("test", "rounds"), [("tukey", sized(200, 600)), ("tukey-permutation", sized(100, 300))])
def test_family_wise_error_is_alpha_when_all_systems_are_equal(kind: str, test: str, rounds: int) -> None:
    rng = np.random.default_rng(99)
    wrong = sum(
        compare(
            table_of(_drawn(kind, rng, 30, 6)), test=test, resamples=400 if test in RESAMPLED else None, seed=at
        ).significant.any()
        for at in range(rounds)
    )
    margin = 3.5 * np.sqrt(0.05 * 0.95 / rounds)
    assert abs(wrong / rounds - 0.05) < margin


@pytest.mark.parametrize("test", ALL_TESTS)
def test_renaming_and_reordering_systems_changes_nothing(test: str) -> None:
    values = np.random.default_rng(8).normal([0, 0.3, 0.5, 1.0], 1.0, size=(25, 4))
    table = table_of(values)
    turned = table.select(systems=table.systems[::-1])
    first, second = (compare(each, test=test, resamples=500 if test in RESAMPLED else None) for each in (table, turned))
    assert first.systems == second.systems
    if test not in ("tukey-permutation",):  # its permutations move with the columns
        np.testing.assert_allclose(first.p_adjusted, second.p_adjusted, rtol=1e-9)
    assert first.seed == (1 if test in ("max-t", "tukey-permutation", "bootstrap", "permutation") else None)


@pytest.mark.parametrize("test", ALL_TESTS)
def test_no_p_value_is_zero_or_above_one(test: str) -> None:
    values = np.random.default_rng(2).normal([0, 5], 0.01, size=(30, 2))
    found = compare(table_of(values), test=test, resamples=200 if test in RESAMPLED else None)
    assert 0 < found.p_adjusted[0] <= 1
    assert found.significant[0]


def test_the_same_seed_gives_the_same_p_and_another_does_not() -> None:
    table = table_of(np.random.default_rng(3).normal(0, 1, (20, 4)))
    one, same, other = (
        compare(table, test="tukey-permutation", resamples=500, seed=seed).p_value for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_tukey_pairs_differ_exactly_when_their_intervals_do_not_touch() -> None:
    found = compare(table_of(np.random.default_rng(6).normal([0, 0.2, 0.6, 1, 1.3], 1.0, size=(40, 5))), test="tukey")
    apart = found.means[found.first] - found.half_width > found.means[found.second] + found.half_width
    np.testing.assert_array_equal(apart, found.significant)  # FS19 §5.1


def test_groups_are_runs_of_systems_that_cannot_be_told_apart() -> None:
    means = np.array([0.0, 0.0, 1.0, 1.0])
    found = compare(table_of(np.random.default_rng(6).normal(means, 0.05, size=(30, 4))), test="tukey")
    assert found.groups() == [(0, 1), (2, 3)]
    assert len(found.top_group) == 2


def test_equal_systems_are_shown_to_be_equivalent_and_different_ones_are_not() -> None:
    values = np.random.default_rng(1).normal([0.5, 0.5, 0.8], 0.02, size=(50, 3))
    found = compare(table_of(values), equivalence=0.05)
    verdicts = {(row["system_a"], row["system_b"]): row["equivalent"] for row in found.to_dict()}
    assert [verdict for pair, verdict in verdicts.items() if "s2" not in pair] == [True]
    assert not any(verdict for pair, verdict in verdicts.items() if "s2" in pair)


def test_baselines_leave_only_their_pairs() -> None:
    table = table_of(np.random.default_rng(1).normal(0, 1, (20, 5)))
    found = compare(table, test="t", baseline=["s1", "s3"])
    assert len(found.first) == 7
    assert all({row["system_a"], row["system_b"]} & {"s1", "s3"} for row in found.to_dict())


def test_constant_scores_differ_in_nothing() -> None:
    found = compare(table_of(np.full((10, 3), 0.5)))
    assert found.significant_pairs == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((5, 1)), "two systems"),
        (np.zeros((1, 4)), "two topics"),
        (np.array([[0.1, np.nan], [0.2, 0.3], [0.1, 0.4]]), "1 of 6 scores of x is missing"),
    ],
)
def test_tables_nothing_can_be_made_of_are_refused(values: Array, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(table_of(values))


def test_senseless_requests_are_refused() -> None:
    table = table_of(np.random.default_rng(1).normal(0, 1, (20, 3)))
    for wrong in (
        {"test": "z"},
        {"alpha": 0.0},
        {"correct": "holm", "test": "max-t"},
        {"baseline": ["nobody"]},
        {"equivalence": 0.0},
        {"non_inferiority": 0.1},
        {"non_inferiority": -0.1, "baseline": ["s0"]},
        {"test": "dunnett"},
        {"test": "dunnett", "correct": "holm", "baseline": ["s0"]},
        {"baseline": ["s0", "s1", "s2", "s0"], "test": "tukey", "alpha": 2.0},
    ):
        with pytest.raises(RequestError):
            compare(table, **wrong)
    with pytest.raises(RequestError, match="shards"):
        compare(table_of(np.zeros((4, 3, 2))))
    with pytest.raises(RequestError, match="column «shard»"):
        replicate_study(table)
