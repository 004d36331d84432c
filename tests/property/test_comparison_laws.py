"""Laws of comparisons: error rates, invariance, symmetry."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield import InputError, RequestError, ScoreTable
from cranfield.methods.contrasts import compare, comparing
from cranfield.methods.contrasts.comparing import ALL_TESTS
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.corrections import CORRECTIONS
from cranfield.methods.contrasts.pair_tests import RESAMPLED
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.ranking import HeldT, PairedT, letters
from cranfield.methods.sharding import MODELS, anova, decompose
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


def test_letters_join_the_systems_that_cannot_be_told_apart() -> None:
    means = np.array([0.0, 0.0, 1.0, 1.0])
    found = compare(table_of(np.random.default_rng(6).normal(means, 0.05, size=(30, 4))), test="tukey")
    assert found.letters == ("a", "a", "b", "b")
    assert found.top_group == found.systems[:2]


# --- what follows from the pairs: letters, the best, ranks

SCORES = ("normal", "rounded", "binary", "copies", "shifted", "near copies")


def scores_of(kind: str, seed: int, topics: int, systems: int) -> Array:
    """Random scores: with ties, with systems that are equal, differ by a constant, or nearly are."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(topics, 1)) + rng.normal(rng.normal(0, 0.6, systems), 0.8, (topics, systems))
    half = systems // 2
    if kind == "rounded":
        return np.asarray(np.round(scores))
    if kind == "binary":
        return np.asarray(scores > 0, float)
    if kind == "copies":
        scores[:, half:] = scores[:, rng.integers(0, max(half, 1), systems - half)]
    if kind == "shifted":
        scores[:, half:] = scores[:, : systems - half] + rng.choice([0.0, 0.3], systems - half)
    if kind == "near copies":
        scores[:, half:] = scores[:, : systems - half]
        scores[0, half:] += 1e-5
    return np.asarray(scores)


def shared(names: tuple[str, ...], first: int, second: int) -> bool:
    return bool(set(names[first].split()) & set(names[second].split()))


@settings(max_examples=examples_of(120), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 14), st.floats(0, 1))
def test_two_systems_share_a_letter_exactly_when_their_pair_is_not_significant(
    seed: int, systems: int, share: float
) -> None:
    pairs = all_pairs(systems)  # any graph of significant pairs, also one that no scores have
    significant = np.random.default_rng(seed).random(len(pairs)) < share
    names = letters(pairs, significant, systems)
    assert all(names)
    for first, second, differ in zip(pairs.first.tolist(), pairs.second.tolist(), significant.tolist(), strict=True):
        assert shared(names, first, second) != differ
    own = {name for each in names for name in each.split()}
    for letter in own:  # no letter is superfluous
        mine = [at for at in range(systems) if letter in names[at].split()]
        others = [set(each.split()) - {letter} for each in names]
        needed = [(a, b) for a in mine for b in mine if a <= b and not others[a] & others[b]]
        assert needed, letter


@settings(max_examples=examples_of(60), deadline=None)
@given(
    st.sampled_from(SCORES), st.integers(0, 10**6), st.integers(4, 30), st.integers(2, 12), st.sampled_from(ALL_TESTS)
)
def test_letters_of_a_comparison_say_which_pairs_are_significant(
    kind: str, seed: int, topics: int, systems: int, test: str
) -> None:
    scores = scores_of(kind, seed, topics, systems)
    found = compare(table_of(scores), test=test, resamples=99 if test in RESAMPLED else None)
    for first, second, differ in zip(found.first, found.second, found.significant, strict=True):
        assert shared(found.letters, first, second) != differ


