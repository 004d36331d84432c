"""Scores by blocks of topics, in memory or in a packed score file: what is summed is summed the same way in both.

The blocks depend on the shape of the scores alone, and results are combined in the order of the blocks. So a sum has
the same bits wherever the scores are, on any number of threads or workers. A task that runs elsewhere is sent the path
of the file, and reads its blocks itself.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from cranfield.errors import Caution, PackedFileError, RequestError
from cranfield.formats.packed import (
    AGAIN,
    SCORES,
    PackedFile,
    Streamed,
    checksum,
    open_packed,
    plain_warnings,
    read_into,
    restored_warnings,
    write_packed,
)
from cranfield.formats.text import show
from cranfield.runtime.threads import listener, slices, spread, tasks
from cranfield.types import Array

LARGE = 4_000_000  # scores, up to which they are one block, and are read into memory
BLOCK = 1_000_000  # scores of a block where there are more
PARTS = 32  # tasks that the blocks are split into, however many workers there are
SHOWN = 3  # missing cells that are named
MOST_READ = 250_000_000  # scores that a question may hold in memory all at once; more are mapped from a copy
MOST_IN_BLOCK = 1 << 26  # scores of a block of a file: as many are in memory at once

_KEYS = ("measures", "systems", "shards", "replicates", "warnings", "block")
_REPLICATES = ("", "crossed", "nested")

Result = TypeVar("Result")


# --- the file


def write_scores_packed(
    path: str | Path,
    *,
    measures: Sequence[str],
    topics: Sequence[str],
    systems: Sequence[str],
    values: Array | Iterable[Array],
    shards: Sequence[str] = (),
    replicates: str = "",
    warnings: Iterable[Caution] = (),
) -> None:
    """Write a packed score file.

    ``values`` are measures × topics × systems × shards, or parts of them in that order, each of some topics (topics ×
    systems × shards) of one measure: scores that do not fit into memory are written as they come.
    """
    shape = (len(measures), len(topics), len(systems), max(1, len(shards)))
    block = block_topics(shape)
    blob, edges = _flat_names(topics)
    sums = np.zeros((shape[0], -(-shape[1] // block)), "<u4")
    header = {
        "measures": list(measures),
        "systems": list(systems),
        "shards": list(shards),
        "replicates": replicates,
        "warnings": plain_warnings(warnings),
        "block": block,
    }
    parts = (values[m] for m in range(shape[0])) if isinstance(values, np.ndarray) else values
    arrays: Mapping[str, Array | Streamed] = {
        "topic_names": blob,
        "topic_edges": edges,
        "scores": Streamed("<f8", shape, _in_blocks(parts, shape, block, sums)),
    }
    write_packed(path, SCORES, header, arrays, lambda: {"block_checksums": sums})


def block_topics(shape: Sequence[int]) -> int:
    """Topics of a block of a file that is written."""
    return int(min(max(1, BLOCK // (shape[2] * shape[3])), shape[1]))


def _in_blocks(parts: Iterable[Array], shape: Sequence[int], block: int, sums: Array) -> Iterator[Array]:
    """The parts again as blocks of ``block`` topics, whose checksums go into ``sums``."""
    waiting: list[Array] = []
    measure = number = held = done = 0
    for part in parts:
        rest = np.ascontiguousarray(part, "<f8").reshape(-1, *shape[2:])
        while len(rest):
            wanted = min(block, shape[1] - done) - held
            waiting, rest, held = [*waiting, rest[:wanted]], rest[wanted:], held + len(rest[:wanted])
            if held == min(block, shape[1] - done) and measure < shape[0]:
                whole = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                sums[measure, number] = checksum(whole)
                yield whole
                waiting, number, done, held = [], number + 1, done + held, 0
                if done == shape[1]:
                    measure, number, done = measure + 1, 0, 0
    yield from waiting  # more or fewer than there are topics: whoever writes them counts


def _flat_names(names: Sequence[str]) -> tuple[Array, Array]:
    encoded = [name.encode() for name in names]
    edges = np.zeros(len(encoded) + 1, "<i8")
    np.cumsum([len(name) for name in encoded], out=edges[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), edges


@dataclass(frozen=True, eq=False)
class OpenScores:
    """A packed score file that was opened: all but its scores and the names of its topics."""

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    shards: tuple[str, ...]
    replicates: str
    warnings: tuple[Caution, ...]
    topics: StoredNames
    scores: StoredScores


def open_stored(path: str | Path) -> OpenScores:
    """Open a packed score file; no score and no name of a topic is read, so that it takes as long for any size."""
    path = os.path.abspath(path)
    opened = _opened(path, os.stat(path).st_mtime_ns if os.path.exists(path) else 0)
    header, file = opened.header, show(path)
    named = {axis: _names(header[axis], axis, opened) for axis in ("measures", "systems", "shards")}
    if not named["measures"] or not named["systems"]:
        raise opened.damaged("it has no measure or no system")
    if header["replicates"] not in _REPLICATES:
        raise opened.damaged("its replicates are neither crossed nor nested")
    shape = _shape(opened, [len(named[axis]) for axis in named])
    scores = StoredScores(
        path=path, stamp=opened.stamp, shape=shape, block=header["block"], measures=tuple(range(shape[0]))
    )
    warnings = restored_warnings(header["warnings"], file)
    topics = StoredNames(path=path, stamp=opened.stamp, total=shape[1])
    return OpenScores(**named, replicates=header["replicates"], warnings=warnings, topics=topics, scores=scores)


@lru_cache(maxsize=16)
def _opened(path: str, _: int) -> PackedFile:
    return open_packed(path, SCORES, _KEYS)


def _names(names: Any, axis: str, opened: PackedFile) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_text(name) for name in names):
        raise opened.damaged(f"its {axis} are no names")
    if len(set(names)) < len(names):
        raise opened.damaged(f"two of its {axis} have the same name")
    return tuple(names)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shape(opened: PackedFile, sizes: Sequence[int]) -> tuple[int, int, int, int]:
    """The shape of the scores, where the arrays and the header agree about it."""
    scores, edges, sums, blob = (
        opened.arrays.type_of(name) for name in ("scores", "topic_edges", "block_checksums", "topic_names")
    )
    if scores is None or edges is None or sums is None or blob is None:
        raise opened.damaged("it lacks its scores, their checksums or its topics")
    kinds = [scores[0], edges[0], sums[0], blob[0]]
    if kinds != ["<f8", "<i8", "<u4", "|u1"] or len(edges[1]) != 1 or len(blob[1]) != 1 or edges[1][0] < 2:
        raise opened.damaged("its scores, their checksums or its topics are of another type")
    measures, systems, shards = sizes
    topics, block = edges[1][0] - 1, opened.header["block"]
    shape = (measures, topics, systems, max(1, shards))
    if scores[1] != shape:
        raise opened.damaged(f"it has scores of shape {scores[1]} for names of shape {shape}")
    if not isinstance(block, int) or isinstance(block, bool) or not 0 < block <= topics:
        raise opened.damaged("its blocks have no size")
    if block > 1 and block * systems * shape[3] > MOST_IN_BLOCK:
        raise opened.damaged("its blocks are too large")
    if sums[1] != (measures, -(-topics // block)):
        raise opened.damaged("it has not one checksum for every block")
    return shape


class UnreadNames(Sequence[str]):
    """Names that are read when one is asked for."""

    def read(self) -> tuple[str, ...]:
        """All of them."""
        raise NotImplementedError

    def __getitem__(self, at: Any) -> Any:
        return self._names[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.read()


@dataclass(frozen=True, eq=False)
class StoredNames(UnreadNames):
    """The names of topics in a packed score file."""

    path: str
    stamp: int
    total: int
    kept: Array | None = None

    def __len__(self) -> int:
        return self.total if self.kept is None else len(self.kept)

    def read(self) -> tuple[str, ...]:
        opened = _same_file(self.path, self.stamp)
        edges, blob = opened.arrays["topic_edges"], opened.arrays["topic_names"]
        if edges[0] != 0 or edges[-1] != len(blob) or (np.diff(edges) < 0).any():
            raise opened.damaged("the names of its topics do not lie one after another")
        try:
            text = bytes(blob)
            ends = edges.tolist()
            if text.isascii():
                plain = text.decode()
                names = [plain[first:last] for first, last in itertools.pairwise(ends)]
            else:
                names = [text[first:last].decode() for first, last in itertools.pairwise(ends)]
        except UnicodeDecodeError:
            raise opened.damaged("the names of its topics are not UTF-8") from None
        if len(set(names)) < len(names):
            raise opened.damaged("two of its topics have the same name")
        return tuple(names) if self.kept is None else tuple(names[at] for at in self.kept.tolist())


def _same_file(path: str, stamp: int) -> PackedFile:
    """The file as it was opened; another process may be on a machine where it is not, or is another."""
    if not os.path.isfile(path):
        fix = "Workers read the packed scores themselves: put the file in the same place on every machine."
        raise PackedFileError("there is no such file where the work is done", where=show(path), fix=fix)
    opened = _opened(path, os.stat(path).st_mtime_ns)
    if opened.stamp != stamp:
        raise PackedFileError("the file was replaced after it was opened", where=show(path), fix="Start again.")
    return opened


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredScores:
    """Scores in a packed file: measures × topics × systems × shards, of some measures and topics.

    ``kept`` are the topics that are not left out, None for all; with ``zero`` a missing score counts as 0.
    """

    path: str
    stamp: int
    shape: tuple[int, int, int, int]  # of the file
    block: int
    measures: tuple[int, ...]
    kept: Array | None = None
    zero: bool = False

    @property
    def topics(self) -> int:
        return self.shape[1] if self.kept is None else len(self.kept)

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.measures) * self.topics * self.shape[2] * self.shape[3]

    def rows(self, measure: int, first: int, last: int) -> Array:
        """Topics × systems × shards of some topics of a measure."""
        if first >= last:
            return np.empty((0, *self.shape[2:]))
        if self.kept is None:
            return self._settled(self._stored(measure, first, last))
        chosen = self.kept[first:last]
        out, done = np.empty((len(chosen), *self.shape[2:])), 0
        edges = np.arange(chosen[0] // self.block * self.block, chosen[-1] + self.block, self.block)
        for begin in edges.tolist():  # block by block, as what is kept may be far apart
            mine = chosen[np.searchsorted(chosen, begin) : np.searchsorted(chosen, begin + self.block)]
            if len(mine):
                low = int(mine[0])
                out[done : done + len(mine)] = self._stored(measure, low, int(mine[-1]) + 1)[mine - low]
                done += len(mine)
        return self._settled(out)

    def _settled(self, values: Array) -> Array:
        return np.nan_to_num(values, copy=False, nan=0.0) if self.zero else values

    def _stored(self, measure: int, first: int, last: int) -> Array:
        """From the file, whole blocks at a time, each compared with its checksum."""
        blocks = range(first // self.block, (last - 1) // self.block + 1)
        parts = [self._block(self.measures[measure], number) for number in blocks]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        start = blocks[0] * self.block
        return whole[first - start : last - start]

    def _block(self, measure: int, number: int) -> Array:
        opened = _same_file(self.path, self.stamp)
        first = number * self.block
        shape = (min(self.block, self.shape[1] - first), *self.shape[2:])
        place = opened.place("scores") + 8 * (measure * self.shape[1] + first) * self.shape[2] * self.shape[3]
        values = np.empty(shape, "<f8")
        read_into(self.path, values, place)
        if (measure, number) not in opened.verified:
            _verify(values, first, int(opened.arrays["block_checksums"][measure, number]), opened)
            opened.verified.add((measure, number))
        return values

    def whole(self) -> Array:
        """All scores as one array: in memory, or mapped from a copy that nobody else can cut short."""
        if self.kept is None and not self.zero and self.size > MOST_READ:
            return self._copied()
        values = np.empty((len(self.measures), self.topics, *self.shape[2:]))
        for measure in range(len(self.measures)):
            for first, last in _spans(self.topics, max(1, BLOCK // (self.shape[2] * self.shape[3]))):
                values[measure, first:last] = self.rows(measure, first, last)
        return values

    def _copied(self) -> Array:
        """As `whole`, from a file without a name, into which every block goes once its checksum is verified."""
        from tempfile import TemporaryFile, gettempdir

        try:
            with TemporaryFile() as copy:
                for measure, number in itertools.product(self.measures, range(-(-self.shape[1] // self.block))):
                    copy.write(self._block(measure, number).data)
                copy.flush()
                return np.asarray(np.memmap(copy, "<f8", "r", 0, (len(self.measures), *self.shape[1:])))
        except OSError as error:
            what = f"all its scores are needed at once, and cannot be copied to {gettempdir()}: {error.strerror}"
            fix = f"Set TMPDIR to a folder with room for {8e-9 * self.size:.0f} GB, or choose fewer measures."
            raise RequestError(what, where=show(self.path), fix=fix) from None

    def matrix(self, measure: int) -> StoredMatrix:
        """Topics × systems of a measure, left in the file."""
        return self._matrices.setdefault(measure, StoredMatrix(scores=self, measure=measure))

    @cached_property
    def _matrices(self) -> dict[int, StoredMatrix]:
        """One for each measure, so that its totals are computed once."""
        return {}

    def with_measures(self, measures: Sequence[int]) -> StoredScores:
        return replace(self, measures=tuple(self.measures[at] for at in measures))

    @cached_property
    def absent(self) -> Absent:
        """The missing cells."""
        found: list[Absent] = [
            fold(_absent_cells, _Cells(self, at), at, combine=Absent.__add__) for at in range(len(self.measures))
        ]
        return reduce(_joined_measures, found)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("absent", "_matrices")}


def _verify(values: Array, first: int, expected: int, opened: PackedFile) -> None:
    """Refuse a block that is not what was written, when it is first read."""
    if checksum(values) != expected:
        what = f"the file was altered: its scores from topic {first + 1:,} on do not match their checksum"
        raise PackedFileError(what, where=opened.file, fix=AGAIN)
    if np.isinf(values).any():
        raise opened.damaged("a score is infinite")


@dataclass(frozen=True, eq=False)
class Absent:
    """Missing cells: how many, the first of them (measure, topic, system, shard), and which topics miss any."""

    count: int
    first: tuple[tuple[int, int, int, int], ...]
    topics: Array

    def __add__(self, other: Absent) -> Absent:
        """Those of the topics that follow as well."""
        first = (*self.first, *other.first)[:SHOWN]
        return Absent(self.count + other.count, first, np.concatenate([self.topics, other.topics]))


def _joined_measures(one: Absent, other: Absent) -> Absent:
    return Absent(one.count + other.count, (*one.first, *other.first)[:SHOWN], one.topics | other.topics)


def _absent_cells(block: Array, start: int, measure: int) -> Absent:
    missing = np.isnan(block)
    count = int(np.count_nonzero(missing))
    cells = np.argwhere(missing)[:SHOWN].tolist() if count else []
    first = tuple((measure, start + topic, system, shard) for topic, system, shard in cells)
    return Absent(count, first, np.asarray(missing.any(axis=(1, 2))))


@dataclass(frozen=True, eq=False)
class _Cells:
    """One measure with its shards, for `fold`."""

    scores: StoredScores
    measure: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.scores.topics, self.scores.shape[2] * self.scores.shape[3]

    def rows(self, first: int, last: int) -> Array:
        return self.scores.rows(self.measure, first, last)


class _Matrix:
    """What an array of two dimensions has besides its shape."""

    ndim = 2
    shape: Any

    @property
    def size(self) -> int:
        return int(self.shape[0] * self.shape[1])

    def __len__(self) -> int:
        return int(self.shape[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredMatrix(_Matrix):
    """Topics × systems of one measure in a packed file."""

    scores: StoredScores
    measure: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.scores.topics, self.scores.shape[2]

    def rows(self, first: int, last: int) -> Array:
        return self.scores.rows(self.measure, first, last)[:, :, 0]

    @cached_property
    def totals(self) -> Totals:
        """What `totals` gives, computed once."""
        return _totals(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "totals"}


@dataclass(frozen=True, eq=False)
class OrderedMatrix(_Matrix):
    """Topics × systems with the systems in another order, into which they are put block by block."""

    scores: Array | StoredMatrix
    order: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.scores.shape[0], len(self.order)

    def rows(self, first: int, last: int) -> Array:
        return some_rows(self.scores, first, last)[:, self.order]

    @cached_property
    def totals(self) -> Totals:
        whole = totals(self.scores)
        return Totals(whole.sums[self.order], whole.low, whole.high)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "totals"}


Matrix: TypeAlias = Array | StoredMatrix | OrderedMatrix
"""Topics × systems: in memory, or in a packed file."""


# --- blocks


def row_blocks(topics: int, systems: int) -> list[tuple[int, int]]:
    """First and last topic of every block: one block of all where they are few."""
    if topics * systems <= LARGE:
        return [(0, topics)]
    return _spans(topics, max(1, BLOCK // systems))


def _spans(count: int, step: int) -> list[tuple[int, int]]:
    return [(first, min(first + step, count)) for first in range(0, count, step)]


def is_large(scores: Matrix) -> bool:
    """Whether scores are summed in more than one block."""
    return bool(scores.shape[0] * scores.shape[1] > LARGE)


def some_rows(scores: Any, first: int, last: int) -> Array:
    """Some topics."""
    return scores[first:last] if isinstance(scores, np.ndarray) else scores.rows(first, last)


def ordered(scores: Array | StoredMatrix, order: Array) -> Array | OrderedMatrix:
    """The systems in another order; many scores are not copied for it."""
    if isinstance(scores, np.ndarray) and not is_large(scores):
        return scores[:, order]
    return OrderedMatrix(scores, order)


def in_memory(scores: Matrix) -> bool:
    """Whether no part of the scores is in a file."""
    return isinstance(scores, np.ndarray) or (isinstance(scores, OrderedMatrix) and in_memory(scores.scores))


def added(one: Any, other: Any) -> Any:
    """The sums of two parts: arrays, or tuples of them."""
    return tuple(map(np.add, one, other)) if isinstance(one, tuple) else one + other


def joined(*parts: Array) -> Array:
    """The topics of all parts, one after the other."""
    return np.concatenate(parts)


def fold(
    function: Callable[..., Result],
    scores: Any,
    *shared: Any,
    combine: Callable[[Any, Any], Any] = added,
    parts: int = PARTS,
) -> Any:
    """``function(block, first topic, *shared)`` of every block, combined in the order of the blocks.

    Blocks of a file are read by tasks, which run where `cranfield.runtime` says; those in memory on threads.
    """
    blocks = row_blocks(*scores.shape)
    if len(blocks) == 1 and in_memory(scores):
        return function(some_rows(scores, *blocks[0]), 0, *shared)
    spans = slices(len(blocks), parts)
    given = (function, scores, shared, combine)
    if in_memory(scores):
        return _combined(combine, spread(lambda span: _fold_part(given, span), spans))
    return _combined(combine, tasks(_fold_part, spans, shared=given, progress=listener()))


def _fold_part(given: tuple[Any, ...], span: tuple[int, int]) -> Any:
    """Some of the blocks, one after another."""
    function, scores, shared, combine = given
    blocks = row_blocks(*scores.shape)[slice(*span)]
    return _combined(combine, (function(some_rows(scores, *block), block[0], *shared) for block in blocks))


def _combined(combine: Callable[..., Any], parts: Iterable[Any]) -> Any:
    """All parts in order; what is joined is joined at once, and not copied for every part again."""
    return joined(*parts) if combine is joined else reduce(combine, parts)


def whole(scores: Matrix) -> Array:
    """All scores in memory, for what looks at them again and again."""
    if isinstance(scores, np.ndarray):
        return scores
    source, order = (scores.scores, scores.order) if isinstance(scores, OrderedMatrix) else (scores, None)
    try:
        return columns(source, np.arange(scores.shape[1]) if order is None else order)
    except MemoryError:
        raise RequestError(
            f"this looks at all {scores.size:,} scores again and again, and needs {8 * scores.size / 1e9:,.1f} GB of "
            "memory several times over",
            fix="Use fewer topics or systems; the default test of `compare()` reads a packed file block by block.",
        ) from None


def columns(scores: Matrix, systems: Array) -> Array:
    """Some systems on all topics."""
    if isinstance(scores, np.ndarray):
        return scores[:, systems]
    return np.asfortranarray(fold(_some_columns, scores, systems, combine=joined))


def _some_columns(block: Array, _: int, systems: Array) -> Array:
    return block[:, systems]


# --- what many questions need


@dataclass(frozen=True, eq=False)
class Totals:
    """Of complete scores, the sum of each system, the lowest and the highest score."""

    sums: Array
    low: float
    high: float

    def __add__(self, other: Totals) -> Totals:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)  # nan, if either is
        return Totals(self.sums + other.sums, float(low), float(high))


def totals(scores: Matrix) -> Totals:
    """Sums, lowest and highest of scores that none is missing of."""
    return _totals(scores) if isinstance(scores, np.ndarray) else scores.totals


def _totals(scores: Any) -> Totals:
    found: Totals = fold(_block_totals, scores, combine=Totals.__add__)
    return found


def _block_totals(block: Array, _: int) -> Totals:
    return Totals(block.sum(axis=0), float(block.min()), float(block.max()))


def system_means(scores: Matrix) -> Array:
    """The mean of every system over topics."""
    return np.asarray(totals(scores).sums / len(scores))


def squared_deviations(scores: Matrix, means: Array) -> Array:
    """Σ(x − mean)² of every system."""
    return np.asarray(fold(_block_deviations, scores, means))


def _block_deviations(block: Array, _: int, means: Array) -> Array:
    away = block - means
    return np.asarray(np.square(away, out=away).sum(axis=0))
