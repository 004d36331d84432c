"""A sample of what scripts/fuzz_readers.py tries: every reader on mutated files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sizes import sized

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz_readers.py"


def test_every_reader_reads_or_refuses_a_sample_of_mutated_files() -> None:
    line = [sys.executable, str(SCRIPT), "--files", sized("1300", "13000"), "--seed", "1"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert done.stdout.rstrip().endswith("no fault")
    assert done.stderr == ""
