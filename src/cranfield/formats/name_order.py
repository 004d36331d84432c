"""Names: in the order people expect, and of systems from their files."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any


def natural_key(name: str) -> tuple[int, int, str, str]:
    """A key that sorts numbers by value, however long they are, then everything else by its text.

    >>> sorted(["q2", "10", "9", "q10"], key=natural_key)
    ['9', '10', 'q10', 'q2']
    """
    if not (name.isascii() and name.isdigit()):
        return 1, 0, "", name
    digits = name.lstrip("0")
    return 0, len(digits), digits, name


def is_ascending(names: Sequence[Any]) -> bool:
    """Whether each is above the one before, so that they are sorted and all different."""
    return all(map(operator.lt, names, islice(names, 1, None)))


def file_stem(file: str) -> str:
    """A system's name from its file's: without folder, TREC's ``input.`` and the usual endings.

    >>> file_stem("runs/input.ok8alx.gz")
    'ok8alx'
    """
    name = Path(file).name.removesuffix(".gz").removeprefix("input.")
    for ending in (".txt", ".run", ".trec", ".res", ".out", ".tsv"):
        name = name.removesuffix(ending)
    return name or Path(file).name


def file_name(name: str) -> str:
    """A name that a file may have: what parts folders is written as in addresses, so that no two names become one.

    >>> file_name("without-R/D.txt")
    'without-R%2FD.txt'
    """
    for mark in "%/\\\x00":
        name = name.replace(mark, f"%{ord(mark):02X}")
    return name
