"""Scoring again under fewer judgments gives what scoring from scratch gives, for every measure and to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield.collection import Collection
from cranfield.measures import CATALOG, parse_measures
from cranfield.measures.groups import GROUPS
from cranfield.measures.recipes import kept_recipe
from cranfield.methods.variance.components import squares
from cranfield.methods.variance.kernels import nested_squares
from cranfield.runtime.compiled import Kernel
from cranfield.scores.evaluation import score_view
from cranfield.scores.rescoring import Rescorer
from sizes import sized

EVERY = [kind.example for kind in CATALOG.values()]
MORE = [
    "nDCG@10",
    "nDCG(gains=exp)@5",
    "nDCG(log=10)",
    "nDCG(gains=1:1,2:3,3:3)",
    "AP@10",
    "AP(norm=min)@10",
    "AP(rel=2)",
    "Q@10",
    "Q(beta=0)",
    "nERR@10",
    "ERR@20",
    "RBP(gains=exp)",
    "RBP(p=0.5)@5",
    "Rprec(rel=3)",
    "RR@3",
    "P+(beta=10)",
    "nDCG(gains=1:5,2:3,3:1)",
    "Success@1",
    "Success(rel=2)@5",
    "relative_P@200",
    "SDCG(min_rel=1)@5",
    "IPrec@0.3",
    "P(judged_only=True)@5",
]


@pytest.fixture(scope="module")
def demo(example: Path) -> Collection:
    return cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt", teams=example / "teams.tsv"
    )


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_fewer_judgments_and_systems_score_as_from_scratch(demo: Collection, seed: int, compiled: bool) -> None:
    measures = parse_measures([*EVERY, *MORE])
    rescorer = Rescorer(demo, measures, 1)
    rescorer.__dict__["compiled"] = compiled  # what the amount of work would decide
    buffers, rng = rescorer.buffers(), np.random.default_rng(seed)
    for share in (1.0, 0.6, 0.2, 0.0):  # the same buffers again and again
        kept = rng.random(len(demo.arrays["grade"])) < share
        chosen = np.sort(rng.permutation(len(demo.systems))[: rng.integers(1, 12)])
        relevant = kept[rescorer.relevant_only.origin].astype(np.uint8)
        found = buffers.score(relevant, chosen, lambda kept=kept: kept)  # type: ignore[misc]
        scratch = score_view(demo.keeping(kept).whole, measures)[:, :, chosen, 0]
        for measure, mine, whole in zip(measures, found, scratch, strict=True):
            np.testing.assert_array_equal(mine, whole, err_msg=str(measure))
        np.testing.assert_array_equal(buffers.relevant(lambda: kept), demo.keeping(kept).relevant)  # noqa: B023


def test_lists_cut_at_a_depth_score_as_if_they_ended_there(demo: Collection) -> None:
    measures = parse_measures([*EVERY, *MORE])
    rescorer = Rescorer(demo, measures, 1)
    kept = np.random.default_rng(3).random(len(demo.arrays["grade"])) < 0.7
    chosen = np.array([0, 5])
    found = rescorer.buffers().score(
        kept[rescorer.relevant_only.origin].astype(np.uint8), chosen, lambda: kept, depth=7
    )
    scratch = score_view(demo.keeping(kept).cut(7).whole, measures)[:, :, chosen, 0]
    for measure, mine, whole in zip(measures, found, scratch, strict=True):
        np.testing.assert_array_equal(mine, whole, err_msg=str(measure))
    assert demo.cut(7).ranking(demo.systems[0], demo.topics[0]) == demo.ranking(demo.systems[0], demo.topics[0])[:7]


AT_CUTOFFS = [
    f"{name}@{k}" for name in ("P", "AP", "AP(rel=2)", "nDCG(gains=exp)", "Q", "ERR", "RR") for k in (1, 3, 9)
]
OTHER_LEVELS = [
    "IPrec(rel=2)@0.3",
    "11pt_avg(rel=2)",
    "infAP(rel=2)",
    "Bpref(rel=2)",
    "Rndcg(gains=exp)",
    "G(gains=1:0.3)",
]


@pytest.mark.parametrize("compiled", [False, True])
def test_measures_scored_together_are_those_scored_one_by_one(
    demo: Collection, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kernel, "__call__", _in_machine_code if compiled else _as_it_stands)
    measures = parse_measures([*EVERY, *MORE, *GROUPS["all_trec"], *AT_CUTOFFS, *OTHER_LEVELS])
    cut = demo.cut(30 if compiled else sized(8, 30))
    for view in (cut.whole, cut.sharded(demo.random_shards(3, seed=1))):
        together = score_view(view, measures)
        for measure, scores in zip(measures, together, strict=True):
            alone = score_view(replace(view), [measure])[0]  # a view that shares nothing yet
            assert scores.tobytes() == alone.tobytes(), str(measure)
        assert score_view(view, measures).tobytes() == together.tobytes()  # what is shared has not changed


def _in_machine_code(kernel: Kernel, count: int, *arguments: Any, work: int) -> None:
    kernel.compiled(0, count, *arguments)


def _as_it_stands(kernel: Kernel, count: int, *arguments: Any, work: int) -> None:
    kernel.interpreted(0, count, *arguments)


def test_only_measures_that_look_at_more_have_no_recipe(demo: Collection) -> None:
    reduced = Rescorer(demo, (), 1).relevant_only
    without = {str(each) for each in parse_measures([*EVERY, *MORE]) if kept_recipe(reduced.view, each) is None}
    by_function = {kind.name for kind in CATALOG.values() if kind.recipe is None or kind.finish is not None}
    others = {name.partition("@")[0].partition("(")[0] for name in without}
    assert {kind.name for kind in CATALOG.values() if kind.per_intent} <= by_function
    assert others == by_function | {"nDCG", "P", "NumRet"}  # which counts all documents, without rel
    assert "P(judged_only=True)@5" in without  # which looks at all judged documents
    assert not {"Success@1", "relative_P@10", "SetR", "DCG", "SDCG@10", "INSQ"} & without
    assert "nDCG(gains=1:5,2:3,3:1)" in without  # its best documents are not those with the best grades
    assert "nDCG@10" not in without


@pytest.mark.parametrize("shape", [(7, 5), (2, 2), (30, 1), (3, 40)])
def test_nested_mean_squares_are_those_of_each_table(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    scores, order = rng.random(shape), rng.permutation(shape[0])
    sizes = np.arange(1, shape[0] + 1)
    found = np.empty((len(sizes), 4))
    nested_squares(len(sizes), shape[1], scores.reshape(-1), order, sizes, found.reshape(-1), work=1)
    assert np.isnan(found[0]).all()
    for size in sizes[1:].tolist():
        expected = squares(scores[order[:size]])
        ours = found[size - 1]
        assert ours[1] == pytest.approx(expected.between_topics, abs=1e-14)
        assert ours[2] == pytest.approx(expected.within_systems, abs=1e-14)
        if shape[1] > 1:
            assert ours[0] == pytest.approx(expected.between_systems, abs=1e-14)
            assert ours[3] == pytest.approx(expected.residual, abs=1e-14)
        else:
            assert np.isnan(ours[[0, 3]]).all()
