# mypy: disable-error-code="no-untyped-def"
"""The loops of the compiled reader. Importing this imports the compiler, so only the scanner does."""

from __future__ import annotations

import numpy as np

from cranfield.compiled import machine_code


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
    buffer,
    length,
    field,
    sign,
    powers,
    hash_start,
    hash_step,
    table,
    starts,
    blob,
    codes,
    keys,
    list_lines,
    list_starts,
    list_ends,
    slow,
    state,
):
    """One pass over ``buffer`` (which ends in a line end)."""
    mask = np.uint64(len(table) - 1)
    at = 0
    line = 0
    lists = 0
    documents = state[2]
    blob_end = state[3]
    slow_count = 0
    high = 0
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
        key = hash_start
        while buffer[at] > 32:
            high |= buffer[at]
            key = (key ^ np.uint64(buffer[at])) * hash_step
            at += 1
        size = at - start
        if size == 0:
            return 1
        key ^= key >> np.uint64(29)
        slot = key & mask
        label = np.int64(key >> np.uint64(33))  # 31 bits to tell ids apart without looking at them
        while True:
            entry = table[slot]
            if entry == 0:
                starts[documents] = blob_end
                for offset in range(size):
                    blob[blob_end + offset] = buffer[start + offset]
                blob_end += size
                documents += 1
                starts[documents] = blob_end
                table[slot] = (label << 32) | documents
                code = documents - 1
                break
            if entry >> 32 == label:
                code = (entry & 0xFFFFFFFF) - 1
                origin = starts[code]
                if starts[code + 1] - origin == size:
                    equal = True
                    for offset in range(size):
                        if blob[origin + offset] != buffer[start + offset]:
                            equal = False
                            break
                    if equal:
                        break
            slot = (slot + np.uint64(1)) & mask
        codes[line] = code
        # fields 4 and 5: rank and score, one of which orders the list
        for position in range(3, 5):
            while buffer[at] == 32 or buffer[at] == 9:
                at += 1
            start = at
            while buffer[at] > 32:
                high |= buffer[at]
                at += 1
            if at == start:
                return 1
            if position == field:
                value, doubt = parse_decimal(buffer, start, at, powers)
                if doubt:
                    slow[slow_count, 0] = line
                    slow[slow_count, 1] = start
                    slow[slow_count, 2] = at
                    slow_count += 1
                keys[line] = sign * value
        # field 6: the tag
        while buffer[at] == 32 or buffer[at] == 9:
            at += 1
        start = at
        while buffer[at] > 32:
            high |= buffer[at]
            at += 1
        if at == start:
            return 1
        if tag_start < 0:
            tag_start = start
            tag_end = at
        elif at - start != tag_end - tag_start:
            return 1
        else:
            for offset in range(at - start):
                if buffer[start + offset] != buffer[tag_start + offset]:
                    return 1
        while buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13:
            at += 1
        if buffer[at] != 10:
            return 1
        at += 1
        line += 1
    state[0] = line
    state[1] = lists
    state[2] = documents
    state[3] = blob_end
    state[4] = slow_count
    state[5] = high
    state[6] = tag_start
    state[7] = tag_end
    return 0


@machine_code
def rehash(starts, blob, documents, hash_start, hash_step, table):
    """Enter every document into an empty, larger table."""
    mask = np.uint64(len(table) - 1)
    for code in range(documents):
        key = hash_start
        for at in range(starts[code], starts[code + 1]):
            key = (key ^ np.uint64(blob[at])) * hash_step
        key ^= key >> np.uint64(29)
        slot = key & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = (np.int64(key >> np.uint64(33)) << 32) | (code + 1)


@machine_code
def pad(edges, blob, rows):
    """Copy every id into a row of its own."""
    for code in range(len(rows)):
        start = edges[code]
        for offset in range(edges[code + 1] - start):
            rows[code, offset] = blob[start + offset]
