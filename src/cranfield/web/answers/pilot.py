"""cranfield pilot"""

from __future__ import annotations

from typing import Annotated

from cranfield.methods.design.grid import parse_counts
from cranfield.methods.leave_out import pilot_study
from cranfield.methods.leave_out.goal import target_for
from cranfield.methods.names import EstimateName
from cranfield.rendering.pilot_charts import pilot_chart
from cranfield.rendering.pilot_document import pilot_document
from cranfield.rendering.report_model import Picture
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import SEED, Count, Given, Numbers, TargetQuery, field, numbers

GOAL = ("min_range", "difference", "width", "systems", "test", "alpha", "power", "method")


class PilotQuery(TargetQuery):
    """What ``cranfield pilot`` takes."""

    front = ("measure", "min_range", "difference", "systems", "leave_out", "topics", "trials")
    leave_out: Numbers = numbers("Teams left out", "How many teams to leave out; all numbers unless given.", "1,2,3")
    topics: Numbers = numbers("Topics kept", "Topics to keep, besides all; 75,50,25,10 unless given.", "25,10")
    trials: int = field("Trials", "Random pilots of each size.", 100, ge=2, le=1000)
    depth: Count = field("Pool depth", "That of the judgments unless given.", ge=1, le=100_000)
    estimate: Annotated[EstimateName | None, Given] = field(
        "Estimate", "Variance estimate; what the goal needs unless given."
    )
    within: float = field("Acceptable error", "Largest acceptable error of a pilot, as a share.", 0.25, gt=0, le=10)
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query = asked.query
    target = target_for(len(asked.collection.systems), **asked.chosen(*GOAL))
    kept = {
        name: None if text is None else parse_counts(text, name=name, most=2000)
        for name, text in asked.chosen("leave_out", "topics").items()
    }
    asked.tables(None)  # for what the answer should be read with
    study = pilot_study(
        asked.collection,
        query.measure or ["AP"],
        left_out=kept["leave_out"],
        pilot_topics=kept["topics"],
        target=target,
        tolerance=query.within,
        progress=asked.progress,
        **asked.chosen("trials", "depth", "estimate", "seed"),
    )
    inputs = asked.inputs(
        "qrels",
        "teams",
        measures=query.measure,
        **{target.goal: target.value, "systems": target.systems},
        test=target.test if target.goal == "difference" else None,
        **asked.chosen("leave_out", "topics", "trials", "depth", "estimate", "alpha", "power", "method", "within"),
    )
    document = pilot_document(study, inputs)
    picture = Picture("Variance against the teams left out", pilot_chart(document.rows))
    return Answer(document, asked.command(), pictures=(picture,))


QUESTION = Question(
    "pilot",
    "A smaller pilot",
    "The variance estimates of pilots with fewer teams and topics",
    PilotQuery,
    answer,
    files=("qrels", "teams", "order", "name"),
    word="runs",
    of=("collection",),
)
