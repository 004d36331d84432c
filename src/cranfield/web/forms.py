"""What a page may be asked, in the words of the flags, and the forms made from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from cranfield.errors import COMMANDS_ONLY
from cranfield.questions import MODULES, find_question


def absent(value: Any) -> Any:
    """A field left empty in a form is one that was not given."""
    if isinstance(value, list):
        return [each for each in value if each != ""] or None
    return None if isinstance(value, str) and not value.strip() else value


Given = BeforeValidator(absent)


def field(title: str, about: str = "", default: Any = None, **bounds: Any) -> Any:
    """A parameter: its label in a form, what it means, and what it is unless given."""
    return Field(default=default, title=title, description=about or f"{title}.", **bounds)


LISTS = " A number, a list or a range (from:to:step)."
_OF_COMMANDS = re.compile(
    r"; exit code \d when [^.]*|; otherwise the exit code is \d| Exit code \d otherwise\."
    r"|; they are saved when the command ends"
)


def without_commands(text: str) -> str:
    """What a parameter or a question means, without what only a command has."""
    return _OF_COMMANDS.sub("", text).replace("may be repeated", "several are separated by blanks")


PAGE_TITLES = {f"{name}()": find_question(name).title for name in MODULES if name not in COMMANDS_ONLY} | {
    "measures()": "Measures",
    "columns": "What the columns are",
    "columns=mean=COLUMN": "repeats, to be averaged",
}
"""What messages call other pages, and what is chosen there."""


Names = Annotated[list[str] | None, Given]
Flag = Annotated[bool, BeforeValidator(lambda value: False if absent(value) is None else value)]


Choices = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Conditions:
    """A field has an effect if one of ``needs`` is given, and none of ``without``: names of fields, or name=value."""

    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def hold(self, given: Mapping[str, str]) -> bool:
        return (not self.needs or any(map(partial(_is_said, given), self.needs))) and not any(
            map(partial(_is_said, given), self.without)
        )


def _is_said(given: Mapping[str, str], condition: str) -> bool:
    name, equals, value = condition.partition("=")
    return given.get(name, "") == value if equals else bool(given.get(name))


class Query(BaseModel):
    """A mistyped name is refused, not ignored; a field left empty takes its default.

    ``choices`` are the words for a field's values in a form, ``front`` the fields that stand in front; the others are
    folded away, those of ``groups`` under their titles. A field is offered where its ``conditions`` hold.
    """

    model_config = ConfigDict(extra="forbid")
    choices: ClassVar[Choices] = {}
    front: ClassVar[tuple[str, ...]] = ()
    groups: ClassVar[dict[str, tuple[str, ...]]] = {}
    conditions: ClassVar[dict[str, Conditions]] = {}
    scored_by: ClassVar[str] = "AP"  # what runs are scored by unless something is named
    usual: ClassVar[dict[str, str]] = {}  # choices that are made where none is

    @model_validator(mode="before")
    @classmethod
    def _given_alone(cls, given: Any) -> Any:
        return {name: value for name, value in given.items() if absent(value) is not None}


USUAL = {"alpha": "0.05", "power": "0.8"}  # of those that may also be lists


@dataclass(frozen=True)
class FormField:
    """One field of a form. ``kind`` is text, choice, tick, measure, measures or system; ``values`` are several."""

    name: str
    label: str
    kind: str
    value: str
    hint: str = ""
    usual: str = ""  # what it is when left empty
    choices: Mapping[str, str] | None = None
    values: Sequence[str] = ()
    conditions: Conditions | None = None
    is_idle: bool = False  # whether it has no effect beside what was typed


@dataclass(frozen=True)
class FormGroup:
    """Fields that are folded away together under a title; ``said`` is what is wrong with what was typed."""

    title: str
    fields: list[FormField]
    said: str = ""

    @property
    def is_open(self) -> bool:
        """Whether something is said in what is folded away, or about it."""
        return any(
            each.value not in ("", each.usual) or f"«{plain_label(each.label)}»" in self.said for each in self.fields
        )


@dataclass(frozen=True)
class Form:
    """The fields in front, and groups of those folded away; it explains lists once where some in front take them."""

    front: list[FormField]
    groups: list[FormGroup]
    takes_lists: bool


def make_form(model: type[Query], typed: Mapping[str, Any], said: str = "") -> Form:
    """The form of a query with what was typed into it; fields that ``said`` names are not folded away."""
    takes_lists = any(LISTS in (model.model_fields[name].description or "") for name in model.front)
    fields = model.model_fields.items()
    known = LISTS if takes_lists else ""
    made = {name: _field(model, name, info, typed.get(name), _hint(model, info, known)) for name, info in fields}
    given = {name: each.value or each.usual if each.kind == "choice" else each.value for name, each in made.items()}
    for name, conditions in model.conditions.items():
        is_idle = not conditions.hold(given) and f"«{plain_label(made[name].label)}»" not in said
        made[name] = replace(made[name], conditions=conditions, is_idle=is_idle)
    front = [made[name] for name in model.front]
    groups = [FormGroup(title, [made[name] for name in names], said) for title, names in model.groups.items()]
    shown = {*model.front, *(name for names in model.groups.values() for name in names)}
    rest = [each for name, each in made.items() if name not in shown]
    return Form(front, [*groups, *([FormGroup("More choices", rest, said)] if rest else [])], takes_lists)


def plain_label(title: str) -> str:
    """A label without the word that joins its field to the one before."""
    return title.removeprefix("or: ").removeprefix("and ")


def labels_of(model: type[Query]) -> dict[str, str]:
    """What messages call the fields of a form, the choices in them, and other pages."""
    titles = {name: info.title or name for name, info in model.model_fields.items()}
    labels = {name: plain_label(title) for name, title in titles.items()}
    choices = {f"{name}={value}": text for name, texts in model.choices.items() for value, text in texts.items()}
    return labels | choices | PAGE_TITLES


def _field(model: type[Query], name: str, info: FieldInfo, typed: Any, hint: str) -> FormField:
    words_of = _values(info.annotation)
    others = USUAL | model.usual
    usual = others.get(name, "") if info.is_required() or info.default is None else _text(info.default)
    words = model.choices.get(name, {})
    choices = words if set(words) >= set(words_of) else {**words, **{value: value for value in words_of}}
    choices = choices if usual or "" in choices or not choices else {"": "–", **choices}
    is_list = "list" in str(info.annotation)
    measure = "measures" if is_list else "measure"
    kind = measure if name == "measure" else "system" if name in ("system", "baseline", "candidate") else "text"
    if info.annotation is bool:
        kind = "choice" if info.default else "tick"
        choices = {"true": "yes", "false": "no"} if info.default else {}
    elif choices and not is_list:
        kind = "choice"
        choices = {value: text for value, text in choices.items() if value or not usual}
    usual = model.scored_by if name == "measure" else usual
    values = typed if isinstance(typed, list) else []
    mark = ", " if kind == "system" else " "
    return FormField(name, info.title or name, kind, _text(typed, mark), hint, usual, choices, values)


def _hint(model: type[Query], info: FieldInfo, known: str) -> str:
    """What a parameter means, without what the form says once and what only a command has; fields by their labels."""
    text = without_commands((info.description or "").replace(known, "")).strip()
    for name, label in labels_of(model).items():
        text = text.replace(f"«{name.replace('_', ' ')}»", f"«{label}»")
    return text


def _values(annotation: Any) -> tuple[str, ...]:
    """The words that a parameter can be; empty where it can be anything."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for each in get_args(annotation) if (found := _values(each))), ())


def _text(value: Any, mark: str = " ") -> str:
    if isinstance(value, list):
        return mark.join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
