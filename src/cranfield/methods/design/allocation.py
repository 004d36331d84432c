"""Designs that count more than topics: their counts, what they reach, and what they cost; one row per design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.formulas import Design
from cranfield.methods.design.solver import Size
from cranfield.methods.design.spreads import Judged, Replicated, Spread, Structure
from cranfield.methods.names import TEST_LABELS


@dataclass(frozen=True, eq=False, kw_only=True)
class Allocation:
    """Topics and the other counts of a spread for every design of a size.

    Parameters
    ----------
    size
        The topics of every design; with a ``budget``, those that it pays for, and the power that they have.
    spread
        That of every design: with a judge `Judged`, 0 topics being judged where the judge does not pay; `Replicated`
        where there are several scores per topic.
    costs, budget
        What everything costs, where it is known, and what all may cost.
    best
        The design of the lowest cost, or with the largest power for the budget; None where nothing costs.
    judged_topics
        Those that the judge labels, where they are given.
    alone
        With a judge: the topics for the same goal with human labels alone.
    lower, upper
        The same at the ends of the intervals of what was estimated; the first takes fewer topics.
    measure, estimate
        What the variance was estimated from, and how; empty where it is given.
    """

    size: Size
    spread: Spread
    costs: Costs | None = None
    budget: float | None = None
    best: int | None = None
    judged_topics: int | None = None
    alone: Size | None = None
    lower: Allocation | None = None
    upper: Allocation | None = None
    measure: str = ""
    estimate: str = ""

    @property
    def replicated(self) -> Replicated:
        """The spread of designs with several scores per topic."""
        assert isinstance(self.spread, Replicated)
        return self.spread

    @property
    def structure(self) -> Structure:
        """What its units, items and repeats are called."""
        return self.replicated.kind

    def _spread(self, cell: int) -> Any:
        """The spread of one design."""
        shape = self.size.topics.shape
        one = {name: np.broadcast_to(value, shape)[cell] for name, value in self.spread.numbers.items()}
        return replace(self.spread, **one)

    def _cost(self, size: Size, spread: Spread, cell: int) -> float | None:
        """What the topics of a size cost; None where a price is not known, or no topics reach the goal."""
        if self.costs is None or not size.reached[cell]:
            return None
        cost = float(self.costs.of(Design(topics=size.topics[cell], spread=spread)))
        return cost if np.isfinite(cost) else None

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per design: the inputs, the counts, what they reach, the cost, and the range."""
        return [self._row(cell, row) for cell, row in enumerate(self.size.to_dict())]

    def _row(self, cell: int, row: dict[str, Any]) -> dict[str, Any]:
        head = {name: getattr(self, name) for name in ("measure", "estimate") if getattr(self, name)}
        own = self._judged(cell, row) if isinstance(self.spread, Judged) else self._replicated(cell, row)
        ends = {
            f"{name}_{word}": value
            for word, end in (("lower", self.lower), ("upper", self.upper))
            if end is not None
            for name, value in end._counts(cell).items()
        }
        return head | own | ends

    def _counts(self, cell: int) -> dict[str, Any]:
        """The topics, and with a judge also those that it labels and the cost."""
        topics = {"topics": int(self.size.topics[cell]) if self.size.reached[cell] else None}
        if not isinstance(self.spread, Judged):
            return topics
        judged = self._spread(cell)
        cost = self._cost(self.size, judged, cell)
        return topics | {"judged_topics": int(judged.judged_topics), "cost": cost}

    def _judged(self, cell: int, row: dict[str, Any]) -> dict[str, Any]:
        assert self.alone is not None
        own = (f"achieved_{self.size.method.achieves}", f"{self.size.method.achieves}_below", "topics")
        inputs = {name: value for name, value in row.items() if name not in own}
        spread, counts = self._spread(cell), self._counts(cell)
        people = replace(spread, judged_topics=0.0)
        return {
            **inputs,
            "judge_correlation": float(spread.judge_correlation),
            **counts,
            own[0]: row[own[0]],
            "human_topics": int(self.alone.topics[cell]) if self.alone.reached[cell] else None,
            "human_topics_cost": self._cost(self.alone, people, cell),
            "judge_pays": counts["judged_topics"] > 0,
        }

    def _replicated(self, cell: int, row: dict[str, Any]) -> dict[str, Any]:
        spread, topics = self._spread(cell), row["topics"]
        row |= {"items": int(row["items"]), "repeats": int(row["repeats"])}
        own: dict[str, Any] = {"replicates": spread.structure, **row}
        own |= {"scores": None, "df": None, "icc": spread.components.icc, "design_effect": None}
        if topics is not None:
            error = spread.error(np.asarray(float(topics)), np.asarray(row.get("systems", 2.0)), row["test"])
            scores, effect = topics * row["items"] * row["repeats"], spread.design_effect(topics)
            own |= {"scores": scores, "df": float(error[1]), "design_effect": effect}
        if self.costs is not None:
            own |= {"cost": self._cost(self.size, spread, cell), "best": cell == self.best}
        return own

    # --- the sentence

    def summary(self) -> str:
        """Return one sentence about the best design, or the first: its counts, the goal, the cost and the test."""
        row = self.to_dict()[self.best or 0]
        name = f"{self.measure}: " if self.measure else ""
        if row["topics"] is None:
            return name + self._out_of_reach(row)
        paid_for = {} if self.budget is None else {"power": round(row["achieved_power"], 3)}
        goal = f"{self.size.claim({**row, **paid_for})}{self._cost_words(row)}"
        counts = self._spread(self.best or 0).in_words(row["topics"])
        if row.get("judge_pays") is False:
            return f"{name}{self._judge_words(row)}: {counts} {goal}."
        return f"{name}{counts} {goal} ({self._how(row)}){self._alone_words(row)}.{self._range_words(row)}"

    def _how(self, row: Mapping[str, Any]) -> str:
        if isinstance(self.spread, Judged):
            return f"regression estimator, {TEST_LABELS[row['test']]}; r = {row['judge_correlation']:.4g}"
        return f"{self.size.method.title}, df {row['df']:.3g}; the claim covers {self.structure.covers}"

    def _cost_words(self, row: Mapping[str, Any]) -> str:
        cost = "" if row.get("cost") is None else f", at a cost of {money(row['cost'])}"
        return cost if self.budget is None else f"{cost} within the budget of {money(self.budget)}"

    def _judge_words(self, row: Mapping[str, Any]) -> str:
        r = f"r = {row['judge_correlation']:.4g}"
        if self.judged_topics is not None:
            return f"{self.judged_topics:,} topics labelled by a model with {r} do not help"
        return f"The labels of a model with {r} do not pay"

    def _alone_words(self, row: Mapping[str, Any]) -> str:
        if self.alone is None:
            return ""
        if row["human_topics"] is None:
            return "; people alone cannot reach it"
        cost = "" if row["human_topics_cost"] is None else f", {money(row['human_topics_cost'])}"
        return f"; people alone need {row['human_topics']:,} topics{cost}"

    def _range_words(self, row: Mapping[str, Any]) -> str:
        if "topics_lower" not in row:
            return ""
        is_judged = isinstance(self.spread, Judged)
        who, what = ("topics for people", "estimates") if is_judged else (f"{self.structure.unit}s", "components")
        counts, costs = ([row.get(f"{name}_{end}") for end in ("lower", "upper")] for name in ("topics", "cost"))
        low, high = ("no number" if count is None else f"{count:,}" for count in counts)
        priced = "" if None in costs else f" (cost {' to '.join(map(money, costs))})"
        return f" Between {low} and {high} {who}{priced}, reflecting the uncertainty of the {what}."

    def _out_of_reach(self, row: Mapping[str, Any]) -> str:
        if isinstance(self.spread, Judged):
            return (
                f"No design with up to {self.size.limit:,} topics is enough ({self._how(row)}). Ask for less, or "
                "choose a measure with less variance."
            )
        structure = self.structure
        if self.budget is not None:
            return f"A budget of {money(self.budget)} does not pay for two {structure.unit}s."
        more = f"Have more {structure.sampled}, or ask for less." if structure.shared else "Ask for less."
        return (
            f"No number of {structure.unit}s up to {self.size.limit:,} is enough: "
            f"{self._spread(self.best or 0).in_words(self.size.limit)} give a power of {row['achieved_power']:.4g}. "
            f"{more}"
        )


def money(cost: Any) -> str:
    return f"{cost:,.10g}"
