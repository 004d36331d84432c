"""Pilot studies, budgets, pairs of runs and reusability as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.methods.leave_out import PilotStudy
from cranfield.methods.pooling import AffordableDesigns, Budget, PairStudy, Reusability
from cranfield.methods.pooling.costs import RAW_DIFFERENCE
from cranfield.questions.budget import BudgetResult
from cranfield.questions.pilot import PilotResult
from cranfield.rendering.document import Column, Document, Table, View, known
from cranfield.rendering.drawing import Chart
from cranfield.rendering.pilot_charts import (
    DETECTABLE,
    affordable_chart,
    budget_chart,
    pair_chart,
    pilot_chart,
    reuse_chart,
)

SHOWN = 12  # values of k in the terminal; files and charts have all of them


def pilot_document(found: PilotStudy, inputs: Mapping[str, Any]) -> Document:
    """Return the teams and topics that each measure needs: Sakai and Shang (2016), Table 3; and the variance by k."""
    rows = found.to_dict()
    tables = [_needs(found), _fewer_topics(found, rows), _fewer_teams(found, rows)]
    extra = {
        "estimate": found.estimate,
        "depth": found.depth,
        "unknown_contributions": found.unknown,
        "measures": [known(_need(found, measure)) for measure in found.measures],
    }
    return Document(
        method="pilot",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer=found.summary(),
        citations=found.citations,
        warnings=found.warnings,
        seed=found.seed,
        extra=extra,
    )


def _need(found: PilotStudy, measure: str) -> dict[str, Any]:
    full = found.get(measure).to_dict()
    return {
        "measure": measure,
        "variance": full["variance"],
        "topics": full["topics"],
        "first_miss": found.first_miss(measure),
        "teams_needed": found.teams_needed(measure),
        "topics_needed": found.topics_needed(measure),
    }


def _needs(found: PilotStudy) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("variance", "variance", "score"),
        Column("topics", "topics n", "count"),
        Column("first_miss", "first biased k", "count"),
        Column("teams_needed", "teams needed", "count"),
        Column("topics_needed", "topics needed", "count"),
    )
    rows = [tuple(_need(found, measure).values()) for measure in found.measures]
    title = (
        f"{len(found.teams)} teams, {found.topics} topics; n to {found.target.goal_words()}; {found.estimate} variance"
    )
    return Table(columns, rows, title)


def _pilot_table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    titles = {
        "left_out": "teams left out",
        "pilot_topics": "pilot topics",
        "lower": "low",
        "upper": "high",
        "topics": "topics n",
        "topics_low": "n, low",
        "topics_high": "n, high",
        "error": "error",
        "lost": "topics lost",
        "most_lost": "at most",
    }
    scores = ("variance", "lower", "upper")
    kinds = {"measure": "text", **dict.fromkeys(scores, "score"), "error": "percent", "misses": "yes", "lost": "number"}
    columns = tuple(
        Column(word, titles.get(word, word), kinds.get(word, "count"), 100 if word == "topics" else None)
        for word in words
    )
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def _fewer_topics(found: PilotStudy, rows: Sequence[Mapping[str, Any]]) -> Table:
    mine = sorted(
        (row for row in rows if row["left_out"] == 0),
        key=lambda row: (found.measures.index(row["measure"]), -row["pilot_topics"]),
    )
    words = (*("measure", "pilot_topics", "variance", "lower", "upper", "topics", "topics_low", "topics_high"), "error")
    return _pilot_table(words, mine, f"Fewer topics, all teams ({found.trials} random pilots each)")


def _fewer_teams(found: PilotStudy, rows: Sequence[Mapping[str, Any]]) -> Table:
    shown = _some(found.left_out[1:])
    mine = [row for row in rows if row["pilot_topics"] == found.topics and row["left_out"] in shown]
    words = (
        *("measure", "left_out", "variance", "lower", "upper", "misses", "topics", "topics_low", "topics_high"),
        *("error", "lost", "most_lost"),
    )
    more = "" if len(shown) == len(found.left_out) - 1 else "; every k in the CSV output"
    return _pilot_table(words, mine, f"Fewer teams, all topics ({found.trials} random pilots each{more})")


def _some(numbers: Sequence[int]) -> set[int]:
    """Return the numbers, or about a dozen of them with the first and the last."""
    if len(numbers) <= SHOWN:
        return set(numbers)
    return {numbers[round(at * (len(numbers) - 1) / (SHOWN - 1))] for at in range(SHOWN)}


def _pilot_view(result: PilotResult) -> Document:
    return pilot_document(result.study, result.inputs)


def variance(result: PilotResult) -> Any:
    """The variance against the number of teams left out."""
    return pilot_chart(result.study.to_dict())


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


FIRST = {"depth": 100, "topics": 100, "judgments": 100}  # the columns that a narrow terminal shows too


def _table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    columns = tuple(Column(word, TITLES.get(word, word), KINDS.get(word, "count"), FIRST.get(word)) for word in words)
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
        answer=found.summary(),
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
        Column(
            column.word,
            DETECTABLE[found.target.goal.kind] if column.word == "detectable" else column.title,
            column.kind,
        )
        for column in table.columns
    )
    return Document(
        method="budget",
        inputs=inputs,
        tables=[Table(columns, table.rows, table.title)],
        rows=rows,
        answer=found.summary(),
        citations=found.citations,
        warnings=found.warnings,
        extra={**_details(found), "budget": found.budget, "goal": found.target.goal.kind},
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
        method="pairs",
        inputs=inputs,
        tables=[sizes, Table(columns, shares, title)],
        rows=rows,
        answer=found.summary(budget),
        citations=found.citations,
        warnings=found.warnings,
        seed=found.seed,
        extra=extra,
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
        method="reuse",
        inputs=inputs,
        tables=tables,
        rows=found.to_dict(),
        answer=found.summary(),
        citations=found.citations,
        warnings=found.warnings,
        extra=extra,
    )


def _budget_view(result: BudgetResult) -> Document:
    study, inputs = result.study, result.inputs
    if isinstance(study, PairStudy):
        budget = inputs["budget"]
        return pair_document(study, inputs, None if budget is None else int(budget))
    if isinstance(study, Reusability):
        return reuse_document(study, inputs)
    return (
        affordable_document(study, inputs) if isinstance(study, AffordableDesigns) else budget_document(study, inputs)
    )


def _budget_chart(result: BudgetResult) -> Chart:
    """The _budget_chart of whichever result was asked for, against the pool depth."""
    study = result.study
    rows = study.to_dict()
    if isinstance(study, PairStudy):
        return pair_chart(rows)
    if isinstance(study, Reusability):
        return reuse_chart(rows)
    return (
        affordable_chart(rows, study.target.goal.kind) if isinstance(study, AffordableDesigns) else budget_chart(rows)
    )


VIEWS = {
    "PilotResult": View(
        _pilot_view,
        {"variance": variance},
        pictures=lambda result: [("Variance against the teams left out", variance(result))],
    ),
    "BudgetResult": View(
        _budget_view,
        {"depths": _budget_chart},
        pictures=lambda result: [(_budget_view(result).tables[0].title, _budget_chart(result))],
    ),
}
