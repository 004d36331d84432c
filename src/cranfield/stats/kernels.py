# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The loop that compares rankings in a time that grows little faster than their length."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _count_agreeing(first, last, above, ranks, out_less, out_greater):
    """Of the items strictly above each item of a ranking, how many rank below and above it in another.

    ``above`` has the number of items strictly above each item, best first, and ``ranks`` their places in the other
    ranking, from 1, equal for tied items. A binary indexed tree counts the ranks that have been passed.
    """
    items = above.shape[1]
    for row in range(first, last):
        tree = np.zeros(items + 1, np.int64)
        passed = 0
        for at in range(items):
            while passed < above[row, at]:
                place = ranks[row, passed]
                while place <= items:
                    tree[place] += 1
                    place += place & -place
                passed += 1
            below = 0
            place = ranks[row, at] - 1
            while place > 0:
                below += tree[place]
                place -= place & -place
            up_to = 0
            place = ranks[row, at]
            while place > 0:
                up_to += tree[place]
                place -= place & -place
            out_less[row, at] = below
            out_greater[row, at] = passed - up_to


count_agreeing = Kernel(_count_agreeing)
