"""Numbers of topics, power and power cards as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cranfield.methods.design.planning import FEW_TOPICS, PilotSize, pilot_caution
from cranfield.methods.design.power_card import Card, Gate
from cranfield.methods.design.request import GOALS, TYPICAL_CORRELATION, Request
from cranfield.methods.design.sample_size import ORDER, Size, claim, conditions
from cranfield.methods.names import TEST_LABELS
from cranfield.rendering.document import Column, Document, Table, Warnings


def size_inputs(request: Request, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the inputs of a request, with defaults."""
    has_power = request.assurance is None and any(goal not in ("width", "sensitivity") for goal in request.goals)
    usual = {"alpha": "0.05", **({"power": "0.8"} if has_power else {})}
    choices = {"sides": request.sides, "paired": request.paired, "test": request.test, "method": request.method}
    return {**usual, **given, **choices}


def power_inputs(given: Mapping[str, str], *, test: str | None, gate: str | None) -> dict[str, Any]:
    """Return the inputs of a card."""
    return {"difference": "0.05", "alpha": "0.05", "power": "0.8"} | dict(given) | {"test": test, "gate": gate}


def size_document(sizes: Sequence[Size], inputs: Mapping[str, Any], warnings: Warnings = ()) -> Document:
    """Return the results of every method that applies, one row per combination of inputs."""
    tables = [_goal_table(group) for group in _by_goal(sizes)]
    rows = [row for size in sizes for row in size.to_dict()]
    citations = tuple(dict.fromkeys(size.method.citation for size in sizes))
    return Document(
        "size", inputs, [*tables, _methods_table(sizes)], rows, _sentence(sizes), citations, warnings=tuple(warnings)
    )


def _by_goal(sizes: Sequence[Size]) -> Iterator[list[Size]]:
    groups: dict[str, list[Size]] = {}
    for size in sizes:
        groups.setdefault(_goal(size), []).append(size)
    yield from groups.values()


def _goal(size: Size) -> str:
    return next(goal for goal in ("effect_size", *GOALS) if goal in size.inputs)


def _input_names(size: Size) -> list[str]:
    """Select the inputs to show: an effect size replaces difference and sd; a true difference of 0 is left out."""
    hidden = {"difference", "sd"} if "effect_size" in size.inputs else set()
    if "true_difference" in size.inputs and not size.inputs["true_difference"].any():
        hidden.add("true_difference")
    return [name for name in ORDER if name in size.inputs and name not in hidden]


def _goal_table(group: Sequence[Size]) -> Table:
    """Arrange methods in columns if they have the same inputs, in rows otherwise."""
    alike = len({tuple(_input_names(size)) for size in group}) == 1
    return _side_by_side(group) if alike else _one_under_another(group)


def _side_by_side(group: Sequence[Size]) -> Table:
    first, word = group[0], group[0].method.achieves
    names = _input_names(first)
    columns = [Column(name, name.replace("_", " "), "number") for name in names]
    columns += [Column(f"topics_{size.method.name}", f"topics ({size.method.name})", "count") for size in group]
    columns += [Column("achieved", f"{word} with n", "score"), Column("below", f"{word} with n − 1", "score")]
    answers = [size.to_dict() for size in group]
    rows = []
    for at, row in enumerate(answers[0]):
        topics = [answer[at]["topics"] for answer in answers]
        rows.append((*(row[name] for name in names), *topics, row[f"achieved_{word}"], row[f"{word}_below"]))
    return Table(tuple(columns), rows)


def _one_under_another(group: Sequence[Size]) -> Table:
    word = group[0].method.achieves
    names = [name for name in ORDER if any(name in _input_names(size) for size in group)]
    columns = [Column("test", "test"), *(Column(name, name.replace("_", " "), "number") for name in names)]
    columns += [Column("topics", "topics", "count"), Column("achieved", f"{word} with n", "score")]
    columns += [Column("below", f"{word} with n − 1", "score")]
    found = [row for size in group for row in size.to_dict()]
    last = ("topics", f"achieved_{word}", f"{word}_below")
    rows = [(_test_words(row["test"]), *(row.get(name) for name in (*names, *last))) for row in found]
    return Table(tuple(columns), rows)


def _test_words(test: str) -> str:
    return "t, pair named in advance" if test == "t" else test


