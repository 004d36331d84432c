"""Reusability: how runs of a team that did not contribute to the pool would be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.measures import parse_measures
from cranfield.methods.pooling.depths import check_judged
from cranfield.scores.rescoring import Rescorer
from cranfield.stats.kendall import kendall_tau
from cranfield.types import Array, Progress

TOP = "Judged@10"


@dataclass(frozen=True, kw_only=True)
class TeamReuse:
    """One team left out: documents that only it contributed leave the pool, and all runs are scored again.

    ``tau`` compares the order of all runs with that under the whole pool; ``drop`` is the largest loss of a run of the
    team, ``drop_share`` the same over its score, ``rank_drop`` in ranks; ``run`` is the one that loses most.
    ``unjudged`` is the share of its runs' first ten documents without a judgment, ``unique`` the number of documents
    per topic that only the team contributed.
    """

    measure: str
    depth: int
    team: str
    runs: int
    tau: float
    drop: float
    drop_share: float
    run: str
    rank_drop: int
    unjudged: float
    unique: float

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reusability:
    """Every team left out in turn of the pool of one depth.

    ``own_tau`` is the leave-one-team-out τ: between the order of the runs under the whole pool and the order in which
    every run is scored without the documents that only its own team contributed.
    """

    measure: str
    depth: int
    own_tau: float
    teams: tuple[TeamReuse, ...]

    @property
    def worst(self) -> TeamReuse:
        """The team with the run that loses most."""
        return max(self.teams, key=lambda team: team.drop)

    def to_dict(self) -> dict[str, Any]:
        """The worst of all teams."""
        worst, unjudged = self.worst, np.array([team.unjudged for team in self.teams])
        return {
            "measure": self.measure,
            "depth": self.depth,
            "own_tau": self.own_tau,
            "least_tau": min(team.tau for team in self.teams),
            "drop": worst.drop,
            "drop_share": worst.drop_share,
            "run": worst.run,
            "team": worst.team,
            "rank_drop": max(team.rank_drop for team in self.teams),
            "unjudged": float(np.average(unjudged, weights=[team.runs for team in self.teams])),
            "most_unjudged": float(unjudged.max()),
        }


def has_teams(collection: Collection) -> bool:
    """Whether it is known that the runs are of several teams."""
    return len(set(collection.teams or ())) > 1


def reusability(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    depths: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> tuple[Reusability, ...]:
    """Leave every team out in turn, at one or more pool depths (by default the depth of the judgments)."""
    wanted = parse_measures(measures)
    chosen = tuple(sorted(set(depths))) if depths else (collection.pool_depth,)
    check_judged(collection, chosen)
    names = collection.contributors().teams
    if len(names) < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    rescorer = Rescorer(collection, (*wanted, *parse_measures(TOP)), len(chosen) * (len(names) + 1))
    found: list[Reusability] = []
    for at, depth in enumerate(chosen):
        found += _AtDepth(rescorer, depth).found()
        if progress is not None:
            progress(at + 1, len(chosen))
    return tuple(found)


class _AtDepth:
    """The pool of one depth, whole and without each team."""

    def __init__(self, rescorer: Rescorer, depth: int) -> None:
        self._all, self._depth, collection = rescorer, depth, rescorer.collection
        self._contributors = collection.contributors(depth)
        self._buffers, self._pool = rescorer.buffers(), collection.judged & (collection.entry <= depth)
        self._teams = np.array(collection.teams)
        self._names = [str(measure) for measure in rescorer.measures[:-1]]
        self._whole, _ = self._means(self._pool)

    def _means(self, kept: Array) -> tuple[Array, Array]:
        """Measures × systems, and each system's judged share of the first ten."""
        relevant = kept[self._all.relevant_only.origin].astype(np.uint8)
        *scores, judged = self._buffers.score(relevant, np.arange(len(self._teams)), lambda: kept)
        # A topic for which a run returned nothing has no document to be judged, and counts for nothing.
        first_ten = np.minimum(self._all.collection.returned, 10)
        share = (judged * first_ten).sum(axis=0) / np.maximum(first_ten.sum(axis=0), 1)
        return np.array([score.mean(axis=0) for score in scores]), share

    def found(self) -> list[Reusability]:
        teams: dict[str, list[TeamReuse]] = {name: [] for name in self._names}
        own = np.empty_like(self._whole)
        for team in self._contributors.teams:
            kept = self._pool & self._contributors.kept([team])
            means, judged = self._means(kept)
            mine = np.flatnonzero(self._teams == team)
            own[:, mine] = means[:, mine]
            unique = int((self._pool & ~kept).sum()) / len(self._all.collection.topics)
            for at, name in enumerate(self._names):
                teams[name].append(self._team(name, team, self._whole[at], means[at], mine, judged, unique))
        return [
            Reusability(
                measure=name, depth=self._depth, own_tau=kendall_tau(self._whole[at], own[at]), teams=tuple(teams[name])
            )
            for at, name in enumerate(self._names)
        ]

    def _team(
        self, measure: str, team: str, before: Array, after: Array, mine: Array, judged: Array, unique: float
    ) -> TeamReuse:
        drops = before[mine] - after[mine]
        worst = int(mine[np.argmax(drops)])
        share = float(drops.max() / before[worst]) if before[worst] > 0 else 0.0
        ranks = [int((after > after[at]).sum() - (before > before[at]).sum()) for at in mine.tolist()]
        return TeamReuse(
            measure=measure,
            depth=self._depth,
            team=team,
            runs=len(mine),
            tau=kendall_tau(before, after),
            drop=float(drops.max()),
            drop_share=share,
            run=self._all.collection.systems[worst],
            rank_drop=max(ranks),
            unjudged=float(1 - judged[mine].mean()),
            unique=unique,
        )
