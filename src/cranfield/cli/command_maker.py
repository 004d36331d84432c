"""Commands made from questions: their flags from the parameters, and what a terminal adds to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cranfield.cli import options
from cranfield.cli.options import FILES
from cranfield.errors import RequestError, say_as_share, speak
from cranfield.questions import MODULES
from cranfield.questions.parameters import Parameter, Question
from cranfield.questions.project_file import answer, find_project
from cranfield.runtime.threads import reporting

_TYPES: dict[str, Any] = {"flag": bool, "count": int, "number": float, "names": list[str], "data": list[str]}
_METAVARS = {"choice": "NAME", "text": "TEXT", "numbers": "N", "counts": "N", "count": "N", "number": "X"}
OLD_FLAGS = {
    "--cluster": "--dask",
    "--matrix": "--chart matrix",
    "--figure": "--chart",
    "compare --unpaired": "--test unpaired",
    "new --from": "--past",
}
"""Flags of earlier versions, of all commands or of one, and what they are called now."""


class Helpful:
    """What ``--help`` prints for a command, and for a group of commands."""

    def format_help(self, context: Any, formatter: Any) -> None:
        from cranfield.cli.help_text import help_lines

        formatter.write("\n".join(help_lines(self, context)))


class Commands(Helpful, TyperGroup):
    """A command that has commands."""


class Command(Helpful, TyperCommand):
    """A command that knows its project file, and what its flags were called in earlier versions."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        args = self._with_project(context, args)
        for each in args:
            flag = each.partition("=")[0]
            new = OLD_FLAGS.get(f"{self.name} {flag}") or OLD_FLAGS.get(flag)
            if new and flag not in {name for option in self.params for name in option.opts}:
                raise RequestError(f"{flag} is called {new} now")
        return list(super().parse_args(context, args))

    def _with_project(self, context: Any, args: list[str]) -> list[str]:
        """Take defaults from the project file; ``--no-…`` turns off what is on there."""
        name = getattr(self.callback, "__name__", "")
        asks = name in MODULES and not {"-h", "--help"} & set(args)
        project = find_project(note=partial(typer.echo, err=True)) if asks else None
        if project is None:
            return args
        settings = project.of(name)
        off = {f"--no-{each.replace('_', '-')}": each for each, value in settings.items() if value is True}
        for flag in off.keys() & set(args):
            settings.pop(off[flag])
        context.default_map, context.obj = settings, project.file
        return [each for each in args if each not in off]

    def invoke(self, context: Any) -> Any:
        """Run, once it is known which settings of the project file no flag replaces."""
        taken = [name for name in context.default_map or () if context.get_parameter_source(name).name == "DEFAULT_MAP"]
        _settings.set({"file": context.obj, "settings": taken} if taken else {})
        return super().invoke(context)


_settings: ContextVar[dict[str, Any]] = ContextVar("settings")


def ask(question: Question, given: dict[str, Any]) -> Any:
    """The result; it knows what came from a project file, and so does who reads the terminal."""
    taken = _settings.get({})
    if taken:
        typer.echo(f"from {taken['file']}: {', '.join(taken['settings'])}", err=True)
    result, settings = answer(question, given, taken.get("settings", ()))
    idle = [name for name in taken.get("settings", ()) if name not in settings]
    if idle:
        typer.echo(f"without effect here, and left out: {', '.join(idle)}", err=True)
    return result.with_inputs(project={**taken, "settings": settings}) if settings else result


Run = Callable[[Question, dict[str, Any]], None]


def make_command(
    question: Question, *, added: list[inspect.Parameter] | None = None, run: Run | None = None
) -> Callable[..., None]:
    """The command of a question; ``added`` and ``run`` where its output is not that of the others."""
    own = [_flag(each) for each in question.parameters.values()]
    if added is None:
        added = [*_file_flags(question), *_chart_flags(question), *_work_flags(question), *options.FORMAT_FLAGS]
        added += [options.WARNING_FLAG]
        added += options.LINE_FLAGS if question.name == "score" else []

    def command(**given: Any) -> None:
        (run or _run)(question, given)

    command.__name__ = question.name
    command.__doc__ = "\n\n".join([question.summary, *_examples(question)])
    command.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in [*own, *added]}
    return command


def _examples(question: Question) -> list[str]:
    """Below one another, the commands under the first one."""
    label = "Example: " if len(question.examples) == 1 else "Examples: "
    return [f"{label if not at else ' ' * len(label)}{line}" for at, line in enumerate(question.examples)]


