"""Pages made from questions: the query model from the parameters, and the answer from the result."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from cranfield.collection import Collection, open_collection
from cranfield.errors import CranfieldError, RequestError, missing_part, speak
from cranfield.questions import find_question
from cranfield.questions import parameters as declared
from cranfield.questions.parameters import command_line
from cranfield.questions.report import ReportResult
from cranfield.questions.sources import TEAM
from cranfield.rendering.document import view
from cranfield.rendering.report_files import FORMATS, find_browser
from cranfield.rendering.report_model import Picture
from cranfield.rendering.report_sections import make_report
from cranfield.results import Result
from cranfield.runtime.threads import Step, reporting
from cranfield.web.forms import PAGE_TITLES, Conditions, Flag, Given, Names, Query, without_commands
from cranfield.web.page import Answer, Drawing, Makers, render
from cranfield.web.uploads import FILES, PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress
    from cranfield.web.forms import Query
    from cranfield.web.page import Reply


About = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class DataPage:
    """What can be asked of an upload: everything a page, its form, its JSON and its work are made from.

    ``name`` is the address and, with spaces for dashes, the command; ``files`` are the command's flags for files other
    than the first argument, ``word`` is how JSON calls that; ``of`` are the kinds of upload it can be asked of, where
    it is ``alone`` one table at a time, and ``tables`` are the fewest it takes; ``example`` is what a page asks when
    nothing is asked, unless it ``waits`` to be asked.
    """

    name: str
    title: str
    summary: str
    query: type[Query]
    answer: Callable[[Asked], Reply]
    files: tuple[str, ...] = ("qrels",)
    word: str = "scores"
    of: tuple[str, ...] = ("collection", "scores")
    alone: bool = False
    tables: int = 1
    example: Callable[[About], dict[str, Any]] = lambda about: {}
    waits: bool = False

    @property
    def command(self) -> str:
        return self.name.replace("-", " ")


@dataclass(frozen=True)
class Asked:
    """A question, what it is asked of, and how to say how far the answer is."""

    question: DataPage
    about: About
    query: Any
    progress: Progress

    @property
    def is_about_files(self) -> bool:
        """Whether the question is about all files that came, whatever is in them."""
        return self.question.word == "files"

    def _named(self) -> tuple[list[str], dict[str, str]]:
        """The files as the command names them: as they came, or packed where it has no flag for one that matters."""
        given = {flag: name for flag, name in self.about["options"].items() if flag in self.question.files}
        if self.question.name == "compare" and self.query.best_per != TEAM:
            given.pop("teams", None)  # nothing else there asks for teams
        if self.is_about_files:
            others = [name for flag, name in self.about["options"].items() if flag not in given]
            return [*(self.about["arguments"] or self.about["files"]), *others], given
        if set(self.about["options"]) - set(given) - {"teams"}:  # whose the runs are changes no score
            return [PACKED], {}
        return self.about["arguments"], given

    @property
    def _columns(self) -> dict[str, str]:
        """What the columns are, where it had to be told."""
        return {"columns": self.about["columns"]} if self.about["columns"] and not self.is_about_files else {}

    def named(self, question: Any) -> dict[str, Any]:
        """What the command says about where the data come from."""
        arguments, files = self._named()
        said = {self.question.word: arguments, **files, **self._columns}
        sources = [each for each in question.parameters.values() if each.is_source and each.name != "files"]
        return {each.name: said.get(each.name, each.default) for each in sources}

    def command(self) -> str:
        """The line that gives the same answer."""
        given = self.query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"chart"})
        off = [name for name, value in given.items() if value is False]  # of flags that are on by default
        given = given | {f"no_{name}": True for name in off}
        arguments, files = self._named()
        return command_line(self.question.command, arguments, {**files, **self._columns, **given})

    @property
    def collection(self) -> Collection:
        return open_collection(PACKED)

    @property
    def study_scores(self) -> Collection | list[str]:
        """The scores that came with a study."""
        return self.collection if self.about["added"] == "collection" else self.about["names"][1:]

    def scores_of_study(self) -> tuple[list[str], dict[str, str]]:
        """The same as the command names them, and its flags for them."""
        arguments, files = self._named()
        return arguments, files | self._columns


_TYPES: dict[str, Any] = {"count": int, "number": float, "flag": Flag, "names": Names}


def make_page(
    name: str,
    *,
    front: tuple[str, ...],
    files: tuple[str, ...] = ("qrels",),
    of: tuple[str, ...] = ("collection", "scores"),
    alone: bool = False,
    scored_by: str = "AP",
    without: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
    remark: str = "",
    example: Callable[[About], dict[str, Any]] = lambda about: {},
    answer: Callable[[Asked], Any] | None = None,
    tables: int = 1,
    waits: bool = False,
    **extra: tuple[Any, Any],
) -> DataPage:
    """The page of a question: ``front`` are the fields that are not folded away, ``without`` the parameters that make
    no sense with data, ``required`` those without which the page has nothing to go by, ``remark`` ends the sentence,
    ``extra`` are fields of the page's own."""
    question = find_question(name)
    data = next(each.name for each in question.parameters.values() if each.is_positional)
    return DataPage(
        name=question.command.replace(" ", "-"),
        title=question.title,
        summary=without_commands(question.summary).rstrip("."),
        query=make_query(
            question, front, scored_by, without, required, "nothing" not in of, **_chart_field(question), **extra
        ),
        answer=answer or (lambda asked: _answer(question, asked, remark)),
        files=files,
        word=data,
        of=of,
        alone=alone,
        tables=tables,
        example=example,
        waits=waits,
    )


