"""Run a call through a public entrance, and give its answer or its error."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app

from .call import Call
from .condense import NOT_FROZEN, Answer, condense


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Names of files are relative to the folder, so that no answer depends on where it is."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run(call: Call, folder: Path) -> Answer:
    """What the record has of a call."""
    with working_in(folder):
        for path in [*Path().glob("*.study"), *Path().glob("out.*")]:
            path.unlink()
        for line in call.before:
            _check_ran(line, _command(line))
        answer = _expression(call.text) if call.is_python else _command(call.text)
    kept = {key: value for key, value in condense(answer).items() if call.is_recorded(key)}
    return {key: NOT_FROZEN if call.is_known_wrong(key) else value for key, value in kept.items()}


def _check_ran(line: str, answer: dict[str, Any]) -> None:
    if "error" in answer:
        raise AssertionError(f"{line}: {answer['error']} at {answer['where']}")


def _command(line: str) -> dict[str, Any]:
    ran = CliRunner().invoke(app, [*shlex.split(line, comments=True), "--json"], standalone_mode=False)
    if ran.exception is not None:
        return _error(ran.exception)
    return {"exit": ran.return_value or 0, **json.loads(ran.stdout)}


def _expression(text: str) -> dict[str, Any]:
    try:
        value = eval(text, {"cf": cf})
    except cf.CranfieldError as error:
        return _error(error)
    return value if isinstance(value, dict) else {"value": value}


def _error(error: BaseException) -> dict[str, Any]:
    """The class of an error, its exit code and its place; nothing that it says."""
    if not isinstance(error, cf.CranfieldError) and not hasattr(error, "exit_code"):
        raise error
    parameter = getattr(error, "parameter", None) or getattr(getattr(error, "param", None), "name", None)
    named = parameter or getattr(error, "option_name", None)
    return {
        "error": type(error).__name__,
        "exit": getattr(error, "exit_code", 2),
        "where": getattr(error, "where", None),
        "parameter": named,
    }
