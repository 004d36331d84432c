"""Scores like those of TREC Deep Learning 2019 under human labels and under four judges, drawn from a seed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

GROUPS = {"idst": 6, "TUW19": 7, "bm25": 6, "srchvrs": 5, "ICT": 4, "UNH": 4, "runid": 5}
NOISE = (0.04, 0.07, 0.06, 0.07)  # of the differences of a judge, system by system; those of people have sd .15


def made_population(script: ModuleType, topics: int = 43, seed: int = 1) -> Any:
    """A population of the script, with as many topics and systems as the track had; its judges favour nobody."""
    rng = np.random.default_rng(seed)
    systems = tuple(f"{name}{at}" for name, count in GROUPS.items() for at in range(count))
    quality = rng.permutation(np.linspace(0.45, 0.72, len(systems)))
    human = quality + rng.normal(0, 0.12, (topics, 1)) + rng.normal(0, 0.15, (topics, len(systems)))
    human += quality - human.mean(axis=0)
    judges = {}
    for name, noise in zip(script.JUDGES, NOISE, strict=True):
        own = rng.normal(0, noise, human.shape)
        judges[name] = 0.3 + 0.7 * human + rng.normal(0, 0.05, (topics, 1)) + own - own.mean(axis=0)
    return script.Population(human, judges, systems)
