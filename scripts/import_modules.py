"""Import every module of cranfield alone, in an interpreter of its own, with warnings as errors.

    python scripts/import_modules.py

An order of imports that works only after another module, or a warning of a dependency, ends it with exit code 1.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import cranfield


def module_names() -> list[str]:
    """Every module that is imported, and not run: all but ``__main__``."""
    found = pkgutil.walk_packages(cranfield.__path__, "cranfield.")
    return ["cranfield", *(each.name for each in found if not each.name.endswith("__main__"))]


def import_alone(name: str) -> str:
    """What is wrong with importing a module; empty if nothing is."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", f"import {name}"], capture_output=True, text=True)
    return f"{name}\n{done.stderr}" if done.returncode else ""


def main() -> int:
    names = module_names()
    with ThreadPoolExecutor() as pool:
        faults = [fault for fault in pool.map(import_alone, names) if fault]
    print(*faults, f"{len(names) - len(faults)} of {len(names)} modules can be imported alone", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
