"""Which question about a budget is asked, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.methods.design.target import Target
from cranfield.methods.leave_out.goal import check_design, target_for
from cranfield.methods.pooling.costs import (
    EQUAL_POWER,
    AffordableDesigns,
    Budget,
    Prices,
    affordable_designs,
    equivalent_designs,
)
from cranfield.methods.pooling.depths import DepthStudy, SystemChoice, depth_study
from cranfield.methods.pooling.newcomers import Reusability, reusability
from cranfield.methods.pooling.run_pairs import BUDGETS, PairStudy, pair_study

if TYPE_CHECKING:
    from cranfield.types import Progress

BudgetAnswer = Budget | AffordableDesigns | PairStudy | Reusability


@dataclass(frozen=True, kw_only=True)
class BudgetRequest:
    """Designs that reach a goal; or what ``budget`` affords; or ``pairs`` of runs; or ``reuse`` by new teams.

    ``goal`` has the keywords of ``target_for``. ``pairs`` of 0 are all of them.
    """

    goal: Mapping[str, Any] = field(default_factory=dict)
    choice: SystemChoice = field(default_factory=SystemChoice)
    rule: str = EQUAL_POWER
    depths: Sequence[int] | None = None
    estimate: str | None = None
    prices: Prices = field(default_factory=Prices)
    budget: float | None = None
    pairs: int | None = None
    reuse: bool = False

    def __post_init__(self) -> None:
        if self.pairs is not None and self.reuse:
            raise RequestError("choose one of `pairs`, `reuse`", fix="Ask for the other afterwards.")
        if self.pairs is not None or self.reuse:
            self._check_unused("reuse" if self.reuse else "pairs")
        if self.choice.pair is not None and self.goal.get("min_range") is not None:
            raise RequestError("a pair has a difference, not a range", fix="Give `difference` instead.")
        if self.choice.pair is not None and self.goal.get("systems") not in (None, 2):
            raise RequestError("a pair has two systems", fix="Leave out `systems`.")

    def _check_unused(self, asked: str) -> None:
        """Refuse what has no effect where no design is asked for."""
        unused = {
            name: self.goal.get(name) is not None for name in ("min_range", "difference", "width", "systems", "test")
        }
        unused |= {
            "best": self.choice.best is not None,
            "pair": self.choice.pair is not None,
            "rule": self.rule != EQUAL_POWER,
            "estimate": self.estimate is not None,
            "price": self.prices != Prices(),
            "budget": self.reuse and self.budget is not None,
        }
        for name, given in unused.items():
            if given:
                raise RequestError(f"`{name}` has no effect with `{asked}`", fix="Leave it out.")

    def target(self, collections: Mapping[str, Collection]) -> Target:
        """The goal for the chosen systems; a pair's may have no value, and is then the difference that it has."""
        goal = dict(self.goal)
        if self.choice.pair is None:
            return target_for(self.choice.best or max(len(each.systems) for each in collections.values()), **goal)
        unnamed = goal.get("difference") is None and goal.get("width") is None
        if unnamed:
            goal["difference"] = 1.0
        if goal.get("width") is None and goal.get("test") is None:
            goal["test"] = "t"  # a pair that is named in advance
        target = target_for(2, **goal)
        return replace(target, value=None) if unnamed else target

    def inputs(self, collections: Mapping[str, Collection]) -> dict[str, Any]:
        """The question as JSON repeats it."""
        target = self.target(collections)
        return {
            "best": self.choice.best,
            "pair": self.choice.pair,
            "rule": self.rule,
            target.goal: target.value,
            "systems": target.systems,
            "alpha": target.alpha,
            "power": target.power,
            "method": target.method,
            "test": target.test if target.goal == "difference" else None,
            "estimate": self.estimate,
            "price": self.prices.judgment,
            "topic_price": self.prices.topic,
            "budget": self.budget,
            "pairs": self.pairs,
        }


def system_choice(best: int | None, pair: str | None) -> SystemChoice:
    """The systems that designs have to distinguish; a pair is two names with a comma between.

    >>> system_choice(None, "okapi, smart").pair
    ('okapi', 'smart')
    """
    if pair is None:
        return SystemChoice(best)
    names = tuple(part.strip() for part in pair.split(","))
    if len(names) != 2 or not all(names):
        raise RequestError(f"«{pair}» is no pair of runs", fix='Name two runs: `pair="A,B"`.')
    return SystemChoice(best, (names[0], names[1]))


def ask(
    question: BudgetRequest,
    collections: Mapping[str, Collection],
    measures: Sequence[str] | None = None,
    *,
    seed: int = 1,
    progress: Progress | None = None,
) -> BudgetAnswer:
    """The answer to a question; only designs can be asked of several collections at once."""
    names, target = list(measures or ["AP"]), question.target(collections)
    if question.pairs is not None:
        return pair_study(
            only_collection(collections, "pairs"),
            names,
            depths=question.depths,
            pairs=question.pairs or None,
            budgets=BUDGETS if question.budget is None else (*BUDGETS, int(question.budget)),
            alpha=target.alpha,
            power=target.power,
            seed=seed,
            progress=progress,
        )
    if question.reuse:
        return reusability(only_collection(collections, "reuse"), names, depths=question.depths, progress=progress)
    study = depth_study(
        collections,
        names,
        depths=question.depths,
        best=question.choice.best,
        pair=question.choice.pair,
        estimate=check_design(target, question.estimate or target.estimate),
        progress=progress,
    )
    if question.budget is None:
        return equivalent_designs(study, own_difference(study, target), rule=question.rule, prices=question.prices)
    return affordable_designs(study, question.budget, target, rule=question.rule, prices=question.prices)


def own_difference(study: DepthStudy, target: Target) -> Target:
    """The goal, or where it has no value the difference that the pair has at full depth."""
    if target.value is not None:
        return target
    if len(study.measures) > 1:
        raise RequestError("the pair's difference is not the same in every measure", fix="Give `difference`.")
    difference = abs(study.points[-1].difference)
    if difference == 0:
        raise RequestError("the two runs do not differ at full depth", fix="Give `difference`.")
    return replace(target, value=difference)


def only_collection(collections: Mapping[str, Collection], asked: str) -> Collection:
    """The one collection there is."""
    if len(collections) > 1:
        raise RequestError(f"`{asked}` takes one collection at a time", fix="Name one of them.")
    return next(iter(collections.values()))
