"""Which scores an analysis of reliability is made of, and the sets of topics drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.kernels import set_sums
from cranfield.runtime.random import generator, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.scores import ScoreTable, check_balance
from cranfield.scores.selection import REMEDY
from cranfield.types import Array, Progress

COMPILED = 10**9  # steps of a loop that is never interpreted: of many topics there is always enough to do
MANY, GROUPS = 10_000, 128  # topics above which groups of them are drawn, and how many groups
DIVISIONS = 8  # of very many topics into groups: each takes a pass over all scores


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
    _check_size(len(scores), int(kept.sum()), least_topics, drop)
    names = np.array(table.systems, object)
    # Of few topics always a copy system by system, whose sums round alike whether or not systems are left out.
    chosen = scores if kept.all() and len(scores) > MANY else scores[:, kept]
    return chosen, tuple(names[kept]), tuple(names[~kept])


def _check_size(topics: int, systems: int, least_topics: int, drop: float) -> None:
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


Result = TypeVar("Result")

_TASK = 20  # trials a task has: fixed, so that no number depends on how many workers share the tasks
TrialTask = tuple[np.random.SeedSequence, int]


def tasks(stream: np.random.SeedSequence, trials: int, topics: int = 0) -> list[TrialTask]:
    """Trials in tasks, each with a stream of its own; of very many topics, each with a division into groups."""
    size = max(_TASK, -(-trials // DIVISIONS)) if topics > MANY else _TASK
    counts = [min(size, trials - first) for first in range(0, trials, size)]
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
    scores: Array,
    sizes: Sequence[int],
    stream: np.random.SeedSequence,
    *,
    trials: int,
    sets: int,
    replacement: bool,
    workers: int | None = None,
) -> Iterator[Array]:
    """Means of the systems on ``sets`` sets of topics, for one size after the other: trials × sets × systems.

    Sets are disjoint, or with ``replacement`` drawn independently of each other, as if the topics were all there are.
    Each size has draws of its own; of more than ``MANY`` topics, the sets of a trial contain its smaller ones.
    """
    if len(scores) > MANY and not replacement and sets * len(set(sizes)) < 256:
        yield from _nested_means(scores, sizes, stream, trials=trials, sets=sets, workers=workers)
        return
    scores = np.ascontiguousarray(scores)
    for at, size in enumerate(sizes):
        work = trials * sets * size * scores.shape[1]
        draw = partial(_draw, scores, size, sets, replacement, work)
        yield np.concatenate(spread(draw, tasks(sequence(stream, at), trials), workers=workers))


def _draw(scores: Array, size: int, sets: int, replacement: bool, work: int, task: TrialTask) -> Array:
    stream, trials = task
    rng, topics = generator(stream), len(scores)
    sums = np.zeros((trials, sets, scores.shape[1]))
    for trial in range(trials):
        chosen = rng.integers(0, topics, sets * size) if replacement else rng.permutation(topics)[: sets * size]
        # Sums go topic by topic, alike for every system, so that equal systems stay equal to the last bit.
        set_sums(sets, scores, chosen.reshape(sets, size), sums[trial], work=work, workers=1)
    return sums / size


def _nested_means(
    scores: Array, sizes: Sequence[int], stream: np.random.SeedSequence, *, trials: int, sets: int, workers: int | None
) -> Iterator[Array]:
    """As `set_means`: a set consists of the topics that the next smaller has and of some more, summed only once."""
    distinct = np.unique(sizes)
    counts = np.tile(np.diff(distinct, prepend=0), sets)
    sums = np.concatenate(
        spread(
            partial(grouped_sums, scores, counts),
            tasks(sequence(stream, "nested"), trials, len(scores)),
            workers=workers,
        )
    )
    means = sums.reshape(trials, sets, len(distinct), -1).cumsum(axis=2) / distinct[:, np.newaxis]
    for size in sizes:
        yield means[:, :, np.searchsorted(distinct, size)]


def sum_of_topics(block: Array) -> Array:
    """The sum of every column."""
    return np.asarray(block.sum(axis=0))


def grouped_sums(
    values: Array, sizes: Array, task: TrialTask, *, total: Callable[[Array], Array] = sum_of_topics
) -> Array:
    """Sums over disjoint random sets of ``sizes`` topics of very many: trials × sets × columns.

    One random division of the topics into groups is dealt out anew in each trial. A set is then as random as if its
    topics were drawn one by one; only the trials of a task resemble one another a little. What a set has beyond whole
    groups stays with it. ``total`` gives what is summed of the values of some topics.
    """
    stream, trials = task
    size = -(-len(values) // GROUPS)
    whole, rest = np.append(sizes, len(values) - sizes.sum()) // size, sizes % size  # the last are in no set
    rng = generator(stream)
    order, ends = rng.permutation(len(values)), np.cumsum([*[size] * whole.sum(), *rest])
    sums = np.array([total(values[part]) for part in np.split(order, ends)[:-1]])
    found, last = np.empty((trials, len(sizes), sums.shape[1])), np.cumsum(whole)[:-1]
    for trial in range(trials):
        dealt = np.vstack([np.zeros(sums.shape[1]), sums[rng.permutation(whole.sum())].cumsum(axis=0)])
        found[trial] = dealt[last] - dealt[last - whole[:-1]] + sums[whole.sum() :]
    return found
