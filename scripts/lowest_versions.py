"""Print a constraints file with the lowest version of every dependency that pyproject.toml allows.

    python scripts/lowest_versions.py > lowest.txt
    pip install --constraint lowest.txt '.[all]'

Names of extras choose the dependencies besides those of the core (without names: those that users install).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^\]]*)\])?\s*(?P<versions>[^;]*)(?P<marker>;.*)?")


def lowest_versions(project: dict[str, Any], extras: Sequence[str] = ("all",)) -> list[str]:
    """One line for each dependency of the core and of `extras`: ``name==version``.

    Raises
    ------
    ValueError
        If a dependency has no lower bound, or two different ones.
    """
    bounds: dict[str, str] = {}
    for name, version, marker in _bounds(project, extras):
        line = f"{name}=={version}{marker}"
        if bounds.setdefault(name, line) != line:
            raise ValueError(f"{name} has two lower bounds: {bounds[name]} and {line}")
    return sorted(bounds.values())


def _bounds(project: dict[str, Any], extras: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    for requirement in wanted:
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement} is no requirement")
        if found["name"] == project["name"]:  # cranfield[docs] stands for what `docs` lists
            yield from _bounds({**project, "dependencies": []}, found["extras"].split(","))
            continue
        lower = re.search(r">=\s*([\w.]+)", found["versions"])
        if lower is None:
            raise ValueError(f"{requirement} has no lower bound")
        yield found["name"].lower().replace("_", "-"), lower[1], found["marker"] or ""


if __name__ == "__main__":
    print(*lowest_versions(tomllib.loads(PROJECT.read_text())["project"], sys.argv[1:] or ["all"]), sep="\n")
