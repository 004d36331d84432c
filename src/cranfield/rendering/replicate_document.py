"""Designs with several scores per topic as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.allocation import Allocation
from cranfield.methods.design.spreads import Structure
from cranfield.methods.names import TEST_LABELS
from cranfield.rendering.design_charts import named_curves
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.drawing import Chart

CITATIONS = ("Cochran1977", "Clark1973", "Satterthwaite1946")
_TOLD = (
    "measure",
    "systems",
    "difference",
    "between",
    "within",
    "shared_variance",
    "repeat_variance",
    "alpha",
    "power",
)
"""What is in the title of a table where all rows have it alike, and in a column elsewhere."""


def replicate_document(plans: Sequence[Allocation], inputs: Mapping[str, Any]) -> Document:
    """Units for every number of items and repeats, the best marked; one row for each design."""
    rows = [row for each in plans for row in each.to_dict()]
    shared = any(each.structure.shared for each in plans)
    return Document(
        method="size",
        inputs=inputs,
        tables=[_table(plans, rows)],
        rows=rows,
        answer=_sentence(plans),
        citations=(*(CITATIONS if shared else CITATIONS[:1]), *(["Searle1992"] if plans[0].lower is not None else [])),
    )


def _table(plans: Sequence[Allocation], rows: Sequence[Mapping[str, Any]]) -> Table:
    structure, budget = plans[0].structure, plans[0].budget is not None
    told = [name for name in _TOLD if name in rows[0] and not (budget and name == "power")]
    constant = [name for name in told if len({row[name] for row in rows}) == 1]
    is_once = structure.shared != "repeats" and all(row["repeats"] == 1 for row in rows)
    titles = {name: name.replace("_", " ") for name in told if name not in constant} | _titles(structure)
    shown = [word for word in titles if any(row.get(word) is not None for row in rows)]
    shown = [word for word in shown if not (is_once and word == "repeats")]
    marks = {"best": "largest power" if budget else "lowest cost"}
    values = [tuple(_cell(row, word, marks) for word in shown) for row in rows]
    columns = tuple(Column(word, titles[word], _KINDS.get(word, "number")) for word in shown)
    head = [
        TEST_LABELS[rows[0]["test"]],
        *(f"{name.replace('_', ' ')} {_plain(rows[0][name])}" for name in constant if rows[0][name] != 0),
    ]
    return Table(columns, values, ", ".join(head))


def _cell(row: Mapping[str, Any], word: str, marks: Mapping[str, str]) -> Any:
    if word == "best":
        return marks["best"] if row["best"] else ""
    return row.get(word)


def _titles(structure: Structure) -> dict[str, str]:
    unit, each = f"{structure.unit}s", "" if structure.item == "prompt" else f" per {structure.unit}"
    return {
        "items": f"{structure.item}s{each}",
        "repeats": f"{structure.repeat}s",
        "topics": unit,
        "topics_lower": f"{unit}, low",
        "topics_upper": f"{unit}, high",
        "achieved_power": "power",
        "scores": "scores per system",
        "df": "df",
        "design_effect": "design effect",
        "cost": "cost",
        "best": "choice",
    }


_KINDS = {
    "measure": "text",
    "best": "text",
    "items": "count",
    "repeats": "count",
    "topics": "count",
    "topics_lower": "count",
    "topics_upper": "count",
    "scores": "count",
    "achieved_power": "score",
    "design_effect": "decimal",
    "df": "number",
}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _sentence(plans: Sequence[Allocation]) -> str:
    """Return the sentence about the best design, or the only one, of each goal; else what the rows have."""
    settled = [each for each in plans if each.best is not None or each.size.topics.size == 1]
    if settled and len(plans) <= len({each.measure for each in plans}):
        return "\n".join(each.summary() for each in settled)
    first = plans[0]
    if first.costs is not None and not settled:
        return first.summary()
    several = first.structure.shared == "repeats" or (first.size.inputs["repeats"] > 1).any()
    names = f"numbers of {first.structure.item}s and {first.structure.repeat}s"
    return (
        f"Each row has the smallest number of {first.structure.unit}s for its "
        f"{names if several else f'number of {first.structure.item}s'} "
        f"({first.size.method.title}; the claim covers {first.structure.covers})."
    )


def _curves(plans: Sequence[Allocation]) -> tuple[str, str, list[dict[str, Any]]]:
    """What is drawn over what: cost, power of a budget, or units, against the items, or repeats where these vary."""
    first = plans[0]
    rows = [row for row in first.to_dict() if row["topics"] is not None]
    x = max(("items", "repeats"), key=lambda name: len({row[name] for row in rows}))
    if len({row[x] for row in rows}) < 2:
        raise RequestError("one design is a point, not a curve", fix=f"Give several numbers: `{x}`.")
    y = "achieved_power" if first.budget is not None else "cost" if first.costs is not None else "topics"
    other = "repeats" if x == "items" else "items"
    word = first.structure.repeat if other == "repeats" else first.structure.item
    several = len({row[other] for row in rows}) > 1
    return x, y, [{**row, "curve": f"{word}s: {row[other]}" if several else ""} for row in rows]


def _axis_titles(structure: Structure) -> dict[str, str]:
    return _titles(structure) | {"topics": f"number of {structure.unit}s", "curve": ""}


def replicate_chart(plans: Sequence[Allocation]) -> Chart:
    """The cost, the power of a budget, or the number of units against the items per unit, by repeats."""
    x, y, rows = _curves(plans)
    here = next(((float(row[x]), float(row[y])) for row in rows if row.get("best")), None)
    chart = named_curves(rows, x=x, y=y, name="curve", titles=_axis_titles(plans[0].structure), here=here)
    few, many = (choose(rows, key=lambda row: row[y]) for choose in (min, max))
    titles = _axis_titles(plans[0].structure)
    ends = [f"{_plain(row[y])} ({_words(row, titles)})" for row in (many, few)]
    title = f"{titles[y].capitalize()}: from {ends[0]} to {ends[1]}"
    return replace(chart, title=title, subtitle=plans[0].size.method.title)


def _words(row: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    return ", ".join(f"{row[name]} {titles[name]}" for name in ("items", "repeats"))
