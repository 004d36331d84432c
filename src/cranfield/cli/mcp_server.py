"""A server of the Model Context Protocol: every question is a tool, made from its declaration.

A call is answered by a process of its own in the folder of the server: it ends with the call, at the latest after the
longest time, and takes no more than the most memory.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from cranfield import __version__
from cranfield.cli.confined_files import ConfinedFiles
from cranfield.errors import CranfieldError, InputError, RequestError
from cranfield.questions import MODULES, find_question
from cranfield.questions.parameters import Parameter, Question
from cranfield.questions.project_file import answer as answer_with
from cranfield.questions.project_file import find_project
from cranfield.runtime.child_processes import end_child, settle_child
from cranfield.runtime.confinement import Places, confine
from cranfield.runtime.memory import jobs_at_a_time
from cranfield.runtime.threads import available_workers

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolResult, Tool

MOST = 500_000  # characters of the text of an answer, and of its JSON; more would fill the context of a model
OFTEN = 0.1  # seconds between two looks at whether a call was cancelled
INSTRUCTIONS = (
    "cranfield plans and evaluates retrieval experiments: how many topics are enough, and which systems differ. Paths "
    "are relative to the folder of this server. Start with `check` for files that are new; `compare` tests differences "
    "of systems; `size` and `power` plan topics. Quote the sentence and the warnings of an answer, not numbers alone."
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The folder, whether files may be written in it and datasets downloaded, and seconds and bytes of an answer."""

    root: str
    may_write: bool
    seconds: float
    memory: int
    datasets: bool = False

    @property
    def files(self) -> ConfinedFiles:
        return ConfinedFiles(os.path.realpath(self.root), self.may_write, self.datasets)


def run(limits: Limits) -> None:
    """Serve on standard input and output until they are closed."""
    if not os.path.isdir(limits.root):
        raise InputError("there is no such folder", where=limits.root, fix="Name a folder with `root`.")
    import anyio
    from mcp.server.stdio import stdio_server

    server = make_server(limits)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    signal.signal(signal.SIGINT, _stop)
    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        os._exit(0)  # the client has gone, and so has all that could still be written


def _stop(*_: Any) -> None:
    """End at once, as reading standard input cannot be interrupted; processes that answer end with this one."""
    with suppress(OSError):
        os.write(2, b"stopped\n")
    os._exit(130)


def make_server(limits: Limits) -> Server[Any]:
    """The server with one tool per question."""
    import anyio
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent

    tools = [make_tool(find_question(name), limits.files) for name in MODULES]
    places = anyio.CapacityLimiter(jobs_at_a_time(limits.memory, available_workers()))

    async def list_tools(context: Any, request: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, request: Any) -> CallToolResult:
        cancelled = threading.Event()
        ask = partial(answer, request.name, request.arguments or {}, limits, cancelled)
        try:
            reply = await anyio.to_thread.run_sync(ask, limiter=places, abandon_on_cancel=True)
        finally:
            cancelled.set()
        text = TextContent(type="text", text=reply.text)
        return CallToolResult(content=[text], structured_content=reply.data, is_error=reply.is_error)

    return Server(
        "cranfield", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def make_tool(question: Question, files: ConfinedFiles) -> Tool:
    """A question as a tool, which says what this server refuses."""
    from mcp.types import Tool, ToolAnnotations

    written = [each.name for each in question.parameters.values() if each.is_written]
    is_judged = "qrels" in question.parameters and question.name != "check"
    description = [question.summary]
    if written and not files.may_write:
        description.append(f"This server writes nothing: `{written[0]}` is refused.")
    if is_judged and not files.datasets:
        description.append("This server uses no network: irds:NAME is refused, name a file.")
    return Tool(
        name=question.name,
        title=question.title,
        description=" ".join(description),
        input_schema=schema_of(question),
        annotations=ToolAnnotations(
            title=question.title,
            read_only_hint=not (written and files.may_write),
            open_world_hint=is_judged and files.datasets,
        ),
    )


def schema_of(question: Question) -> dict[str, Any]:
    """The parameters as JSON schema: names, types, bounds, choices, defaults and help of the declaration."""
    parameters = question.parameters.values()
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in parameters},
        "required": [each.name for each in parameters if each.is_required],
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_TYPES: dict[str, dict[str, Any]] = {
    "choice": _TEXT,
    "flag": {"type": "boolean"},
    "count": {"type": "integer"},
    "number": {"type": "number"},
    "text": _TEXT,
    "names": _TEXTS,
    "data": _TEXTS,
    "numbers": {"anyOf": [{"type": "number"}, _TEXT, {"type": "array", "items": {"type": "number"}}]},
    "counts": {"anyOf": [{"type": "integer"}, _TEXT, {"type": "array", "items": {"type": "integer"}}]},
}
_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def _property(parameter: Parameter) -> dict[str, Any]:
    about = parameter.about
    found = {**_TYPES.get(parameter.kind, _TEXT), "description": parameter.help}
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    if parameter.kind in ("count", "number"):
        found |= {word: getattr(about, name) for name, word in _BOUNDS.items() if getattr(about, name) is not None}
    if not parameter.is_required and parameter.default is not None:
        found["default"] = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
    return found


@dataclass(frozen=True)
class Reply:
    """The plain text of an answer and what ``--json`` prints; or what is wrong."""

    text: str
    data: dict[str, Any] | None = None
    is_error: bool = False


