"""``cranfield``: the command, its subcommands and its errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from cranfield.cli.command_maker import Command, Commands, make_command
from cranfield.cli.streams import settle_streams
from cranfield.errors import CranfieldError, speak, visible
from cranfield.questions import MODULES, find_question
from cranfield.runtime import threads

INTERRUPTED = 130  # exit code
# Every command, in the order of --help. What is not made from a question alone is in own_commands.
COMMANDS = (
    "score",
    "check",
    "pack",
    "variance",
    "size",
    "power",
    "compare",
    "judges",
    "leaderboard",
    "shards",
    "pilot",
    "budget",
    "study",
    "reliability",
    "simulate",
    "verify",
    "report",
    "serve",
    "mcp",
    "measures",
    "demo",
)


def make_app(names: Iterable[str] = COMMANDS, *, listed: bool = False) -> typer.Typer:
    """The command with these of its commands; where they are only ``listed``, without their flags."""
    made = typer.Typer(
        name="cranfield",
        cls=Commands,
        help="How many topics are enough, and which systems really differ.",
        epilog="Defaults of all commands can be set in a file cranfield.toml in the current folder or one above it.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        if listed and name in MODULES:
            made.command(name, help=find_question(name).summary)(lambda: None)
            continue
        if name in MODULES and name != "report":  # which is written to files
            made.command(name, cls=Command)(make_command(find_question(name)))
            continue
        if name == "study":
            made.add_typer(_studies(), name=name)
        else:
            made.command(name, cls=Command)(getattr(import_module("cranfield.cli.own_commands"), name))
    made.callback(invoke_without_command=True)(_options)
    return made


def _studies() -> typer.Typer:
    """``cranfield study``: the questions about sequential studies, in a group of their own."""
    group = typer.Typer(
        cls=Commands,
        help="Sequential studies: fix a goal, add topics as they are judged, test when the plan allows it.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in MODULES:
        if name.startswith("study_"):
            group.command(name.removeprefix("study_"), cls=Command)(make_command(find_question(name)))
    return group


@cache
def _whole() -> typer.Typer:
    return make_app()


def __getattr__(name: str) -> Any:
    if name == "app":
        return _whole()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions of cranfield and of the libraries it uses, and exit.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="With --version: as JSON.")] = False,
) -> None:
    if not version:
        if json or context.invoked_subcommand is None:
            raise typer.BadParameter("--json goes with --version, or after the name of a command")
        return
    from cranfield import versions

    if json:
        from json import dumps

        compiled = versions.has_compiled_reader()
        found = {"versions": versions.versions(), "parts": versions.parts(), "compiled_reader": compiled}
        typer.echo(dumps(found, indent=1))
    else:
        typer.echo(versions.version_text())
    raise typer.Exit


def _print_error(text: str) -> None:
    """Print a message; in a terminal its lines are wrapped between words."""
    if sys.stderr.isatty():
        from cranfield.rendering.terminal import fitted_text

        text = fitted_text(text, sys.stderr)
    sys.stderr.write(f"{text}\n")


def _run() -> None:
    """Run the command that is asked for; at its end all output is written."""
    # Reading the options of all commands takes longer than many a command; of the one that is asked for, it does not.
    asked = [name for name in sys.argv[1:2] if name in COMMANDS]
    try:
        if asked or "--version" in sys.argv[1:3]:
            make_app(asked)(prog_name="cranfield")
        elif sys.argv[1:] in ([], ["-h"], ["--help"]) and "_CRANFIELD_COMPLETE" not in os.environ:
            make_app(listed=True)(prog_name="cranfield")
        else:
            _whole()(prog_name="cranfield")
    finally:
        sys.stdout.flush()


def main(*, interruptible: bool = False) -> None:
    """Run the command; an error is a message and an exit code, never a traceback.

    ``interruptible``: from here on, an interrupt lets what is under way be tidied up.
    """
    threads.is_command = True
    settle_streams()
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _run()
    except CranfieldError as error:
        _print_error(f"error: {speak(str(error), 'command')}")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        if interruptible:
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # who asks again does not wait for threads
        sys.stderr.write("stopped\n")
        raise SystemExit(INTERRUPTED) from None
    except MemoryError:
        sys.stderr.write("error: there is not enough memory for this\n  Use fewer or smaller files at a time.\n")
        raise SystemExit(2) from None
    except Exception as error:
        if os.environ.get("CRANFIELD_DEBUG"):
            raise
        sys.stderr.write(
            f"error: this should not happen: {type(error).__name__}: {visible(str(error))}\n"
            "  It is a fault in cranfield; CRANFIELD_DEBUG=1 shows where.\n"
        )
        raise SystemExit(2) from None
    finally:
        gc.freeze()  # what the process leaves goes with it; the last collection need not look through it
