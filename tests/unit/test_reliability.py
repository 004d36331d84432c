"""The parts of a reliability study, on tables small enough to check by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield
from cranfield import ScoreTable
from cranfield.methods.contrasts import compare
from cranfield.methods.contrasts.comparing import ALL_TESTS, pair_p_values
from cranfield.methods.contrasts.kernels import set_sums
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.names import TEST_LABELS, TestName
from cranfield.methods.reliability import (
    assess_reliability,
    discriminative_power,
    generalise,
    rank_stability,
    replicability,
    split_halves,
    swap_rates,
    swaps,
    topic_samples,
)
from cranfield.methods.reliability.generalisability import jackknife_errors
from cranfield.methods.reliability.topic_samples import default_sizes, grouped_sums, set_means, tasks
from cranfield.methods.variance import components
from cranfield.methods.variance.components import covariances, squares
from cranfield.runtime.random import sequence
from cranfield.stats import kendall

Array = npt.NDArray[Any]


def table_of(values: Array) -> ScoreTable:
    topics, systems = values.shape
    names = tuple(f"s{at}" for at in range(systems))
    return ScoreTable(("x",), tuple(map(str, range(topics))), names, values[np.newaxis, :, :, np.newaxis])


@pytest.fixture(scope="module")
def noisy() -> ScoreTable:
    rng = np.random.default_rng(3)
    return table_of(rng.normal(size=(30, 6)) + rng.normal(size=(30, 1)) + np.linspace(0, 1.5, 6))


def test_a_halving_is_what_comparing_both_halves_gives() -> None:
    rng = np.random.default_rng(3)
    table = table_of(rng.normal(scale=0.5, size=(20, 5)) + np.linspace(0, 1.0, 5))
    found = split_halves(table, trials=1, seed=9)
    ((stream, _),) = tasks(sequence(9, "reliability", "halves", "x"), 1)
    order = np.random.default_rng(stream).permutation(20)
    verdicts: list[dict[frozenset[str], str]] = []
    for half in (order[:10], order[10:]):
        result = compare(table.select(topics=[table.topics[at] for at in half.tolist()]))
        sure = [row for row in result.to_dict() if row["significant"]]
        verdicts.append({frozenset((row["system_a"], row["system_b"])): row["system_a"] for row in sure})
    one, other = verdicts
    assert found.replication.significant.tolist() == [[len(one), len(other)]]
    assert one
    for side, (mine, others) in enumerate(((one, other), (other, one))):
        again = sum(others.get(pair) == better for pair, better in mine.items())
        opposite = sum(pair in others and others[pair] != better for pair, better in mine.items())
        outcomes = found.replication.outcomes[0, side]
        assert outcomes[[0, 3]].tolist() == [again, opposite]
        assert outcomes.sum() == len(mine)


def test_findings_reverse_where_half_of_the_topics_say_the_opposite() -> None:
    # Four topics prefer the one system, four the other; a halving that parts them finds both, and opposites.
    signs = np.repeat([1.0, -1.0], 4)[:, np.newaxis]
    scores = np.hstack([signs, -signs]) + np.random.default_rng(1).normal(scale=0.05, size=(8, 2))
    found = split_halves(table_of(scores), trials=400)
    share = found.replication.share
    assert share("reversed") > 0.5
    assert share("replicated") == 0
    assert share("not_significant") + share("reversed") == pytest.approx(1)
    assert share("opposite_sign") >= share("reversed")
    assert found.agreeing.mean() < 0.5


@pytest.mark.parametrize("test", ["tukey", "tukey-permutation", "tukey-kramer"])
def test_the_difference_needed_is_where_pairs_become_significant(noisy: ScoreTable, test: str) -> None:
    found = discriminative_power(noisy, test=test, resamples=2000)
    assert ((found.p_values <= 0.05) == (found.differences >= found.difference)).all()
    assert 0 < found.significant_pairs < 15
    assert found.share == found.significant_pairs / 15 == found.share_at(0.05)
    assert (np.diff(found.p_values) >= 0).all()
    assert found.p_values.min() > 0


def test_a_pairwise_test_needs_the_difference_from_which_all_are_significant(noisy: ScoreTable) -> None:
    found = discriminative_power(noisy, test="t")
    sure = found.differences >= found.difference
    assert sure.any()
    assert (found.p_values[sure] <= 0.05).all()
    missed = found.differences[found.p_values > 0.05].max()
    assert missed < found.difference
    assert not ((found.differences > missed) & (found.differences < found.difference)).any()
    equal = table_of(np.random.default_rng(1).normal(size=(10, 3)))
    assert np.isnan(discriminative_power(equal, test="t").difference)


def test_discriminative_power_of_trec8_is_ferro_and_sandersons_md1(kept: Path) -> None:
    table = cranfield.read_scores(kept / "data" / "trec8" / "scores" / "map.csv", measure="AP")
    assert discriminative_power(table).significant_pairs == 3085  # as compare's default test
    found = discriminative_power(table, test="tukey")
    assert (found.significant_pairs, len(found.p_values)) == (3423, 8256)
    # Shuffled scores keep the systems' own variance, so that the permuted margin is wider by its share.
    permuted = discriminative_power(table, test="tukey-permutation", resamples=2000)
    spread = table.of().var(axis=1, ddof=1).mean() / squares(table.of()).residual
    assert permuted.difference / found.difference == pytest.approx(np.sqrt(spread), rel=0.03)
    assert permuted.share < found.share
    curve = found.curve(100)
    assert len(curve) == 100
    assert curve[-1]["share"] == 1


@pytest.mark.parametrize("test", ALL_TESTS)
def test_p_values_of_all_pairs_are_those_of_a_comparison(noisy: ScoreTable, test: str) -> None:
    scores = noisy.of()
    drawn = test in RESAMPLED
    options: dict[str, Any] = {"test": test, "correct": None if test in FAMILY else "none" if drawn else "holm"}
    p_values = pair_p_values(scores, resamples=5000, seed=4, **options)
    found = compare(noisy, resamples=5000 if drawn else None, seed=4, **options)
    first, second = np.triu_indices(6, k=1)
    mine = {frozenset((f"s{a}", f"s{b}")): p for a, b, p in zip(first, second, p_values.tolist(), strict=True)}
    loose = 0.05 if drawn else 1e-9  # the two have random streams of their own
    for row in found.to_dict():
        assert mine[frozenset((row["system_a"], row["system_b"]))] == pytest.approx(row["p_adjusted"], abs=loose)


def test_differences_are_binned_by_their_size() -> None:
    scores = np.tile([0.0, 0.015, 0.5], (10, 1)) + np.zeros((10, 1))
    found = swap_rates(table_of(scores), sizes=[5], trials=3)
    assert np.flatnonzero(found.seen[0]).tolist() == [1, 20]  # .015 in the second bin, .485 and .5 beyond all bins
    assert found.seen[0, [1, 20]].tolist() == [6, 12]  # both sets of three trials
    assert found.mean_difference[0, 20] == pytest.approx(0.4925)
    assert found.rate[0, 1] == 0
    assert np.isnan(found.rate[0, 0])


def test_bins_are_wider_for_scores_beyond_1() -> None:
    scores = np.random.default_rng(1).uniform(0, 30, (10, 3))
    assert swap_rates(table_of(scores), trials=5).edges[1] == pytest.approx(0.3, abs=0.01)
    assert swap_rates(table_of(scores), trials=5, width=2.0).edges[1] == 2.0


def test_the_resampled_difference_is_where_swaps_stay_rare(noisy: ScoreTable) -> None:
    found = swap_rates(noisy, sizes=[15], trials=300, width=0.1)
    needed = found.resampled_difference_for(0.05, 15)
    column = round(needed / 0.1)
    rate = found.rate[0]
    assert (rate[column:][~np.isnan(rate[column:])] <= 0.05).all()
    assert rate[column - 1] > 0.05
    assert np.isnan(found.resampled_difference_for(1e-9, 15)) or found.resampled_difference_for(1e-9, 15) > needed


def test_sets_have_up_to_five_sizes() -> None:
    assert default_sizes(50) == (5, 10, 15, 20, 25)
    assert default_sizes(249) == (25, 50, 74, 99, 124)
    assert default_sizes(4) == (1, 2)
    assert default_sizes(8, 4) == (1, 2)


def test_tasks_are_cut_alike_whatever_the_trials() -> None:
    few, many = tasks(sequence(1), 30), tasks(sequence(1), 100)
    assert [count for _, count in few] == [20, 10]
    assert few[0][0].spawn_key == many[0][0].spawn_key
    assert sum(count for _, count in many) == 100


@pytest.mark.parametrize("trials", [0, -1])
def test_no_trials_are_refused(noisy: ScoreTable, trials: int) -> None:
    for function in (swap_rates, split_halves, rank_stability):
        with pytest.raises(cranfield.RequestError, match="trial"):
            function(noisy, trials=trials)


def test_four_sets_need_four_times_the_topics(noisy: ScoreTable) -> None:
    with pytest.raises(cranfield.RequestError, match="4 disjoint sets of 8 topics take 32"):
        swap_rates(noisy, sizes=[8], shared=False)
    assert swap_rates(noisy, sizes=[8], shared=False, replacement=True, trials=5).sizes == (8,)


def test_rates_no_difference_can_bring_are_refused(noisy: ScoreTable) -> None:
    found = swap_rates(noisy, trials=5)
    for rate in (0.0, 0.5, 0.7):
        with pytest.raises(cranfield.RequestError, match="swap rate"):
            found.difference_for(rate, 10)


def test_coefficients_and_targets_out_of_range_are_refused(noisy: ScoreTable) -> None:
    found = generalise(noisy)
    for wrong in (
        lambda: found.relative(0),
        lambda: found.topics_for(1.0),
        lambda: found.topics_for(0.9, "other"),
        lambda: generalise(noisy, confidence=1.0),
        lambda: generalise(noisy, drop=1.0),
        lambda: assess_reliability({}),
        lambda: assess_reliability(noisy, targets=[]),
    ):
        with pytest.raises(cranfield.RequestError):
            wrong()


# --- sets of topics, by sums


@pytest.fixture
def as_if_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw sets as of very many topics, whatever their number."""
    for module in (topic_samples, replicability):
        monkeypatch.setattr(module, "MANY", 3)


