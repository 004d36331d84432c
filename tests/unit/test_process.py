"""What the command does to its own process is not seen by a program that imports the library."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from sizes import sized

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


INTERRUPTED = """
import os, signal, sys
module = sys.argv.pop(1)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from cranfield.__main__ import main
main()
"""


LOADED = ("cranfield.cli.app", "typing", "typer", "numpy", "cranfield.questions.size", "scipy.special")


@pytest.mark.skipif(os.name == "nt", reason="a signal ends the process there")
@pytest.mark.parametrize("module", [*LOADED, "cranfield.methods.design.planning", "cranfield.rendering.terminal"])
def test_an_interrupt_while_modules_are_loaded_is_quiet(tmp_path: Path, module: str) -> None:
    line = [sys.executable, "-c", INTERRUPTED, module, "size", "--difference", "0.05", "--sd", "0.15"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr in ("", "stopped\n")


def test_importing_the_package_loads_little_that_an_interrupt_could_break(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import cranfield.__main__; print(*set(sys.modules) - before)"
    command = [sys.executable, "-S", "-c", code]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    assert not {"typing", "contextlib", "re", "numpy"} & set(done.stdout.split())


CACHED = """
import sys
sys.path.insert(0, {folder!r})
from loop import double
from cranfield.runtime.compiled import machine_code
made = machine_code(double)
print(made(21), sum(made.stats.cache_hits.values()), sum(made.stats.cache_misses.values()))
"""


def test_a_damaged_cache_of_machine_code_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("def double(x):\n    return 2 * x\n")
    command = [sys.executable, "-c", CACHED.format(folder=str(tmp_path))]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> str:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert not done.stderr
        return done.stdout.strip()

    assert run() == "42 0 1"
    assert run() == "42 1 0"
    for ending, damage in product(("*.nbi", "*.nbc"), sized((b"",), (b"", bytes(range(256))))):
        files = list((tmp_path / "cache").rglob(ending))
        assert files
        for file in files:
            file.write_bytes(damage)
        assert run() == "42 0 1", (ending, damage)
    assert run() == "42 1 0"


@pytest.mark.parametrize("command", [["size", "--difference", "0.05", "--sd", "0.1"], ["measures"], ["--version"]])
def test_the_command_works_without_assertions_and_docstrings(command: list[str]) -> None:
    plain, stripped = (
        subprocess.run([sys.executable, *flags, "-m", "cranfield", *command], capture_output=True, text=True)
        for flags in ([], ["-OO"])
    )
    assert stripped.returncode == 0, stripped.stderr
    assert stripped.stdout == plain.stdout
