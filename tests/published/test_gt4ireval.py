"""Generalisability theory: every number of gt4ireval's manual on TREC-3, and Brennan's synthetic data set 4."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cranfield import ScoreTable
from cranfield.methods.reliability import ABSOLUTE, RELATIVE, Generalisability, generalise, indicators


def table_of(path: Path) -> ScoreTable:
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    topics, systems = values.shape
    names = tuple(f"s{at}" for at in range(systems))
    return ScoreTable(("AP",), tuple(map(str, range(topics))), names, values[np.newaxis, :, :, np.newaxis])


@pytest.fixture(scope="module")
def trec3(kept: Path) -> ScoreTable:
    return table_of(kept / "data" / "matrices" / "trec3_map.csv")


@pytest.fixture(scope="module")
def synthetic4(kept: Path) -> ScoreTable:
    return table_of(kept / "data" / "matrices" / "brennan_synthetic4.csv")


def printed(value: float) -> str:
    """Five digits, as the manual prints them."""
    return f"{value:.5g}"


def of_components(found: Generalisability, field: str) -> list[str]:
    return [printed(getattr(each, field)) for each in found.components]


def ends(found: Generalisability, kind: str, topics: int | None = None) -> list[str]:
    value = found.coefficient(kind, topics)
    return [printed(each) for each in (value.value, value.lower, value.upper)]


def needed(found: Generalisability, kind: str, target: float) -> tuple[float, float, float]:
    value = found.topics_for(target, kind)
    return value.topics, value.lower, value.upper


def test_all_forty_systems(trec3: ScoreTable) -> None:
    found = generalise(trec3)
    assert (found.systems, found.topics) == (40, 50)
    assert of_components(found, "variance") == ["0.0071668", "0.022642", "0.01092"]
    assert [printed(100 * each.share) for each in found.components] == ["17.596", "55.593", "26.811"]
    assert of_components(found, "mean_square") == ["0.36926", "0.91661", "0.01092"]


def test_without_the_worst_quarter(trec3: ScoreTable) -> None:
    found = generalise(trec3, drop=0.25)
    assert (found.systems, found.topics, len(found.dropped)) == (30, 50, 10)
    assert of_components(found, "variance") == ["0.0028117", "0.028093", "0.010152"]
    assert [f"{each.variance:.4f}" for each in found.components] == ["0.0028", "0.0281", "0.0102"]
    assert found["system"].variance == pytest.approx(0.002811699, abs=5e-10)
    assert [printed(100 * each.share) for each in found.components] == ["6.8482", "68.425", "24.727"]
    assert of_components(found, "mean_square") == ["0.15074", "0.85296", "0.010152"]
    assert ends(found, RELATIVE) == ["0.93265", "0.89311", "0.96287"]
    assert ends(found, ABSOLUTE) == ["0.78613", "0.66141", "0.88039"]
    assert needed(found, RELATIVE, 0.95) == (69, 37, 114)
    assert needed(found, ABSOLUTE, 0.95) == (259, 130, 487)


BY_TOPICS = """
 20 0.84707 0.76971 0.91208  0.5952 0.43864 0.74647
 40 0.91721 0.86987 0.95402 0.74624  0.6098 0.85483
 60 0.94324 0.90931 0.96887 0.81519 0.70097  0.8983
 80 0.95682 0.93041 0.97647 0.85468 0.75761 0.92174
100 0.96515 0.94354 0.98109 0.88026 0.79621 0.93639
120 0.97079  0.9525 0.98419 0.89819  0.8242 0.94643
140 0.97486 0.95901 0.98642 0.91144 0.84543 0.95373
160 0.97793 0.96395 0.98809 0.92165 0.86209 0.95927
180 0.98033 0.96783  0.9894 0.92974  0.8755 0.96363
200 0.98227 0.97095 0.99045 0.93632 0.88654 0.96715
"""


@pytest.mark.parametrize("line", BY_TOPICS.strip().splitlines(), ids=lambda line: line.split()[0])
def test_coefficients_of_other_numbers_of_topics(trec3: ScoreTable, line: str) -> None:
    found = generalise(trec3, drop=0.25)
    topics, *numbers = line.split()
    assert ends(found, RELATIVE, int(topics)) + ends(found, ABSOLUTE, int(topics)) == numbers


BY_TARGET = """
 0.8  15   8  24   55  28  103
0.85  21  11  34   78  39  146
 0.9  33  18  54  123  62  231
