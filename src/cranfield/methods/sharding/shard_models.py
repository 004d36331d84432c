"""Shard studies, Ferro and Sanderson (2019): split the documents at random, score every shard, and fit models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection import Collection, View
from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.measures import Measure, parse_measure, parse_measures
from cranfield.measures.declaration import relevant_grades
from cranfield.methods.contrasts.assumptions import nothing_to_tell
from cranfield.methods.contrasts.tukey import ErrorTerm, Intervals, standard_error_reach
from cranfield.methods.sharding.anova import (
    MODELS,
    NESTED,
    AnovaTable,
    Decomposition,
    Effect,
    anova,
    decompose,
    nested_anova,
    sampled_replicates,
)
from cranfield.methods.sharding.model_tests import Tukey, intervals_of, model_error, random_topic_error, tukey
from cranfield.methods.sharding.replicates import BootstrapAnova, bootstrap_anova, too_few_resamples
from cranfield.methods.sharding.replication import PairVerdicts, Replication, replication
from cranfield.runtime.random import generator, sequence
from cranfield.runtime.threads import tasks
from cranfield.scores import ScoreTable
from cranfield.scores.evaluation import score_view
from cranfield.scores.frames import rows_frame
from cranfield.scores.selection import check_balance
from cranfield.stats.kendall import kendall_tau
from cranfield.stats.pairs import every_pair
from cranfield.types import Array, Progress

ShardTest = Tukey | BootstrapAnova

RANDOM = "MD6r"  # MD6's table, topics a sample: the claim covers new topics
SAMPLED = "MD6rr"  # replicates are a sample too: the claim covers new judges or prompts as well
BOOTSTRAP = "bootstrap"  # MD3's model without its normal errors, and a weaker promise about all pairs
FIXED = tuple(name for name in MODELS if name != "MD1")
SHARD_MODELS = (*FIXED, RANDOM, BOOTSTRAP)
ANOVA_TABLES = {name.lower(): name for name in (*MODELS, NESTED)}
# Parameters of splitting documents, and parameters of a score table with replicates.
OF_DOCUMENTS: Mapping[str, Any] = {"shards": [2, 5, 10], "samples": 1, "undefined": 0.0}
OF_TABLES: Mapping[str, Any] = {"replicates": None, "missing": None, "columns": None}
RESAMPLES = 2000
REPLICATE_MODELS = {"crossed": (*FIXED, RANDOM, SAMPLED, BOOTSTRAP), "nested": (NESTED,)}


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardResult:
    """One model on one sharding of one measure; ``shards`` is 1 and ``sample`` 0 for the whole corpus.

    Pairs are in the order of ``stats.pairs``. p-values are kept for the first sample of each; of the
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
    replication: Replication

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())

    @property
    def top_group(self) -> int:
        """How many systems are not significantly different from the best, which is one of them."""
        first, second = every_pair(len(self.means))
        best = int(np.argmax(self.means))
        return 1 + int((~self.significant[(first == best) | (second == best)]).sum())

    @property
    def width(self) -> float:
        """The width of Tukey's interval around a system's mean: the smallest significant difference."""
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
            **self.replication.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Undefined:
    """How many shards of one sharding hold no relevant document of each topic; by the measure with the most of them."""

    shards: int
    sample: int
    by_topic: Array