def answer(name: str, given: Mapping[str, Any], limits: Limits, cancelled: threading.Event) -> Reply:
    """Ask in a process of its own, and wait for it; it is ended where it takes too long or nobody waits."""
    if name not in MODULES:
        return Reply(f"there is no tool «{name}»\n  There are: {', '.join(MODULES)}.", is_error=True)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(name, dict(given), limits, theirs), daemon=True)
    process.start()
    theirs.close()
    deadline = time.monotonic() + limits.seconds
    try:
        while not ours.poll(OFTEN):
            if cancelled.is_set():
                return Reply("cancelled", is_error=True)
            if time.monotonic() > deadline:
                less = "Ask for less: fewer files, measures or resamples; --max-minutes allows more."
                return Reply(f"this takes more than {limits.seconds / 60:g} min\n  {less}", is_error=True)
        reply: Reply = ours.recv()
        return reply
    except (EOFError, OSError):
        less = "It may need more memory than there is; try less data. --max-memory allows more."
        return Reply(f"the work ended without an answer\n  {less}", is_error=True)
    finally:
        end_child(process)
        process.join()
        ours.close()


def work(name: str, given: dict[str, Any], limits: Limits, out: Connection) -> None:
    """Run in the process: answer, and send the reply."""
    _leave_streams()
    settle_child(limits.memory)
    confine(Places.around(limits.files.root, may_write=limits.may_write, downloads=_downloads(limits)))
    try:
        out.send(reply_to(name, given, limits.files))
    except MemoryError:
        return
    finally:
        out.close()


def _downloads(limits: Limits) -> str | None:
    """The folder of ir_datasets, with what it has not finished in it; None where no dataset may be named."""
    if not limits.datasets:
        return None
    home = os.environ.get("IR_DATASETS_HOME") or os.path.expanduser("~/.ir_datasets")
    unfinished = os.environ.setdefault("IR_DATASETS_TMP", os.path.join(home, "unfinished"))
    os.makedirs(unfinished, exist_ok=True)
    return home


def _leave_streams() -> None:
    """Standard input and output belong to the protocol: whatever reads or prints here has nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)


def reply_to(name: str, given: dict[str, Any], files: ConfinedFiles) -> Reply:
    """The answer of a question in the folder of the server, or what is wrong with the request."""
    os.chdir(files.root)
    question = find_question(name)
    try:
        _check_kinds(question, given)
        notes: list[str] = []
        settings = _project_settings(question, files, notes.append)
        asked = {**settings, **given}
        files.check(question, asked)
        result, taken = answer_with(question, asked, [each for each in settings if each not in given])
        result = result.with_inputs(project={"settings": taken}) if taken else result
        return _shown(result, notes)
    except CranfieldError as error:
        return Reply(str(error), is_error=True)
    except MemoryError:
        raise
    except Exception as error:
        return Reply(f"this should not happen: {type(error).__name__}: {error}"[:500], is_error=True)


def _check_kinds(question: Question, given: Mapping[str, Any]) -> None:
    """Refuse unknown names, missing arguments, and values that JSON can have and a parameter cannot."""
    for name, value in given.items():
        if name not in question.parameters:
            known = ", ".join(question.parameters)
            raise RequestError(f"{question.name} has no parameter «{name}»", fix=f"There are: {known}.")
        kind = question.parameters[name].kind
        is_list = isinstance(value, list) and kind in ("names", "data", "numbers", "counts")
        wanted: dict[str, tuple[type, ...]] = {"flag": (bool,), "count": (int, float), "number": (int, float)}
        more: tuple[type, ...] = (str, int, float) if kind in ("numbers", "counts") else (str,)
        kinds = wanted.get(kind, more)
        values = value if is_list else [value]
        is_wrong = any(not isinstance(each, kinds) or (isinstance(each, bool) and kind != "flag") for each in values)
        if value is not None and is_wrong:
            raise RequestError(f"`{name}` cannot be «{json.dumps(value)[:100]}»", fix=question.parameters[name].help)
    missing = [each.name for each in question.parameters.values() if each.is_required and given.get(each.name) is None]
    if missing:
        raise RequestError(f"`{missing[0]}` has to be given", fix=question.parameters[missing[0]].help)


def _project_settings(question: Question, files: ConfinedFiles, note: Callable[[str], object]) -> dict[str, Any]:
    """What the project file of the folder itself says; those above it are outside."""
    for name in ("cranfield.toml", "pyproject.toml"):
        if os.path.commonpath([files.root, os.path.realpath(name)]) != files.root:
            return {}
    project = find_project(above=False, note=note)
    return {} if project is None else project.of(question.name)


def _shown(result: Any, before: Sequence[str]) -> Reply:
    """The text that a terminal shows, with its warnings, and the object that ``--json`` prints."""
    from cranfield.rendering.document import spoken
    from cranfield.rendering.output_formats import to_json
    from cranfield.rendering.terminal import print_document

    document = result.document()
    text, warnings = io.StringIO(), io.StringIO()
    with redirect_stdout(text), redirect_stderr(warnings):
        print_document(spoken(document, "python"))
    written = to_json(document)
    shown, notes = text.getvalue(), "".join(f"{each}\n" for each in before) + warnings.getvalue()
    if len(shown) > MOST:
        notes += f"The text of this answer has {len(shown):,} characters and is cut; the command prints all of it.\n"
        shown = f"{shown[:MOST].rpartition(chr(10))[0]}\n…\n"
    if len(written) > MOST:
        notes += f"The JSON of this answer has {len(written):,} characters and is left out; the command prints it.\n"
        return Reply(shown + notes)
    return Reply(shown + notes, json.loads(written))
