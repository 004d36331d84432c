"""Every kind of problem a file can have: where it is found, what is shown of it, and that it is not scored over."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cranfield
from cranfield.cli.app import app
from cranfield.errors import InputError, RequestError
from cranfield.formats.file_check import CheckReport, FileKind, check_files
from cranfield.formats.problems import KINDS, Problem, Severity, count_by_kind, refuse, shorten
from cranfield.formats.run_metadata import head_metadata
from cranfield.formats.runs import Order
from cranfield.formats.scan import Scanner
from cranfield.formats.scores import inspect_scores
from cranfield.formats.text import LONGEST_LINE
from cranfield.scores.evaluation import score_collection
from sizes import sized

RUN = b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0 tag\n"
QRELS = b"1 0 d1 1\n1 0 d2 0\n"
TWO_TOPICS = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n"


@dataclass(frozen=True)
class Found:
    """What a check has to say, field by field; ``says`` is part of its detail."""

    slug: str
    severity: Severity
    file: str
    line: int = 0
    text: str = ""
    count: int = 1
    says: str = ""


def error(slug: str, file: str, line: int = 0, text: str = "", *, count: int = 1, says: str = "") -> Found:
    return Found(slug, Severity.ERROR, file, line, text, count, says)


def warning(slug: str, file: str, line: int = 0, text: str = "", *, count: int = 1, says: str = "") -> Found:
    return Found(slug, Severity.WARNING, file, line, text, count, says)


def note(slug: str, file: str, line: int = 0, text: str = "", *, count: int = 1, says: str = "") -> Found:
    return Found(slug, Severity.NOTE, file, line, text, count, says)


@dataclass(frozen=True)
class Case:
    """Files and everything a check must find in them, the first of which the case is about.

    The name of a file says what it is read as: run…, qrels, intents, teams, scores…; ``told`` says it to the check.
    """

    claim: str
    files: Mapping[str, bytes]
    found: tuple[Found, ...]
    told: Mapping[str, FileKind] = field(default_factory=dict)
    order: Order = Order.SCORE

    @property
    def worst(self) -> Severity:
        return min((found.severity for found in self.found), key=list(Severity).index)


def of_run(claim: str, run: bytes, *found: Found, order: Order = Order.SCORE, told: bool = False) -> Case:
    return Case(claim, {"run": run, "qrels": QRELS}, found, {"run": FileKind.RUN} if told else {}, order)


def of_qrels(claim: str, qrels: bytes, *found: Found, told: bool = False) -> Case:
    return Case(claim, {"run": RUN, "qrels": qrels}, found, {"qrels": FileKind.QRELS} if told else {})


def of_intents(claim: str, intents: bytes, *found: Found) -> Case:
    return Case(claim, {"run": RUN, "intents": intents}, found, {"intents": FileKind.INTENTS})


def of_teams(claim: str, teams: bytes, *found: Found, told: bool = False) -> Case:
    return Case(claim, {"run": RUN, "qrels": QRELS, "teams": teams}, found, {"teams": FileKind.TEAMS} if told else {})


def of_scores(claim: str, scores: bytes, *found: Found, told: bool = False) -> Case:
    return Case(claim, {"scores.csv": scores}, found, {"scores.csv": FileKind.SCORES} if told else {})


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("run", RUN)
    return stream.getvalue()


def damaged_gzip() -> bytes:
    whole = bytearray(gzip.compress(RUN * 50, mtime=0))
    whole[len(whole) // 2] ^= 0xFF
    return bytes(whole)


WHOLE_FILES = [
    of_run(
        "a gzip file cut short cannot be read",
        gzip.compress(RUN * 50, mtime=0)[:-6],
        error("unreadable", "run", says="cut short"),
    ),
    of_run("a damaged gzip file cannot be read", damaged_gzip(), error("unreadable", "run", says="damaged")),
    of_run(
        "gzip followed by something else is damaged",
        gzip.compress(RUN, mtime=0) + b"something else",
        error("unreadable", "run", says="damaged"),
    ),
    of_qrels(
        "judgments in a gzip file cut short cannot be read",
        gzip.compress(QRELS, mtime=0)[:-6],
        error("unreadable", "qrels", says="cut short"),
    ),
    of_run("a file of no bytes is empty", b"", error("empty-file", "run")),
    of_run("a run of no bytes is empty", b"", error("empty-file", "run"), told=True),
    of_run("a gzip file with nothing in it is empty", gzip.compress(b"", mtime=0), error("empty-file", "run")),
    of_run("a file of blank lines is empty", b"\n  \n\t\n\r\n", error("empty-file", "run")),
    of_run("a run of blank lines is empty", b"\n  \n\t\n\r\n", error("empty-file", "run"), told=True),
    of_run("a byte order mark and nothing else is an empty file", b"\xef\xbb\xbf", error("empty-file", "run")),
    of_run(
        "a run of nothing but comments is empty",
        b"# nothing was found\n",
        error("empty-file", "run"),
        warning("comment", "run", 1, "# nothing was found"),
        told=True,
    ),
    of_qrels("judgments of blank lines are empty", b"\n\n", error("empty-file", "qrels"), told=True),
    of_qrels(
        "judgments of nothing but comments are empty",
        b"# none\n",
        error("empty-file", "qrels"),
        warning("comment", "qrels", 1, "# none"),
        told=True,
    ),
    of_teams(
        "a team list of blank lines is empty",
        b"\n\n",
        error("empty-file", "teams"),
        warning("team-missing", "run", says="«tag»"),
        told=True,
    ),
    of_scores("a score table of blank lines is empty", b"\n\n", error("empty-file", "scores.csv"), told=True),
    of_scores(
        "a score table of a header and nothing else is empty",
        b"topic,system,score\n",
        error("empty-file", "scores.csv", says="header"),
    ),
    of_scores(
        "a score table of a header with a Windows line end is empty too",
        b"topic,system,score\r\n",
        error("empty-file", "scores.csv"),
        note("crlf", "scores.csv", 1),
    ),
    of_run("bytes that are no text are not read", b"1 Q0 d1\n\x00\x01\x02", error("not-text", "run", says="line 2")),
    of_run("a zip archive is not read", zipped(), error("not-text", "run", says="zip")),
    of_run("a picture is not read", b"\x89PNG\r\n\x1a\n\n", error("not-text", "run", says="a PNG picture")),
    of_run("UTF-16 is not read", RUN.decode().encode("utf-16"), error("not-text", "run", says="UTF-16")),
    of_run("UTF-16 of the other end is not read", b"\xfe\xff\x00\x31", error("not-text", "run", says="UTF-16")),
    of_run("a zip archive is not read as a run either", zipped(), error("not-text", "run", says="zip"), told=True),
    of_run("three fields a line are no known kind", b"1 d1 2.0\n", error("unknown-kind", "run", 1, "1 d1 2.0")),
    of_run(
        "the line of an unknown kind is the one that is shown",
        b"\n\n1 d1 2.0\n",
        error("unknown-kind", "run", 3, "1 d1 2.0"),
    ),
    of_run(
        "what is shown of an unknown kind is printable",
        b"\x1b[31mred d1 2.0\n",
        error("unknown-kind", "run", 1, "·[31mred d1 2.0"),
    ),
    of_run(
        "lines that end in a bare carriage return are no known kind",
        b"1 Q0 d1 1 2.0 tag\r1 Q0 d2 2 1.0 tag\r",
        error("unknown-kind", "run", 1, "1 Q0 d1 1 2.0 tag·1 Q0 d2 2 1.0 tag"),
    ),
    of_run(
        "lines that end in a bare carriage return are one line of a run",
        b"1 Q0 d1 1 2.0 tag\r1 Q0 d2 2 1.0 tag\r",
        error("too-many-fields", "run", 1, "1 Q0 d1 1 2.0 tag·1 Q0 d2 2 1.0 tag", says="12"),
        told=True,
    ),
]

SPACING = [
    of_run("a byte order mark is skipped", b"\xef\xbb\xbf" + RUN, note("byte-order-mark", "run", 1)),
    of_run("Windows line ends are line ends", RUN.replace(b"\n", b"\r\n"), note("crlf", "run", 1, count=2)),
    of_run("tabs part fields", RUN.replace(b" ", b"\t"), note("tabs", "run", 1)),
    of_run("several blanks part fields", b"1 Q0 d1 1 2.0 tag\n1  Q0   d2 2 1.0 tag\n", note("tabs", "run", 2)),
    of_run(
        "blank lines are skipped and counted",
        b"1 Q0 d1 1 2.0 tag\n\n \n1 Q0 d2 2 1.0 tag\n\n",
        note("blank-line", "run", 2, count=3),
    ),
    of_run("the last line needs no end", RUN.rstrip(b"\n")),
    of_run("a gzip file is read whatever it is called", gzip.compress(RUN, mtime=0)),
    of_run("blanks around a line are nothing", b" 1 Q0 d1 1 2.0 tag \n1 Q0 d2 2 1.0 tag\n"),
]

ODD_RUNS = [
    of_run(
        "five fields are too few for a run",
        RUN + b"1 Q0 d3 3 0.5\n",
        error("too-few-fields", "run", 3, "1 Q0 d3 3 0.5", says="5 where 6"),
    ),
    of_run(
        "seven fields are too many for a run",
        RUN + b"1 Q0 d3 3 0.5 my tag\n",
        error("too-many-fields", "run", 3, "1 Q0 d3 3 0.5 my tag", says="7 where 6"),
    ),
    of_run(
        "a run with as many short lines as whole ones is a run still",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0\n",
        error("too-few-fields", "run", 2, "1 Q0 d2 2 1.0"),
    ),
    of_run(
        "lines are counted from the top, blank ones too",
        RUN + b"\n\n1 Q0 d3\n",
        error("too-few-fields", "run", 5, "1 Q0 d3"),
        note("blank-line", "run", 3, count=2),
    ),
    of_run(
        "what is shown of a line is printable",
        RUN + b"1 Q0\td3\x1b[31m 3 0.5\n",
        error("too-few-fields", "run", 3, "1 Q0→d3·[31m 3 0.5"),
        note("tabs", "run", 3),
    ),
    of_run(
        "what is shown of a line is at most sixty characters",
        RUN + b"1 Q0 " + b"d" * 99 + b" 3 0.5\n",
        error("too-few-fields", "run", 3, "1 Q0 " + "d" * 54 + "…"),
    ),
    of_run(
        "text in another encoding is not UTF-8",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 caf\xe9 2 1.0 tag\n",
        error("not-utf8", "run", 2, "1 Q0 caf� 2 1.0 tag"),
    ),
    of_run(
        "a rank in another encoding is not UTF-8 either",
        RUN + b"1 Q0 d3 \xe9 0.5 tag\n",
        error("not-utf8", "run", 3, "1 Q0 d3 � 0.5 tag"),
    ),
    of_run("UTF-8 is read", "1 Q0 d1 1 2.0 été\n1 Q0 d2 2 1.0 été\n".encode()),
    of_run(
        "a # line of other shape is a comment",
        b"# made by hand\n" + RUN,
        warning("comment", "run", 1, "# made by hand"),
    ),
    of_run(
        "a # after a blank is a comment too",
        RUN + b" # made by hand\n",
        warning("comment", "run", 3, " # made by hand"),
    ),
    of_run(
        "a # line with the shape of data is refused",
        b"1 Q0 d1 1 2.0 tag\n#1 Q0 d2 2 1.0 tag\n",
        error("comment-or-data", "run", 2, "#1 Q0 d2 2 1.0 tag"),
    ),
    of_run("a # inside an id is part of it", b"1 Q0 d1 1 2.0 #tag\n1 Q0 d2#x 2 1.0 #tag\n1 Q0 #d3 3 0.5 #tag\n"),
    of_run(
        "a score that is nan cannot be ranked",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 nan tag\n",
        error("score-nan", "run", 2, "1 Q0 d2 2 nan tag"),
    ),
    of_run(
        "a score that is NaN cannot be ranked, whatever its case and sign",
        b"1 Q0 d3 1 -NaN tag\n" + RUN,
        error("score-nan", "run", 1, "1 Q0 d3 1 -NaN tag"),
    ),
    of_run(
        "a score that is inf is pointed out",
        b"1 Q0 d1 1 inf tag\n1 Q0 d2 2 1.0 tag\n",
        warning("score-infinite", "run", 1, "1 Q0 d1 1 inf tag"),
    ),
    of_run(
        "a score too large for a double is infinite",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 -1e999 tag\n",
        warning("score-infinite", "run", 2, "1 Q0 d2 2 -1e999 tag"),
    ),
    *(
        of_run(
            f"a score {raw} is no number",
            f"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 {raw} tag\n".encode(),
            error("score-not-a-number", "run", 2, f"1 Q0 d2 2 {raw} tag", says=f"score «{raw}»"),
        )
        for raw in ("high", "1_000", "0x1p3", "1,5", "1e", "--1", "1.2.3", ".", "١")
    ),
    of_run(
        "a rank that is text matters where ranks decide",
        RUN + b"1 Q0 d3 third 0.5 tag\n",
        error("score-not-a-number", "run", 3, "1 Q0 d3 third 0.5 tag", says="rank «third»"),
        order=Order.RANK,
    ),
    of_run("a rank that is text does not matter where scores decide", b"1 Q0 d1 first 2.0 tag\n1 Q0 d2 - 1.0 tag\n"),
    of_run("a score that is text does not matter where ranks decide", RUN.replace(b"2.0", b"x"), order=Order.RANK),
    of_run(
        "a document twice in a list is found at its second line",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0 tag\n1 Q0 d1 3 0.5 tag\n",
        error("duplicate-document", "run", 3, "1 d1", says="line 1"),
    ),
    of_run(
        "a document twice in a list whose lines stand apart is found",
        b"1 Q0 d1 1 2.0 tag\n2 Q0 d1 1 2.0 tag\n1 Q0 d1 2 1.0 tag\n",
        error("duplicate-document", "run", 3, "1 d1", says="line 1"),
        warning("topic-unjudged", "run", says="2"),
    ),
    of_run(
        "a document twice in the list of a topic nobody judged is found",
        b"1 Q0 d1 1 2.0 tag\n2 Q0 d3 1 2.0 tag\n2 Q0 d3 2 1.0 tag\n",
        error("duplicate-document", "run", 3, "2 d3", says="line 2"),
        warning("topic-unjudged", "run", says="2"),
    ),
    of_run(
        "every tie of a list is counted in one place",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 2.0 tag\n1 Q0 d3 3 2.00 tag\n1 Q0 d4 4 1.0 tag\n",
        note("tie", "run", 2, "topic 1", count=2),
    ),
    of_run(
        "a tie of lines that do not follow each other is found",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0 tag\n1 Q0 d3 3 2.0 tag\n",
        note("tie", "run", 3, "topic 1"),
        warning("rank-disagrees", "run", 2, "topic 1"),
    ),
    of_run(
        "scores that single precision takes for tied are counted a list",
        b"1 Q0 d1 1 0.30000002 tag\n1 Q0 d2 2 0.30000001 tag\n1 Q0 d3 3 0.3 tag\n1 Q0 d4 4 0.2 tag\n",
        note("tie-in-single-precision", "run", 2, "topic 1", count=2),
    ),
    of_run(
        "ranks that disagree with scores are counted a list",
        b"1 Q0 d1 3 3.0 tag\n1 Q0 d2 2 2.0 tag\n1 Q0 d3 1 1.0 tag\n",
        warning("rank-disagrees", "run", 2, "topic 1", count=2),
    ),
    of_run("ranks may start anywhere", b"1 Q0 d1 0 3.0 tag\n1 Q0 d2 10 2.0 tag\n"),
    of_run(
        "ranks among tied documents are free",
        b"1 Q0 d1 2 2.0 tag\n1 Q0 d2 1 2.0 tag\n1 Q0 d3 3 1.0 tag\n",
        note("tie", "run", 2, "topic 1"),
    ),
    of_run(
        "tied documents may share a rank",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 1 2.0 tag\n1 Q0 d3 3 1.0 tag\n",
        note("tie", "run", 2, "topic 1"),
    ),
    of_run("ranks that disagree do not matter where they decide", RUN.replace(b"2.0", b"0.5"), order=Order.RANK),
    of_run(
        "a second run tag is found at its first line",
        b"1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0 tag\n1 Q0 d3 3 0.5 gat\n",
        error("several-tags", "run", 3, says="2 tags (gat, tag)"),
    ),
    Case(
        "two files with one tag are told apart",
        {"run-a": RUN, "run-b": RUN, "qrels": QRELS},
        (error("tag-shared", "run-b", says="«tag» is also the tag of"),),
    ),
]

ODD_QRELS = [
    of_qrels(
        "three fields are too few for a judgment",
        QRELS + b"1 0 d3\n",
        error("too-few-fields", "qrels", 3, "1 0 d3", says="3 where 4"),
    ),
    of_qrels(
        "five fields are too many for a judgment",
        b"1 0 d1 1\n1 0 d2 0 sure\n1 0 d3 0\n",
        error("too-many-fields", "qrels", 2, "1 0 d2 0 sure", says="5 where 4"),
    ),
    of_qrels("judgments may have Windows line ends", QRELS.replace(b"\n", b"\r\n"), note("crlf", "qrels", 1, count=2)),
    of_qrels("judgments may have tabs", QRELS.replace(b" ", b"\t"), note("tabs", "qrels", 1)),
    of_qrels("judgments may have a byte order mark", b"\xef\xbb\xbf" + QRELS, note("byte-order-mark", "qrels", 1)),
    of_qrels("judgments may have blank lines", b"\n" + QRELS, note("blank-line", "qrels", 1)),
    of_qrels("judgments may have comments", b"# by us\n" + QRELS, warning("comment", "qrels", 1, "# by us")),
    of_qrels(
        "a judgment behind a # is refused", QRELS + b"#1 0 d3 1\n", error("comment-or-data", "qrels", 3, "#1 0 d3 1")
    ),
    of_qrels("a # inside a judged id is part of it", QRELS + b"1 0 #d3 1\n"),
    of_qrels(
        "judgments in another encoding are not UTF-8",
        QRELS + b"1 0 caf\xe9 1\n",
        error("not-utf8", "qrels", 3, "1 0 caf� 1"),
    ),
    *(
        of_qrels(
            f"a grade {raw[:12]} is no number",
            QRELS + f"1 0 d3 {raw}\n".encode(),
            error("grade-not-a-number", "qrels", 3, shorten(f"1 0 d3 {raw}"), says="«"),
        )
        for raw in ("high", "1_0", "nan", "inf", "-inf", "99999999999", "-99999999999", "1e99", "€" * 14)
    ),
    *(
        of_qrels(
            f"a stratum {raw} is no whole number",
            b"1 0 d1 1 1\n1 0 d2 2 0\n" + f"1 0 d3 {raw} 1\n".encode(),
            error("stratum", "qrels", 3, f"1 0 d3 {raw} 1", says=f"«{raw}»"),
        )
        for raw in ("high", "-1", "0.5")
    ),
    of_qrels(
        "fractional grades are counted from the first of them, and 2.0 beside them is nothing odd",
        QRELS + b"1 0 d3 0.5\n1 0 d4 2.0\n1 0 d5 1e-1\n",
        note("grade-fractional", "qrels", 3, "1 d3 0.5", count=2),
    ),
    of_qrels("a grade 2.0 is 2", QRELS + b"1 0 d3 2.0\n", note("grade-decimal", "qrels", 3, "1 0 d3 2.0")),
    of_qrels(
        "grades with a decimal point are counted from the first of them",
        QRELS + b"1 0 d3 2.0\n1 0 d4 1e0\n",
        note("grade-decimal", "qrels", 3, "1 0 d3 2.0", count=2),
    ),
    of_qrels("a grade +2 is 2", QRELS + b"1 0 d3 +2\n"),
    of_qrels(
        "two fractional judgments that contradict each other are refused",
        QRELS + b"1 0 d3 0.5\n1 0 d3 0.25\n",
        note("grade-fractional", "qrels", 3, "1 d3 0.5"),
        error("judgment-conflict", "qrels", 4, "1 0 d3 0.25", says="line 3 says 0.5"),
    ),
    of_qrels(
        "a negative fraction is no judgment", QRELS + b"1 0 d3 -0.5\n", warning("grade-negative", "qrels", 3, "1 d3")
    ),
    of_qrels(
        "negative grades are counted from the first of them",
        QRELS + b"1 0 d3 -2\n1 0 d4 -1\n",
        warning("grade-negative", "qrels", 3, "1 d3", count=2),
    ),
    of_qrels(
        "the same judgment twice is counted once",
        QRELS + b"1 1 d1 1\n",
        warning("judgment-twice", "qrels", 3, "1 1 d1 1", says="line 1 says 1"),
        told=True,
    ),
    of_qrels(
        "two judgments that contradict each other are refused",
        QRELS + b"1 0 d1 2\n",
        error("judgment-conflict", "qrels", 3, "1 0 d1 2", says="line 1 says 1"),
    ),
    of_qrels(
        "a topic without relevant documents is named at its first line",
        QRELS + b"2 0 d1 0\n2 0 d2 -1\n",
        warning("no-relevant", "qrels", 3, "topic 2"),
        warning("grade-negative", "qrels", 4, "2 d2"),
        warning("topic-missing", "run", says="2"),
    ),
    of_intents("a document may have a grade for every intent", b"1 1 d1 1\n1 2 d1 0\n1 2 d2 1\n"),
    of_intents(
        "two judgments for one intent that contradict each other are refused",
        b"1 1 d1 1\n1 2 d1 0\n1 1 d1 0\n",
        error("judgment-conflict", "intents", 3, "1 1 d1 0", says="line 1 says 1"),
    ),
    of_intents(
        "a fractional grade for an intent is noted",
        b"1 1 d1 1\n1 2 d1 0.5\n",
        note("grade-fractional", "intents", 2, "1 d1 0.5"),
    ),
]

TOGETHER = [
    Case(
        "topics in the run and not in the judgments are counted",
        {"run": RUN + b"7 Q0 d1 1 2.0 tag\n8 Q0 d1 1 2.0 tag\n", "qrels": QRELS},
        (warning("topic-unjudged", "run", count=2, says="7, 8"),),
    ),
    Case(
        "judged topics a run returned nothing for are counted",
        {"run": RUN, "qrels": TWO_TOPICS + b"3 0 d1 1\n"},
        (warning("topic-missing", "run", count=2, says="2, 3"),),
    ),
    Case(
        "no more than five topics are named",
        {"run": RUN, "qrels": QRELS + b"".join(b"%d 0 d1 1\n" % topic for topic in range(2, 10))},
        (warning("topic-missing", "run", count=8, says="2, 3, 4, 5, 6 and 3 more"),),
    ),
    Case(
        "topics that never meet are refused",
        {"run": b"051 Q0 d1 1 2.0 tag\n", "qrels": b"51 0 d1 1\n"},
        (error("no-overlap", "run", says="the run has 051; the judgments have 51"),),
    ),
    Case(
        "a run that is all zero is pointed out",
        {"run": b"1 Q0 d2 1 2.0 tag\n1 Q0 d3 2 1.0 tag\n", "qrels": QRELS},
        (warning("nothing-relevant", "run"),),
    ),
    Case(
        "a run without one judged document scores 0",
        {"run": b"1 Q0 x1 1 2.0 tag\n1 Q0 x2 2 1.0 tag\n", "qrels": QRELS},
        (warning("nothing-judged", "run"),),
    ),
]

ODD_TEAMS = [
    of_teams("a run of one team is in order", b"run\tteam\ntag\tOurs\n", note("tabs", "teams", 1)),
    of_teams("a team list needs no header", b"tag Ours\n"),
    of_teams("a team's name may have blanks after a tab", b"tag\tOur Own Team\n", note("tabs", "teams", 1), told=True),
    of_teams("a team's name may have blanks after a comma", b"tag,Our Own Team\n", told=True),
    of_teams(
        "one run in two teams is refused",
        b"tag Ours\ntag Ours\ntag Theirs\n",
        error("team-conflict", "teams", 3, "tag Theirs", says="line 1 says Ours"),
    ),
    of_teams(
        "a run without a team is pointed out, and so is a team without its run",
        b"other Ours\n",
        warning("team-missing", "run", says="«tag»"),
        note("team-without-run", "teams", says="other"),
    ),
    of_teams(
        "one field is too few for a team list",
        b"tag Ours\ntag Ours\nother\n",
        error("too-few-fields", "teams", 3, "other", says="1 where 2"),
    ),
    of_teams(
        "three fields are too many for a team list",
        b"tag Ours\nother Our Team\nthird Ours\n",
        error("too-many-fields", "teams", 2, "other Our Team", says="3 where 2"),
        note("team-without-run", "teams", says="third"),
    ),
    of_teams(
        "a # line with two fields is refused in a team list",
        b"tag Ours\n# comment\n",
        error("comment-or-data", "teams", 2, "# comment"),
    ),
]

ODD_SCORES = [
    of_scores("a long table is in order", b"measure,topic,system,score\nAP,1,a,0.5\nAP,1,b,0.25\n"),
    of_scores("a wide table is in order", b"topic,a,b\n1,0.5,0.25\n2,0,1e-3\n"),
    of_scores("a wide table may be of several measures", b"measure,topic,a\nAP,1,0.5\nRR,1,0.25\n"),
    of_scores("a table may be parted by semicolons", b"topic;a;b\n1;0.5;0.25\n"),
    of_scores("a table may be parted by tabs", b"topic\ta\tb\n1\t0.5\t0.25\n", note("tabs", "scores.csv", 1)),
    of_scores("names may be quoted", b'"topic","a,b"\n1,0.5\n'),
    of_scores(
        "two scores for one cell are refused",
        b"measure,topic,system,score\nAP,1,a,0.5\nRR,1,a,0.5\nAP,1,a,0.5\n",
        error("score-twice", "scores.csv", 4, "AP 1 a", says="line 2"),
    ),
    of_scores(
        "two rows for one topic are refused",
        b"topic,a\n1,0.5\n1,0.6\n",
        error("score-twice", "scores.csv", 3, "1 a", says="line 2"),
    ),
    of_scores(
        "two columns of one name are refused",
        b"topic,a,a\n1,0.5,0.6\n",
        error("score-twice", "scores.csv", 1, "topic,a,a", says="«a»"),
    ),
    of_scores(
        "two score columns in a long table are refused",
        b"topic,system,score,score\n1,a,0.5,0.6\n",
        error("score-twice", "scores.csv", 1, "topic,system,score,score", says="«score»"),
    ),
    of_scores(
        "cells without a score are counted from the first of them",
        b"topic,a,b,c,d\n1,0.5,0.5,0.5,0.5\n2,,nan,N/A,0.5\n",
        warning("cell-missing", "scores.csv", 3, count=3, says="3 cells"),
    ),
    of_scores(
        "a table whose every cell is empty is empty",
        b"topic,a\n1,\n2,nan\n",
        error("empty-file", "scores.csv"),
        warning("cell-missing", "scores.csv", 2, count=2),
    ),
    *(
        of_scores(
            f"a score {raw} in a table is no number",
            f"topic,a\n1,0.5\n2,{raw}\n".encode(),
            error("cell-not-a-number", "scores.csv", 3, raw),
        )
        for raw in ("high", "1_000", "inf", "-inf", "1e999", "0x10")
    ),
    of_scores(
        "a row shorter than the header is refused",
        b"topic,a,b\n1,0.5,0.5\n2,0.5\n",
        error("too-few-fields", "scores.csv", 3, "2,0.5", says="2 where the header has 3"),
    ),
    of_scores(
        "a row longer than the header is refused",
        b"topic,a\n1,0.5\n2,0.5,0.5\n",
        error("too-many-fields", "scores.csv", 3, "2,0.5,0.5", says="3 where the header has 2"),
    ),
    *(
        of_scores(
            f"an empty {part} is refused",
            b"measure,topic,system,score\nAP,1,a,0.5\n" + line + b"\n",
            error("name-missing", "scores.csv", 3, says=f"the {part} is empty"),
        )
        for part, line in {"measure": b",2,a,1", "topic": b"AP, ,a,1", "system": b'AP,2,"",1'}.items()
    ),
    of_scores(
        "a system without a name is refused at the header",
        b",topic,a\n0,1,0.5\n",
        error("name-missing", "scores.csv", 1, ",topic,a", says="column 1"),
    ),
    of_scores(
        "a topic that may be a mean is pointed out", b"topic,a\n1,0.5\nall,0.5\n", warning("topic-all", "scores.csv")
    ),
    of_scores(
        "cells without a row are missing too",
        b"topic,system,score\n1,a,0.5\n2,a,0.5\n1,b,0.5\n",
        warning("cell-missing", "scores.csv", says="1 cells have no row"),
    ),
    of_scores(
        "a table without a topic column is none",
        b"query,a\n1,0.5\n",
        error("unknown-kind", "scores.csv", 1, "query,a", says="«topic»"),
        told=True,
    ),
    of_scores(
        "a table in another encoding is not UTF-8",
        b"topic,a\n1,0.5\n\xe9,0.5\n",
        error("not-utf8", "scores.csv", 3, "�,0.5"),
    ),
    of_scores(
        "a table may have a byte order mark, Windows line ends and blank lines",
        b"\xef\xbb\xbftopic,a\r\n\r\n1,0.5\r\n",
        note("byte-order-mark", "scores.csv", 1),
        note("crlf", "scores.csv", 1, count=3),
        note("blank-line", "scores.csv", 2),
    ),
]

CASES = [*WHOLE_FILES, *SPACING, *ODD_RUNS, *ODD_QRELS, *TOGETHER, *ODD_TEAMS, *ODD_SCORES]
PROBLEMS = [case for case in CASES if case.found]
ERRORS = [case for case in PROBLEMS if case.worst is Severity.ERROR]
HARMLESS = [case for case in CASES if not case.found or case.worst is not Severity.ERROR]
ELSEWHERE = {
    "line-too-long",
    "probability",
    "probability-twice",
    "probability-missing",
    "probability-unused",
    "contributor-unknown",
}  # have tests of their own


def by_claim(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.claim) for case in cases])


def put(case: Case, folder: Path) -> dict[str, str]:
    """Write the files of a case and give their paths."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    return {name: str(folder / name) for name in case.files}


