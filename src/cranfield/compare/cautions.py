"""What the answer of a comparison should be read with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.errors import Caution

Array = npt.NDArray[Any]


def too_few_resamples(count: int, pairs: int, correct: str, alpha: float) -> Caution | None:
    """Whether the smallest p that so many resamples can give, 1 / (B + 1), is lost to the correction.

    >>> print(too_few_resamples(10_000, 8_256, "holm", 0.05).fix)
    Ask for 165,119 resamples or more, or use a test that needs no correction: tukey or randomised.
    """
    tests = 1 if correct == "none" else pairs
    if tests / (count + 1) <= alpha:
        return None
    enough = math.ceil(round(tests / alpha, 6)) - 1
    what = f"{count:,} resamples give no p below {1 / (count + 1):.1g}"
    if correct == "none":
        return Caution("too-few-resamples", f"{what}: nothing can be significant", f"Ask for {enough:,} or more.")
    if correct == "holm":
        what += (
            f", which Holm over {pairs:,} pairs makes {min(1.0, tests / (count + 1)):.2g}: nothing can be significant"
        )
    else:
        needed = math.ceil(round(tests / (count + 1) / alpha, 6))
        what += (
            f": over {pairs:,} pairs Benjamini and Hochberg find nothing unless {needed:,} of them have that p"
            if needed <= pairs
            else ": nothing can be significant"
        )
    return Caution(
        "too-few-resamples",
        what,
        f"Ask for {enough:,} resamples or more, or use a test that needs no correction: tukey or randomised.",
    )


def too_few_topics(topics: int, pairs: int, correct: str, alpha: float) -> Caution | None:
    """Whether the smallest p of a test of signs, 2 / 2ⁿ, is lost already."""
    tests = pairs if correct == "holm" else 1
    if tests * 2.0 ** (1 - topics) <= alpha:
        return None
    enough = math.ceil(1 + math.log2(tests / alpha))
    return Caution(
        "too-few-topics",
        f"with {topics:,} topics this test gives no p below {2.0 ** (1 - topics):.2g}"
        + (f", and Holm over {pairs:,} pairs multiplies it" if tests > 1 else "")
        + ": nothing can be significant",
        f"It takes {enough} topics or more; or use tukey.",
    )


def unpaired_loses(found: int, blocked: int) -> Caution:
    """What ignoring that topics are shared costs."""
    return Caution(
        "topics-ignored",
        f"all systems have the same topics, and this test ignores it: it finds {found:,} pairs, where topics as blocks "
        f"find {blocked:,}",
        "Leave out --unpaired (in Python, use the test tukey) unless every system had topics of its own.",
    )


def nothing_to_tell(scores: Array) -> Caution | None:
    """Whether systems do not differ at all, or by the same on every topic, so that there is no error to judge by."""
    own = scores - scores.mean(axis=1, keepdims=True)  # topics (and replicates) taken out
    tiny = 1e-12 * max(1.0, float(np.abs(scores).max()))
    if np.abs(own).max() <= tiny:
        return Caution(
            "same-everywhere",
            "all systems have the same score on every topic: there is nothing to tell apart",
            "Check that the files hold different systems, and that the measure tells them apart at all.",
        )
    if np.abs(own - own.mean(axis=0, keepdims=True)).max() <= tiny:
        return Caution(
            "no-error",
            "systems differ by the same amount on every topic: there is no error to measure differences against",
            "Check how the scores were made; p-values mean nothing here.",
        )
    return None
