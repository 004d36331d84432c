"""Pilot studies as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.methods.leave_out import PilotStudy
from cranfield.questions.pilot import PilotResult
from cranfield.rendering.document import Column, Document, Table, known
from cranfield.rendering.pilot_charts import pilot_chart
from cranfield.rendering.views import View

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
    return Document("pilot", inputs, tables, rows, found.summary(), found.citations, found.warnings, found.seed, extra)


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


def _table(words: Sequence[str], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
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
    columns = tuple(Column(word, titles.get(word, word), kinds.get(word, "count")) for word in words)
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def _fewer_topics(found: PilotStudy, rows: Sequence[Mapping[str, Any]]) -> Table:
    mine = sorted(
        (row for row in rows if row["left_out"] == 0),
        key=lambda row: (found.measures.index(row["measure"]), -row["pilot_topics"]),
    )
    words = (*("measure", "pilot_topics", "variance", "lower", "upper", "topics", "topics_low", "topics_high"), "error")
    return _table(words, mine, f"Fewer topics, all teams ({found.trials} random pilots each)")


def _fewer_teams(found: PilotStudy, rows: Sequence[Mapping[str, Any]]) -> Table:
    shown = _some(found.left_out[1:])
    mine = [row for row in rows if row["pilot_topics"] == found.topics and row["left_out"] in shown]
    words = (
        *("measure", "left_out", "variance", "lower", "upper", "misses", "topics", "topics_low", "topics_high"),
        *("error", "lost", "most_lost"),
    )
    more = "" if len(shown) == len(found.left_out) - 1 else "; every k in the CSV output"
    return _table(words, mine, f"Fewer teams, all topics ({found.trials} random pilots each{more})")


def _some(numbers: Sequence[int]) -> set[int]:
    """Return the numbers, or about a dozen of them with the first and the last."""
    if len(numbers) <= SHOWN:
        return set(numbers)
    return {numbers[round(at * (len(numbers) - 1) / (SHOWN - 1))] for at in range(SHOWN)}


def document(result: PilotResult) -> Document:
    return pilot_document(result.study, result.inputs)


def variance(result: PilotResult) -> Any:
    """The variance against the number of teams left out."""
    return pilot_chart(result.study.to_dict())


VIEWS = {
    "PilotResult": View(
        document,
        {"variance": variance},
        pictures=lambda result: [("Variance against the teams left out", variance(result))],
    )
}
