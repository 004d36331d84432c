"""Shard studies: intervals, the bootstrap of replicates, undefined cells, warnings, charts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cranfield
from chart_rules import check_chart, dots, marks
from cranfield.methods.contrasts import audit, compare
from cranfield.methods.sharding import anova, bootstrap_anova, decompose, intervals, model_error
from cranfield.methods.sharding.replicates import _moved_means
from cranfield.methods.sharding.shard_models import ShardStudy, replicate_study, shard_study
from cranfield.rendering.shard_charts import FIGURES, shard_chart
from cranfield.scores.evaluation import score_collection

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def collection(example: Path) -> cranfield.Collection:
    return cranfield.read_collection(example / "runs", example / "qrels.txt")


@pytest.fixture(scope="module")
def study(collection: cranfield.Collection) -> ShardStudy:
    return shard_study(collection, ["AP", "P@10"], shards=[2, 5], samples=2, resamples=200)


def drawn(seed: int, topics: int = 20, systems: int = 5, replicates: int = 3, gap: float = 0.0) -> Array:
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 1, (topics, 1, 1)) + rng.normal(0, 0.5, (topics, systems, 1))
    shared[:, :, 0] -= shared[:, :, 0].mean(axis=0)  # systems are alike but for the gap
    return shared + gap * np.arange(systems)[None, :, None] + rng.normal(0, 0.4, (topics, systems, replicates))


# --- the bootstrap of replicates


@pytest.mark.parametrize("replicates", [2, 5])
def test_resampled_means_vary_as_the_bootstrap_says(replicates: int) -> None:
    residuals = np.random.default_rng(3).gamma(1.0, size=(8, 6, replicates))
    residuals -= residuals.mean(axis=2, keepdims=True)
    moved = _moved_means(residuals, 20_000, np.random.default_rng(1))
    expected = np.sqrt((residuals**2).mean(axis=2).sum(axis=0) / replicates) / 8
    np.testing.assert_allclose(moved.std(axis=1), expected, rtol=0.03)
    assert np.abs(moved.mean(axis=1) / expected).max() < 0.03
    assert np.abs(np.corrcoef(moved) - np.eye(6)).max() < 0.05


def test_the_bootstrap_has_the_p_values_of_resampling_cell_by_cell() -> None:
    scores = drawn(5, gap=0.08)
    ours = bootstrap_anova(scores, resamples=4000, seed=1)
    rng, count = np.random.default_rng(2), 4000
    residuals = (scores - scores.mean(axis=2, keepdims=True)) * np.sqrt(3 / 2)
    picks = rng.integers(0, 3, (count, *scores.shape))
    means = np.take_along_axis(residuals[None], picks, axis=3).mean(axis=(1, 3))
    for at, (a, b) in enumerate(zip(ours.first, ours.second, strict=True)):
        more = (np.abs(means[:, a] - means[:, b]) >= abs(ours.difference[at])).sum()
        p = (more + 1) / (count + 1)
        assert ours.p_value[at] == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) * 2 / count) + 2 / count)


def test_the_bootstrap_keeps_its_error_rate_with_two_replicates() -> None:
    # One pair at a time, so that no correction hides a variance that is too small.
    wrong = [bootstrap_anova(drawn(seed, 15, 2, 2), resamples=300, seed=seed).significant[0] for seed in range(400)]
    assert np.mean(wrong) == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / 400))


def test_the_bootstrap_is_seeded_never_says_0_and_corrects_for_many_pairs() -> None:
    scores = drawn(7, gap=0.5)
    one, same, other = (bootstrap_anova(scores, resamples=300, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.p_value, same.p_value)
    assert one.p_value.min() == pytest.approx(1 / 301)
    assert (one.half_width != other.half_width).any()
    assert (one.p_adjusted >= one.p_value).all()
    assert one.significant_pairs == 10


def test_more_systems_than_resamples_are_no_trouble() -> None:
    assert bootstrap_anova(drawn(1, 5, 30, 2), resamples=10).p_value.min() >= 1 / 11


def test_systems_that_never_differ_are_never_significant() -> None:
    found = bootstrap_anova(np.ones((6, 3, 4)), resamples=100)
    assert found.p_value.tolist() == [1.0, 1.0, 1.0]


def test_the_bootstrap_refuses_what_it_cannot_resample() -> None:
    for wrong in ({"scores": np.zeros((4, 3, 1))}, {"scores": np.zeros((4, 3))}, {"resamples": 0}):
        with pytest.raises(cranfield.RequestError):
            bootstrap_anova(**{"scores": drawn(1), **wrong})  # type: ignore[arg-type]


# --- what a study holds


def test_intervals_of_a_study_are_those_of_the_formulas(study: ShardStudy, collection: cranfield.Collection) -> None:
    scores = score_collection(collection, "AP").of("AP")
    (whole,) = study.get("MD1", measure="AP")
    found = intervals(scores[:, :, np.newaxis], model_error(anova(decompose(scores), "MD1")))
    assert whole.intervals.tukey == pytest.approx(found.tukey, rel=1e-12)
    assert whole.intervals.anova == pytest.approx(found.anova, rel=1e-12)
    np.testing.assert_allclose(whole.intervals.standard_error, found.standard_error, rtol=1e-12)
    for result in study.results:
        if result.model != "bootstrap":
            assert result.intervals.tukey > result.intervals.anova  # FS19 §5.3
    assert all(result.intervals.anova > 0 for result in study.get("bootstrap"))


def test_undefined_cells_are_counted_topic_by_topic(study: ShardStudy, collection: cranfield.Collection) -> None:
    assert [(each.shards, each.sample) for each in study.undefined] == [(s, at) for s in (2, 5) for at in range(2)]
    for each in study.undefined:
        assert (each.by_topic <= each.shards - np.minimum(collection.relevant, 1)).all()
        (result, *_) = [r for r in study.get("MD6", shards=each.shards, measure="AP") if r.sample == each.sample]
        assert result.undefined == each.by_topic.sum()
        poor = collection.relevant < each.shards
        assert (each.by_topic[poor] >= (each.shards - collection.relevant)[poor]).all()


def test_the_value_of_undefined_cells_moves_all_models_but_md6(collection: cranfield.Collection) -> None:
    most = int(collection.relevant.max())
    found = shard_study(collection, "AP", shards=[most], resamples=0, halvings=0)
    assert found.largest_shift < 1e-9
    assert min(found.get(model)[0].shift for model in ("MD2", "MD3", "MD4", "MD5")) > 1e-3
    other = shard_study(collection, "AP", shards=[most], x=0.7, resamples=0, halvings=0)
    assert found.get("MD6")[0].omega_squared == pytest.approx(other.get("MD6")[0].omega_squared, rel=1e-9)
    assert found.get("MD3")[0].omega_squared != pytest.approx(other.get("MD3")[0].omega_squared, rel=1e-3)


def test_topics_too_poor_for_the_shards_are_warned_about(collection: cranfield.Collection) -> None:
    most = int(collection.relevant.max())
    found = shard_study(collection, "AP", shards=[most], resamples=0, halvings=0)
    (warning,) = found.warnings
    assert warning.slug == "more-shards-than-relevant"
    poor = [topic for topic, count in zip(found.topics, collection.relevant, strict=True) if count < most]
    assert poor[0] in warning.what
    assert f"{len(poor)} of 40" in warning.what


def test_more_shards_than_any_topic_has_relevant_documents_are_refused(collection: cranfield.Collection) -> None:
    most = int(collection.relevant.max())
    with pytest.raises(cranfield.RequestError, match=f"{most} at most"):
        shard_study(collection, "AP", shards=[2, most + 1])


def test_a_sharding_is_the_same_whatever_else_is_asked_for(study: ShardStudy, collection: cranfield.Collection) -> None:
    alone = shard_study(collection, "AP", shards=[5], resamples=200).results[-1]
    (with_others,) = [r for r in study.get("bootstrap", shards=5, measure="AP") if r.sample == 0]
    assert alone.to_dict() == pytest.approx(with_others.to_dict(), nan_ok=True)


def test_shares_of_replication_add_up(study: ShardStudy) -> None:
    for result in study.results:
        shares = result.replication.to_dict()
        if shares["replicated"] == shares["replicated"]:
            assert shares["replicated"] + shares["not_significant"] + shares["reversed"] == pytest.approx(1.0)
    assert any(result.replication.significant.any() for result in study.get("MD6r"))
    for result in study.results:  # what costs much is done on the first sample, and the bootstrap is not repeated
        first = result.sample == 0 and result.model != "bootstrap"
        assert result.replication.halvings == (100 if first else 0)


def test_p_values_are_kept_for_the_first_sample_only(study: ShardStudy) -> None:
    assert all((result.p_value is not None) == (result.sample == 0) for result in study.results)


def test_few_topics_leave_no_half_to_hold_out() -> None:
    values = drawn(1, 3)[np.newaxis]
    table = cranfield.ScoreTable(("x",), ("1", "2", "3"), tuple("abcde"), values, ("u", "v", "w"))
    assert all(result.replication.halvings == 0 for result in replicate_study(table, resamples=50).results)


# --- charts


@pytest.mark.parametrize("figure", list(FIGURES))
def test_every_figure_is_drawn(study: ShardStudy, figure: str) -> None:
    chart = replace(shard_chart(study, figure), title="AP")
    check_chart(chart)
    shown = {"kinds": "ANOVA", "models": "MD3", "shards": "5 shards", "robustness": "significant pairs"}
    assert shown[figure] in chart.to_svg()


def test_one_sharding_of_one_kind_can_be_drawn_too(collection: cranfield.Collection) -> None:
    found = shard_study(collection, "AP", shards=[3], resamples=0, halvings=0)
    assert all("3 shards" in shard_chart(found, figure).to_svg() for figure in FIGURES)
    assert "One sharding" in shard_chart(found, "robustness").note
    with pytest.raises(cranfield.RequestError, match="no figure"):
        shard_chart(found, "pie")


def test_figure_3_draws_the_intervals_it_says(study: ShardStudy) -> None:
    chart = shard_chart(study, "kinds")
    (whole,) = study.get("MD1", measure="AP")
    own, anova, tukey = marks(chart, "spans")
    for mark, reach in ((anova, whole.intervals.anova), (tukey, whole.intervals.tukey)):
        assert mark.x2[0] - mark.x[0] == pytest.approx(2 * reach)
    best = int(np.argmax(whole.means))
    assert own.x2[0] - own.x[0] == pytest.approx(2 * whole.intervals.standard_error[best])
    assert max(dots(chart).values()) == pytest.approx(whole.means.max())


def test_results_sum_themselves_up_and_become_frames(study: ShardStudy, collection: cranfield.Collection) -> None:
    assert study.summary().count("pairs differ significantly by MD1") == 2
    frame = study.to_frame("polars")
    assert len(frame) == len(study.results)
    found = compare(score_collection(collection, "AP"))
    assert f"{found.significant_pairs} of all 66 pairs" in found.summary()
    assert found.to_frame("polars")["significant"].sum() == found.significant_pairs
    assert "changes with the test" in audit(score_collection(collection, "AP"), resamples=200).summary()


def test_long_work_reports_its_progress(collection: cranfield.Collection) -> None:
    steps: list[tuple[int, int]] = []
    compare(
        score_collection(collection, "AP"), test="bootstrap", resamples=300, progress=lambda *step: steps.append(step)
    )
    assert steps[-1][0] == steps[-1][1] > 0
    steps.clear()
    audit(score_collection(collection, "AP"), resamples=200, progress=lambda *step: steps.append(step))
    assert steps == [(at, 10) for at in range(10)]
