# mypy: disable-error-code="no-untyped-def"
"""The loops of the compiled reader. Importing this imports the compiler, so only the scanner does."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import machine_code


@machine_code
def parse_decimal(buffer, start, end, powers):
    """(value, state) of a decimal: state 0 is the correctly rounded value, 1 ask Python, 2 not a number."""
    at = start
    negative = buffer[at] == 45
    if negative or buffer[at] == 43:
        at += 1
    digits = 0  # up to the 19 that fit into 64 bits
    mantissa = 0
    exponent = 0
    seen = 0
    point = False
    while at < end:
        byte = buffer[at]
        if 48 <= byte <= 57:
            seen += 1
            if digits < 18:
                mantissa = mantissa * 10 + (byte - 48)
                if mantissa > 0:
                    digits += 1
                if point:
                    exponent -= 1
            else:
                return 0.0, 1
        elif byte == 46 and not point:
            point = True
        else:
            break
        at += 1
    if seen == 0:
        return 0.0, 1
    if at < end:
        if buffer[at] != 101 and buffer[at] != 69:
            return 0.0, 1
        at += 1
        down = at < end and buffer[at] == 45
        if down or (at < end and buffer[at] == 43):
            at += 1
        if at >= end or end - at > 4:
            return 0.0, 1
        power = 0
        while at < end:
            if not 48 <= buffer[at] <= 57:
                return 0.0, 1
            power = power * 10 + (buffer[at] - 48)
            at += 1
        exponent += -power if down else power
    if mantissa == 0:
        return (-0.0 if negative else 0.0), 0
    if exponent > 22 or exponent < -22:
        return 0.0, 1
    high = float(mantissa)
    if mantissa <= 9007199254740992:  # 2**53: both operands exact, so one rounding
        value = high * powers[exponent] if exponent >= 0 else high / powers[-exponent]
        return (-value if negative else value), 0
    if exponent > 0:
        return 0.0, 1
    # Two doubles hold the mantissa; the quotient's remainder comes from an exact product (Dekker 1971).
    low = float(mantissa - int(high))
    ten = powers[-exponent]
    quotient = high / ten
    split = 134217729.0 * quotient
    q_high = split - (split - quotient)
    q_low = quotient - q_high
    split = 134217729.0 * ten
    t_high = split - (split - ten)
    t_low = ten - t_high
    product = quotient * ten
    error = ((q_high * t_high - product) + q_high * t_low + q_low * t_high) + q_low * t_low
    rest = (((high - product) - error) + low) / ten
    value = quotient + rest
    # Certain unless a nudge far above the error of ``rest`` would round to another double.
    if quotient + rest * 1.000000001 != value or quotient + rest * 0.999999999 != value:
        return 0.0, 1
    return (-value if negative else value), 0


@machine_code
def scan_lines(
    buffer, length, field, sign, powers, stride, words, keys, ranks, list_lines, list_starts, list_ends, slow, state
):
    """One pass over ``buffer`` (which ends in a line end); ``stride`` machine words hold an id, first byte highest.

    ``ranks`` is filled unless it is empty; numbers that only Python reads are left to it in ``slow``.
    """
    with_ranks = len(ranks) > 0
    at = 0
    line = 0
    lists = 0
    slow_count = 0
    high = 0
    longest = 1
    tag_start = -1
    tag_end = -1
    topic_start = 0
    topic_end = 0
    while at < length:
        byte = buffer[at]
        if byte == 32 or 9 <= byte <= 13:  # blank lines, and blanks before the first field
            at += 1
            continue
        if byte == 35:
            return 1
        # field 1: the topic
        start = at
        while buffer[at] > 32:
            high |= buffer[at]
            at += 1
        same = at - start == topic_end - topic_start and line > 0
        if same:
            for offset in range(at - start):
                if buffer[start + offset] != buffer[topic_start + offset]:
                    same = False
                    break
        if not same:
            topic_start = start
            topic_end = at
            list_lines[lists] = line
            list_starts[lists] = start
            list_ends[lists] = at
            lists += 1
        # field 2: ignored
        while buffer[at] == 32 or buffer[at] == 9:
            at += 1
        if buffer[at] <= 32:
            return 1
        while buffer[at] > 32:
            high |= buffer[at]
            at += 1
        # field 3: the document
        while buffer[at] == 32 or buffer[at] == 9:
            at += 1
        start = at
        for place in range(line * stride, (line + 1) * stride):
            word = np.uint64(0)
            count = 0
            while count < 8 and buffer[at] > 32:
                high |= buffer[at]
                word = (word << np.uint64(8)) | np.uint64(buffer[at])
                at += 1
                count += 1
            if 0 < count < 8:
                word <<= np.uint64(64 - 8 * count)
            words[place] = word
        if at == start:
            return 1
        if buffer[at] > 32:
            return 2
        longest = max(longest, at - start)
        # fields 4 and 5: rank and score, one of which orders the list
        for position in range(3, 5):
            while buffer[at] == 32 or buffer[at] == 9:
                at += 1
            start = at
            is_number = position == field or (with_ranks and position == 3)
            if is_number:
                # The usual: a sign, digits, a point, digits; up to 15 of them one division rounds correctly.
                negative = buffer[at] == 45
                if negative:
                    at += 1
                mantissa = 0
                first = at
                while 48 <= buffer[at] <= 57:
                    mantissa = mantissa * 10 + (buffer[at] - 48)
                    at += 1
                digits = at - first
                decimals = 0
                if buffer[at] == 46:
                    at += 1
                    first = at
                    while 48 <= buffer[at] <= 57:
                        mantissa = mantissa * 10 + (buffer[at] - 48)
                        at += 1
                    decimals = at - first
                    digits += decimals
                if buffer[at] <= 32 and 0 < digits <= 15:
                    value = float(mantissa) / powers[decimals]
                    if negative:
                        value = -value
                    if position == field:
                        keys[line] = sign * value
                    else:
                        ranks[line] = value
                    continue
            while buffer[at] > 32:
                high |= buffer[at]
                at += 1
            if at == start:
                return 1
            if is_number:
                value, doubt = parse_decimal(buffer, start, at, powers)
                if doubt:
                    slow[slow_count, 0] = line
                    slow[slow_count, 1] = start
                    slow[slow_count, 2] = at
                    slow[slow_count, 3] = position
                    slow_count += 1
                if position == field:
                    keys[line] = sign * value
                else:
                    ranks[line] = value
        # field 6: the tag
        while buffer[at] == 32 or buffer[at] == 9:
            at += 1
        start = at
        if tag_start < 0:
            while buffer[at] > 32:
                high |= buffer[at]
                at += 1
            if at == start:
                return 1
            tag_start = start
            tag_end = at
        else:
            for offset in range(tag_end - tag_start):
                if buffer[start + offset] != buffer[tag_start + offset]:
                    return 1
            at += tag_end - tag_start
            if buffer[at] > 32:
                return 1
        while buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13:
            at += 1
        if buffer[at] != 10:
            return 1
        at += 1
        line += 1
    state[0] = line
    state[1] = lists
    state[3] = max(state[3], longest)
    state[4] = slow_count
    state[5] = high
    state[6] = tag_start
    state[7] = tag_end
    return 0


@machine_code
def slot_of(words, start, stride, mask):
    """Where a document belongs in the table."""
    key = np.uint64(0)
    for at in range(start, start + stride):
        key = (key ^ words[at]) * np.uint64(0xD6E8FEB86659FD93)
        key ^= key >> np.uint64(32)
    return (key * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(20) & mask


@machine_code
def enter(lines, stride, words, vocabulary, table, codes, state):
    """The code of every line's document, new ones entered; a block at a time, so that look-ups wait side by side."""
    block = 32
    slots = np.empty(block, np.uint64)
    mask = np.uint64(len(table) - 1)
    documents = state[2]
    for first in range(0, lines, block):
        last = min(lines, first + block)
        for line in range(first, last):
            slots[line - first] = slot_of(words, line * stride, stride, mask)
        for line in range(first, last):
            start = line * stride
            slot = slots[line - first]
            while True:
                code = table[slot] - 1
                if code < 0:
                    code = documents
                    for offset in range(stride):
                        vocabulary[code * stride + offset] = words[start + offset]
                    documents += 1
                    table[slot] = documents
                    break
                equal = True
                for offset in range(stride):
                    if vocabulary[code * stride + offset] != words[start + offset]:
                        equal = False
                        break
                if equal:
                    break
                slot = (slot + np.uint64(1)) & mask
            codes[line] = code
    state[2] = documents


@machine_code
def rehash(documents, stride, vocabulary, table):
    """Enter every document into an empty, larger table."""
    mask = np.uint64(len(table) - 1)
    for code in range(documents):
        slot = slot_of(vocabulary, code * stride, stride, mask)
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = code + 1
