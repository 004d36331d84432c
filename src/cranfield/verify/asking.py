"""From what was asked, and the pilots there are, to verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.design.card import whole
from cranfield.design.planning import Request
from cranfield.errors import RequestError
from cranfield.scores import ScoreTable
from cranfield.verify.design import Design, completed, read_designs
from cranfield.verify.planning import designs_from_pilot, designs_from_request, sharded_designs
from cranfield.verify.running import Verification, verify


@dataclass(frozen=True)
class Question:
    """Designs in a file, or what to make them of; ``grids`` are the lists of numbers behind the flags used."""

    design: str | None = None
    grids: Mapping[str, Sequence[float]] = field(default_factory=dict)
    topics: int | None = None
    sides: int = 2
    method: str | None = None
    test: str | None = None
    models: tuple[str, ...] = ()

    def designs(self, pilot: ScoreTable | None, seed: int) -> list[Design]:
        """Those that the pilot is for."""
        if self.design is not None:
            made = [self._filled(each, pilot) for each in read_designs(self.design)]
            return [each for each in made if _is_for(each, pilot)]
        if self.models or (pilot is not None and pilot.shards):
            return self._sharded(pilot)
        flags: dict[str, Any] = {name: tuple(values) for name, values in self.grids.items()}
        request = Request(**flags, sides=self.sides, method=self.method)
        if pilot is None:
            made = designs_from_request(request, topics=self.topics)
        else:
            made = designs_from_pilot(request, pilot, topics=self.topics, seed=seed)
        return [completed(each, test=self.test) for each in made]

    def _filled(self, design: Design, pilot: ScoreTable | None) -> Design:
        """What a file left open: the test, the topics, and for shards what is to be found."""
        if design.source != "shards":
            return completed(design, test=self.test, topics=self.topics)
        if pilot is None:
            raise RequestError(
                "a design with shards needs a pilot with shards", fix="Give scores with a column «shard»."
            )
        return completed(
            design, difference=self._goal(), systems=self._whole("systems") or len(pilot.systems),
            topics=self.topics or len(pilot.topics), power=self._one("power"),
        )  # fmt: skip

    def _sharded(self, pilot: ScoreTable | None) -> list[Design]:
        if pilot is None:
            raise RequestError("a model of shards needs a pilot with shards", fix="Give scores with a column «shard».")
        return sharded_designs(
            pilot, self.models or ("MD6", "MD6r"), difference=self._goal(), systems=self._whole("systems"),
            topics=self.topics, alpha=self._one("alpha") or 0.05, power=self._one("power") or 0.8,
        )  # fmt: skip

    def _goal(self) -> float:
        goal = self._one("min_range") or self._one("difference")
        if goal is None:
            raise RequestError("what is to be found is missing", fix="Name it: --min-range 0.1, for instance.")
        return goal

    def _one(self, name: str) -> float | None:
        values = self.grids.get(name)
        if values is None:
            return None
        if len(values) != 1:
            raise RequestError(f"{name.replace('_', ' ')} takes one value here", fix="Verify one at a time.")
        return values[0]

    def _whole(self, name: str) -> int | None:
        value = self._one(name)
        return None if value is None else whole(value, name)


def _is_for(design: Design, pilot: ScoreTable | None) -> bool:
    if pilot is None:
        return True
    fits = not design.measure or design.measure in pilot.measures
    return fits and (design.source != "shards" or design.shards == len(pilot.shards))


def ask(
    question: Question, pilots: Sequence[ScoreTable | None], *, seed: int = 1, **options: Any
) -> list[Verification]:
    """Verify everything asked for, on each pilot of one measure; None stands for normal scores."""
    todo = [(design, pilot) for pilot in pilots for design in question.designs(pilot, seed)]
    if not todo:
        raise RequestError(
            "no design is for this pilot", fix="Give scores of the measure and the shards it was made for."
        )
    return [verify(design, pilot, seed=seed, **options) for design, pilot in todo]