def test_sums_over_sets_have_the_same_bits_compiled_and_by_whole_arrays() -> None:
    rng = np.random.default_rng(1)
    values, chosen = rng.normal(size=(300, 7)), rng.integers(0, 300, (4, 90))
    loop, arrays = np.zeros((2, 4, 7))
    set_sums.compiled(0, 4, values, chosen, loop)
    assert set_sums._arrays is not None
    assert set_sums._arrays(4, values, chosen, arrays)
    assert np.array_equal(loop, arrays)
    assert np.array_equal(loop / 90, values[chosen].mean(axis=1))


@pytest.mark.usefixtures("as_if_many")
@pytest.mark.parametrize("sets", [2, 4])
def test_sets_of_many_topics_are_disjoint_and_contain_the_smaller_ones(sets: int) -> None:
    sizes = (2, 5, 3)
    drawn = set_means(np.eye(24), sizes, sequence(1, "sets"), trials=50, sets=sets, replacement=False)
    members = {size: means * size for size, means in zip(sizes, drawn, strict=True)}  # 1 for a topic in the set
    for size, inside in members.items():
        assert inside.shape == (50, sets, 24)
        assert np.allclose(inside.sum(axis=2), size)
        assert inside.sum(axis=1).max() <= 1 + 1e-9
    assert (members[2] <= members[3] + 1e-9).all()
    assert (members[3] <= members[5] + 1e-9).all()
    assert len(np.unique(np.round(members[5]), axis=0)) > 45


