"""Where data comes from: files, frames, dicts or objects in, score tables and collections out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.questions.parameters import Input, JudgmentData, Names, Param, path_list
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.collection import Collection
    from cranfield.methods.design.goals import Scale
    from cranfield.methods.judging.label_sets import LabelSet
    from cranfield.methods.variance import Variances
    from cranfield.scores import ScoreTable

    ScoresLike = (
        str
        | PathLike[str]
        | Sequence[str | PathLike[str]]
        | Mapping[str, Mapping[str, float]]
        | Mapping[str, ScoreTable]
        | ScoreTable
        | Collection
        | Any  # a frame of pandas, Polars or PyArrow
    )
    RunsLike = str | PathLike[str] | Sequence[str | PathLike[str]] | Mapping[str, Any] | Collection | Any
else:
    ScoresLike = RunsLike = Any

Scores = Annotated[
    ScoresLike,
    Input(
        "Score tables, also packed, one file per collection or one per system; or runs with `qrels`, or a packed "
        "collection.",
        metavar="SCORES",
    ),
]
PilotScores = Annotated[
    ScoresLike,
    Input(
        "Pilot scores, also packed (or runs with `qrels`, or a packed collection), to estimate the variance from.",
        metavar="SCORES",
    ),
]
Runs = Annotated[
    RunsLike,
    Input(
        "Run files (also gzip), folders or patterns, - for standard input, or one packed collection.", metavar="RUNS"
    ),
]
Qrels = Annotated[
    JudgmentData,
    Input("Judgments (topic 0 document grade) or irds:NAME.", short="-q", metavar="FILE", requires=("scores",)),
]
BestPer = Annotated[
    str | None,
    Param(
        "Keep only the best system of each team, by the first measure: team, by `teams` or a packed collection, or a "
        "regular expression with one group: the team in a system's name, such as ^([A-Za-z]+).",
        default="all systems",
        label="Best system per",
        metavar="team|PATTERN",
        excludes=("judge",),
    ),
]


@dataclass(frozen=True)
class Tables:
    """Score tables by the name of their collection, and what a result from them should be read with."""

    by_name: Mapping[str, ScoreTable]
    warnings: tuple[Caution, ...] = ()

    @property
    def only(self) -> ScoreTable:
        from cranfield.scores.selection import only_table

        return only_table(self.by_name)

    @property
    def measures(self) -> dict[str, tuple[ScoreTable, str]]:
        """Every measure of every table under its name, with that of the table where there are several.

        The only measure of a file may be called like the file, whose name is then enough.
        """
        from cranfield.scores.score_files import short_names

        if len(self.by_name) == 1:
            return {measure: (self.only, measure) for measure in self.only.measures}
        found: dict[str, tuple[ScoreTable, str]] = {}
        for name, table in zip(short_names(list(self.by_name)), self.by_name.values(), strict=True):
            is_named_alike = table.measures == (name.rpartition("/")[2],)
            found |= {name if is_named_alike else f"{name}: {measure}": (table, measure) for measure in table.measures}
        return found

    @cached_property
    def variances(self) -> Variances:
        """Every estimate of the variance of their scores."""
        from cranfield.methods.variance import estimate_variance

        return estimate_variance(self.by_name)

    @cached_property
    def scales(self) -> Mapping[str, Scale]:
        """The range that the scores of every measure can have."""
        from cranfield.methods.design.planning import scales_of

        return scales_of(self.by_name)

    def check_goals(self, **goals: float | None) -> None:
        """RequestError for a goal that is larger than the range of the scores."""
        named = {kind: value for kind, value in goals.items() if value is not None}
        if named:
            from cranfield.methods.design.goals import check_scale

            for scale in self.scales.values():
                for kind, value in named.items():
                    check_scale(kind, [value], (), scale)


@dataclass(frozen=True, kw_only=True)
class BestPerTeam:
    """How the best system of each team is chosen: by the teams of a list or a collection, or by its name.

    ``always`` are systems that stay whatever their scores.
    """

    best_per: str
    teams: str | None = None
    lower_is_better: bool = False
    always: Sequence[str] = ()
    known: Mapping[str, str] | None = None

    def of(self, collection: Collection) -> BestPerTeam:
        """With the teams that a collection has, where it has some."""
        if collection.teams is None:
            return self
        return replace(self, known=dict(zip(collection.systems, collection.teams, strict=True)))

    def best(self, table: ScoreTable) -> ScoreTable:
        """The table with the best system of each team."""
        from cranfield.scores.selection import best_of_teams, teams_by_name

        teams = self._teams if self.best_per == TEAM else teams_by_name(table.systems, self.best_per)
        return best_of_teams(table, teams, lower_is_better=self.lower_is_better, always=self.always)

    @cached_property
    def _teams(self) -> Mapping[str, str]:
        from cranfield.formats.qrels import read_teams

        if self.known is not None:
            return self.known
        if self.teams is None:
            raise RequestError(
                "nothing says which team a system is of",
                fix="Give a list of «run team» lines as `teams`, or a regular expression as `best_per`.",
            )
        return read_teams(self.teams)


TEAM = "team"


def best_per_team(best_per: str | None, teams: str | None, **more: Any) -> BestPerTeam | None:
    """How the best system of each team is chosen; None where all systems stay."""
    return None if best_per is None else BestPerTeam(best_per=best_per, teams=teams, **more)


def load_tables(
    scores: Any,
    *,
    qrels: JudgmentData = None,
    measure: Names = None,
    missing: str | None = None,
    columns: str | None = None,
    replicates: str | None = None,
    usual: Sequence[str] = ("AP",),
    uses_roles: bool = False,
    choose: BestPerTeam | None = None,
) -> Tables:
    """Score tables from files, frames, dicts and tables; runs are scored by the measures, or the ``usual`` ones.

    Without a policy for missing scores, runs score 0 where they returned nothing, and tables with such are refused.
    Unless the question ``uses_roles`` of topics (clusters, strata, weights), they are left out with a warning.
    ``choose`` keeps the best system of each team.
    """
    from cranfield.scores.evaluation import score_collection
    from cranfield.scores.quality import table_warnings
    from cranfield.scores.selection import complete_tables

    measures = [measure] if isinstance(measure, str) else measure
    if is_collection(scores, qrels):
        if columns is not None:
            what = "`columns` has no effect on runs or a packed collection"
            raise NoEffectError(what, parameter="columns", fix="It goes with score files.")
        from cranfield.measures import parse_measures

        wanted = parse_measures(measures or usual)
        collection = load_collection(
            scores,
            qrels=qrels,
            teams=None if choose is None else choose.teams,
            only_judged=not any(each.kind.compares_runs for each in wanted),
        )
        choose = None if choose is None else choose.of(collection)
        tables = {name_of(scores): score_collection(collection, measures or usual, missing=missing or "zero")}
    else:
        read = _read(scores, measures[0] if measures and len(measures) == 1 else None, columns)
        tables = complete_tables(read, measures=measures, missing=missing, replicates=replicates)
    if not uses_roles:
        tables = {name: ignoring_roles(table) for name, table in tables.items()}
    if choose is not None:
        tables = {name: choose.best(table) for name, table in tables.items()}
    return Tables(tables, table_warnings(tables))


def ignoring_roles(table: ScoreTable) -> ScoreTable:
    """Without clusters, strata and weights of topics, and with a warning where there were any."""
    if not table.has_roles:
        return table
    found = {"clusters": table.clusters, "strata": table.strata, "weights": table.weights is not None}
    named = [word for word, is_there in found.items() if is_there]
    caution = Caution(
        "clusters-ignored",
        f"topics have {' and '.join(named)}, and variances, intervals and numbers of topics are computed as if topics "
        "were independent and counted the same",
        '`compare()`, `power()`, `leaderboard()` and `size()` with `replicates="clusters"` take account of them. Or '
        "average every cluster's scores first.",
    )
    return table.replaced(clusters=(), strata=(), weights=None, warnings=(*table.warnings, caution))


def named_files(given: Any, what: str) -> dict[str, Any]:
    """Files, or other data, by name, from «NAME=FILE» or a dict; without a name, a file goes by its own."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    found: dict[str, Any] = {}
    for each in given or ():
        name, equals, file = each.partition("=")
        if not equals or "/" in name:
            name, file = _stem(each), each
        if not name or not file:
            raise RequestError(f"`{what}` cannot be «{each}»", fix="Write NAME=FILE.")
        if name in found:
            raise RequestError(f"`{what}` names «{name}» twice", fix="Give every label set a name of its own.")
        found[name] = file
    return found


