"""Which teams and topics each trial leaves out: drawn first, so that the answer does not depend on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.errors import RequestError
from cranfield.runtime.random import generator
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Draws:
    """One row per trial: how many teams leave, which stay (trials × teams), and the topics in a random order."""

    left_out: Array
    staying: Array
    topic_order: Array

    def __len__(self) -> int:
        return len(self.left_out)


def draw(teams: int, topics: int, left_out: Sequence[int], trials: int, seed: int) -> Draws:
    """``trials`` draws for every k of ``left_out``.

    Every k has a stream of its own: whatever else is asked for, trial 3 of k = 5 is the same.
    """
    staying = np.ones((len(left_out) * trials, teams), bool)
    order = np.empty((len(left_out) * trials, topics), np.int64)
    for at, k in enumerate(left_out):
        mine = slice(at * trials, (at + 1) * trials)
        staying[mine] = _shuffled(teams, trials, generator(seed, "pilot", "teams", k)) >= k
        order[mine] = _shuffled(topics, trials, generator(seed, "pilot", "topics", k))
    return Draws(np.repeat(left_out, trials), staying, order)


def _shuffled(count: int, trials: int, stream: np.random.Generator) -> Array:
    """One random order of ``range(count)`` per row, row after row from the stream."""
    return stream.permuted(np.tile(np.arange(count), (trials, 1)), axis=1)


def check_left_out(left_out: Sequence[int] | None, teams: int) -> tuple[int, ...]:
    """The numbers of teams to leave out: those asked for, or every one that leaves a team; 0 always comes first."""
    if teams < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    wanted = range(1, teams) if left_out is None else sorted(set(left_out) - {0})
    for k in wanted:
        if k < 0:
            raise RequestError(f"{k} teams cannot be left out", fix="Leave out one or more.")
        if k >= teams:
            raise RequestError(
                f"{k} of {teams} teams cannot be left out: nobody is left to score",
                fix=f"Leave out {teams - 1} at most.",
            )
    return (0, *wanted)
