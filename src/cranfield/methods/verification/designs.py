"""Designs that can be verified, and where they come from: a registry of sources, each read from its own output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cranfield.errors import InputError, RequestError
from cranfield.formats.text import read_bytes, show
from cranfield.methods.design.sample_size import Size
from cranfield.methods.sharding.shard_models import SHARD_MODELS

# The test a user of each sizing method will run.
TEST_OF = {
    "exact": "anova",
    "sakai": "anova",
    "blocked": "blocked",
    "t": "t",
    "normal": "t",
    "unpaired": "anova",
    **{name: name for name in ("max-t", "tukey", "dunnett", "holm")},
}
NO_NUMBER = float("nan")


@dataclass(frozen=True)
class Design:
    """A design: numbers of topics and systems, the test that will be run, and the difference to detect.

    ``goal`` is ``min_range`` or ``difference``: the best and the worst of the systems are that far apart, the others
    half way between them. ``variance`` is σ² of one system's scores as the formula took it, ``promised_power`` what the
    formula gives for ``topics``; both are nan where there is no formula.
    """

    source: str
    test: str
    systems: int
    topics: int
    difference: float
    alpha: float = 0.05
    power: float = 0.8
    method: str = ""
    goal: str = "min_range"
    variance: float = NO_NUMBER
    promised_power: float = NO_NUMBER
    sides: int = 2
    shards: int = 1
    measure: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "measure": self.measure,
            "method": self.method,
            "test": self.test,
            "systems": self.systems,
            **({"shards": self.shards} if self.shards > 1 else {}),
            self.goal: self.difference,
            "variance": self.variance,
            "alpha": self.alpha,
            "power": self.power,
            "topics": self.topics,
            "promised_power": self.promised_power,
        }


def designs_from_sizes(sizes: Sequence[Size], *, sides: int = 2, measure: str = "") -> list[Design]:
    """A design for every cell of a size that has a power and a number of topics."""
    return _from_rows([row for size in sizes for row in size.to_dict()], sides, measure)


GOALS = ("min_range", "difference", "effect_size")


def _from_rows(rows: Sequence[Mapping[str, Any]], sides: int, measure: str = "") -> list[Design]:
    with_power = [row for row in rows if "power" in row and any(goal in row for goal in GOALS)]
    found = [_from_row(row, sides, measure) for row in with_power if row.get("topics") is not None]
    if not found:
        raise RequestError(
            "there is no design with a power to verify",
            fix="Plan for `min_range` or `difference`; widths have no power.",
        )
    return found


def _from_row(row: Mapping[str, Any], sides: int, measure: str) -> Design:
    goal = next(name for name in GOALS if name in row)
    method = str(row["method"])
    test = row.get("test") or TEST_OF.get(method)
    if test is None:
        raise RequestError(f"no test is known for the method «{method}»", fix=f"One of: {', '.join(TEST_OF)}.")
    # Of two systems the sd of the paired difference is known: σ² is half its square, as each has its share.
    sd = row.get("sd", 1.0)
    variance = row["variance"] if goal == "min_range" else sd**2 / (1 if method == "unpaired" else 2)
    return Design(
        source="size",
        test=str(test),
        systems=int(row.get("systems", 2)),
        topics=int(row["topics"]),
        difference=float(row[goal]),
        alpha=float(row["alpha"]),
        power=float(row["power"]),
        method=method,
        goal="min_range" if goal == "min_range" else "difference",
        variance=float(variance),
        promised_power=float(row.get("achieved_power") or NO_NUMBER),
        sides=sides if test == "t" else 2,
        measure=str(row.get("measure", measure)),
    )


def _read_size(content: Mapping[str, Any]) -> list[Design]:
    return _from_rows(content["rows"], 1 if content.get("inputs", {}).get("one_sided") else 2)


def _read_shards(content: Mapping[str, Any]) -> list[Design]:
    """Every model on every number of shards; topics, systems and what to find are still to be said."""
    alpha = float(content.get("inputs", {}).get("alpha", 0.05))
    kinds = dict.fromkeys((row["measure"], row["model"], int(row["shards"])) for row in content["rows"])
    return [
        Design("shards", model, 0, 0, NO_NUMBER, alpha, method=model, shards=shards, measure=measure)
        for measure, model, shards in kinds
        if model in SHARD_MODELS
    ]


def _read_plans(content: Mapping[str, Any]) -> list[Design]:
    """The plan of a study with a fixed number of topics; those that stop on the way are for ``study simulate``."""
    asked = content["inputs"]
    difference, sd = float(asked["difference"]), float(asked["sd"])
    return [
        Design(
            "study plans",
            "t",
            2,
            int(row["first"]),
            difference,
            float(asked["alpha"]),
            float(asked["power"]),
            "t",
            "difference",
            sd**2 / 2,
        )
        for row in content["rows"]
        if row["plan"] == "fixed"
    ]


Reader = Callable[[Mapping[str, Any]], list[Design]]
SOURCES: dict[str, Reader] = {"size": _read_size, "shards": _read_shards, "study plans": _read_plans}
"""How the JSON of a question becomes designs, by what it says under ``method``."""
_NAMES = ", ".join(f"`{name.replace(' ', '_')}()`" for name in SOURCES)
_JSON_OF = f"Give the JSON output of one of: {_NAMES}."


def read_designs(path: str | Path) -> list[Design]:
    """The designs in what a command printed with ``--json``."""
    where, data = show(path), read_bytes(path)
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}", where=where, fix=_JSON_OF) from None
    source = content.get("method") if isinstance(content, Mapping) else None
    if source not in SOURCES:
        raise InputError("it has no design that can be verified", where=where, fix=_JSON_OF)
    try:
        return SOURCES[source](content)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, RequestError):
            raise InputError(error.what, where=where, fix=error.fix) from None
        raise InputError(f"its rows lack something: {error}", where=where, fix="Make the design again.") from None


def completed(design: Design, **given: Any) -> Design:
    """A design with what was left open, or is to be otherwise."""
    return replace(design, **{name: value for name, value in given.items() if value is not None})
