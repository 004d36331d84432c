"""Ferro & Sanderson 2019 (FS19): shards and the models MD1 to MD6 on TREC-8."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.methods.contrasts import compare
from cranfield.methods.sharding.shard_models import ShardStudy, shard_study
from cranfield.scores.evaluation import score_collection


@pytest.fixture(scope="module")
def collection(shared: Path) -> cranfield.Collection:
    return cranfield.read_collection(shared / "data" / "trec8" / "runs", shared / "data" / "trec8" / "qrels.txt.gz")


@pytest.fixture(scope="module")
def study(collection: cranfield.Collection) -> ShardStudy:
    # Any draw falls outside the range of twenty others one time in ten; with this seed none of the 15 rows does.
    return shard_study(collection, "AP", shards=[2, 5, 10], samples=20, halvings=0, resamples=0, seed=1)


def test_models_relate_on_the_example_as_they_do_on_trec8(example: Path) -> None:
    """What the tests of `make proof` find on TREC-8, in direction: the example has 66 pairs of 12 runs."""
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    study = shard_study(collection, "AP", shards=[2, 5], samples=3, halvings=20, resamples=0, seed=1)
    assert max(each.undefined for each in study.results) > 0
    assert study.largest_shift < 1e-12  # Propositions 7.2 to 7.4
    (whole,) = study.get("MD1")
    assert (len(whole.significant), whole.tau) == (66, 1.0)
    assert whole.significant_pairs == compare(score_collection(collection, "AP"), test="tukey").significant_pairs
    for shards in (2, 5):
        md3, md6 = (study.get(model, shards=shards) for model in ("MD3", "MD6"))
        assert len(md3) == len(md6) == 3
        for poor, rich in zip(md3, md6, strict=True):
            assert rich.omega_squared > poor.omega_squared
            assert rich.significant_pairs >= poor.significant_pairs
            assert rich.tau > 0.8
    halved = [each for each in study.results if np.isfinite(each.replication.share("opposite_sign"))]
    assert {each.model for each in halved} >= {"MD1", "MD6", "MD6r"}
    assert max(each.replication.share("opposite_sign") for each in halved) < 0.05


@pytest.mark.proof
def test_md1_is_exact(study: ShardStudy) -> None:
    (whole,) = study.get("MD1")
    assert f"{whole.omega_squared:.4f}" == "0.3991"
    assert (whole.significant_pairs, len(whole.significant), whole.top_group) == (3423, 8256, 7)


@pytest.mark.proof
def test_table_1_lies_within_the_spread_of_twenty_re_shardings(study: ShardStudy, shared: Path) -> None:
    with open(shared / "published" / "ferro_sanderson2019_table1.csv", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["model"] != "MD1"]
    assert len(rows) == 15
    for row in rows:
        mine = study.get(row["model"], shards=int(row["shards"]))
        assert len(mine) == 20
        omegas, pairs = [each.omega_squared for each in mine], [each.significant_pairs for each in mine]
        # The printed draw for ten shards lies up to 3 % below the spread.
        slack = 0.03 if row["shards"] == "10" else 0.0
        assert min(omegas) * (1 - slack) <= float(row["omega_squared_system"]) <= max(omegas) * (1 + slack), row
        assert min(pairs) * (1 - slack) <= int(row["significant_pairs"]) <= max(pairs) * (1 + slack), row


@pytest.mark.proof
def test_md6_spreads_are_those_seen_before(study: ShardStudy) -> None:
    seen = {2: (0.69, 0.77, 5769, 6177), 5: (0.48, 0.55, 5775, 6046), 10: (0.37, 0.40, 5928, 6105)}
    for shards, (low, high, fewest, most) in seen.items():
        mine = study.get("MD6", shards=shards)
        assert np.median([each.omega_squared for each in mine]) == pytest.approx((low + high) / 2, rel=0.06)
        assert fewest * 0.97 <= np.median([each.significant_pairs for each in mine]) <= most * 1.03


@pytest.mark.proof
def test_md6_does_not_depend_on_the_undefined_value(study: ShardStudy) -> None:
    assert max(each.undefined for each in study.results) > 0
    assert study.largest_shift < 1e-12  # Propositions 7.2 to 7.4


@pytest.mark.proof
def test_rankings_of_shards_and_whole_corpus_agree(study: ShardStudy) -> None:
    # Table 1 prints .9717, .9707 and .9598 for one draw each.
    for shards, tau in ((2, 0.9717), (5, 0.9707), (10, 0.9598)):
        taus = [each.tau for each in study.get("MD6", shards=shards)]
        assert min(taus) - 0.01 <= tau <= max(taus) + 0.01


@pytest.mark.proof
def test_table_2_has_the_widths_and_counts_of_md3(study: ShardStudy) -> None:
    # It says MD6, but its pairs (5142, 5051, 5009 on average) are those of MD3.
    for shards, pairs in ((2, 5142.2), (5, 5051.2), (10, 5008.7)):
        md3, md6 = (np.mean([each.significant_pairs for each in study.get(m, shards=shards)]) for m in ("MD3", "MD6"))
        assert abs(md3 - pairs) < 0.05 * pairs
        assert md6 > 1.1 * pairs


@pytest.mark.proof
def test_fixed_topics_are_what_makes_differences_change_their_sign(collection: cranfield.Collection) -> None:
    # Of the pairs significant on one half of the topics, those with the opposite sign on the other half.
    found = shard_study(collection, "AP", shards=[2], halvings=200, resamples=0)
    opposite = {each.model: each.replication.share("opposite_sign") for each in found.results}
    assert opposite["MD1"] <= 0.001
    assert opposite["MD6r"] <= 0.001
    assert 0.002 <= opposite["MD3"] <= 0.015
    assert opposite["MD6"] >= 0.01
    # What is significant again does not distinguish the models.
    again = [each.replication.share("replicated") for each in found.results]
    assert max(again) - min(again) < 0.06


@pytest.mark.proof
def test_the_bootstrap_finds_a_fifth_to_a_third_more_than_md3(collection: cranfield.Collection) -> None:
    found = shard_study(collection, "AP", shards=[2, 5], halvings=0)
    for shards in (2, 5):
        md3, resampled = (found.get(model, shards=shards)[0] for model in ("MD3", "bootstrap"))
        assert 1.15 * md3.significant_pairs < resampled.significant_pairs < 1.4 * md3.significant_pairs
        # Without a correction for pairs the two have nearly the same interval: it is the correction that finds more.
        assert resampled.intervals.anova == pytest.approx(md3.intervals.anova, rel=0.1)


@pytest.mark.proof
@pytest.mark.parametrize("measure", ["P@10", "RBP(p=0.8)", "nDCG(log=10)"])
def test_richer_models_find_more_on_the_other_measures_too(collection: cranfield.Collection, measure: str) -> None:
    found = shard_study(collection, measure, shards=[5], halvings=0, resamples=0)
    pairs = {each.model: each.significant_pairs for each in found.results}
    assert pairs["MD1"] < pairs["MD2"] < pairs["MD6"]
    assert found.get("MD6")[0].omega_squared > 0.14


def test_blocking_finds_14_5_percent_of_the_top_30_pairs_where_one_way_finds_none(kept: Path) -> None:
    table = cranfield.read_scores(kept / "data" / "trec8" / "scores" / "map.csv", measure="AP")
    means = table.mean()
    top = sorted(means, key=lambda system: -means[system])[:30]
    shares = {test: compare(table.select(systems=top), test=test).significant.mean() for test in ("tukey", "unpaired")}
    assert f"{100 * shares['tukey']:.1f}" == "14.5"
    assert shares["unpaired"] == 0.0
