"""cranfield demo"""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the example collection.")] = "demo",
    seed: Annotated[int, typer.Option("--seed", help="Random seed; another seed gives another collection.")] = 1,
) -> None:
    """Write a small example collection: runs of several teams, graded and per-intent judgments."""
    from cranfield.methods.simulation import write_example

    example = write_example(folder, seed=seed)
    typer.echo(example.summary())
