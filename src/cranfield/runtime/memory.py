"""How much memory a process may take."""

from __future__ import annotations

import os


def most_memory() -> int:
    """Three quarters of the machine's memory, for one job: a crafted file ends the job, not the machine."""
    try:
        return int(0.75 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return 8_000_000_000


def limit_memory(most: int) -> None:
    """Let this process have no more than ``most`` bytes, where the system can do that."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError):  # not on every system
        return
