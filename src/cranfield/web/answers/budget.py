"""cranfield budget"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from cranfield.budget import Prices
from cranfield.budget.asking import Question as BudgetQuestion
from cranfield.budget.asking import ask
from cranfield.design.grid import parse_counts
from cranfield.design.targets import choose_target
from cranfield.report.budgeting import budget_answer
from cranfield.report.pilot_charts import budget_figure
from cranfield.report.whole import Picture
from cranfield.web.answers.pilot import GOAL
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import (
    SEED,
    Choices,
    Count,
    Flag,
    Given,
    Number,
    Numbers,
    TargetQuery,
    amount,
    field,
    numbers,
)


class BudgetQuery(TargetQuery):
    """What ``cranfield budget`` takes."""

    choices: ClassVar[Choices] = {
        "estimate": {"": "what the goal needs", "two-way": "two-way", "within": "within", "one-way": "one-way",
                     "residual": "residual"},
    }  # fmt: skip
    front = ("measure", "min_range", "difference", "systems", "depths", "budget", "price", "topic_price")
    depths: Numbers = numbers("Depths", "Pool depths; 5,10,20,… unless given.", "10,30,100")
    estimate: Annotated[Literal["two-way", "within", "one-way", "residual"] | None, Given] = field(
        "Estimate", "Of the variance; what the goal needs unless given."
    )
    price: float = field("Price of a judgment", "Of a judgment.", 1.0, ge=0, le=1e9)
    topic_price: float = field("Price of a topic", "Of a topic, on top of its judgments.", 0.0, ge=0, le=1e9)
    budget: Number = amount("Budget", "Turn it round: what does so much see?", 1e12)
    pairs: Count = field("Pairs of runs", "Study so many pairs of runs instead (0: all), as WMZ08.", ge=0, le=100_000)
    reuse: Flag = field("see how new teams would fare", "See instead how new teams' runs would fare.", False)
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query = asked.query
    target = choose_target(**asked.chosen(*GOAL))
    depths = None if query.depths is None else parse_counts(query.depths, name="depths", most=200)
    question = BudgetQuestion(
        target, depths, query.estimate, Prices(query.price, query.topic_price), query.budget, query.pairs, query.reuse
    )
    asked.tables(None)  # for what the answer should be read with
    found = ask(question, {asked.arguments[0]: asked.collection}, query.measure, seed=query.seed,
                progress=asked.progress)  # fmt: skip
    inputs = asked.inputs(
        "qrels", "teams", measures=query.measure, **{target.goal: target.value},
        **asked.chosen("depths", "systems", "alpha", "power", "method", "estimate", "price", "topic_price", "budget",
                       "pairs"),
    )  # fmt: skip
    document = budget_answer(found, inputs, query.budget)
    title = document.tables[0].title or "Topics against depth"
    return Answer(document, asked.command(), pictures=(Picture(title, budget_figure(document)),))


QUESTION = Question("budget", "Topics against depth", "Designs that see equally much, and what each costs",
                    BudgetQuery, answer, files=("qrels", "teams", "order", "name"), word="runs",
                    of=("collection",))  # fmt: skip
