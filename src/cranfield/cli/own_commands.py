"""Commands that are not made from a question alone: ``report``, ``serve``, ``mcp``, ``measures`` and ``demo``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.cli import options
from cranfield.cli.command_maker import ask, make_command
from cranfield.errors import check_part, missing_part
from cranfield.questions import find_question
from cranfield.runtime.threads import available_workers, reporting

if TYPE_CHECKING:
    from cranfield.rendering.report_model import Report


_ALSO = {"pdf": ".pdf", "xlsx": ".xlsx", "json": ".json", "md": ".md", "latex": ".tex"}
_FLAGS: dict[str, Any] = {
    "out": Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write: .html, .pdf, .md, .tex, .json, .xlsx or .bib; may be repeated. Default: report.html.",
            metavar="FILE",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ],
    "pdf": Annotated[
        bool,
        typer.Option(
            "--pdf", help="Also as PDF (printed by Chromium, Chrome or Edge).", rich_help_panel=options.OUTPUT
        ),
    ],
    "xlsx": Annotated[
        bool,
        typer.Option(
            "--xlsx", help="Also as a workbook that looks n up for other designs.", rich_help_panel=options.OUTPUT
        ),
    ],
    "json": Annotated[
        bool, typer.Option("--json", help="Also as JSON; printed if no file is named.", rich_help_panel=options.OUTPUT)
    ],
    "md": Annotated[
        bool,
        typer.Option("--md", help="Also as Markdown; printed if no file is named.", rich_help_panel=options.OUTPUT),
    ],
    "latex": Annotated[
        bool,
        typer.Option("--latex", help="Also as LaTeX; printed if no file is named.", rich_help_panel=options.OUTPUT),
    ],
}


def _run(question: Any, given: dict[str, Any]) -> None:
    """Compute, then write the files or print the one format that was asked for."""
    out, every_warning = given.pop("out"), given.pop("warnings")
    endings = [ending for flag, ending in _ALSO.items() if given.pop(flag)]
    files, printed = _report_files(out, endings)
    with options.progress_bar(question.working) as step, reporting(step):
        result = ask(question, given)
    from cranfield.rendering.report_sections import make_report

    _output(make_report(result), files, printed, every_warning=every_warning)


def _report_files(out: list[str] | None, endings: list[str]) -> tuple[list[str], list[str]]:
    """The files to write, and the endings of the formats that are printed because no file was named."""
    from cranfield.rendering.report_files import check_report_name

    printed = [] if out else [ending for ending in endings if ending in (".json", ".md", ".tex")]
    if len(printed) > 1:
        raise typer.BadParameter("only one of --json, --md and --latex can be printed: name a file with --out")
    first = Path((out or ["report"])[0]).with_suffix("")
    beside = [str(first.with_name(first.name + ending)) for ending in endings if ending not in printed]
    files = list(dict.fromkeys([*(out or ([] if endings else ["report.html"])), *beside]))
    for path in files:
        check_report_name(path)
    return files, printed


def _output(report: Report, files: list[str], printed: list[str], *, every_warning: bool) -> None:
    """Write the files and print their sizes, or print the format asked for; warnings go to standard error."""
    from cranfield.rendering.document import Document
    from cranfield.rendering.report_files import FORMATS, write_report
    from cranfield.rendering.terminal import print_text, print_warnings

    sizes = {}
    with options.progress_bar("writing") as step:
        for at, path in enumerate(files):
            step(at, len(files))
            sizes[path] = write_report(report, path)
    for path, size in sizes.items():
        typer.echo(f"{path}: {size / 1000:,.0f} kB", err=bool(printed))
    for ending in printed:
        text = FORMATS[ending](report).decode()
        options.echo_json(iter([text])) if ending == ".json" else typer.echo(text, nl=False)
    said = report.spoken("command")
    if not printed:
        print_text(said.summary())
    for each in said.left_out:
        print_text(f"left out: {each.title} ({each.reason})", stderr=True)
    missing = missing_part("charts")
    if missing is not None and any(path.lower().endswith(".tex") for path in files):
        print_text(f"left out: charts ({missing.what}: {missing.fix})", stderr=True)
    document = Document(method="report", inputs={}, tables=[], rows=[], warnings=said.warnings)
    print_warnings(document, every=every_warning)


report = make_command(
    find_question("report"),
    added=[
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None if name == "out" else False, annotation=each
        )
        for name, each in _FLAGS.items()
    ]
    + [options.WARNING_FLAG],
    run=_run,
)


def serve(
    port: Annotated[int, typer.Option("--port", "-p", help="Port to listen on.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; one that other machines can reach requires --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="CRANFIELD_TOKEN",
            metavar="TOKEN",
            help="Answer only requests with this token; «new» creates one.",
        ),
    ] = None,
    max_upload: Annotated[int, typer.Option("--max-upload", help="Largest upload, in MB.", min=1)] = 500,
    max_unpacked: Annotated[
        int, typer.Option("--max-unpacked", help="Largest upload after unpacking, in MB.", min=1)
    ] = 2000,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", help="Longest time of a calculator, in seconds.", min=1)
    ] = 20,
    max_minutes: Annotated[
        float, typer.Option("--max-minutes", help="Longest time of an analysis of data, in minutes.", min=0.1)
    ] = 60,
    max_memory: Annotated[
        int | None,
        typer.Option(
            "--max-memory",
            help="Most memory of an analysis, in MB. Default: three quarters of this machine's, shared by its cores.",
            min=500,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start a local web page: calculators that answer while you type, and every analysis of the commands for your data.

    Example: cranfield serve --port 8080
    """
    check_part("web")
    from cranfield.runtime.memory import memory_of_job
    from cranfield.web.application import run
    from cranfield.web.settings import Settings, new_token

    run(
        Settings(
            host=host,
            port=port,
            token=new_token() if token == "new" else token,
            max_upload=max_upload * 1_000_000,
            max_unpacked=max_unpacked * 1_000_000,
            calculator_seconds=max_seconds,
            job_seconds=max_minutes * 60,
            job_memory=max_memory * 1_000_000 if max_memory else memory_of_job(available_workers()),
        )
    )


