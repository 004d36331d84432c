"""Scores in tables that have other names for things: which column is the topic, the system, the score."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield.errors import Caution, InputError, RequestError
from cranfield.formats.records import Record
from cranfield.formats.scores import name_problem, text_number
from cranfield.scores.table import TOPIC_ROLES, ScoreTable

# What several scores of one cell can be, and whether systems share it or each has its own.
ROLES = {"seed": "nested", "prompt": "crossed", "judge": "crossed"}
PARTS = ("topic", "system", "measure", "shard", *ROLES, "mean", "score", *TOPIC_ROLES)

_ABSENT = object()


@dataclass(frozen=True)
class Columns:
    """The roles of the columns of a table.

    A name is a column, or a dotted path in JSON (``provider.id``); ``a+b`` joins two columns. Several scores are
    several measures, named as their columns. ``*`` is every numeric column: as ``score``, one measure per column; as
    ``system``, one system per column. By default the system is in the column ``system``, or else the whole file is one
    system. ``shard`` distinguishes scores of one cell; ``seed``, ``prompt`` and ``judge`` do too, and define the
    replicates: seeds are nested in systems, prompts and judges are crossed with them. Scores that differ only in
    ``mean`` are averaged. ``cluster``, ``stratum`` and ``weight`` are of the topic, not of the score: which topics
    belong together, which part of the population a topic is from, and how much it counts.

    >>> Columns.parse("topic=question,system=model,score=faithfulness").topic
    'question'
    """

    topic: str = "topic"
    system: str | None = None
    measure: str | None = None
    shard: str | None = None
    mean: str | None = None
    score: tuple[str, ...] = ()
    replicates: str = ""
    cluster: str | None = None
    stratum: str | None = None
    weight: str | None = None

    @property
    def topic_roles(self) -> dict[str, str]:
        """The columns of clusters, strata and weights, as far as they are named."""
        named = {part: getattr(self, part) for part in TOPIC_ROLES}
        return {part: name for part, name in named.items() if name is not None}

    @classmethod
    def parse(cls, text: str) -> Columns:
        """From ``topic=question,score=faithfulness``; a name with a comma is quoted as in CSV."""
        pairs = [part.partition("=") for part in next(csv.reader([text], skipinitialspace=True), [])]
        unknown = next((name for name, _, value in pairs if name.strip() not in PARTS or not value.strip()), None)
        if unknown is not None or not pairs:
            raise RequestError(
                f"columns cannot be «{text}»", fix=f"Write PART=COLUMN, with commas between; parts: {', '.join(PARTS)}."
            )
        return cls.of([(name.strip(), value.strip()) for name, _, value in pairs])

    @classmethod
    def of(cls, given: Columns | str | Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Columns:
        """From whatever says it: a text, a dict, or pairs; ``score`` may have several columns."""
        if isinstance(given, Columns):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        parts: dict[str, list[str]] = {}
        for name, value in given.items() if isinstance(given, Mapping) else given:
            parts.setdefault(name, []).extend([value] if isinstance(value, str) else value)
        unknown = next((name for name in parts if name not in PARTS), None)
        replicates = _replicates(parts)
        several = next((name for name, values in parts.items() if len(values) > 1 and name != "score"), None)
        if unknown is not None:
            raise RequestError(f"a score has no «{unknown}»", fix=f"Choose among: {', '.join(PARTS)}.")
        if several is not None:
            raise RequestError(f"{several} has two columns", fix=f"Join them: {several}={'+'.join(parts[several])}.")
        score = tuple(parts.pop("score", ()))
        return cls(score=score, replicates=replicates, **{name: values[0] for name, values in parts.items()})


def _replicates(parts: dict[str, list[str]]) -> str:
    """Whether replicates are crossed or nested, by their part or by the name of the column; the part becomes shard."""
    role = ""
    for name in [name for name in ROLES if name in parts]:
        parts.setdefault("shard", []).extend(parts.pop(name))
        role = name
    return ROLES.get(role) or ROLES.get(parts.get("shard", [""])[0].lower(), "")


# Layouts that are known by their columns, so that nobody has to name them.
LAYOUTS = {
    ("name", "qid", "measure", "value"): Columns("qid", "name", "measure", score=("value",)),  # PyTerrier, per query
    ("query_id", "measure", "value"): Columns(
        "query_id", measure="measure", score=("value",)
    ),  # ir_measures, JSON lines
}


# What columns are often called, for a suggestion where they have to be named.
USUAL = {
    "topic": (
        "qid",
        "query_id",
        "query",
        "question_id",
        "question",
        "user_input",
        "input",
        "sample_id",
        "example_id",
        "id",
    ),
    "system": ("system", "run", "model", "name", "pipeline", "method", "prompt", "app_version", "provider"),
}


def suggest(names: Sequence[str]) -> str:
    """How the columns could be named, for people to correct.

    >>> suggest(["qid", "run", "map"])
    'Say what its columns are, for instance: `columns="topic=qid,system=run,score=map"`. There are: qid, run, map.'
    """
    small = {name.lower(): name for name in reversed(names)}
    found = {part: next((small[word] for word in usual if word in small), None) for part, usual in USUAL.items()}
    rest = [name for name in names if name not in found.values()]
    parts = [f"topic={found['topic'] or 'COLUMN'}", *([f"system={found['system']}"] if found["system"] else [])]
    score = rest[-1] if rest and found["topic"] else "COLUMN"
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    there = f"There are: {', '.join(names[:20])}{more}."
    named = ",".join((*parts, f"score={score}"))
    return f'Say what its columns are, for instance: `columns="{named}"`. {there}'


def known_layout(names: Iterable[str]) -> Columns | None:
    """The layout that columns with these names have, if it is a known one."""
    there = set(names)
    return next((columns for layout, columns in LAYOUTS.items() if there >= set(layout) and "topic" not in there), None)


ONE_SYSTEM = Columns(score=("score",))


def layout_of(names: Iterable[str]) -> Columns | None:
    """As `known_layout`; and topics with scores but without systems are of one system, which the file names."""
    there = set(names)
    return ONE_SYSTEM if {"topic", "score"} <= there and "system" not in there else known_layout(there)


def name_of_measure(given: Columns | None, name: str | None) -> str | None:
    """The measure of a table with one column per system: the name of its file."""
    return name if given is not None and given.system == "*" else None


def table_from_records(
    lists: Sequence[Sequence[Record]],
    given: Columns,
    *,
    file: str,
    system: str,
    measure: str | None = None,
    alone: bool = False,
) -> ScoreTable:
    """The scores in records; of several lists, those of the first that has the topics.

    ``system`` names the system where the records do not (``alone``: they are known to be of one system); ``measure`` is
    that of a single column of scores, or of a table with one column per system. A record without any of the scores (as
    in logs) is left out, with a warning.
    """
    records = _with_topics(lists, given, file)
    averaged, named = given.mean is not None, given
    given = _completed(given, records, file, alone=alone)
    cells: dict[_Key, tuple[float, str]] = {}
    empty: dict[_Key, str] = {}
    idle = 0
    for record in records:
        before = len(cells)
        for key, raw, column in _scores(record, given, system, measure):
            if key in cells:
                raise _twice(key, record, cells[key][1])
            cells[key] = (_number(raw, record), record.where)
            if math.isnan(cells[key][0]):
                empty[key] = f"{record.where}, column {column}"
        idle += len(cells) == before
    if len(empty) == len(cells):
        raise InputError(f"no record has a score «{', '.join(given.score)}»", where=file, fix=_there(records))
    table = _table(cells, empty, idle, len(records), sharded=given.shard is not None, averaged=averaged)
    table = _with_topic_roles(table.with_replicates(given.replicates), records, named, file)
    return table.without_shards() if averaged else table


def _with_topic_roles(table: ScoreTable, records: Sequence[Record], given: Columns, file: str) -> ScoreTable:
    """With the clusters, strata and weights of its topics; a topic that has two of them is refused."""
    topics = set(table.topics)
    roles: dict[str, Any] = {}
    for part, column in given.topic_roles.items():
        if all(_value(record.fields, column) is _ABSENT for record in records):
            raise InputError(f"there is no column «{column}» for the {part}", where=file, fix=_there(records))
        known: dict[str, tuple[Any, str]] = {}
        for record in records:
            topic = str(_value(record.fields, given.topic)).strip()
            if topic not in topics:
                continue
            value = _weight(record, column) if part == "weight" else _required_text(record, column, part)
            first, where = known.setdefault(topic, (value, record.where))
            if value != first:
                raise _two_roles(part, topic, (first, value), where, record)
        roles[TOPIC_ROLES[part]] = tuple(known[topic][0] for topic in table.topics)
    return replace(table, **roles)


def _two_roles(part: str, topic: str, values: tuple[Any, Any], first: str, record: Record) -> InputError:
    named = TOPIC_ROLES[part]
    return InputError(
        f"topic «{topic[:40]}» has two {named}, {values[0]} and {values[1]}; the first: {first}",
        where=record.where,
        fix=f"A {part} is of the topic: give all rows of a topic the same one, or topics of two {named} two names.",
    )


def _weight(record: Record, column: str) -> float:
    """The weight of a topic."""
    number = as_number(None if (found := _value(record.fields, column)) is _ABSENT else found)
    if number is None or not number >= 0:
        shown = "missing" if number is not None and number != number else f"«{str(found)[:40]}»"
        raise InputError(f"the weight cannot be {shown}", where=record.where, fix="Write a number of 0 or more.")
    return number


def _with_topics(lists: Sequence[Sequence[Record]], given: Columns, file: str) -> Sequence[Record]:
    for records in lists:
        if any(_value(record.fields, given.topic) is not _ABSENT for record in records):
            return records
    first = next((records for records in lists if records), ())
    raise InputError(f"there is no column «{given.topic}» for the topic", where=file, fix=_there(first))


def _completed(given: Columns, records: Sequence[Record], file: str, *, alone: bool) -> Columns:
    """With the columns that go without saying: ``system``, ``measure`` and ``shard``, and the numbers behind ``*``."""
    if given.shard is not None and given.mean is not None:
        raise RequestError("scores are either kept apart or averaged", fix="Choose one of shard= and mean=.")
    names = dict.fromkeys(name for record in records for name in record.fields)
    own = {part: part if part in names else None for part in ("system", "measure", "shard")}
    of_topics = set(given.topic_roles.values())
    filled = {part: getattr(given, part) or own[part] for part in own}
    filled["shard"] = given.mean or filled["shard"]
    if given.system == "*":
        wide = Columns(given.topic, "*", filled["measure"], filled["shard"], replicates=given.replicates)
        taken = {given.topic, filled["measure"], filled["shard"], *of_topics}
        return replace(wide, score=_numbers(records, taken, file))
    if not (given.score or alone or filled["system"] or "score" in names):
        fix = "Say system=* if each other column is a system, score=* if each is a measure."
        raise RequestError(f"it is unclear what the columns beside «{given.topic}» are", where=file, fix=fix)
    named = (name for name in (filled["system"], filled["measure"], filled["shard"]) if name is not None)
    unknown = next((name for name in named if all(_value(each.fields, name) is _ABSENT for each in records)), None)
    if unknown is not None:
        raise InputError(f"there is no column «{unknown}»", where=file, fix=_there(records))
    scores = given.score or (("score",) if "score" in names else ("*",))
    if "*" in scores:
        scores = _numbers(records, {given.topic, *filled.values(), *of_topics}, file)
    if len(scores) > 1 and filled["measure"] is not None:
        fix = "Leave out measure=, or name one score."
        raise RequestError("scores of several columns are several measures already", fix=fix)
    return Columns(
        given.topic, filled["system"], filled["measure"], filled["shard"], None, scores, replicates=given.replicates
    )


def _numbers(records: Sequence[Record], taken: set[str | None], file: str) -> tuple[str, ...]:
    names = dict.fromkeys(name for record in records for name in record.fields)
    found = tuple(name for name in names if name not in taken and _is_numbers(name, records))
    if not found:
        fix = f"Name one: score=COLUMN. {_there(records)}"
        raise InputError("no column has numbers in every row", where=file, fix=fix)
    return found


def _is_numbers(name: str, records: Sequence[Record]) -> bool:
    values = [as_number(record.fields.get(name)) for record in records]
    return None not in values and any(value == value for value in values)


_Key = tuple[str, str, str, str]


def _scores(record: Record, given: Columns, system: str, measure: str | None) -> Iterator[tuple[_Key, Any, str]]:
    """The cells of one record and their columns: a score of each column, or of each element of a list within it."""
    if all(_value(record.fields, column) is _ABSENT for column in given.score):
        return
    topic = _required_text(record, given.topic, "topic")
    shard = _shard(record, given)
    if given.system == "*":
        named = measure or "score" if given.measure is None else _required_text(record, given.measure, "measure")
        yield from (((named, topic, name, shard), record.fields.get(name), name) for name in given.score)
        return
    whose = system if given.system is None else _required_text(record, given.system, "system")
    for column in given.score:
        found = _value(record.fields, column)
        if found is not _ABSENT:
            for name, raw in _measured(record, column, found, given, measure):
                yield (name, topic, whose, shard), raw, column


def _measured(
    record: Record, column: str, found: Any, given: Columns, measure: str | None
) -> Iterable[tuple[str, Any]]:
    """What a column holds, by measure: a score, scores by name, or a list of scores beside a list of measures."""
    if isinstance(found, Mapping):  # namedScores: a measure a name
        return found.items()
    if given.measure is None:
        return [(measure if measure and len(given.score) == 1 else column, found)]
    measures = _value(record.fields, given.measure)
    if isinstance(measures, list) and isinstance(found, list) and len(measures) == len(found):
        return [(str(name), raw) for name, raw in zip(measures, found, strict=True)]
    return [(_required_text(record, given.measure, "measure"), found)]


def _shard(record: Record, given: Columns) -> str:
    """The shard of a record; an empty one is no shard, as in every format, but a replicate has a name."""
    if given.shard is None:
        return ""
    found = _value(record.fields, given.shard)
    if not given.replicates and (found is None or found is _ABSENT or (isinstance(found, str) and not found.strip())):
        return ""
    return _required_text(record, given.shard, "shard")


def _required_text(record: Record, name: str, part: str) -> str:
    found = _value(record.fields, name)
    if found is _ABSENT:
        raise InputError(f"the {part} is missing: there is no «{name}»", where=record.where, fix=_there([record]))
    if found is None or (isinstance(found, str) and not found.strip()):
        raise InputError(f"the {part} is missing: «{name}» is empty", where=record.where, fix="Fill it in.")
    if isinstance(found, (Mapping, list)):
        fix = (
            f"Name what is in it: {name}.{next(iter(found), '…')}."
            if isinstance(found, Mapping)
            else "Name a single value."
        )
        raise InputError(f"«{name}» is no single {part}", where=record.where, fix=fix)
    reason = name_problem(str(found))
    if reason or isinstance(found, bytes):
        why = reason or "is bytes, not text"
        raise InputError(f"the {part} {why}", where=record.where, fix="Write another name.")
    return str(found).strip()


def _value(fields: Mapping[str, Any], name: str) -> Any:
    """What a name stands for: a column of that name, joined columns, or a way into nested objects."""
    if name in fields:
        return fields[name]
    if "+" in name:
        parts = [_value(fields, part.strip()) for part in name.split("+")]
        return _ABSENT if _ABSENT in parts else " ".join(str(part) for part in parts)
    found: Any = fields
    for step in name.split("."):
        if step == "*" and isinstance(found, Mapping):
            continue
        if isinstance(found, list):
            inside = [each for each in found if isinstance(each, Mapping)]
            if not any(step in each for each in inside):
                return _ABSENT
            found = [each.get(step) for each in inside]
        elif isinstance(found, Mapping) and step in found:
            found = found[step]
        else:
            return _ABSENT
    return found


def as_number(raw: Any) -> float | None:
    """A number, nan for nothing, None for anything else."""
    if raw is None:
        return math.nan
    if isinstance(raw, str):
        return text_number(raw)
    try:
        number = float(raw) if not isinstance(raw, bytes) else math.inf
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isinf(number) else number


def _number(raw: Any, record: Record) -> float:
    number = as_number(raw)
    if number is None:
        fix = "Write a number, true or false, or nothing where there is none."
        raise InputError(f"a score cannot be «{str(raw)[:40]}»", where=record.where, fix=fix)
    return number


def _twice(key: _Key, record: Record, first: str) -> InputError:
    measure, topic, system, shard = key
    of_shard = f", shard {shard}" if shard else ""
    return InputError(
        f"two scores for {measure}, topic «{topic[:40]}», system {system}{of_shard}; the first: {first}",
        where=record.where,
        fix="Delete one; or name what distinguishes them: seed=COLUMN or mean=COLUMN for seeds, system=A+B for "
        "systems.",
    )


def _there(records: Sequence[Record]) -> str:
    names = list(dict.fromkeys(name for record in records[:100] for name in record.fields))
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"There are: {', '.join(names[:20])}{more}."


def _table(
    cells: Mapping[_Key, tuple[float, str]],
    empty: Mapping[_Key, str],
    idle: int,
    records: int,
    *,
    sharded: bool,
    averaged: bool,
) -> ScoreTable:
    names = ("measure", "topic", "system", "shard" if sharded else "", "score")
    rows = [(*key, score) for key, (score, _) in cells.items()]
    warnings = []
    if idle:
        warnings.append(Caution("row-without-score", f"{idle:,} of {records:,} records have no score and are left out"))
    if empty and averaged:
        what = f"{len(empty):,} of {len(rows):,} scores are empty and left out of the means"
        warnings.append(Caution("cell-missing", what, f"Fill them in; the first: {next(iter(empty.values()))}."))
    return replace(ScoreTable.from_rows(rows, columns=names, warnings=warnings), empty=empty)
