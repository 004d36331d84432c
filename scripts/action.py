"""The comparison of action.yml: inputs are environment variables; writes the step's summary and its outputs.

Exit code 0 where every gate passed, 1 where one failed, 2 where the input is wrong.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from secrets import token_hex
from typing import Any

import cranfield as cf
from cranfield.errors import CranfieldError, RequestError, speak
from cranfield.rendering.document import spoken
from cranfield.rendering.output_formats import markdown_text, to_json, to_markdown


def lines(name: str) -> list[str]:
    """The lines of an input that are not blank."""
    return [line.strip() for line in os.environ.get(f"INPUT_{name}", "").splitlines() if line.strip()]


def text(name: str) -> str | None:
    return next(iter(lines(name)), None)


def number(name: str, default: float) -> float:
    given = text(name)
    try:
        return default if given is None else float(given)
    except ValueError:
        raise RequestError(f"`{name.lower()}` must be a number, not «{given}»") from None


def request() -> dict[str, Any]:
    """What ``cf.compare`` is asked."""
    if not lines("GATE"):
        raise RequestError("no gate is named", fix="Write no-worse=0.02, no-worse=2% or better.")
    return {
        "scores": lines("SCORES"),
        "qrels": text("QRELS"),
        "columns": text("COLUMNS"),
        "measure": lines("MEASURE") or None,
        "test": text("TEST"),
        "alpha": number("ALPHA", 0.05),
        "baseline": lines("BASELINE"),
        "candidate": lines("CANDIDATE") or None,
        "gate": lines("GATE"),
        "lower_is_better": (text("LOWER_IS_BETTER") or "false").lower() == "true",
    }


def add(variable: str, content: str) -> None:
    """Append to the file that a variable of the runner names; nothing is written where there is no such variable."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(content)


def set_output(name: str, value: str) -> None:
    end = token_hex(16)  # no name of a system can contain it
    add("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def summary(result: cf.ComparisonResult) -> str:
    """The verdicts, and the whole comparison folded away."""
    title = "passed" if result.exit_code == 0 else "FAILED"
    verdicts = "\n".join(f"- {markdown_text(f'{each.measure}: {each.verdict}')}" for each in result.gates)
    whole = to_markdown(spoken(result.document(), "command"))
    return f"### cranfield: {title}\n\n{verdicts}\n\n<details><summary>Comparison</summary>\n\n{whole}\n\n</details>\n"


def main() -> int:
    try:
        result = cf.compare(**request())
    except CranfieldError as error:
        said = speak(str(error), "command")
        print(f"error: {said}", file=sys.stderr)
        add("GITHUB_STEP_SUMMARY", f"### cranfield: wrong input\n\n{markdown_text(said)}\n")
        return error.exit_code
    said = "\n".join(f"{each.measure}: {each.verdict}" for each in result.gates)
    print(said)
    add("GITHUB_STEP_SUMMARY", summary(result))
    file = Path(os.environ.get("RUNNER_TEMP", "."), "cranfield.json")
    file.write_text(to_json(result.document()), encoding="utf-8")
    set_output("passed", "true" if result.exit_code == 0 else "false")
    set_output("verdict", said)
    set_output("json", str(file))
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
