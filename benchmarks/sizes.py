"""How large benchmarks are: full, quick (smaller collections), or smallest, at which tests run through all of them.

The size is in the environment, so that every process that is started has it too.
"""

from __future__ import annotations

import os
from typing import TypeVar

Value = TypeVar("Value")
VARIABLE = "BENCHMARK_SIZE"
FULL, QUICK, SMALLEST = "full", "quick", "smallest"


def size() -> str:
    return os.environ.get(VARIABLE, FULL)


def sized(full: Value, smallest: Value) -> Value:
    """What a benchmark measures with: ``smallest`` where it is only run through."""
    return smallest if size() == SMALLEST else full
