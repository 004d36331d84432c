"""Decimals and ids in a block of text, all at once: eight bytes at a time, exact or marked as doubtful."""

from __future__ import annotations

import os
from threading import Lock

import numpy as np

from cranfield.types import Array

MARGIN = 32  # bytes a block has before its first field and after its last, so that words can be read across its ends
MOST_DIGITS = 18  # below 10¹⁸ every mantissa fits into 64 bits, signed too

_POWERS = np.array([10.0**exponent for exponent in range(MOST_DIGITS + 1)])  # every one exact in double precision
_TENS = np.array([10**exponent for exponent in range(MOST_DIGITS + 1)], np.uint64)
_LAST = np.array([0xFFFFFFFFFFFFFFFF << 8 * (8 - kept) & 0xFFFFFFFFFFFFFFFF for kept in range(9)], np.uint64)
_BEYOND = np.array([8 * (8 - kept) for kept in range(9)], np.uint64)
_ZEROS = np.uint64(0x3030303030303030)  # eight digits 0
_POINTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_PLACES = np.uint64(0x0001020304050607)  # times the bit of byte k, k is in the highest byte
_EXACT = np.uint64(2**53)
_SPLIT = 134217729.0  # 2²⁷ + 1


def words_at(block: Array) -> Array:
    """The eight bytes that begin at every place of a block, as one number each, the first byte lowest."""
    return np.ndarray((len(block) - 7,), np.dtype("<u8"), buffer=block.data, strides=(1,))


def parse_decimals(block: Array, starts: Array, ends: Array, *, strict: bool = False) -> tuple[Array, Array]:
    """The numbers in ``block[start:end]``, and which of them to ask Python about.

    ``strict`` is JSON's grammar: no leading zero, and digits on both sides of a point.

    >>> text = np.frombuffer(b" " * MARGIN + b"0.25,-3,1e5" + b" " * MARGIN, np.uint8)
    >>> values, doubtful = parse_decimals(text, np.array([32, 37, 40]), np.array([36, 39, 43]))
    >>> values[:2].tolist(), doubtful.tolist()
    ([0.25, -3.0], [False, False, True])
    """
    negative = block[starts] == 45
    signed = bool(negative.any())
    if signed:
        starts = starts + negative
    length = ends - starts
    words = words_at(block)
    if int(length.min(initial=2)) >= 2 and bool((block[starts + 1] == 46).all()):
        whole, decimals, mantissa, doubtful = _one_digit(block, starts, length)
    else:
        whole, decimals, mantissa, doubtful = _any_digits(words, starts, length)
    if strict:
        doubtful |= (whole == 0) | ((whole > 1) & (block[starts] == 48)) | (whole == length - 1)
    longest = int(decimals.max(initial=0))
    if longest:
        mantissa *= _TENS[decimals]
    for back in range(0, longest, 8):
        part, wrong = _digits(words[ends - (8 + back)], decimals - back if back else decimals)
        mantissa += part * _TENS[back] if back else part
        doubtful |= wrong
    if strict and signed:
        doubtful |= negative & (mantissa == 0)  # −0 is an integer there, and has no sign
    mantissa[doubtful] = 0
    values, rough = _quotient(mantissa, decimals)
    return np.where(negative, -values, values) if signed else values, doubtful | rough


def _one_digit(block: Array, starts: Array, length: Array) -> tuple[Array, Array, Array, Array]:
    """As `_any_digits`, for fields that all have their point after one digit: nearly every table of scores."""
    digit = block[starts] - np.uint8(48)
    decimals = length - 2
    doubtful = (digit > 9) | (decimals > MOST_DIGITS - (digit > 0))
    return np.array(1), np.minimum(decimals, MOST_DIGITS), digit.astype(np.uint64), doubtful


def _any_digits(words: Array, starts: Array, length: Array) -> tuple[Array, Array, Array, Array]:
    """Digits before the point and after it, the number before it, and where there is something else."""
    head = words[starts]
    whole = _point(head, length)
    decimals = np.maximum(length - whole - 1, 0)
    mantissa, doubtful = _digits(head << _BEYOND.take(whole, mode="clip"), whole)
    doubtful |= (whole > 8) | (whole + decimals <= 0)
    doubtful |= decimals + np.where(mantissa > 0, whole, 0) > MOST_DIGITS
    return whole, np.minimum(decimals, MOST_DIGITS), mantissa, doubtful


def _point(head: Array, length: Array) -> Array:
    """Digits before the point; all of them where there is none; 9 where there is none among the first eight of more."""
    differ = head ^ _POINTS
    found = (differ - _ONES) & ~differ & _TOPS
    found &= ~found + np.uint64(1)  # of several, the first
    place = ((found >> np.uint64(7)) * _PLACES) >> np.uint64(56)
    before = np.where(found == 0, 9, place.astype(np.int64))
    return np.where(before < length, before, np.where(length <= 8, length, 9))


