"""Comments at the head of a run file, and the metadata of the run that ir_metadata writes there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cranfield.formats.text import BOM

START, END = "ir_metadata.start", "ir_metadata.end"
DEEPEST = 20  # levels of indentation that are read
COMMENTS = "comments"

_ENTRY = re.compile(r"(?P<key>[^:#\-\s][^:]*):(?:\s+(?P<value>.*))?$")


def head_metadata(data: bytes) -> dict[str, Any]:
    """What the comment lines before the first line of data say, by key; other lines as text under ``comments``.

    >>> head_metadata(b"# ir_metadata.start\\n# tag: bm25\\n# platform:\\n#   os: Linux\\n# ir_metadata.end\\n")
    {'tag': 'bm25', 'platform': {'os': 'Linux'}}
    """
    lines = _head(data)
    texts = [line.strip() for line in lines]
    if START not in texts:
        return {COMMENTS: texts} if texts else {}
    first = texts.index(START)
    last = texts.index(END) if END in texts[first:] else len(texts)
    reader = _Reader(
        [(len(line) - len(line.lstrip()), line.strip()) for line in lines[first + 1 : last] if line.strip()]
    )
    found = reader.entries(0)
    others = [*texts[:first], *reader.odd, *texts[last + 1 :]]
    return {**found, **({COMMENTS: others} if others else {})}


def _head(data: bytes) -> list[str]:
    """The comment lines before the first line of data, without their mark."""
    found = []
    for raw in data.removeprefix(BOM).split(b"\n"):
        line = raw.strip()
        if line and not line.startswith(b"#"):
            break
        if line:
            found.append(line[1:].decode("utf-8", "replace").expandtabs())
    return found


class _Reader:
    """Reads «key: value», nested by indentation, and lists; what is neither goes to ``odd``."""

    def __init__(self, lines: Sequence[tuple[int, str]]) -> None:
        self._lines, self._at = list(lines), 0
        self.odd: list[str] = []

    def entries(self, depth: int) -> dict[str, Any]:
        """The entries from here on that are indented as the first of them."""
        found: dict[str, Any] = {}
        indent = self._lines[self._at][0] if self._at < len(self._lines) else 0
        while self._at < len(self._lines) and self._lines[self._at][0] >= indent:
            inner, text = self._lines[self._at]
            self._at += 1
            entry = _ENTRY.match(text)
            if inner > indent or entry is None or entry["key"].strip() in found:
                self.odd.append(text)
            else:
                found[entry["key"].strip()] = _plain(entry["value"]) or self._below(indent, depth)
        if depth == 0:
            self.odd += [text for _, text in self._lines[self._at :]]
        return found

    def _below(self, indent: int, depth: int) -> Any:
        """What is indented below an entry: entries, a list, or nothing."""
        if self._at == len(self._lines) or depth == DEEPEST:
            return ""
        inner, text = self._lines[self._at]
        if text.startswith("- ") and inner >= indent:
            return self._items(inner, depth)
        return self.entries(depth + 1) if inner > indent else ""

    def _items(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while self._at < len(self._lines) and self._lines[self._at][0] == indent:
            text = self._lines[self._at][1]
            if not text.startswith("- "):
                break
            item = text[2:].strip()
            if _ENTRY.match(item) and depth < DEEPEST:  # an item of several entries, the first behind the dash
                self._lines[self._at] = (indent + len(text) - len(item), item)
                found.append(self.entries(depth + 1))
            else:
                self._at += 1
                found.append(_plain(item))
        return found


def _plain(value: str | None) -> str:
    """A value as text, without quotes around it."""
    text = (value or "").strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
