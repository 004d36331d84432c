"""Which question about a budget is asked, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cranfield.budget.depths import depth_study
from cranfield.budget.designs import Budget, Prices, Purchases, equivalent_designs, spend
from cranfield.budget.pairs import BUDGETS, PairStudy, pair_study
from cranfield.budget.reuse import Reusability, reusability
from cranfield.collection import Collection
from cranfield.design.targets import Target
from cranfield.errors import RequestError

Progress = Callable[[int, int], None]
Answer = Budget | Purchases | PairStudy | Reusability


@dataclass(frozen=True)
class Question:
    """Designs that reach a target; or what ``budget`` sees; or what ``pairs`` of runs show; or ``reuse`` by new teams.

    ``pairs`` of 0 are all of them.
    """

    target: Target = field(default_factory=Target)
    depths: Sequence[int] | None = None
    estimate: str | None = None
    prices: Prices = field(default_factory=Prices)
    budget: float | None = None
    pairs: int | None = None
    reuse: bool = False

    def __post_init__(self) -> None:
        if self.pairs is not None and self.reuse:
            raise RequestError("choose one of --pairs, --reuse", fix="Ask for the other afterwards.")


def ask(
    question: Question, collections: Mapping[str, Collection], measures: Sequence[str] | None = None, *, seed: int = 1,
    progress: Progress | None = None,
) -> Answer:  # fmt: skip
    """The answer to a question; only designs and what a budget sees can be asked of several collections at once."""
    wanted = list(measures or ["AP"])
    if question.pairs is not None:
        budgets = BUDGETS if question.budget is None else (*BUDGETS, int(question.budget))
        return pair_study(
            only_collection(collections, "--pairs"), wanted, depths=question.depths, pairs=question.pairs or None,
            budgets=budgets, alpha=question.target.alpha, power=question.target.power, seed=seed, progress=progress,
        )  # fmt: skip
    if question.reuse:
        return reusability(
            only_collection(collections, "--reuse"), wanted, depths=question.depths, progress=progress
        )  # fmt: skip
    study = depth_study(
        collections, wanted, depths=question.depths, estimate=question.estimate or question.target.estimate,
        seed=seed, progress=progress,
    )  # fmt: skip
    if question.budget is None:
        return equivalent_designs(study, question.target, prices=question.prices)
    return spend(study, question.budget, question.target, prices=question.prices)


def only_collection(collections: Mapping[str, Collection], flag: str) -> Collection:
    """The one collection there is."""
    if len(collections) > 1:
        raise RequestError(f"{flag} takes one collection at a time", fix="Name one of them.")
    return next(iter(collections.values()))
