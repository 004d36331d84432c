"""Cards, what a number of topics detects, as documents, charts and badges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.methods.design import Goal, Judged, solve
from cranfield.methods.design.cards import Card, Gate
from cranfield.methods.design.solver import ORDER
from cranfield.methods.names import TEST_LABELS
from cranfield.questions.power import PowerResult
from cranfield.rendering.charts import Series, curves
from cranfield.rendering.design_charts import power_chart
from cranfield.rendering.document import Column, Document, Table, View, first_sentence, html_text
from cranfield.rendering.drawing import Axis, Chart
from cranfield.rendering.references import ROBUST_CITATIONS


def card_rows(card: Card) -> list[tuple[str, str]]:
    """Return the labels of a card: for all pairs if there are several systems, and for a pair named in advance."""
    test, tukey = TEST_LABELS[card.test], TEST_LABELS["tukey"]
    pair, among = "two systems named in advance (paired t test)", f"two of {card.systems} systems"
    is_tukey_too = card.test != "tukey" and not card.is_clustered
    families = [("", test), *([("tukey_", tukey)] if is_tukey_too else [])] if card.is_family else []
    gap = f"power for a difference of {card.difference:g} between"
    rows = [(f"{mark or 'achieved_'}power", f"{gap} {among} ({title})") for mark, title in families]
    rows.append(("pair_power", f"{gap} {pair}"))
    rows += [
        (f"{mark}detectable_difference", f"detectable difference, power {card.power:g}, between {among} ({title})")
        for mark, title in families
    ]
    rows.append(("pair_detectable_difference", f"detectable difference, power {card.power:g}, between {pair}"))
    rows += [
        (f"{mark}significant_difference", f"{_threshold(card, mark)} ({title})")
        for mark, title in families or [("", "paired t test")]
    ]
    if card.systems > 2:
        rows.append(("detectable_range", f"detectable range of {card.systems} systems, power {card.power:g}"))
    rows.append(("width", "expected width of the interval for a difference"))
    if card.sensitivity == card.sensitivity:
        rows.append(("sensitivity", "confidence interval of a single mean: ±"))
    rows.append(("difference_sensitivity", "confidence interval of a difference of means: ±"))
    if card.is_clustered:
        rows += [("design_effect", "design effect"), ("effective_topics", "independent topics of the same variance")]
    return rows


def _threshold(card: Card, mark: str) -> str:
    """What is significant; a test with a standard error for each pair has no one threshold for all of them."""
    if card.has_own_errors and not mark:
        return "significant observed difference of a pair of average variance"
    return "smallest observed difference that is significant"


def card_document(cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None = None) -> Document:
    """What the topics detect, one table per measure."""
    tables = [
        Table(
            (Column("question", "what"), Column("value", "value", "score")),
            [(text, getattr(card, word)) for word, text in card_rows(card)],
            f"{card.measure + ': ' if card.measure else ''}{_topics(card)}, α = {card.alpha:g}, {card.design}",
            measure=card.measure,
        )
        for card in cards
    ]
    rows: list[dict[str, Any]] = [card.to_dict() for card in cards]
    said = [first_sentence(card.sentence()) for card in cards]
    answers = [answer for answer, _ in said]
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        answers = [f"{answer} {_gate_sentence(gate, card)}" for answer, card in zip(answers, cards, strict=True)]
    return Document(
        method="power",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer="\n".join(answers),
        notes="\n".join(f"{name}{notes}" for (name, notes) in _named_notes(cards, said)),
        citations=_citations(cards),
    )


def _named_notes(cards: Sequence[Card], said: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The notes about every card, with its measure where there are several; what all of them say stands once."""
    several = len({notes for _, notes in said}) > 1
    named = [(f"{card.measure}: " * several, notes) for card, (_, notes) in zip(cards, said, strict=True)]
    return list(dict.fromkeys(named))


def _topics(card: Card) -> str:
    return f"{card.topics} topics" + ("" if card.clusters is None else f" in {card.clusters:,.0f} clusters")


CARD_CITATIONS = ("Webber2008", "Sakai2014", "Dincer2013")


def _citations(cards: Sequence[Card]) -> tuple[str, ...]:
    return (*CARD_CITATIONS, *(ROBUST_CITATIONS if cards[0].is_clustered else ()))


def _gate_sentence(gate: Gate, card: Card) -> str:
    verdict = "passed" if gate.passes(card) else "FAILED"
    name = f"{card.measure}: " if card.measure else ""
    test = gate.test_of(card)
    among = "a pair named in advance" if test == "t" else f"two of {card.systems} systems"
    return (
        f"Gate {verdict} ({name}a difference of {gate.difference:g} between {among} with power {gate.power:g}, "
        f"{TEST_LABELS[test]}: power {gate.power_of(card):.2f})."
    )


