"""What a page may be asked, in the words of the commands' flags; the address of a page is its question."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_ROWS = 2_000  # of a grid; the command has no such limit

Goal = Literal["min_range", "difference", "effect_size", "width", "sensitivity"]
Axis = Literal["min_range", "difference", "effect_size", "width", "sensitivity", "systems", "variance", "sd", "alpha",
               "power"]  # fmt: skip


def _absent(value: Any) -> Any:
    """A field left empty in a form is one that was not given."""
    if isinstance(value, list):
        return [each for each in value if each != ""] or None
    return None if isinstance(value, str) and not value.strip() else value


Given = BeforeValidator(_absent)


def _numbers(text: str, example: str) -> Any:
    return Field(default=None, max_length=100, description=f"{text} A number, a list or a range (from:to:step).",
                 examples=[example])  # fmt: skip


Numbers = Annotated[str | None, Given]
Names = Annotated[list[Annotated[str, Field(max_length=200)]] | None, Given]
Flag = Annotated[bool, BeforeValidator(lambda value: False if _absent(value) is None else value)]


class Query(BaseModel):
    """A mistyped name is refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


class DesignQuery(Query):
    """What ``cranfield size`` takes about a design; with data, all but the variance."""

    goal: Annotated[Goal | None, Given] = Field(
        default=None, description="Use only this goal of those given; without it, every goal that is given."
    )
    systems: Numbers = _numbers("How many systems will be compared.", "10")
    min_range: Numbers = _numbers("Smallest range of the systems' means to find.", "0.1")
    difference: Numbers = _numbers("Smallest difference of two systems to find.", "0.05")
    effect_size: Numbers = _numbers("The same over the sd of the differences.", "0.4")
    width: Numbers = _numbers("Widest interval for a difference.", "0.1")
    sensitivity: Numbers = _numbers("A mean is to be known to within ±.", "0.05")
    alpha: Numbers = _numbers("Significance level; 0.05 unless given.", "0.05")
    power: Numbers = _numbers("Probability of finding what is there; 0.8 unless given.", "0.8")
    one_sided: Flag = Field(default=False, description="Test one direction only.")
    unpaired: Flag = Field(default=False, description="The two systems do not share topics.")
    method: Annotated[str | None, Given] = Field(
        default=None,
        max_length=20,
        description="Only this one: exact, sakai, blocked; t, normal, unpaired; interval; clt.",
    )


class SizeQuery(DesignQuery):
    """What ``cranfield size`` takes."""

    variance: Numbers = _numbers("σ² of one system's scores.", "0.053")
    sd: Numbers = _numbers("Standard deviation of paired differences.", "0.15")
    curve: Annotated[Axis | None, Given] = Field(
        default=None, description="What the curve is drawn over: the goal, or this."
    )


class CardQuery(Query):
    """What ``cranfield power`` takes about a design; with data, all but the variance."""

    topics: Numbers = _numbers("Number of topics.", "50")
    systems: Numbers = _numbers("Number of systems compared.", "10")
    difference: Numbers = _numbers("A difference to see; 0.05 unless given.", "0.05")
    alpha: Numbers = _numbers("Significance level; 0.05 unless given.", "0.05")
    power: Numbers = _numbers("Power at which a difference counts as seen; 0.8 unless given.", "0.8")


class PowerQuery(CardQuery):
    """What ``cranfield power`` takes."""

    variance: Numbers = _numbers("σ² of one system's scores.", "0.053")
    sd: Numbers = _numbers("Standard deviation of paired differences.", "0.15")
