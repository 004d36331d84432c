"""FS19's experiment: split the documents at random, score every shard, and see what the richer models find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.collection import Collection, View
from cranfield.compare.anova import MODELS, AnovaTable, Decomposition, anova, decompose
from cranfield.compare.cautions import nothing_to_tell, too_few_resamples
from cranfield.compare.replicates import BootstrapAnova, bootstrap_anova
from cranfield.compare.tukey import (
    ErrorTerm,
    Intervals,
    Tukey,
    intervals_of,
    model_error,
    random_topic_error,
    standard_error_reach,
    tukey,
)
from cranfield.errors import Caution, RequestError
from cranfield.measures import parse_measures
from cranfield.parallel import tasks
from cranfield.scores import ScoreTable, score_view
from cranfield.scores.balance import check_balance
from cranfield.scores.frames import rows_frame
from cranfield.stats.kendall import kendall_tau

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]
Fate = tuple[float, float, float]
PairTest = Tukey | BootstrapAnova

RANDOM = "MD6r"  # MD6's table, topics a sample: the claim covers new topics
BOOTSTRAP = "bootstrap"  # MD3's model without its normal errors, and a weaker promise about all pairs
SHARD_MODELS = (*[name for name in MODELS if name != "MD1"], RANDOM, BOOTSTRAP)
UNKNOWN: Fate = (float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class ShardResult:
    """One model on one sharding of one measure; ``shards`` is 1 and ``sample`` 0 for the whole corpus.

    Pairs are those of ``numpy.triu_indices(systems, 1)``. p-values are kept for the first sample of each; of the
    others only the verdicts are. ``p_value`` is Tukey's, which allows for all pairs, and for the bootstrap adjusted by
    Benjamini and Hochberg.
    """

    measure: str
    model: str
    shards: int
    sample: int
    table: AnovaTable | None
    omega_squared: float
    means: Array
    significant: Array
    p_value: Array | None
    intervals: Intervals
    tau: float
    undefined: int
    shift: float
    repeats: float
    vanishes: float
    reverses: float

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())

    @property
    def top_group(self) -> int:
        """How many systems, the best among them, cannot be told from the best."""
        first, second = np.triu_indices(len(self.means), k=1)
        best = int(np.argmax(self.means))
        return 1 + int((~self.significant[(first == best) | (second == best)]).sum())

    @property
    def width(self) -> float:
        """Of Tukey's interval around a system's mean: the smallest difference that is significant."""
        return 2 * self.intervals.tukey

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "model": self.model,
            "shards": self.shards,
            "sample": self.sample,
            "omega_squared": self.omega_squared,
            "significant_pairs": self.significant_pairs,
            "pairs": len(self.significant),
            "top_group": self.top_group,
            "tau": self.tau,
            "width": self.width,
            "interval_tukey": self.intervals.tukey,
            "interval_anova": self.intervals.anova,
            "interval_standard_error": float(self.intervals.standard_error.mean()),
            "undefined": self.undefined,
            "shift": self.shift,
            "repeats": self.repeats,
            "vanishes": self.vanishes,
            "reverses": self.reverses,
        }


@dataclass(frozen=True, eq=False)
class Undefined:
    """How many shards of one sharding hold no relevant document of each topic."""

    shards: int
    sample: int
    by_topic: Array


@dataclass(frozen=True, eq=False)
class ShardStudy:
    """All models on all shardings, with the seed they came from."""

    results: tuple[ShardResult, ...]
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    relevant: Array | None
    undefined: tuple[Undefined, ...]
    alpha: float
    x: float
    resamples: int
    seed: int
    replicate: str = "shards"
    whole: str = "whole corpus"
    warnings: tuple[Caution, ...] = ()

    @property
    def largest_shift(self) -> float:
        """How much MD6's F of the system factor moves when undefined cells are 1 in place of x: rounding alone."""
        return max((result.shift for result in self.get("MD6")), default=0.0)

    def get(self, model: str, *, shards: int | None = None, measure: str | None = None) -> list[ShardResult]:
        return [
            result
            for result in self.results
            if result.model == model
            and (shards is None or result.shards == shards)
            and (measure is None or result.measure == measure)
        ]

    def summary(self) -> str:
        """For every measure, how many pairs are told apart: whole, with most shards, and when topics are a sample."""
        return " ".join(self._claim(measure) for measure in dict.fromkeys(each.measure for each in self.results))

    def _claim(self, measure: str) -> str:
        (whole,) = self.get("MD1", measure=measure)
        most = max(result.shards for result in self.results)
        rich, random = (self.get(model, measure=measure, shards=most)[0] for model in ("MD6", RANDOM))
        return (
            f"{measure}: MD1 tells {whole.significant_pairs:,} of {len(whole.significant):,} pairs apart, MD6 with "
            f"{most} {self.replicate} {rich.significant_pairs:,} on these topics, {random.significant_pairs:,} when "
            "topics are a sample (MD6r)."
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """A row for every model on every sharding."""
        return rows_frame(self.to_dict(), backend)

    def to_dict(self) -> list[dict[str, Any]]:
        return [result.to_dict() for result in self.results]


@dataclass(frozen=True)
class _Plan:
    """What is done alike with every table."""

    alpha: float
    held_out: bool
    resamples: int
    seed: int

    def models(self, sample: int) -> tuple[str, ...]:
        """The bootstrap costs more than all others together, and is done on the first sample of each S."""
        if self.resamples and sample == 0:
            return SHARD_MODELS
        return tuple(name for name in SHARD_MODELS if name != BOOTSTRAP)


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
    resamples: int = 2000,
    seed: int = 1,
    held_out: bool = True,
    progress: Progress | None = None,
) -> ShardStudy:
    """FS19 Tables 1 and 2 on any collection.

    Parameters
    ----------
    x
        The score of a (topic, shard) without relevant documents, for every system; MD6 does not depend on it.
    resamples
        Of the bootstrap ANOVA, which is done on the first sample of each number of shards; 0 leaves it out.
    held_out
        Also split the topics in half, and see which findings of one half hold in the other.
    """
    wanted = parse_measures(measures)
    _check(collection, shards, samples, alpha, x)
    plan = _Plan(alpha, held_out, resamples, seed)
    whole = {str(each): score_view(collection.whole, [each])[0, :, :, 0] for each in wanted}
    found = [_whole_result(name, scores, plan) for name, scores in whole.items()]
    work = _Work(collection, tuple(map(str, wanted)), tuple(whole.values()), x, plan)
    done = tasks(_one_sharding, [(count, at) for count in shards for at in range(samples)], shared=work,
                 progress=progress)  # fmt: skip
    hollow = [undefined for undefined, _ in done]
    found += [result for _, results in done for result in results]
    study = ShardStudy(tuple(found), collection.systems, collection.topics, collection.relevant, tuple(hollow), alpha,
                       x, resamples, seed)  # fmt: skip
    return _with_warnings(study, shards, [nothing_to_tell(scores) for scores in whole.values()])