0.95  69  37 114  259 130  487
0.97 117  63 194  440 220  828
0.99 358 191 593 1347 673 2534
"""


@pytest.mark.parametrize("line", BY_TARGET.strip().splitlines(), ids=lambda line: line.split()[0])
def test_topics_for_other_targets(trec3: ScoreTable, line: str) -> None:
    found = generalise(trec3, drop=0.25)
    target, *numbers = line.split()
    mine = needed(found, RELATIVE, float(target)) + needed(found, ABSOLUTE, float(target))
    assert list(mine) == [int(number) for number in numbers]


BY_CONFIDENCE = """
0.99 0.93265 0.87737 0.96967 0.78613 0.61466  0.9023 69 30 133 259 103 596
0.95 0.93265 0.89311 0.96287 0.78613 0.66141 0.88039 69 37 114 259 130 487
0.90 0.93265 0.90062 0.95901 0.78613 0.68417 0.86796 69 41 105 259 145 439
"""


@pytest.mark.parametrize("line", BY_CONFIDENCE.strip().splitlines(), ids=lambda line: line.split()[0])
def test_intervals_of_other_confidence(trec3: ScoreTable, line: str) -> None:
    confidence, *numbers = line.split()
    found = generalise(trec3, drop=0.25, confidence=float(confidence))
    assert ends(found, RELATIVE) + ends(found, ABSOLUTE) == numbers[:6]
    mine = needed(found, RELATIVE, 0.95) + needed(found, ABSOLUTE, 0.95)
    assert list(mine) == [int(number) for number in numbers[6:]]


def test_lists_of_the_manual(trec3: ScoreTable) -> None:
    found = generalise(trec3, drop=0.25)
    lowest = [needed(found, ABSOLUTE, 0.5 + 0.05 * step) for step in range(10)]
    assert [upper for _, _, upper in lowest] == [26, 32, 39, 48, 60, 77, 103, 146, 231, 487]
    assert [lower for _, lower, _ in lowest] == [7, 9, 11, 13, 16, 21, 28, 39, 62, 130]
    first = [0.7347152, 0.8059872, 0.8470730, 0.8737985, 0.8925725, 0.9064841, 0.9172057, 0.9257218]
    assert [found.relative(n).value for n in range(10, 50, 5)] == pytest.approx(first, abs=5e-8)


MAPPED = """
 10 0.41572  0.2926 0.22918   0.13072   0.030514   0.12888  0.48914    0.16437
 20  0.6234 0.51601 0.45241  0.056171  0.0071677  0.055058  0.30929   0.051661
 30 0.72355 0.63568 0.58093  0.032684  0.0028318  0.031916  0.22057   0.022002
 40 0.78186 0.70855 0.66165  0.021922  0.0014275  0.021348  0.16873   0.011186
 50 0.81993 0.75732 0.71661  0.015974 0.00082949  0.015521  0.13514  0.0063864
 60 0.84672 0.79218 0.75633  0.012289 0.00052902  0.011919  0.11182  0.0039579
 70 0.86658 0.81832 0.78634 0.0098238 0.00036035 0.0095132 0.094779  0.0026073
 80 0.88188 0.83863  0.8098 0.0080808 0.00025777 0.0078147 0.081855  0.0018006
 90 0.89405 0.85487 0.82863 0.0067955 0.00019152 0.0065638 0.071753  0.0012912
100 0.90394 0.86814 0.84407 0.0058161 0.00014665 0.0056117 0.063667 0.00095472
"""


@pytest.mark.parametrize("line", MAPPED.strip().splitlines(), ids=lambda line: line.split()[0])
def test_what_the_coefficients_meant_elsewhere(trec3: ScoreTable, line: str) -> None:
    found = generalise(trec3, drop=0.25)
    topics, *numbers = line.split()
    n = int(topics)
    mapped = indicators(found.relative(n).value, found.absolute(n).value)
    assert [printed(value) for value in vars(mapped).values()] == numbers


def test_brennan_table_6_2(synthetic4: ScoreTable) -> None:
    found = generalise(synthetic4, confidence=0.8)
    assert (found.systems, found.topics) == (10, 12)
    assert [f"{each.variance:.4f}" for each in found.components] == ["0.6258", "0.8840", "2.7872"]
    assert [f"{each.mean_square:.4f}" for each in found.components] == ["10.2963", "11.6273", "2.7872"]
    jackknife = [(f"{each.lower:.3f}", f"{each.upper:.3f}") for each in found.components]
    assert jackknife == [("0.078", "1.174"), ("0.169", "1.599"), ("2.070", "3.505")]


def test_brennan_table_6_5(synthetic4: ScoreTable) -> None:
    found = generalise(synthetic4, confidence=0.8)
    relative, absolute = found.relative(), found.absolute()
    assert [f"{each:.3f}" for each in (relative.value, relative.lower, relative.upper)] == ["0.729", "0.541", "0.876"]
    assert [f"{each:.3f}" for each in (absolute.value, absolute.lower, absolute.upper)] == ["0.672", "0.457", "0.845"]


def test_systems_tied_at_the_border_stay(synthetic4: ScoreTable) -> None:
    assert generalise(synthetic4, drop=0.3).systems == 7
    assert generalise(synthetic4, drop=0.2).systems == 9  # the second and third worst are tied


def test_a_negative_estimate_counts_as_0_and_is_named(synthetic4: ScoreTable) -> None:
    part = synthetic4.select(topics=synthetic4.topics[3:7], systems=synthetic4.systems[3:7])
    found = generalise(part)
    assert found["topic"].variance == 0
    assert found["topic"].estimate < 0
    assert found.negative == ("topic",)
