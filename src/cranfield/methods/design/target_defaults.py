"""The goal of a pilot or a budget."""

from __future__ import annotations

from cranfield.errors import RequestError
from cranfield.methods.design.target import Target, choose_target

USUAL_SYSTEMS = 10  # SS16's


def target_for(
    there: int,
    *,
    systems: int | None = None,
    min_range: float | None = None,
    difference: float | None = None,
    width: float | None = None,
    method: str = "blocked",
    test: str | None = None,
    **levels: float,
) -> Target:
    """The goal that was named, for ``systems`` systems; ``levels`` are alpha and power.

    By default a difference is between two of all the systems ``there``, as in ``cranfield size`` with their scores, and
    a range is that of ten systems. A parameter without effect on the goal is an error.

    >>> target_for(129, difference=0.05).systems
    129
    """
    named = "difference" if difference is not None else "width" if width is not None else "min_range"
    if method != "blocked" and named != "min_range":
        raise RequestError("`method` goes with `min_range`", fix="Leave it out.")
    if systems is not None and (named == "width" or test == "t"):
        what = "`width`" if named == "width" else '`test="t"`, a pair named in advance'
        raise RequestError(f"`systems` has no effect with {what}", fix="Leave it out.")
    if systems is None:
        systems = USUAL_SYSTEMS if named == "min_range" else max(there, 2)
    return choose_target(
        min_range=min_range, difference=difference, width=width, systems=systems, method=method, test=test, **levels
    )


def check_design(target: Target, estimate: str) -> str:
    """The estimate, where it goes with the goal: systems that share topics are compared by the residual variance.

    The width of an interval can be used with any of them; Sakai (2014), §5.4, uses the two-way variance.
    """
    if target.goal == "difference" and estimate != "residual":
        raise RequestError(f"a difference on shared topics has no {estimate} variance", fix="Leave out `estimate`.")
    if target.goal == "min_range" and (target.method == "blocked") != (estimate == "residual"):
        fits = "residual" if target.method == "blocked" else "two-way, one-way or within"
        other = "exact" if target.method == "blocked" else "blocked"
        raise RequestError(
            f"method «{target.method}» does not go with the {estimate} variance",
            fix=f'Take {fits}, or `method="{other}"`.',
        )
    return estimate


def variance_words(estimate: str) -> str:
    """The variance in words, with the design that it belongs to where topics are not shared.

    >>> variance_words("two-way")
    'two-way variance, as if systems shared no topics'
    """
    return f"{estimate} variance" + ("" if estimate == "residual" else ", as if systems shared no topics")