def _stem(path: str) -> str:
    from pathlib import PurePath

    return PurePath(path.removesuffix(".gz")).stem


@dataclass(frozen=True)
class LabelSets:
    """Human labels, if there are some, and those of judges by name."""

    human: LabelSet | None
    judges: Mapping[str, LabelSet]
    warnings: tuple[Caution, ...] = ()

    @property
    def required_human(self) -> LabelSet:
        """Human labels, without which this cannot be answered."""
        if self.human is None:
            raise RequestError("there are no human labels", fix="Give them as `qrels`.")
        return self.human

    @property
    def human_tables(self) -> Tables:
        """Scores under human labels, as other questions take them."""
        return Tables({"human labels": self.required_human.table}, self.warnings)

    @property
    def measures(self) -> tuple[str, ...]:
        """Those that all have."""
        from cranfield.methods.judging.label_sets import common_measures

        return common_measures([*([self.human] if self.human else []), *self.judges.values()])


def load_label_sets(
    scores: Any,
    judge: Any,
    *,
    qrels: JudgmentData = None,
    columns: str | None = None,
    measure: Names = None,
    missing: str | None = None,
) -> LabelSets:
    """Runs under human judgments and under those of judges, or score tables of both."""
    from cranfield.scores.quality import table_warnings

    files = named_files(judge, "judge")
    if not files:
        raise RequestError("`judge` names no file", fix="Write NAME=FILE: the labels of a judge.")
    is_runs = qrels is not None or (columns is None and not are_scores(scores))  # runs have no columns to name
    more: dict[str, Any] = {"is_runs": is_runs, "columns": columns, "measure": measure, "missing": missing}
    if is_runs and run_files(scores) is None:
        raise RequestError(
            "the judgments of a packed collection cannot be replaced by those of a judge",
            fix="Give the runs, with the human judgments as `qrels`.",
        )
    judges = {name: load_labels(scores, each, **more) for name, each in files.items()}
    odd = [each for labels in judges.values() for each in labels.table.warnings]
    if is_runs and qrels is None:
        return LabelSets(None, judges, tuple(dict.fromkeys(odd)))
    human = load_labels(scores, qrels if is_runs else scores, **more)
    warnings = (*table_warnings({"human labels": human.table}), *odd)
    return LabelSets(human, judges, tuple(dict.fromkeys(warnings)))


