# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The loops over judged documents, one a family of measures.

All share their first arguments: lists ``first`` to ``last`` of a view (see :class:`cranfield.collection.View`), its
``systems`` and ``shards``, and ``edges``, ``rank`` and ``judgment`` of the hits. A list is as many segments as there
are shards. ``gain`` and the like are indexed by judgment, ``cutoff`` by unit, ``weight`` by rank.
"""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _weighted(first, last, systems, shards, edges, rank, judgment, gain, weight, cutoff, out_score):
    """Σ gain · weight[rank]: precision, recall, (n)DCG, RBP and everything else that adds up by rank."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            deepest = cutoff[unit]
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if rank[hit] > deepest:
                    break
                total += gain[judgment[hit]] * weight[rank[hit]]
            out_score[segment] = total


def _blended(
    first, last, systems, shards, edges, rank, judgment, gain, cutoff, beta, ideal_edges, ideal_gain, out_score
):
    """Σ over relevant ranks of (C(r) + β·cg(r)) / (r + β·cg*(r)): AP with β = 0, Q otherwise."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            deepest = cutoff[unit]
            ideal_first = ideal_edges[unit]
            ideal_size = ideal_edges[unit + 1] - ideal_first
            found = 0
            gained = 0.0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                r = rank[hit]
                if r > deepest:
                    break
                g = gain[judgment[hit]]
                if g > 0.0:
                    found += 1
                    if beta == 0.0:
                        total += found / r
                    else:
                        gained += g
                        best = ideal_gain[ideal_first + min(r, ideal_size) - 1]
                        total += (found + beta * gained) / (r + beta * best)
            out_score[segment] = total


def _totals(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    gain,
    weight,
    walk,
    beta,
    ideal_edges,
    ideal_gain,
    cutoff,
    row,
    cutoffs,
    out_total,
):
    """The sums of :func:`_weighted`, :func:`_blended` or :func:`_cascade` at several cutoffs, in one pass.

    ``cutoff`` has ``cutoffs`` ascending ranks for each unit, and ``row`` where the sum down to each of them goes.
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            ideal_first = ideal_edges[unit]
            ideal_size = ideal_edges[unit + 1] - ideal_first
            hit, end = edges[segment], edges[segment + 1]
            found = 0
            gained = 0.0
            reading = 1.0
            total = 0.0
            for at in range(unit * cutoffs, (unit + 1) * cutoffs):
                while hit < end and rank[hit] <= cutoff[at]:
                    r = rank[hit]
                    g = gain[judgment[hit]]
                    hit += 1
                    if walk == WEIGHTED:
                        total += g * weight[r]
                    elif walk == CASCADE:
                        total += reading * g / r
                        reading *= 1.0 - g
                    elif g > 0.0:
                        found += 1
                        if beta == 0.0:
                            total += found / r
                        else:
                            gained += g
                            best = ideal_gain[ideal_first + min(r, ideal_size) - 1]
                            total += (found + beta * gained) / (r + beta * best)
                out_total[row[at], segment] = total


def _preferred(first, last, systems, shards, edges, rank, judgment, gain, beta, ideal_edges, ideal_gain, out_score):
    """P+: the blended ratio averaged over the relevant ranks down to the first document of the highest gain found."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            ideal_first = ideal_edges[unit]
            ideal_size = ideal_edges[unit + 1] - ideal_first
            highest = 0.0
            preferred = -1
            for hit in range(edges[segment], edges[segment + 1]):
                if gain[judgment[hit]] > highest:
                    highest = gain[judgment[hit]]
                    preferred = hit
            found = 0
            gained = 0.0
            total = 0.0
            for hit in range(edges[segment], preferred + 1):
                g = gain[judgment[hit]]
                if g > 0.0:
                    found += 1
                    gained += g
                    best = ideal_gain[ideal_first + min(rank[hit], ideal_size) - 1]
                    total += (found + beta * gained) / (rank[hit] + beta * best)
            out_score[segment] = total / found if found > 0 else 0.0


def _first_relevant(first, last, systems, shards, edges, rank, judgment, gain, cutoff, out_score):
    """1 / the rank of the first document with a gain."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            deepest = cutoff[unit]
            out_score[segment] = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if rank[hit] > deepest:
                    break
                if gain[judgment[hit]] > 0.0:
                    out_score[segment] = 1.0 / rank[hit]
                    break


