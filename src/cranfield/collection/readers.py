"""From files to a collection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cranfield.collection import objects
from cranfield.collection.builder import Base, DuplicateDocumentError, Judged, NamedHits, NamedRun, build, build_judged
from cranfield.collection.collection import Collection
from cranfield.errors import RequestError
from cranfield.formats.file_check import FileKind, OtherFormat, Taken
from cranfield.formats.lines import collector_paused
from cranfield.formats.parquet import is_parquet
from cranfield.formats.problems import Problem, Severity, refuse
from cranfield.formats.qrels import parse_qrels, read_intents, read_probabilities, read_teams
from cranfield.formats.records import decoded, load_json
from cranfield.formats.runs import Order, Precision, RunLines, Ties, in_single_precision, inspect_run, parse_runs
from cranfield.formats.scan import CodedJudgments, CodedRun, JudgedDocuments, JudgedRun, Scanner, Vocabulary
from cranfield.formats.text import BOM, check_there, expand, file_stem, is_dataset, read_bytes, show
from cranfield.runtime.threads import Counter, available_workers, spread
from cranfield.types import Progress

Source = str | Path
Runs = Source | Iterable[Source] | Mapping[str, Any] | Any
JudgmentSource = Source | Mapping[str, Any] | Any

Choice = TypeVar("Choice", bound=StrEnum)


class Name(StrEnum):
    """Where a system's name comes from: its run tag, its file's name, or the tag where that is unambiguous."""

    AUTO = "auto"
    TAG = "tag"
    FILE = "file"


@dataclass(frozen=True, eq=False, repr=False)
class Judgments:
    """Judgments that are read and indexed once, for `qrels` of any number of questions; `judgments` makes them.

    Attributes
    ----------
    source
        What they were read from: a path, the name of a dataset, or the type of an object.
    """

    source: str
    judged: Judged
    base: Base

    def __len__(self) -> int:
        """The number of judgments."""
        return len(self.base.arrays["grade"])

    def __repr__(self) -> str:
        return f"Judgments({self.source!r}: {len(self.base.topics):,} topics, {len(self):,} judgments)"


def judgments(qrels: JudgmentSource | Judgments) -> Judgments:
    """Read judgments once, to score many times.

    Parameters
    ----------
    qrels
        What `qrels` is elsewhere: a file, ``{topic: {document: grade}}``, a data frame, ``irds:NAME``. It is copied: a
        dict that changes later changes nothing.

    Returns
    -------
    Judgments
        To be given as `qrels`.

    Examples
    --------
    >>> import cranfield as cf
    >>> judged = cf.judgments({"1": {"d1": 1, "d2": 0}})
    >>> judged
    Judgments('dict': 1 topics, 2 judgments)
    >>> cf.score({"bm25": {"1": {"d2": 2.0, "d1": 1.0}}}, qrels=judged, measure="RR").table.of("RR").item()
    0.5
    """
    if isinstance(qrels, Judgments):
        return qrels
    judged = Judged(_read_qrels(qrels, Scanner()))
    source = str(qrels) if isinstance(qrels, str | Path) else type(qrels).__name__
    return Judgments(source, judged, Base.lay(judged, ()))


def read_collection(
    runs: Runs,
    qrels: JudgmentSource | Judgments | None = None,
    *,
    intents: Source | None = None,
    probabilities: Source | None = None,
    teams: Source | Mapping[str, str] | None = None,
    order: str = "score",
    ties: str = "docid",
    precision: str = "double",
    name: str = "auto",
    only_judged: bool = False,
    progress: Progress | None = None,
) -> Collection:
    """Read runs and judgments.

    Parameters
    ----------
    runs
        Run files, folders of them, patterns, or ``-`` for standard input; gzip is recognised, and so is JSON. Or runs
        in memory: ``{system: {topic: {document: score}}}``, data frames, objects of ranx, PyTerrier or ir_measures.
    qrels
        Judgments, ``topic 0 document grade``: a file, those in memory, ``irds:NAME``, a dataset of ir_datasets, or
        what :func:`cranfield.judgments` made of one of these.
    intents
        Per-intent judgments, ``topic intent document grade``, for the diversity measures; or judgments of nuggets.
    probabilities
        ``topic intent probability`` lines; intents are equally likely without them. Or the importance of nuggets,
        ``topic nugget vital`` or ``okay``, which are 1 and 0.5.
    teams
        Which team each run is of: a file of ``run team`` lines, or a mapping.
    order
        ``"score"``: by score, the rank column ignored (trec_eval's rule); ``"rank"``: by the rank column.
    ties
        ``"docid"``: by document id, descending (trec_eval's rule); ``"docid-ascending"``; ``"file"``: as the file has
        them (NIST's TREC-8 pools were); ``"average"``: scores are expected values over all orders of tied documents
        (McSherry & Najork 2008), for the measures that have it, in whole lists.
    precision
        ``"double"``: scores as they are written; ``"single"``: rounded to single precision (pytrec_eval's).
    name
        What systems are called: ``"tag"`` (a file may hold several runs), ``"file"``, or ``"auto"``: the tag, where
        every file has one of its own.
    only_judged
        Whether the judged documents of lists are enough, with their ranks: they are for scores, and take a fraction of
        the memory. What is about other documents (shards, pools, packing) is then refused.
    progress
        Called with (files read, files in all).

    Returns
    -------
    Collection
        The ranked lists and the judgments, integer-coded.

    Raises
    ------
    InputError
        When scores would be wrong; the message has the file, the line, the text and what to do.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> folder = tempfile.mkdtemp()
    >>> example = cf.write_example(folder, seed=1)
    >>> collection = read_collection(folder + "/runs", folder + "/qrels.txt")
    >>> len(collection.systems), len(collection.topics)
    (12, 40)
    """
    if qrels is None and intents is None:
        if _are_files(runs):
            check_there([runs] if isinstance(runs, str | Path) else runs)
        raise RequestError("runs cannot be scored without judgments", fix="Give `qrels`, `intents`, or both.")
    how = _How(
        _choice(Order, order, "order"),
        _choice(Ties, ties, "ties"),
        _choice(Precision, precision, "precision"),
        _choice(Name, name, "name"),
    )
    if how.order is Order.RANK and how.precision is Precision.SINGLE:
        raise RequestError("`precision` is that of scores, and ranks decide", fix="Leave out `precision` or `order`.")
    with collector_paused():
        return _read(runs, qrels, intents, probabilities, teams, how, progress, only_judged=only_judged)


def _are_files(runs: Runs) -> bool:
    """Whether runs are named rather than there."""
    if isinstance(runs, str | Path):
        return True
    return isinstance(runs, list | tuple) and all(isinstance(each, str | Path) for each in runs)


def _read(
    runs: Runs,
    qrels: JudgmentSource | Judgments | None,
    intents: Source | None,
    probabilities: Source | None,
    teams: Source | Mapping[str, str] | None,
    how: _How,
    progress: Progress | None,
    *,
    only_judged: bool,
) -> Collection:
    files = expand([runs] if isinstance(runs, str | Path) else runs) if _are_files(runs) else None
    if files == []:
        raise RequestError("no run was named", fix="Name run files, folders or patterns.")
    prepared = qrels if isinstance(qrels, Judgments) else None
    judged = Judged(
        prepared.judged.qrels if prepared else None if qrels is None else _read_qrels(qrels, Scanner()),
        None if intents is None else read_intents(intents),
        None if probabilities is None else read_probabilities(probabilities),
    )
    team_of = teams if teams is None or isinstance(teams, Mapping) else read_teams(teams)
    if only_judged and how.is_usual:
        base = prepared.base if prepared and judged.intents is None else Base.lay(judged, ())

        def read_hits(documents: JudgedDocuments) -> list[NamedHits]:
            return _take_hits(runs, how, documents) if files is None else _read_hits(files, how, documents, progress)

        collection = build_judged(read_hits, base, judged, team_of)
        refuse(collection.warnings)
        return _with_team_warnings(collection, team_of)
    named, vocabularies = _take_runs(runs, how) if files is None else _read_runs(files, how, progress)
    try:
        collection = build(
            named,
            vocabularies,
            judged,
            team_of,
            ascending=how.ties is Ties.ASCENDING,
            keep_ties=how.ties is Ties.AVERAGE,
        )
    except DuplicateDocumentError as duplicate:
        _explain_duplicate(duplicate, named, how)
        raise
    refuse(collection.warnings)
    return _with_team_warnings(collection, team_of)


def _take_hits(runs: Runs, how: _How, documents: JudgedDocuments) -> list[NamedHits]:
    """What is judged of runs that are in memory."""
    _refuse_file_names(how)
    return [NamedHits(system, run) for system, run in objects.judged_runs(runs, documents).items()]


def _refuse_file_names(how: _How) -> None:
    if how.name is Name.FILE:
        raise RequestError("these runs are in no files", fix="Leave out `name`.")


def _take_runs(runs: Runs, how: _How) -> tuple[list[NamedRun], list[Vocabulary]]:
    """Runs that are in memory, coded."""
    _refuse_file_names(how)
    scanner = Scanner()
    found = [NamedRun(system, how.keyed(scanner.code_run(lines)), 0) for system, lines in objects.runs_in(runs).items()]
    return found, [scanner.vocabulary]


def _read_qrels(source: JudgmentSource, scanner: Scanner) -> tuple[CodedJudgments, Vocabulary]:
    """Ordinary judgments, and the vocabulary of their documents."""
    if is_dataset(source) or not isinstance(source, str | Path):
        return objects.coded_judgments(source, scanner), scanner.vocabulary
    data = read_bytes(source)
    if _is_json(data):
        lines = objects.judgments_in(load_json(decoded(data, show(source)), show(source)))
        return scanner.code_judgments(replace(lines, file=show(source))), scanner.vocabulary
    scanned = scanner.scan_judgments(data, show(source))
    if scanned is None:
        scanned = scanner.code_judgments(parse_qrels(data, show(source), intents=False))
    return scanned, scanner.vocabulary


@dataclass(frozen=True)
class _How:
    order: Order
    ties: Ties
    precision: Precision
    name: Name

    @property
    def is_usual(self) -> bool:
        """Whether lists are ranked as trec_eval ranks them."""
        return (self.order, self.ties, self.precision) == (Order.SCORE, Ties.DOCID, Precision.DOUBLE)

    def keyed(self, run: CodedRun) -> CodedRun:
        """The run with the keys that order its lists."""
        if self.precision is Precision.SINGLE:
            run = replace(run, keys=in_single_precision(run.keys))
        return _ties_as_they_come(run) if self.ties is Ties.FILE else run


def _choice(kind: type[Choice], value: str, what: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        raise RequestError(f"{what} cannot be «{value}»", fix=f"Choose one of: {', '.join(kind)}.") from None


def _read_runs(files: Sequence[str], how: _How, progress: Progress | None) -> tuple[list[NamedRun], list[Vocabulary]]:
    """All runs, coded, with the vocabularies of the readers that coded them."""
    workers = min(available_workers(), len(files))
    # Dealt out like cards: neighbours in a folder tend to be of one team and one size.
    hands = [files[start::workers] for start in range(workers)]
    counter = Counter(progress, len(files))
    readers = [_Reader(how, Scanner()) for _ in range(workers)]
    read = spread(
        lambda pair: [(file, pair[0].read(file, counter)) for file in pair[1]], zip(readers, hands, strict=True)
    )
    by_file = {file: (runs, at) for at, hand in enumerate(read) for file, runs in hand}
    found = [(run, at) for file in files for runs, at in [by_file[file]] for run in runs]
    names = _names([run for run, _ in found], how.name)
    named = [NamedRun(system, run, at) for system, (run, at) in zip(names, found, strict=True)]
    return named, [reader.scanner.vocabulary for reader in readers]


@dataclass(frozen=True, eq=False)
class _Reader:
    """One thread's reader: the scanner for what is clean, the careful one for the rest."""

    how: _How
    scanner: Scanner

    def read(self, file: str, counter: Counter) -> list[CodedRun]:
        data = read_bytes(file)
        scanned = None if _is_whole(data) else self.scanner.scan(data, show(file), self.how.order)
        found = map(self.scanner.code_run, _careful_runs(data, file, self.how)) if scanned is None else [scanned]
        runs = [self.how.keyed(run) for run in found]
        counter.step()
        return runs


def _read_hits(
    files: Sequence[str], how: _How, documents: JudgedDocuments, progress: Progress | None
) -> list[NamedHits]:
    """What of all runs is judged."""
    counter = Counter(progress, len(files))

    def read(file: str) -> list[JudgedRun]:
        data = read_bytes(file)
        scanned = None if _is_whole(data) else documents.scan(data, show(file))
        runs = [documents.look_up(run) for run in _careful_runs(data, file, how)] if scanned is None else [scanned]
        counter.step()
        return runs

    found = [run for runs in spread(read, files) for run in runs]
    return [NamedHits(system, run) for system, run in zip(_names(found, how.name), found, strict=True)]


def _careful_runs(data: bytes, file: str, how: _How) -> list[RunLines]:
    """The runs in a file that cannot be scanned."""
    if _is_whole(data):
        return whole_runs(file, data, how.order)
    return parse_runs(data, show(file), order=how.order, by_tag=how.name is Name.TAG)


def _is_whole(data: bytes) -> bool:
    """Whether a file has no lines of its own."""
    return _is_json(data) or is_parquet(data)


def _is_json(data: bytes) -> bool:
    return data.removeprefix(BOM).lstrip()[:1] == b"{"


def whole_runs(file: str, data: bytes, order: Order) -> list[RunLines]:
    """The runs in a JSON or Parquet file, by system or one that is called as the file."""
    name = file_stem(file).removesuffix(".json").removesuffix(".parquet")
    if is_parquet(data):
        return list(objects.parquet_runs(data, show(file), name=name, by_rank=order is Order.RANK).values())
    return list(objects.json_runs(data, show(file), name=name).values())


RUN_FORMATS = (
    OtherFormat(
        FileKind.RUN,
        objects.is_parquet_run,
        taken=lambda *_: Taken("run", "It is Parquet with columns for documents and for what orders them."),
        runs=whole_runs,
        can_be=is_parquet,
    ),
    OtherFormat(
        FileKind.RUN,
        objects.is_json_run,
        taken=lambda *_: Taken("run", "It is an object of scores by topic and document."),
        runs=whole_runs,
        can_be=_is_json,
    ),
)
"""Run files that are read as a whole, for `cranfield.check`."""


def _ties_as_they_come(run: CodedRun) -> CodedRun:
    """The same order with ties as the file has them."""
    keys = np.empty(len(run.codes))
    keys[np.argsort(-run.keys, kind="stable")] = -np.arange(len(run.codes), dtype=np.float64)
    return replace(run, keys=keys)


def _names(runs: Sequence[CodedRun] | Sequence[JudgedRun], name: Name) -> list[str]:
    """What every run is called."""
    owner: dict[str, str] = {}
    names: list[str] = []
    for run in runs:
        if name is Name.AUTO and len(run.tags) > 1:
            if os.path.isfile(run.file):
                refuse(p for p in inspect_run(read_bytes(run.file), run.file)[1] if p.slug == "several-tags")
            tags = ", ".join(run.tags[:5])
            refuse([Problem("several-tags", run.file, detail=f"{len(run.tags)} tags ({tags})")])
        system = file_stem(run.file) if name is Name.FILE else run.tags[0]
        if owner.setdefault(system, run.file) != run.file:
            refuse([Problem("tag-shared", run.file, detail=f"«{system}» is also the name of {owner[system]}")])
        names.append(system)
    return names


def _explain_duplicate(duplicate: DuplicateDocumentError, named: Sequence[NamedRun], how: _How) -> None:
    """Let the careful reader say where the document is that a list has twice."""
    file = next(run.run.file for run in named if run.system == duplicate.system)
    if os.path.isfile(file):  # what came through a pipe is gone
        parse_runs(read_bytes(file), file, order=how.order, by_tag=how.name is Name.TAG)
    refuse([Problem("duplicate-document", file)])


def _with_team_warnings(collection: Collection, teams: Mapping[str, str] | None) -> Collection:
    if teams is None:
        return collection
    lost = [system for system in collection.systems if system not in teams]
    systems = set(collection.systems)
    spare = [system for system in teams if system not in systems]
    found = [Problem("team-missing", "teams", detail=", ".join(lost[:5]), count=len(lost))] if lost else []
    found += [Problem("team-without-run", "teams", detail=", ".join(spare[:5]), count=len(spare))] if spare else []
    kept = [problem for problem in (*collection.warnings, *found) if problem.severity is not Severity.ERROR]
    return replace(collection, warnings=tuple(kept))
