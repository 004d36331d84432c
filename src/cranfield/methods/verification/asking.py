"""From a request, and the pilots that were given, to verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.planning import Request
from cranfield.methods.design.power_card import whole
from cranfield.methods.names import fix_for_test
from cranfield.methods.verification.batch_tests import TITLES
from cranfield.methods.verification.design_sizes import (
    PLANNED,
    designs_from_pilot,
    designs_from_request,
    pair_designs,
    sharded_designs,
)
from cranfield.methods.verification.designs import Design, completed, read_designs
from cranfield.methods.verification.monte_carlo import Verification, verify
from cranfield.scores import ScoreTable
from cranfield.stats.family import ALL_PAIRS_TEST, LEVELS


@dataclass(frozen=True)
class VerificationRequest:
    """Designs in a file, or what to make them of; ``grids`` are the lists of numbers behind the flags used."""

    design: str | None = None
    grids: Mapping[str, Sequence[float]] = field(default_factory=dict)
    topics: int | None = None
    sides: int = 2
    method: str | None = None
    test: str | None = None
    models: tuple[str, ...] = ()

    def designs(self, pilot: ScoreTable | None) -> list[Design]:
        """Those that the pilot is for."""
        if self.design is not None:
            made = [self._filled(each, pilot) for each in self._read()]
            return [each for each in made if _is_for(each, pilot)]
        if self.models or (pilot is not None and pilot.shards):
            self._refuse("a design with shards", variance=True, sd=True, one_sided=True, method=True, test=True)
            return self._sharded(pilot)
        request = self._request()
        if "difference" in self.grids and self._tests_pairs(pilot):
            test = self.test or ALL_PAIRS_TEST
            self._refuse(TITLES[test], variance=True, one_sided=True, method=True)
            return pair_designs(request, test, pilot, topics=self.topics)
        return self._of_formula(request, pilot)

    def _of_formula(self, request: Request, pilot: ScoreTable | None) -> list[Design]:
        """For a range of systems, or for two systems."""
        if "difference" in self.grids:
            if any(count != 2 for count in self.grids.get("systems", ())):
                self._refuse(f"{TITLES[self.test or 't']} of two systems", systems=True)
            self._refuse("a difference", variance=True)
            request = replace(request, systems=None, method=request.method or "t")  # one pair, whatever the pilot has
        else:
            self._refuse("a range", sd=True, one_sided=True)
        if pilot is None:
            made = designs_from_request(request, topics=self.topics)
        else:
            made = designs_from_pilot(request, pilot, topics=self.topics)
        return [completed(each, test=self.test) for each in made]

    def _request(self) -> Request:
        flags: dict[str, Any] = {name: tuple(values) for name, values in self.grids.items()}
        return Request(**flags, sides=self.sides, method=self.method)

    def _tests_pairs(self, pilot: ScoreTable | None) -> bool:
        """Whether all pairs are tested together: by the test named, or unless something speaks of a single pair."""
        if self.test is not None:
            if self.test not in TITLES:
                raise RequestError(f"there is no test «{self.test}»", fix=fix_for_test(self.test, TITLES))
            return self.test in LEVELS or self.test in PLANNED
        if self.sides == 1 or self.method is not None:
            return False
        systems = self.grids.get("systems", () if pilot is None else (len(pilot.systems),))
        return any(count > 2 for count in systems)

    def _refuse(self, what: str, **names: bool) -> None:
        """A parameter that has no effect on this kind of design is an error, not ignored."""
        for name in names:
            given = self.sides == 1 if name == "one_sided" else name in self.grids or getattr(self, name, None)
            if given:
                hint = {
                    "variance": "Give --sd, that of paired differences: √(2σ²(1 − ρ)) where scores correlate by ρ.",
                    "systems": "Leave it out, or test all pairs: --test max-t, tukey or holm.",
                }.get(name, "Leave it out.")
                raise RequestError(f"--{name.replace('_', '-')} has no effect on {what}", fix=hint)

    def _read(self) -> list[Design]:
        """The designs of the file; those for shards leave open what is to be detected, all others are complete."""
        assert self.design is not None
        made = read_designs(self.design)
        open_flags = ("min_range", "difference", "systems", "power") if made[0].source == "shards" else ()
        closed = [name for name in (*self.grids, *(["method"] if self.method else [])) if name not in open_flags]
        closed += ["one_sided"] if self.sides == 1 else []
        closed += ["model"] if self.models else []
        if closed:
            raise RequestError(
                f"--{closed[0].replace('_', '-')} has no effect on a design from a file",
                fix="Leave it out, or --design.",
            )
        return made

    def _filled(self, design: Design, pilot: ScoreTable | None) -> Design:
        """What a file left open: the test, the topics, and for shards what is to be found."""
        if design.source != "shards":
            return completed(design, test=self.test, topics=self.topics)
        if pilot is None:
            raise RequestError(
                "a design with shards needs a pilot with shards", fix="Give scores with a column «shard»."
            )
        return completed(
            design,
            difference=self._goal(),
            systems=self._whole("systems") or len(pilot.systems),
            topics=self.topics or len(pilot.topics),
            power=self._one("power"),
        )

    def _sharded(self, pilot: ScoreTable | None) -> list[Design]:
        if pilot is None:
            raise RequestError("a model of shards needs a pilot with shards", fix="Give scores with a column «shard».")
        return sharded_designs(
            pilot,
            self.models or ("MD6", "MD6r"),
            difference=self._goal(),
            systems=self._whole("systems"),
            topics=self.topics,
            alpha=self._one("alpha") or 0.05,
            power=self._one("power") or 0.8,
        )

    def _goal(self) -> float:
        goal = self._one("min_range") or self._one("difference")
        if goal is None:
            raise RequestError("the difference to detect is missing", fix="Name it: --min-range 0.1, for instance.")
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
    question: VerificationRequest, pilots: Sequence[ScoreTable | None], *, seed: int = 1, **options: Any
) -> list[Verification]:
    """Verify everything asked for, on each pilot of one measure; None stands for normal scores."""
    todo = [(design, pilot) for pilot in pilots for design in question.designs(pilot)]
    if not todo:
        raise RequestError(
            "no design is for this pilot", fix="Give scores of the measure and the shards it was made for."
        )
    return [verify(design, pilot, seed=seed, **options) for design, pilot in todo]
