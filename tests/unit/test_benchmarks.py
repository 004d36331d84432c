"""Every benchmark runs once at its smallest size, as it is run: a key that a result no longer has is a failure here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS, CALCULATIONS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="benchmarks pin and weigh processes as Linux does")
@pytest.mark.parametrize("name", [*BENCHMARKS, *CALCULATIONS])
def test_a_benchmark_runs_to_its_end(name: str, tmp_path: Path) -> None:
    measured = tmp_path / "measured.json"
    command = [sys.executable, "-m", "benchmarks", "--smallest", "--only", name, "--json", str(measured)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("goals met")
    tables = json.loads(measured.read_text())["tables"]
    assert tables
    assert [failure for table in tables for failure in table["failures"]] == []
