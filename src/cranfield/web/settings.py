"""Where the page listens, whom it answers, how much it takes, and how much it answers in a moment."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from cranfield.errors import RequestError
from cranfield.methods.design.request import parse_grid
from cranfield.runtime.memory import most_memory
from cranfield.runtime.threads import available_workers

SHORTEST_TOKEN = 16


def new_token() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes are in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    max_upload: int = 500_000_000
    max_unpacked: int = 2_000_000_000
    max_files: int = 2_000
    max_kept: int = 8_000_000_000  # of all uploads together, unpacked
    idle: float = 30.0  # how long an upload, or who reads an answer, may pause
    head: float = 10.0  # how long the head of a request may take
    jobs: int = field(default_factory=available_workers)
    calculator_seconds: float = 20.0
    calculator_memory: int = 1_000_000_000
    job_seconds: float = 3600.0
    job_memory: int = field(default_factory=most_memory)

    @property
    def limits(self) -> str:
        """How much work a page does, in words."""
        return (
            f"A calculator may take {self.calculator_seconds:g} s and {self.calculator_memory / 1e6:,.0f} MB of memory,"
            f" an analysis of data {self.job_seconds / 60:g} minutes and {self.job_memory / 1e6:,.0f} MB;"
            " the command has no such limits."
        )

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and self.token is None:
            raise RequestError(
                f"{self.host} can be reached from other machines, and there is no token",
                fix="Add --token new (one is made and shown), or leave out --host to stay on this machine.",
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise RequestError(
                f"a token of {len(self.token)} characters can be guessed",
                fix=f"Use {SHORTEST_TOKEN} or more; --token new makes one.",
            )

    def answers_to(self, name: str) -> bool:
        """Whether a Host header names this server.

        A page elsewhere can point a name of its own at this machine (DNS rebinding), but it cannot make the browser
        send another name than that: so names are answered only when they are known to be ours.
        """
        if is_loopback(name) or name.lower() == self.host.lower():
            return True
        return not is_loopback(self.host) and (_is_address(name) or name.lower() == socket.gethostname().lower())


def is_loopback(name: str) -> bool:
    """Whether a name or address means this machine, seen from this machine."""
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


MOST_ROWS = 2_000  # of a grid
REACH = {
    "systems": (2, 1e4),
    "correlation": (1e-6, 1),
    "topics": (2, 1e7),
    "trial_size": (2, 1e5),
    "alpha": (1e-6, 1),
    "power": (1e-6, 1),
}


def parse_numbers(given: Mapping[str, str], *, counts: tuple[str, ...] = ()) -> dict[str, list[float]]:
    """The numbers, as many and as extreme as a page answers in a moment; ``counts`` are whole and may be large."""
    found = {name: parse_grid(text, name=name, most=MOST_ROWS) for name, text in given.items()}
    cells = 1
    for name, values in found.items():
        _check_reach(name, values, REACH.get(name, (0, 1e7) if name in counts else (1e-5, 1e3)))
        cells *= len(values)
    check_cells(cells, MOST_ROWS)
    return found


def check_cells(cells: int, most: int) -> None:
    """Refuse a grid that is too much for a page, before any of it is computed."""
    if cells > most:
        raise RequestError(
            f"the grid has {cells:,} cells", fix=f"A page shows at most {most:,}; the command has no such limit."
        )


def _check_reach(name: str, values: list[float], reach: tuple[float, float]) -> None:
    """Far out, the distributions take minutes; that is for the command, which can be interrupted."""
    low, high = reach
    bad = next((value for value in values if not value <= high or 0 < value < low), None)
    if bad is not None:
        raise RequestError(
            f"`{name}` cannot be {bad:g} on a page",
            fix=f"A page takes {low:g} to {high:,g}; the command has no such limit.",
        )
