"""Comparisons on shards of the documents, or on other replicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Input, Param, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.sharding.shard_models import ShardStudy

ReplicatesName = Literal["crossed", "nested"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShardsResult(Result):
    """What each model finds on the whole corpus and on shards.

    Attributes
    ----------
    study
        Every model on every sharding, with its ANOVA table, intervals and significant pairs.
    anova
        Models whose ANOVA tables are shown; None for the usual ones.
    pairs
        The model whose pairs are listed; None for none.
    """

    study: ShardStudy
    anova: tuple[str, ...] | None = None
    pairs: str | None = None


@question(
    "Shards",
    examples=("cranfield shards runs/ --qrels qrels.txt -s 2,5,10 -m AP --samples 10",),
    charts=("robustness", "kinds", "models", "shards"),
    working="sharding",
    is_parallel=True,
)
def shards(
    runs: Annotated[
        sources.ScoresLike,
        Input(
            "Runs (with `qrels`), a packed collection, or a score table with several scores per topic and system (a "
            "column «shard»): seeds, prompts, judges, query variations.",
            metavar="RUNS",
        ),
    ],
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    shards: shared.Shards = "2,5,10",
    replicates: Annotated[
        ReplicatesName | None,
        Param(
            "Replicates in a score table: nested if each system has its own (random seeds), crossed if all systems "
            "share them (prompts, judges).",
            default="from `columns`: seed= is nested, prompt= and judge= are crossed",
            titles={"": "as the columns say"},
        ),
    ] = None,
    samples: shared.Samples = 1,
    alpha: shared.Alpha = 0.05,
    undefined: Annotated[
        float, Param("Score of a topic without relevant documents in a shard.", label="Undefined scores", ge=0, le=1)
    ] = 0.0,
    halvings: Annotated[
        int,
        Param(
            "Random halvings of the topics, to measure replication on the first split for each number of shards; 0 "
            "leaves them out.",
            ge=0,
            le=1_000_000,
            metavar="N",
        ),
    ] = 100,
    anova: Annotated[
        str | None,
        Param(
            "ANOVA tables to show: a list of models (MD1 to MD6, nested), or all, or none.",
            default="MD1, and MD6 or nested",
            label="ANOVA tables",
            metavar="MODELS",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        Param(
            "Also list every pair under this model, in JSON; CSV then has only the pairs.",
            label="Pairs by model",
            metavar="MODEL",
        ),
    ] = None,
    source: groups.TableSource = None,
    resampling: Annotated[
        groups.ResamplingLike,
        groups.Fields(
            groups.Resampling,
            "resamples",
            "seed",
            usual={"resamples": 2000},
            resamples=groups.changed(
                groups.Resampling,
                "resamples",
                int,
                help="Resamples of the bootstrap ANOVA, run on the first split for each number of shards; 0 leaves it "
                "out.",
                ge=0,
            ),
        ),
    ] = None,
) -> ShardsResult:
    """Split the documents at random, score every shard, and compare systems with the models MD1 to MD6.

    Returns
    -------
    ShardsResult
        Every model on every sharding.

    References
    ----------
    .. [1] N. Ferro and M. Sanderson, "Improving the accuracy of system performance estimation by using shards",
       SIGIR, 2019.
    .. [2] E. M. Voorhees, D. Samarov and I. Soboroff, "Using replicates in information retrieval evaluation", ACM
       Transactions on Information Systems, 2017.

    Examples
    --------
    A score table with two judges:

    >>> import cranfield as cf
    >>> rows = [
    ...     ("AP", topic, system, judge, score)
    ...     for system, gain in (("a", 0.1), ("b", 0.0))
    ...     for judge, shift in (("x", 0.0), ("y", 0.02))
    ...     for topic, score in (("1", 0.2 + gain), ("2", 0.5 + gain + shift), ("3", 0.4))
    ... ]
    >>> table = cf.ScoreTable.from_rows(rows, columns=("measure", "topic", "system", "shard", "score"))
    >>> found = cf.shards(table, replicates="crossed", halvings=0, resampling={"resamples": 0})
    >>> [result.model for result in found.study.results]
    ['MD1', 'MD2', 'MD3', 'MD4', 'MD5', 'MD6', 'MD6r', 'MD6rr']
    """
    from cranfield.methods.sharding.shard_models import anova_names

    read, random = groups.Source.of(source), groups.Resampling.of(resampling)
    resamples: Any = random.resamples
    given = {
        "shards": shards,
        "samples": samples,
        "undefined": undefined,
        "resamples": resamples,
        "missing": read.missing,
        "replicates": replicates,
        "columns": read.columns,
    }
    tests = {"alpha": alpha, "resamples": resamples, "halvings": halvings, "seed": random.seed}
    tables = anova_names(anova)
    if sources.is_collection(runs, qrels):
        study, warnings = _split(runs, qrels, measure, given, tests)
    else:
        study, warnings = _replicated(runs, measure, given, tests)
    return ShardsResult(study=study, anova=tables, pairs=pairs, warnings=warnings)


def _split(
    runs: Any, qrels: Any, measure: Any, given: dict[str, Any], tests: dict[str, Any]
) -> tuple[ShardStudy, tuple[Any, ...]]:
    """Documents of a collection split at random."""
    from cranfield.methods.sharding.shard_models import refuse_unused, shard_study

    refuse_unused(given, table=None)
    collection = sources.load_collection(runs, qrels=qrels)
    measures = measure or ["AP"]
    study = shard_study(
        collection,
        measures,
        shards=given["shards"],
        samples=given["samples"],
        x=given["undefined"],
        progress=listener(),
        **tests,
    )
    return study, sources.collection_warnings({"": collection}, measures)


def _replicated(
    scores: Any, measure: Any, given: dict[str, Any], tests: dict[str, Any]
) -> tuple[ShardStudy, tuple[Any, ...]]:
    """Replicates that a score table has."""
    from cranfield.methods.sharding.shard_models import refuse_unused, replicate_study

    how = {name: given[name] for name in ("columns", "missing", "replicates")}
    tables = sources.load_tables(scores, measure=measure, **how)
    refuse_unused(given, table=tables.only)
    return replicate_study(tables.only, **tests), tables.warnings
