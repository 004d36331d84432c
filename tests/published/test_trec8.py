"""TREC-8 ad hoc, 129 runs on 50 topics: the numbers NIST printed, and the same collection split into shards."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import cranfield
from cranfield.measures import CATALOG, parse_measures
from cranfield.scores.evaluation import score_collection, score_view

NIST = {
    "map": "AP",
    "P_10": "P@10",
    "P_30": "P@30",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "rbp": "RBP(p=0.9)",
}
RUNS, TOPICS = 129, 50


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "trec8"


@pytest.fixture(scope="module")
def trec8(folder: Path) -> cranfield.Collection:
    return cranfield.read_collection(folder / "runs", folder / "qrels.txt.gz")


class Known(NamedTuple):
    """A collection, and its judgments read without the library: topic → document → grade."""

    collection: cranfield.Collection
    grades: Mapping[str, Mapping[str, int]]

    @property
    def topics(self) -> tuple[str, ...]:
        """The first topic, one in the middle and the last one."""
        topics = self.collection.topics
        return topics[0], topics[len(topics) // 2], topics[-1]

    @property
    def systems(self) -> tuple[str, ...]:
        """Some runs: of TREC-8 one with scores that single precision cannot hold, and the best one."""
        wanted = ("ok8alx", "uwmt8a0", "READWARE2")
        return wanted if set(wanted) <= {*self.collection.systems} else tuple(self.collection.systems[:3])


@pytest.fixture(scope="module", params=["example", pytest.param("trec8", marks=pytest.mark.proof)])
def known(request: pytest.FixtureRequest, example: Path) -> Known:
    """The example collection; in `make proof` TREC-8 too."""
    if request.param == "trec8":
        path, collection = request.getfixturevalue("folder") / "qrels.txt.gz", request.getfixturevalue("trec8")
    else:
        path = example / "qrels.txt"
        collection = cranfield.read_collection(example / "runs", path)
    found: dict[str, dict[str, int]] = {}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as stream:
        for topic, _, document, grade in map(str.split, stream):
            found.setdefault(topic, {})[document] = int(grade)
    return Known(collection, found)


def test_every_cell_is_what_nist_printed(folder: Path, trec8: cranfield.Collection) -> None:
    for name, measure in NIST.items():
        with open(folder / "scores" / f"{name}.csv", newline="") as stream:
            rows = list(csv.DictReader(stream))
        printed = {(row["topic"], system): row[system] for row in rows for system in row if system != "topic"}
        table = score_collection(trec8, measure)
        ours = {(topic, system): f"{score:.4f}" for _, topic, system, score in table.rows()}
        assert len(printed) == RUNS * TOPICS
        assert ours == printed, name
        if name != "rbp":  # which trec_eval does not have: the other names mean the same as ours
            np.testing.assert_array_equal(score_collection(trec8, name).of(), table.of())


def test_uwmt8a0_is_ranked_in_double_precision_which_single_precision_would_reorder_on_47_topics(
    folder: Path, trec8: cranfield.Collection
) -> None:
    lists: dict[str, list[tuple[float, bytes]]] = {}
    with gzip.open(folder / "runs" / "input.uwmt8a0.gz", "rb") as stream:
        for topic, _, document, _, score, _ in map(bytes.split, stream):
            lists.setdefault(topic.decode(), []).append((float(score), document))
    in_double = {topic: _best_first(rows) for topic, rows in lists.items()}
    in_single = {topic: _best_first([(float(np.float32(s)), d) for s, d in rows]) for topic, rows in lists.items()}
    assert {topic: trec8.ranking("uwmt8a0", topic) for topic in trec8.topics} == in_double
    assert sum(in_single[topic] != in_double[topic] for topic in lists) == 47


def _best_first(rows: list[tuple[float, bytes]]) -> list[str]:
    return [document.decode() for _, document in sorted(rows, reverse=True)]


def test_one_shard_is_the_whole_collection_to_the_last_bit(known: Known) -> None:
    collection = known.collection
    names = [kind.example for kind in CATALOG.values() if not kind.per_intent]
    measures = parse_measures([*names, "nDCG@10", "Judged@10", "AP@100", "nDCG(log=10)"])
    everything_in_shard_0 = np.zeros(len(collection.documents), np.int32)
    one_shard = score_view(collection.sharded(everything_in_shard_0), measures)
    np.testing.assert_array_equal(one_shard, score_view(collection.whole, measures))


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_score_as_lists_and_judgments_split_by_hand_do(known: Known, shards: int) -> None:
    collection = known.collection
    shard_of = collection.random_shards(shards, seed=8)
    scores = score_view(collection.sharded(shard_of), parse_measures(list(BY_HAND)))

    def shard(document: str) -> int:
        code = collection.documents.find(document)
        return -1 if code is None else int(shard_of[code])

    for system, topic in product(known.systems, known.topics):
        found = scores[:, collection.topics.index(topic), collection.systems.index(system)]
        ranking, grades = collection.ranking(system, topic), known.grades[topic]
        places = {document: shard(document) for document in {*ranking, *grades}}
        for number in range(shards):
            documents = [document for document in ranking if places[document] == number]
            judged = {document: grade for document, grade in grades.items() if places[document] == number}
            expected = [by_hand(documents, judged) for by_hand in BY_HAND.values()]
            assert found[:, number].tolist() == pytest.approx(expected, abs=1e-12), (system, topic)


def test_shards_are_even_and_every_relevant_document_is_in_one(known: Known) -> None:
    collection = known.collection
    shard_of = collection.random_shards(5, seed=8)
    sizes = np.bincount(shard_of)
    assert max(sizes) - min(sizes) <= 1
    views = (collection.whole, collection.sharded(shard_of))
    whole, split = (score_view(view, parse_measures(["R@1000"])) for view in views)
    judged = np.array(collection.arrays["judged_document"])
    relevant = np.zeros((len(collection.topics), 5))
    np.add.at(relevant, (collection.judged_topic, shard_of[judged]), collection.arrays["grade"] > 0)
    # Recall in a shard times its relevant documents is how many were found there; the whole list has them all.
    found_in_shards = (split[0] * relevant[:, np.newaxis]).sum(axis=-1)
    np.testing.assert_allclose(found_in_shards, whole[0, :, :, 0] * collection.relevant[:, np.newaxis], atol=1e-9)


# --- measures by their textbook definitions, a list and its judgments at a time

Judged = Mapping[str, int]


def _relevant_ranks(documents: list[str], judged: Judged) -> list[int]:
    return [rank for rank, document in enumerate(documents, start=1) if judged.get(document, 0) > 0]


def _relevant(judged: Judged) -> int:
    return sum(grade > 0 for grade in judged.values())


def average_precision(documents: list[str], judged: Judged) -> float:
    ranks = _relevant_ranks(documents, judged)
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / max(1, _relevant(judged))


def precision_at_10(documents: list[str], judged: Judged) -> float:
    return len(_relevant_ranks(documents[:10], judged)) / 10


def reciprocal_rank(documents: list[str], judged: Judged) -> float:
    return max((1 / rank for rank in _relevant_ranks(documents, judged)), default=0.0)


def ndcg_at_10(documents: list[str], judged: Judged) -> float:
    def gain(grades: Iterable[int]) -> float:
        return sum(max(0, grade) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))

    best = gain(sorted(judged.values(), reverse=True)[:10])
    return gain(judged.get(document, 0) for document in documents[:10]) / best if best else 0.0


def rank_biased_precision(documents: list[str], judged: Judged) -> float:
    return sum(0.2 * 0.8 ** (rank - 1) for rank in _relevant_ranks(documents, judged))


def binary_preference(documents: list[str], judged: Judged) -> float:
    relevant = _relevant(judged)
    least = min(relevant, len(judged) - relevant)
    above, total = 0, 0.0
    for document in documents:
        if judged.get(document, -1) > 0:
            total += 1 - min(above, relevant) / least if above else 1.0
        elif document in judged:
            above += 1
    return total / max(1, relevant)


BY_HAND = {
    "AP": average_precision,
    "P@10": precision_at_10,
    "RR": reciprocal_rank,
    "nDCG@10": ndcg_at_10,
    "RBP(p=0.8)": rank_biased_precision,
    "Bpref": binary_preference,
}
