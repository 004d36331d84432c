"""cranfield check"""

from __future__ import annotations

from contextlib import chdir

from cranfield.formats.file_check import check_files
from cranfield.formats.runs import Order
from cranfield.questions.command_line import command_line
from cranfield.rendering.check_document import check_document
from cranfield.scores.foreign_formats import OTHER_FORMATS
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import Flag, Query, field
from cranfield.web.store import FILES


class CheckQuery(Query):
    """What ``cranfield check`` takes."""

    strict: Flag = field("count warnings as errors", "Count warnings as errors.", False)
    all: Flag = field("list every place", "List every problem, not the first few of each kind.", False)


def answer(asked: Asked) -> Answer:
    options, query = asked.about["options"], asked.query
    named = [name for flag, name in options.items() if flag not in ("order", "name")]
    with chdir(FILES):  # so that messages name files as they came
        report = check_files(
            asked.about["files"],
            order=Order(options.get("order", "score")),
            by_tag=options.get("name") == "tag",
            by_file=options.get("name") == "file",
            others=OTHER_FORMATS,
            progress=asked.progress,
        )
    told = {flag: options[flag] for flag in ("order", "name") if flag in options}
    given = {flag: True for flag in ("strict", "all") if getattr(query, flag)}
    command = command_line("check", [*(asked.about["arguments"] or asked.about["files"]), *named], told | given)
    return Answer(check_document(report, strict=query.strict, most=None if query.all else 5), command)


QUESTION = Question(
    "check",
    "What was odd",
    "Every problem of the files",
    CheckQuery,
    answer,
    of=("files", "collection", "scores", "shards"),
)
