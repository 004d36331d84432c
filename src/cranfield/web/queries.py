"""What a page may be asked, in the words of the commands' flags; the address of a page is its question."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from cranfield.methods.names import (
    CORRECTION_TITLES,
    DEPENDENCE_TITLES,
    ESTIMATE_TITLES,
    MARGINS_TITLES,
    MISSING_TITLES,
    MissingName,
    PlannedTestName,
)


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


def numbers(title: str, about: str, example: str) -> Any:
    return field(title, f"{about}{LISTS}", max_length=100, examples=[example])


Numbers = Annotated[str | None, Given]
Names = Annotated[list[Annotated[str, Field(max_length=200)]] | None, Given]
Name = Annotated[str | None, Given]
Count = Annotated[int | None, Given]
Number = Annotated[float | None, Given]
Flag = Annotated[bool, BeforeValidator(lambda value: False if _absent(value) is None else value)]


Choices = dict[str, dict[str, str]]
WORDS: Choices = {
    "missing": {"": "0 in runs, refused in tables", **MISSING_TITLES},
    "no_relevant": {"zero": "counts 0", "nan": "stays missing", "drop": "is dropped"},
    "correct": {"": "usual", **CORRECTION_TITLES},
    "estimate": {"": "what the goal needs", **ESTIMATE_TITLES},
    "margins": MARGINS_TITLES,
    "dependence": DEPENDENCE_TITLES,
}
"""For what a parameter can be, where questions have it in common."""


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


TEST: Any = field(
    "Test", "Test to plan for: max-t, tukey, holm (all pairs), dunnett (a baseline), t (a pair named in advance)."
)


# --- what many questions about uploaded data share

Missing = Annotated[MissingName | None, Given]
MEASURES: Any = field("Measure", "A measure, such as AP or nDCG@10; may be repeated.", max_length=20)
MISSED: Any = field(
    "A missing score",
    "zero counts it as 0, drop leaves out its topic. Unless given, a score table with missing scores is refused, and a "
    "run scores 0 on a topic for which it returned nothing.",
)
SEED: Any = field("Seed", "Random seed.", 1, ge=0, le=2**63 - 1)
ALPHA: Any = field("α", "Significance level.", 0.05, gt=0, lt=1)
POWER: Any = field("Power", "Power (1 − β).", 0.8, gt=0, lt=1)


def amount(title: str, about: str, most: float = 1e3) -> Any:
    """A positive number that may be left out."""
    return field(title, about, gt=0, le=most)


class TargetQuery(Query):
    """One goal, and the tests it is for."""

    measure: Names = MEASURES
    systems: Count = field(
        "Systems", "How many systems will be compared; 10 for a range, else all there are.", ge=2, le=1_000_000
    )
    min_range: Number = amount("Range", "Smallest range of the systems' means to detect; 0.15 unless a goal is given.")
    difference: Number = amount("or: difference", "Smallest difference of two systems to detect.")
    width: Number = amount("or: width", "Widest interval for a difference.")
    test: Annotated[PlannedTestName | None, Given] = TEST
    alpha: float = ALPHA
    power: float = POWER
    method: Literal["blocked", "exact", "sakai"] = field(
        "Method", "For a range: blocked (systems share topics); exact or sakai (they do not).", "blocked"
    )
