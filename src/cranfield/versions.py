"""What computed the numbers: the versions that matter, read from what is installed and without loading any of it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import cranfield
from cranfield.errors import PARTS, missing_part

PACKAGES = ("numpy", "scipy", "numba", "vl-convert-python", "polars")


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """cranfield, Python, and those of the packages that are installed."""
    found = {"cranfield": cranfield.__version__, "Python": platform.python_version()}
    return found | {name: there for name in packages if (there := _installed(name)) is not None}


def parts() -> dict[str, str | None]:
    """The optional parts and the version each has here; None where it is not installed."""
    return {f"cranfield[{extra}]": _part(extra) for extra in PARTS}


def version_text() -> str:
    """The versions for people: cranfield's own, what it computes with, and which optional parts are here."""
    own, *others = (f"{name} {number}" for name, number in versions().items())
    there = [name for name, number in parts().items() if number is not None]
    lines = [own, ", ".join(others), f"optional parts: {', '.join(there) or 'none'}"]
    return "\n".join([*lines, *([] if has_compiled_reader() else [SLOW])])


SLOW = "runs are read more slowly than they could be: the reader was not compiled when cranfield was installed"


def has_compiled_reader() -> bool:
    """Whether the quick reader of runs is here; the careful one reads the same, six times slower."""
    return find_spec("cranfield.formats._scan") is not None


def _part(extra: str) -> str | None:
    """The version of the first package of a part, if all are here."""
    return None if missing_part(extra) else _installed(next(iter(PARTS[extra].packages.values())))


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
