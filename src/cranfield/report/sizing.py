"""Sizes, powers and cards as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.design.card import Card, Gate
from cranfield.design.planning import PilotSize
from cranfield.design.questions import Method
from cranfield.design.sizing import Size
from cranfield.report.document import Column, Document, Table

INPUTS = ("systems", "min_range", "difference", "width", "sensitivity", "variance", "sd", "alpha", "power")


def size_document(sizes: Sequence[Size], inputs: Mapping[str, Any]) -> Document:
    """Every method that applies, side by side; one row for each combination of inputs."""
    groups: dict[tuple[str, ...], list[Size]] = {}
    for size in sizes:
        groups.setdefault(size.method.inputs, []).append(size)
    tables = [_side_by_side(group) for group in groups.values()]
    rows = [row for size in sizes for row in size.to_dict()]
    citations = tuple(dict.fromkeys(size.method.citation for size in sizes))
    return Document("size", inputs, [*tables, _methods_table(sizes)], rows, _sentence(sizes), citations)


def _word(method: Method) -> str:
    return "power" if method.is_power else method.inputs[0]


def _side_by_side(group: Sequence[Size]) -> Table:
    first, word = group[0], _word(group[0].method)
    columns = [Column(name, name.replace("_", " "), "number") for name in first.method.inputs]
    columns += [Column(f"topics_{size.method.name}", f"topics ({size.method.name})", "count") for size in group]
    columns += [Column("achieved", f"{word} with n", "score"), Column("below", f"{word} with n − 1", "score")]
    answers = [size.to_dict() for size in group]
    rows = []
    for at, row in enumerate(answers[0]):
        given = [row[name] for name in first.method.inputs]
        found = [answer[at]["topics"] for answer in answers]
        rows.append((*given, *found, row[f"achieved_{word}"], row[f"{word}_below"]))
    return Table(tuple(columns), rows)


def _methods_table(sizes: Sequence[Size] | Sequence[Any]) -> Table:
    methods = dict.fromkeys((s.method.name, s.method.title, s.method.when) for s in sizes)
    columns = (Column("method", "method"), Column("title", "what it is"), Column("when", "when to use it"))
    return Table(columns, list(methods))


def _sentence(sizes: Sequence[Size]) -> str:
    first = sizes[0]
    if first.topics.size > 1:
        return f"n is the smallest number of topics that does it; {first.method.name} is the method to use."
    return first.summary()


def pilot_size_document(sizes: Sequence[PilotSize], inputs: Mapping[str, Any]) -> Document:
    """The same with the variance from data: n, the range its interval makes of it, and the assurance."""
    rows = [row for size in sizes for row in _pilot_rows(size)]
    tables = []
    for goal in dict.fromkeys(size.size.method.inputs for size in sizes):
        mine = [row for size in sizes if size.size.method.inputs == goal for row in _pilot_rows(size)]
        tables.append(_pilot_table(goal, mine))
    tables.append(_methods_table([size.size for size in sizes]))
    citations = tuple(dict.fromkeys(size.size.method.citation for size in sizes))
    return Document("size", inputs, tables, rows, _pilot_sentence(sizes[0]), citations)


def _pilot_rows(pilot: PilotSize) -> list[dict[str, Any]]:
    rows = []
    answers = zip(pilot.size.to_dict(), pilot.lower.to_dict(), pilot.upper.to_dict(), pilot.assurance.flat, strict=True)
    for row, lower, upper, assurance in answers:
        head = {"measure": pilot.measure, "method": row.pop("method"), "estimate": pilot.estimate.method}
        rows.append(head | row | {"lower": lower["topics"], "upper": upper["topics"], "assurance": float(assurance)})
    return rows


def _pilot_table(goal: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    words = ["measure", "method", "estimate", *goal, "topics", "lower", "upper", "assurance"]
    titles = {"lower": "topics, low", "upper": "topics, high"}
    counts = ("topics", "lower", "upper")
    columns = [
        Column(
            word,
            titles.get(word, word.replace("_", " ")),
            "text" if word in ("measure", "method", "estimate") else "count" if word in counts else "number",
        )
        for word in words
    ]
    return Table(tuple(columns), [tuple(row.get(word) for word in words) for row in rows])


def _pilot_sentence(pilot: PilotSize) -> str:
    row = _pilot_rows(pilot)[0]
    if row["topics"] is None:
        return pilot.size.summary()
    low, high = (f"{row[word]:,}" if row[word] is not None else "more than the limit" for word in ("lower", "upper"))
    sure = (
        f" Over what the variance may be, power is {row['assurance']:.2f} on average."
        if pilot.size.method.is_power
        else ""
    )
    return (
        f"{row['topics']:,} topics for {pilot.measure} ({pilot.size.method.title}, {pilot.estimate.method} variance); "
        f"between {low} and {high}, as the pilot knows the variance only so well.{sure}"
    )


CARD_ROWS = (
    ("achieved_power", "power to see a difference of {difference:g} between two systems"),
    ("detectable_difference", "smallest difference between two systems seen with power {power:g}"),
    ("detectable_range", "smallest range of {systems} systems seen with power {power:g}"),
    ("width", "expected width of the interval for a difference"),
    ("sensitivity", "a system's mean is known to within ±"),
    ("difference_sensitivity", "a difference of means is known to within ±"),
)


def card_document(cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None) -> Document:
    """What the topics can see, a table a measure."""
    tables = [
        Table(
            (Column("question", "what"), Column("value", "value", "score")),
            [(text.format(**card.to_dict()), getattr(card, word)) for word, text in CARD_ROWS],
            f"{card.measure + ': ' if card.measure else ''}{card.topics} topics, α = {card.alpha:g}",
        )
        for card in cards
    ]
    rows = [card.to_dict() for card in cards]
    sentence = cards[0].sentence()
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        sentence = " ".join([sentence, *(_gate_sentence(gate, card) for card in cards)])
    return Document("power", inputs, tables, rows, sentence, ("Webber2008", "Sakai2014", "Dincer2013"))


def _gate_sentence(gate: Gate, card: Card) -> str:
    verdict = "passed" if gate.passes(card) else "FAILED"
    name = f"{card.measure}: " if card.measure else ""
    return f"Gate {verdict} ({name}a difference of {gate.difference:g} with power {gate.power:g})."


def power_grid_document(cards: Sequence[Card], inputs: Mapping[str, Any]) -> Document:
    """Many cards as one table, one row each."""
    words = ("topics", "systems", "variance", "sd", "alpha", "power", "difference", *(word for word, _ in CARD_ROWS))
    counts = ("topics", "systems")
    columns = tuple(
        Column(word, word.replace("_", " "), "count" if word in counts else "number" if word in INPUTS else "score")
        for word in words
    )
    rows = [card.to_dict() for card in cards]
    table = Table(columns, [tuple(row[word] for word in words) for row in rows])
    return Document("power", inputs, [table], rows, "", ("Webber2008", "Sakai2014", "Dincer2013"))


def badge(card: Card) -> str:
    """The card as a small SVG: topics, and the difference they see."""
    left, right = (
        f"{card.topics} topics",
        f"see {card.detectable_difference:.3f}" + (f" {card.measure}" if card.measure else ""),
    )
    wide_left, wide_right = 12 + 7 * len(left), 12 + 7 * len(right)
    total = wide_left + wide_right
    title = _escape(f"{left} {right} with power {card.power:g}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{total}" height="20" rx="3" fill="#2f5d8a"/>'
        f'<path d="M0 3a3 3 0 0 1 3-3h{wide_left - 3}v20H3a3 3 0 0 1-3-3z" fill="#4a4a4a"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{wide_left / 2:g}" y="14">{_escape(left)}</text>'
        f'<text x="{wide_left + wide_right / 2:g}" y="14">{_escape(right)}</text></g></svg>\n'
    )


def _escape(text: str) -> str:
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(mark, safe)
    return text
