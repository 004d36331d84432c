"""Where the page listens, whom it answers, and how much it takes."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field

from cranfield.errors import RequestError
from cranfield.runtime.threads import available_workers

SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """Sizes are in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    max_upload: int = 500_000_000
    max_unpacked: int = 2_000_000_000
    max_files: int = 2_000
    max_kept: int = 8_000_000_000  # of all uploads together, unpacked
    idle: float = 30.0  # how long an upload may pause
    jobs: int = field(default_factory=available_workers)

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
