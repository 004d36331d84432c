"""Forms made from what a question takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from cranfield.web.queries import LISTS, Query

USUAL = {"alpha": "0.05", "power": "0.8"}  # of those that may also be lists


@dataclass(frozen=True)
class Field:
    """One field of a form. ``kind`` is text, choice, tick, measure or system."""

    name: str
    label: str
    kind: str
    value: str
    hint: str = ""
    usual: str = ""  # what it is when left empty
    choices: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Form:
    """The fields in front, and those folded away."""

    front: list[Field]
    more: list[Field]

    @property
    def used(self) -> bool:
        """Whether something is said in what is folded away."""
        return any(each.value not in ("", each.usual) for each in self.more)


def make_form(model: type[Query], typed: Mapping[str, Any]) -> Form:
    """The form of a query with what was typed into it."""
    made = {name: _field(model, name, info, typed.get(name)) for name, info in model.model_fields.items()}
    front = [made[name] for name in model.front]
    return Form(front, [each for name, each in made.items() if name not in model.front])


def _field(model: type[Query], name: str, info: FieldInfo, typed: Any) -> Field:
    values = _values(info.annotation)
    usual = USUAL.get(name, "") if info.is_required() or info.default is None else _text(info.default)
    words = model.choices.get(name, {})
    choices = words if set(words) >= set(values) else {**words, **{value: value for value in values}}
    choices = choices if usual or "" in choices or not choices else {"": "–", **choices}
    kind = "measure" if name == "measure" else "system" if name in ("system", "baseline") else "text"
    if info.annotation is bool:
        kind = "choice" if info.default else "tick"
        choices = {"true": "yes", "false": "no"} if info.default else {}
    elif choices and "list" not in str(info.annotation):
        kind = "choice"
        choices = {value: text for value, text in choices.items() if value or not usual}
    usual = model.scored_by if kind == "measure" else usual
    return Field(name, info.title or name, kind, _text(typed), _hint(info), usual, choices)


def _hint(info: FieldInfo) -> str:
    """What a parameter means, without what all lists of numbers have in common."""
    return (info.description or "").replace(LISTS, "").strip()


def _values(annotation: Any) -> tuple[str, ...]:
    """The words that a parameter can be; empty where it can be anything."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for each in get_args(annotation) if (found := _values(each))), ())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