@dataclass(frozen=True, eq=False)
class _Work:
    """What all re-shardings share: measures by name, and the scores of each on the whole corpus."""

    collection: Collection
    measures: tuple[str, ...]
    whole: tuple[Array, ...]
    x: float
    plan: _Plan


def _one_sharding(work: _Work, which: tuple[int, int]) -> tuple[Undefined, list[ShardResult]]:
    """One sample of one number of shards, all measures."""
    count, sample = which
    # A stream for every sample of every S: the same shards whatever else is asked for.
    stream = np.random.SeedSequence(work.plan.seed, spawn_key=(count, sample))
    view = work.collection.sharded(work.collection.random_shards(count, seed=np.random.default_rng(stream)))
    empty = undefined_cells(view)
    (again,) = stream.spawn(1)
    results: list[ShardResult] = []
    for name, whole in zip(work.measures, work.whole, strict=True):
        scores = score_view(view, parse_measures(name))[0]
        results += _Sharding(name, scores, empty, work.x, whole, sample, again, work.plan).results()
    return Undefined(count, sample, empty.sum(axis=1)), results


def replicate_study(
    table: ScoreTable,
    measures: Sequence[str] | str | None = None,
    *,
    alpha: float = 0.05,
    resamples: int = 2000,
    held_out: bool = True,
    seed: int = 1,
) -> ShardStudy:
    """The same models when ``shard`` is any replicate: query variations, judges, seeds; on all measures or some."""
    _check_alpha(alpha)
    if not table.shards:
        raise RequestError(
            "the table has no column «shard»", fix="Add one: a shard, a query variation, a judge, a seed."
        )
    if len(table.shards) < 2:
        raise RequestError(f"there is one shard only, «{table.shards[0]}»", fix="Give two or more, or use compare.")
    plan = _Plan(alpha, held_out, resamples, seed)
    empty = np.zeros((len(table.topics), len(table.shards)), bool)
    results: list[ShardResult] = []
    cautions: dict[Caution | None, None] = {}
    wanted = [measures] if isinstance(measures, str) else measures
    for name in table.measures if wanted is None else wanted:
        check_balance(table, name)
        scores = table.of(name)
        means = scores.mean(axis=2)
        sharding = _Sharding(name, scores, empty, 0.0, means, 0, np.random.SeedSequence(seed), plan)
        results += [_whole_result(name, means, plan), *sharding.results()]
        cautions[nothing_to_tell(scores)] = None
    cautions[_mute_bootstrap(results, resamples, alpha)] = None
    return ShardStudy(
        tuple(results), table.systems, table.topics, None, (), alpha, 0.0, resamples, seed,
        "replicates", "means over replicates", tuple(caution for caution in cautions if caution is not None),
    )  # fmt: skip


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a probability; 0.05 is usual.")


