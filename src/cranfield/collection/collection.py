"""A test collection with its runs, in flat integer arrays; document ids are sorted codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.collection.kernels import shard_hits, shard_lengths
from cranfield.errors import RequestError, there_are
from cranfield.formats.problems import Problem
from cranfield.formats.qrels import plain_grade
from cranfield.formats.scan import Vocabulary
from cranfield.runtime.random import Seed, generator
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Documents:
    """All document ids of a collection in byte order; ``documents[code]`` is the id."""

    blob: Array
    edges: Array

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, code: int) -> str:
        return self.blob[int(self.edges[code]) : int(self.edges[code + 1])].tobytes().decode("utf-8", "replace")

    def find(self, name: str) -> int | None:
        """The code of an id, or None."""
        low, high = 0, len(self)
        wanted = name.encode()
        while low < high:
            middle = (low + high) // 2
            if self[middle].encode() < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self[low] == name else None


def merge(vocabularies: Sequence[Vocabulary]) -> tuple[Documents, list[Array]]:
    """One sorted vocabulary out of many, and for each of them the table from its codes to the sorted ones."""
    first, *others = vocabularies
    entered = [first.enter(other) for other in others]
    blob, edges, places = first.sorted()
    return Documents(blob, edges), [places, *(places[codes] for codes in entered)]


UNJUDGED = -1  # any negative grade: in the file but, as in trec_eval, not a judgment
NOT_POOLED = -1_000_000  # not in the file either, which makes a difference to inferred AP alone
NOWHERE = np.iinfo(np.int32).max  # the best rank of a document that no run has


@dataclass(frozen=True, eq=False)
class Hits:
    """Judged documents in lists: list ``i`` owns ``rank[edges[i]:edges[i + 1]]``, best first, ``judgment`` likewise."""

    edges: Array
    rank: Array
    judgment: Array


@dataclass(frozen=True, eq=False)
class Lists:
    """Ranked lists of a view: list ``i`` owns ``documents[edges[i]:edges[i + 1]]``, codes below ``count``.

    ``systems`` are the names of the systems.
    """

    systems: tuple[str, ...]
    edges: Array
    documents: Array
    count: int


@dataclass(frozen=True, eq=False)
class TieGroups:
    """For every document of every list, the first and the last rank of the documents that share its score."""

    edges: Array
    first: Array
    last: Array

    @classmethod
    def of(cls, edges: Array, tied: Array) -> TieGroups:
        """From ``tied``, whether each document has the score of the one before in its list."""
        starts = np.flatnonzero(~tied)
        sizes = np.diff(starts, append=len(tied))
        rank = np.arange(1, len(tied) + 1) - np.repeat(edges[:-1], np.diff(edges))
        first = np.repeat(rank[starts], sizes)
        return cls(edges, first.astype(np.int32), (first + np.repeat(sizes, sizes) - 1).astype(np.int32))

    def around(self, hits: Hits) -> tuple[Array, Array]:
        """The first and the last rank that each hit may have."""
        at = np.repeat(self.edges[:-1], np.diff(hits.edges)) + hits.rank - 1
        return self.first[at], self.last[at]

    @cached_property
    def in_lists(self) -> Array:
        """Which lists have tied documents."""
        tied = np.concatenate([[0], np.cumsum(self.first < self.last)])
        return np.asarray(tied[self.edges[1:]] > tied[self.edges[:-1]])


def same_as_before(edges: Array, keys: Array) -> Array:
    """Whether each document of each list has the same key as the one before."""
    same = np.zeros(len(keys) + 1, bool)
    same[1:-1] = keys[1:] == keys[:-1]
    same[edges] = False
    return same[:-1]


@dataclass(frozen=True, eq=False)
class View:
    """The input of a measure: for every (topic, system, shard) the judged documents found there.

    Segment ``(topic · systems + system) · shards + shard`` is a list of its own; ``length`` is how many documents it
    has, judged or not. A *unit* is a (topic, shard) pair, ``topic · shards + shard``; ``unit`` says which one each
    judgment belongs to and ``grade`` what it says (negative: unjudged). ``found`` are the hits that may be worth
    something, ``judged`` all of them; few measures need those. ``stratum`` is that of each judgment, counted from 0,
    where they are of a stratified sample. With ``ties``, scores are expected values over the
    orders of tied documents.
    """

    topics: int
    systems: int
    shards: int
    deepest: int  # no rank is larger
    unit: Array
    grade: Array
    highest_grade: float
    intents: Intents | None
    found: Hits
    load_judged: Callable[[], Hits]
    load_length: Callable[[], Array]
    load_lists: Callable[[], Lists]
    ties: TieGroups | None = None
    stratum: Array | None = None

    @property
    def units(self) -> int:
        return self.topics * self.shards

    @cached_property
    def shared(self) -> dict[tuple[object, ...], Any]:
        """What several measures of this view use."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is shared: it is known by places in the memory of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "shared"}

    @cached_property
    def judged(self) -> Hits:
        return self.load_judged()

    @cached_property
    def length(self) -> Array:
        return self.load_length()

    @cached_property
    def condensed(self) -> View:
        """The same lists without their unjudged documents: a rank counts judged documents only."""
        hits = self.judged
        kept = self.grade[hits.judgment] >= 0
        edges = np.concatenate([[0], np.cumsum(kept)])[hits.edges]
        length = np.diff(edges)
        rank = np.arange(1, int(edges[-1]) + 1) - np.repeat(edges[:-1], length)
        found = Hits(edges, rank.astype(np.int32), hits.judgment[kept])
        ties = None
        if self.ties is not None:
            ties = TieGroups.of(edges, same_as_before(edges, self.ties.around(hits)[0][kept]))
        return replace(self, found=found, load_judged=lambda: found, load_length=lambda: length, ties=ties)