@dataclass(frozen=True, kw_only=True, eq=False)
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
    halvings: int
    replicates: str = "crossed"
    replicate: str = "shards"
    whole: str = "whole corpus"
    warnings: tuple[Caution, ...] = ()

    @property
    def richest(self) -> str:
        """The model with most effects: MD6, or the one of nested replicates."""
        return NESTED if self.replicates == "nested" else "MD6"

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
        """For every measure, how many pairs are significant, and on which topics and replicates that claim holds."""
        return "\n".join(self._claim(measure) for measure in dict.fromkeys(each.measure for each in self.results))

    def _claim(self, measure: str) -> str:
        (whole,) = self.get("MD1", measure=measure)
        most = max(result.shards for result in self.results)
        pairs = {
            model: self.get(model, measure=measure, shards=most)[0].significant_pairs
            for model in ("MD6", RANDOM, SAMPLED, NESTED)
            if self.get(model, measure=measure)
        }
        total = f"{len(whole.significant):,} pairs"
        if self.replicates == "nested":
            return (
                f"{measure}: {pairs[NESTED]:,} of {total} differ significantly when topics and replicates are samples "
                f"(nested, {most} replicates per system); {whole.significant_pairs:,} when only topics are (MD1)."
            )
        claim = (
            f"{measure}: {whole.significant_pairs:,} of {total} differ significantly by MD1; with {most} "
            f"{self.replicate} {pairs['MD6']:,} by MD6, on these topics, and {pairs[RANDOM]:,} when topics are a "
            f"sample ({RANDOM})"
        )
        return f"{claim}, {pairs[SAMPLED]:,} when replicates are too ({SAMPLED})." if SAMPLED in pairs else f"{claim}."

    def to_frame(self, backend: str = "pandas") -> Any:
        """A row for every model on every sharding."""
        return rows_frame(self.to_dict(), backend)

    def to_dict(self) -> list[dict[str, Any]]:
        return [result.to_dict() for result in self.results]


@dataclass(frozen=True)
class _Plan:
    """What is done alike with every table."""

    alpha: float
    halvings: int
    resamples: int
    models: tuple[str, ...]

    def models_of(self, sample: int) -> tuple[str, ...]:
        """The bootstrap costs more than all others together, and is done on the first sample of each S."""
        return self.models if self.resamples and sample == 0 else self.closed_form

    @property
    def closed_form(self) -> tuple[str, ...]:
        """Models that need no resampling, and can be made anew on the halves of many halvings."""
        return tuple(name for name in self.models if name != BOOTSTRAP)


def undefined_cells(view: View, measure: Measure) -> Array:
    """Topics × shards without one document that is relevant to the measure: undefined for every system alike."""
    return np.asarray(_relevant(view, measure) == 0).reshape(view.topics, view.shards)


def _relevant(view: View, measure: Measure) -> Array:
    """The number of documents of every unit that are relevant to the measure."""
    is_relevant = view.grade > 0 if measure.kind.per_intent else relevant_grades(measure, view.grade)
    return np.bincount(view.unit[is_relevant], minlength=view.units)


def shard_study(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    shards: Sequence[int] = (2, 5, 10),
    samples: int = 1,
    alpha: float = 0.05,
    x: float = 0.0,
    resamples: int = RESAMPLES,
    seed: int = 1,
    halvings: int = 100,
    progress: Progress | None = None,
) -> ShardStudy:
    """Run a shard study: Ferro and Sanderson (2019), Tables 1 and 2; shards are crossed with systems.

    Parameters
    ----------
    x
        The score of a (topic, shard) without relevant documents, for every system; MD6 does not depend on it.
    resamples
        Resamples of the bootstrap ANOVA, on the first sample of each number of shards; 0 leaves it out.
    halvings
        Number of random halvings of the topics, to measure which significant pairs of one half replicate on the other,
        on the first sample of each number of shards; 0 leaves them out. The bootstrap is not repeated on them.
    """
    wanted = parse_measures(measures)
    relevant = np.min([_relevant(collection.whole, each) for each in wanted], axis=0)
    _check_request(collection, shards, samples, alpha, x, most=int(relevant.max(initial=0)))
    plan = _Plan(alpha=alpha, halvings=halvings, resamples=resamples, models=SHARD_MODELS)
    whole = {str(each): score_view(collection.whole, [each])[0, :, :, 0] for each in wanted}
    found = [
        _whole_result(name, scores, plan, sequence(seed, "shards", "whole", name)) for name, scores in whole.items()
    ]
    work = _Work(collection, tuple(map(str, wanted)), tuple(whole.values()), x, plan, seed)
    done = tasks(
        _one_sharding, [(count, at) for count in shards for at in range(samples)], shared=work, progress=progress
    )
    hollow = [undefined for undefined, _ in done]
    found += [result for _, results in done for result in results]
    study = ShardStudy(
        results=tuple(found),
        systems=collection.systems,
        topics=collection.topics,
        relevant=relevant,
        undefined=tuple(hollow),
        alpha=alpha,
        x=x,
        resamples=resamples,
        seed=seed,
        halvings=halvings,
    )
    return _with_warnings(study, shards, [nothing_to_tell(scores) for scores in whole.values()])