GRID_INPUTS = ("topics", "systems", "test", "design", "variance", "correlation", "sd", "alpha", "power", "difference")
GRID_WORDS = (
    *GRID_INPUTS,
    "achieved_power",
    "detectable_difference",
    "significant_difference",
    "pair_power",
    "pair_detectable_difference",
    "detectable_range",
    "width",
)
CLUSTER_WORDS = ("clusters", "design_effect", "effective_topics")
FAMILY_WORDS = ("systems", "pair_power", "pair_detectable_difference", "detectable_range")


GRID_FIRST = {"topics": 100, "detectable_difference": 100, "achieved_power": 95, "significant_difference": 60}


def _grid_answer(cards: Sequence[Card]) -> str:
    """What the cards with the largest and the smallest detectable difference say."""
    worst = max(cards, key=lambda card: card.detectable_difference)
    best = min(cards, key=lambda card: card.detectable_difference)
    return (
        f"Detectable differences are between {best.detectable_difference:.3f} ({_topics(best)}, power {best.power:g}) "
        f"and {worst.detectable_difference:.3f} ({_topics(worst)}, power {worst.power:g})."
    )


def grid_document(cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None = None) -> Document:
    """Many cards as one table, one row each."""
    kinds = {"topics": "count", "systems": "count", "test": "text", "design": "text", "measure": "text"}
    rows: list[dict[str, Any]] = [card.to_dict() for card in cards]
    family = any(card.is_family for card in cards)
    shown = [word for word in GRID_WORDS if family or word not in FAMILY_WORDS]
    if cards[0].is_clustered:
        shown += CLUSTER_WORDS
    known = [word for word in shown if any(row[word] is not None and row[word] == row[word] for row in rows)]
    words = [*(["measure"] if any(card.measure for card in cards) else []), *known]
    columns = tuple(
        Column(
            word, word.replace("_", " "), kinds.get(word, "number" if word in ORDER else "score"), GRID_FIRST.get(word)
        )
        for word in words
    )
    table = Table(columns, [tuple(row[word] for word in words) for row in rows])
    sentence = _grid_answer(cards)
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        sentence = " ".join([sentence, *(_gate_sentence(gate, card) for card in cards)])
    return Document(
        method="power", inputs=inputs, tables=[table], rows=rows, answer=sentence, citations=_citations(cards)
    )


LABEL_ROWS = {
    "power": "power for a difference of {difference:g}{among}",
    "detectable_difference": "detectable difference, power {power:g}{among}",
    "pair_power": "the same power, pair named in advance",
    "pair_detectable_difference": "the same difference, pair named in advance",
    "width": "expected width of the interval for a difference",
}
LABEL_TITLES = {
    "topics": "people",
    "judged_topics": "model",
    "judge_correlation": "r",
    "cost": "cost",
    "achieved_power": "power",
    "detectable_difference": "detectable",
    "width": "width",
    "human_topics": "people alone",
    "human_detectable_difference": "people alone detect",
}


def label_document(result: PowerResult) -> Document:
    """What topics labelled by people and by a model detect, beside topics labelled by people alone."""
    cards, gate = result.labels, result.gate
    rows: list[dict[str, Any]] = [card.to_dict() for card in cards]
    sentences = [card.sentence() for card in cards] if len(cards) <= 3 else []
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        sentences += [_gate_sentence(gate, card) for card in cards]
    tables = [_label_table(card) for card in cards] if len(cards) <= 3 else [_label_grid(rows)]
    return Document(
        method="power",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        answer=" ".join(sentences),
        citations=("Cochran1977", "Webber2008"),
    )


def _label_table(card: Card) -> Table:
    words = {"difference": card.difference, "power": card.power}
    among = f", two of {card.systems} systems" if card.is_family else ""
    shown = {name: text for name, text in LABEL_ROWS.items() if card.is_family or not name.startswith("pair_")}
    values = {**card.to_dict(), "power": card.achieved_power}
    rows = [
        (text.format(**words, among=among), *([values[name]] if card.judged_topics else []), values[f"human_{name}"])
        for name, text in shown.items()
    ]
    columns = [Column("question", "what"), Column("value", "with the model", "score")]
    columns = columns if card.judged_topics else columns[:1]
    return Table((*columns, Column("human", "people alone", "score")), rows, _label_title(card))


