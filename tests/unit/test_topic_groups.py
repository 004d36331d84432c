"""Random sets of very many topics are drawn as groups of them: as large as asked for, disjoint, and as random."""

from __future__ import annotations

import numpy as np

from cranfield.methods.reliability.topic_samples import grouped_sums, tasks
from cranfield.runtime.random import sequence
from sizes import sized

SIZES = np.array([350, 123, 200])


def test_sets_have_their_sizes_and_no_topic_twice() -> None:
    ones = np.ones((1000, 1))
    bits = np.eye(1000)
    for task in tasks(sequence(1), 20):
        np.testing.assert_array_equal(grouped_sums(ones, SIZES, task)[:, :, 0], np.tile(SIZES, (20, 1)))
        assert grouped_sums(bits, SIZES, task).sum(axis=1).max() == 1


def test_means_of_sets_vary_as_those_of_topics_drawn_one_by_one() -> None:
    values = np.random.default_rng(3).exponential(size=(1000, 1))
    trials = sized(4000, 40_000)
    drawn = np.concatenate([grouped_sums(values, SIZES, task) for task in tasks(sequence(2), trials)])[:, :, 0] / SIZES
    variance = values.var(ddof=1) * (1 / SIZES - 1 / 1000)  # of a sample without replacement
    np.testing.assert_allclose(drawn.mean(axis=0), values.mean(), atol=4 * np.sqrt(variance.max() / (trials / 20)))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=sized(0.15, 0.05))