@settings(max_examples=examples_of(120), deadline=None)
@given(
    st.sampled_from(SCORES),
    st.integers(0, 10**6),
    st.integers(3, 30),
    st.integers(3, 14),
    st.sampled_from([0.01, 0.05, 0.3]),
    st.booleans(),
)
def test_the_best_and_the_ranks_are_the_same_from_held_pairs_and_from_scores(
    kind: str, seed: int, topics: int, systems: int, alpha: float, low: bool
) -> None:
    table = table_of(scores_of(kind, seed, topics, systems))
    held, found = held_and_on_demand(table, alpha=alpha, lower_is_better=low)
    for name in ("may_be_best", "rank_lower", "rank_upper"):
        np.testing.assert_array_equal(getattr(held.standing, name), getattr(found.standing, name), err_msg=name)
    assert held.top_group == found.top_group
    for one, other in zip(held.ranks("simultaneous"), found.ranks("simultaneous"), strict=True):
        np.testing.assert_array_equal(one, other)


def held_and_on_demand(table: ScoreTable, **asked: Any) -> tuple[Comparison, Comparison]:
    """The default test with pairs in memory, and without, some rows of the matrix of t at a time."""
    held = compare(table, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "MOST_PAIRS", 0)
        patch.setattr("cranfield.methods.contrasts.ranking._ROWS", 4 * len(table.systems))
        patch.setattr("cranfield.methods.contrasts.tested_pairs._BLOCK", 48)
        found = compare(table, **asked)
        for each in (found.standing, found.p_adjusted, found.significant_pairs):  # while there are many blocks
            assert each is not None
    assert (held.pairs.is_held, found.pairs.is_held) == (True, False)
    assert (type(held.pairs.matrix), type(found.pairs.matrix)) == (HeldT, PairedT)
    return held, found


@settings(max_examples=examples_of(60), deadline=None)
@given(
    st.sampled_from(SCORES), st.integers(0, 10**6), st.integers(5, 30), st.integers(3, 10), st.sampled_from([0.05, 0.3])
)
def test_ranks_and_the_best_are_those_of_the_tests_one_by_one(
    kind: str, seed: int, topics: int, systems: int, alpha: float
) -> None:
    scores = scores_of(kind, seed, topics, systems)
    found = compare(table_of(scores), alpha=alpha)
    column = [int(name[1:]) for name in found.systems]
    for at, own in enumerate(column):
        gaps = np.delete(scores - scores[:, [own]], own, axis=1)  # of the others from this system
        vary = np.ptp(gaps, axis=0) > 1e-9
        p_value = np.ones((2, systems - 1))
        if vary.any():
            p_value[0, vary] = stats.ttest_1samp(gaps[:, vary], 0).pvalue
            p_value[1, vary] = stats.ttest_1samp(gaps[:, vary], 0, alternative="greater").pvalue
        assert found.standing.may_be_best[at] == (p_value[1] > alpha / (systems - 1)).all()
        shown, up = CORRECTIONS["holm"](p_value[0]) <= alpha, gaps.mean(axis=0) > 0
        assert found.standing.rank_lower[at] == 1 + (shown & up).sum()
        assert found.standing.rank_upper[at] == systems - (shown & ~up).sum()


# --- corrections


@settings(max_examples=examples_of(120), deadline=None)
@given(
    st.sampled_from([kind for kind in SCORES if kind != "near copies"]),
    st.integers(0, 10**6),
    st.integers(3, 30),
    st.integers(3, 14),
    st.sampled_from([0.001, 0.05, 0.3]),
)
def test_holm_without_a_place_for_every_pair_is_holm_of_all_pairs(
    kind: str, seed: int, topics: int, systems: int, alpha: float
) -> None:
    held, found = held_and_on_demand(table_of(scores_of(kind, seed, topics, systems)), alpha=alpha)
    np.testing.assert_allclose(found.p_adjusted, held.p_adjusted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.p_adjusted, CORRECTIONS["holm"](held.p_value), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.significant, held.significant)
    assert found.significant_pairs == held.significant_pairs == int(found.significant.sum())
    assert found.interval == held.interval
    for name in ("lower", "upper", "standard_error", "effect_size", "p_value", "wins"):
        np.testing.assert_allclose(getattr(found, name), getattr(held, name), rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal((found.lower > 0) | (found.upper < 0), found.significant)


@pytest.mark.parametrize("seed", [3, 33, 52, 226])
def test_holm_on_demand_is_that_of_all_pairs_also_of_systems_that_are_nearly_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(50, 6))
    scores = np.hstack([scores, scores + 0.003 * rng.normal(0.1, 1, size=(50, 6))])
    held, found = held_and_on_demand(table_of(scores))
    # The |t| of all pairs come from products of scores, of which the difference of near copies loses digits.
    np.testing.assert_allclose(found.p_adjusted, held.p_adjusted, atol=1e-6)
    np.testing.assert_array_equal(found.significant, held.significant)
    assert found.significant_pairs == held.significant_pairs


