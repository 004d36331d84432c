"""The score table: measures × topics × systems (× shards), with topics shared by all systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.formats.scores import is_unicode
from cranfield.formats.text import is_ascending, natural_key
from cranfield.scores.stored import StoredMatrix, StoredNames, StoredScores, UnreadNames, is_large
from cranfield.types import Array

COLUMNS = ("measure", "topic", "system", "score")
PLACE = "(place)"
"""The column of rows that says where each stands; no file has a column of that name."""

FILL = "Supply the missing scores."

Cell = tuple[str, str, str, str]
"""Measure, topic, system and shard, which is empty where there are none."""
REPLICATES = ("crossed", "nested")
TOPIC_ROLES = {"cluster": "clusters", "stratum": "strata", "weight": "weights"}
"""What a column can say of a topic, and the field of a table that has it."""


_frozen: WeakValueDictionary[int, Array] = WeakValueDictionary()


def own(values: Array) -> Array:
    """Freeze an array that nobody else holds, so that a table takes it as it is and need not copy it."""
    values = np.ascontiguousarray(values, np.float64)
    values.flags.writeable = False
    _frozen[id(values)] = values
    return values


def averaging(measure: str) -> str:
    """What tables of means show for a measure, as the catalogue declares; ``mean`` for one that is not in it."""
    from cranfield.measures import parse_measure

    try:
        return parse_measure(measure).kind.averaged
    except RequestError:
        return "mean"


class Missing(StrEnum):
    """The policy for a cell without a score: 0, nan, or leave out the topic."""

    ZERO = "zero"
    NAN = "nan"
    DROP = "drop"


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of systems on topics.

    ``values[measure, topic, system, shard]``; a table without shards has one, and ``shards`` is empty. A cell without
    a score is nan; ``empty`` says where such a cell stands (file and line) if its row is there. ``warnings`` is what
    was odd about where the scores come from. ``replicates`` says whether systems share the shards (``crossed``) or have
    their own (``nested``), where that is known. ``clusters``, ``strata`` and ``weights`` have one entry per topic where
    topics come in clusters or strata, or count unequally; they are empty, or None, otherwise.

    >>> table = ScoreTable.from_rows([("AP", "401", "a", 0.5), ("AP", "402", "a", 0.25)])
    >>> table.mean("AP")
    {'a': 0.375}
    """

    measures: tuple[str, ...]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Array
    shards: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    empty: Mapping[Cell, str] = field(default_factory=dict)
    replicates: str = ""
    clusters: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    weights: Array | None = None
    stored: ClassVar[StoredScores | None] = None
    """The scores of a large packed file, which are read from it as they are needed."""

    def __post_init__(self) -> None:
        self._check_names()
        self._check_roles()
        if isinstance(self.topics, UnreadNames):
            vars(self)["_topic_names"] = vars(self).pop("topics")
        if isinstance(self.values, StoredScores):
            vars(self)["stored"] = vars(self).pop("values")
            return
        shape = (len(self.measures), self.topic_count, len(self.systems), max(1, len(self.shards)))
        if self.values.shape != shape:
            raise RequestError(f"scores of shape {self.values.shape} do not fit a table of {shape}")
        # A copy, so that nobody else can change a table; in one layout, so that sums round alike wherever it is from.
        if _frozen.get(id(self.values)) is not self.values:
            object.__setattr__(self, "values", own(np.array(self.values, np.float64, order="C")))

    def _check_names(self) -> None:
        """Refuse names that no file can have; those of topics are checked where they are read."""
        for part in ("measures", "systems", "shards"):
            for name in getattr(self, part):
                if not is_unicode(name):
                    what = f"«{name}», one of the {part}, has half of a surrogate pair, which is no character"
                    raise RequestError(what, fix="Give it another name.")

    def _check_roles(self) -> None:
        """Refuse roles that are not of every topic, and weights that are none."""
        for field_name in TOPIC_ROLES.values():
            found = getattr(self, field_name)
            if found is not None and len(found) not in (0, len(self.topics)):
                raise RequestError(f"{len(found):,} {field_name} do not fit {len(self.topics):,} topics")
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights))

    @property
    def has_roles(self) -> bool:
        """Whether topics have clusters, strata or weights."""
        return bool(self.clusters or self.strata or self.weights is not None)

    def topic_roles(self, kept: Sequence[int] | Array | None = None) -> dict[str, Any]:
        """Clusters, strata and weights of some topics by position, or of all, as the fields of a table."""
        places = range(len(self.topics)) if kept is None else [int(at) for at in kept]
        named = {
            name: tuple(getattr(self, name)[at] for at in places)
            for name in ("clusters", "strata")
            if getattr(self, name)
        }
        return named | ({} if self.weights is None else {"weights": self.weights[list(places)]})

    def __getattr__(self, name: str) -> Any:
        """``values`` and ``topics`` that were left in a file, or in a column, when they are first asked for."""
        held = vars(self)
        if name == "values" and "stored" in held:
            held[name] = own(held["stored"].whole())
        elif name == "topics" and "_topic_names" in held:
            held[name] = held["_topic_names"].read()
        else:
            raise AttributeError(f"a {type(self).__name__} has no «{name}»")
        return held[name]

    def __getstate__(self) -> dict[str, Any]:
        gone = {"values"} if self.stored is not None else set()
        return {name: value for name, value in vars(self).items() if name not in gone}

    def replaced(self, **changes: Any) -> ScoreTable:
        """As `dataclasses.replace`; what is in a file stays there."""
        held = vars(self)
        kept = {each.name: held[each.name] for each in fields(self) if each.name in held and each.name not in changes}
        if self.stored is not None and "values" not in changes:
            kept["values"] = self.stored
        if "_topic_names" in held and "topics" not in {**kept, **changes}:
            kept["topics"] = held["_topic_names"]
        return ScoreTable(**kept, **changes)

    @property
    def topic_count(self) -> int:
        """The number of topics, whose names may not have been read yet."""
        return len(vars(self).get("_topic_names") or self.topics)

    def has_topic(self, name: str) -> bool:
        """Whether there is a topic of that name."""
        return name in (vars(self).get("_topic_names") or self.topics)

    @property
    def size(self) -> int:
        """The number of cells, with those that are missing."""
        return self.values.size if self.stored is None else self.stored.size

    def __repr__(self) -> str:
        shards = f", {len(self.shards)} shards" if self.shards else ""
        return f"ScoreTable({', '.join(self.measures)}: {self.topic_count} topics, {len(self.systems)} systems{shards})"

    # --- looking at it

    def of(self, measure: str | None = None) -> Array:
        """Return topics × systems (× shards) of one measure, by default of the only one."""
        values: Array = self.values[self._index(measure)]
        return values if self.shards else values[:, :, 0]

    def matrix(self, measure: str | None = None) -> Array | StoredMatrix:
        """As `of`, but many scores in a packed file are left there, to be read a block of topics at a time."""
        at = self._index(measure)
        if self.stored is None or self.shards or "values" in vars(self):
            return self.of(measure)
        found = self.stored.matrix(at)
        return found if is_large(found) else np.ascontiguousarray(found.rows(0, len(found)))

    def mean(self, measure: str | None = None) -> dict[str, float]:
        """Return the mean of every system over topics (and shards) that have a score."""
        values = self.values[self._index(measure)]
        counts = np.isfinite(values).sum(axis=(0, 2))
        sums = np.nansum(values, axis=(0, 2))
        means = np.divide(sums, counts, out=np.full(len(self.systems), np.nan), where=counts > 0)
        return dict(zip(self.systems, means.tolist(), strict=True))

    def averages(self, measure: str | None = None) -> dict[str, float]:
        """Return what a table of means has for every system.

        That is the mean, but of a measure of the catalogue that is a count (NumRet) the sum, and of one that is a
        logarithm (GMAP) the geometric mean of what it is the logarithm of.
        """
        at = self._index(measure)
        how, means = averaging(self.measures[at]), self.mean(measure)
        if how == "geometric":
            return {system: float(np.exp(mean)) for system, mean in means.items()}
        if how == "sum":
            return dict(zip(self.systems, np.nansum(self.values[at], axis=(0, 2)).tolist(), strict=True))
        return means

    def _index(self, measure: str | None) -> int:
        if measure is None and len(self.measures) == 1:
            return 0
        if measure in self.measures:
            return self.measures.index(measure)
        there = ", ".join(self.measures)
        what = f"the table has no measure «{measure}»" if measure else "the table has several measures"
        raise RequestError(what, fix=f"Name one of: {there}.")

    def select(
        self,
        *,
        measures: Sequence[str] | None = None,
        topics: Sequence[str] | None = None,
        systems: Sequence[str] | None = None,
    ) -> ScoreTable:
        """Return a smaller table, in the given order."""
        if topics is None and systems is None:
            places = _positions("measure", self.measures, measures)
            if places == list(range(len(self.measures))):
                return self
            names = tuple(self.measures[at] for at in places)
            values: Any = self.values[places] if self.stored is None else self.stored.with_measures(places)
            return self.replaced(measures=names, values=values)
        parts = {
            "measures": _positions("measure", self.measures, measures),
            "topics": _positions("topic", self.topics, topics),
            "systems": _positions("system", self.systems, systems),
        }
        if all(places == list(range(len(getattr(self, part)))) for part, places in parts.items()):
            return self
        chosen: dict[str, Any] = {
            part: tuple(getattr(self, part)[at] for at in places) for part, places in parts.items()
        }
        roles = self.topic_roles(parts["topics"])
        return replace(self, values=self.values[np.ix_(*parts.values())], **chosen, **roles)

    @property
    def missing(self) -> int:
        """The number of cells without a score."""
        return int(np.isnan(self.values).sum()) if self.stored is None else self.stored.absent.count

    def settle(self, missing: str) -> ScoreTable:
        """Apply a policy to missing cells: ``zero``, ``drop`` (topics with a missing score) or ``nan`` (unchanged)."""
        policy = choose(Missing, missing, "missing")
        if policy is Missing.NAN or not self.missing:
            return self
        if policy is Missing.ZERO:
            what = f"{self.missing:,} of {self.size:,} scores are missing and count as 0"
            noted = self._noting(Caution("cell-zero", what, FILL))
            if self.stored is not None:
                return noted.replaced(values=replace(self.stored, zero=True))
            return replace(noted, values=np.nan_to_num(self.values, nan=0.0))
        whole = self._whole_topics()
        if not whole.any():
            raise RequestError(
                "there is no topic with a score of every system, so none is left",
                fix='Give systems that share topics, or count missing scores as 0 (`missing="zero"`).',
            )
        lost = [topic for topic, kept in zip(self.topics, whole, strict=True) if not kept]
        noted = self._noting(dropped_topics(lost, len(self.topics), "lack a score"))
        if self.stored is not None:
            return noted._keeping(np.flatnonzero(whole))
        return noted.select(topics=[topic for topic, kept in zip(self.topics, whole, strict=True) if kept])

    def _whole_topics(self) -> Array:
        """Which topics have all their scores."""
        if self.stored is not None:
            return ~self.stored.absent.topics
        return np.asarray(~np.isnan(self.values).any(axis=(0, 2, 3)))

    def _keeping(self, topics: Array) -> ScoreTable:
        """Only some topics of a table in a file."""
        assert self.stored is not None
        before = self.stored.kept
        kept = topics if before is None else before[topics]
        names = StoredNames(path=self.stored.path, stamp=self.stored.stamp, total=self.stored.shape[1], kept=kept)
        return self.replaced(topics=names, values=replace(self.stored, kept=kept), **self.topic_roles(topics))

    def _noting(self, settled: Caution) -> ScoreTable:
        """With what was settled among the warnings, in place of the cells having been missing."""
        kept = tuple(warning for warning in self.warnings if warning.slug != "cell-missing")
        return self.replaced(warnings=(*kept, settled))

    def with_replicates(self, replicates: str | None) -> ScoreTable:
        """Return the table with ``crossed`` or ``nested`` shards; None leaves them unchanged.

        Nested replicates may have other names in every system; they are then numbered within each.
        """
        kind = replicates or self.replicates
        if kind not in ("", *REPLICATES):
            raise RequestError(f"replicates cannot be «{kind}»", fix=f"Choose one of: {', '.join(REPLICATES)}.")
        if kind != "nested" or not self.shards:
            return self if kind == self.replicates else self.replaced(replicates=kind)
        there = np.isfinite(self.values).any(axis=(0, 1))  # systems × shards
        most = int(there.sum(axis=1).max(initial=0))
        if most == len(self.shards):
            return replace(self, replicates=kind)
        own_first = np.argsort(~there, axis=1, kind="stable")[:, :most]
        values = np.take_along_axis(self.values, own_first[np.newaxis, np.newaxis], axis=3)
        gone = not np.isnan(values).any()
        kept = tuple(each for each in self.warnings if not (gone and each.slug == "cell-missing"))
        numbers = tuple(str(number + 1) for number in range(most))
        return replace(self, values=values, shards=numbers, replicates=kind, warnings=kept)

    def without_shards(self) -> ScoreTable:
        """Average every cell over its shards that have a score."""
        counts = np.isfinite(self.values).sum(axis=3, keepdims=True)
        means = np.divide(
            np.nansum(self.values, axis=3, keepdims=True), counts, out=np.full(counts.shape, np.nan), where=counts > 0
        )
        return replace(self, values=means, shards=(), replicates="", empty={})

    # --- other shapes

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Return rows of (measure, topic, system, [shard,] score), without missing cells."""
        for columns in self.row_columns(topics=4096):
            yield from zip(*columns, strict=True)

    def row_columns(self, topics: int | None = None) -> Iterator[list[list[Any]]]:
        """The rows as columns, for some topics at a time; all at once where no number is given."""
        step = topics or max(1, len(self.topics))
        axes = [np.array(names, object) for names in (self.systems, self.shards or ("",))]
        for m, measure in enumerate(self.measures):
            for first in range(0, len(self.topics), step):
                part = self.values[m, first : first + step]
                there = np.nonzero(~np.isnan(part))
                names = np.array(self.topics[first : first + step], object)
                found = [names[there[0]].tolist(), axes[0][there[1]].tolist(), axes[1][there[2]].tolist()]
                yield [[measure] * len(there[0]), *(found if self.shards else found[:2]), part[there].tolist()]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a row's parts."""
        return ("measure", "topic", "system", "shard", "score") if self.shards else COLUMNS

    @classmethod
    def from_rows(
        cls, rows: Iterable[Sequence[Any]], *, columns: Sequence[str] = COLUMNS, warnings: Sequence[Caution] = ()
    ) -> ScoreTable:
        """Make a table from (measure, topic, system, score) rows, or from rows with ``columns``, in any order."""
        from cranfield.scores.columnar import rows_table

        place, stands = _row_places(columns), list(columns).index(PLACE) if PLACE in columns else None
        table = rows_table(list(rows), place, list(columns).index("score"), stands)
        return replace(table, warnings=tuple(warnings)) if warnings else table

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """``{system: {topic: {measure: score}}}``: for each system what pytrec_eval returns."""
        if self.shards:
            raise RequestError("a table with shards has no such form", fix="Use rows() or to_frame().")
        nested: dict[str, dict[str, dict[str, float]]] = {system: {} for system in self.systems}
        for measure, topic, system, score in self.rows():
            nested[system].setdefault(topic, {})[measure] = score
        return nested

    @classmethod
    def from_dict(
        cls, scores: Mapping[str, Any], *, system: str = "run", levels: Sequence[str] = ("system", "topic", "measure")
    ) -> ScoreTable:
        """From ``{system: {topic: {measure: score}}}``, or ``{topic: {measure: score}}`` of the one called ``system``.

        ``levels`` says what the keys are, from the outside in: ranx's runs, for one, have topics within measures.

        >>> bm25 = {"map": {"401": 0.5, "402": 0.25}}
        >>> ScoreTable.from_dict({"bm25": bm25}, levels=("system", "measure", "topic")).mean("map")
        {'bm25': 0.375}
        """
        if sorted(levels) != ["measure", "system", "topic"]:
            raise RequestError(f"levels cannot be {', '.join(levels)}", fix="Order measure, system and topic.")
        shape = f"{{{levels[0]}: {{{levels[1]}: {{{levels[2]}: score}}}}}}"
        if not scores:
            raise InputError("the dict is empty", fix=f"It should be {shape}.")
        depth = _depth(scores)
        if depth not in (2, 3):
            raise InputError(f"a dict of depth {depth} is no score table", fix=f"It should be {shape}.")
        inner = [level for level in levels if level != "system"]
        try:
            rows = [
                (outer, middle, inmost, score)
                for outer, nested in (scores if depth == 3 else {system: scores}).items()
                for middle, last in nested.items()
                for inmost, score in last.items()
            ]
        except AttributeError:
            raise InputError("the dict is not of one depth", fix=f"It should be {shape}.") from None
        return cls.from_rows(rows, columns=[*(levels if depth == 3 else ["system", *inner]), "score"])

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, Iterable[Any]]) -> ScoreTable:
        """Make a table from ``iter_calc`` of ir_measures for each system: ``query_id``, ``measure`` and ``value``."""
        try:
            rows = [
                (each.measure, each.query_id, system, each.value) for system, found in metrics.items() for each in found
            ]
        except (AttributeError, TypeError):
            fix = "Give {system: ir_measures.iter_calc(measures, qrels, run)}."
            raise InputError("these are no metrics of ir_measures", fix=fix) from None
        return cls.from_rows(rows)

    def to_frame(self, backend: str = "pandas", *, wide: bool = False) -> Any:
        """Return a long or wide data frame of pandas, Polars or PyArrow."""
        from cranfield.scores.frames import to_frame

        return to_frame(self, backend, wide=wide)

    @classmethod
    def from_frame(
        cls, frame: Any, *, measure: str | None = None, columns: Any = None, system: str | None = None
    ) -> ScoreTable:
        """Make a table from a data frame that narwhals supports: long, wide, or with other column names.

        ``columns`` says what its columns are, as ``"topic=question,score=faithfulness"`` or as a dict; ``system`` names
        the system of a frame that has no column for it. Tables of known tools, and those with usual names, need no
        ``columns``.
        """
        from cranfield.scores.frames import from_frame

        return from_frame(frame, measure=measure, columns=columns, system=system)