def load_judged_pilot(scores: Any, judge: Any, correlation: Any, **more: Any) -> LabelSets | None:
    """The labels of a pilot by people and by a judge; None where there is no judge."""
    if judge is None:
        return None
    if correlation is not None:
        raise RequestError("`judge` and `judge_correlation` say the same", fix="Leave out one of them.")
    return load_label_sets(scores, judge, **more)


def load_labels(
    scores: Any, labels: Any, *, is_runs: bool, columns: str | None, measure: Names, missing: str | None
) -> LabelSet:
    """Scores under one set of labels: runs scored by judgments, or a table."""
    from cranfield.methods.judging.label_sets import LabelSet
    from cranfield.scores.evaluation import score_collection
    from cranfield.scores.selection import complete_tables, only_table

    measures = [measure] if isinstance(measure, str) else measure
    if not is_runs:
        read = _read(labels, measures[0] if measures and len(measures) == 1 else None, columns)
        table = ignoring_roles(only_table(complete_tables(read, measures=measures, missing=missing)))
        paths = paths_of(labels)
        if not measures and paths is not None and table.measures == (_stem(paths[0]),):
            table = table.replaced(measures=("score",))  # it had no name but that of its file
        return LabelSet(table=table)
    collection = load_collection(scores, qrels=labels)
    table = score_collection(collection, measures or ("AP",), missing=missing or "zero")
    return LabelSet(table=table, grades=[each for each in collection.judgments() if each[2] >= 0])


def load_scores(scores: Any, *, columns: str | None, measure: Names, missing: str | None) -> ScoreTable:
    """The one score table that files, a frame, a dict or a table hold, with missing scores as they are."""
    from cranfield.scores.selection import only_table

    return only_table(load_score_tables(scores, columns=columns, measure=measure, missing=missing))


