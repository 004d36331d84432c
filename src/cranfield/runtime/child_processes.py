"""Processes that work for a server: they end with it, however it ends, and with all that they have started."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import Any

from cranfield.runtime.memory import limit_memory


def settle_child(memory: int) -> None:
    """What such a process does first: it obeys the server alone, ends with it, and takes no more than its memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which ends its work itself
    if hasattr(os, "setsid"):
        os.setsid()  # so that whatever it starts ends with it
    threading.Thread(target=_end_with_server, daemon=True).start()
    limit_memory(memory)


def _end_with_server() -> None:
    """Wait until the server is gone, however it went, and go too."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os.killpg(0, signal.SIGKILL) if hasattr(os, "killpg") else os._exit(1)


def end_child(process: Any) -> None:
    """End a process and those it has started, such as the browser that prints."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # it has not come so far as to lead a group, or groups are unknown here
        process.kill()
