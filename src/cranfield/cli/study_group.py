"""``cranfield study``: the questions about sequential studies, in a group of their own."""

from __future__ import annotations

import typer

from cranfield.cli.command_maker import Command, make_command
from cranfield.questions import MODULES, find_question

app = typer.Typer(
    name="study",
    help="Sequential studies: fix a goal, add topics as they are judged, test when the plan allows it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in MODULES:
    if name.startswith("study_"):
        app.command(name.removeprefix("study_"), cls=Command)(make_command(find_question(name)))
