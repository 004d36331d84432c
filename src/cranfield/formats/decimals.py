"""Decimals in a block of text, all at once: arithmetic on eight bytes at a time, exact or marked as doubtful.

The values are bit for bit those of Python's ``float``. Whatever this does not read (an exponent, more than 18 digits,
a blank, a word) or cannot round with certainty is left to the caller.
"""

from __future__ import annotations

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
