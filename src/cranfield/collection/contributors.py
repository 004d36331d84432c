"""Who brought which document into the pool, and what is left of the judgments without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cranfield.errors import RequestError
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.collection.collection import Collection


@dataclass(frozen=True, eq=False)
class Contributors:
    """The teams behind every judgment, as bit sets.

    A team contributed a judged document when a run of it has the document among its first ``depth``. ``member`` is
    judgments × teams, a bit each, packed into words of 64. A judged document that no run has there came from
    elsewhere; whoever leaves, it stays.
    """

    teams: tuple[str, ...]
    depth: int
    member: Array

    @cached_property
    def unknown(self) -> Array:
        """Which judgments nobody is known to have contributed."""
        return np.asarray(~self.member.any(axis=1))

    def staying(self, left_out: Sequence[str]) -> Array:
        """The bits of the teams that are not left out."""
        gone = set(self._places(left_out))
        bits: Array = pack_bits(np.array([[at not in gone for at in range(len(self.teams))]]))[0]
        return bits

    def kept(self, left_out: Sequence[str]) -> Array:
        """Which judgments stay when teams leave with what only they contributed."""
        return np.asarray((self.member & self.staying(left_out)).any(axis=1) | self.unknown)

    def unique(self, team: str) -> Array:
        """Which judgments this team alone contributed."""
        return ~self.kept([team])

    def names(self) -> Iterator[tuple[str, ...]]:
        """The contributing teams of each judgment."""
        bits = np.unpackbits(self.member.view(np.uint8), axis=1, bitorder="little")[:, : len(self.teams)]
        return (tuple(self.teams[at] for at in np.flatnonzero(row).tolist()) for row in bits)

    def _places(self, wanted: Sequence[str]) -> list[int]:
        place = {team: at for at, team in enumerate(self.teams)}
        lost = [team for team in wanted if team not in place]
        if lost:
            raise RequestError(f"there is no team «{lost[0]}»", fix=f"There are: {', '.join(self.teams[:10])}.")
        if len(set(wanted)) == len(self.teams):
            raise RequestError("all teams are left out, so nobody is left to score", fix="Leave one team in.")
        return [place[team] for team in wanted]


def find_contributors(collection: Collection, depth: int | None = None) -> Contributors:
    """The teams behind every judgment; ``depth`` is the judgments' own where it is not given."""
    if collection.teams is None:
        raise RequestError(
            "it is not known which team each run is of",
            fix="Give a list of «run team» lines as `teams`; for a packed collection, give it to `pack()`.",
        )
    depth = collection.pool_depth if depth is None else collection.check_depth(depth)
    teams = tuple(sorted(set(collection.teams)))
    number = {team: at for at, team in enumerate(teams)}
    team_of = np.array([number[team] for team in collection.teams], np.int64)
    hits = collection.hits("judged")
    near = np.flatnonzero(hits.rank <= depth)
    system = np.searchsorted(hits.edges, near, side="right") - 1
    found = np.zeros((len(collection.arrays["grade"]), len(teams)), bool)
    found[hits.judgment[near], team_of[system % len(collection.systems)]] = True
    return Contributors(teams, depth, pack_bits(found))


def pack_bits(bits: Array) -> Array:
    """Rows of bits as rows of 64-bit words."""
    rows, count = bits.shape
    words = max(1, -(-count // 64))
    filled = np.zeros((rows, words * 64), bool)
    filled[:, :count] = bits
    return np.packbits(filled, axis=1, bitorder="little").view("<u8").astype(np.uint64)
