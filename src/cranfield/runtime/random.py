"""Random streams: every task has one of its own, and no two seeds, tasks or collections share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cranfield.errors import RequestError
from cranfield.types import Array

if TYPE_CHECKING:
    Seed = int | np.random.SeedSequence | np.random.Generator
else:
    Seed = int  # at run time only a name: NumPy imports its generators when they are asked for


def sequence(seed: Seed, *task: str | int) -> np.random.SeedSequence:
    """The seed sequence of one task, named by words and numbers: the question, the step, the collection, its number.

    A ``Generator`` is drawn from, so that two calls with the same one differ.

    >>> sequence(1, "compare", "max-t") == sequence(2, "compare", "max-t")
    False
    >>> sequence(sequence(1, "verify"), 3).spawn_key == sequence(1, "verify", 3).spawn_key
    True
    """
    root = _root(seed)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *map(_key, task)))


def generator(seed: Seed, *task: str | int) -> np.random.Generator:
    """The generator of one task."""
    return np.random.default_rng(sequence(seed, *task))


def generators(seed: Seed, *task: str | int, count: int) -> list[np.random.Generator]:
    """The generators of ``count`` numbered parts of a task."""
    return [generator(seed, *task, number) for number in range(count)]


def words(seed: Seed, *task: str | int, count: int) -> Array:
    """64 random bits, never 0, for each of ``count`` parts of a task whose compiled loop draws by itself."""
    return generator(seed, *task).integers(1, 2**64, count, dtype=np.uint64, endpoint=False)


def _root(seed: Seed) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**63, size=2).tolist())
    if seed < 0:
        raise RequestError(f"a random seed cannot be {seed}", fix="Choose a whole number of 0 or more.")
    return np.random.SeedSequence(seed)


def _key(part: str | int) -> int:
    """Words by a hash that is the same in every process, numbers as they are."""
    from hashlib import blake2b

    return part if isinstance(part, int) else int.from_bytes(blake2b(part.encode(), digest_size=8).digest(), "big")
