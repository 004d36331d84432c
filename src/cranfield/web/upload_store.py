"""Uploads in a folder nobody else may look into, gone when the server is."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FILES, ABOUT, PACKED = "files", "about.json", "collection.cran"


@dataclass(frozen=True)
class Data:
    """One upload. Its key cannot be guessed: whoever has the link has the data."""

    key: str
    folder: Path

    @property
    def files(self) -> Path:
        return self.folder / FILES

    @property
    def is_known(self) -> bool:
        """Whether anything was found out about the files."""
        return (self.folder / ABOUT).exists()

    @cached_property
    def about(self) -> dict[str, Any]:
        """What reading it has found; only when that is done."""
        found: dict[str, Any] = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
        return found


class Store:
    """All uploads of one server."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cranfield-"))  # for its owner alone
        self._data: dict[str, Data] = {}
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def create(self) -> Data:
        data = Data(secrets.token_urlsafe(16), self.folder / secrets.token_hex(16))
        data.files.mkdir(parents=True, mode=0o700)
        return data

    def keep(self, data: Data, size: int) -> None:
        with self._lock:
            self._data[data.key], self._sizes[data.key] = data, size

    def get(self, key: str) -> Data | None:
        return self._data.get(key)

    @property
    def size(self) -> int:
        """Bytes of all uploads, as they were unpacked."""
        with self._lock:
            return sum(self._sizes.values())

    def remove(self, data: Data) -> None:
        with self._lock:
            self._data.pop(data.key, None)
            self._sizes.pop(data.key, None)
        shutil.rmtree(data.folder, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
