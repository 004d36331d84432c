"""Problems of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Annotated

from cranfield.errors import RequestError
from cranfield.questions import groups, sources
from cranfield.questions.parameters import Input, Names, Param, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.formats.file_check import CheckReport

PLACES = 5  # of each kind of problem, unless all are asked for


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckResult(Result):
    """The files, what each was read as, and every problem.

    Attributes
    ----------
    report
        Files and problems, each problem with its place and its severity.
    strict
        Whether warnings count as errors.
    most
        Places that outputs list of each kind of problem; None for all. The report always has all of them.
    """

    report: CheckReport
    strict: bool = False
    most: int | None = PLACES

    @property
    def exit_code(self) -> int:
        """2 where questions refuse the files: scores would be wrong, or some are missing."""
        return 2 if self.report.failed(strict=self.strict) or self.report.lacks_scores else 0


@question("Problems of the files", examples=("cranfield check runs/ qrels.txt teams.tsv",), working="checking")
def check(
    files: Annotated[
        str | PathLike[str] | Sequence[str | PathLike[str]] | None,
        Input(
            "Files or folders of any kind; the kind is recognised from the content, and the output says why.",
            metavar="FILES",
        ),
    ] = None,
    *,
    run: Annotated[Names, Input("A run file.", metavar="FILE")] = None,
    qrels: Annotated[Names, Input("Judgments.", short="-q", metavar="FILE")] = None,
    intents: Annotated[Names, Input("Per-intent judgments.", metavar="FILE")] = None,
    teams: Annotated[Names, Input("A team list.", short="-t", metavar="FILE")] = None,
    scores: Annotated[Names, Input("A score table.", metavar="FILE")] = None,
    strict: Annotated[bool, Param("Count warnings as errors.", label="count warnings as errors")] = False,
    all: Annotated[
        bool, Param(f"List every problem, not only the first {PLACES} of each kind.", label="list every problem")
    ] = False,
    source: Annotated[groups.SourceLike, groups.Fields(groups.Source, "order", "name")] = None,
) -> CheckResult:
    """Check files before anything is computed from them; exit code 2 when scores would be wrong or are missing.

    Returns
    -------
    CheckResult
        Every problem with its place.

    References
    ----------
    .. [1] E. M. Voorhees and D. K. Harman (eds.), "TREC: Experiment and Evaluation in Information Retrieval", MIT
       Press, 2005.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import cranfield as cf
    >>> with TemporaryDirectory() as folder:
    ...     run = Path(folder, "run")
    ...     _ = run.write_text("1 Q0 d1 1 2.0 demo\\n1 Q0 d1 2 1.0 demo\\n")
    ...     found = cf.check(run)
    >>> [problem.slug for problem in found.report.problems], found.exit_code
    (['duplicate-document'], 2)
    """
    from cranfield.collection.readers import RUN_FORMATS
    from cranfield.formats.file_check import FileKind, check_files
    from cranfield.formats.runs import Order
    from cranfield.formats.text import expand
    from cranfield.scores.score_files import OTHER_FORMATS, check_folder

    read = groups.Source.of(source)
    told = {"run": run, "qrels": qrels, "intents": intents, "teams": teams, "scores": scores}
    kinds = {path: FileKind(kind) for kind, paths in told.items() for path in expand(paths or [])}
    given = sources.paths_of(files) or []
    folders = {path: found for path in given if (found := check_folder(path)) is not None}
    named = list(dict.fromkeys([*kinds, *expand([path for path in given if path not in folders])]))
    if not named and not folders:
        raise RequestError("no file was named", fix="Name at least one file.")
    report = check_files(
        named,
        kinds=kinds,
        order=Order(read.order),
        by_tag=read.name == "tag",
        by_file=read.name == "file",
        others=(*RUN_FORMATS, *OTHER_FORMATS),
        progress=listener(),
    ).joined(folders.values())
    checked = [
        {
            "file": each.file,
            "kind": str(each.kind),
            "lines": each.lines,
            "taken_for": each.taken_for,
            "why": each.why,
            **({"metadata": dict(each.metadata)} if each.metadata else {}),
        }
        for each in report.files
    ]
    return CheckResult(report=report, strict=strict, most=None if all else PLACES, inputs={"files": checked})
