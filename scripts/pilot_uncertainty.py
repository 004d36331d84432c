"""How well pilots of real scores know their own uncertainty: python scripts/pilot_uncertainty.py [PILOTS].

Draws pilots from TREC 2004 Robust (AP, 249 topics, 110 systems) and prints, for pilots of 10 to 100 topics, how often
the true residual variance lies above the upper end of its 95 % interval, and the expected power that `cranfield size`
prints beside the power that its number of topics really has.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield import ScoreTable
from cranfield.methods.design import Design, Goal, Sd, achieved
from cranfield.methods.design.planning import plan_from_pilot
from cranfield.methods.design.request import Request
from cranfield.methods.variance import estimate_variance
from cranfield.methods.variance.components import squares

Array = npt.NDArray[Any]
SCORES = Path(__file__).parents[1] / "tests" / "data" / "data" / "matrices" / "robust04_map.csv"
DIFFERENCE = 0.05


def pilot_table(scores: Array) -> ScoreTable:
    names = tuple(f"system {at}" for at in range(scores.shape[1]))
    return ScoreTable(("AP",), tuple(map(str, range(len(scores)))), names, scores[np.newaxis, :, :, np.newaxis])


def one_pilot(truth: Array, topics: int, rng: np.random.Generator) -> tuple[bool, float, float, float]:
    """Whether the variance is above the interval; the power at the estimate, the expected and the real one."""
    variances = estimate_variance(pilot_table(truth[rng.integers(0, len(truth), topics)]))
    estimate = variances.get("residual")
    found = plan_from_pilot(Request(difference=[DIFFERENCE]), variances)[0]
    variance = float(squares(truth).residual) * (len(truth) - 1) / len(truth)
    design = Design(
        topics=int(found.size.topics.flat[0]),
        systems=truth.shape[1],
        test=found.size.method.name,
        spread=Sd.of_variance(variance),
    )
    real = float(achieved(design, Goal("difference", DIFFERENCE)))
    return variance > estimate.upper, float(found.size.achieved.flat[0]), float(found.assurance.flat[0]), real


def main() -> None:
    pilots = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    with SCORES.open() as stream:
        scores = np.array([row[1:] for row in list(csv.reader(stream))[1:]], float)
    print("systems  topics  above the interval  power at the estimate  expected power  real power")
    for systems in (10, 2):
        for topics in (10, 20, 30, 50, 100):
            rng = np.random.default_rng([systems, topics])
            rows = [
                one_pilot(scores[:, rng.choice(scores.shape[1], systems, replace=False)], topics, rng)
                for _ in range(pilots)
            ]
            above, at_estimate, expected, real = np.mean(rows, axis=0)
            print(f"{systems:7}  {topics:6}  {above:18.1%}  {at_estimate:21.3f}  {expected:14.3f}  {real:10.3f}")


if __name__ == "__main__":
    main()
