"""Budgets, pairs of runs and reusability as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.budget import Budget, PairStudy, Purchases, Reusability
from cranfield.report.document import Column, Document, Table, known

TITLES = {
    "judged": "judged a topic", "topics": "topics n", "topics_low": "n, low", "topics_high": "n, high",
    "judgments": "judgments in all", "lost": "topics lost", "documents": "documents a topic", "seen_low": "low",
    "seen_high": "high", "effect_size": "effect size, median", "effect_size_low": "quarter", "effect_size_high":
    "three quarters", "effect_size_most": "largest", "own_tau": "τ, all as newcomers", "least_tau": "least τ of a team",
    "tau": "τ", "drop": "largest drop", "drop_share": "of its score", "rank_drop": "places lost", "run": "run",
    "unjudged": "unjudged in top 10", "most_unjudged": "at most", "unique": "unique a topic",
}  # fmt: skip
KINDS = {
    "judged": "decimal", "coverage": "percent", "variance": "score", "lower": "score", "upper": "score",
    "judgments": "whole", "cost": "whole", "cheapest": "yes", "frontier": "yes", "best": "yes", "seen": "score",
    "seen_low": "score", "seen_high": "score", "documents": "decimal", "detectable": "percent", "own_tau": "score",
    "least_tau": "score", "tau": "score", "drop": "score", "drop_share": "percent", "unjudged": "percent",
    "most_unjudged": "percent", "unique": "decimal", "effect_size": "score", "effect_size_low": "score",
    "effect_size_high": "score", "effect_size_most": "score", "measure": "text", "run": "text", "team": "text",
}  # fmt: skip


def budget_answer(
    found: Budget | Purchases | PairStudy | Reusability, inputs: Mapping[str, Any], budget: float | None = None
) -> Document:
    """Whatever was asked about a budget as a document."""
    if isinstance(found, PairStudy):
        return pair_document(found, inputs, None if budget is None else int(budget))
    if isinstance(found, Reusability):
        return reuse_document(found, inputs)
    return purchase_document(found, inputs) if isinstance(found, Purchases) else budget_document(found, inputs)


def _table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    columns = tuple(Column(word, TITLES.get(word, word), KINDS.get(word, "count")) for word in words)
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def budget_document(found: Budget, inputs: Mapping[str, Any]) -> Document:
    """Designs that see equally much, cheapest first, a measure after the other: S14 Table 9 and Fig. 4."""
    rows = found.to_dict()
    words = ["measure", "depth", "judged", "coverage", "lost", "variance", "lower", "upper", "topics", "topics_low",
             "topics_high", "judgments", *(["cost"] if _priced(found) else []), "cheapest", "frontier"]  # fmt: skip
    order = list(dict.fromkeys(row["measure"] for row in rows))
    ranked = sorted(rows, key=lambda row: (order.index(row["measure"]), _last(row["cost"])))
    title = f"Designs that {found.target.wish()}, {found.estimate} variance, cheapest first"
    table = _table(words, ranked, title)
    return Document(
        "budget", inputs, [table], rows, found.summary(), found.citations, found.warnings, found.seed,
        {"estimate": found.estimate},
    )  # fmt: skip


def _priced(found: Budget | Purchases) -> bool:
    return (found.prices.judgment, found.prices.topic) != (1.0, 0.0)


def _last(value: float) -> float:
    return value if value == value else float("inf")


def purchase_document(found: Purchases, inputs: Mapping[str, Any]) -> Document:
    """What a budget sees at each depth."""
    rows = found.to_dict()
    seen = {"min_range": "smallest range seen", "difference": "smallest difference seen", "width": "interval width"}
    words = ["measure", "depth", "judged", "coverage", "lost", "variance", "topics", "judgments",
             *(["cost"] if _priced(found) else []), "seen", "seen_low", "seen_high", "best"]  # fmt: skip
    table = _table(words, rows, f"What {found.budget:,.0f} buy, {found.estimate} variance")
    columns = tuple(
        Column(column.word, seen[found.target.goal] if column.word == "seen" else column.title, column.kind)
        for column in table.columns
    )
    extra = {"estimate": found.estimate, "budget": found.budget, "goal": found.target.goal}
    return Document(
        "budget", inputs, [Table(columns, table.rows, table.title)], rows, found.summary(), found.citations,
        found.warnings, found.seed, extra,
    )  # fmt: skip


def pair_document(found: PairStudy, inputs: Mapping[str, Any], budget: int | None = None) -> Document:
    """Effect sizes at each depth (WMZ08 Fig. 7), and what judgments make detectable (Fig. 8)."""
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
        (spent, *(float(each.detectable[found.budgets.index(spent)]) for each in found.depths)) for spent in shown
    ]
    title = f"Share of the pairs detectable with power {found.power:g} at α = {found.alpha:g}"
    extra = {"pairs": len(found.pairs), "alpha": found.alpha, "power": found.power}
    return Document(
        "pairs", inputs, [sizes, Table(columns, shares, title)], rows, found.summary(budget), found.citations,
        found.warnings, found.seed, extra,
    )  # fmt: skip


def reuse_document(found: Reusability, inputs: Mapping[str, Any]) -> Document:
    """Every team as a newcomer: the worst of them at each depth, then all of them."""
    words = ("measure", "depth", "own_tau", "least_tau", "drop", "drop_share", "run", "rank_drop", "unjudged",
             "most_unjudged")  # fmt: skip
    tables = [_table(words, found.overview(), "Each team in turn taken for a newcomer")]
    each = ("team", "runs", "tau", "drop", "drop_share", "run", "rank_drop", "unjudged", "unique")
    for measure in found.measures:
        for depth in found.depths:
            teams = sorted(found.of(measure, depth), key=lambda team: -team.drop)
            tables.append(_table(each, [team.to_dict() for team in teams], f"{measure}, depth {depth}"))
    extra = {"overview": [known(row) for row in found.overview()]}
    return Document("reuse", inputs, tables, found.to_dict(), found.summary(), found.citations, found.warnings,
                    extra=extra)  # fmt: skip
