"""What tests share: where the real data is, and small collections to try things on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


@contextmanager
def serving(**settings: Any) -> Iterator[str]:
    """The web page on a free port of this machine, as ``cranfield serve`` runs it; gives its address."""
    import uvicorn

    from cranfield.web.app import make_app
    from cranfield.web.serving import listen
    from cranfield.web.settings import Settings

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = make_app(Settings(**{"port": port, **settings}))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def page() -> Iterator[str]:
    """A page everybody may ask."""
    with serving() as address:
        yield address


@pytest.fixture(name="serving")
def serving_with() -> Callable[..., Any]:
    """Start a page of one's own, under settings of one's own."""
    return serving