@pytest.mark.usefixtures("as_if_many")
def test_draws_of_many_topics_depend_on_the_seed_alone(noisy: ScoreTable) -> None:
    here = assess_reliability(noisy, trials=50, workers=1)
    there = assess_reliability(noisy, trials=50, workers=3)
    other = assess_reliability(noisy, trials=50, seed=2)
    for part in ("swaps", "rankings", "halves"):
        assert repr(here.to_dict(part)) == repr(there.to_dict(part)) != repr(other.to_dict(part))


def test_many_topics_are_as_reliable_however_they_are_drawn(noisy: ScoreTable, monkeypatch: pytest.MonkeyPatch) -> None:
    one = assess_reliability(noisy, trials=4000).get()
    monkeypatch.setattr(topic_samples, "MANY", 3)
    monkeypatch.setattr(replicability, "MANY", 3)
    other = assess_reliability(noisy, trials=4000).get()
    assert other.swaps.overall == pytest.approx(one.swaps.overall, abs=0.008)
    assert not np.array_equal(other.swaps.overall, one.swaps.overall)
    assert other.rankings.tau.mean(axis=1) == pytest.approx(one.rankings.tau.mean(axis=1), abs=0.02)
    assert other.halves.agreeing.mean() == pytest.approx(one.halves.agreeing.mean(), abs=0.01)
    for name in ("replicated", "opposite_sign"):
        assert other.halves.replication.share(name) == pytest.approx(one.halves.replication.share(name), abs=0.02)


