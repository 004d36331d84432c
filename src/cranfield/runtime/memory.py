"""How much memory a process may take."""

from __future__ import annotations

import math
import os

from cranfield.errors import RequestError

USUAL_JOB = 2_000_000_000  # bytes


def memory_size() -> float:
    """Bytes of memory that this machine has; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return math.inf


def most_memory() -> int:
    """Three quarters of the machine's memory, for all jobs: a crafted file ends its job, not the machine."""
    size = memory_size()
    return 8_000_000_000 if size == math.inf else int(0.75 * size)


def memory_of_job(workers: int) -> int:
    """What one job may take where as many run as there are workers; with little memory, fewer run at a time."""
    return max(most_memory() // workers, min(most_memory(), USUAL_JOB))


def jobs_at_a_time(memory: int, workers: int) -> int:
    """How many jobs with this memory run at a time, at most one per worker: they fit into the machine's together."""
    if memory > memory_size():
        raise RequestError(
            f"this machine has {memory_size() / 1e6:,.0f} MB of memory, and a job cannot have {memory / 1e6:,.0f} MB",
            fix=f"Give a `max_memory` of at most {most_memory() // 1_000_000} (MB), or leave it out.",
        )
    return max(1, min(workers, most_memory() // memory))


def limit_memory(most: int) -> None:
    """Let this process have no more than ``most`` bytes, where the system can do that."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError):  # not on every system
        return
