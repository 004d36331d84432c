"""Files as bytes: gzip within limits, devices, permissions; and text that cannot act on a terminal."""

from __future__ import annotations

import gzip
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.errors import InputError, RequestError, speak, visible
from cranfield.formats.text import MOST_UNZIPPED, read_bytes, write_text

COMMAND = [sys.executable, "-m", "cranfield"]
CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x202E, 0x2066)]


def put(folder: Path, data: bytes) -> Path:
    path = folder / "any.gz"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("contents", [[b""], [b"a"], [b"a" * 300_000], [b"one", b"", b"two"], [b"x"] * 2000])
@pytest.mark.parametrize("between", [b"", b"\0" * 700])
def test_members_of_a_gzip_file_are_joined(tmp_path: Path, contents: list[bytes], between: bytes) -> None:
    data = b"".join(gzip.compress(content) + between for content in contents)
    assert read_bytes(put(tmp_path, data)) == b"".join(contents) == gzip.decompress(data)


def test_a_gzip_file_that_is_cut_short_or_damaged_is_refused(tmp_path: Path) -> None:
    data = gzip.compress(os.urandom(100_000))
    for size in (3, 10, 11, 70_000, len(data) - 1):
        with pytest.raises(InputError, match="cut short"):
            read_bytes(put(tmp_path, data[:size]))
    for damaged in (data + b"more", data[:-6] + b"\0\0" + data[-4:], data[:500] + b"\xff\xff" + data[502:]):
        with pytest.raises(InputError, match=r"damaged|cut short"):
            read_bytes(put(tmp_path, damaged))


def test_what_unzips_to_too_much_is_refused_before_it_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path, gzip.compress(b"\0" * 3_000_000) * 3)
    monkeypatch.setenv(MOST_UNZIPPED, "0.008")
    with pytest.raises(InputError, match=rf"more than 0.008 GB\n.*set {MOST_UNZIPPED}"):
        read_bytes(path)
    monkeypatch.setenv(MOST_UNZIPPED, "0.009")
    assert len(read_bytes(path)) == 9_000_000
    for wrong in ("", "many", "-1", "nan", "inf"):
        monkeypatch.setenv(MOST_UNZIPPED, wrong)
        with pytest.raises(RequestError, match="a number of gigabytes"):
            read_bytes(path)


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no such device")
def test_a_device_is_not_read() -> None:
    with pytest.raises(InputError, match="this is a device, not a file"):
        read_bytes("/dev/zero")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"printf abc > '{tmp_path / 'pipe'}'"]):
        assert read_bytes(tmp_path / "pipe") == b"abc"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_written_over_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("control", CONTROLS)
def test_controls_are_shown_as_escapes(control: str) -> None:
    for shown in (visible(f"a{control}b"), speak(f"a{control}b", "command")):
        assert shown.startswith("a\\")
        assert shown.isprintable()


def test_other_marks_stay_as_they_are() -> None:
    assert visible("naïve Grüße – 検索 «x» 👍\xa0") == "naïve Grüße – 検索 «x» 👍\xa0"


@pytest.mark.parametrize("flags", [[], ["--csv"], ["--md"], ["--latex"], ["--json"]])
def test_a_name_cannot_act_on_a_terminal(tmp_path: Path, flags: list[str]) -> None:
    """In a real terminal, with what it is told in every format, on both streams."""
    name = "a\x1b]0;pwned\x07\x9b31m"
    rows = "".join(f"{at},{system},0.{at}{len(system)}\n" for at in range(1, 6) for system in (name, "b"))
    (tmp_path / "scores.csv").write_text(f"topic,system,score\n{rows}", encoding="utf-8")
    said = in_terminal([*COMMAND, "compare", str(tmp_path / "scores.csv"), *flags])
    assert b"pwned" in said
    assert not any(mark in said for mark in (b"\x1b]", b"\x07", b"\xc2\x9b"))


def test_an_error_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    said = in_terminal([*COMMAND, "compare", str(tmp_path / "no\x1b]0;pwned\x07")])
    assert b"pwned" in said
    assert b"\x1b]" not in said


def in_terminal(command: list[str]) -> bytes:
    """What a command writes when both of its streams are a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # nobody is left on the other side
            break
        if not part:
            break
        said += part
    process.wait(600)
    os.close(ours)
    return said