@dataclass(frozen=True, eq=False)
class Intents:
    """Per-intent grades: judgment ``j`` has ``index[edges[j]:edges[j + 1]]`` with ``grade`` likewise.

    ``index`` counts the intents of a topic from 0; ``names[topic]`` are their names and
    ``weight[first[topic] + index]`` their probabilities; ``importance`` is the same as it was written, if it was given.
    """

    names: tuple[tuple[str, ...], ...]
    first: Array
    weight: Array
    edges: Array
    index: Array
    grade: Array
    importance: Array | None = None


@dataclass(frozen=True, eq=False)
class Collection:
    """A test collection: runs and judgments.

    ``arrays`` holds ``document_blob`` and ``document_edges`` (ids in byte order), ``list_edges`` and
    ``list_documents`` (ranked lists, topic by topic), ``judged_edges``, ``judged_document`` and ``grade`` (judgments,
    topic by topic), ``edges``, ``rank`` and ``judgment`` of ``judged_hit_…`` (the judged documents of every list) and
    of ``found_hit_…`` (those of them with a grade above 0) and, with per-intent judgments, ``first``, ``weight``,
    ``edges``, ``index`` and ``grade`` of ``intent_…``, and ``importance`` where it was given. Grades are int32 where
    all of them are whole numbers, float64 otherwise. ``stratum`` is that of each judgment of a stratified sample,
    counted from 0. ``list_tied``, where ties are averaged, marks documents with the score of the one before.
    ``warnings`` is what was odd about the files.
    """

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    teams: tuple[str, ...] | None
    intent_names: tuple[tuple[str, ...], ...] | None
    arrays: Mapping[str, Array]
    warnings: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Collection({len(self.systems)} systems, {len(self.topics)} topics, "
            f"{len(self.documents):,} documents, {len(self.arrays['grade']):,} judgments)"
        )

    @cached_property
    def documents(self) -> Documents:
        return Documents(self.arrays["document_blob"], self.arrays["document_edges"])

    @property
    def list_documents(self) -> Array:
        """The documents of all lists, best first."""
        if "list_documents" not in self.arrays:
            raise RequestError(
                "only the judged documents of this collection's lists were read", fix="Read all of their documents."
            )
        return self.arrays["list_documents"]

    @cached_property
    def highest_grade(self) -> float:
        """The highest grade of all judgments, an int where it is a whole number; 1 if none is above 0."""
        highest = plain_grade(self.arrays["highest_grade"][0].item())
        return highest if highest > 0 else 1

    @cached_property
    def intents(self) -> Intents | None:
        if self.intent_names is None:
            return None
        parts = (self.arrays[f"intent_{name}"] for name in ("first", "weight", "edges", "index", "grade"))
        return replace(Intents(self.intent_names, *parts), importance=self.arrays.get("intent_importance"))

    @cached_property
    def judged_topic(self) -> Array:
        """The topic of every judgment."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), np.diff(self.arrays["judged_edges"]))

    @cached_property
    def relevant(self) -> Array:
        """The number of relevant documents (grade above 0) of each topic."""
        return np.bincount(self.judged_topic[self.arrays["grade"] > 0], minlength=len(self.topics))

    @cached_property
    def returned(self) -> Array:
        """The number of documents that each system returned for each topic, topics × systems."""
        return np.diff(self.arrays["list_edges"]).reshape(len(self.topics), len(self.systems))

    def hits(self, kind: str = "judged") -> Hits:
        """The hits in whole lists: all ``judged`` documents, or only those ``found`` to be worth something."""
        return Hits(*(self.arrays[f"{kind}_hit_{part}"] for part in ("edges", "rank", "judgment")))

    @cached_property
    def whole(self) -> View:
        """The collection as it is: one shard."""
        return View(
            len(self.topics),
            len(self.systems),
            1,
            int(self.returned.max(initial=0)),
            self.judged_topic,
            self.arrays["grade"],
            self.highest_grade,
            self.intents,
            self.hits("found"),
            partial(self.hits, "judged"),
            self.returned.ravel,
            self._lists,
            TieGroups.of(self.arrays["list_edges"], self.arrays["list_tied"]) if self.averages_ties else None,
            self.arrays.get("stratum"),
        )

    def _lists(self) -> Lists:
        return Lists(self.systems, self.arrays["list_edges"], self.list_documents, len(self.documents))

    @property
    def averages_ties(self) -> bool:
        """Whether it was read with ``ties="average"``."""
        return "list_tied" in self.arrays

    def refuse_averaged_ties(self, what: str) -> None:
        """Refuse what needs one order of every list."""
        if self.averages_ties:
            raise RequestError(
                f'{what} needs one order of the documents in a list, and `ties="average"` has all of them',
                fix='Read the runs with another `ties`, such as `ties="docid"`.',
            )

    def sharded(self, shard_of: Array) -> View:
        """Split every list by the shard of its documents; ``shard_of[code]`` counts shards from 0."""
        self.refuse_averaged_ties("splitting lists into shards")
        if len(shard_of) != len(self.documents):
            raise RequestError(f"{len(shard_of)} documents have a shard where there are {len(self.documents)}")
        shards = int(shard_of.max(initial=0)) + 1
        # A byte a document where that is enough: the table is looked into at random, and should stay near.
        shard_of = np.ascontiguousarray(shard_of, np.uint8 if shards <= 256 else np.int32)
        return replace(
            self.whole,
            shards=shards,
            unit=self.judged_topic * np.int32(shards) + shard_of[self.arrays["judged_document"]].astype(np.int32),
            found=self._split(self.hits("found"), shard_of, shards),
            load_judged=lambda: self._split(self.hits("judged"), shard_of, shards),
            load_length=lambda: self._lengths(shard_of, shards),
            load_lists=lambda: self._split_lists(shard_of, shards),
        )

    def _split(self, hits: Hits, shard_of: Array, shards: int) -> Hits:
        """The hits of every (list, shard) with their ranks there."""
        edges, documents = self.arrays["list_edges"], self.list_documents
        segments = (len(edges) - 1) * shards
        rank, judgment = np.empty_like(hits.rank), np.empty_like(hits.judgment)
        starts = np.full(segments + 1, len(rank), np.int64)
        shard_hits(
            len(edges) - 1,
            shards,
            edges,
            documents,
            hits.edges,
            hits.rank,
            hits.judgment,
            shard_of,
            rank,
            judgment,
            starts,
            work=len(documents),
        )
        return Hits(starts, rank, judgment)

    def _split_lists(self, shard_of: Array, shards: int) -> Lists:
        """Every (list, shard) with its documents."""
        whole = self._lists()
        lengths = np.diff(whole.edges)
        segment = np.repeat(np.arange(len(lengths)) * shards, lengths) + shard_of[whole.documents]
        edges = np.concatenate([[0], np.cumsum(np.bincount(segment, minlength=len(lengths) * shards))])
        return replace(whole, edges=edges, documents=whole.documents[np.argsort(segment, kind="stable")])

    def _lengths(self, shard_of: Array, shards: int) -> Array:
        """How many documents every (list, shard) has."""
        edges, documents = self.arrays["list_edges"], self.list_documents
        length = np.zeros((len(edges) - 1) * shards, np.int32)
        shard_lengths(len(edges) - 1, shards, edges, documents, shard_of, length, work=len(documents))
        return length

    def random_shards(self, shards: int, *, seed: Seed) -> Array:
        """Assign every document to a random shard; the sizes of shards differ by at most one document."""
        if not 1 <= shards <= len(self.documents):
            raise RequestError(f"{shards} shards cannot be made of {len(self.documents)} documents")
        shuffled = generator(seed, "shards of documents", shards).permutation(len(self.documents))
        return (shuffled % shards).astype(np.int32)

    def keeping(self, kept: Array) -> Collection:
        """Return the same lists with fewer judgments: those not in ``kept`` (a mask) count as unjudged."""
        arrays = dict(self.arrays)
        arrays["grade"] = np.where(kept, arrays["grade"], np.int32(NOT_POOLED))
        if self.intent_names is not None:
            kept_rows = np.repeat(kept, np.diff(arrays["intent_edges"]))
            arrays["intent_grade"] = np.where(kept_rows, arrays["intent_grade"], np.int32(UNJUDGED))
        return replace(self, arrays=arrays)

    @cached_property
    def entry(self) -> Array:
        """The best rank any run gives each judged document, ``NOWHERE`` if none has it: the depth it is pooled at."""
        self.refuse_averaged_ties("a pool")
        hits = self.hits("judged")
        best = np.full(len(self.arrays["grade"]), NOWHERE, np.int32)
        np.minimum.at(best, hits.judgment, hits.rank)
        return best

    @cached_property
    def pool_depth(self) -> int:
        """The depth of the judgments: the smallest depth whose pool has every judged document that a run retrieved."""
        pooled = self.entry[(self.entry < NOWHERE) & self.judged]
        return int(pooled.max(initial=1))

    @cached_property
    def judged(self) -> Array:
        """Which judgments are judgments: those with a grade of at least 0, for the topic or for an intent."""
        given = np.asarray(self.arrays["grade"] >= 0)
        if self.intent_names is not None:
            owner = np.repeat(np.arange(len(given)), np.diff(self.arrays["intent_edges"]))
            given[owner[self.arrays["intent_grade"] >= 0]] = True
        return given

    def check_depth(self, depth: int) -> int:
        """A pool depth that the runs reach."""
        longest = int(self.returned.max(initial=0))
        if depth < 1:
            raise RequestError(f"a pool of depth {depth} has no documents", fix="The smallest depth is 1.")
        if depth > longest:
            raise RequestError(
                f"a pool of depth {depth:,} is deeper than the runs, whose longest list has {longest:,} documents",
                fix=f"Ask for at most {longest:,}.",
            )
        return depth

    def contributors(self, depth: int | None = None) -> Contributors:
        """Return the teams with each judged document among the first ``depth`` of a run (default: judgment depth)."""
        return find_contributors(self, depth)

    def without_teams(self, *teams: str, depth: int | None = None) -> Collection:
        """Return the same lists of all teams, without the judgments of documents that only ``teams`` contributed.

        A judged document that no run has among its first ``depth`` stays: nobody is known to have contributed it.
        """
        return self.keeping(self.contributors(depth).kept(teams))

    def pool(self, depth: int) -> Collection:
        """Restrict the judgments to the documents that some run has among its first ``depth``."""
        self.refuse_averaged_ties("a pool")
        if depth < 1:
            raise RequestError(f"a pool of depth {depth} has no documents", fix="The smallest depth is 1.")
        pooled = np.zeros(len(self.arrays["grade"]), bool)
        hits = self.hits("judged")
        pooled[hits.judgment[hits.rank <= depth]] = True
        return self.keeping(pooled)

    def ranking(self, system: str, topic: str) -> list[str]:
        """Return one ranked list as document ids."""
        if system not in self.systems or topic not in self.topics:
            raise RequestError(f"there is no list of «{system}» on «{topic}»", fix="See systems and topics.")
        number = self.topics.index(topic) * len(self.systems) + self.systems.index(system)
        first, last = self.arrays["list_edges"][number : number + 2].tolist()
        return [self.documents[code] for code in self.list_documents[first:last].tolist()]

    def judgments(self) -> Iterable[tuple[str, str, float]]:
        """Return (topic, document, grade) of every judgment; a grade that is a whole number is an int."""
        stored = np.where(self.arrays["grade"] == NOT_POOLED, np.int32(UNJUDGED), self.arrays["grade"])
        grades = stored.tolist() if stored.dtype.kind == "i" else map(plain_grade, stored.tolist())
        rows = zip(self.judged_topic.tolist(), self.arrays["judged_document"].tolist(), grades, strict=True)
        return ((self.topics[topic], self.documents[document], grade) for topic, document, grade in rows)

    def condensed(self) -> Collection:
        """Return the same judgments with unjudged documents removed from every list."""
        hits = self.hits("judged")
        kept = self.judged[hits.judgment]
        edges = np.concatenate([[0], np.cumsum(kept)])[hits.edges]
        judgment = hits.judgment[kept]
        rank = (np.arange(1, len(judgment) + 1) - np.repeat(edges[:-1], np.diff(edges))).astype(np.int32)
        return self._relisted(edges, self.arrays["judged_document"][judgment], Hits(edges, rank, judgment))

    def cut(self, depth: int) -> Collection:
        """Return the same judgments with every list truncated to its first ``depth`` documents."""
        lengths = np.diff(self.arrays["list_edges"])
        place = np.arange(len(self.list_documents)) - np.repeat(self.arrays["list_edges"][:-1], lengths)
        edges = np.concatenate([[0], np.cumsum(np.minimum(lengths, depth))])
        hits = self.hits("judged")
        near = hits.rank <= depth
        kept = Hits(np.concatenate([[0], np.cumsum(near)])[hits.edges], hits.rank[near], hits.judgment[near])
        return self._relisted(edges, self.list_documents[place < depth], kept)

    def _relisted(self, edges: Array, documents: Array, hits: Hits) -> Collection:
        """The same judgments with other lists."""
        self.refuse_averaged_ties("cutting lists")
        worth = relevant_judgments(self.arrays)[hits.judgment]
        arrays = {
            **self.arrays,
            "list_edges": edges,
            "list_documents": documents,
            "judged_hit_edges": hits.edges,
            "judged_hit_rank": hits.rank,
            "judged_hit_judgment": hits.judgment,
            "found_hit_edges": np.concatenate([[0], np.cumsum(worth)])[hits.edges],
            "found_hit_rank": hits.rank[worth],
            "found_hit_judgment": hits.judgment[worth],
        }
        return replace(self, arrays=arrays)

    def write_qrels(self, path: str | Path) -> None:
        """Write the judgments as a qrels file, gzipped if the name ends in .gz; unjudged documents are left out."""
        from cranfield.formats.qrels import write_qrels

        rows = [(topic, "0", document, grade) for topic, document, grade in self.judgments() if grade >= 0]
        if not rows:
            raise RequestError("there are no judgments to write", where=str(path), fix="Keep more of them.")
        write_qrels(path, rows)

    def save(self, path: str | Path) -> None:
        """Write the packed form, which :func:`cranfield.open_collection` reopens in milliseconds."""
        self.refuse_averaged_ties("a packed collection")
        from cranfield.formats.packed import COLLECTION, FRACTIONAL, plain_warnings, write_packed

        header = {
            "systems": self.systems,
            "topics": self.topics,
            "teams": self.teams,
            "intent_names": self.intent_names,
            "warnings": plain_warnings(self.warnings),
        }
        grades = [self.arrays[name].dtype.kind for name in ("grade", "intent_grade") if name in self.arrays]
        arrays = {**self.arrays, "list_documents": self.list_documents}
        write_packed(path, COLLECTION, header, arrays, number=FRACTIONAL if "f" in grades else None)


def relevant_judgments(arrays: Mapping[str, Array]) -> Array:
    """Judgments with a grade above 0, for the topic or for one of its intents."""
    worth: Array = arrays["grade"] > 0
    if "intent_grade" in arrays:
        owner = np.repeat(np.arange(len(worth)), np.diff(arrays["intent_edges"]))
        worth[owner[arrays["intent_grade"] > 0]] = True
    return worth


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
            raise RequestError(f"there is no team «{lost[0]}»", fix=there_are(self.teams))
        if len(set(wanted)) == len(self.teams):
            raise RequestError("all teams are left out, so nobody is left to score", fix="Leave one team in.")
        return [place[team] for team in wanted]


def find_contributors(collection: Collection, depth: int | None = None) -> Contributors:
    """The teams behind every judgment; ``depth`` is the judgments' own where it is not given."""
    collection.refuse_averaged_ties("a pool")
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
