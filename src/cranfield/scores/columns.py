"""Scores in tables that have other names for things: which column is the topic, the system, the score."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.formats.problems import shorten
from cranfield.formats.records import Record
from cranfield.formats.scores import LONG, name_problem, text_number
from cranfield.formats.tool_files import Form, tool_file
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
    ignore: tuple[str, ...] = ()
    """Columns that ``*`` does not take, though they may have numbers."""
    origin: str = ""
    """Where nobody has named them: «tool» of a known tool's, «guess» of usual names."""

    @property
    def topic_roles(self) -> dict[str, str]:
        """The columns of clusters, strata and weights, as far as they are named."""
        named = {part: getattr(self, part) for part in TOPIC_ROLES}
        return {part: name for part, name in named.items() if name is not None}

    @property
    def guessed(self) -> bool:
        return self.origin == "guess"

    @property
    def usual_measure(self) -> str | None:
        """The measure of columns that were recognised by usual names, where its name says nothing, such as «Score»."""
        return "score" if self.guessed and len(self.score) == 1 and self.score[0].lower() in _SCORE else None

    @property
    def text(self) -> str:
        """What a person would write to name them.

        >>> Columns("qid", "run", score=("ndcg",)).text
        'topic=qid,system=run,score=ndcg'
        """
        shard = {"nested": "seed", "crossed": "judge"}.get(self.replicates, "shard")
        parts = [("topic", self.topic), ("system", self.system), ("measure", self.measure), (shard, self.shard)]
        named = [(part, name) for part, name in (*parts, ("mean", self.mean)) if name is not None]
        return columns_line((*named, *self.topic_roles.items(), *(("score", name) for name in self.score)))

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
        single: dict[str, Any] = {name: values[0] for name, values in parts.items()}
        return cls(score=score, replicates=replicates, **single)


def columns_line(pairs: Iterable[tuple[str, str]]) -> str:
    """Parts and columns as `Columns.parse` reads them."""
    written = (f"{part}={name}" for part, name in pairs)
    return ",".join('"{}"'.format(pair.replace('"', '""')) if "," in pair else pair for pair in written)


def _replicates(parts: dict[str, list[str]]) -> str:
    """Whether replicates are crossed or nested, by their part or by the name of the column; the part becomes shard."""
    role = ""
    for name in [name for name in ROLES if name in parts]:
        parts.setdefault("shard", []).extend(parts.pop(name))
        role = name
    return ROLES.get(role) or ROLES.get(parts.get("shard", [""])[0].lower(), "")


# What columns are often called.
USUAL = {
    "topic": (
        "topic",
        "topic_id",
        "topicid",
        "qid",
        "query_id",
        "queryid",
        "query",
        "question_id",
        "question",
        "user_input",
        "input",
        "sample_id",
        "example_id",
        "item_id",
        "id",
    ),
    "system": (
        "system",
        "system_id",
        "run",
        "run_id",
        "runid",
        "model",
        "model_name",
        "name",
        "pipeline",
        "method",
        "prompt",
        "app_version",
        "provider",
    ),
    "measure": ("measure", "metric"),
    "seed": ("seed",),
    "judge": ("judge",),
    "shard": ("shard",),
}
_SCORE = ("score", "value")
DOCUMENTS = {"corpus-id", "doc", "doc_id", "docid", "docno", "document", "document_id", "rank"}  # runs and judgments
_UNSURE = {"name", "prompt"}  # a prompt may be a system or a replicate, and anything has a name
_NO_SYSTEMS = {
    *("accuracy", "acc", "answer_relevancy", "bleu", "category", "correct", "correctness", "cost", "count", "em"),
    *("exact_match", "f1", "faithfulness", "latency", "length", "map", "ndcg", "pass", "precision", "rank", "recall"),
    *("relevance", "rouge", "similarity", "success", "task", "time", "tokens", "turn", "tstamp", "weight"),
}
"""Names of columns that say something else than which system was scored."""


