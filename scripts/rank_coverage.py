"""How often the ranks given for all systems contain the true ones, on tasks drawn from those of MTEB.

    OPENBLAS_NUM_THREADS=1 python scripts/rank_coverage.py --draws 1000
    python scripts/rank_coverage.py --draws 4000 --case equal-best --test t --tasks 15

The 41 tasks of MTEB (English, version 2) are the population: tasks are drawn from them with replacement, and the means
over all 41 give the true ranks. A draw counts where the ranks of all systems hold at once. Systems that are equal in
the population may have any of their ranks, and all of these have to lie within. The same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import cranfield
from cranfield.methods.boards import make_board
from cranfield.methods.contrasts import compare
from cranfield.methods.contrasts.ranking import SIMULTANEOUS
from cranfield.runtime.random import generator
from cranfield.scores import ScoreTable

Array = npt.NDArray[Any]

MATRIX = Path(__file__).parents[1] / "tests" / "data" / "data" / "mteb" / "mteb_eng_v2.csv.gz"
ALPHA, RESAMPLES = 0.05, 999
CASES = ("best", "spread", "near-ties", "equal-pairs", "equal-best", "equal-spread", "equal-normal")
TESTS = ("max-t", "t", "tukey")  # t with Holm's correction
LEAST_SD = 0.01
SAME = 1e-9  # population means that differ by no more are equal


@dataclass(frozen=True)
class Coverage:
    """Of how many draws all ranks held, and how wide they were on average."""

    draws: int
    held: int
    width: float

    @property
    def share(self) -> float:
        return self.held / self.draws

    @property
    def error(self) -> float:
        """The standard error of the share."""
        return float(np.sqrt(max(self.share * (1 - self.share), 1 / self.draws) / self.draws))


def read_population() -> Array:
    """Tasks × models, the best model first."""
    scores = np.asarray(cranfield.read_scores(MATRIX).of())
    return scores[:, np.argsort(-scores.mean(axis=0), kind="stable")]


def chosen(population: Array, case: str, systems: int = 20) -> Array:
    """Tasks × systems of one case.

    The best models, and models over the whole board; the best models with means that are one ten-thousandth apart, and
    with means that are the same in pairs; the best, and those over the whole board, all with the same mean. Of models
    whose scores are nearly the same one is taken: with the same mean they would differ by a constant on nearly all
    tasks, which no two models do. Last, 20,000 tasks with normal scores of the same covariances, and equal means.
    """
    distinct = population[:, distinct_models(population)]
    spread = np.linspace(0, distinct.shape[1] - 1, systems).round().astype(int)
    values: Array = distinct[:, spread] if case.endswith("spread") else distinct[:, :systems]
    means = values.mean(axis=0)
    moved = {
        "near-ties": 1e-4 * -np.arange(systems),
        "equal-pairs": np.repeat(means[::2], 2)[:systems],
        "equal-best": np.zeros(systems),
        "equal-spread": np.zeros(systems),
    }
    if case == "equal-normal":
        normal = generator(1, "normal tasks").multivariate_normal(np.zeros(systems), np.cov(values.T), 20_000)
        return np.asarray(normal - normal.mean(axis=0))
    return values - means + moved[case] if case in moved else values


def distinct_models(population: Array) -> list[int]:
    """Models whose differences from all better ones have an sd of a hundredth or more."""
    kept: list[int] = []
    for at in range(population.shape[1]):
        if all((population[:, at] - population[:, other]).std() >= LEAST_SD for other in kept):
            kept.append(at)
    return kept


def true_ranks(values: Array) -> tuple[Array, Array]:
    """The best and the worst of the ranks of every system, which differ where systems are equal."""
    means = values.mean(axis=0)
    gaps = means[:, np.newaxis] - means
    return 1 + (gaps < -SAME).sum(axis=1), len(means) - (gaps > SAME).sum(axis=1)


def bounds_of(values: Array, test: str) -> tuple[Array, Array]:
    """The ranks given, in the order of the columns."""
    tasks, systems = (tuple(map(str, range(count))) for count in values.shape)
    table = ScoreTable(("score",), tasks, systems, values[np.newaxis, :, :, np.newaxis])
    if np.isnan(values).any():
        resamples = RESAMPLES if test == "max-t" else 100
        board = make_board(table, test=test, alpha=ALPHA, ranks=SIMULTANEOUS, resamples=resamples)
        names, lower, upper = board.systems, board.rank_lower, board.rank_upper
    else:
        found = compare(table, test=test, alpha=ALPHA, resamples=RESAMPLES if test == "max-t" else None)
        names, (lower, upper) = found.systems, found.ranks(SIMULTANEOUS)
    back = np.argsort([int(name) for name in names])
    return lower[back], upper[back]


def coverage(values: Array, *, tasks: int, test: str, draws: int, missing: float = 0.0, seed: int = 1) -> Coverage:
    """Draw tasks, and cells that are missing with a probability, and count the draws in which all ranks hold."""
    rng = generator(seed, "rank coverage", test, str(tasks))
    best, worst = true_ranks(values)
    held, width = 0, 0.0
    for _ in range(draws):
        sample = values[rng.integers(len(values), size=tasks)]
        if missing:
            sample = np.where(rng.random(sample.shape) < missing, np.nan, sample)
            sample = sample[np.isfinite(sample).any(axis=1)]
        lower, upper = bounds_of(sample, test)
        held += bool(((lower <= best) & (worst <= upper)).all())
        width += float((upper - lower + 1).mean())
    return Coverage(draws, held, width / draws)


def rows(args: argparse.Namespace) -> Iterator[str]:
    population = read_population()
    yield f"{'case':12s} {'tasks':>5s} {'missing':>7s} {'test':6s} {'coverage':>8s} {'± se':>6s} {'width':>6s}"
    for case in args.case:
        values = chosen(population, case, args.systems)
        for tasks in args.tasks:
            for test, missing in product(args.test, args.missing):
                if missing and test == "tukey":
                    continue  # it needs every score
                found = coverage(values, tasks=tasks, test=test, draws=args.draws, missing=missing, seed=args.seed)
                yield (
                    f"{case:12s} {tasks:5d} {missing:7.0%} {test:6s} {found.share:8.4f} {found.error:6.4f} "
                    f"{found.width:6.2f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--test", nargs="+", choices=TESTS, default=list(TESTS))
    parser.add_argument("--tasks", nargs="+", type=int, default=[41, 15])
    parser.add_argument("--missing", nargs="+", type=float, default=[0.0, 0.15])
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    for row in rows(parser.parse_args()):
        print(row, flush=True)


if __name__ == "__main__":
    main()
