"""How a measure is declared: its name, parameters, range, help and citation, beside the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cranfield.collection import View
from cranfield.errors import RequestError
from cranfield.formats.qrels import parse_grade
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.measures.recipes import Recipe

Value = float | int | str | None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a measure; ``read`` turns its text into its value or raises ValueError saying what it takes."""

    name: str
    default: Value
    help: str
    read: Callable[[str], Value]


@dataclass(frozen=True)
class Cutoff:
    """Whether a measure takes ``@k``, and whether it must; ``parameter`` is what ``@`` sets where that is no rank."""

    allowed: bool = True
    required: bool = False
    parameter: str = ""


def _no_function(view: View, measure: Measure) -> Array:
    raise NotImplementedError(f"{measure.kind.name} is computed by its recipe")


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasureKind:
    """One measure of the catalogue, not yet given its parameters.

    It is computed by a ``recipe`` (see `cranfield.measures.recipes`), or else by a function that computes several
    measures ``together`` in one pass, or else by a function of its own; ``finish`` makes the score of what that gives.
    ``averaged``
    says what tables of means show for a system: the ``mean`` over topics, the ``sum`` (of counts), or the ``geometric``
    mean, for scores that are logarithms. ``averages_ties`` says whether it has the expected value over the orders of
    documents with the same score, ``compares_runs`` whether the score of a run depends on another run.
    """

    name: str
    title: str
    help: str
    citation: str
    compute: Callable[[View, Measure], Array] = _no_function
    recipe: Callable[[View, Measure], Recipe | None] | None = None
    together: Callable[[View, Sequence[Measure]], Sequence[Array]] | None = None
    finish: Callable[[View, Measure, Array], Array] | None = None
    parameters: tuple[Parameter, ...] = ()
    cutoff: Cutoff = Cutoff()
    lowest: float = 0.0
    highest: float = 1.0
    per_intent: bool = False
    aliases: tuple[str, ...] = ()
    averaged: str = "mean"
    averages_ties: bool = False
    compares_runs: bool = False
    beside: str = ""  # a measure that is shown beside this one, with the same parameters

    @property
    def example(self) -> str:
        """The name with a cutoff, where one is required: a rank, or a share for measures that count by those."""
        return self.name if not self.cutoff.required else f"{self.name}@{0.5 if self.cutoff.parameter else 10}"


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters; ``str(measure)`` is its name in tables."""

    kind: MeasureKind
    values: tuple[tuple[str, Value], ...]
    k: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A measure goes to another machine by its name."""
        from cranfield.measures.catalog import parse_measure

        return parse_measure, (str(self),)

    def __getitem__(self, parameter: str) -> Any:
        return dict(self.values)[parameter]

    def __str__(self) -> str:
        return self._name

    @cached_property
    def _name(self) -> str:
        defaults = {parameter.name: parameter.default for parameter in self.kind.parameters}
        at = self.kind.cutoff.parameter
        shown = ",".join(
            f"{name}={_text(value)}" for name, value in self.values if name != at and _shown(name, value, defaults)
        )
        place = self[at] if at else self.k
        cut = f"@{_text(place)}" if place is not None else ""
        return f"{self.kind.name}({shown}){cut}" if shown else f"{self.kind.name}{cut}"


def _shown(name: str, value: Value, defaults: Mapping[str, Value]) -> bool:
    # RBP is never written without its persistence: there is no default everybody means.
    return value != defaults[name] or name == "p"


def _text(value: Value) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def read_grade(text: str) -> float:
    """A grade above 0, written as in judgments."""
    grade = parse_grade(text.encode()) if text.isascii() else None
    if grade is None or grade <= 0:
        raise ValueError("a number above 0")
    return grade


def between(low: float, high: float) -> Callable[[str], float]:
    """A number in the closed interval."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return value

    return read


def read_flag(text: str) -> bool:
    """Yes or no, as Python writes it or in lower case."""
    if text.lower() not in ("true", "false"):
        raise ValueError("True or False")
    return text.lower() == "true"


def one_of(*choices: str) -> Callable[[str], str]:
    """One of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return text

    return read


REL = Parameter("rel", 1, "the lowest grade that counts as relevant; it may be fractional", read_grade)

JUDGED_ONLY = Parameter("judged_only", False, "True: unjudged documents are removed from lists first", read_flag)


def threshold(measure: Measure) -> float | None:
    """The lowest grade that a measure counts as relevant; None for one that counts no documents, but their gains."""
    values: dict[str, Any] = dict(measure.values)
    graded_rbp = measure.kind.name == "RBP" and values["gains"] != "binary"
    return None if graded_rbp else values.get("rel")


def relevant_grades(measure: Measure, grade: Array) -> Array:
    """Which grades can add to a score: those from the threshold on or, of a measure of gains, all above 0."""
    values: dict[str, Any] = dict(measure.values)
    by_threshold = values.get("rel") is not None and values.get("gains", "binary") == "binary"
    return grade >= values["rel"] if by_threshold else grade > 0


def needs_intents(view: View, measure: Measure) -> Any:
    """The per-intent judgments, or an error that says how to give them."""
    if view.intents is None:
        raise RequestError(
            f"{measure} needs per-intent judgments, and none were read",
            fix="Give a file of «topic intent document grade» lines as `intents`.",
        )
    return view.intents