def _cascade(first, last, systems, shards, edges, rank, judgment, stop, cutoff, out_score):
    """ERR: Σ 1/r · P(the user, having read on so far, stops at r)."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            deepest = cutoff[unit]
            reading = 1.0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if rank[hit] > deepest:
                    break
                p = stop[judgment[hit]]
                total += reading * p / rank[hit]
                reading *= 1.0 - p
            out_score[segment] = total


def _stopping(first, last, systems, shards, edges, rank, judgment, gain, going_on, goal, mode, depth, out_score):
    """Σ P(reads rank r) · gain over Σ P(reads rank r), down to ``depth``: the C/W/L framework.

    Whoever read rank r goes on with probability ``going_on[r]`` (``PATIENT``) until the ``goal`` is gained, that times
    1 − gain (``SATISFIABLE``), or ((r + 2T − cg − 1) / (r + 2T − cg))², T being the goal (``ADAPTIVE``).
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            hit = edges[segment]
            reading = 1.0
            looked = 0.0
            total = 0.0
            gained = 0.0
            for r in range(1, depth + 1):
                g = 0.0
                if hit < edges[segment + 1] and rank[hit] == r:
                    g = gain[judgment[hit]]
                    hit += 1
                looked += reading
                total += reading * g
                gained += g
                if mode == ADAPTIVE:
                    wanted = r + goal + (goal - gained)
                    step = (wanted - 1.0) / wanted
                    reading *= step * step
                elif mode == SATISFIABLE:
                    reading *= going_on[r] * (1.0 - g)
                elif gained >= goal:
                    reading = 0.0
                else:
                    reading *= going_on[r]
                if reading == 0.0:
                    break
            out_score[segment] = total / looked


def _judged_lists(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    verdict,
    relevant,
    nonrelevant,
    epsilon,
    longest,
    out_preference,
    out_inferred,
    out_nonrelevant,
):
    """What needs all judged documents: bpref, Σ of the expected precision at relevant ones, and non-relevant ones.

    ``verdict`` of a judgment is 2 for relevant, 1 for not relevant, 0 for pooled and not judged, −1 for not pooled;
    no list has more than ``longest`` hits.
    """
    place = np.empty(longest + 1, np.int64)  # of the documents that are not simply not relevant
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            needed = relevant[unit]
            most = min(needed, nonrelevant[unit])
            start = edges[segment]
            count = 0
            for hit in range(start, edges[segment + 1]):  # without a branch, which would often be mispredicted
                place[count] = hit
                count += verdict[judgment[hit]] != 1
            found = 0
            unjudged = 0
            preference = 0.0
            inferred = 0.0
            for at in range(count):
                hit = place[at]
                says = verdict[judgment[hit]]
                if says == 2:
                    above = hit - start - at
                    preference += 1.0 - min(above, needed) / most if above > 0 else 1.0
                    share = (found + epsilon) / (found + above + 2.0 * epsilon)
                    r = rank[hit]
                    inferred += (1.0 + (found + above + unjudged) * share) / r if r > 1 else 1.0
                    found += 1
                elif says == 0:
                    unjudged += 1
            out_preference[segment] = preference / needed if needed > 0 else 0.0
            out_inferred[segment] = inferred
            out_nonrelevant[segment] = edges[segment + 1] - start - count


def _stratified(
    first, last, systems, shards, edges, rank, judgment, verdict, stratum, strata, share, epsilon, out_score
):
    """Σ of the expected precision at each relevant document, times ``share``, which has ``strata`` numbers for a unit.

    ``verdict`` is as for :func:`_judged_lists`; documents above are expected to be relevant stratum by stratum.
    """
    pooled = np.zeros(strata, np.int64)
    judged = np.zeros(strata, np.int64)
    found = np.zeros(strata, np.int64)
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            for at in range(strata):
                pooled[at] = 0
                judged[at] = 0
                found[at] = 0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                says = verdict[judgment[hit]]
                if says < 0:
                    continue
                of = stratum[judgment[hit]]
                if says == 2:
                    above = 1.0
                    for at in range(strata):
                        if pooled[at] > 0:
                            above += pooled[at] * (found[at] + epsilon) / (judged[at] + 2.0 * epsilon)
                    total += share[unit * strata + of] * above / rank[hit]
                    found[of] += 1
                if says > 0:
                    judged[of] += 1
                pooled[of] += 1
            out_score[segment] = total


