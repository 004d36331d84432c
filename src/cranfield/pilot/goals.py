"""The goal of a pilot or a budget, in the words of the command."""

from __future__ import annotations

from typing import Any

from cranfield.design.targets import Target, choose_target
from cranfield.errors import RequestError

USUAL_SYSTEMS = 10  # SS16's


def target_for(
    there: int,
    *,
    systems: int | None = None,
    min_range: float | None = None,
    difference: float | None = None,
    width: float | None = None,
    **test: Any,
) -> Target:
    """The goal that was named, for ``systems`` systems.

    Where their number is not given, a difference is one among all the systems ``there``, as ``cranfield size`` takes
    it from their scores; a range is that of ten systems.

    >>> target_for(129, difference=0.05, method="blocked").systems
    129
    """
    if systems is None:
        systems = USUAL_SYSTEMS if difference is None and width is None else max(there, 2)
    return choose_target(min_range=min_range, difference=difference, width=width, systems=systems, **test)


def check_design(target: Target, estimate: str) -> str:
    """Refuse another variance than the residual where the design has topics as blocks."""
    if target.goal == "min_range" and (target.method == "blocked") != (estimate == "residual"):
        fits = "residual" if target.method == "blocked" else "two-way, one-way or within"
        raise RequestError(
            f"method «{target.method}» does not go with the {estimate} variance",
            fix=f"Take {fits}, or --method {'exact' if target.method == 'blocked' else 'blocked'}.",
        )
    return estimate