def load_score_tables(
    scores: Any, *, columns: str | None, measure: Names, missing: str | None
) -> dict[str, ScoreTable]:
    """Score tables by the name of their collection, with missing scores as they are."""
    from cranfield.scores.selection import complete_tables

    measures = [measure] if isinstance(measure, str) else measure
    read = _read(scores, measures[0] if measures and len(measures) == 1 else None, columns)
    return complete_tables(read, measures=measures, missing=missing or "nan")


def collection_names(tables: Mapping[str, ScoreTable]) -> dict[str, ScoreTable]:
    """Several tables by the names of their files without folder and ending, if these differ.

    A table that has no name of a measure has that of its file; it is then called «score» in all of them.
    """
    stems = [_stem(name) for name in tables]
    if len(set(stems)) < len(stems):
        return dict(tables)
    unnamed = all(table.measures == (stem,) for stem, table in zip(stems, tables.values(), strict=True))
    return {
        stem: table.replaced(measures=("score",)) if unnamed else table
        for stem, table in zip(stems, tables.values(), strict=True)
    }


def are_scores(data: Any) -> bool:
    """Whether data are scores rather than runs: by their type, or by how the first file begins."""
    from cranfield.collection import Collection
    from cranfield.formats.file_check import FileKind
    from cranfield.formats.packed import SCORES, packed_kind
    from cranfield.formats.text import STDIN, expand, read_head
    from cranfield.scores.columnar import HEAD
    from cranfield.scores.score_files import kind_of_head

    paths = paths_of(data)
    if paths is None:
        return not isinstance(data, Collection)
    first = next(iter(expand(paths)), STDIN)
    if first == STDIN:
        return False
    if (kind := packed_kind(first)) is not None:
        return kind == SCORES
    return kind_of_head(read_head(first, HEAD)) is FileKind.SCORES


def averaged(columns: str | None) -> tuple[Caution, ...]:
    """What a plan from means over replicates should be read with; nothing where no column is averaged."""
    from cranfield.scores.columns import Columns

    mean = None if columns is None else Columns.of(columns).mean
    if mean is None:
        return ()
    return (
        Caution(
            "replicates-averaged",
            f"the scores of each topic and system are means over «{mean}»: the variance is that of such means, and a "
            "claim covers the replicates that were averaged, not others",
            "Keep them apart (seed=, prompt= or shard=), and plan for other numbers by `size()` with `replicates`.",
        ),
    )


def names_replicates(columns: str | None) -> bool:
    """Whether columns name the seeds, prompts or judges of scores."""
    from cranfield.scores.columns import Columns

    return columns is not None and bool(Columns.of(columns).replicates)


def _read(scores: Any, measure: str | None, columns: str | None) -> dict[str, ScoreTable]:
    from cranfield.formats.text import expand
    from cranfield.scores import ScoreTable, read_score_files
    from cranfield.scores.score_files import read_folder

    paths = paths_of(scores)
    if paths is not None and len(paths) == 1 and (folder := read_folder(paths[0])) is not None:
        return {name: table for name, table in folder.items() if measure in (None, *table.measures)} or folder
    if paths is not None:
        return read_score_files(expand(paths), measure=measure, columns=columns)
    if isinstance(scores, ScoreTable):
        return {"scores": scores}
    if isinstance(scores, Mapping):
        if scores and all(isinstance(table, ScoreTable) for table in scores.values()):
            return {str(name): table for name, table in scores.items()}
        return {"scores": _from_dict(scores, measure)}
    return {"scores": ScoreTable.from_frame(scores, measure=measure, columns=columns)}


def _from_dict(scores: Mapping[str, Any], measure: str | None) -> ScoreTable:
    """From ``{system: {topic: score}}`` or ``{system: {topic: {measure: score}}}``."""
    from cranfield.scores import ScoreTable
    from cranfield.scores.columnar import one_measure_table

    inner = [each for topics in scores.values() if isinstance(topics, Mapping) for each in topics.values()]
    if not inner:
        shape = "{system: {topic: score}}, or {system: {topic: {measure: score}}}"
        raise InputError("this dict is no score table", fix=f"It should be {shape}.")
    if any(issubclass(kind, Mapping) for kind in set(map(type, inner))):
        return ScoreTable.from_dict(scores)
    return one_measure_table(measure or "score", scores)


