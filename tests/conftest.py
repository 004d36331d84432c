"""What tests share: where the real data is, and small collections to try things on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import cranfield

_SHARED = Path(os.environ.get("CRANFIELD_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data and published tables; tests that need it are skipped where it is absent."""
    if not (_SHARED / "data").is_dir():
        pytest.skip(f"there is no real data at {_SHARED}; set CRANFIELD_SHARED to where it is")
    return _SHARED


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example collection."""
    folder = tmp_path_factory.mktemp("example")
    cranfield.write_example(folder, seed=1)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Write a file and give its path."""

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write_file
