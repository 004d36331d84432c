"""What a page may be asked, in the words of the commands' flags; the address of a page is its question."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _absent(value: Any) -> Any:
    """A field left empty in a form is one that was not given."""
    if isinstance(value, list):
        return [each for each in value if each != ""] or None
    return None if isinstance(value, str) and not value.strip() else value


Given = BeforeValidator(_absent)


def field(title: str, about: str = "", default: Any = None, **bounds: Any) -> Any:
    """A parameter: its label in a form, what it means, and what it is unless given."""
    return Field(default=default, title=title, description=about or f"{title}.", **bounds)


LISTS = " A number, a list or a range (from:to:step)."


Names = Annotated[list[Annotated[str, Field(max_length=200)]] | None, Given]
Flag = Annotated[bool, BeforeValidator(lambda value: False if _absent(value) is None else value)]


Choices = dict[str, dict[str, str]]


class Query(BaseModel):
    """A mistyped name is refused, not ignored; a field left empty takes its default.

    ``choices`` are the words for a field's values in a form, ``front`` the fields that stand in front; the others are
    folded away.
    """

    model_config = ConfigDict(extra="forbid")
    choices: ClassVar[Choices] = {}
    front: ClassVar[tuple[str, ...]] = ()
    scored_by: ClassVar[str] = "AP"  # what runs are scored by unless something is named

    @model_validator(mode="before")
    @classmethod
    def _given_alone(cls, given: Any) -> Any:
        return {name: value for name, value in given.items() if _absent(value) is not None}
