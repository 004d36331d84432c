"""Scores and measures as documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.measures import CATALOG, MeasureKind, parse_measure
from cranfield.measures.groups import GROUPS
from cranfield.questions.score import ScoreResult
from cranfield.rendering import charts
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.drawing import Axis, Chart, Panel
from cranfield.rendering.output_formats import scores_csv
from cranfield.rendering.references import REFERENCES
from cranfield.scores import ScoreTable
from cranfield.scores.table import averaging

if TYPE_CHECKING:
    from cranfield.methods.contrasts.comparison import Comparison


def score_document(table: ScoreTable, inputs: Mapping[str, Any], *, companions: Sequence[str] = ()) -> Document:
    """Return mean scores, sorted by the first that is no count; ``companions`` are measures that were not asked for."""
    means = {measure: table.averages(measure) for measure in table.measures}
    leading = next((name for name in table.measures if averaging(name) != "sum"), table.measures[0])
    ranked = sorted(table.systems, key=lambda system: (-_sortable(means[leading][system]), system))
    kinds = {name: "whole" if averaging(name) == "sum" else "score" for name in table.measures}
    priorities = {name: 5 if name in companions else 90 - at for at, name in enumerate(table.measures)}
    columns = (
        Column("system", "system", priority=100),
        *(Column(name, name, kind, priorities[name]) for name, kind in kinds.items()),
    )
    shown = Table(columns, [(system, *(means[name][system] for name in table.measures)) for system in ranked])
    rows = [
        {"measure": name, "system": system, "topics": len(table.topics), "score": means[name][system]}
        for name in table.measures
        for system in ranked
    ]
    citations = dict.fromkeys(key for name in table.measures if (key := measure_citation(name)) is not None)
    return Document(
        method="score",
        inputs=inputs,
        tables=[shown],
        rows=rows,
        answer=_answer(table, ranked, leading, means[leading]),
        notes=_notes(table, ranked),
        citations=tuple(citations),
        warnings=table.warnings,
    )


def document(result: ScoreResult) -> Document:
    companions = [name for name in result.shown.measures if name not in result.table.measures]
    shown = score_document(result.shown, result.inputs, companions=companions)
    shown = _marked(shown, result.comparisons) if result.comparisons else shown
    if result.standards is None:
        return shown
    return replace(shown, answer=f"{result.standards.sentence()} {shown.answer}".strip())


def _marked(document: Document, comparisons: Mapping[str, Comparison]) -> Document:
    """The same with marks: a star for the best, and signs for the systems that each is significantly better than."""
    from cranfield.rendering.paper_table import CITATIONS, paper_table

    (means,) = document.tables
    marked = paper_table(comparisons, means)
    systems = [row[0] for row in means.rows]
    at = {column.word: place for place, column in enumerate(marked.columns)}
    rows = [
        {"measure": name, "system": system, **asdict(marked.marks[row, at[name]])}
        for name in comparisons
        for row, system in enumerate(systems)
    ]
    return replace(
        document,
        tables=[marked.in_words()],
        paper=[marked],
        notes=f"* best. {marked.note}",
        citations=(*document.citations, *dict.fromkeys(CITATIONS[each.test] for each in comparisons.values())),
        warnings=tuple(
            dict.fromkeys((*document.warnings, *(each for found in comparisons.values() for each in found.warnings)))
        ),
        seed=next(iter(comparisons.values())).seed,
        extra={"marks": rows},
    )


def spread(result: ScoreResult) -> Chart:
    """How the scores of every system spread over topics; of several measures the first two."""
    table = result.table
    panels, note = charts.only_two([_spread_panel(table, measure) for measure in table.measures], "measures")
    subtitle = f"{', '.join(table.measures[:2])}, {len(table.topics):,} topics, {len(table.systems):,} systems"
    return Chart(panels=panels, title=_finding(table), subtitle=subtitle, note=f"{SPREAD} {note}".strip())


SPREAD = "Dot: the mean; thick line: the middle half of the topics; thin line: all of them."


def _finding(table: ScoreTable) -> str:
    """Which system has the best mean of the first measure."""
    rows = quartile_rows(table, table.measures[0])
    return f"{rows[0]['system']} has the highest mean {table.measures[0]}, {rows[0]['mean']:.4f}." if rows else ""


def spread_pictures(table: ScoreTable) -> list[tuple[str, Callable[[], Chart]]]:
    """The same, one chart per measure: its title, and what draws it."""
    return [
        (f"{measure} of every system over topics", partial(_spread_chart, table, measure)) for measure in table.measures
    ]


def _spread_chart(table: ScoreTable, measure: str) -> Chart:
    return Chart(panels=[_spread_panel(table, measure)], note=SPREAD)


def _spread_panel(table: ScoreTable, measure: str) -> Panel:
    rows = quartile_rows(table, measure)
    return charts.intervals(
        rows, y="system", x="mean", low="quarter", high="three_quarters", axis=Axis(title=measure),
        order=charts.listing([row["system"] for row in rows]), behind=("least", "most"),
    )  # fmt: skip


def quartile_rows(table: ScoreTable, measure: str) -> list[dict[str, Any]]:
    """Return the distribution of each system's scores over topics, best mean first."""
    values = table.of(measure)
    values = values if values.ndim == 2 else values.mean(axis=2)
    order = np.argsort(-np.nan_to_num(_means(values), nan=-1.0), kind="stable")
    names = ("least", "quarter", "median", "three_quarters", "most")
    rows = []
    for at in order.tolist():
        mine = values[~np.isnan(values[:, at]), at]
        if len(mine):
            quantiles = np.quantile(mine, [0, 0.25, 0.5, 0.75, 1]).tolist()
            mean = float(mine.mean())
            rows.append({"system": table.systems[at], "mean": mean, **dict(zip(names, quantiles, strict=True))})
    return rows


