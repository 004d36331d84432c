"""Every question about an upload, in the order of the pages, and its answer in a process of its own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.web.forms import labels_of
from cranfield.web.page import Reply, download
from cranfield.web.page_maker import (
    CANDIDATE_TOPICS,
    CANDIDATES,
    HUMAN_FILE,
    Asked,
    DataPage,
    judges_answer,
    make_page,
    report_answer,
    study_answer,
)
from cranfield.web.uploads import PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress


CHECK = make_page("check", front=(), files=("order", "name"), of=("files", "collection", "scores", "shards"))
SCORE = make_page(
    "score",
    front=("measure",),
    files=("qrels", "intents", "order", "ties", "precision", "name"),
    of=("collection",),
    scored_by="AP P@10 nDCG@10",
)
FEW, MANY = 10, 20  # systems of a design that is checked, unless a number is given, where there are more than many
VARIANCE = make_page("variance", front=("measure", "percentile", "pairs"))
SIZE = make_page(
    "size",
    front=("measure", "difference", "systems", "test", "min_range", "width", "sensitivity", "alpha", "power"),
    example=lambda about: {"difference": "0.05"},
)
POWER = make_page("power", front=("measure", "topics", "systems", "test", "difference", "alpha", "power"))
PILOT = make_page(
    "pilot",
    front=("measure", "min_range", "difference", "systems", "leave_out", "topics", "trials"),
    files=("qrels", "teams", "order", "ties", "precision", "name"),
    of=("collection",),
)
BUDGET = make_page(
    "budget",
    front=("measure", "best", "min_range", "difference", "systems", "depths", "budget", "price", "topic_price"),
    files=("qrels", "teams", "order", "ties", "precision", "name"),
    of=("collection",),
)
COMPARE = make_page(
    "compare",
    files=("qrels", "teams"),
    front=(
        "measure",
        "test",
        "correct",
        "alpha",
        "baseline",
        "equivalence",
        "non_inferiority",
        "gate",
        "candidate",
        "audit",
    ),
)
JUDGES = make_page(
    "judges",
    front=("human", "measure", "topics", "draw", "stratify", "alpha"),
    of=("scores",),
    tables=2,
    answer=judges_answer,
    human=HUMAN_FILE,
)
LEADERBOARD = make_page(
    "leaderboard",
    front=("measure", "weights", "standardise", "baseline", "test", "correct", "alpha", "lower_is_better"),
    of=("scores",),
)
SHARDS = make_page("shards", front=("measure", "shards", "samples", "alpha"), of=("collection", "shards"), alone=True)
RELIABILITY = make_page("reliability", front=("measure", "topics", "target", "drop", "test", "alpha"))
SIMULATE = make_page(
    "simulate",
    front=("measure", "topics", "margins", "dependence", "gap", "equal"),
    of=("collection", "scores", "shards"),
    alone=True,
    remark="The new topics are among the downloads.",
)
VERIFY = make_page(
    "verify",
    front=("measure", "difference", "min_range", "systems", "topics", "test", "alpha", "power"),
    of=("collection", "scores", "shards"),
    alone=True,
    without=("gate",),
    example=lambda about: {
        "difference": "0.05",
        **({"systems": str(FEW)} if len(about["systems"]) > MANY else {}),  # some of many cannot have such means
        "collections": "1000",  # seconds, not a minute
        "search": "false",
    },
)
STUDY_PAST = make_page(
    "study_past",
    front=("measure", "difference", "alpha", "power", "percentile"),
    alone=True,
    example=lambda about: {"difference": "0.05"},
)
STUDY_TRIAL = make_page(
    "study_trial",
    front=("measure", "trial_size", "confidence", "pairs", "repeats"),
    alone=True,
    without=("alpha", "power"),
)
STUDY_SIMULATE = make_page(
    "study_simulate",
    front=("measure", "system", "baseline", "pairs", "difference", "alpha", "power"),
    alone=True,
    # Without names, only a few random pairs can be meant where there are more than two systems.
    example=lambda about: {} if len(about["systems"]) <= 2 else {"pairs": "3", "repeats": "2000"},
)
STUDY_PEEK = make_page(
    "study_peek",
    front=("measure", "first", "low", "high", "alpha"),
    alone=True,
    example=lambda about: {"first": str(max(2, min(50, about["topics"] // 2)))},
)
GROWING = tuple(
    # What writes into the file, and the test, which is a look, wait to be asked.
    make_page(
        name,
        front=front,
        of=("study",),
        scored_by="",
        answer=study_answer,
        waits=name in ("study_add", "study_test", "study_edit"),
    )
    for name, front in {
        "study_status": (),
        "study_next": ("count",),
        "study_add": ("measure",),
        "study_test": (),
        "study_edit": ("because", "difference", "alpha", "power", "sd", "plan"),
        "study_log": ("expect",),
    }.items()
)
STUDY_NEW = make_page(
    "study_new",
    front=("difference", "sd", "plan", "alpha", "power", "system", "baseline", "measure", "topics"),
    of=("nothing",),
    scored_by="",
    required=("sd",),
    example=lambda about: {"difference": "0.03", "sd": "0.13"},
    answer=study_answer,
    topics=CANDIDATE_TOPICS,
)
VERIFY_ALONE = make_page(
    "verify",
    front=("difference", "sd", "min_range", "variance", "systems", "topics", "test", "alpha", "power"),
    of=("nothing",),
    without=("gate",),
    example=lambda about: {"systems": "10", "difference": "0.05", "sd": "0.15", "test": "tukey", "search": "false"},
)
REPORT = make_page(
    "report",
    front=("measure", "systems", "min_range", "difference", "width", "alpha", "power"),
    files=("qrels", "teams"),
    of=("collection", "scores", "shards"),
    scored_by="AP nDCG@10",
    answer=report_answer,
)
GROUPS: dict[str, tuple[DataPage, ...]] = {
    "Data": (CHECK, SCORE, VARIANCE),
    "Topics": (SIZE, POWER, PILOT, BUDGET),
    "Systems": (COMPARE, LEADERBOARD, JUDGES, SHARDS, RELIABILITY),
    "Simulation": (SIMULATE, VERIFY),
    "Studies": (STUDY_PAST, STUDY_TRIAL, STUDY_SIMULATE, STUDY_PEEK),
    "The study": GROWING,
    "Everything": (REPORT,),
}
QUESTIONS: dict[str, DataPage] = {each.name: each for group in GROUPS.values() for each in group}
WITHOUT_DATA: dict[str, DataPage] = {each.name: each for each in (VERIFY_ALONE, STUDY_NEW)}


def askable(about: Mapping[str, Any]) -> list[DataPage]:
    """The questions that make sense for an upload, or for none."""
    if about["kind"] == "nothing":
        return [*WITHOUT_DATA.values()]
    if about["kind"] == "study":
        return [each for each in GROWING if about["added"] or each.name != "study-add"]
    several = about["kind"] != "collection" and len(about["names"]) > 1
    there = [each for each in QUESTIONS.values() if about["kind"] in each.of and not (several and each.alone)]
    there = [each for each in there if each.tables <= len(about["names"])]
    return [each for each in there if about["files"] or each is not CHECK]


def grouped(about: Mapping[str, Any]) -> dict[str, list[DataPage]]:
    """The same by what they are about."""
    there = askable(about)
    found = {title: [each for each in group if each in there] for title, group in GROUPS.items()}
    return {title: group for title, group in found.items() if group}


REPLY, SHOWN, KINDS, SLOW = "reply", "answer", "kinds", "slow"  # files of an answer besides those that are downloaded


def answer(
    name: str, page: str, address: str, about: dict[str, Any], values: dict[str, Any], out: str, *, progress: Progress
) -> None:
    """Answer one question; what the page shows is made now, files when somebody asks for them."""
    folder = Path(f"{out}.part")
    question = (WITHOUT_DATA if about["kind"] == "nothing" else QUESTIONS)[name]
    asked = Asked(question, about, question.query(**values), progress)
    found = question.answer(asked)
    found = found.noting(_note(about, found.command), labels_of(question.query)).kept()
    folder.mkdir(parents=True, exist_ok=True)
    links = {kind: f"{page}.{kind}{address}" for kind in found.files()}
    (folder / SHOWN).write_text(found.html(links), encoding="utf-8")
    (folder / KINDS).write_text(" ".join(links), encoding="utf-8")
    (folder / REPLY).write_bytes(pickle.dumps(found))
    if found.is_slow:
        (folder / SLOW).touch()
    os.replace(folder, out)


def render_file(out: str, kind: str, *, progress: Progress | None = None) -> None:
    """Make one file of an answer that is there."""
    reply: Reply = pickle.loads(Path(out, REPLY).read_bytes())  # written by `answer`, in a folder of the server's own
    part = Path(out, f"{kind}.part")
    part.write_bytes(download(reply, kind))
    os.replace(part, Path(out, kind))


def _note(about: dict[str, Any], command: str) -> str:
    """What the names in a command stand for, where they are not those of the files."""
    if f" {PACKED}" in command:
        return f"{PACKED} is the packed collection that the page «What was read» offers."
    if f" {CANDIDATES}" in command:
        return f"{CANDIDATES} has the candidate topics, one per line."
    return "runs/ is the folder with the run files." if "runs/" in about["arguments"] else ""
