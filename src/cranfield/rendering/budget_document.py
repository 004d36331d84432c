"""Budgets, pairs of runs and reusability as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.methods.pooling import AffordableDesigns, Budget, PairStudy, Reusability
from cranfield.methods.pooling.costs import RAW_DIFFERENCE
from cranfield.questions.budget import BudgetResult
from cranfield.rendering.document import Column, Document, Table, known
from cranfield.rendering.pilot_charts import DETECTABLE, affordable_chart, budget_chart, pair_chart, reuse_chart
from cranfield.rendering.views import View

TITLES = {
    "judged": "judged per topic",
    "lost": "topics lost",
    "signal_to_noise": "σ_s²/σ_e²",
    "relative_topics": "relative topics",
    "topics": "topics n",
    "topics_low": "n, low",
    "topics_high": "n, high",
    "reliability": "Eρ²",
    "judgments": "total judgments",
    "documents": "documents per topic",
    "detectable_low": "low",
    "detectable_high": "high",
    "effect_size": "effect size, median",
    "effect_size_low": "1st quartile",
    "effect_size_high": "3rd quartile",
    "effect_size_most": "largest",
    "own_tau": "leave-one-team-out τ",
    "least_tau": "smallest τ of a team",
    "tau": "τ",
    "drop": "largest drop",
    "drop_share": "share of its score",
    "rank_drop": "ranks lost",
    "unjudged": "unjudged in top 10",
    "most_unjudged": "at most",
    "unique": "unique per topic",
}
KINDS = {
    **dict.fromkeys(("measure", "run", "team"), "text"),
    **dict.fromkeys(("judged", "documents", "unique"), "decimal"),
    **dict.fromkeys(("coverage", "drop_share", "unjudged", "most_unjudged"), "percent"),
    **dict.fromkeys(("judgments", "cost"), "whole"),
    **dict.fromkeys(("cheapest", "frontier", "best"), "yes"),
    "relative_topics": "number",
    **dict.fromkeys(
        (
            "variance",
            "signal_to_noise",
            "reliability",
            "detectable",
            "detectable_low",
            "detectable_high",
            "own_tau",
            "least_tau",
            "tau",
            "drop",
            "effect_size",
            "effect_size_low",
            "effect_size_high",
            "effect_size_most",
        ),
        "score",
    ),
}


def _table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    columns = tuple(Column(word, TITLES.get(word, word), KINDS.get(word, "count")) for word in words)
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def budget_document(found: Budget, inputs: Mapping[str, Any]) -> Document:
    """Equivalent designs by measure, cheapest first: Sakai (2014), Table 9 and Fig. 4."""
    rows = found.to_dict()
    words = (
        *("measure", "depth", "judged", "coverage", "lost", "variance", "signal_to_noise", "relative_topics", "topics"),
        *("topics_low", "topics_high", "reliability", "judgments", *_cost(found), "cheapest", "frontier"),
    )
    order = list(dict.fromkeys(row["measure"] for row in rows))
    ranked = sorted(rows, key=lambda row: (order.index(row["measure"]), _last(row["cost"])))
    rule = "equal raw differences" if found.rule == RAW_DIFFERENCE else "equal power for the same systems"
    title = f"Designs that {found.target.goal_words()}; {rule}, {found.estimate} variance, cheapest first"
    return Document(
        method="budget",
        inputs=inputs,
        tables=[_table(words, ranked, title)],
        rows=rows,
        sentence=found.summary(),
        citations=found.citations,
        warnings=found.warnings,
        extra=_details(found),
    )


def _details(found: Budget | AffordableDesigns) -> dict[str, Any]:
    return {"estimate": found.estimate, "rule": found.rule, "chosen": dict(found.chosen)}


def _cost(found: Budget | AffordableDesigns) -> list[str]:
    return [] if (found.prices.judgment, found.prices.topic) == (1.0, 0.0) else ["cost"]


def _last(value: float) -> float:
    return value if value == value else float("inf")


def affordable_document(found: AffordableDesigns, inputs: Mapping[str, Any]) -> Document:
    """The detectable difference at each depth for one budget."""
    rows = found.to_dict()
    words = (
        *("measure", "depth", "judged", "coverage", "lost", "variance", "signal_to_noise", "topics", "reliability"),
        *("judgments", *_cost(found), "detectable", "detectable_low", "detectable_high", "best"),
    )
    table = _table(words, rows, f"Designs for a budget of {found.budget:,.0f}, {found.estimate} variance")
    columns = tuple(
        Column(column.word, DETECTABLE[found.target.goal] if column.word == "detectable" else column.title, column.kind)
        for column in table.columns
    )
    return Document(
        method="budget",
        inputs=inputs,
        tables=[Table(columns, table.rows, table.title)],
        rows=rows,
        sentence=found.summary(),
        citations=found.citations,
        warnings=found.warnings,
        extra={**_details(found), "budget": found.budget, "goal": found.target.goal},
    )


def pair_document(found: PairStudy, inputs: Mapping[str, Any], budget: int | None = None) -> Document:
    """Effect sizes at each depth, and the share that is detectable: Webber et al. (2008), Fig. 7 and Fig. 8."""
    rows = found.to_dict()
    once = [row for row in rows if row["judgments"] == found.budgets[0]]
    words = ("depth", "documents", "effect_size_low", "effect_size", "effect_size_high", "effect_size_most")
    sizes = _table(words, once, f"{found.measure}: effect sizes of {len(found.pairs):,} pairs of runs by depth")
    shown = [at for at in found.budgets if at == budget] or list(found.budgets[:: max(1, len(found.budgets) // 6)])
    columns = (
        Column("judgments", "judgments", "count"),
        *(Column(f"depth_{each.depth}", f"depth {each.depth}", "percent") for each in found.depths),
    )
    shares = [
        (count, *(float(each.detectable[found.budgets.index(count)]) for each in found.depths)) for count in shown
    ]
    title = f"Share of the pairs detectable with power {found.power:g} at α = {found.alpha:g}"
    extra = {"pairs": len(found.pairs), "alpha": found.alpha, "power": found.power}
    return Document(
        "pairs",
        inputs,
        [sizes, Table(columns, shares, title)],
        rows,
        found.summary(budget),
        found.citations,
        found.warnings,
        found.seed,
        extra,
    )


def reuse_document(found: Reusability, inputs: Mapping[str, Any]) -> Document:
    """Results with each team left out in turn: the largest effect at each depth, then all teams."""
    words = (
        "measure",
        "depth",
        "own_tau",
        "least_tau",
        "drop",
        "drop_share",
        "run",
        "rank_drop",
        "unjudged",
        "most_unjudged",
    )
    tables = [_table(words, found.overview(), "Each team in turn left out of the pool")]
    each = ("team", "runs", "tau", "drop", "drop_share", "run", "rank_drop", "unjudged", "unique")
    for measure in found.measures:
        for depth in found.depths:
            teams = sorted(found.of(measure, depth), key=lambda team: -team.drop)
            tables.append(_table(each, [team.to_dict() for team in teams], f"{measure}, depth {depth}"))
    extra = {"overview": [known(row) for row in found.overview()]}
    return Document(
        "reuse", inputs, tables, found.to_dict(), found.summary(), found.citations, found.warnings, extra=extra
    )


def document(result: BudgetResult) -> Document:
    study, inputs = result.study, result.inputs
    if isinstance(study, PairStudy):
        budget = inputs["budget"]
        return pair_document(study, inputs, None if budget is None else int(budget))
    if isinstance(study, Reusability):
        return reuse_document(study, inputs)
    return (
        affordable_document(study, inputs) if isinstance(study, AffordableDesigns) else budget_document(study, inputs)
    )


def chart(result: BudgetResult) -> Any:
    """The chart of whichever result was asked for, against the pool depth."""
    study = result.study
    rows = study.to_dict()
    if isinstance(study, PairStudy):
        return pair_chart(rows)
    if isinstance(study, Reusability):
        return reuse_chart(rows)
    return affordable_chart(rows, study.target.goal) if isinstance(study, AffordableDesigns) else budget_chart(rows)


VIEWS = {
    "BudgetResult": View(
        document, {"depths": chart}, pictures=lambda result: [(document(result).tables[0].title, chart(result))]
    )
}
