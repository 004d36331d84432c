"""cranfield shards"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cranfield.methods.design.grid import parse_counts
from cranfield.methods.sharding.shard_models import refuse_unused, replicate_study, shard_study
from cranfield.rendering.report_model import Picture
from cranfield.rendering.shard_charts import shard_chart
from cranfield.rendering.shard_document import anova_names, shard_document
from cranfield.scores.selection import only_table
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import ALPHA, MEASURES, MISSED, SEED, Given, Missing, Name, Names, Query, field


class ShardsQuery(Query):
    """What ``cranfield shards`` takes."""

    front = ("measure", "shards", "samples", "alpha")
    shards: str = field("Shards", "How many shards: a list or a range.", "2,5,10", max_length=100)
    measure: Names = MEASURES
    replicates: Annotated[Literal["crossed", "nested"] | None, Given] = field(
        "Replicates",
        "Of a score table: nested if each system has its own (random seeds), crossed if all systems share them "
        "(prompts, judges). By default as the columns say: seed= is nested, prompt= and judge= are crossed.",
    )
    samples: int = field("Re-shardings", "Re-shardings of each.", 1, ge=1, le=1000)
    alpha: float = ALPHA
    undefined: float = field(
        "Undefined scores", "Score of a topic without relevant documents in a shard.", 0.0, ge=0, le=1
    )
    resamples: int = field(
        "Resamples", "Of the bootstrap ANOVA of each first sample; 0 leaves it out.", 2000, ge=0, le=100_000
    )
    halvings: int = field(
        "Halvings",
        "Random halvings of the topics, on which each first sample is tested anew to measure replication; 0 leaves "
        "them out.",
        100,
        ge=0,
        le=10_000,
    )
    anova: Name = field(
        "ANOVA tables",
        "A list of MD1 to MD6 and nested, all or none. By default MD1, and MD6 or nested.",
        max_length=40,
    )
    pairs: Name = field("Pairs by model", "Also give every pair by this model; CSV has them alone.", max_length=20)
    missing: Missing = MISSED
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query, names = asked.query, anova_names(asked.query.anova)
    inputs = asked.inputs(
        "qrels",
        measures=query.measure,
        **asked.chosen("shards", "samples", "alpha", "undefined", "resamples", "missing", "replicates", "halvings"),
    )
    shared: dict[str, Any] = asked.chosen("alpha", "resamples", "halvings", "seed")
    if asked.about["kind"] == "collection":
        refuse_unused(inputs, table=None)
        asked.tables(None)  # for what the answer should be read with
        study = shard_study(
            asked.collection,
            query.measure or ["AP"],
            shards=parse_counts(query.shards, name="shards", most=100),
            samples=query.samples,
            x=query.undefined,
            progress=asked.progress,
            **shared,
        )
    else:
        table = only_table(asked.tables(query.missing, replicates=query.replicates))
        refuse_unused(inputs, table=table)
        study = replicate_study(table, **shared)
    document = shard_document(study, inputs, anova=names, pairs=query.pairs)
    pictures = tuple(Picture(title, shard_chart(study, name)) for name, title in FIGURES.items())
    return Answer(document, asked.command(), pictures=pictures, listed="pairs" if query.pairs else "")


FIGURES = {
    "kinds": "Kinds of interval on the whole corpus and on shards",
    "models": "Intervals of the models",
    "shards": "Intervals with more shards",
    "robustness": "What the models find with more shards",
}


QUESTION = Question(
    "shards",
    "Shards",
    "What shards of the documents tell about systems",
    ShardsQuery,
    answer,
    word="runs",
    alone=True,
    of=("collection", "shards"),
)