def _check(collection: Collection, shards: Sequence[int], samples: int, alpha: float, x: float) -> None:
    _check_alpha(alpha)
    for what, names in (("systems", collection.systems), ("topics", collection.topics)):
        if len(names) < 2:
            raise RequestError(f"comparing takes two {what} or more, and there is {len(names)}", fix="Add some.")
    if not np.isfinite(x):
        raise RequestError(f"an undefined cell cannot count {x}", fix="Give a number; 0 is usual.")
    if not shards or min(shards) < 2:
        raise RequestError("a corpus is split into two shards or more", fix="Give -s 2,5,10, for instance.")
    most = int(collection.relevant.max(initial=0))
    if max(shards) > most:
        raise RequestError(
            f"{max(shards)} shards are more than any topic has relevant documents ({most} at most), "
            "so that every topic would be undefined in some shard",
            fix=f"Split into {most} or fewer." if most > 1 else "Such a collection cannot be split; use compare.",
        )
    if samples < 1:
        raise RequestError("there must be one sample or more")


def _mute_bootstrap(results: Sequence[ShardResult], resamples: int, alpha: float) -> Caution | None:
    """Whether the bootstrap found nothing where it hardly could have."""
    silent = [each for each in results if each.model == BOOTSTRAP and not each.significant.any()]
    return too_few_resamples(resamples, len(silent[0].significant), "bh", alpha) if silent else None


def _with_warnings(study: ShardStudy, shards: Sequence[int], others: Sequence[Caution | None]) -> ShardStudy:
    """Say which topics are too poor for the largest split."""
    most, relevant = max(shards), np.asarray(study.relevant)
    poor = [topic for topic, count in zip(study.topics, relevant.tolist(), strict=True) if count < most]
    found = [*others, _mute_bootstrap(study.results, study.resamples, study.alpha)]
    if poor:
        be = ("has", "it is", "counts") if len(poor) == 1 else ("have", "they are", "count")
        shown = ", ".join(poor[:5]) + (f" and {len(poor) - 5:,} more" if len(poor) > 5 else "")
        found.append(
            Caution(
                "more-shards-than-relevant",
                f"{len(poor):,} of {len(study.topics):,} topics {be[0]} fewer relevant documents than {most} shards "
                f"({shown}): {be[1]} undefined in some shard and {be[2]} {study.x:g} there",
                "Trust MD6, which does not depend on that number, or split into fewer shards.",
            )
        )
    if study.largest_shift > 1e-6:
        found.append(
            Caution(
                "undefined-value-matters",
                f"MD6's F moves by {study.largest_shift:.1e} with the value of undefined cells, where theory says none",
                "Scores so close to one another are lost to rounding; read MD6 with care.",
            )
        )
    return replace(study, warnings=tuple(dict.fromkeys(each for each in found if each is not None)))


