"""FS19's experiment: split the documents at random, score every shard, and see what the richer models find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.collection import Collection, View
from cranfield.compare.anova import MODELS, AnovaTable, Decomposition, anova, decompose
from cranfield.compare.tukey import ErrorTerm, Tukey, model_error, random_topic_error, tukey
from cranfield.errors import RequestError
from cranfield.measures import Measure, parse_measures
from cranfield.scores import ScoreTable, score_view
from cranfield.stats.kendall import kendall_tau

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]

RANDOM = "MD6r"  # MD6's table, topics a sample: the claim covers new topics
SHARD_MODELS = (*[name for name in MODELS if name != "MD1"], RANDOM)


@dataclass(frozen=True, eq=False)
class ShardResult:
    """One model on one sharding of one measure; ``shards`` is 1 and ``sample`` 0 for the whole corpus."""

    measure: str
    model: str
    shards: int
    sample: int
    table: AnovaTable | None
    omega_squared: float
    test: Tukey
    tau: float
    undefined: int
    repeats: float
    vanishes: float
    reverses: float

    @property
    def width(self) -> float:
        """Of Tukey's interval around a system's mean."""
        return self.test.margin

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "model": self.model,
            "shards": self.shards,
            "sample": self.sample,
            "omega_squared": self.omega_squared,
            "significant_pairs": self.test.significant_pairs,
            "pairs": len(self.test.first),
            "top_group": self.test.top_group,
            "tau": self.tau,
            "width": self.width,
            "undefined": self.undefined,
            "repeats": self.repeats,
            "vanishes": self.vanishes,
            "reverses": self.reverses,
        }


@dataclass(frozen=True, eq=False)
class ShardStudy:
    """All models on all shardings, with the seed they came from."""

    results: tuple[ShardResult, ...]
    systems: tuple[str, ...]
    alpha: float
    x: float
    seed: int
    largest_shift: float
    """How much MD6's F of the system factor moves when undefined cells are 1 in place of x: nothing but rounding."""

    def get(self, model: str, *, shards: int | None = None, measure: str | None = None) -> list[ShardResult]:
        return [
            result
            for result in self.results
            if result.model == model
            and (shards is None or result.shards == shards)
            and (measure is None or result.measure == measure)
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        return [result.to_dict() for result in self.results]


def undefined_cells(view: View) -> Array:
    """Topics × shards without one relevant document: undefined for every system alike."""
    relevant = np.bincount(view.unit[view.grade > 0], minlength=view.units)
    return np.asarray(relevant == 0).reshape(view.topics, view.shards)


def shard_study(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    shards: Sequence[int] = (2, 5, 10),
    samples: int = 1,
    alpha: float = 0.05,
    x: float = 0.0,
    seed: int = 1,
    held_out: bool = True,
    progress: Progress | None = None,
) -> ShardStudy:
    """FS19 Tables 1 and 2 on any collection.

    Parameters
    ----------
    x
        The score of a (topic, shard) without relevant documents, for every system; MD6 does not depend on it.
    held_out
        Also split the topics in half, and see which findings of one half hold in the other.
    """
    wanted = parse_measures(measures)
    _check(collection, shards, samples)
    whole = {str(each): score_view(collection.whole, [each])[0, :, :, 0] for each in wanted}
    found = [_whole_result(name, scores, alpha, held_out, seed) for name, scores in whole.items()]
    # A stream for every sample of every S, so that any of them can be made alone.
    streams = np.random.SeedSequence(seed).spawn(len(shards) * samples)
    shift = 0.0
    for at, (count, sample) in enumerate((count, sample) for count in shards for sample in range(samples)):
        view = collection.sharded(collection.random_shards(count, seed=np.random.default_rng(streams[at])))
        for each in wanted:
            results, moved = _sharded_results(each, view, whole[str(each)], sample, alpha, x, held_out, seed)
            found += results
            shift = max(shift, moved)
        if progress is not None:
            progress(at + 1, len(shards) * samples)
    return ShardStudy(tuple(found), collection.systems, alpha, x, seed, shift)


def replicate_study(
    table: ScoreTable, measure: str | None = None, *, alpha: float = 0.05, held_out: bool = True, seed: int = 1
) -> ShardStudy:
    """The same models when ``shard`` is any replicate: query variations, judges, seeds."""
    scores = table.of(measure)
    if not table.shards:
        raise RequestError(
            "the table has no column «shard»", fix="Add one: a shard, a query variation, a judge, a seed."
        )
    name = measure or table.measures[0]
    means = scores.mean(axis=2)
    found = [_whole_result(name, means, alpha, held_out, seed)]
    found += _model_results(name, scores, means, 0, alpha, held_out, seed, 0)
    return ShardStudy(tuple(found), table.systems, alpha, 0.0, seed, 0.0)


def _check(collection: Collection, shards: Sequence[int], samples: int) -> None:
    if len(collection.systems) < 2 or len(collection.topics) < 2:
        raise RequestError("comparing takes two systems and two topics or more", fix="Add runs or topics.")
    if not shards or min(shards) < 2:
        raise RequestError("a corpus is split into two shards or more", fix="Give -s 2,5,10, for instance.")
    most = int(collection.relevant.max(initial=0))
    if max(shards) > max(most, 2) * 10:
        raise RequestError(
            f"{max(shards)} shards are too many: no topic has more than {most} relevant documents",
            fix=f"With {most} shards even the richest topic has one relevant document in each.",
        )
    if samples < 1:
        raise RequestError("there must be one sample or more")


def _whole_result(name: str, scores: Array, alpha: float, held_out: bool, seed: int) -> ShardResult:
    found = decompose(scores)
    table = anova(found, "MD1")
    test = tukey(found.system_means, model_error(table), alpha=alpha)
    fate = _held_out(scores[:, :, np.newaxis], "MD1", alpha, seed) if held_out else (float("nan"),) * 3
    return ShardResult(name, "MD1", 1, 0, table, table["system"].omega_squared, test, 1.0, 0, *fate)


def _sharded_results(
    measure: Measure, view: View, whole: Array, sample: int, alpha: float, x: float, held_out: bool, seed: int
) -> tuple[list[ShardResult], float]:
    scores = score_view(view, [measure])[0]
    hollow = undefined_cells(view)
    filled = np.where(hollow[:, np.newaxis, :], x, scores)
    other = np.where(hollow[:, np.newaxis, :], 1.0 if x != 1.0 else 0.0, scores)
    results = _model_results(str(measure), filled, whole, sample, alpha, held_out, seed, int(hollow.sum()))
    here, there = (anova(decompose(each), "MD6")["system"].f for each in (filled, other))
    return results, abs(here / there - 1) if there else 0.0


def _model_results(
    name: str, scores: Array, whole: Array, sample: int, alpha: float, held_out: bool, seed: int, undefined: int
) -> list[ShardResult]:
    found = decompose(scores)
    tau = kendall_tau(whole.mean(axis=0), found.system_means)
    results = []
    for model in SHARD_MODELS:
        table = anova(found, "MD6" if model == RANDOM else model)
        test = tukey(found.system_means, _error(found, table, model), alpha=alpha)
        omega = float("nan") if model == RANDOM else table["system"].omega_squared
        fate = _held_out(scores, model, alpha, seed) if held_out else (float("nan"),) * 3
        results.append(ShardResult(name, model, scores.shape[2], sample, table, omega, test, tau, undefined, *fate))
    return results


def _error(found: Decomposition, table: AnovaTable, model: str) -> ErrorTerm:
    return random_topic_error(found) if model == RANDOM else model_error(table)


def _held_out(scores: Array, model: str, alpha: float, seed: int) -> tuple[float, float, float]:
    """Of the pairs found on one half of the topics, the shares that repeat, vanish and reverse on the other."""
    topics = len(scores)
    if topics < 4:
        return float("nan"), float("nan"), float("nan")
    order = np.random.default_rng(seed).permutation(topics)
    halves = []
    for part in (order[: topics // 2], order[topics // 2 :]):
        found = decompose(scores[part])
        table = anova(found, "MD6" if model == RANDOM else model)
        halves.append(tukey(found.system_means, _error(found, table, model), alpha=alpha))
    return fates(*halves)


def fates(one: Tukey, other: Tukey) -> tuple[float, float, float]:
    """Shares of one's findings that the other repeats, does not find, or finds the other way round."""
    found = one.significant
    if not found.any():
        return float("nan"), float("nan"), float("nan")
    same = np.sign(one.difference) == np.sign(other.difference)
    again = other.significant[found]
    return float((again & same[found]).mean()), float((~again).mean()), float((again & ~same[found]).mean())