def make_query(
    question: declared.Question,
    front: tuple[str, ...],
    scored_by: str = "AP",
    without: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
    with_scores: bool = False,
    **extra: tuple[Any, Any],
) -> type[Query]:
    """What a page may be asked: every parameter that does not say where data comes from, and what is the page's own."""
    left = {name: each for name, each in question.parameters.items() if name not in without}
    asked = {name: each for name, each in left.items() if not each.is_source}
    idle = _idle(question, set(asked), with_scores=with_scores)
    asked = {name: each for name, each in asked.items() if name not in idle}
    about = {name: speak(each.help_for(with_scores=with_scores), "page", PAGE_TITLES) for name, each in asked.items()}
    needed = {name for name, each in asked.items() if each.is_required or name in required}
    made = {name: _field(each, about[name], is_required=name in needed) for name, each in asked.items()}
    fields: dict[str, Any] = {**extra, **made}
    model = create_model(f"{question.name.title().replace('_', '')}Query", __base__=Query, **fields)
    model.__doc__ = f"What ``cranfield {question.command}`` takes."
    model.front, model.scored_by = front, scored_by
    model.groups = _groups(asked, front)
    model.conditions = _conditions(asked, with_scores=with_scores)
    model.choices = {name: _choices(each, with_scores=with_scores) for name, each in asked.items() if each.choices}
    model.usual = {name: each.about.default for name, each in asked.items() if _is_named(each)}
    return model


def _is_named(parameter: declared.Parameter) -> bool:
    """Whether what it is when nothing is chosen is one of the choices."""
    return parameter.default is None and parameter.about.default in parameter.choices


def _choices(parameter: declared.Parameter, *, with_scores: bool) -> dict[str, str]:
    """The texts of the choices; what it is when nothing is chosen comes first, unless it is one of them."""
    about = parameter.about
    texts = {value: about.titles.get(value, value) for value in parameter.choices}
    if parameter.default is not None or _is_named(parameter):
        return texts
    default = speak(parameter.default_for(with_scores=with_scores), "page")
    return {"": about.titles.get("") or default or "–", **texts}


def _idle(question: declared.Question, offered: set[str], *, with_scores: bool) -> set[str]:
    """The parameters that cannot have an effect on a page: what they need is not there, or the data say it."""
    there = offered | ({name for name in question.positional if name in declared.DATA} if with_scores else set())
    idle = {name for name in offered if not _has_effect(question.parameters, name, there)}
    return idle | _idle(question, offered - idle, with_scores=with_scores) if idle else idle


def _has_effect(parameters: Mapping[str, declared.Parameter], name: str, there: set[str]) -> bool:
    about = parameters[name].about
    needs = [each.partition("=")[0] for each in about.requires]
    lacks = any(each in parameters for each in needs) and not there.intersection(needs)
    return not lacks and not any(each in there for each in about.excludes if each in declared.DATA)


def _conditions(asked: Mapping[str, declared.Parameter], *, with_scores: bool) -> dict[str, Conditions]:
    """On which other fields of a form it depends whether a field has an effect."""
    found = {}
    for name, each in asked.items():
        about = each.about
        is_met = with_scores and any(need in declared.DATA for need in about.requires)
        needs = () if is_met else tuple(need for need in about.requires if need.partition("=")[0] in asked)
        without = tuple(other for other in about.excludes if other.partition("=")[0] in asked)
        if needs or without:
            found[name] = Conditions(needs, without)
    return found


