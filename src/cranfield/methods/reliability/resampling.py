"""Sets of topics drawn from a collection, and the systems' means on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from cranfield.errors import RequestError
from cranfield.runtime.random import generator, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.types import Array, Progress

Result = TypeVar("Result")

_TASK = 20  # trials a task has: fixed, so that no number depends on how many workers share the tasks
TrialTask = tuple[np.random.SeedSequence, int]


def tasks(stream: np.random.SeedSequence, trials: int) -> list[TrialTask]:
    """Trials in tasks, each with a stream of its own."""
    counts = [min(_TASK, trials - first) for first in range(0, trials, _TASK)]
    return [(sequence(stream, number), count) for number, count in enumerate(counts)]


def in_waves(
    function: Callable[[TrialTask], Result], todo: list[TrialTask], *, workers: int | None, progress: Progress | None
) -> list[Result]:
    """Tasks spread over workers; where somebody watches, a tenth at a time."""
    done: list[Result] = []
    for first, last in slices(len(todo), 1 if progress is None else 10):
        done += spread(function, todo[first:last], workers=workers)
        if progress is not None:
            progress(last, len(todo))
    return done


def default_sizes(topics: int, sets: int = 2) -> tuple[int, ...]:
    """Up to five sizes of disjoint sets, evenly up to the largest there can be.

    >>> default_sizes(50)
    (5, 10, 15, 20, 25)
    """
    most = topics // sets
    return tuple(sorted({max(1, round(most * part / 5)) for part in range(1, 6)}))


def check_sizes(sizes: tuple[int, ...], topics: int, sets: int, *, replacement: bool) -> None:
    """Refuse sets there are not enough topics for."""
    if not sizes or min(sizes) < 1:
        raise RequestError("a set has one topic or more", fix="Give sizes of 1 or more.")
    if not replacement and max(sizes) * sets > topics:
        raise RequestError(
            f"{sets} disjoint sets of {max(sizes)} topics take {max(sizes) * sets}, and there are {topics}",
            fix=f"Give sizes up to {topics // sets}, or draw with replacement.",
        )


def set_means(
    scores: Array, size: int, seeds: list[TrialTask], *, sets: int, replacement: bool, workers: int | None = None
) -> Array:
    """Means of the systems on ``sets`` sets of ``size`` topics: trials × sets × systems.

    Sets are disjoint, or with ``replacement`` drawn independently of each other, as if the topics were all there are.
    """
    draw = partial(_draw, scores, size, sets, replacement)
    return np.concatenate(spread(draw, seeds, workers=workers))


def _draw(scores: Array, size: int, sets: int, replacement: bool, task: TrialTask) -> Array:
    stream, trials = task
    rng, topics = generator(stream), len(scores)
    out = np.empty((trials, sets, scores.shape[1]))
    for trial in range(trials):
        chosen = rng.integers(0, topics, sets * size) if replacement else rng.permutation(topics)[: sets * size]
        # Sums go topic by topic, alike for every system, so that equal systems stay equal to the last bit.
        out[trial] = scores[chosen].reshape(sets, size, -1).mean(axis=1)
    return out