def _lagging(first, last, systems, shards, edges, rank, judgment, gain, weight, out_score):
    """Σ over documents with a gain of ``weight`` of the number of other documents above."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            found = 0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if gain[judgment[hit]] > 0.0:
                    found += 1
                    total += weight[rank[hit] - found]
            out_score[segment] = total


def _interpolated(first, last, systems, shards, edges, rank, judgment, gain, needed, levels, out_best):
    """The highest precision from the ``needed``-th relevant document on, for ascending levels of recall.

    ``needed`` has ``levels`` numbers for each unit, and ``out_best`` a row for each level.
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            start = (number // systems * shards + shard) * levels
            count = 0
            for hit in range(edges[segment], edges[segment + 1]):
                if gain[judgment[hit]] > 0.0:
                    count += 1
            level = levels - 1
            while level >= 0 and needed[start + level] > count:
                out_best[level, segment] = 0.0
                level -= 1
            best = 0.0
            for hit in range(edges[segment + 1] - 1, edges[segment] - 1, -1):
                if gain[judgment[hit]] > 0.0:
                    best = max(best, count / rank[hit])
                    while level >= 0 and needed[start + level] == count:
                        out_best[level, segment] = best
                        level -= 1
                    count -= 1
            while level >= 0:
                out_best[level, segment] = best
                level -= 1


def _lagging_gains(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    gain,
    ideal_edges,
    ideal_cost,
    logarithm,
    by_table,
    out_lag,
    out_score,
):
    """Σ gain / log2(2 + how far the cumulated gain is behind that of the ideal list), whose later documents count 1.

    With whole gains (``by_table``), ``logarithm`` has the logarithms; otherwise ``out_lag`` gets what to take them of.
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            size = ideal_edges[unit + 1] - ideal_edges[unit]
            gained = 0.0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                g = gain[judgment[hit]]
                if g > 0.0:
                    gained += g
                    ideal = ideal_cost[ideal_edges[unit] + min(rank[hit], size) - 1]
                    lag = ideal + max(rank[hit] - size, 0) - gained
                    if by_table:
                        total += g / logarithm[max(int(lag), 0)]  # below 0 if a list has a document twice
                    else:
                        out_lag[hit] = lag
            out_score[segment] = total


def _averaged_ndcg(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    gain,
    weight,
    length,
    ideal_edges,
    ideal_dcg,
    level_edges,
    level_depth,
    out_relevant,
    out_levels,
):
    """nDCG averaged over relevant documents, and over the numbers of documents with at least each grade.

    Documents that are not found count with nDCG at the list's end. So does the end of a list that goes on past all
    levels; as trec_eval does, it does not look past exactly one document more.
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            start = ideal_edges[unit]
            size = ideal_edges[unit + 1] - start
            out_relevant[segment] = 0.0
            out_levels[segment] = 0.0
            if size == 0:
                continue
            level, end = level_edges[unit], level_edges[unit + 1]
            found = 0
            dcg = 0.0
            over_relevant = 0.0
            over_levels = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                g = gain[judgment[hit]]
                if g > 0.0:
                    while level < end and rank[hit] > level_depth[level]:
                        over_levels += dcg / ideal_dcg[start + level_depth[level] - 1]
                        level += 1
                    dcg += g * weight[rank[hit]]
                    found += 1
                    over_relevant += dcg / ideal_dcg[start + min(rank[hit], size) - 1]
            while level < end:
                over_levels += dcg / ideal_dcg[start + level_depth[level] - 1]
                level += 1
            whole = ideal_dcg[start + size - 1]
            out_relevant[segment] = (over_relevant + (size - found) * dcg / whole) / size
            count = end - level_edges[unit]
            if length[segment] > size + 1:
                over_levels += dcg / whole
                count += 1
            out_levels[segment] = over_levels / count


def _novelty(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    intent_edges,
    intent_index,
    most_intents,
    fading,
    weight,
    cutoff,
    out_score,
):
    """Σ weight[rank] · Σ over the document's intents of fading[times the intent was seen before]."""
    seen = np.zeros(most_intents, np.int64)
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            deepest = cutoff[unit]
            for intent in range(most_intents):
                seen[intent] = 0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if rank[hit] > deepest:
                    break
                fresh = 0.0
                for at in range(intent_edges[judgment[hit]], intent_edges[judgment[hit] + 1]):
                    intent = intent_index[at]
                    fresh += fading[min(seen[intent], len(fading) - 1)]
                    seen[intent] += 1
                total += fresh * weight[rank[hit]]
            out_score[segment] = total


def _greedy(
    first, last, candidate_edges, candidate, intent_edges, intent_index, most_intents, fading, depth, out_order
):
    """The ideal list for novelty, greedily: the document that adds most next, of equals the one with the highest id."""
    seen = np.zeros(most_intents, np.int64)
    for unit in range(first, last):
        start, end = candidate_edges[unit], candidate_edges[unit + 1]
        for intent in range(most_intents):
            seen[intent] = 0
        taken = np.zeros(end - start, np.bool_)
        for place in range(min(depth, end - start)):
            best = -1
            most = -1.0
            for at in range(start, end):
                if taken[at - start]:
                    continue
                fresh = 0.0
                for row in range(intent_edges[candidate[at]], intent_edges[candidate[at] + 1]):
                    fresh += fading[min(seen[intent_index[row]], len(fading) - 1)]
                if fresh >= most:  # candidates come by id, so the last of equals has the highest
                    most = fresh
                    best = at
            taken[best - start] = True
            out_order[start + place] = candidate[best]
            for row in range(intent_edges[candidate[best]], intent_edges[candidate[best] + 1]):
                seen[intent_index[row]] += 1


def _overlap(
    first, last, systems, shards, edges, documents, other, count, depth, p, power, weight, below, form, out_score
):
    """Rank-biased overlap of every list with that of the system ``other`` on the same topic, down to ``depth``.

    ``power`` is p^d, ``weight`` p^d / d, ``below`` the sum of the weights of all deeper ranks.
    """
    seen = np.zeros(count, np.int64)  # the list, counted from 1, in whose comparison a document was last met
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            against = (number // systems * systems + other) * shards + shard
            one = min(edges[segment + 1] - edges[segment], depth)
            two = min(edges[against + 1] - edges[against], depth)
            short = min(one, two)
            long = max(one, two)
            common = 0
            common_short = 0
            total = 0.0
            for d in range(1, long + 1):
                if d <= one:
                    document = documents[edges[segment] + d - 1]
                    if seen[document] == segment + 1:
                        common += 1
                    seen[document] = segment + 1
                if d <= two:
                    document = documents[edges[against] + d - 1]
                    if seen[document] == segment + 1:
                        common += 1
                    seen[document] = segment + 1
                if d == short:
                    common_short = common
                total += common * weight[d]
                if form == EXTRAPOLATED and d > short and short > 0:
                    total += common_short * (d - short) / short * weight[d]
            if short == 0:
                out_score[segment] = 0.0
            elif form == EXTRAPOLATED:  # Webber, Moffat & Zobel 2010, eq. 32
                rest = (common - common_short) / long + common_short / short
                out_score[segment] = (1.0 - p) / p * total + rest * power[long]
            else:  # eq. 11
                out_score[segment] = (1.0 - p) / p * (total + common * below[long])


def _cumulate(first, last, edges, judgment, gain, out_running, out_count):
    """For lists that are ideal: their gains added up as they go, and how many of them are above 0."""
    for unit in range(first, last):
        total = 0.0
        count = 0
        for hit in range(edges[unit], edges[unit + 1]):
            g = gain[judgment[hit]]
            total += g
            out_running[hit] = total
            if g > 0.0:
                count += 1
        out_count[unit] = count


def _divide(first, last, systems, by, most, out_score):
    """Every score over what its topic is divided by, if that is anything, and no more than ``most``."""
    for topic in range(first, last):
        divisor = by[topic] if by[topic] > 0.0 else 1.0
        for at in range(topic * systems, (topic + 1) * systems):
            score = out_score[at] / divisor
            out_score[at] = score if score < most else most


def _weighted_tied(
    first, last, systems, shards, edges, rank, judgment, tie_first, tie_last, gain, weight, cutoff, out_score
):
    """The expected value of :func:`_weighted` over the orders of documents with the same score.

    Hits have the ranks ``tie_first`` to ``tie_last`` with the same probability (McSherry & Najork 2008).
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            deepest = cutoff[number // systems * shards + shard]
            start = 0
            end = 0
            worth = 0.0
            total = 0.0
            for hit in range(edges[segment], edges[segment + 1]):
                if tie_first[hit] > deepest:
                    break
                if tie_first[hit] != start:
                    start = tie_first[hit]
                    end = tie_last[hit]
                    worth = 0.0
                    for r in range(start, min(end, deepest) + 1):
                        worth += weight[r]
                total += gain[judgment[hit]] * worth / (end - start + 1)
            out_score[segment] = total


def _blended_tied(
    first,
    last,
    systems,
    shards,
    edges,
    rank,
    judgment,
    tie_first,
    tie_last,
    gain,
    cutoff,
    beta,
    ideal_edges,
    ideal_gain,
    out_score,
):
    """The expected value of :func:`_blended` with β = 0 over the orders of documents with the same score.

    Of n relevant documents among m tied ones, the t-th place has one with probability n / m, and then (t − 1) of the
    other m − 1 places, with n − 1 relevant documents, are before it (McSherry & Najork 2008).
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            deepest = cutoff[number // systems * shards + shard]
            found = 0
            total = 0.0
            hit = edges[segment]
            while hit < edges[segment + 1] and tie_first[hit] <= deepest:
                start = tie_first[hit]
                size = tie_last[hit] - start + 1
                relevant = 0
                while hit < edges[segment + 1] and tie_first[hit] == start:
                    if gain[judgment[hit]] > 0.0:
                        relevant += 1
                    hit += 1
                if relevant > 0 and size == 1:
                    total += (found + 1) / start
                elif relevant > 0:
                    for t in range(min(size, deepest - start + 1)):
                        above = found + 1 + t * (relevant - 1) / (size - 1)
                        total += relevant / size * above / (start + t)
                found += relevant
            out_score[segment] = total


def _first_relevant_tied(
    first, last, systems, shards, edges, rank, judgment, tie_first, tie_last, gain, cutoff, out_score
):
    """The expected value of :func:`_first_relevant` over the orders of documents with the same score."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            deepest = cutoff[number // systems * shards + shard]
            out_score[segment] = 0.0
            start = 0
            relevant = 0
            size = 1
            for hit in range(edges[segment], edges[segment + 1]):
                if relevant > 0 and tie_first[hit] != start:
                    break
                if gain[judgment[hit]] > 0.0:
                    start = tie_first[hit]
                    size = tie_last[hit] - start + 1
                    relevant += 1
            if relevant > 0:
                chance = relevant / size  # that the first relevant document of the group is at its t-th place
                for t in range(min(size - relevant, deepest - start) + 1):
                    out_score[segment] += chance / (start + t)
                    if t + 1 < size:
                        chance *= (size - relevant - t) / (size - t - 1)


def _any_tied(first, last, systems, shards, edges, rank, judgment, tie_first, tie_last, gain, cutoff, out_score):
    """The probability that a document with a gain is no deeper than the cutoff."""
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            deepest = cutoff[number // systems * shards + shard]
            start = 0
            relevant = 0
            size = 1
            for hit in range(edges[segment], edges[segment + 1]):
                if tie_first[hit] > deepest or (relevant > 0 and tie_first[hit] != start):
                    break
                if gain[judgment[hit]] > 0.0:
                    start = tie_first[hit]
                    size = tie_last[hit] - start + 1
                    relevant += 1
            none = 1.0
            if relevant > 0:
                for t in range(min(size, deepest - start + 1)):
                    none *= max(size - relevant - t, 0) / (size - t)
            out_score[segment] = 1.0 - none


def _preference_tied(
    first, last, systems, shards, edges, rank, judgment, tie_first, tie_last, verdict, relevant, nonrelevant, out_score
):
    """The expected value of bpref (:func:`_judged_lists`) over the orders of documents with the same score.

    A relevant document has 0, 1, …, all of the judged non-relevant documents of its group above it, each with the same
    probability.
    """
    for number in range(first, last):
        for shard in range(shards):
            segment = number * shards + shard
            unit = number // systems * shards + shard
            found = relevant[unit]
            most = min(found, nonrelevant[unit])
            above = 0
            total = 0.0
            hit = edges[segment]
            while hit < edges[segment + 1]:
                start = tie_first[hit]
                preferred = 0
                others = 0
                while hit < edges[segment + 1] and tie_first[hit] == start:
                    says = verdict[judgment[hit]]
                    preferred += says == 2
                    others += says == 1
                    hit += 1
                if preferred > 0:
                    worth = 0.0
                    for more in range(above, above + others + 1):
                        worth += 1.0 - min(more, found) / most if more > 0 else 1.0
                    total += preferred * worth / (others + 1)
                above += others
            out_score[segment] = total / found if found > 0 else 0.0


def _weighted_arrays(lists, systems, shards, edges, rank, judgment, gain, weight, cutoff, out_score):
    """:func:`_weighted` by whole arrays: ``bincount`` adds in the order of the hits, from 0, as the loop does."""
    segment, near = _hit_segments(lists, systems, shards, edges, rank, cutoff)
    worth = gain[judgment] * weight[rank]
    worth *= near
    out_score[:] = np.bincount(segment, worth, lists * shards)
    return True


def _blended_arrays(
    lists, systems, shards, edges, rank, judgment, gain, cutoff, beta, ideal_edges, ideal_gain, out_score
):
    """AP, that is :func:`_blended` with β = 0, by whole arrays."""
    if beta != 0.0:
        return False
    segment, near = _hit_segments(lists, systems, shards, edges, rank, cutoff)
    found = np.flatnonzero(near & (gain[judgment] > 0.0))
    segment = segment[found]
    count = np.arange(1, len(found) + 1) - np.searchsorted(segment, segment)
    out_score[:] = np.bincount(segment, count / rank[found], lists * shards)
    return True


def _interpolated_arrays(lists, systems, shards, edges, rank, judgment, gain, needed, levels, out_best):
    """:func:`_interpolated` by whole arrays, level by level."""
    segments = np.arange(lists * shards)
    found = np.flatnonzero(gain[judgment] > 0.0)
    segment = np.repeat(segments, np.diff(edges))[found]
    unit = (segments // (systems * shards) * shards + segments % shards)[segment]
    count = np.arange(1, len(found) + 1) - np.searchsorted(segment, segment)
    precision = count / rank[found]
    out_best[:] = 0.0
    for level in range(levels):
        late = count >= needed[unit * levels + level]
        np.maximum.at(out_best[level], segment[late], precision[late])
    return True


def _hit_segments(lists, systems, shards, edges, rank, cutoff):
    """The segment of every hit, and whether it is no deeper than the cutoff of its unit."""
    segments = np.arange(lists * shards)
    unit = segments // (systems * shards) * shards + segments % shards
    lengths = np.diff(edges)
    return np.repeat(segments, lengths), rank <= np.repeat(cutoff[unit], lengths)


# What ``_overlap`` supposes of what is below the ends of the lists.
EXTRAPOLATED, LEAST = range(2)

# How a reader goes on in ``_stopping``.
PATIENT, SATISFIABLE, ADAPTIVE = range(3)

# What a recipe says in a number: the loop that walks the lists, and what a sum is divided by.
WEIGHTED, BLENDED, PREFERRED, FIRST_RELEVANT, CASCADE = range(5)
NOTHING, CUTOFF, RELEVANT, RELEVANT_OR_CUTOFF, IDEAL = range(5)


def _follow(
    first,
    last,
    topics,
    systems,
    edges,
    rank,
    judgment,
    ideal_edges,
    ideal_rank,
    ideal_judgment,
    walk,
    over,
    limit,
    at_relevant,
    beta,
    most,
    gain,
    weight,
    out_running,
    out_count,
    out_cutoff,
    out_by,
    out_score,
):
    """Recipes ``first`` to ``last`` over the same lists; ``gain``, ``weight`` and ``out_score`` have a row for each.

    The ``ideal_…`` lists are what a topic is divided by, or cut at; the other ``out_…`` are workspace.
    """
    for at in range(first, last):
        blends = walk[at] == PREFERRED or beta[at] > 0.0
        if blends or at_relevant[at] or over[at] == RELEVANT or over[at] == RELEVANT_OR_CUTOFF:
            _cumulate(0, topics, ideal_edges, ideal_judgment, gain[at], out_running, out_count)
        for topic in range(topics):
            out_cutoff[topic] = out_count[topic] if at_relevant[at] else limit[at]
        score = out_score[at]
        for ideal in range(2):
            if ideal == 1 and over[at] != IDEAL:
                break
            if ideal == 1:
                count, of, to, ranks, judgments, out = topics, 1, ideal_edges, ideal_rank, ideal_judgment, out_by
            else:
                count, of, to, ranks, judgments, out = topics * systems, systems, edges, rank, judgment, score
            if walk[at] == WEIGHTED:
                _weighted(0, count, of, 1, to, ranks, judgments, gain[at], weight[at], out_cutoff, out)
            elif walk[at] == BLENDED:
                _blended(
                    0, count, of, 1, to, ranks, judgments, gain[at], out_cutoff, beta[at], ideal_edges, out_running, out
                )
            elif walk[at] == PREFERRED:
                _preferred(0, count, of, 1, to, ranks, judgments, gain[at], beta[at], ideal_edges, out_running, out)
            elif walk[at] == FIRST_RELEVANT:
                _first_relevant(0, count, of, 1, to, ranks, judgments, gain[at], out_cutoff, out)
            else:
                _cascade(0, count, of, 1, to, ranks, judgments, gain[at], out_cutoff, out)
        if over[at] == CUTOFF:
            for topic in range(topics):
                out_by[topic] = limit[at]
        elif over[at] == RELEVANT:
            for topic in range(topics):
                out_by[topic] = out_count[topic]
        elif over[at] == RELEVANT_OR_CUTOFF:
            for topic in range(topics):
                out_by[topic] = min(out_count[topic], limit[at])
        elif over[at] == NOTHING and most[at] < np.inf:
            for topic in range(topics):
                out_by[topic] = 1.0
        if over[at] != NOTHING or most[at] < np.inf:
            _divide(0, topics, systems, out_by, most[at], score)


weighted = Kernel(_weighted, arrays=_weighted_arrays)
blended = Kernel(_blended, arrays=_blended_arrays)
totals = Kernel(_totals)
preferred = Kernel(_preferred)
first_relevant = Kernel(_first_relevant)
cascade = Kernel(_cascade)
stopping = Kernel(_stopping)
interpolated = Kernel(_interpolated, arrays=_interpolated_arrays)
judged_lists = Kernel(_judged_lists)
stratified = Kernel(_stratified)
lagging = Kernel(_lagging)
lagging_gains = Kernel(_lagging_gains)
averaged_ndcg = Kernel(_averaged_ndcg)
novelty = Kernel(_novelty)
greedy = Kernel(_greedy)
overlap = Kernel(_overlap)
cumulate = Kernel(_cumulate)
divide = Kernel(_divide)
weighted_tied = Kernel(_weighted_tied)
blended_tied = Kernel(_blended_tied)
first_relevant_tied = Kernel(_first_relevant_tied)
any_tied = Kernel(_any_tied)
preference_tied = Kernel(_preference_tied)
follow = Kernel(_follow, uses=(weighted, blended, preferred, first_relevant, cascade, cumulate, divide))
