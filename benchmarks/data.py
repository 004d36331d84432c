"""The generated collections on disk, made when they are not there yet."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks import child
from benchmarks.jobs import clock
from benchmarks.shapes import Shape


@dataclass(frozen=True)
class Data:
    """One collection: its runs, judgments and packed form in ``folder``; what tools compile goes to ``caches``."""

    shape: Shape
    folder: Path
    caches: Path

    @property
    def runs(self) -> str:
        return str(self.folder / "runs")

    @property
    def one_run(self) -> str:
        return clock.files(self.runs)[self.shape.runs // 2]

    @property
    def qrels(self) -> str:
        return str(self.folder / "qrels.txt")

    @property
    def packed(self) -> str:
        return str(self.caches / f"{self.shape.name}.cran")

    def __str__(self) -> str:
        size = sum(Path(file).stat().st_size for file in clock.files(self.runs)) / 1e6
        return (
            f"{self.shape.title}: {self.shape.runs} runs × {self.shape.topics:,} topics × {self.shape.depth:,} = "
            f"{self.shape.lines / 1e6:.2f} M lines, {size:.0f} MB of plain text, in the file cache"
        )


def prepare(shape: Shape, home: Path, caches: Path) -> Data:
    """Generate a collection, unless the same code has generated it before."""
    data = Data(shape, home / shape.name, caches)
    mark, made = data.folder / "made", _fingerprint(shape)
    if not mark.exists() or mark.read_text() != made:
        progress(f"generating the {shape.title} collection")
        child.job("generate", shape.name, str(data.folder))
        mark.write_text(made)
    return data


def _fingerprint(shape: Shape) -> str:
    source = (Path(__file__).parent / "jobs" / "generate.py").read_bytes()
    return sha256(source + repr(asdict(shape)).encode()).hexdigest()


def progress(text: str) -> None:
    """Say on standard error what is being done."""
    print(f"… {text}", file=sys.stderr, flush=True)
