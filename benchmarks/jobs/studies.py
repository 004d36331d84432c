"""Simulated studies: the iterative plan on 100 pairs × 1,000 repeats, ours and by NumPy; 100,000 paths of each plan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.jobs import clock
from benchmarks.sizes import sized

PAIRS, TOPICS, REPEATS = sized((100, 150, 1000), (2, 50, 4))
PATHS = sized(100_000, 20)
FIRST, MOST, DETECTABLE_WITH = 40, 300, 100
Array = npt.NDArray[np.float64]


def differences() -> Array:
    """Pairs as real ones are: sds from .06 to .2, tails heavier than normal."""
    rng = np.random.default_rng(1)
    return np.clip(rng.uniform(0.04, 0.14, (PAIRS, 1)) * rng.standard_t(5, (PAIRS, TOPICS)), -1, 1)


def limits() -> tuple[Array, Array]:
    """The largest s² that has power, for every pair and number of topics, and t² at .05: all ways are given both."""
    from cranfield.methods.sequential.paths import effect_sizes, t_squares, variance_limits

    sought = differences().std(axis=1) * effect_sizes(DETECTABLE_WITH, 0.05, 0.8)[DETECTABLE_WITH]
    return variance_limits(sought, most=MOST, alpha=0.05, power=0.8), t_squares(0.05, MOST)


def ours() -> None:
    from cranfield.methods.sequential.paths import Population, sd_rule_paths

    population, (table, _) = Population.of(differences()), limits()
    start = np.full(PAIRS, FIRST)

    def answer() -> None:
        sd_rule_paths(population, start, table, step=1, alpha=0.05, repeats=REPEATS)

    answer()
    found = sd_rule_paths(population, start, table, step=1, alpha=0.05, repeats=REPEATS)
    clock.answer(seconds=clock.median(answer), share=1, remark=f"{found.topics.mean():.1f} topics")


def loop() -> None:
    """A topic at a time, with NumPy for the sd: what one would write first."""
    rows, (table, critical), rng = differences(), limits(), np.random.default_rng(1)
    few = 2
    taken: list[float] = []

    def answer() -> None:
        for row, limit in zip(rows, table, strict=True):
            centred = row - row.mean()
            for _ in range(few):
                seen = list(rng.choice(centred, FIRST))
                while len(seen) < MOST and np.var(seen, ddof=1) > limit[len(seen)]:
                    seen.append(rng.choice(centred))
                taken.append(len(seen))
                bool(len(seen) * np.mean(seen) ** 2 >= critical[len(seen)] * np.var(seen, ddof=1))

    clock.answer(seconds=clock.seconds(answer), share=few / REPEATS, remark=f"{np.mean(taken):.1f} topics")


def cumulative() -> None:
    """All paths of a pair at once: cumulative sums of all the topics any of them might need."""
    rows, (table, critical) = differences(), limits()
    n = np.arange(1, MOST + 1)
    taken: list[float] = []

    def answer() -> None:
        rng = np.random.default_rng(1)
        taken.clear()
        for row, limit in zip(rows, table, strict=True):
            x = (row - row.mean())[rng.integers(0, TOPICS, (REPEATS, MOST))]
            sums = np.cumsum(x, axis=1)
            spread = np.cumsum(x * x, axis=1) - sums**2 / n
            enough = spread[:, FIRST - 1 :] <= limit[FIRST:] * (n[FIRST - 1 :] - 1)
            enough[:, -1] = True
            stop = FIRST - 1 + enough.argmax(axis=1)
            at = np.arange(REPEATS)
            variance = spread[at, stop] / stop
            _ = sums[at, stop] ** 2 / (stop + 1) >= critical[stop + 1] * variance
            taken.append(stop.mean() + 1)

    answer()
    clock.answer(seconds=clock.median(answer), share=1, remark=f"{np.mean(taken):.1f} topics")


def paths(plan: str) -> None:
    """100,000 studies of up to 500 topics, for no difference and again for one."""
    from cranfield.methods.sequential import simulate

    row = differences()[0]

    def answer() -> None:
        simulate(row, detectable_with=500, most=500, plans=[plan], repeats=PATHS)

    simulate(row, detectable_with=500, most=500, plans=[plan], repeats=10)
    clock.answer(seconds=clock.seconds(answer), share=1)


if __name__ == "__main__":
    clock.start(globals())