def load_collection(
    runs: Any,
    *,
    qrels: JudgmentData = None,
    intents: str | None = None,
    intent_probabilities: str | None = None,
    teams: str | None = None,
    order: str = "score",
    ties: str = "docid",
    precision: str = "double",
    name: str = "auto",
    only_judged: bool = False,
) -> Collection:
    """Runs and judgments, a packed collection, or a collection that is there already."""
    from cranfield.collection import Collection, open_collection, read_collection

    files = run_files(runs)
    in_memory = paths_of(runs) is None and not isinstance(runs, Collection)
    if files is not None and qrels is None and intents is None and are_scores(runs):
        raise RequestError(
            "this needs runs and judgments, and a score table was given",
            fix="Give run files with the judgments, `qrels`; or a packed collection.",
        )
    if files is not None or in_memory:
        return read_collection(
            runs if in_memory else files,
            qrels,
            intents=intents,
            probabilities=intent_probabilities,
            teams=teams,
            order=order,
            ties=ties,
            precision=precision,
            name=name,
            only_judged=only_judged,
            progress=listener(),
        )
    others = {"qrels": qrels, "intents": intents, "intent_probabilities": intent_probabilities, "teams": teams}
    given = [each for each, value in others.items() if value is not None]
    if given:
        what = f"a packed collection has its own judgments: {', '.join(f'`{each}`' for each in given)} has no effect"
        raise NoEffectError(what, parameter=given[0], fix="Leave it out.")
    ranking = {"order": (order, "score"), "ties": (ties, "docid"), "precision": (precision, "double")}
    idle = [each for each, (value, usual) in (ranking | {"name": (name, "auto")}).items() if value != usual]
    if idle:
        raise NoEffectError(
            "a packed collection is ranked and named already: `order`, `ties`, `precision` and `name` have no effect",
            parameter=idle[0],
            fix='`ties="average"` needs the runs.' if ties == "average" else "Give them to `pack()`.",
        )
    return runs if isinstance(runs, Collection) else open_collection(paths_of(runs)[0])  # type: ignore[index]


def load_collections(runs: Any, **files: Any) -> dict[str, Collection]:
    """Several packed collections by their paths, or the one that runs and judgments make."""
    from cranfield.collection import open_collection
    from cranfield.formats.packed import is_packed

    paths = paths_of(runs) or []
    if len(paths) > 1 and all(map(is_packed, paths)) and not files["qrels"] and not files["teams"]:
        return {path: open_collection(path) for path in paths}
    return {name_of(runs): load_collection(runs, **files)}


def collection_warnings(collections: Mapping[str, Collection], measures: Sequence[str]) -> tuple[Caution, ...]:
    """What a result from collections, which go by their names, should be read with."""
    from cranfield.scores.evaluation import score_collection
    from cranfield.scores.quality import table_warnings

    return table_warnings({name: score_collection(collection, measures) for name, collection in collections.items()})


def run_files(runs: Any) -> list[str] | None:
    """Paths of run files, folders and patterns; None of a collection, packed or not."""
    from cranfield.formats.packed import is_packed

    paths = paths_of(runs)
    return None if paths is None or (len(paths) == 1 and is_packed(paths[0])) else paths


def is_collection(scores: Any, qrels: JudgmentData) -> bool:
    """Whether the data are runs or a packed collection rather than score tables."""
    from cranfield.collection import Collection
    from cranfield.formats.packed import COLLECTION, packed_kind

    if isinstance(scores, Collection) or qrels is not None:
        return True
    paths = paths_of(scores)
    return paths is not None and len(paths) == 1 and packed_kind(paths[0]) == COLLECTION


def paths_of(data: Any) -> list[str] | None:
    """Paths as a list of text; None where the data are no paths."""
    found = path_list(data)
    return found if isinstance(found, list) and found and isinstance(found[0], str) else None


def name_of(data: Any) -> str:
    """What a collection is called: the first path, where there is one."""
    paths = paths_of(data)
    return paths[0] if paths else "collection"