def _number(text: str | float) -> float:
    """A number from a flag or from the project file."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"«{text}» is not a number. {say_as_share(text)}") from None


def _flag(parameter: Parameter) -> inspect.Parameter:
    kind: Any = _TYPES.get(parameter.kind, str)
    about = parameter.about
    help_text = speak(parameter.help, "command")
    default = ... if parameter.is_required else parameter.default
    if default is None or (parameter.kind == "data" and default is not ...):
        kind, default = kind | None, None
    if parameter.is_positional:
        info = typer.Argument(help=help_text, metavar=about.metavar or None, show_default=False)
    else:
        name = f"--{parameter.name.replace('_', '-')}"
        names = [f"{name}/--no{name[1:]}"] if parameter.kind == "flag" and parameter.default else [name]
        names += [about.short] if about.short else []
        shown = default not in (None, ..., "") and default is not False
        info = typer.Option(
            *names,
            help=help_text,
            metavar=about.metavar or _METAVARS.get(parameter.kind),
            parser=_number if parameter.kind == "number" else None,
            show_default=shown,
            rich_help_panel="Advanced" if about.advanced else parameter.panel or None,
        )
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[kind, info],
    )


def _option(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _file_flags(question: Question) -> list[inspect.Parameter]:
    if question.name not in FILES:
        return []
    made = FILES[question.name].options()
    return [
        _option(name, Annotated[kind, info], False if kind is bool else None) for name, (kind, info) in made.items()
    ]


def _chart_flags(question: Question) -> list[inspect.Parameter]:
    if not question.charts:
        return []
    first, *others = question.charts
    chart = typer.Option(
        "--chart",
        help=f"What --plot draws: {', '.join([f'{first} (default)', *others])}.",
        metavar="KIND",
        rich_help_panel=options.OUTPUT,
    )
    return [_option("plot", options.Plot)] + ([_option("chart", Annotated[str | None, chart])] if others else [])


def _work_flags(question: Question) -> list[inspect.Parameter]:
    flags = {"dask": options.Dask, "workers": options.Workers, "resume": options.Resume}
    return [_option(name, flag) for name, flag in flags.items()] if question.is_parallel else []


def _run(question: Question, given: dict[str, Any]) -> None:
    """Ask, draw, print; what is wrong with the output is said before any work."""
    chosen, every_warning = options.chosen_format(given), given.pop("warnings")
    per_topic = given.pop("per_topic", False)
    plot, chart = given.pop("plot", None), given.pop("chart", None)
    where = {name: given.pop(name) for name in ("dask", "workers", "resume") if name in given}
    _check_chart(question, plot, chart)
    file = FILES.get(question.name)
    written = {name: given.pop(name) for name in (file.options() if file else ())}
    if file:
        file.check(written)
    work = options.machines(question.name, **where) if where else nullcontext()
    with work, options.progress_bar(question.working) as step, reporting(step):
        result = ask(question, given)
    if plot is not None:
        from cranfield.rendering.document import charts

        _write_charts(charts(result, chart), plot)
    document = result.document()
    if file:
        with options.progress_bar("writing") as step, reporting(step):
            file.put(result, written)
        document = replace(document, notes=f"{document.notes} {file.remark(written[file.name])}".strip())
    if chosen is options.OutputFormat.TREC_EVAL:
        options.output_lines(result.to_trec_eval(per_topic=per_topic), document, every_warning=every_warning)
    else:
        options.output(document, chosen, every_warning=every_warning)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _write_charts(drawn: Mapping[str, Any], plot: str) -> None:
    """Write the chart, or that of every measure to a file that has its name, which is said."""
    from cranfield.rendering.charts import file_of, write_chart
    from cranfield.rendering.terminal import print_text

    names = {measure: file_of(plot, measure) if len(drawn) > 1 else plot for measure in drawn}
    for measure, each in drawn.items():
        write_chart(each, names[measure])
    if len(drawn) > 1:
        print_text(f"charts: {', '.join(names.values())}", stderr=True)


def _check_chart(question: Question, plot: str | None, chart: str | None) -> None:
    if chart is not None and chart not in question.charts:
        raise RequestError(f"there is no chart «{chart}»", fix=f"Choose one of: {', '.join(question.charts)}.")
    if chart is not None and plot is None:
        raise RequestError("`chart` chooses what is drawn, and nothing is", fix="Name a file with `plot`.")
    if plot is not None:
        from cranfield.rendering.charts import check_chart_name

        check_chart_name(plot)
