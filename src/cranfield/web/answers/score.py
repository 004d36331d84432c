"""cranfield score"""

from __future__ import annotations

from typing import ClassVar, Literal

from cranfield.measures import parse_measures, with_companions
from cranfield.rendering.output_formats import scores_csv
from cranfield.rendering.report_sections import spread_picture
from cranfield.rendering.score_document import score_document
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import MEASURES, Choices, Names, Query, field

Unscored = Literal["zero", "nan", "drop"]


class ScoreQuery(Query):
    """What ``cranfield score`` takes."""

    choices: ClassVar[Choices] = {"missing": {"zero": "counts as 0", "nan": "stays missing", "drop": "is dropped"}}
    scored_by = "AP P@10 nDCG@10"
    front = ("measure",)
    measure: Names = MEASURES
    missing: Unscored = field("A topic without results", "A judged topic a run returned nothing for.", "zero")
    no_relevant: Unscored = field("A topic without relevant documents", "A topic without relevant documents.", "zero")


def answer(asked: Asked) -> Answer:
    query = asked.query
    wanted = parse_measures(query.measure or ["AP", "P@10", "nDCG@10"])
    names = [str(each) for each in wanted]
    table = asked.collection.score(
        [str(each) for each in with_companions(wanted)], missing=query.missing, no_relevant=query.no_relevant
    )
    order = asked.about["options"].get("order", "score")
    inputs = asked.inputs(
        "qrels", "intents", measures=names, order=order, missing=query.missing, no_relevant=query.no_relevant
    )
    shown = table.select(measures=names)
    pictures = tuple(spread_picture(shown, measure) for measure in names)
    return Answer(score_document(table, inputs), asked.command(), pictures=pictures, more={"scores": scores_csv(shown)})


QUESTION = Question(
    "score",
    "Scores",
    "Mean scores, and those of every topic",
    ScoreQuery,
    answer,
    files=("qrels", "intents", "order", "name"),
    word="runs",
    of=("collection",),
)
