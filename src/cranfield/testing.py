"""Assertions for test suites: a candidate is no worse than a baseline, or better.

They are the gates of ``compare``, and fail with the same line. Its warnings are given as ``CranfieldWarning``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from cranfield.errors import CranfieldWarning, visible
from cranfield.questions.compare import compare

__all__ = ["assert_better", "assert_not_worse"]


def assert_not_worse(
    scores: Any,
    *,
    baseline: str,
    candidate: str | Sequence[str] | None = None,
    margin: float | str = 0.02,
    measure: str | Sequence[str] | None = None,
    **more: Any,
) -> None:
    """Assert that a candidate is shown not to be worse than the baseline by the margin or more.

    Parameters
    ----------
    scores
        What ``cranfield.compare`` takes: a path, a frame, ``{system: {topic: score}}``, or runs with ``qrels``.
    baseline
        The system to compare with.
    candidate
        The system that has to pass, or several. Default: all but the baseline, corrected for their number.
    margin
        In units of the measure, or text such as ``"2%"`` of the baseline's mean.
    measure
        Only this measure, or these. Default: all in the data; each has to pass.
    **more
        Other parameters of ``cranfield.compare``, such as ``alpha``, ``test``, ``qrels`` or ``lower_is_better``.

    Raises
    ------
    AssertionError
        With one line per gate that failed: the bound, the test, the topics, and how many topics it would take.

    Warns
    -----
    CranfieldWarning
        What the comparison should be read with, such as few topics or missing scores.

    Examples
    --------
    >>> old = {str(topic): topic % 7 / 10 for topic in range(25)}
    >>> new = {topic: score + (int(topic) % 5 - 2) / 50 for topic, score in old.items()}
    >>> assert_not_worse({"old": old, "new": new}, baseline="old", margin=0.02)
    >>> assert_not_worse({"old": old, "new": new}, baseline="old", margin=0.005)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: score: no-worse=0.005 FAILED: new − old may be as low as -0.0099 (95 % one-sided, t, 25 topics); ...
    """
    __tracebackhide__ = True
    given = margin if isinstance(margin, str) else repr(float(margin))
    _assert_gate(scores, f"no-worse={given}", baseline=baseline, candidate=candidate, measure=measure, **more)


def assert_better(
    scores: Any,
    *,
    baseline: str,
    candidate: str | Sequence[str] | None = None,
    measure: str | Sequence[str] | None = None,
    **more: Any,
) -> None:
    """Assert that a candidate is shown to be better than the baseline.

    Parameters
    ----------
    scores
        What ``cranfield.compare`` takes: a path, a frame, ``{system: {topic: score}}``, or runs with ``qrels``.
    baseline
        The system to compare with.
    candidate
        The system that has to pass, or several. Default: all but the baseline, corrected for their number.
    measure
        Only this measure, or these. Default: all in the data; each has to pass.
    **more
        Other parameters of ``cranfield.compare``, such as ``alpha``, ``test``, ``qrels`` or ``lower_is_better``.

    Raises
    ------
    AssertionError
        With one line per gate that failed: the bound, the test and the topics.

    Warns
    -----
    CranfieldWarning
        What the comparison should be read with, such as few topics or missing scores.

    Examples
    --------
    >>> old = {str(topic): topic % 7 / 10 for topic in range(25)}
    >>> new = {topic: score + int(topic) % 5 / 50 for topic, score in old.items()}
    >>> assert_better({"old": old, "new": new}, baseline="old")
    """
    __tracebackhide__ = True
    _assert_gate(scores, "better", baseline=baseline, candidate=candidate, measure=measure, **more)


def _assert_gate(scores: Any, gate: str, **asked: Any) -> None:
    __tracebackhide__ = True  # pytest shows the line of the test
    found = compare(scores, gate=[gate], **asked)
    for caution in found.warnings:
        warnings.warn(visible(str(caution)), CranfieldWarning, stacklevel=3)
    failed = [visible(f"{each.measure}: {each.verdict}") for each in found.gates if not each.passed]
    if failed:
        raise AssertionError("\n".join(failed))