def suggest(names: Sequence[str]) -> str:
    """How the columns could be named, for people to correct.

    >>> suggest(["qid", "run", "map"])
    'Say what its columns are, for instance: `columns="topic=qid,system=run,score=map"`. There are: qid, run, map.'
    """
    found = _usual_parts(names)
    rest = [name for name in names if name not in found.values()]
    score = _usual_score(names) or rest[-1:]
    if "topic" not in found:
        score = []
    elif len(found) == 1 and len(rest) > 1 and all(map(_is_measure, rest)):
        score = rest[:10]
    named = [("topic", found.pop("topic", "COLUMN")), *found.items()]
    line = columns_line((*named, *(("score", name) for name in score or ["COLUMN"])))
    either = ""
    if score and len(named) == 1 and len(rest) > 1:
        either = f'; or, if each other column is a system, `columns="{columns_line((*named, ("system", "*")))}"`'
    return f'Say what its columns are, for instance: `columns="{line}"`{either}. {there_are(names, most=20)}'


def _usual_parts(names: Sequence[str]) -> dict[str, str]:
    """The column of every part that has a usual name; of several the most usual."""
    small = {name.lower(): name for name in reversed(names)}
    found: dict[str, str] = {}
    for part, usual in USUAL.items():
        there = [small[word] for word in usual if word in small and small[word] not in found.values()]
        found |= {part: there[0]} if there else {}
    return found


def _usual_score(names: Sequence[str]) -> list[str]:
    return [name for word in _SCORE for name in names if name.lower() == word][:1]


def likely(names: Sequence[str], numbers: Collection[str], repeated: Collection[str] = ()) -> Columns:
    """What columns probably are, for people to correct: ``numbers`` are those of numbers, ``repeated`` have few values.

    >>> likely(["qid", "engine", "metric", "val"], {"val"}).text
    'topic=qid,system=engine,measure=metric,score=val'
    >>> likely(["Frage", "bm25", "dense"], {"bm25", "dense"}).text
    'topic=Frage,system=*'
    >>> likely(["query", "run", "map", "ndcg", "note"], {"map", "ndcg"}).text
    'topic=query,system=run,score=map,score=ndcg'

    A column of text is no system's scores; of several, the one whose values are repeated says which system it was:

    >>> likely(["Question", "LLM", "Rating"], {"Rating"}).text
    'topic=Question,system=LLM,score=Rating'
    >>> likely(["Question", "Answer", "LLM", "Rating"], {"Rating"}, {"LLM"}).text
    'topic=Question,system=LLM,score=Rating'
    """
    sure = known_layout(names) or guess(names)
    if sure is not None and not (sure.system == "*" and set(names) - {sure.topic, *numbers}):
        taken = {sure.topic, sure.system, sure.measure, sure.shard, *sure.ignore}
        several = tuple(name for name in names if name in numbers and name not in taken)
        return replace(sure, score=several) if sure.score == ("*",) and several else sure
    found = _usual_parts(names)
    topic = found.setdefault("topic", next((name for name in names if name not in found.values()), names[0]))
    rest = [name for name in names if name not in found.values()]
    scores = _usual_score(rest) or [name for name in rest if name in numbers]
    texts = [name for name in rest if name not in numbers]
    systems = texts if len(texts) == 1 else [name for name in texts if name in repeated]
    if "system" not in found and len(systems) == 1:
        found["system"] = systems[0]
    if "system" not in found and not texts and len(scores) > 1 and not any(map(_is_measure, scores)):
        return Columns(topic, "*", found.get("measure"))
    return Columns.of([*found.items(), *(("score", name) for name in scores)])


def may_be_scores(names: Sequence[str]) -> bool:
    """Whether a table has a column for the topics, so that it can be read once its columns are named."""
    small = {name.lower() for name in names}
    return len(names) > 1 and not small.isdisjoint(USUAL["topic"]) and small.isdisjoint(DOCUMENTS)


def guess(names: Sequence[str]) -> Columns | None:
    """What columns with usual names are; None where nothing says it, or where it could be read in two ways.

    >>> guess(["Query", "Run", "nDCG"]).text, guess(["qid", "bm25", "dense"]).text
    ('topic=Query,system=Run,score=nDCG', 'topic=qid,system=*')
    >>> guess(["qid", "ap", "ndcg"]) is None, guess(["query_id", "query", "run", "map"]) is None
    (True, True)
    """
    small = [name.lower() for name in names]
    if len(set(small)) < len(small) or not all(small):
        return None
    found = {part: [names[at] for at, word in enumerate(small) if word in usual] for part, usual in USUAL.items()}
    shards = [(part, name) for part in ("seed", "judge", "shard") for name in found[part]]
    if not DOCUMENTS.isdisjoint(small) or {name.lower() for name in found["system"]} & _UNSURE:
        return None
    if len(found["topic"]) != 1 or max(len(found["system"]), len(found["measure"]), len(shards)) > 1:
        return None
    taken = {name for columns in found.values() for name in columns}
    rest = [name for name in names if name not in taken]
    named = [name for name in rest if name.lower() in _SCORE]
    (topic,), (system, measure) = found["topic"], (next(iter(found[part]), None) for part in ("system", "measure"))
    if system is None and not named:
        return _guess_wide(topic, rest, names) if not (measure or shards) else None
    if len(named) > 1 or not rest:
        return None
    role, shard = shards[0] if shards else ("", None)
    score = named or (rest if len(rest) == 1 else ["*"])
    return Columns(topic, system, measure, shard, score=tuple(score), replicates=ROLES.get(role, ""), origin="guess")


