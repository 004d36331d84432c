"""What the command does to its own process is not seen by a program that imports the library."""

import subprocess
import sys
from pathlib import Path

LIBRARY = """
import gc, sys, threading
before = gc.get_threshold()
import cranfield as cf
import cranfield.cli.app
from cranfield.cli.app import make_app
make_app()
from cranfield.runtime import compiled
compiled.machine_code(lambda x: x)
import scipy.linalg
assert gc.get_threshold() == before
assert sys.modules["scipy.linalg"] is scipy.linalg
assert gc.get_freeze_count() == 0
print("unchanged")
"""
COMMAND = """
import sys
from cranfield.runtime import compiled, threads
threads.is_command = True
compiled.machine_code(lambda x: x)
assert "scipy.linalg" not in sys.modules  # kept out, and no stand-in is left behind
import scipy.linalg
print(float(scipy.linalg.det([[2.0, 0.0], [0.0, 3.0]])))
"""


def run(code: str, folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_importing_the_library_changes_nothing_of_the_process(tmp_path: Path) -> None:
    assert run(LIBRARY, tmp_path) == "unchanged\n"


def test_what_the_command_keeps_out_can_be_imported_afterwards(tmp_path: Path) -> None:
    assert run(COMMAND, tmp_path) == "6.0\n"


def test_python_m_is_the_command(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "cranfield", "size", "--difference", "0.05", "--sd", "0.15", "--csv"]
    shown = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[0].startswith("method")
    assert "73" in shown
