"""Where the page listens, whom it answers, and how much it takes."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field

from cranfield.errors import RequestError
from cranfield.runtime.memory import jobs_at_a_time, memory_of_job
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
    job_memory: int = field(default_factory=lambda: memory_of_job(available_workers()))

    @property
    def analyses(self) -> int:
        """How many analyses run at a time."""
        return jobs_at_a_time(self.job_memory, self.jobs)

    @property
    def limits(self) -> str:
        """How much work a page does, in words."""
        return (
            f"A calculator may take {self.calculator_seconds:g} s and {self.calculator_memory / 1e6:,.0f} MB of memory,"
            f" an analysis of data {self.job_seconds / 60:g} minutes and {self.job_memory / 1e6:,.0f} MB;"
            f" {self.analyses} of them run at a time; the command has no such limits."
        )

    def __post_init__(self) -> None:
        jobs_at_a_time(self.job_memory, self.jobs)
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
