"""Numbers as they are typed, parsed and checked: grids, counts, and what every input of a design may be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from cranfield.errors import RequestError, say_as_share
from cranfield.methods.design.goals import GOALS
from cranfield.types import Array

MOST_CELLS = 1_000_000


def parse_grid(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[float]:
    """Parse ``0.05``, a list ``0.01,0.05``, a range ``0.02:0.10:0.02`` (ends included), or a mixture.

    A range may have at most ``most`` values.

    >>> parse_grid("0.02:0.06:0.02,0.1")
    [0.02, 0.04, 0.06, 0.1]
    """
    values: list[float] = []
    for piece in text.split(","):
        values += _range(piece.strip(), name, most)
        if len(values) > most:
            raise RequestError(f"`{name}` has more than {most:,} values", fix="Give fewer values.")
    return list(dict.fromkeys(values))


def parse_counts(text: str, *, name: str = "value", most: int = MOST_CELLS) -> list[int]:
    """Parse whole numbers from a list or a range.

    >>> parse_counts("2,5:7")
    [2, 5, 6, 7]
    """
    return [whole(value, name) for value in parse_grid(text, name=name, most=most)]


def whole(value: float, name: str) -> int:
    """Parse a count; RequestError for anything else."""
    if value != int(value):
        raise RequestError(f"`{name}` cannot be {value:g}", fix="It takes a whole number.")
    return int(value)


def _range(piece: str, name: str, most: int) -> list[float]:
    parts = piece.split(":")
    try:
        numbers = [Decimal(part) for part in parts]  # decimals, so that 0.02 + 0.02 + 0.02 is 0.06
        if not all(number.is_finite() for number in numbers) or len(parts) not in (1, 2, 3):
            raise InvalidOperation
    except InvalidOperation:
        raise RequestError(
            f"`{name}` cannot be «{piece}»",
            fix=say_as_share(piece)
            or "Write a number, a list such as 0.01,0.05, or a range from:to:step such as 10:100:10.",
        ) from None
    if not all(map(_is_usual, numbers)):
        raise RequestError(f"`{name}` cannot be «{piece[:40]}»", fix="Numbers from 1e-100 to 1e100 are taken.")
    if len(numbers) == 1:
        return [float(numbers[0])]
    step = numbers[2] if len(numbers) == 3 else Decimal(1)
    if step <= 0 or numbers[1] < numbers[0]:
        raise RequestError(f"the range «{piece}» is empty", fix="Write from:to:step, with from below to.")
    count = math.floor((numbers[1] - numbers[0]) / step) + 1
    if count > most:
        raise RequestError(f"the range «{piece}» has {count:,} values", fix="Take a larger step.")
    return [float(numbers[0] + step * at) for at in range(count)]


def _is_usual(number: Decimal) -> bool:
    """Whether a number is of moderate size."""
    return not number or abs(number.adjusted()) <= 100


_ABOVE_0 = {name: kind.bounds for name, kind in GOALS.items() if name != "reliability"} | {
    "variance": "Variance is the average squared distance from the mean; AP on news has about 0.05.",
    "sd": "A standard deviation is above 0; paired AP differences on news have about 0.15.",
}
_R = "A correlation lies between −1 and 1; "
_BETWEEN = {
    "alpha": (0, 1, "α is a probability between 0 and 1; 0.05 is usual."),
    "power": (0, 1, "Power is a probability between 0 and 1; 0.8 is usual."),
    "probability": (0, 1, "A probability lies between 0 and 1; 0.9 is usual."),
    "assurance": (0, 1, "Expected power is a probability between 0 and 1; 0.8 is usual."),
    "reliability": (0, 1, GOALS["reliability"].bounds),
    "correlation": (-1, 1, f"{_R}TREC-8 AP has 0.66."),
    "judge_correlation": (-1, 1, f"{_R}models that judged TREC DL 2019 have 0.47 to 0.73 (nDCG@10)."),
}
_WHOLE = {
    "systems": (2, "A comparison needs two systems or more."),
    "topics": (2, "A variance needs two topics or more."),
    "items": (1, "A topic has one item or more."),
    "repeats": (1, "An item has one repeat or more."),
}
_FROM_0 = ("between", "within", "shared_variance", "repeat_variance")


def broadcast(
    inputs: Mapping[str, Any], *, unchecked: Set[str] = frozenset()
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Check the inputs and broadcast them: flat arrays of equal length, and their common shape."""
    if not inputs:
        return {}, ()
    arrays = {name: np.asarray(value, float) for name, value in inputs.items()}
    for name, values in arrays.items():
        if name not in unchecked:
            _check_one(name, values)
    try:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        sizes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise RequestError(f"the inputs do not fit together: {sizes}") from None
    flat = {name: np.broadcast_to(values, shape).ravel() for name, values in arrays.items()}
    if "power" in flat and "alpha" in flat and (by_chance := flat["power"] <= flat["alpha"]).any():
        first = int(np.argmax(by_chance))
        raise RequestError(
            f"a power of {flat['power'][first]:g} at α = {flat['alpha'][first]:g} needs no topics: it is reached by "
            "chance",
            fix="Ask for a power above α; 0.8 is usual.",
        )
    return flat, shape


def _check_one(name: str, values: Array) -> None:
    good, why = _verdict(name, values)
    if not good.all():
        value = values.ravel()[int(np.argmin(good.ravel()))]
        is_percentage = _BETWEEN.get(name, (-1,))[0] == 0 and 1 < value < 100
        share = f" For {value:g} %, write {value / 100:g}." if is_percentage else ""
        raise RequestError(f"`{name}` cannot be {value:g}", fix=f"{why}{share}")


def _verdict(name: str, values: Array) -> tuple[Array, str]:
    if name in _ABOVE_0:
        return np.asarray((values > 0) & np.isfinite(values)), _ABOVE_0[name]
    if name in _BETWEEN:
        low, high, why = _BETWEEN[name]
        return np.asarray((values > low) & (values < high)), why
    if name in _WHOLE:
        least, why = _WHOLE[name]
        return np.asarray((values >= least) & (values == np.floor(values)) & np.isfinite(values)), why
    if name in _FROM_0:
        return np.asarray((values >= 0) & np.isfinite(values)), "A variance is 0 or more."
    if name in ("df", "systems_variance"):  # computed, not asked for
        return np.ones(values.shape, bool), ""
    return np.isfinite(values), "Give a finite number."
