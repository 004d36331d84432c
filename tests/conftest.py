"""What tests share: where the real data is, and small collections to try things on."""

from __future__ import annotations

import gc
import gzip
import importlib.util
import io
import os
import re
import shlex
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import typer.main
import typer.testing
from hypothesis import settings

import cranfield
from cranfield.scores.evaluation import score_collection
from sizes import examples_of

if TYPE_CHECKING:
    import httpx

# The same examples every time, so that a failure is the change's own; HYPOTHESIS_PROFILE=wandering looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=examples_of(100))
settings.register_profile("wandering", deadline=None, max_examples=examples_of(100))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

gc.disable()  # what is collected stays: looking for rubbish in it, again and again, takes a third of the time


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # pytest-xdist may be absent
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: who waits for a page or for another process leaves a core to the others."""
    return 1 + (os.cpu_count() or 1)


# A test would make all commands with all their options anew at each call.
setattr(typer.testing, "_get_command", cache(typer.main.get_command))  # noqa: B010

PATIENCE = 600
"""Seconds after which something is wrong, however busy the machine is."""

_SHARED = Path(os.environ.get("CRANFIELD_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data and published tables; tests that need it are skipped where it is absent."""
    if not (_SHARED / "data").is_dir():
        pytest.skip(f"there is no real data at {_SHARED}; set CRANFIELD_SHARED to where it is")
    return _SHARED


@pytest.fixture(scope="session")
def kept() -> Path:
    """Published tables and small matrices that the project has itself, laid out as in the folder of real data."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def query_variations(kept: Path) -> list[tuple[str, float]]:
    """Topic and AP of each of 4,611 query variations of 100 topics, by one system."""
    text = gzip.decompress((kept / "data" / "uqv" / "clueweb_ql_map.txt.gz").read_bytes()).decode()
    return [(name.partition("-")[0], float(score)) for name, score in map(str.split, text.splitlines())]


@pytest.fixture(scope="session")
def mteb_results(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of MTEB's own result files, of eight models."""
    folder = tmp_path_factory.mktemp("mteb")
    with tarfile.open(kept / "data" / "mteb" / "results.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder / "results"


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
    from cranfield.web.application import listen, make_app
    from cranfield.web.application import server as server_of
    from cranfield.web.settings import Settings

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = server_of(make_app(Settings(**{"port": port, **settings})))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()


@pytest.fixture(scope="session")
def page() -> Iterator[str]:
    """A page everybody may ask."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session", name="serving")
def serving_with() -> Callable[..., Any]:
    """Start a page of one's own, under settings of one's own."""
    return serving


# --- uploading to it, and waiting for what comes of it

Named = tuple[str, bytes]
Upload = Callable[..., "httpx.Response"]
Wait = Callable[[str], "httpx.Response"]
JSON = {"accept": "application/json"}


@pytest.fixture(scope="session")
def upload() -> Upload:
    """Send files to a page, as a program does."""
    import httpx

    http = httpx.Client(timeout=PATIENCE, limits=httpx.Limits(max_keepalive_connections=0))

    def send(page: str, files: Sequence[Named | Path], **fields: str) -> httpx.Response:
        named = [(each.name, each.read_bytes()) if isinstance(each, Path) else each for each in files]
        return http.post(f"{page}/data", files=[("files", each) for each in named], data=fields, headers=JSON)

    return send


@pytest.fixture(scope="session")
def wait() -> Wait:
    """Ask until there is an answer."""
    import httpx

    http = httpx.Client(timeout=PATIENCE, limits=httpx.Limits(max_keepalive_connections=0))

    def ask(address: str) -> httpx.Response:
        for _ in range(20 * PATIENCE):
            answer = http.get(address)
            if answer.status_code != 202:
                return answer
            time.sleep(0.05)
        raise AssertionError(f"no answer from {address}")

    return ask


@pytest.fixture(scope="session")
def collection(page: str, example: Path, upload: Upload) -> str:
    """The address of the example collection, uploaded."""
    files = [*sorted((example / "runs").iterdir()), example / "qrels.txt", example / "teams.tsv"]
    return page + str(upload(page, files).json()["link"])


@pytest.fixture(scope="session")
def scores(page: str, example: Path, upload: Upload, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of its score table, uploaded."""
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    table = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), ["AP", "nDCG@10"])
    cranfield.write_scores(table, path)
    return page + str(upload(page, [path]).json()["link"])


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command shown on a page prints."""
    from cranfield.cli.app import main

    def run(html: str, *more: str, ends: int = 0) -> str:
        command = re.search(r'<code id="command">(.*?)</code>', html, re.S)
        assert command
        monkeypatch.setattr("sys.argv", [*shlex.split(unescape(command[1])), *more])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        assert (stop.value.code or 0) == ends
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """A script of the project as a module, by its name."""

    def load(name: str) -> ModuleType:
        path = Path(__file__).parents[1] / "scripts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        script = sys.modules[name] = importlib.util.module_from_spec(spec)  # where its dataclasses look
        spec.loader.exec_module(script)
        return script

    return load
