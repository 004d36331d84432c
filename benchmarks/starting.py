"""Start-up: what a person waits for before the first answer, beside version 0.1.0 in the same run."""

from __future__ import annotations

import compileall
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import child
from benchmarks.child import LackError
from benchmarks.sizes import SMALLEST, size, sized
from benchmarks.table import Table, at_most, duration, megabytes

ROOT = Path(__file__).parent.parent
FIRST_RELEASE = "3c6f8d0"  # the last commit of 0.1.0
STARTS = ("from cranfield.cli.app import main", "from cranfield.__main__ import main")  # of 0.1.0 and of now
COMMANDS = (("--help",), ("size", "--difference", "0.05", "--sd", "0.15"))
ROUNDS = sized(15, 1)
SLOWER = 1.05  # of 0.1.0; what differs by less cannot be told from a busy machine


def tables() -> list[Table]:
    table = Table("Start-up", ("command", "0.1.0", "now", "ratio", "peak memory", "goal"), (), True)
    with table.attempt("0.1.0", goals=len(COMMANDS)), _first_release() as before:
        for command in COMMANDS:
            with table.attempt(" ".join(("cranfield", *command))):
                _add(table, command, before)
    return [table]


def _add(table: Table, command: tuple[str, ...], before: str) -> None:
    """One row: both versions by turns, the fastest of each."""
    versions = list(zip(STARTS, (before, str(ROOT / "src")), strict=True))
    measured = [
        [
            child.run([sys.executable, "-c", f"{start}; main()", *command], {"PYTHONPATH": home})
            for start, home in versions
        ]
        for _ in range(ROUNDS)
    ]
    old, new = (min(round_[at].seconds for round_ in measured) for at in (0, 1))
    peak = max(round_[1].megabytes for round_ in measured)
    name = " ".join(("cranfield", *command))
    table.add(
        name, duration(old), duration(new), f"{new / old:.2f}", megabytes(peak), at_most(new / old, SLOWER, "x 0.1.0")
    )


@contextmanager
def _first_release() -> Iterator[str]:
    """The sources of 0.1.0, compiled as an installer does."""
    archive = ["git", "-C", str(ROOT), "archive", FIRST_RELEASE, "src"]
    try:
        packed = subprocess.run(archive, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise LackError("0.1.0 is not in the history of this copy") from None
    with TemporaryDirectory(prefix="cranfield-0.1.0-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        if size() != SMALLEST:
            compileall.compile_dir(folder, quiet=2)
        yield str(Path(folder, "src"))