@settings(max_examples=examples_of(80), deadline=None)
@given(
    st.sampled_from(SCORES),
    st.integers(0, 10**6),
    st.integers(3, 40),
    st.integers(2, 8),
    st.sampled_from([0.01, 0.05, 0.3]),
    st.booleans(),
)
def test_max_t_is_never_less_powerful_than_holm_and_its_intervals_agree_with_its_verdicts(
    kind: str, seed: int, topics: int, systems: int, alpha: float, with_baseline: bool
) -> None:
    table = table_of(scores_of(kind, seed, topics, systems))
    asked: dict[str, Any] = {"alpha": alpha, "baseline": "s0" if with_baseline else ()}
    holm, found = compare(table, **asked), compare(table, test="max-t", resamples=99, **asked)
    assert (found.p_adjusted <= holm.p_adjusted * (1 + 1e-12)).all()
    np.testing.assert_array_equal(found.p_value, holm.p_value)
    np.testing.assert_array_equal((found.lower > 0) | (found.upper < 0), found.significant)
    order = np.argsort(found.p_value, kind="stable")
    assert (np.diff(found.p_adjusted[order]) >= -1e-15).all()  # no step overtakes the one before
    if topics < 20:
        np.testing.assert_array_equal(found.p_adjusted, holm.p_adjusted)
    assert (found.p_adjusted[np.isnan(found.lower)] == 1).all()


@settings(max_examples=examples_of(80), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.booleans(), st.sampled_from([0.01, 0.05, 0.3]))
def test_a_step_up_correction_never_asks_for_more_than_the_step_down_one(
    seed: int, count: int, ties: bool, alpha: float
) -> None:
    p_value = np.random.default_rng(seed).uniform(0, 1, count) ** 3
    p_value = np.maximum(np.round(p_value, 1), 1e-9) if ties else p_value
    found = {name: correct(p_value) for name, correct in CORRECTIONS.items()}
    slack = 1 + 1e-12
    assert (found["hochberg"] <= found["holm"] * slack).all()
    assert (found["bh"] <= found["hochberg"] * slack).all()
    assert (found["bh"] <= found["by"] * slack).all()
    for name, adjusted in found.items():
        assert ((p_value <= adjusted * slack) & (adjusted <= 1)).all(), name
        assert (np.diff(adjusted[np.argsort(p_value, kind="stable")]) >= 0).all(), name


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
        {"non_inferiority": 0.1},
        {"test": "dunnett"},
        {"test": "dunnett", "correct": "holm", "baseline": ["s0"]},
        {"baseline": ["s0", "s1", "s2", "s0"], "test": "tukey", "alpha": 2.0},
    ):
        with pytest.raises(RequestError):
            compare(table, **wrong)
    margins: tuple[dict[str, Any], ...] = ({"equivalence": 0.0}, {"non_inferiority": -0.1, "baseline": ["s0"]})
    for margin in margins:
        with pytest.raises(RequestError, match="must be above 0"):
            cf.compare(table, **margin)
    with pytest.raises(RequestError, match="shards"):
        compare(table_of(np.zeros((4, 3, 2))))
    with pytest.raises(RequestError, match="column «shard»"):
        replicate_study(table)
