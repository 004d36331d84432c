"""Reusability: how runs of a team that did not contribute to the pool would be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import RequestError, say_percent
from cranfield.formats.problems import Problem
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


@dataclass(frozen=True, eq=False)
class Reusability:
    """Every team left out in turn.

    ``own_tau`` is the leave-one-team-out τ, by measure and depth: between the order of the runs under the whole pool
    and the order in which every run is scored without the documents that only its own team contributed.
    """

    measures: tuple[str, ...]
    depths: tuple[int, ...]
    teams: tuple[TeamReuse, ...]
    own_tau: dict[tuple[str, int], float]
    citations: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def of(self, measure: str, depth: int) -> list[TeamReuse]:
        return [team for team in self.teams if (team.measure, team.depth) == (measure, depth)]

    def to_dict(self) -> list[dict[str, Any]]:
        return [team.to_dict() for team in self.teams]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def overview(self) -> list[dict[str, Any]]:
        """One row per measure and depth: the worst of all teams."""
        rows = []
        for measure in self.measures:
            for depth in self.depths:
                mine = self.of(measure, depth)
                worst = max(mine, key=lambda team: team.drop)
                rows.append(
                    {
                        "measure": measure,
                        "depth": depth,
                        "own_tau": self.own_tau[measure, depth],
                        "least_tau": min(team.tau for team in mine),
                        "drop": worst.drop,
                        "drop_share": worst.drop_share,
                        "run": worst.run,
                        "team": worst.team,
                        "rank_drop": max(team.rank_drop for team in mine),
                        "unjudged": float(np.average([t.unjudged for t in mine], weights=[t.runs for t in mine])),
                        "most_unjudged": max(team.unjudged for team in mine),
                    }
                )
        return rows

    def summary(self) -> str:
        row = self.overview()[0]
        return (
            f"At depth {row['depth']}, runs of a team that did not contribute to the pool have "
            f"{say_percent(row['unjudged'])} of their first ten documents unjudged on average and lose at most "
            f"{row['drop']:.4f} in {row['measure']} ({row['run']} of {row['team']}, {say_percent(row['drop_share'])} "
            "of its score). The leave-one-team-out order of the runs agrees with the order under the whole pool to "
            f"τ = {row['own_tau']:.3f}."
        )


def reusability(
    collection: Collection,
    measures: Sequence[str] | str = "AP",
    *,
    depths: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Reusability:
    """Leave every team out in turn, at one or more pool depths (by default the depth of the judgments)."""
    wanted = parse_measures(measures)
    chosen = tuple(sorted(set(depths))) if depths else (collection.pool_depth,)
    check_judged(collection, chosen)
    names = collection.contributors().teams
    if len(names) < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    rescorer = Rescorer(collection, (*wanted, *parse_measures(TOP)), len(chosen) * (len(names) + 1))
    found: list[TeamReuse] = []
    own: dict[tuple[str, int], float] = {}
    for at, depth in enumerate(chosen):
        work = _AtDepth(rescorer, depth)
        found += work.teams()
        own |= work.own_tau()
        if progress is not None:
            progress(at + 1, len(chosen))
    citations = ("Webber2008", "SakaiShang2016")
    return Reusability(tuple(map(str, wanted)), chosen, tuple(found), own, citations, collection.warnings)


class _AtDepth:
    """The pool of one depth, whole and without each team."""

    def __init__(self, rescorer: Rescorer, depth: int) -> None:
        self._all, self._depth, collection = rescorer, depth, rescorer.collection
        self._contributors = collection.contributors(depth)
        self._buffers, self._pool = rescorer.buffers(), collection.judged & (collection.entry <= depth)
        self._teams = np.array(collection.teams)
        self._names = [str(measure) for measure in rescorer.measures[:-1]]
        self._whole, _ = self._means(self._pool)
        self._own = np.empty_like(self._whole)

    def _means(self, kept: Array) -> tuple[Array, Array]:
        """Measures × systems, and each system's judged share of the first ten."""
        relevant = kept[self._all.relevant_only.origin].astype(np.uint8)
        *scores, judged = self._buffers.score(relevant, np.arange(len(self._teams)), lambda: kept)
        # A topic for which a run returned nothing has no document to be judged, and counts for nothing.
        first_ten = np.minimum(self._all.collection.returned, 10)
        share = (judged * first_ten).sum(axis=0) / np.maximum(first_ten.sum(axis=0), 1)
        return np.array([score.mean(axis=0) for score in scores]), share

    def teams(self) -> list[TeamReuse]:
        found = []
        for team in self._contributors.teams:
            kept = self._pool & self._contributors.kept([team])
            means, judged = self._means(kept)
            mine = np.flatnonzero(self._teams == team)
            self._own[:, mine] = means[:, mine]
            unique = int((self._pool & ~kept).sum()) / len(self._all.collection.topics)
            for at, measure in enumerate(self._names):
                found.append(self._team(measure, team, self._whole[at], means[at], mine, judged, unique))
        return found

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

    def own_tau(self) -> dict[tuple[str, int], float]:
        return {
            (measure, self._depth): kendall_tau(self._whole[at], self._own[at])
            for at, measure in enumerate(self._names)
        }
