"""Simulation and verification on a full disk, without a place to write, and stopped half way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cranfield
from cranfield.scores.evaluation import score_collection

COMMAND = [sys.executable, "-c", "from cranfield.cli.app import main; main()"]


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    cranfield.write_scores(
        score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP"), path
    )
    return str(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("flag", ["-o", "--plot"])
def test_a_full_disk_is_an_error_that_names_the_file(scores: str, tmp_path: Path, flag: str) -> None:
    full = tmp_path / ("new.csv" if flag == "-o" else "fit.svg")
    full.symlink_to("/dev/full")
    done = subprocess.run([*COMMAND, "simulate", scores, flag, str(full)], capture_output=True, text=True)
    assert done.returncode == 2
    assert full.name in done.stderr
    assert "Traceback" not in done.stderr


def test_what_stood_there_stays_when_nothing_can_be_drawn(scores: str, tmp_path: Path) -> None:
    out = tmp_path / "new.csv"
    out.write_text("mine")
    done = subprocess.run([*COMMAND, "simulate", scores, "--means", "nobody=0.5", "-o", str(out)], capture_output=True)
    assert done.returncode == 2
    assert out.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_verification_stopped_half_way_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    chart = tmp_path / "power.svg"
    design = ["--systems", "40", "--min-range", "0.05", "--variance", "0.05", "--tolerance", "0.0001"]
    process = subprocess.Popen(
        [*COMMAND, "verify", *design, "--collections", "100000", "--plot", str(chart)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert out == ""
    assert not chart.exists()
