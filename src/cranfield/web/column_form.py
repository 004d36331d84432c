"""What the columns of score files are, chosen on a page beside their first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from cranfield.errors import CranfieldError
from cranfield.scores.columns import Columns, columns_line
from cranfield.web.data import (
    Known,
    check_columns,
    preview_of,
    progress_page,
    reading,
    runner_of,
    start_reading,
    store_of,
)
from cranfield.web.error_pages import Fault
from cranfield.web.forms import PAGE_TITLES
from cranfield.web.guard import BodyError
from cranfield.web.page import render
from cranfield.web.upload_form import Received
from cranfield.web.uploads import Data, Preview

router = APIRouter()
LONGEST_FORM = 1_000_000  # bytes
PARTS = {"topic": "Topic", "system": "System", "measure": "Measure"}
REPEATED = {
    "shard": "shards",
    "seed": "seeds: each system has its own",
    "prompt": "prompts, the same for all systems",
    "judge": "judges, the same for all systems",
    "mean": "repeats, to be averaged",
}
OF_TOPICS = {"cluster": "Cluster of the topic", "stratum": "Stratum of the topic", "weight": "Weight of the topic"}
Chosen = Mapping[str, Sequence[str]]


@router.get("/data/{key}/columns", include_in_schema=False)
def columns_page(request: Request, data: Known) -> Response:
    job = reading(request, data)
    if job.is_open:
        return progress_page(request, job, f"/data/{data.key}")
    table, told = _preview(request, data), data.about["columns"]
    fault = job.fault
    if fault is not None and not told and table.is_unclear:  # that the columns are to be named, the page says itself
        fault = replace(fault, fix="") if table.is_guessed else None
    return _page(data, table, chosen_of(Columns.of(told) if told else table.likely), fault)


@router.post("/data/{key}/columns", include_in_schema=False)
async def choose(request: Request, data: Known) -> Response:
    """Read the files again, with the columns that were chosen."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            raise BodyError(413, "the form is too long")
    return await run_in_threadpool(_read_again, request, data, parse_qs(body.decode("utf-8", "replace")))


def _read_again(request: Request, data: Data, chosen: Chosen) -> Response:
    table = _preview(request, data)
    try:
        columns = columns_of(chosen)
        check_columns(columns)
    except CranfieldError as error:
        return _page(data, table, chosen, Fault.of(error), 400)
    files = data.about["files"]
    runner_of(request).forget(data.key)
    start_reading(request, store_of(request).renew(data), Received({"columns": columns}, files))
    return RedirectResponse(f"/data/{data.key}", 303)


def columns_of(chosen: Chosen) -> str:
    """What was chosen, as one writes it.

    >>> columns_of({"topic": ["q"], "system": ["m"], "score": ["ndcg", "map"], "repeated": ["run"], "as": ["seed"]})
    'topic=q,system=m,seed=run,score=ndcg,score=map'
    """
    single = {name: values[0] for name, values in chosen.items() if values and values[0]}
    pairs = [(part, single[part]) for part in PARTS if part in single]
    if "repeated" in single:
        pairs.append((single.get("as", "shard"), single["repeated"]))
    pairs += [(part, single[part]) for part in OF_TOPICS if part in single]
    scores = ["*"] if "*" in chosen.get("score", ()) else chosen.get("score", ())
    if "topic" not in single:
        raise CranfieldError("no column is chosen for «Topic»", fix="Every score is that of a topic.")
    if single.get("system") != "*":
        pairs += [("score", name) for name in scores]
        if not scores:
            raise CranfieldError("no column is chosen for «Scores»", fix="Tick at least one.")
    return columns_line(pairs)


def chosen_of(columns: Columns) -> dict[str, Sequence[str]]:
    """The choices that say the same as ``columns``."""
    single = {part: getattr(columns, part) for part in (*PARTS, *OF_TOPICS)}
    single["repeated"] = columns.mean or columns.shard
    usual = {"nested": "seed", "crossed": "judge"}.get(columns.replicates, "shard")
    single["as"] = "mean" if columns.mean else usual
    return {**{part: [name] for part, name in single.items() if name}, "score": columns.score}


def _preview(request: Request, data: Data) -> Preview:
    table = preview_of(request, data)
    if table is None:
        raise CranfieldError(
            "these files are no tables with columns to name",
            fix="Score tables have some: CSV, JSON, Parquet or workbooks.",
        )
    return table


def _of_form(fault: Fault) -> Fault:
    """A fault in the words of the form, which has a field for what distinguishes two scores."""
    if "seed=COLUMN" in fault.fix:
        fix = "Choose the column that distinguishes them: under «System», or as «Replicate or shard»."
        fault = replace(fault, fix=fix)
    return fault.spoken(PAGE_TITLES)


def _page(data: Data, table: Preview, chosen: Chosen, fault: Fault | None, status: int = 200) -> Response:
    ticked = set(chosen.get("score", ()))
    inside = [name for name in ticked if name not in (*table.names, "*")]  # of objects, by their way
    ticks = [*(name for name in table.names if name in table.numbers or name in ticked), *inside]
    single: dict[str, Any] = {name: values[0] for name, values in chosen.items() if values}
    page = render(
        "columns.html",
        here="data",
        data=data,
        table=table,
        files=len(data.about["files"]),
        chosen=single,
        ticks=ticks,
        ticked=ticked,
        parts=PARTS,
        of_topics=OF_TOPICS,
        repeated=REPEATED,
        fault=_of_form(fault) if fault else None,
    )
    return HTMLResponse(page, status)
