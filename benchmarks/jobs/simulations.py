"""Collections of 100 topics × 50 systems drawn and put through blocked Tukey: ours, and a loop over collections."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.jobs import clock
from benchmarks.sizes import sized

COLLECTIONS, TOPICS, SYSTEMS = sized((10_000, 100, 50), (250, 8, 4))
Array = npt.NDArray[np.float64]


def pilot_scores() -> Array:
    """Fifty topics of sixty systems, of which fifty are drawn for every collection."""
    rng = np.random.default_rng(1)
    latent = rng.normal(size=(50, 1)) + 0.6 * rng.normal(size=(50, 60)) - 1.2
    return np.asarray(1 / (1 + np.exp(-latent)))


def _task() -> tuple[Any, float]:
    """What ``verify`` does for every batch, and how long fitting the margins and the dependence took."""
    from cranfield import ScoreTable
    from cranfield.methods.verification import PlannedDesign
    from cranfield.methods.verification.batch_tests import make_test
    from cranfield.methods.verification.monte_carlo import BatchTask, make_world, run_batch
    from cranfield.methods.verification.populations import PilotWorld

    scores = pilot_scores()
    table = ScoreTable(
        ("AP",), tuple(map(str, range(len(scores)))), tuple(f"s{at}" for at in range(60)), scores[None, :, :, None]
    )
    design = PlannedDesign(source="size", test="tukey", systems=SYSTEMS, topics=TOPICS, difference=0.05)
    began = perf_counter()
    world, _ = make_world(design, table, margins="auto", dependence="gaussian", seed=1)
    fitting = perf_counter() - began
    assert isinstance(world, PilotWorld)
    test = make_test("tukey", alpha=0.05, systems=SYSTEMS)
    task = BatchTask(world, test, (TOPICS,), 1)
    run_batch(task, 0)  # compiled from here on
    return task, fitting


def ours() -> None:
    """The whole as ``verify`` does it."""
    from cranfield.methods.verification.monte_carlo import BATCH, run_batch
    from cranfield.runtime.threads import spread

    batch = partial(run_batch, _task()[0])
    clock.answer(seconds=clock.seconds(lambda: spread(batch, range(COLLECTIONS // BATCH))), share=1)


def parts() -> None:
    """One batch part by part on one thread."""
    from cranfield.methods.verification.monte_carlo import BATCH

    task, fitting = _task()
    world, test = task.world, task.test
    rng = np.random.default_rng(1)
    cast = world.cast(rng, BATCH)
    columns = world.players[cast]
    steps, step = 4, TOPICS // 4
    normals = clock.median(lambda: rng.standard_normal((step, BATCH, SYSTEMS)))
    joined = clock.median(lambda: world._joined(rng, columns, step))
    drawn = clock.median(lambda: world.scores(rng, cast, step))
    differing, _ = world.scores(rng, cast, step)
    tally = test.tally()
    added = clock.median(lambda: tally.add(differing))
    decided = clock.median(lambda: test.decide(tally))
    seconds = {
        "normals": steps * normals,
        "dependence": steps * (joined - normals),
        "margins, two truths": steps * (drawn - joined),
        "sums of squares, two truths": 2 * steps * added,
        "Tukey's test, two truths": 2 * decided,
    }
    clock.answer(fitting=fitting, parts=seconds, batch=BATCH)


def loop() -> None:
    """A collection at a time: scipy's multivariate normal and beta quantiles, one truth, NumPy's two-way residual."""
    from scipy import stats

    scores = pilot_scores()[:, :SYSTEMS]
    mean, variance = scores.mean(axis=0), scores.var(axis=0, ddof=1)
    total = mean * (1 - mean) / variance - 1
    margins = stats.beta(mean * total, (1 - mean) * total)
    correlation = np.corrcoef(scores.T)
    rng, few = np.random.default_rng(1), sized(20, 2)
    critical = stats.studentized_range.isf(0.05, SYSTEMS, (SYSTEMS - 1) * (TOPICS - 1))

    found = []

    def answer() -> None:
        for _ in range(few):
            z = rng.multivariate_normal(np.zeros(SYSTEMS), correlation, size=TOPICS, check_valid="ignore")
            drawn = margins.ppf(stats.norm.cdf(z))
            rest = drawn - drawn.mean(axis=0) - drawn.mean(axis=1, keepdims=True) + drawn.mean()
            error = (rest**2).sum() / ((SYSTEMS - 1) * (TOPICS - 1))
            found.append(np.ptp(drawn.mean(axis=0)) >= critical * np.sqrt(error / TOPICS))

    clock.answer(seconds=clock.seconds(answer), share=few / COLLECTIONS)


if __name__ == "__main__":
    clock.start(globals())