def check(case: Case, folder: Path) -> CheckReport:
    paths = put(case, folder)
    kinds = {paths[name]: kind for name, kind in case.told.items()}
    return check_files(list(paths.values()), kinds=kinds, order=case.order)


def read(case: Case, folder: Path) -> None:
    """Read what a case has as what it is said to be."""
    paths = put(case, folder)
    if "scores.csv" in paths:
        cranfield.read_scores(paths["scores.csv"])
        return
    cranfield.read_collection(
        [path for name, path in paths.items() if name.startswith("run")],
        paths.get("qrels"),
        intents=paths.get("intents"),
        teams=paths.get("teams"),
        order=str(case.order),
    )


def summary(problem: Problem) -> tuple[str, str, str, int, str, int]:
    return problem.slug, str(problem.severity), Path(problem.file).name, problem.line, problem.text, problem.count


def expected(found: Found) -> tuple[str, str, str, int, str, int]:
    return found.slug, str(found.severity), found.file, found.line, found.text, found.count


@pytest.fixture(params=["plain", "scanned"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two readers of runs is used: what a file means must not depend on it."""
    if request.param == "plain":
        monkeypatch.setattr(Scanner, "scan", lambda *_, **__: None)
        monkeypatch.setattr(Scanner, "scan_judgments", lambda *_: None)
    return str(request.param)


def test_every_kind_of_problem_has_a_case() -> None:
    assert {found.slug for case in CASES for found in case.found} | ELSEWHERE == set(KINDS)


@by_claim(CASES)
def test_a_check_reports_exactly_what_is_odd_and_where(case: Case, tmp_path: Path, reader: str) -> None:
    report = check(case, tmp_path)
    assert sorted(map(summary, report.problems)) == sorted(map(expected, case.found))
    for found in case.found:
        assert any(found.says in problem.detail for problem in report.problems if problem.slug == found.slug)


@by_claim(CASES)
def test_a_problem_names_a_file_that_was_checked(case: Case, tmp_path: Path) -> None:
    report = check(case, tmp_path)
    assert {problem.file for problem in report.problems} <= {str(tmp_path / name) for name in case.files}


@by_claim(CASES)
def test_a_check_fails_on_errors_and_strictly_on_warnings(case: Case, tmp_path: Path) -> None:
    report = check(case, tmp_path)
    worst = case.worst if case.found else None
    assert report.failed() is (worst is Severity.ERROR)
    assert report.failed(strict=True) is (worst in (Severity.ERROR, Severity.WARNING))


@by_claim(ERRORS)
def test_what_a_check_calls_an_error_is_refused_at_the_same_place(case: Case, tmp_path: Path, reader: str) -> None:
    found = next(found for found in case.found if found.severity is Severity.ERROR)
    with pytest.raises(InputError) as refusal:
        read(case, tmp_path)
    place = str(tmp_path / found.file)
    assert refusal.value.where == (f"{place}:{found.line}" if found.line else place)
    assert refusal.value.fix


@by_claim(HARMLESS)
def test_what_a_check_lets_pass_is_read(case: Case, tmp_path: Path, reader: str) -> None:
    read(case, tmp_path)


@by_claim(SPACING)
def test_spacing_changes_nothing_that_is_read(case: Case, tmp_path: Path, reader: str) -> None:
    paths = put(case, tmp_path)
    collection = cranfield.read_collection(paths["run"], paths["qrels"])
    assert collection.systems == ("tag",)
    assert collection.ranking("tag", "1") == ["d1", "d2"]
    assert collection.warnings == ()


def command(case: Case, folder: Path, *options: str) -> list[str]:
    paths = put(case, folder)
    files = [part for name, path in paths.items() for part in _named(case.told.get(name), path)]
    return ["check", *files, "--order", str(case.order), *options]


def _named(kind: FileKind | None, path: str) -> list[str]:
    return [path] if kind is None else [f"--{kind}", path]


@by_claim(PROBLEMS)
def test_the_command_says_what_the_check_found(case: Case, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, command(case, tmp_path, "--json"))
    rows = json.loads(result.stdout)["rows"]
    seen = [
        (row["kind"], row["severity"], Path(row["file"]).name, row["line"] or 0, row["text"], row["count"])
        for row in rows
    ]
    assert sorted(seen) == sorted(map(expected, case.found))
    assert all(row["effect"] and row["fix"] for row in rows)


@by_claim(PROBLEMS)
def test_the_command_exits_with_2_on_errors_and_missing_scores_and_strictly_on_warnings(
    case: Case, tmp_path: Path
) -> None:
    plain = CliRunner().invoke(app, command(case, tmp_path))
    strict = CliRunner().invoke(app, command(case, tmp_path, "--strict"))
    refused = case.worst is Severity.ERROR or any(found.slug == "cell-missing" for found in case.found)
    assert plain.exit_code == (2 if refused else 0)
    assert strict.exit_code == (0 if case.worst is Severity.NOTE else 2)


# --- what needs more than files in a folder


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    missing = str(tmp_path / "qrel")
    (tmp_path / "qrels").write_bytes(QRELS)
    report = check_files([missing])
    (problem,) = report.problems
    assert (problem.slug, problem.severity, problem.file, problem.line) == ("unreadable", "error", missing, 0)
    assert "no such file" in problem.detail
    assert [(each.taken_for, each.why) for each in report.files] == [("", "")]
    with pytest.raises(InputError, match="Near it: qrels") as refusal:
        cranfield.read_collection(missing, str(tmp_path / "qrels"))
    assert refusal.value.where == missing


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    (problem,) = check_files([tmp_path]).problems
    assert (problem.slug, problem.severity, problem.file) == ("unreadable", "error", str(tmp_path))
    assert "folder" in problem.detail
    with pytest.raises(InputError, match="folder"):
        cranfield.read_collection(str(tmp_path / "run"), tmp_path)


@pytest.mark.parametrize("raw", ["high", "1.5", "-0.1", "nan", "inf", "0_1"])
def test_a_probability_outside_0_to_1_is_refused_at_its_line(
    raw: str, write: Callable[[str, str | bytes], str]
) -> None:
    run, intents = write("run", RUN), write("intents", b"1 a d1 1\n1 b d2 1\n")
    likely = write("likely", f"1 a 0.5\n1 b {raw}\n")
    with pytest.raises(InputError, match=KINDS["probability"].title) as refusal:
        cranfield.read_collection(run, intents=intents, probabilities=likely)
    assert refusal.value.where == f"{likely}:2"
    assert f"«1 b {raw}»" in refusal.value.what
    assert KINDS["probability"].severity is Severity.ERROR


@pytest.mark.parametrize(("line", "what"), [("1 a", "too few fields"), ("1 a 0.5 x", "too many fields")])
def test_a_line_of_probabilities_has_three_fields(
    line: str, what: str, write: Callable[[str, str | bytes], str]
) -> None:
    run, intents = write("run", RUN), write("intents", b"1 a d1 1\n")
    likely = write("likely", f"{line}\n")
    with pytest.raises(InputError, match=what) as refusal:
        cranfield.read_collection(run, intents=intents, probabilities=likely)
    assert refusal.value.where == f"{likely}:1"


def test_an_intent_has_one_probability(write: Callable[[str, str | bytes], str]) -> None:
    run, intents = write("run", RUN), write("intents", b"1 a d1 1\n1 b d2 1\n")
    likely = write("likely", "1 a 0.5\n1 b 0.5\n1 a 0.5\n")
    with pytest.raises(InputError, match=KINDS["probability-twice"].title) as refusal:
        cranfield.read_collection(run, intents=intents, probabilities=likely)
    assert refusal.value.where == f"{likely}:3"


@pytest.mark.parametrize(
    ("judged", "kind", "why"),
    [
        (b"1 0 d1 1\n1 0 d2 0\n", "qrels", "always the same"),
        (b"1 Q0 d1 1\n2 Q0 d1 0\n", "qrels", "always the same"),
        (b"1 4.5 d1 1\n1 1 d2 0\n1 2 d3 2\n2 4.5 d1 1\n", "qrels", "rounds, not intents"),  # as in TREC-COVID
        (b"1 1 d1 1\n1 2 d1 0\n1 2 d2 0\n", "intents", "an intent"),
        (b"1 a d1 1\n1 b d2 0\n", "intents", "an intent"),
    ],
)
def test_the_second_column_of_judgments_decides_what_they_are(
    write: Callable[[str, bytes], str], judged: bytes, kind: str, why: str
) -> None:
    path = write("judged", judged)
    (file,) = check_files([path]).files
    assert str(file.kind) == kind
    assert why in file.why
    (told,) = check_files([path], kinds={path: FileKind.INTENTS}).files
    assert (str(told.kind), told.why) == ("intents", "It was given as such.")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("1 a 0.5\n1 b 0.5\n", {}),
        ("1 a 1\n", {"probability-missing": 1}),
        ("2 a 1\n3 b 1\n3 c 0.5\n", {"probability-unused": 2}),
        ("1 a 0.5\n1 b 0.3\n1 never-relevant 0.2\n", {}),
    ],
)
def test_probabilities_that_do_not_fit_the_intents_are_counted(
    lines: str, expected: dict[str, int], write: Callable[[str, str | bytes], str]
) -> None:
    run, intents = write("run", RUN), write("intents", b"1 a d1 1\n1 b d2 1\n")
    found = cranfield.read_collection(run, intents=intents, probabilities=write("likely", lines)).warnings
    assert {each.slug: each.count for each in found if each.slug.startswith("probability")} == expected


HUGE = sized(5_000_000, 100_000_000)


@pytest.mark.parametrize(
    ("before", "unit", "line"),
    [pytest.param(b"", b"x", 1, id="one word"), pytest.param(RUN, b"1 Q0 d1 1 2.0 tag ", 3, id="lost line ends")],
)
def test_a_line_of_megabytes_is_found_and_not_printed(before: bytes, unit: bytes, line: int, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(before + unit * (HUGE // len(unit)) + b"\n")
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["kind"], row["severity"], row["line"], row["count"]) == ("line-too-long", "error", line, 1)
    assert len(result.stdout) < 2000
    assert result.exit_code == 2


@pytest.mark.parametrize("told", [False, True])
def test_a_line_of_over_a_million_bytes_is_refused_at_its_place(
    told: bool, write: Callable[[str, str | bytes], str]
) -> None:
    run, qrels = write("run", RUN + b"1 Q0 d3 " * LONGEST_LINE + b"\n"), write("qrels", QRELS)
    (problem,) = check_files([run, qrels], kinds={run: FileKind.RUN} if told else {}).problems
    assert (problem.slug, problem.severity, problem.place) == ("line-too-long", "error", f"{run}:3")
    assert len(problem.text) <= 60
    with pytest.raises(InputError) as refusal:
        cranfield.read_collection(run, qrels)
    assert refusal.value.where == f"{run}:3"
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("field", range(6), ids=["topic", "Q0", "document", "rank", "score", "tag"])
def test_a_line_of_over_a_million_bytes_is_refused_even_with_six_fields(
    field: int, reader: str, write: Callable[[str, str | bytes], str]
) -> None:
    fields = [b"1", b"Q0", b"d3", b"3", b"0.5", b"tag"]
    fields[field] += b"0" * LONGEST_LINE
    run, qrels = write("run", RUN + b" ".join(fields) + b"\n"), write("qrels", QRELS)
    report = check_files([run, qrels])
    assert [(problem.slug, problem.place) for problem in report.problems] == [("line-too-long", f"{run}:3")]
    with pytest.raises(InputError) as refusal:
        cranfield.read_collection(run, qrels)
    assert refusal.value.where == f"{run}:3"


@pytest.mark.parametrize("field", range(4), ids=["topic", "iteration", "document", "grade"])
def test_a_judgment_of_over_a_million_bytes_is_refused_even_with_four_fields(
    field: int, write: Callable[[str, str | bytes], str]
) -> None:
    fields = [b"1", b"0", b"d3", b"0"]
    fields[field] += b"0" * LONGEST_LINE
    run, qrels = write("run", RUN), write("qrels", QRELS + b" ".join(fields) + b"\n")
    report = check_files([run, qrels], kinds={qrels: FileKind.QRELS})
    assert [(problem.slug, problem.place) for problem in report.problems] == [("line-too-long", f"{qrels}:3")]
    with pytest.raises(InputError) as refusal:
        cranfield.read_collection(run, qrels)
    assert refusal.value.where == f"{qrels}:3"


@pytest.mark.parametrize(
    "line", [b"1,0\r5", b"1," + b"5" * 200_000, b'1,"5'], ids=["a bare carriage return", "a huge cell", "a quote"]
)
def test_a_cell_the_csv_reader_cannot_take_is_an_error_of_its_line(line: bytes) -> None:
    _, problems = inspect_scores(b"topic,a,b\n" + line + b"\n", "scores.csv")
    assert {problem.place for problem in problems if problem.severity is Severity.ERROR} == {"scores.csv:2"}


def test_several_runs_in_one_file_are_in_order_when_tags_name_systems(write: Callable[[str, str | bytes], str]) -> None:
    run = write("run", RUN + RUN.replace(b"tag", b"gat"))
    assert check_files([run], by_tag=True).problems == ()
    assert {problem.slug for problem in check_files([run]).problems} >= {"several-tags", "duplicate-document"}


def test_several_tags_are_in_order_when_files_name_systems(write: Callable[[str, str | bytes], str]) -> None:
    run, qrels = write("run", RUN.replace(b"1.0 tag", b"1.0 gat")), write("qrels", QRELS)
    assert cranfield.read_collection(run, qrels, name="file").systems == ("run",)
    assert CliRunner().invoke(app, ["check", run, qrels, "--name", "file"]).exit_code == 0


def test_one_tag_in_two_files_is_in_order_when_files_name_systems(write: Callable[[str, str | bytes], str]) -> None:
    runs, qrels = [write("one", RUN), write("two", RUN)], write("qrels", QRELS)
    assert cranfield.read_collection(runs, qrels, name="file").systems == ("one", "two")
    assert CliRunner().invoke(app, ["check", *runs, qrels, "--name", "file"]).exit_code == 0


@pytest.mark.parametrize(
    ("names", "collide"),
    [
        (("input.one", "input.two"), False),
        (("one.run.gz", "one.b"), False),
        (("one.txt", "input.one"), True),
        (("one.txt", "one.run"), True),
    ],
)
def test_a_check_names_systems_by_file_as_reading_does(
    names: tuple[str, str], collide: bool, write: Callable[[str, str | bytes], str]
) -> None:
    runs, qrels = [write(name, RUN) for name in names], write("qrels", QRELS)
    answer = CliRunner().invoke(app, ["check", *runs, qrels, "--name", "file", "--json"])
    assert [row["kind"] for row in json.loads(answer.stdout)["rows"]] == ["tag-shared"] * collide
    if collide:
        with pytest.raises(InputError):
            cranfield.read_collection(runs, qrels, name="file")
    else:
        assert len(cranfield.read_collection(runs, qrels, name="file").systems) == 2


@pytest.mark.parametrize(
    ("other", "slug"), [(b"1 Q0 x1 1 2.0 gat\n", "nothing-judged"), (b"7 Q0 d1 1 2.0 gat\n", "no-overlap")]
)
def test_runs_of_one_file_meet_the_judgments_one_by_one(
    other: bytes, slug: str, write: Callable[[str, str | bytes], str]
) -> None:
    run, qrels = write("run", RUN + other), write("qrels", QRELS)
    report = check_files([run, qrels], by_tag=True)
    if KINDS[slug].severity is Severity.ERROR:
        with pytest.raises(InputError, match=KINDS[slug].title):
            cranfield.read_collection(run, qrels, name="tag")
    else:
        found = cranfield.read_collection(run, qrels, name="tag").warnings
        assert [problem.slug for problem in found] == [slug]
    assert [problem.slug for problem in report.problems] == [slug]


def test_files_of_every_kind_are_told_apart_by_their_lines(example: Path, tmp_path: Path) -> None:
    score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), "AP")
    scores = tmp_path / "scores.csv"
    scores.write_bytes(b"topic,a\n1,0.5\n")
    names = ["runs/aldgate1.txt", "qrels.txt", "intents.txt", "teams.tsv"]
    report = check_files([*(example / name for name in names), scores])
    kinds = {Path(checked.file).name: str(checked.kind) for checked in report.files}
    assert kinds == {
        "aldgate1.txt": "run",
        "qrels.txt": "qrels",
        "intents.txt": "intents",
        "teams.tsv": "teams",
        "scores.csv": "scores",
    }


def test_the_order_of_files_does_not_matter(example: Path) -> None:
    files = [example / "runs" / "aldgate1.txt", example / "runs" / "eskdale1.txt", example / "qrels.txt"]
    forward, backward = check_files(files), check_files(files[::-1])
    assert set(forward.problems) == set(backward.problems)
    assert {checked.file for checked in forward.files} == set(map(str, files))


def test_a_check_counts_the_lines_of_data(write: Callable[[str, str | bytes], str]) -> None:
    run = write("run", b"\n" + RUN + b"# the end\n")
    (checked,) = check_files([run]).files
    assert (checked.file, checked.kind, checked.lines) == (run, FileKind.RUN, 2)


def test_a_check_tells_how_far_it_is(write: Callable[[str, str | bytes], str]) -> None:
    steps: list[tuple[int, int]] = []
    check_files([write("run", RUN), write("qrels", QRELS)], progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]


def test_a_refusal_names_the_first_five_errors_and_how_to_see_the_rest() -> None:
    problems = [Problem("too-few-fields", "run", line, f"line {line}") for line in range(1, 9)]
    with pytest.raises(InputError) as refusal:
        refuse(problems)
    text = str(refusal.value)
    assert refusal.value.where == "run:1"
    assert [f"run:{line}:" in text for line in range(1, 9)] == [True] * 5 + [False] * 3
    assert "3 more" in text
    assert '`check("run")`' in text


def test_notes_and_warnings_are_not_refused() -> None:
    refuse([Problem("tie", "run", 1), Problem("comment", "run", 2)])


def test_kinds_are_counted_errors_first() -> None:
    problems = [Problem("tie", "a", count=3), Problem("comment", "a"), Problem("score-nan", "a"), Problem("tie", "b")]
    assert list(count_by_kind(problems).items()) == [("score-nan", 1), ("comment", 1), ("tie", 4)]


def test_every_kind_says_what_it_does_to_the_scores_and_what_to_do() -> None:
    for slug, kind in KINDS.items():
        assert slug == kind.slug
        assert kind.title
        assert kind.effect.endswith(".")
        assert kind.fix.endswith(".")


# --- files that are read whole


@pytest.fixture
def whole_files(tmp_path: Path) -> dict[str, Path]:
    """A packed collection, and the same scores as JSON and Parquet."""
    (tmp_path / "run").write_bytes(RUN)
    (tmp_path / "qrels").write_bytes(QRELS)
    collection = cranfield.read_collection(str(tmp_path / "run"), str(tmp_path / "qrels"))
    paths = {name: tmp_path / f"whole.{name}" for name in ("cran", "json", "parquet")}
    collection.save(paths["cran"])
    for name in ("json", "parquet"):
        cranfield.write_scores(score_collection(collection, "AP"), paths[name])
    return paths


@pytest.mark.parametrize(("name", "kind"), [("cran", "packed"), ("json", "scores"), ("parquet", "scores")])
def test_a_file_that_is_read_whole_is_checked_by_reading_it(
    name: str, kind: str, whole_files: dict[str, Path], tmp_path: Path
) -> None:
    path = whole_files[name]
    good = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert good.exit_code == 0
    assert f'"{kind}"' in good.output
    unnamed = tmp_path / "unnamed"
    unnamed.write_bytes(path.read_bytes())
    assert CliRunner().invoke(app, ["check", str(unnamed)]).exit_code == 0
    unnamed.write_bytes(path.read_bytes()[:-30])
    bad = CliRunner().invoke(app, ["check", str(unnamed)])
    assert bad.exit_code == 2
    assert "cannot be read" in bad.output


def test_an_altered_packed_collection_is_found_by_its_checksums(whole_files: dict[str, Path]) -> None:
    data = bytearray(whole_files["cran"].read_bytes())
    data[len(data.rstrip(b"\x00")) - 1] ^= 1  # not one of the bytes between arrays
    whole_files["cran"].write_bytes(data)
    assert CliRunner().invoke(app, ["check", str(whole_files["cran"])]).exit_code == 2


@pytest.mark.parametrize("option", [["--order", "rank"], ["--name", "file"]])
def test_what_was_settled_by_packing_is_not_asked_for_again(option: list[str], whole_files: dict[str, Path]) -> None:
    refused = CliRunner().invoke(app, ["score", str(whole_files["cran"]), "-m", "AP", *option])
    assert isinstance(refused.exception, RequestError)
    assert refused.exception.exit_code == 2
    assert "pack" in str(refused.exception)


METADATA = b"""# made by hand
# ir_metadata.start
# platform:
#   hardware:
#     cpu: 'Intel Xeon @ 3.50GHz'
#   software: Ubuntu 18.04 LTS amd64
# research goal:
#   venue: SIGIR
# method:
#   retrieval:
#     - name: bm25
#       k1: 0.9
#     - name: monoT5
#   indexing: |
#     two lines
# actor:
#   mail:
#   - a@b.c
#   - b@b.c
# tag: mine
# ir_metadata.end
101 Q0 d1 1 9.5 mine
101 Q0 d2 2 8.5 mine
"""
SAID = {
    "platform": {"hardware": {"cpu": "Intel Xeon @ 3.50GHz"}, "software": "Ubuntu 18.04 LTS amd64"},
    "research goal": {"venue": "SIGIR"},
    "method": {"retrieval": [{"name": "bm25", "k1": "0.9"}, {"name": "monoT5"}], "indexing": "|"},
    "actor": {"mail": ["a@b.c", "b@b.c"]},
    "tag": "mine",
    "comments": ["made by hand", "two lines"],
}


def test_metadata_at_the_head_of_a_run_are_shown_and_counted_once(write: Callable[[str, str | bytes], str]) -> None:
    run, qrels = write("meta.run", METADATA), write("qrels.txt", "# by us\n101 0 d2 1\n")
    found = cranfield.check([run, qrels])
    assert {each["file"]: each.get("metadata") for each in found.inputs["files"]} == {
        run: SAID,
        qrels: {"comments": ["by us"]},
    }
    comments = [problem for problem in found.report.problems if problem.slug == "comment"]
    assert [(each.file, each.line, each.count) for each in comments] == [(qrels, 1, 1), (run, 1, 21)]
    assert found.exit_code == 0
    shown = [table for table in found.document().tables if table.title.endswith(run)]
    assert ("method / retrieval / k1", "0.9") in shown[0].rows
    scored = cranfield.score(run, qrels=qrels, measure="RR")
    assert scored.table.mean("RR") == {"mine": 0.5}
    assert scored.inputs["metadata"] == {run: SAID}


@pytest.mark.parametrize("line", [b"#1 Q0 d1 1 9.5 mine", b"#1 Q0 d1 x nan mine"])
def test_a_topic_that_starts_with_a_hash_is_refused_at_its_line(
    line: bytes, write: Callable[[str, str | bytes], str]
) -> None:
    run, qrels = write("hash.run", b"# a comment of six fields here\n" + line + b"\n"), write("qrels", "#1 0 d1 1\n")
    with pytest.raises(InputError, match=r"hash.run:2.*a # line with the shape of data|qrels:1"):
        cranfield.score(run, qrels=qrels)
    slugs = {(problem.slug, problem.line) for problem in cranfield.check(run=[run]).report.problems}
    assert ("comment-or-data", 2) in slugs
    assert ("comment-or-data", 1) not in slugs


def test_metadata_are_read_to_a_depth_and_no_further() -> None:
    lines = [f"# {' ' * depth}k{depth}:" for depth in range(3000)]
    text = "\n".join(["# ir_metadata.start", *lines, "# ir_metadata.end"])
    found = head_metadata(text.encode())
    assert set(found) == {"k0", "comments"}
    assert "k2999:" in found["comments"]
