"""The comparison of action.yml: inputs are environment variables; writes the step's summary and its outputs.

Exit code 0 where every gate passed, 1 where one failed, 2 where the input is wrong.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from secrets import token_hex
from typing import Any

import cranfield as cf
from cranfield.errors import CranfieldError, RequestError, speak, visible
from cranfield.questions import find_question
from cranfield.rendering.document import spoken, warning_lines
from cranfield.rendering.output_formats import markdown_text, to_json, to_markdown


def lines(name: str) -> list[str]:
    """The lines of an input that are not blank."""
    return [line.strip() for line in os.environ.get(f"INPUT_{name}", "").splitlines() if line.strip()]


def text(name: str) -> str | None:
    """The one line of an input; None where it is blank."""
    given = lines(name)
    if len(given) > 1:
        raise RequestError(f"`{name.lower()}` takes one line, and {len(given)} are given: «{'», «'.join(given)}»")
    return given[0] if given else None


def number(name: str, default: float) -> float:
    given = text(name)
    try:
        return default if given is None else float(given)
    except ValueError:
        raise RequestError(f"`{name.lower()}` must be a number, not «{given}»") from None


def switch(name: str) -> bool:
    given = (text(name) or "false").lower()
    if given not in ("true", "false"):
        raise RequestError(f"`{name.lower()}` cannot be «{given}»", fix="Write true or false.")
    return given == "true"


def request() -> dict[str, Any]:
    """What ``cf.compare`` is asked."""
    if not lines("GATE"):
        raise RequestError("no gate is named", fix="Write no-worse=0.02, no-worse=2% or better.")
    return {
        "scores": lines("SCORES"),
        "qrels": text("QRELS"),
        "columns": ",".join(lines("COLUMNS")) or None,
        "measure": lines("MEASURE") or None,
        "missing": text("MISSING"),
        "test": text("TEST"),
        "alpha": number("ALPHA", 0.05),
        "baseline": lines("BASELINE"),
        "candidate": lines("CANDIDATE") or None,
        "gate": lines("GATE"),
        "lower_is_better": switch("LOWER_IS_BETTER"),
    }


def add(variable: str, content: str) -> None:
    """Append to the file that a variable of the runner names; nothing is written where there is no such variable."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(content)


def set_outputs(**values: str) -> None:
    end = token_hex(16)  # no name of a system can contain it
    add("GITHUB_OUTPUT", "".join(f"{name}<<{end}\n{value}\n{end}\n" for name, value in values.items()))


def summary(result: cf.ComparisonResult) -> str:
    """The verdicts, and the whole comparison folded away."""
    title = "passed" if result.exit_code == 0 else "FAILED"
    verdicts = "\n".join(f"- {markdown_text(line)}" for line in verdict_lines(result))
    whole = to_markdown(spoken(result.document(), "step"))
    return f"### cranfield: {title}\n\n{verdicts}\n\n<details><summary>Comparison</summary>\n\n{whole}\n\n</details>\n"


def verdict_lines(result: cf.ComparisonResult) -> list[str]:
    return [visible(f"{each.measure}: {each.verdict}") for each in result.gates]


def refuse(error: CranfieldError) -> int:
    """Say what is wrong with the input, in one line."""
    said = speak(str(error), "step").replace("\n ", "")
    set_outputs(passed="false", verdict=f"error: {said}", json="")
    add("GITHUB_STEP_SUMMARY", f"### cranfield: wrong input\n\n{markdown_text(said)}\n")
    print(f"error: {said}", file=sys.stderr)
    return error.exit_code


def report(result: cf.ComparisonResult) -> int:
    """Write the result, then print the verdicts; no line begins with a name, which might be a command of the runner."""
    file = Path(os.environ.get("RUNNER_TEMP", "."), "cranfield.json")
    file.write_text(to_json(result.document()), encoding="utf-8")
    passed = "true" if result.exit_code == 0 else "false"
    set_outputs(passed=passed, verdict="\n".join(verdict_lines(result)), json=str(file))
    add("GITHUB_STEP_SUMMARY", summary(result))
    print("\n".join(f"- {line}" for line in verdict_lines(result)))
    for line in warning_lines(spoken(result.document(), "step").warnings):
        print(f"warning: {line}", file=sys.stderr)
    return result.exit_code


def main() -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # as runners read it
    try:
        try:
            result: cf.ComparisonResult = find_question("compare").ask(**request())  # by the names of flags
        except CranfieldError as error:
            return refuse(error)
        return report(result)
    except OSError as error:
        print(f"error: {error.filename}: this cannot be written: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
