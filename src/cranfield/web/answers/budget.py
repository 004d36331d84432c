"""cranfield budget"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from cranfield.methods.design.grid import parse_counts
from cranfield.methods.names import EstimateName
from cranfield.methods.pooling import Prices
from cranfield.methods.pooling.asking import BudgetRequest as BudgetQuestion
from cranfield.methods.pooling.asking import ask, system_choice
from cranfield.rendering.budget_document import budget_answer
from cranfield.rendering.pilot_charts import budget_figure
from cranfield.rendering.report_model import Picture
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import (
    SEED,
    Choices,
    Count,
    Flag,
    Given,
    Name,
    Number,
    Numbers,
    TargetQuery,
    amount,
    field,
    numbers,
)

GOAL = ("min_range", "difference", "width", "systems", "test", "alpha", "power", "method")


class BudgetQuery(TargetQuery):
    """What ``cranfield budget`` takes."""

    choices: ClassVar[Choices] = {
        "rule": {
            "equal-power": "equal power for the same systems",
            "raw-difference": "equal raw difference (Sakai 2014)",
        }
    }
    front = ("measure", "best", "min_range", "difference", "systems", "depths", "budget", "price", "topic_price")
    depths: Numbers = numbers("Depths", "Pool depths; 5,10,20,… unless given.", "10,30,100")
    best: Count = field(
        "Best runs", "Compare designs for the best N runs by their means at full depth; all runs unless given.", ge=2
    )
    pair: Name = field("or: two runs", "Compare designs for these two runs, as A,B.", max_length=400)
    rule: Literal["equal-power", "raw-difference"] = field(
        "Equivalent designs have", "Equal power for the same systems, or the same raw difference.", "equal-power"
    )
    estimate: Annotated[EstimateName | None, Given] = field(
        "Estimate", "Variance estimate; what the goal needs unless given."
    )
    price: float = field("Price of a judgment", "Price of a judgment.", 1.0, ge=0, le=1e9)
    topic_price: float = field("Price of a topic", "Price of a topic, in addition to its judgments.", 0.0, ge=0, le=1e9)
    budget: Number = amount("Budget", "Instead: the detectable difference at each depth for this budget.", 1e12)
    pairs: Count = field(
        "Pairs of runs", "Instead: effect sizes of N random pairs (0: all), as Webber et al. (2008).", ge=0, le=100_000
    )
    reuse: Flag = field("leave each team out", "Instead: leave each team out of the pool in turn.", False)
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query = asked.query
    depths = None if query.depths is None else parse_counts(query.depths, name="depths", most=200)
    question = BudgetQuestion(
        goal=asked.chosen(*GOAL),
        choice=system_choice(query.best, query.pair),
        depths=depths,
        prices=Prices(query.price, query.topic_price),
        **asked.chosen("rule", "estimate", "budget", "pairs", "reuse"),
    )
    asked.tables(None)  # for what the answer should be read with
    collections = {asked.arguments[0]: asked.collection}
    inputs = asked.inputs(
        "qrels", "teams", measures=query.measure, **question.inputs(collections), **asked.chosen("depths")
    )
    answered = ask(question, collections, query.measure, seed=query.seed, progress=asked.progress)
    document = budget_answer(answered, inputs, query.budget)
    title = document.tables[0].title or "Topics against depth"
    return Answer(document, asked.command(), pictures=(Picture(title, budget_figure(document)),))


QUESTION = Question(
    "budget",
    "Topics against depth",
    "Equivalent designs, and what each costs",
    BudgetQuery,
    answer,
    files=("qrels", "teams", "order", "name"),
    word="runs",
    of=("collection",),
)
