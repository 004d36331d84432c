"""Replicates that each system has of its own, and replicates that systems share: what claims about new ones rest on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import cranfield
from cranfield.methods.contrasts import compare
from cranfield.methods.reliability import assess_reliability, split_halves
from cranfield.methods.sharding import replicate_study
from cranfield.methods.sharding.anova import decompose, nested_anova, sampled_replicates
from cranfield.methods.sharding.model_tests import tukey
from cranfield.methods.sharding.shard_models import anova_names, error_term
from cranfield.rendering.shard_charts import FIGURES, shard_chart
from cranfield.rendering.shard_document import shard_document
from cranfield.scores.evaluation import score_collection
from sizes import sized

Array = npt.NDArray[Any]
Write = Callable[[str, str], str]


def equal_systems(
    rng: np.random.Generator,
    shape: tuple[int, int, int] = (200, 4, 3),
    *,
    seed_sd: float = 0.01,
    topic_system_sd: float = 0.10,
    error_sd: float = 0.05,
    shared_sd: float = 0.0,
) -> Array:
    """Systems that differ only by their seeds, by chance on these topics, and by noise."""
    topics, systems, replicates = shape
    return np.asarray(
        rng.normal(0, 0.2, (topics, 1, 1))
        + rng.normal(0, topic_system_sd, (topics, systems, 1))
        + rng.normal(0, seed_sd, (1, systems, replicates))
        + rng.normal(0, shared_sd, (1, 1, replicates))
        + rng.normal(0, error_sd, shape)
    )


def family_wise_error(model: str, tables: int, **population: Any) -> float:
    rng = np.random.default_rng(20)
    wrong = 0
    for _ in range(tables):
        found = decompose(equal_systems(rng, **population))
        wrong += bool(tukey(found.system_means, error_term(found, model)).significant.any())
    return wrong / tables


def table_of(values: Array, **more: Any) -> cranfield.ScoreTable:
    topics, systems, shards = values.shape
    names = tuple(f"s{at}" for at in range(systems)), tuple(map(str, range(shards)))
    return cranfield.ScoreTable(("x",), tuple(map(str, range(topics))), names[0], values[None], names[1], **more)


# --- what is wrong how often


def test_nested_seeds_keep_the_family_wise_error_where_md3_md6_and_md6r_do_not() -> None:
    # 500 tables: a rate of .05 has a standard error of .01.
    assert sized(0.01, 0.03) <= family_wise_error("nested", sized(150, 500)) <= sized(0.11, 0.08)
    assert family_wise_error("MD6rr", sized(100, 250)) <= sized(0.12, 0.09)
    assert family_wise_error("MD3", sized(20, 60)) > sized(0.7, 0.85)
    assert family_wise_error("MD6", sized(20, 60)) > sized(0.7, 0.85)
    assert family_wise_error("MD6r", sized(100, 250)) > sized(0.1, 0.12)


def test_more_topics_do_not_break_the_promise() -> None:
    assert sized(0.01, 0.03) <= family_wise_error("nested", sized(100, 300), shape=(1000, 4, 3)) <= sized(0.12, 0.08)
    assert family_wise_error("MD6r", sized(20, 60), shape=(1000, 4, 3)) > sized(0.3, 0.4)


def test_seeds_that_change_nothing_cost_nothing() -> None:
    # Then the estimate of their variance is negative in half of the tables, and topic*system alone is the error.
    assert sized(0.005, 0.025) <= family_wise_error("nested", sized(200, 500), seed_sd=0.0) <= sized(0.11, 0.08)


def test_what_shared_replicates_do_to_all_systems_alike_is_no_error() -> None:
    population = {"shared_sd": 0.05, "shape": (100, 4, 3)}
    assert sized(0.01, 0.025) <= family_wise_error("MD6rr", sized(100, 300), **population) <= sized(0.12, 0.09)
    assert family_wise_error("nested", sized(60, 150), **population) < 0.03


# --- the error term


def test_the_error_term_is_written_out() -> None:
    scores = equal_systems(np.random.default_rng(1), (12, 3, 4), seed_sd=0.1)
    t, r, k = scores.shape
    cell, by_seed = scores.mean(axis=2), scores.mean(axis=0)
    topic, system, grand = cell.mean(axis=1), cell.mean(axis=0), scores.mean()
    by_topic = k * ((cell - topic[:, None] - system + grand) ** 2).sum() / ((t - 1) * (r - 1))
    seeds = t * ((by_seed - system[:, None]) ** 2).sum() / (r * (k - 1))
    rest = ((scores - cell[:, :, None] - by_seed + system[None, :, None]) ** 2).sum() / ((t - 1) * r * (k - 1))
    parts = ((by_topic, (t - 1) * (r - 1)), (seeds, r * (k - 1)), (rest, (t - 1) * r * (k - 1)))
    error = sampled_replicates(decompose(scores), nested=True)
    assert error.ms == pytest.approx(by_topic + seeds - rest, rel=1e-12)
    assert error.df == pytest.approx(error.ms**2 / sum(ms**2 / df for ms, df in parts), rel=1e-12)
    table = nested_anova(decompose(scores))
    system_ms = t * k * system.var(ddof=1)
    assert table["system"].f == pytest.approx(system_ms / error.ms, rel=1e-12)
    assert table["system"].p_value == pytest.approx(stats.f.sf(table["system"].f, r - 1, error.df), rel=1e-9)
    assert table["shard(system)"].ms == pytest.approx(seeds, rel=1e-12)
    assert table.error.ms == pytest.approx(rest, rel=1e-12)


def test_sums_of_squares_of_the_nested_table_add_up() -> None:
    scores = equal_systems(np.random.default_rng(2), (9, 4, 3))
    table = nested_anova(decompose(scores))
    four = [effect for effect in table.effects if effect.name != "error of systems"]
    assert sum(effect.ss for effect in four) + table.error.ss == pytest.approx(table.total.ss, rel=1e-10)
    assert sum(effect.df for effect in four) + table.error.df == table.total.df == scores.size - 1


@pytest.mark.parametrize("nested", [True, False])
def test_a_negative_estimate_falls_back_on_the_larger_error(nested: bool) -> None:
    scores = equal_systems(np.random.default_rng(3), (30, 3, 3), seed_sd=0.0)
    scores -= scores.mean(axis=0, keepdims=True) - scores.mean(axis=(0, 2), keepdims=True)  # seeds are alike
    found = decompose(scores)
    error = sampled_replicates(found, nested=nested)
    assert error.df == found.df["topic*system"]
    assert error.ms == pytest.approx(found.ss["topic*system"] / error.df)


def test_names_of_nested_seeds_do_not_matter() -> None:
    scores = equal_systems(np.random.default_rng(4), (20, 3, 4), seed_sd=0.1)
    renamed = scores.copy()
    renamed[:, 1] = renamed[:, 1, [2, 0, 3, 1]]
    one, other = (replicate_study(table_of(each), replicates="nested", halvings=0) for each in (scores, renamed))
    assert one.get("nested")[0].width == pytest.approx(other.get("nested")[0].width, rel=1e-12)


# --- asking for it by name


def test_the_role_of_the_column_decides_and_a_name_overrules_it(write: Write) -> None:
    rows = [
        f"{topic},{system},{seed},{(topic * topic * 7 + ord(system) * topic * seed) % 89 / 100}"
        for topic in range(1, 9)
        for system in "abc"
        for seed in (1, 2)
    ]
    path = write("runs.csv", "\n".join(["question,model,draw,f1", *rows]))
    for part, kind in (("seed", "nested"), ("prompt", "crossed"), ("judge", "crossed"), ("shard", "")):
        table = cranfield.read_scores(path, columns=f"topic=question,system=model,{part}=draw,score=f1")
        assert table.replicates == kind
        study = replicate_study(table, halvings=0, resamples=0)
        assert study.replicates == (kind or "crossed")
        assert [each.slug for each in study.warnings] == ([] if kind else ["replicates-assumed-crossed"])
        assert replicate_study(table, replicates="nested", halvings=0).replicates == "nested"
    with pytest.raises(cranfield.RequestError, match="replicates cannot be «random»"):
        replicate_study(table, replicates="random")
    with pytest.raises(cranfield.RequestError, match="shard has two columns"):
        cranfield.read_scores(path, columns="topic=question,seed=draw,prompt=model,score=f1")


def test_a_column_called_seed_is_nested(write: Write) -> None:
    path = write("runs.csv", "q,system,seed,f1\n1,a,1,0.5\n1,a,2,0.25\n2,a,1,1\n2,a,2,0\n")
    assert cranfield.read_scores(path, columns="topic=q,shard=seed,score=f1").replicates == "nested"
    assert cranfield.read_scores(path, columns="topic=q,mean=seed,score=f1").replicates == ""


def test_seeds_may_have_other_names_in_every_system() -> None:
    scores = equal_systems(np.random.default_rng(5), (10, 3, 2), seed_sd=0.05)
    rows = [
        ("x", topic, f"s{system}", f"{system}-{seed}", scores[topic, system, seed])
        for topic in range(10)
        for system in range(3)
        for seed in range(2)
    ]
    table = cranfield.ScoreTable.from_rows(rows, columns=("measure", "topic", "system", "shard", "score"))
    assert table.missing == 10 * 3 * 4
    found = replicate_study(table, replicates="nested", halvings=0)
    same = replicate_study(table_of(scores), replicates="nested", halvings=0)
    assert found.get("nested")[0].to_dict() == pytest.approx(same.get("nested")[0].to_dict(), nan_ok=True)
    with pytest.raises(cranfield.InputError, match="scores of x are missing"):
        replicate_study(table, replicates="crossed", halvings=0)


def test_nested_replicates_are_never_analysed_by_models_that_take_them_for_fixed() -> None:
    study = replicate_study(table_of(equal_systems(np.random.default_rng(6), (20, 3, 3))), replicates="nested")
    assert [each.model for each in study.results] == ["MD1", "nested"]
    document = shard_document(study, {})
    assert not any("MD3" in row for table in document.tables for row in table.rows)
    assert "new topics and new replicates" in document.sentence
    assert "Satterthwaite1946" in document.citations
    with pytest.raises(cranfield.RequestError, match="no ANOVA table «MD6» with nested replicates"):
        shard_document(study, {}, anova=anova_names("MD6"))
    for figure in FIGURES:
        assert "nested" in str(shard_chart(study, figure).to_dict())


def test_comparing_names_the_remedy_for_replicates() -> None:
    table = table_of(equal_systems(np.random.default_rng(7), (20, 3, 3)))
    for ask in (compare, split_halves):
        with pytest.raises(cranfield.RequestError, match="several scores for each topic and system") as refused:
            ask(table)
        for remedy in ("`shards()`", '`replicates="nested"`', "mean="):
            assert remedy in str(refused.value.fix)


# --- replication


def test_a_halving_is_counted_both_ways() -> None:
    from cranfield.methods.sharding.replication import replication_of

    sign = np.array([1, 1, 1, -1, 1, 1])
    other_sign = np.array([1, 1, -1, 1, 0, -1])
    sure, other_sure = np.array([1, 1, 1, 1, 1, 0], bool), np.array([1, 0, 0, 1, 0, 1], bool)
    found = replication_of((sign, sure), (other_sign, other_sure))
    assert found.significant.tolist() == [[5, 3]]
    # replicated, weaker (a difference of 0 has no opposite), opposite, reversed
    assert found.outcomes.tolist() == [[[1, 2, 1, 1], [1, 0, 1, 1]]]
    assert found.share("replicated") == 2 / 8
    assert found.share("not_significant") == 4 / 8
    assert found.share("opposite_sign") == 4 / 8
    assert found.interval("reversed") == (2 / 8, 2 / 8)


def test_no_two_measures_or_samples_share_their_halvings(example: Path) -> None:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    values = score_collection(collection, "AP").values
    twice = cranfield.ScoreTable(
        ("AP", "again"),
        collection.topics,
        collection.systems,
        np.concatenate([values, values])[..., [0, 0]],
        ("1", "2"),
    )
    first, second = (each.replication for each in replicate_study(twice, replicates="crossed", resamples=0).get("MD1"))
    assert (first.significant != second.significant).any()
    alike = cranfield.ScoreTable(("AP", "again"), collection.topics, collection.systems, np.concatenate([values] * 2))
    whole = assess_reliability({"a": alike, "b": alike}, trials=20, resamples=100)
    draws = [(each.halves.replication.significant.tolist(), each.rankings.tau.tolist()) for each in whole.studies]
    assert all(draws[one] != draws[other] for one in range(4) for other in range(one))
