"""The commands and programs that a page shows, and what they do when they are run from top to bottom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(sh|python)\n(.*?)^```", re.S | re.M)
PICTURES = ".svg"


@dataclass(frozen=True)
class Block:
    """What stands in one fence."""

    language: str
    text: str

    @property
    def makes_environments(self) -> bool:
        """``make test`` and its like set up environments of their own, and are not run within another."""
        return self.language == "sh" and self.text.startswith("make ")

    def commands(self) -> list[str]:
        """The lines of a block that does nothing but call the command; none of any other block."""
        lines = self.text.replace("\\\n", "").strip().splitlines()
        return lines if self.language == "sh" and all(line.startswith("cranfield ") for line in lines) else []


@dataclass(frozen=True)
class Outcome:
    """What a block printed, and the pictures it drew."""

    block: Block
    code: int
    printed: str
    pictures: tuple[Path, ...]


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page that can be run, in its order."""
    return [Block(language, body) for language, body in FENCE.findall(text)]


def run_blocks(text: str, folder: Path, *, echo: bool = False) -> Iterator[Outcome]:
    """Run a page in ``folder``, block after block; ``echo`` puts each of several commands above what it prints."""
    for block in blocks_of(text):
        if not block.makes_environments:
            yield run_block(block, folder, echo=echo)


def run_block(block: Block, folder: Path, *, echo: bool = False) -> Outcome:
    """Run one block in ``folder``."""
    before = _pictures(folder)
    done = subprocess.run(
        _command(block, echo=echo),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    new = [path for path, changed in _pictures(folder).items() if before.get(path) != changed]
    return Outcome(block, done.returncode, done.stdout, tuple(sorted(new, key=lambda path: block.text.find(path.name))))


def _command(block: Block, *, echo: bool) -> list[str]:
    if block.language == "python":
        return [sys.executable, "-c", block.text]
    commands = block.commands()
    if echo and len(commands) > 1:
        return ["sh", "-ec", "\n".join(f"printf '%s\\n' {_quoted('$ ' + line)}\n{line}" for line in commands)]
    return ["sh", "-ec", block.text]


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"


def _pictures(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob(f"*{PICTURES}")}


def environment() -> dict[str, str]:
    """The command of the Python that runs this comes first, and text is UTF-8."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
