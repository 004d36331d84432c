"""Pilot studies, budgets, pairs of runs and reusability as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.methods.leave_out import PilotStudy
from cranfield.methods.pooling import Budget, PairStudy
from cranfield.methods.pooling.costs import RAW_DIFFERENCE
from cranfield.methods.pooling.simulated_power import DRAWS, SAME_POWER
from cranfield.questions.budget import BudgetResult
from cranfield.questions.pilot import PilotResult
from cranfield.rendering.document import Column, Document, Table, View, known, listed
from cranfield.rendering.drawing import Chart
from cranfield.rendering.pilot_charts import affordable_chart, budget_chart, pair_chart, pilot_chart, reuse_chart

SMALLEST = {"min_range": "detects", "difference": "detects", "width": "width"}

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
    "formula_topics": "n, formula",
    "reliability": "Eρ²",
    "achieved_power": "power, formula",
    "simulated_power": "power",
    "same_power": "same power",
    "documents": "documents per topic",
    "detectable_low": "low",
    "detectable_high": "high",
    "effect_size": "effect size, median",
    "effect_size_low": "1st quartile",
    "effect_size_high": "3rd quartile",
    "effect_size_most": "largest",
    "own_tau": "team τ",
    "least_tau": "smallest τ of a team",
    "tau": "τ",
    "drop": "team loss",
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
    **dict.fromkeys(("same_power", "frontier", "best"), "yes"),
    "relative_topics": "number",
    **dict.fromkeys(
        (
            "variance",
            "signal_to_noise",
            "reliability",
            "simulated_power",
            "achieved_power",
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


# What a narrow terminal shows too, the most important last.
FIRST = {
    word: 60 + at
    for at, word in enumerate(
        (
            "same_power",
            "cost",
            "drop",
            "own_tau",
            "detectable",
            "simulated_power",
            "best",
            "judgments",
            "topics",
            "depth",
        )
    )
} | {"frontier": 0}


def _table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    columns = tuple(Column(word, TITLES.get(word, word), KINDS.get(word, "count"), FIRST.get(word)) for word in words)
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def budget_document(found: Budget, inputs: Mapping[str, Any]) -> Document:
    """Designs by measure, the cheapest first: Sakai (2014), Table 9 and Fig. 4; for a budget by depth."""
    rows = [_design_row(row, found) for row in found.to_dict()]
    order = list(dict.fromkeys(row["measure"] for row in rows))
    ranked = rows
    if found.budget is None:
        ranked = sorted(rows, key=lambda row: (order.index(row["measure"]), not row["best"], _last(row["cost"])))
    extra: dict[str, Any] = {"estimate": found.estimate, "rule": found.rule, "chosen": dict(found.chosen)}
    if found.budget is not None:
        extra |= {"budget": found.budget, "goal": found.target.goal.kind}
    tables = [_design_table(found, ranked, order)]
    if inputs.get("reuse"):
        extra |= {"reuse": [known(each.to_dict()) for each in found.reuse]}
        extra |= {"teams": [known(team.to_dict()) for each in found.reuse for team in each.teams]}
        tables += _team_tables(found)
    return Document(
        method="budget",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer=found.summary(),
        notes=" ".join(_budget_notes(found, inputs)),
        citations=found.citations,
        warnings=found.warnings,
        seed=found.seed,
        extra=extra,
    )


def _design_row(row: Mapping[str, Any], found: Budget) -> dict[str, Any]:
    """A design without what is not known of any."""
    unknown = [] if found.reuse else ["own_tau", "drop"]
    unknown += [] if found.is_simulated else ["simulated_power", "same_power"]
    return {word: value for word, value in row.items() if word not in unknown}


def _design_table(found: Budget, rows: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> Table:
    words = (
        *("measure", "depth", "topics", "judgments", "cost", "detectable", "simulated_power", "same_power", "own_tau"),
        *("drop", "best", "achieved_power", "formula_topics", "topics_low", "topics_high", "detectable_low"),
        *("detectable_high", "relative_topics", "judged", "coverage", "lost", "variance", "signal_to_noise"),
        *("reliability", "frontier"),
    )
    without = {"measure"} if len(measures) == 1 else set()
    without |= {"cost"} if found.prices.is_judgments else set()
    without |= {"topics_low", "topics_high"} if found.budget is not None else set()
    shown = [word for word in words if word not in without and any(_is_known(row.get(word)) for row in rows)]
    table = _table(shown, rows, _design_title(found, measures))
    smallest = SMALLEST[found.target.goal.kind]
    columns = [replace(each, title=smallest) if each.word == "detectable" else each for each in table.columns]
    return replace(table, columns=tuple(columns))


def _design_title(found: Budget, measures: Sequence[str]) -> str:
    name = f"{measures[0]}: designs" if len(measures) == 1 else "Designs"
    if found.budget is not None:
        return f"{name} for a budget of {found.budget:,.0f}, {found.estimate} variance"
    rule = "equal power for the same systems" if found.is_simulated else "by the formula"
    rule = "equal raw differences" if found.rule == RAW_DIFFERENCE else rule
    return f"{name} that {found.target.goal_words()}; {rule}, {found.estimate} variance, cheapest first"


def _budget_notes(found: Budget, inputs: Mapping[str, Any]) -> list[str]:
    """What the columns rest on."""
    notes = []
    if found.is_simulated:
        notes.append(
            f"The power is simulated: {DRAWS:,} times, topics of these runs were drawn with replacement. Designs have "
            f"the same power where it differs by at most {SAME_POWER:g}."
        )
    elif found.target.goal.kind != "difference":
        notes.append("The power is that of the formula; it is simulated for a `difference`.")
    else:
        notes.append("The power is that of the formula: no pair of runs has a difference near the one to detect.")
    if unequal := _unequal(found):
        notes.append(
            f"At depth {listed(unequal)} no number of topics has the power of full depth: the topics are those of the "
            "formula."
        )
    if not found.reuse:
        notes.append("Who contributed to the pools is not known (`teams`): what they mean for new teams is not shown.")
    return notes


def _unequal(found: Budget) -> list[str]:
    """The depths at which no number of topics has the power of full depth."""
    if found.budget is not None or found.rule == RAW_DIFFERENCE or not found.is_simulated:
        return []
    unequal = [design for design in found.designs if not design.same_power and design.topics is not None]
    return list(dict.fromkeys(str(design.depth) for design in unequal))


def _is_known(value: Any) -> bool:
    return value is not None and value == value


def _last(value: float) -> float:
    return value if value == value else float("inf")


def _team_tables(found: Budget) -> list[Table]:
    """Results with each team left out in turn: the largest effect at each depth, then all teams of two depths."""
    words = ("measure", "depth", "own_tau", "least_tau", "drop", "drop_share", "run", "rank_drop", "unjudged")
    overview = [each.to_dict() for each in found.reuse]
    tables = [_table((*words, "most_unjudged"), overview, "Each team in turn left out of the pool")]
    columns = ("team", "runs", "tau", "drop", "drop_share", "run", "rank_drop", "unjudged", "unique")
    for each in found.reuse:
        best, deepest = found.best(each.measure), found.of(each.measure)[-1]
        if each.depth in (best.depth if best else 0, deepest.depth):
            teams = sorted(each.teams, key=lambda team: -team.drop)
            title = f"{each.measure}, depth {each.depth}"
            tables.append(_table(columns, [team.to_dict() for team in teams], title))
    return tables


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


def _budget_view(result: BudgetResult) -> Document:
    study, inputs = result.study, result.inputs
    if isinstance(study, PairStudy):
        budget = inputs["budget"]
        return pair_document(study, inputs, None if budget is None else int(budget))
    return budget_document(study, inputs)


def _budget_chart(result: BudgetResult) -> Chart:
    """The chart of whichever result was asked for, against the pool depth."""
    study = result.study
    rows = study.to_dict()
    if isinstance(study, PairStudy):
        return pair_chart(rows)
    if result.inputs.get("reuse"):
        return reuse_chart([team.to_dict() for each in study.reuse for team in each.teams])
    return budget_chart(rows) if study.budget is None else affordable_chart(rows, study.target.goal.kind)


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