def _means(values: Any) -> Any:
    """Return means over topics that have a score; nan if none has."""
    counts = np.isfinite(values).sum(axis=0)
    return np.divide(np.nansum(values, axis=0), counts, out=np.full(values.shape[1], np.nan), where=counts > 0)


def measure_citation(name: str) -> str | None:
    """Return the citation of a measure; none for a measure that is not in the catalogue."""
    try:
        return parse_measure(name).kind.citation
    except RequestError:
        return None


def _sortable(value: float) -> float:
    return value if value == value else -1.0


def _answer(table: ScoreTable, ranked: Sequence[str], leading: str, means: Mapping[str, float]) -> str:
    count = len(ranked)
    what = f"Means over {len(table.topics)} topics for {count} system{'s' * (count != 1)}"
    best = means[ranked[0]] if ranked else math.nan
    if count < 2 or best != best:
        return f"{what}." if count < 2 else f"{what}, by {leading}."
    shown = show(best, "whole" if averaging(leading) == "sum" else "score")
    return f"{what}, by {leading}: {ranked[0]} has the highest, {shown}."


def _notes(table: ScoreTable, ranked: Sequence[str]) -> str:
    other = [_averaged(table, how, words) for how, words in AVERAGED.items()]
    alone = ["Means alone do not show which differences are significant."] if len(ranked) > 1 else []
    return " ".join(filter(None, [*other, *alone]))


AVERAGED = {"geometric": "geometric means", "sum": "sums"}


def _averaged(table: ScoreTable, how: str, words: str) -> str:
    """Name the measures whose column is no arithmetic mean."""
    names = [name for name in table.measures if averaging(name) == how]
    return f"Of {', '.join(names)} the {words} over topics are shown." if names else ""


def measures_document() -> Document:
    """Return the catalogue of measures."""
    columns = (
        Column("measure", "measure"),
        Column("title", "what it is"),
        Column("parameters", "parameters"),
        Column("range", "range"),
        Column("judgments", "judgments"),
        Column("citation", "citation", priority=10),
    )
    rows = [
        (
            _signature(kind),
            kind.title,
            _parameters(kind),
            f"{kind.lowest:g}–{kind.highest:g}",
            "per intent" if kind.per_intent else "ordinary",
            kind.citation,
        )
        for kind in CATALOG.values()
    ]
    words = [
        {
            **dict(zip([column.word for column in columns], row, strict=True)),
            "help": kind.help,
            "aliases": list(kind.aliases),
        }
        for row, kind in zip(rows, CATALOG.values(), strict=True)
    ]
    sentence = (
        'Ask for one with `measure`, e.g. `measure="nDCG(gains=exp)@10"`. `measures("nDCG")` tells more about one.'
    )
    sets = Table(
        (Column("set", "set of measures"), Column("count", "measures", "count"), Column("which", "which")),
        [(name, len(names), _first(names)) for name, names in GROUPS.items()],
        caption="Sets of measures",
    )
    return Document(method="measures", inputs={}, tables=[Table(columns, rows), sets], rows=words, answer=sentence)


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def measure_document(text: str) -> Document:
    """Return the description of one measure."""
    kind = _look_up(text)
    about = [
        ("measure", _signature(kind)),
        ("is", kind.title),
        ("says", kind.help),
        ("range", f"{kind.lowest:g} to {kind.highest:g}"),
        ("judgments", "per intent (intents)" if kind.per_intent else "ordinary (qrels)"),
        ("also called", ", ".join(alias for alias in kind.aliases if alias != kind.name) or "–"),
        ("citation", REFERENCES[kind.citation]),
        *(
            (f"parameter {p.name}", f"{p.help} (default {'none' if p.default is None else p.default})")
            for p in kind.parameters
        ),
    ]
    table = Table((Column("about", ""), Column("text", kind.name)), about)
    return Document(
        method="measures", inputs={"measure": kind.name}, tables=[table], rows=[dict(about)], citations=(kind.citation,)
    )


def _look_up(text: str) -> MeasureKind:
    """Find a measure by any of its names; a required cutoff may be omitted."""
    try:
        return parse_measure(text).kind
    except RequestError:
        if "@" in text:
            raise
        for cut in ("@10", "@1"):
            try:
                return parse_measure(text + cut).kind
            except RequestError:
                pass
        raise


def _signature(kind: MeasureKind) -> str:
    if not kind.cutoff.allowed:
        return kind.name
    at = kind.cutoff.parameter or "k"
    return f"{kind.name}@{at}" if kind.cutoff.required else f"{kind.name}[@{at}]"


def _parameters(kind: MeasureKind) -> str:
    return ", ".join(f"{p.name}={'–' if p.default is None else p.default}" for p in kind.parameters) or "–"


VIEWS = {
    "ScoreResult": View(
        document,
        {"spread": spread},
        pictures=lambda result: [(title, draw()) for title, draw in spread_pictures(result.table)],
        files={"scores": lambda result: scores_csv(result.table)},
    )
}
