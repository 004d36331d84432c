"""The Python reference: the public names of every package; Sphinx adds their docstrings."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import cranfield
from cranfield.questions import MODULES, find_question


def _results(names: list[str]) -> list[str]:
    """Return the classes that these questions return."""
    kinds = [inspect.signature(find_question(name).function, eval_str=True).return_annotation for name in names]
    return list(dict.fromkeys(kind.__name__ for kind in kinds))


ROOMS = {
    "questions": "Questions",
    "results": "Results",
    "collection": "Collections",
    "scores": "Scores",
    "measures": "Measures",
    "methods.variance": "Variance",
    "methods.design": "How many topics",
    "methods.contrasts": "Which systems differ",
    "methods.judging": "Judges",
    "methods.boards": "Leaderboards",
    "methods.sharding": "Shards and replicates",
    "methods.leave_out": "Pilots",
    "methods.pooling": "Budgets",
    "methods.sequential": "Sequential studies",
    "methods.reliability": "Reliability",
    "methods.simulation": "Simulated topics",
    "methods.verification": "Verification of a design",
    "rendering": "Documents and reports",
    "runtime.dask": "Many machines",
    "testing": "Assertions for tests",
    "errors": "Errors",
}
NAMES = {  # of packages that are one file, or whose public names come from several files
    "questions": [],
    "results": ["Result"],
    "errors": [
        "Caution",
        "CranfieldError",
        "CranfieldWarning",
        "InputError",
        "PackedFileError",
        "RequestError",
        "WriteError",
    ],
    "runtime.dask": ["work_on"],
    "testing": ["assert_not_worse", "assert_better"],
}
QUESTIONS = {
    module: [name for name in MODULES if MODULES[name] == module] for module in dict.fromkeys(MODULES.values())
}
GROUPS = [name for name in cranfield.__all__ if cranfield._HOME[name] == "questions.groups"]
MORE = {  # public names in a file of their own
    "methods.design": {
        "target": ["Target"],
        "request": ["Request"],
        "planning": ["plan", "plan_from_pilot"],
        "cards": ["Card"],
        "cheapest": ["Costs", "cheapest"],
        "allocation": ["Allocation"],
        "replicates": ["plan_replicates"],
        "labels": ["plan_labels"],
    },
    "methods.contrasts": {"gates": ["GateVerdict"]},
    "questions": {module: [*names, *_results(names)] for module, names in QUESTIONS.items()} | {"groups": GROUPS},
    "rendering": {
        "document": ["Column", "Document", "Table"],
        "terminal": ["print_document"],
        "output_formats": ["to_csv", "to_json", "to_latex", "to_markdown"],
        "report_sections": ["make_report"],
        "report_files": ["write_report"],
    },
    "scores": {"evaluation": ["score_collection"]},
}


def room_page(room: str) -> str:
    """Return the page of a package with every public name."""
    module = import_module(f"cranfield.{room}")
    parts = [f"# cranfield.{room}\n", f"**{ROOMS[room]}.** {_first_line(module)}\n", "```{eval-rst}"]
    parts += [_directive(f"cranfield.{room}", name, getattr(module, name)) for name in _names(room, module)]
    for file, names in MORE.get(room, {}).items():
        inside = import_module(f"cranfield.{room}.{file}")
        parts += [_directive(f"cranfield.{room}.{file}", name, getattr(inside, name)) for name in names]
    return "\n".join([*parts, "```\n"])


def python_page() -> str:
    """Return the page with the names of the top-level package, and the list of packages."""
    parts = [
        "# Python\n",
        "Every question is a function: `cf.compare(scores)`. Scores are a path, a frame of pandas, Polars or PyArrow, "
        "a dict `{system: {topic: score}}`, a `ScoreTable` or a `Collection`. Results are frozen, with full-precision "
        "numbers, the inputs and the warnings; all have `to_frame()`, `to_dict()`, `summary()` and `chart()`, and show "
        "themselves in a notebook. Errors are "
        "{py:obj}`CranfieldError <cranfield.errors.CranfieldError>`, with the problem, its place and the remedy. "
        "Importing `cranfield` is fast; a name is loaded when it is first used.\n",
        "Parameters that belong together are one argument, an object or a dict: "
        "`cf.size(difference=0.05, sd=0.15, judge=cf.Judge(correlation=0.6, cost=0.1))` is the same as "
        '`judge={"correlation": 0.6, "cost": 0.1}`. On the command line, in a project file, in the address of a page '
        "and for language models its fields are flags of their own (`--judge-correlation`, `judge_correlation`), as in "
        "`inputs`. What has no effect beside the other values is refused everywhere in the same words.\n",
        "## Names of `cranfield`\n",
        "| name | what it is |",
        "|---|---|",
    ]
    for name in sorted(cranfield.__all__, key=str.lower):
        home = f"cranfield.{cranfield._HOME[name]}"
        target = documented(home, name)
        parts.append(f"| {{py:obj}}`cranfield.{name} <{target}>` | {_first_line(getattr(cranfield, name))} |")
    parts += ["", "## Packages\n", "```{toctree}", ":maxdepth: 1\n", *(f"python/{room}" for room in ROOMS)]
    return "\n".join([*parts, "python/formulas", "```\n"])


def formulas_page(objects: dict[str, list[str]]) -> str:
    """What computes or draws something of a paper and has no public name; the equation index leads here."""
    parts = [
        "# Where formulas are computed\n",
        "Not names to call, but to read: functions that hold a formula of a paper, or draw its figure. "
        "[Equations](../equations.md) lists the formulas; *source* shows the lines.\n",
        "```{eval-rst}",
    ]
    for module, names in sorted(objects.items()):
        for name in names:
            kind = _kind(module, name)
            parts.append(f".. {kind}:: {module}.{name}\n")
    return "\n".join([*parts, "```\n"])


def _kind(module: str, name: str) -> str:
    owner, _, member = name.partition(".")
    value = getattr(import_module(module), owner)
    if not member:
        return "autoclass" if inspect.isclass(value) else "autofunction"
    value = inspect.getattr_static(value, member)
    return "automethod" if inspect.isfunction(value) else "autoproperty"


def _names(room: str, module: ModuleType) -> list[str]:
    return NAMES[room] if room in NAMES else list(getattr(module, "__all__", ()))


def _directive(home: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        return f".. autoclass:: {home}.{name}\n   :members:\n"
    if callable(value):
        return f".. autofunction:: {home}.{name}\n"
    return f".. py:data:: {home}.{name}\n\n   {_value(value)}\n"


def _value(value: Any) -> str:
    if hasattr(value, "keys"):
        return f"By name: {', '.join(f'``{key}``' for key in value)}."
    return ", ".join(f"``{each}``" for each in (value if isinstance(value, tuple) else [value]))


def _first_line(value: Any) -> str:
    text = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else ""
    return (text or "Every measure, by name.").splitlines()[0]


@cache
def _homes() -> dict[int, str]:
    """The name under which each public object is documented."""
    homes = {}
    for room in ROOMS:
        module = import_module(f"cranfield.{room}")
        homes.update({id(getattr(module, name)): f"cranfield.{room}.{name}" for name in _names(room, module)})
        for file, names in MORE.get(room, {}).items():
            inside = import_module(f"cranfield.{room}.{file}")
            homes.update({id(getattr(inside, name)): f"cranfield.{room}.{file}.{name}" for name in names})
    return homes


def documented(module: str, name: str, *, private: bool = True) -> str:
    """Where the reference has an object; with ``private``, on the page of formulas if nowhere else."""
    owner, _, member = name.partition(".")
    if not owner:
        return ""
    value = getattr(import_module(module), owner)
    home = _homes().get(id(value))
    if home and member and not _has_docstring(value, member):
        home = None
    if home:
        return f"{home}.{member}".rstrip(".")
    return f"{module}.{name}" if private else ""


def _has_docstring(owner: Any, member: str) -> bool:
    value = inspect.getattr_static(owner, member)
    return bool(inspect.getdoc(getattr(value, "fget", None) or getattr(value, "func", None) or value))
