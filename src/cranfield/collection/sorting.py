# mypy: disable-error-code="no-untyped-def"
"""The loop that sorts document ids. Importing this imports the compiler, so it is done where that is loaded."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import machine_code


@machine_code
def rank_keys(keys, out_codes, out_firsts):
    """Number equal keys alike, in ascending order; ``out_firsts`` is where each was met, and how many comes back.

    A radix sort, 11 bits at a time from the low end; digits that all keys share cost one look.
    """
    count = len(keys)
    here, there = keys.copy(), np.empty_like(keys)
    at, to = np.arange(count).astype(np.int32), np.empty(count, np.int32)
    for shift in range(0, 64, 11):
        low = np.uint64(shift)
        starts = np.zeros(2049, np.int64)
        for place in range(count):
            starts[np.int64((here[place] >> low) & np.uint64(2047)) + 1] += 1
        if starts.max() == count:
            continue
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        for place in range(count):
            own = np.int64((here[place] >> low) & np.uint64(2047))
            there[starts[own]] = here[place]
            to[starts[own]] = at[place]
            starts[own] += 1
        here, there = there, here
        at, to = to, at
    found = 0
    for place in range(count):
        if place == 0 or here[place] != here[place - 1]:
            out_firsts[found] = at[place]
            found += 1
        out_codes[at[place]] = found - 1
    return found