def _guess_wide(topic: str, rest: Sequence[str], names: Sequence[str]) -> Columns | None:
    """Topics first, and then one column per system, where no name is that of a measure."""
    if names[0] != topic or len(rest) < 2 or any(_is_measure(name) for name in rest):
        return None
    return Columns(topic, "*", origin="guess")


def _is_measure(name: str) -> bool:
    """Whether a column has the name of a measure, or of something else that is no system."""
    from cranfield.measures import parse_measure

    word = name.lower()
    if not _NO_SYSTEMS.isdisjoint((word, *word.replace("@", "_").replace("-", "_").split("_"))):
        return True
    try:
        return bool(parse_measure(name))
    except RequestError:
        return False


def guess_caution(given: Columns) -> Caution:
    """That columns were taken for something, and for what."""
    return Caution(
        "columns-guessed",
        f"the columns were taken for {given.text}",
        f'If they are something else, name them: `columns="{given.text}"`.',
    )


def repeats_caution(further: int, given: Columns) -> tuple[Caution, ...]:
    """That cells have several scores, where nobody has asked for their means."""
    if not given.origin or further < 1:
        return ()
    repeat = "score repeats" if further == 1 else "scores repeat"
    what = f"{further:,} {repeat} a topic and system that have one already; the mean of their scores is used"
    return (Caution("repeats-averaged", what, "Check where they are from."),)


def known_layout(names: Iterable[str]) -> Columns | None:
    """The layout that columns with these names have, if it is that of a known tool."""
    there = list(names)
    if "topic" in there:
        return None
    found = tool_file(Form.COLUMNS, there)
    if found is None or found.columns is None:
        return None
    roles = dict(found.columns(there))
    ignore = tuple(roles.pop("ignore", ()))
    return replace(Columns.of(roles), ignore=ignore, origin="tool")


ONE_SYSTEM = Columns(score=("score",))


def layout_of(names: Iterable[str]) -> Columns | None:
    """As `known_layout`, or as `guess`; topics with scores but without systems are of one system, which the file names.

    None of a table with the usual names: those of a long table, or «topic» and one column per system.
    """
    there = list(names)
    if {"topic", "score"} <= set(there) and "system" not in {name.lower() for name in there}:
        return ONE_SYSTEM
    if "topic" in there and (set(LONG) <= set(there) or not set(LONG) <= {name.lower() for name in there}):
        return None
    return known_layout(there) or guess(there)


def name_of_measure(given: Columns | None, name: str | None) -> str | None:
    """The measure of a table with one column per system: the name of its file."""
    return name if given is not None and given.system == "*" else None


def measure_of(column: str, named: str | None, given: Columns) -> str:
    """The measure of a single column of scores: its heading, or ``named`` where the heading names none.

    A column that somebody chose may be given another name; one that was recognised may not.

    >>> recognised = Columns(origin="guess")
    >>> measure_of("recall", "nDCG@10", recognised), measure_of("Score", "nDCG@10", recognised)
    ('recall', 'nDCG@10')
    >>> measure_of("recall", "nDCG@10", Columns(score=("recall",)))
    'nDCG@10'
    """
    return named if named and (not given.origin or _names_none(column)) else column


def _names_none(column: str) -> bool:
    return column.rpartition(".")[2].lower() in _SCORE