def _digits(words: Array, count: Array) -> tuple[Array, Array]:
    """The number that the last ``count`` bytes of each word spell, and where one of them is no digit."""
    kept = _LAST.take(count, mode="clip")
    words = (words ^ _ZEROS) & kept  # digits become 0 to 9, everything else more
    odd = ((words + np.uint64(0x7676767676767676)) | words) & _TOPS
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    words = (words * np.uint64(10000) + (words >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return words, odd != 0


def _quotient(mantissa: Array, decimals: Array) -> tuple[Array, Array]:
    """``mantissa / 10 ** decimals``, rounded once, and where that is not certain."""
    values = mantissa.astype(np.float64)
    ten = _POWERS[decimals]
    doubtful = np.zeros(len(mantissa), bool)
    large = np.flatnonzero(mantissa > _EXACT)  # of the others both operands are exact, so there is one rounding
    if len(large):
        found, rough = _long_quotient(mantissa[large], values[large], ten[large])
        values /= ten
        values[large], doubtful[large] = found, rough
    else:
        values /= ten
    return values, doubtful


def _long_quotient(mantissa: Array, high: Array, ten: Array) -> tuple[Array, Array]:
    """Two doubles hold the mantissa; the quotient's remainder comes from an exact product (Dekker 1971)."""
    low = (mantissa.astype(np.int64) - high.astype(np.int64)).astype(np.float64)
    quotient = high / ten
    product = quotient * ten
    (q_high, q_low), (t_high, t_low) = _halves(quotient), _halves(ten)
    error = ((q_high * t_high - product) + q_high * t_low + q_low * t_high) + q_low * t_low
    rest = (((high - product) - error) + low) / ten
    values = quotient + rest
    # Certain unless a nudge far above the error of ``rest`` would round to another double.
    return values, (quotient + rest * 1.000000001 != values) | (quotient + rest * 0.999999999 != values)


def _halves(number: Array) -> tuple[Array, Array]:
    split = _SPLIT * number
    high = split - (split - number)
    return high, number - high


MOST_WORDS = 32  # of eight bytes each; longer ids are looked up one by one
_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_FIRST = np.array([(1 << 8 * kept) - 1 for kept in range(9)], np.uint64)


class CollisionError(Exception):
    """Two ids have the same hash. Nobody meets this by chance; whoever does reads the file another way."""


class IdCodes:
    """The ids of one column and their codes, in the order in which they were entered.

    The hash of an id of up to eight bytes is the id itself. Longer ones are compared byte for byte with what their
    hash finds, so that a code stands for one id for certain. Blocks may be coded on several threads.
    """

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self._lock = Lock()
        self._factor = np.uint64(int.from_bytes(os.urandom(8), "big") | 1)  # nobody can make ids that share a slot
        self._slots: Array = np.full(1 << 10, -1, np.int32)
        self._hashes: Array = np.empty(256, np.uint64)
        self._tails: Array = np.zeros((256, 0), np.uint64)  # the words of each id after the first
        self._long: dict[bytes, int] = {}

    def code(self, block: Array, starts: Array, ends: Array) -> Array:
        """The codes of ``block[start:end]``; new ids are entered."""
        length = ends - starts
        if int(length.max(initial=0)) <= 8 * MOST_WORDS:
            return self._code_short(block, starts, ends, length)
        long, codes = length > 8 * MOST_WORDS, np.empty(len(length), np.int32)
        codes[long] = self._code_long(block, starts[long], ends[long])
        codes[~long] = self._code_short(block, starts[~long], ends[~long], length[~long])
        return codes

    def _code_short(self, block: Array, starts: Array, ends: Array, length: Array) -> Array:
        words = _words(block, starts, length)
        hashes = _hash(words)
        heads = np.flatnonzero(np.concatenate([np.ones(min(1, len(hashes)), bool), hashes[1:] != hashes[:-1]]))
        if 2 * len(heads) > len(hashes):
            return self._looked_up(block, starts, ends, hashes, words[1:])
        # Mostly repeats of the line before: look up the first of each sequence only.
        repeats = np.diff(heads, append=len(hashes))
        if any((word != np.repeat(word[heads], repeats)).any() for word in words[1:]):
            raise CollisionError
        codes = self._looked_up(block, starts[heads], ends[heads], hashes[heads], [word[heads] for word in words[1:]])
        return np.repeat(codes, repeats)

    def _looked_up(self, block: Array, starts: Array, ends: Array, hashes: Array, tails: list[Array]) -> Array:
        with self._lock:
            codes = self._find(hashes)
            new = np.flatnonzero(codes < 0)
            if len(new):
                _, first = np.unique(hashes[new], return_index=True)
                first = new[np.sort(first)]
                self._enter(block, starts[first], ends[first], hashes[first], [tail[first] for tail in tails])
                codes[new] = self._find(hashes[new])
            self._verify(codes, tails)
        return codes

    def _find(self, hashes: Array) -> Array:
        """Codes of hashes, −1 where there is none."""
        mask = len(self._slots) - 1
        slots = self._slot(hashes)
        codes: Array = self._slots[slots]
        wrong = np.flatnonzero((codes >= 0) & (self._hashes[codes] != hashes))
        while len(wrong):  # the slot is another's: on to the next
            slots[wrong] = (slots[wrong] + 1) & mask
            codes[wrong] = self._slots[slots[wrong]]
            wrong = wrong[(codes[wrong] >= 0) & (self._hashes[codes[wrong]] != hashes[wrong])]
        return codes

    def _slot(self, hashes: Array) -> Array:
        bits = len(self._slots).bit_length() - 1
        mixed: Array = (hashes ^ hashes >> np.uint64(32)) * self._factor
        return (mixed >> np.uint64(64 - bits)).astype(np.int64)

    def _enter(self, block: Array, starts: Array, ends: Array, hashes: Array, tails: list[Array]) -> None:
        """Enter new ids, each once."""
        count, total = len(self.ids), len(self.ids) + len(hashes)
        self._make_room(total, len(tails))
        first, last = int(starts.min()), int(ends.max())
        text = block[first:last].tobytes()
        places = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
        self.ids += [text[start:end] for start, end in places]
        self._hashes[count:total] = hashes
        for at, tail in enumerate(tails):
            self._tails[count:total, at] = tail
        self._place(np.arange(count, total, dtype=np.int32))

    def _place(self, codes: Array) -> None:
        """Enter codes into free slots; of several that want one slot, all but one go on to the next."""
        mask, slots = len(self._slots) - 1, self._slot(self._hashes[codes])
        while len(codes):
            free = self._slots[slots] < 0
            self._slots[slots[free]] = codes[free]
            left = self._slots[slots] != codes
            codes, slots = codes[left], (slots[left] + 1) & mask

    def _make_room(self, total: int, tails: int) -> None:
        count, size, width = len(self.ids), len(self._hashes), self._tails.shape[1]
        if total > size or tails > width:
            size = 2 * total if total > size else size
            hashes, wide = np.empty(size, np.uint64), np.zeros((size, max(tails, width)), np.uint64)
            hashes[:count], wide[:count, :width] = self._hashes[:count], self._tails[:count]
            self._hashes, self._tails = hashes, wide
        if 2 * total > len(self._slots):
            there = self._slots[self._slots >= 0]
            self._slots = np.full(1 << (4 * total).bit_length(), -1, np.int32)
            self._place(there)

    def _verify(self, codes: Array, tails: list[Array]) -> None:
        """Compare what follows the first word; short ids are their own hash."""
        for at in range(self._tails.shape[1]):
            expected = tails[at] if at < len(tails) else np.uint64(0)
            if (self._tails[codes, at] != expected).any():
                raise CollisionError

    def _code_long(self, block: Array, starts: Array, ends: Array) -> list[int]:
        """Code ids one by one; they are in no slot, so that only this finds them."""
        codes = []
        with self._lock:
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                name = block[start:end].tobytes()
                code = self._long.setdefault(name, len(self.ids))
                if code == len(self.ids):
                    self._make_room(code + 1, 0)
                    self.ids.append(name)
                codes.append(code)
        return codes


def _words(block: Array, starts: Array, length: Array) -> list[Array]:
    """The bytes of each id, eight in a word, zeros (which no id contains) after the last."""
    words = words_at(block)
    first = words[starts] & _FIRST.take(length, mode="clip")
    longest = int(length.max(initial=0))
    return [first, *(_later(words, starts, length, at) for at in range(8, longest, 8))]


def _later(words: Array, starts: Array, length: Array, at: int) -> Array:
    # Where the id is shorter, the word is not looked at; its place is moved back into the block.
    places = np.minimum(starts + at, len(words) - 1)
    return np.asarray(words[places] & _FIRST.take(length - at, mode="clip"))


def _hash(words: list[Array]) -> Array:
    """One number per id; a word of zeros adds nothing, so that it does not matter how many there are."""
    mixed = words[0]
    for at, word in enumerate(words[1:], start=1):
        part = word * (_FACTOR + np.uint64(2 * at))
        mixed = mixed ^ (part ^ (part >> np.uint64(29))) * _FACTOR
    return mixed
