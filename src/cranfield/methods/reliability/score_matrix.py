"""Which scores an analysis is made of, and what it refuses."""

from __future__ import annotations

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.scores import ScoreTable, check_balance
from cranfield.scores.balance import REMEDY
from cranfield.types import Array


def chosen_scores(
    table: ScoreTable, measure: str | None, *, drop: float = 0.0, least_topics: int = 2
) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Scores of one measure without the worst systems; the systems kept, and those left out."""
    scores = table.of(measure)
    if scores.ndim != 2:
        raise RequestError("this table has several scores for each topic and system (shards)", fix=REMEDY)
    check_balance(table, measure)
    if not 0 <= drop < 1:
        raise RequestError(f"a share of {drop:g} of the systems cannot be left out", fix="Give 0 or more, below 1.")
    means = scores.mean(axis=0)
    kept = means >= np.quantile(means, drop) if len(means) else np.zeros(0, bool)
    _check_size(scores[:, kept], least_topics, drop)
    names = np.array(table.systems, object)
    return scores[:, kept], tuple(names[kept]), tuple(names[~kept])


def _check_size(scores: Array, least_topics: int, drop: float) -> None:
    topics, systems = scores.shape
    if systems < 2:
        left = " are left" if drop else ""
        raise InputError(
            f"reliability takes two systems or more, and {systems}{left or ' was given'}",
            fix="Add scores of others" + (", or leave out fewer." if drop else "."),
        )
    if topics < least_topics:
        raise InputError(f"this takes {least_topics} topics or more, and there are {topics}", fix="Add topics.")


def check_trials(trials: int) -> None:
    if trials < 1:
        raise RequestError("there must be one trial or more", fix="1000 are usual.")


def check_alpha(alpha: float) -> None:
    if not 0 < alpha < 0.5:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a small probability; 0.05 is usual.")


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise RequestError(f"confidence cannot be {confidence:g}", fix="It is a probability; 0.95 is usual.")


def check_target(target: float) -> None:
    if not 0 < target < 1:
        raise RequestError(f"no coefficient can be {target:g}", fix="Give a target between 0 and 1, e.g. 0.95.")


def check_topics(topics: float) -> None:
    if not topics >= 1:
        raise RequestError(f"{topics} topics have no reliability", fix="Give one topic or more.")
