"""cranfield power, of the data"""

from __future__ import annotations

from typing import Any, ClassVar

from cranfield.methods.design.power_card import card_cautions, cards_from_pilot
from cranfield.rendering.size_document import badge, power_document, power_inputs
from cranfield.web.asking import Asked, Question
from cranfield.web.calculator import card_sketch, given_numbers, parse_numbers
from cranfield.web.page import Answer
from cranfield.web.queries import MEASURES, MISSED, SMALL_PILOT, CardQuery, Choices, Flag, Missing, Names


class PilotPowerQuery(CardQuery):
    """What ``cranfield power`` takes with scores."""

    choices: ClassVar[Choices] = {"test": {"": "all pairs, and a pair named in advance"}}
    front = ("measure", "topics", "systems", "test", "difference", "alpha", "power")
    small_pilot: Flag = SMALL_PILOT
    measure: Names = MEASURES
    missing: Missing = MISSED


def answer(asked: Asked) -> Answer:
    query = asked.query
    given = given_numbers(query, ("topics", "systems", "difference", "alpha", "power"))
    numbers: dict[str, Any] = dict(parse_numbers(given))
    variances = asked.variances()
    cards = cards_from_pilot(variances, **numbers, test=query.test, small_pilot=query.small_pilot)
    inputs = asked.inputs(**power_inputs(given, test=query.test, gate=None))
    document = power_document(cards, inputs, None, card_cautions(cards, variances))
    one_each = len({card.measure for card in cards}) == len(cards)
    sketch = card_sketch(cards[0]) if one_each else ""
    return Answer(document, asked.command(), sketch, cards[0].measure, more={"badge": badge(cards[0])})


QUESTION = Question("power", "What its topics detect", "What the topics of the data detect", PilotPowerQuery, answer)