def mcp(
    root: Annotated[
        str,
        typer.Option(
            "--root", help="Folder of the files that may be read; nothing outside of it is.", metavar="FOLDER"
        ),
    ] = ".",
    write: Annotated[
        bool,
        typer.Option("--write", help="Also let files be written in this folder: packed files, judgments, studies."),
    ] = False,
    datasets: Annotated[
        bool,
        typer.Option("--datasets", help="Also take judgments from ir_datasets (irds:NAME), which may download them."),
    ] = False,
    max_minutes: Annotated[
        float, typer.Option("--max-minutes", help="Longest time of an answer, in minutes.", min=0.1)
    ] = 10,
    max_memory: Annotated[
        int | None,
        typer.Option(
            "--max-memory",
            help="Most memory of an answer, in MB. Default: three quarters of this machine's, shared by its cores.",
            min=500,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the analyses to language models over the Model Context Protocol (MCP), on standard input and output.

    Example: cranfield mcp --root experiments
    """
    check_part("mcp")
    from cranfield.cli.mcp_server import Limits, run
    from cranfield.runtime.memory import memory_of_job

    memory = max_memory * 1_000_000 if max_memory else memory_of_job(available_workers())
    run(Limits(root=root, may_write=write, datasets=datasets, seconds=max_minutes * 60, memory=memory))


@options.printed
def measures(
    name: Annotated[str | None, typer.Argument(help="Describe only this measure.", show_default=False)] = None,
    output_format: options.OutputFormat = options.OutputFormat.TEXT,
) -> None:
    """List the measures with their parameters, range and citation, or describe one of them."""
    from cranfield.rendering.score_document import measure_document, measures_document

    options.output(measures_document() if name is None else measure_document(name), output_format)


def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the example collection.")] = "demo",
    seed: Annotated[int, typer.Option("--seed", help="Random seed; another seed gives another collection.")] = 1,
) -> None:
    """Write a small example collection: runs of several teams, graded and per-intent judgments, a model's labels."""
    from cranfield.methods.simulation import write_example
    from cranfield.rendering.terminal import print_text

    example = write_example(folder, seed=seed)
    print_text(example.summary())