@dataclass(frozen=True, eq=False)
class _Work:
    """What all re-shardings share: measures by name, and the scores of each on the whole corpus."""

    collection: Collection
    measures: tuple[str, ...]
    whole: tuple[Array, ...]
    x: float
    plan: _Plan
    seed: int


def _one_sharding(work: _Work, which: tuple[int, int]) -> tuple[Undefined, list[ShardResult]]:
    """One sample of one number of shards, all measures."""
    count, sample = which
    # A stream for every sample of every S: the same shards whatever else is asked for.
    stream = sequence(work.seed, "shards", count, sample)
    view = work.collection.sharded(work.collection.random_shards(count, seed=stream))
    results: list[ShardResult] = []
    most = np.zeros(view.topics, np.int64)
    for name, whole in zip(work.measures, work.whole, strict=True):
        measure = parse_measure(name)
        scores, empty = score_view(view, [measure])[0], undefined_cells(view, measure)
        most = np.maximum(most, empty.sum(axis=1))
        mine = sequence(stream, name)
        results += _Sharding(name, scores, empty, work.x, whole, sample, mine, work.plan).results()
    return Undefined(count, sample, most), results


def replicate_study(
    table: ScoreTable,
    measures: Sequence[str] | str | None = None,
    *,
    replicates: str | None = None,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    halvings: int = 100,
    seed: int = 1,
    collection: str = "",
) -> ShardStudy:
    """Compare systems with replicates in ``shard``: seeds, prompts, judges, query variations.

    Parameters
    ----------
    measures
        Measures to analyse; by default all of the table.
    replicates
        ``nested``: each system has replicates of its own, as random seeds are, and the claim is to hold for others.
        Systems are tested against MS(topic*system) + MS(replicate within system) − MS(error), with Satterthwaite's
        degrees of freedom. ``crossed``: all systems share them, as judges, prompts and shards of the documents; then
        the models are MD2 to MD6, MD6r (topics a sample), MD6rr (topics and replicates samples) and the bootstrap.
        By default the role of the column (`ScoreTable.replicates`), or else crossed.
    resamples, halvings
        As in `shard_study`; nested replicates have no bootstrap.
    collection
        What distinguishes this table from others that are analysed with the same seed: each has random streams of its
        own.

    References
    ----------
    Ferro and Sanderson (2019) for MD2 to MD6, Clark (1973) and Satterthwaite (1946) for nested replicates.
    """
    _check_alpha(alpha)
    if not table.shards:
        raise RequestError(
            "the table has no column «shard»", fix="Add one: a shard, a query variation, a judge, a seed."
        )
    chosen = table.with_replicates(replicates)
    if len(chosen.shards) < 2:
        raise RequestError(f"there is one shard only, «{chosen.shards[0]}»", fix="Give two or more, or use compare.")
    kind = chosen.replicates or "crossed"
    plan = _Plan(alpha=alpha, halvings=halvings, resamples=resamples, models=REPLICATE_MODELS[kind])
    empty = np.zeros((len(chosen.topics), len(chosen.shards)), bool)
    results: list[ShardResult] = []
    cautions: dict[Caution | None, None] = {None if chosen.replicates else _assumed_crossed(): None}
    wanted = [measures] if isinstance(measures, str) else measures
    for name in chosen.measures if wanted is None else wanted:
        check_balance(chosen, name)
        scores = chosen.of(name)
        means, stream = scores.mean(axis=2), sequence(seed, "replicates", collection, name)
        sharding = _Sharding(name, scores, empty, 0.0, means, 0, stream, plan)
        results += [_whole_result(name, means, plan, sequence(stream, "whole")), *sharding.results()]
        cautions[nothing_to_tell(scores)] = None
    cautions[_mute_bootstrap(results, resamples, alpha)] = None
    return ShardStudy(
        results=tuple(results),
        systems=chosen.systems,
        topics=chosen.topics,
        relevant=None,
        undefined=(),
        alpha=alpha,
        x=0.0,
        resamples=resamples if BOOTSTRAP in plan.models else 0,
        seed=seed,
        halvings=halvings,
        replicates=kind,
        replicate="replicates",
        whole="means over replicates",
        warnings=tuple(caution for caution in cautions if caution is not None),
    )


