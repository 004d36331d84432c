# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The loop that computes the mean squares of a topic × system table and of its first topics."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _nested_squares(first, last, systems, scores, order, sizes, out_squares):
    """Mean squares of tables that each have the first few topics of ``order``; ``sizes`` ascend.

    ``scores`` is topics × systems, flat. Table ``at`` gets V_A, V_B, V_E1 and V_E2 in ``out_squares[4 · at]`` and on,
    nan where there are too few topics or systems; ``first`` is 0, for every table has all before it in it.
    """
    total = 0.0
    for at in range(sizes[last - 1] if last > 0 else 0):
        for system in range(systems):
            total += scores[order[at] * systems + system]
    centre = total / max(sizes[last - 1] * systems, 1)  # for the precision of what follows; no sum of squares changes
    sums = np.zeros(systems)
    squared = 0.0
    by_topic = 0.0
    done = 0
    for table in range(first, last):
        n = sizes[table]
        while done < n:
            row = 0.0
            for system in range(systems):
                x = scores[order[done] * systems + system] - centre
                sums[system] += x
                squared += x * x
                row += x
            by_topic += (row / systems) ** 2
            done += 1
        for part in range(4):
            out_squares[4 * table + part] = np.nan
        if n < 2:
            continue
        grand = 0.0
        for system in range(systems):
            grand += sums[system]
        grand /= systems * n
        s_a = 0.0
        for system in range(systems):
            s_a += (sums[system] / n - grand) ** 2
        s_a *= n  # S14 Eq. 2
        s_b = systems * (by_topic - n * grand**2)  # S14 Eq. 5
        s_e1 = squared - systems * n * grand**2 - s_a
        out_squares[4 * table + 1] = s_b / (n - 1)  # S14 Eq. 6
        out_squares[4 * table + 2] = s_e1 / (systems * (n - 1))  # SS16 Eq. 1
        if systems > 1:
            out_squares[4 * table] = s_a / (systems - 1)  # S14 Eq. 3
            out_squares[4 * table + 3] = (s_e1 - s_b) / ((systems - 1) * (n - 1))


def _every_squares(first, last, systems, scores, order, sizes, out_squares):
    """Mean squares of several tables of the same topics and systems, one row per table."""
    for at in range(first, last):
        _nested_squares(0, len(sizes), systems, scores[at], order, sizes, out_squares[at])


nested_squares = Kernel(_nested_squares)
every_squares = Kernel(_every_squares, uses=(nested_squares,))
