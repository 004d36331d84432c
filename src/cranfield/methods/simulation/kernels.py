# mypy: disable-error-code="no-untyped-def"
"""The loop that turns normals into scores."""

from __future__ import annotations

from cranfield.runtime.compiled import Kernel


def _scores(first, last, columns, period, normals, pick, starts, guide, z, value_starts, values, steps, out_scores):
    """The score of every normal under the margin its column picks; picks repeat after ``period`` rows.

    Knots of margin t are z[starts[t] : starts[t + 1]], its values start at values[value_starts[t]]. The guide says how
    many knots lie below −4, −4 + 1/16, …, 4, so that the search for a place among them starts next to it.
    """
    for row in range(first, last):
        base = row * columns
        chosen = (row % period) * columns
        for column in range(columns):
            x = normals[base + column]
            t = pick[chosen + column]
            begin = starts[t]
            end = starts[t + 1]
            cell = 0 if x < -4.0 else 129 if x >= 4.0 else 1 + int((x + 4.0) * 16.0)
            low = begin if cell == 0 else guide[t * 129 + cell - 1]
            high = end if cell == 129 else guide[t * 129 + cell]
            while low < high:
                middle = (low + high) // 2
                if z[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            at = value_starts[t] + low - begin
            if steps[t] or low == begin:
                out_scores[base + column] = values[at]
            elif low == end:
                out_scores[base + column] = values[at - 1]
            else:
                share = (x - z[low - 1]) / (z[low] - z[low - 1])
                out_scores[base + column] = values[at - 1] + share * (values[at] - values[at - 1])


scores_of = Kernel(_scores)