def checked_weights(weights: Any) -> Array:
    """Weights of topics, frozen; refused where one is no number of 0 or more, or all are 0."""
    found = np.array(weights, np.float64)
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise RequestError("weights of topics are numbers of 0 or more, and not all are 0", fix="Check their column.")
    found.flags.writeable = False
    return found


def dropped_topics(lost: Sequence[str], topics: int, why: str) -> Caution:
    """That topics were left out, how many, which, and why."""
    names = ", ".join(lost[:5]) + f" and {len(lost) - 5:,} more" * (len(lost) > 5)
    return Caution("topic-dropped", f"{len(lost):,} of {topics:,} topics {why} and are left out ({names})", FILL)


def choose(kind: type[Missing], value: str, what: str) -> Missing:
    """One of the policies by name."""
    try:
        return kind(value)
    except ValueError:
        raise RequestError(f"{what} cannot be «{value}»", fix=f"Choose one of: {', '.join(kind)}.") from None


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """Names in the order people expect: numbers by value, then everything else by its text."""
    distinct: Collection[str] = names if isinstance(names, list) and is_ascending(names) else dict.fromkeys(names)
    if not any(map(str.isdigit, distinct)):
        return tuple(sorted(distinct))
    return tuple(sorted(distinct, key=natural_key))


def _positions(what: str, names: tuple[str, ...], wanted: Sequence[str] | None) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    place = {name: at for at, name in enumerate(names)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise RequestError(f"there is no {what} «{unknown[0]}»", fix=there_are(names))
    return [place[name] for name in wanted]


def _row_places(columns: Sequence[str]) -> list[int | None]:
    place = {name: at for at, name in enumerate(columns)}
    lacking = [name for name in COLUMNS if name not in place]
    if lacking:
        raise InputError(f"there is no column «{lacking[0]}»", fix=f"Columns needed: {', '.join(COLUMNS)}.")
    return [place["measure"], place["topic"], place["system"], place.get("shard")]


def _depth(nested: Any) -> int:
    depth = 0
    while isinstance(nested, Mapping) and nested:
        depth += 1
        nested = next(iter(nested.values()))
    return depth
