"""Record all answers again and print what changed: ``python -m tests.record [--check] [GROUP…]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .condense import Answer, Change, changes
from .run import run
from .store import GROUPS, declared, recorded, store
from .tables import make_folder


def main(arguments: list[str] | None = None) -> int:
    """Exit code 1 where something changed and ``--check`` is given."""
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"only these of: {', '.join(GROUPS)}")
    parser.add_argument("--check", action="store_true", help="print what changed, and store nothing")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        make_folder(Path(folder))
        changed = [change for group in chosen.groups or GROUPS for change in _record(group, Path(folder), chosen.check)]
    sys.stdout.write(table(changed))
    return int(bool(changed) and chosen.check)


def _record(group: str, folder: Path, check: bool) -> list[Change]:
    answers = {call.text: run(call, folder) for call in declared(group)}
    changed = _changes_of(group, answers)
    if not check:
        store(group, answers)
    return changed


def _changes_of(group: str, answers: dict[str, Answer]) -> list[Change]:
    old, tolerances = recorded(group), {call.text: call.tolerance for call in declared(group)}
    gone = [Change(name, "(call)", "recorded", None) for name in old.keys() - answers.keys()]
    new = [Change(name, "(call)", None, "new") for name in answers.keys() - old.keys()]
    both = [name for name in answers if name in old]
    return [
        *gone,
        *new,
        *(change for name in both for change in changes(name, old[name], answers[name], tolerances[name])),
    ]


def table(changed: list[Change]) -> str:
    """One line per key: call, key, old, new."""
    rows = [("call", "key", "old", "new"), *((c.call, c.key, str(c.old), str(c.new)) for c in changed)]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    return "\n".join(lines if changed else ["nothing changed"]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
