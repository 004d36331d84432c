"""What is done with an upload, in a process of its own: read it once, then answer questions about it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cranfield.collection import Collection, open_collection, read_collection
from cranfield.collection.packed import is_packed
from cranfield.compare.auditing import audit
from cranfield.compare.comparison import compare
from cranfield.compare.sharding import replicate_study, shard_study
from cranfield.design.card import cards_from_pilot, whole
from cranfield.design.grid import parse_grid
from cranfield.design.planning import PilotSize, Request, plan_from_pilot
from cranfield.errors import InputError
from cranfield.formats.checking import FileKind, sniff
from cranfield.formats.text import read_head
from cranfield.measures import beside, parse_measures
from cranfield.report import comparing
from cranfield.report.document import warning_lines
from cranfield.report.scoring import score_document
from cranfield.report.sharding import shard_document
from cranfield.report.sizing import card_document, pilot_size_document, power_grid_document
from cranfield.report.sketch import interval_sketch
from cranfield.report.variances import variance_document
from cranfield.scores import ScoreTable, read_scores
from cranfield.scores.files import is_json, is_parquet
from cranfield.variance import Variances, estimate_variance
from cranfield.web.calculator import card_sketch, design_request, given_numbers, parse_numbers, size_sketch
from cranfield.web.command import command_line
from cranfield.web.page import Answer, answer_html, download, kinds
from cranfield.web.queries import (
    CompareQuery,
    PilotPowerQuery,
    PilotSizeQuery,
    ScoreQuery,
    ShardsQuery,
    VarianceQuery,
)
from cranfield.web.store import ABOUT, FILES

PACKED = "collection.cran"
Progress = Callable[[int, int], None]
MANY = 4  # run files that a command line still names one by one


# --- reading


def read(names: list[str], *, order: str, name: str, progress: Progress) -> None:
    """Find out what the files are, read them, and write down what is in them."""
    by_kind: dict[FileKind, list[str]] = {}
    for each in names:
        by_kind.setdefault(_kind(f"{FILES}/{each}"), []).append(each)
    if set(by_kind) == {FileKind.SCORES}:
        about = _read_tables(names)
    else:
        about = _read_collection(by_kind, order, name, progress)
    Path(ABOUT).write_text(json.dumps(about), encoding="utf-8")


def _kind(path: str) -> FileKind:
    if is_packed(path):
        return FileKind.PACKED
    head = read_head(path, 50_000)
    return FileKind.SCORES if is_parquet(head) or is_json(head) else sniff(head)


def _read_tables(names: list[str]) -> dict[str, Any]:
    tables = [read_scores(f"{FILES}/{name}") for name in names]
    measures = list(dict.fromkeys(measure for table in tables for measure in table.measures))
    return {
        "kind": "scores", "arguments": names, "options": {}, "names": names, "measures": measures,
        "systems": sorted({system for table in tables for system in table.systems}),
        "topics": sum(len(table.topics) for table in tables), "shards": max(len(table.shards) for table in tables),
        "judgments": None, "warnings": [line for table in tables for line in warning_lines(table.warnings)],
    }  # fmt: skip


def _read_collection(by_kind: dict[FileKind, list[str]], order: str, name: str, progress: Progress) -> dict[str, Any]:
    if FileKind.PACKED in by_kind:
        return _take_packed(by_kind)
    _check_kinds(by_kind)
    runs = by_kind[FileKind.RUN]
    single = {kind: by_kind[kind][0] for kind in (FileKind.QRELS, FileKind.INTENTS, FileKind.TEAMS) if kind in by_kind}
    paths = {kind: f"{FILES}/{file}" for kind, file in single.items()}
    collection = read_collection(
        [f"{FILES}/{run}" for run in runs], paths.get(FileKind.QRELS), intents=paths.get(FileKind.INTENTS),
        teams=paths.get(FileKind.TEAMS), order=order, name=name, progress=progress,
    )  # fmt: skip
    collection.save(PACKED)
    shutil.rmtree(FILES)
    arguments = runs if len(runs) <= MANY else ["runs/"]
    told = {"order": order, "name": name, **{str(kind): file for kind, file in single.items()}}
    usual = {"order": "score", "name": "auto", "teams": told.get("teams")}
    options = {option: value for option, value in told.items() if usual.get(option) != value}
    return _about(collection, [*runs, *single.values()], arguments, options)


def _take_packed(by_kind: dict[FileKind, list[str]]) -> dict[str, Any]:
    names = [name for files in by_kind.values() for name in files]
    if len(names) > 1:
        raise InputError("a packed collection brings everything along", fix="Upload it alone.")
    collection = open_collection(f"{FILES}/{names[0]}")
    for array in collection.arrays.values():  # each is compared with its checksum now
        len(array)
    os.replace(f"{FILES}/{names[0]}", PACKED)
    return _about(collection, names, names, {})


def _check_kinds(by_kind: dict[FileKind, list[str]]) -> None:
    read_as = "; ".join(f"{len(files)} read as {kind}" for kind, files in by_kind.items())
    wanted = "Upload runs with their judgments, or score tables, or one packed collection."
    if FileKind.UNKNOWN in by_kind:
        raise InputError("no known kind of file", where=by_kind[FileKind.UNKNOWN][0], fix=wanted)
    if FileKind.SCORES in by_kind:
        raise InputError(f"score tables do not go with other files ({read_as})", fix=wanted)
    if FileKind.RUN not in by_kind:
        raise InputError(f"there are no runs ({read_as})", fix=wanted)
    if FileKind.QRELS not in by_kind and FileKind.INTENTS not in by_kind:
        raise InputError(f"there are runs but no judgments ({read_as})", fix="Choose the runs and the qrels together.")
    for kind, files in by_kind.items():
        if kind is not FileKind.RUN and len(files) > 1:
            raise InputError(
                f"{len(files)} files are read as {kind}: {', '.join(files[:5])}", fix="Upload one of them."
            )


def _about(collection: Collection, names: list[str], arguments: list[str], options: dict[str, str]) -> dict[str, Any]:
    return {
        "kind": "collection", "arguments": arguments, "options": options, "names": names, "measures": [],
        "systems": list(collection.systems), "topics": len(collection.topics), "shards": 0,
        "judgments": len(collection.arrays["grade"]), "warnings": warning_lines(collection.warnings),
    }  # fmt: skip


# --- answering


def answer(
    task: str, page: str, asked: str, about: dict[str, Any], query: Any, out: str, *, progress: Progress
) -> None:
    """Answer one question and leave every face of the answer in a folder."""
    found = TASKS[task](about, query, progress)
    found = replace(found, note=_note(about, found.command))
    folder = Path(f"{out}.part")
    folder.mkdir(parents=True, exist_ok=True)
    links = {kind: f"{page}.{kind}{asked}" for kind in kinds(found)}
    (folder / "answer").write_text(answer_html(found, links), encoding="utf-8")
    for kind in links:
        (folder / kind).write_text(download(found, kind), encoding="utf-8")
    os.replace(folder, out)


def _tables(about: dict[str, Any], measures: list[str] | None, missing: str) -> dict[str, ScoreTable]:
    if about["kind"] == "collection":
        return {about["names"][0]: open_collection(PACKED).score(measures or ["AP"], missing=missing)}
    found = {}
    for name in about["names"]:
        table = read_scores(f"{FILES}/{name}", measure=measures[0] if measures and len(measures) == 1 else None)
        found[name] = (table if measures is None else table.select(measures=measures)).settle(missing)
    return found


def _variances(about: dict[str, Any], query: Any) -> Variances:
    tables = _tables(about, query.measure, query.missing)
    return estimate_variance(tables if len(tables) > 1 else next(iter(tables.values())), seed=query.seed)


def _inputs(about: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"scores": about["arguments"], **about["options"], **more}


def _command(about: dict[str, Any], name: str, query: Any, **changed: Any) -> str:
    given = query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"goal"}) | changed
    if name != "score" and set(about["options"]) - {"qrels"}:  # only score has flags for all of these
        return command_line(name, [PACKED], given)
    return command_line(name, about["arguments"], {**about["options"], **given})


def _note(about: dict[str, Any], command: str) -> str:
    """What the names in a command stand for, where they are not those of the files."""
    if f" {PACKED}" in command:
        return f"{PACKED} is the packed collection that the page «What was read» offers."
    return "runs/ is the folder with the run files." if "runs/" in about["arguments"] else ""


def _score(about: dict[str, Any], query: ScoreQuery, progress: Progress) -> Answer:
    wanted = parse_measures(query.measure or ["AP", "P@10", "nDCG@10"])
    companions = [found for each in wanted if (found := beside(each)) is not None and found not in wanted]
    names = [str(each) for each in [*wanted, *companions]]
    table = open_collection(PACKED).score(names, missing=query.missing, no_relevant=query.no_relevant)
    inputs = {"runs": about["arguments"], **about["options"], "measures": [str(each) for each in wanted],
              "missing": query.missing, "no_relevant": query.no_relevant}  # fmt: skip
    return Answer(score_document(table, inputs), _command(about, "score", query))


def _variance(about: dict[str, Any], query: VarianceQuery, progress: Progress) -> Answer:
    tables = _tables(about, query.measure, query.missing)
    found = estimate_variance(
        tables if len(tables) > 1 else next(iter(tables.values())), percentile=query.percentile,
        confidence=query.confidence, resamples=query.resamples, seed=query.seed,
    )  # fmt: skip
    warnings = [problem for table in tables.values() for problem in table.warnings]
    inputs = _inputs(about, measures=query.measure, missing=query.missing)
    return Answer(variance_document(found, inputs, warnings), _command(about, "variance", query))


def _size(about: dict[str, Any], query: PilotSizeQuery, progress: Progress) -> Answer:
    given = given_numbers(query)
    request = design_request(query, given)
    sizes = plan_from_pilot(request, _variances(about, query))
    inputs = _inputs(about, **given, sides=request.sides, paired=request.paired, method=query.method)
    dropped = {name: None for name in DESIGN_NUMBERS if name not in given}
    sketch, caption = _pilot_sketch(sizes[0], request)
    command = _command(about, "size", query, **dropped)
    return Answer(pilot_size_document(sizes, inputs, query.seed), command, sketch, caption)


DESIGN_NUMBERS = ("systems", "min_range", "difference", "effect_size", "width", "sensitivity")


def _pilot_sketch(first: PilotSize, request: Request) -> tuple[str, str]:
    """The curve of the first method, with the variance that was estimated."""
    values: dict[str, Any] = {
        name: sorted(set(numbers.ravel().tolist())) for name, numbers in first.size.inputs.items()
    }
    drawn = Request(**values, method=first.size.method.name, sides=request.sides, paired=request.paired)
    sketch, caption = size_sketch(drawn, None, first.size)
    return sketch, f"{first.measure}. {caption} Variance: {first.estimate.method}."


def _power(about: dict[str, Any], query: PilotPowerQuery, progress: Progress) -> Answer:
    given = given_numbers(query, ("topics", "systems", "difference", "alpha", "power"))
    cards = cards_from_pilot(_variances(about, query), **parse_numbers(given))
    inputs = _inputs(about, **given)
    one_each = len({card.measure for card in cards}) == len(cards)
    document = card_document(cards, inputs, None) if one_each else power_grid_document(cards, inputs)
    sketch = card_sketch(cards[0]) if one_each else ""
    return Answer(document, _command(about, "power", query), sketch, cards[0].measure)


def _compare(about: dict[str, Any], query: CompareQuery, progress: Progress) -> Answer:
    table = next(iter(_tables(about, [query.measure] if query.measure else None, query.missing).values()))
    measure = table.measures[0]
    inputs = _inputs(about, measures=[measure], test=query.test, correct=query.correct, alpha=query.alpha,
                     baseline=query.baseline, equivalence=query.equivalence, resamples=query.resamples)  # fmt: skip
    unpaired = query.test == "unpaired"
    named: dict[str, Any] = {"measure": measure, "test": None, "unpaired": True} if unpaired else {"measure": measure}
    command = _command(about, "compare", query, **named)
    if query.audit:
        found = audit(table, measure=measure, alpha=query.alpha, count=query.resamples, seed=query.seed)
        return Answer(comparing.audit_document({measure: found}, inputs, table.warnings), command)
    result = compare(
        table, measure=measure, test=query.test, correct=query.correct, alpha=query.alpha,
        baselines=query.baseline or (), equivalent_within=query.equivalence, count=query.resamples, seed=query.seed,
    )  # fmt: skip
    document = comparing.compare_document(result, inputs, table.warnings)
    return Answer(document, command, interval_sketch(document.rows, title=f"mean {measure} and its interval"))


def _shards(about: dict[str, Any], query: ShardsQuery, progress: Progress) -> Answer:
    inputs = {"runs": about["arguments"], **about["options"], "shards": query.shards, "measures": query.measure,
              "samples": query.samples, "alpha": query.alpha, "undefined": query.undefined}  # fmt: skip
    if about["kind"] == "scores":
        table = next(iter(_tables(about, query.measure, "nan").values()))
        found = replicate_study(table, table.measures[0], alpha=query.alpha, held_out=query.held_out, seed=query.seed)
    else:
        numbers = [whole(value, "shards") for value in parse_grid(query.shards, name="shards", most=100)]
        found = shard_study(
            open_collection(PACKED), query.measure or ["AP"], shards=numbers, samples=query.samples, alpha=query.alpha,
            x=query.undefined, seed=query.seed, held_out=query.held_out, progress=progress,
        )  # fmt: skip
    changed = {} if query.held_out else {"held_out": None, "no_held_out": True}
    return Answer(shard_document(found, inputs), _command(about, "shards", query, **changed))


TASKS: dict[str, Callable[[dict[str, Any], Any, Progress], Answer]] = {
    "score": _score,
    "variance": _variance,
    "size": _size,
    "power": _power,
    "compare": _compare,
    "shards": _shards,
}
