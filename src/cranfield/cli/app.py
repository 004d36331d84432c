"""``cranfield``: a wish, and what is needed for it."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

import cranfield
from cranfield import parallel
from cranfield.cli import (
    budget,
    check,
    compare,
    demo,
    measures,
    pack,
    pilot,
    power,
    reliability,
    report,
    score,
    serve,
    shards,
    simulate,
    size,
    study,
    variance,
    verify,
)
from cranfield.errors import CranfieldError

app = typer.Typer(
    name="cranfield",
    help="How many topics are enough, and which systems really differ.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("score")(score.score)
app.command("check")(check.check)
app.command("pack")(pack.pack)
app.command("variance")(variance.variance)
app.command("size")(size.size)
app.command("power")(power.power)
app.command("compare")(compare.compare)
app.command("shards")(shards.shards)
app.command("pilot")(pilot.pilot)
app.command("budget")(budget.budget)
app.add_typer(study.app, name="study")
app.command("reliability")(reliability.reliability)
app.command("simulate")(simulate.simulate)
app.command("verify")(verify.verify)
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("measures")(measures.measures)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cranfield {cranfield.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; an error is a message and an exit code, never a traceback."""
    parallel.is_command = True
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")
    try:
        app()
    except CranfieldError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:
        # Whoever read our output has gone; point it at nothing so that closing it stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        raise SystemExit(130) from None
    except MemoryError:
        sys.stderr.write("error: there is not enough memory for this\n  Use fewer or smaller files at a time.\n")
        raise SystemExit(2) from None
    except Exception as error:
        if os.environ.get("CRANFIELD_DEBUG"):
            raise
        sys.stderr.write(f"error: this should not happen: {type(error).__name__}: {error}\n"
                         "  It is a fault in cranfield; CRANFIELD_DEBUG=1 shows where.\n")  # fmt: skip
        raise SystemExit(2) from None
    finally:
        gc.freeze()  # what the process leaves goes with it; the last collection need not look through it
