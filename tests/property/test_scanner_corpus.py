"""The compiled scanner on inputs that reach all of its code, which scripts/fuzz_scanner.py found, and on new ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("cranfield.formats._scan", reason="the reader was not compiled")


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("fuzz_scanner")


def test_what_the_scanner_makes_of_the_kept_inputs_is_what_the_careful_reader_makes_of_them(script: ModuleType) -> None:
    for data in [*script.seeds(), *script.kept_inputs()]:
        script.try_input(memoryview(data))


def test_every_entry_point_of_the_scanner_has_kept_inputs(script: ModuleType) -> None:
    reached = {data[0] % len(script.ENTRIES) for data in script.kept_inputs() if len(data) > 3}
    assert reached == set(range(len(script.ENTRIES)))


def test_the_summary_of_a_run_names_its_fault(script: ModuleType) -> None:
    log = "#9 NEW cov: 5 ft: 7 corp: 3/20b\nAssertionError\nstat::number_of_executed_units: 1234\n"
    assert script.summary(log).splitlines() == [
        "executions: 1,234",
        "edges: 5, features: 7, corpus: 3 inputs (20b)",
        "AssertionError",
    ]


def test_without_clang_it_is_said_how_to_get_it(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script.shutil, "which", lambda _: None)
    assert "apt-get install clang libclang-rt-dev" in script.NEEDED.format(script.what_is_missing(tmp_path))


@pytest.mark.proof
def test_a_minute_of_fuzzing_finds_no_fault(script: ModuleType, tmp_path: Path) -> None:
    missing = script.what_is_missing(tmp_path)
    if missing:
        pytest.skip(script.NEEDED.format(missing))
    command = [sys.executable, str(script.__file__), "--seconds", "60", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "no fault"), done.stdout + done.stderr