def _groups(asked: Mapping[str, Any], front: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Fields that belong together, under the titles of their groups."""
    folded = {name: each for name, each in asked.items() if name not in front and not each.about.advanced}
    titles = dict.fromkeys(each.panel for each in folded.values() if each.panel)
    return {title: tuple(name for name, each in folded.items() if each.panel == title) for title in titles}


def _field(parameter: declared.Parameter, about: str, *, is_required: bool) -> tuple[Any, Any]:
    kind: Any = _TYPES.get(parameter.kind, str)
    if parameter.choices:
        kind = Literal[parameter.choices]
    limits: dict[str, Any] = {}
    if parameter.kind in ("count", "number"):
        bounds = {word: getattr(parameter.about, word) for word in ("gt", "ge", "lt", "le")}
        limits = {word: bound for word, bound in bounds.items() if bound is not None}
    is_optional = parameter.is_optional and parameter.kind not in ("flag", "names") and not is_required
    default = ... if is_required else parameter.default
    default = str(default) if kind is str and isinstance(default, int | float) else default
    annotation = Annotated[kind | None, Given] if is_optional else kind
    return annotation, Field(default=default, title=parameter.label, description=about, **limits)


def _chart_field(question: declared.Question) -> dict[str, tuple[Any, Any]]:
    """What a page shows where there are several charts, as ``--chart`` chooses what ``--plot`` draws."""
    if len(question.charts) < 2:
        return {}
    about = f"The chart to show: {', '.join(question.charts)}."
    kind: Any = Annotated[Literal[question.charts] | None, Given]
    return {"chart": (kind, Field(default=None, title="Chart", description=about))}


def _answer(question: declared.Question, asked: Asked, remark: str) -> Answer:
    result = result_of(question, asked)
    document = result.document()
    document = replace(document, notes=f"{document.notes} {remark}".strip())
    return Answer(document=document, command=asked.command(), **shown(result, getattr(asked.query, "chart", None)))


def result_of(question: declared.Question, asked: Asked, progress: Step | None = None) -> Any:
    """Ask the question of the upload, under the names that its files came with."""
    is_packed = asked.about["kind"] == "collection" and not asked.is_about_files
    folder = "." if is_packed else FILES  # so that messages name files as they came
    with reporting(progress or asked.progress), chdir(folder):
        result = question.ask(**_sources(question, asked), **values(question, asked.query))
    return result.with_inputs(**asked.named(question))


def _sources(question: declared.Question, asked: Asked) -> dict[str, Any]:
    data = asked.question.word
    if asked.is_about_files:
        return {data: asked.about["files"], **asked.named(question)}
    if asked.about["kind"] == "collection":
        return {data: asked.collection}
    return {data: list(asked.about["names"]), "columns": asked.about["columns"] or None}


def values(question: declared.Question, query: BaseModel) -> dict[str, Any]:
    """What was asked, as the question takes it."""
    return {name: getattr(query, name) for name in question.parameters if name in type(query).model_fields}


def shown(result: Result, chart: str | None = None) -> dict[str, Any]:
    """The charts of a result, as quickly as they can be drawn, or the one that was chosen; and the files it offers."""
    how = view(type(result))
    more = {ending: make(result) for ending, make in how.files.items()}
    parts = how.by_measure(result)
    sketched = {name: how.sketch(part) for name, part in parts.items()} if how.sketch and chart is None else {}
    sketches = tuple(Drawing(caption, markup, name) for name, (markup, caption) in sketched.items() if markup)
    if sketches:
        return {"sketches": sketches, "more": more}
    return {"pictures": _pictures(result, chart), "more": more}


def _pictures(result: Result, chart: str | None) -> tuple[tuple[str, Picture], ...]:
    how = view(type(result))
    if chart is not None:
        parts = how.by_measure(result)
        return tuple((name, Picture(chart.capitalize(), part.chart(chart))) for name, part in parts.items())
    return tuple(("", Picture(title, each)) for title, each in how.pictures(result)) if how.pictures else ()


def judges_answer(asked: Asked) -> Answer:
    """One of several tables has the scores under human labels, and each of the others those of a judge."""
    question, names = find_question("judges"), list(asked.about["names"])
    human = asked.query.human or names[0]
    if human not in names:
        raise RequestError(f"there is no file «{human}»", fix=f"Choose one of: {', '.join(names)}.")
    judges = [f"{PurePath(each).stem}={each}" for each in names if each != human]
    columns = asked.about["columns"] or None
    with reporting(asked.progress), chdir(FILES):
        result = question.ask(human, judge=judges, columns=columns, **values(question, asked.query))
    given = asked.query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"chart", "human"})
    command = command_line(question.command, [human], {"judge": judges, "columns": columns, **given})
    return Answer(document=result.document(), command=command, **shown(result, asked.query.chart))


NEW_STUDY, CANDIDATES = "new.study", "topics.txt"  # as the command line calls what has no name yet


def study_answer(asked: Asked) -> Answer:
    """A question about a study, asked of a copy of its file: with a step more, the copy is among the downloads."""
    question = find_question(asked.question.name.replace("-", "_"))
    file = asked.about["study"] or NEW_STUDY
    given = asked.query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"chart"})
    told = values(question, asked.query)
    scores, options = asked.scores_of_study() if "scores" in question.parameters else ([], {})
    if scores:
        told |= {"scores": asked.study_scores, "columns": asked.about["columns"] or None}
    with TemporaryDirectory(dir=".") as copies:
        for each in Path(FILES).iterdir():
            (shutil.copy if each.name == file else os.link)(each, Path(copies, each.name))
        before = Path(copies, file).read_bytes() if asked.about["study"] else b""
        if "topics" in given:
            Path(copies, CANDIDATES).write_text("\n".join(given["topics"].split()), encoding="utf-8")
            told["topics"] = given["topics"] = CANDIDATES
        with reporting(asked.progress), chdir(copies):
            result = question.ask(file, **told)
        after = Path(copies, file).read_bytes()
    made = shown(result, given.get("chart"))
    if after != before:
        made["more"] = {**made["more"], "study": after.decode()}
    result = result.with_inputs(file=file, **({"scores": scores} if scores else {}))
    command = command_line(question.command, [file, *scores], {**options, **given})
    return Answer(document=result.document(), command=command, **made)


CANDIDATE_TOPICS = (
    Annotated[str | None, Given],
    Field(
        default=None,
        title="Candidate topics",
        description="Their identifiers, separated by blanks; a random order of them is drawn.",
    ),
)
HUMAN_FILE = (
    Annotated[str | None, Given],
    Field(
        default=None,
        title="Human labels",
        description="The file with the scores under human labels; the others are judges. Default: the first.",
    ),
)


@dataclass(frozen=True)
class WholeAnswer:
    """A report, and the formats that this machine can write it in."""

    result: ReportResult
    command: str
    endings: tuple[str, ...]
    note: str = ""

    def html(self, links: Mapping[str, str]) -> str:
        return render("whole.html", answer=self, report=make_report(self.result).spoken("page"), links=links)

    def files(self) -> Makers:
        return {ending.removeprefix("."): partial(self._file, ending) for ending in self.endings}

    def _file(self, ending: str) -> bytes:
        return FORMATS[ending](make_report(self.result))

    def noting(self, note: str, labels: Mapping[str, str]) -> WholeAnswer:
        return replace(self, note=" ".join(filter(None, (self.note, note))))

    def kept(self) -> WholeAnswer:
        return self

    @property
    def is_slow(self) -> bool:
        """A PDF starts a browser, and every chart is drawn anew."""
        return True


def report_answer(asked: Asked) -> WholeAnswer:
    """Compute the report; its files are written when they are asked for."""
    result = result_of(find_question("report"), asked)
    if asked.about["kind"] == "collection":  # the command names it after the first of its files
        tables = {result.inputs["scores"][0]: result.about.table}
        result = replace(result, about=replace(result.about, tables=tables))
    endings = list(FORMATS)
    notes: list[str] = []
    try:
        find_browser()
    except CranfieldError as error:  # which prints the PDF, and which not every machine has
        endings.remove(".pdf")
        notes.append(f"There is no PDF: {speak(error.what, 'page')}. Open the report and print it.")
    missing = missing_part("workbook")
    if missing is not None:
        endings.remove(".xlsx")
        notes.append(f"There is no workbook: {missing.what}: {missing.fix}")
    return WholeAnswer(result, asked.command(), tuple(endings), " ".join(notes))
