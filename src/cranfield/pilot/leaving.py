"""Who is left out when: drawn beforehand, so that the answer does not hang on how the work is spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.errors import RequestError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Draws:
    """One row a trial: how many teams are out, which stay (trials × teams), and the topics in a random order."""

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
        by_team, by_topic = np.random.SeedSequence(seed, spawn_key=(k,)).spawn(2)
        staying[mine] = _shuffled(teams, trials, by_team) >= k
        order[mine] = _shuffled(topics, trials, by_topic)
    return Draws(np.repeat(left_out, trials), staying, order)


def _shuffled(count: int, trials: int, stream: np.random.SeedSequence) -> Array:
    """One random order of ``range(count)`` a row, row after row from the stream."""
    return np.random.default_rng(stream).permuted(np.tile(np.arange(count), (trials, 1)), axis=1)


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
