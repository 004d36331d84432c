"""Comparisons of 129 systems on 50 topics: ours, and the same by other means, on a share of long work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.jobs import clock
from benchmarks.sizes import sized

TOPICS, SYSTEMS, PERMUTATIONS = sized((50, 129, 10_000), (6, 14, 100))
Array = npt.NDArray[np.float64]


def scores(systems: int = SYSTEMS) -> Array:
    rng = np.random.default_rng(1)
    quality = rng.normal(0.25, 0.06, systems)
    return np.clip(rng.normal(0, 0.15, (TOPICS, 1)) + quality + rng.normal(0, 0.1, (TOPICS, systems)), 0, 1)


def tukey_ours() -> None:
    from cranfield.methods.sharding import anova, decompose, model_error, tukey
    from cranfield.stats import studentized

    found = decompose(scores())
    error = model_error(anova(found, "MD1"))

    def answer() -> None:
        studentized._range_table.cache_clear()  # every time as if for the first time
        studentized._tail_table.cache_clear()
        tukey(found.system_means, error).p_value.sum()

    answer()
    clock.answer(seconds=clock.median(answer), share=1)


def tukey_scipy() -> None:
    from scipy import stats

    few = sized(12, 3)  # 66 of the 8,256 pairs; its time grows with the pairs
    groups = list(scores()[:, :few].T)
    clock.answer(
        seconds=clock.seconds(lambda: stats.tukey_hsd(*groups).pvalue), share=few * (few - 1) / SYSTEMS / (SYSTEMS - 1)
    )


def tukey_psturng() -> None:
    from statsmodels.stats.libqsturng import psturng

    q = np.linspace(0.5, 12, sized(500, 5))
    df = (SYSTEMS - 1) * (TOPICS - 1)
    clock.answer(seconds=clock.seconds(lambda: psturng(q, SYSTEMS, df)), share=len(q) / 8256)


MD6_SHAPE = sized((50, 50, 10), (4, 3, 3))  # the most that statsmodels' route has memory for


def md6_ours(*shape: str) -> None:
    from cranfield.methods.sharding import anova, decompose

    table = np.random.default_rng(1).random(tuple(map(int, shape)) or MD6_SHAPE)

    def answer() -> None:
        anova(decompose(table), "MD6")

    answer()
    clock.answer(seconds=clock.median(answer), share=1)


def md6_statsmodels() -> None:
    """The usual way: a formula, a design matrix with a column for every combination, least squares."""
    import pandas
    import statsmodels.formula.api as formula
    from statsmodels.stats.anova import anova_lm

    index = pandas.MultiIndex.from_product([range(size) for size in MD6_SHAPE], names=["t", "s", "k"])
    values = np.random.default_rng(1).random(MD6_SHAPE).ravel()
    frame = pandas.DataFrame({"y": values}, index=index).reset_index()
    model = "y ~ C(t) + C(s) + C(k) + C(t):C(s) + C(s):C(k) + C(t):C(k)"
    clock.answer(seconds=clock.seconds(lambda: anova_lm(formula.ols(model, frame).fit())), share=1)


def tukey_permutation_ours() -> None:
    from cranfield import ScoreTable
    from cranfield.methods.contrasts import compare

    values = scores()[np.newaxis, :, :, np.newaxis]
    table = ScoreTable(("x",), tuple(map(str, range(TOPICS))), tuple(map(str, range(SYSTEMS))), values)

    def answer() -> None:
        compare(table, test="tukey-permutation", resamples=PERMUTATIONS)

    answer()
    clock.answer(seconds=clock.median(answer), share=1)


def _ranges(permute: Callable[[np.random.Generator, Array], Array], count: int) -> None:
    rng, table = np.random.default_rng(1), scores()

    def answer() -> None:
        for _ in range(count):
            means = permute(rng, table).mean(axis=0)
            means.max() - means.min()

    clock.answer(seconds=clock.seconds(answer), share=count / PERMUTATIONS)


def tukey_permutation_permuted() -> None:
    _ranges(lambda rng, table: rng.permuted(table, axis=1), PERMUTATIONS // 10)


def tukey_permutation_naive() -> None:
    _ranges(lambda rng, table: np.array([rng.permutation(row) for row in table]), PERMUTATIONS // 10)


if __name__ == "__main__":
    clock.start(globals())