def _methods_table(sizes: Sequence[Size]) -> Table:
    methods = dict.fromkeys((s.method.name, s.method.title, s.method.design, s.method.when) for s in sizes)
    columns = (
        Column("method", "method"),
        Column("title", "what it is"),
        Column("design", "design"),
        Column("when", "when to use it"),
    )
    return Table(columns, list(methods))


def _sentence(sizes: Sequence[Size]) -> str:
    """Return the sentence about the first method, and that about the pair named in advance."""
    first = sizes[0]
    if "correlation" in first.inputs and first.topics.size == 2:
        return _two_correlations(first)
    if first.topics.size > 1:
        rows = first.to_dict()
        return f"Each row has the smallest number of topics ({first.method.title}; {rows[0]['design']})."
    pair = next((size for size in sizes if size.method.name == "t" and "difference" in size.inputs), first)
    return first.summary() if pair is first or pair.topics.size > 1 else f"{first.summary()} {pair.summary()}"


def _two_correlations(size: Size) -> str:
    apart, shared = size.to_dict()
    if shared["correlation"] != TYPICAL_CORRELATION or None in (apart["topics"], shared["topics"]):
        return size.summary()
    return (
        f"{apart['topics']:,} topics {claim(size.method, apart)} if scores are uncorrelated ({apart['design']}), "
        f"{shared['topics']:,} if their correlation is {shared['correlation']:g}, as for AP on TREC-8 "
        f"({shared['design']}; {size.method.title})."
    )


def pilot_size_document(sizes: Sequence[PilotSize], inputs: Mapping[str, Any]) -> Document:
    """Return n from pilot data, with its range over the interval of the variance, and the assurance."""
    rows = [row for size in sizes for row in _pilot_rows(size)]
    tables = []
    for goal in dict.fromkeys(_goal(size.size) for size in sizes):
        mine = [size for size in sizes if _goal(size.size) == goal]
        names = [name for name in ORDER if any(name in _input_names(size.size) for size in mine)]
        tables.append(_pilot_table(names, [row for size in mine for row in _pilot_rows(size)]))
    tables.append(_methods_table([size.size for size in sizes]))
    citations = tuple(dict.fromkeys(size.size.method.citation for size in sizes))
    firsts = list({size.measure: size for size in reversed(sizes)}.values())[::-1]
    warnings = dict.fromkeys(caution for size in firsts for caution in pilot_caution(size.estimate))
    sentence = " ".join(_pilot_sentence(size) for size in firsts)
    return Document("size", inputs, tables, rows, sentence, citations, warnings=tuple(warnings))


def _pilot_rows(pilot: PilotSize) -> list[dict[str, Any]]:
    rows = []
    answers = zip(pilot.size.to_dict(), pilot.lower.to_dict(), pilot.upper.to_dict(), pilot.assurance.flat, strict=True)
    for row, lower, upper, assurance in answers:
        head = {"measure": pilot.measure, "method": row.pop("method"), "estimate": pilot.estimate.method}
        ends = {"topics_lower": lower["topics"], "topics_upper": upper["topics"]}
        rows.append(head | row | ends | {"assurance": float(assurance)})
    return rows


