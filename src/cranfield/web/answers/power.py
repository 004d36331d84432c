"""cranfield power, of the data"""

from __future__ import annotations

from cranfield.design.card import cards_from_pilot
from cranfield.report.sizing import badge, card_document, power_grid_document
from cranfield.web.asking import Asked, Question
from cranfield.web.calculator import card_sketch, given_numbers, parse_numbers
from cranfield.web.page import Answer
from cranfield.web.queries import MEASURES, MISSED, CardQuery, Missing, Names


class PilotPowerQuery(CardQuery):
    """What ``cranfield power`` takes with scores."""

    front = ("measure", "topics", "systems", "difference", "alpha", "power")
    measure: Names = MEASURES
    missing: Missing = MISSED


def answer(asked: Asked) -> Answer:
    given = given_numbers(asked.query, ("topics", "systems", "difference", "alpha", "power"))
    cards = cards_from_pilot(asked.variances(), **parse_numbers(given))
    inputs = asked.inputs(**{"difference": "0.05", "alpha": "0.05", "power": "0.8"} | given, gate=None)
    one_each = len({card.measure for card in cards}) == len(cards)
    document = card_document(cards, inputs, None) if one_each else power_grid_document(cards, inputs)
    sketch = card_sketch(cards[0]) if one_each else ""
    return Answer(document, asked.command(), sketch, cards[0].measure, more={"badge": badge(cards[0])})


QUESTION = Question("power", "What its topics see", "What the topics of the data see", PilotPowerQuery, answer)
