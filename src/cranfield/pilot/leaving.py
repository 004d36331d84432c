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
    out, stay, order = [], [], []
    for k in left_out:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
        for _ in range(trials):
            staying = np.ones(teams, bool)
            staying[rng.permutation(teams)[:k]] = False
            out.append(k)
            stay.append(staying)
            order.append(rng.permutation(topics))
    return Draws(np.array(out), np.array(stay), np.array(order))


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
