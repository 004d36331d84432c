"""Names in the order people expect."""

from __future__ import annotations


def natural_key(name: str) -> tuple[int, int, str, str]:
    """A key that sorts numbers by value, however long they are, then everything else by its text.

    >>> sorted(["q2", "10", "9", "q10"], key=natural_key)
    ['9', '10', 'q10', 'q2']
    """
    if not (name.isascii() and name.isdigit()):
        return 1, 0, "", name
    digits = name.lstrip("0")
    return 0, len(digits), digits, name
