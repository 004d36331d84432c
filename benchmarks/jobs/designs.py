"""Sizes over a grid: ours all at once, the others a cell at a time on a sample of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.jobs import clock
from benchmarks.sizes import sized

ALPHAS, POWERS = [0.01, 0.05], [0.7, 0.8, 0.9, 0.95]
RANGES, SYSTEMS, VARIANCES = np.linspace(0.03, 0.25, sized(25, 2)), [2, 5, 10, 20, 50], np.linspace(0.01, 0.2, 10)


def grid() -> list[np.ndarray]:
    return [axis.ravel() for axis in np.meshgrid(ALPHAS, POWERS, RANGES, SYSTEMS, VARIANCES, indexing="ij")]


def ours() -> None:
    from cranfield.methods.design import Design, Goal, Sd, solve

    alpha, power, min_range, systems, variance = grid()

    def answer() -> None:
        design = Design(systems=systems, test="exact", alpha=alpha, spread=Sd.of_variance(variance))
        solve(design, Goal("min_range", min_range, power))

    answer()
    clock.answer(seconds=clock.median(answer), share=1, remark=f"{len(alpha):,} cells")


def _sample(count: int) -> list[tuple[float, ...]]:
    cells = np.array(grid()).T
    return [tuple(map(float, row)) for row in cells[np.random.default_rng(1).permutation(len(cells))[:count]]]


def _timed(solve: Callable[..., object], count: int) -> None:
    cells = _sample(count)

    def answer() -> None:
        for cell in cells:
            solve(*cell)

    share = count / len(grid()[0])
    clock.answer(seconds=clock.seconds(answer), share=share, remark=f"{count:,} cells")


def statsmodels() -> None:
    import warnings

    from statsmodels.stats.power import FTestAnovaPower

    solver = FTestAnovaPower()

    def solve(alpha: float, power: float, min_range: float, systems: float, variance: float) -> object:
        effect = np.sqrt(min_range**2 / (2 * systems * variance))
        return solver.solve_power(effect_size=effect, alpha=alpha, power=power, k_groups=int(systems))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says when it does not converge
        _timed(solve, sized(1000, 2))


def scipy() -> None:
    from scipy import stats

    def solve(alpha: float, power: float, min_range: float, systems: float, variance: float) -> int:
        def reached(n: int) -> bool:
            above, below = systems - 1, systems * (n - 1)
            critical = stats.f.isf(alpha, above, below)
            return bool(stats.ncf.sf(critical, above, below, n * min_range**2 / (2 * variance)) >= power)

        low, high = 1, 2
        while not reached(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    _timed(solve, sized(200, 2))


if __name__ == "__main__":
    clock.start(globals())
