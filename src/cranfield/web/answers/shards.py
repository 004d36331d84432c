"""cranfield shards"""

from __future__ import annotations

from typing import Any

from cranfield.compare.sharding import replicate_study, shard_study
from cranfield.design.grid import parse_counts
from cranfield.errors import RequestError
from cranfield.report.shard_charts import shard_chart
from cranfield.report.sharding import anova_names, shard_document
from cranfield.report.whole import Picture
from cranfield.scores.choosing import only_table
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import ALPHA, MEASURES, MISSED, SEED, Missing, Name, Names, Query, field


class ShardsQuery(Query):
    """What ``cranfield shards`` takes."""

    front = ("measure", "shards", "samples", "alpha")
    shards: str = field("Shards", "How many shards: a list or a range.", "2,5,10", max_length=100)
    measure: Names = MEASURES
    samples: int = field("Re-shardings", "Re-shardings of each.", 1, ge=1, le=1000)
    alpha: float = ALPHA
    undefined: float = field("Undefined scores", "Score of a topic without relevant documents in a shard.", 0.0, ge=0,
                             le=1)  # fmt: skip
    resamples: int = field("Resamples", "Of the bootstrap ANOVA of each first sample; 0 leaves it out.", 2000, ge=0,
                           le=100_000)  # fmt: skip
    held_out: bool = field("Held-out topics", "See which findings hold on other topics.", True)
    anova: str = field("ANOVA tables", "A list of MD1 to MD6, all or none.", "MD1,MD6", max_length=40)
    pairs: Name = field("Pairs by model", "Also give every pair by this model; CSV has them alone.", max_length=20)
    missing: Missing = MISSED
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query, names = asked.query, anova_names(asked.query.anova)
    inputs = asked.inputs("qrels", measures=query.measure, **asked.chosen("shards", "samples", "alpha", "undefined",
                          "resamples", "missing"))  # fmt: skip
    shared: dict[str, Any] = asked.chosen("alpha", "resamples", "held_out", "seed")
    if asked.about["kind"] == "collection":
        if query.missing is not None:
            raise RequestError("--missing goes with score tables; runs score 0 where they returned nothing")
        asked.tables(None)  # for what the answer should be read with
        study = shard_study(
            asked.collection, query.measure or ["AP"], shards=parse_counts(query.shards, name="shards", most=100),
            samples=query.samples, x=query.undefined, progress=asked.progress, **shared,
        )  # fmt: skip
    else:
        study = replicate_study(only_table(asked.tables(query.missing)), **shared)
    document = shard_document(study, inputs, anova=names, pairs=query.pairs)
    pictures = tuple(Picture(title, shard_chart(study, name)) for name, title in FIGURES.items())
    return Answer(document, asked.command(), pictures=pictures, listed="pairs" if query.pairs else "")


FIGURES = {"kinds": "Kinds of interval on the whole corpus and on shards", "models": "Intervals of the models",
          "shards": "Intervals with more shards", "robustness": "What the models find with more shards"}  # fmt: skip


QUESTION = Question("shards", "Shards", "What shards of the documents tell about systems", ShardsQuery, answer,
                    word="runs", alone=True, of=("collection", "shards"))  # fmt: skip