def _pilot_table(goal: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    words = ["measure", "method", "estimate", *goal, "topics", "topics_lower", "topics_upper", "assurance"]
    titles = {"topics_lower": "topics, low", "topics_upper": "topics, high"}
    counts = ("topics", "topics_lower", "topics_upper")
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
    name, method = f"{pilot.measure}: " if pilot.measure else "", pilot.size.method
    if row["topics"] is None:
        return name + pilot.size.summary()
    low, high = (
        f"{row[word]:,}" if row[word] is not None else f"more than {pilot.size.limit:,}"
        for word in ("topics_lower", "topics_upper")
    )
    where = f"{conditions(method, row)}; {pilot.estimate.method} variance of {pilot.estimate.topics} topics"
    sure = f" Expected power (assurance): {row['assurance']:.2f}." if method.is_power else ""
    if pilot.estimate.topics < FEW_TOPICS:
        return f"{name}between {low} and {high} topics {claim(method, row)} ({where}).{sure}"
    return (
        f"{name}{row['topics']:,} topics {claim(method, row)} ({where}); between {low} and {high}, reflecting the "
        f"uncertainty of the pilot variance.{sure}"
    )


def card_rows(card: Card) -> list[tuple[str, str]]:
    """Return the labels of a card: for all pairs if there are several systems, and for a pair named in advance."""
    test, tukey = TEST_LABELS[card.test], TEST_LABELS["tukey"]
    pair, among = "two systems named in advance (paired t test)", f"two of {card.systems} systems"
    families = [("", test), *([("tukey_", tukey)] if card.test != "tukey" else [])] if card.is_family else []
    gap = f"power for a difference of {card.difference:g} between"
    rows = [(f"{mark or 'achieved_'}power", f"{gap} {among} ({title})") for mark, title in families]
    rows.append(("pair_power", f"{gap} {pair}"))
    rows += [
        (f"{mark}detectable_difference", f"detectable difference, power {card.power:g}, between {among} ({title})")
        for mark, title in families
    ]
    rows.append(("pair_detectable_difference", f"detectable difference, power {card.power:g}, between {pair}"))
    rows += [
        (f"{mark}significant_difference", f"smallest observed difference that is significant ({title})")
        for mark, title in families or [("", "paired t test")]
    ]
    if card.systems > 2:
        rows.append(("detectable_range", f"detectable range of {card.systems} systems, power {card.power:g}"))
    rows.append(("width", "expected width of the interval for a difference"))
    if card.sensitivity == card.sensitivity:
        rows.append(("sensitivity", "confidence interval of a single mean: ±"))
    return [*rows, ("difference_sensitivity", "confidence interval of a difference of means: ±")]


def card_document(
    cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None, warnings: Warnings = ()
) -> Document:
    """Detectable differences, one table per measure."""
    tables = [
        Table(
            (Column("question", "what"), Column("value", "value", "score")),
            [(text, getattr(card, word)) for word, text in card_rows(card)],
            f"{card.measure + ': ' if card.measure else ''}{card.topics} topics, α = {card.alpha:g}, {card.design}",
        )
        for card in cards
    ]
    rows: list[dict[str, Any]] = [card.to_dict() for card in cards]
    sentences = [card.sentence() for card in cards]
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        sentences += [_gate_sentence(gate, card) for card in cards]
    return Document("power", inputs, tables, rows, " ".join(sentences), CARD_CITATIONS, warnings=tuple(warnings))


CARD_CITATIONS = ("Webber2008", "Sakai2014", "Dincer2013")


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
FAMILY_WORDS = ("systems", "pair_power", "pair_detectable_difference", "detectable_range")


def power_grid_document(
    cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None = None, warnings: Warnings = ()
) -> Document:
    """Return many cards as one table, with one row per card."""
    kinds = {"topics": "count", "systems": "count", "test": "text", "design": "text", "measure": "text"}
    rows: list[dict[str, Any]] = [card.to_dict() for card in cards]
    family = any(card.is_family for card in cards)
    shown = [word for word in GRID_WORDS if family or word not in FAMILY_WORDS]
    known = [word for word in shown if any(row[word] == row[word] for row in rows)]
    words = [*(["measure"] if any(card.measure for card in cards) else []), *known]
    columns = tuple(
        Column(word, word.replace("_", " "), kinds.get(word, "number" if word in ORDER else "score")) for word in words
    )
    table = Table(columns, [tuple(row[word] for word in words) for row in rows])
    sentence = ""
    if gate is not None:
        rows = [row | {"gate_passed": gate.passes(card)} for row, card in zip(rows, cards, strict=True)]
        sentence = " ".join(_gate_sentence(gate, card) for card in cards)
    return Document("power", inputs, [table], rows, sentence, CARD_CITATIONS, warnings=tuple(warnings))


def power_document(
    cards: Sequence[Card], inputs: Mapping[str, Any], gate: Gate | None = None, warnings: Warnings = ()
) -> Document:
    """Return one card per measure if each has one, otherwise one table."""
    one_each = len({card.measure for card in cards}) == len(cards)
    return (card_document if one_each else power_grid_document)(cards, inputs, gate, warnings)


def badge(card: Card) -> str:
    """Return the card as a small SVG: topics, and the detectable difference."""
    left, right = (
        f"{card.topics} topics",
        f"detect {card.detectable_difference:.3f}" + (f" {card.measure}" if card.measure else ""),
    )
    wide_left, wide_right = 12 + 7 * len(left), 12 + 7 * len(right)
    total = wide_left + wide_right
    among = f" between two of {card.systems} systems" if card.is_family else ""
    title = _escape(f"{left} {right} with power {card.power:g}{among}")
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
