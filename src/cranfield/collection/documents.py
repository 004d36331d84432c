"""Document ids as sorted codes: comparing two codes compares the ids, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.formats.scan import Vocabulary
from cranfield.types import Array

_WIDEST = 64  # bytes; ids up to here are sorted as machine words


@dataclass(frozen=True, eq=False)
class Documents:
    """All document ids of a collection in byte order; ``documents[code]`` is the id."""

    blob: Array
    edges: Array

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, code: int) -> str:
        return self.blob[int(self.edges[code]) : int(self.edges[code + 1])].tobytes().decode("utf-8")

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
    width = max(vocabulary.width() for vocabulary in vocabularies)
    if width > _WIDEST:
        return _merge_long(vocabularies)
    parts = [vocabulary.words(-(-width // 8)) for vocabulary in vocabularies]
    words = np.concatenate(parts, axis=1)
    firsts, codes = _ranked(words)
    return _packed(words[:, firsts]), np.split(codes, np.cumsum([part.shape[1] for part in parts])[:-1])


def _bytes(word: Array) -> Array:
    """The eight bytes of every word, the highest first: 8 × words."""
    return np.ascontiguousarray(word.astype(">u8").view(np.uint8).reshape(-1, 8).T)


def _ranked(words: Array) -> tuple[Array, Array]:
    """Where each id is met, ids in byte order, and for every row the number of its id in that order."""
    keys = _keys(words)
    order = np.lexsort(words[::-1]) if keys is None else np.argsort(keys)
    ranked = words[:, order] if keys is None else keys[np.newaxis, order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (ranked[:, 1:] != ranked[:, :-1]).any(axis=0)
    codes = np.empty(len(order), np.int32)
    codes[order] = np.cumsum(fresh, dtype=np.int32) - np.int32(1)
    return order[fresh], codes


def _keys(words: Array) -> Array | None:
    """One number an id, in the order of the ids, or None where that takes more than a machine word.

    Few characters occur in any one place of an id, so a number that counts only those, place by place, mostly fits;
    and numbers sort several times faster than rows of words.
    """
    if len(words) == 1:
        return np.asarray(words[0])
    keys, room = np.zeros(words.shape[1], np.uint64), 1
    for place in (place for word in words for place in _bytes(word)):
        seen = np.bincount(place, minlength=256) > 0
        size = int(np.count_nonzero(seen))
        room *= size
        if room > 2**64:
            return None
        if size > 1:
            keys *= np.uint64(size)
            keys += (np.cumsum(seen) - 1).astype(np.uint64)[place]
    return keys


def _packed(words: Array) -> Documents:
    """Ids padded with zero bytes, which no id contains, put end to end."""
    rows = np.ascontiguousarray(words.T).astype(">u8").view(np.uint8).reshape(words.shape[1], -1)
    used = rows != 0
    edges = np.concatenate([[0], np.cumsum(used.sum(axis=1, dtype=np.int64))])
    return Documents(rows[used], edges)


def _merge_long(vocabularies: Sequence[Vocabulary]) -> tuple[Documents, list[Array]]:
    lists = [vocabulary.ids() for vocabulary in vocabularies]
    ids = sorted(set().union(*lists))
    codes = {name: code for code, name in enumerate(ids)}
    edges = np.concatenate([[0], np.cumsum([len(name) for name in ids], dtype=np.int64)])
    blob = np.frombuffer(bytearray(b"".join(ids)), np.uint8)
    return Documents(blob, edges), [np.array([codes[name] for name in names], np.int32) for names in lists]
