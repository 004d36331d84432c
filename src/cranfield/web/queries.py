"""What a page may be asked, in the words of the commands' flags; the address of a page is its question."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

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
    """A mistyped name is refused, not ignored; a field left empty takes its default."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _given_alone(cls, given: Any) -> Any:
        return {name: value for name, value in given.items() if _absent(value) is not None}


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


# --- about uploaded data

Missing = Literal["zero", "nan", "drop"]
Test = Literal["tukey", "randomised", "t", "wilcoxon", "sign", "bootstrap", "randomisation", "unpaired"]

_MEASURES: Any = Field(default=None, max_length=20, description="A measure, such as AP or nDCG@10; may be repeated.")
_MISSING: Any = Field(default="zero", description="A cell without a score.")
_SEED: Any = Field(default=1, ge=0, le=2**63 - 1, description="Of everything random.")


class ScoreQuery(Query):
    """What ``cranfield score`` takes."""

    measure: Names = _MEASURES
    missing: Missing = Field(default="zero", description="A judged topic a run returned nothing for.")
    no_relevant: Missing = Field(default="zero", description="A topic without relevant documents.")


class VarianceQuery(Query):
    """What ``cranfield variance`` takes."""

    measure: Names = _MEASURES
    percentile: float = Field(default=95.0, ge=1, le=100, description="Of the pairs' variances.")
    confidence: float = Field(default=0.95, ge=0.5, le=0.9999, description="Of the intervals.")
    resamples: int = Field(default=1000, ge=100, le=100_000, description="Bootstrap samples of the topics.")
    missing: Missing = _MISSING
    seed: int = _SEED


class PilotSizeQuery(DesignQuery):
    """What ``cranfield size`` takes with scores."""

    measure: Names = _MEASURES
    missing: Missing = _MISSING
    seed: int = _SEED


class PilotPowerQuery(CardQuery):
    """What ``cranfield power`` takes with scores."""

    measure: Names = _MEASURES
    missing: Missing = _MISSING
    seed: int = _SEED


class CompareQuery(Query):
    """What ``cranfield compare`` takes, for one measure."""

    measure: Annotated[str | None, Given] = Field(
        default=None, max_length=200, description="The measure; the first there is unless given."
    )
    test: Test = Field(default="tukey", description="How systems are compared.")
    correct: Annotated[Literal["holm", "bh", "none"] | None, Given] = Field(
        default=None, description="For pairwise tests; holm unless given."
    )
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Significance level.")
    baseline: Names = Field(default=None, max_length=50, description="Only pairs with this system; may be repeated.")
    equivalence: Annotated[float | None, Given] = Field(
        default=None, gt=0, description="Mark pairs shown to differ by less (TOST)."
    )
    audit: Flag = Field(default=False, description="All tests on the same data: which verdicts change, and why.")
    resamples: int = Field(default=10_000, ge=100, le=1_000_000, description="Permutations or resamples.")
    missing: Missing = _MISSING
    seed: int = _SEED


class ShardsQuery(Query):
    """What ``cranfield shards`` takes."""

    shards: str = Field(default="2,5,10", max_length=100, description="How many shards: a list or a range.")
    measure: Names = _MEASURES
    samples: int = Field(default=1, ge=1, le=1000, description="Re-shardings of each.")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Significance level.")
    undefined: float = Field(default=0.0, ge=0, le=1, description="Score of a topic without relevant documents.")
    held_out: bool = Field(default=True, description="See which findings hold on other topics.")
    seed: int = _SEED


QUERIES: dict[str, type[Query]] = {
    "score": ScoreQuery,
    "variance": VarianceQuery,
    "size": PilotSizeQuery,
    "power": PilotPowerQuery,
    "compare": CompareQuery,
    "shards": ShardsQuery,
}