def _label_title(card: Card) -> str:
    name = f"{card.measure}: " if card.measure else ""
    among = f" among {card.judged_topics:,} by the model" if card.judged_topics else " alone"
    people = (card.human or card).topics
    alone = "" if people == card.topics else f" (or {people:,} by people alone)"
    return f"{name}{card.topics:,} topics labelled by people{among}{alone}, r = {card.judge_correlation:.4g}"


def _label_grid(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Many cards as one table, one row each; inputs with the same value everywhere are in the title."""
    inputs = ("measure", "systems", "test", "sd", "alpha", "power", "difference")
    told = [word for word in inputs if len({row[word] for row in rows}) == 1]
    words = [word for word in (*inputs, *LABEL_TITLES) if word not in told]
    words = [word for word in words if any(row[word] == row[word] for row in rows)]
    if all(row["topics"] == row["human_topics"] for row in rows):
        words.remove("human_topics")
    counts, texts = ("topics", "judged_topics", "human_topics", "systems"), ("measure", "test")
    kinds = {**dict.fromkeys(counts, "count"), **dict.fromkeys(texts, "text")}
    columns = tuple(
        Column(word, LABEL_TITLES.get(word, word.replace("_", " ")), kinds.get(word, "number")) for word in words
    )
    title = ", ".join(f"{word} {rows[0][word]}" for word in told if rows[0][word] != "")
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def document(result: PowerResult) -> Document:
    """A card for each measure where there is one each, else a table of all."""
    if result.labels:
        return label_document(result)
    return (card_document if _is_one_each(result) else grid_document)(result.cards, result.inputs, result.gate)


def _is_one_each(result: PowerResult) -> bool:
    return len({card.measure for card in result.cards}) == len(result.cards)


def curve(result: PowerResult) -> Chart:
    """Detectable differences against the number of topics: of the cards, or around the only one."""
    if not result.labels:
        return power_chart(result)
    card = result.labels[0]
    rows = _label_curve(card)
    names = list(dict.fromkeys(row["what"] for row in rows))
    series = [Series(name, [(row["topics"], row["value"]) for row in rows if row["what"] == name]) for name in names]
    across, up = (Axis(title=text, is_log=True) for text in ("topics labelled by people", "detectable difference"))
    here = (float(card.topics), card.detectable_difference)
    return Chart(panels=[curves(series, x=across, y=up, here=here)])


def _label_curve(card: Card) -> list[dict[str, Any]]:
    """Detectable differences against topics labelled by people, with the model's labels and without."""
    people = card.human or card
    highest = max(Judged.fewest + 1, min(card.judged_topics or 2 * card.topics, 4 * card.topics))
    counts = np.unique(np.append(np.geomspace(Judged.fewest, highest, 25).round(), card.topics)).astype(int)
    goal = Goal("difference", at_least=card.power)
    curves = {"people alone": solve(people.designs(topics=counts), goal, "difference")}
    if card.judged_topics:
        judged = solve(card.designs(topics=counts), goal, "difference")
        curves = {f"among {card.judged_topics:,} labelled by the model": judged} | curves
    return [
        {"topics": n, "value": value, "what": name}
        for name, values in curves.items()
        for n, value in zip(counts.tolist(), values.tolist(), strict=True)
    ]


def sketch(result: PowerResult) -> tuple[str, str]:
    """The curves for a page, and their measure."""
    return curve(result).to_svg(is_headed=False), (result.labels or result.cards)[0].measure


def badge(result: PowerResult) -> str:
    """The first card as a small SVG: topics, and the difference they detect."""
    card = (result.labels or result.cards)[0]
    left, right = (
        f"{card.topics} topics",
        f"detect {card.detectable_difference:.3f}" + (f" {card.measure}" if card.measure else ""),
    )
    wide_left, wide_right = 12 + 7 * len(left), 12 + 7 * len(right)
    total = wide_left + wide_right
    among = f" between two of {card.systems} systems" if card.is_family else ""
    power = result.cards[0].power
    title = html_text(f"{left} {right} with power {power:g}{among}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{total}" height="20" rx="3" fill="#2f5d8a"/>'
        f'<path d="M0 3a3 3 0 0 1 3-3h{wide_left - 3}v20H3a3 3 0 0 1-3-3z" fill="#4a4a4a"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{wide_left / 2:g}" y="14">{html_text(left)}</text>'
        f'<text x="{wide_left + wide_right / 2:g}" y="14">{html_text(right)}</text></g></svg>\n'
    )


def by_measure(result: PowerResult) -> dict[str, PowerResult]:
    if result.labels or not _is_one_each(result):
        return {"": result}
    return {card.measure: replace(result, cards=(card,)) for card in result.cards}


VIEWS = {"PowerResult": View(document, {"curve": curve}, sketch, files={"badge": badge}, by_measure=by_measure)}