def renamed_caution(given: Columns, table: ScoreTable) -> tuple[Caution, ...]:
    """That a column that somebody chose has scores of a measure with another name."""
    column = given.score[0] if len(given.score) == 1 else "*"
    if given.origin or given.measure or "*" in (column, given.system) or _names_none(column):
        return ()
    if table.measures == (column,) or len(table.measures) > 1:
        return ()
    what = f"scores of the column «{column}» are called {table.measures[0]}"
    return (Caution("measure-named", what, "Leave out `measure` if they are scores of another measure."),)


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
    that of a single column of scores whose heading names none, or of a table with one column per system. A record
    without any of the scores (as in logs) is left out, with a warning.
    """
    records = _with_topics(lists, given, file)
    averaged, asked = given.mean is not None, given
    measure = measure or given.usual_measure
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
    table = _with_topic_roles(table.with_replicates(given.replicates), records, asked, file)
    if averaged:
        further = len(cells) - len(empty)
        table = table.without_shards()
        further -= table.size - table.missing
        table = replace(table, warnings=(*table.warnings, *repeats_caution(further, asked)))
    table = (
        replace(table, warnings=(*table.warnings, *renamed_caution(replace(given, score=asked.score), table)))
        if measure
        else table
    )
    understood = asked if asked.system == "*" else replace(asked, score=given.score)
    return replace(table, warnings=(*table.warnings, guess_caution(understood))) if asked.guessed else table


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
        fix=f"Each topic must have exactly one {part}: give all its rows the same one, or rename topics that differ.",
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
        if not given.guessed:
            _check_cells(records, [name for name in names if name not in taken])
        wide = replace(wide, score=_numbers(records, taken, file))
        if given.guessed and len(wide.score) < len(names) - 1:
            raise _unclear(records, file)
        _check_headings(wide.score, file)
        return wide
    if not (given.score or alone or filled["system"] or "score" in names):
        fix = "Say system=* if each other column is a system, score=* if each is a measure."
        raise RequestError(f"it is unclear what the columns beside «{given.topic}» are", where=file, fix=fix)
    named = (name for name in (filled["system"], filled["measure"], filled["shard"]) if name is not None)
    unknown = next((name for name in named if all(_value(each.fields, name) is _ABSENT for each in records)), None)
    if unknown is not None:
        raise InputError(f"there is no column «{unknown}»", where=file, fix=_there(records))
    scores = given.score or (("score",) if "score" in names else ("*",))
    if "*" in scores:
        scores = _numbers(records, {given.topic, *filled.values(), *of_topics, *given.ignore}, file)
    if given.guessed and len(scores) > 1:
        raise _unclear(records, file, scores)
    if len(scores) > 1 and filled["measure"] is not None:
        fix = "Leave out measure=, or name one score."
        raise RequestError("scores of several columns are several measures already", fix=fix)
    if len(scores) > 1:
        _check_headings(scores, file)
    return replace(
        Columns(given.topic, filled["system"], filled["measure"], filled["shard"], replicates=given.replicates),
        score=scores,
        origin=given.origin,
    )


def _check_headings(names: Sequence[str], file: str) -> None:
    """Refuse numbers without a heading, such as the index that a data frame writes before its columns."""
    if any(not name.strip() for name in names):
        fix = "Name it, or remove it if it only counts the rows."
        raise InputError("a column of numbers has no heading", where=file, fix=fix)


def _unclear(records: Sequence[Record], file: str, scores: Sequence[str] = ()) -> InputError:
    """That columns with usual names could be read in two ways, and what to write for one of them."""
    names = list(dict.fromkeys(name for record in records for name in record.fields))
    if not scores:
        return InputError("it is unclear which columns are systems", where=file, fix=suggest(names))
    found = guess(names)
    line = replace(found or Columns(), score=tuple(scores)).text
    fix = f'For all of them: `columns="{line}"`. {_there(records)}'
    return InputError(f"{len(scores)} columns have numbers: {', '.join(scores[:10])}", where=file, fix=fix)


def _check_cells(records: Sequence[Record], names: Sequence[str]) -> None:
    """Refuse a text among numbers: a column that has mostly numbers is a system, not a remark."""
    for name in names:
        odd = [record for record in records if as_number(record.fields.get(name)) is None]
        if odd and 2 * len(odd) < len(records):
            fix = "Write a number, or leave the cell empty. A column without scores must be left out of the file."
            what = f"«{shorten(str(odd[0].fields[name]), 40)}» in column «{name}» is no number"
            raise InputError(what, where=odd[0].where, fix=fix)


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
        return [(measure_of(column, measure, given) if len(given.score) == 1 else column, found)]
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
    return there_are(names, most=20)


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