def anova_names(text: str | None) -> tuple[str, ...] | None:
    """Parse a list of models, ``all`` or ``none``; None is the default of the study."""
    if text is None:
        return None
    if text in ("all", "none"):
        return tuple(ANOVA_TABLES.values()) if text == "all" else ()
    names = [name.strip().lower() for name in text.split(",")]
    unknown = [name for name in names if name not in ANOVA_TABLES]
    if unknown:
        raise RequestError(
            f"there is no ANOVA table «{unknown[0]}»",
            fix=f"Choose among: {', '.join(ANOVA_TABLES.values())}; or all, or none.",
        )
    return tuple(ANOVA_TABLES[name] for name in names)


def refuse_unused(given: Mapping[str, Any], *, table: ScoreTable | None) -> None:
    """Refuse parameters of a request (in ``given``, by name) that would have no effect."""
    unused = OF_TABLES if table is None else OF_DOCUMENTS
    if table is not None and table.replicates == "nested" and given["resamples"] > 0:
        unused = {**unused, "resamples": RESAMPLES}
    changed = [name for name, usual in unused.items() if given[name] != usual]
    if changed:
        what = "runs whose documents are split here" if table is None else "the replicates of this score table"
        raise NoEffectError(f"`{changed[0]}` has no effect on {what}", parameter=changed[0], fix="Leave it out.")


def _assumed_crossed() -> Caution:
    return Caution(
        "replicates-assumed-crossed",
        "nothing says whether systems share the replicates (judges, prompts) or have their own (random seeds); they "
        "are analysed as shared",
        'Name it: `replicates="crossed"`, or `replicates="nested"`.',
    )


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a probability; 0.05 is usual.")


def _check_request(
    collection: Collection, shards: Sequence[int], samples: int, alpha: float, x: float, *, most: int
) -> None:
    """Refuse what cannot be; ``most`` is the largest number of relevant documents of a topic."""
    _check_alpha(alpha)
    for what, names in (("systems", collection.systems), ("topics", collection.topics)):
        if len(names) < 2:
            raise RequestError(f"a comparison needs two {what} or more, and there is {len(names)}", fix="Add some.")
    if not np.isfinite(x):
        raise RequestError(f"an undefined score cannot be {x}", fix="Give a number; 0 is usual.")
    if not shards or min(shards) < 2:
        raise RequestError("a corpus is split into two shards or more", fix="Give `shards=[2, 5, 10]`, for instance.")
    if max(shards) > most:
        raise RequestError(
            f"{max(shards)} shards are more than any topic has relevant documents ({most} at most), "
            "so that every topic would be undefined in some shard",
            fix=f"Split into {most} or fewer." if most > 1 else "Such a collection cannot be split; use compare.",
        )
    if samples < 1:
        raise RequestError("there must be one sample or more")


def _mute_bootstrap(results: Sequence[ShardResult], resamples: int, alpha: float) -> Caution | None:
    """Warn if the bootstrap has too few resamples to be significant."""
    silent = [each for each in results if each.model == BOOTSTRAP and not each.significant.any()]
    return too_few_resamples(resamples, len(silent[0].significant), alpha) if silent else None


def _with_warnings(study: ShardStudy, shards: Sequence[int], others: Sequence[Caution | None]) -> ShardStudy:
    """Warn about topics with fewer relevant documents than shards."""
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
                "Use MD6, which does not depend on that number, or split into fewer shards.",
            )
        )
    if study.largest_shift > 1e-6:
        found.append(
            Caution(
                "undefined-value-matters",
                f"MD6's F changes by {study.largest_shift:.1e} with the value of undefined cells, not 0 as in theory",
                "Scores so close to one another are lost to rounding; read MD6 with care.",
            )
        )
    return replace(study, warnings=tuple(dict.fromkeys(each for each in found if each is not None)))