def _whole_result(name: str, scores: Array, plan: _Plan) -> ShardResult:
    found = decompose(scores)
    table = anova(found, "MD1")
    test = tukey(found.system_means, model_error(table), alpha=plan.alpha)
    fate = _fates(scores[:, :, np.newaxis], ("MD1",), plan, None).get("MD1", UNKNOWN)
    return ShardResult(
        name, "MD1", 1, 0, table, table["system"].omega_squared, found.system_means, test.significant, test.p_value,
        intervals_of(test, standard_error_reach(scores, alpha=plan.alpha)), 1.0, 0, 0.0, *fate,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Sharding:
    """Scores of one measure on one sharding, and all that is made of them."""

    name: str
    scores: Array
    empty: Array
    x: float
    whole: Array
    sample: int
    stream: np.random.SeedSequence
    plan: _Plan

    def filled(self, value: float) -> Array:
        return np.where(self.empty[:, np.newaxis, :], value, self.scores)

    def results(self) -> list[ShardResult]:
        scores = self.filled(self.x)
        found = decompose(scores)
        other = decompose(self.filled(1.0 if self.x != 1.0 else 0.0)) if self.empty.any() else found
        tau = kendall_tau(self.whole.mean(axis=0), found.system_means)
        models = self.plan.models(self.sample)
        tests = _tests(scores, found, models, self.plan, self.stream)
        fates = _fates(scores, models, self.plan, self.stream)
        spread = standard_error_reach(scores, alpha=self.plan.alpha)
        made = []
        for model, test in tests.items():
            table = None if model in (RANDOM, BOOTSTRAP) else anova(found, model)
            made.append(
                ShardResult(
                    self.name, model, scores.shape[2], self.sample, table,
                    float("nan") if table is None else table["system"].omega_squared,
                    found.system_means, test.significant, _adjusted(test) if self.sample == 0 else None,
                    _intervals(test, spread), tau, int(self.empty.sum()),
                    _shift(found, other, model), *fates.get(model, UNKNOWN),
                )
            )  # fmt: skip
        return made


def _intervals(test: PairTest, spread: Array) -> Intervals:
    """For the bootstrap its own interval stands where ANOVA's does; it has none for all pairs at once."""
    if isinstance(test, BootstrapAnova):
        return Intervals(float("nan"), float(test.half_width.mean()), spread)
    return intervals_of(test, spread)


def _error(found: Decomposition, model: str) -> ErrorTerm:
    return random_topic_error(found) if model == RANDOM else model_error(anova(found, model))


def _adjusted(test: PairTest) -> Array:
    return test.p_adjusted if isinstance(test, BootstrapAnova) else test.p_value


def _shift(here: Decomposition, there: Decomposition, model: str) -> float:
    """How much F of the system factor changes, as a share, from one value of undefined cells to another."""
    if here is there or model in (RANDOM, BOOTSTRAP):
        return 0.0 if here is there else float("nan")
    before, after = (anova(each, model)["system"].f for each in (here, there))
    return abs(after / before - 1) if before and np.isfinite([before, after]).all() else 0.0  # FS19 Proposition 7.2


def _tests(
    scores: Array, found: Decomposition, models: Sequence[str], plan: _Plan, stream: np.random.SeedSequence | None
) -> dict[str, PairTest]:
    """Every model's verdicts on one table."""
    made: dict[str, PairTest] = {}
    for model in models:
        if model == BOOTSTRAP:
            made[model] = bootstrap_anova(scores, alpha=plan.alpha, count=plan.resamples, seed=stream or plan.seed)
        else:
            made[model] = tukey(found.system_means, _error(found, model), alpha=plan.alpha)
    return made


def _fates(scores: Array, models: Sequence[str], plan: _Plan, stream: np.random.SeedSequence | None) -> dict[str, Fate]:
    """Of the pairs found on one half of the topics, the shares that repeat, vanish and reverse on the other."""
    topics = len(scores)
    if not plan.held_out or topics < 4:
        return {}
    order = np.random.default_rng(plan.seed).permutation(topics)
    one, other = (
        _tests(scores[part], decompose(scores[part]), models, plan, stream)
        for part in (order[: topics // 2], order[topics // 2 :])
    )
    return {model: fates(one[model], other[model]) for model in models}


def fates(one: PairTest, other: PairTest) -> Fate:
    """Shares of one's findings that the other repeats, does not find, or finds the other way round."""
    found = one.significant
    if not found.any():
        return UNKNOWN
    same = np.sign(one.difference) == np.sign(other.difference)
    again = other.significant[found]
    return float((again & same[found]).mean()), float((~again).mean()), float((again & ~same[found]).mean())