def test_equal_systems_stay_equal_to_the_last_bit_of_their_sums() -> None:
    scores = np.random.default_rng(4).random((40, 1)).repeat(9, axis=1)
    sums = grouped_sums(scores, np.array([10, 15]), (sequence(1, "equal"), 20))
    assert np.array_equal(sums, sums[:, :, :1].repeat(9, axis=2))


def test_blocks_of_topics_give_what_the_whole_table_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(500, 6)) + rng.normal(size=(500, 1)) + 1000
    whole = jackknife_errors(scores), covariances(scores)
    for module in (components, cranfield.methods.reliability.generalisability):
        monkeypatch.setattr(module, "_BLOCK", 600)
    monkeypatch.setattr(components, "_WHOLE", 600)
    np.testing.assert_allclose(jackknife_errors(scores), whole[0], rtol=1e-9)
    np.testing.assert_allclose(covariances(scores), whole[1], rtol=1e-9)


@pytest.mark.parametrize(("test", "doubted"), [("tukey", True), ("max-t", False), (None, False)])
def test_a_test_that_compare_warns_about_is_named_and_warned_about_here(test: TestName | None, doubted: bool) -> None:
    rng = np.random.default_rng(5)
    alike = rng.random((40, 1)) + 0.01 * rng.normal(size=(40, 6))
    table = table_of(np.hstack([alike, rng.random((40, 2))]))
    found = cranfield.reliability(table, test=test, trials=10, resampling={"resamples": 200})
    told = [
        each.slug
        for each in cranfield.compare(table, test=test, resampling={"resamples": 200 if test == "max-t" else None})
        .document()
        .warnings
    ]
    assert ("one-error-term" in told) == doubted
    assert ("one-error-term" in [each.slug for each in found.document().warnings]) == doubted
    title = TEST_LABELS[test] if test else "paired t test with Holm's correction"
    assert f"of the pairs differ significantly ({title}, α = 0.05)." in found.summary()
    assert found.document().tables[0].title == f"Reliability (significant: {title}, α = 0.05)"


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called, pairs are counted in loops, as where they are many."""

    def counted() -> None:
        for module in (kendall, swaps):
            monkeypatch.setattr(module, "WORTH_LOADING", 0)

    return counted


def rounded_table() -> ScoreTable:
    rng = np.random.default_rng(1)
    scores = np.round(rng.normal(0.5, 0.1, (24, 12)), 2) + np.round(rng.normal(0, 0.1, (24, 1)), 2)
    scores[:, 3] = scores[:, 2]
    return table_of(scores)


def test_rankings_counted_in_order_agree_as_those_of_all_pairs(loops: Callable[[], None]) -> None:
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 12, (40, 25)) / 7.0, rng.integers(0, 15, (40, 25)) * 1.0
    other[3] = 1.0  # all tied
    pairs = kendall.kendall_taus(one, other), kendall.symmetric_tau_aps(one, other)
    loops()
    np.testing.assert_array_equal(pairs, (kendall.kendall_taus(one, other), kendall.symmetric_tau_aps(one, other)))


@pytest.mark.parametrize(
    "asked", [{}, {"replacement": True}, {"shared": False}, {"shared": False, "replacement": True}]
)
def test_swaps_are_counted_in_loops_as_in_whole_arrays(asked: dict[str, Any], loops: Callable[[], None]) -> None:
    whole = swaps.swap_rates(rounded_table(), trials=60, **asked)
    loops()
    found = swaps.swap_rates(rounded_table(), trials=60, **asked)
    np.testing.assert_array_equal(found.seen, whole.seen)
    np.testing.assert_array_equal(found.swapped, whole.swapped)
    np.testing.assert_allclose(found.mean_difference, whole.mean_difference, rtol=1e-12)


@pytest.mark.parametrize("test", ["t", "tukey"])
@given(seed=st.integers(0, 10_000), topics=st.integers(4, 30), systems=st.integers(2, 8), digits=st.integers(0, 3))
def test_halves_are_decided_by_sums_as_by_the_scores_of_every_pair(
    test: str, seed: int, topics: int, systems: int, digits: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=0.3, size=(topics, systems)) + rng.normal(size=(topics, 1)) + np.arange(systems) / 4
    table = table_of(scores.round(digits))
    found = split_halves(table, test=test, trials=20, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replicability, "DECIDED_BY_SUMS", {})
        whole = split_halves(table, test=test, trials=20, seed=seed)
    np.testing.assert_array_equal(found.replication.outcomes, whole.replication.outcomes)
    np.testing.assert_array_equal(found.replication.significant, whole.replication.significant)
