"""The score table: measures × topics × systems (× shards), with topics shared by all systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from cranfield.errors import Caution, InputError, RequestError
from cranfield.formats.name_order import natural_key
from cranfield.formats.scores import NOTHING
from cranfield.types import Array

COLUMNS = ("measure", "topic", "system", "score")
PLACE = "(place)"
"""The column of rows that says where each stands; no file has a column of that name."""

FILL = "Fill them in to be sure."

Cell = tuple[str, str, str, str]
"""Measure, topic, system and shard, which is empty where there are none."""
REPLICATES = ("crossed", "nested")


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
    their own (``nested``), where that is known.

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

    def __post_init__(self) -> None:
        shape = (len(self.measures), len(self.topics), len(self.systems), max(1, len(self.shards)))
        if self.values.shape != shape:
            raise RequestError(f"scores of shape {self.values.shape} do not fit a table of {shape}")
        # A copy, so that nobody else can change a table; in one layout, so that sums round alike wherever it is from.
        values = np.array(self.values, np.float64, order="C")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        shards = f", {len(self.shards)} shards" if self.shards else ""
        return f"ScoreTable({', '.join(self.measures)}: {len(self.topics)} topics, {len(self.systems)} systems{shards})"

    # --- looking at it

    def of(self, measure: str | None = None) -> Array:
        """Return topics × systems (× shards) of one measure, by default of the only one."""
        values: Array = self.values[self._index(measure)]
        return values if self.shards else values[:, :, 0]

    def mean(self, measure: str | None = None) -> dict[str, float]:
        """Return the mean of every system over topics (and shards) that have a score."""
        values = self.values[self._index(measure)]
        counts = np.isfinite(values).sum(axis=(0, 2))
        sums = np.nansum(values, axis=(0, 2))
        means = np.divide(sums, counts, out=np.full(len(self.systems), np.nan), where=counts > 0)
        return dict(zip(self.systems, means.tolist(), strict=True))

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
        parts = {
            "measures": _positions("measure", self.measures, measures),
            "topics": _positions("topic", self.topics, topics),
            "systems": _positions("system", self.systems, systems),
        }
        names: dict[str, Any] = {
            part: tuple(getattr(self, part)[at] for at in places) for part, places in parts.items()
        }
        return replace(self, values=self.values[np.ix_(*parts.values())], **names)

    @property
    def missing(self) -> int:
        """The number of cells without a score."""
        return int(np.isnan(self.values).sum())

    def settle(self, missing: str) -> ScoreTable:
        """Apply a policy to missing cells: ``zero``, ``drop`` (topics with a missing score) or ``nan`` (unchanged)."""
        policy = choose(Missing, missing, "missing")
        if policy is Missing.NAN or not self.missing:
            return self
        if policy is Missing.ZERO:
            what = f"{self.missing:,} of {self.values.size:,} scores are missing and count as 0"
            noted = self._noting(Caution("cell-zero", what, FILL))
            return replace(noted, values=np.nan_to_num(self.values, nan=0.0))
        whole = np.asarray(~np.isnan(self.values).any(axis=(0, 2, 3)))
        if not whole.any():
            raise RequestError("every topic misses a score somewhere, so none is left", fix="Choose zero or nan.")
        lost = [topic for topic, kept in zip(self.topics, whole, strict=True) if not kept]
        noted = self._noting(dropped_topics(lost, len(self.topics), "miss a score"))
        return noted.select(topics=[topic for topic, kept in zip(self.topics, whole, strict=True) if kept])

    def _noting(self, settled: Caution) -> ScoreTable:
        """With what was settled among the warnings, in place of the cells having been missing."""
        kept = tuple(warning for warning in self.warnings if warning.slug != "cell-missing")
        return replace(self, warnings=(*kept, settled))

    def with_replicates(self, replicates: str | None) -> ScoreTable:
        """Return the table with ``crossed`` or ``nested`` shards; None leaves them unchanged.

        Nested replicates may have other names in every system; they are then numbered within each.
        """
        kind = replicates or self.replicates
        if kind not in ("", *REPLICATES):
            raise RequestError(f"replicates cannot be «{kind}»", fix=f"Choose one of: {', '.join(REPLICATES)}.")
        there = np.isfinite(self.values).any(axis=(0, 1))  # systems × shards
        most = int(there.sum(axis=1).max(initial=0))
        if kind != "nested" or not self.shards or most == len(self.shards):
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
        for m, measure in enumerate(self.measures):
            for t, topic in enumerate(self.topics):
                cells = self.values[m, t].tolist()
                for system, scores in zip(self.systems, cells, strict=True):
                    for shard, score in zip(self.shards or ("",), scores, strict=True):
                        if score == score:
                            yield (
                                (measure, topic, system, shard, score)
                                if self.shards
                                else (measure, topic, system, score)
                            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a row's parts."""
        return ("measure", "topic", "system", "shard", "score") if self.shards else COLUMNS

    @classmethod
    def from_rows(
        cls, rows: Iterable[Sequence[Any]], *, columns: Sequence[str] = COLUMNS, warnings: Sequence[Caution] = ()
    ) -> ScoreTable:
        """Make a table from (measure, topic, system, score) rows, or from rows with ``columns``, in any order."""
        place, stands = _row_places(columns), list(columns).index(PLACE) if PLACE in columns else None
        score = list(columns).index("score")
        cells: dict[Cell, float] = {}
        empty: dict[Cell, str] = {}
        for row in rows:
            measure, topic, system, shard = ("" if at is None else str(row[at]) for at in place)
            key = (measure, topic, system, shard)
            if key in cells:
                raise InputError(
                    f"two scores for measure {measure}, topic {topic}, system {system}", fix="Delete one of them."
                )
            cells[key] = _number(row[score])
            if stands is not None and cells[key] != cells[key]:
                empty[key] = str(row[stands])
        if not cells:
            raise InputError("there are no scores", fix="Check where they come from.")
        return replace(_filled(cls, cells, warnings), empty=empty)

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
        the system of a frame that has no column for it. PyTerrier's per-query results are known without.
        """
        from cranfield.scores.frames import from_frame

        return from_frame(frame, measure=measure, columns=columns, system=system)


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
    return tuple(sorted(dict.fromkeys(names), key=natural_key))


def _number(value: Any) -> float:
    try:
        number = float("nan") if value is None or str(value).strip().lower() in NOTHING else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("inf")
    if number in (float("inf"), float("-inf")):
        raise InputError(f"a score cannot be «{str(value)[:40]}»", fix="Give finite numbers, or nothing for none.")
    return number


def _positions(what: str, names: tuple[str, ...], wanted: Sequence[str] | None) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    place = {name: at for at, name in enumerate(names)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise RequestError(f"there is no {what} «{unknown[0]}»", fix=f"There are: {', '.join(names[:10])}.")
    return [place[name] for name in wanted]


def _row_places(columns: Sequence[str]) -> list[int | None]:
    place = {name: at for at, name in enumerate(columns)}
    lacking = [name for name in COLUMNS if name not in place]
    if lacking:
        raise InputError(f"there is no column «{lacking[0]}»", fix=f"Columns needed: {', '.join(COLUMNS)}.")
    return [place["measure"], place["topic"], place["system"], place.get("shard")]


def _filled(cls: type[ScoreTable], cells: Mapping[Cell, float], warnings: Sequence[Caution]) -> ScoreTable:
    measures = tuple(dict.fromkeys(key[0] for key in cells))
    topics, systems, shards = (natural(key[at] for key in cells) for at in (1, 2, 3))
    places = [{name: at for at, name in enumerate(names)} for names in (measures, topics, systems, shards)]
    values = np.full([len(names) for names in places], np.nan)
    for key, score in cells.items():
        values[tuple(place[name] for place, name in zip(places, key, strict=True))] = score
    return cls(measures, topics, systems, values, () if shards == ("",) else shards, tuple(warnings))


def _depth(nested: Any) -> int:
    depth = 0
    while isinstance(nested, Mapping) and nested:
        depth += 1
        nested = next(iter(nested.values()))
    return depth
