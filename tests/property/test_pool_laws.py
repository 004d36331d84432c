"""Laws of pools, leave-outs and studies that hold for any collection."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield
from cranfield.collection import Collection
from cranfield.methods.leave_out import pilot_study
from cranfield.methods.leave_out.pilots import draw
from cranfield.methods.pooling.costs import on_frontier
from designs import aim
from sizes import examples_of

DOCUMENTS = [f"d{at}" for at in range(8)]
TOPICS = ("1", "2", "3")


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Two to five runs of two to four teams on three topics, some documents judged, some of those by nobody's doing."""
    count = draw(st.integers(2, 5))
    lists = [
        {topic: draw(st.permutations(DOCUMENTS))[: draw(st.integers(1, 6))] for topic in TOPICS} for _ in range(count)
    ]
    teams = {f"r{at}": f"t{at if at < 2 else draw(st.integers(0, 3))}" for at in range(count)}
    grades = {
        (topic, document): draw(st.integers(-1, 2))
        for topic in TOPICS
        for document in draw(st.sets(st.sampled_from(DOCUMENTS), min_size=1))
    }
    with TemporaryDirectory() as home:
        folder = Path(home)
        for at, run in enumerate(lists):
            rows = [
                f"{topic} Q0 {d} {rank} {9 - rank} r{at}" for topic in TOPICS for rank, d in enumerate(run[topic], 1)
            ]
            (folder / f"r{at}").write_text("\n".join(rows) + "\n")
        qrels = "".join(f"{topic} 0 {document} {grade}\n" for (topic, document), grade in grades.items())
        (folder / "qrels").write_text(qrels)
        runs = [folder / f"r{at}" for at in range(count)]
        return cranfield.read_collection(runs, folder / "qrels", teams=teams)


def contributors_by_hand(collection: Collection, depth: int) -> list[set[str]]:
    return [
        {
            team
            for system, team in zip(collection.systems, collection.teams or (), strict=True)
            if document in collection.ranking(system, topic)[:depth]
        }
        for topic, document, _ in collection.judgments()
    ]


@settings(max_examples=examples_of(40), deadline=None)
@given(collections(), st.data())
def test_contributors_and_leave_outs_are_what_sets_say(collection: Collection, data: st.DataObject) -> None:
    longest = int(collection.returned.max())
    depth = data.draw(st.integers(1, longest))
    found, expected = collection.contributors(depth), contributors_by_hand(collection, depth)
    assert [set(teams) for teams in found.names()] == expected
    gone = data.draw(st.sets(st.sampled_from(found.teams), max_size=len(found.teams) - 1))
    kept = [not teams or bool(teams - gone) for teams in expected]
    assert found.kept(sorted(gone)).tolist() == kept
    fewer = sorted(gone)[:-1]
    assert (found.kept(fewer) >= found.kept(sorted(gone))).all()  # who leaves in addition takes nothing back


@settings(max_examples=examples_of(40), deadline=None)
@given(collections())
def test_pools_are_nested_and_the_judgments_own_depth_has_all_that_runs_retrieved(collection: Collection) -> None:
    longest = int(collection.returned.max())
    pools = [collection.pool(depth).judged for depth in range(1, longest + 1)]
    for shallow, deep in pairwise(pools):
        assert (shallow <= deep).all()
    assert np.array_equal(pools[collection.pool_depth - 1], pools[-1])
    if collection.pool_depth > 1:
        assert not np.array_equal(pools[collection.pool_depth - 2], pools[-1])


@settings(max_examples=examples_of(25), deadline=None)
@given(collections(), st.integers(0, 2**32))
def test_a_study_says_the_same_twice_and_counts_what_it_loses(collection: Collection, seed: int) -> None:
    once, again = (pilot_study(collection, ["AP", "nDCG@3"], trials=2, seed=seed) for _ in range(2))
    np.testing.assert_array_equal(once.variances, again.variances)
    for point in once.points:
        assert point.fewest <= point.most <= min(point.pilot_topics, 3)
        assert 0 <= point.lost <= point.most_lost <= 3
        assert point.variance >= -1e-12 or np.isnan(point.variance)


@settings(max_examples=examples_of(50), deadline=None)
@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 2**32), st.data())
def test_as_many_teams_leave_as_were_asked_to(teams: int, topics: int, seed: int, data: st.DataObject) -> None:
    left_out = sorted(data.draw(st.sets(st.integers(0, teams - 1), min_size=1)))
    draws = draw(teams, topics, left_out, 3, seed)
    assert (teams - draws.staying.sum(axis=1)).tolist() == np.repeat(left_out, 3).tolist()
    assert (np.sort(draws.topic_order, axis=1) == np.arange(topics)).all()


@settings(max_examples=examples_of(50), deadline=None)
@given(st.lists(st.floats(1e-4, 0.3), min_size=2, max_size=6), st.sampled_from(["min_range", "difference", "width"]))
def test_more_variance_never_asks_for_fewer_topics(variances: list[float], goal: str) -> None:
    topics = aim(goal, 0.1).topics(np.sort(variances))
    assert (np.diff(topics) >= 0).all()


@settings(max_examples=examples_of(60), deadline=None)
@given(st.lists(st.tuples(st.integers(2, 9), st.integers(1, 9)), min_size=1, max_size=6))
def test_the_frontier_is_never_empty_and_nothing_on_it_is_beaten(designs: list[tuple[int, int]]) -> None:
    topics, judgments = (np.array(column, float) for column in zip(*designs, strict=True))
    front = on_frontier(topics, judgments)
    assert front.any()
    for at in np.flatnonzero(front):
        beaten = (
            (topics <= topics[at])
            & (judgments <= judgments[at])
            & ((topics < topics[at]) | (judgments < judgments[at]))
        )
        assert not beaten.any()
