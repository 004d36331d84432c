"""cranfield serve: where it listens, when it refuses to, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from cranfield.cli.app import main; main()", "serve"]


def run(*arguments: str, code: str = COMMAND[2]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_answers_there_and_leaves_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*COMMAND, "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}size.json?systems=10&min_range=0.1&variance=0.053") as answer:
            assert b'"topics": 167' in answer.read()
        assert len(list(tmp_path.glob("cranfield-*"))) == 1
        served.send_signal(ending)
        _, errors = served.communicate(timeout=600)
    assert list(tmp_path.glob("cranfield-*")) == []
    assert "Traceback" not in errors


def test_what_is_missing_is_named_with_the_way_to_install_it() -> None:
    # A module that is None in sys.modules is one that is not installed.
    answer = run(code="import sys; sys.modules['uvicorn'] = None; from cranfield.cli.app import main; main()")
    assert answer.returncode == 2
    assert "needs uvicorn" in answer.stderr
    assert "pip install 'cranfield[web]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_listening_beyond_this_machine_takes_a_token() -> None:
    answer = run("--host", "0.0.0.0")
    assert answer.returncode == 2
    assert "there is no token" in answer.stderr
    assert "--token new" in answer.stderr
    short = run("--token", "short")
    assert short.returncode == 2
    assert "can be guessed" in short.stderr


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = run("--port", str(taken.getsockname()[1]))
    assert answer.returncode == 2
    assert "cannot be listened on" in answer.stderr
    assert "--port" in answer.stderr


def test_a_new_token_is_in_the_link_that_is_printed() -> None:
    with subprocess.Popen(
        [*COMMAND, "--port", "0", "--token", "new"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        try:
            assert len(address.partition("?token=")[2]) >= 32
            assert urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address).status == 200
        finally:
            served.terminate()
