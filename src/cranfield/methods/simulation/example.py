"""A small collection that looks like a real one: teams whose runs resemble each other, hard and easy topics, pools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cranfield.errors import RequestError, WriteError
from cranfield.formats.qrels import write_qrels, write_teams
from cranfield.formats.runs import write_run
from cranfield.types import Array

# Runs of each team, and how good the team's engine is. The last team came too late for the pool.
TEAMS = {"Aldgate": (3, 1.3), "Barnhill": (2, 1.1), "Cleverdon": (3, 1.6), "Dovedale": (2, 0.8), "Eskdale": (2, 1.2)}
UNPOOLED = "Eskdale"


@dataclass(frozen=True)
class Example:
    """What was written where."""

    folder: str
    topics: int
    systems: int
    teams: int
    judgments: int
    seed: int

    def summary(self) -> str:
        return (
            f"{self.folder}: {self.systems} runs of {self.teams} teams on {self.topics} topics, "
            f"{self.judgments:,} judgments (runs/, qrels.txt, judge.txt, intents.txt, teams.tsv; "
            f"seed {self.seed})."
        )


def write_example(
    folder: str | Path, *, seed: int = 1, topics: int = 40, documents: int = 2000, depth: int = 100, pool: int = 20
) -> Example:
    """Write an example collection into ``folder``.

    Every document has a hidden quality for every topic; a run sees it through noise of which a part is its team's and
    a part its own. The pooled documents are judged 0 to 3, and for two to four intents per topic. ``judge.txt`` has
    grades of the same documents by a simulated model, which makes errors and is lenient.

    Parameters
    ----------
    folder
        Where to write it; the folder is made.
    seed
        Random seed.
    topics, documents
        Numbers of topics and documents.
    depth
        Length of every run.
    pool
        Depth to which the runs are pooled.

    Returns
    -------
    Example
        Where the files are, and how much is in them.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> example = write_example(folder, seed=1)
    >>> sorted(path.name for path in Path(folder).iterdir())
    ['intents.txt', 'judge.txt', 'qrels.txt', 'runs', 'teams.tsv']
    """
    if min(topics, documents, depth, pool) < 1 or depth > documents:
        raise RequestError("an example needs at least one topic, and lists no longer than the collection")
    if seed < 0:
        raise RequestError(f"a seed cannot be {seed}", fix="The smallest seed is 0.")
    # The whole seed is this one task's, as no other draws from a seed without a name; so the demo stays what it was.
    rng = np.random.default_rng(seed)
    world = _World.draw(rng, topics, documents)
    runs = {
        f"{team.lower()}{number + 1}": (team, world.retrieve(rng, skill, team_noise, depth))
        for team, (count, skill) in TEAMS.items()
        for team_noise in [rng.normal(size=(topics, documents))]
        for number in range(count)
    }
    pooled = world.pool([best for team, best in runs.values() if team != UNPOOLED], pool)
    _write(Path(folder), world, runs, pooled, world.judge(rng))
    return Example(str(folder), topics, len(runs), len(TEAMS), int(pooled.sum()), seed)


@dataclass(frozen=True)
class _World:
    """Topics and documents as they are, which no system knows."""

    quality: Array
    intents: list[Array]
    difficulty: Array

    @classmethod
    def draw(cls, rng: np.random.Generator, topics: int, documents: int) -> _World:
        quality = rng.normal(size=(topics, documents))
        breadth = rng.uniform(1.6, 2.6, size=(topics, 1))  # how rare relevance is
        intents = [rng.random(size=(documents, rng.integers(2, 5))) < 0.5 for _ in range(topics)]
        return cls(quality - breadth, intents, rng.gamma(4.0, 0.25, size=(topics, 1)))

    def grades(self) -> Array:
        return _grades(self.quality)

    def judge(self, rng: np.random.Generator) -> Array:
        """Grades of a simulated model: quality plus an error, a part of it common to a topic; it is lenient by 0.4."""
        of_topic = rng.normal(0.4, 0.3, size=(len(self.quality), 1))
        return _grades(self.quality + of_topic + rng.normal(0.0, 0.5, size=self.quality.shape))

    def retrieve(self, rng: np.random.Generator, skill: float, team_noise: Array, depth: int) -> tuple[Array, Array]:
        """The first ``depth`` documents of every topic, and their scores."""
        own = rng.normal(size=self.quality.shape)
        seen = skill * self.quality / self.difficulty + 0.8 * team_noise + 0.6 * own
        best = np.argsort(-seen, axis=1)[:, :depth]
        return best, np.round(np.take_along_axis(seen, best, axis=1) + 10.0, 4)

    def pool(self, runs: list[tuple[Array, Array]], depth: int) -> Array:
        pooled = np.zeros(self.quality.shape, bool)
        for best, _ in runs:
            np.put_along_axis(pooled, best[:, :depth], True, axis=1)
        return pooled


def _grades(quality: Array) -> Array:
    return np.digitize(quality, [0.0, 0.5, 1.0])


def _write(
    folder: Path, world: _World, runs: dict[str, tuple[str, tuple[Array, Array]]], pooled: Array, model: Array
) -> None:
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"the folder cannot be made: {error.strerror}", where=str(folder), fix="Name another."
        ) from None
    topic_names = [str(101 + topic) for topic in range(len(pooled))]
    for name, (_, (best, scores)) in runs.items():
        rows = (
            (topic, f"doc-{document:05d}", score)
            for topic, documents, found in zip(topic_names, best.tolist(), scores.tolist(), strict=True)
            for document, score in zip(documents, found, strict=True)
        )
        write_run(folder / "runs" / f"{name}.txt", rows, name)
    grades = world.grades()
    judged = [(topic, document) for topic, document in np.argwhere(pooled).tolist()]
    for name, labels in (("qrels.txt", grades), ("judge.txt", model)):
        lines = (
            (topic_names[topic], "0", f"doc-{document:05d}", int(labels[topic, document])) for topic, document in judged
        )
        write_qrels(folder / name, lines)
    write_qrels(
        folder / "intents.txt",
        (
            (topic_names[topic], str(intent + 1), f"doc-{document:05d}", int(grades[topic, document] * served))
            for topic, document in judged
            for intent, served in enumerate(world.intents[topic][document])
        ),
    )
    write_teams(folder / "teams.tsv", {name: team for name, (team, _) in runs.items()})
