"""Files as documents: what a check found, and what a packed file contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.formats.file_check import CheckedFile
from cranfield.formats.problems import KINDS, Problem, ProblemKind, Severity, count_by_kind
from cranfield.questions.check import CheckResult
from cranfield.questions.pack import PackResult
from cranfield.rendering.document import Column, Document, Table, View, warning_row

if TYPE_CHECKING:
    from cranfield.collection import Collection
    from cranfield.scores import ScoreTable

LINES = Column("count", "lines", "count")


def check_view(result: CheckResult) -> Document:
    """The files, the first places of every kind of problem, and how many there are of each."""
    report = result.report
    counts = count_by_kind(report.problems)
    by_kind = {slug: [problem for problem in report.problems if problem.slug == slug] for slug in counts}
    files = Table(
        (
            Column("file", "file"),
            Column("kind", "read as"),
            Column("lines", "lines", "count"),
            Column("taken_for", "taken for"),
            Column("why", "because"),
        ),
        [(each.file, str(each.kind), each.lines, each.taken_for, each.why) for each in report.files],
    )
    listed = [_kind_table(KINDS[slug], problems, result.most) for slug, problems in by_kind.items()]
    summary = Table(
        (Column("severity", ""), Column("kind", "kind"), Column("places", "places", "count"), LINES),
        [(str(KINDS[slug].severity), slug, len(by_kind[slug]), count) for slug, count in counts.items()],
        "Summary",
    )
    tables = [files, *_metadata_tables(report.files), *listed, *([summary] if counts else [])]
    first = {id(problem) for problems in by_kind.values() for problem in problems[: result.most]}
    rows = [warning_row(problem) for problem in report.problems if id(problem) in first]
    kinds = [dict(zip(("severity", "kind", "places", "lines"), row, strict=True)) for row in summary.rows]
    return Document(
        method="check",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        answer=_sentence(result, counts, by_kind),
        extra={"kinds": kinds, "places_listed": result.most},
    )


def _metadata_tables(files: Sequence[CheckedFile]) -> list[Table]:
    """What the comments at the head of files say, key by key."""
    columns = (Column("key", "key"), Column("value", "value"))
    return [
        Table(columns, list(flat_metadata(each.metadata)), f"Metadata and comments of {each.file}")
        for each in files
        if each.metadata
    ]


def flat_metadata(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in nested metadata with its path.

    >>> list(flat_metadata({"platform": {"os": "Linux"}, "mail": ["a", "b"]}))
    [('platform / os', 'Linux'), ('mail', 'a'), ('mail', 'b')]
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat_metadata(inner, f"{key} / {name}" if key else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from flat_metadata(inner, key)
    else:
        yield key, str(value)


def _kind_table(kind: ProblemKind, problems: Sequence[Problem], most: int | None) -> Table:
    advised = any(problem.advice for problem in problems[:most])
    rows: list[tuple[Any, ...]] = [
        (problem.place, problem.count, problem.detail, problem.text, *([problem.advice] if advised else []))
        for problem in problems[:most]
    ]
    whole = ""
    if most is not None and len(problems) > most:
        rows.append((f"and {len(problems) - most:,} more places", None, "", "", *([""] if advised else [])))
        whole = f" `all=True` lists all {len(problems):,} places."
    columns = [Column("place", "where"), LINES, Column("detail", "what"), Column("text", "text")]
    columns += [Column("fix", "what to do")] if advised else []
    return Table(tuple(columns), rows, f"{kind.severity}: {kind.title}. {kind.effect} {kind.fix}{whole}")


def _sentence(result: CheckResult, counts: Mapping[str, int], by_kind: Mapping[str, Sequence[Problem]]) -> str:
    of = {severity: [slug for slug in counts if KINDS[slug].severity is severity] for severity in Severity}
    found = ", ".join(_tally(severity, slugs, counts, by_kind) for severity, slugs in of.items() if slugs)
    if of[Severity.ERROR]:
        return f"{found}. Scores would be wrong: nothing is scored from these files until the errors are corrected."
    if result.report.lacks_scores:
        return f'{found}. Questions refuse missing scores unless `missing="zero"` or `missing="drop"` is given.'
    if of[Severity.WARNING]:
        return f"{found}. The files can be scored" + (
            ", but `strict=True` asks for more." if result.strict else "; read the warnings."
        )
    return f"{found + '. ' if found else ''}The files can be scored."


def _tally(
    severity: Severity, slugs: Sequence[str], counts: Mapping[str, int], by_kind: Mapping[str, Sequence[Problem]]
) -> str:
    """How many kinds, in how many places; one habit may show on every line of every file."""
    places, lines = (sum(len(by_kind[slug]) for slug in slugs), sum(counts[slug] for slug in slugs))
    more = f" ({lines:,} lines)" if lines > places else ""
    return f"{len(slugs)} kind{'s' * (len(slugs) != 1)} of {severity} in {places:,} place{'s' * (places != 1)}{more}"


def pack_view(result: PackResult) -> Document:
    """Return the sizes of a packed file."""
    held = _packed_scores(result.scores) if result.scores is not None else _packed_collection(result.collection)
    row = {"file": result.file, **held, "bytes": result.bytes}
    columns = tuple(Column(word, word, "text" if word == "file" else "count") for word in row)
    packed = "runs and judgments" if result.scores is None else "the score table"
    sentence = f"Packed. Every command takes {result.file} in place of {packed}."
    return Document(
        method="pack", inputs=result.inputs, tables=[Table(columns, [tuple(row.values())])], rows=[row], answer=sentence
    )


def _packed_scores(table: ScoreTable) -> dict[str, int]:
    return {
        "measures": len(table.measures),
        "topics": table.topic_count,
        "systems": len(table.systems),
        "shards": len(table.shards),
        "scores": table.size - table.missing,
        "missing": table.missing,
    }


def _packed_collection(collection: Collection | None) -> dict[str, int]:
    assert collection is not None
    return {
        "topics": len(collection.topics),
        "systems": len(collection.systems),
        "teams": 0 if collection.teams is None else len(set(collection.teams)),
        "documents": len(collection.documents),
        "retrieved": len(collection.list_documents),
        "judgments": len(collection.arrays["grade"]),
    }


VIEWS = {"CheckResult": View(check_view), "PackResult": View(pack_view)}
