"""Leaderboards as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.methods.meta_analysis.board import Board
from cranfield.questions.leaderboard import LeaderboardResult
from cranfield.rendering.charts import COLOURS, styled
from cranfield.rendering.comparison_document import design_sentences, design_summary
from cranfield.rendering.document import Column, Document, Table, View, known
from cranfield.rendering.references import ROBUST_CITATIONS

SHOWN = 50  # systems in a table
DECISIVE = 12  # tasks in a table
MOST_DRAWN = 60  # systems of a chart


def document(result: LeaderboardResult) -> Document:
    boards = list(result.boards.values())
    first = boards[0]
    return Document(
        method="leaderboard",
        inputs=result.inputs,
        tables=[table for each in boards for table in _tables(each)],
        rows=[known(row) for each in boards for row in _rows(each)],
        sentence="\n".join(_sentence(each) for each in boards),
        citations=("Mogstad2024", "Demsar2006", *(ROBUST_CITATIONS if first.comparison.design_effect else ())),
        warnings=tuple(dict.fromkeys(caution for each in boards for caution in each.warnings)),
        seed=result.seed,
        extra={
            "tasks": len(first.tasks),
            "systems": len(first.systems),
            "test": first.comparison.test,
            "correct": first.comparison.correct,
            "significant_pairs": first.comparison.significant_pairs,
            "top_group": list(first.comparison.top_group),
            **(design_summary(first.comparison.design_effect) if first.comparison.design_effect else {}),
            "decisive_tasks": [row for each in boards for row in _task_rows(each)],
            **(_friedman(first)),
        },
    )


def _rows(board: Board) -> list[dict[str, Any]]:
    columns = {
        "system": board.systems,
        "score": board.scores.tolist(),
        "rank": board.ranks.tolist(),
        "rank_lower": board.rank_lower.tolist(),
        "rank_upper": board.rank_upper.tolist(),
        "p_best": board.p_best.tolist(),
        "tier": board.tier.tolist(),
        "tasks": board.tasks_of.tolist(),
    }
    return [
        {"measure": board.measure, **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _friedman(board: Board) -> dict[str, Any]:
    found = board.friedman
    if found is None:
        return {}
    ranks = dict(zip(board.systems, found.average_ranks.tolist(), strict=True))
    return {
        "friedman": {
            "statistic": found.statistic,
            "p_value": found.p_value,
            "critical_difference": found.critical_difference,
            "average_ranks": ranks,
        }
    }


def _sentence(board: Board) -> str:
    comparison, first = board.comparison, board.systems[0]
    rest = len(comparison.top_group) - 1
    others = (
        f"{rest:,} other{'s are' if rest != 1 else ' is'} not separable from it" if rest else "all others are worse"
    )
    lead = f"{first} is first of {len(board.systems):,} on {len(board.tasks):,} tasks, and {others}"
    text = [
        f"{board.measure}: {lead}: the order separates {board.tier[-1]:,} tier{'s' * (int(board.tier[-1]) != 1)}, and "
        f"{comparison.significant_pairs:,} of {len(comparison.pairs):,} pairs differ significantly.",
        f"It is first in {board.p_best[0]:.0%} of {board.resamples:,} resamples of the tasks.",
        *design_sentences(comparison.design_effect, len(board.tasks), "tasks"),
    ]
    if board.decisive:
        named = ", ".join(each.task for each in board.decisive[:3])
        more = f" and {len(board.decisive) - 3:,} more" if len(board.decisive) > 3 else ""
        text.append(
            f"Without any one of {len(board.decisive):,} tasks ({named}{more}) another system would be first."
            if len(board.decisive) > 1
            else f"Without the task {named}, {board.decisive[0].first} would be first."
        )
    else:
        text.append("No single task decides the first place.")
    return " ".join(text)


def _tables(board: Board) -> list[Table]:
    words: Mapping[str, tuple[str, str]] = {
        "rank": ("rank", "count"),
        "system": ("system", "text"),
        "score": ("score", "score"),
        "rank_lower": ("best rank", "count"),
        "rank_upper": ("worst rank", "count"),
        "p_best": ("P(best)", "score"),
        "tier": ("tier", "count"),
        **({"tasks": ("tasks", "count")} if board.missing else {}),
    }
    rows = _rows(board)
    left = f"; the first {SHOWN} of {len(rows):,}, CSV and JSON have all" if len(rows) > SHOWN else ""
    title = f"{board.measure}: {len(board.tasks):,} tasks, α = {board.alpha:g}{left}"
    columns = tuple(Column(word, *about) for word, about in words.items())
    tables = [Table(columns, [tuple(row[word] for word in words) for row in rows[:SHOWN]], title)]
    tasks = _task_rows(board)
    if tasks:
        heads = (Column("task", "without the task"), Column("first", "first is"), Column("lead", "its lead", "score"))
        shown = [(row["task"], row["first"], row["lead"]) for row in tasks[:DECISIVE]]
        more = f" ({DECISIVE} of {len(tasks)})" if len(tasks) > DECISIVE else ""
        tables.append(Table(heads, shown, f"Tasks that decide the first place{more}"))
    return tables


def _task_rows(board: Board) -> list[dict[str, Any]]:
    return [
        {"measure": board.measure, "task": each.task, "first": each.first, "lead": each.lead} for each in board.decisive
    ]


def ranks_chart(result: LeaderboardResult) -> Any:
    """The ranks that each system may have, tiers in turns of colour; the best systems where there are many."""
    import altair

    board = next(iter(result.boards.values()))
    rows = [{**known(row), "shade": f"{row['tier'] % 2}"} for row in _rows(board)[:MOST_DRAWN]]
    data = altair.Data(values=rows)  # type: ignore[no-untyped-call]
    names = ("system", "score", "rank", "rank_lower", "rank_upper", "p_best", "tier")
    tips = [
        altair.Tooltip(f"{name}:{'N' if name == 'system' else 'Q'}", title=name.replace("_", " ")) for name in names
    ]
    y = altair.Y("system:N", sort=None, title=None)
    colour = altair.Color("shade:N", legend=None, scale=altair.Scale(domain=["1", "0"], range=COLOURS[:2]))
    base = altair.Chart(data, width=460, height=max(80, 16 * len(rows))).encode(y=y, color=colour, tooltip=tips)
    x = altair.X("rank_lower:Q", title="rank", scale=altair.Scale(domain=[1, len(board.systems)], nice=False))
    reach = base.mark_rule(strokeWidth=3).encode(x=x, x2="rank_upper:Q")
    return styled(reach + base.mark_point(filled=True, size=50).encode(x="rank:Q"))


VIEWS = {
    "LeaderboardResult": View(
        document,
        {"ranks": ranks_chart},
        pictures=lambda result: [("The ranks that each system may have", ranks_chart(result))],
    )
}