def _whole_result(name: str, scores: Array, plan: _Plan, stream: np.random.SeedSequence) -> ShardResult:
    found = decompose(scores)
    table = anova(found, "MD1")
    test = tukey(found.system_means, model_error(table), alpha=plan.alpha)
    replications = _replications(scores[:, :, np.newaxis], ("MD1",), plan, stream)
    return ShardResult(
        measure=name,
        model="MD1",
        shards=1,
        sample=0,
        table=table,
        omega_squared=table["system"].omega_squared,
        means=found.system_means,
        significant=test.significant,
        p_value=test.p_value,
        intervals=intervals_of(test, standard_error_reach(scores, alpha=plan.alpha)),
        tau=1.0,
        undefined=0,
        shift=0.0,
        replication=replications.get("MD1", Replication.none()),
    )


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
        models = self.plan.models_of(self.sample)
        tests = _tests(scores, found, models, self.plan, self.stream)
        halved = self.plan.closed_form if self.sample == 0 else ()
        replications = _replications(scores, halved, self.plan, self.stream)
        # Scores of one topic with several seeds do not count as several topics: their mean is used.
        spread = standard_error_reach(self.whole if NESTED in models else scores, alpha=self.plan.alpha)
        return [
            ShardResult(
                measure=self.name,
                model=model,
                shards=scores.shape[2],
                sample=self.sample,
                table=_table(found, model),
                omega_squared=_omega_squared(found, model),
                means=found.system_means,
                significant=test.significant,
                p_value=_adjusted(test) if self.sample == 0 else None,
                intervals=_intervals(test, spread),
                tau=tau,
                undefined=int(self.empty.sum()),
                shift=_shift(found, other, model),
                replication=replications.get(model, Replication.none()),
            )
            for model, test in tests.items()
        ]


def _table(found: Decomposition, model: str) -> AnovaTable | None:
    if model == NESTED:
        return nested_anova(found)
    return anova(found, model) if model in MODELS else None


def _omega_squared(found: Decomposition, model: str) -> float:
    return anova(found, model)["system"].omega_squared if model in MODELS else float("nan")


def _intervals(test: ShardTest, spread: Array) -> Intervals:
    """For the bootstrap its own interval stands where ANOVA's does; it has none for all pairs at once."""
    if isinstance(test, BootstrapAnova):
        return Intervals(float("nan"), float(test.half_width.mean()), spread)
    return intervals_of(test, spread)


def error_term(found: Decomposition, model: str) -> ErrorTerm:
    """What a model tests differences of systems against."""
    if model == RANDOM:
        return random_topic_error(found)
    if model in (SAMPLED, NESTED):
        return _of_means(sampled_replicates(found, nested=model == NESTED), found)
    return model_error(anova(found, model))


def _of_means(error: Effect, found: Decomposition) -> ErrorTerm:
    """Return the error term of a system's mean over all its topics and replicates."""
    topics, _, replicates = found.shape
    return ErrorTerm(error.ms, error.df, topics * replicates)


def _adjusted(test: ShardTest) -> Array:
    return test.p_adjusted if isinstance(test, BootstrapAnova) else test.p_value


def _shift(here: Decomposition, there: Decomposition, model: str) -> float:
    """How much F of the system factor changes, as a share, from one value of undefined cells to another."""
    if here is there or model not in MODELS:
        return 0.0 if here is there else float("nan")
    before, after = (anova(each, model)["system"].f for each in (here, there))
    return abs(after / before - 1) if before and np.isfinite([before, after]).all() else 0.0  # FS19 Proposition 7.2


def _tests(
    scores: Array, found: Decomposition, models: Sequence[str], plan: _Plan, stream: np.random.SeedSequence
) -> dict[str, ShardTest]:
    """Every model's verdicts on one table."""
    made: dict[str, ShardTest] = {}
    for model in models:
        if model == BOOTSTRAP:
            mine = sequence(stream, "bootstrap")
            made[model] = bootstrap_anova(scores, alpha=plan.alpha, resamples=plan.resamples, seed=mine)
        else:
            made[model] = tukey(found.system_means, error_term(found, model), alpha=plan.alpha)
    return made


def _replications(
    scores: Array, models: Sequence[str], plan: _Plan, stream: np.random.SeedSequence
) -> dict[str, Replication]:
    """What becomes of each model's significant pairs on the other half of the topics."""

    def verdicts(topics: Array) -> dict[str, PairVerdicts]:
        part = scores[topics]
        tests = _tests(part, decompose(part), models, plan, stream)
        return {model: (np.sign(test.difference), test.significant) for model, test in tests.items()}

    halvings = plan.halvings if models else 0
    return replication(verdicts, len(scores), halvings=halvings, rng=generator(stream, "halvings"))
